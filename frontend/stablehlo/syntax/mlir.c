#include "frontend/stablehlo/syntax/mlir.h"

#include <string.h>

/* ---- element types ---- */

static const struct {
    const char *name;
    int dtype;
} scalars[] = {
    {"i1", DT_BOOL},
    {"i2", DT_I2},
    {"i4", DT_I4},
    {"i8", DT_I8},
    {"i16", DT_I16},
    {"i32", DT_I32},
    {"i64", DT_I64},
    {"ui2", DT_U2},
    {"ui4", DT_U4},
    {"ui8", DT_U8},
    {"ui16", DT_U16},
    {"ui32", DT_U32},
    {"ui64", DT_U64},
    {"si2", DT_I2},
    {"si4", DT_I4},
    {"si8", DT_I8},
    {"si16", DT_I16},
    {"si32", DT_I32},
    {"si64", DT_I64},
    {"f16", DT_F16},
    {"bf16", DT_BF16},
    {"f32", DT_F32},
    {"f64", DT_F64},
    {"f8E5M2", DT_F8E5M2},
    {"f8E4M3", DT_F8E4M3},
    {"f8E4M3FN", DT_F8E4M3FN},
    {"f8E4M3B11FNUZ", DT_F8E4M3B11FNUZ},
    {"f8E3M4", DT_F8E3M4},
    {"f8E5M2FNUZ", DT_F8E5M2FNUZ},
    {"f8E4M3FNUZ", DT_F8E4M3FNUZ},
    {"f8E8M0FNU", DT_F8E8M0},
    {"f6E3M2FN", DT_F6E3M2FN},
    {"f6E2M3FN", DT_F6E2M3FN},
    {"f4E2M1FN", DT_F4E2M1},
    {"complex<f32>", DT_C64},
    {"complex<f64>", DT_C128},
};

int mlir_dtype_named(const char *s, size_t n)
{
    for (size_t k = 0; k < sizeof scalars / sizeof *scalars; k++)
        if (strlen(scalars[k].name) == n && !memcmp(scalars[k].name, s, n))
            return scalars[k].dtype;
    return DT_NONE;
}

const char *mlir_dtype_text(int dtype)
{
    for (size_t k = 0; k < sizeof scalars / sizeof *scalars; k++)
        if (scalars[k].dtype == dtype)
            return scalars[k].name;
    return "?";
}

/* ---- asking ---- */

const struct mlir_attr *mlir_attr(const struct mlir_op *op, const char *name)
{
    for (int k = 0; k < op->attrs.count; k++)
        if (!strcmp(op->attrs.keys[k], name))
            return op->attrs.items[k];
    return NULL;
}

const struct mlir_attr *mlir_field(const struct mlir_attr *a, const char *key)
{
    for (int k = 0; a && (a->kind == MA_DICT || a->kind == MA_STRUCT) && k < a->count; k++)
        if (!strcmp(a->keys[k], key))
            return a->items[k];
    return NULL;
}

const struct mlir_attr *mlir_attr_or_field(const struct mlir_op *op, const char *name)
{
    const struct mlir_attr *a = mlir_attr(op, name);
    for (int k = 0; !a && k < op->attrs.count; k++)
        if (op->attrs.items[k]->kind == MA_STRUCT)
            a = mlir_field(op->attrs.items[k], name);
    return a;
}

const char *mlir_text(const struct mlir_attr *a)
{
    return a && a->text ? a->text : "";
}

struct mlir_block *mlir_body(const struct mlir_op *op, int region)
{
    return region < op->region_count && op->regions[region].block_count ? op->regions[region].block
                                                                        : NULL;
}

bool mlir_is(const struct mlir_op *op, const char *name)
{
    return !strcmp(op->name, name);
}

bool mlir_count(const struct mlir_type *t, int64_t *n)
{
    *n = 1;
    if (t->kind != MT_TENSOR && t->kind != MT_VECTOR && t->kind != MT_BUFFER)
        return true;
    if (t->rank < 0)
        return false;
    bool empty = false, fits = true;
    for (int k = 0; k < t->rank; k++) {
        if (t->dims[k] < 0)
            return false;
        empty |= t->dims[k] == 0;
        fits = fits && !__builtin_mul_overflow(*n, t->dims[k] ? t->dims[k] : 1, n);
    }
    if (empty)
        *n = 0;
    return empty || (fits && *n <= INT64_MAX / 32);
}

int mlir_dtype(const struct mlir_type *t)
{
    while (t->element)
        t = t->element;
    return t->kind == MT_SCALAR || t->kind == MT_INDEX ? t->dtype : DT_NONE;
}

bool mlir_int(const struct mlir_attr *a, int64_t *v)
{
    if (!a || (a->kind != MA_INT && a->kind != MA_BOOL))
        return false;
    *v = a->i;
    return true;
}

bool mlir_ints(struct arena *a, const struct mlir_attr *attr, int *count, int64_t **v)
{
    int64_t n;
    *count = 0;
    *v = NULL;
    if (!attr)
        return false;
    switch (attr->kind) {
    case MA_INTS:
        *count = attr->count;
        *v = attr->ints;
        return !attr->type || !dtype_is_float(attr->type->dtype);
    case MA_ARRAY:
        *v = ARENA_ARRAY(a, int64_t, attr->count + 1);
        for (; *count < attr->count; ++*count)
            if (!mlir_int(attr->items[*count], &(*v)[*count]))
                return false;
        return true;
    case MA_DENSE:
        if (!mlir_count(attr->type, &n) || n > 1 << 20 || !attr->data ||
            !dtype_valid(mlir_dtype(attr->type)) || attr->strings)
            return false;
        int dt = mlir_dtype(attr->type);
        if (!dtype_is_int(dt) && dt != DT_BOOL)
            return false;
        *v = ARENA_ARRAY(a, int64_t, n + 1);
        for (; *count < n; ++*count)
            (*v)[*count] = dtype_load_i64(dt, attr->data, attr->splat ? 0 : (size_t)*count);
        return true;
    case MA_INT:
    case MA_BOOL:
        *v = ARENA_ARRAY(a, int64_t, 1);
        **v = attr->i;
        *count = 1;
        return true;
    default:
        return false;
    }
}

static bool quant_equal(const struct mlir_quant *a, const struct mlir_quant *b)
{
    if (!a || !b || !mlir_type_equal(a->storage, b->storage) ||
        !mlir_type_equal(a->expressed, b->expressed) || a->low != b->low || a->high != b->high ||
        a->axis != b->axis || a->count != b->count || a->block_axes != b->block_axes)
        return a == b;
    for (int k = 0; k < a->count; k++)
        if (a->scales[k] != b->scales[k] || a->zeros[k] != b->zeros[k])
            return false;
    return true;
}

bool mlir_type_equal(const struct mlir_type *a, const struct mlir_type *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank ||
        a->count != b->count || a->inputs != b->inputs || !mlir_type_equal(a->element, b->element))
        return false;
    for (int k = 0; k < a->rank; k++)
        if (a->dims[k] != b->dims[k])
            return false;
    for (int k = 0; k < a->count; k++)
        if (!mlir_type_equal(a->types[k], b->types[k]))
            return false;
    if ((a->text || b->text) && (!a->text || !b->text || strcmp(a->text, b->text)))
        return false;
    return (!a->quant && !b->quant) || quant_equal(a->quant, b->quant);
}

/* ---- locations ---- */

static const struct mlir_loc *find_line(const struct mlir_loc *l, int depth)
{
    if (!l || l->kind == ML_FILE || depth > MLIR_MAX_NESTING)
        return l && l->kind == ML_FILE ? l : NULL;
    for (int k = 0; k < l->count; k++) {
        const struct mlir_loc *found = find_line(l->parts[k], depth + 1);
        if (found)
            return found;
    }
    return NULL;
}

const struct mlir_loc *mlir_source_line(const struct mlir_loc *l)
{
    return find_line(l, 0);
}

static const struct mlir_loc *find_name(const struct mlir_loc *l, int depth)
{
    if (!l || (l->kind == ML_NAME && *l->text) || depth > MLIR_MAX_NESTING)
        return l && l->kind == ML_NAME ? l : NULL;
    for (int k = 0; k < l->count; k++) {
        const struct mlir_loc *found = find_name(l->parts[k], depth + 1);
        if (found)
            return found;
    }
    return NULL;
}

const char *mlir_source(struct arena *a, const struct mlir_loc *l)
{
    const struct mlir_loc *line = mlir_source_line(l), *name = find_name(l, 0);
    if (line)
        return arena_printf(a, "%s:%lld", line->text, (long long)line->line);
    return name ? name->text : NULL;
}

/* ---- making ---- */

const struct mlir_type *mlir_scalar(struct arena *a, int dtype)
{
    struct mlir_type *t = arena_alloc(a, sizeof *t);
    t->kind = MT_SCALAR;
    t->dtype = dtype;
    return t;
}

struct mlir_type *mlir_tensor(struct arena *a, const struct mlir_type *element, int rank,
                              const int64_t *dims)
{
    struct mlir_type *t = arena_alloc(a, sizeof *t);
    t->kind = MT_TENSOR;
    t->element = element;
    t->rank = rank;
    t->dims = ARENA_ARRAY(a, int64_t, (rank > 0 ? rank : 0) + 1);
    if (rank > 0)
        memcpy(t->dims, dims, sizeof *dims * (size_t)rank);
    return t;
}

struct mlir_attr *mlir_attr_new(struct arena *a, enum mlir_attr_kind kind)
{
    struct mlir_attr *v = arena_alloc(a, sizeof *v);
    v->kind = kind;
    return v;
}

struct mlir_op *mlir_op_new(struct arena *a, const char *name)
{
    struct mlir_op *op = arena_alloc(a, sizeof *op);
    op->name = name;
    return op;
}

void mlir_add_results(struct arena *a, struct mlir_op *op, int count)
{
    op->result_count = count;
    op->results = ARENA_ARRAY(a, struct mlir_value *, count + 1);
    for (int k = 0; k < count; k++) {
        op->results[k] = arena_alloc(a, sizeof **op->results);
        op->results[k]->def = op;
        op->results[k]->index = k;
    }
}

void mlir_dict_set(struct arena *a, struct mlir_dict *d, const char *key, const struct mlir_attr *v)
{
    for (int k = 0; k < d->count; k++)
        if (!strcmp(d->keys[k], key)) {
            d->items[k] = v;
            return;
        }
    if (d->count == d->capacity) {
        int capacity = d->capacity ? 2 * d->capacity : 4;
        const char **keys = ARENA_ARRAY(a, const char *, capacity);
        const struct mlir_attr **items = ARENA_ARRAY(a, const struct mlir_attr *, capacity);
        for (int k = 0; k < d->count; k++) {
            keys[k] = d->keys[k];
            items[k] = d->items[k];
        }
        d->keys = keys;
        d->items = items;
        d->capacity = capacity;
    }
    d->keys[d->count] = key;
    d->items[d->count++] = v;
}

struct mlir_attr *mlir_struct(struct arena *a, const char *dialect, const char *name,
                              const struct mlir_dict *fields)
{
    struct mlir_attr *s = mlir_attr_new(a, MA_STRUCT);
    s->dialect = dialect;
    s->name = name;
    s->count = fields->count;
    s->keys = fields->keys;
    s->items = fields->items;
    return s;
}

void mlir_append(struct arena *a, struct mlir_block *b, struct mlir_op *op)
{
    ARENA_GROW(a, b->ops, b->op_count, b->op_capacity);
    b->ops[b->op_count++] = op;
    op->parent = b;
}

struct mlir_block *mlir_add_block(struct arena *a, struct mlir_op *op, int region, int args)
{
    struct mlir_block *b = arena_alloc(a, sizeof *b);
    op->regions[region].block = b;
    op->regions[region].block_count = 1;
    b->arg_count = args;
    b->args = ARENA_ARRAY(a, struct mlir_value *, args + 1);
    for (int k = 0; k < args; k++) {
        b->args[k] = arena_alloc(a, sizeof **b->args);
        b->args[k]->block = b;
        b->args[k]->index = k;
    }
    return b;
}
