#include "neff/archive_json.h"

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

struct bytes def_json_write(const struct program *p, const struct placement *at, struct arena *a)
{
    json_t *root = json_object(), *vars = json_object(), *outputs = json_array();
    json_object_set_new(root, "name", text_json(p->name));
    json_object_set_new(root, "target", text_json(p->target));
    json_t *queue = json_pack("{s:s,s:i,s:s}", "type", "data", "num_queues", 1, "owner", "sp");
    json_object_set_new(root, "dma_queue", json_pack("{s:o}", "qSyncIO0", queue));
    json_object_set_new(root, "symbols", symbols_json(&p->dims));
    json_object_set_new(root, "dims", dims_json(&p->dims));
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
    struct program *p;
    struct diag *d;
    const char *file;
};

static bool bad(struct reader *r, const char *what, int i)
{
    return fail(r->d, "%s: bad entry in '%s' at index %d", r->file, what, i);
}

static bool load(struct reader *r, struct bytes text, json_t **out)
{
    json_error_t e;
    *out = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &e);
    if (!*out)
        return fail(r->d, "%s: not valid JSON, line %d: %s", r->file, e.line, e.text);
    if (!json_is_object(*out)) {
        json_decref(*out);
        return fail(r->d, "%s: expected a JSON object", r->file);
    }
    return true;
}

static const char *text_of(struct reader *r, const json_t *j)
{
    return json_is_string(j) ? arena_strdup(&r->p->arena, json_string_value(j)) : NULL;
}

/* A number, or "$n" for an expression before `limit`. */
static bool dim_of(const json_t *j, int limit, dim_t *out)
{
    if (json_is_integer(j)) {
        *out = json_integer_value(j);
        return dim_is_const(*out);
    }
    const char *s = json_string_value(j);
    char *end;
    if (!s || *s != '$')
        return false;
    long n = strtol(s + 1, &end, 10);
    if (*end || end == s + 1 || n < 0 || n >= limit)
        return false;
    *out = INT64_MIN + n;
    return true;
}

static bool read_symbols(struct reader *r, const json_t *list)
{
    struct dim_table *t = &r->p->dims;
    size_t n = json_array_size(list);
    t->symbols = ARENA_ARRAY(t->arena, struct dim_symbol, n);
    t->symbols_cap = (int)n;
    for (size_t i = 0; i < n; i++) {
        const json_t *s = json_array_get(list, i);
        const char *name = text_of(r, json_object_get(s, "name"));
        const json_t *most = json_object_get(s, "most");
        if (!name || (most && json_integer_value(most) < 1))
            return bad(r, "symbols", (int)i);
        t->symbols[i] = (struct dim_symbol){name, json_is_true(json_object_get(s, "runtime")),
                                            most ? json_integer_value(most) : 0};
        t->nsymbols = (int)i + 1;
    }
    return true;
}

static bool read_dim(struct reader *r, const json_t *row, int i, struct dim_node *n)
{
    const struct dim_table *t = &r->p->dims;
    const char *op = json_string_value(json_array_get(row, 0));
    for (int k = 0; op && k < DIM_OPS; k++) {
        if (strcmp(op, dim_op_names[k]))
            continue;
        n->op = (uint8_t)k;
        if (!dim_of(json_array_get(row, 1), i, &n->a))
            return bad(r, "dims", i);
        if (k == DIM_SYM) {
            if (!dim_is_const(n->a) || n->a < 0 || n->a >= t->nsymbols)
                return bad(r, "dims", i);
            n->runtime = t->symbols[n->a].runtime;
            return true;
        }
        if (!dim_of(json_array_get(row, 2), i, &n->b))
            return bad(r, "dims", i);
        n->runtime = dim_is_runtime(t, n->a) || dim_is_runtime(t, n->b);
        return true;
    }
    return bad(r, "dims", i);
}

static bool read_dims(struct reader *r, const json_t *list)
{
    struct dim_table *t = &r->p->dims;
    size_t n = json_array_size(list);
    t->nodes = ARENA_ARRAY(t->arena, struct dim_node, n);
    t->nodes_cap = (int)n;
    for (size_t i = 0; i < n; i++) {
        if (!read_dim(r, json_array_get(list, i), (int)i, &t->nodes[i]))
            return false;
        t->nnodes = (int)i + 1;
    }
    return dim_table_index(t) || fail(r->d, "%s: a dimension expression occurs twice", r->file);
}

static bool read_kind(const json_t *v, struct slot *s)
{
    const char *kind = json_string_value(json_object_get(v, "type"));
    for (int k = 0; kind && k < NKINDS; k++)
        if (!strcmp(kind, kind_names[k])) {
            s->kind = (uint8_t)k;
            return true;
        }
    return false;
}

static bool read_var(struct reader *r, const json_t *v, int i, struct placement *at)
{
    struct slot *s = &r->p->slots[i];
    const char *type = json_string_value(json_object_get(v, "value"));
    if (!read_kind(v, s) || !type)
        return bad(r, "var", i);
    if (!type_parse(&r->p->dims, &type, &s->type, r->d))
        return fail_in(r->d, "%s: variable %d", r->file, i);
    if (*type)
        return bad(r, "var", i);
    s->name = text_of(r, json_object_get(v, "name"));
    s->is_output = json_is_true(json_object_get(v, "output"));
    if (s->kind == SLOT_VIEW) {
        json_int_t base = json_integer_value(json_object_get(v, "backing_variable"));
        if (base < 0 || base >= r->p->nslots ||
            !dim_of(json_object_get(v, "backing_variable_off"), r->p->dims.nnodes, &s->offset))
            return bad(r, "var", i);
        s->base = (int32_t)base;
    }
    if (s->kind == SLOT_CONST) {
        json_int_t offset = json_integer_value(json_object_get(v, "file_offset"));
        json_int_t size = json_integer_value(json_object_get(v, "size"));
        if (offset < 0 || size < 0)
            return bad(r, "var", i);
        *at = (struct placement){(uint64_t)offset, (uint64_t)size};
    }
    return true;
}

static bool read_vars(struct reader *r, const json_t *vars, struct placement **at)
{
    size_t n = json_object_size(vars);
    r->p->slots = ARENA_ARRAY(&r->p->arena, struct slot, n);
    r->p->nslots = r->p->slots_cap = (int)n;
    *at = ARENA_ARRAY(&r->p->arena, struct placement, n);
    for (size_t i = 0; i < n; i++) {
        char key[32];
        snprintf(key, sizeof key, "v%zu", i);
        if (!read_var(r, json_object_get(vars, key), (int)i, &(*at)[i]))
            return false;
    }
    return true;
}

static bool read_outputs(struct reader *r, const json_t *list)
{
    size_t n = json_array_size(list);
    r->p->output_names = ARENA_ARRAY(&r->p->arena, const char *, n + 1); /* NULL ends the list */
    for (size_t i = 0; i < n; i++)
        if (!(r->p->output_names[i] = text_of(r, json_array_get(list, i))))
            return bad(r, "outputs", (int)i);
    return true;
}

bool def_json_read(struct program *p, struct bytes text, struct placement **at, struct diag *d)
{
    struct reader r = {p, d, "sg00/def.json"};
    json_t *root;
    if (!load(&r, text, &root))
        return false;
    p->name = text_of(&r, json_object_get(root, "name"));
    p->target = text_of(&r, json_object_get(root, "target"));
    bool ok = read_symbols(&r, json_object_get(root, "symbols")) &&
              read_dims(&r, json_object_get(root, "dims")) &&
              read_vars(&r, json_object_get(root, "var"), at) &&
              read_outputs(&r, json_object_get(root, "outputs"));
    json_decref(root);
    return ok;
}

bool debug_json_read(struct program *p, struct bytes text, struct diag *d)
{
    struct reader r = {p, d, "sg00/debug.json"};
    json_t *root;
    if (!load(&r, text, &root))
        return false;
    const json_t *nodes = json_object_get(root, "nodes");
    bool ok = true;
    for (size_t i = 0; ok && i < json_array_size(nodes); i++) {
        const json_t *n = json_array_get(nodes, i);
        const char *name = json_string_value(json_array_get(n, 0));
        const char *source = json_string_value(json_array_get(n, 1));
        ok = name && source ? true : bad(&r, "nodes", (int)i);
        if (ok)
            program_add_node(p, name, source);
    }
    json_decref(root);
    return ok;
}
