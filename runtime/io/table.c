/*
 * Outputs for a person to look at: range, mean, first values, and the best five of a vector of
 * scores.
 */
#include "runtime/io/feed.h"

#include <math.h>
#include <string.h>

enum { FIRST = 6, BEST = 5 };

static void print_element(FILE *out, const struct tensor *t, int64_t i)
{
    int class = dtype_class(t->dtype);
    if (class == DTC_STRING) {
        const struct str *s = (const struct str *)t->data + i;
        fprintf(out, "\"%.*s\"", (int)(s->n < 60 ? s->n : 60), s->p);
    } else if (class == DTC_FLOAT || class == DTC_COMPLEX) {
        fprintf(out, "%.6g", tensor_f64(t, i));
    } else {
        fprintf(out, "%lld", (long long)tensor_i64(t, i));
    }
}

/* All dims are 1 but the last, which is long. */
static bool is_scores(const struct tensor *t, int64_t n)
{
    return dtype_class(t->dtype) == DTC_FLOAT && t->rank >= 1 && t->dims[t->rank - 1] == n &&
           n >= BEST * 2;
}

static void print_best(FILE *out, const struct tensor *t, int64_t n)
{
    int64_t best[BEST];
    for (int b = 0; b < BEST; b++) {
        best[b] = -1;
        for (int64_t i = 0; i < n; i++) {
            bool taken = isnan(tensor_f64(t, i));
            for (int o = 0; o < b; o++)
                taken |= best[o] == i;
            if (!taken && (best[b] < 0 || tensor_f64(t, i) > tensor_f64(t, best[b])))
                best[b] = i;
        }
    }
    fprintf(out, "  best:");
    for (int b = 0; b < BEST && best[b] >= 0; b++)
        fprintf(out, "  %lld (%.4g)", (long long)best[b], tensor_f64(t, best[b]));
    fprintf(out, "\n");
}

void print_output(FILE *out, const char *name, const struct tensor *t)
{
    char text[256];
    int64_t n = tensor_count(t);
    fprintf(out, "%s  %s", name, tensor_type_text(t, text, sizeof text));
    if (dtype_class(t->dtype) != DTC_STRING && n > 0) {
        double low = INFINITY, high = -INFINITY, sum = 0;
        int64_t nans = 0;
        for (int64_t i = 0; i < n; i++) {
            double v = tensor_f64(t, i);
            nans += isnan(v);
            low = v < low ? v : low;
            high = v > high ? v : high;
            sum += v;
        }
        fprintf(out, "  min %.6g  max %.6g  mean %.6g", low, high, sum / (double)n);
        if (nans)
            fprintf(out, "  NaN %lld", (long long)nans);
    }
    fprintf(out, "\n ");
    for (int64_t i = 0; i < n && i < FIRST; i++) {
        fputc(' ', out);
        print_element(out, t, i);
    }
    fprintf(out, "%s\n", n > FIRST ? " ..." : "");
    if (is_scores(t, n))
        print_best(out, t, n);
}
