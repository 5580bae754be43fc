/* Work in a process of its own, so that a crash is a result like others. */
#ifndef RUNTIME_IO_APART_H
#define RUNTIME_IO_APART_H

#include <stddef.h>

/*
 * The value of work(user, fd), 0 to 255, in a child process; what it writes to fd, as far as there is room, is then in
 * out, and *length is its length. -1: the process ended by a signal, or could not be started, and out has the
 * reason as text.
 */
int run_apart(int (*work)(void *user, int fd), void *user, void *out, size_t room, size_t *length);

#endif
