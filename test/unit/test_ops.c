#include "runtime/ops/common/elementwise.h"

#include "test/unit/op_test.h"

#include <math.h>

enum { MAX_VALUES = 24 };

/* One call with at most three operands and one result. */
struct one_case {
    enum op op;
    int dtype, rank[3];
    int64_t dims[3][4];
    double v[3][MAX_VALUES];
    int out_rank;
    int64_t out_dims[4];
    double want[MAX_VALUES];
};

static const struct one_case elementwise_cases[] = {
    {OP_add,
     DT_F32,
     {2, 1},
     {{2, 3}, {3}},
     {{1, 2, 3, 4, 5, 6}, {10, 20, 30}},
     2,
     {2, 3},
     {11, 22, 33, 14, 25, 36}},
    {OP_add, DT_I8, {1, 0}, {{2}}, {{127, -128}, {1}}, 1, {2}, {-128, -127}},
    {OP_sub, DT_U8, {1, 1}, {{2}, {1}}, {{0, 5}, {1}}, 1, {2}, {255, 4}},
    {OP_mul,
     DT_I32,
     {2, 2},
     {{2, 1}, {1, 2}},
     {{65536, -3}, {65536, 7}},
     2,
     {2, 2},
     {0, 458752, -196608, -21}},
    {OP_div,
     DT_I32,
     {1, 1},
     {{4}, {4}},
     {{7, -7, 5, INT32_MIN}, {2, 2, 0, -1}},
     1,
     {4},
     {3, -3, -1, INT32_MIN}},
    {OP_div, DT_U8, {1, 1}, {{2}, {2}}, {{7, 9}, {2, 0}}, 1, {2}, {3, 255}},
    {OP_mod, DT_I32, {1, 1}, {{4}, {4}}, {{7, -7, 7, -7}, {3, 3, -3, -3}}, 1, {4}, {1, 2, -2, -1}},
    {OP_rem, DT_I32, {1, 1}, {{4}, {4}}, {{7, -7, 7, 9}, {3, 3, -3, 0}}, 1, {4}, {1, -1, 1, 9}},
    {OP_pow,
     DT_I32,
     {1, 1},
     {{4}, {4}},
     {{2, -1, 3, 2}, {10, -3, 0, -1}},
     1,
     {4},
     {1024, -1, 1, 0}},
    {OP_max, DT_F32, {1, 1}, {{3}, {3}}, {{NAN, 1, 2}, {1, NAN, 3}}, 1, {3}, {NAN, NAN, 3}},
    {OP_min, DT_I64, {1, 0}, {{3}}, {{-1, 5, 2}, {2}}, 1, {3}, {-1, 2, 2}},
    {OP_abs, DT_I8, {1}, {{2}}, {{-128, -5}}, 1, {2}, {-128, 5}},
    {OP_round, DT_F32, {1}, {{4}}, {{0.5, 1.5, -2.5, 2.4}}, 1, {4}, {0, 2, -2, 2}},
    {OP_sign, DT_F32, {1}, {{3}}, {{-2, 0, NAN}}, 1, {3}, {-1, 0, NAN}},
    {OP_not, DT_BOOL, {1}, {{2}}, {{0, 1}}, 1, {2}, {1, 0}},
    {OP_xor, DT_BOOL, {1, 1}, {{2}, {2}}, {{0, 1}, {1, 1}}, 1, {2}, {1, 0}},
    {OP_bitnot, DT_U8, {1}, {{2}}, {{0, 254}}, 1, {2}, {255, 1}},
    {OP_lt,
     DT_U64,
     {1, 1},
     {{2}, {2}},
     {{1, 18446744073709549568.0}, {18446744073709549568.0, 1}},
     1,
     {2},
     {1, 0}},
    {OP_eq, DT_F32, {1, 1}, {{2}, {2}}, {{NAN, 1}, {NAN, 1}}, 1, {2}, {0, 1}},
    {OP_add, DT_F32, {2, 1}, {{0, 3}, {3}}, {{0}, {1, 2, 3}}, 2, {0, 3}, {0}},
    {OP_relu, DT_BF16, {0}, {{0}}, {{-3}}, 0, {0}, {0}},
    {OP_elu, DT_F32, {1}, {{2}}, {{-INFINITY, 2}}, 1, {2}, {-1, 2}},
    {OP_clip, DT_F32, {1, 0, 0}, {{4}}, {{-5, 0.5, 9, NAN}, {-1}, {1}}, 1, {4}, {-1, 0.5, 1, NAN}},
    {OP_clip, DT_U8, {1, 0}, {{2}}, {{3, 200}, {7}}, 1, {2}, {7, 200}},
};

static void load_case(struct op_test *t, const struct one_case *k)
{
    op_test_clear(t);
    for (int i = 0; i < op_infos[k->op].max_in && i < 3; i++)
        if (i == 0 || op_infos[k->op].min_in > i || k->v[i][0] != 0)
            op_test_in(t, k->dtype, (size_t)k->rank[i], k->dims[i], k->v[i]);
}

static void test_elementwise(void **state)
{
    struct op_test t = {0};
    for (size_t i = 0; i < sizeof elementwise_cases / sizeof *elementwise_cases; i++) {
        const struct one_case *k = &elementwise_cases[i];
        load_case(&t, k);
        if (!op_test_run(&t, k->op, 1))
            fail_msg("case %zu: %s", i, t.d.text);
        assert_int_equal(t.out[0].rank, k->out_rank);
        assert_memory_equal(t.out[0].dims, k->out_dims, sizeof(int64_t) * (size_t)k->out_rank);
        for (int64_t j = 0; j < tensor_count(&t.out[0]); j++) {
            double got = tensor_f64(&t.out[0], j);
            if (got != k->want[j] && !(isnan(got) && isnan(k->want[j])))
                fail_msg("case %zu (%s) element %d: %g, expected %g", i, op_name(k->op), (int)j,
                         got, k->want[j]);
        }
    }
    op_test_clear(&t);
}

/* Every row's scalar function agrees with the routine on f32, which rounds it once. */
static void test_rows_agree(void **state)
{
    static const double x[] = {-2.5, -1, -0.3, 0, 0.25, 0.75, 1, 3.5, INFINITY, NAN};
    struct op_test t = {0};
    int rows = 0;
    for (int op = 0; op < OP_COUNT; op++) {
        const struct ew_row *row = ew_row((enum op)op);
        if (!row || !row->f || op == OP_identity)
            continue;
        op_test_clear(&t);
        op_test_in(&t, DT_F32, DIMS(10, 1), x);
        if (op_infos[op].min_in == 2)
            op_test_in(&t, DT_F32, DIMS(10), x);
        if (!op_test_run(&t, (enum op)op, 1))
            fail_msg("%s: %s", op_name((enum op)op), t.d.text);
        for (int64_t i = 0; i < tensor_count(&t.out[0]); i++) {
            bool two = op_infos[op].min_in == 2;
            double want = row->f((float)x[two ? i / 10 : i], (float)x[i % 10], row->a, row->b);
            double got = tensor_f64(&t.out[0], i);
            if (got != (float)want && !(isnan(got) && isnan(want)))
                fail_msg("%s element %d: %g, expected %g", op_name((enum op)op), (int)i, got, want);
        }
        rows++;
    }
    assert_true(rows > 60);
    op_test_clear(&t);
}

static void test_failures(void **state)
{
    struct op_test t = {0};
    op_test_clear(&t);
    op_test_in(&t, DT_F32, DIMS(2), (double[]){1, 2});
    assert_false(op_test_run(&t, OP_add, 1));
    assert_non_null(strstr(t.d.text, "operands"));
    op_test_in(&t, DT_F32, DIMS(3), (double[]){1, 2, 3});
    assert_false(op_test_run(&t, OP_add, 1));
    assert_non_null(strstr(t.d.text, "broadcast"));
    assert_false(op_test_run(&t, OP_and, 1));
    op_test_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise),
        cmocka_unit_test(test_rows_agree),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
