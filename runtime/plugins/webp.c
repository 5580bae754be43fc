/* WebP files, by libwebp. */
#include "runtime/plugins/plugin.h"

#include <webp/decode.h>

bool xrt_plugin_1_webp(struct image_file file, struct picture *out, struct diag *d)
{
    int width, height;
    if (!WebPGetInfo(file.p, file.n, &width, &height))
        return fail(d, "the header is damaged");
    if (!picture_alloc(out, width, height, d))
        return false;
    return WebPDecodeRGBInto(file.p, file.n, out->rgb, (size_t)width * (size_t)height * 3,
                             3 * width) ||
           fail(d, "the data is damaged");
}
