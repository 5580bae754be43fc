/* Attributes, types and locations by index, and the encodings of the small dialects. */
#include "frontend/stablehlo/bytecode/bytecode.h"

#include <string.h>

/* ---- by index ---- */

static bool is_dialect(const struct bc_reader *r, const struct bc_entry *e, const char *name)
{
    return !strcmp(r->dialects[e->dialect], name);
}

/* Not custom: text that ends in NUL. */
static const char *entry_text(const struct bc_entry *e, size_t *n)
{
    *n = e->size && !e->p[e->size - 1] ? e->size - 1 : e->size;
    return (const char *)e->p;
}

static bool enter(struct bc_reader *r, struct bc_entry *e)
{
    struct bc_cursor at = {e->p, e->p, false};
    if (e->busy)
        return bc_fail(r, &at, "an attribute or type contains itself");
    if (r->depth >= MLIR_MAX_NESTING)
        return bc_fail(r, &at, "nested deeper than %d", MLIR_MAX_NESTING);
    r->depth++;
    e->busy = true;
    return true;
}

static bool leave(struct bc_reader *r, struct bc_entry *e, const struct bc_cursor *c, bool made)
{
    r->depth--;
    e->busy = false;
    e->done = true;
    if (c->bad)
        return bc_fail(r, c, "an attribute or type of '%s' is truncated or damaged",
                       r->dialects[e->dialect]);
    return made || diag_failed(r->d) ||
           bc_fail(r, c, "an attribute or type of '%s' that is not known", r->dialects[e->dialect]);
}

/* Of a dialect that has no reader here, such as shardings: its name alone. */
static const char *unread(struct bc_reader *r, const struct bc_entry *e, char sigil)
{
    return arena_printf(r->arena, "%c%s.unread<>", sigil, r->dialects[e->dialect]);
}

static struct mlir_attr *opaque(struct bc_reader *r, const char *text)
{
    struct mlir_attr *a = mlir_attr_new(r->arena, MA_OPAQUE);
    a->text = text;
    a->size = strlen(text);
    return a;
}

/* CHLO has no types of its own. */
static const struct mlir_type *no_type(struct bc_reader *r, struct bc_cursor *c)
{
    (void)r, (void)c;
    return NULL;
}

/* Dialects that have readers here, besides MLIR's own. */
static const struct dialect {
    const char *name;
    const struct mlir_attr *(*attr)(struct bc_reader *r, struct bc_cursor *c);
    const struct mlir_type *(*type)(struct bc_reader *r, struct bc_cursor *c);
} dialects[] = {
    {"vhlo", bc_vhlo_attr, bc_vhlo_type},
    {"stablehlo", bc_stablehlo_attr, bc_stablehlo_type},
    {"chlo", bc_chlo_attr, no_type},
    {"quant", NULL, bc_quant_type},
};

static const struct dialect *dialect_of(const struct bc_reader *r, const struct bc_entry *e)
{
    for (size_t k = 0; k < sizeof dialects / sizeof *dialects; k++)
        if (is_dialect(r, e, dialects[k].name))
            return &dialects[k];
    return NULL;
}

static void decode_attr(struct bc_reader *r, struct bc_entry *e)
{
    struct bc_cursor c = {e->p, e->p + e->size, false};
    const struct dialect *from = dialect_of(r, e);
    if (!enter(r, e))
        return;
    if (!e->custom) {
        size_t n;
        const char *s = entry_text(e, &n);
        e->attr = mlir_parse_attr(r->arena, r->file, s, n, r->d);
    } else if (is_dialect(r, e, "builtin")) {
        e->attr = bc_builtin_attr(r, &c, &e->loc);
    } else {
        e->attr = from && from->attr ? from->attr(r, &c) : opaque(r, unread(r, e, '#'));
    }
    if (!leave(r, e, &c, e->attr || e->loc))
        e->attr = NULL;
}

static const struct mlir_type *unread_type(struct bc_reader *r, const struct bc_entry *e)
{
    struct mlir_type *t = bc_new_type(r, MT_OTHER);
    t->text = unread(r, e, '!');
    return t;
}

static void decode_type(struct bc_reader *r, struct bc_entry *e)
{
    struct bc_cursor c = {e->p, e->p + e->size, false};
    const struct dialect *from = dialect_of(r, e);
    if (!enter(r, e))
        return;
    if (!e->custom) {
        size_t n;
        const char *s = entry_text(e, &n);
        e->type = mlir_parse_type(r->arena, r->file, s, n, r->d);
    } else if (is_dialect(r, e, "builtin")) {
        e->type = bc_builtin_type(r, &c);
    } else {
        e->type = from ? from->type(r, &c) : unread_type(r, e);
    }
    if (!leave(r, e, &c, e->type != NULL))
        e->type = NULL;
}

const struct mlir_attr *bc_attr_at(struct bc_reader *r, uint64_t k)
{
    if (k >= (uint64_t)r->attr_count) {
        bc_fail(r, NULL, "attribute %llu of %d", (unsigned long long)k, r->attr_count);
        return NULL;
    }
    struct bc_entry *e = &r->attrs[k];
    if (!e->done)
        decode_attr(r, e);
    if (!e->attr && e->loc && !diag_failed(r->d)) /* a location as an attribute */
        e->attr = opaque(r, "loc(unknown)");
    if (!e->attr && !diag_failed(r->d))
        bc_fail(r, NULL, "attribute %llu is damaged", (unsigned long long)k);
    return e->attr;
}

const struct mlir_attr *bc_attr(struct bc_reader *r, struct bc_cursor *c)
{
    uint64_t k = bc_varint(c);
    if (c->bad) {
        bc_fail(r, c, "the number of an attribute is truncated");
        return NULL;
    }
    return bc_attr_at(r, k);
}

const struct mlir_type *bc_type(struct bc_reader *r, struct bc_cursor *c)
{
    uint64_t k = bc_varint(c);
    if (c->bad) {
        bc_fail(r, c, "the number of a type is truncated");
        return NULL;
    }
    if (k >= (uint64_t)r->type_count) {
        bc_fail(r, c, "type %llu of %d", (unsigned long long)k, r->type_count);
        return NULL;
    }
    struct bc_entry *e = &r->types[k];
    if (!e->done)
        decode_type(r, e);
    if (!e->type && !diag_failed(r->d))
        bc_fail(r, NULL, "type %llu is damaged", (unsigned long long)k);
    return e->type;
}

const struct mlir_loc *bc_loc(struct bc_reader *r, struct bc_cursor *c)
{
    uint64_t k = bc_varint(c);
    if (c->bad || k >= (uint64_t)r->attr_count) {
        bc_fail(r, c, "location %llu of %d", (unsigned long long)k, r->attr_count);
        return NULL;
    }
    struct bc_entry *e = &r->attrs[k];
    if (!e->done)
        decode_attr(r, e);
    if (!e->loc && !diag_failed(r->d)) {
        static const struct mlir_loc unknown = {.kind = ML_UNKNOWN};
        return &unknown;
    }
    return e->loc;
}

/* ---- pieces ---- */

struct mlir_attr *bc_int_attr(struct bc_reader *r, int64_t v, int dtype)
{
    struct mlir_attr *a = mlir_attr_new(r->arena, MA_INT);
    a->i = v;
    a->type = mlir_scalar(r->arena, dtype);
    return a;
}

struct mlir_attr *bc_enum(struct bc_reader *r, const char *name, const char *const *values,
                          int count, uint64_t v)
{
    if (v >= (uint64_t)count || !values[v]) {
        bc_fail(r, NULL, "%s has the unknown value %llu", name, (unsigned long long)v);
        return NULL;
    }
    struct mlir_attr *a = mlir_attr_new(r->arena, MA_ENUM);
    a->dialect = "stablehlo";
    a->name = name;
    a->text = values[v];
    return a;
}

struct mlir_attr *bc_ints(struct bc_reader *r, struct bc_cursor *c)
{
    struct mlir_attr *a = mlir_attr_new(r->arena, MA_INTS);
    a->type = mlir_scalar(r->arena, DT_I64);
    a->count = bc_count(c);
    a->ints = ARENA_ARRAY(r->arena, int64_t, a->count + 1);
    for (int k = 0; k < a->count; k++)
        a->ints[k] = bc_signed(c);
    return a;
}

const struct mlir_attr *bc_type_attr(struct bc_reader *r, struct bc_cursor *c)
{
    struct mlir_attr *a = mlir_attr_new(r->arena, MA_TYPE);
    return (a->type = bc_type(r, c)) ? a : NULL;
}

const struct mlir_attr *bc_list(struct bc_reader *r, struct bc_cursor *c, bool dictionary)
{
    struct mlir_attr *a = mlir_attr_new(r->arena, dictionary ? MA_DICT : MA_ARRAY);
    int n = bc_count(c);
    a->items = ARENA_ARRAY(r->arena, const struct mlir_attr *, n + 1);
    a->keys = dictionary ? ARENA_ARRAY(r->arena, const char *, n + 1) : NULL;
    for (; a->count < n; a->count++) {
        const struct mlir_attr *key = dictionary ? bc_attr(r, c) : NULL;
        if (dictionary && !key)
            return NULL;
        if (key)
            a->keys[a->count] = mlir_text(key);
        if (!(a->items[a->count] = bc_attr(r, c)))
            return NULL;
    }
    return a;
}

struct mlir_type *bc_new_type(struct bc_reader *r, enum mlir_type_kind kind)
{
    struct mlir_type *t = arena_alloc(r->arena, sizeof *t);
    t->kind = kind;
    return t;
}

bool bc_types(struct bc_reader *r, struct bc_cursor *c, const struct mlir_type ***v, int *count)
{
    int n = bc_count(c);
    const struct mlir_type **w = ARENA_ARRAY(r->arena, const struct mlir_type *, *count + n + 1);
    if (*count)
        memcpy(w, *v, sizeof *w * (size_t)*count);
    *v = w;
    for (int k = 0; k < n; k++)
        if (!(w[(*count)++] = bc_type(r, c)))
            return false;
    return !c->bad;
}

const struct mlir_type *bc_listed(struct bc_reader *r, struct bc_cursor *c, enum mlir_type_kind kind)
{
    struct mlir_type *t = bc_new_type(r, kind);
    return bc_types(r, c, &t->types, &t->count) ? t : NULL;
}

const struct mlir_type *bc_function(struct bc_reader *r, struct bc_cursor *c)
{
    struct mlir_type *t = bc_new_type(r, MT_FUNCTION);
    if (!bc_types(r, c, &t->types, &t->count))
        return NULL;
    t->inputs = t->count;
    return bc_types(r, c, &t->types, &t->count) ? t : NULL;
}

const struct mlir_type *bc_index(struct bc_reader *r)
{
    struct mlir_type *t = bc_new_type(r, MT_INDEX);
    t->dtype = DT_I64;
    return t;
}

const struct mlir_type *bc_unranked(struct bc_reader *r, struct bc_cursor *c)
{
    struct mlir_type *t = bc_new_type(r, MT_TENSOR);
    t->rank = -1;
    return (t->element = bc_type(r, c)) ? t : NULL;
}

static bool shape(struct bc_reader *r, struct bc_cursor *c, struct mlir_type *t)
{
    int n = bc_count(c);
    if (n > MLIR_MAX_RANK)
        return bc_fail(r, c, "a shape of %d dimensions", n);
    t->rank = n;
    t->dims = ARENA_ARRAY(r->arena, int64_t, n + 1);
    for (int k = 0; k < n; k++) {
        int64_t v = bc_signed(c);
        if (v < 0 && v != INT64_MIN && v != -1)
            return bc_fail(r, c, "a dimension of size %lld", (long long)v);
        t->dims[k] = v < 0 ? MLIR_DYNAMIC : v;
    }
    return true;
}

const struct mlir_type *bc_shaped(struct bc_reader *r, struct bc_cursor *c, enum mlir_type_kind kind, bool encoded)
{
    struct mlir_type *t = bc_new_type(r, kind);
    if (encoded && !(t->encoding = bc_attr(r, c)))
        return NULL;
    return shape(r, c, t) && (t->element = bc_type(r, c)) ? t : NULL;
}

const struct mlir_type *bc_complex(struct bc_reader *r, const struct mlir_type *part)
{
    if (!part)
        return NULL;
    if (part->kind == MT_SCALAR && (part->dtype == DT_F32 || part->dtype == DT_F64))
        return mlir_scalar(r->arena, part->dtype == DT_F32 ? DT_C64 : DT_C128);
    struct mlir_type *t = bc_new_type(r, MT_OTHER);
    t->text = arena_printf(r->arena, "complex<%s>", mlir_type_text(r->arena, part));
    return t;
}

const struct mlir_attr *bc_dense(struct bc_reader *r, struct bc_cursor *c,
                                 const struct mlir_type *t, const uint8_t *p, size_t n)
{
    const struct mlir_type *e = t;
    int64_t count;
    while (e->element)
        e = e->element;
    int dt = e->kind == MT_QUANT ? e->quant->storage->dtype : mlir_dtype(t);
    if ((t->kind != MT_TENSOR && t->kind != MT_VECTOR) || !mlir_count(t, &count) ||
        !dtype_valid(dt)) {
        bc_fail(r, c, "elements of type %s", mlir_type_text(r->arena, t));
        return NULL;
    }
    struct mlir_attr *a = mlir_attr_new(r->arena, MA_DENSE);
    size_t one = dtype_bytes(dt);
    a->type = t;
    if (dt == DT_BOOL && n != (size_t)count) {
        size_t packed = ((size_t)count + 7) / 8;
        a->splat = n == 1 && count > 8;
        if (n != packed && !a->splat) {
            bc_fail(r, c, "%zu bytes for %lld booleans", n, (long long)count);
            return NULL;
        }
        uint8_t *bits = arena_alloc(r->arena, (size_t)(a->splat ? 1 : count) + 1);
        for (int64_t k = 0; k < (a->splat ? 1 : count); k++)
            bits[k] = p[k / 8] >> k % 8 & 1;
        a->data = bits;
        return a;
    }
    a->splat = n == one && count != 1 && count != 0;
    if (n != one * (size_t)count && !a->splat && !(count == 0 && n <= one)) {
        bc_fail(r, c, "%zu bytes for %lld elements of %zu", n, (long long)count, one);
        return NULL;
    }
    bool narrow = dtype_info(dt)->bits < 8 || dt == DT_BOOL;
    if (!narrow && (uintptr_t)p % (one < 8 ? one : 8) == 0) {
        a->data = p; /* of the file, which outlives the module */
        return a;
    }
    uint8_t *copy = arena_alloc(r->arena, n + 16);
    memcpy(copy, p, n);
    for (size_t k = 0; narrow && k < n; k++) {
        if (dt == DT_BOOL)
            copy[k] = p[k] != 0;
        else if (dtype_is_int(dt)) /* the sign's copies above it */
            dtype_store_i64(dt, copy, k, p[k]);
    }
    a->data = copy;
    return a;
}

const struct mlir_attr *bc_elements(struct bc_reader *r, struct bc_cursor *c)
{
    const struct mlir_type *t = bc_type(r, c);
    const uint8_t *p;
    size_t n;
    return t && bc_blob(c, &p, &n) ? bc_dense(r, c, t, p, n) : NULL;
}

const struct mlir_type *bc_quantized(struct bc_reader *r, struct bc_cursor *c, bool per_axis)
{
    struct mlir_type *t = bc_new_type(r, MT_QUANT);
    struct mlir_quant *q = arena_alloc(r->arena, sizeof *q);
    bool is_signed = bc_varint(c) & 1;
    q->storage = bc_type(r, c);
    q->expressed = q->storage ? bc_type(r, c) : NULL;
    if (!q->expressed)
        return NULL;
    if (q->storage->kind != MT_SCALAR || !dtype_is_int(q->storage->dtype) ||
        q->expressed->kind != MT_SCALAR || !dtype_is_float(q->expressed->dtype)) {
        bc_fail(r, c, "a quantized type of %s and %s", mlir_type_text(r->arena, q->storage),
                mlir_type_text(r->arena, q->expressed));
        return NULL;
    }
    int bits = dtype_info(q->storage->dtype)->bits;
    if (!is_signed && dtype_class(q->storage->dtype) == DTC_SINT) {
        char name[8];
        snprintf(name, sizeof name, "ui%d", bits);
        q->storage = mlir_scalar(r->arena, mlir_dtype_named(name, strlen(name)));
    }
    q->axis = per_axis ? (int)(bc_varint(c) & 0xff) : -1;
    if (!per_axis) {
        q->count = 1;
        q->scales = ARENA_ARRAY(r->arena, double, 1);
        q->zeros = ARENA_ARRAY(r->arena, int64_t, 1);
        q->scales[0] = bc_double(c);
        q->zeros[0] = bc_signed(c);
    }
    q->low = bc_signed(c);
    q->high = bc_signed(c);
    if (per_axis) {
        q->count = bc_count(c);
        q->scales = ARENA_ARRAY(r->arena, double, q->count + 1);
        q->zeros = ARENA_ARRAY(r->arena, int64_t, q->count + 1);
        for (int k = 0; k < q->count; k++)
            q->scales[k] = bc_double(c);
        if (bc_count(c) != q->count)
            c->bad = true;
        for (int k = 0; k < q->count; k++)
            q->zeros[k] = bc_signed(c);
    }
    int64_t high = (int64_t)(UINT64_MAX >> (is_signed ? 65 - bits : 64 - bits));
    q->explicit_range = q->low != (is_signed ? -high - 1 : 0) || q->high != high;
    t->quant = q;
    return q->count ? t : NULL;
}

const struct mlir_type *bc_quant_type(struct bc_reader *r, struct bc_cursor *c)
{
    switch (bc_varint(c)) {
    case 4:
        return bc_quantized(r, c, false);
    case 5:
        return bc_quantized(r, c, true);
    default:
        return NULL;
    }
}

const struct mlir_attr *bc_chlo_attr(struct bc_reader *r, struct bc_cursor *c)
{
    static const char *const directions[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
    static const char *const kinds[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
    struct mlir_attr *a = NULL;
    switch (bc_varint(c)) {
    case 0:
        a = bc_enum(r, "comparison_direction", directions, 6, bc_varint(c));
        break;
    case 1:
        a = bc_enum(r, "comparison_type", kinds, 5, bc_varint(c));
        break;
    default:
        break;
    }
    if (a)
        a->dialect = "chlo";
    return a;
}
