/*
 * The builder of tile programs.
 *
 * A lowering function opens a kernel, gives it a grid, and emits instructions on access patterns.
 * On-chip tiles are private to an instance of the grid. Patterns are plain values: make one, narrow
 * it, hand it over.
 */
#ifndef BACKEND_KERNEL_H
#define BACKEND_KERNEL_H

#include "backend/lower/lower.h"

struct kernel_builder {
    struct lowering *l;
    int kernel; /* number in the program */
    int node;   /* program node for reports */
    int depth;  /* loops open */
};

struct kernel_builder kernel_begin(struct lowering *l, const struct node *n, const char *name);
struct kernel *kernel_of(struct kernel_builder *k);
/* Adds a grid dimension (the next faster one); the number of its variable. All before the first
 * loop. */
int kernel_grid(struct kernel_builder *k, dim_t count);
/* Opens a loop; the number of its variable. */
int kernel_loop(struct kernel_builder *k, dim_t count);
void kernel_end_loop(struct kernel_builder *k);
/* A tile of partitions x elements; its number. */
int kernel_tile(struct kernel_builder *k, int mem, int dtype, dim_t partitions, dim_t elements);
struct insn *kernel_insn(struct kernel_builder *k, enum opcode op);

/* ---- patterns ---- */

/* A pattern on an HBM slot without dims yet, at offset 0. The dtype is the slot's. */
struct ap ap_slot(struct lowering *l, int slot);
/* A whole tile, (partitions, elements). */
struct ap ap_tile(struct kernel_builder *k, int tile);
struct ap ap_absent(void);
/* Appends an inner dim. */
void ap_push(struct ap *a, dim_t step, dim_t count);
/* Appends an inner dim of `tile` elements that is cut to limit - var * tile at the edge; advances
 * the offset by var * tile * step. */
void ap_push_tile(struct lowering *l, struct ap *a, dim_t step, dim_t tile, int var, dim_t limit);
/* Moves the start by coef * variable. */
void ap_move(struct lowering *l, struct ap *a, int var, dim_t coef);
/* Clips a dim of a pattern on a tile like ap_push_tile does, without moving it. */
void ap_clip(struct lowering *l, struct ap *a, int dim, int var, dim_t factor, dim_t limit);

/* Dense strides of a shape, in elements. */
void dense_steps(struct dim_table *t, int rank, const dim_t *dims, dim_t *steps);

/* ---- common instructions ---- */

void emit_copy(struct kernel_builder *k, struct ap dst,
               struct ap src); /* between tiles, or to and from HBM */
void emit_memset(struct kernel_builder *k, struct ap dst, float value);
void emit_tensor_tensor(struct kernel_builder *k, enum op op, struct ap dst, struct ap a,
                        struct ap b);
void emit_activation(struct kernel_builder *k, enum op f, struct ap dst, struct ap src,
                     struct ap bias, float factor, float a, float b);

#endif
