#include "backend/tile/rules.h"

#include <stdio.h>

/* ---- bounds ---- */

static int64_t count_of(const struct type *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

/* "'x' (f32[128,512])" or "its tile (128 x 512 of f32)", and its elements. */
static int64_t describe(const struct tile_context *c, const struct ap *a, char *buf, size_t size)
{
    if (a->mem != MEM_HBM) {
        const struct tile *t = &c->k->tiles[a->tensor];
        snprintf(buf, size, "its tile of %lld x %lld %s", (long long)t->partitions,
                 (long long)t->elements, dtype_name(t->dtype));
        return t->partitions * t->elements;
    }
    const struct slot *s = &c->p->slots[a->tensor];
    struct arena scratch = {0};
    snprintf(buf, size, "'%s', %s", s->name ? s->name : "",
             type_text(&c->p->dims, &scratch, &s->type));
    arena_free(&scratch);
    return count_of(&s->type);
}

/* First and last element touched, as if no clip cut anything. False: nothing is touched. */
static bool reach(const struct tile_context *c, const struct ap *a, __int128 *low, __int128 *high)
{
    *low = *high = a->offset.base;
    for (int i = 0; i < a->offset.nterms; i++) {
        const struct affine_term *t = &a->offset.terms[i];
        __int128 span = (__int128)t->coef * (c->trips[t->var] - 1);
        if (c->trips[t->var] < 1)
            return false;
        *(span < 0 ? low : high) += span;
    }
    for (int i = 0; i < a->rank; i++) {
        __int128 span = (__int128)a->dim[i].step * (a->dim[i].count - 1);
        if (a->dim[i].count < 1)
            return false;
        *(span < 0 ? low : high) += span;
    }
    return true;
}

static bool clipped(const struct ap *a)
{
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i].clip)
            return true;
    return false;
}

/* Patterns that are cut at edges are checked with the whole kernel, when it is bound. */
static bool check_bounds(const struct tile_context *c, const struct insn *n, int operand,
                         struct diag *d)
{
    const struct ap *a = &n->ap[operand];
    char what[160];
    __int128 low, high;
    if (clipped(a) || !reach(c, a, &low, &high))
        return true;
    int64_t stored =
        a->mem == MEM_HBM ? c->p->slots[a->tensor].type.dtype : c->k->tiles[a->tensor].dtype;
    __int128 size = describe(c, a, what, sizeof what);
    size = size * (__int128)dtype_bytes((int)stored) / (__int128)dtype_bytes(a->dtype);
    if (low >= 0 && high < size)
        return true;
    return fail(d, "%s: elements %lld to %lld of %s, which has %lld",
                insn_info(n->op)->ap[operand].name, (long long)low, (long long)high, what,
                (long long)size);
}

bool tile_check(const struct tile_context *c, const struct insn *n, struct diag *d)
{
    for (int a = 0; a < insn_info(n->op)->naps; a++)
        if (n->ap[a].mem != MEM_NONE && !check_bounds(c, n, a, d))
            return false;
    return true;
}
