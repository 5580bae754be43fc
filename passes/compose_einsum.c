/*
 * einsum as matrix products. Operands are joined from left to right; of two operands x and y, each
 * label is one of
 *
 *   batch    in both, needed later     left    in x alone
 *   summed   in both, not needed       right   in y alone
 *
 * and x (batch, left, summed) times y (batch, summed, right) is (batch, left, right). What only one
 * operand has and nobody needs is summed first. Left alone: a label twice in one operand (a
 * diagonal), dims of 1 that broadcast, and shapes that cannot be written down.
 */
#include "passes/compose.h"
#include "runtime/ops/common/einsum.h"

enum { MAX_LABELS = EINSUM_LABELS + MAX_RANK };

struct labels {
    int n, of[MAX_LABELS];
};

struct einsum_term { /* a value and the label of each of its dims */
    struct value *v;
    struct labels l;
};

struct sum {
    struct compose *c;
    struct node *at;
};

static bool has(const struct labels *l, int label)
{
    for (int i = 0; i < l->n; i++)
        if (l->of[i] == label)
            return true;
    return false;
}

/* Those of l that are (or are not) in other. */
static struct labels pick(const struct labels *l, const struct labels *other, bool in)
{
    struct labels out = {0};
    for (int i = 0; i < l->n; i++)
        if (has(other, l->of[i]) == in)
            out.of[out.n++] = l->of[i];
    return out;
}

static struct labels join(struct labels a, const struct labels *b)
{
    for (int i = 0; i < b->n && a.n < MAX_LABELS; i++)
        a.of[a.n++] = b->of[i];
    return a;
}

static bool same(const struct labels *a, const struct labels *b)
{
    bool equal = a->n == b->n;
    for (int i = 0; equal && i < a->n; i++)
        equal = a->of[i] == b->of[i];
    return equal;
}

static dim_t dim_of(const struct einsum_term *t, int label)
{
    for (int i = 0; i < t->l.n; i++)
        if (t->l.of[i] == label)
            return t->v->type.dims[i];
    return 1;
}

/* ---- steps; a term without a value after a failure, or where a shape cannot be written ---- */

static struct einsum_term transposed(struct sum *s, struct einsum_term t, const struct labels *order)
{
    struct builder b = builder_before(s->at, s->c->d);
    int64_t perm[MAX_RANK];
    if (!t.v || same(&t.l, order))
        return t;
    for (int i = 0; i < order->n; i++)
        for (int k = 0; k < t.l.n; k++)
            if (t.l.of[k] == order->of[i])
                perm[i] = k;
    return (struct einsum_term){b_permute(&b, t.v, perm), *order};
}

/* Sums over the dims whose labels are not in `kept`. */
static struct einsum_term summed(struct sum *s, struct einsum_term t, const struct labels *kept)
{
    struct builder b = builder_before(s->at, s->c->d);
    int64_t axes[MAX_RANK];
    int n = 0;
    for (int i = 0; i < t.l.n; i++)
        if (!has(kept, t.l.of[i]))
            axes[n++] = i;
    if (!n || !t.v)
        return t;
    struct attrs as = {0};
    attr_set_int(&s->c->g->arena, &as, "keepdims", 0);
    struct value *in[] = {t.v, constant_i64s(s->c->g, axes, n)};
    t.v = b_op(&b, OP_reduce_sum, in, 2, &as);
    t.l = pick(&t.l, kept, true);
    return t;
}

/* v in a shape of which at most one dim that is not a constant changes its place. */
static struct value *shaped(struct sum *s, struct value *v, const dim_t *dims, int n)
{
    struct builder b = builder_before(s->at, s->c->d);
    int64_t shape[MAX_RANK];
    int unknown = 0;
    if (!v || n > MAX_RANK)
        return NULL;
    bool as_is = n == v->type.rank;
    for (int i = 0; i < n; i++) {
        bool stays = i < v->type.rank && v->type.dims[i] == dims[i];
        as_is &= stays;
        if (dims[i] == 0)
            return NULL;
        shape[i] = dim_is_const(dims[i]) ? dims[i] : stays ? 0 : -1;
        unknown += shape[i] == -1;
    }
    if (as_is)
        return v;
    if (unknown > 1)
        return NULL;
    return b_reshape_to(&b, v, shape, n);
}

static int add_dims(dim_t *to, int n, const struct einsum_term *t, const struct labels *l)
{
    for (int i = 0; i < l->n; i++)
        to[n + i] = dim_of(t, l->of[i]);
    return n + l->n;
}

static dim_t product_of(struct sum *s, const struct einsum_term *t, const struct labels *l)
{
    dim_t p = 1;
    for (int i = 0; i < l->n; i++)
        p = dim_mul(&s->c->g->dims, p, dim_of(t, l->of[i]));
    return p;
}

struct einsum_pair {
    struct labels batch, summed, left, right;
};

/* t as (batch, rows, columns); swapped: its columns come first, and trans_a or trans_b says so. */
static struct value *matrix(struct sum *s, struct einsum_term t, const struct einsum_pair *p,
                            const struct labels *rows, const struct labels *columns, bool *swapped)
{
    struct labels order = join(join(p->batch, rows), columns);
    struct labels other = join(join(p->batch, columns), rows);
    *swapped = rows->n && columns->n && same(&t.l, &other);
    if (!*swapped)
        t = transposed(s, t, &order);
    dim_t dims[2 * MAX_RANK + 1];
    int n = t.v ? add_dims(dims, 0, &t, &p->batch) : 0;
    bool open =
        !p->batch.n && rows == &p->left && !*swapped; /* outer dims of a product may be any */
    if (!t.v)
        return NULL;
    if (open && rows->n)
        n = add_dims(dims, n, &t, rows);
    else
        dims[n++] = product_of(s, &t, *swapped ? columns : rows);
    dims[n++] = product_of(s, &t, *swapped ? rows : columns);
    return shaped(s, t.v, dims, n);
}

/* Two operands as one; `needed`: labels of what follows and of the result. */
static struct einsum_term joined(struct sum *s, struct einsum_term x, struct einsum_term y, const struct labels *needed)
{
    struct builder b = builder_before(s->at, s->c->d);
    struct einsum_term none = {.v = NULL};
    struct labels of_x = join(pick(&x.l, &y.l, true), needed),
                  of_y = join(pick(&y.l, &x.l, true), needed);
    x = summed(s, x, &of_x), y = summed(s, y, &of_y);
    if (!x.v || !y.v)
        return none;
    struct labels both = pick(&x.l, &y.l, true);
    for (int i = 0; i < both.n; i++)
        if (dim_of(&x, both.of[i]) != dim_of(&y, both.of[i]))
            return none;
    struct einsum_pair p = {pick(&both, needed, true), pick(&both, needed, false), pick(&x.l, &y.l, false),
                     pick(&y.l, &x.l, false)};
    bool trans_a, trans_b;
    struct attrs as = {0};
    struct value *in[] = {matrix(s, x, &p, &p.left, &p.summed, &trans_a),
                          matrix(s, y, &p, &p.summed, &p.right, &trans_b)};
    if (trans_a)
        attr_set_int(&s->c->g->arena, &as, "trans_a", 1);
    if (trans_b)
        attr_set_int(&s->c->g->arena, &as, "trans_b", 1);
    /* With nothing to sum, columns times rows: products of elements that broadcast. */
    enum op op = p.summed.n ? OP_matmul : OP_mul;
    if (!in[0] || !in[1] || (op == OP_mul && (trans_a || trans_b)))
        return none;
    struct value *v = b_op(&b, op, in, 2, &as);
    dim_t dims[3 * MAX_RANK];
    int n = add_dims(dims, 0, &x, &p.batch);
    n = add_dims(dims, n, &x, &p.left);
    n = add_dims(dims, n, &y, &p.right);
    return (struct einsum_term){shaped(s, v, dims, n), join(join(p.batch, &p.left), &p.right)};
}

static struct labels labels_of(const struct equation *e, int i)
{
    struct labels l = {e->rank[i], {0}};
    for (int k = 0; k < l.n; k++)
        l.of[k] = e->label[i][k];
    return l;
}

static bool repeats(const struct labels *l)
{
    for (int i = 0; i < l->n; i++)
        for (int k = 0; k < i; k++)
            if (l->of[i] == l->of[k])
                return true;
    return false;
}

struct value *compose_einsum(struct compose *c, struct node *n)
{
    struct sum s = {c, n};
    struct equation e;
    int ranks[EINSUM_OPERANDS];
    if (n->nin > EINSUM_OPERANDS || !dtype_is_float(n->out[0]->type.dtype))
        return NULL;
    for (int i = 0; i < n->nin; i++) {
        ranks[i] = n->in[i]->type.rank;
        if (n->in[i]->type.kind != VK_TENSOR || ranks[i] < 0)
            return NULL;
    }
    if (!einsum_parse(&e, &n->attrs, ranks, n->nin, c->d))
        return NULL;
    struct labels result = labels_of(&e, n->nin);
    for (int i = 0; i < n->nin; i++) {
        struct labels l = labels_of(&e, i);
        if (repeats(&l))
            return NULL;
    }
    struct einsum_term t = {n->in[0], labels_of(&e, 0)};
    for (int i = 1; i < n->nin && t.v; i++) {
        struct labels needed = result;
        for (int k = i + 1; k < n->nin; k++) {
            struct labels l = labels_of(&e, k), more = pick(&l, &needed, false);
            needed = join(needed, &more);
        }
        t = joined(&s, t, (struct einsum_term){n->in[i], labels_of(&e, i)}, &needed);
    }
    t = summed(&s, t, &result);
    return t.v && t.l.n == result.n ? transposed(&s, t, &result).v : NULL;
}
