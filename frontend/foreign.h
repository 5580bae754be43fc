/*
 * Files that are models, or look like one, in a format that is not read: by their first bytes, with
 * the command that makes something of them that is.
 */
#ifndef FRONTEND_FOREIGN_H
#define FRONTEND_FOREIGN_H

#include "neff/base/diag.h"

#include <stddef.h>
#include <stdint.h>

/* False, with a message in d, when the file is one of them. PATH tells what bytes do not. */
bool foreign_check(const char *path, const uint8_t *data, size_t size, struct diag *d);
/* The same for what no reader has taken: text, and a file of jax.export that is cut. */
bool foreign_check_text(const uint8_t *data, size_t size, struct diag *d);
/* foreign_check for folders. */
bool foreign_check_folder(const char *path, struct diag *d);

#endif
