#include "frontend/cast_check.h"

#include "frontend/cast_trial.h"
#include "frontend/compile.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the check may take, in seconds of one core as sizes tell them: so that it is made, or left
 * out, alike on every machine. */
enum { RUN_SECONDS = 120 /* by the clock: something is wrong with the estimate */ };
static const double always_allowed = 0.5, per_kernel = 5e-4, constant_bytes_per_second = 2.5e8,
                    twin_share = 0.6; /* of compiling: the twin is not written */

/* What is selected errs by this part of the budget at most. Chosen by one model: ppocrv3_det, at 2,
 * errs on pictures four times as much as on made-up inputs. */
enum { SAMPLE_MARGIN = 4 };

static double budget_of(const struct command *c)
{
    if (c->cast_budget >= 0)
        return c->cast_budget;
    return c->ncalibrate || !c->cast_given ? CAST_BUDGET : 0;
}

static bool wanted(const struct command *c)
{
    return c->options.auto_cast != CAST_NONE && !c->options.only && budget_of(c) > 0 &&
           (c->emit == EMIT_ARCHIVE || c->cast_budget >= 0);
}

static int count_cast(const struct cast_plan *p)
{
    int n = 0;
    for (int i = 0; i < p->nproducts; i++)
        n += p->products[i].cast;
    return n;
}

/* ---- how long ---- */

static double compile_estimate(const struct program *p)
{
    double bytes = 0;
    for (int s = 0; s < p->nslots; s++)
        if (p->slots[s].kind == SLOT_CONST && p->slots[s].data.kind == VK_TENSOR)
            bytes += (double)tensor_bytes(&p->slots[s].data);
    return per_kernel * p->nkernels + bytes / constant_bytes_per_second;
}

/* As many of the seeded inputs as there is time for; false: not even one. */
static bool limit_sets(struct cast_check *k, struct model *m)
{
    const struct program *p = model_program(m);
    struct context *run = context_new(m, 1, &k->d);
    if (!run)
        return false;
    double one = 2 * context_estimate(run), compile = compile_estimate(p);
    double allowed = fmax(always_allowed, compile) - twin_share * compile;
    context_free(run);
    k->trial_seconds = compile + one / 2 * k->sets.count;
    k->threads = one > 1e-3 ? 0 : 1;
    if (k->c->ncalibrate || k->c->cast_budget > 0)
        return true;
    if (one > allowed)
        return fail(&k->d, "that takes longer than compiling; --cast-budget or --calibrate checks "
                           "all the same");
    while (k->sets.count > 1 && one * k->sets.count > allowed)
        k->sets.count--;
    return true;
}

/* ---- the check ---- */

/* The error of what has been compiled, m, on inputs of the sizes of an attempt. extended: the same with the floats that
 * choices are made from as further outputs, where there are any. */
static bool verdict(struct cast_check *k, struct model *m, const struct trial *extended, int attempt, int sets,
                    struct measure *out)
{
    diag_clear(&k->d);
    input_sets_free(&k->sets);
    if (!input_sets_make(&k->sets, model_program(m), k->c, attempt, &k->d))
        return false;
    k->sets.count = sets;
    return twin_run(k, false) &&
           trial_judge(k, extended->m ? extended->m : m, &k->twin.choices, k->budget, INFINITY, out);
}

/* On inputs of the likeliest sizes that the model takes, and on which rounding changes anything: of short signals, some
 * models make nothing but zeros. */
static bool first_verdict(struct cast_check *k, struct model *m, struct measure *out)
{
    struct trial extended = {0};
    int attempts = has_symbols(model_program(m)) ? SIZE_ATTEMPTS : 1, first = -1, sets = k->sets.count;
    if (k->twin.choices.extra && !trial_compile(k, &extended, &(struct cast_product){0}, 0))
        return false;
    bool ok = false;
    for (int i = 0; i < attempts && !k->d.memory && !(ok && (out->error > 0 || k->c->ncalibrate)); i++) {
        ok = verdict(k, m, &extended, i, sets, out);
        first = ok && first < 0 ? i : first;
    }
    if (!ok && !k->d.memory && first >= 0)
        ok = verdict(k, m, &extended, first, sets, out);
    trial_free(&extended);
    return ok;
}

struct outcome {
    struct measure measure;
    struct kept kept;
    bool checked;
};

/* False, with why in k->d: the cast cannot be checked. */
static bool check(struct cast_check *k, struct model *m, const struct cast_plan *plan,
                  struct outcome *o)
{
    if (k->c->custom.count)
        return fail(&k->d, "it has operators of its own");
    if (!input_sets_make(&k->sets, model_program(m), k->c, 0, &k->d) || !limit_sets(k, m) ||
        !twin_compile(k) || !first_verdict(k, m, &o->measure))
        return false;
    bool *unseen = ARENA_ARRAY(&o->kept.arena, bool, plan->nproducts + 1), any = false;
    if (!cast_unseen(k, plan, unseen))
        return false;
    for (int i = 0; i < plan->nproducts; i++)
        any |= unseen[i] |= plan->products[i].cast && !(o->measure.error > 0);
    o->checked = true;
    bool within = o->measure.error <= k->budget;
    if (within && !any)
        return true;
    /* Seeded inputs are a sample: others are to be within the budget too, and a selection made by
     * the sample does better on it than on others. */
    double target = k->sets.seeded ? k->budget / SAMPLE_MARGIN : k->budget;
    struct kept kept;
    o->checked = cast_search(k, plan, unseen, within ? 0 : o->measure.error, target, &kept);
    if (!o->checked)
        kept.count = 0;
    if (!within)
        o->measure = kept.measure;
    arena_free(&o->kept.arena);
    o->kept = kept;
    return o->checked;
}

static void check_free(struct cast_check *k)
{
    twin_free(k);
    input_sets_free(&k->sets);
}

/* ---- saying so ---- */

struct report_line {
    char text[1024];
    size_t n;
};
static void put(struct report_line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct report_line *l, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(l->text + l->n, sizeof l->text - l->n, fmt, ap);
    va_end(ap);
    if (n > 0)
        l->n += (size_t)n < sizeof l->text - l->n ? (size_t)n : sizeof l->text - l->n - 1;
}

static void put_kept(struct report_line *l, const struct kept *kept)
{
    enum { NAMED = 4 };
    if (!kept->count)
        return;
    put(l, ", %d kept in FP32 (", kept->count);
    for (int i = 0; i < kept->count && i < NAMED; i++)
        put(l, "%s'%s'", i ? ", " : "", kept->rows[i].name);
    put(l, kept->count > NAMED ? ", ...: -v names all and why)" : "; -v says why)");
}

static void describe(const struct cast_check *k, const struct cast_plan *plan,
                     const struct outcome *o, struct report_line *l)
{
    int cast = count_cast(plan);
    put(l, "%d of %d %s are in %s", cast, plan->nproducts,
        k->c->options.auto_cast == CAST_ALL ? "operators" : "products", cast_type_name(k->c->options.cast_type));
    put_kept(l, &o->kept);
    if (!o->checked) {
        put(l, "; not checked against FP32: %.300s", k->d.text);
        return;
    }
    const struct measure *m = &o->measure;
    put(l, "; largest error %.2g of the largest value", m->largest);
    if (m->output >= 0)
        put(l, " of '%.100s'", k->twin.g->output_names[m->output]);
    put(l, ", on %d %s input%s (budget %.2g)", k->sets.count, k->sets.seeded ? "seeded" : "given",
        k->sets.count > 1 ? "s" : "", k->budget);
    if (m->count)
        put(l, "; of outputs that hold choices %lld of %lld elements differ", (long long)m->differ,
            (long long)m->count);
}

static void say_all(const struct cast_check *k, const struct cast_plan *plan,
                    const struct outcome *o, void (*say)(void *user, const char *text), void *user)
{
    struct report_line l = {.n = 0};
    if (!say)
        return;
    describe(k, plan, o, &l);
    say(user, l.text);
    for (int i = 0; k->c->verbose && i < o->kept.count; i++) {
        struct report_line row = {.n = 0};
        put(&row, "kept in FP32: '%.200s' (%s): %s", o->kept.rows[i].name, o->kept.rows[i].source,
            o->kept.reasons[i]);
        say(user, row.text);
    }
}

/* ---- the whole ---- */

static struct program *compile_kept(const char *path, struct graph **g, const struct command *c,
                                    struct cast_plan *plan, const struct kept *kept, struct diag *d)
{
    struct command with = *c;
    arena_free(&plan->arena);
    *plan = (struct cast_plan){.keep = kept->rows, .reasons = kept->reasons, .nkeep = kept->count};
    with.options.plan = plan;
    if (with.options.reasons) { /* those of the first compile */
        arena_free(&with.options.reasons->arena);
        *with.options.reasons = (struct reasons){0};
    }
    graph_free(*g);
    *g = load_model(path, &with.import, d);
    return *g ? compile_graph(*g, &with, d) : NULL;
}

/* A check that failed, with why in k->d, is left out, unless it was asked for; and free memory does not decide which
 * products are cast. */
static bool goes_unchecked(const struct cast_check *k, struct diag *d)
{
    if (k->c->ncalibrate)
        return fail(d, "%s", k->d.text);
    return !k->d.memory ||
           fail_memory(d, "checking the cast against FP32: %s; --cast-budget 0 compiles without the check", k->d.text);
}

struct program *compile_checked(const char *path, struct graph **g, const struct command *c,
                                void (*say)(void *user, const char *text), void *user,
                                struct diag *d)
{
    if (!wanted(c))
        return compile_graph(*g, c, d);
    struct cast_plan plan = {0};
    struct cast_check k = {.path = path, .c = c, .budget = budget_of(c), .seconds = RUN_SECONDS};
    struct outcome o = {.measure = {.output = -1}};
    struct command first = *c;
    first.options.plan = &plan;
    struct program *p = compile_graph(*g, &first, d);
    if (p && count_cast(&plan)) {
        struct model *m = model_new(p, d);
        p = NULL;
        bool ok = m && (check(&k, m, &plan, &o) || goes_unchecked(&k, d));
        if (m)
            p = model_take_program(m);
        if (!ok) {
            program_free(p);
            p = NULL;
        }
        if (p && o.kept.count) {
            program_free(p);
            p = compile_kept(path, g, c, &plan, &o.kept, d);
        }
        if (p)
            say_all(&k, &plan, &o, say, user);
    }
    arena_free(&o.kept.arena);
    arena_free(&plan.arena);
    check_free(&k);
    return p;
}
