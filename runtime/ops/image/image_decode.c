/*
 * ImageDecoder: the format is told by the file's first bytes.
 */
#include "runtime/ops/image/image_decode.h"

#include "runtime/ops/common/ops.h"
#include "runtime/plugins/plugin.h"

#include <stdlib.h>
#include <string.h>

static const struct format {
    const char *name;
    size_t at, size; /* where its mark lies */
    const char *mark;
    enum plugin plugin; /* PLUGIN_COUNT: none is needed */
    plugin_png_fn decode;
} formats[] = {
    {"JPEG", 0, 3, "\xff\xd8\xff", PLUGIN_jpeg, NULL},
    {"PNG", 0, 8, "\x89PNG\r\n\x1a\n", PLUGIN_png, NULL},
    {"WebP", 8, 4, "WEBP", PLUGIN_webp, NULL},
    {"JPEG 2000", 4, 8, "jP  \r\n\x87\n", PLUGIN_jpeg2000, NULL},
    {"JPEG 2000", 0, 4, "\xff\x4f\xff\x51", PLUGIN_jpeg2000, NULL},
    {"TIFF", 0, 4, "II*\0", PLUGIN_tiff, NULL},
    {"TIFF", 0, 4, "MM\0*", PLUGIN_tiff, NULL},
    {"BMP", 0, 2, "BM", PLUGIN_COUNT, decode_bmp},
    {"PNM", 0, 2, "P1", PLUGIN_COUNT, decode_pnm},
    {"PNM", 0, 2, "P2", PLUGIN_COUNT, decode_pnm},
    {"PNM", 0, 2, "P3", PLUGIN_COUNT, decode_pnm},
    {"PNM", 0, 2, "P4", PLUGIN_COUNT, decode_pnm},
    {"PNM", 0, 2, "P5", PLUGIN_COUNT, decode_pnm},
    {"PNM", 0, 2, "P6", PLUGIN_COUNT, decode_pnm},
};

static bool decode(struct image_file file, struct picture *out, struct diag *d)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct format *f = &formats[i];
        if (file.n < f->at + f->size || memcmp(file.p + f->at, f->mark, f->size) != 0)
            continue;
        plugin_png_fn by = f->decode ? f->decode : (plugin_png_fn)plugin_find(f->plugin, d);
        return (by && by(file, out, d)) || fail_in(d, "%s", f->name);
    }
    return fail(
        d,
        "%zu bytes of no known image format, expected JPEG, PNG, WebP, JPEG 2000, TIFF, BMP or PNM",
        file.n);
}

bool infer_image_decode(struct infer *f)
{
    if (f->in[0].dtype != DT_U8 || (f->in[0].rank >= 0 && f->in[0].rank != 1))
        return fail(f->d, "the encoded image is %s of rank %d, expected u8 of rank 1",
                    dtype_name(f->in[0].dtype), f->in[0].rank);
    dim_t h = infer_unknown(f, "height"), w = infer_unknown(f, "width");
    return infer_out(f, 0, DT_U8, 3,
                     (dim_t[]){h, w, attr_is(f->attrs, "pixel_format", "Grayscale") ? 1 : 3});
}

static void to_grey(const uint8_t *rgb, int64_t n, uint8_t *grey) /* ITU-R 601 in 16 bits */
{
    for (int64_t i = 0; i < n; i++, rgb += 3)
        grey[i] = (uint8_t)((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

static bool store(struct op_call *c, const struct picture *p, bool grey, bool bgr)
{
    int64_t n = p->width * p->height;
    struct tensor *y = call_out(c, 0, DT_U8, 3, (int64_t[]){p->height, p->width, grey ? 1 : 3});
    if (!y)
        return false;
    uint8_t *to = y->data;
    if (grey) {
        to_grey(p->rgb, n, to);
        return true;
    }
    memcpy(to, p->rgb, (size_t)n * 3);
    for (int64_t i = 0; bgr && i < n; i++, to += 3) {
        uint8_t red = to[0];
        to[0] = to[2];
        to[2] = red;
    }
    return true;
}

bool eval_image_decode(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    struct picture p = {0};
    bool grey = attr_is(c->attrs, "pixel_format", "Grayscale"),
         bgr = attr_is(c->attrs, "pixel_format", "BGR");
    struct str format = attr_str(c->attrs, "pixel_format", "RGB");
    if (x->dtype != DT_U8 || x->rank != 1)
        return fail(c->env->d, "the encoded image is %s of rank %d, expected u8 of rank 1",
                    dtype_name(x->dtype), x->rank);
    if (!grey && !bgr && !(format.n == 3 && !memcmp(format.p, "RGB", 3)))
        return fail(c->env->d, "pixel_format is '%.*s', expected RGB, BGR or Grayscale",
                    (int)format.n, format.p);
    bool ok = decode((struct image_file){x->data, (size_t)x->dims[0]}, &p, c->env->d) &&
              store(c, &p, grey, bgr);
    free(p.rgb);
    return ok;
}
