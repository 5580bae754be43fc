/*
 * Operands and scratch memory between guard pages. Memory of one operand, from low addresses to high:
 *
 *     no access | fill, operand, fill up to the page's end | no access
 *
 * The operand's last byte is as near to the end as its alignment of 64 allows; results keep the
 * fill, which shows writes that miss the pages.
 */
#define _GNU_SOURCE
#include "runtime/custom/custom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN = 64, FILL = 0xa5, GUARD_PAGES = 16 };

struct area {
    uint8_t *map, *data;
    size_t mapped, bytes, guard;
    const char *kind;
    void *result; /* where it goes back to; NULL: an operand, or scratch */
    /* of results */
    size_t element;  /* bytes of one */
    uint8_t *merged; /* what the cores so far have written */
    uint8_t *writer; /* per element: the core that has, plus 1 */
    const char *name;
    struct area *next;
};

struct guarded {
    struct area *areas;
};

struct guarded *guarded_new(struct diag *d)
{
    struct guarded *g = calloc(1, sizeof *g);
    if (!g)
        fail_memory(d, "out of memory");
    return g;
}

/* Of `bytes` bytes, which can be written. */
static struct area *new_area(struct guarded *g, const char *kind, const char *name, size_t bytes, struct diag *d)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    room = (room + page - 1) / page * page;
    size_t guard = GUARD_PAGES * page, mapped = room + 2 * guard;
    struct area *a = calloc(1, sizeof *a);
    uint8_t *map = a ? mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;
    if (!a || map == MAP_FAILED || mprotect(map + guard, room, PROT_READ | PROT_WRITE) != 0) {
        if (a && map != MAP_FAILED)
            munmap(map, mapped);
        free(a);
        fail_memory(d, "out of memory: %zu bytes to guard an operand", mapped);
        return NULL;
    }
    *a = (struct area){
        .map = map, .mapped = mapped, .bytes = bytes, .guard = guard, .kind = kind, .name = name, .next = g->areas};
    a->data = map + guard + room - (bytes + ALIGN - 1) / ALIGN * ALIGN;
    memset(map + guard, FILL, room);
    return g->areas = a;
}

bool guarded_add(struct guarded *g, struct xop_tensor *t, size_t bytes, bool result,
                 const char *name, struct diag *d)
{
    struct area *a = new_area(g, result ? "result" : "operand", name, bytes, d);
    if (!a)
        return false;
    memcpy(a->data, t->data, bytes);
    a->element = dtype_bytes((enum dtype)t->dtype);
    if (result) {
        a->result = t->data;
        a->merged = calloc(bytes + 1, 1);
        a->writer = calloc(bytes / a->element + 1, 1);
    } else if (bytes)
        mprotect(a->map + a->guard, a->mapped - 2 * a->guard, PROT_READ);
    t->data = a->data;
    return true;
}

void *guarded_scratch(struct guarded *g, struct diag *d)
{
    struct area *a = new_area(g, "scratch memory", NULL, XOP_SCRATCH, d);
    return a ? memset(a->data, 0xff, XOP_SCRATCH) : NULL; /* unwritten: the same every time, and no number */
}

/* Of the fill of a result nothing has changed; else says where. */
static bool check_fill(const struct area *a, struct diag *d)
{
    const uint8_t *start = a->map + a->guard, *end = a->map + a->mapped - a->guard;
    for (const uint8_t *p = a->data; p > start;)
        if (*--p != FILL)
            return fail(d, "it wrote before the start of result '%s', at byte -%zu", a->name,
                        (size_t)(a->data - p));
    for (const uint8_t *p = a->data + a->bytes; p < end; p++)
        if (*p != FILL)
            return fail(d, "it wrote past the end of result '%s', which has %zu bytes, at byte %zu",
                        a->name, a->bytes, (size_t)(p - a->data));
    return true;
}

static bool is_zero(const uint8_t *p, size_t n)
{
    while (n && !*p)
        p++, n--;
    return n == 0;
}

/* Takes what a core has written out of the result, which is cleared for the next. */
static bool take_writes(struct area *a, int core, struct diag *d)
{
    for (size_t i = 0; i < a->bytes / a->element; i++) {
        uint8_t *at = a->data + i * a->element;
        if (is_zero(at, a->element))
            continue;
        if (a->writer[i])
            return fail(d, "cores %d and %d both write element %zu of result '%s'",
                        a->writer[i] - 1, core, i, a->name);
        a->writer[i] = (uint8_t)(core + 1);
        memcpy(a->merged + i * a->element, at, a->element);
        memset(at, 0, a->element);
    }
    return true;
}

bool guarded_core(struct guarded *g, int core, struct diag *d)
{
    for (struct area *a = g->areas; a; a = a->next)
        if (a->result && a->merged && a->writer && !take_writes(a, core, d))
            return false;
    return true;
}

/* Takes the first of the list out. */
static bool end_area(struct area **list, bool copy, struct diag *d)
{
    struct area *a = *list;
    bool ok = !a->result || (check_fill(a, d) && ((a->merged && a->writer) || fail_memory(d, "out of memory")));
    if (a->result && a->merged && copy)
        memcpy(a->result, a->merged, a->bytes);
    *list = a->next;
    free(a->merged);
    free(a->writer);
    munmap(a->map, a->mapped);
    free(a);
    return ok;
}

bool guarded_drop(struct guarded *g, const void *data, struct diag *d)
{
    for (struct area **a = &g->areas; *a; a = &(*a)->next)
        if ((*a)->data == data)
            return end_area(a, false, d);
    return true;
}

bool guarded_end(struct guarded *g, struct diag *d)
{
    bool ok = true;
    while (g->areas)
        ok &= end_area(&g->areas, true, d);
    free(g);
    return ok;
}

bool guarded_describe(const struct guarded *g, const void *address, char *text, size_t room)
{
    const uint8_t *p = address;
    for (const struct area *a = g ? g->areas : NULL; a; a = a->next) {
        const char *quote = a->name ? "'" : "", *name = a->name ? a->name : "", *space = a->name ? " " : "";
        if (p < a->map || p >= a->map + a->mapped)
            continue;
        if (p < a->data)
            snprintf(text, room, "%zu bytes before the start of %s%s%s%s%s", (size_t)(a->data - p),
                     a->kind, space, quote, name, quote);
        else if (p >= a->data + a->bytes)
            snprintf(text, room, "byte %zu of %s%s%s%s%s, which has %zu bytes", (size_t)(p - a->data),
                     a->kind, space, quote, name, quote, a->bytes);
        else
            snprintf(text, room, "operand '%s', which is only to be read", a->name);
        return true;
    }
    return false;
}
