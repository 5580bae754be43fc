/*
 * What support vector machines need beyond products: kernels, and probabilities of classes from
 * those of pairs.
 */
#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"

#include <math.h>

/* ---- svm_kernel ---- */

bool infer_svm_kernel(struct infer *f)
{
    const struct type *x = &f->in[0], *s = &f->in[1];
    if (x->rank < 0 || s->rank < 0)
        return infer_any(f, 0, DT_F32);
    if (x->rank != 2 || s->rank != 2)
        return fail(f->d, "operands of rank %d and %d, expected 2 and 2", x->rank, s->rank);
    return require_equal(f, x->dims[1], s->dims[1], named("features", -1, 1)) &&
           infer_out(f, 0, DT_F32, 2, (dim_t[]){x->dims[0], s->dims[0]});
}

struct svm_kernel {
    bool rbf, poly, sigmoid;
    double gamma, coef0, degree;
};

static double kernel_of(const struct svm_kernel *k, const double *x, const double *s, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += k->rbf ? (x[i] - s[i]) * (x[i] - s[i]) : x[i] * s[i];
    if (k->rbf)
        return exp(-k->gamma * sum);
    if (k->poly)
        return pow(k->gamma * sum + k->coef0, k->degree);
    return k->sigmoid ? tanh(k->gamma * sum + k->coef0) : sum;
}

static bool svm_kernel(struct op_call *c, struct work *w)
{
    double *x = work_doubles(w, c->in[0]), *s = work_doubles(w, c->in[1]);
    struct svm_kernel k = {attr_is(c->attrs, "kernel", "rbf"),     attr_is(c->attrs, "kernel", "poly"),
                       attr_is(c->attrs, "kernel", "sigmoid"), attr_float(c->attrs, "gamma", 0),
                       attr_float(c->attrs, "coef0", 0),       attr_float(c->attrs, "degree", 0)};
    int64_t rows = c->in[0]->dims[0], vectors = c->in[1]->dims[0], n = c->in[0]->dims[1];
    float *y = c->out[0]->data;
    for (int64_t i = 0; x && s && i < rows; i++)
        for (int64_t j = 0; j < vectors; j++)
            y[i * vectors + j] = (float)kernel_of(&k, x + i * n, s + j * n, n);
    return x && s;
}

EVAL_WITH_WORK(svm_kernel)

/* ---- pairwise_coupling ---- */

enum { MAX_CLASSES = 4096 };

bool infer_pairwise_coupling(struct infer *f)
{
    const struct type *p = &f->in[0];
    int64_t k = attr_int(f->attrs, "classes", 0);
    if (k < 2 || k > MAX_CLASSES || p->rank != 2)
        return fail(f->d, "probabilities of rank %d for the pairs of %lld classes", p->rank,
                    (long long)k);
    return require_equal(f, p->dims[1], k * (k - 1) / 2, named("pairs of classes", 0, 1)) &&
           infer_out(f, 0, DT_F32, 2, (dim_t[]){p->dims[0], k});
}

/* r[i][j]: that i wins against j. Minimises sum of (r[j][i] p[i] - r[i][j] p[j])^2 over
 * distributions p. */
static void couple(int64_t k, const double *r, double *q, double *qp, double *p)
{
    for (int64_t i = 0; i < k; i++) {
        p[i] = 1.0 / (double)k;
        q[i * k + i] = 0;
        for (int64_t j = 0; j < k; j++)
            if (j != i) {
                q[i * k + i] += r[j * k + i] * r[j * k + i];
                q[i * k + j] = -r[j * k + i] * r[i * k + j];
            }
    }
    for (int turn = 0; turn < 100; turn++) {
        double total = 0, worst = 0;
        for (int64_t i = 0; i < k; i++) {
            qp[i] = 0;
            for (int64_t j = 0; j < k; j++)
                qp[i] += q[i * k + j] * p[j];
            total += p[i] * qp[i];
        }
        for (int64_t i = 0; i < k; i++)
            worst = fmax(worst, fabs(qp[i] - total));
        if (worst < 0.005 / (double)k)
            return;
        for (int64_t i = 0; i < k; i++) {
            double step = (total - qp[i]) / q[i * k + i];
            p[i] += step;
            total = (total + step * (step * q[i * k + i] + 2 * qp[i])) / (1 + step) / (1 + step);
            for (int64_t j = 0; j < k; j++) {
                qp[j] = (qp[j] + step * q[i * k + j]) / (1 + step);
                p[j] /= 1 + step;
            }
        }
    }
}

static bool pairwise_coupling(struct op_call *c, struct work *w)
{
    int64_t k = c->out[0]->dims[1], rows = c->out[0]->dims[0];
    double *pairs = work_doubles(w, c->in[0]), *r = WORK(w, double, k *k),
           *q = WORK(w, double, k *k);
    double *qp = WORK(w, double, k), *p = WORK(w, double, rows *k);
    if (!pairs || !r || !q || !qp || !p)
        return false;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = i + 1; j < k; j++, pairs++) {
                r[i * k + j] = fmin(fmax(*pairs, 1e-7), 1 - 1e-7);
                r[j * k + i] = 1 - r[i * k + j];
            }
        couple(k, r, q, qp, p + row * k);
    }
    call_store(c, 0, p);
    return true;
}

EVAL_WITH_WORK(pairwise_coupling)
