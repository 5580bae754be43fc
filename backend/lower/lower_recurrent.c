/*
 * Recurrent layers: lstm, gru and rnn with constant weights.
 *
 * Of sigmoid and tanh, an lstm, an rnn or a gru whose reset follows the product is one kernel: its
 * instances, directions and tiles of the batch, have one instruction each, which projects the input
 * and steps through time, with the state in a tile. Others are composed (recurrent_composed.c).
 */
#include "backend/lower/recurrent.h"

#include "backend/lower/product.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static const struct cell cells[] = {
    {OP_rnn, 1, 1, {OP_tanh, OP_identity, OP_identity}},
    {OP_gru, 3, 1, {OP_sigmoid, OP_tanh, OP_identity}},
    {OP_lstm, 4, 2, {OP_sigmoid, OP_tanh, OP_tanh}},
};

static const struct {
    const char *name;
    enum op op;
} functions[] = {{"Sigmoid", OP_sigmoid}, {"Tanh", OP_tanh}, {"Relu", OP_relu}};

/* ---- what the node says ---- */

static bool read_functions(struct recurrent *v, const struct attrs *as)
{
    int count;
    const struct str *names = attr_strs(as, "activations", &count);
    memcpy(v->function, v->cell->functions, sizeof v->function);
    int per = v->cell->op == OP_rnn ? 1 : v->cell->op == OP_gru ? 2 : 3;
    if (names && count != per * (int)v->directions)
        return false;
    for (int i = 0; names && i < count; i++) {
        size_t f = 0, nfunctions = sizeof functions / sizeof *functions;
        while (f < nfunctions && (names[i].n != strlen(functions[f].name) ||
                                  strncasecmp(names[i].p, functions[f].name, names[i].n)))
            f++;
        if (f == nfunctions || (i >= per && functions[f].op != v->function[i - per]))
            return false;
        if (i < per)
            v->function[i] = functions[f].op;
    }
    return true;
}

/* f32 or bf16. */
static const struct tensor *constant_of(struct lowering *l, const struct node *n, int i, int rank)
{
    struct value *v = i < n->nin && n->in[i] ? outer_value(l, n->in[i]) : NULL;
    const struct tensor *t = v ? v->constant : NULL;
    bool weights = t && t->kind == VK_TENSOR && t->rank == rank;
    return weights && (t->dtype == DT_F32 || t->dtype == DT_BF16) ? t : NULL;
}

static const struct tensor *constant_f32(struct lowering *l, const struct node *n, int i, int rank)
{
    const struct tensor *t = constant_of(l, n, i, rank);
    return t && t->dtype == DT_F32 ? t : NULL;
}

static bool absent(struct lowering *l, const struct node *n, int i)
{
    if (i >= n->nin || !n->in[i])
        return true;
    struct value *v = outer_value(l, n->in[i]);
    return v->constant && v->constant->kind == VK_NONE;
}

static bool examine(struct lowering *l, const struct node *n, struct recurrent *v)
{
    v->n = n;
    v->cell = cells;
    while (v->cell->op != n->op)
        v->cell++;
    v->x = outer_value(l, n->in[0]);
    v->w = constant_f32(l, n, 1, 3), v->r = constant_of(l, n, 2, 3),
    v->bias = constant_f32(l, n, 3, 2);
    const struct type *x = &v->x->type;
    if (n->op == OP_lstm)
        v->peepholes = constant_f32(l, n, 7, 2);
    if (!has_layout(l, v->x) || x->dtype != DT_F32 || x->rank != 3 || !v->w || !v->r ||
        (!v->bias && !absent(l, n, 3)) || (!v->peepholes && !absent(l, n, 7)) ||
        isfinite(attr_float(&n->attrs, "clip", INFINITY)) || attr_int(&n->attrs, "input_forget", 0))
        return false;
    v->directions = attr_is(&n->attrs, "direction", "bidirectional") ? 2 : 1;
    v->reverse = attr_is(&n->attrs, "direction", "reverse");
    v->by_batch = attr_int(&n->attrs, "layout", 0) != 0;
    v->reset_after = attr_int(&n->attrs, "linear_before_reset", 0) != 0;
    int scales = 0;
    v->round_state = attr_int(&n->attrs, "round_state", 0) != 0;
    v->state_scales = v->round_state ? attr_floats(&n->attrs, "state_scales", &scales) : NULL;
    v->hidden = v->r->dims[2], v->inputs = v->w->dims[2], v->width = v->cell->gates * v->hidden;
    v->steps = x->dims[v->by_batch], v->batch = x->dims[!v->by_batch];
    if (v->hidden < 1 || v->inputs < 1 || x->dims[2] != v->inputs ||
        v->w->dims[0] != v->directions || v->r->dims[0] != v->directions ||
        v->w->dims[1] != v->width || v->r->dims[1] != v->width || (v->state_scales && scales < v->directions) ||
        (v->bias && (v->bias->dims[0] != v->directions || v->bias->dims[1] != 2 * v->width)) ||
        (v->peepholes &&
         (v->peepholes->dims[0] != v->directions || v->peepholes->dims[1] != RECURRENT_PEEPHOLES * v->hidden)))
        return false;
    for (int i = 0; i < n->nout; i++)
        if (n->out[i]->uses && !has_layout(l, n->out[i]))
            return false;
    for (int i = 4; i < 5 + v->cell->states; i++) {
        struct value *state = absent(l, n, i) ? NULL : outer_value(l, n->in[i]);
        if (state && (!has_layout(l, state) || state->type.dtype != (i == 4 ? DT_I32 : DT_F32) ||
                      state->type.rank != (i == 4 ? 1 : 3)))
            return false;
        if (i == 4)
            v->lengths = state;
    }
    return read_functions(v, &n->attrs);
}

/* ---- places ---- */

static struct sequence_place state_place(struct lowering *l, const struct recurrent *v, struct value *x)
{
    struct sequence_place p = {.slot = value_slot(l, x),
                      .direction = dim_mul(&l->p->dims, v->batch, v->hidden),
                      .batch = v->hidden};
    if (v->by_batch)
        p.direction = v->hidden, p.batch = v->directions * v->hidden;
    return p;
}

static struct sequence_place result_place(struct lowering *l, const struct recurrent *v)
{
    struct dim_table *t = &l->p->dims;
    struct sequence_place p = {.slot = value_slot(l, v->n->out[0])};
    int64_t both = v->directions * v->hidden;
    p.direction = v->by_batch ? v->hidden : dim_mul(t, v->batch, v->hidden);
    p.time = v->by_batch ? both : dim_mul(t, v->batch, both);
    p.batch = v->by_batch ? dim_mul(t, v->steps, both) : v->hidden;
    return p;
}

/* ---- as one instruction ---- */

static bool is_one_instruction(const struct recurrent *v)
{
    return (v->cell->op != OP_gru || v->reset_after) && !(v->peepholes && v->round_state) &&
           !memcmp(v->function, v->cell->functions, sizeof v->function);
}

static int biases(const struct recurrent *v)
{
    return RECURRENT_BIASES + (v->state_scales ? 1 : v->peepholes ? RECURRENT_PEEPHOLES : 0);
}

/* (direction, gate, hidden): both biases, but of the product that a gru resets, whose own is the
 * fourth; then what multiplies the rounded state, where anything does, or the peepholes of in, out and forget. */
static int joint_bias(struct lowering *l, const struct recurrent *v)
{
    int64_t dims[3] = {v->directions, biases(v), v->hidden};
    float *sum = ARENA_ARRAY(&l->g->arena, float, v->directions *dims[1] * v->hidden);
    const int64_t peepholes = RECURRENT_PEEPHOLES * v->hidden;
    for (int64_t d = 0; d < v->directions; d++) {
        float *to = sum + d * dims[1] * v->hidden, *behind = to + RECURRENT_BIASES * v->hidden;
        const float *w = v->bias ? (const float *)v->bias->data + d * 2 * v->width : NULL, *r = w ? w + v->width : NULL;
        int64_t joint = v->cell->op == OP_gru ? 2 * v->hidden : v->width;
        for (int64_t i = 0; w && i < v->width; i++)
            to[i] = i < joint ? w[i] + r[i] : w[i];
        for (int64_t i = joint; w && i < v->width; i++)
            to[i + v->hidden] = r[i];
        for (int64_t i = 0; v->state_scales && i < v->hidden; i++)
            behind[i] = (float)v->state_scales[d];
        if (v->peepholes)
            memcpy(behind, (const float *)v->peepholes->data + d * peepholes, (size_t)peepholes * sizeof *behind);
    }
    struct tensor t = tensor_view(DT_F32, 3, dims, sum);
    return constant_slot(l, &t, NULL);
}

static int64_t part_units(const struct recurrent *v)
{
    return v->cell->op == OP_rnn ? RNN_UNITS : RECURRENT_UNITS;
}

static int64_t part_count(const struct recurrent *v)
{
    return (v->hidden + part_units(v) - 1) / part_units(v);
}

struct parts {
    int64_t directions, hidden, gates, units; /* of a gate in a part */
};

/* Outs from `first` on, which lie part by part: out gate * units + unit of a part. */
static void gather_part(const void *layout, const struct tensor *w, int64_t first, int64_t out_channels,
                        void *to)
{
    const struct parts *p = layout;
    const char *from = w->data;
    char *y = to;
    size_t size = dtype_bytes(w->dtype);
    int64_t start = first / (p->gates * p->units) * p->units, out = first % (p->gates * p->units);
    for (int64_t d = 0; d < p->directions; d++)
        for (int64_t k = 0; k < p->hidden; k++)
            for (int64_t o = out; o < out + out_channels; o++) {
                int64_t unit = start + o % p->units, row = (d * p->gates + o / p->units) * p->hidden;
                if (unit < p->hidden)
                    memcpy(y, from + (size_t)((row + unit) * p->hidden + k) * size, size);
                else
                    memset(y, 0, size);
                y += size;
            }
}

static struct packed_weights pack_parts(struct lowering *l, const struct recurrent *v)
{
    struct parts *p = ARENA_NEW(&l->g->arena, struct parts);
    *p = (struct parts){v->directions, v->hidden, v->cell->gates, part_units(v)};
    struct weight_source from = {
        .constant = outer_value(l, v->n->in[2]), .gather = gather_part, .layout = p};
    return pack_constant(l, &from, v->directions, v->hidden, p->gates * p->units,
                         part_count(v), "recurrent weights");
}

/* All of them, (block, k, out), of the direction that a variable selects. */
static struct ap whole_weights(struct lowering *l, const struct packed_weights *w, int64_t blocks,
                               int var_direction)
{
    struct ap a = ap_slot(l->p, w->slot);
    ap_move(l->p, &a, var_direction, w->group_step);
    ap_push(&a, w->block_step, blocks);
    ap_push(&a, w->pitch, pack_k(w->shape.type, w->shape.k));
    ap_push(&a, 1, w->width);
    return a;
}

struct instances {
    struct kernel_builder *k;
    const struct recurrent *v;
    dim_t tile;
    int var_direction, var_batch;
};

/* (time, batch, width); a place without steps of time has none. */
static struct ap at_place(const struct instances *s, const struct sequence_place *p, int64_t width)
{
    struct ap a = ap_slot(s->k->p, p->slot);
    ap_move(s->k->p, &a, s->var_direction, p->direction);
    if (p->time)
        ap_push(&a, p->time, s->v->steps);
    ap_push_tile(s->k->p, &a, p->batch, s->tile, s->var_batch, s->v->batch);
    ap_push(&a, 1, width);
    return a;
}

/* Columns of the tile that holds the states side by side. */
static struct ap state_columns(const struct instances *s, int tile, int first, int count)
{
    const struct recurrent *v = s->v;
    struct ap a = {.mem = MEM_SBUF, .dtype = DT_F32, .tensor = tile};
    a.offset.base = first * v->hidden;
    ap_push(&a, v->cell->states * v->hidden, s->tile);
    ap_clip(s->k->p, &a, 0, s->var_batch, s->tile, v->batch);
    ap_push(&a, 1, count * v->hidden);
    return a;
}

static void emit_instruction(struct lowering *l, const struct instances *s, struct ap state)
{
    const struct recurrent *v = s->v;
    struct dim_table *t = &l->p->dims;
    struct weight_source from = {.constant = outer_value(l, v->n->in[1]),
                                 .steps = {v->w->data, v->width * v->inputs, 1, v->inputs}};
    struct packed_weights w =
        pack_constant(l, &from, v->directions, v->inputs, v->width, 1, "input weights");
    struct packed_weights r = pack_parts(l, v);
    struct sequence_place x = {.slot = value_slot(l, v->x)};
    x.time = v->by_batch ? v->inputs : dim_mul(t, v->batch, v->inputs);
    x.batch = v->by_batch ? dim_mul(t, v->steps, v->inputs) : v->inputs;
    struct ap bias = ap_slot(l->p, joint_bias(l, v)), lengths = ap_absent();
    ap_move(l->p, &bias, s->var_direction, biases(v) * v->hidden);
    ap_push(&bias, v->hidden, biases(v)), ap_push(&bias, 1, v->hidden);
    if (v->lengths) {
        lengths = ap_slot(l->p, value_slot(l, v->lengths));
        ap_push_tile(l->p, &lengths, 1, s->tile, s->var_batch, v->batch);
    }
    emit_recurrence(
        s->k,
        (struct recurrence){
            .state = state,
            .y = v->y.slot >= 0 ? at_place(s, &v->y, v->hidden) : ap_absent(),
            .x = at_place(s, &x, v->inputs),
            .input_weights =
                whole_weights(l, &w, (v->width + w.width - 1) / w.width, s->var_direction),
            .weights = whole_weights(l, &r, part_count(v), s->var_direction),
            .bias = bias,
            .lengths = lengths,
            .gates = v->cell->gates,
            .round_state = v->round_state,
            .reverse = affine_variable(l->p, v->reverse, s->var_direction, v->directions == 2)});
}

static void emit_layer(struct lowering *l, const struct recurrent *v)
{
    struct dim_table *t = &l->p->dims;
    struct kernel_builder k = begin_kernel(l, v->n, v->n->name);
    struct instances s = {.k = &k, .v = v, .tile = even_tile(v->batch, BATCH_TILE)};
    s.var_direction = kernel_grid(&k, v->directions);
    s.var_batch = kernel_grid(&k, dim_ceildiv(t, v->batch, s.tile));
    int states = v->cell->states,
        tile = kernel_tile(&k, MEM_SBUF, DT_F32, s.tile, states * v->hidden);
    for (int i = 0; i < states; i++)
        if (v->initial[i].slot >= 0)
            emit_copy(&k, state_columns(&s, tile, i, 1), at_place(&s, &v->initial[i], v->hidden));
        else
            emit_memset(&k, (struct memset){.dst = state_columns(&s, tile, i, 1)});
    emit_instruction(l, &s, state_columns(&s, tile, 0, states));
    for (int i = 0; i < states; i++)
        if (v->last[i].slot >= 0)
            emit_copy(&k, at_place(&s, &v->last[i], v->hidden), state_columns(&s, tile, i, 1));
    dim_t all = dim_mul(t, dim_mul(t, v->steps, v->batch), v->directions);
    kernel_of(&k)->flops = dim_mul(t, all, 2 * (v->inputs + v->hidden) * v->width);
    kernel_of(&k)->bytes = dim_mul(t, all, 4 * (v->inputs + v->hidden));
}

enum lowered lower_recurrent_layer(struct lowering *l, struct node *n)
{
    struct recurrent v = {0};
    if (n->op == OP_fused || !examine(l, n, &v) || (v.round_state && !is_one_instruction(&v))) {
        why(l->o, n, "tile.recurrent",
            "only f32 layers with constant weights, without clip or other activations than "
            "sigmoid, tanh and relu have a tile program; it runs on GpSimd");
        return DECLINED;
    }
    v.y.slot = -1;
    if (recurrent_result_wanted(&v, 0))
        v.y = result_place(l, &v);
    for (int i = 0; i < MAX_STATES; i++) {
        bool has = i < v.cell->states;
        v.initial[i] = v.last[i] = (struct sequence_place){.slot = -1};
        if (has && !absent(l, n, 5 + i))
            v.initial[i] = state_place(l, &v, outer_value(l, n->in[5 + i]));
        if (has && recurrent_result_wanted(&v, 1 + i))
            v.last[i] = state_place(l, &v, n->out[1 + i]);
    }
    if (is_one_instruction(&v))
        emit_layer(l, &v);
    else
        compose_recurrence(l, &v);
    return LOWERED;
}
