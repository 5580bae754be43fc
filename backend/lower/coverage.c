#include "backend/lower/coverage.h"

#include "backend/lower/attention.h"
#include "backend/lower/plan.h"
#include "backend/lower/product.h"
#include "backend/lower/quantized.h"
#include "backend/lower/strict.h"
#include "backend/lower/strict_matmul.h"
#include "backend/lower/strided.h"
#include "passes/ir/winograd.h"

enum { PRODUCT_BATCH = 2, ATTENTION_BATCH = 3 }; /* dims of a batch that are not 1 */
enum { ATTENTION_WIDTH = 1 << 14 }; /* of a head: a tile has whole rows of it */

bool strided_broadcast(struct lowering *l, const struct strided *s, int skip_last, int rank,
                       const dim_t *dims, dim_t *steps)
{
    return broadcast_laid(&l->p->dims, s->rank - skip_last, s->dims, s->steps, rank, dims, steps);
}

static bool computed_product(struct lowering *l, const struct node *n)
{
    struct value *a = outer_value(l, n->in[0]), *b = outer_value(l, n->in[1]);
    const struct type *x = &a->type, *w = &b->type, *y = &n->out[0]->type;
    if (touches_nothing(n) || !has_layout(l, a) || !has_layout(l, b) || !has_layout(l, n->out[0]) ||
        x->rank < 2 || w->rank < 2 || !dtype_is_engine_float(x->dtype) || !dtype_is_engine_float(w->dtype) ||
        !dtype_is_engine_float(y->dtype))
        return false;
    if (b->constant && w->rank == 2 && !attr_int(&n->attrs, "trans_a", 0))
        return false; /* packed when compiling */
    bool ta = attr_int(&n->attrs, "trans_a", 0), tb = attr_int(&n->attrs, "trans_b", 0);
    dim_t k = x->dims[x->rank - (ta ? 2 : 1)], other = w->dims[w->rank - (tb ? 1 : 2)];
    if (k != other && dim_is_const(k) && dim_is_const(other))
        return false; /* expressions are compared when the instruction's shapes are bound */
    int batch = 0;
    for (int i = 0; i < y->rank - 2; i++) {
        const struct type *operands[] = {x, w};
        batch += y->dims[i] != 1;
        for (int o = 0; o < 2; o++) {
            int at = i - (y->rank - operands[o]->rank);
            dim_t step;
            if (at >= 0 &&
                !broadcast_step(&l->p->dims, operands[o]->dims[at], y->dims[i], 1, &step))
                return false;
        }
    }
    return batch <= PRODUCT_BATCH;
}

/* A product of two computed operands, with what follows it. */
static bool product_takes(struct lowering *l, const struct group *g)
{
    return computed_product(l, g->nodes[0]) && (g->n == 1 || epilogue_possible(l, g, 0));
}

/* Rows by a constant matrix. */
static bool examine_product(struct lowering *l, const struct node *n, struct product *p)
{
    struct value *w = outer_value(l, n->in[1]);
    p->bias = -1;
    p->x = outer_value(l, n->in[0]);
    const struct type *x = &p->x->type, *y = &n->out[0]->type;
    if (!w->constant || w->constant->rank != 2 || x->rank < 2 || !has_layout(l, p->x) ||
        y->dtype != sum_type(x->dtype)) {
        why(l->o, n, "tile.matmul-operands", "not a product of float rows by a constant matrix");
        return false;
    }
    if (!product_types(p->x, w->constant->dtype) || attr_int(&n->attrs, "trans_a", 0) ||
        attr_float(&n->attrs, "alpha", 1) != 1) {
        why(l->o, n, "tile.matmul-form",
            "operand types or a transposed left operand have no tile program");
        return false;
    }
    bool trans_b = attr_int(&n->attrs, "trans_b", 0);
    p->w = w;
    p->k = w->constant->dims[trans_b ? 1 : 0];
    p->out_channels = w->constant->dims[trans_b ? 0 : 1];
    p->steps = (struct pack_source){NULL, 0, trans_b ? 1 : p->out_channels, trans_b ? p->k : 1};
    p->rows = 1;
    for (int i = 0; i < x->rank - 1; i++)
        p->rows = dim_mul(&l->p->dims, p->rows, x->dims[i]);
    return x->dims[x->rank - 1] == p->k && p->k > 0 && p->out_channels > 0;
}

/* Rows by a constant matrix, with what follows; NULL, and why(): not so. */
static const struct product *constant_product_takes(struct lowering *l, const struct group *g)
{
    const struct node *n = g->nodes[0];
    struct product p = {0};
    if ((n->op == OP_matmul_integer && !integer_operands(l, n)) || !examine_product(l, n, &p) ||
        !epilogue_possible(l, g, n->out[0]->type.rank - 2))
        return NULL;
    if (sum_type(p.x->type.dtype) == DT_I32)
        p.quantized = quantized_of(l, g, p.out_channels);
    return arena_copy(&l->p->arena, &p, sizeof p);
}

const void *plan_matmul(struct lowering *l, const struct group *g)
{
    if (l->m->strict)
        return strict_matmul_takes(l, g);
    return product_takes(l, g) ? ARENA_NEW(&l->p->arena, struct product) : constant_product_takes(l, g);
}

const void *plan_integer_matmul(struct lowering *l, const struct group *g)
{
    return constant_product_takes(l, g);
}

struct strided strided_shape(const struct value *v)
{
    struct strided s = {.rank = v->type.rank};
    for (int i = 0; i < s.rank; i++)
        s.dims[i] = v->type.dims[i];
    return s;
}

static bool attention_takes(struct lowering *l, const struct node *n)
{
    const struct type *y = &n->out[0]->type;
    dim_t steps[MAX_RANK], scores[MAX_RANK];
    if (touches_nothing(n) || !has_layout(l, n->out[0]) || !dtype_is_engine_float(y->dtype))
        return false;
    int nbatch = y->rank - 2, several = 0;
    for (int i = 0; i < nbatch; i++)
        several += y->dims[i] != 1;
    if (several > ATTENTION_BATCH)
        return false;
    const struct type *x = &n->in[0]->type;
    if (!attr_find(&n->attrs, "scale") && (x->rank < 1 || !dim_is_const(x->dims[x->rank - 1])))
        return false; /* 1 / sqrt(width) is a number in the program */
    for (int i = 0; i < n->nin && n->in[i]; i++) {
        struct value *v = outer_value(l, n->in[i]);
        if (!has_layout(l, v) || !dtype_is_engine_float(v->type.dtype))
            return false;
        struct strided s = strided_shape(v);
        if (i < 3 && (s.rank < 2 || !strided_broadcast(l, &s, 2, nbatch, y->dims, steps)))
            return false;
    }
    struct strided q = strided_shape(outer_value(l, n->in[0])),
                   k = strided_shape(outer_value(l, n->in[1])),
                   v = strided_shape(outer_value(l, n->in[2]));
    dim_t width = q.dims[q.rank - 1], value_width = v.dims[v.rank - 1];
    if ((dim_is_const(width) && width > ATTENTION_WIDTH) ||
        (dim_is_const(value_width) && value_width > ATTENTION_WIDTH))
        return false;
    if (l->m->strict && !(dim_is_const(width) && width <= l->m->matmul_k &&
                          dim_is_const(value_width) && value_width <= l->m->matmul_n))
        return false; /* heads are wider than the Tensor engine */
    if (q.dims[q.rank - 1] != k.dims[k.rank - 1] || k.dims[k.rank - 2] != v.dims[v.rank - 2] ||
        k.dims[k.rank - 2] == 0 || q.dims[q.rank - 1] == 0)
        return false;
    if (n->nin > 3 && n->in[3]) {
        struct strided mask = strided_shape(outer_value(l, n->in[3]));
        for (int i = 0; i < nbatch; i++)
            scores[i] = y->dims[i];
        scores[nbatch] = q.dims[q.rank - 2], scores[nbatch + 1] = k.dims[k.rank - 2];
        return strided_broadcast(l, &mask, 0, nbatch + 2, scores, steps);
    }
    return true;
}

static bool attention_is_row(struct lowering *l, const struct node *n)
{
    const struct type *y = &n->out[0]->type;
    if (l->m->strict || y->rank < 2 || y->dims[y->rank - 2] != 1)
        return false;
    for (int i = 0; i < 3; i++)
        if (outer_value(l, n->in[i])->type.dtype != DT_F32)
            return false;
    return true;
}

const void *plan_attention_tiles(struct lowering *l, const struct group *g)
{
    const struct node *n = g->nodes[0];
    if (g->whole->op == OP_fused)
        return NULL;
    if (!attention_takes(l, n)) {
        why(l->o, n, "tile.attention",
            "operand types, or shapes that are not proven to fit, have no tile program; it runs on "
            "GpSimd");
        return NULL;
    }
    struct attention_plan *p = ARENA_NEW(&l->p->arena, struct attention_plan);
    p->one_row = attention_is_row(l, n);
    return p;
}

/* ---- convolutions ---- */

/* Whether the Tensor engine, or for depthwise ones the Vector engine, multiplies these types. */
static bool conv_types(const struct conv *c, bool integer)
{
    int type = c->weights->type.dtype;
    int64_t per_group = c->out_channels / c->group;
    bool depthwise = c->group > 1 && c->group == c->channels_in && per_group == 1;
    if (depthwise && !integer)
        return depthwise_types(c);
    return product_types(c->x, type) && (c->group == 1 || per_group <= PACK_COLUMNS) &&
           (c->w || pack_computed_possible(type, c->in_group));
}

static enum conv_rule conv_rule(struct lowering *l, const struct group *g, struct conv_plan *p)
{
    const struct node *n = g->nodes[0];
    const struct conv *c = &p->c;
    bool integer = n->op == OP_conv_integer;
    if (!c->last)
        return CONV_PLANES;
    if (c->group > 1 && c->group == c->channels_in && c->out_channels == c->group)
        return integer ? CONV_DEPTHWISE_INTEGER : CONV_DEPTHWISE;
    if (c->kh == 1 && c->kw == 1 && c->sh == 1 && c->sw == 1 && c->group == 1 &&
        !(c->top | c->left | c->bottom | c->right) && epilogue_possible(l, g, n->out[0]->type.rank - 2))
        return CONV_POINTWISE;
    return winograd_pays(l, n, p) ? CONV_WINOGRAD : CONV_DIRECT;
}

/* What of the epilogue the product's own instruction does. */
static void decide_epilogue(struct lowering *l, const struct group *g, struct conv_plan *p)
{
    const struct conv *c = &p->c;
    bool integer = g->nodes[0]->op == OP_conv_integer;
    if (p->rule == CONV_PLANES)
        p->tail = planes_tail(l, g, c->out_channels);
    else if (p->rule == CONV_DEPTHWISE)
        p->tail = depthwise_tail(l, g, c->channels_in);
    else if (p->rule == CONV_WINOGRAD)
        p->tail = winograd_tail(l, g, c->out_channels);
    else if (integer && (p->rule == CONV_DEPTHWISE_INTEGER || c->kh * c->kw <= QUANTIZED_TAPS))
        p->quantized = quantized_of(l, g, c->out_channels);
    if (p->rule == CONV_DEPTHWISE_INTEGER && p->quantized && p->quantized->other)
        p->quantized = NULL;
}

static const struct conv_plan *conv_takes(struct lowering *l, const struct group *g)
{
    struct node *first = g->nodes[0];
    struct conv_plan p = {0};
    bool integer = first->op == OP_conv_integer;
    if (!conv_geometry(l, first, &p.c) || !(p.c.last || (!integer && planes_possible(&p.c))) ||
        first->out[0]->type.dtype != (integer ? DT_I32 : DT_F32) || !epilogue_possible(l, g, 0)) {
        why(l->o, first, "tile.conv-form",
            "only 1-D and 2-D convolutions with weights of a known shape, channels last or with few channels, that do "
            "not crop have a tile program");
        return NULL;
    }
    if (p.c.last && !conv_types(&p.c, integer)) {
        why(l->o, first, "tile.conv-types",
            "operand types, or more than 64 outputs in each of several groups");
        return NULL;
    }
    p.rule = conv_rule(l, g, &p);
    if (p.rule == CONV_DEPTHWISE_INTEGER && !depthwise_integer_window(&p.c)) {
        why(l->o, first, "tile.conv-window", "a window too large for the Vector engine");
        return NULL;
    }
    decide_epilogue(l, g, &p);
    return arena_copy(&l->p->arena, &p, sizeof p);
}

const void *plan_conv(struct lowering *l, const struct group *g)
{
    return l->m->strict ? strict_conv_takes(l, g) : conv_takes(l, g);
}

const void *plan_integer_conv(struct lowering *l, const struct group *g)
{
    return integer_operands(l, g->nodes[0]) ? conv_takes(l, g) : NULL;
}

/* What a value in a fused group stands for. */
static const struct value *outside(const struct node *whole, const struct value *v)
{
    for (int i = 0; whole->op == OP_fused && i < whole->regions[0]->nparams; i++)
        if (whole->regions[0]->params[i] == v)
            return whole->in[i];
    return v;
}

bool pads_planes(const struct node *whole, const struct node *n, const struct conv_plan *p)
{
    const struct conv *c = &p->c;
    const struct node *def = outside(whole, n->in[0])->def;
    struct conv_size size;
    int count;
    if (!def || def->op != OP_transpose || c->spatial != 2 || c->column || p->rule == CONV_DEPTHWISE || !c->w ||
        !(c->top | c->left | c->bottom | c->right) || winograd_can(n, &size))
        return false;
    const int64_t *perm = attr_ints(&def->attrs, "perm", &count);
    return count == 4 && perm[0] == 0 && perm[1] == 2 && perm[2] == 3 && perm[3] == 1;
}
