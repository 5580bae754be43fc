/*
 * Between the files cast_*.c: programs of one model with other products in FP32, run and compared.
 */
#ifndef FRONTEND_CAST_TRIAL_H
#define FRONTEND_CAST_TRIAL_H

#include "frontend/cast_check.h"
#include "runtime/exec/exec.h"

enum { MAX_INPUT_SETS = 16 };

/* ---- inputs (cast_inputs.c) ---- */

struct input_sets {
    int count, nparams; /* sets, tensors of each */
    bool seeded;        /* made up, at least in part */
    struct tensor *in[MAX_INPUT_SETS];
};
/* Attempts: sizes for symbolic dims, the likeliest first. False for inputs that cannot be made up,
 * or files that do not fit. */
enum { SIZE_ATTEMPTS = 6 };
bool input_sets_make(struct input_sets *s, const struct program *p, const struct command *c,
                     int attempt, struct diag *d);
void input_sets_free(struct input_sets *s);
bool has_symbols(const struct program *p); /* whether attempts differ */

/* ---- choices (cast_choices.c) ---- */

/* Of each output, whether it holds a choice. The floats that choices are made by and from become
 * further outputs of the graph, `extra` of them. Infers types. */
struct choices {
    bool *held; /* per output, then per further output (false); in the graph's arena */
    int noutputs, extra;
};
bool choices_find(struct graph *g, struct choices *out, struct diag *d);

/* ---- one program (cast_trial.c) ---- */

struct trial {
    struct graph *g;
    struct model *m;
    struct cast_plan plan;
    struct choices choices;
};

struct measure { /* of a program beside its FP32 twin */
    double error;          /* what the budget is for: the larger of `largest` and the share of choices that differ */
    double largest;        /* relative to the output's largest value */
    int output;            /* with that; -1: none */
    int64_t differ, count; /* elements of outputs that hold choices */
};

struct cast_check {
    const char *path;
    const struct command *c;
    double budget;
    struct input_sets sets;
    struct trial twin;
    struct tensor *exact[2][MAX_INPUT_SETS]; /* its outputs, by fast and by strict kernels */
    int threads;
    double seconds; /* the most that a run may take */
    double trial_seconds; /* of one more program, as sizes tell them */
    int trials;           /* programs compiled and run */
    struct diag d;  /* why the check cannot be made */
};

/* Compiles the model once more: keep NULL: all in FP32; else but for these as the command says. */
bool trial_compile(struct cast_check *k, struct trial *t, const struct cast_product *keep,
                   int nkeep);
void trial_free(struct trial *t);
/* The FP32 twin; what was known of another is forgotten. */
bool twin_compile(struct cast_check *k);
/* Its outputs for all inputs. strict: by the kernels that compute the same bits everywhere. */
bool twin_run(struct cast_check *k, bool strict);
void twin_free(struct cast_check *k);
/* Runs and compares with them; the sets after one whose error is above `enough` are left out. */
bool trial_measure(struct cast_check *k, struct model *m, const struct choices *choices, bool strict,
                   double enough, struct measure *out);
/* The same by strict kernels, on all inputs: to compare products with each other. */
bool trial_sample(struct cast_check *k, struct model *m, const struct choices *choices,
                  struct measure *out);
/* Strict, unless the fast kernels leave no doubt whether the error is at most `limit`. */
bool trial_judge(struct cast_check *k, struct model *m, const struct choices *choices, double limit,
                 double enough, struct measure *out);

/* ---- what to keep (cast_search.c) ---- */

struct kept {
    struct cast_product *rows;
    const char **reasons;
    int count;
    struct measure measure; /* with these in FP32 */
    struct arena arena;
};
/* Of the products of `plan` that are cast: those in bodies of control flow that change nothing on
 * these inputs. Nobody has seen what they do, so they are to stay in FP32. */
bool cast_unseen(struct cast_check *k, const struct cast_plan *plan, bool *unseen);
/* Products of `plan`, whose error is too large, to keep in FP32 so that it is at most `target`: as
 * few as it finds, beside the unseen ones. error: 0 if it is not too large, and those are all. */
bool cast_search(struct cast_check *k, const struct cast_plan *plan, const bool *unseen,
                 double error, double target, struct kept *out);

#endif
