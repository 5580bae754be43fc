/*
 * What the files behind xcc.h's kernels share.
 *
 *   kernel_api.c     objects, loops, marks
 *   kernel_emit.c    an instruction by names becomes one of the program
 *   kernel_finish.c  in-place inputs, scheduling, the archive
 */
#ifndef FRONTEND_KERNEL_API_H
#define FRONTEND_KERNEL_API_H

#include "frontend/xcc.h"
#include "neff/isa/machine.h"
#include "neff/isa/program.h"

enum object_kind { OBJECT_INPUT, OBJECT_OUTPUT, OBJECT_INTERNAL, OBJECT_CONSTANT, OBJECT_TILE };

struct object {
    uint8_t kind; /* enum object_kind */
    int index;    /* slot of the program or tile of the kernel */
    bool written; /* by an instruction */
    const char *name;
};

struct result {
    int object;
    const char *name;
};

/* Where building stands. */
struct checkpoint {
    int ninsns, nslots, ntiles, nobjects, nresults, depth, nvars, node;
};

struct xcc_kernel {
    struct program *p; /* one kernel until it is finished */
    const struct machine *machine;
    struct diag d; /* its first failure */
    struct checkpoint now;
    int nobjects_cap, nresults_cap, nmarks, marks_cap;
    struct object *objects;
    struct result *results;
    struct checkpoint *marks;
    int64_t trips[MAX_VARS]; /* of open variables */
    int open[MAX_VARS];      /* index of the `loop` of each level */
    const char *at;          /* "k.py:12", or NULL */
    const char *file, *what; /* of the last xcc_at */
    bool finished;  /* nothing can be added */
    bool scheduled; /* and it has order, places, semaphores */
    char *text;
    size_t text_size;
};

static inline struct kernel *kernel_of_api(struct xcc_kernel *k)
{
    return &k->p->kernels[0];
}

/* Notes the failure in d as that of the calling thread; false. */
bool api_fail(const struct diag *d);
/* The failure of a kernel, its source position in front; false. */
bool kernel_fail(struct xcc_kernel *k, struct diag *d);

/* Slots and steps for what was written in place; results; nothing is added afterwards. */
bool kernel_complete(struct xcc_kernel *k, struct diag *d);

#endif
