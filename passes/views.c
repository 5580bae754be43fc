#include "passes/views.h"

#include "passes/match.h"
#include "passes/rewrite.h"

#include <string.h>

/* The dims other than 1; their number. */
static int long_dims(const struct type *t, int64_t *dims)
{
    int n = 0;
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] != 1)
            dims[n++] = t->dims[i];
    return n;
}

static bool same_but_ones(const struct type *a, const struct type *b)
{
    int64_t x[MAX_RANK], y[MAX_RANK];
    int n = long_dims(a, x);
    return n == long_dims(b, y) && !memcmp(x, y, sizeof *x * (size_t)n);
}

/* What v views, when only dims of 1 come or go; else NULL. */
static struct value *viewed(const struct value *v)
{
    if (!v->def || !(op_infos[v->def->op].flags & OPF_VIEW) || !is_tensor(v))
        return NULL;
    struct value *x = v->def->in[0];
    bool plain = is_tensor(x) && x->type.dtype == v->type.dtype && type_is_static(&x->type) && !x->constant;
    return plain && type_is_static(&v->type) && same_but_ones(&x->type, &v->type) ? x : NULL;
}

static struct value *as_scalar(struct graph *g, const struct value *v)
{
    struct tensor t = *v->constant;
    t.rank = 0;
    return constant_new(g, &t, v->name);
}

struct value *of_unviewed(struct graph *g, struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    const struct type *y = &n->out[0]->type;
    struct value *in[MAX_ELEMENTWISE], *first = NULL;
    int flags = op_infos[n->op].flags;
    if (!(flags & OPF_ELEMENTWISE) || flags & OPF_IMPURE || n->nin < 1 || n->nin > MAX_ELEMENTWISE || n->nout != 1 ||
        n->nregions || y->kind != VK_TENSOR || y->dtype != DT_BOOL || !type_is_static(y))
        return NULL;
    for (int i = 0; i < n->nin; i++) {
        in[i] = n->in[i] ? viewed(n->in[i]) : NULL;
        if (!in[i] && (!n->in[i] || !single_constant(n->in[i])))
            return NULL;
        if (in[i] && first && !same_dims(&in[i]->type, &first->type))
            return NULL;
        first = first ? first : in[i];
    }
    if (!first || !same_but_ones(&first->type, y))
        return NULL;
    for (int i = 0; i < n->nin; i++)
        in[i] = in[i] ? in[i] : as_scalar(g, n->in[i]);
    struct value *mask = b_op(&b, n->op, in, n->nin, &n->attrs);
    return mask ? b_reshape_to(&b, mask, y->dims, y->rank) : NULL;
}

/* ---- transposes ---- */

/* Of the view v of x, which of x's dims, all 1, it is without, the first where several may be; their number, -1: the
 * two differ otherwise. */
static int dims_without(const struct type *x, const struct type *v, bool *without)
{
    int k = v->rank, n = 0;
    for (int i = x->rank - 1; i >= 0; i--) {
        without[i] = k == 0 || x->dims[i] != v->dims[k - 1];
        if (without[i] && x->dims[i] != 1)
            return -1;
        k -= !without[i];
        n += without[i];
    }
    return k == 0 ? n : -1;
}

/* Whether v is an image that a convolution made, or elementwise operators of one. */
static bool is_convolved(const struct value *v)
{
    enum { MOST = 8 };
    for (int steps = 0; v && v->def && steps < MOST; steps++) {
        const struct node *n = v->def;
        if (n->op == OP_conv || n->op == OP_conv_transpose)
            return true;
        if (!(op_infos[n->op].flags & OPF_ELEMENTWISE))
            return false;
        v = n->in[0] && n->in[0]->constant && n->nin > 1 ? n->in[1] : n->in[0];
    }
    return false;
}

/* The constant with a dim of 1 for each that `without` names, of an image of so many dims, behind which it has others;
 * NULL: it has dims of its own. */
static struct value *as_image(struct graph *g, const struct value *v, const bool *without, int rank)
{
    int64_t dims[MAX_RANK];
    struct tensor t = *v->constant;
    int k = t.rank, at = rank;
    while (k > 0 && at > 0) {
        at--;
        dims[at] = without[at] ? 1 : t.dims[--k];
    }
    if (k > 0)
        return NULL;
    t.rank = rank - at;
    memcpy(t.dims, dims + at, sizeof *dims * (size_t)t.rank);
    return constant_new(g, &t, v->name);
}

struct value *view_of_elementwise(struct graph *g, struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    struct value *in[MAX_ELEMENTWISE], *x = NULL;
    bool without[MAX_RANK], same[MAX_RANK];
    int flags = op_infos[n->op].flags, count = 0;
    if (!(flags & OPF_ELEMENTWISE) || flags & OPF_IMPURE || n->nin < 1 || n->nin > MAX_ELEMENTWISE || n->nout != 1 ||
        n->nregions || !is_tensor(n->out[0]) || attr_find(&n->attrs, "axis"))
        return NULL;
    for (int i = 0; i < n->nin; i++) {
        const struct value *v = n->in[i];
        if (v && v->constant)
            continue;
        if (!v || !v->def || !(op_infos[v->def->op].flags & OPF_VIEW) || !is_tensor(v->def->in[0]) ||
            v->def->in[0]->type.dtype != v->type.dtype || !is_convolved(v->def->in[0]) ||
            !same_dims(&v->type, &n->out[0]->type))
            return NULL;
        in[i] = v->def->in[0];
        count = dims_without(&in[i]->type, &v->type, x ? same : without);
        if (count < 1 || (x && !same_dims(&in[i]->type, &x->type)))
            return NULL;
        x = in[i];
    }
    for (int i = 0; x && i < n->nin; i++)
        if (n->in[i]->constant && !(in[i] = as_image(g, n->in[i], without, x->type.rank)))
            return NULL;
    struct value *y = x ? b_op(&b, n->op, in, n->nin, &n->attrs) : NULL;
    int64_t axes[MAX_RANK];
    int naxes = 0;
    for (int i = 0; y && i < x->type.rank; i++)
        if (without[i])
            axes[naxes++] = i;
    return y && same_dims(&y->type, &x->type) ? b_squeeze(&b, y, axes, naxes) : NULL;
}

struct value *transpose_of_view(struct graph *g, struct node *n, struct diag *d)
{
    struct node *t = op_infos[n->op].flags & OPF_VIEW ? made_by(n->in[0], OP_transpose) : NULL;
    bool without[MAX_RANK];
    int count;
    if (!t || !is_tensor(n->out[0]) || !is_tensor(n->in[0]) || !is_tensor(t->in[0]) ||
        n->out[0]->type.dtype != n->in[0]->type.dtype || !value_has_one_use(n->in[0]) ||
        dims_without(&n->in[0]->type, &n->out[0]->type, without) < 1)
        return NULL;
    const int64_t *perm = attr_ints(&t->attrs, "perm", &count);
    if (!perm || count != n->in[0]->type.rank)
        return NULL;
    int64_t axes[MAX_RANK], kept[MAX_RANK];
    int naxes = 0, nkept = 0;
    for (int i = 0; i < count; i++)
        if (without[i])
            axes[naxes++] = perm[i];
    for (int i = 0; i < count; i++) {
        if (without[i])
            continue;
        kept[nkept] = perm[i];
        for (int a = 0; a < naxes; a++)
            kept[nkept] -= axes[a] < perm[i];
        nkept++;
    }
    struct builder before = builder_before(t, d), b = builder_before(n, d);
    struct value *x = b_permute(&b, b_squeeze(&before, t->in[0], axes, naxes), kept);
    if (x)
        x->type = n->out[0]->type;
    return x;
}
