#include "frontend/hlo/syntax/names.h"

#include <stdio.h>
#include <string.h>

struct hlo_name_slot {
    const char *name; /* NULL: free */
    void *value;
    uint64_t hash;
    uint32_t scope;
    uint32_t size;
};

enum { STRINGS = UINT32_MAX };

static uint64_t hash_of(uint32_t scope, const char *s, size_t size)
{
    uint64_t h = 0xcbf29ce484222325u ^ scope * 0x9e3779b97f4a7c15u;
    for (size_t k = 0; k < size; k++)
        h = (h ^ (unsigned char)s[k]) * 0x100000001b3u;
    return h ^ h >> 32;
}

static struct hlo_name_slot *slot_of(const struct hlo_names *n, uint32_t scope, const char *s,
                                     size_t size, uint64_t hash)
{
    size_t mask = n->capacity - 1;
    for (size_t k = hash & mask;; k = (k + 1) & mask) {
        struct hlo_name_slot *slot = &n->slots[k];
        if (!slot->name || (slot->hash == hash && slot->scope == scope && slot->size == size &&
                            !memcmp(slot->name, s, size)))
            return slot;
    }
}

static void grow(struct hlo_names *n)
{
    struct hlo_names old = *n;
    n->capacity = old.capacity ? old.capacity * 2 : 1024;
    n->table = (struct arena){0};
    n->slots = ARENA_ARRAY(&n->table, struct hlo_name_slot, n->capacity);
    for (size_t k = 0; k < old.capacity; k++) {
        const struct hlo_name_slot *s = &old.slots[k];
        if (s->name)
            *slot_of(n, s->scope, s->name, s->size, s->hash) = *s;
    }
    arena_free(&old.table);
}

static struct hlo_name_slot *add(struct hlo_names *n, uint32_t scope, const char *s, size_t size)
{
    if (n->count * 2 >= n->capacity)
        grow(n);
    uint64_t hash = hash_of(scope, s, size);
    struct hlo_name_slot *slot = slot_of(n, scope, s, size, hash);
    if (!slot->name) {
        slot->hash = hash;
        slot->scope = scope;
        slot->size = (uint32_t)size;
    }
    return slot;
}

const char *hlo_intern(struct hlo_names *n, const char *s, size_t size)
{
    struct hlo_name_slot *slot = add(n, STRINGS, s, size);
    if (!slot->name) {
        slot->name = arena_strndup(n->strings, s, size);
        n->count++;
    }
    return slot->name;
}

void *hlo_name_find(const struct hlo_names *n, uint32_t scope, const char *s, size_t size)
{
    if (!n->capacity)
        return NULL;
    const struct hlo_name_slot *slot = slot_of(n, scope, s, size, hash_of(scope, s, size));
    return slot->name ? slot->value : NULL;
}

bool hlo_name_add(struct hlo_names *n, uint32_t scope, const char *name, void *value)
{
    struct hlo_name_slot *slot = add(n, scope, name, strlen(name));
    if (slot->name)
        return false;
    slot->name = name;
    slot->value = value;
    n->count++;
    return true;
}

const char *hlo_name_fresh(struct hlo_names *n, uint32_t scope, const char *base, int *counter)
{
    char text[300];
    if (strlen(base) > 250)
        base = "anonymous";
    snprintf(text, sizeof text, "%s", base);
    while (hlo_name_find(n, scope, text, strlen(text)))
        snprintf(text, sizeof text, "%s.%d", base, ++*counter);
    return hlo_intern(n, text, strlen(text));
}

const char *hlo_name_clean(struct hlo_names *n, const char *s)
{
    struct arena scratch = {0};
    char *copy = arena_strdup(&scratch, *s ? s : "_");
    for (char *p = copy; *p; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';
        bool other = (*p >= '0' && *p <= '9') || *p == '.' || *p == '-';
        if (!letter && (p == copy || !other))
            *p = '_';
    }
    const char *name = hlo_intern(n, copy, strlen(copy));
    arena_free(&scratch);
    return name;
}
