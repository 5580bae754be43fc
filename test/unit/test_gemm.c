/*
 * Matrix tiles and weight-only rows of every variant this CPU can run, against sums in double.
 */
#include "neff/core/dtype.h"
#include "neff/isa/pack.h"
#include "runtime/kernels/gemm.h"
#include "test/unit/kernel_test.h"

enum way { PIECES, WHOLE, WAYS };

struct gemm_case {
    enum gemm_type type;
    int rows, columns, k, taps, blocks; /* batch: taps x blocks of k */
    bool accumulate, streams;
    enum way way;
};

static float bf16_value(uint16_t h)
{
    return float_of((uint32_t)h << 16);
}

/* Operands as the kernels read them and as numbers, and a result of either type. */
struct gemm_data {
    int batch, a_pitch, c_pitch;
    size_t size, a_count, w_count; /* of an element; elements */
    uint8_t *a, *w, *packed;
    double *av, *wv;
    struct pack_shape shape;
    void *c;
};

/* One of either operand; its value. `mostly_small`: of so many bytes of rows, all but one are below 128. */
static double fill_element(enum gemm_type type, uint8_t *to, size_t at, bool weight, uint32_t mostly_small)
{
    float x = uniform(-1, 1);
    uint16_t h;
    table->convert[CONVERT_bf16_from_f32](&h, 1, &x, 1, 1);
    if (type == GEMM_F32) {
        memcpy(to + 4 * at, &x, 4);
        return x;
    }
    if (type == GEMM_BF16) {
        memcpy(to + 2 * at, &h, 2);
        return bf16_value(h);
    }
    uint8_t byte = next_random() % 8 ? (uint8_t)next_random() : weight ? 0x80 : 0xff;
    if (!weight && mostly_small && next_random() % mostly_small)
        byte &= 0x7f; /* the kernels treat quads without a greater number apart */
    to[at] = byte;
    return weight ? (int8_t)byte : byte;
}

static struct gemm_data make_data(const struct gemm_case *t)
{
    static const enum pack_type packs[] = {PACK_F32, PACK_BF16, PACK_S8};
    static const uint32_t small[] = {0, 40, UINT32_MAX};
    int slack = 3 + t->rows % 2, a_rows = t->rows + t->taps - 1;
    struct gemm_data x = {.batch = t->taps * t->blocks,
                          .a_pitch = t->blocks * t->k + slack,
                          .c_pitch = t->columns + 2,
                          .size = pack_element_size(packs[t->type])};
    x.a_count = (size_t)a_rows * (size_t)x.a_pitch - (size_t)slack;
    x.w_count = (size_t)x.batch * (size_t)t->k * (size_t)t->columns;
    x.a = malloc(x.a_count * x.size), x.w = malloc(x.w_count * x.size);
    x.av = malloc(x.a_count * sizeof *x.av), x.wv = malloc(x.w_count * sizeof *x.wv);
    uint32_t mostly_small = small[(t->rows + t->columns + t->k) % 3];
    for (size_t i = 0; i < x.a_count; i++)
        x.av[i] = fill_element(t->type, x.a, i, false, mostly_small);
    for (size_t i = 0; i < x.w_count; i++)
        x.wv[i] = fill_element(t->type, x.w, i, true, mostly_small);
    x.shape = (struct pack_shape){packs[t->type], x.batch, t->k, t->columns};
    x.c = malloc(((size_t)(t->rows - 1) * (size_t)x.c_pitch + (size_t)t->columns) * 4);
    return x;
}

static void free_data(struct gemm_data *x)
{
    free(x->a), free(x->w), free(x->av), free(x->wv), free(x->packed), free(x->c);
}

static void pack_and_unpack(struct gemm_data *x, const struct gemm_case *t)
{
    struct pack_source source = {x->w, (int64_t)t->k * t->columns, t->columns, 1},
                       to = {NULL, source.group_step, source.k_step, 1};
    x->packed = aligned_alloc(64, (pack_size(&x->shape) + 63) / 64 * 64);
    uint8_t *back = malloc(x->w_count * x->size);
    pack_weights(x->packed, &x->shape, &source);
    unpack_weights(back, &to, &x->shape, x->packed);
    assert_memory_equal(back, x->w, x->w_count * x->size);
    free(back);
}

/* What the result holds before: a start to add to, or what must not stay. */
static void start_block(struct gemm_data *x, const struct gemm_case *t, int first, int columns)
{
    for (int r = 0; r < t->rows; r++)
        for (int o = first; o < first + columns; o++)
            if (t->type == GEMM_U8S8)
                ((int32_t *)x->c)[r * x->c_pitch + o] = t->accumulate ? 1000 : -1;
            else
                ((float *)x->c)[r * x->c_pitch + o] = t->accumulate ? 3.0f : NAN;
}

/* Outs from `first` on, as many as a block has. */
static void run_block(struct gemm_data *x, const struct gemm_case *t, int first, struct gemm_prefetch *prefetch)
{
    int columns = t->columns - first < PACK_COLUMNS ? t->columns - first : PACK_COLUMNS, width = pack_width(t->columns);
    int64_t group = pack_k(x->shape.type, t->k) * width;
    struct gemm_tile tile = {
        t->type,
        t->rows,
        columns,
        t->k,
        x->a_pitch,
        x->c_pitch,
        width,
        t->accumulate,
        {{0}, {t->taps, x->a_pitch, group * t->blocks}, {t->blocks, t->k, group}},
        t->streams};
    struct gemm g;
    if (t->way == WHOLE)
        gemm_prepare_whole(&g, &tile);
    else
        gemm_prepare(&g, &tile, table->lanes);
    start_block(x, t, first, columns);
    const uint8_t *w = x->packed + (size_t)pack_offset(&x->shape, first, 0) * x->size;
    float *c = (float *)x->c + first;
    gemm_run_with(&g, table,
                  &(struct gemm_operands){.a = x->a, .w = w, .c = c, .prefetch = t->streams ? prefetch : NULL});
}

/* Of a row, all columns: each weight is read where the one before lies. */
static void expect_row(const struct gemm_data *x, const struct gemm_case *t, int row, double *sums)
{
    for (int o = 0; o < t->columns; o++)
        sums[o] = t->accumulate ? t->type == GEMM_U8S8 ? 1000 : 3 : 0;
    for (int b = 0; b < x->batch; b++)
        for (int k = 0; k < t->k; k++) {
            double a = x->av[(size_t)((row + b / t->blocks) * x->a_pitch + b % t->blocks * t->k + k)];
            const double *w = x->wv + (size_t)((b * t->k + k) * t->columns);
            for (int o = 0; o < t->columns; o++)
                sums[o] += a * w[o];
        }
}

static void check_gemm(const struct gemm_case *t)
{
    struct gemm_data x = make_data(t);
    struct gemm_prefetch prefetch = {NULL};
    pack_and_unpack(&x, t);
    for (int out = 0; out < t->columns; out += PACK_COLUMNS) /* block by block, as the compiler emits */
        run_block(&x, t, out, &prefetch);
    double total = sqrt(x.batch * t->k) + 4;
    double bound = t->type == GEMM_U8S8 ? 0 : 4 * total * total * 0x1p-24;
    double *sums = malloc((size_t)t->columns * sizeof *sums);
    for (int r = 0; r < t->rows; r++) {
        expect_row(&x, t, r, sums);
        for (int o = 0; o < t->columns; o++) {
            int at = r * x.c_pitch + o;
            double e = sums[o];
            double got = t->type == GEMM_U8S8 ? ((int32_t *)x.c)[at] : (double)((float *)x.c)[at];
            if (!(fabs(got - e) <= bound))
                fail_msg("%s type %d rows %d columns %d k %d taps %d blocks %d way %d: [%d][%d] is "
                         "%.9g, expected %.9g",
                         table->name, t->type, t->rows, t->columns, t->k, t->taps, t->blocks, t->way,
                         r, o, got, e);
        }
    }
    free(sums);
    free_data(&x);
}

static void test_gemm(void **state)
{
    static const int rows[] = {1, 2, 3, 5, 6, 7, 13, 14, 28, 35}, columns[] = {1, 8, 16, 17, 40, 64, 100};
    static const int ks[] = {1, 2, 3, 7, 16, 33, 64, 300};
    int i = 0;
    for (int type = GEMM_F32; type <= GEMM_U8S8; type++)
        for (int r = 0; r < 10; r++)
            for (int o = 0; o < 7; o++)
                for (int k = 0; k < 8; k++, i++) {
                    static const enum way ways[] = {PIECES, WHOLE, PIECES, WHOLE};
                    struct gemm_case c = {type,       rows[r],    columns[o],    ks[k],
                                          1 + i % 3,  1 + i % 2,  i % 5 == 0, i % 3 == 0,
                                          ways[i % 4]};
                    check_gemm(&c);
                }
    struct gemm_case many = {GEMM_F32, 7,     20,    3,     90,
                             2,        false, false, PIECES}; /* over one piece of the batch */
    for (int type = GEMM_F32; type <= GEMM_U8S8; type++)
        for (int way = PIECES; way < WAYS; way++) {
            many.type = type;
            many.way = way;
            check_gemm(&many);
        }
    struct gemm_case deep = {GEMM_F32, 14,    100,   1600,  2,
                             1,        false, false, PIECES}; /* a sum cut into pieces */
    for (int n = 0; n < 16; n++) {
        deep.type = n & 1 ? GEMM_BF16 : GEMM_F32;
        deep.accumulate = n & 2;
        deep.streams = n & 4;
        deep.way = n & 8 ? WHOLE : PIECES;
        check_gemm(&deep);
    }
    static const int panels[][5] = {/* many rows, whose weights pass panel by panel */
                                    {18, 64, 513, 1, 1},  {40, 100, 300, 2, 1}, {97, 17, 129, 1, 1},
                                    {200, 33, 131, 3, 2}, {19, 48, 1, 90, 2},   {31, 64, 7, 40, 2},
                                    {64, 64, 64, 3, 3},   {13, 5, 255, 1, 2}};
    for (int n = 0; n < 64; n++) {
        const int *of = panels[n % 8];
        struct gemm_case c = {n & 8 ? GEMM_BF16 : GEMM_F32,
                              of[0],
                              of[1],
                              of[2],
                              of[3],
                              of[4],
                              n & 16,
                              n & 32,
                              WHOLE};
        check_gemm(&c);
    }
}

/* Rows of W that lie far apart, as those of a matrix that is computed: the bits of a dense W. */
static void check_far_rows(int rows, int columns, int k, int entries, int pitch, bool accumulate)
{
    int dense_pitch = (columns + 15) / 16 * 16, a_pitch = entries * k + 3, c_pitch = columns + 1;
    size_t a_count = (size_t)rows * (size_t)a_pitch, c_count = (size_t)rows * (size_t)c_pitch;
    size_t w_rows = (size_t)(entries * k), w_count = (w_rows - 1) * (size_t)pitch + (size_t)dense_pitch;
    float *a = malloc(a_count * 4), *w = malloc(w_count * 4), *dense = malloc(w_rows * (size_t)dense_pitch * 4);
    float *c = malloc(c_count * 4), *expected = malloc(c_count * 4);
    for (size_t i = 0; i < a_count; i++)
        a[i] = uniform(-1, 1);
    for (size_t i = 0; i < w_count; i++)
        w[i] = uniform(-1, 1);
    for (size_t i = 0; i < w_rows; i++)
        memcpy(dense + i * (size_t)dense_pitch, w + i * (size_t)pitch, (size_t)dense_pitch * 4);
    for (size_t i = 0; i < c_count; i++)
        c[i] = expected[i] = (float)i;
    for (int far = 0; far < 2; far++) {
        int w_pitch = far ? pitch : dense_pitch;
        struct gemm_tile tile = {GEMM_F32, rows, columns, k, a_pitch, c_pitch, w_pitch, accumulate,
                                 {{0}, {0}, {entries, k, (int64_t)k * w_pitch}}, 0};
        struct gemm g;
        gemm_prepare_whole(&g, &tile);
        gemm_run(&g, table, a, far ? w : dense, far ? c : expected);
    }
    assert_memory_equal(c, expected, c_count * 4);
    double sum = accumulate ? 0 : (double)c[0];
    for (int i = 0; i < entries * k && !accumulate; i++)
        sum -= (double)a[i] * (double)w[(size_t)i * (size_t)pitch];
    assert_true(fabs(sum) <= 1e-6 * entries * k);
    free(a), free(w), free(dense), free(c), free(expected);
}

static void test_far_rows(void **state)
{
    static const int shapes[][3] = {{7, 128, 64},  {16, 100, 200}, {33, 64, 301}, {64, 17, 33},
                                    {9, 128, 256}, {40, 48, 192},  {6, 64, 300},  {35, 112, 1100}};
    static const int pitches[] = {1024, 256, 768, 992, 2048};
    for (int i = 0; i < 8; i++)
        for (int p = 0; p < 5; p++)
            check_far_rows(shapes[i][0], shapes[i][1], shapes[i][2], 1 + (i + p) % 3, pitches[p], (i + p) % 2);
}

/* Weights that lie one behind the other are asked for once each, before they are read; of a tile of
 * few rows, as much as comes meanwhile. */
static void test_look_ahead(void **state)
{
    enum { K = 256, PITCH = 64, PANELS = 6, BATCH = 2, PANEL = 4 * K * PITCH * BATCH };
    static const int rows[] = {3, 7, 16, 49};
    char *weights = malloc(PANEL * (PANELS + 1));
    for (int r = 0; r < 4; r++)
        for (int again = 1; again <= 4; again++) { /* tiles of rows by each block */
            struct gemm_prefetch prefetch = {NULL};
            const char *last = NULL;
            for (int i = 0; i < PANELS * again; i++) {
                const char *w = weights + PANEL * (i / again), *end = w + PANEL;
                const void *ws[BATCH] = {w, w + PANEL / BATCH};
                struct gemm_block b = {
                    .w = ws, .count = BATCH, .rows = rows[r], .columns = 64, .k = K, .w_pitch = PITCH};
                gemm_plan_prefetch(&b, GEMM_F32, 0, &prefetch);
                assert_true(b.next >= end && b.next <= b.next_end && b.next_end <= end + PANEL);
                assert_true(b.next == (last && last >= end ? last : end));
                int64_t asked = b.next_end - b.next, max = (rows[r] + 6) / 7 * K * BATCH * 128;
                assert_true(asked <= max);
                if (i % again == again - 1 && (rows[r] + 6) / 7 * again >= 3)
                    assert_true(b.next_end == end + PANEL); /* all of the next block */
                last = b.next_end;
            }
        }
    const void *w = weights;
    enum { LINE = 14 };
    struct gemm_prefetch slow = {NULL};
    for (int part = 1; part <= 2; part++) { /* tiles that share a panel ask for no more each than comes meanwhile */
        struct gemm_block b = {.w = &w, .count = 1, .rows = 7, .columns = 64, .k = K, .w_pitch = PITCH};
        gemm_plan_prefetch(&b, GEMM_F32, LINE, &slow);
        assert_true(b.next_end == weights + PANEL / BATCH + part * K * LINE);
    }
    struct gemm_prefetch prefetch = {NULL};
    struct gemm_block one = {.w = &w, .count = 1, .rows = 1, .columns = 64, .k = K, .w_pitch = PITCH};
    gemm_plan_prefetch(&one, GEMM_F32, 0, &prefetch);
    assert_true(!one.next && !one.next_end);
    struct gemm_block large = {
        .w = &w, .count = 1, .rows = 99, .columns = 64, .k = 4096, .w_pitch = 64};
    gemm_plan_prefetch(&large, GEMM_F32, 0, &prefetch); /* two of them exceed the cache */
    assert_true(!large.next && !large.next_end);
    free(weights);
}

/* Rows of A that overlap, as frames of a signal do. */
static void test_overlapping_rows(void **state)
{
    enum { ROWS = 7, COLUMNS = 16, K = 40 };
    TENSOR(float, a, ROWS * K);
    TENSOR(float, w, K * COLUMNS);
    TENSOR(float, c, ROWS * COLUMNS);
    for (int i = 0; i < ROWS * K; i++)
        a[i] = uniform(-1, 1);
    for (int i = 0; i < K * COLUMNS; i++)
        w[i] = uniform(-1, 1);
    for (int pitch = 0; pitch <= K; pitch += 5) {
        struct gemm_tile tile = {GEMM_F32,        ROWS, COLUMNS, K, pitch, COLUMNS, COLUMNS, false,
                                 {{0}, {0}, {0}}, false};
        struct gemm g;
        gemm_prepare(&g, &tile, table->lanes);
        gemm_run(&g, table, a, w, c);
        for (int r = 0; r < ROWS; r++)
            for (int o = 0; o < COLUMNS; o++) {
                double e = 0;
                for (int k = 0; k < K; k++)
                    e += (double)a[r * pitch + k] * w[k * COLUMNS + o];
                assert_true(fabs(c[r * COLUMNS + o] - e) <= K * 1e-6);
            }
    }
}

/* The same of bf16, many rows of one entry and of two, as pieces of a convolution's. */
static void test_close_rows(void **state)
{
    enum { ROWS = 110, COLUMNS = 16, K = 27, ENTRIES = 2, A = (ROWS + 1) * K + 3 };
    TENSOR(uint16_t, a, A);
    TENSOR(uint16_t, w, ENTRIES * (K + 1) * COLUMNS);
    TENSOR(float, c, ROWS * COLUMNS);
    memset(w, 0, sizeof *w * ENTRIES * (K + 1) * COLUMNS);
    for (int i = 0; i < A; i++)
        a[i] = (uint16_t)(0x3f80 + next_random() % 64);
    for (int e = 0; e < ENTRIES; e++)
        for (int k = 0; k < K; k++)
            for (int o = 0; o < COLUMNS; o++)
                w[((e * (K + 1) / 2 + k / 2) * COLUMNS + o) * 2 + k % 2] =
                    (uint16_t)(0x3f80 + next_random() % 64);
    for (int pitch = 1; pitch <= K; pitch += pitch < 25 ? 6 : 1)
        for (int rows = 5; rows <= ROWS; rows += 35) {
            struct gemm_tile tile = {GEMM_BF16, rows, COLUMNS,  K,
                                     pitch,     COLUMNS, COLUMNS,  false,
                                     {{0}, {0}, {ENTRIES, 3, (K + 1) * COLUMNS}}, false};
            struct gemm g;
            gemm_prepare_whole(&g, &tile);
            gemm_run(&g, table, a, w, c);
            for (int r = 0; r < rows; r++)
                for (int o = 0; o < COLUMNS; o++) {
                    double e = 0;
                    for (int k = 0; k < ENTRIES * K; k++)
                        e += (double)bf16_value(a[r * pitch + k / K * 3 + k % K]) *
                             bf16_value(
                                 w[((k / K * (K + 1) / 2 + k % K / 2) * COLUMNS + o) * 2 + k % K % 2]);
                    assert_true(c[r * COLUMNS + o] == e); /* sums of 21 bits */
                }
        }
}

/* A number of 16 bits as the kernels for rows read it, and the nearest one. */
static float short_value(const void *operand, int64_t at, bool f16)
{
    float x;
    table->convert[f16 ? CONVERT_f32_from_f16 : CONVERT_f32_from_bf16](&x, 1, (const uint16_t *)operand + at, 1, 1);
    return x;
}
static uint16_t short_of(float x, bool f16)
{
    uint16_t h;
    table->convert[f16 ? CONVERT_f16_from_f32 : CONVERT_bf16_from_f32](&h, 1, &x, 1, 1);
    return h;
}

/* The steps on a buffer, one after the other. */
static void expect_steps(const struct gemm_step *steps, int n, float *x, int rows, int columns)
{
    for (int i = 0; i < n; i++) {
        const struct gemm_step *s = &steps[i];
        for (int r = 0; r < rows; r++)
            for (int o = 0; o < columns; o++) {
                float *v = &x[r * columns + o];
                int64_t at = r * s->pitch + o;
                struct out_row y = {v, 1};
                struct in_row from = {v, 1}, absent = {0};
                if (s->kind == STEP_ADD)
                    *v += ((const float *)s->operand)[at];
                else if (s->kind == STEP_MULTIPLY)
                    *v *= ((const float *)s->operand)[at];
                else if (s->kind == STEP_RELU)
                    table->activation[ACTIVATION_relu](y, from, absent, absent, 1, s->p);
                else if (s->kind == STEP_CLIP)
                    table->activation[ACTIVATION_clip](y, from, absent, absent, 1, s->p);
                else if (s->kind == STEP_ACTIVATION)
                    table->activation[ACTIVATION_tanh](y, from, absent, absent, 1, s->p);
                else if (s->kind == STEP_STORE)
                    assert_memory_equal((float *)s->result + at, v, 4);
                else if (s->kind == STEP_ADD_SHORT)
                    *v += short_value(s->operand, at, s->f16);
                else if (s->kind == STEP_MULTIPLY_SHORT)
                    *v *= short_value(s->operand, at, s->f16);
                else if (s->kind == STEP_ROUND)
                    *v = short_value(&(uint16_t){short_of(*v, s->f16)}, 0, s->f16);
                else
                    assert_int_equal(((uint16_t *)s->result)[at], short_of(*v, s->kind == STEP_STORE_F16));
            }
    }
}

enum { STEPS_PITCH = 83 };
struct stepped { /* a product whose steps are tested */
    struct gemm g;
    const void *a, *w;
    float *c, *sums, *plain; /* sums: what C holds before */
    float *row, *tile;
    size_t count;
    int rows, columns, k;
};

/* Sums, then steps, are the bits of sums stored and steps done on them there. */
static void check_these(struct stepped *x, const struct gemm_step *steps, int n)
{
    memcpy(x->c, x->sums, 4 * x->count);
    gemm_run(&x->g, table, x->a, x->w, x->c);
    for (int r = 0; r < x->rows; r++)
        memcpy(x->plain + r * x->columns, x->c + r * STEPS_PITCH, 4 * (size_t)x->columns);
    memcpy(x->c, x->sums, 4 * x->count);
    gemm_run_with(&x->g, table,
                  &(struct gemm_operands){.a = x->a, .w = x->w, .c = x->c, .steps = steps, .nsteps = n});
    expect_steps(steps, n, x->plain, x->rows, x->columns);
}

static void check_floats(struct stepped *x)
{
    float *kept = malloc(4 * x->count), *last = malloc(4 * x->count);
    uint16_t *rounded = malloc(2 * x->count);
    memset(kept, 0x5a, 4 * x->count), memset(last, 0x5a, 4 * x->count), memset(rounded, 0x5a, 2 * x->count);
    struct gemm_step steps[] = {
        {.kind = STEP_ADD, .operand = x->row},
        {.kind = STEP_STORE, .result = kept, .pitch = STEPS_PITCH},
        {.kind = STEP_MULTIPLY, .operand = x->tile, .pitch = STEPS_PITCH},
        {.kind = STEP_CLIP, .p = {-2, 30}},
        {.kind = STEP_ADD, .operand = x->tile, .pitch = STEPS_PITCH},
        {.kind = STEP_ACTIVATION, .activation = table->activate[ACTIVATION_tanh]},
        {.kind = STEP_RELU},
        {.kind = STEP_STORE_BF16, .result = rounded, .pitch = STEPS_PITCH},
        {.kind = STEP_STORE, .result = last, .pitch = STEPS_PITCH},
    };
    check_these(x, steps, sizeof steps / sizeof steps[0]);
    static const enum gemm_step_kind kinds[] = {STEP_RELU, STEP_CLIP, STEP_ACTIVATION};
    for (int i = 0; i < 6; i++) { /* a row, an activation, a store: in one piece */
        struct gemm_step usual[] = {steps[0], steps[i / 2 == 2 ? 5 : 3], steps[7 + i % 2]};
        usual[1].kind = kinds[i / 2];
        check_these(x, usual, 3);
    }
    for (int r = 0; r < x->rows; r++) /* nothing beside the tile */
        for (int o = x->columns; o < STEPS_PITCH; o++) {
            assert_memory_equal(&kept[r * STEPS_PITCH + o], "ZZZZ", 4);
            assert_memory_equal(&last[r * STEPS_PITCH + o], "ZZZZ", 4);
            assert_memory_equal(&rounded[r * STEPS_PITCH + o], "ZZ", 2);
        }
    free(kept), free(last), free(rounded);
}

/* What convolutions and matmuls of such types end with, rounded after each step or once; `some` says which steps. */
static int usual_shorts(struct gemm_step *to, int some, const struct gemm_step *all)
{
    bool rounds = some & 1, bounded = some & 16;
    int n = 0;
    if (rounds)
        to[n++] = all[0];
    for (int s = 0; s < 2; s++) {
        bool adds = some & 2 << s;
        if (adds)
            to[n++] = all[(s + some / 8) % 2 ? 5 : 1]; /* a tile, a row; or a row, a tile */
        if (adds && rounds && (s < 1 || bounded))
            to[n++] = all[0];
    }
    if (bounded)
        to[n++] = all[some & 8 ? 8 : 6];
    to[n++] = all[7];
    return n;
}

/* Numbers of 16 bits, behind the last of which there is nothing to be read. */
static void check_shorts(struct stepped *x, bool f16)
{
    size_t exact = x->count - STEPS_PITCH + (size_t)x->columns;
    uint16_t *row = malloc(2 * (size_t)x->columns), *tile = malloc(2 * exact), *y = malloc(2 * exact);
    for (size_t i = 0; i < exact; i++)
        tile[i] = short_of(x->tile[i], f16);
    for (int o = 0; o < x->columns; o++)
        row[o] = short_of(x->row[o], f16);
    memset(y, 0x5a, 2 * exact);
    const struct gemm_step all[] = {
        {.kind = STEP_ROUND, .f16 = f16},
        {.kind = STEP_ADD_SHORT, .f16 = f16, .operand = row},
        {.kind = STEP_ROUND, .f16 = f16},
        {.kind = STEP_MULTIPLY_SHORT, .f16 = f16, .operand = tile, .pitch = STEPS_PITCH},
        {.kind = STEP_ROUND, .f16 = f16},
        {.kind = STEP_ADD_SHORT, .f16 = f16, .operand = tile, .pitch = STEPS_PITCH},
        {.kind = STEP_RELU},
        {.kind = f16 ? STEP_STORE_F16 : STEP_STORE_BF16, .result = y, .pitch = STEPS_PITCH},
        {.kind = STEP_CLIP, .p = {-2, 30}},
    };
    check_these(x, all, 8);
    for (int i = 0; i < 4; i++) {
        struct gemm_step usual[8];
        check_these(x, usual, usual_shorts(usual, (x->rows * 5 + x->columns * 3 + x->k + 7 * i) % 32, all));
    }
    for (int r = 0; r + 1 < x->rows; r++)
        for (int o = x->columns; o < STEPS_PITCH; o++)
            assert_int_equal(y[r * STEPS_PITCH + o], 0x5a5a);
    free(row), free(tile), free(y);
}

static void check_steps(enum gemm_type type, int rows, int columns, int k, bool accumulate)
{
    size_t size = type == GEMM_F32 ? 4 : 2, count = (size_t)rows * STEPS_PITCH;
    int width = (columns + 15) / 16 * 16;
    float *af = random_row((size_t)(rows * k)), *wf = random_row((size_t)((k + 1) * width));
    uint16_t *ah = malloc(2 * (size_t)(rows * k)), *wh = malloc(2 * (size_t)((k + 1) * width));
    table->convert[CONVERT_bf16_from_f32](ah, 1, af, 1, (size_t)(rows * k));
    table->convert[CONVERT_bf16_from_f32](wh, 1, wf, 1, (size_t)((k + 1) * width));
    struct stepped x = {.a = size == 4 ? (void *)af : ah,
                        .w = size == 4 ? (void *)wf : wh,
                        .c = malloc(4 * count),
                        .sums = random_row(count),
                        .plain = malloc(4 * (size_t)(rows * columns)),
                        .row = random_row(STEPS_PITCH),
                        .tile = random_row(count),
                        .count = count,
                        .rows = rows,
                        .columns = columns,
                        .k = k};
    x.tile[0] = NAN, x.row[columns > 3 ? 3 : 0] = INFINITY;
    struct gemm_tile t = {type, rows, columns, k, k, STEPS_PITCH, width, accumulate, {{0}, {0}, {0}}, false};
    gemm_prepare(&x.g, &t, table->lanes);
    check_floats(&x);
    check_shorts(&x, false);
    check_shorts(&x, true);
    free(af), free(wf), free(ah), free(wh), free(x.row), free(x.tile), free(x.sums), free(x.c), free(x.plain);
}

static void test_steps(void **state)
{
    for (int type = GEMM_F32; type <= GEMM_BF16; type++) {
        for (int rows = 1; rows <= 15; rows++)
            for (int columns = 1; columns <= 80; columns += columns % 16 == 15 ? 1 : 5)
                check_steps(type, rows, columns, 1 + (rows * 7 + columns) % 13, (rows + columns) % 2);
        for (int columns = 16; columns <= 80; columns += 16)
            check_steps(type, 14, columns, 6, false);
        for (int rows = 16; rows <= 67; rows += 3) /* tiles of rows that overlap, for units with tiles of 16 */
            for (int columns = 15; columns <= 79; columns += 16)
                check_steps(type, rows, columns + rows % 3, 29 + rows + columns % 4, rows % 2);
        check_steps(type, 9, 64, 9600, false); /* a sum in pieces */
        check_steps(type, 9, 64, 9600, true);
    }
}

/* Magnitude 127 in every block, the others far from a half: rounding is no matter of one bit. */
static void make_rounded(float *x, int k, int block)
{
    for (int i = 0; i < k; i++) {
        int q = (int)(next_random() % 255) - 127;
        x[i] = (float)(i % block ? q : q < 0 ? -127 : 127) * 0x1p-5f;
    }
}

static void check_weight_only(int k, int columns, int block, int bits, bool zeros, bool bf16, bool rounded)
{
    int blocks = (k + block - 1) / block;
    uint8_t *q = malloc((size_t)(k * columns));
    float *scale = random_row((size_t)(blocks * columns)), *zero = random_row((size_t)(blocks * columns));
    float *x = random_row((size_t)k), *y = random_row((size_t)columns), centre = 5;
    for (int i = 0; i < k * columns; i++)
        q[i] = (uint8_t)(next_random() & (bits == 8 ? 255 : 15));
    struct pack_quantized shape = {k, columns, block, bits, zeros};
    void *packed = aligned_alloc(64, (pack_quantized_size(&shape) + 63) / 64 * 64);
    pack_quantized(packed, &shape, &(struct quantized_source){q, 1, k, scale, zero, 1, blocks});
    if (rounded)
        make_rounded(x, k, block);
    uint16_t *h = malloc(sizeof *h * (size_t)k);
    for (int i = 0; bf16 && i < k; i++)
        x[i] = bf16_to_f32(h[i] = f32_to_bf16(x[i]));
    float *work = malloc(sizeof *work * (size_t)weight_only_work(k, block));
    struct weight_only_row row = {.x = bf16 ? (void *)h : x, .packed = packed, .y = y, .k = k, .columns = columns,
                                  .block = block, .bits = bits, .zeros = zeros, .centre = centre, .bf16 = bf16,
                                  .work = work};
    (rounded ? table->weight_only_rounded : table->weight_only)(&row);
    int width = columns < PACK_COLUMNS ? columns : PACK_COLUMNS, pitch = pack_width(columns);
    float *unpacked = malloc(sizeof *unpacked * (size_t)(k * pitch));
    for (int i = 0, n = 1; i < k; i += n, n = 3 - n) /* one row and two in turns */
        table->weight_only_unpack(&row, i, n < k - i ? n : k - i, unpacked + i * pitch);
    for (int o = 0; o < columns; o++) {
        double e = 0, size = 0;
        for (int i = 0; i < k; i++) {
            int value = bits == 8 ? (int8_t)q[o * k + i] : q[o * k + i];
            double middle = zeros ? zero[o * blocks + i / block] : centre;
            double w = ((double)value - middle) * scale[o * blocks + i / block], product = x[i] * w;
            if (o < width)
                assert_true(fabs(unpacked[i * pitch + o] - w) <= fabs(w) * 1e-6 + 1e-6);
            e += product;
            size += fabs(x[i]) * (fabs((double)value) + fabs(middle)) *
                    fabs(scale[o * blocks + i / block]);
        }
        assert_true(fabs(y[o] - e) <= size * 1e-5);
    }
    free(q), free(scale), free(zero), free(x), free(y), free(packed), free(h), free(work), free(unpacked);
}

/* Each of several rows is what it is alone, and nothing is stored between them. */
static void check_rounded_rows(int k, int columns, int block, int bits, bool bf16, int rows)
{
    int blocks = (k + block - 1) / block, pitch = k + 3, y_pitch = columns + 5, stored = columns - columns / 3;
    uint8_t *q = malloc((size_t)(k * columns));
    float *scale = random_row((size_t)(blocks * columns)), *x = random_row((size_t)(rows * pitch));
    float *y = random_row((size_t)(rows * y_pitch)), *before = malloc(sizeof *y * (size_t)(rows * y_pitch));
    float *one = malloc(sizeof *one * (size_t)columns);
    uint16_t *h = malloc(sizeof *h * (size_t)(rows * pitch));
    memcpy(before, y, sizeof *y * (size_t)(rows * y_pitch));
    for (int i = 0; i < k * columns; i++)
        q[i] = (uint8_t)(next_random() & (bits == 8 ? 255 : 15));
    for (int i = 0; i < rows * pitch; i++)
        h[i] = f32_to_bf16(x[i]);
    struct pack_quantized shape = {k, columns, block, bits, false};
    void *packed = aligned_alloc(64, (pack_quantized_size(&shape) + 63) / 64 * 64);
    pack_quantized(packed, &shape, &(struct quantized_source){q, 1, k, scale, NULL, 1, blocks});
    float *work = malloc(sizeof *work * (size_t)(WEIGHT_ONLY_ROWS * weight_only_work(k, block)));
    struct weight_only_row all = {.x = bf16 ? (void *)h : x, .packed = packed, .y = y, .k = k, .columns = columns,
                                  .block = block, .bits = bits, .centre = 5, .bf16 = bf16, .work = work,
                                  .rows = rows, .x_pitch = pitch, .y_pitch = y_pitch, .stored = stored};
    table->weight_only_rounded(&all);
    for (int r = 0; r < rows; r++) {
        struct weight_only_row row = all;
        row.x = bf16 ? (void *)(h + r * pitch) : x + r * pitch;
        row.y = one, row.rows = row.stored = 0;
        table->weight_only_rounded(&row);
        assert_memory_equal(one, y + r * y_pitch, sizeof *y * (size_t)stored);
        int behind = r * y_pitch + stored;
        assert_memory_equal(before + behind, y + behind, sizeof *y * (size_t)(y_pitch - stored));
    }
    free(q), free(scale), free(x), free(y), free(before), free(one), free(h), free(packed), free(work);
}

static void test_rounded_rows(void **state)
{
    static const int blocks[] = {16, 24, 32};
    for (int bits = 4; bits <= 8; bits += 4)
        for (int b = 0; b < 3; b++)
            for (int k = 1; k < 150; k += 37)
                for (int columns = 1; columns < 140; columns += 23)
                    for (int rows = 2; rows < 11; rows += 3)
                        check_rounded_rows(k, columns, blocks[b], bits, rows & 1, rows);
}

static void test_weight_only(void **state)
{
    static const int blocks[] = {3, 16, 24, 32, 64};
    for (int bits = 4; bits <= 8; bits += 4)
        for (int b = 0; b < 5; b++)
            for (int k = 1; k < 200; k += 33)
                for (int columns = 1; columns < 150; columns += 21)
                    for (int way = 0; way < 4; way++)
                        check_weight_only(k, columns, blocks[b], bits, k % 2, way & 1, way > 1);
    check_weight_only(1 << 13, 17, 1 << 13, 8, true, false, true);
}

/* Terms are nearest integers of the largest / 127, -128 of a weight is what it says, what is no number stays none. */
static void test_rounded_row(void **state)
{
    enum { K = 32, COLUMNS = 16 };
    static const float special[] = {0, 1e-44f, NAN, INFINITY};
    for (int bits = 4; bits <= 8; bits += 4)
        for (int s = 0; s < 5; s++) {
            uint8_t q[K * COLUMNS];
            float scale[COLUMNS];
            TENSOR(float, x, K);
            TENSOR(float, y, COLUMNS);
            TENSOR(float, work, 64 + K);
            for (int i = 0; i < K * COLUMNS; i++)
                q[i] = (uint8_t)(bits == 8 ? (i % 3 ? 128 : 127) : i % 16);
            for (int i = 0; i < K; i++)
                x[i] = s < 4 ? 0 : (float)((int)(next_random() % 2001) - 1000);
            for (int i = 0; i < K; i++)
                x[i] += fabsf(x[i]) == 500; /* 63.5 of 127: either is the nearest */
            for (int i = 0; i < COLUMNS; i++)
                scale[i] = 0.5f;
            x[3] = s < 4 ? special[s] : 1000;
            struct pack_quantized shape = {K, COLUMNS, K, bits, false};
            uint8_t packed[64 + 4 * K * COLUMNS] __attribute__((aligned(64)));
            pack_quantized(packed, &shape, &(struct quantized_source){q, 1, K, scale, NULL, 1, 1});
            struct weight_only_row row = {
                .x = x, .packed = packed, .y = y, .k = K, .columns = COLUMNS, .block = K, .bits = bits, .centre = 3,
                .work = work};
            assert_true(weight_only_work(K, K) <= 64 + K);
            table->weight_only_rounded(&row);
            for (int o = 0; o < COLUMNS; o++) {
                double sum = 0;
                for (int i = 0; i < K; i++) {
                    int value = bits == 8 ? (int8_t)q[o * K + i] : q[o * K + i];
                    sum += (double)rintf(x[i] * (1 / (1000.0f / 127))) * (value - 3);
                }
                double e = sum * (1000.0f / 127) * 0.5; /* the sum is exact, its product is rounded once */
                if (s == 4)
                    assert_true(fabs(y[o] - e) <= fabs(e) * 0x1p-24 * 1.001);
                else
                    assert_true(s < 2 ? y[o] == 0 : isnan(y[o]));
            }
        }
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_far_rows),
        cmocka_unit_test(test_look_ahead),  cmocka_unit_test(test_overlapping_rows),
        cmocka_unit_test(test_close_rows),  cmocka_unit_test(test_weight_only),
        cmocka_unit_test(test_rounded_row), cmocka_unit_test(test_rounded_rows),
    };
    return run_variants(tests, sizeof tests / sizeof tests[0]);
}
