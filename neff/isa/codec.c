#include "neff/isa/codec.h"

#include <string.h>

struct codec codec_writer(const char *what, struct arena *a, struct diag *d)
{
    return (struct codec){.writing = true, .what = what, .arena = a, .d = d};
}

struct codec codec_reader(const char *what, const uint8_t *data, size_t size, struct arena *a,
                          struct diag *d)
{
    return (struct codec){.what = what, .in = data, .size = size, .arena = a, .d = d};
}

bool codec_fail(struct codec *c, const char *problem)
{
    if (!c->failed)
        fail(c->d, "%s: %s at byte %zu", c->what, problem, c->at);
    c->failed = true;
    return false;
}

static void put(struct codec *c, const void *p, size_t n)
{
    if (c->at + n > c->size) {
        size_t cap = c->size ? c->size * 2 : 256;
        while (cap < c->at + n)
            cap *= 2;
        uint8_t *grown = arena_alloc(c->arena, cap);
        arena_move_(grown, c->out, c->at);
        c->out = grown;
        c->size = cap;
    }
    arena_move_(c->out + c->at, p, n);
    c->at += n;
}

static const uint8_t *take(struct codec *c, size_t n)
{
    if (c->failed)
        return NULL;
    if (c->size - c->at < n) {
        codec_fail(c, "truncated");
        return NULL;
    }
    const uint8_t *p = c->in + c->at;
    c->at += n;
    return p;
}

void code_u64(struct codec *c, uint64_t *v)
{
    if (c->writing) {
        uint64_t x = *v;
        do {
            uint8_t b = (uint8_t)((x & 0x7f) | (x > 0x7f ? 0x80 : 0));
            put(c, &b, 1);
        } while (x >>= 7);
        return;
    }
    *v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        const uint8_t *b = take(c, 1);
        if (!b)
            return;
        *v |= (uint64_t)(*b & 0x7f) << shift;
        if (!(*b & 0x80))
            return;
    }
    *v = 0;
    codec_fail(c, "number longer than 64 bits");
}

void code_i64(struct codec *c, int64_t *v)
{
    uint64_t u = ((uint64_t)*v << 1) ^ (uint64_t)(*v >> 63);
    code_u64(c, &u);
    *v = (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
}

static int64_t limited(struct codec *c, int64_t v, int64_t low, int64_t high)
{
    code_i64(c, &v);
    if (v >= low && v <= high)
        return v;
    codec_fail(c, "number out of range");
    return 0;
}

void code_u8(struct codec *c, uint8_t *v)
{
    if (c->writing) {
        put(c, v, 1);
        return;
    }
    const uint8_t *b = take(c, 1);
    *v = b ? *b : 0;
}

void code_u16(struct codec *c, uint16_t *v)
{
    *v = (uint16_t)limited(c, *v, 0, UINT16_MAX);
}

void code_i16(struct codec *c, int16_t *v)
{
    *v = (int16_t)limited(c, *v, INT16_MIN, INT16_MAX);
}

void code_i32(struct codec *c, int32_t *v)
{
    *v = (int32_t)limited(c, *v, INT32_MIN, INT32_MAX);
}

void code_int(struct codec *c, int *v)
{
    *v = (int)limited(c, *v, INT32_MIN, INT32_MAX);
}

void code_bool(struct codec *c, bool *v)
{
    uint8_t b = *v;
    code_u8(c, &b);
    if (b > 1)
        codec_fail(c, "flag is neither 0 nor 1");
    *v = b == 1;
}

/* size bytes as they are; zeros where there are none left. */
static void code_plain(struct codec *c, void *v, size_t size)
{
    if (c->writing) {
        put(c, v, size);
        return;
    }
    const uint8_t *p = take(c, size);
    memset(v, 0, size);
    if (p)
        memcpy(v, p, size);
}

void code_f32(struct codec *c, float *v)
{
    code_plain(c, v, sizeof *v);
}

void code_f64(struct codec *c, double *v)
{
    code_plain(c, v, sizeof *v);
}

void code_blob(struct codec *c, const void **data, size_t *n)
{
    uint64_t size = *n;
    code_u64(c, &size);
    if (c->writing) {
        put(c, *data, *n);
        return;
    }
    *n = 0;
    *data = c->failed || size > c->size - c->at ? NULL : take(c, (size_t)size);
    if (*data)
        *n = (size_t)size;
    else
        codec_fail(c, "truncated");
}

void code_text(struct codec *c, const char **s)
{
    uint64_t size = *s ? strlen(*s) + 1 : 0; /* 0: NULL */
    code_u64(c, &size);
    if (c->writing) {
        put(c, *s, *s ? (size_t)size - 1 : 0);
        return;
    }
    *s = NULL;
    if (c->failed || size == 0)
        return;
    if (size - 1 > c->size - c->at) {
        codec_fail(c, "truncated text");
        return;
    }
    const uint8_t *p = take(c, (size_t)size - 1);
    if (p && memchr(p, 0, (size_t)size - 1))
        codec_fail(c, "text contains a zero byte");
    else if (p)
        *s = arena_strndup(c->arena, (const char *)p, (size_t)size - 1);
}

void code_count(struct codec *c, int *n, size_t unit)
{
    code_int(c, n);
    if (c->writing)
        return;
    if (!c->failed && (*n < 0 || (size_t)*n > (c->size - c->at) / (unit ? unit : 1)))
        codec_fail(c, "count larger than the stream");
    if (c->failed)
        *n = 0;
}

void code_ranged(struct codec *c, int *v, int low, int high, const char *name)
{
    code_int(c, v);
    if (!c->failed && (*v < low || *v > high)) {
        fail(c->d, "%s: %s is %d, expected %d to %d, at byte %zu", c->what, name, *v, low, high,
             c->at);
        c->failed = true;
    }
    if (c->failed)
        *v = low;
}
