#include "backend/lower/strict_product.h"

#include "backend/lower/lazy_constants.h"

#include <string.h>

/* ---- tile sizes ---- */

enum { MAX_BLOCKS = 48, MAX_OUT_TILES = 4, MAX_ROW_TILES = 8 };

/* Blocks of k; one when they are in a loop. */
static int blocks_of(const struct strict_product *p)
{
    return p->unrolled ? (int)ceil_div(p->k, p->block) : 1;
}

/* The most tiles, up to `max`, that divide those of a known count. */
static int joint_tiles(dim_t count, dim_t tile, int max)
{
    int64_t n = dim_is_const(count) ? ceil_div(count, tile) : 1;
    for (int d = max; d > 1; d--)
        if (n % d == 0)
            return d;
    return 1;
}

/* Bytes of a partition that an instance takes: two tiles of rows, as they are and transposed, the
 * columns of all tiles of output channels, and what the epilogue works on. */
static int64_t bytes_of(const struct strict_product *p, const struct group *g)
{
    int64_t size = (int64_t)dtype_bytes(p->b.dtype), blocks = blocks_of(p);
    int64_t rows = 2 * blocks * (p->block + p->row.tile) * size;
    int64_t columns = p->out_tiles * blocks * p->out.tile * size;
    return rows + columns + p->out_tiles * (2 + 2 * g->n) * p->out.tile * 4;
}

void strict_product_tiles(const struct lowering *l, const struct group *g, struct strict_product *p)
{
    const struct machine *m = l->m;
    int64_t room = m->sbuf * 2 / 3; /* another instance, or another step, has the rest */
    p->block = even_tile(p->k, m->matmul_k);
    p->unrolled = dim_is_const(p->k) && ceil_div(p->k, p->block) <= MAX_BLOCKS;
    p->row.tile = even_tile(p->rows, m->matmul_m < m->partitions ? m->matmul_m : m->partitions);
    p->out.tile =
        even_tile(p->out_channels, m->psum_bank / 4 < m->matmul_n ? m->psum_bank / 4 : m->matmul_n);
    p->out_tiles = p->unrolled ? joint_tiles(p->out_channels, p->out.tile, MAX_OUT_TILES) : 1;
    p->row_tiles = p->unrolled ? joint_tiles(p->rows, p->row.tile, MAX_ROW_TILES) : 1;
    while (bytes_of(p, g) > room && p->out_tiles > 1)
        p->out_tiles = p->out_tiles == 4 ? 2 : 1;
    while (bytes_of(p, g) > room && p->out.tile > 64)
        p->out.tile = even_tile(p->out.tile, p->out.tile / 2);
    p->row.every = p->row_tiles * p->row.tile;
    p->out.every = p->out_tiles * p->out.tile;
}

/* ---- packed weights: [tile of output channels][row of a block][block of k][out] ---- */

enum { MIN_PIECE = 4096 }; /* bytes of a partition that one transfer loads, where there are */

struct packed {
    struct lazy_constant lazy;
    int64_t k, out_channels, step_k, step_out, block, blocks, tile;
};

/* What lies outside the matrix is zero, and not multiplied. */
static bool pack(const struct constant_maker *maker, int64_t piece, void *to)
{
    const struct packed *x = (const struct packed *)maker;
    const struct tensor *w = x->lazy.from->constant;
    size_t size = dtype_bytes(w->dtype);
    char *at = to;
    for (int64_t p = 0; p < x->block; p++)
        for (int64_t b = 0; b < x->blocks; b++)
            for (int64_t o = 0; o < x->tile; o++, at += size) {
                int64_t k = b * x->block + p, out = piece * x->tile + o;
                if (k >= x->k || out >= x->out_channels)
                    memset(at, 0, size);
                else
                    memcpy(at,
                           (const char *)w->data +
                               size * (size_t)(k * x->step_k + out * x->step_out),
                           size);
            }
    return true;
}

static bool same_pack(const struct lazy_constant *a, const struct lazy_constant *b)
{
    return !memcmp(a + 1, b + 1, sizeof(struct packed) - sizeof *a); /* numbers of 64 bits */
}

int packed_weights(struct lowering *l, const struct strict_product *p, const struct value *w,
                   int64_t step_k, int64_t step_out)
{
    struct packed *x = ARENA_NEW(&l->g->arena, struct packed);
    *x = (struct packed){.lazy.maker.make = pack,
                         .lazy.same = same_pack,
                         .k = p->k,
                         .out_channels = p->out_channels,
                         .step_k = step_k,
                         .step_out = step_out,
                         .block = p->block,
                         .blocks = blocks_of(p),
                         .tile = p->out.tile};
    int64_t tiles = ceil_div(p->out_channels, p->out.tile), dims[4] = {tiles, x->block, x->blocks, x->tile};
    struct tensor shape = tensor_view(w->type.dtype, 4, dims, NULL);
    return lazy_constant(l, &x->lazy, w, tiles, &shape, w->name);
}

/* ---- tiles ---- */

static struct ap swapped(struct ap a)
{
    struct ap_dim d = a.dim[0];
    a.dim[0] = a.dim[1], a.dim[1] = d;
    return a;
}

void emit_tile_product(struct kernel_builder *k, struct ap dst, struct ap stationary,
                       struct ap moving, struct affine accumulate)
{
    emit_nc_matmul(k, (struct nc_matmul){.dst = swapped(dst),
                                         .stationary = stationary,
                                         .moving = swapped(moving),
                                         .accumulate = accumulate});
}

/* One instance, while it is emitted. */
struct emission {
    struct kernel_builder *k;
    struct strict_product *p;
    int nbanks;     /* accumulators, and tiles for transposes, used in turn */
    int sums[2];    /* (rows, output channels) */
    int transposed[2]; /* (block of k, rows of several blocks) */
    int nsums, ntransposed;
    struct ap a[MAX_BLOCKS], b[MAX_OUT_TILES][MAX_BLOCKS];
};

static dim_t width_of(const struct strict_product *p, int block)
{
    dim_t left = p->unrolled ? p->k - block * p->block : p->block;
    return left < p->block ? left : p->block;
}

/* Adds block number `block` of k, or the one of a loop's trip. */
static void push_block(struct emission *e, struct ap *a, dim_t step, int block, int var_k)
{
    const struct strict_product *p = e->p;
    struct dim_table *t = &e->k->p->dims;
    a->offset.base = dim_add(t, a->offset.base, dim_mul(t, step, block * p->block));
    ap_push_tile(e->k->p, a, step, width_of(p, block), var_k, p->k);
}

/* Blocks that fit one tile for transposes, and are equally wide. */
static int blocks_together(const struct emission *e, int from)
{
    const struct strict_product *p = e->p;
    int max = (int)(e->k->m->psum_bank / 4 / p->row.tile), n = 1;
    while (n < max && from + n < blocks_of(p) && width_of(p, from + n) == width_of(p, from))
        n++;
    return n;
}

/* (block, rows) of `count` blocks from (rows, k) in SBUF. */
static void transpose_blocks(struct emission *e, struct ap rows, int from, int count)
{
    struct kernel_builder *k = e->k;
    const struct strict_product *p = e->p;
    dim_t width = width_of(p, from), row = p->row.tile;
    int in_psum = e->transposed[e->ntransposed++ % e->nbanks];
    int kept = kernel_tile(k, MEM_SBUF, rows.dtype, p->block, count * row);
    struct ap all = {.mem = MEM_PSUM, .dtype = DT_F32, .tensor = in_psum};
    ap_push(&all, kernel_of(k)->tiles[in_psum].elements, width);
    ap_push(&all, row, count);
    ap_push(&all, 1, row);
    cover_clip(k->p, &all, 2, &p->row, p->rows);
    for (int i = 0; i < count; i++) {
        struct ap block = rows, dst = all;
        block.dim[1].count = width;
        block.offset.base += (from + i) * p->block;
        dst.rank = 2, dst.dim[1] = all.dim[2], dst.offset.base += i * row;
        emit_nc_transpose(k, (struct nc_transpose){.dst = dst, .src = block});
    }
    struct ap to = all;
    to.mem = MEM_SBUF, to.dtype = rows.dtype, to.tensor = kept, to.dim[0].step = count * row;
    emit_tensor_copy(k, (struct tensor_copy){.dst = to, .src = all});
    for (int i = 0; i < count; i++) {
        struct ap *block = &e->a[from + i];
        *block = to;
        block->rank = 2, block->dim[1] = to.dim[2], block->offset.base += i * row;
    }
}

/* The blocks (k, rows) of this tile of rows. */
static void load_rows(struct emission *e, int var_k)
{
    const struct strict_product *p = e->p;
    struct kernel_builder *k = e->k;
    if (p->a_k == 1 && p->unrolled) {
        struct ap rows = p->a;
        cover_push(k->p, &rows, &p->row, p->a_row, p->rows);
        ap_push(&rows, 1, p->k);
        rows = stage_in(k, rows);
        rows.dim[1].step = 1;
        for (int i = 0, n; i < blocks_of(p); i += n) {
            n = blocks_together(e, i);
            transpose_blocks(e, rows, i, n);
        }
        return;
    }
    for (int i = 0; i < blocks_of(p); i++) {
        struct ap block = p->a;
        push_block(e, &block, p->a_k, i, var_k);
        cover_push(k->p, &block, &p->row, p->a_row, p->rows);
        e->a[i] = stage_in(k, block);
    }
}

/* Several blocks of packed weights in one transfer, in one tile. */
static void load_packed(struct emission *e, int tile, int from, int count)
{
    const struct strict_product *p = e->p;
    struct kernel_builder *k = e->k;
    int64_t row = blocks_of(p) * p->out.tile, part = count * p->out.tile;
    struct ap far = p->b, near = {.mem = MEM_SBUF, .dtype = p->b.dtype};
    ap_move(k->p, &far, p->out.var, p->out_tiles * p->block * row);
    far.offset.base += tile * p->block * row + from * p->out.tile;
    near.tensor = kernel_tile(k, MEM_SBUF, near.dtype, p->block, part);
    ap_push(&far, row, p->block), ap_push(&far, 1, part);
    ap_push(&near, part, p->block), ap_push(&near, 1, part);
    emit_dma_copy(k, (struct dma_copy){.dst = near, .src = far});
    near.dim[1].count = p->out.tile;
    cover_clip(k->p, &near, 1, &p->out, p->out_channels);
    for (int i = 0; i < count; i++) {
        struct ap *block = &e->b[tile][from + i];
        *block = near;
        block->dim[0].count = width_of(p, from + i);
        block->offset.base += i * p->out.tile;
    }
}

static void load_out_channels(struct emission *e, int tile, int var_k)
{
    const struct strict_product *p = e->p;
    int64_t bytes = p->out.tile * (int64_t)dtype_bytes(p->b.dtype);
    int n = blocks_of(p), max = (int)ceil_div(MIN_PIECE, bytes);
    for (int i = 0; p->packed && i < n; i += max)
        load_packed(e, tile, i, n - i < max ? n - i : max);
    if (p->packed)
        return;
    for (int i = 0; i < blocks_of(p); i++) {
        struct ap block = p->b;
        push_block(e, &block, p->b_k, i, var_k);
        cover_push(e->k->p, &block, &p->out, p->b_out, p->out_channels);
        e->b[tile][i] = stage_in(e->k, block);
    }
}

static struct ap sums(struct emission *e)
{
    const struct strict_product *p = e->p;
    struct ap s = {.mem = MEM_PSUM, .dtype = DT_F32, .tensor = e->sums[e->nsums++ % e->nbanks]};
    ap_push(&s, p->out.tile, p->row.tile), cover_clip(e->k->p, &s, 0, &p->row, p->rows);
    ap_push(&s, 1, p->out.tile), cover_clip(e->k->p, &s, 1, &p->out, p->out_channels);
    return s;
}

/* ---- instances ---- */

static void multiply_unrolled(struct emission *e, product_finish *finish, void *user)
{
    struct strict_product *p = e->p;
    for (int o = 0; o < p->out_tiles; o++) {
        p->out.at = o * p->out.tile;
        load_out_channels(e, o, -1);
    }
    for (int r = 0; r < p->row_tiles; r++) {
        p->row.at = r * p->row.tile;
        load_rows(e, -1);
        for (int o = 0; o < p->out_tiles; o++) {
            p->out.at = o * p->out.tile;
            struct ap result = sums(e);
            for (int i = 0; i < blocks_of(p); i++)
                emit_tile_product(e->k, result, e->a[i], e->b[o][i], affine_number(i > 0));
            finish(user, p, result);
        }
    }
}

static void multiply_in_loop(struct emission *e, product_finish *finish, void *user)
{
    struct strict_product *p = e->p;
    struct ap result = sums(e);
    int var_k = kernel_loop(e->k, dim_ceildiv(&e->k->p->dims, p->k, p->block));
    load_out_channels(e, 0, var_k);
    load_rows(e, var_k);
    emit_tile_product(e->k, result, e->a[0], e->b[0][0], affine_variable(e->k->p, 0, var_k, 1));
    kernel_end_loop(e->k);
    finish(user, p, result);
}

void strict_product_emit(struct kernel_builder *k, struct strict_product *p, product_finish *finish,
                         void *user)
{
    struct emission e = {.k = k, .p = p, .nbanks = k->m->psum / k->m->psum_bank >= 8 ? 2 : 1};
    for (int i = 0; i < e.nbanks; i++) {
        e.sums[i] = kernel_tile(k, MEM_PSUM, DT_F32, p->row.tile, p->out.tile);
        if (p->unrolled && p->a_k == 1)
            e.transposed[i] = kernel_tile(k, MEM_PSUM, DT_F32, p->block, k->m->psum_bank / 4);
    }
    if (p->unrolled)
        multiply_unrolled(&e, finish, user);
    else
        multiply_in_loop(&e, finish, user);
}
