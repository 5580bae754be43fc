/*
 * Diagnostics: a failure is a return value, its text is here.
 *
 *     if (rank != 4)
 *         return fail(d, "weight has rank %d, expected 4", rank);
 *
 * Callers that know more put it in front while returning: fail_in(d, "node '%s' (%s)", ...).
 * Text is lower case, without a full stop, and says what was found, what was expected, what to do.
 * One diag belongs to one thread. Warnings go to a callback, or to stderr when there is none.
 */
#ifndef NEFF_BASE_DIAG_H
#define NEFF_BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>

enum { DIAG_TEXT = 2048 };

struct diag {
    char text[DIAG_TEXT]; /* the failure; empty while all is well */
    bool unsupported; /* the input is valid, but something in it is not supported */
    bool internal;    /* not the input's fault: exit status 70 */
    bool memory;      /* the machine had too little memory: the same call may succeed elsewhere */
    int warnings;
    void (*warn)(void *user, const char *text);
    void *user;
};

/* Always false, so that `return fail(...)` reads well. The first failure is kept. */
bool fail(struct diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As fail, and marks the failure as a defect of this program. */
bool fail_internal(struct diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As fail, and marks the failure as one of the machine's memory: the text says "out of memory". A fixed limit that is
 * passed is none: it fails on every machine. */
bool fail_memory(struct diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As fail, with lines below the text, indented; what is in one cannot begin another. */
bool fail_lines(struct diag *d, const char *const *lines, int n, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Puts "CONTEXT: " before the failure's text. Always false. */
bool fail_in(struct diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void warn(struct diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline bool diag_failed(const struct diag *d)
{
    return d->text[0] != 0;
}
/* Control characters, which names in files bring into messages, become text: \x1b, a new line \n. For at most DIAG_TEXT
 * bytes; what fail and warn make is so already. */
void text_show_controls(char *text, size_t size);
/* Forget a failure that the caller has dealt with. */
void diag_clear(struct diag *d);

#endif
