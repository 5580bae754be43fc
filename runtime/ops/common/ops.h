/*
 * Every operator's meaning: a shape rule and a plain routine.
 *
 * A family file (runtime/ops/<family>.c) holds both for its rows of op.def:
 *
 *     bool infer_softmax(struct infer *f)   types of the results from types of the operands
 *     bool eval_softmax(struct op_call *c)  the results: obvious C, every admitted dtype, any shape
 *
 * They have four readers: constant folding, the node-by-node reference of `xcc --verify`, the
 * GpSimd engine, and the tests of tile programs. Shape rules serve the compiler with symbolic dims
 * and the runtime with constant ones: written with dim_* arithmetic, the same code does both.
 */
#ifndef RUNTIME_OPS_OPS_H
#define RUNTIME_OPS_OPS_H

#include "neff/core/guard.h"
#include "neff/core/op.h"

#include <stdlib.h>

/* ---- shape rules ---- */

/* Contents of a small integer or bool tensor, as dims in row-major order. */
struct content {
    const dim_t *v;
    int64_t n; /* -1: not known */
};

struct infer {
    enum op op;
    const struct attrs *attrs;
    struct dim_table *dims; /* at run time a scratch table that stays empty */
    struct arena *arena;
    struct diag *d;
    bool concrete; /* run time: all dims constant, contents of operands available */
    int nin, nout, nregions;
    const struct type *in;  /* kind VK_NONE: operand left out */
    struct type *out;       /* to be written; preset to VK_NONE */
    struct content *result; /* optional result contents, or NULL at run time; preset to unknown */
    /* What the rule may call; use the helpers below. */
    struct content (*read)(struct infer *f, int i);
    /* The same where some elements alone are known, the others DIM_NOT_BOUND; NULL at run time. */
    struct content (*read_known)(struct infer *f, int i);
    /* The operand's value when it is a constant of any type, else NULL. May be NULL itself. */
    const struct tensor *(*constant)(struct infer *f, int i);
    bool (*region)(struct infer *f, int region, const struct type *params, int nparams,
                   struct type *results, int max_results, int *nresults);
    /* A dim of a region's parameter that changes from turn to turn: a symbol of its own. The first
     * turn's is `operand`. */
    dim_t (*varying)(struct infer *f, int region, int param, int dim, dim_t operand);
    /* What cannot be judged before running (require.h), and names of operands; NULL at run time. */
    void (*guard)(struct infer *f, const struct guard *g);
    const char *(*name)(struct infer *f, int i);
    void *user;
};

typedef bool (*infer_fn)(struct infer *f);
/* The rule of an operator is that one. */
#define INFER_AS(operator, rule)                                                                                       \
    bool infer_##operator(struct infer *f)                                                                             \
    {                                                                                                                  \
        return rule(f);                                                                                                \
    }

static inline bool has_input(const struct infer *f, int i)
{
    return i < f->nin && f->in[i].kind != VK_NONE;
}
/* Contents of operand i: unknown for floats, for large tensors and for what only running tells.
 * Each element may be an expression. */
struct content infer_content(struct infer *f, int i);
/* The same; of a small list of which some elements are known, the others are DIM_NOT_BOUND. */
struct content infer_known(struct infer *f, int i);
/* The operand as a constant tensor, floats included; NULL when it is none. */
const struct tensor *infer_tensor(struct infer *f, int i);
/* All elements constant; false when unknown. */
bool infer_constants(struct infer *f, int i, const int64_t **v, int64_t *n);
/* A scalar operand's constant; false when unknown. */
bool infer_scalar(struct infer *f, int i, int64_t *v);
void infer_set_content(struct infer *f, int i, const dim_t *v, int64_t n); /* copies */
/* Contents of a concrete integer or bool tensor. Values that no dim can have are clamped to the
 * nearest. */
struct content content_of_tensor(struct arena *a, const struct tensor *t);
dim_t content_clamp(int64_t v);
enum { MAX_CONTENT = 1024 }; /* longer contents are not kept */
/* A dim only known after running (compiler), e.g. dim_fresh; in the runtime an internal error. */
dim_t infer_unknown(struct infer *f, const char *stem);
/* f->out[i] = tensor of that type; rank RANK_UNKNOWN allowed with dims NULL. Always true. */
bool infer_out(struct infer *f, int i, int dtype, int rank, const dim_t *dims);
/* Normalises a negative axis; fails when out of range. */
bool infer_axis(struct infer *f, int64_t axis, int rank, int *out);
/* numpy broadcast of two or more shapes into *out (dtype not touched). Of two different
 * symbols the result is the one that is not 1 when they are bound: dim_broadcast. */
bool infer_broadcast(struct infer *f, const struct type *const *in, int n, struct type *out);
/* The rule of all elementwise rows. */
bool infer_elementwise(struct infer *f);

/* Checks number and kind of operands, then applies the rule of f->op: what callers outside use. */
bool infer_run(struct infer *f);

/* ---- plain routines ---- */

struct op_call;

/* Memory of a call (numeric.h), and what is kept of it for calls that follow. */
struct work_block {
    struct work_block *next;
    size_t bytes; /* what follows is aligned to 16 */
};
static inline void work_drop_spares(struct work_block **spares)
{
    for (struct work_block *b; (b = *spares) != NULL; free(b))
        *spares = b->next;
}

/* What surrounds a call. */
struct op_env {
    struct diag *d;
    /* Runs region `r` of the call. args are consumed (moved from); results are moved out. */
    bool (*run_region)(struct op_env *env, struct op_call *c, int r, struct tensor *args, int nargs,
                       struct tensor *results, int nresults);
    /* Type of result `result` of region `r` for parameters of these types, without running it: for
     * loops of no turns. A dim that only running tells is 0, a rank RANK_UNKNOWN. NULL: not known. */
    void (*result_type)(struct op_env *env, struct op_call *c, int r, const struct type *params, int nparams,
                        int result, struct type *type);
    /* Runs the kernel of a kernel_call on concrete operands; NULL: such calls fail. */
    bool (*run_kernel)(struct op_env *env, struct op_call *c);
    uint64_t random[4]; /* state of the generator behind ops without a seed */
    /* Runs job(arg, 0) to job(arg, n - 1), in any order, some at once; NULL: they run in order. */
    void (*parallel)(struct op_env *env, int n, void (*job)(void *arg, int i), void *arg);
    int64_t max_bytes;  /* that a result may take; 0: as many as it needs */
    struct work_block **work_spares; /* or NULL: nothing is kept */
    void **core_scratch; /* where memory for operators of libraries is kept, or NULL */
    bool guard_operands; /* of those operators, see runtime/custom/custom.h */
};

struct op_call {
    enum op op;
    const struct attrs *attrs;
    int nin, nout, nregions;
    struct tensor *const *in; /* kind VK_NONE: left out. Only read */
    struct tensor *const *out;
    struct op_env *env;
    void *user; /* of whoever runs regions */
    /* Of cache_append whose operand 0 and result are a state in one memory (runtime/exec/states.c), else NULL. */
    struct op_cache {
        int64_t capacity; /* rows from one head to the next */
        int64_t written;  /* rows behind these are zeros */
    } *cache;
};

typedef bool (*eval_fn)(struct op_call *c);
/* The routine of an operator is that one. */
#define EVAL_AS(operator, routine)                                                                                     \
    bool eval_##operator(struct op_call *c)                                                                            \
    {                                                                                                                  \
        return routine(c);                                                                                             \
    }
eval_fn op_eval(enum op op);

static inline bool has_operand(const struct op_call *c, int i)
{
    return i < c->nin && c->in[i]->kind != VK_NONE;
}
static inline bool wants_result(const struct op_call *c, int i)
{
    return i < c->nout && c->out[i];
}

/*
 * Runs one operator: checks arity, applies the shape rule to the actual operands and allocates the
 * results (unless the operator is data dependent, whose routine does that), then calls the routine.
 * Results that are already tensors of the right type and shape are used as they are, so planned
 * memory stays in use.
 */
bool op_run(struct op_call *c);
/* As op_run, with results already allocated and shapes known to be right: the hot path. */
static inline bool op_run_planned(struct op_call *c)
{
    return op_eval(c->op)(c);
}

/* Whether t is a tensor of that element type and those dims, all constant. */
bool has_type(const struct tensor *t, const struct type *type);
/* For routines of data-dependent operators: memory for result i. NULL after a failure. */
struct tensor *call_out(struct op_call *c, int i, int dtype, int rank, const int64_t *dims);
/* Whether a result may take so many bytes: asked before there is memory for it. */
bool call_may_take(struct op_call *c, int dtype, int rank, const int64_t *dims);
/* Routines that move elements may leave string results pointing into their operands; this, called
 * last, gives result i bytes of its own. Nothing to do for other types. */
bool own_strings(struct op_call *c, int i);
/* The routine of all UNARY, PARAMETRIC, BINARY and COMPARE rows. */
bool eval_elementwise(struct op_call *c);

#define OP(id, ...)                                                                                \
    bool infer_##id(struct infer *f);                                                              \
    bool eval_##id(struct op_call *c);
#define UNARY(...)
#define PARAMETRIC(...)
#define BINARY(...)
#define COMPARE(...)
#include "neff/core/op.def"

#endif
