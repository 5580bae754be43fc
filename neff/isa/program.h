/*
 * A program: what the backend makes, the archive holds and the runtime executes.
 *
 * Slots are the variables. Steps are the control stream of the sync engine: launch a kernel, or
 * have GpSimd call an operator's plain routine. Regions (bodies of control flow) are step lists of
 * their own that share the slots; calls run them.
 *
 * Everything lives in the program's arena but for constant data, which is borrowed (from the graph,
 * from a mapped archive) or made when it is wanted.
 */
#ifndef NEFF_PROGRAM_H
#define NEFF_PROGRAM_H

#include "neff/core/guard.h"
#include "neff/isa/isa.h"

enum slot_kind {
    SLOT_INPUT,   /* bound by the caller */
    SLOT_CONST,   /* data in the archive, read only */
    SLOT_PLANNED, /* tensor whose dims depend on inputs only: placed in the arena by plan_memory,
                     once per shapes */
    SLOT_DYNAMIC, /* dims (or kind) known only while running: owns its memory while live */
    SLOT_VIEW,    /* another slot's memory, contiguous, under another type */
    SLOT_KINDS
};

/*
 * A constant that nobody holds: weights in another layout, made while the archive is written. It is
 * made in pieces, so that only a few of them are in memory at a time.
 */
struct constant_maker {
    int64_t pieces; /* of equal size, one after another; at least 1 */
    /* Writes a piece to `to`, in any thread, several at once. False: out of memory. */
    bool (*make)(const struct constant_maker *m, int64_t piece, void *to);
    /* It will not be made again: the memory of what it is made of may go. */
    void (*release)(const struct constant_maker *m);
};

struct slot {
    const char *name; /* of the model's value, may be NULL; inputs and outputs: never NULL */
    struct type type;
    uint8_t kind;   /* enum slot_kind */
    bool has_range; /* SLOT_INPUT of integers: the model takes low..high, as far as it tells */
    bool is_output; /* its memory must survive the run: not in the arena */
    bool donated;   /* SLOT_INPUT: callers have no use for its content after a run */
    int32_t base;   /* SLOT_VIEW: the slot that owns the memory (not itself a view) */
    int64_t low;
    dim_t high;
    dim_t offset;       /* SLOT_VIEW: elements (of this type) from the base's start */
    struct tensor data; /* SLOT_CONST: a view; dims constant */
    const struct constant_maker *maker; /* SLOT_CONST: where data.data is NULL; or NULL */
};

struct call {
    enum op op;
    struct attrs attrs;
    int nin, nout, nregions;
    int32_t *in, *out; /* slots; -1: absent or not wanted */
    int32_t *regions;  /* indices into program.regions */
    int32_t node;      /* program.nodes */
};

enum step_kind { STEP_LAUNCH, STEP_CALL };
/*
 * A launch may be one of several ways to the same result, for processors that multiply bf16 at different rates: it is
 * made where bf16_from <= rate < bf16_below. The rate is that of products of bf16 in percent of those of f32, a number
 * that the runtime has for each of its instruction sets; BF16_RATE where there is no unit for them. Between them such
 * launches write the same elements, and whoever looks for dependences counts them all.
 */
struct step {
    uint8_t kind;
    int32_t index;                 /* kernel or call */
    int16_t bf16_from, bf16_below; /* of a launch, 0 to MAX_BF16_RATE; below 0: no limit */
};
enum { BF16_RATE = 100, MAX_BF16_RATE = 10000 };
static inline bool bf16_rate_is_within(int rate, int from, int below)
{
    return from <= rate && (!below || rate < below);
}
static inline bool step_is_for(const struct step *s, int bf16_rate)
{
    return bf16_rate_is_within(bf16_rate, s->bf16_from, s->bf16_below);
}

struct program_region {
    int nparams, nresults, nsteps, steps_cap;
    int32_t *params, *results; /* slots */
    struct step *steps;
};

struct program_node {          /* source node, for messages and profiles */
    const char *name, *source; /* "Conv_12", "Conv" */
};

/* Code that calls of OP_custom run (runtime/custom): an object file, or the name of one. */
struct program_library {
    const char *name;         /* of the file, without folders */
    const char *hash;         /* SHA-256 of the file, in hexadecimal digits; calls name it so */
    const char *architecture; /* as `uname -m` says it */
    int abi;                  /* XOP_ABI that it was compiled with */
    const uint8_t *data;      /* NULL: the archive has the name alone */
    size_t size;
};

/*
 * An output that is an input with more behind it along an axis, or (equal dims) with parts written over: where both lie
 * in one memory, nothing but what is new is written. Steps of dims before the axis are made of `pitch`, expressions of
 * DIM_PITCH: of the length along the axis, or the capacity that the runtime has given the state (xrt_bind_state).
 * Kernels alone read or write the two, or a call that makes the output of the input. Of equal dims, anything may.
 */
struct program_state {
    int32_t input, output; /* slots */
    int axis;
    dim_t pitch[2]; /* of input, output; of equal dims: their length */
};

struct program {
    struct arena arena;
    struct dim_table dims;
    const char *name;
    const char *target; /* machine table row */
    int nslots, slots_cap;
    struct slot *slots;
    int nkernels, kernels_cap;
    struct kernel *kernels;
    int ncalls, calls_cap;
    struct call *calls;
    int nregions, regions_cap;
    struct program_region *regions; /* [0]: the main program; params are inputs, results outputs */
    const char **output_names;      /* of regions[0].results; inputs are named by their slots */
    int nguards, guards_cap;
    struct guard *guards; /* checked before anything runs with sizes that they refuse */
    int nstates, states_cap;
    struct program_state *states; /* numbers in DIM_PITCH are indices */
    int nnodes, nodes_cap;
    struct program_node *nodes;
    int nlibraries;
    struct program_library *libraries;
    const char *info; /* JSON object text for info.json */
    bool released; /* what constants are made of has gone: writing and running are over */
    void (*release)(
        void *); /* called by program_free, e.g. to unmap the archive or free the graph */
    void *release_arg;
};

/* The slot whose memory it is; -1 of -1. */
static inline int slot_root(const struct program *p, int slot)
{
    return slot >= 0 && p->slots[slot].kind == SLOT_VIEW ? p->slots[slot].base : slot;
}

struct program *program_new(void);
void program_free(struct program *p);
/* Makes a constant that has a maker, in memory of its own. */
bool constant_make(const struct slot *s, struct tensor *out, struct diag *d);
/* All of them; the program holds them from now on. */
bool program_make_constants(struct program *p, struct diag *d);
int program_add_slot(struct program *p, struct slot s);
int program_add_region(struct program *p);
/* Inputs and outputs of region 0, which exists: slots with names. */
void program_set_io(struct program *p, int ninputs, const int *inputs, int noutputs,
                    const int *outputs);
void program_add_step(struct program *p, int region, enum step_kind kind, int index);
void program_add_guard(struct program *p, const struct guard *g); /* copies */
int program_add_state(struct program *p, struct program_state s);
/* The state whose input or output the slot is (*end 0 or 1), or NULL. */
const struct program_state *state_of_slot(const struct program *p, int slot, int *end);
/* Of equal dims, whose steps are those of dense memory: there is no other capacity than the length. */
static inline bool state_is_update(const struct program *p, const struct program_state *s)
{
    return s->pitch[1] == p->slots[s->output].type.dims[s->axis];
}
int program_add_node(struct program *p, const char *name, const char *source);
/* Adds an instruction with zeroed patterns and immediates, and no semaphores. Valid until the next
 * one is added. */
struct insn *kernel_add(struct program *p, struct kernel *k, enum opcode op);
void kernel_remove(struct kernel *k, int insn);

/*
 * Structural checks of a whole program, whoever made it: indices, arity, ranks, operand counts that
 * must agree, dims bound before they are used, region nesting, and (strict targets) capacities.
 * What the loader calls before anything runs. Bounds of access patterns depend on shapes: they are
 * checked when shapes are bound (runtime/exec/bind_kernel.c).
 */
bool program_check(const struct program *p, struct diag *d);

/*
 * Memory plan: offsets of planned slots in one arena. Lifetimes come from the steps, nested regions
 * counting where they are called. Deterministic. sizes[slot] in bytes; offsets[slot] are multiples
 * of 64, -1 for slots without planned memory. values: of all dim expressions, NULL when they are
 * not known; with them results take the memory of operands that die (neff/plan/in_place.h).
 */
struct memory_plan {
    int64_t *offsets;    /* per slot */
    int32_t *onto;       /* per slot: the slot whose memory it takes, itself when none */
    int64_t size;        /* of the arena */
    int64_t lower_bound; /* largest sum of sizes live at one step */
};
void plan_memory(const struct program *p, const int64_t *values, const int64_t *sizes,
                 struct arena *a, struct memory_plan *out);
/* Per slot the first and last step (in one numbering of all regions' steps, see plan.c) at which it
 * is live; last -1: never. */
struct lifetime {
    int first, last;
};
struct lifetime *program_lifetimes(const struct program *p, struct arena *a);

#endif
