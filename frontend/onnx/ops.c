#include "frontend/onnx/ops.h"

#include <string.h>

static const struct onnx_row {
    const char *domain, *op;
    int from, to;
    lower_fn lower;
} rows[] = {
#define ROW(domain, op, from, to, lower) {domain, op, from, to, lower},
#include "frontend/onnx/ops.def"
};

struct onnx_lowering lowering_find(const char *domain, const char *op, int version)
{
    const struct schema *s = schema_find(domain, op);
    enum op core = core_op(domain, op);
    if (is_kernel_domain(domain))
        return (struct onnx_lowering){lower_kernel, OP_kernel_call};
    if (s && !*domain && version > 0 && version < s->since)
        version = s->since; /* models used it before it was a standard, as ONNX Runtime's */
    if (version <= 0 || (s && version < s->since))
        return (struct onnx_lowering){NULL, OP_COUNT};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (version >= rows[i].from && version <= rows[i].to && !strcmp(rows[i].op, op) &&
            !strcmp(rows[i].domain, domain))
            return (struct onnx_lowering){rows[i].lower, core};
    return (struct onnx_lowering){core == OP_COUNT ? NULL : lower_same, core};
}
