/* One operation, by the table of opcodes. */
#include "frontend/stablehlo/lower/convert_ops.h"

#include <string.h>

enum shape_rule { INFER, OPERAND, STATED };

static const struct convert_row {
    const char *name;
    enum hlo_opcode opcode;
    enum shape_rule shape;
    bool (*convert)(struct sh_convert *c, const struct mlir_op *op);
} rows[] = {
#define OP(name, opcode, shape) {#name, HLO_OP_##opcode, shape, NULL},
#define SPECIAL(name, function) {#name, HLO_OP_INVALID, INFER, sh_convert_##function},
#define ATTR(...)
#include "frontend/stablehlo/lower/stablehlo_ops.def"
};

/* ---- the operation ---- */

static bool convert_row(struct sh_convert *c, const struct mlir_op *op, const struct convert_row *r)
{
    struct sh_attrs l = {0};
    struct hlo_instruction **in;
    if (!sh_table_attrs(c, op, &l))
        return false;
    if (r->shape != OPERAND)
        return sh_plain(c, op, r->opcode, &l, r->shape == STATED);
    if (!(in = sh_operands(c, op)))
        return false;
    if (!op->operand_count)
        return SH_ERROR(c, "no operands");
    const struct hlo_shape *s =
        op->result_count == 1 ? sh_fit(c, op->results[0]->type, in[0]->shape) : NULL;
    return s && sh_finish(c, op, sh_emit(c, r->opcode, s, in, op->operand_count, &l));
}

static bool convert_call(struct sh_convert *c, const struct mlir_op *op)
{
    struct sh_attrs l = {0};
    struct hlo_instruction **in = sh_operands(c, op);
    struct hlo_computation *f = in ? sh_function(c, mlir_text(mlir_attr(op, "callee"))) : NULL;
    if (!f)
        return false;
    if (f->parameter_count != op->operand_count)
        return SH_ERROR(c, "%d operands, but '@%s' has %d arguments", op->operand_count,
                        mlir_text(mlir_attr(op, "callee")), f->parameter_count);
    for (int k = 0; k < op->operand_count; k++)
        if (!hlo_shape_compatible(in[k]->shape, f->parameters[k]->shape))
            return SH_ERROR(c, "operand %d is %s, but the argument is %s", k,
                            hlo_shape_text(c->arena, in[k]->shape),
                            hlo_shape_text(c->arena, f->parameters[k]->shape));
    sh_learn_names(c, mlir_text(mlir_attr(op, "callee")), in);
    sh_set_pointer(&l, HLO_ATTR_to_apply, f);
    return sh_finish(c, op, sh_emit(c, HLO_OP_CALL, NULL, in, op->operand_count, &l));
}

bool sh_convert_identity(struct sh_convert *c, const struct mlir_op *op)
{
    if (op->operand_count != op->result_count)
        return SH_ERROR(c, "%d operands and %d results", op->operand_count, op->result_count);
    for (int k = 0; k < op->operand_count; k++) {
        struct hlo_instruction *x = sh_operand(c, op, k);
        if (!x)
            return false;
        sh_bind(c, op->results[k], x);
    }
    return true;
}

/* ---- shardings: one device does all of it ---- */

static bool convert_manual(struct sh_convert *c, const struct mlir_op *op)
{
    struct mlir_block *b = mlir_body(op, 0);
    struct hlo_instruction **in = sh_operands(c, op),
                           **out = ARENA_ARRAY(c->arena, struct hlo_instruction *,
                                               op->result_count + 1);
    if (!in || !b)
        return in ? SH_ERROR(c, "its region is empty") : false;
    if (b->arg_count != op->operand_count)
        return SH_ERROR(c, "%d operands, but its region has %d arguments", op->operand_count,
                        b->arg_count);
    if (!sh_inline(c, b, in, out, op->result_count))
        return false;
    for (int k = 0; k < op->result_count; k++)
        sh_bind(c, op->results[k], out[k]);
    return true;
}

static bool convert_sdy(struct sh_convert *c, const struct mlir_op *op)
{
    if (!op->result_count && !op->region_count)
        return true; /* sdy.mesh */
    if (mlir_is(op, "sdy.constant") && mlir_attr(op, "value") && mlir_attr(op, "value")->kind == MA_DENSE)
        return sh_convert_constant(c, op);
    if (mlir_is(op, "sdy.manual_computation") || mlir_is(op, "sdy.named_computation"))
        return convert_manual(c, op);
    return sh_convert_identity(c, op);
}

static bool unknown(struct sh_convert *c, const struct mlir_op *op)
{
    const char *dot = strchr(op->name, '.');
    size_t n = dot ? (size_t)(dot - op->name) : 0;
    static const char *const mlir[] = {"arith", "builtin", "func", "math", "shape", "tensor"};
    for (size_t k = 0; k < sizeof mlir / sizeof *mlir; k++)
        c->d->unsupported |= strlen(mlir[k]) == n && !strncmp(op->name, mlir[k], n);
    if (n == 9 && !strncmp(op->name, "stablehlo", n))
        return SH_ERROR(c, "there is no such operation in StableHLO");
    return SH_ERROR(c,
                    "an operation of the dialect '%.*s', which is not read; convert the module to "
                    "StableHLO first",
                    (int)n, op->name);
}

bool sh_convert_op(struct sh_convert *c, const struct mlir_op *op)
{
    if (mlir_is(op, "func.call"))
        return convert_call(c, op);
    if (mlir_is(op, "builtin.unrealized_conversion_cast"))
        return sh_convert_identity(c, op);
    if (mlir_is(op, "arith.constant") && mlir_attr(op, "value") &&
        mlir_attr(op, "value")->kind == MA_DENSE)
        return sh_convert_constant(c, op);
    if (!strncmp(op->name, "sdy.", 4))
        return convert_sdy(c, op);
    if (!strncmp(op->name, "chlo.", 5))
        return sh_convert_chlo(c, op);
    if (strncmp(op->name, "stablehlo.", 10))
        return unknown(c, op);
    return sh_is_quantized(op) ? sh_convert_quantized(c, op) : sh_convert_on_storage(c, op);
}

bool sh_convert_on_storage(struct sh_convert *c, const struct mlir_op *op)
{
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (!strcmp(rows[k].name, op->name + 10))
            return rows[k].convert ? rows[k].convert(c, op) : convert_row(c, op, &rows[k]);
    return unknown(c, op);
}
