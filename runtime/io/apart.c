#include "runtime/io/apart.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int ended(size_t *length, void *out, size_t room, const char *what, const char *why)
{
    int n = snprintf(out, room, "%s: %s", what, why);
    *length = n > 0 && (size_t)n < room ? (size_t)n : room - 1;
    return -1;
}

/* All that comes, so that who writes it can end; what there is no room for is dropped. */
static size_t read_all(int fd, char *out, size_t room)
{
    char beyond[4096];
    size_t n = 0;
    for (;;) {
        bool full = n == room;
        ssize_t got = read(fd, full ? beyond : out + n, full ? sizeof beyond : room - n);
        if (got == 0 || (got < 0 && errno != EINTR))
            return n;
        n += got > 0 && !full ? (size_t)got : 0;
    }
}

int run_apart(int (*work)(void *user, int fd), void *user, void *out, size_t room, size_t *length)
{
    int ends[2], status = 0;
    fflush(NULL);
    if (pipe(ends) != 0)
        return ended(length, out, room, "cannot start a process", strerror(errno));
    pid_t pid = fork();
    if (pid < 0) {
        ended(length, out, room, "cannot start a process", strerror(errno));
        close(ends[0]), close(ends[1]);
        return -1;
    }
    if (pid == 0) {
        close(ends[0]);
        int value = work(user, ends[1]);
        fflush(NULL);
        _exit(value);
    }
    close(ends[1]);
    *length = read_all(ends[0], out, room);
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return ended(length, out, room, "its end is not known", strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status)
                             : ended(length, out, room, "crashed", strsignal(WTERMSIG(status)));
}
