/*
 * Libraries that are loaded, by their hash. They stay until the process ends, as plugins do.
 */
#define _GNU_SOURCE
#include "runtime/custom/custom.h"

#include "neff/base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct custom_library *loaded;

static struct custom_library *find(const char *hash)
{
    struct custom_library *l = loaded;
    while (l && strcmp(l->hash, hash) != 0)
        l = l->next;
    return l;
}

const struct custom_library *custom_library_find(const char *hash)
{
    pthread_mutex_lock(&lock);
    const struct custom_library *l = find(hash);
    pthread_mutex_unlock(&lock);
    return l;
}

static bool write_all(int fd, const uint8_t *data, size_t size)
{
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n, size -= (size_t)n;
    }
    return true;
}

/* A file that only this user can read, where memfd_create is missing. */
static int temporary_file(char *path, size_t room)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, room, "%s/xop-XXXXXX", folder && *folder ? folder : "/tmp");
    return mkostemp(path, O_CLOEXEC);
}

/*
 * dlopen of bytes: a file in memory, else a private temporary file, removed at once. Its descriptor
 * stays open, so that no other library gets the same name: the loader takes equal names for the
 * same library.
 */
static void *load_bytes(const void *data, size_t size, struct diag *d)
{
    char path[4096] = "", name[64];
    int fd = memfd_create("xop", MFD_CLOEXEC);
    if (fd < 0)
        fd = temporary_file(path, sizeof path);
    if (fd < 0 || !write_all(fd, data, size)) {
        fail(d, "cannot make a file to load it from: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        if (*path)
            unlink(path);
        return NULL;
    }
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    void *handle = dlopen(*path ? path : name, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail(d, "it does not load: %s", dlerror());
    if (*path)
        unlink(path);
    if (!handle)
        close(fd);
    return handle;
}

/* A file by its name, so that debuggers find it; a name under which something else was loaded
 * before, by its bytes. */
static void *load_file(const char *path, const void *data, size_t size, struct diag *d)
{
    char *whole = realpath(path, NULL);
    void *before = whole ? dlopen(whole, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
    void *handle = !whole || before ? NULL : dlopen(whole, RTLD_NOW | RTLD_LOCAL);
    if (before)
        dlclose(before);
    if (!before && !handle)
        fail(d, "it does not load: %s", whole ? dlerror() : strerror(errno));
    free(whole);
    return before ? load_bytes(data, size, d) : handle;
}

/* `path`: of a file that the caller names, else NULL. The lock is held. */
static struct custom_library *load(const char *name, const char *path, const void *data,
                                   size_t size, const char *hash, struct diag *d)
{
    const char *architecture = object_architecture(data, size, d);
    if (!architecture)
        return NULL;
    if (strcmp(architecture, machine_architecture()) != 0) {
        fail(d, "it is an object for %s, this machine is %s", architecture, machine_architecture());
        return NULL;
    }
    struct custom_library *l = calloc(1, sizeof *l);
    void *copy = malloc(size);
    if (!l || !copy) {
        free(l);
        free(copy);
        fail_memory(d, "out of memory");
        return NULL;
    }
    l->data = memcpy(copy, data, size);
    l->size = size;
    l->architecture = architecture;
    l->name = arena_strdup(&l->arena, name);
    memcpy(l->hash, hash, sizeof l->hash);
    void *handle = path ? load_file(path, copy, size, d) : load_bytes(copy, size, d);
    if (handle && custom_declare_library(l, dlsym(handle, "xop_library"), d)) {
        l->next = loaded;
        return loaded = l;
    }
    if (handle)
        dlclose(handle);
    arena_free(&l->arena);
    free(l);
    free(copy);
    return NULL;
}

static const struct custom_library *find_or_load(const char *name, const char *path,
                                                 const void *data, size_t size, const char *hash,
                                                 struct diag *d)
{
    pthread_mutex_lock(&lock);
    struct custom_library *l = find(hash);
    if (!l)
        l = load(name, path, data, size, hash, d);
    pthread_mutex_unlock(&lock);
    return l;
}

const struct custom_library *custom_open(const char *path, struct diag *d)
{
    struct mapped_file f;
    char hash[CUSTOM_HASH + 1];
    if (!file_map(&f, path, d))
        return NULL;
    const char *slash = strrchr(path, '/');
    custom_hash(f.data, f.size, hash);
    const struct custom_library *l =
        find_or_load(slash ? slash + 1 : path, path, f.data, f.size, hash, d);
    file_unmap(&f);
    if (!l)
        fail_in(d, "%s", path);
    return l;
}

const struct custom_library *custom_open_memory(const char *name, const void *data, size_t size,
                                                const char *hash, struct diag *d)
{
    char found[CUSTOM_HASH + 1];
    custom_hash(data, size, found);
    if (strcmp(found, hash) != 0)
        fail(d, "its hash is %.16s..., the archive says %.16s...: it is damaged", found, hash);
    const struct custom_library *l =
        diag_failed(d) ? NULL : find_or_load(name, NULL, data, size, hash, d);
    if (!l)
        fail_in(d, "library '%s'", name);
    return l;
}
