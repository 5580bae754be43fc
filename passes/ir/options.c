#include "passes/ir/options.h"

#include <stdarg.h>

void why(const struct options *o, const struct node *n, const char *code, const char *fmt, ...)
{
    if (!o || !o->reasons)
        return;
    va_list ap;
    va_start(ap, fmt);
    char text[512];
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const char *name = n && n->name && *n->name ? n->name : "unnamed";
    const char *op = n ? op_name(n->op) : "graph";
    struct reasons *r = o->reasons;
    ARENA_GROW(&r->arena, r->rows, r->count, r->cap);
    r->rows[r->count++] = (struct reason){arena_strdup(&r->arena, name), op, code,
                                          arena_strdup(&r->arena, text)};
}
