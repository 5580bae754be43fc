/*
 * Operators that look at windows of an image and have a quick way of their own, against their definitions: pools that
 * say where the greatest element is, convolutions whose taps are moved.
 */
#include "test/unit/op_test.h"

#include <math.h>
#include <stdlib.h>

static uint32_t seed;

static double uniform(double low, double high)
{
    seed = seed * 1664525u + 1013904223u;
    return low + (high - low) * (double)(seed >> 8) / (1 << 24);
}

static void set_ints(struct op_test *t, const char *name, int n, const int64_t *v)
{
    attr_set_ints(&t->arena, &t->attrs, name, v, n);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* ---- max_pool ---- */

struct pool_case {
    int64_t images, channels, high, wide, kernel[2], strides[2], dilations[2], pads[4];
    bool channels_last, columns; /* columns: indices count them first */
};

static const struct pool_case pools[] = {
    {2, 3, 8, 8, {2, 2}, {2, 2}, {1, 1}, {0}, false, false},
    {1, 2, 19, 23, {3, 3}, {2, 1}, {1, 1}, {1, 1, 1, 1}, false, false}, /* more places than a panel */
    {1, 5, 7, 9, {2, 3}, {1, 2}, {2, 1}, {0, 1, 1, 2}, true, false},
    {2, 1, 6, 11, {3, 2}, {1, 3}, {1, 2}, {2, 0, 0, 1}, false, true},
    {1, 1, 3, 1, {1, 1}, {1, 1}, {1, 1}, {0}, true, true},
};

/* With many equal elements, NaN and infinities, so that the first of equals counts. */
static double pool_element(void)
{
    double x = floor(uniform(-8, 12));
    return x == 11 ? NAN : x == 10 ? INFINITY : x < -4 ? -INFINITY : x;
}

static void check_pool(const struct pool_case *k, int dtype)
{
    struct op_test t;
    memset(&t, 0, sizeof t);
    op_test_clear(&t);
    int64_t n = k->images * k->channels * k->high * k->wide, plane = k->high * k->wide, dims[4], out[2];
    double *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = pool_element();
    memcpy(dims,
           k->channels_last ? (int64_t[]){k->images, k->high, k->wide, k->channels}
                            : (int64_t[]){k->images, k->channels, k->high, k->wide},
           sizeof dims);
    op_test_in(&t, dtype, 4, dims, x);
    set_ints(&t, "kernel_shape", 2, k->kernel);
    set_ints(&t, "strides", 2, k->strides);
    set_ints(&t, "dilations", 2, k->dilations);
    set_ints(&t, "pads", 4, k->pads);
    attr_set_int(&t.arena, &t.attrs, "channels_last", k->channels_last);
    attr_set_int(&t.arena, &t.attrs, "storage_order", k->columns);
    if (!op_test_run(&t, OP_max_pool, 2))
        fail_msg("%s", t.d.text);
    for (int d = 0; d < 2; d++)
        out[d] = t.out[0].dims[d + (k->channels_last ? 1 : 2)];
    int64_t pixel = k->channels_last ? k->channels : 1, count = k->images * k->channels * out[0] * out[1];
    assert_int_equal(tensor_count(&t.out[0]), count);
    for (int64_t i = 0; i < count; i++) {
        int64_t image = i / (k->channels * out[0] * out[1]), channel = i / (out[0] * out[1]) % k->channels,
                row = i / out[1] % out[0], column = i % out[1], where = -1;
        const double *from = x + image * k->channels * plane + channel * (k->channels_last ? 1 : plane);
        double best = -INFINITY;
        for (int64_t a = 0; a < k->kernel[0] * k->kernel[1]; a++) {
            int64_t y = row * k->strides[0] - k->pads[0] + a / k->kernel[1] * k->dilations[0],
                    z = column * k->strides[1] - k->pads[1] + a % k->kernel[1] * k->dilations[1];
            if (y < 0 || y >= k->high || z < 0 || z >= k->wide)
                continue;
            double v = from[(y * k->wide + z) * pixel];
            if (where < 0 || v > best || (isnan(v) && !isnan(best))) {
                best = v;
                where = (image * k->channels + channel) * plane + (k->columns ? z * k->high + y : y * k->wide + z);
            }
        }
        int64_t at = k->channels_last ? ((image * out[0] + row) * out[1] + column) * k->channels + channel : i;
        if (!same(tensor_f64(&t.out[0], at), best) || tensor_i64(&t.out[1], at) != where)
            fail_msg("%s, pool %d, place %lld: %g at %lld, expected %g at %lld", dtype_name(dtype), (int)(k - pools),
                     (long long)i, tensor_f64(&t.out[0], at), (long long)tensor_i64(&t.out[1], at), best,
                     (long long)where);
    }
    op_test_clear(&t);
    free(x);
}

static void test_max_pool(void **state)
{
    static const int dtypes[] = {DT_F32, DT_F64, DT_F16, DT_BF16};
    seed = 1;
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            check_pool(&pools[i], dtypes[d]);
}

/* ---- deform_conv ---- */

struct deform_case {
    int64_t images, channels, high, wide, out_channels, group, offset_group;
    int64_t kernel[2], strides[2], dilations[2], pads[4];
    bool mask, bias;
};

static const struct deform_case deforms[] = {
    {1, 4, 9, 11, 5, 1, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, false, false},
    {2, 6, 7, 8, 4, 2, 2, {2, 3}, {2, 1}, {1, 2}, {0, 1, 2, 1}, true, true},
    {1, 3, 5, 6, 2, 1, 3, {1, 2}, {1, 2}, {1, 1}, {0}, true, false},
    {1, 5, 1, 1, 1, 1, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, false, true},
};

/* The image at a point between its pixels; 0 outside. */
static double between(const double *x, int64_t high, int64_t wide, double y, double z)
{
    double sum = 0;
    if (!(y > -1 && y < (double)high && z > -1 && z < (double)wide))
        return 0;
    for (int64_t i = 0; i < high; i++)
        for (int64_t j = 0; j < wide; j++) {
            double a = fabs(y - (double)i), b = fabs(z - (double)j);
            if (a < 1 && b < 1)
                sum += (1 - a) * (1 - b) * x[i * wide + j];
        }
    return sum;
}

/* Numbers as the type holds them. */
static double *operand(struct op_test *t, int dtype, size_t rank, const int64_t *dims, double low, double high)
{
    int64_t n = 1;
    for (size_t i = 0; i < rank; i++)
        n *= dims[i];
    double *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = uniform(low, high);
    const struct tensor *made = op_test_in(t, dtype, rank, dims, x);
    for (int64_t i = 0; i < n; i++)
        x[i] = tensor_f64(made, i);
    return x;
}

static void check_deform(const struct deform_case *k, int dtype, double tolerance)
{
    struct op_test t;
    memset(&t, 0, sizeof t);
    op_test_clear(&t);
    const int64_t taps = k->kernel[0] * k->kernel[1], in[2] = {k->high, k->wide}, per_group = k->channels / k->group;
    int64_t out[2];
    for (int d = 0; d < 2; d++)
        out[d] = (in[d] + k->pads[d] + k->pads[d + 2] - (k->kernel[d] - 1) * k->dilations[d] - 1) / k->strides[d] + 1;
    const int64_t places = out[0] * out[1], moves = 2 * k->offset_group * taps;
    double *x = operand(&t, dtype, DIMS(k->images, k->channels, k->high, k->wide), -1, 1);
    double *w = operand(&t, dtype, DIMS(k->out_channels, per_group, k->kernel[0], k->kernel[1]), -1, 1);
    double *offset = operand(&t, dtype, DIMS(k->images, moves, out[0], out[1]), -3, 3);
    double *bias = operand(&t, dtype, DIMS(k->out_channels), -1, 1);
    double *mask = operand(&t, dtype, DIMS(k->images, moves / 2, out[0], out[1]), 0, 1);
    dtype_store_f64(dtype, t.in[2].data, 0, NAN); /* a tap that is nowhere */
    offset[0] = NAN;
    dtype_store_f64(dtype, t.in[2].data, (size_t)places, 1); /* one that is on a pixel */
    offset[places] = 1;
    if (!k->bias)
        tensor_free(&t.in[3]), t.in[3].kind = VK_NONE;
    if (!k->mask)
        tensor_free(&t.in[4]), t.in[4].kind = VK_NONE;
    set_ints(&t, "strides", 2, k->strides);
    set_ints(&t, "dilations", 2, k->dilations);
    set_ints(&t, "pads", 4, k->pads);
    attr_set_int(&t.arena, &t.attrs, "group", k->group);
    attr_set_int(&t.arena, &t.attrs, "offset_group", k->offset_group);
    if (!op_test_run(&t, OP_deform_conv, 1))
        fail_msg("%s", t.d.text);
    assert_int_equal(tensor_count(&t.out[0]), k->images * k->out_channels * places);
    for (int64_t i = 0; i < k->images * k->out_channels * places; i++) {
        int64_t image = i / (k->out_channels * places), m = i / places % k->out_channels, p = i % places;
        double sum = k->bias ? bias[m] : 0;
        for (int64_t c = 0; c < per_group; c++)
            for (int64_t a = 0; a < taps; a++) {
                int64_t channel = m / (k->out_channels / k->group) * per_group + c,
                        moved = (image * k->offset_group + channel / (k->channels / k->offset_group)) * taps + a;
                double y = (double)(p / out[1] * k->strides[0] - k->pads[0] + a / k->kernel[1] * k->dilations[0]),
                       z = (double)(p % out[1] * k->strides[1] - k->pads[1] + a % k->kernel[1] * k->dilations[1]);
                sum += w[(m * per_group + c) * taps + a] * (k->mask ? mask[moved * places + p] : 1) *
                       between(x + (image * k->channels + channel) * k->high * k->wide, k->high, k->wide,
                               y + offset[2 * moved * places + p], z + offset[(2 * moved + 1) * places + p]);
            }
        if (!(fabs(tensor_f64(&t.out[0], i) - sum) <= tolerance * (1 + fabs(sum))))
            fail_msg("%s, convolution %d, element %lld: %.9g, expected %.9g", dtype_name(dtype), (int)(k - deforms),
                     (long long)i, tensor_f64(&t.out[0], i), sum);
    }
    free(x), free(w), free(offset), free(bias), free(mask);
    op_test_clear(&t);
}

static void test_deform(void **state)
{
    seed = 2;
    for (size_t i = 0; i < sizeof deforms / sizeof *deforms; i++) {
        check_deform(&deforms[i], DT_F64, 1e-12);
        check_deform(&deforms[i], DT_F32, 1e-6);
        check_deform(&deforms[i], DT_F16, 1e-3);
        check_deform(&deforms[i], DT_BF16, 1e-2);
    }
}

/* ---- select_and_scatter ---- */

static double rounded_to(int dtype, double x)
{
    uint64_t memory = 0;
    dtype_store_f64(dtype, &memory, 0, x);
    return dtype_load_f64(dtype, &memory, 0);
}

/* Windows of 3 x 2, two rows apart and one column, over 9 x 7 pixels of some channels: sums where windows share an
 * element are rounded one after the other. */
static void check_scatter(int dtype, int64_t channels)
{
    enum { HIGH = 9, WIDE = 7, ROWS = 4, COLUMNS = 6, IMAGES = 2 };
    static const char *const selects[] = {"ge", "gt", "le", "lt"};
    for (int s = 0; s < 4; s++) {
        struct op_test t;
        memset(&t, 0, sizeof t);
        op_test_clear(&t);
        int64_t n = IMAGES * HIGH * WIDE * channels, windows = IMAGES * ROWS * COLUMNS * channels;
        double *x = malloc((size_t)n * sizeof *x), *want = malloc((size_t)n * sizeof *want);
        double *source = malloc((size_t)windows * sizeof *source);
        const double first = rounded_to(dtype, 0.1);
        for (int64_t i = 0; i < n; i++)
            x[i] = floor(uniform(-6, 6)), want[i] = first;
        x[5] = INFINITY, x[n - 1] = -INFINITY, x[n / 2] = NAN;
        for (int64_t i = 0; i < windows; i++)
            source[i] = rounded_to(dtype, uniform(-1, 1));
        op_test_in(&t, dtype, DIMS(IMAGES, HIGH, WIDE, channels), x);
        op_test_in(&t, dtype, DIMS(IMAGES, ROWS, COLUMNS, channels), source);
        op_test_in(&t, dtype, SCALAR, &first);
        set_ints(&t, "size", 4, (int64_t[]){1, 3, 2, 1});
        set_ints(&t, "strides", 4, (int64_t[]){1, 2, 1, 1});
        attr_set_str(&t.arena, &t.attrs, "select", selects[s]);
        attr_set_str(&t.arena, &t.attrs, "combine", "add");
        if (!op_test_run(&t, OP_select_and_scatter, 1))
            fail_msg("%s", t.d.text);
        for (int64_t i = 0; i < windows; i++) {
            int64_t c = i % channels, column = i / channels % COLUMNS, row = i / channels / COLUMNS % ROWS,
                    image = i / channels / COLUMNS / ROWS, kept = -1;
            for (int64_t tap = 0; tap < 6; tap++) {
                int64_t at = ((image * HIGH + row * 2 + tap / 2) * WIDE + column + tap % 2) * channels + c;
                double a = kept < 0 ? 0 : x[kept], b = x[at];
                bool stays = kept >= 0 && (s == 0 ? a >= b : s == 1 ? a > b : s == 2 ? a <= b : a < b);
                kept = stays ? kept : at;
            }
            want[kept] = rounded_to(dtype, want[kept] + source[i]);
        }
        for (int64_t i = 0; i < n; i++)
            if (tensor_f64(&t.out[0], i) != (dtype == DT_F64 ? want[i] : rounded_to(dtype, want[i])))
                fail_msg("%s, %lld channels, %s, element %lld: %.9g, expected %.9g", dtype_name(dtype),
                         (long long)channels, selects[s], (long long)i, tensor_f64(&t.out[0], i), want[i]);
        free(x), free(want), free(source);
        op_test_clear(&t);
    }
}

static void test_scatter(void **state)
{
    static const int dtypes[] = {DT_F32, DT_F64, DT_F16, DT_BF16};
    seed = 3;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        for (int64_t channels = 1; channels <= 21; channels += 4)
            check_scatter(dtypes[i], channels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_max_pool), cmocka_unit_test(test_deform),
                                       cmocka_unit_test(test_scatter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
