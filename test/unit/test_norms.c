/*
 * Normalisations against double, where what is normalised together deviates little from its mean or not at all, on
 * every kind of target: elements that are all the same give the bias, exactly.
 */
#include "backend/backend.h"
#include "passes/pass.h"
#include "runtime/exec/exec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { IMAGES = 5, MAX_ELEMENTS = IMAGES * 8 * 64 };

static const float epsilon = 1e-5F;
static const char *const on_machines[] = {"cpu", "trn1", "trn2"};

/* Of each image [rows, width], or [width] where there is one row: what is normalised together are `together`
 * neighbours of all rows. */
struct norm_case {
    const char *op;
    int rows, width, together;
};

static const struct norm_case cases[] = {
    {"layer_norm", 1, 1, 1},     {"layer_norm", 1, 2, 2},    {"layer_norm", 1, 3, 3},    {"layer_norm", 1, 7, 7},
    {"layer_norm", 1, 64, 64},   {"instance_norm", 1, 8, 1}, {"instance_norm", 4, 8, 1}, {"instance_norm", 9, 8, 1},
    {"instance_norm", 64, 8, 1}, {"group_norm", 1, 8, 1},    {"group_norm", 1, 8, 2},    {"group_norm", 4, 8, 2},
    {"group_norm", 7, 6, 3},     {"group_norm", 64, 8, 4},
};
enum { CASES = sizeof cases / sizeof *cases };

static uint32_t seed;
static double uniform(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / (1 << 23) - 1;
}

/* The graph; scale and bias are made up again by whoever checks it. */
static int graph_text(const struct norm_case *c, char *text, size_t size, float *scale, float *bias)
{
    char vector[2][2048];
    seed = 5;
    for (int v = 0; v < 2; v++) {
        size_t n = 0;
        for (int i = 0; i < c->width; i++) {
            (v ? bias : scale)[i] = (float)(1 + uniform() / 2);
            n += (size_t)snprintf(vector[v] + n, sizeof vector[v] - n, "%s%.9g", i ? ", " : "",
                                  (double)(v ? bias : scale)[i]);
        }
    }
    char shape[32], groups[32] = "";
    bool layer = !strcmp(c->op, "layer_norm");
    if (layer)
        snprintf(shape, sizeof shape, "%d", c->width);
    else
        snprintf(shape, sizeof shape, "%d,%d", c->rows, c->width);
    if (!strcmp(c->op, "group_norm"))
        snprintf(groups, sizeof groups, ", num_groups=%d", c->width / c->together);
    return snprintf(text, size,
                    "graph \"norm\" symbols(n) (%%0 \"x\": f32[n,%s]) {\n  %%c0 = const f32[%d] {%s}\n"
                    "  %%c1 = const f32[%d] {%s}\n  %%1: f32[*] = %s(%%0, %%c0, %%c1) {epsilon=%.9g%s%s}\n"
                    "  return(%%1)\n} outputs(\"y\")\n",
                    shape, c->width, vector[0], c->width, vector[1], c->op, (double)epsilon,
                    layer ? "" : ", channels_last=1", groups);
}

/* What the machine makes of x. */
static void run_on(const struct norm_case *c, const char *machine, const char *text, int length, const float *x,
                   float *y)
{
    struct diag d = {0};
    const struct machine *m = machine_find(machine);
    struct options o = {.opt_level = 2, .verify_passes = true, .strict_target = m->strict};
    struct graph *g = graph_parse(text, (size_t)length, "norm", &d);
    if (diag_failed(&d) || !passes_run(g, &o, &d))
        fail_msg("%s", d.text);
    struct program *p = backend_compile(g, &o, m, &d);
    struct model *model = p ? model_new(p, &d) : NULL;
    struct context *context = model ? context_new(model, 1, &d) : NULL;
    if (!context)
        fail_msg("%s", d.text);
    bool layer = !strcmp(c->op, "layer_norm");
    if (!p->nkernels && (layer || !m->strict)) /* images with channels last have plain routines on chips */
        fail_msg("%s of %d x %d on %s: no tile program", c->op, c->rows, c->together, machine);
    int64_t dims[] = {IMAGES, layer ? c->width : c->rows, c->width};
    struct tensor in = {.kind = VK_NONE};
    assert_true(tensor_alloc(&in, DT_F32, layer ? 2 : 3, dims, &d));
    memcpy(in.data, x, (size_t)tensor_count(&in) * sizeof *x);
    if (!context_set_input(context, 0, &in, &d) || !context_run(context, &d))
        fail_msg("%s", d.text);
    assert_int_equal(tensor_count(context_output(context, 0)), tensor_count(&in));
    memcpy(y, context_output(context, 0)->data, (size_t)tensor_count(&in) * sizeof *y);
    tensor_free(&in);
    context_free(context);
    model_free(model);
    graph_free(g);
}

/* Element i of the image is one of those normalised together from column `first` on. */
static bool belongs(const struct norm_case *c, int i, int first)
{
    return i % c->width >= first && i % c->width < first + c->together;
}

/* The mean has the rounding of f32, in each of its sums; the rest is exact to a few units. */
static void check_together(const struct norm_case *c, const char *machine, const float *x, const float *y,
                           const float *scale, const float *bias, int first)
{
    double mean = 0, variance = 0, n = (double)c->rows * c->together;
    bool same = true;
    for (int i = 0; i < c->rows * c->width; i++)
        if (belongs(c, i, first))
            mean += x[i], same &= x[i] == x[first];
    mean /= n;
    for (int i = 0; i < c->rows * c->width; i++)
        if (belongs(c, i, first))
            variance += (x[i] - mean) * (x[i] - mean) / n;
    double root = sqrt(variance + (double)epsilon), rounding = fabs(mean) * 0x1p-23 * sqrt(n);
    for (int i = 0; i < c->rows * c->width; i++) {
        double z = (x[i] - mean) / root, want = z * scale[i % c->width] + bias[i % c->width];
        double allowed = same ? fabs((float)want - want) : 2e-6 + rounding / root * scale[i % c->width] * (1 + z * z);
        if (belongs(c, i, first) && !(fabs(y[i] - want) <= allowed))
            fail_msg("%s of %d x %d on %s: %.9g, expected %.9g; mean %g, deviation %g", c->op, c->rows, c->together,
                     machine, (double)y[i], want, mean, sqrt(variance));
    }
}

static void check_case(const struct norm_case *c, double mean, double deviation)
{
    static char text[8192];
    static float x[MAX_ELEMENTS], y[MAX_ELEMENTS];
    float scale[64], bias[64];
    int length = graph_text(c, text, sizeof text, scale, bias), image = c->rows * c->width;
    assert_true(length > 0 && (size_t)length < sizeof text && IMAGES * image <= MAX_ELEMENTS);
    for (int i = 0; i < IMAGES * image; i++)
        x[i] = (float)(mean + deviation * uniform());
    for (size_t m = 0; m < sizeof on_machines / sizeof *on_machines; m++) {
        run_on(c, on_machines[m], text, length, x, y);
        for (int k = 0; k < IMAGES; k++)
            for (int first = 0; first < c->width; first += c->together)
                check_together(c, on_machines[m], x + k * image, y + k * image, scale, bias, first);
    }
}

static void normalisations(void **state)
{
    static const double means[] = {0, 1, -1000, 1e5};
    (void)state;
    for (int i = 0; i < CASES; i++)
        for (size_t k = 0; k < sizeof means / sizeof *means; k++)
            check_case(&cases[i], means[k], 1);
}

/* Whole numbers, whose sums have no rounding. */
static void the_same(void **state)
{
    static const double means[] = {0, 3, -1000};
    (void)state;
    for (int i = 0; i < CASES; i++)
        for (size_t k = 0; k < sizeof means / sizeof *means; k++)
            check_case(&cases[i], means[k], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normalisations),
        cmocka_unit_test(the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
