#include "neff/archive/tar.h"

#include <stdio.h>
#include <string.h>

/* The fields of a header, all of them text. */
struct tar_header {
    char name[TAR_NAME], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8];
    char type, link[100], magic[6], version[2], user[32], group[32], major[8], minor[8];
    char prefix[TAR_PREFIX], rest[12];
};
_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "header size");

/* Of all bytes, those of the checksum itself taken as blanks. */
static unsigned checksum(const struct tar_header *h)
{
    const uint8_t *bytes = (const uint8_t *)h;
    unsigned sum = sizeof h->checksum * ' ';
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += bytes[i];
    for (size_t i = 0; i < sizeof h->checksum; i++)
        sum -= (uint8_t)h->checksum[i];
    return sum;
}

/* Octal digits between blanks, or a binary number; false for anything else and for what 63 bits do
 * not hold. */
static bool number(const char *field, size_t n, uint64_t *out)
{
    size_t i = 0;
    uint64_t v = 0;
    if ((uint8_t)field[0] == 0x80) {
        for (i = 1; i < n; i++) {
            if (v >> 55)
                return false;
            v = v << 8 | (uint8_t)field[i];
        }
        *out = v;
        return true;
    }
    while (i < n && field[i] == ' ')
        i++;
    size_t first = i;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
        v = v << 3 | (uint64_t)(field[i] - '0'); /* 12 digits at most */
    *out = v;
    return i > first && (i == n || field[i] == ' ' || !field[i]);
}

static bool all_zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static void join_name(const struct tar_header *h, char *out)
{
    size_t prefix = strnlen(h->prefix, sizeof h->prefix), n = strnlen(h->name, sizeof h->name);
    if (memcmp(h->magic, "ustar", 6) != 0) /* others use that field for something else */
        prefix = 0;
    memcpy(out, h->prefix, prefix);
    if (prefix)
        out[prefix++] = '/';
    memcpy(out + prefix, h->name, n);
    out[prefix + n] = 0;
}

bool tar_next(struct tar_reader *t, struct tar_member *m, struct diag *d)
{
    struct tar_header h;
    uint64_t size, sum;
    size_t left = t->size - t->at;
    if (left == 0)
        return false;
    if (left < TAR_BLOCK)
        return fail(d, "damaged tar: %zu bytes after the last block", left);
    if (all_zero(t->data + t->at, TAR_BLOCK))
        return false;
    memcpy(&h, t->data + t->at, sizeof h);
    if (memcmp(h.magic, "ustar", 5) != 0)
        return fail(d, "damaged tar: no member starts at byte %zu", t->at);
    if (!number(h.checksum, sizeof h.checksum, &sum) || sum != checksum(&h))
        return fail(d, "damaged tar: the member at byte %zu has a wrong checksum", t->at);
    join_name(&h, m->name);
    if (!*m->name || (h.type && h.type != '0') || !number(h.size, sizeof h.size, &size))
        return fail(d, "bad member '%s'", m->name);
    left -= TAR_BLOCK;
    if (size > left)
        return fail(d, "member '%s' is truncated: %llu bytes, %zu are left", m->name,
                    (unsigned long long)size, left);
    m->data = t->data + t->at + TAR_BLOCK;
    m->size = (size_t)size;
    left -= m->size;
    t->at += TAR_BLOCK + m->size + (tar_padding(size) < left ? tar_padding(size) : left);
    return true;
}

/* ---- writing ---- */

static void octal(char *field, size_t digits, uint64_t v)
{
    for (size_t i = digits; i-- > 0; v >>= 3)
        field[i] = (char)('0' + (v & 7));
}

static void put_size(struct tar_header *h, uint64_t size)
{
    enum { DIGITS = sizeof h->size - 1 };
    if (size >> 3 * DIGITS == 0) {
        octal(h->size, DIGITS, size);
        h->size[DIGITS] = ' ';
        return;
    }
    for (size_t i = sizeof h->size; i-- > 0; size >>= 8)
        h->size[i] = (char)(size & 0xff);
    h->size[0] = (char)0x80;
}

void tar_header(uint8_t block[TAR_BLOCK], const char *name, uint64_t size)
{
    struct tar_header h = {.mode = "000644 ",
                       .uid = "000000 ",
                       .gid = "000000 ",
                       .mtime = "00000000000 ",
                       .type = '0',
                       .magic = "ustar",
                       .version = "00",
                       .major = "000000 ",
                       .minor = "000000 "};
    memcpy(h.name, name, strnlen(name, sizeof h.name));
    put_size(&h, size);
    octal(h.checksum, 6, checksum(&h));
    h.checksum[7] = ' ';
    memcpy(block, &h, sizeof h);
}
