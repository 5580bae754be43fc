/*
 * Whether an iteration of a loop reads only what it has written itself of a tile that is filled part by part: such a
 * tile lives within an iteration, as one does that is written at once.
 *
 * What is written is kept as elements of a row, for bands of partitions that every access has wholly or not at all.
 * Loops inside count as dims of the patterns in them, once they have ended; before that a read is answered by a write
 * of the same pattern in the same iteration, as is one of an edge, or by what is found of the loop inside.
 */
#include "backend/schedule/written.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WRITES = 64 /* that a read is compared with */, MAX_BANDS = 16 };

struct tile_area { /* partitions [first, end), and what a row has of it */
    int64_t first, end, base;
    struct ap_dim dim[MAX_AP_RANK + MAX_VARS];
    int rank;
    bool whole; /* the dims have all that the access touches, and nothing else */
};

struct fresh_finder {
    const struct tile_insns *u;
    const struct tile *t;
    int loop, tile;
    int64_t var;
    int64_t edges[MAX_BANDS + 1]; /* partitions where bands begin */
    int nbands;
    uint8_t *written; /* of each band, a row of elements */
    struct {
        int insn, operand, outermost;
        bool noted; /* in `written` */
    } writes[MAX_WRITES];
    int nwrites;
    int inside; /* the last loop directly inside, -1 none */
    bool needs; /* an iteration of that one reads what others have written, or what was before it */
};

bool reads_first(const struct insn *n, int operand, int64_t var)
{
    int role = operand == 0 ? insn_role(insn_info(n->op), ROLE_ACCUMULATE) : -1;
    if (role < 0 || n->ap[operand].mem == MEM_NONE)
        return operand_reads(n, operand);
    const struct affine *a = &n->imm[role];
    bool reads = !dim_is_const(a->base) || a->base;
    for (int i = 0; i < a->nterms; i++)
        reads |= a->terms[i].var <= var;
    return reads;
}

/* The loop around instruction i that lies directly in the finder's; i when none does. */
static int outermost(const struct fresh_finder *f, int i)
{
    int out = i;
    for (int l = f->u->around[i]; l != f->loop; l = f->u->around[l])
        out = l;
    return out;
}

static bool add_dim(const struct fresh_finder *f, struct tile_area *a, dim_t step, dim_t count, bool edge)
{
    int64_t row = f->t->elements;
    if (!dim_is_const(step) || !dim_is_const(count) || count < 1 || step < 0)
        return false;
    a->whole &= !edge;
    if (count == 1 || step == 0)
        return true;
    if (step < row) {
        a->dim[a->rank++] = (struct ap_dim){.step = step, .count = count};
        return true;
    }
    a->whole &= step == row && a->end == a->first + 1;
    a->end += step / row * (count - 1);
    return step % row == 0;
}

/* False: not known. */
static bool area_of(const struct fresh_finder *f, int i, int operand, struct tile_area *a)
{
    const struct insn *n = &f->u->k->insns[i];
    const struct ap *ap = &n->ap[operand];
    int64_t row = f->t->elements;
    if (!dim_is_const(ap->offset.base) || ap->offset.base < 0 || dtype_bytes(ap->dtype) != dtype_bytes(f->t->dtype) ||
        insn_info(n->op)->ap[operand].reach == REACH_INDIRECT)
        return false;
    *a = (struct tile_area){.first = ap->offset.base / row, .base = ap->offset.base % row, .whole = true};
    a->end = a->first + 1;
    bool known = true;
    for (int k = 0; k < ap->offset.nterms; k++)
        known &= ap->offset.terms[k].var > f->var; /* of loops inside */
    for (int d = 0; d < ap->rank && known; d++)
        known = add_dim(f, a, ap->dim[d].step, ap->dim[d].count, ap->dim[d].clip);
    for (int l = f->u->around[i]; l != f->loop && known; l = f->u->around[l]) {
        const struct insn *loop = &f->u->k->insns[l];
        const struct affine *trips = &loop->imm[IMM(loop, count)];
        dim_t step = affine_coef(&ap->offset, (int)loop->imm[IMM(loop, var)].base);
        known = add_dim(f, a, step, trips->base, false) && trips->nterms == 0;
    }
    int64_t last = a->base;
    for (int d = 0; d < a->rank; d++)
        last += a->dim[d].step * (a->dim[d].count - 1);
    return known && last < row && a->end <= f->t->partitions;
}

/* Notes the area's elements of a row, or asks whether all of them are noted. */
static bool go_through(uint8_t *row, const struct tile_area *a, int d, int64_t at, bool notes)
{
    if (d == a->rank) {
        row[at] |= notes;
        return row[at];
    }
    bool all = true;
    for (int64_t k = 0; k < a->dim[d].count && all; k++)
        all = go_through(row, a, d + 1, at + k * a->dim[d].step, notes);
    return all;
}

static bool in_bands(struct fresh_finder *f, const struct tile_area *a, bool notes)
{
    bool all = true;
    for (int b = 0; b < f->nbands && all; b++)
        if (f->edges[b] >= a->first && f->edges[b] < a->end)
            all = go_through(f->written + b * f->t->elements, a, 0, a->base, notes);
    return all;
}

/* Writes of loops that have ended before instruction i. */
static void note_ended(struct fresh_finder *f, int i)
{
    struct tile_area a;
    for (int w = 0; w < f->nwrites; w++)
        if (!f->writes[w].noted && f->u->ends[f->writes[w].outermost] < i) {
            f->writes[w].noted = true;
            if (area_of(f, f->writes[w].insn, f->writes[w].operand, &a) && a.whole)
                in_bands(f, &a, true);
        }
}

/* Whether a write before it, in loops that are around it too, has the same pattern. */
static bool same_as_written(const struct fresh_finder *f, int i, int operand)
{
    const struct insn *n = &f->u->k->insns[i];
    if (insn_info(n->op)->ap[operand].reach == REACH_INDIRECT)
        return false;
    for (int w = 0; w < f->nwrites; w++) {
        int from = f->writes[w].insn, around = f->u->around[i];
        const struct insn *o = &f->u->k->insns[from];
        while (around != f->loop && around != f->u->around[from])
            around = f->u->around[around];
        if (around == f->u->around[from] && ap_equal(&o->ap[f->writes[w].operand], &n->ap[operand]) &&
            insn_info(o->op)->ap[f->writes[w].operand].reach != REACH_INDIRECT)
            return true;
    }
    return false;
}

static bool touches_operand(const struct fresh_finder *f, int i, int operand)
{
    const struct ap *ap = &f->u->k->insns[i].ap[operand];
    return ap->mem == f->t->mem && ap->tensor == f->tile;
}

static bool reads_written(struct fresh_finder *f, int i)
{
    const struct insn *n = &f->u->k->insns[i];
    struct tile_area a;
    note_ended(f, i);
    int out = outermost(f, i);
    if (out != i && out != f->inside)
        f->inside = out, f->needs = !written_part_by_part(f->u, f->tile, out);
    for (int x = 0; x < insn_info(n->op)->naps && (out == i || f->needs); x++)
        if (touches_operand(f, i, x) && reads_first(n, x, f->var) && !same_as_written(f, i, x) &&
            !(area_of(f, i, x, &a) && in_bands(f, &a, false)))
            return false;
    for (int x = 0; x < insn_info(n->op)->naps; x++)
        if (touches_operand(f, i, x) && operand_writes(n, x)) {
            if (f->nwrites == MAX_WRITES) {
                note_ended(f, f->u->k->ninsns);
                f->nwrites = 0;
            }
            f->writes[f->nwrites].insn = i, f->writes[f->nwrites].operand = x;
            f->writes[f->nwrites].outermost = out, f->writes[f->nwrites++].noted = false;
        }
    return true;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool add_edge(struct fresh_finder *f, int64_t edge)
{
    for (int i = 0; i < f->nbands; i++)
        if (f->edges[i] == edge)
            return true;
    if (f->nbands == MAX_BANDS)
        return false;
    f->edges[f->nbands++] = edge;
    return true;
}

/* False: the accesses are of too many kinds. */
static bool find_bands(struct fresh_finder *f, int first, int end)
{
    struct tile_area a;
    for (int i = first; i < end; i++)
        for (int x = 0; x < insn_info(f->u->k->insns[f->u->insns[i]].op)->naps; x++)
            if (touches_operand(f, f->u->insns[i], x) && area_of(f, f->u->insns[i], x, &a) &&
                (!add_edge(f, a.first) || !add_edge(f, a.end)))
                return false;
    qsort(f->edges, (size_t)f->nbands, sizeof *f->edges, by_number);
    return f->nbands > 0;
}

bool written_part_by_part(const struct tile_insns *u, int tile, int loop)
{
    const struct tile *t = &u->k->tiles[tile];
    struct fresh_finder f = {.u = u, .t = t, .loop = loop, .tile = tile, .inside = -1};
    struct arena scratch = {0};
    int first = u->begin[tile], end = u->begin[tile + 1];
    f.var = u->k->insns[loop].imm[IMM(loop, var)].base;
    while (first < end && u->insns[first] < loop)
        first++;
    while (end > first && u->insns[end - 1] > u->ends[loop])
        end--;
    if (!dim_is_const(t->partitions) || !dim_is_const(t->elements) || !find_bands(&f, first, end))
        return false;
    f.written = ARENA_ARRAY(&scratch, uint8_t, (size_t)(f.nbands * t->elements));
    bool fresh = true;
    for (int i = first; i < end && fresh; i++)
        fresh = reads_written(&f, u->insns[i]);
    arena_free(&scratch);
    return fresh;
}
