#include "neff/isa/isa.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

const char *const engine_names[ENGINE_COUNT] = {"pe", "act", "pool", "dve", "sp"};

static const struct row {
    const char *name, *aps, *imms, *floats, *funcs, *doc;
    enum engine engine;
} rows[INSN_COUNT] = {
#define INSN(id, engine, aps, imms, floats, funcs, doc)                                            \
    {#id, aps, imms, floats, funcs, doc, ENGINE_##engine},
#include "neff/isa/isa.def"
};

static struct insn_info infos[INSN_COUNT];
static pthread_once_t split_once = PTHREAD_ONCE_INIT;

/* Copies the next blank-separated word; false at the end. */
static bool next_word(const char **s, char *out, size_t cap)
{
    *s += strspn(*s, " ");
    size_t n = strcspn(*s, " ");
    if (!n)
        return false;
    snprintf(out, cap, "%.*s", (int)n, *s);
    *s += n;
    return true;
}

static void split_row(const struct row *r, struct insn_info *i)
{
    char word[32];
    const char *s = r->aps;
    i->name = r->name, i->doc = r->doc;
    i->engine = (uint8_t)r->engine;
    for (; next_word(&s, word, sizeof word); i->naps++) {
        char *colon = strchr(word, ':');
        i->ap[i->naps].access = colon[1];
        i->ap[i->naps].optional = colon[2] == '?';
        *colon = 0;
        snprintf(i->ap[i->naps].name, sizeof i->ap->name, "%.14s", word);
    }
    for (s = r->imms; next_word(&s, i->imm[i->nimms], sizeof *i->imm);)
        i->nimms++;
    for (s = r->floats; next_word(&s, i->flt[i->nfloats], sizeof *i->flt);)
        i->nfloats++;
    for (s = r->funcs; next_word(&s, i->func[i->nfuncs], sizeof *i->func);)
        i->nfuncs++;
}

static void split_all(void)
{
    for (int i = 0; i < INSN_COUNT; i++)
        split_row(&rows[i], &infos[i]);
}

const struct insn_info *insn_info(enum opcode op)
{
    pthread_once(&split_once, split_all);
    return &infos[op];
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

static bool clip_equal(const struct ap_clip *a, const struct ap_clip *b)
{
    return a == b || (a && b && a->var == b->var && a->factor == b->factor && a->limit == b->limit);
}

bool ap_places_equal(const struct ap *a, const struct ap *b)
{
    bool same = a->rank == b->rank && affine_equal(&a->offset, &b->offset);
    for (int i = 0; same && i < a->rank; i++)
        same = a->dim[i].step == b->dim[i].step && a->dim[i].count == b->dim[i].count &&
               clip_equal(a->dim[i].clip, b->dim[i].clip);
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
        if (!strcmp(rows[i].name, name))
            return (enum opcode)i;
    return INSN_COUNT;
}
