/*
 * The state of one HLO import (lowering functions need lower.h only).
 */
#ifndef FRONTEND_HLO_IMPORTER_H
#define FRONTEND_HLO_IMPORTER_H

#include "frontend/hlo/lower/lower.h"
#include "frontend/import.h"

/* Instructions after inlining calls: so many, and EACH times those of the module. */
enum { MAX_INSTRUCTIONS = 100000, EACH_INSTRUCTION = 32, MAX_CALLS = 256 };

struct hlo_importer {
    struct graph *g;
    const struct hlo_module *m;
    const struct import_options *options; /* may be NULL */
    const struct kernel_library *kernels; /* of --kernels; may be NULL */
    const struct hlo_row *rows; /* how each opcode is lowered (lower_table.c) */
    struct diag *d;
    struct arena arena; /* of the import only */
    const bool *
        *needed; /* per computation: its instructions that the root needs; NULL until asked */
    const struct computation_frame *frame; /* the computation at work (import.c) */
    int64_t instructions, max; /* lowered so far; how many may be */
    int depth, placed;    /* placed: the failure's text names its instruction */
    struct value *token;  /* what stands for tokens among the results; NULL: nothing does */
};

/* Which instructions of a computation its root needs. */
const bool *hlo_needed(struct hlo_importer *im, const struct hlo_computation *c);
/* import.c: the module's entry computation, on its parameters' leaves, as g->main without its return; and a return. */
bool hlo_import_entry(struct hlo_importer *im, const struct leaves *args, struct leaves *results);
void hlo_end_region(struct graph *g, struct region *r, const struct leaves *result);
/* Makes arrays of too many dims flat, where nothing looks at the dims: of a verified module. deep.c */
void hlo_flatten_deep(struct hlo_module *m);
/* Makes bounded dims unbounded ones, which are known while running. bounded.c */
void hlo_unbound(struct hlo_module *m);
/* The bounds of a parameter's dims: they hold for sizes that are known, and are guards of others. */
bool hlo_guard_bounds(struct hlo_importer *im, const struct hlo_shape *s, const struct type *t,
                      const char *name);
/* Fails with a list of all opcodes, custom-call targets and left-out constants that stand in the
 * way. unsupported.c */
bool hlo_check_supported(struct hlo_importer *im);

#endif
