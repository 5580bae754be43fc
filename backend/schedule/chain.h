/*
 * Kernels of strict targets that run one after the other, made one: what one stores and the next one loads stays in
 * SBUF, weights are loaded while earlier ones run, and engines that one leaves idle work for its neighbour.
 *
 *   chain.c            which kernels, and their instances written out
 *   resident.c         loads of what is in a tile already, and stores that nobody reads any more
 *   columns.c          columns of constants, of several kernels, in one transfer
 *   image_sums.c       sums of what activations leave in SBUF
 *   broadcast.c        rows that all partitions have, by the Tensor engine
 *   overlap.c          the order of what became one
 *   estimate.c         how long an order takes, roughly
 *   straight_places.c  places of the tiles of many instructions without loops, in about linear time
 *   straight_weights.c of weights in what others leave free
 *   straight_order.c   what must come before what in them
 *   refine.c           engines that wait go on with a later instruction
 */
#ifndef BACKEND_CHAIN_H
#define BACKEND_CHAIN_H

#include "backend/schedule/schedule.h"

enum { STREAMS = 2 * ENGINE_COUNT }; /* engines, then their queues */

struct uses { /* instruction * MAX_APS + operand, or instructions */
    int *at, n, cap;
};

/* An operand as it was before it got another tile. */
struct changed {
    int insn, operand;
    struct ap was;
};

/* The kernel that is being made, of one instance without loops. */
struct chain {
    struct program *p;
    const struct machine *m;
    struct kernel k;
    struct kernel *kernels; /* the program's, their loops written out */
    struct arena scratch;
    bool *gone;           /* per instruction: a load that is not needed */
    struct uses *tiles;   /* per tile: operands */
    struct uses *stores;  /* per slot that owns memory: instructions that write it */
    int nslots;           /* of the program before */
    int64_t *reads;       /* per such slot: who reads it in the whole program */
    int gone_cap, uses_cap;
    int *parts; /* the first instruction of each kernel */
    int nparts, parts_cap;
    struct changed *changes;
    int nchanges, changes_cap;
};

/* Loads from instruction `first` on whose elements are in tiles take these; how many there were, -1: an instruction
 * would break a rule of the machine. */
int keep_resident(struct chain *c, int first);
/* Whether the instruction is a store that nobody reads. */
bool is_dead_store(const struct chain *c, int insn);

/* Columns of constants, one number for each partition, that loads bring to tiles of their own are beside each other in
 * one tile, and one load brings many; `parts` are instructions and move with them. */
void join_columns(struct program *p, struct kernel *k, int *parts, int nparts);

/* Rows of what activations leave in SBUF are summed up by these, where the Vector engine would sum all elements. */
void join_image_sums(struct program *p, struct kernel *k);

/* Rows that transfers bring to all partitions are made by products, where the DMA engines have more to do than the
 * Tensor engine (values NULL: all of them); `parts` as above. False: there are none. */
bool broadcast_by_products(struct program *p, struct kernel *k, const struct machine *m, const int64_t *values,
                           int *parts, int nparts);

/* Without loops, and all its numbers known: sizes of tiles, and of patterns. */
bool kernel_is_straight(const struct kernel *k);
/* Whether the author gave the address of one. */
bool has_fixed_tiles(const struct kernel *k);

/* Whether it brings a constant into a tile. */
bool loads_constant(const struct program *p, const struct insn *n);

/* Where a tile is placed: where there is room first; behind the tile before it, so that few take memory that was used
 * just now; the same close together, and tiles of constants in what that leaves free. */
enum straight_places { PLACE_LOWEST, PLACE_IN_TURN, PLACE_WEIGHTS_APART };
/* Places of tiles; -1, or an instruction that finds no room. */
int place_straight(struct program *p, struct kernel *k, const struct machine *m, enum straight_places how);
struct lived_tile {
    int tile, first, last; /* instructions */
};
/* Places of those of SBUF's tiles that are not placed, by birth, in `bytes` of each partition, where the others leave
 * memory free; the same result. */
int place_in_gaps(struct kernel *k, const struct lived_tile *lived, int n, const bool *placed, int64_t bytes);
/* Of a kernel with places and without loops: per instruction, the last one of each other stream that must come before
 * it; -1. queues: of a transfer's own queue too, which it begins after there. */
typedef int32_t before_t[STREAMS];
before_t *straight_order(const struct program *p, const struct kernel *k, const struct machine *m, bool queues,
                         struct arena *a);
struct link { /* `to` comes after `from` */
    int32_t from, to;
};
struct links {
    struct link *at; /* by `to` */
    int n, cap;
};
/* The same for instructions of one stream too, so that they may change places: all pairs that touch the same memory,
 * but those that follow from others. In the arena. */
void straight_links(const struct program *p, const struct kernel *k, const struct machine *m, struct links *links,
                    struct arena *a);
/* The same of a kernel without places, as if every tile had memory of its own. */
void straight_needs(const struct program *p, struct kernel *k, struct links *links, struct arena *a);
/* What n instructions cost their engines and the DMA engines, ns; 0 where they cost them nothing. */
void straight_costs(const struct machine *m, const struct insn *insns, int n, const int64_t *values, double *costs,
                    double *moves);
/* Until when engines, ports of memories that two of them share, and the engines' queues are busy, ns. */
enum { PORT_SBUF, PORT_PSUM, PORTS };
struct busy {
    double engines[ENGINE_COUNT], ports[PORTS], queues[ENGINE_COUNT];
};
/* When the instruction begins that waits for nothing else after that time. */
double straight_begin(const struct busy *b, const struct machine *m, const struct insn *n, double at);
/* The instruction begins at that time, what a transfer moves not before `free`; when it has ended. */
double straight_execute(struct busy *b, const struct machine *m, const struct insn *n, double cost, double moves,
                        double at, double free);
/* When instruction `to` may begin that comes after `from`, which has begun and ended so, ns; `begun` counts where both
 * are one engine's. */
double straight_after(const struct machine *m, const struct insn *from, const struct insn *to, double begun,
                      double ended);
/* Nanoseconds of a kernel with places and without loops, roughly, of straight_costs; *mean_end: when its instructions
 * end on average, but for loads of traced kernels. */
double straight_estimate(const struct program *p, const struct kernel *k, const struct machine *m, const double *costs,
                         const double *moves, double *mean_end);
/* The estimate with a little for late ends: by it orders are compared that may take the same time. */
double straight_price(const struct program *p, const struct kernel *k, const struct machine *m, const double *costs,
                      const double *moves);
/* Of a kernel with places and without loops, whose price is ns: an engine whose next instruction waits executes one
 * of the following that does not, where an estimate says that the whole takes less time then. */
double refine_order(const struct program *p, struct kernel *k, const struct machine *m, const int64_t *values,
                    double ns);
/* The kernel is made of several, of which parts[i] is the first instruction: their instructions are put beside each
 * other and placed, or stay as they are where there is no room; false: there is none at all. */
bool overlap_kernels(struct program *p, struct kernel *k, const struct machine *m, const int *parts, int nparts);

#endif
