/* Case of letters, by libutf8proc. */
#include "runtime/plugins/plugin.h"

#include <utf8proc.h>

size_t xrt_plugin_1_unicode(const char *p, size_t n, bool upper, char **to)
{
    utf8proc_int32_t code;
    utf8proc_ssize_t size =
        utf8proc_iterate((const utf8proc_uint8_t *)p, (utf8proc_ssize_t)n, &code);
    if (size <= 0)
        return 0;
    code = upper ? utf8proc_toupper(code) : utf8proc_tolower(code);
    *to += utf8proc_encode_char(code, (utf8proc_uint8_t *)*to);
    return (size_t)size;
}
