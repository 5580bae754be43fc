/*
 * An image file in memory, and what it decodes to.
 */
#ifndef RUNTIME_PLUGINS_PICTURE_H
#define RUNTIME_PLUGINS_PICTURE_H

#include "neff/base/diag.h"

#include <stddef.h>
#include <stdint.h>

struct picture {
    int64_t width, height;
    uint8_t *rgb; /* width * height * 3; malloc, owned by the caller also after a failure */
};

struct image_file {
    const uint8_t *p;
    size_t n;
};

/* Checks the size (1 to 2^28 pixels) and allocates rgb. */
bool picture_alloc(struct picture *out, int64_t width, int64_t height, struct diag *d);

#endif
