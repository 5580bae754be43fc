/*
 * Loops of few iterations on strict targets, written out.
 *
 * In a loop every iteration has the tiles of the one before, so that engines wait for each other.
 * Written out, wholly or several iterations at a time, tiles that live within an iteration are
 * other tiles in each; placement has them share memory where they must.
 */
#include "backend/schedule/schedule.h"

#include "backend/tile/builder.h"

#include <string.h>

enum {
    MAX_INSNS = 640, /* of a kernel, loops written out: order.c compares pairs */
    MAX_INSNS_STRAIGHT = 12000, /* of a traced kernel in which no loop is left then */
    MAX_TURNS = 32,
    MAX_INSNS_WHOLE = 1024
};

struct unroller {
    struct program *p;
    const struct machine *m;
    struct kernel *k;
    struct arena scratch;
    int loop, end, var;
    int64_t trips, turns; /* iterations, and of these side by side */
    bool edges;           /* the last iteration may have less of a tile */
    bool whole;           /* a loop is written out wholly or not at all */
    bool straight;        /* all loops are */
    bool placed;          /* tiles have places: every turn has the same ones */
    const int *tiles;     /* per tile: what it is in this turn */
};

/* ---- one turn ---- */

/* The variable is `turns` times what is left of it, or nothing, and `turn`. */
static void substitute(const struct unroller *u, struct affine *a, int64_t turn)
{
    struct dim_table *t = &u->p->dims;
    dim_t coef = affine_coef(a, u->var);
    if (!coef)
        return;
    a->base = dim_add(t, a->base, dim_mul(t, coef, turn));
    affine_set(a, &u->p->arena, u->var,
               u->turns == u->trips ? 0 : dim_mul(t, coef, u->turns));
}

static void substitute_clip(const struct unroller *u, struct ap_dim *d, int64_t turn)
{
    struct dim_table *t = &u->p->dims;
    if (!d->clip || d->clip->var != u->var)
        return;
    struct ap_clip c = *d->clip;
    c.limit = dim_sub(t, c.limit, dim_mul(t, c.factor, turn));
    if (u->turns == u->trips) {
        d->count = c.limit < d->count ? c.limit : d->count;
        d->clip = NULL;
        return;
    }
    c.factor = dim_mul(t, c.factor, u->turns);
    d->clip = arena_copy(&u->p->arena, &c, sizeof c);
}

static void copy_insn(struct unroller *u, const struct insn *from, int64_t turn)
{
    const struct insn_info *info = insn_info(from->op);
    struct insn *to = kernel_add(u->p, u->k, from->op);
    struct ap *ap = to->ap;
    struct affine *imm = to->imm;
    *to = *from;
    to->ap = memcpy(ap, from->ap, sizeof *ap * info->naps);
    to->imm = memcpy(imm, from->imm, sizeof *imm * info->nimms);
    if (turn < 0)
        return;
    for (int i = 0; i < info->nimms; i++)
        substitute(u, &imm[i], turn);
    for (int a = 0; a < info->naps; a++) {
        substitute(u, &ap[a].offset, turn);
        for (int i = 0; i < ap[a].rank; i++)
            substitute_clip(u, &ap[a].dim[i], turn);
        if (ap[a].mem == MEM_SBUF || ap[a].mem == MEM_PSUM)
            ap[a].tensor = u->tiles[ap[a].tensor];
    }
}

/* ---- which loops ---- */

/* Whether the edges of tiles are known, and no turn has an empty one; or there are none, where a
 * whole tile may be read of which the last turn writes a part: the others' tile has been written. */
static bool has_known_edges(const struct unroller *u)
{
    struct dim_table *t = &u->p->dims;
    for (int i = u->loop; i < u->end; i++)
        for (int a = 0; a < insn_info(u->k->insns[i].op)->naps; a++)
            for (int d = 0; d < u->k->insns[i].ap[a].rank; d++) {
                const struct ap_clip *c = u->k->insns[i].ap[a].dim[d].clip;
                if (!c || c->var != u->var)
                    continue;
                dim_t count = u->k->insns[i].ap[a].dim[d].count;
                if (!dim_is_const(c->factor) || !dim_is_const(c->limit) || !dim_is_const(count))
                    return false;
                dim_t last = dim_sub(t, c->limit, dim_mul(t, c->factor, u->trips - 1));
                if (last < (u->edges ? 1 : count))
                    return false;
            }
    return true;
}

static int64_t turns_of(const struct unroller *u)
{
    int64_t body = u->end - u->loop - 1, others = u->k->ninsns - body;
    if (u->straight)
        return u->trips;
    if (u->whole)
        return body * u->trips + others <= MAX_INSNS_WHOLE ? u->trips : 1;
    for (int64_t n = u->trips < MAX_TURNS ? u->trips : MAX_TURNS; n > 1; n--)
        if (u->trips % n == 0 && body * n + others <= MAX_INSNS)
            return n;
    return 1;
}

/* An innermost loop of a known number of iterations that can be written out, from the last one on;
 * in `u`. */
static bool find_loop(struct unroller *u, int before)
{
    int end = -1;
    for (int i = before - 1; i >= 0; i--) {
        const struct insn *n = &u->k->insns[i];
        if (n->op == INSN_end)
            end = i;
        if (n->op != INSN_loop || end < 0)
            continue;
        const struct affine *trips = &n->imm[IMM(loop, count)];
        u->loop = i, u->end = end, u->var = (int)n->imm[IMM(loop, var)].base;
        end = -1; /* loops around it hold a loop */
        u->trips = trips->nterms || !dim_is_const(trips->base) ? 0 : trips->base;
        if (u->trips < 2 || !has_known_edges(u))
            continue;
        u->turns = turns_of(u);
        if (u->turns > 1)
            return true;
    }
    return false;
}

/* ---- writing out ---- */

/* What each tile is in a turn after the first: another one, if it lives within an iteration. */
static const int *tiles_of_turn(struct unroller *u, const struct tile_span *live, int ntiles)
{
    struct kernel_builder b = kernel_reopen(u->p, u->m, u->k);
    int *tiles = ARENA_ARRAY(&u->scratch, int, ntiles + 1);
    for (int t = 0; t < ntiles; t++) {
        bool own = live[t].first > u->loop && live[t].last < u->end && !u->k->tiles[t].fixed;
        tiles[t] = own ? kernel_tile_like(&b, t) : t;
    }
    return tiles;
}

static void write_out(struct unroller *u)
{
    struct kernel *k = u->k;
    const struct tile_span *live = u->placed ? NULL : tile_spans(u->p, k, &u->scratch);
    const struct insn *old = k->insns;
    int n = k->ninsns, ntiles = k->ntiles;
    int *own = ARENA_ARRAY(&u->scratch, int, ntiles + 1);
    for (int t = 0; t < ntiles; t++)
        own[t] = t;
    k->insns = NULL, k->ninsns = k->insns_cap = 0;
    for (int i = 0; i < u->loop; i++)
        copy_insn(u, &old[i], -1);
    if (u->turns < u->trips) {
        copy_insn(u, &old[u->loop], -1);
        k->insns[k->ninsns - 1].imm[IMM(loop, count)].base = u->trips / u->turns;
    }
    for (int64_t turn = 0; turn < u->turns; turn++) {
        u->tiles = turn && !u->placed ? tiles_of_turn(u, live, ntiles) : own;
        for (int i = u->loop + 1; i < u->end; i++)
            copy_insn(u, &old[i], turn);
    }
    for (int i = u->turns < u->trips ? u->end : u->end + 1; i < n; i++)
        copy_insn(u, &old[i], -1);
}

static void unroll(struct unroller *u)
{
    int before = u->k->ninsns;
    while (find_loop(u, before)) {
        bool whole = u->turns == u->trips;
        write_out(u);
        before = whole ? u->k->ninsns : u->loop; /* a loop around it may be innermost now */
    }
    arena_free(&u->scratch);
}

/* Instructions when all loops are written out, up to one more than LIMIT; that many too where one cannot be. */
static int64_t straight_insns(const struct kernel *k, int64_t limit)
{
    int64_t times[MAX_VARS + 1] = {1}, total = 0;
    int depth = 0;
    for (int i = 0; i < k->ninsns && total <= limit; i++) {
        const struct insn *n = &k->insns[i];
        if (n->op == INSN_end) {
            depth--;
        } else if (n->op != INSN_loop) {
            total += times[depth];
        } else {
            const struct affine *trips = &n->imm[IMM(loop, count)];
            bool known = !trips->nterms && dim_is_const(trips->base) && trips->base > 1 && trips->base <= limit;
            if (!known)
                return limit + 1;
            times[depth + 1] = times[depth] * trips->base;
            if (times[++depth] > limit)
                return limit + 1;
        }
    }
    return total;
}

bool unrolls_straight(const struct kernel *k)
{
    return straight_insns(k, MAX_INSNS_STRAIGHT) <= MAX_INSNS_STRAIGHT;
}

void unroll_straight(struct program *p, struct kernel *k, const struct machine *m, bool placed)
{
    unroll(&(struct unroller){.p = p, .m = m, .k = k, .straight = true, .placed = placed});
}

void unroll_loops(struct program *p, struct kernel *k, const struct machine *m, bool edges)
{
    unroll(&(struct unroller){.p = p, .m = m, .k = k, .edges = edges});
}

void unroll_whole_loops(struct program *p, struct kernel *k, const struct machine *m)
{
    unroll(&(struct unroller){.p = p, .m = m, .k = k, .edges = true, .whole = true});
}
