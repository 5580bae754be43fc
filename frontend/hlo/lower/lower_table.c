/* The table of opcodes, and lowering functions that are a row of op.def. */
#include "frontend/hlo/lower/lower_ops.h"

#include "frontend/hlo/lower/build.h"

#include <pthread.h>

static struct hlo_row rows[HLO_OP_COUNT] = {
#define LOWER(opcode, function, flags) [HLO_OP_##opcode] = {hlo_lower_##function, NULL},
#define REFUSED(opcode, reason)        [HLO_OP_##opcode] = {NULL, reason},
#include "frontend/hlo/lower/lower_ops.def"
};
static pthread_once_t filled = PTHREAD_ONCE_INIT;

/* Elementwise rows: all operands are arrays. */
static bool lower_same(struct hlo_lower *l)
{
    struct value *in[2];
    for (int k = 0; k < l->i->operand_count; k++)
        in[k] = h_in(l, k);
    enum op op = hlo_same_op(l->i->opcode);
    return h_done(l, h_elementwise(l, op, in, l->i->operand_count, NULL));
}

static void fill(void)
{
    for (int k = 0; k < HLO_OP_COUNT; k++)
        if (hlo_same_op((enum hlo_opcode)k) != OP_COUNT)
            rows[k].lower = lower_same;
}

const struct hlo_row *hlo_row(enum hlo_opcode op)
{
    pthread_once(&filled, fill);
    return &rows[op];
}

void hlo_list_operators(FILE *out)
{
    for (int op = 1; op < HLO_OP_COUNT; op++)
        if (hlo_row((enum hlo_opcode)op)->lower)
            fprintf(out, "%s\n", hlo_op_name(op));
    for (int k = 0; k < hlo_target_count; k++)
        fprintf(out, "custom-call:%s\n", hlo_targets[k].name);
}
