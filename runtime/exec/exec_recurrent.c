/*
 * Tensor engine: recurrence. The input is projected for a few times at once, then the state takes
 * one step after the other. Times that no row takes part in cost nothing but zeros in y.
 */
#include "runtime/exec/engine.h"

#include <string.h>

enum { CHUNK_ROWS = 64, MIN_TIMES = 8, MAX_SCRATCH = 1 << 28 };
enum { LSTM = 4, GRU = 3, RNN = 1 };

struct recurrence {
    int gates, hidden, inputs, width; /* width: gates * hidden */
    bool peeps;                       /* of an LSTM: has peepholes */
    bool rounded;                     /* of an LSTM: products take h rounded to 8 bits */
    int64_t times;                    /* projected at once */
    int64_t gates_bytes, state_bytes; /* scratch: projections, the rows' h */
};

/* A layer on its way: the rows in force, and addresses. */
struct bound_layer {
    struct worker *me;
    const struct bound_insn *i;
    const struct recurrence *m;
    int64_t times, rows;
    const int32_t *lengths; /* NULL: all rows take part always */
    int64_t length_step;
    float *gates, *h, *next, *c, *y; /* h and next: rows of `hidden` */
    float *rounded, *factors;        /* h as products take it, and what their sums are multiplied by, of each row */
    float factor;                    /* the weights' part of that */
    const float *x;
    const void *weights;
    bool back;
};

static int64_t line(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static bool fits(const struct bound_insn *i, int operand, int rank, int dtype)
{
    const struct operand *o = &i->o[operand];
    return o->mem && o->rank == rank && o->dtype == dtype &&
           (o->step[rank - 1] == 1 || o->count[rank - 1] <= 1);
}

/* Counts of operands go together, and what is read as a whole lies dense. */
static bool shapes_fit(const struct bound_insn *i, struct recurrence *m)
{
    enum { LIMIT = 1 << 16, MAX_ROWS = 1 << 12 };
    const struct operand *state = &i->o[AP(recurrence, state)], *y = &i->o[AP(recurrence, y)],
                         *x = &i->o[AP(recurrence, x)], *b = &i->o[AP(recurrence, bias)];
    const struct operand *in = &i->o[AP(recurrence, input_weights)],
                         *w = &i->o[AP(recurrence, weights)];
    int64_t gates = NUMBER(i, recurrence, gates);
    bool bf16 = w->dtype == DT_BF16;
    bool rounded = NUMBER(i, recurrence, round_state) != 0;
    if (i->imm[IMM(recurrence, gates)].nterms || i->imm[IMM(recurrence, round_state)].nterms ||
        (gates != LSTM && ((gates != GRU && gates != RNN) || rounded)) ||
        !fits(i, AP(recurrence, state), 2, DT_F32) || !fits(i, AP(recurrence, x), 3, DT_F32) ||
        !fits(i, AP(recurrence, input_weights), 3, DT_F32) ||
        !fits(i, AP(recurrence, weights), 3, bf16 ? DT_BF16 : DT_F32) ||
        !fits(i, AP(recurrence, bias), 2, DT_F32) ||
        (y->mem && !fits(i, AP(recurrence, y), 3, DT_F32)) ||
        (i->o[AP(recurrence, lengths)].mem && i->o[AP(recurrence, lengths)].rank != 1) ||
        (i->o[AP(recurrence, lengths)].mem && i->o[AP(recurrence, lengths)].dtype != DT_I32))
        return false;
    int64_t hidden = b->count[1], inputs = x->count[2], width = gates * hidden;
    int64_t units = gates == RNN ? RNN_UNITS : RECURRENT_UNITS, parts = (hidden + units - 1) / units;
    bool peeps = gates == LSTM && !rounded && b->count[0] == RECURRENT_BIASES + RECURRENT_PEEPHOLES;
    *m = (struct recurrence){(int)gates, (int)hidden, (int)inputs, (int)width, peeps, rounded, 0, 0, 0};
    bool whole = !in->nclips && !w->nclips && !b->nclips;
    for (int n = 0; n < x->nclips; n++)
        whole &= x->clips[n].dim == 1;
    return whole && hidden > 0 && hidden < LIMIT && inputs > 0 && inputs < LIMIT &&
           x->count[1] < MAX_ROWS && state->count[0] == x->count[1] &&
           state->count[1] == (gates == LSTM ? 2 : 1) * hidden &&
           (!y->mem ||
            (y->count[0] == x->count[0] && y->count[1] == x->count[1] && y->count[2] == hidden)) &&
           in->count[1] == inputs && in->step[1] == in->count[2] && in->count[2] > 0 &&
           in->count[2] < LIMIT && in->count[2] % 16 == 0 && in->count[0] < LIMIT &&
           in->count[0] * in->count[2] >= width && w->count[0] == parts &&
           w->count[1] == (bf16 ? (hidden + 1) / 2 * 2 : hidden) &&
           w->count[2] == gates * units && w->step[1] == w->count[2] &&
           (b->count[0] == RECURRENT_BIASES || peeps || (rounded && b->count[0] == RECURRENT_BIASES + 1)) &&
           b->step[0] == hidden &&
           (!i->o[AP(recurrence, lengths)].mem ||
            i->o[AP(recurrence, lengths)].count[0] == x->count[1]);
}

bool prepare_recurrence(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct recurrence *m = ARENA_NEW(b->arena, struct recurrence);
    i->prepared = m;
    if (!shapes_fit(i, m))
        return fail(b->d, "recurrence: operands that do not go together");
    int64_t rows = i->o[AP(recurrence, x)].count[1], times = rows ? CHUNK_ROWS / rows : 1;
    times = times < MIN_TIMES ? MIN_TIMES : times;
    m->times =
        (int)(i->o[AP(recurrence, x)].count[0] < times ? i->o[AP(recurrence, x)].count[0] : times);
    m->gates_bytes = line(m->times * rows * m->width * 4);
    m->state_bytes = line(rows * m->hidden * 4);
    if (m->gates_bytes > MAX_SCRATCH)
        return fail(b->d, "recurrence: projections of %lld bytes, at most %d",
                    (long long)m->gates_bytes, MAX_SCRATCH);
    need_scratch(b, m->gates_bytes + (m->rounded ? 3 : 2) * m->state_bytes + (m->rounded ? line(rows * 4) : 0));
    return true;
}

/* ---- the input's part of the gates ---- */

static void project_rows(const struct bound_layer *y, const float *x, int64_t pitch, int64_t rows,
                         float *to, int64_t to_pitch)
{
    const struct operand *w = &y->i->o[AP(recurrence, input_weights)];
    struct gemm_tile t = {.type = GEMM_F32, .rows = (int)rows, .k = y->m->inputs};
    t.a_pitch = pitch, t.c_pitch = to_pitch, t.w_pitch = (int)w->count[2];
    const float *weights = (const float *)operand_address(y->me, w);
    for (int out = 0; out < y->m->width; out += t.w_pitch, weights += w->step[0]) {
        struct gemm g;
        t.columns = y->m->width - out < t.w_pitch ? y->m->width - out : t.w_pitch;
        gemm_prepare_whole(&g, &t);
        gemm_run(&g, y->me->k, x, weights, to + out);
    }
}

/* gates[time][row][gate][hidden] of times from..from + n - 1. */
static void project(const struct bound_layer *y, int64_t from, int64_t n)
{
    const struct operand *x = &y->i->o[AP(recurrence, x)];
    int64_t time_step = x->step[0], row_step = x->step[1], width = y->m->width;
    const float *at = y->x + from * time_step;
    if (y->rows == 1)
        project_rows(y, at, time_step, n, y->gates, width);
    else if (time_step == y->rows * row_step)
        project_rows(y, at, row_step, n * y->rows, y->gates, width);
    else
        for (int64_t r = 0; r < y->rows; r++)
            project_rows(y, at + r * row_step, time_step, n, y->gates + r * width, y->rows * width);
}

/* ---- steps ---- */

static bool takes_part(const struct bound_layer *y, int64_t row, int64_t time)
{
    return !y->lengths || time < y->lengths[row * y->length_step];
}

static void clear_rows(const struct bound_layer *y, int64_t time, int64_t row, int64_t rows)
{
    const struct operand *o = &y->i->o[AP(recurrence, y)];
    for (int64_t r = row; y->y && r < row + rows; r++)
        memset(y->y + time * o->step[0] + r * o->step[1], 0, (size_t)y->m->hidden * sizeof *y->y);
}

/* To whole numbers of 8 bits in the row's range, and what one of them is worth. */
static float round_row(const float *h, float *to, int64_t n)
{
    float low = 0, high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = h[i] < low ? h[i] : low;
        high = h[i] > high ? h[i] : high;
    }
    float scale = (high - low) / 255;
    scale = scale > 0 ? scale : 1; /* all zeros */
    float zero = -low / scale + 0x1.8p23f - 0x1.8p23f; /* to the nearest */
    for (int64_t i = 0; i < n; i++) {
        float q = h[i] / scale + 0x1.8p23f - 0x1.8p23f + zero;
        to[i] = (q < 0 ? 0 : q > 255 ? 255 : q) - zero;
    }
    return scale;
}

/* Rows that all take part. */
static void step_rows(const struct bound_layer *y, int64_t time, const float *gates, bool back,
                      int64_t row, int64_t rows)
{
    const struct operand *out = &y->i->o[AP(recurrence, y)],
                         *state = &y->i->o[AP(recurrence, state)];
    int64_t hidden = y->m->hidden;
    struct recurrent_step s = {
        .gates = y->m->gates,
        .rows = (int)rows,
        .hidden = y->m->hidden,
        .weights = y->weights,
        .part_bytes =
            y->i->o[AP(recurrence, weights)].step[0] * y->i->o[AP(recurrence, weights)].size,
        .bf16 = y->i->o[AP(recurrence, weights)].dtype == DT_BF16,
        .x = gates + row * y->m->width,
        .bias = (const float *)operand_address(y->me, &y->i->o[AP(recurrence, bias)]),
        .h = (y->m->rounded ? y->rounded : y->h) + row * hidden,
        .c = y->c + row * state->step[0],
        .next = y->next + row * hidden,
        .h_pitch = hidden,
        .c_pitch = state->step[0],
        .next_pitch = hidden,
        .back = back,
        .factors = y->m->rounded ? y->factors + row : NULL,
    };
    if (y->m->peeps)
        s.peepholes = s.bias + RECURRENT_BIASES * hidden;
    if (y->y)
        s.y = y->y + time * out->step[0] + row * out->step[1], s.y_pitch = out->step[1];
    y->me->k->recurrent(&s);
}

static void step(struct bound_layer *y, int64_t time, const float *gates, bool back)
{
    for (int64_t row = 0; y->m->rounded && row < y->rows; row++)
        y->factors[row] =
            y->factor * round_row(y->h + row * y->m->hidden, y->rounded + row * y->m->hidden, y->m->hidden);
    for (int64_t row = 0, end; row < y->rows; row = end) {
        bool part = takes_part(y, row, time);
        for (end = row + 1; end < y->rows && takes_part(y, end, time) == part; end++)
            ;
        if (part) {
            step_rows(y, time, gates, back, row, end - row);
            continue;
        }
        size_t hidden = (size_t)y->m->hidden;
        memcpy(y->next + row * y->m->hidden, y->h + row * y->m->hidden,
               (size_t)(end - row) * hidden * sizeof *y->h);
        clear_rows(y, time, row, end - row);
    }
    float *h = y->h;
    y->h = y->next, y->next = h;
}

/* ---- the layer ---- */

/* Times that any row takes part in. */
static int64_t longest(const struct bound_layer *y)
{
    int64_t max = 0;
    if (!y->lengths)
        return y->times;
    for (int64_t r = 0; r < y->rows; r++)
        if (y->lengths[r * y->length_step] > max)
            max = y->lengths[r * y->length_step];
    return max < y->times ? max : y->times;
}

static void run_layer(struct bound_layer *y)
{
    int64_t longest_row = longest(y), width = y->m->width;
    for (int64_t t = longest_row; t < y->times; t++)
        clear_rows(y, t, 0, y->rows);
    for (int64_t done = 0, n; done < longest_row; done += n) {
        n = longest_row - done < y->m->times ? longest_row - done : y->m->times;
        int64_t from = y->back ? longest_row - done - n : done;
        project(y, from, n);
        for (int64_t s = 0; s < n; s++) {
            int64_t at = y->back ? n - 1 - s : s;
            step(y, from + at, y->gates + at * y->rows * width, s % 2);
        }
    }
}

void exec_recurrence(struct worker *me, const struct bound_insn *i)
{
    const struct recurrence *m = i->prepared;
    const struct operand *state = &i->o[AP(recurrence, state)],
                         *lengths = &i->o[AP(recurrence, lengths)];
    int64_t sc[MAX_AP_RANK], xc[MAX_AP_RANK], max[MAX_AP_RANK];
    if (!counts_now(me, i, AP(recurrence, state), sc) || !counts_now(me, i, AP(recurrence, x), xc))
        return;
    struct bound_layer y = {
        .me = me, .i = i, .m = m, .times = xc[0], .rows = xc[1] < sc[0] ? xc[1] : sc[0]};
    if (i->o[AP(recurrence, y)].mem &&
        (!counts_now(me, i, AP(recurrence, y), max) || max[0] < y.times))
        return;
    if (i->o[AP(recurrence, y)].mem && max[1] < y.rows)
        y.rows = max[1];
    if (lengths->mem && !counts_now(me, i, AP(recurrence, lengths), max))
        return;
    if (lengths->mem && max[0] < y.rows)
        y.rows = max[0];
    float *h = (float *)operand_address(me, state);
    y.gates = (float *)(void *)me->scratch;
    y.h = (float *)(void *)(me->scratch + m->gates_bytes);
    y.next = (float *)(void *)(me->scratch + m->gates_bytes + m->state_bytes);
    y.rounded = (float *)(void *)(me->scratch + m->gates_bytes + 2 * m->state_bytes);
    y.factors = (float *)(void *)(me->scratch + m->gates_bytes + 3 * m->state_bytes);
    y.factor = 1;
    if (m->rounded && i->o[AP(recurrence, bias)].count[0] > RECURRENT_BIASES)
        y.factor = ((const float *)operand_address(me, &i->o[AP(recurrence, bias)]))[RECURRENT_BIASES * m->hidden];
    y.c = h + m->hidden;
    y.y =
        i->o[AP(recurrence, y)].mem ? (float *)operand_address(me, &i->o[AP(recurrence, y)]) : NULL;
    y.x = (const float *)operand_address(me, &i->o[AP(recurrence, x)]);
    y.weights = operand_address(me, &i->o[AP(recurrence, weights)]);
    y.lengths = lengths->mem ? (const int32_t *)operand_address(me, lengths) : NULL;
    y.length_step = lengths->mem ? lengths->step[0] : 0;
    y.back = number_at(me, &i->imm[IMM(recurrence, reverse)]) != 0;
    for (int64_t r = 0; r < y.rows; r++)
        memcpy(y.h + r * m->hidden, h + r * state->step[0], (size_t)m->hidden * sizeof *h);
    run_layer(&y);
    for (int64_t r = 0; r < y.rows; r++)
        memcpy(h + r * state->step[0], y.h + r * m->hidden, (size_t)m->hidden * sizeof *h);
}
