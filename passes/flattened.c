#include "passes/flattened.h"

#include "passes/match.h"
#include "passes/rewrite.h"

enum { MAX_CHAIN = 4 };

struct flattening { /* from the second reshape up to the product */
    struct node *nodes[MAX_CHAIN];
    int n;
    struct node *product;
    struct value *rows; /* before the first reshape */
};

/* Alike for all rows: broadcasts over any number of dims before the last. */
static bool is_row(const struct value *v)
{
    return v->constant && (v->type.rank <= 1 || (v->type.rank == 2 && v->type.dims[0] == 1));
}

static bool is_link(const struct node *n, const struct value **from)
{
    int computed = 0;
    if (!(op_infos[n->op].flags & OPF_ELEMENTWISE) || n->nout != 1)
        return false;
    for (int i = 0; i < n->nin; i++) {
        if (!n->in[i] || is_row(n->in[i]))
            continue;
        *from = n->in[i];
        computed++;
    }
    return computed == 1;
}

/* The product of flattened rows by a constant matrix. */
static bool is_product(const struct node *n, struct flattening *c)
{
    if (n->op != OP_matmul || attr_int(&n->attrs, "trans_a", 0) || !n->in[1]->constant || n->in[1]->type.rank != 2)
        return false;
    const struct node *flatten = n->in[0]->def;
    if (n->in[0]->type.rank != 2 || !flatten || flatten->op != OP_reshape)
        return false;
    c->rows = flatten->in[0];
    return c->rows->type.kind == VK_TENSOR && dim_is_const(n->in[0]->type.dims[1]);
}

static bool find_chain(const struct node *back, struct flattening *c)
{
    const struct value *v = back->in[0];
    while (v && v->def && value_has_one_use(v) && v->def->parent == back->parent) {
        if (is_product(v->def, c)) {
            c->product = v->def;
            return true;
        }
        if (c->n == MAX_CHAIN)
            return false;
        c->nodes[c->n++] = v->def;
        if (!is_link(v->def, &v))
            return false;
    }
    return false;
}

/* The second reshape gives rows back the dims that they had. */
static bool restores(const struct node *back, const struct flattening *c)
{
    const struct type *y = &back->out[0]->type, *x = &c->rows->type;
    if (y->kind != VK_TENSOR || y->rank != x->rank || x->rank <= 2 ||
        x->dims[x->rank - 1] != c->product->in[0]->type.dims[1] ||
        y->dims[y->rank - 1] != c->product->out[0]->type.dims[1])
        return false;
    for (int i = 0; i < x->rank - 1; i++)
        if (y->dims[i] != x->dims[i])
            return false;
    return true;
}

/* What reads the second reshape may follow the product when its rows have the dims of its result already. */
static bool is_followed(const struct node *back)
{
    const struct node *n = value_only_user(back->out[0]);
    return n && op_infos[n->op].flags & OPF_ELEMENTWISE && n->parent == back->parent && n->nout == 1 &&
           same_dims(&n->out[0]->type, &back->out[0]->type);
}

/* The rows, reshaped once to dims that the second reshape gives them: heads of an attention are merged and flattened in
 * one reshape, and get their dims back afterwards. NULL where those dims are not known, or after a failure. */
static struct value *reshaped_rows(struct node *back, const struct flattening *c, struct diag *d)
{
    struct builder b = builder_before(back, d);
    const struct type *y = &back->out[0]->type;
    int64_t dims[MAX_RANK];
    int unknown = 0;
    if (y->kind != VK_TENSOR || y->rank <= 2 || y->dims[y->rank - 1] != c->product->out[0]->type.dims[1] ||
        !is_followed(back) || !value_has_one_use(c->product->in[0]))
        return NULL;
    for (int i = 0; i < y->rank - 1; i++) {
        bool known = dim_is_const(y->dims[i]);
        if (known && y->dims[i] < 1)
            return NULL;
        dims[i] = known ? y->dims[i] : -1;
        unknown += !known;
    }
    dims[y->rank - 1] = c->product->in[0]->type.dims[1];
    return unknown > 1 || dims[y->rank - 1] < 1 ? NULL : b_reshape_to(&b, c->rows, dims, y->rank);
}

static struct value *again(struct node *at, const struct node *n, struct value *x, struct diag *d)
{
    struct value *in[MAX_RANK];
    if (!x || n->nin > MAX_RANK)
        return NULL;
    for (int i = 0; i < n->nin; i++)
        in[i] = !n->in[i] || is_row(n->in[i]) ? n->in[i] : x;
    struct builder b = builder_before(at, d);
    b.name = n->name;
    return b_op(&b, n->op, in, n->nin, &n->attrs);
}

static bool visit(struct node *n, void *user)
{
    struct flattening c = {0};
    struct diag *d = user;
    if (n->op != OP_reshape || !find_chain(n, &c))
        return true;
    struct value *rows = restores(n, &c) ? c.rows : reshaped_rows(n, &c, d);
    if (!rows)
        return !diag_failed(d);
    struct value *in[] = {rows, c.product->in[1]};
    struct builder b = builder_before(n, d);
    b.name = c.product->name;
    struct value *y = b_op(&b, OP_matmul, in, 2, &c.product->attrs);
    for (int i = c.n - 1; i >= 0; i--)
        y = again(n, c.nodes[i], y, d);
    return node_replace(n, y);
}

bool restore_flattened(struct graph *g, struct diag *d)
{
    if (!for_each_node(g->main, visit, d))
        return false;
    remove_dead(g);
    return true;
}
