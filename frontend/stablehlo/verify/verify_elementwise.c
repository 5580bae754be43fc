/* Element types that operands and results share; CHLO's own rules. */
#include "frontend/stablehlo/verify/verify.h"

/* Quantized elements are stored and expressed alike; others are equal. */
static bool compatible(const struct mlir_type *a, const struct mlir_type *b)
{
    const struct mlir_quant *p = verify_quant(a), *q = verify_quant(b);
    if (p && q)
        return mlir_type_equal(p->storage, q->storage) &&
               mlir_type_equal(p->expressed, q->expressed) && p->axis == q->axis;
    if (p || q) /* a quantized array where its expressed type may stand */
        return true;
    return mlir_type_equal(verify_element(a), verify_element(b));
}

static bool all_alike(struct verifier *v, const struct mlir_op *op, int first)
{
    const struct mlir_type *r = verify_out(op, 0);
    for (int k = first; r && k < op->operand_count; k++) {
        const struct mlir_type *t = op->operands[k]->type;
        if (verify_tensor(t) && verify_tensor(r) && !compatible(t, r))
            return VERIFY_ERROR(v, "operand %d is %s, but the result %s", k,
                                mlir_type_text(&v->arena, t), mlir_type_text(&v->arena, r));
    }
    return true;
}

static bool listed(const char *name, const char *const *names, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!strcmp(names[k], name))
            return true;
    return false;
}

static const char *const alike[] = {
    "add",
    "and",
    "atan2",
    "cbrt",
    "ceil",
    "clamp",
    "cosine",
    "count_leading_zeros",
    "divide",
    "exponential",
    "exponential_minus_one",
    "floor",
    "log",
    "log_plus_one",
    "logistic",
    "maximum",
    "minimum",
    "multiply",
    "negate",
    "next_after",
    "not",
    "or",
    "polygamma",
    "popcnt",
    "power",
    "reduce_precision",
    "remainder",
    "round_nearest_afz",
    "round_nearest_even",
    "rsqrt",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sine",
    "sqrt",
    "subtract",
    "tan",
    "tanh",
    "xor",
    "zeta",
};

/* Scales that the expressed type cannot hold. */
static bool check_scales(struct verifier *v, const struct mlir_type *t)
{
    const struct mlir_quant *q = verify_quant(t);
    for (int k = 0; q && k < q->count; k++) {
        uint8_t bytes[16];
        int dt = q->expressed->dtype;
        dtype_store_f64(dt, bytes, 0, q->scales[k]);
        double back = dtype_load_f64(dt, bytes, 0);
        bool tiny = dt == DT_F16 && q->scales[k] < 6.103515625e-05;
        if (!(back > 0) || back - back != 0 || tiny)
            return VERIFY_ERROR(v, "scale %g is out of the range of %s", q->scales[k],
                                mlir_type_text(&v->arena, q->expressed));
        if (q->zeros[k] < q->low || q->zeros[k] > q->high)
            return VERIFY_ERROR(v, "zero point %lld is out of the stored range",
                                (long long)q->zeros[k]);
    }
    return true;
}

/* ---- CHLO ---- */

static bool check_constant_like(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_attr *a = mlir_attr(op, "value");
    const struct mlir_type *r = verify_out(op, 0);
    return !a || !a->type || !verify_tensor(r) || mlir_type_equal(a->type, verify_element(r)) ||
           VERIFY_ERROR(v, "a value of type %s for %s", mlir_type_text(&v->arena, a->type),
                        mlir_type_text(&v->arena, r));
}

static bool list_has(const int64_t *list, int n, int64_t x)
{
    for (int k = 0; k < n; k++)
        if (list[k] == x)
            return true;
    return false;
}

static bool check_ragged(struct verifier *v, const struct mlir_op *op)
{
    static const char *const names[] = {"lhs_batching_dimensions",    "rhs_batching_dimensions",
                                        "lhs_contracting_dimensions", "rhs_contracting_dimensions",
                                        "lhs_ragged_dimensions",      "rhs_group_dimensions"};
    const struct mlir_type *x = verify_in(op, 0), *y = verify_in(op, 1), *g = verify_in(op, 2);
    int64_t *l[6] = {NULL}, want[2 * MLIR_MAX_RANK];
    int n[6], rank = 0;
    if (!verify_tensor(x) || !verify_tensor(y) || !verify_tensor(g) || op->operand_count != 3)
        return VERIFY_ERROR(v, "%d operands, expected 3 tensors", op->operand_count);
    for (int k = 0; k < 6; k++)
        if ((n[k] = verify_ints(v, op, names[k], &l[k])) < 0)
            n[k] = 0;
    for (int k = 0; k < 6; k++)
        for (int j = 0; j < n[k]; j++)
            if (l[k][j] < 0 || l[k][j] >= (k == 0 || k == 2 || k == 4 ? x : y)->rank)
                return VERIFY_ERROR(v, "%s has %lld", names[k], (long long)l[k][j]);
    if (n[4] != 1)
        return VERIFY_ERROR(v, "%d ragged dimensions, expected one", n[4]);
    int64_t ragged = l[4][0];
    bool batch = list_has(l[0], n[0], ragged), summed = list_has(l[2], n[2], ragged);
    if ((batch || summed) ? n[5] != 0 : n[5] != 1)
        return VERIFY_ERROR(v, "%d group dimensions", n[5]);
    for (int k = 0; k < n[5]; k++)
        if (list_has(l[1], n[1], l[5][k]) || list_has(l[3], n[3], l[5][k]))
            return VERIFY_ERROR(v, "group dimension %lld is another one too", (long long)l[5][k]);
    /* sizes of groups for every batch, and for the dims of the ragged one's kind before it */
    for (int k = 0; k < n[0] && l[0][k] != ragged; k++)
        want[rank++] = x->dims[l[0][k]];
    for (int k = 0; summed && !batch && k < n[2] && l[2][k] != ragged; k++)
        want[rank++] = x->dims[l[2][k]];
    for (int k = 0; !summed && !batch && k < ragged; k++)
        if (!list_has(l[0], n[0], k) && !list_has(l[2], n[2], k))
            want[rank++] = x->dims[k];
    int64_t groups = g->rank > 0 ? g->dims[g->rank - 1] : -1;
    if (n[5] && verify_differ(y->dims[l[5][0]], groups))
        return VERIFY_ERROR(v, "%lld groups, but the group dimension has %lld", (long long)groups,
                            (long long)y->dims[l[5][0]]);
    if (g->rank == 1)
        return true; /* the same for all batches */
    bool same = g->rank == rank + 1;
    for (int k = 0; same && k < rank; k++)
        same = !verify_differ(g->dims[k], want[k]);
    return same || VERIFY_ERROR(v, "group sizes of shape %s", mlir_type_text(&v->arena, g));
}

static bool check_scan(struct verifier *v, const struct mlir_op *op)
{
    struct mlir_block *b = mlir_body(op, 0);
    int64_t *sizes, dim = verify_int(op, "dimension", 0), length = verify_int(op, "scan_dim_size", -1);
    if (verify_ints(v, op, "operandSegmentSizes", &sizes) != 2 || sizes[0] < 0 || sizes[1] < 0 ||
        sizes[0] + sizes[1] != op->operand_count)
        return true;
    if (!b || b->arg_count != op->operand_count)
        return VERIFY_ERROR(v, "its region has %d arguments, expected %d", b ? b->arg_count : 0,
                            op->operand_count);
    for (int k = 0; k < op->operand_count; k++) {
        const struct mlir_type *t = op->operands[k]->type, *a = b->args[k]->type;
        bool input = k < sizes[0];
        if (!verify_tensor(t) || !verify_tensor(a))
            return VERIFY_ERROR(v, "operand %d is not a tensor", k);
        if (input && dim >= t->rank)
            return VERIFY_ERROR(v, "dimension %lld of %s", (long long)dim,
                                mlir_type_text(&v->arena, t));
        if (input && verify_differ(t->dims[dim], length))
            return VERIFY_ERROR(v, "operand %d has %lld slices, expected %lld", k,
                                (long long)t->dims[dim], (long long)length);
        if (input)
            length = t->dims[dim];
        bool fits = mlir_type_equal(t->element, a->element) && a->rank == t->rank - input;
        for (int j = 0; fits && j < a->rank; j++)
            fits = !verify_differ(a->dims[j], t->dims[j + (input && j >= dim)]);
        if (!fits)
            return VERIFY_ERROR(v, "argument %d of its region is %s, operand %d is %s", k,
                                mlir_type_text(&v->arena, a), k, mlir_type_text(&v->arena, t));
    }
    for (int k = 0; k < op->result_count && k < sizes[0]; k++) {
        const struct mlir_type *r = op->results[k]->type;
        if (verify_tensor(r) && dim < r->rank && verify_differ(r->dims[dim], length))
            return VERIFY_ERROR(v, "result %d is %s, expected %lld slices", k,
                                mlir_type_text(&v->arena, r), (long long)length);
    }
    return true;
}

static bool check_chlo(struct verifier *v, const struct mlir_op *op)
{
    const char *name = op->name + 5;
    if (!strcmp(name, "constant_like"))
        return check_constant_like(v, op);
    if (!strcmp(name, "ragged_dot"))
        return check_ragged(v, op);
    if (!strcmp(name, "scan"))
        return check_scan(v, op);
    if (!strncmp(name, "broadcast_", 10) &&
        listed(name + 10, alike, sizeof alike / sizeof *alike)) {
        for (int k = 0; k < op->operand_count; k++)
            if (!verify_quant(op->operands[k]->type) != !verify_quant(verify_out(op, 0)))
                return VERIFY_ERROR(v, "only some of its arrays are quantized");
        return all_alike(v, op, 0);
    }
    return true;
}

bool verify_elementwise(struct verifier *v, const struct mlir_op *op)
{
    for (int k = 0; k < op->operand_count; k++)
        if (!check_scales(v, op->operands[k]->type))
            return false;
    for (int k = 0; k < op->result_count; k++)
        if (!check_scales(v, op->results[k]->type))
            return false;
    if (!strncmp(op->name, "chlo.", 5))
        return check_chlo(v, op);
    if (verify_is(op, "select"))
        return all_alike(v, op, 1);
    if (verify_is(op, "abs") && op->operand_count &&
        !dtype_is_complex(mlir_dtype(op->operands[0]->type)))
        return all_alike(v, op, 0);
    return strncmp(op->name, "stablehlo.", 10) ||
           !listed(op->name + 10, alike, sizeof alike / sizeof *alike) || all_alike(v, op, 0);
}
