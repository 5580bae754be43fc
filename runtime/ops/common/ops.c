/*
 * What routines call.
 */
#include "runtime/ops/common/ops.h"

bool has_type(const struct tensor *t, const struct type *type)
{
    if (t->kind != VK_TENSOR || t->dtype != type->dtype || t->rank != type->rank)
        return false;
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] != type->dims[i])
            return false;
    return true;
}

bool call_may_take(struct op_call *c, int dtype, int rank, const int64_t *dims)
{
    int64_t max = c->env->max_bytes, bytes = (int64_t)dtype_bytes(dtype);
    bool fits = true, empty = false;
    for (int i = 0; i < rank; i++) {
        fits = fits && !__builtin_mul_overflow(bytes, dims[i], &bytes);
        empty |= dims[i] == 0;
    }
    if (max <= 0 || empty || (fits && bytes <= max))
        return true;
    return fits ? fail(c->env->d, "a result needs %lld bytes, the limit is %lld", (long long)bytes, (long long)max)
                : fail(c->env->d, "a result needs more bytes than can be counted, the limit is %lld", (long long)max);
}

struct tensor *call_out(struct op_call *c, int i, int dtype, int rank, const int64_t *dims)
{
    if (!wants_result(c, i)) {
        fail_internal(c->env->d, "operator %s: result %d is not wanted", op_name(c->op), i);
        return NULL;
    }
    struct type type = type_tensor(dtype, rank <= MAX_RANK ? rank : 0, dims);
    if (rank <= MAX_RANK && has_type(c->out[i], &type))
        return c->out[i];
    if (rank <= MAX_RANK && !call_may_take(c, dtype, rank, dims))
        return NULL;
    return tensor_alloc_dirty(c->out[i], dtype, rank, dims, c->env->d) ? c->out[i] : NULL;
}

bool own_strings(struct op_call *c, int i)
{
    if (!wants_result(c, i) || c->out[i]->dtype != DT_STR)
        return true;
    struct tensor *out = c->out[i];
    return tensor_set_strings(out, out->rank, out->dims, out->data, c->env->d);
}
