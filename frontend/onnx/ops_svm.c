/*
 * Support vector machines of ai.onnx.ml: kernel values of every support vector, then products. In a
 * classifier every pair of classes has a machine; its coefficients are gathered into one matrix
 * (vectors, pairs).
 */
#include "frontend/onnx/ml.h"
#include "frontend/onnx/ops.h"

#include <string.h>

static const char *kernel_name(struct onnx_node *n)
{
    static const char *const names[][2] = {{"LINEAR", "linear"}, {"POLY", "poly"}, {"RBF", "rbf"}};
    if (!attr_find(&n->attrs, "kernel_type"))
        return "linear";
    for (int i = 0; i < 3; i++)
        if (attr_is(&n->attrs, "kernel_type", names[i][0]))
            return names[i][1];
    if (!attr_is(&n->attrs, "kernel_type", "SIGMOID"))
        NODE_ERROR(n, "attribute 'kernel_type' is none of LINEAR, POLY, RBF, SIGMOID");
    return "sigmoid";
}

/* (N, count) kernel values of x and `v`, which has `count` rows. */
static struct value *kernel(struct onnx_node *n, const double *v, int64_t size, int64_t count,
                            const char *name)
{
    int nparams, rank;
    const double *params = attr_floats(&n->attrs, "kernel_params", &nparams);
    struct value *x = b_cast(n->b, n->in[0], DT_F32);
    struct attrs a = {0};
    if (count < 1 || size < count || size % count) {
        NODE_ERROR(n, "%lld numbers for %lld support vectors", (long long)size, (long long)count);
        return NULL;
    }
    if (!b_rank(n, x, "the operand", &rank))
        return NULL;
    x = rank == 1 ? b_reshape_to(n->b, x, (int64_t[]){1, -1}, 2) : x;
    attr_set_str(&n->b->g->arena, &a, "kernel", name);
    static const char *const names[] = {"gamma", "coef0", "degree"};
    for (int i = 0; i < 3; i++)
        attr_set_float(&n->b->g->arena, &a, names[i], i < nparams ? (double)(float)params[i] : 0);
    return b_op(n->b, OP_svm_kernel,
                (struct value *[]){x, ml_floats(n, v, 2, (int64_t[]){count, size / count})}, 2, &a);
}

bool lower_svm_regressor(struct onnx_node *n)
{
    int ncoef, nvec, nrho;
    const double *coef = attr_floats(&n->attrs, "coefficients", &ncoef);
    const double *vectors = attr_floats(&n->attrs, "support_vectors", &nvec);
    const double *rho = attr_floats(&n->attrs, "rho", &nrho);
    int64_t count = attr_int(&n->attrs, "n_supports", 0);
    enum ml_transform t;
    if (!ml_transform_read(n, &t))
        return false;
    if (!ncoef || !nrho || (count > 0 && ncoef < count))
        return NODE_ERROR(n, "%d coefficients and %d values of rho for %lld support vectors", ncoef,
                          nrho, (long long)count);
    const char *name = kernel_name(n);
    struct value *s;
    if (count > 0)
        s = ml_product(n, kernel(n, vectors, nvec, count, name), ml_floats(n, coef, 2, (int64_t[]){count, 1}), false);
    else
        s = kernel(n, coef, ncoef, 1, "linear");
    s = b_add(n->b, s, b_scalar(n->b, DT_F32, rho[0]));
    if (attr_int(&n->attrs, "one_class", 0)) {
        struct value *yes = b_2(n->b, OP_gt, s, b_like(n->b, s, 0));
        s = b_select(n->b, yes, b_like(n->b, s, 1), b_like(n->b, s, -1));
    }
    return b_done(n, t == ML_PROBIT ? ml_transform(n, t, s) : s);
}

struct vector_machine {
    int classes;
    int64_t pairs, vectors;
    const int64_t *per_class;
    const double *coef, *support, *rho, *prob_a, *prob_b;
    int ncoef, nsupport, nrho, na, nb;
};

static bool read_machine(struct onnx_node *n, struct vector_machine *m)
{
    int count;
    m->per_class = attr_ints(&n->attrs, "vectors_per_class", &count);
    m->coef = attr_floats(&n->attrs, "coefficients", &m->ncoef);
    m->support = attr_floats(&n->attrs, "support_vectors", &m->nsupport);
    m->rho = attr_floats(&n->attrs, "rho", &m->nrho);
    m->prob_a = attr_floats(&n->attrs, "prob_a", &m->na);
    m->prob_b = attr_floats(&n->attrs, "prob_b", &m->nb);
    m->pairs = (int64_t)m->classes * (m->classes - 1) / 2;
    for (int i = 0; i < count; i++) {
        if (m->per_class[i] < 0 || m->per_class[i] > INT32_MAX)
            return NODE_ERROR(n, "attribute 'vectors_per_class' holds %lld",
                              (long long)m->per_class[i]);
        m->vectors += m->per_class[i];
    }
    if (!m->ncoef || !m->nrho || m->na != m->nb)
        return NODE_ERROR(n, "%d coefficients, %d values of rho, %d of prob_a, %d of prob_b",
                          m->ncoef, m->nrho, m->na, m->nb);
    if (m->vectors == 0)
        return true;
    if (count != m->classes || m->classes < 2 || m->ncoef < (m->classes - 1) * m->vectors ||
        m->nrho < m->pairs || (m->na && m->na < m->pairs))
        return NODE_ERROR(
            n, "%d coefficients and %d values of rho for %d classes with %lld support vectors",
            m->ncoef, m->nrho, m->classes, (long long)m->vectors);
    return true;
}

/* Scores of the pairs (N, pairs): the first class wins above 0. */
static struct value *pair_scores(struct onnx_node *n, const struct vector_machine *m)
{
    struct arena *a = &n->b->g->arena;
    double *w = ARENA_ARRAY(a, double, m->vectors * m->pairs);
    int64_t pair = 0, start_i = 0;
    for (int i = 0; i < m->classes; start_i += m->per_class[i++]) {
        int64_t start_j = start_i + m->per_class[i];
        for (int j = i + 1; j < m->classes; start_j += m->per_class[j++], pair++) {
            for (int64_t v = start_i; v < start_i + m->per_class[i]; v++)
                w[v * m->pairs + pair] = m->coef[(j - 1) * m->vectors + v];
            for (int64_t v = start_j; v < start_j + m->per_class[j]; v++)
                w[v * m->pairs + pair] = m->coef[i * m->vectors + v];
        }
    }
    struct value *k = kernel(n, m->support, m->nsupport, m->vectors, kernel_name(n));
    struct value *s = ml_product(n, k, ml_floats(n, w, 2, (int64_t[]){m->vectors, m->pairs}), false);
    return b_add(n->b, s, ml_floats(n, m->rho, 1, (int64_t[]){m->pairs}));
}

/* Votes of the pairs for their classes (N, classes). */
static struct value *count_votes(struct onnx_node *n, const struct vector_machine *m, struct value *scores)
{
    double *first = ARENA_ARRAY(&n->b->g->arena, double, m->pairs * m->classes);
    double *second = ARENA_ARRAY(&n->b->g->arena, double, m->pairs * m->classes);
    int64_t pair = 0, dims[] = {m->pairs, m->classes};
    for (int i = 0; i < m->classes; i++)
        for (int j = i + 1; j < m->classes; j++, pair++) {
            first[pair * m->classes + i] = 1;
            second[pair * m->classes + j] = 1;
        }
    struct value *won = b_cast(n->b, b_2(n->b, OP_gt, scores, b_like(n->b, scores, 0)), DT_F32);
    struct value *lost = b_sub(n->b, b_like(n->b, won, 1), won);
    won = ml_product(n, won, ml_floats(n, first, 2, dims), false);
    return b_add(n->b, won, ml_product(n, lost, ml_floats(n, second, 2, dims), false));
}

/* Platt's probabilities of the pairs, coupled to those of the classes. */
static struct value *probabilities(struct onnx_node *n, const struct vector_machine *m,
                                   struct value *scores)
{
    struct attrs a = {0};
    int64_t dims[] = {m->pairs};
    struct value *v = b_add(n->b, b_mul(n->b, scores, ml_floats(n, m->prob_a, 1, dims)),
                            ml_floats(n, m->prob_b, 1, dims));
    struct value *p = b_1(n->b, OP_sigmoid, b_1(n->b, OP_neg, v));
    attr_set_int(&n->b->g->arena, &a, "classes", m->classes);
    return b_op(n->b, OP_pairwise_coupling, &p, 1, &a);
}

static bool classify_pairs(struct onnx_node *n, const struct vector_machine *m, struct value *labels,
                           enum ml_transform t)
{
    struct value *s = pair_scores(n, m), *votes = count_votes(n, m, s);
    if (m->na) {
        struct value *p = probabilities(n, m, s);
        n->out[0] = ml_best(n, labels, votes);
        n->out[1] = ml_transform(n, t, p);
        return !diag_failed(n->b->d);
    }
    if (m->classes > 2) {
        n->out[0] = ml_best(n, labels, votes);
        n->out[1] = ml_transform(n, t, s);
        return !diag_failed(n->b->d);
    }
    n->out[0] = ml_best(n, labels, votes);
    n->out[1] = ml_both_scores(n, t, s, t != ML_NONE);
    return !diag_failed(n->b->d);
}

bool lower_svm_classifier(struct onnx_node *n)
{
    struct vector_machine m = {0};
    enum ml_transform t;
    struct value *labels = ml_labels(n, "classlabels_ints", "classlabels_strings", &m.classes);
    if (!labels)
        return NODE_ERROR(
            n, "one of the attributes 'classlabels_ints' and 'classlabels_strings' is needed");
    if (!ml_transform_read(n, &t) || !read_machine(n, &m))
        return false;
    if (m.vectors > 0)
        return classify_pairs(n, &m, labels, t);
    struct value *s =
        b_add(n->b, kernel(n, m.coef, m.ncoef, m.classes, "linear"), b_scalar(n->b, DT_F32, m.rho[0]));
    n->out[0] = ml_best(n, labels, s);
    n->out[1] = ml_transform(n, t, s);
    return !diag_failed(n->b->d);
}
