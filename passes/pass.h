/*
 * Passes: functions from graph to graph, run in the order of passes.def.
 */
#ifndef PASSES_PASS_H
#define PASSES_PASS_H

#include "passes/ir/ir.h"

enum auto_cast { CAST_NONE, CAST_MATMULT, CAST_ALL };

/* What the user asked for. Strings are borrowed. */
struct options {
    int opt_level;         /* 0..3 */
    int auto_cast;         /* enum auto_cast */
    int cast_type;         /* "bf16" DT_BF16, "fp16" DT_F16, "tf32" CAST_TF32, "fp8_e4m3" DT_F8E4M3FN */
    const char **keep_fp32; /* globs by node name, or op:Type */
    int nkeep_fp32;
    bool channels_last;    /* the target wants rows x features */
    bool explain;          /* print decisions */
    bool verify_passes;    /* run the verifier after every pass */
    const char *print_after; /* pass name or "all" */
    const char *only;      /* comma-separated pass names, or NULL for all */
    bool time_passes;
};
enum { CAST_TF32 = 1000 }; /* a cast type that is not an element type: f32 rounded to 10 mantissa bits */

struct pass {
    const char *name, *doc;
    int from_level; /* runs at this -O level and above */
    bool (*run)(struct graph *g, const struct options *o, struct diag *d);
};

extern const struct pass passes[];
extern const int npasses;

/* Runs the pipeline; the graph is verified before and after (after every pass when asked). */
bool passes_run(struct graph *g, const struct options *o, struct diag *d);

/*
 * A decision about a node that a user could ask about: a stable code ("fuse.two-consumers") and a sentence.
 * Printed when --explain is given. Call it where the decision is made.
 */
void why(const struct options *o, const struct node *n, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Types of every value and contents of small integer tensors, over the whole graph or for one new node. */
bool infer_types(struct graph *g, struct diag *d);
bool infer_node(struct graph *g, struct node *n, struct diag *d);

/* Makes, places before `at`, and infers a node with one result; returns the result or NULL after a failure. */
struct value *emit(struct node *at, enum op op, struct value *const *in, int nin,
                   const struct attrs *attrs, const char *name, struct diag *d);

/*
 * Runs a region on concrete values by the plain routines, node by node: the reference interpreter. Used by
 * constant folding and --verify. `on_node` (may be NULL) sees every node's results.
 */
struct interp_hooks {
    bool (*on_node)(void *user, struct node *n, struct tensor *const *results);
    void *user;
};
bool interpret(struct graph *g, struct region *r, const struct tensor *args, int nargs,
               struct tensor *results, int nresults, const struct interp_hooks *hooks, struct diag *d);

#endif
