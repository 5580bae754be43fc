/* Modules, functions and operations in the generic form. */
#include "frontend/stablehlo/syntax/text.h"

#include <ctype.h>
#include <string.h>

void text_push_operand(struct text *t, struct mlir_op *op, struct mlir_value *v)
{
    int n = op->operand_count;
    if (n == 0 || (n >= 4 && (n & (n - 1)) == 0)) { /* room for 4, 8, 16, ... */
        struct mlir_value **w = ARENA_ARRAY(t->arena, struct mlir_value *, n ? 2 * n : 4);
        if (n)
            memcpy(w, op->operands, sizeof *w * (size_t)n);
        op->operands = w;
    }
    op->operands[op->operand_count++] = v;
}

bool text_results(struct text *t, struct mlir_op *op, const struct mlir_type **types, int count)
{
    mlir_add_results(t->arena, op, count);
    for (int k = 0; k < count; k++)
        op->results[k]->type = types[k];
    return true;
}

static bool same_types(struct text *t, struct mlir_op *op, const struct mlir_type *const *types,
                       int count)
{
    if (count != op->operand_count)
        return text_fail(t, "'%s' has %d operands, but its type says %d", op->name,
                         op->operand_count, count);
    for (int k = 0; k < count; k++)
        if (!mlir_type_equal(types[k], op->operands[k]->type))
            return text_fail(t, "operand %d of '%s' is %s, but its type says %s", k, op->name,
                             mlir_type_text(t->arena, op->operands[k]->type),
                             mlir_type_text(t->arena, types[k]));
    return true;
}

bool text_function_type(struct text *t, struct mlir_op *op)
{
    if (text_peek(t) != '(')
        return text_expected(t, "'(' of the operands' types");
    const struct mlir_type *f = text_type(t);
    if (!f)
        return false;
    if (f->kind != MT_FUNCTION)
        return text_expected(t, "a function type");
    return same_types(t, op, f->types, f->inputs) &&
           text_results(t, op, f->types + f->inputs, f->count - f->inputs);
}

/* ---- regions ---- */

static bool block_args(struct text *t, struct mlir_op *op, int region, struct mlir_block **out)
{
    struct mlir_value *v[1] = {NULL};
    struct mlir_value **args = NULL;
    int count = 0, capacity = 0;
    while (!text_eat(t, ")")) {
        const char *name;
        size_t size;
        if ((count && !text_need(t, ",")) || !text_value_name(t, &name, &size) ||
            !text_need(t, ":"))
            return false;
        v[0] = arena_alloc(t->arena, sizeof **v);
        if (!(v[0]->type = text_type(t)) || !text_loc_optional(t, &v[0]->loc))
            return false;
        ARENA_GROW(t->arena, args, count, capacity);
        args[count++] = v[0];
        if (!text_define(t, name, size, &args[count - 1], 1))
            return false;
    }
    struct mlir_block *b = mlir_add_block(t->arena, op, region, 0);
    b->arg_count = count;
    b->args = ARENA_ARRAY(t->arena, struct mlir_value *, count + 1);
    for (int k = 0; k < count; k++) {
        b->args[k] = args[k];
        args[k]->block = b;
        args[k]->index = k;
    }
    *out = b;
    return true;
}

/* text_define keeps a pointer to the list: after block_args moved it, results stay valid since
 * lists live in the arena. */
bool text_region(struct text *t, struct mlir_op *op, int region, struct mlir_block *args)
{
    int defs = t->def_count;
    struct mlir_block *b = args;
    if (!text_enter(t) || !text_need(t, "{"))
        return false;
    if (text_peek(t) == '^') {
        const char *label = ++t->p;
        while (t->p < t->end && (isalnum((unsigned char)*t->p) || strchr("_$.", *t->p)))
            t->p++;
        if (b && b->arg_count)
            return text_fail_at(t, label - 1, "a second block in a region");
        if (text_eat(t, "(") && !block_args(t, op, region, &b))
            return false;
        if (!text_need(t, ":"))
            return false;
    }
    if (!b && text_peek(t) != '}')
        b = mlir_add_block(t->arena, op, region, 0);
    while (!text_eat(t, "}")) {
        if (text_peek(t) == '^')
            return text_fail(t,
                             "a second block in a region of '%s'; control flow between blocks "
                             "is not StableHLO",
                             op->name);
        if (!text_op(t, b))
            return false;
    }
    if (!b)
        mlir_add_block(t->arena, op, region, 0);
    text_leave(t, defs);
    t->depth--;
    return true;
}

/* `({...}, {...})` */
static bool generic_regions(struct text *t, struct mlir_op *op)
{
    int capacity = 0;
    const char *at = t->p;
    if (!text_eat(t, "("))
        return true;
    if (text_peek(t) != '{') {
        t->p = at;
        return true;
    }
    do {
        ARENA_GROW(t->arena, op->regions, op->region_count, capacity);
        op->regions[op->region_count++] = (struct mlir_region){0};
        const char *before = t->p;
        if (text_eat(t, "{") && text_eat(t, "}"))
            continue; /* no block */
        t->p = before;
        if (!text_region(t, op, op->region_count - 1, NULL))
            return false;
    } while (text_eat(t, ","));
    return text_need(t, ")");
}

static bool generic(struct text *t, struct mlir_op *op)
{
    if (!text_need(t, "("))
        return false;
    while (!text_eat(t, ")")) {
        if (op->operand_count && !text_need(t, ","))
            return false;
        struct mlir_value *v = text_use(t);
        if (!v)
            return false;
        text_push_operand(t, op, v);
    }
    if (text_peek(t) == '[')
        return text_fail(t, "'%s' has successor blocks, which StableHLO does not have", op->name);
    if (text_eat(t, "<")) {
        if (!text_dict(t, &op->attrs) || !text_need(t, ">"))
            return false;
    }
    if (!generic_regions(t, op) || !text_dict_optional(t, &op->attrs) || !text_need(t, ":"))
        return false;
    return text_function_type(t, op);
}

/* ---- modules and functions ---- */

static void set_string(struct text *t, struct mlir_op *op, const char *key, const char *text)
{
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_STRING);
    a->text = text;
    a->size = strlen(text);
    mlir_dict_set(t->arena, &op->attrs, key, a);
}

static const char *symbol_name(struct text *t)
{
    if (!text_need(t, "@"))
        return NULL;
    return text_peek(t) == '"' ? text_string(t, NULL)
                               : text_ident_needed(t, "the name of a symbol");
}

static bool isolated(struct text *t, struct mlir_op *op, struct mlir_block *args)
{
    op->region_count = 1;
    if (!op->regions)
        op->regions = ARENA_ARRAY(t->arena, struct mlir_region, 1);
    return text_region(t, op, 0, args);
}

static bool module(struct text *t, struct mlir_op *op)
{
    int floor = t->floor;
    op->name = "builtin.module";
    if (text_peek(t) == '@') {
        const char *name = symbol_name(t);
        if (!name)
            return false;
        set_string(t, op, "sym_name", name);
    }
    if (text_word(t, "attributes") && !text_dict(t, &op->attrs))
        return false;
    t->floor = t->def_count;
    bool ok = isolated(t, op, NULL);
    t->floor = floor;
    return ok;
}

struct op_signature_text {
    const struct mlir_type **types;
    struct mlir_attr **dicts;
    int count, inputs, capacity, dict_capacity;
    bool attrs[2]; /* any argument, any result has attributes */
};

/* part 0: an argument, 1: a result, 2: a result without attributes, since a body may follow */
static bool signature_entry(struct text *t, struct op_signature_text *s, int part,
                            const struct mlir_type *type)
{
    struct mlir_dict d = {0};
    if (!type || (part < 2 && !text_dict_optional(t, &d)))
        return false;
    int count = s->count;
    ARENA_GROW(t->arena, s->types, s->count, s->capacity);
    ARENA_GROW(t->arena, s->dicts, count, s->dict_capacity);
    s->types[s->count] = type;
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_DICT);
    a->count = d.count;
    a->keys = d.keys;
    a->items = d.items;
    s->attrs[part > 0] |= d.count > 0;
    s->dicts[s->count++] = a;
    return true;
}

/* Arguments with names make the entry block; a declaration has types only. */
static bool arguments(struct text *t, struct op_signature_text *s, struct mlir_value ***args, int *count)
{
    int capacity = 0;
    *count = 0;
    if (!text_need(t, "("))
        return false;
    while (!text_eat(t, ")")) {
        const char *name = NULL;
        size_t size = 0;
        if (s->count && !text_need(t, ","))
            return false;
        if (text_peek(t) == '%' && (!text_value_name(t, &name, &size) || !text_need(t, ":")))
            return false;
        if (!signature_entry(t, s, 0, text_type(t)))
            return false;
        struct mlir_value *v = arena_alloc(t->arena, sizeof *v);
        v->type = s->types[s->count - 1];
        v->index = *count;
        if (!text_loc_optional(t, &v->loc))
            return false;
        if (!name)
            continue;
        struct mlir_value **one = ARENA_ARRAY(t->arena, struct mlir_value *, 1);
        *one = v;
        if (!text_define(t, name, size, one, 1))
            return false;
        ARENA_GROW(t->arena, *args, *count, capacity);
        (*args)[(*count)++] = v;
    }
    s->inputs = s->count;
    return *count == 0 || *count == s->count ||
           text_fail(t, "some arguments of the function have names and others not");
}

static bool results(struct text *t, struct op_signature_text *s)
{
    if (!text_eat(t, "->"))
        return true;
    if (!text_eat(t, "("))
        return signature_entry(t, s, 2, text_type(t));
    while (!text_eat(t, ")"))
        if ((s->count > s->inputs && !text_need(t, ",")) || !signature_entry(t, s, 1, text_type(t)))
            return false;
    return true;
}

static void dict_array(struct text *t, struct mlir_op *op, const char *key, struct mlir_attr **v,
                       int count)
{
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_ARRAY);
    a->count = count;
    a->items = (const struct mlir_attr **)v;
    mlir_dict_set(t->arena, &op->attrs, key, a);
}

static bool function_head(struct text *t, struct mlir_op *op, struct op_signature_text *s,
                          struct mlir_value ***args, int *count)
{
    static const char *const visibilities[] = {"public", "private", "nested"};
    const char *visibility = NULL, *name;
    for (int k = 0; k < 3 && !visibility; k++)
        if (text_word(t, visibilities[k]))
            visibility = visibilities[k];
    if (!(name = symbol_name(t)) || !arguments(t, s, args, count) || !results(t, s))
        return false;
    set_string(t, op, "sym_name", name);
    if (visibility)
        set_string(t, op, "sym_visibility", visibility);
    struct mlir_type *f = arena_alloc(t->arena, sizeof *f);
    f->kind = MT_FUNCTION;
    f->types = s->types;
    f->count = s->count;
    f->inputs = s->inputs;
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_TYPE);
    a->type = f;
    mlir_dict_set(t->arena, &op->attrs, "function_type", a);
    if (s->attrs[0])
        dict_array(t, op, "arg_attrs", s->dicts, s->inputs);
    if (s->attrs[1])
        dict_array(t, op, "res_attrs", s->dicts + s->inputs, s->count - s->inputs);
    return true;
}

static bool function(struct text *t, struct mlir_op *op)
{
    struct op_signature_text s = {0};
    struct mlir_value **args = NULL;
    int floor = t->floor, defs = t->def_count, count;
    t->floor = t->def_count;
    op->name = "func.func";
    if (!function_head(t, op, &s, &args, &count) ||
        (text_word(t, "attributes") && !text_dict(t, &op->attrs)))
        return false;
    op->region_count = 1;
    op->regions = ARENA_ARRAY(t->arena, struct mlir_region, 1);
    if (text_peek(t) == '{') {
        if (s.inputs && !count)
            return text_fail(t, "a function with a body needs names for its arguments");
        struct mlir_block *b = mlir_add_block(t->arena, op, 0, 0);
        b->arg_count = count;
        b->args = args;
        for (int k = 0; k < count; k++)
            args[k]->block = b;
        if (!text_region(t, op, 0, b))
            return false;
    }
    text_leave(t, defs);
    t->floor = floor;
    return true;
}

/* ---- any operation ---- */

struct result_names {
    int count, capacity, results;
    struct result_name {
        const char *name;
        size_t size;
        int count;
    } * v;
};

static bool result_names(struct text *t, struct result_names *n)
{
    if (text_peek(t) != '%')
        return true;
    do {
        struct result_name r = {.count = 1};
        int64_t k = 1;
        if (!text_value_name(t, &r.name, &r.size))
            return false;
        if (text_eat(t, ":") && !text_int(t, &k))
            return false;
        if (k < 1 || k > 1 << 20)
            return text_fail(t, "%lld results", (long long)k);
        r.count = (int)k;
        ARENA_GROW(t->arena, n->v, n->count, n->capacity);
        n->v[n->count++] = r;
        n->results += r.count;
    } while (text_eat(t, ","));
    return text_need(t, "=");
}

static bool define_results(struct text *t, struct mlir_op *op, const struct result_names *n)
{
    int at = 0;
    if (n->count && n->results != op->result_count)
        return text_fail(t, "'%s' has %d results, but %d names", op->name, op->result_count,
                         n->results);
    for (int k = 0; k < n->count; k++) {
        if (!text_define(t, n->v[k].name, n->v[k].size, op->results + at, n->v[k].count))
            return false;
        at += n->v[k].count;
    }
    return true;
}

struct mlir_op *text_op(struct text *t, struct mlir_block *b)
{
    struct result_names names = {0};
    struct mlir_op *op = mlir_op_new(t->arena, NULL);
    bool ok;
    if (!text_enter(t) || !result_names(t, &names))
        return NULL;
    text_peek(t);
    op->line = text_line(t, t->p);
    if (text_peek(t) == '"') {
        int floor = t->floor;
        if (!(op->name = text_string(t, NULL)))
            return NULL;
        if (mlir_is(op, "builtin.module") || mlir_is(op, "func.func"))
            t->floor = t->def_count;
        ok = generic(t, op);
        t->floor = floor;
    } else if (!(op->name = text_ident_needed(t, "an operation"))) {
        return NULL;
    } else if (mlir_is(op, "module") || mlir_is(op, "builtin.module")) {
        ok = module(t, op);
    } else if (mlir_is(op, "func.func")) {
        ok = function(t, op);
    } else {
        ok = text_pretty(t, op, names.results);
    }
    if (!ok || !define_results(t, op, &names) || !text_loc_optional(t, &op->loc))
        return NULL;
    mlir_append(t->arena, b, op);
    t->depth--;
    return op;
}
