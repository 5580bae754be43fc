/*
 * kernel_call: the program of a kernel written by hand becomes part of the one being made. Its
 * inputs and outputs are the slots of the call's operands and results, its symbols their sizes; its
 * other slots, its kernels and its calls are added. What it needs to be correct is derived and
 * proven for the kernel alone, before it is linked (backend/schedule/prepare.h).
 */
#include "backend/lower/lower.h"

#include "backend/schedule/prepare.h"
#include "neff/core/kernel_signature.h"
#include "neff/isa/asm.h"

#include <string.h>

struct linker {
    struct lowering *l;
    struct node *n;
    struct program *from;
    struct kernel_signature signature;
    dim_t *with;             /* by the kernel's symbols */
    int32_t *slots, *nodes;  /* by the kernel's numbers: the program's; slots -1: none yet */
};

/* ---- dims ---- */

static dim_t to_dim(struct linker *k, dim_t d)
{
    return dim_translate(&k->l->p->dims, &k->from->dims, d, k->with);
}

static struct affine to_affine(struct linker *k, const struct affine *a)
{
    struct affine out = {.base = to_dim(k, a->base)};
    for (int i = 0; i < a->nterms; i++)
        affine_set(&out, &k->l->p->arena, a->terms[i].var, to_dim(k, a->terms[i].coef));
    return out;
}

static struct type to_type(struct linker *k, const struct type *t)
{
    struct type out = *t;
    for (int i = 0; i < t->rank; i++)
        out.dims[i] = to_dim(k, t->dims[i]);
    return out;
}

/* The kernel's symbols are those of its declaration; every one has a meaning now. */
static bool bind_symbols(struct linker *k)
{
    struct lowering *l = k->l;
    const struct node *n = k->n;
    struct arena *a = &l->p->arena;
    struct type *in = ARENA_ARRAY(a, struct type, n->nin + 1);
    dim_t *by_name = ARENA_ARRAY(a, dim_t, k->signature.dims.nsymbols + 1);
    k->with = ARENA_ARRAY(a, dim_t, k->from->dims.nsymbols + 1);
    for (int i = 0; i < n->nin; i++)
        in[i] = n->in[i] ? outer_value(l, n->in[i])->type : (struct type){.kind = VK_NONE};
    if (!kernel_signature_bind(&k->signature, &l->p->dims, in, n->nin, by_name, a, l->d))
        return false;
    for (int i = 0; i < k->from->dims.nsymbols; i++) {
        const struct dim_symbol *s = &k->from->dims.symbols[i];
        int named = dim_find_symbol(&k->signature.dims, s->name);
        k->with[i] = named >= 0 ? by_name[named] : DIM_NOT_BOUND;
        if (s->runtime || k->with[i] == DIM_NOT_BOUND)
            return fail(l->d, "no operand of kernel '%s' says what size '%s' is",
                        k->signature.kernel, s->name);
    }
    return true;
}

/* ---- slots ---- */

static bool same_types(struct linker *k, const int32_t *slots, int n, const struct type *types,
                       int ntypes)
{
    bool same = n == ntypes;
    for (int i = 0; same && i < n; i++) {
        const char *a = type_text(&k->from->dims, &k->l->p->arena, &k->from->slots[slots[i]].type),
                   *b = type_text(&k->signature.dims, &k->l->p->arena, &types[i]);
        same = !strcmp(a, b);
    }
    return same || fail(k->l->d, "the assembly of kernel '%s' has other operands than it declares",
                        k->signature.kernel);
}

static bool link_operands(struct linker *k)
{
    const struct program_region *main = &k->from->regions[0];
    struct lowering *l = k->l;
    if (!same_types(k, main->params, main->nparams, k->signature.in, k->signature.nin) ||
        !same_types(k, main->results, main->nresults, k->signature.out, k->signature.nout))
        return false;
    for (int i = 0; i < main->nparams + main->nresults; i++) {
        bool result = i >= main->nparams;
        const struct value *v = result ? k->n->out[i - main->nparams] : k->n->in[i];
        if (!has_layout(l, v))
            return fail(l->d, "%s %d of kernel '%s' has no shape that is known before it runs",
                        result ? "result" : "operand", result ? i - main->nparams : i,
                        k->signature.kernel);
    }
    for (int i = 0; i < main->nparams; i++)
        k->slots[main->params[i]] = value_slot(l, k->n->in[i]);
    for (int i = 0; i < main->nresults; i++) {
        int slot = main->results[i];
        if (k->from->slots[slot].kind == SLOT_PLANNED && k->slots[slot] < 0)
            k->slots[slot] = value_slot(l, k->n->out[i]);
    }
    return true;
}

static bool link_constant(struct linker *k, const struct slot *s, int i)
{
    struct tensor t = s->data;
    if (!t.data && tensor_count(&t) > 0)
        return fail(k->l->d, "the assembly of kernel '%s' leaves out the data of constant %%%d",
                    k->signature.kernel, i);
    if (t.dtype == DT_STR)
        return fail(k->l->d, "constant %%%d of kernel '%s' holds strings", i, k->signature.kernel);
    t = tensor_view(t.dtype, t.rank, t.dims,
                    arena_copy(&k->l->p->arena, t.data, tensor_bytes(&t)));
    k->slots[i] = constant_slot(k->l, &t, s->name ? arena_strdup(&k->l->p->arena, s->name) : NULL);
    return true;
}

/* A view of a slot that may itself have become a view: of bytes, where element types differ. */
static bool link_view(struct linker *k, const struct slot *s, int i)
{
    struct program *p = k->l->p;
    struct slot view = *s;
    const struct slot *base = &p->slots[k->slots[s->base]];
    view.type = to_type(k, &s->type);
    view.name = NULL;
    view.offset = to_dim(k, s->offset);
    view.base = k->slots[s->base];
    view.is_output = false;
    if (base->kind == SLOT_VIEW) {
        int64_t have = (int64_t)dtype_bytes(base->type.dtype),
                want = (int64_t)dtype_bytes(view.type.dtype);
        if (have % want)
            return fail(k->l->d, "kernel '%s' sees an operand as elements of another size",
                        k->signature.kernel);
        view.base = base->base;
        view.offset = dim_add(&p->dims, view.offset,
                              dim_mul(&p->dims, base->offset, have / want));
    }
    k->slots[i] = program_add_slot(p, view);
    return true;
}

static bool link_slot(struct linker *k, int i)
{
    const struct slot *s = &k->from->slots[i];
    if (k->slots[i] >= 0)
        return true;
    if (s->kind == SLOT_CONST)
        return link_constant(k, s, i);
    if (s->kind == SLOT_VIEW)
        return link_slot(k, s->base) && link_view(k, s, i);
    if (s->kind != SLOT_PLANNED)
        return fail(k->l->d, "kernel '%s': slot %%%d is no operand, no constant, and of no size "
                    "that is known before it runs", k->signature.kernel, i);
    struct type t = to_type(k, &s->type);
    k->slots[i] = temporary_slot(k->l, &t, s->name ? arena_strdup(&k->l->p->arena, s->name) : NULL);
    return true;
}

/* ---- kernels ---- */

static void link_pattern(struct linker *k, struct ap *a)
{
    struct arena *arena = &k->l->p->arena;
    if (a->mem == MEM_HBM)
        a->tensor = k->slots[a->tensor];
    a->offset = to_affine(k, &a->offset);
    for (int i = 0; i < a->rank; i++) {
        struct ap_dim *d = &a->dim[i];
        d->step = to_dim(k, d->step);
        d->count = to_dim(k, d->count);
        if (!d->clip)
            continue;
        struct ap_clip clip = {d->clip->var, to_dim(k, d->clip->factor), to_dim(k, d->clip->limit)};
        d->clip = arena_copy(arena, &clip, sizeof clip);
    }
}

static void link_insn(struct linker *k, struct kernel *to, const struct insn *from)
{
    struct program *p = k->l->p;
    struct insn *n = kernel_add(p, to, from->op);
    const struct insn_info *info = insn_info(from->op);
    n->engine = from->engine;
    n->nwaits = from->nwaits;
    n->node = from->node >= 0 ? k->nodes[from->node] : -1;
    memcpy(n->signal, from->signal, sizeof n->signal);
    memcpy(n->flt, from->flt, sizeof n->flt);
    memcpy(n->func, from->func, sizeof n->func);
    for (int i = 0; i < info->naps; i++) {
        n->ap[i] = from->ap[i];
        link_pattern(k, &n->ap[i]);
    }
    for (int i = 0; i < info->nimms; i++)
        n->imm[i] = to_affine(k, &from->imm[i]);
    if (from->nwaits)
        n->wait = ARENA_ARRAY(&p->arena, struct sync, MAX_SYNC);
    for (int i = 0; i < from->nwaits; i++)
        n->wait[i] = (struct sync){from->wait[i].semaphore, to_affine(k, &from->wait[i].value)};
}

static void link_kernel(struct linker *k, const struct kernel *from)
{
    struct program *p = k->l->p;
    struct kernel to = *from;
    to.name = arena_strdup(&p->arena, k->from->nkernels > 1 && from->name ? from->name
                                                                          : k->signature.kernel);
    to.insns = NULL, to.ninsns = to.insns_cap = 0;
    to.tiles = ARENA_ARRAY(&p->arena, struct tile, from->ntiles + 1);
    to.tiles_cap = from->ntiles + 1;
    for (int i = 0; i < from->ntiles; i++) {
        to.tiles[i] = from->tiles[i];
        to.tiles[i].partitions = to_dim(k, from->tiles[i].partitions);
        to.tiles[i].elements = to_dim(k, from->tiles[i].elements);
        if (from->tiles[i].name)
            to.tiles[i].name = arena_strdup(&p->arena, from->tiles[i].name);
    }
    for (int i = 0; i < from->ngrid; i++)
        to.grid[i] = to_dim(k, from->grid[i]);
    to.flops = to_dim(k, from->flops);
    to.bytes = to_dim(k, from->bytes);
    for (int i = 0; i < from->ninsns; i++)
        link_insn(k, &to, &from->insns[i]);
    ARENA_GROW(&p->arena, p->kernels, p->nkernels, p->kernels_cap);
    p->kernels[p->nkernels++] = to;
}

/* ---- steps ---- */

static int32_t *link_list(struct linker *k, const int32_t *list, int n)
{
    int32_t *out = ARENA_ARRAY(&k->l->p->arena, int32_t, n + 1);
    for (int i = 0; i < n; i++)
        out[i] = list[i] < 0 ? -1 : k->slots[list[i]];
    return out;
}

static void add_call(struct linker *k, struct call c)
{
    struct program *p = k->l->p;
    ARENA_GROW(&p->arena, p->calls, p->ncalls, p->calls_cap);
    p->calls[p->ncalls] = c;
    program_add_step(p, k->l->region, STEP_CALL, p->ncalls++);
}

static bool link_call(struct linker *k, const struct call *from)
{
    struct call c = *from;
    bool plain = from->nregions == 0;
    for (int i = 0; i < from->attrs.count; i++)
        plain &= from->attrs.list[i].kind < ATTR_TENSOR;
    if (!plain)
        return fail(k->l->d, "kernel '%s' calls operator %s with a region or a constant; a kernel "
                    "consists of tile programs", k->signature.kernel, op_name(from->op));
    c.attrs = attrs_copy(&k->l->p->arena, &from->attrs);
    c.in = link_list(k, from->in, from->nin);
    c.out = link_list(k, from->out, from->nout);
    c.node = from->node >= 0 ? k->nodes[from->node] : -1;
    add_call(k, c);
    return true;
}

static bool link_steps(struct linker *k)
{
    const struct program_region *main = &k->from->regions[0];
    int first = k->l->p->nkernels;
    for (int i = 0; i < k->from->nkernels; i++)
        link_kernel(k, &k->from->kernels[i]);
    for (int i = 0; i < main->nsteps; i++) {
        const struct step *s = &main->steps[i];
        if (s->kind == STEP_LAUNCH)
            program_add_step(k->l->p, k->l->region, STEP_LAUNCH, first + s->index);
        else if (!link_call(k, &k->from->calls[s->index]))
            return false;
    }
    for (int i = 0; i < main->nresults; i++) { /* results that are operands, or one another */
        int32_t *pair = ARENA_ARRAY(&k->l->p->arena, int32_t, 2);
        pair[0] = k->slots[main->results[i]];
        pair[1] = value_slot(k->l, k->n->out[i]);
        if (pair[0] != pair[1])
            add_call(k, (struct call){.op = OP_identity,
                                      .nin = 1,
                                      .nout = 1,
                                      .in = pair,
                                      .out = pair + 1,
                                      .node = program_node_of(k->l, k->n)});
    }
    return true;
}

static void link_guards(struct linker *k)
{
    struct program *p = k->l->p;
    for (int i = 0; i < k->from->nguards; i++) {
        struct guard g = k->from->guards[i];
        g.a = to_dim(k, g.a), g.b = to_dim(k, g.b);
        g.region = k->l->region;
        program_add_guard(p, &g);
    }
}

static void link_nodes(struct linker *k)
{
    const char *call = k->n->name ? k->n->name : "";
    for (int i = 0; i < k->from->nnodes; i++) {
        const struct program_node *n = &k->from->nodes[i];
        const char *name = arena_printf(&k->l->p->arena, "%.300s%s%.300s", call, *call ? "/" : "",
                                        n->name);
        k->nodes[i] = program_add_node(k->l->p, name, n->source);
    }
}

static bool link_program(struct linker *k)
{
    struct arena *a = &k->l->p->arena;
    k->slots = ARENA_ARRAY(a, int32_t, k->from->nslots + 1);
    k->nodes = ARENA_ARRAY(a, int32_t, k->from->nnodes + 1);
    for (int i = 0; i < k->from->nslots; i++)
        k->slots[i] = -1;
    if (!bind_symbols(k) || !link_operands(k))
        return false;
    for (int i = 0; i < k->from->nslots; i++)
        if (!link_slot(k, i))
            return false;
    link_nodes(k);
    link_guards(k);
    return link_steps(k);
}

enum lowered lower_kernel_call(struct lowering *l, struct node *n)
{
    struct linker k = {.l = l, .n = n};
    struct str text = attr_str(&n->attrs, "assembly", "");
    if (!kernel_signature_read(&n->attrs, &l->p->arena, &k.signature, l->d))
        return FAILED;
    k.from = program_parse(text.p, text.n, k.signature.kernel, l->d);
    bool ok = k.from && (prepare_program(k.from, l->m, true, l->d) ||
                         fail_in(l->d, "kernel '%s'", k.signature.kernel)) &&
              link_program(&k);
    program_free(k.from);
    return ok ? LOWERED : FAILED;
}
