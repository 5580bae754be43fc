#include "frontend/onnx/lower.h"
#include "neff/core/signature.h"

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

struct schema_attribute {
    struct str name, kinds, types; /* types: of an int that is an element type */
    bool required, may_be_none;
};

/* The next attribute's text at *s; advances. */
static bool next_attribute(const char **s, struct schema_attribute *a)
{
    const char *p = *s + strspn(*s, " ");
    const char *colon = strchr(p, ':');
    if (!colon)
        return false;
    const char *kinds = colon + 1;
    size_t n = strcspn(kinds, " "), named = strcspn(kinds, " ?=!");
    *s = kinds + n;
    *a = (struct schema_attribute){.name = {p, (size_t)(colon - p)}, .kinds = {kinds, named}};
    a->required = kinds[n - 1] == '!';
    a->may_be_none = kinds[named] == '?';
    named += a->may_be_none;
    if (kinds[named] == '=')
        a->types = (struct str){kinds + named + 1, n - named - 1 - a->required};
    return true;
}

static bool find_attribute(const struct schema *s, const char *name, struct schema_attribute *a)
{
    for (const char *at = s->attributes; next_attribute(&at, a);)
        if (strlen(name) == a->name.n && !memcmp(name, a->name.p, a->name.n))
            return true;
    return false;
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
    struct schema_attribute a;
    if (!find_attribute(s, attribute, &a))
        return ATTRIBUTE_UNKNOWN;
    *expected = kind_text(a.kinds);
    return memchr(a.kinds.p, kind, a.kinds.n) ? ATTRIBUTE_OK : ATTRIBUTE_WRONG_KIND;
}

bool schema_check_type(const struct schema *s, struct onnx_node *n, const char *attribute, int64_t value)
{
    struct schema_attribute a;
    struct signature admitted;
    if (!find_attribute(s, attribute, &a) || !a.types.n || (value == 0 && a.may_be_none))
        return true;
    const char *types = arena_strndup(&n->b->g->arena, a.types.p, a.types.n);
    bool is_type = value > 0 && value < DT_END && dtype_valid((int)value);
    if (!signature_parse(types, &admitted))
        return NODE_ERROR(n, "attribute '%s': the schema's types are not readable: %s", attribute, types);
    if (is_type && type_set_has(admitted.operand[0].admits, (int)value))
        return true;
    return NODE_ERROR(n, "attribute '%s' is %lld (%s), expected the number of one of %s", attribute, (long long)value,
                      is_type ? dtype_name((int)value) : "no element type", types);
}

const char *schema_missing(const struct schema *s, struct arena *a,
                           bool (*has)(void *user, const char *name), void *user)
{
    struct schema_attribute next;
    for (const char *at = s->attributes; next_attribute(&at, &next);) {
        if (!next.required)
            continue;
        const char *text = arena_strndup(a, next.name.p, next.name.n);
        if (!has(user, text))
            return text;
    }
    return NULL;
}
