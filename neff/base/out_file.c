/*
 * Output files that appear whole or not at all.
 *
 * While it is written, a file has the name PATH.tmpXXXXXX and a lock. A name like that without a
 * lock was left by a process that was killed: who next writes PATH removes it.
 */
#define _GNU_SOURCE
#include "neff/base/clock.h"
#include "neff/base/file.h"
#include "neff/base/splitmix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUFFIX = sizeof ".tmpXXXXXX", SUFFIX_RANDOM = 6 };
static const char suffix_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* ---- interruption ---- */

/* Temporary files of this process, for a signal handler: a slot is free while its text is empty. */
enum { MAX_OPEN = 16, MAX_PATH = 4096 };
static char open_now[MAX_OPEN][MAX_PATH];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void remember(const char *path)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_OPEN; i++)
        if (!open_now[i][0] && strlen(path) < MAX_PATH) {
            strcpy(open_now[i] + 1, path + 1);
            open_now[i][0] = path[0]; /* last: a handler sees nothing or the whole */
            break;
        }
    pthread_mutex_unlock(&lock);
}

static void forget(const char *path)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_OPEN; i++)
        if (!strcmp(open_now[i], path))
            open_now[i][0] = 0;
    pthread_mutex_unlock(&lock);
}

void out_remove_temporaries(void)
{
    for (int i = 0; i < MAX_OPEN; i++)
        if (open_now[i][0])
            unlink(open_now[i]);
}

static void interrupted(int signal)
{
    out_remove_temporaries();
    raise(signal); /* whose action is the default one again */
}

void out_clean_when_interrupted(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction old;
        struct sigaction now = {.sa_handler = interrupted, .sa_flags = SA_RESETHAND | SA_NODEFER};
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(signals[i], &now, NULL);
    }
}

/* ---- the folder ---- */

static char *folder_of(const char *path)
{
    char *copy = strdup(path), *folder = copy ? strdup(dirname(copy)) : NULL;
    free(copy);
    return folder;
}

static bool is_temporary(const char *name, const char *base)
{
    size_t n = strlen(base);
    return strlen(name) == n + SUFFIX - 1 && !strncmp(name, base, n) &&
           !strncmp(name + n, ".tmp", 4) && strspn(name + n + 4, suffix_letters) == SUFFIX_RANDOM;
}

/* What has the name of a temporary file of that path and no lock. */
static void remove_left(const char *path)
{
    char *folder = folder_of(path);
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    DIR *dir = folder ? opendir(folder) : NULL;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (!is_temporary(e->d_name, base))
            continue;
        int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        struct stat st;
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
            flock(fd, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(dir), e->d_name, 0);
        if (fd >= 0)
            close(fd);
    }
    if (dir)
        closedir(dir);
    free(folder);
}

/* The new name is on the disk too, where the file system can be asked for that. */
static void sync_folder(const char *path)
{
    char *folder = folder_of(path);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd); /* some file systems cannot: then nothing more can be done */
        close(fd);
    }
    free(folder);
}

/* ---- opening ---- */

/* The descriptor that a path like `-`, /dev/stdout or /dev/fd/3 means; -1: it is another path. */
static int named_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (!strcmp(path, "-"))
        return STDOUT_FILENO;
    if (!strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/stderr"))
        return path[8] == 'o' ? STDOUT_FILENO : STDERR_FILENO;
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(folders[i]);
        char *end;
        long fd = strncmp(path, folders[i], n) ? -1 : strtol(path + n, &end, 10);
        if (fd >= 0 && end != path + n && !*end)
            return (int)fd;
    }
    return -1;
}

/* Devices, pipes and descriptors cannot be renamed to, nor written in any order: they get the bytes
 * when all are there. */
static bool open_direct(struct out_file *o, const char *path, int fd, struct diag *d)
{
    o->direct = 1 + (fd >= 0 ? dup(fd) : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY));
    o->f = o->direct ? tmpfile() : NULL;
    if (o->f)
        return true;
    return fail(d, "%s: cannot write: %s", path, strerror(errno));
}

/* Another process that writes PATH may have taken the file for one that was left, before it had its lock: then it is
 * gone. */
static bool locked(int fd)
{
    struct stat st;
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR)
        ;
    return fstat(fd, &st) != 0 || st.st_nlink > 0;
}

/* PATH.tmpXXXXXX with letters for each X, and its lock. Its name is remembered before there is a file that could be
 * left behind. */
static int create_temporary(char *name)
{
    static _Atomic uint64_t count;
    char *suffix = name + strlen(name) - SUFFIX_RANDOM;
    uint64_t state = (uint64_t)(seconds_now() * 1e9) + ((uint64_t)getpid() << 32) + count++;
    for (int turn = 0; turn < 100; turn++) {
        for (int i = 0; i < SUFFIX_RANDOM; i++)
            suffix[i] = suffix_letters[splitmix(&state) % (sizeof suffix_letters - 1)];
        remember(name);
        int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        int e = errno;
        if (fd >= 0 && locked(fd))
            return fd;
        forget(name);
        if (fd >= 0)
            close(fd);
        errno = e;
        if (fd < 0 && e != EEXIST)
            return -1;
    }
    return -1;
}

static bool open_temporary(struct out_file *o, const struct stat *old, struct diag *d)
{
    size_t n = strlen(o->path) + SUFFIX;
    remove_left(o->path);
    o->temporary = malloc(n);
    if (!o->temporary)
        return fail_memory(d, "out of memory");
    snprintf(o->temporary, n, "%s.tmpXXXXXX", o->path);
    int fd = create_temporary(o->temporary);
    if (fd < 0) {
        fail(d, "%s: cannot write: %s", o->path, strerror(errno));
        free(o->temporary), o->temporary = NULL;
        return false;
    }
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(fd, old ? old->st_mode & 07777 : 0666 & ~mask) != 0)
        warn(d, "%s: cannot set its mode: %s", o->path, strerror(errno));
    if (old && (old->st_uid != geteuid() || old->st_gid != getegid()) &&
        fchown(fd, old->st_uid, old->st_gid) != 0)
        warn(d, "%s: cannot keep its owner: %s", o->path, strerror(errno));
    o->f = fdopen(fd, "w+b");
    if (!o->f)
        close(fd);
    return o->f || fail(d, "%s: cannot write: %s", o->path, strerror(errno));
}

bool out_open(struct out_file *o, const char *path, struct diag *d)
{
    *o = (struct out_file){0};
    struct stat st, link;
    int descriptor = named_descriptor(path);
    bool exists = stat(path, &st) == 0;
    if (descriptor < 0 && exists && S_ISDIR(st.st_mode))
        return fail(d, "%s: is a directory, expected a file name", path);
    bool found = descriptor < 0 && !exists && lstat(path, &link) == 0;
    if (found && S_ISLNK(link.st_mode))
        return fail(d, "%s: a symbolic link to nothing", path);
    exists = exists || (found && stat(path, &st) == 0); /* another process has written it meanwhile */
    if (descriptor < 0 && file_is_input(path))
        return fail(d, "%s: is an input of this command, and would be lost; name another file", path);
    bool direct = descriptor >= 0 || (exists && !S_ISREG(st.st_mode));
    o->path = exists && !direct ? realpath(path, NULL) : strdup(path); /* links are kept */
    bool ok = o->path ? (direct ? open_direct(o, path, descriptor, d)
                                : open_temporary(o, exists ? &st : NULL, d))
                      : fail(d, "%s: cannot write: %s", path, strerror(errno));
    if (!ok)
        out_abandon(o);
    return ok;
}

/* ---- closing ---- */

static bool copy_out(FILE *from, int to)
{
    char block[1 << 13];
    rewind(from);
    for (size_t n; (n = fread(block, 1, sizeof block, from)) > 0;)
        for (size_t done = 0; done < n;) {
            ssize_t k = write(to, block + done, n - done);
            if (k < 0 && errno != EINTR)
                return false;
            done += k > 0 ? (size_t)k : 0;
        }
    return !ferror(from);
}

bool out_commit(struct out_file *o, struct diag *d)
{
    bool ok = fflush(o->f) == 0 && !ferror(o->f);
    if (ok && !o->temporary)
        ok = copy_out(o->f, o->direct - 1);
    else if (ok)
        ok = fsync(fileno(o->f)) == 0 || errno == EINVAL || errno == ENOTSUP;
    ok = ok && (!o->temporary || rename(o->temporary, o->path) == 0);
    int e = errno;
    if (fclose(o->f) != 0 && ok) {
        ok = false;
        e = errno;
    }
    o->f = NULL;
    if (!ok) {
        fail(d, "%s: cannot write: %s", o->path, strerror(e));
    } else if (o->temporary) {
        sync_folder(o->path);
        forget(o->temporary);
        free(o->temporary), o->temporary = NULL;
    }
    out_abandon(o);
    return ok;
}

void out_abandon(struct out_file *o)
{
    if (o->f)
        fclose(o->f);
    if (o->temporary) {
        unlink(o->temporary);
        forget(o->temporary);
    }
    if (o->direct)
        close(o->direct - 1);
    free(o->path), free(o->temporary);
    *o = (struct out_file){0};
}

bool file_same(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

bool file_write_all(const char *path, const void *data, size_t size, struct diag *d)
{
    struct out_file o;
    if (!out_open(&o, path, d))
        return false;
    if (size && fwrite(data, 1, size, o.f) != size) {
        fail(d, "%s: cannot write: %s", path, strerror(errno));
        out_abandon(&o);
        return false;
    }
    return out_commit(&o, d);
}

int out_printed(const char *program, int status)
{
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout))
        return status;
    fprintf(stderr, "%s: standard output: cannot write: %s\n", program,
            errno ? strerror(errno) : "an earlier write failed");
    return status ? status : 1;
}
