/*
 * Calls of operators that the user brings (--custom-op), for every importer.
 */
#ifndef FRONTEND_CUSTOM_CALL_H
#define FRONTEND_CUSTOM_CALL_H

#include "frontend/import.h"
#include "runtime/custom/custom.h"

struct node;
struct value;

/* Files of --custom-op, in that order. */
struct custom_choice {
    int count;
    const char **files;
    const struct custom_library **libraries; /* NULL until custom_load */
    struct arena *arena;
};

/* Adds a file to the choice, which lives in the arena. */
void custom_choose(struct custom_choice *c, const char *file, struct arena *a);
/* Loads them, unless it has; nothing to do for NULL. */
bool custom_load(struct custom_choice *c, struct diag *d);

/*
 * The operator for a model's call: "domain::Name"; of several versions the newest up to `version`,
 * 0: the newest. NULL when no library has it.
 */
const struct custom_operator *custom_lookup(const struct import_options *o, const char *domain,
                                            const char *name, int version);
/* By the target of a custom call: "domain::Name", "domain.Name", or "Name" alone where only one
 * domain has it. */
const struct custom_operator *custom_lookup_target(const struct import_options *o,
                                                   const char *target);

/* Makes a node a call of the operator: its attributes are the model's until then. False: one that the operator does
 * not have. */
bool custom_become(struct graph *g, struct node *n, const struct import_options *o,
                   const struct custom_operator *op, struct diag *d);

/* Of a graph that was given as text: calls that name an operator and no library get theirs. */
bool custom_complete(struct graph *g, const struct import_options *o, struct diag *d);

#endif
