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

struct tensor *call_out(struct op_call *c, int i, int dtype, int rank, const int64_t *dims)
{
    if (!wants_result(c, i)) {
        fail_internal(c->env->d, "operator %s: result %d is not wanted", op_name(c->op), i);
        return NULL;
    }
    struct type type = type_tensor(dtype, rank <= MAX_RANK ? rank : 0, dims);
    if (rank <= MAX_RANK && has_type(c->out[i], &type))
        return c->out[i];
    return tensor_alloc_dirty(c->out[i], dtype, rank, dims, c->env->d) ? c->out[i] : NULL;
}

bool own_strings(struct op_call *c, int i)
{
    if (!wants_result(c, i) || c->out[i]->dtype != DT_STR)
        return true;
    struct tensor *out = c->out[i];
    return tensor_set_strings(out, out->rank, out->dims, out->data, c->env->d);
}
