/*
 * The graph IR: typed SSA values, operators from neff/core/op.def, regions for control flow.
 *
 * A graph owns everything in one arena; nothing is freed before the graph is. Nodes of a region are
 * a doubly linked list in a topological order. Every region ends with a `return` node whose
 * operands are the region's results, so that all uses of values are operands of nodes. Regions may
 * use values of the regions around them. Constants are values without a node: they belong to the
 * graph and may be used anywhere; their data is borrowed (from a mapped model file, or from the
 * graph's arena).
 *
 * Absent optional operands are NULL.
 */
#ifndef PASSES_IR_IR_H
#define PASSES_IR_IR_H

#include "neff/core/op.h"

#include <stdio.h>

/* Ends the name of a value that is the model's value of the name before, with channels last. */
#define CHANNELS_LAST_NAME " (channels last)"

struct node;
struct region;
struct graph;
struct graph_guard;

struct use { /* operand `index` of `node` is this value; a list per value in no meaningful order */
    struct node *node;
    int index;
    struct use *next, *prev;
};

struct content_list { /* known elements of a small integer tensor; see runtime/ops/common/ops.h */
    const dim_t *v;
    int64_t n; /* -1: not known */
};

struct value {
    int id;           /* unique in the graph, in order of creation */
    const char *name; /* the model's name for it, or NULL */
    struct type type;
    struct node *def;              /* node that computes it; NULL for parameters and constants */
    int index;                     /* result number, or parameter number */
    struct region *param_of;       /* for parameters */
    const struct tensor *constant; /* for constants */
    struct content_list content;   /* filled by shape inference; n = -1 when unknown */
    const struct tensor *computed; /* by inference, from few known numbers; or NULL (passes/evaluate.h) */
    struct use *uses;
};

struct node {
    int id; /* unique in the graph, in order of creation */
    enum op op;
    const char *name;   /* the source node's name ("" when it has none) */
    const char *source; /* the source operator's type, e.g. "Conv", for messages */
    int nin, nout, nregions;
    struct value **in; /* set through node_set_input only; NULL when absent */
    struct use *in_uses;
    struct value **out;
    struct attrs attrs;
    struct region **regions;
    struct region *parent;
    struct node *prev, *next;
};

struct region {
    struct graph *graph;
    struct node *owner; /* NULL for the main region */
    int nparams;
    struct value **params;
    struct node *first, *last; /* last is the `return` once the region is finished */
};

struct io_alias { /* a result of main that the caller wants in a parameter's memory */
    int output, input;
    bool must; /* else: it may lie there */
};

struct graph {
    struct arena arena;
    struct dim_table dims;
    struct region *main; /* its parameters are the model's inputs, its return the outputs */
    const char *name;    /* of the model */
    const char *producer;
    const char **output_names; /* one per result of main; inputs are named by their values */
    int noutputs;
    const struct io_alias *aliases; /* as the model states them; text does not carry them */
    int naliases;
    const bool *donated; /* of each parameter of main, its memory is given up; NULL: of none */
    int next_value, next_node;
    bool typed;               /* inference has run: every value has a type */
    struct value **constants; /* every constant ever made, in order */
    int nconstants, constants_cap;
    struct graph_guard *guards; /* what inference assumed about sizes, see guards.h */
    int nguards, guards_cap;
    uint32_t *guard_index; /* guard number + 1 by its hash */
    int guard_index_cap;
    void **owned; /* large blocks from malloc, see graph_own */
    int nowned, owned_cap;
    void (*release)(void *); /* called by graph_free, e.g. to unmap the model file */
    void *release_arg;
};

struct graph *graph_new(void);
void graph_free(struct graph *g);

/* The graph frees the block (from malloc) when it is freed: for large constant data that passes
 * make. */
void graph_own(struct graph *g, void *block);

/* ---- making ---- */

struct region *region_new(struct graph *g, struct node *owner);
struct value *region_add_param(struct region *r, const struct type *t, const char *name);

/* A node with nin operands (NULL ones allowed) and nout new results of unknown type, not yet
 * placed. */
struct node *node_new(struct graph *g, enum op op, struct value *const *in, int nin, int nout,
                      const char *name);
void node_append(struct region *r, struct node *n);
void node_insert_before(struct node *at, struct node *n);
void node_insert_after(struct node *at, struct node *n);
/* Adds a region to the node (owner set). */
struct region *node_add_region(struct graph *g, struct node *n);
void node_set_input(struct node *n, int i, struct value *v);
void node_add_input(struct graph *g, struct node *n, struct value *v);
/* Takes the node out of its region, operands kept, to be placed elsewhere. */
void node_unlink(struct node *n);
/* Unlinks the node (its operands' uses too). Its results must be unused. */
void node_remove(struct node *n);

/* A constant; the tensor struct is copied into the arena, its data borrowed. */
struct value *constant_new(struct graph *g, const struct tensor *t, const char *name);
/* Data copied too. */
struct value *constant_copy(struct graph *g, int dtype, int rank, const int64_t *dims,
                            const void *data, const char *name);
struct value *constant_i64s(struct graph *g, const int64_t *v, int n); /* rank 1 */
struct value *constant_scalar(struct graph *g, int dtype, double v);   /* rank 0 */

/* Nobody will read this constant's elements again: its pages go back to the system (release.c).
 * Elements of other constants that share the memory are safe: then nothing happens. */
void constant_release(struct graph *g, const struct value *v);

/* ---- asking and changing ---- */

static inline struct node *region_return(const struct region *r)
{
    return r->last;
}
void value_replace(struct value *old, struct value *with); /* all uses */
int value_count_uses(const struct value *v);
bool value_has_one_use(const struct value *v);
static inline struct node *value_only_user(const struct value *v)
{
    return v->uses && !v->uses->next ? v->uses->node : NULL;
}
/* Whether the region is r or lies inside it. */
bool region_inside(const struct region *inner, const struct region *outer);
/* `node 'NAME' (Op)` for messages. */
const char *node_text(struct graph *g, const struct node *n);
/* All nodes of a region and of regions inside, each before its own regions; stops at false. */
bool region_walk(struct region *r, bool (*visit)(struct node *n, void *user), void *user);

/* ---- text (text.c, parse.c): print -> parse -> print is the identity ---- */

/* Prints the graph. Constants of more than `elide` elements print as `...` (then it cannot be
 * parsed back); elide < 0 prints everything. */
void graph_print(struct graph *g, FILE *out, int64_t elide);
struct graph *graph_parse(const char *text, size_t size, const char *file, struct diag *d);

/* ---- checking (verify.c) ---- */

/* Every rule above, and arity, dominance, types present. `where` names the pass for the message. */
bool graph_verify(struct graph *g, const char *where, struct diag *d);

#endif
