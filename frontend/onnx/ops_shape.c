/* Constants, shapes and data movement: attributes that became operands, and Resize's ancestors. */
#include "frontend/onnx/ops.h"

#include <string.h>

static struct value *float_list(struct onnx_node *n, const struct attr *a)
{
    int64_t dims[1] = {a->count};
    float *v = ARENA_ARRAY(&n->b->g->arena, float, a->count + 1);
    for (int i = 0; i < a->count; i++)
        v[i] = (float)a->floats[i];
    return constant_copy(n->b->g, DT_F32, 1, dims, v, NULL);
}

static struct value *string_constant(struct onnx_node *n, int rank, const struct str *s, int count)
{
    struct tensor *t = ARENA_NEW(&n->b->g->arena, struct tensor);
    int64_t dims[1] = {count};
    *t = tensor_view(DT_STR, rank, dims, (void *)s);
    return constant_new(n->b->g, t, NULL);
}

bool lower_constant(struct onnx_node *n)
{
    const struct attr *a;
    if (n->attrs.count > 1)
        return NODE_ERROR(n, "%d attributes hold a value, expected exactly one", n->attrs.count);
    struct value *v = NULL;
    if ((a = attr_find(&n->attrs, "value")))
        v = b_tensor(n->b, a->tensor);
    else if ((a = attr_find(&n->attrs, "value_float")))
        v = b_scalar(n->b, DT_F32, a->f);
    else if ((a = attr_find(&n->attrs, "value_int")))
        v = constant_copy(n->b->g, DT_I64, 0, NULL, &a->i, NULL);
    else if ((a = attr_find(&n->attrs, "value_floats")))
        v = float_list(n, a);
    else if ((a = attr_find(&n->attrs, "value_ints")))
        v = b_i64s(n->b, a->ints, a->count);
    else if ((a = attr_find(&n->attrs, "value_string")))
        v = string_constant(n, 0, &a->s, 1);
    else if ((a = attr_find(&n->attrs, "value_strings")))
        v = string_constant(n, 1, a->strs, a->count);
    else
        v = node_sparse_constant(n, "sparse_value");
    if (!v && !diag_failed(n->b->d))
        return NODE_ERROR(n, "no attribute holds a value, expected 'value' or one of its kin");
    return b_done(n, v);
}

bool lower_reshape_attribute(struct onnx_node *n)
{
    struct value *shape = b_ints_operand(n, "shape");
    if (!shape)
        return NODE_ERROR(n, "attribute 'shape' is missing, expected ints");
    return b_done(n, b_reshape(n->b, n->in[0], shape));
}

bool lower_slice_attributes(struct onnx_node *n)
{
    struct value *starts = b_ints_operand(n, "starts"), *ends = b_ints_operand(n, "ends");
    if (!starts || !ends)
        return NODE_ERROR(n, "attributes 'starts' and 'ends' are needed below operator set 10");
    struct value *in[] = {n->in[0], starts, ends, b_ints_operand(n, "axes")};
    return b_done(n, b_op(n->b, OP_slice, in, in[3] ? 4 : 3, NULL));
}

bool lower_pad_attributes(struct onnx_node *n)
{
    struct value *pads = b_ints_operand(n, n->version < 2 ? "paddings" : "pads");
    if (!pads)
        return NODE_ERROR(n, "attribute 'pads' is needed below operator set 11");
    struct attrs a = b_attrs_without(n, (const char *const[]){"pads", "paddings", "value", NULL});
    struct value *in[] = {n->in[0], pads, b_like(n->b, n->in[0], attr_float(&n->attrs, "value", 0))};
    return b_done(n, b_op(n->b, OP_pad, in, 3, &a));
}

bool lower_split(struct onnx_node *n)
{
    int all = (int)n->proto->n_output; /* unnamed ones too, they have a share */
    struct value *sizes = n->nin > 1 ? n->in[1] : b_ints_operand(n, "split");
    struct attrs a = b_attrs_without(n, (const char *const[]){"split", NULL});
    int64_t parts = attr_int(&a, "num_outputs", all);
    if (parts != all)
        return NODE_ERROR(n, "attribute 'num_outputs' is %lld, the node has %d outputs",
                          (long long)parts, all);
    attr_remove(&a, "num_outputs");
    if (!sizes)
        attr_set_int(&n->b->g->arena, &a, "num_outputs", all);
    if (!sizes && n->version < 18)
        attr_set_int(&n->b->g->arena, &a, "equal", 1);
    struct node *made =
        b_node(n->b, OP_split, (struct value *[]){n->in[0], sizes}, sizes ? 2 : 1, all, &a);
    for (int i = 0; made && i < n->nout; i++)
        n->out[i] = made->out[i];
    return made != NULL;
}

bool lower_concat_1(struct onnx_node *n)
{
    return b_done(n, b_concat(n->b, n->in, n->nin, (int)attr_int(&n->attrs, "axis", 1)));
}

/* PyTorch's exporter writes the axes of permute as they are, also those that count from the end. */
bool lower_permute(struct onnx_node *n)
{
    int64_t perm[MAX_RANK];
    int count;
    const int64_t *given = attr_ints(&n->attrs, "perm", &count);
    for (int i = 0; given && i < count && count <= MAX_RANK; i++)
        perm[i] = given[i] < 0 && given[i] >= -count ? given[i] + count : given[i];
    if (given && count <= MAX_RANK)
        attr_set_ints(&n->b->g->arena, &n->attrs, "perm", perm, count);
    return lower_same(n);
}

/* x, tiles, axis: repeats along one axis. */
bool lower_tile_1(struct onnx_node *n)
{
    int rank, at;
    if (n->nin < 3) /* the form of operator set 6 */
        return lower_same(n);
    const struct tensor *axis = b_constant(n->in[2]);
    if (!axis || tensor_count(axis) != 1 || !b_rank(n, n->in[0], "the operand", &rank))
        return diag_failed(n->b->d) ? false
                                 : NODE_ERROR(n, "the axis is not a constant, expected one");
    if (!b_axis(n, tensor_i64(axis, 0), rank, &at))
        return false;
    struct value *one = b_i64(n->b, 1), *parts[MAX_RANK];
    struct value *tiles = b_reshape_to(n->b, b_cast(n->b, n->in[1], DT_I64), (int64_t[]){1}, 1);
    for (int i = 0; i < rank; i++)
        parts[i] = i == at ? tiles : one;
    return b_done(n, b_2(n->b, OP_tile, n->in[0], b_concat(n->b, parts, rank, 0)));
}

bool lower_topk_attribute(struct onnx_node *n)
{
    if (!attr_find(&n->attrs, "k"))
        return NODE_ERROR(n, "attribute 'k' is missing, expected an int");
    struct attrs a = b_attrs_without(n, (const char *const[]){"k", NULL});
    struct value *in[] = {n->in[0], b_i64(n->b, attr_int(&n->attrs, "k", 0))};
    struct node *made = b_node(n->b, OP_topk, in, 2, 2, &a);
    for (int i = 0; made && i < n->nout; i++)
        n->out[i] = made->out[i];
    return made != NULL;
}

bool lower_scatter(struct onnx_node *n)
{
    return b_done(n, b_op(n->b, OP_scatter_elements, n->in, 3, &n->attrs));
}

/* The depth may be of any numeric type; shape rules want an integer. */
bool lower_one_hot(struct onnx_node *n)
{
    struct value *in[] = {n->in[0], b_cast(n->b, n->in[1], DT_I64), n->in[2]};
    return b_done(n, b_op(n->b, OP_one_hot, in, 3, &n->attrs));
}

bool lower_dynamic_slice(struct onnx_node *n)
{
    return b_done(n, b_op(n->b, OP_slice, n->in, n->nin, NULL));
}

static struct value *upsample_scales(struct onnx_node *n)
{
    const struct attr *scales = attr_find(&n->attrs, "scales");
    const struct attr *height = attr_find(&n->attrs, "height_scale");
    const struct attr *width = attr_find(&n->attrs, "width_scale");
    if (n->nin > 1)
        return n->in[1];
    if (scales)
        return float_list(n, scales);
    if (height && width) {
        float v[4] = {1, 1, (float)height->f, (float)width->f};
        return constant_copy(n->b->g, DT_F32, 1, (int64_t[]){4}, v, NULL);
    }
    NODE_ERROR(n, "the scales are missing, expected an operand or attribute 'scales'");
    return NULL;
}

static struct value *resize_old(struct onnx_node *n, struct value *x, struct value *scales,
                                const char *mode, const char *nearest)
{
    struct attrs a = {0};
    attr_set_str(&n->b->g->arena, &a, "mode", mode);
    attr_set_str(&n->b->g->arena, &a, "coordinate_transformation_mode", "asymmetric");
    attr_set_str(&n->b->g->arena, &a, "nearest_mode", nearest);
    return b_op(n->b, OP_resize, (struct value *[]){x, NULL, scales}, 3, &a);
}

/*
 * Upsample, and Resize as it was in operator set 10: asymmetric coordinates. Nearest takes the
 * element behind where it shrinks, and the one before where it grows; an axis does either, so two
 * steps do both.
 */
bool lower_upsample(struct onnx_node *n)
{
    struct value *scales = upsample_scales(n);
    const struct tensor *known = b_constant(scales);
    if (attr_is(&n->attrs, "mode", "linear") || attr_is(&n->attrs, "mode", "bilinear"))
        return b_done(n, resize_old(n, n->in[0], scales, "linear", "floor"));
    if (attr_find(&n->attrs, "mode") && !attr_is(&n->attrs, "mode", "nearest"))
        return NODE_ERROR(n, "attribute 'mode' is neither 'nearest' nor 'linear'");
    bool shrinks = !known;
    for (int64_t i = 0; known && i < tensor_count(known); i++)
        shrinks |= tensor_f64(known, i) < 1;
    if (!shrinks)
        return b_done(n, resize_old(n, n->in[0], scales, "nearest", "floor"));
    struct value *one = b_like(n->b, scales, 1);
    struct value *smaller = resize_old(n, n->in[0], b_2(n->b, OP_min, scales, one), "nearest", "ceil");
    return b_done(n, resize_old(n, smaller, b_2(n->b, OP_max, scales, one), "nearest", "floor"));
}

/* Operand i, or NULL when it is known to be empty: operator set 11 had no other way to leave it
 * out. */
static struct value *unless_empty(struct onnx_node *n, int i)
{
    struct value *v = b_in(n, i);
    bool empty = v && v->type.kind == VK_TENSOR && v->type.rank == 1 && v->type.dims[0] == 0;
    return empty ? NULL : v;
}

/*
 * Aligned corners by scales: ONNX's text divides by in * scale - 1, ONNX Runtime and PyTorch by the
 * length of the result - 1, which differs where in * scale is no integer. ONNX's own cases, of linear and
 * cubic interpolation, shrink by its text; models that grow, those of nearest values, and all that PyTorch exports
 * (known by a nearest mode beside another mode), come from where lengths count.
 */
static void align_lengths(struct onnx_node *n, const struct value *scales)
{
    bool nearest = !attr_find(&n->attrs, "mode") || attr_is(&n->attrs, "mode", "nearest");
    bool exported = attr_is(&n->attrs, "nearest_mode", "floor") && !nearest, grows = nearest;
    if (!attr_is(&n->attrs, "coordinate_transformation_mode", "align_corners"))
        return;
    for (int64_t i = 0; scales->constant && i < tensor_count(scales->constant); i++)
        grows |= tensor_f64(scales->constant, i) > 1;
    if (grows || exported)
        attr_set_str(&n->b->g->arena, &n->attrs, "coordinate_transformation_mode", "align_lengths");
}

bool lower_resize(struct onnx_node *n)
{
    struct value *in[] = {n->in[0], unless_empty(n, 1), unless_empty(n, 2), unless_empty(n, 3)};
    int nin = in[3] ? 4 : in[2] ? 3 : 0;
    if (!nin || (in[2] && in[3]))
        return NODE_ERROR(n, "scales and sizes are both %s, expected one of them",
                          nin ? "given" : "left out");
    if (in[2])
        align_lengths(n, in[2]);
    return b_done(n, b_op(n->b, OP_resize, in, nin, &n->attrs));
}
