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

static struct value *take(struct hlo_lower *l, int dim)
{
    int64_t vector = hlo_attr_int(l->i, HLO_ATTR_index_vector_dim);
    struct value *x = h_in(l, 0), *i = h_in(l, 1);
    int type = dtype_info(h_dtype(i))->bits == 64 || dtype_class(h_dtype(i)) == DTC_SINT
                   ? h_dtype(i)
                   : DT_I64;
    struct attrs a = {0};
    dim_t dims[HLO_MAX_RANK]; /* but a last one of 1 */
    memcpy(dims, i->type.dims, sizeof dims[0] * (size_t)vector);
    i = h_reshape(l, i, dims, (int)vector);
    i = h_cast(l, i, type);
    double most = (double)(x->type.dims[dim] - 1);
    i = h_op(l, OP_clip, (struct value *[]){i, h_like(l, i, 0), h_like(l, i, most)}, 3, NULL);
    i = h_cast(l, i, type == DT_I32 ? DT_I32 : DT_I64);
    h_set_int(l, &a, "axis", dim);
    return h_op(l, OP_gather, (struct value *[]){x, i}, 2, &a);
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
    copy_lists(l, &a, lists, sizeof lists / sizeof *lists);
    return h_done(l, h_op(l, OP_gather_windows, (struct value *[]){h_in(l, 0), h_in(l, 1)}, 2, &a));
}

bool hlo_lower_scatter(struct hlo_lower *l)
{
    static const enum hlo_attr_id lists[] = {
        HLO_ATTR_update_window_dims, HLO_ATTR_inserted_window_dims,
        HLO_ATTR_scatter_dims_to_operand_dims, HLO_ATTR_input_batching_dims,
        HLO_ATTR_scatter_indices_batching_dims};
    const struct hlo_computation *c = hlo_attr_computation(l->i, HLO_ATTR_to_apply);
    int nin = l->i->operand_count, n = nin / 2;
    struct value **in = ARENA_ARRAY(&l->g->arena, struct value *, nin);
    struct attrs a = {0};
    for (int k = 0; k < nin; k++)
        in[k] = h_in(l, k);
    copy_lists(l, &a, lists, sizeof lists / sizeof *lists);
    h_combine_attrs(l, &a, c);
    struct node *s = h_node(l, OP_scatter_windows, in, nin, n, &a);
    return h_combine_region(l, s, c) && h_infer(l, s) && h_done_all(l, s->out, n);
}
