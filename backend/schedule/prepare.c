#include "backend/schedule/prepare.h"

#include "backend/schedule/check_sync.h"
#include "backend/schedule/schedule.h"
#include "backend/tile/rules.h"

#include <string.h>

static bool set_target(struct program *p, const struct machine *m, struct diag *d)
{
    const char *target = p->target ? p->target : "cpu";
    const struct machine *own = machine_find(target);
    if (!own)
        return fail(d, "unknown target '%s'", target);
    if (own != m && own->strict && m->strict)
        return fail(d, "the program is for %s, --target says %s", target, m->name);
    p->target = m->name;
    return true;
}

/* What is known of instructions' operands before anything runs. */
static bool check_instructions(const struct program *p, const struct kernel *k,
                               const struct machine *m, struct diag *d)
{
    int64_t trips[MAX_VARS];
    struct tile_context c = {p, k, m, trips};
    for (int g = 0; g < k->ngrid; g++)
        trips[g] = dim_is_const(k->grid[g]) ? k->grid[g] : -1;
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn *n = &k->insns[i];
        const struct affine *count = &n->imm[IMM(loop, count)];
        if (n->op == INSN_loop)
            trips[n->imm[IMM(loop, var)].base] =
                !count->nterms && dim_is_const(count->base) ? count->base : -1;
        else if (n->op != INSN_end && !tile_check(&c, n, d))
            return fail_in(d, "instruction %d (%s.%s)", i, engine_names[n->engine],
                           insn_info(n->op)->name);
    }
    return true;
}

static bool is_written(const struct program *p, int root)
{
    for (const struct kernel *k = p->kernels; k < p->kernels + p->nkernels; k++)
        for (const struct insn *n = k->insns; n < k->insns + k->ninsns; n++)
            for (int a = 0; a < insn_info(n->op)->naps; a++)
                if (n->ap[a].mem == MEM_HBM && insn_info(n->op)->ap[a].access != 'r' &&
                    slot_root(p, n->ap[a].tensor) == root)
                    return true;
    for (const struct call *c = p->calls; c < p->calls + p->ncalls; c++)
        for (int i = 0; i < c->nout; i++)
            if (slot_root(p, c->out[i]) == root)
                return true;
    return false;
}

/* A store that was forgotten would give an output of zeros. */
static bool outputs_written(const struct program *p, struct diag *d)
{
    const struct program_region *main = &p->regions[0];
    for (int i = 0; i < main->nresults; i++) {
        int root = slot_root(p, main->results[i]);
        if (root >= 0 && p->slots[root].kind == SLOT_PLANNED && !is_written(p, root))
            return fail(d, "output '%s' is never written", p->output_names[i]);
    }
    return true;
}

bool prepare_program(struct program *p, const struct machine *m, bool traced, struct diag *d)
{
    if (!set_target(p, m, d))
        return false;
    for (int i = 0; i < p->nkernels; i++) {
        struct kernel *k = &p->kernels[i];
        k->own_sync = k->nsemaphores > 0;
        for (int t = 0; t < k->ntiles; t++)
            k->tiles[t].fixed = m->strict && k->tiles[t].address >= 0;
        if (!check_instructions(p, k, m, d) ||
            !(traced ? schedule_traced(p, k, m, d) : schedule_kernel(p, k, m, d)))
            return fail_in(d, "kernel %d '%s'", i, k->name ? k->name : "");
    }
    return check_program_sync(p, 1, d) && check_program_sync(p, 5, d) &&
           check_program_grids(p, 1, d) && check_program_grids(p, 5, d) && program_check(p, d) &&
           (traced || outputs_written(p, d));
}
