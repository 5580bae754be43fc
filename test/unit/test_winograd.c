/*
 * 3x3 convolutions by Winograd's method against the plain routine, which sums in double: which
 * convolutions are taken, what the error is, and that the bits do not depend on threads.
 */
#include "backend/backend.h"
#include "passes/pass.h"
#include "runtime/exec/exec.h"
#include "runtime/kernels/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Of the largest result, where images and filters are uniform in -1..1. frontend/README.md states it. */
#define ERROR_BOUND 5e-6

struct winograd_case {
    int batch, channels, out_channels, high, wide, top, left, bottom, right;
    const char *after; /* nodes after the convolution %1, ending in %9 */
    int size;          /* of tiles; 0: a direct sum */
};

static const char *const relu = "  %9: f32[*] = relu(%1)\n";
static const char *const bias_silu = "  %2: f32[*] = add(%1, %c1)\n  %9: f32[*] = silu(%2)\n";
static const char *const residual =
    "  %2: f32[*] = add(%1, %c1)\n  %3: f32[*] = add(%2, %c2)\n  %9: f32[*] = relu(%3)\n";

static const struct winograd_case cases[] = {
    {1, 16, 16, 40, 36, 1, 1, 1, 1, NULL, 4},   /* all blocks of out_channels in an instance */
    {2, 21, 70, 33, 47, 1, 1, 1, 1, NULL, 4},   /* odd everything */
    {1, 12, 20, 61, 400, 0, 0, 0, 0, NULL, 4},  /* blocks of columns */
    {2, 24, 24, 30, 30, 2, 0, 1, 3, NULL, 4},   /* uneven borders */
    {1, 128, 128, 28, 28, 1, 1, 1, 1, NULL, 4}, /* planes shared by blocks of out_channels */
    {2, 256, 192, 14, 14, 1, 1, 1, 1, NULL, 4}, /* small images */
    {2, 48, 80, 20, 22, 1, 1, 1, 1, "relu", 4}, /* epilogues */
    {1, 48, 80, 20, 22, 1, 1, 1, 1, "bias_silu", 4},
    {1, 130, 150, 22, 26, 1, 1, 1, 1, "residual", 4},
    {1, 4, 16, 40, 40, 1, 1, 1, 1, NULL, 0},  /* few channels */
    {1, 256, 256, 3, 3, 1, 1, 1, 1, NULL, 0}, /* few pixels */
};
enum { CASES = sizeof cases / sizeof *cases };

struct winograd_text {
    char *at;
    size_t n, size;
};

static void put(struct winograd_text *t, const char *fmt, ...)
{
    va_list ap;
    if (t->n + 4096 > t->size)
        t->at = realloc(t->at, t->size = 2 * t->size + 8192);
    va_start(ap, fmt);
    t->n += (size_t)vsnprintf(t->at + t->n, t->size - t->n, fmt, ap);
    va_end(ap);
}

static uint32_t seed;
static double uniform(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / (1 << 23) - 1;
}

static void put_constant(struct winograd_text *t, const char *name, const char *type, int count)
{
    put(t, "  %%%s = const %s {", name, type);
    for (int i = 0; i < count; i++)
        put(t, "%s%.9g", i ? ", " : "", (double)(float)uniform());
    put(t, "}\n");
}

/* ---- the transforms, against double ---- */

static float *row_of(size_t n)
{
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)uniform();
    return x;
}

/* G of both sizes, from the points. */
static void filter_matrix(int size, double g[6][3])
{
    static const double points[2][5] = {{0, 1, -1}, {0, M_SQRT1_2, -M_SQRT1_2, M_SQRT2, -M_SQRT2}};
    const double *at = points[size == 4];
    int n = size + 1;
    for (int i = 0; i < n; i++) {
        double product = 1;
        for (int k = 0; k < n; k++)
            product *= k == i ? 1 : at[i] - at[k];
        if (size == 2 && i == 0)
            product = 1; /* its sign is B's */
        for (int k = 0; k < 3; k++)
            g[i][k] = pow(at[i], k) / product;
    }
    for (int k = 0; k < 3; k++)
        g[n][k] = k == 2;
}

/* One filter w, the same for every channel: planes times plane of the filter. */
static void winograd_filter(float *planes, int channels, int size, const float *w)
{
    double g[6][3];
    int side = size + 2;
    filter_matrix(size, g);
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            double u = 0;
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++)
                    u += g[i][a] * w[a * 3 + b] * g[j][b];
            for (int c = 0; c < channels; c++)
                planes[(i * side + j) * channels + c] *= (float)u;
        }
}

/* Planes in bf16 are those in f32, rounded, and nothing is written behind them. */
static void check_rounded(const struct kernel_table *k, int channels, int size)
{
    int side = size + 2, count = side * side * channels;
    float *x = row_of((size_t)count), *t = row_of((size_t)count);
    uint16_t *rounded = malloc(((size_t)count + 1) * sizeof *rounded);
    const float *pixels[36];
    for (int i = 0; i < side * side; i++)
        pixels[i] = x + i * channels;
    rounded[count] = 0x1234;
    k->winograd_input(t, channels, false, pixels, (size_t)channels, size);
    k->winograd_input(rounded, channels, true, pixels, (size_t)channels, size);
    for (int i = 0; i < count; i++)
        assert_int_equal(rounded[i], f32_to_bf16(t[i]));
    assert_int_equal(rounded[count], 0x1234);
    free(x), free(t), free(rounded);
}

static void check_transforms(const struct kernel_table *k, int channels, int size, int rows,
                             int cols)
{
    int side = size + 2;
    float *x = row_of((size_t)(side * side * channels)),
          *t = row_of((size_t)(side * side * channels)), w[9];
    float *y = row_of((size_t)(size * size * channels)), *bias = row_of((size_t)channels);
    float *before = row_of((size_t)(size * size * channels));
    memcpy(y, before, (size_t)(size * size * channels) * sizeof *y);
    const float *pixels[36];
    for (int i = 0; i < 9; i++)
        w[i] = (float)uniform();
    for (int i = 0; i < side * side; i++)
        pixels[i] = x + i * channels;
    k->winograd_input(t, channels, false, pixels, (size_t)channels, size);
    winograd_filter(t, channels, size, w);
    struct channel_epilogue e = {bias, ACTIVATION_relu, {0}};
    k->winograd_output(y, size * channels, channels, t, channels, (size_t)channels, size, rows,
                       cols, &e);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++)
            for (int c = 0; c < channels; c++) {
                float got = y[(i * size + j) * channels + c];
                if (i >= rows || j >= cols) {
                    assert_true(got == before[(i * size + j) * channels + c]);
                    continue;
                }
                double sum = 0;
                for (int a = 0; a < 3; a++)
                    for (int b = 0; b < 3; b++)
                        sum += (double)x[((i + a) * side + j + b) * channels + c] * w[a * 3 + b];
                assert_true(fabs(got - fmax(sum + bias[c], 0)) <= 1e-5);
            }
    free(x), free(t), free(y), free(bias), free(before);
}

static void transforms(void **state)
{
    static const char *const names[] = {
#define KERNEL_VARIANT(name, ...) #name,
#include "runtime/kernels/kernels.def"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct kernel_table *k = kernels_find(names[i]);
        if (!k) {
            print_message("[ SKIPPED  ] %s: not built, or this CPU cannot run it\n", names[i]);
            continue;
        }
        for (int channels = 1; channels < 40; channels += 3)
            for (int size = 2; size <= 4; size += 2) {
                check_rounded(k, channels, size);
                check_transforms(k, channels, size, size, size);
                check_transforms(k, channels, size, 1 + channels % size, 1 + channels / 3 % size);
            }
    }
}

/* ---- whole convolutions ---- */

/* A symbol stands for the height where `symbolic`. */
static struct winograd_text graph_text(const struct winograd_case *c, bool symbolic)
{
    struct winograd_text t = {0};
    char type[64], high[16];
    snprintf(high, sizeof high, symbolic ? "h" : "%d", c->high);
    seed = 7;
    put(&t, "graph \"conv\" symbols(n, h) (%%0 \"x\": f32[n,%d,%s,%d]) {\n", c->channels, high,
        c->wide);
    snprintf(type, sizeof type, "f32[%d,%d,3,3]", c->out_channels, c->channels);
    put_constant(&t, "c0", type, 9 * c->out_channels * c->channels);
    snprintf(type, sizeof type, "f32[%d,1,1]", c->out_channels);
    put_constant(&t, "c1", type, c->out_channels);
    snprintf(type, sizeof type, "f32[%d,1,%d]", c->out_channels, c->wide);
    put_constant(&t, "c2", type, c->out_channels * c->wide);
    put(&t,
        "  %%1: f32[*] = conv(%%0, %%c0) {kernel_shape=[3,3], strides=[1,1], pads=[%d,%d,%d,%d], "
        "dilations=[1,1], group=1}\n",
        c->top, c->left, c->bottom, c->right);
    const char *after = !c->after                       ? ""
                        : !strcmp(c->after, "relu")     ? relu
                        : !strcmp(c->after, "residual") ? residual
                                                        : bias_silu;
    put(&t, "%s  return(%%%d)\n} outputs(\"y\")\n", after, c->after ? 9 : 1);
    return t;
}

struct winograd_compiled {
    struct graph *g;
    struct model *m;
    int size;  /* of the tiles of its Winograd instructions; 0: there are none */
    bool bf16; /* their planes */
};

static int tile_size(const struct program *p, bool *bf16)
{
    int inputs = 0, outputs = 0, size = 0;
    *bf16 = false;
    for (int k = 0; k < p->nkernels; k++)
        for (int i = 0; i < p->kernels[k].ninsns; i++) {
            const struct insn *n = &p->kernels[k].insns[i];
            inputs += n->op == INSN_winograd_input, outputs += n->op == INSN_winograd_output;
            if (n->op == INSN_winograd_input)
                *bf16 |= n->ap[0].dtype == DT_BF16;
            if (n->op == INSN_winograd_output)
                size = (int)n->imm[0].base;
        }
    assert_int_equal(inputs, outputs);
    return size;
}

static struct winograd_compiled compile(const struct winograd_text *t, const struct options *o, const char *machine)
{
    struct diag d = {0};
    struct winograd_compiled c = {.g = graph_parse(t->at, t->n, "conv", &d)};
    struct options now = *o;
    const struct machine *m = machine_find(machine);
    now.strict_target = m->strict;
    if (diag_failed(&d) || !passes_run(c.g, &now, &d))
        fail_msg("%s", d.text);
    struct program *p = backend_compile(c.g, &now, m, &d);
    if (!p)
        fail_msg("%s", d.text);
    c.size = tile_size(p, &c.bf16);
    c.m = model_new(p, &d);
    if (!c.m)
        fail_msg("%s", d.text);
    return c;
}

static void discard(struct winograd_compiled *c)
{
    model_free(c->m);
    graph_free(c->g);
}

/* The output's floats where bf16 is multiplied at that rate, count in *n; the caller frees them. */
static float *run_at(struct winograd_compiled *c, int bf16_rate, int threads, const struct winograd_case *k, int64_t *n)
{
    struct diag d = {0};
    model_set_bf16_rate(c->m, bf16_rate);
    struct context *x = context_new(c->m, threads, &d);
    int64_t dims[4] = {k->batch, k->channels, k->high, k->wide};
    struct tensor in = {.kind = VK_NONE};
    assert_non_null(x);
    assert_true(tensor_alloc(&in, DT_F32, 4, dims, &d));
    seed = 99;
    for (int64_t i = 0; i < tensor_count(&in); i++)
        ((float *)in.data)[i] = (float)uniform();
    if (!context_set_input(x, 0, &in, &d) || !context_run(x, &d))
        fail_msg("%s", d.text);
    const struct tensor *y = context_output(x, 0);
    *n = tensor_count(y);
    float *copy = malloc((size_t)*n * sizeof *copy);
    memcpy(copy, y->data, (size_t)*n * sizeof *copy);
    tensor_free(&in);
    context_free(x);
    return copy;
}

/* The same where its rate is that of FP32. */
static float *run(struct winograd_compiled *c, int threads, const struct winograd_case *k, int64_t *n)
{
    return run_at(c, BF16_RATE, threads, k, n);
}

/* The largest error over the largest result. */
static double error_of(const float *got, const float *want, int64_t n)
{
    double error = 0, max = 0;
    for (int64_t i = 0; i < n; i++) {
        error = fmax(error, fabs((double)got[i] - want[i]));
        max = fmax(max, fabs(want[i]));
    }
    return error / max;
}

static void check_case(const struct winograd_case *k, bool symbolic)
{
    struct winograd_text t = graph_text(k, symbolic);
    struct options plain = {.opt_level = 0}, fast = {.opt_level = 2, .verify_passes = true};
    struct winograd_compiled a = compile(&t, &plain, "cpu"), b = compile(&t, &fast, "cpu");
    int64_t na, nb, nc;
    float *want = run(&a, 1, k, &na), *got = run(&b, 1, k, &nb), *again = run(&b, 3, k, &nc);
    if (!symbolic && b.size != k->size)
        fail_msg("%d to %d channels, %d x %d: tiles of %d, expected %d", k->channels, k->out_channels,
                 k->high, k->wide, b.size, k->size);
    assert_true(na == nb && nb == nc);
    double error = error_of(got, want, na);
    if (!(error <= ERROR_BOUND))
        fail_msg("%d to %d channels, %d x %d: an error of %g", k->channels, k->out_channels, k->high,
                 k->wide, error);
    assert_memory_equal(got, again, (size_t)nb * sizeof *got);
    free(want), free(got), free(again), free(t.at);
    discard(&a), discard(&b);
}

static void same_as_plain(void **state)
{
    for (int i = 0; i < CASES; i++)
        check_case(&cases[i], false);
}

static void unknown_height(void **state)
{
    for (int i = 0; i < 3; i++)
        check_case(&cases[i], true);
}

/* ---- where operands of products may be rounded ---- */

/* The error's root mean square. */
static double deviation(const float *got, const float *want, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += pow((double)got[i] - want[i], 2);
    return sqrt(sum / (double)n);
}

/* frontend/README.md states the bounds: planes in bf16 against a direct sum in bf16. */
static void rounded_planes(void **state)
{
    static const struct winograd_case rounded[] = {
        {1, 256, 192, 14, 14, 1, 1, 1, 1, NULL, 2},
        {1, 256, 130, 10, 10, 1, 1, 1, 1, "residual", 2},
        {1, 512, 130, 8, 8, 1, 1, 1, 1, "relu", 2},
        {1, 257, 256, 12, 12, 0, 1, 0, 1, "bias_silu", 2}, /* an odd number of channels */
    };
    const struct options plain = {.opt_level = 0},
                         fast = {.opt_level = 2,
                                 .verify_passes = true,
                                 .auto_cast = CAST_MATMULT,
                                 .cast_type = DT_BF16};
    struct options direct = fast;
    direct.no_winograd = true;
    for (size_t i = 0; i < sizeof rounded / sizeof *rounded; i++) {
        const struct winograd_case *k = &rounded[i];
        struct winograd_text t = graph_text(k, false);
        struct winograd_compiled ways[] = {compile(&t, &plain, "cpu"), compile(&t, &fast, "cpu"),
                                  compile(&t, &direct, "cpu")};
        float *y[5];
        int64_t n;
        for (int w = 0; w < 3; w++)
            y[w] = run(&ways[w], 1, k, &n);
        y[3] = run(&ways[1], 3, k, &n);
        y[4] = run_at(&ways[1], MAX_BF16_RATE, 2, k, &n);
        assert_memory_equal(y[1], y[3], (size_t)n * sizeof *y[1]);
        assert_memory_equal(y[2], y[4], (size_t)n * sizeof *y[2]);
        assert_int_equal(ways[1].size, 2);
        assert_true(ways[1].bf16 && !ways[2].size);
        double of_planes = deviation(y[1], y[0], n), of_sums = deviation(y[2], y[0], n);
        double max = error_of(y[1], y[0], n), max_direct = error_of(y[2], y[0], n);
        print_message("%d to %d channels: deviation %.2f, largest error %.2f times the direct "
                      "sum's\n",
                      k->channels, k->out_channels, of_planes / of_sums, max / max_direct);
        assert_true(of_planes > 0 && of_planes <= 2 * of_sums);
        assert_true(max <= 2.5 * max_direct);
        for (int w = 0; w < 3; w++)
            discard(&ways[w]), free(y[w]);
        free(y[3]), free(y[4]), free(t.at);
    }
}

/* Which way each type of products takes: off by the flag and for strict targets, in FP32 where that
 * is as fast, otherwise by planes in bf16. */
static void ways_by_type(void **state)
{
    static const struct winograd_case deep = {1, 256, 256, 14, 14, 1, 1, 1, 1, NULL, 2},
                                  shallow = {1, 64, 64, 56, 56, 1, 1, 1, 1, NULL, 4};
#define MATMULT(type) .opt_level = 2, .auto_cast = CAST_MATMULT, .cast_type = type
    static const struct {
        struct options o;
        const char *machine;
        int deep, shallow;
        bool bf16;
    } ways[] = {
        {{.opt_level = 2}, "cpu", 4, 4, false},
        {{.opt_level = 2, .no_winograd = true}, "cpu", 0, 0, false},
        {{MATMULT(DT_BF16)}, "cpu", 2, 4, true},
        {{MATMULT(DT_BF16), .no_winograd = true}, "cpu", 0, 0, false},
        {{MATMULT(DT_F16)}, "cpu", 0, 0, false},
        {{MATMULT(DT_BF16)}, "trn1", 0, 0, false},
        {{.opt_level = 2}, "trn1", 0, 0, false},
    };
#undef MATMULT
    struct winograd_text at[] = {graph_text(&deep, false), graph_text(&shallow, false)};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct winograd_compiled c[] = {compile(&at[0], &ways[i].o, ways[i].machine),
                               compile(&at[1], &ways[i].o, ways[i].machine)};
        assert_int_equal(c[0].size, ways[i].deep);
        assert_int_equal(c[0].bf16, ways[i].bf16);
        assert_int_equal(c[1].size, ways[i].shallow);
        assert_false(c[1].bf16);
        discard(&c[0]), discard(&c[1]);
    }
    free(at[0].at), free(at[1].at);
}

/* What stays in FP32 among rounded operators is exact to FP32; where a direct sum of bf16 is faster, it has the bits of
 * a program that has no other way. */
static void exact_among_rounded(void **state)
{
    static const struct winograd_case cases_of_fp32[] = {
        {1, 64, 64, 56, 56, 1, 1, 1, 1, "relu", 4},
        {2, 64, 96, 30, 23, 0, 0, 0, 0, "relu", 4}, /* rounded, though there is nothing to pad */
        {1, 64, 64, 9, 40, 2, 0, 1, 2, "residual", 4},
    };
    struct options plain = {.opt_level = 0},
                   cast = {.opt_level = 2, .auto_cast = CAST_MATMULT, .cast_type = DT_BF16}, direct = cast, slow = cast;
    direct.no_winograd = true;
    slow.max_bf16_rate = BF16_RATE;
    for (size_t i = 0; i < sizeof cases_of_fp32 / sizeof *cases_of_fp32; i++) {
        const struct winograd_case *k = &cases_of_fp32[i];
        struct winograd_text t = graph_text(k, false);
        struct winograd_compiled a = compile(&t, &plain, "cpu"), b = compile(&t, &cast, "cpu"),
                                 c = compile(&t, &direct, "cpu"), e = compile(&t, &slow, "cpu");
        int64_t n;
        float *want = run(&a, 1, k, &n), *got = run(&b, 1, k, &n), *sums = run(&c, 1, k, &n),
              *fast = run_at(&b, MAX_BF16_RATE, 2, k, &n), *one_way = run_at(&e, MAX_BF16_RATE, 1, k, &n);
        assert_int_equal(b.size, 4);
        assert_true(error_of(got, want, n) <= ERROR_BOUND);
        assert_true(error_of(sums, want, n) > ERROR_BOUND);
        assert_memory_equal(sums, fast, (size_t)n * sizeof *sums);
        assert_memory_equal(got, one_way, (size_t)n * sizeof *got);
        free(want), free(got), free(sums), free(fast), free(one_way), free(t.at);
        discard(&a), discard(&b), discard(&c), discard(&e);
    }
}

/* The same in a loop's body. */
static void in_a_loop(void **state)
{
    static const struct winograd_case k = {1, 64, 64, 56, 56, 1, 1, 1, 1, NULL, 4};
    struct winograd_text t = {0};
    seed = 7;
    put(&t, "graph \"loop\" (%%0 \"x\": f32[1,64,56,56]) {\n");
    put_constant(&t, "c0", "f32[64,64,3,3]", 9 * 64 * 64);
    put(&t, "  %%c1 = const i32[] {0}\n  %%c2 = const i32[] {3}\n"
            "  %%1: i32[], %%2: f32[1,64,56,56] = while(%%c1, %%0) ^(%%3: i32[], %%4: f32[1,64,56,56]) {\n"
            "    %%5: bool[] = lt(%%3, %%c2)\n    return(%%5)\n"
            "  } ^(%%6: i32[], %%7: f32[1,64,56,56]) {\n    %%c3 = const i32[] {1}\n    %%8: i32[] = add(%%6, %%c3)\n"
            "    %%9: f32[1,64,56,56] = conv(%%7, %%c0) {kernel_shape=[3,3], strides=[1,1], pads=[1,1,1,1], "
            "dilations=[1,1], group=1}\n    %%c4 = const f32[] {0.05}\n"
            "    %%10: f32[1,64,56,56] = mul(%%9, %%c4)\n    return(%%8, %%10)\n  }\n"
            "  return(%%2)\n} outputs(\"y\")\n");
    struct options plain = {.opt_level = 0},
                   cast = {.opt_level = 2, .auto_cast = CAST_MATMULT, .cast_type = DT_BF16}, direct = cast;
    direct.no_winograd = true;
    struct winograd_compiled a = compile(&t, &plain, "cpu"), b = compile(&t, &cast, "cpu"),
                             c = compile(&t, &direct, "cpu");
    int64_t n;
    float *want = run(&a, 1, &k, &n), *got = run(&b, 1, &k, &n), *sums = run(&c, 1, &k, &n),
          *fast = run_at(&b, MAX_BF16_RATE, 1, &k, &n);
    assert_int_equal(b.size, 4);
    assert_true(error_of(got, want, n) <= 3 * ERROR_BOUND); /* layers, one after the other */
    assert_true(error_of(sums, want, n) > 3 * ERROR_BOUND);
    assert_memory_equal(sums, fast, (size_t)n * sizeof *sums);
    free(want), free(got), free(sums), free(fast), free(t.at);
    discard(&a), discard(&b), discard(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms), cmocka_unit_test(same_as_plain),
        cmocka_unit_test(unknown_height), cmocka_unit_test(rounded_planes),
        cmocka_unit_test(ways_by_type),   cmocka_unit_test(exact_among_rounded),
        cmocka_unit_test(in_a_loop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
