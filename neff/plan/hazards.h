/*
 * Hazards: what goes wrong in a program whatever its values are, found by walking it.
 *
 * Some points of each kernel's grid are walked, loops unrolled and addresses concrete, in the
 * kernel's order. Vector clocks over engines, queues and semaphores tell which accesses are ordered:
 * an engine executes one instruction after the other, so does its queue, and what touches the same
 * as an earlier transfer of its engine comes after that; a wait comes after as many signals as it
 * names. Reported are
 *
 *   missing wait          conflicting accesses of two engines that nothing orders
 *   two queues            the same, of two DMA queues
 *   overlapping buffers   two tiles at one address: unordered accesses, or a read of what was
 *                         written through the other one
 *   wrong count           a wait for more signals than come before it in the kernel's order
 *   deadlock              engines that wait for each other, or for a signal that nothing gives
 *   uninitialised read    of tile elements that nothing has written, by a transfer, or by what mixes partitions.
 *                         Otherwise, where some partitions are written, results may come of the others too
 *                         that stay in their partition: a kernel that loads some rows under a mask computes
 *                         with all, and stores those it has loaded
 *   stale sums            a product that adds onto sums of PSUM which an instruction has read since they were added
 *                         up: that group of products is over, and the first one of the next does not start it.
 *                         Only where it is asked for: an author may read running sums on purpose
 *   capacity              a tile, or an access, outside the machine's or its tile's memory
 *   semaphore             signalled by two engines: its count would not say who is done
 *
 * A fault is a failure in the diag: "KIND: what, and what to do".
 */
#ifndef NEFF_HAZARDS_H
#define NEFF_HAZARDS_H

#include "neff/isa/machine.h"
#include "neff/isa/program.h"

/* What a walk has seen, for those who want to know; arrays of the caller's, zeroed. */
struct hazard_trace {
    uint8_t *executed; /* per instruction */
    uint8_t *useful; /* per instruction, MAX_SYNC each: waits that ordered what nothing else did */
};

struct hazard_unwritten {
    int insn, memory, tensor; /* which reads it, and what of: a tile, or the slot that owns the memory */
};

struct hazard_limits {
    int64_t insns; /* executed at one point of the grid; a legal order has legal beginnings */
    int points;    /* of the grid: corners first */
    /* Of tiles, to be looked at yet; counted down, at 0 a walk ends as well. NULL: any number. Partitions that are
     * alike count once. */
    int64_t *elements;
    bool sums; /* stale sums are faults */
    bool *ended; /* set where a walk ends before the kernel does; or NULL */
    const struct hazard_trace *trace; /* or NULL */
    /* Only what is read that nothing has written, of tensors too: of a kernel that has no order yet. Else NULL. */
    struct hazard_unwritten *unwritten;
};

/* values: of all dim expressions (dim_eval_all). A kernel whose grid or loops depend on unknown
 * values is passed over, and counts as sound. */
bool kernel_is_sound(const struct program *p, const struct kernel *k, const struct machine *m,
                     const int64_t *values, const struct hazard_limits *limits, struct diag *d);

/*
 * Whether the points of the grid are independent of each other: no two write one element of a
 * tensor, none reads what another one writes. Sums by several in one place, and indirect patterns,
 * are not looked at. Gives up, as sound, after limits->insns instructions and on large tensors.
 */
bool kernel_grid_is_sound(const struct program *p, const struct kernel *k, const int64_t *values,
                          const struct hazard_limits *limits, struct diag *d);

#endif
