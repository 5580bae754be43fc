/*
 * Regions that loops run again and again, made into straight code once per plan: one operation per
 * instruction, of which single numbers are computed in place by one dispatch each, and short rows
 * by one call of their kernel. A loop whose regions are such code is code itself, with its test and
 * what it carries from trip to trip; results are computed where they are carried to, where nothing
 * reads what lies there.
 *
 * Operands are slots and offsets. Addresses are put in when the code runs, unless they are as they
 * were the last time.
 */
#ifndef RUNTIME_EXEC_QUICK_H
#define RUNTIME_EXEC_QUICK_H

#include "runtime/exec/state.h"

/* Numbers in memory of any type. */
typedef float quick_f32 __attribute__((may_alias));
typedef uint8_t quick_u8;
typedef int32_t quick_i32 __attribute__((may_alias));
typedef uint32_t quick_u32 __attribute__((may_alias));
typedef int64_t quick_i64 __attribute__((may_alias));
typedef uint64_t quick_u64 __attribute__((may_alias));

/* Elements of so many bytes are moved whatever they are. */
#define QUICK_MOVES(X) X(1, quick_u8) X(4, quick_u32) X(8, quick_u64)

enum quick_code {
#define QUICK_BINARY(name, dtype, op, T, R, result)   QUICK_##name,
#define QUICK_CONVERT(name, to, from, T, R, result) QUICK_##name,
#include "runtime/exec/quick.def"
    QUICK_multiply_add, /* to = a b + c, one rounding where kernels fuse */
    QUICK_copy_1,
    QUICK_copy_4,
    QUICK_copy_8,
    QUICK_choose_1, /* to = c ? a : b */
    QUICK_choose_4,
    QUICK_choose_8,
    QUICK_row,    /* by its function */
    QUICK_step,   /* step `number` of region `row` has */
    QUICK_unless, /* c is false: `jump` operations on */
    QUICK_again,  /* c is true: `jump` operations back */
    QUICK_again_lt_i32, /* a < b: the same */
    QUICK_end
};
enum { QUICK_TO, QUICK_A, QUICK_B, QUICK_C, QUICK_OPERANDS };

struct quick_op;
typedef bool (*quick_row_fn)(struct context *c, const struct quick_op *op, struct diag *d);

struct quick_row {
    quick_row_fn run;
    int64_t n, step[QUICK_OPERANDS]; /* elements, and how far apart */
    uint8_t index;                   /* in the kernel table */
    const float *parameters; /* of activations */
    integer_fn integer;
    const struct bound_insn *insn;
    const struct bound_kernel *kernel;
    const struct small_products *product; /* its sizes; operands are those of the operation */
    int region, number; /* of QUICK_step */
    int rank;           /* of windows: in bytes, and the last start */
    const int64_t *stride, *max;
    size_t bytes;
    int nmoved; /* slots that are put into the window, each so far behind its start */
    const int32_t *moved;
    const int64_t *behind;
};

struct quick_op {
    uint16_t code;
    int32_t jump;
    char *p[QUICK_OPERANDS]; /* when linked */
    const struct quick_row *row;
};

struct quick_place { /* slot and bytes behind its start; QUICK_TILE: of the worker's tiles */
    int32_t slot;
    int64_t offset;
    const void *fixed; /* else, where it is not NULL: there */
};
enum { QUICK_TILE = -1, QUICK_NOTHING = -2 };

struct quick_line { /* an operation as planned */
    struct quick_op op;
    struct quick_place place[QUICK_OPERANDS];
    int64_t bytes[QUICK_OPERANDS]; /* from there on that it touches */
};

struct quick_region {
    struct quick_line *list;
    int count;     /* without the end */
    int64_t steps; /* of the region or a trip, for limits */
    int64_t trips; /* done when it failed */
    bool pure;     /* every operation touches its operands only */
    int body, moves, test; /* of a loop: where the trip begins, what it carries, the next test */
    const int32_t *carried; /* of a loop: slots of what it carries */
    int ncarried;
    struct quick_op *code;
    int nslots;
    int32_t *slots;  /* that places name */
    char **linked;   /* their addresses in the code; of tiles the last one */
    int nmoved;      /* slots that lie in windows while it runs, and where they lay before */
    int32_t *moved;
    char **home;
};

/* b->quick: per region, NULL where it must be run step by step. */
void plan_quick(const struct context *c, struct bound *b);

/* Runs the code of a region, steps that have none by `step`; limits are the caller's. */
typedef bool quick_step_fn(struct context *c, int region, int number, struct diag *d);
bool quick_run(struct context *c, struct quick_region *q, quick_step_fn *step, struct diag *d);

/* ---- loops ---- */

struct quick_move { /* what a loop carries, or a branch gives */
    int32_t from, to;
    size_t bytes;
    int64_t temporary; /* where the value waits when another move would overwrite it first; -1 */
    bool zeros;        /* a constant of them */
};
struct moves {
    int count;
    struct quick_move *list;
};

/* planned_control.c: the code of all planned loops. After plan_quick. */
void plan_loops(const struct context *c, struct bound *b);

/* A while's code: NULL when a region has none. After plan_quick. */
struct quick_region *quick_loop(const struct context *c, struct bound *b, int test, int body,
                                int32_t holds, const struct moves *each, const char *room);

/* quick_loop.c: linked code of a loop with jumps in it, and without moves that are not needed. */
void quick_shorten(const struct context *c, struct quick_region *q);

#endif
