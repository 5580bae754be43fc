/*
 * xcc: compiling models and building kernels from C, or from any language that can call C.
 *
 * A model:
 *
 *     struct xcc_bytes archive;
 *     if (!xcc_compile("model.onnx", "--auto-cast none --shape batch=4", &archive, NULL, NULL))
 *         puts(xcc_error());
 *     ...                                         run it: xrt_open_memory (xrt.h)
 *     xcc_bytes_free(&archive);
 *
 * A kernel that doubles f32[128,512]:
 *
 *     struct xcc_kernel *k = xcc_kernel_new("twice", "cpu");
 *     int x = xcc_input(k, "x", "f32", 2, (int64_t[]){128, 512});
 *     int y = xcc_output(k, "y", "f32", 2, (int64_t[]){128, 512});
 *     int t = xcc_tile(k, "sbuf", "t", "f32", 128, 512, -1);
 *     #define ALL .rank = 2, .dim = {{512, 128}, {1, 512}}
 *     struct xcc_operand load[] = {{"dst", t, ALL}, {"src", x, ALL}},
 *                        store[] = {{"dst", y, ALL}, {"src", t, ALL}},
 *                        sum[] = {{"dst", t, ALL}, {"a", t, ALL}, {"b", t, ALL}};
 *     struct xcc_function f[] = {{"op", "add"}};
 *     xcc_emit(k, &(struct xcc_instruction){"dma_copy", .noperands = 2, .operands = load});
 *     xcc_emit(k, &(struct xcc_instruction){"tensor_tensor", .noperands = 3, .operands = sum,
 *                                           .nfunctions = 1, .functions = f});
 *     xcc_emit(k, &(struct xcc_instruction){"dma_copy", .noperands = 2, .operands = store});
 *     xcc_kernel_write(k, "twice.neff");
 *
 * Functions that can fail return false, -1 or NULL; xcc_error() then has the reason, for the
 * calling thread. Once a call on a kernel has failed, xcc_kernel_finish fails with the same reason
 * (so a caller may check only there). Everything a call is given is copied: nothing needs to live
 * longer than the call. A kernel belongs to one thread at a time. The structs may be zeroed and
 * filled by name; ctypes: fields in this order, int is int32.
 */
#ifndef FRONTEND_XCC_H
#define FRONTEND_XCC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum { XCC_MAX_RANK = 8, XCC_MAX_VARS = 16, XCC_MAX_CLIPS = 4 };

const char *xcc_version(void);
/* Why the last failing call of this thread failed. "FILE: node 'NAME' (Op): what, what was
 * expected, what to do". */
const char *xcc_error(void);

struct xcc_bytes { /* memory of the library: xcc_bytes_free */
    void *data;    /* aligned to 64: xrt_open_memory takes it as it is */
    size_t size;
};
void xcc_bytes_free(struct xcc_bytes *b);

/* Diagnostics while compiling. Failures are not reported here but by the return value. A note says
 * what a cast to bf16 costs, where it was checked. */
enum xcc_severity { XCC_WARNING, XCC_NOTE };
typedef void (*xcc_message)(void *user, int severity, const char *text);

/* ---- models ---- */

/* options: what the command line takes ("--target trn1 --keep-fp32 'op:Softmax'"), split at blanks,
 * '...' and "..." quote; NULL: none. */
bool xcc_compile(const char *path, const char *options, struct xcc_bytes *out, xcc_message message,
                 void *user);
/* From memory. name: as the file would be called: its ending tells the format (.onnx .hlo .hlo.pb
 * .xir .xasm), its folder is where external data is looked for, and messages begin with it. */
bool xcc_compile_memory(const void *model, size_t size, const char *name, const char *options,
                        struct xcc_bytes *out, xcc_message message, void *user);

/* ---- kernels ---- */

struct xcc_kernel; /* a program with one kernel */
struct xcc_kernel *xcc_kernel_new(const char *name,
                                  const char *target /* of xcc --target */);
void xcc_kernel_free(struct xcc_kernel *k);

/*
 * Objects: numbers, from 0 on, of tensors in HBM and tiles on the chip. dtype: "f32", "bf16",
 * "f16", "f8e4m3" (IEEE-like, max 240), "f8e4m3fn", "f8e5m2", "i8", "u8", "i16", "u16", "i32",
 * "u32", "bool", ... Tensors are dense, row-major. Inputs and outputs are numbered in the order of
 * these calls.
 */
int xcc_input(struct xcc_kernel *k, const char *name, const char *dtype, int rank,
              const int64_t *dims);
int xcc_output(struct xcc_kernel *k, const char *name, const char *dtype, int rank,
               const int64_t *dims);
int xcc_internal(struct xcc_kernel *k, const char *name, const char *dtype, int rank,
                 const int64_t *dims);
int xcc_constant(struct xcc_kernel *k, const char *name, const char *dtype, int rank,
                 const int64_t *dims, const void *data);
/* An internal tensor (or an input that was written in place) becomes the next output: for kernels
 * whose results are known at their `return`. */
bool xcc_result(struct xcc_kernel *k, int object, const char *name);
/*
 * An input that instructions write ("in place") is copied before the kernel starts and all
 * instructions use the copy; xcc_result makes the copy an output. True when some instruction so far
 * writes the object.
 */
bool xcc_is_written(const struct xcc_kernel *k, int object);
/* memory: "sbuf" or "psum". elements: per partition. address: byte offset in each partition, -1:
 * placed by the scheduler. */
int xcc_tile(struct xcc_kernel *k, const char *memory, const char *name, const char *dtype,
             int64_t partitions, int64_t elements, int64_t address);
/* What of a tile nothing writes is of no interest to its readers: xcc_kernel_unwritten does not tell of it. */
bool xcc_tile_is_partial(struct xcc_kernel *k, int tile);

/* The grid: programs are numbered by variables 0..n-1 (counts[0] varies slowest), at most 4. Before
 * the first loop. */
bool xcc_grid(struct xcc_kernel *k, int n, const int64_t *counts);
/* Opens a loop of `count` trips; gives its variable: n + depth. -1: failed. At most 10 variables in
 * all. */
int xcc_loop(struct xcc_kernel *k, int64_t count);
bool xcc_end(struct xcc_kernel *k); /* closes the innermost loop */

/* A source position for what is emitted from now on, for messages, profiles and debug tables: node:
 * what it computes ("nl.softmax"). */
bool xcc_at(struct xcc_kernel *k, const char *file, int line, const char *node);

/*
 * An access pattern: element (i0, i1, ...) lies at offset + sum of coef[v] * variable v + sum of
 * step[d] * i_d elements of `dtype` from the object's start. Partition p of a tile starts at
 * element p * (elements per partition). Outermost dim first. Operands of one elementwise
 * instruction are aligned at their last dims; a count of 1, or a step of 0, broadcasts.
 */
struct xcc_clip { /* the count of dim in force is min(count, limit - factor * variable) */
    int32_t dim, var;
    int64_t factor, limit;
};
struct xcc_dim {
    int64_t step, count; /* elements */
};
struct xcc_operand {
    const char *name; /* of isa.def's row: "dst", "src", ... */
    int32_t object;
    int32_t rank;      /* at most 6 */
    const char *dtype; /* NULL: the object's; otherwise its bytes read as that type, offset and
                          steps count such elements */
    int64_t offset;
    int64_t coef[XCC_MAX_VARS]; /* of each variable */
    struct xcc_dim dim[XCC_MAX_RANK];
    int32_t nclips, reserved;
    struct xcc_clip clip[XCC_MAX_CLIPS]; /* at most one of each dim */
};
struct xcc_number { /* an integer immediate: base + sum of coef[v] * variable v */
    const char *name;
    int64_t base;
    int64_t coef[XCC_MAX_VARS];
};
struct xcc_real {
    const char *name;
    double value;
};
struct xcc_function {
    const char *name, *function; /* "op0", "add"; functions: rows of op.def (xcc_function_name) */
};
struct xcc_instruction {
    const char *name; /* "nc_matmul" */
    int32_t noperands, nnumbers, nreals,
        nfunctions; /* what is left out: absent; 0; 0, of factors and scales 1; identity */
    const struct xcc_operand *operands;
    const struct xcc_number *numbers;
    const struct xcc_real *reals;
    const struct xcc_function *functions;
    const char
        *engine; /* NULL: the row's; "dve", "act", "pool": for copies, fills and elementwise work */
};
/* Checks the operands against the rules of the instruction and target, at once: "k.py:12:
 * nc_matmul: stationary has 256 rows, at most 128 partitions". False adds nothing to the kernel, which has failed,
 * until xcc_rollback goes back to before. */
bool xcc_emit(struct xcc_kernel *k, const struct xcc_instruction *i);

/* Where building stands; going back forgets all objects, instructions and loops made since. */
int64_t xcc_mark(struct xcc_kernel *k);
bool xcc_rollback(struct xcc_kernel *k, int64_t mark);

/* Schedules, places tiles, derives semaphores, proves bounds and order; then the archive in memory,
 * or in a file. Once per kernel. */
bool xcc_kernel_finish(struct xcc_kernel *k, struct xcc_bytes *out);
bool xcc_kernel_write(struct xcc_kernel *k, const char *path);
/*
 * Before a kernel is finished: the first tile or tensor of which elements are read that nothing has written, as far as
 * that can be told without data, or -1. *where: the position of what reads them, as xcc_at gave it ("FILE:LINE"),
 * valid until the kernel is freed. Reads within a partition of a tile count where their results leave it: a kernel may
 * load some rows and compute with all.
 */
int xcc_kernel_unwritten(struct xcc_kernel *k, const char **where);
/* The first hazard that executing a finished kernel meets, where it can be told without data: an
 * element of a tile that is read and never written, or one of `xsim --check`'s others; NULL: none, or
 * a failure. Valid until the kernel is freed. */
const char *xcc_kernel_hazard(struct xcc_kernel *k);
/* The kernel as assembly (neff/FORMAT.md); NULL after a failure. Valid until the kernel is freed.
 */
const char *xcc_kernel_text(struct xcc_kernel *k);
/* The same as a model carries it (`assembly` of a node of domain xcc.kernel, or of a custom-call of
 * 'xcc.kernel'): before it is ordered and placed, for that depends on the model's target, and with
 * the data of all constants. To be called before xcc_kernel_finish. */
const char *xcc_kernel_assembly(struct xcc_kernel *k);

/* How long an archive in memory would take on the machine that it was compiled for, as `xsim --json` says: one JSON
 * object. Sizes that are not known count as 1. */
bool xcc_simulate(const void *archive, size_t size, struct xcc_bytes *json);
/* The same on 1 or 2 cores of the chip, to which instances of grids are dealt out in turn. */
bool xcc_simulate_cores(const void *archive, size_t size, int cores, struct xcc_bytes *json);

/* ---- what there is: the table of instructions, for binders and documentation ---- */

struct xcc_instruction_info {
    const char *name, *doc, *engine;
    char operands[256]; /* "dst:w src:r bias:r?": w written, r read, u both; ? may be absent */
    char numbers[256], reals[128], functions[64]; /* names, blank between */
};
int xcc_instruction_count(void);
bool xcc_instruction_get(int i, struct xcc_instruction_info *out);
int xcc_function_count(void);
const char *
xcc_function_name(int i); /* elementwise operators: "add", "exp", ... NULL past the end */
size_t xcc_dtype_size(const char *dtype); /* bytes; 0: unknown */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
