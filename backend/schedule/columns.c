/*
 * Columns of constants in one transfer: a bias or a scale of which each partition has one number takes as long to load
 * as rows of 64, since a short piece does not move sooner than one of 256 bytes. Columns of several layers lie beside
 * each other in a constant of their own, and in one tile.
 */
#include "backend/schedule/chain.h"

#include <string.h>

enum { DST = AP(dma_copy, dst), SRC = AP(dma_copy, src), MAX = 64 /* in one tile: 256 bytes of a partition */ };

struct column {
    int load, tile; /* the instruction that brings it, its tile before */
    int slot, at;   /* of the constant, its first element */
    int n;          /* partitions */
};

/* Columns that become one tile. */
struct joined_columns {
    struct column columns[MAX];
    int n, tile;
};

struct column_tables {
    struct program *p;
    struct kernel *k;
    struct arena *a;
    int *writes;         /* per tile: instructions */
    bool *taken;         /* per tile: all its patterns are as a column's */
    int *table, *column; /* per tile: where it lies from now on; -1 */
    struct joined_columns **all;
    int n, cap;
};

static bool is_column(const struct ap *a, dim_t step)
{
    bool is = a->rank > 0 && a->dim[0].step == step && !a->offset.nterms;
    for (int i = 0; i < a->rank; i++)
        is &= !a->dim[i].clip && (i == 0 || a->dim[i].count == 1);
    return is;
}

/* Whether the instruction fills a tile of one column of a constant in float; which. */
static bool loads_column(const struct column_tables *s, int load, struct column *c)
{
    const struct insn *n = &s->k->insns[load];
    if (!loads_constant(s->p, n) || s->p->slots[n->ap[SRC].tensor].kind != SLOT_CONST)
        return false;
    const struct ap *dst = &n->ap[DST], *src = &n->ap[SRC];
    const struct tile *t = &s->k->tiles[dst->tensor];
    const struct tensor *from = &s->p->slots[src->tensor].data;
    *c = (struct column){load, dst->tensor, src->tensor, (int)src->offset.base, (int)dst->dim[0].count};
    return from->data && from->dtype == DT_F32 && src->dtype == DT_F32 && dst->dtype == DT_F32 && t->dtype == DT_F32 &&
           !t->fixed && t->elements == 1 && t->partitions == dst->dim[0].count && t->partitions > 1 &&
           is_column(dst, 1) && is_column(src, 1) && dst->offset.base == 0 && src->dim[0].count == dst->dim[0].count &&
           s->writes[dst->tensor] == 1 && s->taken[dst->tensor];
}

/* What each tile's patterns allow. */
static void look_at_tiles(struct column_tables *s)
{
    for (int t = 0; t < s->k->ntiles; t++)
        s->taken[t] = s->k->tiles[t].mem == MEM_SBUF, s->table[t] = -1;
    for (int i = 0; i < s->k->ninsns; i++)
        for (int o = 0; o < insn_info(s->k->insns[i].op)->naps; o++) {
            const struct ap *ap = &s->k->insns[i].ap[o];
            if (ap->mem != MEM_SBUF)
                continue;
            s->writes[ap->tensor] += operand_writes(&s->k->insns[i], o);
            bool column = ap->rank > 0 && ap->dim[0].step == 1 && !ap->offset.nterms && ap->offset.base == 0 &&
                          insn_info(s->k->insns[i].op)->ap[o].reach != REACH_INDIRECT;
            for (int d = 1; d < ap->rank; d++)
                column &= ap->dim[d].step == 0 || ap->dim[d].count == 1;
            s->taken[ap->tensor] &= column;
        }
}

static void add(struct column_tables *s, const struct column *c)
{
    struct joined_columns *t = s->n ? s->all[s->n - 1] : NULL;
    if (!t || t->n == MAX) {
        ARENA_GROW(s->a, s->all, s->n, s->cap);
        t = s->all[s->n++] = ARENA_NEW(s->a, struct joined_columns);
    }
    s->table[c->tile] = s->n - 1, s->column[c->tile] = t->n;
    t->columns[t->n++] = *c;
}

static int partitions_of(const struct joined_columns *t)
{
    int max = 0;
    for (int i = 0; i < t->n; i++)
        max = t->columns[i].n > max ? t->columns[i].n : max;
    return max;
}

/* The constant, row by row as partitions hold it; zero below a column that is shorter. */
static int constant_of(struct column_tables *s, const struct joined_columns *t)
{
    int rows = partitions_of(t);
    int64_t dims[] = {rows, t->n};
    float *data = ARENA_ARRAY(&s->p->arena, float, rows * t->n);
    for (int i = 0; i < t->n; i++) {
        const struct column *c = &t->columns[i];
        const float *from = (const float *)s->p->slots[c->slot].data.data + c->at;
        for (int r = 0; r < c->n; r++)
            data[r * t->n + i] = from[r];
    }
    return program_add_slot(s->p, (struct slot){.type = type_tensor(DT_F32, 2, (dim_t[]){rows, t->n}),
                                                .kind = SLOT_CONST,
                                                .base = -1,
                                                .data = tensor_view(DT_F32, 2, dims, data)});
}

/* The first load of the table's columns brings all. */
static void load_table(struct column_tables *s, struct joined_columns *t)
{
    struct insn *n = &s->k->insns[t->columns[0].load];
    int rows = partitions_of(t), slot = constant_of(s, t);
    ARENA_GROW(&s->p->arena, s->k->tiles, s->k->ntiles, s->k->tiles_cap);
    struct tile *tile = &s->k->tiles[s->k->ntiles];
    *tile = s->k->tiles[t->columns[0].tile];
    tile->partitions = rows, tile->elements = t->n;
    t->tile = s->k->ntiles++;
    struct ap row = {.dtype = DT_F32, .rank = 2, .dim = {{.step = t->n, .count = rows}, {.step = 1, .count = t->n}}};
    n->ap[DST] = n->ap[SRC] = row;
    n->ap[DST].mem = MEM_SBUF, n->ap[DST].tensor = t->tile;
    n->ap[SRC].mem = MEM_HBM, n->ap[SRC].tensor = slot;
}

/* Whether the instruction stays; its patterns of columns become those of tables. */
static bool stays(const struct column_tables *s, int insn, int ntiles)
{
    struct insn *n = &s->k->insns[insn];
    for (int o = 0; o < insn_info(n->op)->naps; o++) {
        struct ap *ap = &n->ap[o];
        if (ap->mem != MEM_SBUF || ap->tensor >= ntiles || s->table[ap->tensor] < 0)
            continue;
        const struct joined_columns *t = s->all[s->table[ap->tensor]];
        if (operand_writes(n, o))
            return false;
        ap->offset.base = s->column[ap->tensor];
        ap->dim[0].step = t->n;
        ap->tensor = t->tile;
    }
    return true;
}

static void move_insns(const struct column_tables *s, int *parts, int nparts, int ntiles)
{
    int kept = 0, part = 0;
    for (int i = 0; i < s->k->ninsns; i++) {
        while (part < nparts && parts[part] == i)
            parts[part++] = kept;
        if (stays(s, i, ntiles))
            s->k->insns[kept++] = s->k->insns[i];
    }
    while (part < nparts)
        parts[part++] = kept;
    s->k->ninsns = kept;
}

void join_columns(struct program *p, struct kernel *k, int *parts, int nparts)
{
    struct arena scratch = {0};
    struct column_tables s = {.p = p, .k = k, .a = &scratch};
    int n = k->ntiles + 1, ntiles = k->ntiles;
    s.writes = ARENA_ARRAY(&scratch, int, n), s.taken = ARENA_ARRAY(&scratch, bool, n);
    s.table = ARENA_ARRAY(&scratch, int, n), s.column = ARENA_ARRAY(&scratch, int, n);
    look_at_tiles(&s);
    for (int i = 0; i < k->ninsns; i++) {
        struct column c;
        if (loads_column(&s, i, &c))
            add(&s, &c);
    }
    for (int i = 0; i < s.n; i++)
        if (s.all[i]->n > 1)
            load_table(&s, s.all[i]);
        else
            s.table[s.all[i]->columns[0].tile] = -1;
    move_insns(&s, parts, nparts, ntiles);
    drop_unused_tiles(k);
    arena_free(&scratch);
}
