/* What --verify feeds to a program and takes from it. */
#include "frontend/verify.h"

#include "neff/base/splitmix.h"
#include "runtime/io/inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- values that the program keeps ---- */

static void written(struct capture *k, int slot, int step)
{
    if (slot >= 0)
        k->last_write[slot_root(k->p, slot)] = step;
}

static void find_writes(struct capture *k)
{
    const struct program *p = k->p;
    for (int s = 0; s < p->nslots; s++)
        k->last_write[s] = -1;
    for (int step = 0; step < p->regions[0].nsteps; step++) {
        const struct step *at = &p->regions[0].steps[step];
        if (at->kind == STEP_CALL) {
            for (int i = 0; i < p->calls[at->index].nout; i++)
                written(k, p->calls[at->index].out[i], step);
            continue;
        }
        const struct kernel *kernel = &p->kernels[at->index];
        for (int i = 0; i < kernel->ninsns; i++) {
            const struct insn *insn = &kernel->insns[i];
            const struct insn_info *info = insn_info(insn->op);
            for (int a = 0; a < info->naps; a++)
                if (insn->ap[a].mem == MEM_HBM && info->ap[a].access != 'r')
                    written(k, insn->ap[a].tensor, step);
        }
    }
}

static bool keep(struct capture *k, const char *name, const struct tensor *t, struct diag *d)
{
    ARENA_GROW(&k->arena, k->list, k->count, k->cap);
    struct captured *c = &k->list[k->count];
    *c = (struct captured){.name = arena_strdup(&k->arena, name), .value = {.kind = VK_NONE}, .order = k->count};
    k->count++;
    if (t->dtype == DT_STR)
        return tensor_copy(&c->value, t, d);
    c->value = tensor_view(t->dtype, t->rank, t->dims, NULL);
    return side_take(&k->file, tensor_bytes(t), &c->at, d) && side_write(&k->file, c->at, t->data, tensor_bytes(t), d);
}

static const char *output_key(struct capture *k, int i)
{
    return arena_printf(&k->arena, "(output %d)", i);
}

/* Copies the slots, and views of them, that this step was the last to write. */
static bool seen(void *user, struct context *run, int step, struct diag *d)
{
    struct capture *k = user;
    const struct program_region *main_region = &k->p->regions[0];
    for (int s = 0; s < k->p->nslots; s++) {
        const struct slot *slot = &k->p->slots[s];
        const struct tensor *t = context_slot(run, s);
        if (k->last_write[slot_root(k->p, s)] != step || t->kind != VK_TENSOR)
            continue;
        if (slot->name && !keep(k, slot->name, t, d))
            return false;
        for (int i = 0; i < main_region->nresults; i++)
            if (main_region->results[i] == s && !keep(k, output_key(k, i), t, d))
                return false;
    }
    return true;
}

bool capture_start(struct capture *k, struct context *run, const struct program *p, struct diag *d)
{
    *k = (struct capture){.p = p, .found = {.kind = VK_NONE}};
    k->last_write = ARENA_ARRAY(&k->arena, int, p->nslots + 1);
    find_writes(k);
    context_watch(run, seen, k);
    return true;
}

static int by_name(const void *a, const void *b)
{
    const struct captured *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    int widths = (int)dtype_bytes(y->value.dtype) - (int)dtype_bytes(x->value.dtype);
    return names ? names : widths ? widths : x->order - y->order;
}

void capture_sort(struct capture *k)
{
    if (k->count)
        qsort(k->list, (size_t)k->count, sizeof *k->list, by_name);
}

static int first_of(const struct capture *k, const char *name)
{
    int low = 0, high = k->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (strcmp(k->list[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_dims(const struct tensor *t, int rank, const int64_t *dims)
{
    return t->rank == rank && (!rank || !memcmp(t->dims, dims, sizeof *dims * (size_t)rank));
}

/* The value with these dims, in memory. */
static struct tensor *with_dims(struct capture *k, const char *name, int rank, const int64_t *dims, struct diag *d)
{
    int i = first_of(k, name);
    while (i < k->count && !strcmp(k->list[i].name, name) && !has_dims(&k->list[i].value, rank, dims))
        i++;
    if (i == k->count || strcmp(k->list[i].name, name))
        return NULL;
    struct captured *c = &k->list[i];
    if (c->value.dtype == DT_STR)
        return &c->value;
    tensor_free(&k->found);
    if (!tensor_alloc(&k->found, c->value.dtype, rank, dims, d))
        return NULL;
    return side_read(&k->file, c->at, k->found.data, tensor_bytes(&k->found), d) ? &k->found : NULL;
}

/* N,spatial...,C becomes N,C,spatial... */
static bool channels_first(struct tensor *t, const struct tensor *like, struct diag *d)
{
    struct tensor made = {.kind = VK_NONE};
    if (!tensor_alloc(&made, t->dtype, like->rank, like->dims, d))
        return false;
    int64_t channels = like->dims[1], images = like->dims[0],
            pixels = dims_product(like->dims, 2, like->rank);
    size_t size = dtype_bytes(t->dtype);
    for (int64_t n = 0; n < images; n++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t p = 0; p < pixels; p++)
                memcpy((char *)made.data + (size_t)((n * channels + c) * pixels + p) * size,
                       (const char *)t->data + (size_t)((n * pixels + p) * channels + c) * size,
                       size);
    tensor_move(t, &made);
    return true;
}

const struct tensor *capture_find(struct capture *k, const char *name, const struct tensor *like, struct diag *d)
{
    int rank = like->rank;
    int64_t dims[MAX_RANK];
    struct tensor *t = with_dims(k, name, rank, like->dims, d);
    if (t || rank < 3 || like->dtype == DT_STR || diag_failed(d))
        return t;
    for (int i = 0; i < rank; i++)
        dims[i] = like->dims[i == 0 ? 0 : i == rank - 1 ? 1 : i + 1];
    t = with_dims(k, arena_printf(&k->arena, "%s" CHANNELS_LAST_NAME, name), rank, dims, d);
    return t && channels_first(t, like, d) ? t : NULL;
}

const struct tensor *capture_output(struct capture *k, int i, const struct tensor *like, struct diag *d)
{
    return with_dims(k, output_key(k, i), like->rank, like->dims, d);
}

void capture_free(struct capture *k)
{
    for (int i = 0; i < k->count; i++)
        tensor_free(&k->list[i].value);
    tensor_free(&k->found);
    side_close(&k->file);
    arena_free(&k->arena);
}

/* ---- inputs ---- */

static int64_t next_random(uint64_t *state, int64_t below)
{
    return (int64_t)(splitmix(state) >> 16) % below;
}

/* A symbolic dim's size: what an input from a file says, else 1 or 7. */
static int64_t size_of(const struct graph *g, const struct tensor *in, dim_t dim, int place)
{
    enum { OTHER_SIZE = 7 };
    for (int i = 0; i < g->main->nparams; i++) {
        const struct type *t = &g->main->params[i]->type;
        for (int k = 0; in[i].kind == VK_TENSOR && k < t->rank && k < in[i].rank; k++)
            if (t->dims[k] == dim)
                return in[i].dims[k];
    }
    return place == 0 ? 1 : OTHER_SIZE;
}

/* Floats from -1 to 1, integers 0 or 1: places in tables, masks. */
static bool random_input(struct graph *g, int i, struct tensor *in, struct diag *d)
{
    const struct value *v = g->main->params[i];
    const struct type *t = &v->type;
    int64_t dims[MAX_RANK];
    uint64_t state = (uint64_t)i + 1;
    if (t->kind != VK_TENSOR || t->rank < 0 || t->dtype == DT_STR || dtype_is_complex(t->dtype))
        return fail(d, "input '%s' cannot be made up: name a file for it", v->name ? v->name : "");
    for (int k = 0; k < t->rank; k++)
        dims[k] = dim_is_const(t->dims[k]) ? t->dims[k] : size_of(g, in, t->dims[k], k);
    if (!tensor_alloc(&in[i], t->dtype, t->rank, dims, d))
        return fail_in(d, "input '%s'", v->name ? v->name : "");
    for (int64_t k = 0, n = tensor_count(&in[i]); k < n; k++) {
        if (dtype_is_float(t->dtype))
            dtype_store_f64(t->dtype, in[i].data, (size_t)k,
                            (double)next_random(&state, 1 << 24) / (1 << 23) - 1);
        else
            dtype_store_i64(t->dtype, in[i].data, (size_t)k, next_random(&state, 2));
    }
    return true;
}

bool verify_inputs(struct graph *g, const char **files, int nfiles, struct tensor *in,
                   struct diag *d)
{
    int n = g->main->nparams;
    struct input_kind *kinds = ARENA_ARRAY(&g->arena, struct input_kind, n + 1);
    for (int i = 0; i < n; i++) {
        const struct value *v = g->main->params[i];
        kinds[i] = input_kind_of(v->name, &v->type);
    }
    for (int i = 0; i < nfiles; i++)
        if (!inputs_read(&(struct inputs){n, kinds, in}, files[i], d))
            return false;
    for (int i = 0; i < n; i++)
        if (in[i].kind == VK_NONE && g->main->params[i]->type.kind != VK_OPTIONAL &&
            !random_input(g, i, in, d))
            return false;
    return true;
}
