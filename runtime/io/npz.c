#include "runtime/io/npy.h"

#include "neff/base/file.h"
#include "runtime/io/zip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static bool read_member(const struct zip_member *m, const char *name, struct tensor *t,
                        struct diag *d)
{
    void *data = zip_extract(m, d);
    bool ok = data ? npy_read_bytes(data, (size_t)m->size, name, t, d) : fail_in(d, "%s", name);
    free(data);
    return ok;
}

static bool add_entry(struct npz *z, const struct zip_member *m, struct diag *d)
{
    size_t n = m->name_size;
    struct npz_entry *larger = realloc(z->entries, sizeof *larger * (size_t)(z->count + 1));
    char *name = strndup(m->name, n);
    if (larger)
        z->entries = larger;
    if (!larger || !name) {
        free(name);
        return fail_memory(d, "out of memory");
    }
    struct npz_entry *e = &z->entries[z->count];
    *e = (struct npz_entry){.name = name};
    if (!read_member(m, name, &e->t, d)) {
        free(name);
        return false;
    }
    n = strlen(name);
    if (n > 4 && !strcmp(name + n - 4, ".npy"))
        name[n - 4] = 0;
    z->count++;
    return true;
}

bool npz_read(const char *path, struct npz *out, struct diag *d)
{
    struct mapped_file f;
    struct zip_reader zip;
    struct zip_member m;
    *out = (struct npz){0};
    if (!file_map(&f, path, d))
        return false;
    bool ok = zip_open(&zip, f.data, f.size, d);
    while (ok && zip_next(&zip, &m, d))
        ok = add_entry(out, &m, d);
    file_unmap(&f);
    if (!diag_failed(d))
        return true;
    npz_free(out);
    return fail_in(d, "%s", path);
}

void npz_free(struct npz *z)
{
    for (int i = 0; i < z->count; i++) {
        tensor_free(&z->entries[i].t);
        free(z->entries[i].name);
    }
    free(z->entries);
    *z = (struct npz){0};
}

/* ---- writing ---- */

static void put(FILE *f, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++, v >>= 8)
        fputc((int)(v & 255), f);
}

/* What a member's header and its row of the list share. No time of day: the same tensors give the
 * same bytes. */
static void put_common(FILE *f, uint32_t crc, size_t size, size_t name)
{
    enum { VERSION = 20, UTF8 = 1 << 11, STORED = 0, TIME = 0, DATE = 1 << 5 | 1 /* 1980-01-01 */ };
    put(f, VERSION, 2), put(f, UTF8, 2), put(f, STORED, 2), put(f, TIME, 2), put(f, DATE, 2);
    put(f, crc, 4), put(f, size, 4), put(f, size, 4), put(f, name, 2), put(f, 0, 2);
}

struct npz_member {
    uint64_t at, size;
    uint32_t crc;
};

static void put_header(FILE *f, const char *name, const struct npz_member *m)
{
    put(f, 0x04034b50, 4), put_common(f, m->crc, m->size, strlen(name) + 4);
    fprintf(f, "%s.npy", name);
}

static void put_row(FILE *f, const char *name, const struct npz_member *m)
{
    put(f, 0x02014b50, 4), put(f, 20, 2), put_common(f, m->crc, m->size, strlen(name) + 4);
    put(f, 0, 2), put(f, 0, 2), put(f, 0, 2), put(f, 0, 4), put(f, m->at, 4);
    fprintf(f, "%s.npy", name);
}

static uint32_t checksum(FILE *f, long at, uint64_t size)
{
    uint8_t block[1 << 14];
    uLong crc = crc32(0, NULL, 0);
    fseek(f, at, SEEK_SET);
    for (size_t n; size && (n = fread(block, 1, size < sizeof block ? size : sizeof block, f)) > 0; size -= n)
        crc = crc32(crc, block, (uInt)n);
    return (uint32_t)crc;
}

/* The header is written again when the checksum is known: no copy of the tensor in memory. */
static bool put_member(FILE *f, const struct npz_entry *e, struct npz_member *m)
{
    long at = ftell(f);
    *m = (struct npz_member){.at = (uint64_t)at};
    put_header(f, e->name, m);
    long start = ftell(f);
    npy_put(f, &e->t);
    long end = ftell(f);
    if (at < 0 || start < 0 || end < 0)
        return true; /* a failed write, which out_commit tells */
    m->size = (uint64_t)(end - start);
    if (m->size >= UINT32_MAX || strlen(e->name) + 4 > UINT16_MAX)
        return false;
    m->crc = checksum(f, start, m->size);
    fseek(f, at, SEEK_SET);
    put_header(f, e->name, m);
    fseek(f, end, SEEK_SET);
    return true;
}

static void put_end(FILE *f, int count, size_t list, uint64_t at)
{
    put(f, 0x06054b50, 4), put(f, 0, 4);
    put(f, (uint64_t)count, 2), put(f, (uint64_t)count, 2);
    put(f, list, 4), put(f, at, 4), put(f, 0, 2);
}

bool npz_write(const char *path, const struct npz *z, struct diag *d)
{
    struct out_file o;
    if (z->count > UINT16_MAX)
        return fail(d, "%s: %d arrays, a .npz holds at most %d", path, z->count, UINT16_MAX);
    if (!out_open(&o, path, d))
        return false;
    struct npz_member *members = calloc((size_t)z->count + 1, sizeof *members);
    bool ok = members || fail_memory(d, "%s: out of memory", path);
    for (int i = 0; ok && i < z->count; i++)
        ok = put_member(o.f, &z->entries[i], &members[i]) || fail(d, "%s: an array of more than 4 GiB", path);
    long list = ftell(o.f);
    for (int i = 0; ok && i < z->count; i++)
        put_row(o.f, z->entries[i].name, &members[i]);
    long end = ftell(o.f);
    ok = ok && (end < UINT32_MAX || fail(d, "%s: more than 4 GiB", path));
    if (ok)
        put_end(o.f, z->count, (size_t)(end - list), (uint64_t)list);
    free(members);
    if (ok)
        return out_commit(&o, d);
    out_abandon(&o);
    return false;
}
