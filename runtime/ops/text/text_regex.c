/*
 * RegexFullMatch. Patterns are RE2's; PCRE2, in a plugin, matches them. What PCRE2 has and RE2 has
 * not (look-around, back references, atomic groups, recursion, ...) is refused, so that a model
 * means the same everywhere. Matching has a step limit: a pattern that backtracks without end gives
 * a message.
 */
#include "runtime/ops/text/text.h"

#include "runtime/ops/common/ops.h"
#include "runtime/plugins/plugin.h"

#include <string.h>

bool infer_regex_full_match(struct infer *f)
{
    if (f->in[0].dtype != DT_STR)
        return fail(f->d, "element type is %s, expected strings", dtype_name(f->in[0].dtype));
    return infer_out(f, 0, DT_BOOL, f->in[0].rank, f->in[0].dims);
}

static bool refuse(struct diag *d, struct str s, size_t at, const char *what)
{
    return fail(d, "pattern '%.*s' has %s at byte %zu, which RE2 has not; rewrite the pattern",
                (int)s.n, s.p, what, at);
}

static bool check_escape(struct str s, size_t *i, bool in_set, struct diag *d)
{
    static const char letters[] = "afnrtvdDsSwWpPxQE", outside[] = "bBAz";
    if (*i + 1 >= s.n)
        return refuse(d, s, *i, "a backslash without a character");
    char c = s.p[++*i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c >= '1' && c <= '9')
        return refuse(d, s, *i, "a back reference");
    if (letter && !strchr(letters, c) && (in_set || !strchr(outside, c)))
        return refuse(d, s, *i, "an escape");
    if (c == 'Q') { /* literal text up to \E */
        while (*i + 2 < s.n && !(s.p[*i + 1] == '\\' && s.p[*i + 2] == 'E'))
            ++*i;
    }
    return true;
}

/* What follows `(?`: flags, a flag group, or a named group. */
static bool check_group(struct str s, size_t i, struct diag *d)
{
    size_t k = i + 2;
    if (k + 1 < s.n && s.p[k] == 'P' && s.p[k + 1] == '<')
        return true;
    if (k + 1 < s.n && s.p[k] == '<' && s.p[k + 1] != '=' && s.p[k + 1] != '!')
        return true;
    while (k < s.n && strchr("imsU-", s.p[k]) && s.p[k])
        k++;
    return (k < s.n && (s.p[k] == ':' || s.p[k] == ')')) || refuse(d, s, i, "a group of a kind");
}

static bool quantified(struct str s,
                       size_t i) /* a whole quantifier ends at i, so + behind it is possessive */
{
    char c = s.p[i];
    if (c == '*' || c == '+' || c == '?')
        return true;
    if (c != '}')
        return false;
    size_t k = i;
    while (k > 0 && ((s.p[k - 1] >= '0' && s.p[k - 1] <= '9') || s.p[k - 1] == ','))
        k--;
    return k > 0 && k < i && s.p[k - 1] == '{';
}

bool regex_check(struct str s, struct diag *d)
{
    size_t set = 0;      /* 1 + where the open character class begins */
    bool escaped = true; /* the character before was an escape or the start */
    for (size_t i = 0; i < s.n; i++) {
        bool was_escaped = escaped;
        escaped = s.p[i] == '\\';
        if (escaped && !check_escape(s, &i, set != 0, d))
            return false;
        if (escaped)
            continue;
        if (set) {
            if (s.p[i] == '[' && i + 1 < s.n && s.p[i + 1] == ':') {
                while (i < s.n && s.p[i] != ']')
                    i++;
            } else if (s.p[i] == ']' && i > set && !(i == set + 1 && s.p[set] == '^')) {
                set = 0;
            }
        } else if (s.p[i] == '[') {
            set = i + 1;
            if (i + 1 < s.n && s.p[i + 1] == ']')
                i++;
        } else if (s.p[i] == '(' && i + 1 < s.n && s.p[i + 1] == '*') {
            return refuse(d, s, i, "a verb");
        } else if (s.p[i] == '(' && i + 1 < s.n && s.p[i + 1] == '?') {
            if (!check_group(s, i, d))
                return false;
            i++;
        } else if (s.p[i] == '+' && !was_escaped && i > 0 && quantified(s, i - 1)) {
            return refuse(d, s, i, "a possessive quantifier");
        }
    }
    return true;
}

bool eval_regex_full_match(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    struct str pattern = attr_str(c->attrs, "pattern", "");
    if (!regex_check(pattern, c->env->d))
        return false;
    plugin_regex_fn match = (plugin_regex_fn)plugin_find(PLUGIN_regex, c->env->d);
    return match && match(pattern, x->data, tensor_count(x), c->out[0]->data, c->env->d);
}
