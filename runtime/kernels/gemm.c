#include "runtime/kernels/gemm.h"

#include "neff/base/use.h"

#include <assert.h>
#include <stddef.h>

enum {
    TOO_MANY_BYTES = 704 << 10,       /* of W: a kernel reads all of it for every few rows */
    SHORT_TOO_MANY_BYTES = 384 << 10, /* the same of short vectors, which take fewer rows at a time */
    PIECE_BYTES = 384 << 10,
    SHORT_PIECE_BYTES = 192 << 10,
    PIECE_STEP = 16,          /* k of a piece is a multiple of it */
    STREAM_BYTES = 832 << 10, /* of a tile's weights and the next ones together */
    STREAM_ROWS = 7,
    STREAM_LINE = 96, /* bytes that come while so many rows times a row of W are summed */
};

static int level_count(const struct gemm_level *l)
{
    return l->count > 0 ? (int)l->count : 1;
}

static size_t element_size(enum gemm_type t)
{
    static const size_t sizes[] = {[GEMM_F32] = 4, [GEMM_BF16] = 2, [GEMM_U8S8] = 1};
    return sizes[t];
}

/* Sums of many terms run in pieces whose weights stay in the second-level cache while all rows
 * pass; the order of the sum, and so its bits, stay. */
static void cut(struct gemm *g, int lanes)
{
    const struct gemm_tile *t = &g->tile;
    bool is_short = lanes < 16;
    int64_t too_many = is_short ? SHORT_TOO_MANY_BYTES : TOO_MANY_BYTES;
    int64_t max = is_short ? SHORT_PIECE_BYTES : PIECE_BYTES;
    int64_t row = (int64_t)element_size(t->type) * ((t->columns + 15) / 16 * 16); /* what is read of one of W's */
    bool panels = is_short && t->type == GEMM_F32 && gemm_is_part(t->w_pitch, t->columns);
    if (row * t->k <= too_many || panels)
        return;
    for (int pieces = 2; row * g->k > max && pieces <= t->k / PIECE_STEP; pieces++)
        if (t->k % (pieces * PIECE_STEP) == 0) {
            g->k = t->k / pieces;
            g->pieces = pieces;
        }
}

void gemm_prepare_whole(struct gemm *g, const struct gemm_tile *t)
{
    assert(t->rows > 0 && t->columns > 0 && t->k > 0 && t->w_pitch >= t->columns && t->w_pitch % 16 == 0);
    *g = (struct gemm){.tile = *t, .k = t->k, .pieces = 1};
}

void gemm_prepare(struct gemm *g, const struct gemm_tile *t, int lanes)
{
    gemm_prepare_whole(g, t);
    if (t->rows > 1)
        cut(g, lanes);
}

void gemm_plan_prefetch(struct gemm_block *b, enum gemm_type type, int line, struct gemm_prefetch *prefetch)
{
    static const int unit[] = {[GEMM_F32] = 1, [GEMM_BF16] = 2, [GEMM_U8S8] = 4};
    const char *end = b->w[0];
    for (int i = 1; i < b->count; i++)
        end = (const char *)b->w[i] > end ? b->w[i] : end;
    int64_t k = (b->k + unit[type] - 1) / unit[type];
    int64_t panel = k * unit[type] * b->w_pitch * (int64_t)element_size(type);
    int64_t bytes = panel * b->count, room = STREAM_BYTES - bytes;
    int64_t wanted = room < bytes ? room : bytes;
    if (b->rows == 1 || wanted <= 0)
        return;
    end += panel;
    bool fetched = prefetch->fetched >= end && prefetch->fetched <= end + wanted;
    b->next = fetched ? prefetch->fetched : end;
    int64_t comes = (b->rows + STREAM_ROWS - 1) / STREAM_ROWS * k * b->count * (line ? line : STREAM_LINE);
    b->next_end = b->next + comes < end + wanted ? b->next + comes : end + wanted;
    prefetch->fetched = b->next_end;
}

struct more { /* than a product */
    const struct kernel_table *kernels;
    const struct gemm_step *steps;
    int nsteps;
    struct gemm_prefetch *prefetch;
};

/* A piece of the batch; `accumulate`: C already holds the sum of the pieces before. Steps follow
 * the last piece. */
static void run_piece(const struct gemm *g, const void **a, const void **w, int count, void *c,
                      bool accumulate, struct more more)
{
    const struct gemm_tile *t = &g->tile;
    struct gemm_block b = {.a = a,
                           .w = w,
                           .c = c,
                           .count = count,
                           .rows = t->rows,
                           .columns = t->columns,
                           .k = g->k,
                           .w_pitch = t->w_pitch,
                           .a_pitch = t->a_pitch,
                           .c_pitch = t->c_pitch,
                           .accumulate = t->accumulate || accumulate,
                           .steps = more.steps,
                           .nsteps = more.nsteps};
    if (USED(MATMUL_WEIGHTS_COME) && t->streams && more.prefetch)
        gemm_plan_prefetch(&b, t->type, t->type == GEMM_F32 ? 0 : more.kernels->stream_line, more.prefetch);
    if (t->type == GEMM_F32)
        more.kernels->gemm_f32(&b);
    else if (t->type == GEMM_BF16)
        more.kernels->gemm_bf16(&b);
    else
        more.kernels->gemm_u8s8(&b);
}

static void run_all(const struct gemm *g, const void *a, const void *w, void *c, struct more more)
{
    const struct gemm_level *l = g->tile.batch;
    const void *as[GEMM_ADDRESSES], *ws[GEMM_ADDRESSES];
    size_t size = element_size(g->tile.type);
    int n0 = level_count(&l[0]), n1 = level_count(&l[1]), n2 = level_count(&l[2]), n = 0;
    int entries = g->pieces > 1 ? 1 : GEMM_ADDRESSES;
    int64_t a_piece = g->k * (int64_t)size, w_piece = a_piece * g->tile.w_pitch;
    bool accumulate = false;
    for (int i0 = 0; i0 < n0; i0++)
        for (int i1 = 0; i1 < n1; i1++)
            for (int i2 = 0; i2 < n2; i2++) {
                int64_t at = i0 * l[0].a_step + i1 * l[1].a_step + i2 * l[2].a_step;
                int64_t wt = i0 * l[0].w_step + i1 * l[1].w_step + i2 * l[2].w_step;
                for (int piece = 0; piece < g->pieces; piece++) {
                    if (n == entries) {
                        run_piece(g, as, ws, n, c, accumulate,
                                  (struct more){.kernels = more.kernels, .prefetch = more.prefetch});
                        accumulate = true;
                        n = 0;
                    }
                    as[n] = (const char *)a + at * (int64_t)size + piece * a_piece;
                    ws[n++] = (const char *)w + wt * (int64_t)size + piece * w_piece;
                }
            }
    run_piece(g, as, ws, n, c, accumulate, more);
}

void gemm_run(const struct gemm *g, const struct kernel_table *kernels, const void *a,
              const void *w, void *c)
{
    run_all(g, a, w, c, (struct more){.kernels = kernels});
}

void gemm_run_prefetching(const struct gemm *g, const struct kernel_table *kernels, const void *a,
                    const void *w, void *c, struct gemm_prefetch *prefetch)
{
    run_all(g, a, w, c, (struct more){.kernels = kernels, .prefetch = prefetch});
}

void gemm_run_steps(const struct gemm *g, const struct kernel_table *kernels, const void *a,
                    const void *w, void *c, const struct gemm_step *steps, int nsteps,
                    struct gemm_prefetch *prefetch)
{
    run_all(g, a, w, c, (struct more){kernels, steps, nsteps, prefetch});
}

void gemm_run_addresses(const struct gemm *g, const struct kernel_table *kernels,
                        const void *const *a, const void *const *w, int count, void *c)
{
    const struct gemm_tile *t = &g->tile;
    int64_t size = (int64_t)element_size(t->type), step = g->k * size;
    const void *as[GEMM_ADDRESSES], *ws[GEMM_ADDRESSES];
    int entries = g->pieces > 1 ? 1 : GEMM_ADDRESSES, n = 0;
    for (int i = 0; i < count * g->pieces; i++) {
        int at = i / g->pieces, piece = i % g->pieces;
        as[n] = (const char *)a[at] + piece * step;
        ws[n++] = (const char *)w[at] + piece * step * t->w_pitch;
        if (n == entries || i + 1 == count * g->pieces) {
            run_piece(g, as, ws, n, c, i >= entries, (struct more){.kernels = kernels});
            n = 0;
        }
    }
}
