/*
 * Which products stay in FP32. Errors grow on their way through a model, and its first and its last
 * products are where they come from most often: so first the shortest run of products from the
 * model's beginning, or from its end, that must stay; then, by halves down to single ones, those of
 * them are given back that the budget does without.
 */
#include "frontend/cast_trial.h"

#include <string.h>

enum { MOST_TRIALS = 28 };

struct search {
    struct cast_check *k;
    const struct cast_product **all; /* those that are cast */
    int n;
    double target;
    bool *keep; /* the best so far */
    int kept;
    struct measure measure; /* of it; error 0 while all are kept */
    double *without;        /* of each: the error when it was cast too, and how many with it */
    int *together;
    int trials;
    struct cast_product *rows; /* scratch */
};

/* Tries a selection and takes it if it is good enough. False: the check itself failed. */
static bool attempt(struct search *s, const bool *keep, bool *good)
{
    struct trial t;
    struct measure m;
    int nkeep = 0;
    for (int i = 0; i < s->n; i++)
        if (keep[i])
            s->rows[nkeep++] = *s->all[i];
    s->trials++;
    if (!trial_compile(s->k, &t, s->rows, nkeep))
        return false;
    bool ok = trial_judge(s->k, t.m, &t.choices, s->target, s->target, &m);
    trial_free(&t);
    *good = ok && m.error <= s->target;
    int together = s->kept - nkeep;
    for (int i = 0; ok && !*good && i < s->n; i++)
        if (s->keep[i] && !keep[i])
            s->without[i] = m.error, s->together[i] = together;
    if (*good && nkeep < s->kept) {
        memcpy(s->keep, keep, sizeof *keep * (size_t)s->n);
        s->kept = nkeep;
        s->measure = m;
    }
    return ok;
}

/* The least length of a run from the beginning (or the end), below those that are known to do. */
static bool bisect(struct search *s, bool from_end, bool *keep)
{
    int low = 0, high = s->kept; /* low is too few */
    while (high - low > 1) {
        int middle = (low + high) / 2;
        bool good;
        for (int i = 0; i < s->n; i++)
            keep[i] = from_end ? i >= s->n - middle : i < middle;
        if (!attempt(s, keep, &good))
            return false;
        *(good ? &high : &low) = middle;
        if (from_end && !good && high == s->kept)
            break; /* not half as many: the run from the beginning does as well */
    }
    return true;
}

/* Gives back `size` kept ones at a time. */
static bool give_back(struct search *s, int size, bool *keep)
{
    for (int at = 0; at < s->n && s->trials < MOST_TRIALS;) {
        int left = size;
        bool good;
        memcpy(keep, s->keep, sizeof *keep * (size_t)s->n);
        for (; at < s->n && left; at++)
            if (keep[at])
                keep[at] = false, left--;
        if (left == size || s->kept - (size - left) == 0)
            break;
        if (!attempt(s, keep, &good))
            return false;
    }
    return true;
}

static bool search(struct search *s, bool *keep)
{
    bool good;
    if (s->n > 1 && (!bisect(s, false, keep) || !bisect(s, true, keep)))
        return false;
    for (int size = s->kept / 2; size >= 1 && s->trials < MOST_TRIALS; size /= 2)
        if (!give_back(s, size, keep))
            return false;
    if (s->kept < s->n)
        return true;
    return attempt(s, s->keep, &good); /* all: for its measure */
}

static bool give(struct search *s, struct kept *out)
{
    out->rows = ARENA_ARRAY(&out->arena, struct cast_product, s->kept + 1);
    out->reasons = ARENA_ARRAY(&out->arena, const char *, s->kept + 1);
    for (int i = 0; i < s->n; i++) {
        if (!s->keep[i])
            continue;
        struct cast_product *row = &out->rows[out->count];
        *row = *s->all[i];
        row->name = arena_strdup(&out->arena, row->name);
        row->source = arena_strdup(&out->arena, row->source);
        out->reasons[out->count++] = arena_printf(
            &out->arena, "cast as well%s the error would be %.3g, above the budget of %.3g",
            s->together[i] > 1
                ? arena_printf(&out->arena, " with %d others", s->together[i] - 1)
                : ",",
            s->without[i], s->k->budget);
    }
    out->measure = s->measure;
    return true;
}

bool cast_search(struct cast_check *k, const struct cast_plan *plan, double error, double target,
                 struct kept *out)
{
    struct arena a = {0};
    struct search s = {.k = k, .target = target};
    *out = (struct kept){.measure = {.output = -1}};
    s.all = ARENA_ARRAY(&a, const struct cast_product *, plan->nproducts + 1);
    for (int i = 0; i < plan->nproducts; i++)
        if (plan->products[i].cast)
            s.all[s.n++] = &plan->products[i];
    s.keep = ARENA_ARRAY(&a, bool, s.n + 1);
    s.rows = ARENA_ARRAY(&a, struct cast_product, s.n + 1);
    s.without = ARENA_ARRAY(&a, double, s.n + 1);
    s.together = ARENA_ARRAY(&a, int, s.n + 1);
    memset(s.keep, true, (size_t)s.n);
    s.kept = s.n;
    for (int i = 0; i < s.n; i++)
        s.without[i] = error, s.together[i] = s.n;
    bool ok = search(&s, ARENA_ARRAY(&a, bool, s.n + 1)) && give(&s, out);
    arena_free(&a);
    return ok;
}
