/*
 * Epilogues: the elementwise nodes after a group's first node, applied to its result tile by tile.
 *
 * The result's dims are covered by the tile's dims and by grid variables. A map says which of them,
 * per dim of the result; joint leading dims may be covered by one tile dim ("rows").
 */
#ifndef BACKEND_EPILOGUE_H
#define BACKEND_EPILOGUE_H

#include "backend/lower/expression.h"

/* How one result dim, or several joint ones, is walked. */
struct cover {
    int first, last; /* result dims [first, last], joint when more than one */
    int var;         /* grid variable that selects the tile (or the single index); -1 none */
    dim_t tile;      /* elements per tile; 0: a single index, not a dim of the tile */
    dim_t
        every; /* elements from one value of var to the next, when it has several tiles; 0: tile */
    dim_t at;  /* elements before this one of several tiles */
};
static inline struct cover cover_of(int first, int last, int var, dim_t tile)
{
    return (struct cover){.first = first, .last = last, .var = var, .tile = tile};
}
/* The tile as a dim of a pattern with that step, over so many elements in all. */
void cover_push(struct program *p, struct ap *a, const struct cover *c, dim_t step, dim_t count);
/* Clips dim i of a pattern over a tile as cover_push does. */
void cover_clip(struct program *p, struct ap *a, int i, const struct cover *c, dim_t count);

struct epilogue {
    struct kernel_builder *k;
    struct group *g;
    int rank;
    dim_t dims[MAX_RANK]; /* of the result */
    int ncovers;
    struct cover covers[MAX_SPACE];
    struct pick { /* per cover of a single dim: every stride-th index (0: all) from start on */
        int64_t stride, start;
    } picks[MAX_SPACE];
    struct value *kept; /* a result that goes to a tile, at `kept_at`, instead of HBM; or NULL */
    struct ap kept_at;
};

/* Checks before a kernel is begun: every epilogue node can be emitted and every outside operand
 * broadcasts, jointly over the joint dims [0, joint_last]. */
bool epilogue_possible(struct lowering *l, const struct group *g, int joint_last);
/* The same for any covers; their variables and tiles need not be known yet. */
bool epilogue_fits(struct lowering *l, const struct group *g, const struct cover *c, int ncovers);
/* The step of dims [first, last] walked as one dim; false when steps do not allow it. */
bool joint_step(struct lowering *l, const dim_t *steps, const dim_t *dims, int first, int last,
                dim_t *out);
/* The space of the covers that are tile dims. */
struct space epilogue_space(struct epilogue *e);
/* Pattern of a result or outside operand over the space. */
struct ap epilogue_pattern(void *user, struct value *v);
/* A tile of the covers in SBUF, on one partition. */
struct ap epilogue_tile(struct epilogue *e, int dtype);
/* Emits the nodes after the first `taken`, the last of which has its result at `at`: a tile, or where the group's
 * result belongs. */
void epilogue_rest(struct epilogue *e, int taken, struct ap at);
/* Emits the nodes after the first, whose result lies in the tile `accumulator`. */
void epilogue_emit(struct epilogue *e, struct ap accumulator);
/* The group consists of its first node only and stores what products are summed in, so that it may
 * write the result in place. */
bool epilogue_empty(const struct group *g);

#endif
