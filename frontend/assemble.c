#include "frontend/assemble.h"

#include "backend/schedule/check_sync.h"
#include "backend/schedule/schedule.h"
#include "backend/tile/rules.h"
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

/* NAME.npz beside NAME.xasm. */
static bool read_constants(struct program *p, const char *path, struct diag *d)
{
    int missing = 0;
    for (int i = 0; i < p->nslots; i++)
        missing += lacks_data(&p->slots[i]);
    if (!missing)
        return true;
    char *file = arena_strdup(&p->arena, path);
    memcpy(file + strlen(file) - 5, ".npz", 5);
    struct npz *z = calloc(1, sizeof *z);
    if (!z)
        return fail(d, "out of memory");
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

/* ---- order ---- */

/* A text for `cpu` may be made for a chip; others say what they are for. */
static const struct machine *choose_target(struct program *p, const struct command *c,
                                           struct diag *d)
{
    const char *target = p->target ? p->target : "cpu";
    if (strcmp(c->target, "cpu") && strcmp(c->target, target)) {
        if (strcmp(target, "cpu")) {
            fail(d, "the program is for %s, --target says %s", target, c->target);
            return NULL;
        }
        p->target = target = c->target;
    }
    const struct machine *m = machine_find(target);
    if (!m)
        fail(d, "unknown target '%s'", target);
    return m;
}

/* What is known of instructions' operands before anything runs. */
static bool check_instructions(const struct program *p, const struct kernel *k,
                               const struct machine *m, struct diag *d)
{
    int64_t trips[MAX_VARS];
    struct tile_context c = {p, k, m, trips};
    for (int g = 0; g < k->ngrid; g++)
        trips[g] = dim_is_const(k->grid[g]) ? k->grid[g] : -1;
    for (int i = 0; i < k->ninsns; i++) {
        const struct insn *n = &k->insns[i];
        const struct affine *count = &n->imm[IMM(loop, count)];
        if (n->op == INSN_loop)
            trips[n->imm[IMM(loop, var)].base] =
                !count->nterms && dim_is_const(count->base) ? count->base : -1;
        else if (n->op != INSN_end && !tile_check(&c, n, d))
            return fail_in(d, "instruction %d (%s.%s)", i, engine_names[n->engine],
                           insn_info(n->op)->name);
    }
    return true;
}

static bool order(struct program *p, const struct machine *m, struct diag *d)
{
    for (int i = 0; i < p->nkernels; i++) {
        struct kernel *k = &p->kernels[i];
        for (int t = 0; t < k->ntiles; t++)
            k->tiles[t].fixed = m->strict && k->tiles[t].address >= 0;
        if (!check_instructions(p, k, m, d) ||
            !(k->nsemaphores ? place_kernel(p, k, m, d) : schedule_kernel(p, k, m, d)))
            return fail_in(d, "kernel %d '%s'", i, k->name ? k->name : "");
    }
    if (!p->info)
        p->info = "{}";
    return check_program_sync(p, 1, d) && check_program_sync(p, 5, d);
}

struct program *assemble(const char *path, const struct command *c, struct diag *d)
{
    struct program *p = read_text(path, d);
    const struct machine *m = p ? choose_target(p, c, d) : NULL;
    bool ok = m && read_constants(p, path, d) && order(p, m, d) && program_check(p, d);
    if (!ok) {
        program_free(p);
        return NULL;
    }
    return p;
}
