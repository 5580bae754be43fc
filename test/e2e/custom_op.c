/* Operators for custom_op.sh: what the README's does not do, and what goes wrong. */
#include <xop.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(OLD_ABI)
extern const struct xop_library xop_library;
__attribute__((visibility("default")))
const struct xop_library xop_library = {XOP_ABI + 1, 8, 1, 0, NULL};
#elif !defined(NOTHING)

/* y = x * factor + bias, whatever the shape; types by T. */
static bool scale(const struct xop_call *c)
{
    int64_t first, end;
    double factor = xop_float(c, "factor");
    xop_share(c, xop_count(&c->in[0]), &first, &end);
    memset(c->scratch, c->core, XOP_SCRATCH);
    for (int64_t i = first; i < end; i++)
        if (c->in[0].dtype == XOP_F64)
            ((double *)c->out[0].data)[i] = factor * ((double *)c->in[0].data)[i];
        else
            ((float *)c->out[0].data)[i] = (float)(factor * ((float *)c->in[0].data)[i]);
    return true;
}
static const struct xop_operator scale_op = {.domain = "test",
                                             .name = "Scale",
                                             .version = 1,
                                             .flags = XOP_MULTICORE,
                                             .operands = "x: T=f32|f64[...]",
                                             .results = "y: T[...]",
                                             .attributes = "factor: float = 2",
                                             .run = scale};

/* Pairs of neighbours, by a C shape function: [.., n] -> [.., n / 2]. */
static bool pairs_shape(const struct xop_call *c)
{
    int32_t last = c->in[0].rank - 1;
    c->out[0] = c->in[0];
    c->out[0].dims[last] = xop_dim(c, XOP_FLOORDIV, c->in[0].dims[last], 2);
    return true;
}
static bool pairs(const struct xop_call *c)
{
    const float *x = c->in[0].data;
    float *y = c->out[0].data;
    int32_t last = c->in[0].rank - 1;
    int64_t n = c->in[0].dims[last], rows = n ? xop_count(&c->in[0]) / n : 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n / 2; i++)
            y[r * (n / 2) + i] = x[r * n + 2 * i] + x[r * n + 2 * i + 1];
    return true;
}
static const struct xop_operator pairs_op = {.domain = "test",
                                             .name = "Pairs",
                                             .version = 1,
                                             .flags = XOP_SYMBOLIC,
                                             .operands = "x: f32",
                                             .results = "y",
                                             .shape = pairs_shape,
                                             .run = pairs};

/* The same, for numbers only: symbolic sizes are tried out. */
static bool rows_shape(const struct xop_call *c)
{
    if (c->in[0].dims[0] < 1)
        return xop_fail(c, "no rows");
    c->out[0].dtype = XOP_F32;
    c->out[0].rank = 2;
    c->out[0].dims[0] = c->in[0].dims[0];
    c->out[0].dims[1] = c->in[0].dims[1] * 2 + 1;
    return true;
}
static bool rows(const struct xop_call *c)
{
    for (int64_t i = 0; i < xop_count(&c->out[0]); i++)
        ((float *)c->out[0].data)[i] = (float)i;
    return true;
}
static const struct xop_operator rows_op = {.domain = "test",
                                            .name = "Rows",
                                            .version = 1,
                                            .operands = "x: f32[n, m]",
                                            .results = "y",
                                            .shape = rows_shape,
                                            .run = rows};

/* The positive elements: how many, only running tells. */
static bool positive(const struct xop_call *c)
{
    const float *x = c->in[0].data;
    int64_t n = c->in[0].dims[0], count = 0;
    for (int64_t i = 0; i < n; i++)
        count += x[i] > 0;
    float *y = xop_resize(c, 0, &count);
    for (int64_t i = 0, k = 0; y && i < n; i++)
        if (x[i] > 0)
            y[k++] = x[i];
    return y != NULL;
}
static const struct xop_operator positive_op = {.domain = "test",
                                                .name = "Positive",
                                                .version = 1,
                                                .operands = "x: f32[n]",
                                                .results = "y: f32[?]",
                                                .run = positive};

/* Sum of any number of operands, the first result; how many, the second. */
static bool sum(const struct xop_call *c)
{
    float *y = c->out[0].data;
    for (int i = 0; i < c->nin; i++)
        for (int64_t k = 0; k < xop_count(&c->out[0]); k++)
            y[k] += ((const float *)c->in[i].data)[k];
    *(int32_t *)c->out[1].data = c->nin;
    return true;
}
static const struct xop_operator sum_op = {.domain = "test",
                                           .name = "Sum",
                                           .version = 1,
                                           .operands = "x...: f32[n]",
                                           .results = "y: f32[n], count: i32[]",
                                           .run = sum};

/* Of a stack without end. */
static int deep(int n)
{
    volatile char memory[4096] = {(char)n};
    return n < 0 ? n : deep(n + 1) + memory[0];
}

/* What `how` says. */
static bool wrong(const struct xop_call *c)
{
    float *y = c->out[0].data;
    int64_t n = xop_count(&c->out[0]), how = xop_int(c, "how");
    if (how == 1)
        return xop_fail(c, "that is what it does");
    if (how == 2)
        y[n] = 1;
    if (how == 3)
        y[-1] = 1;
    if (how == 4)
        *(float *)c->in[0].data = 1;
    if (how == 5)
        y[n + 4096] = 1;
    if (how == 6)
        *(volatile int *)(uintptr_t)xop_int(c, "zero") = 1;
    if (how == 7)
        abort();
    if (how == 8)
        exit(0);
    if (how == 9)
        y[0] = (float)deep(0);
    if (how == 10)
        ((char *)c->scratch)[XOP_SCRATCH] = 1;
    return true;
}
static const struct xop_operator wrong_op = {.domain = "test",
                                             .name = "Wrong",
                                             .version = 1,
                                             .operands = "x: f32[n]",
                                             .results = "y: f32[n]",
                                             .attributes = "how: int, zero: int = 0",
                                             .run = wrong};

/* The same of a result that gets its memory while it runs, twice. */
static bool open_wrong(const struct xop_call *c)
{
    int64_t n = c->in[0].dims[0], half = n / 2, how = xop_int(c, "how");
    if (!xop_resize(c, 0, &n))
        return false;
    float *y = xop_resize(c, 0, &half);
    if (how == 1)
        y[half] = 1;
    if (how == 2)
        y[-1] = 1;
    if (how == 3)
        ((float *)c->out[1].data)[1] = 1;
    y[half - 1] = 5;
    return true;
}
static const struct xop_operator open_op = {.domain = "test",
                                            .name = "OpenWrong",
                                            .version = 1,
                                            .operands = "x: f32[n]",
                                            .results = "y: f32[?], z: f32[1]",
                                            .attributes = "how: int",
                                            .run = open_wrong};

/* A shape function that goes wrong. */
static bool bad_shape(const struct xop_call *c)
{
    int64_t how = xop_int(c, "how");
    c->out[0] = c->in[0];
    if (how == 1)
        c->out[0].dims[0] = (int64_t)((const float *)c->in[0].data)[0];
    if (how == 2)
        return xop_fail(c, "not of these sizes");
    if (how == 3)
        c->out[0].rank = c->in[0].dims[0] > 64 ? 1 : 0;
    while (how == 4)
        sleep(1);
    return true;
}
static const struct xop_operator shape_op = {.domain = "test",
                                             .name = "BadShape",
                                             .version = 1,
                                             .operands = "x: f32[n]",
                                             .results = "y",
                                             .attributes = "how: int",
                                             .shape = bad_shape,
                                             .run = wrong};

/* Attributes that are lists, each number with its place. */
static bool lists(const struct xop_call *c)
{
    int n, m;
    const int64_t *ints = xop_ints(c, "ints", &n);
    const double *floats = xop_floats(c, "floats", &m);
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += (float)((i + 1) * ints[i]);
    for (int i = 0; i < m; i++)
        sum += 100 * (float)(i + 1) * (float)floats[i];
    for (int64_t i = 0; i < c->in[0].dims[0]; i++)
        ((float *)c->out[0].data)[i] = sum;
    return true;
}
static const struct xop_operator lists_op = {.domain = "test",
                                             .name = "Lists",
                                             .version = 1,
                                             .operands = "x: f32[n]",
                                             .results = "y: f32[n]",
                                             .attributes = "ints: ints = 1, floats: floats = 1",
                                             .run = lists};

/* A core that does not return. */
static bool endless(const struct xop_call *c)
{
    while (c->core == xop_int(c, "core"))
        sleep(1);
    return true;
}
static const struct xop_operator endless_op = {.domain = "test",
                                               .name = "Endless",
                                               .version = 1,
                                               .flags = XOP_MULTICORE,
                                               .operands = "x: f32[n]",
                                               .results = "y: f32[n]",
                                               .attributes = "core: int",
                                               .run = endless};

/* Each core writes one element too many. */
static bool overlap(const struct xop_call *c)
{
    int64_t first, end, n = xop_count(&c->out[0]);
    xop_share(c, n, &first, &end);
    for (int64_t i = first; i < end + 1 && i < n; i++)
        ((float *)c->out[0].data)[i] = (float)(c->core + 1);
    return true;
}
static const struct xop_operator overlap_op = {
    .domain = "test",
    .name = "Overlap",
    .version = 1,
    .flags = XOP_MULTICORE,
    .operands = "x: f32[n]",
    .results = "y: f32[n]",
    .run = overlap,
};

/* At least 64, which trials with larger sizes do not show. */
static bool max_shape(const struct xop_call *c)
{
    c->out[0] = c->in[0];
    if (c->out[0].dims[0] < 64)
        c->out[0].dims[0] = 64;
    return true;
}
static bool nothing(const struct xop_call *c)
{
    return c->nout == 1;
}
static const struct xop_operator max_op = {
    .domain = "test",
    .name = "Most",
    .version = 1,
    .operands = "x: f32[n]",
    .results = "y",
    .shape = max_shape,
    .run = nothing,
};
static const struct xop_operator forget_op = {
    .domain = "test",
    .name = "Forget",
    .version = 1,
    .operands = "x: f32[n]",
    .results = "y: f32[?]",
    .run = nothing,
};

/* 0, 1, ..., by an attribute. */
static bool count(const struct xop_call *c)
{
    for (int64_t i = 0; i < c->out[0].dims[0]; i++)
        ((float *)c->out[0].data)[i] = (float)i;
    return true;
}
static const struct xop_operator count_op = {
    .domain = "test",
    .name = "Count",
    .version = 1,
    .results = "y: f32[n]",
    .attributes = "n: int",
    .run = count,
};

/* x + bias, or x. */
static bool biased(const struct xop_call *c)
{
    const float *bias = c->in[0].data, *x = c->in[1].data;
    for (int64_t i = 0; i < xop_count(&c->out[0]); i++)
        ((float *)c->out[0].data)[i] = x[i] + (bias ? bias[i] : 0);
    return true;
}
static const struct xop_operator biased_op = {
    .domain = "test",
    .name = "Biased",
    .version = 1,
    .operands = "bias?: T=floats[n], x: T[n]",
    .results = "y: T[n]",
    .run = biased,
};

#if defined(BAD_DECLARATION)
static const struct xop_operator bad_op = {.domain = "test",
                                           .name = "Bad",
                                           .version = 1,
                                           .operands = "x: f32[n]",
                                           .results = "y: f32[n, m]",
                                           .run = wrong};
#define BAD &bad_op,
#else
#define BAD
#endif
XOP_LIBRARY(BAD &scale_op, &pairs_op, &rows_op, &positive_op, &sum_op, &wrong_op, &endless_op, &lists_op, &overlap_op,
            &max_op, &forget_op, &count_op, &biased_op, &open_op, &shape_op)
#endif
