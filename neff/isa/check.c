/*
 * Structural checks of programs. Whoever made the program (backend, loader, assembler, a test),
 * what passes here can be bound and run without looking at indices again.
 */
#include "neff/isa/machine.h"
#include "neff/isa/program.h"

#include <stdlib.h>
#include <string.h>

struct program_checker {
    const struct program *p;
    const struct machine *m;
    struct diag *d;
    struct arena scratch;
    bool *region_used;
    int *seen;    /* per slot: for one look at a call */
    int *held;    /* per slot: calls on the way to the region at hand that have it as operand or result */
    int *awaited; /* the same, as result alone: there is none before the call ends */
    int *told_in; /* per kernel: the region in which it was last looked at */
};

static bool dim_ok(const struct program_checker *c, dim_t v)
{
    return dim_is_const(v) || dim_index(v) < c->p->dims.nnodes;
}

static bool check_slot(struct program_checker *c, int i)
{
    const struct slot *s = &c->p->slots[i];
    bool open = s->kind == SLOT_DYNAMIC && s->type.dtype == DT_NONE; /* only known while running */
    if (s->type.kind == VK_TENSOR && !dtype_valid(s->type.dtype) && !open)
        return fail(c->d, "slot %d: unknown element type", i);
    for (int k = 0; k < s->type.rank; k++)
        if (!dim_ok(c, s->type.dims[k]))
            return fail(c->d, "slot %d: unknown dimension expression", i);
    if (s->kind == SLOT_PLANNED || s->kind == SLOT_VIEW) {
        if (s->type.kind != VK_TENSOR || s->type.rank < 0 || s->type.dtype == DT_STR)
            return fail(c->d, "slot %d: planned memory for a value without a fixed layout", i);
        for (int k = 0; k < s->type.rank && s->kind == SLOT_PLANNED; k++)
            if (dim_is_runtime(&c->p->dims, s->type.dims[k]))
                return fail(c->d,
                            "slot %d: planned memory depends on a dimension that is known only "
                            "while running",
                            i);
    }
    if (s->has_range && !dim_ok(c, s->high))
        return fail(c->d, "slot %d: unknown dimension expression", i);
    if (s->kind == SLOT_VIEW) {
        if (s->base < 0 || s->base >= c->p->nslots || c->p->slots[s->base].kind == SLOT_VIEW)
            return fail(c->d, "slot %d: a view of something that is not memory", i);
        const struct slot *b = &c->p->slots[s->base];
        if (b->type.kind != VK_TENSOR || b->type.dtype == DT_STR)
            return fail(c->d, "slot %d: a view of a value without a fixed layout", i);
        if (!dim_ok(c, s->offset))
            return fail(c->d, "slot %d: unknown dimension expression", i);
    }
    return true;
}

static bool written(char access)
{
    return access != 'r';
}

static bool affine_ok(const struct program_checker *c, const struct kernel *k, const struct affine *a)
{
    if (!dim_ok(c, a->base))
        return false;
    for (int i = 0; i < a->nterms; i++)
        if (!dim_ok(c, a->terms[i].coef) || a->terms[i].var >= k->nvars)
            return false;
    return true;
}

static bool ap_dims_ok(const struct program_checker *c, const struct kernel *k, const struct ap *ap)
{
    for (int i = 0; i < ap->rank; i++) {
        const struct ap_dim *d = &ap->dim[i];
        if (!dim_ok(c, d->step) || !dim_ok(c, d->count))
            return false;
        if (d->clip && (d->clip->var < 0 || d->clip->var >= k->nvars ||
                        !dim_ok(c, d->clip->factor) || !dim_ok(c, d->clip->limit)))
            return false;
    }
    return affine_ok(c, k, &ap->offset);
}

static bool check_ap(struct program_checker *c, const struct kernel *k, const struct insn *n, int a)
{
    const struct insn_info *info = insn_info(n->op);
    const struct ap *ap = &n->ap[a];
    if (ap->mem == MEM_NONE)
        return info->ap[a].optional ||
               fail(c->d, "%s: operand '%s' is missing", info->name, info->ap[a].name);
    if (ap->rank < 1 || ap->rank > MAX_AP_RANK || !dtype_valid(ap->dtype))
        return fail(c->d, "%s: operand '%s' is malformed", info->name, info->ap[a].name);
    if (info->ap[a].reach == REACH_INDIRECT && ap->rank == MAX_AP_RANK)
        return fail(c->d, "%s: operand '%s' has %d dims, at most %d", info->name, info->ap[a].name,
                    ap->rank, MAX_AP_RANK - 1);
    if (!ap_dims_ok(c, k, ap))
        return fail(c->d, "%s: operand '%s' has an unknown variable or dimension expression",
                    info->name, info->ap[a].name);
    int limit = ap->mem == MEM_HBM ? c->p->nslots : k->ntiles;
    if (ap->tensor < 0 || ap->tensor >= limit)
        return fail(c->d, "%s: operand '%s' names no tensor", info->name, info->ap[a].name);
    if (ap->mem == MEM_HBM) {
        const struct slot *s = &c->p->slots[ap->tensor];
        if (s->type.kind != VK_TENSOR || s->type.dtype == DT_STR)
            return fail(c->d, "%s: operand '%s' is not a tensor of numbers", info->name,
                        info->ap[a].name);
        const struct slot *root = &c->p->slots[slot_root(c->p, ap->tensor)];
        if (written(info->ap[a].access) && (root->kind == SLOT_CONST || root->kind == SLOT_INPUT))
            return fail(c->d, "%s: operand '%s' writes a constant or an input", info->name,
                        info->ap[a].name);
    } else if (k->tiles[ap->tensor].mem != ap->mem) {
        return fail(c->d, "%s: operand '%s' is in another memory than its tile", info->name,
                    info->ap[a].name);
    }
    return true;
}

static bool check_strict(struct program_checker *c, const struct machine *m, const struct insn *n)
{
    const struct insn_info *info = insn_info(n->op);
    if (!(info->targets & machine_bit(m)))
        return fail(c->d, "%s: engines of %s lack this instruction", info->name, m->name);
    for (int a = 0; a < info->naps; a++)
        if (n->ap[a].mem == MEM_HBM && info->cost.kind != COST_DMA)
            return fail(c->d, "%s: operand '%s' is in HBM, which engines of %s do not reach",
                        info->name, info->ap[a].name, m->name);
    return true;
}

static bool check_sync(struct program_checker *c, const struct kernel *k, const struct insn *n)
{
    for (int i = 0; i < n->nwaits; i++)
        if (n->wait[i].semaphore < 0 || n->wait[i].semaphore >= k->nsemaphores ||
            !affine_ok(c, k, &n->wait[i].value))
            return fail(c->d, "%s: wait for an unknown semaphore or value", insn_info(n->op)->name);
    for (int i = 0; i < 2; i++)
        if (n->signal[i] >= k->nsemaphores)
            return fail(c->d, "%s: signals an unknown semaphore", insn_info(n->op)->name);
    bool structure = n->op == INSN_loop || n->op == INSN_end;
    if (structure && (n->nwaits || n->signal[0] >= 0 || n->signal[1] >= 0))
        return fail(c->d, "%s: structure belongs to all engines and cannot wait or signal",
                    insn_info(n->op)->name);
    return true;
}

static bool check_insn(struct program_checker *c, const struct kernel *k, const struct insn *n)
{
    const struct insn_info *info = n->op < INSN_COUNT ? insn_info(n->op) : NULL;
    if (!info || n->engine >= ENGINE_COUNT)
        return fail(c->d, "unknown instruction or engine");
    if (info->cost.kind != COST_CONTROL && !(info->engines >> n->engine & 1))
        return fail(c->d, "%s: engine %s does not have this instruction", info->name,
                    engine_names[n->engine]);
    if (n->node < -1 || n->node >= c->p->nnodes)
        return fail(c->d, "%s: unknown source node", info->name);
    for (int i = 0; i < info->nimms; i++)
        if (!affine_ok(c, k, &n->imm[i]))
            return fail(c->d, "%s: '%s' has an unknown variable or dimension expression",
                        info->name, info->imm[i].name);
        else if (n->imm[i].nterms && !info->imm[i].varies)
            return fail(c->d, "%s: '%s' depends on a variable, expected a number", info->name,
                        info->imm[i].name);
    for (int i = 0; i < info->nfuncs; i++)
        if (n->func[i] >= OP_COUNT)
            return fail(c->d, "%s: unknown function '%s'", info->name, info->func[i]);
    for (int a = 0; a < info->naps; a++)
        if (!check_ap(c, k, n, a))
            return false;
    return check_sync(c, k, n);
}

static bool check_kernel_head(struct program_checker *c, const struct kernel *k)
{
    if (k->ngrid < 0 || k->ngrid > MAX_GRID || k->nvars < k->ngrid || k->nvars > MAX_VARS)
        return fail(c->d, "grid of %d dimensions with %d variables", k->ngrid, k->nvars);
    for (int i = 0; i < k->ngrid; i++)
        if (!dim_ok(c, k->grid[i]))
            return fail(c->d, "unknown dimension expression in the grid");
    for (int i = 0; i < k->ntiles; i++) {
        const struct tile *t = &k->tiles[i];
        if ((t->mem != MEM_SBUF && t->mem != MEM_PSUM) || !dtype_valid(t->dtype) ||
            t->dtype == DT_STR || !dim_ok(c, t->partitions) || !dim_ok(c, t->elements) ||
            t->address < -1)
            return fail(c->d, "tile %d is malformed", i);
    }
    return (dim_ok(c, k->flops) && dim_ok(c, k->bytes)) ||
           fail(c->d, "unknown dimension expression");
}

static bool check_kernel(struct program_checker *c, const struct kernel *k)
{
    const struct machine *m = c->m;
    int depth = 0;
    if (!check_kernel_head(c, k))
        return false;
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn *n = &k->insns[i];
        if (!check_insn(c, k, n))
            return false;
        if (n->op == INSN_loop) {
            dim_t var = n->imm[IMM(loop, var)].base;
            if (var != k->ngrid + depth || var >= k->nvars)
                return fail(c->d, "loop variables are not numbered by depth");
            depth++;
        } else if (n->op == INSN_end && --depth < 0) {
            return fail(c->d, "an `end` without its `loop`");
        }
        if (m->strict && !check_strict(c, m, n))
            return false;
    }
    return depth == 0 || fail(c->d, "a `loop` without its `end`");
}

static bool indices_ok(const int32_t *list, int n, int low, int limit)
{
    for (int i = 0; i < n; i++)
        if (list[i] < low || list[i] >= limit)
            return false;
    return true;
}

/* Operand i's slot may be result i's: it is replaced in part, or carried around a loop. */
static bool may_share(const struct program *p, const struct call *k, int i)
{
    bool updates = (op_info(k->op)->flags & OPF_UPDATES) != 0;
    return k->in[i] == k->out[i] && p->slots[k->in[i]].kind == SLOT_PLANNED &&
           ((updates && i == 0 && k->nout == 1) || k->op == OP_while);
}

/* No result shares memory with an operand or with another result: routines write results while they
 * read operands, and may move them elsewhere. */
static bool results_apart(struct program_checker *c, const struct call *k)
{
    const struct program *p = c->p;
    bool apart = true;
    for (int i = 0; i < k->nout; i++)
        if (k->out[i] >= 0)
            c->seen[slot_root(p, k->out[i])] = i + 1;
    for (int i = 0; i < k->nout; i++)
        apart &= k->out[i] < 0 || c->seen[slot_root(p, k->out[i])] == i + 1;
    for (int i = 0; i < k->nin; i++)
        apart &= k->in[i] < 0 || !c->seen[slot_root(p, k->in[i])] ||
                 (c->seen[slot_root(p, k->in[i])] == i + 1 && may_share(p, k, i));
    for (int i = 0; i < k->nout; i++)
        if (k->out[i] >= 0)
            c->seen[slot_root(p, k->out[i])] = 0;
    return apart;
}

static bool check_call(struct program_checker *c, const struct call *k)
{
    const struct program *p = c->p;
    if (!indices_ok(k->in, k->nin, -1, p->nslots) || !indices_ok(k->out, k->nout, -1, p->nslots) ||
        !indices_ok(k->regions, k->nregions, 1, p->nregions) || k->node < -1 ||
        k->node >= p->nnodes)
        return fail(c->d, "a call of something that does not exist");
    const struct op_info *info = op_info(k->op);
    if (k->nin < info->min_in || (info->max_in >= 0 && k->nin > info->max_in) ||
        k->nout < info->min_out || (info->max_out >= 0 && k->nout > info->max_out))
        return fail(c->d, "call of %s with %d operands and %d results", info->name, k->nin,
                    k->nout);
    struct region_counts expected = op_regions(k->op);
    if (k->nregions < expected.min || k->nregions > expected.max)
        return fail(c->d, "call of %s with %d regions, expected %d to %d", info->name, k->nregions, expected.min,
                    expected.max);
    for (int i = 0; i < k->nout; i++) {
        if (k->out[i] < 0 && op_needs_result(k->op, i))
            return fail(c->d, "call of %s without its result %d", info->name, i);
        if (k->out[i] < 0)
            continue;
        int kind = c->p->slots[k->out[i]].kind;
        if (kind != SLOT_PLANNED && kind != SLOT_DYNAMIC && kind != SLOT_VIEW)
            return fail(c->d, "call of %s writes a constant or an input", info->name);
        int root = c->p->slots[slot_root(c->p, k->out[i])].kind;
        if (root == SLOT_CONST || root == SLOT_INPUT)
            return fail(c->d, "call of %s writes a constant or an input", info->name);
    }
    if (!results_apart(c, k))
        return fail(c->d, "call of %s writes what it reads, or one place twice", info->name);
    for (int i = 0; i < k->nregions; i++) {
        if (c->region_used[k->regions[i]])
            return fail(c->d, "a region belongs to two calls");
        c->region_used[k->regions[i]] = true;
    }
    return true;
}

/* Branches and bodies of loops may make results where they are wanted, in memory that has its place. */
static bool may_write(const struct program *p, const struct call *k, int slot)
{
    return (k->op == OP_while || k->op == OP_if) && p->slots[slot].kind == SLOT_PLANNED;
}

static void hold(const struct program_checker *c, const struct call *k, const int32_t *slots, int n, int *times,
                 int more)
{
    for (int i = 0; i < n; i++) {
        int root = slot_root(c->p, slots[i]);
        if (root >= 0 && !may_write(c->p, k, root))
            times[root] += more;
    }
}

static void hold_call(const struct program_checker *c, const struct call *k, int more)
{
    hold(c, k, k->in, k->nin, c->held, more);
    hold(c, k, k->out, k->nout, c->held, more);
    hold(c, k, k->out, k->nout, c->awaited, more);
}

static bool is_among(const struct program_checker *c, const int *times, const int32_t *slots, int n)
{
    for (int i = 0; i < n; i++)
        if (slots[i] >= 0 && times[slot_root(c->p, slots[i])])
            return true;
    return false;
}

static bool kernel_is_apart(const struct program_checker *c, const struct kernel *k)
{
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn_info *info = insn_info(k->insns[i].op);
        for (int a = 0; a < info->naps; a++) {
            const struct ap *ap = &k->insns[i].ap[a];
            const int *times = written(info->ap[a].access) ? c->held : c->awaited;
            if (ap->mem == MEM_HBM && is_among(c, times, &ap->tensor, 1))
                return false;
        }
    }
    return true;
}

/* A routine that runs regions has its operands and results in its hands meanwhile: nothing in them writes, moves or
 * frees those, or reads what is not computed yet. */
static bool check_held(struct program_checker *c, int region)
{
    const struct program_region *r = &c->p->regions[region];
    bool ok = !is_among(c, c->held, r->params, r->nparams) && !is_among(c, c->awaited, r->results, r->nresults);
    for (int i = 0; ok && i < r->nsteps; i++) {
        int n = r->steps[i].index;
        if (r->steps[i].kind == STEP_CALL)
            ok = !is_among(c, c->held, c->p->calls[n].out, c->p->calls[n].nout) &&
                 !is_among(c, c->awaited, c->p->calls[n].in, c->p->calls[n].nin);
        else if (c->told_in[n] != region)
            ok = kernel_is_apart(c, &c->p->kernels[n]);
        if (r->steps[i].kind == STEP_LAUNCH)
            c->told_in[n] = region;
    }
    return ok || fail(c->d, "region %d writes an operand of the call that runs it, or uses a result", region);
}

/* Regions form a tree under the main region: each is called from exactly one place, never from
 * inside itself. */
static bool check_nesting(struct program_checker *c, int region, int depth)
{
    const struct program_region *r = &c->p->regions[region];
    if (depth > 64)
        return fail(c->d, "regions nested too deeply");
    if (region && !check_held(c, region))
        return false;
    for (int i = 0; i < r->nsteps; i++) {
        if (r->steps[i].kind != STEP_CALL)
            continue;
        const struct call *k = &c->p->calls[r->steps[i].index];
        hold_call(c, k, 1);
        for (int j = 0; j < k->nregions; j++)
            if (!check_nesting(c, k->regions[j], depth + 1))
                return false;
        hold_call(c, k, -1);
    }
    return true;
}

static bool check_regions(struct program_checker *c)
{
    const struct program *p = c->p;
    for (int i = 0; i < p->nregions; i++) {
        const struct program_region *r = &p->regions[i];
        if (!indices_ok(r->params, r->nparams, 0, p->nslots) ||
            !indices_ok(r->results, r->nresults, -1, p->nslots))
            return fail(c->d, "region %d: unknown parameter or result", i);
        for (int k = 0; k < r->nsteps; k++) {
            const struct step *s = &r->steps[k];
            if (s->kind > STEP_CALL || s->index < 0 ||
                s->index >= (s->kind == STEP_LAUNCH ? p->nkernels : p->ncalls))
                return fail(c->d, "region %d: step %d does not exist", i, k);
            if (s->bf16_from < 0 || s->bf16_below < 0 || (s->kind == STEP_CALL && (s->bf16_from | s->bf16_below)))
                return fail(c->d, "region %d: step %d has rates of bf16 that no launch has", i, k);
        }
    }
    return true;
}

static bool check_main(struct program_checker *c)
{
    const struct program *p = c->p;
    if (p->nregions < 1)
        return fail(c->d, "no main program");
    for (int i = 0; i < p->regions[0].nparams; i++) {
        const struct slot *s = &p->slots[p->regions[0].params[i]];
        if (s->kind != SLOT_INPUT || !s->name)
            return fail(c->d, "input %d is not an input slot with a name", i);
    }
    for (int i = 0; i < p->regions[0].nresults; i++)
        if (p->regions[0].results[i] < 0)
            return fail(c->d, "output %d is absent", i);
    bool *stepped = ARENA_ARRAY(&c->scratch, bool, p->ncalls);
    for (int r = 0; r < p->nregions; r++)
        for (int i = 0; i < p->regions[r].nsteps; i++) {
            const struct step *s = &p->regions[r].steps[i];
            if (s->kind == STEP_CALL && stepped[s->index])
                return fail(c->d, "call %d occurs in two steps", s->index);
            if (s->kind == STEP_CALL)
                stepped[s->index] = true;
        }
    return check_nesting(c, 0, 0);
}

static bool check_guards(struct program_checker *c)
{
    for (int i = 0; i < c->p->nguards; i++) {
        const struct guard *g = &c->p->guards[i];
        if (g->kind >= GUARD_KINDS || g->region < 0 || g->region >= c->p->nregions || !g->node ||
            !g->what || g->dimension < -1 || !dim_ok(c, g->a) || !dim_ok(c, g->b))
            return fail(c->d, "guard %d is malformed", i);
    }
    return true;
}

static int times_listed(const int32_t *list, int n, int slot)
{
    int times = 0;
    for (int i = 0; i < n; i++)
        times += list[i] == slot;
    return times;
}

/* What a runtime reckons with: the length of the slot along the axis, or the capacity of this very state. */
static bool is_pitch(const struct program_checker *c, const struct program_state *s, int end)
{
    const struct program *p = c->p;
    dim_t d = s->pitch[end], length = p->slots[end ? s->output : s->input].type.dims[s->axis];
    if (d == length) /* updated in place: see check_state */
        return s->pitch[!end] == d && state_is_update(p, s);
    if (!dim_ok(c, d) || dim_is_const(d))
        return false;
    const struct dim_node *n = &p->dims.nodes[dim_index(d)];
    return n->op == DIM_PITCH && n->a == length && n->b == s - p->states;
}

/* The memory that a runtime has for both holds what kernels reach by the pitches, whoever wrote the archive. */
static bool check_state(struct program_checker *c, const struct program_state *s)
{
    const struct program *p = c->p;
    const struct program_region *r = &p->regions[0];
    if (s->input < 0 || s->input >= p->nslots || s->output < 0 || s->output >= p->nslots)
        return false;
    const struct slot *x = &p->slots[s->input], *y = &p->slots[s->output];
    int end;
    if (x->kind != SLOT_INPUT || y->kind != SLOT_PLANNED || !y->is_output || x->type.kind != VK_TENSOR ||
        y->type.kind != VK_TENSOR || x->type.rank != y->type.rank || s->axis < 0 || s->axis >= x->type.rank ||
        x->type.dtype != y->type.dtype || x->type.dtype == DT_STR || !is_pitch(c, s, 0) || !is_pitch(c, s, 1) ||
        times_listed(r->params, r->nparams, s->input) != 1 || times_listed(r->results, r->nresults, s->output) != 1)
        return false;
    for (int i = 0; i < x->type.rank; i++)
        if (i != s->axis && x->type.dims[i] != y->type.dims[i])
            return false;
    return state_of_slot(p, s->input, &end) == s && state_of_slot(p, s->output, &end) == s;
}

static bool check_states(struct program_checker *c)
{
    for (int i = 0; i < c->p->nstates; i++)
        if (!check_state(c, &c->p->states[i]))
            return fail(c->d, "state %d is malformed", i);
    return true;
}

static bool check(struct program_checker *c)
{
    const struct program *p = c->p;
    c->region_used = ARENA_ARRAY(&c->scratch, bool, p->nregions + 1);
    c->region_used[0] = true;
    c->seen = ARENA_ARRAY(&c->scratch, int, p->nslots + 1);
    c->held = ARENA_ARRAY(&c->scratch, int, p->nslots + 1);
    c->awaited = ARENA_ARRAY(&c->scratch, int, p->nslots + 1);
    c->told_in = ARENA_ARRAY(&c->scratch, int, p->nkernels + 1);
    c->m = machine_find(p->target ? p->target : "cpu");
    if (!c->m)
        return fail(c->d, "unknown target '%s'", p->target);
    if (p->dims.too_large)
        return fail(c->d, "its dimension expressions are too large");
    for (int i = 0; i < p->nslots; i++)
        if (!check_slot(c, i))
            return false;
    for (int i = 0; i < p->nkernels; i++)
        if (!check_kernel(c, &p->kernels[i]))
            return fail_in(c->d, "kernel %d '%s'", i, p->kernels[i].name ? p->kernels[i].name : "");
    for (int i = 0; i < p->ncalls; i++)
        if (!check_call(c, &p->calls[i]))
            return fail_in(c->d, "call %d", i);
    return check_regions(c) && check_main(c) && check_guards(c) && check_states(c);
}

bool program_check(const struct program *p, struct diag *d)
{
    struct program_checker c = {.p = p, .d = d};
    bool ok = check(&c);
    arena_free(&c.scratch);
    return ok || fail_in(d, "bad program");
}
