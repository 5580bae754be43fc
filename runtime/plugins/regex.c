/* Regular expressions, by PCRE2. Matching has a step limit. */
#include "runtime/plugins/regex.h"

/* Steps that an element of n may take: many where there are few elements, and always so many for each of its bytes. */
static uint32_t steps_for(const struct str *s, int64_t n)
{
    static const double max = 1e7, together = 2e8, per_byte = 1000;
    double steps = together / (double)n + per_byte * (double)s->n;
    return (uint32_t)(steps < max ? steps : max);
}

static bool match_all(const struct str *s, int64_t n, uint8_t *matched, const pcre2_code *code,
                      pcre2_match_data *match, pcre2_match_context *how, struct diag *d)
{
    pcre2_set_heap_limit(how, 65536);
    for (int64_t i = 0; i < n; i++) {
        pcre2_set_match_limit(how, steps_for(&s[i], n));
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
        return diag_failed(d) ? false : fail_memory(d, "out of memory");
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(code, NULL);
    pcre2_match_context *how = pcre2_match_context_create(NULL);
    bool ok =
        match && how ? match_all(s, n, matched, code, match, how, d) : fail_memory(d, "out of memory");
    pcre2_match_context_free(how);
    pcre2_match_data_free(match);
    pcre2_code_free(code);
    return ok;
}
