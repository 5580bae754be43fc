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

struct options {   /* strings are borrowed */
    int opt_level; /* 0..3 */
    int auto_cast; /* enum auto_cast */
    int cast_type; /* "bf16" DT_BF16, "fp16" DT_F16, "tf32" CAST_TF32, "fp8_e4m3" DT_F8E4M3FN */
    const char **keep_fp32; /* globs by node name, or op:Type */
    int nkeep_fp32;
    bool no_winograd;        /* 3x3 convolutions by direct sums only */
    bool strict_target;      /* the machine's engines work on on-chip memory only */
    bool explain;            /* print decisions */
    bool verify_passes;      /* run the verifier after every pass */
    const char *print_after; /* pass name or "all" */
    const char *only;        /* comma-separated pass names, or NULL for all */
    bool time_passes;
};

/*
 * A decision about a node that a user could ask about: a stable code ("fuse.two-consumers") and a
 * sentence. Printed to stderr when --explain is given. Call it where the decision is made.
 */
void why(const struct options *o, const struct node *n, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
