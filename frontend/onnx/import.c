/*
 * ONNX models to graphs: inputs, outputs and versions, and between them the nodes (nodes.c).
 */
#include "frontend/onnx/importer.h"
#include "passes/pass.h"

#include <stdlib.h>
#include <string.h>

static bool import_inputs(struct importer *im, struct scope *s, const Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_input; i++) {
        const Onnx__ValueInfoProto *v = graph->input[i];
        struct type t;
        if (!v->name || !*v->name)
            return fail(im->d, "input %zu has no name", i);
        if (scope_find(s, v->name))
            continue; /* an initializer: a constant, whatever the model's caller might give */
        const char *name = arena_strdup(&im->g->arena, v->name);
        if (!onnx_type(&im->dims, v->type, name, &t, im->d) ||
            !onnx_bind_input(&im->dims, name, im->options, &t, im->d))
            return fail_in(im->d, "input '%.200s'", name);
        if (t.kind == VK_NONE)
            return fail(im->d, "input '%.200s' has no type, expected one", name);
        if (!scope_define(s, name, region_add_param(im->g->main, &t, name)))
            return fail(im->d, "input '%.200s' is declared twice", name);
    }
    return true;
}

/* A value that may be an optional where the model declares what it holds: unwrapped. */
static struct value *as_declared(struct importer *im, struct value *v,
                                 const Onnx__TypeProto *declared)
{
    struct type t;
    if (v->type.kind != VK_OPTIONAL)
        return v;
    if (!onnx_type(&im->dims, declared, NULL, &t, im->d))
        return NULL;
    if (t.kind == VK_NONE || t.kind == VK_OPTIONAL)
        return v;
    struct node *get = node_new(im->g, OP_optional_get, &v, 1, 1, "");
    node_append(im->g->main, get);
    return infer_node(im->g, get, im->d) ? get->out[0] : NULL;
}

static bool import_outputs(struct importer *im, struct scope *s, const Onnx__GraphProto *graph)
{
    struct graph *g = im->g;
    int n = (int)graph->n_output;
    struct value **results = ARENA_ARRAY(&g->arena, struct value *, n + 1);
    g->output_names = ARENA_ARRAY(&g->arena, const char *, n + 1);
    g->noutputs = n;
    for (int i = 0; i < n; i++) {
        const char *name = graph->output[i]->name ? graph->output[i]->name : "";
        g->output_names[i] = arena_strdup(&g->arena, name);
        results[i] = scope_find(s, name);
        if (!results[i])
            return fail(im->d, "output '%.200s' is not computed by any node", name);
        results[i] = as_declared(im, results[i], graph->output[i]->type);
        if (!results[i])
            return fail_in(im->d, "output '%.200s'", name);
    }
    node_append(g->main, node_new(g, OP_return, results, n, 0, ""));
    return true;
}

static bool keep_product(struct node *n, void *g)
{
    if (n->op == OP_matmul || n->op == OP_gemm)
        attr_set_int(&((struct graph *)g)->arena, &n->attrs, "keep_fp32", 1);
    return true;
}

/*
 * Converters of classical models write products as MatMul and only what chooses the label in
 * ai.onnx.ml: those models are small and end in a threshold, where any rounding can turn a label over.
 */
static bool keep_learner(struct importer *im)
{
    return !im->learner || region_walk(im->g->main, keep_product, im->g);
}

static bool check_versions(struct importer *im, const struct frame *frame)
{
    const Onnx__ModelProto *m = im->file->model;
    if (m->has_ir_version && (m->ir_version < 1 || m->ir_version > 1000))
        return fail(im->d, "IR version %lld, expected 1 to %d; is this an ONNX model?",
                    (long long)m->ir_version, NEWEST_IR);
    if (m->ir_version > NEWEST_IR)
        warn(im->d, "%s: IR version %lld is newer than %d, the newest known", im->file->path,
             (long long)m->ir_version, NEWEST_IR);
    int version = opset_version(frame->opsets, frame->nopsets, "");
    if (version > NEWEST_OPSET)
        warn(im->d,
             "%s: operator set %d is newer than %d, the newest known; its operators are taken to "
             "mean what they meant there",
             im->file->path, version, NEWEST_OPSET);
    return true;
}

static bool import_model(struct importer *im)
{
    const Onnx__ModelProto *model = im->file->model;
    const Onnx__GraphProto *graph = model->graph;
    struct arena *a = &im->g->arena;
    struct frame *frame = ARENA_NEW(a, struct frame);
    *frame = (struct frame){.prefix = ""};
    if (model->n_opset_import == 0) { /* IR versions 1 and 2 had one operator set */
        static const struct opset first = {"", 1};
        frame->opsets = &first;
        frame->nopsets = 1;
    } else {
        frame->opsets = opsets_read(a, model->opset_import, model->n_opset_import, &frame->nopsets);
    }
    struct scope *s = scope_new(a, NULL, frame);
    im->g->name = arena_strdup(a, graph->name ? graph->name : "");
    im->g->producer = arena_strdup(a, model->producer_name ? model->producer_name : "");
    return check_versions(im, frame) && functions_read(im) &&
           check_operators(im, graph, frame->opsets, frame->nopsets) &&
           onnx_bind_shapes(&im->dims, graph, im->options, im->d) &&
           import_initializers(im, s, graph) && import_inputs(im, s, graph) &&
           import_nodes(im, im->g->main, s, graph->node, graph->n_node) &&
           import_outputs(im, s, graph) && keep_learner(im);
}

static void close_file(void *file)
{
    onnx_file_close(file);
}

struct graph *onnx_import(const char *path, const struct import_options *o, struct diag *d)
{
    struct onnx_file *file = onnx_file_open(path, d);
    if (!file)
        return NULL;
    struct graph *g = graph_new();
    g->release = close_file;
    g->release_arg = file;
    struct importer im = {
        .g = g, .file = file, .options = o, .d = d, .dims = {.g = g}, .find = lowering_find};
    bool ok = import_model(&im);
    for (int i = 0; i < im.nunpacked; i++)
        onnx__attribute_proto__free_unpacked(im.unpacked[i], NULL);
    onnx_file_drop_message(file);
    if (!ok) {
        fail_in(d, "%s", path);
        graph_free(g);
        return NULL;
    }
    return g;
}
