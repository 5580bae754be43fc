#include "runtime/plugins/picture.h"

#include <stdlib.h>

bool picture_alloc(struct picture *out, int64_t width, int64_t height, struct diag *d)
{
    if (width < 1 || height < 1 || width > INT32_MAX || height > INT32_MAX ||
        width * height > INT64_C(1) << 28)
        return fail(d, "an image of %lld x %lld pixels, expected 1 to 2^28 pixels",
                    (long long)width, (long long)height);
    out->width = width;
    out->height = height;
    out->rgb = calloc((size_t)(width * height), 3); /* a decoder may leave some as it is */
    return out->rgb || fail_memory(d, "out of memory for an image of %lld x %lld", (long long)width,
                                   (long long)height);
}
