/*
 * Which products stay in FP32. First what each product costs, or a few neighbours together where
 * there are too many: the error when nothing else is cast. Errors of roundings add up like those of
 * chance, so the selection of as many as possible casts those that cost least: how many, bisection
 * finds. Then kept ones are given back that the budget does without, those with the most work first.
 */
#include "frontend/cast_trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many programs a search compiles and runs, by an estimate of what each takes. */
enum { MIN_TRIALS = 24, MAX_TRIALS = 160, GIVE_BACK = 12, BISECTION = 8 };
static const double search_seconds = 5;

struct cast_search {
    struct cast_check *k;
    const struct cast_product **all; /* those that are cast, then the unseen ones */
    int n, unseen;                   /* of the former, of the latter */
    double target;
    bool *keep; /* the best so far */
    int kept;
    struct measure measure; /* of it; error 0 while all are kept */
    double *local;          /* of each: the error when it is cast alone, or with its neighbours */
    int *order;             /* by that */
    double *without;        /* of each: the error when it was cast too, and how many with it */
    int *together;
    int trials, max;
    struct cast_product *rows; /* scratch */
};

static bool compile(struct cast_search *s, const bool *keep, struct trial *t)
{
    int nkeep = 0;
    for (int i = 0; i < s->n + s->unseen; i++)
        if (i >= s->n || keep[i])
            s->rows[nkeep++] = *s->all[i];
    s->trials++;
    return trial_compile(s->k, t, s->rows, nkeep);
}

static int count(const struct cast_search *s, const bool *keep)
{
    int n = 0;
    for (int i = 0; i < s->n; i++)
        n += keep[i];
    return n;
}

/* Tries a selection and takes it if it is good enough. False: the check itself failed. */
static bool attempt(struct cast_search *s, const bool *keep, bool *good)
{
    struct trial t;
    struct measure m;
    int nkeep = count(s, keep);
    if (!compile(s, keep, &t))
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

/* ---- what each costs ---- */

static bool measure_locals(struct cast_search *s, bool *keep)
{
    int room = s->max - BISECTION - GIVE_BACK, size = (s->n + room - 1) / room;
    for (int at = 0; at < s->n; at += size) {
        struct trial t;
        struct measure m;
        int end = at + size < s->n ? at + size : s->n;
        for (int i = 0; i < s->n; i++)
            keep[i] = i < at || i >= end;
        if (!compile(s, keep, &t))
            return false;
        bool ok = trial_sample(s->k, t.m, &t.choices, &m);
        trial_free(&t);
        if (!ok)
            return false;
        for (int i = at; i < end; i++)
            s->local[i] = m.error;
    }
    return true;
}

/* By insertion: stable, and there are few. */
static void sort_by(const struct cast_search *s, const double *key, int *order)
{
    for (int i = 0; i < s->n; i++) {
        int at = i;
        for (; at > 0 && key[order[at - 1]] > key[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* ---- a selection ---- */

/* The most of the cheapest that can be cast. The first guess adds their errors as chance does. */
static bool bisect(struct cast_search *s, bool *keep)
{
    int low = 0, high = s->n, middle = 0; /* high is too many */
    for (double sum = 0; middle < s->n; middle++) {
        double e = s->local[s->order[middle]];
        if ((sum += e * e) > s->target * s->target)
            break;
    }
    for (int turn = 0; high - low > 1; turn++) {
        bool good;
        if (turn || middle <= low || middle >= high)
            middle = (low + high) / 2;
        for (int i = 0; i < s->n; i++)
            keep[s->order[i]] = i >= middle;
        if (!attempt(s, keep, &good))
            return false;
        *(good ? &low : &high) = middle;
    }
    return true;
}

static bool give_back(struct cast_search *s, bool *keep, int *order)
{
    double *lack = s->local; /* not needed any more: of work, the most first */
    int left = GIVE_BACK;
    for (int i = 0; i < s->n; i++)
        lack[i] = -s->all[i]->work;
    sort_by(s, lack, order);
    for (int i = 0; i < s->n && left > 0 && s->kept > 1; i++) {
        bool good;
        if (!s->keep[order[i]])
            continue;
        memcpy(keep, s->keep, sizeof *keep * (size_t)s->n);
        keep[order[i]] = false;
        left--;
        if (!attempt(s, keep, &good))
            return false;
    }
    return true;
}

static bool search(struct cast_search *s, bool *keep)
{
    bool good;
    if (s->n > 1) {
        if (!measure_locals(s, keep))
            return false;
        sort_by(s, s->local, s->order);
        if (!bisect(s, keep) || !give_back(s, keep, s->order))
            return false;
    }
    if (s->kept < s->n)
        return true;
    return attempt(s, s->keep, &good); /* all: for its measure */
}

/* ---- the answer ---- */

static const char *reason(const struct cast_search *s, int i, struct arena *a)
{
    if (i >= s->n)
        return "it changed nothing on the inputs of the check, or is in a body of control flow that did not: what its "
               "rounding does is not known";
    const char *others =
        s->together[i] > 1 ? arena_printf(a, " with %d others", s->together[i] - 1) : ",";
    return arena_printf(a, "cast as well%s the error would be %.3g, above the budget of %.3g",
                        others, s->without[i], s->k->budget);
}

static bool give(const struct cast_search *s, struct kept *out)
{
    int n = s->n + s->unseen;
    out->rows = ARENA_ARRAY(&out->arena, struct cast_product, n + 1);
    out->reasons = ARENA_ARRAY(&out->arena, const char *, n + 1);
    for (int i = 0; i < n; i++) {
        if (i < s->n && !s->keep[i])
            continue;
        struct cast_product *row = &out->rows[out->count];
        *row = *s->all[i];
        row->name = arena_strdup(&out->arena, row->name);
        row->source = arena_strdup(&out->arena, row->source);
        out->reasons[out->count++] = reason(s, i, &out->arena);
    }
    out->measure = s->measure;
    return true;
}

static void init(struct cast_search *s, struct arena *a, const struct cast_plan *plan,
                 const bool *unseen)
{
    s->all = ARENA_ARRAY(a, const struct cast_product *, plan->nproducts + 1);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < plan->nproducts; i++)
            if (plan->products[i].cast && unseen[i] == (pass == 1))
                s->all[s->n + s->unseen] = &plan->products[i], *(pass ? &s->unseen : &s->n) += 1;
    s->keep = ARENA_ARRAY(a, bool, s->n + 1);
    s->rows = ARENA_ARRAY(a, struct cast_product, plan->nproducts + 1);
    s->local = ARENA_ARRAY(a, double, s->n + 1);
    s->without = ARENA_ARRAY(a, double, s->n + 1);
    s->order = ARENA_ARRAY(a, int, s->n + 1);
    s->together = ARENA_ARRAY(a, int, s->n + 1);
    double max = search_seconds / fmax(s->k->trial_seconds, 1e-6);
    s->max = max < MIN_TRIALS ? MIN_TRIALS : max > MAX_TRIALS ? MAX_TRIALS : (int)max;
}

bool cast_search(struct cast_check *k, const struct cast_plan *plan, const bool *unseen,
                 double error, double target, struct kept *out)
{
    struct arena a = {0};
    struct cast_search s = {.k = k, .target = target};
    *out = (struct kept){.measure = {.output = -1}};
    init(&s, &a, plan, unseen);
    bool all = error > 0;
    memset(s.keep, all, (size_t)s.n);
    s.kept = all ? s.n : 0;
    for (int i = 0; i < s.n; i++)
        s.without[i] = error, s.together[i] = s.n;
    bool ok = (!all || search(&s, ARENA_ARRAY(&a, bool, s.n + 1))) && give(&s, out);
    arena_free(&a);
    return ok;
}

/* ---- what no input has reached ---- */

/* Whether casting the products of one body alone changes an output. */
static bool changes(struct cast_check *k, const struct cast_plan *plan, int branch,
                    struct cast_product *rows, bool *yes)
{
    struct trial t;
    struct measure m;
    int n = 0;
    for (int i = 0; i < plan->nproducts; i++)
        if (plan->products[i].branch != branch)
            rows[n++] = plan->products[i];
    if (!trial_compile(k, &t, rows, n))
        return false;
    bool ok = trial_measure(k, t.m, &t.choices, true, 0, &m);
    trial_free(&t);
    *yes = m.error > 1e-6; /* less than any cast type rounds */
    return ok;
}

bool cast_unseen(struct cast_check *k, const struct cast_plan *plan, bool *unseen)
{
    enum { MAX_BRANCHES = 16 };
    int branches = 0;
    struct arena a = {0};
    struct cast_product *rows = ARENA_ARRAY(&a, struct cast_product, plan->nproducts + 1);
    bool ok = true;
    for (int i = 0; i < plan->nproducts; i++)
        if (plan->products[i].cast && plan->products[i].branch > branches)
            branches = plan->products[i].branch;
    for (int b = 1; ok && b <= branches; b++) {
        bool seen = false;
        if (b <= MAX_BRANCHES)
            ok = changes(k, plan, b, rows, &seen);
        for (int i = 0; i < plan->nproducts; i++)
            unseen[i] |= plan->products[i].branch == b && !seen;
    }
    arena_free(&a);
    return ok;
}
