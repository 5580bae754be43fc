#include "runtime/ops/text/text.h"

#include "runtime/plugins/plugin.h"

#include <stdlib.h>
#include <string.h>

struct found_token {
    int64_t owner; /* the string it is of */
    struct str text;
};

struct found_tokens {
    struct found_token *v;
    int64_t count, capacity;
    int64_t shortest; /* characters */
    struct diag *d;
};

bool tokens_wanted(const struct attrs *a)
{
    return attr_find(a, "tokenexp") || attr_find(a, "separators");
}

/* Bytes of the UTF-8 character at p; one that is damaged counts as one byte. */
static size_t character(const char *p, size_t n)
{
    unsigned char u = (unsigned char)*p;
    size_t k = u >= 0xf0 ? 4 : u >= 0xe0 ? 3 : u >= 0xc0 ? 2 : 1;
    return k < n ? k : n;
}

static int64_t characters(struct str s)
{
    int64_t count = 0;
    for (size_t i = 0; i < s.n; i += character(s.p + i, s.n - i))
        count++;
    return count;
}

static bool add(struct found_tokens *t, int64_t owner, struct str text)
{
    if (characters(text) < t->shortest)
        return true;
    if (t->count == t->capacity) {
        int64_t capacity = t->capacity ? 2 * t->capacity : 64;
        struct found_token *v = realloc(t->v, (size_t)capacity * sizeof *v);
        if (!v)
            return fail_memory(t->d, "out of memory");
        t->v = v;
        t->capacity = capacity;
    }
    t->v[t->count++] = (struct found_token){owner, text};
    return true;
}

static bool all_characters(const struct found_tokens *from, struct found_tokens *to)
{
    for (int64_t i = 0; i < from->count; i++) {
        struct str s = from->v[i].text;
        for (size_t at = 0, k; at < s.n; at += k) {
            k = character(s.p + at, s.n - at);
            if (!add(to, from->v[i].owner, (struct str){s.p + at, k}))
                return false;
        }
    }
    return true;
}

/* ---- matches of one expression ---- */

struct search {
    const struct found_tokens *from;
    struct found_tokens *to;
    bool between; /* what lies between matches, not the matches */
    int64_t at;   /* the string whose rest has not been given out */
    size_t done;  /* bytes of it that have */
};

static bool finish(struct search *s, int64_t until)
{
    for (; s->between && s->at < until; s->at++, s->done = 0) {
        const struct found_token *t = &s->from->v[s->at];
        if (!add(s->to, t->owner, (struct str){t->text.p + s->done, t->text.n - s->done}))
            return false;
    }
    return true;
}

static bool found(void *user, int64_t i, size_t from, size_t to)
{
    struct search *s = user;
    const struct found_token *t = &s->from->v[i];
    if (!s->between)
        return add(s->to, t->owner, (struct str){t->text.p + from, to - from});
    if (!finish(s, i))
        return false;
    struct str piece = {t->text.p + s->done, from - s->done};
    s->done = to;
    if (to == from && to < t->text.n) /* a match of nothing takes the character behind it */
        s->done += character(t->text.p + to, t->text.n - to);
    return add(s->to, t->owner, piece);
}

static bool search_all(struct work *w, struct str pattern, bool between, const struct found_tokens *from,
                       struct found_tokens *to)
{
    struct search s = {.from = from, .to = to, .between = between};
    struct str *texts = WORK(w, struct str, from->count);
    if (!texts || !regex_check(pattern, w->d))
        return false;
    for (int64_t i = 0; i < from->count; i++)
        texts[i] = from->v[i].text;
    plugin_regex_find_fn find = (plugin_regex_find_fn)plugin_find(PLUGIN_regex_find, w->d);
    return find && find(pattern, texts, from->count, found, &s, w->d) && finish(&s, from->count);
}

static bool make_tokens(struct op_call *c, struct work *w, struct found_tokens *all)
{
    int count = 0;
    const struct str *separators = attr_strs(c->attrs, "separators", &count);
    struct str expression = attr_str(c->attrs, "tokenexp", "");
    if (expression.n && count)
        return fail(w->d, "has both 'tokenexp' and 'separators', expected one of them");
    for (int k = 0; k < (count ? count : 1); k++) {
        struct found_tokens next = {.shortest = attr_int(c->attrs, "mincharnum", 1), .d = w->d};
        bool ok = count == 1 && !separators[0].n
                      ? all_characters(all, &next)
                      : search_all(w, count ? separators[k] : expression, count > 0, all, &next);
        free(all->v);
        *all = next;
        if (!ok)
            return false;
    }
    return true;
}

/* ---- as a tensor ---- */

static bool store(struct op_call *c, struct work *w, const struct found_tokens *all)
{
    const struct tensor *x = c->in[0];
    int64_t n = tensor_count(x), mark = attr_int(c->attrs, "mark", 0) ? 1 : 0, max = 0, total;
    int64_t *used = WORK(w, int64_t, n), dims[MAX_RANK];
    for (int64_t i = 0; used && i < all->count; i++)
        used[all->v[i].owner]++;
    for (int64_t i = 0; used && i < n; i++)
        max = used[i] > max ? used[i] : max;
    max += max ? 2 * mark : 0; /* of no tokens at all there are no marks either */
    if (!used || __builtin_mul_overflow(n, max, &total))
        return used && fail(w->d, "too many tokens");
    struct str *y = WORK(w, struct str, total), pad = attr_str(c->attrs, "pad_value", "");
    if (!y)
        return false;
    for (int64_t i = 0; i < total; i++)
        y[i] = pad;
    for (int64_t i = 0; i < n; i++) {
        if (mark && max) {
            y[i * max] = (struct str){"\x02", 1};
            y[i * max + used[i] + 1] = (struct str){"\x03", 1};
        }
        used[i] = mark;
    }
    for (int64_t i = 0; i < all->count; i++) {
        int64_t owner = all->v[i].owner;
        y[owner * max + used[owner]++] = all->v[i].text;
    }
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank] = max;
    return tensor_set_strings(c->out[0], x->rank + 1, dims, y, w->d);
}

static bool count_tokens(struct op_call *c, const struct found_tokens *all)
{
    struct tensor *y = call_out(c, 1, DT_I64, c->in[0]->rank, c->in[0]->dims);
    if (!y)
        return false;
    memset(y->data, 0, (size_t)tensor_count(y) * sizeof(int64_t));
    for (int64_t i = 0; i < all->count; i++)
        ((int64_t *)y->data)[all->v[i].owner]++;
    return true;
}

bool string_tokens(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    struct found_tokens all = {.d = w->d};
    if (x->dtype != DT_STR || x->rank >= MAX_RANK)
        return fail(w->d, "expected strings of rank less than %d", MAX_RANK);
    bool ok = true;
    for (int64_t i = 0; ok && i < tensor_count(x); i++) {
        struct str s = ((const struct str *)x->data)[i];
        ok = add(&all, i, (struct str){s.p ? s.p : "", s.n});
    }
    ok = ok && make_tokens(c, w, &all) && (!wants_result(c, 0) || store(c, w, &all)) &&
         (!wants_result(c, 1) || count_tokens(c, &all));
    free(all.v);
    return ok;
}
