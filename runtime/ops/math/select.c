/*
 * Elementwise operators with a type rule of their own: where, clip, tests of floats, shifts.
 */
#include "runtime/ops/common/choose.h"
#include "runtime/ops/common/content.h"
#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/typed.h"
#include "runtime/ops/common/walk.h"

#include <math.h>
#include <string.h>

static void walk_call(struct walk *w, const struct op_call *c)
{
    walk_dims(w, c->out[0]->rank, c->out[0]->dims, c->nin + 1);
    for (int i = 0; i < c->nin; i++)
        if (has_operand(c, i))
            walk_broadcast(w, i + 1, c->in[i]->rank, c->in[i]->dims);
}

/* ---- where ---- */

static void where_content(struct infer *f)
{
    int64_t n = content_size(&f->out[0]);
    struct content c, x, y;
    if (!f->result || n < 0 || (c = infer_content(f, 0)).n < 0)
        return;
    x = infer_content(f, 1), y = infer_content(f, 2);
    dim_t *z = ARENA_ARRAY(f->arena, dim_t, n ? n : 1);
    for (int64_t i = 0; i < n; i++) {
        dim_t test = content_at(f, 0, c, i);
        if (!dim_is_const(test) || (test ? x.n : y.n) < 0)
            return;
        z[i] = test ? content_at(f, 1, x, i) : content_at(f, 2, y, i);
    }
    infer_set_content(f, 0, z, n);
}

bool infer_where(struct infer *f)
{
    const struct type *in[] = {&f->in[0], &f->in[1], &f->in[2]};
    struct type out = f->in[1];
    if (f->in[0].dtype != DT_BOOL)
        return fail(f->d, "condition is %s, expected bool", dtype_name(f->in[0].dtype));
    if (f->in[1].dtype != f->in[2].dtype)
        return fail(f->d, "element types %s and %s, expected the same", dtype_name(f->in[1].dtype),
                    dtype_name(f->in[2].dtype));
    if (!infer_broadcast(f, in, 3, &out))
        return false;
    f->out[0] = out;
    where_content(f);
    return true;
}

bool eval_where(struct op_call *c)
{
    struct walk w;
    size_t bytes = dtype_bytes(c->out[0]->dtype);
    walk_call(&w, c);
    for (walk_start(&w); !w.done; walk_next(&w))
        choose_elements((struct choice){.to = (char *)c->out[0]->data + (size_t)w.offset[0] * bytes,
                                        .which = (const uint8_t *)c->in[0]->data + w.offset[1],
                                        .a = (const char *)c->in[1]->data + (size_t)w.offset[2] * bytes,
                                        .b = (const char *)c->in[2]->data + (size_t)w.offset[3] * bytes,
                                        .to_step = 1,
                                        .which_step = w.step[1],
                                        .a_step = w.step[2],
                                        .b_step = w.step[3],
                                        .size = bytes},
                        w.count);
    return own_strings(c, 0);
}

/* ---- clip ---- */

bool infer_clip(struct infer *f)
{
    const struct type *in[3] = {&f->in[0], &f->in[0], &f->in[0]};
    struct type out = f->in[0];
    if (!dtype_is_float(out.dtype) && !dtype_is_int(out.dtype))
        return fail(f->d, "element type %s is not admitted", dtype_name(out.dtype));
    for (int i = 1; i < 3; i++)
        if (has_input(f, i)) {
            in[i] = &f->in[i];
            if (in[i]->dtype != out.dtype)
                return fail(f->d, "limit is %s, expected %s", dtype_name(in[i]->dtype),
                            dtype_name(out.dtype));
        }
    if (!infer_broadcast(f, in, 3, &out))
        return false;
    f->out[0] = out;
    return true;
}

static double clip_float(double x, double low, double high)
{
    double y = x < low ? low : x;
    return y > high ? high : y;
}

static int64_t clip_signed(int64_t x, int64_t low, int64_t high)
{
    int64_t y = x < low ? low : x;
    return y > high ? high : y;
}

static uint64_t clip_unsigned(uint64_t x, uint64_t low, uint64_t high)
{
    uint64_t y = x < low ? low : x;
    return y > high ? high : y;
}

static void clip_element(struct op_call *c, int64_t out, const int64_t *at)
{
    int dtype = c->out[0]->dtype, class = dtype_class(dtype);
    bool has_low = has_operand(c, 1), has_high = has_operand(c, 2);
    void *p = c->out[0]->data;
    if (class == DTC_FLOAT) {
        double low = has_low ? tensor_f64(c->in[1], at[1]) : -INFINITY;
        double high = has_high ? tensor_f64(c->in[2], at[2]) : INFINITY;
        dtype_store_f64(dtype, p, (size_t)out, clip_float(tensor_f64(c->in[0], at[0]), low, high));
        return;
    }
    int64_t x = tensor_i64(c->in[0], at[0]);
    int64_t low = has_low ? tensor_i64(c->in[1], at[1]) : class == DTC_SINT ? INT64_MIN : 0;
    int64_t high = has_high ? tensor_i64(c->in[2], at[2]) : class == DTC_SINT ? INT64_MAX : -1;
    int64_t z = class == DTC_SINT
                    ? clip_signed(x, low, high)
                    : (int64_t)clip_unsigned((uint64_t)x, (uint64_t)low, (uint64_t)high);
    dtype_store_i64(dtype, p, (size_t)out, z);
}

bool eval_clip(struct op_call *c)
{
    struct walk w;
    walk_call(&w, c);
    for (int k = 1; k < 4; k++)
        if (!has_operand(c, k - 1))
            memset(w.stride[k], 0, sizeof w.stride[k]);
    for (walk_start(&w); !w.done; walk_next(&w))
        for (int64_t i = 0; i < w.count; i++) {
            int64_t at[3] = {0};
            for (int k = 0; k < c->nin; k++)
                at[k] = w.offset[k + 1] + i * w.step[k + 1];
            clip_element(c, w.offset[0] + i, at);
        }
    return true;
}

/* ---- tests of floats ---- */

static bool infer_test(struct infer *f)
{
    struct type out = f->in[0];
    if (!dtype_is_float(out.dtype) && !dtype_is_complex(out.dtype))
        return fail(f->d, "element type is %s, expected a float", dtype_name(out.dtype));
    out.dtype = DT_BOOL;
    f->out[0] = out;
    return true;
}

INFER_AS(is_nan, infer_test)
INFER_AS(is_inf, infer_test)
INFER_AS(is_finite, infer_test)

static bool test_element(enum op op, double x, bool negative, bool positive)
{
    switch (op) {
    case OP_is_nan:
        return isnan(x);
    case OP_is_inf:
        return isinf(x) && (x < 0 ? negative : positive);
    default:
        return isfinite(x);
    }
}

#define TEST_RUN(id, T)                                                                            \
    case id: {                                                                                     \
        const T *p = x->data, top = (T)INFINITY;                                                   \
        if (c->op == OP_is_nan)                                                                    \
            for (int64_t i = 0; i < n; i++)                                                        \
                z[i] = p[i] != p[i];                                                               \
        else if (c->op == OP_is_finite)                                                            \
            for (int64_t i = 0; i < n; i++)                                                        \
                z[i] = p[i] - p[i] == 0;                                                           \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                z[i] = (positive & (p[i] == top)) | (negative & (p[i] == -top));                   \
        return true;                                                                               \
    }

static bool test_run(struct op_call *c, bool negative, bool positive)
{
    const struct tensor *x = c->in[0];
    uint8_t *z = c->out[0]->data;
    int64_t n = tensor_count(x);
    switch (x->dtype) {
        TYPED_FLOATS(TEST_RUN)
    }
    return false;
}

static bool test_floats(struct op_call *c)
{
    bool negative = attr_int(c->attrs, "detect_negative", 1);
    bool positive = attr_int(c->attrs, "detect_positive", 1);
    const struct tensor *x = c->in[0];
    bool is_complex = dtype_is_complex(x->dtype);
    int part = x->dtype == DT_C64 ? DT_F32 : x->dtype == DT_C128 ? DT_F64 : x->dtype;
    uint8_t *z = c->out[0]->data;
    if (x->dtype == DT_F32 || x->dtype == DT_F64)
        return test_run(c, negative, positive);
    for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
        if (!is_complex) {
            z[i] = test_element(c->op, tensor_f64(x, i), negative, positive);
            continue;
        }
        bool re = test_element(c->op, dtype_load_f64(part, x->data, (size_t)(2 * i)), true, true);
        bool im =
            test_element(c->op, dtype_load_f64(part, x->data, (size_t)(2 * i + 1)), true, true);
        z[i] = c->op == OP_is_finite ? re && im : re || im;
    }
    return true;
}

EVAL_AS(is_nan, test_floats)
EVAL_AS(is_inf, test_floats)
EVAL_AS(is_finite, test_floats)

/* ---- bit_shift ---- */

bool infer_bit_shift(struct infer *f)
{
    const struct type *in[] = {&f->in[0], &f->in[1]};
    struct type out = f->in[0];
    if (!dtype_is_int(out.dtype) || f->in[1].dtype != out.dtype)
        return fail(f->d, "element types %s and %s, expected the same integer type",
                    dtype_name(out.dtype), dtype_name(f->in[1].dtype));
    if (!attr_is(f->attrs, "direction", "LEFT") && !attr_is(f->attrs, "direction", "RIGHT"))
        return fail(f->d, "direction is neither LEFT nor RIGHT");
    if (!infer_broadcast(f, in, 2, &out))
        return false;
    f->out[0] = out;
    return true;
}

static int64_t shift(int64_t x, uint64_t by, int bits, bool left, bool arithmetic)
{
    uint64_t mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    bool past = by >= (uint64_t)bits;
    if (left)
        return past ? 0 : (int64_t)((uint64_t)x << by);
    if (arithmetic) /* x is sign-extended when its type is signed */
        return past ? (x < 0 ? -1 : 0) : x >> by;
    return past ? 0 : (int64_t)(((uint64_t)x & mask) >> by);
}

bool eval_bit_shift(struct op_call *c)
{
    struct walk w;
    int dtype = c->out[0]->dtype, bits = dtype_info(dtype)->bits;
    bool left = attr_is(c->attrs, "direction", "LEFT");
    bool arithmetic = attr_int(c->attrs, "arithmetic", 0) && dtype_class(dtype) == DTC_SINT;
    integer_fn run = kernels_integer(kernels_get(),
                                     left         ? INTEGER_shift_left
                                     : arithmetic ? INTEGER_shift_right_signed
                                                  : INTEGER_shift_right,
                                     dtype);
    walk_call(&w, c);
    for (walk_start(&w); !w.done; walk_next(&w)) {
        if (run) {
            run(element(c->out[0], w.offset[0]), w.step[0], element(c->in[0], w.offset[1]),
                w.step[1], element(c->in[1], w.offset[2]), w.step[2], (size_t)w.count);
            continue;
        }
        for (int64_t i = 0; i < w.count; i++) {
            int64_t x = tensor_i64(c->in[0], w.offset[1] + i * w.step[1]);
            int64_t by = tensor_i64(c->in[1], w.offset[2] + i * w.step[2]);
            dtype_store_i64(dtype, c->out[0]->data, (size_t)(w.offset[0] + i),
                            shift(x, (uint64_t)by, bits, left, arithmetic));
        }
    }
    return true;
}
