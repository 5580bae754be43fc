/*
 * Nodes of the model, its subgraphs and its functions: operands by their names, attributes, then
 * the operator's lowering. Lowering functions call this for subgraphs, so it knows none of them:
 * the importer's state has the way to find them.
 */
#include "frontend/onnx/attributes.h"
#include "frontend/onnx/importer.h"
#include "frontend/custom_call.h"
#include "frontend/onnx/sort.h"
#include "neff/core/signature.h"
#include "passes/pass.h"

#include <string.h>

/* ---- nodes ---- */

static bool resolve_inputs(struct onnx_node *n)
{
    n->nin = (int)n->proto->n_input;
    n->in = ARENA_ARRAY(&n->b->g->arena, struct value *, n->nin + SPARE_INPUTS);
    for (int i = 0; i < n->nin; i++) {
        const char *name = n->proto->input[i];
        if (!*name)
            continue;
        n->in[i] = scope_find(n->scope, name);
        if (!n->in[i] && !scope_has(n->scope, name))
            return NODE_ERROR(
                n,
                "input %d, '%.200s', is not computed by an earlier node; the graph has a "
                "cycle or lacks a node",
                i, name);
    }
    while (n->nin > 0 && !n->in[n->nin - 1])
        n->nin--;
    return true;
}

static void prepare_outputs(struct onnx_node *n)
{
    n->nout = (int)n->proto->n_output;
    while (n->nout > 0 && !*n->proto->output[n->nout - 1])
        n->nout--;
    n->out = ARENA_ARRAY(&n->b->g->arena, struct value *, n->nout + 1);
    n->wanted = ARENA_ARRAY(&n->b->g->arena, bool, n->nout + 1);
    for (int i = 0; i < n->nout; i++)
        n->wanted[i] = *n->proto->output[i] != 0;
}

static bool define_outputs(struct onnx_node *n)
{
    for (int i = 0; i < n->nout; i++) {
        if (!n->wanted[i])
            continue;
        struct value *v = n->out[i];
        if (!v)
            return NODE_ERROR(n, "output %d, '%.200s', is not computed", i, n->proto->output[i]);
        if (!scope_define(n->scope, n->proto->output[i], v))
            return NODE_ERROR(n, "output '%.200s' is defined a second time", n->proto->output[i]);
        if (!v->name)
            v->name =
                arena_printf(&n->b->g->arena, "%s%s", n->scope->frame->prefix, n->proto->output[i]);
    }
    return true;
}

static bool check_arity(struct onnx_node *n, const struct schema *s)
{
    if (n->nin < s->min_in || (s->max_in >= 0 && n->nin > s->max_in))
        return NODE_ERROR(n, "%d inputs, expected %d to %d", n->nin, s->min_in, s->max_in);
    if (s->max_out >= 0 && n->nout > s->max_out)
        return NODE_ERROR(n, "%d outputs, expected at most %d", n->nout, s->max_out);
    for (int i = 0; i < s->min_in && s->max_in >= 0; i++)
        if (!n->in[i])
            return NODE_ERROR(n, "input %d is left out, this operator needs it", i);
    return true;
}

/* The types that any version admits; core operators check what they compute with. */
static bool check_types(struct onnx_node *n, const struct schema *s)
{
    struct signature signature;
    struct type *types = ARENA_ARRAY(&n->b->g->arena, struct type, n->nin + 1);
    if (!signature_parse(s->types, &signature))
        return fail_internal(n->b->d, "'%s' is not a signature", s->types);
    for (int i = 0; i < n->nin; i++)
        types[i] = n->in[i] ? n->in[i]->type : (struct type){.kind = VK_NONE};
    return signature_check(&signature, types, n->nin, n->b->d);
}

/*
 * PyTorch's exporter folds batch normalisations of bf16 into weights of f32, which the standard does not
 * admit beside data of bf16. The model's own weights were bf16 too.
 */
static void round_folded_weights(struct onnx_node *n)
{
    bool product = !strcmp(n->op, "Conv") || !strcmp(n->op, "ConvTranspose") || !strcmp(n->op, "Gemm");
    if (*n->domain || !product || n->nin < 2 || b_dtype(n->in[0]) != DT_BF16)
        return;
    for (int i = 1; i < n->nin; i++) {
        if (!n->in[i] || !n->in[i]->constant || b_dtype(n->in[i]) != DT_F32)
            continue;
        if (!n->im->rounded)
            warn(n->im->d,
                 "%s: node '%.200s' (%s) has data of bf16 and weights of f32, as PyTorch's exporter folds "
                 "batch normalisations; such weights are rounded to bf16", n->im->file->path, n->b->name, n->op);
        n->im->rounded = true;
        n->in[i] = b_cast(n->b, n->in[i], DT_BF16);
    }
}

static bool function_inline(struct onnx_node *n, struct function *f);

/* An operator that the user brings. */
static bool lower_custom(struct onnx_node *n, const struct custom_operator *op)
{
    if (!attributes_convert(n, NULL))
        return false;
    struct node *node = b_place(n->b, OP_custom, n->in, n->nin, n->nout, &n->attrs);
    if (!node || !custom_become(n->b->g, node, n->im->options, op, n->b->d))
        return false;
    node->source = op->full;
    if (!b_infer(n->b, node))
        return false;
    for (int i = 0; i < n->nout; i++)
        n->out[i] = node->out[i];
    return define_outputs(n);
}

static bool lower(struct onnx_node *n)
{
    struct function *f = function_find(n->im, n->proto);
    const struct custom_operator *custom =
        custom_lookup(n->im->options, n->domain, n->op, n->version);
    if (f && (custom || kernel_of_node(n->im, n->proto)))
        f = NULL; /* the function says what it computes */
    if (!resolve_inputs(n))
        return false;
    prepare_outputs(n);
    if (f)
        return function_inline(n, f) && define_outputs(n);
    if (custom)
        return lower_custom(n, custom);
    n->im->learner |= !strcmp(n->domain, "ai.onnx.ml");
    const struct schema *s = schema_find(n->domain, n->op);
    struct onnx_lowering how = n->im->find(n->domain, n->op, n->version);
    round_folded_weights(n);
    if (!how.lower)
        return NODE_ERROR(n, "the operator is not supported at version %d", n->version);
    if ((s && (!check_arity(n, s) || !check_types(n, s))) || !attributes_convert(n, s))
        return false;
    if (!how.lower(n))
        return diag_failed(n->b->d) ? false : fail_internal(n->b->d, "lowering failed without a reason");
    return define_outputs(n);
}

static bool import_node(struct importer *im, struct region *r, struct scope *s,
                        const Onnx__NodeProto *proto)
{
    struct arena *a = &im->g->arena;
    int64_t max = MAX_NODES + (int64_t)im->file->map.size;
    if (++im->nnodes > max)
        return fail(im->d,
                    "more than %lld nodes after inlining functions, from a file of %zu bytes",
                    (long long)max, im->file->map.size);
    const char *name = proto->name && *proto->name ? proto->name
                       : proto->n_output           ? proto->output[0]
                                                   : "";
    struct onnx_node n = {
        .im = im,
        .b = {{.g = im->g, .r = r, .d = im->d}},
        .scope = s,
        .proto = proto,
        .op = proto->op_type ? proto->op_type : "",
        .domain = domain_name(proto->domain),
    };
    n.b->name = arena_printf(a, "%s%s", s->frame->prefix, name);
    n.b->source = arena_strdup(a, n.op);
    n.version = opset_version(s->frame->opsets, s->frame->nopsets, n.domain);
    if (lower(&n))
        return true;
    if (!strncmp(im->d->text, "node '", 6))
        return false; /* a node inside a function, or inference, has said where */
    return fail_in(im->d, "node '%.300s' (%.80s)", n.b->name, n.op);
}

bool import_nodes(struct importer *im, struct region *r, struct scope *s,
                  Onnx__NodeProto *const *nodes, size_t n)
{
    nodes = nodes_in_order(&im->g->arena, nodes, n);
    for (size_t i = 0; i < n; i++)
        if (!import_node(im, r, s, nodes[i]))
            return false;
    return true;
}

/* ---- functions, inlined where they are called ---- */

static int find_actual(const struct actual *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(list[i].name, name))
            return i;
    return -1;
}

/* The call's attributes, then the defaults of those that it leaves out. */
static void bind_attributes(struct onnx_node *n, const struct function *f, struct frame *frame)
{
    struct arena *a = &n->b->g->arena;
    struct actual *list =
        ARENA_ARRAY(a, struct actual, n->proto->n_attribute + (size_t)f->ndefaults);
    int count = 0;
    for (size_t i = 0; i < n->proto->n_attribute; i++) {
        if (!n->proto->attribute[i]->name)
            continue;
        struct resolved r = attribute_resolve(n, n->proto->attribute[i]);
        if (r.proto)
            list[count++] = (struct actual){r.name, r.proto, r.scope};
    }
    for (int i = 0; i < f->ndefaults; i++)
        if (find_actual(list, count, f->defaults[i]->name) < 0)
            list[count++] = (struct actual){f->defaults[i]->name, f->defaults[i], n->scope};
    frame->actuals = list;
    frame->nactuals = count;
}

static bool check_call(struct onnx_node *n, const struct function *f)
{
    const struct frame *caller = n->scope->frame;
    for (const struct frame *at = caller; at; at = at->caller)
        if (at->function == f)
            return NODE_ERROR(n, "function '%s' calls itself; recursion is not allowed", f->name);
    if (caller->depth >= MAX_CALL_DEPTH)
        return NODE_ERROR(n, "functions call each other more than %d deep", MAX_CALL_DEPTH);
    if (n->proto->n_input > f->proto->n_input || n->proto->n_output > f->proto->n_output)
        return NODE_ERROR(n, "%zu inputs and %zu outputs given, function '%s' has %zu and %zu",
                          n->proto->n_input, n->proto->n_output, f->name, f->proto->n_input,
                          f->proto->n_output);
    return true;
}

static bool function_inline(struct onnx_node *n, struct function *f)
{
    struct arena *a = &n->b->g->arena;
    if (!check_call(n, f))
        return false;
    struct frame *frame = ARENA_NEW(a, struct frame);
    *frame = (struct frame){.opsets = f->opsets,
                            .nopsets = f->nopsets,
                            .function = f,
                            .caller = n->scope->frame,
                            .depth = n->scope->frame->depth + 1};
    frame->prefix = arena_printf(a, "%.400s/", n->b->name);
    bind_attributes(n, f, frame);
    struct scope *s = scope_new(a, NULL, frame);
    for (size_t i = 0; i < f->proto->n_input; i++)
        if (!scope_define(s, f->proto->input[i], (int)i < n->nin ? n->in[i] : NULL))
            return NODE_ERROR(n, "function '%s' has two inputs '%s'", f->name, f->proto->input[i]);
    if (!import_nodes(n->im, n->b->r, s, f->proto->node, f->proto->n_node))
        return false;
    for (int i = 0; i < n->nout; i++) {
        n->out[i] = scope_find(s, f->proto->output[i]);
        if (!n->out[i] && n->wanted[i])
            return NODE_ERROR(n, "function '%s' does not compute its output '%s'", f->name,
                              f->proto->output[i]);
    }
    return true;
}

/* ---- initializers ---- */

/* The tensor as a constant of that name in the scope; *t is moved from when it owns memory. */
static bool define_constant(struct importer *im, struct scope *s, const char *name,
                            struct tensor *t)
{
    struct graph *g = im->g;
    const struct tensor *kept = t->owned ? onnx_file_keep(im->file, t, im->d) : t;
    if (!kept)
        return false;
    const char *full = arena_printf(&g->arena, "%s%s", s->frame->prefix, name);
    struct value *v = constant_new(g, kept, full);
    return scope_define(s, name, v) || fail(im->d, "initializer '%.200s' is given twice", name);
}

bool import_initializers(struct importer *im, struct scope *s, const Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_initializer; i++) {
        const Onnx__TensorProto *t = graph->initializer[i];
        const char *name = t->name ? t->name : "";
        struct tensor read;
        if (!*name)
            return fail(im->d, "initializer %zu has no name", i);
        if (!onnx_tensor(im->file, t, &read, im->d))
            return fail_in(im->d, "initializer '%.200s'", name);
        if (!define_constant(im, s, name, &read))
            return false;
    }
    for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
        const Onnx__SparseTensorProto *t = graph->sparse_initializer[i];
        const char *name = t->values && t->values->name ? t->values->name : "";
        struct tensor read;
        if (!*name)
            return fail(im->d, "sparse initializer %zu has no name", i);
        if (!onnx_sparse_tensor(im->file, t, &read, im->d))
            return fail_in(im->d, "sparse initializer '%.200s'", name);
        if (!define_constant(im, s, name, &read))
            return false;
    }
    return true;
}

/* ---- subgraphs ---- */

static bool find_subgraph(struct onnx_node *n, const char *attribute, struct subgraph *s)
{
    for (size_t i = 0; i < n->proto->n_attribute; i++) {
        const Onnx__AttributeProto *a = n->proto->attribute[i];
        if (!a->name || strcmp(a->name, attribute))
            continue;
        struct resolved r = attribute_resolve(n, a);
        if (r.proto && r.proto->g) {
            *s = (struct subgraph){r.proto->g, r.scope};
            return true;
        }
    }
    return false;
}

bool node_has_subgraph(struct onnx_node *n, const char *attribute)
{
    struct subgraph s;
    return find_subgraph(n, attribute, &s);
}

bool node_subgraph(struct onnx_node *n, const char *attribute, struct subgraph *s)
{
    return find_subgraph(n, attribute, s) ||
           NODE_ERROR(n, "attribute '%s' is missing, expected a graph", attribute);
}

static bool enter(struct onnx_node *n)
{
    if (n->im->depth >= MAX_GRAPH_DEPTH)
        return NODE_ERROR(n, "subgraphs are nested more than %d deep", MAX_GRAPH_DEPTH);
    n->im->depth++;
    return true;
}

static const char *input_name(const Onnx__ValueInfoProto *v)
{
    return v->name ? v->name : "";
}

/* Nodes of a subgraph whose inputs are defined already, and its results. */
static bool import_body(struct onnx_node *n, const struct subgraph *s, struct region *r,
                        struct scope *scope, struct value **results)
{
    const Onnx__GraphProto *graph = s->graph;
    if (!import_initializers(n->im, scope, graph) ||
        !import_nodes(n->im, r, scope, graph->node, graph->n_node))
        return false;
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *name = input_name(graph->output[i]);
        results[i] = scope_find(scope, name);
        if (!results[i])
            return NODE_ERROR(n, "the subgraph does not compute its output '%.200s'", name);
    }
    return true;
}

/*
 * A parameter of a region as the subgraph declares it. The number of a turn and the condition are scalars; subgraphs
 * that declare them as [1] get them so, as in ONNX Runtime.
 */
static struct value *parameter(struct onnx_node *n, struct region *r, const struct type *declared,
                               const struct type *given, const char *name)
{
    if (declared->kind != VK_TENSOR || declared->rank != 1 || declared->dims[0] != 1 ||
        given->kind != VK_TENSOR || given->rank != 0)
        return region_add_param(r, declared, name);
    struct builder b = n->b[0];
    b.r = r;
    static const int64_t one[] = {1};
    return b_reshape_to(&b, region_add_param(r, given, name), one, 1);
}

bool import_region(struct onnx_node *n, const struct subgraph *s, struct region *r,
                   const struct type *types, int nparams)
{
    const Onnx__GraphProto *graph = s->graph;
    if ((int)graph->n_input != nparams)
        return NODE_ERROR(n, "the subgraph '%.100s' has %zu inputs, expected %d",
                          graph->name ? graph->name : "", graph->n_input, nparams);
    if (!enter(n))
        return false;
    struct scope *scope = scope_new(&n->b->g->arena, s->scope, s->scope->frame);
    bool ok = true;
    for (int i = 0; ok && i < nparams; i++) {
        const char *name = arena_strdup(&n->b->g->arena, input_name(graph->input[i]));
        struct type t;
        ok = onnx_type(&n->im->dims, graph->input[i]->type, NULL, &t, n->b->d);
        if (ok && (t.kind == VK_NONE || (t.kind == VK_TENSOR && t.dtype == DT_NONE)))
            t = types[i];
        else if (ok && t.kind == VK_TENSOR && t.rank < 0 && types[i].kind == VK_TENSOR)
            t = types[i];
        ok = ok && (scope_define(scope, name, parameter(n, r, &t, &types[i], name)) ||
                    NODE_ERROR(n, "the subgraph has two inputs '%.200s'", name));
    }
    struct value **results = ARENA_ARRAY(&n->b->g->arena, struct value *, graph->n_output + 1);
    ok = ok && import_body(n, s, r, scope, results);
    if (ok)
        node_append(r, node_new(n->b->g, OP_return, results, (int)graph->n_output, 0, ""));
    n->im->depth--;
    return ok;
}

bool import_inline(struct onnx_node *n, const struct subgraph *s, struct value *const *args,
                   int nargs, struct value **results, int nresults)
{
    const Onnx__GraphProto *graph = s->graph;
    if ((int)graph->n_input != nargs || (int)graph->n_output != nresults)
        return NODE_ERROR(n, "the subgraph has %zu inputs and %zu outputs, expected %d and %d",
                          graph->n_input, graph->n_output, nargs, nresults);
    if (!enter(n))
        return false;
    struct scope *scope = scope_new(&n->b->g->arena, s->scope, s->scope->frame);
    bool ok = true;
    for (int i = 0; ok && i < nargs; i++)
        ok = scope_define(scope, input_name(graph->input[i]), args[i]) ||
             NODE_ERROR(n, "the subgraph has two inputs '%.200s'", input_name(graph->input[i]));
    ok = ok && import_body(n, s, n->b->r, scope, results);
    n->im->depth--;
    return ok;
}

bool subgraph_output_type(struct onnx_node *n, const struct subgraph *s, int i, struct type *t)
{
    *t = (struct type){.kind = VK_NONE};
    return i >= (int)s->graph->n_output ||
           onnx_type(&n->im->dims, s->graph->output[i]->type, NULL, t, n->b->d);
}

int64_t subgraph_input_dim(const struct subgraph *s, int i, int axis, int rank)
{
    const Onnx__TypeProto *t = i < (int)s->graph->n_input ? s->graph->input[i]->type : NULL;
    const Onnx__TensorShapeProto *shape =
        t && t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? t->tensor_type->shape : NULL;
    if (!shape || (int)shape->n_dim != rank ||
        shape->dim[axis]->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
        return -1;
    return shape->dim[axis]->dim_value;
}

struct value *node_sparse_constant(struct onnx_node *n, const char *attribute)
{
    for (size_t i = 0; i < n->proto->n_attribute; i++) {
        struct resolved r = attribute_resolve(n, n->proto->attribute[i]);
        struct tensor t;
        if (!r.name || strcmp(r.name, attribute) || !r.proto || !r.proto->sparse_tensor)
            continue;
        if (!onnx_sparse_tensor(n->im->file, r.proto->sparse_tensor, &t, n->b->d))
            return NULL;
        const struct tensor *kept = onnx_file_keep(n->im->file, &t, n->b->d);
        return kept ? constant_new(n->b->g, kept, NULL) : NULL;
    }
    return NULL;
}
