/*
 * Kernels of xcc.h: what a kernel consists of besides instructions.
 */
#include "frontend/kernel_api.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char last_error[sizeof((struct diag *)0)->text];

const char *xcc_error(void)
{
    return last_error;
}

bool api_fail(const struct diag *d)
{
    snprintf(last_error, sizeof last_error, "%s", d->text);
    return false;
}

bool kernel_fail(struct xcc_kernel *k, struct diag *d)
{
    if (k->at)
        fail_in(d, "%s", k->at);
    if (!diag_failed(&k->d))
        k->d = *d;
    return api_fail(d);
}

__attribute__((format(printf, 2, 3))) static bool problem(struct xcc_kernel *k, const char *fmt,
                                                          ...)
{
    struct diag d = {0};
    va_list args;
    va_start(args, fmt);
    vsnprintf(d.text, sizeof d.text, fmt, args);
    va_end(args);
    text_show_controls(d.text, sizeof d.text);
    return kernel_fail(k, &d);
}

struct xcc_kernel *xcc_kernel_new(const char *name, const char *target)
{
    struct diag d = {0};
    const struct machine *m = machine_find(target ? target : "cpu");
    struct xcc_kernel *k = m ? calloc(1, sizeof *k) : NULL;
    struct program *p = k ? program_new() : NULL;
    if (!p) {
        if (!m)
            fail(&d, "unknown target '%s'", target);
        else
            fail_memory(&d, "out of memory");
        api_fail(&d);
        free(k);
        return NULL;
    }
    k->p = p;
    k->machine = m;
    k->now.node = -1;
    p->target = m->name;
    p->name = arena_strdup(&p->arena, name ? name : "kernel");
    ARENA_GROW(&p->arena, p->kernels, p->nkernels, p->kernels_cap);
    p->kernels[p->nkernels++] = (struct kernel){.name = p->name};
    return k;
}

void xcc_kernel_free(struct xcc_kernel *k)
{
    if (!k)
        return;
    program_free(k->p);
    free(k->text);
    free(k);
}

static bool open_for_changes(struct xcc_kernel *k)
{
    return !k->finished || problem(k, "the kernel is finished: nothing can be added");
}

/* ---- objects ---- */

static int add_object(struct xcc_kernel *k, struct object o)
{
    o.name = o.name ? arena_strdup(&k->p->arena, o.name) : NULL;
    ARENA_GROW(&k->p->arena, k->objects, k->now.nobjects, k->nobjects_cap);
    k->objects[k->now.nobjects] = o;
    return k->now.nobjects++;
}

static bool tensor_type(struct xcc_kernel *k, const char *name, const char *dtype, int rank,
                        const int64_t *dims, struct type *out)
{
    int dt = dtype ? (int)dtype_from_name(dtype) : DT_NONE;
    int64_t bytes = (int64_t)dtype_bytes(dt);
    if (!dtype_valid(dt) || dt == DT_STR)
        return problem(k, "tensor '%s': unknown element type '%s'", name ? name : "",
                       dtype ? dtype : "");
    if (rank < 0 || rank > XCC_MAX_RANK)
        return problem(k, "tensor '%s' has rank %d, at most %d", name ? name : "", rank,
                       XCC_MAX_RANK);
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0 || __builtin_mul_overflow(bytes, dims[i] ? dims[i] : 1, &bytes) ||
            bytes > INT64_C(1) << 46)
            return problem(k, "tensor '%s': dimension %d of %lld elements", name ? name : "", i,
                           (long long)dims[i]);
    *out = type_tensor(dt, rank, dims);
    return true;
}

static int add_tensor(struct xcc_kernel *k, int kind, const char *name, const char *dtype, int rank,
                      const int64_t *dims)
{
    static const uint8_t slot_kinds[] = {[OBJECT_INPUT] = SLOT_INPUT,
                                         [OBJECT_OUTPUT] = SLOT_PLANNED,
                                         [OBJECT_INTERNAL] = SLOT_PLANNED,
                                         [OBJECT_CONSTANT] = SLOT_CONST};
    struct slot s = {.kind = slot_kinds[kind], .base = -1};
    if (!open_for_changes(k) || !tensor_type(k, name, dtype, rank, dims, &s.type))
        return -1;
    bool named = kind == OBJECT_INPUT || kind == OBJECT_OUTPUT;
    if (named && (!name || !*name)) {
        problem(k, "an input or output without a name");
        return -1;
    }
    s.name = name ? arena_strdup(&k->p->arena, name) : NULL;
    k->p->nslots = k->now.nslots;
    int slot = program_add_slot(k->p, s);
    k->now.nslots = k->p->nslots;
    return add_object(k, (struct object){.kind = (uint8_t)kind, .index = slot, .name = name});
}

int xcc_input(struct xcc_kernel *k, const char *name, const char *dtype, int rank,
              const int64_t *dims)
{
    return add_tensor(k, OBJECT_INPUT, name, dtype, rank, dims);
}

int xcc_output(struct xcc_kernel *k, const char *name, const char *dtype, int rank,
               const int64_t *dims)
{
    int object = add_tensor(k, OBJECT_OUTPUT, name, dtype, rank, dims);
    return object >= 0 && xcc_result(k, object, name) ? object : -1;
}

int xcc_internal(struct xcc_kernel *k, const char *name, const char *dtype, int rank,
                 const int64_t *dims)
{
    return add_tensor(k, OBJECT_INTERNAL, name, dtype, rank, dims);
}

int xcc_constant(struct xcc_kernel *k, const char *name, const char *dtype, int rank,
                 const int64_t *dims, const void *data)
{
    int object = add_tensor(k, OBJECT_CONSTANT, name, dtype, rank, dims);
    if (object < 0)
        return -1;
    struct slot *s = &k->p->slots[k->objects[object].index];
    s->data = tensor_view(s->type.dtype, rank, dims, NULL);
    s->data.data = arena_copy(&k->p->arena, data, tensor_bytes(&s->data));
    return object;
}

bool xcc_result(struct xcc_kernel *k, int object, const char *name)
{
    if (!open_for_changes(k))
        return false;
    if (object < 0 || object >= k->now.nobjects || k->objects[object].kind == OBJECT_TILE)
        return problem(k, "result '%s': object %d is no tensor", name ? name : "", object);
    if (!name || !*name)
        return problem(k, "a result without a name");
    k->objects[object].written |= k->objects[object].kind != OBJECT_OUTPUT;
    ARENA_GROW(&k->p->arena, k->results, k->now.nresults, k->nresults_cap);
    k->results[k->now.nresults++] = (struct result){object, arena_strdup(&k->p->arena, name)};
    return true;
}

bool xcc_is_written(const struct xcc_kernel *k, int object)
{
    return object >= 0 && object < k->now.nobjects && k->objects[object].written;
}

int xcc_tile(struct xcc_kernel *k, const char *memory, const char *name, const char *dtype,
             int64_t partitions, int64_t elements, int64_t address)
{
    struct kernel *kernel = kernel_of_api(k);
    int dt = dtype ? (int)dtype_from_name(dtype) : DT_NONE;
    bool psum = memory && !strcmp(memory, "psum");
    if (!open_for_changes(k))
        return -1;
    if (!psum && (!memory || strcmp(memory, "sbuf"))) {
        problem(k, "tile '%s' in memory '%s', expected sbuf or psum", name ? name : "",
                memory ? memory : "");
        return -1;
    }
    if (!dtype_valid(dt) || dt == DT_STR) {
        problem(k, "tile '%s': unknown element type '%s'", name ? name : "", dtype ? dtype : "");
        return -1;
    }
    if (partitions < 1 || elements < 1 || partitions > 1 << 20 || elements > 1 << 28) {
        problem(k, "tile '%s' of %lld partitions and %lld elements in each", name ? name : "",
                (long long)partitions, (long long)elements);
        return -1;
    }
    struct tile t = {.mem = psum ? MEM_PSUM : MEM_SBUF,
                     .dtype = (uint8_t)dt,
                     .partitions = partitions,
                     .elements = elements,
                     .address = address < 0 ? -1 : address,
                     .fixed = address >= 0,
                     .name = name && *name ? arena_strdup(&k->p->arena, name) : NULL};
    kernel->ntiles = k->now.ntiles;
    ARENA_GROW(&k->p->arena, kernel->tiles, kernel->ntiles, kernel->tiles_cap);
    kernel->tiles[kernel->ntiles] = t;
    k->now.ntiles = ++kernel->ntiles;
    return add_object(
        k, (struct object){.kind = OBJECT_TILE, .index = kernel->ntiles - 1, .name = name});
}

bool xcc_tile_is_partial(struct xcc_kernel *k, int tile)
{
    if (!open_for_changes(k))
        return false;
    if (tile < 0 || tile >= k->now.nobjects || k->objects[tile].kind != OBJECT_TILE)
        return problem(k, "object %d is no tile", tile);
    kernel_of_api(k)->tiles[k->objects[tile].index].partial = true;
    return true;
}

/* ---- grid, loops, positions ---- */

bool xcc_grid(struct xcc_kernel *k, int n, const int64_t *counts)
{
    struct kernel *kernel = kernel_of_api(k);
    if (!open_for_changes(k))
        return false;
    if (n < 0 || n > MAX_GRID)
        return problem(k, "a grid of %d dimensions, at most %d", n, MAX_GRID);
    if (k->now.ninsns)
        return problem(k, "the grid is set before the first instruction");
    for (int i = 0; i < n; i++) {
        if (counts[i] < 1)
            return problem(k, "grid dimension %d is %lld", i, (long long)counts[i]);
        kernel->grid[i] = k->trips[i] = counts[i];
    }
    kernel->ngrid = kernel->nvars = k->now.nvars = n;
    return true;
}

int xcc_loop(struct xcc_kernel *k, int64_t count)
{
    struct kernel *kernel = kernel_of_api(k);
    int var = kernel->ngrid + k->now.depth;
    if (!open_for_changes(k))
        return -1;
    if (var >= MAX_VARS || count < 0) {
        if (count < 0)
            problem(k, "a loop of %lld trips", (long long)count);
        else
            problem(k, "loops and grid have more than %d variables: unroll one", MAX_VARS);
        return -1;
    }
    kernel->ninsns = k->now.ninsns;
    struct insn *i = kernel_add(k->p, kernel, INSN_loop);
    i->imm[0].base = var;
    i->imm[1].base = count;
    k->trips[var] = count;
    k->open[k->now.depth++] = k->now.ninsns;
    k->now.ninsns = kernel->ninsns;
    if (k->now.nvars <= var)
        kernel->nvars = k->now.nvars = var + 1;
    return var;
}

bool xcc_end(struct xcc_kernel *k)
{
    struct kernel *kernel = kernel_of_api(k);
    if (!open_for_changes(k))
        return false;
    if (k->now.depth == 0)
        return problem(k, "the end of a loop that is not open");
    kernel->ninsns = k->now.ninsns;
    kernel_add(k->p, kernel, INSN_end);
    k->now.ninsns = kernel->ninsns;
    k->now.depth--;
    return true;
}

bool xcc_at(struct xcc_kernel *k, const char *file, int line, const char *node)
{
    char at[1024];
    file = file ? file : "";
    if (line > 0)
        snprintf(at, sizeof at, "%s:%d", file, line);
    else
        snprintf(at, sizeof at, "%s", file);
    if (k->at && !strcmp(k->at, at) && !strcmp(k->what, node ? node : ""))
        return true;
    k->what = arena_strdup(&k->p->arena, node ? node : "");
    k->at = arena_strdup(&k->p->arena, at);
    k->now.node = program_add_node(k->p, k->at, k->what);
    if (!*at)
        k->at = NULL;
    return true;
}

/* ---- marks ---- */

int64_t xcc_mark(struct xcc_kernel *k)
{
    ARENA_GROW(&k->p->arena, k->marks, k->nmarks, k->marks_cap);
    k->marks[k->nmarks] = k->now;
    return k->nmarks++;
}

bool xcc_rollback(struct xcc_kernel *k, int64_t mark)
{
    struct kernel *kernel = kernel_of_api(k);
    if (!open_for_changes(k))
        return false;
    if (mark < 0 || mark >= k->nmarks)
        return problem(k, "no mark %lld to go back to", (long long)mark);
    k->now = k->marks[mark];
    k->nmarks = (int)mark + 1;
    k->p->nslots = k->now.nslots;
    kernel->ninsns = k->now.ninsns;
    kernel->ntiles = k->now.ntiles;
    kernel->nvars = k->now.nvars;
    /* loops that were open at the mark */
    for (int i = 0, depth = 0; i < kernel->ninsns; i++) {
        const struct insn *n = &kernel->insns[i];
        if (n->op == INSN_loop) {
            k->open[depth] = i;
            k->trips[kernel->ngrid + depth++] = n->imm[1].base;
        }
        depth -= n->op == INSN_end;
    }
    diag_clear(&k->d);
    return true;
}
