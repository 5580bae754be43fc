/*
 * pass columns, for chips: products by a constant matrix whose columns are taken apart: queries, keys and values of one
 * product, or the two halves of a gated layer. Each part becomes a product by its own columns. Nothing is copied when
 * the model runs, and what follows a part can follow its product in one tile program.
 *
 *     split(transpose(reshape(x * W + b)))     transpose(reshape(x * W1 + b1)), ...
 */
#include "passes/match.h"
#include "passes/rewrite.h"

enum {
    MAX_PARTS = 8,
    MAX_STEPS = 8,   /* between the product and its parts */
    MIN_COLUMNS = 32 /* of a part: fewer leave vectors and arrays unused */
};

/* Elements [from, from + size) along an axis; a result of `node`. */
struct column_part {
    struct node *node;
    int output;
    int64_t from, size;
    bool keeps_axis;
};

struct column_parts {
    struct column_part part[MAX_PARTS];
    int n;
    struct node *steps[MAX_STEPS]; /* from the parts back to the product */
    int axis[MAX_STEPS];           /* that the parts lie along, of each one's result */
    int nsteps;
    struct node *product;
};

/* ---- who takes what ---- */

static int axis_of(const struct node *n, int64_t axis)
{
    int rank = n->in[0]->type.rank;
    return (int)(axis < 0 ? axis + rank : axis);
}

static bool one_number(const struct value *v, int64_t *number)
{
    if (!single_constant(v) || !dtype_is_int(v->constant->dtype))
        return false;
    *number = tensor_i64(v->constant, 0);
    return true;
}

/* The only axis along which a slice takes less than all, in steps of 1, and where it begins; -1: there is none. */
static int sliced_axis(const struct node *n, int64_t *from)
{
    const struct type *x = &n->in[0]->type, *y = &n->out[0]->type;
    const struct tensor *starts = n->in[1]->constant, *axes = n->nin > 3 && n->in[3] ? n->in[3]->constant : NULL;
    const struct tensor *steps = n->nin > 4 && n->in[4] ? n->in[4]->constant : NULL;
    int axis = -1, rank = x->rank;
    if (y->rank != rank || !starts || (n->nin > 3 && n->in[3] && !axes) || (n->nin > 4 && n->in[4] && !steps))
        return -1;
    for (int64_t i = 0; i < tensor_count(starts); i++) {
        int64_t at = axes ? tensor_i64(axes, i) : i;
        at += at < 0 ? rank : 0;
        if (steps && tensor_i64(steps, i) != 1)
            return -1;
        if (at < 0 || at >= rank || x->dims[at] == y->dims[at])
            continue;
        if (axis >= 0 || !dim_is_const(x->dims[at]) || !dim_is_const(y->dims[at]))
            return -1;
        axis = (int)at;
        *from = tensor_i64(starts, i);
        *from += *from < 0 ? x->dims[at] : 0;
    }
    return axis;
}

/* What a split, a slice by constants or a gather of one index takes of in[0]; along which axis, -1: something else. */
static int taken_by(struct node *n, struct column_parts *c)
{
    const struct value *v = n->in[0];
    int64_t from = 0, axis;
    if (n->op == OP_split) {
        axis = axis_of(n, attr_int(&n->attrs, "axis", 0));
        for (int i = 0; i < n->nout; i++) {
            int64_t size = n->out[i]->type.rank == v->type.rank ? n->out[i]->type.dims[axis] : -1;
            if (c->n == MAX_PARTS || !dim_is_const(size) || size < 1)
                return -1;
            c->part[c->n++] = (struct column_part){n, i, from, size, true};
            from += size;
        }
        return (int)axis;
    }
    if (c->n == MAX_PARTS)
        return -1;
    if (n->op == OP_gather && n->nin == 2 && one_number(n->in[1], &from) && n->in[1]->type.rank == 0) {
        axis = axis_of(n, attr_int(&n->attrs, "axis", 0));
        int64_t size = v->type.dims[axis];
        from += from < 0 && dim_is_const(size) ? size : 0;
        c->part[c->n++] = (struct column_part){n, 0, from, 1, false};
        return (int)axis;
    }
    axis = n->op == OP_slice ? sliced_axis(n, &from) : -1;
    if (axis >= 0)
        c->part[c->n++] = (struct column_part){n, 0, from, n->out[0]->type.dims[axis], true};
    return (int)axis;
}

static bool is_unused(const struct node *n)
{
    for (int i = 0; i < n->nout; i++)
        if (n->out[i] && n->out[i]->uses)
            return false;
    return true;
}

/* All that read v take parts along one axis, n first; which axis, -1. */
static int find_parts(struct node *n, struct column_parts *c)
{
    const struct value *v = n->in[0];
    int axis = taken_by(n, c);
    for (const struct use *u = v->uses; axis >= 0 && u; u = u->next)
        if (u->node != n && !is_unused(u->node) &&
            (u->index != 0 || u->node->parent != n->parent || taken_by(u->node, c) != axis))
            return -1;
    if (axis < 0 || c->n < 2 || !dim_is_const(v->type.dims[axis]))
        return -1;
    for (int i = 0; i < c->n; i++)
        if (c->part[i].from < 0 || c->part[i].from + c->part[i].size > v->type.dims[axis])
            return -1;
    return axis;
}

/* ---- from the parts back to the product ---- */

/* Elements from the axis on; -1: not known. */
static int64_t elements_from(const struct type *t, int axis)
{
    int64_t n = 1;
    for (int i = axis; i < t->rank; i++) {
        if (!dim_is_const(t->dims[i]) || t->dims[i] < 1)
            return -1;
        n *= t->dims[i];
    }
    return n;
}

/* The axis of the step's operand that the parts lie along; -1: they do not lie along one. */
static int axis_before(const struct node *n, int axis, struct value **from)
{
    *from = n->in[0];
    if (!is_tensor(*from) || n->nout != 1)
        return -1;
    const struct type *x = &(*from)->type, *y = &n->out[0]->type;
    if (n->op == OP_transpose) {
        int count;
        const int64_t *perm = attr_ints(&n->attrs, "perm", &count);
        return perm && count == y->rank ? (int)perm[axis] : -1;
    }
    if (n->op == OP_reshape) {
        bool flattens = n->in[1]->constant && x->rank > 0 && dim_is_const(x->dims[x->rank - 1]) &&
                        elements_from(y, axis) == x->dims[x->rank - 1];
        return flattens && !attr_int(&n->attrs, "allowzero", 0) ? x->rank - 1 : -1;
    }
    int computed = 0;
    for (int i = 0; op_infos[n->op].flags & OPF_ELEMENTWISE && i < n->nin; i++)
        if (n->in[i] && !n->in[i]->constant)
            *from = n->in[i], computed++;
    return computed == 1 && is_tensor(*from) && (*from)->type.rank == y->rank ? axis : -1;
}

static bool is_float(const struct value *v)
{
    return dtype_class(v->type.dtype) == DTC_FLOAT && dtype_bytes(v->type.dtype) >= 2;
}

static bool is_product(const struct node *n, int axis)
{
    bool added = n->op == OP_gemm && n->nin > 2 && n->in[2];
    return (n->op == OP_matmul || n->op == OP_gemm) && n->in[1]->constant && is_float(n->in[1]) &&
           n->in[1]->type.rank == 2 && (!added || n->in[2]->constant) && n->out[0]->type.rank >= 2 &&
           axis == n->out[0]->type.rank - 1;
}

static bool find_product(struct value *v, int axis, struct column_parts *c)
{
    const struct region *r = v->def ? v->def->parent : NULL;
    for (struct node *n = v->def; n && n->parent == r; n = v->def) {
        if (c->nsteps > 0 && !value_has_one_use(v))
            return false;
        if (is_product(n, axis)) {
            c->product = n;
            return true;
        }
        if (c->nsteps == MAX_STEPS)
            return false;
        c->steps[c->nsteps] = n, c->axis[c->nsteps++] = axis;
        axis = axis_before(n, axis, &v);
        if (axis < 0)
            return false;
    }
    return false;
}

/* One row has its parts side by side anyway. */
static bool has_rows(const struct value *v)
{
    const struct type *t = &v->type;
    int64_t rows = elements_from(t, 0) / (t->dims[t->rank - 1] > 0 ? t->dims[t->rank - 1] : 1);
    return rows != 1;
}

/* ---- a product for each part ---- */

/* Of a constant that broadcasts to rank `rank`, what the part's columns meet. */
static struct value *constant_part(struct graph *g, struct value *v, int axis, int rank, int64_t from, int64_t size)
{
    const struct tensor *t = v->constant;
    int at = axis - (rank - t->rank);
    if (at < 0 || t->dims[at] == 1)
        return v;
    struct tensor part = *t;
    part.dims[at] = size;
    size_t run = dtype_bytes(t->dtype), outer = 1;
    for (int i = 0; i < t->rank; i++)
        *(i > at ? &run : &outer) *= i == at ? 1 : (size_t)t->dims[i];
    char *to = arena_alloc(&g->arena, tensor_bytes(&part) + 16);
    for (size_t i = 0; i < outer; i++)
        memcpy(to + i * (size_t)size * run,
               (const char *)t->data + (i * (size_t)t->dims[at] + (size_t)from) * run, (size_t)size * run);
    part.data = to;
    return constant_new(g, &part, v->name);
}

static struct value *reshape_again(struct node *at, const struct node *n, int axis, struct value *x, int64_t size,
                                   struct diag *d)
{
    struct builder b = builder_before(at, d);
    const struct tensor *shape = n->in[1]->constant;
    int64_t dims[MAX_RANK];
    for (int i = 0; i < n->out[0]->type.rank; i++)
        dims[i] = i == axis ? size : i > axis ? n->out[0]->type.dims[i] : tensor_i64(shape, i);
    return b_reshape_to(&b, x, dims, n->out[0]->type.rank);
}

/* Elements of the product's row for each along the axis of step i's result. */
static int64_t columns_of(const struct column_parts *c, int i)
{
    int64_t columns = 1;
    for (; i < c->nsteps; i++)
        if (c->steps[i]->op == OP_reshape)
            columns *= elements_from(&c->steps[i]->out[0]->type, c->axis[i]) /
                       c->steps[i]->out[0]->type.dims[c->axis[i]];
    return columns;
}

static struct value *step_again(struct node *at, const struct column_parts *c, int i, struct value *x,
                                const struct column_part *part, struct diag *d)
{
    const struct node *n = c->steps[i];
    struct graph *g = at->parent->graph;
    struct builder b = builder_like(at, n, d);
    int64_t scale = columns_of(c, 0) / columns_of(c, i), from = part->from * scale, size = part->size * scale;
    struct value *in[MAX_RANK];
    if (!x || n->nin > MAX_RANK)
        return NULL;
    if (n->op == OP_reshape)
        return reshape_again(at, n, c->axis[i], x, size, d);
    for (int k = 0; k < n->nin; k++)
        in[k] = !n->in[k]             ? NULL
                : n->in[k]->constant ? constant_part(g, n->in[k], c->axis[i], n->out[0]->type.rank, from, size)
                                     : x;
    return b_op(&b, n->op, in, n->nin, &n->attrs);
}

static struct value *part_again(struct node *at, const struct column_parts *c, const struct column_part *part,
                                struct diag *d)
{
    struct graph *g = at->parent->graph;
    const struct node *p = c->product;
    struct builder b = builder_before(at, d), product = builder_like(at, p, d);
    int64_t columns = columns_of(c, 0), from = part->from * columns, size = part->size * columns;
    bool turned = attr_int(&p->attrs, p->op == OP_gemm ? "transB" : "trans_b", 0) != 0;
    struct value *in[] = {p->in[0], constant_part(g, p->in[1], turned ? 0 : 1, 2, from, size), NULL};
    if (p->nin > 2 && p->in[2])
        in[2] = constant_part(g, p->in[2], 1, 2, from, size);
    struct value *y = b_op(&product, p->op, in, in[2] ? 3 : 2, &p->attrs);
    for (int i = c->nsteps - 1; i >= 0; i--)
        y = step_again(at, c, i, y, part, d);
    if (!y || part->keeps_axis)
        return y;
    int along = c->nsteps ? c->axis[0] : y->type.rank - 1;
    return b_squeeze(&b, y, (int64_t[]){along}, 1);
}

static bool visit(struct node *n, void *user)
{
    struct column_parts c = {.n = 0};
    struct diag *d = user;
    if ((n->op != OP_split && n->op != OP_slice && n->op != OP_gather) || !is_tensor(n->in[0]) || is_unused(n))
        return true;
    int axis = find_parts(n, &c);
    if (axis < 0 || !find_product(n->in[0], axis, &c) || !has_rows(c.product->out[0]))
        return true;
    for (int i = 0; i < c.n; i++)
        if (c.part[i].size * columns_of(&c, 0) < MIN_COLUMNS)
            return true;
    for (int i = 0; i < c.n; i++) {
        struct value *old = c.part[i].node->out[c.part[i].output], *y = part_again(n, &c, &c.part[i], d);
        if (!y)
            return false;
        y->name = old->name;
        value_replace(old, y);
    }
    return true; /* what is left is not used */
}

/* On a CPU the parts are read out of a cache: as fast. */
bool pass_columns(struct graph *g, const struct options *o, struct diag *d)
{
    if (!o->strict_target)
        return true;
    if (!for_each_node(g->main, visit, d))
        return false;
    remove_dead(g);
    return true;
}
