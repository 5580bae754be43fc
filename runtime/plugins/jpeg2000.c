/* JPEG 2000 files, by libopenjp2. */
#include "runtime/plugins/plugin.h"

#include <openjpeg.h>
#include <string.h>

struct j2k_source {
    struct image_file file;
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
    int64_t max = (INT64_C(1) << (c->prec ? c->prec : 1)) - 1;
    v += c->sgnd ? INT64_C(1) << (c->prec - 1) : 0;
    v = v < 0 ? 0 : v > max ? max : v;
    return (int)(c->prec > 8 ? v >> (c->prec - 8) : c->prec == 8 ? v : v * 255 / max);
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

bool xrt_plugin_1_jpeg2000(struct image_file file, struct picture *out, struct diag *d)
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
