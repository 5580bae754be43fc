#include "runtime/io/npy.h"

#include "neff/base/file.h"
#include "runtime/io/zip.h"

#include <stdlib.h>
#include <string.h>

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
        return fail(d, "out of memory");
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
