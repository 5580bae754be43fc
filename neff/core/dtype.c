#include "neff/core/dtype.h"

#include "neff/base/use.h"

#include <math.h>
#include <string.h>

static const struct dtype_info infos[DT_END] = {
#define DTYPE(id, name, onnx, bits, bytes, class, hlo, npy)                                        \
    [onnx] = {name, hlo, npy, bits, bytes, DTC_##class},
#include "neff/core/dtype.def"
};

static const struct float_format formats[DT_END] = {
    [DT_F64] = {11, 52, 1023, true, true, 1, true},
    [DT_F32] = {8, 23, 127, true, true, 1, true},
    [DT_F16] = {5, 10, 15, true, true, 1, true},
    [DT_BF16] = {8, 7, 127, true, true, 1, true},
    [DT_F8E4M3FN] = {4, 3, 7, true, false, 2, true},
    [DT_F8E4M3FNUZ] = {4, 3, 8, true, false, 3, true},
    [DT_F8E5M2] = {5, 2, 15, true, true, 1, true},
    [DT_F8E5M2FNUZ] = {5, 2, 16, true, false, 3, true},
    [DT_F4E2M1] = {2, 1, 1, true, false, 0, true},
    [DT_F8E8M0] = {8, 0, 127, false, false, 4, false},
    [DT_F8E4M3] = {4, 3, 7, true, true, 1, true},
    [DT_F8E3M4] = {3, 4, 3, true, true, 1, true},
    [DT_F8E4M3B11FNUZ] = {4, 3, 11, true, false, 3, true},
    [DT_F6E2M3FN] = {2, 3, 1, true, false, 0, true},
    [DT_F6E3M2FN] = {3, 2, 3, true, false, 0, true},
};

const struct dtype_info *dtype_info(int dt)
{
    return &infos[dt >= 0 && dt < DT_END ? dt : 0];
}

enum dtype dtype_from_name(const char *name)
{
    for (int i = 1; i < DT_END; i++)
        if (infos[i].name && !strcmp(infos[i].name, name))
            return (enum dtype)i;
    return DT_NONE;
}

const struct float_format *float_format(int dt)
{
    return dtype_is_float(dt) ? &formats[dt] : NULL;
}

static uint64_t ones(int bits)
{
    return bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
}

double float_decode(const struct float_format *f, uint64_t code)
{
    int e_bits = f->exp_bits, m_bits = f->man_bits;
    uint64_t magnitude = code & ones(e_bits + m_bits);
    uint64_t exponent = magnitude >> m_bits, mantissa = magnitude & ones(m_bits);
    bool negative = f->sign && (code >> (e_bits + m_bits) & 1);
    double v;
    if ((f->nan == 1 && exponent == ones(e_bits) && mantissa) ||
        (f->nan == 2 && magnitude == ones(e_bits + m_bits)) ||
        (f->nan == 3 && negative && !magnitude) || (f->nan == 4 && magnitude == ones(e_bits)))
        v = NAN;
    else if (f->inf && exponent == ones(e_bits))
        v = INFINITY;
    else if (exponent == 0 && f->denormals)
        v = ldexp((double)mantissa, 1 - f->bias - m_bits);
    else
        v = ldexp((double)(mantissa | UINT64_C(1) << m_bits), (int)exponent - f->bias - m_bits);
    return negative ? copysign(v, -1.0) : v;
}

static uint64_t largest_code(const struct float_format *f)
{
    uint64_t all = ones(f->exp_bits + f->man_bits);
    if (f->inf) /* the exponent above is taken by infinity and NaN */
        return all - (UINT64_C(1) << f->man_bits);
    return f->nan == 2 || f->nan == 4 ? all - 1 : all;
}

double float_largest(const struct float_format *f)
{
    return float_decode(f, largest_code(f));
}

static uint64_t nan_code(const struct float_format *f, bool negative)
{
    uint64_t sign = f->sign ? UINT64_C(1) << (f->exp_bits + f->man_bits) : 0;
    uint64_t all = ones(f->exp_bits + f->man_bits);
    switch (f->nan) {
    case 1: /* quiet: the top mantissa bit */
        return (all - ones(f->man_bits) + (UINT64_C(1) << (f->man_bits - 1))) |
               (negative ? sign : 0);
    case 2:
        return all | (negative ? sign : 0);
    case 4:
        return all;
    default: /* "fnuz", or no NaN at all: then minus zero */
        return sign;
    }
}

/* A power-of-two format without mantissa, zero or sign (e8m0): nearest, ties up. */
static uint64_t encode_scale(const struct float_format *f, double x)
{
    if (!(x > 0) || isinf(x))
        return x == 0 ? 0 : ones(f->exp_bits);
    int e;
    double m = frexp(x, &e); /* x = m * 2^e, m in [0.5, 1) */
    int64_t code = (int64_t)e - 1 + f->bias;
    code += m >= 0.75;
    if (code < 0)
        code = 0;
    return code > (int64_t)largest_code(f) ? ones(f->exp_bits) : (uint64_t)code;
}

uint64_t float_encode(const struct float_format *f, double x, bool saturate)
{
    if (f->man_bits == 52) {
        uint64_t u;
        memcpy(&u, &x, 8);
        return u;
    }
    bool negative = signbit(x);
    uint64_t sign = f->sign && negative ? UINT64_C(1) << (f->exp_bits + f->man_bits) : 0;
    if (isnan(x))
        return nan_code(f, negative);
    if (!f->sign) {
        if (saturate && x > float_largest(f))
            x = float_largest(f);
        return encode_scale(f, x);
    }
    double a = fabs(x), top = float_largest(f);
    uint64_t infinity = ones(f->exp_bits) << f->man_bits;
    if (isinf(a)) {
        if (saturate || !f->nan)
            return largest_code(f) | sign;
        return f->inf ? infinity | sign : nan_code(f, negative);
    }
    int e = 0;
    if (a > 0)
        frexp(a, &e); /* a in [2^(e-1), 2^e) */
    int exponent = e - 1 < 1 - f->bias ? 1 - f->bias : e - 1;
    double unit = ldexp(1.0, exponent - f->man_bits);
    double rounded = nearbyint(a / unit) * unit;
    if (a == 0 || rounded == 0)
        return f->nan == 3 ? 0 : sign; /* "fnuz" has no minus zero */
    if (rounded > top) {
        if (saturate || !f->nan)
            return largest_code(f) | sign;
        return f->inf ? infinity | sign : nan_code(f, negative);
    }
    frexp(rounded, &e);
    exponent = e - 1 < 1 - f->bias ? 1 - f->bias : e - 1;
    uint64_t mantissa = (uint64_t)ldexp(rounded, f->man_bits - exponent);
    uint64_t code = mantissa;
    if (mantissa >> f->man_bits) /* normal */
        code = ((uint64_t)(exponent + f->bias) << f->man_bits) | (mantissa & ones(f->man_bits));
    return code | sign;
}

static uint64_t load_bits(int bytes, const void *p, size_t i)
{
    switch (bytes) {
    case 1:
        return ((const uint8_t *)p)[i];
    case 2:
        return ((const uint16_t *)p)[i];
    case 4:
        return ((const uint32_t *)p)[i];
    default:
        return ((const uint64_t *)p)[i];
    }
}

static void store_bits(int bytes, void *p, size_t i, uint64_t v)
{
    switch (bytes) {
    case 1:
        ((uint8_t *)p)[i] = (uint8_t)v;
        break;
    case 2:
        ((uint16_t *)p)[i] = (uint16_t)v;
        break;
    case 4:
        ((uint32_t *)p)[i] = (uint32_t)v;
        break;
    default:
        ((uint64_t *)p)[i] = v;
    }
}

static int64_t sign_extend(uint64_t v, int bits)
{
    return bits >= 64 ? (int64_t)v : (int64_t)(v << (64 - bits)) >> (64 - bits);
}

/* Double to a 64-bit pattern of an integer type of `bits` bits: truncate, saturate, NaN to 0. */
static int64_t f64_to_int(double x, bool is_signed, int bits)
{
    if (isnan(x))
        return 0;
    if (is_signed) {
        double top = ldexp(1.0, bits - 1);
        if (x >= top)
            return (int64_t)ones(bits - 1);
        return x < -top ? -(int64_t)ones(bits - 1) - 1 : (int64_t)x;
    }
    if (x <= 0)
        return 0;
    return x >= ldexp(1.0, bits) ? (int64_t)ones(bits) : (int64_t)(uint64_t)x;
}

double dtype_load_f64(int dt, const void *p, size_t i)
{
    const struct dtype_info *t = &infos[dt];
    switch (dt) {
    case DT_F32:
        return ((const float *)p)[i];
    case DT_F64:
        return ((const double *)p)[i];
    case DT_BF16:
        return bf16_to_f32(((const uint16_t *)p)[i]);
    case DT_F16:
        return f16_to_f32(((const uint16_t *)p)[i]);
    case DT_C64:
        return ((const float *)p)[2 * i];
    case DT_C128:
        return ((const double *)p)[2 * i];
    }
    if (t->cls == DTC_FLOAT)
        return float_decode(&formats[dt], load_bits(t->bytes, p, i));
    if (t->cls == DTC_SINT)
        return (double)dtype_load_i64(dt, p, i);
    if (t->cls == DTC_UINT || t->cls == DTC_BOOL)
        return (double)(uint64_t)dtype_load_i64(dt, p, i);
    return 0; /* strings are no numbers */
}

int64_t dtype_load_i64(int dt, const void *p, size_t i)
{
    const struct dtype_info *t = &infos[dt];
    switch (t->cls) {
    case DTC_SINT:
        return sign_extend(load_bits(t->bytes, p, i), t->bits);
    case DTC_UINT:
        return (int64_t)(load_bits(t->bytes, p, i) & ones(t->bits));
    case DTC_BOOL:
        return ((const uint8_t *)p)[i] != 0;
    default:
        return f64_to_int(dtype_load_f64(dt, p, i), true, 64);
    }
}

static void store_f64(int dt, void *p, size_t i, double x, bool saturate)
{
    const struct dtype_info *t = &infos[dt];
    switch (t->cls) {
    case DTC_FLOAT:
        if (dt == DT_F32 && !saturate)
            ((float *)p)[i] = (float)x;
        else
            store_bits(t->bytes, p, i, float_encode(&formats[dt], x, saturate));
        break;
    case DTC_SINT:
    case DTC_UINT:
        store_bits(t->bytes, p, i, (uint64_t)f64_to_int(x, t->cls == DTC_SINT, t->bits));
        break;
    case DTC_BOOL:
        ((uint8_t *)p)[i] = x != 0; /* NaN is true */
        break;
    case DTC_COMPLEX:
        if (dt == DT_C64) {
            ((float *)p)[2 * i] = (float)x;
            ((float *)p)[2 * i + 1] = 0;
        } else {
            ((double *)p)[2 * i] = x;
            ((double *)p)[2 * i + 1] = 0;
        }
        break;
    }
}

void dtype_store_f64(int dt, void *p, size_t i, double x)
{
    store_f64(dt, p, i, x, false);
}

void dtype_store_i64(int dt, void *p, size_t i, int64_t x)
{
    const struct dtype_info *t = &infos[dt];
    if (t->cls == DTC_SINT)
        store_bits(t->bytes, p, i, (uint64_t)sign_extend((uint64_t)x & ones(t->bits), t->bits));
    else if (t->cls == DTC_UINT)
        store_bits(t->bytes, p, i, (uint64_t)x & ones(t->bits));
    else if (t->cls == DTC_BOOL)
        ((uint8_t *)p)[i] = x != 0;
    else
        store_f64(dt, p, i, (double)x, false);
}

#include "neff/core/convert.inc"

/* Types whose memory is a C type come first. */
enum { PLAIN = DT_U64 + 1 };
static const convert_fn converters[PLAIN][PLAIN] = {
#define CONVERT(to, T, to_class, from, F, from_class)                                              \
    WHEN_USED(CAST_##to##_##from, [DT_##to][DT_##from] = convert_##to##_from_##from, )
    CONVERT_PAIRS(CONVERT)};

convert_fn dtype_converter(int to, int from)
{
    return to < PLAIN && from < PLAIN ? converters[to][from] : NULL;
}

void dtype_load_f64n(int dt, const void *p, size_t n, double *out)
{
    if (dtype_converter(DT_F64, dt))
        dtype_converter(DT_F64, dt)(out, p, n);
    else if (dt == DT_BF16)
        for (size_t i = 0; i < n; i++)
            out[i] = bf16_to_f32(((const uint16_t *)p)[i]);
    else if (dt == DT_F16)
        for (size_t i = 0; i < n; i++)
            out[i] = f16_to_f32(((const uint16_t *)p)[i]);
    else
        for (size_t i = 0; i < n; i++)
            out[i] = dtype_load_f64(dt, p, i);
}

void dtype_store_f64n(int dt, void *p, size_t n, const double *x)
{
    if (dtype_converter(dt, DT_F64))
        dtype_converter(dt, DT_F64)(p, x, n);
    else
        for (size_t i = 0; i < n; i++)
            store_f64(dt, p, i, x[i], false);
}

void dtype_load_i64n(int dt, const void *p, size_t n, int64_t *out)
{
    if (dtype_converter(DT_I64, dt))
        dtype_converter(DT_I64, dt)(out, p, n);
    else
        for (size_t i = 0; i < n; i++)
            out[i] = dtype_load_i64(dt, p, i);
}

void dtype_store_i64n(int dt, void *p, size_t n, const int64_t *x)
{
    if (infos[dt].cls != DTC_FLOAT && dtype_converter(dt, DT_I64)) /* floats: by way of double */
        dtype_converter(dt, DT_I64)(p, x, n);
    else
        for (size_t i = 0; i < n; i++)
            dtype_store_i64(dt, p, i, x[i]);
}

static void convert_complex(int dst_dt, void *dst, const void *src, size_t n)
{
    if (dst_dt == DT_C64)
        for (size_t i = 0; i < 2 * n; i++)
            ((float *)dst)[i] = (float)((const double *)src)[i];
    else
        for (size_t i = 0; i < 2 * n; i++)
            ((double *)dst)[i] = ((const float *)src)[i];
}

enum { CONVERT_CHUNK = 256 };

static void convert_integers(int dst_dt, void *dst, int src_dt, const void *src, size_t n)
{
    int64_t x[CONVERT_CHUNK];
    for (size_t at = 0; at < n; at += CONVERT_CHUNK) {
        size_t m = n - at < CONVERT_CHUNK ? n - at : CONVERT_CHUNK;
        dtype_load_i64n(src_dt, (const char *)src + at * infos[src_dt].bytes, m, x);
        dtype_store_i64n(dst_dt, (char *)dst + at * infos[dst_dt].bytes, m, x);
    }
}

static void convert_by_double(int dst_dt, void *dst, int src_dt, const void *src, size_t n,
                              bool saturate)
{
    double x[CONVERT_CHUNK];
    for (size_t at = 0; at < n; at += CONVERT_CHUNK) {
        size_t m = n - at < CONVERT_CHUNK ? n - at : CONVERT_CHUNK;
        char *to = (char *)dst + at * infos[dst_dt].bytes;
        dtype_load_f64n(src_dt, (const char *)src + at * infos[src_dt].bytes, m, x);
        if (!saturate || infos[dst_dt].cls != DTC_FLOAT)
            dtype_store_f64n(dst_dt, to, m, x);
        else
            for (size_t i = 0; i < m; i++)
                store_f64(dst_dt, to, i, x[i], true);
    }
}

void dtype_convert(int dst_dt, void *dst, int src_dt, const void *src, size_t n, bool saturate)
{
    int from = infos[src_dt].cls, to = infos[dst_dt].cls;
    if (dst_dt == src_dt)
        memcpy(dst, src, n * infos[src_dt].bytes);
    else if (from == DTC_COMPLEX && to == DTC_COMPLEX)
        convert_complex(dst_dt, dst, src, n);
    else if (dst_dt == DT_C64 && src_dt == DT_F32)
        for (size_t i = 0; i < n; i++)
            ((float *)dst)[2 * i] = ((const float *)src)[i], ((float *)dst)[2 * i + 1] = 0;
    else if (dtype_converter(dst_dt, src_dt) && !(saturate && dst_dt == DT_F32 && src_dt == DT_F64))
        dtype_converter(dst_dt, src_dt)(dst, src, n);
    else if (from != DTC_FLOAT && from != DTC_COMPLEX && to != DTC_FLOAT && to != DTC_COMPLEX)
        convert_integers(dst_dt, dst, src_dt, src, n);
    else
        convert_by_double(dst_dt, dst, src_dt, src, n, saturate);
}
