/*
 * The JSON members: sg00/def.json holds dims and variables (slots), neff.json what the graph is
 * made of, sg00/debug.json the source nodes.
 */
#ifndef NEFF_ARCHIVE_JSON_H
#define NEFF_ARCHIVE_JSON_H

#include "neff/isa/program.h"
#include "neff/isa/streams.h"

/* Where each constant lies in weights.bin; slots that are not constants have size 0. */
struct placement {
    uint64_t offset, size;
};

/* What a slot's kind is called there. */
extern const char *const slot_json_names[SLOT_KINDS];

/* archive_json_write.c */
struct bytes def_json_write(const struct program *p, const struct placement *at, struct arena *a);
/* Fills dims and slots (constants' data left NULL, see *at), nodes and output names. */
bool def_json_read(struct program *p, struct bytes text, struct placement **at, struct diag *d);

struct bytes debug_json_write(const struct program *p, struct arena *a);
bool debug_json_read(struct program *p, struct bytes text, struct diag *d);

/* archive_json_write.c: the name of the member that holds library i's object. */
const char *library_member(struct arena *a, int i);

struct bytes neff_json_write(const struct program *p, struct arena *a);

#endif
