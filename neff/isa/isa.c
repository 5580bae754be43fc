#include "neff/isa/isa.h"

#include "neff/base/use.h"
#include "neff/isa/machine.h"

#include <string.h>

const char *const engine_names[ENGINE_COUNT] = {"pe", "act", "pool", "dve", "sp"};

/* Texts that no program needs to run. */
#ifdef XRT_USE
#define DOC(text) ""
#else
#define DOC(text) text
#endif

#define ON(engine) | 1 << ENGINE_##engine
#define COST(kind, start, min, rate)                                                             \
    {                                                                                              \
        COST_##kind, start, min, rate                                                            \
    }
#define OPERAND(name, access, optional, reach) {#name, access, optional, REACH_##reach},
#define CONSTANT(name, role)                   {#name, false, ROLE_##role},
#define VARYING(name, role)                    {#name, true, ROLE_##role},
#define FLOAT(name)                            {#name, 0},
#define FACTOR(name)                           {#name, 1},
#define FUNCTION(name)                         #name,
#define INSN(id, usual, also, where, price, form, operands, immediates, floats, functions, text)   \
    WHEN_USED(INSN_##id, static const struct insn_info info_##id = {                               \
                             .name = #id,                                                          \
                             .doc = DOC(text),                                                     \
                             .engine = ENGINE_##usual,                                             \
                             .engines = 1 << ENGINE_##usual also,                                  \
                             .targets = where,                                                     \
                             .shape = SHAPE_##form,                                                \
                             .naps = sizeof(struct id##_aps) - 1,                                  \
                             .nimms = sizeof(struct id##_imms) - 1,                                \
                             .nfloats = sizeof(struct id##_flts) - 1,                              \
                             .nfuncs = sizeof(struct id##_funcs) - 1,                              \
                             .cost = price,                                                        \
                             .ap = {operands},                                                     \
                             .imm = {immediates},                                                  \
                             .flt = {floats},                                                      \
                             .func = {functions}};)
#include "neff/isa/isa.def"

const struct insn_info *const insn_infos[INSN_COUNT] = {
#define INSN(id, ...) WHEN_USED(INSN_##id, [INSN_##id] = &info_##id, )
#include "neff/isa/isa.def"
};

void insn_standard_floats(struct insn *n)
{
    const struct insn_info *info = insn_info(n->op);
    for (int i = 0; i < info->nfloats; i++)
        n->flt[i] = info->flt[i].standard;
}

int insn_role(const struct insn_info *info, enum imm_role role)
{
    for (int i = 0; i < info->nimms; i++)
        if (info->imm[i].role == role)
            return i;
    return -1;
}

struct ap insn_touched(const struct insn *n, int operand)
{
    const struct insn_info *info = insn_info(n->op);
    struct ap a = n->ap[operand];
    if (info->ap[operand].reach != REACH_INDIRECT || a.rank >= MAX_AP_RANK)
        return a;
    memmove(a.dim + 1, a.dim, sizeof *a.dim * a.rank);
    a.dim[0] = (struct ap_dim){.step = n->imm[insn_role(info, ROLE_STRIDE)].base,
                               .count = n->imm[insn_role(info, ROLE_LIMIT)].base};
    a.rank++;
    return a;
}

dim_t affine_coef(const struct affine *a, int var)
{
    for (int i = 0; i < a->nterms; i++)
        if (a->terms[i].var == var)
            return a->terms[i].coef;
    return 0;
}

void affine_set(struct affine *a, struct arena *arena, int var, dim_t coef)
{
    struct affine_term *terms = ARENA_ARRAY(arena, struct affine_term, a->nterms + 1);
    int n = 0, i = 0;
    while (i < a->nterms && a->terms[i].var < var)
        terms[n++] = a->terms[i++];
    if (coef)
        terms[n++] = (struct affine_term){var, coef};
    for (; i < a->nterms; i++)
        if (a->terms[i].var != var)
            terms[n++] = a->terms[i];
    a->nterms = n;
    a->terms = n ? terms : NULL;
}

bool affine_equal(const struct affine *a, const struct affine *b)
{
    bool same = a->base == b->base && a->nterms == b->nterms;
    for (int i = 0; same && i < a->nterms; i++)
        same = a->terms[i].var == b->terms[i].var && a->terms[i].coef == b->terms[i].coef;
    return same;
}

bool ap_clip_equal(const struct ap_clip *a, const struct ap_clip *b)
{
    return a == b || (a && b && a->var == b->var && a->factor == b->factor && a->limit == b->limit);
}

bool ap_places_equal(const struct ap *a, const struct ap *b)
{
    bool same = a->rank == b->rank && affine_equal(&a->offset, &b->offset);
    for (int i = 0; same && i < a->rank; i++)
        same = a->dim[i].step == b->dim[i].step && a->dim[i].count == b->dim[i].count &&
               ap_clip_equal(a->dim[i].clip, b->dim[i].clip);
    return same;
}

bool ap_equal(const struct ap *a, const struct ap *b)
{
    return a->mem == b->mem && a->dtype == b->dtype && a->tensor == b->tensor &&
           ap_places_equal(a, b);
}

enum opcode insn_from_name(const char *name)
{
    for (int i = 0; i < INSN_COUNT; i++)
        if (insn_infos[i] && !strcmp(insn_infos[i]->name, name))
            return (enum opcode)i;
    return INSN_COUNT;
}
