#include "frontend/onnx/scope.h"

#include <string.h>

struct scope_entry {
    const char *name;
    struct value *value;
};

static uint32_t hash(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 16777619u;
    return h;
}

struct scope *scope_new(struct arena *a, struct scope *outer, struct frame *frame)
{
    struct scope *s = ARENA_NEW(a, struct scope);
    s->arena = a;
    s->outer = outer;
    s->frame = frame;
    return s;
}

static struct scope_entry *slot(const struct scope *s, const char *name)
{
    uint32_t mask = (uint32_t)s->cap - 1;
    for (uint32_t i = hash(name) & mask;; i = (i + 1) & mask)
        if (!s->entries[i].name || !strcmp(s->entries[i].name, name))
            return &s->entries[i];
}

static void grow(struct scope *s)
{
    struct scope_entry *old = s->entries;
    int n = s->cap;
    s->cap = n ? 2 * n : 16;
    s->entries = ARENA_ARRAY(s->arena, struct scope_entry, s->cap);
    for (int i = 0; i < n; i++)
        if (old[i].name)
            *slot(s, old[i].name) = old[i];
}

bool scope_define(struct scope *s, const char *name, struct value *v)
{
    if (s->count * 2 >= s->cap)
        grow(s);
    struct scope_entry *e = slot(s, name);
    if (e->name)
        return false;
    *e = (struct scope_entry){arena_strdup(s->arena, name), v};
    s->count++;
    return true;
}

static const struct scope_entry *find(const struct scope *s, const char *name)
{
    for (; s; s = s->outer) {
        const struct scope_entry *e = s->cap ? slot(s, name) : NULL;
        if (e && e->name)
            return e;
    }
    return NULL;
}

struct value *scope_find(const struct scope *s, const char *name)
{
    const struct scope_entry *e = find(s, name);
    return e ? e->value : NULL;
}

bool scope_has(const struct scope *s, const char *name)
{
    return find(s, name) != NULL;
}
