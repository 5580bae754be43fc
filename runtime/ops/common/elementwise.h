/*
 * The elementwise rows of op_elementwise.def as functions: what the plain routine runs, and the
 * oracle for engines and kernels that compute the same rows faster.
 */
#ifndef RUNTIME_OPS_ELEMENTWISE_H
#define RUNTIME_OPS_ELEMENTWISE_H

#include "neff/core/kinds.h"
#include "neff/core/op.h"
#include "runtime/ops/common/complex_number.h"

enum ew_form { EW_NONE, EW_UNARY, EW_PARAMETRIC, EW_BINARY, EW_COMPARE };

struct ew_row {
    uint8_t form, kinds;         /* enum ew_form, enum ew_kinds */
    const char *name_a, *name_b; /* PARAMETRIC: attributes, "" for none, and their defaults */
    double a, b;
    /* One element as a float: y for two operands, a and b for PARAMETRIC. Comparisons give 0 or 1.
     * NULL when floats are not admitted. */
    double (*f)(double x, double y, double a, double b);
    /* n elements of a class: floats, signed, unsigned or bool, complex. Integers are wrapped to
     * their type, and floats rounded to it, by whoever stores z. y is NULL for one operand. */
    void (*fn)(const double *x, const double *y, double a, double b, double *z, int64_t n);
    void (*sn)(const int64_t *x, const int64_t *y, int64_t *z, int64_t n);
    void (*un)(const uint64_t *x, const uint64_t *y, uint64_t *z, int64_t n);
    void (*cn)(const double complex *x, const double complex *y, double complex *z, int64_t n);
};

/* The row of an operator, or NULL when it is none of UNARY, PARAMETRIC, BINARY, COMPARE. */
const struct ew_row *ew_row(enum op op);
/* The types that its operands may have, all the same, as a word of neff/core/signature.h. Returns buf.
 */
enum { EW_TYPES = 64 };
const char *ew_types(enum op op, char buf[EW_TYPES]);

#endif
