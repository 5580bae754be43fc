/*
 * The weights of an archive: constants one after another, each at its alignment. Those that have
 * makers are made here, in pieces, by several threads; the bytes are the same for any number.
 */
#ifndef NEFF_ARCHIVE_WEIGHTS_H
#define NEFF_ARCHIVE_WEIGHTS_H

#include "neff/archive/archive_json.h"

struct weights {
    struct program *p;
    struct placement *at;  /* per slot: in the member */
    struct bytes *strings; /* per slot: as stored, of constants of strings */
    uint64_t size;         /* of the member */
};

/* Gives every constant its place. */
bool weights_place(struct weights *w, struct program *p, struct arena *a, struct diag *d);

/* Hands out all `size` bytes in order, by one thread at a time; data NULL: so many zeros. */
typedef bool (*put_fn)(void *user, const void *data, size_t n, struct diag *d);
bool weights_write(const struct weights *w, put_fn put, void *user, struct diag *d);

#endif
