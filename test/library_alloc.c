/*
 * library_alloc MODEL.onnx: each allocation of a call of libxcc and libxrt fails, in one process. The
 * call returns a failure that says so, or does without; the process goes on.
 */
#include "frontend/xcc.h"
#include "runtime/xrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fail_allocation(long n);

static int failures;

static void check(bool ok, const char *text, const char *what, long n)
{
    if (ok || strstr(text, "out of memory") || strstr(text, "annot "))
        return;
    printf("FAIL %s, allocation %ld: '%s'\n", what, n, text);
    failures++;
}

/* Whether all went well. */
static bool run(const struct xcc_bytes *archive, long n)
{
    float pixels[28 * 28] = {0};
    struct xrt_tensor x = {.dtype = "f32", .rank = 4, .dims = {1, 1, 28, 28}, .data = pixels}, y;
    struct xrt_model *m = xrt_open_memory(archive->data, archive->size);
    struct xrt_context *c = m ? xrt_context_new(m, 2) : NULL;
    bool ok = c && xrt_set_input(c, 0, &x) && xrt_run(c) && xrt_output(c, 0, &y);
    fail_allocation(0);
    check(ok, xrt_error(), "xrt", n);
    if (c && !ok && xrt_run(c)) /* once more: it works, or says why not */
        xrt_output(c, 0, &y);
    xrt_context_free(c);
    xrt_close(m);
    return ok;
}

int main(int argc, char **argv)
{
    enum { LIMIT = 20000, IN_A_ROW = 100 };
    static const char *const options[] = {"--auto-cast none", NULL};
    struct xcc_bytes archive = {0};
    if (argc != 2)
        return 2;
    for (int o = 0; o < 2; o++) {
        int good = 0;
        long n = 1;
        for (; n < LIMIT && good < IN_A_ROW; n++) {
            xcc_bytes_free(&archive);
            fail_allocation(n);
            bool ok = xcc_compile(argv[1], options[o], &archive, NULL, NULL);
            fail_allocation(0);
            check(ok, xcc_error(), "xcc_compile", n);
            good = ok ? good + 1 : 0;
        }
        printf("xcc_compile: %ld allocations\n", n);
    }
    int good = 0;
    long n = 1;
    for (; n < LIMIT && good < IN_A_ROW; n++) {
        fail_allocation(n);
        good = run(&archive, n) ? good + 1 : 0;
    }
    printf("xrt: %ld allocations\n", n);
    xcc_bytes_free(&archive);
    return failures > 0;
}
