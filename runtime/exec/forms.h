/*
 * Which of its executor's forms a bound instruction takes. A program for one model leaves out those that none of its
 * instructions takes (frontend/standalone/forms.c); nothing else asks.
 */
#ifndef RUNTIME_EXEC_FORMS_H
#define RUNTIME_EXEC_FORMS_H

#include "runtime/exec/state.h"
#include "runtime/kernels/gemm.h"

/* 0: it does not run, since a product before it does its work in steps. */
enum insn_form {
    FORM_RUNS = 1 << 0,
    /* elementwise instructions */
    FORM_ROWS = 1 << 1,
    FORM_TILES = 1 << 2,
    FORM_FLAT = 1 << 16, /* rows are spread to dense ones (flat.c) */
    FORM_AFFINE = 1 << 17,
    /* copies */
    FORM_STREAMED = 1 << 3,
    FORM_TRANSPOSED = 1 << 4,
    /* products */
    FORM_EMPTY = 1 << 5,
    FORM_SLOW = 1 << 6,      /* of integers, one by one */
    FORM_DOT = 1 << 7,       /* one column by dot products */
    FORM_DOTS = 1 << 8,      /* one row by dot products */
    FORM_GATHERS = 1 << 9,   /* the moving operand is brought into rows */
    FORM_PACKS = 1 << 10,    /* the stationary is packed */
    FORM_CONVERTS = 1 << 11, /* the result is stored from scratch memory */
    FORM_WEIGHTS_COME = 1 << 12, /* from memory, and are prefetched */
    FORM_STEPS = 1 << 13,
    FORM_LONG_STEPS = 1 << 14, /* that simple_steps (kernels/gemm_steps.inc) does not take */
    FORM_UNFORESEEN = 1 << 15, /* tiles of counts that were not prepared */
    FORM_ANY = -1
};

/* Of nc_matmul; tells the tiles that kernels multiply. */
typedef void tell_tile(void *to, const struct gemm_tile *t);
unsigned product_forms(const struct bound_insn *i, tell_tile *tell, void *to);
unsigned activation_forms(const struct bound_insn *i);
unsigned tensor_tensor_forms(const struct bound_insn *i);
unsigned tensor_scalar_forms(const struct bound_insn *i);
unsigned pool_forms(const struct bound_insn *i); /* of window_pool */

/* Whether simple_steps takes them (exec_steps.c). */
struct product_steps;
bool steps_are_simple(const struct product_steps *s);

#endif
