/*
 * StringNormalizer: stop words removed, case changed. Case mapping is Unicode's simple one (a code
 * point to a code point), whatever the locale; of letters beyond ASCII a plugin knows it.
 */
#include "runtime/ops/common/numeric.h"
#include "runtime/plugins/plugin.h"

#include <string.h>

enum change { KEEP, LOWER, UPPER };

bool infer_string_normalize(struct infer *f)
{
    const struct type *x = &f->in[0];
    struct type y = *x;
    if (x->dtype != DT_STR)
        return fail(f->d, "element type is %s, expected strings", dtype_name(x->dtype));
    if (x->rank >= 0 && x->rank != 1 && x->rank != 2)
        return fail(f->d, "rank %d, expected 1 or 2", x->rank);
    if (x->rank > 0)
        y.dims[y.rank - 1] = infer_unknown(f, "words");
    f->out[0] = y;
    return true;
}

/* Appends the changed code point at p; returns how many bytes it had, 0 after a failure. */
static size_t change_one(const char *p, size_t n, enum change change, char **to, struct diag *d)
{
    unsigned char u = (unsigned char)*p;
    if (u < 0x80 || change == KEEP) {
        bool letter =
            change == LOWER ? u >= 'A' && u <= 'Z' : change == UPPER && u >= 'a' && u <= 'z';
        *(*to)++ = (char)(letter ? u ^ 0x20 : u);
        return 1;
    }
    plugin_unicode_fn other_case = (plugin_unicode_fn)plugin_find(PLUGIN_unicode, d);
    size_t size = other_case ? other_case(p, n, change == UPPER, to) : 0;
    if (other_case && !size)
        fail(d, "a string is not valid UTF-8");
    return size;
}

enum { GROWTH = 3 }; /* a mapped code point takes at most 3 times the bytes */

static bool change_case(struct work *w, struct str s, enum change change, struct str *out)
{
    char *text = WORK(w, char, (int64_t)s.n *GROWTH + 4), *to = text;
    for (size_t i = 0, k; text && i < s.n; i += k)
        if (!(k = change_one(s.p + i, s.n - i, change, &to, w->d)))
            return false;
    *out = (struct str){text, text ? (size_t)(to - text) : 0};
    return text != NULL;
}

static bool same(struct str a, struct str b)
{
    return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

static bool read_change(struct op_call *c, enum change *change)
{
    static const char *const names[] = {"NONE", "LOWER", "UPPER"};
    struct str action = attr_str(c->attrs, "case_change_action", "NONE");
    for (int i = 0; i < 3; i++)
        if (same(action, (struct str){names[i], strlen(names[i])})) {
            *change = (enum change)i;
            return true;
        }
    return fail(c->env->d, "case_change_action is '%.*s', expected NONE, LOWER or UPPER",
                (int)action.n, action.p);
}

static bool string_normalize(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0];
    int nstops;
    const struct str *stops = attr_strs(c->attrs, "stopwords", &nstops), *in = x->data;
    bool sensitive = attr_int(c->attrs, "is_case_sensitive", 0) != 0;
    enum change change = KEEP;
    if (x->dtype != DT_STR || x->rank < 1 || x->rank > 2 || (x->rank == 2 && x->dims[0] != 1))
        return fail(w->d, "expected strings of shape (C) or (1,C)");
    int64_t n = tensor_count(x), kept = 0;
    struct str *words = WORK(w, struct str, n + 1), *folded = WORK(w, struct str, nstops);
    if (!words || !folded || !read_change(c, &change))
        return false;
    for (int i = 0; i < nstops; i++)
        if (!change_case(w, stops[i], sensitive ? KEEP : LOWER, &folded[i]))
            return false;
    for (int64_t i = 0; i < n; i++) {
        struct str word = in[i];
        bool stop = false;
        if (nstops && !change_case(w, in[i], sensitive ? KEEP : LOWER, &word))
            return false;
        for (int k = 0; k < nstops && !stop; k++)
            stop = same(word, folded[k]);
        if (!stop && !change_case(w, in[i], change, &words[kept++]))
            return false;
    }
    if (kept == 0)
        words[kept++] = (struct str){"", 0};
    return tensor_set_strings(c->out[0], x->rank, x->rank == 2 ? (int64_t[]){1, kept} : &kept,
                              words, w->d);
}

EVAL_WITH_WORK(string_normalize)
