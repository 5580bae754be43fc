/*
 * Columns back to images: the places of a block are pictures, which are added to the image of their
 * channel where they lie. Those of one column of the block, whose rows go together, are added up
 * first.
 */
#include "backend/lower/expression.h"
#include "backend/lower/numbers.h"

enum { MAX_PLACES = 1024, MAX_ELEMENTS = 1 << 18 };

struct columns {
    int64_t size[2], kernel[2], stride[2], dilation[2], begin[2], end[2];
    int64_t padded[2], windows[2]; /* the image with its borders; blocks along each dim */
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
    return c->kernel[0] * c->kernel[1] <= MAX_PLACES &&
           c->padded[0] * c->padded[1] <= MAX_ELEMENTS;
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
    dim_t places = c.windows[0] * c.windows[1], block = c.kernel[0] * c.kernel[1] * places,
          area = c.size[0] * c.size[1], channels = y->type.dims[1];
    struct kernel_builder k = begin_kernel(l, n, n->name && *n->name ? n->name : "col2im");
    int var = kernel_grid(&k, dim_mul(t, y->type.dims[0], channels));
    struct ap sums = ap_tile(&k, kernel_tile(&k, MEM_SBUF, DT_F32, 1, c.padded[0] * c.padded[1])),
              rows = ap_tile(&k, kernel_tile(&k, MEM_SBUF, DT_F32, 1, c.padded[0] * c.windows[1])),
              onto = sums, part = rows, whole = rows, inside = sums,
              from = ap_slot(l->p, value_slot(l, x)), out = ap_slot(l->p, value_slot(l, y));
    inside.rank = onto.rank = part.rank = whole.rank = 0;
    emit_memset(&k, (struct memset){.dst = sums});
    int column = kernel_loop(&k, c.kernel[1]);
    emit_memset(&k, (struct memset){.dst = rows});
    int row = kernel_loop(&k, c.kernel[0]);
    ap_push(&part, c.windows[1] * c.stride[0], c.windows[0]), ap_push(&part, 1, c.windows[1]);
    ap_move(l->p, &part, row, c.windows[1] * c.dilation[0]);
    ap_push(&from, c.windows[1], c.windows[0]), ap_push(&from, 1, c.windows[1]);
    ap_move(l->p, &from, var, block);
    ap_move(l->p, &from, row, c.kernel[1] * places), ap_move(l->p, &from, column, places);
    emit_tensor_tensor(&k, (struct tensor_tensor){.dst = part, .a = part, .b = from, .op = OP_add});
    kernel_end_loop(&k);
    ap_push(&onto, c.padded[1], c.padded[0]), ap_push(&onto, c.stride[1], c.windows[1]);
    ap_move(l->p, &onto, column, c.dilation[1]);
    ap_push(&whole, c.windows[1], c.padded[0]), ap_push(&whole, 1, c.windows[1]);
    emit_tensor_tensor(&k,
                       (struct tensor_tensor){.dst = onto, .a = onto, .b = whole, .op = OP_add});
    kernel_end_loop(&k);
    inside.offset.base = c.begin[0] * c.padded[1] + c.begin[1];
    ap_push(&inside, c.padded[1], c.size[0]), ap_push(&inside, 1, c.size[1]);
    ap_push(&out, c.size[1], c.size[0]), ap_push(&out, 1, c.size[1]);
    ap_move(l->p, &out, var, area);
    emit_copy(&k, out, inside);
    dim_t images = dim_mul(t, y->type.dims[0], channels);
    kernel_of(&k)->flops = dim_mul(t, images, block);
    kernel_of(&k)->bytes = dim_mul(t, images, 4 * (block + area));
    return LOWERED;
}
