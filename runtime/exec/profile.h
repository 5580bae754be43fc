/*
 * Profiles: what ran when, as Chrome trace events (chrome://tracing, Perfetto).
 *
 * One profile may collect several runs of one context. Times are microseconds since profile_new.
 */
#ifndef RUNTIME_EXEC_PROFILE_H
#define RUNTIME_EXEC_PROFILE_H

#include "neff/program.h"

#include <stdio.h>

struct profile;

struct profile *profile_new(void);
void profile_free(struct profile *p);
double profile_now(const struct profile *p);
/* A finished event; strings must outlive the profile. `source` may be NULL. track: lane number. */
void profile_event(struct profile *p, const char *kind, const char *name, const char *source,
                   int track, double start, double end, int64_t flops, int64_t bytes);
/* Written whole or not at all. */
bool profile_write(const struct profile *p, const char *path, struct diag *d);
/* Text table of the most expensive kernels and calls, longest first: of each, its fastest run,
 * without what ran inside it. Last, the shares of tile programs and of calls. */
void profile_print(const struct profile *p, FILE *out, int rows);

#endif
