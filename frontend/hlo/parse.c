/* Modules, computations and instructions. */
#include "frontend/hlo/parse.h"
#include "frontend/hlo/check.h"

#include <string.h>

/* ---- messages ---- */

int parse_line(struct parser *p, const char *at)
{
    if (at < p->line_start) /* only on failure: count again */
        return p->line;
    const char *e;
    while ((e = memchr(p->line_start, '\n', (size_t)(at - p->line_start)))) {
        p->line_start = e + 1;
        p->line++;
    }
    return p->line;
}

static bool fail_v(struct parser *p, const char *at, const char *fmt, va_list ap)
{
    if (diag_failed(p->d))
        return false;
    int line = p->line;
    const char *start = p->line_start;
    if (at < start) { /* an earlier place: count back */
        while (at < start) {
            start--;
            while (start > p->lex.begin && start[-1] != '\n')
                start--;
            line--;
        }
    } else {
        line = parse_line(p, at);
        start = p->line_start;
    }
    char text[1024];
    vsnprintf(text, sizeof text, fmt, ap);
    int column = (int)(at - start) + 1;
    if (p->instruction)
        return fail(p->d, "%s:%d:%d: instruction '%.*s': %s", p->file, line, column,
                    p->instruction_size > 200 ? 200 : (int)p->instruction_size, p->instruction,
                    text);
    return fail(p->d, "%s:%d:%d: %s", p->file, line, column, text);
}

bool parse_fail_at(struct parser *p, const char *at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail_v(p, at, fmt, ap);
    va_end(ap);
    return false;
}

bool parse_fail(struct parser *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail_v(p, p->lex.start, fmt, ap);
    va_end(ap);
    return false;
}

bool parse_expected(struct parser *p, const char *what)
{
    const struct lex *l = &p->lex;
    if (l->kind == TOK_ERROR)
        return parse_fail(p, "%s", l->error);
    if (l->kind == TOK_END)
        return parse_fail(p, "expected %s, found the end of the text", what);
    const char *end = l->at < l->end ? l->at : l->end;
    int size = end - l->start > 60 ? 60 : (int)(end - l->start);
    return parse_fail(p, "expected %s, found '%.*s'", what, size, l->start);
}

/* ---- small pieces ---- */

bool eat_if(struct parser *p, char punct)
{
    if (!lex_is(&p->lex, punct))
        return false;
    lex_next(&p->lex);
    return true;
}

bool eat(struct parser *p, char punct)
{
    char what[] = {'\'', punct, '\'', 0};
    return eat_if(p, punct) || parse_expected(p, what);
}

bool eat_kind(struct parser *p, enum token kind, const char *what)
{
    if (p->lex.kind != kind)
        return parse_expected(p, what);
    lex_next(&p->lex);
    return true;
}

bool enter(struct parser *p)
{
    if (++p->depth > HLO_MAX_NESTING)
        return parse_fail(p, "nested deeper than %d levels", HLO_MAX_NESTING);
    return true;
}

bool token_int(struct parser *p, int64_t *value)
{
    const struct lex *l = &p->lex;
    if (l->kind != TOK_INT)
        return parse_expected(p, "an integer");
    if (l->wide || l->integer > (uint64_t)INT64_MAX + (l->negative ? 1 : 0))
        return parse_fail(p, "integer %.*s does not fit in 64 bits",
                          (int)(l->size > 40 ? 40 : l->size), l->text);
    *value = l->negative ? (int64_t)(0 - l->integer) : (int64_t)l->integer;
    lex_next(&p->lex);
    return true;
}

bool token_is_name(const struct parser *p)
{
    return p->lex.kind == TOK_IDENT || p->lex.kind == TOK_NAME;
}

const char *token_intern(struct parser *p)
{
    return hlo_intern(&p->names, p->lex.text, p->lex.size);
}

void push_int(struct parser *p, int64_t v)
{
    ARENA_GROW(&p->scratch, p->ints, p->int_count, p->int_capacity);
    p->ints[p->int_count++] = v;
}

struct hlo_ints pop_ints(struct parser *p, int from)
{
    struct hlo_ints v = {p->int_count - from, NULL};
    if (v.count)
        v.v = arena_copy(p->arena, p->ints + from, sizeof *p->ints * (size_t)v.count);
    p->int_count = from;
    return v;
}

void push_pointer(struct parser *p, const void *v)
{
    ARENA_GROW(&p->scratch, p->pointers, p->pointer_count, p->pointer_capacity);
    p->pointers[p->pointer_count++] = (void *)v;
}

void *pop_pointers(struct parser *p, int from, int *count)
{
    *count = p->pointer_count - from;
    p->pointer_count = from;
    return *count ? arena_copy(p->arena, p->pointers + from, sizeof(void *) * (size_t)*count)
                  : NULL;
}

/* ---- instructions ---- */

static bool define(struct parser *p, struct hlo_instruction *i, const char *at)
{
    if (!hlo_name_add(&p->names, p->scope, i->name, i))
        return parse_fail_at(p, at, "instruction '%s' is already defined in this computation",
                             i->name);
    return true;
}

static struct hlo_instruction *new_instruction(struct parser *p, enum hlo_opcode op)
{
    struct hlo_instruction *i = ARENA_NEW(p->arena, struct hlo_instruction);
    i->opcode = op;
    i->parent = p->computation;
    return i;
}

static bool parse_rhs(struct parser *p, const char *name, const struct hlo_shape *shape,
                      const char *at, struct hlo_instruction **out);

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
    while (!lex_is(&p->lex, ')')) {
        struct hlo_instruction *o;
        if (!parse_operand(p, &o))
            return false;
        push_pointer(p, o);
        if (!eat_if(p, ','))
            break;
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

struct attr_list {
    int count;
    struct hlo_attr v[HLO_ATTR_COUNT];
};

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

static void set_attrs(struct parser *p, struct hlo_instruction *i, const struct attr_list *list)
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

static bool finish_async(struct parser *p, struct hlo_instruction *i, enum hlo_opcode wrapped,
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

static bool parse_constant(struct parser *p, struct hlo_instruction *i, const char *at)
{
    if (!i->shape)
        return parse_fail_at(p, at, "constant needs its shape written");
    return eat(p, '(') && parse_literal(p, i->shape, &i->literal) && eat(p, ')');
}

/* `name` NULL: nested in an operand list, without attributes. */
static bool parse_rhs(struct parser *p, const char *name, const struct hlo_shape *shape,
                      const char *at, struct hlo_instruction **out)
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
    if (wrapped && !finish_async(p, i, wrapped, &list, at))
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

static bool parse_instruction(struct parser *p, struct hlo_computation *c)
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

struct signature {
    bool given;
    const struct hlo_shape *result;
    int count;
};

static bool parse_signature(struct parser *p, struct signature *s)
{
    s->given = true;
    if (!eat(p, '('))
        return false;
    while (!lex_is(&p->lex, ')')) {
        const struct hlo_shape *shape;
        if (!token_is_name(p))
            return parse_expected(p, "a parameter name");
        lex_next(&p->lex);
        eat_if(p, ':');
        if (!parse_shape(p, &shape))
            return false;
        s->count++;
        if (!eat_if(p, ','))
            break;
    }
    return eat(p, ')') && eat_kind(p, TOK_ARROW, "'->'") && parse_shape(p, &s->result);
}

static bool parse_computation(struct parser *p)
{
    struct hlo_module *m = p->module;
    const char *at = p->lex.start;
    bool entry = lex_word(&p->lex, "ENTRY");
    if (entry)
        lex_next(&p->lex);
    if (!token_is_name(p))
        return parse_expected(p, "a computation (name { ... })");
    const char *name = token_intern(p);
    lex_next(&p->lex);
    struct signature s = {0};
    if (lex_is(&p->lex, '(') && !parse_signature(p, &s))
        return false;
    struct hlo_computation *c;
    if (!parse_body(p, name, &c))
        return false;
    c->line = parse_line(p, at);
    if (s.given && !hlo_shape_compatible(s.result, c->root->shape))
        return parse_fail_at(
            p, at, "computation '%s' is declared to return %s but its root '%s' has shape %s", name,
            hlo_shape_text(&p->scratch, s.result), c->root->name,
            hlo_shape_text(&p->scratch, c->root->shape));
    while (eat_if(p, ',')) {
        struct hlo_text thread;
        if (p->lex.kind != TOK_ATTR || strncmp(p->lex.text, "execution_thread=", 17))
            return parse_expected(p, "execution_thread=");
        lex_next(&p->lex);
        if (!parse_string(p, &thread))
            return false;
        c->execution_thread = strcmp(thread.data, "main") ? thread.data : NULL;
    }
    if (entry && m->entry)
        return parse_fail_at(p, at, "a second ENTRY; the first is '%s'", m->entry->name);
    if (entry)
        m->entry = c;
    if (!hlo_name_add(&p->names, 0, name, c))
        return parse_fail_at(p, at, "computation '%s' is already defined", name);
    return true;
}

/* ---- modules ---- */

static bool parse_entry_layout(struct parser *p, struct hlo_module *m)
{
    int from = p->pointer_count;
    if (!eat(p, '{') || !eat(p, '('))
        return false;
    while (!lex_is(&p->lex, ')')) {
        const struct hlo_shape *s;
        if (!parse_shape(p, &s))
            return false;
        push_pointer(p, s);
        if (!eat_if(p, ','))
            break;
    }
    m->entry_parameters.v = pop_pointers(p, from, &m->entry_parameters.count);
    return eat(p, ')') && eat_kind(p, TOK_ARROW, "'->'") && parse_shape(p, &m->entry_result) &&
           eat(p, '}');
}

static bool parse_propagation(struct parser *p, struct hlo_ints *out)
{
    if (lex_is(&p->lex, '{'))
        return parse_bools(p, out);
    int from = p->int_count;
    int64_t v;
    if (!parse_bool(p, &v))
        return false;
    push_int(p, v);
    *out = pop_ints(p, from);
    return true;
}

static bool flag(struct parser *p, bool *out)
{
    int64_t v = 0;
    bool ok = parse_bool(p, &v);
    *out = v != 0;
    return ok;
}

static bool parse_module_attr(struct parser *p, struct hlo_module *m, const char *name)
{
    if (!strcmp(name, "is_scheduled"))
        return flag(p, &m->is_scheduled);
    if (!strcmp(name, "alias_passthrough_params"))
        return flag(p, &m->passes_aliases);
    if (!strcmp(name, "replica_count"))
        return token_int(p, &m->replica_count);
    if (!strcmp(name, "num_partitions"))
        return token_int(p, &m->num_partitions);
    if (!strcmp(name, "input_output_alias"))
        return parse_aliases(p, true, &m->aliases);
    if (!strcmp(name, "buffer_donor"))
        return parse_donors(p, &m->donors);
    if (!strcmp(name, "entry_computation_layout"))
        return parse_entry_layout(p, m);
    if (!strcmp(name, "frontend_attributes"))
        return parse_pairs(p, &m->frontend_attributes);
    if (!strcmp(name, "allow_spmd_sharding_propagation_to_parameters"))
        return parse_propagation(p, &m->propagate_to_parameters);
    if (!strcmp(name, "allow_spmd_sharding_propagation_to_output"))
        return parse_propagation(p, &m->propagate_to_output);
    if (!strcmp(name, "origin_recovery_table"))
        return parse_raw(p, &m->recovery_table);
    if (!strcmp(name, "debug_attributes"))
        return parse_raw(p, &m->debug_attributes);
    warn(p->d, "%s:%d: module attribute '%s' is not known and ignored", p->file,
         parse_line(p, p->lex.start), name);
    return lex_skip_value(&p->lex) || parse_expected(p, "a value");
}

static bool parse_header(struct parser *p)
{
    lex_next(&p->lex);
    if (!token_is_name(p) && p->lex.kind != TOK_KEYWORD && p->lex.kind != TOK_TYPE)
        return parse_expected(p, "the module's name");
    p->module->name = token_intern(p);
    lex_next(&p->lex);
    const char *seen[32];
    int count = 0;
    while (eat_if(p, ',')) {
        if (p->lex.kind != TOK_ATTR)
            return parse_expected(p, "a module attribute (name=value)");
        const char *name = token_intern(p);
        for (int k = 0; k < count; k++)
            if (seen[k] == name)
                return parse_fail(p, "module attribute '%s' is given twice", name);
        if (count < 32)
            seen[count++] = name;
        lex_next(&p->lex);
        if (!parse_module_attr(p, p->module, name))
            return false;
    }
    return true;
}

static bool next_entry(struct parser *p)
{
    if (p->lex.kind != TOK_INT)
        return false;
    lex_next(&p->lex);
    return true;
}

static bool parse_strings(struct parser *p, const char *title, const char ***out, int *count)
{
    if (!lex_word(&p->lex, title))
        return parse_expected(p, title);
    lex_next(&p->lex);
    int from = p->pointer_count;
    while (next_entry(p)) {
        struct hlo_text t;
        if (!parse_string(p, &t))
            return false;
        push_pointer(p, hlo_intern(&p->names, t.data, t.size));
    }
    *out = pop_pointers(p, from, count);
    return true;
}

/* `{name=1 other=2}`: fills the fields whose names are listed. */
static bool parse_fields(struct parser *p, const char *const *names, int count, int64_t *fields)
{
    if (!eat(p, '{'))
        return false;
    while (!lex_is(&p->lex, '}')) {
        eat_if(p, ',');
        if (p->lex.kind != TOK_ATTR)
            return parse_expected(p, "a field (name=value)");
        int k = 0;
        while (k < count && (strncmp(names[k], p->lex.text, p->lex.size) || names[k][p->lex.size]))
            k++;
        int64_t value;
        lex_next(&p->lex);
        if (!token_int(p, &value))
            return false;
        if (k < count)
            fields[k] = value;
    }
    return eat(p, '}');
}

static bool parse_stack(struct parser *p)
{
    static const char *const location[] = {"file_name_id", "function_name_id", "line",
                                           "end_line",     "column",           "end_column"};
    static const char *const frame[] = {"file_location_id", "parent_frame_id"};
    struct hlo_stack_frames *s = &p->module->stack;
    if (!lex_word(&p->lex, "FileNames"))
        return true;
    if (!parse_strings(p, "FileNames", &s->files, &s->file_count) ||
        !parse_strings(p, "FunctionNames", &s->functions, &s->function_count))
        return false;
    if (!lex_word(&p->lex, "FileLocations"))
        return parse_expected(p, "FileLocations");
    lex_next(&p->lex);
    int capacity = 0;
    while (next_entry(p)) {
        int64_t f[6] = {0};
        if (!parse_fields(p, location, 6, f))
            return false;
        ARENA_GROW(p->arena, s->locations, s->location_count, capacity);
        s->locations[s->location_count++] =
            (struct hlo_location){f[0], f[1], f[2], f[3], f[4], f[5]};
    }
    if (!lex_word(&p->lex, "StackFrames"))
        return parse_expected(p, "StackFrames");
    lex_next(&p->lex);
    capacity = 0;
    while (next_entry(p)) {
        int64_t f[2] = {0, 1};
        if (!parse_fields(p, frame, 2, f))
            return false;
        ARENA_GROW(p->arena, s->frames, s->frame_count, capacity);
        s->frames[s->frame_count++] = (struct hlo_frame){f[0], f[1] > 0 ? f[1] - 1 : 0};
    }
    return true;
}

static bool parse_alone(struct parser *p)
{
    struct hlo_computation *c = ARENA_NEW(p->arena, struct hlo_computation);
    p->single = true;
    p->computation = c;
    p->scope = ++p->scopes;
    c->line = p->line;
    p->module->name = c->name = hlo_intern(&p->names, "single", 6);
    if (can_shape(p)) {
        const struct hlo_shape *shape;
        struct hlo_instruction *i;
        const char *at = p->lex.start;
        if (!parse_shape(p, &shape) ||
            !parse_rhs(p, hlo_intern(&p->names, "result", 6), shape, at, &i))
            return false;
    } else if (!parse_instruction(p, c)) {
        return false;
    }
    if (p->lex.kind != TOK_END)
        return parse_expected(
            p, "nothing after a single instruction (a module has computations in braces)");
    c->root = c->instructions[c->count - 1];
    if (!hlo_check_computation(p->arena, c, p->d))
        return false;
    hlo_append_computation(p->arena, p->module, c);
    p->module->entry = c;
    return hlo_name_add(&p->names, 0, c->name, c);
}

/* Inline and wrapped computations get names that the text has not used. */
static void name_computations(struct parser *p)
{
    struct hlo_module *m = p->module;
    int counter = 0;
    for (int k = 0; k < m->count; k++) {
        struct hlo_computation *c = m->computations[k];
        if (c->name)
            continue;
        c->name = hlo_name_fresh(&p->names, 0, "inline", &counter);
        hlo_name_add(&p->names, 0, c->name, c);
    }
}

static bool parse_module(struct parser *p)
{
    struct hlo_module *m = p->module;
    if (lex_word(&p->lex, "HloModule") && !parse_header(p))
        return false;
    if (!m->name && !lex_word(&p->lex, "ENTRY") && !lex_word(&p->lex, "FileNames")) {
        struct lex after = p->lex;
        lex_next(&after);
        if (!token_is_name(p) || !(lex_is(&after, '{') || lex_is(&after, '(')))
            return parse_alone(p);
    }
    if (!parse_stack(p))
        return false;
    do {
        if (!parse_computation(p))
            return false;
    } while (p->lex.kind != TOK_END);
    if (!m->entry)
        m->entry = m->computations[m->count - 1];
    if (!m->name)
        m->name = hlo_name_clean(&p->names, arena_printf(&p->scratch, "module_%s", m->entry->name));
    return true;
}

struct hlo_module *hlo_parse(struct arena *a, const char *file, const char *text, size_t size,
                             int first_line, struct diag *d)
{
    struct parser p = {.arena = a, .d = d, .file = file, .line = first_line, .line_start = text};
    p.names.strings = a;
    p.module = ARENA_NEW(a, struct hlo_module);
    p.module->arena = a;
    lex_start(&p.lex, text, size);
    bool ok = parse_module(&p);
    if (ok)
        name_computations(&p);
    arena_free(&p.names.table);
    arena_free(&p.scratch);
    return ok ? p.module : NULL;
}
