/*
 * The simulator: how long a program would take on a machine of machine.def, and why.
 *
 * It executes the streams of an archive without their arithmetic. Each engine takes the
 * instructions of its stream in order; semaphores, DMA engines, ports of memories and the rotation
 * of grid instances delay them. All times are whole picoseconds: the same program, options and
 * machine give the same result. MODEL.md says what is modelled, on which public figures it rests,
 * and how far off it may be.
 */
#ifndef RUNTIME_SIM_SIM_H
#define RUNTIME_SIM_SIM_H

#include "neff/isa/machine.h"
#include "neff/isa/program.h"

#include <stdio.h>

/* What has times of its own: the engines, then the DMA queue that each engine feeds. */
enum { TRACK_QUEUE = ENGINE_COUNT, TRACK_COUNT = 2 * ENGINE_COUNT, SIM_CORES = 2, SIM_OVERLAP = 8 };
extern const char *const track_names[TRACK_COUNT]; /* "pe", ... "q.pe", ... */

/* A number of iterations that only running would tell: of the control-flow node `node` (a name of
 * program.nodes; NULL: of every such node). Of an `if`: which branch, 0 or 1. */
struct sim_trips {
    const char *node;
    int64_t count;
};

/* Of each loop and `if` of which a trace has the run (xrun --profile, of this archive): how many, at most `max`; -1: it
 * is no such text. Of several calls, their mean. */
int sim_trips_of_trace(const struct program *p, const char *text, size_t size, struct sim_trips *trips, int max,
                       struct arena *a, struct diag *d);

struct sim_options {
    const struct machine *machine; /* NULL: the one that the program was compiled for */
    const int64_t *values;         /* of all dims: sim_bind */
    int cores;                     /* 1 or 2: instances of a grid are dealt out in turn */
    int overlap; /* instances of a grid at a time at most; 0: as many as fit, up to 8 */
    const struct sim_trips *trips;
    int ntrips;
    int64_t max_insns; /* fails when more are executed; 0: 50 million */
    int max_records;   /* instructions kept for time lines and the critical path */
    bool in_turn;       /* a step begins when the one before is complete */
    bool check;         /* accesses that nothing orders are faults (order.c) */
    enum sim_plant {    /* a fault in what orders steps, which `check` must find */
        PLANT_NONE,
        PLANT_EARLY_STEPS, /* transfers do not wait for earlier steps */
        PLANT_EARLY_ROOMS  /* instances have the memory of others that still run */
    } plant;
};

/* Values of all dims: symbols as given, others 1. `assumed` (when not NULL): names of those, in the
 * arena, separated by ", ". */
struct sim_shape {
    const char *name; /* of a symbol, or of an input */
    int ndims;        /* of an input; 0: of a symbol, with its value in dims[0] */
    int64_t dims[MAX_RANK];
};
int64_t *sim_bind(const struct program *p, const struct sim_shape *shapes, int nshapes,
                  const char **assumed, struct arena *a, struct diag *d);
/* The same, others as large as that, as far as they may be. */
int64_t *sim_bind_others(const struct program *p, const struct sim_shape *shapes, int nshapes, int64_t others,
                         const char **assumed, struct arena *a, struct diag *d);
/* "NAME=1,3,224" or "symbol=4". */
bool sim_shape_parse(struct sim_shape *s, const char *text, struct arena *a, struct diag *d);

/* Why an instruction began when it did: `cause` of its record had to be over. */
enum sim_why {
    WHY_START,     /* the program began */
    WHY_ENGINE,    /* the engine was busy with the cause */
    WHY_SEMAPHORE, /* the cause signalled what it waited for */
    WHY_RESULT,    /* the engine's pipeline: the cause's result is needed */
    WHY_PORT,      /* the cause used the memory's port */
    WHY_ROOM,      /* an earlier instance, of which the cause is the last, had the memory */
    WHY_STEP,      /* an earlier step uses the same HBM; the cause is the last that does */
    WHY_DMA,       /* DMA engines were busy with the cause */
    WHY_QUEUE,     /* an earlier transfer of the queue touches the same memory */
    WHY_TRIGGER,   /* a transfer: the cause is the instruction that started it */
    WHY_COUNT
};
extern const char *const why_names[WHY_COUNT];

struct sim_record { /* one executed instruction, transfer or call */
    int64_t ready, start,
        end;          /* ps; ready: the cause was over. A transfer's bytes move from start on */
    int32_t cause;    /* index of a record, -1 none */
    int32_t insn;     /* of the kernel; -1: a call */
    int32_t launch;   /* index of sim.launches */
    int32_t instance; /* of the grid */
    uint8_t track, why, core;
};

struct sim_work { /* of a step, or of a part of one */
    int64_t start, end, insns;
    int64_t busy[TRACK_COUNT];             /* ps, over both cores */
    int64_t dma_ps, dma_bytes, dma_pieces; /* transfers: time of a core's DMA engines */
    double matmul_flops;
    int64_t chain; /* longest chain of results in one instance */
    int64_t adds;  /* ps by which it ends later than all steps and parts before it */
};

struct sim_part { /* what a step's kernel does for one source node */
    int32_t node; /* of program.nodes, -1 none */
    struct sim_work work;
};

struct sim_launch {       /* one executed step */
    int32_t kernel, call; /* the other is -1 */
    int64_t instances;
    int overlap;
    struct sim_work work;
    struct sim_part *parts; /* of a kernel of several nodes, by node; NULL: of one, or not kept */
    int nparts;
};

struct sim_track {
    int64_t busy, waiting, blocked; /* waiting: for semaphores; blocked: ports, results, room */
    int64_t insns;
};

/* Time that one instruction of a kernel waited for signals of another. */
struct sim_wait {
    int32_t kernel, insn, cause_insn;
    uint8_t track, cause_track;
    int64_t ps, times;
};

struct sim_live { /* bytes of each partition in use from a time on */
    int64_t at;
    int32_t sbuf, psum; /* change */
};

struct sim {
    const struct program *p;
    const struct machine *m;
    struct sim_options o;
    struct arena arena;
    int64_t latency; /* ps */
    int64_t chain;   /* ps: the longest chain of results */
    struct sim_track tracks[SIM_CORES][TRACK_COUNT];
    double dma_busy; /* ps: mean of a core's DMA engines, summed over cores */
    double dma_of_core[SIM_CORES];
    struct sim_launch *launches;
    int nlaunches, launches_cap;
    int nparts;         /* of all launches */
    bool parts_missing; /* there were too many to keep those of later launches */
    struct sim_record *records;
    int nrecords, records_cap;
    bool truncated; /* more instructions than max_records */
    int64_t insns;
    int64_t work_ps; /* of all that was executed, as if one thing came after the other */
    struct sim_wait *waits;
    int nwaits, waits_cap;
    struct sim_live *live;
    int nlive, live_cap;
    int64_t last;                                /* record that ended last, -1 */
    double matmul_flops, pe_flops, kernel_flops; /* products; with transposes; of all kernels */
    int64_t hbm_read, hbm_written,
        hbm_useful; /* bytes; useful: of reads, each byte once a launch */
    int64_t spilled, reloaded; /* of these: written for later steps, and read from there */
    int64_t dma_bytes, transfers;
    int64_t sbuf_peak, psum_peak; /* bytes of a partition */
    const char *assumed_trips;    /* nodes whose numbers of iterations were not given, or NULL */
    struct watch *watch;          /* with o.check */
    int nfaults;                  /* of the check */
    char *faults;                 /* a line for each of the first of them, or NULL */
    bool check_ended;             /* before the program did: too many pieces of memory */
};

/* NULL with a message: a deadlock (explained), a limit, a shape that is not known. */
struct sim *sim_run(const struct program *p, const struct sim_options *o, struct diag *d);
void sim_free(struct sim *s);

/* Looks through every kernel for hazards (neff/plan/hazards.h), then through what all steps do
 * together (order.c); a line for each kernel that has one, the first of it, and for each pair of
 * steps. How many there are, -1 with a message when the program cannot be simulated. */
int sim_check(const struct program *p, const struct sim_options *o, FILE *out, struct diag *d);
/* The kernels alone, each as far as a short walk goes, and whether instances of its grid are independent. */
int sim_check_kernels(const struct program *p, const struct sim_options *o, FILE *out);
/* Whether the program may run with these sizes, as far as they are those of inputs. */
bool sim_admits(const struct program *p, const int64_t *values);

/* ---- what follows from a run (analysis.c) ---- */

struct sim_share {
    int32_t node; /* of program.nodes, -1 none */
    int64_t ps, waiting;
    int track;
};
struct sim_summary {
    double latency_us, bound_us;
    const char *bound_by;     /* "pe", ..., "dma", "chain" */
    double share[TRACK_COUNT]; /* busy share of the latency */
    double dma_share;         /* of the time of all DMA engines */
    double chain_us;
    double mfu, hfu, mbu;
    struct sim_share *path; /* critical path by source node, longest first */
    int npath;
    char *advice[10]; /* opportunities, best first */
    int nadvice;
};
void sim_summarise(struct sim *s, struct sim_summary *out);
/* What no order of a step's or a part's instructions is faster than, in ps, and by what. */
double sim_work_bound(const struct sim *s, const struct sim_work *w, const char **by);
double sim_work_mfu(const struct sim *s, const struct sim_work *w);
const char *sim_step_name(const struct sim *s, const struct sim_launch *l);

struct sim_kind { /* of layers: nodes whose names differ in numbers alone */
    const char *name;
    int layers;
    int64_t path;         /* ps on the critical path */
    int64_t alone;        /* ps: sum of the layers' own bounds */
    struct sim_work work; /* of all of them; its chain: the longest of one; without start and end */
};
/* Those with most time on the critical path first. */
struct sim_kind *sim_kinds(struct sim *s, const struct sim_summary *y, int *count);
/* Records on the critical path, last first, in the arena of s. */
int32_t *sim_path(struct sim *s, int *n);

/* ---- output ---- */

void sim_print(struct sim *s, const struct sim_summary *y, FILE *out); /* the text report */
/* A line for each executed step, and below it one for each of its parts. */
void sim_print_steps(const struct sim *s, FILE *out);
/* A line for each kind of layer. */
void sim_print_kinds(struct sim *s, const struct sim_summary *y, FILE *out);
void sim_print_last_line(const struct sim_summary *y, FILE *out);
void sim_print_json(struct sim *s, const struct sim_summary *y, bool steps, bool kinds, FILE *out);
/* Two runs beside each other: totals, and the nodes whose time differs most. */
void sim_print_comparison(const struct sim *a, const struct sim_summary *ya, const char *name_a,
                          const struct sim *b, const struct sim_summary *yb, const char *name_b,
                          FILE *out);
void sim_print_perfetto(struct sim *s, FILE *out);

#endif
