#include "neff/core/attr.h"

#include <string.h>

const struct attr *attr_find(const struct attrs *as, const char *name)
{
    for (int i = 0; i < as->count; i++)
        if (as->list[i].name[0] == name[0] && !strcmp(as->list[i].name, name))
            return &as->list[i];
    return NULL;
}

static const struct attr *find_kind(const struct attrs *as, const char *name, int kind)
{
    const struct attr *a = attr_find(as, name);
    return a && a->kind == kind ? a : NULL;
}

int64_t attr_int(const struct attrs *as, const char *name, int64_t otherwise)
{
    const struct attr *a = find_kind(as, name, ATTR_INT);
    return a ? a->i : otherwise;
}

double attr_float(const struct attrs *as, const char *name, double otherwise)
{
    const struct attr *a = find_kind(as, name, ATTR_FLOAT);
    return a ? a->f : otherwise;
}

struct str attr_str(const struct attrs *as, const char *name, const char *otherwise)
{
    const struct attr *a = find_kind(as, name, ATTR_STR);
    return a ? a->s : (struct str){otherwise, otherwise ? strlen(otherwise) : 0};
}

bool attr_is(const struct attrs *as, const char *name, const char *value)
{
    const struct attr *a = find_kind(as, name, ATTR_STR);
    return a && a->s.n == strlen(value) && !memcmp(a->s.p, value, a->s.n);
}

const int64_t *attr_ints(const struct attrs *as, const char *name, int *count)
{
    const struct attr *a = find_kind(as, name, ATTR_INTS);
    *count = a ? a->count : 0;
    return a ? a->ints : NULL;
}

int64_t attr_int_at(const struct attrs *as, const char *name, int i, int64_t otherwise)
{
    int count;
    const int64_t *v = attr_ints(as, name, &count);
    return v && i < count ? v[i] : otherwise;
}

const double *attr_floats(const struct attrs *as, const char *name, int *count)
{
    const struct attr *a = find_kind(as, name, ATTR_FLOATS);
    *count = a ? a->count : 0;
    return a ? a->floats : NULL;
}

const struct str *attr_strs(const struct attrs *as, const char *name, int *count)
{
    const struct attr *a = find_kind(as, name, ATTR_STRS);
    *count = a ? a->count : 0;
    return a ? a->strs : NULL;
}

const struct tensor *attr_tensor(const struct attrs *as, const char *name)
{
    const struct attr *a = find_kind(as, name, ATTR_TENSOR);
    return a ? a->tensor : NULL;
}

const struct type *attr_type(const struct attrs *as, const char *name)
{
    const struct attr *a = find_kind(as, name, ATTR_TYPE);
    return a ? a->type : NULL;
}

static struct attr *slot(struct arena *a, struct attrs *as, const char *name, int kind)
{
    struct attr *at = (struct attr *)attr_find(as, name);
    if (!at) {
        ARENA_GROW(a, as->list, as->count, as->cap);
        at = &as->list[as->count++];
        at->name = arena_strdup(a, name);
    }
    at->kind = kind;
    at->count = 0;
    return at;
}

void attr_set_int(struct arena *a, struct attrs *as, const char *name, int64_t v)
{
    slot(a, as, name, ATTR_INT)->i = v;
}

void attr_set_float(struct arena *a, struct attrs *as, const char *name, double v)
{
    slot(a, as, name, ATTR_FLOAT)->f = v;
}

void attr_set_strn(struct arena *a, struct attrs *as, const char *name, struct str v)
{
    slot(a, as, name, ATTR_STR)->s = (struct str){arena_strndup(a, v.p, v.n), v.n};
}

void attr_set_str(struct arena *a, struct attrs *as, const char *name, const char *v)
{
    attr_set_strn(a, as, name, (struct str){v, strlen(v)});
}

void attr_set_ints(struct arena *a, struct attrs *as, const char *name, const int64_t *v, int n)
{
    const int64_t *copy = arena_copy(a, v, sizeof *v * (size_t)n);
    struct attr *at = slot(a, as, name, ATTR_INTS);
    at->ints = copy;
    at->count = n;
}

void attr_set_floats(struct arena *a, struct attrs *as, const char *name, const double *v, int n)
{
    const double *copy = arena_copy(a, v, sizeof *v * (size_t)n);
    struct attr *at = slot(a, as, name, ATTR_FLOATS);
    at->floats = copy;
    at->count = n;
}

void attr_set_strs(struct arena *a, struct attrs *as, const char *name, const struct str *v, int n)
{
    struct str *copy = ARENA_ARRAY(a, struct str, n);
    for (int i = 0; i < n; i++)
        copy[i] = (struct str){arena_strndup(a, v[i].p, v[i].n), v[i].n};
    struct attr *at = slot(a, as, name, ATTR_STRS);
    at->strs = copy;
    at->count = n;
}

void attr_set_tensor(struct arena *a, struct attrs *as, const char *name, const struct tensor *v)
{
    slot(a, as, name, ATTR_TENSOR)->tensor = v;
}

void attr_set_type(struct arena *a, struct attrs *as, const char *name, const struct type *v)
{
    slot(a, as, name, ATTR_TYPE)->type = v;
}

void attr_remove(struct attrs *as, const char *name)
{
    for (int i = 0; i < as->count; i++)
        if (!strcmp(as->list[i].name, name)) {
            memmove(&as->list[i], &as->list[i + 1], sizeof *as->list * (size_t)(as->count - i - 1));
            as->count--;
            return;
        }
}

struct attrs attrs_copy(struct arena *a, const struct attrs *as)
{
    struct attrs out = {0};
    for (int i = 0; i < as->count; i++) {
        const struct attr *at = &as->list[i];
        switch (at->kind) {
        case ATTR_STR:
            attr_set_strn(a, &out, at->name, at->s);
            break;
        case ATTR_INTS:
            attr_set_ints(a, &out, at->name, at->ints, at->count);
            break;
        case ATTR_FLOATS:
            attr_set_floats(a, &out, at->name, at->floats, at->count);
            break;
        case ATTR_STRS:
            attr_set_strs(a, &out, at->name, at->strs, at->count);
            break;
        default: {
            struct attr *to = slot(a, &out, at->name, at->kind);
            const char *name = to->name;
            *to = *at;
            to->name = name;
        }
        }
    }
    return out;
}

static bool str_equal(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || !memcmp(a.p, b.p, a.n));
}

static bool value_equal(const struct attr *a, const struct attr *b)
{
    if (a->kind != b->kind || a->count != b->count)
        return false;
    switch (a->kind) {
    case ATTR_INT:
        return a->i == b->i;
    case ATTR_FLOAT:
        return !memcmp(&a->f, &b->f, sizeof a->f);
    case ATTR_STR:
        return str_equal(a->s, b->s);
    case ATTR_INTS:
        return !a->count || !memcmp(a->ints, b->ints, sizeof *a->ints * (size_t)a->count);
    case ATTR_FLOATS:
        return !a->count || !memcmp(a->floats, b->floats, sizeof *a->floats * (size_t)a->count);
    case ATTR_STRS:
        for (int i = 0; i < a->count; i++)
            if (!str_equal(a->strs[i], b->strs[i]))
                return false;
        return true;
    case ATTR_TENSOR:
        return a->tensor == b->tensor || tensor_equal(a->tensor, b->tensor);
    default:
        return type_equal(a->type, b->type);
    }
}

bool attrs_equal(const struct attrs *a, const struct attrs *b)
{
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++) {
        const struct attr *other = attr_find(b, a->list[i].name);
        if (!other || !value_equal(&a->list[i], other))
            return false;
    }
    return true;
}
