/*
 * The operator that a call means, among libraries that are loaded or linked in.
 */
#include "runtime/custom/custom.h"

#include <stdio.h>
#include <string.h>

const struct custom_operator *custom_library_operator(const struct custom_library *l,
                                                      const char *full, int version)
{
    const struct custom_operator *best = NULL;
    for (int i = 0; i < l->count; i++) {
        const struct custom_operator *op = &l->operators[i];
        if (strcmp(op->full, full) != 0 || (version && op->code->version > version))
            continue;
        if (!best || op->code->version > best->code->version)
            best = op;
    }
    return best;
}

const struct custom_operator *custom_find(const struct attrs *attrs, struct diag *d)
{
    struct str hash = attr_str(attrs, CUSTOM_LIBRARY, ""),
               full = attr_str(attrs, CUSTOM_OPERATOR, "");
    char key[CUSTOM_HASH + 1] = "", name[256];
    if (hash.n == CUSTOM_HASH)
        memcpy(key, hash.p, CUSTOM_HASH);
    snprintf(name, sizeof name, "%.*s", (int)(full.n < 255 ? full.n : 255), full.p);
    const struct custom_library *l = *key ? custom_library_find(key) : NULL;
    const struct custom_operator *op =
        l ? custom_library_operator(l, name, (int)attr_int(attrs, CUSTOM_VERSION, 0)) : NULL;
    if (!l)
        fail(d, "operator %s is code of a library that is not loaded", name);
    else if (!op)
        fail(d, "library '%s' has no operator %s", l->name, name);
    return op;
}
