/*
 * HLO modules to graphs: computations are inlined where they are called, tuples vanish, control
 * flow and computations on scalars become regions. Only instructions that a result needs are
 * lowered.
 */
#include "frontend/hlo/lower/importer.h"
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/syntax/check.h"
#include "passes/pass.h"

#include <stdlib.h>
#include <string.h>

/* ---- shapes ---- */

int hlo_leaf_count(const struct hlo_shape *s)
{
    if (s->type == HLO_TOKEN)
        return 0;
    if (s->type != HLO_TUPLE)
        return 1;
    int n = 0;
    for (int k = 0; k < s->count; k++)
        n += hlo_leaf_count(s->elements[k]);
    return n;
}

const struct hlo_shape *hlo_leaf(const struct hlo_shape *s, int k)
{
    while (s->type == HLO_TUPLE) {
        int e = 0, n;
        for (; e < s->count && k >= (n = hlo_leaf_count(s->elements[e])); e++)
            k -= n;
        if (e == s->count)
            return NULL;
        s = s->elements[e];
    }
    if (s->type == HLO_BUFFER)
        s = s->elements[0];
    return s;
}

struct type hlo_type_of(const struct hlo_shape *s)
{
    dim_t dims[MAX_RANK] = {0};
    int rank = s->rank <= MAX_RANK ? s->rank : MAX_RANK;
    for (int k = 0; k < rank; k++)
        dims[k] = s->dims[k];
    return type_tensor(hlo_type_dtype(s->type), rank, dims);
}

/* ---- which instructions a result needs ---- */

const bool *hlo_needed(struct hlo_importer *im, const struct hlo_computation *c)
{
    if (im->needed[c->index])
        return im->needed[c->index];
    bool *need = ARENA_ARRAY(&im->arena, bool, c->count + 1);
    need[c->root->index] = true;
    for (int k = c->count - 1; k >= 0; k--)
        for (int j = 0; need[k] && j < c->instructions[k]->operand_count; j++)
            need[c->instructions[k]->operands[j]->index] = true;
    return im->needed[c->index] = need;
}

/* ---- instructions ---- */

/* One computation at work: the leaves of its instructions so far. */
struct frame {
    const struct hlo_computation *c;
    struct leaves *values;
    const struct leaves *args;
};

static bool check_leaf(struct hlo_lower *l, int k)
{
    const struct hlo_shape *s = hlo_leaf(l->i->shape, k);
    const struct value *v = l->out.v[k];
    if (!v)
        return fail_internal(l->d, "array %d has no value", k);
    if (l->lanes)
        return v->type.dtype == hlo_type_dtype(s->type) ||
               fail(l->d, "array %d is computed as %s, but its shape says %s", k,
                    dtype_name(v->type.dtype), hlo_type_name(s->type));
    struct type want = hlo_type_of(s);
    if (type_equal(&want, &v->type))
        return true;
    return fail(l->d, "array %d is computed as %s, but its shape says %s", k,
                type_text(&l->g->dims, &l->g->arena, &v->type),
                type_text(&l->g->dims, &l->g->arena, &want));
}

static bool lower_instruction(struct hlo_importer *im, struct region *r, struct frame *f,
                              const struct hlo_instruction *i, bool lanes)
{
    struct leaves *out = &f->values[i->index];
    if (i->opcode == HLO_OP_PARAMETER) {
        *out = f->args[i->parameter];
        return true;
    }
    if (++im->instructions > MAX_INSTRUCTIONS)
        return fail(im->d, "the module has more than %d instructions after inlining its calls",
                    MAX_INSTRUCTIONS);
    struct hlo_lower l = {.im = im, .g = im->g, .r = r, .d = im->d, .i = i, .lanes = lanes};
    l.operands = ARENA_ARRAY(&im->arena, struct leaves, i->operand_count + 1);
    for (int k = 0; k < i->operand_count; k++)
        l.operands[k] = f->values[i->operands[k]->index];
    l.out.count = hlo_leaf_count(i->shape);
    l.out.v = ARENA_ARRAY(&im->arena, struct value *, l.out.count + 1);
    if (!hlo_row(i->opcode)->lower(&l))
        return diag_failed(l.d) ? false : fail_internal(l.d, "lowering failed without a reason");
    for (int k = 0; k < l.out.count; k++)
        if (!check_leaf(&l, k))
            return false;
    *out = l.out;
    return true;
}

static bool import_body(struct hlo_importer *im, struct region *r, const struct hlo_computation *c,
                        const struct leaves *args, bool lanes, struct leaves *result)
{
    const bool *need = hlo_needed(im, c);
    struct frame f = {c, ARENA_ARRAY(&im->arena, struct leaves, c->count + 1), args};
    if (im->depth >= MAX_CALLS)
        return fail(im->d, "computations call each other deeper than %d", MAX_CALLS);
    im->depth++;
    for (int k = 0; k < c->count; k++) {
        const struct hlo_instruction *i = c->instructions[k];
        if (!need[k])
            continue;
        if (!lower_instruction(im, r, &f, i, lanes)) {
            const char *source = hlo_source(im->m, i, &im->arena);
            return im->placed++ ? false
                                : fail_in(im->d, "instruction '%s' (%s)%s%s", i->name,
                                          hlo_op_name(i->opcode), source ? " from " : "",
                                          source ? source : "");
        }
    }
    im->depth--;
    *result = f.values[c->root->index];
    return true;
}

bool hlo_inline(struct hlo_lower *l, const struct hlo_computation *c, const struct leaves *args,
                int nargs, struct leaves *result)
{
    if (nargs != c->parameter_count)
        return HLO_ERROR(l, "computation '%s' has %d parameters, but gets %d", c->name,
                         c->parameter_count, nargs);
    for (int k = 0; k < nargs; k++)
        if (args[k].count != hlo_leaf_count(c->parameters[k]->shape))
            return HLO_ERROR(l, "parameter %d of computation '%s' has %d arrays, but gets %d", k,
                             c->name, hlo_leaf_count(c->parameters[k]->shape), args[k].count);
    return import_body(l->im, l->r, c, args, l->lanes, result);
}

static void end_region(struct graph *g, struct region *r, const struct leaves *results)
{
    node_append(r, node_new(g, OP_return, results->v, results->count, 0, ""));
}

bool hlo_region(struct hlo_lower *l, const struct hlo_computation *c, struct region *r, bool lanes)
{
    struct hlo_importer *im = l->im;
    struct leaves *args = ARENA_ARRAY(&im->arena, struct leaves, c->parameter_count + 1), result;
    dim_t lane = lanes ? dim_fresh(&l->g->dims, "lanes") : 0;
    for (int k = 0; k < c->parameter_count; k++) {
        const struct hlo_instruction *p = c->parameters[k];
        args[k].count = hlo_leaf_count(p->shape);
        args[k].v = ARENA_ARRAY(&im->arena, struct value *, args[k].count + 1);
        for (int j = 0; j < args[k].count; j++) {
            struct type t = hlo_type_of(hlo_leaf(p->shape, j));
            if (lanes)
                t = type_tensor(t.dtype, 1, &lane);
            args[k].v[j] = region_add_param(r, &t, p->name);
        }
    }
    if (!import_body(im, r, c, args, lanes, &result))
        return false;
    end_region(l->g, r, &result);
    return true;
}

bool hlo_admits_lanes(const struct hlo_computation *c)
{
    for (int k = 0; k < c->count; k++) {
        const struct hlo_instruction *i = c->instructions[k];
        bool scalar =
            i->shape->type == HLO_TUPLE || (hlo_is_array(i->shape) && i->shape->rank == 0);
        if (i->opcode != HLO_OP_PARAMETER && !(hlo_row(i->opcode)->flags & HLO_LANES))
            return false;
        if (!scalar)
            return false;
        for (int j = 0; j < i->attr_count; j++)
            if (hlo_attr_info(i->attrs[j].id)->kind == HLO_KIND_COMPUTATION &&
                !hlo_admits_lanes(i->attrs[j].computation))
                return false;
    }
    return true;
}

struct value *hlo_constant(struct hlo_lower *l, const struct hlo_literal *literal)
{
    const struct hlo_shape *s = literal->shape;
    static const char nothing[16];
    if (literal->elided) {
        HLO_ERROR(l, "its values were left out of the file ('{...}'); print the module again with "
                     "large constants");
        return NULL;
    }
    if (s->rank > MAX_RANK) {
        HLO_ERROR(l, "the constant has %d dimensions, expected at most %d", s->rank, MAX_RANK);
        return NULL;
    }
    struct tensor t = tensor_view(hlo_type_dtype(s->type), s->rank, s->dims,
                                  literal->data ? literal->data : (void *)nothing);
    return constant_new(l->g, &t, NULL);
}

/* ---- the module ---- */

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

static bool import_parameters(struct hlo_importer *im, struct leaves *args)
{
    static const char *const keys[] = {"neff_input_name", "neff_input_names", NULL};
    const struct hlo_computation *c = im->m->entry;
    struct arena *a = &im->g->arena;
    for (int k = 0; k < c->parameter_count; k++) {
        const struct hlo_instruction *p = c->parameters[k];
        const char *names = pair_text(p, keys);
        args[k].count = hlo_leaf_count(p->shape);
        args[k].v = ARENA_ARRAY(&im->arena, struct value *, args[k].count + 1);
        for (int j = 0; j < args[k].count; j++) {
            const struct hlo_shape *s = hlo_leaf(p->shape, j);
            struct type t = hlo_type_of(s);
            const char *name = listed(a, names, j);
            if (s->rank > MAX_RANK)
                return fail(im->d, "parameter '%s' has %d dimensions, expected at most %d", p->name,
                            s->rank, MAX_RANK);
            if (!name)
                name = args[k].count == 1 ? arena_strdup(a, p->name)
                                          : arena_printf(a, "%s.%d", p->name, j);
            if (names && taken(im, name, im->g->main->nparams))
                name = arena_printf(a, "%s.%d", name, k);
            args[k].v[j] = region_add_param(im->g->main, &t, name);
        }
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
    for (int k = 0; k < result->count; k++) {
        const char *name = listed(&g->arena, names, k);
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

/* Leaf number of an index into a tuple shape; -1 when there is no such array. */
static int leaf_at(const struct hlo_shape *s, struct hlo_ints index)
{
    int at = 0;
    for (int k = 0; k < index.count; k++) {
        if (s->type != HLO_TUPLE || index.v[k] < 0 || index.v[k] >= s->count)
            return -1;
        for (int e = 0; e < index.v[k]; e++)
            at += hlo_leaf_count(s->elements[e]);
        s = s->elements[index.v[k]];
    }
    return hlo_is_array(s) ? at : -1;
}

static void record_aliases(struct hlo_importer *im)
{
    const struct hlo_aliases *from = &im->m->aliases;
    const struct hlo_computation *c = im->m->entry;
    struct io_alias *list = ARENA_ARRAY(&im->g->arena, struct io_alias, from->count + 1);
    for (int k = 0; k < from->count; k++) {
        const struct hlo_alias *a = &from->v[k];
        if (a->parameter < 0 || a->parameter >= c->parameter_count)
            continue;
        int output = leaf_at(c->root->shape, a->output),
            input = leaf_at(c->parameters[a->parameter]->shape, a->index);
        for (int p = 0; input >= 0 && p < a->parameter; p++)
            input += hlo_leaf_count(c->parameters[p]->shape);
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
        !import_body(im, im->g->main, c, args, false, &result))
        return false;
    end_region(im->g, im->g->main, &result);
    remove_unused(im->g->main);
    record_aliases(im);
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

struct graph *hlo_import(const char *path, const struct import_options *o, struct diag *d)
{
    struct hlo_file *f = calloc(1, sizeof *f);
    struct graph *g = graph_new();
    struct hlo_importer im = {.g = g, .d = d};
    g->release = release_file;
    g->release_arg = f;
    bool ok = f || fail(d, "out of memory");
    ok = ok && hlo_load(f, path, d) && one_module(f, d) && hlo_verify(f->modules[0], d);
    if (ok) {
        im.m = f->modules[0];
        ok = import_module(&im);
    }
    arena_free(&im.arena);
    if (!ok) {
        graph_free(g);
        return NULL;
    }
    return g;
}
