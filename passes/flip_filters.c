/*
 * pass flip_filters: transposed convolutions whose windows move by one place, of few channels on both sides: a result
 * is what a convolution by the flipped filter makes,
 *
 *   y[o, i] = sum over c, t of x[c, i + p - t * d] * w[c, o, t] = sum of x[c, i - p' + t * d] * w[c, o, k - 1 - t],
 *
 * p' = (k - 1) * d - p. Those of many channels are convolutions in the backend, or products in pass apart, which comes
 * behind. Requires inferred types; runs before layout.
 */
#include "neff/isa/planes.h"
#include "passes/conv_transpose.h"
#include "passes/rewrite.h"

#include <string.h>

enum { FULL = 16 }; /* a vector */

/* Windows that move by one place and are padded by no more than themselves; their padding as convolutions. */
static bool moves_by_one(const struct node *n, int64_t *pads)
{
    const struct type *w = &n->in[1]->type;
    int axes = w->rank - 2;
    for (int i = 0; i < axes; i++) {
        const int64_t max = 1 << 16, dilation = attr_int_at(&n->attrs, "dilations", i, 1);
        if (attr_int_at(&n->attrs, "strides", i, 1) != 1 || attr_int_at(&n->attrs, "output_padding", i, 0) ||
            dilation < 1 || dilation > max || w->dims[2 + i] > max)
            return false;
        for (int end = 0; end < 2; end++) {
            int64_t given = attr_int_at(&n->attrs, "pads", i + end * axes, 0);
            pads[i + end * axes] = (w->dims[2 + i] - 1) * dilation - given;
            if (given < 0 || pads[i + end * axes] < 0)
                return false;
        }
    }
    return true;
}

/* Weights (channels, results of a group, taps) as (results, channels of a group, taps backwards). */
static struct value *flipped(struct graph *g, const struct value *w, int64_t groups, struct diag *d)
{
    const struct tensor *t = w->constant;
    const size_t size = dtype_bytes(t->dtype);
    int64_t dims[MAX_RANK], each = t->dims[0] / groups, results = t->dims[1], taps = 1;
    memcpy(dims, t->dims, sizeof *dims * (size_t)t->rank);
    for (int i = 2; i < t->rank; i++)
        taps *= t->dims[i];
    dims[0] = results * groups, dims[1] = each;
    struct value *to = constant_unwritten(g, t->dtype, t->rank, dims, w->name, d);
    for (int64_t c = 0; to && c < t->dims[0]; c++)
        for (int64_t o = 0; o < results; o++)
            for (int64_t k = 0; k < taps; k++) {
                int64_t at = ((c / each * results + o) * each + c % each) * taps + taps - 1 - k;
                memcpy((char *)to->constant->data + (size_t)at * size,
                       (const char *)t->data + (size_t)((c * results + o) * taps + k) * size, size);
            }
    return to;
}

static bool visit(struct node *n, void *user)
{
    struct rewriter *p = user;
    int64_t pads[2 * MAX_RANK];
    if (!is_plain_conv_transpose(n) || !moves_by_one(n, pads))
        return true;
    const struct type *w = &n->in[1]->type;
    int64_t groups = attr_int(&n->attrs, "group", 1);
    if (groups < 1 || w->dims[0] % groups)
        return true;
    int64_t each = w->dims[0] / groups, terms = each;
    for (int i = 2; i < w->rank; i++)
        terms = terms > PLANE_PLACES ? terms : terms * w->dims[i];
    bool depthwise = each == 1 && groups >= FULL;
    if (each >= FULL || w->dims[1] >= FULL || depthwise || terms > PLANE_PLACES)
        return true;
    struct builder b = builder_before(n, p->d);
    struct attrs as = {0};
    struct value *in[] = {n->in[0], flipped(p->g, n->in[1], groups, p->d)};
    int count;
    const int64_t *dilations = attr_ints(&n->attrs, "dilations", &count);
    attr_set_ints(&p->g->arena, &as, "pads", pads, 2 * (w->rank - 2));
    attr_set_int(&p->g->arena, &as, "group", groups);
    if (dilations)
        attr_set_ints(&p->g->arena, &as, "dilations", dilations, count);
    why(p->o, n, "flip_filters.one", "windows move by one place: a convolution by the flipped filter");
    return in[1] && node_replace(n, b_op(&b, OP_conv, in, 2, &as));
}

bool pass_flip_filters(struct graph *g, const struct options *o, struct diag *d)
{
    struct rewriter p = {g, o, d};
    return o->strict_target || for_each_node(g->main, visit, &p);
}
