/* xdump --json: all that the other views show, for programs. */
#include "neff/tools/xdump.h"

#include "neff/base/json_writer.h"
#include "neff/isa/asm.h"

#include <stdio.h>
#include <string.h>

static void put_io(struct json_writer *w, struct dump *u, const char *name, bool outputs)
{
    const struct program_region *r = &u->p->regions[0];
    json_name(w, name);
    json_begin(w, '[');
    for (int i = 0; i < (outputs ? r->nresults : r->nparams); i++) {
        int s = outputs ? r->results[i] : r->params[i];
        json_begin(w, '{');
        json_put_text(w, "name", outputs ? u->p->output_names[i] : u->p->slots[s].name);
        json_put_text(w, "type", type_text(&u->p->dims, &u->scratch, &u->p->slots[s].type));
        json_put_integer(w, "slot", s);
        json_end(w, '}');
    }
    json_end(w, ']');
}

/* A number under these bindings; null when they do not determine it. */
static void put_known(struct json_writer *w, const int64_t *values, dim_t d)
{
    int64_t v = dim_value(values, d);
    if (v == DIM_NOT_BOUND)
        json_null(w);
    else
        json_integer(w, v);
}

static void put_name(struct json_writer *w, const char *key, const char *name)
{
    json_name(w, key);
    if (name)
        json_text(w, name);
    else
        json_null(w);
}

static void put_slot(struct json_writer *w, struct dump *u, int i)
{
    const struct slot *s = &u->p->slots[i];
    json_begin(w, '{');
    json_put_text(w, "kind", slot_kind_names[s->kind]);
    put_name(w, "name", s->name);
    json_put_text(w, "type", type_text(&u->p->dims, &u->scratch, &s->type));
    if (s->is_output)
        json_put_bool(w, "output", true);
    if (u->sizes[i] >= 0)
        json_put_integer(w, "bytes", u->sizes[i]);
    if (u->plan.offsets[i] >= 0)
        json_put_integer(w, "offset", u->plan.offsets[i]);
    if (u->life[i].last >= 0) {
        json_name(w, "live");
        json_begin(w, '[');
        json_integer(w, u->life[i].first);
        json_integer(w, u->life[i].last);
        json_end(w, ']');
    }
    if (s->kind == SLOT_VIEW)
        json_put_integer(w, "base", s->base);
    json_end(w, '}');
}

/* How many of each instruction, in order of their first. */
static void put_instructions(struct json_writer *w, const struct kernel *k)
{
    int count[INSN_COUNT] = {0};
    for (int j = 0; j < k->ninsns; j++)
        count[k->insns[j].op]++;
    json_name(w, "instructions");
    json_begin(w, '{');
    for (int j = 0; j < k->ninsns; j++) {
        int *n = &count[k->insns[j].op];
        if (*n)
            json_put_integer(w, insn_info(k->insns[j].op)->name, *n);
        *n = 0;
    }
    json_end(w, '}');
}

static void put_kernel(struct json_writer *w, const struct dump *u, const struct kernel *k)
{
    json_begin(w, '{');
    put_name(w, "name", k->name);
    json_name(w, "grid");
    json_begin(w, '[');
    for (int g = 0; g < k->ngrid; g++)
        put_known(w, u->values, k->grid[g]);
    json_end(w, ']');
    put_instructions(w, k);
    json_put_integer(w, "tiles", k->ntiles);
    json_put_integer(w, "semaphores", k->nsemaphores);
    json_name(w, "flops");
    put_known(w, u->values, k->flops);
    json_name(w, "bytes");
    put_known(w, u->values, k->bytes);
    json_end(w, '}');
}

static void put_call(struct json_writer *w, const struct dump *u, const struct call *c)
{
    json_begin(w, '{');
    json_put_text(w, "op", op_name(c->op));
    put_name(w, "node", c->node < 0 ? NULL : u->p->nodes[c->node].name);
    json_put_real(w, "flops", call_flops(u->p, c, u->values));
    json_end(w, '}');
}

static void put_bytes(struct json_writer *w, const char *name, const uint8_t *bytes, int n)
{
    char text[2 * 32 + 1] = "";
    for (int i = 0; i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    json_put_text(w, name, text);
}

static void put_header(struct json_writer *w, const struct neff_header *h)
{
    char build[sizeof h->build + 1] = "";
    memcpy(build, h->build, sizeof h->build);
    json_name(w, "header");
    json_begin(w, '{');
    json_put_integer(w, "pkg_version", (int64_t)h->pkg_version);
    json_put_integer(w, "data_size", (int64_t)h->data_size);
    json_put_integer(w, "version_major", (int64_t)h->version_major);
    json_put_integer(w, "version_minor", (int64_t)h->version_minor);
    put_bytes(w, "hash", h->hash, sizeof h->hash);
    put_bytes(w, "uuid", h->uuid, sizeof h->uuid);
    json_put_text(w, "build", build);
    json_end(w, '}');
}

static void put_program(struct json_writer *w, struct dump *u)
{
    json_name(w, "slots");
    json_begin(w, '[');
    for (int i = 0; i < u->p->nslots; i++)
        put_slot(w, u, i);
    json_end(w, ']');
    json_name(w, "kernels");
    json_begin(w, '[');
    for (int i = 0; i < u->p->nkernels; i++)
        put_kernel(w, u, &u->p->kernels[i]);
    json_end(w, ']');
    json_name(w, "calls");
    json_begin(w, '[');
    for (int i = 0; i < u->p->ncalls; i++)
        put_call(w, u, &u->p->calls[i]);
    json_end(w, ']');
    json_name(w, "libraries");
    json_begin(w, '[');
    for (int i = 0; i < u->p->nlibraries; i++) {
        json_begin(w, '{');
        json_put_text(w, "name", u->p->libraries[i].name);
        json_put_text(w, "architecture", u->p->libraries[i].architecture);
        json_put_text(w, "sha256", u->p->libraries[i].hash);
        json_put_integer(w, "size", (int64_t)u->p->libraries[i].size);
        json_end(w, '}');
    }
    json_end(w, ']');
}

bool dump_json(struct dump *u, struct diag *d)
{
    struct dump_totals t = dump_count(u);
    const char *text = u->p->info ? u->p->info : "{}";
    struct json_reader info = json_reader(text, strlen(text));
    struct json_writer w = json_writer(&u->scratch);
    json_begin(&w, '{');
    json_put_text(&w, "name", u->p->name);
    json_put_text(&w, "target", u->p->target);
    put_header(&w, &u->file->header);
    json_name(&w, "info");
    json_copy(&w, &info);
    put_io(&w, u, "inputs", false);
    put_io(&w, u, "outputs", true);
    json_put_integer(&w, "weights_bytes", t.weights);
    json_put_real(&w, "kernel_flops", t.kernel_flops);
    json_put_real(&w, "call_flops", t.call_flops);
    json_put_real(&w, "call_bytes", t.call_bytes);
    json_put_integer(&w, "arena_bytes", u->plan.size);
    json_put_integer(&w, "arena_lower_bound", u->plan.lower_bound);
    put_program(&w, u);
    json_end(&w, '}');
    fwrite(w.text, 1, w.size, stdout); /* whether all is written: out_printed */
    putchar('\n');
    return true;
}
