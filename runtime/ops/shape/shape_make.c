/*
 * Tensors made from their shape or from an index: ranges, constants, diagonals.
 */
#include "runtime/ops/common/axes.h"
#include "runtime/ops/common/content.h"

#include <math.h>
#include <string.h>

/* ---- range ---- */

static bool range_type(struct diag *d, int dtype)
{
    if (dtype_is_float(dtype) || dtype_is_int(dtype))
        return true;
    return fail(d, "element type %s is not admitted", dtype_name(dtype));
}

bool infer_range(struct infer *f)
{
    struct content start = infer_content(f, 0), limit = infer_content(f, 1);
    int dtype = f->in[0].dtype;
    int64_t delta;
    if (!range_type(f->d, dtype))
        return false;
    if (f->in[1].dtype != dtype || f->in[2].dtype != dtype)
        return fail(f->d, "start, limit and delta have different element types");
    if (start.n != 1 || limit.n != 1 || !infer_scalar(f, 2, &delta)) {
        dim_t unknown = infer_unknown(f, "range");
        return infer_out(f, 0, dtype, 1, &unknown);
    }
    if (delta == 0)
        return fail(f->d, "a delta of 0");
    dim_t way = delta > 0 ? dim_sub(f->dims, limit.v[0], start.v[0])
                          : dim_sub(f->dims, start.v[0], limit.v[0]);
    dim_t n = dim_max(f->dims, dim_ceildiv(f->dims, way, delta > 0 ? delta : -delta), 0);
    infer_out(f, 0, dtype, 1, &n);
    if (!f->result || !dim_is_const(n) || n > MAX_CONTENT)
        return true;
    dim_t *z = ARENA_ARRAY(f->arena, dim_t, n ? n : 1);
    for (int64_t i = 0; i < n; i++)
        z[i] = dim_add(f->dims, start.v[0], i * delta);
    infer_set_content(f, 0, z, n);
    return true;
}

static bool range_floats(struct op_call *c)
{
    double start = tensor_f64(c->in[0], 0), limit = tensor_f64(c->in[1], 0);
    double delta = tensor_f64(c->in[2], 0), count = ceil((limit - start) / delta);
    int dtype = c->in[0]->dtype;
    if (dtype == DT_F32) /* as many elements as arithmetic in the type itself gives */
        count = ceilf(((float)limit - (float)start) / (float)delta);
    if (!(delta != 0) || !(count < 9e15))
        return fail(c->env->d, "no range from %g to %g by %g", start, limit, delta);
    int64_t n = count > 0 ? (int64_t)count : 0;
    struct tensor *z = call_out(c, 0, dtype, 1, &n);
    for (int64_t i = 0; z && i < n; i++)
        dtype_store_f64(dtype, z->data, (size_t)i, start + (double)i * delta);
    return z != NULL;
}

/* Distance from a to b >= a, which may exceed the signed type. */
static uint64_t distance(int64_t a, int64_t b)
{
    return (uint64_t)b - (uint64_t)a;
}

bool eval_range(struct op_call *c)
{
    int dtype = c->in[0]->dtype;
    if (!range_type(c->env->d, dtype))
        return false;
    for (int i = 0; i < 3; i++)
        if (c->in[i]->kind != VK_TENSOR || c->in[i]->dtype != dtype || tensor_count(c->in[i]) != 1)
            return fail(c->env->d, "start, limit and delta are to be one element of the same type");
    if (dtype_is_float(dtype))
        return range_floats(c);
    int64_t start = tensor_i64(c->in[0], 0), limit = tensor_i64(c->in[1], 0);
    int64_t delta = tensor_i64(c->in[2], 0);
    bool is_signed = dtype_class(dtype) == DTC_SINT, down = is_signed && delta < 0;
    if (delta == 0)
        return fail(c->env->d, "a delta of 0");
    int64_t low = down ? limit : start, high = down ? start : limit;
    bool empty = is_signed ? low >= high : (uint64_t)low >= (uint64_t)high;
    uint64_t by = down ? 0 - (uint64_t)delta : (uint64_t)delta;
    uint64_t count = empty ? 0 : (distance(low, high) - 1) / by + 1;
    int64_t n = count > INT64_MAX ? INT64_MAX : (int64_t)count;
    struct tensor *z = call_out(c, 0, dtype, 1, &n);
    for (int64_t i = 0; z && i < n; i++)
        dtype_store_i64(dtype, z->data, (size_t)i,
                        (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)delta));
    return z != NULL;
}

/* ---- constant_of_shape, iota ---- */

static bool check_dims(struct infer *f, const struct type *t)
{
    for (int i = 0; i < t->rank; i++)
        if (dim_is_const(t->dims[i]) && t->dims[i] < 0)
            return fail(f->d, "dimension %d is %lld", i, (long long)t->dims[i]);
    return !diag_failed(f->d);
}

bool infer_constant_of_shape(struct infer *f)
{
    const struct tensor *value = attr_tensor(f->attrs, "value");
    struct type out = {.kind = VK_TENSOR, .dtype = value ? value->dtype : DT_F32};
    if (value && tensor_count(value) != 1)
        return fail(f->d, "value has %lld elements, expected one", (long long)tensor_count(value));
    bool known = content_shape(f, 0, &out);
    if (!check_dims(f, &out))
        return false;
    f->out[0] = out;
    int64_t n = content_size(&out);
    if (!f->result || !known || n < 0 || !value ||
        (!dtype_is_int(value->dtype) && value->dtype != DT_BOOL))
        return true;
    dim_t *z = ARENA_ARRAY(f->arena, dim_t, n ? n : 1);
    for (int64_t i = 0; i < n; i++)
        z[i] = content_clamp(tensor_i64(value, 0));
    infer_set_content(f, 0, z, n);
    return true;
}

bool eval_constant_of_shape(struct op_call *c)
{
    const struct tensor *value = attr_tensor(c->attrs, "value");
    struct tensor *z = c->out[0];
    size_t bytes = dtype_bytes(z->dtype);
    int64_t n = tensor_count(z);
    if (!value) {
        memset(z->data, 0, (size_t)n * bytes);
        return true;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)z->data + (size_t)i * bytes, value->data, bytes);
    return own_strings(c, 0);
}

bool infer_iota(struct infer *f)
{
    int64_t dtype = attr_int(f->attrs, "dtype", DT_I64);
    int axis, count;
    const int64_t *shape = attr_ints(f->attrs, "shape", &count);
    struct type out = {.kind = VK_TENSOR, .dtype = (uint8_t)dtype};
    if (dtype <= 0 || dtype >= DT_END || !dtype_valid((int)dtype) || dtype == DT_STR)
        return fail(f->d, "dtype is %lld, which is not an element type with numbers",
                    (long long)dtype);
    if (has_input(f, 0)) {
        content_shape(f, 0, &out);
    } else {
        if (count > MAX_RANK)
            return fail(f->d, "a shape of rank %d, expected %d at most", count, MAX_RANK);
        out.rank = (int8_t)count;
        for (int i = 0; i < count; i++)
            out.dims[i] = shape[i];
    }
    if (!check_dims(f, &out))
        return false;
    if (out.rank >= 0 && !infer_axis(f, attr_int(f->attrs, "axis", 0), out.rank, &axis))
        return false;
    f->out[0] = out;
    int64_t n = content_size(&out);
    if (!f->result || out.rank != 1 || n < 0 || !dtype_is_int(out.dtype))
        return true;
    dim_t *z = ARENA_ARRAY(f->arena, dim_t, n ? n : 1);
    for (int64_t i = 0; i < n; i++)
        if (!content_fits(out.dtype, z[i] = i))
            return true;
    infer_set_content(f, 0, z, n);
    return true;
}

bool eval_iota(struct op_call *c)
{
    struct tensor *z = c->out[0];
    int axis = call_axis(c, "axis", 0, z->rank);
    int64_t inner = dims_product(z->dims, axis + 1, z->rank), size = z->dims[axis];
    for (int64_t i = 0, n = tensor_count(z); i < n; i++) {
        int64_t v = i / inner % size;
        if (dtype_is_complex(z->dtype))
            dtype_store_f64(z->dtype, z->data, (size_t)i, (double)v);
        else
            dtype_store_i64(z->dtype, z->data, (size_t)i, v);
    }
    return true;
}

/* ---- eye_like, trilu ---- */

bool infer_eye_like(struct infer *f)
{
    const struct type *x = &f->in[0];
    int64_t dtype = attr_int(f->attrs, "dtype", x->dtype);
    if (x->rank >= 0 && x->rank != 2)
        return fail(f->d, "operand has rank %d, expected 2", x->rank);
    if (dtype <= 0 || dtype >= DT_END || !dtype_valid((int)dtype) || dtype == DT_STR)
        return fail(f->d, "dtype is %lld, which is not an element type with numbers",
                    (long long)dtype);
    f->out[0] = *x;
    f->out[0].dtype = (uint8_t)dtype;
    return true;
}

bool eval_eye_like(struct op_call *c)
{
    struct tensor *z = c->out[0];
    int64_t k = attr_int(c->attrs, "k", 0), rows = z->dims[0], columns = z->dims[1];
    memset(z->data, 0, tensor_bytes(z));
    for (int64_t i = 0; i < rows; i++)
        if (k > -rows && k < columns && i + k >= 0 && i + k < columns)
            dtype_store_f64(z->dtype, z->data, (size_t)(i * columns + i + k), 1);
    return true;
}

bool infer_trilu(struct infer *f)
{
    if (f->in[0].rank >= 0 && f->in[0].rank < 2)
        return fail(f->d, "operand has rank %d, expected 2 or more", f->in[0].rank);
    f->out[0] = f->in[0];
    return true;
}

bool eval_trilu(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    bool upper = attr_int(c->attrs, "upper", 1);
    if (has_operand(c, 1) && tensor_count(c->in[1]) != 1)
        return fail(c->env->d, "k has %lld elements, expected one",
                    (long long)tensor_count(c->in[1]));
    int64_t k = has_operand(c, 1) ? tensor_i64(c->in[1], 0) : 0;
    int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    k = k > columns ? columns : k < -rows ? -rows : k;
    size_t bytes = dtype_bytes(x->dtype), row = (size_t)columns * bytes;
    const char *from = x->data;
    char *to = c->out[0]->data;
    int64_t lines = row ? tensor_count(x) / columns : 0;
    for (int64_t i = 0; i < lines; i++, from += row, to += row) {
        int64_t first = i % rows + k + !upper; /* column from which on the other part lies */
        size_t left = (size_t)(first < 0 ? 0 : first > columns ? columns : first) * bytes;
        if (to != from)
            memcpy(upper ? to + left : to, upper ? from + left : from, upper ? row - left : left);
        memset(upper ? to : to + left, 0, upper ? left : row - left);
    }
    return own_strings(c, 0);
}
