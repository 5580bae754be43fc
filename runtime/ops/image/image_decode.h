/*
 * Decoders of image files in memory, for ImageDecoder. Each fills a picture of 8-bit RGB, rows from
 * the top; a damaged file fails with a message. Those over a library say so when the build has
 * none.
 */
#ifndef RUNTIME_OPS_IMAGE_DECODE_H
#define RUNTIME_OPS_IMAGE_DECODE_H

#include "neff/base/diag.h"

#include <stddef.h>
#include <stdint.h>

struct picture {
    int64_t width, height;
    uint8_t *rgb; /* width * height * 3; malloc, owned by the caller also after a failure */
};

struct bytes {
    const uint8_t *p;
    size_t n;
};

/* Checks the size (1 to 2^28 pixels) and allocates rgb. */
bool picture_alloc(struct picture *out, int64_t width, int64_t height, struct diag *d);

bool decode_jpeg(struct bytes file, struct picture *out, struct diag *d);
bool decode_jpeg2000(struct bytes file, struct picture *out, struct diag *d);
bool decode_png(struct bytes file, struct picture *out, struct diag *d);
bool decode_webp(struct bytes file, struct picture *out, struct diag *d);
bool decode_tiff(struct bytes file, struct picture *out, struct diag *d);
bool decode_bmp(struct bytes file, struct picture *out, struct diag *d);
bool decode_pnm(struct bytes file, struct picture *out, struct diag *d);

#endif
