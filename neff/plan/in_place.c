#include "neff/plan/in_place.h"

#include "neff/isa/machine.h"

#include <string.h>

struct in_place_finder {
    const struct program *p;
    const int64_t *values;
    const struct lifetime *life;
    int32_t *onto;
    bool *param; /* per slot: filled by whoever runs a region */
    bool *taken; /* per slot: a result has its memory */
    const struct kernel *k;
    int *loop; /* per instruction of k: the innermost loop around it, -1: none */
    struct arena *a;
};

static const enum opcode elementwise[] = {
    INSN_tensor_tensor, INSN_tensor_scalar, INSN_scalar_tensor_tensor,
    INSN_activation,    INSN_select,        INSN_tensor_copy};

static bool is_elementwise(enum opcode op)
{
    for (size_t i = 0; i < sizeof elementwise / sizeof *elementwise; i++)
        if (elementwise[i] == op)
            return true;
    return false;
}

static bool may_move(const struct in_place_finder *f, int slot)
{
    const struct slot *s = &f->p->slots[slot];
    return s->kind == SLOT_PLANNED && !s->is_output && !f->param[slot];
}

/* ---- no element is written twice ---- */

struct span {
    int64_t step, count;
};

static bool add_span(struct span *spans, int *n, int64_t step, int64_t count)
{
    if (count == 1)
        return true;
    if (step < 1 || count < 0)
        return false;
    int at = (*n)++;
    for (; at > 0 && spans[at - 1].step > step; at--)
        spans[at] = spans[at - 1];
    spans[at] = (struct span){step, count};
    return true;
}

/* The largest value of each variable that is open at the instruction, plus one; 0: not open. */
static bool variable_counts(const struct in_place_finder *f, int insn, int64_t *counts)
{
    memset(counts, 0, sizeof *counts * MAX_VARS);
    for (int g = 0; g < f->k->ngrid; g++)
        counts[g] = dim_value(f->values, f->k->grid[g]);
    for (int l = f->loop[insn]; l >= 0; l = f->loop[l]) {
        const struct affine *count = &f->k->insns[l].imm[IMM(loop, count)];
        if (count->nterms)
            return false;
        counts[f->k->insns[l].imm[IMM(loop, var)].base] = dim_value(f->values, count->base);
    }
    for (int v = 0; v < MAX_VARS; v++)
        if (counts[v] == DIM_NOT_BOUND || counts[v] < 0)
            return false;
    return true;
}

/*
 * The pattern as digits of a number with mixed radix: every dim, with the variable that moves it in
 * whole tiles, and every other variable. Digits that do not carry into the next give each element
 * one place.
 */
static bool writes_once(const struct in_place_finder *f, const struct ap *ap, const int64_t *counts)
{
    struct span spans[MAX_AP_RANK + MAX_VARS];
    bool used[MAX_VARS] = {0};
    int n = 0;
    for (int i = 0; i < ap->rank; i++) {
        const struct ap_dim *d = &ap->dim[i];
        int64_t step = dim_value(f->values, d->step), count = dim_value(f->values, d->count);
        if (d->clip) {
            int var = d->clip->var;
            int64_t factor = dim_value(f->values, d->clip->factor),
                    coef = dim_value(f->values, affine_coef(&ap->offset, var)), moved;
            if (used[var] || factor != count || __builtin_mul_overflow(factor, step, &moved) ||
                moved != coef)
                return false;
            used[var] = true;
            count = dim_value(f->values, d->clip->limit);
        }
        if (step == DIM_NOT_BOUND || count == DIM_NOT_BOUND || !add_span(spans, &n, step, count))
            return false;
    }
    for (int v = 0; v < MAX_VARS; v++) {
        int64_t coef = dim_value(f->values, affine_coef(&ap->offset, v));
        if (!used[v] && counts[v] > 1 &&
            (coef == DIM_NOT_BOUND || !add_span(spans, &n, coef, counts[v])))
            return false;
    }
    __int128 reach = 0; /* of all smaller digits together */
    for (int i = 0; i < n; i++) {
        if (spans[i].step <= reach)
            return false;
        reach += (__int128)spans[i].step * (spans[i].count - 1);
    }
    return true;
}

/* ---- an operand and a result ---- */

enum { RESULT = AP(tensor_copy, dst) }; /* of all elementwise instructions */

/* Both from the start of their memory. */
static bool same_place(const struct in_place_finder *f, const struct ap *a, const struct ap *b)
{
    const struct slot *s = &f->p->slots[a->tensor], *t = &f->p->slots[b->tensor];
    return dtype_bytes(a->dtype) == dtype_bytes(b->dtype) && !(s->kind == SLOT_VIEW && s->offset) &&
           !(t->kind == SLOT_VIEW && t->offset) && ap_places_equal(a, b);
}

/* Instruction `at` alone writes `result`, and reads of `operand` come before, at its elements. */
static bool only_before(const struct in_place_finder *f, int at, int operand, int result)
{
    const struct ap *to = &f->k->insns[at].ap[RESULT];
    for (int i = 0; i < f->k->ninsns; i++) {
        const struct insn *n = &f->k->insns[i];
        const struct insn_info *info = insn_info(n->op);
        for (int k = 0; k < info->naps; k++) {
            if (n->ap[k].mem != MEM_HBM)
                continue;
            int root = slot_root(f->p, n->ap[k].tensor);
            bool writes = info->ap[k].access != 'r';
            if (root == result && writes && (i != at || k != RESULT))
                return false;
            if (root == operand &&
                (writes || i > at || f->loop[i] != f->loop[at] || !same_place(f, &n->ap[k], to)))
                return false;
        }
    }
    return true;
}

/* The first operand whose memory the result of the instruction can take. */
static void find_operand(struct in_place_finder *f, int at)
{
    const struct insn *n = &f->k->insns[at];
    int64_t counts[MAX_VARS];
    if (!is_elementwise(n->op) || n->ap[RESULT].mem != MEM_HBM)
        return;
    int result = slot_root(f->p, n->ap[RESULT].tensor);
    if (!may_move(f, result) || f->onto[result] != result || !variable_counts(f, at, counts) ||
        !writes_once(f, &n->ap[RESULT], counts))
        return;
    for (int i = 0; i <= at; i++)
        for (int k = 0; k < insn_info(f->k->insns[i].op)->naps; k++) {
            const struct ap *ap = &f->k->insns[i].ap[k];
            int operand = ap->mem == MEM_HBM ? slot_root(f->p, ap->tensor) : -1;
            if (operand < 0 || operand == result || f->taken[operand] || !may_move(f, operand) ||
                f->life[operand].last != f->life[result].first ||
                f->life[operand].first >= f->life[result].first ||
                !only_before(f, at, operand, result))
                continue;
            f->onto[result] = f->onto[operand];
            f->taken[operand] = true;
            return;
        }
}

/* The kernel at hand, and the loops of its instructions. */
static void look_at(struct in_place_finder *f, const struct kernel *k)
{
    int open[MAX_VARS + 1], depth = 0;
    f->k = k;
    f->loop = ARENA_ARRAY(f->a, int, k->ninsns + 1);
    for (int i = 0; i < k->ninsns; i++) {
        if (k->insns[i].op == INSN_end)
            depth--;
        f->loop[i] = depth > 0 ? open[depth - 1] : -1;
        if (k->insns[i].op == INSN_loop)
            open[depth++] = i;
    }
}

static void visit_kernel(struct in_place_finder *f, const struct kernel *k)
{
    look_at(f, k);
    for (int i = 0; i < k->ninsns; i++)
        find_operand(f, i);
}

/* ---- what a loop carries ---- */

static bool call_touches(const struct in_place_finder *f, const struct call *c, int slot);

static bool kernel_touches(const struct in_place_finder *f, const struct kernel *k, int slot)
{
    for (int i = 0; i < k->ninsns; i++)
        for (int a = 0; a < insn_info(k->insns[i].op)->naps; a++)
            if (k->insns[i].ap[a].mem == MEM_HBM &&
                slot_root(f->p, k->insns[i].ap[a].tensor) == slot)
                return true;
    return false;
}

static bool step_touches(const struct in_place_finder *f, const struct step *s, int slot)
{
    return s->kind == STEP_LAUNCH ? kernel_touches(f, &f->p->kernels[s->index], slot)
                                  : call_touches(f, &f->p->calls[s->index], slot);
}

static bool list_touches(const struct in_place_finder *f, const int32_t *list, int n, int slot)
{
    for (int i = 0; i < n; i++)
        if (list[i] >= 0 && slot_root(f->p, list[i]) == slot)
            return true;
    return false;
}

static bool call_touches(const struct in_place_finder *f, const struct call *c, int slot)
{
    if (list_touches(f, c->in, c->nin, slot) || list_touches(f, c->out, c->nout, slot))
        return true;
    for (int r = 0; r < c->nregions; r++) {
        const struct program_region *region = &f->p->regions[c->regions[r]];
        if (list_touches(f, region->params, region->nparams, slot) ||
            list_touches(f, region->results, region->nresults, slot))
            return true;
        for (int s = 0; s < region->nsteps; s++)
            if (step_touches(f, &region->steps[s], slot))
                return true;
    }
    return false;
}

/* The kernel writes `result` over `operand` element by element, when it touches both. */
static bool writes_over(struct in_place_finder *f, const struct kernel *k, int operand, int result)
{
    int64_t counts[MAX_VARS];
    look_at(f, k);
    for (int at = 0; at < k->ninsns; at++) {
        const struct insn *n = &k->insns[at];
        if (is_elementwise(n->op) && n->ap[RESULT].mem == MEM_HBM &&
            slot_root(f->p, n->ap[RESULT].tensor) == result)
            return variable_counts(f, at, counts) && writes_once(f, &n->ap[RESULT], counts) &&
                   only_before(f, at, operand, result);
    }
    return false;
}

/* Result i of the body can be computed where the value before it lies, which is as large: nothing reads that one any
 * more. */
static bool carried_in_place(struct in_place_finder *f, const struct program_region *test,
                             const struct program_region *body, int i)
{
    int value = body->params[i], next = body->results[i], first = -1, last = -1;
    if (next < 0 || test->params[i] != value || next == value || f->p->slots[next].kind != SLOT_PLANNED ||
        f->p->slots[value].kind != SLOT_PLANNED || !may_move(f, next) || f->onto[next] != next ||
        f->taken[next] || !type_equal(&f->p->slots[next].type, &f->p->slots[value].type))
        return false;
    for (int k = 0; k < body->nresults; k++)
        if (body->results[k] >= 0 && slot_root(f->p, body->results[k]) == value)
            return false;
    for (int s = 0; s < body->nsteps; s++) {
        first = first < 0 && step_touches(f, &body->steps[s], next) ? s : first;
        last = step_touches(f, &body->steps[s], value) ? s : last;
    }
    const struct step *shared = first >= 0 && first == last ? &body->steps[first] : NULL;
    return first >= 0 &&
           (last < first || (shared && shared->kind == STEP_LAUNCH &&
                             writes_over(f, &f->p->kernels[shared->index], value, next)));
}

static void visit_loop(struct in_place_finder *f, const struct call *c)
{
    const struct program_region *test = &f->p->regions[c->regions[0]],
                                *body = &f->p->regions[c->regions[1]];
    for (int i = 0; i < body->nparams && i < body->nresults && i < test->nparams; i++)
        if (carried_in_place(f, test, body, i)) {
            f->onto[body->results[i]] = body->params[i];
            f->taken[body->results[i]] = true;
        }
}

/* In the order of running, so that an operand's place is known before its user asks. */
static void visit_region(struct in_place_finder *f, int region)
{
    const struct program_region *r = &f->p->regions[region];
    for (int i = 0; i < r->nsteps; i++) {
        if (r->steps[i].kind == STEP_LAUNCH) {
            visit_kernel(f, &f->p->kernels[r->steps[i].index]);
            continue;
        }
        const struct call *c = &f->p->calls[r->steps[i].index];
        if (c->op == OP_while && c->nregions == 2)
            visit_loop(f, c);
        for (int k = 0; k < c->nregions; k++)
            visit_region(f, c->regions[k]);
    }
}

int32_t *find_in_place(const struct program *p, const int64_t *values, const struct lifetime *life,
                       struct arena *a)
{
    const struct machine *m = machine_find(p->target ? p->target : "cpu");
    struct arena scratch = {0};
    struct in_place_finder f = {.p = p, .values = values, .life = life, .a = &scratch};
    f.onto = ARENA_ARRAY(a, int32_t, p->nslots + 1);
    f.param = ARENA_ARRAY(&scratch, bool, p->nslots + 1);
    f.taken = ARENA_ARRAY(&scratch, bool, p->nslots + 1);
    for (int i = 0; i < p->nslots; i++)
        f.onto[i] = i;
    for (int r = 0; r < p->nregions; r++)
        for (int i = 0; i < p->regions[r].nparams; i++)
            f.param[p->regions[r].params[i]] = true;
    if (values && m && !m->strict && p->nregions)
        visit_region(&f, 0);
    arena_free(&scratch);
    return f.onto;
}
