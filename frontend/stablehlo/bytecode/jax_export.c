#include "frontend/stablehlo/bytecode/jax_export.h"

#include <string.h>

/* Fields of the root table, in the order of the schema. */
enum {
    FUNCTION_NAME = 1,
    DEVICES_SHORT = 6,
    PLATFORMS = 9,
    ORDERED_EFFECTS = 10,
    MODULE = 13,
    CALLING_CONVENTION = 14,
    KEPT = 15,
    DEVICES = 18
};

struct buffer {
    const uint8_t *data;
    size_t size, table, vtable;
    unsigned vtable_size, table_size;
};

static uint64_t number(const struct buffer *b, size_t at, size_t bytes)
{
    uint64_t v = 0;
    if (at <= b->size && bytes <= b->size - at)
        memcpy(&v, b->data + at, bytes);
    return v;
}

static bool open_buffer(struct buffer *b, const uint8_t *data, size_t size)
{
    *b = (struct buffer){.data = data, .size = size};
    if (size < 16)
        return false;
    b->table = number(b, 0, 4);
    if (b->table % 4 || b->table < 4 || b->table > size - 4)
        return false;
    int64_t vtable = (int64_t)b->table - (int32_t)number(b, b->table, 4);
    if (vtable < 4 || (uint64_t)vtable > size - 4)
        return false;
    b->vtable = (size_t)vtable;
    b->vtable_size = (unsigned)number(b, b->vtable, 2);
    b->table_size = (unsigned)number(b, b->vtable + 2, 2);
    return b->vtable_size >= 4 && b->vtable_size % 2 == 0 && b->vtable_size <= size - b->vtable &&
           b->table_size >= 4 && b->table_size <= size - b->table;
}

/* Where field `slot` lies; 0 when it is not there. */
static size_t field(const struct buffer *b, int slot)
{
    size_t at = 4 + 2 * (size_t)slot;
    if (at + 2 > b->vtable_size)
        return 0;
    uint64_t offset = number(b, b->vtable + at, 2);
    return offset && offset < b->table_size ? b->table + (size_t)offset : 0;
}

/* A vector's elements and their number; false when it is not there or does not fit. */
static bool vector(const struct buffer *b, size_t at, size_t element, const uint8_t **p, size_t *n)
{
    *n = 0;
    if (!at)
        return false;
    uint64_t start = at + number(b, at, 4);
    if (start < at || start > b->size - 4)
        return false;
    uint64_t count = number(b, (size_t)start, 4);
    if (count > (b->size - start - 4) / element)
        return false;
    *p = b->data + start + 4;
    *n = (size_t)count;
    return true;
}

static bool module_bytes(const struct buffer *b, const uint8_t **p, size_t *n)
{
    return vector(b, field(b, MODULE), 1, p, n) && *n >= 4 && !memcmp(*p, "ML\xefR", 4);
}

bool jax_export_detect(const uint8_t *data, size_t size)
{
    struct buffer b;
    const uint8_t *p;
    size_t n;
    return open_buffer(&b, data, size) && module_bytes(&b, &p, &n);
}

static int64_t scalar(const struct buffer *b, int slot, size_t bytes)
{
    size_t at = field(b, slot);
    return at ? (int64_t)number(b, at, bytes) : 0;
}

static void strings(struct arena *a, const struct buffer *b, int slot, int *count,
                    const char ***out)
{
    const uint8_t *p, *s;
    size_t n, size;
    *count = 0;
    *out = NULL;
    if (!vector(b, field(b, slot), 4, &p, &n) || n > 64)
        return;
    *out = ARENA_ARRAY(a, const char *, n + 1);
    for (size_t k = 0; k < n; k++)
        if (vector(b, (size_t)(p - b->data) + 4 * k, 1, &s, &size))
            (*out)[(*count)++] = arena_strndup(a, (const char *)s, size);
}

bool jax_export_read(struct arena *a, const char *file, const uint8_t *data, size_t size,
                     struct jax_export *e, struct diag *d)
{
    struct buffer b;
    const uint8_t *p;
    size_t n;
    const char **effects;
    *e = (struct jax_export){0};
    if (!open_buffer(&b, data, size) || !module_bytes(&b, &e->module, &e->module_size))
        return fail(d, "%s: not a file of jax.export, or a damaged one", file);
    e->name =
        vector(&b, field(&b, FUNCTION_NAME), 1, &p, &n) ? arena_strndup(a, (const char *)p, n) : "";
    e->devices = scalar(&b, DEVICES, 4);
    if (!e->devices)
        e->devices = scalar(&b, DEVICES_SHORT, 2);
    e->calling_convention = scalar(&b, CALLING_CONVENTION, 2);
    strings(a, &b, PLATFORMS, &e->platform_count, &e->platforms);
    strings(a, &b, ORDERED_EFFECTS, &e->ordered_effects, &effects);
    if (vector(&b, field(&b, KEPT), 2, &p, &n)) {
        e->kept = ARENA_ARRAY(a, int64_t, n + 1);
        for (; (size_t)e->kept_count < n; e->kept_count++)
            e->kept[e->kept_count] =
                (int64_t)number(&b, (size_t)(p - data) + 2 * (size_t)e->kept_count, 2);
    }
    return true;
}
