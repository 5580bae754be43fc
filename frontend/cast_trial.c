/* Programs of one model with other products in FP32: compiled, run, compared. */
#include "frontend/cast_trial.h"

#include "frontend/compile.h"
#include "neff/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void trial_free(struct trial *t)
{
    model_free(t->m);
    graph_free(t->g);
    arena_free(&t->plan.arena);
    *t = (struct trial){0};
}

bool trial_compile(struct cast_check *k, struct trial *t, const struct cast_product *keep,
                   int nkeep)
{
    struct command c = *k->c;
    *t = (struct trial){.plan = {.keep = keep, .nkeep = nkeep}};
    c.options.time_passes = false;
    c.options.reasons = NULL;
    c.options.print_after = NULL;
    c.options.plan = &t->plan;
    c.options.trial = true;
    if (!keep)
        c.options.auto_cast = CAST_NONE;
    t->g = load_model(k->path, &c.import, &k->d);
    struct program *p = t->g && choices_find(t->g, &t->choices, &k->d)
                            ? compile_graph(t->g, &c, &k->d)
                            : NULL;
    t->m = p ? model_new(p, &k->d) : NULL;
    k->trials++;
    if (!t->m)
        trial_free(t);
    return t->m != NULL;
}

/* ---- runs ---- */

static struct context *start(struct cast_check *k, struct model *m)
{
    struct context *run = context_new(m, k->threads, &k->d);
    if (run)
        context_set_limits(run, &(struct run_limits){.steps = DEFAULT_STEPS,
                                                     .bytes = (int64_t)(memory_total() / 4),
                                                     .seconds = k->seconds});
    return run;
}

static bool run_set(struct cast_check *k, struct context *run, int set)
{
    for (int i = 0; i < k->sets.nparams; i++)
        if (!context_set_input(run, i, &k->sets.in[set][i], &k->d))
            return false;
    return context_run(run, &k->d);
}

static void forget(struct cast_check *k, int strict)
{
    for (int set = 0; set < MAX_INPUT_SETS; set++) {
        struct tensor *out = k->exact[strict][set];
        for (int i = 0; out && i < k->twin.choices.noutputs; i++)
            tensor_free(&out[i]);
        free(out);
        k->exact[strict][set] = NULL;
    }
}

void twin_free(struct cast_check *k)
{
    forget(k, false);
    forget(k, true);
    trial_free(&k->twin);
}

bool twin_compile(struct cast_check *k)
{
    twin_free(k);
    return trial_compile(k, &k->twin, NULL, 0);
}

bool twin_run(struct cast_check *k, bool strict)
{
    forget(k, strict);
    strict_kernels_select(strict);
    struct context *run = start(k, k->twin.m);
    bool ok = run != NULL;
    int n = k->twin.choices.noutputs;
    for (int set = 0; ok && set < k->sets.count; set++) {
        struct tensor *out = k->exact[strict][set] = calloc((size_t)n + 1, sizeof *out);
        ok = out ? run_set(k, run, set) : fail_memory(&k->d, "out of memory");
        for (int i = 0; ok && i < n; i++)
            ok = tensor_copy(&out[i], context_output(run, i), &k->d);
    }
    context_free(run);
    strict_kernels_select(false);
    return ok;
}

/* ---- differences ---- */

static bool is_tensor(const struct tensor *t)
{
    return t->kind == VK_TENSOR && t->dtype != DT_STR;
}

static bool same_shape(const struct tensor *a, const struct tensor *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank &&
           (!a->rank || !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank));
}

/* Relative to the largest value of ref. What is not finite in ref has nothing to be compared with.
 */
static double relative_error(const struct tensor *got, const struct tensor *ref)
{
    double largest = 0, worst = 0;
    for (int64_t i = 0, n = tensor_count(ref); i < n; i++) {
        double b = tensor_f64(ref, i), e = fabs(tensor_f64(got, i) - b);
        if (!isfinite(b))
            continue;
        largest = fmax(largest, fabs(b));
        worst = e <= worst ? worst : isfinite(e) ? e : INFINITY;
    }
    return worst == 0 ? 0 : largest > 0 ? worst / largest : INFINITY;
}

static void count_differing(const struct tensor *got, const struct tensor *ref, double budget,
                            struct measure *out)
{
    int64_t n = tensor_count(ref);
    double largest = 0;
    out->count += n;
    if (!same_shape(got, ref)) {
        out->differ += n;
        return;
    }
    bool floats = dtype_is_float(ref->dtype);
    for (int64_t i = 0; floats && i < n; i++)
        if (isfinite(tensor_f64(ref, i)))
            largest = fmax(largest, fabs(tensor_f64(ref, i)));
    for (int64_t i = 0; i < n; i++) {
        double a = tensor_f64(got, i), b = tensor_f64(ref, i);
        bool same = floats ? fabs(a - b) <= budget * largest || (isnan(a) && isnan(b)) : a == b;
        out->differ += !same;
    }
}

static void compare(const struct cast_check *k, struct context *run, const struct choices *choices,
                    const struct tensor *exact, struct measure *out)
{
    for (int i = 0; i < choices->noutputs; i++) {
        const struct tensor *got = context_output(run, i), *ref = &exact[i];
        if (!is_tensor(ref) || dtype_is_complex(ref->dtype))
            continue;
        if (choices->held[i] || !dtype_is_float(ref->dtype)) {
            count_differing(got, ref, k->budget, out);
            continue;
        }
        double error = same_shape(got, ref) ? relative_error(got, ref) : INFINITY;
        if (error > out->largest || out->output < 0)
            out->largest = error, out->output = i;
    }
    double share = out->count ? (double)out->differ / (double)out->count : 0;
    out->error = fmax(out->largest, share);
}

bool trial_measure(struct cast_check *k, struct model *m, const struct choices *choices, bool strict,
                   double enough, struct measure *out)
{
    *out = (struct measure){.output = -1};
    if (!k->exact[strict][0] && !twin_run(k, strict))
        return false;
    strict_kernels_select(strict);
    model_set_bf16_rate(m, MAX_BF16_RATE); /* whoever runs it may round as much */
    struct context *run = start(k, m);
    bool ok = run != NULL;
    for (int set = 0; ok && set < k->sets.count && !(out->largest > enough); set++)
        if ((ok = run_set(k, run, set)))
            compare(k, run, choices, k->exact[strict][set], out);
    context_free(run);
    strict_kernels_select(false);
    return ok;
}

bool trial_sample(struct cast_check *k, struct model *m, const struct choices *choices,
                  struct measure *out)
{
    return trial_measure(k, m, choices, true, INFINITY, out);
}

bool trial_judge(struct cast_check *k, struct model *m, const struct choices *choices, double limit,
                 double enough, struct measure *out)
{
    if (!trial_measure(k, m, choices, false, fmax(enough, 2 * limit), out))
        return false;
    return out->error <= limit / 2 || out->error > 2 * limit ||
           trial_measure(k, m, choices, true, enough, out);
}
