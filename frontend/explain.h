/*
 * xcc --explain: the compiler's decisions, a summary first.
 */
#ifndef FRONTEND_EXPLAIN_H
#define FRONTEND_EXPLAIN_H

#include "frontend/driver.h"
#include "neff/isa/program.h"

/* Whether the command asks for any of it. */
bool explain_wanted(const struct command *c);

/* Prints to stderr what the command asks for. p: the program made; NULL when there is none. Fails when it asks for
 * nodes that no decision is about. */
bool explain(const struct command *c, const struct reasons *r, const struct program *p, struct diag *d);

#endif
