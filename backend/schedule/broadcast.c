/*
 * Rows that all partitions have, made by the Tensor engine. A transfer writes such a row once for each partition, which
 * takes as long as any tile of that size; the product of a column of ones and the row brings it to PSUM in the time
 * that the row takes to pass the array. From there engines that have their other operand in SBUF read it at twice the
 * rate.
 *
 * A row of constants in float is the sum of three rows in bf16, to the last bit, and these pass the array at once where
 * a float takes four passes.
 */
#include "backend/schedule/chain.h"

#include "backend/tile/bf16_parts.h"
#include "backend/tile/rules.h"

#include <string.h>

enum { DST = AP(dma_copy, dst), SRC = AP(dma_copy, src), TURNS = 4, NO_ROW = -1 };

struct shared_row {
    int load, first; /* the transfer to all partitions; who reads the tile first */
    int tile;        /* in PSUM; -1: not yet */
    struct ap held;  /* the row itself: (terms, elements) in SBUF */
    bool split;      /* constants, in three terms */
};

struct broadcast {
    struct program *p;
    struct kernel *k;
    const struct machine *m;
    struct arena *a;
    struct shared_row *rows;
    int n, cap;
    int ntiles;   /* before */
    int *of;      /* per tile: its row, NO_ROW */
    int *row_of;  /* per instruction: the row that it brings, NO_ROW */
    int *writes;  /* per tile: instructions */
    bool *used;   /* per tile: so far, by another instruction than its transfer */
    bool in_turn; /* tiles in PSUM */
    int turn[TURNS], turns;
    int ones[2];  /* tiles of one row of ones, and of as many as parts; -1 */
};

static int new_tile(struct broadcast *b, int mem, int dtype, int64_t partitions, int64_t elements)
{
    struct kernel *k = b->k;
    ARENA_GROW(&b->p->arena, k->tiles, k->ntiles, k->tiles_cap);
    k->tiles[k->ntiles] = (struct tile){
        .mem = (uint8_t)mem, .dtype = (uint8_t)dtype, .partitions = partitions, .elements = elements, .address = -1};
    return k->ntiles++;
}

static struct ap plane(int mem, int dtype, int tensor, int64_t step, int64_t rows, int64_t columns)
{
    return (struct ap){.mem = (uint8_t)mem,
                       .dtype = (uint8_t)dtype,
                       .rank = 2,
                       .tensor = tensor,
                       .dim = {{.step = step, .count = rows}, {.step = 1, .count = columns}}};
}

/* ---- which ---- */

/* The transfer fills a tile of its own, whole, with one row. */
static bool is_broadcast(const struct broadcast *b, const struct insn *n)
{
    if (n->op != INSN_dma_copy || n->ap[DST].mem != MEM_SBUF)
        return false;
    const struct ap *dst = &n->ap[DST], *src = &n->ap[SRC];
    const struct tile *t = &b->k->tiles[dst->tensor];
    bool is = !t->fixed && t->dtype == DT_F32 && dst->dtype == DT_F32 && src->dtype == DT_F32 && dst->rank == 2 &&
              src->rank == 2 && dst->offset.base == 0 && !dst->offset.nterms && b->writes[dst->tensor] == 1 &&
              t->partitions > 1 && tile_partition_bytes(t) * 4 <= b->m->psum && dst->dim[0].step == t->elements &&
              dst->dim[0].count == t->partitions && dst->dim[1].step == 1 && dst->dim[1].count == t->elements &&
              src->dim[0].step == 0 && src->dim[1].step == 1;
    for (int i = 0; i < 2 && is; i++)
        is = !dst->dim[i].clip && !src->dim[i].clip && src->dim[i].count == dst->dim[i].count;
    return is && (src->mem == MEM_HBM || (!src->offset.nterms && src->offset.base < b->k->tiles[src->tensor].elements));
}

/* Whether the operand may as well be in PSUM. */
static bool may_be_in_psum(const struct insn *n, int operand)
{
    return insn_info(n->op)->shape == SHAPE_ELEMENTWISE && !insn_is_transfer(n) && n->engine != ENGINE_PE &&
           !operand_writes(n, operand) && insn_info(n->op)->ap[operand].reach != REACH_INDIRECT;
}

static const float *constants_of(const struct program *p, const struct ap *src)
{
    const struct slot *s = src->mem == MEM_HBM ? &p->slots[src->tensor] : NULL;
    bool are = s && s->kind == SLOT_CONST && s->data.data && s->data.dtype == DT_F32 && !src->offset.nterms;
    return are ? (const float *)s->data.data + src->offset.base : NULL;
}

static void find_rows(struct broadcast *b)
{
    const struct kernel *k = b->k;
    for (int t = 0; t < k->ntiles; t++)
        b->of[t] = NO_ROW;
    for (int i = 0; i < k->ninsns; i++)
        for (int o = 0; o < insn_info(k->insns[i].op)->naps; o++)
            if (k->insns[i].ap[o].mem == MEM_SBUF && operand_writes(&k->insns[i], o))
                b->writes[k->insns[i].ap[o].tensor]++;
    for (int i = 0, line = 0; i < k->ninsns; i++) {
        const struct insn *n = &k->insns[i];
        b->row_of[i] = NO_ROW;
        line = insn_is_structure(n) ? i : line;
        if (is_broadcast(b, n) && !b->used[n->ap[DST].tensor]) {
            const float *data = constants_of(b->p, &n->ap[SRC]);
            ARENA_GROW(b->a, b->rows, b->n, b->cap);
            b->of[n->ap[DST].tensor] = b->row_of[i] = b->n;
            b->rows[b->n++] = (struct shared_row){
                .load = i, .first = -1, .tile = -1, .split = data && bf16_parts_exact(data, n->ap[DST].dim[1].count)};
            continue;
        }
        for (int o = 0; o < insn_info(n->op)->naps; o++) {
            if (n->ap[o].mem != MEM_SBUF)
                continue;
            int row = b->of[n->ap[o].tensor];
            b->used[n->ap[o].tensor] = true;
            if (row == NO_ROW)
                continue;
            if (b->rows[row].first < 0)
                b->rows[row].first = i;
            if (!may_be_in_psum(n, o) || b->rows[row].load < line) /* of another trip */
                b->of[n->ap[o].tensor] = NO_ROW;
        }
    }
}

/* ---- how much the engines have to do ---- */

static double product_ns(const struct broadcast *b, const struct shared_row *r)
{
    return (r->split ? 1 : 4) * (double)b->k->insns[r->load].ap[DST].dim[1].count / b->m->pe_ghz;
}

/* Rows stay with the DMA engines where these have less to do than the Tensor engine. */
static void balance(struct broadcast *b, const int64_t *values)
{
    double *costs = ARENA_ARRAY(b->a, double, b->k->ninsns + 1), *moves = ARENA_ARRAY(b->a, double, b->k->ninsns + 1);
    double products = 0, transfers = 0;
    straight_costs(b->m, b->k->insns, b->k->ninsns, values, costs, moves);
    for (int i = 0; i < b->k->ninsns; i++) {
        transfers += moves[i];
        products += b->k->insns[i].engine == ENGINE_PE ? costs[i] : 0;
    }
    for (int i = 0; i < b->n; i++) {
        struct shared_row *r = &b->rows[i];
        int *of = &b->of[b->k->insns[r->load].ap[DST].tensor];
        if (*of == NO_ROW)
            continue;
        double more = product_ns(b, r), less = moves[r->load];
        if (more >= less || products + more > transfers - less) {
            *of = NO_ROW;
            continue;
        }
        products += more, transfers -= less;
    }
}

/* ---- the products ---- */

/* Whether something writes the tile between two instructions. */
static bool written_between(const struct kernel *k, int tile, int from, int to)
{
    for (int i = from + 1; i < to; i++)
        for (int o = 0; o < insn_info(k->insns[i].op)->naps; o++)
            if (k->insns[i].ap[o].mem == MEM_SBUF && k->insns[i].ap[o].tensor == tile &&
                operand_writes(&k->insns[i], o))
                return true;
    return false;
}

static int split_slot(struct program *p, const float *data, int64_t n)
{
    uint16_t *parts = ARENA_ARRAY(&p->arena, uint16_t, BF16_PARTS * n);
    for (int64_t i = 0; i < n; i++) {
        uint16_t part[BF16_PARTS];
        bf16_split(data[i], part);
        for (int x = 0; x < BF16_PARTS; x++)
            parts[x * n + i] = part[x];
    }
    return program_add_slot(p, (struct slot){.type = type_tensor(DT_BF16, 2, (dim_t[]){BF16_PARTS, n}),
                                             .kind = SLOT_CONST,
                                             .base = -1,
                                             .data = tensor_view(DT_BF16, 2, (int64_t[]){BF16_PARTS, n}, parts)});
}

/* The transfer brings the row alone; false: it is in a tile already. */
static bool load_row(struct broadcast *b, struct shared_row *r, struct insn *load)
{
    struct ap *src = &load->ap[SRC];
    int64_t n = load->ap[DST].dim[1].count, rows = r->split ? BF16_PARTS : 1;
    int dtype = r->split ? DT_BF16 : DT_F32;
    if (src->mem != MEM_HBM) {
        r->held = *src;
        r->held.dim[0] = (struct ap_dim){.step = b->k->tiles[src->tensor].elements, .count = 1};
        return false;
    }
    r->held = plane(MEM_SBUF, dtype, new_tile(b, MEM_SBUF, dtype, rows, n), n, rows, n);
    load->ap[DST] = r->held;
    if (r->split)
        *src = plane(MEM_HBM, dtype, split_slot(b->p, constants_of(b->p, src), n), n, rows, n);
    else
        src->dim[0] = (struct ap_dim){.step = n, .count = 1};
    return true;
}

/* A tile of ones, once: a row, or as many as parts. */
static void make_ones(struct broadcast *b, struct kernel *to, bool split)
{
    int64_t rows = split ? BF16_PARTS : 1, columns = b->m->partitions;
    int dtype = split ? DT_BF16 : DT_F32;
    if (b->ones[split] >= 0)
        return;
    b->ones[split] = new_tile(b, MEM_SBUF, dtype, rows, columns);
    struct insn *n = kernel_add(b->p, to, INSN_memset);
    n->ap[AP(memset, dst)] = plane(MEM_SBUF, dtype, b->ones[split], columns, rows, columns);
    n->flt[FLT(memset, value)] = 1;
}

static void add_products(struct broadcast *b, struct kernel *to, const struct shared_row *r, int64_t partitions,
                         int node)
{
    int64_t n = r->held.dim[1].count, max = b->m->psum_bank / (int64_t)sizeof(float);
    max = max < b->m->matmul_n ? max : b->m->matmul_n;
    struct ap ones = plane(MEM_SBUF, r->split ? DT_BF16 : DT_F32, b->ones[r->split], b->m->partitions,
                           r->split ? BF16_PARTS : 1, partitions);
    for (int64_t at = 0; at < n; at += max) {
        int64_t count = n - at < max ? n - at : max;
        struct insn *product = kernel_add(b->p, to, INSN_nc_matmul);
        struct ap dst = plane(MEM_PSUM, DT_F32, r->tile, 1, count, partitions), moving = r->held;
        dst.dim[0].step = 1, dst.dim[1].step = n, dst.offset.base = at;
        moving.dim[0] = (struct ap_dim){.step = 1, .count = count}, moving.dim[1] = r->held.dim[0];
        moving.offset.base += at;
        product->ap[AP(nc_matmul, dst)] = dst;
        product->ap[AP(nc_matmul, stationary)] = ones, product->ap[AP(nc_matmul, moving)] = moving;
        product->node = node;
    }
}

/* A tile in PSUM: of a kernel that somebody wrote one of a few in turn, as its author would have. Each by itself there
 * would be no room for, and to share memory one by one would leave no two at a time. */
static int tile_in_psum(struct broadcast *b, int64_t partitions, int64_t n)
{
    int *tile = &b->turn[b->turns++ % TURNS];
    const struct tile *t = *tile < 0 ? NULL : &b->k->tiles[*tile];
    if (!b->in_turn || !t || t->partitions != partitions || t->elements != n)
        *tile = new_tile(b, MEM_PSUM, DT_F32, partitions, n);
    return *tile;
}

/* The row's products stand before what comes next. */
static void multiply(struct broadcast *b, struct kernel *to, struct shared_row *r, int node)
{
    const struct ap *dst = &b->k->insns[r->load].ap[DST];
    int64_t partitions = dst->dim[0].count, n = dst->dim[1].count;
    r->tile = tile_in_psum(b, partitions, n);
    add_products(b, to, r, partitions, node);
}

/* Where the row is in a tile that gets something else before it is needed, the products are made at once. */
static void rewrite_load(struct broadcast *b, struct kernel *to, struct shared_row *r)
{
    struct insn n = b->k->insns[r->load];
    int source = n.ap[SRC].mem == MEM_SBUF ? n.ap[SRC].tensor : -1;
    n.ap = arena_copy(&b->p->arena, n.ap, sizeof *n.ap * insn_info(n.op)->naps);
    if (load_row(b, r, &n)) {
        struct insn *load = kernel_add(b->p, to, INSN_dma_copy);
        *load = n;
    } else if (written_between(b->k, source, r->load, r->first)) {
        multiply(b, to, r, n.node);
    }
}

/* The same kernel, with products. */
static void rewrite(struct broadcast *b, int *parts, int nparts)
{
    struct kernel *k = b->k, to = {0};
    int part = 0;
    for (int i = 0; i < b->n; i++)
        if (b->of[k->insns[b->rows[i].load].ap[DST].tensor] != NO_ROW)
            make_ones(b, &to, b->rows[i].split);
    for (int i = 0; i < k->ninsns; i++) {
        struct insn *n = &k->insns[i];
        while (part < nparts && parts[part] == i)
            parts[part++] = to.ninsns;
        if (b->row_of[i] != NO_ROW && b->of[n->ap[DST].tensor] != NO_ROW) {
            rewrite_load(b, &to, &b->rows[b->row_of[i]]);
            continue;
        }
        for (int o = 0; o < insn_info(n->op)->naps; o++) {
            struct ap *ap = &n->ap[o];
            int row = ap->mem == MEM_SBUF && ap->tensor < b->ntiles ? b->of[ap->tensor] : NO_ROW;
            if (row == NO_ROW)
                continue;
            if (b->rows[row].tile < 0)
                multiply(b, &to, &b->rows[row], n->node);
            ap->mem = MEM_PSUM, ap->tensor = b->rows[row].tile;
        }
        struct insn *copy = kernel_add(b->p, &to, (enum opcode)n->op);
        *copy = *n;
    }
    k->insns = to.insns, k->ninsns = to.ninsns, k->insns_cap = to.insns_cap;
    drop_unused_tiles(k);
}

bool broadcast_by_products(struct program *p, struct kernel *k, const struct machine *m, const int64_t *values,
                           int *parts, int nparts)
{
    struct arena scratch = {0};
    struct broadcast b = {.p = p, .k = k, .m = m, .a = &scratch, .ntiles = k->ntiles, .ones = {-1, -1}};
    b.in_turn = !values;
    memset(b.turn, -1, sizeof b.turn);
    bool any = false;
    b.of = ARENA_ARRAY(&scratch, int, k->ntiles + 1), b.writes = ARENA_ARRAY(&scratch, int, k->ntiles + 1);
    b.used = ARENA_ARRAY(&scratch, bool, k->ntiles + 1);
    b.row_of = ARENA_ARRAY(&scratch, int, k->ninsns + 1);
    find_rows(&b);
    if (values)
        balance(&b, values);
    for (int t = 0; t < b.ntiles; t++)
        any |= b.of[t] != NO_ROW;
    if (any)
        rewrite(&b, parts, nparts);
    arena_free(&scratch);
    return any;
}
