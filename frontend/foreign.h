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
/* False, with a message in d, for text, when no reader of text has taken it. */
bool foreign_check_text(const uint8_t *data, size_t size, struct diag *d);
/* foreign_check for folders. */
bool foreign_check_folder(const char *path, struct diag *d);

#endif
