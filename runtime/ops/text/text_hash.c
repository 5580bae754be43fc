/*
 * murmur_hash3: MurmurHash3 (Appleby, the x86 variant of 32 bits) of the bytes of each element:
 * UTF-8 of strings, little-endian of numbers.
 */

#include "runtime/ops/common/numeric.h"

bool infer_murmur_hash3(struct infer *f)
{
    const struct type *x = &f->in[0];
    return infer_out(f, 0, attr_int(f->attrs, "positive", 1) ? DT_U32 : DT_I32, x->rank, x->dims);
}

static uint32_t rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static uint32_t scramble(uint32_t word)
{
    return rotate(word * 0xcc9e2d51, 15) * 0x1b873593;
}

static uint32_t hash(const uint8_t *p, size_t n, uint32_t h)
{
    uint32_t rest = 0;
    size_t whole = n & ~(size_t)3;
    for (size_t i = 0; i < whole; i += 4) {
        uint32_t word = (uint32_t)p[i] | (uint32_t)p[i + 1] << 8 | (uint32_t)p[i + 2] << 16 |
                        (uint32_t)p[i + 3] << 24;
        h = rotate(h ^ scramble(word), 13) * 5 + 0xe6546b64;
    }
    for (size_t i = n; i > whole; i--)
        rest = rest << 8 | p[i - 1];
    h ^= scramble(rest) ^ (uint32_t)n;
    h = (h ^ h >> 16) * 0x85ebca6b;
    h = (h ^ h >> 13) * 0xc2b2ae35;
    return h ^ h >> 16;
}

bool eval_murmur_hash3(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    uint32_t seed = (uint32_t)attr_int(c->attrs, "seed", 0), *y = c->out[0]->data;
    size_t bytes = x->dtype == DT_STR ? 0 : dtype_bytes(x->dtype);
    for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
        const struct str *s = x->dtype == DT_STR ? (const struct str *)x->data + i : NULL;
        y[i] = s ? hash((const uint8_t *)s->p, s->n, seed) : hash(element(x, i), bytes, seed);
    }
    return true;
}
