/* Attributes of operations, for the checks. */
#include "frontend/stablehlo/verify/verify.h"

int64_t verify_int(const struct mlir_op *op, const char *name, int64_t standard)
{
    int64_t n;
    return mlir_int(mlir_attr_or_field(op, name), &n) ? n : standard;
}

int verify_ints(struct verifier *v, const struct mlir_op *op, const char *name, int64_t **list)
{
    const struct mlir_attr *a = mlir_attr_or_field(op, name);
    int n;
    return a && mlir_ints(&v->arena, a, &n, list) ? n : -1;
}
