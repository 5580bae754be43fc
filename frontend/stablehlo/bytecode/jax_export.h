/*
 * Files of jax.export: a FlatBuffer around a module in bytecode. What is needed of it is where the
 * module lies, which arguments it takes, and for which platforms and how many devices it was made.
 */
#ifndef FRONTEND_STABLEHLO_JAX_EXPORT_H
#define FRONTEND_STABLEHLO_JAX_EXPORT_H

#include "neff/base/arena.h"
#include "neff/base/diag.h"

#include <stdint.h>

struct jax_export {
    const char *name; /* of the function */
    const uint8_t *module;
    size_t module_size;
    int platform_count;
    const char **platforms; /* "cpu", "tpu", ... */
    int64_t devices, calling_convention;
    int ordered_effects;
    int kept_count; /* argument k of the module is argument kept[k] of the function */
    int64_t *kept;
};

/* Whether it looks like one: tables where they must be, and a module in bytecode. */
bool jax_export_detect(const uint8_t *data, size_t size);
/* The parts point into the data. */
bool jax_export_read(struct arena *a, const char *file, const uint8_t *data, size_t size,
                     struct jax_export *e, struct diag *d);

#endif
