#include "frontend/hlo/syntax/decompress.h"

#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define LARGEST_FILE ((size_t)8 << 30) /* of decompressed data */

struct inflate_buffer {
    uint8_t *data;
    size_t used, capacity;
};

/* Room for 64 KiB more. */
static bool grow(struct inflate_buffer *b)
{
    if (b->capacity - b->used >= 1 << 16)
        return true;
    size_t capacity = b->capacity ? b->capacity * 2 : 1 << 20;
    uint8_t *bigger = capacity > LARGEST_FILE ? NULL : realloc(b->data, capacity);
    if (!bigger)
        return false;
    b->data = bigger;
    b->capacity = capacity;
    return true;
}

static bool is_gzip(const uint8_t *p, size_t n)
{
    return n > 2 && p[0] == 0x1f && p[1] == 0x8b;
}

bool is_compressed(const uint8_t *p, size_t n)
{
    return is_gzip(p, n) ||
           (n > 6 && !memcmp(p,
                             "\xfd"
                             "7zXZ",
                             6)) ||
           (n > 3 && !memcmp(p, "BZh", 3)) || (n > 4 && !memcmp(p, "\x28\xb5\x2f\xfd", 4));
}

/* ---- gzip ---- */

/* NULL, or what is wrong. */
static const char *inflate_members(z_stream *z, const uint8_t *data, size_t size, struct inflate_buffer *b)
{
    size_t given = 0;
    int status = Z_OK;
    while (status != Z_STREAM_END || given < size || z->avail_in) {
        if (!z->avail_in && given < size) {
            z->next_in = (Bytef *)(uintptr_t)(data + given);
            z->avail_in = size - given < 1 << 30 ? (uInt)(size - given) : 1 << 30;
            given += z->avail_in;
        }
        if (status == Z_STREAM_END) { /* one member after another */
            if (*z->next_in != 0x1f)
                return NULL; /* padding */
            inflateReset(z);
        }
        if (!grow(b))
            return "too large";
        size_t room = b->capacity - b->used;
        z->next_out = b->data + b->used;
        z->avail_out = room < 1 << 30 ? (uInt)room : 1 << 30;
        uInt before = z->avail_out;
        status = inflate(z, Z_NO_FLUSH);
        b->used += before - z->avail_out;
        if (status != Z_OK && status != Z_STREAM_END)
            return status == Z_BUF_ERROR ? "truncated gzip input" : z->msg ? z->msg : "damaged";
    }
    return NULL;
}

static const char *inflate_file(const uint8_t *data, size_t size, struct inflate_buffer *b)
{
    z_stream z = {0};
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return "out of memory";
    const char *why = inflate_members(&z, data, size, b);
    inflateEnd(&z);
    return why;
}

/* ---- all others ---- */

struct library {
    __typeof__(&archive_read_new) new_reader;
    __typeof__(&archive_read_support_filter_all) filter_all;
    __typeof__(&archive_read_support_format_raw) format_raw;
    __typeof__(&archive_read_open_memory) open_memory;
    __typeof__(&archive_read_next_header) next_header;
    __typeof__(&archive_read_data) read_data;
    __typeof__(&archive_error_string) error_string;
    __typeof__(&archive_read_free) free_reader;
};

static bool load_library(struct library *l)
{
    static const char *const names[] = {"archive_read_new",
                                        "archive_read_support_filter_all",
                                        "archive_read_support_format_raw",
                                        "archive_read_open_memory",
                                        "archive_read_next_header",
                                        "archive_read_data",
                                        "archive_error_string",
                                        "archive_read_free"};
    void *address[sizeof names / sizeof *names];
    void *handle = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(address[i] = dlsym(handle, names[i])))
            return false;
    _Static_assert(sizeof address == sizeof *l, "one address for each member");
    memcpy(l, address, sizeof *l);
    return true;
}

static bool by_library(const char *name, const uint8_t *data, size_t size, struct inflate_buffer *b,
                       struct diag *d)
{
    struct library l;
    if (!load_library(&l))
        return fail(
            d,
            "%s: is compressed, and libarchive.so.13 is not installed; decompress it, or use gzip",
            name);
    struct archive *a = l.new_reader();
    struct archive_entry *entry;
    la_ssize_t n = -1;
    bool room = true;
    l.filter_all(a);
    l.format_raw(a);
    if (l.open_memory(a, data, size) == ARCHIVE_OK && l.next_header(a, &entry) == ARCHIVE_OK) {
        do {
            n = (room = grow(b)) ? l.read_data(a, b->data + b->used, b->capacity - b->used) : -1;
            b->used += n > 0 ? (size_t)n : 0;
        } while (n > 0);
    }
    const char *why = room ? l.error_string(a) : "too large";
    if (n < 0)
        fail(d, "%s: cannot decompress: %s", name, why ? why : "damaged");
    l.free_reader(a);
    return n >= 0;
}

bool decompress(const char *name, const uint8_t *data, size_t size, uint8_t **out, size_t *out_size,
                struct diag *d)
{
    struct inflate_buffer b = {0};
    bool ok;
    if (is_gzip(data, size)) {
        const char *why = inflate_file(data, size, &b);
        ok = !why || fail(d, "%s: cannot decompress: %s", name, why);
    } else {
        ok = by_library(name, data, size, &b, d);
    }
    if (!ok) {
        free(b.data);
        return false;
    }
    *out = b.data;
    *out_size = b.used;
    return true;
}
