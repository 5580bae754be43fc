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

/* Of a pattern of a tensor, the first byte in the memory that its slot has a part of; -1: known only later. */
static int64_t first_byte(const struct chain *c, const struct ap *a)
{
    const struct slot *s = &c->p->slots[a->tensor];
    int64_t at = a->offset.base * (int64_t)dtype_bytes(a->dtype);
    if (s->kind != SLOT_VIEW)
        return at;
    return dim_is_const(s->offset) ? at + s->offset * (int64_t)dtype_bytes(s->type.dtype) : -1;
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
    int64_t size = (int64_t)dtype_bytes(near->dtype), run = 1, first = first_byte(c, far);
    if (size != (int64_t)dtype_bytes(t->dtype) || t->fixed || first < 0)
        return false;
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
    r->far = first, r->n = run * size;
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

/* The part of the load that the store, which may have more rows, has in the same partitions; false: they meet
 * otherwise. An empty part: they do not meet. */
static bool common_part(const struct rows_moved *load, const struct rows_moved *store, struct resident_piece *p)
{
    *p = (struct resident_piece){*store, 0, 0};
    if (!meet(load->far, end_of(load), store->far, end_of(store)))
        return true;
    int64_t row = load->first - store->first, pitch = store->pitch;
    if (row < 0 || row + load->rows > store->rows || (load->rows > 1 && pitch != load->pitch) ||
        store->size != load->size)
        return false;
    p->of.first = load->first, p->of.rows = load->rows, p->of.far += row * pitch;
    int64_t d = p->of.far - load->far;
    if (store->rows > 1 && (d >= pitch || d <= -pitch || meet(d + pitch, d + pitch + store->n, 0, load->n) ||
                            meet(d - pitch, d - pitch + store->n, 0, load->n)))
        return false;
    p->from = d > 0 ? d : 0;
    p->to = d + store->n < load->n ? d + store->n : load->n;
    if (p->to < p->from)
        p->to = p->from;
    return true;
}

/* The pieces that a load consists of; 0: not all of it was stored that way, or there is no room for them. */
static int stored_pieces(const struct chain *c, const struct rows_moved *load, struct resident_piece *pieces, int room)
{
    const struct uses *stores = &c->stores[load->root];
    int64_t found = 0;
    int n = 0;
    for (int i = stores->n - 1; i >= 0; i--) {
        struct rows_moved store;
        if (stores->at[i] >= load->insn)
            continue;
        if (n == room || !moves_rows(c, stores->at[i], false, &store) || !common_part(load, &store, &pieces[n]))
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

/* Whether one transfer within HBM has made all of what the slot has, and the load takes rows of what was copied; the
 * same rows where they came from. */
static bool find_copied(const struct chain *c, const struct rows_moved *load, struct rows_moved *from)
{
    const struct uses *stores = &c->stores[load->root];
    const struct insn *n = stores->n == 1 && stores->at[0] < load->insn ? &c->k.insns[stores->at[0]] : NULL;
    if (!n || n->op != INSN_dma_copy || n->ap[SRC].mem != MEM_HBM || n->ap[DST].rank != n->ap[SRC].rank ||
        n->ap[DST].dtype != n->ap[SRC].dtype || !is_plain(&n->ap[DST]) || !is_plain(&n->ap[SRC]))
        return false;
    int64_t size = (int64_t)dtype_bytes(n->ap[DST].dtype), run = 1, rows = 1, to_pitch = 0, from_pitch = 0;
    for (int i = n->ap[DST].rank - 1; i >= 0; i--) {
        const struct ap_dim *to = &n->ap[DST].dim[i], *of = &n->ap[SRC].dim[i];
        if (to->count != of->count || to->count < 1 || rows > 1)
            return false;
        if (to->count > 1 && to->step == run && of->step == run)
            run *= to->count;
        else if (to->count > 1)
            rows = to->count, to_pitch = to->step * size, from_pitch = of->step * size;
    }
    int64_t to = first_byte(c, &n->ap[DST]), of = first_byte(c, &n->ap[SRC]), at = load->far - to, row = 0;
    if (to < 0 || of < 0 || at < 0 || (rows > 1 && (to_pitch < run * size || from_pitch < run * size)))
        return false;
    if (rows > 1)
        row = at / to_pitch, at %= to_pitch;
    if (load->size != size || at + load->n > run * size || row + load->rows > rows ||
        (load->rows > 1 && load->pitch != to_pitch))
        return false;
    *from = *load;
    from->insn = stores->at[0], from->root = slot_root(c->p, n->ap[SRC].tensor);
    from->far = of + row * from_pitch + at, from->pitch = from_pitch;
    return true;
}

/* The same, also of what was copied within HBM after it had been stored. */
static int find_pieces(const struct chain *c, const struct rows_moved *load, struct resident_piece *pieces, int room)
{
    int n = stored_pieces(c, load, pieces, room);
    struct rows_moved from;
    if (n || !find_copied(c, load, &from))
        return n;
    n = stored_pieces(c, &from, pieces, room);
    for (int i = 0; i < n; i++)
        pieces[i].of.far += load->far - from.far;
    return n;
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

/* All loads of a tile, of columns side by side, whose elements one other tile has at the same distance. */
struct one_source {
    struct rows_moved columns; /* of all: first, rows, at, n */
    int tile, loads[MAX_PIECES], nloads;
    int64_t shift; /* bytes from the loaded tile's columns to the other's */
    struct resident_piece pieces[MAX_PIECES];
    int npieces;
};

static bool add_load(const struct chain *c, const struct rows_moved *load, struct one_source *s)
{
    int n = find_pieces(c, load, s->pieces + s->npieces, MAX_PIECES - s->npieces);
    const struct resident_piece *first = &s->pieces[s->npieces];
    if (n == 0)
        return false;
    if (s->nloads == 0) {
        s->columns = *load, s->tile = first->of.tile, s->shift = start_in(first, load) - load->at;
    } else {
        int64_t end = s->columns.at + s->columns.n, this_end = load->at + load->n;
        if (load->first != s->columns.first || load->rows != s->columns.rows ||
            (load->at != end && this_end != s->columns.at))
            return false;
        s->columns.at = load->at < s->columns.at ? load->at : s->columns.at;
        s->columns.n += load->n;
    }
    for (int i = 0; i < n; i++)
        if (first[i].of.tile != s->tile || start_in(&first[i], load) - load->at != s->shift)
            return false;
    s->loads[s->nloads++] = load->insn, s->npieces += n;
    return true;
}

/* False: something else writes the tile, or its elements are in several. */
static bool find_source(const struct chain *c, int tile, struct one_source *s)
{
    const struct uses *u = &c->tiles[tile];
    struct rows_moved load;
    *s = (struct one_source){.tile = -1};
    for (int i = 0; i < u->n; i++)
        if (writes(c, u->at[i]) && (c->gone[u->at[i] / MAX_APS] || s->npieces == MAX_PIECES ||
                                    !moves_rows(c, u->at[i] / MAX_APS, true, &load) || !add_load(c, &load, s)))
            return false;
    return s->nloads > 0 && s->tile != tile && same_elements(c, s->tile, tile);
}

/* Whether what reads the loaded tile may read the other one: that has the same as long as the loaded one is used. */
static bool can_read_source(const struct chain *c, int tile, const struct one_source *from)
{
    int last = last_use(c, tile);
    const struct uses *u = &c->tiles[tile];
    const struct rows_moved *columns = &from->columns;
    struct resident_span s;
    for (int i = 0; i < u->n; i++)
        if (!writes(c, u->at[i]) && !c->gone[u->at[i] / MAX_APS] &&
            (!span_of(c, u->at[i], &s) || !within(&s, columns, columns->at, columns->at + columns->n)))
            return false;
    u = &c->tiles[from->tile];
    for (int i = 0; i < u->n; i++) {
        int insn = u->at[i] / MAX_APS;
        if (c->gone[insn] || !writes(c, u->at[i]) || insn > last)
            continue;
        if (!span_of(c, u->at[i], &s))
            return false;
        for (int k = 0; k < from->npieces; k++) {
            const struct rows_moved *store = &from->pieces[k].of;
            if (insn > store->insn && meet(s.low, s.high, store->at, store->at + store->n))
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

static void take_out(struct chain *c, int load)
{
    c->gone[load] = true;
    c->reads[slot_root(c->p, c->k.insns[load].ap[SRC].tensor)]--;
}

/* Takes the load out where its elements are in tiles, with it all of its tile's where one other tile has them. How many
 * loads; -1: a rule of the machine forbids it. */
static int keep_load(struct chain *c, int insn)
{
    struct rows_moved load;
    struct resident_piece pieces[MAX_PIECES];
    struct one_source from;
    if (c->gone[insn] || !moves_rows(c, insn, true, &load))
        return 0;
    int n = find_pieces(c, &load, pieces, MAX_PIECES);
    if (n == 0)
        return 0;
    if (find_source(c, load.tile, &from) && can_read_source(c, load.tile, &from)) {
        for (int i = 0; i < from.nloads; i++)
            take_out(c, from.loads[i]);
        return move_uses(c, load.tile, from.tile, from.shift) ? from.nloads : -1;
    }
    if (!can_be_parts(c, &load, pieces, n))
        return 0;
    take_out(c, insn);
    bool ok = true;
    for (int i = 0; i < n; i++)
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
