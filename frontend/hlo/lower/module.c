/*
 * HLO modules to graphs: parameters and results with their names, and what lies between (import.c).
 */
#include "frontend/hlo/lower/importer.h"

#include <stdlib.h>
#include <string.h>

static const char *pair_text(const struct hlo_instruction *i, const char *const *keys)
{
    const struct hlo_attr *a = hlo_attr(i, HLO_ATTR_frontend_attributes);
    for (; a && *keys; keys++)
        for (int k = 0; k < a->pairs->count; k++)
            if (!strcmp(a->pairs->v[k].key, *keys))
                return a->pairs->v[k].value.data;
    return NULL;
}

/* Name number k of a comma-separated list, trimmed; NULL when it has fewer. */
static const char *listed(struct arena *a, const char *list, int k)
{
    for (; list && k > 0; k--) {
        list = strchr(list, ',');
        list += list != NULL;
    }
    if (!list)
        return NULL;
    list += strspn(list, " ");
    size_t n = strcspn(list, ",");
    while (n && list[n - 1] == ' ')
        n--;
    return n ? arena_strndup(a, list, n) : NULL;
}

static bool taken(const struct hlo_importer *im, const char *name, int inputs)
{
    for (int k = 0; k < inputs; k++)
        if (!strcmp(im->g->main->params[k]->name, name))
            return true;
    return false;
}

/* The program's name for an unbounded dim, or one made of the parameter's. */
static const char *size_name(struct hlo_importer *im, const struct hlo_instruction *p,
                             const char *name, int dim)
{
    for (int k = 0; k < im->m->size_name_count; k++) {
        const struct hlo_size_name *s = &im->m->size_names[k];
        if (s->parameter == p && s->dim == dim)
            return arena_strdup(&im->g->arena, s->name);
    }
    return arena_printf(&im->g->arena, "%s_%d", name, dim);
}

/* --shape: by the input's name, or by that of a size. */
static bool bind_shape(struct hlo_importer *im, const char *name, struct type *t,
                       const struct type *stated)
{
    for (int k = 0; im->options && k < im->options->nshapes; k++) {
        struct shape_binding *b = &im->options->shapes[k];
        bool whole = !strcmp(b->name, name);
        if (whole && b->rank != t->rank)
            return fail(im->d, "--shape %s: %d dims given, the input has %d", name, b->rank,
                        t->rank);
        for (int r = 0; r < t->rank; r++) {
            const char *size =
                dim_is_const(t->dims[r]) ? "" : dim_text(&im->g->dims, &im->g->arena, t->dims[r]);
            size_t n_name = strlen(b->name), quote = *size == '\'';
            bool named = b->rank == 1 && b->dims[0] >= 0 && !whole &&
                         !strncmp(size + quote, b->name, n_name) &&
                         strlen(size) == n_name + 2 * quote;
            int64_t n = whole ? b->dims[r] : named ? b->dims[0] : -1;
            b->used |= whole || named;
            if (n >= 0 && stated->dims[r] != HLO_UNBOUNDED && stated->dims[r] != n)
                return fail(im->d, "--shape %s: dim %d is %lld, the model fixes it to %lld", name,
                            r, (long long)n, (long long)stated->dims[r]);
            if (n >= 0)
                t->dims[r] = n;
        }
    }
    return true;
}

/* ---- tokens: arrays of no elements, where the caller counts them among inputs and outputs ---- */

static bool keeps_tokens(const struct hlo_importer *im)
{
    return im->options && im->options->keep_tokens;
}

static struct type token_type(void)
{
    return type_tensor(DT_BOOL, 1, (dim_t[]){0});
}

/* A name that nothing in a program has: '!' is part of none. */
static const char *token_name(struct hlo_importer *im, int place)
{
    return arena_printf(&im->g->arena, "!token%d", place);
}

/* How many inputs or outputs of the graph a shape stands for. */
static int place_count(const struct hlo_importer *im, const struct hlo_shape *s)
{
    int n = 0;
    if (s->type == HLO_TOKEN)
        return keeps_tokens(im);
    if (s->type != HLO_TUPLE)
        return 1;
    for (int k = 0; k < s->count; k++)
        n += place_count(im, s->elements[k]);
    return n;
}

/* Copies results to `out`, with the token between them; gives the next place. */
static int place_results(struct hlo_importer *im, const struct hlo_shape *s, struct value **out,
                         struct value *const **from)
{
    int n = 0;
    if (s->type == HLO_TOKEN)
        out[n++] = im->token;
    else if (s->type != HLO_TUPLE)
        out[n++] = *(*from)++;
    else
        for (int k = 0; k < s->count; k++)
            n += place_results(im, s->elements[k], out + n, from);
    return n;
}

/* Puts what stands for tokens between the results' arrays, where the caller counts them. */
static void place_tokens(struct hlo_importer *im, const struct hlo_shape *s, struct leaves *results)
{
    int n = place_count(im, s);
    if (n == hlo_leaf_count(s))
        return;
    static char nothing[16];
    struct tensor t = tensor_view(DT_BOOL, 1, (int64_t[]){0}, nothing);
    struct value *const *from = results->v;
    im->token = constant_new(im->g, &t, NULL);
    results->v = ARENA_ARRAY(&im->arena, struct value *, n);
    results->count = place_results(im, s, results->v, &from);
}

/* ---- parameters and results ---- */

/* Leaf number to->count of parameter k as the next input. */
static bool import_array(struct hlo_importer *im, int k, struct leaves *to)
{
    static const char *const keys[] = {"neff_input_name", "neff_input_names", NULL};
    const struct hlo_instruction *p = im->m->entry->parameters[k];
    struct arena *a = &im->g->arena;
    int j = to->count;
    const struct hlo_shape *s = hlo_leaf(p->shape, j);
    struct type t = hlo_type_of(s);
    const char *names = pair_text(p, keys), *name = listed(a, names, j);
    if (s->rank > MAX_RANK)
        return fail(im->d, "parameter '%s' has %d dimensions, expected at most %d", p->name, s->rank, MAX_RANK);
    if (!name)
        name = hlo_leaf_count(p->shape) == 1 ? arena_strdup(a, p->name) : arena_printf(a, "%s.%d", p->name, j);
    if (names && taken(im, name, im->g->main->nparams))
        name = arena_printf(a, "%s.%d", name, k);
    for (int r = 0; r < t.rank; r++)
        if (t.dims[r] == HLO_UNBOUNDED)
            t.dims[r] = dim_symbol(&im->g->dims, size_name(im, p, name, r));
    struct type stated = hlo_type_of(s);
    if (!bind_shape(im, name, &t, &stated) || !hlo_guard_bounds(im, s, &t, name))
        return false;
    to->v[to->count++] = region_add_param(im->g->main, &t, name);
    return true;
}

/* The inputs that a part s of parameter k stands for. */
static bool import_part(struct hlo_importer *im, int k, const struct hlo_shape *s, struct leaves *to)
{
    if (s->type == HLO_TOKEN) {
        struct type t = token_type();
        if (keeps_tokens(im))
            region_add_param(im->g->main, &t, token_name(im, im->g->main->nparams));
        return true;
    }
    if (s->type != HLO_TUPLE)
        return import_array(im, k, to);
    for (int e = 0; e < s->count; e++)
        if (!import_part(im, k, s->elements[e], to))
            return false;
    return true;
}

static bool import_parameters(struct hlo_importer *im, struct leaves *args)
{
    const struct hlo_computation *c = im->m->entry;
    for (int k = 0; k < c->parameter_count; k++) {
        const struct hlo_shape *s = c->parameters[k]->shape;
        args[k].v = ARENA_ARRAY(&im->arena, struct value *, hlo_leaf_count(s) + 1);
        if (!import_part(im, k, s, &args[k]))
            return false;
    }
    return true;
}

static void name_outputs(struct hlo_importer *im, const struct leaves *result)
{
    static const char *const keys[] = {"neff_output_names", "neff_output_name", NULL};
    const struct hlo_instruction *root = im->m->entry->root;
    const char *names = pair_text(root, keys);
    struct graph *g = im->g;
    g->noutputs = result->count;
    g->output_names = ARENA_ARRAY(&g->arena, const char *, result->count + 1);
    for (int k = 0, array = 0; k < result->count; k++) {
        if (im->token && result->v[k] == im->token) {
            g->output_names[k] = token_name(im, k);
            continue;
        }
        const char *name = listed(&g->arena, names, array++);
        if (!name && result->count == 1)
            name = arena_strdup(&g->arena, root->opcode == HLO_OP_TUPLE && root->operand_count
                                               ? root->operands[0]->name
                                               : root->name);
        g->output_names[k] = name ? name : arena_printf(&g->arena, "output%d", k);
    }
}

/* Nodes whose results nobody uses, inner ones first. */
static void remove_unused(struct region *r)
{
    for (struct node *n = r->last, *before; n; n = before) {
        bool used = n->op == OP_return || (op_infos[n->op].flags & OPF_IMPURE);
        before = n->prev;
        for (int k = 0; k < n->nout; k++)
            used |= n->out[k]->uses != NULL;
        if (!used)
            node_remove(n);
        for (int k = 0; used && k < n->nregions; k++)
            remove_unused(n->regions[k]);
    }
}

/* Input or output number of an index into a tuple shape; -1 when there is no such array. */
static int place_at(const struct hlo_importer *im, const struct hlo_shape *s, struct hlo_ints index)
{
    int at = 0;
    for (int k = 0; k < index.count; k++) {
        if (s->type != HLO_TUPLE || index.v[k] < 0 || index.v[k] >= s->count)
            return -1;
        for (int e = 0; e < index.v[k]; e++)
            at += place_count(im, s->elements[e]);
        s = s->elements[index.v[k]];
    }
    return hlo_is_array(s) ? at : -1;
}

/* Number of the graph's input that is part `index` of a parameter; -1 when there is none. */
static int input_at(const struct hlo_importer *im, const struct hlo_alias *a)
{
    const struct hlo_computation *c = im->m->entry;
    if (a->parameter < 0 || a->parameter >= c->parameter_count)
        return -1;
    int input = place_at(im, c->parameters[a->parameter]->shape, a->index);
    for (int p = 0; input >= 0 && p < a->parameter; p++)
        input += place_count(im, c->parameters[p]->shape);
    return input;
}

/* Inputs whose memory is given up: donors, and those that share an output's. */
static void record_donors(struct hlo_importer *im)
{
    const struct hlo_aliases *lists[] = {&im->m->donors, &im->m->aliases};
    int n = im->g->main->nparams;
    bool *donated = NULL;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < lists[i]->count; k++) {
            int input = input_at(im, &lists[i]->v[k]);
            if (input < 0 || input >= n)
                continue;
            if (!donated)
                donated = ARENA_ARRAY(&im->g->arena, bool, n);
            donated[input] = true;
        }
    im->g->donated = donated;
}

static void record_aliases(struct hlo_importer *im)
{
    const struct hlo_aliases *from = &im->m->aliases;
    const struct hlo_computation *c = im->m->entry;
    struct io_alias *list = ARENA_ARRAY(&im->g->arena, struct io_alias, from->count + 1);
    for (int k = 0; k < from->count; k++) {
        const struct hlo_alias *a = &from->v[k];
        int output = place_at(im, c->root->shape, a->output), input = input_at(im, a);
        if (output >= 0 && input >= 0)
            list[im->g->naliases++] = (struct io_alias){output, input, a->must};
    }
    im->g->aliases = list;
}

static bool import_module(struct hlo_importer *im)
{
    struct hlo_computation *c = im->m->entry;
    struct leaves *args = ARENA_ARRAY(&im->arena, struct leaves, c->parameter_count + 1), result;
    im->needed = ARENA_ARRAY(&im->arena, const bool *, im->m->count + 1);
    im->g->name = arena_strdup(&im->g->arena, im->m->name ? im->m->name : "");
    im->g->producer = "XLA";
    if (!hlo_check_supported(im) || !import_parameters(im, args) ||
        !hlo_import_entry(im, args, &result))
        return false;
    place_tokens(im, c->root->shape, &result);
    hlo_end_region(im->g, im->g->main, &result);
    remove_unused(im->g->main);
    record_aliases(im);
    record_donors(im);
    name_outputs(im, &result);
    return true;
}

static void release_file(void *file)
{
    if (file)
        hlo_free(file);
    free(file);
}

static bool one_module(const struct hlo_file *f, struct diag *d)
{
    if (f->count == 1)
        return true;
    return fail(d, "the file holds %d modules, expected one; the first two are '%s' and '%s'",
                f->count, f->count ? f->modules[0]->name : "",
                f->count > 1 ? f->modules[1]->name : "");
}

struct graph *hlo_import_module(struct hlo_module *m, const struct import_options *o,
                                void (*release)(void *), void *arg, struct diag *d)
{
    struct graph *g = graph_new();
    struct hlo_importer im = {.g = g, .d = d, .m = m, .rows = hlo_row(0)};
    im.kernels = o ? o->kernels : NULL;
    im.options = o;
    g->release = release;
    g->release_arg = arg;
    im.max = MAX_INSTRUCTIONS;
    for (int i = 0; i < m->count; i++)
        im.max += (int64_t)EACH_INSTRUCTION * m->computations[i]->count;
    bool ok = hlo_verify(m, d);
    if (ok)
        hlo_flatten_deep(m);
    ok = ok && import_module(&im);
    arena_free(&im.arena);
    if (ok)
        return g;
    int64_t devices = (m->replica_count > 1 ? m->replica_count : 1) *
                      (m->num_partitions > 1 ? m->num_partitions : 1);
    if (devices > 1)
        fail_in(d, "the program was partitioned for %lld devices, expected one",
                (long long)devices);
    graph_free(g);
    return NULL;
}

struct graph *hlo_import(const char *path, const struct import_options *o, struct diag *d)
{
    struct hlo_file *f = calloc(1, sizeof *f);
    if (!f || !hlo_load(f, path, d) || !one_module(f, d)) {
        if (!f)
            fail_memory(d, "out of memory");
        release_file(f);
        return NULL;
    }
    hlo_unbound(f->modules[0]);
    return hlo_import_module(f->modules[0], o, release_file, f, d);
}
