/*
 * Rows of integers and booleans: what the Vector engine computes exactly, in the elements' own
 * type, as the operators' plain routines do.
 */
#ifndef RUNTIME_EXEC_INTEGER_H
#define RUNTIME_EXEC_INTEGER_H

#include "runtime/exec/engine.h"

struct integer_function {
    uint16_t op;   /* its plain functions on 64 bits are used where there is no kernel */
    uint8_t dtype; /* of the operands; DT_NONE: these are no integers */
    int8_t kernel; /* of this type; -1: none */
};

/* For tensor_tensor with operands of no float type; fails for operators without integers. */
bool integer_find(struct integer_function *f, const struct bound_insn *i, struct diag *d);
/* Its kernel; NULL: by way of the row. */
integer_fn integer_kernel(const struct integer_function *f, const struct kernel_table *k);
/* One row of tensor_tensor at addresses p. */
void integer_row(const struct worker *me, const struct integer_function *f,
                 const struct bound_insn *i, char *const *p, int64_t n);
/* One row of select whose results and choices are of one type. */
void choose_row(const struct bound_insn *i, char *const *p, int64_t n);

#endif
