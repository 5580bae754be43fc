/* A kernel that doubles f32[128,512], built with libxcc and run with libxrt. */
#include <math.h>
#include <stdio.h>
#include <xcc.h>
#include <xrt.h>

enum { P = 128, N = 512 };
#define ALL .rank = 2, .dim = {{N, P}, {1, N}}

static bool build(struct xcc_bytes *archive)
{
    const int64_t dims[] = {P, N};
    struct xcc_kernel *k = xcc_kernel_new("twice", "cpu");
    int x = xcc_input(k, "x", "f32", 2, dims), y = xcc_output(k, "y", "f32", 2, dims),
        t = xcc_tile(k, "sbuf", "t", "f32", P, N, -1);
    struct xcc_operand in[] = {{.name = "dst", .object = t, ALL},
                               {.name = "src", .object = x, ALL}},
                       out[] = {{.name = "dst", .object = y, ALL},
                                {.name = "src", .object = t, ALL}},
                       sum[] = {{.name = "dst", .object = t, ALL},
                                {.name = "a", .object = t, ALL},
                                {.name = "b", .object = t, ALL}};
    struct xcc_function add = {"op", "add"};
    struct xcc_instruction load = {.name = "dma_copy", .noperands = 2, .operands = in},
                           store = {.name = "dma_copy", .noperands = 2, .operands = out},
                           twice = {.name = "tensor_tensor",
                                    .noperands = 3,
                                    .operands = sum,
                                    .nfunctions = 1,
                                    .functions = &add};
    bool ok = xcc_emit(k, &load) && xcc_emit(k, &twice) && xcc_emit(k, &store) &&
              xcc_kernel_finish(k, archive);
    xcc_kernel_free(k);
    return ok;
}

int main(void)
{
    static float data[P * N];
    struct xcc_bytes archive;
    if (!build(&archive))
        return fprintf(stderr, "%s\n", xcc_error()), 1;
    for (int i = 0; i < P * N; i++)
        data[i] = (float)i;
    struct xrt_model *m = xrt_open_memory(archive.data, archive.size);
    struct xrt_context *c = m ? xrt_context_new(m, 0) : NULL;
    struct xrt_tensor x = {.dtype = "f32", .rank = 2, .dims = {P, N}, .data = data}, y;
    if (!c || !xrt_set_input(c, 0, &x) || !xrt_run(c) || !xrt_output(c, 0, &y))
        return fprintf(stderr, "%s\n", xrt_error()), 1;
    float worst = 0;
    for (int i = 0; i < P * N; i++)
        worst = fmaxf(worst, fabsf(((const float *)y.data)[i] - 2 * data[i]));
    printf("max |y - 2 x| = %g\n", (double)worst);
    xrt_context_free(c);
    xrt_close(m);
    xcc_bytes_free(&archive);
    return 0;
}
