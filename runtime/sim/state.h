/*
 * What the event loop keeps. Times are ps since the program began; a record's index is -1 when
 * records are not kept any more.
 */
#ifndef RUNTIME_SIM_STATE_H
#define RUNTIME_SIM_STATE_H

#include "runtime/sim/numbers.h"

enum { MOST_OVERLAP = 8, MOST_DMA_ENGINES = 64 };

struct moment {
    int64_t at;
    int32_t record;
};

struct signals { /* of one semaphore and instance, by time */
    struct moment *at;
    int n, cap;
};

struct tile_state {
    struct moment written; /* by the last instruction that wrote it */
    int64_t write_start;
    int32_t write_lane;            /* of that; -1: not written yet */
    int32_t queue;                    /* engine whose queue did the last of these */
    struct moment filled, drained; /* transfers of a queue into it, out of it */
    int64_t first, last;           /* use; first -1: none yet */
    int64_t chain;                 /* longest chain of results up to its content */
};

struct slot_state { /* HBM that an instance's transfers write */
    int32_t slot;
    int64_t low, high; /* bytes written so far */
    struct moment written, read;
};

struct instance {
    int64_t index; /* on its core; -1: free */
    int left;      /* engines that have not finished its stream */
    int64_t opened, end, chain;
    int32_t opened_by, last;
    struct signals *semaphores;
    struct tile_state *tiles;
    struct slot_state *slots;
    int nslots, slots_cap;
};

struct engine_state {
    int64_t instance; /* the one it works on, or waits for */
    bool inside;      /* its cursor is in that instance */
    bool done;
    int at; /* in its stream */
    int64_t vars[MAX_VARS];
    struct moment free;
};

struct stationary { /* what the Tensor engine's array holds */
    int64_t instance, offset;
    int32_t tile;
    struct moment written;
};

struct core_state {
    struct stationary array;
    struct engine_state engines[ENGINE_COUNT];
    struct moment dma[MOST_DMA_ENGINES];
    struct moment sbuf_port, psum_port,
        processor;                   /* processor: machines that do one thing at a time */
    int64_t queue_end[ENGINE_COUNT]; /* transfers of a queue complete in order */
};

struct launch_state {
    struct sim *s;
    const struct number_kernel *k;
    const struct timing *t;
    struct diag *d;
    struct arena *a;
    struct core_state *c;
    int core, cores, launch;
    int64_t count; /* instances of this core */
    int overlap;
    struct instance ring[MOST_OVERLAP];
    int64_t jumps; /* ends and beginnings of loops */
    int active;    /* engines with instructions */
    struct moment begin, end;
    int64_t *slot_reads;           /* bytes read of each slot */
    const int32_t *const *aliases; /* per tile: tiles in the same memory, -1 at the end */
};

/* Executes a kernel's instances on one core; *end: the last of it. */
bool run_launch(struct launch_state *l);
/* Why nothing can go on. */
bool explain_deadlock(struct launch_state *l);

/* ---- transfers (transfer.c) ---- */

/* The instruction's transfer, triggered at `trigger` (a record): its record and end. */
struct moment run_transfer(struct launch_state *l, struct instance *i, const struct number_insn *n,
                           int insn, const struct work *w, struct moment trigger,
                           const int64_t *vars);

/* ---- records (record.c) ---- */

int32_t add_record(struct sim *s, struct sim_record r);
void add_wait(struct sim *s, int kernel, int insn, int lane, int32_t cause, int64_t ps);
void add_live(struct sim *s, int64_t at, int64_t sbuf, int64_t psum);
void grow(void **list, int n, int *cap, size_t size);

#endif
