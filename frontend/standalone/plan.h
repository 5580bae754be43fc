/*
 * The plan of a model for programs that do not make it themselves (runtime/standalone/planned.h).
 */
#ifndef FRONTEND_STANDALONE_PLAN_H
#define FRONTEND_STANDALONE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct package;
struct diag;

struct plan_text { /* struct plan_code */
    const uint8_t *tokens;
    size_t bytes, words;
};

struct plan_set {
    struct plan_text wide, narrow; /* tokens NULL: no instruction set of the package has such kernels */
    int nfunctions;
    const char **functions; /* "exec_nc_matmul" */
    size_t context_size;
};

/* Whether the model has a plan. */
bool plan_is_possible(const struct package *k);
/* Makes k->forms, and k->plan; it stays NULL for models whose sizes are open, that call operators or decide what
 * to run. Each kernel is bound twice, at different addresses: what differs are the addresses. */
bool make_plan(struct package *k, struct diag *d);

#endif
