#include "frontend/onnx/build.h"
#include "passes/ir/guards.h"
#include "passes/pass.h"

#include <string.h>

struct node *b_node(struct onnx_node *n, enum op op, struct value *const *in, int nin, int nout,
                    const struct attrs *attrs)
{
    if (diag_failed(n->d))
        return NULL;
    struct node *made = node_new(n->g, op, in, nin, nout, n->name);
    made->source = arena_strdup(&n->g->arena, n->op);
    if (attrs)
        made->attrs = attrs_copy(&n->g->arena, attrs);
    node_append(n->r, made);
    return infer_node(n->g, made, n->d) ? made : NULL;
}

struct value *b_op(struct onnx_node *n, enum op op, struct value *const *in, int nin,
                   const struct attrs *attrs)
{
    int nout = op_infos[op].min_out > 1 ? op_infos[op].min_out : 1;
    struct node *made = b_node(n, op, in, nin, nout, attrs);
    return made ? made->out[0] : NULL;
}

struct value *b_1(struct onnx_node *n, enum op op, struct value *x)
{
    return b_op(n, op, &x, 1, NULL);
}

struct value *b_2(struct onnx_node *n, enum op op, struct value *x, struct value *y)
{
    return b_op(n, op, (struct value *[]){x, y}, 2, NULL);
}

bool b_require(struct onnx_node *n, int kind, dim_t a, dim_t b, const char *what)
{
    struct guard g = {.kind = (uint8_t)kind, .dimension = -1, .a = a, .b = b, .what = what};
    if (diag_failed(n->d))
        return false;
    if (guard_is_certain(&n->g->dims, kind, a, b))
        return true;
    if (dim_is_const(a) && dim_is_const(b))
        return guard_fail(&g, NULL, a, b, n->d);
    g.node = arena_printf(&n->g->arena, "node '%.200s'", n->name);
    graph_add_guard(n->g, &g, n->r, NULL);
    return true;
}

bool b_done(struct onnx_node *n, struct value *result)
{
    n->out[0] = result;
    return !diag_failed(n->d);
}

/* ---- constants ---- */

struct value *b_i64s(struct onnx_node *n, const int64_t *v, int count)
{
    return constant_i64s(n->g, v, count);
}

struct value *b_i64(struct onnx_node *n, int64_t v)
{
    return constant_i64s(n->g, &v, 1);
}

struct value *b_scalar(struct onnx_node *n, int dtype, double v)
{
    return diag_failed(n->d) ? NULL : constant_scalar(n->g, dtype, v);
}

struct value *b_like(struct onnx_node *n, struct value *x, double v)
{
    if (diag_failed(n->d))
        return NULL;
    if (b_dtype(x) == DT_NONE) {
        NODE_ERROR(n, "the operand's element type is not known");
        return NULL;
    }
    return constant_scalar(n->g, b_dtype(x), v);
}

struct value *b_tensor(struct onnx_node *n, const struct tensor *t)
{
    return constant_new(n->g, t, NULL);
}

/* ---- shapes and movement ---- */

struct value *b_cast(struct onnx_node *n, struct value *x, int dtype)
{
    if (diag_failed(n->d) || b_dtype(x) == dtype)
        return x;
    struct attrs a = {0};
    attr_set_int(&n->g->arena, &a, "to", dtype);
    return b_op(n, OP_cast, &x, 1, &a);
}

struct value *b_shape(struct onnx_node *n, struct value *x)
{
    return b_1(n, OP_shape, x);
}

struct value *b_dim(struct onnx_node *n, struct value *x, int axis)
{
    struct attrs a = {0};
    attr_set_int(&n->g->arena, &a, "start", axis);
    if (axis != -1)
        attr_set_int(&n->g->arena, &a, "end", axis + 1);
    return b_op(n, OP_shape, &x, 1, &a);
}

struct value *b_reshape(struct onnx_node *n, struct value *x, struct value *shape)
{
    return b_2(n, OP_reshape, x, shape);
}

struct value *b_reshape_to(struct onnx_node *n, struct value *x, const int64_t *shape, int rank)
{
    return b_reshape(n, x, b_i64s(n, shape, rank));
}

struct value *b_flatten(struct onnx_node *n, struct value *x, int axis)
{
    struct attrs a = {0};
    attr_set_int(&n->g->arena, &a, "axis", axis);
    return b_op(n, OP_flatten, &x, 1, &a);
}

struct value *b_reshape_as(struct onnx_node *n, struct value *x, struct value *model)
{
    struct attrs a = {0};
    attr_set_int(&n->g->arena, &a, "allowzero", 1);
    return b_op(n, OP_reshape, (struct value *[]){x, b_shape(n, model)}, 2, &a);
}

struct value *b_squeeze(struct onnx_node *n, struct value *x, const int64_t *axes, int count)
{
    return b_2(n, OP_squeeze, x, b_i64s(n, axes, count));
}

struct value *b_unsqueeze(struct onnx_node *n, struct value *x, const int64_t *axes, int count)
{
    return b_2(n, OP_unsqueeze, x, b_i64s(n, axes, count));
}

struct value *b_transpose(struct onnx_node *n, struct value *x, const int64_t *perm, int rank)
{
    struct attrs a = {0};
    attr_set_ints(&n->g->arena, &a, "perm", perm, rank);
    return b_op(n, OP_transpose, &x, 1, &a);
}

struct value *b_concat(struct onnx_node *n, struct value *const *v, int count, int axis)
{
    struct attrs a = {0};
    attr_set_int(&n->g->arena, &a, "axis", axis);
    return b_op(n, OP_concat, v, count, &a);
}

struct value *b_slice(struct onnx_node *n, struct value *x, int64_t from, int64_t to, int axis)
{
    return b_op(n, OP_slice, (struct value *[]){x, b_i64(n, from), b_i64(n, to), b_i64(n, axis)}, 4,
                NULL);
}

struct value *b_gather(struct onnx_node *n, struct value *x, struct value *indices, int axis)
{
    struct attrs a = {0};
    attr_set_int(&n->g->arena, &a, "axis", axis);
    return b_op(n, OP_gather, (struct value *[]){x, indices}, 2, &a);
}

struct value *b_reduce(struct onnx_node *n, enum op op, struct value *x, const int64_t *axes,
                       int count, bool keepdims)
{
    struct attrs a = {0};
    if (axes)
        attr_set_ints(&n->g->arena, &a, "axes", axes, count);
    attr_set_int(&n->g->arena, &a, "keepdims", keepdims);
    return b_op(n, op, &x, 1, &a);
}

/* ---- what is known ---- */

int b_dtype(const struct value *v)
{
    return v && v->type.kind == VK_TENSOR ? v->type.dtype : DT_NONE;
}

bool b_rank(struct onnx_node *n, const struct value *v, const char *what, int *rank)
{
    *rank = 0;
    if (diag_failed(n->d))
        return false;
    if (!v || v->type.kind != VK_TENSOR || v->type.rank < 0)
        return NODE_ERROR(n,
                          "the rank of %s is not known, and this operator version needs it; give "
                          "the input's shape with --shape",
                          what);
    *rank = v->type.rank;
    return true;
}

bool b_axis(struct onnx_node *n, int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return NODE_ERROR(n, "axis is %lld, expected %d to %d", (long long)axis, -rank, rank - 1);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

const struct tensor *b_constant(const struct value *v)
{
    return v ? v->constant : NULL;
}

struct attrs b_attrs_without(struct onnx_node *n, const char *const *names)
{
    struct attrs a = attrs_copy(&n->g->arena, &n->attrs);
    for (; *names; names++)
        attr_remove(&a, *names);
    return a;
}

struct value *b_ints_operand(struct onnx_node *n, const char *attribute)
{
    int count;
    const int64_t *v = attr_ints(&n->attrs, attribute, &count);
    return attr_find(&n->attrs, attribute) ? b_i64s(n, v, count) : NULL;
}

/* ---- operators that are a row of op.def ---- */

static bool spelled(const char *spelling, const char *domain, const char *name)
{
    size_t n = strlen(domain);
    if (!n)
        return !strcmp(spelling, name);
    return !strncmp(spelling, domain, n) && spelling[n] == '.' && !strcmp(spelling + n + 1, name);
}

enum op core_op(const char *domain, const char *name)
{
    for (int op = 0; *name && op < OP_COUNT; op++)
        if (spelled(op_infos[op].onnx, domain, name))
            return op;
    return OP_COUNT;
}

bool lower_same(struct onnx_node *n)
{
    enum op op = core_op(n->domain, n->op);
    int nout = n->nout > op_infos[op].min_out ? n->nout : op_infos[op].min_out;
    struct node *made = b_node(n, op, n->in, n->nin, nout, &n->attrs);
    for (int i = 0; made && i < n->nout; i++)
        n->out[i] = made->out[i];
    return made != NULL;
}
