/*
 * Executing programs: what the C API (runtime/xrt.h) and the compiler driver are written on.
 *
 *     struct model *m = model_new(program, d);         takes the program
 *     struct context *c = context_new(m, threads, d);
 *     context_set_input(c, 0, &tensor, d);             borrowed until replaced
 *     context_run(c, d);
 *     const struct tensor *y = context_output(c, 0);   until the next run
 *
 * A model never changes after model_new and may be shared by any number of contexts. A context
 * belongs to one thread at a time. The first run with new input shapes plans and allocates; runs
 * with shapes seen before (the last few are kept) of programs without dynamic slots allocate
 * nothing.
 *
 * Results do not depend on the number of threads.
 */
#ifndef RUNTIME_EXEC_EXEC_H
#define RUNTIME_EXEC_EXEC_H

#include "neff/isa/program.h"

struct model;
struct context;
struct parallel; /* runtime/exec/pool.h */
struct profile;

/* Takes ownership of a program that has passed program_check; frees it after a failure too. */
struct model *model_new(struct program *p, struct diag *d);
void model_free(struct model *m); /* after its contexts */
const struct program *model_program(const struct model *m);
/* Contexts made from now on put guard pages around operands of libraries' operators. */
void model_guard_operands(struct model *m);

/* threads: workers that share a kernel's grid, the calling thread being one; 0: one per physical
 * core. The first run is prepared: planned for what the inputs' types say, open dimensions being 1;
 * models of microseconds are run on zeros (warm_up.c). */
struct context *context_new(struct model *m, int threads, struct diag *d);
/* The same with threads of the caller's; NULL: its own. */
struct context *context_new_by(struct model *m, int threads, const struct parallel *by,
                               struct diag *d);
void context_free(struct context *c);
int context_threads(const struct context *c);

/*
 * Inputs are those of regions[0].params, outputs regions[0].results. A tensor's shape is checked
 * when running. Its memory must be aligned to its elements and stay as it is until the run that
 * uses it returns.
 */
bool context_set_input(struct context *c, int i, const struct tensor *t, struct diag *d);
/* Has output i written to the caller's memory from the next run on (NULL: to memory of the
 * context). A run fails when the output does not fit. Tensors of strings and containers cannot be
 * placed. */
bool context_set_output(struct context *c, int i, void *memory, size_t bytes, struct diag *d);
/*
 * Has input i and output o in one memory with room for `capacity` elements along the axis by which the output is longer
 * (of equal dims: that is its length). From the next run on the memory holds what input i was set to, runs add what is
 * new, and after each the input is that output. Setting the input starts anew; with a tensor without data, from as much
 * of what the memory holds. Fails where the program does not say that
 * the output is the input and more (program_state).
 */
bool context_bind_state(struct context *c, int input, int output, int64_t capacity, struct diag *d);
bool context_run(struct context *c, struct diag *d);

/*
 * What a run may take; 0: no limit. A run that takes more fails, and its message says where it was.
 * Without context_set_limits: DEFAULT_STEPS and nothing else.
 */
struct run_limits {
    int64_t steps;  /* kernels (large ones are several: xrt.h) and calls, those inside loops each time */
    int64_t bytes;  /* of the planned tensors together, and of any other tensor */
    double seconds; /* looked at between tiles and between turns of loops */
};
enum { DEFAULT_STEPS = 5000000 };
void context_set_limits(struct context *c, const struct run_limits *l);
/* The run in progress, or the next one, fails soon. From any thread, or a signal handler. */
void context_cancel(struct context *c);

/* NULL before a successful run. */
const struct tensor *context_output(const struct context *c, int i);

/* Bytes of the arena in use, and of all memory of the context. */
int64_t context_arena_bytes(const struct context *c);

/* Events of the runs from now on are added to `p` (NULL: no more). See profile.h. */
void context_set_profile(struct context *c, struct profile *p);

/*
 * For `xcc --verify`: `seen` is called after every step of the main program (NULL: no more);
 * context_slot answers with a slot's value then, kind VK_NONE while it has none.
 */
void context_watch(struct context *c,
                   bool (*seen)(void *user, struct context *c, int step, struct diag *d),
                   void *user);
const struct tensor *context_slot(const struct context *c, int slot);

/* Contexts that this thread makes and runs from now on compute the same bits on every CPU, slower;
 * false: no more. */
void strict_kernels_select(bool on);

/* The program back; frees the model, after its contexts. */
struct program *model_take_program(struct model *m);

/* Seconds that one core takes for a run with the shapes that the context is prepared for, as far as
 * sizes tell; the same on every machine. 0: it is not prepared. */
double context_estimate(const struct context *c);

/* Contexts made from now on take the steps for processors that multiply bf16 at this rate (struct step of
 * neff/isa/program.h), whatever the kernels' rate. */
void model_set_bf16_rate(struct model *m, int rate);

/* For tests: batches are computed in groups of so many items (0: as sizes tell) where the program says that they may
 * be. Before the first run. */
void context_set_group(struct context *c, int64_t items);

/* For tests: models made from now on run each engine's stream in a thread of its own, which waits
 * for the program's semaphores. Slow; results are the same. */
void engine_threads_select(bool on);
bool engine_threads_selected(void);

/* The value that an input's symbol has in every call: its size, or what a guard of the program pins it to. */
int64_t pinned_value(const struct program *p, int symbol, int64_t otherwise);
/* Sizes of all symbols for inputs that are made up: small ones that the guards admit, else 1. */
void sample_sizes(const struct program *p, int64_t *symbols);

/* Physical cores this process may run on, and that its control group pays for ("150000 100000" of
 * cpu.max are two). */
int physical_cores(void);
/* What cpu.max of a control group allows, or quota and period of one of version 1; 0: no limit. */
int quota_cores(const char *text);

#endif
