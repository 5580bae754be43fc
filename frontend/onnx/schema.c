#include "frontend/onnx/lower.h"

#include <stdlib.h>
#include <string.h>

const struct schema schemas[] = {
#define SCHEMA(domain, op, since, min_in, max_in, min_out, max_out, types, attributes)             \
    {domain, op, since, min_in, max_in, min_out, max_out, types, attributes},
#include "frontend/onnx/schema.def"
};
const int nschemas = sizeof schemas / sizeof *schemas;

const struct schema *schema_find(const char *domain, const char *op)
{
    int low = 0, high = nschemas;
    while (low < high) {
        int mid = (low + high) / 2;
        int c = strcmp(domain, schemas[mid].domain);
        if (c == 0)
            c = strcmp(op, schemas[mid].op);
        if (c == 0)
            return &schemas[mid];
        if (c < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

/* One `name:kinds!` at *s; advances. */
static bool next_attribute(const char **s, struct str *name, struct str *kinds)
{
    const char *p = *s + strspn(*s, " ");
    const char *colon = strchr(p, ':');
    if (!colon)
        return false;
    size_t n = strcspn(colon + 1, " ");
    *name = (struct str){p, (size_t)(colon - p)};
    *kinds = (struct str){colon + 1, n};
    *s = colon + 1 + n;
    return true;
}

static const char *kind_text(struct str kinds)
{
    static const struct {
        char kind;
        const char *text;
    } texts[] = {{'f', "a float"}, {'i', "an int"},          {'s', "a string"}, {'t', "a tensor"},
                 {'g', "a graph"}, {'p', "a sparse tensor"}, {'y', "a type"},   {'F', "floats"},
                 {'I', "ints"},    {'S', "strings"},         {'T', "tensors"},  {'G', "graphs"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].kind == kinds.p[0])
            return texts[i].text;
    return "another kind";
}

enum attribute_check schema_check(const struct schema *s, const char *attribute, char kind,
                                  const char **expected)
{
    struct str name, kinds;
    for (const char *at = s->attributes; next_attribute(&at, &name, &kinds);)
        if (strlen(attribute) == name.n && !memcmp(attribute, name.p, name.n)) {
            *expected = kind_text(kinds);
            return memchr(kinds.p, kind, kinds.n) ? ATTRIBUTE_OK : ATTRIBUTE_WRONG_KIND;
        }
    return ATTRIBUTE_UNKNOWN;
}

const char *schema_missing(const struct schema *s, struct arena *a,
                           bool (*has)(void *user, const char *name), void *user)
{
    struct str name, kinds;
    for (const char *at = s->attributes; next_attribute(&at, &name, &kinds);) {
        if (kinds.p[kinds.n - 1] != '!')
            continue;
        const char *text = arena_strndup(a, name.p, name.n);
        if (!has(user, text))
            return text;
    }
    return NULL;
}
