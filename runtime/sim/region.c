#include "runtime/sim/region.h"

#include <string.h>

enum { PATIENCE = 256 }; /* comparisons of two regions */

/* ---- making ---- */

/* Sorted by falling steps; no dim of one element, none that goes on where what is further in ends. */
static void add_dim(struct byte_runs *r, int64_t step, int64_t count)
{
    if (step < 0)
        r->low += step * (count - 1), step = -step;
    if (count <= 1 || step == 0)
        return;
    int at = r->rank++;
    for (; at > 0 && r->step[at - 1] < step; at--)
        r->step[at] = r->step[at - 1], r->count[at] = r->count[at - 1];
    r->step[at] = step, r->count[at] = count;
}

/* A dim whose elements touch each other, or overlap, makes a longer run. */
static void join_dims(struct byte_runs *r)
{
    while (r->rank > 0 && r->step[r->rank - 1] <= r->run) {
        r->rank--;
        r->run += r->step[r->rank] * (r->count[r->rank] - 1);
    }
    for (int i = 0; i + 1 < r->rank;) {
        if (r->step[i] != r->step[i + 1] * r->count[i + 1]) {
            i++;
            continue;
        }
        r->step[i] = r->step[i + 1], r->count[i] *= r->count[i + 1];
        r->rank--;
        for (int k = i + 1; k < r->rank; k++)
            r->step[k] = r->step[k + 1], r->count[k] = r->count[k + 1];
    }
}

/* Of an offset and of each dim: sums of them fit. */
static const int64_t FARTHEST = INT64_C(1) << 56;

struct byte_runs region_of(const struct number_ap *a, const int64_t *vars)
{
    struct byte_runs r = {.run = a->size};
    if (__builtin_mul_overflow(number_at(&a->offset, vars), a->size, &r.low) ||
        __builtin_add_overflow(r.low, a->slot_offset, &r.low) || r.low > FARTHEST || r.low < -FARTHEST)
        return region_anywhere();
    for (int i = 0; i < a->rank; i++) {
        int64_t count = ap_dim_count(&a->dim[i], vars), step, reach;
        if (count < 1)
            return (struct byte_runs){0};
        if (__builtin_mul_overflow(a->dim[i].step, a->size, &step) || __builtin_mul_overflow(step, count, &reach) ||
            reach > FARTHEST || reach < -FARTHEST)
            return region_anywhere();
        add_dim(&r, step, count);
    }
    join_dims(&r);
    r.extent[r.rank] = r.run;
    for (int i = r.rank - 1; i >= 0; i--)
        r.extent[i] = r.extent[i + 1] + r.step[i] * (r.count[i] - 1);
    r.high = r.low + r.extent[0];
    return r;
}

struct byte_runs region_anywhere(void)
{
    int64_t max = INT64_MAX / 4;
    return (struct byte_runs){.low = -max, .high = max, .run = 2 * max, .extent[0] = 2 * max};
}

/* ---- comparing ---- */

bool regions_equal(const struct byte_runs *a, const struct byte_runs *b)
{
    size_t dims = sizeof *a->step * (size_t)a->rank;
    return a->low == b->low && a->high == b->high && a->run == b->run && a->rank == b->rank &&
           !memcmp(a->step, b->step, dims) && !memcmp(a->count, b->count, dims);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Of a, dims i and on, and of b, dims j and on, which begins `apart` bytes after a. */
static bool meet(const struct byte_runs *a, int i, const struct byte_runs *b, int j, int64_t apart, int *patience)
{
    if (apart >= a->extent[i] || -apart >= b->extent[j])
        return false;
    if ((i == a->rank && j == b->rank) || --*patience < 0)
        return true;
    int64_t s = i < a->rank ? a->step[i] : 0, t = j < b->rank ? b->step[j] : 0, step = s > t ? s : t;
    bool in_a = s == step, in_b = t == step;
    /* what is further in is apart + k * step apart, for an element of b less one of a */
    int64_t low = in_a ? 1 - a->count[i] : 0, high = in_b ? b->count[j] - 1 : 0;
    int64_t first = floor_div(-b->extent[j + in_b] - apart, step) + 1,
            last = -floor_div(apart - a->extent[i + in_a], step) - 1;
    first = first > low ? first : low, last = last < high ? last : high;
    for (int64_t k = first; k <= last; k++)
        if (meet(a, i + in_a, b, j + in_b, apart + k * step, patience))
            return true;
    return false;
}

bool regions_meet(const struct byte_runs *a, const struct byte_runs *b)
{
    int patience = PATIENCE;
    return a->low < b->high && b->low < a->high && meet(a, 0, b, 0, b->low - a->low, &patience);
}
