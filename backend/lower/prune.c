#include "backend/lower/prune.h"

struct needs {
    const struct program *p;
    bool *slot; /* read later, by the slot that owns the memory */
};

static void need(struct needs *n, int slot)
{
    if (slot >= 0)
        n->slot[slot_root(n->p, slot)] = true;
}

static void need_all(struct needs *n, const int32_t *list, int count)
{
    for (int i = 0; i < count; i++)
        need(n, list[i]);
}

static bool kernel_needed(const struct needs *n, const struct kernel *k)
{
    for (int i = 0; i < k->ninsns; i++)
        for (int a = 0; a < insn_info(k->insns[i].op)->naps; a++)
            if (k->insns[i].ap[a].mem == MEM_HBM &&
                insn_info(k->insns[i].op)->ap[a].access != 'r' &&
                n->slot[slot_root(n->p, k->insns[i].ap[a].tensor)])
                return true;
    return false;
}

static void need_kernel(struct needs *n, const struct kernel *k)
{
    for (int i = 0; i < k->ninsns; i++)
        for (int a = 0; a < insn_info(k->insns[i].op)->naps; a++)
            if (k->insns[i].ap[a].mem == MEM_HBM)
                need(n, k->insns[i].ap[a].tensor);
}

static bool call_needed(const struct needs *n, const struct call *c)
{
    if (c->nregions || (op_infos[c->op].flags & (OPF_IMPURE | OPF_REGIONS)))
        return true;
    for (int i = 0; i < c->nout; i++)
        if (c->out[i] >= 0 &&
            (n->slot[slot_root(n->p, c->out[i])] || n->p->slots[c->out[i]].kind == SLOT_DYNAMIC))
            return true;
    return false;
}

static void need_region(struct needs *n, const struct program_region *r)
{
    need_all(n, r->params, r->nparams);
    need_all(n, r->results, r->nresults);
    for (int i = 0; i < r->nsteps; i++) {
        const struct step *s = &r->steps[i];
        if (s->kind == STEP_LAUNCH) {
            need_kernel(n, &n->p->kernels[s->index]);
        } else {
            const struct call *c = &n->p->calls[s->index];
            need_all(n, c->in, c->nin);
            need_all(n, c->out, c->nout);
        }
    }
}

void prune_steps(struct program *p)
{
    struct needs n = {p, ARENA_ARRAY(&p->arena, bool, p->nslots + 1)};
    struct program_region *r = &p->regions[0];
    need_all(&n, r->results, r->nresults);
    for (int i = 1; i < p->nregions; i++)
        need_region(&n, &p->regions[i]);
    bool *keep = ARENA_ARRAY(&p->arena, bool, r->nsteps + 1);
    for (int i = r->nsteps - 1; i >= 0; i--) {
        const struct step *s = &r->steps[i];
        if (s->kind == STEP_LAUNCH) {
            keep[i] = kernel_needed(&n, &p->kernels[s->index]);
            if (keep[i])
                need_kernel(&n, &p->kernels[s->index]);
        } else {
            keep[i] = call_needed(&n, &p->calls[s->index]);
            if (keep[i])
                need_all(&n, p->calls[s->index].in, p->calls[s->index].nin);
        }
    }
    int kept = 0;
    for (int i = 0; i < r->nsteps; i++)
        if (keep[i])
            r->steps[kept++] = r->steps[i];
    r->nsteps = kept;
}
