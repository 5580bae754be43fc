/* MLIR's builtin attributes, locations and types in bytecode. */
#include "frontend/stablehlo/bytecode/bytecode.h"

#include <string.h>

/* ---- attributes ---- */

static const struct mlir_attr *string(struct bc_reader *r, struct bc_cursor *c, bool typed)
{
    struct mlir_attr *a = mlir_attr_new(r->arena, MA_STRING);
    a->text = bc_string(r, c, &a->size);
    return typed && !(a->type = bc_type(r, c)) ? NULL : a;
}

static const struct mlir_attr *symbol(struct bc_reader *r, struct bc_cursor *c, bool nested)
{
    struct mlir_attr *a = mlir_attr_new(r->arena, MA_SYMBOL);
    const struct mlir_attr *root = bc_attr(r, c);
    if (!root)
        return NULL;
    a->text = mlir_text(root);
    int n = nested ? bc_count(c) : 0;
    for (int k = 0; k < n; k++) {
        const struct mlir_attr *part = bc_attr(r, c);
        if (!part)
            return NULL;
        a->text = arena_printf(r->arena, "%s::%s", a->text, mlir_text(part));
    }
    a->size = strlen(a->text);
    return a;
}

static int bits_of(const struct mlir_type *t)
{
    if (t->kind == MT_INDEX)
        return 64;
    if (t->kind == MT_OTHER && t->text[0] == 'i') { /* an odd width */
        int n = 0;
        for (const char *s = t->text + 1; *s >= '0' && *s <= '9' && n < 1000; s++)
            n = n * 10 + (*s - '0');
        return n;
    }
    if (t->kind != MT_SCALAR)
        return 0;
    return t->dtype == DT_BOOL ? 1 : dtype_info(t->dtype)->bits;
}

static const struct mlir_attr *number(struct bc_reader *r, struct bc_cursor *c, bool real)
{
    struct mlir_attr *a = mlir_attr_new(r->arena, real ? MA_FLOAT : MA_INT);
    if (!(a->type = bc_type(r, c)))
        return NULL;
    int bits = bits_of(a->type);
    if (bits < 1 || bits > 64) {
        bc_fail(r, c, "a number of type %s", mlir_type_text(r->arena, a->type));
        return NULL;
    }
    int64_t v = bc_apint(c, bits);
    if (real) {
        if (!dtype_is_float(a->type->dtype))
            return NULL;
        a->f = dtype_load_f64(a->type->dtype, &v, 0);
    } else {
        if (a->type->kind == MT_SCALAR && dtype_class(a->type->dtype) == DTC_UINT && bits < 64)
            v &= ((int64_t)1 << bits) - 1;
        a->i = v;
        if (a->type->kind == MT_SCALAR && a->type->dtype == DT_BOOL) {
            a->kind = MA_BOOL;
            a->i = v != 0;
        }
    }
    return a;
}

static const struct mlir_attr *typed_array(struct bc_reader *r, struct bc_cursor *c)
{
    struct mlir_attr *a = mlir_attr_new(r->arena, MA_INTS);
    const uint8_t *p;
    size_t n;
    if (!(a->type = bc_type(r, c)))
        return NULL;
    uint64_t count = bc_varint(c);
    if (!bc_blob(c, &p, &n) || a->type->kind != MT_SCALAR)
        return NULL;
    size_t one = dtype_bytes(a->type->dtype);
    if (count > n || n != one * count) {
        c->bad = true;
        return NULL;
    }
    a->count = (int)count;
    a->ints = ARENA_ARRAY(r->arena, int64_t, count + 1);
    uint8_t *copy = arena_copy(r->arena, p, n);
    for (size_t k = 0; k < count; k++)
        if (dtype_is_float(a->type->dtype)) {
            double v = dtype_load_f64(a->type->dtype, copy, k);
            memcpy(&a->ints[k], &v, sizeof v);
        } else {
            a->ints[k] = dtype_load_i64(a->type->dtype, copy, k);
        }
    return a;
}

static const struct mlir_attr *strings(struct bc_reader *r, struct bc_cursor *c)
{
    struct mlir_attr *a = mlir_attr_new(r->arena, MA_DENSE);
    if (!(a->type = bc_type(r, c)))
        return NULL;
    a->strings = true;
    a->splat = bc_varint(c);
    int n = bc_count(c);
    a->items = ARENA_ARRAY(r->arena, const struct mlir_attr *, n + 1);
    for (; a->count < n; a->count++)
        a->items[a->count] = string(r, c, false);
    return a;
}

static const struct mlir_attr *resource(struct bc_reader *r, struct bc_cursor *c)
{
    const struct mlir_type *t = bc_type(r, c);
    uint64_t k = bc_varint(c);
    if (!t)
        return NULL;
    if (k < (uint64_t)r->resource_count)
        return bc_dense(r, c, t, r->resources[k].p, r->resources[k].size);
    struct mlir_attr *a = mlir_attr_new(r->arena, MA_DENSE); /* whoever needs it complains */
    a->type = t;
    return a;
}

/* ---- locations ---- */

static struct mlir_loc *new_loc(struct bc_reader *r, enum mlir_loc_kind kind)
{
    struct mlir_loc *l = arena_alloc(r->arena, sizeof *l);
    l->kind = kind;
    return l;
}

static const struct mlir_loc *parts(struct bc_reader *r, struct bc_cursor *c, struct mlir_loc *l,
                                    int n)
{
    l->parts = ARENA_ARRAY(r->arena, const struct mlir_loc *, n + 1);
    for (; l->count < n; l->count++)
        if (!(l->parts[l->count] = bc_loc(r, c)))
            return NULL;
    return l;
}

static const struct mlir_loc *location(struct bc_reader *r, struct bc_cursor *c, uint64_t code)
{
    struct mlir_loc *l = new_loc(r, ML_UNKNOWN);
    const struct mlir_attr *name;
    switch (code) {
    case 10:
        l->kind = ML_CALL;
        return parts(r, c, l, 2);
    case 11:
    case 22: /* a file and a place, or a range in it */
        l->kind = ML_FILE;
        if (!(name = bc_attr(r, c)))
            return NULL;
        l->text = mlir_text(name);
        if (code == 22) {
            int n = bc_count(c);
            for (int k = 0; k < n; k++) {
                int64_t v = (int64_t)bc_varint(c);
                if (k == 0)
                    l->line = v;
                if (k == 1)
                    l->column = v;
            }
            return l;
        }
        l->line = (int64_t)bc_varint(c);
        l->column = (int64_t)bc_varint(c);
        return l;
    case 12:
    case 13:
        l->kind = ML_FUSED;
        if (!parts(r, c, l, bc_count(c)))
            return NULL;
        return code == 12 || bc_attr(r, c) ? l : NULL;
    case 14:
        l->kind = ML_NAME;
        if (!(name = bc_attr(r, c)))
            return NULL;
        l->text = mlir_text(name);
        if (!parts(r, c, l, 1))
            return NULL;
        if (l->parts[0]->kind == ML_UNKNOWN)
            l->count = 0; /* as text writes it */
        return l;
    default:
        return l;
    }
}

const struct mlir_attr *bc_builtin_attr(struct bc_reader *r, struct bc_cursor *c,
                                        const struct mlir_loc **loc)
{
    uint64_t code = bc_varint(c);
    switch (code) {
    case 0:
    case 1:
        return bc_list(r, c, code == 1);
    case 2:
    case 3:
        return string(r, c, code == 3);
    case 4:
    case 5:
        return symbol(r, c, code == 5);
    case 6:
        return bc_type_attr(r, c);
    case 7:
        return mlir_attr_new(r->arena, MA_UNIT);
    case 8:
    case 9:
        return number(r, c, code == 9);
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
    case 22:
        *loc = location(r, c, code);
        return NULL;
    case 16:
        return resource(r, c);
    case 17:
        return typed_array(r, c);
    case 18:
        return bc_elements(r, c);
    case 19:
        return strings(r, c);
    default:
        return NULL;
    }
}

/* ---- types ---- */

static const struct mlir_type *integer(struct bc_reader *r, uint64_t v)
{
    char name[32];
    static const char *const prefixes[] = {"i", "si", "ui", "?"};
    snprintf(name, sizeof name, "%s%llu", prefixes[v & 3], (unsigned long long)(v >> 2));
    int dt = mlir_dtype_named(name, strlen(name));
    if (dt)
        return mlir_scalar(r->arena, dt);
    struct mlir_type *t = bc_new_type(r, MT_OTHER);
    t->text = arena_strdup(r->arena, name);
    return t;
}

static const struct mlir_type *named(struct bc_reader *r, const char *name)
{
    struct mlir_type *t = bc_new_type(r, MT_OTHER);
    t->text = name;
    return t;
}

/* Floats by their codes; NULL: no float. */
static const struct mlir_type *float_type(struct bc_reader *r, uint64_t code)
{
    static const char *const names[] = {
        [3] = "bf16",           [4] = "f16",         [5] = "f32",       [6] = "f64",
        [7] = "f80",            [8] = "f128",        [21] = "tf32",     [22] = "f8E5M2",
        [23] = "f8E4M3",        [24] = "f8E4M3FN",   [25] = "f8E5M2FNUZ", [26] = "f8E4M3FNUZ",
        [27] = "f8E4M3B11FNUZ", [28] = "f8E3M4",     [29] = "f4E2M1FN", [30] = "f6E2M3FN",
        [31] = "f6E3M2FN",      [32] = "f8E8M0FNU",
    };
    const char *name = code < sizeof names / sizeof *names ? names[code] : NULL;
    int dt = name ? mlir_dtype_named(name, strlen(name)) : 0;
    return dt ? mlir_scalar(r->arena, dt) : name ? named(r, name) : NULL;
}

const struct mlir_type *bc_builtin_type(struct bc_reader *r, struct bc_cursor *c)
{
    uint64_t code = bc_varint(c);
    switch (code) {
    case 0:
        return integer(r, bc_varint(c));
    case 1:
        return bc_index(r);
    case 2:
        return bc_function(r, c);
    case 9:
        return bc_complex(r, bc_type(r, c));
    case 10:
        return bc_shaped(r, c, MT_BUFFER, false);
    case 12:
        return bc_new_type(r, MT_NONE);
    case 13:
        return bc_shaped(r, c, MT_TENSOR, false);
    case 14:
        return bc_shaped(r, c, MT_TENSOR, true);
    case 15:
        return bc_listed(r, c, MT_TUPLE);
    case 18:
        return bc_unranked(r, c);
    default:
        return float_type(r, code);
    }
}
