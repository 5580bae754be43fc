#include "runtime/exec/separate.h"

bool separate_rows(struct binding *b, const struct bound_insn *i)
{
    const struct insn_info *info = insn_info(i->op);
    int rank = 0;
    for (int n = 0; n < i->nops; n++)
        rank = i->o[n].mem && i->o[n].rank > rank ? i->o[n].rank : rank;
    if (rank < 1)
        return fail(b->d, "%s: operands of rank %d, expected 1 or more", info->name, rank);
    for (int n = 0; n < i->nops; n++) {
        if (!i->o[n].mem)
            continue;
        if (i->o[n].rank != rank)
            return fail(b->d, "%s: operand '%s' has rank %d, expected %d", info->name,
                        info->ap[n].name, i->o[n].rank, rank);
        for (int c = 0; c < i->o[n].nclips; c++)
            if (i->o[n].clips[c].dim >= rank - 1)
                return fail(b->d, "%s: operand '%s' is cut along its rows", info->name,
                            info->ap[n].name);
        for (int d = 0; d < rank - 1; d++)
            if (i->o[n].count[d] != i->o->count[d] &&
                (i->o[n].count[d] != 1 || info->ap[n].access != 'r'))
                return fail(b->d, "%s: operand '%s' counts %lld in dim %d, expected %lld",
                            info->name, info->ap[n].name, (long long)i->o[n].count[d], d,
                            (long long)i->o->count[d]);
    }
    return true;
}

void run_separate(struct worker *me, const struct bound_insn *i, separate_fn row)
{
    int rank = i->o->rank, outer = rank - 1;
    int64_t count[MAX_AP_RANK] = {0}, of[MAX_AP_RANK], at[MAX_AP_RANK] = {0};
    struct separate_row r = {.number = 0};
    for (int n = 0; n < i->nops; n++) {
        if (!i->o[n].mem)
            continue;
        if (!counts_now(me, i, n, of))
            return;
        r.p[n] = operand_address(me, &i->o[n]);
        r.n[n] = of[rank - 1];
        for (int d = 0; d < outer; d++) /* edges cut what all operands have */
            if (n == 0 || (of[d] < count[d] && i->o[n].count[d] != 1))
                count[d] = of[d];
    }
    for (;; r.number++) {
        row(me, i, &r);
        int d = outer - 1;
        for (; d >= 0; d--) {
            bool more = ++at[d] < count[d];
            for (int n = 0; n < i->nops; n++)
                if (i->o[n].mem && i->o[n].count[d] != 1)
                    r.p[n] += i->o[n].step[d] * i->o[n].size * (more ? 1 : 1 - count[d]);
            if (more)
                break;
            at[d] = 0;
        }
        if (d < 0)
            return;
    }
}
