/*
 * Small integer operands (axes, sizes, starts) as dims, and constants that kernels read.
 */
#ifndef BACKEND_NUMBERS_H
#define BACKEND_NUMBERS_H

#include "backend/lower/lower.h"

/* Contents of a small integer tensor known before running, as expressions; their number, or -1. */
int read_numbers(struct lowering *l, struct value *v, dim_t *out, int max);
/* A constant of one element, all bytes zero. */
int zero_slot(struct lowering *l, int dtype);

#endif
