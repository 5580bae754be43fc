#include "frontend/onnx/ops.h"

#include <string.h>

static const struct row {
    const char *domain, *op;
    int from, to;
    lower_fn lower;
} rows[] = {
#define ROW(domain, op, from, to, lower) {domain, op, from, to, lower},
#include "frontend/onnx/ops.def"
};

static bool spelled(const char *spelling, const char *domain, const char *name)
{
    size_t n = strlen(domain);
    if (!n)
        return !strcmp(spelling, name);
    return !strncmp(spelling, domain, n) && spelling[n] == '.' && !strcmp(spelling + n + 1, name);
}

/* The row of op.def with that ONNX spelling. */
static enum op core_op(const char *domain, const char *name)
{
    for (int op = 0; *name && op < OP_COUNT; op++)
        if (spelled(op_infos[op].onnx, domain, name))
            return op;
    return OP_COUNT;
}

struct lowering lowering_find(const char *domain, const char *op, int version)
{
    const struct schema *s = schema_find(domain, op);
    enum op core = core_op(domain, op);
    if (version <= 0 || (s && version < s->since))
        return (struct lowering){NULL, OP_COUNT};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (version >= rows[i].from && version <= rows[i].to && !strcmp(rows[i].op, op) &&
            !strcmp(rows[i].domain, domain))
            return (struct lowering){rows[i].lower, core};
    return (struct lowering){core == OP_COUNT ? NULL : lower_same, core};
}

bool lower_same(struct onnx_node *n)
{
    enum op op = core_op(n->domain, n->op);
    int nout = n->nout > op_infos[op].min_out ? n->nout : op_infos[op].min_out;
    struct node *made = b_node(n, op, n->in, n->nin, nout, &n->attrs);
    for (int i = 0; made && i < n->nout; i++)
        n->out[i] = made->out[i];
    return made != NULL;
}
