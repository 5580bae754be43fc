/*
 * Strict targets: what a kernel's author writes into one tile again and again becomes tiles in turn, so that a load
 * does not wait for those who read the one before.
 *
 * A write is whole where each read that may find some of it reads elements of one write alone, before it in the same
 * straight line, which no other write touches in between. Whole writes, with their reads, go to copies of the tile in
 * turn, those of each part of the tile by themselves.
 */
#include "backend/schedule/accesses.h"

#include "backend/tile/builder.h"

#include <string.h>

enum { COPIES = 4, SBUF_SHARE = 4 /* copies have that part of it at most */ };

struct tile_use { /* of a tile by an operand */
    int insn, operand, line;
    int from; /* of a read: the use that writes what it reads, -1 unknown */
    int to; /* of a write: the tile that it goes to */
    bool reads, writes, read; /* read: somebody reads what it writes */
};

struct rotation {
    struct program *p;
    const struct machine *m;
    struct kernel *k;
    struct accesses *accesses; /* as they were before */
    struct relations relations;
    struct tile_use *all;  /* by tile, and in the kernel's order */
    int *first;            /* per tile, and one more */
    struct tile_use *uses; /* of the tile in hand */
    int nuses;
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

static void find_uses(struct rotation *r)
{
    const struct kernel *k = r->k;
    r->first = ARENA_ARRAY(&r->scratch, int, k->ntiles + 2);
    for (int pass = 0; pass < 2; pass++) { /* how many of each tile, then which */
        for (int i = 0, line = 0; i < k->ninsns; i++) {
            const struct insn *n = &k->insns[i];
            line += insn_is_structure(n);
            for (int a = insn_info(n->op)->naps - 1; a >= 0; a--) { /* sources before the result */
                if (n->ap[a].mem != MEM_SBUF)
                    continue;
                int *at = &r->first[n->ap[a].tensor + 1 - pass];
                if (pass)
                    r->all[*at] = (struct tile_use){.insn = i, .operand = a, .line = line, .from = -1, .to = -1,
                                                    .reads = operand_reads(n, a), .writes = operand_writes(n, a)};
                ++*at;
            }
        }
        for (int t = 0; t < k->ntiles && pass == 0; t++)
            r->first[t + 1] += r->first[t];
        if (pass == 0)
            r->all = ARENA_ARRAY(&r->scratch, struct tile_use, r->first[k->ntiles] + 1);
    }
    memmove(r->first + 1, r->first, sizeof *r->first * (size_t)k->ntiles); /* each counts its own now */
    r->first[0] = 0;
}

/* The first use of the tile by instruction `insn` or one after it. */
static int uses_before(const struct rotation *r, int insn)
{
    int low = 0, high = r->nuses;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (r->uses[middle].insn < insn)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The last use before the read that writes what it may meet; -1. */
static int last_writer(struct rotation *r, int read)
{
    const struct tile_use *x = &r->uses[read];
    int insn = -1, i = read - 1;
    for (; i >= 0 && r->uses[i].insn == x->insn; i--)
        if (r->uses[i].writes && may_meet(r, &r->uses[i], x, false))
            return i;
    operand_relations(r->accesses, x->insn, x->operand, ACCESS_WRITES, &r->relations);
    for (int n = 0; n < r->relations.n; n++) {
        const struct access_relation *w = &r->relations.at[n];
        for (int m = 0; m < w->list->nruns[ACCESS_WRITES] && w->same_iteration; m++) {
            const struct access_run *run = &w->list->runs[ACCESS_WRITES][m];
            int at = last_access(run, x->insn, w->except);
            insn = at >= 0 && run->insns[at] > insn ? run->insns[at] : insn;
        }
    }
    for (i = uses_before(r, insn + 1) - 1; i >= 0 && r->uses[i].insn == insn; i--)
        if (r->uses[i].writes && may_meet(r, &r->uses[i], x, false))
            return i;
    return -1;
}

/* Of a plain pattern: partitions and columns, as distances from the tile's first where loops add the same to all. */
struct column_span {
    int64_t first, rows, low, high;
    bool dense; /* each column once */
};

static bool find_columns(const struct tile *t, const struct ap *a, struct column_span *c)
{
    if (!dim_is_const(a->offset.base) || !dim_is_const(t->elements) || t->elements < 1 || a->offset.base < 0 ||
        dtype_bytes(a->dtype) != dtype_bytes(t->dtype))
        return false;
    *c = (struct column_span){a->offset.base / t->elements, 1, a->offset.base % t->elements, 0, true};
    int64_t run = 1, last = c->low;
    for (int i = a->rank - 1; i >= 0; i--) {
        const struct ap_dim *d = &a->dim[i];
        if (!dim_is_const(d->step) || !dim_is_const(d->count) || d->clip || d->count < 1 || d->step < 0)
            return false;
        if (d->count > 1 && d->step == t->elements && c->rows == 1) {
            c->rows = d->count;
            continue;
        }
        c->dense &= d->count == 1 || d->step == run;
        run *= d->count, last += d->step * (d->count - 1);
    }
    c->high = last + 1;
    return last < t->elements;
}

static bool same_terms(const struct affine *a, const struct affine *b)
{
    bool same = a->nterms == b->nterms;
    for (int i = 0; same && i < a->nterms; i++)
        same = a->terms[i].var == b->terms[i].var && a->terms[i].coef == b->terms[i].coef;
    return same;
}

/* Whether the write has all that the read takes. */
static bool covers(const struct rotation *r, const struct tile_use *write, const struct tile_use *read)
{
    const struct ap *w = pattern(r, write), *x = pattern(r, read);
    const struct tile *t = &r->k->tiles[w->tensor];
    struct column_span to, of;
    if (ap_equal(w, x))
        return true;
    return same_terms(&w->offset, &x->offset) && find_columns(t, w, &to) && find_columns(t, x, &of) && to.dense &&
           of.first >= to.first && of.first + of.rows <= to.first + to.rows && of.low >= to.low && of.high <= to.high;
}

/* The last use that writes elements of the read's, in its straight line: where these are all, and no others. */
static int writer_of(struct rotation *r, int read)
{
    const struct tile_use *x = &r->uses[read];
    int i = last_writer(r, read);
    if (i < 0 || r->uses[i].line != x->line)
        return -1;
    const struct tile_use *w = &r->uses[i];
    bool whole = writes_all(r, w) && w->insn != x->insn && is_direct(r, x);
    return whole && covers(r, w, x) ? i : -1;
}

/* Whether nobody may read what the use writes but those whose writer is known. */
static bool is_whole(const struct rotation *r, int write, const int *unknown, int nunknown)
{
    for (int i = 0; i < nunknown; i++)
        if (may_meet(r, &r->uses[unknown[i]], &r->uses[write], true))
            return false;
    return true;
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
    int n = 0, nunknown = 0, *unknown = ARENA_ARRAY(&r->scratch, int, r->nuses + 1);
    for (int i = 0; i < r->nuses; i++) {
        struct tile_use *x = &r->uses[i];
        if (!x->reads)
            continue;
        x->from = writer_of(r, i);
        if (x->from < 0)
            unknown[nunknown++] = i;
        else
            r->uses[x->from].read = true;
    }
    for (int i = 0; i < r->nuses; i++)
        if (r->uses[i].writes && r->uses[i].read && is_whole(r, i, unknown, nunknown))
            writes[n++] = i;
    return n;
}

static void move_uses(struct rotation *r)
{
    for (int i = 0; i < r->nuses; i++) {
        const struct tile_use *x = &r->uses[i];
        int to = x->reads && x->from >= 0 ? r->uses[x->from].to : x->to;
        if (to >= 0)
            r->k->insns[x->insn].ap[x->operand].tensor = to;
    }
}

/* The how manieth write of its elements each is; how many there are of one. */
static int count_turns(struct rotation *r, const int *writes, int n, int *turns)
{
    int *alike = ARENA_ARRAY(&r->scratch, int, n + 1), nparts = 0, most = 0; /* alike: the last one of each part */
    for (int i = 0; i < n; i++) {
        int part = 0;
        while (part < nparts && !ap_equal(pattern(r, &r->uses[writes[alike[part]]]), pattern(r, &r->uses[writes[i]])))
            part++;
        turns[i] = part < nparts ? turns[alike[part]] + 1 : 0;
        nparts += part == nparts;
        alike[part] = i;
        most = turns[i] + 1 > most ? turns[i] + 1 : most;
    }
    return most;
}

static void rotate_tile(struct rotation *r, int tile)
{
    const struct tile t = r->k->tiles[tile];
    int copies = t.mem == MEM_SBUF && !t.fixed ? copies_of(r, &t) : 1, to[COPIES] = {tile};
    if (copies < 2)
        return;
    r->uses = r->all + r->first[tile], r->nuses = r->first[tile + 1] - r->first[tile];
    int *writes = ARENA_ARRAY(&r->scratch, int, r->nuses + 1), n = find_whole(r, writes);
    int *turns = ARENA_ARRAY(&r->scratch, int, n + 1), most = count_turns(r, writes, n, turns);
    copies = copies < most ? copies : most;
    if (copies < 2)
        return;
    struct kernel_builder b = kernel_reopen(r->p, r->m, r->k);
    for (int i = 1; i < copies; i++) {
        to[i] = kernel_tile_like(&b, tile);
        r->room -= t.elements * (int64_t)dtype_bytes(t.dtype);
    }
    for (int i = 0; i < n; i++)
        r->uses[writes[i]].to = to[turns[i] % copies];
    move_uses(r);
}

void rotate_tiles(struct program *p, struct kernel *k, const struct machine *m)
{
    struct rotation r = {.p = p, .m = m, .k = k, .room = m->sbuf / SBUF_SHARE};
    r.accesses = find_accesses(p, k, &r.scratch);
    find_uses(&r);
    for (int t = 0, n = k->ntiles; t < n; t++)
        rotate_tile(&r, t);
    arena_free(&r.scratch);
}
