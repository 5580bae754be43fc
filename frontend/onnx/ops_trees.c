/*
 * Tree ensembles of ai.onnx.ml: both encodings of the nodes are checked, put in order (a child
 * behind its parent) and written as the operands of tree_ensemble.
 */
#include "frontend/onnx/ml.h"
#include "frontend/onnx/ops.h"

#include <stdlib.h>
#include <string.h>

enum { LEQ, MEMBER = 6, MISSING_TRUE = 256 };

static const char *const mode_names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                         "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};

/* A node as the model has it. Children: index of a node, or ~index of a leaf. */
struct tree_node {
    int64_t tree, id; /* what the older operators call it by */
    int64_t feature, yes, no;
    int mode;
    bool leaf; /* the older operators: `at` is its leaf */
    int64_t at;
    double threshold;
};

struct tree_entry {                /* of a leaf */
    int64_t leaf, target, at; /* at: place in the attributes, which keeps the order */
    double weight;
};

struct tree_tables {
    struct tree_node *nodes;
    int64_t nnodes, nleaves;
    int64_t *roots;
    int nroots;
    struct tree_entry *entries;
    int64_t nentries;
    const struct tensor *members;
    int dtype; /* of thresholds and weights */
};

/* ---- into operands ---- */

/* Numbers nodes from each root on, parents first. NULL when a node is reached twice. */
static int64_t *number_nodes(struct onnx_node *n, const struct tree_tables *f)
{
    struct arena *a = &n->b->g->arena;
    int64_t *number = ARENA_ARRAY(a, int64_t, f->nnodes + 1), count = 0;
    int64_t *stack = ARENA_ARRAY(a, int64_t, f->nnodes + 2);
    for (int64_t i = 0; i < f->nnodes; i++)
        number[i] = -1;
    for (int r = 0; r < f->nroots; r++) {
        int64_t top = 0;
        if (f->roots[r] >= 0)
            stack[top++] = f->roots[r];
        while (top > 0) {
            int64_t at = stack[--top];
            const struct tree_node *t = &f->nodes[at];
            if (number[at] >= 0) {
                NODE_ERROR(n, "node %lld of tree %d is reached twice", (long long)t->id, r);
                return NULL;
            }
            number[at] = count++;
            if (t->no >= 0)
                stack[top++] = t->no;
            if (t->yes >= 0)
                stack[top++] = t->yes;
        }
    }
    return number;
}

static struct value *list_i32(struct onnx_node *n, const int32_t *v, int64_t count)
{
    return constant_copy(n->b->g, DT_I32, 1, &count, v, NULL);
}

static struct value *list_real(struct onnx_node *n, int dtype, const double *v, int64_t count)
{
    void *typed = arena_alloc(&n->b->g->arena, (size_t)(count + 1) * sizeof(double));
    dtype_store_f64n(dtype, typed, (size_t)count, v);
    return constant_copy(n->b->g, dtype, 1, &count, typed, NULL);
}

static int by_leaf(const void *a, const void *b)
{
    const struct tree_entry *x = a, *y = b;
    return x->leaf != y->leaf ? (x->leaf < y->leaf ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

static void build_leaves(struct onnx_node *n, struct tree_tables *f, struct value **in)
{
    struct arena *a = &n->b->g->arena;
    int32_t *starts = ARENA_ARRAY(a, int32_t, f->nleaves + 1),
            *targets = ARENA_ARRAY(a, int32_t, f->nentries + 1);
    double *weights = ARENA_ARRAY(a, double, f->nentries + 1);
    if (f->nentries)
        qsort(f->entries, (size_t)f->nentries, sizeof *f->entries, by_leaf);
    for (int64_t i = 0; i < f->nentries; i++) {
        starts[f->entries[i].leaf + 1]++;
        targets[i] = (int32_t)f->entries[i].target;
        weights[i] = f->entries[i].weight;
    }
    for (int64_t i = 0; i < f->nleaves; i++)
        starts[i + 1] += starts[i];
    in[3] = list_i32(n, starts, f->nleaves + 1);
    in[4] = list_i32(n, targets, f->nentries);
    in[5] = list_real(n, f->dtype, weights, f->nentries);
}

static struct value *build_forest(struct onnx_node *n, struct tree_tables *f, int64_t targets,
                                  const char *aggregate)
{
    struct arena *a = &n->b->g->arena;
    struct value *in[7] = {ml_operand(n, n->in[0])};
    if (b_dtype(n->in[0]) == DT_F16)
        in[0] = n->in[0];
    int64_t *number = number_nodes(n, f);
    if (!number || diag_failed(n->b->d))
        return NULL;
    int32_t *nodes = ARENA_ARRAY(a, int32_t, 4 * f->nnodes + 4);
    double *thresholds = ARENA_ARRAY(a, double, f->nnodes + 1);
    int64_t *roots = ARENA_ARRAY(a, int64_t, f->nroots + 1), kept = 0;
    for (int64_t i = 0; i < f->nnodes; i++) {
        const struct tree_node *t = &f->nodes[i];
        if (number[i] < 0)
            continue;
        int32_t *to = nodes + 4 * number[i];
        to[0] = (int32_t)t->feature;
        to[1] = t->mode;
        to[2] = (int32_t)(t->yes >= 0 ? number[t->yes] : t->yes);
        to[3] = (int32_t)(t->no >= 0 ? number[t->no] : t->no);
        thresholds[number[i]] = t->threshold;
        kept++;
    }
    for (int r = 0; r < f->nroots; r++)
        roots[r] = f->roots[r] >= 0 ? number[f->roots[r]] : f->roots[r];
    in[1] = constant_copy(n->b->g, DT_I32, 2, (int64_t[]){kept, 4}, nodes, NULL);
    in[2] = list_real(n, f->dtype, thresholds, kept);
    build_leaves(n, f, in);
    in[6] = f->members ? b_tensor(n->b, f->members) : NULL;
    struct attrs as = {0};
    attr_set_ints(a, &as, "roots", roots, f->nroots);
    attr_set_int(a, &as, "n_targets", targets);
    attr_set_str(a, &as, "aggregate", aggregate);
    return b_op(n->b, OP_tree_ensemble, in, f->members ? 7 : 6, &as);
}

/* ---- TreeEnsemble (version 5) ---- */

static bool need_length(struct onnx_node *n, const char *name, int64_t found, int64_t expected)
{
    return found == expected || NODE_ERROR(n, "attribute '%s' has %lld entries, expected %lld",
                                           name, (long long)found, (long long)expected);
}

/* Of an attribute that lists a number for each of `count`. */
static const int64_t *ints_for(struct onnx_node *n, const char *name, int64_t count)
{
    int found;
    const int64_t *v = attr_ints(&n->attrs, name, &found);
    return v && need_length(n, name, found, count) ? v : NULL;
}

static bool child(struct onnx_node *n, const struct tree_tables *f, int64_t at, bool leaf, int64_t *out)
{
    if (at < 0 || at >= (leaf ? f->nleaves : f->nnodes))
        return NODE_ERROR(n, "a branch leads to %s %lld of %lld", leaf ? "leaf" : "node",
                          (long long)at, (long long)(leaf ? f->nleaves : f->nnodes));
    *out = leaf ? ~at : at;
    return true;
}

/* Where each set begins among the members, in the order of the MEMBER nodes. */
static bool place_sets(struct onnx_node *n, struct tree_tables *f)
{
    int64_t at = 0, count = f->members ? tensor_count(f->members) : 0;
    for (int64_t i = 0; i < f->nnodes; i++) {
        if ((f->nodes[i].mode & (MISSING_TRUE - 1)) != MEMBER)
            continue;
        if (at >= count)
            return NODE_ERROR(n, "attribute 'membership_values' holds too few sets");
        f->nodes[i].threshold = (double)at;
        while (at < count && tensor_f64(f->members, at) == tensor_f64(f->members, at))
            at++;
        at++;
    }
    return true;
}

/* Sets are found by their place, which must be exact. */
static int threshold_type(const struct tree_tables *f, int dtype)
{
    return f->members || dtype == DT_F64 ? DT_F64 : DT_F32;
}

static bool read_nodes_5(struct onnx_node *n, struct tree_tables *f)
{
    const struct tensor *modes = attr_tensor(&n->attrs, "nodes_modes");
    const struct tensor *splits = attr_tensor(&n->attrs, "nodes_splits");
    int64_t count = splits ? tensor_count(splits) : 0;
    f->nnodes = count;
    const int64_t *features = ints_for(n, "nodes_featureids", count),
                  *yes = ints_for(n, "nodes_truenodeids", count);
    const int64_t *no = ints_for(n, "nodes_falsenodeids", count),
                  *yes_leaf = ints_for(n, "nodes_trueleafs", count);
    const int64_t *no_leaf = ints_for(n, "nodes_falseleafs", count);
    bool missing = attr_find(&n->attrs, "nodes_missing_value_tracks_true") != NULL;
    const int64_t *track = missing ? ints_for(n, "nodes_missing_value_tracks_true", count) : NULL;
    if (!modes || !splits || !features || !yes || !no || !yes_leaf || !no_leaf || diag_failed(n->b->d))
        return diag_failed(n->b->d) ? false : NODE_ERROR(n, "an attribute 'nodes_*' is missing");
    if (!need_length(n, "nodes_modes", tensor_count(modes), count) ||
        !dtype_is_float(splits->dtype))
        return false;
    f->nodes = ARENA_ARRAY(&n->b->g->arena, struct tree_node, count + 1);
    f->dtype = threshold_type(f, splits->dtype);
    for (int64_t i = 0; i < count; i++) {
        int64_t mode = tensor_i64(modes, i);
        if (mode < LEQ || mode > MEMBER || features[i] < 0 || features[i] > INT32_MAX)
            return NODE_ERROR(n, "node %lld has mode %lld and feature %lld", (long long)i,
                              (long long)mode, (long long)features[i]);
        f->nodes[i] =
            (struct tree_node){.id = i,
                               .feature = features[i],
                               .threshold = tensor_f64(splits, i),
                               .mode = (int)mode | (track && track[i] ? MISSING_TRUE : 0)};
        if (!child(n, f, yes[i], yes_leaf[i] != 0, &f->nodes[i].yes) ||
            !child(n, f, no[i], no_leaf[i] != 0, &f->nodes[i].no))
            return false;
    }
    return place_sets(n, f);
}

static bool read_leaves_5(struct onnx_node *n, struct tree_tables *f, int64_t targets)
{
    const struct tensor *weights = attr_tensor(&n->attrs, "leaf_weights");
    int64_t count = weights ? tensor_count(weights) : 0;
    const int64_t *ids = ints_for(n, "leaf_targetids", count);
    f->nleaves = f->nentries = count;
    if (!ids || count > INT32_MAX || !dtype_is_float(weights->dtype))
        return diag_failed(n->b->d) ? false
                                 : NODE_ERROR(n, "attributes 'leaf_*' do not describe leaves");
    f->entries = ARENA_ARRAY(&n->b->g->arena, struct tree_entry, count + 1);
    for (int64_t i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] >= targets)
            return NODE_ERROR(n, "leaf %lld counts for target %lld of %lld", (long long)i,
                              (long long)ids[i], (long long)targets);
        f->entries[i] = (struct tree_entry){i, ids[i], i, tensor_f64(weights, i)};
    }
    return true;
}

bool lower_tree_ensemble(struct onnx_node *n)
{
    static const char *const aggregates[] = {"average", "sum", "min", "max"};
    struct tree_tables f = {.members = attr_tensor(&n->attrs, "membership_values")};
    int64_t targets = attr_int(&n->attrs, "n_targets", 1),
            how = attr_int(&n->attrs, "aggregate_function", 1);
    const int64_t *roots = attr_ints(&n->attrs, "tree_roots", &f.nroots);
    enum ml_transform t;
    if (how < 0 || how > 3 || targets < 1 || targets > INT32_MAX)
        return NODE_ERROR(n, "attribute 'aggregate_function' is %lld, 'n_targets' %lld",
                          (long long)how, (long long)targets);
    if (!ml_transform_read(n, &t) || !read_leaves_5(n, &f, targets) || !read_nodes_5(n, &f))
        return false;
    f.roots = ARENA_ARRAY(&n->b->g->arena, int64_t, f.nroots + 1);
    for (int i = 0; i < f.nroots; i++)
        if (!child(n, &f, roots[i], false, &f.roots[i]))
            return false;
    struct value *scores = build_forest(n, &f, targets, aggregates[how]);
    return b_done(n, ml_transform(n, targets > 1 || t == ML_PROBIT ? t : ML_NONE, scores));
}

/* ---- the older operators ---- */

static int by_id(const void *a, const void *b)
{
    const struct tree_node *x = *(struct tree_node *const *)a, *y = *(struct tree_node *const *)b;
    return x->tree != y->tree ? (x->tree < y->tree ? -1 : 1) : (x->id > y->id) - (x->id < y->id);
}

static struct tree_node *find_node(struct tree_node **sorted, int64_t count, int64_t tree,
                                   int64_t id)
{
    struct tree_node key = {.tree = tree, .id = id}, *k = &key;
    struct tree_node **p = bsearch(&k, sorted, (size_t)count, sizeof *sorted, by_id);
    return p ? *p : NULL;
}

/* Floats of an attribute, or of its tensor form; NULL when neither is there. */
static const double *reals(struct onnx_node *n, const char *name, int64_t *count, int *dtype)
{
    int found;
    const double *v = attr_floats(&n->attrs, name, &found);
    *count = found;
    if (found)
        return v;
    const struct tensor *t =
        attr_tensor(&n->attrs, arena_printf(&n->b->g->arena, "%s_as_tensor", name));
    if (!t || !dtype_is_float(t->dtype))
        return NULL;
    *count = tensor_count(t);
    if (t->dtype == DT_F64)
        *dtype = DT_F64;
    double *copy = ARENA_ARRAY(&n->b->g->arena, double, *count + 1);
    dtype_load_f64n(t->dtype, t->data, (size_t)*count, copy);
    return copy;
}

static int mode_of(struct str s)
{
    for (int i = 0; i < MEMBER; i++)
        if (strlen(mode_names[i]) == s.n && !memcmp(mode_names[i], s.p, s.n))
            return i;
    return -1;
}

static bool read_nodes(struct onnx_node *n, struct tree_tables *f)
{
    int count;
    int64_t nvalues;
    const int64_t *trees = attr_ints(&n->attrs, "nodes_treeids", &count);
    const int64_t *ids = ints_for(n, "nodes_nodeids", count),
                  *features = ints_for(n, "nodes_featureids", count);
    const int64_t *yes = ints_for(n, "nodes_truenodeids", count),
                  *no = ints_for(n, "nodes_falsenodeids", count);
    int ntrack, nmodes;
    const int64_t *track = attr_ints(&n->attrs, "nodes_missing_value_tracks_true", &ntrack);
    const struct str *modes = attr_strs(&n->attrs, "nodes_modes", &nmodes);
    const double *values = reals(n, "nodes_values", &nvalues, &f->dtype);
    if (!trees || !ids || !features || !yes || !no || !values)
        return diag_failed(n->b->d) ? false : NODE_ERROR(n, "an attribute 'nodes_*' is missing");
    if (!need_length(n, "nodes_modes", nmodes, count) ||
        !need_length(n, "nodes_values", nvalues, count) ||
        (ntrack && !need_length(n, "nodes_missing_value_tracks_true", ntrack, count)))
        return false;
    f->nnodes = count;
    f->nodes = ARENA_ARRAY(&n->b->g->arena, struct tree_node, count + 1);
    for (int64_t i = 0; i < count; i++) {
        bool leaf = modes[i].n == 4 && !memcmp(modes[i].p, "LEAF", 4);
        int mode = leaf ? 0 : mode_of(modes[i]);
        if (mode < 0 || (!leaf && (features[i] < 0 || features[i] > INT32_MAX)))
            return NODE_ERROR(n, "node %lld has mode '%.*s' and feature %lld", (long long)i,
                              (int)modes[i].n, modes[i].p, (long long)features[i]);
        f->nodes[i] = (struct tree_node){.tree = trees[i],
                                         .id = ids[i],
                                         .feature = features[i],
                                         .yes = yes[i],
                                         .no = no[i],
                                         .mode = mode | (ntrack && track[i] ? MISSING_TRUE : 0),
                                         .leaf = leaf,
                                         .at = leaf ? f->nleaves++ : i,
                                         .threshold = values[i]};
    }
    return true;
}

/* Children by number; the roots are the nodes that are no one's child, in the order of the model.
 */
static bool connect(struct onnx_node *n, struct tree_tables *f, struct tree_node **sorted)
{
    bool *is_child = ARENA_ARRAY(&n->b->g->arena, bool, f->nnodes + 1);
    f->roots = ARENA_ARRAY(&n->b->g->arena, int64_t, f->nnodes + 1);
    for (int64_t i = 1; i < f->nnodes; i++)
        if (!by_id(&sorted[i - 1], &sorted[i]))
            return NODE_ERROR(n, "tree %lld has node %lld twice", (long long)sorted[i]->tree,
                              (long long)sorted[i]->id);
    for (int64_t i = 0; i < f->nnodes; i++) {
        struct tree_node *t = &f->nodes[i];
        int64_t *branches[] = {&t->yes, &t->no};
        for (int k = 0; k < 2 && !t->leaf; k++) {
            struct tree_node *to = find_node(sorted, f->nnodes, t->tree, *branches[k]);
            if (!to)
                return NODE_ERROR(n, "tree %lld has no node %lld, where node %lld branches to",
                                  (long long)t->tree, (long long)*branches[k], (long long)t->id);
            is_child[to - f->nodes] = true;
            *branches[k] = to->leaf ? ~to->at : to - f->nodes;
        }
    }
    for (int64_t i = 0; i < f->nnodes; i++)
        if (!is_child[i])
            f->roots[f->nroots++] = f->nodes[i].leaf ? ~f->nodes[i].at : i;
    return true;
}

/* What leaves count for: the attributes PREFIX_treeids, _nodeids, _ids, _weights. A regressor with
 * one target takes the first weight of a leaf, as ONNX Runtime does: exporters that list a leaf's
 * number once per class rely on it. */
static bool read_entries(struct onnx_node *n, struct tree_tables *f, struct tree_node **sorted,
                         const char *prefix, int64_t targets)
{
    bool once = targets == 1 && !strcmp(prefix, "target");
    struct arena *a = &n->b->g->arena;
    int64_t count;
    const double *weights = reals(n, arena_printf(a, "%s_weights", prefix), &count, &f->dtype);
    const int64_t *trees = ints_for(n, arena_printf(a, "%s_treeids", prefix), count);
    const int64_t *nodes = ints_for(n, arena_printf(a, "%s_nodeids", prefix), count);
    const int64_t *ids = ints_for(n, arena_printf(a, "%s_ids", prefix), count);
    if (!weights || !trees || !nodes || !ids)
        return diag_failed(n->b->d) ? false : NODE_ERROR(n, "an attribute '%s_*' is missing", prefix);
    f->entries = ARENA_ARRAY(a, struct tree_entry, count + 1);
    for (int64_t i = 0; i < count; i++) {
        struct tree_node *t = find_node(sorted, f->nnodes, trees[i], nodes[i]);
        if (!t || ids[i] < 0 || ids[i] >= targets)
            return NODE_ERROR(n,
                              "entry %lld of '%s_*' is of node %lld of tree %lld, for %lld of %lld",
                              (long long)i, prefix, (long long)nodes[i], (long long)trees[i],
                              (long long)ids[i], (long long)targets);
        bool repeated = once && f->nentries && f->entries[f->nentries - 1].leaf == t->at;
        if (t->leaf && !repeated) /* weights of inner nodes count for nothing */
            f->entries[f->nentries++] = (struct tree_entry){t->at, ids[i], i, weights[i]};
    }
    return true;
}

static bool read_forest(struct onnx_node *n, struct tree_tables *f, const char *prefix, int64_t targets)
{
    f->dtype = DT_F32;
    if (!read_nodes(n, f))
        return false;
    struct tree_node **sorted = ARENA_ARRAY(&n->b->g->arena, struct tree_node *, f->nnodes + 1);
    for (int64_t i = 0; i < f->nnodes; i++)
        sorted[i] = &f->nodes[i];
    qsort(sorted, (size_t)f->nnodes, sizeof *sorted, by_id);
    return connect(n, f, sorted) && read_entries(n, f, sorted, prefix, targets);
}

/* base_values as a constant of the scores' type, one or `columns` of them; NULL when there are
 * none. */
static struct value *base_values(struct onnx_node *n, struct value *scores, int64_t *count)
{
    int dtype = DT_F32;
    const double *v = reals(n, "base_values", count, &dtype);
    return v && *count ? b_cast(n->b, list_real(n, DT_F64, v, *count), b_dtype(scores)) : NULL;
}

static struct value *plus_base(struct onnx_node *n, struct value *scores, int64_t columns)
{
    int64_t count;
    struct value *base = base_values(n, scores, &count);
    if (base && count != 1 && count != columns) {
        NODE_ERROR(n, "attribute 'base_values' has %lld entries for %lld columns", (long long)count,
                   (long long)columns);
        return NULL;
    }
    return base ? b_add(n->b, scores, base) : scores;
}

bool lower_tree_regressor(struct onnx_node *n)
{
    static const char *const names[][2] = {{"AVERAGE", "average"}, {"MIN", "min"}, {"MAX", "max"}};
    struct tree_tables f = {0};
    int64_t targets = attr_int(&n->attrs, "n_targets", 1);
    const char *how = "sum";
    enum ml_transform t;
    for (int i = 0; i < 3; i++)
        how = attr_is(&n->attrs, "aggregate_function", names[i][0]) ? names[i][1] : how;
    if (targets < 1 || targets > INT32_MAX)
        return NODE_ERROR(n, "attribute 'n_targets' is %lld", (long long)targets);
    if (!ml_transform_read(n, &t) || !read_forest(n, &f, "target", targets))
        return false;
    struct value *y = plus_base(n, build_forest(n, &f, targets, how), targets);
    y = ml_transform(n, targets > 1 || t == ML_PROBIT ? t : ML_NONE, y);
    return b_done(n, b_cast(n->b, y, DT_F32));
}

/* Whether no weight is negative: scores are then probabilities of the second class, else they are
 * signed. */
static bool all_positive(const struct tree_tables *f)
{
    for (int64_t i = 0; i < f->nentries; i++)
        if (f->entries[i].weight < 0)
            return false;
    return true;
}

/* Two classes, of which the trees score one: that score decides. */
static void score_one(struct onnx_node *n, struct tree_tables *f, struct value *labels,
                      struct value *scores, enum ml_transform t)
{
    static const int64_t last[] = {-1};
    int64_t count, column = f->nentries ? f->entries[0].target : 0;
    bool positive = all_positive(f);
    struct value *s = b_slice(n->b, scores, column, column + 1, 1),
                 *base = base_values(n, scores, &count);
    if (base)
        s = b_add(n->b, s, count == 1 ? base : b_slice(n->b, base, 1, 2, 0));
    struct value *limit = b_like(n->b, s, positive ? 0.5 : 0);
    n->out[0] = ml_choose(n, labels, b_squeeze(n->b, b_2(n->b, OP_gt, s, limit), last, 1));
    if (column == 0) { /* the second class's score, under the first one's number */
        n->out[1] = ml_both_scores(n, t, s, positive);
        return;
    }
    struct value *both = b_concat(n->b, (struct value *[]){b_mul(n->b, s, b_like(n->b, s, 0)), s}, 2, 1);
    n->out[1] = ml_transform(n, t, both);
}

/* One class: 1 or its label above 0, else 0 or nothing. */
static void score_single(struct onnx_node *n, struct value *labels, struct value *scores,
                         enum ml_transform t)
{
    static const int64_t last[] = {-1};
    static const struct str none = {"", 0};
    bool strings = b_dtype(labels) == DT_STR;
    struct value *pair =
        strings ? b_concat(n->b, (struct value *[]){ml_strings(n, &none, 1), labels}, 2, 0)
                : b_i64s(n->b, (int64_t[]){0, 1}, 2);
    struct value *s = plus_base(n, scores, 1);
    n->out[0] = ml_choose(n, pair, b_squeeze(n->b, b_2(n->b, OP_gt, s, b_like(n->b, s, 0)), last, 1));
    n->out[1] = t == ML_PROBIT ? ml_transform(n, t, s) : s;
}

bool lower_tree_classifier(struct onnx_node *n)
{
    struct tree_tables f = {0};
    enum ml_transform t;
    int classes;
    struct value *labels = ml_labels(n, "classlabels_int64s", "classlabels_strings", &classes);
    if (!labels)
        return NODE_ERROR(
            n, "one of the attributes 'classlabels_int64s' and 'classlabels_strings' is needed");
    if (!ml_transform_read(n, &t) || !read_forest(n, &f, "class", classes))
        return false;
    struct value *scores = build_forest(n, &f, classes, "sum");
    bool single = true;
    for (int64_t i = 0; i < f.nentries; i++)
        single &= f.entries[i].target == f.entries[0].target;
    if (classes == 2 && single) {
        score_one(n, &f, labels, scores, t);
    } else if (classes == 1) {
        score_single(n, labels, scores, t);
    } else {
        scores = plus_base(n, scores, classes);
        n->out[0] = ml_best(n, labels, scores);
        n->out[1] = ml_transform(n, t, scores);
    }
    n->out[1] = b_cast(n->b, n->out[1], DT_F32);
    return !diag_failed(n->b->d);
}
