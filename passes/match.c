#include "passes/match.h"

#include <math.h>
#include <string.h>

bool constant_number(const struct value *v, double *out)
{
    const struct tensor *t = v ? v->constant : NULL;
    if (!t || t->kind != VK_TENSOR || t->dtype == DT_STR || dtype_is_complex(t->dtype))
        return false;
    int64_t n = tensor_count(t);
    if (n < 1)
        return false;
    *out = tensor_f64(t, 0);
    size_t width = dtype_bytes(t->dtype);
    for (int64_t i = 1; i < n; i++)
        if (memcmp((const char *)t->data + (size_t)i * width, t->data, width))
            return false;
    return true;
}

bool is_one_integer(const struct value *v)
{
    if (!is_tensor(v) || (v->type.dtype != DT_I32 && v->type.dtype != DT_I64) || !type_is_static(&v->type))
        return false;
    for (int i = 0; i < v->type.rank; i++)
        if (v->type.dims[i] != 1)
            return false;
    return true;
}

bool constant_is(const struct value *v, double expected)
{
    double x;
    if (!constant_number(v, &x))
        return false;
    const struct float_format *f = float_format(v->constant->dtype);
    double unit = f ? ldexp(1.0, -f->man_bits) : 0;
    if (unit < 1e-6)
        unit = f ? 1e-6 : 0; /* models spell constants with six or seven digits */
    return fabs(x - expected) <= unit * fabs(expected);
}

bool same_type(const struct value *a, const struct value *b)
{
    return a->type.kind == VK_TENSOR && a->type.rank >= 0 && type_equal(&a->type, &b->type);
}

int reduction_axes(const struct node *n, int *axes)
{
    int rank = n->in[0]->type.rank, count = 0, given;
    bool marked[MAX_RANK] = {false};
    const int64_t *list = attr_ints(&n->attrs, "axes", &given);
    int64_t single = attr_int(&n->attrs, "axes", 0);
    if (n->in[0]->type.kind != VK_TENSOR || rank < 0)
        return -1;
    if (n->nin > 1 && n->in[1]) {
        const struct tensor *t = n->in[1]->constant;
        if (!t || t->dtype != DT_I64)
            return -1;
        list = t->data;
        given = (int)tensor_count(t);
    } else if (!list && attr_find(&n->attrs, "axes")) {
        list = &single;
        given = 1;
    }
    if (!given && attr_int(&n->attrs, "noop_with_empty_axes", 0))
        return -1;
    for (int i = 0; i < given; i++) {
        int64_t axis = list[i] < 0 ? list[i] + rank : list[i];
        if (axis < 0 || axis >= rank)
            return -1;
        marked[axis] = true;
    }
    for (int i = 0; i < rank; i++)
        if (marked[i] || !given)
            axes[count++] = i;
    return count;
}
