/*
 * pass apart: transposed convolutions to few channels. What a place of the image adds to its window, all taps of it, is
 * a column of one product,
 *
 *   (results x taps, channels) (channels, places)
 *
 * whose rows then change places where windows lie side by side (strides as long as the filter, no padding), and are
 * added up by col2im where they overlap. As convolutions, one for each phase of the result, they read the image as
 * often as there are phases, and their products have too few columns. Requires inferred types; runs before layout, as
 * channels come first here.
 */
#include "passes/conv_transpose.h"
#include "passes/rewrite.h"

#include <string.h>

enum { MAX_ROWS = 32 }; /* of the product: with more, convolutions of images with channels last are as fast */
enum { MAX_RESULTS = 12, MAX_SUMMED_ROWS = 256, MIN_CHANNELS = 8 }; /* where windows overlap, of which sums are made */

/* Of one group, and an image whose number alone may be unknown. */
static bool is_plain(const struct node *n)
{
    if (!is_plain_conv_transpose(n) || attr_int(&n->attrs, "group", 1) != 1)
        return false;
    const struct type *x = &n->in[0]->type, *y = &n->out[0]->type;
    return y->rank == x->rank && dims_are_positive(x->dims + 1, x->rank - 1) &&
           dims_are_positive(y->dims + 1, y->rank - 1);
}

/* Rows of the product, at most `most` + 1. */
static int64_t product_rows(const struct type *w, int64_t max)
{
    int64_t rows = 1;
    for (int i = 1; i < w->rank; i++)
        rows = rows > max || w->dims[i] > max ? max + 1 : rows * w->dims[i];
    return rows;
}

/* Every element of the result comes of one place. */
static bool side_by_side(const struct node *n)
{
    const struct type *x = &n->in[0]->type, *w = &n->in[1]->type, *y = &n->out[0]->type;
    const struct attrs *as = &n->attrs;
    for (int i = 0; i + 2 < x->rank; i++)
        if (attr_int_at(as, "strides", i, 1) != w->dims[i + 2] || attr_int_at(as, "dilations", i, 1) != 1 ||
            attr_int_at(as, "pads", i, 0) || attr_int_at(as, "pads", i + x->rank - 2, 0) ||
            y->dims[i + 2] != x->dims[i + 2] * w->dims[i + 2])
            return false;
    return product_rows(w, MAX_ROWS) <= MAX_ROWS;
}

/* Sums of few results, whose places are those that the windows of col2im have. */
static bool overlaps(const struct node *n)
{
    const struct type *x = &n->in[0]->type, *w = &n->in[1]->type, *y = &n->out[0]->type;
    const struct attrs *as = &n->attrs;
    if (x->dtype != DT_F32 || w->dims[0] < MIN_CHANNELS || w->dims[1] > MAX_RESULTS ||
        product_rows(w, MAX_SUMMED_ROWS) > MAX_SUMMED_ROWS)
        return false;
    for (int i = 0; i + 2 < x->rank; i++) {
        const int64_t max = 1 << 16, stride = attr_int_at(as, "strides", i, 1),
                      dilation = attr_int_at(as, "dilations", i, 1),
                      begin = attr_int_at(as, "pads", i, 0), end = attr_int_at(as, "pads", i + x->rank - 2, 0);
        if (stride < 1 || stride > max || dilation < 1 || dilation > max || begin < 0 || begin > max || end < 0 ||
            end > max || y->dims[i + 2] > (1 << 24))
            return false;
        const int64_t room = y->dims[i + 2] + begin + end - (w->dims[i + 2] - 1) * dilation - 1;
        if (room < 0 || room / stride + 1 != x->dims[i + 2])
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
    struct builder b = builder_before(n, d);
    const struct type *x = &n->in[0]->type, *w = &n->in[1]->type, *y = &n->out[0]->type;
    int axes = x->rank - 2;
    int64_t spread[MAX_RANK] = {0, w->dims[1]}, order[MAX_RANK] = {0, 1}, together[MAX_RANK] = {0, w->dims[1]};
    for (int i = 0; i < axes; i++) {
        spread[2 + i] = w->dims[2 + i], spread[2 + axes + i] = x->dims[2 + i];
        order[2 + 2 * i] = 2 + axes + i, order[3 + 2 * i] = 2 + i;
        together[2 + i] = y->dims[2 + i];
    }
    struct value *v = b_reshape_to(&b, product, spread, 2 + 2 * axes);
    v = v ? b_permute(&b, v, order) : NULL;
    return v ? b_reshape_to(&b, v, together, x->rank) : NULL;
}

/* By col2im, of images: lines have one row. */
static struct value *summed(struct node *n, struct value *product, struct diag *d)
{
    struct builder b = builder_before(n, d);
    struct graph *g = n->parent->graph;
    const struct type *y = &n->out[0]->type, *w = &n->in[1]->type;
    const int axes = y->rank - 2, skip = 2 - axes;
    int64_t size[2] = {1, 1}, block[2] = {1, 1}, strides[2] = {1, 1}, dilations[2] = {1, 1}, pads[4] = {0};
    struct attrs as = {0};
    for (int i = 0; i < axes; i++) {
        size[skip + i] = y->dims[2 + i], block[skip + i] = w->dims[2 + i];
        strides[skip + i] = attr_int_at(&n->attrs, "strides", i, 1);
        dilations[skip + i] = attr_int_at(&n->attrs, "dilations", i, 1);
        pads[skip + i] = attr_int_at(&n->attrs, "pads", i, 0);
        pads[2 + skip + i] = attr_int_at(&n->attrs, "pads", axes + i, 0);
    }
    attr_set_ints(&g->arena, &as, "strides", strides, 2);
    attr_set_ints(&g->arena, &as, "dilations", dilations, 2);
    attr_set_ints(&g->arena, &as, "pads", pads, 4);
    struct value *in[] = {product, constant_i64s(g, size, 2), constant_i64s(g, block, 2)};
    struct value *v = b_op(&b, OP_col2im, in, 3, &as);
    return v && axes == 1 ? b_reshape_to(&b, v, (int64_t[]){0, w->dims[1], size[1]}, 3) : v;
}

static bool visit(struct node *n, void *user)
{
    struct rewriter *p = user;
    if (!is_plain(n))
        return true;
    bool beside = side_by_side(n);
    if (!beside && !overlaps(n))
        return true;
    struct builder b = builder_before(n, p->d);
    struct value *w = exchanged(n->parent->graph, n->in[1], p->d);
    struct value *x = b_reshape_to(&b, n->in[0], (int64_t[]){0, n->in[0]->type.dims[1], -1}, 3);
    struct value *product = b_2(&b, OP_matmul, w, x);
    if (!product)
        return false;
    why(p->o, n, "apart.product", "one product, whose rows %s",
        beside ? "change places: windows lie side by side" : "are added up: windows overlap");
    return node_replace(n, beside ? laid(n, product, p->d) : summed(n, product, p->d));
}

bool pass_apart(struct graph *g, const struct options *o, struct diag *d)
{
    struct rewriter p = {g, o, d};
    return o->strict_target || for_each_node(g->main, visit, &p);
}
