/*
 * Quantized arrays are arrays of their storage type. An operation that only moves elements works on
 * them as they are; any other is computed on dequantized operands, and its result quantized.
 */
#include "frontend/stablehlo/lower/convert_ops.h"

#include <string.h>

static const struct mlir_quant *quant_of(const struct mlir_type *t)
{
    const struct mlir_type *e = t->element ? t->element : t;
    return e->kind == MT_QUANT ? e->quant : NULL;
}

bool sh_is_quantized(const struct mlir_op *op)
{
    for (int k = 0; k < op->operand_count; k++)
        if (quant_of(op->operands[k]->type))
            return true;
    for (int k = 0; k < op->result_count; k++)
        if (quant_of(op->results[k]->type))
            return true;
    return false;
}

/* One number per slice along the quantized dimension, or one for all, in x's shape. */
static struct hlo_instruction *per_slice(struct sh_convert *c, const struct mlir_quant *q,
                                         const struct hlo_instruction *x, enum hlo_type t,
                                         bool scales)
{
    double first = scales ? q->scales[0] : (double)q->zeros[0];
    if (q->axis < 0 || !x)
        return sh_like(c, sh_cast(c, (struct hlo_instruction *)x, t), first);
    int64_t dims[1] = {q->count}, at[1] = {q->axis};
    if (q->axis >= x->shape->rank ||
        (x->shape->dims[q->axis] >= 0 && x->shape->dims[q->axis] != q->count))
        return SH_ERROR(c, "%d scales along dimension %d of %s", q->count, q->axis,
                        hlo_shape_text(c->arena, x->shape)),
               NULL;
    int dt = hlo_type_dtype(t);
    void *data = arena_alloc(c->arena, dtype_bytes(dt) * (size_t)q->count + 16);
    for (int k = 0; k < q->count; k++)
        dtype_store_f64(dt, data, (size_t)k, scales ? q->scales[k] : (double)q->zeros[k]);
    return sh_broadcast(c, sh_literal(c, t, 1, dims, data), x->shape, at);
}

static bool has_zeros(const struct mlir_quant *q)
{
    for (int k = 0; k < q->count; k++)
        if (q->zeros[k])
            return true;
    return false;
}

static struct hlo_instruction *dequantize(struct sh_convert *c, const struct mlir_quant *q,
                                          struct hlo_instruction *x)
{
    enum hlo_type t = sh_type(q->expressed->dtype);
    if (q->block_axes || !q->count)
        return SH_ERROR(c, "scales per block of an array are not supported"), NULL;
    struct hlo_instruction *y = x ? sh_cast(c, x, t) : NULL;
    if (has_zeros(q))
        y = sh_2(c, HLO_OP_SUBTRACT, y, per_slice(c, q, y, t, false));
    return sh_2(c, HLO_OP_MULTIPLY, y, per_slice(c, q, y, t, true));
}

static struct hlo_instruction *quantize(struct sh_convert *c, const struct mlir_quant *q,
                                        struct hlo_instruction *x)
{
    enum hlo_type t = sh_type(q->expressed->dtype);
    if (q->block_axes || !q->count)
        return SH_ERROR(c, "scales per block of an array are not supported"), NULL;
    struct hlo_instruction *y = x ? sh_cast(c, x, t) : NULL;
    y = sh_2(c, HLO_OP_DIVIDE, y, per_slice(c, q, y, t, true));
    y = sh_1(c, HLO_OP_ROUND_NEAREST_EVEN, y);
    if (has_zeros(q))
        y = sh_2(c, HLO_OP_ADD, y, per_slice(c, q, y, t, false));
    struct hlo_instruction *in[3] = {sh_scalar(c, t, (double)q->low), y,
                                     sh_scalar(c, t, (double)q->high)};
    y = sh_emit(c, HLO_OP_CLAMP, NULL, in, 3, NULL);
    return y ? sh_cast(c, y, sh_type(q->storage->dtype)) : NULL;
}

bool sh_convert_uniform_quantize(struct sh_convert *c, const struct mlir_op *op)
{
    const struct mlir_quant *to = op->result_count == 1 ? quant_of(op->results[0]->type) : NULL;
    struct hlo_instruction *x = sh_operand(c, op, 0);
    if (!x || !to)
        return x ? SH_ERROR(c, "the result is not quantized") : false;
    if (quant_of(op->operands[0]->type))
        x = dequantize(c, quant_of(op->operands[0]->type), x);
    return sh_finish(c, op, quantize(c, to, x));
}

bool sh_convert_uniform_dequantize(struct sh_convert *c, const struct mlir_op *op)
{
    const struct mlir_quant *q = op->operand_count == 1 ? quant_of(op->operands[0]->type) : NULL;
    struct hlo_instruction *x = sh_operand(c, op, 0);
    if (!x || !q)
        return x ? SH_ERROR(c, "the operand is not quantized") : false;
    return sh_finish(c, op, dequantize(c, q, x));
}

/* ---- other operations ---- */

/* Those that do not look at elements, or leave that to their regions. */
static bool moves(const struct mlir_op *op)
{
    static const char *const names[] = {
        "all_gather",
        "all_to_all",
        "async_done",
        "async_start",
        "bitcast_convert",
        "broadcast",
        "broadcast_in_dim",
        "case",
        "collective_broadcast",
        "collective_permute",
        "concatenate",
        "constant",
        "custom_call",
        "composite",
        "dynamic_broadcast_in_dim",
        "dynamic_gather",
        "dynamic_pad",
        "dynamic_reshape",
        "dynamic_slice",
        "dynamic_update_slice",
        "gather",
        "get_dimension_size",
        "get_tuple_element",
        "if",
        "infeed",
        "map",
        "optimization_barrier",
        "outfeed",
        "pad",
        "real_dynamic_slice",
        "recv",
        "reduce",
        "reduce_window",
        "reshape",
        "reverse",
        "scatter",
        "select",
        "select_and_scatter",
        "send",
        "set_dimension_size",
        "slice",
        "sort",
        "transpose",
        "tuple",
        "while",
        "all_reduce",
        "reduce_scatter",
    };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (!strcmp(op->name + 10, names[k]))
            return true;
    return false;
}

static bool same_numbers(const struct mlir_quant *a, const struct mlir_quant *b)
{
    if (a->count != b->count || a->low != b->low || a->high != b->high ||
        (a->axis < 0) != (b->axis < 0))
        return false;
    for (int k = 0; k < a->count; k++)
        if (a->scales[k] != b->scales[k] || a->zeros[k] != b->zeros[k])
            return false;
    return true;
}

/* All quantized operands and results mean the same by the same stored number. */
static bool uniform(const struct mlir_op *op)
{
    const struct mlir_quant *first = NULL;
    for (int k = 0; k < op->operand_count + op->result_count; k++) {
        const struct mlir_type *t = k < op->operand_count
                                        ? op->operands[k]->type
                                        : op->results[k - op->operand_count]->type;
        const struct mlir_quant *q = quant_of(t);
        if (q && first && !same_numbers(q, first))
            return false;
        first = q ? q : first;
    }
    return true;
}

static const struct mlir_type *expressed(struct sh_convert *c, const struct mlir_type *t)
{
    const struct mlir_quant *q = quant_of(t);
    if (!q)
        return t;
    struct mlir_type *e = mlir_tensor(c->arena, q->expressed, t->rank, t->dims);
    e->encoding = t->encoding;
    return e;
}

/* The operation with types without quantization, on operands bound to new values. */
static struct mlir_op *plain_copy(struct sh_convert *c, const struct mlir_op *op)
{
    struct mlir_op *p = arena_copy(c->arena, op, sizeof *op);
    p->operands = ARENA_ARRAY(c->arena, struct mlir_value *, op->operand_count + 1);
    for (int k = 0; k < op->operand_count; k++) {
        struct hlo_instruction *x = sh_operand(c, op, k);
        const struct mlir_quant *q = quant_of(op->operands[k]->type);
        if (x && q)
            x = dequantize(c, q, x);
        if (!x)
            return NULL;
        p->operands[k] = arena_copy(c->arena, op->operands[k], sizeof **op->operands);
        p->operands[k]->type = expressed(c, op->operands[k]->type);
        sh_bind(c, p->operands[k], x);
    }
    mlir_add_results(c->arena, p, op->result_count);
    for (int k = 0; k < op->result_count; k++)
        p->results[k]->type = expressed(c, op->results[k]->type);
    return p;
}

static bool through_floats(struct sh_convert *c, const struct mlir_op *op)
{
    struct mlir_op *p = plain_copy(c, op);
    if (!p || !c->convert_op(c, p))
        return false;
    for (int k = 0; k < op->result_count; k++) {
        const struct sh_value *v = p->results[k]->mapped;
        const struct mlir_quant *q = quant_of(op->results[k]->type);
        struct hlo_instruction *y = v && q ? quantize(c, q, v->i) : v ? v->i : NULL;
        if (!y)
            return false;
        sh_bind(c, op->results[k], y);
    }
    return true;
}

static bool has_row(const struct mlir_op *op, const char *name)
{
    return !strcmp(op->name + 10, name);
}

bool sh_convert_quantized(struct sh_convert *c, const struct mlir_op *op)
{
    if (has_row(op, "uniform_quantize"))
        return sh_convert_uniform_quantize(c, op);
    if (has_row(op, "uniform_dequantize"))
        return sh_convert_uniform_dequantize(c, op);
    bool bits = has_row(op, "bitcast_convert") || has_row(op, "constant");
    if (moves(op) && (bits || uniform(op) || op->region_count))
        return c->convert_on_storage(c, op);
    return through_floats(c, op);
}
