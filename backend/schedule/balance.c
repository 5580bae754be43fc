/*
 * Work that several engines can do is dealt out so that they have about the same to do at each time: copies, and sums
 * and products of elements and numbers of rows, between Vector and Scalar engines, sums and products between Vector and
 * GpSimd engines; only where the memories' ports let both work side by side.
 */
#include "backend/schedule/schedule.h"
#include "neff/isa/cost.h"

struct balance {
    const struct machine *m;
    const int64_t *values;
    double own[ENGINE_COUNT];   /* ns: of what cannot move, in the whole kernel */
    double given[ENGINE_COUNT]; /* of what was dealt out so far */
    double movable, transfers;
};

static bool touches_psum(const struct insn *n)
{
    for (int a = 0; a < insn_info(n->op)->naps; a++)
        if (n->ap[a].mem == MEM_PSUM)
            return true;
    return false;
}

/* Sums and products of elements and numbers of rows: the Vector engine alone has functions of bits, and reductions. */
static bool is_plain_alu(const struct insn *n)
{
    bool plain = n->op == INSN_tensor_alu && n->ap[AP(tensor_alu, reduced)].mem == MEM_NONE;
    for (int i = 0; i < 2; i++) {
        int op = n->func[i ? FUNC(tensor_alu, op1) : FUNC(tensor_alu, op0)];
        plain &= op == OP_identity || op == OP_add || op == OP_sub || op == OP_mul;
    }
    return plain;
}

unsigned engines_for(const struct machine *m, const struct insn *n)
{
    const struct timing *t = machine_timing(m);
    unsigned all = 1U << ENGINE_DVE;
    if (n->op != INSN_tensor_copy && n->op != INSN_tensor_tensor && !is_plain_alu(n))
        return 0;
    bool psum = touches_psum(n);
    if (n->op != INSN_tensor_tensor && !(psum && t->shared_psum_port))
        all |= 1U << ENGINE_ACT;
    if (!psum && !t->shared_sbuf_port)
        all |= 1U << ENGINE_POOL;
    all &= insn_info(n->op)->engines | 1U << ENGINE_DVE;
    return all >> n->engine & 1 ? all : 0;
}

double cost_on(const struct machine *m, struct insn n, int engine, const int64_t *values)
{
    double start = engine == ENGINE_POOL ? machine_timing(m)->pool_start_cycles / engine_ghz(m, engine) : 0;
    n.engine = (uint8_t)engine;
    return start + insn_ns(m, &n, values);
}

/* The engines of those instructions that have not been given to one by what made them. */
static unsigned dealt_to(const struct balance *b, const struct insn *n)
{
    return n->engine == ENGINE_DVE ? engines_for(b->m, n) : 0;
}

/* Whether the Vector engine has so little to do beside products or transfers that nothing waits for it: another engine
 * would wait for loads first, and what needs its results would wait too. */
static bool at_leisure(const struct balance *b)
{
    double load = b->own[ENGINE_DVE] + b->movable;
    return load < b->own[ENGINE_PE] / 2 || load < b->transfers / 2;
}

/* The engine that has the least to do until so much of the kernel is over. */
static void deal(struct balance *b, struct insn *n, unsigned engines, double part)
{
    int best = ENGINE_DVE;
    double min = 0;
    for (int e = 0; e < ENGINE_COUNT; e++) {
        double load = b->own[e] * part + b->given[e] + (engines >> e & 1 ? cost_on(b->m, *n, e, b->values) : 0);
        if (engines >> e & 1 && (min == 0 || load < min))
            best = e, min = load;
    }
    b->given[best] += cost_on(b->m, *n, best, b->values);
    n->engine = (uint8_t)best;
}

void balance_engines(struct program *p, struct kernel *k, const struct machine *m)
{
    struct arena scratch = {0};
    struct diag d = {0};
    const int64_t *values = bind_symbols_for_report(p, NULL, 0, 1, &scratch, &d);
    struct balance b = {.m = m, .values = values};
    for (int i = 0; m->strict && values && i < k->ninsns; i++) {
        const struct insn *n = &k->insns[i];
        if (insn_is_transfer(n))
            b.transfers += transfer_ns(m, n, values);
        else
            *(dealt_to(&b, n) ? &b.movable : &b.own[n->engine]) += insn_ns(m, n, values);
    }
    for (int i = 0; m->strict && values && !at_leisure(&b) && i < k->ninsns; i++) {
        unsigned engines = dealt_to(&b, &k->insns[i]);
        if (engines)
            deal(&b, &k->insns[i], engines, (i + 1.0) / k->ninsns);
    }
    arena_free(&scratch);
}
