#include "runtime/io/npy.h"

#include "neff/base/file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct header {
    char order, kind; /* '<' '>' '|' and 'f' 'i' 'u' 'b' 'c' 'U' 'S' */
    long width;       /* bytes of an element; characters for U */
    bool fortran;
    int rank;
    int64_t dims[MAX_RANK];
    const uint8_t *data;
    size_t size; /* bytes left for data */
};

static bool bad(struct diag *d, const char *name, const char *what)
{
    return fail(d, "%s: not a .npy file that can be read: %s", name, what);
}

/* ---- header: a Python dict literal ---- */

/* The text after `'key':`, blanks skipped; NULL when missing. */
static const char *entry(const char *text, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *s = strstr(text, quoted);
    if (!s)
        return NULL;
    s += strlen(quoted);
    while (*s == ' ' || *s == ':')
        s++;
    return s;
}

static bool parse_descr(struct header *h, const char *s, struct diag *d, const char *name)
{
    if (!s || *s++ != '\'')
        return bad(d, name, "no plain 'descr' (structured and object types have none)");
    h->order = strchr("<>|=", *s) && *s ? *s++ : '=';
    h->kind = *s ? *s++ : 0;
    if (h->kind == 'O')
        return fail(d,
                    "%s: an array of Python objects, which are pickled and not read; save strings "
                    "as numpy.save(file, array.astype('U')) (or 'S' for bytes), numbers with "
                    "their own dtype",
                    name);
    char *end;
    h->width = strtol(s, &end, 10);
    if (end == s || *end != '\'' || h->width < 0 || h->width > 1 << 20)
        return bad(d, name, "an element type that is not supported");
    return true;
}

static bool parse_shape(struct header *h, const char *s, struct diag *d, const char *name)
{
    if (!s || *s++ != '(')
        return bad(d, name, "no 'shape'");
    for (;;) {
        while (*s == ' ' || *s == ',')
            s++;
        if (*s == ')')
            return true;
        char *end;
        int64_t n = strtoll(s, &end, 10);
        if (end == s || n < 0 || n == INT64_MAX)
            return bad(d, name, "damaged 'shape'");
        if (h->rank == MAX_RANK)
            return bad(d, name, "too many dimensions");
        h->dims[h->rank++] = n;
        s = *end == 'L' ? end + 1 : end;
    }
}

static bool parse_header(struct header *h, const uint8_t *p, size_t size, const char *name,
                         struct diag *d)
{
    char text[4096];
    *h = (struct header){0};
    if (size < 10 || memcmp(p, "\x93NUMPY", 6))
        return bad(d, name, "no magic bytes");
    size_t at = p[6] >= 2 ? 12 : 10, length = p[8] | (size_t)p[9] << 8;
    if (p[6] < 1 || p[6] > 3 || size < at)
        return bad(d, name, "unknown version");
    if (at == 12)
        length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (length > size - at || length >= sizeof text)
        return bad(d, name, "truncated header");
    memcpy(text, p + at, length);
    text[length] = 0;
    const char *fortran = entry(text, "fortran_order");
    h->fortran = fortran && !strncmp(fortran, "True", 4);
    h->data = p + at + length;
    h->size = size - at - length;
    return parse_descr(h, entry(text, "descr"), d, name) &&
           parse_shape(h, entry(text, "shape"), d, name);
}

/* ---- reading ---- */

static int dtype_of(const struct header *h)
{
    char text[16];
    snprintf(text, sizeof text, "%c%ld", h->kind, h->width);
    for (int i = 1; i < DT_END; i++) /* the first row with a descriptor is the type NumPy means */
        if (dtype_info(i)->name && dtype_info(i)->npy[0] && !strcmp(dtype_info(i)->npy + 1, text))
            return i;
    return DT_NONE;
}

static void swap_bytes(uint8_t *p, size_t n, size_t width)
{
    for (size_t i = 0; i < n; i++, p += width)
        for (size_t a = 0, b = width - 1; a < b; a++, b--) {
            uint8_t t = p[a];
            p[a] = p[b], p[b] = t;
        }
}

/* Copies elements from column-major to row-major order. */
static void from_fortran(const struct header *h, const uint8_t *src, uint8_t *dst, size_t width,
                         size_t n)
{
    int64_t index[MAX_RANK] = {0}, stride[MAX_RANK];
    int64_t step = 1;
    for (int i = 0; i < h->rank; i++) {
        stride[i] = step;
        step *= h->dims[i];
    }
    for (size_t k = 0; k < n; k++) {
        int64_t at = 0;
        for (int i = 0; i < h->rank; i++)
            at += index[i] * stride[i];
        memcpy(dst + k * width, src + (size_t)at * width, width);
        for (int i = h->rank - 1; i >= 0 && ++index[i] == h->dims[i]; i--)
            index[i] = 0;
    }
}

static size_t utf8(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18 & 7)), out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63)), out[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* Fixed-width strings, padded with zeros. */
static bool read_strings(const struct header *h, const uint8_t *data, size_t n, size_t width,
                         struct tensor *out, struct diag *d)
{
    struct str *list = calloc(n + 1, sizeof *list);
    char *text = malloc(n * width + 1);
    size_t used = 0;
    bool ok = list && text;
    for (size_t i = 0; ok && i < n; i++) {
        const uint8_t *p = data + i * width;
        list[i].p = text + used;
        size_t unit = h->kind == 'U' ? 4 : 1, length = width / unit;
        for (; length; length--) {
            const uint8_t *c = p + (length - 1) * unit;
            if (c[0] || (unit == 4 && (c[1] || c[2] || c[3])))
                break;
        }
        for (size_t k = 0; k < length; k++) {
            const uint8_t *c = p + k * unit;
            if (unit == 1)
                text[used++] = (char)*c;
            else
                used += h->order == '>' ? utf8((uint32_t)c[0] << 24 | (uint32_t)c[1] << 16 |
                                                   (uint32_t)c[2] << 8 | c[3],
                                               text + used)
                                        : utf8((uint32_t)c[3] << 24 | (uint32_t)c[2] << 16 |
                                                   (uint32_t)c[1] << 8 | c[0],
                                               text + used);
        }
        list[i].n = (size_t)(text + used - list[i].p);
    }
    ok = ok ? tensor_set_strings(out, h->rank, h->dims, list, d) : fail_memory(d, "out of memory");
    free(list);
    free(text);
    return ok;
}

bool npy_read_bytes(const void *data, size_t size, const char *name, struct tensor *out,
                    struct diag *d)
{
    struct header h;
    *out = (struct tensor){.kind = VK_NONE};
    if (!parse_header(&h, data, size, name, d))
        return false;
    bool text = h.kind == 'U' || h.kind == 'S';
    int dtype = text ? DT_STR : dtype_of(&h);
    if (!dtype)
        return fail(d, "%s: element type '%c%ld' is not supported", name, h.kind, h.width);
    size_t width = h.kind == 'U' ? (size_t)h.width * 4 : (size_t)h.width, n = 1;
    for (int i = 0; i < h.rank; i++)
        if (__builtin_mul_overflow(n, (size_t)h.dims[i], &n))
            return bad(d, name, "its shape overflows");
    size_t bytes;
    if (__builtin_mul_overflow(n, width, &bytes) || bytes > h.size || (!width && n > h.size + 4096))
        return bad(d, name, "truncated");
    uint8_t *ordered = NULL;
    if (h.fortran && h.rank > 1 && bytes) {
        ordered = malloc(bytes);
        if (!ordered)
            return fail_memory(d, "%s: out of memory", name);
        from_fortran(&h, h.data, ordered, width, n);
    }
    const uint8_t *source = ordered ? ordered : h.data;
    bool ok;
    if (text) {
        ok = read_strings(&h, source, n, width, out, d);
    } else if ((ok = tensor_alloc_dirty(out, dtype, h.rank, h.dims, d)) && bytes) {
        memcpy(out->data, source, bytes);
        if (h.order == '>')
            swap_bytes(out->data, dtype_is_complex(dtype) ? 2 * n : n,
                       dtype_is_complex(dtype) ? width / 2 : width);
    }
    free(ordered);
    return ok;
}

bool npy_read(const char *path, struct tensor *out, struct diag *d)
{
    struct mapped_file f;
    *out = (struct tensor){.kind = VK_NONE};
    if (!file_map(&f, path, d))
        return false;
    bool ok = npy_read_bytes(f.data, f.size, path, out, d);
    file_unmap(&f);
    return ok;
}

bool npy_as(struct tensor *t, int dtype, struct diag *d)
{
    if (t->kind != VK_TENSOR || t->dtype == dtype)
        return true;
    if (t->dtype != DT_STR && dtype != DT_STR &&
        !strcmp(dtype_info(t->dtype)->npy, dtype_info(dtype)->npy)) {
        t->dtype = (uint8_t)dtype;
        return true;
    }
    return fail(d, "element type is %s, expected %s", dtype_name(t->dtype), dtype_name(dtype));
}

/* ---- writing ---- */

static uint32_t next_character(const char **p, const char *end)
{
    const unsigned char *s = (const unsigned char *)*p;
    size_t left = (size_t)(end - *p);
    int more = *s < 0xc0 ? 0 : *s < 0xe0 ? 1 : *s < 0xf0 ? 2 : 3;
    uint32_t c = more ? *s & (0x3fu >> more) : *s;
    int i = 1;
    for (; i <= more && (size_t)i < left && (s[i] & 0xc0) == 0x80; i++)
        c = c << 6 | (s[i] & 63);
    *p += i;
    return c;
}

static int64_t longest(const struct tensor *t)
{
    int64_t max = 1;
    const struct str *s = t->data;
    for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
        int64_t length = 0;
        for (const char *p = s[i].p; p < s[i].p + s[i].n; length++)
            next_character(&p, s[i].p + s[i].n);
        if (length > max)
            max = length;
    }
    return max;
}

static void write_strings(FILE *f, const struct tensor *t, int64_t width)
{
    const struct str *s = t->data;
    for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
        const char *p = s[i].p, *end = p + s[i].n;
        for (int64_t k = 0; k < width; k++) {
            uint32_t c = p < end ? next_character(&p, end) : 0;
            uint8_t bytes[4] = {(uint8_t)c, (uint8_t)(c >> 8), (uint8_t)(c >> 16),
                                (uint8_t)(c >> 24)};
            fwrite(bytes, 1, 4, f);
        }
    }
}

static int shape_text(const struct tensor *t, char *text, size_t room)
{
    int n = snprintf(text, room, "(");
    for (int i = 0; i < t->rank; i++)
        n += snprintf(text + n, room - (size_t)n, i ? ", %lld" : "%lld", (long long)t->dims[i]);
    return n + snprintf(text + n, room - (size_t)n, t->rank == 1 ? ",)" : ")");
}

void npy_put(FILE *f, const struct tensor *t)
{
    char shape[MAX_RANK * 24 + 8], descr[32], header[512];
    int64_t width = t->dtype == DT_STR ? longest(t) : 0;
    shape_text(t, shape, sizeof shape);
    if (t->dtype == DT_STR)
        snprintf(descr, sizeof descr, "<U%lld", (long long)width);
    else
        snprintf(descr, sizeof descr, "%s", dtype_info(t->dtype)->npy);
    int n = snprintf(header, sizeof header,
                     "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    while ((10 + n + 1) % 64) /* data starts aligned */
        header[n++] = ' ';
    header[n++] = '\n';
    uint8_t head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)n, (uint8_t)(n >> 8)};
    fwrite(head, 1, sizeof head, f);
    fwrite(header, 1, (size_t)n, f);
    if (t->dtype == DT_STR)
        write_strings(f, t, width);
    else if (tensor_bytes(t))
        fwrite(t->data, 1, tensor_bytes(t), f);
}

bool npy_write(const char *path, const struct tensor *t, struct diag *d)
{
    struct out_file o;
    if (t->kind != VK_TENSOR)
        return fail(d, "%s: a .npy file holds one tensor, not a sequence, optional or map", path);
    if (!out_open(&o, path, d))
        return false;
    npy_put(o.f, t);
    return out_commit(&o, d);
}
