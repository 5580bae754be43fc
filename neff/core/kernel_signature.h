/*
 * Calls of kernels written by hand: what a kernel_call says of its kernel, in attributes.
 *
 *     kernel     its name
 *     assembly   its program as text (neff/isa/asm.h), with all of its constants
 *     inputs     of each the type and the name, "f32[n,1000] x", in symbols of the program's own
 *     outputs    the same
 *
 * A symbol of the program stands for the size that the first operand has there whose dimension is
 * that symbol alone.
 */
#ifndef NEFF_KERNEL_SIGNATURE_H
#define NEFF_KERNEL_SIGNATURE_H

#include "neff/core/attr.h"

struct kernel_signature {
    const char *kernel;
    int nin, nout;
    struct type *in, *out; /* in dims */
    const char **in_names, **out_names;
    struct dim_table dims;
};

/* Reads the attributes. */
bool kernel_signature_read(const struct attrs *as, struct arena *a, struct kernel_signature *out,
                           struct diag *d);

/*
 * What each symbol of the signature stands for, by the operands' types, whose dims are t's:
 * DIM_NOT_BOUND where no operand says it. Fails when the number of operands, an element type or a
 * rank differs; sizes are not compared. Operands of unknown rank say nothing.
 */
bool kernel_signature_bind(const struct kernel_signature *s, const struct dim_table *t,
                           const struct type *in, int nin, dim_t *with, struct arena *a,
                           struct diag *d);

/* Fails: what operand i is, and what the kernel takes there. */
bool kernel_operand_fail(const struct kernel_signature *s, const struct dim_table *t, int i,
                         const struct type *have, const dim_t *with, struct arena *a,
                         struct diag *d);

#endif
