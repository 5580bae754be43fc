/* Elementwise operators that only XLA has: bits, complex numbers, orders, roundings. */
#include "runtime/kernels/kernels.h"
#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/walk.h"

#include <math.h>
#include <string.h>

/* ---- shapes ---- */

static bool admit(struct infer *f, int i, bool ok, const char *expected)
{
    return ok || fail(f->d, "element type %s is not admitted, expected %s",
                      dtype_name(f->in[i].dtype), expected);
}

static bool infer_to(struct infer *f, int dtype)
{
    const struct type *in[2] = {&f->in[0], &f->in[f->nin - 1]};
    struct type out = f->in[0];
    if (!infer_broadcast(f, in, 2, &out))
        return false;
    out.dtype = (uint8_t)dtype;
    f->out[0] = out;
    return true;
}

static int part_type(int dtype)
{
    return dtype == DT_C128 ? DT_F64 : DT_F32;
}

bool infer_total_order(struct infer *f)
{
    return admit(f, 0, dtype_is_float(f->in[0].dtype), "a float type") && infer_to(f, DT_I64);
}

static bool infer_integers(struct infer *f)
{
    for (int i = 0; i < f->nin; i++)
        if (!admit(f, i, dtype_is_int(f->in[i].dtype) && f->in[i].dtype == f->in[0].dtype,
                   "integers of one type"))
            return false;
    return infer_to(f, f->in[0].dtype);
}

INFER_AS(popcount, infer_integers)
INFER_AS(count_leading_zeros, infer_integers)
INFER_AS(mulhi, infer_integers)

bool infer_complex_make(struct infer *f)
{
    int t = f->in[0].dtype;
    return admit(f, 0, t == DT_F32 || t == DT_F64, "f32 or f64") &&
           admit(f, 1, f->in[1].dtype == t, "that of operand 0") &&
           infer_to(f, t == DT_F64 ? DT_C128 : DT_C64);
}

static bool infer_part(struct infer *f)
{
    return admit(f, 0, dtype_is_complex(f->in[0].dtype), "a complex type") &&
           infer_to(f, part_type(f->in[0].dtype));
}

INFER_AS(complex_real, infer_part)
INFER_AS(complex_imag, infer_part)
INFER_AS(complex_abs, infer_part)

bool infer_reduce_precision(struct infer *f)
{
    int64_t e = attr_int(f->attrs, "exponent_bits", 0), m = attr_int(f->attrs, "mantissa_bits", -1);
    if (e < 1 || e > 62 || m < 0 || m > 62)
        return fail(f->d, "%lld exponent and %lld mantissa bits, expected 1 to 62 and 0 to 62",
                    (long long)e, (long long)m);
    return admit(f, 0, dtype_is_float(f->in[0].dtype), "a float type") &&
           infer_to(f, f->in[0].dtype);
}

bool infer_stochastic_cast(struct infer *f)
{
    int to = (int)attr_int(f->attrs, "to", 0);
    return admit(f, 0, dtype_is_float(f->in[0].dtype), "a float type") &&
           admit(f, 1, dtype_class(f->in[1].dtype) == DTC_UINT, "unsigned bits") &&
           (dtype_is_float(to) || dtype_is_int(to) || fail(f->d, "to is not a number type")) &&
           infer_to(f, to);
}

/* ---- routines: one element at a time ---- */

typedef void (*element_fn)(struct op_call *c, int64_t z, int64_t x, int64_t y);

static bool each(struct op_call *c, element_fn fn)
{
    struct walk w;
    walk_dims(&w, c->out[0]->rank, c->out[0]->dims, c->nin + 1);
    for (int i = 0; i < c->nin; i++)
        walk_broadcast(&w, i + 1, c->in[i]->rank, c->in[i]->dims);
    for (walk_start(&w); !w.done; walk_next(&w))
        for (int64_t i = 0; i < w.count; i++)
            fn(c, w.offset[0] + i * w.step[0], w.offset[1] + i * w.step[1],
               c->nin > 1 ? w.offset[2] + i * w.step[2] : 0);
    return true;
}

static uint64_t load_code(const struct tensor *t, int64_t i)
{
    uint64_t code = 0;
    memcpy(&code, element(t, i), dtype_bytes(t->dtype)); /* little-endian */
    return code;
}

static void total_order_one(struct op_call *c, int64_t z, int64_t x, int64_t y)
{
    const struct float_format *f = float_format(c->in[0]->dtype);
    uint64_t code = load_code(c->in[0], x), sign = UINT64_C(1) << (f->exp_bits + f->man_bits);
    int64_t key = (int64_t)(f->sign ? code & (sign - 1) : code);
    if (f->sign && code & sign)
        key = f->nan == 3 && code == sign ? -(int64_t)sign - 1 : -key - 1; /* "fnuz": NaN is lowest */
    dtype_store_i64(DT_I64, c->out[0]->data, (size_t)z, key);
}

static uint64_t low_bits(const struct tensor *t, int64_t i)
{
    int bits = dtype_info(t->dtype)->bits;
    return (uint64_t)tensor_i64(t, i) & (bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1);
}

static void popcount_one(struct op_call *c, int64_t z, int64_t x, int64_t y)
{
    dtype_store_i64(c->out[0]->dtype, c->out[0]->data, (size_t)z,
                    __builtin_popcountll(low_bits(c->in[0], x)));
}

static void clz_one(struct op_call *c, int64_t z, int64_t x, int64_t y)
{
    uint64_t v = low_bits(c->in[0], x);
    int bits = dtype_info(c->in[0]->dtype)->bits;
    dtype_store_i64(c->out[0]->dtype, c->out[0]->data, (size_t)z,
                    v ? __builtin_clzll(v) - (64 - bits) : bits);
}

static void mulhi_one(struct op_call *c, int64_t z, int64_t x, int64_t y)
{
    int bits = dtype_info(c->in[0]->dtype)->bits;
    int64_t a = tensor_i64(c->in[0], x), b = tensor_i64(c->in[1], y), high;
    if (dtype_class(c->in[0]->dtype) == DTC_SINT)
        high = (int64_t)((__int128)a * b >> bits);
    else
        high = (int64_t)((unsigned __int128)(uint64_t)a * (uint64_t)b >> bits);
    dtype_store_i64(c->out[0]->dtype, c->out[0]->data, (size_t)z, high);
}

static double part_of(const struct tensor *t, int64_t i, int which)
{
    return dtype_load_f64(part_type(t->dtype), t->data, (size_t)(2 * i + which));
}

static void abs_one(struct op_call *c, int64_t z, int64_t x, int64_t y)
{
    dtype_store_f64(c->out[0]->dtype, c->out[0]->data, (size_t)z,
                    hypot(part_of(c->in[0], x, 0), part_of(c->in[0], x, 1)));
}

/* Keys of f32: codes as signed numbers, the negative ones in reverse. */
static void total_order_f32(const int32_t *code, int64_t n, int64_t *key)
{
    for (int64_t i = 0; i < n; i++)
        key[i] = code[i] ^ (code[i] < 0 ? INT32_MAX : 0);
}

bool eval_total_order(struct op_call *c)
{
    int64_t n = tensor_count(c->out[0]);
    if (c->in[0]->dtype == DT_F32 && tensor_count(c->in[0]) == n) {
        total_order_f32(c->in[0]->data, n, c->out[0]->data);
        return true;
    }
    return each(c, total_order_one);
}

typedef uint32_t words __attribute__((vector_size(16)));
typedef words words_fn(words v);

/* Ones of pairs, of fours, of bytes, of all: without a branch or a table. */
static inline words ones_of(words v)
{
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    v = (v + (v >> 4)) & 0x0f0f0f0fu;
    v += v >> 8;
    return (v + (v >> 16)) & 0x3f;
}

/* What is left of the highest one becomes ones; those that are none are counted. */
static inline words leading_zeros_of(words v)
{
    for (int k = 1; k < 32; k *= 2)
        v |= v >> k;
    return ones_of(~v);
}

static inline void map_words(const uint32_t *x, int64_t n, uint32_t *y, words_fn *f)
{
    enum { AT_ONCE = sizeof(words) / sizeof *x };
    words v;
    int64_t i = 0;
    for (; i + AT_ONCE <= n; i += AT_ONCE) {
        memcpy(&v, x + i, sizeof v);
        v = f(v);
        memcpy(y + i, &v, sizeof v);
    }
    for (; i < n; i++)
        y[i] = f((words){x[i]})[0];
}

static bool are_words(const struct op_call *c)
{
    return dtype_bytes(c->in[0]->dtype) == 4 && tensor_count(c->in[0]) == tensor_count(c->out[0]);
}

bool eval_popcount(struct op_call *c)
{
    if (!are_words(c))
        return each(c, popcount_one);
    map_words(c->in[0]->data, tensor_count(c->in[0]), c->out[0]->data, ones_of);
    return true;
}

bool eval_count_leading_zeros(struct op_call *c)
{
    if (!are_words(c))
        return each(c, clz_one);
    map_words(c->in[0]->data, tensor_count(c->in[0]), c->out[0]->data, leading_zeros_of);
    return true;
}

bool eval_mulhi(struct op_call *c)
{
    return each(c, mulhi_one);
}

/* Part `part` of complex numbers: between those of operand i and its result, of which one is real. */
static bool move_part(struct op_call *c, int i, int part)
{
    const struct tensor *x = c->in[i], *z = c->out[0];
    const bool makes = dtype_is_complex(z->dtype);
    const int64_t size = (int64_t)dtype_bytes(makes ? x->dtype : z->dtype), to = size * (makes ? 2 : 1),
                  from = size * (makes ? 1 : 2);
    struct walk w;
    walk_dims(&w, z->rank, z->dims, 2);
    walk_broadcast(&w, 1, x->rank, x->dims);
    for (walk_start(&w); !w.done; walk_next(&w))
        kernels_get()->copy((char *)z->data + w.offset[0] * to + (makes ? part * size : 0), w.step[0] * to,
                            (const char *)x->data + w.offset[1] * from + (makes ? 0 : part * size), w.step[1] * from,
                            (size_t)w.count, (size_t)size);
    return true;
}

bool eval_complex_make(struct op_call *c)
{
    return move_part(c, 0, 0) && move_part(c, 1, 1);
}
bool eval_complex_real(struct op_call *c)
{
    return move_part(c, 0, 0);
}
bool eval_complex_imag(struct op_call *c)
{
    return move_part(c, 0, 1);
}

/* What the kernel leaves open in a part, as hypot has it: squares of FP32 fit in double. */
static void abs_c64(const float *x, int64_t n, float *y)
{
    enum { PART = 128 };
    for (int64_t at = 0; at < n; at += PART, x += 2 * PART, y += PART) {
        const int64_t some = n - at < PART ? n - at : PART;
        if (kernels_get()->complex_abs(y, x, (size_t)some))
            continue;
        for (int64_t i = 0; i < some; i++) {
            const double re = x[2 * i], im = x[2 * i + 1], square = re * re + im * im;
            if (!(y[i] >= COMPLEX_ABS_MIN && y[i] <= COMPLEX_ABS_MAX))
                y[i] = isfinite(square) ? (float)sqrt(square) : isinf(re) || isinf(im) ? INFINITY : NAN;
        }
    }
}

bool eval_complex_abs(struct op_call *c)
{
    if (c->in[0]->dtype != DT_C64 || c->out[0]->dtype != DT_F32)
        return each(c, abs_one);
    abs_c64(c->in[0]->data, tensor_count(c->in[0]), c->out[0]->data);
    return true;
}

/* ---- reduce_precision ---- */

/* The bits of an IEEE format rounded to fewer: first the mantissa to nearest even, then the range.
 */
static uint64_t reduce_code(uint64_t v, const struct float_format *f, int eb, int mb)
{
    uint64_t exponents = ((UINT64_C(1) << f->exp_bits) - 1) << f->man_bits;
    uint64_t mantissas = (UINT64_C(1) << f->man_bits) - 1, sign = UINT64_C(1)
                                                                  << (f->exp_bits + f->man_bits);
    if ((v & exponents) == exponents && v & mantissas)
        return mb > 0 ? v : exponents;
    if (mb < f->man_bits) {
        uint64_t last = UINT64_C(1) << (f->man_bits - mb);
        v = (v + (last >> 1) - 1 + ((v & last) != 0)) & ~(last - 1) & (sign | (sign - 1));
    }
    if (eb < f->exp_bits) {
        uint64_t bias = (UINT64_C(1) << (f->exp_bits - 1)) - 1,
                 small = (UINT64_C(1) << (eb - 1)) - 1;
        if ((v & exponents) > (bias + small) << f->man_bits)
            v = (v & sign) | exponents;
        else if ((v & exponents) <= (bias - small) << f->man_bits)
            v &= sign;
    }
    return v;
}

static void reduce_precision_one(struct op_call *c, int64_t z, int64_t x, int64_t y)
{
    int dtype = c->in[0]->dtype;
    const struct float_format *f = float_format(dtype);
    int eb = (int)attr_int(c->attrs, "exponent_bits", 0),
        mb = (int)attr_int(c->attrs, "mantissa_bits", 0);
    if (f->inf && f->nan == 1) {
        uint64_t code = reduce_code(load_code(c->in[0], x), f, eb, mb);
        memcpy(element(c->out[0], z), &code, dtype_bytes(dtype));
        return;
    }
    struct float_format to = {.exp_bits = (uint8_t)eb,
                              .man_bits = (uint8_t)mb,
                              .bias = (int16_t)((1 << (eb < 14 ? eb - 1 : 13)) - 1),
                              .sign = true,
                              .inf = true,
                              .nan = 1};
    double v = tensor_f64(c->in[0], x);
    if (v == v && eb <= 11 && mb <= 52)
        v = float_decode(&to, float_encode(&to, v, false));
    dtype_store_f64(dtype, c->out[0]->data, (size_t)z, v);
}

bool eval_reduce_precision(struct op_call *c)
{
    return each(c, reduce_precision_one);
}

/* ---- stochastic_cast ---- */

/* The neighbours of x in the result's type, and how far x is from the one nearer to zero. */
static void neighbours(int dtype, double x, double *low, double *high)
{
    if (dtype_is_int(dtype)) {
        *low = trunc(x);
        *high = *low + (x < 0 ? -1 : 1);
        return;
    }
    const struct float_format *f = float_format(dtype);
    uint64_t sign = UINT64_C(1) << (f->exp_bits + f->man_bits), code = float_encode(f, x, true);
    *low = float_decode(f, code);
    if (fabs(*low) > fabs(x) && (code & (sign - 1)))
        *low = float_decode(f, --code);
    *high = float_decode(f, code + 1);
}

static void stochastic_one(struct op_call *c, int64_t z, int64_t x, int64_t y)
{
    struct tensor *out = c->out[0];
    double v = tensor_f64(c->in[0], x), low, high;
    int bits = dtype_info(c->in[1]->dtype)->bits;
    if (!isfinite(v)) {
        dtype_convert(out->dtype, element(out, z), c->in[0]->dtype, element(c->in[0], x), 1, false);
        return;
    }
    neighbours(out->dtype, v, &low, &high);
    double threshold = ldexp(fabs(v - low) / fabs(high - low), bits);
    double r = v == low || !((double)low_bits(c->in[1], y) < threshold) ? low : high;
    dtype_convert(out->dtype, element(out, z), DT_F64, &r, 1, false);
}

bool eval_stochastic_cast(struct op_call *c)
{
    return each(c, stochastic_one);
}
