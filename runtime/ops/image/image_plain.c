/*
 * Image formats simple enough to be read here: BMP and the PNM family.
 */
#include "runtime/ops/image/image_decode.h"

#include <string.h>

/* ---- BMP ---- */

static uint32_t le(const uint8_t *p, int n)
{
    uint32_t v = 0;
    for (int i = n - 1; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

struct bmp {
    struct image_file file;
    size_t pixels, palette, entry; /* offsets; bytes of a palette entry */
    uint32_t colours, bits, compression, mask[3];
    int64_t width, height;
    bool top_down;
};

enum { BMP_PLAIN = 0, BMP_MASKS = 3, BMP_ALPHA_MASKS = 6, CORE_HEADER = 12 };

static bool bmp_header(struct bmp *b, struct diag *d)
{
    const uint8_t *p = b->file.p;
    if (b->file.n < 26)
        return fail(d, "%zu bytes, the header is cut off", b->file.n);
    uint32_t size = le(p + 14, 4);
    bool core = size == CORE_HEADER;
    if ((!core && size < 40) || size > b->file.n - 14)
        return fail(d, "a header of %u bytes, expected 12 or 40 and more", size);
    b->pixels = le(p + 10, 4);
    b->width = core ? (int64_t)le(p + 18, 2) : (int32_t)le(p + 18, 4);
    b->height = core ? (int64_t)le(p + 20, 2) : (int32_t)le(p + 22, 4);
    b->bits = le(p + (core ? 24 : 28), 2);
    b->compression = core ? BMP_PLAIN : le(p + 30, 4);
    b->colours = core ? 0 : le(p + 46, 4);
    b->top_down = b->height < 0;
    b->height = b->height < 0 ? -b->height : b->height;
    b->palette = 14 + (size_t)size;
    b->entry = core ? 3 : 4;
    bool masks = b->compression == BMP_MASKS || b->compression == BMP_ALPHA_MASKS;
    for (int i = 0; i < 3; i++)
        b->mask[i] = b->bits == 16 ? 0x1fu << (10 - 5 * i) : 0xffu << (16 - 8 * i);
    if (masks && b->file.n < 66)
        return fail(d, "%zu bytes, the colour masks are cut off", b->file.n);
    for (int i = 0; masks && i < 3; i++)
        b->mask[i] = le(p + 54 + 4 * i, 4);
    if (b->compression != BMP_PLAIN && !(masks && (b->bits == 16 || b->bits == 32)))
        return fail(d, "compression %u with %u bits is not supported; save it uncompressed",
                    b->compression, b->bits);
    return true;
}

static bool bmp_palette(struct bmp *b, struct diag *d)
{
    if (b->bits > 8)
        return true;
    if (b->bits != 1 && b->bits != 2 && b->bits != 4 && b->bits != 8)
        return fail(d, "%u bits per pixel", b->bits);
    if (b->colours == 0 || b->colours > 1u << b->bits)
        b->colours = 1u << b->bits;
    if (b->palette > b->file.n || b->colours * b->entry > b->file.n - b->palette)
        return fail(d, "the palette is cut off");
    return true;
}

static uint8_t bmp_masked(uint32_t v, uint32_t mask)
{
    if (!mask)
        return 0;
    int shift = __builtin_ctz(mask);
    uint64_t max = mask >> shift;
    return (uint8_t)(((uint64_t)((v & mask) >> shift) * 255 + max / 2) / max);
}

static void bmp_pixel(const struct bmp *b, const uint8_t *row, int64_t x, uint8_t *to)
{
    if (b->bits <= 8) {
        uint32_t per = 8 / b->bits;
        uint32_t at = row[x / per] >> (8 - b->bits * (x % per + 1)) & ((1u << b->bits) - 1);
        const uint8_t *c = b->file.p + b->palette + (at < b->colours ? at : 0) * b->entry;
        to[0] = c[2], to[1] = c[1], to[2] = c[0];
    } else if (b->bits == 24) {
        to[0] = row[3 * x + 2], to[1] = row[3 * x + 1], to[2] = row[3 * x];
    } else {
        uint32_t v = le(row + x * (b->bits / 8), (int)b->bits / 8);
        for (int i = 0; i < 3; i++)
            to[i] = bmp_masked(v, b->mask[i]);
    }
}

bool decode_bmp(struct image_file file, struct picture *out, struct diag *d)
{
    struct bmp b = {.file = file};
    if (!bmp_header(&b, d) || !bmp_palette(&b, d))
        return false;
    if (b.bits > 8 && b.bits != 16 && b.bits != 24 && b.bits != 32)
        return fail(d, "%u bits per pixel, expected 1, 2, 4, 8, 16, 24 or 32", b.bits);
    if (!picture_alloc(out, b.width, b.height, d))
        return false;
    size_t stride = ((size_t)b.width * b.bits + 31) / 32 * 4;
    if (b.pixels > file.n || stride > (file.n - b.pixels) / (size_t)b.height)
        return fail(d, "the pixels are cut off: %zu bytes", file.n);
    for (int64_t y = 0; y < b.height; y++) {
        const uint8_t *row =
            file.p + b.pixels + stride * (size_t)(b.top_down ? y : b.height - 1 - y);
        for (int64_t x = 0; x < b.width; x++)
            bmp_pixel(&b, row, x, out->rgb + (y * b.width + x) * 3);
    }
    return true;
}

/* ---- PNM ---- */

static bool pnm_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A decimal number after white space and comments. */
static bool pnm_number(struct image_file *f, uint32_t *v, struct diag *d)
{
    while (f->n && (pnm_space(*f->p) || *f->p == '#')) {
        bool comment = *f->p == '#';
        do {
            f->p++, f->n--;
        } while (comment && f->n && f->p[-1] != '\n');
    }
    *v = 0;
    if (!f->n || *f->p < '0' || *f->p > '9')
        return fail(d, "a number is missing");
    for (; f->n && *f->p >= '0' && *f->p <= '9'; f->p++, f->n--) {
        *v = *v * 10 + (uint32_t)(*f->p - '0');
        if (*v > 100000000)
            return fail(d, "a number is too large");
    }
    return true;
}

struct pnm {
    struct image_file file;
    bool text, bitmap;
    int channels;
    uint32_t max;
};

static bool pnm_sample(struct pnm *p, uint32_t *v, struct diag *d)
{
    if (p->text && p->bitmap) { /* digits need no space between them */
        while (p->file.n && pnm_space(*p->file.p))
            p->file.p++, p->file.n--;
        if (!p->file.n || (*p->file.p != '0' && *p->file.p != '1'))
            return fail(d, "the pixels are cut off");
        *v = *p->file.p++ == '0';
        p->file.n--;
        return true;
    }
    if (p->text)
        return pnm_number(&p->file, v, d);
    size_t n = p->max > 255 ? 2 : 1;
    if (p->file.n < n)
        return fail(d, "the pixels are cut off");
    *v = n == 2 ? (uint32_t)p->file.p[0] << 8 | p->file.p[1] : p->file.p[0];
    p->file.p += n;
    p->file.n -= n;
    return true;
}

static bool pnm_bits(struct pnm *p, struct picture *out, struct diag *d)
{
    int64_t stride = (out->width + 7) / 8;
    if ((int64_t)p->file.n / stride < out->height)
        return fail(d, "the pixels are cut off");
    for (int64_t y = 0; y < out->height; y++)
        for (int64_t x = 0; x < out->width; x++)
            memset(out->rgb + (y * out->width + x) * 3,
                   p->file.p[y * stride + x / 8] >> (7 - x % 8) & 1 ? 0 : 255, 3);
    return true;
}

bool decode_pnm(struct image_file file, struct picture *out, struct diag *d)
{
    int kind = file.p[1] - '0';
    struct pnm p = {
        {file.p + 2, file.n - 2}, kind <= 3, kind == 1 || kind == 4, kind % 3 ? 1 : 3, 1};
    uint32_t width, height, v;
    if (!pnm_number(&p.file, &width, d) || !pnm_number(&p.file, &height, d) ||
        (!p.bitmap && !pnm_number(&p.file, &p.max, d)))
        return false;
    if (p.max < 1 || p.max > 65535)
        return fail(d, "the largest value is %u, expected 1 to 65535", p.max);
    if (!p.text && p.file.n) /* one white space character */
        p.file.p++, p.file.n--;
    if ((int64_t)width * height > (int64_t)p.file.n * 8)
        return fail(d, "the pixels are cut off");
    if (!picture_alloc(out, width, height, d))
        return false;
    if (!p.text && p.bitmap)
        return pnm_bits(&p, out, d);
    for (int64_t i = 0, n = out->width * out->height; i < n; i++)
        for (int c = 0; c < p.channels; c++) {
            if (!pnm_sample(&p, &v, d))
                return false;
            v = v > p.max ? p.max : v;
            memset(out->rgb + 3 * i + c, (int)((v * 255 + p.max / 2) / p.max),
                   p.channels == 1 ? 3 : 1);
        }
    return true;
}
