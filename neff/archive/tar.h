/*
 * Uncompressed POSIX ustar archives of regular files: reading them where they lie in memory, and
 * the blocks to write them.
 *
 * A member is a header of one block, its bytes, and zeros up to the next block; a block of zeros
 * ends the archive, or the end of the data. Sizes of 8 GiB and more are big-endian numbers of 95
 * bits whose first bit is set, as GNU tar writes and others read them.
 */
#ifndef NEFF_TAR_H
#define NEFF_TAR_H

#include "neff/base/diag.h"

#include <stddef.h>
#include <stdint.h>

enum { TAR_BLOCK = 512, TAR_NAME = 100, TAR_PREFIX = 155 };

struct tar_reader {
    const uint8_t *data; /* not trusted */
    size_t size, at;
};
struct tar_member {
    char name[TAR_PREFIX + 1 + TAR_NAME + 1];
    const uint8_t *data; /* in the reader's memory */
    size_t size;
};

/* The next member. False at the end, and after a failure, which diag_failed tells. */
bool tar_next(struct tar_reader *t, struct tar_member *m, struct diag *d);

/* The header of a member: mode 0644, owner 0, time 0. The name has at most TAR_NAME bytes. */
void tar_header(uint8_t block[TAR_BLOCK], const char *name, uint64_t size);
/* Zeros after a member of that size. */
static inline size_t tar_padding(uint64_t size)
{
    return (size_t)(-size % TAR_BLOCK);
}
enum { TAR_END = 2 * TAR_BLOCK }; /* zeros after the last member */

#endif
