/*
 * Between the files that bind kernels to shapes: bind_tiles.c places tiles, bind_pattern.c makes patterns of plain
 * integers, bounds.c proves that they stay inside their tensors, bind_kernel.c makes instructions of them.
 */
#ifndef RUNTIME_EXEC_BIND_KERNEL_H
#define RUNTIME_EXEC_BIND_KERNEL_H

#include "runtime/exec/state.h"

/*
 * Figures of programs beyond LIMIT are refused. What executors compute from them, offset + terms,
 * steps times counts, limits of clips, is refused beyond MAX_REACH: so all arithmetic of a run is
 * exact in 64 bits, and the proof, in 128, is about the very same numbers.
 */
#define LIMIT       (INT64_C(1) << 46)
#define MAX_REACH (INT64_C(1) << 60)
enum { MAX_TILE_BYTES = 1 << 30 };
enum { TURNS_A_STEP = 128 }; /* of a grid and its loops: that many are a step of a run's limit */

struct binder {
    const struct model *m;
    const struct kernel *k;
    const int64_t *values;
    struct arena *a;
    struct diag *d;
    int lanes;
    struct bound_kernel *out;
    int64_t *tile_at, *tile_size; /* bytes */
    bool by_address;              /* tiles lie where the archive says: those that live at different times may meet */
    int64_t *none;                /* steps and counts of absent operands; nobody writes there */
    int64_t var_count[MAX_VARS];  /* largest counts; 0: not open */
    int alike;                    /* instructions from here on may run together */
    int64_t touched;              /* bytes that operands touch in an instance, about */
    double work;                  /* of an instance, for limits: turns, and bytes touched in them */
};

struct pattern {
    struct operand o; /* its steps and counts are those below */
    int64_t step[MAX_AP_RANK], count[MAX_AP_RANK];
    struct clip clip[MAX_AP_RANK];
    int nclips;
};

/* The value of a dim that is known and within LIMIT. */
bool bind_value(const struct binder *b, dim_t dim, int64_t *out);
/* base + terms, times unit; terms of variables with one value are left out. */
bool bind_affine(struct binder *b, const struct affine *a, int64_t unit, int64_t *base, uint16_t *nterms,
                 const struct term **terms);

static inline bool is_reduced(const struct insn_info *info, int operand)
{
    return info->ap[operand].reach == REACH_REDUCED || info->ap[operand].reach == REACH_PER_ROW;
}

/* Sizes and places of tiles, which are in the scratch arena. */
bool bind_tiles(struct binder *b, struct arena *scratch);

/* The shape of all operands of an instruction, whose last `inner` dims stay apart from the others, and as they are
 * unless `merge_inner`. */
bool join_patterns(struct binder *b, struct bound_insn *i, struct pattern *p, int inner, bool merge_inner);

/* Operand n of an instruction, with its counts and steps as the instruction has them. */
bool bind_operand(struct binder *b, const struct insn *insn, int n, struct pattern *p);
/* Outer dims of one element for operands of lower rank. */
void align_pattern(struct pattern *p, int rank);

enum { MAX_JOINT = 32 }; /* operands that have one shape */
/* The elements that an elementwise instruction computes, dims and clips as it has them. */
struct joint_shape {
    int rank, nclips;
    int64_t count[MAX_AP_RANK];
    struct clip clip[MAX_AP_RANK];
};
/* False where its result does not say it all. */
bool insn_shape(struct binder *b, const struct insn *insn, struct joint_shape *out);
bool same_shape(const struct joint_shape *x, const struct joint_shape *y);
/* With as few dims as all the operands allow, whose steps become those of them. */
void merge_shape(struct binder *b, const struct joint_shape *s, struct operand *const *o, int n, struct shape *out);

/* What the limit of a clip becomes stays within MAX_REACH, after `times` its figures too. */
bool clip_within_reach(const struct binder *b, const struct clip *c, int64_t times);
/* The same for base + terms. */
bool number_within_reach(const struct binder *b, int64_t base, int nterms,
                         const struct term *terms);
/* Every element that the pattern reaches while its kernel runs lies in its tensor or tile, and
 * every number on the way is within reach. */
bool check_bounds(struct binder *b, const struct pattern *p, const struct ap *ap, const char *what);
/* The same for packed weights, which are read in whole blocks. */
bool check_packed(struct binder *b, const struct pattern *p, const struct ap *ap, const char *what);

#endif
