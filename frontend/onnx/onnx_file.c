#include "frontend/onnx/onnx_file.h"
#include "frontend/onnx/lift.h"
#include "frontend/onnx/message.h"
#include "frontend/onnx/text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Unpacks from the reduced copy, which goes at once. */
static bool unpack(struct onnx_file *f, struct diag *d)
{
    if (f->map.size == 0)
        return fail(d, "the file is empty, expected an ONNX model");
    bool writable = mprotect((void *)f->map.data, f->map.size, PROT_READ | PROT_WRITE) == 0;
    size_t n;
    uint8_t *reduced =
        lift_payloads((uint8_t *)f->map.data, f->map.size, MSG_MODEL, writable, &n, d);
    if (!reduced)
        return false;
    bool clean = onnx_text_check(&onnx__model_proto__descriptor, reduced, n, d);
    f->model = clean ? message_unpack(&onnx__model_proto__descriptor, n, reduced) : NULL;
    free(reduced);
    if (!clean)
        return false;
    if (!f->model)
        return fail(d, "not an ONNX model: its bytes are not a ModelProto message");
    if (!f->model->graph)
        return fail(d, "the model has no graph; is this an ONNX model file?");
    return true;
}

struct onnx_file *onnx_file_open(const char *path, struct diag *d)
{
    struct onnx_file *f = calloc(1, sizeof *f);
    if (!f) {
        fail_memory(d, "out of memory");
        return NULL;
    }
    f->path = path;
    if (!file_map(&f->map, path, d)) {
        free(f);
        return NULL;
    }
    if (!unpack(f, d)) {
        fail_in(d, "%s", path);
        onnx_file_close(f);
        return NULL;
    }
    return f;
}

void onnx_file_drop_message(struct onnx_file *f)
{
    if (f->model)
        onnx__model_proto__free_unpacked(f->model, NULL);
    f->model = NULL;
}

void onnx_file_close(struct onnx_file *f)
{
    if (!f)
        return;
    onnx_file_drop_message(f);
    for (int i = 0; i < f->nexternals; i++) {
        free(f->externals[i].location);
        file_unmap(&f->externals[i].map);
    }
    free(f->externals);
    for (int i = 0; i < f->nowned; i++) {
        tensor_free(f->owned[i]);
        free(f->owned[i]);
    }
    free(f->owned);
    file_unmap(&f->map);
    free(f);
}

const struct tensor *onnx_file_keep(struct onnx_file *f, struct tensor *t, struct diag *d)
{
    struct tensor *kept = calloc(1, sizeof *kept);
    if (f->nowned == f->owned_cap) {
        int cap = f->owned_cap ? 2 * f->owned_cap : 64;
        struct tensor **grown = realloc(f->owned, sizeof *grown * (size_t)cap);
        if (grown) {
            f->owned = grown;
            f->owned_cap = cap;
        }
    }
    if (!kept || f->nowned == f->owned_cap) {
        free(kept);
        fail_memory(d, "out of memory");
        return NULL;
    }
    kept->kind = VK_NONE;
    tensor_move(kept, t);
    f->owned[f->nowned++] = kept;
    return kept;
}

/* The file's real path when `location` stays inside the model's folder; malloc. */
static char *confined_path(const char *model, const char *location, struct diag *d)
{
    const char *slash = strrchr(model, '/');
    char joined[PATH_MAX];
    int folder = slash ? (int)(slash - model) + 1 : 0;
    if (!*location || *location == '/' || strlen(location) + (size_t)folder + 3 > sizeof joined) {
        fail(d, "external data location '%.200s' is not a path inside the model's folder",
             location);
        return NULL;
    }
    for (const char *part = location; part; part = strchr(part, '/'), part = part ? part + 1 : NULL)
        if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2])) {
            fail(d, "external data location '%.200s' leaves the model's folder", location);
            return NULL;
        }
    memcpy(joined, folder ? model : "./", folder ? (size_t)folder : 2);
    joined[folder ? folder : 2] = 0;
    char *root = realpath(joined, NULL);
    strcat(joined, location);
    char *real = root ? realpath(joined, NULL) : NULL;
    if (!real) {
        fail(d, "external data file '%.200s' cannot be opened: %s; it belongs beside the model",
             location, strerror(errno));
    } else {
        size_t n = strlen(root);
        if (strncmp(real, root, n) || (real[n] != '/' && n != 1)) {
            fail(d, "external data location '%.200s' links out of the model's folder", location);
            free(real);
            real = NULL;
        }
    }
    free(root);
    return real;
}

static struct onnx_external *open_external(struct onnx_file *f, const char *location,
                                           struct diag *d)
{
    for (int i = 0; i < f->nexternals; i++)
        if (!strcmp(f->externals[i].location, location))
            return &f->externals[i];
    struct onnx_external *grown =
        realloc(f->externals, sizeof *grown * (size_t)(f->nexternals + 1));
    if (!grown) {
        fail_memory(d, "out of memory");
        return NULL;
    }
    f->externals = grown;
    struct onnx_external *e = &grown[f->nexternals];
    char *real = confined_path(f->path, location, d);
    if (!real)
        return NULL;
    bool ok = file_map(&e->map, real, d);
    free(real);
    if (!ok)
        return NULL;
    e->location = strdup(location);
    if (!e->location) {
        file_unmap(&e->map);
        fail_memory(d, "out of memory");
        return NULL;
    }
    f->nexternals++;
    return e;
}

const uint8_t *onnx_file_external(struct onnx_file *f, const char *location, int64_t offset,
                                  int64_t *size, struct diag *d)
{
    struct onnx_external *e = open_external(f, location, d);
    if (!e)
        return NULL;
    int64_t have = (int64_t)e->map.size;
    if (*size < 0)
        *size = have - offset;
    if (offset < 0 || offset > have || *size < 0 || *size > have - offset) {
        fail(d,
             "external data file '%.200s' has %lld bytes, the tensor needs %lld bytes from %lld on",
             location, (long long)have, (long long)*size, (long long)offset);
        return NULL;
    }
    return e->map.data + offset;
}
