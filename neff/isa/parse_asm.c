/*
 * Parser of program text (asm.h). What it accepts is well formed field by field; program_check does
 * the rest.
 */
#include "neff/isa/asm.h"

#include "neff/isa/asm_lex.h"

#include <stdlib.h>
#include <string.h>

struct asm_parser {
    struct asm_lexer x;
    struct program *p;
    struct kernel *k; /* being read */
    int depth;        /* loops open */
    bool dims_done;
    int nsymbols; /* declared */
    int noutputs, outputs_cap;
};

/* After type_parse or dim_parse: passes on their failure, and refuses names that are not symbols.
 */
static bool expression_ok(struct asm_parser *r, bool ok)
{
    const struct dim_table *t = &r->p->dims;
    if (!ok)
        return asm_bad_here(&r->x);
    return t->nsymbols == r->nsymbols ||
           asm_bad(&r->x, "unknown symbol '%s'", t->symbols[t->nsymbols - 1].name);
}

static bool parse_dim(struct asm_parser *r, dim_t *out)
{
    if (!asm_peek(&r->x, '('))
        return asm_i64(&r->x, out) && ((*out >= DIM_LOWEST && *out <= DIM_HIGHEST) ||
                                       asm_bad(&r->x, "constant too small or too large"));
    r->x.s++;
    return expression_ok(r, dim_parse(&r->p->dims, &r->x.s, out, r->x.d)) && asm_want(&r->x, ")");
}

static bool parse_var(struct asm_parser *r, int *out)
{
    asm_skip(&r->x);
    char kind = *r->x.s;
    if (kind != 'g' && kind != 'i')
        return asm_bad(&r->x, "expected a variable (g0, i1), found '%.5s'", r->x.s);
    struct asm_lexer start = r->x;
    r->x.s++;
    if (!asm_int(&r->x, 0, r->k->nvars - 1, "variable", out))
        return false;
    if ((*out < r->k->ngrid) != (kind == 'g'))
        return asm_bad(&start, "variable %d is %s", *out,
                       kind == 'g' ? "a loop's, written i" : "the grid's, written g");
    return true;
}

static bool parse_affine(struct asm_parser *r, struct affine *out)
{
    *out = (struct affine){0};
    do {
        dim_t d;
        int v;
        if (asm_peek(&r->x, 'g') || asm_peek(&r->x, 'i')) {
            if (!parse_var(r, &v) || !asm_want(&r->x, "*") || !parse_dim(r, &d))
                return false;
            if (affine_coef(out, v))
                return asm_bad(&r->x, "variable %d occurs twice", v);
            affine_set(out, &r->p->arena, v, d);
        } else {
            return parse_dim(r, &out->base);
        }
    } while (asm_try(&r->x, "+"));
    return true;
}

static bool parse_dtype(struct asm_parser *r, uint8_t *out)
{
    char word[32];
    if (!asm_word(&r->x, word, sizeof word))
        return false;
    *out = (uint8_t)dtype_from_name(word);
    return *out || asm_bad(&r->x, "unknown element type '%s'", word);
}

static bool parse_slot(struct asm_parser *r, int32_t *out)
{
    return asm_want(&r->x, "%") && asm_int(&r->x, 0, INT32_MAX, "slot", out);
}

static bool parse_ap_dim(struct asm_parser *r, struct ap_dim *d)
{
    *d = (struct ap_dim){0};
    if (asm_try(&r->x, "min")) {
        struct ap_clip *clip = ARENA_NEW(&r->p->arena, struct ap_clip);
        if (!asm_want(&r->x, "(") || !parse_dim(r, &d->count) || !asm_want(&r->x, ",") ||
            !parse_dim(r, &clip->limit) || !asm_want(&r->x, "-") || !parse_var(r, &clip->var) ||
            !asm_want(&r->x, "*") || !parse_dim(r, &clip->factor) || !asm_want(&r->x, ")"))
            return false;
        d->clip = clip;
    } else if (!parse_dim(r, &d->count)) {
        return false;
    }
    return asm_want(&r->x, ":") && parse_dim(r, &d->step);
}

static bool parse_memory(struct asm_parser *r, uint8_t *mem, int32_t *tensor)
{
    asm_skip(&r->x);
    for (int m = MEM_HBM; m <= MEM_PSUM; m++) {
        size_t n = strlen(memory_names[m]);
        if (strncmp(r->x.s, memory_names[m], n))
            continue;
        r->x.s += n;
        *mem = (uint8_t)m;
        return asm_int(&r->x, 0, INT32_MAX, "tensor", tensor);
    }
    return asm_bad(&r->x, "expected a slot (%%1) or a tile (sbuf1, psum1), found '%.10s'", r->x.s);
}

static bool parse_ap(struct asm_parser *r, struct ap *ap)
{
    *ap = (struct ap){0};
    if (!parse_memory(r, &ap->mem, &ap->tensor) || !parse_dtype(r, &ap->dtype) ||
        !asm_want(&r->x, "[") || !parse_affine(r, &ap->offset) || !asm_want(&r->x, "]") ||
        !asm_want(&r->x, "("))
        return false;
    do {
        if (ap->rank == MAX_AP_RANK)
            return asm_bad(&r->x, "more than %d dimensions in an access pattern", MAX_AP_RANK);
        if (!parse_ap_dim(r, &ap->dim[ap->rank++]))
            return false;
    } while (asm_try(&r->x, ","));
    return asm_want(&r->x, ")");
}

/* ---- instructions ---- */

static bool parse_semaphore(struct asm_parser *r, int16_t *out)
{
    int s;
    if (!asm_peek(&r->x, 's'))
        return asm_bad(&r->x, "expected a semaphore (s0), found '%.5s'", r->x.s);
    r->x.s++;
    if (!asm_int(&r->x, 0, r->k->nsemaphores - 1, "semaphore", &s))
        return false;
    *out = (int16_t)s;
    return true;
}

static bool parse_sync(struct asm_parser *r, struct insn *n)
{
    if (asm_try(&r->x, "wait")) {
        n->wait = ARENA_ARRAY(&r->p->arena, struct sync, MAX_SYNC);
        do {
            if (n->nwaits == MAX_SYNC)
                return asm_bad(&r->x, "more than %d waits", MAX_SYNC);
            struct sync *wait = &n->wait[n->nwaits++];
            if (!parse_semaphore(r, &wait->semaphore) || !asm_want(&r->x, ">=") ||
                !parse_affine(r, &wait->value))
                return false;
        } while (asm_try(&r->x, ","));
    }
    if (asm_try(&r->x, "signal")) {
        int i = 0;
        do {
            if (i == 2)
                return asm_bad(&r->x, "more than 2 signals");
            if (!parse_semaphore(r, &n->signal[i++]))
                return false;
        } while (asm_try(&r->x, ","));
    }
    if (asm_try(&r->x, "node"))
        return asm_int(&r->x, 0, r->p->nnodes - 1, "node", &n->node);
    return true;
}

static bool parse_func(struct asm_parser *r, uint16_t *out)
{
    char word[64];
    if (!asm_word(&r->x, word, sizeof word))
        return false;
    enum op op = op_from_name(word);
    if (op == OP_COUNT)
        return asm_bad(&r->x, "unknown function '%s'", word);
    *out = (uint16_t)op;
    return true;
}

/* One `name=value`. Patterns are looked up first; names are unique in a row of isa.def. */
static bool parse_operand(struct asm_parser *r, struct insn *n)
{
    const struct insn_info *info = insn_info(n->op);
    char word[32];
    asm_skip(&r->x);
    struct asm_lexer start = r->x;
    if (!asm_word(&r->x, word, sizeof word) || !asm_want(&r->x, "="))
        return false;
    for (int i = 0; i < info->naps; i++)
        if (!strcmp(info->ap[i].name, word))
            return parse_ap(r, &n->ap[i]);
    for (int i = 0; i < info->nimms; i++)
        if (!strcmp(info->imm[i].name, word))
            return parse_affine(r, &n->imm[i]);
    for (int i = 0; i < info->nfloats; i++)
        if (!strcmp(info->flt[i].name, word))
            return asm_f32(&r->x, &n->flt[i]);
    for (int i = 0; i < info->nfuncs; i++)
        if (!strcmp(info->func[i], word))
            return parse_func(r, &n->func[i]);
    return asm_bad(&start, "%s has no operand '%s'", info->name, word);
}

static bool parse_engine_insn(struct asm_parser *r)
{
    char word[64];
    if (!asm_word(&r->x, word, sizeof word) || !asm_want(&r->x, "."))
        return false;
    int engine = 0;
    while (engine < ENGINE_COUNT && strcmp(engine_names[engine], word))
        engine++;
    if (engine == ENGINE_COUNT)
        return asm_bad(&r->x, "unknown engine '%s', expected pe, act, pool, dve or sp", word);
    if (!asm_word(&r->x, word, sizeof word))
        return false;
    enum opcode op = insn_from_name(word);
    if (op == INSN_COUNT || op == INSN_loop || op == INSN_end)
        return asm_bad(&r->x, "unknown instruction '%s'", word);
    struct insn *n = kernel_add(r->p, r->k, op);
    n->engine = (uint8_t)engine;
    insn_standard_floats(n);
    do {
        if (!parse_operand(r, n))
            return false;
    } while (asm_try(&r->x, ","));
    return parse_sync(r, n);
}

static bool parse_loop(struct asm_parser *r)
{
    int var;
    if (!parse_var(r, &var))
        return false;
    struct insn *n = kernel_add(r->p, r->k, INSN_loop);
    n->imm[IMM(loop, var)].base = var;
    r->depth++;
    return asm_want(&r->x, "<") && parse_affine(r, &n->imm[IMM(loop, count)]) && parse_sync(r, n) &&
           asm_want(&r->x, "{");
}

static bool parse_tile(struct asm_parser *r)
{
    struct tile t = {.address = -1};
    int32_t index;
    if (!parse_memory(r, &t.mem, &index) || !parse_dtype(r, &t.dtype) ||
        !parse_dim(r, &t.partitions) || !asm_want(&r->x, "x") || !parse_dim(r, &t.elements))
        return false;
    if (t.mem == MEM_HBM || index != r->k->ntiles)
        return asm_bad(&r->x, "expected tile sbuf%d or psum%d", r->k->ntiles, r->k->ntiles);
    if (asm_try(&r->x, "at") && !asm_i64(&r->x, &t.address))
        return false;
    ARENA_GROW(&r->p->arena, r->k->tiles, r->k->ntiles, r->k->tiles_cap);
    r->k->tiles[r->k->ntiles++] = t;
    return true;
}

static bool parse_body(struct asm_parser *r)
{
    for (;;) {
        bool ok;
        if (asm_try(&r->x, "}")) {
            if (r->depth == 0)
                return true;
            r->depth--;
            ok = parse_sync(r, kernel_add(r->p, r->k, INSN_end));
        } else if (asm_try(&r->x, "tile")) {
            ok = parse_tile(r);
        } else if (asm_try(&r->x, "loop")) {
            ok = parse_loop(r);
        } else {
            ok = parse_engine_insn(r);
        }
        if (!ok)
            return false;
    }
}

static bool parse_grid(struct asm_parser *r)
{
    struct kernel *k = r->k;
    if (!asm_want(&r->x, "grid") || !asm_want(&r->x, "("))
        return false;
    while (!asm_peek(&r->x, ')')) {
        if (k->ngrid == MAX_GRID)
            return asm_bad(&r->x, "more than %d dimensions of a grid", MAX_GRID);
        if (!parse_dim(r, &k->grid[k->ngrid++]))
            return false;
        if (!asm_try(&r->x, ","))
            break;
    }
    return asm_want(&r->x, ")");
}

/* `kind N` where N is the next free number. */
static bool parse_index(struct asm_parser *r, int next, const char *what)
{
    int index;
    asm_skip(&r->x);
    struct asm_lexer start = r->x;
    if (!asm_int(&r->x, 0, INT32_MAX, what, &index))
        return false;
    return index == next ||
           asm_bad(&start, "%s %d, expected %d: they are numbered in order", what, index, next);
}

static bool parse_kernel(struct asm_parser *r)
{
    struct program *p = r->p;
    if (!parse_index(r, p->nkernels, "kernel"))
        return false;
    ARENA_GROW(&p->arena, p->kernels, p->nkernels, p->kernels_cap);
    struct kernel *k = r->k = &p->kernels[p->nkernels++];
    *k = (struct kernel){0};
    r->depth = 0;
    if (asm_peek(&r->x, '"') && !asm_text(&r->x, &k->name))
        return false;
    return parse_grid(r) && asm_want(&r->x, "vars") &&
           asm_int(&r->x, k->ngrid, MAX_VARS, "number of variables", &k->nvars) &&
           asm_want(&r->x, "semaphores") &&
           asm_int(&r->x, 0, INT16_MAX, "semaphores", &k->nsemaphores) &&
           asm_want(&r->x, "flops") && parse_dim(r, &k->flops) && asm_want(&r->x, "bytes") &&
           parse_dim(r, &k->bytes) && asm_want(&r->x, "{") && parse_body(r);
}

/* ---- tensors and attributes ---- */

static bool parse_element(struct asm_parser *r, struct tensor *t, int64_t i)
{
    int class = dtype_class(t->dtype);
    if (class == DTC_STRING)
        return asm_string(&r->x, (struct str *)t->data + i);
    if (class == DTC_FLOAT) {
        double v = 0;
        uint64_t bits = 0;
        bool is_bits;
        if (!asm_float(&r->x, &v, &bits, &is_bits))
            return false;
        size_t size = dtype_bytes(t->dtype);
        if (is_bits)
            memcpy((char *)t->data + (size_t)i * size, &bits, size);
        else
            dtype_store_f64(t->dtype, t->data, (size_t)i, v);
        return true;
    }
    int64_t v = 0;
    if (class == DTC_UINT ? !asm_u64(&r->x, (uint64_t *)&v) : !asm_i64(&r->x, &v))
        return false;
    dtype_store_i64(t->dtype, t->data, (size_t)i, v);
    return true;
}

static bool parse_data(struct asm_parser *r, struct tensor *t, const struct type *type)
{
    int64_t n = 1;
    if (!type_is_static(type))
        return asm_bad(&r->x, "a constant needs constant dimensions");
    for (int i = 0; i < type->rank; i++)
        if (type->dims[i] < 0 || __builtin_mul_overflow(n, type->dims[i], &n))
            return asm_bad(&r->x, "bad dimension of a constant");
    *t = tensor_view(type->dtype, type->rank, type->dims, NULL);
    if (asm_try(&r->x, "..."))
        return true;
    if (!asm_want(&r->x, "{"))
        return false;
    if (n > (int64_t)strlen(r->x.s)) /* an element takes a character */
        return asm_bad(&r->x, "expected %lld elements", (long long)n);
    if (dtype_class(type->dtype) == DTC_COMPLEX)
        return asm_bad(&r->x, "complex constants have no text, expected '...'");
    t->data = arena_alloc(&r->p->arena, ((size_t)n + 1) * dtype_bytes(type->dtype));
    for (int64_t i = 0; i < n; i++)
        if ((i && !asm_want(&r->x, ",")) || !parse_element(r, t, i))
            return false;
    return asm_want(&r->x, "}");
}

static bool parse_type(struct asm_parser *r, struct type *out)
{
    asm_skip(&r->x);
    return expression_ok(r, type_parse(&r->p->dims, &r->x.s, out, r->x.d));
}

static bool parse_list(struct asm_parser *r, struct attr *a)
{
    static const size_t sizes[] = {[ATTR_INTS] = sizeof(int64_t),
                                   [ATTR_FLOATS] = sizeof(double),
                                   [ATTR_STRS] = sizeof(struct str)};
    struct {
        union {
            int64_t i;
            double f;
            struct str s;
        } * v;
        int n, cap;
    } list = {0};
    if (!asm_want(&r->x, "["))
        return false;
    while (!asm_peek(&r->x, ']')) {
        ARENA_GROW(&r->p->arena, list.v, list.n, list.cap);
        bool ok = a->kind == ATTR_INTS     ? asm_i64(&r->x, &list.v[list.n].i)
                  : a->kind == ATTR_FLOATS ? asm_f64(&r->x, &list.v[list.n].f)
                                           : asm_string(&r->x, &list.v[list.n].s);
        if (!ok)
            return false;
        list.n++;
        if (!asm_try(&r->x, ","))
            break;
    }
    size_t size = sizes[a->kind];
    char *out = arena_alloc(&r->p->arena, size * (size_t)list.n + 1);
    for (int i = 0; i < list.n; i++)
        memcpy(out + size * (size_t)i, &list.v[i], size);
    a->ints = (const int64_t *)out;
    a->count = list.n;
    return asm_want(&r->x, "]");
}

static bool parse_value(struct asm_parser *r, struct attr *a)
{
    static const char *const words[] = {
        [ATTR_INT] = "int",       [ATTR_FLOAT] = "float",   [ATTR_STR] = "str",
        [ATTR_INTS] = "ints",     [ATTR_FLOATS] = "floats", [ATTR_STRS] = "strs",
        [ATTR_TENSOR] = "tensor", [ATTR_TYPE] = "type"};
    char word[16];
    struct arena *arena = &r->p->arena;
    if (!asm_word(&r->x, word, sizeof word))
        return false;
    for (a->kind = 0; a->kind <= ATTR_TYPE && strcmp(words[a->kind], word); a->kind++)
        ;
    switch (a->kind) {
    case ATTR_INT:
        return asm_i64(&r->x, &a->i);
    case ATTR_FLOAT:
        return asm_f64(&r->x, &a->f);
    case ATTR_STR:
        return asm_string(&r->x, &a->s);
    case ATTR_INTS:
    case ATTR_FLOATS:
    case ATTR_STRS:
        return parse_list(r, a);
    case ATTR_TENSOR: {
        struct type type;
        struct tensor *t = ARENA_NEW(arena, struct tensor);
        a->tensor = t;
        return parse_type(r, &type) && asm_want(&r->x, "=") && parse_data(r, t, &type);
    }
    case ATTR_TYPE: {
        struct type *t = ARENA_NEW(arena, struct type);
        a->type = t;
        return parse_type(r, t);
    }
    }
    return asm_bad(&r->x, "unknown kind of attribute '%s'", word);
}

static bool parse_attrs(struct asm_parser *r, struct attrs *as)
{
    if (!asm_try(&r->x, "{"))
        return true;
    do {
        ARENA_GROW(&r->p->arena, as->list, as->count, as->cap);
        struct attr *a = &as->list[as->count++];
        if (!asm_text(&r->x, &a->name) || !asm_want(&r->x, "=") || !parse_value(r, a))
            return false;
    } while (asm_try(&r->x, ","));
    return asm_want(&r->x, "}");
}

/* ---- slots, calls, regions ---- */

static bool parse_kind(struct asm_parser *r, uint8_t *out)
{
    char word[16];
    if (!asm_word(&r->x, word, sizeof word))
        return false;
    for (int k = 0; k <= SLOT_VIEW; k++)
        if (!strcmp(slot_kind_names[k], word)) {
            *out = (uint8_t)k;
            return true;
        }
    return asm_bad(&r->x, "unknown kind of slot '%s'", word);
}

static bool parse_slot_item(struct asm_parser *r)
{
    struct slot s = {0};
    if (!asm_want(&r->x, "%") || !parse_index(r, r->p->nslots, "slot") || !parse_kind(r, &s.kind))
        return false;
    if (asm_peek(&r->x, '"') && !asm_text(&r->x, &s.name))
        return false;
    if (!parse_type(r, &s.type))
        return false;
    s.is_output = asm_try(&r->x, "output");
    s.donated = asm_try(&r->x, "donated");
    if ((s.has_range = asm_try(&r->x, "range")) &&
        (!asm_i64(&r->x, &s.low) || !parse_dim(r, &s.high) || (dim_is_const(s.high) && s.low > s.high)))
        return asm_bad(&r->x, "a range is two numbers, the lower one first");
    if (s.kind == SLOT_VIEW && (!asm_want(&r->x, "of") || !parse_slot(r, &s.base) ||
                                !asm_want(&r->x, "+") || !parse_dim(r, &s.offset)))
        return false;
    if (s.kind == SLOT_CONST && (!asm_want(&r->x, "=") || !parse_data(r, &s.data, &s.type)))
        return false;
    program_add_slot(r->p, s);
    return true;
}

static bool parse_slots(struct asm_parser *r, int32_t **list, int *n)
{
    int cap = 0;
    if (!asm_want(&r->x, "("))
        return false;
    while (!asm_peek(&r->x, ')')) {
        ARENA_GROW(&r->p->arena, *list, *n, cap);
        (*list)[*n] = -1;
        if (!asm_try(&r->x, "_") && !parse_slot(r, &(*list)[*n]))
            return false;
        ++*n;
        if (!asm_try(&r->x, ","))
            break;
    }
    return asm_want(&r->x, ")");
}

static bool parse_call(struct asm_parser *r)
{
    struct program *p = r->p;
    uint16_t op = 0;
    int cap = 0;
    if (!parse_index(r, p->ncalls, "call"))
        return false;
    ARENA_GROW(&p->arena, p->calls, p->ncalls, p->calls_cap);
    struct call *c = &p->calls[p->ncalls++];
    *c = (struct call){.node = -1};
    if (!parse_func(r, &op) || !parse_slots(r, &c->in, &c->nin) || !asm_want(&r->x, "->") ||
        !parse_slots(r, &c->out, &c->nout) || !parse_attrs(r, &c->attrs))
        return false;
    c->op = op;
    if (asm_try(&r->x, "regions"))
        do {
            ARENA_GROW(&p->arena, c->regions, c->nregions, cap);
            if (!asm_int(&r->x, 1, INT32_MAX, "region", &c->regions[c->nregions++]))
                return false;
        } while (asm_try(&r->x, ","));
    return !asm_try(&r->x, "node") || asm_int(&r->x, 0, p->nnodes - 1, "node", &c->node);
}

static bool parse_rates(struct asm_parser *r, struct step *s)
{
    int from = 0, below = 0;
    bool ok = asm_int(&r->x, 0, MAX_BF16_RATE, "rate of bf16", &from) && asm_want(&r->x, "to") &&
              asm_int(&r->x, 0, MAX_BF16_RATE, "rate of bf16", &below);
    s->bf16_from = (int16_t)from, s->bf16_below = (int16_t)below;
    return ok;
}

static bool parse_region(struct asm_parser *r)
{
    struct program *p = r->p;
    if (!parse_index(r, p->nregions, "region"))
        return false;
    ARENA_GROW(&p->arena, p->regions, p->nregions, p->regions_cap);
    struct program_region *g = &p->regions[p->nregions++];
    *g = (struct program_region){0};
    if (!parse_slots(r, &g->params, &g->nparams) || !asm_want(&r->x, "->") ||
        !parse_slots(r, &g->results, &g->nresults) || !asm_want(&r->x, "{"))
        return false;
    while (!asm_try(&r->x, "}")) {
        struct step s = {.kind = asm_try(&r->x, "launch") ? STEP_LAUNCH : STEP_CALL};
        if ((s.kind == STEP_CALL && !asm_want(&r->x, "call")) ||
            !asm_int(&r->x, 0, INT32_MAX, "step", &s.index) || (asm_try(&r->x, "bf16") && !parse_rates(r, &s)))
            return false;
        ARENA_GROW(&p->arena, g->steps, g->nsteps, g->steps_cap);
        g->steps[g->nsteps++] = s;
    }
    return true;
}

/* ---- the head ---- */

static bool parse_symbol(struct asm_parser *r)
{
    struct dim_table *t = &r->p->dims;
    struct dim_symbol s = {0};
    if (r->dims_done || t->nnodes)
        return asm_bad(&r->x,
                       "symbols come before dims, and dims before everything that uses them");
    if (!asm_text(&r->x, &s.name))
        return false;
    s.runtime = asm_try(&r->x, "runtime");
    s.separable = asm_try(&r->x, "separable");
    if (asm_try(&r->x, "most") && (!asm_i64(&r->x, &s.max) || s.max < 1))
        return asm_bad(&r->x, "the largest value of symbol '%s' is not a number above 0", s.name);
    if (asm_try(&r->x, "size") && (!asm_i64(&r->x, &s.size) || s.size < 1))
        return asm_bad(&r->x, "the size of symbol '%s' is not a number above 0", s.name);
    return dim_table_add_symbol(t, s) || asm_bad(&r->x, "symbol '%s' occurs twice", s.name);
}

static bool parse_dim_operand(struct asm_parser *r, dim_t *out)
{
    int index;
    if (!asm_try(&r->x, "$"))
        return asm_i64(&r->x, out) && ((*out >= DIM_LOWEST && *out <= DIM_HIGHEST) ||
                                       asm_bad(&r->x, "constant too small or too large"));
    if (!asm_int(&r->x, 0, r->p->dims.nnodes - 1, "dimension expression", &index))
        return false;
    *out = INT64_MIN + index;
    return true;
}

static bool parse_dim_node(struct asm_parser *r)
{
    struct dim_table *t = &r->p->dims;
    struct dim_node n = {0};
    char word[16];
    if (r->dims_done)
        return asm_bad(&r->x, "dims come before everything that uses them");
    if (!asm_word(&r->x, word, sizeof word))
        return false;
    while (n.op < DIM_OPS && strcmp(dim_op_names[n.op], word))
        n.op++;
    if (n.op >= DIM_OPS)
        return asm_bad(&r->x, "unknown kind of dimension expression '%s'", word);
    if (n.op == DIM_SYM) {
        int symbol;
        if (!asm_int(&r->x, 0, t->nsymbols - 1, "symbol", &symbol))
            return false;
        n.a = symbol;
        n.runtime = t->symbols[symbol].runtime;
    } else {
        if (!parse_dim_operand(r, &n.a) || !parse_dim_operand(r, &n.b))
            return false;
        n.runtime = dim_is_runtime(t, n.a) || dim_is_runtime(t, n.b);
    }
    struct diag why = {0};
    return dim_table_add_node(t, n, &why) || asm_bad(&r->x, "%s", why.text);
}

/* Called before the first item that may contain expressions. */
static void finish_dims(struct asm_parser *r)
{
    if (!r->dims_done)
        r->nsymbols = r->p->dims.nsymbols;
    r->dims_done = true;
}

static bool parse_node(struct asm_parser *r)
{
    const char *name, *source;
    if (!parse_index(r, r->p->nnodes, "node") || !asm_text(&r->x, &name) ||
        !asm_text(&r->x, &source))
        return false;
    program_add_node(r->p, name, source);
    return true;
}

static bool parse_guard(struct asm_parser *r)
{
    struct guard g = {.dimension = -1};
    char word[16];
    int n;
    if (!asm_word(&r->x, word, sizeof word))
        return false;
    if ((g.kind = (uint8_t)guard_kind_from_name(word)) == GUARD_KINDS)
        return asm_bad(&r->x, "unknown kind of guard '%s'", word);
    if (!parse_dim(r, &g.a) || !parse_dim(r, &g.b) ||
        (asm_try(&r->x, "region") && !asm_int(&r->x, 1, INT32_MAX, "region", &g.region)))
        return false;
    if (asm_try(&r->x, "dimension")) {
        if (!asm_int(&r->x, 0, MAX_RANK - 1, "dimension", &n))
            return false;
        g.dimension = (int8_t)n;
    }
    if (!asm_text(&r->x, &g.node) || !asm_text(&r->x, &g.what))
        return false;
    program_add_guard(r->p, &g);
    return true;
}

static bool parse_state(struct asm_parser *r)
{
    struct program_state s = {0};
    if (!parse_slot(r, &s.input) || !parse_slot(r, &s.output) || !asm_want(&r->x, "axis") ||
        !asm_int(&r->x, 0, MAX_RANK - 1, "axis", &s.axis) || !parse_dim(r, &s.pitch[0]) || !parse_dim(r, &s.pitch[1]))
        return false;
    program_add_state(r->p, s);
    return true;
}

static bool parse_outputs(struct asm_parser *r)
{
    do {
        ARENA_GROW(&r->p->arena, r->p->output_names, r->noutputs, r->outputs_cap);
        if (!asm_text(&r->x, &r->p->output_names[r->noutputs++]))
            return false;
    } while (asm_try(&r->x, ","));
    return true;
}

static bool parse_head(struct asm_parser *r)
{
    char target[32];
    if (!asm_want(&r->x, "program") || !asm_text(&r->x, &r->p->name) ||
        !asm_want(&r->x, "target") || !asm_word(&r->x, target, sizeof target))
        return false;
    r->p->target = arena_strdup(&r->p->arena, target);
    return true;
}

static bool parse_item(struct asm_parser *r)
{
    if (asm_try(&r->x, "symbol"))
        return parse_symbol(r);
    if (asm_try(&r->x, "dim"))
        return parse_dim_node(r);
    if (asm_try(&r->x, "info"))
        return asm_text(&r->x, &r->p->info);
    if (asm_try(&r->x, "node"))
        return parse_node(r);
    if (asm_try(&r->x, "outputs"))
        return parse_outputs(r);
    finish_dims(r);
    if (asm_try(&r->x, "guard"))
        return parse_guard(r);
    if (asm_try(&r->x, "slot"))
        return parse_slot_item(r);
    if (asm_try(&r->x, "state"))
        return parse_state(r);
    if (asm_try(&r->x, "kernel"))
        return parse_kernel(r);
    if (asm_try(&r->x, "call"))
        return parse_call(r);
    if (asm_try(&r->x, "region"))
        return parse_region(r);
    return asm_bad(&r->x,
                   "expected an item (symbol, dim, info, node, outputs, guard, slot, state, kernel, "
                   "call, region), found '%.10s'",
                   r->x.s);
}

static bool another_program(struct asm_parser *r)
{
    struct asm_lexer here = r->x;
    bool another = asm_try(&r->x, "program");
    r->x.s = here.s;
    return another;
}

static bool parse_program(struct asm_parser *r)
{
    if (!parse_head(r))
        return false;
    while (!asm_at_end(&r->x) && !another_program(r))
        if (!parse_item(r))
            return false;
    ARENA_GROW(&r->p->arena, r->p->output_names, r->noutputs,
               r->outputs_cap); /* NULL ends the list */
    if (!r->p->nregions || r->noutputs != r->p->regions[0].nresults)
        return asm_bad(&r->x, "%d names of outputs, expected one for each result of region 0",
                       r->noutputs);
    return program_check(r->p, r->x.d) || fail_in(r->x.d, "%s", r->x.file);
}

struct program *program_parse_next(const char *text, size_t n, size_t *at, const char *file,
                                   struct diag *d)
{
    struct program *p = program_new();
    if (!p) {
        fail_memory(d, "out of memory");
        return NULL;
    }
    const char *copy = arena_strndup(&p->arena, text, n);
    struct asm_parser r = {.x = {&p->arena, copy, copy + *at, file, d}, .p = p};
    if (memchr(text, 0, n) ? asm_bad(&r.x, "text contains a zero byte") : parse_program(&r)) {
        *at = asm_at_end(&r.x) ? n : (size_t)(r.x.s - copy);
        return p;
    }
    program_free(p);
    return NULL;
}

struct program *program_parse(const char *text, size_t n, const char *file, struct diag *d)
{
    size_t at = 0;
    struct program *p = program_parse_next(text, n, &at, file, d);
    if (!p || at == n)
        return p;
    fail(d, "%s: several programs, expected one; a library of kernels goes with xcc MODEL --kernels",
         file);
    program_free(p);
    return NULL;
}
