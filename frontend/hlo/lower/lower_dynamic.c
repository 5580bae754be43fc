/*
 * StableHLO's operations whose shapes are operands, as custom calls of their names. Lists that are
 * attributes there are constant operands here, the last ones. The graph's own inference follows
 * shapes through arithmetic, so that most dims become expressions of the inputs'.
 */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"
#include "frontend/hlo/lower/open_window.h"

#include <string.h>

static struct value *shape_operand(struct hlo_lower *l, int k)
{
    return h_cast(l, h_in(l, k), DT_I64);
}

/* Elements of an operand, where compiling knows them. */
static bool known_list(struct hlo_lower *l, int k, int64_t *v, int *n)
{
    const struct value *x = h_in(l, k);
    *n = 0;
    if (x && x->content.n >= 0 && x->content.n <= HLO_MAX_RANK && !x->constant) {
        for (; *n < x->content.n; ++*n)
            if (!dim_is_const(v[*n] = x->content.v[*n]))
                break;
        if (*n == x->content.n)
            return true;
    }
    if (!x || !x->constant || tensor_count(x->constant) > HLO_MAX_RANK)
        return false;
    for (*n = 0; *n < tensor_count(x->constant); ++*n)
        v[*n] = tensor_i64(x->constant, *n);
    return true;
}

/* Those of an operand that has to be constant. */
static bool list(struct hlo_lower *l, int k, int64_t *v, int *n)
{
    if (known_list(l, k, v, n))
        return true;
    l->b->d->unsupported = true;
    return HLO_ERROR(l, "operand %d is known only while running, expected constants", k);
}

/* x, shape; dims */
bool hlo_dynamic_broadcast_in_dim(struct hlo_lower *l)
{
    int64_t at[HLO_MAX_RANK];
    struct attrs a = {0};
    int n;
    if (!list(l, 2, at, &n))
        return false;
    attr_set_ints(&l->b->g->arena, &a, "dims", at, n);
    return h_done(l, b_op(l->b, OP_broadcast_in_dim,
                          (struct value *[]){h_in(l, 0), shape_operand(l, 1)}, 2, &a));
}

/* shape; dim */
bool hlo_dynamic_iota(struct hlo_lower *l)
{
    int64_t dim[HLO_MAX_RANK];
    struct attrs a = {0};
    int n, to = hlo_type_dtype(l->i->shape->type);
    bool plain = (dtype_is_int(to) || dtype_is_float(to)) && dtype_info(to)->bits >= 32;
    if (!list(l, 1, dim, &n))
        return false;
    h_set_int(l, &a, "axis", dim[0]);
    h_set_int(l, &a, "dtype", plain ? to : DT_I64);
    struct value *shape = shape_operand(l, 0);
    return h_done(l, h_cast(l, b_op(l->b, OP_iota, &shape, 1, &a), to));
}

/* x, shape */
bool hlo_dynamic_reshape(struct hlo_lower *l)
{
    struct attrs a = {0};
    h_set_int(l, &a, "allowzero", 1);
    return h_done(l,
                  b_op(l->b, OP_reshape, (struct value *[]){h_in(l, 0), shape_operand(l, 1)}, 2, &a));
}

/* x, starts, limits, strides */
bool hlo_real_dynamic_slice(struct hlo_lower *l)
{
    int64_t axes[HLO_MAX_RANK];
    int rank = h_rank(h_in(l, 0));
    for (int k = 0; k < rank; k++)
        axes[k] = k;
    return h_done(l, b_op(l->b, OP_slice,
                          (struct value *[]){h_in(l, 0), shape_operand(l, 1), shape_operand(l, 2),
                                             b_i64s(l->b, axes, rank), shape_operand(l, 3)},
                          5, NULL));
}

struct value *h_spread(struct hlo_lower *l, struct value *x, struct value *fill, struct value *between, int axis)
{
    struct value *one = b_i64s(l->b, (int64_t[]){1}, 1), *zero = b_i64s(l->b, (int64_t[]){0}, 1);
    struct value *n = h_dims(l, x ? &x->type.dims[axis] : NULL, x ? 1 : 0);
    struct value *gaps = b_2(l->b, OP_mul, b_2(l->b, OP_sub, n, one), between);
    struct value *count = b_2(l->b, OP_max, b_2(l->b, OP_add, n, gaps), zero);
    struct value *step = b_2(l->b, OP_add, between, one);
    struct attrs places = {0}, along = {0};
    h_set_int(l, &places, "axis", 0);
    h_set_int(l, &places, "dtype", DT_I64);
    struct value *at = b_op(l->b, OP_iota, &count, 1, &places);
    h_set_int(l, &along, "axis", axis);
    struct value *from = b_2(l->b, OP_div, at, step);
    struct value *y = b_op(l->b, OP_gather, (struct value *[]){x, from}, 2, &along);
    struct value *kept = b_2(l->b, OP_eq, b_2(l->b, OP_mod, at, step), zero);
    int64_t behind[HLO_MAX_RANK];
    int more = h_rank(x) - axis - 1;
    for (int k = 0; k < more; k++)
        behind[k] = k + 1;
    if (more > 0)
        kept = b_2(l->b, OP_unsqueeze, kept, b_i64s(l->b, behind, more));
    return b_select(l->b, kept, y, fill);
}

/* x, value, low, high, interior */
bool hlo_dynamic_pad(struct hlo_lower *l)
{
    int64_t pads[2 * HLO_MAX_RANK], interior[HLO_MAX_RANK];
    struct attrs a = {0};
    struct value *x = h_in(l, 0), *between = shape_operand(l, 4);
    int n, m, rank = h_rank(x);
    bool known = known_list(l, 4, interior, &n), any = !known;
    for (int k = 0; known && k < n; k++)
        any |= interior[k] != 0;
    if (any && known && known_list(l, 2, pads, &n) && known_list(l, 3, pads + n, &m)) {
        attr_set_ints(&l->b->g->arena, &a, "pads", pads, 2 * n);
        attr_set_ints(&l->b->g->arena, &a, "interior", interior, n);
        return h_done(l, b_op(l->b, OP_pad_interior, (struct value *[]){x, h_in(l, 1)}, 2, &a));
    }
    for (int k = 0; any && k < rank; k++)
        if (!known || interior[k] != 0)
            x = h_spread(l, x, h_in(l, 1), h_slice(l, between, 0, k, k + 1), k);
    struct value *low = shape_operand(l, 2), *high = shape_operand(l, 3);
    struct value *both = h_concat(l, (struct value *[]){low, high}, 2, 0);
    return h_done(l, b_op(l->b, OP_pad, (struct value *[]){x, both, h_in(l, 1)}, 3, NULL));
}

/* x, k: the k largest of the last dimension, and their places */
bool hlo_dynamic_top_k(struct hlo_lower *l)
{
    int64_t one[1] = {1};
    if (l->i->operand_count != 2 || l->out.count != 2)
        return HLO_ERROR(l, "%d operands and %d results, expected 2 and 2", l->i->operand_count,
                         l->out.count);
    struct value *in[] = {h_in(l, 0), h_reshape(l, shape_operand(l, 1), one, 1)};
    struct node *n = diag_failed(l->b->d) ? NULL : b_place(l->b, OP_topk, in, 2, 2, NULL);
    if (!n || !b_infer(l->b, n))
        return false;
    struct value *at = h_cast(l, n->out[1], hlo_type_dtype(hlo_leaf(l->i->shape, 1)->type));
    return h_done_all(l, (struct value *[]){n->out[0], at}, 2);
}

/* x, paddings (dims,2) in zeros; dims, dilations: zeros between elements before those of the paddings */
bool hlo_dynamic_pad_spatial(struct hlo_lower *l)
{
    int64_t at[HLO_MAX_RANK], dilation[HLO_MAX_RANK], one[1] = {1};
    struct value *x = h_in(l, 0), *pads = h_cast(l, h_in(l, 1), DT_I64), *all[2 * HLO_MAX_RANK];
    int n, rank = h_rank(x);
    if (!list(l, 2, at, &n) || !list(l, 3, dilation, &n))
        return false;
    for (int k = 0; k < n; k++)
        if (dilation[k] > 1)
            x = h_spread(l, x, b_like(l->b, x, 0), b_i64s(l->b, (int64_t[]){dilation[k] - 1}, 1), (int)at[k]);
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < rank; k++)
            all[side * rank + k] = b_i64s(l->b, (int64_t[]){0}, 1);
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < n; k++)
            all[side * rank + at[k]] =
                h_reshape(l, h_slice(l, h_slice(l, pads, 0, k, k + 1), 1, side, side + 1), one, 1);
    return h_done(l, b_op(l->b, OP_pad,
                          (struct value *[]){x, h_concat(l, all, 2 * rank, 0), b_like(l->b, x, 0)}, 3,
                          NULL));
}

struct gather_lists {
    int64_t offset[HLO_MAX_RANK], collapsed[HLO_MAX_RANK], map[HLO_MAX_RANK], vector[HLO_MAX_RANK],
        batching[HLO_MAX_RANK], index_batching[HLO_MAX_RANK];
    int offsets, collapses, maps, batchings, index_batchings;
};

/* Whole slices of x at places along one dimension, whatever their sizes. */
static bool gather_along(struct hlo_lower *l, const struct gather_lists *g)
{
    struct value *x = h_in(l, 0), *at = h_cast(l, h_in(l, 1), DT_I64);
    int axis = (int)g->map[0], rank = h_rank(x), index_rank = h_rank(at);
    int64_t dims[HLO_MAX_RANK], perm[HLO_MAX_RANK], none[1] = {0};
    struct attrs a = {0};
    int n = 0;
    for (int k = 0; k < index_rank; k++)
        if (k != g->vector[0])
            dims[n++] = at->type.dims[k];
    at = h_reshape(l, at, dims, n);
    struct value *last =
        b_2(l->b, OP_sub, h_dims(l, &x->type.dims[axis], 1), b_i64s(l->b, (int64_t[]){1}, 1));
    last = h_reshape(l, last, none, 0);
    at = b_2(l->b, OP_min, b_2(l->b, OP_max, at, b_scalar(l->b, DT_I64, 0)), last);
    h_set_int(l, &a, "axis", axis);
    struct value *y = b_op(l->b, OP_gather, (struct value *[]){x, at}, 2, &a);
    /* now: dims before the axis, places, dims after it; wanted: offsets at offset_dims */
    int window = 0, place = 0, total = rank - 1 + n;
    for (int k = 0; k < total; k++) {
        bool is_offset = false;
        for (int j = 0; j < g->offsets; j++)
            is_offset |= g->offset[j] == k;
        perm[k] = is_offset ? (window < axis ? window : window + n) : axis + place;
        window += is_offset;
        place += !is_offset;
    }
    return h_done(l, h_transpose(l, y, perm, total));
}

/* x, indices, sizes; offset_dims, collapsed_slice_dims, start_index_map, index_vector_dim,
 * operand_batching_dims, start_indices_batching_dims */
bool hlo_dynamic_gather(struct hlo_lower *l)
{
    struct gather_lists g;
    int one;
    struct attrs a = {0};
    if (!list(l, 3, g.offset, &g.offsets) || !list(l, 4, g.collapsed, &g.collapses) ||
        !list(l, 5, g.map, &g.maps) || !list(l, 6, g.vector, &one) ||
        !list(l, 7, g.batching, &g.batchings) || !list(l, 8, g.index_batching, &g.index_batchings))
        return false;
    struct value *x = h_in(l, 0), *size = shape_operand(l, 2);
    if (!size)
        return false;
    bool known = size->constant || size->content.n >= 0;
    for (int k = 0; k < size->content.n; k++)
        known &= dim_is_const(size->content.v[k]);
    bool whole = !known && g.maps == 1 && g.collapses == 1 && g.map[0] == g.collapsed[0] &&
                 !g.batchings && size->content.n == h_rank(x);
    for (int k = 0; whole && k < h_rank(x); k++)
        whole = size->content.v[k] == (k == g.map[0] ? 1 : x->type.dims[k]);
    if (whole)
        return gather_along(l, &g);
    attr_set_ints(&l->b->g->arena, &a, "offset_dims", g.offset, g.offsets);
    attr_set_ints(&l->b->g->arena, &a, "collapsed_slice_dims", g.collapsed, g.collapses);
    attr_set_ints(&l->b->g->arena, &a, "start_index_map", g.map, g.maps);
    h_set_int(l, &a, "index_vector_dim", g.vector[0]);
    if (g.batchings) {
        attr_set_ints(&l->b->g->arena, &a, "operand_batching_dims", g.batching, g.batchings);
        attr_set_ints(&l->b->g->arena, &a, "start_indices_batching_dims", g.index_batching,
                      g.index_batchings);
    }
    if (known) {
        int64_t sizes[HLO_MAX_RANK];
        int n;
        if (!list(l, 2, sizes, &n))
            return false;
        attr_set_ints(&l->b->g->arena, &a, "slice_sizes", sizes, n);
    }
    return h_done(
        l, b_op(l->b, OP_gather_windows, (struct value *[]){x, h_in(l, 1), size}, known ? 2 : 3, &a));
}
