#include "frontend/test_case.h"

#include "frontend/onnx/tensor_proto.h"
#include "neff/base/file.h"
#include "neff/base/json.h"
#include "runtime/io/npy.h"
#include "runtime/io/zip.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const model_names[] = {"model.onnx", "module.mlir", "module.mlirbc",
                                          "module.jaxexport", "model.hlo", "module.hlo",
                                          "model.mlir", "model.xir"};

static bool exists(const char *folder, const char *name, char *path, size_t room)
{
    snprintf(path, room, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static bool find_model(struct test_case *t, const char *folder, const char *name)
{
    if (name)
        return exists(folder, name, t->model, sizeof t->model);
    for (size_t i = 0; i < sizeof model_names / sizeof *model_names; i++)
        if (exists(folder, model_names[i], t->model, sizeof t->model))
            return true;
    DIR *dir = opendir(folder);
    bool found = false;
    for (struct dirent *e; dir && !found && (e = readdir(dir));) {
        found = name_ends_with(e->d_name, ".hlo.pb") &&
                exists(folder, e->d_name, t->model, sizeof t->model);
    }
    if (dir)
        closedir(dir);
    return found;
}

static int by_number(const void *a, const void *b)
{
    const char *x = a, *y = b;
    size_t n = strlen(x), m = strlen(y);
    return n != m ? (n < m ? -1 : 1) : strcmp(x, y);
}

static bool find_sets(struct test_case *t, const char *folder)
{
    char path[1100];
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && t->nsets < MAX_DATA_SETS && (e = readdir(dir));)
        if (!strncmp(e->d_name, "test_data_set_", 14)) {
            size_t n = strlen(e->d_name);
            bool zip = name_ends_with(e->d_name, ".zip");
            snprintf(t->sets[t->nsets], sizeof t->sets[0], "%s/%.*s/", folder, (int)(zip ? n - 4 : n), e->d_name);
            t->nsets += !zip || access(t->sets[t->nsets], F_OK) != 0; /* a zip beside its folder is the same set */
        }
    if (dir)
        closedir(dir);
    qsort(t->sets, (size_t)t->nsets, sizeof t->sets[0], by_number);
    if (!t->nsets && (exists(folder, "output_0.npy", path, sizeof path) ||
                      exists(folder, "output_0.pb", path, sizeof path)))
        snprintf(t->sets[t->nsets++], sizeof t->sets[0], "%s/", folder);
    for (int k = 0; k < MAX_DATA_SETS && t->nsets == k; k++) {
        char name[32];
        snprintf(name, sizeof name, "run%d_output_0.npy", k);
        if (exists(folder, name, path, sizeof path))
            snprintf(t->sets[t->nsets++], sizeof t->sets[0], "%s/run%d_", folder, k);
    }
    return t->nsets > 0;
}

static void read_limits(struct json_reader *r, struct test_case *t)
{
    json_enter(r, '{');
    for (const char *key; (key = json_read_key(r));) {
        double *limit = !strcmp(key, "rtol") ? &t->rtol : !strcmp(key, "atol") ? &t->atol : NULL;
        if (limit && !json_begins(r, '"') && !json_begins(r, 'n'))
            *limit = json_read_number(r);
        else
            json_skip(r);
    }
    if (!json_done(r) && !r->problem)
        r->problem = "more text after the end";
}

static bool read_tolerances(struct test_case *t, const char *folder, struct diag *d)
{
    static const char *const names[] = {"data.json", "case.json"};
    char path[1100];
    t->rtol = t->atol = -1;
    for (int i = 0; i < 2; i++) {
        if (!exists(folder, names[i], path, sizeof path))
            continue;
        struct mapped_file f;
        if (!file_map(&f, path, d))
            return false;
        struct json_reader r = json_reader(f.data, f.size);
        read_limits(&r, t);
        if (r.problem)
            fail(d, "%s: line %d: %s", path, json_line(&r), r.problem);
        file_unmap(&f);
        if (diag_failed(d))
            return false;
    }
    return true;
}

bool test_case_find(struct test_case *t, const char *folder, const char *name, const char **missing,
                    struct diag *d)
{
    *t = (struct test_case){0};
    *missing = NULL;
    if (strlen(folder) > sizeof t->model - 300)
        return fail(d, "its name is too long");
    struct stat st;
    if (stat(folder, &st))
        return fail(d, "cannot be read: %s", strerror(errno));
    if (!find_model(t, folder, name))
        *missing = name ? "no such module"
                        : "no model.onnx, module.mlir, module.mlirbc, module.jaxexport, model.hlo, module.hlo, "
                          "model.mlir, model.xir or *.hlo.pb";
    else if (!find_sets(t, folder))
        *missing = "no expected outputs";
    return !*missing && read_tolerances(t, folder, d);
}

/* A value from a file's content; the file's name tells its format. */
static bool read_bytes(const void *data, size_t size, const char *name, const struct type *type,
                       struct tensor *out, struct diag *d)
{
    if (name_ends_with(name, ".pb"))
        return onnx_read_tensor_bytes(data, size, name, out, type, d);
    if (!npy_read_bytes(data, size, name, out, d))
        return false;
    bool typed = type && type->kind == VK_TENSOR && type->dtype;
    return !typed || npy_as(out, type->dtype, d) || fail_in(d, "%s", name);
}

static const char *const endings[] = {"pb", "npy"};
enum { ENDINGS = sizeof endings / sizeof *endings };

static bool is_member(const struct zip_member *m, const char *name)
{
    return m->name_size == strlen(name) && !memcmp(m->name, name, m->name_size);
}

/* The member STEM_N.pb or .npy of an archive. */
static bool read_member(const char *path, const char *stem, int n, const struct type *type,
                        struct tensor *out, bool *found, struct diag *d)
{
    struct mapped_file f;
    struct zip_reader zip;
    struct zip_member m;
    char name[64];
    if (!file_map(&f, path, d))
        return false;
    bool opened = zip_open(&zip, f.data, f.size, d);
    while (opened && !*found && zip_next(&zip, &m, d))
        for (int i = 0; i < ENDINGS && !*found; i++) {
            snprintf(name, sizeof name, "%s_%d.%s", stem, n, endings[i]);
            *found = is_member(&m, name);
        }
    void *data = *found ? zip_extract(&m, d) : NULL;
    bool read = data && read_bytes(data, (size_t)m.size, name, type, out, d);
    free(data);
    file_unmap(&f);
    return read || !diag_failed(d) || fail_in(d, "%s", path);
}

bool test_value_read(const char *set, const char *stem, int n, const struct type *type,
                     struct tensor *out, bool *found, struct diag *d)
{
    char path[1200];
    *out = (struct tensor){.kind = VK_NONE};
    *found = false;
    for (int i = 0; i < ENDINGS; i++) {
        struct mapped_file f;
        snprintf(path, sizeof path, "%s%s_%d.%s", set, stem, n, endings[i]);
        if (access(path, F_OK) != 0)
            continue;
        *found = true;
        if (!file_map(&f, path, d))
            return false;
        bool ok = read_bytes(f.data, f.size, path, type, out, d);
        file_unmap(&f);
        return ok;
    }
    size_t folder = strlen(set);
    if (!folder || set[folder - 1] != '/')
        return true;
    snprintf(path, sizeof path, "%.*s.zip", (int)(folder - 1), set);
    return access(path, F_OK) != 0 || read_member(path, stem, n, type, out, found, d);
}
