/*
 * Memory of --verify outside of its memory: bytes in a file without a name. What no operator needs at
 * the moment waits there, so that comparing takes little more than running does.
 */
#ifndef FRONTEND_VERIFY_FILE_H
#define FRONTEND_VERIFY_FILE_H

#include "neff/base/diag.h"

#include <stdint.h>
#include <stdio.h>

struct side_part {
    int64_t at;
    size_t bytes;
};
struct side_file { /* begins as {0} */
    FILE *f;
    int64_t size;
    struct side_part *free; /* given back */
    int nfree, cap;
};

bool side_take(struct side_file *s, size_t bytes, int64_t *at, struct diag *d);
void side_give(struct side_file *s, int64_t at, size_t bytes);
bool side_write(struct side_file *s, int64_t at, const void *data, size_t bytes, struct diag *d);
bool side_read(struct side_file *s, int64_t at, void *data, size_t bytes, struct diag *d);
/* The block of memory is of no use until it is written or read again: its pages go back to the system. */
void side_drop(void *data, size_t bytes);
void side_close(struct side_file *s);

#endif
