/*
 * TopK against a selection by comparing every element with every other, over types, lengths,
 * counts, ties, zeros of both signs, infinities and NaN.
 */
#include "test/unit/op_test.h"

#include <math.h>
#include <stdlib.h>

static const int dtypes[] = {DT_F32, DT_F16, DT_BF16, DT_F64, DT_I8,  DT_U8,
                             DT_I16, DT_I32, DT_U32,  DT_I64, DT_U64, DT_U16};
enum { LONGEST = 3000 };

/* Many equal values, few distinct ones, and what sorts in no obvious way. */
static double number(uint32_t *seed, int kind, bool is_float)
{
    static const double odd[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, -NAN, 1e-40, -1e-40};
    *seed = *seed * 1664525 + 1013904223;
    uint32_t draw = *seed >> 9;
    if (kind == 0)
        return draw % 5;
    if (kind == 1 && is_float)
        return odd[draw % (sizeof odd / sizeof *odd)];
    return ((double)(draw % 100000) - 50000) * (is_float ? 0.37 : 1);
}

/* Whether element a comes before b: NaN is after all numbers, and equal ones keep their order. */
static bool before(const struct tensor *x, int64_t a, int64_t b, int64_t step, bool largest)
{
    int order;
    if (dtype_class(x->dtype) == DTC_FLOAT) {
        double p = tensor_f64(x, a), q = tensor_f64(x, b);
        order = p != p || q != q ? (p != p) - (q != q) : (p > q) - (p < q);
    } else if (dtype_class(x->dtype) == DTC_SINT) {
        int64_t p = tensor_i64(x, a), q = tensor_i64(x, b);
        order = (p > q) - (p < q);
    } else {
        uint64_t p = (uint64_t)tensor_i64(x, a), q = (uint64_t)tensor_i64(x, b);
        order = (p > q) - (p < q);
    }
    if (largest)
        order = -order;
    return order < 0 || (order == 0 && a / step < b / step);
}

static void check_lines(const struct op_test *t, int64_t outer, int64_t n, int64_t inner, int64_t k,
                        bool largest)
{
    const struct tensor *x = &t->in[0], *values = &t->out[0], *indices = &t->out[1];
    size_t bytes = dtype_bytes(x->dtype);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++)
            for (int64_t j = 0, first = o * n * inner + i; j < n; j++) {
                int64_t place = 0, at = first + j * inner;
                for (int64_t m = 0; m < n && place < k; m++)
                    place += m != j && before(x, first + m * inner, at, inner, largest);
                if (place >= k)
                    continue;
                int64_t to = (o * k + place) * inner + i;
                assert_int_equal(((const int64_t *)indices->data)[to], j);
                assert_memory_equal((const char *)values->data + (size_t)to * bytes,
                                    (const char *)x->data + (size_t)at * bytes, bytes);
            }
}

static void check(int dtype, int kind, int64_t outer, int64_t n, int64_t inner, int64_t k,
                  bool largest)
{
    static double v[LONGEST];
    struct op_test t = {0};
    uint32_t seed = (uint32_t)(n * 31 + k * 7 + kind + dtype);
    bool is_float = dtype_class(dtype) == DTC_FLOAT;
    op_test_clear(&t);
    for (int64_t i = 0; i < outer * n * inner; i++)
        v[i] = number(&seed, kind, is_float);
    op_test_in(&t, dtype, 3, (int64_t[]){outer, n, inner}, v);
    op_test_in(&t, DT_I64, 1, (int64_t[]){1}, (double[]){(double)k});
    attr_set_int(&t.arena, &t.attrs, "axis", 1);
    attr_set_int(&t.arena, &t.attrs, "largest", largest);
    if (!op_test_run(&t, OP_topk, 2))
        fail_msg("%s", t.d.text);
    check_lines(&t, outer, n, inner, k, largest);
    struct tensor values = {0}, *out[] = {&values, NULL}, *in[] = {&t.in[0], &t.in[1]};
    assert_true(tensor_alloc(&values, dtype, 3, t.out[0].dims, &t.d));
    struct op_call c = {.op = OP_topk, .attrs = &t.attrs, .nin = 2, .nout = 2, .in = in, .out = out, .env = &t.env};
    assert_true(op_run_planned(&c)); /* no indices are wanted */
    if (tensor_count(&values))
        assert_memory_equal(t.out[0].data, values.data, (size_t)tensor_count(&values) * dtype_bytes(dtype));
    tensor_free(&values);
    op_test_clear(&t);
}

static void test_selection(void **state)
{
    static const int64_t sizes[][2] = {{0, 0},   {1, 0},   {1, 1},    {7, 3},    {33, 4},
                                       {40, 12}, {40, 13}, {300, 40}, {300, 300}};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int kind = 0; kind < 3; kind++)
                for (int largest = 0; largest < 2; largest++)
                    check(dtypes[d], kind, 2, sizes[s][0], 1 + (kind > 0) * 2, sizes[s][1],
                          largest);
}

/* One of each line, of lines that are compared side by side or turned first; columns, some at a time. */
static void test_many_lines(void **state)
{
    static const int64_t shapes[][4] = {{700, 1, 1, 1}, {90, 7, 1, 1},  {70, 16, 1, 1}, {5, 40, 1, 1},
                                        {2, 3, 300, 1}, {40, 6, 11, 1}, {2, 30, 37, 1}, {1, 40, 16, 3},
                                        {2, 40, 33, 5}, {1, 90, 20, 17}};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int kind = 0; kind < 3; kind++)
                for (int largest = 0; largest < 2; largest++)
                    check(dtypes[d], kind, shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], largest);
}

static void test_long_lines(void **state)
{
    for (int kind = 0; kind < 3; kind++)
        for (int64_t k = 1; k < LONGEST; k = k * 5 + 1)
            for (int largest = 0; largest < 2; largest++)
                check(DT_F32, kind, 1, LONGEST, 1, k, largest);
}

/* ---- top_k: by the total order of IEEE 754 ---- */

static int32_t code_of(const struct tensor *x, int64_t i)
{
    int32_t code = ((const int32_t *)x->data)[i];
    return code ^ (code < 0 ? INT32_MAX : 0);
}

static void check_total(int kind, int64_t n, int64_t k, bool largest)
{
    enum { LINES = 2 };
    struct op_test t;
    memset(&t, 0, sizeof t);
    op_test_clear(&t);
    double *v = malloc(sizeof *v * (size_t)(LINES * n));
    uint32_t seed = (uint32_t)(kind + n + k);
    for (int64_t i = 0; i < LINES * n; i++)
        v[i] = number(&seed, kind, true);
    const struct tensor *x = op_test_in(&t, DT_F32, DIMS(LINES, n), v);
    attr_set_int(&t.arena, &t.attrs, "k", k);
    attr_set_int(&t.arena, &t.attrs, "largest", largest);
    if (!op_test_run(&t, OP_top_k, 2))
        fail_msg("%s", t.d.text);
    const int32_t *index = t.out[1].data;
    for (int64_t line = 0; line < LINES; line++) {
        int64_t earlier = 0; /* elements that come before the last chosen one, which are chosen then */
        for (int64_t j = 0; j < k; j++) {
            int64_t at = index[line * k + j], before = j ? index[line * k + j - 1] : at;
            int32_t code = code_of(x, line * n + at), code_before = code_of(x, line * n + before);
            assert_int_equal(((const int32_t *)t.out[0].data)[line * k + j], ((const int32_t *)x->data)[line * n + at]);
            assert_true(j == 0 || (code == code_before ? before < at : (code_before > code) == largest));
        }
        for (int64_t i = 0; k && i < n; i++) {
            int64_t last = index[line * k + k - 1];
            int32_t a = code_of(x, line * n + i), b = code_of(x, line * n + last);
            earlier += a == b ? i < last : (a > b) == largest;
        }
        assert_int_equal(earlier, k ? k - 1 : 0);
    }
    free(v);
    op_test_clear(&t);
}

static void test_total_order(void **state)
{
    static const int64_t sizes[] = {1, 31, 256, 700, LONGEST, 20011};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < 3; kind++)
            for (int64_t k = 0; k <= sizes[s]; k = k * 7 + 1)
                for (int largest = 0; largest < 2; largest++)
                    check_total(kind, sizes[s], k, largest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selection),
        cmocka_unit_test(test_many_lines),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_total_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
