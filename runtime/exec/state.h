/*
 * What the files of runtime/exec share: models, contexts, and programs bound to shapes.
 */
#ifndef RUNTIME_EXEC_STATE_H
#define RUNTIME_EXEC_STATE_H

#include "runtime/exec/exec.h"
#include "runtime/exec/profile.h"
#include "runtime/kernels/gemm.h"
#include "runtime/ops/common/ops.h"

#include <stdatomic.h>

/* ---- a model: what depends on the program alone ---- */

struct slot_list {
    int count;
    int32_t *slots;
};

struct model {
    struct program *p;
    struct arena arena;
    int *first_step; /* per region: number of its first step in one numbering of all steps */
    struct slot_list *dying;          /* per step: dynamic slots used there for the last time */
    struct slot_list *region_dying;   /* per region: those whose last use is its end */
    struct slot_list *views;          /* per slot: the views on it */
    bool *slot_runtime;               /* per slot: type known only while running */
    bool *slot_read;                  /* per slot, views aside: the program reads it */
    bool has_runtime;                 /* there are dynamic slots */
    bool engine_threads;              /* see engine_threads.c */
    bool guard_operands;              /* of libraries' operators */
    int bf16_rate;                    /* of new contexts; 0: that of the kernels */
    bool one_by_one;                  /* instructions run as they stand: in a plan for another program */
    bool *kernel_runtime;             /* per kernel: shapes known only while running */
    struct slot_list *kernel_symbols; /* per such kernel: the symbols that its shapes depend on */
    struct slot_list *guards;         /* per region: numbers of guards to be checked in runs */
    struct slot_list *region_symbols; /* per region: symbols that its slots bind */
    int batch;                        /* symbol of the dim whose parts may be computed alone; -1 */
    int32_t *definer;                 /* per symbol: the dynamic slot whose dims bind it; -1 */
    struct slot_list *kernel_writes;  /* per kernel: dynamic slots it writes */
    struct slot_list
        *kernel_uses; /* per kernel: slots it touches whose type is known only while running */
};

/*
 * ---- kernels bound to shapes ----
 *
 * Structures that are assigned as a whole have no padding: what lies there would differ from one run
 * of the compiler to the next, and such memory is what a planned program is made of
 * (runtime/standalone/planned.h).
 */

struct term {
    int64_t var, coef;
};
struct clip {
    int32_t dim, var;
    int64_t factor, limit;
};

/*
 * Where an operand lies. Its address in an instance is its memory's start + offset + terms; all in
 * bytes. Steps follow the dims of the instruction's shape, or (instructions of SHAPE_OWN) its
 * own, which have counts.
 */
struct operand {
    uint8_t mem, dtype, rank, size; /* mem MEM_NONE: absent; size: bytes of an element */
    uint16_t nterms, nclips;
    int64_t slot; /* of MEM_HBM, else -1 */
    int64_t offset;
    const struct term *terms;
    const struct clip *clips; /* SHAPE_OWN: of this operand */
    int64_t *step, *count;    /* of each dim, step in elements; its own */
};

/* Counts in force are min(count, limit - factor * variable) over the clips of a dim. */
struct shape {
    int32_t rank, nclips;
    int64_t count[MAX_AP_RANK];
    const struct clip *clips;
};

struct number { /* an affine immediate */
    int64_t base;
    uint16_t nterms;
    const struct term *terms;
};
static inline int64_t number_value(const struct number *n, const int64_t *vars)
{
    int64_t v = n->base;
    for (int i = 0; i < n->nterms; i++)
        v += n->terms[i].coef * vars[n->terms[i].var];
    return v;
}

struct worker;
struct bound_insn;
typedef void (*exec_fn)(struct worker *me, const struct bound_insn *i);

struct bound_insn {
    exec_fn run;
    uint16_t op, nops;
    int32_t node;
    int32_t match; /* loop: index of its end; end: of its loop */
    int32_t skip;  /* instructions after it that it does too */
    int64_t inner; /* dims of the shape that belong to a row */
    struct shape shape;
    struct operand *o;
    struct number *imm;
    float flt[MAX_FLOATS];
    uint16_t func[MAX_FUNCS], unused[3];
    void *prepared;          /* of the instruction's own, see exec_*.c */
    const struct flat *flat; /* when its rows are short: see flat.c */
};

struct bound_kernel {
    const struct kernel *kernel;
    int ngrid, ninsns;
    int64_t grid[MAX_GRID], instances;
    int64_t tile_bytes, scratch_bytes; /* of one worker */
    bool in_order; /* instances run one after the other: they write the same places */
    int64_t flops, bytes, work_bytes; /* work_bytes: estimated where the kernel does not say */
    int64_t steps; /* that a launch counts for, beside the one that it is */
    struct bound_insn *insns;
    /* Runs instances from .. to - 1 at once, with what it has prepared; NULL: each by itself. */
    void (*run_many)(struct worker *me, const struct bound_kernel *k, int64_t from, int64_t to);
    const void *many;
    struct number **waits; /* per instruction the values it waits for; NULL: engines are no threads */
};

_Static_assert(sizeof(struct term) == 16 && sizeof(struct clip) == 24, "padding");
_Static_assert(sizeof(struct operand) == 24 + 4 * sizeof(void *), "padding");
_Static_assert((sizeof(float) + sizeof(uint16_t)) * 3 + sizeof(uint16_t) * 3 == 24 && MAX_FLOATS == 3 &&
                   MAX_FUNCS == 3,
               "padding");

/* ---- a program bound to shapes ---- */

struct bound {
    struct arena arena;
    uint64_t used;    /* clock of the last use */
    int64_t *key;     /* dtype, rank and dims of all inputs */
    int64_t *symbols; /* values; runtime ones DIM_NOT_BOUND */
    int64_t *values;  /* of all dim expressions */
    struct memory_plan plan;
    struct tensor *types; /* per slot: dims where they are known, data NULL; else kind VK_NONE */
    struct bound_kernel **kernels; /* NULL: bound when launched */
    struct control **control;      /* per call: a loop or branch on fixed places; NULL: any other */
    struct quick_region **quick;   /* per region of such a one: see quick.h */
    bool *call_checked; /* per call: shapes are right whatever the contents of the operands */
    int64_t tile_bytes, scratch_bytes;
};

struct kernel_cache { /* of a kernel bound when launched */
    struct arena arena;
    int64_t *symbols; /* for these values of the kernel's symbols */
    struct bound_kernel *bound;
};

/* ---- a context ---- */

/* What ends a run before its time; workers look at it too. */
struct stop {
    atomic_bool cancelled;
    double deadline; /* of this run, as seconds_now tells it; 0: none */
};
/* Why to stop, or NULL. */
const char *stop_now(const struct stop *s);

struct worker {
    const struct stop *stop;
    uint32_t turns; /* of loops, and instances, since the worker looked at `stop` */
    int64_t vars[MAX_VARS];
    char *const *hbm; /* address of each slot */
    char *tiles, *scratch;
    const struct kernel_table *k;
    struct gemm_prefetch prefetch;
    _Atomic(const char *) *error; /* of the launch; the first one is kept */
    atomic_uint_fast64_t share;   /* what is left of the launch, see launch.c */
    char text[120];               /* of an error that has numbers */
    char pad[64];
};

struct output {
    void *memory; /* the caller's, or NULL */
    size_t bytes;
    struct tensor own;    /* planned outputs' memory, and copies */
    struct tensor result; /* what the caller sees */
};

/* Of a state of the program, as context_bind_state has bound it. */
struct bound_state {
    int input, output;   /* numbers of the model's */
    struct tensor memory; /* of the output's dims, `capacity` along the axis */
    size_t room;          /* that it has been given */
    int64_t length;      /* along the axis, of what the memory holds */
    struct tensor result; /* of the last run, in the memory */
    struct op_cache cache; /* where a call of cache_append makes the output */
    bool given;          /* the input is the caller's: to be copied */
    bool gathered;       /* the output's dense copy is that of the last run */
};

/* Of a large batch that is computed group by group (groups.c). */
struct batch_groups {
    int64_t *key;  /* of the inputs that they are for */
    int64_t batch; /* items */
    int64_t most;  /* of a group; 0: all at once */
    struct tensor *inputs, *whole; /* as set; all groups' results */
    char **memory;                 /* the caller's, per output */
    struct context **alone;        /* of one thread, one for each of the context's; NULL: none so far */
};

enum { MAX_BOUND = 8, MAX_DEPTH = 64 };

struct context {
    struct model *m;
    int threads;
    int bf16_rate; /* by which steps are left out (struct step): that of the kernels */
    const struct parallel *by; /* while it is made: whose threads the pool is to have */
    struct pool *pool;
    struct worker *workers;
    char *worker_memory;
    size_t worker_bytes, worker_ready; /* of one worker; of these, resident */
    size_t tile_bytes, scratch_bytes; /* of one worker: the most that a kernel bound so far needs */

    struct tensor *input; /* as set */
    struct output *output;
    bool ran;
    struct bound_state *states; /* per state of the program; NULL: none is bound */
    int64_t *capacities;        /* 0: not bound */

    struct batch_groups *groups; /* NULL: no large batch so far */
    int64_t group;              /* items of one, for tests; 0: as sizes tell */
    bool part;                  /* inputs are those of a group, not of the whole batch */

    struct bound *bound[MAX_BOUND], *now;
    int nbound;
    uint64_t clock;
    struct tensor_spares spares; /* of tensors whose sizes only running tells */
    int64_t *key;
    char *memory; /* the arena of planned slots */
    size_t memory_bytes, memory_ready; /* of it, resident */
    bool placed;  /* slots hold the addresses of `now` */
    bool guessed; /* bound[0] was planned ahead for open dimensions of 1 */

    struct tensor *slots;
    char **address;            /* of each slot, for kernels */
    struct tensor *alone;      /* per slot: memory of planned ones without a place in the arena; NULL: no such yet */
    int64_t *symbols, *values; /* of this run, run-time symbols included */
    bool values_stale;
    bool guards_due;            /* a symbol has got a value since guards were checked */
    struct kernel_cache *cache; /* per kernel */
    struct op_call *calls;      /* per call, operands in place */
    struct tensor absent;
    struct op_env env;
    void *core_scratch; /* see op_env */
    struct work_block *work_spares;
    int depth; /* nested regions */
    int32_t running[MAX_DEPTH + 1]; /* the regions, outermost first */
    struct profile *profile;
    struct run_limits limits;
    int64_t steps_left; /* of this run */
    struct stop stop;
    bool (*seen)(void *user, struct context *c, int step, struct diag *d); /* see context_watch */
    void *seen_user;
};

/* ---- between the files ---- */

/* context.c: a context for which nothing is prepared. */
struct context *context_make(struct model *m, int threads, const struct parallel *by,
                             struct diag *d);

/* bind.c: makes c->now the plan for the inputs that are set. */
bool bind_inputs(struct context *c, struct diag *d);
/* Their types and dims. */
size_t inputs_key_bytes(const struct context *c);
void inputs_key(const struct context *c, int64_t *key);
/* Makes the plan of the first run now, memory included, and c->input what it is for, without data;
 * false when types do not tell. Open dimensions are taken to be 1; when they are not, that plan
 * goes. items: of a group of the batch; 0: the whole batch. */
bool bind_ahead(struct context *c, int64_t items);
void bound_free(struct bound *b);
/* All of them: they hold what is not so any more. */
void forget_plans(struct context *c);

/* warm_up.c: runs a short model on zeros. c->now and c->input are what bind_ahead made. */
void warm_up(struct context *c);

/* slots.c */
/* Dims of a slot's type under `values`; false (no message) when some are not known. */
bool slot_dims(const struct slot *s, const int64_t *values, struct tensor *out);
/* Fails when a dim of the slot is negative for its operands' sizes do not broadcast. */
bool check_broadcasts(const struct program *p, int slot, const int64_t *values, struct diag *d);
/* b->types and bytes of every slot whose dims b->values determines; of others kind VK_NONE and 0.
 * Fails on sizes that memory cannot have and on views that leave their tensor. */
bool size_slots(const struct model *m, struct bound *b, int64_t *sizes, struct diag *d);

/* model.c: adds to a list; `add`: unless it is there. */
void slot_list_append(struct arena *a, struct slot_list *l, int slot);
void slot_list_add(struct arena *a, struct slot_list *l, int slot);

/* groups.c: bind_ahead for the first group, where the batch has one size and is computed group by group. */
bool bind_group_ahead(struct context *c);

/* guards.c */
void find_guards(struct model *m);
/* Those of the main program about inputs; values of all dim expressions. */
bool check_input_guards(const struct program *p, const int64_t *values, struct diag *d);
/* When a region begins: what its slots bind has no value yet. */
void forget_symbols(struct context *c, int region);
/* Those of a region whose symbols have values. */
bool check_region_guards(struct context *c, int region, const int64_t *values, struct diag *d);

/* executors.c: how an instruction is bound and run. */
struct binding {
    const struct model *m;
    struct bound_kernel *kernel;
    struct arena *arena;
    int lanes; /* of the kernels that will run it */
    struct diag *d;
    const int64_t *var_count; /* of each variable of the kernel, its largest count */
    const struct binder *binder;
    /* Of a product: what comes next, its operands bound but nothing prepared. */
    const struct insn *next;
    struct bound_insn *bound_next;
    int nnext;
};
enum { MAX_NEXT = 6 };
/* Whether two tiles have bytes in common: instructions on them do not run together, row by row. */
bool tiles_meet(const struct binder *b, int x, int y);
struct executor {
    exec_fn run;
    bool (*prepare)(struct binding *b, struct bound_insn *i,
                    const struct insn *insn); /* may be NULL */
};
extern const struct executor executors[INSN_COUNT];

/* stream.c: several instructions that run together. */
void exec_stream(struct worker *me, const struct bound_insn *i);

/* flat.c: makes i->flat for elementwise instructions with many short rows and a dense result. */
void flatten(struct binding *b, struct bound_insn *i);
/* The instruction on dense rows. */
struct bound_insn *flat_insn(const struct flat *f);

/* bind_kernel.c */
struct bound_kernel *bind_kernel(const struct model *m, const struct kernel *k,
                                 const int64_t *values, int lanes, struct arena *a, struct diag *d);

/* profile.c: what began at `start` has ended. */
void profile_launch(struct profile *p, const struct program *program, const struct bound_kernel *k,
                    double start);
void profile_call(struct profile *p, const struct program *program, const struct call *call,
                  const struct op_call *with, double start);
void profile_run(struct profile *p, const struct program *program, double start);

/* limits.c: before a run, between its steps, after it. */
void limits_start(struct context *c);
bool limits_step(struct context *c, struct diag *d);
bool limits_steps(struct context *c, int64_t n, struct diag *d); /* before n steps */
bool limits_time(const struct context *c, struct diag *d);
void limits_end(struct context *c);
bool limits_bytes(const struct context *c, const char *what, size_t bytes, struct diag *d);

/* launch.c */
/* The only instance, by the calling thread; an error is left in the worker's `error`. */
void launch_one(struct worker *me, const struct bound_kernel *k);
/* All instances, shared by as many workers as pay, `threads` at most, which `by` runs; the first failure is
 * left in *error. */
void launch_on(struct worker *all, int threads, const struct parallel *by,
               const struct bound_kernel *k, _Atomic(const char *) *error);
bool launch(struct context *c, const struct bound_kernel *k, struct diag *d);
/* engine_threads.c: the same by one thread per engine; the context has a worker for each. */
bool launch_engines(struct context *c, const struct bound_kernel *k, struct diag *d);
bool workers_reserve(struct context *c, int64_t tile_bytes, int64_t scratch_bytes, struct diag *d);
bool workers_start(struct context *c, struct diag *d);
void workers_stop(struct context *c);
/* Their pages, before a run; not before: a context that waits for its first run takes little memory. */
void workers_ahead(struct context *c);

/* planned_control.c: finds loops and branches that carry and give planned tensors only; runs one,
 * its regions, or single steps of them, by `run`. */
struct run_by {
    bool (*region)(struct context *c, int region, struct diag *d);
    bool (*step)(struct context *c, int region, int number, struct diag *d); /* and what the model assumes afterwards */
};
void plan_control(const struct context *c, struct bound *b);
bool run_control(struct context *c, const struct call *call, const struct control *k,
                 const struct run_by *run, struct diag *d);

/* slots.c: bytes of a slot with the room that its state has; `bytes`: without. */
int64_t state_bytes(const struct program *p, const int64_t *values, int slot, int64_t bytes);
/* Before inputs are bound for new shapes, `values` being those of all dims: lengths are within capacities. */
bool states_fit(const struct context *c, const int64_t *values, struct diag *d);
/* states.c, which standalone programs have no use for (USED(STATES)). Before a run, inputs bound: the memory holds what
 * inputs were set to. */
bool states_begin(struct context *c, struct diag *d);
/* Whose memory it is; NULL where that is not bound. */
struct bound_state *state_of_output(const struct context *c, int output);
/* After a run: its outputs are the next one's inputs. */
void states_end(struct context *c);
void states_input_set(struct context *c, int input);
/* The output without room between its rows; NULL: out of memory. */
const struct tensor *state_output(const struct context *c, struct bound_state *s);
void states_free(struct context *c);

/* run.c */
/* The main program on the inputs that are set. */
bool run_main(struct context *c, struct diag *d);
/* `run` with the context's limits, and in its profile. */
bool run_limited(struct context *c, bool (*run)(struct context *c, struct diag *d), struct diag *d);
bool run_region(struct op_env *env, struct op_call *oc, int r, struct tensor *args, int nargs,
                struct tensor *results, int nresults);
void region_result_type(struct op_env *env, struct op_call *oc, int r, const struct type *params, int nparams,
                        int result, struct type *type);

#endif
