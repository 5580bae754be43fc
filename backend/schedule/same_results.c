/*
 * Strict targets: of instructions of a kernel's straight line that compute the same from the same, the first one alone
 * stays. A kernel's author writes in a loop what does not change with it; written out, each turn computes it again.
 */
#include "backend/schedule/chain.h"

#include <string.h>

enum { RESULT, OPERAND }; /* of plain instructions: what they write stands first, then what they read */

struct recomputed {
    struct kernel *k;
    int *writers; /* per tile: instructions that write it */
    int *written; /* per tile: the last one so far; -1 */
    bool *read;   /* per tile: so far */
    int *renamed; /* per tile: which has the same */
    int *latest;  /* per tile: the last instruction so far whose first operand it is; -1 */
    int *earlier; /* per instruction: the one before it that `latest` was */
};

static bool on_chip(const struct ap *a)
{
    return a->mem == MEM_SBUF || a->mem == MEM_PSUM;
}

/* It reads tiles alone, and writes one alone, without a look at what was there. */
static bool is_plain(const struct insn *n)
{
    const struct insn_info *info = insn_info(n->op);
    bool plain = info->shape == SHAPE_ELEMENTWISE && !insn_is_transfer(n) && info->naps > 1 &&
                 insn_role(info, ROLE_ACCUMULATE) < 0 && insn_role(info, ROLE_KEEPS) < 0;
    for (int a = 0; plain && a < info->naps; a++)
        plain = (n->ap[a].mem == MEM_NONE && a > OPERAND) ||
                (on_chip(&n->ap[a]) && operand_writes(n, a) == (a == RESULT));
    return plain && n->ap[RESULT].tensor != n->ap[OPERAND].tensor;
}

static bool same_tiles(const struct kernel *k, const struct ap *a, const struct ap *b)
{
    const struct tile *s = &k->tiles[a->tensor], *t = &k->tiles[b->tensor];
    return s->mem == t->mem && s->dtype == t->dtype && s->partitions == t->partitions && s->elements == t->elements &&
           s->partial == t->partial;
}

/* The same of the same, but for where it goes. */
static bool alike(const struct kernel *k, const struct insn *x, const struct insn *y)
{
    const struct insn_info *info = insn_info(y->op);
    if (x->op != y->op || x->engine != y->engine || memcmp(x->func, y->func, sizeof x->func) ||
        memcmp(x->flt, y->flt, sizeof x->flt))
        return false;
    for (int i = 0; i < info->nimms; i++)
        if (!affine_equal(&x->imm[i], &y->imm[i]))
            return false;
    for (int a = OPERAND; a < info->naps; a++)
        if (!ap_equal(&x->ap[a], &y->ap[a]))
            return false;
    return x->ap[RESULT].tensor != y->ap[RESULT].tensor && x->ap[RESULT].dtype == y->ap[RESULT].dtype &&
           ap_places_equal(&x->ap[RESULT], &y->ap[RESULT]) && same_tiles(k, &x->ap[RESULT], &y->ap[RESULT]);
}

/* An instruction since `first` whose results are those of i; -1. */
static int same_before(const struct recomputed *s, int i, int first)
{
    const struct insn *n = &s->k->insns[i];
    if (s->writers[n->ap[RESULT].tensor] != 1 || s->read[n->ap[RESULT].tensor])
        return -1;
    for (int x = s->latest[n->ap[OPERAND].tensor]; x >= first; x = s->earlier[x]) {
        const struct insn *other = &s->k->insns[x];
        bool same = s->writers[other->ap[RESULT].tensor] == 1 && alike(s->k, other, n);
        for (int a = OPERAND; same && a < insn_info(n->op)->naps; a++) /* and nothing has changed its operands since */
            same = n->ap[a].mem == MEM_NONE || s->written[n->ap[a].tensor] < x;
        if (same)
            return x;
    }
    return -1;
}

static void note_operands(struct recomputed *s, int i)
{
    const struct insn *n = &s->k->insns[i];
    for (int a = 0; a < insn_info(n->op)->naps; a++) {
        if (!on_chip(&n->ap[a]))
            continue;
        if (operand_writes(n, a))
            s->written[n->ap[a].tensor] = i;
        if (operand_reads(n, a))
            s->read[n->ap[a].tensor] = true;
    }
}

static void find_writers(struct recomputed *s, struct arena *a)
{
    const struct kernel *k = s->k;
    s->writers = ARENA_ARRAY(a, int, k->ntiles + 1), s->written = ARENA_ARRAY(a, int, k->ntiles + 1);
    s->renamed = ARENA_ARRAY(a, int, k->ntiles + 1), s->latest = ARENA_ARRAY(a, int, k->ntiles + 1);
    s->read = ARENA_ARRAY(a, bool, k->ntiles + 1), s->earlier = ARENA_ARRAY(a, int, k->ninsns + 1);
    for (int t = 0; t < k->ntiles; t++)
        s->renamed[t] = t, s->written[t] = s->latest[t] = -1;
    for (int i = 0; i < k->ninsns; i++)
        for (int o = 0; o < insn_info(k->insns[i].op)->naps; o++)
            if (on_chip(&k->insns[i].ap[o]) && operand_writes(&k->insns[i], o))
                s->writers[k->insns[i].ap[o].tensor]++;
}

void join_same_results(struct kernel *k)
{
    struct arena scratch = {0};
    struct recomputed s = {.k = k};
    int n = 0, first = 0; /* of the straight line; those before n stay */
    if (has_fixed_tiles(k))
        return;
    find_writers(&s, &scratch);
    for (int i = 0; i < k->ninsns; i++) {
        k->insns[n] = k->insns[i];
        struct insn *x = &k->insns[n];
        for (int o = 0; o < insn_info(x->op)->naps; o++)
            if (on_chip(&x->ap[o]))
                x->ap[o].tensor = s.renamed[x->ap[o].tensor];
        if (insn_is_structure(x))
            first = n + 1;
        int same = is_plain(x) ? same_before(&s, n, first) : -1;
        if (same >= 0) {
            s.renamed[x->ap[RESULT].tensor] = k->insns[same].ap[RESULT].tensor;
            continue;
        }
        if (is_plain(x))
            s.earlier[n] = s.latest[x->ap[OPERAND].tensor], s.latest[x->ap[OPERAND].tensor] = n;
        note_operands(&s, n++);
    }
    k->ninsns = n;
    arena_free(&scratch);
}
