/*
 * Matrix tiles of bf16, and of u8 by s8, by AMX: a unit with eight tile registers of 16 rows by 64 bytes. One
 * instruction adds the products of 16 rows by 32 or 64 terms of A, and as many terms by 16 columns of packed W, to
 * 16 x 16 sums. The registers hold 2 x 2 blocks of sums, or 1 x 4 where there is one tile of rows; what follows works
 * on a copy of them in memory.
 *
 * Tiles have 16 rows wherever the product, or a band of it, has as many: the last overlaps the one before, and only its
 * new rows are stored. So the unit is set up once for a launch and not for each product: that takes as long as a small
 * one.
 *
 * Lengths are in bytes, in which both types are alike: four bytes of a row of A, two or four terms, meet four bytes of
 * each column. Reads stay inside A and W: terms that do not fill a tile come by way of copies that zeros follow. A sum
 * adds its terms in order, four bytes at a time, entry of the batch by entry: its bits do not depend on which rows
 * share a tile.
 */
#include "neff/isa/pack.h"
#include "runtime/kernels/gemm.h"
#include "runtime/kernels/variants.h"
#include "runtime/kernels/vec.h"

#define SMALL_BLOCKS 0
#include "runtime/kernels/gemm.inc"
#include "runtime/kernels/requantize.inc"

enum { TILE_ROWS = 16, TILE_COLUMNS = 16, TILE_BYTES = 64, QUAD = 4, REGISTERS = 8 };
enum { PASS_ROWS = 2 * TILE_ROWS, PASS_COLUMNS = SUMS_PITCH, MAX_GATHERED = 2048 /* bytes of a row */ };
enum { STREAM_LINE_OF_UNIT = 14 };
enum { MIN_ROWS = 3 }; /* fewer wait for weights, whichever unit multiplies them */

/* What there was before the unit: for products that it does not suit. */
static void (*bf16_below)(const struct gemm_block *g), (*u8s8_below)(const struct gemm_block *g);

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
    for (int i = 0; i < 6; i++) /* sums and tiles of A */
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

/* A product as the unit goes through it: entries of `full` whole tiles of terms each, then one of `tail` bytes. */
struct unit_product {
    const struct gemm_block *g;
    struct simple_steps simple;
    bool gathered; /* entries of the batch are copied to lie beside each other */
    int size;      /* bytes of a term of A */
    int entries, full, tail;
    int width;                              /* rows of a band */
    int64_t a_bytes, band_bytes, row_bytes; /* between rows of A, and bands; of a row that is copied */
    int64_t w_bytes;                        /* between quads of terms in W */
    const char *prefetch, *prefetch_end;
    int64_t prefetch_step; /* bytes with each tile of terms */
};

/* Tiles of rows of one pass: the row that each begins with, how many of its rows the one before has, and where it lies
 * from the addresses of entries. */
struct row_pass {
    int tiles, rows, start[2], known[2]; /* rows: of a tile */
    int64_t at[2], a_bytes;
    const char *const *a; /* by entry */
};

struct scratch {
    float sums[PASS_ROWS * PASS_COLUMNS];                 /* or of int32_t */
    char a_tail[PASS_ROWS * TILE_BYTES];                  /* of a pass */
    char w_tail[TILE_BYTES / QUAD * PASS_COLUMNS * QUAD]; /* of PASS_COLUMNS columns */
    int32_t bias[PASS_COLUMNS];                           /* what their sums start from, where they are integers */
    char *gathered;                                       /* rows of a pass, where they are */
} __attribute__((aligned(64)));

INLINE void prefetch_weights(struct unit_product *p)
{
    for (int64_t n = 0; n < p->prefetch_step; n += PREFETCH_LINE, p->prefetch += PREFETCH_LINE)
        __builtin_prefetch(p->prefetch, 0, 2);
    if (p->prefetch >= p->prefetch_end)
        p->prefetch_step = 0;
}

/* Intrinsics take numbers of registers as they are written. */
#define MULTIPLY_ADD(sums, a, w)                                                                                      \
    do {                                                                                                              \
        if (integers)                                                                                                 \
            _tile_dpbusd(sums, a, w);                                                                                 \
        else                                                                                                          \
            _tile_dpbf16ps(sums, a, w);                                                                               \
    } while (0)

/* Multiplies one tile of terms: R tiles of A from a0 and a1 on by C of W from w on. */
INLINE void multiply_tile(const char *a0, const char *a1, int64_t a_bytes, const char *w, int64_t w_bytes, int R,
                          int C, bool integers)
{
    const size_t as = (size_t)a_bytes, ws = (size_t)w_bytes;
    _tile_loadd(4, a0, as);
    _tile_loadd(6, w, ws);
    MULTIPLY_ADD(0, 4, 6);
    if (R == 2) {
        _tile_loadd(5, a1, as);
        MULTIPLY_ADD(2, 5, 6);
    }
    if (C > 1) {
        _tile_loadd(7, w + TILE_BYTES, ws);
        MULTIPLY_ADD(1, 4, 7);
        if (R == 2)
            MULTIPLY_ADD(3, 5, 7);
    }
    if (C > 2) {
        _tile_loadd(6, w + 2 * TILE_BYTES, ws);
        MULTIPLY_ADD(2, 4, 6);
    }
    if (C > 3) {
        _tile_loadd(7, w + 3 * TILE_BYTES, ws);
        MULTIPLY_ADD(3, 4, 7);
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

/* Sums of integers start from a row of biases, the same for every row of a tile. */
INLINE void start_sums(const int32_t *bias, int R, int C, bool integers)
{
    if (!integers) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        return;
    }
    _tile_loadd(0, bias, 0);
    if (C > 1)
        _tile_loadd(1, bias + TILE_COLUMNS, 0);
    if (R == 2 || C > 2)
        _tile_loadd(2, bias + (R == 2 ? 0 : 2) * TILE_COLUMNS, 0);
    if (R * C > 3)
        _tile_loadd(3, bias + (R == 2 ? 1 : 3) * TILE_COLUMNS, 0);
}

/* The sums of a pass by C tiles of columns from `out` on, whose last terms w_tail has from column `tail_out` on. */
INLINE void multiply_pass(struct unit_product *p, const struct row_pass *pass, struct scratch *s, int out, int tail_out,
                          int R, int C, bool integers)
{
    const struct gemm_block *g = p->g;
    __asm__ volatile("" ::: "memory"); /* the unit reads what was copied before */
    start_sums(s->bias + out - tail_out, R, C, integers);
    for (int e = 0; e < p->entries; e++) {
        const char *a = pass->a[e] + pass->at[0], *a1 = pass->a[e] + pass->at[1];
        const char *w = (const char *)g->w[e] + QUAD * (int64_t)out;
        for (int t = 0; t < p->full; t++, w += TILE_BYTES / QUAD * p->w_bytes) {
            prefetch_weights(p);
            multiply_tile(a + t * TILE_BYTES, a1 + t * TILE_BYTES, pass->a_bytes, w, p->w_bytes, R, C, integers);
        }
    }
    if (p->tail)
        multiply_tile(s->a_tail, s->a_tail + TILE_ROWS * TILE_BYTES, TILE_BYTES, s->w_tail + QUAD * (out - tail_out),
                      QUAD * PASS_COLUMNS, R, C, integers);
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

INLINE void finish_floats(struct unit_product *p, const struct row_pass *pass, const float *sums, int out, int C)
{
    const struct gemm_block *g = p->g;
    struct gemm_panel panel = {.g = g, .simple = &p->simple, .out = g->first_out + out};
    panel.columns = g->columns - out < C * TILE_COLUMNS ? g->columns - out : C * TILE_COLUMNS;
    for (int t = 0; t < pass->tiles; t++, sums += TILE_ROWS * PASS_COLUMNS) {
        int r = pass->known[t];
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

INLINE vi load_sums(const int32_t *p, __mmask16 some)
{
    return (vi)_mm512_maskz_loadu_epi32(some, p);
}

/* Sums of a tile made 8-bit numbers. */
static void requantize_tile(const struct unit_product *p, const struct row_pass *pass, int32_t *sums, int tile, int out,
                            int columns)
{
    const struct gemm_quantized *q = p->g->quantized;
    struct requantize as = q->as;
    uint8_t *to[TILE_ROWS];
    const uint8_t *others[TILE_ROWS] = {NULL};
    const int known = pass->known[tile], band = pass->start[tile] / p->width;
    const int64_t column = pass->start[tile] % p->width; /* a tile lies in one band */
    as.scale += out, as.shift += out;
    for (int r = known; r < pass->rows; r++) {
        to[r] = q->y + band * q->y_band + (column + r) * q->y_pitch + out;
        if (q->other)
            others[r] = q->other + band * q->other_band + (column + r) * q->other_pitch + out;
    }
    requantize_rows(&as, sums + known * PASS_COLUMNS, pass->rows - known, columns, to + known, others + known);
}

static void store_integers(const struct unit_product *p, const struct row_pass *pass, const int32_t *sums, int tile,
                           int out, int columns)
{
    const struct gemm_block *g = p->g;
    for (int r = pass->known[tile]; r < pass->rows; r++) {
        int32_t *c = (int32_t *)g->c + (g->first_row + pass->start[tile] + r) * g->c_pitch + g->first_out + out;
        for (int o = 0; o < columns; o += LANES) {
            __mmask16 some = mask_of((size_t)(columns - o < LANES ? columns - o : LANES));
            vu x = (vu)load_sums(sums + r * PASS_COLUMNS + o, some);
            if (g->accumulate) /* wraps, as the instruction does */
                x += (vu)load_sums(c + o, some);
            _mm512_mask_storeu_epi32(c + o, some, (__m512i)x);
        }
    }
}

INLINE void finish_integers(struct unit_product *p, const struct row_pass *pass, int32_t *sums, int out, int C)
{
    const int left = p->g->columns - out, columns = left < C * TILE_COLUMNS ? left : C * TILE_COLUMNS;
    for (int t = 0; t < pass->tiles; t++, sums += TILE_ROWS * PASS_COLUMNS)
        if (p->g->quantized)
            requantize_tile(p, pass, sums, t, out, columns);
        else
            store_integers(p, pass, sums, t, out, columns);
}

/* ---- all of a product ---- */

/* n bytes and then zeros, of a tile. */
INLINE void copy_terms(char *to, const char *from, int64_t n)
{
    __mmask64 some = n >= TILE_BYTES ? ~(__mmask64)0 : n > 0 ? ((__mmask64)1 << n) - 1 : 0;
    _mm512_storeu_si512(to, _mm512_maskz_loadu_epi8(some, from));
}

static int64_t whole_quads(int64_t bytes)
{
    return (bytes + QUAD - 1) / QUAD * QUAD;
}

/* Entries of the rows of a pass, each rounded up to quads, one behind the other; what follows the last is zeros. */
static void gather(const struct unit_product *p, const struct row_pass *pass, char *to)
{
    const struct gemm_block *g = p->g;
    const int64_t bytes = (int64_t)g->k * p->size, even = whole_quads(bytes);
    for (int t = 0; t < pass->tiles; t++)
        for (int r = 0; r < pass->rows; r++)
            for (int e = 0; e < g->count; e++) {
                const char *a = (const char *)g->a[e] + pass->at[t] + r * pass->a_bytes;
                char *row = to + (t * TILE_ROWS + r) * p->row_bytes + e * even;
                /* a copy writes a whole tile: what it has too much, the next entry or row writes again */
                for (int64_t k = 0; k < even; k += TILE_BYTES)
                    copy_terms(row + k, a + k, bytes - k);
            }
}

static void copy_row_tails(const struct unit_product *p, const struct row_pass *pass, char *to)
{
    for (int t = 0; t < pass->tiles; t++)
        for (int r = 0; r < pass->rows; r++)
            copy_terms(to + (t * TILE_ROWS + r) * TILE_BYTES,
                       pass->a[0] + pass->at[t] + r * pass->a_bytes + p->full * TILE_BYTES, p->tail);
}

static void copy_weight_tails(const struct unit_product *p, int out, char *to)
{
    const int left = (p->g->columns - out + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS;
    const size_t bytes = QUAD * (size_t)(left < PASS_COLUMNS ? left : PASS_COLUMNS);
    const char *w = (const char *)p->g->w[0] + p->full * (TILE_BYTES / QUAD) * p->w_bytes + QUAD * (int64_t)out;
    for (int i = 0; i < TILE_BYTES / QUAD; i++, to += QUAD * PASS_COLUMNS)
        if (QUAD * i < p->tail)
            memcpy(to, w + i * p->w_bytes, bytes);
        else
            memset(to, 0, bytes);
}

static void copy_biases(const struct gemm_block *g, int out, int32_t *to)
{
    const int left = g->columns - out, columns = left < PASS_COLUMNS ? left : PASS_COLUMNS;
    memset(to, 0, PASS_COLUMNS * sizeof *to);
    if (g->quantized && g->quantized->bias)
        memcpy(to, g->quantized->bias + out, sizeof *to * (size_t)columns);
}

/* The next tiles from row *row on; *row becomes the first that is not in them. */
static struct row_pass next_pass(const struct unit_product *p, int *row)
{
    struct row_pass pass = {.rows = p->width < TILE_ROWS ? p->width : TILE_ROWS, .a_bytes = p->a_bytes};
    for (; pass.tiles < 2 && *row < p->g->rows; pass.tiles++) {
        int t = pass.tiles, band = *row / p->width, column = *row % p->width;
        int start = column + pass.rows <= p->width ? column : p->width - pass.rows;
        pass.start[t] = band * p->width + start;
        pass.known[t] = column - start;
        pass.at[t] = band * p->band_bytes + start * p->a_bytes;
        *row += pass.rows - pass.known[t];
    }
    pass.a = (const char *const *)p->g->a;
    return pass;
}

/* What follows has one form for each number of columns. */
#define DEFINE_FINISH(C)                                                                                              \
    ONE_COPY void finish_floats_##C(struct unit_product *p, const struct row_pass *pass, const float *sums, int out)  \
    {                                                                                                                 \
        finish_floats(p, pass, sums, out, C);                                                                         \
    }
DEFINE_FINISH(1)
DEFINE_FINISH(2)
DEFINE_FINISH(4)

/* One pass by C tiles of columns, of R tiles of rows. */
typedef void pass_fn(struct unit_product *p, const struct row_pass *pass, struct scratch *s, int out, int tail_out);
#define DEFINE_PASS(R, C)                                                                                             \
    static void floats_##R##x##C(struct unit_product *p, const struct row_pass *pass, struct scratch *s, int out,     \
                                 int tail_out)                                                                        \
    {                                                                                                                 \
        multiply_pass(p, pass, s, out, tail_out, R, C, false);                                                        \
        finish_floats_##C(p, pass, s->sums, out);                                                                     \
    }                                                                                                                 \
    static void integers_##R##x##C(struct unit_product *p, const struct row_pass *pass, struct scratch *s, int out,   \
                                   int tail_out)                                                                      \
    {                                                                                                                 \
        multiply_pass(p, pass, s, out, tail_out, R, C, true);                                                         \
        finish_integers(p, pass, (int32_t *)(void *)s->sums, out, C);                                                 \
    }
DEFINE_PASS(1, 1)
DEFINE_PASS(1, 2)
DEFINE_PASS(1, 4)
DEFINE_PASS(2, 1)
DEFINE_PASS(2, 2)

static void run_columns(struct unit_product *p, const struct row_pass *pass, struct scratch *s, int out)
{
    enum { ONE, TWO, FOUR };
    static pass_fn *const of[2][2][3] = {
        {{floats_1x1, floats_1x2, floats_1x4}, {floats_2x1, floats_2x2, NULL}},
        {{integers_1x1, integers_1x2, integers_1x4}, {integers_2x1, integers_2x2, NULL}}};
    const int left = p->g->columns - out, columns = left < PASS_COLUMNS ? left : PASS_COLUMNS;
    for (int c = 0; c < columns;) {
        int tiles = (columns - c + TILE_COLUMNS - 1) / TILE_COLUMNS;
        int wide = tiles == 1 ? ONE : tiles == 4 && pass->tiles == 1 ? FOUR : TWO;
        of[p->size == 1][pass->tiles - 1][wide](p, pass, s, out + c, out);
        c += TILE_COLUMNS << wide;
    }
}

static void run_product(struct unit_product *p, struct scratch *s)
{
    const struct gemm_block *g = p->g;
    const char *gathered = s->gathered;
    set_up_unit(p->width < TILE_ROWS ? p->width : TILE_ROWS);
    for (int out = 0; out < g->columns; out += PASS_COLUMNS) {
        if (p->tail)
            copy_weight_tails(p, out, s->w_tail);
        if (p->size == 1)
            copy_biases(g, out, s->bias);
        for (int row = 0; row < g->rows;) {
            struct row_pass pass = next_pass(p, &row);
            if (p->gathered) {
                gather(p, &pass, s->gathered);
                pass.a = &gathered, pass.a_bytes = p->row_bytes;
                pass.at[0] = 0, pass.at[1] = TILE_ROWS * p->row_bytes;
            }
            if (p->tail)
                copy_row_tails(p, &pass, s->a_tail);
            run_columns(p, &pass, s, out);
        }
    }
}

/* Whether the entries' weights lie one behind the other, so that they are those of one entry of more terms. */
static bool one_behind_other(const struct gemm_block *g, int64_t quads)
{
    for (int e = 1; e < g->count; e++)
        if ((const char *)g->w[e] - (const char *)g->w[e - 1] != quads * g->w_pitch * QUAD)
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

/* Rows of one band, unless the product is quantised: see gemm_quantized. */
static void plan_rows(struct unit_product *p)
{
    const struct gemm_block *g = p->g;
    const struct gemm_quantized *q = g->quantized;
    p->a_bytes = p->size * g->a_pitch;
    p->width = q && q->width < g->rows ? q->width : g->rows;
    p->band_bytes = q ? p->size * q->a_band : 0;
}

static bool plan(struct unit_product *p, const struct gemm_block *g, int size)
{
    const int64_t bytes = (int64_t)g->k * size, even = whole_quads(bytes);
    int64_t terms = bytes;
    *p = (struct unit_product){.g = g, .size = size, .entries = g->count, .w_bytes = QUAD * (int64_t)g->w_pitch};
    plan_rows(p);
    if (p->width < MIN_ROWS || g->resume || bytes * g->count < TILE_BYTES / 2)
        return false;
    p->gathered = g->count > 1 && bytes % TILE_BYTES;
    if (p->gathered) {
        if (even * g->count > MAX_GATHERED || !one_behind_other(g, even / QUAD))
            return false;
        p->entries = 1, terms = even * g->count;
        p->row_bytes = (terms + TILE_BYTES - 1) / TILE_BYTES * TILE_BYTES + TILE_BYTES;
    }
    p->full = (int)(terms / TILE_BYTES);
    p->tail = (int)(terms % TILE_BYTES);
    if (size > 1)
        p->simple = simple_steps(g);
    plan_prefetch(p);
    return true;
}

/* Not inlined, so that other products take no room for the copy. */
static __attribute__((noinline)) void run_gathered(struct unit_product *p)
{
    char gathered[PASS_ROWS * (MAX_GATHERED + 2 * TILE_BYTES)] __attribute__((aligned(64)));
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

static void run_on_unit(const struct gemm_block *g, int size, void (*below)(const struct gemm_block *g))
{
    struct unit_product p;
    if (!plan(&p, g, size))
        below(g);
    else if (p.gathered)
        run_gathered(&p);
    else
        run_in_place(&p);
}

static void unit_bf16(const struct gemm_block *g)
{
    run_on_unit(g, 2, bf16_below);
}

static void unit_u8s8(const struct gemm_block *g)
{
    run_on_unit(g, 1, u8s8_below);
}

/* Once it has the kernels below; the second time finds its own. */
void KERNEL_FAMILY(matrix_unit, VARIANT)(struct kernel_table *t)
{
    WHEN_USED(KERNEL_gemm_bf16, if (t->gemm_bf16 != unit_bf16) bf16_below = t->gemm_bf16; t->gemm_bf16 = unit_bf16;)
    WHEN_USED(KERNEL_gemm_u8s8, if (t->gemm_u8s8 != unit_u8s8) u8s8_below = t->gemm_u8s8; t->gemm_u8s8 = unit_u8s8;)
    t->stream_line = STREAM_LINE_OF_UNIT;
    t->release = release_unit;
}
