#include "backend/lower/strict_product.h"

#include "backend/lower/lazy_constants.h"

#include <string.h>

/* ---- tile sizes ---- */

enum { MAX_BLOCKS = 48, MAX_ROW_TILES = 8 };

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
 * columns of all tiles of output channels, and what follows works on. */
static int64_t bytes_of(const struct strict_product *p)
{
    enum { ROWS_AT_WORK = 8 }; /* of a tile of whole rows, with what is done to them */
    int64_t size = (int64_t)dtype_bytes(p->part[0].b.dtype), blocks = blocks_of(p), columns = 0, work = 0;
    int64_t rows = 2 * blocks * (p->block + p->row.tile) * size;
    for (int i = 0; i < p->nparts; i++) {
        const struct product_part *x = &p->part[i];
        int64_t out = x->out_tiles * x->out.tile;
        int64_t at_work = (p->nparts == 1 && !p->whole ? 2 : x->out_tiles) * x->out.tile;
        int64_t own = (2 + 2 * x->follow) * at_work * 4;
        columns += blocks * out * size;
        work = own > work ? own : work;
        if (p->whole && p->nparts == 1)
            work += ROWS_AT_WORK * out * 4;
    }
    return rows + columns + work;
}

/* All output channels in one instance. */
static bool whole_tiles(struct strict_product *p, int64_t room)
{
    for (int i = 0; i < p->nparts; i++) {
        struct product_part *x = &p->part[i];
        if (!p->unrolled || !dim_is_const(x->out_channels) ||
            ceil_div(x->out_channels, x->out.tile) > MAX_OUT_TILES)
            return false;
        x->out_tiles = (int)ceil_div(x->out_channels, x->out.tile);
    }
    return bytes_of(p) <= room;
}

static void shared_tiles(struct strict_product *p, int64_t room)
{
    struct product_part *x = &p->part[0];
    x->out_tiles = p->unrolled ? joint_tiles(x->out_channels, x->out.tile, MAX_OUT_TILES) : 1;
    while (bytes_of(p) > room && x->out_tiles > 1)
        x->out_tiles = joint_tiles(x->out_channels, x->out.tile, x->out_tiles - 1);
    while (bytes_of(p) > room && x->out.tile > 64)
        x->out.tile = even_tile(x->out.tile, x->out.tile / 2);
}

bool strict_product_tiles(const struct lowering *l, struct strict_product *p)
{
    const struct machine *m = l->m;
    int64_t room = m->sbuf * 2 / 3; /* another instance, or another step, has the rest */
    dim_t bank = m->psum_bank / 4;
    p->block = even_tile(p->k, m->matmul_k);
    p->unrolled = dim_is_const(p->k) && ceil_div(p->k, p->block) <= MAX_BLOCKS;
    p->row.tile = even_tile(p->rows, m->matmul_m < m->partitions ? m->matmul_m : m->partitions);
    p->row_tiles = p->unrolled ? joint_tiles(p->rows, p->row.tile, MAX_ROW_TILES) : 1;
    for (int i = 0; i < p->nparts; i++)
        p->part[i].out.tile =
            even_tile(p->part[i].out_channels, bank < m->matmul_n ? bank : m->matmul_n);
    if (p->whole && !whole_tiles(p, room))
        return false;
    if (!p->whole)
        shared_tiles(p, room);
    p->row.every = p->row_tiles * p->row.tile;
    for (int i = 0; i < p->nparts; i++)
        p->part[i].out.every = p->part[i].out_tiles * p->part[i].out.tile;
    return true;
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

int packed_weights(struct lowering *l, const struct strict_product *p, const struct product_part *part,
                   const struct value *w)
{
    struct packed *x = ARENA_NEW(&l->g->arena, struct packed);
    *x = (struct packed){.lazy.maker.make = pack,
                         .lazy.same = same_pack,
                         .k = p->k,
                         .out_channels = part->out_channels,
                         .step_k = part->b_k,
                         .step_out = part->b_out,
                         .block = p->block,
                         .blocks = blocks_of(p),
                         .tile = part->out.tile};
    int64_t tiles = ceil_div(x->out_channels, x->tile), dims[4] = {tiles, x->block, x->blocks, x->tile};
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
    int sums[2];    /* (rows, output channels) of the widest part */
    int transposed[2]; /* (block of k, rows of several blocks) */
    int nsums, ntransposed;
    struct ap a[MAX_BLOCKS], group[MAX_BLOCKS]; /* of the tile of rows, and of those loaded with it */
    struct ap *b[MAX_MATRICES][MAX_OUT_TILES]; /* of each block */
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
    struct ap all = {.mem = MEM_PSUM, .dtype = (uint8_t)turned_type(rows.dtype), .tensor = in_psum};
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
    if (product_turns_rows(p) && p->unrolled) {
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
static void load_packed(struct emission *e, const struct product_part *x, int tile, struct ap *blocks,
                        int from, int count)
{
    const struct strict_product *p = e->p;
    struct kernel_builder *k = e->k;
    int64_t row = blocks_of(p) * x->out.tile, part = count * x->out.tile;
    struct ap far = x->b, near = {.mem = MEM_SBUF, .dtype = x->b.dtype};
    ap_move(k->p, &far, x->out.var, x->out_tiles * p->block * row);
    far.offset.base += tile * p->block * row + from * x->out.tile;
    near.tensor = kernel_tile(k, MEM_SBUF, near.dtype, p->block, part);
    ap_push(&far, row, p->block), ap_push(&far, 1, part);
    ap_push(&near, part, p->block), ap_push(&near, 1, part);
    emit_dma_copy(k, (struct dma_copy){.dst = near, .src = far});
    near.dim[1].count = x->out.tile;
    cover_clip(k->p, &near, 1, &x->out, x->out_channels);
    for (int i = 0; i < count; i++) {
        struct ap *block = &blocks[from + i];
        *block = near;
        block->dim[0].count = width_of(p, from + i);
        block->offset.base += i * x->out.tile;
    }
}

/* The blocks (k, output channels) of the part's tile. */
static struct ap *load_out_channels(struct emission *e, const struct product_part *x, int tile, int var_k)
{
    const struct strict_product *p = e->p;
    int64_t bytes = x->out.tile * (int64_t)dtype_bytes(x->b.dtype);
    int n = blocks_of(p), max = (int)ceil_div(MIN_PIECE, bytes);
    struct ap *blocks = ARENA_ARRAY(&e->k->p->arena, struct ap, n);
    for (int i = 0; x->packed && i < n; i += max)
        load_packed(e, x, tile, blocks, i, n - i < max ? n - i : max);
    for (int i = 0; !x->packed && i < n; i++) {
        struct ap block = x->b;
        push_block(e, &block, x->b_k, i, var_k);
        cover_push(e->k->p, &block, &x->out, x->b_out, x->out_channels);
        blocks[i] = stage_in(e->k, block);
    }
    return blocks;
}

static struct ap sums(struct emission *e, const struct product_part *x)
{
    const struct strict_product *p = e->p;
    struct ap s = {.mem = MEM_PSUM, .dtype = DT_F32, .tensor = e->sums[e->nsums++ % e->nbanks]};
    ap_push(&s, kernel_of(e->k)->tiles[s.tensor].elements, p->row.tile);
    cover_clip(e->k->p, &s, 0, &p->row, p->rows);
    ap_push(&s, 1, x->out.tile), cover_clip(e->k->p, &s, 1, &x->out, x->out_channels);
    return s;
}

/* ---- turned: (output channels, rows) ---- */

/* Rows of a group of tiles, and what they are multiplied by at a time. */
struct turned {
    struct cover rows, row; /* of the group, of one tile */
    int n, first;           /* tiles, of the instance's */
    dim_t out;              /* output channels over partitions */
};

/* One block of the group's rows, (block, rows), from (rows, k) in SBUF. */
static void transpose_group(struct emission *e, const struct ap *rows, const struct turned *t, int block)
{
    struct kernel_builder *k = e->k;
    const struct strict_product *p = e->p;
    dim_t width = width_of(p, block);
    int in_psum = e->transposed[e->ntransposed++ % e->nbanks];
    struct ap all = {.mem = MEM_PSUM, .dtype = (uint8_t)turned_type(rows[0].dtype), .tensor = in_psum};
    ap_push(&all, kernel_of(k)->tiles[in_psum].elements, width);
    ap_push(&all, 1, t->rows.tile), cover_clip(k->p, &all, 1, &t->rows, p->rows);
    for (int i = 0; i < t->n; i++) {
        struct ap from = rows[i], to = all;
        from.dim[1].count = width, from.offset.base += block * p->block;
        to.dim[1] = from.dim[0], to.dim[1].step = 1, to.offset.base += i * t->row.tile;
        emit_nc_transpose(k, (struct nc_transpose){.dst = to, .src = from});
    }
    struct ap kept = all;
    kept.mem = MEM_SBUF, kept.dtype = rows[0].dtype, kept.dim[0].step = t->rows.tile;
    kept.tensor = kernel_tile(k, MEM_SBUF, kept.dtype, p->block, t->rows.tile);
    emit_tensor_copy(k, (struct tensor_copy){.dst = kept, .src = all});
    e->a[block] = kept;
}

static void load_group(struct emission *e, const struct turned *t)
{
    struct strict_product *p = e->p;
    struct ap rows[MAX_ROW_TILES];
    for (int i = 0; product_turns_rows(p) && i < t->n; i++) {
        p->row.at = (t->first + i) * p->row.tile;
        rows[i] = p->a;
        cover_push(e->k->p, &rows[i], &p->row, p->a_row, p->rows);
        ap_push(&rows[i], 1, p->k);
        rows[i] = stage_in(e->k, rows[i]);
        rows[i].dim[1].step = 1;
    }
    for (int i = 0; i < blocks_of(p); i++) {
        if (product_turns_rows(p)) {
            transpose_group(e, rows, t, i);
            continue;
        }
        struct ap block = p->a;
        push_block(e, &block, p->a_k, i, -1);
        cover_push(e->k->p, &block, &t->rows, p->a_row, p->rows);
        e->a[i] = stage_in(e->k, block);
    }
}

/* All output channels of a tile, some at a time. */
static void multiply_turned(struct emission *e, const struct turned *t, int tile, product_finish *finish, void *user)
{
    struct strict_product *p = e->p;
    struct product_part *x = &p->part[0];
    dim_t whole = x->out.tile;
    for (dim_t at = 0; at < whole; at += t->out) {
        x->out.at = tile * whole + at, x->out.tile = t->out;
        struct ap result = {.mem = MEM_PSUM, .dtype = DT_F32, .tensor = e->sums[e->nsums++ % e->nbanks]};
        ap_push(&result, kernel_of(e->k)->tiles[result.tensor].elements, t->out);
        cover_clip(e->k->p, &result, 0, &x->out, x->out_channels);
        ap_push(&result, 1, t->rows.tile), cover_clip(e->k->p, &result, 1, &t->rows, p->rows);
        for (int i = 0; i < blocks_of(p); i++) {
            struct ap b = e->b[0][tile][i];
            b.dim[1].count = t->out, b.offset.base += at * b.dim[1].step;
            emit_tile_product(e->k, result, b, e->a[i], affine_number(i > 0));
        }
        p->row = t->rows;
        finish(user, p, 0, result);
        p->row = t->row;
    }
    x->out.tile = whole;
}

/* Tiles of rows that one bank has side by side. */
static int tiles_together(const struct machine *m, const struct strict_product *p)
{
    int64_t bank = m->psum_bank / 4 < m->matmul_n ? m->psum_bank / 4 : m->matmul_n;
    int n = (int)(bank / p->row.tile);
    return n < 1 ? 1 : n > p->row_tiles ? p->row_tiles : n;
}

static struct turned group_from(const struct emission *e, int first)
{
    const struct strict_product *p = e->p;
    int max = tiles_together(e->k->m, p);
    struct turned t = {.rows = p->row, .row = p->row, .first = first, .out = e->k->m->partitions};
    t.n = p->row_tiles - first < max ? p->row_tiles - first : max;
    t.rows.tile = t.n * p->row.tile, t.rows.at = first * p->row.tile;
    return t;
}

static void multiply_groups(struct emission *e, product_finish *finish, void *user)
{
    struct strict_product *p = e->p;
    for (int r = 0; r < p->row_tiles; r += tiles_together(e->k->m, p)) {
        struct turned t = group_from(e, r);
        load_group(e, &t);
        for (int o = 0; o < p->part[0].out_tiles; o++)
            multiply_turned(e, &t, o, finish, user);
    }
}

/* ---- instances ---- */

static void multiply_part(struct emission *e, int part, product_finish *finish, void *user)
{
    struct strict_product *p = e->p;
    struct product_part *x = &p->part[part];
    for (int o = 0; o < x->out_tiles; o++) {
        x->out.at = o * x->out.tile;
        struct ap result = sums(e, x);
        for (int i = 0; i < blocks_of(p); i++)
            emit_tile_product(e->k, result, e->a[i], e->b[part][o][i], affine_number(i > 0));
        finish(user, p, part, result);
    }
}

/* The blocks (k, rows) of tile number r, of those that are loaded with its neighbours. */
static void take_columns(struct emission *e, int r)
{
    const struct strict_product *p = e->p;
    int at = r % tiles_together(e->k->m, p);
    if (at == 0) {
        struct turned t = group_from(e, r);
        load_group(e, &t);
        memcpy(e->group, e->a, sizeof e->group);
    }
    for (int i = 0; i < blocks_of(p); i++) {
        e->a[i] = e->group[i];
        e->a[i].dim[1].count = p->row.tile, e->a[i].dim[1].clip = NULL;
        e->a[i].offset.base += at * p->row.tile;
        cover_clip(e->k->p, &e->a[i], 1, &p->row, p->rows);
    }
}

static void multiply_unrolled(struct emission *e, product_finish *finish, void *user)
{
    struct strict_product *p = e->p;
    for (int i = 0; i < p->nparts; i++)
        for (int o = 0; o < p->part[i].out_tiles; o++) {
            p->part[i].out.at = o * p->part[i].out.tile;
            e->b[i][o] = load_out_channels(e, &p->part[i], o, -1);
        }
    if (p->turned) {
        multiply_groups(e, finish, user);
        return;
    }
    for (int r = 0; r < p->row_tiles; r++) {
        p->row.at = r * p->row.tile;
        if (product_turns_rows(p))
            load_rows(e, -1);
        else
            take_columns(e, r);
        for (int i = 0; i < p->nparts; i++)
            multiply_part(e, i, finish, user);
    }
}

static void multiply_in_loop(struct emission *e, product_finish *finish, void *user)
{
    struct strict_product *p = e->p;
    struct ap result = sums(e, &p->part[0]);
    int var_k = kernel_loop(e->k, dim_ceildiv(&e->k->p->dims, p->k, p->block));
    struct ap *b = load_out_channels(e, &p->part[0], 0, var_k);
    load_rows(e, var_k);
    emit_tile_product(e->k, result, e->a[0], b[0], affine_variable(e->k->p, 0, var_k, 1));
    kernel_end_loop(e->k);
    finish(user, p, 0, result);
}

void strict_product_emit(struct kernel_builder *k, struct strict_product *p, product_finish *finish,
                         void *user)
{
    struct emission e = {.k = k, .p = p, .nbanks = k->m->psum / k->m->psum_bank >= 8 ? 2 : 1};
    dim_t widest = 0;
    for (int i = 0; i < p->nparts; i++)
        widest = p->part[i].out.tile > widest ? p->part[i].out.tile : widest;
    dim_t high = p->turned ? k->m->partitions : p->row.tile;
    if (p->turned)
        widest = tiles_together(k->m, p) * p->row.tile;
    for (int i = 0; i < e.nbanks; i++) {
        e.sums[i] = kernel_tile(k, MEM_PSUM, DT_F32, high, widest);
        if (p->unrolled && product_turns_rows(p))
            e.transposed[i] = kernel_tile(k, MEM_PSUM, turned_type(p->a.dtype), p->block, k->m->psum_bank / 4);
    }
    if (p->unrolled)
        multiply_unrolled(&e, finish, user);
    else
        multiply_in_loop(&e, finish, user);
}
