/*
 * Names of C files that become parts of one file (amalgamate.c): what a file keeps to itself gets the
 * file's prefix.
 */
#ifndef FRONTEND_STANDALONE_RENAME_H
#define FRONTEND_STANDALONE_RENAME_H

#include "neff/base/arena.h"

#include <stdbool.h>
#include <stdio.h>

/* In texts: what lies between is rows of a table (.def), whose names are everybody's. */
enum { TABLE_BEGINS = '\1', TABLE_ENDS = '\2' };

/* A set of identifiers. */
struct name_set {
    struct arena *arena;
    size_t count, cap;
    const char **slot;
};
bool names_have(const struct name_set *s, const char *name, size_t n);
void names_add(struct name_set *s, const char *name, size_t n);

/* What headers speak of. */
struct shared_names {
    struct name_set names;  /* all but members */
    struct name_set macros;
    struct name_set tags;   /* of structures, unions, enumerations, where these have no body */
    struct name_set bodies; /* where they have: a file that has another keeps it to itself */
    struct name_set starts; /* of names that their macros make: "OP_" of OP_##id */
};
void share_names(struct shared_names *s, const char *text);

/*
 * Writes a file's text: its own functions, variables, constants, types and tags, and names of such that its
 * macros make, begin with `prefix`; macros that it defines are undefined at the end.
 */
void write_renamed(const char *text, const char *prefix, const struct shared_names *shared, FILE *f);
/* Writes a header's text: functions that it declares are static, if they are among those `defined`, and
 * are added to *made_static. */
void write_static(const char *text, const struct name_set *defined, struct name_set *made_static, FILE *f);

#endif
