/*
 * Programs of archives, field by field: what instructions touch, count, clip and wait for; indices and bounds of
 * gathers and scatters; tiles, grids; calls' operators, operands and attributes; slots, views, states, guards; the
 * contents of constants; code of the user's own. The archive around them is written anew, so that it is whole and of
 * the right hash.
 */
#include "neff/archive/archive.h"
#include "test/fuzz/mutate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct change {
    struct program *p;
    uint64_t *seed;
};

static size_t below(struct change *c, int64_t n)
{
    return n > 0 ? mutate_below(c->seed, (size_t)n) : 0;
}

/* A number near this one, or one that is often wrong. */
static int64_t number(struct change *c, int64_t old)
{
    uint64_t bits = (uint64_t)old;
    switch (below(c, 6)) {
    case 0:
        return (int64_t)(bits + 1);
    case 1:
        return (int64_t)(bits - 1);
    case 2:
        return (int64_t)(bits * 2);
    case 3:
        return (int64_t)(0 - bits);
    case 4:
        return (int64_t)(UINT64_C(1) << below(c, 62)) - (int64_t)below(c, 2);
    default:
        return mutate_value(c->seed);
    }
}

static int small(struct change *c, int old, int min, int end)
{
    if (end <= min)
        return old;
    return below(c, 2) ? min + (int)below(c, end - min) : old + 1 < end ? old + 1 : min;
}

static void mutate_dim(struct change *c, dim_t *d)
{
    static const int64_t max = INT64_MAX / 4; /* of streams */
    if (c->p->dims.nnodes && below(c, 3) == 0) {
        *d = INT64_MIN + (int64_t)below(c, c->p->dims.nnodes);
        return;
    }
    int64_t v = number(c, dim_is_const(*d) && *d < max && *d > -max ? *d : 1);
    *d = v > max ? max : v < -max ? -max : v;
}

static void mutate_affine(struct change *c, struct affine *a, int nvars)
{
    if (!nvars || below(c, 2)) {
        mutate_dim(c, &a->base);
        return;
    }
    int var = (int)below(c, nvars);
    dim_t coef = affine_coef(a, var);
    mutate_dim(c, &coef);
    affine_set(a, &c->p->arena, var, coef);
}

static void mutate_clip(struct change *c, struct ap_dim *dim, int nvars)
{
    struct ap_clip clip = dim->clip ? *dim->clip : (struct ap_clip){.factor = 1, .limit = 4};
    size_t what = below(c, 4);
    if (what == 0 || !nvars) {
        dim->clip = NULL;
        return;
    }
    if (what == 1 || !dim->clip)
        clip.var = (int32_t)below(c, nvars);
    mutate_dim(c, what == 2 ? &clip.factor : &clip.limit);
    dim->clip = arena_copy(&c->p->arena, &clip, sizeof clip);
}

/* The same elements again and again: nothing that the pattern touches tells how often. */
static void mutate_repeats(struct change *c, struct ap *ap)
{
    for (int i = 0; i < MAX_AP_RANK; i++) {
        struct ap_dim *dim = &ap->dim[i];
        if (i < ap->rank && (below(c, 2) || !dim_is_const(dim->count)))
            continue;
        dim->clip = NULL;
        dim->step = (int64_t)below(c, 3) - 1;
        dim->count = INT64_C(1) << below(c, 31);
        ap->rank = i < ap->rank ? ap->rank : (uint8_t)(i + 1);
        if (below(c, 2))
            break;
    }
}

static void mutate_ap(struct change *c, struct ap *ap, const struct kernel *k)
{
    int rank = ap->rank ? ap->rank : 1;
    struct ap_dim *dim = &ap->dim[below(c, rank)];
    switch (below(c, 10)) {
    case 9:
        mutate_repeats(c, ap);
        break;
    case 0:
        ap->mem = (uint8_t)below(c, MEM_PSUM + 1);
        break;
    case 1:
        ap->dtype = (uint8_t)(1 + below(c, DT_END - 1));
        break;
    case 2:
        ap->rank = (uint8_t)(1 + below(c, MAX_AP_RANK));
        break;
    case 3:
        ap->tensor = (int32_t)below(c, ap->mem == MEM_HBM ? c->p->nslots : k->ntiles);
        break;
    case 4:
        mutate_affine(c, &ap->offset, k->nvars);
        break;
    case 5:
        mutate_dim(c, &dim->step);
        break;
    case 6:
        mutate_dim(c, &dim->count);
        break;
    default:
        mutate_clip(c, dim, k->nvars);
    }
}

/* Another instruction at its place, with the operands that it has and copies of them. */
static void mutate_opcode(struct change *c, struct insn *n)
{
    const struct insn_info *old = insn_info(n->op);
    enum opcode op = (enum opcode)below(c, INSN_COUNT);
    const struct insn_info *now = insn_info(op);
    if (!old->naps || !now->naps)
        return;
    struct ap *ap = ARENA_ARRAY(&c->p->arena, struct ap, now->naps);
    struct affine *imm = ARENA_ARRAY(&c->p->arena, struct affine, now->nimms);
    for (int i = 0; i < now->naps; i++)
        ap[i] = n->ap[i < old->naps ? i : 0];
    for (int i = 0; i < now->nimms && i < old->nimms; i++)
        imm[i] = n->imm[i];
    n->op = (uint8_t)op, n->engine = now->engine;
    n->ap = ap, n->imm = imm;
}

static void mutate_sync(struct change *c, struct insn *n, const struct kernel *k)
{
    if (n->nwaits && below(c, 2)) {
        mutate_affine(c, &n->wait[below(c, n->nwaits)].value, k->nvars);
        return;
    }
    n->signal[below(c, 2)] = (int16_t)((int)below(c, k->nsemaphores + 1) - 1);
}

static void mutate_insn(struct change *c, struct insn *n, struct kernel *k)
{
    const struct insn_info *info = insn_info(n->op);
    static const float floats[] = {0, -0.0f, 1, -1, 1e30f, -1e30f, INFINITY, NAN, 1e-40f};
    size_t what = below(c, 16);
    if (what < 8 && info->naps)
        mutate_ap(c, &n->ap[below(c, info->naps)], k);
    else if (what < 11 && info->nimms)
        mutate_affine(c, &n->imm[below(c, info->nimms)], k->nvars);
    else if (what == 11 && info->nfloats)
        n->flt[below(c, info->nfloats)] = floats[below(c, sizeof floats / sizeof *floats)];
    else if (what == 12 && info->nfuncs)
        n->func[below(c, info->nfuncs)] = (uint16_t)below(c, OP_COUNT);
    else if (what == 13)
        mutate_opcode(c, n);
    else if (what == 14)
        mutate_sync(c, n, k);
    else if (info->naps > 1)
        n->ap[below(c, info->naps)] = n->ap[below(c, info->naps)];
}

static void mutate_tile(struct change *c, struct tile *t)
{
    switch (below(c, 5)) {
    case 0:
        t->mem = (uint8_t)(MEM_SBUF + below(c, 2));
        break;
    case 1:
        t->dtype = (uint8_t)(1 + below(c, DT_END - 1));
        break;
    case 2:
        t->address = number(c, t->address);
        break;
    default:
        mutate_dim(c, below(c, 2) ? &t->partitions : &t->elements);
    }
}

static void mutate_kernel(struct change *c)
{
    struct kernel *k = &c->p->kernels[below(c, c->p->nkernels)];
    if (!c->p->nkernels)
        return;
    size_t what = below(c, 12);
    if (what == 0 && k->ngrid)
        mutate_dim(c, &k->grid[below(c, k->ngrid)]);
    else if (what <= 2 && k->ntiles)
        mutate_tile(c, &k->tiles[below(c, k->ntiles)]);
    else if (what == 3 && k->ninsns > 1) { /* two change places */
        struct insn *a = &k->insns[below(c, k->ninsns)], *b = &k->insns[below(c, k->ninsns)], n = *a;
        *a = *b, *b = n;
    } else if (what == 4)
        k->nsemaphores = small(c, k->nsemaphores, 0, 9);
    else if (k->ninsns)
        mutate_insn(c, &k->insns[below(c, k->ninsns)], k);
}

static void mutate_type(struct change *c, struct type *t)
{
    switch (below(c, 6)) {
    case 0:
        t->dtype = (uint8_t)(1 + below(c, DT_END - 1));
        break;
    case 1:
        t->rank = (int8_t)((int)below(c, MAX_RANK + 2) - 1);
        break;
    case 2:
        t->kind = below(c, 4) ? VK_TENSOR : VK_NONE;
        break;
    default:
        mutate_dim(c, &t->dims[below(c, t->rank > 0 ? t->rank : 1)]);
    }
}

/* What a constant has: indices, lengths, bounds of loops. */
static void mutate_constant(struct change *c, struct slot *s)
{
    size_t bytes = s->data.data && s->data.dtype != DT_STR ? tensor_bytes(&s->data) : 0;
    if (!bytes)
        return;
    s->data.data = arena_copy(&c->p->arena, s->data.data, bytes);
    size_t size = dtype_bytes(s->data.dtype), i = below(c, (int64_t)(bytes / size));
    int64_t v = number(c, (int64_t)below(c, 9));
    uint8_t *at = (uint8_t *)s->data.data + i * size;
    if (s->data.dtype == DT_BOOL || s->data.dtype == DT_I64 || s->data.dtype == DT_I32 || below(c, 2))
        memcpy(at, &v, size < sizeof v ? size : sizeof v);
    else
        dtype_store_i64(s->data.dtype, s->data.data, i, v);
}

static void mutate_slot(struct change *c)
{
    struct slot *s = &c->p->slots[below(c, c->p->nslots)];
    if (!c->p->nslots)
        return;
    for (int i = 0; i < 4 && s->kind != SLOT_CONST && below(c, 2); i++)
        s = &c->p->slots[below(c, c->p->nslots)];
    if (s->kind == SLOT_CONST && below(c, 4)) {
        mutate_constant(c, s);
        return;
    }
    switch (below(c, 8)) {
    case 0:
        s->kind = (uint8_t)below(c, SLOT_KINDS);
        s->data = s->kind == SLOT_CONST ? s->data : (struct tensor){0};
        break;
    case 1:
        s->has_range = true, s->low = number(c, s->low);
        mutate_dim(c, &s->high);
        break;
    case 2:
        if (below(c, 2))
            s->is_output = !s->is_output;
        else
            s->donated = !s->donated;
        break;
    case 3:
        s->base = (int32_t)below(c, c->p->nslots);
        break;
    case 4:
        mutate_dim(c, &s->offset);
        break;
    default:
        if (s->kind != SLOT_CONST)
            mutate_type(c, &s->type);
    }
}

static void mutate_attr(struct change *c, struct attr *a)
{
    switch (a->kind) {
    case ATTR_INT:
        a->i = number(c, a->i);
        break;
    case ATTR_FLOAT:
        a->f = below(c, 2) ? (double)number(c, 1) : (double)NAN;
        break;
    case ATTR_INTS: {
        int64_t *list = ARENA_ARRAY(&c->p->arena, int64_t, a->count + 1);
        memcpy(list, a->ints, sizeof *list * (size_t)a->count);
        size_t i = below(c, a->count + 1);
        list[i] = number(c, list[i]);
        a->count = below(c, 4) ? a->count : small(c, a->count, 0, a->count + 2);
        a->ints = list;
        break;
    }
    case ATTR_STR: /* a word: shorter, or another letter */
        if (a->s.n && below(c, 2)) {
            char *text = arena_copy(&c->p->arena, a->s.p, a->s.n);
            text[below(c, (int64_t)a->s.n)] = (char)mutate_below(c->seed, 256);
            a->s.p = text;
        } else {
            a->s.n = below(c, (int64_t)a->s.n + 1);
        }
        break;
    case ATTR_TYPE: {
        struct type *t = arena_copy(&c->p->arena, a->type, sizeof *t);
        mutate_type(c, t);
        a->type = t;
        break;
    }
    default:
        break;
    }
}

static void mutate_call(struct change *c)
{
    struct call *k = &c->p->calls[below(c, c->p->ncalls)];
    if (!c->p->ncalls)
        return;
    int32_t slot = (int32_t)below(c, c->p->nslots + 1) - 1;
    switch (below(c, 10)) {
    case 0:
        k->op = (enum op)below(c, OP_COUNT);
        break;
    case 1:
    case 2:
        if (k->nin)
            k->in[below(c, k->nin)] = slot;
        break;
    case 3:
        if (k->nout)
            k->out[below(c, k->nout)] = slot;
        break;
    case 4:
        if (below(c, 2))
            k->nin -= k->nin > 0;
        else
            k->nout -= k->nout > 0;
        break;
    case 5:
        if (k->nregions)
            k->regions[below(c, k->nregions)] = (int32_t)below(c, c->p->nregions);
        break;
    case 6:
        k->attrs.count -= k->attrs.count > 0;
        break;
    default:
        if (k->attrs.count)
            mutate_attr(c, &k->attrs.list[below(c, k->attrs.count)]);
    }
}

/* Which processors launch it: all, none, or those below or from one rate. */
static void mutate_rates(struct change *c, struct step *s)
{
    static const int16_t rates[] = {0, 1, 100, 141, 200, MAX_BF16_RATE};
    int16_t *rate = below(c, 2) ? &s->bf16_from : &s->bf16_below;
    *rate = below(c, 8) ? rates[below(c, sizeof rates / sizeof *rates)] : (int16_t)number(c, *rate);
}

static void mutate_region(struct change *c)
{
    struct program_region *r = &c->p->regions[below(c, c->p->nregions)];
    int32_t slot = (int32_t)below(c, c->p->nslots);
    size_t what = below(c, 5);
    if (what == 0 && r->nparams)
        r->params[below(c, r->nparams)] = slot;
    else if (what == 1 && r->nparams > 1 && below(c, 2)) /* one fewer than a loop gives */
        r->nparams--;
    else if (what == 1 && r->nresults > 1 && below(c, 4) == 0)
        r->nresults--;
    else if (what == 1 && r->nresults)
        r->results[below(c, r->nresults)] = slot;
    else if (what == 2)
        r->nsteps -= r->nsteps > 0;
    else if (r->nsteps) {
        struct step *s = &r->steps[below(c, r->nsteps)];
        if (below(c, 3) == 0) {
            mutate_rates(c, s);
            return;
        }
        *s = r->steps[below(c, r->nsteps)];
        if (what == 4)
            s->index = (int32_t)below(c, s->kind == STEP_LAUNCH ? c->p->nkernels : c->p->ncalls);
    }
}

static void mutate_guard(struct change *c)
{
    struct guard *g = c->p->nguards ? &c->p->guards[below(c, c->p->nguards)] : NULL;
    if (!g)
        return;
    if (below(c, 4) == 0)
        g->kind = (uint8_t)below(c, GUARD_KINDS);
    else if (below(c, 4) == 0)
        g->region = (int32_t)below(c, c->p->nregions);
    else
        mutate_dim(c, below(c, 2) ? &g->a : &g->b);
}

/* Code of the user's own: what is said of it, and the object itself, which nobody allowed to run. */
static void mutate_library(struct change *c)
{
    static const char *const names[] = {"", "..", "/etc/passwd", "a/b.so", "lib.so"};
    struct program_library *l = c->p->nlibraries ? &c->p->libraries[below(c, c->p->nlibraries)] : NULL;
    if (!l)
        return;
    switch (below(c, 5)) {
    case 0:
        l->name = names[below(c, sizeof names / sizeof *names)];
        break;
    case 1:
        l->hash = c->p->libraries[below(c, c->p->nlibraries)].hash;
        break;
    case 2:
        l->abi = (int)(int32_t)number(c, l->abi);
        break;
    case 3:
        l->size = below(c, (int64_t)l->size + 1);
        break;
    default:
        if (l->data && l->size) {
            uint8_t *data = arena_copy(&c->p->arena, l->data, l->size);
            data[below(c, (int64_t)(l->size < 128 || below(c, 2) ? l->size : 128))] ^= (uint8_t)(1 << below(c, 8));
            l->data = data;
        }
    }
}

static void mutate_state(struct change *c)
{
    struct program_state *s = c->p->nstates ? &c->p->states[below(c, c->p->nstates)] : NULL;
    if (!s)
        return;
    int32_t slot = (int32_t)below(c, c->p->nslots);
    switch (below(c, 5)) {
    case 0:
        s->input = slot;
        break;
    case 1:
        s->output = slot;
        break;
    case 2:
        s->axis = small(c, s->axis, 0, MAX_RANK);
        break;
    default:
        mutate_dim(c, &s->pitch[below(c, 2)]);
    }
}

/* Expressions: an operand, or the operation. What they are equal to no longer matters. */
static void mutate_expression(struct change *c)
{
    struct dim_table *t = &c->p->dims;
    size_t i = below(c, t->nnodes);
    if (!t->nnodes)
        return;
    if (below(c, 8) == 0 && t->nsymbols) {
        struct dim_symbol *s = &t->symbols[below(c, t->nsymbols)];
        if (below(c, 2))
            s->separable = !s->separable;
        else if (below(c, 2))
            s->runtime = !s->runtime;
        else if (below(c, 2))
            s->size = number(c, s->size);
        else
            s->max = number(c, s->max);
        return;
    }
    struct dim_node *n = &t->nodes[i];
    if (n->op == DIM_SYM)
        return;
    if (below(c, 4) == 0) {
        n->op = (uint8_t)(DIM_ADD + below(c, DIM_OPS - DIM_ADD));
        return;
    }
    dim_t *side = below(c, 2) ? &n->a : &n->b;
    if (i && below(c, 2))
        *side = INT64_MIN + (int64_t)below(c, (int64_t)i);
    else
        *side = number(c, dim_is_const(*side) ? *side : 1);
    if (!dim_is_const(*side) && dim_index(*side) >= (int)i)
        *side = 1;
}

static void mutate_once(struct change *c)
{
    static void (*const parts[])(struct change *) = {
        mutate_kernel, mutate_kernel, mutate_kernel, mutate_kernel, mutate_slot,  mutate_slot,       mutate_call,
        mutate_call,   mutate_region, mutate_guard,  mutate_state,  mutate_state, mutate_expression, mutate_library,
    };
    parts[below(c, sizeof parts / sizeof *parts)](c);
}

size_t mutate_program(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    struct diag d = {0};
    struct neff_file *f = calloc(1, sizeof *f);
    void *copy = aligned_alloc(NEFF_SLOT_ALIGN, (size + NEFF_SLOT_ALIGN) / NEFF_SLOT_ALIGN * NEFF_SLOT_ALIGN);
    bool ok = f && copy;
    if (ok)
        memcpy(copy, data, size);
    ok = ok && neff_open_memory(f, copy, size, "archive", &d);
    struct program *p = ok ? neff_program(f, false, &d) : NULL;
    void *made = NULL;
    size_t n = 0;
    if (p) {
        struct change c = {p, seed};
        for (size_t times = 1 + mutate_below(seed, 3); times > 0; times--)
            mutate_once(&c);
        if (neff_write_memory(p, &made, &n, &d) && n <= room)
            memcpy(data, made, n), size = n;
        free(made);
        program_free(p);
    }
    if (ok)
        neff_close(f);
    free(copy);
    free(f);
    return size;
}
