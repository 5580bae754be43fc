#include "models/model.h"

#include <stdio.h>
#include <string.h>

size_t scope_enter(struct onnx_model *m, const char *fmt, ...)
{
    size_t mark = strlen(m->scope), at = mark;
    if (mark && mark + 1 < sizeof m->scope)
        m->scope[at++] = '.';
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(m->scope + at, sizeof m->scope - at, fmt, ap);
    va_end(ap);
    return mark;
}

void scope_leave(struct onnx_model *m, size_t mark)
{
    m->scope[mark] = 0;
}

const char *model_input(struct onnx_model *m, const char *name, struct fill fill, int rank,
                        const struct dim *dims)
{
    ARENA_GROW(m->arena, m->inputs, m->input_count, m->input_cap);
    struct port *p = &m->inputs[m->input_count++];
    *p = (struct port){
        arena_strdup(m->arena, name), fill_element_type(fill.kind), rank, {{0}}, fill};
    memcpy(p->dims, dims, (size_t)rank * sizeof *dims);
    return p->name;
}

void model_output(struct onnx_model *m, const char *name, const char *value, int rank,
                  const struct dim *dims)
{
    ARENA_GROW(m->arena, m->outputs, m->output_count, m->output_cap);
    struct port *p = &m->outputs[m->output_count++];
    *p = (struct port){.name = arena_strdup(m->arena, name), .rank = rank};
    p->element_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    memcpy(p->dims, dims, (size_t)rank * sizeof *dims);
    for (int i = 0; i < m->node_count; i++) {
        Onnx__NodeProto *n = m->nodes[i];
        for (size_t k = 0; k < n->n_input; k++)
            if (!strcmp(n->input[k], value))
                n->input[k] = (char *)p->name;
        for (size_t k = 0; k < n->n_output; k++)
            if (!strcmp(n->output[k], value))
                n->output[k] = (char *)p->name;
    }
}

const char *weight(struct onnx_model *m, const char *name, struct fill fill, int rank,
                   const int64_t *dims)
{
    ARENA_GROW(m->arena, m->weights, m->weight_count, m->weight_cap);
    struct weight *w = &m->weights[m->weight_count++];
    const char *dot = m->scope[0] ? "." : "";
    *w = (struct weight){arena_printf(m->arena, "%s%s%s", m->scope, dot, name), rank, {0}, fill};
    memcpy(w->dims, dims, (size_t)rank * sizeof *dims);
    return w->name;
}

static Onnx__AttributeProto *attribute_proto(struct onnx_model *m, const struct attribute *a)
{
    Onnx__AttributeProto *p = ARENA_NEW(m->arena, Onnx__AttributeProto);
    onnx__attribute_proto__init(p);
    p->name = arena_strdup(m->arena, a->name);
    p->has_type = 1;
    switch (a->kind) {
    case ATTRIBUTE_INT:
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        p->has_i = 1, p->i = a->i;
        break;
    case ATTRIBUTE_FLOAT:
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
        p->has_f = 1, p->f = a->f;
        break;
    case ATTRIBUTE_INTS:
        p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        p->n_ints = (size_t)a->count;
        p->ints = arena_copy(m->arena, a->ints, p->n_ints * sizeof *a->ints);
        break;
    }
    return p;
}

static Onnx__NodeProto *add_node(struct onnx_model *m, const char *op, const char *const *inputs,
                                 int output_count, const char **outputs)
{
    Onnx__NodeProto *n = ARENA_NEW(m->arena, Onnx__NodeProto);
    onnx__node_proto__init(n);
    char path[sizeof m->scope];
    strcpy(path, m->scope);
    for (char *c = path; *c; c++)
        if (*c == '.')
            *c = '/';
    n->op_type = arena_strdup(m->arena, op);
    n->name = arena_printf(m->arena, "/%s%s%s_%d", path, *path ? "/" : "", op, m->node_count);
    for (; inputs && inputs[n->n_input]; n->n_input++)
        ;
    n->input = ARENA_ARRAY(m->arena, char *, n->n_input);
    for (size_t i = 0; i < n->n_input; i++)
        n->input[i] = (char *)inputs[i];
    n->n_output = (size_t)output_count;
    n->output = ARENA_ARRAY(m->arena, char *, output_count);
    for (int i = 0; i < output_count; i++)
        outputs[i] = n->output[i] = arena_printf(m->arena, "%s_output_%d", n->name, i);
    ARENA_GROW(m->arena, m->nodes, m->node_count, m->node_cap);
    m->nodes[m->node_count++] = n;
    return n;
}

void emit_many(struct onnx_model *m, const char *op, const char *const *inputs,
               const struct attribute *attributes, int output_count, const char **outputs)
{
    Onnx__NodeProto *n = add_node(m, op, inputs, output_count, outputs);
    for (; attributes && attributes[n->n_attribute].name; n->n_attribute++)
        ;
    n->attribute = ARENA_ARRAY(m->arena, Onnx__AttributeProto *, n->n_attribute);
    for (size_t i = 0; i < n->n_attribute; i++)
        n->attribute[i] = attribute_proto(m, &attributes[i]);
}

const char *emit(struct onnx_model *m, const char *op, const char *const *inputs,
                 const struct attribute *attributes)
{
    const char *output;
    emit_many(m, op, inputs, attributes, 1, &output);
    return output;
}

static const char *constant(struct onnx_model *m, int element_type, int rank, size_t count,
                            size_t element_size, const uint64_t *bits)
{
    const char *output;
    Onnx__NodeProto *n = add_node(m, "Constant", NULL, 1, &output);
    Onnx__AttributeProto *a = ARENA_NEW(m->arena, Onnx__AttributeProto);
    onnx__attribute_proto__init(a);
    a->name = arena_strdup(m->arena, "value");
    a->has_type = 1, a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
    Onnx__TensorProto *t = a->t = ARENA_NEW(m->arena, Onnx__TensorProto);
    onnx__tensor_proto__init(t);
    t->has_data_type = 1, t->data_type = element_type;
    t->n_dims = (size_t)rank;
    t->dims = ARENA_ARRAY(m->arena, int64_t, 1);
    t->dims[0] = (int64_t)count;
    t->has_raw_data = 1;
    t->raw_data.len = count * element_size;
    t->raw_data.data = arena_alloc(m->arena, count * element_size);
    for (size_t i = 0; i < count * element_size; i++)
        t->raw_data.data[i] = (uint8_t)(bits[i / element_size] >> (8 * (i % element_size)));
    n->n_attribute = 1;
    n->attribute = ARENA_ARRAY(m->arena, Onnx__AttributeProto *, 1);
    n->attribute[0] = a;
    return output;
}

const char *constant_float(struct onnx_model *m, float v)
{
    uint32_t word;
    memcpy(&word, &v, sizeof word);
    return constant(m, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, 0, 1, 4, &(uint64_t){word});
}

const char *constant_int(struct onnx_model *m, int64_t v)
{
    return constant(m, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 0, 1, 8, &(uint64_t){(uint64_t)v});
}

const char *constant_ints(struct onnx_model *m, int n, const int64_t *v)
{
    return constant(m, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 1, (size_t)n, 8, (const uint64_t *)v);
}
