/*
 * Structural check of an ONNX file: parses as a ModelProto; every value has one producer and is
 * produced before its use; nothing is produced in vain; every initializer's bytes match its dims,
 * inside the file or in an external one beside it; inputs and outputs have types and shapes.
 */
#ifndef MODELS_CHECK_H
#define MODELS_CHECK_H

#include "neff/base/diag.h"

/* False with a failure in d. Adds a one-line summary to stdout on success. */
bool check_model(const char *path, struct diag *d);

#endif
