/*
 * Files that gzip, xz, bzip2 or zstd have compressed, told by their first bytes.
 */
#ifndef XCC_FRONTEND_HLO_SYNTAX_DECOMPRESS_H
#define XCC_FRONTEND_HLO_SYNTAX_DECOMPRESS_H

#include "neff/base/diag.h"

#include <stddef.h>
#include <stdint.h>

bool is_compressed(const uint8_t *p, size_t n);

/* The content, in memory of its own that the caller frees. gzip is read here; the others by
 * libarchive, which is loaded when a file needs it. */
bool decompress(const char *name, const uint8_t *data, size_t size, uint8_t **out, size_t *out_size,
                struct diag *d);

#endif
