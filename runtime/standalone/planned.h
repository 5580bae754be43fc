/*
 * Models whose plan was made when they were compiled: nothing is left to be read, sized or bound.
 *
 * The plan is what a context would have after its first run: kernels bound to shapes
 * (runtime/exec/state.h) and places of all slots, as an image of memory without addresses. When a
 * context is made, the image is put into the caller's memory, and functions and addresses into it.
 * It depends on the machine only by whether kernels have vectors of 16 floats, and so on nothing
 * that the compiling machine has. Its words are those of 64-bit processors with the usual layout of
 * structures; elsewhere, and where sizes are open or operators are called, models are bound when
 * they are opened (runtime/standalone/standalone.h).
 */
#ifndef RUNTIME_STANDALONE_PLANNED_H
#define RUNTIME_STANDALONE_PLANNED_H

#include "runtime/exec/pool.h"
#include "runtime/exec/state.h"

/* ---- the image ---- */

enum plan_memory { PLAN_NOWHERE, PLAN_CONSTANTS, PLAN_ARENA, PLAN_INPUT, PLAN_OUTPUT };
struct plan_place {
    int32_t memory; /* enum plan_memory */
    int32_t number; /* of the input or output */
    int64_t offset; /* bytes */
};

struct plan_input {
    int64_t bytes;
};

struct plan_output {
    int32_t slot, rank;
    int64_t bytes, dims[MAX_RANK];
    int64_t own; /* in the arena: where it is written if its caller's memory does not do; -1: nobody writes there */
};

struct plan_step {
    struct bound_kernel *kernel;
    int32_t bf16_from, bf16_below; /* as those of struct step, neff/isa/program.h */
};

struct plan { /* the first thing of the image */
    int32_t nslots, nsteps, ninputs, noutputs;
    int64_t arena_bytes, tile_bytes, scratch_bytes;
    struct plan_place *slots;
    struct plan_step *steps; /* in the order of the launches */
    struct plan_input *inputs;
    struct plan_output *outputs;
};

/*
 * Written down as tokens, each a number in groups of seven bits, lowest first, whose last group is
 * below 128; its two lowest bits are the kind, the others v:
 *
 *     PLAN_ZEROS     v words of 0
 *     PLAN_NUMBER    the word v / 2, or ~(v / 2) where v is odd
 *     PLAN_ADDRESS   the word's own address plus such a number of bytes
 *     PLAN_OTHER     v 0: the word is in the next 8 bytes; v 1: two numbers n and d follow, the n
 *                    words from d words back on once more; else function number v - 2
 */
enum plan_kind { PLAN_ZEROS, PLAN_NUMBER, PLAN_ADDRESS, PLAN_OTHER };
enum { PLAN_RAW, PLAN_AGAIN, PLAN_FUNCTIONS };

struct plan_code {
    const uint8_t *tokens; /* NULL: not for such kernels */
    uint32_t bytes, words; /* of tokens; of the image */
};

struct planned_model {
    struct plan_code wide, narrow; /* kernels with vectors of 16 floats; of fewer */
    const exec_fn *functions;
    const void *constants; /* aligned to 64 */
    int threads;           /* workers that a context has memory for */
};

/* ---- running ---- */

struct planned;

/* Bytes of memory of a context for so many workers; all alignments. */
size_t planned_size(const struct plan *p, uint32_t words, int threads);

/* These are as those of standalone.h. */
struct planned *planned_init(const struct planned_model *model, void *memory, size_t size);
/* Runs from now on are shared by so many workers, at most model->threads, which *by runs; it is copied. */
void planned_threads(struct planned *s, int threads, const struct parallel *by);
int planned_run(struct planned *s, const void *const *inputs, void *const *outputs);
size_t planned_output_bytes(const struct planned *s, int i);
int planned_output_dims(const struct planned *s, int i, int64_t *dims);
const char *planned_error(const struct planned *s);

#endif
