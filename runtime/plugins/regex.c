/* Regular expressions, by PCRE2. Matching has a step limit. */
#include "runtime/plugins/plugin.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

static pcre2_code *compile(struct str s, struct diag *d)
{
    int code;
    size_t at;
    pcre2_compile_context *how = pcre2_compile_context_create(NULL);
    if (!how)
        return NULL;
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
    pcre2_code *code = compile(pattern, d);
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
