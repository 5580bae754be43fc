/*
 * Conversions between element types: by value, from and to text, and by bits.
 */
#include "runtime/kernels/kernels.h"
#include "runtime/ops/common/content.h"
#include "runtime/ops/common/ops.h"
#include "runtime/ops/common/require.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool target_type(struct infer *f, int *to)
{
    int64_t n = attr_int(f->attrs, "to", 0);
    if (n <= 0 || n >= DT_END || !dtype_valid((int)n))
        return fail(f->d, "attribute to is %lld, which is not an element type", (long long)n);
    *to = (int)n;
    return true;
}

/* ---- cast ---- */

static void cast_content(struct infer *f, int to)
{
    struct content x;
    if (!f->result || (!dtype_is_int(to) && to != DT_BOOL) || (x = infer_content(f, 0)).n < 0)
        return;
    dim_t *z = ARENA_ARRAY(f->arena, dim_t, x.n ? x.n : 1);
    for (int64_t i = 0; i < x.n; i++) {
        int64_t low, high;
        dim_bounds(f->dims, x.v[i], &low, &high);
        z[i] = x.v[i];
        if (to == DT_BOOL && low <= 0 && high >= 0 && low != high)
            return;
        if (to == DT_BOOL)
            z[i] = !(low == 0 && high == 0);
        if (!content_fits(to, z[i]))
            return;
    }
    infer_set_content(f, 0, z, x.n);
}

bool infer_cast(struct infer *f)
{
    int to;
    if (!target_type(f, &to))
        return false;
    f->out[0] = f->in[0];
    f->out[0].dtype = (uint8_t)to;
    cast_content(f, to);
    return true;
}

static const struct {
    const char *text;
    double value;
} special_numbers[] = {
    {"nan", NAN},           {"+nan", NAN},           {"-nan", NAN},
    {"inf", INFINITY},      {"+inf", INFINITY},      {"-inf", -INFINITY},
    {"infinity", INFINITY}, {"+infinity", INFINITY}, {"-infinity", -INFINITY},
};

/* A decimal number, surrounded by spaces or not; `integer` when it is one without point and
 * exponent. */
static bool parse_number(struct str s, char *buf, size_t size, double *value, bool *integer)
{
    while (s.n && isspace((unsigned char)*s.p))
        s.p++, s.n--;
    while (s.n && isspace((unsigned char)s.p[s.n - 1]))
        s.n--;
    if (s.n == 0 || s.n >= size)
        return false;
    memcpy(buf, s.p, s.n);
    buf[s.n] = 0;
    *integer = false;
    for (size_t i = 0; i < sizeof special_numbers / sizeof *special_numbers; i++)
        if (!strcasecmp(buf, special_numbers[i].text)) {
            *value = special_numbers[i].value;
            return true;
        }
    if (strspn(buf, "0123456789+-.eE") != s.n)
        return false;
    char *end;
    *value = strtod(buf, &end);
    *integer = strspn(buf, "0123456789+-") == s.n;
    return *end == 0;
}

static bool cast_from_string(struct op_call *c, int to)
{
    const struct str *s = c->in[0]->data;
    void *p = c->out[0]->data;
    char buf[512];
    for (int64_t i = 0, n = tensor_count(c->in[0]); i < n; i++) {
        double value;
        bool integer;
        if (!parse_number(s[i], buf, sizeof buf, &value, &integer))
            return fail(c->env->d, "'%.*s' is not a number", (int)(s[i].n > 60 ? 60 : s[i].n),
                        s[i].p);
        if (integer && to == DT_U64 && buf[0] != '-')
            ((uint64_t *)p)[i] = strtoull(buf, NULL, 10);
        else if (integer && to == DT_I64)
            ((int64_t *)p)[i] = strtoll(buf, NULL, 10);
        else if (to == DT_F32)
            ((float *)p)[i] = integer || isfinite(value) ? strtof(buf, NULL) : (float)value;
        else
            dtype_store_f64(to, p, (size_t)i, value);
    }
    return true;
}

/* As few digits as give the value back in its own type. */
static int shortest_digits(int dtype, double x)
{
    const struct float_format *f = float_format(dtype);
    char buf[64];
    int max = dtype == DT_F64 ? 17 : 9;
    for (int digits = 1; digits < max; digits++) {
        snprintf(buf, sizeof buf, "%.*e", digits - 1, x);
        double back = dtype == DT_F32 ? (double)strtof(buf, NULL)
                                      : float_decode(f, float_encode(f, strtod(buf, NULL), false));
        if (dtype == DT_F64)
            back = strtod(buf, NULL);
        if (back == x)
            return digits;
    }
    return max;
}

/* Plain notation for moderate exponents, else scientific. */
static void float_text(int dtype, double x, char *buf, size_t size)
{
    if (isnan(x) || isinf(x)) {
        snprintf(buf, size, "%s", isnan(x) ? "NaN" : x > 0 ? "INF" : "-INF");
        return;
    }
    int digits = shortest_digits(dtype, x);
    double a = fabs(x);
    if (a != 0 && (a < 1e-4 || a >= 1e16)) {
        snprintf(buf, size, "%.*e", digits - 1, x);
        return;
    }
    int exponent = 0;
    char probe[64];
    snprintf(probe, sizeof probe, "%.*e", digits - 1, x);
    exponent = atoi(strchr(probe, 'e') + 1);
    int decimals = digits - 1 - exponent;
    if (decimals < 1) /* past the shortest digits come zeros, not the rest of the binary value */
        snprintf(buf, size, "%.1f", strtod(probe, NULL));
    else
        snprintf(buf, size, "%.*f", decimals, x);
}

static void element_text(const struct tensor *t, int64_t i, char *buf, size_t size)
{
    switch (dtype_class(t->dtype)) {
    case DTC_BOOL:
        snprintf(buf, size, "%s", tensor_i64(t, i) ? "True" : "False");
        break;
    case DTC_SINT:
        snprintf(buf, size, "%lld", (long long)tensor_i64(t, i));
        break;
    case DTC_UINT:
        snprintf(buf, size, "%llu", (unsigned long long)tensor_i64(t, i));
        break;
    default:
        float_text(t->dtype, tensor_f64(t, i), buf, size);
    }
}

static bool cast_to_string(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    int64_t n = tensor_count(x);
    struct arena arena = {0};
    struct str *s = ARENA_ARRAY(&arena, struct str, n ? n : 1);
    char buf[64];
    for (int64_t i = 0; i < n; i++) {
        element_text(x, i, buf, sizeof buf);
        s[i] = (struct str){arena_strdup(&arena, buf), strlen(buf)};
    }
    bool ok = tensor_set_strings(c->out[0], x->rank, x->dims, s, c->env->d);
    arena_free(&arena);
    return ok;
}

/* Floats of 8 bits with a sign, and e8m0, are those that `saturate` is about. */
static bool saturates(const struct attrs *attrs, int to)
{
    const struct dtype_info *t = dtype_info(to);
    return t->cls == DTC_FLOAT && t->bits <= 8 && attr_int(attrs, "saturate", 1);
}

/* e8m0: a power of two; round_mode says which neighbour a value between two gets. Ties go up.
 * Without `saturate` what is below the least power, 0 too, or above the largest is NaN. */
static void cast_to_scale(struct op_call *c)
{
    bool saturate = attr_int(c->attrs, "saturate", 1);
    bool nearest = attr_is(c->attrs, "round_mode", "nearest");
    bool down = attr_is(c->attrs, "round_mode", "down");
    const struct float_format *f = float_format(DT_F8E8M0);
    uint8_t *p = c->out[0]->data;
    for (int64_t i = 0, n = tensor_count(c->in[0]); i < n; i++) {
        double x = fabs(tensor_f64(c->in[0], i));
        int e;
        double part = frexp(x, &e);
        if (!saturate && (x < ldexp(1, -f->bias) || x > float_largest(f)))
            x = NAN;
        else if (isfinite(x) && x > 0 && part != 0.5)
            x = ldexp(1, down || (nearest && part < 0.75) ? e - 1 : e);
        p[i] = (uint8_t)float_encode(f, x, saturate);
    }
}

/* Out of range, the low bits of the truncated value remain, as in ONNX's own conversions. */
static void cast_to_narrow_int(const struct tensor *x, struct tensor *z)
{
    for (int64_t i = 0, n = tensor_count(x); i < n; i++)
        dtype_store_i64(z->dtype, z->data, (size_t)i, tensor_i64(x, i));
}

bool eval_cast(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    struct tensor *z = c->out[0];
    cast_fn cast = kernels_cast(kernels_get(), z->dtype, x->dtype);
    if (x->dtype == DT_STR && z->dtype == DT_STR)
        return tensor_copy(z, x, c->env->d);
    if (x->dtype == DT_STR)
        return cast_from_string(c, z->dtype);
    if (z->dtype == DT_STR)
        return cast_to_string(c);
    if (cast)
        cast(z->data, x->data, (size_t)tensor_count(x));
    else if (z->dtype == DT_F8E8M0 && x->dtype != DT_F8E8M0)
        cast_to_scale(c);
    else if (dtype_is_float(x->dtype) && dtype_is_int(z->dtype) && dtype_info(z->dtype)->bits < 8)
        cast_to_narrow_int(x, z);
    else
        dtype_convert(z->dtype, z->data, x->dtype, x->data, (size_t)tensor_count(x),
                      saturates(c->attrs, z->dtype));
    return true;
}

/* ---- bitcast ---- */

bool infer_bitcast(struct infer *f)
{
    int to;
    if (!target_type(f, &to))
        return false;
    struct type out = f->in[0];
    int from_bits = dtype_info(out.dtype)->bits, to_bits = dtype_info(to)->bits;
    if (out.dtype == DT_STR || to == DT_STR)
        return fail(f->d, "strings have no bits to reinterpret");
    out.dtype = (uint8_t)to;
    if (out.rank >= 0 && to_bits < from_bits) {
        if (from_bits % to_bits || out.rank == MAX_RANK)
            return fail(f->d, "%s does not divide into %s", dtype_name(f->in[0].dtype),
                        dtype_name(to));
        out.dims[out.rank++] = from_bits / to_bits;
    } else if (out.rank >= 0 && to_bits > from_bits) {
        if (to_bits % from_bits || out.rank == 0)
            return fail(f->d, "to become %s, %s needs a last dimension of %d", dtype_name(to),
                        dtype_name(f->in[0].dtype), to_bits / from_bits);
        if (!require_equal(f, out.dims[out.rank - 1], to_bits / from_bits,
                           between(0, -1, out.rank - 1)))
            return false;
        out.rank--;
    }
    f->out[0] = out;
    return true;
}

/* Types narrower than a byte: bits are taken from the low end of the wider element. */
static void bitcast_narrow(const struct tensor *x, struct tensor *z)
{
    int from = dtype_info(x->dtype)->bits, to = dtype_info(z->dtype)->bits;
    int wide = from > to ? from : to, narrow = from > to ? to : from;
    int64_t n = tensor_count(from > to ? x : z), ratio = wide / narrow;
    size_t narrow_bytes = dtype_bytes(from > to ? z->dtype : x->dtype);
    size_t wide_bytes = dtype_bytes(from > to ? x->dtype : z->dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t word[2] = {0};
        if (from > to) {
            memcpy(word, (const char *)x->data + (size_t)i * wide_bytes, wide_bytes);
        }
        for (int64_t k = 0; k < ratio; k++) {
            int64_t bit = k * narrow;
            uint64_t mask = (UINT64_C(1) << narrow) - 1;
            size_t at = (size_t)(i * ratio + k) * narrow_bytes;
            if (from > to) {
                uint8_t part = (uint8_t)(word[bit / 64] >> (bit % 64) & mask);
                if (dtype_class(z->dtype) == DTC_SINT)
                    dtype_store_i64(z->dtype, (char *)z->data + at, 0, part);
                else
                    ((uint8_t *)z->data)[at] = part;
            } else {
                word[bit / 64] |= (((const uint8_t *)x->data)[at] & mask) << (bit % 64);
            }
        }
        if (from <= to) {
            if (dtype_class(z->dtype) == DTC_SINT && wide < 8)
                dtype_store_i64(z->dtype, z->data, (size_t)i, (int64_t)word[0]);
            else
                memcpy((char *)z->data + (size_t)i * wide_bytes, word, wide_bytes);
        }
    }
}

bool eval_bitcast(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    struct tensor *z = c->out[0];
    if (dtype_info(x->dtype)->bits < 8 || dtype_info(z->dtype)->bits < 8)
        bitcast_narrow(x, z);
    else if (tensor_bytes(x))
        memcpy(z->data, x->data, tensor_bytes(x));
    return true;
}
