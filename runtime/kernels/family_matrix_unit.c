/*
 * Matrix tiles of bf16 by AMX: a unit with eight tile registers of 16 rows by 64 bytes. One instruction adds the
 * products of 16 rows by 32 terms of A and 32 terms by 16 columns of packed W to 16 x 16 sums. The registers hold 2 x 2
 * blocks of sums, or 1 x 4 where there is one tile of rows; steps work on a copy of them in memory.
 *
 * Tiles have 16 rows wherever the product has as many: the last overlaps the one before, and only its new rows are
 * stored. So the unit is set up once for a launch and not for each product: that takes as long as a small one.
 *
 * Reads stay inside A and W: terms that do not fill a tile come by way of copies that zeros follow. A sum adds its
 * terms in order, two at a time, entry of the batch by entry: its bits do not depend on which rows share a tile.
 */
#include "neff/isa/pack.h"
#include "runtime/kernels/gemm.h"
#include "runtime/kernels/variants.h"
#include "runtime/kernels/vec.h"

#include "runtime/kernels/gemm.inc"

enum { TILE_ROWS = 16, TILE_TERMS = 32, TILE_COLUMNS = 16, TILE_BYTES = 64, REGISTERS = 8 };
enum { PASS_ROWS = 2 * TILE_ROWS, PASS_COLUMNS = 64, MAX_GATHERED = 1024 };
enum { STREAM_LINE_OF_UNIT = 14 };
enum { MIN_ROWS = 3 }; /* fewer wait for weights, whichever unit multiplies them */

/* What there was before the unit: for products that it does not suit. */
static void (*below)(const struct gemm_block *g);

/* ---- the unit's set-up, of this thread ---- */

struct tile_config { /* as the processor reads it */
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};
_Static_assert(sizeof(struct tile_config) == 64, "the size that the processor reads");

static _Thread_local int set_up; /* rows of tiles of A and of sums; 0: not in use */

static void set_up_unit(int rows)
{
    if (set_up == rows)
        return;
    struct tile_config c = {.palette = 1};
    for (int i = 0; i < REGISTERS; i++) {
        c.bytes[i] = TILE_BYTES;
        c.rows[i] = TILE_ROWS;
    }
    for (int i = 0; i <= 4; i++) /* sums, and the tile of A where there is one */
        c.rows[i] = (uint8_t)rows;
    _tile_loadconfig(&c);
    set_up = rows;
}

static void release_unit(void)
{
    if (!set_up)
        return;
    _tile_release();
    set_up = 0;
}

/* ---- one product ---- */

/* A product as the unit goes through it: entries of `full` whole tiles of terms each, then one of `tail` terms. */
struct unit_product {
    const struct gemm_block *g;
    struct simple_steps simple;
    bool gathered; /* entries of the batch are copied to lie beside each other */
    int entries, full, tail, terms;
    int64_t a_bytes; /* between rows of A, once gathered */
    int64_t w_bytes; /* between pairs of terms in W */
    const char *prefetch, *prefetch_end;
    int64_t prefetch_step; /* bytes with each tile of terms */
};

/* Tiles of rows of one pass: where they begin in the product, and the first row of each that is not stored yet. */
struct row_pass {
    int tiles, start[2], first[2], rows; /* rows: of a tile */
    const char *const *a; /* by entry: row 0 of the product, or of the pass */
    int a_row;            /* which of the two, as a row of the product */
};

struct scratch {
    float sums[PASS_ROWS * PASS_COLUMNS];
    uint16_t a_tail[PASS_ROWS * TILE_TERMS];            /* of a pass */
    uint16_t w_tail[TILE_TERMS / 2 * PASS_COLUMNS * 2]; /* of PASS_COLUMNS columns */
    uint16_t *gathered;                                 /* rows of a pass, where they are */
} __attribute__((aligned(64)));

INLINE void prefetch_weights(struct unit_product *p)
{
    for (int64_t n = 0; n < p->prefetch_step; n += PREFETCH_LINE, p->prefetch += PREFETCH_LINE)
        __builtin_prefetch(p->prefetch, 0, 2);
    if (p->prefetch >= p->prefetch_end)
        p->prefetch_step = 0;
}

/* Multiplies one tile of terms: R tiles of A from a0 and a1 on by C of W from w on. */
INLINE void multiply_tile(const char *a0, const char *a1, int64_t a_bytes, const char *w, int64_t w_bytes, int R,
                          int C)
{
    const size_t as = (size_t)a_bytes, ws = (size_t)w_bytes;
    _tile_loadd(4, a0, as);
    if (R == 2) {
        _tile_loadd(6, w, ws);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(5, a1, as);
        _tile_dpbf16ps(2, 5, 6);
        if (C > 1) {
            _tile_loadd(7, w + TILE_BYTES, ws);
            _tile_dpbf16ps(1, 4, 7);
            _tile_dpbf16ps(3, 5, 7);
        }
        return;
    }
    _tile_loadd(5, w, ws);
    _tile_dpbf16ps(0, 4, 5);
    if (C > 1) {
        _tile_loadd(6, w + TILE_BYTES, ws);
        _tile_dpbf16ps(1, 4, 6);
    }
    if (C > 2) {
        _tile_loadd(7, w + 2 * TILE_BYTES, ws);
        _tile_dpbf16ps(2, 4, 7);
    }
    if (C > 3) {
        _tile_loadd(5, w + 3 * TILE_BYTES, ws);
        _tile_dpbf16ps(3, 4, 5);
    }
}

INLINE void store_sums(float *to, int R, int C)
{
    const size_t pitch = PASS_COLUMNS * sizeof(float);
    float *second = to + TILE_ROWS * PASS_COLUMNS;
    _tile_stored(0, to, pitch);
    if (C > 1)
        _tile_stored(1, to + TILE_COLUMNS, pitch);
    if (R == 2) {
        _tile_stored(2, second, pitch);
        if (C > 1)
            _tile_stored(3, second + TILE_COLUMNS, pitch);
        return;
    }
    if (C > 2)
        _tile_stored(2, to + 2 * TILE_COLUMNS, pitch);
    if (C > 3)
        _tile_stored(3, to + 3 * TILE_COLUMNS, pitch);
}

/* The sums of a pass by C tiles of columns from `out` on, whose last terms w_tail has from column `tail_out` on. */
INLINE void multiply_pass(struct unit_product *p, const struct row_pass *pass, struct scratch *s, int out, int tail_out,
                          int R, int C)
{
    const struct gemm_block *g = p->g;
    const int64_t first = (pass->start[0] - pass->a_row) * p->a_bytes;
    const int64_t second = (pass->start[1] - pass->a_row) * p->a_bytes;
    __asm__ volatile("" ::: "memory"); /* the unit reads what was copied before */
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int e = 0; e < p->entries; e++) {
        const char *a = pass->a[e] + first, *a1 = pass->a[e] + second;
        const char *w = (const char *)g->w[e] + 4 * (int64_t)out;
        for (int t = 0; t < p->full; t++, w += TILE_TERMS / 2 * p->w_bytes) {
            prefetch_weights(p);
            multiply_tile(a + t * TILE_BYTES, a1 + t * TILE_BYTES, p->a_bytes, w, p->w_bytes, R, C);
        }
    }
    if (p->tail)
        multiply_tile((const char *)s->a_tail, (const char *)(s->a_tail + TILE_ROWS * TILE_TERMS), TILE_BYTES,
                      (const char *)(s->w_tail + 2 * (out - tail_out)), 4 * PASS_COLUMNS, R, C);
    store_sums(s->sums, R, C);
}

/* ---- what follows the sums ---- */

INLINE void store_rows(const struct gemm_panel *panel, const float *sums, int R, int V)
{
    vf acc[BLOCK_ROWS][BLOCK_VECTORS];
    UNROLL
    for (int r = 0; r < R; r++)
        UNROLL
        for (int v = 0; v < V; v++)
            acc[r][v] = load(sums + r * PASS_COLUMNS + v * LANES);
    store_block(panel, acc, R, V);
}

INLINE void finish_pass(struct unit_product *p, const struct row_pass *pass, const float *sums, int out, int C)
{
    const struct gemm_block *g = p->g;
    struct gemm_panel panel = {.g = g, .simple = &p->simple, .out = g->first_out + out};
    panel.columns = g->columns - out < C * TILE_COLUMNS ? g->columns - out : C * TILE_COLUMNS;
    for (int t = 0; t < pass->tiles; t++, sums += TILE_ROWS * PASS_COLUMNS) {
        int r = pass->first[t] - pass->start[t];
        for (; r + 4 <= pass->rows; r += 4) {
            panel.row = g->first_row + pass->start[t] + r;
            store_rows(&panel, sums + r * PASS_COLUMNS, 4, C);
        }
        for (; r < pass->rows; r++) {
            panel.row = g->first_row + pass->start[t] + r;
            store_rows(&panel, sums + r * PASS_COLUMNS, 1, C);
        }
    }
}

/* ---- all of a product ---- */

/* n terms and then zeros, of a tile. */
INLINE void copy_terms(uint16_t *to, const uint16_t *from, int n)
{
    _mm512_storeu_si512(to, _mm512_maskz_loadu_epi16(n >= 32 ? 0xffffffffu : (1u << n) - 1, from));
}

/* Entries of the rows of a pass, each rounded up to pairs, one behind the other; tiles past the last term are zeros. */
static const char *gather(const struct unit_product *p, const struct row_pass *pass, int rows, uint16_t *to)
{
    const struct gemm_block *g = p->g;
    const int even = g->k + (g->k & 1), pitch = (int)(p->a_bytes / 2);
    for (int r = 0; r < rows; r++, to += pitch)
        for (int e = 0; e < g->count; e++) {
            const uint16_t *a = (const uint16_t *)g->a[e] + (pass->start[0] + r) * g->a_pitch;
            int k = 0;
            /* a copy writes a whole tile: what it has too much, the next entry or row writes again */
            for (; k < even; k += TILE_TERMS)
                copy_terms(to + e * even + k, a + k, g->k - k);
        }
    return (const char *)(to - rows * pitch);
}

static void copy_row_tails(const struct unit_product *p, const struct row_pass *pass, uint16_t *to)
{
    const int from = p->full * TILE_TERMS;
    for (int t = 0; t < pass->tiles; t++)
        for (int r = 0; r < pass->rows; r++, to += TILE_TERMS) {
            const char *row = pass->a[0] + (pass->start[t] - pass->a_row + r) * p->a_bytes;
            copy_terms(to, (const uint16_t *)row + from, p->tail);
        }
}

static void copy_weight_tails(const struct unit_product *p, int out, uint16_t *to)
{
    const int pairs = (p->tail + 1) / 2;
    const int left = (p->g->columns - out + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS;
    const size_t bytes = 4 * (size_t)(left < PASS_COLUMNS ? left : PASS_COLUMNS);
    const char *w = (const char *)p->g->w[0] + p->full * (TILE_TERMS / 2) * p->w_bytes + 4 * (int64_t)out;
    for (int i = 0; i < TILE_TERMS / 2; i++, to += 2 * PASS_COLUMNS)
        if (i < pairs)
            memcpy(to, w + i * p->w_bytes, bytes);
        else
            memset(to, 0, bytes);
}

/* The next tiles of rows from `row` on, which is the first not taken. */
static struct row_pass next_pass(const struct gemm_block *g, int row)
{
    struct row_pass pass = {.rows = g->rows < TILE_ROWS ? g->rows : TILE_ROWS};
    pass.start[1] = row;
    for (; pass.tiles < 2 && row < g->rows; pass.tiles++, row += pass.rows) {
        pass.first[pass.tiles] = row;
        pass.start[pass.tiles] = row + pass.rows <= g->rows ? row : g->rows - pass.rows;
    }
    return pass;
}

/* One pass by C tiles of columns, of R tiles of rows. */
#define DEFINE_PASS(R, C)                                                                                             \
    static void pass_##R##x##C(struct unit_product *p, const struct row_pass *pass, struct scratch *s, int out,       \
                               int tail_out)                                                                          \
    {                                                                                                                 \
        multiply_pass(p, pass, s, out, tail_out, R, C);                                                               \
        finish_pass(p, pass, s->sums, out, C);                                                                        \
    }
DEFINE_PASS(1, 1)
DEFINE_PASS(1, 2)
DEFINE_PASS(1, 4)
DEFINE_PASS(2, 1)
DEFINE_PASS(2, 2)

static void run_columns(struct unit_product *p, const struct row_pass *pass, struct scratch *s, int out)
{
    const int left = p->g->columns - out, columns = left < PASS_COLUMNS ? left : PASS_COLUMNS;
    const bool one = pass->tiles == 1;
    for (int c = 0; c < columns;) {
        int tiles = (columns - c + TILE_COLUMNS - 1) / TILE_COLUMNS, wide = tiles == 1 ? 1 : one && tiles == 4 ? 4 : 2;
        (wide == 4 ? pass_1x4 : wide == 2 ? one ? pass_1x2 : pass_2x2 : one ? pass_1x1 : pass_2x1)(p, pass, s, out + c,
                                                                                                   out);
        c += wide * TILE_COLUMNS;
    }
}

static void run_product(struct unit_product *p, struct scratch *s)
{
    const struct gemm_block *g = p->g;
    set_up_unit(g->rows < TILE_ROWS ? g->rows : TILE_ROWS);
    for (int out = 0; out < g->columns; out += PASS_COLUMNS) {
        if (p->tail)
            copy_weight_tails(p, out, s->w_tail);
        for (int row = 0; row < g->rows;) {
            struct row_pass pass = next_pass(g, row);
            const int last = pass.tiles - 1, end = pass.start[last] + pass.rows;
            const char *gathered;
            pass.a = (const char *const *)g->a;
            if (p->gathered) {
                gathered = gather(p, &pass, end - pass.start[0], s->gathered);
                pass.a = &gathered, pass.a_row = pass.start[0];
            }
            if (p->tail)
                copy_row_tails(p, &pass, s->a_tail);
            run_columns(p, &pass, s, out);
            row = end;
        }
    }
}

/* Whether the entries' weights lie one behind the other, so that they are those of one entry of more terms. */
static bool one_behind_other(const struct gemm_block *g)
{
    const int64_t bytes = (g->k + (g->k & 1)) * (int64_t)g->w_pitch * 2;
    for (int e = 1; e < g->count; e++)
        if ((const char *)g->w[e] - (const char *)g->w[e - 1] != bytes)
            return false;
    return true;
}

/* Memory to prefetch, evenly over the tiles of terms of all passes. */
static void plan_prefetch(struct unit_product *p)
{
    const struct gemm_block *g = p->g;
    if (!g->next)
        return;
    int64_t passes = (g->rows + PASS_ROWS - 1) / PASS_ROWS * (int64_t)((g->columns + 2 * LANES - 1) / (2 * LANES));
    int64_t turns = passes * p->entries * (p->full > 0 ? p->full : 1);
    p->prefetch = g->next, p->prefetch_end = g->next_end;
    p->prefetch_step = (g->next_end - g->next + turns - 1) / turns;
}

static bool plan(struct unit_product *p, const struct gemm_block *g)
{
    const int even = g->k + (g->k & 1);
    *p = (struct unit_product){.g = g, .entries = g->count, .terms = g->k, .a_bytes = 2 * g->a_pitch};
    p->w_bytes = 4 * (int64_t)g->w_pitch;
    if (g->rows < MIN_ROWS || g->resume || g->k * (int64_t)g->count < TILE_TERMS / 2)
        return false;
    p->gathered = g->count > 1 && g->k % TILE_TERMS;
    if (p->gathered) {
        if (even * (int64_t)g->count > MAX_GATHERED || !one_behind_other(g))
            return false;
        p->entries = 1, p->terms = even * g->count;
        p->a_bytes = 2 * (int64_t)((p->terms + TILE_TERMS - 1) / TILE_TERMS * TILE_TERMS + TILE_TERMS);
    }
    p->full = p->terms / TILE_TERMS;
    p->tail = p->terms % TILE_TERMS;
    p->simple = simple_steps(g);
    plan_prefetch(p);
    return true;
}

/* Not inlined, so that other products take no room for the copy. */
static __attribute__((noinline)) void run_gathered(struct unit_product *p)
{
    uint16_t gathered[PASS_ROWS * (MAX_GATHERED + 2 * TILE_TERMS)] __attribute__((aligned(64)));
    struct scratch s;
    s.gathered = gathered;
    run_product(p, &s);
}

static __attribute__((noinline)) void run_in_place(struct unit_product *p)
{
    struct scratch s;
    s.gathered = NULL;
    run_product(p, &s);
}

static void gemm_matrix_unit(const struct gemm_block *g)
{
    struct unit_product p;
    if (!plan(&p, g))
        below(g);
    else if (p.gathered)
        run_gathered(&p);
    else
        run_in_place(&p);
}

void KERNEL_FAMILY(matrix_unit, VARIANT)(struct kernel_table *t)
{
    if (t->gemm_bf16 != gemm_matrix_unit)
        below = t->gemm_bf16;
    t->gemm_bf16 = gemm_matrix_unit;
    t->stream_line = STREAM_LINE_OF_UNIT;
    t->release = release_unit;
}
