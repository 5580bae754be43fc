/* `op-start`, `op-update` and `op-done`: short forms of async operations on a computation that does
 * op. */
#include "frontend/hlo/syntax/check.h"
#include "frontend/hlo/syntax/parse.h"

#include <string.h>

/* One more operand of the wrapped operation: a parameter of its computation. */
static void bind(struct parser *p, struct hlo_computation *c, const struct hlo_shape *shape)
{
    struct hlo_instruction *o = new_instruction(p, HLO_OP_PARAMETER), *op = c->root;
    char name[32];
    int k = op->operand_count;
    o->name = hlo_intern(&p->names, name, (size_t)snprintf(name, sizeof name, "param_%d", k));
    o->shape = shape;
    o->parameter = k;
    o->line = parse_line(p, p->lex.start);
    struct hlo_instruction **more = ARENA_ARRAY(p->arena, struct hlo_instruction *, k + 1);
    arena_move_(more, op->operands, sizeof *more * (size_t)k);
    more[k] = o;
    op->operands = more;
    op->operand_count++;
    hlo_append(p->arena, c, o);
}

/* Parameters first, then the operation. */
static void seal(struct parser *p, struct hlo_computation *c)
{
    struct diag ignored = {0};
    int kept = 0;
    for (int k = 0; k < c->count; k++)
        if (c->instructions[k] != c->root)
            c->instructions[kept++] = c->instructions[k];
    c->count = kept;
    hlo_append(p->arena, c, c->root);
    for (int k = 0; k < c->count; k++)
        c->instructions[k]->index = k;
    hlo_check_computation(p->arena, c, &ignored); /* numbered by bind: cannot fail */
}

/* `op-start(x), attrs` is async-start of a computation that does op on its parameters. */
static bool wrap_start(struct parser *p, struct hlo_instruction *i, enum hlo_opcode wrapped,
                       struct attr_list *list, const char *at)
{
    struct hlo_computation *c = ARENA_NEW(p->arena, struct hlo_computation);
    struct hlo_instruction *op = new_instruction(p, wrapped);
    struct attr_list mine = {0}, own = {0};
    for (int k = 0; k < list->count; k++) {
        enum hlo_attr_id id = list->v[k].id;
        if (id == HLO_ATTR_async_execution_thread || id == HLO_ATTR_control_predecessors ||
            id == HLO_ATTR_sharding || id == HLO_ATTR_metadata)
            mine.v[mine.count++] = list->v[k];
        else
            own.v[own.count++] = list->v[k];
        if (id == HLO_ATTR_async_execution_thread && strcmp(list->v[k].text->data, "main"))
            c->execution_thread = list->v[k].text->data;
    }
    if (wrapped == HLO_OP_PARAMETER || wrapped == HLO_OP_CONSTANT)
        return parse_fail_at(p, at, "a %s cannot be started asynchronously", hlo_op_name(wrapped));
    const struct hlo_shape *s = i->shape;
    if (s->type != HLO_TUPLE || s->count < 2 || s->elements[0]->type != HLO_TUPLE)
        return parse_fail_at(p, at, "async-start has shape %s, expected ((operands), result, ...)",
                             hlo_shape_text(&p->scratch, s));
    op->name = hlo_intern(&p->names, "result", 6);
    op->shape = s->elements[1];
    op->parent = c;
    set_attrs(p, op, &own);
    hlo_normalise(p->arena, op);
    struct diag why = {0};
    if (!hlo_check_attrs(op, &why))
        return parse_fail_at(p, at, "%s", why.text);
    op->line = c->line = parse_line(p, at);
    c->root = op;
    c->wrapper = true;
    for (int k = 0; k < i->operand_count; k++)
        bind(p, c, i->operands[k]->shape);
    seal(p, c);
    hlo_append_computation(p->arena, p->module, c);
    mine.v[mine.count++] = (struct hlo_attr){.id = HLO_ATTR_calls, .computation = c};
    *list = mine;
    return true;
}

bool parse_async(struct parser *p, struct hlo_instruction *i, enum hlo_opcode wrapped,
                 struct attr_list *list, const char *at)
{
    if (i->opcode == HLO_OP_ASYNC_START)
        return wrap_start(p, i, wrapped, list, at);
    const struct hlo_instruction *start = hlo_async_start(i);
    struct hlo_computation *c = start ? hlo_attr_computation(start, HLO_ATTR_calls) : NULL;
    if (!c)
        return true;
    if (c->root->opcode != wrapped)
        return parse_fail_at(p, at, "this finishes %s, but '%s' started %s", hlo_op_name(wrapped),
                             start->name, hlo_op_name(c->root->opcode));
    if (c->wrapper && i->opcode == HLO_OP_ASYNC_UPDATE) { /* operands that the start did not have */
        for (int k = 1; k < i->operand_count; k++)
            bind(p, c, i->operands[k]->shape);
        seal(p, c);
    }
    const struct hlo_shape *r = c->root->shape;
    if (c->wrapper && i->opcode == HLO_OP_ASYNC_DONE && r->type == HLO_TUPLE && !r->count)
        c->root->shape = i->shape;
    return true;
}
