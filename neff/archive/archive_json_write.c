#include "neff/archive/archive_json.h"

#include "neff/base/json_writer.h"

#include <stdio.h>

static struct bytes written(const struct json_writer *w)
{
    return (struct bytes){(const uint8_t *)w->text, w->size};
}

static void write_dim(struct json_writer *w, dim_t d)
{
    char text[16];
    if (dim_is_const(d)) {
        json_integer(w, d);
        return;
    }
    snprintf(text, sizeof text, "$%d", dim_index(d));
    json_text(w, text);
}

static void put_dim(struct json_writer *w, const char *name, dim_t d)
{
    json_name(w, name);
    write_dim(w, d);
}

static void write_dims(struct json_writer *w, const struct dim_table *t)
{
    json_begin(w, '[');
    for (int i = 0; i < t->nnodes; i++) {
        const struct dim_node *n = &t->nodes[i];
        json_begin(w, '[');
        json_text(w, dim_op_names[n->op]);
        if (n->op == DIM_SYM) {
            json_integer(w, n->a);
        } else {
            write_dim(w, n->a);
            write_dim(w, n->b);
        }
        json_end(w, ']');
    }
    json_end(w, ']');
}

static void write_symbols(struct json_writer *w, const struct dim_table *t)
{
    json_begin(w, '[');
    for (int i = 0; i < t->nsymbols; i++) {
        json_begin(w, '{');
        json_put_text(w, "name", t->symbols[i].name);
        if (t->symbols[i].runtime)
            json_put_bool(w, "runtime", true);
        if (t->symbols[i].separable)
            json_put_bool(w, "separable", true);
        if (t->symbols[i].max)
            json_put_integer(w, "most", t->symbols[i].max);
        if (t->symbols[i].size)
            json_put_integer(w, "size", t->symbols[i].size);
        json_end(w, '}');
    }
    json_end(w, ']');
}

static void write_var(struct json_writer *w, const struct program *p, int i,
                      const struct placement *at)
{
    const struct slot *s = &p->slots[i];
    json_begin(w, '{');
    json_put_text(w, "type", slot_json_names[s->kind]);
    json_put_integer(w, "var_id", i);
    if (s->name)
        json_put_text(w, "name", s->name);
    json_put_text(w, "value", type_text(&p->dims, w->a, &s->type));
    if (s->is_output)
        json_put_bool(w, "output", true);
    if (s->donated)
        json_put_bool(w, "donated", true);
    if (s->has_range) {
        json_name(w, "range");
        json_begin(w, '[');
        json_integer(w, s->low);
        write_dim(w, s->high);
        json_end(w, ']');
    }
    if (s->kind == SLOT_VIEW) {
        json_put_integer(w, "backing_variable", s->base);
        put_dim(w, "backing_variable_off", s->offset);
    }
    if (s->kind == SLOT_CONST) {
        json_put_text(w, "file_name", "weights.bin");
        json_put_integer(w, "file_offset", (int64_t)at[i].offset);
        json_put_integer(w, "size", (int64_t)at[i].size);
    } else if (type_is_static(&s->type)) {
        struct dim_table *dims = (struct dim_table *)&p->dims; /* of constants, which leave it as it is */
        json_put_integer(w, "size", dim_mul(dims, type_count(dims, &s->type), (dim_t)dtype_bytes(s->type.dtype)));
    }
    json_end(w, '}');
}

static void write_guards(struct json_writer *w, const struct program *p)
{
    json_begin(w, '[');
    for (int i = 0; i < p->nguards; i++) {
        const struct guard *g = &p->guards[i];
        json_begin(w, '{');
        json_put_text(w, "must", guard_kind_names[g->kind]);
        put_dim(w, "a", g->a);
        put_dim(w, "b", g->b);
        if (g->region)
            json_put_integer(w, "region", g->region);
        json_put_text(w, "node", g->node);
        if (*g->what)
            json_put_text(w, "what", g->what);
        if (g->dimension >= 0)
            json_put_integer(w, "dimension", g->dimension);
        json_end(w, '}');
    }
    json_end(w, ']');
}

static void write_states(struct json_writer *w, const struct program *p)
{
    json_begin(w, '[');
    for (int i = 0; i < p->nstates; i++) {
        const struct program_state *s = &p->states[i];
        json_begin(w, '{');
        json_put_integer(w, "input", s->input);
        json_put_integer(w, "output", s->output);
        json_put_integer(w, "axis", s->axis);
        put_dim(w, "input_pitch", s->pitch[0]);
        put_dim(w, "output_pitch", s->pitch[1]);
        json_end(w, '}');
    }
    json_end(w, ']');
}

/* Where an object lies in the archive. */
const char *library_member(struct arena *a, int i)
{
    return arena_printf(a, "sg00/custom%d.so", i);
}

static void write_libraries(struct json_writer *w, const struct program *p)
{
    json_begin(w, '[');
    for (int i = 0; i < p->nlibraries; i++) {
        const struct program_library *l = &p->libraries[i];
        json_begin(w, '{');
        json_put_text(w, "name", l->name);
        json_put_text(w, "sha256", l->hash);
        json_put_text(w, "architecture", l->architecture);
        json_put_integer(w, "abi", l->abi);
        if (l->data)
            json_put_text(w, "file_name", library_member(w->a, i));
        json_end(w, '}');
    }
    json_end(w, ']');
}

static void write_queue(struct json_writer *w)
{
    json_begin(w, '{');
    json_name(w, "qSyncIO0");
    json_begin(w, '{');
    json_put_text(w, "type", "data");
    json_put_integer(w, "num_queues", 1);
    json_put_text(w, "owner", "sp");
    json_end(w, '}');
    json_end(w, '}');
}

struct bytes def_json_write(const struct program *p, const struct placement *at, struct arena *a)
{
    struct json_writer w = json_writer(a);
    json_begin(&w, '{');
    json_put_text(&w, "name", p->name);
    json_put_text(&w, "target", p->target);
    json_name(&w, "dma_queue");
    write_queue(&w);
    json_name(&w, "symbols");
    write_symbols(&w, &p->dims);
    json_name(&w, "dims");
    write_dims(&w, &p->dims);
    if (p->nguards) {
        json_name(&w, "guards");
        write_guards(&w, p);
    }
    if (p->nstates) {
        json_name(&w, "states");
        write_states(&w, p);
    }
    if (p->nlibraries) {
        json_name(&w, "custom_libraries");
        write_libraries(&w, p);
    }
    json_name(&w, "var");
    json_begin(&w, '{');
    for (int i = 0; i < p->nslots; i++) {
        char key[16];
        snprintf(key, sizeof key, "v%d", i);
        json_name(&w, key);
        write_var(&w, p, i, at);
    }
    json_end(&w, '}');
    json_name(&w, "outputs");
    json_begin(&w, '[');
    for (int i = 0; i < p->regions[0].nresults; i++)
        json_text(&w, p->output_names[i]);
    json_end(&w, ']');
    json_end(&w, '}');
    return written(&w);
}

struct bytes debug_json_write(const struct program *p, struct arena *a)
{
    struct json_writer w = json_writer(a);
    json_begin(&w, '{');
    json_name(&w, "nodes");
    json_begin(&w, '[');
    for (int i = 0; i < p->nnodes; i++) {
        json_begin(&w, '[');
        json_text(&w, p->nodes[i].name);
        json_text(&w, p->nodes[i].source);
        json_end(&w, ']');
    }
    json_end(&w, ']');
    json_end(&w, '}');
    return written(&w);
}

struct bytes neff_json_write(const struct program *p, struct arena *a)
{
    struct json_writer w = json_writer(a);
    json_begin(&w, '{');
    json_put_text(&w, "format", "xcc NEFF-style archive");
    json_name(&w, "graphs");
    json_begin(&w, '[');
    json_begin(&w, '{');
    json_put_text(&w, "name", "sg00");
    json_put_text(&w, "definition", "sg00/def.json");
    json_put_text(&w, "target", p->target);
    json_end(&w, '}');
    json_end(&w, ']');
    json_end(&w, '}');
    return written(&w);
}
