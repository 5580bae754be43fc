/* What operators do to the items of a batch, for pass separable: a row for each operator that keeps them apart. */
#include "passes/known_parts.h"
#include "passes/match.h"
#include "passes/separable.h"

typedef bool rule(struct separable *s, const struct node *n);

/* ---- asking ---- */

static const struct value *operand(const struct node *n, int i)
{
    return i < n->nin ? n->in[i] : NULL;
}

static bool has_items(const struct separable *s, const struct value *v)
{
    return items_axis(s, v) >= 0;
}

static bool is_common(const struct separable *s, const struct value *v)
{
    return !v || place_of(s, v)->kind == PLACE_COMMON;
}

/* Operands from..to - 1, or up to the last, are the same whatever the batch. */
static bool are_common(const struct separable *s, const struct node *n, int from, int to)
{
    for (int i = from; i < n->nin && i < to; i++)
        if (!is_common(s, n->in[i]))
            return false;
    return true;
}

/* Only operand 0 has items; along which axis, or -1. */
static int only_first(const struct separable *s, const struct node *n)
{
    return are_common(s, n, 1, n->nin) ? items_axis(s, n->in[0]) : -1;
}

static int axis_attr(const struct node *n, int64_t otherwise)
{
    int64_t axis = attr_int(&n->attrs, "axis", otherwise);
    return (int)(axis < 0 ? axis + n->in[0]->type.rank : axis);
}

static bool put_all(struct separable *s, const struct node *n, int axis)
{
    for (int i = 0; i < n->nout; i++)
        if (n->out[i]->type.kind != VK_NONE && !put_items(s, n->out[i], axis))
            return false;
    return true;
}

/* Whether the known elements of a list of axes have this one; true where nothing is known. */
static bool may_list_axis(const struct value *list, int axis, int rank)
{
    dim_t axes[KNOWN_PARTS];
    int n = list ? known_parts(list, axes) : -1;
    for (int i = 0; i < n; i++)
        if (!dim_is_const(axes[i]) || axes[i] == axis || axes[i] + rank == axis)
            return true;
    return n < 0;
}

/* ---- elementwise operators and views ---- */

/* What does not have items along their axis is the same for all of them. */
static bool spreads(const struct value *v, int axis, int rank)
{
    int i = axis - (rank - v->type.rank);
    return i < 0 || v->type.dims[i] == 1;
}

static bool elementwise(struct separable *s, const struct node *n)
{
    int rank = n->out[0]->type.rank, axis = -1;
    for (int i = 0; i < n->nin; i++) {
        if (!has_items(s, n->in[i]))
            continue;
        int here = place_of(s, n->in[i])->axis + rank - n->in[i]->type.rank;
        if (axis >= 0 && here != axis)
            return false;
        axis = here;
    }
    for (int i = 0; i < n->nin; i++)
        if (n->in[i] && !has_items(s, n->in[i]) && !(is_common(s, n->in[i]) && spreads(n->in[i], axis, rank)))
            return false;
    return put_all(s, n, axis);
}

/* Elements before the axis, as a dim. */
static dim_t before(struct separable *s, const struct value *v, int axis)
{
    dim_t d = 1;
    for (int i = 0; i < axis; i++)
        d = dim_mul(&s->g->dims, d, v->type.dims[i]);
    return d;
}

/* The same elements in the same order: items stay whole where as many elements lie before their axis as did. */
static bool view(struct separable *s, const struct node *n)
{
    if (!has_items(s, n->in[0]) || n->out[0]->type.rank < 0)
        return false;
    int axis = following_axis(s, n->out[0]);
    return axis >= 0 && before(s, n->in[0], place_of(s, n->in[0])->axis) == before(s, n->out[0], axis) &&
           put_items(s, n->out[0], axis);
}

static bool transpose(struct separable *s, const struct node *n)
{
    int rank = n->in[0]->type.rank;
    for (int i = 0; i < rank; i++)
        if (attr_int_at(&n->attrs, "perm", i, rank - 1 - i) == place_of(s, n->in[0])->axis)
            return put_items(s, n->out[0], i);
    return false;
}

static bool expand(struct separable *s, const struct node *n)
{
    const struct value *x = n->in[0], *y = n->out[0];
    int axis = has_items(s, x) ? place_of(s, x)->axis + y->type.rank - x->type.rank : following_axis(s, y);
    return axis >= 0 && (has_items(s, x) || (is_common(s, x) && spreads(x, axis, y->type.rank))) &&
           put_items(s, y, axis);
}

static bool broadcast_in_dim(struct separable *s, const struct node *n)
{
    const struct value *x = n->in[0], *y = n->out[0];
    int axis = following_axis(s, y);
    for (int i = 0; i < x->type.rank; i++) {
        bool there = attr_int_at(&n->attrs, "dims", i, -1) == axis;
        bool items = has_items(s, x) && place_of(s, x)->axis == i, one = is_common(s, x) && x->type.dims[i] == 1;
        if (there ? !items && !one : items)
            return false;
    }
    return (has_items(s, x) || is_common(s, x)) && put_items(s, y, axis);
}

/* The same number everywhere. */
static bool constant_of_shape(struct separable *s, const struct node *n)
{
    return put_items(s, n->out[0], following_axis(s, n->out[0]));
}

static bool tile(struct separable *s, const struct node *n)
{
    dim_t repeats[KNOWN_PARTS];
    const struct value *x = n->in[0], *y = n->out[0];
    if (is_common(s, x)) {
        int axis = following_axis(s, y);
        return axis >= 0 && x->type.rank == y->type.rank && x->type.dims[axis] == 1 && put_items(s, y, axis);
    }
    int axis = items_axis(s, x), count = known_parts(n->in[1], repeats);
    return axis >= 0 && axis < count && repeats[axis] == 1 && put_items(s, y, axis);
}

/* ---- along another axis ---- */

/* Lines along another axis than that of items: the attribute's, or else `otherwise`. */
static bool lines_along(struct separable *s, const struct node *n, int64_t otherwise)
{
    int axis = only_first(s, n);
    return axis >= 0 && axis_attr(n, otherwise) != axis && put_all(s, n, axis);
}

static bool lines(struct separable *s, const struct node *n)
{
    return lines_along(s, n, -1);
}

static bool lines_of_first(struct separable *s, const struct node *n)
{
    return lines_along(s, n, 0);
}

static bool lines_of_channels(struct separable *s, const struct node *n)
{
    return attr_int(&n->attrs, "block_size", 0) == 0 && lines_along(s, n, 1);
}

static bool norm_from_axis(struct separable *s, const struct node *n)
{
    int axis = only_first(s, n), rank = n->in[0]->type.rank;
    for (int i = 1; i < n->nin; i++)
        if (n->in[i] && !(n->in[i]->type.rank >= 0 && spreads(n->in[i], axis, rank)))
            return false;
    return axis >= 0 && axis < axis_attr(n, -1) && put_all(s, n, axis);
}

static bool cumulative(struct separable *s, const struct node *n)
{
    int axis = only_first(s, n);
    return axis >= 0 && !may_list_axis(n->in[1], axis, n->in[0]->type.rank) && put_all(s, n, axis);
}

/* Results without the axes that are gone. */
static bool reduce(struct separable *s, const struct node *n)
{
    int axes[MAX_RANK], axis = only_first(s, n), count = reduction_axes(n, axes), gone = 0;
    for (int i = 0; i < count; i++) {
        if (axes[i] == axis)
            return false;
        gone += axes[i] < axis;
    }
    return axis >= 0 && count >= 0 && put_all(s, n, axis - (attr_int(&n->attrs, "keepdims", 1) ? 0 : gone));
}

static bool place_of_extreme(struct separable *s, const struct node *n)
{
    int axis = only_first(s, n), along = axis_attr(n, 0);
    bool keeps = attr_int(&n->attrs, "keepdims", 1);
    return axis >= 0 && along != axis && put_all(s, n, axis - (!keeps && along < axis));
}

static bool concat(struct separable *s, const struct node *n)
{
    int axis = items_axis(s, n->in[0]);
    for (int i = 0; i < n->nin; i++)
        if (axis < 0 || items_axis(s, n->in[i]) != axis)
            return false;
    return axis_attr(n, 0) != axis && put_items(s, n->out[0], axis);
}

/* Of the axis of items, all or nothing is said. */
static bool slice(struct separable *s, const struct node *n)
{
    dim_t starts[KNOWN_PARTS], steps[KNOWN_PARTS];
    const struct value *x = n->in[0], *y = n->out[0], *axes = operand(n, 3), *by = operand(n, 4);
    int axis = items_axis(s, x), count = known_parts(n->in[1], starts);
    if (axis < 0 || !are_common(s, n, 1, 2) || has_items(s, n->in[2]) || !are_common(s, n, 3, n->nin))
        return false;
    bool touched = axes ? may_list_axis(axes, axis, x->type.rank) : count < 0 || axis < count;
    bool whole = y->type.rank == x->type.rank && y->type.dims[axis] == x->type.dims[axis];
    int nsteps = by ? known_parts(by, steps) : 0;
    for (int i = 0; i < nsteps; i++)
        whole &= steps[i] == 1;
    return (!touched || (whole && nsteps >= 0)) && put_items(s, y, axis);
}

static bool pad(struct separable *s, const struct node *n)
{
    dim_t pads[KNOWN_PARTS];
    int axis = only_first(s, n), rank = n->in[0]->type.rank;
    if (axis < 0)
        return false;
    if (operand(n, 3))
        return !may_list_axis(n->in[3], axis, rank) && put_items(s, n->out[0], axis);
    return known_parts(n->in[1], pads) == 2 * rank && pads[axis] == 0 && pads[axis + rank] == 0 &&
           put_items(s, n->out[0], axis);
}

static bool gather(struct separable *s, const struct node *n)
{
    const struct value *x = n->in[0], *at = n->in[1];
    int along = axis_attr(n, 0);
    if (is_common(s, x) && has_items(s, at))
        return put_items(s, n->out[0], along + place_of(s, at)->axis);
    int axis = only_first(s, n);
    return axis >= 0 && along != axis && put_items(s, n->out[0], axis < along ? axis : axis + at->type.rank - 1);
}

static bool gather_elements(struct separable *s, const struct node *n)
{
    int axis = items_axis(s, n->in[0]);
    return axis >= 0 && has_items(s, n->in[1]) && place_of(s, n->in[1])->axis == axis && axis_attr(n, 0) != axis &&
           n->in[0]->type.dims[axis] == n->in[1]->type.dims[axis] && put_items(s, n->out[0], axis);
}

static bool triangle(struct separable *s, const struct node *n)
{
    int axis = only_first(s, n);
    return axis >= 0 && axis < n->in[0]->type.rank - 2 && put_items(s, n->out[0], axis);
}

/* ---- images ---- */

/* Items are images. What there is beside them is the same for all. */
static bool images(struct separable *s, const struct node *n)
{
    return only_first(s, n) == 0 && n->out[0]->type.rank > 0 && n->out[0]->type.dims[0] == n->in[0]->type.dims[0] &&
           put_all(s, n, 0);
}

static bool items_first(const struct separable *s, const struct value *v)
{
    return items_axis(s, v) == 0;
}

static bool absent_or_first(const struct separable *s, const struct value *v)
{
    return !v || items_first(s, v);
}

/* One for each item, or the same for all, in an operand of a tensor of that rank. */
static bool each_or_common(const struct separable *s, const struct value *v, int rank)
{
    return !v || (has_items(s, v) ? items_first(s, v) && v->type.rank == rank
                                  : is_common(s, v) && v->type.rank >= 0 && spreads(v, 0, rank));
}

static bool images_and_grids(struct separable *s, const struct node *n)
{
    return items_first(s, n->in[0]) && items_first(s, n->in[1]) && put_all(s, n, 0);
}

/* Indices of a maximum count from the first image on. */
static bool max_pool(struct separable *s, const struct node *n)
{
    return (n->nout < 2 || !n->out[1]->uses) && images(s, n);
}

static bool deform_conv(struct separable *s, const struct node *n)
{
    return is_common(s, n->in[1]) && is_common(s, operand(n, 3)) && absent_or_first(s, operand(n, 4)) &&
           items_first(s, n->in[0]) && items_first(s, n->in[2]) && put_all(s, n, 0);
}

static bool causal_conv(struct separable *s, const struct node *n)
{
    return items_first(s, n->in[0]) && are_common(s, n, 1, 3) && absent_or_first(s, operand(n, 3)) && put_all(s, n, 0);
}

/* Sizes may be computed from the shape; that of the batch stays. */
static bool resize(struct separable *s, const struct node *n)
{
    const struct value *x = n->in[0], *y = n->out[0];
    int axis = items_axis(s, x);
    bool crops = attr_is(&n->attrs, "coordinate_transformation_mode", "tf_crop_and_resize");
    return axis >= 0 && !crops && y->type.rank == x->type.rank && y->type.dims[axis] == x->type.dims[axis] &&
           put_items(s, y, axis);
}

/* ---- products ---- */

/* Where in the result the items of a product's operand lie; -1: along what is summed up. `rows`: of the first operand,
 * which keeps its last dim but one unless it is swapped. */
static int product_axis(const struct separable *s, const struct value *v, bool rows, bool swapped, int rank)
{
    int axis = place_of(s, v)->axis, r = v->type.rank, kept = rows != swapped ? r - 2 : r - 1;
    return axis < r - 2 ? axis + rank - r : axis == kept ? rank - (rows ? 2 : 1) : -1;
}

static bool product(struct separable *s, const struct node *n)
{
    const struct value *a = n->in[0], *b = n->in[1];
    int rank = n->out[0]->type.rank, axis = -1;
    if (a->type.rank < 2 || b->type.rank < 2 || !are_common(s, n, 2, n->nin))
        return false;
    int of_a = has_items(s, a) ? product_axis(s, a, true, attr_int(&n->attrs, "trans_a", 0), rank) : -2;
    int of_b = has_items(s, b) ? product_axis(s, b, false, attr_int(&n->attrs, "trans_b", 0), rank) : -2;
    if (of_a == -1 || of_b == -1 || (of_a >= 0 && of_b >= 0 && (of_a != of_b || of_a >= rank - 2)))
        return false;
    axis = of_a >= 0 ? of_a : of_b;
    const struct value *other = of_a >= 0 ? b : a;
    bool lone = of_a < 0 || of_b < 0;
    if (lone && (!is_common(s, other) || (axis < rank - 2 && !spreads(other, axis, rank))))
        return false;
    return put_items(s, n->out[0], axis);
}

static bool gemm(struct separable *s, const struct node *n)
{
    const struct value *c = operand(n, 2);
    bool fits = !c || (has_items(s, c) ? place_of(s, c)->axis == 0 && c->type.rank == 2
                                       : is_common(s, c) && spreads(c, 0, 2));
    return items_axis(s, n->in[0]) == 0 && !attr_int(&n->attrs, "transA", 0) &&
           is_common(s, n->in[1]) && fits && put_items(s, n->out[0], 0);
}

/* One zero point for all rows. */
static bool integer_product(struct separable *s, const struct node *n)
{
    const struct value *zero = operand(n, 2);
    const struct type *t = zero ? &zero->type : NULL;
    return (!t || t->rank == 0 || (t->rank == 1 && t->dims[0] == 1)) && product(s, n);
}

/* Rows by weights, which are the same for all. */
static bool rows_by_weights(struct separable *s, const struct node *n)
{
    int axis = only_first(s, n);
    return axis >= 0 && axis < n->in[0]->type.rank - 1 && put_items(s, n->out[0], axis);
}

/* Queries, keys and values of an item meet; a mask is that of the item or the same for all. */
static bool dot_product_attention(struct separable *s, const struct node *n)
{
    const struct value *mask = operand(n, 3);
    int axis = items_axis(s, n->in[0]), rank = n->in[0]->type.rank;
    for (int i = 0; i < 3; i++)
        if (!has_items(s, n->in[i]) || n->in[i]->type.rank != rank || place_of(s, n->in[i])->axis != axis)
            return false;
    bool fits = !mask || (has_items(s, mask) ? place_of(s, mask)->axis == axis - (rank - mask->type.rank)
                                             : is_common(s, mask) && spreads(mask, axis, rank));
    return axis < rank - 2 && fits && put_items(s, n->out[0], axis);
}

static bool attention(struct separable *s, const struct node *n)
{
    for (int i = 0; i < 3; i++)
        if (!items_first(s, n->in[i]))
            return false;
    for (int i = 4; i < n->nin; i++)
        if (!absent_or_first(s, n->in[i]))
            return false;
    return each_or_common(s, operand(n, 3), 4) && put_all(s, n, 0);
}

/* A position for each item and step of a table of cosines and sines, or a cosine and a sine for each. */
static bool rotary(struct separable *s, const struct node *n)
{
    bool fits = operand(n, 3) ? are_common(s, n, 1, 3) && items_first(s, n->in[3])
                              : items_first(s, n->in[1]) && items_first(s, n->in[2]);
    return fits && items_first(s, n->in[0]) && put_all(s, n, 0);
}

/* ---- which operator has which ---- */

/* Recurrent layers have none: each of their steps is a product of the whole batch, which a few rows would slow down. */

static rule *const rules[OP_COUNT] = {
    [OP_argmax] = place_of_extreme,
    [OP_argmin] = place_of_extreme,
    [OP_attention] = attention,
    [OP_average_pool] = images,
    [OP_batch_norm] = lines_of_channels,
    [OP_broadcast_in_dim] = broadcast_in_dim,
    [OP_causal_conv] = causal_conv,
    [OP_concat] = concat,
    [OP_constant_of_shape] = constant_of_shape,
    [OP_conv] = images,
    [OP_conv_integer] = images,
    [OP_conv_transpose] = images,
    [OP_cumprod] = cumulative,
    [OP_cumsum] = cumulative,
    [OP_deform_conv] = deform_conv,
    [OP_depth_to_space] = images,
    [OP_dequantize_linear] = lines_of_channels,
    [OP_expand] = expand,
    [OP_gather] = gather,
    [OP_gather_elements] = gather_elements,
    [OP_gemm] = gemm,
    [OP_grid_sample] = images_and_grids,
    [OP_group_norm] = images,
    [OP_hardmax] = lines,
    [OP_instance_norm] = images,
    [OP_layer_norm] = norm_from_axis,
    [OP_log_softmax] = lines,
    [OP_lp_norm] = lines,
    [OP_lp_pool] = images,
    [OP_lrn] = images,
    [OP_matmul] = product,
    [OP_matmul_integer] = integer_product,
    [OP_max_pool] = max_pool,
    [OP_pad] = pad,
    [OP_quantize_linear] = lines_of_channels,
    [OP_reduce_l1] = reduce,
    [OP_reduce_l2] = reduce,
    [OP_reduce_log_sum] = reduce,
    [OP_reduce_log_sum_exp] = reduce,
    [OP_reduce_max] = reduce,
    [OP_reduce_mean] = reduce,
    [OP_reduce_min] = reduce,
    [OP_reduce_prod] = reduce,
    [OP_reduce_sum] = reduce,
    [OP_reduce_sum_square] = reduce,
    [OP_resize] = resize,
    [OP_rms_norm] = norm_from_axis,
    [OP_rotary_embedding] = rotary,
    [OP_sdpa] = dot_product_attention,
    [OP_slice] = slice,
    [OP_softmax] = lines,
    [OP_space_to_depth] = images,
    [OP_split] = lines_of_first,
    [OP_tile] = tile,
    [OP_topk] = lines,
    [OP_transpose] = transpose,
    [OP_trilu] = triangle,
    [OP_weight_only_matmul] = rows_by_weights,
};

bool apply_separable_rule(struct separable *s, const struct node *n)
{
    unsigned flags = op_infos[n->op].flags;
    rule *of = rules[n->op] ? rules[n->op] : flags & OPF_ELEMENTWISE ? elementwise : flags & OPF_VIEW ? view : NULL;
    return of && of(s, n);
}
