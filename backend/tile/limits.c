#include "backend/tile/limits.h"

#include <stdlib.h>

/* ---- where operands start ---- */

enum { GROUP = 32 }; /* partitions */

/* How far apart partitions are, in elements of the pattern; 0: not known. */
static int64_t partition_step(const struct tile_context *c, const struct ap *a)
{
    const struct tile *t = &c->k->tiles[a->tensor];
    int64_t bytes = dim_is_const(t->elements) ? tile_partition_bytes(t) : 0;
    return bytes / (int64_t)dtype_bytes(a->dtype);
}

/* Partitions that a pattern covers from its start on. What is cut at edges covers no fewer than one. */
static int64_t partitions_covered(const struct ap *a, int64_t apart)
{
    int64_t n = 1;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i].step >= apart && a->dim[i].count > n)
            n = a->dim[i].clip ? 1 : a->dim[i].count;
    return n;
}

int64_t tile_start_unit(const struct machine *m, int64_t covered)
{
    return covered <= GROUP ? GROUP : covered <= 2 * GROUP ? 2 * GROUP : m->partitions;
}

/* The start that is wrong whatever variables are, or the first that a variable makes wrong; -1: none is. */
static int64_t wrong_start(const struct tile_context *c, const struct ap *a, int64_t apart, int64_t unit)
{
    int64_t start = a->offset.base / apart;
    if (start % unit)
        return start;
    for (int i = 0; i < a->offset.nterms; i++) {
        const struct affine_term *t = &a->offset.terms[i];
        bool moves = c->trips && c->trips[t->var] != 1 && dim_is_const(t->coef) && t->coef % apart == 0;
        if (moves && t->coef / apart % unit)
            return start + llabs(t->coef / apart);
    }
    return -1;
}

bool tile_check_start(const struct tile_context *c, const struct insn *n, int operand, struct diag *d)
{
    const struct insn_info *info = insn_info(n->op);
    const struct ap *a = &n->ap[operand];
    if (!c->m->strict || a->mem == MEM_HBM || info->cost.kind == COST_DMA || info->cost.kind == COST_CONTROL)
        return true;
    int64_t apart = partition_step(c, a);
    if (apart < 1 || !dim_is_const(a->offset.base) || a->offset.base < 0)
        return true; /* for bounds to judge */
    int64_t covered = partitions_covered(a, apart), unit = tile_start_unit(c->m, covered),
            start = wrong_start(c, a, apart, unit);
    if (start < 0)
        return true;
    static const char *const good[] = {"0, 32, 64 or 96", "0 or 64", "0"};
    return fail(d,
                "operand '%s' starts at partition %lld: on %s, what an instruction uses of %lld partition%s "
                "starts at %s; move it there by dma_copy, which starts anywhere, or load it there",
                info->ap[operand].name, (long long)start, c->m->name, (long long)covered, covered == 1 ? "" : "s",
                c->m->partitions <= GROUP ? good[2] : good[unit <= GROUP ? 0 : unit <= 2 * GROUP ? 1 : 2]);
}

/* ---- rows ---- */

/* An operand whose rows have from least to most elements; strict: only where the hardware is. */
struct row_limit {
    enum opcode op;
    int operand;
    bool strict;
    int64_t min, max;
    const char *advice;
};

static const struct row_limit row_limits[] = {
#define SEARCHED "pad shorter rows by memset, search longer ones in parts and then their results"
    {INSN_max8, AP(max8, src), false, 8, 16384, SEARCHED},
    {INSN_nc_find_index8, AP(nc_find_index8, src), false, 8, 16384, SEARCHED},
    {INSN_nc_match_replace8, AP(nc_match_replace8, src), false, 8, 16384, SEARCHED},
#define EIGHT "a tile of 8 values in each row, as max8 makes"
    {INSN_max8, AP(max8, dst), false, 8, 8, EIGHT},
    {INSN_nc_find_index8, AP(nc_find_index8, dst), false, 8, 8, EIGHT},
    {INSN_nc_find_index8, AP(nc_find_index8, values), false, 8, 8, EIGHT},
    {INSN_nc_match_replace8, AP(nc_match_replace8, values), false, 8, 8, EIGHT},
    {INSN_nc_match_replace8, AP(nc_match_replace8, index), false, 8, 8, EIGHT},
    {INSN_bn_stats6, AP(bn_stats6, src), true, 1, 512, "give parts of a row to it and join their results by bn_aggr"},
};

/* Rows that are cut are judged when they run. */
static bool check_row(const struct tile_context *c, const struct insn *n, const struct row_limit *r, struct diag *d)
{
    const struct ap *a = &n->ap[r->operand];
    if (n->op != r->op || a->mem == MEM_NONE || a->rank < 1 || (r->strict && !c->m->strict))
        return true;
    const struct ap_dim *row = &a->dim[a->rank - 1];
    if (!dim_is_const(row->count) || row->clip || (row->count >= r->min && row->count <= r->max))
        return true;
    const char *name = insn_info(n->op)->ap[r->operand].name;
    if (r->min == r->max)
        return fail(d, "operand '%s' has %lld elements in a row, expected %lld: %s", name, (long long)row->count,
                    (long long)r->min, r->advice);
    return fail(d, "operand '%s' has %lld elements in a row, %s takes %lld to %lld: %s", name, (long long)row->count,
                c->m->strict ? c->m->name : "it", (long long)r->min, (long long)r->max, r->advice);
}

/* Places in a row are unsigned. */
static bool check_places(const struct insn *n, enum opcode op, int operand, struct diag *d)
{
    const struct ap *a = &n->ap[operand];
    if (n->op != op || a->mem == MEM_NONE || a->dtype == DT_U32 || a->dtype == DT_U16)
        return true;
    return fail(d, "operand '%s' is %s, places in a row are u32 or u16: make the tile with dtype uint32",
                insn_info(n->op)->ap[operand].name, dtype_name(a->dtype));
}

bool tile_check_rows(const struct tile_context *c, const struct insn *n, struct diag *d)
{
    for (size_t i = 0; i < sizeof row_limits / sizeof *row_limits; i++)
        if (!check_row(c, n, &row_limits[i], d))
            return false;
    return check_places(n, INSN_nc_find_index8, AP(nc_find_index8, dst), d) &&
           check_places(n, INSN_nc_match_replace8, AP(nc_match_replace8, index), d);
}
