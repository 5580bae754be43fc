/*
 * Rows of a few elements in the code of loops against the kernels that they stand for: the same bits, for every number
 * of elements, with neighbouring, equal and scattered operands, and results in an operand's place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/exec/quick_short.h"
#include "runtime/kernels/kernels.h"

#include <math.h>
#include <string.h>

#include "test/unit/selected_variants.h"

enum { ROOM = QUICK_SHORT * 3, PLACES = 4 };

static const struct {
    uint16_t code;
    int operands; /* that are read */
    int binary;   /* the kernel's number; -1: to = a b + c */
} cases[] = {
    {QUICK_add_f32, 2, BINARY_add}, {QUICK_sub_f32, 2, BINARY_sub}, {QUICK_mul_f32, 2, BINARY_mul},
    {QUICK_div_f32, 2, BINARY_div}, {QUICK_max_f32, 2, BINARY_max}, {QUICK_min_f32, 2, BINARY_min},
    {QUICK_multiply_add, 3, -1},
};

static void fill(float (*x)[ROOM])
{
    static const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-42f, 3e38f};
    uint32_t seed = 1;
    for (int p = 0; p < PLACES; p++)
        for (int i = 0; i < ROOM; i++) {
            seed = seed * 1664525 + 1013904223;
            x[p][i] = seed % 5 ? (float)(int32_t)seed * 1e-8f : special[(seed >> 8) % 7];
        }
}

static struct in_row in(const struct quick_op *op, int k)
{
    return (struct in_row){(const float *)(void *)op->p[k], op->row->step[k]};
}

static void by_kernel(const struct quick_op *op, int binary)
{
    const struct kernel_table *k = kernels_get();
    struct out_row to = {(float *)(void *)op->p[QUICK_TO], op->row->step[QUICK_TO]};
    size_t n = (size_t)op->row->n;
    if (binary < 0)
        k->multiply_add(to, in(op, QUICK_A), in(op, QUICK_B), in(op, QUICK_C), n);
    else
        k->binary[binary](to, in(op, QUICK_A), in(op, QUICK_B), n);
}

static void compare_row(size_t which, const int64_t *steps, int64_t n, bool in_place)
{
    float x[PLACES][ROOM], got[PLACES][ROOM], want[PLACES][ROOM];
    struct quick_row row = {.n = n};
    struct quick_op op = {.row = &row};
    fill(x);
    for (int turn = 0; turn < 2; turn++) {
        float(*y)[ROOM] = turn ? want : got;
        memcpy(y, x, sizeof x);
        for (int k = 0; k < QUICK_OPERANDS; k++) {
            row.step[k] = steps[k];
            op.p[k] = (char *)y[in_place && k == QUICK_A ? QUICK_TO : k];
        }
        if (turn)
            by_kernel(&op, cases[which].binary);
        else
            assert_true(quick_short_row(cases[which].code, kernels_get()->fma)(NULL, &op, NULL));
    }
    for (int i = 0; i < ROOM; i++)
        if (isnan(want[QUICK_TO][i]) ? !isnan(got[QUICK_TO][i]) : memcmp(&got[QUICK_TO][i], &want[QUICK_TO][i], 4) != 0)
            fail_msg("%s: code %d, %d elements, steps %d %d %d %d, element %d: %g, expected %g", kernels_get()->name,
                     cases[which].code, (int)n, (int)steps[0], (int)steps[1], (int)steps[2], (int)steps[3], i,
                     (double)got[QUICK_TO][i], (double)want[QUICK_TO][i]);
}

static void compare_variant(void)
{
    for (size_t which = 0; which < sizeof cases / sizeof *cases; which++)
        for (int64_t n = 2; n <= QUICK_SHORT; n++)
            for (int form = 0; form < 2 * 3 * 3 * 3; form++) {
                int64_t steps[] = {1 + 2 * (form % 2), form / 2 % 3, form / 6 % 3, form / 18};
                compare_row(which, steps, n, false);
                if (steps[QUICK_A] == steps[QUICK_TO])
                    compare_row(which, steps, n, true);
            }
}

static void test_floats(void **state)
{
    (void)state;
    for_each_variant(compare_variant);
}

/* Integers, conversions, moves and choices have one loop: against elements one by one. */
static void test_others(void **state)
{
    (void)state;
    int32_t a[] = {INT32_MIN, 7, -1, INT32_MAX, 5, 9}, b[] = {1, -3, INT32_MAX, 2, 2, 0}, to[6] = {0};
    int64_t wide[3];
    uint8_t holds[] = {1, 9, 0, 9, 1, 9};
    struct quick_row row = {.n = 3, .step = {2, 2, 1, 2}};
    struct quick_op op = {.p = {(char *)to, (char *)a, (char *)b, (char *)holds}, .row = &row};
    static const struct { uint16_t code; int32_t want[6]; } rows[] = {
        {QUICK_sub_i32, {INT32_MAX, 0, 2, 0, 5 - INT32_MAX, 0}},
        {QUICK_xor_i32, {INT32_MIN | 1, 0, 2, 0, INT32_MAX - 5, 0}},
        {QUICK_max_i32, {1, 0, -1, 0, INT32_MAX, 0}},
        {QUICK_choose_4, {INT32_MIN, 0, -3, 0, 5, 0}},
        {QUICK_copy_4, {INT32_MIN, 0, -1, 0, 5, 0}},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        memset(to, 0, sizeof to);
        assert_true(quick_short_row(rows[r].code, true)(NULL, &op, NULL));
        assert_memory_equal(to, rows[r].want, sizeof to);
    }
    op.p[QUICK_TO] = (char *)wide, row.step[QUICK_TO] = 1;
    assert_true(quick_short_row(QUICK_i64_from_i32, true)(NULL, &op, NULL));
    assert_true(wide[0] == INT32_MIN && wide[1] == -1 && wide[2] == 5);
    assert_null(quick_short_row(QUICK_step, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_floats), cmocka_unit_test(test_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
