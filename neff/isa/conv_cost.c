#include "neff/isa/conv_cost.h"

#include "neff/isa/pack.h"
#include "neff/isa/program.h"

#include <math.h>

enum {
    FLOPS_PER_CYCLE = 2 * 16,   /* of f32 products */
    CACHE_BYTES_PER_CYCLE = 12, /* planes and sums, through the second-level cache */
    MIN_CHANNELS = 8,
};
/* Rate of products of bf16 over those of f32: one archive is for CPUs whose instructions double it (AMD's AVX-512) and
 * for those where it is 1, which are the most; between the two in ratio. */
#define BF16_GAIN 1.41
#define UNHIDDEN 0.25 /* of the shorter of products and reading filters, which go on together */
#define WORTH_IT 0.85 /* of a direct sum's time: larger weights are not free */
#define WORTH    0.9  /* of another way's time: nor are still larger ones, or planes less exact */

static int planes_of(struct conv_way w)
{
    return w.size ? (w.size + 2) * (w.size + 2) : 9;
}

/* Output channels, with those that fill up the last vector. */
static double columns_of(const struct conv_size *c)
{
    return ceil((double)c->out_channels / PACK_ALIGN_COLUMNS) * PACK_ALIGN_COLUMNS;
}

double conv_weight_bytes(const struct conv_size *c, struct conv_way w)
{
    return (w.bf16 ? 2.0 : 4.0) * planes_of(w) * (double)c->channels * columns_of(c);
}

/* Nanoseconds: products at the Tensor engine's rate while filters come from memory, and for
 * Winograd's method planes and sums, each written and read once. */
static double cost_ns(const struct machine *m, const struct conv_size *c, struct conv_way w, double bf16_gain)
{
    int size = w.size ? w.size : 1, planes = planes_of(w);
    double tiles = ceil(c->high / size) * ceil(c->wide / size);
    double products = tiles * planes * (double)c->channels * columns_of(c);
    double through_cache =
        2 * tiles * planes * ((w.bf16 ? 2.0 : 4.0) * (double)c->channels + 4 * columns_of(c));
    double computing = 2 * products / (FLOPS_PER_CYCLE * (w.bf16 ? bf16_gain : 1) * m->pe_ghz);
    double reading = conv_weight_bytes(c, w) / m->hbm_gbps;
    return fmax(computing, reading) + UNHIDDEN * fmin(computing, reading) +
           (w.size ? through_cache / (CACHE_BYTES_PER_CYCLE * m->pe_ghz) : 0);
}

struct conv_way conv_best_way(const struct machine *m, const struct conv_size *c, bool bf16)
{
    static const struct conv_way ways[] = {{2, false}, {4, false}, {2, true}};
    struct conv_way best = {0, bf16};
    double min = cost_ns(m, c, best, BF16_GAIN);
    if (c->channels < MIN_CHANNELS || c->out_channels < MIN_CHANNELS)
        return best;
    for (int i = 0; i < 2 + bf16; i++) {
        double ns = cost_ns(m, c, ways[i], BF16_GAIN);
        if (ns < (best.size ? WORTH : WORTH_IT) * min)
            best = ways[i], min = ns;
    }
    return best;
}

/* Planes, of few rows each, are not multiplied faster than BF16_GAIN, whatever the unit (layers of 256 channels and
 * 14 x 14 pixels by AMX: 190 GFLOP/s, direct sums 340). */
int conv_direct_from(const struct machine *m, const struct conv_size *c, struct conv_way w)
{
    const struct conv_way direct = {0, true};
    const double planes = cost_ns(m, c, w, BF16_GAIN);
    int low = 0, high = MAX_BF16_RATE + 1; /* a direct sum does not take less at low, it does at high */
    while (high - low > 1) {
        int rate = (low + high) / 2;
        if (cost_ns(m, c, direct, rate / 100.0) < planes)
            high = rate;
        else
            low = rate;
    }
    return high > MAX_BF16_RATE ? 0 : high;
}
