/*
 * Kernels of xcc.h: an instruction by names becomes one of the program. What it takes is read from
 * the rows of isa.def.
 */
#include "frontend/kernel_api.h"

#include "backend/tile/rules.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */

static const char *operand_names(const struct insn_info *info, char *buf, size_t size)
{
    size_t n = 0;
    buf[0] = 0;
    for (int i = 0; i < info->naps && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? " " : "", info->ap[i].name);
    return buf;
}

static int find_operand(const struct insn_info *info, const char *name, struct diag *d)
{
    char all[128];
    for (int i = 0; i < info->naps; i++)
        if (!strcmp(info->ap[i].name, name))
            return i;
    fail(d, "no operand '%s', it has: %s", name, operand_names(info, all, sizeof all));
    return -1;
}

static int find_number(const struct insn_info *info, const char *name, struct diag *d)
{
    for (int i = 0; i < info->nimms; i++)
        if (!strcmp(info->imm[i].name, name))
            return i;
    fail(d, "no integer '%s'", name);
    return -1;
}

/* ---- values ---- */

/* Coefficients of variables; those that are not open must be 0. */
static bool set_affine(struct xcc_kernel *k, struct affine *a, int64_t base, const int64_t *coef,
                       struct diag *d)
{
    int open = kernel_of_api(k)->ngrid + k->now.depth, n = 0;
    struct affine_term terms[MAX_VARS];
    *a = (struct affine){.base = base};
    for (int v = 0; v < XCC_MAX_VARS; v++) {
        if (!coef[v])
            continue;
        if (v >= open)
            return fail(d, "variable %d is not open here", v);
        terms[n++] = (struct affine_term){v, coef[v]};
    }
    a->nterms = n;
    a->terms = n ? arena_copy(&k->p->arena, terms, sizeof *terms * (size_t)n) : NULL;
    return true;
}

static bool set_clips(struct xcc_kernel *k, struct ap *a, const struct xcc_operand *o,
                      struct diag *d)
{
    int open = kernel_of_api(k)->ngrid + k->now.depth;
    if (o->nclips < 0 || o->nclips > XCC_MAX_CLIPS)
        return fail(d, "%d clips, at most %d", o->nclips, XCC_MAX_CLIPS);
    for (int i = 0; i < o->nclips; i++) {
        const struct xcc_clip *c = &o->clip[i];
        if (c->dim < 0 || c->dim >= o->rank || c->var < 0 || c->var >= open)
            return fail(d, "a clip of dimension %d by variable %d", c->dim, c->var);
        if (a->dim[c->dim].clip)
            return fail(d, "two clips of dimension %d", c->dim);
        struct ap_clip clip = {c->var, c->factor, c->limit};
        a->dim[c->dim].clip = arena_copy(&k->p->arena, &clip, sizeof clip);
    }
    return true;
}

static bool set_memory(struct xcc_kernel *k, struct ap *a, const struct xcc_operand *o,
                       struct diag *d)
{
    if (o->object < 0 || o->object >= k->now.nobjects)
        return fail(d, "there is no object %d", o->object);
    const struct object *object = &k->objects[o->object];
    const struct tile *t = &kernel_of_api(k)->tiles[object->index];
    bool tile = object->kind == OBJECT_TILE;
    a->mem = tile ? t->mem : MEM_HBM;
    a->tensor = object->index;
    int stored = tile ? t->dtype : k->p->slots[object->index].type.dtype;
    a->dtype = (uint8_t)(o->dtype ? (int)dtype_from_name(o->dtype) : stored);
    if (!dtype_valid(a->dtype) || a->dtype == DT_STR)
        return fail(d, "unknown element type '%s'", o->dtype);
    return true;
}

static bool set_operand(struct xcc_kernel *k, struct ap *a, const struct xcc_operand *o,
                        struct diag *d)
{
    if (!set_memory(k, a, o, d))
        return false;
    if (o->rank < 1 || o->rank > MAX_AP_RANK)
        return fail(d, "%d dimensions, expected 1 to %d", o->rank, MAX_AP_RANK);
    a->rank = (uint8_t)o->rank;
    for (int i = 0; i < o->rank; i++) {
        if (o->dim[i].count < 0)
            return fail(d, "dimension %d counts %lld elements", i, (long long)o->dim[i].count);
        a->dim[i] = (struct ap_dim){.step = o->dim[i].step, .count = o->dim[i].count};
    }
    return set_affine(k, &a->offset, o->offset, o->coef, d) && set_clips(k, a, o, d);
}

/* ---- an instruction ---- */

static bool set_operands(struct xcc_kernel *k, struct insn *n, const struct xcc_instruction *i,
                         struct diag *d)
{
    const struct insn_info *info = insn_info(n->op);
    for (int o = 0; o < i->noperands; o++) {
        int a = find_operand(info, i->operands[o].name, d);
        if (a < 0)
            return false;
        if (n->ap[a].mem != MEM_NONE)
            return fail(d, "%s is given twice", info->ap[a].name);
        if (!set_operand(k, &n->ap[a], &i->operands[o], d))
            return fail_in(d, "%s", info->ap[a].name);
    }
    for (int a = 0; a < info->naps; a++)
        if (n->ap[a].mem == MEM_NONE && !info->ap[a].optional)
            return fail(d, "%s is missing", info->ap[a].name);
    return true;
}

static bool set_constants(struct xcc_kernel *k, struct insn *n, const struct xcc_instruction *i,
                          struct diag *d)
{
    const struct insn_info *info = insn_info(n->op);
    for (int m = 0; m < i->nnumbers; m++) {
        int at = find_number(info, i->numbers[m].name, d);
        if (at < 0 || !set_affine(k, &n->imm[at], i->numbers[m].base, i->numbers[m].coef, d))
            return false;
    }
    for (int m = 0; m < i->nreals; m++) {
        int at = 0;
        while (at < info->nfloats && strcmp(info->flt[at].name, i->reals[m].name))
            at++;
        if (at == info->nfloats)
            return fail(d, "no number '%s'", i->reals[m].name);
        n->flt[at] = (float)i->reals[m].value;
    }
    for (int at = 0; at < info->nfuncs; at++)
        n->func[at] = OP_identity;
    for (int m = 0; m < i->nfunctions; m++) {
        int at = 0;
        while (at < info->nfuncs && strcmp(info->func[at], i->functions[m].name))
            at++;
        if (at == info->nfuncs)
            return fail(d, "no function '%s'", i->functions[m].name);
        enum op op = op_from_name(i->functions[m].function);
        if (op == OP_COUNT || !(op_infos[op].flags & OPF_ELEMENTWISE))
            return fail(d, "%s: '%s' is no function of an engine", info->func[at],
                        i->functions[m].function);
        n->func[at] = (uint16_t)op;
    }
    return true;
}

static bool set_engine(struct insn *n, const char *name, struct diag *d)
{
    for (int e = 0; name && e < ENGINE_COUNT; e++) {
        if (strcmp(engine_names[e], name))
            continue;
        n->engine = (uint8_t)e;
        return (insn_info(n->op)->engines >> e & 1) ||
               fail(d, "engine '%s' does not have it", name);
    }
    return !name || fail(d, "unknown engine '%s'", name);
}

static void note_written(struct xcc_kernel *k, const struct insn *n,
                         const struct xcc_instruction *i)
{
    const struct insn_info *info = insn_info(n->op);
    for (int o = 0; o < i->noperands; o++)
        for (int a = 0; a < info->naps; a++)
            if (!strcmp(info->ap[a].name, i->operands[o].name) && info->ap[a].access != 'r')
                k->objects[i->operands[o].object].written = true;
}

static bool emit(struct xcc_kernel *k, struct insn *n, const struct xcc_instruction *i,
                 struct diag *d)
{
    struct tile_context c = {k->p, kernel_of_api(k), k->machine, k->trips};
    n->node = k->now.node;
    return set_operands(k, n, i, d) && set_constants(k, n, i, d) && set_engine(n, i->engine, d) &&
           tile_check(&c, n, d);
}

bool xcc_emit(struct xcc_kernel *k, const struct xcc_instruction *i)
{
    struct diag d = {0};
    struct kernel *kernel = kernel_of_api(k);
    enum opcode op = i->name ? insn_from_name(i->name) : INSN_COUNT;
    if (k->finished)
        fail(&d, "the kernel is finished: nothing can be added");
    else if (op == INSN_COUNT || op == INSN_loop || op == INSN_end)
        fail(&d, "there is no instruction '%s'", i->name ? i->name : "");
    if (diag_failed(&d))
        return kernel_fail(k, &d);
    kernel->ninsns = k->now.ninsns;
    struct insn *n = kernel_add(k->p, kernel, op);
    insn_standard_floats(n);
    if (!emit(k, n, i, &d)) {
        kernel->ninsns = k->now.ninsns;
        fail_in(&d, "%s", i->name);
        return kernel_fail(k, &d);
    }
    note_written(k, n, i);
    k->now.ninsns = kernel->ninsns;
    return true;
}

/* ---- the table ---- */

int xcc_instruction_count(void)
{
    return INSN_COUNT;
}

/* Appends " word" (or "word" at the start). */
static void append(char *to, size_t size, const char *word)
{
    size_t n = strlen(to);
    snprintf(to + n, size - n, "%s%s", n ? " " : "", word);
}

bool xcc_instruction_get(int i, struct xcc_instruction_info *out)
{
    if (i < 0 || i >= INSN_COUNT)
        return false;
    const struct insn_info *info = insn_info((enum opcode)i);
    *out = (struct xcc_instruction_info){
        .name = info->name, .doc = info->doc, .engine = engine_names[info->engine]};
    for (int a = 0; a < info->naps; a++) {
        char word[32];
        snprintf(word, sizeof word, "%s:%c%s", info->ap[a].name, info->ap[a].access,
                 info->ap[a].optional ? "?" : "");
        append(out->operands, sizeof out->operands, word);
    }
    for (int a = 0; a < info->nimms; a++)
        append(out->numbers, sizeof out->numbers, info->imm[a].name);
    for (int a = 0; a < info->nfloats; a++)
        append(out->reals, sizeof out->reals, info->flt[a].name);
    for (int a = 0; a < info->nfuncs; a++)
        append(out->functions, sizeof out->functions, info->func[a]);
    return true;
}

static enum op nth_function(int i)
{
    for (int op = 0; op < OP_COUNT; op++)
        if ((op_infos[op].flags & OPF_ELEMENTWISE) && i-- == 0)
            return (enum op)op;
    return OP_COUNT;
}

int xcc_function_count(void)
{
    int n = 0;
    for (int op = 0; op < OP_COUNT; op++)
        n += (op_infos[op].flags & OPF_ELEMENTWISE) != 0;
    return n;
}

const char *xcc_function_name(int i)
{
    enum op op = nth_function(i);
    return op == OP_COUNT ? NULL : op_name(op);
}

size_t xcc_dtype_size(const char *dtype)
{
    int dt = dtype ? (int)dtype_from_name(dtype) : DT_NONE;
    return dtype_valid(dt) ? dtype_bytes(dt) : 0;
}
