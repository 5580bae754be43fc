/* Attributes and locations of MLIR text. */
#include "frontend/stablehlo/syntax/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct mlir_attr *nothing(bool failed)
{
    (void)failed;
    return NULL;
}

static const struct mlir_attr *integer(struct text *t, int64_t v, int dtype)
{
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_INT);
    a->i = v;
    a->type = mlir_scalar(t->arena, dtype);
    return a;
}

/* ---- lists ---- */

struct text_list {
    int count, capacity;
    const struct mlir_attr **v;
};

static void push(struct text *t, struct text_list *l, const struct mlir_attr *a)
{
    ARENA_GROW(t->arena, l->v, l->count, l->capacity);
    l->v[l->count++] = a;
}

static const struct mlir_attr *array(struct text *t)
{
    struct text_list l = {0};
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_ARRAY);
    if (!text_need(t, "["))
        return NULL;
    if (!text_eat(t, "]")) {
        do {
            const struct mlir_attr *v;
            if (text_eat(t, "?")) /* a bound that is not there */
                v = integer(t, MLIR_DYNAMIC, DT_I64);
            else if (!(v = text_attr(t)))
                return NULL;
            push(t, &l, v);
        } while (text_eat(t, ","));
        if (!text_need(t, "]"))
            return NULL;
    }
    a->count = l.count;
    a->items = l.v;
    return a;
}

const struct mlir_attr *text_ints(struct text *t)
{
    int64_t v[1024 + 1];
    int n = 0;
    if (!text_need(t, "["))
        return NULL;
    while (!text_eat(t, "]")) {
        if (n && !text_need(t, ","))
            return NULL;
        if (n == 1024)
            return nothing(text_fail(t, "a list of more than 1024 integers"));
        if (!text_int(t, &v[n++]))
            return NULL;
    }
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_INTS);
    a->type = mlir_scalar(t->arena, DT_I64);
    a->count = n;
    a->ints = arena_copy(t->arena, v, sizeof *v * (size_t)(n + 1));
    return a;
}

/* A key: a name, or a string. */
static const char *key(struct text *t)
{
    if (text_peek(t) == '"')
        return text_string(t, NULL);
    if (text_peek(t) == '#') { /* of a dictionary of VHLO */
        const struct mlir_attr *a = text_attr(t);
        if (a && a->kind != MA_STRING)
            text_expected(t, "the name of an attribute");
        return a && a->kind == MA_STRING ? a->text : NULL;
    }
    return text_ident_needed(t, "the name of an attribute");
}

bool text_dict(struct text *t, struct mlir_dict *d)
{
    if (!text_need(t, "{"))
        return false;
    if (text_eat(t, "}"))
        return true;
    do {
        const char *at = t->p, *k = key(t);
        const struct mlir_attr *v;
        if (!k)
            return false;
        for (int j = 0; j < d->count; j++)
            if (!strcmp(d->keys[j], k))
                return text_fail_at(t, at, "attribute '%s' is given twice", k);
        if (text_eat(t, "="))
            v = text_attr(t);
        else
            v = mlir_attr_new(t->arena, MA_UNIT);
        if (!v)
            return false;
        mlir_dict_set(t->arena, d, k, v);
    } while (text_eat(t, ","));
    return text_need(t, "}");
}

bool text_dict_optional(struct text *t, struct mlir_dict *d)
{
    return text_peek(t) != '{' || text_dict(t, d);
}

static const struct mlir_attr *dict(struct text *t)
{
    struct mlir_dict d = {0};
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_DICT);
    if (!text_dict(t, &d))
        return NULL;
    a->count = d.count;
    a->keys = d.keys;
    a->items = d.items;
    return a;
}

/* ---- numbers ---- */

static const struct mlir_attr *number(struct text *t)
{
    const char *s = t->p;
    bool hex = t->end - s > 2 && s[0] == '0' && s[1] == 'x', real = false;
    char digits[400];
    size_t n = 0;
    if (*s == '-')
        digits[n++] = *s++;
    for (; s < t->end && n < sizeof digits - 1; s++) {
        bool exponent = !hex && (*s == 'e' || *s == 'E') && s + 1 < t->end &&
                        (isdigit((unsigned char)s[1]) || s[1] == '+' || s[1] == '-');
        if (exponent && (s[1] == '+' || s[1] == '-'))
            digits[n++] = *s++;
        else if (!(hex ? isxdigit((unsigned char)*s) || *s == 'x'
                       : isdigit((unsigned char)*s) || *s == '.' || exponent))
            break;
        real |= *s == '.' || exponent;
        digits[n++] = *s;
    }
    digits[n] = 0;
    if (n == 0 || (n == 1 && digits[0] == '-'))
        return nothing(text_expected(t, "a number"));
    t->p = s;
    struct mlir_attr *a = mlir_attr_new(t->arena, real ? MA_FLOAT : MA_INT);
    a->type = mlir_scalar(t->arena, real ? DT_F64 : DT_I64);
    if (text_peek(t) == ':' && !(t->p + 1 < t->end && t->p[1] == ':')) {
        t->p++;
        if (!(a->type = text_type(t)))
            return NULL;
    }
    bool wants_real = a->type->kind == MT_SCALAR && dtype_is_float(a->type->dtype);
    if (wants_real && hex) {
        union {
            uint64_t bits;
            uint8_t bytes[8];
        } u = {strtoull(digits, NULL, 16)};
        a->kind = MA_FLOAT;
        a->f = dtype_load_f64(a->type->dtype, u.bytes, 0);
    } else if (wants_real || real) {
        a->kind = MA_FLOAT;
        a->f = strtod(digits, NULL);
    } else {
        a->i = digits[0] == '-' ? strtoll(digits, NULL, 10)
                                : (int64_t)strtoull(digits, NULL, hex ? 16 : 10);
    }
    return a;
}

static const struct mlir_attr *boolean(struct text *t, bool v)
{
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_BOOL);
    a->i = v;
    return a;
}

/* `array<i64: 1, 2>` */
static const struct mlir_attr *typed_array(struct text *t)
{
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_INTS);
    int capacity = 0;
    if (!text_need(t, "<") || !(a->type = text_type(t)))
        return NULL;
    if (text_eat(t, ":"))
        do {
            const struct mlir_attr *v = text_attr(t);
            if (!v)
                return NULL;
            if (v->kind != MA_INT && v->kind != MA_BOOL && v->kind != MA_FLOAT)
                return nothing(text_expected(t, "a number"));
            ARENA_GROW(t->arena, a->ints, a->count, capacity);
            if (dtype_is_float(a->type->dtype)) {
                double f = v->kind == MA_FLOAT ? v->f : (double)v->i;
                memcpy(&a->ints[a->count++], &f, sizeof f);
            } else {
                a->ints[a->count++] = v->i;
            }
        } while (text_eat(t, ","));
    return text_need(t, ">") ? a : NULL;
}

/* ---- attributes of dialects ---- */

struct conv_part {
    int rank, first, second, spatial[MLIR_MAX_RANK], spatial_count;
};

static bool conv_part(struct text *t, char one, char two, struct conv_part *c)
{
    *c = (struct conv_part){.first = -1, .second = -1};
    for (int k = 0; k < MLIR_MAX_RANK; k++)
        c->spatial[k] = -1;
    if (!text_need(t, "["))
        return false;
    while (!text_eat(t, "]")) {
        if ((c->rank && !text_need(t, ",")) || c->rank == MLIR_MAX_RANK)
            return text_expected(t, "']'");
        char ch = text_peek(t);
        if (ch == one || ch == two) {
            int *at = ch == one ? &c->first : &c->second;
            if (*at >= 0)
                return text_fail(t, "dimension '%c' is there twice", ch);
            *at = c->rank;
            t->p++;
        } else if (ch == '?') {
            t->p++;
        } else {
            int64_t k;
            if (!text_int(t, &k))
                return false;
            if (k < 0 || k >= MLIR_MAX_RANK || c->spatial[k] >= 0)
                return text_fail(t, "unexpected dimension %lld", (long long)k);
            c->spatial[k] = c->rank;
            c->spatial_count = k >= c->spatial_count ? (int)k + 1 : c->spatial_count;
        }
        c->rank++;
    }
    for (int k = 0; k < c->spatial_count; k++)
        if (c->spatial[k] < 0)
            return text_fail(t, "spatial dimension %d is missing", k);
    return (c->first >= 0 && c->second >= 0) ||
           text_fail(t, "dimension '%c' is missing", c->first < 0 ? one : two);
}

static void conv_fields(struct text *t, struct mlir_dict *d, const char *first, const char *second,
                        const char *spatial, const struct conv_part *c)
{
    struct mlir_attr *v = mlir_attr_new(t->arena, MA_INTS);
    v->type = mlir_scalar(t->arena, DT_I64);
    v->count = c->spatial_count;
    v->ints = ARENA_ARRAY(t->arena, int64_t, c->spatial_count + 1);
    for (int k = 0; k < c->spatial_count; k++)
        v->ints[k] = c->spatial[k];
    mlir_dict_set(t->arena, d, first, integer(t, c->first, DT_I64));
    mlir_dict_set(t->arena, d, second, integer(t, c->second, DT_I64));
    mlir_dict_set(t->arena, d, spatial, v);
}

static const struct mlir_attr *structure(struct text *t, const char *dialect, const char *name,
                                         const struct mlir_dict *d)
{
    return mlir_struct(t->arena, dialect, name, d);
}

const struct mlir_attr *text_conv_dims(struct text *t)
{
    struct conv_part in, kernel, out;
    struct mlir_dict d = {0};
    if (!conv_part(t, 'b', 'f', &in) || !text_need(t, "x") || !conv_part(t, 'i', 'o', &kernel) ||
        !text_need(t, "->") || !conv_part(t, 'b', 'f', &out))
        return NULL;
    conv_fields(t, &d, "input_batch_dimension", "input_feature_dimension",
                "input_spatial_dimensions", &in);
    conv_fields(t, &d, "kernel_input_feature_dimension", "kernel_output_feature_dimension",
                "kernel_spatial_dimensions", &kernel);
    conv_fields(t, &d, "output_batch_dimension", "output_feature_dimension",
                "output_spatial_dimensions", &out);
    return structure(t, "stablehlo", "conv", &d);
}

/* A list of integers in a structure is one array. */
static const struct mlir_attr *as_ints(struct text *t, const struct mlir_attr *v)
{
    if (!v || v->kind != MA_ARRAY)
        return v;
    for (int k = 0; k < v->count; k++)
        if (v->items[k]->kind != MA_INT)
            return v;
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_INTS);
    a->type = mlir_scalar(t->arena, DT_I64);
    return mlir_ints(t->arena, v, &a->count, &a->ints) ? a : v;
}

/* `(1)2`: a part of an axis of devices */
static const struct mlir_attr *sub_axis(struct text *t)
{
    int64_t before, size;
    struct mlir_dict d = {0};
    if (!text_need(t, "(") || !text_int(t, &before) || !text_need(t, ")") || !text_int(t, &size))
        return NULL;
    mlir_dict_set(t->arena, &d, "pre_size", integer(t, before, DT_I64));
    mlir_dict_set(t->arena, &d, "size", integer(t, size, DT_I64));
    return structure(t, "stablehlo", "sub_axis_info", &d);
}

/* Whether a structure has such a field; those of structures not listed here may be any. */
static bool may_have(const char *name, const char *field)
{
    static const struct {
        const char *name, *fields;
    } known[] = {
        {"dot", " lhs_batching_dimensions rhs_batching_dimensions lhs_contracting_dimensions "
                "rhs_contracting_dimensions "},
        {"gather", " offset_dims collapsed_slice_dims operand_batching_dims "
                   "start_indices_batching_dims start_index_map index_vector_dim "},
        {"scatter", " update_window_dims inserted_window_dims input_batching_dims "
                    "scatter_indices_batching_dims scatter_dims_to_operand_dims "
                    "index_vector_dim "},
        {"channel_handle", " handle type "},
        {"result_accuracy", " atol rtol ulps mode "},
    };
    char key[80];
    snprintf(key, sizeof key, " %s ", field);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (!strcmp(known[k].name, name))
            return strstr(known[k].fields, key) != NULL;
    return true;
}

const struct mlir_attr *text_struct(struct text *t, const char *dialect, const char *name)
{
    struct mlir_dict d = {0};
    if (!text_need(t, "<"))
        return NULL;
    const char *at = t->p;
    if (!strcmp(name, "conv") && text_peek(t) == '[') {
        const struct mlir_attr *c = text_conv_dims(t);
        return c && text_need(t, ">") ? c : NULL;
    }
    if (!strcmp(name, "bounds")) { /* <3, ?> */
        t->p = at;
        struct text_list l = {0};
        while (!text_eat(t, ">")) {
            int64_t n = MLIR_DYNAMIC;
            if (l.count && !text_need(t, ","))
                return NULL;
            if (!text_eat(t, "?") && !text_int(t, &n))
                return NULL;
            push(t, &l, integer(t, n, DT_I64));
        }
        struct mlir_attr *bounds = mlir_attr_new(t->arena, MA_ARRAY);
        bounds->count = l.count;
        bounds->items = l.v;
        mlir_dict_set(t->arena, &d, "bounds", bounds);
        return structure(t, dialect, "type_extensions", &d);
    }
    text_word(t, "raw");
    do {
        if (text_peek(t) == '>')
            break;
        const char *k = text_ident_needed(t, "the name of a field");
        if (!k)
            return NULL;
        if (!d.count && text_eat(t, ">")) { /* #stablehlo.result_accuracy_mode<DEFAULT> */
            struct mlir_attr *e = mlir_attr_new(t->arena, MA_ENUM);
            e->dialect = dialect;
            e->name = name;
            e->text = k;
            return e;
        }
        if (!may_have(name, k))
            return nothing(text_fail(t, "#%s.%s does not have '%s'", dialect, name, k));
        if (mlir_field(structure(t, dialect, name, &d), k))
            return nothing(text_fail(t, "field '%s' is given twice", k));
        if (!text_need(t, "="))
            return NULL;
        const struct mlir_attr *v = text_peek(t) == '(' ? sub_axis(t) : text_attr(t);
        if (!v)
            return NULL;
        mlir_dict_set(t->arena, &d, k, strcmp(k, "bounds") ? as_ints(t, v) : v);
    } while (text_eat(t, ","));
    return text_need(t, ">") ? structure(t, dialect, name, &d) : NULL;
}

static const struct mlir_attr *opaque(struct text *t, const char *at)
{
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_OPAQUE);
    a->size = (size_t)(t->p - at);
    a->text = arena_strndup(t->arena, at, a->size);
    return a;
}

static bool ours(const char *dialect)
{
    return !strcmp(dialect, "stablehlo") || !strcmp(dialect, "chlo");
}

static const struct mlir_attr *dict(struct text *t);

/* VHLO's attributes: `#vhlo.NAME_vN<...>`, which are the others under another name. */
static const struct mlir_attr *vhlo_attr(struct text *t, const char *at, const char *name)
{
    const char *end = strrchr(name, '_');
    const char *stem =
        end && end[1] == 'v' ? arena_strndup(t->arena, name, (size_t)(end - name)) : name;
    static const char *const wrappers[] = {"string", "integer", "float", "bool",
                                           "array",  "tensor",  "type",  "dict"};
    static const char *const structures[] = {"result_accuracy",
                                             "type_extensions",
                                             "output_operand_alias",
                                             "replica_group_mesh_axes",
                                             "axis_ref",
                                             "sub_axis_info",
                                             "mesh_axis",
                                             "mesh"};
    for (size_t k = 0; k < sizeof wrappers / sizeof *wrappers; k++)
        if (!strcmp(stem, wrappers[k])) {
            const struct mlir_attr *a =
                text_need(t, "<") ? (k == 7 ? dict(t) : text_attr(t)) : NULL;
            return a && text_need(t, ">") ? a : NULL;
        }
    for (size_t k = 0; k < sizeof structures / sizeof *structures; k++)
        if (!strcmp(stem, structures[k]))
            return text_struct(t, "stablehlo", stem);
    return nothing(text_fail_at(t, at, "attribute '#vhlo.%s' is not known", name));
}

/* `<NAME_vN VALUE>` */
static const struct mlir_attr *vhlo_enum(struct text *t)
{
    struct mlir_attr *e = mlir_attr_new(t->arena, MA_ENUM);
    const char *name =
        text_need(t, "<") ? text_ident_needed(t, "the name of an enumeration") : NULL;
    const char *end = name ? strrchr(name, '_') : NULL;
    if (!name)
        return NULL;
    e->dialect = "stablehlo";
    e->name = end && end[1] == 'v' ? arena_strndup(t->arena, name, (size_t)(end - name)) : name;
    e->text = text_ident_needed(t, "a value of the enumeration");
    if (!e->text || !text_need(t, ">"))
        return NULL;
    static const char *const versions[] = {
        "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
        "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
    for (int k = 0; k < 5; k++)
        if (!strcmp(e->text, versions[k]))
            return integer(t, k, DT_I32);
    return e;
}

/* After `#`. */
static const struct mlir_attr *named(struct text *t)
{
    const char *at = t->p - 1, *from, *to, *name = text_ident_needed(t, "the name of an attribute");
    if (!name)
        return NULL;
    struct text_alias *alias = text_alias(t, '#', name, strlen(name));
    if (alias) {
        const char *back = t->p;
        if (alias->attr)
            return alias->attr;
        if (alias->busy)
            return nothing(text_fail_at(t, at, "'#%s' is defined by itself", name));
        alias->busy = true;
        t->p = alias->at;
        alias->attr = text_attr(t);
        t->p = back;
        alias->busy = false;
        return alias->attr;
    }
    const char *dot = strchr(name, '.');
    if (!strcmp(name, "vhlo"))
        return vhlo_enum(t);
    if (!strncmp(name, "vhlo.", 5))
        return vhlo_attr(t, at, name + 5);
    if (!dot && ours(name)) { /* #stablehlo<comparison_direction LT> */
        struct mlir_attr *e = mlir_attr_new(t->arena, MA_ENUM);
        e->dialect = name;
        if (!text_need(t, "<") || !(e->name = text_ident_needed(t, "the name of an enumeration")))
            return NULL;
        e->text = text_ident_needed(t, "a value of the enumeration");
        return e->text && text_need(t, ">") ? e : NULL;
    }
    if (dot && ours(arena_strndup(t->arena, name, (size_t)(dot - name))) && text_peek(t) == '<')
        return text_struct(t, arena_strndup(t->arena, name, (size_t)(dot - name)), dot + 1);
    if (!dot && (t->p >= t->end || *t->p != '<'))
        return nothing(text_fail_at(t, at, "attribute '#%s' is not defined", name));
    if (t->p < t->end && *t->p == '<' && !text_balanced(t, &from, &to))
        return NULL;
    return opaque(t, at);
}

/* ---- locations ---- */

static const struct mlir_loc *loc_inside(struct text *t);

static const struct mlir_loc *loc_list(struct text *t, struct mlir_loc *l)
{
    int capacity = 0;
    do {
        const struct mlir_loc *part = loc_inside(t);
        if (!part)
            return NULL;
        ARENA_GROW(t->arena, l->parts, l->count, capacity);
        l->parts[l->count++] = part;
    } while (text_eat(t, ","));
    return l;
}

static const struct mlir_loc *loc_string(struct text *t, struct mlir_loc *l)
{
    if (!(l->text = text_string(t, NULL)))
        return NULL;
    l->kind = ML_NAME;
    if (text_eat(t, "(")) {
        const struct mlir_loc **one = ARENA_ARRAY(t->arena, const struct mlir_loc *, 1);
        if (!(*one = loc_inside(t)) || !text_need(t, ")"))
            return NULL;
        l->parts = one;
        l->count = 1;
    } else if (text_eat(t, ":")) {
        int64_t skip;
        l->kind = ML_FILE;
        if (!text_int(t, &l->line) || (text_eat(t, ":") && !text_int(t, &l->column)))
            return NULL;
        if (text_word(t, "to")) { /* a range: the end is not kept */
            if (text_peek(t) != ':' && !text_int(t, &skip))
                return NULL;
            if (text_eat(t, ":") && !text_int(t, &skip))
                return NULL;
        }
    }
    return l;
}

static const struct mlir_loc *loc_inside(struct text *t)
{
    struct mlir_loc *l = arena_alloc(t->arena, sizeof *l);
    const struct mlir_loc *made = NULL;
    if (!text_enter(t))
        return NULL;
    if (text_peek(t) == '"') {
        made = loc_string(t, l);
    } else if (text_word(t, "unknown")) {
        made = l;
    } else if (text_word(t, "callsite")) {
        l->kind = ML_CALL;
        const struct mlir_loc **two = ARENA_ARRAY(t->arena, const struct mlir_loc *, 2);
        if (text_need(t, "(") && (two[0] = loc_inside(t)) && text_need_word(t, "at") &&
            (two[1] = loc_inside(t)) && text_need(t, ")"))
            made = l;
        l->parts = two;
        l->count = 2;
    } else if (text_word(t, "fused")) {
        const char *from, *to;
        l->kind = ML_FUSED;
        if ((text_peek(t) != '<' || text_balanced(t, &from, &to)) && text_need(t, "["))
            made = text_eat(t, "]") ? l : loc_list(t, l) && text_need(t, "]") ? l : NULL;
    } else if (text_eat(t, "#")) {
        const char *at = t->p - 1, *name = text_ident_needed(t, "the name of a location");
        struct text_alias *a = name ? text_alias(t, '#', name, strlen(name)) : NULL;
        if (a && !a->loc && !a->busy) {
            const char *back = t->p;
            a->busy = true;
            t->p = a->at;
            if (text_need_word(t, "loc"))
                a->loc = text_loc(t);
            t->p = back;
            a->busy = false;
        }
        if (name && !a)
            text_fail_at(t, at, "location '#%s' is not defined", name);
        else if (a && !a->loc)
            text_fail_at(t, at, "'#%s' is not a location", name);
        made = a ? a->loc : NULL;
    } else {
        text_expected(t, "a location");
    }
    t->depth--;
    return made;
}

const struct mlir_loc *text_loc(struct text *t)
{
    if (!text_need(t, "("))
        return NULL;
    const struct mlir_loc *l = loc_inside(t);
    return l && text_need(t, ")") ? l : NULL;
}

bool text_loc_optional(struct text *t, const struct mlir_loc **l)
{
    if (!text_word(t, "loc"))
        return true;
    return (*l = text_loc(t)) != NULL;
}

/* ---- all attributes ---- */

static const struct mlir_attr *symbol(struct text *t)
{
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_SYMBOL);
    const char *part =
        text_peek(t) == '"' ? text_string(t, NULL) : text_ident_needed(t, "the name of a symbol");
    if (!part)
        return NULL;
    a->text = part;
    if (t->end - t->p > 2 && !memcmp(t->p, "::@", 3)) {
        t->p += 3;
        const struct mlir_attr *rest = symbol(t);
        if (!rest)
            return NULL;
        a->text = arena_printf(t->arena, "%s::%s", part, rest->text);
    }
    a->size = strlen(a->text);
    return a;
}

static const struct mlir_attr *string(struct text *t)
{
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_STRING);
    if (!(a->text = text_string(t, &a->size)))
        return NULL;
    if (text_peek(t) == ':' && !(t->p + 1 < t->end && t->p[1] == ':')) {
        t->p++;
        if (!(a->type = text_type(t)))
            return NULL;
    }
    return a;
}

static const struct mlir_attr *attr(struct text *t)
{
    char c = text_peek(t);
    const char *at = t->p, *from, *to;
    if (c == '"')
        return string(t);
    if (c == '[')
        return array(t);
    if (c == '{')
        return dict(t);
    if (c == '-' || isdigit((unsigned char)c))
        return number(t);
    if (text_eat(t, "@"))
        return symbol(t);
    if (text_eat(t, "#"))
        return named(t);
    if (c == '<' && text_balanced(t, &from, &to))
        return opaque(t, at);
    if (text_word(t, "true") || text_word(t, "false"))
        return boolean(t, *at == 't');
    if (text_word(t, "unit"))
        return mlir_attr_new(t->arena, MA_UNIT);
    if (text_word(t, "dense") || text_word(t, "dense_resource")) {
        t->p = at;
        return text_dense(t);
    }
    if (text_word(t, "array"))
        return typed_array(t);
    if (text_word(t, "loc"))
        return text_loc(t) ? opaque(t, at) : NULL;
    if (text_word(t, "affine_map") || text_word(t, "affine_set") || text_word(t, "sparse") ||
        text_word(t, "strided") || text_word(t, "distinct"))
        return text_balanced(t, &from, &to) ? opaque(t, at) : NULL;
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_TYPE);
    return (a->type = text_type(t)) ? a : NULL;
}

const struct mlir_attr *text_attr(struct text *t)
{
    if (!text_enter(t))
        return NULL;
    const struct mlir_attr *a = attr(t);
    t->depth--;
    return a;
}
