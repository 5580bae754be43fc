/* Importing: functions, external data, bindings, initializers, and messages. Models are made here.
 */
#include "frontend/onnx/onnx.h"
#include "passes/pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static struct arena arena;
static char folder[64];

/* ---- making models ---- */

#define LIST(T, ...)                                                                               \
    (T[])                                                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define NEW(T, init) ((T *)new_message(sizeof(T), &(T)init))

static void *new_message(size_t size, const void *init)
{
    return arena_copy(&arena, init, size);
}

static char **names(const char *text, size_t *n)
{
    char **list = ARENA_ARRAY(&arena, char *, 16);
    char *copy = arena_strdup(&arena, text);
    *n = 0;
    for (char *at = strtok(copy, " "); at; at = strtok(NULL, " "))
        list[(*n)++] = strcmp(at, "-") ? at : ""; /* left out */
    return list;
}

static Onnx__NodeProto *node(const char *domain, const char *op, const char *in, const char *out)
{
    Onnx__NodeProto *n = NEW(Onnx__NodeProto, ONNX__NODE_PROTO__INIT);
    n->op_type = (char *)op;
    n->domain = (char *)domain;
    n->input = names(in, &n->n_input);
    n->output = names(out, &n->n_output);
    return n;
}

static Onnx__AttributeProto *attribute(Onnx__NodeProto *n, const char *name, int type)
{
    Onnx__AttributeProto *a = NEW(Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);
    a->name = (char *)name;
    a->has_type = 1;
    a->type = (Onnx__AttributeProto__AttributeType)type;
    if (n) {
        Onnx__AttributeProto **list =
            ARENA_ARRAY(&arena, Onnx__AttributeProto *, n->n_attribute + 1);
        for (size_t i = 0; i < n->n_attribute; i++)
            list[i] = n->attribute[i];
        list[n->n_attribute++] = a;
        n->attribute = list;
    }
    return a;
}

static Onnx__AttributeProto *float_attribute(Onnx__NodeProto *n, const char *name, float v)
{
    Onnx__AttributeProto *a = attribute(n, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    a->has_f = 1;
    a->f = v;
    return a;
}

/* f32 of rank 2: a dim_param, and a dim without a name. */
static Onnx__ValueInfoProto *matrix(const char *name, const char *rows)
{
    Onnx__ValueInfoProto *v = NEW(Onnx__ValueInfoProto, ONNX__VALUE_INFO_PROTO__INIT);
    Onnx__TypeProto *t = NEW(Onnx__TypeProto, ONNX__TYPE_PROTO__INIT);
    Onnx__TypeProto__Tensor *tensor = NEW(Onnx__TypeProto__Tensor, ONNX__TYPE_PROTO__TENSOR__INIT);
    Onnx__TensorShapeProto *shape = NEW(Onnx__TensorShapeProto, ONNX__TENSOR_SHAPE_PROTO__INIT);
    v->name = (char *)name;
    v->type = t;
    t->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    t->tensor_type = tensor;
    tensor->has_elem_type = 1;
    tensor->elem_type = DT_F32;
    tensor->shape = shape;
    shape->n_dim = 2;
    shape->dim = ARENA_ARRAY(&arena, Onnx__TensorShapeProto__Dimension *, 2);
    for (int i = 0; i < 2; i++)
        shape->dim[i] =
            NEW(Onnx__TensorShapeProto__Dimension, ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT);
    shape->dim[0]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    shape->dim[0]->dim_param = (char *)rows;
    return v;
}

static Onnx__TensorProto *floats(const char *name, int64_t n)
{
    Onnx__TensorProto *t = NEW(Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);
    t->name = (char *)name;
    t->has_data_type = 1;
    t->data_type = DT_F32;
    t->n_dims = 1;
    t->dims = arena_copy(&arena, &n, sizeof n);
    return t;
}

struct imported_model {
    Onnx__ModelProto model;
    Onnx__GraphProto graph;
    Onnx__OperatorSetIdProto opsets[2], *opset_list[2];
    Onnx__NodeProto *nodes[8];
    Onnx__ValueInfoProto *inputs[4], *outputs[4];
    Onnx__TensorProto *tensors[4];
    Onnx__FunctionProto *functions[4];
};

static struct imported_model *new_model(void)
{
    struct imported_model *m = ARENA_NEW(&arena, struct imported_model);
    m->model = (Onnx__ModelProto)ONNX__MODEL_PROTO__INIT;
    m->graph = (Onnx__GraphProto)ONNX__GRAPH_PROTO__INIT;
    m->model.graph = &m->graph;
    m->model.has_ir_version = 1;
    m->model.ir_version = 9;
    for (int i = 0; i < 2; i++) {
        m->opsets[i] = (Onnx__OperatorSetIdProto)ONNX__OPERATOR_SET_ID_PROTO__INIT;
        m->opset_list[i] = &m->opsets[i];
        m->opsets[i].domain = i ? "own" : "";
        m->opsets[i].has_version = 1;
        m->opsets[i].version = i ? 1 : 18;
    }
    m->model.n_opset_import = 2;
    m->model.opset_import = m->opset_list;
    m->graph.name = "g";
    m->graph.node = m->nodes;
    m->graph.input = m->inputs;
    m->graph.output = m->outputs;
    m->graph.initializer = m->tensors;
    m->model.functions = m->functions;
    m->inputs[m->graph.n_input++] = matrix("x", "batch size");
    m->outputs[m->graph.n_output++] = matrix("y", "batch size");
    return m;
}

static void add(struct imported_model *m, Onnx__NodeProto *n)
{
    m->nodes[m->graph.n_node++] = n;
}

static struct graph *import(struct imported_model *m, const struct import_options *o, struct diag *d)
{
    size_t n = onnx__model_proto__get_packed_size(&m->model);
    uint8_t *bytes = arena_alloc(&arena, n);
    onnx__model_proto__pack(&m->model, bytes);
    const char *path = arena_printf(&arena, "%s/model.onnx", folder);
    *d = (struct diag){0};
    assert_true(file_write_all(path, bytes, n, d));
    struct graph *g = onnx_import(path, o, d);
    if (g && !graph_verify(g, "import", d))
        fail_msg("%s", d->text);
    return g;
}

static float run(struct graph *g, float x)
{
    struct diag d = {0};
    struct tensor in = tensor_view(DT_F32, 2, (int64_t[]){1, 1}, &x), out = {.kind = VK_NONE};
    if (!interpret(g, g->main, &in, 1, &out, 1, NULL, &d))
        fail_msg("%s", d.text);
    float y = ((float *)out.data)[0];
    tensor_free(&out);
    return y;
}

/* ---- tests ---- */

/* The field of FunctionProto that the packaged onnx.proto lacks. */
static void set_default(Onnx__FunctionProto *f, const Onnx__AttributeProto *a)
{
    ProtobufCMessageUnknownField *u = ARENA_NEW(&arena, ProtobufCMessageUnknownField);
    size_t n = onnx__attribute_proto__get_packed_size(a);
    u->tag = 11;
    u->wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
    u->len = n + 1;
    u->data = arena_alloc(&arena, n + 1);
    u->data[0] = (uint8_t)n;
    onnx__attribute_proto__pack(a, u->data + 1);
    f->base.n_unknown_fields = 1;
    f->base.unknown_fields = u;
}

/* own.Scale(x; factor = 3) = x * factor, own.Twice(x) = Scale(Scale(x; 2)) */
static void add_functions(struct imported_model *m)
{
    Onnx__FunctionProto *scale = NEW(Onnx__FunctionProto, ONNX__FUNCTION_PROTO__INIT);
    Onnx__FunctionProto *twice = NEW(Onnx__FunctionProto, ONNX__FUNCTION_PROTO__INIT);
    Onnx__NodeProto *constant = node("", "Constant", "", "c");
    attribute(constant, "value_float", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT)
        ->ref_attr_name = "factor";
    Onnx__NodeProto *inner = node("own", "Scale", "a", "b");
    float_attribute(inner, "factor", 2);
    scale->name = "Scale";
    scale->domain = twice->domain = "own";
    twice->name = "Twice";
    scale->input = names("v", &scale->n_input);
    scale->output = names("w", &scale->n_output);
    scale->n_node = twice->n_node = 2;
    scale->node = arena_copy(&arena, LIST(Onnx__NodeProto *, constant, node("", "Mul", "v c", "w")),
                             2 * sizeof(Onnx__NodeProto *));
    twice->input = names("a", &twice->n_input);
    twice->output = names("c", &twice->n_output);
    twice->node = arena_copy(&arena, LIST(Onnx__NodeProto *, inner, node("own", "Scale", "b", "c")),
                             2 * sizeof(Onnx__NodeProto *));
    scale->n_opset_import = twice->n_opset_import = 2;
    scale->opset_import = twice->opset_import = m->opset_list;
    set_default(scale, float_attribute(NULL, "factor", 3));
    m->functions[m->model.n_functions++] = scale;
    m->functions[m->model.n_functions++] = twice;
}

static void functions(void **state)
{
    struct imported_model *m = new_model();
    struct diag d;
    add_functions(m);
    add(m, node("own", "Twice", "x", "t"));
    add(m, node("own", "Twice", "t", "y"));
    struct graph *g = import(m, NULL, &d);
    if (!g)
        fail_msg("%s", d.text);
    assert_true(run(g, 1) == 36);
    graph_free(g);
}

static void recursive_function(void **state)
{
    struct imported_model *m = new_model();
    struct diag d;
    add_functions(m);
    m->functions[1]->node[1]->op_type = "Twice";
    add(m, node("own", "Twice", "x", "y"));
    assert_null(import(m, NULL, &d));
    assert_non_null(strstr(d.text, "recursion"));
}

static void unsupported_listed(void **state)
{
    struct imported_model *m = new_model();
    struct diag d;
    add(m, node("", "Frobnicate", "x", "a"));
    add(m, node("own", "Twist", "a", "b"));
    add(m, node("", "Frobnicate", "b", "y"));
    assert_null(import(m, NULL, &d));
    assert_true(d.unsupported);
    assert_non_null(strstr(d.text, "Frobnicate of ai.onnx 18, 2 nodes: 'a', 'y'"));
    assert_non_null(strstr(d.text, "Twist of own 1, 1 node: 'b'"));
}

static void messages(void **state)
{
    static const struct {
        const char *op, *in;
        const char *expected;
    } cases[] = {
        {"Elu", "x", "node 'y' (Elu): attribute 'alpha' is of the wrong kind, expected a float"},
        {"Gather", "x", "node 'y' (Gather): 1 inputs, expected 2 to 2"},
        {"Relu", "nowhere",
         "node 'y' (Relu): input 0, 'nowhere', is not computed by an earlier node"},
        {"Gather", "x x", "node 'y' (Gather): operand 1 is f32, expected index"},
        {"Erf", "flag", "node 'y' (Erf): operand 0 is bool, expected numbers"},
        {"Cast", "x", "node 'y' (Cast): attribute 'to' is missing, this operator needs it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct imported_model *m = new_model();
        struct diag d;
        Onnx__NodeProto *n = node("", cases[i].op, cases[i].in, "y");
        if (!strcmp(cases[i].op, "Elu"))
            attribute(n, "alpha", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT)->i = 1;
        if (!strcmp(cases[i].in, "flag"))
            add(m, node("", "IsNaN", "x", "flag"));
        add(m, n);
        assert_null(import(m, NULL, &d));
        if (!strstr(d.text, cases[i].expected))
            fail_msg("'%s' lacks '%s'", d.text, cases[i].expected);
    }
}

/* What operators of com.microsoft refuse; s is a scalar, i a shape. */
static const struct {
    const char *op, *in, *attribute;
    int64_t value;
    const char *expected;
} refused[] = {
    {"ScaledSiLU", "x x", NULL, 0, "'scale' has rank 2, expected a scalar"},
    {"GatedAdd", "x x s", NULL, 0, "'gate' has rank 0, expected 2, that of the first input"},
    {"GatedAdd", "x s x", NULL, 0, "'Y' has rank 0, expected 2"},
    {"GatedAdd", "x x x x x", NULL, 0, "5 inputs, expected 3 to 4"},
    {"GatedRMSNorm", "x x x", NULL, 0, "'scale' has rank 2 and the first input rank 2, expected 1, and 1 or more"},
    {"BranchwiseRMSNorm", "x", "num_branches", -1, "'X' of rank 2 with 'num_branches' -1, expected"},
    {"BranchwiseRMSNorm", "x s", NULL, 0, "'scale' has rank 0, expected 1 or 2"},
    {"LinearAttentionGate", "x s s", NULL, 0, "'dt_bias' has rank 0 and the first input rank 2"},
    {"UnfoldTensor", "x", "size", 0, "'size' and 'step' are 0 and 1, expected 1 to 2147483647"},
    {"UnfoldTensor", "x", "step", 1, "attribute 'size' is missing"},
    {"NGramRepeatBlock", "i x", "ngram_size", 0, "attribute 'ngram_size' is 0, expected 1 to 2147483647"},
    {"NGramRepeatBlock", "i x", "ngram_size", 2, "'input_ids' has rank 1 and 'scores' rank 2, expected 2 and 2"},
    {"CausalConvWithState", "x x", NULL, 0, "'input' has rank 2 and 'weight' rank 2, expected 3 and 3"},
    {"CausalConvWithState", "x x", "ndim", 2, "attribute 'ndim' is 2, only 1 is supported"},
    {"CausalConvWithState", "x x", "dilation", 0, "attribute 'dilation' is 0, expected 1 to 2147483647"},
    {"LinearAttention", "x x x", "q_num_heads", 2, "attribute 'kv_num_heads' is missing"},
    {"MoE", "x x x", NULL, 0, "the number of experts is not known; give the shape of 'router_probs'"},
    {"MoE", "x s x - x", NULL, 0, "rank 2 and 'router_probs' rank 0, expected 2 or 3, and 2"},
    {"MoE", "x x x - x", "swiglu_limit_after_activation", 1, "is 1, only 0 is supported"},
    {"MoEGroupRouter", "x s", "top_k", 1, "rank 2 and 'expert_bias' rank 0, expected 2 or more, and 1"},
    {"HyperConnectionPreMix", "x x", "num_branches", -1, "'streams' of rank 2 with 'num_branches' -1, expected"},
    {"HyperConnectionPreMix", "x s", NULL, 0, "'pre_mix' has rank 0, expected 1"},
    {"EngramGate", "x x x x x", NULL, 0, "'key' has rank 2, expected 4"},
    {"MRotaryEmbedding", "x i x x", NULL, 0, "attribute 'mrope_section' is missing"},
    {"DecoderMaskedMultiHeadAttention", "x x x", "num_heads", 0, "attribute 'num_heads' is 0, expected 1 or more"},
    {"DecoderMaskedMultiHeadAttention", "x - x", "num_heads", 1, "input 1 is left out: packed queries"},
    {"DecoderMaskedMultiHeadAttention", "x x x", "num_heads", 1, "ranks 2, 2 and 2, expected 3, and 3 or 4 twice"},
    {"GatedDeltaNet", "x x x", NULL, 0, "'decay' is left out, with this update_rule it is needed"},
    {"GatedDeltaNet", "x - x - x x x", NULL, 0, "one of 'key' and 'value' is left out"},
    {"GatedDeltaNet", "x x x - x x x", NULL, 0, "'initial_state' has rank 2, expected 4"},
    {"DynamicTimeWarping", "s", NULL, 0, "costs have rank 0, expected 2 or 3"},
    {"BifurcationDetector", "i i i", NULL, 0, "operand 2 has rank 1, expected 0"},
    {"MurmurHash3", "x x", NULL, 0, "2 inputs, expected 1 to 1"},
    {"SparseAttention", "x x x", "num_heads", 2, "attribute 'kv_num_heads' is missing"},
    {"NGramHashMapping", "i i i", "pad_id", 0, "attribute 'max_ngram_size' is missing"},
    {"ConvTransposeWithDynamicPads", "x x", NULL, 0, "'Pads' is left out"},
    {"ConvTransposeWithDynamicPads", "x x i", NULL, 0, "rank 2 and 'Pads' rank 1, expected 3 or more, and 1"},
    {"MatMulInteger16", "x x", NULL, 0, "operand 0 is f32, expected i16"},
};

static void contrib_messages(void **state)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct imported_model *m = new_model();
        struct diag d;
        Onnx__NodeProto *sum = node("", "ReduceSum", "x", "s");
        Onnx__NodeProto *n = node("com.microsoft", refused[i].op, refused[i].in, "y");
        Onnx__AttributeProto *keep = attribute(sum, "keepdims", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
        keep->has_i = 1;
        if (refused[i].attribute) {
            Onnx__AttributeProto *a = attribute(n, refused[i].attribute, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
            a->has_i = 1, a->i = refused[i].value;
        }
        add(m, sum);
        add(m, node("", "Shape", "x", "i"));
        add(m, n);
        assert_null(import(m, NULL, &d));
        if (!strstr(d.text, refused[i].expected))
            fail_msg("'%s' lacks '%s'", d.text, refused[i].expected);
    }
}

/* Axes of a transposition may count from the end. */
static void negative_perm(void **state)
{
    static int64_t good[] = {-1, 0}, bad[] = {-1, 1}, far[] = {0, -3};
    int64_t *perms[] = {good, bad, far};
    for (int i = 0; i < 3; i++) {
        struct imported_model *m = new_model();
        struct diag d;
        Onnx__NodeProto *n = node("", "Transpose", "x", "y");
        Onnx__AttributeProto *a = attribute(n, "perm", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
        a->n_ints = 2, a->ints = perms[i];
        add(m, n);
        struct graph *g = import(m, NULL, &d);
        if (i) {
            assert_null(g);
            assert_non_null(strstr(d.text, "perm is not a permutation of 0 to 1"));
            continue;
        }
        int count;
        const int64_t *perm = attr_ints(&g->main->first->attrs, "perm", &count);
        assert_int_equal(count, 2);
        assert_true(perm[0] == 1 && perm[1] == 0);
        graph_free(g);
    }
}

/* Attributes that name an element type: numbers that are none, and types that the operator does not make. */
static void element_types(void **state)
{
#define ELEMENT(name) ONNX__TENSOR_PROTO__DATA_TYPE__##name
    static const struct {
        const char *op, *in, *attribute;
        int64_t good, bad[4];
    } cases[] = {
        {"Bernoulli", "x", "dtype", ELEMENT(BOOL), {0, ELEMENT(STRING), 1000, 1ll << 40}},
        {"Multinomial", "x", "dtype", ELEMENT(INT64), {0, ELEMENT(FLOAT), -1, 1ll << 32 | 6}},
        {"RandomNormalLike", "x", "dtype", ELEMENT(DOUBLE), {0, ELEMENT(INT32), -1, INT64_MIN}},
        {"RandomUniformLike", "x", "dtype", ELEMENT(FLOAT16), {0, ELEMENT(BOOL), 48, INT64_MAX}},
        {"EyeLike", "x", "dtype", ELEMENT(BOOL), {0, ELEMENT(STRING), -7, 1ll << 31}},
        {"HannWindow", "n", "output_datatype", ELEMENT(FLOAT), {0, ELEMENT(STRING), 255, 257}},
        {"HammingWindow", "n", "output_datatype", ELEMENT(FLOAT), {0, ELEMENT(COMPLEX64), 255, 257}},
        {"BlackmanWindow", "n", "output_datatype", ELEMENT(INT32), {0, ELEMENT(BOOL), 255, 257}},
        {"QuantizeLinear", "x scale", "output_dtype", 0, {-1, ELEMENT(FLOAT), 255, 1ll << 40}},
        {"DequantizeLinear", "q scale", "output_dtype", 0, {-1, ELEMENT(INT8), 255, 1ll << 40}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 0; k < 5; k++) {
            struct imported_model *m = new_model();
            struct diag d;
            add(m, node("", "Size", "x", "n"));
            add(m, node("", "ReduceSum", "x", "scale"));
            add(m, node("", "QuantizeLinear", "x scale", "q"));
            Onnx__NodeProto *n = node("", cases[i].op, cases[i].in, "y");
            Onnx__AttributeProto *a = attribute(n, cases[i].attribute, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
            a->has_i = 1, a->i = k < 4 ? cases[i].bad[k] : cases[i].good;
            add(m, n);
            struct graph *g = import(m, NULL, &d);
            if (k == 4 && !g)
                fail_msg("%s: %s", cases[i].op, d.text);
            if (k < 4 && (g || !strstr(d.text, cases[i].attribute)))
                fail_msg("%s of %lld: %s", cases[i].op, (long long)cases[i].bad[k], g ? "accepted" : d.text);
            graph_free(g);
        }
}

static void shapes_and_bindings(void **state)
{
    struct imported_model *m = new_model();
    struct diag d;
    add(m, node("", "Relu", "x", "y"));
    struct graph *g = import(m, NULL, &d);
    assert_non_null(g);
    assert_string_equal(type_text(&g->dims, &g->arena, &g->main->params[0]->type),
                        "f32[batch_size,x_d1]");
    graph_free(g);
    struct shape_binding by_symbol[] = {{.name = "batch size", .rank = 1, .dims = {4}}};
    g = import(m, &(struct import_options){.shapes = by_symbol, .nshapes = 1}, &d);
    assert_non_null(g);
    assert_true(by_symbol[0].used);
    assert_string_equal(type_text(&g->dims, &g->arena, &g->main->params[0]->type), "f32[4,x_d1]");
    graph_free(g);
    struct shape_binding unnamed[] = {{.name = "x_d1", .rank = 1, .dims = {5}}};
    g = import(m, &(struct import_options){.shapes = unnamed, .nshapes = 1}, &d);
    assert_non_null(g);
    assert_true(unnamed[0].used);
    assert_string_equal(type_text(&g->dims, &g->arena, &g->main->params[0]->type),
                        "f32[batch_size,5]");
    graph_free(g);
    struct shape_binding by_name[] = {{.name = "x", .rank = 2, .dims = {2, 7}}};
    g = import(m, &(struct import_options){.shapes = by_name, .nshapes = 1}, &d);
    assert_non_null(g);
    assert_string_equal(type_text(&g->dims, &g->arena, &g->main->params[0]->type), "f32[2,7]");
    graph_free(g);
    by_name[0].rank = 1;
    by_name[0].used = false;
    assert_null(import(m, &(struct import_options){.shapes = by_name, .nshapes = 1}, &d));
}

/* An initializer that is a graph input too, large enough to stay in the mapped file. */
static void initializer_is_constant(void **state)
{
    enum { COUNT = 3000 };
    struct imported_model *m = new_model();
    struct diag d;
    float *data = ARENA_ARRAY(&arena, float, COUNT);
    for (int i = 0; i < COUNT; i++)
        data[i] = (float)i;
    for (int form = 0; form < 2; form++) {
        Onnx__TensorProto *t = m->tensors[0] = floats("w", COUNT);
        m->graph.n_initializer = 1;
        m->graph.n_node = 0;
        if (form == 0) {
            t->has_raw_data = 1;
            t->raw_data = (ProtobufCBinaryData){COUNT * sizeof *data, (uint8_t *)data};
        } else {
            t->n_float_data = COUNT;
            t->float_data = data;
        }
        m->inputs[1] = matrix("w", "n");
        m->graph.n_input = 2;
        add(m, node("", "Add", "x w", "y"));
        struct graph *g = import(m, NULL, &d);
        if (!g)
            fail_msg("%s", d.text);
        assert_int_equal(g->main->nparams, 1);
        const struct tensor *w = g->main->first->in[1]->constant;
        assert_non_null(w);
        assert_false(w->owned);
        assert_memory_equal(w->data, data, COUNT * sizeof *data);
        graph_free(g);
    }
}

static void external_data(void **state)
{
    static const struct {
        const char *location, *offset, *expected;
    } cases[] = {
        {"w.bin", "4", NULL},
        {"w.bin", "12",
         "external data file 'w.bin' has 16 bytes, the tensor needs 8 bytes from 12 on"},
        {"w.bin", "x", "external data offset is 'x', expected a number of bytes"},
        {"none.bin", "0", "external data file 'none.bin' cannot be opened"},
        {"../w.bin", "0", "leaves the model's folder"},
        {"/etc/passwd", "0", "is not a path inside the model's folder"},
        {"link.bin", "0", "links out of the model's folder"},
    };
    static const float data[] = {9, 5, 7, 9};
    struct diag d = {0};
    assert_true(file_write_all(arena_printf(&arena, "%s/w.bin", folder), data, sizeof data, &d));
    assert_int_equal(symlink("/etc/passwd", arena_printf(&arena, "%s/link.bin", folder)), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct imported_model *m = new_model();
        Onnx__TensorProto *t = m->tensors[m->graph.n_initializer++] = floats("w", 2);
        const char *pairs[] = {"location",      cases[i].location, "offset",
                               cases[i].offset, "length",          "8"};
        t->has_data_location = 1;
        t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
        t->n_external_data = 3;
        t->external_data = ARENA_ARRAY(&arena, Onnx__StringStringEntryProto *, 3);
        for (int k = 0; k < 3; k++) {
            t->external_data[k] =
                NEW(Onnx__StringStringEntryProto, ONNX__STRING_STRING_ENTRY_PROTO__INIT);
            t->external_data[k]->key = (char *)pairs[2 * k];
            t->external_data[k]->value = (char *)pairs[2 * k + 1];
        }
        add(m, node("", "Add", "x w", "y"));
        struct graph *g = import(m, NULL, &d);
        if (!cases[i].expected) {
            if (!g)
                fail_msg("%s", d.text);
            assert_true(run(g, 1) == 6);
            graph_free(g);
        } else if (g || !strstr(d.text, cases[i].expected)) {
            fail_msg("'%s' lacks '%s'", d.text, cases[i].expected);
        }
    }
    unlink(arena_printf(&arena, "%s/w.bin", folder));
    unlink(arena_printf(&arena, "%s/link.bin", folder));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions),           cmocka_unit_test(recursive_function),
        cmocka_unit_test(unsupported_listed),  cmocka_unit_test(messages),
        cmocka_unit_test(contrib_messages),    cmocka_unit_test(element_types),
        cmocka_unit_test(negative_perm),
        cmocka_unit_test(shapes_and_bindings), cmocka_unit_test(initializer_is_constant),
        cmocka_unit_test(external_data),
    };
    strcpy(folder, "/tmp/xcc-import-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(arena_printf(&arena, "%s/model.onnx", folder));
    rmdir(folder);
    arena_free(&arena);
    return failed;
}
