#include "runtime/ops/common/radix.h"

#include <string.h>

bool has_key(int dtype)
{
    return dtype_is_float(dtype) || dtype_is_int(dtype) || dtype == DT_BOOL;
}

/* ---- keys ---- */

/* Floats of any format by their code: magnitudes rise with it, a sign turns them round. */
static uint64_t float_key(uint64_t code, uint64_t sign)
{
    return code & sign ? ~code & (2 * sign - 1) : code | sign;
}

static void float_keys(const struct tensor *t, int64_t first, int64_t step, int64_t n,
                       bool canonical, uint64_t *keys)
{
    const struct float_format *f = float_format(t->dtype);
    size_t bytes = dtype_bytes(t->dtype);
    uint64_t sign = UINT64_C(1) << (f->exp_bits + f->man_bits);
    for (int64_t i = 0; i < n; i++) {
        uint64_t code = 0;
        int64_t at = first + i * step;
        memcpy(&code, (const char *)t->data + (size_t)at * bytes, bytes);
        double v = canonical ? dtype_load_f64(t->dtype, t->data, (size_t)at) : 1;
        if (f->nan == 3 && code == sign) /* "fnuz": the only NaN, below all */
            keys[i] = 0;
        else
            keys[i] = v != v    ? 2 * sign - 1
                      : v == 0  ? sign
                      : f->sign ? float_key(code, sign)
                                : code;
    }
}

static void f32_keys(const float *x, int64_t step, int64_t n, bool canonical, uint64_t *keys)
{
    for (int64_t i = 0; i < n; i++) {
        float v = x[i * step];
        uint32_t code, nan = canonical && v != v ? UINT32_MAX : 0;
        v = canonical ? v + 0.0f : v; /* -0 + 0 is 0 */
        memcpy(&code, &v, sizeof code);
        uint32_t flip = (0 - (code >> 31)) | UINT32_C(1) << 31; /* no branch: signs come in no order */
        keys[i] = (code ^ flip) | nan;
    }
}

static void integer_keys(const struct tensor *t, int64_t first, int64_t step, int64_t n,
                         uint64_t *keys)
{
    bool is_signed = dtype_class(t->dtype) == DTC_SINT;
    bool wide = dtype_info(t->dtype)->bits > 32;
    uint64_t flip = !is_signed ? 0 : wide ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
    uint64_t mask = wide ? UINT64_MAX : UINT32_MAX;
    if (t->dtype == DT_I32) {
        const int32_t *x = (const int32_t *)t->data + first;
        for (int64_t i = 0; i < n; i++)
            keys[i] = (uint32_t)x[i * step] ^ UINT32_C(1) << 31;
        return;
    }
    for (int64_t i = 0; i < n; i++)
        keys[i] = ((uint64_t)tensor_i64(t, first + i * step) & mask) ^ flip;
}

void order_keys(const struct tensor *t, int64_t first, int64_t step, int64_t n, int order,
                uint64_t *keys)
{
    bool canonical = order & KEY_CANONICAL;
    if (t->dtype == DT_F32)
        f32_keys((const float *)t->data + first, step, n, canonical, keys);
    else if (dtype_is_float(t->dtype))
        float_keys(t, first, step, n, canonical, keys);
    else
        integer_keys(t, first, step, n, keys);
    uint64_t mask = dtype_info(t->dtype)->bits > 32 ? UINT64_MAX : UINT32_MAX;
    for (int64_t i = 0; order & KEY_DESCENDING && i < n; i++)
        keys[i] ^= mask;
}

/* ---- sorting ---- */

enum { SHORT = 24, MERGED = 1024, DIGIT = 8, VALUES = 1 << DIGIT };

static void insert_sorted(uint64_t *v, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        uint64_t x = v[i];
        int64_t at = i;
        for (; at && v[at - 1] > x; at--)
            v[at] = v[at - 1];
        v[at] = x;
    }
}

/* Of numbers that all differ. */
static void merge_sort(uint64_t *v, int64_t n, uint64_t *scratch)
{
    if (n <= SHORT) {
        insert_sorted(v, n);
        return;
    }
    int64_t half = n / 2;
    merge_sort(v, half, scratch);
    merge_sort(v + half, n - half, scratch);
    memcpy(scratch, v, sizeof *v * (size_t)half);
    for (int64_t i = 0, j = half, k = 0; i < half; k++) {
        uint64_t a = scratch[i], b = j < n ? v[j] : UINT64_MAX;
        bool right = b < a;
        v[k] = right ? b : a;
        j += right;
        i += !right;
    }
}

/* Keys of `digits` digits, from the lowest on; digits that all have in common are left out. */
static void radix_sort(uint64_t *v, int64_t n, int shift, int digits, uint64_t *scratch)
{
    uint64_t *from = v, *to = scratch;
    for (int d = 0; d < digits; d++, shift += DIGIT) {
        int64_t count[VALUES] = {0}, at = 0;
        for (int64_t i = 0; i < n; i++)
            count[from[i] >> shift & (VALUES - 1)]++;
        if (count[from[0] >> shift & (VALUES - 1)] == n)
            continue;
        for (int k = 0; k < VALUES; k++) {
            int64_t here = count[k];
            count[k] = at;
            at += here;
        }
        for (int64_t i = 0; i < n; i++)
            to[count[from[i] >> shift & (VALUES - 1)]++] = from[i];
        uint64_t *other = from;
        from = to, to = other;
    }
    if (from != v)
        memcpy(v, from, sizeof *v * (size_t)n);
}

void sort_packed(uint64_t *v, int64_t n, bool rising, uint64_t *scratch)
{
    int from = rising ? 32 : 0;
    if (n <= MERGED)
        merge_sort(v, n, scratch);
    else
        radix_sort(v, n, from, (64 - from) / DIGIT, scratch);
}

void select_min(uint64_t *v, int64_t n, int64_t k)
{
    for (int shift = 64 - DIGIT; shift >= 0 && k > 0 && k < n; shift -= DIGIT) {
        int64_t count[VALUES] = {0}, below = 0;
        unsigned pivot = 0;
        for (int64_t i = 0; i < n; i++)
            count[v[i] >> shift & (VALUES - 1)]++;
        while (below + count[pivot] < k)
            below += count[pivot++];
        /* those below the digit of the k-th go to the front; then those of that digit */
        int64_t less = 0, same = 0;
        for (int64_t i = 0; i < n; i++) {
            uint64_t x = v[i];
            unsigned digit = x >> shift & (VALUES - 1);
            if (digit > pivot)
                continue;
            v[i] = v[less + same];
            if (digit < pivot) {
                v[less + same] = v[less];
                v[less++] = x;
            } else {
                v[less + same++] = x;
            }
        }
        v += below, k -= below, n = same;
    }
}

void sort_by_keys(const uint64_t *keys, int64_t *order, int64_t n, int64_t *scratch)
{
    if (n < 2)
        return;
    int64_t half = n / 2;
    sort_by_keys(keys, order, half, scratch);
    sort_by_keys(keys, order + half, n - half, scratch);
    memcpy(scratch, order, sizeof *order * (size_t)half);
    for (int64_t i = 0, j = half, k = 0; i < half; k++)
        order[k] = j < n && keys[order[j]] < keys[scratch[i]] ? order[j++] : scratch[i++];
}
