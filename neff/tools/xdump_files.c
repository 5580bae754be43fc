/*
 * xdump's forms for programs: JSON, and members and constants as files.
 */
#include "neff/tools/xdump.h"

#include "neff/isa/asm.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static json_t *text_json(const char *s)
{
    json_t *j = s ? json_string(s) : json_null();
    return j ? j : json_string("(not UTF-8)");
}

static json_t *io_json(struct dump *u, bool outputs)
{
    const struct program_region *r = &u->p->regions[0];
    json_t *list = json_array();
    for (int i = 0; i < (outputs ? r->nresults : r->nparams); i++) {
        int s = outputs ? r->results[i] : r->params[i];
        json_t *o = json_object();
        json_object_set_new(o, "name",
                            text_json(outputs ? u->p->output_names[i] : u->p->slots[s].name));
        json_object_set_new(o, "type",
                            text_json(type_text(&u->p->dims, &u->scratch, &u->p->slots[s].type)));
        json_object_set_new(o, "slot", json_integer(s));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *known_json(const int64_t *values, dim_t d)
{
    int64_t v = dim_value(values, d);
    return v == DIM_NOT_BOUND ? json_null() : json_integer(v);
}

static json_t *slots_json(struct dump *u)
{
    json_t *list = json_array();
    for (int i = 0; i < u->p->nslots; i++) {
        const struct slot *s = &u->p->slots[i];
        json_t *o = json_object();
        json_object_set_new(o, "kind", json_string(slot_kind_names[s->kind]));
        json_object_set_new(o, "name", text_json(s->name));
        json_object_set_new(o, "type", text_json(type_text(&u->p->dims, &u->scratch, &s->type)));
        if (s->is_output)
            json_object_set_new(o, "output", json_true());
        if (u->sizes[i] >= 0)
            json_object_set_new(o, "bytes", json_integer(u->sizes[i]));
        if (u->plan.offsets[i] >= 0)
            json_object_set_new(o, "offset", json_integer(u->plan.offsets[i]));
        if (u->life[i].last >= 0)
            json_object_set_new(o, "live", json_pack("[i,i]", u->life[i].first, u->life[i].last));
        if (s->kind == SLOT_VIEW)
            json_object_set_new(o, "base", json_integer(s->base));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *kernels_json(struct dump *u)
{
    json_t *list = json_array();
    for (int i = 0; i < u->p->nkernels; i++) {
        const struct kernel *k = &u->p->kernels[i];
        json_t *o = json_object(), *grid = json_array(), *ops = json_object();
        for (int g = 0; g < k->ngrid; g++)
            json_array_append_new(grid, known_json(u->values, k->grid[g]));
        for (int j = 0; j < k->ninsns; j++) {
            const char *name = insn_info(k->insns[j].op)->name;
            json_int_t n = json_integer_value(json_object_get(ops, name));
            json_object_set_new(ops, name, json_integer(n + 1));
        }
        json_object_set_new(o, "name", text_json(k->name));
        json_object_set_new(o, "grid", grid);
        json_object_set_new(o, "instructions", ops);
        json_object_set_new(o, "tiles", json_integer(k->ntiles));
        json_object_set_new(o, "semaphores", json_integer(k->nsemaphores));
        json_object_set_new(o, "flops", known_json(u->values, k->flops));
        json_object_set_new(o, "bytes", known_json(u->values, k->bytes));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *calls_json(struct dump *u)
{
    json_t *list = json_array();
    for (int i = 0; i < u->p->ncalls; i++) {
        const struct call *c = &u->p->calls[i];
        json_t *o = json_object();
        json_object_set_new(o, "op", json_string(op_name(c->op)));
        json_object_set_new(o, "node",
                            c->node < 0 ? json_null() : text_json(u->p->nodes[c->node].name));
        json_object_set_new(o, "flops", json_real(call_flops(u->p, c, u->values)));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *header_json(const struct neff_header *h)
{
    char hash[65], uuid[33];
    for (int i = 0; i < 32; i++)
        snprintf(hash + 2 * i, 3, "%02x", h->hash[i]);
    for (int i = 0; i < 16; i++)
        snprintf(uuid + 2 * i, 3, "%02x", h->uuid[i]);
    json_t *o = json_pack("{s:I,s:I,s:I,s:I,s:s,s:s}", "pkg_version", (json_int_t)h->pkg_version,
                          "data_size", (json_int_t)h->data_size, "version_major",
                          (json_int_t)h->version_major, "version_minor",
                          (json_int_t)h->version_minor, "hash", hash, "uuid", uuid);
    char build[sizeof h->build + 1] = "";
    memcpy(build, h->build, sizeof h->build);
    json_object_set_new(o, "build", text_json(build));
    return o;
}

bool dump_json(struct dump *u, struct diag *d)
{
    struct dump_totals t = dump_count(u);
    json_t *root = json_object();
    json_t *info = json_loads(u->p->info ? u->p->info : "{}", 0, NULL);
    json_object_set_new(root, "name", text_json(u->p->name));
    json_object_set_new(root, "target", text_json(u->p->target));
    json_object_set_new(root, "header", header_json(&u->file->header));
    json_object_set_new(root, "info", info ? info : json_null());
    json_object_set_new(root, "inputs", io_json(u, false));
    json_object_set_new(root, "outputs", io_json(u, true));
    json_object_set_new(root, "weights_bytes", json_integer(t.weights));
    json_object_set_new(root, "kernel_flops", json_real(t.kernel_flops));
    json_object_set_new(root, "call_flops", json_real(t.call_flops));
    json_object_set_new(root, "call_bytes", json_real(t.call_bytes));
    json_object_set_new(root, "arena_bytes", json_integer(u->plan.size));
    json_object_set_new(root, "arena_lower_bound", json_integer(u->plan.lower_bound));
    json_object_set_new(root, "slots", slots_json(u));
    json_object_set_new(root, "kernels", kernels_json(u));
    json_object_set_new(root, "calls", calls_json(u));
    int rc = json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    putchar('\n');
    json_decref(root);
    return rc == 0 || fail(d, "cannot write JSON");
}

/* ---- extraction ---- */

static bool make_folder(const char *path, struct diag *d)
{
    return !mkdir(path, 0777) || errno == EEXIST ||
           fail(d, "%s: cannot make the folder: %s", path, strerror(errno));
}

/* Members come from a file: only plain relative names are written. */
static bool safe_name(const char *name)
{
    if (!*name || *name == '/')
        return false;
    for (const char *s = name; s; s = strchr(s, '/')) {
        s += *s == '/';
        if (!*s || *s == '/' || !strncmp(s, "../", 3) || !strcmp(s, "..") || !strncmp(s, "./", 2) ||
            !strcmp(s, "."))
            return false;
    }
    return true;
}

static bool write_member(struct dump *u, const char *folder, const struct neff_member *m,
                         struct diag *d)
{
    if (!safe_name(m->name))
        return fail(d, "member '%s': its name leaves the folder", m->name);
    char *path = arena_printf(&u->scratch, "%s/%s", folder, m->name);
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (!make_folder(path, d))
            return false;
        *slash = '/';
    }
    return file_write_all(path, m->data, m->size, d);
}

/* NumPy's format 1.0; types it lacks as bit patterns. */
static bool write_npy(struct dump *u, const char *path, const struct tensor *t, struct diag *d)
{
    const char *shape = "";
    for (int i = 0; i < t->rank; i++)
        shape = arena_printf(&u->scratch, "%s%lld,%s", shape, (long long)t->dims[i],
                             i + 1 < t->rank ? " " : "");
    const char *dict =
        arena_printf(&u->scratch, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                     dtype_info(t->dtype)->npy, shape);
    size_t length = (10 + strlen(dict) + 1 + 63) / 64 * 64 - 10;
    if (length > UINT16_MAX)
        return fail(d, "%s: header too long", path);
    const uint8_t head[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)length, (uint8_t)(length >> 8)};
    struct out_file o;
    if (!out_open(&o, path, d))
        return false;
    fwrite(head, 1, sizeof head, o.f);
    fprintf(o.f, "%-*s\n", (int)length - 1, dict);
    if (tensor_bytes(t))
        fwrite(t->data, 1, tensor_bytes(t), o.f);
    return out_commit(&o, d);
}

static bool write_constants(struct dump *u, const char *folder, struct diag *d)
{
    const char *constants = arena_printf(&u->scratch, "%s/constants", folder);
    if (!make_folder(constants, d))
        return false;
    for (int i = 0; i < u->p->nslots; i++) {
        const struct slot *s = &u->p->slots[i];
        if (s->kind != SLOT_CONST || s->data.dtype == DT_STR)
            continue;
        char *name = arena_printf(&u->scratch, "%d%s%.100s", i, s->name && *s->name ? "_" : "",
                                  s->name ? s->name : "");
        for (char *c = name; *c; c++)
            if (*c == '/' || *c == ':' || *c == '\\' || (unsigned char)*c < 0x20)
                *c = '_';
        if (!write_npy(u, arena_printf(&u->scratch, "%s/%s.npy", constants, name), &s->data, d))
            return false;
    }
    return true;
}

bool dump_extract(struct dump *u, const char *folder, struct diag *d)
{
    if (!make_folder(folder, d))
        return false;
    for (int i = 0; i < u->file->nmembers; i++)
        if (!write_member(u, folder, &u->file->members[i], d))
            return false;
    return write_constants(u, folder, d);
}
