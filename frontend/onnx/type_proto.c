#include "frontend/onnx/type_proto.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TYPE_DEPTH = 16 };

static struct dim_name *find_name(struct dim_names *names, const char *name)
{
    for (int i = 0; i < names->count; i++)
        if (!strcmp(names->list[i].name, name))
            return &names->list[i];
    return NULL;
}

static struct dim_name *add_name(struct dim_names *names, const char *name, dim_t dim)
{
    ARENA_GROW(&names->g->arena, names->list, names->count, names->cap);
    struct dim_name *made = &names->list[names->count++];
    *made = (struct dim_name){arena_strdup(&names->g->arena, name), dim};
    return made;
}

/* An identifier made of the text, which no other symbol has. */
static const char *identifier(struct graph *g, const char *text)
{
    size_t n = strlen(text);
    char *made = arena_printf(&g->arena, "%s%.*s", isdigit((unsigned char)*text) || !n ? "_" : "",
                              (int)(n < 64 ? n : 64), text);
    for (char *p = made; *p; p++)
        if (!isalnum((unsigned char)*p))
            *p = '_';
    const char *tried = made;
    for (int k = 2;; k++) {
        if (dim_find_symbol(&g->dims, tried) < 0)
            return tried;
        tried = arena_printf(&g->arena, "%s_%d", made, k);
    }
}

/* The name that the model gives a dim, or NULL. "?" (Paddle), "None" and "-1" (scripts that print a size they do not
 * know) stand for each dim that has none: dims are not equal for it. */
static const char *dim_name(const Onnx__TensorShapeProto__Dimension *dim)
{
    const char *p = dim->dim_param;
    if (dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM || !strcmp(p, "None") ||
        !strcmp(p, "-1"))
        return NULL;
    while (*p && !isalnum((unsigned char)*p) && *p != '_')
        p++;
    return *p ? dim->dim_param : NULL;
}

/* ---- names that are sums, as exporters write them: "past_sequence_length + 1" ---- */

static bool names_a_dim(const Onnx__GraphProto *graph, const char *name);
static dim_t named_dim(struct dim_names *names, const char *param);

static const char *skip_spaces(const char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

/* A number, or a name that an input's dim has by itself. */
static bool sum_atom(struct dim_names *names, const char **at, dim_t *out)
{
    enum { LONGEST = 100, LARGEST = 1 << 30 };
    const char *p = skip_spaces(*at), *start = p;
    if (isdigit((unsigned char)*p)) {
        for (*out = 0; isdigit((unsigned char)*p); p++)
            if ((*out = 10 * *out + (*p - '0')) > LARGEST)
                return false;
    } else {
        char name[LONGEST + 1];
        while (isalnum((unsigned char)*p) || *p == '_')
            p++;
        if (p == start || p - start > LONGEST)
            return false;
        memcpy(name, start, (size_t)(p - start));
        name[p - start] = 0;
        if (!names_a_dim(names->graph, name))
            return false;
        *out = named_dim(names, name);
    }
    *at = skip_spaces(p);
    return true;
}

static bool sum_term(struct dim_names *names, const char **at, dim_t *out)
{
    if (!sum_atom(names, at, out))
        return false;
    while (**at == '*') {
        dim_t factor;
        *at += 1;
        if (!sum_atom(names, at, &factor))
            return false;
        *out = dim_mul(&names->g->dims, *out, factor);
    }
    return true;
}

/* Whether the whole of `param` is sums and products of numbers and dims of inputs. */
static bool sum_dim(struct dim_names *names, const char *param, dim_t *out)
{
    const char *p = param;
    if (!names->graph || !strpbrk(param, "+*") || !sum_term(names, &p, out))
        return false;
    while (*p == '+') {
        dim_t term;
        p++;
        if (!sum_term(names, &p, &term))
            return false;
        *out = dim_add(&names->g->dims, *out, term);
    }
    return *p == 0;
}

static dim_t named_dim(struct dim_names *names, const char *param)
{
    struct dim_name *known = find_name(names, param);
    dim_t sum;
    if (!known && sum_dim(names, param, &sum))
        known = add_name(names, param, sum);
    if (!known)
        known = add_name(names, param, dim_symbol(&names->g->dims, identifier(names->g, param)));
    return known->dim;
}

static bool tensor_type(struct dim_names *names, int dtype, const Onnx__TensorShapeProto *shape,
                        const char *stem, struct type *out, struct diag *d)
{
    if (dtype == DT_NONE && !stem) { /* inside containers and bodies it may be left open */
        *out = type_tensor(DT_NONE, RANK_UNKNOWN, NULL);
        return true;
    }
    if (dtype <= DT_NONE || dtype > DT_F6E3M2FN || !dtype_valid(dtype))
        return fail(d, "element type %d is unknown, expected a TensorProto.DataType of 1 to 28",
                    dtype);
    *out = type_tensor(dtype, RANK_UNKNOWN, NULL);
    if (!shape)
        return true;
    if (shape->n_dim > MAX_RANK)
        return fail(d, "shape of rank %zu, expected at most %d", shape->n_dim, MAX_RANK);
    for (size_t i = 0; i < shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
        bool value = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        if (value && dim->dim_value >= 0)
            out->dims[i] = dim->dim_value;
        else if (!stem)
            return true; /* of no use: what is in a container or a body may differ each time */
        else if (dim_name(dim))
            out->dims[i] = named_dim(names, dim_name(dim));
        else
            out->dims[i] = named_dim(names, arena_printf(&names->g->arena, "%s_d%zu", stem, i));
    }
    out->rank = (int8_t)shape->n_dim;
    return true;
}

static bool convert(struct dim_names *names, const Onnx__TypeProto *t, const char *stem, int depth,
                    struct type *out, struct diag *d)
{
    const Onnx__TypeProto *elem = NULL;
    int kind = VK_TENSOR, key = DT_NONE;
    if (depth > MAX_TYPE_DEPTH)
        return fail(d, "types are nested more than %d deep", MAX_TYPE_DEPTH);
    switch (t->value_case) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        return tensor_type(names, t->tensor_type->elem_type, t->tensor_type->shape, stem, out, d);
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        return fail(d, "sparse tensors are supported as initializers only; declare a dense tensor");
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        kind = VK_SEQUENCE;
        elem = t->sequence_type->elem_type;
        break;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        kind = VK_OPTIONAL;
        elem = t->optional_type->elem_type;
        break;
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        kind = VK_MAP;
        key = t->map_type->key_type;
        elem = t->map_type->value_type;
        break;
    default:
        return fail(d, "the type is missing or of an unknown kind, expected a tensor, sequence, "
                       "optional or map");
    }
    struct type *inner = ARENA_NEW(&names->g->arena, struct type);
    if (!elem)
        return fail(d, "the type of a container's elements is missing");
    if (!convert(names, elem, NULL, depth + 1, inner, d))
        return false;
    *out = type_container(kind, inner);
    out->dtype = (uint8_t)(key > 0 && key <= DT_F6E3M2FN ? key : DT_NONE);
    return true;
}

bool onnx_type(struct dim_names *names, const Onnx__TypeProto *t, const char *stem,
               struct type *out, struct diag *d)
{
    *out = (struct type){.kind = VK_NONE};
    return !t || convert(names, t, stem, 0, out, d);
}

/* ---- --shape ---- */

static const Onnx__TensorShapeProto *input_shape(const Onnx__ValueInfoProto *v)
{
    return v->type && v->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
               ? v->type->tensor_type->shape
               : NULL;
}

static bool bind(struct dim_names *names, const char *param, int64_t to, struct diag *d)
{
    struct dim_name *known = find_name(names, param);
    if (known && known->dim != to)
        return fail(d, "--shape binds dim '%s' to %lld and to %lld", param, (long long)known->dim,
                    (long long)to);
    if (!known)
        add_name(names, param, to);
    return true;
}

static bool bind_input_dims(struct dim_names *names, const Onnx__ValueInfoProto *v,
                            const struct shape_binding *b, struct diag *d)
{
    const Onnx__TensorShapeProto *shape = input_shape(v);
    if (!v->type || v->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return fail(d, "--shape %s: the input is not a tensor", b->name);
    if (shape && (int)shape->n_dim != b->rank)
        return fail(d, "--shape %s: %d dims given, the input has %zu", b->name, b->rank,
                    shape->n_dim);
    for (int i = 0; shape && i < b->rank; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
        bool value = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        if (b->dims[i] < 0)
            continue;
        if (value && dim->dim_value >= 0 && dim->dim_value != b->dims[i])
            return fail(d, "--shape %s: dim %d is %lld, the model fixes it to %lld", b->name, i,
                        (long long)b->dims[i], (long long)dim->dim_value);
        if (dim_name(dim) && !bind(names, dim_name(dim), b->dims[i], d))
            return false;
    }
    return true;
}

/* Whether a dim of the input is called that, by the model or (unnamed ones) by us. */
static bool input_has_dim(const Onnx__ValueInfoProto *v, const char *name)
{
    const Onnx__TensorShapeProto *shape = input_shape(v);
    size_t stem = v->name ? strlen(v->name) : 0;
    for (size_t k = 0; shape && stem && k < shape->n_dim; k++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[k];
        char suffix[32];
        snprintf(suffix, sizeof suffix, "_d%zu", k);
        const char *given = dim_name(dim);
        if (given ? !strcmp(given, name)
                  : !strncmp(name, v->name, stem) && !strcmp(name + stem, suffix))
            return true;
    }
    return false;
}

static bool names_a_dim(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_input; i++)
        if (input_has_dim(graph->input[i], name))
            return true;
    return false;
}

bool onnx_bind_shapes(struct dim_names *names, const Onnx__GraphProto *graph,
                      const struct import_options *o, struct diag *d)
{
    names->graph = graph;
    for (int s = 0; o && s < o->nshapes; s++) {
        struct shape_binding *b = &o->shapes[s];
        for (size_t i = 0; i < graph->n_input && !b->used; i++)
            if (graph->input[i]->name && !strcmp(graph->input[i]->name, b->name)) {
                b->used = true;
                if (!bind_input_dims(names, graph->input[i], b, d))
                    return false;
            }
        if (!b->used && b->rank == 1 && b->dims[0] >= 0) {
            b->used = names_a_dim(graph, b->name);
            if (!bind(names, b->name, b->dims[0], d))
                return false;
        }
    }
    return true;
}

bool onnx_bind_input(struct dim_names *names, const char *name, const struct import_options *o,
                     struct type *t, struct diag *d)
{
    for (int s = 0; o && s < o->nshapes; s++) {
        const struct shape_binding *b = &o->shapes[s];
        if (strcmp(b->name, name) || t->kind != VK_TENSOR)
            continue;
        for (int i = 0; i < b->rank; i++)
            if (b->dims[i] >= 0)
                t->dims[i] = b->dims[i];
            else if (t->rank < 0)
                t->dims[i] = named_dim(names, arena_printf(&names->g->arena, "%s_d%d", name, i));
        t->rank = (int8_t)b->rank;
    }
    if (o && o->adapt)
        o->adapt(o->user, names->g, name, t);
    return true;
}
