/*
 * Kernels of xcc.h: from instructions to an archive.
 */
#include "frontend/kernel_api.h"

#include "backend/lower/stage.h"
#include "backend/schedule/check_sync.h"
#include "backend/schedule/schedule.h"
#include "neff/archive/archive.h"
#include "neff/isa/asm.h"
#include "runtime/exec/exec.h"

#include <stdlib.h>
#include <string.h>

/* ---- inputs that are written ---- */

/* A kernel of one instruction that copies a whole tensor. */
static void add_copy(struct xcc_kernel *k, int from, int to)
{
    struct program *p = k->p;
    ARENA_GROW(&p->arena, p->kernels, p->nkernels, p->kernels_cap);
    struct kernel *copy = &p->kernels[p->nkernels++];
    *copy = (struct kernel){.name = p->slots[from].name};
    struct insn *n = kernel_add(p, copy, INSN_dma_copy);
    const struct type *t = &p->slots[from].type;
    dim_t count = 1;
    for (int i = 0; i < t->rank; i++)
        count *= t->dims[i];
    for (int a = 0; a < 2; a++)
        n->ap[a] = (struct ap){.mem = MEM_HBM,
                               .dtype = t->dtype,
                               .rank = 1,
                               .tensor = a ? from : to,
                               .dim = {{.step = 1, .count = count}}};
}

static void move_operands(struct kernel *kernel, int from, int to)
{
    for (int i = 0; i < kernel->ninsns; i++)
        for (int a = 0; a < insn_info(kernel->insns[i].op)->naps; a++) {
            struct ap *ap = &kernel->insns[i].ap[a];
            if (ap->mem == MEM_HBM && ap->tensor == from)
                ap->tensor = to;
        }
}

/* The kernel works on a copy. */
static void copy_inputs(struct xcc_kernel *k)
{
    for (int i = 0; i < k->now.nobjects; i++) {
        struct object *o = &k->objects[i];
        if ((o->kind != OBJECT_INPUT && o->kind != OBJECT_CONSTANT) || !o->written)
            continue;
        struct slot s = {.kind = SLOT_PLANNED, .base = -1, .type = k->p->slots[o->index].type};
        int copy = program_add_slot(k->p, s);
        move_operands(kernel_of_api(k), o->index, copy);
        add_copy(k, o->index, copy);
        o->index = copy;
    }
}

/* ---- the program ---- */

static bool set_results(struct xcc_kernel *k, struct program_region *r, struct diag *d)
{
    struct program *p = k->p;
    r->nresults = k->now.nresults;
    r->results = ARENA_ARRAY(&p->arena, int32_t, r->nresults + 1);
    p->output_names = ARENA_ARRAY(&p->arena, const char *, r->nresults + 1);
    for (int i = 0; i < r->nresults; i++) {
        const struct object *o = &k->objects[k->results[i].object];
        if (!o->written)
            return fail(d, "output '%s' is never written", k->results[i].name);
        r->results[i] = o->index;
        p->slots[o->index].is_output = true;
        if (!p->slots[o->index].name)
            p->slots[o->index].name = k->results[i].name;
        p->output_names[i] = k->results[i].name;
    }
    return r->nresults > 0 || fail(d, "the kernel has no output");
}

static void set_steps(struct program *p, struct program_region *r)
{
    r->steps = ARENA_ARRAY(&p->arena, struct step, p->nkernels);
    for (int i = p->nkernels - 1; i >= 0; i--) /* copies first */
        r->steps[r->nsteps++] = (struct step){.kind = STEP_LAUNCH, .index = i};
}

/* The program's regions, inputs and outputs. */
static bool close_kernel(struct xcc_kernel *k, struct diag *d)
{
    struct program *p = k->p;
    if (k->finished)
        return true;
    if (k->now.depth)
        return fail(d, "%d loops are still open", k->now.depth);
    kernel_of_api(k)->ninsns = k->now.ninsns;
    copy_inputs(k);
    ARENA_GROW(&p->arena, p->regions, p->nregions, p->regions_cap);
    struct program_region *r = &p->regions[p->nregions++];
    *r = (struct program_region){.params = ARENA_ARRAY(&p->arena, int32_t, p->nslots + 1)};
    for (int i = 0; i < p->nslots; i++)
        if (p->slots[i].kind == SLOT_INPUT)
            r->params[r->nparams++] = i;
    if (!set_results(k, r, d))
        return false;
    set_steps(p, r);
    k->finished = true;
    return program_check(p, d);
}

/* Transposing transfers go through PSUM where it has room for them beside the kernel's own tiles. */
static bool schedule(struct xcc_kernel *k, struct kernel *x, struct diag *d)
{
    struct kernel before = *x;
    struct diag turned = {0};
    size_t tiles = sizeof *x->tiles * (size_t)x->ntiles;
    struct tile *own = arena_copy(&k->p->arena, x->tiles, tiles);
    bool may = k->machine->strict && x->nsemaphores == 0;
    struct insn *insns = may ? arena_copy(&k->p->arena, x->insns, sizeof *insns * (size_t)x->ninsns) : NULL;
    if (may && stage_turned_transfers(k->p, x, k->machine)) {
        if (schedule_traced(k->p, x, k->machine, &turned))
            return true;
        *x = before;
        memcpy(x->tiles, own, tiles);
        memcpy(x->insns, insns, sizeof *insns * (size_t)x->ninsns);
    }
    return schedule_traced(k->p, x, k->machine, d);
}

bool kernel_complete(struct xcc_kernel *k, struct diag *d)
{
    if (k->scheduled)
        return true;
    if (!close_kernel(k, d))
        return false;
    k->scheduled = true;
    for (int i = 0; i < k->p->nkernels; i++)
        if (!schedule(k, &k->p->kernels[i], d))
            return fail_in(d, "kernel %d '%s'", i, k->p->kernels[i].name);
    return program_check(k->p, d) && check_program_grids(k->p, 1, d);
}

static bool complete(struct xcc_kernel *k)
{
    struct diag d = {0};
    if (diag_failed(&k->d))
        return api_fail(&k->d);
    k->at = NULL;
    return kernel_complete(k, &d) || kernel_fail(k, &d);
}

bool xcc_kernel_finish(struct xcc_kernel *k, struct xcc_bytes *out)
{
    struct diag d = {0};
    *out = (struct xcc_bytes){0};
    return complete(k) &&
           (neff_write_memory(k->p, &out->data, &out->size, &d) || kernel_fail(k, &d));
}

bool xcc_kernel_write(struct xcc_kernel *k, const char *path)
{
    struct diag d = {0};
    return complete(k) && (neff_write(k->p, path, &d) || kernel_fail(k, &d));
}

static const char *keep_text(struct xcc_kernel *k, const char *text)
{
    free(k->text);
    k->text = strdup(text);
    return k->text;
}

static int object_of(const struct xcc_kernel *k, const struct hazard_unwritten *u)
{
    for (int i = 0; i < k->now.nobjects; i++)
        if ((k->objects[i].kind == OBJECT_TILE) == (u->memory != MEM_HBM) && k->objects[i].index == u->tensor)
            return i;
    return -1;
}

int xcc_kernel_unwritten(struct xcc_kernel *k, const char **where)
{
    struct diag d = {0}, found = {0};
    struct hazard_unwritten u = {-1, MEM_NONE, -1};
    *where = NULL;
    if (k->scheduled || diag_failed(&k->d) || !close_kernel(k, &d) ||
        check_kernel_contents(k->p, kernel_of_api(k), &u, &found) || u.insn < 0)
        return -1;
    int node = kernel_of_api(k)->insns[u.insn].node;
    *where = node >= 0 ? k->p->nodes[node].name : "";
    return object_of(k, &u);
}

const char *xcc_kernel_hazard(struct xcc_kernel *k)
{
    struct diag d = {0};
    return complete(k) && !check_program_sync(k->p, 1, &d) ? keep_text(k, d.text) : NULL;
}

static const char *print_text(struct xcc_kernel *k, bool whole)
{
    free(k->text);
    k->text = NULL;
    FILE *f = open_memstream(&k->text, &k->text_size);
    bool ok = f && (whole ? program_print_whole(k->p, f) : program_print(k->p, f));
    if (f && fclose(f) != 0)
        ok = false;
    struct diag d = {0};
    if (!ok) {
        fail_memory(&d, "out of memory");
        kernel_fail(k, &d);
    }
    return ok ? k->text : NULL;
}

const char *xcc_kernel_text(struct xcc_kernel *k)
{
    return complete(k) ? print_text(k, false) : NULL;
}

const char *xcc_kernel_assembly(struct xcc_kernel *k)
{
    struct diag d = {0};
    if (diag_failed(&k->d)) {
        api_fail(&k->d);
        return NULL;
    }
    k->at = NULL;
    if (k->scheduled)
        fail(&d, "the kernel is finished: it has the order and places of its target");
    else if (close_kernel(k, &d))
        return print_text(k, true);
    kernel_fail(k, &d);
    return NULL;
}
