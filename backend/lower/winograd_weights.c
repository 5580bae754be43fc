#include "backend/lower/winograd_weights.h"

#include <stdlib.h>
#include <string.h>

enum { TAPS = 9, MAX_SIDE = 6 };

#define ROOT_HALF 0.70710678118654752440
#define ROOT_TWO  1.41421356237309504880

/* G, row p: 1, p, p^2 over the product of p's distances to the other points; the last row is the
 * point at infinity. */
static const double g4[MAX_SIDE][3] = {{1, 0, 0},
                                       {-2.0 / 3, -2.0 / 3 * ROOT_HALF, -1.0 / 3},
                                       {-2.0 / 3, 2.0 / 3 * ROOT_HALF, -1.0 / 3},
                                       {1.0 / 6, 1.0 / 6 * ROOT_TWO, 1.0 / 3},
                                       {1.0 / 6, -1.0 / 6 * ROOT_TWO, 1.0 / 3},
                                       {0, 0, 1}};
static const double g2[MAX_SIDE][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};

/* Of one channel: taps[3 * i + j][out], rows[side * i + j][out] for i < 3. */
struct filters { /* the next sums lie behind the rows */
    int64_t out_channels;
    double *taps, *rows;
};

static void gather(const struct filters *f, const float *w, int64_t out_step)
{
    for (int64_t o = 0; o < f->out_channels; o++, w += out_step)
        for (int i = 0; i < TAPS; i++)
            f->taps[i * f->out_channels + o] = w[i];
}

/* y[o] = sum over j of row[j] * x[j * step + o] */
static void combine(double *y, const double *row, const double *x, int64_t step, int64_t out_channels)
{
    for (int64_t o = 0; o < out_channels; o++)
        y[o] = row[0] * x[o] + row[1] * x[step + o] + row[2] * x[2 * step + o];
}

/* Channel k of all planes, into a block of the layout of neff/isa/pack.h. */
static void transform(const struct filters *f, const double (*g)[3], int side,
                      const struct pack_shape *to, void *block, int64_t k)
{
    int64_t n = f->out_channels, width = pack_width(to->columns);
    double *sum = f->rows + 3 * side * n;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < side; j++)
            combine(f->rows + (i * side + j) * n, g[j], f->taps + 3 * i * n, n, n);
    for (int p = 0; p < side * side; p++) {
        combine(sum, g[p / side], f->rows + p % side * n, side * n, n);
        int64_t plane = p * pack_k(to->type, to->k) * width;
        float *y = (float *)block + plane + k * width;
        uint16_t *half = (uint16_t *)block + plane + k / 2 * 2 * width + k % 2;
        for (int64_t o = 0; o < n && to->type == PACK_F32; o++)
            *y++ = (float)sum[o];
        for (int64_t o = 0; o < n && to->type == PACK_BF16; o++, half += 2)
            *half = f32_to_bf16((float)sum[o]);
    }
}

struct transformed {
    struct lazy_constant lazy;
    struct pack_shape shape;
    int size;
};

static bool transform_block(const struct constant_maker *maker, int64_t block, void *to)
{
    const struct transformed *t = (const struct transformed *)maker;
    const struct pack_shape *s = &t->shape;
    int64_t first = block * PACK_COLUMNS, channels = s->k, side = t->size + 2;
    int64_t n = s->columns - first < PACK_COLUMNS ? s->columns - first : PACK_COLUMNS;
    const float *w = (const float *)t->lazy.from->constant->data + first * channels * TAPS;
    double *scratch = malloc(sizeof *scratch * (size_t)(n * (TAPS + 3 * MAX_SIDE + 1)));
    if (!scratch)
        return false;
    if (n < pack_width(s->columns) || channels != pack_k(s->type, channels))
        memset(to, 0, pack_size(s) / (size_t)t->lazy.maker.pieces); /* what lies between */
    struct filters f = {n, scratch, scratch + n * TAPS};
    for (int64_t c = 0; c < channels; c++) {
        gather(&f, w + c * TAPS, channels * TAPS);
        transform(&f, t->size == 4 ? g4 : g2, (int)side, s, to, c);
    }
    free(scratch);
    return true;
}

static bool same_filters(const struct lazy_constant *a, const struct lazy_constant *b)
{
    const struct transformed *s = (const struct transformed *)a, *t = (const struct transformed *)b;
    return s->size == t->size && pack_shape_equal(&s->shape, &t->shape);
}

struct packed_weights winograd_weights(struct lowering *l, const struct value *w,
                                       struct conv_way way)
{
    int side = way.size + 2;
    struct transformed *t = ARENA_NEW(&l->g->arena, struct transformed);
    t->lazy.maker.make = transform_block;
    t->lazy.same = same_filters;
    t->size = way.size;
    t->shape = (struct pack_shape){pack_type_of(way.bf16 ? DT_BF16 : DT_F32), side * side,
                                   w->type.dims[1], w->type.dims[0]};
    return packed_constant(l, &t->lazy, w, &t->shape, 1, w->name);
}
