#include "runtime/ops/common/order.h"

#include <string.h>

static int compare_f64(double a, double b)
{
    if (a != a || b != b)
        return (a != a) - (b != b);
    return (a > b) - (a < b);
}

static int compare_str(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

int compare_elements(const struct tensor *t, int64_t a, int64_t b)
{
    switch (dtype_class(t->dtype)) {
    case DTC_STRING:
        return compare_str(((const struct str *)t->data)[a], ((const struct str *)t->data)[b]);
    case DTC_FLOAT:
        return compare_f64(tensor_f64(t, a), tensor_f64(t, b));
    case DTC_COMPLEX: {
        int part = t->dtype == DT_C64 ? DT_F32 : DT_F64;
        for (int k = 0; k < 2; k++) {
            int order = compare_f64(dtype_load_f64(part, t->data, (size_t)(2 * a + k)),
                                    dtype_load_f64(part, t->data, (size_t)(2 * b + k)));
            if (order)
                return order;
        }
        return 0;
    }
    case DTC_SINT: {
        int64_t x = tensor_i64(t, a), y = tensor_i64(t, b);
        return (x > y) - (x < y);
    }
    default: {
        uint64_t x = (uint64_t)tensor_i64(t, a), y = (uint64_t)tensor_i64(t, b);
        return (x > y) - (x < y);
    }
    }
}

void sort_indices(int64_t *index, int64_t n, int64_t *scratch,
                  int (*compare)(const void *user, int64_t a, int64_t b), const void *user)
{
    if (n < 2)
        return;
    int64_t half = n / 2;
    sort_indices(index, half, scratch, compare, user);
    sort_indices(index + half, n - half, scratch, compare, user);
    memcpy(scratch, index, sizeof *index * (size_t)half);
    for (int64_t i = 0, j = half, k = 0; i < half; k++)
        if (j < n && compare(user, index[j], scratch[i]) < 0)
            index[k] = index[j++];
        else
            index[k] = scratch[i++];
}

uint64_t rank_key(const struct tensor *x, int64_t i, bool largest)
{
    uint64_t key;
    int class = dtype_class(x->dtype);
    if (class == DTC_FLOAT) {
        double v = tensor_f64(x, i) + 0.0; /* one zero */
        memcpy(&key, &v, sizeof key);
        key = v != v ? UINT64_MAX : key >> 63 ? ~key : key | UINT64_C(1) << 63;
    } else {
        key = (uint64_t)tensor_i64(x, i);
        if (class == DTC_SINT)
            key ^= UINT64_C(1) << 63;
    }
    return largest ? ~key : key;
}
