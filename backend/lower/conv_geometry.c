#include "backend/lower/conv.h"
#include "passes/pads.h"

#include <string.h>

/* Pixels of an image one pixel wide lie in a row of memory: as wide as it was high. */
static void column_as_row(struct conv *c)
{
    c->column = true;
    c->width = c->h, c->ow = c->oh, c->kw = c->kh, c->sw = c->sh, c->dw = c->dh;
    c->left = c->top, c->right = c->bottom;
    c->h = c->oh = 1;
    c->kh = c->sh = c->dh = 1;
    c->top = c->bottom = 0;
}

/* false when it crops. */
static bool conv_pads(struct dim_table *t, const struct node *n, struct conv *c)
{
    struct pads rows = {0, 0}, columns;
    if (c->spatial == 2)
        rows = pads_of(t, n, 0, window_excess(t, c->h, c->oh, c->kh, c->sh, c->dh));
    columns = pads_of(t, n, c->spatial - 1, window_excess(t, c->width, c->ow, c->kw, c->sw, c->dw));
    c->top = rows.begin, c->bottom = rows.end;
    c->left = columns.begin, c->right = columns.end;
    return !pads_crop(rows) && !pads_crop(columns);
}

bool conv_geometry(struct lowering *l, const struct node *n, struct conv *c)
{
    struct value *w = outer_value(l, n->in[1]);
    c->x = outer_value(l, n->in[0]);
    const struct type *x = &c->x->type, *y = &n->out[0]->type;
    c->last = attr_int(&n->attrs, "channels_last", 0) != 0;
    c->padding = 0, c->bias = -1;
    const struct type *weights = &w->type;
    if ((x->rank != 3 && x->rank != 4) || weights->rank != x->rank ||
        (n->op == OP_conv && n->nin > 2 && n->in[2]) || !has_layout(l, c->x) || !has_layout(l, w))
        return false;
    for (int i = 0; i < weights->rank; i++)
        if (!dim_is_const(weights->dims[i]))
            return false;
    c->spatial = x->rank - 2;
    c->weights = w;
    c->w = w->constant;
    bool two = c->spatial == 2;
    int first = c->last ? 1 : 2, column = first + two;
    c->n = x->dims[0], c->channels_in = x->dims[c->last ? x->rank - 1 : 1];
    c->h = two ? x->dims[first] : 1, c->width = x->dims[column];
    c->oh = two ? y->dims[first] : 1, c->ow = y->dims[column];
    c->out_channels = weights->dims[0], c->in_group = weights->dims[1];
    c->kh = two ? weights->dims[2] : 1, c->kw = weights->dims[two ? 3 : 2];
    c->group = attr_int(&n->attrs, "group", 1);
    int count;
    const int64_t *v = attr_ints(&n->attrs, "strides", &count);
    c->sh = two && v ? v[0] : 1, c->sw = v ? v[c->spatial - 1] : 1;
    v = attr_ints(&n->attrs, "dilations", &count);
    c->dh = two && v ? v[0] : 1, c->dw = v ? v[c->spatial - 1] : 1;
    bool possible = conv_pads(&l->p->dims, n, c);
    const int64_t *lhs = attr_ints(&n->attrs, "lhs_dilation", &count);
    for (int i = 0; i < count; i++)
        possible &= lhs[i] == 1;
    if (c->last && two && c->width == 1 && c->ow == 1 && c->kw == 1 && !(c->left | c->right))
        column_as_row(c);
    return possible && dim_is_const(c->channels_in) && c->channels_in > 0 && c->out_channels > 0 &&
           c->kh > 0 && c->kw > 0;
}

struct epilogue conv_epilogue(struct kernel_builder *k, struct group *g, const struct conv *c,
                              const struct conv_walk *w)
{
    const struct type *y = &g->nodes[0]->out[0]->type;
    struct epilogue e = {.k = k, .g = g, .rank = y->rank};
    memcpy(e.dims, y->dims, sizeof e.dims);
    int channel = c->last ? y->rank - 1 : 1, column = y->rank - 1 - c->last;
    const struct cover channels = cover_of(channel, channel, w->var_block, w->out_channels);
    e.covers[e.ncovers++] = cover_of(0, 0, w->var_n, 0);
    if (!c->last)
        e.covers[e.ncovers++] = channels;
    if (c->spatial == 2 && !c->column)
        e.covers[e.ncovers++] = cover_of(column - 1, column - 1, w->var_row, w->rows);
    e.covers[e.ncovers++] = cover_of(c->column ? 1 : column, column, w->var_column, w->columns);
    if (c->last)
        e.covers[e.ncovers++] = channels;
    return e;
}

struct ap depthwise_image(struct lowering *l, const struct conv *c, int var_n)
{
    struct dim_table *t = &l->p->dims;
    dim_t row = dim_mul(t, c->width, c->channels_in);
    struct ap image = ap_slot(l->p, value_slot(l, c->x));
    ap_move(l->p, &image, var_n, dim_mul(t, row, c->h));
    ap_push(&image, row, c->h), ap_push(&image, c->channels_in, c->width);
    return image;
}

void vector_account(struct kernel_builder *k, const struct conv *c, int bytes)
{
    struct kernel *kernel = kernel_of(k);
    struct dim_table *t = &k->p->dims;
    dim_t pixels = dim_mul(t, c->n, dim_mul(t, c->oh, c->ow)), seen = dim_mul(t, c->n, dim_mul(t, c->h, c->width));
    kernel->flops = dim_mul(t, pixels, 2 * c->kh * c->kw * c->in_group * c->out_channels);
    kernel->bytes =
        dim_mul(t, dim_add(t, dim_mul(t, pixels, c->out_channels), dim_mul(t, seen, c->channels_in)), bytes);
}
