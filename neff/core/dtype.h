/*
 * Element types and exact conversions between them.
 *
 * All floats are rounded to nearest, ties to even, once, from double. Types narrower than 8 bits
 * occupy one byte per element (the value in the low bits; signed integers sign-extended).
 */
#ifndef NEFF_DTYPE_H
#define NEFF_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dtype {
    DT_NONE = 0,
#define DTYPE(id, name, onnx, bits, bytes, class, hlo, npy) DT_##id = onnx,
#include "neff/core/dtype.def"
    DT_END = 47
};

enum dtype_class { DTC_NONE, DTC_BOOL, DTC_SINT, DTC_UINT, DTC_FLOAT, DTC_COMPLEX, DTC_STRING };

struct dtype_info {
    const char *name, *hlo, *npy;
    uint8_t bits, bytes, cls; /* cls: enum dtype_class */
};

/* Row of a type; a row with name NULL for numbers that are not a type. */
const struct dtype_info *dtype_info(int dt);
enum dtype dtype_from_name(const char *name); /* DT_NONE when unknown */

static inline const char *dtype_name(int dt)
{
    const char *n = dtype_info(dt)->name;
    return n ? n : "?";
}
static inline size_t dtype_bytes(int dt)
{
    return dtype_info(dt)->bytes;
}
static inline bool dtype_valid(int dt)
{
    return dtype_info(dt)->name != NULL;
}
static inline int dtype_class(int dt)
{
    return dtype_info(dt)->cls;
}
static inline bool dtype_is_float(int dt)
{
    return dtype_class(dt) == DTC_FLOAT;
}
static inline bool dtype_is_short_float(int dt)
{
    return dt == DT_F16 || dt == DT_BF16;
}
/* Engines compute with these: those of 16 bits are widened to f32. */
static inline bool dtype_is_engine_float(int dt)
{
    return dt == DT_F32 || dtype_is_short_float(dt);
}
static inline bool dtype_is_int(int dt)
{
    return dtype_class(dt) == DTC_SINT || dtype_class(dt) == DTC_UINT;
}
static inline bool dtype_is_complex(int dt)
{
    return dtype_class(dt) == DTC_COMPLEX;
}

/* Parameters of a binary floating-point format of at most 64 bits. */
struct float_format {
    uint8_t exp_bits, man_bits;
    int16_t bias;
    bool sign;      /* has a sign bit */
    bool inf;       /* has infinities */
    uint8_t nan;    /* 0 none; 1 IEEE (all exponent ones, mantissa not 0); 2 only S.1..1.1..1;
                       3 only the code of minus zero ("fnuz"); 4 only all ones (e8m0) */
    bool denormals; /* exponent 0 means denormal (false for e8m0) */
};
const struct float_format *float_format(int dt); /* NULL for other classes */

double float_decode(const struct float_format *f, uint64_t code);
/* Overflow gives infinity or, without one, NaN or (without NaN) the largest value; with `saturate`
 * overflow and infinities give the largest finite value. NaN in a format without NaN gives -0. */
uint64_t float_encode(const struct float_format *f, double x, bool saturate);
double float_largest(const struct float_format *f);

/* Element access by index. Loads of complex give the real part; strings are not admitted. */
double dtype_load_f64(int dt, const void *p, size_t i);
int64_t dtype_load_i64(int dt, const void *p, size_t i);   /* floats truncate and saturate, NaN 0 */
void dtype_store_f64(int dt, void *p, size_t i, double x); /* integers: see dtype_convert */
void dtype_store_i64(int dt, void *p, size_t i, int64_t x); /* wraps to the width */

/* Bulk forms; src and dst do not overlap. */
void dtype_load_f64n(int dt, const void *p, size_t n, double *out);
void dtype_store_f64n(int dt, void *p, size_t n, const double *x);
void dtype_load_i64n(int dt, const void *p, size_t n, int64_t *out);
void dtype_store_i64n(int dt, void *p, size_t n, const int64_t *x);

/*
 * Value conversion of n elements, the `cast` op's meaning: float to integer truncates and
 * saturates, NaN to 0; integer to integer wraps; anything to bool is x != 0; complex to real drops
 * the imaginary part. `saturate` as in float_encode. Strings are not admitted.
 */
void dtype_convert(int dst_dt, void *dst, int src_dt, const void *src, size_t n, bool saturate);

/* The loop of it between two types whose memory is a C type (convert.inc), for any CPU; or NULL. */
typedef void (*convert_fn)(void *y, const void *x, size_t n);
convert_fn dtype_converter(int to, int from);

/* Fast inline conversions for the common types. */
static inline float bf16_to_f32(uint16_t b)
{
    union {
        uint32_t u;
        float f;
    } v = {(uint32_t)b << 16};
    return v.f;
}
static inline float f16_to_f32(uint16_t h)
{
    union {
        uint32_t u;
        float f;
    } v = {(uint32_t)(h & 0x7fff) << 13};
    v.f *= 0x1p112f; /* the exponent's bias; denormals become normal */
    v.u = (h & 0x7fff) < 0x7c00 ? v.u : (h & 0x3ff) ? 0x7fc00000 : 0x7f800000;
    v.u |= (uint32_t)(h & 0x8000) << 16;
    return v.f;
}
static inline uint16_t f32_to_bf16(float x)
{
    union {
        float f;
        uint32_t u;
    } v = {x};
    if ((v.u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)((v.u >> 16) | 0x40);
    return (uint16_t)((v.u + 0x7fff + ((v.u >> 16) & 1)) >> 16);
}

#endif
