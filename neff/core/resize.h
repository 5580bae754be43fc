/*
 * Where the elements of a resized axis come from: what ONNX Resize calls coordinate transformation.
 */
#ifndef NEFF_RESIZE_H
#define NEFF_RESIZE_H

#include <stdbool.h>
#include <stdint.h>

enum coordinates {
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    CROP_AND_RESIZE,
    TF_HALF_PIXEL_FOR_NN,
    ALIGN_LENGTHS, /* ALIGN_CORNERS by the result's length, where in * scale is no integer */
    COORDINATES
};
extern const char *const coordinate_names[COORDINATES]; /* values of the attribute */

struct resized_axis {
    int coordinates;
    bool single;               /* quotients are rounded to f32: a point is meant to be an element */
    double scale;              /* elements of the result for one of the operand */
    double roi_start, roi_end; /* of CROP_AND_RESIZE */
    int64_t in, out;
};
/* The coordinate in the operand that index `at` of the result stands for; may lie outside. */
double resized_source(const struct resized_axis *r, double at);

#endif
