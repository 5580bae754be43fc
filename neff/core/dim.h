/*
 * Dimensions: constants, or expressions over named symbols.
 *
 * A dim_t is an int64_t. Values above DIM_SYMBOLIC are constants (negative ones occur in shape
 * arithmetic and as contents of small integer tensors); the others name an expression in a
 * dim_table. Expressions are interned and simplified, so equal expressions are equal handles, and
 * arithmetic on two constants never touches the table. A program stores its table; the runtime
 * evaluates it.
 *
 * Symbols are bound by the dims of the program's inputs, or at run time by the operator that
 * defines them (the number of non-zeros, the length of a loop's scan output).
 */
#ifndef NEFF_DIM_H
#define NEFF_DIM_H

#include "neff/base/arena.h"
#include "neff/base/diag.h"

#include <stdint.h>

typedef int64_t dim_t;

#define DIM_SYMBOLIC (INT64_MIN + (INT64_C(1) << 31))
/* The least and the greatest constant: arithmetic ends there rather than become a handle. */
#define DIM_LOWEST  (DIM_SYMBOLIC + 1)
#define DIM_HIGHEST (INT64_MAX - 1)
static inline bool dim_is_const(dim_t d)
{
    return d > DIM_SYMBOLIC;
}
static inline int dim_index(dim_t d)
{
    return (int)(d - INT64_MIN);
}
/* Whether all n are constants of 1 and more. */
static inline bool dims_are_positive(const dim_t *d, int n)
{
    for (int i = 0; i < n; i++)
        if (!dim_is_const(d[i]) || d[i] < 1)
            return false;
    return true;
}

enum dim_op {
    DIM_SYM,
    DIM_ADD,
    DIM_MUL,
    DIM_FLOORDIV,
    DIM_CEILDIV,
    DIM_MOD,
    DIM_MIN,
    DIM_MAX,
    DIM_BROADCAST, /* of dims that are equal or 1, the one that is not 1; -1 for others */
    DIM_PITCH, /* a, or the capacity of state b of the program where the runtime has one: see program.h */
    DIM_OPS
};
extern const char *const dim_op_names[DIM_OPS]; /* "sym", "add", "mul", "floordiv", ... */

struct dim_node {
    uint8_t op;    /* enum dim_op */
    bool runtime;  /* depends on a symbol that is only known while running */
    int16_t depth; /* of nested operations */
    int32_t size;  /* operations, constants and symbols in its text */
    dim_t a, b;    /* operands; DIM_SYM: a is the number of the symbol */
};

struct dim_symbol {
    const char *name; /* unique in the table */
    bool runtime;     /* defined by an operator while running, not by an input's dim */
    int64_t max;     /* inputs with a larger dim are refused; 0: no limit */
    int64_t size;    /* the only one that inputs may have; 0: callers choose */
    /* The first dim of some inputs and no other one of inputs; every result has its parts one after the other along its
     * first dim, and each depends on that part of the inputs alone: see passes/separable.c. */
    bool separable;
};

/* Bytes that tensors other than weights find in the caches of most processors: where those of a separable batch have
 * more, it is computed in parts. */
enum { BATCH_CACHE = 8 << 20 };

/*
 * No honest model comes near these: the deepest expression of those known has 40 levels. They bound
 * the stack and the time of everything that walks an expression, printing included.
 */
enum {
    DIM_MAX_DEPTH = 1 << 10,
    DIM_MAX_SIZE = 1 << 14,
    DIM_MAX_NODES = 1 << 20,
    DIM_MAX_WORK = 1 << 27, /* steps of arithmetic on the expressions of one table */
};

struct dim_table {
    struct arena *arena;
    struct dim_node *nodes;
    int nnodes, nodes_cap;
    struct dim_symbol *symbols;
    int nsymbols, symbols_cap;
    uint32_t *hash;  /* node number + 1 by hash of (op, a, b) */
    uint32_t *names; /* symbol number + 1 by hash of its name */
    int hash_cap, names_cap;
    int64_t work;
    /* An expression, or what it took to make them, exceeds a limit: results since then are wrong.
     * Looked at after each shape rule, and when a program is checked. */
    bool too_large;
};

void dim_table_init(struct dim_table *t, struct arena *a);
/* For readers of files: nodes as they are written, operands before those that use them. Fails when
 * there is an equal one, and past a limit. */
bool dim_table_add_node(struct dim_table *t, struct dim_node n, struct diag *d);
/* Takes the name as it is; false when there is one of that name. */
bool dim_table_add_symbol(struct dim_table *t, struct dim_symbol s);
/* *t, which has an arena, becomes a copy: the same handles mean the same. */
void dim_table_copy(struct dim_table *t, const struct dim_table *from);
/* Number of the symbol; -1: none. */
int dim_find_symbol(const struct dim_table *t, const char *name);

/* The symbol of that name, made when missing. */
dim_t dim_symbol(struct dim_table *t, const char *name);
/* A new symbol with a name made from `stem`, defined while running. */
dim_t dim_fresh(struct dim_table *t, const char *stem);
/* The symbol of that name, defined while running; made when missing. */
dim_t dim_symbol_runtime(struct dim_table *t, const char *name);
/*
 * d is known to be at most `max`: the model is meaningless otherwise. Limits the symbol when d is
 * a symbol of inputs plus a constant; true when that is news. Dims that exist stay as they are.
 */
bool dim_at_most(struct dim_table *t, dim_t d, int64_t max);
/* The dim that b is the minimum of, besides a constant, which is *max; false for other dims. */
bool dim_is_limited(const struct dim_table *t, dim_t b, dim_t *a, int64_t *max);
/* A constant that d is known to be a multiple of: that of a product, 1 for other expressions. */
int64_t dim_constant_factor(const struct dim_table *t, dim_t d);
/* Number of the symbol when d is a bare symbol, else -1. */
int dim_as_symbol(const struct dim_table *t, dim_t d);

dim_t dim_add(struct dim_table *t, dim_t a, dim_t b);
dim_t dim_sub(struct dim_table *t, dim_t a, dim_t b);
dim_t dim_mul(struct dim_table *t, dim_t a, dim_t b);
/* Quotients cancel equal factors, which are taken not to be 0. */
dim_t dim_floordiv(struct dim_table *t, dim_t a, dim_t b); /* towards minus infinity; b 0 gives 0 */
dim_t dim_ceildiv(struct dim_table *t, dim_t a, dim_t b);
dim_t dim_mod(struct dim_table *t, dim_t a, dim_t b); /* a - floordiv(a, b) * b; b 0 gives a */
dim_t dim_min(struct dim_table *t, dim_t a, dim_t b);
dim_t dim_max(struct dim_table *t, dim_t a, dim_t b);
dim_t dim_broadcast(struct dim_table *t, dim_t a, dim_t b);
dim_t dim_pitch(struct dim_table *t, dim_t length, int state);
dim_t dim_make(struct dim_table *t, int op, dim_t a, dim_t b); /* any of these */
/* Bounds that hold whatever the symbols are, which are taken to be 0 or more. INT64_MIN and
 * INT64_MAX: none. */
void dim_bounds(const struct dim_table *t, dim_t d, int64_t *low, int64_t *high);
bool dim_is_runtime(const struct dim_table *t, dim_t d);
/* d with every symbol s replaced by with[s] (DIM_NOT_BOUND: kept). */
#define DIM_NOT_BOUND INT64_MAX
dim_t dim_substitute(struct dim_table *t, dim_t d, const dim_t *with);
/* d of another table, with[s] standing for its symbol s; DIM_NOT_BOUND when one of d's has none. */
dim_t dim_translate(struct dim_table *t, const struct dim_table *from, dim_t d, const dim_t *with);

/*
 * Evaluation: values[i] for each node of the table, computed in one sweep from symbol values
 * (symbol_values[s], DIM_NOT_BOUND when unknown; unknown operands give DIM_NOT_BOUND).
 */
void dim_eval_all(const struct dim_table *t, const int64_t *symbol_values, int64_t *values);
static inline int64_t dim_value(const int64_t *values, dim_t d)
{
    return dim_is_const(d) ? d : values[dim_index(d)];
}
/* The same with capacities of n states, 0 where there is none. */
void dim_eval_with(const struct dim_table *t, const int64_t *symbol_values, const int64_t *capacities, int n,
                   int64_t *values);
/* One expression, recursively; states have no capacity. Without values: those of symbols that have a size. */
int64_t dim_eval(const struct dim_table *t, const int64_t *symbol_values, dim_t d);
/* What d is in every call, constants and symbols with a size being known; DIM_NOT_BOUND where callers choose. */
int64_t dim_given(const struct dim_table *t, dim_t d);

/* Text: `batch`, `3`, `floordiv(h+2,2)`, `2*seq+1`; parsed back by dim_parse. The text lives in
 * arena. */
const char *dim_text(const struct dim_table *t, struct arena *arena, dim_t d);
/* A name that text forms write without quotes. */
bool dim_plain_name(const char *name);
/* Parses an expression at *s and advances it. */
bool dim_parse(struct dim_table *t, const char **s, dim_t *out, struct diag *d);

#endif
