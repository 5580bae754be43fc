#include "runtime/ops/common/extremes.h"
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

/* The place of a line's largest element, given as NaN or the greatest number: of what is no number the first element
 * alone counts, as it is compared with those behind it. */
static int64_t hardmax_place(const struct tensor *x, int64_t first, struct around a, int64_t place, double *line)
{
    int64_t at = first + place * a.inner;
    if (x->dtype == DT_F32 ? !isnan(((const float *)x->data)[at]) : !isnan(tensor_f64(x, at)))
        return place;
    for (int64_t i = 0; i < a.n; i++)
        line[i] = tensor_f64(x, first + i * a.inner);
    return largest(line, a.n);
}

static bool hardmax(struct op_call *c, struct work *w)
{
    enum { PART = 512 };
    const struct tensor *x = c->in[0];
    struct tensor *z = c->out[0];
    struct around a = around(c);
    int64_t part = a.inner < PART ? PART / (a.inner ? a.inner : 1) : 1;
    int64_t *place = WORK(w, int64_t, part * a.inner);
    double *line = WORK(w, double, a.n);
    char one[16] __attribute__((aligned(16)));
    size_t bytes = dtype_bytes(z->dtype);
    if (!place || !line)
        return false;
    memset(z->data, 0, (size_t)tensor_count(z) * bytes);
    dtype_store_f64(z->dtype, one, 0, 1);
    for (int64_t o = 0, m; o < a.outer; o += m) {
        m = a.outer - o < part ? a.outer - o : part;
        if (!extreme_places(x, o * a.n * a.inner, (struct lines){m, a.n, a.inner}, true, false, place))
            return along_axis(c, w, hardmax_row);
        for (int64_t r = 0; r < m; r++)
            for (int64_t i = 0; i < a.inner; i++) {
                int64_t first = (o + r) * a.n * a.inner + i;
                int64_t at = first + hardmax_place(x, first, a, place[r * a.inner + i], line) * a.inner;
                if (bytes == sizeof(float))
                    memcpy((float *)z->data + at, one, sizeof(float));
                else
                    memcpy((char *)z->data + (size_t)at * bytes, one, bytes);
            }
    }
    return true;
}
static bool lp_norm(struct op_call *c, struct work *w)
{
    return along_axis(c, w, lp_norm_row);
}

EVAL_WITH_WORK(softmax)
EVAL_WITH_WORK(log_softmax)
EVAL_WITH_WORK(hardmax)
EVAL_WITH_WORK(lp_norm)
