/* Quantized types: which operations take scales per axis, and whose must agree. */
#include "frontend/stablehlo/verify/verify.h"

static bool per_axis_admitted(const struct mlir_op *op)
{
    static const char *const names[] = {"add",
                                        "bitcast_convert",
                                        "dot",
                                        "get_dimension_size",
                                        "outfeed",
                                        "recv",
                                        "send",
                                        "infeed",
                                        "broadcast_in_dim",
                                        "composite",
                                        "constant",
                                        "convolution",
                                        "custom_call",
                                        "dot_general",
                                        "dynamic_broadcast_in_dim",
                                        "dynamic_conv",
                                        "dynamic_reshape",
                                        "get_tuple_element",
                                        "optimization_barrier",
                                        "reshape",
                                        "return",
                                        "transpose",
                                        "tuple",
                                        "uniform_dequantize",
                                        "uniform_quantize",
                                        "while",
                                        "if",
                                        "case"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (verify_is(op, names[k]))
            return true;
    return false;
}

static bool same_scales(struct verifier *v, const struct mlir_quant *a, const struct mlir_quant *b)
{
    if (!a || !b)
        return !a == !b || VERIFY_ERROR(v, "an operand or the result is quantized, the other not");
    bool same = a->count == b->count;
    for (int k = 0; same && k < a->count; k++)
        same = a->scales[k] == b->scales[k] && a->zeros[k] == b->zeros[k];
    return same ||
           VERIFY_ERROR(v, "the operand and the result have different scales or zero points");
}

/* A scale per axis fits the shape it belongs to. */
static bool check_axis(struct verifier *v, const struct mlir_type *t)
{
    const struct mlir_quant *q = verify_quant(t);
    if (!q || q->axis < 0 || !verify_tensor(t) || t->rank < 0)
        return true;
    return (q->axis < t->rank && !verify_differ(t->dims[q->axis], q->count)) ||
           VERIFY_ERROR(v, "%d scales along dimension %d of %s", q->count, q->axis,
                        mlir_type_text(&v->arena, t));
}

static int64_t product(const struct mlir_type *t, int from, int to)
{
    int64_t n = 1;
    for (int k = from; k < to && k < t->rank; k++) {
        if (t->dims[k] < 0)
            return -1;
        n *= t->dims[k] < 1 << 20 ? t->dims[k] : 1 << 20;
    }
    return n;
}

static bool check_moved(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *x = verify_in(op, 0), *r = verify_out(op, 0);
    const struct mlir_quant *a = verify_quant(x), *b = verify_quant(r);
    int64_t *at;
    if (!a && !b)
        return true;
    if (!a || !b || (a->axis < 0) != (b->axis < 0))
        return VERIFY_ERROR(v, "the operand is %s, but the result %s", mlir_type_text(&v->arena, x),
                            mlir_type_text(&v->arena, r));
    bool broadcast = verify_is(op, "broadcast_in_dim") || verify_is(op, "dynamic_broadcast_in_dim");
    if (a->axis >= 0 && broadcast) {
        int n = verify_ints(v, op, "broadcast_dimensions", &at);
        if (a->axis < n && at[a->axis] != b->axis)
            return VERIFY_ERROR(v, "scales along dimension %d become those along %d", a->axis,
                                b->axis);
        if (x->dims[a->axis] == 1) { /* repeated */
            for (int k = 0; k < b->count; k++)
                if (b->scales[k] != a->scales[0] || b->zeros[k] != a->zeros[0])
                    return VERIFY_ERROR(v, "the result has other scales or zero points");
            return true;
        }
    }
    if (a->axis >= 0 && verify_is(op, "transpose")) {
        int n = verify_ints(v, op, "permutation", &at);
        if (b->axis >= n || at[b->axis] != a->axis)
            return VERIFY_ERROR(v, "scales along dimension %d become those along %d", a->axis,
                                b->axis);
    }
    if (a->axis >= 0 && (verify_is(op, "reshape") || verify_is(op, "dynamic_reshape")) &&
        a->axis < x->rank && b->axis < r->rank &&
        (verify_differ(x->dims[a->axis], r->dims[b->axis]) ||
         verify_differ(product(x, 0, a->axis), product(r, 0, b->axis)) ||
         verify_differ(product(x, a->axis + 1, x->rank), product(r, b->axis + 1, r->rank))))
        return VERIFY_ERROR(v, "the dimension with scales, %d, does not become dimension %d",
                            a->axis, b->axis);
    return same_scales(v, a, b);
}

static bool zeros(const struct mlir_quant *q)
{
    for (int k = 0; k < q->count; k++)
        if (q->zeros[k])
            return false;
    return true;
}

/* lhs, rhs, result of a product: all quantized, or only rhs. */
static bool check_product(struct verifier *v, const struct mlir_op *op, const char *out_feature)
{
    const struct mlir_type *tx = verify_in(op, 0), *ty = verify_in(op, 1), *tr = verify_out(op, 0);
    const struct mlir_quant *x = verify_quant(tx), *y = verify_quant(ty), *r = verify_quant(tr);
    if (!x && !y && !r)
        return true;
    if (!y || !x != !r)
        return VERIFY_ERROR(v,
                            "the second operand is to be quantized, and the first as the result");
    if (x && x->axis >= 0)
        return VERIFY_ERROR(v, "the first operand has scales per axis");
    if (y->axis >= 0 && !zeros(y))
        return VERIFY_ERROR(v, "the second operand has zero points, expected 0");
    if (y->axis < 0 && verify_is(op, "dot_general") && !zeros(y))
        return VERIFY_ERROR(v, "the second operand has a zero point, expected 0");
    const struct mlir_type *e = x ? x->expressed : verify_element(tx);
    const struct mlir_type *f = r ? r->expressed : verify_element(tr);
    if (!mlir_type_equal(e, y->expressed) || !mlir_type_equal(f, y->expressed))
        return VERIFY_ERROR(v, "types that are expressed differ");
    if (x && !mlir_type_equal(x->storage, y->storage))
        return VERIFY_ERROR(v, "operands are stored as different types");
    if (r && y->axis < 0 && r->axis >= 0)
        return VERIFY_ERROR(v, "the result has scales per axis, the second operand not");
    if (out_feature && y->axis >= 0 &&
        y->axis != verify_int(op, "kernel_output_feature_dimension", -1))
        return VERIFY_ERROR(v, "scales of the kernel along dimension %d", y->axis);
    if (out_feature && r && r->axis >= 0 && r->axis != verify_int(op, out_feature, -1))
        return VERIFY_ERROR(v, "scales of the result along dimension %d", r->axis);
    return true;
}

static bool check_ends(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *x = verify_in(op, 0), *r = verify_out(op, 0);
    const struct mlir_quant *a = verify_quant(x), *b = verify_quant(r);
    if (verify_is(op, "uniform_dequantize"))
        return (a && mlir_type_equal(a->expressed, verify_element(r))) ||
               VERIFY_ERROR(v, "%s from %s", mlir_type_text(&v->arena, r),
                            mlir_type_text(&v->arena, x));
    const struct mlir_type *e = a ? a->expressed : verify_element(x);
    return (b && mlir_type_equal(b->expressed, e)) ||
           VERIFY_ERROR(v, "%s from %s", mlir_type_text(&v->arena, r),
                        mlir_type_text(&v->arena, x));
}

bool verify_quantized(struct verifier *v, const struct mlir_op *op)
{
    static const char *const moved[] = {"broadcast_in_dim", "dynamic_broadcast_in_dim", "reshape",
                                        "dynamic_reshape", "transpose"};
    for (int k = 0; k < op->operand_count + op->result_count; k++) {
        const struct mlir_type *t = k < op->operand_count
                                        ? op->operands[k]->type
                                        : op->results[k - op->operand_count]->type;
        const struct mlir_quant *q = verify_quant(t);
        if (q && q->axis >= 0 && !per_axis_admitted(op))
            return VERIFY_ERROR(v, "a quantized type with scales per axis, which it does not take");
        if (!check_axis(v, t))
            return false;
    }
    for (size_t k = 0; k < sizeof moved / sizeof *moved; k++)
        if (verify_is(op, moved[k]))
            return check_moved(v, op);
    if (verify_is(op, "dot_general"))
        return check_product(v, op, NULL);
    if (verify_is(op, "convolution") || verify_is(op, "dynamic_conv"))
        return check_product(v, op, "output_feature_dimension");
    if (verify_is(op, "uniform_quantize") || verify_is(op, "uniform_dequantize"))
        return check_ends(v, op);
    return true;
}
