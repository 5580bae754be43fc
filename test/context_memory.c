/*
 * context_memory MODEL.neff: contexts in the caller's memory, with the caller's allocator and with the caller's threads
 * have the bits of others; memory that is too little, and an allocator that fails at each of its calls, are failures
 * that say so; nothing is taken that is not given back. Contexts that wait for their first run take less than half of
 * the memory that they have after it (of a model that needs some MiB; --waits tries only this).
 */
#include "runtime/xrt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(bool ok, const char *what)
{
    if (ok)
        return;
    printf("FAIL %s (%s)\n", what, xrt_error());
    failures++;
}

/* ---- runs ---- */

enum { MAX_TENSORS = 64 };
struct results {
    int count;
    struct xrt_tensor t[MAX_TENSORS];
};

static size_t tensor_size(const struct xrt_tensor *t)
{
    size_t n = xrt_dtype_size(t->dtype);
    for (int i = 0; i < t->rank; i++)
        n *= (size_t)t->dims[i];
    return n;
}

/* Inputs of small numbers, the same each time. */
static void *make_input(const struct xrt_info *info, struct xrt_tensor *t)
{
    *t = (struct xrt_tensor){.dtype = info->dtype, .rank = info->rank};
    memcpy(t->dims, info->sizes, sizeof t->dims);
    size_t bytes = tensor_size(t);
    t->data = calloc(1, bytes + 8);
    if (!strcmp(info->dtype, "f32"))
        for (size_t i = 0; i < bytes / 4; i++)
            ((float *)t->data)[i] = (float)(i * 7919 % 255) / 255;
    return t->data;
}

/* Copies of the outputs of two runs' second; false after a failure of one. */
static bool run(struct xrt_model *m, struct xrt_context *c, struct results *r)
{
    void *inputs[MAX_TENSORS] = {NULL};
    int n = xrt_input_count(m);
    bool ok = n <= MAX_TENSORS && xrt_output_count(m) <= MAX_TENSORS;
    for (int i = 0; ok && i < n; i++) {
        struct xrt_tensor t;
        inputs[i] = make_input(xrt_input_info(m, i), &t);
        ok = xrt_set_input(c, i, &t);
    }
    ok = ok && xrt_run(c) && xrt_run(c);
    for (r->count = 0; ok && r->count < xrt_output_count(m);) {
        struct xrt_tensor *t = &r->t[r->count];
        ok = xrt_output(c, r->count, t);
        void *copy = ok ? malloc(tensor_size(t) + 1) : NULL;
        if (!ok)
            break;
        t->data = memcpy(copy, t->data, tensor_size(t));
        r->count++;
    }
    for (int i = 0; i < n && i < MAX_TENSORS; i++)
        free(inputs[i]);
    return ok;
}

static void drop(struct results *r)
{
    while (r->count > 0)
        free(r->t[--r->count].data);
}

static void compare(struct xrt_model *m, const struct xrt_context_options *o, const struct results *expected,
                    const char *what)
{
    struct results r = {0};
    struct xrt_context *c = xrt_context_new_with(m, o);
    expect(c && run(m, c, &r), what);
    for (int i = 0; i < r.count; i++)
        expect(tensor_size(&r.t[i]) == tensor_size(&expected->t[i]) &&
                   !memcmp(r.t[i].data, expected->t[i].data, tensor_size(&r.t[i])),
               what);
    drop(&r);
    xrt_context_free(c);
}

/* ---- an allocator that counts, and fails when told to ---- */

static atomic_long calls, fail_at, blocks, bytes;

static void *take(void *user, size_t size, size_t align)
{
    void *p = NULL;
    if (user != &calls || ++calls == fail_at || posix_memalign(&p, align, size))
        return NULL;
    blocks++;
    bytes += (long)size;
    return p;
}
static void give(void *user, void *p, size_t size)
{
    blocks--;
    bytes -= (long)size;
    free(p);
}
static const struct xrt_allocator counting = {take, give, &calls};

static void try_allocator(struct xrt_model *m, const struct results *expected)
{
    struct xrt_context_options o = {.size = sizeof o, .threads = 1, .allocator = &counting};
    compare(m, &o, expected, "an allocator");
    expect(blocks == 0 && bytes == 0, "the allocator has everything back");
    long all = calls;
    expect(all > 10, "the allocator is asked");
    for (long n = 1; n <= all; n++) {
        struct results r = {0};
        calls = 0;
        fail_at = n;
        struct xrt_context *c = xrt_context_new_with(m, &o);
        if (!c || !run(m, c, &r))
            expect(strstr(xrt_error(), "out of memory") != NULL, "an allocator that fails is named");
        fail_at = 0;
        drop(&r);
        xrt_context_free(c);
        expect(blocks == 0 && bytes == 0, "a failed context gives everything back");
    }
}

/* ---- the caller's threads ---- */

struct share {
    void (*job)(void *arg, int i);
    void *arg;
    atomic_int next;
    int n;
};
static atomic_long jobs;

static void *work(void *arg)
{
    struct share *s = arg;
    for (int i; (i = s->next++) < s->n; jobs++)
        s->job(s->arg, i);
    return NULL;
}
static void side_by_side(void *user, int n, void (*job)(void *arg, int i), void *arg)
{
    pthread_t other;
    struct share s = {.job = job, .arg = arg, .n = n};
    bool started = !pthread_create(&other, NULL, work, &s);
    work(&s);
    if (started)
        pthread_join(other, NULL);
}
static void backwards(void *user, int n, void (*job)(void *arg, int i), void *arg)
{
    while (n > 0)
        job(arg, --n);
}

/* ---- memory ---- */

static void try_memory(struct xrt_model *m, struct xrt_context_options o, const struct results *expected,
                       const char *what)
{
    enum { GUARD = 64 };
    size_t size = xrt_context_size(m, &o);
    expect(size > 0, "the size of a context");
    char *memory = malloc(size + 1 + GUARD);
    memset(memory, 0x5a, size + 1 + GUARD);
    o.memory = memory + 1, o.memory_size = size;
    compare(m, &o, expected, what);
    for (int i = 0; i < GUARD; i++)
        expect(memory[size + 1 + (size_t)i] == 0x5a, "nothing is written behind the memory");
    for (size_t less = 0; less < size; less += 1 + size / 37) {
        struct results r = {0};
        o.memory_size = less;
        struct xrt_context *c = xrt_context_new_with(m, &o);
        if (!c || !run(m, c, &r))
            expect(strstr(xrt_error(), "out of memory") != NULL, "memory that is too little is named");
        drop(&r);
        xrt_context_free(c);
    }
    free(memory);
}

/* ---- contexts that wait ---- */

static long private_kb(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kb = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Private_Dirty: %ld", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb;
}

static int try_waiting(struct xrt_model *m)
{
    enum { COUNT = 8 };
    struct xrt_context *c[COUNT];
    struct results r = {0};
    long start = private_kb();
    for (int i = 0; i < COUNT; i++)
        expect((c[i] = xrt_context_new(m, 1)) != NULL, "a context that waits");
    long waiting = private_kb();
    for (int i = 0; i < COUNT; i++) {
        expect(c[i] && run(m, c[i], &r), "its first run");
        drop(&r);
        memset(&r, 0, sizeof r);
    }
    long ran = private_kb();
    expect(start && 2 * (waiting - start) < ran - start, "contexts that wait take little");
    for (int i = 0; i < COUNT; i++)
        xrt_context_free(c[i]);
    printf("%d contexts: %ld KB that wait, %ld KB that ran\n", COUNT, waiting - start, ran - start);
    return failures != 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[2], "--waits")) {
        struct xrt_model *waits = xrt_open(argv[1]);
        int code = waits ? try_waiting(waits) : 1;
        xrt_close(waits);
        return code;
    }
    struct xrt_model *m = argc == 2 ? xrt_open(argv[1]) : NULL;
    struct xrt_context *c = m ? xrt_context_new(m, 1) : NULL;
    struct results expected = {0};
    if (!c || !run(m, c, &expected))
        return printf("%s\n", argc == 2 ? xrt_error() : "usage: context_memory MODEL.neff"), 2;
    xrt_context_free(c);

    struct xrt_context_options one = {.size = sizeof one, .threads = 1}, two = one, wrong = one;
    try_memory(m, one, &expected, "given memory");
    two.threads = 3, two.parallel = side_by_side;
    compare(m, &two, &expected, "the caller's threads");
    try_memory(m, two, &expected, "given memory and threads");
    two.allocator = &counting;
    compare(m, &two, &expected, "an allocator and threads");
    two.parallel = NULL;
    compare(m, &two, &expected, "an allocator, threads of the context's own");
    two.allocator = NULL, two.parallel = backwards;
    compare(m, &two, &expected, "one thread in other order");
    expect(blocks == 0, "the allocator has everything back");
    calls = 0;
    try_allocator(m, &expected);

    wrong.size = 4;
    expect(!xrt_context_new_with(m, &wrong) && strstr(xrt_error(), "xrt_context_options.size"), "a wrong size");
    wrong = one, wrong.memory = &wrong, wrong.allocator = &counting;
    expect(!xrt_context_new_with(m, &wrong) && strstr(xrt_error(), "expected one of them"), "memory and an allocator");
    drop(&expected);
    xrt_close(m);
    printf("%d failures, %ld jobs of the caller's threads\n", failures, (long)jobs);
    return failures != 0;
}
