#include "backend/winograd_weights.h"

#include <stdio.h>
#include <stdlib.h>

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
struct filters {
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

/* Plane p goes to to[p * plane_step]. */
static void transform(const struct filters *f, const double (*g)[3], int side, float *to,
                      int64_t plane_step, double *sum)
{
    int64_t n = f->outs;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < side; j++)
            combine(f->rows + (i * side + j) * n, g[j], f->taps + 3 * i * n, n, n);
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            combine(sum, g[i], f->rows + j * n, side * n, n);
            float *y = to + (i * side + j) * plane_step;
            for (int64_t o = 0; o < n; o++)
                y[o] = (float)sum[o];
        }
}

struct packed_weights winograd_weights(struct lowering *l, const struct tensor *w, int size,
                                       const char *name)
{
    int64_t outs = w->dims[0], channels = w->dims[1], side = size + 2;
    int64_t dims[3] = {side * side, channels, outs}, plane = channels * outs;
    struct tensor t =
        tensor_view(DT_F32, 3, dims, malloc(sizeof(float) * (size_t)(dims[0] * plane)));
    double *scratch = malloc(sizeof *scratch * (size_t)(outs * (TAPS + 3 * MAX_SIDE + 1)));
    if (!t.data || !scratch) {
        fprintf(stderr, "out of memory: transformed weights\n");
        exit(70);
    }
    struct filters f = {outs, scratch, scratch + outs * TAPS};
    for (int64_t c = 0; c < channels; c++) {
        gather(&f, (const float *)w->data + c * TAPS, channels * TAPS);
        transform(&f, size == 4 ? g4 : g2, (int)side, (float *)t.data + c * outs, plane,
                  scratch + outs * (TAPS + 3 * MAX_SIDE));
    }
    free(scratch);
    struct pack_source s = {NULL, plane, outs, 1};
    struct packed_weights packed = pack_constant(l, &t, dims[0], channels, outs, &s, name);
    free(t.data);
    return packed;
}
