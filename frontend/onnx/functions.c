/*
 * Model-local functions, found by domain, name and overload.
 */
#include "frontend/kernel_library.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/message.h"
#include "frontend/wire.h"

#include <stdlib.h>
#include <string.h>

/* Fields newer than the packaged onnx.proto. */
enum { FUNCTION_ATTRIBUTE_PROTO = 11, FUNCTION_OVERLOAD = 13, NODE_OVERLOAD = 8 };

const struct kernel_entry *kernel_of_node(const struct importer *im, const Onnx__NodeProto *node)
{
    const struct kernel_library *lib = im->options ? im->options->kernels : NULL;
    bool kernel = node->op_type && !strcmp(domain_name(node->domain), "xcc.kernel");
    return kernel ? kernel_library_find(lib, node->op_type) : NULL;
}

const char *domain_name(const char *domain)
{
    return !domain || !strcmp(domain, "ai.onnx") ? "" : domain;
}

/*
 * The version of an operator set that a model uses without importing it: as in ONNX Runtime, whose tools write no
 * import of its own operators, the newest known. 0: none.
 */
static int unnamed_version(const char *domain)
{
    static const struct opset newest[] = {
        {"", NEWEST_OPSET}, {"ai.onnx.ml", NEWEST_ML}, {"com.microsoft", 1}};
    for (size_t i = 0; i < sizeof newest / sizeof newest[0]; i++)
        if (!strcmp(newest[i].domain, domain))
            return newest[i].version;
    return 0;
}

int opset_version(const struct opset *opsets, int nopsets, const char *domain)
{
    int version = -1;
    for (int i = 0; i < nopsets; i++)
        if (!strcmp(opsets[i].domain, domain) && opsets[i].version > version)
            version = opsets[i].version;
    return version < 0 ? unnamed_version(domain) : version;
}

const struct opset *opsets_read(struct arena *a, Onnx__OperatorSetIdProto *const *imports, size_t n,
                                int *count)
{
    struct opset *list = ARENA_ARRAY(a, struct opset, n + 1);
    *count = (int)n;
    for (size_t i = 0; i < n; i++) {
        int64_t v = imports[i]->version;
        list[i].domain = arena_strdup(a, domain_name(imports[i]->domain));
        list[i].version = v < 0 ? 0 : v > 10000 ? 10000 : (int)v;
    }
    return list;
}

/* The bytes of an unknown field of the length-delimited kind, without their length. */
static bool unknown_bytes(const ProtobufCMessageUnknownField *u, const uint8_t **p, size_t *n)
{
    uint64_t size;
    const uint8_t *at = u->data, *end = u->data + u->len;
    if (u->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED || !wire_varint(&at, end, &size) ||
        size > (size_t)(end - at))
        return false;
    *p = at;
    *n = (size_t)size;
    return true;
}

static const char *unknown_string(struct arena *a, const ProtobufCMessage *m, uint32_t field)
{
    const uint8_t *p;
    size_t n;
    for (unsigned i = 0; i < m->n_unknown_fields; i++)
        if (m->unknown_fields[i].tag == field && unknown_bytes(&m->unknown_fields[i], &p, &n))
            return arena_strndup(a, (const char *)p, n);
    return "";
}

static bool read_defaults(struct importer *im, struct function *f)
{
    const ProtobufCMessage *m = &f->proto->base;
    const Onnx__AttributeProto **list =
        ARENA_ARRAY(&im->g->arena, const Onnx__AttributeProto *, m->n_unknown_fields + 1);
    for (unsigned i = 0; i < m->n_unknown_fields; i++) {
        const uint8_t *p;
        size_t n;
        if (m->unknown_fields[i].tag != FUNCTION_ATTRIBUTE_PROTO ||
            !unknown_bytes(&m->unknown_fields[i], &p, &n))
            continue;
        Onnx__AttributeProto *a = message_unpack(&onnx__attribute_proto__descriptor, n, p);
        if (!a)
            return fail(im->d, "function '%s': a default attribute is damaged", f->name);
        ARENA_GROW(&im->g->arena, im->unpacked, im->nunpacked, im->unpacked_cap);
        im->unpacked[im->nunpacked++] = a;
        if (a->name)
            list[f->ndefaults++] = a;
    }
    f->defaults = list;
    return true;
}

bool functions_read(struct importer *im)
{
    const Onnx__ModelProto *model = im->file->model;
    struct arena *a = &im->g->arena;
    im->functions = ARENA_ARRAY(a, struct function, model->n_functions + 1);
    for (size_t i = 0; i < model->n_functions; i++) {
        struct function *f = &im->functions[im->nfunctions++];
        f->proto = model->functions[i];
        f->domain = arena_strdup(a, domain_name(f->proto->domain));
        f->name = arena_strdup(a, f->proto->name ? f->proto->name : "");
        f->overload = unknown_string(a, &f->proto->base, FUNCTION_OVERLOAD);
        f->opsets = opsets_read(a, f->proto->opset_import, f->proto->n_opset_import, &f->nopsets);
        if (!read_defaults(im, f))
            return false;
    }
    return true;
}

struct function *function_find(struct importer *im, const Onnx__NodeProto *node)
{
    if (im->nfunctions == 0 || !node->op_type)
        return NULL;
    const char *domain = domain_name(node->domain);
    const char *overload = unknown_string(&im->g->arena, &node->base, NODE_OVERLOAD);
    for (int i = 0; i < im->nfunctions; i++) {
        struct function *f = &im->functions[i];
        if (!strcmp(f->name, node->op_type) && !strcmp(f->domain, domain) &&
            !strcmp(f->overload, overload))
            return f;
    }
    return NULL;
}
