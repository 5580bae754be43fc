/*
 * Tensor engine: weight_only_matmul. One row is multiplied straight on the packed integers, and so are rounded
 * rows, a few at a time; others share weights that are unpacked a chunk of k at a time.
 */
#include "neff/isa/pack.h"
#include "runtime/exec/engine.h"
#include "runtime/kernels/gemm.h"

#include <string.h>

enum { K_CHUNK = 256 };

struct weight_only {
    int k, width, block, bits; /* width: of a block of columns */
    int columns;                  /* of all blocks, as stored */
    bool zeros, rounded, convert_rows, convert_result;
    bool bf16_row;                  /* one row is multiplied as it is */
    int64_t row_bytes, chunk_bytes; /* scratch: rows; weights of a chunk, or the prepared row */
};

static int64_t line(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static bool shapes_fit(struct binding *b, const struct bound_insn *i, struct weight_only *m)
{
    const struct operand *c = &i->o[AP(weight_only_matmul, dst)],
                         *w = &i->o[AP(weight_only_matmul, stationary)],
                         *a = &i->o[AP(weight_only_matmul, moving)];
    enum { LIMIT = 1 << 24 };
    if (c->rank != 2 || w->rank != 1 || a->rank != 2 || c->count[0] != a->count[0])
        return fail(b->d, "weight_only_matmul: operands of rank %d, %d and %d, expected 2, 1 and 2",
                    c->rank, w->rank, a->rank);
    int64_t k = a->count[1], block = NUMBER(i, weight_only_matmul, block),
            bits = NUMBER(i, weight_only_matmul, bits);
    if (w->size != 1 || w->step[0] != 1 || i->o[AP(weight_only_matmul, stationary)].nclips ||
        k > LIMIT || block < 1 || block > LIMIT || (bits != 4 && bits != 8) || c->count[0] > 1 << 20)
        return fail(b->d, "weight_only_matmul: %lld rows by blocks of %lld of %lld bits",
                    (long long)c->count[0], (long long)block, (long long)bits);
    *m = (struct weight_only){.k = (int)k,
                              .block = (int)block,
                              .bits = (int)bits,
                              .zeros = NUMBER(i, weight_only_matmul, zeros) != 0};
    m->rounded = NUMBER(i, weight_only_matmul, rounded) != 0;
    if (m->rounded && block > WEIGHT_ONLY_ROUNDED_BLOCK)
        return fail(b->d, "weight_only_matmul: rows rounded by blocks of %lld, at most %d", (long long)block,
                    WEIGHT_ONLY_ROUNDED_BLOCK);
    struct pack_quantized min = {k, PACK_ALIGN_COLUMNS, m->block, m->bits, m->zeros};
    int64_t bytes = (int64_t)pack_quantized_size(&min), n = bytes ? w->count[0] / bytes : 0;
    bool blocks = n <= 4 || n % 4 == 0;
    if (bytes && w->count[0] % bytes == 0 && n > 0 && n < 1 << 16 && blocks) {
        m->columns = (int)n * PACK_ALIGN_COLUMNS;
        m->width = pack_width(m->columns);
    }
    if (k > 0 && (m->width == 0 || c->count[1] > m->columns))
        return fail(b->d, "weight_only_matmul: %lld bytes of weights are no blocks of %lld columns",
                    (long long)w->count[0], (long long)c->count[1]);
    return true;
}

bool prepare_weight_only(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct weight_only *m = ARENA_NEW(b->arena, struct weight_only);
    const struct operand *c = &i->o[AP(weight_only_matmul, dst)],
                         *a = &i->o[AP(weight_only_matmul, moving)];
    i->prepared = m;
    if (!only_numbers(b, i, insn) || !shapes_fit(b, i, m))
        return false;
    m->bf16_row = a->dtype == DT_BF16 && a->step[1] == 1;
    m->convert_rows = a->dtype != DT_F32 || a->step[1] != 1 || (m->rounded && a->count[0] > 1);
    m->convert_result = c->dtype != DT_F32 || c->step[1] != 1 || c->step[0] < c->count[1];
    m->row_bytes = m->convert_rows ? line(a->count[0] * m->k * 4) : 0;
    int64_t chunk = (int64_t)K_CHUNK * m->width, work = weight_only_work(m->k, m->block);
    work *= m->rounded && a->count[0] > 1 ? WEIGHT_ONLY_ROWS : 1;
    m->chunk_bytes = line((chunk > work ? chunk : work) * 4);
    int64_t rows = m->convert_result ? c->count[0] : 1;
    need_scratch(b, m->row_bytes + m->chunk_bytes + line(rows * m->columns * 4) + 64);
    return true;
}

/* What the kernel of one row multiplies by, as floats: nearest integers times their block's scale. */
static void round_row(float *x, int n, int block)
{
    for (int k = 0; k < n; k += block, x += block) {
        int m = n - k < block ? n - k : block;
        uint32_t largest = 0;
        for (int i = 0; i < m; i++) {
            uint32_t bits;
            memcpy(&bits, &x[i], sizeof bits);
            bits &= 0x7fffffff;
            largest = bits > largest ? bits : largest;
        }
        float scale, factor = weight_only_scale(largest, &scale);
        for (int i = 0; i < m; i++)
            x[i] = factor != 0 ? (x[i] * factor + 0x1.8p23f - 0x1.8p23f) * scale : scale;
    }
}

/* Integers are multiplied, of several rows, where kernels have instructions for that. */
static bool multiplies_integers(const struct worker *me, const struct weight_only *m)
{
    return m->rounded && me->k->lanes >= 8;
}

/* Rows as f32, one behind the other; rounded, where the kernel does not do it. */
static void convert_rows(const struct worker *me, const struct weight_only *m, const struct operand *a,
                         const char *from, int64_t rows, float *to)
{
    static const struct operand f32 = {.dtype = DT_F32, .size = 4};
    for (int64_t r = 0; r < rows; r++, to += m->k) {
        convert_row(me, &f32, (char *)to, 1, a, from + r * a->step[0] * a->size, a->step[1], m->k);
        if (m->rounded && rows > 1 && !multiplies_integers(me, m))
            round_row(to, m->k, m->block);
    }
}

/* All rows by each chunk of k in turn, a block of columns after the other. */
static void multiply_rows(const struct worker *me, const struct weight_only *m,
                          const struct weight_only_row *all, int64_t x_pitch, int64_t rows,
                          int64_t columns, float *y, int64_t y_pitch)
{
    struct weight_only_row w = *all;
    struct pack_quantized block = {m->k, m->width, m->block, m->bits, m->zeros};
    w.columns = m->width;
    for (int64_t o = 0; o < columns; o += m->width, y += m->width) {
        for (int k = 0; k < m->k; k += K_CHUNK) {
            int n = m->k - k < K_CHUNK ? m->k - k : K_CHUNK;
            int64_t some = columns - o < m->width ? columns - o : m->width;
            struct gemm_tile t = {.type = GEMM_F32, .rows = (int)rows, .columns = (int)some, .k = n};
            t.a_pitch = x_pitch, t.c_pitch = y_pitch, t.w_pitch = m->width;
            t.accumulate = k > 0;
            struct gemm g;
            me->k->weight_only_unpack(&w, k, n, w.work);
            gemm_prepare_whole(&g, &t);
            gemm_run(&g, me->k, (const float *)w.x + k, w.work, y);
        }
        w.packed = (const char *)w.packed + pack_quantized_size(&block);
    }
}

void exec_weight_only_matmul(struct worker *me, const struct bound_insn *i)
{
    const struct weight_only *m = i->prepared;
    const struct operand *c = &i->o[AP(weight_only_matmul, dst)],
                         *a = &i->o[AP(weight_only_matmul, moving)];
    int64_t cc[MAX_AP_RANK], ac[MAX_AP_RANK], x_pitch = a->step[0], y_pitch = c->step[0];
    if (!counts_now(me, i, AP(weight_only_matmul, dst), cc) ||
        !counts_now(me, i, AP(weight_only_matmul, moving), ac) || m->k == 0)
        return;
    int64_t rows = cc[0] < ac[0] ? cc[0] : ac[0], columns = cc[1];
    char *to = operand_address(me, c), *from = operand_address(me, a), *scratch = me->scratch;
    const void *x = from;
    float *y = (float *)(void *)to, *chunk = (float *)(void *)(scratch + m->row_bytes);
    static const struct operand f32 = {.dtype = DT_F32, .size = 4};
    bool integers = rows > 1 && multiplies_integers(me, m);
    bool bf16 = m->bf16_row && (rows == 1 || integers);
    if (m->convert_rows && !bf16 && !(integers && a->dtype == DT_F32 && a->step[1] == 1)) {
        convert_rows(me, m, a, from, rows, (float *)(void *)scratch);
        x = scratch, x_pitch = m->k;
    }
    float *whole = (float *)(void *)(scratch + m->row_bytes + m->chunk_bytes);
    if (m->convert_result)
        y = whole, y_pitch = m->columns;
    struct weight_only_row w = {.x = x,
                                .packed =
                                    operand_address(me, &i->o[AP(weight_only_matmul, stationary)]),
                                .k = m->k,
                                .columns = m->columns,
                                .block = m->block,
                                .bits = m->bits,
                                .zeros = m->zeros,
                                .centre = i->flt[FLT(weight_only_matmul, centre)],
                                .bf16 = bf16,
                                .work = chunk};
    if (rows == 1) {
        w.y = columns == m->columns ? y : whole;
        if (m->rounded)
            me->k->weight_only_rounded(&w);
        else
            me->k->weight_only(&w);
        if (w.y != y)
            memcpy(y, whole, sizeof(float) * (size_t)columns);
    } else if (integers) {
        w.y = y, w.rows = (int)rows, w.stored = (int)columns;
        w.x_pitch = x_pitch, w.y_pitch = y_pitch;
        me->k->weight_only_rounded(&w);
    } else {
        multiply_rows(me, m, &w, x_pitch, rows, columns, y, y_pitch);
    }
    for (int64_t r = 0; m->convert_result && r < rows; r++)
        convert_row(me, c, to + r * c->step[0] * c->size, c->step[1], &f32,
                    (const char *)(y + r * y_pitch), 1, columns);
}
