#include "runtime/io/npy.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>

/* The whole entry in a new block; its size is not known beforehand in streamed zips. */
static uint8_t *read_entry(struct archive *a, size_t *size, struct diag *d)
{
    uint8_t *data = NULL;
    size_t n = 0, room = 0;
    for (;;) {
        if (room - n < 65536) {
            uint8_t *larger = realloc(data, room = room ? room * 2 : 1 << 18);
            if (!larger) {
                free(data);
                fail(d, "out of memory");
                return NULL;
            }
            data = larger;
        }
        la_ssize_t got = archive_read_data(a, data + n, room - n);
        if (got < 0) {
            fail(d, "%s", archive_error_string(a));
            free(data);
            return NULL;
        }
        n += (size_t)got;
        if (got == 0) {
            *size = n;
            return data;
        }
    }
}

static bool add_entry(struct npz *z, struct archive *a, const char *path, struct diag *d)
{
    size_t size;
    uint8_t *data = read_entry(a, &size, d);
    if (!data)
        return false;
    struct npz_entry *larger = realloc(z->entries, sizeof *larger * (size_t)(z->count + 1));
    if (!larger) {
        free(data);
        return fail(d, "out of memory");
    }
    z->entries = larger;
    size_t n = strlen(path);
    struct npz_entry *e = &z->entries[z->count];
    bool ok = npy_read_bytes(data, size, path, &e->t, d);
    free(data);
    if (!ok)
        return false;
    e->name = strdup(path);
    if (!e->name) {
        tensor_free(&e->t);
        return fail(d, "out of memory");
    }
    if (n > 4 && !strcmp(path + n - 4, ".npy"))
        e->name[n - 4] = 0;
    z->count++;
    return true;
}

bool npz_read(const char *path, struct npz *out, struct diag *d)
{
    *out = (struct npz){0};
    struct archive *a = archive_read_new();
    struct archive_entry *entry;
    if (!a)
        return fail(d, "out of memory");
    archive_read_support_format_zip(a);
    bool ok = archive_read_open_filename(a, path, 1 << 16) == ARCHIVE_OK;
    int status = ARCHIVE_OK;
    if (!ok)
        fail(d, "%s", archive_error_string(a));
    while (ok && (status = archive_read_next_header(a, &entry)) == ARCHIVE_OK) {
        const char *name = archive_entry_pathname(entry);
        ok = name ? add_entry(out, a, name, d) : fail(d, "an entry without a name");
    }
    if (ok && status != ARCHIVE_EOF)
        ok = fail(d, "%s", archive_error_string(a));
    archive_read_free(a);
    if (!ok) {
        npz_free(out);
        return fail_in(d, "%s", path);
    }
    return true;
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
