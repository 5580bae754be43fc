/*
 * Instance and group normalisation of channels-last images: a block of groups of channels (of an instance
 * normalisation, of channels that are groups of their own) of one image per instance; pixels pass by three times, in
 * parts.
 */
#include "backend/lower/product.h"

enum { CHANNELS = 64, PIXELS = 64, NARROW = 16 }; /* groups of fewer channels than NARROW are taken several at a time */

struct norm_groups {
    dim_t n, pixels;
    int64_t channels, tile, width; /* tile: channels of an instance; width: those that share their statistics */
    int var_n, var_c, var_p;
};

static bool examine(struct lowering *l, const struct node *n, struct norm_groups *g)
{
    const struct type *x = &n->in[0]->type;
    for (int i = 0; i < 3; i++) {
        struct value *v = outer_value(l, n->in[i]);
        if (!has_layout(l, v) || !dtype_is_engine_float(v->type.dtype) || (i && v->type.rank != 1))
            return false;
    }
    if (!attr_int(&n->attrs, "channels_last", 0) || x->rank < 3 ||
        !dim_is_const(x->dims[x->rank - 1]) || x->dims[x->rank - 1] < 1 ||
        !has_layout(l, n->out[0]) || !dtype_is_engine_float(n->out[0]->type.dtype))
        return false;
    g->n = x->dims[0], g->channels = x->dims[x->rank - 1], g->pixels = 1;
    for (int i = 1; i < x->rank - 1; i++)
        g->pixels = dim_mul(&l->p->dims, g->pixels, x->dims[i]);
    g->width = 1, g->tile = even_tile(g->channels, CHANNELS);
    if (n->op == OP_group_norm) {
        int64_t groups = attr_int(&n->attrs, "num_groups", 1), together = 1;
        if (groups < 1 || g->channels % groups)
            return false;
        g->width = g->channels / groups;
        for (int64_t i = 1; i <= NARROW / g->width; i++)
            together = groups % i ? together : i;
        g->tile = g->width * together;
    }
    return true;
}

/* Pixels of the image by channels of the tile; pixels inside a loop are one part. */
static struct ap image(struct lowering *l, const struct norm_groups *g, struct value *v,
                       bool channels_outside)
{
    struct ap a = ap_slot(l->p, value_slot(l, v));
    ap_move(l->p, &a, g->var_n, dim_mul(&l->p->dims, g->pixels, g->channels));
    if (channels_outside) {
        ap_push_tile(l->p, &a, 1, g->tile, g->var_c, g->channels);
        ap_push(&a, g->channels, g->pixels);
        return a;
    }
    ap_push_tile(l->p, &a, g->channels, PIXELS, g->var_p, g->pixels);
    ap_push_tile(l->p, &a, 1, g->tile, g->var_c, g->channels);
    return a;
}

static struct ap channel_tile(struct kernel_builder *k, const struct norm_groups *g)
{
    struct ap a = ap_tile(k, kernel_tile(k, MEM_SBUF, DT_F32, 1, g->tile));
    a.dim[0] = a.dim[1], a.rank = 1;
    ap_clip(k->p, &a, 0, g->var_c, g->tile, g->channels);
    return a;
}

static struct ap channel_vector(struct lowering *l, const struct norm_groups *g, struct value *v)
{
    struct ap a = ap_slot(l->p, value_slot(l, v));
    ap_push_tile(l->p, &a, 1, g->tile, g->var_c, g->channels);
    return a;
}

static void reduce(struct kernel_builder *k, enum op op, struct ap dst, struct ap src,
                   bool accumulate)
{
    emit_tensor_reduce(k, (struct tensor_reduce){.dst = dst,
                                                 .src = src,
                                                 .axes = 1,
                                                 .accumulate = affine_number(accumulate),
                                                 .scale = 1,
                                                 .op = op});
}

/* Sums over pixels become means, of all channels of a group. */
static void mean(struct kernel_builder *k, const struct norm_groups *g, struct ap sums, struct ap count)
{
    if (g->width > 1) {
        struct ap each = ap_tile(k, kernel_tile(k, MEM_SBUF, DT_F32, 1, g->tile / g->width)), all = each, groups = sums;
        each.dim[0] = each.dim[1], each.rank = 1;
        all.dim[0] = each.dim[0], all.dim[1] = (struct ap_dim){.step = 0, .count = g->width};
        groups.rank = 2;
        groups.dim[0] = (struct ap_dim){.step = g->width, .count = g->tile / g->width};
        groups.dim[1] = (struct ap_dim){.step = 1, .count = g->width};
        reduce(k, OP_add, each, groups, false);
        emit_copy(k, groups, all);
    }
    emit_tensor_tensor(k, (struct tensor_tensor){.dst = sums, .a = sums, .b = count, .op = OP_div});
}

/* Pixels less their mean, of the part of the loop that is open. */
static struct ap centred(struct lowering *l, struct kernel_builder *k, const struct norm_groups *g,
                         const struct node *n, struct ap means)
{
    struct ap work = ap_tile(k, kernel_tile(k, MEM_SBUF, DT_F32, PIXELS, g->tile));
    ap_clip(l->p, &work, 0, g->var_p, PIXELS, g->pixels);
    ap_clip(l->p, &work, 1, g->var_c, g->tile, g->channels);
    emit_tensor_tensor(
        k, (struct tensor_tensor){.dst = work, .a = image(l, g, n->in[0], false), .b = means, .op = OP_sub});
    return work;
}

/* Mean and variance of the input; sums and squares become them. */
static void statistics(struct lowering *l, struct kernel_builder *k, struct norm_groups *g, const struct node *n,
                       struct ap sums, struct ap squares)
{
    struct dim_table *t = &l->p->dims;
    struct ap count = ap_tile(k, kernel_tile(k, MEM_SBUF, DT_F32, 1, 1));
    emit_iota(k,
              (struct iota){.dst = count,
                            .base = affine_number(dim_mul(t, g->pixels, g->width))});
    count.rank = 1;
    emit_memset(k, (struct memset){.dst = sums});
    reduce(k, OP_add, sums, image(l, g, n->in[0], true), true);
    mean(k, g, sums, count);
    emit_memset(k, (struct memset){.dst = squares});
    g->var_p = kernel_loop(k, dim_ceildiv(t, g->pixels, PIXELS));
    struct ap work = centred(l, k, g, n, sums);
    struct ap columns = work;
    columns.dim[0] = work.dim[1], columns.dim[1] = work.dim[0];
    reduce(k, OP_square, squares, columns, true);
    kernel_end_loop(k);
    mean(k, g, squares, count);
}

enum lowered lower_group_norm(struct lowering *l, struct node *n)
{
    struct norm_groups g = {0};
    if (n->op == OP_fused)
        return DECLINED;
    if (!examine(l, n, &g)) {
        why(l->o, n, "tile.group-norm",
            "only channels-last images with a known number of channels have a tile program; it "
            "runs on GpSimd");
        return DECLINED;
    }
    struct dim_table *t = &l->p->dims;
    struct kernel_builder k = begin_kernel(l, n, n->name);
    g.var_n = kernel_grid(&k, g.n), g.var_c = kernel_grid(&k, dim_ceildiv(t, g.channels, g.tile));
    struct ap sums = channel_tile(&k, &g), squares = channel_tile(&k, &g);
    statistics(l, &k, &g, n, sums, squares);
    emit_tensor_scalar(
        &k, (struct tensor_scalar){.dst = squares,
                                   .src = squares,
                                   .scalar0 = (float)attr_float(&n->attrs, "epsilon", 1e-5),
                                   .op0 = OP_add});
    emit_activation(
        &k, (struct activation){.dst = squares, .src = squares, .factor = 1, .f = OP_rsqrt});
    emit_tensor_tensor(
        &k, (struct tensor_tensor){
                .dst = squares, .a = squares, .b = channel_vector(l, &g, n->in[1]), .op = OP_mul});
    /* The mean is not part of the bias: where pixels deviate little from it, both would be large, and rounded. */
    g.var_p = kernel_loop(&k, dim_ceildiv(t, g.pixels, PIXELS));
    emit_activation(&k, (struct activation){.dst = image(l, &g, n->out[0], false),
                                            .src = centred(l, &k, &g, n, sums),
                                            .scale = squares,
                                            .bias = channel_vector(l, &g, n->in[2]),
                                            .factor = 1});
    kernel_end_loop(&k);
    kernel_of(&k)->flops = dim_mul(t, type_count(t, &n->out[0]->type), 8);
    kernel_of(&k)->bytes = dim_mul(t, type_count(t, &n->out[0]->type), 16);
    return LOWERED;
}
