#include "neff/core/type.h"

#include <ctype.h>
#include <string.h>

struct type type_tensor(int dtype, int rank, const dim_t *dims)
{
    struct type t = {.kind = VK_TENSOR, .dtype = (uint8_t)dtype, .rank = (int8_t)rank};
    for (int i = 0; i < rank; i++)
        t.dims[i] = dims[i];
    return t;
}

struct type type_container(int kind, const struct type *elem)
{
    return (struct type){.kind = (uint8_t)kind, .elem = elem};
}

bool type_equal(const struct type *a, const struct type *b)
{
    if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    if (!a->elem || !b->elem)
        return a->elem == b->elem;
    return type_equal(a->elem, b->elem);
}

struct type type_given(const struct dim_table *t, const struct type *x)
{
    struct type y = *x;
    for (int i = 0; y.kind == VK_TENSOR && i < y.rank; i++)
        if (dim_given(t, y.dims[i]) != DIM_NOT_BOUND)
            y.dims[i] = dim_given(t, y.dims[i]);
    return y;
}

bool type_is_static(const struct type *t)
{
    if (t->kind != VK_TENSOR || t->rank < 0)
        return false;
    for (int i = 0; i < t->rank; i++)
        if (!dim_is_const(t->dims[i]))
            return false;
    return true;
}

dim_t type_count(struct dim_table *dt, const struct type *t)
{
    if (t->kind != VK_TENSOR || t->rank < 0)
        return -1;
    dim_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n = dim_mul(dt, n, t->dims[i]);
    return n;
}

static const char *element_text(int dtype)
{
    return dtype == DT_NONE ? "any" : dtype_name(dtype);
}

static bool parse_element(const char *name, uint8_t *dtype)
{
    *dtype = strcmp(name, "any") ? (uint8_t)dtype_from_name(name) : DT_NONE;
    return *dtype != DT_NONE || !strcmp(name, "any");
}

static const char *const container_names[] = {
    [VK_SEQUENCE] = "seq", [VK_OPTIONAL] = "opt", [VK_MAP] = "map"};

const char *type_text(const struct dim_table *dt, struct arena *a, const struct type *t)
{
    if (t->kind == VK_NONE)
        return "none";
    if (t->kind == VK_MAP)
        return arena_printf(a, "map(%s,%s)", element_text(t->dtype),
                            t->elem ? type_text(dt, a, t->elem) : "none");
    if (t->kind != VK_TENSOR)
        return arena_printf(a, "%s(%s)", container_names[t->kind],
                            t->elem ? type_text(dt, a, t->elem) : "none");
    if (t->rank < 0)
        return arena_printf(a, "%s[*]", element_text(t->dtype));
    const char *text = arena_printf(a, "%s[", element_text(t->dtype));
    for (int i = 0; i < t->rank; i++)
        text = arena_printf(a, "%s%s%s", text, i ? "," : "", dim_text(dt, a, t->dims[i]));
    return arena_printf(a, "%s]", text);
}

static bool word(const char **s, char *out, size_t cap)
{
    size_t n = 0;
    while (isalnum((unsigned char)**s) && n + 1 < cap)
        out[n++] = *(*s)++;
    out[n] = 0;
    return n > 0;
}

static bool expect(const char **s, char c, struct diag *d)
{
    if (**s != c)
        return fail(d, "type: expected '%c' at '%.20s'", c, *s);
    ++*s;
    return true;
}

static bool parse_dims(struct dim_table *dt, const char **s, struct type *out, struct diag *d)
{
    if (**s == '*') {
        ++*s;
        out->rank = RANK_UNKNOWN;
        return expect(s, ']', d);
    }
    if (**s == ']') {
        ++*s;
        return true;
    }
    for (;;) {
        if (out->rank == MAX_RANK)
            return fail(d, "type: more than %d dimensions", MAX_RANK);
        if (!dim_parse(dt, s, &out->dims[out->rank++], d))
            return false;
        if (**s != ',')
            return expect(s, ']', d);
        ++*s;
    }
}

static bool parse(struct dim_table *dt, const char **s, struct type *out, struct diag *d, int depth)
{
    char name[32];
    const char *start = *s;
    *out = (struct type){0};
    if (depth > 16)
        return fail(d, "type: nested too deeply");
    if (!word(s, name, sizeof name))
        return fail(d, "type: expected a type at '%.20s'", start);
    if (!strcmp(name, "none")) {
        out->kind = VK_NONE;
        return true;
    }
    for (int k = VK_SEQUENCE; k <= VK_MAP; k++) {
        if (strcmp(name, container_names[k]))
            continue;
        out->kind = (uint8_t)k;
        if (!expect(s, '(', d))
            return false;
        if (k == VK_MAP) {
            if (!word(s, name, sizeof name) || !parse_element(name, &out->dtype))
                return fail(d, "type: expected a key type at '%.20s'", *s);
            if (!expect(s, ',', d))
                return false;
        }
        struct type *elem = ARENA_NEW(dt->arena, struct type);
        out->elem = elem;
        return parse(dt, s, elem, d, depth + 1) && expect(s, ')', d);
    }
    if (!parse_element(name, &out->dtype))
        return fail(d, "type: unknown element type '%s'", name);
    return expect(s, '[', d) && parse_dims(dt, s, out, d);
}

bool type_parse(struct dim_table *dt, const char **s, struct type *out, struct diag *d)
{
    return parse(dt, s, out, d, 0);
}
