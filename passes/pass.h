/*
 * Passes: functions from graph to graph, run in the order of passes.def.
 */
#ifndef PASSES_PASS_H
#define PASSES_PASS_H

#include "passes/ir/options.h"

struct pass {
    const char *name, *doc;
    int from_level; /* runs at this -O level and above */
    bool (*run)(struct graph *g, const struct options *o, struct diag *d);
};

#define PASS(id, from_level, doc)                                                                  \
    bool pass_##id(struct graph *g, const struct options *o, struct diag *d);
#include "passes/passes.def"

extern const struct pass passes[];
extern const int npasses;

/* Refuses tensors and loops that no machine can hold or end (limits.c). Needs types. */
bool limits_check(struct graph *g, struct diag *d);

/*
 * Patterns that a pass leaves as they are, since a later one rewrites them whole. Each is a predicate of the graph as
 * it stands, which both passes read: nothing is rewritten on the promise of another pass, and nothing is taken back.
 */
/* A dequantised constant that products of integers read (integer_product.c): pass fold keeps it for pass quantize, */
bool is_integer_weight(const struct options *o, const struct node *n);
/* or for pass weight_only (weight_only.c). */
bool is_weight_only_weight(const struct options *o, const struct node *n);
/* A normalisation that is one of rows with channels first (norms.c): pass layout keeps it for pass norms, unless
 * channels lie last there anyway. */
bool is_norm_of_rows(const struct node *n);

/* Refuses a --keep-fp32 that matches no node of the graph as it was imported (autocast.c). */
bool keep_fp32_check(struct graph *g, const struct options *o, struct diag *d);

/* Runs the pipeline; the graph is verified before and after (after every pass when asked). */
bool passes_run(struct graph *g, const struct options *o, struct diag *d);

/* Types of every value and contents of small integer tensors, over the whole graph or for one new
 * node. */
bool infer_types(struct graph *g, struct diag *d);
bool infer_node(struct graph *g, struct node *n, struct diag *d);

/*
 * Runs a region on concrete values by the plain routines, node by node: the reference interpreter.
 * Used by constant folding and --verify. `on_node` (may be NULL) sees every node's call after it
 * has run, and may change the elements of its results.
 */
struct op_call;
struct interp_hooks {
    bool (*on_node)(void *user, struct node *n, struct op_call *call);
    void *user;
    /* Of kernels written by hand, which have no plain routine; NULL: their calls fail. */
    bool (*run_kernel)(void *user, struct op_call *call);
};
bool interpret(struct graph *g, struct region *r, const struct tensor *args, int nargs,
               struct tensor *results, int nresults, const struct interp_hooks *hooks,
               struct diag *d);

/* One line of --time-passes, on stderr: the stage, its time, the peak memory of the process so far.
 */
void report_time(const char *name, double seconds);

#endif
