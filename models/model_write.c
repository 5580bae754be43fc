/*
 * The file is a ModelProto whose parts protobuf-c packs, except that the graph's initializers are
 * appended by hand: a nested message needs its length first, and that is known without its bytes.
 */
#include "models/model.h"

#include "neff/base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum { EXTERNAL_FROM = 1024, EXTERNAL_ALIGNMENT = 4096, CHUNK = 64 * 1024 };

/* Protobuf keys: field number * 8 + 2 (length-delimited). */
enum { KEY_MODEL_GRAPH = 7 * 8 + 2, KEY_GRAPH_INITIALIZER = 5 * 8 + 2, KEY_TENSOR_RAW = 9 * 8 + 2 };

struct file_buffer {
    ProtobufCBuffer base;
    FILE *f;
};

static void append_to_file(ProtobufCBuffer *b, size_t size, const uint8_t *data)
{
    fwrite(data, 1, size, ((struct file_buffer *)b)->f); /* errors are found by out_commit */
}

static void put_message(FILE *f, const ProtobufCMessage *message)
{
    struct file_buffer b = {{append_to_file}, f};
    protobuf_c_message_pack_to_buffer(message, &b.base);
}

static size_t varint_size(uint64_t v)
{
    size_t n = 1;
    for (; v >= 128; v >>= 7)
        n++;
    return n;
}

static void put_varint(FILE *f, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        fputc((int)(v & 127) | 128, f);
    fputc((int)v, f);
}

static uint64_t weight_bytes(const struct weight *w)
{
    uint64_t n = fill_element_size(w->fill.kind);
    for (int i = 0; i < w->rank; i++)
        n *= (uint64_t)w->dims[i];
    return n;
}

static void put_contents(FILE *f, const struct onnx_model *m, const struct weight *w)
{
    uint8_t chunk[CHUNK];
    struct filler filler;
    filler_start(&filler, w->fill, m->seed, w->name);
    size_t element = fill_element_size(w->fill.kind);
    for (uint64_t left = weight_bytes(w) / element; left;) {
        size_t n = left < CHUNK / element ? (size_t)left : CHUNK / element;
        filler_take(&filler, chunk, n);
        fwrite(chunk, element, n, f);
        left -= n;
    }
}

static Onnx__StringStringEntryProto *entry(struct arena *a, const char *key, char *value)
{
    Onnx__StringStringEntryProto *e = ARENA_NEW(a, Onnx__StringStringEntryProto);
    onnx__string_string_entry_proto__init(e);
    e->key = arena_strdup(a, key);
    e->value = value;
    return e;
}

/* One initializer as it will stand in the file. */
struct stored {
    Onnx__TensorProto head; /* without raw_data */
    uint64_t bytes;         /* of contents */
    bool outside;
    uint64_t offset; /* outside: place in model.onnx.data */
    uint64_t size;   /* of the packed TensorProto with its contents */
};

static void describe(struct stored *s, struct arena *a, const struct weight *w)
{
    Onnx__TensorProto *t = &s->head;
    onnx__tensor_proto__init(t);
    t->name = (char *)w->name;
    t->has_data_type = 1, t->data_type = fill_element_type(w->fill.kind);
    t->n_dims = (size_t)w->rank;
    t->dims = (int64_t *)w->dims;
    if (s->outside) {
        t->has_data_location = 1;
        t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
        t->n_external_data = 3;
        t->external_data = ARENA_ARRAY(a, Onnx__StringStringEntryProto *, 3);
        t->external_data[0] = entry(a, "location", arena_strdup(a, "model.onnx.data"));
        t->external_data[1] = entry(a, "offset", arena_printf(a, "%" PRIu64, s->offset));
        t->external_data[2] = entry(a, "length", arena_printf(a, "%" PRIu64, s->bytes));
    }
    s->size = onnx__tensor_proto__get_packed_size(t);
    if (!s->outside)
        s->size += 1 + varint_size(s->bytes) + s->bytes;
}

static Onnx__ValueInfoProto *port_proto(struct arena *a, const struct onnx_model *m,
                                        const struct port *p)
{
    Onnx__ValueInfoProto *v = ARENA_NEW(a, Onnx__ValueInfoProto);
    onnx__value_info_proto__init(v);
    v->name = (char *)p->name;
    v->type = ARENA_NEW(a, Onnx__TypeProto);
    onnx__type_proto__init(v->type);
    v->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    Onnx__TypeProto__Tensor *t = v->type->tensor_type = ARENA_NEW(a, Onnx__TypeProto__Tensor);
    onnx__type_proto__tensor__init(t);
    t->has_elem_type = 1, t->elem_type = p->element_type;
    t->shape = ARENA_NEW(a, Onnx__TensorShapeProto);
    onnx__tensor_shape_proto__init(t->shape);
    t->shape->n_dim = (size_t)p->rank;
    t->shape->dim = ARENA_ARRAY(a, Onnx__TensorShapeProto__Dimension *, p->rank);
    for (int i = 0; i < p->rank; i++) {
        Onnx__TensorShapeProto__Dimension *dim = t->shape->dim[i] =
            ARENA_NEW(a, Onnx__TensorShapeProto__Dimension);
        onnx__tensor_shape_proto__dimension__init(dim);
        if (p->dims[i].symbol && !m->fixed) {
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            dim->dim_param = (char *)p->dims[i].symbol;
        } else {
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            dim->dim_value = p->dims[i].size;
        }
    }
    return v;
}

static void describe_graph(Onnx__GraphProto *g, struct arena *a, const struct onnx_model *m)
{
    onnx__graph_proto__init(g);
    g->name = arena_strdup(a, m->name);
    g->n_node = (size_t)m->node_count;
    g->node = m->nodes;
    g->n_input = (size_t)m->input_count;
    g->input = ARENA_ARRAY(a, Onnx__ValueInfoProto *, m->input_count);
    for (int i = 0; i < m->input_count; i++)
        g->input[i] = port_proto(a, m, &m->inputs[i]);
    g->n_output = (size_t)m->output_count;
    g->output = ARENA_ARRAY(a, Onnx__ValueInfoProto *, m->output_count);
    for (int i = 0; i < m->output_count; i++)
        g->output[i] = port_proto(a, m, &m->outputs[i]);
}

static void put_model_head(FILE *f, const struct onnx_model *m)
{
    Onnx__OperatorSetIdProto opset;
    onnx__operator_set_id_proto__init(&opset);
    opset.domain = (char *)"";
    opset.has_version = 1, opset.version = m->opset;
    Onnx__ModelProto head;
    onnx__model_proto__init(&head);
    head.has_ir_version = 1, head.ir_version = ONNX__VERSION__IR_VERSION;
    head.producer_name = (char *)"xcc build_models";
    head.n_opset_import = 1;
    head.opset_import = &(Onnx__OperatorSetIdProto *){&opset};
    put_message(f, &head.base);
}

static bool write_external(const struct onnx_model *m, const struct stored *stored, struct out_file *o,
                           const char *path, struct diag *d)
{
    if (!out_open(o, path, d))
        return false;
    uint64_t at = 0;
    for (int i = 0; i < m->weight_count; i++) {
        if (!stored[i].outside)
            continue;
        for (; at < stored[i].offset; at++)
            fputc(0, o->f);
        put_contents(o->f, m, &m->weights[i]);
        at += stored[i].bytes;
    }
    return true;
}

static void write_internal(const struct onnx_model *m, const struct stored *stored, FILE *f,
                           const Onnx__GraphProto *g)
{
    uint64_t size = onnx__graph_proto__get_packed_size(g);
    for (int i = 0; i < m->weight_count; i++)
        size += 1 + varint_size(stored[i].size) + stored[i].size;
    put_model_head(f, m);
    fputc(KEY_MODEL_GRAPH, f);
    put_varint(f, size);
    put_message(f, &g->base);
    for (int i = 0; i < m->weight_count; i++) {
        fputc(KEY_GRAPH_INITIALIZER, f);
        put_varint(f, stored[i].size);
        put_message(f, &stored[i].head.base);
        if (stored[i].outside)
            continue;
        fputc(KEY_TENSOR_RAW, f);
        put_varint(f, stored[i].bytes);
        put_contents(f, m, &m->weights[i]);
    }
}

bool model_write(const struct onnx_model *m, const char *folder, bool external, struct diag *d)
{
    struct arena a = {0};
    struct stored *stored = ARENA_ARRAY(&a, struct stored, m->weight_count);
    uint64_t inside = 0, outside = 0;
    for (int i = 0; i < m->weight_count; i++) {
        stored[i].bytes = weight_bytes(&m->weights[i]);
        stored[i].outside = external && stored[i].bytes >= EXTERNAL_FROM;
        if (stored[i].outside) {
            uint64_t mask = EXTERNAL_ALIGNMENT - 1;
            stored[i].offset = outside = (outside + mask) & ~mask;
            outside += stored[i].bytes;
        }
        describe(&stored[i], &a, &m->weights[i]);
        inside += stored[i].size;
    }
    Onnx__GraphProto g;
    describe_graph(&g, &a, m);
    struct out_file model = {0}, data = {0};
    bool ok = inside < INT32_MAX || fail(d,
                                         "%s: %" PRIu64 " bytes of weights do not fit in one "
                                         "protobuf file, use --external",
                                         m->name, inside);
    ok = ok && (!external || write_external(m, stored, &data,
                                            arena_printf(&a, "%s/model.onnx.data", folder), d));
    ok = ok && out_open(&model, arena_printf(&a, "%s/model.onnx", folder), d);
    if (ok)
        write_internal(m, stored, model.f, &g);
    ok = ok && (!external || out_commit(&data, d)) && out_commit(&model, d);
    if (data.f)
        out_abandon(&data);
    if (model.f)
        out_abandon(&model);
    arena_free(&a);
    return ok;
}

static bool write_npy(const struct onnx_model *m, const struct port *p, int set, const char *path,
                      struct diag *d)
{
    struct weight w = {.name = p->name, .rank = p->rank, .fill = p->fill};
    char shape[128] = "", header[256];
    for (int i = 0; i < p->rank; i++) {
        w.dims[i] = set && p->dims[i].symbol ? p->dims[i].other : p->dims[i].size;
        size_t at = strlen(shape);
        snprintf(shape + at, sizeof shape - at, "%" PRId64 "%s", w.dims[i],
                 p->rank == 1      ? ","
                 : i + 1 < p->rank ? ", "
                                   : "");
    }
    bool real = p->element_type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    int n =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                 real ? "<f4" : "<i8", shape);
    int padded =
        (10 + n + 1 + 63) / 64 * 64 - 10; /* magic, version, length: 10 bytes; ends in \n */
    struct out_file o;
    if (!out_open(&o, path, d))
        return false;
    fwrite("\x93NUMPY\x01\x00", 1, 8, o.f);
    fputc(padded & 255, o.f);
    fputc(padded >> 8, o.f);
    fprintf(o.f, "%-*s\n", padded - 1, header);
    put_contents(o.f, m, &w);
    return out_commit(&o, d);
}

bool model_write_inputs(const struct onnx_model *m, const char *folder, struct diag *d)
{
    bool symbolic = false;
    for (int i = 0; i < m->input_count; i++)
        for (int k = 0; k < m->inputs[i].rank; k++)
            symbolic |= m->inputs[i].dims[k].symbol && !m->fixed;
    struct arena a = {0};
    bool ok = true;
    for (int set = 0; ok && set < (symbolic ? 2 : 1); set++) {
        const char *sub = arena_printf(&a, "%s/test_data_set_%d", folder, set);
        if (mkdir(sub, 0777) != 0 && errno != EEXIST)
            ok = fail(d, "%s: cannot create: %s", sub, strerror(errno));
        for (int i = 0; ok && i < m->input_count; i++)
            ok = write_npy(m, &m->inputs[i], set, arena_printf(&a, "%s/input_%d.npy", sub, i), d);
    }
    arena_free(&a);
    return ok;
}
