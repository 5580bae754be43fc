/*
 * Kernels that look at windows of images, of every variant this CPU can run, against scalar
 * references in double: pools, resizing, depthwise convolutions, those of planes.
 */
#include "test/unit/activation_reference.h"
#include "test/unit/kernel_test.h"

static double epilogue_reference(const struct channel_epilogue *e, double x, int channel)
{
    if (e->bias)
        x += e->bias[channel];
    return activation_cases[e->activation].reference(x, e->p);
}

static void test_pool(void **state)
{
    for (size_t n = 1; n < 50; n++) {
        enum { TAPS = 7 };
        float *rows[TAPS], *y = random_row(n);
        for (int t = 0; t < TAPS; t++)
            rows[t] = random_row(n);
        for (int sum = 0; sum < 2; sum++) {
            if (sum)
                table->pool_sum(y, (const float *const *)rows, TAPS, n, 1.0f / TAPS);
            else
                table->pool_max(y, (const float *const *)rows, TAPS, n);
            for (size_t c = 0; c < n; c++) {
                double e = sum ? 0 : -INFINITY;
                for (int t = 0; t < TAPS; t++)
                    e = sum ? e + rows[t][c] / (double)TAPS : fmax(e, rows[t][c]);
                assert_true(fabs(y[c] - e) <= (sum ? 1e-6 : 0));
            }
        }
        for (int t = 0; t < TAPS; t++)
            free(rows[t]);
        free(y);
    }
}

/* Pixels between neighbours that are one or several elements apart, from one row or two. */
static void check_resize(size_t pixels, size_t channels, int apart, bool both)
{
    size_t width = pixels * (size_t)apart / 2 + 2;
    float *rows[2] = {random_row(width * channels), random_row(width * channels)};
    float *weight[2] = {random_row(pixels), random_row(pixels)}, *y = random_row(pixels * channels);
    float *work = random_row(width), wa = both ? 0.75f : 1, wb = both ? 0.25f : 0;
    int32_t *at[2] = {malloc(4 * pixels), malloc(4 * pixels)};
    for (size_t i = 0; i < pixels; i++) {
        at[0][i] = (int32_t)(i * (size_t)apart / 2 * channels);
        at[1][i] = at[0][i] + (int32_t)(i % 3 ? channels : 0);
    }
    table->resize_linear(&(struct resize_row){.rows = {rows[0], rows[1]},
                                              .weight = {wa, wb},
                                              .at = {at[0], at[1]},
                                              .column_weight = {weight[0], weight[1]},
                                              .width = width * channels,
                                              .pixels = pixels,
                                              .channels = channels,
                                              .y = y,
                                              .y_step = (ptrdiff_t)channels,
                                              .work = work});
    for (size_t i = 0; i < pixels * channels; i++) {
        double e = 0, scale = 0;
        for (int t = 0; t < 4; t++) {
            double w = (double)(t / 2 ? wb : wa) * weight[t % 2][i / channels];
            double x = rows[t / 2][at[t % 2][i / channels] + (int32_t)(i % channels)];
            e += w * x, scale += fabs(w * x);
        }
        assert_true(fabs(y[i] - e) <= 5e-7 * scale);
    }
    for (int t = 0; t < 2; t++)
        free(rows[t]), free(weight[t]), free(at[t]);
    free(y), free(work);
}

static void test_resize(void **state)
{
    for (size_t pixels = 1; pixels < 80; pixels += pixels < 36 ? 1 : 7)
        for (int apart = 0; apart < 7; apart++)
            for (size_t channels = 1; channels < 40; channels += channels < 3 ? 1 : 17)
                for (int both = 0; both < 2; both++)
                    check_resize(pixels, channels, apart, both);
}

/* A convolution of planes of which the window of some results sees places outside. Elements beside the results stay. */
static void check_plane_conv(struct plane_conv p, const float *bias)
{
    enum { KEPT = 77 };
    size_t places = (size_t)(p.planes * p.kernel_h * p.kernel_w);
    int64_t pitch = plane_conv_pitch(p.kernel_w, p.stride_w, p.dilation_w, (int64_t)p.pixels),
            seen = plane_conv_rows(p.kernel_h, p.stride_h, p.dilation_h, (int64_t)p.rows);
    p.x_pitch = p.width + 1, p.x_plane = p.x_pitch * p.height, p.y_pitch = (ptrdiff_t)p.pixels + 1;
    p.y_plane = p.y_pitch * (ptrdiff_t)p.rows;
    const size_t results = p.groups * p.results, elements = (size_t)p.y_plane * results;
    float *x = random_row(p.groups * (size_t)(p.planes * p.x_plane)), *w = random_row(places * results),
          *y = random_row(elements),
          *work = random_row((size_t)plane_conv_work(p.planes, seen, pitch));
    for (size_t i = 0; i < elements; i++)
        y[i] = KEPT;
    p.x = x, p.y = y, p.work = work, p.weights = w, p.epilogue.bias = bias;
    table->plane_conv(&p);
    for (size_t i = 0; i < elements; i++) {
        size_t o = i / (size_t)p.y_plane, row = i % (size_t)p.y_plane / (size_t)p.y_pitch, at = i % (size_t)p.y_pitch;
        if (at == p.pixels) {
            assert_true(y[i] == KEPT);
            continue;
        }
        const float *of_group = x + o / p.results * (size_t)(p.planes * p.x_plane);
        double e = bias ? bias[o] : 0, scale = fabs(e);
        for (size_t k = 0; k < places; k++) {
            int64_t s = (int64_t)k % p.kernel_w, t = (int64_t)k / p.kernel_w % p.kernel_h,
                    plane = (int64_t)k / p.kernel_w / p.kernel_h;
            int64_t r = p.row + (int64_t)row * p.stride_h + t * p.dilation_h,
                    c = p.column + (int64_t)at * p.stride_w + s * p.dilation_w;
            if (r < 0 || r >= p.height || c < 0 || c >= p.width)
                continue;
            double v = (double)of_group[plane * p.x_plane + r * p.x_pitch + c] * w[o * places + k];
            e += v, scale += fabs(v);
        }
        double f = p.epilogue.activation == ACTIVATION_relu ? fmax(e, 0)
                   : p.epilogue.activation == ACTIVATION_sigmoid ? 1 / (1 + exp(-e)) : e;
        assert_true(fabs(y[i] - f) <= 1e-6 * (scale + 1));
    }
    free(x), free(y), free(w), free(work);
}

/* 4096 times 0.1: one sum of that many would be 4e-5 off. */
static void test_plane_conv_sums(void **state)
{
    enum { KERNEL = 1024, PLANES = 4, PIXELS = 40, WIDTH = KERNEL + PIXELS - 1, RESULTS = 3 };
    size_t work_size = (size_t)plane_conv_work(PLANES, 1, plane_conv_pitch(KERNEL, 1, 1, PIXELS));
    float *x = random_row(PLANES * WIDTH), *w = random_row(RESULTS * PLANES * KERNEL), *work = random_row(work_size),
          y[RESULTS * PIXELS];
    for (int i = 0; i < PLANES * WIDTH; i++)
        x[i] = 0.1f;
    for (int i = 0; i < RESULTS * PLANES * KERNEL; i++)
        w[i] = 1;
    for (size_t results = 1; results <= RESULTS; results += RESULTS - 1) { /* both forms */
        table->plane_conv(&(struct plane_conv){.x = x,
                                               .x_plane = WIDTH,
                                               .height = 1,
                                               .width = WIDTH,
                                               .planes = PLANES,
                                               .kernel_h = 1,
                                               .kernel_w = KERNEL,
                                               .stride_h = 1,
                                               .stride_w = 1,
                                               .dilation_h = 1,
                                               .dilation_w = 1,
                                               .groups = 1,
                                               .results = results,
                                               .rows = 1,
                                               .pixels = PIXELS,
                                               .weights = w,
                                               .y = y,
                                               .y_plane = PIXELS,
                                               .work = work});
        for (size_t i = 0; i < results * PIXELS; i++)
            assert_true(fabs(y[i] - PLANES * KERNEL * (double)0.1f) <= 2e-6 * PLANES * KERNEL * 0.1);
    }
    free(x), free(w), free(work);
}

static void test_plane_conv(void **state)
{
    static const enum kernel_activation f[] = {ACTIVATION_copy, ACTIVATION_relu, ACTIVATION_sigmoid};
    float bias[3 * 7];
    for (int i = 0; i < 3 * 7; i++)
        bias[i] = (float)(i % 5) / 2 - 1;
    for (int width = 1; width < 70; width += width < 36 ? 1 : 5)
        for (int stride = 1; stride < 7; stride++)
            for (int form = 0; form < 16; form++) {
                int kernel = 1 + form % 3, dilation = 1 + form / 12, pad = form % 3 / 2;
                int64_t pixels = (width + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
                if (width + 2 * pad < (kernel - 1) * dilation + 1)
                    continue;
                check_plane_conv((struct plane_conv){.height = 1 + form % 5,
                                                     .width = width,
                                                     .row = -(form % 3),
                                                     .column = -pad,
                                                     .planes = 1 + form % 2,
                                                     .kernel_h = 1 + form % 4,
                                                     .kernel_w = kernel,
                                                     .stride_h = 1 + form % 3,
                                                     .stride_w = stride,
                                                     .dilation_h = 1 + form / 8,
                                                     .dilation_w = dilation,
                                                     .groups = (size_t)(1 + width % 3),
                                                     .results = (size_t)(1 + (form + width) % 7),
                                                     .rows = (size_t)(1 + form % 6),
                                                     .pixels = (size_t)pixels,
                                                     .epilogue = {.activation = f[form % 3]}},
                                 form % 4 ? bias : NULL);
            }
}

/* Windows over a picture of one channel, some of whose rows and columns are outside. */
static void check_pool_plane(struct pool_plane p, size_t pixels)
{
    int64_t pitch = pool_work_pitch((int64_t)p.width, p.kernel_w, p.stride_w, p.dilation_w, p.pad, (int64_t)pixels);
    float *x = random_row((p.height - 1) * (size_t)p.x_pitch + p.width), *counts = random_row(pixels),
          *y = random_row(p.rows * pixels), *work = random_row((size_t)pitch * (p.work_rows + 1));
    for (size_t k = 0; k < pixels; k++)
        counts[k] = (float)(1 + k % 3);
    p.x = x, p.y = y, p.work = work, p.counts = counts;
    p.work_pitch = (size_t)pitch, p.pixels = pixels, p.y_pitch = (ptrdiff_t)pixels;
    table->pool_plane(&p);
    for (size_t row = 0; row < p.rows; row++)
        for (size_t k = 0; k < pixels; k++) {
            double e = p.max ? -INFINITY : 0;
            int seen = 0;
            for (int r = 0; r < p.kernel_h; r++) {
                ptrdiff_t line = p.first + (ptrdiff_t)row * p.stride_h + r * p.dilation_h;
                bool inside = line >= 0 && line < (ptrdiff_t)p.height;
                seen += inside;
                for (int t = 0; inside && t < p.kernel_w; t++) {
                    ptrdiff_t at = (ptrdiff_t)k * p.stride_w - p.pad + t * p.dilation_w;
                    float v = at >= 0 && at < (ptrdiff_t)p.width ? x[line * p.x_pitch + at] : p.max ? -INFINITY : 0;
                    e = p.max ? fmax(e, v) : e + v;
                }
            }
            e /= p.max ? 1 : (double)counts[k] * (p.count_pad ? p.kernel_h : seen > 0 ? seen : 1);
            assert_true(y[row * pixels + k] == e || fabs(y[row * pixels + k] - e) <= 1e-5);
        }
    free(x), free(y), free(counts), free(work);
}

static void test_pool_plane(void **state)
{
    for (int width = 1; width < 70; width += width < 36 ? 1 : 5)
        for (int stride = 1; stride < POOL_STRIDE + 2; stride++)
            for (int form = 0; form < 16; form++) {
                int pad = form % 3 / 2;
                check_pool_plane((struct pool_plane){.x_pitch = width + form % 2,
                                                     .height = (size_t)(1 + form % 5),
                                                     .width = (size_t)width,
                                                     .first = -(form % 3),
                                                     .stride_h = 1 + form % 3,
                                                     .dilation_h = 1 + form / 12,
                                                     .kernel_h = 1 + form % 4,
                                                     .kernel_w = 1 + form % 3,
                                                     .stride_w = stride,
                                                     .dilation_w = 1 + form / 8,
                                                     .pad = pad,
                                                     .rows = 5,
                                                     .work_rows = (size_t)(1 + form % 6),
                                                     .max = form & 4,
                                                     .count_pad = form & 2},
                                 (size_t)((width + pad) / stride + 1));
            }
}

/* Rounded to bf16: the same bits as by a conversion of y. */
static void check_rounded_depthwise(struct depthwise_row d, const float *y, size_t count)
{
    uint16_t *z = malloc(count * 2 + 2), *expected = malloc(count * 2);
    z[count] = 0xabcd;
    d.out = z, d.out_bf16 = true;
    table->depthwise(&d);
    table->convert[CONVERT_bf16_from_f32](expected, 1, y, 1, count);
    assert_memory_equal(z, expected, count * 2);
    assert_int_equal(z[count], 0xabcd);
    free(z), free(expected);
}

static void check_depthwise(int height, int kernel, int stride, int dilation, int width,
                            int channels, bool bf16, enum kernel_activation activation)
{
    int pad = kernel / 2 * dilation, reach = (kernel - 1) * dilation + 1;
    int out_width = (width + 2 * pad - reach) / stride + 1;
    if (out_width < 1)
        return;
    size_t n = (size_t)width * (size_t)channels;
    int step = channels + channels % 3; /* between the weights of taps */
    float *x[16], *w = random_row((size_t)(height * kernel * step)),
                 *bias = random_row((size_t)channels);
    float *y = random_row((size_t)out_width * (size_t)channels);
    uint16_t *h[16];
    const void *rows[16];
    for (int i = 0; i < height; i++) {
        x[i] = random_row(n);
        h[i] = malloc(n * sizeof *h[i]);
        table->convert[CONVERT_bf16_from_f32](h[i], 1, x[i], 1, n);
        if (bf16)
            table->convert[CONVERT_bf16_round](x[i], 1, x[i], 1, n);
        rows[i] = i == 0 && height > 1 ? NULL : bf16 ? (const void *)h[i] : x[i];
    }
    struct depthwise_row d = {rows,
                              channels,
                              width,
                              height,
                              kernel,
                              stride,
                              dilation,
                              pad,
                              channels,
                              0,
                              out_width,
                              bf16,
                              w,
                              step,
                              y,
                              channels,
                              {bias, activation, {0.1f, 0.7f}},
                              false};
    table->depthwise(&d);
    for (int j = 0; j < out_width; j++)
        for (int c = 0; c < channels; c++) {
            double e = 0;
            for (int ky = 0; ky < height; ky++)
                for (int kx = 0; kx < kernel; kx++) {
                    int at = j * stride - pad + kx * dilation;
                    if (rows[ky] && at >= 0 && at < width)
                        e += (double)x[ky][at * channels + c] * w[(ky * kernel + kx) * step + c];
                }
            e = epilogue_reference(&d.epilogue, e, c);
            assert_true(fabs(y[j * channels + c] - e) <= 3e-5);
        }
    check_rounded_depthwise(d, y, (size_t)out_width * (size_t)channels);
    for (int i = 0; i < height; i++)
        free(x[i]), free(h[i]);
    free(w), free(bias), free(y);
}

static void test_depthwise(void **state)
{
    static const int channels[] = {1, 3, 16, 19, 33};
    static const enum kernel_activation activations[] = {
        ACTIVATION_copy, ACTIVATION_relu, ACTIVATION_clip, ACTIVATION_silu, ACTIVATION_hard_swish};
    int i = 0;
    for (int kernel = 1; kernel <= 7; kernel++)
        for (int stride = 1; stride <= 3; stride++)
            for (int dilation = 1; dilation <= 2; dilation++)
                for (int width = 1; width < 40; width += 4)
                    for (int bf16 = 0; bf16 < 2; bf16++, i++)
                        check_depthwise(kernel, kernel, stride, dilation, width, channels[i % 5],
                                        bf16, activations[i / 5 % 5]);
    for (int height = 1; height <= 7; height++) /* and channels that are many */
        for (int width = 6; width < 30; width += 7, i++)
            check_depthwise(height, 3 + height % 2 * 2, 1 + width % 2, 1, width,
                            height == 4 ? 2053 : 17, i % 2, activations[i % 5]);
    for (int kernel = 7; kernel <= 17; kernel++) /* wide ones, some of more than are listed */
        for (int width = 1; width < 40; width += 5, i++) {
            check_depthwise(1 + i % 3, kernel, 1, 1, width, channels[i % 5], i % 2, activations[i % 5]);
            check_depthwise(i % 16 + 1, 7, 1, 1, width, i % 8 ? 35 : 1030, i % 2, activations[i / 2 % 5]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_pool_plane),
        cmocka_unit_test(test_plane_conv),
        cmocka_unit_test(test_plane_conv_sums),
        cmocka_unit_test(test_depthwise),
    };
    return run_variants(tests, sizeof tests / sizeof tests[0]);
}
