/*
 * Copies out of PSUM on machines whose Vector and Scalar engines reach it side by side: the Scalar
 * engine takes so many of the Vector engine's that both have the same to do, spread evenly over the
 * kernel.
 */
#include "backend/schedule/schedule.h"
#include "neff/isa/cost.h"

static bool can_move(const struct insn *n)
{
    return n->op == INSN_tensor_copy && n->engine == ENGINE_DVE &&
           n->ap[AP(tensor_copy, src)].mem == MEM_PSUM;
}

void balance_engines(struct program *p, struct kernel *k, const struct machine *m)
{
    struct arena scratch = {0};
    struct diag d = {0};
    double vector[ENGINE_COUNT] = {0}, scalar[ENGINE_COUNT] = {0}, due = 0;
    const int64_t *values = bind_symbols_for_report(p, NULL, 0, 1, &scratch, &d);
    bool *moved = ARENA_ARRAY(&scratch, bool, k->ninsns + 1);
    if (!m->strict || machine_timing(m)->shared_psum_port || !values)
        goto done;
    kernel_busy_ns(m, k, values, vector);
    for (int i = 0; i < k->ninsns; i++)
        if (can_move(&k->insns[i]))
            k->insns[i].engine = ENGINE_ACT, moved[i] = true;
    kernel_busy_ns(m, k, values, scalar);
    double all = vector[ENGINE_DVE] - scalar[ENGINE_DVE] + scalar[ENGINE_ACT] - vector[ENGINE_ACT];
    double share = all > 0 ? (vector[ENGINE_DVE] - vector[ENGINE_ACT]) / all : 0;
    for (int i = 0; i < k->ninsns; i++) {
        if (!moved[i])
            continue;
        due += share;
        if (due >= 1)
            due -= 1;
        else
            k->insns[i].engine = ENGINE_DVE;
    }
done:
    arena_free(&scratch);
}
