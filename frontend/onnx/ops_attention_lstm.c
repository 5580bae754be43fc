/*
 * AttnLSTM of com.microsoft: an LSTM whose input has behind it what its last state found in a memory (Bahdanau's
 * attention). A scan over the steps, whose body is a step of an LSTM and a look at the memory.
 */
#include "frontend/onnx/ops.h"
#include "passes/pass.h"

#include <math.h>

/* operands, from the fifth on */
enum { LENGTHS = 4, STATE_H, STATE_C, PEEPHOLES, QUERY, MEMORY_WEIGHT, VECTOR, MEMORY, MEMORY_LENGTHS, LAYER };
enum { FUNCTIONS = 3, SCAN_STATES = 3, SCAN_SLICES = 2, HIDDEN = 0, CELL, FOUND, STEPS_OUT };

static const int64_t front[] = {0}, second[] = {1}, last[] = {-1};

struct attention_lstm {
    struct onnx_node *n;
    int64_t directions, at; /* at: of them, the one at work */
    dim_t batch, hidden;
    struct value *lengths;  /* (B) */
    struct value *keys;     /* (B,T,A) */
    struct value *allowed;  /* (B,T): places of the memory that exist; NULL: all do */
};

/* Of an operand with a row for each direction that of the one at work, (1,...); NULL if it is left out. */
static struct value *of_direction(struct attention_lstm *s, int operand)
{
    struct value *x = b_in(s->n, operand);
    return x && s->directions > 1 ? b_slice(s->n->b, x, s->at, s->at + 1, 0) : x;
}

/* The same without its first dim. */
static struct value *matrix(struct attention_lstm *s, int operand)
{
    return b_squeeze(s->n->b, of_direction(s, operand), front, 1);
}

/* ---- operands ---- */

static bool check_operands(struct attention_lstm *s)
{
    struct onnx_node *n = s->n;
    static const struct {
        int operand;
        const char *name;
    } needed[] = {{0, "'X'"}, {2, "'R'"}, {QUERY, "'QW'"}, {MEMORY_WEIGHT, "'MW'"}, {MEMORY, "'M'"}};
    const dim_t *d[5];
    for (int i = 0; i < 5; i++) {
        int rank;
        if (!b_in(n, needed[i].operand))
            return NODE_ERROR(n, "%s is left out, this operator needs it", needed[i].name);
        if (!b_rank(n, n->in[needed[i].operand], needed[i].name, &rank))
            return false;
        if (rank != 3)
            return NODE_ERROR(n, "%s has rank %d, expected 3", needed[i].name, rank);
        d[i] = n->in[needed[i].operand]->type.dims;
    }
    int rank = 0;
    struct value *layer = b_in(n, LAYER);
    if (!b_in(n, VECTOR))
        return NODE_ERROR(n, "'V' is left out, this operator needs it");
    if (layer && !b_rank(n, layer, "'AW'", &rank))
        return false;
    struct dim_table *t = &n->b->g->dims;
    dim_t ways = s->directions, b = d[0][1], h = d[1][2], gates = dim_mul(t, h, 4), depth = d[4][2], a = d[2][2];
    dim_t found = layer && rank == 3 ? layer->type.dims[2] : depth;
    s->batch = b, s->hidden = h;
    return b_has_dims(n, 1, "'W'", (dim_t[]){ways, gates, dim_add(t, d[0][2], found)}, 3) &&
           b_has_dims(n, 2, "'R'", (dim_t[]){ways, gates, h}, 3) &&
           b_has_dims(n, 3, "'B'", (dim_t[]){ways, dim_mul(t, h, 8)}, 2) &&
           b_has_dims(n, LENGTHS, "'sequence_lens'", &b, 1) &&
           b_has_dims(n, STATE_H, "'initial_h'", (dim_t[]){ways, b, h}, 3) &&
           b_has_dims(n, STATE_C, "'initial_c'", (dim_t[]){ways, b, h}, 3) &&
           b_has_dims(n, PEEPHOLES, "'P'", (dim_t[]){ways, dim_mul(t, h, 3)}, 2) &&
           b_has_dims(n, QUERY, "'QW'", (dim_t[]){ways, h, a}, 3) &&
           b_has_dims(n, MEMORY_WEIGHT, "'MW'", (dim_t[]){ways, depth, a}, 3) &&
           b_has_dims(n, VECTOR, "'V'", (dim_t[]){ways, a}, 2) &&
           b_has_dims(n, MEMORY, "'M'", (dim_t[]){b, d[4][1], depth}, 3) &&
           b_has_dims(n, MEMORY_LENGTHS, "'memory_seq_lens'", &b, 1) &&
           b_has_dims(n, LAYER, "'AW'", (dim_t[]){ways, dim_add(t, h, depth), found}, 3);
}

static void read_lengths(struct attention_lstm *s)
{
    struct builder *b = s->n->b;
    struct value *given = b_in(s->n, LENGTHS), *x = s->n->in[0], *memory = b_in(s->n, MEMORY_LENGTHS);
    struct value *steps = b_dim(b, x, 0), *batch = b_dim(b, x, 1);
    s->lengths = given ? b_cast(b, given, DT_I64) : b_2(b, OP_expand, steps, batch);
    if (!memory)
        return;
    struct value *places = count_up(s->n, b_dim(b, s->n->in[MEMORY], 1));
    s->allowed = b_2(b, OP_lt, places, b_unsqueeze(b, b_cast(b, memory, DT_I64), last, 1));
}

/* ---- a step ---- */

/* The attributes of an LSTM of one direction. */
static bool lstm_attributes(struct attention_lstm *s, struct attrs *to)
{
    static const char *const drop[] = {"direction", "activations", NULL};
    struct onnx_node *n = s->n;
    int names, alpha, beta;
    const struct str *functions = attr_strs(&n->attrs, "activations", &names);
    attr_floats(&n->attrs, "activation_alpha", &alpha);
    attr_floats(&n->attrs, "activation_beta", &beta);
    *to = b_attrs_without(n, drop);
    if (functions && names != FUNCTIONS * s->directions)
        return NODE_ERROR(n, "attribute 'activations' has %d names, expected %lld", names,
                          (long long)(FUNCTIONS * s->directions));
    if (s->directions > 1 && (alpha || beta))
        return NODE_ERROR(n, "attribute '%s' is supported in one direction only, this node has two",
                          alpha ? "activation_alpha" : "activation_beta");
    if (functions)
        attr_set_strs(&n->b->g->arena, to, "activations", functions + FUNCTIONS * s->at, FUNCTIONS);
    return true;
}

/* (B,depth): what is found in the memory by a state (B,H). */
static struct value *look(struct attention_lstm *s, struct value *state)
{
    struct builder *b = s->n->b;
    struct attrs a = {0};
    struct value *query = b_unsqueeze(b, b_2(b, OP_matmul, state, matrix(s, QUERY)), second, 1);
    struct value *vector = b_unsqueeze(b, matrix(s, VECTOR), last, 1);
    struct value *scores = b_2(b, OP_matmul, b_1(b, OP_tanh, b_add(b, s->keys, query)), vector);
    scores = b_squeeze(b, scores, last, 1);
    if (s->allowed)
        scores = b_select(b, s->allowed, scores, b_like(b, scores, -INFINITY));
    attr_set_int(&b->g->arena, &a, "axis", -1);
    struct value *shares = b_unsqueeze(b, b_op(b, OP_softmax, &scores, 1, &a), second, 1);
    return b_squeeze(b, b_2(b, OP_matmul, shares, s->n->in[MEMORY]), second, 1);
}

/* The body's results from its parameters: states (1,B,H), (1,B,H) and (B,found), a row of the input (B,I), its place.
 */
static bool step(struct attention_lstm *s, const struct attrs *a, struct value *const *in, struct value **out)
{
    struct builder *b = s->n->b;
    struct value *x = b_concat(b, (struct value *[]){in[STEPS_OUT], in[FOUND]}, 2, 1);
    struct value *operands[] = {b_unsqueeze(b, x, front, 1), of_direction(s, 1), of_direction(s, 2),
                                of_direction(s, 3), NULL, in[HIDDEN], in[CELL], of_direction(s, PEEPHOLES)};
    struct node *cell = b_node(b, OP_lstm, operands, 8, 3, a);
    if (!cell)
        return false;
    struct value *state = b_squeeze(b, cell->out[1], front, 1), *found = look(s, state);
    if (b_in(s->n, LAYER)) {
        struct value *both = b_concat(b, (struct value *[]){state, found}, 2, 1);
        found = b_2(b, OP_matmul, both, matrix(s, LAYER));
    }
    struct value *goes_on = b_unsqueeze(b, b_2(b, OP_lt, in[STEPS_OUT + 1], s->lengths), last, 1);
    for (int i = HIDDEN; i <= CELL; i++)
        out[i] = b_select(b, goes_on, cell->out[1 + i], in[i]);
    out[FOUND] = found;
    out[STEPS_OUT] = b_select(b, goes_on, state, b_like(b, state, 0));
    return !diag_failed(b->d);
}

/* ---- all steps ---- */

static struct value *zeros(struct attention_lstm *s, struct value *const *shape, int count)
{
    struct builder *b = s->n->b;
    struct value *zero = b_like(b, s->n->in[0], 0);
    return b_2(b, OP_expand, zero, b_concat(b, shape, count, 0));
}

static struct value *initial(struct attention_lstm *s, int operand)
{
    struct builder *b = s->n->b;
    struct value *shape[] = {b_i64(b, 1), b_dim(b, s->n->in[0], 1), b_dim(b, s->n->in[2], 2)};
    return b_in(s->n, operand) ? of_direction(s, operand) : zeros(s, shape, 3);
}

static struct value *reversed(struct attention_lstm *s, struct value *x, bool backward)
{
    return backward ? b_2(s->n->b, OP_reverse_sequence, x, s->lengths) : x;
}

/* One direction: out has Y (S,1,B,H), and the last states (1,B,H). */
static bool run_direction(struct attention_lstm *s, bool backward, struct value **out)
{
    struct builder *b = s->n->b;
    struct arena *arena = &b->g->arena;
    struct attrs a = {0};
    struct value *layer = matrix(s, b_in(s->n, LAYER) ? LAYER : MEMORY_WEIGHT);
    struct value *width = b_dim(b, layer, b_in(s->n, LAYER) ? 1 : 0), *x = reversed(s, s->n->in[0], backward);
    struct value *in[] = {initial(s, STATE_H), initial(s, STATE_C),
                          zeros(s, (struct value *[]){b_dim(b, x, 1), width}, 2), x, count_up(s->n, b_dim(b, x, 0))};
    s->keys = b_2(b, OP_matmul, s->n->in[MEMORY], matrix(s, MEMORY_WEIGHT));
    if (diag_failed(b->d) || !lstm_attributes(s, &a))
        return false;
    struct node *scan = b_place(b, OP_scan, in, SCAN_STATES + SCAN_SLICES, SCAN_STATES + 1, NULL);
    attr_set_int(arena, &scan->attrs, "num_scan_inputs", SCAN_SLICES);
    struct region *outside = b->r, *r = b->r = node_add_region(b->g, scan);
    struct value *given[SCAN_STATES + SCAN_SLICES], *made[SCAN_STATES + 1];
    for (int i = 0; i < SCAN_STATES + SCAN_SLICES; i++) {
        struct type t = in[i]->type;
        for (int k = 0; i >= SCAN_STATES && k + 1 < t.rank; k++)
            t.dims[k] = t.dims[k + 1];
        t.rank -= i >= SCAN_STATES;
        given[i] = region_add_param(r, &t, NULL);
    }
    bool ok = step(s, &a, given, made);
    b->r = outside;
    if (!ok)
        return false;
    node_append(r, node_new(b->g, OP_return, made, SCAN_STATES + 1, 0, ""));
    if (!infer_node(b->g, scan, b->d))
        return false;
    out[0] = b_unsqueeze(b, reversed(s, scan->out[STEPS_OUT], backward), second, 1);
    out[1] = scan->out[HIDDEN], out[2] = scan->out[CELL];
    return !diag_failed(b->d);
}

bool lower_attention_lstm(struct onnx_node *n)
{
    static const char *const ways[] = {"forward", "reverse", "bidirectional", NULL};
    struct attention_lstm s = {.n = n, .directions = attr_is(&n->attrs, "direction", "bidirectional") ? 2 : 1};
    struct value *out[2][3];
    if (!b_is_one_of(n, "direction", ways) || !check_operands(&s))
        return false;
    read_lengths(&s);
    for (s.at = 0; s.at < s.directions; s.at++)
        if (!run_direction(&s, s.at || attr_is(&n->attrs, "direction", "reverse"), out[s.at]))
            return false;
    for (int i = 0; i < n->nout; i++)
        n->out[i] = s.directions > 1 ? b_concat(n->b, (struct value *[]){out[0][i], out[1][i]}, 2, i == 0) : out[0][i];
    return !diag_failed(n->b->d);
}
