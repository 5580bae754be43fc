/*
 * How a dimension is cut into tiles.
 */
#ifndef BACKEND_TILE_SIZE_H
#define BACKEND_TILE_SIZE_H

#include "neff/core/dim.h"

/* A tile size of at most `max` that cuts a known count into nearly equal tiles. */
dim_t even_tile(dim_t count, dim_t max);
/* So many rows of an image, of `row` elements each, that a tile is neither small nor a cache
 * full. */
dim_t image_rows_tile(dim_t rows, dim_t row);

#endif
