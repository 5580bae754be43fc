/*
 * What an operation must satisfy beyond what HLO's shape rules check when it is converted: element
 * types, attributes, regions. verify.c: the table of element types, attributes; verify_region.c;
 * verify_index.c: gather and scatter; verify_device.c: several devices and the host;
 * verify_elementwise.c, with CHLO; verify_count.c: numbers of operands; verify_shape.c: the rest; verify_quantized.c.
 */
#ifndef FRONTEND_STABLEHLO_VERIFY_H
#define FRONTEND_STABLEHLO_VERIFY_H

#include "frontend/stablehlo/syntax/mlir.h"

#include <string.h>

struct verifier {
    struct arena arena;
    const struct mlir_module *module;
    struct diag *d;
    int depth;
};

/* All operations of a module. */
bool mlir_verify(const struct mlir_module *m, struct diag *d);

#define VERIFY_ERROR(v, ...) fail((v)->d, __VA_ARGS__)

/* First: the others take operands and results for granted that an operation must have. */
bool verify_counts(struct verifier *v, const struct mlir_op *op);
bool verify_regions(struct verifier *v, const struct mlir_op *op);
bool verify_indices(struct verifier *v, const struct mlir_op *op);
bool verify_devices(struct verifier *v, const struct mlir_op *op);
bool verify_shapes(struct verifier *v, const struct mlir_op *op);
bool verify_elementwise(struct verifier *v, const struct mlir_op *op);
bool verify_quantized(struct verifier *v, const struct mlir_op *op);

/* ---- reading ---- */

static inline bool verify_is(const struct mlir_op *op, const char *mnemonic)
{
    return !strncmp(op->name, "stablehlo.", 10) && !strcmp(op->name + 10, mnemonic);
}
static inline const struct mlir_type *verify_in(const struct mlir_op *op, int k)
{
    return k < op->operand_count ? op->operands[k]->type : NULL;
}
static inline const struct mlir_type *verify_out(const struct mlir_op *op, int k)
{
    return k < op->result_count ? op->results[k]->type : NULL;
}
static inline const struct mlir_type *verify_element(const struct mlir_type *t)
{
    return t && t->element ? t->element : t;
}
static inline const struct mlir_quant *verify_quant(const struct mlir_type *t)
{
    const struct mlir_type *e = verify_element(t);
    return e && e->kind == MT_QUANT ? e->quant : NULL;
}
static inline bool verify_tensor(const struct mlir_type *t)
{
    return t && t->kind == MT_TENSOR;
}
static inline bool verify_differ(int64_t a, int64_t b)
{
    return a != b && a >= 0 && b >= 0;
}
int64_t verify_int(const struct mlir_op *op, const char *name, int64_t standard);
/* Integers of an attribute; -1 when there is none. */
int verify_ints(struct verifier *v, const struct mlir_op *op, const char *name, int64_t **list);

#endif
