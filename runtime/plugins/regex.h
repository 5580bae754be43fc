/*
 * What the two plugins with PCRE2 share: how patterns are compiled.
 */
#ifndef RUNTIME_PLUGINS_REGEX_H
#define RUNTIME_PLUGINS_REGEX_H

#include "runtime/plugins/plugin.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

static pcre2_code *compile(struct str s, uint32_t flags, struct diag *d)
{
    int code;
    size_t at;
    pcre2_compile_context *how = pcre2_compile_context_create(NULL);
    if (!how)
        return NULL;
    pcre2_set_newline(how, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(how, 200);
    pcre2_code *made = pcre2_compile((PCRE2_SPTR)s.p, s.n,
                                     PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY | flags,
                                     &code, &at, how);
    pcre2_compile_context_free(how);
    if (!made) {
        unsigned char text[200] = "";
        pcre2_get_error_message(code, text, sizeof text);
        fail(d, "pattern '%.*s': %s at byte %zu", (int)s.n, s.p, (char *)text, at);
    }
    return made;
}

#endif
