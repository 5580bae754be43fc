/*
 * Sums of parts that zeros surround, as gradients of slices and splits are: parts that lie next to each other are
 * concatenated, and those that lie in the same place are added before zeros go around them. Where nothing is left of
 * the zeros, the sum was one concatenation.
 */
#include "passes/compose.h"

#include <string.h>

/* x behind `before` zeros and before `after` of them along one axis. */
struct padded {
    struct value *x;
    int axis;
    int64_t before, after;
};

static bool is_zero(const struct node *pad)
{
    return pad->nin < 3 || !pad->in[2] || constant_is(pad->in[2], 0);
}

static bool is_constant_mode(const struct node *pad)
{
    struct str mode = attr_str(&pad->attrs, "mode", "constant");
    return mode.n == 8 && !memcmp(mode.p, "constant", mode.n);
}

/* Nobody else reads v, a padding with zeros along one axis. */
static bool is_padded(const struct value *v, struct padded *p)
{
    const struct node *n = v->def;
    const struct tensor *pads = n && n->op == OP_pad && n->in[1] ? n->in[1]->constant : NULL;
    int rank = v->type.rank;
    *p = (struct padded){.axis = -1};
    if (!pads || !value_only_user(v) || !is_zero(n) || !is_constant_mode(n) ||
        (n->nin > 3 && n->in[3]) || tensor_count(pads) != 2 * rank)
        return false;
    p->x = n->in[0];
    for (int i = 0; i < rank; i++) {
        int64_t before = tensor_i64(pads, i), after = tensor_i64(pads, rank + i);
        if (!before && !after)
            continue;
        if (p->axis >= 0 || before < 0 || after < 0)
            return false;
        p->axis = i, p->before = before, p->after = after;
    }
    return p->axis >= 0 && dim_is_const(p->x->type.dims[p->axis]);
}

enum { MAX_PARTS = 64 };

/* Concatenations among the parts are taken apart, where there is room. */
static struct value *concatenated(struct compose *c, struct node *n, struct value *const *parts, int count, int axis)
{
    struct builder b = builder_before(n, c->d);
    b.name = NULL;
    struct value *in[MAX_PARTS];
    int total = 0;
    for (int i = 0; i < count; i++) {
        const struct node *inner = made_by(parts[i], OP_concat);
        bool apart = inner && attr_int(&inner->attrs, "axis", 0) == axis && total + inner->nin + count - i < MAX_PARTS;
        for (int k = 0; apart && k < inner->nin; k++)
            in[total++] = inner->in[k];
        if (!apart)
            in[total++] = parts[i];
    }
    return b_concat(&b, in, total, axis);
}

static struct value *surrounded(struct compose *c, struct node *n, struct value *x, const struct padded *p)
{
    struct builder b = builder_before(n, c->d);
    b.name = NULL;
    int64_t pads[2 * MAX_RANK] = {0};
    int rank = n->out[0]->type.rank;
    if (!x || (!p->before && !p->after))
        return x;
    pads[p->axis] = p->before, pads[rank + p->axis] = p->after;
    struct value *in[] = {x, constant_i64s(c->g, pads, 2 * rank)};
    return b_op(&b, OP_pad, in, 2, NULL);
}

static struct value *both_padded(struct compose *c, struct node *n, const struct padded *x, const struct padded *y)
{
    struct builder b = builder_before(n, c->d);
    int64_t size = x->x->type.dims[x->axis];
    if (x->axis != y->axis)
        return NULL;
    if (x->before == y->before && x->after == y->after)
        return surrounded(c, n, b_add(&b, x->x, y->x), x);
    if (y->before != x->before + size)
        return NULL;
    struct padded all = {.axis = x->axis, .before = x->before, .after = y->after};
    return surrounded(c, n, concatenated(c, n, (struct value *[]){x->x, y->x}, 2, x->axis), &all);
}

/* A part of a concatenation, which nobody else reads, that lies where p does. */
static struct value *added_to_part(struct compose *c, struct node *n, struct value *v, const struct padded *p)
{
    struct builder b = builder_before(n, c->d);
    const struct node *parts = v->def;
    struct value *in[MAX_PARTS];
    int64_t at = 0;
    int found = -1;
    if (!parts || parts->op != OP_concat || parts->nin > MAX_PARTS / 2 || !value_only_user(v) ||
        attr_int(&parts->attrs, "axis", 0) != p->axis)
        return NULL;
    for (int i = 0; i < parts->nin; i++) {
        dim_t size = parts->in[i]->type.dims[p->axis];
        in[i] = parts->in[i];
        if (!dim_is_const(size))
            return NULL;
        if (at == p->before && size == p->x->type.dims[p->axis])
            found = i;
        at += size;
    }
    if (found < 0)
        return NULL;
    in[found] = b_add(&b, in[found], p->x);
    return in[found] ? concatenated(c, n, in, parts->nin, p->axis) : NULL;
}

struct value *compose_padded(struct compose *c, struct node *n)
{
    struct padded a, b;
    bool first = is_padded(n->in[0], &a), second = is_padded(n->in[1], &b);
    if (!same_type(n->in[0], n->out[0]) || !same_type(n->in[1], n->out[0]))
        return NULL;
    if (first && second) {
        struct value *made = both_padded(c, n, &a, &b);
        return made || diag_failed(c->d) ? made : both_padded(c, n, &b, &a);
    }
    return first ? added_to_part(c, n, n->in[1], &a) : second ? added_to_part(c, n, n->in[0], &b) : NULL;
}
