/*
 * The kernels of quantised data in every variant this CPU can run, against scalar references.
 */
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
                            .zero = to == TILE_F32 ? 0 : 7,
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
            double whole = isnan(e) ? 0 : fmin(fmax(nearbyint(e) + t.zero, low), high);
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

/* ---- depthwise convolution ---- */

static void check_depthwise(int kernel_h, int kernel_w, int stride, int dilation, int width,
                            int channels, bool with_bias)
{
    enum { GAP = 3, ZERO = 117, MOST = 8 };
    int pad = kernel_w / 2 * dilation, places = kernel_h * kernel_w;
    int outs = (width + 2 * pad - ((kernel_w - 1) * dilation + 1)) / stride + 1;
    if (outs < 1)
        return;
    size_t n = (size_t)(width * channels), pairs = (size_t)(places + 1) / 2,
           pitch = (size_t)(channels + GAP);
    uint8_t *x[MOST], *outside = malloc((size_t)channels);
    const uint8_t *rows[MOST];
    int16_t *w = calloc(pairs * (size_t)channels * 2, sizeof *w);
    int32_t *bias = malloc((size_t)channels * 4), *y = malloc((size_t)outs * pitch * 4);
    memset(outside, ZERO, (size_t)channels);
    memset(y, 0x5a, (size_t)outs * pitch * 4);
    for (int i = 0; i < kernel_h; i++) {
        x[i] = malloc(n); /* exact size: ASan sees every overrun */
        for (size_t k = 0; k < n; k++)
            x[i][k] = next_random() % 8 ? (uint8_t)next_random() : 255;
        rows[i] = i == 0 && kernel_h > 1 ? NULL : x[i];
    }
    for (int c = 0; c < channels; c++) {
        bias[c] = (int32_t)next_random() >> 12;
        for (int k = 0; k < places; k++)
            w[((size_t)(k / 2 * channels + c)) * 2 + (size_t)(k % 2)] =
                next_random() % 8 ? (int8_t)next_random() : -128;
    }
    struct depthwise_integer_row d = {rows,
                                      channels,
                                      width,
                                      kernel_h,
                                      kernel_w,
                                      stride,
                                      dilation,
                                      pad,
                                      channels,
                                      outs,
                                      outside,
                                      w,
                                      with_bias ? bias : NULL,
                                      y,
                                      (ptrdiff_t)pitch};
    table->depthwise_integer(&d);
    for (int j = 0; j < outs; j++)
        for (int c = 0; c < (int)pitch; c++) {
            int32_t got = y[(size_t)j * pitch + (size_t)c],
                    e = with_bias && c < channels ? bias[c] : 0;
            if (c >= channels) {
                assert_int_equal(got, 0x5a5a5a5a);
                continue;
            }
            for (int k = 0; k < places; k++) {
                int at = j * stride - pad + k % kernel_w * dilation, row = k / kernel_w;
                bool inside = rows[row] && at >= 0 && at < width;
                e += (inside ? x[row][at * channels + c] : ZERO) *
                     w[((size_t)(k / 2 * channels + c)) * 2 + (size_t)(k % 2)];
            }
            assert_int_equal(got, e);
        }
    for (int i = 0; i < kernel_h; i++)
        free(x[i]);
    free(outside), free(w), free(bias), free(y);
}

static void test_depthwise_integer(void **state)
{
    static const int kernels[][2] = {{3, 3}, {5, 5}, {1, 3}, {3, 1}, {2, 2}, {1, 1}, {7, 7}};
    static const int channels[] = {1, 4, 15, 16, 17, 40, 64, 70};
    int i = 0;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (size_t c = 0; c < sizeof channels / sizeof *channels; c++)
            for (int stride = 1; stride <= 2; stride++, i++)
                check_depthwise(kernels[k][0], kernels[k][1], stride, 1 + i % 5 / 4,
                                i % 7 == 0 ? 70 : 9, channels[c], i % 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_affine),
                                       cmocka_unit_test(test_depthwise_integer)};
    return run_variants(tests, sizeof tests / sizeof tests[0]);
}
