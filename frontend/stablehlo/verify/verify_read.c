/* Attributes of operations, for the checks. */
#include "frontend/stablehlo/verify/verify.h"

/* Attribute, or field of a structure. */
static const struct mlir_attr *verify_attr(const struct mlir_op *op, const char *name)
{
    const struct mlir_attr *a = mlir_attr(op, name);
    for (int k = 0; !a && k < op->attrs.count; k++)
        if (op->attrs.items[k]->kind == MA_STRUCT)
            a = mlir_field(op->attrs.items[k], name);
    return a;
}

int64_t verify_int(const struct mlir_op *op, const char *name, int64_t standard)
{
    int64_t n;
    return mlir_int(verify_attr(op, name), &n) ? n : standard;
}

int verify_ints(struct verifier *v, const struct mlir_op *op, const char *name, int64_t **list)
{
    const struct mlir_attr *a = verify_attr(op, name);
    int n;
    return a && mlir_ints(&v->arena, a, &n, list) ? n : -1;
}
