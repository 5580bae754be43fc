/*
 * The control stream: steps in order, slots made and freed on the way.
 */
#include "neff/base/use.h"
#include "runtime/exec/memory.h"
#include "runtime/exec/quick.h"
#include "runtime/exec/state.h"

#include <stdlib.h>
#include <string.h>

static const char *slot_name(const struct program *p, int s)
{
    return p->slots[s].name ? p->slots[s].name : "(unnamed)";
}

/* Values of dims in this run. */
static const int64_t *values_now(struct context *c)
{
    if (!c->m->has_runtime)
        return c->now->values;
    if (c->values_stale)
        dim_eval_with(&c->m->p->dims, c->symbols, c->capacities, c->states ? c->m->p->nstates : 0, c->values);
    c->values_stale = false;
    return c->values;
}

/* ---- slots get values ---- */

static void view_nothing(struct context *c, int view)
{
    c->slots[view] = (struct tensor){.kind = VK_NONE};
    c->address[view] = NULL;
}

static bool place_view(struct context *c, int view, struct diag *d)
{
    const struct program *p = c->m->p;
    const struct slot *s = &p->slots[view];
    const struct tensor *base = &c->slots[s->base];
    const struct tensor *known = &c->now->types[view];
    struct tensor t = *known;
    int64_t offset = 0;
    if (base->kind != VK_TENSOR || (t.kind == VK_NONE && !slot_dims(s, values_now(c), &t))) {
        view_nothing(c, view); /* not known yet: placed again when used */
        return true;
    }
    if (base->dtype == DT_STR ||
        __builtin_mul_overflow(dim_value(values_now(c), s->offset),
                               (int64_t)dtype_bytes(s->type.dtype), &offset))
        return fail(d, "view '%s' leaves its tensor", slot_name(p, view));
    if (known->kind == VK_NONE || c->now->types[s->base].kind == VK_NONE) {
        for (int i = 0; i < t.rank; i++)
            if (t.dims[i] < 0)
                return fail(d, "view '%s' has a negative dimension", slot_name(p, view));
        int64_t room = (int64_t)tensor_bytes(base);
        if (offset < 0 || offset > room || (int64_t)tensor_bytes(&t) > room - offset)
            return fail(d, "view '%s' leaves its tensor of %lld bytes", slot_name(p, view),
                        (long long)room);
    }
    t.data = (char *)base->data + offset;
    c->slots[view] = t;
    c->address[view] = t.data;
    return true;
}

/* The slot has its value; addresses and views follow. */
static bool slot_place(struct context *c, int slot, struct diag *d)
{
    const struct slot_list *views = &c->m->views[slot];
    c->address[slot] = c->slots[slot].data;
    for (int i = 0; i < views->count; i++)
        if (!place_view(c, views->slots[i], d))
            return false;
    return true;
}

/* A loop without trips does not know the shape of what it would have collected; the slot's type
 * does. */
static void shape_of_nothing(struct context *c, int slot)
{
    const struct program *p = c->m->p;
    const struct type *type = &p->slots[slot].type;
    struct tensor *t = &c->slots[slot];
    bool empty = false;
    int64_t dims[MAX_RANK];
    if (t->kind != VK_TENSOR || t->rank == type->rank || tensor_count(t) != 0)
        return;
    for (int i = 0; i < type->rank; i++) {
        int symbol = dim_as_symbol(&p->dims, type->dims[i]);
        dims[i] = symbol >= 0 && c->m->definer[symbol] == slot
                      ? 0
                      : dim_eval(&p->dims, c->symbols, type->dims[i]);
        if (dims[i] == DIM_NOT_BOUND || dims[i] < 0)
            dims[i] = 0;
        empty |= dims[i] == 0;
    }
    if (!empty)
        return;
    t->rank = type->rank;
    memcpy(t->dims, dims, sizeof *dims * (size_t)type->rank);
}

/* A dynamic slot has got its value: its dims bind run-time symbols or agree with what is known. */
static bool define_slot(struct context *c, int slot, struct diag *d)
{
    const struct program *p = c->m->p;
    const struct type *type = &p->slots[slot].type;
    const struct tensor *t = &c->slots[slot];
    char got[256];
    if (t->kind == VK_TENSOR && !limits_bytes(c, "a tensor needs", tensor_bytes(t), d))
        return fail_in(d, "'%s'", slot_name(p, slot));
    if (type->kind != VK_TENSOR || type->rank < 0)
        return slot_place(c, slot, d);
    shape_of_nothing(c, slot);
    if (t->kind != VK_TENSOR || t->rank != type->rank || (type->dtype && t->dtype != type->dtype))
        return fail(d, "'%s' is %s, expected %s of rank %d", slot_name(p, slot),
                    tensor_type_text(t, got, sizeof got), dtype_name(type->dtype), type->rank);
    for (int i = 0; i < type->rank; i++) {
        int symbol = dim_as_symbol(&p->dims, type->dims[i]);
        if (symbol >= 0 && p->dims.symbols[symbol].runtime &&
            (c->m->definer[symbol] == slot || c->symbols[symbol] == DIM_NOT_BOUND)) {
            c->values_stale |= c->symbols[symbol] != t->dims[i];
            c->guards_due |= c->symbols[symbol] != t->dims[i];
            c->symbols[symbol] = t->dims[i];
        }
    }
    for (int i = 0; i < type->rank; i++) {
        int64_t want = dim_eval(&p->dims, c->symbols, type->dims[i]);
        if (want != t->dims[i] && want != DIM_NOT_BOUND)
            return fail(d, "'%s' is %s: dimension %d is expected to be %lld", slot_name(p, slot),
                        tensor_type_text(t, got, sizeof got), i, (long long)want);
    }
    return slot_place(c, slot, d);
}

/* ---- memory at the start of runs with new shapes ---- */

static int output_of(const struct program *p, int slot)
{
    for (int i = 0; i < p->regions[0].nresults; i++)
        if (p->regions[0].results[i] == slot)
            return i;
    return -1;
}

/* Memory that no routine can move or free, for slots that are views of it like all planned ones. */
static bool place_alone(struct context *c, int s, struct diag *d)
{
    const struct tensor *type = &c->now->types[s];
    if (!c->alone && !(c->alone = calloc((size_t)c->m->p->nslots + 1, sizeof *c->alone)))
        return fail_memory(d, "out of memory");
    struct tensor *own = &c->alone[s];
    if (!tensor_alloc(own, type->dtype, type->rank, type->dims, d))
        return false;
    c->slots[s] = tensor_view(type->dtype, type->rank, type->dims, own->data);
    return slot_place(c, s, d);
}

static bool place_planned(struct context *c, int s, struct diag *d)
{
    const struct program *p = c->m->p;
    struct tensor *t = &c->slots[s];
    const struct tensor *type = &c->now->types[s];
    int out = p->slots[s].is_output ? output_of(p, s) : -1;
    const struct bound_state *state = USED(STATES) && out >= 0 ? state_of_output(c, out) : NULL;
    if (state) {
        *t = tensor_view(type->dtype, type->rank, type->dims, state->memory.data);
    } else if (out >= 0 && c->output[out].memory) {
        if (tensor_bytes(type) > c->output[out].bytes)
            return fail(d, "output '%s' has %zu bytes, the memory given for it %zu",
                        p->output_names[out], tensor_bytes(type), c->output[out].bytes);
        *t = tensor_view(type->dtype, type->rank, type->dims, c->output[out].memory);
    } else if (out >= 0) {
        struct tensor *own = &c->output[out].own;
        const void *before = own->data;
        if (!tensor_alloc_dirty(own, type->dtype, type->rank, type->dims, d))
            return false;
        if (own->data != before) {
            pages_ahead(own->data, tensor_bytes(own));
            memset(own->data, 0, tensor_bytes(own)); /* what a program leaves out is no secret */
        }
        *t = tensor_view(type->dtype, type->rank, type->dims, own->data);
    } else if (c->now->plan.onto[s] != s && p->slots[c->now->plan.onto[s]].is_output) {
        return true; /* placed with that one */
    } else if (c->now->plan.offsets[s] < 0) { /* an output that is not returned, or never used */
        return place_alone(c, s, d);
    } else {
        tensor_free(t);
        *t = tensor_view(type->dtype, type->rank, type->dims, c->memory + c->now->plan.offsets[s]);
    }
    return slot_place(c, s, d);
}

static bool place_all(struct context *c, struct diag *d)
{
    const struct program *p = c->m->p;
    if (c->memory_ready != c->memory_bytes)
        pages_ahead(c->memory, c->memory_bytes);
    c->memory_ready = c->memory_bytes;
    workers_ahead(c);
    for (int s = 0; s < p->nslots; s++) {
        if (p->slots[s].kind == SLOT_CONST) {
            c->slots[s] = p->slots[s].data;
            c->slots[s].owned = false;
            if (!slot_place(c, s, d))
                return false;
        } else if (p->slots[s].kind == SLOT_PLANNED && !place_planned(c, s, d)) {
            return false;
        } else if (p->slots[s].kind == SLOT_INPUT) {
            c->slots[s].kind = VK_NONE;
        }
    }
    for (int s = 0; s < p->nslots; s++) {
        int onto = p->slots[s].kind == SLOT_PLANNED ? c->now->plan.onto[s] : s;
        if (onto == s || !p->slots[onto].is_output)
            continue;
        const struct tensor *type = &c->now->types[s];
        tensor_free(&c->slots[s]);
        c->slots[s] = tensor_view(type->dtype, type->rank, type->dims, c->slots[onto].data);
        if (!slot_place(c, s, d))
            return false;
    }
    c->placed = true;
    return true;
}

static bool place_inputs(struct context *c, struct diag *d)
{
    const struct program_region *r = &c->m->p->regions[0];
    for (int i = 0; i < r->nparams; i++) {
        int s = r->params[i];
        if (c->slots[s].kind == VK_TENSOR && c->slots[s].data == c->input[i].data)
            continue;
        if (c->input[i].kind == VK_TENSOR && !c->input[i].data && tensor_count(&c->input[i]))
            return fail(d, "input '%s' has no data", slot_name(c->m->p, s));
        c->slots[s] = c->input[i];
        if (!slot_place(c, s, d))
            return false;
    }
    return true;
}

/* ---- launches ---- */

static bool reserve_dynamic(struct context *c, const struct slot_list *list, struct diag *d)
{
    for (int i = 0; i < list->count; i++) {
        struct tensor type;
        int s = list->slots[i];
        if (!slot_dims(&c->m->p->slots[s], values_now(c), &type))
            return fail(d, "dims of '%s' are not known when a kernel writes it",
                        slot_name(c->m->p, s));
        if (!check_broadcasts(c->m->p, s, values_now(c), d))
            return false;
        const void *before = c->slots[s].data;
        if (!limits_bytes(c, "a tensor needs", tensor_bytes(&type), d))
            return fail_in(d, "'%s'", slot_name(c->m->p, s));
        if (!tensor_alloc_dirty(&c->slots[s], type.dtype, type.rank, type.dims, d) ||
            !slot_place(c, s, d))
            return false;
        if (c->slots[s].data != before) /* kernels may write a slot in turn, each a part of it */
            memset(c->slots[s].data, 0, tensor_bytes(&c->slots[s]));
    }
    return true;
}

/* Every dynamic slot that the kernel touches is there, as its type says. */
static bool check_uses(struct context *c, const struct slot_list *list, struct diag *d)
{
    for (int i = 0; i < list->count; i++) {
        int s = list->slots[i],
            root = slot_root(c->m->p, s);
        if (c->slots[root].kind != VK_TENSOR)
            return fail(d, "'%s' has no value when a kernel uses it", slot_name(c->m->p, root));
        if (s != root && !place_view(c, s, d))
            return false;
        struct tensor type;
        if (!slot_dims(&c->m->p->slots[s], values_now(c), &type) || c->slots[s].kind != VK_TENSOR ||
            tensor_bytes(&type) > tensor_bytes(&c->slots[s]))
            return fail(d, "'%s' does not have the dims of its type when a kernel uses it",
                        slot_name(c->m->p, s));
    }
    return true;
}

/* Whether the kernel is bound to the symbols of this moment; they are noted. */
static bool still_bound(struct context *c, int kernel, struct kernel_cache *cache)
{
    const struct slot_list *on = &c->m->kernel_symbols[kernel];
    bool same = cache->bound != NULL;
    for (int i = 0; i < on->count; i++) {
        int64_t value = c->symbols[on->slots[i]];
        same &= cache->symbols[i] == value;
        cache->symbols[i] = value;
    }
    return same;
}

static const struct bound_kernel *bind_now(struct context *c, int kernel, struct diag *d)
{
    const struct program *p = c->m->p;
    struct kernel_cache *cache = &c->cache[kernel];
    if (!cache->symbols) {
        cache->symbols = calloc((size_t)c->m->kernel_symbols[kernel].count + 1, sizeof(int64_t));
        if (!cache->symbols) {
            fail_memory(d, "out of memory");
            return NULL;
        }
    }
    if (still_bound(c, kernel, cache))
        return cache->bound;
    cache->bound = NULL; /* it lies in the arena */
    arena_free(&cache->arena);
    cache->bound = bind_kernel(c->m, &p->kernels[kernel], values_now(c), kernels_get()->lanes,
                               &cache->arena, d);
    if (cache->bound && !workers_reserve(c, cache->bound->tile_bytes, cache->bound->scratch_bytes, d))
        cache->bound = NULL;
    workers_ahead(c);
    return cache->bound;
}

static bool run_launch(struct context *c, int kernel, struct diag *d)
{
    const struct kernel *k = &c->m->p->kernels[kernel];
    const struct bound_kernel *b = c->now->kernels[kernel];
    double start = c->profile ? profile_now(c->profile) : 0;
    bool ok = true;
    if (c->m->kernel_uses[kernel].count)
        ok = reserve_dynamic(c, &c->m->kernel_writes[kernel], d) &&
             check_uses(c, &c->m->kernel_uses[kernel], d);
    if (ok && !b)
        ok = (b = bind_now(c, kernel, d)) != NULL;
    if (!ok || (b->steps && !limits_steps(c, b->steps, d)) || !launch(c, b, d))
        return fail_in(d, "kernel '%s'", k->name ? k->name : "");
    if (c->profile)
        profile_launch(c->profile, c->m->p, b, start);
    return true;
}

/* ---- calls ---- */

/* The routine may have put a planned result elsewhere. */
static bool settle_planned(struct context *c, int s, struct diag *d)
{
    struct tensor *t = &c->slots[s];
    const struct tensor *type = &c->now->types[s];
    if (t->data == c->address[s] && t->kind == VK_TENSOR)
        return true;
    bool same = t->kind == VK_TENSOR && t->dtype == type->dtype && t->rank == type->rank &&
                t->dtype != DT_STR;
    for (int i = 0; same && i < t->rank; i++)
        same = t->dims[i] == type->dims[i];
    struct tensor elsewhere = *t;
    char got[256];
    tensor_type_text(t, got, sizeof got);
    *t = tensor_view(type->dtype, type->rank, type->dims, c->address[s]);
    if (same)
        memcpy(t->data, elsewhere.data, tensor_bytes(t));
    tensor_free(&elsewhere);
    if (!same)
        return fail(d, "'%s' is %s, which is not what was planned", slot_name(c->m->p, s), got);
    return true;
}

static bool settle_results(struct context *c, const struct call *call, struct diag *d)
{
    for (int i = 0; i < call->nout; i++) {
        int s = call->out[i];
        if (s < 0)
            continue;
        bool planned = c->m->p->slots[s].kind != SLOT_DYNAMIC;
        if (!(planned ? settle_planned(c, s, d) : define_slot(c, s, d)))
            return false;
    }
    return true;
}

/* After a failure: what the routine put elsewhere goes, and slots have the places of the next run. */
static void drop_results(struct context *c, const struct call *call)
{
    for (int i = 0; i < call->nout; i++) {
        int s = call->out[i];
        if (s < 0 || c->m->p->slots[s].kind == SLOT_DYNAMIC || !c->slots[s].owned)
            continue;
        const struct tensor *type = &c->now->types[s];
        tensor_free(&c->slots[s]);
        c->slots[s] = tensor_view(type->dtype, type->rank, type->dims, c->address[s]);
    }
}

/* Operands are there, and views have the dims of this moment. */
static bool ready_operands(struct context *c, const struct call *call, struct diag *d)
{
    for (int i = 0; i < call->nin; i++) {
        int s = call->in[i];
        if (s < 0)
            continue;
        const struct slot *slot = &c->m->p->slots[s];
        if (slot->kind == SLOT_VIEW && c->m->slot_runtime[s] && !place_view(c, s, d))
            return false;
        if (c->slots[s].kind == VK_NONE && slot->type.kind != VK_OPTIONAL)
            return fail(d, "operand '%s' has no value yet", slot_name(c->m->p, s));
    }
    return true;
}

static bool run_placed(struct context *c, int region, struct diag *d);
static bool run_region_step(struct context *c, int region, int number, struct diag *d);
static const struct run_by run_by = {run_placed, run_region_step};

static bool run_call(struct context *c, int index, struct diag *d)
{
    const struct program *p = c->m->p;
    const struct call *call = &p->calls[index];
    double start = c->profile ? profile_now(c->profile) : 0;
    const struct control *control = USED(CONTROL) ? c->now->control[index] : NULL;
    bool ok;
    if (control)
        ok = run_control(c, call, control, &run_by, d);
    else if (c->now->call_checked[index])
        ok = op_run_planned(&c->calls[index]);
    else
        ok = (!c->m->has_runtime || ready_operands(c, call, d)) && op_run(&c->calls[index]);
    ok = ok && (control || settle_results(c, call, d));
    if (!ok) {
        drop_results(c, call);
        const struct program_node *n =
            call->node >= 0 && call->node < p->nnodes ? &p->nodes[call->node] : NULL;
        return n ? fail_in(d, "node '%s' (%s)", n->name, n->source)
                 : fail_in(d, "%s", op_name(call->op));
    }
    if (c->profile)
        profile_call(c->profile, p, call, &c->calls[index], start);
    return true;
}

/* A dynamic slot has no value any more, nor have the views on it. */
static void free_slot(struct context *c, int slot)
{
    const struct slot_list *views = &c->m->views[slot];
    tensor_free(&c->slots[slot]);
    for (int i = 0; i < views->count; i++)
        view_nothing(c, views->slots[i]);
}

static void free_slots(struct context *c, const struct slot_list *list)
{
    for (int i = 0; i < list->count; i++)
        free_slot(c, list->slots[i]);
}

/* A symbol has got a value: what the model assumes about it, here and in the regions around. */
static bool check_guards(struct context *c, struct diag *d)
{
    c->guards_due = false;
    for (int i = 0; i <= c->depth; i++)
        if (c->m->guards[c->running[i]].count &&
            !check_region_guards(c, c->running[i], values_now(c), d))
            return false;
    return true;
}

static bool run_step(struct context *c, const struct step *step, struct diag *d)
{
    if (USED(CALLS) && step->kind != STEP_LAUNCH)
        return run_call(c, step->index, d);
    return !step_is_for(step, c->bf16_rate) || run_launch(c, step->index, d);
}

static bool run_steps(struct context *c, int region, struct diag *d)
{
    const struct program_region *r = &c->m->p->regions[region];
    const struct slot_list *dying = &c->m->dying[c->m->first_step[region]];
    if (!r->nsteps && !limits_step(c, d)) /* turns of a loop without steps count too */
        return false;
    for (int s = 0; s < r->nsteps; s++) {
        if (!limits_step(c, d) || !run_step(c, &r->steps[s], d))
            return false;
        if (c->guards_due && !check_guards(c, d))
            return false;
        if (c->seen && region == 0 && !c->seen(c->seen_user, c, s, d))
            return false;
        if (dying[s].count)
            free_slots(c, &dying[s]);
    }
    return true;
}

static bool run_region_step(struct context *c, int region, int number, struct diag *d)
{
    return run_step(c, &c->m->p->regions[region].steps[number], d) &&
           (!c->guards_due || check_guards(c, d));
}

/* ---- regions ---- */

static void begin_region(struct context *c, int region)
{
    c->running[c->depth] = region;
    forget_symbols(c, region);
}

/* A region whose parameters, if any, are in place. */
static bool run_placed(struct context *c, int region, struct diag *d)
{
    if (c->depth >= MAX_DEPTH)
        return fail(d, "regions are nested deeper than %d", MAX_DEPTH);
    struct quick_region *quick = USED(CONTROL) ? c->now->quick[region] : NULL;
    c->depth++;
    begin_region(c, region);
    if (quick && !c->profile) {
        bool done = limits_steps(c, quick->steps, d) && quick_run(c, quick, run_region_step, d);
        c->depth--;
        return done;
    }
    bool ok = (!c->m->guards[region].count || check_region_guards(c, region, values_now(c), d)) &&
              run_steps(c, region, d);
    c->depth--;
    free_slots(c, &c->m->region_dying[region]);
    return ok;
}

static bool set_param(struct context *c, int s, struct tensor *arg, struct diag *d)
{
    const struct program *p = c->m->p;
    char got[256];
    if (s < 0)
        return fail(d, "a region's parameter is missing");
    if (p->slots[s].kind == SLOT_DYNAMIC) {
        tensor_move(&c->slots[s], arg);
        return define_slot(c, s, d);
    }
    const struct tensor *type = &c->now->types[s];
    bool same = p->slots[s].kind == SLOT_PLANNED && arg->kind == VK_TENSOR &&
                arg->dtype == type->dtype && arg->rank == type->rank && arg->dtype != DT_STR;
    for (int i = 0; same && i < arg->rank; i++)
        same = arg->dims[i] == type->dims[i];
    if (!same)
        return fail(d, "region parameter '%s' gets %s, which is not its type", slot_name(p, s),
                    tensor_type_text(arg, got, sizeof got));
    memmove(c->slots[s].data, arg->data, tensor_bytes(arg));
    tensor_free(arg);
    return true;
}

static bool list_has(const struct slot_list *l, int slot)
{
    for (int i = 0; i < l->count; i++)
        if (l->slots[i] == slot)
            return true;
    return false;
}

static bool take_result(struct context *c, int region, int i, struct tensor *out, struct diag *d)
{
    const struct program_region *r = &c->m->p->regions[region];
    int s = r->results[i];
    if (s < 0)
        return fail(d, "a region's result %d is missing", i);
    bool again = false;
    for (int j = i + 1; j < r->nresults; j++)
        again |= slot_root(c->m->p, r->results[j]) == s;
    struct tensor *t = &c->slots[s];
    bool movable = t->owned || t->kind != VK_TENSOR;
    if (!again && movable && list_has(&c->m->region_dying[region], s)) {
        tensor_move(out, t);
        return true;
    }
    if (c->m->p->slots[s].kind == SLOT_VIEW && c->m->slot_runtime[s] && !place_view(c, s, d))
        return false;
    return tensor_copy(out, t, d);
}

bool run_region(struct op_env *env, struct op_call *oc, int r, struct tensor *args, int nargs,
                struct tensor *results, int nresults)
{
    struct context *c = oc->user;
    struct diag *d = env->d;
    const struct call *call = &c->m->p->calls[oc - c->calls];
    bool ok = true;
    int region = call->regions[r];
    const struct program_region *pr = &c->m->p->regions[region];
    if (c->depth >= MAX_DEPTH)
        ok = fail(d, "regions are nested deeper than %d", MAX_DEPTH);
    else if (nargs != pr->nparams || nresults > pr->nresults)
        ok = fail(d, "a region of %d parameters and %d results is run with %d and %d", pr->nparams,
                  pr->nresults, nargs, nresults);
    c->depth++;
    if (ok)
        begin_region(c, region);
    for (int i = 0; ok && i < nargs; i++)
        ok = set_param(c, pr->params[i], &args[i], d);
    if (ok && c->m->guards[region].count)
        ok = check_region_guards(c, region, values_now(c), d);
    ok = ok && run_steps(c, region, d);
    for (int i = 0; ok && i < nresults; i++)
        ok = take_result(c, region, i, &results[i], d);
    c->depth--;
    free_slots(c, &c->m->region_dying[region]);
    for (int i = 0; !ok && i < nargs; i++)
        tensor_free(&args[i]);
    return ok;
}

/* The type of a slot that has no value, with 0 for dims without one. */
static void type_now(struct context *c, int slot, struct type *type)
{
    *type = c->m->p->slots[slot].type;
    for (int i = 0; type->kind == VK_TENSOR && i < type->rank; i++) {
        int64_t n = dim_eval(&c->m->p->dims, c->symbols, type->dims[i]);
        type->dims[i] = n == DIM_NOT_BOUND || n < 0 ? 0 : n;
    }
}

void region_result_type(struct op_env *env, struct op_call *oc, int r, const struct type *params, int nparams,
                        int result, struct type *type)
{
    struct context *c = oc->user;
    const struct program *p = c->m->p;
    const struct call *call = &p->calls[oc - c->calls];
    const struct program_region *region = r < call->nregions ? &p->regions[call->regions[r]] : NULL;
    *type = (struct type){.kind = VK_NONE};
    if (!region || nparams != region->nparams || result >= region->nresults || region->results[result] < 0)
        return;
    int64_t *before = malloc(sizeof *before * ((size_t)p->dims.nsymbols + 1));
    if (!before)
        return;
    memcpy(before, c->symbols, sizeof *before * (size_t)p->dims.nsymbols);
    forget_symbols(c, call->regions[r]);
    for (int i = 0; i < nparams; i++) {
        const struct type *t = region->params[i] >= 0 ? &p->slots[region->params[i]].type : type;
        for (int k = 0; t->kind == VK_TENSOR && params[i].rank == t->rank && k < t->rank; k++) {
            int symbol = dim_as_symbol(&p->dims, t->dims[k]);
            if (symbol >= 0 && p->dims.symbols[symbol].runtime)
                c->symbols[symbol] = params[i].dims[k];
        }
    }
    type_now(c, region->results[result], type);
    memcpy(c->symbols, before, sizeof *before * (size_t)p->dims.nsymbols);
    c->values_stale = true;
    free(before);
}

/* ---- a run ---- */

static bool give_output(struct context *c, int i, struct diag *d)
{
    const struct program *p = c->m->p;
    int s = p->regions[0].results[i];
    int root = slot_root(p, s);
    struct output *o = &c->output[i];
    const struct tensor *t = &c->slots[s];
    if (o->memory && t->data != o->memory) {
        if (t->kind != VK_TENSOR || t->dtype == DT_STR)
            return fail(d, "output '%s' cannot be placed in given memory", p->output_names[i]);
        if (tensor_bytes(t) > o->bytes)
            return fail(d, "output '%s' has %zu bytes, the memory given for it %zu",
                        p->output_names[i], tensor_bytes(t), o->bytes);
        memcpy(o->memory, t->data, tensor_bytes(t));
        o->result = tensor_view(t->dtype, t->rank, t->dims, o->memory);
        return true;
    }
    if (p->slots[root].kind == SLOT_INPUT || p->slots[root].kind == SLOT_CONST) {
        if (!tensor_copy(&o->own, t, d))
            return false;
        t = &o->own;
    }
    o->result = *t;
    o->result.owned = false;
    return true;
}

static void begin_dynamic(struct context *c)
{
    const struct program *p = c->m->p;
    for (int s = 0; s < p->nslots; s++)
        if (p->slots[s].kind == SLOT_DYNAMIC)
            free_slot(c, s);
    memcpy(c->symbols, c->now->symbols, sizeof *c->symbols * (size_t)p->dims.nsymbols);
    c->values_stale = true;
}

bool run_main(struct context *c, struct diag *d)
{
    c->ran = false;
    c->env.d = d;
    c->depth = 0;
    c->guards_due = false;
    if (!bind_inputs(c, d))
        return false;
    if (c->m->has_runtime)
        begin_dynamic(c);
    if ((USED(STATES) && !states_begin(c, d)) || (!c->placed && !place_all(c, d)) || !place_inputs(c, d) ||
        !run_steps(c, 0, d))
        return false;
    for (int i = 0; i < c->m->p->regions[0].nresults; i++)
        if (!give_output(c, i, d))
            return false;
    if (USED(STATES))
        states_end(c);
    c->ran = true;
    return true;
}

bool run_limited(struct context *c, bool (*run)(struct context *c, struct diag *d), struct diag *d)
{
    limits_start(c);
    struct tensor_spares *before = USED(CALLS) && c->m->has_runtime ? tensor_use_spares(&c->spares) : NULL;
    double start = c->profile ? profile_now(c->profile) : 0;
    bool ok = run(c, d) && limits_time(c, d);
    if (ok && c->profile)
        profile_run(c->profile, c->m->p, start);
    if (USED(CALLS) && c->m->has_runtime)
        tensor_use_spares(before);
    limits_end(c);
    return ok;
}
