/*
 * rng_bits: counter-based generators. Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random
 * numbers: as easy as 1, 2, 3", 2011) and Philox-4x32 with 10 rounds (same paper), with the states
 * and the order of output words that XLA gives them.
 */
#include "runtime/ops/common/numeric.h"

#include <string.h>

static bool infer_by_operand(struct infer *f, int dtype)
{
    struct content shape = infer_content(f, 1);
    const struct type *s = &f->in[1];
    dim_t dims[MAX_RANK];
    if (shape.n >= 0 && shape.n <= MAX_RANK)
        return infer_out(f, 1, dtype, (int)shape.n, shape.v);
    if (s->rank != 1 || !dim_is_const(s->dims[0]) || s->dims[0] > MAX_RANK)
        return fail(f->d, "the shape is not a list of at most %d sizes", MAX_RANK);
    for (int i = 0; i < s->dims[0]; i++)
        dims[i] = infer_unknown(f, "random");
    return infer_out(f, 1, dtype, (int)s->dims[0], dims);
}

bool infer_rng_bits(struct infer *f)
{
    const struct type *state = &f->in[0];
    int count, dtype = (int)attr_int(f->attrs, "dtype", DT_U32);
    const int64_t *shape = attr_ints(f->attrs, "shape", &count);
    bool philox = attr_is(f->attrs, "algorithm", "philox");
    if (!philox && !attr_is(f->attrs, "algorithm", "three_fry"))
        return fail(f->d, "algorithm is neither three_fry nor philox");
    if (state->dtype != DT_U64 || state->rank != 1 ||
        (dim_is_const(state->dims[0]) && state->dims[0] < 2))
        return fail(f->d, "the state is not 2 or more 64-bit words");
    if (dtype_info(dtype)->bits < 8 || dtype_is_complex(dtype) || count > MAX_RANK)
        return fail(f->d, "bits of type %s and rank %d", dtype_name(dtype), count);
    infer_out(f, 0, DT_U64, 1, state->dims);
    return f->nin > 1 ? infer_by_operand(f, dtype) : infer_out(f, 1, dtype, count, shape);
}

static uint32_t rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static void threefry(uint64_t key, uint64_t counter, uint32_t out[2])
{
    static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    uint32_t k[3] = {(uint32_t)key, (uint32_t)(key >> 32), 0};
    uint32_t x = (uint32_t)counter + k[0], y = (uint32_t)(counter >> 32) + k[1];
    k[2] = 0x1BD11BDA ^ k[0] ^ k[1];
    for (uint32_t round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++) {
            x += y;
            y = rotate(y, rotations[round % 2][i]) ^ x;
        }
        x += k[(round + 1) % 3];
        y += k[(round + 2) % 3] + round + 1;
    }
    out[0] = x;
    out[1] = y;
}

bool infer_threefry(struct infer *f)
{
    for (int i = 2; i < 5; i++)
        if (f->in[i].rank != 0)
            return fail(f->d, "key %d has rank %d, expected 0", i - 2, f->in[i].rank);
    return infer_out(f, 0, DT_U32, f->in[0].rank, f->in[0].dims) &&
           infer_out(f, 1, DT_U32, f->in[0].rank, f->in[0].dims);
}

static void philox(uint64_t key, uint64_t low, uint64_t high, uint32_t out[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t x[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53 * x[0], p1 = (uint64_t)0xCD9E8D57 * x[2];
        uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ x[1] ^ k0, (uint32_t)p1,
                            (uint32_t)(p0 >> 32) ^ x[3] ^ k1, (uint32_t)p0};
        memcpy(x, next, sizeof x);
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    memcpy(out, x, sizeof x);
}

static void store_word(struct tensor *y, int64_t i, uint64_t word)
{
    memcpy(element(y, i), &word, dtype_bytes(y->dtype)); /* little-endian: the low bits */
}

/* One block gives a 64-bit number. */
static uint64_t threefry_wide(struct tensor *y, uint64_t key, uint64_t counter)
{
    int64_t n = tensor_count(y);
    for (int64_t i = 0; i < n; i++) {
        uint32_t block[2];
        threefry(key, counter + (uint64_t)i, block);
        store_word(y, i, block[0] | (uint64_t)block[1] << 32);
    }
    return (uint64_t)n;
}

/* Blocks are counted over the shape with one dim halved, the first even one or else the largest;
 * the two words of a block are neighbours in that dim. */
static uint64_t threefry_narrow(struct tensor *y, uint64_t key, uint64_t counter)
{
    int split = -1;
    for (int i = 0; i < y->rank && split < 0; i++)
        if (y->dims[i] % 2 == 0)
            split = i;
    for (int i = 0; i < y->rank && (split < 0 || y->dims[split] % 2); i++)
        if (split < 0 || y->dims[i] > y->dims[split])
            split = i;
    struct around a = {1, 1, 1};
    if (y->rank)
        a = around_axis(y, split, split + 1);
    int64_t half = (a.n + 1) / 2, blocks = a.outer * half * a.inner;
    for (int64_t i = 0; i < blocks; i++) {
        uint32_t block[2];
        int64_t inner = i % a.inner, place = i / a.inner % half, outer = i / a.inner / half;
        threefry(key, counter + (uint64_t)i, block);
        for (int k = 0; k < 2; k++)
            if (2 * place + k < a.n)
                store_word(y, (outer * a.n + 2 * place + k) * a.inner + inner, block[k]);
    }
    return (uint64_t)blocks;
}

/* Four words a block, in order; 64-bit numbers take two. */
static uint64_t philox_fill(struct tensor *y, uint64_t key, uint64_t low, uint64_t high)
{
    int64_t n = tensor_count(y), per = dtype_bytes(y->dtype) == 8 ? 2 : 4,
            blocks = (n + per - 1) / per;
    for (int64_t i = 0; i < blocks; i++) {
        uint32_t x[4];
        uint64_t at = low + (uint64_t)i;
        philox(key, at, high + (at < low), x);
        for (int64_t k = 0; k < per && i * per + k < n; k++)
            store_word(y, i * per + k, per == 4 ? x[k] : x[2 * k] | (uint64_t)x[2 * k + 1] << 32);
    }
    return (uint64_t)blocks;
}

/* Pairs go to cores in pieces. */
enum { THREEFRY_PIECE = 16384 };

static void threefry_piece(void *arg, int i)
{
    const struct op_call *c = arg;
    uint32_t key[3];
    size_t from = (size_t)i * THREEFRY_PIECE, n = (size_t)tensor_count(c->out[0]) - from;
    for (int k = 0; k < 3; k++)
        key[k] = *(const uint32_t *)c->in[2 + k]->data;
    kernels_get()->threefry((uint32_t *)c->out[0]->data + from, (uint32_t *)c->out[1]->data + from,
                            (const uint32_t *)c->in[0]->data + from,
                            (const uint32_t *)c->in[1]->data + from, key,
                            n < THREEFRY_PIECE ? n : THREEFRY_PIECE);
}

bool eval_threefry(struct op_call *c)
{
    int pieces = (int)((tensor_count(c->out[0]) + THREEFRY_PIECE - 1) / THREEFRY_PIECE);
    if (c->env->parallel && pieces > 1) {
        c->env->parallel(c->env, pieces, threefry_piece, c);
        return true;
    }
    for (int i = 0; i < pieces; i++)
        threefry_piece(c, i);
    return true;
}

bool eval_rng_bits(struct op_call *c)
{
    uint64_t *state = c->out[0]->data;
    struct tensor *y = c->out[1];
    int64_t words = tensor_count(c->in[0]);
    memcpy(state, c->in[0]->data, tensor_bytes(c->in[0]));
    if (attr_is(c->attrs, "algorithm", "three_fry")) {
        bool wide = dtype_bytes(y->dtype) == 8;
        state[1] +=
            wide ? threefry_wide(y, state[0], state[1]) : threefry_narrow(y, state[0], state[1]);
        return true;
    }
    uint64_t low = state[1], high = words > 2 ? state[2] : state[0];
    state[1] += philox_fill(y, state[0], low, high);
    if (words > 2)
        state[2] += state[1] < low;
    return true;
}
