#include "backend/lower/quantized.h"

#include "backend/lower/product.h"

#include <math.h>
#include <string.h>

enum { MAX_ROUNDED = 1 << 30 }; /* what the kernels round */

/* ---- the nodes, one after the other ---- */

struct epilogue_walk {
    struct lowering *l;
    const struct group *g;
    struct value *v; /* the running value */
    int at;          /* nodes taken */
};

/* The only user of the running value, when that is the group's next node, of this operator. */
static struct node *next(const struct epilogue_walk *w, enum op op)
{
    struct node *n = w->at < w->g->n ? w->g->nodes[w->at] : NULL;
    bool uses = n && n->op == op && (n->in[0] == w->v || (n->nin > 1 && n->in[1] == w->v)) &&
                group_single_use(w->g, w->v);
    return uses ? n : NULL;
}

static void take(struct epilogue_walk *w, struct node *n)
{
    w->v = n->out[0];
    w->at++;
}

static bool cast_to_float(struct epilogue_walk *w)
{
    struct node *n = next(w, OP_cast);
    if (!n || n->out[0]->type.dtype != DT_F32)
        return false;
    take(w, n);
    return true;
}

/* A constant f32 operand beside the running value: one number, or one for every out. */
static const struct tensor *beside(const struct epilogue_walk *w, const struct node *n, int64_t out_channels)
{
    struct value *c = outer_value(w->l, n->in[n->in[0] == w->v]);
    const struct tensor *t = c ? c->constant : NULL;
    if (!t || c->type.dtype != DT_F32)
        return NULL;
    int64_t count = tensor_count(t);
    bool channels = count == out_channels && t->rank > 0 && t->dims[t->rank - 1] == out_channels;
    return count == 1 || channels ? t : NULL;
}

static float number_of(const struct tensor *t, int64_t i)
{
    return (float)tensor_f64(t, tensor_count(t) == 1 ? 0 : i);
}

static bool scalar(const struct epilogue_walk *w, struct value *v, double *out)
{
    v = outer_value(w->l, v);
    if (!v || !v->constant || tensor_count(v->constant) != 1)
        return false;
    *out = tensor_f64(v->constant, 0);
    return true;
}

/* Rounds, and adds a zero point: the scale is part of what it rounds. */
static bool rounding(struct epilogue_walk *w, int *zero, bool *is_signed)
{
    struct node *n = next(w, OP_quantize_linear);
    double scale, z = 0;
    int to = n ? n->out[0]->type.dtype : 0;
    if (!n || (to != DT_U8 && to != DT_I8) || !scalar(w, n->in[1], &scale) || scale != 1 ||
        (n->nin > 2 && n->in[2] && !scalar(w, n->in[2], &z)) || attr_find(&n->attrs, "precision"))
        return false;
    *zero = (int)z;
    *is_signed = to == DT_I8;
    take(w, n);
    return true;
}

/* factor * running value of 8 bits, as f32. */
static bool scaled(struct epilogue_walk *w, float *factor)
{
    struct node *n;
    const struct tensor *t;
    *factor = 1;
    if (!cast_to_float(w))
        return false;
    n = next(w, OP_mul);
    t = n ? beside(w, n, 1) : NULL;
    if (t && tensor_count(t) == 1) {
        *factor = number_of(t, 0);
        take(w, n);
    }
    return true;
}

/* The same with a constant added. */
static bool scaled_and_shifted(struct epilogue_walk *w, float *factor, float *offset)
{
    if (!scaled(w, factor))
        return false;
    struct node *n = next(w, OP_add);
    const struct tensor *t = n ? beside(w, n, 1) : NULL;
    *offset = -0.0f;
    if (t && tensor_count(t) == 1) {
        *offset = number_of(t, 0);
        take(w, n);
    }
    return true;
}

static bool starts_other(const struct epilogue_walk *w)
{
    const struct node *n = w->at < w->g->n ? w->g->nodes[w->at] : NULL;
    return n && n->op == OP_cast && !group_def(w->g, n->in[0]);
}

static bool is_other(struct lowering *l, const struct group *g, struct value *v)
{
    const struct type *x = &v->type, *y = &g->nodes[0]->out[0]->type;
    v = outer_value(l, v);
    return !v->constant && (x->dtype == DT_U8 || x->dtype == DT_I8) && x->rank == y->rank &&
           memcmp(x->dims, y->dims, sizeof *x->dims * (size_t)x->rank) == 0;
}

/* The other operand's nodes, outside or inside the sum: x * factor + offset. */
static bool other_branch(struct epilogue_walk *w, struct quantized *q, bool shifted)
{
    struct value *running = w->v;
    if (!starts_other(w))
        return false;
    q->other = w->g->nodes[w->at]->in[0];
    struct epilogue_walk branch = *w;
    branch.v = q->other;
    struct node *first = w->g->nodes[w->at];
    if (first->out[0]->type.dtype != DT_F32 || !is_other(w->l, w->g, q->other))
        return false;
    branch.v = first->out[0];
    branch.at++;
    struct node *n = next(&branch, OP_mul);
    const struct tensor *t = n ? beside(&branch, n, 1) : NULL;
    q->other_factor = 1;
    if (t && tensor_count(t) == 1) {
        q->other_factor = number_of(t, 0);
        take(&branch, n);
    }
    n = shifted ? next(&branch, OP_add) : NULL;
    t = n ? beside(&branch, n, 1) : NULL;
    if (t && tensor_count(t) == 1) {
        q->offset = number_of(t, 0);
        take(&branch, n);
    }
    n = branch.at < w->g->n ? w->g->nodes[branch.at] : NULL;
    bool joins = n && n->op == OP_add && group_single_use(w->g, running) &&
                 group_single_use(w->g, branch.v) &&
                 ((n->in[0] == running && n->in[1] == branch.v) ||
                  (n->in[1] == running && n->in[0] == branch.v));
    if (!joins)
        return false;
    *w = branch;
    take(w, n);
    return true;
}

/* Which of two products an addition without a constant rounds last; -1: it has none to round. */
static bool joined(struct epilogue_walk *w, struct quantized *q)
{
    struct epilogue_walk start = *w;
    q->offset = -0.0f;
    /* other + (x + offset): what is absorbed first is the outer product */
    if (scaled_and_shifted(w, &q->factor, &q->offset) && q->offset != 0 &&
        other_branch(w, q, false)) {
        q->other_first = true;
        return true;
    }
    *w = start;
    q->offset = -0.0f;
    q->other_first = false;
    return scaled(w, &q->factor) && other_branch(w, q, true) && q->offset != 0;
}

/* ---- bounds ---- */

static bool joined_in_range(const struct quantized *q)
{
    double max = 255 * (fabs((double)q->factor) + fabs((double)q->other_factor)) +
                  fabs((double)q->offset);
    return max < MAX_ROUNDED;
}

static float shift_of(const struct quantized *q, int64_t i)
{
    return q->shift ? number_of(q->shift, i) : -0.0f;
}

/* No sum leads out of what is rounded. */
static bool sums_in_range(const struct quantized *q)
{
    for (int64_t i = 0; i < q->out_channels; i++) {
        double max = 2147483648.0 * fabs((double)number_of(q->scale, i)) + fabs((double)shift_of(q, i));
        if (!(max < MAX_ROUNDED))
            return false;
    }
    return true;
}

/* ---- the whole ---- */

/* Scale and shift of the sums, and what is rounded from them: the whole group, or false. */
static bool match(struct epilogue_walk *w, int64_t out_channels, struct quantized *q)
{
    bool is_signed;
    if (!cast_to_float(w))
        return false;
    struct node *n = next(w, OP_mul);
    q->scale = n ? beside(w, n, out_channels) : NULL;
    if (!q->scale)
        return false;
    take(w, n);
    n = next(w, OP_add);
    if (n) {
        q->shift = beside(w, n, out_channels);
        if (!q->shift)
            return false;
        take(w, n);
    }
    if (!rounding(w, &q->zero, &is_signed))
        return false;
    if (w->at < w->g->n) {
        q->sum_zero = q->zero, q->sum_signed = is_signed;
        if (!joined(w, q) || !joined_in_range(q) || !rounding(w, &q->zero, &is_signed))
            return false;
    }
    return w->at == w->g->n && w->g->results[0] == w->v;
}

const struct quantized *quantized_of(struct lowering *l, const struct group *g, int64_t out_channels)
{
    struct epilogue_walk w = {l, g, g->nodes[0]->out[0], 1};
    struct quantized q = {.out_channels = out_channels};
    bool matches = g->nresults == 1 && !bias_is_computed(l, g->nodes[0]) && match(&w, out_channels, &q) &&
                   sums_in_range(&q);
    return matches ? arena_copy(&l->p->arena, &q, sizeof q) : NULL;
}

int quantized_terms(struct lowering *l, const struct quantized *q, int bias)
{
    const struct slot *start = bias >= 0 ? &l->p->slots[bias] : NULL;
    int64_t n = q->out_channels, dims[2] = {3, n};
    int32_t *terms = arena_alloc(&l->g->arena, sizeof *terms * (size_t)(3 * n));
    float *scales = (float *)(terms + n), *shifts = (float *)(terms + 2 * n);
    for (int64_t i = 0; i < n; i++) {
        terms[i] = start ? (int32_t)tensor_i64(&start->data, i) : 0;
        scales[i] = number_of(q->scale, i);
        shifts[i] = shift_of(q, i);
    }
    struct tensor t = tensor_view(DT_I32, 2, dims, terms);
    return constant_slot(l, &t, "terms");
}

struct ap ap_in_bands(struct ap a)
{
    if (a.rank == 2) {
        memmove(a.dim + 1, a.dim, sizeof *a.dim * 2);
        a.dim[0] = (struct ap_dim){.step = 0, .count = 1};
        a.rank = 3;
    }
    return a;
}

void emit_quantized(struct epilogue *e, const struct quantized *q, int terms_slot, struct ap stationary,
                    struct ap moving, int var_block, int64_t block)
{
    struct ap terms = ap_slot(e->k->p, terms_slot);
    ap_push(&terms, q->out_channels, 3);
    ap_push_tile(e->k->p, &terms, 1, block, var_block, q->out_channels);
    emit_quantized_matmul(
        e->k, (struct quantized_matmul){
                  .dst = ap_in_bands(epilogue_pattern(e, e->g->results[0])),
                  .stationary = stationary,
                  .moving = moving,
                  .terms = terms,
                  .other = q->other ? ap_in_bands(epilogue_pattern(e, q->other)) : ap_absent(),
                  .zero = q->zero,
                  .sum_zero = q->sum_zero,
                  .sum_signed = q->sum_signed,
                  .other_first = q->other_first,
                  .factor = q->factor,
                  .other_factor = q->other_factor,
                  .offset = q->offset});
}
