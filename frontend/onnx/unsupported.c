/*
 * Before anything else, all operators of a model that have no lowering are found and listed at
 * once.
 */
#include "frontend/kernel_library.h"
#include "frontend/custom_call.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/ops.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LISTED = 64, NAMES_SHOWN = 3 };

struct missing {
    const char *domain, *op;
    int version;
    int64_t count;
    const char *names[NAMES_SHOWN];
};

struct onnx_search {
    struct importer *im;
    struct missing list[MAX_LISTED];
    int count;
    int64_t nodes;
};

static void note(struct onnx_search *s, const Onnx__NodeProto *node, int version)
{
    const char *domain = domain_name(node->domain), *op = node->op_type ? node->op_type : "";
    const char *name = node->name && *node->name ? node->name
                       : node->n_output          ? node->output[0]
                                                 : "";
    struct missing *m = NULL;
    s->nodes++;
    for (int i = 0; i < s->count && !m; i++)
        if (!strcmp(s->list[i].op, op) && !strcmp(s->list[i].domain, domain) &&
            s->list[i].version == version)
            m = &s->list[i];
    if (!m && s->count == MAX_LISTED)
        return;
    if (!m) {
        m = &s->list[s->count++];
        *m = (struct missing){.domain = domain, .op = op, .version = version};
    }
    if (m->count < NAMES_SHOWN)
        m->names[m->count] = name;
    m->count++;
}

/* A kernel that is in no library comes with its node. */
static bool is_supported(const Onnx__NodeProto *node, int version)
{
    const char *domain = domain_name(node->domain);
    bool carried = !is_kernel_domain(domain);
    for (size_t i = 0; i < node->n_attribute; i++)
        carried |= node->attribute[i]->name && !strcmp(node->attribute[i]->name, "assembly");
    return carried && node->op_type && lowering_find(domain, node->op_type, version).lower;
}

static void search_nodes(struct onnx_search *s, Onnx__NodeProto *const *nodes, size_t n,
                         const struct opset *opsets, int nopsets, int depth)
{
    for (size_t i = 0; i < n; i++) {
        const Onnx__NodeProto *node = nodes[i];
        struct function *f = function_find(s->im, node);
        int version = opset_version(opsets, nopsets, domain_name(node->domain));
        if (kernel_of_node(s->im, node) ||
            (node->op_type && custom_lookup(s->im->options, domain_name(node->domain),
                                            node->op_type, version))) {
            continue;
        } else if (f && !f->checked && depth < MAX_CALL_DEPTH) {
            f->checked = true;
            search_nodes(s, f->proto->node, f->proto->n_node, f->opsets, f->nopsets, depth + 1);
        } else if (!f && !is_supported(node, version)) {
            note(s, node, version);
        }
        for (size_t k = 0; k < node->n_attribute && depth < MAX_CALL_DEPTH; k++)
            if (node->attribute[k]->g)
                search_nodes(s, node->attribute[k]->g->node, node->attribute[k]->g->n_node, opsets,
                             nopsets, depth + 1);
    }
}

static const char *domain_text(const char *domain)
{
    return *domain ? domain : "ai.onnx";
}

/* Not ONNX's or ONNX Runtime's: operators of the model's author, who has code for them. */
static bool is_own_domain(const char *domain)
{
    return *domain && strncmp(domain, "ai.onnx", strlen("ai.onnx")) != 0 &&
           strncmp(domain, "com.microsoft", strlen("com.microsoft")) != 0;
}

static const char *describe(const struct onnx_search *s, struct arena *a, const struct missing *m)
{
    char names[400];
    size_t at = 0;
    for (int i = 0; i < NAMES_SHOWN && i < m->count && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s'%.80s'", i ? ", " : "",
                               m->names[i]);
    const struct schema *schema = schema_find(m->domain, m->op);
    const struct import_options *o = s->im->options;
    if (is_kernel_domain(m->domain))
        return arena_printf(a, "kernel '%s', %lld node%s: %s%s; the kernels of --kernels: %s",
                            m->op, (long long)m->count, m->count == 1 ? "" : "s", names,
                            m->count > NAMES_SHOWN ? ", ..." : "",
                            kernel_library_text(o ? o->kernels : NULL, a));
    const char *reason = !strcmp(m->domain, "com.microsoft.nchwc")
                             ? " (ONNX Runtime's layout for one processor: save the model at ORT_ENABLE_EXTENDED)"
                         : m->version == 0 ? " (the model does not import this domain's operator set)"
                         : schema && m->version < schema->since ? " (newer than that operator set)"
                         : !schema && is_own_domain(m->domain)
                             ? " (no operator of ONNX: --custom-op names a library that has it)"
                             : "";
    return arena_printf(a, "%s of %s %d, %lld node%s: %s%s%s", m->op, domain_text(m->domain),
                        m->version, (long long)m->count, m->count == 1 ? "" : "s", names,
                        m->count > NAMES_SHOWN ? ", ..." : "", reason);
}

bool check_operators(struct importer *im, const Onnx__GraphProto *graph, const struct opset *opsets,
                     int nopsets)
{
    struct onnx_search s = {.im = im};
    search_nodes(&s, graph->node, graph->n_node, opsets, nopsets, 0);
    if (s.count == 0)
        return true;
    const char *lines[MAX_LISTED];
    for (int i = 0; i < s.count; i++)
        lines[i] = describe(&s, &im->g->arena, &s.list[i]);
    im->d->unsupported = true;
    return fail_lines(im->d, lines, s.count, "%lld node%s of %d operator%s not supported; see --list-operators:",
                      (long long)s.nodes, s.nodes == 1 ? "" : "s", s.count,
                      s.count == 1 ? " is" : "s are");
}
