#include "runtime/io/apart.h"

#include <errno.h>
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

int run_apart(int (*work)(void *user, int fd), void *user, void *out, size_t room, size_t *length)
{
    int ends[2], status = 0;
    fflush(NULL);
    pid_t pid = pipe(ends) == 0 ? fork() : -1;
    if (pid < 0)
        return ended(length, out, room, "cannot start a process", strerror(errno));
    if (pid == 0) {
        close(ends[0]);
        int value = work(user, ends[1]);
        fflush(NULL);
        _exit(value);
    }
    close(ends[1]);
    *length = 0;
    for (ssize_t got; *length < room &&
                      (got = read(ends[0], (char *)out + *length, room - *length)) > 0;)
        *length += (size_t)got;
    close(ends[0]);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status)
                             : ended(length, out, room, "crashed", strsignal(WTERMSIG(status)));
}
