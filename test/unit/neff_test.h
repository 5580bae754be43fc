/*
 * Programs for tests of neff/: one with every instruction, and a source of numbers that is the same
 * everywhere.
 */
#ifndef TEST_NEFF_TEST_H
#define TEST_NEFF_TEST_H

#include "neff/isa/asm.h"
#include "neff/archive/archive.h"
#include "neff/base/splitmix.h"
#include "neff/isa/streams.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct test_random {
    uint64_t state;
};
static inline uint64_t next_random(struct test_random *r)
{
    return splitmix(&r->state);
}
static inline int below(struct test_random *r, int n)
{
    return (int)(next_random(r) % (uint64_t)n);
}

/* A program that is written piece by piece. */
struct test_text {
    char s[8192];
    size_t n;
};
static inline void say(struct test_text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    t->n += (size_t)vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);
    va_end(ap);
}

/* The text of a program; the caller frees it. */
static inline char *text_of(const struct program *p)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    assert_true(program_print(p, f));
    fclose(f);
    return text;
}

static inline struct program *parse_ok(const char *text)
{
    struct diag d = {0};
    struct program *p = program_parse(text, strlen(text), "test", &d);
    if (!p)
        fail_msg("%s", d.text);
    return p;
}

#endif
