#include "runtime/ops/common/content.h"

#include "runtime/ops/common/elementwise.h"

int64_t content_size(const struct type *t)
{
    if (!type_is_static(t))
        return -1;
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) {
        if (t->dims[i] < 0 || t->dims[i] > MAX_CONTENT)
            return -1;
        n *= t->dims[i];
        if (n > MAX_CONTENT)
            return -1;
    }
    return n;
}

dim_t content_at(const struct infer *f, int k, struct content c, int64_t i)
{
    const struct type *in = &f->in[k], *out = &f->out[0];
    int64_t at = 0, stride = 1;
    for (int d = out->rank - 1, e = in->rank - 1; e >= 0; d--, e--) {
        int64_t n = out->dims[d], place = i % n;
        i /= n;
        if (in->dims[e] != 1) {
            at += place * stride;
            stride *= n;
        }
    }
    return at < c.n ? c.v[at] : 0;
}

bool content_fits(int dtype, dim_t v)
{
    const struct dtype_info *t = dtype_info(dtype);
    if (!dim_is_const(v))
        return true;
    if (t->cls == DTC_BOOL)
        return v == 0 || v == 1;
    if (t->cls == DTC_UINT)
        return v >= 0 && (t->bits >= 63 || v < INT64_C(1) << t->bits);
    if (t->bits >= 64)
        return true;
    return v >= -(INT64_C(1) << (t->bits - 1)) && v < INT64_C(1) << (t->bits - 1);
}

bool content_moderate(dim_t v)
{
    return !dim_is_const(v) || (v > -(INT64_C(1) << 60) && v < INT64_C(1) << 60);
}

static bool constant_element(const struct infer *f, dim_t x, dim_t y, dim_t *z)
{
    const struct ew_row *row = ew_row(f->op);
    int class = dtype_class(f->in[0].dtype);
    int64_t result;
    if (class == DTC_SINT && row->sn)
        row->sn(&x, &y, &result, 1);
    else if (class != DTC_SINT && row->un)
        row->un((const uint64_t *)&x, (const uint64_t *)&y, (uint64_t *)&result, 1);
    else
        return false;
    if (f->out[0].dtype == DT_BOOL)
        result = result != 0;
    *z = result;
    return content_moderate(result) && content_fits(f->out[0].dtype, result);
}

static dim_t quotient(struct dim_table *t, dim_t x, dim_t y)
{
    return y == 0 ? 0 : dim_floordiv(t, x, y);
}

/* x / y towards 0, from the parts of both that are and are not negative: one of each pair is 0. */
static dim_t truncated(struct dim_table *t, dim_t x, dim_t y)
{
    const dim_t above = dim_max(t, x, 0), below = dim_max(t, dim_mul(t, x, -1), 0);
    const dim_t up = dim_max(t, y, 0), down = dim_max(t, dim_mul(t, y, -1), 0);
    return dim_sub(t, dim_add(t, quotient(t, above, up), quotient(t, below, down)),
                   dim_add(t, quotient(t, below, up), quotient(t, above, down)));
}

static bool not_negative(const struct infer *f, dim_t d)
{
    int64_t low, high;
    dim_bounds(f->dims, d, &low, &high);
    return low >= 0;
}

/* Truncating division of integers is floor division where both are known not to be negative. */
static bool divide(struct infer *f, dim_t x, dim_t y, dim_t *z)
{
    const bool plain = not_negative(f, x) && not_negative(f, y);
    if (y == 0 || (!plain && dtype_class(f->in[0].dtype) != DTC_SINT))
        return false;
    *z = plain ? dim_floordiv(f->dims, x, y) : truncated(f->dims, x, y);
    return true;
}

static bool modulo(struct infer *f, dim_t x, dim_t y, dim_t *z)
{
    const bool plain = not_negative(f, y) && (f->op == OP_mod || not_negative(f, x));
    if (y == 0 || (!plain && dtype_class(f->in[0].dtype) != DTC_SINT))
        return false;
    *z = plain || f->op == OP_mod ? dim_mod(f->dims, x, y)
                                  : dim_sub(f->dims, x, dim_mul(f->dims, truncated(f->dims, x, y), y));
    return true;
}

/* A comparison that holds, or fails, for every value of the symbols. */
static bool compare(struct infer *f, dim_t x, dim_t y, dim_t *z)
{
    int64_t low, high;
    dim_bounds(f->dims, dim_sub(f->dims, x, y), &low, &high); /* of x - y */
    bool always, never;
    switch (f->op) {
    case OP_eq:
    case OP_ne:
        always = low == 0 && high == 0, never = low > 0 || high < 0;
        break;
    case OP_lt:
    case OP_ge:
        always = high < 0, never = low >= 0;
        break;
    default:
        always = high <= 0, never = low > 0;
    }
    *z = always == (f->op == OP_eq || f->op == OP_lt || f->op == OP_le);
    return always || never;
}

static bool symbolic_element(struct infer *f, dim_t x, dim_t y, dim_t *z)
{
    int64_t low, high;
    switch (f->op) {
    case OP_add:
        *z = dim_add(f->dims, x, y);
        return true;
    case OP_sub:
        *z = dim_sub(f->dims, x, y);
        return true;
    case OP_mul:
        *z = dim_mul(f->dims, x, y);
        return true;
    case OP_square:
        *z = dim_mul(f->dims, x, x);
        return true;
    case OP_neg:
        *z = dim_mul(f->dims, x, -1);
        return true;
    case OP_abs:
        dim_bounds(f->dims, x, &low, &high);
        *z = low >= 0 ? x : dim_max(f->dims, x, dim_mul(f->dims, x, -1));
        return true;
    case OP_relu:
        *z = dim_max(f->dims, x, 0);
        return true;
    case OP_wrap_index:
        dim_bounds(f->dims, x, &low, &high);
        *z = low >= 0 ? x : dim_add(f->dims, x, y);
        return low >= 0 || high < 0;
    case OP_div:
        return divide(f, x, y, z);
    case OP_rem:
    case OP_mod:
        return modulo(f, x, y, z);
    case OP_max:
        *z = dim_max(f->dims, x, y);
        return true;
    case OP_min:
        *z = dim_min(f->dims, x, y);
        return true;
    case OP_eq:
    case OP_ne:
    case OP_lt:
    case OP_le:
    case OP_gt:
    case OP_ge:
        return compare(f, x, y, z);
    default:
        return false;
    }
}

static bool element(struct infer *f, dim_t x, dim_t y, dim_t *z)
{
    if (f->op == OP_identity) {
        *z = x;
        return true;
    }
    if (!content_moderate(x) || !content_moderate(y))
        return false;
    if (dim_is_const(x) && dim_is_const(y))
        return constant_element(f, x, y, z);
    return symbolic_element(f, x, y, z);
}

void content_elementwise(struct infer *f, struct content x, struct content y)
{
    int64_t n = content_size(&f->out[0]);
    if (n < 0 || x.n < 0 || (f->nin > 1 && y.n < 0))
        return;
    dim_t *z = ARENA_ARRAY(f->arena, dim_t, n ? n : 1);
    for (int64_t i = 0; i < n; i++)
        if (!element(f, content_at(f, 0, x, i), f->nin > 1 ? content_at(f, 1, y, i) : 0, &z[i]))
            return;
    infer_set_content(f, 0, z, n);
}

void content_pass(struct infer *f)
{
    struct content x;
    if (f->result && (x = infer_content(f, 0)).n >= 0)
        infer_set_content(f, 0, x.v, x.n);
}

bool content_shape(struct infer *f, int operand, struct type *out)
{
    struct content shape = infer_content(f, operand);
    const struct type *t = &f->in[operand];
    if (shape.n > MAX_RANK) {
        out->rank = 0;
        return fail(f->d, "a shape of rank %lld, expected %d at most", (long long)shape.n,
                    MAX_RANK);
    }
    if (shape.n >= 0) {
        out->rank = (int8_t)shape.n;
        for (int64_t i = 0; i < shape.n; i++)
            out->dims[i] = shape.v[i];
        return true;
    }
    out->rank = RANK_UNKNOWN;
    if (t->rank == 1 && dim_is_const(t->dims[0]) && t->dims[0] >= 0 && t->dims[0] <= MAX_RANK) {
        out->rank = (int8_t)t->dims[0];
        for (int i = 0; i < out->rank; i++)
            out->dims[i] = infer_unknown(f, op_name(f->op));
    }
    return false;
}
