#include "frontend/standalone/use_blocks.h"

#include "runtime/kernels/blocks.h"

enum { LOOK_AT = 4096 }; /* trips of a clipped dim */
enum { NARROW_ROW = 16 }; /* columns of one row that gemm_row.inc computes at once anyway */

/* What a dim of a tile can be. */
struct lengths {
    int64_t max;
    bool open; /* other numbers too */
    const struct ap_clip *clip; /* that leaves less of it, in trips; or NULL */
};

static struct lengths lengths_of(const struct ap_dim *dim)
{
    const struct ap_clip *c = dim->clip;
    if (!dim_is_const(dim->count))
        return (struct lengths){.open = true};
    bool known = !c || (dim_is_const(c->limit) && dim_is_const(c->factor));
    return (struct lengths){dim->count, !known, known ? c : NULL};
}

typedef void length_fn(void *to, int64_t length);

static void for_lengths(const struct lengths *c, length_fn *add, void *to)
{
    if (c->max > 0)
        add(to, c->max);
    if (!c->clip)
        return;
    int64_t left = c->clip->limit;
    for (int v = 0; v < LOOK_AT && left > 0; v++, left -= c->clip->factor)
        if (left < c->max)
            add(to, left);
}

/* ---- rows ---- */

struct heights {
    unsigned of[MAX_BLOCK_ROWS + 1]; /* bit h: blocks of h rows, where so many are the most */
    bool one, few, many; /* tiles of one row; of fewer than PANEL_ROWS_FROM, and of more */
};

static void add_height(void *to, int64_t rows)
{
    struct heights *h = to;
    for (int max = 1; max <= MAX_BLOCK_ROWS; max++) {
        int64_t blocks = (rows + max - 1) / max;
        h->of[max] |= 1u << (rows / blocks);
        if (rows % blocks)
            h->of[max] |= 2u << (rows / blocks);
    }
    h->one |= rows == 1;
    h->few |= rows > 1 && rows < PANEL_ROWS_FROM;
    h->many |= rows >= PANEL_ROWS_FROM;
}

/* Panels meet so many rows at a time. How many depends on the terms: a multiple of a block's rows. */
static void add_panel_height(void *to, int64_t rows)
{
    for (int max = PANEL_ROWS_MIN; rows >= PANEL_ROWS_FROM && max <= PANEL_ROWS_MAX; max += PANEL_ROWS_STEP) {
        add_height(to, rows < max ? rows : max);
        if (rows % max && rows > max)
            add_height(to, rows % max);
    }
}

/* Of numbers that are not known, what all others are put together from. */
static struct heights heights_of(const struct lengths *c, length_fn *add)
{
    struct heights h = {0};
    for_lengths(c, add, &h);
    for (int rows = 1; c->open && rows <= 4; rows *= 2)
        add_height(&h, rows);
    h.many |= c->open;
    return h;
}

/* ---- columns ---- */

struct widths {
    int lanes, vectors; /* of a block at most */
    unsigned full, half; /* bit v: blocks of v vectors, of which the last is a half */
    unsigned part; /* bit v: blocks of v vectors, of which the last is not whole */
};

static void add_width(void *to, int64_t columns)
{
    struct widths *w = to;
    int block = w->lanes * w->vectors, rest = (int)(columns % block);
    if (columns >= block)
        w->full |= 1u << w->vectors;
    if (!rest)
        return;
    int vectors = (rest + w->lanes - 1) / w->lanes;
    bool half = w->lanes == 16 && rest - (vectors - 1) * w->lanes <= w->lanes / 2 && vectors >= HALF_VECTORS &&
                vectors < HALF_VECTORS + HALF_WIDTHS;
    *(half ? &w->half : &w->full) |= 1u << vectors;
    w->part |= (rest % w->lanes && !half ? 1u : 0u) << vectors;
}

static struct widths widths_of(const struct lengths *c, int lanes, int vectors)
{
    struct widths w = {.lanes = lanes, .vectors = vectors};
    for_lengths(c, add_width, &w);
    /* by quarters of a vector: a last one that is less than a half, a half, more than a half, whole */
    for (int columns = lanes / 4; c->open && columns <= lanes * vectors; columns += lanes / 4)
        add_width(&w, columns);
    return w;
}

/* ---- blocks ---- */

/* Those of `vectors` vectors that have the rows of a bit of `heights`. */
static void add_column(struct used *u, const struct widths *w, const char *type, int vectors, unsigned heights)
{
    if (heights && w->part >> vectors & 1)
        use_add(u, "GEMM_%d_PART_%s_%d", w->lanes, type, vectors);
    for (int rows = 1; rows <= MAX_BLOCK_ROWS; rows++) {
        if (!(heights >> rows & 1))
            continue;
        if (w->full >> vectors & 1)
            use_add(u, "GEMM_%d_%s_block_%dx%d", w->lanes, type, rows, vectors);
        if (w->half >> vectors & 1)
            use_add(u, "GEMM_%d_%s_half_%dx%d", w->lanes, type, rows, vectors);
    }
}

/* Kernels of four lanes are portable ones and NEON's. */
static void add_f32(struct used *u, const struct widths *w, const struct heights *h)
{
    for (int v = 1; v <= w->vectors; v++)
        add_column(u, w, "f32", v,
                   h->of[BLOCK_ROWS_OF(w->lanes, false, v)] |
                       (w->lanes == 4 && u->neon ? h->of[BLOCK_ROWS_OF(4, true, v)] : 0));
}

static void add_bf16(struct used *u, const struct widths *w, const struct heights *h)
{
    for (int v = 1; v <= w->vectors; v++)
        add_column(u, w, "bf16", v,
                   h->of[WIDENED_ROWS_OF(w->lanes, false)] |
                       (w->lanes == 4 && u->neon ? h->of[WIDENED_ROWS_OF(4, true)] : 0));
}

static void add_tiles(struct used *u, const struct lengths *rows, const struct lengths *columns, enum gemm_type type)
{
    static const int lanes[] = {4, 8, 16};
    const struct heights h = heights_of(rows, add_height), panel = heights_of(rows, add_panel_height);
    if (h.one)
        use_add(u, "GEMM_ONE_ROW");
    if (h.one && (columns->open || columns->max > NARROW_ROW))
        use_add(u, "GEMM_WIDE_ROW");
    if (h.few && type == GEMM_BF16)
        use_add(u, "GEMM_FEW_bf16");
    if (h.many && type == GEMM_BF16)
        use_add(u, "GEMM_MANY_bf16");
    for (int i = 0; i < (int)(sizeof lanes / sizeof *lanes); i++) {
        const struct widths all = widths_of(columns, lanes[i], MAX_BLOCK_VECTORS),
                            narrow = widths_of(columns, lanes[i], NARROW_VECTORS_OF(lanes[i]));
        if (type == GEMM_F32)
            add_f32(u, &all, &h);
        if (type == GEMM_BF16 && (lanes[i] == 16 || h.few || (lanes[i] == 4 && u->neon_bf16)))
            add_bf16(u, &narrow, &h);
        if (type == GEMM_BF16 && lanes[i] < 16 && h.many)
            add_f32(u, &all, &panel);
        for (int v = 1; type == GEMM_U8S8 && v <= narrow.vectors; v++)
            add_column(u, &narrow, "u8s8", v, h.of[U8S8_ROWS]);
    }
}

void use_add_blocks(struct used *u, const struct ap *y, enum gemm_type type, bool exchanged)
{
    static const struct ap_dim one = {.count = 1};
    struct lengths rows = lengths_of(y->rank > 1 ? &y->dim[y->rank - 2] : &one),
                  columns = lengths_of(y->rank > 0 ? &y->dim[y->rank - 1] : &one);
    add_tiles(u, &rows, &columns, type);
    if (exchanged)
        add_tiles(u, &columns, &rows, type);
}

void use_add_tile(struct used *u, int64_t rows, int64_t columns, enum gemm_type type)
{
    const struct lengths of_rows = {.max = rows}, of_columns = {.max = columns};
    add_tiles(u, &of_rows, &of_columns, type);
}

void use_add_columns(struct used *u, int64_t columns)
{
    const struct lengths any = {.open = true}, all = {.max = columns};
    add_tiles(u, &any, &all, GEMM_F32);
}

void use_add_every_block(struct used *u)
{
    use_add(u, "GEMM_ONE_ROW");
    use_add(u, "GEMM_WIDE_ROW");
    use_add(u, "GEMM_ANY_f32");
}

/* ---- steps ---- */

static bool is_product(const struct insn *n)
{
    return n->op == INSN_nc_matmul || n->op == INSN_weight_only_matmul || n->op == INSN_quantized_matmul ||
           n->op == INSN_recurrence;
}

/* Whether a step may add, to each row of sums, a row of its own. */
static bool has_rows(const struct insn *n)
{
    for (int i = 1; i < insn_info(n->op)->naps; i++) {
        const struct ap *a = &n->ap[i];
        if (a->mem != MEM_NONE && a->mem != MEM_PSUM && (a->rank < 2 || a->dim[a->rank - 2].step != 0))
            return true;
    }
    return false;
}

void use_add_steps(struct used *u, const struct kernel *k, const struct insn_forms *f)
{
    bool product = false;
    for (int i = 0; i < k->ninsns; i++) {
        product |= is_product(&k->insns[i]);
        if (is_product(&k->insns[i]) && k->insns[i].op != INSN_nc_matmul) {
            use_add(u, "GEMM_LONG_STEPS");
            use_add(u, "GEMM_FAR_ROWS");
        }
    }
    for (int i = 0; product && i < k->ninsns; i++) {
        const struct insn *n = &k->insns[i];
        if (is_product(n) || (f && f[i].forms))
            continue;
        if (n->ap[0].mem != MEM_NONE && n->ap[0].dtype == DT_BF16)
            use_add(u, "GEMM_ROUNDS");
        if (has_rows(n))
            use_add(u, "GEMM_OTHER");
    }
}
