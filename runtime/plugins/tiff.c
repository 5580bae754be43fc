/* TIFF files, by libtiff. */
#include "runtime/plugins/plugin.h"

#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

struct tiff_source {
    struct image_file file;
    size_t at;
};

static tmsize_t tiff_read(thandle_t h, void *to, tmsize_t n)
{
    struct tiff_source *s = h;
    size_t left = s->at < s->file.n ? s->file.n - s->at : 0,
           count = (size_t)n < left ? (size_t)n : left;
    if (count)
        memcpy(to, s->file.p + s->at, count);
    s->at += count;
    return (tmsize_t)count;
}

static tmsize_t tiff_write(thandle_t h, void *from, tmsize_t n)
{
    return 0;
}

static toff_t tiff_seek(thandle_t h, toff_t at, int whence)
{
    struct tiff_source *s = h;
    s->at = (size_t)at + (whence == SEEK_CUR ? s->at : whence == SEEK_END ? s->file.n : 0);
    return s->at;
}

static int tiff_close(thandle_t h)
{
    return 0;
}
static toff_t tiff_size(thandle_t h)
{
    return ((struct tiff_source *)h)->file.n;
}

static TIFF *tiff_open(struct tiff_source *s)
{
    /* Messages would go to stderr; the handlers are the library's only global state. */
    TIFFSetErrorHandler(NULL);
    TIFFSetWarningHandler(NULL);
    return TIFFClientOpen("image", "rm", s, tiff_read, tiff_write, tiff_seek, tiff_close, tiff_size,
                          NULL, NULL);
}

bool xrt_plugin_1_tiff(struct image_file file, struct picture *out, struct diag *d)
{
    struct tiff_source s = {file, 0};
    uint32_t width = 0, height = 0;
    char text[1024] = "";
    TIFF *t = tiff_open(&s);
    if (!t)
        return fail(d, "the header is damaged");
    TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(t, TIFFTAG_IMAGELENGTH, &height);
    bool ok = TIFFRGBAImageOK(t, text) || fail(d, "%s", text);
    ok = ok && picture_alloc(out, width, height, d);
    uint32_t *raster = ok ? calloc((size_t)width * height, sizeof *raster) : NULL;
    if (ok && !raster)
        ok = fail_memory(d, "out of memory");
    if (ok && !TIFFReadRGBAImageOriented(t, width, height, raster, ORIENTATION_TOPLEFT, 1))
        ok = fail(d, "the data is damaged");
    for (int64_t i = 0; ok && i < out->width * out->height; i++) {
        out->rgb[3 * i] = TIFFGetR(raster[i]);
        out->rgb[3 * i + 1] = TIFFGetG(raster[i]);
        out->rgb[3 * i + 2] = TIFFGetB(raster[i]);
    }
    free(raster);
    TIFFClose(t);
    return ok;
}
