/*
 * A model: the program and what follows from it alone.
 */
#include "runtime/exec/state.h"

#include "neff/base/use.h"
#include "neff/core/signature.h"

#include <stdlib.h>
#include <string.h>

/* The numbering of program_lifetimes (neff/plan/plan.c): regions' steps right after the call that runs
 * them. */
struct numbering {
    const struct program *p;
    int *step_clock; /* per step */
    int *end;        /* per region; -1 not reached */
    const int *first_step;
    int clock;
};

static void number_region(struct numbering *n, int region)
{
    const struct program_region *r = &n->p->regions[region];
    n->end[region] = 0;
    n->clock++;
    for (int s = 0; s < r->nsteps; s++) {
        if (r->steps[s].kind == STEP_CALL) {
            const struct call *c = &n->p->calls[r->steps[s].index];
            for (int i = 0; i < c->nregions; i++)
                if (n->end[c->regions[i]] < 0)
                    number_region(n, c->regions[i]);
        }
        n->step_clock[n->first_step[region] + s] = n->clock++;
    }
    n->end[region] = n->clock++;
}

/* Where each dynamic slot is used for the last time. */
static void find_deaths(struct model *m, struct arena *scratch)
{
    const struct program *p = m->p;
    int nsteps = 0;
    m->first_step = ARENA_ARRAY(&m->arena, int, p->nregions + 1);
    for (int r = 0; r < p->nregions; r++) {
        m->first_step[r] = nsteps;
        nsteps += p->regions[r].nsteps;
    }
    m->dying = ARENA_ARRAY(&m->arena, struct slot_list, nsteps + 1);
    m->region_dying = ARENA_ARRAY(&m->arena, struct slot_list, p->nregions + 1);
    struct numbering n = {p, ARENA_ARRAY(scratch, int, nsteps + 1),
                          ARENA_ARRAY(scratch, int, p->nregions + 1), m->first_step, 0};
    for (int r = 0; r < p->nregions; r++)
        n.end[r] = -1;
    if (p->nregions)
        number_region(&n, 0);
    int *step_at = ARENA_ARRAY(scratch, int, n.clock + 1),
        *end_at = ARENA_ARRAY(scratch, int, n.clock + 1);
    for (int i = 0; i <= n.clock; i++)
        step_at[i] = end_at[i] = -1;
    for (int r = 0; r < p->nregions; r++) {
        if (n.end[r] < 0)
            continue;
        end_at[n.end[r]] = r;
        for (int s = 0; s < p->regions[r].nsteps; s++)
            step_at[n.step_clock[m->first_step[r] + s]] = m->first_step[r] + s;
    }
    const struct lifetime *life = program_lifetimes(p, scratch);
    for (int s = 0; s < p->nslots; s++) {
        int last = life[s].last;
        if (p->slots[s].kind != SLOT_DYNAMIC || last < 0 || last > n.clock)
            continue;
        if (step_at[last] >= 0)
            slot_list_add(&m->arena, &m->dying[step_at[last]], s);
        else if (end_at[last] >= 0)
            slot_list_add(&m->arena, &m->region_dying[end_at[last]], s);
    }
}

static bool type_is_runtime(const struct dim_table *t, const struct type *type)
{
    if (type->kind != VK_TENSOR || type->rank < 0)
        return true;
    for (int i = 0; i < type->rank; i++)
        if (dim_is_runtime(t, type->dims[i]))
            return true;
    return false;
}

/* ---- what kernels depend on ---- */

struct dims_used {
    const struct model *m;
    int32_t *node; /* per dim node: the last kernel that was seen to need it */
    int32_t kernel;
    int max;     /* highest node that it needs */
    bool runtime; /* running defines one of them */
};

static void use_dim(struct dims_used *u, dim_t d)
{
    if (dim_is_const(d))
        return;
    int i = dim_index(d);
    u->node[i] = u->kernel;
    u->max = i > u->max ? i : u->max;
    u->runtime |= u->m->p->dims.nodes[i].runtime;
}

static void use_affine(struct dims_used *u, const struct affine *a)
{
    use_dim(u, a->base);
    for (int i = 0; i < a->nterms; i++)
        use_dim(u, a->terms[i].coef);
}

static void use_type(struct dims_used *u, const struct type *t)
{
    for (int i = 0; t->kind == VK_TENSOR && i < t->rank; i++)
        use_dim(u, t->dims[i]);
}

static void use_ap(struct dims_used *u, const struct ap *ap)
{
    const struct slot *slots = u->m->p->slots;
    if (ap->mem == MEM_NONE)
        return;
    use_affine(u, &ap->offset);
    if (ap->mem == MEM_HBM)
        use_type(u, &slots[ap->tensor].type);
    for (int i = 0; i < ap->rank; i++) {
        use_dim(u, ap->dim[i].step);
        use_dim(u, ap->dim[i].count);
        if (ap->dim[i].clip) {
            use_dim(u, ap->dim[i].clip->factor);
            use_dim(u, ap->dim[i].clip->limit);
        }
    }
}

static void use_kernel(struct dims_used *u, const struct kernel *k)
{
    for (int i = 0; i < k->ngrid; i++)
        use_dim(u, k->grid[i]);
    for (int i = 0; i < k->ntiles; i++) {
        use_dim(u, k->tiles[i].partitions);
        use_dim(u, k->tiles[i].elements);
    }
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn_info *info = insn_info(k->insns[i].op);
        for (int j = 0; j < info->naps; j++)
            use_ap(u, &k->insns[i].ap[j]);
        for (int j = 0; j < info->nimms; j++)
            use_affine(u, &k->insns[i].imm[j]);
    }
}

static bool touches_unknown(const struct model *m, const struct kernel *k)
{
    for (int i = 0; i < k->ninsns; i++)
        for (int j = 0; j < insn_info(k->insns[i].op)->naps; j++)
            if (k->insns[i].ap[j].mem == MEM_HBM && m->slot_runtime[k->insns[i].ap[j].tensor])
                return true;
    return false;
}

/* Whether the kernel is bound when launched, and to which symbols. Operands of a dim come before
 * it. */
static void find_kernel_symbols(struct model *m, int kernel, int32_t *node)
{
    struct dims_used u = {m, node, kernel + 1, -1, false};
    use_kernel(&u, &m->p->kernels[kernel]);
    m->kernel_runtime[kernel] = u.runtime || touches_unknown(m, &m->p->kernels[kernel]);
    for (int i = u.max; i >= 0 && m->kernel_runtime[kernel]; i--) {
        const struct dim_node *n = &m->p->dims.nodes[i];
        if (node[i] != u.kernel)
            continue;
        if (n->op == DIM_SYM) {
            slot_list_add(&m->arena, &m->kernel_symbols[kernel], (int)n->a);
            continue;
        }
        use_dim(&u, n->a);
        use_dim(&u, n->b);
    }
}

static void find_kernel_slots(struct model *m, int kernel)
{
    const struct kernel *k = &m->p->kernels[kernel];
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn_info *info = insn_info(k->insns[i].op);
        for (int j = 0; j < info->naps; j++) {
            const struct ap *ap = &k->insns[i].ap[j];
            if (ap->mem != MEM_HBM)
                continue;
            int root = slot_root(m->p, ap->tensor);
            m->slot_read[root] |= info->ap[j].access != 'w';
            if (m->p->slots[root].kind == SLOT_DYNAMIC && info->ap[j].access != 'r')
                slot_list_add(&m->arena, &m->kernel_writes[kernel], root);
            if (m->p->slots[root].kind == SLOT_DYNAMIC || m->slot_runtime[ap->tensor])
                slot_list_add(&m->arena, &m->kernel_uses[kernel], ap->tensor);
        }
    }
}

static void find_slots(struct model *m)
{
    const struct program *p = m->p;
    m->views = ARENA_ARRAY(&m->arena, struct slot_list, p->nslots + 1);
    m->slot_runtime = ARENA_ARRAY(&m->arena, bool, p->nslots + 1);
    m->slot_read = ARENA_ARRAY(&m->arena, bool, p->nslots + 1);
    m->definer = ARENA_ARRAY(&m->arena, int32_t, p->dims.nsymbols + 1);
    for (int i = 0; i < p->dims.nsymbols; i++)
        m->definer[i] = -1;
    for (int s = 0; s < p->nslots; s++) {
        const struct slot *slot = &p->slots[s];
        m->slot_runtime[s] = type_is_runtime(&p->dims, &slot->type);
        m->has_runtime |= slot->kind == SLOT_DYNAMIC;
        if (slot->kind == SLOT_VIEW)
            slot_list_add(&m->arena, &m->views[slot->base], s);
    }
}

static void find_reads_of_calls(struct model *m)
{
    for (int c = 0; c < m->p->ncalls; c++)
        for (int i = 0; i < m->p->calls[c].nin; i++)
            if (m->p->calls[c].in[i] >= 0)
                m->slot_read[slot_root(m->p, m->p->calls[c].in[i])] = true;
}

/* The first slot to get a value, in program order, binds the symbols that stand alone in its dims.
 */
static void note_definitions(struct model *m, int slot)
{
    const struct program *p = m->p;
    if (slot < 0 || p->slots[slot].kind != SLOT_DYNAMIC || p->slots[slot].type.kind != VK_TENSOR)
        return;
    for (int i = 0; i < p->slots[slot].type.rank; i++) {
        int symbol = dim_as_symbol(&p->dims, p->slots[slot].type.dims[i]);
        if (symbol >= 0 && p->dims.symbols[symbol].runtime && m->definer[symbol] < 0)
            m->definer[symbol] = slot;
    }
}

static void find_definers(struct model *m, int region, bool *seen)
{
    const struct program_region *r = &m->p->regions[region];
    if (seen[region])
        return;
    seen[region] = true;
    for (int i = 0; i < r->nparams; i++)
        note_definitions(m, r->params[i]);
    for (int s = 0; s < r->nsteps; s++) {
        if (r->steps[s].kind != STEP_CALL)
            continue;
        const struct call *c = &m->p->calls[r->steps[s].index];
        for (int i = 0; i < c->nregions; i++)
            find_definers(m, c->regions[i], seen);
        for (int i = 0; i < c->nout; i++)
            note_definitions(m, c->out[i]);
    }
}

/* Every input slot is given by the caller, and constants have data: text may lack it. */
static bool inputs_are_given(const struct program *p, struct diag *d)
{
    for (int s = 0; s < p->nslots; s++) {
        const struct tensor *t = &p->slots[s].data;
        if (p->slots[s].kind == SLOT_CONST && t->kind == VK_TENSOR && !t->data && tensor_bytes(t))
            return fail(d, "slot %d is a constant without data", s);
        bool given = p->slots[s].kind != SLOT_INPUT;
        for (int i = 0; !given && p->nregions && i < p->regions[0].nparams; i++)
            given = p->regions[0].params[i] == s;
        if (!given)
            return fail(d, "slot %d is an input that the main program does not take", s);
    }
    return p->nregions > 0 || fail(d, "no main program");
}

/* The separable symbol of a program that binds it and gives tensors; -1. */
static int batch_symbol(const struct program *p)
{
    int symbol = 0;
    while (symbol < p->dims.nsymbols && !p->dims.symbols[symbol].separable)
        symbol++;
    for (int i = 0; p->nregions && i < p->regions[0].nresults; i++) {
        const struct type *t = &p->slots[p->regions[0].results[i]].type;
        if (t->kind != VK_TENSOR || t->rank < 1 || t->dtype == DT_STR)
            return -1;
    }
    return symbol < p->dims.nsymbols && !p->dims.symbols[symbol].max ? symbol : -1;
}

struct model *model_new(struct program *p, struct diag *d)
{
    bool whole = program_make_constants(p, d) && inputs_are_given(p, d);
    struct model *m = whole ? calloc(1, sizeof *m) : NULL;
    struct arena scratch = {0};
    if (!m) {
        fail_memory(d, "out of memory"); /* the first failure is kept */
        program_free(p);
        return NULL;
    }
    m->p = p;
    m->engine_threads = engine_threads_selected();
    if (USED(CALLS) && p->ncalls)
        op_signature(p->calls[0].op); /* reads the signatures of all operators, once */
    find_slots(m);
    if (p->nregions)
        find_definers(m, 0, ARENA_ARRAY(&scratch, bool, p->nregions));
    find_guards(m);
    m->batch = USED(GROUPS) ? batch_symbol(p) : -1;
    find_deaths(m, &scratch);
    find_reads_of_calls(m);
    m->kernel_runtime = ARENA_ARRAY(&m->arena, bool, p->nkernels + 1);
    m->kernel_symbols = ARENA_ARRAY(&m->arena, struct slot_list, p->nkernels + 1);
    m->kernel_writes = ARENA_ARRAY(&m->arena, struct slot_list, p->nkernels + 1);
    m->kernel_uses = ARENA_ARRAY(&m->arena, struct slot_list, p->nkernels + 1);
    int32_t *node = ARENA_ARRAY(&scratch, int32_t, p->dims.nnodes + 1);
    for (int k = 0; k < p->nkernels; k++) {
        find_kernel_symbols(m, k, node);
        find_kernel_slots(m, k);
    }
    arena_free(&scratch);
    return m;
}

void model_free(struct model *m)
{
    if (!m)
        return;
    program_free(m->p);
    arena_free(&m->arena);
    free(m);
}

void model_guard_operands(struct model *m)
{
    m->guard_operands = true;
}

struct program *model_take_program(struct model *m)
{
    struct program *p = m->p;
    arena_free(&m->arena);
    free(m);
    return p;
}

void model_set_bf16_rate(struct model *m, int rate)
{
    m->bf16_rate = rate;
}

const struct program *model_program(const struct model *m)
{
    return m->p;
}
