/*
 * TfIdfVectorizer: counts of n-grams, with gaps. The pool's n-grams form a trie; its edges lie in a
 * hash table from (trie node, token) to trie node.
 */
#include "runtime/ops/common/numeric.h"

#include <string.h>

struct trie {
    const struct tensor *x;
    const int64_t *ints; /* the pool: one of the two */
    const struct str *strs;
    int64_t pool;
    int64_t *edge_from, *edge_token, *edge_to, slots; /* edge_to 0: free */
    int64_t *column;                                  /* of trie node; -1: no n-gram ends there */
    int64_t nodes;
};

struct gram_shape {
    int64_t min, max, skips, columns;
};

static bool read_shape(const struct attrs *as, struct gram_shape *s, struct diag *d)
{
    int n, counts, pool_ints, pool_strs;
    const int64_t *columns = attr_ints(as, "ngram_indexes", &n);
    attr_ints(as, "pool_int64s", &pool_ints);
    attr_strs(as, "pool_strings", &pool_strs);
    const int64_t *starts = attr_ints(as, "ngram_counts", &counts);
    *s = (struct gram_shape){attr_int(as, "min_gram_length", 1), attr_int(as, "max_gram_length", 1),
                             attr_int(as, "max_skip_count", 0), 0};
    int64_t pool = pool_ints ? pool_ints : pool_strs;
    for (int i = 0; i < n; i++) {
        if (columns[i] < 0 || columns[i] >= INT32_MAX)
            return fail(d, "ngram_indexes holds %lld", (long long)columns[i]);
        s->columns = columns[i] + 1 > s->columns ? columns[i] + 1 : s->columns;
    }
    if (s->min < 1 || s->max < s->min || s->skips < 0 || s->max > counts)
        return fail(d, "grams of %lld to %lld tokens with %lld skips, of %d in ngram_counts",
                    (long long)s->min, (long long)s->max, (long long)s->skips, counts);
    for (int64_t g = 0, grams = 0; g < counts; g++) {
        int64_t end = g + 1 < counts ? starts[g + 1] : pool;
        if (starts[g] < 0 || starts[g] > end || end > pool || (end - starts[g]) % (g + 1))
            return fail(d, "ngram_counts: %lld to %lld of a pool of %lld", (long long)starts[g],
                        (long long)end, (long long)pool);
        grams += (end - starts[g]) / (g + 1);
        if (grams > n)
            return fail(d, "the pool holds more n-grams than ngram_indexes, %d", n);
    }
    return true;
}

bool infer_tfidf_vectorizer(struct infer *f)
{
    struct gram_shape s;
    const struct type *x = &f->in[0];
    int ints;
    attr_ints(f->attrs, "pool_int64s", &ints);
    if (x->dtype != DT_STR && !dtype_is_int(x->dtype))
        return fail(f->d, "element type is %s, expected strings or integers", dtype_name(x->dtype));
    if ((x->dtype == DT_STR) == (ints > 0))
        return fail(f->d, "the pool and the operand differ: strings against integers");
    if (!read_shape(f->attrs, &s, f->d))
        return false;
    if (x->rank > 2)
        return fail(f->d, "rank %d, expected at most 2", x->rank);
    dim_t dims[] = {x->rank == 2 ? x->dims[0] : s.columns, s.columns};
    return x->rank < 0 ? infer_any(f, 0, DT_F32)
                       : infer_out(f, 0, DT_F32, x->rank == 2 ? 2 : 1, dims);
}

/* ---- the trie ---- */

static uint64_t hash_bytes(uint64_t h, const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)p)[i]) * 0x100000001b3;
    return h;
}

/* A token: from the pool, or (pool false) from the operand. */
static bool token_equals(const struct trie *t, int64_t pool_at, int64_t at, bool pool)
{
    if (!t->strs)
        return t->ints[pool_at] == (pool ? t->ints[at] : tensor_i64(t->x, at));
    struct str a = t->strs[pool_at], b = pool ? t->strs[at] : ((const struct str *)t->x->data)[at];
    return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

static uint64_t token_hash(const struct trie *t, int64_t from, int64_t at, bool pool)
{
    uint64_t h = hash_bytes(0xcbf29ce484222325, &from, sizeof from);
    if (t->strs) {
        struct str s = pool ? t->strs[at] : ((const struct str *)t->x->data)[at];
        return hash_bytes(h, s.p, s.n);
    }
    int64_t v = pool ? t->ints[at] : tensor_i64(t->x, at);
    return hash_bytes(h, &v, sizeof v);
}

/* Slot of the edge, or the free slot where it belongs. */
static int64_t edge(const struct trie *t, int64_t from, int64_t at, bool pool)
{
    uint64_t h = token_hash(t, from, at, pool);
    int64_t slot = (int64_t)((h ^ h >> 29) % (uint64_t)t->slots);
    while (t->edge_to[slot] &&
           !(t->edge_from[slot] == from && token_equals(t, t->edge_token[slot], at, pool)))
        slot = slot + 1 == t->slots ? 0 : slot + 1;
    return slot;
}

static void add_gram(struct trie *t, int64_t at, int64_t size, int64_t column)
{
    int64_t node = 0;
    for (int64_t i = at; i < at + size; i++) {
        int64_t slot = edge(t, node, i, true);
        if (!t->edge_to[slot]) {
            t->edge_from[slot] = node;
            t->edge_token[slot] = i;
            t->edge_to[slot] = t->nodes;
            t->column[t->nodes++] = -1;
        }
        node = t->edge_to[slot];
    }
    t->column[node] = column;
}

static bool make_trie(struct op_call *c, struct work *w, const struct gram_shape *s, struct trie *t)
{
    int counts, nints, nstrs, ncolumns;
    const int64_t *starts = attr_ints(c->attrs, "ngram_counts", &counts);
    const int64_t *columns = attr_ints(c->attrs, "ngram_indexes", &ncolumns);
    *t = (struct trie){.x = c->in[0], .nodes = 1};
    t->ints = attr_ints(c->attrs, "pool_int64s", &nints);
    t->strs = nints ? NULL : attr_strs(c->attrs, "pool_strings", &nstrs);
    t->pool = nints ? nints : nstrs;
    t->slots = 2 * t->pool + 1;
    t->edge_from = WORK(w, int64_t, t->slots);
    t->edge_token = WORK(w, int64_t, t->slots);
    t->edge_to = WORK(w, int64_t, t->slots);
    t->column = WORK(w, int64_t, t->pool + 1);
    if (!t->edge_from || !t->edge_token || !t->edge_to || !t->column)
        return false;
    t->column[0] = -1;
    for (int64_t g = 0, gram = 0; g < counts; g++) {
        int64_t end = g + 1 < counts ? starts[g + 1] : t->pool;
        for (int64_t at = starts[g]; at < end; at += g + 1, gram++)
            if (g + 1 >= s->min && g + 1 <= s->max)
                add_gram(t, at, g + 1, columns[gram]);
    }
    return true;
}

/* ---- counting ---- */

static void count_from(const struct trie *t, const struct gram_shape *s, int64_t min, int64_t at,
                       int64_t end, int64_t distance, float *y)
{
    int64_t node = 0;
    for (int64_t size = 1; size <= s->max && at < end; size++) {
        int64_t next = t->edge_to[edge(t, node, at, false)];
        if (!next)
            return;
        if (size >= min && t->column[next] >= 0)
            y[t->column[next]] += 1;
        node = next;
        if (end - at <= distance)
            return;
        at += distance;
    }
}

static void count_row(const struct trie *t, const struct gram_shape *s, int64_t begin, int64_t end,
                      float *y)
{
    int64_t min = s->min;
    for (int64_t distance = 1; distance <= s->skips + 1 && distance <= end - begin + 1;
         distance++) {
        for (int64_t at = begin; at < end && (min - 1) <= (end - 1 - at) / distance; at++)
            count_from(t, s, min, at, end, distance, y);
        if (min == 1 && ++min > s->max) /* single tokens have no gaps: counted once */
            return;
    }
}

static bool tfidf(struct op_call *c, struct work *w)
{
    struct gram_shape s;
    struct trie t;
    int nweights;
    const double *weights = attr_floats(c->attrs, "weights", &nweights);
    const struct tensor *x = c->in[0];
    bool idf = attr_is(c->attrs, "mode", "IDF"), both = attr_is(c->attrs, "mode", "TFIDF");
    if (!idf && !both && !attr_is(c->attrs, "mode", "TF"))
        return fail(w->d, "mode is neither TF, IDF nor TFIDF");
    if (!read_shape(c->attrs, &s, w->d) || !make_trie(c, w, &s, &t))
        return false;
    if (nweights && (idf || both) && nweights < s.columns)
        return fail(w->d, "%d weights for %lld columns", nweights, (long long)s.columns);
    float *y = c->out[0]->data;
    int64_t rows = x->rank == 2 ? x->dims[0] : 1, length = x->rank ? x->dims[x->rank - 1] : 1;
    memset(y, 0, tensor_bytes(c->out[0]));
    for (int64_t r = 0; r < rows; r++, y += s.columns) {
        count_row(&t, &s, r * length, (r + 1) * length, y);
        for (int64_t k = 0; k < s.columns; k++) {
            y[k] = idf ? y[k] > 0 : y[k];
            if (nweights && (idf || both))
                y[k] *= (float)weights[k];
        }
    }
    return true;
}

EVAL_AS_WORK(tfidf_vectorizer, tfidf)
