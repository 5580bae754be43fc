#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/random.h"

#include <math.h>
#include <string.h>

/* ---- losses: scores (N,C,d...), one label for each (N,d...) ---- */

static bool infer_loss(struct infer *f)
{
    const struct type *x = &f->in[0], *labels = &f->in[1];
    infer_same(f, 1, 0);
    if (!attr_is(f->attrs, "reduction", "none"))
        return infer_out(f, 0, x->dtype, 0, NULL);
    return infer_out(f, 0, x->dtype, labels->rank, labels->dims);
}

INFER_AS(nll_loss, infer_loss)
INFER_AS(softmax_cross_entropy_loss, infer_loss)

/* x: log probabilities. */
static bool pick(struct op_call *c, struct work *w, const double *x)
{
    const struct tensor *t = c->in[0], *labels = c->in[1];
    struct around a = around_axis(t, 1, 2);
    const struct attr *ignored = attr_find(c->attrs, "ignore_index");
    int64_t ignore = attr_int(c->attrs, "ignore_index", 0), n = tensor_count(labels);
    double *weight, *loss = WORK(w, double, n), sum = 0, total = 0;
    if (!loss || !work_optional(c, w, 2, &weight))
        return false;
    if (n != a.outer * a.inner || (weight && tensor_count(c->in[2]) != a.n))
        return fail(w->d, "labels or weight do not fit scores of %lld classes", (long long)a.n);
    for (int64_t i = 0; i < n; i++) {
        int64_t label = tensor_i64(labels, i);
        if (ignored && label == ignore)
            continue;
        if (label < 0 || label >= a.n)
            return fail(w->d, "label %lld is not one of %lld classes", (long long)label,
                        (long long)a.n);
        double factor = weight ? weight[label] : 1;
        loss[i] = -factor * x[(i / a.inner * a.n + label) * a.inner + i % a.inner];
        sum += loss[i];
        total += factor;
    }
    if (attr_is(c->attrs, "reduction", "none")) {
        call_store(c, 0, loss);
        return true;
    }
    if (!attr_is(c->attrs, "reduction", "sum"))
        sum /= total;
    call_store(c, 0, &sum);
    return true;
}

static bool check_scores(struct op_call *c)
{
    return c->in[0]->rank >= 2 ||
           fail(c->env->d, "scores have rank %d, expected 2 or more", c->in[0]->rank);
}

static bool nll_loss(struct op_call *c, struct work *w)
{
    double *x = work_doubles(w, c->in[0]);
    return x && check_scores(c) && pick(c, w, x);
}

EVAL_WITH_WORK(nll_loss)

static bool cross_entropy(struct op_call *c, struct work *w)
{
    double *x = work_doubles(w, c->in[0]);
    if (!x || !check_scores(c))
        return false;
    struct around a = around_axis(c->in[0], 1, 2);
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t in = 0; in < a.inner; in++) {
            double *v = x + o * a.n * a.inner + in, max = -INFINITY, sum = 0;
            for (int64_t i = 0; i < a.n; i++)
                max = fmax(max, v[i * a.inner]);
            for (int64_t i = 0; i < a.n; i++)
                sum += exp(v[i * a.inner] - max);
            for (int64_t i = 0; i < a.n; i++)
                v[i * a.inner] -= max + log(sum);
        }
    if (wants_result(c, 1))
        call_store(c, 1, x);
    return pick(c, w, x);
}

EVAL_AS_WORK(softmax_cross_entropy_loss, cross_entropy)

/* ---- dropout ---- */

bool infer_dropout(struct infer *f)
{
    infer_out(f, 1, DT_BOOL, f->in[0].rank, f->in[0].dims);
    return infer_same(f, 0, 0);
}

bool eval_dropout(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    struct tensor *y = c->out[0], *mask = wants_result(c, 1) ? c->out[1] : NULL;
    double ratio = has_operand(c, 1) ? tensor_f64(c->in[1], 0) : 0.5;
    bool training = has_operand(c, 2) && tensor_i64(c->in[2], 0) && ratio != 0;
    int64_t n = tensor_count(x);
    if (ratio < 0 || ratio >= 1)
        return fail(c->env->d, "ratio is %g, expected 0 or more and less than 1", ratio);
    if (!training)
        memcpy(y->data, x->data, tensor_bytes(x));
    struct random r = call_random(c);
    for (int64_t i = 0; i < n; i++) {
        bool kept = !training || random_unit(&r) >= ratio;
        if (mask)
            dtype_store_i64(DT_BOOL, mask->data, (size_t)i, kept);
        if (training)
            dtype_store_f64(y->dtype, y->data, (size_t)i,
                            kept ? tensor_f64(x, i) / (1 - ratio) : 0);
    }
    if (training)
        call_random_done(c, &r);
    return true;
}

/* ---- bernoulli, multinomial ---- */

bool infer_bernoulli(struct infer *f)
{
    return infer_out(f, 0, (int)attr_int(f->attrs, "dtype", f->in[0].dtype), f->in[0].rank,
                     f->in[0].dims);
}

bool eval_bernoulli(struct op_call *c)
{
    struct tensor *y = c->out[0];
    struct random r = call_random(c);
    for (int64_t i = 0; i < tensor_count(y); i++)
        dtype_store_f64(y->dtype, y->data, (size_t)i, random_unit(&r) < tensor_f64(c->in[0], i));
    call_random_done(c, &r);
    return true;
}

bool infer_multinomial(struct infer *f)
{
    int dtype = (int)attr_int(f->attrs, "dtype", DT_I32);
    if (f->in[0].rank == RANK_UNKNOWN)
        return infer_any(f, 0, dtype);
    if (f->in[0].rank != 2)
        return fail(f->d, "probabilities have rank %d, expected 2", f->in[0].rank);
    return infer_out(f, 0, dtype, 2,
                     (dim_t[]){f->in[0].dims[0], attr_int(f->attrs, "sample_size", 1)});
}

static bool multinomial(struct op_call *c, struct work *w)
{
    struct tensor *y = c->out[0];
    int64_t classes = c->in[0]->dims[1], samples = y->dims[1];
    double *p = work_doubles(w, c->in[0]);
    if (!p)
        return false;
    if (classes == 0 && tensor_count(y) > 0)
        return fail(w->d, "there are no classes to draw from");
    struct random r = call_random(c);
    for (int64_t row = 0; row < y->dims[0]; row++) {
        double *v = p + row * classes, max = -INFINITY, sum = 0;
        for (int64_t i = 0; i < classes; i++)
            max = fmax(max, v[i]);
        for (int64_t i = 0; i < classes; i++)
            v[i] = sum += exp(v[i] - max);
        for (int64_t s = 0; s < samples; s++) {
            double draw = random_unit(&r) * sum;
            int64_t class = 0;
            while (class < classes - 1 && v[class] <= draw)
                class ++;
            dtype_store_i64(y->dtype, y->data, (size_t)(row * samples + s), class);
        }
    }
    call_random_done(c, &r);
    return true;
}

EVAL_WITH_WORK(multinomial)
