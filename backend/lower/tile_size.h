/*
 * How a dimension is cut into tiles.
 */
#ifndef BACKEND_TILE_SIZE_H
#define BACKEND_TILE_SIZE_H

#include "neff/core/dim.h"
#include "neff/isa/machine.h"

/* Of known counts: a / b, rounded up. */
static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* A tile size of at most `max` that cuts a known count into nearly equal tiles. */
dim_t even_tile(dim_t count, dim_t max);
/* The same for `others` instances each: smaller, but not below `least`, where that many tiles give fewer instances than
 * many threads have use for. */
dim_t spread_tile(dim_t count, dim_t max, dim_t others, dim_t min);
/* So many rows of an image, of `row` elements each, that a tile is neither small nor a cache
 * full. */
dim_t image_rows_tile(dim_t rows, dim_t row);

/* ---- on strict targets, of one partition ---- */

/* Elements of 4 bytes that each of `tiles` tiles may have, at most `max`. */
dim_t strict_free_size(const struct machine *m, int tiles, dim_t max);
/* Bytes for the tile of an image, and for the weights beside it. */
int64_t strict_image_room(const struct machine *m);
int64_t strict_weights_room(const struct machine *m);
/* Elements of the results that are computed from an image's tile at a time. */
int64_t strict_results(const struct machine *m);

#endif
