/* Shapes and element types that single operations ask for. */
#include "frontend/stablehlo/verify/verify.h"

static bool same_elements(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *x = verify_in(op, 0), *r = verify_out(op, 0);
    if (!x || !r || !verify_tensor(x) || !verify_tensor(r) || verify_quant(x) || verify_quant(r))
        return true;
    return mlir_type_equal(x->element, r->element) ||
           VERIFY_ERROR(v, "the operand is %s, but the result %s", mlir_type_text(&v->arena, x),
                        mlir_type_text(&v->arena, r));
}

/* The real type of a complex one's parts; other types are their own. */
static bool check_part(struct verifier *v, const struct mlir_op *op)
{
    int x = mlir_dtype(verify_in(op, 0)), r = mlir_dtype(verify_out(op, 0));
    int want = x == DT_C64 ? DT_F32 : x == DT_C128 ? DT_F64 : x;
    return r == want || !dtype_valid(x) ||
           VERIFY_ERROR(v, "the result is %s", mlir_type_text(&v->arena, verify_out(op, 0)));
}

static bool square(struct verifier *v, const struct mlir_type *t)
{
    return (t->rank >= 2 && !verify_differ(t->dims[t->rank - 1], t->dims[t->rank - 2])) ||
           t->rank < 0 ||
           VERIFY_ERROR(v, "%s is not a batch of square matrices", mlir_type_text(&v->arena, t));
}

static bool check_solve(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *a = verify_in(op, 0), *b = verify_in(op, 1);
    int64_t left = verify_int(op, "left_side", 1);
    if (!a || !b || !square(v, a))
        return false;
    if (!strcmp(mlir_text(mlir_attr(op, "transpose_a")), "TRANSPOSE_INVALID"))
        return VERIFY_ERROR(v, "transpose_a is TRANSPOSE_INVALID");
    if (!mlir_type_equal(a->element, b->element) || a->rank != b->rank)
        return VERIFY_ERROR(v, "operands %s and %s", mlir_type_text(&v->arena, a),
                            mlir_type_text(&v->arena, b));
    for (int k = 0; k < a->rank - 2; k++)
        if (verify_differ(a->dims[k], b->dims[k]))
            return VERIFY_ERROR(v, "batches of %lld and %lld", (long long)a->dims[k],
                                (long long)b->dims[k]);
    return a->rank < 2 || !verify_differ(a->dims[a->rank - 1], b->dims[b->rank - (left ? 2 : 1)]) ||
           VERIFY_ERROR(v, "operands %s and %s", mlir_type_text(&v->arena, a),
                        mlir_type_text(&v->arena, b));
}

static bool check_norm(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *x = verify_in(op, 0), *last = verify_in(op, 4);
    int64_t feature = verify_int(op, "feature_index", 0);
    int vectors = verify_is(op, "batch_norm_training") ? 3
                  : verify_is(op, "batch_norm_grad")   ? 4
                                                       : 5;
    if (!verify_tensor(x) || x->rank < 0)
        return true;
    if (feature >= x->rank)
        return VERIFY_ERROR(v, "feature_index is %lld of %d dimensions", (long long)feature,
                            x->rank);
    for (int k = 1; k < vectors && k < op->operand_count; k++) {
        const struct mlir_type *t = op->operands[k]->type;
        if (t->rank != 1 || verify_differ(t->dims[0], x->dims[feature]))
            return VERIFY_ERROR(v, "operand %d is %s, expected %lld entries", k,
                                mlir_type_text(&v->arena, t), (long long)x->dims[feature]);
    }
    if (vectors != 4 || !last)
        return true;
    bool same = last->rank == x->rank;
    for (int k = 0; same && k < x->rank; k++)
        same = !verify_differ(last->dims[k], x->dims[k]);
    return same || VERIFY_ERROR(v, "operand 4 is %s", mlir_type_text(&v->arena, last));
}

static bool check_fft(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *x = verify_in(op, 0);
    const char *kind = mlir_text(mlir_attr(op, "fft_type"));
    int64_t *length;
    int n = verify_ints(v, op, "fft_length", &length);
    bool real = !strcmp(kind, "RFFT"), back = !strcmp(kind, "IRFFT");
    if (!verify_tensor(x) || n < 1 || n > 3 || n > x->rank)
        return VERIFY_ERROR(v, "fft_length has %d entries", n);
    if (dtype_is_complex(mlir_dtype(x)) == real)
        return VERIFY_ERROR(v, "%s of %s", kind, mlir_type_text(&v->arena, x));
    for (int k = 0; k < n; k++) {
        int64_t have = x->dims[x->rank - n + k], want = length[k];
        if (back && k == n - 1)
            want = want || have ? want / 2 + 1 : 0;
        if (verify_differ(have, want))
            return VERIFY_ERROR(v, "fft_length %lld of a dimension of size %lld",
                                (long long)length[k], (long long)have);
    }
    return true;
}

static bool constant(struct verifier *v, const struct mlir_op *op, int k, int *n, int64_t **values)
{
    const struct mlir_op *d = k < op->operand_count ? op->operands[k]->def : NULL;
    return d && verify_is(d, "constant") && mlir_ints(&v->arena, mlir_attr(d, "value"), n, values);
}

static bool check_rng(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *r = verify_out(op, 0), *s = verify_in(op, 2);
    int64_t *dims;
    int n;
    for (int k = 0; k < 2 && k < op->operand_count; k++)
        if (op->operands[k]->type->rank != 0)
            return VERIFY_ERROR(v, "operand %d is %s, expected a scalar", k,
                                mlir_type_text(&v->arena, op->operands[k]->type));
    if (!r || !s || s->rank != 1)
        return VERIFY_ERROR(v, "the shape is not a list");
    if (!constant(v, op, 2, &n, &dims))
        return true;
    bool same = n == r->rank;
    for (int k = 0; same && k < n; k++)
        same = !verify_differ(dims[k], r->dims[k]);
    return same || VERIFY_ERROR(v, "the result is %s", mlir_type_text(&v->arena, r));
}

static int width(const struct mlir_type *t)
{
    const struct mlir_type *e = verify_element(t);
    int dt = e->kind == MT_QUANT ? e->quant->storage->dtype : mlir_dtype(e);
    return dt == DT_BOOL ? 1 : dtype_valid(dt) ? dtype_info(dt)->bits : 0;
}

static bool check_bitcast(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *x = verify_in(op, 0), *r = verify_out(op, 0);
    if (!verify_tensor(x) || !verify_tensor(r) || x->rank < 0 || r->rank < 0)
        return true;
    if (dtype_is_complex(mlir_dtype(x)) != dtype_is_complex(mlir_dtype(r)))
        return VERIFY_ERROR(v, "%s as %s", mlir_type_text(&v->arena, x),
                            mlir_type_text(&v->arena, r));
    int from = width(x), to = width(r);
    const struct mlir_type *narrow = from < to ? x : r, *wide = from < to ? r : x;
    bool fits = from == to ? x->rank == r->rank : narrow->rank == wide->rank + 1;
    int small = from < to ? from : to, large = from < to ? to : from;
    if (fits && from != to && small &&
        (large % small || verify_differ(narrow->dims[narrow->rank - 1], large / small)))
        fits = false;
    for (int k = 0; fits && k < wide->rank; k++)
        fits = !verify_differ(narrow->dims[k], wide->dims[k]);
    return fits ||
           VERIFY_ERROR(v, "%s as %s", mlir_type_text(&v->arena, x), mlir_type_text(&v->arena, r));
}

/* A dimension size that is a constant must be what the type allows. */
static bool check_set_size(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *x = verify_in(op, 0), *r = verify_out(op, 0), *s = verify_in(op, 1);
    int64_t dim = verify_int(op, "dimension", 0), *size;
    int n;
    if (!verify_tensor(x) || !verify_tensor(r) || x->rank < 0)
        return true;
    if (dim >= x->rank || s->rank != 0 || mlir_dtype(s) != DT_I32)
        return VERIFY_ERROR(v, "dimension %lld of %s", (long long)dim,
                            mlir_type_text(&v->arena, x));
    if (constant(v, op, 1, &n, &size) && n == 1 && r->rank == x->rank &&
        verify_differ(r->dims[dim], size[0]))
        return VERIFY_ERROR(v, "the result is %s", mlir_type_text(&v->arena, r));
    return true;
}

/* ---- shapes as operands ---- */

static bool check_shape_operand(struct verifier *v, const struct mlir_op *op, int k)
{
    const struct mlir_type *r = verify_out(op, 0), *s = verify_in(op, k);
    int64_t *dims;
    int n;
    if (!verify_tensor(r) || !verify_tensor(s))
        return true;
    if (s->rank != 1 || s->dims[0] < 0)
        return VERIFY_ERROR(v, "operand %d is %s, expected a list of known length", k,
                            mlir_type_text(&v->arena, s));
    if (!constant(v, op, k, &n, &dims))
        return true;
    for (int j = 0; j < n && n == r->rank; j++)
        if (verify_differ(r->dims[j], dims[j]) || dims[j] < 0)
            return VERIFY_ERROR(v, "the shape has %lld in dimension %d, but the result is %s",
                                (long long)dims[j], j, mlir_type_text(&v->arena, r));
    return true;
}

static bool check_dynamic_broadcast(struct verifier *v, const struct mlir_op *op)
{
    int64_t *grow, *stay, *at, *dims;
    const struct mlir_type *x = verify_in(op, 0);
    int n = verify_ints(v, op, "known_expanding_dimensions", &grow),
        m = verify_ints(v, op, "known_nonexpanding_dimensions", &stay),
        places = verify_ints(v, op, "broadcast_dimensions", &at), count;
    for (int k = 0; k < n + (m < 0 ? 0 : m); k++) {
        int64_t d = k < n ? grow[k] : stay[k - (n < 0 ? 0 : n)];
        if (d < 0 || d >= x->rank)
            return VERIFY_ERROR(v, "an expansion hint for dimension %lld of %d", (long long)d,
                                x->rank);
        for (int j = 0; j < k; j++)
            if (d == (j < n ? grow[j] : stay[j - (n < 0 ? 0 : n)]))
                return VERIFY_ERROR(v, "two expansion hints for dimension %lld", (long long)d);
    }
    if (constant(v, op, 1, &count, &dims))
        for (int k = 0; k < places && k < x->rank; k++)
            if (at[k] < count && at[k] >= 0 && x->dims[k] != 1 &&
                verify_differ(x->dims[k], dims[at[k]]))
                return VERIFY_ERROR(v, "operand dimension %d has size %lld, the shape %lld", k,
                                    (long long)x->dims[k], (long long)dims[at[k]]);
    return check_shape_operand(v, op, 1);
}

static bool check_dynamic_reshape(struct verifier *v, const struct mlir_op *op)
{
    int64_t *dims, have, want = 1;
    int n;
    if (constant(v, op, 1, &n, &dims) && mlir_count(verify_in(op, 0), &have)) {
        for (int k = 0; k < n; k++)
            want *= dims[k] >= 0 && dims[k] < 1 << 20 ? dims[k] : 1;
        if (want != have)
            return VERIFY_ERROR(v, "%lld elements in a shape of %lld", (long long)have,
                                (long long)want);
    }
    return check_shape_operand(v, op, 1);
}

static bool check_dynamic_pad(struct verifier *v, const struct mlir_op *op)
{
    int64_t *list;
    int n;
    if (constant(v, op, 4, &n, &list))
        for (int k = 0; k < n; k++)
            if (list[k] < 0)
                return VERIFY_ERROR(v, "interior padding %lld", (long long)list[k]);
    return true;
}

/* ---- custom calls ---- */

static bool permutation(const struct mlir_attr *a, int rank, struct verifier *v)
{
    int64_t *list;
    int n;
    uint64_t seen = 0;
    if (!mlir_ints(&v->arena, a, &n, &list) || n != rank)
        return false;
    for (int k = 0; k < n; k++) {
        if (list[k] < 0 || list[k] >= n || seen >> list[k] & 1)
            return false;
        seen |= (uint64_t)1 << list[k];
    }
    return true;
}

static bool check_layouts(struct verifier *v, const struct mlir_attr *a,
                          struct mlir_value *const *values, int count, const char *what)
{
    if (!a || a->kind != MA_ARRAY)
        return true;
    const struct mlir_type *one = count == 1 ? values[0]->type : NULL;
    int want = one && one->kind == MT_TUPLE ? one->count : count;
    if (a->count != want)
        return VERIFY_ERROR(v, "%d layouts of %ss, expected %d", a->count, what, want);
    for (int k = 0; k < want; k++) {
        const struct mlir_type *t = one && one->kind == MT_TUPLE ? one->types[k] : values[k]->type;
        int64_t *list;
        int n = 0;
        bool tensor = verify_tensor(t) || t->kind == MT_BUFFER;
        if (!tensor && mlir_ints(&v->arena, a->items[k], &n, &list) && n > 0)
            return VERIFY_ERROR(v, "a layout of %s %d, which is %s", what, k,
                                mlir_type_text(&v->arena, t));
        if (tensor && t->rank >= 0 && !permutation(a->items[k], t->rank, v))
            return VERIFY_ERROR(v, "the layout of %s %d is not a permutation of %d dimensions",
                                what, k, t->rank);
    }
    return true;
}

static const struct mlir_type *part(const struct mlir_type *t, const struct mlir_attr *path,
                                    struct verifier *v)
{
    int64_t *list;
    int n;
    if (!path || !mlir_ints(&v->arena, path, &n, &list))
        return t;
    for (int k = 0; t && k < n; k++)
        t = t->kind == MT_TUPLE && list[k] >= 0 && list[k] < t->count ? t->types[list[k]] : NULL;
    return t;
}

static bool check_aliases(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_attr *a = mlir_attr(op, "output_operand_aliases");
    for (int k = 0; a && a->kind == MA_ARRAY && k < a->count; k++) {
        int64_t operand = -1, *out;
        int n = 0;
        mlir_int(mlir_field(a->items[k], "operand_index"), &operand);
        if (operand < 0 || operand >= op->operand_count)
            return VERIFY_ERROR(v, "an alias of operand %lld", (long long)operand);
        const struct mlir_type *in =
            part(op->operands[operand]->type, mlir_field(a->items[k], "operand_tuple_indices"), v);
        const struct mlir_attr *to = mlir_field(a->items[k], "output_tuple_indices");
        if (to)
            mlir_ints(&v->arena, to, &n, &out);
        const struct mlir_type *r;
        if (op->result_count > 1) /* the first index picks the result */
            r = n > 0 && out[0] >= 0 && out[0] < op->result_count ? op->results[out[0]]->type
                                                                  : NULL;
        else
            r = op->result_count ? part(op->results[0]->type, to, v) : NULL;
        if (!in || !r || !mlir_type_equal(in, r))
            return VERIFY_ERROR(v, "alias %d is of different types, or out of range", k);
    }
    return true;
}

static bool check_custom_call(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_attr *in = mlir_attr(op, "operand_layouts"),
                           *out = mlir_attr(op, "result_layouts"),
                           *config = mlir_attr(op, "backend_config");
    const struct mlir_type *r = verify_out(op, 0);
    bool empty = op->result_count == 1 && r->kind == MT_TUPLE && !r->count;
    if (verify_int(op, "api_version", 1) == 4 && config && config->kind != MA_DICT)
        return VERIFY_ERROR(v, "backend_config is not a dictionary, as the typed interface wants");
    if (verify_int(op, "api_version", 1) != 4 && config && config->kind == MA_DICT)
        return VERIFY_ERROR(v,
                            "backend_config is a dictionary, which only the typed interface has");
    if ((!in && out && op->operand_count) || (in && !out && op->result_count && !empty))
        return VERIFY_ERROR(v, "layouts of operands without those of results, or the reverse");
    return check_layouts(v, in, op->operands, op->operand_count, "operand") &&
           check_layouts(v, out, op->results, op->result_count, "result") && check_aliases(v, op);
}

/* ---- windows ---- */

static bool check_window(struct verifier *v, const struct mlir_op *op)
{
    static const char *const names[] = {"window_dimensions", "window_strides", "window_dilations",
                                        "base_dilations",    "lhs_dilation",   "rhs_dilation"};
    const struct mlir_attr *p = mlir_attr(op, "padding");
    int64_t *list;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        int n = verify_ints(v, op, names[k], &list);
        for (int j = 0; j < n; j++)
            if (list[j] <= 0)
                return VERIFY_ERROR(v, "%s has %lld, expected positive numbers", names[k],
                                    (long long)list[j]);
    }
    return !p || p->kind != MA_DENSE || (p->type->rank == 2 && p->type->dims[1] == 2) ||
           VERIFY_ERROR(v, "padding is %s, expected pairs", mlir_type_text(&v->arena, p->type));
}

static bool check_convolution(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *x = verify_in(op, 0), *k = verify_in(op, 1);
    int64_t batch = verify_int(op, "input_batch_dimension", 0),
            out = verify_int(op, "kernel_output_feature_dimension", 0),
            groups = verify_int(op, "feature_group_count", 1),
            batches = verify_int(op, "batch_group_count", 1);
    if (!verify_tensor(x) || !verify_tensor(k) || x->rank < 0 || batch >= x->rank ||
        out >= k->rank || batch < 0 || out < 0)
        return true;
    if (groups > 1 && batches > 1)
        return VERIFY_ERROR(v, "groups of features and of batches");
    if ((x->dims[batch] >= 0 && x->dims[batch] % batches) ||
        (k->dims[out] >= 0 && (k->dims[out] % groups || k->dims[out] % batches)))
        return VERIFY_ERROR(v, "%lld outputs and %lld inputs of a batch in groups of %lld and %lld",
                            (long long)k->dims[out], (long long)x->dims[batch], (long long)groups,
                            (long long)batches);
    return true;
}

/* The source has a place for every window. */
static bool check_source(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *x = verify_in(op, 0), *s = verify_in(op, 1);
    int64_t *size, *stride, *pad;
    int n = verify_ints(v, op, "window_dimensions", &size),
        m = verify_ints(v, op, "window_strides", &stride), p = verify_ints(v, op, "padding", &pad);
    if (!verify_tensor(x) || !verify_tensor(s) || x->rank != s->rank)
        return VERIFY_ERROR(v, "operands of different ranks");
    for (int k = 0; k < x->rank; k++) {
        int64_t w = k < n ? size[k] : 1, step = k < m ? stride[k] : 1;
        int64_t span = x->dims[k] + (2 * k + 1 < p ? pad[2 * k] + pad[2 * k + 1] : 0) - w;
        if (x->dims[k] >= 0 && verify_differ(s->dims[k], span < 0 ? 0 : span / step + 1))
            return VERIFY_ERROR(v, "the source is %s, expected %lld in dimension %d",
                                mlir_type_text(&v->arena, s),
                                (long long)(span < 0 ? 0 : span / step + 1), k);
    }
    return true;
}

static bool check_async_done(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *f = verify_in(op, 0);
    if (!f || f->kind != MT_FUTURE || f->count != op->result_count)
        return VERIFY_ERROR(v, "the operand is not a future of %d values", op->result_count);
    for (int k = 0; k < f->count; k++)
        if (!mlir_type_equal(f->types[k], op->results[k]->type))
            return VERIFY_ERROR(v, "result %d is %s, but the future %s", k,
                                mlir_type_text(&v->arena, op->results[k]->type),
                                mlir_type_text(&v->arena, f));
    return true;
}

static bool check_bounded(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *r = verify_out(op, 0);
    const struct mlir_attr *b = verify_tensor(r) ? mlir_field(r->encoding, "bounds") : NULL;
    int unknown = 0;
    for (int k = 0; verify_tensor(r) && k < r->rank; k++)
        unknown += r->dims[k] < 0;
    return unknown == 0 || (unknown == 1 && b) ||
           VERIFY_ERROR(v, "the result is %s, expected known dimensions",
                        mlir_type_text(&v->arena, r));
}

static bool check_state(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *a = verify_in(op, 0), *b = verify_out(op, 0);
    bool same = a && b && a->rank == b->rank && mlir_type_equal(a->element, b->element);
    for (int k = 0; same && k < a->rank; k++)
        same = !verify_differ(a->dims[k], b->dims[k]);
    return same ||
           VERIFY_ERROR(v, "the new state is %s", b ? mlir_type_text(&v->arena, b) : "none");
}

static bool check_starts(struct verifier *v, const struct mlir_op *op)
{
    int first = verify_is(op, "dynamic_slice") ? 1 : 2;
    for (int k = first + 1; k < op->operand_count; k++)
        if (!mlir_type_equal(op->operands[k]->type, op->operands[first]->type))
            return VERIFY_ERROR(v, "starts of different types");
    return true;
}

/* Collectives and slices run while other work goes on. */
static bool is_async(const struct mlir_op *op)
{
    static const char *const names[] = {
        "all_gather",         "all_reduce",           "all_to_all",     "collective_broadcast",
        "collective_permute", "collective_reduce",    "reduce_scatter", "slice",
        "dynamic_slice",      "dynamic_update_slice", "custom_call"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (verify_is(op, names[k]))
            return true;
    return false;
}

static bool check_future(struct verifier *v, const struct mlir_op *op)
{
    struct mlir_block *b = mlir_body(op, 0);
    const struct mlir_op *end = b && b->op_count ? b->ops[b->op_count - 1] : NULL;
    const struct mlir_type *f = verify_out(op, 0);
    if (b && (b->op_count != 2 || op->region_count != 1))
        return VERIFY_ERROR(v, "its region holds %d operations, expected one and a return",
                            b->op_count);
    if (b && !is_async(b->ops[0]))
        return VERIFY_ERROR(v, "its region holds '%s', which cannot be started", b->ops[0]->name);
    if (!end || !f || f->kind != MT_FUTURE || f->count != end->operand_count)
        return VERIFY_ERROR(v, "the result is not a future of what its region gives");
    for (int k = 0; k < f->count; k++)
        if (!mlir_type_equal(f->types[k], end->operands[k]->type))
            return VERIFY_ERROR(v, "the result is %s, but its region gives %s",
                                mlir_type_text(&v->arena, f),
                                mlir_type_text(&v->arena, end->operands[k]->type));
    return true;
}

bool verify_shapes(struct verifier *v, const struct mlir_op *op)
{
    static const struct {
        const char *op;
        bool (*check)(struct verifier *v, const struct mlir_op *op);
    } rows[] = {
        {"async_done", check_async_done},
        {"async_start", check_future},
        {"batch_norm_grad", check_norm},
        {"batch_norm_inference", check_norm},
        {"batch_norm_training", check_norm},
        {"bitcast_convert", check_bitcast},
        {"broadcast_in_dim", check_bounded},
        {"cholesky", NULL},
        {"convolution", check_convolution},
        {"custom_call", check_custom_call},
        {"dynamic_broadcast_in_dim", check_dynamic_broadcast},
        {"dynamic_conv", check_convolution},
        {"dynamic_pad", check_dynamic_pad},
        {"dynamic_reshape", check_dynamic_reshape},
        {"dynamic_slice", check_starts},
        {"dynamic_update_slice", check_starts},
        {"fft", check_fft},
        {"imag", check_part},
        {"real", check_part},
        {"rng", check_rng},
        {"rng_bit_generator", check_state},
        {"select_and_scatter", check_source},
        {"set_dimension_size", check_set_size},
        {"triangular_solve", check_solve},
    };
    static const char *const kept[] = {"dynamic_reshape", "dynamic_broadcast_in_dim",
                                       "reshape",         "broadcast_in_dim",
                                       "transpose",       "slice",
                                       "reverse"};
    if (verify_is(op, "cholesky") && op->operand_count && !square(v, op->operands[0]->type))
        return false;
    if (verify_is(op, "dynamic_iota") && !check_shape_operand(v, op, 0))
        return false;
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
        if (verify_is(op, kept[k]) && !same_elements(v, op))
            return false;
    if (!check_window(v, op))
        return false;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].check && verify_is(op, rows[k].op))
            return rows[k].check(v, op);
    return true;
}
