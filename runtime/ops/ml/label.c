/*
 * label_encode: each element's key is looked up in a sorted index of the keys.
 */
#include "neff/base/sort.h"
#include "runtime/ops/common/numeric.h"

#include <math.h>
#include <string.h>

bool infer_label_encode(struct infer *f)
{
    const struct type *x = &f->in[0];
    if (f->in[1].dtype != x->dtype)
        return fail(f->d, "keys are %s, the operand %s", dtype_name(f->in[1].dtype),
                    dtype_name(x->dtype));
    if (f->in[3].dtype != f->in[2].dtype)
        return fail(f->d, "values are %s, the default %s", dtype_name(f->in[2].dtype),
                    dtype_name(f->in[3].dtype));
    if (dtype_is_complex(x->dtype))
        return fail(f->d, "element type %s is not admitted", dtype_name(x->dtype));
    return infer_out(f, 0, f->in[2].dtype, x->rank, x->dims);
}

/* A key or an element: one of the three, by the class of its type. */
struct key {
    struct str s;
    double f;
    int64_t i;
    int64_t at;
};

static struct key key_of(const struct tensor *t, int64_t at)
{
    struct key k = {.at = at};
    if (t->dtype == DT_STR)
        k.s = ((const struct str *)t->data)[at];
    else if (dtype_is_float(t->dtype))
        k.f = tensor_f64(t, at);
    else
        k.i = tensor_i64(t, at);
    return k;
}

static int compare_keys(const struct key *a, const struct key *b)
{
    size_t min = a->s.n < b->s.n ? a->s.n : b->s.n;
    int c = min ? memcmp(a->s.p, b->s.p, min) : 0;
    if (c || a->s.n != b->s.n)
        return c ? c : a->s.n < b->s.n ? -1 : 1;
    if (a->i != b->i)
        return a->i < b->i ? -1 : 1;
    if (isnan(a->f) || isnan(b->f))
        return isnan(a->f) - isnan(b->f);
    return (a->f > b->f) - (a->f < b->f);
}

static int by_key(const void *a, const void *b) /* of equal keys the last counts: it is put first */
{
    const struct key *x = a, *y = b;
    int c = compare_keys(x, y);
    return c ? c : (x->at < y->at) - (x->at > y->at);
}

static int64_t find(const struct key *keys, int64_t n, const struct key *k)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (compare_keys(&keys[mid], k) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && !compare_keys(&keys[low], k) ? keys[low].at : -1;
}

static bool label_encode(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0], *values = c->in[2];
    struct tensor *y = c->out[0];
    int64_t n = tensor_count(x), count = tensor_count(c->in[1]);
    size_t bytes = dtype_bytes(y->dtype);
    if (tensor_count(values) != count || tensor_count(c->in[3]) < 1)
        return fail(
            w->d,
            "%lld keys, %lld values, %lld defaults; expected as many values as keys and a default",
            (long long)count, (long long)tensor_count(values), (long long)tensor_count(c->in[3]));
    struct key *keys = WORK(w, struct key, count);
    if (!keys)
        return false;
    for (int64_t i = 0; i < count; i++)
        keys[i] = key_of(c->in[1], i);
    sort_items(keys, (size_t)count, sizeof *keys, by_key);
    for (int64_t i = 0; i < n; i++) {
        struct key k = key_of(x, i);
        int64_t at = find(keys, count, &k);
        if (at < 0 && attr_int(c->attrs, "strict", 0))
            return fail(w->d, "element %lld is none of the %lld categories", (long long)i,
                        (long long)count);
        memcpy((char *)y->data + (size_t)i * bytes,
               at < 0 ? c->in[3]->data : (const char *)values->data + (size_t)at * bytes, bytes);
    }
    return own_strings(c, 0);
}

EVAL_WITH_WORK(label_encode)
