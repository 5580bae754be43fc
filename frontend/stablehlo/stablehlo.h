/*
 * StableHLO files: text, MLIR bytecode, portable artifacts (VHLO) and jax.export files, told apart
 * by content. stablehlo_import is in frontend/import.h.
 */
#ifndef FRONTEND_STABLEHLO_H
#define FRONTEND_STABLEHLO_H

#include "frontend/stablehlo/syntax/mlir.h"

/* Whether the content of a file looks like one of the above. */
bool stablehlo_detect(const void *data, size_t size);
/* Reads it, whatever it is; `data` must outlive the module. */
struct mlir_module *stablehlo_read(struct arena *a, const char *file, const void *data, size_t size,
                                   struct diag *d);
/* Whether it means something: types, attributes, shapes, regions. */
bool stablehlo_verify(const struct mlir_module *m, struct diag *d);

#endif
