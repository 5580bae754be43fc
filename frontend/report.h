/*
 * xcc --report: what the simulator says of the program just compiled.
 */
#ifndef FRONTEND_REPORT_H
#define FRONTEND_REPORT_H

#include "neff/isa/program.h"

#include <stdio.h>

/* On stdout. Dims that are not known count as 1. */
bool print_report(const struct program *p, struct diag *d);
/* The same as one JSON object. */
bool report_json(const struct program *p, int cores, FILE *out, struct diag *d);

#endif
