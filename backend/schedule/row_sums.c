/*
 * Strict targets: the Scalar engine sums up the rows of what it computes by the way. Where a kernel's author sums a
 * result of it afterwards, on the Vector engine, both are one instruction.
 */
#include "backend/schedule/schedule.h"

static bool is_row_sum(const struct insn *n)
{
    const struct affine *axes = &n->imm[IMM(tensor_reduce, axes)];
    const struct affine *accumulate = &n->imm[IMM(tensor_reduce, accumulate)];
    return n->op == INSN_tensor_reduce && n->func[FUNC(tensor_reduce, op)] == OP_add &&
           n->flt[FLT(tensor_reduce, scale)] == 1 && axes->nterms == 0 && axes->base == 1 &&
           accumulate->nterms == 0 && accumulate->base == 0;
}

/* The sum is of what the instruction writes, as it is written. */
static bool is_sum_of(const struct insn *sum, const struct insn *n)
{
    const struct ap *dst = &n->ap[AP(activation, dst)];
    return is_row_sum(sum) && dst->dtype == DT_F32 && sum->ap[AP(tensor_reduce, dst)].dtype == DT_F32 &&
           ap_equal(&sum->ap[AP(tensor_reduce, src)], dst);
}

/* The row sum of instruction i's result that may as well be made right after it; -1 none. */
static int sum_after(const struct program *p, const struct kernel *k, int i)
{
    for (int j = i + 1; j < k->ninsns && !insn_is_structure(&k->insns[j]); j++) {
        bool found = is_sum_of(&k->insns[j], &k->insns[i]);
        for (int x = i + 1; found && x < j; x++)
            found = !insns_conflict(p, k, &k->insns[x], &k->insns[j], false);
        if (found)
            return j;
    }
    return -1;
}

static bool takes_sum(const struct insn *n)
{
    return n->op == INSN_activation && n->ap[AP(activation, sum)].mem == MEM_NONE;
}

void join_row_sums(const struct program *p, struct kernel *k)
{
    for (int i = 0; i < k->ninsns; i++) {
        int sum = takes_sum(&k->insns[i]) ? sum_after(p, k, i) : -1;
        if (sum < 0)
            continue;
        k->insns[i].ap[AP(activation, sum)] = k->insns[sum].ap[AP(tensor_reduce, dst)];
        kernel_remove(k, sum);
    }
}
