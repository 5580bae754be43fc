/*
 * StableHLO to HLO: an MLIR module becomes an hlo_module, which HLO's inference, checks and
 * lowering then treat like any other.
 *
 * An operation of the same meaning becomes the instruction of that opcode (stablehlo_ops.def);
 * others are composed of several. Operations with several results become an instruction with a
 * tuple and its elements. Functions become computations; so do regions, whose operands may belong
 * to computations around them (hlo_computation.captures).
 */
#ifndef FRONTEND_STABLEHLO_CONVERT_H
#define FRONTEND_STABLEHLO_CONVERT_H

#include "frontend/hlo/syntax/hlo.h"
#include "frontend/hlo/syntax/names.h"
#include "frontend/stablehlo/syntax/mlir.h"

/* What a value of MLIR has become. */
struct sh_value {
    struct hlo_instruction *i;
};

struct sh_scope { /* a computation under construction */
    struct hlo_computation *c;
    struct sh_scope *outer;
    int effect_capacity, capture_capacity;
};

struct sh_function {
    const struct mlir_op *op;
    const char *name;
    struct hlo_computation *computation; /* once it has been converted */
    bool busy;
};

struct sh_convert {
    struct arena *arena; /* of the HLO module */
    struct diag *d;
    const struct mlir_module *from;
    struct hlo_module *to;
    struct hlo_names names;
    struct sh_scope *scope;
    struct sh_function *functions;
    int function_count;
    int depth, fresh;
    const struct mlir_op *op; /* being converted */
    const char *argument;     /* name of the argument being converted, or NULL */
    /* the table of operations (convert_op.c), for operations that contain or are made of others */
    bool (*convert_op)(struct sh_convert *c, const struct mlir_op *op);
    bool (*convert_on_storage)(struct sh_convert *c, const struct mlir_op *op);
    bool placed;      /* the failure's text names its operation */
    bool verify_only; /* what cannot run here is no failure */
};

#define SH_ERROR(c, ...) fail((c)->d, __VA_ARGS__)

/* The whole module; NULL after a failure. */
struct hlo_module *stablehlo_convert(struct arena *a, const struct mlir_module *m, bool verify_only,
                                     struct diag *d);

/* ---- types and values (convert.c) ---- */

const struct hlo_shape *sh_shape(struct sh_convert *c, const struct mlir_type *t); /* NULL: fails */
enum hlo_type sh_type(int dtype);
struct hlo_instruction *sh_operand(struct sh_convert *c, const struct mlir_op *op, int k);
void sh_bind(struct sh_convert *c, struct mlir_value *v, struct hlo_instruction *i);
/* Results of an operation: the instruction itself, or the elements of its tuple. */
bool sh_bind_results(struct sh_convert *c, const struct mlir_op *op, struct hlo_instruction *i);

/* ---- making instructions ---- */

struct sh_attrs {
    int count;
    struct hlo_attr v[24];
};
void sh_set_int(struct sh_attrs *l, enum hlo_attr_id id, int64_t v);
void sh_set_ints(struct sh_convert *c, struct sh_attrs *l, enum hlo_attr_id id, const int64_t *v,
                 int n);
void sh_set_text(struct sh_convert *c, struct sh_attrs *l, enum hlo_attr_id id, const char *s,
                 size_t n);
void sh_set_pointer(struct sh_attrs *l, enum hlo_attr_id id, const void *p);
/* At the end of the computation under construction. shape NULL: inferred. NULL after a failure. */
struct hlo_instruction *sh_emit(struct sh_convert *c, enum hlo_opcode op,
                                const struct hlo_shape *shape, struct hlo_instruction *const *in,
                                int n, const struct sh_attrs *attrs);
struct hlo_instruction *sh_1(struct sh_convert *c, enum hlo_opcode op, struct hlo_instruction *x);
struct hlo_instruction *sh_2(struct sh_convert *c, enum hlo_opcode op, struct hlo_instruction *x,
                             struct hlo_instruction *y);
struct hlo_instruction *sh_cast(struct sh_convert *c, struct hlo_instruction *x, enum hlo_type t);
struct hlo_instruction *sh_scalar(struct sh_convert *c, enum hlo_type t, double v);
struct hlo_instruction *sh_like(struct sh_convert *c, const struct hlo_instruction *x, double v);
struct hlo_instruction *sh_literal(struct sh_convert *c, enum hlo_type t, int rank,
                                   const int64_t *dims, const void *data);
struct hlo_instruction *sh_broadcast(struct sh_convert *c, struct hlo_instruction *x,
                                     const struct hlo_shape *to, const int64_t *at);
/* The same to a shape that may have dims which are not stated: dim d is dim of_dim[d] of of[d]. */
struct hlo_instruction *sh_broadcast_sized(struct sh_convert *c, struct hlo_instruction *x,
                                           const struct hlo_shape *to, const int64_t *at,
                                           struct hlo_instruction *const *of, const int64_t *of_dim);
struct hlo_instruction *sh_compare(struct sh_convert *c, struct hlo_instruction *x,
                                   struct hlo_instruction *y, int direction);
struct hlo_instruction *sh_select(struct sh_convert *c, struct hlo_instruction *p,
                                  struct hlo_instruction *x, struct hlo_instruction *y);
struct hlo_instruction *sh_tuple(struct sh_convert *c, struct hlo_instruction *const *in, int n);
struct hlo_instruction *sh_element(struct sh_convert *c, struct hlo_instruction *tuple, int k);

/* ---- regions and functions ---- */

/* A computation of the region's block: a parameter per argument, or (packed) one that is a tuple of
 * them when there is not exactly one. Several results are a tuple. */
struct hlo_computation *sh_region(struct sh_convert *c, const struct mlir_op *op, int region,
                                  bool packed, const char *name);
struct hlo_computation *sh_function(struct sh_convert *c, const char *name);
/* Notes the arguments of the entry whose memory JAX says is given up. */
void sh_donors(struct sh_convert *c, const struct sh_function *f);
/* jax.export wraps a function whose sizes are symbols: what main's parameters, and their sizes, are called there. */
void sh_learn_names(struct sh_convert *c, const char *callee, struct hlo_instruction *const *in);
/* The block's operations here and now, on the given arguments. */
bool sh_inline(struct sh_convert *c, struct mlir_block *b, struct hlo_instruction *const *args,
               struct hlo_instruction **results, int count);
/* An instruction whose effect is needed though its result may not be. */
void sh_keep(struct sh_convert *c, struct hlo_instruction *i);

/* ---- one operation ---- */

bool sh_convert_op(struct sh_convert *c, const struct mlir_op *op); /* convert_op.c */
/* An operation of StableHLO whose quantized arrays are taken as arrays of their storage type. */
bool sh_convert_on_storage(struct sh_convert *c, const struct mlir_op *op);
bool sh_ints(struct sh_convert *c, const struct mlir_op *op, const char *name, int *count,
             int64_t **v); /* absent: count -1 */
int64_t sh_int(const struct mlir_op *op, const char *name, int64_t standard);
/* Fits what inference or the converter found to what the operation states, and binds. */
bool sh_finish(struct sh_convert *c, const struct mlir_op *op, struct hlo_instruction *i);

bool sh_is_quantized(const struct mlir_op *op);
bool sh_convert_quantized(struct sh_convert *c, const struct mlir_op *op); /* quantized.c */
bool sh_convert_chlo(struct sh_convert *c, const struct mlir_op *op);      /* chlo.c */

#endif
