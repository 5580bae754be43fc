/*
 * Activations of every variant this CPU can run, against scalar references in double.
 * XCC_KERNELS_EXHAUSTIVE=1 tries all 2^32 floats instead of a dense sample.
 */
#include "test/unit/activation_reference.h"
#include "test/unit/kernel_test.h"

static void parameters_of(int activation, float *p)
{
    p[0] = activation == ACTIVATION_clip           ? -0.75f
           : activation == ACTIVATION_hard_sigmoid ? 0.2f
                                                   : 0.5f;
    p[1] = activation == ACTIVATION_clip ? 1.5f : activation == ACTIVATION_selu ? 1.05f : 0.5f;
}

/* Largest error over x, reported with where it is. */
static void check_activation(int which, const float *x, size_t n, double *worst, float *at)
{
    TENSOR(float, y, n);
    const struct activation_case *c = &activation_cases[which];
    float p[2];
    parameters_of(which, p);
    table->activation[which]((struct out_row){y, 1}, row(x), none, none, n, p);
    if (n % (size_t)table->lanes == 0) { /* in place: the same */
        TENSOR(float, z, n);
        memcpy(z, x, n * sizeof *z);
        table->activate[which](z, n, p);
        for (size_t i = 0; i < n; i++)
            assert_true(z[i] == y[i] || (isnan(z[i]) && isnan(y[i])));
    }
    for (size_t i = 0; i < n; i++) {
        bool special = isnan(x[i]) || isinf(x[i]);
        if (!special && (x[i] < c->low || x[i] > c->high))
            continue;
        double expected = c->reference(x[i], p);
        double e = ulps(y[i], c->ulp == 0 ? (float)expected : expected, c->floor);
        if (e > *worst) {
            *worst = e;
            *at = x[i];
        }
    }
}

static void test_activations(void **state)
{
    static float x[4096];
    bool all = getenv("XCC_KERNELS_EXHAUSTIVE") != NULL, good = true;
    for (int a = 0; a < ACTIVATION_COUNT; a++) {
        const struct activation_case *c = &activation_cases[a];
        double worst = 0;
        float at = 0;
        uint64_t step = all ? 1 : 9973; /* over bit patterns: dense in every binade */
        for (uint64_t u = 0; u < 0x100000000u;) {
            size_t n = 0;
            for (; n < 4096 && u < 0x100000000u; u += step)
                x[n++] = float_of((uint32_t)u);
            check_activation(a, x, n, &worst, &at);
        }
        for (int i = 0; i < 100; i++) { /* and evenly over the range people use */
            for (int j = 0; j < 4095; j++)
                x[j] = uniform(fmaxf(c->low, -12), fminf(c->high, 12));
            check_activation(a, x, 4095, &worst, &at);
        }
        static const float specials[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN};
        check_activation(a, specials, 5, &worst, &at);
        if (getenv("XCC_KERNELS_REPORT") || worst > c->ulp)
            print_message("%s %s: %.2f ulp at %.9g (bound %.2f)\n", table->name, c->name, worst, at,
                          c->ulp);
        good &= worst <= c->ulp;
    }
    assert_true(good);
}

/* Bias, scale, strides, tails: the same numbers as element by element. */
static void test_activation_operands(void **state)
{
    float p[2] = {0.5f, 1.5f};
    for (size_t n = 0; n < 70; n = n < 36 ? n + 1 : n + 7)
        for (int steps = 1; steps <= 3; steps += 2) {
            float *x = random_row(n * steps), *s = random_row(n), *b = random_row(1);
            float *y = random_row(n * steps);
            table->activation[ACTIVATION_clip]((struct out_row){y, steps},
                                               (struct in_row){x, steps}, row(s),
                                               (struct in_row){b, 0}, n, p);
            for (size_t i = 0; i < n; i++) {
                double e = (double)x[i * steps] * s[i] + b[0];
                e = e < p[0] ? p[0] : e > p[1] ? p[1] : e;
                assert_true(ulps(y[i * steps], e, 4) <= 1);
            }
            free(x), free(s), free(b), free(y);
        }
    float zero = -0.0f, y;
    table->activation[ACTIVATION_copy]((struct out_row){&y, 1}, row(&zero), none, none, 1, p);
    assert_int_equal(bits_of(y), bits_of(zero));
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_activation_operands),
    };
    return run_variants(tests, sizeof tests / sizeof tests[0]);
}
