/*
 * What the instructions of a program take of their executors, where their shapes are known: they are bound, as the
 * runtime binds them, and asked (runtime/exec/forms.h).
 */
#ifndef FRONTEND_STANDALONE_FORMS_H
#define FRONTEND_STANDALONE_FORMS_H

#include "neff/base/arena.h"
#include "runtime/kernels/gemm.h"

struct model;

struct insn_forms {
    unsigned forms; /* enum insn_form; 0: it never runs */
    struct gemm_tile *tiles;
    int ntiles, cap;
};

struct forms_query {
    const struct model *m;
    const int64_t *values; /* of dim expressions, for some values of open symbols */
    bool wide, narrow;     /* vectors of which there are kernels */
};

/* Of each kernel its instructions; NULL where their shapes are open. */
struct insn_forms **forms_find(const struct forms_query *q, struct arena *a);

#endif
