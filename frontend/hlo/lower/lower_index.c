/* gather and scatter. */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"

#include <string.h>

/*
 * Rows of one dim taken by scalar indices, the common case: windows are whole but for that dim, of
 * which they have one element. Its place in the array, or -1.
 */
static int taken_dim(struct hlo_lower *l, const struct hlo_shape *x, const struct hlo_shape *index)
{
    struct hlo_ints sizes = hlo_attr_ints(l->i, HLO_ATTR_slice_sizes),
                    map = hlo_attr_ints(l->i, HLO_ATTR_start_index_map);
    struct hlo_ints collapsed = hlo_attr_ints(l->i, HLO_ATTR_collapsed_slice_dims);
    struct hlo_ints offset = hlo_attr_ints(l->i, HLO_ATTR_offset_dims);
    int64_t vector = hlo_attr_int(l->i, HLO_ATTR_index_vector_dim);
    if (hlo_attr_ints(l->i, HLO_ATTR_operand_batching_dims).count || map.count != 1 ||
        collapsed.count != 1 || map.v[0] != collapsed.v[0] ||
        (vector != index->rank && vector != index->rank - 1))
        return -1;
    int dim = (int)map.v[0], batch = index->rank - (vector < index->rank);
    for (int k = 0; k < x->rank; k++)
        if (sizes.v[k] != (k == dim ? 1 : x->dims[k]))
            return -1;
    for (int k = 0; k < offset.count;
         k++) /* window dims around the batch dims, which take the place of dim */
        if (offset.v[k] != (k < dim ? k : k + batch))
            return -1;
    return x->dims[dim] > 0 ? dim : -1;
}

/* An index of one of `count` places. */
static struct value *clamped(struct hlo_lower *l, struct value *i, int64_t count)
{
    if (dtype_class(b_dtype(i)) == DTC_SINT)
        i = b_2(l->b, OP_max, i, b_like(l->b, i, 0));
    return b_2(l->b, OP_min, i, b_like(l->b, i, (double)(count - 1)));
}

static struct value *take(struct hlo_lower *l, int dim)
{
    int64_t vector = hlo_attr_int(l->i, HLO_ATTR_index_vector_dim);
    struct value *x = h_in(l, 0), *i = h_in(l, 1);
    int type = dtype_info(b_dtype(i))->bits == 64 || dtype_class(b_dtype(i)) == DTC_SINT
                   ? b_dtype(i)
                   : DT_I64;
    struct attrs a = {0};
    dim_t dims[HLO_MAX_RANK]; /* but a last one of 1 */
    memcpy(dims, i->type.dims, sizeof dims[0] * (size_t)vector);
    i = h_reshape(l, i, dims, (int)vector);
    i = h_cast(l, i, type);
    i = clamped(l, i, x->type.dims[dim]);
    i = h_cast(l, i, type == DT_I32 ? DT_I32 : DT_I64);
    h_set_int(l, &a, "axis", dim);
    return b_op(l->b, OP_gather, (struct value *[]){x, i}, 2, &a);
}

/* ---- single elements, or rows, by several indices ---- */

/* Array dims [first, end) of which each window has one element: those with indices, and those that
 * run along with the indices. All others are whole. */
struct picked {
    int first, end;
    bool batching[HLO_MAX_RANK];  /* of the array's dims */
    int64_t along[HLO_MAX_RANK];  /* of batching ones: the dim of the indices */
    int64_t component[HLO_MAX_RANK]; /* of the others */
};

static bool has_int(struct hlo_ints l, int64_t x)
{
    for (int k = 0; k < l.count; k++)
        if (l.v[k] == x)
            return true;
    return false;
}

/* The dims that are picked from are neighbours; the windows' own dims are whole. */
static bool find_picked(struct hlo_lower *l, const struct hlo_shape *x, struct picked *p)
{
    struct hlo_ints map = hlo_attr_ints(l->i, HLO_ATTR_start_index_map),
                    sizes = hlo_attr_ints(l->i, HLO_ATTR_slice_sizes),
                    batch = hlo_attr_ints(l->i, HLO_ATTR_operand_batching_dims),
                    along = hlo_attr_ints(l->i, HLO_ATTR_start_indices_batching_dims);
    p->first = x->rank, p->end = 0;
    for (int k = 0; k < map.count; k++)
        p->component[map.v[k]] = k;
    for (int k = 0; k < batch.count; k++)
        p->batching[batch.v[k]] = true, p->along[batch.v[k]] = along.v[k];
    for (int k = 0; k < x->rank; k++) {
        bool picks = p->batching[k] || has_int(map, k);
        if (sizes.v[k] != (picks ? 1 : x->dims[k]))
            return false;
        if (picks && k < p->first)
            p->first = k;
        if (picks)
            p->end = k + 1;
    }
    return map.count > 0 && p->end - p->first == map.count + batch.count;
}

/* Whether the result's dims are those before the picked ones, those of the indices, and those
 * behind, in this order, but for dims of 1. */
static bool in_order(struct hlo_lower *l, const struct hlo_shape *x, const struct picked *p)
{
    struct hlo_ints collapsed = hlo_attr_ints(l->i, HLO_ATTR_collapsed_slice_dims),
                    offset = hlo_attr_ints(l->i, HLO_ATTR_offset_dims);
    int last = 0, window = 0;
    for (int r = 0; r < l->i->shape->rank; r++) {
        int place = 1;
        if (has_int(offset, r)) {
            while (window < x->rank && (has_int(collapsed, window) || p->batching[window]))
                window++;
            place = window < p->first ? 0 : window < p->end ? last : 2;
            window++;
        }
        if (place < last)
            return false;
        last = place;
    }
    return true;
}

/* One number of each index vector. */
static struct value *component(struct hlo_lower *l, struct value *i, int vector, int64_t k)
{
    int64_t dims[HLO_MAX_RANK];
    memcpy(dims, i->type.dims, sizeof *dims * (size_t)h_rank(i));
    if (vector == h_rank(i))
        return i;
    struct node *def = i->def;
    bool apart = def && def->op == OP_concat && def->nin == i->type.dims[vector] &&
                 attr_int(&def->attrs, "axis", 0) == vector;
    for (int n = 0; apart && n < def->nin; n++)
        apart = def->in[n]->type.dims[vector] == 1;
    return h_reshape(l, apart ? def->in[k] : h_slice(l, i, vector, k, k + 1), dims, vector);
}

/* Where dim k of the array is picked, of the shape of the indices or broadcast to it. */
static struct value *place_along(struct hlo_lower *l, const struct picked *p, int k, int vector,
                                 int dtype)
{
    const struct hlo_shape *x = h_in_shape(l, 0);
    struct value *i = h_in(l, 1);
    int64_t dims[HLO_MAX_RANK];
    if (!p->batching[k]) {
        i = clamped(l, component(l, i, vector, p->component[k]), x->dims[k]);
        return h_cast(l, i, dtype);
    }
    for (int d = 0; d < vector; d++)
        dims[d] = d == p->along[k] ? i->type.dims[d] : 1;
    return h_iota(l, dtype, dims, vector, (int)p->along[k]);
}

/* A gather of rows by their number among all rows. */
static struct value *pick(struct hlo_lower *l, const struct picked *p)
{
    const struct hlo_shape *x = h_in_shape(l, 0);
    int64_t rows = 1, dims[HLO_MAX_RANK], stride = 1;
    int rank = 0, vector = (int)hlo_attr_int(l->i, HLO_ATTR_index_vector_dim);
    struct value *number = NULL;
    struct attrs a = {0};
    for (int k = p->first; k < p->end; k++)
        rows *= x->dims[k];
    int dtype = rows <= INT32_MAX ? DT_I32 : DT_I64;
    for (int k = p->end - 1; k >= p->first; stride *= x->dims[k--]) {
        struct value *i = place_along(l, p, k, vector, dtype);
        if (stride > 1)
            i = b_2(l->b, OP_mul, i, b_like(l->b, i, (double)stride));
        number = number ? b_2(l->b, OP_add, i, number) : i;
    }
    for (int k = 0; k < x->rank; k++)
        if (k < p->first || k >= p->end)
            dims[rank++] = x->dims[k];
        else if (k == p->first)
            dims[rank++] = rows;
    h_set_int(l, &a, "axis", p->first);
    struct value *table = h_reshape(l, h_in(l, 0), dims, rank);
    struct value *y = b_op(l->b, OP_gather, (struct value *[]){table, number}, 2, &a);
    return h_reshape(l, y, l->i->shape->dims, l->i->shape->rank);
}

/* Sizes are known, and the indices are of types that hold them. */
static bool picks_rows(struct hlo_lower *l, struct picked *p)
{
    const struct hlo_shape *x = h_in_shape(l, 0), *index = h_in_shape(l, 1);
    int type = hlo_type_dtype(index->type);
    int64_t vector = hlo_attr_int(l->i, HLO_ATTR_index_vector_dim);
    return (type == DT_I32 || type == DT_I64 || type == DT_U32) && dims_are_positive(x->dims, x->rank) &&
           dims_are_positive(index->dims, index->rank) && (vector == index->rank || vector == index->rank - 1) &&
           find_picked(l, x, p) && in_order(l, x, p);
}

static void copy_lists(struct hlo_lower *l, struct attrs *a, const enum hlo_attr_id *ids, int n)
{
    for (int k = 0; k < n; k++)
        h_set_ints(l, a, hlo_attr_info(ids[k])->name, hlo_attr_ints(l->i, ids[k]));
    h_set_int(l, a, "index_vector_dim", hlo_attr_int(l->i, HLO_ATTR_index_vector_dim));
}

bool hlo_lower_gather(struct hlo_lower *l)
{
    static const enum hlo_attr_id lists[] = {HLO_ATTR_offset_dims,
                                             HLO_ATTR_collapsed_slice_dims,
                                             HLO_ATTR_start_index_map,
                                             HLO_ATTR_operand_batching_dims,
                                             HLO_ATTR_start_indices_batching_dims,
                                             HLO_ATTR_slice_sizes};
    int dim = taken_dim(l, h_in_shape(l, 0), h_in_shape(l, 1));
    int bits = dtype_info(hlo_type_dtype(h_in_shape(l, 1)->type))->bits;
    struct attrs a = {0};
    bool holds =
        bits >= 32 || (dim >= 0 && h_in_shape(l, 0)->dims[dim] <= (bits >= 16 ? 32767 : 127));
    if (dim >= 0 && holds && hlo_type_dtype(h_in_shape(l, 1)->type) != DT_U64)
        return h_done(l, take(l, dim));
    struct picked p = {0};
    if (picks_rows(l, &p))
        return h_done(l, pick(l, &p));
    copy_lists(l, &a, lists, sizeof lists / sizeof *lists);
    return h_done(l, b_op(l->b, OP_gather_windows, (struct value *[]){h_in(l, 0), h_in(l, 1)}, 2, &a));
}

bool hlo_lower_scatter(struct hlo_lower *l)
{
    static const enum hlo_attr_id lists[] = {
        HLO_ATTR_update_window_dims, HLO_ATTR_inserted_window_dims,
        HLO_ATTR_scatter_dims_to_operand_dims, HLO_ATTR_input_batching_dims,
        HLO_ATTR_scatter_indices_batching_dims};
    const struct hlo_computation *c = hlo_attr_computation(l->i, HLO_ATTR_to_apply);
    int nin = l->i->operand_count, n = nin / 2;
    struct value **in = ARENA_ARRAY(&l->b->g->arena, struct value *, nin);
    struct attrs a = {0};
    for (int k = 0; k < nin; k++)
        in[k] = h_in(l, k);
    copy_lists(l, &a, lists, sizeof lists / sizeof *lists);
    h_combine_attrs(l, &a, c);
    struct node *s = b_place(l->b, OP_scatter_windows, in, nin, n, &a);
    return h_combine_region(l, s, c) && b_infer(l->b, s) && h_done_all(l, s->out, n);
}
