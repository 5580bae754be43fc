#include "backend/winograd_weights.h"

#include <stdio.h>
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
    int64_t outs;
    double *taps, *rows;
};

static void gather(const struct filters *f, const float *w, int64_t out_step)
{
    for (int64_t o = 0; o < f->outs; o++, w += out_step)
        for (int i = 0; i < TAPS; i++)
            f->taps[i * f->outs + o] = w[i];
}

/* y[o] = sum over j of row[j] * x[j * step + o] */
static void combine(double *y, const double *row, const double *x, int64_t step, int64_t outs)
{
    for (int64_t o = 0; o < outs; o++)
        y[o] = row[0] * x[o] + row[1] * x[step + o] + row[2] * x[2 * step + o];
}

/* Channel k of all planes, into the layout of neff/pack.h. */
static void transform(const struct filters *f, const double (*g)[3], int side,
                      const struct pack_shape *to, void *data, int64_t k)
{
    int64_t n = f->outs, width = pack_width(n);
    double *sum = f->rows + 3 * side * n;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < side; j++)
            combine(f->rows + (i * side + j) * n, g[j], f->taps + 3 * i * n, n, n);
    for (int p = 0; p < side * side; p++) {
        combine(sum, g[p / side], f->rows + p % side * n, side * n, n);
        for (int64_t first = 0; first < n; first += width) {
            int64_t at = pack_offset(to, first, p), end = first + width < n ? first + width : n;
            float *y = (float *)data + at + k * width;
            uint16_t *half = (uint16_t *)data + at + k / 2 * 2 * width + k % 2;
            for (int64_t o = first; o < end && to->type == PACK_F32; o++)
                *y++ = (float)sum[o];
            for (int64_t o = first; o < end && to->type == PACK_BF16; o++, half += 2)
                *half = f32_to_bf16((float)sum[o]);
        }
    }
}

struct packed_weights winograd_weights(struct lowering *l, const struct tensor *w,
                                       struct conv_way way, const char *name)
{
    int64_t outs = w->dims[0], channels = w->dims[1], side = way.size + 2;
    int dtype = way.bf16 ? DT_BF16 : DT_F32;
    struct pack_shape shape = {pack_type_of(dtype), side * side, channels, outs};
    size_t bytes = pack_size(&shape);
    void *data = packed_memory(l, bytes);
    double *scratch = malloc(sizeof *scratch * (size_t)(outs * (TAPS + 3 * MAX_SIDE + 1)));
    if (!scratch) {
        fprintf(stderr, "out of memory: transformed weights\n");
        exit(70);
    }
    if (outs % pack_width(outs) || channels != pack_k(shape.type, channels))
        memset(data, 0, bytes); /* what lies between */
    struct filters f = {outs, scratch, scratch + outs * TAPS};
    for (int64_t c = 0; c < channels; c++) {
        gather(&f, (const float *)w->data + c * TAPS, channels * TAPS);
        transform(&f, way.size == 4 ? g4 : g2, (int)side, &shape, data, c);
    }
    free(scratch);
    return packed_constant(l, &shape, data, name);
}
