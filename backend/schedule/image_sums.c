/*
 * Sums of images in a chain: what one kernel's activations leave in SBUF, band by band, another one sums up on the
 * Vector engine, channel by channel, before anything goes on (the mean of a squeeze). The Scalar engine sums the rows
 * of what it computes by the way: then the Vector engine has one number for each row to add.
 */
#include "backend/schedule/chain.h"

#include "backend/tile/builder.h"

#include <stdlib.h>
#include <string.h>

enum { Y = AP(activation, dst), SUM = AP(activation, sum), FROM = AP(tensor_reduce, src) };
enum { SUM_CYCLES = 64 }; /* of an activation with sums; of the shortest instruction too */

struct band { /* elements of each partition that an activation writes */
    int64_t at, n, rows;
    int insn;
};

struct image_sums {
    struct program *p;
    struct kernel *k;
    struct uses *writes; /* per tile: instructions */
    struct band *bands;
    int n;
};

/* An operand that has n elements side by side in each of a tile's partitions. */
static bool covers(const struct image_sums *s, const struct ap *a, struct band *b)
{
    if (a->mem != MEM_SBUF || a->dtype != DT_F32 || s->k->tiles[a->tensor].dtype != DT_F32 || a->rank < 2 ||
        a->dim[0].step != s->k->tiles[a->tensor].elements || a->offset.base >= a->dim[0].step)
        return false;
    int64_t n = 1;
    for (int i = a->rank - 1; i > 0; n *= a->dim[i--].count)
        if (a->dim[i].count > 1 && a->dim[i].step != n)
            return false;
    *b = (struct band){.at = a->offset.base, .n = n, .rows = n / a->dim[a->rank - 1].count};
    return true;
}

static bool is_sum(const struct image_sums *s, const struct insn *n, struct band *whole)
{
    return n->op == INSN_tensor_reduce && n->func[FUNC(tensor_reduce, op)] == OP_add &&
           n->imm[IMM(tensor_reduce, axes)].base == 1 && n->imm[IMM(tensor_reduce, accumulate)].base == 0 &&
           n->ap[FROM].rank == 2 && covers(s, &n->ap[FROM], whole);
}

static int by_place(const void *a, const void *b)
{
    const struct band *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Whether all that is written into the tile are activations before the sum, which cover its elements once. */
static bool find_bands(struct image_sums *s, int sum, const struct band *whole, int64_t *rows)
{
    const struct ap *from = &s->k->insns[sum].ap[FROM];
    const struct uses *writes = &s->writes[from->tensor];
    int64_t at = whole->at;
    s->n = 0, *rows = 0;
    for (int i = 0; i < writes->n; i++) {
        const struct insn *n = &s->k->insns[writes->at[i]];
        struct band *b = &s->bands[s->n++];
        if (n->op != INSN_activation || writes->at[i] > sum || n->ap[SUM].mem != MEM_NONE || !covers(s, &n->ap[Y], b) ||
            n->ap[Y].dim[0].count != from->dim[0].count)
            return false;
        b->insn = writes->at[i], *rows += b->rows;
    }
    qsort(s->bands, (size_t)s->n, sizeof *s->bands, by_place);
    for (int i = 0; i < s->n; at += s->bands[i++].n)
        if (s->bands[i].at != at)
            return false;
    return at == whole->at + whole->n;
}

/* The activations of the bands sum up their rows, and the instruction adds these. */
static void sum_rows(struct image_sums *s, int sum, int64_t rows)
{
    struct insn *n = &s->k->insns[sum];
    ARENA_GROW(&s->p->arena, s->k->tiles, s->k->ntiles, s->k->tiles_cap);
    int tile = s->k->ntiles++;
    s->k->tiles[tile] = s->k->tiles[n->ap[FROM].tensor];
    s->k->tiles[tile].elements = rows, s->k->tiles[tile].address = -1;
    struct ap sums = {.mem = MEM_SBUF, .dtype = DT_F32, .tensor = tile};
    ap_push(&sums, rows, n->ap[FROM].dim[0].count);
    for (int i = 0, at = 0; i < s->n; at += (int)s->bands[i++].rows) {
        struct insn *band = &s->k->insns[s->bands[i].insn];
        struct ap *to = &band->ap[SUM];
        int64_t step = 1;
        *to = sums, to->rank = band->ap[Y].rank, to->offset.base = at;
        for (int d = to->rank - 1; d > 0; d--) {
            int64_t count = d == to->rank - 1 ? 1 : band->ap[Y].dim[d].count;
            to->dim[d] = (struct ap_dim){.step = step, .count = count};
            step *= count;
        }
    }
    ap_push(&sums, 1, rows);
    n->ap[FROM] = sums;
}

static void find_writes(struct image_sums *s, struct arena *a)
{
    for (int i = 0; i < s->k->ninsns; i++)
        for (int o = 0; o < insn_info(s->k->insns[i].op)->naps; o++) {
            const struct ap *ap = &s->k->insns[i].ap[o];
            if (ap->mem == MEM_NONE || ap->mem == MEM_HBM || !operand_writes(&s->k->insns[i], o))
                continue;
            struct uses *u = &s->writes[ap->tensor];
            ARENA_GROW(a, u->at, u->n, u->cap);
            u->at[u->n++] = i;
        }
}

void join_image_sums(struct program *p, struct kernel *k)
{
    struct arena scratch = {0};
    struct image_sums s = {.p = p, .k = k};
    s.writes = ARENA_ARRAY(&scratch, struct uses, k->ntiles + 1);
    s.bands = ARENA_ARRAY(&scratch, struct band, k->ninsns + 1);
    find_writes(&s, &scratch);
    for (int i = 0; i < k->ninsns; i++) {
        struct band whole;
        int64_t rows;
        if (is_sum(&s, &k->insns[i], &whole) && find_bands(&s, i, &whole, &rows) &&
            whole.n > rows + SUM_CYCLES * (s.n + 1))
            sum_rows(&s, i, rows);
    }
    arena_free(&scratch);
}
