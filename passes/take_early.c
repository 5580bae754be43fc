/*
 * pass take_early: a model that reads one row of its last hidden state (the class token of a transformer, the last step
 * of a sequence) computes all of them before. What takes some rows moves before what computes each row by itself:
 *
 *     take(norm(x * W + y))     norm(take(x) * W + take(y))
 *
 * as far as nobody else reads the other rows, through products, normalisations, softmax, the queries of attention, and
 * elementwise operators, reshapes and transposes between them. Requires inferred types; runs after norm_scale, which
 * wants all readers of a normalisation to be products.
 */
#include "passes/match.h"
#include "passes/rewrite.h"

enum {
    MAX_DEPTH = 12, /* light operators that are looked through for one that is worth it */
    FEWER = 2       /* times: rows that all are more than those that are taken */
};

/* Elements [from, from + count) along an axis of in[0]. */
struct taking {
    int axis;
    int64_t from, count;
    bool keeps_axis;
};

/* ---- what takes rows ---- */

static bool one_index(const struct value *v, int64_t *number)
{
    if (!single_constant(v) || v->type.rank > 1 || !dtype_is_int(v->constant->dtype))
        return false;
    *number = tensor_i64(v->constant, 0);
    return true;
}

static bool is_gather_of_one(const struct node *n, struct taking *t)
{
    if (n->op != OP_gather || !one_index(n->in[1], &t->from))
        return false;
    int rank = n->in[0]->type.rank;
    int64_t axis = attr_int(&n->attrs, "axis", 0);
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
        return false;
    int64_t size = n->in[0]->type.dims[axis];
    t->axis = (int)axis, t->count = 1, t->keeps_axis = n->in[1]->type.rank == 1;
    if (!dim_is_const(size))
        return true;
    t->from += t->from < 0 ? size : 0;
    return t->from >= 0 && t->from < size;
}

/* A slice by constants along one axis of known size, in steps of 1. */
static bool is_slice_of_one_axis(const struct node *n, struct taking *t)
{
    const struct type *x = &n->in[0]->type, *y = &n->out[0]->type;
    if (n->op != OP_slice || y->rank != x->rank)
        return false;
    for (int i = 1; i < n->nin; i++)
        if (n->in[i] && !n->in[i]->constant)
            return false;
    const struct tensor *starts = n->in[1]->constant, *axes = n->nin > 3 && n->in[3] ? n->in[3]->constant : NULL;
    const struct tensor *steps = n->nin > 4 && n->in[4] ? n->in[4]->constant : NULL;
    t->axis = -1;
    for (int64_t i = 0; i < tensor_count(starts); i++) {
        int64_t at = axes ? tensor_i64(axes, i) : i;
        at += at < 0 ? x->rank : 0;
        if (at < 0 || at >= x->rank || (steps && tensor_i64(steps, i) != 1))
            return false;
        if (x->dims[at] == y->dims[at])
            continue;
        if (t->axis >= 0 || !dim_is_const(x->dims[at]) || !dim_is_const(y->dims[at]))
            return false;
        int64_t from = tensor_i64(starts, i);
        from += from < 0 ? x->dims[at] : 0;
        *t = (struct taking){(int)at, from < 0 ? 0 : from, y->dims[at], true};
    }
    return t->axis >= 0 && t->count > 0;
}

/* Whether n takes few enough rows that computing the others is most of the work. */
static bool takes(const struct node *n, struct taking *t)
{
    if ((n->op != OP_gather && n->op != OP_slice) || !is_tensor(n->in[0]) || !is_tensor(n->out[0]) ||
        (!is_gather_of_one(n, t) && !is_slice_of_one_axis(n, t)))
        return false;
    int64_t size = n->in[0]->type.dims[t->axis];
    return !dim_is_const(size) || size >= FEWER * t->count;
}

/* All that read v take the same rows. */
static bool all_take(const struct value *v, const struct region *r, const struct taking *t)
{
    struct taking other;
    for (const struct use *u = v->uses; u; u = u->next)
        if (u->index != 0 || u->node->parent != r || !takes(u->node, &other) || other.axis != t->axis ||
            other.from != t->from || other.count != t->count)
            return false;
    return true;
}

/* ---- what computes each row by itself ---- */

enum { NOT_BY_ROWS = -1, WHOLE = -2 };

/* Of an operand of an elementwise operator: where the result's axis is; WHOLE where it has one row for all. */
static int elementwise_axis(const struct value *x, const struct type *y, int axis)
{
    if (!is_tensor(x))
        return NOT_BY_ROWS;
    int at = axis - (y->rank - x->type.rank);
    if (at < 0 || (x->type.dims[at] == 1 && y->dims[axis] != 1))
        return WHOLE;
    return x->type.dims[at] == y->dims[axis] ? at : NOT_BY_ROWS;
}

/* The same elements lie behind the axis of a reshape's operand and result, and as many before. */
static int reshaped_axis(const struct type *x, const struct type *y, int axis)
{
    int64_t before = 1;
    bool same = true; /* dims before the axis are the operand's */
    for (int i = 0; i < axis; i++) {
        same = same && i < x->rank && x->dims[i] == y->dims[i];
        before = dim_is_const(y->dims[i]) && before >= 0 ? before * y->dims[i] : -1;
    }
    for (int i = 0; i < y->rank; i++) /* its new shape is written down: no dim of size 0, unknown ones copied */
        if (dim_is_const(y->dims[i]) ? y->dims[i] < 1 : i > axis)
            return NOT_BY_ROWS;
    if (same && axis < x->rank && x->dims[axis] == y->dims[axis])
        return axis;
    int64_t n = 1;
    for (int i = 0; i < x->rank && n <= before && dim_is_const(x->dims[i]); n *= x->dims[i++])
        if (n == before && x->dims[i] == y->dims[axis])
            return i;
    return NOT_BY_ROWS;
}

static int transposed_axis(const struct node *n, int axis)
{
    int count = 0, rank = n->in[0]->type.rank;
    const int64_t *perm = attr_ints(&n->attrs, "perm", &count);
    return count == rank ? (int)perm[axis] : count == 0 ? rank - 1 - axis : NOT_BY_ROWS;
}

static int product_axis(const struct node *n, int operand, int axis)
{
    const struct type *a = &n->in[0]->type, *b = &n->in[1]->type;
    int rank = n->out[0]->type.rank;
    bool rows = a->rank == rank && axis == rank - 2 && !attr_int(&n->attrs, "trans_a", 0);
    bool batch = a->rank == rank && axis < rank - 2 && b->rank == 2;
    return !rows && !batch ? NOT_BY_ROWS : operand == 0 ? axis : WHOLE;
}

/* Queries are rows of their own, keys and values are not; a causal mask counts rows. */
static int attention_axis(const struct node *n, int operand, int axis)
{
    int rank = n->out[0]->type.rank;
    if (axis != rank - 2 || attr_int(&n->attrs, "causal", 0) || n->in[0]->type.rank != rank)
        return NOT_BY_ROWS;
    return operand == 0 ? axis : operand < 3 ? WHOLE : elementwise_axis(n->in[operand], &n->out[0]->type, axis);
}

static int norm_axis(const struct node *n, int operand, int axis)
{
    int64_t first = attr_int(&n->attrs, "axis", -1);
    first += first < 0 ? n->in[0]->type.rank : 0;
    bool apart = n->op == OP_softmax || n->op == OP_log_softmax ? axis != first : axis < first;
    return !apart ? NOT_BY_ROWS : operand == 0 ? axis : WHOLE;
}

/* Along which axis of an operand lie the rows of the result's axis. */
static int operand_axis(const struct node *n, int operand, int axis)
{
    switch ((int)n->op) {
    case OP_matmul:
        return product_axis(n, operand, axis);
    case OP_sdpa:
        return attention_axis(n, operand, axis);
    case OP_layer_norm:
    case OP_rms_norm:
    case OP_softmax:
    case OP_log_softmax:
        return norm_axis(n, operand, axis);
    case OP_transpose:
        return transposed_axis(n, axis);
    case OP_reshape:
        return operand ? WHOLE : reshaped_axis(&n->in[0]->type, &n->out[0]->type, axis);
    default:
        return op_infos[n->op].flags & OPF_ELEMENTWISE ? elementwise_axis(n->in[operand], &n->out[0]->type, axis)
                                                       : NOT_BY_ROWS;
    }
}

static bool is_work(const struct node *n)
{
    return n->op == OP_matmul || n->op == OP_sdpa || n->op == OP_layer_norm || n->op == OP_rms_norm ||
           n->op == OP_softmax;
}

/* All of the node's operands are known to lie in rows, or to be the same for all, and one lies in rows. */
static bool is_by_rows(const struct node *n, int axis)
{
    bool any = false;
    if (n->nregions || (op_infos[n->op].flags & OPF_IMPURE) || !is_tensor(n->in[0]) || !is_tensor(n->out[0]))
        return false;
    for (int i = 1; i < n->nout; i++)
        if (n->out[i] && n->out[i]->uses)
            return false;
    for (int i = 0; i < n->nin; i++) {
        int at = n->in[i] ? operand_axis(n, i, axis) : WHOLE;
        if (at == NOT_BY_ROWS || (at >= 0 && n->in[i]->constant))
            return false;
        any |= at >= 0;
    }
    return any;
}

/* A product or the like is reached by rows, through light operators whose results nobody else reads. */
static bool is_worth(const struct node *n, int axis, int depth)
{
    if (!is_by_rows(n, axis))
        return false;
    if (is_work(n))
        return true;
    for (int i = 0; i < n->nin && depth < MAX_DEPTH; i++) {
        int at = n->in[i] ? operand_axis(n, i, axis) : WHOLE;
        const struct node *def = at >= 0 ? n->in[i]->def : NULL;
        if (def && def->parent == n->parent && value_has_one_use(n->in[i]) && is_worth(def, at, depth + 1))
            return true;
    }
    return false;
}

/* ---- moving it ---- */

static struct value *take(struct builder *b, struct value *x, const struct taking *t, int axis)
{
    if (dim_is_const(x->type.dims[axis]))
        return b_slice(b, x, t->from, t->from + t->count, axis);
    return b_gather(b, x, b_i64(b, t->from), axis);
}

/* The node's result of those rows alone; NULL: no memory. */
static struct value *of_taken(struct node *n, const struct taking *t, struct diag *d)
{
    struct builder b = builder_before(n, d);
    struct value *in[MAX_RANK];
    int64_t shape[MAX_RANK];
    const struct type *y = &n->out[0]->type;
    for (int i = 0; i < n->nin; i++) {
        int at = n->in[i] ? operand_axis(n, i, t->axis) : WHOLE;
        in[i] = at >= 0 ? take(&b, n->in[i], t, at) : n->in[i];
        if (n->in[i] && !in[i])
            return NULL;
    }
    if (n->op != OP_reshape)
        return b_op(&b, n->op, in, n->nin, &n->attrs);
    for (int i = 0; i < y->rank; i++) /* dims before the axis that are not known are the operand's */
        shape[i] = i == t->axis ? t->count : dim_is_const(y->dims[i]) ? y->dims[i] : 0;
    return b_reshape_to(&b, in[0], shape, y->rank);
}

static bool replace_taken(struct node *n, struct value *y, struct diag *d)
{
    struct taking t;
    struct builder b = builder_before(n, d);
    if (takes(n, &t) && !t.keeps_axis)
        y = b_squeeze(&b, y, (int64_t[]){t.axis}, 1);
    return node_replace(n, y);
}

/* Whether n took rows of a result that is now computed for these alone. */
static bool moved(struct rewriter *p, struct node *n, bool *ok)
{
    struct taking t;
    if (!takes(n, &t))
        return false;
    struct value *v = n->in[0];
    struct node *def = v->def;
    if (!def || def->parent != n->parent || def->nin > MAX_RANK || v->index || !all_take(v, n->parent, &t) ||
        !is_worth(def, t.axis, 0))
        return false;
    why(p->o, def, "take.early", "only of what '%s' takes", n->name);
    struct value *y = of_taken(def, &t, p->d);
    *ok = y != NULL;
    while (*ok && v->uses)
        *ok = replace_taken(v->uses->node, y, p->d);
    if (*ok)
        node_remove(def);
    return *ok;
}

/* From the end on, so that what moves is met again further ahead. */
static bool move_all(struct rewriter *p, struct region *r)
{
    bool ok = true, again = true;
    while (ok && again) {
        again = false;
        struct node *at = region_return(r);
        while (ok && at) {
            struct node *n = at;
            for (int i = 0; ok && i < n->nregions; i++)
                ok = move_all(p, n->regions[i]);
            struct node *behind = n->next; /* where to go on: others that take the same go too */
            while (behind && behind->nin && behind->in[0] == n->in[0])
                behind = behind->next;
            bool did = ok && n != region_return(r) && moved(p, n, &ok);
            again |= did;
            at = did ? behind->prev : n->prev;
        }
    }
    return ok;
}

bool pass_take_early(struct graph *g, const struct options *o, struct diag *d)
{
    struct rewriter p = {g, o, d};
    int before = g->next_node;
    if (!move_all(&p, g->main))
        return false;
    if (g->next_node != before) { /* rows that several operators read are taken once */
        merge_common(g);
        remove_dead(g);
    }
    return true;
}
