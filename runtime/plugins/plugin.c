#define _GNU_SOURCE
#include "runtime/plugins/plugin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef XRT_LIBRARY_FOLDER /* where it is installed, seen from the programs */
#define XRT_LIBRARY_FOLDER "../lib"
#endif

static const struct {
    const char *name, *symbol, *package;
} plugins[] = {
#define PLUGIN(name, library, result, parameters) {#name, "xrt_plugin_1_" #name, library},
#include "runtime/plugins/plugins.def"
};

enum { PATH = 4096 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *found[PLUGIN_COUNT];

/* The plugin in that folder; NULL when there is none. What is there but does not load leaves its
 * reason in `why`. */
static void *load(const char *folder, size_t n, enum plugin p, char *why, size_t room)
{
    char path[PATH];
    int length = snprintf(path, sizeof path, "%.*s/libxrt_%s.so", (int)n, folder, plugins[p].name);
    if (n == 0 || length >= PATH || access(path, F_OK) != 0)
        return NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *f = NULL;
    if (library)
        f = dlsym(library, plugins[p].symbol);
    if (f)
        return f;
    snprintf(why, room, "%s", dlerror());
    if (library)
        dlclose(library);
    return NULL;
}

/* The folder of a file, with one of these behind it. */
static void *load_beside(const char *file, enum plugin p, char *why, size_t room)
{
    static const char *const folders[] = {".", "../runtime", XRT_LIBRARY_FOLDER};
    const char *slash = strrchr(file, '/');
    void *f = NULL;
    for (size_t i = 0; slash && !f && i < sizeof folders / sizeof *folders; i++) {
        char path[PATH];
        int n = snprintf(path, sizeof path, "%.*s/%s", (int)(slash - file), file, folders[i]);
        f = n < PATH ? load(path, (size_t)n, p, why, room) : NULL;
    }
    return f;
}

static void *search(enum plugin p, char *why, size_t room)
{
    void *f = NULL;
    for (const char *at = getenv("XRT_PLUGIN_PATH"); !f && at && *at; at += *at == ':') {
        size_t n = strcspn(at, ":");
        f = load(at, n, p, why, room);
        at += n;
    }
    Dl_info self;
    if (!f && dladdr((void *)&lock, &self) && self.dli_fname)
        f = load_beside(self.dli_fname, p, why, room);
    char program[PATH];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = 0;
    if (!f)
        f = load_beside(program, p, why, room);
    if (f || *why)
        return f;
    snprintf(program, sizeof program, "libxrt_%s.so", plugins[p].name);
    void *library = dlopen(program, RTLD_NOW | RTLD_LOCAL);
    f = library ? dlsym(library, plugins[p].symbol) : NULL;
    if (!f)
        snprintf(why, room, "%s", dlerror());
    return f;
}

void *plugin_find(enum plugin p, struct diag *d)
{
    char why[512] = "";
    pthread_mutex_lock(&lock);
    if (!found[p])
        found[p] = search(p, why, sizeof why);
    void *f = found[p];
    pthread_mutex_unlock(&lock);
    if (!f)
        fail(d,
             "it needs libxrt_%s.so, which does not load (%s): install it and package %s, or name "
             "its folder in XRT_PLUGIN_PATH",
             plugins[p].name, why, plugins[p].package);
    return f;
}
