#include "frontend/standalone/use.h"

#include <string.h>

bool use_has(const struct used *u, const char *name)
{
    for (int i = 0; i < u->count; i++)
        if (!strcmp(u->names[i], name))
            return true;
    return false;
}

void use_add(struct used *u, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *name = arena_vprintf(u->arena, fmt, ap);
    va_end(ap);
    if (use_has(u, name))
        return;
    ARENA_GROW(u->arena, u->names, u->count, u->cap);
    u->names[u->count++] = name;
}
