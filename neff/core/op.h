/*
 * The operator table: what a row of op.def says, for every layer.
 */
#ifndef NEFF_OP_H
#define NEFF_OP_H

#include "neff/core/attr.h"

enum op {
#define OP(id, ...) OP_##id,
#include "neff/core/op.def"
    OP_COUNT
};

enum op_flags {
    OPF_ELEMENTWISE = 1, /* each result element depends on the operand elements at its place */
    OPF_COMMUTATIVE = 2,
    OPF_VIEW = 4,       /* the result has the first operand's bytes in the same order */
    OPF_SHAPE_ONLY = 8, /* operands are read for their shape only */
    OPF_DATA_DEPENDENT =
        16, /* result shapes or kinds are known after computing: the routine allocates them */
    OPF_IMPURE = 32, /* two runs may differ: never folded, never merged */
    OPF_REGIONS = 64,
    OPF_TERMINATOR = 128,
    OPF_CONTAINERS = 256, /* operands or results may be sequences, maps or optionals */
    /* Elementwise, and the Vector and Scalar engines compute it on floats; on integers and
       booleans. */
    OPF_ENGINE_FLOAT = 512,
    OPF_ENGINE_INTEGER = 1024,
    OPF_ALL_RESULTS = 2048, /* its routine writes every result, those beyond min_out too */
    OPF_UPDATES = 4096, /* its one result is operand 0 with parts written over, and may lie in that one's memory */
};

struct op_info {
    const char *name, *onnx, *hlo, *doc;
    int16_t min_in, max_in, min_out, max_out; /* max -1: any number */
    int flags;
};

#ifdef XRT_USE /* some rows alone: neff/base/use.h */
extern const struct op_info *const op_rows[OP_COUNT];
static inline const struct op_info *op_info(enum op op)
{
    return op_rows[op];
}
#else
extern const struct op_info op_infos[OP_COUNT];
static inline const struct op_info *op_info(enum op op)
{
    return &op_infos[op];
}
#endif
static inline const char *op_name(enum op op)
{
    return op_info(op)->name;
}
/* Whether a call must have room for result i: its routine writes it, wanted or not. */
static inline bool op_needs_result(enum op op, int i)
{
    return i < op_info(op)->min_out || (op_info(op)->flags & OPF_ALL_RESULTS);
}
struct region_counts {
    int min, max;
};
struct region_counts op_regions(enum op op);
/* OP_COUNT when there is none of that name. Binary search over a sorted index made at first use. */
enum op op_from_name(const char *name);
/* The one that the string attribute names; OP_COUNT when it names none. */
enum op op_from_attr(const struct attrs *as, const char *attribute);

#endif
