/*
 * Caches of keys and values: rows behind those that there are, in memory of their own or where the past lies.
 */
#include "runtime/ops/common/numeric.h"

#include <string.h>

enum { PAST, FRESH, BEFORE, TOTAL };

bool infer_cache_append(struct infer *f)
{
    const struct type *past = &f->in[PAST], *fresh = &f->in[FRESH];
    struct content total = infer_content(f, TOTAL);
    struct type out = *past;
    if (past->rank < 0 || fresh->rank < 0)
        return infer_out(f, 0, past->dtype, RANK_UNKNOWN, NULL);
    if (past->rank != 4 || fresh->rank != 4)
        return fail(f->d, "a past of rank %d and fresh rows of rank %d, expected 4", past->rank, fresh->rank);
    if (total.n >= 0 && total.n != 1)
        return fail(f->d, "the total has %lld elements, expected one", (long long)total.n);
    out.dims[2] = total.n == 1 ? dim_max(f->dims, past->dims[2], total.v[0]) : infer_unknown(f, "cache");
    f->out[0] = out;
    return !diag_failed(f->d);
}

/* Of one head: what lies before is there already where both are one memory. */
struct cache_rows {
    char *to;
    const char *from, *fresh;
    size_t row; /* bytes */
    int64_t before, count;
};

static void append_rows(const struct cache_rows *r, int64_t written)
{
    int64_t end = r->before + r->count;
    if (r->before && r->to != r->from)
        memmove(r->to, r->from, r->row * (size_t)r->before);
    if (r->count)
        memcpy(r->to + r->row * (size_t)r->before, r->fresh, r->row * (size_t)r->count);
    if (written > end)
        memset(r->to + r->row * (size_t)end, 0, r->row * (size_t)(written - end));
}

static bool fits(struct op_call *c)
{
    const struct tensor *past = c->in[PAST], *fresh = c->in[FRESH], *y = c->out[0];
    for (int i = 0; i < 4; i++)
        if (past->rank != 4 || fresh->rank != 4 || (i != 2 && fresh->dims[i] != past->dims[i]))
            return fail(c->env->d, "the fresh rows do not fit the cache in dim %d", i);
    if (tensor_count(c->in[BEFORE]) != past->dims[0])
        return fail(c->env->d, "the rows before have %lld elements, expected one of each batch, %lld",
                    (long long)tensor_count(c->in[BEFORE]), (long long)past->dims[0]);
    for (int64_t b = 0; b < past->dims[0]; b++) {
        int64_t before = tensor_i64(c->in[BEFORE], b);
        if (before < 0 || before > past->dims[2] || fresh->dims[2] > y->dims[2] - before)
            return fail(c->env->d, "%lld rows behind %lld of a past of %lld do not fit a cache of %lld",
                        (long long)fresh->dims[2], (long long)before, (long long)past->dims[2], (long long)y->dims[2]);
    }
    return true;
}

bool eval_cache_append(struct op_call *c)
{
    if (!fits(c))
        return false;
    const struct tensor *past = c->in[PAST], *fresh = c->in[FRESH], *y = c->out[0];
    int64_t heads = past->dims[1], count = fresh->dims[2], length = y->dims[2], last = 0;
    bool in_place = c->cache && past->data == y->data;
    int64_t from = in_place ? c->cache->capacity : past->dims[2], to = in_place ? c->cache->capacity : length;
    int64_t written = in_place ? c->cache->written : length;
    size_t row = (size_t)y->dims[3] * dtype_bytes(y->dtype);
    for (int64_t i = 0; i < past->dims[0] * heads; i++) {
        struct cache_rows r = {.to = (char *)y->data + row * (size_t)(i * to),
                               .from = (const char *)past->data + row * (size_t)(i * from),
                               .fresh = (const char *)fresh->data + row * (size_t)(i * count),
                               .row = row,
                               .before = tensor_i64(c->in[BEFORE], i / heads),
                               .count = count};
        append_rows(&r, written);
        last = r.before + count > last ? r.before + count : last;
    }
    if (in_place)
        c->cache->written = last;
    return true;
}
