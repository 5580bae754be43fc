/*
 * Decoders of image files in memory, for ImageDecoder. Each fills a picture of 8-bit RGB, rows from
 * the top; a damaged file fails with a message. Other formats are plugins (runtime/plugins).
 */
#ifndef RUNTIME_OPS_IMAGE_DECODE_H
#define RUNTIME_OPS_IMAGE_DECODE_H

#include "runtime/plugins/picture.h"

bool decode_bmp(struct image_file file, struct picture *out, struct diag *d);
bool decode_pnm(struct image_file file, struct picture *out, struct diag *d);

#endif
