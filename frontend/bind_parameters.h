/*
 * --bind PARAMS.npz|.safetensors: inputs of a model that become constants of the archive, by name.
 *
 * An array `dense/kernel` or `dense.kernel` goes to the input of that name, to the leaf
 * "['dense']['kernel']" of a JAX tree of parameters, and to that of an argument,
 * "params['dense']['kernel']". Types must be equal, shapes too where the model states them.
 */
#ifndef XCC_FRONTEND_BIND_PARAMETERS_H
#define XCC_FRONTEND_BIND_PARAMETERS_H

#include "frontend/import.h"

bool bind_parameters(struct graph *g, const struct import_options *o, struct diag *d);

#endif
