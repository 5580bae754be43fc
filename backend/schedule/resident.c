/*
 * Loads of what is in a tile already.
 *
 * Rows of a slot that were stored from one tile, row by row in the same partitions, and are loaded into another: who
 * reads the second reads the first instead; or, where several tiles were stored side by side, these become parts of the
 * second.
 */
#include "backend/schedule/chain.h"

#include "backend/tile/rules.h"

#include <string.h>

enum { DST = AP(dma_copy, dst), SRC = AP(dma_copy, src), MAX_PIECES = 32 };

/* Rows between HBM and a tile: in each of its partitions from the first on, a run of bytes. */
struct rows_moved {
    int insn, root, tile;
    int64_t first, rows, far, pitch; /* in HBM: of the first row, and from one to the next */
    int64_t at, n;                   /* bytes in the partition */
    int64_t size;                    /* of an element */
};

static struct insn *insn_at(const struct chain *c, int use)
{
    return &c->k.insns[use / MAX_APS];
}

static struct ap *operand_at(const struct chain *c, int use)
{
    return &insn_at(c, use)->ap[use % MAX_APS];
}

static bool is_plain(const struct ap *a)
{
    bool plain = dim_is_const(a->offset.base) && !a->offset.nterms && a->rank > 0;
    for (int i = 0; i < a->rank; i++)
        plain &= dim_is_const(a->dim[i].step) && dim_is_const(a->dim[i].count) && !a->dim[i].clip;
    return plain;
}

/* Whether the instruction moves rows between HBM and a tile in SBUF, `into` the tile or out of it; which. */
static bool moves_rows(const struct chain *c, int insn, bool into, struct rows_moved *r)
{
    const struct insn *n = &c->k.insns[insn];
    if (n->op != INSN_dma_copy)
        return false;
    const struct ap *far = &n->ap[into ? SRC : DST], *near = &n->ap[into ? DST : SRC];
    if (far->mem != MEM_HBM || near->mem != MEM_SBUF || far->rank != near->rank || far->dtype != near->dtype ||
        !is_plain(far) || !is_plain(near))
        return false;
    const struct tile *t = &c->k.tiles[near->tensor];
    const struct slot *s = &c->p->slots[far->tensor];
    int64_t size = (int64_t)dtype_bytes(near->dtype), run = 1, offset = 0;
    if (size != (int64_t)dtype_bytes(t->dtype) || t->fixed)
        return false;
    if (s->kind == SLOT_VIEW) {
        if (!dim_is_const(s->offset))
            return false;
        offset = s->offset * (int64_t)dtype_bytes(s->type.dtype);
    }
    *r = (struct rows_moved){
        .insn = insn, .root = slot_root(c->p, far->tensor), .tile = near->tensor, .rows = 1, .size = size};
    for (int i = near->rank - 1; i >= 0; i--) {
        const struct ap_dim *x = &near->dim[i], *y = &far->dim[i];
        if (x->count != y->count || x->count < 1)
            return false;
        if (x->count == 1)
            continue;
        if (x->step == t->elements && r->rows == 1)
            r->rows = x->count, r->pitch = y->step * size;
        else if (x->step == run && y->step == run && x->step < t->elements)
            run *= x->count;
        else
            return false;
    }
    r->first = near->offset.base / t->elements, r->at = near->offset.base % t->elements * size;
    r->far = far->offset.base * size + offset, r->n = run * size;
    return r->at + r->n <= t->elements * size && (r->rows == 1 || r->pitch >= r->n);
}

/* ---- what was stored ---- */

/* Of a load's columns: those that a store has written, from the same partitions. */
struct resident_piece {
    struct rows_moved of;
    int64_t from, to; /* bytes of the load's rows */
};

static bool meet(int64_t a, int64_t a_end, int64_t b, int64_t b_end)
{
    return a < b_end && b < a_end;
}

static int64_t end_of(const struct rows_moved *r)
{
    return r->far + r->pitch * (r->rows - 1) + r->n;
}

/* The part of the load that the store has; false: they meet otherwise. An empty part: they do not meet. */
static bool common_part(const struct rows_moved *load, const struct rows_moved *store, struct resident_piece *p)
{
    *p = (struct resident_piece){*store, 0, 0};
    if (!meet(load->far, end_of(load), store->far, end_of(store)))
        return true;
    int64_t d = store->far - load->far;
    if (store->first != load->first || store->rows != load->rows || store->pitch != load->pitch ||
        store->size != load->size)
        return false;
    if (load->rows > 1 && (meet(d + load->pitch, d + load->pitch + store->n, 0, load->n) ||
                           meet(d - load->pitch, d - load->pitch + store->n, 0, load->n)))
        return false;
    p->from = d > 0 ? d : 0;
    p->to = d + store->n < load->n ? d + store->n : load->n;
    if (p->to < p->from)
        p->to = p->from;
    return true;
}

/* The pieces that a load consists of; 0: not all of it was stored that way. */
static int find_pieces(const struct chain *c, const struct rows_moved *load, struct resident_piece pieces[MAX_PIECES])
{
    const struct uses *stores = &c->stores[load->root];
    int64_t found = 0;
    int n = 0;
    for (int i = stores->n - 1; i >= 0; i--) {
        struct rows_moved store;
        if (stores->at[i] >= load->insn)
            continue;
        if (n == MAX_PIECES || !moves_rows(c, stores->at[i], false, &store) || !common_part(load, &store, &pieces[n]))
            return 0;
        if (pieces[n].to == pieces[n].from)
            continue;
        for (int k = 0; k < n; k++)
            if (meet(pieces[k].from, pieces[k].to, pieces[n].from, pieces[n].to))
                return 0;
        found += pieces[n].to - pieces[n].from;
        n++;
    }
    return found == load->n ? n : 0;
}

/* Where the first column of the load would be in the piece's tile. */
static int64_t start_in(const struct resident_piece *p, const struct rows_moved *load)
{
    return p->of.at - (p->of.far - load->far);
}

/* ---- patterns of tiles ---- */

struct resident_span {
    int64_t first, last, low, high; /* partitions; bytes [low, high) of each */
};

/* False: the pattern is not plain rows. */
static bool span_of(const struct chain *c, int use, struct resident_span *s)
{
    const struct insn *n = insn_at(c, use);
    const struct ap *a = operand_at(c, use);
    const struct tile *t = &c->k.tiles[a->tensor];
    int64_t size = (int64_t)dtype_bytes(a->dtype), row = t->elements;
    if (!is_plain(a) || size != (int64_t)dtype_bytes(t->dtype) ||
        insn_info(n->op)->ap[use % MAX_APS].reach == REACH_INDIRECT)
        return false;
    int64_t high = a->offset.base % row;
    s->first = s->last = a->offset.base / row, s->low = high * size;
    for (int i = 0; i < a->rank; i++) {
        const struct ap_dim *d = &a->dim[i];
        if (d->count <= 1 || d->step == 0)
            continue;
        if (d->step < 0 || (d->step >= row && d->step != row))
            return false;
        if (d->step == row)
            s->last += d->count - 1;
        else
            high += d->step * (d->count - 1);
    }
    s->high = (high + 1) * size;
    return high < row;
}

static bool writes(const struct chain *c, int use)
{
    return operand_writes(insn_at(c, use), use % MAX_APS);
}

static bool within(const struct resident_span *s, const struct rows_moved *r, int64_t low, int64_t high)
{
    return s->first >= r->first && s->last < r->first + r->rows && s->low >= low && s->high <= high;
}

static int last_use(const struct chain *c, int tile)
{
    int last = -1;
    for (int i = 0; i < c->tiles[tile].n; i++)
        if (c->tiles[tile].at[i] / MAX_APS > last)
            last = c->tiles[tile].at[i] / MAX_APS;
    return last;
}

/* ---- another tile ---- */

/* The operands of tile `from` get tile `to`, `shift` bytes further on in its partitions. */
static bool move_uses(struct chain *c, int from, int to, int64_t shift)
{
    struct uses *u = &c->tiles[from];
    const struct tile *s = &c->k.tiles[from], *t = &c->k.tiles[to];
    int64_t size = (int64_t)dtype_bytes(s->dtype);
    bool ok = true;
    for (int i = 0; i < u->n; i++) {
        int insn = u->at[i] / MAX_APS;
        struct ap *a = operand_at(c, u->at[i]);
        ARENA_GROW(&c->scratch, c->changes, c->nchanges, c->changes_cap);
        c->changes[c->nchanges++] = (struct changed){insn, u->at[i] % MAX_APS, *a};
        a->offset.base = a->offset.base / s->elements * t->elements + a->offset.base % s->elements + shift / size;
        for (int d = 0; d < a->rank; d++)
            if (a->dim[d].step == s->elements)
                a->dim[d].step = t->elements;
        a->tensor = to;
        ARENA_GROW(&c->scratch, c->tiles[to].at, c->tiles[to].n, c->tiles[to].cap);
        c->tiles[to].at[c->tiles[to].n++] = u->at[i];
        struct tile_context x = {c->p, &c->k, c->m, NULL};
        struct diag d = {0};
        ok &= c->gone[insn] || tile_check(&x, &c->k.insns[insn], &d);
    }
    u->n = 0;
    return ok;
}

static bool same_elements(const struct chain *c, int a, int b)
{
    const struct tile *s = &c->k.tiles[a], *t = &c->k.tiles[b];
    return dtype_bytes(s->dtype) == dtype_bytes(t->dtype) && !s->fixed && !t->fixed;
}

/* Whether what reads the loaded tile may read that of the pieces: it is one, and has the same as long as the other is
 * used. */
static bool can_read_store(const struct chain *c, const struct rows_moved *load, const struct resident_piece *pieces,
                           int n)
{
    int tile = pieces[0].of.tile, last = last_use(c, load->tile);
    for (int i = 0; i < n; i++)
        if (pieces[i].of.tile != tile || start_in(&pieces[i], load) != start_in(&pieces[0], load))
            return false;
    if (tile == load->tile || !same_elements(c, tile, load->tile))
        return false;
    const struct uses *u = &c->tiles[load->tile];
    struct resident_span s;
    for (int i = 0; i < u->n; i++) {
        int insn = u->at[i] / MAX_APS;
        if (insn == load->insn || c->gone[insn])
            continue;
        if (insn < load->insn || writes(c, u->at[i]) || !span_of(c, u->at[i], &s) ||
            !within(&s, load, load->at, load->at + load->n))
            return false;
    }
    u = &c->tiles[tile];
    for (int i = 0; i < u->n; i++) {
        int insn = u->at[i] / MAX_APS;
        if (c->gone[insn] || !writes(c, u->at[i]) || insn > last)
            continue;
        if (!span_of(c, u->at[i], &s))
            return false;
        for (int k = 0; k < n; k++) {
            int64_t low = pieces[k].of.at, high = low + pieces[k].of.n;
            if (insn > pieces[k].of.insn && meet(s.low, s.high, low, high))
                return false;
        }
    }
    return true;
}

/* The first instruction but the load that writes columns [low, high) of the loaded tile, and whether any touches them
 * before. */
static int next_write(const struct chain *c, const struct rows_moved *load, int64_t low, int64_t high, bool *before)
{
    const struct uses *u = &c->tiles[load->tile];
    int next = c->k.ninsns;
    struct resident_span s;
    for (int i = 0; i < u->n; i++) {
        int insn = u->at[i] / MAX_APS;
        if (insn == load->insn || c->gone[insn] || (span_of(c, u->at[i], &s) && !meet(s.low, s.high, low, high)))
            continue;
        *before |= insn < load->insn;
        if (writes(c, u->at[i]) && insn < next)
            next = insn;
    }
    return next;
}

/* Whether the piece's tile, which has nothing else, can be a part of the loaded one. */
static bool can_be_part(const struct chain *c, const struct rows_moved *load, const struct resident_piece *p)
{
    const struct uses *u = &c->tiles[p->of.tile];
    bool before = false;
    struct resident_span s;
    if (p->of.tile == load->tile || !same_elements(c, p->of.tile, load->tile) || p->to - p->from != p->of.n)
        return false;
    int next = next_write(c, load, load->at + p->from, load->at + p->to, &before);
    for (int i = 0; i < u->n; i++) {
        int insn = u->at[i] / MAX_APS;
        if (c->gone[insn])
            continue;
        if (!span_of(c, u->at[i], &s) || !within(&s, &p->of, p->of.at, p->of.at + p->of.n) || insn >= next ||
            (writes(c, u->at[i]) && insn > p->of.insn))
            return false;
    }
    return !before;
}

static bool can_be_parts(const struct chain *c, const struct rows_moved *load, const struct resident_piece *pieces,
                         int n)
{
    for (int i = 0; i < n; i++) {
        if (!can_be_part(c, load, &pieces[i]))
            return false;
        for (int k = 0; k < i; k++)
            if (pieces[k].of.tile == pieces[i].of.tile)
                return false;
    }
    return true;
}

/* Takes the load out where its elements are in tiles; 1: it did, -1: a rule of the machine forbids it. */
static int keep_load(struct chain *c, int insn)
{
    struct rows_moved load;
    struct resident_piece pieces[MAX_PIECES];
    if (!moves_rows(c, insn, true, &load))
        return 0;
    int n = find_pieces(c, &load, pieces);
    if (n == 0)
        return 0;
    bool ok = true, reads = can_read_store(c, &load, pieces, n);
    if (!reads && !can_be_parts(c, &load, pieces, n))
        return 0;
    c->gone[insn] = true;
    c->reads[load.root]--;
    if (reads)
        ok = move_uses(c, load.tile, pieces[0].of.tile, start_in(&pieces[0], &load) - load.at);
    for (int i = 0; !reads && i < n; i++)
        ok &= move_uses(c, pieces[i].of.tile, load.tile, load.at + pieces[i].from - pieces[i].of.at);
    return ok ? 1 : -1;
}

int keep_resident(struct chain *c, int first)
{
    int kept = 0;
    for (int i = first; i < c->k.ninsns; i++) {
        int done = keep_load(c, i);
        if (done < 0)
            return -1;
        kept += done;
    }
    return kept;
}

bool is_dead_store(const struct chain *c, int insn)
{
    const struct insn *n = &c->k.insns[insn];
    return n->op == INSN_dma_copy && n->ap[DST].mem == MEM_HBM && c->reads[slot_root(c->p, n->ap[DST].tensor)] == 0;
}
