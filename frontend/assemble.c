#include "frontend/assemble.h"

#include "backend/schedule/prepare.h"
#include "neff/base/file.h"
#include "neff/isa/asm.h"
#include "runtime/io/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool is_assembly(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && !strcmp(path + n - 5, ".xasm");
}

static struct program *read_text(const char *path, struct diag *d)
{
    struct mapped_file f;
    if (!file_map(&f, path, d))
        return NULL;
    struct program *p = program_parse((const char *)f.data, f.size, path, d);
    file_unmap(&f);
    return p;
}

/* ---- constants ---- */

static bool lacks_data(const struct slot *s)
{
    return s->kind == SLOT_CONST && !s->data.data && tensor_count(&s->data) > 0;
}

static void release_constants(void *npz)
{
    npz_free(npz);
    free(npz);
}

/* Arrays are called by the constant's name, or as xdump --extract calls its files: by number ("3"
 * is %3), or by both ("3_w"). */
static bool is_called(const char *array, const struct slot *s, int slot)
{
    char text[512];
    const char *name = s->name ? s->name : "";
    snprintf(text, sizeof text, "%d%s%s", slot, *name ? "_" : "", name);
    return (*name && !strcmp(array, name)) || !strcmp(array, text);
}

static bool take_constant(struct npz *z, struct slot *s, int slot, const char *file, struct diag *d)
{
    char want[256], have[256];
    struct tensor *t = NULL;
    for (int i = 0; i < z->count; i++)
        if (is_called(z->entries[i].name, s, slot))
            t = &z->entries[i].t;
    tensor_type_text(&s->data, want, sizeof want);
    if (!t)
        return fail(d, "%s: no array for constant %%%d '%s', %s", file, slot,
                    s->name ? s->name : "", want);
    if (t->dtype != s->data.dtype && !npy_as(t, s->data.dtype, d))
        return fail_in(d, "%s: constant %%%d", file, slot);
    bool same = t->rank == s->data.rank;
    for (int i = 0; same && i < t->rank; i++)
        same = t->dims[i] == s->data.dims[i];
    if (!same)
        return fail(d, "%s: constant %%%d is %s, expected %s", file, slot,
                    tensor_type_text(t, have, sizeof have), want);
    s->data = tensor_view(t->dtype, t->rank, t->dims, t->data);
    return true;
}

bool assemble_constants(struct program *p, const char *path, struct diag *d)
{
    int missing = 0;
    for (int i = 0; i < p->nslots; i++)
        missing += lacks_data(&p->slots[i]);
    if (!missing)
        return true;
    if (!is_assembly(path))
        return fail(d, "the text leaves out the data of %d constants", missing);
    char *file = arena_strdup(&p->arena, path);
    memcpy(file + strlen(file) - 5, ".npz", 5);
    struct npz *z = calloc(1, sizeof *z);
    if (!z)
        return fail_memory(d, "out of memory");
    if (!npz_read(file, z, d)) {
        free(z);
        return fail_in(d, "the data of %d constants", missing);
    }
    p->release = release_constants;
    p->release_arg = z;
    for (int i = 0; i < p->nslots; i++)
        if (lacks_data(&p->slots[i]) && !take_constant(z, &p->slots[i], i, file, d))
            return false;
    return true;
}

/* What --target says, or the text. */
static const struct machine *choose_target(const struct program *p, const struct command *c,
                                           struct diag *d)
{
    const char *target = strcmp(c->target, "cpu") || !p->target ? c->target : p->target;
    const struct machine *m = machine_find(target);
    if (!m)
        fail(d, "unknown target '%s'", target);
    return m;
}

struct program *assemble(const char *path, const struct command *c, struct diag *d)
{
    struct program *p = read_text(path, d);
    const struct machine *m = p ? choose_target(p, c, d) : NULL;
    bool ok = m && assemble_constants(p, path, d) && prepare_program(p, m, false, d);
    if (!ok) {
        program_free(p);
        return NULL;
    }
    if (!p->info)
        p->info = "{}";
    return p;
}
