/*
 * Strings: concatenation, splitting. UTF-8 throughout; bytes that are not are passed through.
 */
#include "runtime/ops/text/text.h"

#include "runtime/ops/common/numeric.h"

#include <string.h>

static bool need_strings(struct diag *d, int dtype)
{
    return dtype == DT_STR || fail(d, "element type is %s, expected strings", dtype_name(dtype));
}

/* ---- string_concat ---- */

bool infer_string_concat(struct infer *f)
{
    const struct type *in[] = {&f->in[0], &f->in[1]};
    struct type out = f->in[0];
    if (!need_strings(f->d, f->in[0].dtype) || !need_strings(f->d, f->in[1].dtype) ||
        !infer_broadcast(f, in, 2, &out))
        return false;
    f->out[0] = out;
    return true;
}

static void join(struct str *z, const struct str *a, const struct str *b, char **to)
{
    *z = (struct str){*to, a->n + b->n};
    if (a->n)
        memcpy(*to, a->p, a->n);
    if (b->n)
        memcpy(*to + a->n, b->p, b->n);
    *to += z->n;
}

static bool string_concat(struct op_call *c, struct work *w)
{
    struct tensor *y = c->out[0];
    const struct str *a = c->in[0]->data, *b = c->in[1]->data;
    int64_t n = tensor_count(y);
    int64_t *x = broadcast_offsets(w, c->in[0], y->dims, y->rank);
    int64_t *z = broadcast_offsets(w, c->in[1], y->dims, y->rank);
    size_t bytes = 0;
    for (int64_t i = 0; x && z && i < n; i++)
        if (__builtin_add_overflow(bytes, a[x[i]].n, &bytes) ||
            __builtin_add_overflow(bytes, b[z[i]].n, &bytes) || bytes > INT64_MAX)
            return fail(w->d, "the strings are too long together");
    char *text = WORK(w, char, (int64_t)bytes);
    struct str *made = WORK(w, struct str, n);
    if (!x || !z || !text || !made)
        return false;
    for (int64_t i = 0; i < n; i++)
        join(&made[i], &a[x[i]], &b[z[i]], &text);
    return tensor_set_strings(y, y->rank, y->dims, made, w->d);
}

EVAL_WITH_WORK(string_concat)

/* ---- string_split ---- */

bool infer_string_split(struct infer *f)
{
    const struct type *x = &f->in[0];
    struct type parts = *x;
    if (!need_strings(f->d, x->dtype))
        return false;
    if (x->rank >= MAX_RANK)
        return fail(f->d, "rank %d, expected less than %d", x->rank, MAX_RANK);
    infer_out(f, 1, DT_I64, x->rank, x->dims);
    if (x->rank < 0)
        return infer_any(f, 0, DT_STR);
    parts.dims[parts.rank++] = infer_unknown(f, "parts");
    f->out[0] = parts;
    return true;
}

/* Bytes of the white space character at p, 0 when there is none. */
static size_t space_at(const char *p, size_t n)
{
    const unsigned char *u = (const unsigned char *)p;
    if (n >= 1 && (u[0] == ' ' || (u[0] >= '\t' && u[0] <= '\r') || (u[0] >= 0x1c && u[0] <= 0x1f)))
        return 1;
    if (n >= 2 && u[0] == 0xc2 && (u[1] == 0x85 || u[1] == 0xa0))
        return 2;
    if (n < 3)
        return 0;
    unsigned code = (unsigned)(u[0] & 0xf) << 12 | (unsigned)(u[1] & 0x3f) << 6 | (u[2] & 0x3f);
    bool three = (u[0] & 0xf0) == 0xe0 && (u[1] & 0xc0) == 0x80 && (u[2] & 0xc0) == 0x80;
    bool space = code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
                 code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
    return three && space ? 3 : 0;
}

static struct str skip_space(struct str s)
{
    for (size_t k; (k = space_at(s.p, s.n)) > 0;)
        s = (struct str){s.p + k, s.n - k};
    return s;
}

static bool split_space(struct str *rest, bool last, struct str *part)
{
    struct str s = skip_space(*rest);
    size_t end = 0;
    while (end < s.n && (last || !space_at(s.p + end, s.n - end)))
        end++;
    *part = (struct str){s.p, end};
    *rest = (struct str){s.p + end, s.n - end};
    return end > 0;
}

/* rest->p NULL: all of it was given out. */
static bool split_delimiter(struct str *rest, struct str delimiter, bool last, struct str *part)
{
    if (!rest->p)
        return false;
    *part = *rest;
    for (size_t i = 0; !last && i + delimiter.n <= rest->n; i++)
        if (!memcmp(rest->p + i, delimiter.p, delimiter.n)) {
            part->n = i;
            *rest = (struct str){rest->p + i + delimiter.n, rest->n - i - delimiter.n};
            return true;
        }
    rest->p = NULL;
    return true;
}

/* Number of parts; with `parts`, stores them. */
static int64_t split(struct op_call *c, struct str s, struct str *parts)
{
    struct str delimiter = attr_str(c->attrs, "delimiter", ""), part;
    int64_t max = attr_int(c->attrs, "maxsplit", -1), n = 0;
    struct str rest = {s.p ? s.p : "", s.n};
    while (delimiter.n ? split_delimiter(&rest, delimiter, max >= 0 && n >= max, &part)
                       : split_space(&rest, max >= 0 && n >= max, &part)) {
        if (parts)
            parts[n] = part;
        n++;
    }
    return n;
}

static bool string_split(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    int64_t n = tensor_count(x), max = 0, dims[MAX_RANK], total;
    if (!need_strings(w->d, x->dtype))
        return false;
    if (x->rank >= MAX_RANK)
        return fail(w->d, "rank %d, expected less than %d", x->rank, MAX_RANK);
    int64_t *counts = WORK(w, int64_t, n);
    for (int64_t i = 0; counts && i < n; i++) {
        counts[i] = split(c, ((const struct str *)x->data)[i], NULL);
        max = counts[i] > max ? counts[i] : max;
    }
    if (!counts || __builtin_mul_overflow(n, max, &total))
        return counts && fail(w->d, "too many parts");
    struct str *parts = WORK(w, struct str, total);
    for (int64_t i = 0; parts && i < n; i++)
        split(c, ((const struct str *)x->data)[i], parts + i * max);
    if (!parts)
        return false;
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank] = max;
    if (wants_result(c, 0) && !tensor_set_strings(c->out[0], x->rank + 1, dims, parts, w->d))
        return false;
    struct tensor *sizes = wants_result(c, 1) ? call_out(c, 1, DT_I64, x->rank, x->dims) : NULL;
    if (sizes && n)
        memcpy(sizes->data, counts, (size_t)n * sizeof *counts);
    return sizes || !wants_result(c, 1);
}

bool eval_string_split(struct op_call *c)
{
    return with_work(c, tokens_wanted(c->attrs) ? string_tokens : string_split);
}
