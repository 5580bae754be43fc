/*
 * Kernels written in C with the builder alone: no graph, no lowering, no options of the compiler.
 */
#include "backend/schedule/check_sync.h"
#include "backend/schedule/schedule.h"
#include "backend/tile/builder.h"
#include "neff/archive/archive.h"
#include "runtime/xrt.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- two kernels ---- */

/* A whole tile, cut to what is left of limit0 and limit1 behind tile number var0 and var1. */
static struct ap cut(struct kernel_builder *k, int tile, int var0, dim_t limit0, int var1,
                     dim_t limit1)
{
    struct ap a = ap_tile(k, tile);
    ap_clip(k->p, &a, 0, var0, a.dim[0].count, limit0);
    ap_clip(k->p, &a, 1, var1, a.dim[1].count, limit1);
    return a;
}

static struct ap swapped(struct ap a)
{
    struct ap_dim d = a.dim[0];
    a.dim[0] = a.dim[1], a.dim[1] = d;
    return a;
}

/* A column of one element per row, read for each of the row's elements. */
static struct ap along(struct ap column, const struct ap *rows)
{
    column.dim[0] = rows->dim[0], column.dim[0].step = 1;
    column.dim[1] = rows->dim[1], column.dim[1].step = 0;
    return column;
}

/* y[n,m] = relu(x[n,k] * w[k,m] + b[m]), columns over partitions. */
static bool matmul_relu(struct program *p, const struct machine *machine, int x, int w, int b,
                        int y, struct diag *d)
{
    enum { ROWS = 512, COLUMNS = 128, DEPTH = 128 };
    dim_t n = p->slots[x].type.dims[0], depth = p->slots[w].type.dims[0],
          columns = p->slots[w].type.dims[1];
    struct kernel_builder k = kernel_begin(p, machine, "matmul_relu", -1, d);
    int i = kernel_grid(&k, dim_ceildiv(&p->dims, n, ROWS)),
        j = kernel_grid(&k, dim_ceildiv(&p->dims, columns, COLUMNS));
    int tx = kernel_tile(&k, MEM_SBUF, DT_F32, DEPTH, ROWS),
        tw = kernel_tile(&k, MEM_SBUF, DT_F32, DEPTH, COLUMNS);
    int tb = kernel_tile(&k, MEM_SBUF, DT_F32, COLUMNS, 1),
        ty = kernel_tile(&k, MEM_SBUF, DT_F32, COLUMNS, ROWS);
    struct ap sums = cut(&k, kernel_tile(&k, MEM_PSUM, DT_F32, COLUMNS, ROWS), j, columns, i, n);
    int l = kernel_loop(&k, dim_ceildiv(&p->dims, depth, DEPTH));
    struct ap from_x = ap_slot(p, x), from_w = ap_slot(p, w), from_b = ap_slot(p, b),
              to = ap_slot(p, y);
    ap_push_tile(p, &from_x, depth, ROWS, i, n), ap_push_tile(p, &from_x, 1, DEPTH, l, depth);
    ap_push_tile(p, &from_w, columns, DEPTH, l, depth), ap_push_tile(p, &from_w, 1, COLUMNS, j, columns);
    struct ap xs = cut(&k, tx, l, depth, i, n), ws = cut(&k, tw, l, depth, j, columns);
    emit_dma_transpose(&k, (struct dma_transpose){.dst = xs, .src = from_x});
    emit_dma_copy(&k, (struct dma_copy){.dst = ws, .src = from_w});
    emit_nc_matmul(&k, (struct nc_matmul){.dst = swapped(sums),
                                          .stationary = ws,
                                          .moving = swapped(xs),
                                          .accumulate = affine_variable(p, 0, l, 1)});
    kernel_end_loop(&k);
    ap_push_tile(p, &from_b, 1, COLUMNS, j, columns), ap_push(&from_b, 1, 1);
    struct ap bias = cut(&k, tb, j, columns, -1, 1), ys = cut(&k, ty, j, columns, i, n);
    emit_dma_copy(&k, (struct dma_copy){.dst = bias, .src = from_b});
    emit_activation(
        &k, (struct activation){
                .dst = ys, .src = sums, .bias = along(bias, &ys), .factor = 1, .f = OP_relu});
    ap_push_tile(p, &to, columns, ROWS, i, n), ap_push_tile(p, &to, 1, COLUMNS, j, columns);
    emit_dma_transpose(&k, (struct dma_transpose){.dst = to, .src = ys});
    kernel_launch(&k, 0);
    return kernel_end(&k);
}

/* y = softmax(x) along rows. */
static bool softmax_rows(struct program *p, const struct machine *machine, int x, int y,
                         struct diag *d)
{
    dim_t n = p->slots[x].type.dims[0], columns = p->slots[x].type.dims[1];
    struct kernel_builder k = kernel_begin(p, machine, "softmax_rows", -1, d);
    int i = kernel_grid(&k, dim_ceildiv(&p->dims, n, 128));
    struct ap rows = cut(&k, kernel_tile(&k, MEM_SBUF, DT_F32, 128, columns), i, n, -1, columns);
    struct ap top = cut(&k, kernel_tile(&k, MEM_SBUF, DT_F32, 128, 1), i, n, -1, 1);
    struct ap sum = cut(&k, kernel_tile(&k, MEM_SBUF, DT_F32, 128, 1), i, n, -1, 1);
    struct ap from = ap_slot(p, x), to = ap_slot(p, y);
    ap_push_tile(p, &from, columns, 128, i, n), ap_push(&from, 1, columns);
    ap_push_tile(p, &to, columns, 128, i, n), ap_push(&to, 1, columns);
    emit_dma_copy(&k, (struct dma_copy){.dst = rows, .src = from});
    emit_tensor_reduce(
        &k, (struct tensor_reduce){.dst = top, .src = rows, .axes = 1, .scale = -1, .op = OP_max});
    emit_activation(&k, (struct activation){.dst = rows,
                                            .src = rows,
                                            .bias = along(top, &rows),
                                            .sum = sum,
                                            .factor = 1,
                                            .f = OP_exp});
    emit_activation(&k,
                    (struct activation){.dst = sum, .src = sum, .factor = 1, .f = OP_reciprocal});
    emit_tensor_tensor(
        &k, (struct tensor_tensor){.dst = rows, .a = rows, .b = along(sum, &rows), .op = OP_mul});
    emit_dma_copy(&k, (struct dma_copy){.dst = to, .src = rows});
    kernel_launch(&k, 0);
    return kernel_end(&k);
}

/* ---- they run ---- */

enum { N = 600, K = 200, M = 150 };

static int tensor(struct program *p, int kind, const char *name, int rank, dim_t a, dim_t b)
{
    struct slot s = {.name = name,
                     .type = type_tensor(DT_F32, rank, (dim_t[]){a, b}),
                     .kind = (uint8_t)kind,
                     .base = -1};
    return program_add_slot(p, s);
}

/* y = softmax(relu(x * w + b)) */
static struct program *make(const char *target, struct diag *d)
{
    const struct machine *m = machine_find(target);
    struct program *p = program_new();
    p->name = "two kernels", p->target = m->name;
    int x = tensor(p, SLOT_INPUT, "x", 2, N, K), w = tensor(p, SLOT_INPUT, "w", 2, K, M),
        b = tensor(p, SLOT_INPUT, "b", 1, M, 0);
    int hidden = tensor(p, SLOT_PLANNED, "hidden", 2, N, M),
        y = tensor(p, SLOT_PLANNED, "y", 2, N, M);
    program_add_region(p);
    program_set_io(p, 3, (int[]){x, w, b}, 1, (int[]){y});
    if (!matmul_relu(p, m, x, w, b, hidden, d) || !softmax_rows(p, m, hidden, y, d) ||
        !schedule_program(p, m, d) || !program_check(p, d) || !check_program_sync(p, 1, d))
        fail_msg("%s", d->text);
    return p;
}

static void reference(const float *x, const float *w, const float *b, double *y)
{
    for (int i = 0; i < N; i++) {
        double sum = 0, top = 0;
        for (int j = 0; j < M; j++) {
            double s = b[j];
            for (int l = 0; l < K; l++)
                s += (double)x[i * K + l] * w[l * M + j];
            y[i * M + j] = s > 0 ? s : 0;
            top = s > top ? s : top;
        }
        for (int j = 0; j < M; j++)
            sum += y[i * M + j] = exp(y[i * M + j] - top);
        for (int j = 0; j < M; j++)
            y[i * M + j] /= sum;
    }
}

static void fill(float *x, int n, unsigned seed)
{
    for (int i = 0; i < n; i++)
        x[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5f;
}

static void runs_on(const char *target)
{
    static float x[N * K], w[K * M], b[M];
    static double want[N * M];
    fill(x, N * K, 1), fill(w, K * M, 2), fill(b, M, 3);
    reference(x, w, b, want);
    struct diag d = {0};
    struct program *p = make(target, &d);
    void *data;
    size_t size;
    if (!neff_write_memory(p, &data, &size, &d))
        fail_msg("%s", d.text);
    program_free(p);
    struct xrt_model *model = xrt_open_memory(data, size);
    struct xrt_context *c = model ? xrt_context_new(model, 2) : NULL;
    struct xrt_tensor in[] = {{.dtype = "f32", .rank = 2, .dims = {N, K}, .data = x},
                              {.dtype = "f32", .rank = 2, .dims = {K, M}, .data = w},
                              {.dtype = "f32", .rank = 1, .dims = {M}, .data = b}},
                      y;
    if (!c || !xrt_set_input(c, 0, &in[0]) || !xrt_set_input(c, 1, &in[1]) ||
        !xrt_set_input(c, 2, &in[2]) || !xrt_run(c) || !xrt_output(c, 0, &y))
        fail_msg("%s: %s", target, xrt_error());
    for (int i = 0; i < N * M; i++)
        if (!(fabs(((const float *)y.data)[i] - want[i]) <= 1e-5 * want[i]))
            fail_msg("%s: element %d is %g, expected %g", target, i, ((const float *)y.data)[i],
                     want[i]);
    xrt_context_free(c);
    xrt_close(model);
    free(data);
}

static void test_two_kernels(void **state)
{
    (void)state;
    runs_on("cpu");
    runs_on("trn1");
    runs_on("trn2");
}

/* ---- mistakes are named ---- */

static struct program *program;
static int input;
static struct diag trouble;

static struct kernel_builder start(const char *target)
{
    program_free(program);
    program = program_new();
    input = tensor(program, SLOT_INPUT, "x", 2, 128, 512);
    program_add_node(program, "attention", "");
    diag_clear(&trouble);
    return kernel_begin(program, machine_find(target), "k", 0, &trouble);
}

static void says(struct kernel_builder *k, const char *want)
{
    if (kernel_end(k))
        fail_msg("no mistake, expected '%s'", want);
    if (!strstr(trouble.text, want))
        fail_msg("'%s' does not say '%s'", trouble.text, want);
    assert_non_null(strstr(trouble.text, "kernel 'k': node 'attention': "));
}

static struct ap tile(struct kernel_builder *k, int mem, dim_t partitions, dim_t elements)
{
    return ap_tile(k, kernel_tile(k, mem, DT_F32, partitions, elements));
}

static void test_capacity(void **state)
{
    (void)state;
    struct kernel_builder k = start("trn1");
    tile(&k, MEM_SBUF, 129, 4);
    says(&k, "tile 0 in sbuf: 129 partitions, trn1 has 128");
    k = start("trn1");
    tile(&k, MEM_PSUM, 128, 4);
    tile(&k, MEM_PSUM, 128, 4097);
    says(&k, "tile 1 in psum: 16388 bytes in each partition (4097 elements of 4), trn1 has room for 16384 bytes (4096 "
             "elements)");
    k = start("trn1");
    struct ap w = tile(&k, MEM_SBUF, 128, 128), x = tile(&k, MEM_SBUF, 128, 64),
              y = tile(&k, MEM_PSUM, 64, 513);
    y.dim[1].count = 128;
    y.offset.base = 385; /* up to the last of 513 elements: over the bank's 512 */
    emit_nc_matmul(&k, (struct nc_matmul){.dst = y, .stationary = w, .moving = swapped(x)});
    says(&k, "nc_matmul: operand 'dst' goes over banks of psum");
    k = start(
        "trn1"); /* each fits, together they do not: the scheduler knows which live together */
    struct ap a = tile(&k, MEM_SBUF, 128, 30000), b = tile(&k, MEM_SBUF, 128, 30000);
    emit_memset(&k, (struct memset){.dst = a});
    emit_memset(&k, (struct memset){.dst = b});
    emit_tensor_tensor(&k, (struct tensor_tensor){.dst = a, .a = a, .b = b});
    assert_true(kernel_end(&k));
    assert_false(schedule_program(program, machine_find("trn1"), &trouble));
    assert_non_null(
        strstr(trouble.text, "no room in sbuf: 2 tiles live together need "));
}

static void test_partitions(void **state)
{
    (void)state;
    struct kernel_builder k = start("trn1");
    struct ap a = tile(&k, MEM_SBUF, 128, 8);
    a.dim[0] = (struct ap_dim){.step = 16, .count = 64};
    emit_memset(&k, (struct memset){.dst = a});
    says(&k, "memset: operand 'dst' skips partitions");
    k = start("trn1");
    a = tile(&k, MEM_SBUF, 128, 8);
    a.dim[0] = (struct ap_dim){.step = 8, .count = 64};
    a.dim[1] = (struct ap_dim){.step = 8, .count = 2};
    emit_memset(&k, (struct memset){.dst = a});
    says(&k, "memset: operand 'dst' runs over partitions in two dimensions");
    k = start("trn1");
    struct ap w = tile(&k, MEM_SBUF, 128, 129), x = tile(&k, MEM_SBUF, 128, 64),
              y = tile(&k, MEM_PSUM, 64, 129);
    emit_nc_matmul(&k, (struct nc_matmul){.dst = y, .stationary = w, .moving = swapped(x)});
    says(&k, "nc_matmul: operand 'stationary' has more columns than the array: 129, trn1 has 128");
    k = start("cpu"); /* has no partitions to speak of */
    a = tile(&k, MEM_SBUF, 128, 8);
    a.dim[0] = (struct ap_dim){.step = 16, .count = 64};
    emit_memset(&k, (struct memset){.dst = a});
    assert_true(kernel_end(&k));
}

/* An access of `count` partitions from `first` on. */
static struct ap rows_from(struct kernel_builder *k, dim_t first, dim_t count)
{
    struct ap a = tile(k, MEM_SBUF, 128, 8);
    a.offset.base = first * 8, a.dim[0].count = count;
    return a;
}

static void test_starts(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        int first, count;
        const char *text; /* NULL: allowed */
    } cases[] = {
        {"trn1", 10, 10, "memset: operand 'dst' starts at partition 10: on trn1, what an instruction uses of 10 "
                         "partitions starts at 0, 32, 64 or 96; move it there by dma_copy"},
        {"trn1", 32, 33, "of 33 partitions starts at 0 or 64"},
        {"trn2", 64, 64, NULL},
        {"trn1", 96, 32, NULL},
        {"cpu", 10, 10, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kernel_builder k = start(cases[i].target);
        emit_memset(&k, (struct memset){.dst = rows_from(&k, cases[i].first, cases[i].count)});
        if (cases[i].text)
            says(&k, cases[i].text);
        else
            assert_true(kernel_end(&k));
    }
    struct kernel_builder k = start("trn1"); /* a variable moves it */
    struct ap a = rows_from(&k, 0, 16);
    ap_move(program, &a, kernel_loop(&k, 8), 16 * 8);
    emit_memset(&k, (struct memset){.dst = a});
    kernel_end_loop(&k);
    says(&k, "starts at partition 16");
    k = start("trn1"); /* DMA reaches every partition */
    struct ap from = ap_slot(program, input);
    ap_push(&from, 512, 10), ap_push(&from, 1, 8);
    emit_dma_copy(&k, (struct dma_copy){.dst = rows_from(&k, 10, 10), .src = from});
    assert_true(kernel_end(&k));
}

static void test_rows(void **state)
{
    (void)state;
    struct kernel_builder k = start("trn1");
    struct ap eight = tile(&k, MEM_SBUF, 128, 8);
    emit_max8(&k, (struct max8){.dst = eight, .src = tile(&k, MEM_SBUF, 128, 16384)});
    emit_max8(&k, (struct max8){.dst = eight, .src = tile(&k, MEM_SBUF, 128, 16385)});
    says(&k, "max8: operand 'src' has 16385 elements in a row, trn1 takes 8 to 16384: pad");
    k = start("cpu");
    eight = tile(&k, MEM_SBUF, 128, 8);
    emit_nc_find_index8(&k, (struct nc_find_index8){.dst = eight, .src = eight, .values = eight});
    says(&k, "nc_find_index8: operand 'dst' is f32, places in a row are u32 or u16");
}

static void test_shapes(void **state)
{
    (void)state;
    struct kernel_builder k = start("cpu");
    struct ap a = tile(&k, MEM_SBUF, 128, 512), b = tile(&k, MEM_SBUF, 128, 500),
              row = tile(&k, MEM_SBUF, 1, 512);
    emit_tensor_tensor(
        &k, (struct tensor_tensor){.dst = a, .a = a, .b = row, .op = OP_add}); /* repeats */
    emit_tensor_tensor(&k, (struct tensor_tensor){.dst = a, .a = a, .b = b, .op = OP_add});
    emit_tensor_tensor(
        &k, (struct tensor_tensor){.dst = a, .a = b, .b = b, .op = OP_add}); /* not the first */
    says(&k,
         "tensor_tensor: operand 'b' has 500 elements where 'dst' has 512 (dim 0 from the right)");
    k = start("cpu");
    a = tile(&k, MEM_SBUF, 128, 512), row = tile(&k, MEM_SBUF, 1, 512);
    emit_tensor_copy(&k, (struct tensor_copy){.dst = row, .src = a});
    says(&k,
         "tensor_copy: operand 'dst' has one element for the 128 of 'src' (dim 1 from the right)");
    k = start("cpu");
    a = tile(&k, MEM_SBUF, 128, 512), b = tile(&k, MEM_SBUF, 64, 1);
    emit_tensor_reduce(
        &k, (struct tensor_reduce){.dst = b, .src = a, .axes = 1, .scale = 1, .op = OP_max});
    says(&k,
         "tensor_reduce: operand 'src' has 128 elements where 'dst' has 64 (dim 1 from the right)");
    k = start("cpu");
    struct ap w = tile(&k, MEM_SBUF, 100, 64), x = tile(&k, MEM_SBUF, 32, 128),
              y = tile(&k, MEM_PSUM, 32, 64);
    emit_nc_matmul(&k, (struct nc_matmul){.dst = y, .stationary = w, .moving = x});
    says(&k, "nc_matmul: operand 'stationary' has 100 rows (k), 'moving' has 128");
    k = start("cpu");
    a = tile(&k, MEM_SBUF, 128, 512), b = tile(&k, MEM_SBUF, 128, 512);
    emit_dma_transpose(&k, (struct dma_transpose){.dst = a, .src = b});
    says(
        &k,
        "dma_transpose: operand 'src' has 512 elements where 'dst' has 128 (dim 0 from the right)");
    k = start("cpu");
    a = tile(&k, MEM_SBUF, 128, 512);
    struct ap from = ap_slot(program, input);
    int i = kernel_loop(&k, 2);
    ap_move(program, &from, i, 64 * 512), ap_push(&from, 512, 128), ap_push(&from, 1, 512);
    emit_dma_copy(&k, (struct dma_copy){.dst = a, .src = from});
    kernel_end_loop(&k);
    says(
        &k,
        "dma_copy: operand 'src' covers elements 0 to 98303 of 'x', f32[128,512], which has 65536");
}

static void test_machine(void **state)
{
    (void)state;
    struct kernel_builder k = start("trn1");
    struct ap a = tile(&k, MEM_SBUF, 128, 512), x = ap_slot(program, input);
    ap_push(&x, 512, 128), ap_push(&x, 1, 512);
    emit_activation(&k, (struct activation){.dst = a, .src = x, .factor = 1});
    says(&k, "activation: operand 'src' is in hbm, which engines of trn1 do not reach: move it by "
             "dma_copy");
    k = start("trn1");
    a = tile(&k, MEM_SBUF, 128, 512);
    emit_softmax(&k, (struct softmax){.dst = a, .src = a, .factor = 1});
    says(&k, "softmax: trn1 does not have this instruction");
    k = start("trn1");
    a = tile(&k, MEM_PSUM, 128, 512);
    emit_dma_copy(&k, (struct dma_copy){.dst = x, .src = a});
    says(&k, "dma_copy: operand 'src' is in psum, which DMA does not reach: copy it to sbuf by "
             "tensor_copy");
    k = start("cpu");
    emit_tensor_copy(&k, (struct tensor_copy){.dst = tile(&k, MEM_SBUF, 4, 4)});
    says(&k, "tensor_copy: operand 'src' is missing");
    k = start("cpu");
    kernel_loop(&k, 2);
    says(&k, "loops that are not closed: 1");
    program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_kernels), cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_partitions),  cmocka_unit_test(test_starts),
        cmocka_unit_test(test_rows),        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
