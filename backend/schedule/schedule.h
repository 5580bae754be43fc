/*
 * Scheduling: from a kernel's instructions in one order to streams of engines that run side by
 * side.
 *
 *   stage.c       strict targets, while lowering: operands in HBM become tiles and DMA
 *   unroll.c      strict targets: loops of few iterations, written out
 *   rotate.c      strict targets: tiles that are written again and again, become tiles in turn
 *   same_results.c strict targets: what is computed again from the same, computed once
 *   row_sums.c    strict targets: sums of rows that the Scalar engine computes, made by it
 *   merge.c       strict targets: loads of the same elements, made one
 *   join.c        strict targets: transfers of neighbours, made one
 *   balance.c     strict targets: copies, sums and products, dealt out to engines
 *   queues.c      strict targets: whose queues move what
 *   conflict.c    which pairs of instructions may touch the same element
 *   accesses.c    all instructions that may, of each, without a look at every pair
 *   order.c       list scheduling of straight-line stretches on strict targets
 *   lifetime.c    from where to where tiles live, and which share memory
 *   written.c     whether an iteration reads only what it has written of a tile
 *   place.c       addresses of tiles, and the rules of strict targets
 *   sync.c        semaphores
 *   chain.h       strict targets: kernels that run one after the other, made one
 *   check_sync.c  an independent proof, for tests and `xcc --verify-passes`
 *
 * An engine executes its instructions in order, one after the other, and so does its queue of
 * transfers. Each engine and each queue that others wait for has one semaphore, which counts its
 * signalling instructions; a wait names how many of them must be complete, affine in the loop
 * variables.
 */
#ifndef BACKEND_SCHEDULE_H
#define BACKEND_SCHEDULE_H

#include "neff/isa/machine.h"
#include "neff/isa/program.h"

/* Orders, places and synchronises every kernel that is not scheduled yet. Fails when a kernel exceeds the machine:
 * names kernel, node and tile. */
bool schedule_program(struct program *p, const struct machine *m, struct diag *d);

/* One kernel. With semaphores of its author (own_sync) it is placed
 * only. */
bool schedule_kernel(struct program *p, struct kernel *k, const struct machine *m, struct diag *d);

/* The same for kernels that make a tile for every result, as traced ones do: tiles share memory. In cache, one that was
 * used just now is the best; on a chip, they share when they must, for then engines wait for each other. */
bool schedule_traced(struct program *p, struct kernel *k, const struct machine *m, struct diag *d);

/* Strict targets, after schedule_program: makes one of kernels that run one after the other, where what one stores and
 * the next one loads can stay on the chip. */
bool chain_kernels(struct program *p, const struct machine *m, struct diag *d);

/* ---- parts ---- */

/* Writes out loops of few iterations, each with tiles of its own; before part_queues. `edges`: those
 * too whose last iteration may have less of a tile, where nothing reads more of it. */
void unroll_loops(struct program *p, struct kernel *k, const struct machine *m, bool edges);
/* Whether all loops written out are not too many instructions. */
bool unrolls_straight(const struct kernel *k);
/* Writes out all loops. `placed`: tiles have places, and are the same in every iteration. */
void unroll_straight(struct program *p, struct kernel *k, const struct machine *m, bool placed);
/* Of a kernel that has its order, those that are not too long for a chain: wholly. */
void unroll_whole_loops(struct program *p, struct kernel *k, const struct machine *m);
/* Instructions that compute again what an earlier one of their straight line did go; after unroll_loops. */
void join_same_results(struct kernel *k);
/* Row sums of what an activation writes become part of it. */
void join_row_sums(const struct program *p, struct kernel *k);
/* What is written into one tile again and again goes to copies of it in turn; after unroll_loops. */
void rotate_tiles(struct program *p, struct kernel *k, const struct machine *m);
/* Makes one of short loads of the same elements into tiles that nothing else writes; after unroll_loops. */
void merge_loads(struct program *p, struct kernel *k);
/* Makes one of transfers whose elements lie beside each other in rows of HBM; after unroll_loops. */
void join_transfers(struct program *p, struct kernel *k, const struct machine *m);
/* Engines share what several of them can do, where they reach memory side by side. */
void balance_engines(struct program *p, struct kernel *k, const struct machine *m);
/* Of an instruction whose work several engines can do side by side: a bit for each of them; 0. */
unsigned engines_for(const struct machine *m, const struct insn *n);
/* What it costs one of them, ns. */
double cost_on(const struct machine *m, struct insn n, int engine, const int64_t *values);
/* Strict targets: loads and stores go to queues of different engines. Stores have a queue of their own, that of the
 * engine with the least to do: loads of later tiles do not stand behind those that wait for results. */
void part_queues(struct kernel *k);
/* After part_queues: loads of what other steps leave go to a third queue where its engine has the time, so that the
 * weights of later steps do not stand behind them. */
void part_loads(struct program *p, struct kernel *k, const struct machine *m);

bool operand_reads(const struct insn *n, int operand); /* or keeps some of what it has */
bool operand_writes(const struct insn *n, int operand);
bool insn_is_structure(const struct insn *n); /* loop, end */
/* Whether two instructions may touch the same element, one of them writing. `carried`: in different
 * iterations of loops around both. Errs on the side of true. */
bool insns_conflict(const struct program *p, const struct kernel *k, const struct insn *a,
                    const struct insn *b, bool carried);
/* The same of an instruction and one operand of another. */
bool operand_conflicts(const struct program *p, const struct kernel *k, const struct insn *a, const struct insn *b,
                       int operand, bool carried);
/* Whether two patterns of one tensor have no element in common. Errs on the side of false. */
bool patterns_disjoint(const struct kernel *k, const struct ap *a, const struct ap *b, bool carried);
struct byte_extent {
    int64_t low, high;
};
/* Bytes that a pattern covers, without its variables; false when not constant. */
bool pattern_extent(const struct ap *a, struct byte_extent *bytes);
/* Bytes of a partition that a tile has; false when it has no address, or they are not known. */
bool tile_extent(const struct tile *t, struct byte_extent *bytes);
/* Bytes of each partition that a pattern of a traced kernel's tile covers; fits: it does not go on in the next one.
 * False when not constant, or more than a partition's. */
bool pattern_columns(const struct kernel *k, const struct ap *a, struct byte_extent *columns, bool *fits);

/*
 * From a tile's first to its last instruction in the kernel's order, and through every loop that it
 * enters or leaves with a value: loops that hold only some of its instructions, and loops in whose
 * body it is not wholly written first; of a tight kernel, not part by part either. first -1: never used. Per tile, in
 * the arena.
 */
struct tile_span {
    int first, last;
};
struct tile_span *tile_spans(struct program *p, const struct kernel *k, struct arena *a);
/* Tiles that are not live together and are alike become one: before scheduling, for kernels of many
 * short-lived tiles. latest: they take over what was used last. Of those that are alike `apart` stay, if there are so
 * many. */
void reuse_tiles(struct program *p, struct kernel *k, bool latest, int apart);
void drop_unused_tiles(struct kernel *k);

/* Enclosing loop (index of its `loop`) of every instruction, -1 none; of a `loop`, the one around
 * it. */
int *loops_around(const struct kernel *k, struct arena *a);
/* Index of each loop's `end`; for other instructions their own index. */
int *loop_ends(const struct kernel *k, struct arena *a);

/* Replaces all waits and signals of the kernel. */
bool sync_kernel(struct program *p, struct kernel *k, struct diag *d);
/* Each instruction is put before at most `window` that stood before it. By the better of two rules, or by the other
 * one, whose tiles may need less room. */
enum order_by { ORDER_BETTER, ORDER_WORSE };
struct order_times { /* ns, loops once */
    double end;  /* of all */
    double span; /* of the engine that takes longest, from its first to its last instruction */
};
bool order_kernel(struct program *p, struct kernel *k, const struct machine *m, int window,
                  enum order_by by, struct order_times *times, struct diag *d);
/* alone: a kernel of one instance may have all memory, else half where that is enough: the next step begins beside it.
 * *beside (when not NULL): how many instances have room side by side, of a kernel of one instance with the following
 * step. NO_ROOM: sharing memory between tiles may help. REFUSED: nothing but another kernel does. */
/* Where a tile may begin, at `at` or after it: an accumulator lies in one bank, or begins with one. */
int64_t settle_tile(const struct machine *m, const struct tile *t, int64_t at, int64_t size);
enum placement { PLACED, NO_ROOM, REFUSED };
enum placement place_kernel(struct program *p, struct kernel *k, const struct machine *m, bool alone,
                            int *beside, struct diag *d);

#endif
