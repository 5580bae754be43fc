/* Operations of Shardy, the dialect of shardings. One device does all of it. */
#include "frontend/stablehlo/syntax/text.h"

#include <ctype.h>
#include <string.h>

/* @mesh = <...> */
bool text_sdy_mesh(struct text *t, struct mlir_op *op)
{
    const struct mlir_attr *name = text_attr(t), *v;
    if (!name || !text_need(t, "=") || !(v = text_attr(t)))
        return false;
    struct mlir_attr *s = mlir_attr_new(t->arena, MA_STRING);
    s->text = name->text;
    s->size = name->size;
    mlir_dict_set(t->arena, &op->attrs, "sym_name", s);
    mlir_dict_set(t->arena, &op->attrs, "mesh", v);
    return text_dict_optional(t, &op->attrs) && text_results(t, op, NULL, 0);
}

bool text_sdy_clauses(struct text *t)
{
    while (isalpha((unsigned char)text_peek(t))) {
        const char *from, *to;
        int64_t number;
        if (!text_ident_needed(t, "a clause") || !text_need(t, "="))
            return false;
        char c = text_peek(t);
        bool read = c && strchr("<{[(", c)           ? text_balanced(t, &from, &to)
                    : isdigit((unsigned char)c)      ? text_int(t, &number)
                                                     : text_ident_needed(t, "a value") != NULL;
        if (!read)
            return false;
    }
    return true;
}

/* (%a: type, ...) { ... }: the region's arguments are as many as operands. */
static bool body(struct text *t, struct mlir_op *op)
{
    const int defs = t->def_count;
    struct mlir_block *b = mlir_add_block(t->arena, op, 0, op->operand_count);
    if (!text_need(t, "("))
        return false;
    for (int k = 0; k < op->operand_count; k++) {
        const char *name;
        size_t size;
        if ((k && !text_need(t, ",")) || !text_value_name(t, &name, &size) || !text_need(t, ":") ||
            !(b->args[k]->type = text_type(t)) || !text_loc_optional(t, &b->args[k]->loc) ||
            !text_define(t, name, size, b->args + k, 1))
            return false;
    }
    if (!text_need(t, ")") || !text_region(t, op, 0, b))
        return false;
    text_leave(t, defs);
    return true;
}

/* [<"name">](%x, ...) in_shardings=[...] ... (%a: type, ...) {...} {...} : types */
bool text_sdy_computation(struct text *t, struct mlir_op *op)
{
    const char *from, *to;
    if (text_peek(t) == '<' && !text_balanced(t, &from, &to))
        return false;
    if (!text_need(t, "(") || !text_operand_list(t, op) || !text_sdy_clauses(t))
        return false;
    op->region_count = 1;
    op->regions = ARENA_ARRAY(t->arena, struct mlir_region, 1);
    return body(t, op) && text_dict_optional(t, &op->attrs) && text_need(t, ":") && text_function_type(t, op);
}
