/* MLIR bytecode: sections, strings, dialects, tables of attributes, types, properties. */
#include "frontend/stablehlo/bytecode/bytecode.h"

#include <string.h>

enum {
    STRING,
    DIALECT,
    ATTR_TYPE,
    ATTR_TYPE_OFFSET,
    IR,
    RESOURCE,
    RESOURCE_OFFSET,
    VERSIONS,
    PROPERTIES
};
enum { NEWEST = 6 };

/* ---- sections ---- */

static bool read_sections(struct bc_reader *r, struct bc_cursor *c)
{
    while (c->p < c->end) {
        uint8_t id = bc_byte(c);
        uint64_t length = bc_varint(c);
        if (id & 0x80) {
            uint64_t alignment = bc_varint(c);
            if (c->bad || !alignment || alignment > 1 << 20)
                return bc_fail(r, c, "a section with alignment %llu",
                               (unsigned long long)alignment);
            while (c->p < c->end && (uint64_t)(c->p - r->data) % alignment)
                c->p++;
        }
        id &= 0x7f;
        if (c->bad || length > (uint64_t)(c->end - c->p))
            return bc_fail(r, c, "the file is truncated: section %d of %llu bytes, %zu are left",
                           id, (unsigned long long)length, (size_t)(c->end - c->p));
        if (id < BC_SECTIONS) {
            if (r->section[id].p)
                return bc_fail(r, c, "section %d is there twice", id);
            r->section[id] = (struct bc_cursor){c->p, c->p + length, false};
        }
        c->p += length;
    }
    static const int needed[] = {STRING, DIALECT, ATTR_TYPE, ATTR_TYPE_OFFSET, IR};
    for (int k = 0; k < 5; k++)
        if (!r->section[needed[k]].p)
            return bc_fail(r, NULL, "the file is truncated or damaged: section %d is missing",
                           needed[k]);
    return true;
}

/* Lengths, last string first, then the strings one after the other. */
static bool read_strings(struct bc_reader *r)
{
    struct bc_cursor *c = &r->section[STRING];
    int n = bc_count(c);
    r->strings = ARENA_ARRAY(r->arena, struct bc_string, n + 1);
    uint64_t total = 0;
    for (int k = n - 1; k >= 0; k--) {
        uint64_t size = bc_varint(c);
        if (c->bad || size < 1 || size > (uint64_t)(c->end - c->p))
            return bc_fail(r, c, "string %d has a bad length", k);
        r->strings[k].size = (size_t)size;
        total += size;
    }
    if (total > (uint64_t)(c->end - c->p))
        return bc_fail(r, c, "the strings are truncated");
    for (int k = 0; k < n; k++) {
        size_t size = --r->strings[k].size;
        r->strings[k].s = arena_strndup(r->arena, (const char *)c->p, size);
        c->p += size + 1;
    }
    r->string_count = n;
    return true;
}

static bool read_op_names(struct bc_reader *r, struct bc_cursor *c)
{
    int capacity = 0;
    if (r->version >= 4)
        bc_varint(c); /* their number */
    while (c->p < c->end) {
        uint64_t dialect = bc_varint(c);
        int n = bc_count(c);
        if (c->bad || dialect >= (uint64_t)r->dialect_count)
            return bc_fail(r, c, "names of operations of dialect %llu",
                           (unsigned long long)dialect);
        for (int k = 0; k < n; k++) {
            struct bc_cursor probe = *c;
            uint64_t v = bc_varint(c);
            struct bc_op_name o = {.dialect = (int)dialect, .registered = true};
            if (r->version >= 5) {
                o.registered = v & 1;
                v >>= 1;
            }
            if (c->bad || v >= (uint64_t)r->string_count)
                return bc_fail(r, &probe, "the name of an operation is missing");
            o.name = arena_printf(r->arena, "%s.%s", r->dialects[dialect], r->strings[v].s);
            ARENA_GROW(r->arena, r->op_names, r->op_name_count, capacity);
            r->op_names[r->op_name_count++] = o;
        }
    }
    return true;
}

static bool read_dialects(struct bc_reader *r)
{
    struct bc_cursor *c = &r->section[DIALECT];
    int n = bc_count(c);
    r->dialects = ARENA_ARRAY(r->arena, const char *, n + 1);
    for (int k = 0; k < n; k++) {
        uint64_t v = bc_varint(c);
        bool versioned = r->version >= 1 && (v & 1);
        v = r->version >= 1 ? v >> 1 : v;
        if (c->bad || v >= (uint64_t)r->string_count)
            return bc_fail(r, c, "the name of dialect %d is missing", k);
        r->dialects[k] = r->strings[v].s;
        if (versioned) { /* a section of its own, whose content says nothing here */
            const uint8_t *p;
            size_t size;
            bc_byte(c);
            if (!bc_blob(c, &p, &size))
                return bc_fail(r, c, "the version of dialect %d is truncated", k);
        }
    }
    r->dialect_count = n;
    return read_op_names(r, c);
}

static bool read_entries(struct bc_reader *r, struct bc_cursor *c, const uint8_t **at, int n,
                         struct bc_entry *v)
{
    const uint8_t *end = r->section[ATTR_TYPE].end;
    for (int k = 0; k < n;) {
        uint64_t dialect = bc_varint(c);
        int group = bc_count(c);
        if (c->bad || dialect >= (uint64_t)r->dialect_count || group > n - k || !group)
            return bc_fail(r, c, "a bad group of attributes or types");
        for (int j = 0; j < group; j++, k++) {
            uint64_t size = bc_varint(c);
            v[k] = (struct bc_entry){
                .p = *at, .size = (size_t)(size >> 1), .dialect = (int)dialect, .custom = size & 1};
            if (c->bad || size >> 1 > (uint64_t)(end - *at))
                return bc_fail(r, c, "attributes and types are truncated");
            *at += size >> 1;
        }
    }
    return true;
}

static bool read_tables(struct bc_reader *r)
{
    struct bc_cursor *c = &r->section[ATTR_TYPE_OFFSET];
    const uint8_t *at = r->section[ATTR_TYPE].p;
    r->attr_count = bc_count(c);
    r->type_count = bc_count(c);
    if (c->bad)
        return bc_fail(r, c, "the table of attributes and types is truncated");
    r->attrs = ARENA_ARRAY(r->arena, struct bc_entry, r->attr_count + 1);
    r->types = ARENA_ARRAY(r->arena, struct bc_entry, r->type_count + 1);
    return read_entries(r, c, &at, r->attr_count, r->attrs) &&
           read_entries(r, c, &at, r->type_count, r->types);
}

static bool read_properties(struct bc_reader *r)
{
    struct bc_cursor *c = &r->section[PROPERTIES];
    if (!c->p)
        return true;
    int n = bc_count(c);
    r->properties = ARENA_ARRAY(r->arena, struct bc_cursor, n + 1);
    for (int k = 0; k < n; k++) {
        const uint8_t *p = NULL;
        size_t size = 0;
        if (!bc_blob(c, &p, &size))
            return bc_fail(r, c, "properties are truncated");
        r->properties[k] = (struct bc_cursor){p, p + size, false};
    }
    r->property_count = n;
    return true;
}

/* Groups of (key, kind, size); the data lie in the resource section, aligned in the file. */
static bool read_resources(struct bc_reader *r)
{
    struct bc_cursor *c = &r->section[RESOURCE_OFFSET], *data = &r->section[RESOURCE];
    int capacity = 0;
    if (!c->p || !data->p || c->p == c->end)
        return true;
    uint64_t external = bc_varint(c);
    for (uint64_t group = 0; c->p < c->end; group++) {
        bc_varint(c); /* dialect, or the key of an external group */
        int n = bc_count(c);
        for (int k = 0; k < n; k++) {
            const char *name = bc_string(r, c, NULL);
            uint64_t size = bc_varint(c);
            uint8_t kind = bc_byte(c);
            if (c->bad || size > (uint64_t)(data->end - data->p))
                return bc_fail(r, c, "resources are truncated");
            struct bc_cursor e = {data->p, data->p + size, false};
            data->p += size;
            if (group < external || kind != 0)
                continue;
            uint64_t alignment = bc_varint(&e);
            uint64_t bytes = bc_varint(&e);
            while (alignment && e.p < e.end && (uint64_t)(e.p - r->data) % alignment)
                e.p++;
            if (e.bad || bytes > (uint64_t)(e.end - e.p))
                return bc_fail(r, &e, "a resource is truncated");
            ARENA_GROW(r->arena, r->resources, r->resource_count, capacity);
            r->resources[r->resource_count++] = (struct bc_resource){name, e.p, (size_t)bytes};
        }
    }
    return true;
}

static bool read_header(struct bc_reader *r, struct bc_cursor *c)
{
    c->p += 4;
    r->version = bc_varint(c);
    const uint8_t *end = memchr(c->p, 0, (size_t)(c->end - c->p));
    if (c->bad || !end)
        return bc_fail(r, NULL, "the file is truncated in its header");
    r->producer = arena_strndup(r->arena, (const char *)c->p, (size_t)(end - c->p));
    c->p = end + 1;
    return r->version <= NEWEST ||
           bc_fail(r, NULL, "MLIR bytecode of version %llu (by %.60s), expected at most %d",
                   (unsigned long long)r->version, r->producer, NEWEST);
}

struct mlir_module *mlir_read_bytecode(struct arena *a, const char *file, const uint8_t *data,
                                       size_t size, struct diag *d)
{
    struct bc_reader r = {.arena = a, .d = d, .file = file, .data = data, .size = size};
    struct bc_cursor c = {data, data + size, false};
    if (!read_header(&r, &c) || !read_sections(&r, &c) || !read_strings(&r) || !read_dialects(&r) ||
        !read_tables(&r) || !read_properties(&r) || !read_resources(&r))
        return NULL;
    struct mlir_module *m = arena_alloc(a, sizeof *m);
    m->arena = a;
    m->file = arena_strdup(a, file);
    m->producer = r.producer;
    if (!(m->top = bc_read_ir(&r)))
        return NULL;
    if (!vhlo_to_stablehlo(a, m->top, d)) {
        fail_in(d, "%s: in an artifact by %s", file, r.producer);
        return NULL;
    }
    return m;
}
