#define _GNU_SOURCE
#include "neff/base/file.h"
#include "neff/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

static const uint8_t nothing[1];

/* A file that exists in this thread only. */
static _Thread_local struct {
    char *path; /* NULL: none */
    int fd;
} lent;

bool file_lend(const char *path, const void *data, size_t size, struct diag *d)
{
    if (lent.path)
        close(lent.fd);
    free(lent.path);
    lent.path = NULL;
    if (!path)
        return true;
    lent.fd = memfd_create("lent", MFD_CLOEXEC);
    if (lent.fd < 0)
        return fail(d, "%s: cannot make a file in memory: %s", path, strerror(errno));
    bool ok = true;
    for (size_t at = 0; ok && at < size;) {
        ssize_t n = write(lent.fd, (const char *)data + at, size - at);
        ok = n > 0;
        at += ok ? (size_t)n : 0;
    }
    lent.path = ok ? strdup(path) : NULL;
    if (lent.path)
        return true;
    close(lent.fd);
    return fail_memory(d, "%s: out of memory", path);
}

/* ---- inputs of a program ---- */

static struct noted {
    dev_t device;
    ino_t file;
} *noted;
static int nnoted, noted_cap;
static bool noting;
static pthread_mutex_t noted_lock = PTHREAD_MUTEX_INITIALIZER;

void file_note_inputs(bool on)
{
    noting = on;
}

static void note(const struct stat *st)
{
    if (!noting)
        return;
    pthread_mutex_lock(&noted_lock);
    if (nnoted == noted_cap) {
        struct noted *grown = realloc(noted, sizeof *grown * (size_t)(noted_cap * 2 + 16));
        noted_cap = grown ? noted_cap * 2 + 16 : noted_cap;
        noted = grown ? grown : noted;
    }
    if (nnoted < noted_cap)
        noted[nnoted++] = (struct noted){st->st_dev, st->st_ino};
    pthread_mutex_unlock(&noted_lock);
}

bool file_is_input(const char *path)
{
    struct stat st;
    bool found = false;
    if (stat(path, &st) || !S_ISREG(st.st_mode))
        return false;
    pthread_mutex_lock(&noted_lock);
    for (int i = 0; i < nnoted; i++)
        found |= noted[i].device == st.st_dev && noted[i].file == st.st_ino;
    pthread_mutex_unlock(&noted_lock);
    return found;
}

/* ---- mapping ---- */

bool name_ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && !strcmp(name + n - m, end);
}

bool file_map_open(struct mapped_file *f, int fd, const char *path, struct diag *d)
{
    *f = (struct mapped_file){nothing, 0};
    struct stat st;
    bool ok = fstat(fd, &st) == 0;
    if (!ok)
        fail(d, "%s: cannot read: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        ok = fail(d, "%s: not a regular file", path);
    if (ok)
        note(&st);
    if (ok && st.st_size > 0) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED)
            ok = fail(d, "%s: cannot map %lld bytes: %s", path, (long long)st.st_size,
                      strerror(errno));
        else
            *f = (struct mapped_file){p, (size_t)st.st_size};
#ifdef MADV_HUGEPAGE
        if (ok && f->size >= LARGE_PAGE)
            madvise(p, f->size, MADV_HUGEPAGE); /* a wish: how what is not cached yet is read */
#endif
    }
    return ok;
}

bool file_map(struct mapped_file *f, const char *path, struct diag *d)
{
    *f = (struct mapped_file){nothing, 0};
    bool own = lent.path && !strcmp(path, lent.path);
    int fd = own ? fcntl(lent.fd, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail(d, "%s: cannot open: %s", path, strerror(errno));
    bool ok = file_map_open(f, fd, path, d);
    close(fd);
    return ok;
}

void file_unmap(struct mapped_file *f)
{
    if (f->size)
        munmap((void *)f->data, f->size);
    *f = (struct mapped_file){nothing, 0};
}

void file_sparse(const void *p, size_t bytes)
{
#ifdef MADV_NOHUGEPAGE
    uintptr_t from = ((uintptr_t)p + PAGE - 1) / PAGE * PAGE;
    uintptr_t end = ((uintptr_t)p + bytes) / PAGE * PAGE;
    if (bytes >= LARGE_PAGE)
        madvise((void *)from, end - from, MADV_NOHUGEPAGE);
#endif
}

void file_ahead(const void *p, size_t bytes)
{
#ifdef MADV_POPULATE_READ
    uintptr_t from = (uintptr_t)p / PAGE * PAGE;
    if (bytes)
        madvise((void *)from, (uintptr_t)p + bytes - from, MADV_POPULATE_READ);
#endif
}

void file_done(const void *p, size_t bytes)
{
    uintptr_t from = ((uintptr_t)p + PAGE - 1) / PAGE * PAGE;
    uintptr_t end = ((uintptr_t)p + bytes) / PAGE * PAGE;
    if (end > from)
        madvise((void *)from, end - from, MADV_DONTNEED);
}
