#include "frontend/onnx/build.h"
#include "passes/pass.h"

#include <string.h>

bool b_done(struct onnx_node *n, struct value *result)
{
    n->out[0] = result;
    return !diag_failed(n->b->d);
}

/* ---- what is known ---- */

bool b_rank(struct onnx_node *n, const struct value *v, const char *what, int *rank)
{
    *rank = 0;
    if (diag_failed(n->b->d))
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
    struct attrs a = attrs_copy(&n->b->g->arena, &n->attrs);
    for (; *names; names++)
        attr_remove(&a, *names);
    return a;
}

struct value *b_ints_operand(struct onnx_node *n, const char *attribute)
{
    int count;
    const int64_t *v = attr_ints(&n->attrs, attribute, &count);
    return attr_find(&n->attrs, attribute) ? b_i64s(n->b, v, count) : NULL;
}

/* ---- what a lowering function expects ---- */

bool b_has_dims(struct onnx_node *n, int i, const char *name, const dim_t *dims, int rank)
{
    int own;
    if (!b_in(n, i))
        return true;
    if (!b_rank(n, n->in[i], name, &own))
        return false;
    if (own != rank)
        return NODE_ERROR(n, "%s has rank %d, expected %d", name, own, rank);
    for (int k = 0; k < rank; k++)
        if (!b_require(n->b, GUARD_EQUAL, n->in[i]->type.dims[k], dims[k],
                       arena_printf(&n->b->g->arena, "dimension %d of %s", k, name)))
            return false;
    return true;
}

bool b_is_one_of(struct onnx_node *n, const char *attribute, const char *const *words)
{
    const char *const *first = words;
    struct str given = attr_str(&n->attrs, attribute, "");
    if (!attr_find(&n->attrs, attribute))
        return true;
    for (; *words; words++)
        if (attr_is(&n->attrs, attribute, *words))
            return true;
    const char *all = *first ? *first : "";
    for (words = first + 1; *words; words++)
        all = arena_printf(&n->b->g->arena, "%s%s %s", all, words[1] ? "," : " or", *words);
    return NODE_ERROR(n, "attribute '%s' is '%.*s', expected %s", attribute, (int)given.n, given.p, all);
}

bool b_has_default(struct onnx_node *n, const char *attribute, int64_t value)
{
    int64_t given = attr_int(&n->attrs, attribute, value);
    return given == value || NODE_ERROR(n, "attribute '%s' is %lld, only %lld is supported", attribute,
                                        (long long)given, (long long)value);
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
    struct node *made = b_node(n->b, op, n->in, n->nin, nout, &n->attrs);
    for (int i = 0; made && i < n->nout; i++)
        n->out[i] = made->out[i];
    return made != NULL;
}
