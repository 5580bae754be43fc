/*
 * The builder of tile programs, for whoever makes them: the compiler's lowering, kernels written in C or another
 * language.
 *
 *     struct kernel_builder k = kernel_begin(p, machine, "double", -1, d);
 *     int var = kernel_grid(&k, 8);
 *     int t = kernel_tile(&k, MEM_SBUF, DT_F32, 128, 512);
 *     struct ap x = ap_slot(p, x_slot);
 *     ap_push_tile(p, &x, 512, 128, var, 1000), ap_push(&x, 1, 512);
 *     emit_dma_copy(&k, (struct dma_copy){.dst = ap_tile(&k, t), .src = x});
 *     struct ap tile = ap_tile(&k, t);
 *     emit_tensor_tensor(&k, (struct tensor_tensor){.dst = tile, .a = tile, .b = tile, .op = OP_add});
 *     ...
 *     if (!kernel_end(&k)) ...   the first mistake is in d
 *
 * A kernel is a grid of identical tile programs; on-chip tiles are private to an instance of it. Patterns are plain
 * values: make one, narrow it, hand it over. Semaphores, order and places of tiles are the scheduler's
 * (backend/schedule).
 */
#ifndef BACKEND_TILE_BUILDER_H
#define BACKEND_TILE_BUILDER_H

#include "neff/isa/machine.h"
#include "neff/isa/program.h"

struct kernel_builder {
    struct program *p;
    const struct machine *m;
    struct diag *d; /* NULL: instructions are not checked one by one */
    bool failed;    /* d has the first mistake; what is emitted after it is not checked */
    int kernel;     /* number in the program */
    int node;       /* program node for reports, -1 none; may be changed between instructions */
    int depth;      /* loops open */
    int64_t trips[MAX_VARS]; /* of grid and open loops: how many values the variable takes, -1 unknown */
};

/* Adds a kernel to the program. With d, every instruction and tile is checked against the machine and the shapes of its
 * operands as it is emitted. */
struct kernel_builder kernel_begin(struct program *p, const struct machine *m, const char *name,
                                   int node, struct diag *d);
/* More instructions for a kernel of the program. Not checked one by one. */
struct kernel_builder kernel_reopen(struct program *p, const struct machine *m,
                                    const struct kernel *kernel);
/* False when there was a mistake, the first is in d, or loops are open. Whether all tiles fit together depends on the
 * order of instructions: the scheduler says so. */
bool kernel_end(struct kernel_builder *k);
/* Adds the kernel's launch to a region's steps. */
void kernel_launch(const struct kernel_builder *k, int region);
struct kernel *kernel_of(struct kernel_builder *k);

/* Adds a grid dimension (the next faster one); the number of its variable. All before the first
 * loop. */
int kernel_grid(struct kernel_builder *k, dim_t count);
/* Opens a loop; the number of its variable. */
int kernel_loop(struct kernel_builder *k, dim_t count);
void kernel_end_loop(struct kernel_builder *k);
/* A tile of partitions x elements; its number. */
int kernel_tile(struct kernel_builder *k, int mem, int dtype, dim_t partitions, dim_t elements);
/* One more like another one of the kernel, without a place. */
int kernel_tile_like(struct kernel_builder *k, int tile);

/* ---- patterns ---- */

/* A pattern on an HBM slot without dims yet, at offset 0. The dtype is the slot's. */
struct ap ap_slot(const struct program *p, int slot);
/* A whole tile, (partitions, elements). */
struct ap ap_tile(struct kernel_builder *k, int tile);
struct ap ap_absent(void);
/* Appends an inner dim. */
void ap_push(struct ap *a, dim_t step, dim_t count);
/* Appends an inner dim of `tile` elements that is cut to limit - var * tile at the edge; advances
 * the offset by var * tile * step. */
void ap_push_tile(struct program *p, struct ap *a, dim_t step, dim_t tile, int var, dim_t limit);
/* Moves the start by coef * variable. */
void ap_move(struct program *p, struct ap *a, int var, dim_t coef);
/* Clips a dim of a pattern on a tile like ap_push_tile does, without moving it. */
void ap_clip(struct program *p, struct ap *a, int dim, int var, dim_t factor, dim_t limit);

/* Dense strides of a shape, in elements. */
void dense_steps(struct dim_table *t, int rank, const dim_t *dims, dim_t *steps);

/* ---- immediates that may depend on variables ---- */

static inline struct affine affine_number(dim_t n)
{
    return (struct affine){.base = n};
}
/* base + coef * variable */
struct affine affine_variable(struct program *p, dim_t base, int var, dim_t coef);

/* ---- instructions ---- */

/*
 * Of each row of isa.def a struct of its operands, immediates, floats and functions by name, and emit_NAME. What is
 * left out is absent, 0, or `identity`.
 */
#define OPERAND(name, access, optional, reach) struct ap name;
#define CONSTANT(name, role)                   dim_t name;
#define VARYING(name, role)                    struct affine name;
#define FLOAT(name)                            float name;
#define FUNCTION(name)                         enum op name;
#define INSN(id, engine, also, targets, cost, shape, operands, immediates, floats, functions, doc) \
    struct id {                                                                                    \
        operands immediates floats functions                                                       \
    };                                                                                             \
    void emit_##id(struct kernel_builder *k, struct id v);
#include "neff/isa/isa.def"

/* dst = src by what moves between their memories: dma_copy to and from HBM, else tensor_copy. */
void emit_copy(struct kernel_builder *k, struct ap dst, struct ap src);

#endif
