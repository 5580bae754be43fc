#include "neff/archive/archive_json.h"

#include "neff/base/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
    [SLOT_INPUT] = "input",     [SLOT_CONST] = "file",   [SLOT_PLANNED] = "tmp-buf",
    [SLOT_DYNAMIC] = "pointer", [SLOT_VIEW] = "virtual",
};
enum { NKINDS = sizeof kind_names / sizeof *kind_names };

static struct bytes dump(json_t *j, struct arena *a)
{
    char *text = json_dumps(j, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    size_t n = strlen(text);
    struct bytes out = {arena_copy(a, text, n), n};
    free(text);
    json_decref(j);
    return out;
}

/* JSON text must be UTF-8; names from models may not be. */
static json_t *text_json(const char *s)
{
    json_t *j = json_string(s ? s : "");
    if (j)
        return j;
    size_t n = strlen(s);
    char *clean = malloc(n + 1);
    for (size_t i = 0; i <= n; i++)
        clean[i] = (unsigned char)s[i] < 0x80 ? s[i] : '?';
    j = json_string(clean);
    free(clean);
    return j;
}

/* ---- writing ---- */

static json_t *dim_json(dim_t d)
{
    if (dim_is_const(d))
        return json_integer(d);
    return json_sprintf("$%d", dim_index(d));
}

static json_t *dims_json(const struct dim_table *t)
{
    json_t *list = json_array();
    for (int i = 0; i < t->nnodes; i++) {
        const struct dim_node *n = &t->nodes[i];
        json_t *row = json_array();
        json_array_append_new(row, json_string(dim_op_names[n->op]));
        json_array_append_new(row, n->op == DIM_SYM ? json_integer(n->a) : dim_json(n->a));
        if (n->op != DIM_SYM)
            json_array_append_new(row, dim_json(n->b));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *symbols_json(const struct dim_table *t)
{
    json_t *list = json_array();
    for (int i = 0; i < t->nsymbols; i++) {
        json_t *s = json_object();
        json_object_set_new(s, "name", text_json(t->symbols[i].name));
        if (t->symbols[i].runtime)
            json_object_set_new(s, "runtime", json_true());
        if (t->symbols[i].most)
            json_object_set_new(s, "most", json_integer(t->symbols[i].most));
        json_array_append_new(list, s);
    }
    return list;
}

static json_t *var_json(const struct program *p, int i, const struct placement *at, struct arena *a)
{
    const struct slot *s = &p->slots[i];
    json_t *v = json_object();
    json_object_set_new(v, "type", json_string(kind_names[s->kind]));
    json_object_set_new(v, "var_id", json_integer(i));
    if (s->name)
        json_object_set_new(v, "name", text_json(s->name));
    json_object_set_new(v, "value", text_json(type_text(&p->dims, a, &s->type)));
    if (s->is_output)
        json_object_set_new(v, "output", json_true());
    if (s->kind == SLOT_VIEW) {
        json_object_set_new(v, "backing_variable", json_integer(s->base));
        json_object_set_new(v, "backing_variable_off", dim_json(s->offset));
    }
    if (s->kind == SLOT_CONST) {
        json_object_set_new(v, "file_name", json_string("weights.bin"));
        json_object_set_new(v, "file_offset", json_integer((json_int_t)at[i].offset));
        json_object_set_new(v, "size", json_integer((json_int_t)at[i].size));
    } else if (type_is_static(&s->type)) {
        int64_t size = type_count((struct dim_table *)&p->dims, &s->type) *
                       (int64_t)dtype_bytes(s->type.dtype);
        json_object_set_new(v, "size", json_integer(size));
    }
    return v;
}

static json_t *guards_json(const struct program *p)
{
    json_t *list = json_array();
    for (int i = 0; i < p->nguards; i++) {
        const struct guard *g = &p->guards[i];
        json_t *row = json_object();
        json_object_set_new(row, "must", json_string(guard_kind_names[g->kind]));
        json_object_set_new(row, "a", dim_json(g->a));
        json_object_set_new(row, "b", dim_json(g->b));
        if (g->region)
            json_object_set_new(row, "region", json_integer(g->region));
        json_object_set_new(row, "node", text_json(g->node));
        if (*g->what)
            json_object_set_new(row, "what", text_json(g->what));
        if (g->dimension >= 0)
            json_object_set_new(row, "dimension", json_integer(g->dimension));
        json_array_append_new(list, row);
    }
    return list;
}

struct bytes def_json_write(const struct program *p, const struct placement *at, struct arena *a)
{
    json_t *root = json_object(), *vars = json_object(), *outputs = json_array();
    json_object_set_new(root, "name", text_json(p->name));
    json_object_set_new(root, "target", text_json(p->target));
    json_t *queue = json_pack("{s:s,s:i,s:s}", "type", "data", "num_queues", 1, "owner", "sp");
    json_object_set_new(root, "dma_queue", json_pack("{s:o}", "qSyncIO0", queue));
    json_object_set_new(root, "symbols", symbols_json(&p->dims));
    json_object_set_new(root, "dims", dims_json(&p->dims));
    if (p->nguards)
        json_object_set_new(root, "guards", guards_json(p));
    for (int i = 0; i < p->nslots; i++) {
        char key[16];
        snprintf(key, sizeof key, "v%d", i);
        json_object_set_new(vars, key, var_json(p, i, at, a));
    }
    json_object_set_new(root, "var", vars);
    for (int i = 0; i < p->regions[0].nresults; i++)
        json_array_append_new(outputs, text_json(p->output_names[i]));
    json_object_set_new(root, "outputs", outputs);
    return dump(root, a);
}

struct bytes debug_json_write(const struct program *p, struct arena *a)
{
    json_t *nodes = json_array();
    for (int i = 0; i < p->nnodes; i++) {
        json_t *n = json_array();
        json_array_append_new(n, text_json(p->nodes[i].name));
        json_array_append_new(n, text_json(p->nodes[i].source));
        json_array_append_new(nodes, n);
    }
    return dump(json_pack("{s:o}", "nodes", nodes), a);
}

struct bytes neff_json_write(const struct program *p, struct arena *a)
{
    json_t *sg = json_pack("{s:s,s:s,s:s}", "name", "sg00", "definition", "sg00/def.json", "target",
                           p->target ? p->target : "");
    return dump(json_pack("{s:s,s:[o]}", "format", "xcc NEFF-style archive", "graphs", sg), a);
}

/* ---- reading ---- */

struct reader {
    struct json_reader j;
    struct program *p;
    struct arena scratch;
    struct diag *d;
    const char *file;
};

static bool bad(struct reader *r, const char *what, int i)
{
    return fail(r->d, "%s: bad entry in '%s' at index %d", r->file, what, i);
}

/* Whether the text could be read so far; after a failure that has a message of its own, false. */
static bool well_formed(struct reader *r)
{
    if (r->j.problem && !diag_failed(r->d))
        fail(r->d, "%s: not valid JSON, line %d: %s", r->file, json_line(&r->j), r->j.problem);
    return !diag_failed(r->d);
}

/* A number, or "$n" for an expression before `limit`. */
static bool read_dim(struct reader *r, int limit, dim_t *out)
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

static bool read_symbols(struct reader *r)
{
    struct dim_table *t = &r->p->dims;
    json_enter(&r->j, '[');
    while (json_read_element(&r->j)) {
        struct dim_symbol s = {0};
        json_enter(&r->j, '{');
        for (const char *key; (key = json_read_key(&r->j));) {
            if (!strcmp(key, "name"))
                s.name = json_read_text(&r->j, t->arena);
            else if (!strcmp(key, "runtime"))
                s.runtime = json_read_bool(&r->j);
            else if (strcmp(key, "most") != 0)
                json_skip(&r->j);
            else if ((s.most = json_read_integer(&r->j)) < 1)
                return bad(r, "symbols", t->nsymbols);
        }
        if (!s.name || !dim_table_add_symbol(t, s))
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

static bool read_expression(struct reader *r, struct dim_node *n)
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

static bool read_dims(struct reader *r)
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
static bool read_guard(struct reader *r, struct guard *g)
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

static bool read_guards(struct reader *r)
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

static bool read_kind(struct reader *r, struct slot *s)
{
    const char *kind = json_read_word(&r->j);
    for (int k = 0; k < NKINDS; k++)
        if (!strcmp(kind, kind_names[k])) {
            s->kind = (uint8_t)k;
            return true;
        }
    return false;
}

static bool read_type(struct reader *r, struct type *out)
{
    const char *text = json_read_text(&r->j, &r->scratch);
    bool ok = type_parse(&r->p->dims, &text, out, r->d) && !*text;
    arena_clear(&r->scratch);
    return ok;
}

/* One member of a variable; those that are not read here are for people. */
static bool read_member(struct reader *r, const char *key, struct slot *s, struct placement *at)
{
    if (!strcmp(key, "type"))
        return read_kind(r, s);
    if (!strcmp(key, "value"))
        return read_type(r, &s->type);
    if (!strcmp(key, "name"))
        s->name = json_read_text(&r->j, &r->p->arena);
    else if (!strcmp(key, "output"))
        s->is_output = json_read_bool(&r->j);
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

static bool read_var(struct reader *r, int i, struct slot *s, struct placement *at)
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

static bool read_vars(struct reader *r, struct placement **at)
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

static bool read_outputs(struct reader *r)
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

/* Where the members of the text's object are read from. */
struct member {
    const char *name;
    bool may_lack;
    struct json_reader value;
};

static bool find_members(struct reader *r, struct member *m, int n)
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
    struct reader r = {
        .j = json_reader(text.data, text.size), .p = p, .d = d, .file = "sg00/def.json"};
    enum { NAME, TARGET, SYMBOLS, DIMS, VAR, OUTPUTS, GUARDS, MEMBERS };
    struct member m[MEMBERS] = {{.name = "name"},
                                {.name = "target"},
                                {.name = "symbols"},
                                {.name = "dims"},
                                {.name = "var"},
                                {.name = "outputs"},
                                {.name = "guards", .may_lack = true}};
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
    }
    arena_free(&r.scratch);
    return ok;
}

static bool read_node(struct reader *r)
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
    struct reader r = {
        .j = json_reader(text.data, text.size), .p = p, .d = d, .file = "sg00/debug.json"};
    struct member nodes = {.name = "nodes"};
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
