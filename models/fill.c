#include "models/fill.h"

#include "neff/base/splitmix.h"

#include <onnx/onnx.pb-c.h>
#include <stdbool.h>
#include <string.h>

static const int element_types[] = {
#define X(kind, element) ONNX__TENSOR_PROTO__DATA_TYPE__##element,
    FILL_KINDS(X)
#undef X
};

int fill_element_type(enum fill_kind kind)
{
    return element_types[kind];
}

size_t fill_element_size(enum fill_kind kind)
{
    switch (element_types[kind]) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
        return 4;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
        return 8;
    default:
        return 1;
    }
}

static uint64_t hash_text(uint64_t h, const char *s)
{
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

struct fill_random random_from_name(const char *seed, const char *tensor)
{
    uint64_t h = hash_text(0xcbf29ce484222325u, seed);
    return (struct fill_random){hash_text(hash_text(h, "/"), tensor)};
}

uint64_t random_bits(struct fill_random *r)
{
    return splitmix(&r->state);
}

float random_unit(struct fill_random *r)
{
    return (float)(random_bits(r) >> 40) * 0x1p-24f;
}

/* Four uniform 16-bit numbers; their sum has mean 2 * 65535 and variance (65536^2 - 1) / 3. */
float random_normal(struct fill_random *r)
{
    uint64_t z = random_bits(r);
    int32_t sum = (int32_t)((z & 0xffff) + (z >> 16 & 0xffff) + (z >> 32 & 0xffff) + (z >> 48));
    return (float)(sum - 2 * 65535) * 2.6428996e-5f;
}

void filler_start(struct filler *s, struct fill fill, const char *seed, const char *tensor)
{
    memset(s, 0, sizeof *s);
    s->fill = fill;
    s->random = random_from_name(seed, tensor);
}

/* Random values at the corners of cells x cells squares, at most 15 x 15, interpolated between. */
static float smooth(float grid[16][16], int cells, int x, int y, int side)
{
    float fx = (float)(x * cells) / (float)side, fy = (float)(y * cells) / (float)side;
    int ix = (int)fx, iy = (int)fy;
    fx -= (float)ix, fy -= (float)iy;
    float top = grid[iy][ix] + (grid[iy][ix + 1] - grid[iy][ix]) * fx;
    float bottom = grid[iy + 1][ix] + (grid[iy + 1][ix + 1] - grid[iy + 1][ix]) * fx;
    return top + (bottom - top) * fy;
}

/*
 * Pixel-like: broad areas, details and noise in the proportions 4:2:1, cut to 8 bits, then
 * normalised by the channel means and deviations customary for ImageNet.
 */
static float pixel(struct filler *s)
{
    static const float mean[3] = {0.485f, 0.456f, 0.406f}, deviation[3] = {0.229f, 0.224f, 0.225f};
    int side = (int)s->fill.a;
    int64_t plane = s->next / ((int64_t)side * side), at = s->next % ((int64_t)side * side);
    int c = (int)(plane % 3), x = (int)(at % side), y = (int)(at / side);
    if (at == 0 && c == 0) { /* another picture: other grids */
        float *p = &s->u.octave[0][0][0][0];
        for (size_t i = 0; i < sizeof s->u.octave / sizeof *p; i++)
            p[i] = random_unit(&s->random);
    }
    float v = 4 * smooth(s->u.octave[c][0], 3, x, y, side) +
              2 * smooth(s->u.octave[c][1], 13, x, y, side) + random_unit(&s->random);
    int byte = (int)((v - 3.5f) * 73.0f + 120.0f);
    byte = byte < 0 ? 0 : byte > 255 ? 255 : byte;
    return ((float)byte / 255.0f - mean[c]) / deviation[c];
}

static float centred(struct filler *s)
{
    int n = s->fill.row, at = (int)(s->next % n);
    if (at == 0) {
        float sum = 0;
        for (int i = 0; i < n; i++)
            sum += s->u.row[i] = s->fill.b * random_normal(&s->random);
        for (int i = 0; i < n; i++)
            s->u.row[i] -= s->fill.a * (sum / (float)n);
    }
    return s->u.row[at];
}

static float real_element(struct filler *s)
{
    switch (s->fill.kind) {
    case FILL_NORMAL:
        return s->fill.a + s->fill.b * random_normal(&s->random);
    case FILL_CENTRED:
        return centred(s);
    case FILL_UNIFORM:
        return s->fill.a + (s->fill.b - s->fill.a) * random_unit(&s->random);
    default:
        return pixel(s);
    }
}

static int64_t integer_element(struct filler *s)
{
    int64_t a = (int64_t)s->fill.a;
    switch (s->fill.kind) {
    case FILL_TOKENS:
        return (int64_t)((random_bits(&s->random) >> 32) * (uint64_t)a >> 32);
    case FILL_RANGE:
        return s->next;
    case FILL_CAUSAL:
        return s->next % a <= s->next / a % a;
    default:
        return a;
    }
}

void filler_take(struct filler *s, void *out, size_t count)
{
    unsigned char *p = out;
    size_t size = fill_element_size(s->fill.kind);
    bool real = fill_element_type(s->fill.kind) == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    for (size_t i = 0; i < count; i++, s->next++) {
        uint64_t bits;
        if (real) {
            float v = real_element(s);
            uint32_t word;
            memcpy(&word, &v, sizeof word);
            bits = word;
        } else {
            bits = (uint64_t)integer_element(s);
        }
        for (size_t k = 0; k < size; k++)
            *p++ = (unsigned char)(bits >> (8 * k));
    }
}
