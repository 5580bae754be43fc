/*
 * Heads of attention as exporters write them: keys transposed between views, keys and values that are repeated for the
 * heads that share them. Neither is carried out: attention reads keys and values where they lie.
 */
#include "passes/compose.h"

static bool is_view(const struct value *v)
{
    return is_tensor(v) && v->def && op_infos[v->def->op].flags & OPF_VIEW;
}

/* What v is a view of, through all of them. */
static struct value *viewed(struct value *v)
{
    while (is_view(v) && is_tensor(v->def->in[0]))
        v = v->def->in[0];
    return v;
}

static bool exchanges_last_two(const struct node *t)
{
    int count, rank = t->in[0]->type.rank;
    const int64_t *perm = attr_ints(&t->attrs, "perm", &count);
    if (!perm)
        return rank == 2;
    for (int i = 0; i < count; i++) {
        int64_t from = perm[i] < 0 ? perm[i] + rank : perm[i];
        if (from != (i < rank - 2 ? i : i == rank - 2 ? rank - 1 : rank - 2))
            return false;
    }
    return count == rank && rank >= 2;
}

/* Of the same dims, the last two exchanged. */
static bool exchanged(const struct type *from, const struct type *to)
{
    int rank = to->rank;
    if (from->rank != rank || from->dtype != to->dtype)
        return false;
    for (int i = 0; i < rank - 2; i++)
        if (from->dims[i] != to->dims[i])
            return false;
    return from->dims[rank - 2] == to->dims[rank - 1] && from->dims[rank - 1] == to->dims[rank - 2];
}

/* x with these dims, of which one at most is not a number. */
static struct value *reshaped(struct compose *c, struct node *at, struct value *x, const struct type *t)
{
    struct builder b = builder_before(at, c->d);
    int64_t dims[MAX_RANK];
    int open = 0;
    for (int i = 0; i < t->rank; i++) {
        bool known = dim_is_const(t->dims[i]);
        if (known && t->dims[i] < 1)
            return NULL;
        dims[i] = known ? t->dims[i] : -1;
        open += !known;
    }
    struct value *y = open > 1 ? NULL : b_reshape_to(&b, x, dims, t->rank);
    if (y)
        y->type = *t;
    return y;
}

struct value *swapped_in_views(struct compose *c, struct node *at, struct value *v)
{
    if (!is_view(v))
        return NULL;
    struct node *t = made_by(viewed(v), OP_transpose);
    if (!t || !is_tensor(t->in[0]) || !exchanges_last_two(t))
        return NULL;
    const struct type *before = &t->in[0]->type, *to = &v->type;
    int rank = to->rank, last = before->rank;
    if (rank < 2 || to->dims[rank - 1] != before->dims[last - 2] || to->dims[rank - 2] != before->dims[last - 1])
        return NULL;
    for (struct value *x = t->in[0]; is_tensor(x); x = x->def->in[0]) {
        if (exchanged(&x->type, to))
            return x;
        if (!is_view(x))
            break;
    }
    struct type other = *to;
    other.dims[rank - 1] = to->dims[rank - 2], other.dims[rank - 2] = to->dims[rank - 1];
    return reshaped(c, at, t->in[0], &other);
}

/* ---- heads that share keys and values ---- */

/* Of v (batch, heads, keys, width), where each of its heads stands `times` times in a row: the value
 * (batch, groups, 1, keys, width) that is repeated, or NULL. */
static struct value *repeated_heads(struct value *v, int64_t *times)
{
    struct node *e = made_by(viewed(v), OP_expand);
    if (!e || v->type.rank != 4 || e->out[0]->type.rank != 5 || !is_tensor(e->in[0]) || e->in[0]->type.rank != 5)
        return NULL;
    const dim_t *from = e->in[0]->type.dims, *wide = e->out[0]->type.dims, *to = v->type.dims;
    for (int i = 0; i < 5; i++)
        if (i != 2 && from[i] != wide[i])
            return NULL;
    if (from[2] != 1 || !dim_is_const(wide[1]) || !dim_is_const(wide[2]) || wide[1] < 1 || wide[2] < 1 ||
        to[0] != wide[0] || to[1] != wide[1] * wide[2] || to[2] != wide[3] || to[3] != wide[4])
        return NULL;
    *times = wide[2];
    return e->in[0];
}

/* The second of four dims, heads, as (groups, times); one that is 1 as (1, 1). */
static struct value *grouped(struct compose *c, struct node *at, struct value *x, int64_t groups, int64_t times)
{
    struct builder b = builder_before(at, c->d);
    struct type t = x->type;
    bool one = t.dims[1] == 1 && groups * times != 1;
    int64_t shape[] = {0, one ? 1 : groups, one ? 1 : times, -1, t.dims[3]};
    t.rank = 5;
    t.dims[4] = x->type.dims[3], t.dims[3] = x->type.dims[2];
    t.dims[1] = shape[1], t.dims[2] = shape[2];
    if (!dim_is_const(
            t.dims[4])) { /* a mask over all keys: one dim at most can be left open, and the one inserted is 1 */
        struct value *axes = constant_i64s(c->g, (int64_t[]){2}, 1);
        return one ? b_2(&b, OP_unsqueeze, x, axes) : NULL;
    }
    struct value *y = b_reshape_to(&b, x, shape, 5);
    if (y)
        y->type = t;
    return y;
}

static bool can_group(const struct value *q, const struct value *mask, int64_t heads)
{
    const struct type *t = &q->type;
    if (!is_tensor(q) || t->rank != 4 || t->dims[1] != heads || !dim_is_const(t->dims[3]) || t->dims[3] < 1)
        return false;
    if (!mask || mask->type.rank <= 2)
        return true;
    if (mask->type.rank == 3) /* its heads would have to be told from batches */
        return mask->type.dims[0] == 1;
    const dim_t *m = mask->type.dims;
    return mask->type.rank == 4 && (m[1] == 1 || (m[1] == heads && dim_is_const(m[3]) && m[3] > 0));
}

struct value *emit_sdpa(struct compose *c, struct node *at, struct value *in[4], const struct attrs *as)
{
    struct builder b = builder_before(at, c->d);
    int64_t times = 0, others = 0;
    struct value *k = repeated_heads(in[1], &times), *v = repeated_heads(in[2], &others);
    struct attrs a = *as;
    if (!k || !v || times != others || times < 2 || k->type.dims[1] != v->type.dims[1] ||
        !can_group(in[0], in[3], k->type.dims[1] * times))
        return b_op(&b, OP_sdpa, in, in[3] ? 4 : 3, &a);
    int64_t groups = k->type.dims[1];
    struct value *mask = in[3] && in[3]->type.rank == 4 ? grouped(c, at, in[3], groups, times) : in[3];
    struct value *q = grouped(c, at, in[0], groups, times);
    if (!q || (in[3] && !mask))
        return NULL;
    struct value *y = b_op(&b, OP_sdpa, (struct value *[]){q, k, v, mask}, mask ? 4 : 3, &a);
    if (!y)
        return NULL;
    int64_t merged[] = {0, groups * times, -1, y->type.dims[4]};
    struct value *out = b_reshape_to(&b, y, merged, 4);
    if (out)
        out->type = at->out[0]->type;
    return out;
}
