/*
 * Attention: softmax(scale * q k^T + mask) v. From the product with v down: the softmax, masks and
 * scales in any order that keeps the meaning, the product of q and k, and scales on either of them.
 */
#include "passes/compose.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LARGEST_HIDING = -10000 }; /* a score of a hidden key is this or less */

enum { DEEPEST_SCORES = 8 }; /* operators between product and softmax */

struct scores {
    struct value *q, *k; /* k: (..., keys, features) unless k_transposed */
    bool k_transposed;
    double scale;
    struct value *mask;
    int depth;
};

/* Scales between the operand of a product and the value that is scaled. */
static struct value *take_scale(struct value *v, double *scale)
{
    struct value *x;
    double factor;
    while (is_scaled(v, &x, &factor) && isfinite(factor)) {
        *scale *= factor;
        v = x;
    }
    return v;
}

static bool add_mask(struct compose *c, struct node *at, struct scores *s, struct value *mask)
{
    struct builder b = builder_before(at, c->d);
    s->mask = s->mask ? b_add(&b, s->mask, mask) : mask;
    return s->mask != NULL;
}

static bool find_scores(struct compose *c, struct node *at, struct value *v, struct scores *s);

/* where(keep, scores, hiding): hidden scores become the lowest number, which no addition of a score
 * changes, so that rows without any key stay uniform. */
static bool find_where(struct compose *c, struct node *at, struct node *n, struct scores *s)
{
    struct builder b = builder_before(at, c->d);
    double hiding;
    int hidden = constant_number(n->in[2], &hiding)   ? 2
                 : constant_number(n->in[1], &hiding) ? 1
                                                      : 0;
    struct value *inner = hidden ? n->in[3 - hidden] : NULL;
    if (!hidden || !same_type(inner, n->out[0]))
        return false;
    if (!(hiding <= LARGEST_HIDING) || inner->type.dtype != DT_F32) {
        why(c->o, n, "compose.sdpa-hiding", "hidden scores become %g, which is no mask", hiding);
        return false;
    }
    if (!find_scores(c, at, inner, s))
        return false;
    struct value *zero = constant_scalar(c->g, DT_F32, 0);
    struct value *low = constant_scalar(c->g, DT_F32, isinf(hiding) ? hiding : -FLT_MAX);
    struct value *mask = b_select(&b, n->in[0], hidden == 2 ? zero : low, hidden == 2 ? low : zero);
    return mask && add_mask(c, at, s, mask);
}

static bool swaps_last_two(const struct node *n)
{
    int count, rank = n->in[0]->type.rank;
    const int64_t *perm = attr_ints(&n->attrs, "perm", &count);
    if (!perm)
        return rank == 2;
    for (int i = 0; i < count; i++)
        if (perm[i] != (i < rank - 2 ? i : i == rank - 2 ? rank - 1 : rank - 2))
            return false;
    return count == rank && rank >= 2;
}

/* The product of q and k itself. */
static bool find_product(struct compose *c, struct node *n, struct scores *s)
{
    if (attr_int(&n->attrs, "trans_a", 0) || n->in[0]->type.rank < 2 || n->in[1]->type.rank < 2)
        return false;
    s->scale *= attr_float(&n->attrs, "alpha", 1);
    s->k_transposed = !attr_int(&n->attrs, "trans_b", 0);
    s->q = take_scale(n->in[0], &s->scale);
    s->k = take_scale(n->in[1], &s->scale);
    struct node *t = made_by(s->k, OP_transpose);
    struct value *below = !s->k_transposed ? NULL : t && swaps_last_two(t) ? t->in[0] : swapped_in_views(c, n, s->k);
    if (below) { /* a scale may be below the transposition too */
        s->k = take_scale(below, &s->scale);
        s->k_transposed = false;
    }
    return isfinite(s->scale) && s->scale != 0;
}

/* v is scale * q k^T + mask, s->scale being what stands above it. */
static bool find_scores(struct compose *c, struct node *at, struct value *v, struct scores *s)
{
    struct node *n = v->def;
    struct value *x;
    double factor;
    if (!n || s->depth++ > DEEPEST_SCORES)
        return false;
    if (n->op == OP_matmul)
        return find_product(c, n, s);
    if (n->op == OP_where)
        return s->scale == 1 && find_where(c, at, n, s);
    if (is_scaled(v, &x, &factor)) {
        s->scale *= factor;
        return find_scores(c, at, x, s);
    }
    if (n->op != OP_add)
        return false;
    for (int i = 0; i < 2; i++) {
        struct scores below = *s;
        if (!same_type(n->in[i], v) || !find_scores(c, at, n->in[i], &below))
            continue;
        if (s->scale != 1) {
            why(c->o, n, "compose.sdpa-scaled-mask", "the mask is scaled after it is added");
            return false;
        }
        *s = below;
        return add_mask(c, at, s, n->in[!i]);
    }
    return false;
}

/* (..., keys, features) of a k that is given the other way round. */
static struct value *untransposed(struct compose *c, struct node *at, struct value *k)
{
    struct builder b = builder_before(at, c->d);
    int64_t perm[MAX_RANK];
    int count, rank = k->type.rank;
    bool nothing = true;
    struct node *t = made_by(k, OP_transpose);
    const int64_t *given = t ? attr_ints(&t->attrs, "perm", &count) : NULL;
    for (int i = 0; i < rank; i++) {
        int from = i < rank - 2 ? i : i == rank - 2 ? rank - 1 : rank - 2;
        perm[i] = given ? given[from] < 0 ? given[from] + rank : given[from] : from;
        nothing &= perm[i] == i;
    }
    if (given && nothing)
        return t->in[0];
    return b_permute(&b, given ? t->in[0] : k, perm);
}

static bool over_last(const struct node *softmax)
{
    int64_t axis = attr_int(&softmax->attrs, "axis", -1);
    return axis == -1 || axis == softmax->in[0]->type.rank - 1;
}

/* Whether v says which elements of p are no numbers; then by how many uses of p. */
static int looks_for_nan(const struct value *v, const struct value *p)
{
    struct node *n = made_by(v, OP_is_nan), *differs = made_by(v, OP_ne);
    if (!value_has_one_use(v))
        return 0;
    if (n)
        return n->in[0] == p;
    return differs && differs->in[0] == p && differs->in[1] == p ? 2 : 0;
}

/* The softmax that v is; PyTorch writes where(isnan(weights), 0, weights) for rows that hide every key. *uses: of
 * the weights, when nobody else needs them. */
static struct node *find_softmax(struct value *v, bool *hidden_are_zero, int *uses)
{
    double zero;
    struct node *w = made_by(v, OP_where);
    *uses = 1;
    if (!w)
        return made_by(v, OP_softmax);
    int looks = looks_for_nan(w->in[0], w->in[2]);
    if (!looks || !constant_number(w->in[1], &zero) || zero != 0 || !same_type(w->in[2], v) || !value_has_one_use(v))
        return NULL;
    *hidden_are_zero = true;
    *uses = looks + 1;
    return made_by(w->in[2], OP_softmax);
}

static int count_uses(const struct value *v)
{
    int uses = 0;
    for (const struct use *u = v->uses; u; u = u->next)
        uses++;
    return uses;
}

struct value *compose_sdpa(struct compose *c, struct node *n)
{
    bool hidden_are_zero = false;
    int uses;
    struct node *p = find_softmax(n->in[0], &hidden_are_zero, &uses);
    struct scores s = {.scale = 1};
    if (!p || n->in[1]->type.rank < 2 || n->in[0]->type.rank < 2 ||
        !dtype_is_float(n->out[0]->type.dtype))
        return NULL;
    if (!over_last(p) || attr_int(&n->attrs, "trans_a", 0) || attr_int(&n->attrs, "trans_b", 0) ||
        attr_float(&n->attrs, "alpha", 1) != 1) {
        why(c->o, n, "compose.sdpa-form",
            "looks like attention, but softmax or product is transposed");
        return NULL;
    }
    if (count_uses(p->out[0]) != uses) {
        why(c->o, n, "compose.sdpa-shared", "looks like attention, but the weights are needed too");
        return NULL;
    }
    if (!find_scores(c, n, p->in[0], &s)) {
        if (!diag_failed(c->d))
            why(c->o, n, "compose.sdpa-scores",
                "the operand of softmax is not a masked product of q and k");
        return NULL;
    }
    struct value *k = s.k_transposed ? untransposed(c, n, s.k) : s.k;
    struct value *in[] = {s.q, k, n->in[1], s.mask};
    struct attrs as = {0};
    attr_set_float(&c->g->arena, &as, "scale", s.scale);
    if (hidden_are_zero)
        attr_set_int(&c->g->arena, &as, "hidden_rows_zero", 1);
    return k ? emit_sdpa(c, n, in, &as) : NULL;
}

/* ---- the Attention operator of ONNX ---- */

/* (B,heads,S,D) of an operand that may be (B,S,heads*D). */
static struct value *split_heads(struct compose *c, struct node *n, struct value *x, int64_t heads)
{
    struct builder b = builder_before(n, c->d);
    static const int64_t perm[] = {0, 2, 1, 3};
    const struct type *t = &x->type;
    if (t->rank == 4)
        return x;
    if (t->rank != 3 || heads < 1 || !dim_is_const(t->dims[2]) || t->dims[2] % heads)
        return NULL;
    int64_t shape[] = {0, 0, heads, t->dims[2] / heads};
    return b_permute(&b, b_reshape_to(&b, x, shape, 4), perm);
}

static bool plain_attention(const struct node *n, const char **what)
{
    static const char *const plain[] = {
        "scale",        "is_causal",         "q_num_heads",
        "kv_num_heads", "softmax_precision", "qk_matmul_output_mode"};
    for (int i = 3; i < n->nin; i++)
        if (n->in[i])
            return *what = i == 3 ? "it has a mask" : "it has past keys or lengths", false;
    for (int i = 1; i < n->nout; i++)
        if (n->out[i]->uses)
            return *what = "a second result is needed", false;
    for (int i = 0; i < n->attrs.count; i++) {
        const struct attr *a = &n->attrs.list[i];
        bool known = a->kind == ATTR_FLOAT && a->f == 0; /* softcap 0 */
        for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
            known |= attr_find(&n->attrs, plain[k]) == a;
        if (!known)
            return *what = a->name, false;
    }
    return true;
}

struct value *compose_attention(struct compose *c, struct node *n)
{
    struct builder b = builder_before(n, c->d);
    const char *what;
    if (!plain_attention(n, &what)) {
        why(c->o, n, "compose.attention-form", "it stays whole: %s", what);
        return NULL;
    }
    int64_t qh = attr_int(&n->attrs, "q_num_heads", 0),
            kvh = attr_int(&n->attrs, "kv_num_heads", 0);
    struct value *in[] = {split_heads(c, n, n->in[0], qh), split_heads(c, n, n->in[1], kvh),
                          split_heads(c, n, n->in[2], kvh), NULL};
    static const int64_t perm[] = {0, 2, 1, 3}, merged[] = {0, 0, -1};
    if (!in[0] || !in[1] || !in[2])
        return NULL;
    const struct type *q = &in[0]->type, *k = &in[1]->type, *v = &in[2]->type;
    if (q->dims[1] != k->dims[1] || k->dims[1] != v->dims[1] || q->dims[0] != k->dims[0] ||
        q->dims[0] != v->dims[0] || !dim_is_const(q->dims[3]) || q->dims[3] < 1) {
        why(c->o, n, "compose.attention-heads",
            "it stays whole: heads share keys, or sizes are not known");
        return NULL;
    }
    struct attrs as = {0};
    attr_set_float(&c->g->arena, &as, "scale",
                   attr_float(&n->attrs, "scale", 1 / sqrt((double)q->dims[3])));
    if (attr_int(&n->attrs, "is_causal", 0))
        attr_set_int(&c->g->arena, &as, "causal", 1);
    struct value *y = emit_sdpa(c, n, in, &as);
    if (!y || n->out[0]->type.rank == 4)
        return y;
    return b_reshape_to(&b, b_permute(&b, y, perm), merged, 3);
}
