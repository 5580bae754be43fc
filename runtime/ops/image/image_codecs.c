/*
 * Image formats read by libraries. Each is optional at build time.
 */
#include "runtime/ops/image/image_decode.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MISSING(function, library)                                                                 \
    bool function(struct bytes file, struct picture *out, struct diag *d)                          \
    {                                                                                              \
        return fail(d, "this format needs a build with " library);                                 \
    }

/* ---- JPEG ---- */

#if XCC_JPEG
#include <jpeglib.h>

struct jpeg_failure {
    struct jpeg_error_mgr base;
    jmp_buf back;
    char text[JMSG_LENGTH_MAX];
};

static void jpeg_fail(j_common_ptr j)
{
    struct jpeg_failure *f = (struct jpeg_failure *)j->err;
    f->base.format_message(j, f->text);
    longjmp(f->back, 1);
}

static void jpeg_quiet(j_common_ptr j, int level) {}

static uint8_t cmyk_part(int ink, int black, bool inverted)
{
    return (uint8_t)(inverted ? ink * black / 255 : (255 - ink) * (255 - black) / 255);
}

/* Rows of RGB; four-ink files are converted here, which the library does not do. */
static void jpeg_row(struct jpeg_decompress_struct *j, uint8_t *row, uint8_t *to)
{
    JSAMPROW rows[] = {row};
    jpeg_read_scanlines(j, rows, 1);
    for (JDIMENSION x = 0; x < j->output_width; x++)
        for (int c = 0; c < 3; c++)
            to[3 * x + c] = j->output_components == 4
                                ? cmyk_part(row[4 * x + c], row[4 * x + 3], j->saw_Adobe_marker)
                                : row[3 * x + c];
}

bool decode_jpeg(struct bytes file, struct picture *out, struct diag *d)
{
    struct jpeg_decompress_struct j;
    struct jpeg_failure failure;
    uint8_t *volatile row = NULL;
    j.err = jpeg_std_error(&failure.base);
    failure.base.error_exit = jpeg_fail;
    failure.base.emit_message = jpeg_quiet;
    if (setjmp(failure.back)) {
        jpeg_destroy_decompress(&j);
        free(row);
        return fail(d, "%s", failure.text);
    }
    jpeg_create_decompress(&j);
    jpeg_mem_src(&j, file.p, file.n);
    jpeg_read_header(&j, TRUE);
    bool four = j.jpeg_color_space == JCS_CMYK || j.jpeg_color_space == JCS_YCCK;
    j.out_color_space = four ? JCS_CMYK : JCS_RGB;
    bool ok = picture_alloc(out, j.image_width, j.image_height, d);
    if (ok) {
        row = malloc((size_t)j.image_width * 4);
        ok = row || fail(d, "out of memory");
    }
    if (ok) {
        jpeg_start_decompress(&j);
        while (j.output_scanline < j.output_height)
            jpeg_row(&j, row, out->rgb + (size_t)j.output_scanline * j.output_width * 3);
        jpeg_finish_decompress(&j);
    }
    jpeg_destroy_decompress(&j);
    free(row);
    return ok;
}
#else
MISSING(decode_jpeg, "libjpeg")
#endif

/* ---- PNG ---- */

#if XCC_PNG
#include <png.h>

static void drop_alpha(const uint8_t *rgba, struct picture *out)
{
    for (int64_t i = 0, n = out->width * out->height; i < n; i++)
        memcpy(out->rgb + 3 * i, rgba + 4 * i, 3);
}

bool decode_png(struct bytes file, struct picture *out, struct diag *d)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_memory(&image, file.p, file.n))
        return fail(d, "%s", image.message);
    image.format = PNG_FORMAT_RGBA;
    bool ok = picture_alloc(out, image.width, image.height, d);
    uint8_t *rgba = ok ? malloc(PNG_IMAGE_SIZE(image)) : NULL;
    if (ok && !rgba)
        ok = fail(d, "out of memory");
    if (ok && !png_image_finish_read(&image, NULL, rgba, 0, NULL))
        ok = fail(d, "%s", image.message);
    if (ok)
        drop_alpha(rgba, out);
    png_image_free(&image);
    free(rgba);
    return ok;
}
#else
MISSING(decode_png, "libpng")
#endif

/* ---- WebP ---- */

#if XCC_WEBP
#include <webp/decode.h>

bool decode_webp(struct bytes file, struct picture *out, struct diag *d)
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
#else
MISSING(decode_webp, "libwebp")
#endif

/* ---- TIFF ---- */

#if XCC_TIFF
#include <tiffio.h>

struct tiff_source {
    struct bytes file;
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

bool decode_tiff(struct bytes file, struct picture *out, struct diag *d)
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
    uint32_t *raster = ok ? malloc((size_t)width * height * sizeof *raster) : NULL;
    if (ok && !raster)
        ok = fail(d, "out of memory");
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
#else
MISSING(decode_tiff, "libtiff")
#endif

/* ---- JPEG 2000 ---- */

#if XCC_OPENJPEG
#include <openjpeg.h>

struct j2k_source {
    struct bytes file;
    size_t at;
};

static OPJ_SIZE_T j2k_read(void *to, OPJ_SIZE_T n, void *user)
{
    struct j2k_source *s = user;
    size_t left = s->file.n - s->at, count = n < left ? n : left;
    if (!count)
        return (OPJ_SIZE_T)-1;
    memcpy(to, s->file.p + s->at, count);
    s->at += count;
    return count;
}

static OPJ_OFF_T j2k_skip(OPJ_OFF_T n, void *user)
{
    struct j2k_source *s = user;
    size_t left = s->file.n - s->at;
    if (n < 0)
        return -1;
    s->at += (uint64_t)n < left ? (size_t)n : left;
    return n;
}

static OPJ_BOOL j2k_seek(OPJ_OFF_T at, void *user)
{
    struct j2k_source *s = user;
    if (at < 0 || (uint64_t)at > s->file.n)
        return OPJ_FALSE;
    s->at = (size_t)at;
    return OPJ_TRUE;
}

/* Sample of a component at the image's x, y as 8 bits. */
static int j2k_sample(const opj_image_comp_t *c, int64_t x, int64_t y)
{
    int64_t sx = x / (c->dx ? c->dx : 1), sy = y / (c->dy ? c->dy : 1);
    sx = sx < c->w ? sx : (int64_t)c->w - 1;
    sy = sy < c->h ? sy : (int64_t)c->h - 1;
    int64_t v = c->data[sy * c->w + sx];
    int64_t most = (INT64_C(1) << (c->prec ? c->prec : 1)) - 1;
    v += c->sgnd ? INT64_C(1) << (c->prec - 1) : 0;
    v = v < 0 ? 0 : v > most ? most : v;
    return (int)(c->prec > 8 ? v >> (c->prec - 8) : c->prec == 8 ? v : v * 255 / most);
}

static uint8_t to_byte(double v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5);
}

static bool j2k_convert(const opj_image_t *image, struct picture *out, struct diag *d)
{
    int channels = image->numcomps >= 3 ? 3 : 1;
    for (int k = 0; k < channels; k++) {
        const opj_image_comp_t *c = image->comps + k;
        if (!image->numcomps || !c->data || c->w < 1 || c->h < 1 || c->prec < 1 || c->prec > 31)
            return fail(d, "component %d is missing or damaged", k);
    }
    if (!picture_alloc(out, (int64_t)image->x1 - image->x0, (int64_t)image->y1 - image->y0, d))
        return false;
    for (int64_t y = 0; y < out->height; y++)
        for (int64_t x = 0; x < out->width; x++) {
            uint8_t *to = out->rgb + (y * out->width + x) * 3;
            int v[3];
            for (int k = 0; k < 3; k++)
                v[k] = j2k_sample(&image->comps[channels == 3 ? k : 0], x, y);
            bool ycc = channels == 3 && image->color_space == OPJ_CLRSPC_SYCC;
            double luma = v[0], cb = v[1] - 128, cr = v[2] - 128;
            to[0] = ycc ? to_byte(luma + 1.402 * cr) : (uint8_t)v[0];
            to[1] = ycc ? to_byte(luma - 0.344136 * cb - 0.714136 * cr) : (uint8_t)v[1];
            to[2] = ycc ? to_byte(luma + 1.772 * cb) : (uint8_t)v[2];
        }
    return true;
}

bool decode_jpeg2000(struct bytes file, struct picture *out, struct diag *d)
{
    struct j2k_source s = {file, 0};
    opj_dparameters_t how;
    opj_image_t *image = NULL;
    opj_set_default_decoder_parameters(&how);
    opj_codec_t *codec = opj_create_decompress(file.p[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    opj_stream_t *stream = opj_stream_default_create(OPJ_TRUE);
    if (stream) {
        opj_stream_set_user_data(stream, &s, NULL);
        opj_stream_set_user_data_length(stream, file.n);
        opj_stream_set_read_function(stream, j2k_read);
        opj_stream_set_skip_function(stream, j2k_skip);
        opj_stream_set_seek_function(stream, j2k_seek);
    }
    bool ok =
        codec && stream && opj_setup_decoder(codec, &how) && opj_read_header(stream, codec, &image);
    ok = ok && (double)(image->x1 - image->x0) * (image->y1 - image->y0) <= 0x1p28;
    ok = ok && opj_decode(codec, stream, image) && opj_end_decompress(codec, stream);
    ok = ok ? j2k_convert(image, out, d) : fail(d, "the data is damaged");
    if (image)
        opj_image_destroy(image);
    if (stream)
        opj_stream_destroy(stream);
    if (codec)
        opj_destroy_codec(codec);
    return ok;
}
#else
MISSING(decode_jpeg2000, "libopenjp2")
#endif
