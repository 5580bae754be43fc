/*
 * What the user asked the compiler for, and the record of its decisions. Read by passes and
 * backend.
 */
#ifndef PASSES_IR_OPTIONS_H
#define PASSES_IR_OPTIONS_H

#include "passes/ir/ir.h"

enum auto_cast { CAST_NONE, CAST_MATMULT, CAST_ALL };
enum {
    CAST_TF32 = 1000
}; /* a cast type that is not an element type: f32 rounded to 10 mantissa bits */

/* An operator that pass autocast casts, or would if nobody kept it. */
struct cast_product {
    const char *name, *source; /* of the model's node */
    int op, nth;               /* nth of this name and operator */
    int branch;                /* the body of control flow it is in; 0: none */
    double work;               /* multiplications, unknown dims as 16 */
    bool cast;
};
/*
 * What pass autocast did, and what it is to leave alone beside keep_fp32: for the driver, which
 * compares what a cast costs (frontend/cast_check.h).
 */
struct cast_plan {
    const struct cast_product *keep; /* by name, operator and nth */
    const char **reasons;            /* one for each, or NULL */
    int nkeep;
    struct cast_product *products; /* made by the pass, in its order */
    int nproducts, cap;
    struct arena arena; /* of the products and their names */
};

/* A decision about a node, see why(). Strings live in the list's arena. */
struct reason {
    const char *node, *op, *code, *text;
};
struct reasons {
    struct reason *rows;
    int count, cap;
    struct arena arena;
};

struct options {   /* strings are borrowed */
    int opt_level; /* 0..3 */
    int auto_cast; /* enum auto_cast */
    int cast_type; /* "bf16" DT_BF16, "fp16" DT_F16, "tf32" CAST_TF32, "fp8_e4m3" DT_F8E4M3FN */
    const char **keep_fp32; /* globs by node name, or op:Type */
    int nkeep_fp32;
    struct cast_plan *plan; /* NULL: nobody asks */
    bool trial;              /* the program is run for its results only: kernels are not made one */
    bool whole_batch;        /* the program is run for the whole batch, never for a part of it */
    bool small_batches;      /* batches become symbols (pass open_batch) however small they are: for tests */
    bool no_winograd;        /* 3x3 convolutions by direct sums only */
    int max_bf16_rate;       /* of processors that are to run it (struct step of neff/isa/program.h); 0: any */
    bool strict_target;      /* the machine's engines work on on-chip memory only */
    struct reasons *reasons; /* collects decisions; NULL: nobody asks */
    bool verify_passes;      /* run the verifier after every pass */
    const char *print_after; /* pass name or "all" */
    const char *only;        /* comma-separated pass names, or NULL for all */
    bool time_passes;
};

/*
 * A decision about a node that a user could ask about: a stable code ("fuse.two-consumers") and a
 * sentence. Collected when asked for. Call it where the decision is made.
 */
void why(const struct options *o, const struct node *n, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
