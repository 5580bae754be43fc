/*
 * Depthwise convolutions: one instruction of the Vector engine per row of output pixels; it takes a
 * bias and an activation along.
 */
#include "backend/conv.h"
#include "backend/tail.h"

#include <string.h>

/* Weights C,1,kh,kw as f32 [kh][kw][C]. */
static int weights_slot(struct lowering *l, const struct conv *c, const char *name)
{
    int64_t taps = c->kh * c->kw, n = c->channels_in, dims[3] = {c->kh, c->kw, n};
    float *data = arena_alloc(&l->g->arena, sizeof *data * (size_t)(taps * n));
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < taps; k++)
            data[k * n + i] = (float)tensor_f64(c->w, i * taps + k);
    struct tensor t = tensor_view(DT_F32, 3, dims, data);
    return constant_slot(l, &t, name);
}

enum lowered emit_depthwise(struct lowering *l, struct group *g, struct conv *c)
{
    struct dim_table *t = &l->p->dims;
    struct node *n = g->nodes[0];
    if (!dtype_is_float(c->x->type.dtype) || dtype_bytes(c->x->type.dtype) > 4)
        return DECLINED;
    struct tail tail = tail_of(l, g, c->channels_in);
    int w = weights_slot(l, c, outer_value(l, n->in[1])->name);
    struct kernel_builder k = kernel_begin(l, n, n->name);
    int var_n = kernel_grid(&k, c->n), var_row = kernel_grid(&k, c->oh);
    const struct type *y = &n->out[0]->type;
    struct epilogue e = {.k = &k, .g = g, .rank = y->rank};
    memcpy(e.dims, y->dims, sizeof e.dims);
    e.covers[e.ncovers++] = (struct cover){0, 0, var_n, 0};
    if (c->spatial == 2 && !c->column)
        e.covers[e.ncovers++] = (struct cover){1, 1, var_row, 0};
    e.covers[e.ncovers++] = (struct cover){c->column ? 1 : y->rank - 2, y->rank - 2, -1, c->ow};
    e.covers[e.ncovers++] = (struct cover){y->rank - 1, y->rank - 1, -1, c->channels_in};

    struct value *last = g->nodes[tail.taken - 1]->out[0];
    bool direct = group_is_result(g, last);
    struct ap dst;
    if (direct) {
        dst = epilogue_pattern(&e, last);
    } else {
        struct space s = epilogue_space(&e);
        dst = space_tile(&s, &k, kernel_tile(&k, MEM_SBUF, DT_F32, 1, space_count(l, &s)));
    }
    struct ap image = ap_slot(l, value_slot(l, c->x)), weights = ap_slot(l, w), bias = ap_absent();
    dim_t row = dim_mul(t, c->width, c->channels_in);
    ap_move(l, &image, var_n, dim_mul(t, row, c->h));
    ap_push(&image, row, c->h), ap_push(&image, c->channels_in, c->width),
        ap_push(&image, 1, c->channels_in);
    ap_push(&weights, c->kw * c->channels_in, c->kh), ap_push(&weights, c->channels_in, c->kw);
    ap_push(&weights, 1, c->channels_in);
    if (tail.bias) {
        bias = ap_slot(l, value_slot(l, tail.bias));
        ap_push(&bias, 1, c->channels_in);
    }
    struct insn *i = kernel_insn(&k, INSN_depthwise_conv);
    i->ap[0] = dst, i->ap[1] = image, i->ap[2] = weights, i->ap[3] = bias;
    i->imm[0].coef[var_row] = 1;
    const int64_t geometry[] = {c->sh, c->sw, c->dh, c->dw, c->top, c->left};
    for (int j = 0; j < 6; j++)
        i->imm[1 + j].base = geometry[j];
    i->func[0] = tail.f;
    i->flt[0] = tail.a, i->flt[1] = tail.b;
    if (tail.taken < g->n) {
        struct expression x = {
            .k = &k, .g = g, .space = epilogue_space(&e), .pattern = epilogue_pattern, .user = &e};
        x.given[0] = last;
        x.given_pattern[0] = dst;
        x.ngiven = 1;
        expression_emit(&x, tail.taken);
    }
    struct kernel *kernel = kernel_of(&k);
    dim_t pixels = dim_mul(t, c->n, dim_mul(t, c->oh, c->ow));
    kernel->flops = dim_mul(t, pixels, 2 * c->kh * c->kw * c->channels_in);
    kernel->bytes = dim_mul(t, dim_add(t, pixels, dim_mul(t, c->n, dim_mul(t, c->h, c->width))),
                            4 * c->channels_in);
    return LOWERED;
}
