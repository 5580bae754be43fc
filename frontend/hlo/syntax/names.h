/*
 * One hash table for all names of a module: interned strings, and what a name means in a scope
 * (scope 0: computations; others: the instructions of one computation).
 */
#ifndef FRONTEND_HLO_NAMES_H
#define FRONTEND_HLO_NAMES_H

#include "neff/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct hlo_names {
    struct arena *strings; /* where interned strings live */
    struct arena table;    /* give back with arena_free */
    struct hlo_name_slot *slots;
    size_t count, capacity; /* a power of two */
};

const char *hlo_intern(struct hlo_names *n, const char *s, size_t size);
void *hlo_name_find(const struct hlo_names *n, uint32_t scope, const char *s, size_t size);
/* `name` must outlive the table. False when the scope has it already. */
bool hlo_name_add(struct hlo_names *n, uint32_t scope, const char *name, void *value);
/* Interned `base`, or base.K with the smallest K above *counter that the scope does not have. */
const char *hlo_name_fresh(struct hlo_names *n, uint32_t scope, const char *base, int *counter);
/* Interned name that text can spell: other characters become '_'. */
const char *hlo_name_clean(struct hlo_names *n, const char *s);

#endif
