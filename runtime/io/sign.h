/*
 * Signed archives, for programs: ed25519 over the archive's header, which holds the hash of all
 * that follows. The signature of M.neff is M.neff.sig, the archive stays as it is. Files of keys
 * and of signatures are hexadecimal text.
 */
#ifndef RUNTIME_IO_SIGN_H
#define RUNTIME_IO_SIGN_H

#include "neff/base/diag.h"

#include <stddef.h>

/* Writes PATH, which only its owner may read, and PATH.pub. Refuses to replace a key. */
bool sign_new_key(const char *path, struct diag *d);
/* Writes ARCHIVE.sig. Fails when the archive's contents differ from its hash. */
bool sign_archive(const char *archive, const char *key, struct diag *d);

/* A file that may change any time as it is now, in memory of the caller's (free), aligned to 64. */
bool read_copy(const char *path, void **data, size_t *size, struct diag *d);
/* Whether these bytes of an archive are those of its hash. */
bool check_archive(const void *data, size_t size, const char *path, struct diag *d);
/* The same, and that ARCHIVE.sig is a signature of them by the owner of the public key. */
bool check_signature(const void *data, size_t size, const char *path, const char *public_key,
                     struct diag *d);

#endif
