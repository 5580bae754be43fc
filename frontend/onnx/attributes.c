#include "frontend/onnx/attributes.h"
#include "frontend/onnx/importer.h"

#include <string.h>

struct resolved attribute_resolve(const struct onnx_node *n, const Onnx__AttributeProto *a)
{
    struct resolved r = {a->name, a, n->scope};
    if (!a->ref_attr_name || !*a->ref_attr_name)
        return r;
    const struct frame *frame = n->scope->frame;
    r.proto = NULL;
    for (int i = 0; i < frame->nactuals; i++)
        if (!strcmp(frame->actuals[i].name, a->ref_attr_name)) {
            r.proto = frame->actuals[i].proto;
            r.scope = frame->actuals[i].scope;
        }
    return r;
}

char attribute_kind(const Onnx__AttributeProto *a)
{
    static const char kinds[] = "?fistgFISTGpPyY"; /* by AttributeProto.AttributeType */
    if (a->has_type && a->type > 0 && a->type < (int)sizeof kinds - 1)
        return kinds[a->type];
    return a->has_f           ? 'f'
           : a->has_i         ? 'i'
           : a->has_s         ? 's'
           : a->t             ? 't'
           : a->g             ? 'g'
           : a->n_floats      ? 'F'
           : a->n_ints        ? 'I'
           : a->n_strings     ? 'S'
           : a->n_tensors     ? 'T'
           : a->n_graphs      ? 'G'
           : a->sparse_tensor ? 'p'
           : a->tp            ? 'y'
                              : '?';
}

/* A tensor that lives as long as the graph. */
static const struct tensor *import_tensor(struct onnx_node *n, const Onnx__TensorProto *t)
{
    struct tensor read;
    if (!onnx_tensor(n->im->file, t, &read, n->b->d)) {
        if (t->name && *t->name)
            fail_in(n->b->d, "tensor '%.200s'", t->name);
        return NULL;
    }
    if (read.owned)
        return onnx_file_keep(n->im->file, &read, n->b->d);
    return arena_copy(&n->b->g->arena, &read, sizeof read);
}

static bool set_lists(struct onnx_node *n, const char *name, const Onnx__AttributeProto *a,
                      char kind)
{
    struct arena *arena = &n->b->g->arena;
    if (kind == 'F') {
        double *v = ARENA_ARRAY(arena, double, a->n_floats);
        for (size_t i = 0; i < a->n_floats; i++)
            v[i] = a->floats[i];
        attr_set_floats(arena, &n->attrs, name, v, (int)a->n_floats);
    } else if (kind == 'I') {
        attr_set_ints(arena, &n->attrs, name, a->ints, (int)a->n_ints);
    } else if (kind == 'S') {
        struct str *v = ARENA_ARRAY(arena, struct str, a->n_strings);
        for (size_t i = 0; i < a->n_strings; i++)
            v[i] = (struct str){(char *)a->strings[i].data, a->strings[i].len};
        attr_set_strs(arena, &n->attrs, name, v, (int)a->n_strings);
    }
    return true;
}

static bool set(struct onnx_node *n, const char *name, const Onnx__AttributeProto *a, char kind)
{
    struct arena *arena = &n->b->g->arena;
    switch (kind) {
    case 'f':
        attr_set_float(arena, &n->attrs, name, a->f);
        return true;
    case 'i':
        attr_set_int(arena, &n->attrs, name, a->i);
        return true;
    case 's':
        attr_set_strn(arena, &n->attrs, name, (struct str){(char *)a->s.data, a->s.len});
        return true;
    case 't': {
        if (!a->t)
            return NODE_ERROR(n, "attribute '%s' says it is a tensor and holds none", name);
        const struct tensor *t = import_tensor(n, a->t);
        if (t)
            attr_set_tensor(arena, &n->attrs, name, t);
        return t || fail_in(n->b->d, "attribute '%s'", name);
    }
    case 'y': {
        struct type *t = ARENA_NEW(arena, struct type);
        if (!onnx_type(&n->im->dims, a->tp, NULL, t, n->b->d))
            return fail_in(n->b->d, "attribute '%s'", name);
        attr_set_type(arena, &n->attrs, name, t);
        return true;
    }
    case 'g':
        return a->g || NODE_ERROR(n, "attribute '%s' says it is a graph and holds none", name);
    default:
        return set_lists(n, name, a, kind);
    }
}

static bool has_attribute(void *user, const char *name)
{
    const struct onnx_node *n = user;
    for (size_t i = 0; i < n->proto->n_attribute; i++)
        if (n->proto->attribute[i]->name && !strcmp(n->proto->attribute[i]->name, name))
            return attribute_resolve(n, n->proto->attribute[i]).proto != NULL;
    return false;
}

bool attributes_convert(struct onnx_node *n, const struct schema *s)
{
    for (size_t i = 0; i < n->proto->n_attribute; i++) {
        const Onnx__AttributeProto *a = n->proto->attribute[i];
        if (!a->name || !*a->name)
            return NODE_ERROR(n, "attribute %zu has no name", i);
        struct resolved r = attribute_resolve(n, a);
        if (!r.proto)
            continue;
        char kind = attribute_kind(r.proto);
        const char *expected;
        enum attribute_check check = s ? schema_check(s, a->name, kind, &expected) : ATTRIBUTE_OK;
        if (check == ATTRIBUTE_WRONG_KIND)
            return NODE_ERROR(n, "attribute '%s' is of the wrong kind, expected %s", a->name,
                              expected);
        if (check == ATTRIBUTE_UNKNOWN) {
            warn(n->b->d, "%s: node '%s' (%s): attribute '%s' is not one of this operator's; ignored",
                 n->im->file->path, n->b->name, n->op, a->name);
            continue;
        }
        if (attr_find(&n->attrs, a->name))
            return NODE_ERROR(n, "attribute '%s' is given twice", a->name);
        if (s && kind == 'i' && !schema_check_type(s, n, a->name, r.proto->i))
            return false;
        if (strcmp(a->name, "consumed_inputs") && !set(n, a->name, r.proto, kind))
            return false;
    }
    const char *missing = s ? schema_missing(s, &n->b->g->arena, has_attribute, n) : NULL;
    return !missing || NODE_ERROR(n, "attribute '%s' is missing, this operator needs it", missing);
}
