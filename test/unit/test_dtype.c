/*
 * Every code of every float type of at most 16 bits: decoding and encoding are inverse, values
 * between two neighbours round to the nearer one, ties to the even code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "neff/core/dtype.h"

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
            uint64_t tie = !f->sign || code & 1 ? code + 1 : code; /* to even; powers of two: up */
            assert_int_equal(float_encode(f, middle, false), tie);
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

/* ---- loops over many elements against conversions of one ---- */

static const int numbers[] = {DT_BOOL, DT_I8,  DT_U8,  DT_I16, DT_U16, DT_I32, DT_U32,
                              DT_I64,  DT_U64, DT_F16, DT_F32, DT_F64, DT_BF16};
enum { NUMBERS = sizeof numbers / sizeof *numbers, LIMIT = 300 };

/* Powers of two, what lies beside them and between them, both signs; and what is no number. */
static void edge_values(int dt, void *p, int n)
{
    for (int i = 0; i < n; i++) {
        int bit = i / 8 % 66;
        double x = ldexp(1, bit) + (i & 1 ? 0.75 : -1), sign = i & 2 ? -1 : 1;
        x = i & 4 ? nextafterf((float)ldexp(1, bit), i & 1 ? 0 : INFINITY) : x;
        if (dtype_is_float(dt))
            dtype_store_f64(dt, p, (size_t)i,
                            i == 5   ? NAN
                            : i == 6 ? INFINITY
                            : i == 7 ? -INFINITY
                                     : sign * x);
        else
            dtype_store_i64(dt, p, (size_t)i,
                            i == 0 ? 0
                                   : (int64_t)((UINT64_C(1) << bit % 64) + (uint64_t)(i % 3 - 1)));
    }
}

static void convert_one(int to, void *y, int from, const void *x, size_t i)
{
    bool wide = from == DT_I64 || from == DT_U64;
    if (!dtype_is_float(from) && !dtype_is_float(to)) {
        dtype_store_i64(to, y, i, dtype_load_i64(from, x, i));
    } else if (wide && to == DT_F32) { /* rounded once */
        int64_t v = dtype_load_i64(from, x, i);
        ((float *)y)[i] = from == DT_I64 ? (float)v : (float)(uint64_t)v;
    } else {
        dtype_store_f64(to, y, i, dtype_load_f64(from, x, i));
    }
}

static void test_loops(void **state)
{
    static const int lengths[] = {0, 1, 3, 15, 16, 17, 33, 64, LIMIT};
    uint64_t x[LIMIT + 1], y[LIMIT + 1], want[LIMIT + 1];
    for (int t = 0; t < NUMBERS; t++)
        for (int f = 0; f < NUMBERS; f++)
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                int to = numbers[t], from = numbers[f], n = lengths[l];
                size_t bytes = dtype_bytes(to);
                edge_values(from, x, LIMIT);
                memset(y, 0x5a, sizeof y);
                memset(want, 0x5a, sizeof want);
                dtype_convert(to, y, from, x, (size_t)n, false);
                if (to == from)
                    memcpy(want, x, (size_t)n * bytes);
                for (int i = 0; i < n && to != from; i++)
                    convert_one(to, want, from, x, (size_t)i);
                for (int i = 0; i < n; i++) {
                    double a = dtype_load_f64(to, y, (size_t)i),
                           b = dtype_load_f64(to, want, (size_t)i);
                    bool same = !memcmp((char *)y + (size_t)i * bytes,
                                        (char *)want + (size_t)i * bytes, bytes);
                    if (!same && !(isnan(a) && isnan(b)))
                        fail_msg("%s from %s: element %d of %d is %.17g, expected %.17g",
                                 dtype_name(to), dtype_name(from), i, n, a, b);
                }
                assert_memory_equal((char *)y + (size_t)n * bytes, (char *)want + (size_t)n * bytes,
                                    8);
            }
}

static void test_f16(void **state)
{
    for (uint32_t code = 0; code < 65536; code++) {
        float x = f16_to_f32((uint16_t)code); /* not double: conversions may drop the sign of NaN */
        double y = float_decode(float_format(DT_F16), code);
        assert_true((x == y || (isnan(x) && isnan(y))) && !signbit(x) == !signbit(y));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes),      cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_saturation), cmocka_unit_test(test_integers),
        cmocka_unit_test(test_loops),      cmocka_unit_test(test_f16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
