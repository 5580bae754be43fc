#include "neff/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    size_t size;
};

enum { ALIGN = 16, FIRST_BLOCK = 16 << 10, LARGEST_BLOCK = 4 << 20 };

#define HEADER ((sizeof(struct arena_block) + ALIGN - 1) / ALIGN * ALIGN)

static struct arena_block *new_block(const struct arena *a, size_t size)
{
    size_t want = a->head ? a->head->size * 2 : FIRST_BLOCK;
    if (want > LARGEST_BLOCK)
        want = LARGEST_BLOCK;
    if (want < size)
        want = size;
    struct arena_block *b = want > SIZE_MAX - HEADER ? NULL : malloc(HEADER + want);
    if (!b)
        arena_out_of_memory(want);
    b->size = want;
    return b;
}

static void add_block(struct arena *a, size_t size)
{
    struct arena_block *b = a->spare;
    if (b && b->size >= size)
        a->spare = b->next;
    else
        b = new_block(a, size);
    b->next = a->head;
    a->head = b;
    a->at = (char *)b + HEADER;
    a->end = a->at + b->size;
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (size > SIZE_MAX / 2)
        arena_out_of_memory(size);
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (!a->at || (size_t)(a->end - a->at) < size)
        add_block(a, size);
    void *p = a->at;
    a->at += size;
    a->used += size;
    return memset(p, 0, size);
}

static void free_blocks(struct arena_block *b)
{
    for (struct arena_block *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

void arena_free(struct arena *a)
{
    free_blocks(a->head);
    free_blocks(a->spare);
    *a = (struct arena){0};
}

void arena_clear(struct arena *a)
{
    struct arena_block *spare = a->spare;
    for (struct arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        b->next = spare;
        spare = b;
    }
    *a = (struct arena){.spare = spare};
}

void arena_move_(void *dst, const void *src, size_t n)
{
    if (n)
        memcpy(dst, src, n);
}

void *arena_copy(struct arena *a, const void *src, size_t size)
{
    void *p = arena_alloc(a, size);
    arena_move_(p, src, size);
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = arena_alloc(a, n + 1);
    arena_move_(p, s, n);
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *p = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
    if (n > 0)
        vsnprintf(p, (size_t)n + 1, fmt, ap);
    return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *p = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}
