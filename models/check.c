#include "models/check.h"

#include "neff/base/arena.h"
#include "neff/base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <onnx/onnx.pb-c.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Values by name: open addressing, never full. */
struct checked_value {
    const char *name;
    bool used;
};
struct value_table {
    struct checked_value *slots;
    size_t size; /* power of two */
};

static struct checked_value *lookup(const struct value_table *t, const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (const char *c = name; *c; c++)
        h = (h ^ (unsigned char)*c) * 0x100000001b3u;
    size_t i = h & (t->size - 1);
    while (t->slots[i].name && strcmp(t->slots[i].name, name) != 0)
        i = (i + 1) & (t->size - 1);
    return &t->slots[i];
}

static bool define(struct value_table *t, const char *name, struct diag *d)
{
    if (!name || !*name)
        return fail(d, "a value has no name");
    struct checked_value *v = lookup(t, name);
    if (v->name)
        return fail(d, "value '%s' is produced twice", name);
    *v = (struct checked_value){name, false};
    return true;
}

static bool use(struct value_table *t, const char *name, struct diag *d)
{
    struct checked_value *v = lookup(t, name);
    if (!v->name)
        return fail(d, "value '%s' is used before it is produced", name);
    v->used = true;
    return true;
}

static size_t element_size(int type)
{
    switch (type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
        return 4;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
        return 8;
    case ONNX__TENSOR_PROTO__DATA_TYPE__BOOL:
        return 1;
    default:
        return 0;
    }
}

/* Bytes that the dims ask for. */
static bool expected_bytes(const Onnx__TensorProto *t, uint64_t *bytes, struct diag *d)
{
    *bytes = element_size(t->data_type);
    if (!*bytes)
        return fail(d, "element type %d, expected float, int64 or bool", t->data_type);
    for (size_t i = 0; i < t->n_dims; i++)
        if (t->dims[i] < 0 || __builtin_mul_overflow(*bytes, (uint64_t)t->dims[i], bytes))
            return fail(d, "dimension %zu is %" PRId64, i, t->dims[i]);
    return true;
}

static bool check_external(const Onnx__TensorProto *t, const char *path, uint64_t bytes,
                           struct diag *d)
{
    const char *location = NULL;
    uint64_t offset = 0, length = 0;
    for (size_t i = 0; i < t->n_external_data; i++) {
        const Onnx__StringStringEntryProto *e = t->external_data[i];
        if (!strcmp(e->key, "location"))
            location = e->value;
        else if (!strcmp(e->key, "offset"))
            offset = strtoull(e->value, NULL, 10);
        else if (!strcmp(e->key, "length"))
            length = strtoull(e->value, NULL, 10);
    }
    if (!location || strchr(location, '/'))
        return fail(d, "external data without a file name beside the model");
    if (length != bytes)
        return fail(d, "external data of %" PRIu64 " bytes, expected %" PRIu64, length, bytes);
    char file[4096];
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    snprintf(file, sizeof file, "%.*s%s", folder, path, location);
    struct stat st;
    if (stat(file, &st) != 0 || offset > (uint64_t)st.st_size ||
        bytes > (uint64_t)st.st_size - offset)
        return fail(d, "external data ends after the end of %s", file);
    return true;
}

static bool check_tensor(const Onnx__TensorProto *t, const char *path, struct diag *d)
{
    uint64_t bytes;
    if (!expected_bytes(t, &bytes, d))
        return false;
    if (t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        return check_external(t, path, bytes, d);
    if (t->raw_data.len != bytes)
        return fail(d, "%zu bytes of data, expected %" PRIu64, t->raw_data.len, bytes);
    return true;
}

static bool check_port(const Onnx__ValueInfoProto *v, struct diag *d)
{
    if (!v->type || v->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        !v->type->tensor_type->shape)
        return fail(d, "'%s' has no tensor type with a shape", v->name);
    const Onnx__TensorShapeProto *shape = v->type->tensor_type->shape;
    for (size_t i = 0; i < shape->n_dim; i++)
        if (shape->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE__NOT_SET)
            return fail(d, "'%s' has an unnamed dimension %zu", v->name, i);
    return true;
}

static bool check_node(struct value_table *t, const Onnx__NodeProto *n, const char *path,
                       struct diag *d)
{
    if (!n->op_type || !*n->op_type || !n->n_output)
        return fail(d, "node '%s' has no operator or no output", n->name ? n->name : "");
    bool ok = true;
    for (size_t i = 0; ok && i < n->n_input; i++)
        ok = !*n->input[i] || use(t, n->input[i], d);
    for (size_t i = 0; ok && i < n->n_output; i++)
        ok = define(t, n->output[i], d);
    for (size_t i = 0; ok && i < n->n_attribute; i++) {
        const Onnx__AttributeProto *a = n->attribute[i];
        ok = a->name && a->has_type ? !a->t || check_tensor(a->t, path, d)
                                    : fail(d, "attribute %zu has no name or no type", i);
    }
    return ok || fail_in(d, "node '%s' (%s)", n->name ? n->name : "", n->op_type);
}

static bool check_graph(const Onnx__GraphProto *g, struct arena *a, const char *path,
                        struct diag *d)
{
    struct value_table t = {.size = 64};
    size_t count = g->n_input + g->n_initializer;
    for (size_t i = 0; i < g->n_node; i++)
        count += g->node[i]->n_output;
    while (t.size < 2 * count)
        t.size *= 2;
    t.slots = ARENA_ARRAY(a, struct checked_value, t.size);
    bool ok = true;
    for (size_t i = 0; ok && i < g->n_input; i++)
        ok = define(&t, g->input[i]->name, d) && check_port(g->input[i], d);
    for (size_t i = 0; ok && i < g->n_initializer; i++)
        ok = define(&t, g->initializer[i]->name, d) &&
             (check_tensor(g->initializer[i], path, d) ||
              fail_in(d, "initializer '%s'", g->initializer[i]->name));
    for (size_t i = 0; ok && i < g->n_node; i++)
        ok = check_node(&t, g->node[i], path, d);
    for (size_t i = 0; ok && i < g->n_output; i++)
        ok = g->output[i]->name && use(&t, g->output[i]->name, d) && check_port(g->output[i], d);
    for (size_t i = 0; ok && i < t.size; i++)
        if (t.slots[i].name && !t.slots[i].used)
            ok = fail(d, "value '%s' is never used", t.slots[i].name);
    return ok;
}

bool check_model(const char *path, struct diag *d)
{
    struct mapped_file f;
    if (!file_map(&f, path, d))
        return false;
    struct arena a = {0};
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, f.size, f.data);
    bool ok = m ? true : fail(d, "not an ONNX model: it does not parse as a ModelProto");
    if (ok && (!m->has_ir_version || !m->n_opset_import || !m->graph || !m->graph->n_output))
        ok = fail(d, "lacks its IR version, opset, graph or outputs");
    ok = ok && check_graph(m->graph, &a, path, d);
    if (ok)
        printf("%s: %zu nodes, %zu initializers, %zu inputs, %zu outputs\n", path, m->graph->n_node,
               m->graph->n_initializer, m->graph->n_input, m->graph->n_output);
    else
        fail_in(d, "%s", path);
    if (m)
        onnx__model_proto__free_unpacked(m, NULL);
    arena_free(&a);
    file_unmap(&f);
    return ok;
}
