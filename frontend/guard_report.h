/*
 * What the compiled program assumes about sizes, for the person who compiles it.
 */
#ifndef FRONTEND_GUARD_REPORT_H
#define FRONTEND_GUARD_REPORT_H

#include "frontend/driver.h"
#include "neff/isa/program.h"

/* Warns, on stderr, of every symbol of inputs that a guard pins to one value; lists all guards when
 * verbose. */
void report_guards(const struct program *p, const struct command *c);

#endif
