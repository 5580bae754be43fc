#include "backend/lower/numbers.h"

int read_numbers(struct lowering *l, struct value *v, dim_t *out, int max)
{
    v = outer_value(l, v);
    if (!v || v->type.kind != VK_TENSOR)
        return -1;
    if (v->constant && dtype_is_int(v->constant->dtype)) {
        int64_t n = tensor_count(v->constant);
        for (int64_t i = 0; i < n && n <= max; i++) {
            out[i] = tensor_i64(v->constant, i);
            if (!dim_is_const(out[i]))
                return -1;
        }
        return n <= max ? (int)n : -1;
    }
    if (v->content.n < 0 || v->content.n > max)
        return -1;
    for (int64_t i = 0; i < v->content.n; i++) {
        out[i] = v->content.v[i];
        if (!dim_is_known(l, out[i]))
            return -1;
    }
    return (int)v->content.n;
}

int zero_slot(struct lowering *l, int dtype)
{
    int64_t one = 1;
    char *data = arena_alloc(&l->g->arena, 64);
    for (int i = 0; i < 64; i++)
        data[i] = 0;
    struct tensor t = tensor_view(dtype, 1, &one, data);
    return constant_slot(l, &t, NULL);
}
