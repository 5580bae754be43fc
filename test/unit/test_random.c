/*
 * Random operators: means, deviations and proportions of many draws. Seeds are fixed, so the
 * outcome is too; bounds are five standard errors.
 */
#include "test/unit/op_test.h"

#include <math.h>

enum { DRAWS = 40000 };

static void moments(const struct tensor *t, double *mean, double *deviation)
{
    double sum = 0, squares = 0;
    int64_t n = tensor_count(t);
    for (int64_t i = 0; i < n; i++) {
        double v = tensor_f64(t, i);
        sum += v;
        squares += v * v;
    }
    *mean = sum / (double)n;
    *deviation = sqrt(squares / (double)n - *mean * *mean);
}

static void start(struct op_test *t, double seed)
{
    op_test_clear(t);
    attr_set_float(&t->arena, &t->attrs, "seed", seed);
}

static void normal(void **state)
{
    struct op_test t = {0};
    double mean, deviation;
    start(&t, 7);
    attr_set_float(&t.arena, &t.attrs, "mean", 3);
    attr_set_float(&t.arena, &t.attrs, "scale", 2);
    op_test_in(&t, DT_I64, DIMS(1), (double[]){DRAWS});
    assert_true(op_test_run(&t, OP_random_normal, 1));
    moments(&t.out[0], &mean, &deviation);
    assert_true(fabs(mean - 3) < 5 * 2 / sqrt(DRAWS));
    assert_true(fabs(deviation - 2) < 5 * 2 / sqrt(2.0 * DRAWS));
    op_test_clear(&t);
}

static void uniform(void **state)
{
    struct op_test t = {0};
    double mean, deviation;
    start(&t, 8);
    attr_set_float(&t.arena, &t.attrs, "low", -1);
    attr_set_float(&t.arena, &t.attrs, "high", 3);
    op_test_in(&t, DT_I64, DIMS(1), (double[]){DRAWS});
    assert_true(op_test_run(&t, OP_random_uniform, 1));
    moments(&t.out[0], &mean, &deviation);
    assert_true(fabs(mean - 1) < 5 * (4 / sqrt(12)) / sqrt(DRAWS));
    assert_true(fabs(deviation - 4 / sqrt(12)) < 0.02);
    for (int64_t i = 0; i < DRAWS; i++)
        assert_true(tensor_f64(&t.out[0], i) >= -1 && tensor_f64(&t.out[0], i) <= 3);
    op_test_clear(&t);
}

static void same_seed_same_draws(void **state)
{
    struct op_test a = {0}, b = {0};
    start(&a, 9);
    start(&b, 9);
    op_test_in(&a, DT_I64, DIMS(1), (double[]){100});
    op_test_in(&b, DT_I64, DIMS(1), (double[]){100});
    assert_true(op_test_run(&a, OP_random_uniform, 1) && op_test_run(&b, OP_random_uniform, 1));
    assert_true(tensor_equal(&a.out[0], &b.out[0]));
    op_test_clear(&b);
    start(&b, 10);
    op_test_in(&b, DT_I64, DIMS(1), (double[]){100});
    assert_true(op_test_run(&b, OP_random_uniform, 1));
    assert_false(tensor_equal(&a.out[0], &b.out[0]));
    op_test_clear(&a);
    op_test_clear(&b);
}

static void bernoulli(void **state)
{
    struct op_test t = {0};
    double p[DRAWS], mean, deviation;
    start(&t, 11);
    for (int i = 0; i < DRAWS; i++)
        p[i] = 0.3;
    op_test_in(&t, DT_F32, DIMS(DRAWS), p);
    assert_true(op_test_run(&t, OP_bernoulli, 1));
    moments(&t.out[0], &mean, &deviation);
    assert_true(fabs(mean - 0.3) < 5 * sqrt(0.3 * 0.7 / DRAWS));
    assert_true(fabs(deviation - sqrt(0.3 * 0.7)) < 0.02); /* nothing but 0 and 1 */
    op_test_clear(&t);
}

static void multinomial(void **state)
{
    static const double shares[] = {0.1, 0.2, 0.7};
    struct op_test t = {0};
    int64_t counts[3] = {0};
    start(&t, 12);
    attr_set_int(&t.arena, &t.attrs, "sample_size", DRAWS);
    op_test_in(&t, DT_F32, DIMS(1, 3), (double[]){log(0.1), log(0.2), log(0.7)});
    assert_true(op_test_run(&t, OP_multinomial, 1));
    for (int64_t i = 0; i < DRAWS; i++) {
        int64_t c = tensor_i64(&t.out[0], i);
        assert_true(c >= 0 && c < 3);
        counts[c]++;
    }
    for (int c = 0; c < 3; c++)
        assert_true(fabs((double)counts[c] / DRAWS - shares[c]) <
                    5 * sqrt(shares[c] * (1 - shares[c]) / DRAWS));
    op_test_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal),
        cmocka_unit_test(uniform),
        cmocka_unit_test(same_seed_same_draws),
        cmocka_unit_test(bernoulli),
        cmocka_unit_test(multinomial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
