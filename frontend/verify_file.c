#include "frontend/verify_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool side_take(struct side_file *s, size_t bytes, int64_t *at, struct diag *d)
{
    if (!s->f && !(s->f = tmpfile()))
        return fail(d, "no temporary file for the values of the program (%s)", strerror(errno));
    for (int i = 0; i < s->nfree; i++)
        if (s->free[i].bytes == bytes) {
            *at = s->free[i].at;
            s->free[i] = s->free[--s->nfree];
            return true;
        }
    *at = s->size;
    s->size += (int64_t)bytes;
    return true;
}

void side_give(struct side_file *s, int64_t at, size_t bytes)
{
    if (s->nfree == s->cap) {
        int cap = s->cap ? 2 * s->cap : 16;
        struct side_part *grown = realloc(s->free, (size_t)cap * sizeof *grown);
        if (!grown)
            return; /* the file grows instead */
        s->free = grown;
        s->cap = cap;
    }
    s->free[s->nfree++] = (struct side_part){at, bytes};
}

bool side_write(struct side_file *s, int64_t at, const void *data, size_t bytes, struct diag *d)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(fileno(s->f), (const char *)data + done, bytes - done, at + (int64_t)done);
        if (n == 0 || (n < 0 && errno != EINTR))
            return fail(d, "cannot write the values of the program to a temporary file (%s)", strerror(errno));
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool side_read(struct side_file *s, int64_t at, void *data, size_t bytes, struct diag *d)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(fileno(s->f), (char *)data + done, bytes - done, at + (int64_t)done);
        if (n == 0 || (n < 0 && errno != EINTR))
            return fail(d, "cannot read the values of the program from a temporary file");
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

void side_drop(void *data, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)data, end = first + bytes;
    first = (first + page - 1) / page * page;
    end = end / page * page;
    if (first < end)
        madvise((char *)data + (first - (uintptr_t)data), end - first, MADV_DONTNEED);
}

void side_close(struct side_file *s)
{
    if (s->f)
        fclose(s->f);
    free(s->free);
    *s = (struct side_file){0};
}
