#include "runtime/io/compare.h"

#include <math.h>
#include <string.h>

static double part(const struct tensor *t, int64_t i)
{
    if (t->dtype == DT_C64)
        return ((const float *)t->data)[i];
    if (t->dtype == DT_C128)
        return ((const double *)t->data)[i];
    return tensor_f64(t, i);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool compare_norm(const struct tensor *out, const struct tensor *ref, int64_t n, double tol,
                         struct diag *d)
{
    double max = 0, scale = 0;
    int64_t where = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = part(out, i), y = part(ref, i);
        if (isfinite(y) && fabs(y) > scale)
            scale = fabs(y);
        double e = same(x, y) ? 0 : fabs(x - y);
        if (!(e <= max))
            max = isnan(e) ? INFINITY : e, where = i;
    }
    if (max <= tol * scale)
        return true;
    return fail(d,
                "largest error %.3g of a norm of %.3g (%.3g, allowed %.3g), at element %lld: "
                "%.9g, expected %.9g",
                max, scale, scale > 0 ? max / scale : INFINITY, tol, (long long)where,
                part(out, where), part(ref, where));
}

static bool compare_floats(const struct tensor *out, const struct tensor *ref,
                           const struct tolerance *t, struct diag *d)
{
    int64_t n = tensor_count(ref) * (dtype_is_complex(ref->dtype) ? 2 : 1), wrong = 0, worst = -1;
    double max = -1;
    if (t->norm >= 0)
        return compare_norm(out, ref, n, t->norm, d);
    for (int64_t i = 0; i < n; i++) {
        double x = part(out, i), y = part(ref, i);
        double e = fabs(x - y), over = e - t->atol - t->rtol * fabs(y);
        if (same(x, y) || (isfinite(x) && isfinite(y) && over <= 0))
            continue;
        wrong++;
        if (worst < 0 || !(over <= max))
            max = over, worst = i;
    }
    if (!wrong)
        return true;
    return fail(d, "%lld of %lld elements differ, most at %lld: %.9g, expected %.9g",
                (long long)wrong, (long long)n, (long long)worst, part(out, worst),
                part(ref, worst));
}

static bool compare_strings(const struct tensor *out, const struct tensor *ref, struct diag *d)
{
    const struct str *a = out->data, *b = ref->data;
    for (int64_t i = 0, n = tensor_count(ref); i < n; i++)
        if (a[i].n != b[i].n || (a[i].n && memcmp(a[i].p, b[i].p, a[i].n)))
            return fail(d, "element %lld is \"%.*s\", expected \"%.*s\"", (long long)i, (int)a[i].n,
                        a[i].p, (int)b[i].n, b[i].p);
    return true;
}

static bool compare_exactly(const struct tensor *out, const struct tensor *ref, struct diag *d)
{
    int64_t n = tensor_count(ref), wrong = 0, first = -1;
    for (int64_t i = 0; i < n; i++)
        if (tensor_i64(out, i) != tensor_i64(ref, i)) {
            if (first < 0)
                first = i;
            wrong++;
        }
    if (!wrong)
        return true;
    return fail(d, "%lld of %lld elements differ, the first at %lld: %lld, expected %lld",
                (long long)wrong, (long long)n, (long long)first, (long long)tensor_i64(out, first),
                (long long)tensor_i64(ref, first));
}

static bool compare_items(const struct tensor *out, const struct tensor *ref,
                          const struct tolerance *t, struct diag *d)
{
    if (out->nitems != ref->nitems)
        return fail(d, "%lld items, expected %lld", (long long)out->nitems, (long long)ref->nitems);
    for (int64_t i = 0; i < ref->nitems; i++)
        if (!compare_tensors(&out->items[i], &ref->items[i], t, d))
            return fail_in(d, "item %lld", (long long)i);
    return true;
}

bool compare_tensors(const struct tensor *out, const struct tensor *ref, const struct tolerance *t,
                     struct diag *d)
{
    char a[256], b[256];
    bool alike = out->kind == ref->kind &&
                 (out->kind != VK_TENSOR || (out->dtype == ref->dtype && out->rank == ref->rank));
    for (int i = 0; alike && out->kind == VK_TENSOR && i < out->rank; i++)
        alike = out->dims[i] == ref->dims[i];
    if (!alike)
        return fail(d, "it is %s, expected %s", tensor_type_text(out, a, sizeof a),
                    tensor_type_text(ref, b, sizeof b));
    if (out->kind == VK_NONE)
        return true;
    if (out->kind != VK_TENSOR)
        return compare_items(out, ref, t, d);
    switch (dtype_class(ref->dtype)) {
    case DTC_STRING:
        return compare_strings(out, ref, d);
    case DTC_FLOAT:
    case DTC_COMPLEX:
        return compare_floats(out, ref, t, d);
    default:
        return compare_exactly(out, ref, d);
    }
}
