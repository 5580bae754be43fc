/*
 * Strict targets: what a kernel's author writes into one tile again and again becomes tiles in turn, so that a load
 * does not wait for those who read the one before.
 *
 * A write is whole where each read that may find some of it reads exactly the elements of one write before it in the
 * same straight line, which no other write touches in between. Whole writes, with their reads, go to copies of the tile
 * in turn.
 */
#include "backend/schedule/schedule.h"

#include "backend/tile/builder.h"

enum { COPIES = 4, SBUF_SHARE = 4 /* copies have that part of it at most */ };

struct tile_use { /* of a tile by an operand */
    int insn, operand, line;
    int from; /* of a read: the use that writes what it reads, -1 unknown */
    bool reads, writes;
};

struct rotation {
    struct program *p;
    const struct machine *m;
    struct kernel *k;
    struct tile_use *uses; /* of the tile in hand, in the kernel's order */
    int nuses, cap;
    int64_t room; /* bytes of a partition that are left for copies */
    struct arena scratch;
};

static const struct ap *pattern(const struct rotation *r, const struct tile_use *u)
{
    return &r->k->insns[u->insn].ap[u->operand];
}

static bool is_direct(const struct rotation *r, const struct tile_use *u)
{
    return insn_info(r->k->insns[u->insn].op)->ap[u->operand].reach != REACH_INDIRECT;
}

static bool has_clip(const struct ap *a, const struct ap_clip *c)
{
    for (int i = 0; i < a->rank; i++)
        if (ap_clip_equal(a->dim[i].clip, c))
            return true;
    return false;
}

/* Where another operand ends sooner than the result does, some of that stays. */
static bool clips_like(const struct insn *n, const struct ap *dst)
{
    for (int a = 0; a < insn_info(n->op)->naps; a++)
        for (int i = 0; n->ap[a].mem != MEM_NONE && i < n->ap[a].rank; i++)
            if (n->ap[a].dim[i].clip && !has_clip(dst, n->ap[a].dim[i].clip))
                return false;
    return true;
}

/* Whether all elements of the pattern are written: not only those that an index or a condition finds. */
static bool writes_all(const struct rotation *r, const struct tile_use *u)
{
    return !u->reads && is_direct(r, u) && clips_like(&r->k->insns[u->insn], pattern(r, u));
}

static bool may_meet(const struct rotation *r, const struct tile_use *a, const struct tile_use *b, bool carried)
{
    struct ap x = insn_touched(&r->k->insns[a->insn], a->operand), y = insn_touched(&r->k->insns[b->insn], b->operand);
    return !patterns_disjoint(r->k, &x, &y, carried);
}

static void find_uses(struct rotation *r, int tile)
{
    r->nuses = 0;
    for (int i = 0, line = 0; i < r->k->ninsns; i++) {
        const struct insn *n = &r->k->insns[i];
        line += insn_is_structure(n);
        for (int a = insn_info(n->op)->naps - 1; a >= 0; a--) { /* sources before the result */
            if (n->ap[a].mem != MEM_SBUF || n->ap[a].tensor != tile)
                continue;
            ARENA_GROW(&r->scratch, r->uses, r->nuses, r->cap);
            r->uses[r->nuses++] = (struct tile_use){i, a, line, -1, operand_reads(n, a), operand_writes(n, a)};
        }
    }
}

/* The last use that writes elements of the read's, in its straight line: where these are all, and no others. */
static int writer_of(const struct rotation *r, int read)
{
    const struct tile_use *x = &r->uses[read];
    for (int i = read - 1; i >= 0 && r->uses[i].line == x->line; i--) {
        const struct tile_use *w = &r->uses[i];
        if (!w->writes || !may_meet(r, w, x, false))
            continue;
        bool whole = writes_all(r, w) && w->insn != x->insn && is_direct(r, x);
        return whole && ap_equal(pattern(r, w), pattern(r, x)) ? i : -1;
    }
    return -1;
}

/* Whether somebody reads what the use writes, and nobody else may. */
static bool is_whole(const struct rotation *r, int write)
{
    bool read = false;
    for (int i = 0; i < r->nuses; i++) {
        const struct tile_use *x = &r->uses[i];
        read |= x->reads && x->from == write;
        if (x->reads && x->from < 0 && may_meet(r, x, &r->uses[write], true))
            return false;
    }
    return read;
}

/* How many copies of the tile there is room for, itself included. */
static int copies_of(const struct rotation *r, const struct tile *t)
{
    if (!dim_is_const(t->elements) || t->elements <= 0)
        return 1;
    int64_t bytes = t->elements * (int64_t)dtype_bytes(t->dtype), more = r->room / bytes;
    return more < COPIES - 1 ? (int)more + 1 : COPIES;
}

/* Whole writes of the tile in hand; in `writes`. */
static int find_whole(struct rotation *r, int *writes)
{
    int n = 0;
    for (int i = 0; i < r->nuses; i++)
        if (r->uses[i].reads)
            r->uses[i].from = writer_of(r, i);
    for (int i = 0; i < r->nuses; i++)
        if (r->uses[i].writes && is_whole(r, i))
            writes[n++] = i;
    return n;
}

static void move(struct rotation *r, int write, int to)
{
    for (int i = 0; i < r->nuses; i++)
        if (i == write || (r->uses[i].reads && r->uses[i].from == write))
            r->k->insns[r->uses[i].insn].ap[r->uses[i].operand].tensor = to;
}

static void rotate_tile(struct rotation *r, int tile)
{
    const struct tile t = r->k->tiles[tile];
    int copies = t.mem == MEM_SBUF && !t.fixed ? copies_of(r, &t) : 1, to[COPIES] = {tile};
    if (copies < 2)
        return;
    find_uses(r, tile);
    int *writes = ARENA_ARRAY(&r->scratch, int, r->nuses + 1), n = find_whole(r, writes);
    copies = copies < n ? copies : n;
    if (copies < 2)
        return;
    struct kernel_builder b = kernel_reopen(r->p, r->m, r->k);
    for (int i = 1; i < copies; i++) {
        to[i] = kernel_tile_like(&b, tile);
        r->room -= t.elements * (int64_t)dtype_bytes(t.dtype);
    }
    for (int i = 0; i < n; i++)
        move(r, writes[i], to[i % copies]);
}

void rotate_tiles(struct program *p, struct kernel *k, const struct machine *m)
{
    struct rotation r = {.p = p, .m = m, .k = k, .room = m->sbuf / SBUF_SHARE};
    for (int t = 0, n = k->ntiles; t < n; t++)
        rotate_tile(&r, t);
    arena_free(&r.scratch);
}
