/*
 * Zip files in memory, as NumPy and others write them: members that are stored or deflated, larger
 * than 4 GiB too.
 */
#ifndef RUNTIME_IO_ZIP_H
#define RUNTIME_IO_ZIP_H

#include "neff/base/diag.h"

#include <stddef.h>
#include <stdint.h>

struct zip_reader {
    const uint8_t *data; /* not trusted */
    size_t size;
    uint64_t at, left; /* in the list of members: where the next one's row starts, and how many rows
                          there are */
    uint64_t stored, expanded; /* bytes of the members so far, in the file and taken out */
};

struct zip_member {
    const char *name; /* in the data, not terminated */
    size_t name_size;
    unsigned flags, method;
    const uint8_t *data; /* as stored */
    uint64_t stored, size, crc;
};

bool zip_open(struct zip_reader *z, const void *data, size_t size, struct diag *d);
/* The next member. False at the end, and after a failure, which diag_failed tells. */
bool zip_next(struct zip_reader *z, struct zip_member *m, struct diag *d);
/* Its bytes in a new block that the caller frees; NULL after a failure. */
void *zip_extract(const struct zip_member *m, struct diag *d);

#endif
