/*
 * Strict targets: the Scalar engine sums up the rows of what it computes by the way. Where a kernel's author sums a
 * result of it afterwards, on the Vector engine, both are one instruction.
 */
#include "backend/schedule/schedule.h"

#include <string.h>

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

struct row_sums {
    const struct program *p;
    struct kernel *k;
    int *first, *next; /* per tile: the first sum of its rows; per sum, the next one of that tile. -1 */
    int *end;          /* per instruction: where its straight line ends */
    bool *gone;
};

static void find_sums(struct row_sums *s, struct arena *a)
{
    const struct kernel *k = s->k;
    s->first = ARENA_ARRAY(a, int, k->ntiles + 1);
    s->next = ARENA_ARRAY(a, int, k->ninsns + 1);
    s->end = ARENA_ARRAY(a, int, k->ninsns + 1);
    s->gone = ARENA_ARRAY(a, bool, k->ninsns + 1);
    memset(s->first, -1, sizeof *s->first * (size_t)(k->ntiles + 1));
    for (int i = k->ninsns - 1, end = k->ninsns; i >= 0; i--) {
        if (insn_is_structure(&k->insns[i]))
            end = i;
        s->end[i] = end;
        if (!is_row_sum(&k->insns[i]))
            continue;
        const struct ap *src = &k->insns[i].ap[AP(tensor_reduce, src)];
        if (src->mem == MEM_HBM)
            continue;
        s->next[i] = s->first[src->tensor];
        s->first[src->tensor] = i;
    }
}

/* The row sum of instruction i's result that may as well be made right after it; -1 none. */
static int sum_after(struct row_sums *s, int i)
{
    const struct insn *insns = s->k->insns;
    int *first = &s->first[insns[i].ap[AP(activation, dst)].tensor];
    while (*first >= 0 && *first < i)
        *first = s->next[*first];
    for (int j = *first; j >= 0 && j < s->end[i]; j = s->next[j]) {
        bool found = !s->gone[j] && is_sum_of(&insns[j], &insns[i]);
        for (int x = i + 1; found && x < j; x++) {
            found = s->gone[x] || !insns_conflict(s->p, s->k, &insns[x], &insns[j], false);
            if (!found && operand_conflicts(s->p, s->k, &insns[x], &insns[j], AP(tensor_reduce, src), false))
                return -1; /* all sums that follow are of something else */
        }
        if (found)
            return j;
    }
    return -1;
}

static bool takes_sum(const struct insn *n)
{
    return n->op == INSN_activation && n->ap[AP(activation, sum)].mem == MEM_NONE &&
           n->ap[AP(activation, dst)].mem != MEM_HBM;
}

void join_row_sums(const struct program *p, struct kernel *k)
{
    struct arena scratch = {0};
    struct row_sums s = {.p = p, .k = k};
    int n = 0;
    find_sums(&s, &scratch);
    for (int i = 0; i < k->ninsns; i++) {
        int sum = takes_sum(&k->insns[i]) ? sum_after(&s, i) : -1;
        if (sum < 0)
            continue;
        k->insns[i].ap[AP(activation, sum)] = k->insns[sum].ap[AP(tensor_reduce, dst)];
        s.gone[sum] = true;
    }
    for (int i = 0; i < k->ninsns; i++)
        if (!s.gone[i])
            k->insns[n++] = k->insns[i];
    k->ninsns = n;
    arena_free(&scratch);
}
