#include "runtime/ops/indices.h"

bool index_place(struct op_call *c, const struct tensor *indices, int64_t i, int64_t n,
                 int64_t *out)
{
    int64_t v = tensor_i64(indices, i);
    *out = v < 0 ? v + n : v;
    if (*out >= 0 && *out < n)
        return true;
    return fail(c->env->d, "index %lld is out of range for size %lld", (long long)v, (long long)n);
}
