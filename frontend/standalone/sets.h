/*
 * The instruction sets that kernels of a standalone program are compiled for (--isa), one row each, least capable
 * first.
 */
#ifndef FRONTEND_STANDALONE_SETS_H
#define FRONTEND_STANDALONE_SETS_H

#include <stdbool.h>

enum kernel_processor { ANY_PROCESSOR, X86_64, AARCH64 };

struct kernel_set {
    const char *name; /* KERNEL_VARIANT of kernels.def */
    int lanes;        /* of its vectors */
    enum kernel_processor processor;
    const char *flags;     /* of the compiler */
    const char *features;  /* the same, as an attribute of functions for clang; of x86-64 for gcc too */
    const char *macros[5]; /* that the kernels ask for (runtime/kernels/vec.h): NULL behind the last */
    const char *with;      /* sets whose other kernels it has: they come with it; or NULL */
    bool recent;           /* compilers from gcc 11 and clang 12 on know it */
};

extern const struct kernel_set kernel_sets[];
extern const int nkernel_sets;

#endif
