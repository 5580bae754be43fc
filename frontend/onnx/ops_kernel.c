/*
 * Nodes of domain xcc.kernel: calls of kernels written by hand. The operator type is the kernel's
 * name; the kernel comes from --kernels, or with the node, as text in the attribute `assembly`.
 */
#include "frontend/kernel_library.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/ops.h"

#include <string.h>

bool is_kernel_domain(const char *domain)
{
    return !strcmp(domain, "xcc.kernel");
}

/* Scalars of a call would change nothing: kernels take tensors. */
static bool only_assembly(struct onnx_node *n)
{
    for (int i = 0; i < n->attrs.count; i++)
        if (strcmp(n->attrs.list[i].name, "assembly"))
            return NODE_ERROR(n, "attribute '%.100s': a kernel takes tensors, and of attributes "
                              "its text, 'assembly', alone", n->attrs.list[i].name);
    return true;
}

bool lower_kernel(struct onnx_node *n)
{
    const struct kernel_library *lib = n->im->options ? n->im->options->kernels : NULL;
    const struct kernel_entry *k = kernel_library_find(lib, n->op);
    const struct attr *text = attr_find(&n->attrs, "assembly");
    struct attrs attrs = {0};
    int results = 0;
    if (!only_assembly(n))
        return false;
    if (!k && (!text || text->kind != ATTR_STR))
        return NODE_ERROR(n, "no kernel '%.200s', there are: %s", n->op,
                          kernel_library_text(lib, &n->b->g->arena));
    bool ok = k ? kernel_attributes(k, &n->b->g->arena, &attrs, &results, n->b->d)
                : kernel_attributes_of_text(text->s.p, text->s.n, n->op, &n->b->g->arena, &attrs,
                                            &results, n->b->d);
    if (!ok)
        return false;
    if (n->nout > results)
        return NODE_ERROR(n, "%d outputs, kernel '%.200s' has %d", n->nout, n->op, results);
    struct node *made = b_node(n->b, OP_kernel_call, n->in, n->nin, results, &attrs);
    for (int i = 0; made && i < n->nout; i++)
        n->out[i] = made->out[i];
    return made != NULL;
}
