/* Modules in MLIR's generic text form; reading it gives the same module. */
#ifndef TEST_PRINT_MLIR_PRINT_H
#define TEST_PRINT_MLIR_PRINT_H

#include "frontend/stablehlo/syntax/mlir.h"

void mlir_print(FILE *out, const struct mlir_module *m);

#endif
