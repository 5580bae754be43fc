#include "neff/core/resize.h"

const char *const coordinate_names[COORDINATES] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",   "align_corners",
    "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn", "align_lengths"};

/*
 * Scales are floats, and a point between two elements is meant to be one: 1.5 / 0.6f is 2.5 only
 * when the quotient is rounded to a float. Where weights follow, the last bits do not matter.
 */
static double unscaled(const struct resized_axis *r, double at)
{
    double x = at / r->scale;
    return r->single ? (double)(float)x : x;
}

/* The same for a sum that is meant to be whole: 1 / 6 + 0.5 / 1.5 - 0.5. */
static double symmetric(const struct resized_axis *r, double at)
{
    double in = (double)r->in, out = (double)r->out;
    if (!r->single)
        return in / 2 * (1 - out / (r->scale * in)) + (at + 0.5) / r->scale - 0.5;
    float scale = (float)r->scale, shift = (float)in / 2 * (1 - (float)out / (scale * (float)in));
    return shift + ((float)at + 0.5F) / scale - 0.5F;
}

double resized_source(const struct resized_axis *r, double at)
{
    double in = (double)r->in, width = r->scale * in;
    switch (r->coordinates) {
    case ALIGN_CORNERS:
        return width == 1 ? 0 : at * (in - 1) / (width - 1);
    case ALIGN_LENGTHS:
        return r->out <= 1 ? 0 : at * (in - 1) / (double)(r->out - 1);
    case ASYMMETRIC:
        return unscaled(r, at);
    case TF_HALF_PIXEL_FOR_NN: /* operator sets 11 and 12 only */
        return unscaled(r, at + 0.5);
    case CROP_AND_RESIZE:
        if (width == 1)
            return (r->roi_end - r->roi_start) * (in - 1) / 2 + r->roi_start * (in - 1);
        return at * (r->roi_end - r->roi_start) * (in - 1) / (width - 1) + r->roi_start * (in - 1);
    case PYTORCH_HALF_PIXEL:
        return width == 1 ? -0.5 : unscaled(r, at + 0.5) - 0.5;
    case HALF_PIXEL_SYMMETRIC:
        return symmetric(r, at);
    default:
        return unscaled(r, at + 0.5) - 0.5;
    }
}
