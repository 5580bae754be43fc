/*
 * Models that are compiled into a program: what `xcc MODEL --standalone DIR` writes calls these and
 * nothing else. All memory is the caller's, and there is no other state: no file, no environment,
 * no thread.
 *
 *     struct standalone *s = standalone_init(&model, memory, size);
 *     standalone_bind(s, symbols);                       models with open dimensions
 *     standalone_run(s, inputs, outputs);
 *
 * A context belongs to one thread at a time; contexts are independent of each other. After
 * standalone_bind (standalone_init, where no dimension is open) the memory is laid out; a run takes
 * of it what operators with results of unknown size need.
 */
#ifndef RUNTIME_STANDALONE_STANDALONE_H
#define RUNTIME_STANDALONE_STANDALONE_H

#include <stddef.h>
#include <stdint.h>

struct standalone_model {
    const void *program; /* neff/isa/program_code.h */
    size_t program_size;
    const void *constants; /* aligned to 64 */
    /* Per output the bytes that the caller has for it, where its size is known only after a run; 0:
     * it follows from the inputs'. NULL: of all. */
    const size_t *room;
};

struct standalone;

/* In memory of `size` bytes, whatever its alignment; *model must stay. NULL after a failure:
 * standalone_error(NULL) says which, for this thread. */
struct standalone *standalone_init(const struct standalone_model *model, void *memory, size_t size);
/* Sets the model's open dimensions, in the order of its symbols. 0, or 1 after a failure; then no
 * dimension is set. */
int standalone_bind(struct standalone *s, const int64_t *symbols);
/* Dense tensors. Inputs are aligned to their elements. An output that is NULL is not wanted. 0, or
 * 1 after a failure. */
int standalone_run(struct standalone *s, const void *const *inputs, void *const *outputs);
/* Bytes of output i: 0 before dimensions are set or, where only running tells, before a run. */
size_t standalone_output_bytes(const struct standalone *s, int i);
/* The rank of output i of the last run, and its dimensions; -1: there is none. */
int standalone_output_dims(const struct standalone *s, int i, int64_t *dims);
/* Why the last call failed; "" when it did not. */
const char *standalone_error(const struct standalone *s);
/* Bytes that standalone_init would have needed for all calls so far. */
size_t standalone_used(const struct standalone *s);

#endif
