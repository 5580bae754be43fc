/* Modules and computations. */
#include "frontend/hlo/syntax/parse.h"
#include "frontend/hlo/syntax/check.h"

#include <string.h>

/* ---- computations ---- */

struct computation_signature {
    bool given;
    const struct hlo_shape *result;
    int count;
};

static bool parse_signature(struct parser *p, struct computation_signature *s)
{
    s->given = true;
    if (!eat(p, '('))
        return false;
    for (int k = 0; parse_more(p, ')', k); k++) {
        const struct hlo_shape *shape;
        if (!token_is_name(p))
            return parse_expected(p, "a parameter name");
        lex_next(&p->lex);
        eat_if(p, ':');
        if (!parse_shape(p, &shape))
            return false;
        s->count++;
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
    struct computation_signature s = {0};
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
    return eat(p, '{') && parse_shape_list(p, '(', ')', &m->entry_parameters) &&
           eat_kind(p, TOK_ARROW, "'->'") && parse_shape(p, &m->entry_result) && eat(p, '}');
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
    if (!token_is_name(p) && p->lex.kind != TOK_KEYWORD)
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
