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

/* Of the batch. */
struct batch_piece {
    const void *a[GEMM_ADDRESSES], *w[GEMM_ADDRESSES];
    int count;
    bool accumulate; /* C already holds the sum of the pieces before */
    bool last;       /* steps follow it */
};

static void run_piece(const struct gemm *g, const struct kernel_table *kernels, const struct gemm_operands *x,
                      const struct batch_piece *p)
{
    const struct gemm_tile *t = &g->tile;
    struct gemm_block b = {.a = p->a,
                           .w = p->w,
                           .c = x->c,
                           .count = p->count,
                           .rows = t->rows,
                           .columns = t->columns,
                           .k = g->k,
                           .w_pitch = t->w_pitch,
                           .a_pitch = t->a_pitch,
                           .c_pitch = t->c_pitch,
                           .accumulate = t->accumulate || p->accumulate,
                           .steps = p->last ? x->steps : NULL,
                           .nsteps = p->last ? x->nsteps : 0};
    if (USED(MATMUL_WEIGHTS_COME) && t->streams && x->prefetch)
        gemm_plan_prefetch(&b, t->type, t->type == GEMM_F32 ? 0 : kernels->stream_line, x->prefetch);
    if (t->type == GEMM_F32)
        kernels->gemm_f32(&b);
    else if (t->type == GEMM_BF16)
        kernels->gemm_bf16(&b);
    else
        kernels->gemm_u8s8(&b);
}

void gemm_run_with(const struct gemm *g, const struct kernel_table *kernels, const struct gemm_operands *x)
{
    const struct gemm_level *l = g->tile.batch;
    size_t size = element_size(g->tile.type);
    int n0 = level_count(&l[0]), n1 = level_count(&l[1]), n2 = level_count(&l[2]);
    int entries = g->pieces > 1 ? 1 : GEMM_ADDRESSES;
    int64_t a_piece = g->k * (int64_t)size, w_piece = a_piece * g->tile.w_pitch;
    struct batch_piece p;
    p.count = 0, p.accumulate = p.last = false;
    for (int i0 = 0; i0 < n0; i0++)
        for (int i1 = 0; i1 < n1; i1++)
            for (int i2 = 0; i2 < n2; i2++) {
                int64_t at = i0 * l[0].a_step + i1 * l[1].a_step + i2 * l[2].a_step;
                int64_t wt = i0 * l[0].w_step + i1 * l[1].w_step + i2 * l[2].w_step;
                for (int piece = 0; piece < g->pieces; piece++) {
                    if (p.count == entries) {
                        run_piece(g, kernels, x, &p);
                        p.accumulate = true;
                        p.count = 0;
                    }
                    p.a[p.count] = (const char *)x->a + at * (int64_t)size + piece * a_piece;
                    p.w[p.count++] = (const char *)x->w + wt * (int64_t)size + piece * w_piece;
                }
            }
    p.last = true;
    run_piece(g, kernels, x, &p);
}

void gemm_run(const struct gemm *g, const struct kernel_table *kernels, const void *a,
              const void *w, void *c)
{
    gemm_run_with(g, kernels, &(struct gemm_operands){.a = a, .w = w, .c = c});
}
