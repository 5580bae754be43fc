#include "runtime/ops/numeric.h"

#include <math.h>

static bool infer_axis_kept(struct infer *f)
{
    int axis;
    if (f->in[0].rank > 0 && !infer_axis(f, attr_int(f->attrs, "axis", -1), f->in[0].rank, &axis))
        return false;
    return infer_same(f, 0, 0);
}

bool infer_softmax(struct infer *f)
{
    return infer_axis_kept(f);
}
bool infer_log_softmax(struct infer *f)
{
    return infer_axis_kept(f);
}
bool infer_hardmax(struct infer *f)
{
    return infer_axis_kept(f);
}
bool infer_lp_norm(struct infer *f)
{
    return infer_axis_kept(f);
}

static int64_t largest(const double *v, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (v[i] > v[best])
            best = i;
    return best;
}

static void softmax_row(double *v, int64_t n, const struct attrs *as)
{
    double max = v[largest(v, n)], sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += v[i] = exp(v[i] - max);
    for (int64_t i = 0; i < n; i++)
        v[i] /= sum;
}

static void log_softmax_row(double *v, int64_t n, const struct attrs *as)
{
    double max = v[largest(v, n)], sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += exp(v[i] - max);
    for (int64_t i = 0; i < n; i++)
        v[i] = v[i] - max - log(sum);
}

static void hardmax_row(double *v, int64_t n, const struct attrs *as)
{
    int64_t best = largest(v, n);
    for (int64_t i = 0; i < n; i++)
        v[i] = i == best;
}

static void lp_norm_row(double *v, int64_t n, const struct attrs *as)
{
    bool two = attr_int(as, "p", 2) == 2;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += two ? v[i] * v[i] : fabs(v[i]);
    for (int64_t i = 0; i < n && sum != 0; i++)
        v[i] /= two ? sqrt(sum) : sum;
}

/* Applies fn to every line of x along the axis. */
static bool along_axis(struct op_call *c, struct work *w,
                       void (*fn)(double *v, int64_t n, const struct attrs *as))
{
    const struct tensor *x = c->in[0];
    int64_t axis = attr_int(c->attrs, "axis", -1);
    axis += axis < 0 ? x->rank : 0;
    struct around a = x->rank ? around_axis(x, (int)axis, (int)axis + 1) : (struct around){1, 1, 1};
    double *v = work_doubles(w, x), *line = WORK(w, double, a.n);
    if (!v || !line)
        return false;
    for (int64_t o = 0; a.n > 0 && o < a.outer; o++)
        for (int64_t in = 0; in < a.inner; in++) {
            double *at = v + o * a.n * a.inner + in;
            for (int64_t i = 0; i < a.n; i++)
                line[i] = at[i * a.inner];
            fn(line, a.n, c->attrs);
            for (int64_t i = 0; i < a.n; i++)
                at[i * a.inner] = line[i];
        }
    call_store(c, 0, v);
    return true;
}

static bool softmax(struct op_call *c, struct work *w)
{
    return along_axis(c, w, softmax_row);
}
static bool log_softmax(struct op_call *c, struct work *w)
{
    return along_axis(c, w, log_softmax_row);
}
static bool hardmax(struct op_call *c, struct work *w)
{
    return along_axis(c, w, hardmax_row);
}
static bool lp_norm(struct op_call *c, struct work *w)
{
    return along_axis(c, w, lp_norm_row);
}

bool eval_softmax(struct op_call *c)
{
    return with_work(c, softmax);
}
bool eval_log_softmax(struct op_call *c)
{
    return with_work(c, log_softmax);
}
bool eval_hardmax(struct op_call *c)
{
    return with_work(c, hardmax);
}
bool eval_lp_norm(struct op_call *c)
{
    return with_work(c, lp_norm);
}
