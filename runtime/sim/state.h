/*
 * What the event loop keeps. Times are ps since the program began; a record's index is -1 when
 * records are not kept any more.
 *
 * Several steps are under way at a time: a flight. Each engine goes from the stream of one step to
 * that of the next without waiting for others; what keeps steps in order is the HBM that they share
 * (uses) and room in SBUF and PSUM.
 */
#ifndef RUNTIME_SIM_STATE_H
#define RUNTIME_SIM_STATE_H

#include "runtime/sim/region.h"

enum {
    MAX_OVERLAP = SIM_OVERLAP,              /* instances of a step in flight */
    MAX_STEPS = 8,                          /* steps in flight */
    MAX_ROOMS = MAX_OVERLAP * MAX_STEPS,  /* instances in flight: bits of a word */
    MAX_DMA_ENGINES = 64
};

struct moment {
    int64_t at;
    int32_t record;
    const struct clock *known; /* what is over by then, as order.c has it; NULL: nothing, or not kept */
};

struct signals { /* of one semaphore and instance, in the order of the stream that gives them */
    struct given {
        struct moment at;
        bool over; /* what gives it is complete */
    } *given;
    int n, all, cap; /* n: those that count, as all before them are given too */
};

/* What transfers of a queue did to a tile, or to a slot in HBM. */
struct transfer_state {
    int32_t tensor, queue;
    uint8_t mem;
    struct touched {
        struct byte_runs bytes;
        bool writes;
        struct flying *by; /* NULL: it is over, at `end` */
        struct moment end;
    } *touched; /* in the queue's order */
    int n, cap;
    struct range {
        int64_t low, high;
    } older;                   /* bytes of those that are not kept any more */
    struct moment written, read; /* the ends of these */
};

struct tile_state {
    struct moment written; /* by the last instruction that wrote it */
    int64_t write_start;
    int32_t write_track;           /* of that; -1: not written yet */
    int32_t queue;                 /* engine whose queue did the last of these */
    struct moment filled, drained; /* transfers of a queue into it, out of it */
    int64_t first, last;           /* use; first -1: none yet */
    int64_t chain;                 /* longest chain of the step's results up to its content */
    int64_t part_chain;            /* of those of one part */
    int32_t part;                  /* which; -1: not written yet */
    int64_t reach;                 /* the same, of the program's */
};

struct instance {
    int64_t index; /* on its core; -1: free */
    int left;      /* engines that have not finished its stream */
    int room;      /* its place among the core's rooms */
    struct moment opened, end;
    int64_t chain, reach;
    struct signals *semaphores;
    struct tenant *tenant; /* order.c */
    struct tile_state *tiles;
    struct transfer_state *transfers;
    int ntransfers, transfers_cap;
    int32_t *table; /* of transfers, by hash; -1 */
    int table_size;
};

/* When an instruction may begin, for earlier steps, and the chain of results up to what it reads. */
struct begin {
    struct moment at;
    int64_t reach;
};

struct engine_state {
    int step;         /* of the flight */
    int64_t instance; /* of the step: the one it works on, or waits for */
    bool inside;      /* its cursor is in that instance */
    int at;           /* in its stream */
    int64_t vars[MAX_VARS];
    struct moment free;
    bool begins;        /* `begin` is that of the instruction at the cursor */
    struct begin begin;
};

struct stationary { /* what the Tensor engine's array holds */
    int64_t instance, offset;
    int32_t tile, launch;
    struct moment written;
};

struct room { /* memory on the chip that an instance has, or had */
    struct range sbuf, psum;
    bool over; /* the instance is complete, at `end` */
    struct moment end;
    struct before { /* it has the memory when these rooms are over */
        uint64_t rooms; /* a bit each, modulo MAX_ROOMS */
        struct moment freed; /* by others, which were over when their bits were taken out */
    } before[2];        /* of SBUF, of PSUM */
};

struct transfer_part { /* of a transfer: what one DMA engine moves */
    struct flying *of;
    int64_t left; /* ps */
    struct transfer_part *next; /* of the queue */
};

struct flying { /* a transfer that is not over */
    struct launch_state *l;
    struct instance *i;
    const struct number_insn *n;
    int insn;
    int64_t vars[MAX_VARS];
    struct demand work;
    struct moment trigger, after; /* what started it; earlier transfers of its queue that it follows */
    struct flying *follows;       /* the last of these that is not over */
    int64_t number;               /* of the core's transfers */
    int64_t begin, start, end;    /* ps; when pieces may move, the first moves, the last has moved; -1: not known */
    int64_t issued, cost, reach;  /* of its instruction: when, the chain's part, the chain before it */
    int parts_left;
    int signal[2];                 /* of its instruction: which of the semaphore's */
    struct flying *behind; /* the next one of its queue */
    struct flying *later;  /* in the list that it is in */
    struct transfer_part parts[]; /* for each DMA engine */
};

struct dma {
    int n;
    struct dma_engine {
        int64_t now, next; /* what it has done it has done by then; when a part ends if nothing is added */
        int64_t left;      /* ps of all parts */
        int active;        /* queues that have some */
        struct transfer_part *first[ENGINE_COUNT];
    } engines[MAX_DMA_ENGINES];
    struct flying *arrivals; /* by `begin` */
};

struct core_state {
    struct stationary array;
    struct engine_state engines[ENGINE_COUNT];
    struct dma dma;
    struct flying *oldest[ENGINE_COUNT], *newest[ENGINE_COUNT]; /* of each queue, those that are not over */
    struct flying *spare;
    struct arena transfers;
    int64_t ntransfers;
    struct moment last_over; /* a transfer */
    struct moment sbuf_port, psum_port,
        processor;                   /* processor: machines that do one thing at a time */
    struct moment queue_end[ENGINE_COUNT]; /* transfers of a queue complete in order */
    struct room rooms[MAX_ROOMS];   /* numbers oldest_room to next_room - 1, modulo MAX_ROOMS */
    int oldest_room, next_room;
    struct moment forgotten;  /* rooms whose places in the list are taken by others */
    struct moment freed;      /* flights of one step at a time: by the step before */
};

/* What a step does with one slot. */
struct use_state {
    uint32_t conflicts; /* bit d: with the step d + 1 before */
    int64_t bytes_read;
};

/* What an instance does with HBM that is not constant. */
struct access_state {
    struct range bytes; /* of its space */
    struct moment end;  /* of what has been executed */
    int64_t reach;      /* chain of results up to that */
    bool executed;
};

/* A step on one core. */
struct launch_state {
    struct sim *s;
    struct flight *f;
    const struct number_kernel *k;
    const struct timing *t;
    struct diag *d;
    struct arena *a;
    struct core_state *c;
    struct use_state *uses; /* as k->uses; of both cores */
    int core, cores, launch, step;
    int64_t count, opened; /* instances of this core, and those that have had memory */
    int overlap;
    struct instance ring[MAX_OVERLAP];
    int64_t jumps; /* ends and beginnings of loops */
    int active;    /* engines with instructions */
    int working;   /* of these, not at the end of the step yet */
    const int32_t *const *aliases; /* per tile: tiles in the same memory, -1 at the end */
};

struct step_state {
    const struct number_kernel *k;
    struct arena arena, kept; /* until it is complete; for later steps */
    struct use_state *uses;
    struct access_state *accesses; /* per instance, if `apart`; per access of the kernel */
    bool apart;
    struct moment before; /* steps so early that nobody asks for their accesses any more */
    struct moment end;    /* of what has been issued */
    struct launch_state on[SIM_CORES];
};

/* Where a slot's memory is; slots of different spaces never share memory. */
struct place {
    int32_t space; /* -1: the arena of planned slots; else the slot */
    struct range bytes;
};

/* Steps one after another, without calls between them. */
struct flight {
    struct sim *s;
    struct diag *d;
    int nsteps;
    const int32_t *kernels;               /* per step */
    const struct number_kernel **numbers; /* per kernel */
    const int32_t *const **aliases;       /* per kernel */
    const struct place *places;           /* per slot */
    const int64_t *slot_sizes;
    int64_t reach;                           /* chain of results up to the first step */
    int max;                                /* steps at a time */
    int oldest, next; /* steps in flight: oldest to next - 1; those before are complete */
    struct step_state steps[2 * MAX_STEPS]; /* by number, modulo; uses are kept for as long */
    struct moment begin, end;
    struct moment before; /* of the next step */
    struct core_state *cores;
};

/* The instruction's part of the step's work; NULL: parts are not kept. */
static inline struct sim_work *part_work(const struct sim_launch *l, const struct number_insn *n)
{
    return l->parts ? &l->parts[n->part].work : NULL;
}

static inline struct step_state *step_at(struct flight *f, int step)
{
    return &f->steps[step % (2 * MAX_STEPS)];
}

/* What is over when both are; it costs nothing where that is not kept. */
const struct clock *both_known(const struct clock *a, const struct clock *b);

static inline struct moment later(struct moment a, struct moment b)
{
    struct moment m = b.at > a.at ? b : a;
    m.known = a.known == b.known ? a.known : both_known(a.known, b.known);
    return m;
}

/* ---- instances (launch.c) ---- */

/* The instruction at which an engine stands, and when it may begin. */
struct candidate {
    struct launch_state *l;
    struct moment at; /* when, and which record had to be over */
    enum sim_why why;
    const struct number_insn *n;
    int insn;
    bool known; /* `at` says what is over by then */
};
/* False: the engine has none, or something that it waits for has not been executed. `known`: with
 * what is over by then. */
bool find_candidate(struct flight *f, int core, int engine, bool known, struct candidate *c);
/* The engine's instance, in which its cursor stands at an instruction; NULL: it has none yet. */
struct instance *current_instance(struct flight *f, int core, int engine, struct launch_state **at);
void issue(const struct candidate *c);
/* What follows when a transfer is over, at `done`. */
void transfer_follows(const struct flying *f, struct moment done);
/* To the next instruction; at the end of the instance's stream, to the next instance. */
void advance(struct launch_state *l, int engine);

/* ---- what is shared by steps (steps.c) ---- */

/* Which slots the kernel's instructions use; in arena a. */
void number_uses(struct number_kernel *k, const struct sim *s, struct arena *a);
/* Where slots are, of sizes[slot] bytes each (-1: not known); in arena a. */
struct place *slot_places(const struct sim *s, const int64_t *sizes, struct arena *a);
/* Brings steps into flight while there may be more; takes out what is complete. */
void open_steps(struct flight *f);
/* When earlier steps let an instance's instruction begin; false: it is not known yet. */
bool accesses_begin(const struct launch_state *l, const struct number_insn *n, int64_t instance,
                    struct begin *b);
/* The instruction has been executed. */
void note_accesses(struct launch_state *l, const struct number_insn *n, int64_t instance,
                   struct moment end, int64_t reach);
/* Memory for an instance on the core, perhaps while others still have it; false: too many are under way. */
bool take_room(struct launch_state *l, int *room);
/* When the instance has its SBUF, or PSUM: false: one that has not ended still has it. */
bool room_begins(struct core_state *c, int room, bool psum, struct moment *freed);

/* Fails, because the program is longer than SIM_LONGEST. */
bool too_long(struct diag *d);

/* Executes the flight; f->end: the last of it. */
bool run_flight(struct flight *f);

/* Values of the grid's variables for instance number `index`. */
void grid_point(const struct number_kernel *k, int64_t index, int64_t *vars);

/* ---- DMA engines (dma.c) ---- */

void dma_reset(struct dma *d, int engines, int64_t time);
/* A transfer whose `begin` is known. */
void dma_add(struct dma *d, struct flying *f);
/* When something begins or ends next; INT64_MAX: nothing does. */
int64_t dma_next(const struct dma *d);
/* That begins, or ends: the `end` of a transfer may be known then. */
void dma_step(struct dma *d);

/* ---- the order of a queue (queue.c) ---- */

/* The instance begins: its queues have moved nothing. */
void forget_transfers(struct instance *i);
/* Earlier transfers of its queue that touch what it touches: those that are over in f->after, else f->follows. Notes
 * what it touches. */
void queue_transfer(struct flying *f);
/* It is over, for what was noted. */
void transfer_noted(struct flying *f, struct moment end);
/* Whether transfers of the engine's own queue that are not over touch an operand's tile. */
bool queue_touches(const struct launch_state *l, const struct instance *i, const struct number_ap *ap, int engine);

/* ---- transfers (transfer.c) ---- */

/* The instruction's transfer, triggered at `trigger` (a record). */
struct flying *start_transfer(struct launch_state *l, struct instance *i, const struct number_insn *n, int insn,
                              const struct demand *w, struct moment trigger, const int64_t *vars);
/* The oldest of a queue of which all pieces have moved; NULL. */
struct flying *transfer_over(struct core_state *c);
/* Takes it out: its record and end. What it was remains valid until the next transfer starts. */
struct moment end_transfer(struct flying *f);

/* ---- what is ordered (order.c): nothing is kept, and all are NULL, unless sim_options.check ---- */

struct watch;
struct tenant;

struct watch *watch_new(struct sim *s);
void watch_free(struct watch *w);
/* What is over when something in a track is, that began when `known` was. */
const struct clock *clock_after(const struct sim *s, const struct clock *known, int core, int track);
/* An instruction, or its transfer, begins when `known` is over; `done`: when it is, too. */
void watch_insn(struct launch_state *l, struct instance *i, const struct number_insn *n, int insn,
                const int64_t *vars, const struct clock *known, const struct clock *done);
/* Calls wait for all before them, and all after them for them: what they read and write as a whole.
 * Lists of slots, -1: none. */
void watch_reads(struct sim *s, const int32_t *slots, int n, const struct clock *known);
void watch_writes(struct sim *s, const int32_t *slots, int n, const struct clock *known);

/* ---- memory in use (occupancy.c) ---- */

/* Of an instance that is over. */
void note_occupancy(struct launch_state *l, const struct instance *i);

/* ---- records (record.c) ---- */

int32_t add_record(struct sim *s, struct sim_record r);
void add_wait(struct sim *s, int kernel, int insn, int track, int32_t cause, int64_t ps);
void add_live(struct sim *s, int64_t at, int64_t sbuf, int64_t psum);
void grow(void **list, int n, int *cap, size_t size);

#endif
