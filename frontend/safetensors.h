/*
 * .safetensors: a length, a JSON table of names, types, shapes and places, then the elements.
 */
#ifndef XCC_FRONTEND_SAFETENSORS_H
#define XCC_FRONTEND_SAFETENSORS_H

#include "runtime/io/npy.h"

/* All arrays, which own their memory; npz_free also after a failure. */
bool safetensors_read(const char *path, struct npz *out, struct diag *d);

#endif
