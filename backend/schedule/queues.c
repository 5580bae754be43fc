/*
 * Whose queues move what, on strict targets. An engine starts its transfers in the order of its stream: what waits for
 * nothing should not stand behind what waits.
 */
#include "backend/schedule/schedule.h"
#include "neff/isa/cost.h"

enum {
    DST = AP(dma_copy, dst),
    SRC = AP(dma_copy, src),
    SHARE = 10,   /* of the transfers' time: an engine with less to do keeps no loads waiting */
    PART = 4,     /* of the transfers: the rest are weights and results */
    MAX_NS = 4000 /* of loads: longer ones are under way when the next step begins */
};

void part_queues(struct kernel *k)
{
    int work[ENGINE_COUNT] = {0}, idle = ENGINE_POOL;
    for (int i = 0; i < k->ninsns; i++)
        work[k->insns[i].engine]++;
    if (work[ENGINE_ACT] < work[ENGINE_POOL])
        idle = ENGINE_ACT;
    for (int i = 0; i < k->ninsns; i++) {
        struct insn *n = &k->insns[i];
        if (insn_is_transfer(n) && n->engine == ENGINE_SP && n->ap[DST].mem == MEM_HBM &&
            insn_info(n->op)->engines >> idle & 1)
            n->engine = (uint8_t)idle;
    }
}

/* A load of what another step may have left in HBM. */
static bool waits_for_steps(const struct program *p, const struct insn *n)
{
    return insn_is_transfer(n) && n->engine == ENGINE_SP && n->ap[DST].mem != MEM_HBM && n->ap[SRC].mem == MEM_HBM &&
           p->slots[slot_root(p, n->ap[SRC].tensor)].kind != SLOT_CONST;
}

void part_loads(struct program *p, struct kernel *k, const struct machine *m)
{
    struct arena scratch = {0};
    struct diag d = {0};
    const int64_t *values = bind_symbols_for_report(p, NULL, 0, 1, &scratch, &d);
    double work[ENGINE_COUNT] = {0}, transfers = 0, waiting = 0;
    bool stores[ENGINE_COUNT] = {false};
    for (int i = 0; values && i < k->ninsns; i++) {
        const struct insn *n = &k->insns[i];
        if (!insn_is_transfer(n)) {
            work[n->engine] += insn_is_structure(n) ? 0 : insn_ns(m, n, values);
            continue;
        }
        double ns = transfer_ns(m, n, values);
        transfers += ns, waiting += waits_for_steps(p, n) ? ns : 0;
        stores[n->engine] |= n->ap[DST].mem == MEM_HBM;
    }
    int idle = -1;
    for (int e = 0; e < ENGINE_COUNT; e++)
        if (e != ENGINE_SP && !stores[e] && (idle < 0 || work[e] < work[idle]))
            idle = e;
    bool free = values && idle >= 0 && work[idle] * SHARE < transfers && waiting * PART < transfers && waiting < MAX_NS;
    for (int i = 0; free && i < k->ninsns; i++)
        if (waits_for_steps(p, &k->insns[i]) && insn_info(k->insns[i].op)->engines >> idle & 1)
            k->insns[i].engine = (uint8_t)idle;
    arena_free(&scratch);
}
