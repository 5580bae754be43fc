#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"

#include <math.h>

/* ---- batch normalisation: statistics per channel ---- */

static int64_t batch_axis(const struct attrs *as, int rank)
{
    int64_t axis = attr_int(as, "axis", 1);
    axis += axis < 0 ? rank : 0;
    return rank == 1 && axis == 1 ? 0 : axis; /* a vector is N values of one channel each */
}

static bool infer_batch(struct infer *f)
{
    const struct type *x = &f->in[0];
    if (x->rank > 1) {
        int axis;
        if (!infer_axis(f, attr_int(f->attrs, "axis", 1), x->rank, &axis))
            return false;
        for (int i = 1; i < 5; i++) {
            const struct type *p = &f->in[i];
            if (p->rank != RANK_UNKNOWN && p->rank != 1)
                return fail(f->d, "operand %d of batch_norm is not one value per channel", i);
            if (p->rank == 1 && !require_equal(f, x->dims[axis], p->dims[0], between(0, i, axis)))
                return false;
        }
    }
    return infer_same(f, 0, 0);
}

INFER_AS(batch_norm, infer_batch)

bool infer_batch_norm_train(struct infer *f)
{
    return infer_batch(f) && infer_same(f, 1, 3) && infer_same(f, 2, 4);
}

struct batch {
    double *x, *scale, *bias, *mean, *var;
    struct around a;
    double epsilon;
};

/* All but x, or x too. */
static bool load_batch(struct op_call *c, struct work *w, struct batch *b, bool whole)
{
    const struct tensor *x = c->in[0];
    int axis = (int)batch_axis(c->attrs, x->rank);
    double **parts[] = {&b->x, &b->scale, &b->bias, &b->mean, &b->var};
    if (x->rank < 1 || (x->rank == 1 && tensor_count(c->in[1]) == 1))
        b->a = (struct around){tensor_count(x), 1, 1};
    else
        b->a = around_axis(x, axis, axis + 1);
    b->epsilon = attr_float(c->attrs, "epsilon", 1e-5);
    for (int i = whole ? 0 : 1; i < 5; i++) {
        if (i > 0 && tensor_count(c->in[i]) != b->a.n)
            return fail(w->d, "operand %d of batch_norm has %lld elements, expected %lld", i,
                        (long long)tensor_count(c->in[i]), (long long)b->a.n);
        if (!(*parts[i] = work_doubles(w, c->in[i])))
            return false;
    }
    return true;
}

static void apply_channel(const struct batch *b, int64_t ch, int64_t n, double *v)
{
    double factor = b->scale[ch] / sqrt(b->var[ch] + b->epsilon);
    for (int64_t i = 0; i < n; i++)
        v[i] = (v[i] - b->mean[ch]) * factor + b->bias[ch];
}

static void apply_batch(const struct batch *b)
{
    for (int64_t o = 0; o < b->a.outer; o++)
        for (int64_t ch = 0; ch < b->a.n; ch++)
            apply_channel(b, ch, b->a.inner, b->x + (o * b->a.n + ch) * b->a.inner);
}

/* A channel's plane at a time, or a pixel's channels where they lie side by side. */
static bool batch_norm(struct op_call *c, struct work *w)
{
    struct batch b;
    if (!load_batch(c, w, &b, false))
        return false;
    bool planes = b.a.inner != 1;
    int64_t run = planes ? b.a.inner : b.a.n, runs = b.a.outer * (planes ? b.a.n : 1);
    double *v = WORK(w, double, run);
    if (!v)
        return false;
    for (int64_t r = 0; run && r < runs; r++) {
        dtype_load_f64n(c->in[0]->dtype, element(c->in[0], r * run), (size_t)run, v);
        if (planes)
            apply_channel(&b, r % b.a.n, run, v);
        for (int64_t ch = 0; !planes && ch < run; ch++)
            apply_channel(&b, ch, 1, v + ch);
        dtype_store_f64n(c->out[0]->dtype, element(c->out[0], r * run), (size_t)run, v);
    }
    return true;
}

EVAL_WITH_WORK(batch_norm)

/* Mean and variance of n values `stride` apart in each of `outer` blocks `block` apart. */
static void moments(const double *v, int64_t outer, int64_t block, int64_t n, int64_t stride,
                    double *mean, double *var)
{
    double sum = 0, squares = 0, count = (double)(outer * n);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < n; i++)
            sum += v[o * block + i * stride];
    *mean = sum / count;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < n; i++) {
            double off = v[o * block + i * stride] - *mean;
            squares += off * off;
        }
    *var = squares / count;
}

static bool batch_norm_train(struct op_call *c, struct work *w)
{
    struct batch b;
    double momentum = attr_float(c->attrs, "momentum", 0.9);
    if (!load_batch(c, w, &b, true))
        return false;
    double *running_mean = WORK(w, double, b.a.n), *running_var = WORK(w, double, b.a.n);
    if (!running_mean || !running_var)
        return false;
    for (int64_t ch = 0; ch < b.a.n; ch++) {
        double mean, var;
        moments(b.x + ch * b.a.inner, b.a.outer, b.a.n * b.a.inner, b.a.inner, 1, &mean, &var);
        running_mean[ch] = b.mean[ch] * momentum + mean * (1 - momentum);
        running_var[ch] = b.var[ch] * momentum + var * (1 - momentum);
        b.mean[ch] = mean;
        b.var[ch] = var;
    }
    apply_batch(&b);
    call_store(c, 0, b.x);
    if (wants_result(c, 1))
        call_store(c, 1, running_mean);
    if (wants_result(c, 2))
        call_store(c, 2, running_var);
    return true;
}

EVAL_WITH_WORK(batch_norm_train)

/* ---- instance and group normalisation: statistics per image and group of channels ---- */

/* A scale and a bias for each channel. */
static bool infer_groups(struct infer *f)
{
    const struct type *x = &f->in[0];
    bool last = attr_int(f->attrs, "channels_last", 0) != 0;
    int at = last ? x->rank - 1 : 1;
    for (int i = 1; i < 3 && x->rank > 1; i++)
        if (f->in[i].rank == 1 &&
            !require_equal(f, x->dims[at], f->in[i].dims[0], between(0, i, at)))
            return false;
    return infer_same(f, 0, 0);
}

INFER_AS(instance_norm, infer_groups)

bool infer_group_norm(struct infer *f)
{
    int64_t groups = attr_int(f->attrs, "num_groups", 1);
    int at = attr_int(f->attrs, "channels_last", 0) ? f->in[0].rank - 1 : 1;
    if (f->in[0].rank > 1 && groups > 0 &&
        !require_multiple(f, f->in[0].dims[at], groups, named("channels by groups", 0, at)))
        return false;
    return infer_groups(f);
}

static bool normalise_groups(struct op_call *c, struct work *w, int64_t groups)
{
    const struct tensor *t = c->in[0];
    if (t->rank < 2)
        return fail(w->d, "%s has x of rank %d, expected 2 or more", op_name(c->op), t->rank);
    struct image m = image_of(t, attr_int(c->attrs, "channels_last", 0) != 0);
    double epsilon = attr_float(c->attrs, "epsilon", 1e-5), mean, var;
    double *x = work_doubles(w, t), *scale = work_doubles(w, c->in[1]),
           *bias = work_doubles(w, c->in[2]);
    if (!x || !scale || !bias)
        return false;
    groups = groups ? groups : m.channels;
    if (groups < 1 ? m.channels > 0 : m.channels % groups != 0)
        return fail(w->d, "%lld channels do not divide into %lld groups", (long long)m.channels,
                    (long long)groups);
    if (tensor_count(c->in[1]) != m.channels || tensor_count(c->in[2]) != m.channels)
        return fail(w->d, "scale and bias have %lld and %lld elements, expected %lld",
                    (long long)tensor_count(c->in[1]), (long long)tensor_count(c->in[2]),
                    (long long)m.channels);
    int64_t size = groups ? m.channels / groups : 0;
    for (int64_t n = 0; n < m.n; n++)
        for (int64_t g = 0; g < groups; g++) {
            double *group = x + n * m.image + g * size * m.channel;
            moments(group, size, m.channel, m.positions, m.pixel, &mean, &var);
            for (int64_t ch = 0; ch < size; ch++)
                for (int64_t p = 0; p < m.positions; p++) {
                    double *v = group + ch * m.channel + p * m.pixel;
                    *v = (*v - mean) / sqrt(var + epsilon) * scale[g * size + ch] +
                         bias[g * size + ch];
                }
        }
    call_store(c, 0, x);
    return true;
}

static bool instance_norm(struct op_call *c, struct work *w)
{
    return normalise_groups(c, w, 0);
}
static bool group_norm(struct op_call *c, struct work *w)
{
    int64_t groups = attr_int(c->attrs, "num_groups", 1);
    if (groups < 1)
        return fail(w->d, "num_groups is %lld, expected 1 or more", (long long)groups);
    return normalise_groups(c, w, groups);
}

EVAL_WITH_WORK(instance_norm)
EVAL_WITH_WORK(group_norm)

/* ---- layer and RMS normalisation: statistics over the last dims ---- */

bool infer_layer_norm(struct infer *f)
{
    int stash = (int)attr_int(f->attrs, "stash_type", DT_F32), axis;
    struct type stats = f->in[0];
    if (stats.rank > 0) {
        if (!infer_axis(f, attr_int(f->attrs, "axis", -1), stats.rank, &axis))
            return false;
        for (int i = axis; i < stats.rank; i++)
            stats.dims[i] = 1;
    }
    for (int i = 1; i < f->nout; i++)
        infer_out(f, i, stash, stats.rank, stats.dims);
    for (int i = 1; i < 3; i++)
        if (has_input(f, i) && stats.rank >= 0 && !require_expands_to(f, i, &f->in[0]))
            return false;
    return infer_same(f, 0, 0);
}

INFER_AS(rms_norm, infer_layer_norm)

static bool normalise_rows(struct op_call *c, struct work *w, bool centred)
{
    const struct tensor *t = c->in[0];
    int64_t axis = attr_int(c->attrs, "axis", -1);
    axis += axis < 0 ? t->rank : 0;
    struct around a = {1, 1, 1};
    if (t->rank)
        a = around_axis(t, (int)axis, t->rank);
    double epsilon = attr_float(c->attrs, "epsilon", 1e-5), *bias;
    double *x = work_doubles(w, t), *scale = work_doubles(w, c->in[1]);
    if (!x || !scale || !work_optional(c, w, 2, &bias))
        return false;
    int64_t *at_scale = broadcast_offsets(w, c->in[1], t->dims, t->rank);
    int64_t *at_bias = bias ? broadcast_offsets(w, c->in[2], t->dims, t->rank) : at_scale;
    if (!at_scale || !at_bias)
        return false;
    for (int64_t row = 0; row < a.outer; row++) {
        int64_t first = row * a.n;
        double mean = 0, var;
        if (centred) {
            moments(x + first, 1, 0, a.n, 1, &mean, &var);
        } else {
            double squares = 0;
            for (int64_t i = first; i < first + a.n; i++)
                squares += x[i] * x[i];
            var = squares / (double)a.n;
        }
        double inverse = 1 / sqrt(var + epsilon);
        for (int64_t i = first; i < first + a.n; i++)
            x[i] = (x[i] - mean) * inverse * scale[at_scale[i]] + (bias ? bias[at_bias[i]] : 0);
        if (wants_result(c, 1))
            dtype_store_f64(c->out[1]->dtype, c->out[1]->data, (size_t)row, mean);
        if (wants_result(c, 2))
            dtype_store_f64(c->out[2]->dtype, c->out[2]->data, (size_t)row, inverse);
    }
    call_store(c, 0, x);
    return true;
}

static bool layer_norm(struct op_call *c, struct work *w)
{
    return normalise_rows(c, w, true);
}
static bool rms_norm(struct op_call *c, struct work *w)
{
    return normalise_rows(c, w, false);
}

EVAL_WITH_WORK(layer_norm)
EVAL_WITH_WORK(rms_norm)

/* ---- local response normalisation ---- */

bool infer_lrn(struct infer *f)
{
    return infer_same(f, 0, 0);
}

static bool lrn(struct op_call *c, struct work *w)
{
    const struct tensor *t = c->in[0];
    if (t->rank < 2)
        return fail(w->d, "lrn has x of rank %d, expected 2 or more", t->rank);
    struct image m = image_of(t, false);
    int64_t size = attr_int(c->attrs, "size", 1), before = (size - 1) / 2,
            after = size - 1 - before;
    double alpha = attr_float(c->attrs, "alpha", 1e-4), beta = attr_float(c->attrs, "beta", 0.75);
    double bias = attr_float(c->attrs, "bias", 1), *x = work_doubles(w, t);
    double *y = WORK(w, double, tensor_count(t));
    if (!x || !y)
        return false;
    if (size < 1)
        return fail(w->d, "size is %lld, expected 1 or more", (long long)size);
    for (int64_t n = 0; n < m.n; n++)
        for (int64_t ch = 0; ch < m.channels; ch++) {
            int64_t low = ch - before > 0 ? ch - before : 0;
            int64_t high = after < m.channels - ch ? ch + after : m.channels - 1;
            for (int64_t p = 0; p < m.positions; p++) {
                const double *from = x + n * m.image + p;
                double squares = 0;
                for (int64_t i = low; i <= high; i++)
                    squares += from[i * m.channel] * from[i * m.channel];
                y[n * m.image + ch * m.channel + p] =
                    from[ch * m.channel] / pow(bias + alpha / (double)size * squares, beta);
            }
        }
    call_store(c, 0, y);
    return true;
}

EVAL_WITH_WORK(lrn)
