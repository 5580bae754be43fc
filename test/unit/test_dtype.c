/*
 * Every code of every float type of at most 16 bits: decoding and encoding are inverse, values
 * between two neighbours round to the nearer one, ties to the even code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "neff/dtype.h"

#include <cmocka.h>
#include <math.h>

static bool narrow(int dt)
{
    return dtype_is_float(dt) && dtype_info(dt)->bits <= 16;
}

static void test_codes(void **state)
{
    for (int dt = 1; dt < DT_END; dt++) {
        if (!narrow(dt))
            continue;
        const struct float_format *f = float_format(dt);
        for (uint64_t code = 0; code < UINT64_C(1) << dtype_info(dt)->bits; code++) {
            double x = float_decode(f, code);
            uint64_t back = float_encode(f, x, false);
            if (isnan(x) ? !isnan(float_decode(f, back)) : back != code)
                fail_msg("%s: code %llx decodes to %g and encodes to %llx", dtype_name(dt),
                         (unsigned long long)code, x, (unsigned long long)back);
        }
    }
}

static void test_rounding(void **state)
{
    for (int dt = 1; dt < DT_END; dt++) {
        if (!narrow(dt))
            continue;
        const struct float_format *f = float_format(dt);
        uint64_t positive = UINT64_C(1) << (f->exp_bits + f->man_bits);
        for (uint64_t code = 0; code + 1 < positive; code++) {
            double a = float_decode(f, code), b = float_decode(f, code + 1), middle = (a + b) / 2;
            if (!isfinite(a) || !isfinite(b))
                continue;
            uint64_t even = code & 1 ? code + 1 : code;
            assert_int_equal(float_encode(f, middle, false), even);
            assert_int_equal(float_encode(f, nextafter(middle, 0), false), code);
            assert_int_equal(float_encode(f, nextafter(middle, INFINITY), false), code + 1);
            if (f->sign && code > 0)
                assert_int_equal(float_encode(f, -b, false), (code + 1) | positive);
        }
    }
}

static void test_saturation(void **state)
{
    for (int dt = 1; dt < DT_END; dt++) {
        if (!narrow(dt))
            continue;
        const struct float_format *f = float_format(dt);
        double top = float_largest(f);
        assert_true(float_decode(f, float_encode(f, top * 4, true)) == top);
        assert_true(float_decode(f, float_encode(f, INFINITY, true)) == top);
        double over = float_decode(f, float_encode(f, top * 4, false));
        assert_true(f->inf ? isinf(over) : f->nan ? isnan(over) : over == top);
        double nan = float_decode(f, float_encode(f, NAN, false));
        assert_true(f->nan ? isnan(nan) : nan == 0);
    }
}

static void test_integers(void **state)
{
    double x[] = {1e9, -1e9, NAN, 2.9, -2.9};
    int8_t i8[5];
    uint8_t u8[5], i4;
    dtype_convert(DT_I8, i8, DT_F64, x, 5, false);
    assert_memory_equal(i8, ((int8_t[]){127, -128, 0, 2, -2}), 5);
    dtype_convert(DT_U8, u8, DT_F64, x, 5, false);
    assert_memory_equal(u8, ((uint8_t[]){255, 0, 0, 2, 0}), 5);
    int64_t wide =
        (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1; /* in double first, this would be a tie */
    float single;
    dtype_convert(DT_F32, &single, DT_I64, &wide, 1, false);
    assert_true(single == (float)((INT64_C(1) << 60) + (INT64_C(1) << 37)));
    dtype_store_i64(DT_I4, &i4, 0, 9);
    assert_int_equal(dtype_load_i64(DT_I4, &i4, 0), -7);
    assert_int_equal(dtype_load_i64(DT_U4, &i4, 0), 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_saturation),
        cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
