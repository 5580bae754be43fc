/* A model file to a graph, by its content and name. */
#include "frontend/driver.h"

#include "frontend/bind_parameters.h"
#include "frontend/foreign.h"
#include "frontend/hlo/syntax/hlo.h"
#include "frontend/onnx/onnx.h"
#include "frontend/stablehlo/stablehlo.h"
#include "neff/base/file.h"

#include <stdio.h>
#include <string.h>

static struct graph *load_text(const char *path, struct diag *d)
{
    struct mapped_file f;
    if (!file_map(&f, path, d))
        return NULL;
    struct graph *g = graph_parse((const char *)f.data, f.size, path, d);
    file_unmap(&f);
    return g;
}

/* --shape of a graph that is given as text: dims of an input, or of a symbol. */
static bool bind_text(struct graph *g, const struct import_options *o, struct diag *d)
{
    for (int s = 0; o && s < o->nshapes; s++) {
        struct shape_binding *b = &o->shapes[s];
        dim_t *with = ARENA_ARRAY(&g->arena, dim_t, g->dims.nsymbols + 1);
        for (int i = 0; i < g->dims.nsymbols; i++) {
            bool named = b->rank == 1 && b->dims[0] >= 0 && !g->dims.symbols[i].runtime &&
                         !strcmp(g->dims.symbols[i].name, b->name);
            with[i] = named ? b->dims[0] : DIM_NOT_BOUND;
            b->used |= named;
        }
        for (int i = 0; i < g->main->nparams; i++) {
            struct value *v = g->main->params[i];
            bool named = v->name && !strcmp(v->name, b->name);
            b->used |= named;
            if (named && v->type.rank >= 0 && v->type.rank != b->rank)
                return fail(d, "--shape %s: %d dims given, the input has %d", b->name, b->rank,
                            v->type.rank);
            for (int k = 0; k < v->type.rank; k++)
                v->type.dims[k] = named && b->dims[k] >= 0
                                      ? b->dims[k]
                                      : dim_substitute(&g->dims, v->type.dims[k], with);
        }
    }
    return true;
}

/* Every --shape has found its input or dim; else says what there is. */
static bool shapes_used(struct graph *g, const struct import_options *o, struct diag *d)
{
    for (int s = 0; o && s < o->nshapes; s++) {
        if (o->shapes[s].used)
            continue;
        char list[1024];
        size_t n = 0;
        list[0] = 0;
        for (int i = 0; i < g->main->nparams && n < sizeof list; i++)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%s %s", i ? ", " : "",
                                  g->main->params[i]->name,
                                  type_text(&g->dims, &g->arena, &g->main->params[i]->type));
        return fail(d, "--shape %s: no input and no symbolic dim has that name; the inputs are %s",
                    o->shapes[s].name, list);
    }
    return true;
}

static struct graph *load_any(const char *path, const struct import_options *o, struct diag *d)
{
    if (name_ends_with(path, ".xir")) {
        struct graph *g = load_text(path, d);
        if (!g || (bind_text(g, o, d) && custom_complete(g, o, d)))
            return g;
        graph_free(g);
        return NULL;
    }
    struct mapped_file f;
    if (!foreign_check_folder(path, d) || !file_map(&f, path, d))
        return NULL;
    bool stablehlo = stablehlo_detect(f.data, f.size);
    bool known = stablehlo || foreign_check(path, f.data, f.size, d);
    bool hlo = !stablehlo && hlo_detect(f.data, f.size);
    if (known && !stablehlo && !hlo)
        known = foreign_check_text(f.data, f.size, d);
    file_unmap(&f);
    if (!known)
        return NULL;
    if (stablehlo)
        return stablehlo_import(path, o, d);
    return hlo ? hlo_import(path, o, d) : onnx_import(path, o, d);
}

struct graph *load_model(const char *path, const struct import_options *o, struct diag *d)
{
    for (int s = 0; o && s < o->nshapes; s++)
        o->shapes[s].used = false; /* of this model */
    struct graph *g = custom_load(o ? o->custom : NULL, d) ? load_any(path, o, d) : NULL;
    if (g && (!shapes_used(g, o, d) || !bind_parameters(g, o, d))) {
        graph_free(g);
        return NULL;
    }
    return g;
}
