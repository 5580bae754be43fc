/* Opcodes that are an operator of op.def, by its `hlo` column. */
#include "frontend/hlo/lower/lower.h"

#include <pthread.h>
#include <string.h>

static int16_t same[HLO_OP_COUNT];
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill(void)
{
    for (int k = 0; k < HLO_OP_COUNT; k++)
        same[k] = OP_COUNT;
    for (int i = 0; i < OP_COUNT; i++)
        if (*op_infos[i].hlo)
            same[hlo_op_find(op_infos[i].hlo, strlen(op_infos[i].hlo))] = (int16_t)i;
}

enum op hlo_same_op(enum hlo_opcode op)
{
    pthread_once(&filled, fill);
    return (enum op)same[op];
}
