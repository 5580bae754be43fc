/*
 * Operations with a spelling of their own. Most are operands, then clauses `, key = value` (the
 * table below), then a dictionary, then types; a few have a shape that is theirs alone.
 */
#include "frontend/stablehlo/syntax/text.h"

#include <ctype.h>
#include <string.h>

enum clause_kind { CL_INT, CL_INTS, CL_BOOL, CL_ENUM, CL_STRING, CL_PRECISION, CL_FORMAT, CL_PAIR };

static const struct clause {
    const char *op, *key, *attr;
    enum clause_kind kind;
} clauses[] = {
    {"stablehlo.broadcast_in_dim", "dims", "broadcast_dimensions", CL_INTS},
    {"stablehlo.dynamic_broadcast_in_dim", "dims", "broadcast_dimensions", CL_INTS},
    {"stablehlo.transpose", "dims", "permutation", CL_INTS},
    {"stablehlo.reverse", "dims", "dimensions", CL_INTS},
    {"stablehlo.broadcast", "sizes", "broadcast_sizes", CL_INTS},
    {"stablehlo.concatenate", "dim", "dimension", CL_INT},
    {"stablehlo.iota", "dim", "iota_dimension", CL_INT},
    {"stablehlo.dynamic_iota", "dim", "iota_dimension", CL_INT},
    {"stablehlo.get_dimension_size", "dim", "dimension", CL_INT},
    {"stablehlo.set_dimension_size", "dim", "dimension", CL_INT},
    {"stablehlo.dynamic_slice", "sizes", "slice_sizes", CL_INTS},
    {"stablehlo.pad", "low", "edge_padding_low", CL_INTS},
    {"stablehlo.pad", "high", "edge_padding_high", CL_INTS},
    {"stablehlo.pad", "interior", "interior_padding", CL_INTS},
    {"stablehlo.fft", "type", "fft_type", CL_ENUM},
    {"stablehlo.fft", "length", "fft_length", CL_INTS},
    {"stablehlo.cholesky", "lower", "lower", CL_BOOL},
    {"stablehlo.rng", "distribution", "rng_distribution", CL_ENUM},
    {"stablehlo.rng_bit_generator", "algorithm", "rng_algorithm", CL_ENUM},
    {"stablehlo.einsum", "config", "einsum_config", CL_STRING},
    {"stablehlo.unary_einsum", "config", "einsum_config", CL_STRING},
    {"stablehlo.torch_index_select", "dim", "dim", CL_INT},
    {"stablehlo.torch_index_select", "batch_dims", "batch_dims", CL_INT},
    {"stablehlo.reduce_precision", "format", "", CL_FORMAT},
    {"stablehlo.dot", "precision", "precision_config", CL_PRECISION},
    {"stablehlo.dot_general", "precision", "precision_config", CL_PRECISION},
    {"stablehlo.dot_general", "batching_dims", "batching", CL_PAIR},
    {"stablehlo.dot_general", "contracting_dims", "contracting", CL_PAIR},
    {"chlo.top_k", "k", "k", CL_INT},
};

static void set_int(struct text *t, struct mlir_op *op, const char *key, int64_t v, int dtype)
{
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_INT);
    a->i = v;
    a->type = mlir_scalar(t->arena, dtype);
    mlir_dict_set(t->arena, &op->attrs, key, a);
}

static const struct mlir_attr *enumeration(struct text *t, const char *name)
{
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_ENUM);
    a->dialect = "stablehlo";
    a->name = name;
    return (a->text = text_ident_needed(t, "a value of the enumeration")) ? a : NULL;
}

static const struct mlir_attr *precisions(struct text *t)
{
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_ARRAY);
    int capacity = 0;
    if (!text_need(t, "["))
        return NULL;
    while (!text_eat(t, "]")) {
        const struct mlir_attr *e;
        if ((a->count && !text_need(t, ",")) || !(e = enumeration(t, "precision")))
            return NULL;
        ARENA_GROW(t->arena, a->items, a->count, capacity);
        a->items[a->count++] = e;
    }
    return a;
}

/* `batching_dims = [0] x [0]`: fields of the dimension numbers. */
static bool dim_pair(struct text *t, struct mlir_op *op, const char *what)
{
    const struct mlir_attr *old = mlir_attr(op, "dot_dimension_numbers"), *v;
    struct mlir_dict d = {0};
    for (int k = 0; old && k < old->count; k++)
        mlir_dict_set(t->arena, &d, old->keys[k], old->items[k]);
    if (!(v = text_ints(t)))
        return false;
    mlir_dict_set(t->arena, &d, arena_printf(t->arena, "lhs_%s_dimensions", what), v);
    if (!text_need(t, "x") || !(v = text_ints(t)))
        return false;
    mlir_dict_set(t->arena, &d, arena_printf(t->arena, "rhs_%s_dimensions", what), v);
    mlir_dict_set(t->arena, &op->attrs, "dot_dimension_numbers",
                  mlir_struct(t->arena, "stablehlo", "dot", &d));
    return true;
}

/* e5m10 */
static bool format_clause(struct text *t, struct mlir_op *op)
{
    int64_t e, m;
    if (!text_need(t, "e") || !text_int(t, &e) || !text_need(t, "m") || !text_int(t, &m))
        return false;
    set_int(t, op, "exponent_bits", e, DT_I32);
    set_int(t, op, "mantissa_bits", m, DT_I32);
    return true;
}

static bool clause_value(struct text *t, struct mlir_op *op, const struct clause *c)
{
    const struct mlir_attr *a = NULL;
    int64_t v;
    switch (c->kind) {
    case CL_INT:
        if (!text_int(t, &v))
            return false;
        set_int(t, op, c->attr, v, DT_I64);
        return true;
    case CL_INTS:
        a = text_ints(t);
        break;
    case CL_BOOL:
        a = text_attr(t);
        break;
    case CL_STRING: { /* whose type is not what follows */
        struct mlir_attr *s = mlir_attr_new(t->arena, MA_STRING);
        a = (s->text = text_string(t, &s->size)) ? s : NULL;
        break;
    }
    case CL_ENUM:
        a = enumeration(t, c->attr);
        break;
    case CL_PRECISION:
        a = precisions(t);
        break;
    case CL_FORMAT:
        return format_clause(t, op);
    case CL_PAIR:
        return dim_pair(t, op, c->attr);
    }
    if (a)
        mlir_dict_set(t->arena, &op->attrs, c->attr, a);
    return a != NULL;
}

static bool clause(struct text *t, struct mlir_op *op)
{
    const char *at = t->p, *key = text_ident_needed(t, "an operand or a clause");
    if (!key)
        return false;
    if (!text_need(t, "="))
        return false;
    if (mlir_is(op, "stablehlo.dot_general") && !strcmp(key, "algorithm")) {
        const struct mlir_attr *a = text_struct(t, "stablehlo", "dot_algorithm");
        if (a)
            mlir_dict_set(t->arena, &op->attrs, "algorithm", a);
        return a != NULL;
    }
    for (size_t k = 0; k < sizeof clauses / sizeof *clauses; k++)
        if (mlir_is(op, clauses[k].op) && !strcmp(clauses[k].key, key))
            return clause_value(t, op, &clauses[k]);
    return text_fail_at(t, at, "'%s' does not have '%s'", op->name, key);
}

static bool operand(struct text *t, struct mlir_op *op)
{
    struct mlir_value *v = text_use(t);
    if (v)
        text_push_operand(t, op, v);
    return v != NULL;
}

bool text_operand_list(struct text *t, struct mlir_op *op) /* after `(` */
{
    for (int n = 0; !text_eat(t, ")"); n++) {
        if (n && !text_need(t, ","))
            return false;
        if (text_peek(t) != '%' ? !clause(t, op) : !operand(t, op))
            return false;
    }
    return true;
}

/* ---- results ---- */

static bool is_terminator(const struct mlir_op *op)
{
    const char *dot = strrchr(op->name, '.');
    return dot && !strcmp(dot, ".return");
}

static bool types_of_results(struct text *t, struct mlir_op *op, const struct mlir_type **v,
                             int count, int named)
{
    if (is_terminator(op)) {
        if (count != op->operand_count)
            return text_fail(t, "%d types for %d operands", count, op->operand_count);
        for (int k = 0; k < count; k++)
            if (!mlir_type_equal(v[k], op->operands[k]->type))
                return text_fail(t, "operand %d is %s, but its type says %s", k,
                                 mlir_type_text(t->arena, op->operands[k]->type),
                                 mlir_type_text(t->arena, v[k]));
        return text_results(t, op, NULL, 0);
    }
    if (mlir_is(op, "stablehlo.optimization_barrier") || mlir_is(op, "stablehlo.while"))
        return text_results(t, op, v, count);
    if (mlir_is(op, "stablehlo.select") && count == 2)
        return text_results(t, op, v + 1, 1);
    if (count != 1 && count != named)
        return text_fail(t, "%d types for '%s'", count, op->name);
    if (count == 1 && op->operand_count && !mlir_is(op, "stablehlo.tuple") &&
        !mlir_is(op, "stablehlo.complex") && !mlir_is(op, "stablehlo.real") &&
        !mlir_is(op, "stablehlo.imag") && !mlir_is(op, "stablehlo.abs") && v[0]->kind == MT_TENSOR)
        for (int k = 0; k < op->operand_count; k++)
            if (op->operands[k]->type->kind == MT_TENSOR &&
                !mlir_type_equal(op->operands[k]->type, v[0]))
                return text_fail(t, "operand %d of '%s' is %s, but its type says %s", k, op->name,
                                 mlir_type_text(t->arena, op->operands[k]->type),
                                 mlir_type_text(t->arena, v[0]));
    return text_results(t, op, v, count);
}

/* `: (types) -> types`, `: types -> types` or `: types`; nothing for a return of nothing. */
static bool result_types(struct text *t, struct mlir_op *op, int named)
{
    const struct mlir_type **v = NULL, **to = NULL;
    int count = 0, made = 0;
    if (!text_eat(t, ":")) {
        if (named)
            return text_expected(t, "':' and types");
        return text_results(t, op, NULL, 0);
    }
    if (text_peek(t) == '(')
        return text_function_type(t, op);
    if (!text_types(t, &v, &count, false))
        return false;
    if (!text_eat(t, "->"))
        return types_of_results(t, op, v, count, named);
    if (count != op->operand_count)
        return text_fail(t, "%d types for %d operands of '%s'", count, op->operand_count, op->name);
    for (int k = 0; k < count; k++)
        if (!mlir_type_equal(v[k], op->operands[k]->type))
            return text_fail(t, "operand %d of '%s' is %s, but its type says %s", k, op->name,
                             mlir_type_text(t->arena, op->operands[k]->type),
                             mlir_type_text(t->arena, v[k]));
    bool many = text_eat(t, "(");
    if (many)
        return text_types(t, &to, &made, true) && text_results(t, op, to, made);
    to = ARENA_ARRAY(t->arena, const struct mlir_type *, 1);
    return (*to = text_type(t)) && text_results(t, op, to, 1);
}

/* ---- operations with a shape of their own ---- */

static bool constant(struct text *t, struct mlir_op *op)
{
    if (text_eat(t, "(")) /* stablehlo.constant() {value = ...} : () -> type */
        return text_need(t, ")") && text_dict_optional(t, &op->attrs) && text_need(t, ":") &&
               text_function_type(t, op);
    if (!text_dict_optional(t, &op->attrs))
        return false;
    const struct mlir_attr *v = text_attr(t);
    if (!v)
        return false;
    if (v->kind != MA_DENSE && v->kind != MA_INT && v->kind != MA_FLOAT && v->kind != MA_BOOL)
        return text_fail(t, "the value of '%s' is not an array", op->name);
    mlir_dict_set(t->arena, &op->attrs, "value", v);
    const struct mlir_type **one = ARENA_ARRAY(t->arena, const struct mlir_type *, 1);
    *one = v->type ? v->type : mlir_scalar(t->arena, DT_BOOL);
    return text_results(t, op, one, 1);
}

/* LT, %a, %b, SIGNED */
static bool compare(struct text *t, struct mlir_op *op, int named)
{
    const struct mlir_attr *e = enumeration(t, "comparison_direction");
    if (!e)
        return false;
    mlir_dict_set(t->arena, &op->attrs, "comparison_direction", e);
    if (!text_need(t, ",") || !operand(t, op) || !text_need(t, ",") || !operand(t, op))
        return false;
    if (text_eat(t, ",")) {
        if (!(e = enumeration(t, "comparison_type")))
            return false;
        mlir_dict_set(t->arena, &op->attrs, "compare_type", e);
    }
    return text_dict_optional(t, &op->attrs) && result_types(t, op, named);
}

/* [0:10:2, ...] */
static bool slice(struct text *t, struct mlir_op *op)
{
    static const char *const keys[] = {"start_indices", "limit_indices", "strides"};
    struct mlir_attr *v[3];
    int64_t at[3][MLIR_MAX_RANK + 1];
    int n = 0;
    if (!operand(t, op) || !text_need(t, "["))
        return false;
    while (!text_eat(t, "]")) {
        if ((n && !text_need(t, ",")) || n == MLIR_MAX_RANK)
            return text_expected(t, "']'");
        at[2][n] = 1;
        if (!text_int(t, &at[0][n]) || !text_need(t, ":") || !text_int(t, &at[1][n]) ||
            (text_eat(t, ":") && !text_int(t, &at[2][n])))
            return false;
        n++;
    }
    for (int k = 0; k < 3; k++) {
        v[k] = mlir_attr_new(t->arena, MA_INTS);
        v[k]->type = mlir_scalar(t->arena, DT_I64);
        v[k]->count = n;
        v[k]->ints = arena_copy(t->arena, at[k], sizeof **at * (size_t)(n + 1));
        mlir_dict_set(t->arena, &op->attrs, keys[k], v[k]);
    }
    return text_dict_optional(t, &op->attrs) && result_types(t, op, 1);
}

static bool window_key(struct text *t, struct mlir_op *op)
{
    static const char *const from[] = {"stride", "pad", "lhs_dilate", "rhs_dilate", "reverse"};
    static const char *const to[] = {"window_strides", "padding", "lhs_dilation", "rhs_dilation",
                                     "window_reversal"};
    const char *at = t->p, *key = text_ident_needed(t, "a part of the window");
    if (!key || !text_need(t, "="))
        return false;
    for (int k = 0; k < 5; k++) {
        if (strcmp(key, from[k]))
            continue;
        const struct mlir_attr *v = text_attr(t);
        if (v && v->kind == MA_ARRAY && k != 1) {
            struct mlir_attr *w = mlir_attr_new(t->arena, MA_INTS);
            w->type = mlir_scalar(t->arena, k == 4 ? DT_BOOL : DT_I64);
            if (!mlir_ints(t->arena, v, &w->count, &w->ints))
                return text_fail_at(t, at, "'%s' is not a list of integers", key);
            v = w;
        }
        if (v && k == 1) { /* [[1, 1], [0, 0]] as a tensor */
            struct mlir_attr *w = mlir_attr_new(t->arena, MA_DENSE);
            int64_t dims[2] = {v->count, 2};
            int64_t *data = ARENA_ARRAY(t->arena, int64_t, 2 * v->count + 2);
            for (int j = 0; j < v->count; j++) {
                int n;
                int64_t *two;
                if (!mlir_ints(t->arena, v->items[j], &n, &two) || n != 2)
                    return text_fail_at(t, at, "'pad' is not a list of pairs");
                data[2 * j] = two[0];
                data[2 * j + 1] = two[1];
            }
            w->type = mlir_tensor(t->arena, mlir_scalar(t->arena, DT_I64), 2, dims);
            w->data = data;
            v = w;
        }
        if (v)
            mlir_dict_set(t->arena, &op->attrs, to[k], v);
        return v != NULL;
    }
    return text_fail_at(t, at, "a window does not have '%s'", key);
}

/* (%x, %w) dim_numbers = ..., window = {...} {...} : types */
static bool convolution(struct text *t, struct mlir_op *op)
{
    if (!text_need(t, "(") || !text_operand_list(t, op))
        return false;
    do {
        if (text_word(t, "dim_numbers")) {
            const struct mlir_attr *a = text_need(t, "=") ? text_conv_dims(t) : NULL;
            if (!a)
                return false;
            mlir_dict_set(t->arena, &op->attrs, "dimension_numbers", a);
        } else if (text_word(t, "window")) {
            if (!text_need(t, "=") || !text_need(t, "{"))
                return false;
            for (int n = 0; !text_eat(t, "}"); n++)
                if ((n && !text_need(t, ",")) || !window_key(t, op))
                    return false;
        } else {
            return text_expected(t, "'dim_numbers' or 'window'");
        }
    } while (text_eat(t, ","));
    return text_dict_optional(t, &op->attrs) && result_types(t, op, 1);
}

static void regions(struct text *t, struct mlir_op *op, int count)
{
    op->region_count = count;
    op->regions = ARENA_ARRAY(t->arena, struct mlir_region, count);
}

/* (%iterArg = %0, ...) : types attributes {...} cond {...} do {...} */
static bool loop(struct text *t, struct mlir_op *op)
{
    struct {
        const char *name;
        size_t size;
    } *names = NULL;
    int count = 0, capacity = 0;
    if (!text_need(t, "("))
        return false;
    while (!text_eat(t, ")")) {
        if (count && !text_need(t, ","))
            return false;
        ARENA_GROW(t->arena, names, count, capacity);
        if (!text_value_name(t, &names[count].name, &names[count].size) || !text_need(t, "=") ||
            !operand(t, op))
            return false;
        count++;
    }
    if (count) {
        if (!result_types(t, op, count))
            return false;
    } else {
        text_results(t, op, NULL, 0);
    }
    if (op->result_count != count)
        return text_fail(t, "%d types for %d values of the loop", op->result_count, count);
    if (text_word(t, "attributes") && !text_dict(t, &op->attrs))
        return false;
    regions(t, op, 2);
    for (int r = 0; r < 2; r++) {
        int defs = t->def_count;
        struct mlir_block *b = mlir_add_block(t->arena, op, r, count);
        for (int k = 0; k < count; k++) {
            b->args[k]->type = op->operands[k]->type;
            if (!text_define(t, names[k].name, names[k].size, b->args + k, 1))
                return false;
        }
        if (!text_need_word(t, r ? "do" : "cond") || !text_region(t, op, r, b))
            return false;
        text_leave(t, defs);
    }
    return true;
}

static const struct mlir_type *scalar_of(struct text *t, const struct mlir_type *type)
{
    if (!type->element)
        return type;
    return mlir_tensor(t->arena, type->element, 0, NULL);
}

/* `applies stablehlo.add`: a region of that operation. */
static bool applied(struct text *t, struct mlir_op *op, const char *name)
{
    int n = op->operand_count / 2;
    if (n != 1)
        return text_fail(t, "'applies' with %d arrays, expected one", n);
    const struct mlir_type **type = ARENA_ARRAY(t->arena, const struct mlir_type *, 1);
    *type = scalar_of(t, op->operands[1]->type);
    struct mlir_block *b = mlir_add_block(t->arena, op, 0, 2);
    struct mlir_op *inner = mlir_op_new(t->arena, name),
                   *end = mlir_op_new(t->arena, "stablehlo.return");
    for (int k = 0; k < 2; k++) {
        b->args[k]->type = *type;
        text_push_operand(t, inner, b->args[k]);
    }
    text_results(t, inner, type, 1);
    text_push_operand(t, end, inner->results[0]);
    inner->loc = end->loc = op->loc;
    inner->line = end->line = op->line;
    mlir_append(t->arena, b, inner);
    mlir_append(t->arena, b, end);
    return true;
}

/* reducer(%a: t, %b: t) (%c: t, %d: t) {...}: first of each pair, then second of each. */
static bool reducer(struct text *t, struct mlir_op *op)
{
    int n = op->operand_count / 2, defs = t->def_count;
    struct mlir_block *b = mlir_add_block(t->arena, op, 0, 2 * n);
    if (!text_need_word(t, "reducer"))
        return false;
    for (int k = 0; k < n; k++) {
        if (!text_need(t, "("))
            return false;
        for (int j = 0; j < 2; j++) {
            const char *name;
            size_t size;
            struct mlir_value **v = b->args + (k + j * n);
            if ((j && !text_need(t, ",")) || !text_value_name(t, &name, &size) ||
                !text_need(t, ":") || !((*v)->type = text_type(t)) ||
                !text_loc_optional(t, &(*v)->loc) || !text_define(t, name, size, v, 1))
                return false;
        }
        if (!text_need(t, ")"))
            return false;
    }
    if (!text_region(t, op, 0, b))
        return false;
    text_leave(t, defs);
    return true;
}

/* (%x init: %i), (...) [applies op] across dimensions = [..] {...} : types [reducer...] */
static bool reduce(struct text *t, struct mlir_op *op)
{
    struct mlir_op inits = {0};
    const char *applies = NULL;
    do {
        if (!text_need(t, "(") || !operand(t, op) || !text_need_word(t, "init") ||
            !text_need(t, ":") || !operand(t, &inits) || !text_need(t, ")"))
            return false;
    } while (text_eat(t, ","));
    for (int k = 0; k < inits.operand_count; k++)
        text_push_operand(t, op, inits.operands[k]);
    if (text_word(t, "applies") && !(applies = text_ident_needed(t, "an operation")))
        return false;
    if (!text_need_word(t, "across") || !text_need_word(t, "dimensions") || !text_need(t, "="))
        return false;
    const struct mlir_attr *dims = text_ints(t);
    if (!dims)
        return false;
    mlir_dict_set(t->arena, &op->attrs, "dimensions", dims);
    if (!text_dict_optional(t, &op->attrs) || !text_need(t, ":") || !text_function_type(t, op))
        return false;
    regions(t, op, 1);
    return applies ? applied(t, op, applies) : reducer(t, op);
}

/* chlo.scan(%x) inits (%c) dimension = 0 attributes {...} {...} : types */
static bool scan(struct text *t, struct mlir_op *op)
{
    int64_t dim;
    if (!text_need(t, "(") || !text_operand_list(t, op))
        return false;
    int inputs = op->operand_count;
    if (!text_need_word(t, "inits") || !text_need(t, "(") || !text_operand_list(t, op) ||
        !text_need_word(t, "dimension") || !text_need(t, "=") || !text_int(t, &dim))
        return false;
    set_int(t, op, "dimension", dim, DT_I64);
    struct mlir_attr *sizes = mlir_attr_new(t->arena, MA_INTS);
    sizes->type = mlir_scalar(t->arena, DT_I32);
    sizes->count = 2;
    sizes->ints = ARENA_ARRAY(t->arena, int64_t, 2);
    sizes->ints[0] = inputs;
    sizes->ints[1] = op->operand_count - inputs;
    mlir_dict_set(t->arena, &op->attrs, "operandSegmentSizes", sizes);
    if (text_word(t, "attributes") && !text_dict(t, &op->attrs))
        return false;
    regions(t, op, 1);
    return text_region(t, op, 0, NULL) && result_types(t, op, 2);
}

/* @target(%x, ...) {...} : types */
static bool call(struct text *t, struct mlir_op *op, const char *key, enum mlir_attr_kind kind)
{
    const struct mlir_attr *s = text_peek(t) == '@' ? text_attr(t) : NULL;
    if (!s)
        return diag_failed(t->d) ? false : text_expected(t, "'@' and a name");
    struct mlir_attr *a = mlir_attr_new(t->arena, kind);
    a->text = s->text;
    a->size = s->size;
    mlir_dict_set(t->arena, &op->attrs, key, a);
    return text_need(t, "(") && text_operand_list(t, op) && text_dict_optional(t, &op->attrs) &&
           text_need(t, ":") && text_function_type(t, op);
}

/* "name" %x, %y {...} : types */
static bool composite(struct text *t, struct mlir_op *op)
{
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_STRING);
    if (!(a->text = text_string(t, &a->size)))
        return false;
    mlir_dict_set(t->arena, &op->attrs, "name", a);
    if (text_peek(t) == '%')
        do {
            if (!operand(t, op))
                return false;
        } while (text_eat(t, ","));
    return text_dict_optional(t, &op->attrs) && result_types(t, op, 1);
}

/* Other dialects: operands, anything in brackets, types. */
static bool foreign(struct text *t, struct mlir_op *op, int named)
{
    const struct mlir_type **v = NULL;
    int count = 0;
    while (text_peek(t) && strchr("%<{([@", *t->p)) {
        const char *from, *to;
        if (*t->p == '@'   ? !text_attr(t)
            : *t->p == '%' ? !operand(t, op)
                           : !text_balanced(t, &from, &to))
            return false;
        text_eat(t, ",");
    }
    if (!strncmp(op->name, "sdy.", 4) && !text_sdy_clauses(t))
        return false;
    if (!text_eat(t, ":"))
        return named ? text_expected(t, "':' and types") : text_results(t, op, NULL, 0);
    if (text_peek(t) == '(') {
        const struct mlir_type *f = text_type(t);
        if (f && named == 1 && f->kind == MT_FUNCTION && f->count == f->inputs)
            return text_results(t, op, arena_copy(t->arena, &f, sizeof f), 1); /* as a value */
        return f && f->kind == MT_FUNCTION &&
               text_results(t, op, f->types + f->inputs, f->count - f->inputs);
    }
    if (!text_types(t, &v, &count, false))
        return false;
    if (text_eat(t, "->") || text_word(t, "to")) {
        count = 0;
        bool many = text_eat(t, "(");
        if (!text_types(t, &v, &count, many))
            return false;
    }
    if (is_terminator(op) || !named)
        return text_results(t, op, NULL, 0);
    if (count != named)
        return text_fail(t, "%d types for %d results of '%s'", count, named, op->name);
    if (mlir_is(op, "tensor.dim") || mlir_is(op, "memref.dim")) {
        struct mlir_type *index = arena_alloc(t->arena, sizeof *index);
        index->kind = MT_INDEX;
        index->dtype = DT_I64;
        v[0] = index;
    }
    return text_results(t, op, v, count);
}

/* An operation of a dialect with forms of its own is refused for its dialect, not for its form. */
static bool other_dialect(struct text *t, struct mlir_op *op, int named)
{
    static const char *const read[] = {"builtin.", "func.", "sdy.", "tensor.", "arith.", "vhlo."};
    const char *at = t->p, *dot = strchr(op->name, '.');
    if (!dot)
        return text_fail(t, "'%s' is not an operation of StableHLO", op->name);
    if (foreign(t, op, named))
        return true;
    for (size_t k = 0; k < sizeof read / sizeof *read; k++)
        if (!strncmp(op->name, read[k], strlen(read[k])))
            return false;
    diag_clear(t->d);
    return text_fail_at(t, at,
                        "'%s': an operation of the dialect '%.*s', which is not read; convert the "
                        "module to StableHLO first",
                        op->name, (int)(dot - op->name), op->name);
}

static bool plain(struct text *t, struct mlir_op *op, int named)
{
    while (text_peek(t) && *t->p != ':' && *t->p != '{') {
        if (*t->p == '%') {
            if (!operand(t, op))
                return false;
            if (mlir_is(op, "stablehlo.get_tuple_element") && text_eat(t, "[")) {
                int64_t k;
                if (!text_int(t, &k) || !text_need(t, "]"))
                    return false;
                set_int(t, op, "index", k, DT_I32);
            }
        } else if (text_eat(t, "(")) {
            if (!text_operand_list(t, op))
                return false;
        } else if (isalpha((unsigned char)*t->p) &&
                   (!op->operand_count || t->p[-1] == ' ' || t->p[-1] == ',')) {
            const char *at = t->p;
            bool location = text_word(t, "loc");
            t->p = at;
            if (location)
                break;
            if (!clause(t, op))
                return false;
        } else {
            break;
        }
        if (!text_eat(t, ","))
            break;
        if (op->operand_count == 1 && mlir_is(op, "stablehlo.dynamic_slice"))
            text_eat(t, ","); /* that of a scalar is printed `%x, , sizes = []` */
    }
    if (text_peek(t) == '%')
        return text_expected(t, "',' or types");
    return text_dict_optional(t, &op->attrs) && result_types(t, op, named);
}

bool text_pretty(struct text *t, struct mlir_op *op, int named)
{
    static const char *const short_names[][2] = {{"return", "func.return"},
                                                 {"call", "func.call"},
                                                 {"constant", "func.constant"},
                                                 {"call_indirect", "func.call_indirect"}};
    for (int k = 0; k < 4; k++)
        if (mlir_is(op, short_names[k][0]))
            op->name = short_names[k][1];
    const char *name = op->name;
    if (!strcmp(name, "stablehlo.constant") || !strcmp(name, "chlo.constant") ||
        !strcmp(name, "arith.constant") || !strcmp(name, "sdy.constant"))
        return constant(t, op);
    if (!strcmp(name, "stablehlo.compare"))
        return compare(t, op, named);
    if (!strcmp(name, "stablehlo.slice"))
        return slice(t, op);
    if (!strcmp(name, "stablehlo.convolution"))
        return convolution(t, op);
    if (!strcmp(name, "stablehlo.while"))
        return loop(t, op);
    if (!strcmp(name, "stablehlo.reduce"))
        return reduce(t, op);
    if (!strcmp(name, "chlo.scan"))
        return scan(t, op);
    if (!strcmp(name, "stablehlo.custom_call"))
        return call(t, op, "call_target_name", MA_STRING);
    if (!strcmp(name, "func.call"))
        return call(t, op, "callee", MA_SYMBOL);
    if (!strcmp(name, "stablehlo.composite"))
        return composite(t, op);
    if (!strcmp(name, "sdy.mesh"))
        return text_sdy_mesh(t, op);
    if (!strcmp(name, "sdy.manual_computation") || !strcmp(name, "sdy.named_computation"))
        return text_sdy_computation(t, op);
    if (strncmp(name, "stablehlo.", 10) && strncmp(name, "chlo.", 5) &&
        strcmp(name, "func.return"))
        return other_dialect(t, op, named);
    return plain(t, op, named);
}
