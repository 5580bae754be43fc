/*
 * What elementwise instructions have prepared: for their executors (exec_dve.c, exec_act.c), and for several that run
 * together (stream.c).
 */
#ifndef RUNTIME_EXEC_ARITHMETIC_H
#define RUNTIME_EXEC_ARITHMETIC_H

#include "runtime/exec/integer.h"

struct arithmetic {
    struct alu f[2];
    struct integer_function integer; /* tensor_tensor on integers only */
    bool direct;                     /* all operands f32 */
    bool bytes;                      /* a comparison into bytes */
    bool tile;                       /* tensor_tensor by a tile kernel */
    bool affine; /* tensor_scalar that quantises or dequantises, by the affine kernel */
    enum { TWO_STEPS, MULTIPLY_ADD, CLIP } fused;
};

struct bound_activation {
    struct alu f;
    bool direct; /* all operands f32 */
    bool tile;   /* two dims at a time by a tile kernel */
    bool affine; /* integers in or out, by the affine kernel */
    bool widens; /* a tile of integers made f32 first, block by block */
};

#endif
