/*
 * JSON text, also inside the script of a page.
 */
#ifndef RUNTIME_SIM_JSON_H
#define RUNTIME_SIM_JSON_H

#include "runtime/sim/sim.h"

void put_string(FILE *out, const char *text);

#endif
