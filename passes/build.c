#include "passes/build.h"

#include "passes/ir/guards.h"
#include "passes/pass.h"

struct builder builder_before(struct node *at, struct diag *d)
{
    return builder_like(at, at, d);
}

struct builder builder_like(struct node *at, const struct node *like, struct diag *d)
{
    return (struct builder){.g = at->parent->graph, .before = at, .name = like->name, .source = like->source, .d = d};
}

struct node *b_place(struct builder *b, enum op op, struct value *const *in, int nin, int nout,
                     const struct attrs *attrs)
{
    if (diag_failed(b->d))
        return NULL;
    struct node *made = node_new(b->g, op, in, nin, nout, b->name);
    made->source = b->source;
    if (attrs)
        made->attrs = attrs_copy(&b->g->arena, attrs);
    if (b->before)
        node_insert_before(b->before, made);
    else
        node_append(b->r, made);
    return made;
}

bool b_infer(struct builder *b, struct node *n)
{
    return n && !diag_failed(b->d) && infer_node(b->g, n, b->d);
}

struct node *b_node(struct builder *b, enum op op, struct value *const *in, int nin, int nout,
                    const struct attrs *attrs)
{
    struct node *made = b_place(b, op, in, nin, nout, attrs);
    return b_infer(b, made) ? made : NULL;
}

struct value *b_op(struct builder *b, enum op op, struct value *const *in, int nin,
                   const struct attrs *attrs)
{
    int nout = op_infos[op].min_out > 1 ? op_infos[op].min_out : 1;
    struct node *made = b_node(b, op, in, nin, nout, attrs);
    return made ? made->out[0] : NULL;
}

struct value *b_1(struct builder *b, enum op op, struct value *x)
{
    return x ? b_op(b, op, &x, 1, NULL) : NULL;
}

struct value *b_2(struct builder *b, enum op op, struct value *x, struct value *y)
{
    return x && y ? b_op(b, op, (struct value *[]){x, y}, 2, NULL) : NULL;
}

bool b_require(struct builder *b, int kind, dim_t x, dim_t y, const char *what)
{
    struct guard g = {.kind = (uint8_t)kind, .dimension = -1, .a = x, .b = y, .what = what};
    if (diag_failed(b->d))
        return false;
    if (guard_is_certain(&b->g->dims, kind, x, y))
        return true;
    if (dim_is_const(x) && dim_is_const(y))
        return guard_fail(&g, NULL, x, y, b->d);
    g.node = arena_printf(&b->g->arena, "node '%.200s'", b->name);
    graph_add_guard(b->g, &g, b->r, NULL);
    return true;
}

/* ---- constants ---- */

struct value *b_i64s(struct builder *b, const int64_t *v, int count)
{
    return diag_failed(b->d) ? NULL : constant_i64s(b->g, v, count);
}

struct value *b_i64(struct builder *b, int64_t v)
{
    return b_i64s(b, &v, 1);
}

struct value *b_scalar(struct builder *b, int dtype, double v)
{
    return diag_failed(b->d) ? NULL : constant_scalar(b->g, dtype, v);
}

struct value *b_like(struct builder *b, struct value *x, double v)
{
    if (diag_failed(b->d))
        return NULL;
    if (b_dtype(x) == DT_NONE) {
        fail(b->d, "the operand's element type is not known");
        return NULL;
    }
    return constant_scalar(b->g, b_dtype(x), v);
}

struct value *b_tensor(struct builder *b, const struct tensor *t)
{
    return constant_new(b->g, t, NULL);
}

struct value *b_select(struct builder *b, struct value *p, struct value *x, struct value *y)
{
    return b_op(b, OP_where, (struct value *[]){p, x, y}, 3, NULL);
}

/* ---- shapes and movement ---- */

struct value *b_cast(struct builder *b, struct value *x, int dtype)
{
    if (!x || diag_failed(b->d) || b_dtype(x) == dtype)
        return x;
    struct attrs a = {0};
    attr_set_int(&b->g->arena, &a, "to", dtype);
    return b_op(b, OP_cast, &x, 1, &a);
}

struct value *b_shape(struct builder *b, struct value *x)
{
    return b_1(b, OP_shape, x);
}

struct value *b_dim(struct builder *b, struct value *x, int axis)
{
    struct attrs a = {0};
    attr_set_int(&b->g->arena, &a, "start", axis);
    if (axis != -1)
        attr_set_int(&b->g->arena, &a, "end", axis + 1);
    return b_op(b, OP_shape, &x, 1, &a);
}

struct value *b_reshape(struct builder *b, struct value *x, struct value *shape)
{
    return b_2(b, OP_reshape, x, shape);
}

struct value *b_reshape_to(struct builder *b, struct value *x, const int64_t *dims, int rank)
{
    return b_reshape(b, x, b_i64s(b, dims, rank));
}

struct value *b_flatten(struct builder *b, struct value *x, int axis)
{
    struct attrs a = {0};
    attr_set_int(&b->g->arena, &a, "axis", axis);
    return b_op(b, OP_flatten, &x, 1, &a);
}

struct value *b_reshape_as(struct builder *b, struct value *x, struct value *model)
{
    struct attrs a = {0};
    attr_set_int(&b->g->arena, &a, "allowzero", 1);
    return b_op(b, OP_reshape, (struct value *[]){x, b_shape(b, model)}, 2, &a);
}

struct value *b_squeeze(struct builder *b, struct value *x, const int64_t *axes, int count)
{
    return b_2(b, OP_squeeze, x, b_i64s(b, axes, count));
}

struct value *b_unsqueeze(struct builder *b, struct value *x, const int64_t *axes, int count)
{
    return b_2(b, OP_unsqueeze, x, b_i64s(b, axes, count));
}

struct value *b_transpose(struct builder *b, struct value *x, const int64_t *perm, int rank)
{
    struct attrs a = {0};
    attr_set_ints(&b->g->arena, &a, "perm", perm, rank);
    return b_op(b, OP_transpose, &x, 1, &a);
}

static bool moves_only_ones(const struct type *t, const int64_t *perm)
{
    int last = -1;
    for (int i = 0; i < t->rank; i++) {
        if (t->dims[perm[i]] == 1)
            continue;
        if (perm[i] < last)
            return false;
        last = (int)perm[i];
    }
    return true;
}

/* The permuted shape as a reshape operand: constants, one -1 for the one symbolic dim that changed
 * place. */
static bool reshape_operand(const struct type *t, const int64_t *perm, int64_t *shape)
{
    int unknown = 0;
    for (int i = 0; i < t->rank; i++) {
        dim_t d = t->dims[perm[i]];
        shape[i] = dim_is_const(d) ? d : perm[i] == i ? 0 : -1;
        unknown += shape[i] == -1;
        if (d == 0)
            return false;
    }
    return unknown <= 1;
}

struct value *b_permute(struct builder *b, struct value *x, const int64_t *perm)
{
    int64_t shape[MAX_RANK];
    if (!x)
        return NULL;
    if (moves_only_ones(&x->type, perm) && reshape_operand(&x->type, perm, shape))
        return b_reshape_to(b, x, shape, x->type.rank);
    return b_transpose(b, x, perm, x->type.rank);
}

struct value *b_concat(struct builder *b, struct value *const *v, int count, int axis)
{
    struct attrs a = {0};
    attr_set_int(&b->g->arena, &a, "axis", axis);
    return b_op(b, OP_concat, v, count, &a);
}

struct value *b_slice(struct builder *b, struct value *x, int64_t from, int64_t to, int axis)
{
    return b_op(b, OP_slice, (struct value *[]){x, b_i64(b, from), b_i64(b, to), b_i64(b, axis)}, 4,
                NULL);
}

struct value *b_gather(struct builder *b, struct value *x, struct value *indices, int axis)
{
    struct attrs a = {0};
    attr_set_int(&b->g->arena, &a, "axis", axis);
    return b_op(b, OP_gather, (struct value *[]){x, indices}, 2, &a);
}

struct value *b_reduce(struct builder *b, enum op op, struct value *x, const int64_t *axes,
                       int count, bool keepdims)
{
    struct attrs a = {0};
    if (axes)
        attr_set_ints(&b->g->arena, &a, "axes", axes, count);
    attr_set_int(&b->g->arena, &a, "keepdims", keepdims);
    return b_op(b, op, &x, 1, &a);
}

/* ---- what is known ---- */

int b_dtype(const struct value *v)
{
    return v && v->type.kind == VK_TENSOR ? v->type.dtype : DT_NONE;
}
