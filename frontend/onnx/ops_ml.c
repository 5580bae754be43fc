/* Operators of ai.onnx.ml: features and labels. */
#include "frontend/onnx/ml.h"
#include "frontend/onnx/ops.h"

#include <math.h>
#include <string.h>

/* ---- features ---- */

/* Columns of x by index; a vector counts as one row. */
bool lower_array_feature_extractor(struct onnx_node *n)
{
    static const int64_t flat[] = {-1}, front[] = {0};
    int rank;
    if (!b_rank(n, n->in[0], "the operand", &rank))
        return false;
    struct value *x = rank == 1 ? b_unsqueeze(n->b, n->in[0], front, 1) : n->in[0];
    return b_done(n, b_gather(n->b, x, b_reshape_to(n->b, n->in[1], flat, 1), -1));
}

/* Integers are above a limit when they are above its floor. */
bool lower_binarizer(struct onnx_node *n)
{
    double limit = attr_float(&n->attrs, "threshold", 0);
    struct value *x = n->in[0];
    struct value *min = b_like(n->b, x, dtype_is_int(b_dtype(x)) ? floor(limit) : limit);
    return b_done(n, b_cast(n->b, b_2(n->b, OP_gt, x, min), b_dtype(x)));
}

/* (x - offset) * scale, one of each or one for each column. */
bool lower_scaler(struct onnx_node *n)
{
    struct value *x = b_cast(n->b, n->in[0], DT_F32);
    struct value *moved = b_sub(n->b, x, ml_float_list(n, "offset", 0));
    return b_done(n, b_mul(n->b, moved, ml_float_list(n, "scale", 1)));
}

/* Each operand as a matrix with as many columns as inputdimensions says (cut, or padded with
 * zeros), side by side. */
bool lower_feature_vectorizer(struct onnx_node *n)
{
    int count, rank;
    const int64_t *sizes = attr_ints(&n->attrs, "inputdimensions", &count);
    struct value **parts = ARENA_ARRAY(&n->b->g->arena, struct value *, n->nin);
    if (sizes && count != n->nin)
        return NODE_ERROR(n, "attribute 'inputdimensions' has %d entries for %d inputs", count,
                          n->nin);
    for (int i = 0; i < n->nin; i++) {
        if (!n->in[i] || !b_rank(n, n->in[i], "the operand", &rank))
            return n->in[i] ? false : NODE_ERROR(n, "input %d is left out", i);
        struct value *x = b_cast(n->b, n->in[i], DT_F32);
        if (rank == 1)
            x = b_reshape_to(n->b, x, (int64_t[]){1, -1}, 2);
        if (sizes && sizes[i] < 0)
            return NODE_ERROR(n, "attribute 'inputdimensions' holds %lld", (long long)sizes[i]);
        if (sizes) {
            x = b_slice(n->b, x, 0, sizes[i], 1);
            struct value *missing = b_sub(n->b, b_i64(n->b, sizes[i]), b_dim(n->b, x, 1));
            struct value *pads =
                b_concat(n->b, (struct value *[]){b_i64s(n->b, (int64_t[]){0, 0, 0}, 3), missing}, 2, 0);
            bool exact = x && x->type.rank == 2 && x->type.dims[1] == sizes[i];
            x = exact ? x : b_2(n->b, OP_pad, x, pads);
        }
        parts[i] = x;
    }
    return b_done(n, b_concat(n->b, parts, n->nin, 1));
}

bool lower_imputer(struct onnx_node *n)
{
    int nfloats, nints;
    const double *floats = attr_floats(&n->attrs, "imputed_value_floats", &nfloats);
    const int64_t *ints = attr_ints(&n->attrs, "imputed_value_int64s", &nints);
    struct value *x = n->in[0];
    bool whole = dtype_is_int(b_dtype(x));
    if (whole ? !nints : !nfloats)
        return NODE_ERROR(n, "attribute '%s' is missing, this operator needs it",
                          whole ? "imputed_value_int64s" : "imputed_value_floats");
    struct value *put =
        b_cast(n->b, whole ? b_i64s(n->b, ints, nints) : ml_floats(n, floats, 1, (int64_t[]){nfloats}),
               b_dtype(x));
    double replaced = attr_float(&n->attrs, "replaced_value_float", 0);
    struct value *which;
    if (whole) {
        struct value *v = b_i64s(n->b, (int64_t[]){attr_int(&n->attrs, "replaced_value_int64", 0)}, 1);
        which = b_2(n->b, OP_eq, x, b_cast(n->b, v, b_dtype(x)));
    } else {
        which = isnan(replaced) ? b_1(n->b, OP_is_nan, x) : b_2(n->b, OP_eq, x, b_like(n->b, x, replaced));
    }
    return b_done(n, b_select(n->b, which, put, x));
}

/* Rows over their norm; a norm of zero leaves them as they are. */
bool lower_normalizer(struct onnx_node *n)
{
    static const int64_t last[] = {-1};
    struct value *x = b_cast(n->b, n->in[0], DT_F32);
    bool l1 = attr_is(&n->attrs, "norm", "L1"), l2 = attr_is(&n->attrs, "norm", "L2");
    if (!l1 && !l2 && attr_find(&n->attrs, "norm") && !attr_is(&n->attrs, "norm", "MAX"))
        return NODE_ERROR(n, "attribute 'norm' is neither MAX, L1 nor L2");
    struct value *norm = b_reduce(n->b,
                                  l1   ? OP_reduce_l1
                                  : l2 ? OP_reduce_l2
                                       : OP_reduce_max,
                                  x, last, 1, true);
    struct value *zero = b_2(n->b, OP_eq, norm, b_like(n->b, x, 0));
    struct value *by = b_select(n->b, zero, b_like(n->b, x, 1), norm);
    return b_done(n, b_div(n->b, x, by));
}

/* ---- labels ---- */

static struct value *encode(struct onnx_node *n, struct value *x, struct value *keys,
                            struct value *values, struct value *otherwise, bool strict)
{
    struct attrs a = {0};
    if (strict)
        attr_set_int(&n->b->g->arena, &a, "strict", 1);
    return b_op(n->b, OP_label_encode, (struct value *[]){x, keys, values, otherwise}, 4, &a);
}

static struct value *sequence_of(struct onnx_node *n, int count) /* 0, 1, ... */
{
    int64_t *v = ARENA_ARRAY(&n->b->g->arena, int64_t, count + 1);
    for (int i = 0; i < count; i++)
        v[i] = i;
    return b_i64s(n->b, v, count);
}

static struct value *one_string(struct onnx_node *n, struct str s)
{
    struct str *v = ARENA_NEW(&n->b->g->arena, struct str);
    *v = s;
    return ml_strings(n, v, 1);
}

/* Numbers are looked up as integers, strings as strings. */
bool lower_one_hot_encoder(struct onnx_node *n)
{
    static const int64_t last[] = {-1};
    int count;
    bool strict = !attr_int(&n->attrs, "zeros", 1);
    struct value *keys = ml_labels(n, "cats_int64s", "cats_strings", &count), *x = n->in[0];
    if (!keys)
        return NODE_ERROR(n, "one of the attributes 'cats_int64s' and 'cats_strings' is needed");
    x = b_dtype(keys) == DT_I64 ? b_cast(n->b, x, DT_I64) : x;
    struct value *places = sequence_of(n, count);
    struct value *at = encode(n, x, keys, places, b_i64(n->b, -1), strict);
    struct value *hit = b_2(n->b, OP_eq, b_unsqueeze(n->b, at, last, 1), places);
    return b_done(n, b_cast(n->b, hit, DT_F32));
}

bool lower_category_mapper(struct onnx_node *n)
{
    int nints, nstrs;
    const int64_t *ints = attr_ints(&n->attrs, "cats_int64s", &nints);
    const struct str *strs = attr_strs(&n->attrs, "cats_strings", &nstrs);
    if (!nints || nints != nstrs)
        return NODE_ERROR(n, "attributes 'cats_int64s' and 'cats_strings' have %d and %d entries",
                          nints, nstrs);
    struct value *a = b_i64s(n->b, ints, nints), *b = ml_strings(n, strs, nstrs);
    if (b_dtype(n->in[0]) == DT_STR)
        return b_done(n, encode(n, n->in[0], b, a,
                                b_i64(n->b, attr_int(&n->attrs, "default_int64", -1)), false));
    struct value *unused = one_string(n, attr_str(&n->attrs, "default_string", "_Unused"));
    return b_done(n, encode(n, n->in[0], a, b, unused, false));
}

/* keys_* or values_*, whichever of the four is given, as rank 1. */
static struct value *side(struct onnx_node *n, const char *ints, const char *strs,
                          const char *floats, const char *tensor)
{
    static const int64_t flat[] = {-1};
    int count;
    struct value *v = ml_labels(n, ints, strs, &count);
    if (v)
        return v;
    if (attr_floats(&n->attrs, floats, &count) && count)
        return ml_float_list(n, floats, 0);
    const struct tensor *t = attr_tensor(&n->attrs, tensor);
    return t ? b_reshape_to(n->b, b_tensor(n->b, t), flat, 1) : NULL;
}

static struct value *default_label(struct onnx_node *n, int dtype)
{
    static const int64_t flat[] = {-1};
    const struct tensor *t = attr_tensor(&n->attrs, "default_tensor");
    if (t)
        return b_reshape_to(n->b, b_tensor(n->b, t), flat, 1);
    if (dtype == DT_STR)
        return one_string(n, attr_str(&n->attrs, "default_string", "_Unused"));
    if (dtype == DT_I64)
        return b_i64(n->b, attr_int(&n->attrs, "default_int64", -1));
    return b_scalar(n->b, dtype, attr_float(&n->attrs, "default_float", -0.0));
}

bool lower_label_encoder(struct onnx_node *n)
{
    struct value *keys = side(n, "keys_int64s", "keys_strings", "keys_floats", "keys_tensor");
    struct value *values =
        side(n, "values_int64s", "values_strings", "values_floats", "values_tensor");
    if (diag_failed(n->b->d))
        return false;
    if (!keys || !values)
        return NODE_ERROR(n, "attributes 'keys_*' and 'values_*' are needed");
    return b_done(n, encode(n, n->in[0], keys, values, default_label(n, b_dtype(values)), false));
}

/* Version 1: a string's place in a list of classes, and back. */
bool lower_label_encoder_1(struct onnx_node *n)
{
    int count;
    const struct str *v = attr_strs(&n->attrs, "classes_strings", &count);
    if (!count)
        return NODE_ERROR(n, "attribute 'classes_strings' is missing, this operator needs it");
    struct value *classes = ml_strings(n, v, count), *places = sequence_of(n, count);
    bool strings = b_dtype(n->in[0]) == DT_STR;
    return b_done(n, encode(n, n->in[0], strings ? classes : places, strings ? places : classes,
                            default_label(n, strings ? DT_I64 : DT_STR), false));
}

static int compare_labels(const struct tensor *t, int64_t i, int64_t j)
{
    if (t->dtype == DT_I64)
        return (tensor_i64(t, i) > tensor_i64(t, j)) - (tensor_i64(t, i) < tensor_i64(t, j));
    const struct str *a = (const struct str *)t->data + i, *b = (const struct str *)t->data + j;
    size_t min = a->n < b->n ? a->n : b->n;
    int c = min ? memcmp(a->p, b->p, min) : 0;
    return c ? c : (a->n > b->n) - (a->n < b->n);
}

/* Maps have their keys in ascending order. */
bool lower_zip_map(struct onnx_node *n)
{
    int count;
    struct value *keys = ml_labels(n, "classlabels_int64s", "classlabels_strings", &count),
                 *x = n->in[0];
    if (!keys)
        return NODE_ERROR(
            n, "one of the attributes 'classlabels_int64s' and 'classlabels_strings' is needed");
    int64_t *order = ARENA_ARRAY(&n->b->g->arena, int64_t, count);
    bool sorted = true;
    for (int i = 0; i < count; i++) { /* by insertion: classes are few */
        int at = i;
        for (; at > 0 && compare_labels(keys->constant, order[at - 1], i) > 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
        sorted &= at == i;
    }
    if (!sorted) {
        struct value *by = b_i64s(n->b, order, count);
        keys = b_gather(n->b, keys, by, 0);
        x = b_gather(n->b, x, by, -1);
    }
    return b_done(n, b_2(n->b, OP_zip_map, x, keys));
}

/* ---- linear models ---- */

/* x (N,F) times `coefficients` (targets, F), plus intercepts. */
static struct value *linear(struct onnx_node *n, int64_t targets)
{
    static const int64_t row[] = {1, -1};
    int count, rank;
    const double *v = attr_floats(&n->attrs, "coefficients", &count);
    struct value *x = b_cast(n->b, n->in[0], DT_F32);
    if (!b_rank(n, x, "the operand", &rank))
        return NULL;
    if (targets < 1 || count == 0 || count % targets) {
        NODE_ERROR(n, "attribute 'coefficients' has %d entries for %lld targets", count,
                   (long long)targets);
        return NULL;
    }
    x = rank == 1 ? b_reshape_to(n->b, x, row, 2) : x;
    struct value *w = ml_floats(n, v, 2, (int64_t[]){targets, count / targets});
    return b_add(n->b, ml_product(n, x, w, true), ml_float_list(n, "intercepts", 0));
}

bool lower_linear_regressor(struct onnx_node *n)
{
    enum ml_transform t;
    int64_t targets = attr_int(&n->attrs, "targets", 1);
    if (!ml_transform_read(n, &t))
        return false;
    struct value *scores = linear(n, targets);
    return b_done(n, ml_transform(n, targets > 1 || t == ML_PROBIT ? t : ML_NONE, scores));
}

bool lower_linear_classifier(struct onnx_node *n)
{
    static const int64_t last[] = {-1};
    enum ml_transform t;
    int classes, scores_count, intercepts;
    struct value *labels = ml_labels(n, "classlabels_ints", "classlabels_strings", &classes);
    attr_floats(&n->attrs, "intercepts", &intercepts);
    attr_floats(&n->attrs, "coefficients", &scores_count);
    if (!ml_transform_read(n, &t))
        return false;
    scores_count = intercepts ? intercepts : classes ? classes : 1;
    struct value *s = linear(n, scores_count);
    if (scores_count > 1) {
        if (!labels || classes != scores_count)
            return NODE_ERROR(n, "%d class labels for %d scores", classes, scores_count);
        n->out[0] = ml_best(n, labels, s);
        n->out[1] = ml_transform(n, t, s);
        return !diag_failed(n->b->d);
    }
    struct value *yes = b_squeeze(n->b, b_2(n->b, OP_gt, s, b_like(n->b, s, 0)), last, 1);
    n->out[0] = ml_choose(n, classes == 2 ? labels : b_i64s(n->b, (int64_t[]){0, 1}, 2), yes);
    n->out[1] = classes == 2     ? ml_both_scores(n, t, s, true)
                : t == ML_PROBIT ? ml_transform(n, t, s)
                                 : s;
    return !diag_failed(n->b->d);
}
