#include "runtime/ops/common/numeric.h"

#include <math.h>
#include <string.h>

static bool infer_axis_kept(struct infer *f)
{
    int axis;
    if (f->in[0].rank > 0 && !infer_axis(f, attr_int(f->attrs, "axis", -1), f->in[0].rank, &axis))
        return false;
    return infer_same(f, 0, 0);
}

INFER_AS(softmax, infer_axis_kept)
INFER_AS(log_softmax, infer_axis_kept)
INFER_AS(hardmax, infer_axis_kept)
INFER_AS(lp_norm, infer_axis_kept)

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

static struct around around(const struct op_call *c)
{
    const struct tensor *x = c->in[0];
    int64_t axis = attr_int(c->attrs, "axis", -1);
    axis += axis < 0 ? x->rank : 0;
    return x->rank ? around_axis(x, (int)axis, (int)axis + 1) : (struct around){1, 1, 1};
}

/* Applies fn to every line of x along the axis. */
static bool along_axis(struct op_call *c, struct work *w,
                       void (*fn)(double *v, int64_t n, const struct attrs *as))
{
    const struct tensor *x = c->in[0];
    struct around a = around(c);
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

/* Lines of neighbours by the kernel, whose NaN is larger than all others: such lines again. */
static void hardmax_lines(float *z, const float *x, int64_t outer, int64_t n, double *line)
{
    const struct kernel_table *k = kernels_get();
    memset(z, 0, (size_t)(outer * n) * sizeof *z);
    for (int64_t o = 0; o < outer; o++, x += n, z += n) {
        int64_t best = (int64_t)k->argmax((struct in_row){x, 1}, (size_t)n);
        if (isnan(x[best])) {
            dtype_load_f64n(DT_F32, x, (size_t)n, line);
            best = largest(line, n);
        }
        z[best] = 1;
    }
}

static bool hardmax(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    struct around a = around(c);
    double *line = WORK(w, double, a.n);
    if (x->dtype != DT_F32 || a.inner != 1)
        return along_axis(c, w, hardmax_row);
    if (line && a.n > 0)
        hardmax_lines(c->out[0]->data, x->data, a.outer, a.n, line);
    return line;
}
static bool lp_norm(struct op_call *c, struct work *w)
{
    return along_axis(c, w, lp_norm_row);
}

EVAL_WITH_WORK(softmax)
EVAL_WITH_WORK(log_softmax)
EVAL_WITH_WORK(hardmax)
EVAL_WITH_WORK(lp_norm)
