/*
 * Columns back to images: the places of a block are pictures, which are added to the image of their
 * channel where they lie. Those of one column of the block, whose rows go together, are added up
 * first. Elements of a row that lie a stride apart, a phase of it, are kept side by side while they
 * are added, and take their places at the end.
 */
#include "backend/lower/expression.h"
#include "backend/lower/numbers.h"

enum { MAX_PLACES = 1024, MAX_COLUMNS = 64, MAX_ELEMENTS = 1 << 18 };

struct columns {
    int64_t size[2], kernel[2], stride[2], dilation[2], begin[2], end[2];
    int64_t padded[2], windows[2]; /* the image with its borders; blocks along each dim */
    int64_t left, width;           /* elements of a phase before the row's, and all */
};

static bool read_pair(struct lowering *l, struct value *v, int64_t *out)
{
    dim_t d[2];
    if (read_numbers(l, v, d, 2) != 2 || !dim_is_const(d[0]) || !dim_is_const(d[1]))
        return false;
    out[0] = d[0], out[1] = d[1];
    return d[0] > 0 && d[1] > 0;
}

static bool read_columns(struct lowering *l, const struct node *n, struct columns *c)
{
    int strides, dilations, pads;
    const int64_t *stride = attr_ints(&n->attrs, "strides", &strides),
                  *dilation = attr_ints(&n->attrs, "dilations", &dilations),
                  *pad = attr_ints(&n->attrs, "pads", &pads);
    if ((stride && strides != 2) || (dilation && dilations != 2) || (pad && pads != 4) ||
        !read_pair(l, n->in[1], c->size) || !read_pair(l, n->in[2], c->kernel))
        return false;
    for (int i = 0; i < 2; i++) {
        c->stride[i] = stride ? stride[i] : 1;
        c->dilation[i] = dilation ? dilation[i] : 1;
        c->begin[i] = pad ? pad[i] : 0;
        c->end[i] = pad ? pad[2 + i] : 0;
        if (c->stride[i] < 1 || c->dilation[i] < 1 || c->begin[i] < 0 || c->end[i] < 0 ||
            c->size[i] > MAX_ELEMENTS || c->kernel[i] > MAX_PLACES || c->begin[i] > MAX_PLACES ||
            c->end[i] > MAX_PLACES || c->dilation[i] > MAX_PLACES)
            return false;
        c->padded[i] = c->begin[i] + c->size[i] + c->end[i];
        int64_t reach = c->dilation[i] * (c->kernel[i] - 1) + 1;
        if (reach > c->padded[i])
            return false;
        c->windows[i] = (c->padded[i] - reach) / c->stride[i] + 1;
    }
    return c->kernel[0] * c->kernel[1] <= MAX_PLACES && c->kernel[1] <= MAX_COLUMNS &&
           c->padded[0] * c->padded[1] <= MAX_ELEMENTS;
}

/* Where a column of the block lies in its phase, relative to the row's first element of it. */
static int64_t shift_of(const struct columns *c, int64_t column, int64_t *phase)
{
    int64_t at = column * c->dilation[1] - c->begin[1], stride = c->stride[1];
    *phase = (at % stride + stride) % stride;
    return (at - *phase) / stride;
}

static void measure_phases(struct columns *c)
{
    int64_t right = (c->size[1] + c->stride[1] - 1) / c->stride[1], phase;
    c->left = 0;
    for (int64_t j = 0; j < c->kernel[1]; j++) {
        int64_t shift = shift_of(c, j, &phase), end = shift + c->windows[1];
        c->left = -shift > c->left ? -shift : c->left;
        right = end > right ? end : right;
    }
    c->width = c->left + right;
}

/* Adds the pictures of a column of the block to its phase: where their rows are neighbours, together. */
static void emit_column(struct kernel_builder *k, const struct columns *c, int64_t column, struct ap sums,
                        struct ap rows, struct ap from)
{
    const bool joint = c->stride[0] == 1;
    const int64_t width = joint ? c->windows[1] : c->width, places = c->windows[0] * c->windows[1];
    int64_t phase, at = c->left + shift_of(c, column, &phase);
    struct ap part = joint ? rows : sums, whole = rows, onto = sums;
    part.rank = whole.rank = onto.rank = 0;
    onto.offset.base = at + phase * c->padded[0] * c->width;
    part.offset.base = joint ? 0 : onto.offset.base;
    from.offset.base = column * places;
    if (joint)
        emit_memset(k, (struct memset){.dst = rows});
    int row = kernel_loop(k, c->kernel[0]);
    ap_push(&part, width * c->stride[0], c->windows[0]), ap_push(&part, 1, c->windows[1]);
    ap_move(k->p, &part, row, width * c->dilation[0]);
    ap_push(&from, c->windows[1], c->windows[0]), ap_push(&from, 1, c->windows[1]);
    ap_move(k->p, &from, row, c->kernel[1] * places);
    emit_tensor_tensor(k, (struct tensor_tensor){.dst = part, .a = part, .b = from, .op = OP_add});
    kernel_end_loop(k);
    ap_push(&onto, c->width, c->padded[0]), ap_push(&onto, 1, c->windows[1]);
    ap_push(&whole, c->windows[1], c->padded[0]), ap_push(&whole, 1, c->windows[1]);
    if (joint)
        emit_tensor_tensor(k, (struct tensor_tensor){.dst = onto, .a = onto, .b = whole, .op = OP_add});
}

/* Every phase of every row, in the order of the image. */
static void emit_places(struct kernel_builder *k, const struct columns *c, struct ap out, struct ap sums, bool at_once)
{
    int64_t stride = c->stride[1], plane = c->padded[0] * c->width;
    sums.rank = 0;
    sums.offset.base = c->begin[0] * c->width + c->left;
    if (stride > 1 && at_once) {
        ap_push(&out, c->size[1], c->size[0]), ap_push(&sums, c->width, c->size[0]);
        ap_push(&out, stride, c->size[1] / stride), ap_push(&out, 1, stride);
        ap_push(&sums, plane, stride), ap_push(&sums, 1, c->size[1] / stride);
        emit_dma_transpose(k, (struct dma_transpose){.dst = out, .src = sums});
        return;
    }
    for (int64_t f = 0; f < stride && f < c->size[1]; f++) {
        struct ap to = out, from = sums;
        int64_t count = (c->size[1] - f + stride - 1) / stride;
        to.offset.base += f, from.offset.base += f * plane;
        ap_push(&to, c->size[1], c->size[0]), ap_push(&to, stride, count);
        ap_push(&from, c->width, c->size[0]), ap_push(&from, 1, count);
        emit_copy(k, to, from);
    }
}

enum lowered lower_col2im(struct lowering *l, struct node *n)
{
    struct dim_table *t = &l->p->dims;
    struct value *x = outer_value(l, n->in[0]), *y = n->out[0];
    struct columns c;
    if (n->op == OP_fused || !has_layout(l, x) || !has_layout(l, y) ||
        !dtype_is_engine_float(x->type.dtype) || y->type.rank != 4 || !read_columns(l, n, &c) ||
        x->type.dims[2] != c.windows[0] * c.windows[1] ||
        x->type.dims[1] != dim_mul(t, y->type.dims[1], c.kernel[0] * c.kernel[1])) {
        why(l->o, n, "tile.columns",
            "only blocks of two dims of known size have a tile program; it runs on GpSimd");
        return DECLINED;
    }
    measure_phases(&c);
    dim_t places = c.windows[0] * c.windows[1], block = c.kernel[0] * c.kernel[1] * places,
          area = c.size[0] * c.size[1], channels = y->type.dims[1];
    struct kernel_builder k = begin_kernel(l, n, n->name && *n->name ? n->name : "col2im");
    int var = kernel_grid(&k, dim_mul(t, y->type.dims[0], channels));
    struct ap sums = ap_tile(&k, kernel_tile(&k, MEM_SBUF, DT_F32, 1, c.stride[1] * c.padded[0] * c.width)),
              rows = c.stride[0] > 1 ? sums
                                     : ap_tile(&k, kernel_tile(&k, MEM_SBUF, DT_F32, 1, c.padded[0] * c.windows[1])),
              from = ap_slot(l->p, value_slot(l, x)), out = ap_slot(l->p, value_slot(l, y));
    ap_move(l->p, &from, var, block);
    emit_memset(&k, (struct memset){.dst = sums});
    for (int64_t column = 0; column < c.kernel[1]; column++)
        emit_column(&k, &c, column, sums, rows, from);
    ap_move(l->p, &out, var, area);
    emit_places(&k, &c, out, sums,
                c.size[1] % c.stride[1] == 0 && y->type.dtype == DT_F32 && !l->o->strict_target);
    dim_t images = dim_mul(t, y->type.dims[0], channels);
    kernel_of(&k)->flops = dim_mul(t, images, block);
    kernel_of(&k)->bytes = dim_mul(t, images, 4 * (block + area));
    return LOWERED;
}
