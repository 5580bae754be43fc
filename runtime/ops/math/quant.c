#include "runtime/ops/common/numeric.h"

#include "runtime/kernels/kernels.h"

#include <math.h>

/* ---- where the scale of each element lies ---- */

/*
 * For x of shape (outer, n, inner) around the axis: one scale for all, one per place on the axis,
 * or one per block of block_size places (scale has x's rank then).
 */
struct scales {
    struct around a;
    int64_t count, block, blocks; /* block 0: per tensor or per axis */
    double *scale, *zero;         /* zero NULL: none */
};

static bool load_scales(struct op_call *c, struct work *w, struct scales *s)
{
    const struct tensor *x = c->in[0], *scale = c->in[1];
    int64_t axis = attr_int(c->attrs, "axis", 1);
    *s = (struct scales){.a = {1, tensor_count(x), 1}, .count = tensor_count(scale)};
    s->block = attr_int(c->attrs, "block_size", 0);
    axis += axis < 0 ? x->rank : 0;
    bool per_tensor = scale->rank == 0 || (s->block == 0 && s->count == 1);
    if (!per_tensor) {
        if (axis < 0 || axis >= x->rank)
            return fail(w->d, "axis is %lld, expected less than rank %d", (long long)axis, x->rank);
        s->a = around_axis(x, (int)axis, (int)axis + 1);
        s->blocks = s->block > 0 ? scale->rank == x->rank ? scale->dims[axis] : 0 : s->a.n;
        int64_t needed = s->block > 0 ? s->a.outer * s->blocks * s->a.inner : s->a.n;
        if (s->count != needed || s->block < 0 ||
            (s->block && (s->a.n + s->block - 1) / s->block != s->blocks))
            return fail(w->d,
                        "scale has %lld elements, which does not fit axis %lld of length %lld with "
                        "block_size %lld",
                        (long long)s->count, (long long)axis, (long long)s->a.n,
                        (long long)s->block);
    }
    if (per_tensor)
        s->block = 0;
    if (has_operand(c, 2) && tensor_count(c->in[2]) != s->count)
        return fail(w->d, "zero point has %lld elements, expected %lld as the scale has",
                    (long long)tensor_count(c->in[2]), (long long)s->count);
    s->scale = work_doubles(w, scale);
    return s->scale && work_optional(c, w, 2, &s->zero);
}

static int64_t scale_at(const struct scales *s, int64_t outer, int64_t i, int64_t inner)
{
    if (s->block)
        return (outer * s->blocks + i / s->block) * s->a.inner + inner;
    return s->count == 1 ? 0 : i;
}

/* ---- by kernel ---- */

/* Bytes from or to FP32, of which many neighbours have one scale: true when it is done. */
static bool affine_blocks(struct op_call *c, const struct scales *s, enum affine_form form)
{
    enum { FEW = 16 };
    const struct tensor *x = c->in[0], *y = c->out[0];
    const int real = (form == AFFINE_DIVIDE ? x : y)->dtype, bytes = (form == AFFINE_DIVIDE ? y : x)->dtype;
    const int64_t n = s->count == 1 ? tensor_count(x) : s->a.inner;
    if (n < FEW || s->block || real != DT_F32 || (bytes != DT_U8 && bytes != DT_I8) || c->in[1]->dtype != DT_F32 ||
        attr_find(c->attrs, "precision"))
        return false;
    struct affine_tile t = {.form = form, .rows = 1, .n = (size_t)n,
                            .x_type = (enum tile_type)tile_type_of(x->dtype),
                            .y_type = (enum tile_type)tile_type_of(y->dtype)};
    for (int64_t b = 0; b < tensor_count(x) / n; b++) {
        const int64_t k = s->count == 1 ? 0 : b % s->a.n;
        const float scale = (float)s->scale[k], zero = s->zero ? (float)s->zero[k] : 0;
        t.x = (const char *)x->data + (size_t)(b * n) * dtype_bytes(x->dtype);
        t.y = (char *)y->data + (size_t)(b * n) * dtype_bytes(y->dtype);
        t.scale = (struct in_tile){&scale, 0, 0};
        if (form == AFFINE_DIVIDE)
            t.zero = (int)zero;
        else
            t.bias = (struct in_tile){&zero, 0, 0};
        kernels_get()->affine(&t);
    }
    return true;
}

/* ---- quantize_linear ---- */

static bool infer_block(struct infer *f)
{
    int64_t block = attr_int(f->attrs, "block_size", 0);
    return block >= 0 || fail(f->d, "block_size is %lld, expected 0 or more", (long long)block);
}

bool infer_quantize_linear(struct infer *f)
{
    int given = (int)attr_int(f->attrs, "output_dtype", 0);
    int dtype = has_input(f, 2) ? f->in[2].dtype : given ? given : DT_U8;
    if (!dtype_valid(dtype) || dtype == DT_STR || dtype_is_complex(dtype))
        return fail(f->d, "output_dtype is %d, expected an integer or float type", given);
    return infer_block(f) && infer_out(f, 0, dtype, f->in[0].rank, f->in[0].dims);
}

double clamp_to_type(int dtype, double x)
{
    int bits = dtype_info(dtype)->bits;
    bool is_signed = dtype_class(dtype) == DTC_SINT;
    double low = is_signed ? -ldexp(1, bits - 1) : 0, high = ldexp(1, bits - is_signed) - 1;
    return isnan(x) ? 0 : x < low ? low : x > high ? high : x;
}

double requantized(double sum, float x_scale, float w_scale, float y_scale)
{
    float scale = x_scale * w_scale / y_scale;
    return nearbyintf((float)sum * scale);
}

/* x rounded to a float type, as arithmetic in that type gives it. */
static double rounded(int dtype, double x)
{
    uint64_t memory;
    if (dtype == DT_F32)
        return (float)x;
    if (dtype == DT_F64)
        return x;
    dtype_store_f64(dtype, &memory, 0, x);
    return dtype_load_f64(dtype, &memory, 0);
}

static bool quantize_linear(struct op_call *c, struct work *w)
{
    struct scales s;
    struct tensor *y = c->out[0];
    int to = y->dtype, precision = (int)attr_int(c->attrs, "precision", 0);
    bool saturate = attr_int(c->attrs, "saturate", 1) != 0 || to == DT_F4E2M1;
    if (!load_scales(c, w, &s))
        return false;
    if (affine_blocks(c, &s, AFFINE_DIVIDE))
        return true;
    double *x = work_doubles(w, c->in[0]);
    if (!x)
        return false;
    if (!dtype_is_float(precision))
        precision = c->in[1]->dtype == DT_F8E8M0 ? c->in[0]->dtype : c->in[1]->dtype;
    if (!dtype_is_float(precision))
        precision = DT_F32;
    int64_t at = 0;
    for (int64_t o = 0; o < s.a.outer; o++)
        for (int64_t i = 0; i < s.a.n; i++)
            for (int64_t in = 0; in < s.a.inner; in++, at++) {
                int64_t k = scale_at(&s, o, i, in);
                double v = rounded(precision, x[at] / s.scale[k]), zero = s.zero ? s.zero[k] : 0;
                if (isnan(v) && !dtype_is_float(to)) /* as ONNX Runtime */
                    v = -INFINITY;
                x[at] = dtype_is_float(to) ? v + zero : clamp_to_type(to, nearbyint(v) + zero);
            }
    dtype_convert(to, y->data, DT_F64, x, (size_t)at, saturate);
    return true;
}

EVAL_WITH_WORK(quantize_linear)

/* ---- dequantize_linear ---- */

bool infer_dequantize_linear(struct infer *f)
{
    int given = (int)attr_int(f->attrs, "output_dtype", 0), dtype = given ? given : f->in[1].dtype;
    if (!dtype_is_float(dtype))
        return fail(f->d, "output type is %s, expected a float type", dtype_name(dtype));
    return infer_block(f) && infer_out(f, 0, dtype, f->in[0].rank, f->in[0].dims);
}

static bool dequantize_linear(struct op_call *c, struct work *w)
{
    struct scales s;
    if (!load_scales(c, w, &s))
        return false;
    if (affine_blocks(c, &s, AFFINE_SHIFT_SCALE))
        return true;
    double *x = work_doubles(w, c->in[0]);
    if (!x)
        return false;
    int64_t at = 0;
    for (int64_t o = 0; o < s.a.outer; o++)
        for (int64_t i = 0; i < s.a.n; i++)
            for (int64_t in = 0; in < s.a.inner; in++, at++) {
                int64_t k = scale_at(&s, o, i, in);
                x[at] = (x[at] - (s.zero ? s.zero[k] : 0)) * s.scale[k];
            }
    call_store(c, 0, x);
    return true;
}

EVAL_WITH_WORK(dequantize_linear)

/* ---- dynamic_quantize_linear ---- */

bool infer_dynamic_quantize_linear(struct infer *f)
{
    infer_out(f, 1, DT_F32, 0, NULL);
    infer_out(f, 2, DT_U8, 0, NULL);
    return infer_out(f, 0, DT_U8, f->in[0].rank, f->in[0].dims);
}

static bool dynamic_quantize_linear(struct op_call *c, struct work *w)
{
    int64_t n = tensor_count(c->in[0]);
    double *x = work_doubles(w, c->in[0]);
    float low = 0, high = 0;
    if (!x)
        return false;
    for (int64_t i = 0; i < n; i++) {
        low = fminf(low, (float)x[i]);
        high = fmaxf(high, (float)x[i]);
    }
    float scale = (high - low) / 255;
    scale = scale > 0 ? scale : 1; /* all zeros */
    double zero = clamp_to_type(DT_U8, nearbyintf(-low / scale));
    for (int64_t i = 0; i < n; i++)
        x[i] = clamp_to_type(DT_U8, nearbyintf((float)x[i] / scale) + zero);
    double scale_out = scale;
    double *results[] = {x, &scale_out, &zero};
    for (int i = 0; i < 3; i++)
        if (wants_result(c, i))
            call_store(c, i, results[i]);
    return true;
}

EVAL_WITH_WORK(dynamic_quantize_linear)
