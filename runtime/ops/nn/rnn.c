#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- activations ---- */

typedef double activation_fn(double x, double a, double b);
static double act_sigmoid(double x, double a, double b)
{
    return 1 / (1 + exp(-x));
}
static double act_tanh(double x, double a, double b)
{
    return tanh(x);
}
static double act_relu(double x, double a, double b)
{
    return x < 0 ? 0 : x;
}
static double act_leaky(double x, double a, double b)
{
    return x < 0 ? a * x : x;
}
static double act_thresholded(double x, double a, double b)
{
    return x > a ? x : 0;
}
static double act_scaled_tanh(double x, double a, double b)
{
    return a * tanh(b * x);
}
static double act_hard_sigmoid(double x, double a, double b)
{
    return fmin(fmax(a * x + b, 0), 1);
}
static double act_elu(double x, double a, double b)
{
    return x < 0 ? a * expm1(x) : x;
}
static double act_softsign(double x, double a, double b)
{
    return x / (1 + fabs(x));
}
static double act_softplus(double x, double a, double b)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}
static double act_affine(double x, double a, double b)
{
    return a * x + b;
}

static const struct rnn_activation {
    const char *name;
    activation_fn *fn;
    int parameters; /* how many of alpha and beta it takes */
    double alpha, beta;
} activations[] = {
    {"Sigmoid", act_sigmoid, 0, 0, 0},
    {"Tanh", act_tanh, 0, 0, 0},
    {"Relu", act_relu, 0, 0, 0},
    {"LeakyRelu", act_leaky, 1, 0.01, 0},
    {"ThresholdedRelu", act_thresholded, 1, 1, 0},
    {"ScaledTanh", act_scaled_tanh, 2, 1, 1},
    {"HardSigmoid", act_hard_sigmoid, 2, 0.2, 0.5},
    {"Elu", act_elu, 1, 1, 0},
    {"Softsign", act_softsign, 0, 0, 0},
    {"Softplus", act_softplus, 0, 0, 0},
    {"Affine", act_affine, 2, 1, 0},
};

static bool find_activation(struct rnn_activation *to, struct str name, struct diag *d)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (name.n == strlen(activations[i].name) &&
            !strncasecmp(name.p, activations[i].name, name.n)) {
            *to = activations[i];
            return true;
        }
    return fail(d, "activation '%.*s' is not known", (int)name.n, name.p);
}

/* ---- one layer ---- */

enum { MAX_ACTIVATIONS = 3 };

struct layer;
/* One step of one sequence: x holds the gates' input part (gates * hidden), state h (and c) is
 * replaced. */
typedef void step_fn(const struct layer *l, int dir, const double *x, double *h, double *c);

struct layer {
    int gates, nact; /* per direction */
    int ndir;
    bool reverse, by_batch, reset_after, input_forget, round_state;
    int64_t steps, batch, inputs, hidden;
    const double *state_scales; /* for each direction; NULL: ones */
    double clip;                /* infinity: none */
    struct rnn_activation act[2 * MAX_ACTIVATIONS];
    double *r, *bias, *peephole; /* as the operands lie; NULL: zeros */
    double *gate, *scratch;      /* gates * hidden and hidden */
    double *projected;           /* of one direction: products of the inputs, all steps and sequences */
    step_fn *step;
};

static double activate(const struct layer *l, int dir, int which, double x)
{
    const struct rnn_activation *a = &l->act[dir * l->nact + which];
    x = x > l->clip ? l->clip : x < -l->clip ? -l->clip : x;
    return a->fn(x, a->alpha, a->beta);
}

/* Sum over j of r[dir][gate * hidden + i][j] h[j]. */
static double recurrent(const struct layer *l, int dir, int gate, int64_t i, const double *h)
{
    const double *row = l->r + ((dir * l->gates + gate) * l->hidden + i) * l->hidden;
    double sum = 0;
    for (int64_t j = 0; j < l->hidden; j++)
        sum += row[j] * h[j];
    return sum;
}

static double bias_of(const struct layer *l, int dir, int gate, int64_t i, bool of_r)
{
    return l->bias ? l->bias[((dir * 2 + of_r) * l->gates + gate) * l->hidden + i] : 0;
}

static double gate_input(const struct layer *l, int dir, int gate, int64_t i, const double *x,
                         const double *h)
{
    return x[gate * l->hidden + i] + recurrent(l, dir, gate, i, h) +
           bias_of(l, dir, gate, i, false) + bias_of(l, dir, gate, i, true);
}

static void rnn_step(const struct layer *l, int dir, const double *x, double *h, double *c)
{
    for (int64_t i = 0; i < l->hidden; i++)
        l->gate[i] = activate(l, dir, 0, gate_input(l, dir, 0, i, x, h));
    memcpy(h, l->gate, (size_t)l->hidden * sizeof *h);
}

static void gru_step(const struct layer *l, int dir, const double *x, double *h, double *c)
{
    int64_t n = l->hidden;
    double *z = l->gate, *r = z + n, *next = r + n, *reset = l->scratch;
    for (int64_t i = 0; i < n; i++) {
        z[i] = activate(l, dir, 0, gate_input(l, dir, 0, i, x, h));
        r[i] = activate(l, dir, 0, gate_input(l, dir, 1, i, x, h));
        reset[i] = r[i] * h[i];
    }
    for (int64_t i = 0; i < n; i++) {
        double wb = bias_of(l, dir, 2, i, false), rb = bias_of(l, dir, 2, i, true);
        double part = l->reset_after ? r[i] * (recurrent(l, dir, 2, i, h) + rb)
                                     : recurrent(l, dir, 2, i, reset) + rb;
        next[i] = activate(l, dir, 1, x[2 * n + i] + wb + part);
    }
    for (int64_t i = 0; i < n; i++)
        h[i] = (1 - z[i]) * next[i] + z[i] * h[i];
}

static void lstm_step(const struct layer *l, int dir, const double *x, double *h, double *c)
{
    enum { IN, OUT, FORGET, CELL };
    int64_t n = l->hidden;
    const double *p = l->peephole ? l->peephole + dir * 3 * n : NULL; /* i, o, f */
    for (int64_t i = 0; i < n; i++) {
        double in = gate_input(l, dir, IN, i, x, h) + (p ? p[i] * c[i] : 0);
        double forget = gate_input(l, dir, FORGET, i, x, h) + (p ? p[2 * n + i] * c[i] : 0);
        double cell = activate(l, dir, 1, gate_input(l, dir, CELL, i, x, h));
        in = activate(l, dir, 0, in);
        forget = l->input_forget ? 1 - in : activate(l, dir, 0, forget);
        l->scratch[i] = forget * c[i] + in * cell;
    }
    for (int64_t i = 0; i < n; i++) {
        const struct rnn_activation *a = &l->act[dir * l->nact + 2];
        double out = gate_input(l, dir, OUT, i, x, h) + (p ? p[n + i] * l->scratch[i] : 0);
        l->gate[i] = activate(l, dir, 0, out) * a->fn(l->scratch[i], a->alpha, a->beta);
    }
    memcpy(c, l->scratch, (size_t)n * sizeof *c);
    memcpy(h, l->gate, (size_t)n * sizeof *h);
}

static const struct rnn_cell {
    enum op op;
    int gates, nact;
    const char *act[MAX_ACTIVATIONS]; /* defaults */
    step_fn *step;
} cells[] = {
    {OP_rnn, 1, 1, {"Tanh"}, rnn_step},
    {OP_gru, 3, 2, {"Sigmoid", "Tanh"}, gru_step},
    {OP_lstm, 4, 3, {"Sigmoid", "Tanh", "Tanh"}, lstm_step},
};

static const struct rnn_cell *cell_of(enum op op)
{
    const struct rnn_cell *cell = cells;
    while (cell->op != op)
        cell++;
    return cell;
}

/* ---- shapes ---- */

/* Every operand has the sizes that x and hidden_size demand. */
static bool layer_operands(struct infer *f, dim_t dirs, dim_t hidden, dim_t batch, bool by_batch)
{
    int64_t gates = f->op == OP_lstm ? 4 : f->op == OP_gru ? 3 : 1;
    dim_t rows = dim_mul(f->dims, hidden, gates);
    dim_t w[] = {dirs, rows, f->in[0].dims[2]}, r[] = {dirs, rows, hidden};
    dim_t b[] = {dirs, dim_mul(f->dims, rows, 2)}, p[] = {dirs, dim_mul(f->dims, hidden, 3)};
    dim_t state[] = {by_batch ? batch : dirs, by_batch ? dirs : batch, hidden};
    return require_shape(f, 1, "W", 3, w) && require_shape(f, 2, "R", 3, r) &&
           require_shape(f, 3, "B", 2, b) && require_shape(f, 4, "sequence_lens", 1, &batch) &&
           require_shape(f, 5, "initial_h", 3, state) &&
           (f->op != OP_lstm ||
            (require_shape(f, 6, "initial_c", 3, state) && require_shape(f, 7, "P", 2, p)));
}

static bool infer_layer(struct infer *f)
{
    bool by_batch = attr_int(f->attrs, "layout", 0) != 0;
    dim_t dirs = attr_is(f->attrs, "direction", "bidirectional") ? 2 : 1;
    dim_t hidden = attr_int(f->attrs, "hidden_size", 0);
    const struct type *x = &f->in[0], *r = &f->in[2];
    if (hidden <= 0 && r->rank == 3)
        hidden = r->dims[2];
    bool known = x->rank != RANK_UNKNOWN && hidden > 0;
    if (known && x->rank != 3)
        return fail(f->d, "x has rank %d, expected 3", x->rank);
    if (!known) {
        for (int i = 0; i < f->nout; i++)
            infer_any(f, i, x->dtype);
        return true;
    }
    dim_t steps = x->dims[by_batch], batch = x->dims[!by_batch];
    if (!layer_operands(f, dirs, hidden, batch, by_batch))
        return false;
    if (f->nout > 0)
        infer_out(f, 0, x->dtype, 4,
                  by_batch ? (dim_t[]){batch, steps, dirs, hidden}
                           : (dim_t[]){steps, dirs, batch, hidden});
    for (int i = 1; i < f->nout; i++)
        infer_out(f, i, x->dtype, 3,
                  by_batch ? (dim_t[]){batch, dirs, hidden} : (dim_t[]){dirs, batch, hidden});
    return true;
}

INFER_AS(rnn, infer_layer)
INFER_AS(gru, infer_layer)
INFER_AS(lstm, infer_layer)

/* ---- driver ---- */

static bool read_activations(struct layer *l, const struct rnn_cell *cell, const struct attrs *as,
                             struct diag *d)
{
    int n, nalpha, nbeta, alpha_at = 0, beta_at = 0;
    const struct str *names = attr_strs(as, "activations", &n);
    const double *alpha = attr_floats(as, "activation_alpha", &nalpha);
    const double *beta = attr_floats(as, "activation_beta", &nbeta);
    if (names && n != l->ndir * l->nact)
        return fail(d, "activations has %d names, expected %d", n, l->ndir * l->nact);
    for (int i = 0; i < l->ndir * l->nact; i++) {
        const char *plain = cell->act[i % l->nact];
        struct rnn_activation *a = &l->act[i];
        if (!find_activation(a, names ? names[i] : (struct str){plain, strlen(plain)}, d))
            return false;
        if (a->parameters > 0 && alpha_at < nalpha)
            a->alpha = alpha[alpha_at++];
        if (a->parameters > 1 && beta_at < nbeta)
            a->beta = beta[beta_at++];
    }
    return true;
}

static bool check_count(struct op_call *c, int i, int64_t expected)
{
    if (!has_operand(c, i) || tensor_count(c->in[i]) == expected)
        return true;
    return fail(c->env->d, "operand %d of %s has %lld elements, expected %lld", i, op_name(c->op),
                (long long)tensor_count(c->in[i]), (long long)expected);
}

static bool load_layer(struct op_call *c, struct work *w, struct layer *l, const struct rnn_cell *cell)
{
    const struct tensor *x = c->in[0], *r = c->in[2];
    bool lstm = c->op == OP_lstm;
    if (x->rank != 3 || c->in[1]->rank != 3 || r->rank != 3)
        return fail(w->d, "x, w and r of %s have rank %d, %d and %d, expected 3", op_name(c->op),
                    x->rank, c->in[1]->rank, r->rank);
    l->gates = cell->gates;
    l->nact = cell->nact;
    l->ndir = attr_is(c->attrs, "direction", "bidirectional") ? 2 : 1;
    l->reverse = attr_is(c->attrs, "direction", "reverse");
    l->by_batch = attr_int(c->attrs, "layout", 0) != 0;
    l->reset_after = attr_int(c->attrs, "linear_before_reset", 0) != 0;
    l->input_forget = attr_int(c->attrs, "input_forget", 0) != 0;
    l->round_state = lstm && attr_int(c->attrs, "round_state", 0) != 0;
    int scales = 0;
    l->state_scales = attr_floats(c->attrs, "state_scales", &scales);
    l->clip = attr_float(c->attrs, "clip", INFINITY);
    l->steps = x->dims[l->by_batch];
    l->batch = x->dims[!l->by_batch];
    l->inputs = x->dims[2];
    l->hidden = r->dims[2];
    if (l->state_scales && scales < l->ndir)
        return fail(w->d, "%d state_scales for %d directions", scales, l->ndir);
    int64_t rows = l->ndir * l->gates * l->hidden, states = l->ndir * l->batch * l->hidden;
    if (!check_count(c, 1, rows * l->inputs) || !check_count(c, 2, rows * l->hidden) ||
        !check_count(c, 3, 2 * rows) || !check_count(c, 4, l->batch) ||
        !check_count(c, 5, states) ||
        (lstm && (!check_count(c, 6, states) || !check_count(c, 7, 3 * l->ndir * l->hidden))) ||
        !read_activations(l, cell, c->attrs, w->d))
        return false;
    l->r = work_doubles(w, r);
    l->gate = WORK(w, double, l->gates * l->hidden);
    l->scratch = WORK(w, double, l->hidden);
    return l->r && l->gate && l->scratch && work_optional(c, w, 3, &l->bias) &&
           (!lstm || work_optional(c, w, 7, &l->peephole));
}

/* projected (steps * batch or batch * steps, gates * hidden) = x w^T, for one direction. */
static bool project(struct work *w, const struct layer *l, const double *x, const double *weight,
                    double *projected)
{
    int64_t rows = l->gates * l->hidden;
    double *turned = WORK(w, double, rows * l->inputs);
    if (!turned)
        return false;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < l->inputs; j++)
            turned[j * rows + i] = weight[i * l->inputs + j];
    multiply_f64(l->steps * l->batch, rows, l->inputs, x, turned, projected);
    return true;
}

static int64_t state_at(const struct layer *l, int dir, int64_t b)
{
    return (l->by_batch ? b * l->ndir + dir : dir * l->batch + b) * l->hidden;
}

/* To 8 bits of its range, times a factor. */
static void round_state(double *h, int64_t n, double factor)
{
    float low = 0, high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = fminf(low, (float)h[i]);
        high = fmaxf(high, (float)h[i]);
    }
    float scale = (high - low) / 255;
    scale = scale > 0 ? scale : 1;
    double zero = nearbyintf(-low / scale);
    for (int64_t i = 0; i < n; i++)
        h[i] = (clamp_to_type(DT_U8, nearbyintf((float)h[i] / scale) + zero) - zero) * scale * factor;
}

/* Runs sequence b in one direction from state h, c at its end, writing y. */
static void run_sequence(const struct layer *l, int dir, int64_t b, int64_t length, double *h, double *cell, double *y)
{
    bool backwards = l->reverse || dir == 1;
    for (int64_t s = 0; s < length; s++) {
        int64_t t = backwards ? length - 1 - s : s;
        int64_t row = l->by_batch ? b * l->steps + t : t * l->batch + b;
        int64_t to = l->by_batch ? row * l->ndir + dir : (t * l->ndir + dir) * l->batch + b;
        if (l->round_state) /* an LSTM's step reads it in products only */
            round_state(h, l->hidden, l->state_scales ? l->state_scales[dir] : 1);
        l->step(l, dir, l->projected + row * l->gates * l->hidden, h, cell);
        memcpy(y + to * l->hidden, h, (size_t)l->hidden * sizeof *h);
    }
}

static bool check_lengths(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    int64_t n = tensor_count(x);
    if (tensor_count(c->in[1]) != 1)
        return fail(c->env->d, "%lld numbers of steps, expected one", (long long)tensor_count(c->in[1]));
    int64_t steps = tensor_i64(c->in[1], 0);
    for (int64_t i = 0; i < n; i++)
        if (tensor_i64(x, i) < 0 || tensor_i64(x, i) > steps)
            return fail(c->env->d, "sequence %lld has length %lld, expected 0 to %lld, the steps of the input",
                        (long long)i, (long long)tensor_i64(x, i), (long long)steps);
    memcpy(c->out[0]->data, x->data, tensor_bytes(x));
    return true;
}

static bool infer_lengths(struct infer *f)
{
    return infer_same(f, 0, 0);
}

INFER_AS(sequence_lengths, infer_lengths)
EVAL_AS(sequence_lengths, check_lengths)

/* The steps in which sequence b takes part, as tile programs have it: while step < length. A longer one takes part in
 * all. */
static int64_t length_of(const struct op_call *c, const struct layer *l, int64_t b)
{
    int64_t length = has_operand(c, 4) ? tensor_i64(c->in[4], b) : l->steps;
    return length < 0 ? 0 : length < l->steps ? length : l->steps;
}

static bool run_layer(struct op_call *c, struct work *w)
{
    const struct rnn_cell *cell = cell_of(c->op);
    struct layer l = {0};
    double *h, *state = NULL;
    if (!load_layer(c, w, &l, cell))
        return false;
    int64_t states = l.ndir * l.batch * l.hidden, rows = l.gates * l.hidden;
    double *x = work_doubles(w, c->in[0]), *weight = work_doubles(w, c->in[1]);
    l.step = cell->step;
    l.projected = WORK(w, double, l.steps *l.batch *rows);
    double *y = WORK(w, double, l.steps *states);
    if (!x || !weight || !l.projected || !y || !work_optional(c, w, 5, &h) ||
        (c->op == OP_lstm && !work_optional(c, w, 6, &state)) ||
        (!h && !(h = WORK(w, double, states))) || (!state && !(state = WORK(w, double, states))))
        return false;
    for (int dir = 0; dir < l.ndir; dir++) {
        if (!project(w, &l, x, weight + dir * rows * l.inputs, l.projected))
            return false;
        for (int64_t b = 0; b < l.batch; b++) {
            int64_t at = state_at(&l, dir, b);
            run_sequence(&l, dir, b, length_of(c, &l, b), h + at, state + at, y);
        }
    }
    double *results[] = {y, h, state};
    for (int i = 0; i < c->nout; i++)
        if (wants_result(c, i))
            call_store(c, i, results[i]);
    return true;
}

EVAL_AS_WORK(rnn, run_layer)
EVAL_AS_WORK(gru, run_layer)
EVAL_AS_WORK(lstm, run_layer)
