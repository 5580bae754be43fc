#include "runtime/ops/common/axes.h"

static int normalise(struct diag *d, const int64_t *v, int64_t n, int rank, int *axes)
{
    if (n > rank) {
        fail(d, "%lld axes given for rank %d", (long long)n, rank);
        return AXES_BAD;
    }
    for (int i = 0; i < n; i++) {
        if (v[i] < -rank || v[i] >= rank) {
            fail(d, "axis %lld is out of range for rank %d", (long long)v[i], rank);
            return AXES_BAD;
        }
        axes[i] = (int)(v[i] < 0 ? v[i] + rank : v[i]);
        for (int k = 0; k < i; k++)
            if (axes[k] == axes[i]) {
                fail(d, "axis %d is given twice", axes[i]);
                return AXES_BAD;
            }
    }
    return (int)n;
}

int infer_axes(struct infer *f, int operand, int rank, int *axes)
{
    int count;
    const int64_t *list = attr_ints(f->attrs, "axes", &count);
    int64_t n = count;
    if (operand >= 0 && has_input(f, operand)) {
        if (!infer_constants(f, operand, &list, &n))
            return AXES_UNKNOWN;
    } else if (!attr_find(f->attrs, "axes")) {
        return AXES_ABSENT;
    }
    return normalise(f->d, list, n, rank, axes);
}

int call_axes(struct op_call *c, int operand, int rank, int *axes)
{
    int count;
    const int64_t *list = attr_ints(c->attrs, "axes", &count);
    if (!has_operand(c, operand))
        return list || attr_find(c->attrs, "axes") ? normalise(c->env->d, list, count, rank, axes)
                                                   : AXES_ABSENT;
    int64_t n = tensor_count(c->in[operand]), v[MAX_RANK + 1];
    if (n > MAX_RANK)
        return normalise(c->env->d, NULL, n, rank, axes);
    for (int64_t i = 0; i < n; i++)
        v[i] = tensor_i64(c->in[operand], i);
    return normalise(c->env->d, v, n, rank, axes);
}

int call_axis(const struct op_call *c, const char *name, int64_t otherwise, int rank)
{
    int64_t axis = attr_int(c->attrs, name, otherwise);
    return (int)(axis < 0 ? axis + rank : axis);
}
