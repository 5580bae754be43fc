/*
 * Guards: what a model's shape rules assume about dims that are not constant.
 *
 * A compiled program is right for the sizes that its guards admit and is not to be run with others.
 * Shape inference makes one wherever two dims must go together and are not known to; the archive
 * carries them, and the runtime checks each as soon as its symbols have values: at once for symbols
 * of inputs, when the operator that defines it has run for others. A guard of a region (a branch, a
 * loop's body) holds whenever the region runs.
 */
#ifndef NEFF_GUARD_H
#define NEFF_GUARD_H

#include "neff/core/dim.h"

enum guard_kind {
    GUARD_EQUAL,     /* a == b */
    GUARD_BROADCAST, /* a == b, or one of them is 1 */
    GUARD_EXPAND,    /* a == b, or a is 1 */
    GUARD_MULTIPLE,  /* a is a multiple of b; of 0 only 0 is */
    GUARD_AT_MAX,   /* a <= b */
    GUARD_KINDS
};
extern const char *const guard_kind_names[GUARD_KINDS]; /* "equal", "broadcast", ... */

struct guard {
    uint8_t kind;     /* enum guard_kind */
    int8_t dimension; /* of the operands, counted as in the message; -1: of none in particular */
    int32_t region;   /* of the program; 0: the main one */
    dim_t a, b;
    const char *node; /* the model's node, "'/add' (Add)" */
    const char *what; /* whose sizes they are, "operands 'x' and 'c'", "channels"; may be "" */
};

/* The kind of that name; GUARD_KINDS when there is none. */
int guard_kind_from_name(const char *name);

bool guard_holds(int kind, int64_t a, int64_t b);
/* Whether it holds for all values of the symbols. */
bool guard_is_certain(struct dim_table *t, int kind, dim_t a, dim_t b);

/* What it demands, "s = 8", "s*t a multiple of 4"; lives in arena. */
const char *guard_text(const struct dim_table *t, struct arena *arena, const struct guard *g);
/* The symbol that has one value only where an equality holds, or 1 besides (*or_one) where sizes
 * broadcast; -1 when no symbol is pinned. */
int guard_pins(const struct dim_table *t, const struct guard *g, int64_t *value, bool *or_one);

/* Fails with the sizes found, and (with a table, NULL for constants) what the model needs. */
bool guard_fail(const struct guard *g, const struct dim_table *t, int64_t a, int64_t b,
                struct diag *d);
/* Checks one under values of all expressions; those with unknown operands hold. */
bool guard_check(const struct guard *g, const struct dim_table *t, const int64_t *values,
                 struct diag *d);

#endif
