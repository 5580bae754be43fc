#include "runtime/ops/common/indices.h"

bool index_fail(struct op_call *c, const struct tensor *indices, int64_t i, int64_t n)
{
    return fail(c->env->d, "index %lld is out of range for size %lld",
                (long long)tensor_i64(indices, i), (long long)n);
}

bool index_places(struct op_call *c, const struct tensor *indices, int64_t first, int64_t count,
                  int64_t n, int64_t *out)
{
    const char *p = (const char *)indices->data + (size_t)first * dtype_bytes(indices->dtype);
    int64_t outside = 0, at = 0;
    dtype_load_i64n(indices->dtype, p, (size_t)count, out);
    for (int64_t i = 0; i < count; i++) {
        out[i] += n & (out[i] >> 63);
        outside |= out[i] | (n - 1 - out[i]); /* one of them is negative */
    }
    while (outside < 0 && index_place(c, indices, first + at, n, &out[at]))
        at++;
    return outside >= 0;
}
