/*
 * One HLO instruction on its way into the graph, and the table of how each opcode gets there.
 *
 * Tuples do not exist in the graph: an instruction's value is the list of its leaves, the arrays
 * inside its shape depth first; tokens have none. The importer (import.c) resolves operands to
 * leaves and hands them to the opcode's lowering function, which builds with build.h and stores one
 * value per leaf in l->out. The importer then checks them against the instruction's shape. Opcodes
 * that op.def names in its `hlo` column are that operator and need no function.
 *
 * A computation applied to scalars (of reduce, sort, scatter, ...) may be imported on vectors: every
 * scalar stands for a vector of independent ones, so that one run of it serves many elements. Only
 * opcodes marked so in the table admit it.
 */
#ifndef FRONTEND_HLO_LOWER_H
#define FRONTEND_HLO_LOWER_H

#include "frontend/hlo/syntax/hlo.h"
#include "passes/build.h"

struct hlo_importer;
struct import_options;

struct leaves {
    int count;
    struct value **v;
};

struct hlo_lower {
    struct hlo_importer *im;
    struct builder b[1]; /* of its nodes */
    const struct hlo_instruction *i;
    struct leaves *operands; /* one per operand */
    struct leaves out;       /* count is set; the values are to be filled in */
    bool vectors;
};

typedef bool (*hlo_lower_fn)(struct hlo_lower *l);

enum { HLO_VECTORS = 1 }; /* a flag of lower_ops.def: works on vectors of scalars as it stands */

struct hlo_row {
    hlo_lower_fn lower; /* NULL: not supported, for the reason given */
    const char *reason;
};
const struct hlo_row *hlo_row(enum hlo_opcode op); /* lower_table.c */
/* The operator whose meaning the opcode is, by op.def; OP_COUNT for most. */
enum op hlo_same_op(enum hlo_opcode op);

/* ---- custom-call targets (lower_custom.c) ---- */

/* lower_lapack.c: custom-calls of dense linear algebra. */
bool hlo_is_lapack(const char *target); /* one of lapack_*, cusolver_*, hipsolver_* that is known */
bool hlo_target_lapack(struct hlo_lower *l);
bool hlo_target_tridiagonal(struct hlo_lower *l);
bool hlo_target_qr(struct hlo_lower *l);
bool hlo_target_reflectors(struct hlo_lower *l);
bool hlo_target_lu(struct hlo_lower *l);
bool hlo_target_permutation(struct hlo_lower *l);
bool hlo_target_eigh(struct hlo_lower *l);

struct hlo_target {
    const char *name; /* ends in '*': any target that begins so */
    hlo_lower_fn lower;
    const char *doc;
};
extern const struct hlo_target hlo_targets[];
extern const int hlo_target_count;
const struct hlo_target *
hlo_target_find(const struct hlo_instruction *call); /* NULL when not supported */
/* Why this call cannot be lowered, in the arena: its target is unknown, or a kernel whose name and
 * grid it tells. */
const char *hlo_custom_call_reason(const struct hlo_importer *im, struct arena *a,
                                   const struct hlo_instruction *i);
/* custom_kernel.c: calls of kernels written by hand, which are not in the table. */
bool hlo_is_kernel(const struct hlo_importer *im, struct arena *a, const struct hlo_instruction *i);
bool hlo_lower_kernel(struct hlo_lower *l);
/* custom_op.c: calls of operators of the user's own (--custom-op), which come first. */
bool hlo_is_custom_op(const struct hlo_importer *im, const struct hlo_instruction *i);
bool hlo_lower_custom_op(struct hlo_lower *l);
const char *hlo_kernel_reason(const struct hlo_importer *im, struct arena *a,
                              const struct hlo_instruction *i);

/* A graph of a module, whose memory `release` gives back when the graph is freed, or at once after
 * a failure (NULL). */
struct graph *hlo_import_module(struct hlo_module *m, const struct import_options *o,
                                void (*release)(void *), void *arg, struct diag *d);

/* ---- what lowering functions need from the importer (import.c) ---- */

/* Number of arrays in a shape. */
int hlo_leaf_count(const struct hlo_shape *s);
/* Shape of leaf k. */
const struct hlo_shape *hlo_leaf(const struct hlo_shape *s, int k);
struct type hlo_type_of(const struct hlo_shape *s);
/* The computation's instructions put into l->b->r, on the given leaves of its parameters. */
bool hlo_inline(struct hlo_lower *l, const struct hlo_computation *c, const struct leaves *args,
                int nargs, struct leaves *result);
/* A region of the computation, whose parameters are the leaves of all its parameters, with its
 * return. On vectors each parameter is one whose length only running tells. */
bool hlo_region(struct hlo_lower *l, const struct hlo_computation *c, struct region *r, bool vectors);
/* Whether every instruction of the computation, and of those it calls, may be imported on vectors. */
bool hlo_admits_vectors(const struct hlo_computation *c);
/* A constant for a literal that is one array. */
struct value *hlo_constant(struct hlo_lower *l, const struct hlo_literal *literal);

#endif
