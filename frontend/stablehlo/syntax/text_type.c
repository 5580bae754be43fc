/* Types of MLIR text. */
#include "frontend/stablehlo/syntax/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool text_types(struct text *t, const struct mlir_type ***v, int *count, bool parenthesised)
{
    int capacity = *count;
    if (parenthesised && text_eat(t, ")"))
        return true;
    do {
        const struct mlir_type *type = text_type(t);
        if (!type)
            return false;
        if (*count == capacity) {
            int more = capacity ? 2 * capacity : 8;
            const struct mlir_type **w = ARENA_ARRAY(t->arena, const struct mlir_type *, more);
            if (*count)
                memcpy(w, *v, sizeof *w * (size_t)*count);
            *v = w;
            capacity = more;
        }
        (*v)[(*count)++] = type;
    } while (text_eat(t, ","));
    return !parenthesised || text_need(t, ")");
}

static struct mlir_type *new_type(struct text *t, enum mlir_type_kind kind)
{
    struct mlir_type *type = arena_alloc(t->arena, sizeof *type);
    type->kind = kind;
    return type;
}

static const struct mlir_type *no_type(bool failed)
{
    (void)failed;
    return NULL;
}

/* `4x?x` in front of an element type. */
static bool parse_dims(struct text *t, struct mlir_type *type)
{
    int64_t dims[MLIR_MAX_RANK];
    text_peek(t);
    if (*t->p == '*') {
        t->p++;
        type->rank = -1;
        return text_need(t, "x");
    }
    while (t->p < t->end && (*t->p == '?' || isdigit((unsigned char)*t->p))) {
        if (type->rank == MLIR_MAX_RANK)
            return text_fail(t, "more than %d dimensions", MLIR_MAX_RANK);
        int64_t n = MLIR_DYNAMIC;
        if (*t->p == '?')
            t->p++;
        else if (!text_int(t, &n))
            return false;
        dims[type->rank++] = n;
        if (t->p >= t->end || *t->p != 'x')
            return text_expected(t, "'x' after a dimension");
        t->p++;
    }
    type->dims = ARENA_ARRAY(t->arena, int64_t, type->rank + 1);
    if (type->rank)
        memcpy(type->dims, dims, sizeof *dims * (size_t)type->rank);
    return true;
}

static const struct mlir_type *shaped(struct text *t, enum mlir_type_kind kind)
{
    struct mlir_type *type = new_type(t, kind);
    if (!text_need(t, "<") || !parse_dims(t, type) || !(type->element = text_type(t)))
        return NULL;
    enum mlir_type_kind e = type->element->kind;
    if (e == MT_TENSOR || e == MT_TUPLE || e == MT_FUNCTION || e == MT_FUTURE || e == MT_NONE)
        return no_type(text_fail(t, "invalid element type of a tensor"));
    while (text_eat(t, ",")) { /* encoding, or a memref's layout and space */
        const struct mlir_attr *a = text_attr(t);
        if (!a)
            return NULL;
        type->encoding = a;
    }
    return text_need(t, ">") ? type : NULL;
}

/* ---- quantized types ---- */

static bool quant_number(struct text *t, struct mlir_quant *q, double *scales, int64_t *zeros)
{
    text_peek(t);
    char *end;
    char number[64];
    size_t n = 0;
    while (n < sizeof number - 1 && t->p + n < t->end &&
           (isalnum((unsigned char)t->p[n]) || strchr("+-.", t->p[n]))) {
        number[n] = t->p[n];
        n++;
    }
    number[n] = 0;
    double scale = strtod(number, &end);
    if (!n || *end)
        return text_expected(t, "a scale");
    t->p += n;
    int64_t zero = 0;
    if (t->p < t->end && *t->p == ':') {
        t->p++;
        if (!text_int(t, &zero))
            return false;
    }
    scales[q->count] = scale;
    zeros[q->count++] = zero;
    return true;
}

/* `{0.1:1, 0.2}`, nested when scales belong to blocks. */
static bool quant_list(struct text *t, struct mlir_quant *q, int *capacity)
{
    if (!text_enter(t) || !text_need(t, "{"))
        return false;
    do {
        if (text_peek(t) == '{') {
            if (!quant_list(t, q, capacity))
                return false;
            continue;
        }
        if (q->count == *capacity) {
            *capacity = *capacity ? 2 * *capacity : 8;
            double *s = ARENA_ARRAY(t->arena, double, *capacity);
            int64_t *z = ARENA_ARRAY(t->arena, int64_t, *capacity);
            if (q->count) {
                memcpy(s, q->scales, sizeof *s * (size_t)q->count);
                memcpy(z, q->zeros, sizeof *z * (size_t)q->count);
            }
            q->scales = s;
            q->zeros = z;
        }
        if (!quant_number(t, q, q->scales, q->zeros))
            return false;
    } while (text_eat(t, ","));
    t->depth--;
    return text_need(t, "}");
}

static bool quant_range(struct text *t, struct mlir_quant *q)
{
    int bits = dtype_info(q->storage->dtype)->bits;
    bool is_signed = dtype_class(q->storage->dtype) == DTC_SINT;
    q->high = (int64_t)(UINT64_MAX >> (is_signed ? 65 - bits : 64 - bits));
    q->low = is_signed ? -q->high - 1 : 0;
    int64_t low = q->low, high = q->high;
    if (text_eat(t, "<")) {
        if (!text_int(t, &low) || !text_need(t, ":") || !text_int(t, &high) || !text_need(t, ">"))
            return false;
        if (low < q->low || high > q->high || low >= high)
            return text_fail(t, "illegal range %lld:%lld of a quantized type", (long long)low,
                             (long long)high);
        q->explicit_range = low != q->low || high != q->high;
        q->low = low;
        q->high = high;
    }
    return true;
}

/* `u8` is `ui8`. */
static const struct mlir_type *quant_storage(struct text *t)
{
    text_peek(t);
    if (*t->p != 'u' || t->p + 1 >= t->end || !isdigit((unsigned char)t->p[1]))
        return text_type(t);
    int64_t bits;
    char name[16];
    t->p++;
    if (!text_int(t, &bits))
        return NULL;
    snprintf(name, sizeof name, "ui%d", (int)(bits & 0xff));
    return mlir_scalar(t->arena, mlir_dtype_named(name, strlen(name)));
}

/* `:axis`, or `:{axis:block size, ...}`, or nothing. */
static bool quant_axes(struct text *t, struct mlir_quant *q)
{
    int64_t axis, block;
    q->axis = -1;
    if (!text_eat(t, ":"))
        return true;
    if (text_eat(t, "{")) {
        do {
            if (!text_int(t, &axis) || !text_need(t, ":") || !text_int(t, &block))
                return false;
            q->block_axes++;
        } while (text_eat(t, ","));
        return text_need(t, "}");
    }
    if (!text_int(t, &axis))
        return false;
    if (axis < 0 || axis >= MLIR_MAX_RANK)
        return text_fail(t, "illegal quantized dimension: %lld", (long long)axis);
    q->axis = (int)axis;
    return true;
}

static const struct mlir_type *uniform(struct text *t)
{
    struct mlir_type *type = new_type(t, MT_QUANT);
    struct mlir_quant *q = arena_alloc(t->arena, sizeof *q);
    int capacity = 0;
    if (!text_need(t, "<"))
        return NULL;
    if (!(q->storage = quant_storage(t)))
        return NULL;
    if (!dtype_is_int(q->storage->dtype) || dtype_info(q->storage->dtype)->bits > 32)
        return no_type(text_fail(t, "illegal storage type of a quantized type"));
    if (!quant_range(t, q) || !text_need(t, ":") || !(q->expressed = text_type(t)))
        return NULL;
    if (q->expressed->kind != MT_SCALAR || !dtype_is_float(q->expressed->dtype))
        return no_type(text_fail(t, "illegal expressed type of a quantized type"));
    if (!quant_axes(t, q) || !text_need(t, ","))
        return NULL;
    if (text_peek(t) == '{') {
        if (!quant_list(t, q, &capacity))
            return NULL;
    } else {
        q->scales = ARENA_ARRAY(t->arena, double, 1);
        q->zeros = ARENA_ARRAY(t->arena, int64_t, 1);
        if (!quant_number(t, q, q->scales, q->zeros))
            return NULL;
    }
    type->quant = q;
    return text_need(t, ">") ? type : NULL;
}

/* ---- all types ---- */

/* `<T, T>` of a tuple or a future. */
static const struct mlir_type *listed(struct text *t, enum mlir_type_kind kind)
{
    struct mlir_type *u = new_type(t, kind);
    if (!text_need(t, "<"))
        return NULL;
    if (text_eat(t, ">"))
        return u;
    if (!text_types(t, &u->types, &u->count, false) || !text_need(t, ">"))
        return NULL;
    for (int k = 0; kind == MT_FUTURE && k < u->count; k++)
        if (u->types[k]->kind != MT_TENSOR)
            return no_type(text_fail(t, "a future of what is not a tensor"));
    return u;
}

static const struct mlir_type *complex_type(struct text *t, const char *at);

/* VHLO's types: `!vhlo.NAME_vN`, which are the others under another name. */
static const struct mlir_type *vhlo_type(struct text *t, const char *at, const char *name)
{
    const char *end = strrchr(name, '_');
    const char *stem =
        end && end[1] == 'v' ? arena_strndup(t->arena, name, (size_t)(end - name)) : name;
    int dt = mlir_dtype_named(stem, strlen(stem));
    if (!strcmp(stem, "bool"))
        dt = DT_BOOL;
    if (dt)
        return mlir_scalar(t->arena, dt);
    if (!strcmp(stem, "tensor"))
        return shaped(t, MT_TENSOR);
    if (!strcmp(stem, "ranked_buffer"))
        return shaped(t, MT_BUFFER);
    if (!strcmp(stem, "complex"))
        return complex_type(t, at);
    if (!strcmp(stem, "tuple") || !strcmp(stem, "future"))
        return listed(t, *stem == 't' ? MT_TUPLE : MT_FUTURE);
    if (!strcmp(stem, "token"))
        return new_type(t, MT_TOKEN);
    if (!strcmp(stem, "none"))
        return new_type(t, MT_NONE);
    if (!strcmp(stem, "index")) {
        struct mlir_type *x = new_type(t, MT_INDEX);
        x->dtype = DT_I64;
        return x;
    }
    if (!strcmp(stem, "func")) {
        struct mlir_type *f = new_type(t, MT_FUNCTION); /* `(())` of nothing; results bare */
        if (!text_need(t, "<") || !text_need(t, "("))
            return NULL;
        bool nothing = text_eat(t, "()");
        if (nothing ? !text_need(t, ")") : !text_types(t, &f->types, &f->count, true))
            return NULL;
        f->inputs = f->count;
        if (text_eat(t, "->") && !text_eat(t, "()") &&
            !text_types(t, &f->types, &f->count, text_eat(t, "(")))
            return NULL;
        return text_need(t, ">") ? f : NULL;
    }
    return no_type(text_fail_at(t, at, "type '!vhlo.%s' is not known", name));
}

static const struct mlir_type *dialect_type(struct text *t)
{
    const char *at = t->p, *from, *to;
    t->p++;
    const char *name = text_ident_needed(t, "the name of a type");
    if (!name)
        return NULL;
    if (!strcmp(name, "quant.uniform"))
        return uniform(t);
    if (!strncmp(name, "vhlo.", 5))
        return vhlo_type(t, at, name + 5);
    if (!strcmp(name, "stablehlo.token"))
        return new_type(t, MT_TOKEN);
    if (!strcmp(name, "stablehlo.future"))
        return listed(t, MT_FUTURE);
    struct text_alias *a = text_alias(t, '!', name, strlen(name));
    if (a) {
        const char *back = t->p;
        if (a->type)
            return a->type;
        if (a->busy)
            return no_type(text_fail_at(t, at, "'!%s' is defined by itself", name));
        a->busy = true;
        t->p = a->at;
        a->type = text_type(t);
        t->p = back;
        a->busy = false;
        return a->type;
    }
    if (!strchr(name, '.'))
        return no_type(text_fail_at(t, at, "type '!%s' is not defined", name));
    if (t->p < t->end && *t->p == '<' && !text_balanced(t, &from, &to))
        return NULL;
    struct mlir_type *other = new_type(t, MT_OTHER);
    other->text = arena_strndup(t->arena, at, (size_t)(t->p - at));
    return other;
}

static const struct mlir_type *function(struct text *t)
{
    struct mlir_type *f = new_type(t, MT_FUNCTION);
    t->p++;
    if (!text_types(t, &f->types, &f->count, true) || !text_need(t, "->"))
        return NULL;
    f->inputs = f->count;
    bool many = text_eat(t, "(");
    if (many)
        return text_types(t, &f->types, &f->count, true) ? f : NULL;
    const struct mlir_type **one = ARENA_ARRAY(t->arena, const struct mlir_type *, f->count + 1);
    if (f->count)
        memcpy(one, f->types, sizeof *one * (size_t)f->count);
    if (!(one[f->count] = text_type(t)))
        return NULL;
    f->types = one;
    f->count++;
    return f;
}

static const struct mlir_type *complex_type(struct text *t, const char *at)
{
    const struct mlir_type *part = text_need(t, "<") ? text_type(t) : NULL;
    if (!part || !text_need(t, ">"))
        return NULL;
    if (part->kind == MT_SCALAR && (part->dtype == DT_F32 || part->dtype == DT_F64))
        return mlir_scalar(t->arena, part->dtype == DT_F32 ? DT_C64 : DT_C128);
    struct mlir_type *other = new_type(t, MT_OTHER);
    other->text = arena_strndup(t->arena, at, (size_t)(t->p - at));
    return other;
}

static const struct mlir_type *builtin(struct text *t)
{
    const char *at = t->p, *name = text_ident(t);
    if (!name) {
        text_expected(t, "a type");
        return NULL;
    }
    int dt = mlir_dtype_named(name, strlen(name));
    if (dt)
        return mlir_scalar(t->arena, dt);
    if (!strcmp(name, "tensor"))
        return shaped(t, MT_TENSOR);
    if (!strcmp(name, "vector"))
        return shaped(t, MT_VECTOR);
    if (!strcmp(name, "memref"))
        return shaped(t, MT_BUFFER);
    if (!strcmp(name, "index")) {
        struct mlir_type *x = new_type(t, MT_INDEX);
        x->dtype = DT_I64;
        return x;
    }
    if (!strcmp(name, "none"))
        return new_type(t, MT_NONE);
    if (!strcmp(name, "tuple"))
        return listed(t, MT_TUPLE);
    if (!strcmp(name, "complex"))
        return complex_type(t, at);
    bool integer = name[0] == 'i' || !strncmp(name, "ui", 2) || !strncmp(name, "si", 2);
    const char *digits = name + (name[0] == 'i' ? 1 : 2);
    bool number = integer && *digits && strspn(digits, "0123456789") == strlen(digits);
    if (number || !strcmp(name, "tf32") || !strcmp(name, "f80") || !strcmp(name, "f128")) {
        struct mlir_type *other = new_type(t, MT_OTHER);
        other->text = name;
        return other;
    }
    t->p = at;
    text_expected(t, "a type");
    return NULL;
}

const struct mlir_type *text_type(struct text *t)
{
    if (!text_enter(t))
        return NULL;
    char c = text_peek(t);
    const struct mlir_type *type = c == '!' ? dialect_type(t) : c == '(' ? function(t) : builtin(t);
    t->depth--;
    return type;
}
