#include "passes/ir/options.h"

#include <stdarg.h>

void why(const struct options *o, const struct node *n, const char *code, const char *fmt, ...)
{
    if (!o || !o->explain)
        return;
    va_list ap;
    va_start(ap, fmt);
    char text[512];
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "explain: %s (%s): %s: %s\n", n && n->name && *n->name ? n->name : "unnamed",
            n ? op_name(n->op) : "graph", code, text);
}
