/*
 * RegexFullMatch. Patterns are RE2's; PCRE2 matches them. What PCRE2 has and RE2 has not
 * (look-around, back references, atomic groups, recursion, ...) is refused, so that a model means
 * the same everywhere. Matching has a step limit: a pattern that backtracks without end gives a
 * message.
 */
#include "runtime/ops/common/ops.h"

#include <string.h>
#if XCC_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#endif

bool infer_regex_full_match(struct infer *f)
{
    if (f->in[0].dtype != DT_STR)
        return fail(f->d, "element type is %s, expected strings", dtype_name(f->in[0].dtype));
    return infer_out(f, 0, DT_BOOL, f->in[0].rank, f->in[0].dims);
}

#if XCC_PCRE2
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

static bool check_syntax(struct str s, struct diag *d)
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

static pcre2_code *compile(struct str s, struct diag *d)
{
    int code;
    size_t at;
    pcre2_compile_context *how = pcre2_compile_context_create(NULL);
    if (!how || !check_syntax(s, d)) {
        pcre2_compile_context_free(how);
        return NULL;
    }
    pcre2_set_newline(how, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(how, 200);
    pcre2_code *made = pcre2_compile((PCRE2_SPTR)s.p, s.n,
                                     PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY |
                                         PCRE2_ANCHORED | PCRE2_ENDANCHORED,
                                     &code, &at, how);
    pcre2_compile_context_free(how);
    if (!made) {
        unsigned char text[200] = "";
        pcre2_get_error_message(code, text, sizeof text);
        fail(d, "pattern '%.*s': %s at byte %zu", (int)s.n, s.p, (char *)text, at);
    }
    return made;
}

static bool match_all(struct op_call *c, const pcre2_code *code, pcre2_match_data *match,
                      pcre2_match_context *how)
{
    const struct str *x = c->in[0]->data;
    uint8_t *y = c->out[0]->data;
    pcre2_set_match_limit(how, 10000000);
    pcre2_set_heap_limit(how, 65536);
    for (int64_t i = 0, n = tensor_count(c->in[0]); i < n; i++) {
        int r = pcre2_match(code, (PCRE2_SPTR)(x[i].p ? x[i].p : ""), x[i].n, 0, 0, match, how);
        y[i] = r >= 0;
        if (r == PCRE2_ERROR_MATCHLIMIT || r == PCRE2_ERROR_HEAPLIMIT ||
            r == PCRE2_ERROR_NOMEMORY || r == PCRE2_ERROR_DEPTHLIMIT)
            return fail(c->env->d,
                        "matching element %lld takes too many steps; simplify the pattern",
                        (long long)i);
    }
    return true;
}

bool eval_regex_full_match(struct op_call *c)
{
    pcre2_code *code = compile(attr_str(c->attrs, "pattern", ""), c->env->d);
    if (!code)
        return diag_failed(c->env->d) ? false : fail(c->env->d, "out of memory");
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(code, NULL);
    pcre2_match_context *how = pcre2_match_context_create(NULL);
    bool ok = match && how ? match_all(c, code, match, how) : fail(c->env->d, "out of memory");
    pcre2_match_context_free(how);
    pcre2_match_data_free(match);
    pcre2_code_free(code);
    return ok;
}
#else
bool eval_regex_full_match(struct op_call *c)
{
    return fail(c->env->d, "regular expressions need a build with libpcre2");
}
#endif
