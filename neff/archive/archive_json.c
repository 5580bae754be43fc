#include "neff/archive/archive_json.h"

#include "neff/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const slot_json_names[SLOT_KINDS] = {
    [SLOT_INPUT] = "input",     [SLOT_CONST] = "file",   [SLOT_PLANNED] = "tmp-buf",
    [SLOT_DYNAMIC] = "pointer", [SLOT_VIEW] = "virtual",
};

struct def_json_reader {
    struct json_reader j;
    struct program *p;
    struct arena scratch;
    struct diag *d;
    const char *file;
};

static bool bad(struct def_json_reader *r, const char *what, int i)
{
    return fail(r->d, "%s: bad entry in '%s' at index %d", r->file, what, i);
}

/* Whether the text could be read so far; after a failure that has a message of its own, false. */
static bool well_formed(struct def_json_reader *r)
{
    if (r->j.problem && !diag_failed(r->d))
        fail(r->d, "%s: not valid JSON, line %d: %s", r->file, json_line(&r->j), r->j.problem);
    return !diag_failed(r->d);
}

/* A number, or "$n" for an expression before `limit`. */
static bool read_dim(struct def_json_reader *r, int limit, dim_t *out)
{
    if (!json_begins(&r->j, '"')) {
        *out = json_read_integer(&r->j);
        return *out >= DIM_LOWEST && *out <= DIM_HIGHEST;
    }
    const char *s = json_read_word(&r->j);
    char *end;
    long n = *s == '$' ? strtol(s + 1, &end, 10) : -1;
    if (n < 0 || n >= limit || *end || end == s + 1)
        return false;
    *out = INT64_MIN + n;
    return true;
}

static bool read_symbols(struct def_json_reader *r)
{
    struct dim_table *t = &r->p->dims;
    json_enter(&r->j, '[');
    while (json_read_element(&r->j)) {
        struct dim_symbol s = {0};
        bool too_small = false;
        json_enter(&r->j, '{');
        for (const char *key; (key = json_read_key(&r->j));) {
            if (!strcmp(key, "name"))
                s.name = json_read_text(&r->j, t->arena);
            else if (!strcmp(key, "runtime"))
                s.runtime = json_read_bool(&r->j);
            else if (!strcmp(key, "separable"))
                s.separable = json_read_bool(&r->j);
            else if (!strcmp(key, "most"))
                too_small |= (s.max = json_read_integer(&r->j)) < 1;
            else if (!strcmp(key, "size"))
                too_small |= (s.size = json_read_integer(&r->j)) < 1;
            else
                json_skip(&r->j);
        }
        if (too_small || !s.name || !dim_table_add_symbol(t, s))
            return bad(r, "symbols", t->nsymbols);
    }
    return well_formed(r);
}

static int dim_op_from_name(const char *name)
{
    int op = 0;
    while (op < DIM_OPS && strcmp(name, dim_op_names[op]) != 0)
        op++;
    return op;
}

static bool read_expression(struct def_json_reader *r, struct dim_node *n)
{
    const struct dim_table *t = &r->p->dims;
    json_enter(&r->j, '[');
    int op = json_read_element(&r->j) ? dim_op_from_name(json_read_word(&r->j)) : DIM_OPS;
    n->op = (uint8_t)op;
    if (op == DIM_OPS || !json_read_element(&r->j) || !read_dim(r, t->nnodes, &n->a))
        return false;
    if (op == DIM_SYM) {
        if (!dim_is_const(n->a) || n->a < 0 || n->a >= t->nsymbols)
            return false;
        n->runtime = t->symbols[n->a].runtime;
    } else {
        if (!json_read_element(&r->j) || !read_dim(r, t->nnodes, &n->b))
            return false;
        n->runtime = dim_is_runtime(t, n->a) || dim_is_runtime(t, n->b);
    }
    return !json_read_element(&r->j);
}

static bool read_dims(struct def_json_reader *r)
{
    struct dim_table *t = &r->p->dims;
    json_enter(&r->j, '[');
    while (json_read_element(&r->j)) {
        struct dim_node n = {0};
        if (!read_expression(r, &n))
            return bad(r, "dims", t->nnodes);
        if (!dim_table_add_node(t, n, r->d))
            return fail_in(r->d, "%s", r->file);
    }
    return well_formed(r);
}

/* program_check knows how many regions there are. */
static bool read_guard(struct def_json_reader *r, struct guard *g)
{
    int64_t n;
    *g = (struct guard){.kind = GUARD_KINDS, .dimension = -1, .node = "", .what = ""};
    bool a = false, b = false;
    json_enter(&r->j, '{');
    for (const char *key; (key = json_read_key(&r->j));) {
        if (!strcmp(key, "must")) {
            g->kind = (uint8_t)guard_kind_from_name(json_read_word(&r->j));
        } else if (!strcmp(key, "a")) {
            a = read_dim(r, r->p->dims.nnodes, &g->a);
        } else if (!strcmp(key, "b")) {
            b = read_dim(r, r->p->dims.nnodes, &g->b);
        } else if (!strcmp(key, "node")) {
            g->node = json_read_text(&r->j, &r->p->arena);
        } else if (!strcmp(key, "what")) {
            g->what = json_read_text(&r->j, &r->p->arena);
        } else if (!strcmp(key, "region")) {
            n = json_read_integer(&r->j);
            g->region = n >= 0 && n <= INT32_MAX ? (int32_t)n : -1;
        } else if (!strcmp(key, "dimension")) {
            n = json_read_integer(&r->j);
            g->dimension = n >= 0 && n < MAX_RANK ? (int8_t)n : -2;
        } else {
            json_skip(&r->j);
        }
    }
    return a && b && g->node && g->what && g->kind < GUARD_KINDS;
}

static bool read_guards(struct def_json_reader *r)
{
    struct guard g;
    json_enter(&r->j, '[');
    while (json_read_element(&r->j)) {
        if (!read_guard(r, &g))
            return bad(r, "guards", r->p->nguards);
        program_add_guard(r->p, &g);
    }
    return well_formed(r);
}

static bool read_kind(struct def_json_reader *r, struct slot *s)
{
    const char *kind = json_read_word(&r->j);
    for (int k = 0; k < SLOT_KINDS; k++)
        if (!strcmp(kind, slot_json_names[k])) {
            s->kind = (uint8_t)k;
            return true;
        }
    return false;
}

static bool read_type(struct def_json_reader *r, struct type *out)
{
    const char *text = json_read_text(&r->j, &r->scratch);
    bool ok = type_parse(&r->p->dims, &text, out, r->d) && !*text;
    arena_clear(&r->scratch);
    return ok;
}

static bool read_range(struct def_json_reader *r, struct slot *s)
{
    json_enter(&r->j, '[');
    s->low = json_read_element(&r->j) ? json_read_integer(&r->j) : 1;
    s->has_range = json_read_element(&r->j) && read_dim(r, r->p->dims.nnodes, &s->high) &&
                   (!dim_is_const(s->high) || s->low <= s->high);
    return s->has_range && !json_read_element(&r->j);
}

/* One member of a variable; those that are not read here are for people. */
static bool read_member(struct def_json_reader *r, const char *key, struct slot *s, struct placement *at)
{
    if (!strcmp(key, "type"))
        return read_kind(r, s);
    if (!strcmp(key, "value"))
        return read_type(r, &s->type);
    if (!strcmp(key, "name"))
        s->name = json_read_text(&r->j, &r->p->arena);
    else if (!strcmp(key, "output"))
        s->is_output = json_read_bool(&r->j);
    else if (!strcmp(key, "donated"))
        s->donated = json_read_bool(&r->j);
    else if (!strcmp(key, "range"))
        return read_range(r, s);
    else if (!strcmp(key, "file_offset"))
        at->offset = (uint64_t)json_read_integer(&r->j);
    else if (!strcmp(key, "size"))
        at->size = (uint64_t)json_read_integer(&r->j);
    else if (!strcmp(key, "backing_variable_off"))
        return read_dim(r, r->p->dims.nnodes, &s->offset);
    else if (!strcmp(key, "backing_variable")) {
        int64_t base = json_read_integer(&r->j);
        s->base = (int32_t)base;
        return base >= 0 && base <= INT32_MAX; /* program_check knows how many there are */
    } else {
        json_skip(&r->j);
    }
    return true;
}

static bool read_var(struct def_json_reader *r, int i, struct slot *s, struct placement *at)
{
    char expected[16];
    bool kind = false, type = false;
    s->base = -1;
    snprintf(expected, sizeof expected, "v%d", i);
    if (strcmp(r->j.word, expected) != 0)
        return bad(r, "var", i);
    json_enter(&r->j, '{');
    for (const char *key; (key = json_read_key(&r->j));) {
        kind |= !strcmp(key, "type");
        type |= !strcmp(key, "value");
        if (!read_member(r, key, s, at))
            return diag_failed(r->d) ? fail_in(r->d, "%s: variable %d", r->file, i)
                                     : bad(r, "var", i);
    }
    if (!kind || !type || at->offset > INT64_MAX || at->size > INT64_MAX ||
        (s->kind == SLOT_VIEW && s->base < 0))
        return bad(r, "var", i);
    s->base = s->base < 0 ? 0 : s->base;
    return true;
}

static bool read_vars(struct def_json_reader *r, struct placement **at)
{
    struct program *p = r->p;
    struct json_reader start = r->j;
    int n = 0;
    json_enter(&r->j, '{');
    while (json_read_key(&r->j) && n < INT32_MAX) {
        json_skip(&r->j);
        n++;
    }
    if (!well_formed(r))
        return false;
    p->slots = ARENA_ARRAY(&p->arena, struct slot, n);
    *at = ARENA_ARRAY(&p->arena, struct placement, n);
    p->slots_cap = n;
    r->j = start;
    json_enter(&r->j, '{');
    while (json_read_key(&r->j)) {
        int i = p->nslots++;
        if (!read_var(r, i, &p->slots[i], &(*at)[i]))
            return false;
    }
    return well_formed(r);
}

static bool read_outputs(struct def_json_reader *r)
{
    int n = 0, cap = 0;
    json_enter(&r->j, '[');
    ARENA_GROW(&r->p->arena, r->p->output_names, n, cap);
    while (json_read_element(&r->j)) {
        r->p->output_names[n++] = json_read_text(&r->j, &r->p->arena);
        ARENA_GROW(&r->p->arena, r->p->output_names, n, cap); /* NULL ends the list */
    }
    return well_formed(r);
}

/* `member`: where the object lies, or "". */
static bool read_library(struct def_json_reader *r, struct program_library *l, const char **member)
{
    struct arena *a = &r->p->arena;
    *l = (struct program_library){0};
    *member = "";
    json_enter(&r->j, '{');
    for (const char *key; (key = json_read_key(&r->j));) {
        if (!strcmp(key, "name"))
            l->name = json_read_text(&r->j, a);
        else if (!strcmp(key, "sha256"))
            l->hash = json_read_text(&r->j, a);
        else if (!strcmp(key, "architecture"))
            l->architecture = json_read_text(&r->j, a);
        else if (!strcmp(key, "abi"))
            l->abi = (int)json_read_integer(&r->j);
        else if (!strcmp(key, "file_name"))
            *member = json_read_text(&r->j, a);
        else
            json_skip(&r->j);
    }
    return l->name && *l->name && !strchr(l->name, '/') && l->hash && strlen(l->hash) == 64 &&
           l->architecture && *member;
}

/* Members are found by neff_program; until then `data` is the member's name. */
static bool read_libraries(struct def_json_reader *r)
{
    struct program *p = r->p;
    int cap = 0;
    json_enter(&r->j, '[');
    while (json_read_element(&r->j)) {
        const char *member;
        ARENA_GROW(&p->arena, p->libraries, p->nlibraries, cap);
        struct program_library *l = &p->libraries[p->nlibraries];
        if (!read_library(r, l, &member))
            return bad(r, "custom_libraries", p->nlibraries);
        l->data = *member ? (const uint8_t *)member : NULL;
        p->nlibraries++;
    }
    return well_formed(r);
}

static bool read_state(struct def_json_reader *r, struct program_state *s)
{
    int64_t input = -1, output = -1, axis = -1;
    int pitches = 0;
    json_enter(&r->j, '{');
    for (const char *key; (key = json_read_key(&r->j));) {
        if (!strcmp(key, "input"))
            input = json_read_integer(&r->j);
        else if (!strcmp(key, "output"))
            output = json_read_integer(&r->j);
        else if (!strcmp(key, "axis"))
            axis = json_read_integer(&r->j);
        else if (!strcmp(key, "input_pitch"))
            pitches |= read_dim(r, r->p->dims.nnodes, &s->pitch[0]);
        else if (!strcmp(key, "output_pitch"))
            pitches |= read_dim(r, r->p->dims.nnodes, &s->pitch[1]) << 1;
        else
            json_skip(&r->j);
    }
    s->input = (int32_t)input, s->output = (int32_t)output, s->axis = (int)axis;
    return pitches == 3 && input >= 0 && input <= INT32_MAX && output >= 0 && output <= INT32_MAX &&
           axis >= 0 && axis < MAX_RANK;
}

static bool read_states(struct def_json_reader *r)
{
    json_enter(&r->j, '[');
    while (json_read_element(&r->j)) {
        struct program_state s = {0};
        if (!read_state(r, &s))
            return bad(r, "states", r->p->nstates);
        program_add_state(r->p, s);
    }
    return well_formed(r);
}

/* Where the members of the text's object are read from. */
struct json_member {
    const char *name;
    bool may_lack;
    struct json_reader value;
};

static bool find_members(struct def_json_reader *r, struct json_member *m, int n)
{
    json_enter(&r->j, '{');
    for (const char *key; (key = json_read_key(&r->j));) {
        for (int i = 0; i < n; i++)
            if (!strcmp(key, m[i].name))
                m[i].value = r->j;
        json_skip(&r->j);
    }
    if (!r->j.problem && !json_done(&r->j))
        r->j.problem = "more text after the end";
    for (int i = 0; i < n && well_formed(r); i++)
        if (!m[i].value.at && !m[i].may_lack)
            fail(r->d, "%s: '%s' is missing", r->file, m[i].name);
    return !diag_failed(r->d);
}

bool def_json_read(struct program *p, struct bytes text, struct placement **at, struct diag *d)
{
    struct def_json_reader r = {
        .j = json_reader(text.data, text.size), .p = p, .d = d, .file = "sg00/def.json"};
    enum { NAME, TARGET, SYMBOLS, DIMS, VAR, OUTPUTS, GUARDS, STATES, LIBRARIES, MEMBERS };
    struct json_member m[MEMBERS] = {{.name = "name"},
                                {.name = "target"},
                                {.name = "symbols"},
                                {.name = "dims"},
                                {.name = "var"},
                                {.name = "outputs"},
                                {.name = "guards", .may_lack = true},
                                {.name = "states", .may_lack = true},
                                {.name = "custom_libraries", .may_lack = true}};
    bool ok = find_members(&r, m, MEMBERS);
    if (ok) {
        p->name = json_read_text(&m[NAME].value, &p->arena);
        p->target = json_read_text(&m[TARGET].value, &p->arena);
        r.j = m[SYMBOLS].value, ok = read_symbols(&r);
        r.j = m[DIMS].value, ok = ok && read_dims(&r);
        r.j = m[VAR].value, ok = ok && read_vars(&r, at);
        r.j = m[OUTPUTS].value, ok = ok && read_outputs(&r);
        if (m[GUARDS].value.at)
            r.j = m[GUARDS].value, ok = ok && read_guards(&r);
        if (m[STATES].value.at)
            r.j = m[STATES].value, ok = ok && read_states(&r);
        if (m[LIBRARIES].value.at)
            r.j = m[LIBRARIES].value, ok = ok && read_libraries(&r);
    }
    arena_free(&r.scratch);
    return ok;
}

static bool read_node(struct def_json_reader *r)
{
    const char *text[2];
    json_enter(&r->j, '[');
    for (int i = 0; i < 2; i++)
        text[i] = json_read_element(&r->j) ? json_read_text(&r->j, &r->scratch) : NULL;
    bool ok = text[0] && text[1] && !json_read_element(&r->j);
    if (ok)
        program_add_node(r->p, text[0], text[1]);
    arena_clear(&r->scratch);
    return ok || bad(r, "nodes", r->p->nnodes);
}

bool debug_json_read(struct program *p, struct bytes text, struct diag *d)
{
    struct def_json_reader r = {
        .j = json_reader(text.data, text.size), .p = p, .d = d, .file = "sg00/debug.json"};
    struct json_member nodes = {.name = "nodes"};
    bool ok = find_members(&r, &nodes, 1);
    if (ok) {
        r.j = nodes.value;
        json_enter(&r.j, '[');
        while (ok && json_read_element(&r.j))
            ok = read_node(&r);
        ok = ok && well_formed(&r);
    }
    arena_free(&r.scratch);
    return ok;
}
