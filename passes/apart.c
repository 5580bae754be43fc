/*
 * pass apart: transposed convolutions whose windows lie side by side (strides as long as the filter, no padding), to
 * few channels. All that a place adds to its window is a column of one product,
 *
 *   (results x taps, channels) (channels, places)
 *
 * whose rows then change places. As convolutions, one for each tap, they read the image as often as there are taps, and
 * their products have too few columns. Requires inferred types; runs before layout, as channels come first here.
 */
#include "passes/rewrite.h"

#include <string.h>

enum { MAX_ROWS = 32 }; /* of the product: with more, convolutions of images with channels last are as fast */

struct apart {
    const struct options *o;
    struct diag *d;
};

static bool all_are(const struct attrs *as, const char *name, int64_t number)
{
    int count;
    const int64_t *v = attr_ints(as, name, &count);
    for (int i = 0; v && i < count; i++)
        if (v[i] != number)
            return false;
    return true;
}

/* Of an image whose number alone may be unknown. */
static bool lies_apart(const struct node *n)
{
    const struct type *x = &n->in[0]->type, *w = &n->in[1]->type, *y = &n->out[0]->type;
    const struct attrs *as = &n->attrs;
    int count, rank = x->rank;
    const int64_t *strides = attr_ints(as, "strides", &count);
    if (attr_int(as, "channels_last", 0) || attr_int(as, "group", 1) != 1 || (n->nin > 2 && n->in[2]) ||
        !n->in[1]->constant || x->kind != VK_TENSOR || rank < 3 || 2 * rank - 2 > MAX_RANK || w->rank != rank ||
        y->rank != rank || x->dtype != w->dtype || x->dtype != y->dtype || !strides || count != rank - 2)
        return false;
    if (!dims_are_positive(x->dims + 1, rank - 1) || !dims_are_positive(w->dims, rank) || w->dims[0] != x->dims[1] ||
        !all_are(as, "dilations", 1) || !all_are(as, "pads", 0))
        return false;
    int64_t rows = w->dims[1];
    for (int i = 2; i < rank; i++) {
        if (strides[i - 2] != w->dims[i] || y->dims[i] != x->dims[i] * w->dims[i])
            return false;
        rows = rows < MAX_ROWS ? rows * w->dims[i] : rows;
        if (rows > MAX_ROWS)
            return false;
    }
    return true;
}

/* The filters, (channels, results and taps), with rows and columns exchanged. */
static struct value *exchanged(struct graph *g, const struct value *w, struct diag *d)
{
    const struct tensor *t = w->constant;
    const size_t size = dtype_bytes(t->dtype);
    int64_t channels = t->dims[0], rows = tensor_count(t) / channels;
    struct value *to = constant_unwritten(g, t->dtype, 2, (int64_t[]){rows, channels}, w->name, d);
    for (int64_t r = 0; to && r < rows; r++)
        for (int64_t c = 0; c < channels; c++)
            memcpy((char *)to->constant->data + (size_t)(r * channels + c) * size,
                   (const char *)t->data + (size_t)(c * rows + r) * size, size);
    return to;
}

/* (number, results, taps, places) with each tap beside its place. */
static struct value *laid(struct node *n, struct value *product, struct diag *d)
{
    const struct type *x = &n->in[0]->type, *w = &n->in[1]->type, *y = &n->out[0]->type;
    int axes = x->rank - 2;
    int64_t spread[MAX_RANK] = {0, w->dims[1]}, order[MAX_RANK] = {0, 1}, together[MAX_RANK] = {0, w->dims[1]};
    for (int i = 0; i < axes; i++) {
        spread[2 + i] = w->dims[2 + i], spread[2 + axes + i] = x->dims[2 + i];
        order[2 + 2 * i] = 2 + axes + i, order[3 + 2 * i] = 2 + i;
        together[2 + i] = y->dims[2 + i];
    }
    struct value *v = emit_reshape(n, product, spread, 2 + 2 * axes, d);
    v = v ? emit_transpose(n, v, order, d) : NULL;
    return v ? emit_reshape(n, v, together, x->rank, d) : NULL;
}

static bool visit(struct node *n, void *user)
{
    struct apart *p = user;
    if (n->op != OP_conv_transpose || !lies_apart(n))
        return true;
    struct value *w = exchanged(n->parent->graph, n->in[1], p->d);
    struct value *x = emit_reshape(n, n->in[0], (int64_t[]){0, n->in[0]->type.dims[1], -1}, 3, p->d);
    struct value *product = w && x ? emit2(n, OP_matmul, w, x, p->d) : NULL;
    if (!product)
        return false;
    why(p->o, n, "apart.product", "windows lie side by side: one product, whose rows change places");
    return node_replace(n, laid(n, product, p->d));
}

bool pass_apart(struct graph *g, const struct options *o, struct diag *d)
{
    struct apart p = {o, d};
    return o->strict_target || for_each_node(g->main, visit, &p);
}
