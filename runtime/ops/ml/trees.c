/*
 * Ensembles of decision trees.
 *
 *   0 x           (N,F) floats
 *   1 nodes       i32 (n,4): feature, mode (+ MISSING_TRUE), child when the test holds, child when
 * not 2 thresholds  (n): what x[feature] is tested against; of set tests the place of the set in 6
 *   3 starts      i32 (l+1): the entries of leaf i are starts[i] to starts[i+1]
 *   4 targets     i32 (e): column of the result that an entry counts for
 *   5 weights     (e)
 *   6 members     (k), optional: sets, each ended by a NaN
 *
 * A child c >= 0 is a node, which lies behind its parent; c < 0 is leaf ~c. The attribute roots has
 * one such number for each tree. Rows are taken in blocks, a tree at a time, so that the tree stays
 * in cache; each row's sums are in double and in the order of the trees.
 */
#include "runtime/ops/common/numeric.h"

#include <math.h>
#include <string.h>

enum { MODE_LEQ, MODE_LT, MODE_GTE, MODE_GT, MODE_EQ, MODE_NEQ, MODE_MEMBER, MISSING_TRUE = 256 };
enum { BLOCK = 64 };

struct forest {
    const int32_t *nodes, *starts, *targets;
    const void *thresholds, *members;
    const double *weights;
    int threshold_type, member_type;
    int64_t nnodes, nleaves, nentries, nmembers, features, columns;
    const int64_t *roots;
    int nroots;
};

bool infer_tree_ensemble(struct infer *f)
{
    const struct type *x = &f->in[0];
    int64_t columns = attr_int(f->attrs, "n_targets", 1);
    if (!dtype_is_float(x->dtype) || (x->rank >= 0 && x->rank != 2))
        return fail(f->d, "the operand is %s of rank %d, expected floats of rank 2",
                    dtype_name(x->dtype), x->rank);
    if (columns < 1 || columns > INT32_MAX)
        return fail(f->d, "n_targets is %lld, expected 1 or more", (long long)columns);
    dim_t rows = x->rank < 0 ? infer_unknown(f, "rows") : x->dims[0];
    return infer_out(f, 0, f->in[5].dtype == DT_F64 && x->dtype == DT_F64 ? DT_F64 : x->dtype, 2,
                     (dim_t[]){rows, columns});
}

static bool read_forest(struct op_call *c, struct work *w, struct forest *t)
{
    for (int i = 1; i < 6; i++)
        if (i != 2 && i != 5 && c->in[i]->dtype != DT_I32)
            return fail(w->d, "operand %d is %s, expected i32", i, dtype_name(c->in[i]->dtype));
    *t = (struct forest){.nodes = c->in[1]->data,
                         .thresholds = c->in[2]->data,
                         .starts = c->in[3]->data,
                         .targets = c->in[4]->data,
                         .threshold_type = c->in[2]->dtype,
                         .nnodes = tensor_count(c->in[1]) / 4,
                         .nleaves = tensor_count(c->in[3]) - 1,
                         .nentries = tensor_count(c->in[4]),
                         .features = c->in[0]->dims[1],
                         .columns = c->out[0]->dims[1]};
    t->roots = attr_ints(c->attrs, "roots", &t->nroots);
    if (has_operand(c, 6)) {
        t->members = c->in[6]->data;
        t->member_type = c->in[6]->dtype;
        t->nmembers = tensor_count(c->in[6]);
    }
    if (!dtype_is_float(t->threshold_type) || (t->members && !dtype_is_float(t->member_type)))
        return fail(w->d, "thresholds are %s, expected floats", dtype_name(t->threshold_type));
    if (tensor_count(c->in[2]) < t->nnodes || tensor_count(c->in[5]) != t->nentries)
        return fail(w->d, "%lld thresholds for %lld nodes, %lld weights for %lld targets",
                    (long long)tensor_count(c->in[2]), (long long)t->nnodes,
                    (long long)tensor_count(c->in[5]), (long long)t->nentries);
    t->weights = work_doubles(w, c->in[5]);
    return t->weights != NULL;
}

static bool is_member(const struct forest *t, double place, double x)
{
    if (!(place >= 0))
        return false;
    for (int64_t i = (int64_t)fmin(place, (double)t->nmembers); i < t->nmembers; i++) {
        double v = dtype_load_f64(t->member_type, t->members, (size_t)i);
        if (isnan(v) || v == x)
            return v == x;
    }
    return false;
}

static inline bool holds(const struct forest *t, int mode, double x, double v)
{
    switch (mode) {
    case MODE_LEQ:
        return x <= v;
    case MODE_LT:
        return x < v;
    case MODE_GTE:
        return x >= v;
    case MODE_GT:
        return x > v;
    case MODE_EQ:
        return x == v;
    case MODE_NEQ:
        return x != v;
    default:
        return is_member(t, v, x);
    }
}

/* The leaf that a row ends in; -1 for a damaged tree. */
static int64_t descend(const struct forest *t, const double *x, int64_t at)
{
    while (at >= 0) {
        if (at >= t->nnodes)
            return -1;
        const int32_t *n = t->nodes + 4 * at;
        if ((uint32_t)n[0] >= (uint64_t)t->features)
            return -1;
        double value = x[n[0]];
        double v = t->threshold_type == DT_F32
                       ? (double)((const float *)t->thresholds)[at]
                       : dtype_load_f64(t->threshold_type, t->thresholds, (size_t)at);
        bool yes = holds(t, n[1] & (MISSING_TRUE - 1), value, v) ||
                   ((n[1] & MISSING_TRUE) && isnan(value));
        int64_t next = n[yes ? 2 : 3];
        if (next >= 0 && next <= at)
            return -1;
        at = next;
    }
    return ~at < t->nleaves ? ~at : -1;
}

enum aggregate { SUM, AVERAGE, MIN, MAX };

static bool count_leaf(const struct forest *t, int64_t leaf, enum aggregate how, double *sum,
                       bool *seen)
{
    int32_t from = t->starts[leaf], to = t->starts[leaf + 1];
    if (from < 0 || to > t->nentries)
        return false;
    for (int32_t i = from; i < to; i++) {
        int32_t column = t->targets[i];
        if (column < 0 || column >= t->columns)
            return false;
        double w = t->weights[i], old = sum[column];
        bool first = !seen[column];
        sum[column] = how <= AVERAGE                              ? old + w
                      : first || (how == MIN ? w < old : w > old) ? w
                                                                  : old;
        seen[column] = true;
    }
    return true;
}

static bool run_block(const struct forest *t, const double *x, int64_t rows, enum aggregate how,
                      double *sum, bool *seen, struct diag *d)
{
    for (int r = 0; r < t->nroots; r++)
        for (int64_t i = 0; i < rows; i++) {
            int64_t leaf = descend(t, x + i * t->features, t->roots[r]);
            if (leaf < 0 || !count_leaf(t, leaf, how, sum + i * t->columns, seen + i * t->columns))
                return fail(d, "tree %d is damaged, or tests a feature beyond the operand's %lld",
                            r, (long long)t->features);
        }
    for (int64_t i = 0; how == AVERAGE && i < rows * t->columns; i++)
        sum[i] /= t->nroots;
    return true;
}

static bool tree_ensemble(struct op_call *c, struct work *w)
{
    struct forest t;
    const struct tensor *x = c->in[0];
    struct tensor *y = c->out[0];
    static const char *const names[] = {"sum", "average", "min", "max"};
    enum aggregate how = SUM;
    for (int i = 0; i < 4; i++)
        if (attr_is(c->attrs, "aggregate", names[i]))
            how = (enum aggregate)i;
    if (!read_forest(c, w, &t))
        return false;
    int64_t n = x->dims[0], block = n < BLOCK ? n : BLOCK;
    double *rows = WORK(w, double, block *t.features), *sum = WORK(w, double, block *t.columns);
    bool *seen = WORK(w, bool, block *t.columns);
    if (!rows || !sum || !seen)
        return false;
    for (int64_t at = 0; at < n; at += block) {
        int64_t count = n - at < block ? n - at : block;
        dtype_load_f64n(x->dtype, element(x, at * t.features), (size_t)(count * t.features), rows);
        memset(sum, 0, (size_t)(count * t.columns) * sizeof *sum);
        memset(seen, 0, (size_t)(count * t.columns) * sizeof *seen);
        if (!run_block(&t, rows, count, how, sum, seen, w->d))
            return false;
        dtype_store_f64n(y->dtype, element(y, at * t.columns), (size_t)(count * t.columns), sum);
    }
    return true;
}

EVAL_WITH_WORK(tree_ensemble)
