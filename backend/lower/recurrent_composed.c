/*
 * Recurrent layers of general instructions.
 *
 * The input is projected for all time steps at once, with the biases added; then one kernel, whose
 * instances are directions and tiles of the batch, loops over time with the state in tiles.
 * Projections lie in the order in which a direction meets them, (direction, step, batch, gates *
 * hidden): the backward one is projected from the end.
 *
 * Sequence lengths become a mask (direction, step, batch): outside its sequence a state stays as it
 * is and the result is 0. So the backward direction starts at each sequence's own end.
 */
#include "backend/lower/move.h"
#include "backend/lower/product.h"
#include "backend/lower/recurrent.h"

/* A temporary (direction, step, batch, width). */
static struct sequence_place temporary(struct lowering *l, const struct recurrent *v, int dtype,
                              int64_t width)
{
    struct dim_table *t = &l->p->dims;
    dim_t dims[4] = {v->directions, v->steps, v->batch, width};
    struct type type = type_tensor(dtype, 4, dims);
    struct sequence_place p = {.slot = temporary_slot(l, &type, NULL), .batch = width};
    p.time = dim_mul(t, v->batch, width);
    p.direction = dim_mul(t, p.time, v->steps);
    return p;
}

/* Walks time from the end. */
static struct sequence_place reversed(struct lowering *l, const struct recurrent *v, struct sequence_place p)
{
    struct dim_table *t = &l->p->dims;
    p.start = dim_add(t, p.start, dim_mul(t, p.time, dim_sub(t, v->steps, 1)));
    p.time = dim_mul(t, p.time, -1);
    return p;
}

static bool goes_back(const struct recurrent *v, int64_t direction)
{
    return v->reverse || direction == 1;
}

/* ---- projection ---- */

/* (direction, gates * hidden): both biases, but the one that a gru resets; that one in a slot of
 * its own. */
static int bias_slot(struct lowering *l, struct recurrent *v)
{
    bool resets = v->cell->op == OP_gru && v->reset_after;
    v->reset_bias = -1;
    if (!v->bias)
        return -1;
    int64_t dims[2] = {v->directions, v->width}, reset_dims[2] = {v->directions, v->hidden};
    float *sum = ARENA_ARRAY(&l->g->arena, float, v->directions * v->width);
    float *reset = ARENA_ARRAY(&l->g->arena, float, v->directions * v->hidden);
    for (int64_t d = 0; d < v->directions; d++) {
        const float *w = (const float *)v->bias->data + d * 2 * v->width, *r = w + v->width;
        int64_t joint = resets ? 2 * v->hidden : v->width;
        for (int64_t i = 0; i < v->width; i++)
            sum[d * v->width + i] = i < joint ? w[i] + r[i] : w[i];
        for (int64_t i = 0; i < v->hidden; i++)
            reset[d * v->hidden + i] = r[v->width - v->hidden + i];
    }
    struct tensor t = tensor_view(DT_F32, 2, dims, sum),
                  u = tensor_view(DT_F32, 2, reset_dims, reset);
    if (resets)
        v->reset_bias = constant_slot(l, &u, NULL);
    return constant_slot(l, &t, NULL);
}

static void project(struct lowering *l, const struct recurrent *v, const struct packed_weights *w,
                    int bias, int64_t direction)
{
    struct dim_table *t = &l->p->dims;
    struct sequence_place x = {.slot = value_slot(l, v->x),
                      .time = dim_mul(t, v->batch, v->inputs),
                      .batch = v->inputs},
                 to = v->projected;
    if (v->by_batch)
        x.time = v->inputs, x.batch = dim_mul(t, v->steps, v->inputs);
    dim_t rows = v->steps, batch = v->batch;
    if (goes_back(v, direction)) {
        x = reversed(l, v, x);
    } else if (!v->by_batch) { /* steps and batch are one dim of rows */
        rows = dim_mul(t, rows, batch), batch = 1;
        x.time = x.batch, to.time = to.batch;
    }
    struct kernel_builder k = begin_kernel(l, v->n, v->n->name);
    dim_t tile = even_tile(rows, ROW_TILE);
    int var_b = kernel_grid(&k, batch), var_row = kernel_grid(&k, dim_ceildiv(t, rows, tile));
    int var_block = kernel_grid(&k, (v->width + PACK_COLUMNS - 1) / PACK_COLUMNS);
    struct ap dst = ap_slot(l->p, to.slot), moving = ap_slot(l->p, x.slot),
              stationary = weights_start(l->p, w, var_block);
    int64_t block = v->width < PACK_COLUMNS ? v->width : PACK_COLUMNS;
    dst.offset.base = dim_mul(t, to.direction, direction);
    moving.offset.base = x.start;
    stationary.offset.base = direction * w->group_step;
    ap_move(l->p, &dst, var_b, to.batch), ap_move(l->p, &moving, var_b, x.batch);
    ap_push_tile(l->p, &dst, to.time, tile, var_row, rows),
        ap_push_tile(l->p, &dst, 1, block, var_block, v->width);
    ap_push_tile(l->p, &moving, x.time, tile, var_row, rows), ap_push(&moving, 1, v->inputs);
    weights_finish(l->p, w, &stationary, var_block);
    if (bias >= 0) {
        struct ap from = ap_slot(l->p, bias);
        from.offset.base = direction * v->width;
        ap_push_tile(l->p, &from, 0, tile, var_row, rows),
            ap_push_tile(l->p, &from, 1, block, var_block, v->width);
        emit_copy(&k, dst, from);
    }
    emit_nc_matmul(&k, (struct nc_matmul){.dst = dst,
                                          .stationary = stationary,
                                          .moving = moving,
                                          .accumulate = affine_number(bias >= 0),
                                          .packing = 1});
    dim_t all = dim_mul(t, v->steps, v->batch);
    kernel_of(&k)->flops = dim_mul(t, all, 2 * v->inputs * v->width);
    kernel_of(&k)->bytes = dim_mul(t, all, 4 * (v->inputs + v->width));
}

/* mask[direction][step][b] = length of b > time. */
static void emit_mask(struct lowering *l, const struct recurrent *v, int64_t direction)
{
    struct dim_table *t = &l->p->dims;
    bool back = goes_back(v, direction);
    struct kernel_builder k = begin_kernel(l, v->n, "sequence mask");
    int var_t = kernel_grid(&k, v->steps),
        var_b = kernel_grid(&k, dim_ceildiv(t, v->batch, BATCH_TILE));
    int now_tile = kernel_tile(&k, MEM_SBUF, DT_F32, BATCH_TILE, 1),
        length_tile = kernel_tile(&k, MEM_SBUF, DT_F32, BATCH_TILE, 1);
    struct ap now = ap_tile(&k, now_tile), length = ap_tile(&k, length_tile);
    struct ap from = ap_slot(l->p, value_slot(l, v->lengths)), to = ap_slot(l->p, v->mask.slot);
    ap_clip(l->p, &now, 0, var_b, BATCH_TILE, v->batch),
        ap_clip(l->p, &length, 0, var_b, BATCH_TILE, v->batch);
    ap_push_tile(l->p, &from, 1, BATCH_TILE, var_b, v->batch), ap_push(&from, 1, 1);
    to.offset.base = dim_mul(t, v->mask.direction, direction);
    ap_move(l->p, &to, var_t, v->mask.time);
    ap_push_tile(l->p, &to, 1, BATCH_TILE, var_b, v->batch), ap_push(&to, 1, 1);
    emit_copy(&k, length, from);
    emit_iota(&k, (struct iota){.dst = now,
                                .base = affine_variable(l->p, back ? dim_sub(t, v->steps, 1) : 0,
                                                        var_t, back ? -1 : 1)});
    emit_tensor_tensor(&k, (struct tensor_tensor){.dst = to, .a = length, .b = now, .op = OP_gt});
}

/* ---- steps ---- */

struct layer_builder;
/* Replaces the state tiles by those of the next time step. */
typedef void step_fn(struct layer_builder *s);

struct layer_builder {
    struct kernel_builder *k;
    const struct recurrent *v;
    dim_t tile;
    int var_direction, var_batch;
    int h, c, gates, scratch; /* tiles; c is h where the cell has one state */
    struct packed_weights *r;
};

/* Columns [first, first + count) of a tile with `width` columns. */
static struct ap columns(struct layer_builder *s, int tile, int64_t width, int64_t first,
                         int64_t count)
{
    struct ap a = {.mem = MEM_SBUF, .dtype = DT_F32, .tensor = tile};
    a.offset.base = first;
    ap_push(&a, width, s->tile);
    ap_clip(s->k->p, &a, 0, s->var_batch, s->tile, s->v->batch);
    ap_push(&a, 1, count);
    return a;
}

static struct ap state(struct layer_builder *s, int tile)
{
    return columns(s, tile, s->v->hidden, 0, s->v->hidden);
}

static struct ap gate(struct layer_builder *s, int first, int count)
{
    return columns(s, s->gates, s->v->width, first * s->v->hidden, count * s->v->hidden);
}

/* `count` columns of a place; a batch step of 0 repeats. */
static struct ap at_place(struct layer_builder *s, const struct sequence_place *p, int var_time, dim_t step,
                          int64_t count)
{
    struct ap a = ap_slot(s->k->p, p->slot);
    a.offset.base = p->start;
    ap_move(s->k->p, &a, s->var_direction, p->direction);
    if (var_time >= 0)
        ap_move(s->k->p, &a, var_time, p->time);
    ap_push_tile(s->k->p, &a, p->batch, s->tile, s->var_batch, s->v->batch);
    ap_push(&a, step, count);
    return a;
}

/* Columns from `first` on of a tile += source * weights. */
static void add_product(struct layer_builder *s, int tile, int64_t width, int64_t first, int source,
                        const struct packed_weights *w)
{
    struct kernel_builder *k = s->k;
    int64_t out_channels = w->shape.columns, blocks = (out_channels + PACK_COLUMNS - 1) / PACK_COLUMNS;
    int var = blocks > 1 ? kernel_loop(k, blocks) : -1;
    struct ap dst = columns(s, tile, width, first, 1), stationary = weights_start(k->p, w, var);
    dst.rank = 1;
    ap_push_tile(k->p, &dst, 1, out_channels < PACK_COLUMNS ? out_channels : PACK_COLUMNS, var, out_channels);
    ap_move(k->p, &stationary, s->var_direction, w->group_step);
    weights_finish(k->p, w, &stationary, var);
    emit_nc_matmul(k, (struct nc_matmul){.dst = dst,
                                         .stationary = stationary,
                                         .moving = state(s, source),
                                         .accumulate = affine_number(1),
                                         .packing = 1});
    if (blocks > 1)
        kernel_end_loop(k);
}

static void apply(struct layer_builder *s, enum op f, struct ap dst, struct ap src)
{
    emit_activation(s->k, (struct activation){.dst = dst, .src = src, .factor = 1, .f = f});
}

static void combine(struct layer_builder *s, enum op op, struct ap dst, struct ap a, struct ap b)
{
    emit_tensor_tensor(s->k, (struct tensor_tensor){.dst = dst, .a = a, .b = b, .op = op});
}

static void rnn_step(struct layer_builder *s)
{
    add_product(s, s->gates, s->v->width, 0, s->h, &s->r[0]);
    apply(s, s->v->function[0], state(s, s->h), gate(s, 0, 1));
}

/* Adds to a gate its peephole times the cell state. */
static void peep(struct layer_builder *s, int which)
{
    struct sequence_place p = s->v->peephole;
    p.start = which * s->v->hidden;
    emit_copy(s->k, state(s, s->scratch), at_place(s, &p, -1, 1, s->v->hidden));
    combine(s, OP_mul, state(s, s->scratch), state(s, s->scratch), state(s, s->c));
    combine(s, OP_add, gate(s, which, 1), gate(s, which, 1), state(s, s->scratch));
}

static void lstm_step(struct layer_builder *s)
{
    enum { IN, OUT, FORGET, CELL };
    const enum op *f = s->v->function;
    bool peeps = s->v->peepholes != NULL;
    add_product(s, s->gates, s->v->width, 0, s->h, &s->r[0]);
    if (peeps) {
        peep(s, IN);
        peep(s, FORGET);
        apply(s, f[0], gate(s, IN, 1), gate(s, IN, 1));
        apply(s, f[0], gate(s, FORGET, 1), gate(s, FORGET, 1));
    } else {
        apply(s, f[0], gate(s, IN, 3), gate(s, IN, 3));
    }
    apply(s, f[1], gate(s, CELL, 1), gate(s, CELL, 1));
    combine(s, OP_mul, state(s, s->c), state(s, s->c), gate(s, FORGET, 1));
    combine(s, OP_mul, gate(s, CELL, 1), gate(s, CELL, 1), gate(s, IN, 1));
    combine(s, OP_add, state(s, s->c), state(s, s->c), gate(s, CELL, 1));
    if (peeps) { /* of the new state */
        peep(s, OUT);
        apply(s, f[0], gate(s, OUT, 1), gate(s, OUT, 1));
    }
    apply(s, f[2], state(s, s->scratch), state(s, s->c));
    combine(s, OP_mul, state(s, s->h), state(s, s->scratch), gate(s, OUT, 1));
}

static void gru_step(struct layer_builder *s)
{
    enum { UPDATE, RESET, NEXT };
    const struct recurrent *v = s->v;
    add_product(s, s->gates, v->width, 0, s->h, &s->r[0]);
    if (v->reset_after) {
        struct sequence_place bias = {.slot = v->reset_bias, .direction = v->hidden};
        if (v->reset_bias >= 0)
            emit_copy(s->k, state(s, s->scratch), at_place(s, &bias, -1, 1, v->hidden));
        else
            emit_memset(s->k, (struct memset){.dst = state(s, s->scratch)});
        add_product(s, s->scratch, v->hidden, 0, s->h, &s->r[1]);
    }
    apply(s, v->function[0], gate(s, UPDATE, 2), gate(s, UPDATE, 2));
    combine(s, OP_mul, state(s, s->scratch), v->reset_after ? state(s, s->scratch) : state(s, s->h),
            gate(s, RESET, 1));
    if (v->reset_after)
        combine(s, OP_add, gate(s, NEXT, 1), gate(s, NEXT, 1), state(s, s->scratch));
    else
        add_product(s, s->gates, v->width, NEXT * v->hidden, s->scratch, &s->r[1]);
    apply(s, v->function[1], gate(s, NEXT, 1), gate(s, NEXT, 1));
    combine(s, OP_sub, state(s, s->h), state(s, s->h), gate(s, NEXT, 1));
    combine(s, OP_mul, state(s, s->h), state(s, s->h), gate(s, UPDATE, 1));
    combine(s, OP_add, state(s, s->h), state(s, s->h), gate(s, NEXT, 1));
}

static step_fn *step_of(const struct recurrent *v)
{
    return v->cell->op == OP_lstm ? lstm_step : v->cell->op == OP_gru ? gru_step : rnn_step;
}

static void select_by(struct layer_builder *s, struct ap mask, struct ap dst, struct ap a,
                      struct ap b)
{
    emit_select(s->k, (struct select){.dst = dst, .predicate = mask, .a = a, .b = b});
}

/* The recurrent weights of gates [first, first + count), a group per direction. */
static struct packed_weights pack_gates(struct lowering *l, const struct recurrent *v, int first,
                                        int count)
{
    const char *part = (const char *)v->r->data +
                       first * v->hidden * v->hidden * (int64_t)dtype_bytes(v->r->dtype);
    struct weight_source from = {.constant = outer_value(l, v->n->in[2]),
                                 .steps = {part, v->width * v->hidden, 1, v->hidden}};
    return pack_constant(l, &from, v->directions, v->hidden, count * v->hidden, 1,
                         "recurrent weights");
}

static void emit_time_loop(struct layer_builder *s, const int *tiles, const int *old, int zeros)
{
    const struct recurrent *v = s->v;
    struct kernel_builder *k = s->k;
    int var_time = kernel_loop(k, v->steps);
    for (int i = 0; v->lengths && i < v->cell->states; i++)
        emit_copy(k, state(s, old[i]), state(s, tiles[i]));
    emit_copy(k, gate(s, 0, v->cell->gates), at_place(s, &v->projected, var_time, 1, v->width));
    step_of(v)(s);
    int result = s->h;
    if (v->lengths) {
        struct ap mask = at_place(s, &v->mask, var_time, 0, v->hidden);
        select_by(s, mask, state(s, s->scratch), state(s, s->h), state(s, zeros));
        for (int i = 0; i < v->cell->states; i++)
            select_by(s, mask, state(s, tiles[i]), state(s, tiles[i]), state(s, old[i]));
        result = s->scratch;
    }
    if (v->y.slot >= 0)
        emit_copy(k, at_place(s, &v->y, var_time, 1, v->hidden), state(s, result));
    kernel_end_loop(k);
}

static void emit_composed(struct lowering *l, const struct recurrent *v)
{
    struct dim_table *t = &l->p->dims;
    bool gru = v->cell->op == OP_gru;
    struct packed_weights r[2] = {pack_gates(l, v, 0, gru ? 2 : v->cell->gates)};
    if (gru)
        r[1] = pack_gates(l, v, 2, 1);
    struct kernel_builder k = begin_kernel(l, v->n, v->n->name);
    struct layer_builder s = {.k = &k, .v = v, .tile = even_tile(v->batch, BATCH_TILE), .r = r};
    s.var_direction = kernel_grid(&k, v->directions);
    s.var_batch = kernel_grid(&k, dim_ceildiv(t, v->batch, s.tile));
    int tiles[MAX_STATES], old[MAX_STATES] = {-1, -1}, zeros = -1;
    s.gates = kernel_tile(&k, MEM_SBUF, DT_F32, s.tile, v->width);
    s.scratch = kernel_tile(&k, MEM_SBUF, DT_F32, s.tile, v->hidden);
    for (int i = 0; i < v->cell->states; i++) {
        tiles[i] = kernel_tile(&k, MEM_SBUF, DT_F32, s.tile, v->hidden);
        if (v->lengths)
            old[i] = kernel_tile(&k, MEM_SBUF, DT_F32, s.tile, v->hidden);
        if (v->initial[i].slot >= 0)
            emit_copy(&k, state(&s, tiles[i]), at_place(&s, &v->initial[i], -1, 1, v->hidden));
        else
            emit_memset(&k, (struct memset){.dst = state(&s, tiles[i])});
    }
    s.h = tiles[0], s.c = tiles[v->cell->states - 1];
    if (v->lengths) {
        zeros = kernel_tile(&k, MEM_SBUF, DT_F32, s.tile, v->hidden);
        emit_memset(&k, (struct memset){.dst = state(&s, zeros)});
    }
    emit_time_loop(&s, tiles, old, zeros);
    for (int i = 0; i < v->cell->states; i++)
        if (v->last[i].slot >= 0)
            emit_copy(&k, at_place(&s, &v->last[i], -1, 1, v->hidden), state(&s, tiles[i]));
    dim_t all = dim_mul(t, dim_mul(t, v->steps, v->batch), v->directions);
    kernel_of(&k)->flops = dim_mul(t, all, 2 * v->hidden * v->width);
    kernel_of(&k)->bytes = dim_mul(t, all, 4 * (v->hidden + v->width));
}

/* Results of two directions, in the order in which they were met, to their places. */
static void emit_results(struct lowering *l, const struct recurrent *v, struct sequence_place y)
{
    struct dim_table *t = &l->p->dims;
    for (int64_t d = 0; d < v->directions; d++) {
        struct sequence_place to = goes_back(v, d) ? reversed(l, v, y) : y;
        struct move m = {.to_slot = y.slot, .from_slot = v->y.slot};
        m.to_offset = dim_add(t, to.start, dim_mul(t, to.direction, d));
        m.from_offset = dim_mul(t, v->y.direction, d);
        move_dim(&m, v->steps, to.time, v->y.time);
        move_dim(&m, v->batch, to.batch, v->y.batch);
        move_dim(&m, v->hidden, 1, 1);
        move_possible(l, &m);
        emit_move(l, v->n, "results in order", &m);
    }
}

void compose_recurrence(struct lowering *l, struct recurrent *v)
{
    struct weight_source from = {.constant = outer_value(l, v->n->in[1]),
                                 .steps = {v->w->data, v->width * v->inputs, 1, v->inputs}};
    struct packed_weights w =
        pack_constant(l, &from, v->directions, v->inputs, v->width, 1, "input weights");
    int bias = bias_slot(l, v);
    if (v->peepholes)
        v->peephole = (struct sequence_place){.slot = constant_slot(l, v->peepholes, NULL),
                                              .direction = RECURRENT_PEEPHOLES * v->hidden};
    v->projected = temporary(l, v, DT_F32, v->width);
    struct sequence_place y = v->y;
    bool both = v->directions == 2 && y.slot >= 0;
    if (both)
        v->y = temporary(l, v, DT_F32, v->hidden);
    else if (v->reverse && y.slot >= 0)
        v->y = reversed(l, v, y);
    if (v->lengths)
        v->mask = temporary(l, v, DT_BOOL, 1);
    for (int64_t d = 0; d < v->directions; d++) {
        project(l, v, &w, bias, d);
        if (v->lengths)
            emit_mask(l, v, d);
    }
    emit_composed(l, v);
    if (both)
        emit_results(l, v, y);
}
