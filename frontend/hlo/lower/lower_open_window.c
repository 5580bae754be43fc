/*
 * Windows of any sizes, strides, dilations and paddings, known or not: arrays are spread and padded, each dimension
 * with windows becomes two, places and the elements of a window, and the second ones are reduced. A window that
 * begins where the one before it ends only splits its dimension; elements of others are gathered.
 */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"
#include "frontend/hlo/lower/open_window.h"
#include "neff/core/guard.h"

/* Vectors of one i64 for a dimension. */
struct window_lengths {
    struct value *v[OPEN_LISTS], *low, *high;
    bool spread, moved, split; /* base dilation is not 1; a padding is not 0; windows touch */
};

static bool is_known(const struct value *v, dim_t want)
{
    if (v && v->constant && tensor_count(v->constant) == 1)
        return tensor_i64(v->constant, 0) == want;
    return v && v->content.n == 1 && v->content.v[0] == want;
}

static bool are_equal(const struct value *a, const struct value *b)
{
    if (a && a->constant && tensor_count(a->constant) == 1)
        return is_known(b, tensor_i64(a->constant, 0));
    return a == b || (a && a->content.n == 1 && is_known(b, a->content.v[0]));
}

static struct value *one_of(struct hlo_lower *l, struct value *list, int k)
{
    return h_slice(l, list, 0, k, k + 1);
}

/* Sizes, strides and dilations are 1 at least: where only the archive's user tells, a guard says so. */
static bool is_positive(struct hlo_lower *l, const struct value *v, const char *what)
{
    dim_t d = v && v->constant ? tensor_i64(v->constant, 0) : v && v->content.n == 1 ? v->content.v[0] : 1;
    return b_require(l->b, GUARD_AT_MAX, 1, d, what);
}

static bool read_lengths(struct hlo_lower *l, int first, struct window_lengths *d)
{
    static const char *const names[] = {"a window's least size and its size", "a window's least stride and its stride",
                                        "the least dilation and that of an array",
                                        "the least dilation and that of a window"};
    const int rank = h_rank(h_in(l, 0));
    struct value *pads = h_reshape(l, h_cast(l, h_in(l, first + OPEN_LISTS), DT_I64), (int64_t[]){2 * rank}, 1);
    for (int k = 0; k < rank; k++) {
        for (int j = 0; j < OPEN_LISTS; j++) {
            d[k].v[j] = one_of(l, h_cast(l, h_in(l, first + j), DT_I64), k);
            if (diag_failed(l->b->d) || !is_positive(l, d[k].v[j], names[j]))
                return false;
        }
        d[k].low = one_of(l, pads, 2 * k);
        d[k].high = one_of(l, pads, 2 * k + 1);
        d[k].spread = !is_known(d[k].v[OPEN_BASE], 1);
        d[k].moved = !is_known(d[k].low, 0) || !is_known(d[k].high, 0);
        d[k].split = is_known(d[k].v[OPEN_DILATIONS], 1) && are_equal(d[k].v[OPEN_SIZES], d[k].v[OPEN_STRIDES]);
    }
    return !diag_failed(l->b->d);
}

static struct value *padded(struct hlo_lower *l, struct value *x, struct value *first, const struct window_lengths *d)
{
    struct value *pads[2 * MAX_RANK], *one = b_i64(l->b, 1);
    const int rank = h_rank(x);
    bool any = false;
    for (int k = 0; k < rank; k++) {
        if (d[k].spread)
            x = h_spread(l, x, first, b_sub(l->b, d[k].v[OPEN_BASE], one), k);
        pads[k] = d[k].low;
        pads[rank + k] = d[k].high;
        any |= d[k].moved;
    }
    return any ? b_op(l->b, OP_pad, (struct value *[]){x, h_concat(l, pads, 2 * rank, 0), first}, 3, NULL) : x;
}

/* 0, 1, ... below n, each times `step`. */
static struct value *places(struct hlo_lower *l, struct value *n, struct value *step)
{
    struct attrs a = {0};
    h_set_int(l, &a, "axis", 0);
    h_set_int(l, &a, "dtype", DT_I64);
    return b_mul(l->b, b_op(l->b, OP_iota, &n, 1, &a), step);
}

/* How many windows lie in the dimension. */
static struct value *how_many(struct hlo_lower *l, struct value *x, int axis, const struct window_lengths *d)
{
    struct value *one = b_i64(l->b, 1), *stride = d->v[OPEN_STRIDES];
    struct value *reach = b_add(l->b, b_mul(l->b, b_sub(l->b, d->v[OPEN_SIZES], one), d->v[OPEN_DILATIONS]), one);
    struct value *room = b_add(l->b, b_sub(l->b, b_dim(l->b, x, axis), reach), stride);
    return b_div(l->b, b_2(l->b, OP_max, room, b_i64(l->b, 0)), stride);
}

/* Dimension `axis` as places and the elements of each window. */
static struct value *unfolded(struct hlo_lower *l, struct value *x, int axis, const struct window_lengths *d)
{
    struct value *n = how_many(l, x, axis, d), *size = d->v[OPEN_SIZES], *shape[MAX_RANK + 1];
    struct attrs a = {0};
    if (!d->split) {
        struct value *at = b_unsqueeze(l->b, places(l, n, d->v[OPEN_STRIDES]), (int64_t[]){1}, 1);
        return b_gather(l->b, x, b_add(l->b, at, places(l, size, d->v[OPEN_DILATIONS])), axis);
    }
    for (int k = 0; k < h_rank(x); k++)
        shape[k + (k > axis)] = b_dim(l->b, x, k);
    shape[axis] = n;
    shape[axis + 1] = size;
    struct value *used = b_mul(l->b, n, size);
    if (!are_equal(used, b_dim(l->b, x, axis)))
        x = b_op(l->b, OP_slice, (struct value *[]){x, b_i64(l->b, 0), used, b_i64(l->b, axis)}, 4, NULL);
    h_set_int(l, &a, "allowzero", 1);
    return b_op(l->b, OP_reshape, (struct value *[]){x, h_concat(l, shape, h_rank(x) + 1, 0)}, 2, &a);
}

/* reduce of `in`, arrays and first values, over dimensions `axes`. */
static bool reduce(struct hlo_lower *l, struct value **in, struct hlo_ints axes, struct hlo_computation *c)
{
    const int n = 2 * l->out.count;
    struct leaves *operands = ARENA_ARRAY(&l->b->g->arena, struct leaves, n);
    const struct hlo_attr attrs[] = {{.id = HLO_ATTR_to_apply, .computation = c},
                                     {.id = HLO_ATTR_dimensions, .ints = &axes}};
    for (int k = 0; k < n; k++)
        operands[k] = (struct leaves){.count = 1, .v = &in[k]};
    return h_lower_as(l, HLO_OP_REDUCE, hlo_lower_reduce, attrs, 2, operands, n);
}

bool hlo_open_windows(struct hlo_lower *l, struct hlo_computation *c)
{
    struct arena *a = &l->b->g->arena;
    const int n = l->out.count, rank = h_rank(h_in(l, 0));
    struct window_lengths *d = ARENA_ARRAY(a, struct window_lengths, rank + 1);
    struct value **in = ARENA_ARRAY(a, struct value *, 2 * n);
    struct hlo_ints axes = {0, ARENA_ARRAY(a, int64_t, rank + 1)};
    if (!read_lengths(l, 2 * n, d))
        return false;
    for (int k = 0; k < rank; k++)
        if (!is_known(d[k].v[OPEN_SIZES], 1) || !is_known(d[k].v[OPEN_STRIDES], 1)) {
            axes.v[axes.count] = k + axes.count + 1;
            axes.count++;
        }
    if (rank + axes.count > MAX_RANK)
        return HLO_ERROR(l, "windows in %d of %d dimensions, expected %d at most", axes.count, rank, MAX_RANK - rank);
    for (int k = 0; k < n; k++) {
        in[n + k] = h_in(l, n + k);
        in[k] = padded(l, h_in(l, k), in[n + k], d);
        for (int j = 0; j < axes.count; j++)
            in[k] = unfolded(l, in[k], (int)axes.v[j] - 1, &d[axes.v[j] - 1 - j]);
    }
    return reduce(l, in, axes, c);
}
