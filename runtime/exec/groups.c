/*
 * Large batches, group by group.
 *
 * A layer is computed for a whole batch before the next one, and what it leaves is no longer in cache then: resnet50
 * and mobilenet_v2 take 1.1 and 1.4 times as long an image with batches of 32 as with 1. Where the program says that
 * items of a batch do not meet (dim_symbol.separable), it runs for groups of them instead, whose tensors stay in cache.
 * What a group is depends on sizes alone, not on threads: some products of one row have other bits than those of many.
 * Where there are threads, each computes groups of its own in a context of its own; all work together on those that are
 * left.
 */
#include "neff/base/allocator.h"
#include "neff/base/use.h"
#include "runtime/exec/pool.h"
#include "runtime/exec/state.h"

#include <stdlib.h>
#include <string.h>

static bool begins_with_batch(const struct context *c, int input)
{
    const struct program *p = c->m->p;
    const struct type *t = &p->slots[p->regions[0].params[input]].type;
    return t->kind == VK_TENSOR && t->rank > 0 && dim_as_symbol(&p->dims, t->dims[0]) == c->m->batch;
}

/* Items of the batch; 0 where the inputs are not what the program wants: a run says so. */
static int64_t items_of_inputs(const struct context *c)
{
    int64_t items = 0;
    for (int i = 0; i < c->m->p->regions[0].nparams; i++) {
        const struct tensor *t = &c->input[i];
        if (t->kind != VK_TENSOR)
            return 0;
        if (!begins_with_batch(c, i))
            continue;
        if (t->rank < 1 || t->dtype == DT_STR || !t->data || (items && t->dims[0] != items))
            return 0;
        items = t->dims[0];
    }
    return items;
}

/* Inputs of some items, from the first on. */
static void set_items(struct context *c, const struct batch_groups *g, int64_t first, int64_t items)
{
    c->part = true;
    for (int i = 0; i < c->m->p->regions[0].nparams; i++) {
        c->input[i] = g->inputs[i];
        if (!begins_with_batch(c, i))
            continue;
        c->input[i].dims[0] = items;
        c->input[i].data = (char *)g->inputs[i].data + (int64_t)tensor_bytes(&g->inputs[i]) / g->batch * first;
    }
}

static int64_t constant_bytes(const struct program *p)
{
    int64_t bytes = 0;
    for (int s = 0; s < p->nslots; s++)
        if (p->slots[s].kind == SLOT_CONST)
            bytes += (int64_t)tensor_bytes(&p->slots[s].data);
    return bytes;
}

static void set_all(struct context *c, const struct batch_groups *g)
{
    memcpy(c->input, g->inputs, sizeof *g->inputs * (size_t)c->m->p->regions[0].nparams);
    c->part = false;
}

/*
 * As many items as keep tensors in cache. A group reads all weights once: that must be less than what tensors of the
 * whole batch would move, read and write. Weights count half: they are read in order, ahead of their use. c->now is
 * the plan for one item. 0: the whole batch at once.
 */
static int64_t group_size(const struct context *c, int64_t batch)
{
    if (c->group || c->now->plan.size == 0)
        return c->group < batch ? c->group : 0;
    int64_t most = BATCH_CACHE / c->now->plan.size, weights = constant_bytes(c->m->p), moved = -weights;
    for (int k = 0; k < c->m->p->nkernels; k++)
        moved += c->now->kernels[k] ? c->now->kernels[k]->bytes : 0;
    most = most > 1 ? most : 1;
    return most < batch && weights / (2 * most) < moved + weights / (2 * batch) ? most : 0;
}

static bool make_groups(struct context *c)
{
    const struct program_region *r = &c->m->p->regions[0];
    struct batch_groups *g = calloc(1, sizeof *g);
    c->groups = g;
    if (!g)
        return false;
    g->key = calloc(1, inputs_key_bytes(c) + 1);
    g->inputs = calloc((size_t)r->nparams + 1, sizeof *g->inputs);
    g->memory = calloc((size_t)r->nresults + 1, sizeof *g->memory);
    g->whole = calloc((size_t)r->nresults + 1, sizeof *g->whole);
    for (int i = 0; g->whole && i < r->nresults; i++)
        g->whole[i].kind = VK_NONE;
    return g->key && g->inputs && g->memory && g->whole;
}

/* Groups for the inputs that are set; those of the inputs before, when they are alike. */
static bool find_groups(struct context *c, struct diag *d)
{
    struct diag ignored = {0};
    int64_t items = items_of_inputs(c), size = c->m->p->dims.symbols[c->m->batch].size;
    if (items < 2 || (size && items != size)) {
        if (c->groups)
            c->groups->batch = c->groups->most = 0;
        return true;
    }
    if (!c->groups && !make_groups(c))
        return fail_memory(d, "out of memory");
    struct batch_groups *g = c->groups;
    inputs_key(c, c->key);
    memcpy(g->inputs, c->input, sizeof *g->inputs * (size_t)c->m->p->regions[0].nparams);
    if (g->batch == items && !memcmp(g->key, c->key, inputs_key_bytes(c)))
        return true;
    memcpy(g->key, c->key, inputs_key_bytes(c));
    g->batch = items;
    set_items(c, g, 0, 1);
    g->most = bind_inputs(c, &ignored) ? group_size(c, items) : 0;
    set_all(c, g);
    return true;
}

/* Room for the results of all groups, the first of which, of so many items, is there. */
static bool make_room(struct context *c, const struct batch_groups *g, int output, int64_t items, struct diag *d)
{
    struct output *o = &c->output[output];
    const char *name = c->m->p->output_names[output];
    int64_t dims[MAX_RANK];
    if (o->result.kind != VK_TENSOR || o->result.rank < 1)
        return fail(d, "output '%s' has no first dimension for the items of a batch", name);
    size_t each = tensor_bytes(&o->result) / (size_t)items, bytes;
    memcpy(dims, o->result.dims, sizeof dims);
    if (__builtin_mul_overflow(dims[0] / items, g->batch, &dims[0]) ||
        __builtin_mul_overflow(each, (size_t)g->batch, &bytes))
        return fail(d, "output '%s' is too large", name);
    struct tensor view = tensor_view(o->result.dtype, o->result.rank, dims, g->memory[output]);
    if (!limits_bytes(c, "a tensor needs", bytes, d))
        return fail_in(d, "'%s'", name);
    if (!g->memory[output])
        return tensor_alloc_dirty(&g->whole[output], view.dtype, view.rank, dims, d);
    tensor_free(&g->whole[output]);
    g->whole[output] = view;
    return bytes <= o->bytes ||
           fail(d, "output '%s' has %zu bytes, the memory given for it %zu", name, bytes, o->bytes);
}

/* The results of a group go where they belong. */
static bool take_results(const struct context *c, const struct batch_groups *g, int64_t first, int64_t items,
                         struct diag *d)
{
    for (int i = 0; i < c->m->p->regions[0].nresults; i++) {
        const struct tensor *part = &c->output[i].result, *whole = &g->whole[i];
        int64_t each = whole->dims[0] / g->batch;
        bool fits = part->rank == whole->rank && part->dtype == whole->dtype && part->dims[0] == each * items;
        for (int k = 1; fits && k < part->rank; k++)
            fits = whole->dims[k] == part->dims[k];
        if (!fits)
            return fail(d, "output '%s' is not made of the items of a batch, as the archive says",
                        c->m->p->output_names[i]);
        memcpy((char *)whole->data + (int64_t)tensor_bytes(whole) / g->batch * first, part->data, tensor_bytes(part));
    }
    return true;
}

/* Groups of one size, or of two that differ by an item. */
struct batch_group {
    int64_t first, items;
};

static int64_t group_count(int64_t batch, int64_t most)
{
    return batch / most + (batch % most != 0);
}

static struct batch_group group_at(int64_t batch, int64_t most, int64_t i)
{
    int64_t count = group_count(batch, most), each = batch / count, larger = batch % count;
    return (struct batch_group){i * each + (i < larger ? i : larger), each + (i < larger)};
}

static bool run_group(struct context *c, const struct batch_groups *g, int64_t i, struct diag *d)
{
    struct batch_group r = group_at(g->batch, g->most, i);
    set_items(c, g, r.first, r.items);
    if (!run_main(c, d))
        return false;
    for (int k = 0; i == 0 && k < c->m->p->regions[0].nresults; k++)
        if (!make_room(c, g, k, r.items, d))
            return false;
    return take_results(c, g, r.first, r.items, d);
}

/* ---- groups side by side ---- */

static bool make_alone(struct context *c, struct batch_groups *g, struct diag *d)
{
    if (!g->alone && !(g->alone = calloc((size_t)c->threads + 1, sizeof(struct context *))))
        return fail_memory(d, "out of memory");
    for (int t = 0; t < c->threads; t++) {
        if (!g->alone[t] && !(g->alone[t] = context_make(c->m, 1, NULL, d)))
            return false;
        g->alone[t]->limits = (struct run_limits){.bytes = c->limits.bytes};
        g->alone[t]->env.max_bytes = c->limits.bytes;
        g->alone[t]->bf16_rate = c->bf16_rate;
    }
    return true;
}

struct side_by_side {
    struct context *c;
    const struct batch_groups *g;
    atomic_llong next; /* group */
    int64_t end;
    atomic_bool failed;
    struct diag d; /* of the first that failed */
};

static void work_alone(void *arg, int worker)
{
    struct side_by_side *w = arg;
    struct context *c = w->g->alone[worker];
    struct tensor_spares *before = c->m->has_runtime ? tensor_use_spares(&c->spares) : NULL;
    struct diag d = {0};
    for (int64_t i; !atomic_load(&w->failed) && (i = atomic_fetch_add(&w->next, 1)) < w->end;) {
        const char *why = stop_now(&w->c->stop);
        c->steps_left = INT64_MAX;
        if ((why ? fail(&d, "%s", why) : run_group(c, w->g, i, &d)) || atomic_exchange(&w->failed, true))
            continue;
        w->d = d;
    }
    if (c->m->has_runtime)
        tensor_use_spares(before);
}

static bool has_callers_memory(void)
{
    struct heap *heap = mem_use(NULL);
    mem_use(heap);
    return heap != NULL;
}

/* How many groups from the second on are computed so: as many as give every thread equally many. Profiles are of one
 * context; memory of the caller's is for one. */
static int64_t side_by_side_count(const struct context *c, int64_t count)
{
    bool can = c->pool && c->threads > 1 && !c->profile && !has_callers_memory();
    return can ? (count - 1) / c->threads * c->threads : 0;
}

/* Before `many` more of them, after one that began with `steps` left. */
static bool steps_for(struct context *c, int64_t steps, int64_t many, struct diag *d)
{
    int64_t n;
    return limits_steps(c, __builtin_mul_overflow(steps - c->steps_left, many, &n) ? INT64_MAX : n, d);
}

static bool run_each(struct context *c, struct batch_groups *g, struct diag *d)
{
    int64_t count = group_count(g->batch, g->most), many = side_by_side_count(c, count), steps = c->steps_left;
    if (!run_group(c, g, 0, d))
        return false;
    if (many && (!make_alone(c, g, d) || !steps_for(c, steps, many, d)))
        return false;
    struct side_by_side w = {.c = c, .g = g, .next = 1, .end = 1 + many};
    if (many)
        pool_run(c->pool, c->threads, work_alone, &w);
    if (w.failed) {
        w.d.warn = d->warn, w.d.user = d->user, w.d.warnings += d->warnings;
        *d = w.d;
        return false;
    }
    for (int64_t i = 1 + many; i < count; i++)
        if (!run_group(c, g, i, d))
            return false;
    return true;
}

static bool run_groups(struct context *c, struct batch_groups *g, struct diag *d)
{
    const struct program_region *r = &c->m->p->regions[0];
    for (int i = 0; i < r->nresults; i++) {
        g->memory[i] = c->output[i].memory;
        c->placed &= !g->memory[i];
        c->output[i].memory = NULL;
    }
    bool ok = run_each(c, g, d);
    set_all(c, g);
    for (int i = 0; i < r->nresults; i++) {
        c->output[i].memory = g->memory[i];
        if (ok) {
            c->output[i].result = g->whole[i];
            c->output[i].result.owned = false;
        }
    }
    c->ran = ok;
    return ok;
}

void context_set_group(struct context *c, int64_t items)
{
    c->group = items;
}

/* Not where the batch has one size and callers gave the memory: what xrt_context_size measures is a whole run. */
static bool makes_groups(const struct context *c)
{
    return c->m->batch >= 0 && !c->m->engine_threads &&
           !(c->m->p->dims.symbols[c->m->batch].size && has_callers_memory());
}

bool bind_group_ahead(struct context *c)
{
    int64_t batch = makes_groups(c) ? c->m->p->dims.symbols[c->m->batch].size : 0;
    if (!batch)
        return bind_ahead(c, 0);
    c->part = true;
    if (!bind_ahead(c, 1))
        return false;
    int64_t most = group_size(c, batch);
    c->part = most > 0;
    return bind_ahead(c, most ? group_at(batch, most, 0).items : 0);
}

/* The main program, for a large batch group by group where its parts may be computed alone. */
static bool run_batch(struct context *c, struct diag *d)
{
    if (!makes_groups(c) || c->states || c->seen)
        return run_main(c, d);
    if (!find_groups(c, d))
        return false;
    return c->groups && c->groups->most ? run_groups(c, c->groups, d) : run_main(c, d);
}

bool context_run(struct context *c, struct diag *d)
{
    return run_limited(c, USED(GROUPS) ? run_batch : run_main, d);
}
