#include "test/unit/op_test.h"

#include <math.h>

static void set_ints(struct op_test *t, const char *name, int n, const int64_t *v)
{
    attr_set_ints(&t->arena, &t->attrs, name, v, n);
}

static void want(struct op_test *t, int result, size_t rank, const int64_t *dims, const double *v)
{
    const struct tensor *y = &t->out[result];
    assert_int_equal(y->rank, (int)rank);
    for (size_t i = 0; i < rank; i++)
        assert_int_equal(y->dims[i], dims[i]);
    for (int64_t i = 0; i < tensor_count(y); i++)
        if (!(fabs(tensor_f64(y, i) - v[i]) <= 1e-5 * (1 + fabs(v[i]))))
            fail_msg("result %d element %d is %g, expected %g", result, (int)i, tensor_f64(y, i),
                     v[i]);
}

static void run(struct op_test *t, enum op op, int nout)
{
    if (!op_test_run(t, op, nout))
        fail_msg("%s", t->d.text);
}

/* Small numbers that look random and repeat. */
static double *noise(int n, int seed)
{
    static double v[4][4096];
    double *to = v[seed % 4];
    for (int i = 0; i < n; i++)
        to[i] = (double)((i * 37 + seed * 11 + i * i % 13) % 17 - 8) / 4;
    return to;
}

/* ---- products ---- */

static void test_matmul_ranks(void **state)
{
    struct op_test t = {0};
    op_test_clear(&t);
    op_test_in(&t, DT_F32, DIMS(3), (double[]){1, 2, 3});
    op_test_in(&t, DT_F32, DIMS(3), (double[]){4, 5, 6});
    run(&t, OP_matmul, 1);
    want(&t, 0, SCALAR, (double[]){32});

    op_test_clear(&t);
    op_test_in(&t, DT_I32, DIMS(2, 1, 2), (double[]){1, 2, 3, 4});
    op_test_in(&t, DT_I32, DIMS(2, 2), (double[]){1, 10, 100, 1000});
    run(&t, OP_matmul, 1);
    want(&t, 0, DIMS(2, 1, 2), (double[]){201, 2010, 403, 4030});

    op_test_clear(&t); /* transposed operands, broadcast batches, and scaling */
    op_test_in(&t, DT_F64, DIMS(2, 1, 2, 2), (double[]){1, 3, 2, 4, 0, 1, 1, 0});
    op_test_in(&t, DT_F64, DIMS(2, 1, 2), (double[]){1, 1, 2, 0});
    attr_set_int(&t.arena, &t.attrs, "trans_a", 1);
    attr_set_int(&t.arena, &t.attrs, "trans_b", 1);
    attr_set_float(&t.arena, &t.attrs, "alpha", 2);
    run(&t, OP_matmul, 1);
    want(&t, 0, DIMS(2, 2, 2, 1), (double[]){6, 14, 4, 12, 2, 2, 0, 4});

    op_test_clear(&t);
    op_test_in(&t, DT_F32, DIMS(2, 0), NULL);
    op_test_in(&t, DT_F32, DIMS(0, 3), NULL);
    run(&t, OP_matmul, 1);
    want(&t, 0, DIMS(2, 3), (double[6]){0});

    op_test_clear(&t);
    op_test_in(&t, DT_F32, DIMS(2, 3), noise(6, 0));
    op_test_in(&t, DT_F32, DIMS(2, 3), noise(6, 0));
    assert_false(op_test_run(&t, OP_matmul, 1));
    op_test_clear(&t);
}

static void test_matmul_complex(void **state)
{
    struct op_test t = {0};
    op_test_clear(&t);
    struct tensor *a = op_test_in(&t, DT_C64, DIMS(1, 1), (double[]){0});
    struct tensor *b = op_test_in(&t, DT_C64, DIMS(1, 1), (double[]){0});
    memcpy(a->data, (float[]){1, 2}, 8);
    memcpy(b->data, (float[]){3, -1}, 8);
    run(&t, OP_matmul, 1);
    assert_float_equal(((float *)t.out[0].data)[0], 5, 0);
    assert_float_equal(((float *)t.out[0].data)[1], 5, 0);
    op_test_clear(&t);
}

static void test_matmul_integer(void **state)
{
    struct op_test t = {0};
    op_test_clear(&t);
    op_test_in(&t, DT_U8, DIMS(2, 2), (double[]){255, 0, 1, 2});
    op_test_in(&t, DT_I8, DIMS(2, 2), (double[]){-128, 1, 127, 2});
    op_test_in(&t, DT_U8, DIMS(2), (double[]){255, 1}); /* of rows */
    op_test_in(&t, DT_I8, DIMS(2), (double[]){-1, 1});  /* of columns */
    run(&t, OP_matmul_integer, 1);
    want(&t, 0, DIMS(2, 2), (double[]){-255 * 128, -255, 128, 1});
    op_test_clear(&t);
}

/* ---- convolution against its definition, in both layouts ---- */

struct conv_case {
    int64_t n, c, h, w, m, kh, kw, group;
    int64_t strides[2], pads[4], dilations[2], lhs[2];
};

static const struct conv_case conv_cases[] = {
    {1, 1, 5, 5, 1, 3, 3, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}},
    {2, 4, 7, 9, 6, 3, 2, 2, {2, 1}, {1, 0, 2, 1}, {1, 2}, {1, 1}},
    {1, 6, 8, 8, 6, 3, 3, 6, {1, 2}, {1, 1, 1, 1}, {1, 1}, {1, 1}},
    {1, 2, 4, 5, 3, 3, 3, 1, {1, 1}, {2, 2, 2, 2}, {1, 1}, {2, 3}},
    {1, 2, 6, 6, 2, 2, 2, 1, {1, 1}, {-1, 0, 0, -2}, {1, 1}, {1, 1}},
    {1, 3, 11, 10, 5, 1, 1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}},
};

static double conv_at(const struct conv_case *k, const double *x, const double *weight, int64_t n,
                      int64_t m, int64_t oy, int64_t ox)
{
    int64_t per = k->c / k->group, g = m / (k->m / k->group);
    double sum = 0;
    for (int64_t c = 0; c < per; c++)
        for (int64_t i = 0; i < k->kh; i++)
            for (int64_t j = 0; j < k->kw; j++) {
                int64_t y = oy * k->strides[0] + i * k->dilations[0] - k->pads[0];
                int64_t xx = ox * k->strides[1] + j * k->dilations[1] - k->pads[1];
                if (y < 0 || xx < 0 || y % k->lhs[0] || xx % k->lhs[1])
                    continue;
                y /= k->lhs[0];
                xx /= k->lhs[1];
                if (y < k->h && xx < k->w)
                    sum += x[((n * k->c + g * per + c) * k->h + y) * k->w + xx] *
                           weight[((m * per + c) * k->kh + i) * k->kw + j];
            }
    return sum;
}

static void check_conv(const struct conv_case *k, bool last)
{
    struct op_test t = {0};
    double *x = noise((int)(k->n * k->c * k->h * k->w), 1), xl[4096];
    double *weight = noise((int)(k->m * k->c / k->group * k->kh * k->kw), 2);
    op_test_clear(&t);
    for (int64_t n = 0; n < k->n; n++)
        for (int64_t c = 0; c < k->c; c++)
            for (int64_t p = 0; p < k->h * k->w; p++)
                xl[(n * k->h * k->w + p) * k->c + c] = x[(n * k->c + c) * k->h * k->w + p];
    if (last)
        op_test_in(&t, DT_F32, DIMS(k->n, k->h, k->w, k->c), xl);
    else
        op_test_in(&t, DT_F32, DIMS(k->n, k->c, k->h, k->w), x);
    op_test_in(&t, DT_F32, DIMS(k->m, k->c / k->group, k->kh, k->kw), weight);
    attr_set_int(&t.arena, &t.attrs, "group", k->group);
    attr_set_int(&t.arena, &t.attrs, "channels_last", last);
    set_ints(&t, "strides", 2, k->strides);
    set_ints(&t, "pads", 4, k->pads);
    set_ints(&t, "dilations", 2, k->dilations);
    set_ints(&t, "lhs_dilation", 2, k->lhs);
    run(&t, OP_conv, 1);
    const struct tensor *y = &t.out[0];
    int64_t oh = y->dims[last ? 1 : 2], ow = y->dims[last ? 2 : 3];
    assert_int_equal(oh, ((k->h - 1) * k->lhs[0] + 1 + k->pads[0] + k->pads[2] -
                          (k->kh - 1) * k->dilations[0] - 1) /
                                 k->strides[0] +
                             1);
    for (int64_t n = 0; n < k->n; n++)
        for (int64_t m = 0; m < k->m; m++)
            for (int64_t i = 0; i < oh; i++)
                for (int64_t j = 0; j < ow; j++) {
                    int64_t at = last ? ((n * oh + i) * ow + j) * k->m + m
                                      : ((n * k->m + m) * oh + i) * ow + j;
                    assert_float_equal(tensor_f64(y, at), conv_at(k, x, weight, n, m, i, j), 1e-5);
                }
    op_test_clear(&t);
}

static void test_conv(void **state)
{
    for (size_t i = 0; i < sizeof conv_cases / sizeof *conv_cases; i++) {
        check_conv(&conv_cases[i], false);
        check_conv(&conv_cases[i], true);
    }
}

/* conv_transpose with stride s is conv with lhs_dilation s, the kernel turned and its channels
 * swapped. */
static void test_conv_transpose(void **state)
{
    struct op_test t = {0};
    double *x = noise(2 * 4 * 4, 1), *weight = noise(2 * 3 * 9, 2), turned[54], first[3 * 9 * 9];
    op_test_clear(&t);
    op_test_in(&t, DT_F64, DIMS(1, 2, 4, 4), x);
    op_test_in(&t, DT_F64, DIMS(2, 3, 3, 3), weight);
    set_ints(&t, "strides", 2, (int64_t[]){2, 2});
    run(&t, OP_conv_transpose, 1);
    assert_int_equal(tensor_count(&t.out[0]), 3 * 9 * 9);
    memcpy(first, t.out[0].data, sizeof first);
    for (int m = 0; m < 3; m++)
        for (int c = 0; c < 2; c++)
            for (int i = 0; i < 9; i++)
                turned[(m * 2 + c) * 9 + i] = weight[(c * 3 + m) * 9 + 8 - i];
    op_test_clear(&t);
    op_test_in(&t, DT_F64, DIMS(1, 2, 4, 4), x);
    op_test_in(&t, DT_F64, DIMS(3, 2, 3, 3), turned);
    set_ints(&t, "lhs_dilation", 2, (int64_t[]){2, 2});
    set_ints(&t, "pads", 4, (int64_t[]){2, 2, 2, 2});
    run(&t, OP_conv, 1);
    want(&t, 0, DIMS(1, 3, 9, 9), first);
    op_test_clear(&t);
}

/* ---- pools ---- */

static void test_max_pool_indices(void **state)
{
    struct op_test t = {0};
    double x[18];
    for (int i = 0; i < 18; i++)
        x[i] = i;
    op_test_clear(&t);
    op_test_in(&t, DT_F32, DIMS(1, 2, 3, 3), x);
    set_ints(&t, "kernel_shape", 2, (int64_t[]){2, 2});
    run(&t, OP_max_pool, 2);
    want(&t, 0, DIMS(1, 2, 2, 2), (double[]){4, 5, 7, 8, 13, 14, 16, 17});
    want(&t, 1, DIMS(1, 2, 2, 2), (double[]){4, 5, 7, 8, 13, 14, 16, 17});
    attr_set_int(&t.arena, &t.attrs, "storage_order", 1);
    run(&t, OP_max_pool, 2);
    want(&t, 1, DIMS(1, 2, 2, 2), (double[]){4, 7, 5, 8, 13, 16, 14, 17});
    op_test_clear(&t);
}

static void test_average_pool(void **state)
{
    struct op_test t = {0};
    op_test_clear(&t);
    op_test_in(&t, DT_F32, DIMS(1, 1, 4), (double[]){1, 2, 3, 4});
    set_ints(&t, "kernel_shape", 1, (int64_t[]){3});
    set_ints(&t, "strides", 1, (int64_t[]){2});
    set_ints(&t, "pads", 2, (int64_t[]){1, 0});
    attr_set_int(&t.arena, &t.attrs, "ceil_mode", 1);
    run(&t, OP_average_pool, 1);
    want(&t, 0, DIMS(1, 1, 2), (double[]){1.5, 3});
    attr_set_int(&t.arena, &t.attrs, "count_include_pad", 1);
    run(&t, OP_average_pool, 1);
    want(&t, 0, DIMS(1, 1, 2), (double[]){1, 3});
    set_ints(&t, "pads", 2, (int64_t[]){0, 0}); /* the last window goes past the end: 3, 4 */
    run(&t, OP_average_pool, 1);
    want(&t, 0, DIMS(1, 1, 2), (double[]){2, 3.5});
    op_test_clear(&t);
}

/* ---- normalisations ---- */

static void test_softmax(void **state)
{
    struct op_test t = {0};
    op_test_clear(&t);
    op_test_in(&t, DT_F16, DIMS(2, 2), (double[]){0, 60000, 0, 60000});
    attr_set_int(&t.arena, &t.attrs, "axis", 0);
    run(&t, OP_softmax, 1);
    want(&t, 0, DIMS(2, 2), (double[]){0.5, 0.5, 0.5, 0.5});
    run(&t, OP_hardmax, 1);
    want(&t, 0, DIMS(2, 2), (double[]){1, 1, 0, 0});
    op_test_clear(&t);
    op_test_in(&t, DT_F32, DIMS(0, 3), NULL);
    run(&t, OP_log_softmax, 1);
    assert_int_equal(t.out[0].dims[0], 0);
    op_test_clear(&t);
}

static void test_norms(void **state)
{
    struct op_test t = {0};
    double *x = noise(2 * 4 * 3, 3);
    op_test_clear(&t);
    op_test_in(&t, DT_F32, DIMS(1, 2, 2), (double[]){1, 3, 10, 30});
    op_test_in(&t, DT_F32, DIMS(2), (double[]){2, 1});
    op_test_in(&t, DT_F32, DIMS(2), (double[]){0, 5});
    attr_set_float(&t.arena, &t.attrs, "epsilon", 0);
    run(&t, OP_instance_norm, 1);
    want(&t, 0, DIMS(1, 2, 2), (double[]){-2, 2, 4, 6});
    attr_set_int(&t.arena, &t.attrs, "axis", 2);
    run(&t, OP_layer_norm, 3);
    want(&t, 0, DIMS(1, 2, 2), (double[]){-2, 6, -2, 6});
    want(&t, 1, DIMS(1, 2, 1), (double[]){2, 20});
    want(&t, 2, DIMS(1, 2, 1), (double[]){1, 0.1});
    op_test_clear(&t); /* as many groups as channels is instance_norm */
    double first[24];
    op_test_in(&t, DT_F64, DIMS(2, 4, 3), x);
    op_test_in(&t, DT_F64, DIMS(4), (double[]){1, 2, 3, 4});
    op_test_in(&t, DT_F64, DIMS(4), (double[]){4, 3, 2, 1});
    run(&t, OP_instance_norm, 1);
    memcpy(first, t.out[0].data, sizeof first);
    attr_set_int(&t.arena, &t.attrs, "num_groups", 4);
    run(&t, OP_group_norm, 1);
    want(&t, 0, DIMS(2, 4, 3), first);
    op_test_clear(&t);
}

/* Channels without elements: nothing is read or written. */
static void test_empty_batch_norm(void **state)
{
    enum { CHANNELS = 1 << 17 };
    static const double zeros[CHANNELS];
    struct op_test t = {0};
    op_test_clear(&t);
    op_test_in(&t, DT_F32, DIMS(3, CHANNELS, 0), NULL);
    for (int i = 1; i < 5; i++)
        op_test_in(&t, DT_F32, DIMS(CHANNELS), zeros);
    run(&t, OP_batch_norm, 1);
    want(&t, 0, DIMS(3, CHANNELS, 0), NULL);
    op_test_clear(&t);
}

/* sdpa is what its formula says, one query at a time. */
static void test_sdpa(void **state)
{
    struct op_test t = {0};
    op_test_clear(&t);
    op_test_in(&t, DT_F64, DIMS(1, 2, 1), (double[]){1, 2});
    op_test_in(&t, DT_F64, DIMS(1, 2, 1), (double[]){0, 1});
    op_test_in(&t, DT_F64, DIMS(1, 2, 1), (double[]){10, 20});
    attr_set_float(&t.arena, &t.attrs, "scale", 1);
    run(&t, OP_sdpa, 1);
    double a = exp(1) / (1 + exp(1)), b = exp(2) / (1 + exp(2));
    want(&t, 0, DIMS(1, 2, 1), (double[]){10 + 10 * a, 10 + 10 * b});
    attr_set_int(&t.arena, &t.attrs, "causal", 1);
    run(&t, OP_sdpa, 1);
    want(&t, 0, DIMS(1, 2, 1), (double[]){10, 10 + 10 * b});
    op_test_clear(&t); /* of no keys, the sum over nothing */
    op_test_in(&t, DT_F64, DIMS(1, 2, 1), (double[]){1, 2});
    op_test_in(&t, DT_F64, DIMS(1, 0, 1), NULL);
    op_test_in(&t, DT_F64, DIMS(1, 0, 1), NULL);
    run(&t, OP_sdpa, 1);
    want(&t, 0, DIMS(1, 2, 1), (double[]){0, 0});
    op_test_clear(&t);
}

/* ---- recurrent layers ---- */

/* Two steps at once are one step, then one from the state it left. */
static void check_steps(enum op op, int gates)
{
    struct op_test t = {0};
    double *x = noise(2 * 2 * 3, 0), *w = noise(gates * 2 * 3, 1), *r = noise(gates * 2 * 2, 2);
    double last[4], state[2][4] = {{0}}, b[32] = {0};
    int nout = op == OP_lstm ? 3 : 2;
    for (int turn = 0; turn < 3; turn++) { /* both steps, step 0, step 1 */
        op_test_clear(&t);
        op_test_in(&t, DT_F64, DIMS(turn ? 1 : 2, 2, 3), x + (turn == 2) * 6);
        op_test_in(&t, DT_F64, DIMS(1, gates * 2, 3), w);
        op_test_in(&t, DT_F64, DIMS(1, gates * 2, 2), r);
        op_test_in(&t, DT_F64, DIMS(1, gates * 4), b);
        op_test_in(&t, DT_I32, DIMS(2), turn ? (double[]){1, 1} : (double[]){2, 2});
        op_test_in(&t, DT_F64, DIMS(1, 2, 2), state[0]);
        if (op == OP_lstm)
            op_test_in(&t, DT_F64, DIMS(1, 2, 2), state[1]);
        attr_set_int(&t.arena, &t.attrs, "hidden_size", 2);
        run(&t, op, nout);
        if (turn == 0)
            memcpy(last, t.out[1].data, sizeof last);
        for (int k = 1; turn == 1 && k < nout; k++)
            memcpy(state[k - 1], t.out[k].data, sizeof state[0]);
    }
    want(&t, 1, DIMS(1, 2, 2), last);
    op_test_clear(&t);
}

static void test_recurrent(void **state)
{
    struct op_test t = {0};
    check_steps(OP_rnn, 1);
    check_steps(OP_gru, 3);
    check_steps(OP_lstm, 4);
    op_test_clear(&t); /* h' = tanh(x + h), backwards over the first two of three steps */
    op_test_in(&t, DT_F64, DIMS(3, 1, 1), (double[]){0.5, 0.25, 9});
    op_test_in(&t, DT_F64, DIMS(1, 1, 1), (double[]){1});
    op_test_in(&t, DT_F64, DIMS(1, 1, 1), (double[]){1});
    op_test_in(&t, DT_F64, DIMS(1, 2), (double[]){0, 0});
    op_test_in(&t, DT_I32, DIMS(1), (double[]){2});
    attr_set_str(&t.arena, &t.attrs, "direction", "reverse");
    run(&t, OP_rnn, 2);
    double h = tanh(0.25);
    want(&t, 0, DIMS(3, 1, 1, 1), (double[]){tanh(0.5 + h), h, 0});
    want(&t, 1, DIMS(1, 1, 1), (double[]){tanh(0.5 + h)});
    op_test_clear(&t);
}

/* ---- quantisation ---- */

static void test_quantize(void **state)
{
    struct op_test t = {0};
    op_test_clear(&t);
    op_test_in(&t, DT_F32, DIMS(6), (double[]){1, 3, 5, -3, 1000, -1000});
    op_test_in(&t, DT_F32, SCALAR, (double[]){2});
    op_test_in(&t, DT_I8, SCALAR, (double[]){0});
    run(&t, OP_quantize_linear, 1); /* ties to even */
    want(&t, 0, DIMS(6), (double[]){0, 2, 2, -2, 127, -128});
    op_test_clear(&t);
    op_test_in(&t, DT_F32, DIMS(2, 4), (double[]){1, 2, 3, 4, 10, 20, 30, 40}); /* blocks of two */
    op_test_in(&t, DT_F32, DIMS(2, 2), (double[]){1, 0.5, 10, 5});
    attr_set_int(&t.arena, &t.attrs, "axis", 1);
    attr_set_int(&t.arena, &t.attrs, "block_size", 2);
    attr_set_int(&t.arena, &t.attrs, "output_dtype", DT_I4);
    run(&t, OP_quantize_linear, 1);
    assert_int_equal(t.out[0].dtype, DT_I4);
    want(&t, 0, DIMS(2, 4), (double[]){1, 2, 6, 7, 1, 2, 6, 7});
    op_test_clear(&t);
    op_test_in(&t, DT_U2, DIMS(2, 2), (double[]){0, 3, 1, 2});
    op_test_in(&t, DT_F32, DIMS(2), (double[]){1, 10});
    op_test_in(&t, DT_U2, DIMS(2), (double[]){1, 2});
    run(&t, OP_dequantize_linear, 1);
    want(&t, 0, DIMS(2, 2), (double[]){-1, 10, 0, 0});
    op_test_clear(&t);
}

static void test_einsum(void **state)
{
    struct op_test t = {0};
    op_test_clear(&t);
    op_test_in(&t, DT_F32, DIMS(2, 2, 2), (double[]){1, 2, 3, 4, 5, 6, 7, 8});
    op_test_in(&t, DT_F32, DIMS(2, 1), (double[]){1, 10});
    attr_set_str(&t.arena, &t.attrs, "equation", "...ij, jk -> ...ik");
    run(&t, OP_einsum, 1);
    want(&t, 0, DIMS(2, 2, 1), (double[]){21, 43, 65, 87});
    t.nin = 1;
    attr_set_str(&t.arena, &t.attrs, "equation", "bii->b");
    run(&t, OP_einsum, 1);
    want(&t, 0, DIMS(2), (double[]){5, 13});
    attr_set_str(&t.arena, &t.attrs, "equation", "bij,b");
    assert_false(op_test_run(&t, OP_einsum, 1));
    op_test_clear(&t);
}

/* ---- shape rules with symbols ---- */

static void test_symbolic(void **state)
{
    struct arena arena = {0};
    struct dim_table dims;
    struct diag d = {0};
    struct attrs attrs = {0};
    dim_table_init(&dims, &arena);
    dim_t n = dim_symbol(&dims, "n"), h = dim_symbol(&dims, "h");
    struct type in[] = {type_tensor(DT_F32, 4, (dim_t[]){n, 3, h, 224}),
                        type_tensor(DT_F32, 4, (dim_t[]){8, 3, 3, 3})},
                out[1];
    attr_set_ints(&arena, &attrs, "strides", (int64_t[]){2, 2}, 2);
    attr_set_ints(&arena, &attrs, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    struct infer f = {.op = OP_conv,
                      .attrs = &attrs,
                      .dims = &dims,
                      .arena = &arena,
                      .d = &d,
                      .nin = 2,
                      .nout = 1,
                      .in = in,
                      .out = out};
    assert_true(infer_run(&f));
    assert_int_equal(out[0].dims[0], n);
    assert_int_equal(out[0].dims[3], 112);
    int64_t symbols[] = {5, 32};
    assert_int_equal(dim_eval(&dims, symbols, out[0].dims[2]), 16);
    attr_set_str(&arena, &attrs, "auto_pad", "SAME_UPPER");
    assert_true(infer_run(&f));
    symbols[1] = 33;
    assert_int_equal(dim_eval(&dims, symbols, out[0].dims[2]), 17);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul_ranks),   cmocka_unit_test(test_matmul_complex),
        cmocka_unit_test(test_matmul_integer), cmocka_unit_test(test_conv),
        cmocka_unit_test(test_conv_transpose), cmocka_unit_test(test_max_pool_indices),
        cmocka_unit_test(test_average_pool),   cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_norms),          cmocka_unit_test(test_sdpa),
        cmocka_unit_test(test_recurrent),      cmocka_unit_test(test_quantize),
        cmocka_unit_test(test_einsum),         cmocka_unit_test(test_symbolic),
        cmocka_unit_test(test_empty_batch_norm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
