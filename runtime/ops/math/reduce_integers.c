#include "runtime/ops/math/reduce_integers.h"

#include "runtime/kernels/kernels.h"

#include <string.h>

enum { MIN_ROW = 24, PART = 1024 };

static integer_fn kernel_of(enum op op, int dtype)
{
    static const struct {
        enum op op;
        enum kernel_integer f;
    } rows[] = {{OP_reduce_sum, INTEGER_add},
                {OP_reduce_prod, INTEGER_mul},
                {OP_reduce_max, INTEGER_max},
                {OP_reduce_min, INTEGER_min}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op)
            return kernels_integer(kernels_get(), rows[i].f, dtype);
    return NULL;
}

/* *z = *z f each of n neighbours: rows are folded onto themselves, half upon half. */
static void fold_row(integer_fn f, char *z, const char *x, int64_t n, size_t bytes)
{
    uint64_t part[PART];
    char *const p = (char *)part;
    int64_t m = n;
    if (n > PART) {
        memcpy(p, x, PART * bytes);
        for (int64_t at = PART; at < n; at += PART)
            f(p, 1, p, 1, x + (size_t)at * bytes, 1, (size_t)(n - at < PART ? n - at : PART));
        m = PART, x = p;
    }
    for (int64_t half = m / 2; half > 0; x = p, m = half, half = m / 2) {
        if (m % 2)
            f(z, 1, z, 1, x + (size_t)(m - 1) * bytes, 1, 1);
        f(p, 1, x, 1, x + (size_t)half * bytes, 1, (size_t)half);
    }
    f(z, 1, z, 1, x, 1, 1);
}

bool reduce_integers_by_rows(enum op op, const struct walk *dims, const struct tensor *x, struct tensor *z)
{
    struct walk walk = *dims, *const w = &walk;
    const size_t bytes = dtype_bytes(x->dtype);
    integer_fn f = kernel_of(op, x->dtype == DT_BOOL ? DT_U8 : x->dtype);
    walk_start(w);
    if (!f || x->dtype != z->dtype || w->done || w->count < MIN_ROW || w->step[0] != 1 || w->step[1] > 1)
        return false;
    for (; !w->done; walk_next(w)) {
        const char *from = (const char *)x->data + (size_t)w->offset[0] * bytes;
        char *to = (char *)z->data + (size_t)w->offset[1] * bytes;
        if (w->step[1])
            f(to, 1, to, 1, from, 1, (size_t)w->count);
        else
            fold_row(f, to, from, w->count, bytes);
    }
    uint8_t *truths = z->data;
    for (int64_t i = 0, n = tensor_count(z); x->dtype == DT_BOOL && i < n; i++)
        truths[i] = truths[i] != 0;
    return true;
}
