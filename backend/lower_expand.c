/*
 * A 1x1 convolution and the depthwise convolution that alone reads it, the head of an inverted
 * residual block, as one kernel: what lies between them is the largest tensor of such a network and
 * need not leave the cache.
 *
 * An instance makes `rows` rows of output pixels for a block of channels. The Tensor engine fills a
 * tile with the rows of the image that they need, bias and activation applied; the Vector engine
 * reads it row by row. Rows that two neighbouring strips need are computed by both: a strip is high
 * enough that these are few. Above and below the image the tile is zero.
 */
#include "backend/conv.h"
#include "backend/product.h"
#include "backend/tail.h"

#include <string.h>

enum {
    STRIP_BYTES = 400 << 10,   /* of the tile: in the second level of cache */
    WORTH_BYTES = 1 << 20,     /* of the tensor between them; smaller ones stay there anyway */
    LEAST_PIXELS = 24,         /* in a tile of the product */
    MOST_REPEATED = 6,         /* at most one row in so many is computed twice */
    LEAST_BLOCK = 2 * PACK_ALIGN_OUTS,
};

struct expansion {
    struct group first, second;
    struct conv expand, depthwise;
    struct tail bias_of_first, bias_of_second;
    int64_t height, width, out_height;
    int64_t block;        /* channels */
    int64_t rows, strips; /* output rows of a strip */
    int64_t high;         /* rows of the tile */
    int64_t below;        /* of these, below the image in the last strip */
};

/* The largest divisor of n up to `most`. */
static int64_t divisor(int64_t n, int64_t most)
{
    int64_t d = n < most ? n : most;
    while (n % d)
        d--;
    return d;
}

static int64_t channel_block(int64_t channels)
{
    int64_t b = PACK_OUTS;
    while (b >= LEAST_BLOCK && channels % b)
        b -= PACK_ALIGN_OUTS;
    return b;
}

/* The highest strips that fit and are all of one height. */
static bool cut(struct expansion *e)
{
    const struct conv *c = &e->depthwise;
    int64_t row = e->width * e->block * (int64_t)sizeof(float);
    e->rows = 0;
    for (int64_t r = 1; r <= e->out_height; r++)
        if (e->out_height % r == 0 && ((r - 1) * c->sh + c->kh) * row <= STRIP_BYTES)
            e->rows = r;
    if (!e->rows)
        return false;
    e->high = (e->rows - 1) * c->sh + c->kh;
    e->strips = e->out_height / e->rows;
    int64_t last = (e->out_height - e->rows) * c->sh - c->top; /* first row of the last strip */
    e->below = last + e->high > e->height ? last + e->high - e->height : 0;
    int64_t repeated = c->kh > c->sh ? c->kh - c->sh : 0;
    return e->high > c->top + e->below &&
           (e->strips == 1 || repeated * MOST_REPEATED <= e->rows * c->sh) &&
           divisor((e->high - c->top - e->below) * e->width, ROW_TILE) >= LEAST_PIXELS;
}

static bool is_pointwise(const struct conv *c)
{
    return c->kh == 1 && c->kw == 1 && c->sh == 1 && c->sw == 1 && c->group == 1 && c->w &&
           !(c->top | c->left | c->bottom | c->right) && !c->column;
}

/* The node that alone reads the result, as a convolution's image. */
static struct node *only_reader(struct lowering *l, const struct value *v)
{
    struct node *n = value_only_user(v);
    if (!n || l->is_output[v->id] || n->parent != v->def->parent)
        return NULL;
    if (n->op == OP_conv)
        return v->uses->index == 0 ? n : NULL;
    if (n->op != OP_fused)
        return NULL;
    struct value *inside = n->regions[0]->params[v->uses->index];
    const struct node *first = n->regions[0]->first;
    if (value_only_user(inside) != first || first->op != OP_conv || inside->uses->index != 0)
        return NULL;
    for (int i = 0; i < n->regions[0]->nparams; i++)
        l->alias[n->regions[0]->params[i]->id] = n->in[i];
    return n;
}

static bool examine(struct lowering *l, struct node *expand, struct expansion *e)
{
    struct node *reader = expand->nout == 1 ? only_reader(l, expand->out[0]) : NULL;
    if (!reader || l->m->strict || l->o->opt_level < 2 || touches_nothing(expand))
        return false;
    e->first = group_of(l, expand), e->second = group_of(l, reader);
    if (e->first.nodes[0]->op != OP_conv || !conv_takes(l, &e->first, &e->expand) ||
        !is_pointwise(&e->expand) || !conv_takes(l, &e->second, &e->depthwise) ||
        !e->depthwise.depthwise || !e->depthwise.w)
        return false;
    const struct conv *c = &e->depthwise;
    if (c->x->type.dtype != DT_F32 || c->spatial != 2 || c->column || c->dh != 1 || c->dw != 1 ||
        !dim_is_const(c->h) || !dim_is_const(c->width) || !dim_is_const(c->oh) || c->top >= c->kh)
        return false;
    e->height = c->h, e->width = c->width, e->out_height = c->oh;
    e->block = channel_block(c->channels_in);
    if (e->block < LEAST_BLOCK || e->height * e->width * c->channels_in * 4 < WORTH_BYTES)
        return false;
    e->bias_of_first = tail_of(l, &e->first, e->expand.outs);
    e->bias_of_second = tail_of(l, &e->second, c->channels_in);
    tail_rounds(&e->second, &e->bias_of_second);
    return e->bias_of_first.taken == e->first.n && e->bias_of_second.taken == e->second.n &&
           cut(e);
}

bool expands_in_place(struct lowering *l, const struct group *g)
{
    struct expansion e = {0};
    if (!examine(l, g->whole, &e))
        return false;
    why(l->o, g->nodes[0], "tile.expand",
        "computed with the depthwise convolution that reads it, for %lld rows of its result at a "
        "time",
        (long long)e.rows);
    return true;
}

/* ---- the kernel ---- */

struct emitter {
    struct kernel_builder k;
    const struct expansion *e;
    struct packed_weights w;
    int var_n, var_strip, var_block;
    int tile, psum; /* the image; sums of pixels */
};

/* In which strips something is done. */
enum strips { ALL, NOT_FIRST, NOT_LAST, ONLY_FIRST, ONLY_LAST };

/* Cuts a count to nothing in the other strips. */
static void only_in(const struct emitter *m, struct ap *a, int dim, enum strips which)
{
    int64_t n = a->dim[dim].count, strips = m->e->strips;
    if (which == NOT_FIRST)
        ap_clip(a, dim, m->var_strip, -n, 0);
    else if (which == NOT_LAST)
        ap_clip(a, dim, m->var_strip, n, n * (strips - 1));
    else if (which == ONLY_FIRST)
        ap_clip(a, dim, m->var_strip, n, n);
    else if (which == ONLY_LAST)
        ap_clip(a, dim, m->var_strip, -n, n * (2 - strips));
}

static void clear_rows(struct emitter *m, int64_t first, int64_t rows, enum strips which)
{
    if (!rows)
        return;
    int64_t row = m->e->width * m->e->block;
    struct ap a = {.mem = MEM_SBUF, .dtype = DT_F32, .tensor = m->tile};
    a.offset.base = first * row;
    ap_push(&a, 1, rows * row);
    only_in(m, &a, 0, which);
    emit_memset(&m->k, a, 0);
}

/* Rows [first, first + rows) of the tile: the product, its bias and activation. */
static void expand_rows(struct emitter *m, int64_t first, int64_t rows, enum strips which)
{
    const struct expansion *e = m->e;
    const struct conv *c = &e->expand;
    struct lowering *l = m->k.l;
    if (!rows || (e->strips == 1 && which == NOT_FIRST) || (e->strips == 1 && which == NOT_LAST))
        return;
    int64_t pixels = divisor(rows * e->width, ROW_TILE), k = c->channels_in;
    int64_t step = e->rows * e->depthwise.sh, top = e->depthwise.top;
    int var = kernel_loop(&m->k, rows * e->width / pixels);

    struct ap moving = ap_slot(l, value_slot(l, c->x));
    ap_move(l, &moving, m->var_n, e->height * e->width * k);
    ap_move(l, &moving, m->var_strip, step * e->width * k);
    ap_move(l, &moving, var, pixels * k);
    moving.offset.base = (first - top) * e->width * k;
    ap_push(&moving, k, pixels), ap_push(&moving, 1, k);
    struct ap stationary = ap_slot(l, m->w.slot);
    ap_move(l, &stationary, m->var_block, m->w.group_step);
    ap_push(&stationary, m->w.pitch, k), ap_push(&stationary, 1, e->block);
    struct ap sums = {.mem = MEM_PSUM, .dtype = DT_F32, .tensor = m->psum};
    ap_push(&sums, e->block, pixels), ap_push(&sums, 1, e->block);
    struct ap image = {.mem = MEM_SBUF, .dtype = DT_F32, .tensor = m->tile};
    image.offset.base = first * e->width * e->block;
    ap_move(l, &image, var, pixels * e->block);
    ap_push(&image, e->block, pixels), ap_push(&image, 1, e->block);
    struct ap bias = ap_absent();
    if (e->bias_of_first.bias) {
        bias = ap_slot(l, value_slot(l, e->bias_of_first.bias));
        ap_move(l, &bias, m->var_block, e->block);
        ap_push(&bias, 0, pixels), ap_push(&bias, 1, e->block);
        only_in(m, &bias, 0, which);
    }
    only_in(m, &moving, 0, which), only_in(m, &sums, 0, which), only_in(m, &image, 0, which);

    struct insn *i = kernel_insn(&m->k, INSN_nc_matmul);
    i->ap[0] = sums, i->ap[1] = stationary, i->ap[2] = moving;
    i->imm[1].base = 1;
    emit_activation(&m->k, e->bias_of_first.f, image, sums, bias, 1, e->bias_of_first.a,
                    e->bias_of_first.b);
    kernel_end_loop(&m->k);
}

static void convolve_rows(struct emitter *m)
{
    struct expansion e = *m->e;
    const struct conv *c = &e.depthwise;
    struct lowering *l = m->k.l;
    struct conv_walk walk = {m->var_n, m->var_strip, -1, m->var_block, e.rows, c->ow, e.block};
    struct epilogue out = conv_epilogue(&m->k, &e.second, c, &walk);
    int w = depthwise_weights(l, e.second.nodes[0], c, e.block);
    int var = kernel_loop(&m->k, e.rows);
    struct ap dst = epilogue_pattern(&out, e.second.nodes[e.second.n - 1]->out[0]);
    ap_move(l, &dst, var, dst.dim[0].step);
    dst.dim[0] = dst.dim[1], dst.dim[1] = dst.dim[2], dst.rank = 2;
    dst.dim[1].var = -1; /* blocks divide the channels */
    struct ap image = {.mem = MEM_SBUF, .dtype = DT_F32, .tensor = m->tile};
    ap_push(&image, e.width * e.block, e.high), ap_push(&image, e.block, e.width);
    ap_push(&image, 1, e.block);
    struct ap weights = ap_slot(l, w), bias = ap_absent();
    ap_move(l, &weights, m->var_block, c->kh * c->kw * e.block);
    ap_push(&weights, c->kw * e.block, c->kh), ap_push(&weights, e.block, c->kw);
    ap_push(&weights, 1, e.block);
    if (e.bias_of_second.bias) {
        bias = ap_slot(l, value_slot(l, e.bias_of_second.bias));
        ap_move(l, &bias, m->var_block, e.block);
        ap_push(&bias, 1, e.block);
    }
    struct insn *i = kernel_insn(&m->k, INSN_depthwise_conv);
    i->ap[0] = dst, i->ap[1] = image, i->ap[2] = weights, i->ap[3] = bias;
    i->imm[0].coef[var] = 1;
    const int64_t geometry[] = {c->sh, c->sw, 1, 1, 0, c->left};
    for (int j = 0; j < 6; j++)
        i->imm[1 + j].base = geometry[j];
    i->func[0] = e.bias_of_second.f;
    i->flt[0] = e.bias_of_second.a, i->flt[1] = e.bias_of_second.b;
    kernel_end_loop(&m->k);
}

static void report(struct emitter *m, const struct packed_weights *w)
{
    const struct conv *a = &m->e->expand, *b = &m->e->depthwise;
    struct dim_table *t = &m->k.l->p->dims;
    dim_t in = dim_mul(t, a->n, m->e->height * m->e->width);
    dim_t out = dim_mul(t, b->n, dim_mul(t, b->oh, b->ow));
    kernel_of(&m->k)->flops =
        dim_add(t, dim_mul(t, in, 2 * a->channels_in * a->outs),
                dim_mul(t, out, 2 * b->kh * b->kw * b->channels_in));
    kernel_of(&m->k)->bytes = dim_add(t,
                                      dim_add(t, dim_mul(t, in, 4 * a->channels_in),
                                              dim_mul(t, out, 4 * b->channels_in)),
                                      (dim_t)pack_size(&w->shape));
}

enum lowered emit_expanded(struct lowering *l, const struct conv *depthwise)
{
    struct expansion e = {0};
    struct node *expand = depthwise->x->def;
    if (!expand || !examine(l, expand, &e))
        return DECLINED;
    struct node *first = e.first.nodes[0], *second = e.second.nodes[0];
    const struct conv *c = &e.expand;
    struct pack_source from = {NULL, e.block * c->channels_in, 1, c->channels_in};
    struct emitter m = {.e = &e};
    m.w = pack_constant(l, c->w, c->outs / e.block, c->channels_in, e.block, &from,
                        c->weights->name);
    release_weights(l, first->in[1]);
    m.k = kernel_begin(l, second, second->name);
    m.var_n = kernel_grid(&m.k, c->n), m.var_strip = kernel_grid(&m.k, e.strips);
    m.var_block = kernel_grid(&m.k, c->outs / e.block);
    m.tile = kernel_tile(&m.k, MEM_SBUF, DT_F32, e.high, e.width * e.block);
    m.psum = kernel_tile(&m.k, MEM_PSUM, DT_F32, ROW_TILE, e.block);
    int64_t top = e.depthwise.top;
    m.k.node = program_node_of(l, first);
    expand_rows(&m, 0, top, NOT_FIRST);
    expand_rows(&m, top, e.high - top - e.below, ALL);
    expand_rows(&m, e.high - e.below, e.below, NOT_LAST);
    clear_rows(&m, 0, top, ONLY_FIRST);
    clear_rows(&m, e.high - e.below, e.below, ONLY_LAST);
    m.k.node = program_node_of(l, second);
    convolve_rows(&m);
    report(&m, &m.w);
    return LOWERED;
}
