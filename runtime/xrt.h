/*
 * xrt: running compiled models from C.
 *
 *     struct xrt_model *m = xrt_open("model.neff");
 *     struct xrt_context *c = xrt_context_new(m, 0);
 *     struct xrt_tensor x = {.dtype = "f32", .rank = 4, .dims = {1, 3, 224, 224}, .data = pixels};
 *     xrt_set_input(c, 0, &x);
 *     if (!xrt_run(c))
 *         puts(xrt_error());
 *     struct xrt_tensor y;
 *     xrt_output(c, 0, &y);
 *
 * Every function that can fail returns NULL or false; xrt_error() then has the reason, for the
 * calling thread. A context in whose call memory ran out refuses further calls: make another one.
 *
 * Threads: a model may be used by any number of threads, a context by one at a time. Contexts of
 * one model run independently of each other and share its weights. The result of a run does not
 * depend on the number of threads.
 *
 * Stack: give threads that call this 512 KiB. A convolutional network in BF16 ran with 128 KiB, which is what musl's
 * threads have unless they ask for more (pthread_attr_setstacksize), but not with 96.
 *
 * Memory: the caller owns what it passes in, the context what it hands out. Tensors are dense,
 * row-major.
 */
#ifndef RUNTIME_XRT_H
#define RUNTIME_XRT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum { XRT_MAX_RANK = 12 };

struct xrt_model;
struct xrt_context;

struct xrt_tensor {
    const char *dtype; /* "f32", "bf16", "i64", "bool", ... the names xdump prints */
    int rank;
    int64_t dims[XRT_MAX_RANK];
    void *data;
};

/* What some models take and give besides tensors: an optional holds one item or none, a sequence
 * any number, a map two: its keys and its values, tensors of one length (or a sequence of values).
 */
enum xrt_kind { XRT_TENSOR, XRT_SEQUENCE, XRT_OPTIONAL, XRT_MAP };
struct xrt_value {
    int kind;                      /* enum xrt_kind */
    struct xrt_tensor tensor;      /* XRT_TENSOR */
    int64_t count;                 /* others: items */
    const struct xrt_value *items; /* these */
};

/* What a model says about an input or output. Lives as long as the model. */
struct xrt_info {
    const char *name, *dtype;
    int rank;                          /* -1: known only when running */
    int64_t dims[XRT_MAX_RANK];        /* -1: symbolic */
    const char *symbols[XRT_MAX_RANK]; /* expression of a symbolic dim; NULL for constants. Equal
                                          names are equal dims */
    const char *text;                  /* all of it, like "f32[batch,3,224,224]" */
    int64_t sizes[XRT_MAX_RANK];       /* of an input: dims that the model takes, small ones where symbolic
                                          ones may be anything */
    bool has_range;                    /* of an input of integers: it takes low..high, as far as the
                                          model tells */
    int64_t low, high;                 /* high: with the dims of `sizes` */
    bool donated;                      /* an input: the model's author has no use for its content
                                          after a run (JAX's donate_argnums); a run leaves it alone */
    int grows_from; /* of an output: 1 + the number of the input that it is, with more behind it along `axis`, where
                       xrt_bind_state can keep the two in one memory; 0: of none */
    int axis;
    const char *high_symbol; /* of an input whose high depends on symbolic dims: the expression; else NULL */
};

/* Opens an archive; its weights are mapped, not read. NULL after a failure. */
struct xrt_model *xrt_open(const char *path);
/*
 * Archives may carry code: operators of their maker's own (xop.h). It runs only if the caller
 * allows it; xrt_open does not, and fails for such an archive with a message that names the
 * operators. `size` is sizeof(struct xrt_options), so that later versions can add to it.
 */
enum xrt_flags {
    XRT_ALLOW_CODE = 1, /* objects in the archive are loaded and run: for makers you trust */
    XRT_GUARD_OPERANDS =
        2, /* those operators write to their results alone, or the run fails: slow */
};
struct xrt_options {
    size_t size;
    unsigned flags;                /* enum xrt_flags */
    const char *const *custom_ops; /* files of operators that the caller trusts, used first */
    int ncustom_ops;
};
/* NULL options: as xrt_open. */
struct xrt_model *xrt_open_with(const char *path, const struct xrt_options *o);
/* From an open file, read from its start: sandboxes, memfd_create, files that have no name. It stays
 * the caller's, who may close it afterwards. */
struct xrt_model *xrt_open_fd(int fd, const struct xrt_options *o);
struct xrt_model *xrt_open_memory_with(const void *data, size_t size, const struct xrt_options *o);
/* The same from memory, aligned to 64 bytes, which must stay until xrt_close. */
struct xrt_model *xrt_open_memory(const void *data, size_t size);
/* After all its contexts. NULL is allowed. */
void xrt_close(struct xrt_model *m);

int xrt_input_count(const struct xrt_model *m);
int xrt_output_count(const struct xrt_model *m);
/* NULL when there is no such number. */
const struct xrt_info *xrt_input_info(const struct xrt_model *m, int i);
const struct xrt_info *xrt_output_info(const struct xrt_model *m, int i);

/* threads: how many work on a run, the calling one included; 0: one per physical core. NULL after a
 * failure. */
struct xrt_context *xrt_context_new(struct xrt_model *m, int threads);
void xrt_context_free(struct xrt_context *c); /* NULL is allowed */

/*
 * The same with memory and threads of the caller's. `size` is sizeof(struct xrt_context_options), so
 * that later versions can add to it; what is 0 or NULL is as xrt_context_new has it.
 *
 * All that such a context holds, and what its runs take for a while, comes from `memory` or from the
 * allocator: nothing is asked of the C library. (A profile that is written to a file is.) A call for
 * which it is too little fails with "out of memory", and the context refuses further ones.
 */
struct xrt_allocator { /* called by any thread that works on a run, by several at a time */
    void *(*allocate)(void *user, size_t size, size_t align); /* NULL: there is none */
    void (*release)(void *user, void *p, size_t size);        /* `size` as it was asked for */
    void *user;
};
/* Calls job(arg, i) once for each i below n, in any order, on as many threads at a time as it likes,
 * and returns when all have returned. */
typedef void (*xrt_parallel)(void *user, int n, void (*job)(void *arg, int i), void *arg);

struct xrt_context_options {
    size_t size;
    int threads;                           /* parts of a run that can be done at a time */
    void *memory;                          /* of any alignment; it stays until xrt_context_free */
    size_t memory_size;                    /* xrt_context_size says how many bytes it takes */
    const struct xrt_allocator *allocator; /* copied; not with `memory` */
    xrt_parallel parallel;                 /* NULL: threads of its own */
    void *parallel_user;
};
struct xrt_context *xrt_context_new_with(struct xrt_model *m, const struct xrt_context_options *o);
/*
 * Bytes of `memory` for such a context (o->memory is not looked at), runs of the sizes that the model's
 * inputs have included; open dimensions count as 1, so larger ones take more. It makes a context to see,
 * in memory of its own. 0 after a failure.
 */
size_t xrt_context_size(struct xrt_model *m, const struct xrt_context_options *o);
int xrt_threads(const struct xrt_context *c);

/*
 * Lends input i to the context until it is set again. data must be aligned to its elements; shape
 * and type are checked by xrt_run. Tensors of strings ("str") are arrays of {const char *bytes;
 * size_t size}.
 */
bool xrt_set_input(struct xrt_context *c, int i, const struct xrt_tensor *t);
/*
 * Has output i written to the caller's memory (aligned to 16 bytes) by the runs that follow; NULL:
 * to the context's own. A run fails when `bytes` is too little.
 */
bool xrt_set_output(struct xrt_context *c, int i, void *memory, size_t bytes);
bool xrt_run(struct xrt_context *c);

/*
 * What a run may take; 0: no limit. A run that takes more fails; xrt_error() says where it was.
 * A context starts with limits that no honest model meets: 5 million steps, that is kernels and
 * calls, those inside loops each time they run. A kernel counts for one step more with each 128
 * turns that its grid and its loops take, and with each 16 MiB that its instructions touch. Set
 * before a run.
 */
struct xrt_limits {
    int64_t steps;
    int64_t bytes;  /* of tensors: those planned together, and of each other one; of tiles, above 64 MiB for a thread */
    double seconds; /* noticed between tiles, calls and turns of loops */
};
void xrt_set_limits(struct xrt_context *c, const struct xrt_limits *l);
/* The run in progress, or else the next one, fails soon. From any thread or a signal handler. */
void xrt_cancel(struct xrt_context *c);

/*
 * Keeps a state in place: `output` is `input` with more behind it along one axis, as the keys and values of a decoder
 * are, or with parts written over (xrt_info.grows_from says which outputs are). Both get one memory of the context's,
 * with room for `capacity` elements along that axis (of one that is written over: as many as it has, whatever the
 * capacity); runs write what is new and copy nothing of what is there. Results have the bits of runs without.
 *
 *     xrt_bind_state(c, input, output, 2048);
 *     xrt_set_input(c, input, &past);        what there is before the first run; a length of 0 will do
 *     xrt_run(c);                            and again, with other inputs: `input` is what `output` has become
 *
 * Setting the input again starts anew: with data it is copied; a tensor without data (NULL) keeps the first elements of
 * what is held, as many as its dims say, so a step can be taken back. xrt_output copies the state then; most callers
 * need not ask for it. A run that needs more than the capacity fails, and so does this function where the model does
 * not say that the one grows out of the other, or after the state's first run. Other dims may change when the input is
 * set.
 */
bool xrt_bind_state(struct xrt_context *c, int input, int output, int64_t capacity);

/* Output i of the last successful run, valid until the next one. */
bool xrt_output(const struct xrt_context *c, int i, struct xrt_tensor *out);

/* The same for values of any kind. Tensors in them are lent as xrt_set_input says; what xrt_value
 * gives is valid until the next call for this output, or the next run. */
bool xrt_set_value(struct xrt_context *c, int i, const struct xrt_value *v);
bool xrt_value(struct xrt_context *c, int i, struct xrt_value *out);

/* Starts to note what runs when, or (path not NULL) stops and writes it: Chrome trace events, or to
 * NAME.txt a table of kernels by time. */
bool xrt_profile(struct xrt_context *c, const char *path);

/* Why the last call of this thread failed; "" when none did. */
const char *xrt_error(void);
/* Bytes of an element; 0 for unknown names. */
size_t xrt_dtype_size(const char *dtype);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
