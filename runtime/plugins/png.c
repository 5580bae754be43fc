/* PNG files, by libpng. */
#include "runtime/plugins/plugin.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

static void drop_alpha(const uint8_t *rgba, struct picture *out)
{
    for (int64_t i = 0, n = out->width * out->height; i < n; i++)
        memcpy(out->rgb + 3 * i, rgba + 4 * i, 3);
}

bool xrt_plugin_1_png(struct image_file file, struct picture *out, struct diag *d)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_memory(&image, file.p, file.n))
        return fail(d, "%s", image.message);
    image.format = PNG_FORMAT_RGBA;
    bool ok = picture_alloc(out, image.width, image.height, d);
    uint8_t *rgba = ok ? malloc(PNG_IMAGE_SIZE(image)) : NULL;
    if (ok && !rgba)
        ok = fail_memory(d, "out of memory");
    if (ok && !png_image_finish_read(&image, NULL, rgba, 0, NULL))
        ok = fail(d, "%s", image.message);
    if (ok)
        drop_alpha(rgba, out);
    png_image_free(&image);
    free(rgba);
    return ok;
}
