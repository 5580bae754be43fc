#include "runtime/io/zip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/*
 * A zip ends with a record that tells where the list of members starts. A row of that list tells
 * where the member's own header is, behind which its bytes lie. Numbers that do not fit are all
 * ones and stand elsewhere, with 64 bits: those of the end in a second record, which a locator
 * before the first one finds, those of a row in its extra fields.
 */
enum { END = 22, LOCATOR = 20, END_64 = 56, ROW = 46, LOCAL = 30, MAX_COMMENT = 65535 };
enum { SIGN_END = 0x06054b50, SIGN_LOCATOR = 0x07064b50, SIGN_END_64 = 0x06064b50 };
enum { SIGN_ROW = 0x02014b50, SIGN_LOCAL = 0x04034b50, EXTRA_64 = 1 };
enum { STORED = 0, DEFLATED = 8, ENCRYPTED = 1 };

static uint64_t le(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

/* n bytes at `at` that begin with the signature; NULL when there are none. */
static const uint8_t *record(const struct zip_reader *z, uint64_t at, size_t n, uint32_t signature)
{
    if (at > z->size || n > z->size - at || le(z->data + at, 4) != signature)
        return NULL;
    return z->data + at;
}

bool zip_open(struct zip_reader *z, const void *data, size_t size, struct diag *d)
{
    *z = (struct zip_reader){.data = data, .size = size};
    uint64_t at = size;
    const uint8_t *end = NULL, *more;
    for (size_t comment = 0; !end && comment <= MAX_COMMENT && END + comment <= size; comment++) {
        at = size - END - comment;
        end = record(z, at, END, SIGN_END);
    }
    if (!end)
        return fail(d, "not a zip, or cut off: it has no list of members");
    z->left = le(end + 10, 2);
    z->at = le(end + 16, 4);
    more = at >= LOCATOR ? record(z, at - LOCATOR, LOCATOR, SIGN_LOCATOR) : NULL;
    if (more) {
        more = record(z, le(more + 8, 8), END_64, SIGN_END_64);
        if (!more)
            return fail(d, "damaged zip: its list of members is not where it should be");
        z->left = le(more + 32, 8);
        z->at = le(more + 48, 8);
    }
    return true;
}

/* Numbers of a row that stand in its extra fields, in this order. */
static bool read_extra(const uint8_t *p, size_t n, uint64_t *const numbers[3])
{
    while (n >= 4) {
        size_t size = (size_t)le(p + 2, 2);
        unsigned id = (unsigned)le(p, 2);
        p += 4, n -= 4;
        if (size > n)
            return false;
        for (int i = 0; id == EXTRA_64 && i < 3; i++) {
            if (*numbers[i] != UINT32_MAX)
                continue;
            if (size < 8)
                return false;
            *numbers[i] = le(p, 8);
            p += 8, n -= 8, size -= 8;
        }
        p += size, n -= size;
    }
    return true;
}

/* A small file cannot ask for much memory: no bytes belong to two members, and past a gibibyte all of them together are
 * not hundreds of times as long as the file. */
static bool honest(struct zip_reader *z, const struct zip_member *m, struct diag *d)
{
    enum { GENEROUS = 1 << 30, RATIO = 256 };
    z->stored += m->stored; /* each at most the file's size, and at most 2^32 of them */
    if (z->stored > z->size)
        return fail(d, "damaged zip: members overlap");
    if (__builtin_add_overflow(z->expanded, m->size, &z->expanded) ||
        (z->expanded > GENEROUS && z->expanded / RATIO > z->size))
        return fail(d, "its members are more than 1 GiB, and more than %d times as long as the file", RATIO);
    return true;
}

bool zip_next(struct zip_reader *z, struct zip_member *m, struct diag *d)
{
    if (z->left == 0)
        return false;
    const uint8_t *row = record(z, z->at, ROW, SIGN_ROW);
    if (!row)
        return fail(d, "damaged zip: a row of its list of members is missing");
    size_t extra = (size_t)le(row + 30, 2), comment = (size_t)le(row + 32, 2);
    *m = (struct zip_member){.name = (const char *)row + ROW,
                             .name_size = (size_t)le(row + 28, 2),
                             .flags = (unsigned)le(row + 8, 2),
                             .method = (unsigned)le(row + 10, 2),
                             .crc = le(row + 16, 4),
                             .stored = le(row + 20, 4),
                             .size = le(row + 24, 4)};
    uint64_t local = le(row + 42, 4), *const large[3] = {&m->size, &m->stored, &local};
    size_t row_size = ROW + m->name_size + extra + comment;
    if (row_size > z->size - z->at || !read_extra(row + ROW + m->name_size, extra, large))
        return fail(d, "damaged zip: a row of its list of members is cut off");
    z->at += row_size;
    z->left--;
    const uint8_t *header = record(z, local, LOCAL, SIGN_LOCAL);
    uint64_t start = header ? local + LOCAL + le(header + 26, 2) + le(header + 28, 2) : 0;
    if (!header || start > z->size || m->stored > z->size - start)
        return fail(d, "damaged zip: member '%.*s' is not where it should be", (int)m->name_size,
                    m->name);
    m->data = z->data + start;
    return honest(z, m, d);
}

static bool inflate_all(const struct zip_member *m, uint8_t *out)
{
    z_stream s = {.next_in = (uint8_t *)m->data, .next_out = out};
    uint64_t in = m->stored, room = m->size;
    int status = inflateInit2(&s, -MAX_WBITS);
    while (status == Z_OK) { /* zlib's counts have 32 bits */
        enum { STEP = 1 << 30 };
        s.avail_in = (uInt)(in < STEP ? in : STEP);
        s.avail_out = (uInt)(room < STEP ? room : STEP);
        uint64_t had_in = s.avail_in, had_out = s.avail_out;
        status = inflate(&s, Z_NO_FLUSH);
        in -= had_in - s.avail_in;
        room -= had_out - s.avail_out;
        if (status == Z_OK && s.avail_in == had_in && s.avail_out == had_out)
            break;
    }
    inflateEnd(&s);
    return status == Z_STREAM_END && in == 0 && room == 0;
}

static uint32_t checksum(const uint8_t *p, uint64_t n)
{
    uLong crc = crc32(0, NULL, 0);
    for (uint64_t at = 0; at < n;) {
        uInt step = n - at < 1 << 30 ? (uInt)(n - at) : 1 << 30;
        crc = crc32(crc, p + at, step);
        at += step;
    }
    return (uint32_t)crc;
}

void *zip_extract(const struct zip_member *m, struct diag *d)
{
    enum { LARGEST_RATIO = 1032 }; /* of deflate */
    if ((m->flags & ENCRYPTED) || (m->method != STORED && m->method != DEFLATED)) {
        fail(d, "it is encrypted or compressed by method %u, expected stored or deflated",
             m->method);
        return NULL;
    }
    bool stored = m->method == STORED;
    if (stored ? m->size != m->stored : m->size / LARGEST_RATIO > m->stored) {
        fail(d, "its size of %llu bytes does not match the %llu stored",
             (unsigned long long)m->size, (unsigned long long)m->stored);
        return NULL;
    }
    uint8_t *out = malloc(m->size ? (size_t)m->size : 1);
    if (!out) {
        fail_memory(d, "out of memory");
        return NULL;
    }
    if (stored)
        memcpy(out, m->data, (size_t)m->size);
    if ((stored || inflate_all(m, out)) && checksum(out, m->size) == m->crc)
        return out;
    fail(d, "damaged: its bytes and its checksum do not match");
    free(out);
    return NULL;
}
