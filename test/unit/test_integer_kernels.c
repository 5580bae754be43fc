/*
 * The kernels of quantised data in every variant this CPU can run, against scalar references.
 */
#include "neff/isa/pack.h"
#include "runtime/kernels/gemm.h"
#include "test/unit/kernel_test.h"

/* ---- affine tiles ---- */

static const size_t tile_sizes[] = {[TILE_F32] = 4, [TILE_I32] = 4, [TILE_U8] = 1, [TILE_I8] = 1};

static double affine_reference(const struct affine_tile *t, size_t r, size_t c)
{
    const char *x = (const char *)t->x + (r * (size_t)t->x_pitch + c) * tile_sizes[t->x_type];
    float v = t->x_type == TILE_F32   ? *(const float *)(const void *)x
              : t->x_type == TILE_I32 ? (float)*(const int32_t *)(const void *)x
              : t->x_type == TILE_U8  ? (float)*(const uint8_t *)x
                                      : (float)*(const int8_t *)x;
    float scale =
        t->scale.at ? t->scale.at[(ptrdiff_t)r * t->scale.pitch + (ptrdiff_t)c * t->scale.step] : 1;
    float bias =
        t->bias.at ? t->bias.at[(ptrdiff_t)r * t->bias.pitch + (ptrdiff_t)c * t->bias.step] : 0;
    if (t->form == AFFINE_SHIFT_SCALE)
        return (float)((v - bias) * scale);
    if (t->form == AFFINE_DIVIDE)
        return (float)(v / scale);
    return table->fma ? fmaf(v, scale, bias) : (float)((float)(v * scale) + bias);
}

static void check_affine(enum tile_type from, enum tile_type to, enum affine_form form, size_t n,
                         bool rows_differ)
{
    enum { ROWS = 3, GAP = 5 };
    size_t pitch = n + (rows_differ ? GAP : 0), count = ROWS * pitch;
    unsigned char *x = malloc(count * tile_sizes[from]), *y = malloc(count * tile_sizes[to]);
    float *scale = random_row(count), *bias = random_row(count);
    for (size_t i = 0; i < count * tile_sizes[from]; i++)
        x[i] = (unsigned char)next_random();
    for (size_t i = 0; i < count; i++) { /* sums and numbers of use, and specials */
        if (from == TILE_I32)
            ((int32_t *)(void *)x)[i] = i % 11 == 0 ? INT32_MAX : (int32_t)next_random() >> 20;
        if (from == TILE_F32)
            ((float *)(void *)x)[i] = i % 7 == 0   ? NAN
                                      : i % 7 == 1 ? -INFINITY
                                      : i % 7 == 2 ? 1e30f
                                      : i % 7 == 3 ? uniform(30000, 34000)
                                                   : uniform(-300, 300);
        scale[i] = fabsf(scale[i]) + 0.1f;
    }
    memset(y, 0x5a, count * tile_sizes[to]);
    ptrdiff_t step = form == AFFINE_SCALE_ADD, p = rows_differ ? (ptrdiff_t)pitch : 0;
    struct affine_tile t = {.x = x,
                            .y = y,
                            .x_pitch = (ptrdiff_t)pitch,
                            .y_pitch = (ptrdiff_t)pitch,
                            .x_type = from,
                            .y_type = to,
                            .form = form,
                            .scale = {scale, step, step * p},
                            .bias = {bias, step, step * p},
                            .zero = to == TILE_F32 ? 0 : n % 5 ? 7 : -32700,
                            .rows = ROWS,
                            .n = n};
    if (n % 3 == 0 && form == AFFINE_SCALE_ADD)
        t.scale.at = t.bias.at = NULL;
    table->affine(&t);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < pitch; c++) {
            size_t at = r * pitch + c;
            if (c >= n) {
                for (size_t b = 0; b < tile_sizes[to]; b++)
                    assert_int_equal(y[at * tile_sizes[to] + b], 0x5a);
                continue;
            }
            double e = affine_reference(&t, r, c);
            if (to == TILE_F32) {
                float got = ((float *)(void *)y)[at];
                assert_true(got == e || (isnan(got) && isnan(e)));
                continue;
            }
            double low = to == TILE_U8 ? 0 : -128, high = to == TILE_U8 ? 255 : 127;
            double whole = isnan(e) ? low : fmin(fmax(nearbyint(e) + t.zero, low), high);
            assert_int_equal(to == TILE_U8 ? y[at] : (int8_t)y[at], (int)whole);
        }
    free(x), free(y), free(scale), free(bias);
}

static void test_affine(void **state)
{
    for (int from = TILE_F32; from <= TILE_I8; from++)
        for (int to = TILE_F32; to <= TILE_I8; to++)
            for (int form = AFFINE_SCALE_ADD; form <= AFFINE_DIVIDE; form++)
                for (size_t n = 1; to != TILE_I32 && n < 40; n++)
                    check_affine((enum tile_type)from, (enum tile_type)to, (enum affine_form)form,
                                 n, n % 2);
}

/* ---- sums as 8-bit numbers ---- */

static int saturated(double v, int zero, bool is_signed)
{
    double low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
    return (int)fmin(fmax(nearbyint(v) + zero, low), high);
}

static float multiply_add(float a, float b, float c)
{
    return table->fma ? fmaf(a, b, c) : (float)((float)(a * b) + c);
}

static int quantized_reference(const struct requantize *q, int32_t sum, int out, uint8_t other)
{
    float x = multiply_add((float)sum, q->scale[out], q->shift[out]);
    float z = q->other_signed ? (int8_t)other : other;
    if (q->adds) {
        x = (float)saturated(x, q->sum_zero, q->sum_signed);
        x = q->other_first
                ? multiply_add(z, q->other_factor, multiply_add(x, q->factor, q->offset))
                : multiply_add(x, q->factor, multiply_add(z, q->other_factor, q->offset));
    }
    return saturated(x, q->zero, q->is_signed);
}

/* The bias of a channel. Those of trained models are at the limits of s32 where a scale is next to zero: sums wrap. */
static int32_t random_bias(int channel, int shift)
{
    return channel % 5 == 3 ? INT32_MIN : channel % 7 == 5 ? INT32_MAX : (int32_t)next_random() >> shift;
}

static int32_t add_wrapping(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* ---- depthwise convolution ---- */

/* A sum of the row before its bias: what `rows` and weights [kernel_w][quads][channels][4] give at pixel j of channel
 * c. */
static int32_t depthwise_sum(const struct depthwise_integer_row *d, int quads, int outside, int j, int c)
{
    int32_t sum = 0;
    for (int row = 0; row < d->kernel_height; row++)
        for (int k = 0; k < d->kernel_width; k++) {
            int column = j * d->stride - d->pad + k * d->dilation;
            bool inside = d->rows[row] && column >= 0 && column < d->width;
            sum += (inside ? d->rows[row][column * d->channels + c] : outside) *
                   d->weights[((k * quads + row / 4) * d->channels + c) * 4 + row % 4];
        }
    return sum;
}

/* Sums, or with a scale bytes; what lies between pixels is as it was. */
static void compare_depthwise(const struct depthwise_integer_row *d, int quads, int outside, const int32_t *y,
                              const uint8_t *bytes, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        int j = (int)(at / (size_t)d->out_step), c = (int)(at % (size_t)d->out_step);
        if (c >= d->channels) {
            assert_int_equal(y[at], 0x5a5a5a5a);
            assert_int_equal(bytes[at], 0x5a);
            continue;
        }
        int32_t e = add_wrapping(depthwise_sum(d, quads, outside, j, c), d->bias ? d->bias[c] : 0);
        if (!d->as)
            assert_int_equal(y[at], e);
        else
            assert_int_equal(d->as->is_signed ? (int8_t)bytes[at] : bytes[at],
                             quantized_reference(d->as, e, c, 0));
    }
}

/* Weights of kernel_h rows in quads of them. */
static void random_weights(int8_t *w, int kernel_h, int kernel_w, int channels)
{
    int quads = (kernel_h + 3) / 4;
    for (int c = 0; c < channels; c++)
        for (int i = 0; i < kernel_h; i++)
            for (int j = 0; j < kernel_w; j++)
                w[((j * quads + i / 4) * channels + c) * 4 + i % 4] =
                    next_random() % 8 ? (int8_t)next_random() : -128;
}

static void check_depthwise(int kernel_h, int kernel_w, int stride, int dilation, int width,
                            int channels, bool with_bias, bool quantized)
{
    enum { GAP = 3, ZERO = 117, LIMIT = 8 };
    int pad = kernel_w / 2 * dilation, quads = (kernel_h + 3) / 4;
    int columns = (width + 2 * pad - ((kernel_w - 1) * dilation + 1)) / stride + 1;
    if (columns < 1)
        return;
    size_t n = (size_t)(width * channels), pitch = (size_t)(channels + GAP),
           y_count = (size_t)(columns - 1) * pitch + (size_t)channels;
    uint8_t *x[LIMIT], *outside = malloc((size_t)channels), *bytes = malloc(y_count);
    const uint8_t *rows[LIMIT];
    int8_t *w = calloc((size_t)(kernel_w * quads * channels * 4), 1);
    int32_t *bias = malloc((size_t)channels * 4), *y = malloc(y_count * 4);
    float *scale = random_row((size_t)channels), *shift = random_row((size_t)channels);
    memset(outside, ZERO, (size_t)channels);
    memset(y, 0x5a, y_count * 4), memset(bytes, 0x5a, y_count);
    for (int i = 0; i < kernel_h; i++) {
        x[i] = malloc(n); /* exact size: ASan sees every overrun */
        for (size_t k = 0; k < n; k++)
            x[i][k] = next_random() % 8 ? (uint8_t)next_random() : 255;
        rows[i] = i == 0 && kernel_h > 1 ? NULL : x[i];
    }
    for (int c = 0; c < channels; c++) {
        bias[c] = random_bias(c, 12);
        scale[c] *= 0.005f, shift[c] *= 50;
    }
    random_weights(w, kernel_h, kernel_w, channels);
    struct requantize as = {
        scale, shift, .is_signed = channels % 3 == 0, .zero = channels % 3 * 40};
    struct depthwise_integer_row d = {
        .rows = rows,
        .pixel_step = channels,
        .width = width,
        .kernel_height = kernel_h,
        .kernel_width = kernel_w,
        .stride = stride,
        .dilation = dilation,
        .pad = pad,
        .channels = channels,
        .pixels = columns,
        .outside = outside,
        .weights = w,
        .bias = with_bias ? bias : NULL,
        .as = quantized ? &as : NULL,
        .sums = quantized ? NULL : y,
        .bytes = quantized ? bytes : NULL,
        .out_step = (ptrdiff_t)pitch};
    table->depthwise_integer(&d);
    compare_depthwise(&d, quads, ZERO, y, bytes, y_count);
    for (int i = 0; i < kernel_h; i++)
        free(x[i]);
    free(outside), free(w), free(bias), free(y), free(bytes), free(scale), free(shift);
}

static void test_depthwise_integer(void **state)
{
    static const int kernels[][2] = {{3, 3}, {5, 5}, {1, 3}, {3, 1}, {2, 2}, {1, 1}, {7, 7}};
    static const int channels[] = {1, 4, 15, 16, 17, 40, 64, 70, 130};
    int i = 0;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (size_t c = 0; c < sizeof channels / sizeof *channels; c++)
            for (int stride = 1; stride <= 3; stride++)
                for (int quantized = 0; quantized < 2; quantized++, i++)
                    check_depthwise(kernels[k][0], kernels[k][1], stride, 1 + i % 5 / 4,
                                    i % 7 == 0 ? 70 : 9, channels[c], i % 3, quantized);
}

/* ---- products stored as 8-bit numbers ---- */

struct quantized_case {
    int bands, width, columns, k, taps;
    bool is_signed, adds, other_signed, sum_signed, other_first, with_bias;
};

/* Every sum of the block, its bias added; what lies between rows and bands is as it was. */
static void compare_quantized(const struct quantized_case *c, const struct gemm_block *g, const int8_t *w,
                              size_t y_count)
{
    const struct gemm_quantized *to = g->quantized;
    const uint8_t *y = to->y, *other = to->other;
    for (size_t i = 0; i < y_count; i++) {
        int64_t band = (int64_t)i / to->y_band, in_band = (int64_t)i % to->y_band;
        int64_t row = in_band / to->y_pitch, out = in_band % to->y_pitch;
        if (row >= c->width || out >= c->columns) {
            assert_int_equal(y[i], 0x5a);
            continue;
        }
        int32_t sum = to->bias ? to->bias[out] : 0;
        for (int t = 0; t < c->taps; t++)
            for (int k = 0; k < c->k; k++)
                sum = add_wrapping(sum, ((const uint8_t *)g->a[t])[band * to->a_band + row * g->a_pitch + k] *
                                            w[(t * c->k + k) * c->columns + out]);
        int e = quantized_reference(&to->as, sum, (int)out, other ? other[i] : 0);
        assert_int_equal(c->is_signed ? (int8_t)y[i] : y[i], e);
    }
}

static void check_quantized(const struct quantized_case *c)
{
    enum { GAP = 3, BAND_GAP = 11, MAX_TAPS = 3 };
    int pitch = c->k + GAP, a_band = c->width * pitch + BAND_GAP, y_pitch = c->columns + GAP,
        y_band = c->width * y_pitch + BAND_GAP, width = pack_width(c->columns);
    size_t a_count = (size_t)((c->bands - 1) * a_band + (c->width - 1) * pitch + c->k),
           y_count = (size_t)((c->bands - 1) * y_band + (c->width - 1) * y_pitch + c->columns);
    uint8_t *a[MAX_TAPS], *y = malloc(y_count), *other = malloc(y_count);
    int8_t *w = malloc((size_t)(c->taps * c->k * c->columns));
    struct pack_shape shape = {PACK_S8, c->taps, c->k, c->columns};
    int8_t *packed = malloc(pack_size(&shape));
    float *scale = random_row((size_t)c->columns), *shift = random_row((size_t)c->columns);
    int32_t *bias = malloc((size_t)c->columns * 4);
    const void *as[MAX_TAPS], *ws[MAX_TAPS];
    for (int t = 0; t < c->taps; t++) {
        as[t] = a[t] = malloc(a_count); /* exact size: ASan sees every overrun */
        for (size_t i = 0; i < a_count; i++)
            a[t][i] = (uint8_t)next_random();
        ws[t] = packed + pack_offset(&shape, 0, t);
    }
    for (int i = 0; i < c->taps * c->k * c->columns; i++)
        w[i] = (int8_t)next_random();
    pack_weights(packed, &shape, &(struct pack_source){w, (int64_t)c->k * c->columns, c->columns, 1});
    for (int o = 0; o < c->columns; o++) {
        bias[o] = random_bias(o, 16);
        scale[o] = (fabsf(scale[o]) + 0.1f) / (float)(64 * c->k * c->taps);
        shift[o] *= 100;
    }
    for (size_t i = 0; i < y_count; i++)
        other[i] = (uint8_t)next_random();
    memset(y, 0x5a, y_count);
    struct gemm_quantized to = {
        .as = {scale, shift, c->is_signed, c->adds, c->sum_signed, c->other_signed, c->other_first,
               .zero = c->is_signed ? -7 : 117, .sum_zero = c->sum_signed ? -128 : 101,
               .factor = 0.37f, .other_factor = 0.81f, .offset = -50.25f},
        .bias = c->with_bias ? bias : NULL,
        .y = y,
        .other = c->adds ? other : NULL,
        .y_pitch = y_pitch,
        .other_pitch = y_pitch,
        .a_band = a_band,
        .y_band = y_band,
        .other_band = y_band,
        .width = c->width};
    struct gemm_block g = {.a = as,
                           .w = ws,
                           .count = c->taps,
                           .rows = c->bands * c->width,
                           .columns = c->columns,
                           .k = c->k,
                           .w_pitch = width,
                           .a_pitch = pitch,
                           .quantized = &to};
    table->gemm_u8s8(&g);
    compare_quantized(c, &g, w, y_count);
    for (int t = 0; t < c->taps; t++)
        free(a[t]);
    free(y), free(other), free(w), free(packed), free(scale), free(shift), free(bias);
}

static void test_quantized(void **state)
{
    static const int rows[][2] = {{1, 1}, {1, 7}, {3, 5}, {2, 14}, {5, 1}, {3, 16}, {2, 21}, {1, 45}},
                     columns[] = {1, 8, 16, 17, 33, 40, 63, 64}, ks[] = {1, 3, 21, 64, 130};
    int i = 0;
    for (int r = 0; r < 8; r++)
        for (int o = 0; o < 8; o++)
            for (int k = 0; k < 5; k++, i++) {
                struct quantized_case c = {rows[r][0],  rows[r][1],   columns[o],      ks[k],
                                           1 + i % 3,   i % 2 == 0,   i % 5 < 3,    i % 7 < 3,
                                           i % 11 < 5,  i % 3 == 0,   i % 13 < 8};
                check_quantized(&c);
            }
}

/* ---- pooling of bytes ---- */

static void check_pool(size_t channels, size_t count, bool is_signed)
{
    enum { LIMIT = 9 };
    uint8_t *rows[LIMIT], *y = malloc(channels);
    for (size_t t = 0; t < count; t++) {
        rows[t] = malloc(channels); /* exact size: ASan sees every overrun */
        for (size_t c = 0; c < channels; c++)
            rows[t][c] = (uint8_t)next_random();
    }
    table->pool_max_bytes(y, (const uint8_t *const *)rows, count, channels, is_signed);
    for (size_t c = 0; c < channels; c++) {
        int e = -1000;
        for (size_t t = 0; t < count; t++) {
            int x = is_signed ? (int8_t)rows[t][c] : rows[t][c];
            e = x > e ? x : e;
        }
        assert_int_equal(is_signed ? (int8_t)y[c] : y[c], e);
    }
    for (size_t t = 0; t < count; t++)
        free(rows[t]);
    free(y);
}

static void test_pool(void **state)
{
    for (size_t channels = 1; channels < 200; channels += 1 + channels / 9)
        for (size_t count = 1; count <= 9; count += 4)
            for (int is_signed = 0; is_signed < 2; is_signed++)
                check_pool(channels, count, is_signed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_affine),
                                       cmocka_unit_test(test_depthwise_integer),
                                       cmocka_unit_test(test_quantized),
                                       cmocka_unit_test(test_pool)};
    return run_variants(tests, sizeof tests / sizeof tests[0]);
}
