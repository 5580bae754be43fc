/* Places that match a regular expression, by PCRE2: the leftmost ones, and of those at one place the longest. Matching
 * has a step limit. */
#include "runtime/plugins/regex.h"

#include <stdlib.h>
#include <time.h>

enum { WORKSPACE = 20000 };

/*
 * PCRE2 calls back for each place at which it begins to look. It counts no steps of this kind of matching, and
 * "a*[bc]" on n times "a" takes n * n: after some seconds of the processor the pattern is refused.
 */
struct pace {
    clock_t began;
    unsigned looks;
};
enum { MAX_SECONDS = 4, LOOKS = 256 };

static int take_step(pcre2_callout_block *block, void *user)
{
    struct pace *p = user;
    bool over = ++p->looks % LOOKS == 0 && (clock() - p->began) / CLOCKS_PER_SEC >= MAX_SECONDS;
    return over ? PCRE2_ERROR_CALLOUT : 0;
}

struct matcher {
    const pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *how;
    int *workspace;
};

/* Behind an empty match the search goes on with the next character. */
static size_t after(struct str s, size_t from, size_t to)
{
    if (to > from)
        return to;
    do
        to++;
    while (to < s.n && ((unsigned char)s.p[to] & 0xc0) == 0x80);
    return to;
}

static bool find_all(struct str s, int64_t i, const struct matcher *m, plugin_found_fn found,
                     void *user, struct diag *d)
{
    size_t *ends = pcre2_get_ovector_pointer(m->match);
    for (size_t at = 0; at <= s.n; at = after(s, ends[0], ends[1])) {
        int r = pcre2_dfa_match(m->code, (PCRE2_SPTR)(s.p ? s.p : ""), s.n, at, 0, m->match, m->how,
                                m->workspace, WORKSPACE);
        if (r == PCRE2_ERROR_NOMATCH)
            break;
        if (r <= PCRE2_ERROR_UTF8_ERR1 && r >= PCRE2_ERROR_UTF8_ERR21)
            return fail(d, "element %lld is not valid UTF-8", (long long)i);
        if (r < 0)
            return fail(d, "matching element %lld takes too many steps; simplify the pattern",
                        (long long)i);
        if (!found(user, i, ends[0], ends[1]))
            return false;
    }
    return true;
}

bool xrt_plugin_1_regex_find(struct str pattern, const struct str *s, int64_t n,
                             plugin_found_fn found, void *user, struct diag *d)
{
    struct pace pace = {.began = clock()};
    pcre2_code *code = compile(pattern, PCRE2_AUTO_CALLOUT, d);
    if (!code)
        return diag_failed(d) ? false : fail_memory(d, "out of memory");
    struct matcher m = {code, pcre2_match_data_create(1, NULL), pcre2_match_context_create(NULL),
                        malloc(WORKSPACE * sizeof(int))};
    bool ok = (m.match && m.how && m.workspace) || fail_memory(d, "out of memory");
    if (ok) {
        pcre2_set_match_limit(m.how, 10000000);
        pcre2_set_heap_limit(m.how, 65536);
        pcre2_set_callout(m.how, take_step, &pace);
    }
    for (int64_t i = 0; ok && i < n; i++)
        ok = find_all(s[i], i, &m, found, user, d);
    free(m.workspace);
    pcre2_match_context_free(m.how);
    pcre2_match_data_free(m.match);
    pcre2_code_free(code);
    return ok;
}
