#include "passes/compose.h"

#include <math.h>

bool is_reduction(const struct value *v, enum op op, struct composed_reduction *out)
{
    struct node *n = made_by(v, op);
    if (!n && v->def && op_infos[v->def->op].flags & OPF_VIEW)
        n = made_by(v->def->in[0], op);
    if (!n || (out->naxes = reduction_axes(n, out->axes)) < 1)
        return false;
    out->x = n->in[0];
    struct type kept = out->x->type;
    for (int i = 0; i < out->naxes; i++)
        kept.dims[out->axes[i]] = 1;
    return type_equal(&kept, &v->type);
}

bool is_mean(const struct value *v, struct composed_reduction *out)
{
    struct value *sum;
    double factor, count = 1;
    if (is_reduction(v, OP_reduce_mean, out))
        return true;
    if (!is_scaled(v, &sum, &factor) || !is_reduction(sum, OP_reduce_sum, out))
        return false;
    for (int i = 0; i < out->naxes; i++) {
        dim_t size = out->x->type.dims[out->axes[i]];
        if (!dim_is_const(size))
            return false;
        count *= (double)size;
    }
    return fabs(factor * count - 1) <= 1e-6;
}

bool same_axes(const struct composed_reduction *a, const struct composed_reduction *b)
{
    if (a->naxes != b->naxes)
        return false;
    for (int i = 0; i < a->naxes; i++)
        if (a->axes[i] != b->axes[i])
            return false;
    return true;
}

int trailing_axes(const struct composed_reduction *r)
{
    int first = r->x->type.rank - r->naxes;
    for (int i = 0; i < r->naxes; i++)
        if (r->axes[i] != first + i)
            return 0;
    return r->naxes;
}

struct value *square_root_of(const struct value *v)
{
    struct node *n = v->def;
    double exponent;
    if (!n)
        return NULL;
    if (n->op == OP_square || (n->op == OP_mul && n->in[0] == n->in[1]))
        return n->in[0];
    if (n->op == OP_pow && constant_number(n->in[1], &exponent) && exponent == 2 &&
        same_type(n->in[0], n->out[0]))
        return n->in[0];
    return NULL;
}

bool is_scaled(const struct value *v, struct value **x, double *factor)
{
    struct node *n = v ? v->def : NULL;
    if (!n || (n->op != OP_mul && n->op != OP_div))
        return false;
    if (constant_number(n->in[1], factor)) {
        *x = n->in[0];
        if (n->op == OP_div)
            *factor = 1 / *factor;
    } else if (n->op == OP_mul && constant_number(n->in[0], factor)) {
        *x = n->in[1];
    } else {
        return false;
    }
    return same_type(*x, v) && dtype_is_float(v->type.dtype);
}

bool is_reciprocal(const struct value *v, struct value **a)
{
    struct node *n = v->def;
    if (!n)
        return false;
    if (n->op == OP_div && constant_is(n->in[0], 1) && same_type(n->in[1], v)) {
        *a = n->in[1];
        return true;
    }
    *a = n->nin ? n->in[0] : NULL;
    if (n->op == OP_pow)
        return constant_is(n->in[1], -1) && same_type(*a, v);
    return n->op == OP_reciprocal;
}
