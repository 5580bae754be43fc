/*
 * Threads with a stack that suffices, panels of a product alone take 100 kB of it: what a thread gets unasked is the
 * process's limit with glibc, 128 KiB with musl.
 */
#ifndef RUNTIME_EXEC_THREAD_H
#define RUNTIME_EXEC_THREAD_H

#include <pthread.h>
#include <stdbool.h>

bool thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
