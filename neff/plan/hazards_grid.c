/*
 * Programs of one grid that are not independent: two that write one element of a tensor, or one
 * that reads what another one writes. Every point of the grid is walked, addresses concrete; each
 * element of a tensor that is written keeps the point that wrote it.
 */
#include "neff/plan/hazards_memory.h"

#include <stdio.h>
#include <string.h>

struct owner { /* of an element: the point of the grid that wrote it, from 1, and by what */
    int32_t point, insn;
};

struct grid {
    const struct program *p;
    const struct kernel *k;
    const struct hazard_limits *limits;
    struct diag *d;
    struct arena scratch;
    struct hazard_memory memory;
    int64_t vars[MAX_VARS], executed, touched;
    const int64_t *values;
    struct owner **owners; /* per slot; NULL: not written, or too large */
    int64_t *sizes;        /* bytes of it */
    bool *useful;          /* per instruction: it, or of a loop its body, touches HBM as is looked for */
    int *ends;
    int32_t point;
    bool reading;
};

enum { MAX_OWNERS = 1 << 24 }; /* elements that are followed, of all tensors */
enum { MAX_TOUCHED = 1 << 30 }; /* how often; a second or two */

/* ---- what is followed ---- */

/* Sums of several programs in one place are what accumulating and combining are for; an indirect
 * pattern may go anywhere. */
static bool followed(const struct insn *n, int a, bool write)
{
    const struct operand_info *o = &insn_info(n->op)->ap[a];
    return n->ap[a].mem == MEM_HBM && o->reach != REACH_INDIRECT && o->access == (write ? 'w' : 'r');
}

static bool find_useful(struct grid *g, bool write)
{
    bool any = false;
    int open[MAX_VARS + 1], depth = 0;
    memset(g->useful, 0, sizeof *g->useful * (size_t)(g->k->ninsns + 1));
    for (int i = 0; i < g->k->ninsns; i++) {
        const struct insn *n = &g->k->insns[i];
        if (n->op == INSN_loop)
            open[depth++] = i;
        else if (n->op == INSN_end)
            g->ends[open[--depth]] = i;
        else
            for (int a = 0; a < insn_info(n->op)->naps; a++)
                g->useful[i] |= followed(n, a, write);
        for (int l = 0; l < depth && g->useful[i]; l++)
            g->useful[open[l]] = true;
        any |= g->useful[i];
    }
    return any;
}

static void make_owners(struct grid *g)
{
    int64_t left = MAX_OWNERS;
    for (int i = 0; i < g->k->ninsns; i++)
        for (int a = 0; a < insn_info(g->k->insns[i].op)->naps; a++) {
            if (!followed(&g->k->insns[i], a, true))
                continue;
            int slot = slot_root(g->p, g->k->insns[i].ap[a].tensor);
            const struct type *t = &g->p->slots[slot].type;
            int64_t n = 1;
            for (int k = 0; k < t->rank; k++)
                n = n > left ? n : n * dim_value(g->values, t->dims[k]);
            if (g->owners[slot] || n < 1 || n > left)
                continue;
            left -= n;
            g->sizes[slot] = n * (int64_t)dtype_bytes(t->dtype);
            g->owners[slot] = ARENA_ARRAY(&g->scratch, struct owner, n);
        }
}

/* ---- the walk ---- */

static const char *point_text(struct grid *g, int32_t point)
{
    const char *text = "";
    int64_t rest = point - 1;
    for (int i = g->k->ngrid - 1; i >= 0; i--) {
        int64_t n = dim_value(g->values, g->k->grid[i]);
        text = arena_printf(&g->scratch, "%lld%s%s", (long long)(rest % n), *text ? ", " : "",
                            text);
        rest /= n;
    }
    return text;
}

/* "k.py:12: nl.store: ", or "" */
static const char *where_text(struct grid *g, int i)
{
    int node = g->k->insns[i].node;
    return node < 0 ? "" : arena_printf(&g->scratch, "%.200s: %.100s: ", g->p->nodes[node].name,
                                        g->p->nodes[node].source);
}

static bool meet(struct grid *g, int i, int slot, int64_t element, const struct owner *o)
{
    const char *name = g->p->slots[slot].name;
    if (!name)
        name = arena_printf(&g->scratch, "%%%d", slot);
    return fail(g->d,
                "%sprograms (%s) and (%s) of the grid %s element %lld of '%s' (instructions %d and "
                "%d); programs run in any order: give each a part of its own",
                where_text(g, i), point_text(g, o->point), point_text(g, g->point),
                g->reading ? "write and read" : "both write", (long long)element, name, o->insn, i);
}

/* False, and no message: that would take too long. */
static bool touch(struct grid *g, int i, const struct ap *a)
{
    struct box b = box_of(&g->memory, a);
    int slot = b.tensor;
    int64_t size = (int64_t)dtype_bytes(g->p->slots[slot].type.dtype), at[MAX_AP_RANK] = {0};
    struct owner *owners = g->owners[slot];
    if (!owners || b.total == 0 || b.low < 0 || b.high > g->sizes[slot])
        return true;
    int64_t walked = 1; /* a file may repeat elements at will */
    for (int k = 0; k < b.rank; k++) {
        b.count[k] = b.step[k] == 0 ? 1 : b.count[k];
        walked = b.count[k] > MAX_TOUCHED / walked ? MAX_TOUCHED : walked * b.count[k];
    }
    g->touched += walked;
    if (g->touched >= MAX_TOUCHED)
        return false;
    int64_t byte = b.offset;
    do {
        for (int64_t e = byte / size; e <= (byte + b.run - 1) / size; e++) {
            struct owner *o = &owners[e];
            if (o->point && o->point != g->point)
                return meet(g, i, slot, e, o);
            if (!g->reading)
                *o = (struct owner){g->point, i};
        }
    } while (box_next(&b, at, &byte));
    return true;
}

static bool walk(struct grid *g, int from, int to)
{
    for (int i = from; i < to; i++) {
        const struct insn *n = &g->k->insns[i];
        if (n->op == INSN_loop) {
            int64_t count = hazard_value(&g->memory, &n->imm[IMM(loop, count)]);
            int var = (int)n->imm[IMM(loop, var)].base;
            for (int64_t t = 0; t < count && g->useful[i]; t++) {
                g->vars[var] = t;
                if (!walk(g, i + 1, g->ends[i]))
                    return false;
            }
            i = g->ends[i];
            continue;
        }
        if (!g->useful[i])
            continue;
        if (++g->executed > g->limits->insns)
            return false;
        for (int a = 0; a < insn_info(n->op)->naps; a++)
            if (followed(n, a, !g->reading) && !touch(g, i, &n->ap[a]))
                return false;
    }
    return true;
}

static bool walk_grid(struct grid *g, int64_t points)
{
    for (g->point = 1; g->point <= points; g->point++) {
        int64_t rest = g->point - 1;
        for (int i = g->k->ngrid - 1; i >= 0; i--) {
            int64_t n = dim_value(g->values, g->k->grid[i]);
            g->vars[i] = rest % n;
            rest /= n;
        }
        if (!walk(g, 0, g->k->ninsns))
            return false;
    }
    return true;
}

static bool check(struct grid *g, int64_t points)
{
    struct arena *a = &g->scratch;
    g->useful = ARENA_ARRAY(a, bool, g->k->ninsns + 1);
    g->ends = ARENA_ARRAY(a, int, g->k->ninsns + 1);
    g->owners = ARENA_ARRAY(a, struct owner *, g->p->nslots + 1);
    g->sizes = ARENA_ARRAY(a, int64_t, g->p->nslots + 1);
    g->memory = (struct hazard_memory){
        .p = g->p, .k = g->k, .values = g->values, .vars = g->vars, .arena = a};
    make_owners(g);
    for (int reading = 0; reading < 2; reading++) {
        g->reading = reading;
        if (find_useful(g, !reading) && !walk_grid(g, points))
            return !diag_failed(g->d);
    }
    return true;
}

bool kernel_grid_is_sound(const struct program *p, const struct kernel *k, const int64_t *values,
                          const struct hazard_limits *limits, struct diag *d)
{
    struct grid g = {.p = p, .k = k, .values = values, .limits = limits, .d = d};
    int64_t points = 1;
    for (int i = 0; i < k->ngrid; i++) {
        int64_t n = dim_value(values, k->grid[i]);
        points = n < 1 || points > INT32_MAX / n ? 0 : points * n;
    }
    if (points < 2 || diag_failed(d) || !hazards_known(k, values))
        return true;
    bool ok = check(&g, points);
    arena_free(&g.scratch);
    return ok;
}
