/* Regular expressions, by PCRE2. Matching has a step limit. */
#include "runtime/plugins/regex.h"

static bool match_all(const struct str *s, int64_t n, uint8_t *matched, const pcre2_code *code,
                      pcre2_match_data *match, pcre2_match_context *how, struct diag *d)
{
    pcre2_set_match_limit(how, 10000000);
    pcre2_set_heap_limit(how, 65536);
    for (int64_t i = 0; i < n; i++) {
        int r = pcre2_match(code, (PCRE2_SPTR)(s[i].p ? s[i].p : ""), s[i].n, 0, 0, match, how);
        matched[i] = r >= 0;
        if (r == PCRE2_ERROR_MATCHLIMIT || r == PCRE2_ERROR_HEAPLIMIT ||
            r == PCRE2_ERROR_NOMEMORY || r == PCRE2_ERROR_DEPTHLIMIT)
            return fail(d, "matching element %lld takes too many steps; simplify the pattern",
                        (long long)i);
    }
    return true;
}

bool xrt_plugin_1_regex(struct str pattern, const struct str *s, int64_t n, uint8_t *matched,
                        struct diag *d)
{
    pcre2_code *code = compile(pattern, PCRE2_ANCHORED | PCRE2_ENDANCHORED, d);
    if (!code)
        return diag_failed(d) ? false : fail(d, "out of memory");
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(code, NULL);
    pcre2_match_context *how = pcre2_match_context_create(NULL);
    bool ok =
        match && how ? match_all(s, n, matched, code, match, how, d) : fail(d, "out of memory");
    pcre2_match_context_free(how);
    pcre2_match_data_free(match);
    pcre2_code_free(code);
    return ok;
}
