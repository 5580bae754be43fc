/*
 * Which bytes an access touches, and what tiles hold: for hazards.c.
 */
#ifndef NEFF_HAZARDS_MEMORY_H
#define NEFF_HAZARDS_MEMORY_H

#include "neff/plan/hazards.h"

struct box {            /* a pattern in numbers; elements of its tensor */
    int memory, tensor; /* HBM: the slot that owns the memory, in bytes */
    int rank;
    int64_t offset, step[MAX_AP_RANK], count[MAX_AP_RANK];
    int64_t total, low, high; /* [low, high) */
    int64_t size;             /* bytes of an element; 1 in HBM, where `run` bytes are an element */
    int64_t run;
};

struct tile_map {            /* one memory of the machine, or one tile without an address */
    int64_t partitions, row; /* bytes of a partition */
    uint32_t **rows;         /* per partition, the owner of each grain: tile + 1 that wrote it last, 0 nothing; the
                              * highest bit: it was read since, of those that are marked */
    bool *starts;            /* partition p shares the row of p - 1 unless starts[p] */
};

struct tensor_map { /* of a tensor in HBM that is followed */
    int64_t bytes, elements;
    uint8_t *written; /* per element; NULL: not followed */
};

struct hazard_memory {
    const struct program *p;
    const struct kernel *k;
    const int64_t *values, *vars;
    struct arena *arena;
    int64_t grain; /* bytes: divides all tiles' types, what they are seen as, and addresses */
    struct tile_map placed[MEM_PSUM + 1], *loose; /* loose: per tile */
    struct tensor_map *tensors; /* per slot */
    int64_t *left; /* hazard_limits.elements */
};

void hazard_memory_init(struct hazard_memory *m);
/* What an expression is worth now; what does not fit is far outside every tensor. */
int64_t hazard_value(const struct hazard_memory *m, const struct affine *a);
struct box box_of(const struct hazard_memory *m, const struct ap *a);
/* Elements of the box's size from one partition of its tile to the next; 0: they do not fit it. */
int64_t tile_row(const struct hazard_memory *m, const struct box *b);
/* The next element of a walk over a box that is not empty; false after the last. */
bool box_next(const struct box *b, int64_t at[MAX_AP_RANK], int64_t *element);
/* The same elements in fewer, longer runs: dims that lie side by side are one. */
struct box box_joined(const struct box *b);
/* Whether two accesses touch one byte. Patterns of very many elements are compared by their ends.
 */
bool boxes_meet(const struct hazard_memory *m, const struct box *a, const struct box *b);

/* Whether they are the same bytes, element by element. */
bool boxes_equal(const struct hazard_memory *m, const struct box *a, const struct box *b);

enum tile_content { CONTENT_OWN, CONTENT_NONE, CONTENT_OTHER };
/* What a read of a tile finds; *other: the tile that was written there, of CONTENT_OTHER. */
enum tile_content tile_read(const struct hazard_memory *m, const struct box *b, int *other);
/* Whether a read of a tile finds anything of its own. */
bool tile_holds_any(const struct hazard_memory *m, const struct box *b);
void tile_write(const struct hazard_memory *m, const struct box *b);
/* What was written there means nothing: as if nothing had been. */
void tile_forget(const struct hazard_memory *m, const struct box *b);
/* What is written there has been read, until something writes it again; whether any of it has. */
void tile_mark_read(const struct hazard_memory *m, const struct box *b);
bool tile_was_read(const struct hazard_memory *m, const struct box *b);
/* Number r of the first dim alone. */
struct box box_row(const struct box *b, int64_t r);
/* Number r of dim d alone. */
struct box box_slice(const struct box *b, int d, int64_t r);

/* The first tile that an instruction writes, NULL: none. */
const struct ap *insn_tile_written(const struct insn *n);
/* Per tile the first instruction that writes it, -1: none. */
int *tile_first_writers(const struct kernel *k, struct arena *a);

/* Tensors that no one but this kernel writes; reads of all others find them written. */
void tensor_contents_init(struct hazard_memory *m);
void tensor_write(const struct hazard_memory *m, const struct box *b);
bool tensor_is_written(const struct hazard_memory *m, const struct box *b);

/* Whether all that a walk over the kernel needs is known. */
bool hazards_known(const struct kernel *k, const int64_t *values);

#endif
