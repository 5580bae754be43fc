/* The table of opcodes, and lowering functions that are a row of op.def. */
#include "frontend/hlo/lower/lower_ops.h"

#include "frontend/hlo/lower/build.h"

static const struct hlo_row rows[HLO_OP_COUNT] = {
#define SAME(opcode, op, flags) [HLO_OP_##opcode] = {hlo_lower_same, OP_##op, NULL},
#define LOWER(opcode, function, flags)                                                             \
    [HLO_OP_##opcode] = {hlo_lower_##function, OP_COUNT, NULL},
#define REFUSED(opcode, reason) [HLO_OP_##opcode] = {NULL, OP_COUNT, reason},
#include "frontend/hlo/lower/lower_ops.def"
};

const struct hlo_row *hlo_row(enum hlo_opcode op)
{
    return &rows[op];
}

/* Elementwise rows: all operands are arrays. */
bool hlo_lower_same(struct hlo_lower *l)
{
    struct value *in[2];
    for (int k = 0; k < l->i->operand_count; k++)
        in[k] = h_in(l, k);
    return h_done(l, h_elementwise(l, rows[l->i->opcode].op, in, l->i->operand_count, NULL));
}

void hlo_list_operators(FILE *out)
{
    for (int op = 1; op < HLO_OP_COUNT; op++)
        if (rows[op].lower)
            fprintf(out, "%s\n", hlo_op_name(op));
    for (int k = 0; k < hlo_target_count; k++)
        fprintf(out, "custom-call:%s\n", hlo_targets[k].name);
}
