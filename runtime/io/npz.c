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

/* The member to f, which is `at` bytes long, its row to the list; how many bytes it took, 0 after
 * a failure. */
static uint64_t put_member(FILE *f, FILE *list, const struct npz_entry *e, uint64_t at)
{
    char *bytes = NULL;
    size_t size = 0, name = strlen(e->name) + 4;
    FILE *member = open_memstream(&bytes, &size);
    if (!member)
        return 0;
    npy_put(member, &e->t);
    bool ok = !ferror(member);
    ok = !fclose(member) && ok && name <= UINT16_MAX && size < UINT32_MAX;
    if (ok) {
        uint32_t crc = (uint32_t)crc32(0, (const Bytef *)bytes, (uInt)size);
        put(f, 0x04034b50, 4), put_common(f, crc, size, name);
        fprintf(f, "%s.npy", e->name);
        fwrite(bytes, 1, size, f);
        put(list, 0x02014b50, 4), put(list, 20, 2), put_common(list, crc, size, name);
        put(list, 0, 2), put(list, 0, 2), put(list, 0, 2), put(list, 0, 4), put(list, at, 4);
        fprintf(list, "%s.npy", e->name);
    }
    free(bytes);
    return ok ? 30 + name + size : 0;
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
    char *rows = NULL;
    size_t size = 0;
    uint64_t at = 0, taken = 1;
    if (z->count > UINT16_MAX)
        return fail(d, "%s: %d arrays, a .npz holds at most %d", path, z->count, UINT16_MAX);
    if (!out_open(&o, path, d))
        return false;
    FILE *list = open_memstream(&rows, &size);
    for (int i = 0; list && taken && i < z->count; i++, at += taken)
        taken = put_member(o.f, list, &z->entries[i], at);
    bool ok = list && taken;
    if (list && fclose(list))
        ok = false;
    ok = ok ? at + size < UINT32_MAX || fail(d, "%s: more than 4 GiB", path)
            : fail(d, "%s: out of memory, or an array of more than 4 GiB", path);
    if (ok) {
        fwrite(rows, 1, size, o.f);
        put_end(o.f, z->count, size, at);
    }
    free(rows);
    if (ok)
        return out_commit(&o, d);
    out_abandon(&o);
    return false;
}
