/*
 * From input shapes to a bound plan: symbols, sizes, places in the arena, kernels in plain
 * integers.
 *
 * A context keeps the plans of the last few sets of shapes, so that alternating between them costs
 * a comparison.
 */
#include "neff/base/use.h"
#include "runtime/exec/memory.h"
#include "runtime/exec/quick.h"
#include "runtime/exec/state.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_PER_INPUT = 2 + MAX_RANK };

size_t inputs_key_bytes(const struct context *c)
{
    return sizeof(int64_t) * KEY_PER_INPUT * (size_t)c->m->p->regions[0].nparams;
}

void inputs_key(const struct context *c, int64_t *key)
{
    for (int i = 0; i < c->m->p->regions[0].nparams; i++, key += KEY_PER_INPUT) {
        const struct tensor *t = &c->input[i];
        key[0] = c->part << 16 | t->kind << 8 | t->dtype;
        key[1] = t->rank;
        for (int j = 0; j < MAX_RANK; j++)
            key[2 + j] = j < t->rank ? t->dims[j] : 0;
    }
}

static bool wrong_input(const struct program *p, const struct slot *s, const struct tensor *t,
                        struct diag *d)
{
    struct arena scratch = {0};
    struct type expected = type_given(&p->dims, &s->type);
    char got[256];
    fail(d, "input '%s' is %s, expected %s", s->name, tensor_type_text(t, got, sizeof got),
         type_text(&p->dims, &scratch, &expected));
    arena_free(&scratch);
    return false;
}

/* Whether inputs may have that dim. Parts of a batch (groups.c) have fewer items than the batch. */
static bool is_given(const struct context *c, int symbol, int64_t dim)
{
    int64_t size = symbol < 0 ? 0 : c->m->p->dims.symbols[symbol].size;
    return !size || dim == size || (c->part && symbol == c->m->batch && dim < size);
}

static bool bind_symbols(const struct context *c, int64_t *symbols, struct diag *d)
{
    const struct program *p = c->m->p;
    for (int i = 0; i < p->regions[0].nparams; i++) {
        const struct slot *s = &p->slots[p->regions[0].params[i]];
        const struct tensor *t = &c->input[i];
        if (s->type.kind != VK_TENSOR) {
            if (t->kind != s->type.kind && s->type.kind != VK_OPTIONAL)
                return wrong_input(p, s, t, d);
            continue;
        }
        if (t->kind == VK_NONE)
            return fail(d, "input '%s' is not set", s->name);
        if (t->kind != VK_TENSOR || t->dtype != s->type.dtype ||
            (s->type.rank >= 0 && t->rank != s->type.rank))
            return wrong_input(p, s, t, d);
        for (int j = 0; j < s->type.rank; j++) {
            int symbol = dim_as_symbol(&p->dims, s->type.dims[j]);
            if ((dim_is_const(s->type.dims[j]) && t->dims[j] != s->type.dims[j]) || !is_given(c, symbol, t->dims[j]))
                return wrong_input(p, s, t, d);
            if (symbol >= 0 && symbols[symbol] == DIM_NOT_BOUND)
                symbols[symbol] = t->dims[j];
        }
    }
    for (int i = 0; i < p->dims.nsymbols; i++)
        if (p->dims.symbols[i].max && symbols[i] != DIM_NOT_BOUND &&
            symbols[i] > p->dims.symbols[i].max)
            return fail(d, "dimension '%s' is %lld, this model takes %lld at most",
                        p->dims.symbols[i].name, (long long)symbols[i],
                        (long long)p->dims.symbols[i].max);
    return true;
}

/* After the symbols are known: every input's dims are what its type says. */
static bool check_inputs(const struct context *c, const struct bound *b, struct diag *d)
{
    const struct program *p = c->m->p;
    for (int i = 0; i < p->regions[0].nparams; i++) {
        const struct slot *s = &p->slots[p->regions[0].params[i]];
        const struct tensor *t = &c->input[i];
        for (int j = 0; s->type.kind == VK_TENSOR && j < s->type.rank; j++) {
            int64_t v = dim_value(b->values, s->type.dims[j]);
            if (v == t->dims[j])
                continue;
            wrong_input(p, s, t, d);
            struct arena scratch = {0};
            if (v != DIM_NOT_BOUND)
                fail_in(d, "dimension %d, '%s', is %lld in this call", j,
                        dim_text(&p->dims, &scratch, s->type.dims[j]), (long long)v);
            arena_free(&scratch);
            return false;
        }
    }
    return true;
}

/* ---- calls ---- */

struct shape_query {
    const struct context *c;
    const struct call *call;
    bool asked; /* for contents that only running tells */
};

static struct content read_constant(struct infer *f, int i)
{
    struct shape_query *q = f->user;
    int slot = q->call->in[i];
    if (slot >= 0 && q->c->m->p->slots[slot].kind == SLOT_CONST)
        return content_of_tensor(f->arena, &q->c->m->p->slots[slot].data);
    q->asked = true;
    return (struct content){NULL, -1};
}

static const struct tensor *constant_operand(struct infer *f, int i)
{
    struct shape_query *q = f->user;
    int slot = q->call->in[i];
    if (slot >= 0 && q->c->m->p->slots[slot].kind == SLOT_CONST)
        return &q->c->m->p->slots[slot].data;
    q->asked = true;
    return NULL;
}

static bool no_region(struct infer *f, int region, const struct type *params, int nparams,
                      struct type *results, int max_results, int *nresults)
{
    return fail(f->d, "regions are run");
}

static int root_kind(const struct context *c, int slot)
{
    return c->m->p->slots[slot_root(c->m->p, slot)].kind;
}

/* Whether the operator's shape rule gives the planned results' shapes without reading contents that
   may change between runs. Then the routine alone is run; otherwise op_run checks every time. */
static bool call_is_checked(const struct context *c, const struct bound *b, const struct call *call)
{
    if (op_info(call->op)->flags & OPF_DATA_DEPENDENT || call->nregions)
        return false;
    for (int i = 0; i < call->nin; i++)
        if (call->in[i] >= 0 && (b->types[call->in[i]].kind != VK_TENSOR ||
                                 root_kind(c, call->in[i]) == SLOT_DYNAMIC)) /* may be missing */
            return false;
    for (int i = 0; i < call->nout; i++)
        if (call->out[i] >= 0 && (b->types[call->out[i]].kind != VK_TENSOR ||
                                  root_kind(c, call->out[i]) != SLOT_PLANNED))
            return false;
    struct arena scratch = {0};
    struct dim_table dims;
    struct diag ignored = {0};
    dim_table_init(&dims, &scratch);
    struct type *types = ARENA_ARRAY(&scratch, struct type, call->nin + call->nout + 1);
    struct type *out = types + call->nin;
    for (int i = 0; i < call->nin; i++) {
        types[i].kind = VK_NONE;
        if (call->in[i] >= 0)
            types[i] = type_tensor(b->types[call->in[i]].dtype, b->types[call->in[i]].rank,
                                   b->types[call->in[i]].dims);
    }
    for (int i = 0; i < call->nout; i++)
        out[i].kind = VK_NONE;
    struct shape_query q = {c, call, false};
    struct infer f = {.op = call->op,
                      .attrs = &call->attrs,
                      .dims = &dims,
                      .arena = &scratch,
                      .d = &ignored,
                      .concrete = true,
                      .nin = call->nin,
                      .nout = call->nout,
                      .in = types,
                      .out = out,
                      .read = read_constant,
                      .constant = constant_operand,
                      .region = no_region,
                      .user = &q};
    bool same = infer_run(&f) && !q.asked;
    for (int i = 0; same && i < call->nout; i++) {
        if (call->out[i] < 0)
            continue;
        const struct tensor *t = &b->types[call->out[i]];
        same = out[i].kind == VK_TENSOR && out[i].dtype == t->dtype && out[i].rank == t->rank;
        for (int j = 0; same && j < t->rank; j++)
            same = out[i].dims[j] == t->dims[j];
    }
    arena_free(&scratch);
    return same;
}

/* ---- plans ---- */

static bool bind_kernels(struct context *c, struct bound *b, struct diag *d)
{
    const struct program *p = c->m->p;
    b->kernels = ARENA_ARRAY(&b->arena, struct bound_kernel *, p->nkernels + 1);
    for (int k = 0; k < p->nkernels; k++) {
        if (c->m->kernel_runtime[k])
            continue;
        struct bound_kernel *bk = bind_kernel(c->m, &p->kernels[k], b->values,
                                              kernels_get()->lanes, &b->arena, d);
        if (!bk)
            return false;
        b->kernels[k] = bk;
        if (bk->tile_bytes > b->tile_bytes)
            b->tile_bytes = bk->tile_bytes;
        if (bk->scratch_bytes > b->scratch_bytes)
            b->scratch_bytes = bk->scratch_bytes;
    }
    return true;
}

static bool fill_bound(struct context *c, struct bound *b, struct diag *d)
{
    const struct program *p = c->m->p;
    struct arena scratch = {0};
    b->types = ARENA_ARRAY(&b->arena, struct tensor, p->nslots + 1);
    b->symbols = ARENA_ARRAY(&b->arena, int64_t, p->dims.nsymbols + 1);
    b->values = ARENA_ARRAY(&b->arena, int64_t, p->dims.nnodes + 1);
    for (int i = 0; i < p->dims.nsymbols; i++)
        b->symbols[i] = DIM_NOT_BOUND;
    if (!bind_symbols(c, b->symbols, d))
        return false;
    dim_eval_with(&p->dims, b->symbols, c->capacities, c->states ? p->nstates : 0, b->values);
    int64_t *sizes = ARENA_ARRAY(&scratch, int64_t, p->nslots + 1);
    bool ok = check_inputs(c, b, d) && check_input_guards(p, b->values, d) && states_fit(c, b->values, d) &&
              size_slots(c->m, b, sizes, d);
    if (ok) {
        plan_memory(p, b->values, sizes, &b->arena, &b->plan);
        ok = bind_kernels(c, b, d);
    }
    b->call_checked = ARENA_ARRAY(&b->arena, bool, p->ncalls + 1);
    for (int i = 0; USED(CALLS) && ok && i < p->ncalls; i++)
        b->call_checked[i] = call_is_checked(c, b, &p->calls[i]);
    if (ok && USED(CONTROL)) {
        plan_control(c, b);
        plan_quick(c, b);
        plan_loops(c, b);
    }
    arena_free(&scratch);
    return ok;
}

void bound_free(struct bound *b)
{
    if (!b)
        return;
    arena_free(&b->arena);
    free(b);
}

/* A place for a new plan: a free one, or that of the plan not used for longest. */
static struct bound **oldest(struct context *c)
{
    struct bound **min = &c->bound[0];
    if (c->nbound < MAX_BOUND)
        return &c->bound[c->nbound++];
    for (int i = 1; i < c->nbound; i++)
        if (c->bound[i]->used < (*min)->used)
            min = &c->bound[i];
    bound_free(*min);
    return min;
}

static bool reserve_memory(struct context *c, const struct bound *b, struct diag *d)
{
    size_t need = (size_t)b->plan.size, all = need;
    for (int s = 0; s < c->m->p->nslots; s++)
        if (c->m->p->slots[s].kind == SLOT_PLANNED && b->plan.offsets[s] < 0)
            all += tensor_bytes(&b->types[s]);
    if (!limits_bytes(c, "this model's tensors need", all, d))
        return false;
    if (need <= c->memory_bytes)
        return true;
    large_free(c->memory, c->memory_bytes);
    c->memory_bytes = c->memory_ready = 0;
    c->memory = large_room(need, &c->memory_bytes); /* its pages come with the first run: place_all */
    if (!c->memory)
        return fail_memory(d, "out of memory: this model's tensors need %zu bytes for these shapes", need);
    return true;
}

static bool use_bound(struct context *c, struct bound *b, struct diag *d)
{
    c->now = NULL;
    if (!reserve_memory(c, b, d) || !workers_reserve(c, b->tile_bytes, b->scratch_bytes, d))
        return false;
    c->now = b;
    c->placed = false;
    return true;
}

/* A plan to be filled: with the memory of the one that was planned ahead, when that was for other
 * shapes. */
static struct bound *new_bound(struct context *c)
{
    struct bound *b = calloc(1, sizeof *b);
    if (b && c->guessed && c->clock == 1) {
        b->arena = c->bound[0]->arena;
        arena_clear(&b->arena);
        free(c->bound[0]);
        c->nbound = 0;
        c->now = NULL;
        c->guessed = false;
    }
    return b;
}

void forget_plans(struct context *c)
{
    for (int i = 0; i < c->nbound; i++)
        bound_free(c->bound[i]);
    c->nbound = 0;
    c->now = NULL;
    c->placed = c->guessed = c->ran = false;
    for (int k = 0; c->cache && k < c->m->p->nkernels; k++) {
        c->cache[k].bound = NULL; /* it lies in the arena */
        arena_free(&c->cache[k].arena);
    }
}

bool bind_inputs(struct context *c, struct diag *d)
{
    size_t key_bytes = inputs_key_bytes(c);
    inputs_key(c, c->key);
    if (c->now && !memcmp(c->now->key, c->key, key_bytes)) {
        c->now->used = ++c->clock;
        return true;
    }
    for (int i = 0; i < c->nbound; i++)
        if (!memcmp(c->bound[i]->key, c->key, key_bytes)) {
            c->bound[i]->used = ++c->clock;
            return use_bound(c, c->bound[i], d);
        }
    struct bound *b = new_bound(c);
    if (!b)
        return fail_memory(d, "out of memory");
    b->key = arena_copy(&b->arena, c->key, key_bytes);
    b->used = ++c->clock;
    if (!fill_bound(c, b, d)) {
        bound_free(b);
        return false;
    }
    c->now = NULL; /* may be the one that makes room */
    *oldest(c) = b;
    return use_bound(c, b, d);
}

/* Inputs as their types say, without values, open dimensions being 1; false when a type leaves more
 * than these open. */
static bool expected_inputs(struct context *c, int64_t items)
{
    const struct program *p = c->m->p;
    const struct program_region *r = &p->regions[0];
    for (int i = 0; i < p->dims.nsymbols; i++)
        c->symbols[i] = p->dims.symbols[i].runtime   ? DIM_NOT_BOUND
                        : items && i == c->m->batch ? items
                                                    : pinned_value(p, i, 1);
    for (int i = 0; i < r->nparams; i++) {
        const struct type *t = &p->slots[r->params[i]].type;
        int64_t dims[MAX_RANK];
        if (t->kind != VK_TENSOR || t->rank < 0)
            return false;
        for (int j = 0; j < t->rank; j++) {
            dims[j] = dim_eval(&p->dims, c->symbols, t->dims[j]);
            c->guessed |= !dim_is_const(t->dims[j]);
        }
        c->input[i] = tensor_view(t->dtype, t->rank, dims, NULL);
    }
    return true;
}

bool bind_ahead(struct context *c, int64_t items)
{
    struct diag ignored = {0}; /* the first run meets the same and reports it */
    c->guessed = false;
    if (expected_inputs(c, items) && bind_inputs(c, &ignored))
        return true;
    c->guessed = false;
    return false;
}
