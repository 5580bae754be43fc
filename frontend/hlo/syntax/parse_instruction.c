/* Instructions: operands, opcodes, attributes. */
#include "frontend/hlo/syntax/check.h"
#include "frontend/hlo/syntax/parse.h"

#include <string.h>

static bool define(struct parser *p, struct hlo_instruction *i, const char *at)
{
    if (!hlo_name_add(&p->names, p->scope, i->name, i))
        return parse_fail_at(p, at, "instruction '%s' is already defined in this computation",
                             i->name);
    return true;
}

struct hlo_instruction *new_instruction(struct parser *p, enum hlo_opcode op)
{
    struct hlo_instruction *i = ARENA_NEW(p->arena, struct hlo_instruction);
    i->opcode = op;
    i->parent = p->computation;
    return i;
}

/* `%t#0#1`: elements of a tuple without an instruction of their own get one, once. */
static bool element(struct parser *p, struct hlo_instruction **i)
{
    while (eat_if(p, '#')) {
        const char *at = p->lex.start;
        int64_t index;
        if (!token_int(p, &index))
            return false;
        const struct hlo_shape *s = (*i)->shape;
        if (s->type != HLO_TUPLE || index < 0 || index >= s->count)
            return parse_fail_at(p, at, "'%s' has no element %lld: its shape is %s", (*i)->name,
                                 (long long)index, hlo_shape_text(&p->scratch, s));
        const char *key = arena_printf(&p->scratch, "%s#%lld", (*i)->name, (long long)index);
        struct hlo_instruction *g = hlo_name_find(&p->names, p->scope, key, strlen(key));
        if (!g) {
            g = new_instruction(p, HLO_OP_GET_TUPLE_ELEMENT);
            int counter = 1;
            g->name = hlo_name_fresh(
                &p->names, p->scope,
                arena_printf(&p->scratch, "%s_%lld", (*i)->name, (long long)index), &counter);
            g->line = parse_line(p, at);
            g->shape = s->elements[index];
            g->operand_count = 1;
            g->operands = arena_copy(p->arena, i, sizeof *i);
            g->attr_count = 1;
            g->attrs = ARENA_NEW(p->arena, struct hlo_attr);
            g->attrs[0] = (struct hlo_attr){.id = HLO_ATTR_index, .i = index};
            hlo_append(p->arena, p->computation, g);
            hlo_name_add(&p->names, p->scope, g->name, g);
            hlo_name_add(&p->names, p->scope, hlo_intern(&p->names, key, strlen(key)), g);
        }
        *i = g;
    }
    return true;
}

static bool implicit_parameter(struct parser *p, const char *name, const struct hlo_shape *shape,
                               struct hlo_instruction **out)
{
    if (!shape)
        return parse_fail(p, "operand '%s' has no shape, which an instruction on its own needs",
                          name);
    struct hlo_instruction *i = new_instruction(p, HLO_OP_PARAMETER);
    i->name = name;
    i->shape = shape;
    for (int k = 0; k < p->computation->count; k++)
        i->parameter += p->computation->instructions[k]->opcode == HLO_OP_PARAMETER;
    hlo_append(p->arena, p->computation, i);
    *out = i;
    return hlo_name_add(&p->names, p->scope, name, i);
}

static bool parse_operand(struct parser *p, struct hlo_instruction **out)
{
    const char *at = p->lex.start;
    const struct hlo_shape *shape = NULL;
    if (can_shape(p) && !parse_shape(p, &shape))
        return false;
    bool alone = p->single && p->scope == 1;
    if (!token_is_name(p)) {
        int counter = 0;
        if (alone && shape && (lex_is(&p->lex, ',') || lex_is(&p->lex, ')')))
            return implicit_parameter(p, hlo_name_fresh(&p->names, p->scope, "p", &counter), shape,
                                      out);
        return parse_expected(p, "an operand");
    }
    struct lex after = p->lex;
    lex_next(&after);
    if (lex_is(&after, '('))
        return enter(p) && parse_rhs(p, NULL, shape, at, out) && (p->depth--, true);
    *out = hlo_name_find(&p->names, p->scope, p->lex.text, p->lex.size);
    if (!*out && alone) {
        if (!implicit_parameter(p, token_intern(p), shape, out))
            return false;
    } else if (!*out) {
        return parse_fail(p, "operand '%.*s' is not defined before this instruction",
                          (int)(p->lex.size > 200 ? 200 : p->lex.size), p->lex.text);
    }
    lex_next(&p->lex);
    if (!element(p, out))
        return false;
    if (shape && !hlo_shape_compatible(shape, (*out)->shape))
        return parse_fail_at(p, at, "operand '%s' is written as %s but has shape %s", (*out)->name,
                             hlo_shape_text(&p->scratch, shape),
                             hlo_shape_text(&p->scratch, (*out)->shape));
    return true;
}

static bool parse_operands(struct parser *p, struct hlo_instruction *i)
{
    int from = p->pointer_count;
    if (!eat(p, '('))
        return false;
    for (int k = 0; parse_more(p, ')', k); k++) {
        struct hlo_instruction *o;
        if (!parse_operand(p, &o))
            return false;
        push_pointer(p, o);
    }
    i->operands = pop_pointers(p, from, &i->operand_count);
    return eat(p, ')');
}

/* Opcodes for which "op-start", "op-update" and "op-done" are not sugar of the async ones. */
static bool has_own_async(enum hlo_opcode op)
{
    return op == HLO_OP_ALL_GATHER || op == HLO_OP_ALL_REDUCE || op == HLO_OP_COLLECTIVE_PERMUTE ||
           op == HLO_OP_COPY || op == HLO_OP_RECV || op == HLO_OP_SEND;
}

static bool parse_opcode(struct parser *p, enum hlo_opcode *op, enum hlo_opcode *wrapped)
{
    static const struct {
        const char *suffix;
        enum hlo_opcode op;
    } sugar[] = {{"-start", HLO_OP_ASYNC_START},
                 {"-update", HLO_OP_ASYNC_UPDATE},
                 {"-done", HLO_OP_ASYNC_DONE}};
    const struct lex *l = &p->lex;
    *wrapped = HLO_OP_INVALID;
    if (l->kind != TOK_IDENT)
        return parse_expected(p, "an opcode");
    *op = hlo_op_find(l->text, l->size);
    for (int k = 0; k < 3 && !*op; k++) {
        size_t n = strlen(sugar[k].suffix);
        if (l->size <= n || memcmp(l->text + l->size - n, sugar[k].suffix, n))
            continue;
        *wrapped = hlo_op_find(l->text, l->size - n);
        if (*wrapped && !has_own_async(*wrapped))
            *op = sugar[k].op;
    }
    if (!*op)
        return parse_fail(p, "unknown opcode '%.*s'", (int)(l->size > 100 ? 100 : l->size),
                          l->text);
    lex_next(&p->lex);
    return true;
}

static bool parse_attrs(struct parser *p, struct hlo_instruction *i, enum hlo_opcode wrapped,
                        struct attr_list *list)
{
    while (eat_if(p, ',')) {
        if (p->lex.kind != TOK_ATTR)
            return parse_expected(p, "an attribute (name=value)");
        const struct lex l = p->lex;
        int size = (int)(l.size > 100 ? 100 : l.size);
        bool known, known_too;
        enum hlo_attr_id id = wrapped ? hlo_attr_find(wrapped, l.text, l.size, &known) : 0;
        if (!id)
            id = hlo_attr_find(i->opcode, l.text, l.size, wrapped ? &known_too : &known);
        if (!id && known)
            return parse_fail(p, "%s has no attribute '%.*s'",
                              hlo_op_name(wrapped ? wrapped : i->opcode), size, l.text);
        lex_next(&p->lex);
        if (!id) {
            warn(p->d, "%s:%d: attribute '%.*s' is not known and ignored", p->file,
                 parse_line(p, l.start), size, l.text);
            if (!lex_skip_value(&p->lex))
                return parse_expected(p, "a value");
            continue;
        }
        for (int k = 0; k < list->count; k++)
            if (list->v[k].id == id)
                return parse_fail_at(p, l.start, "attribute '%.*s' is given twice", size, l.text);
        struct hlo_attr *a = &list->v[list->count];
        a->id = id;
        if (!parse_attr_value(p, a))
            return false;
        list->count++;
    }
    return true;
}

void set_attrs(struct parser *p, struct hlo_instruction *i, const struct attr_list *list)
{
    i->attr_count = list->count;
    i->attrs = arena_copy(p->arena, list->v, sizeof list->v[0] * (size_t)list->count);
}

static bool check(struct parser *p, struct hlo_instruction *i, const char *at)
{
    hlo_normalise(p->arena, i);
    struct diag why = {0};
    if (hlo_check_instruction(p->arena, i, &why))
        return true;
    return parse_fail_at(p, at, "%s", why.text);
}

static bool parse_constant(struct parser *p, struct hlo_instruction *i, const char *at)
{
    if (!i->shape)
        return parse_fail_at(p, at, "constant needs its shape written");
    return eat(p, '(') && parse_literal(p, i->shape, &i->literal) && eat(p, ')');
}

bool parse_rhs(struct parser *p, const char *name, const struct hlo_shape *shape, const char *at,
               struct hlo_instruction **out)
{
    enum hlo_opcode op, wrapped;
    if (!parse_opcode(p, &op, &wrapped))
        return false;
    struct hlo_instruction *i = new_instruction(p, op);
    i->shape = shape;
    i->line = parse_line(p, at);
    if (!shape && !hlo_op_info(op)->infers)
        return parse_fail_at(p, at, "the shape of %s cannot be inferred and must be written",
                             hlo_op_name(op));
    if (op == HLO_OP_PARAMETER) {
        if (!eat(p, '(') || !token_int(p, &i->parameter) || !eat(p, ')'))
            return false;
    } else if (op == HLO_OP_CONSTANT) {
        if (!parse_constant(p, i, at))
            return false;
    } else if (!parse_operands(p, i)) {
        return false;
    }
    struct attr_list list;
    list.count = 0;
    if (name && !parse_attrs(p, i, wrapped, &list))
        return false;
    if (wrapped && !parse_async(p, i, wrapped, &list, at))
        return false;
    set_attrs(p, i, &list);
    if (!check(p, i, at))
        return false;
    int counter = 1;
    i->name = name
                  ? name
                  : hlo_name_fresh(&p->names, p->scope,
                                   arena_printf(&p->scratch, "%s.anon", hlo_op_name(op)), &counter);
    hlo_append(p->arena, p->computation, i);
    *out = i;
    return define(p, i, at);
}

bool parse_instruction(struct parser *p, struct hlo_computation *c)
{
    const char *at = p->lex.start;
    bool root = false;
    if (lex_word(&p->lex, "ROOT")) {
        root = true;
        lex_next(&p->lex);
    }
    if (!token_is_name(p) && p->lex.kind != TOK_ATTR)
        return parse_expected(p, "an instruction (name = shape opcode(...))");
    const char *text = p->lex.text, *outer = p->instruction;
    size_t size = p->lex.size, outer_size = p->instruction_size;
    bool equal = p->lex.kind == TOK_ATTR;
    const char *name = token_intern(p);
    lex_next(&p->lex);
    p->instruction = text;
    p->instruction_size = size;
    if (!equal && !eat(p, '='))
        return false;
    if (root && c->root)
        return parse_fail_at(p, at, "a second ROOT in one computation; the first is '%s'",
                             c->root->name);
    const struct hlo_shape *shape = NULL;
    struct hlo_instruction *i;
    if ((can_shape(p) && !parse_shape(p, &shape)) || !parse_rhs(p, name, shape, at, &i))
        return false;
    if (root)
        c->root = i;
    p->instruction = outer;
    p->instruction_size = outer_size;
    return true;
}

/* ---- computations ---- */

bool parse_body(struct parser *p, const char *name, struct hlo_computation **out)
{
    struct hlo_computation *c = ARENA_NEW(p->arena, struct hlo_computation);
    struct hlo_computation *outer = p->computation;
    uint32_t outer_scope = p->scope;
    c->name = name;
    c->line = parse_line(p, p->lex.start);
    p->computation = c;
    p->scope = ++p->scopes;
    if (!enter(p) || !eat(p, '{'))
        return false;
    do {
        if (!parse_instruction(p, c))
            return false;
    } while (!lex_is(&p->lex, '}'));
    lex_next(&p->lex);
    if (!c->root)
        c->root = c->instructions[c->count - 1];
    struct diag why = {0};
    if (!hlo_check_computation(p->arena, c, &why))
        return parse_fail(p, "%s", why.text);
    p->depth--;
    p->computation = outer;
    p->scope = outer_scope;
    hlo_append_computation(p->arena, p->module, c);
    *out = c;
    return true;
}
