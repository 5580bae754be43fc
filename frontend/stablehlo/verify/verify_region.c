/* Regions that operations apply to elements: arguments, results, and types between them. */
#include "frontend/stablehlo/verify/verify.h"

static int bits(const struct mlir_type *e)
{
    return e->kind == MT_QUANT    ? dtype_info(e->quant->storage->dtype)->bits
           : e->kind == MT_SCALAR ? dtype_info(e->dtype)->bits
                                  : 64;
}

/* Values of type a may be kept in elements of type b: the same kind, no narrower. */
static bool promotable(const struct mlir_type *a, const struct mlir_type *b)
{
    a = verify_element(a);
    b = verify_element(b);
    if (mlir_type_equal(a, b))
        return true;
    if (a->kind != b->kind || bits(a) > bits(b))
        return false;
    if (a->kind == MT_QUANT)
        return mlir_type_equal(a->quant->expressed, b->quant->expressed);
    if (a->kind != MT_SCALAR)
        return true;
    bool whole = (dtype_is_int(a->dtype) || a->dtype == DT_BOOL) &&
                 (dtype_is_int(b->dtype) || b->dtype == DT_BOOL);
    return whole || dtype_class(a->dtype) == dtype_class(b->dtype);
}

static const struct mlir_op *terminator(const struct mlir_block *b)
{
    return b && b->op_count ? b->ops[b->op_count - 1] : NULL;
}

/* Dims of a are, in order, among those of b. */
static bool part_of(const struct mlir_type *a, const struct mlir_type *b)
{
    int j = 0;
    for (int k = 0; k < a->rank; k++, j++) {
        while (j < b->rank && verify_differ(a->dims[k], b->dims[j]))
            j++;
        if (j >= b->rank)
            return false;
    }
    return true;
}

/* A computation on pairs: n inputs and n first values. */
static bool reducer(struct verifier *v, const struct mlir_block *b, int n,
                    const struct mlir_type *const *inputs, const struct mlir_type *const *inits)
{
    const struct mlir_op *end = terminator(b);
    if (!b || b->arg_count != 2 * n)
        return VERIFY_ERROR(v, "its region takes %d arguments, expected %d", b ? b->arg_count : 0,
                            2 * n);
    if (!end || end->operand_count != n)
        return VERIFY_ERROR(v, "its region gives %d values, expected %d",
                            end ? end->operand_count : 0, n);
    for (int k = 0; k < n; k++) {
        const struct mlir_type *r = end->operands[k]->type;
        if (!verify_tensor(r))
            return VERIFY_ERROR(v, "its region gives %s, expected a tensor",
                                mlir_type_text(&v->arena, r));
        for (int j = 0; j < 2; j++) {
            const struct mlir_type *a = b->args[k + j * n]->type;
            if (!mlir_type_equal(a, r))
                return VERIFY_ERROR(v, "argument %d of its region is %s, but its result is %s",
                                    k + j * n, mlir_type_text(&v->arena, a),
                                    mlir_type_text(&v->arena, r));
            if (inputs[k] && !promotable(inputs[k], a))
                return VERIFY_ERROR(v, "argument %d of its region is %s, which does not hold %s",
                                    k + j * n, mlir_type_text(&v->arena, a),
                                    mlir_type_text(&v->arena, inputs[k]));
            if (inputs[k] && inputs[k]->rank >= 0 &&
                (a->rank > inputs[k]->rank || !part_of(a, inputs[k])))
                return VERIFY_ERROR(v, "argument %d of its region is %s", k + j * n,
                                    mlir_type_text(&v->arena, a));
        }
        if (!promotable(inits[k], r))
            return VERIFY_ERROR(v, "its region gives %s, which does not hold %s",
                                mlir_type_text(&v->arena, r), mlir_type_text(&v->arena, inits[k]));
        if (inits[k]->rank == 0 && r->rank > 0)
            return VERIFY_ERROR(v, "its region gives %s, but the first value is %s",
                                mlir_type_text(&v->arena, r), mlir_type_text(&v->arena, inits[k]));
    }
    return true;
}

static bool check_reducer(struct verifier *v, const struct mlir_op *op, int inputs, int inits,
                          int n, int region)
{
    const struct mlir_type **in = ARENA_ARRAY(&v->arena, const struct mlir_type *, n + 1),
                           **init = ARENA_ARRAY(&v->arena, const struct mlir_type *, n + 1);
    if (inputs + n > op->operand_count || inits + n > op->operand_count)
        return VERIFY_ERROR(v, "%d operands", op->operand_count);
    for (int k = 0; k < n; k++) {
        in[k] = op->operands[inputs + k]->type;
        init[k] = op->operands[inits + k]->type;
        if (!verify_tensor(in[k]) || !verify_tensor(init[k]))
            return VERIFY_ERROR(v, "operand %d is %s, expected a tensor", inputs + k,
                                mlir_type_text(&v->arena, in[k]));
    }
    struct mlir_block *b = mlir_body(op, region);
    if (!reducer(v, b, n, in, init))
        return false;
    for (int k = 0; k < n && k < op->result_count && region == op->region_count - 1; k++) {
        const struct mlir_type *r = terminator(b)->operands[k]->type;
        if (verify_tensor(op->results[k]->type) &&
            !mlir_type_equal(verify_element(r), verify_element(op->results[k]->type)))
            return VERIFY_ERROR(v, "result %d is %s, but its region gives %s", k,
                                mlir_type_text(&v->arena, op->results[k]->type),
                                mlir_type_text(&v->arena, r));
    }
    return true;
}

static bool check_sort(struct verifier *v, const struct mlir_op *op)
{
    struct mlir_block *b = mlir_body(op, 0);
    const struct mlir_op *end = terminator(b);
    if (!b || b->arg_count != 2 * op->operand_count || !end || end->operand_count != 1)
        return VERIFY_ERROR(v, "its comparator takes %d arguments, expected %d",
                            b ? b->arg_count : 0, 2 * op->operand_count);
    for (int k = 0; k < b->arg_count; k++) {
        const struct mlir_type *a = b->args[k]->type;
        if (!verify_tensor(a) || a->rank != 0 ||
            !mlir_type_equal(a->element, verify_element(op->operands[k / 2]->type)))
            return VERIFY_ERROR(v, "argument %d of its comparator is %s", k,
                                mlir_type_text(&v->arena, a));
    }
    const struct mlir_type *r = end->operands[0]->type;
    return (verify_tensor(r) && r->rank == 0 && mlir_dtype(r) == DT_BOOL) ||
           VERIFY_ERROR(v, "its comparator gives %s, expected tensor<i1>",
                        mlir_type_text(&v->arena, r));
}

static bool check_select(struct verifier *v, const struct mlir_op *op)
{
    struct mlir_block *b = mlir_body(op, 0);
    const struct mlir_op *end = terminator(b);
    if (!b || b->arg_count != 2 || !end || end->operand_count != 1 || op->operand_count != 3)
        return VERIFY_ERROR(v, "its first region takes %d arguments, expected 2",
                            b ? b->arg_count : 0);
    for (int k = 0; k < 2; k++)
        if (!verify_tensor(b->args[k]->type) || b->args[k]->type->rank != 0 ||
            !mlir_type_equal(b->args[k]->type->element, verify_element(op->operands[0]->type)))
            return VERIFY_ERROR(v, "argument %d of its first region is %s", k,
                                mlir_type_text(&v->arena, b->args[k]->type));
    const struct mlir_type *r = end->operands[0]->type;
    return (verify_tensor(r) && r->rank == 0 && mlir_dtype(r) == DT_BOOL) ||
           VERIFY_ERROR(v, "its first region gives %s, expected tensor<i1>",
                        mlir_type_text(&v->arena, r));
}

static bool check_branches(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_type *t = verify_in(op, 0);
    bool two = verify_is(op, "if");
    if (op->operand_count != 1 || !verify_tensor(t) || t->rank > 0 ||
        mlir_dtype(t) != (two ? DT_BOOL : DT_I32))
        return VERIFY_ERROR(v, "its operand is %s, expected %s",
                            t ? mlir_type_text(&v->arena, t) : "missing",
                            two ? "tensor<i1>" : "tensor<i32>");
    for (int k = 0; k < op->region_count; k++) {
        struct mlir_block *b = mlir_body(op, k);
        const struct mlir_op *end = terminator(b);
        if (!b || b->arg_count || !end || end->operand_count != op->result_count)
            return VERIFY_ERROR(v, "branch %d has arguments, or not %d results", k,
                                op->result_count);
        for (int j = 0; j < op->result_count; j++)
            if (!mlir_type_equal(verify_element(end->operands[j]->type),
                                 verify_element(op->results[j]->type)) ||
                end->operands[j]->type->rank != op->results[j]->type->rank)
                return VERIFY_ERROR(v, "branch %d gives %s, but the result is %s", k,
                                    mlir_type_text(&v->arena, end->operands[j]->type),
                                    mlir_type_text(&v->arena, op->results[j]->type));
    }
    return true;
}

static bool check_map(struct verifier *v, const struct mlir_op *op)
{
    struct mlir_block *b = mlir_body(op, 0);
    const struct mlir_op *end = terminator(b);
    int64_t *dims;
    int n = verify_ints(v, op, "dimensions", &dims);
    if (!b || b->arg_count != op->operand_count || !end || end->operand_count != 1 ||
        op->result_count != 1)
        return VERIFY_ERROR(v, "its region takes %d arguments, expected %d", b ? b->arg_count : 0,
                            op->operand_count);
    for (int k = 0; k < b->arg_count; k++)
        if (!verify_tensor(b->args[k]->type) || b->args[k]->type->rank != 0 ||
            !mlir_type_equal(b->args[k]->type->element, verify_element(op->operands[k]->type)))
            return VERIFY_ERROR(v, "argument %d of its region is %s", k,
                                mlir_type_text(&v->arena, b->args[k]->type));
    const struct mlir_type *r = end->operands[0]->type;
    if (!verify_tensor(r) || r->rank != 0 ||
        !mlir_type_equal(r->element, verify_element(op->results[0]->type)))
        return VERIFY_ERROR(v, "its region gives %s", mlir_type_text(&v->arena, r));
    bool counts = n == op->results[0]->type->rank;
    for (int k = 0; counts && k < n; k++)
        counts = dims[k] == k;
    return counts || VERIFY_ERROR(v, "its dimensions are not all of them in order");
}

/* What the region takes has no dims but some of the window's. */
static bool check_window_region(struct verifier *v, const struct mlir_op *op)
{
    const struct mlir_block *b = mlir_body(op, 0);
    struct mlir_type window = {.rank = verify_ints(v, op, "window_dimensions", &window.dims)};
    for (int k = 0; k < b->arg_count && window.rank >= 0; k++)
        if (!part_of(b->args[k]->type, &window))
            return VERIFY_ERROR(v, "argument %d of its region is %s, which is no part of the window", k,
                                mlir_type_text(&v->arena, b->args[k]->type));
    return true;
}

bool verify_regions(struct verifier *v, const struct mlir_op *op)
{
    int n = op->operand_count;
    if (verify_is(op, "reduce") || verify_is(op, "reduce_window"))
        return n % 2 ? VERIFY_ERROR(v, "%d operands, expected pairs", n)
                     : check_reducer(v, op, 0, n / 2, n / 2, 0) &&
                           (verify_is(op, "reduce") || check_window_region(v, op));
    if (verify_is(op, "scatter"))
        return n % 2 ? check_reducer(v, op, n / 2 + 1, 0, n / 2, 0)
                     : VERIFY_ERROR(v, "%d operands", n);
    if (verify_is(op, "all_reduce") || verify_is(op, "collective_reduce"))
        for (int k = 0; k < n - (k && mlir_attr(op, "has_dynamic_root") != NULL); k++) {
            const struct mlir_type *t = op->operands[k]->type;
            struct mlir_block *b = mlir_body(op, 0);
            if (!verify_tensor(t))
                return VERIFY_ERROR(v, "operand %d is not a tensor", k);
            if (!reducer(v, b, 1, &t, &t))
                return false;
        }
    if (verify_is(op, "reduce_scatter"))
        return check_reducer(v, op, 0, 0, 1, 0);
    if (verify_is(op, "select_and_scatter"))
        return check_select(v, op) && check_reducer(v, op, 1, 2, 1, 1);
    if (verify_is(op, "sort"))
        return check_sort(v, op);
    if (verify_is(op, "map"))
        return check_map(v, op);
    if (verify_is(op, "if") || verify_is(op, "case"))
        return check_branches(v, op);
    return true;
}
