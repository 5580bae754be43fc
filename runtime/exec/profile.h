/*
 * Profiles: what ran when, as Chrome trace events (chrome://tracing, Perfetto).
 *
 * One profile may collect several runs of one context. Times are microseconds since profile_new.
 */
#ifndef RUNTIME_EXEC_PROFILE_H
#define RUNTIME_EXEC_PROFILE_H

#include "runtime/exec/rates.h"
#include "neff/isa/program.h"

#include <stdio.h>

struct profile;

struct profile *profile_new(void);
void profile_free(struct profile *p);
double profile_now(const struct profile *p);
/* Written whole or not at all. */
bool profile_write(const struct profile *p, const char *path, struct diag *d);
/*
 * Text table of kernels and calls, longest first: of each, its fastest run, without what ran inside
 * it, the rates it reached, and which of the machine's rates bounds it. Last, the shares of tile
 * programs and of calls.
 */
void profile_print(const struct profile *p, const struct machine_rates *rates, FILE *out);

#endif
