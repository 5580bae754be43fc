/*
 * Images on strict targets: channels over partitions, rows and columns of one channel in a
 * partition.
 *
 * The tile holds a whole padded plane where planes are small; otherwise a band of rows, from a copy
 * that was padded in HBM. For the Tensor engine a strided image is cut into phases, one for each
 * residue of row and column by the strides, so that neighbouring results read neighbouring
 * elements. Rows come whole, and an engine cuts them: DMA would move single elements.
 */
#ifndef BACKEND_STRICT_IMAGE_H
#define BACKEND_STRICT_IMAGE_H

#include "backend/lower/epilogue.h"
#include "backend/lower/strict.h"

struct strict_image {
    /* Given: the source and the window that walks over it. */
    struct value *x;
    int64_t channels; /* a chunk at a time lies over partitions */
    int64_t planes;   /* channels of the image: of all groups */
    bool by_grid;     /* the grid selects the chunk: the tile holds one */
    dim_t step_n, step_c, step_h, step_w;
    int64_t h, w, top, left, oh, ow, kh, kw, sh, sw, dh, dw;
    float fill;    /* outside the image */
    bool phased;   /* cut by strides; results of a band are one run of elements */
    bool streamed; /* chunk by chunk, even if planes are small */
    /* Planned. */
    int slot;
    bool resident;                      /* the tile holds whole planes, of all chunks */
    int64_t band, bands, width, widths; /* rows and columns of results at a time */
    int64_t fh, fw, rows, cols;         /* phases; elements of one */
    int64_t chunk, chunks, plane;       /* elements of a chunk in a partition */
    int64_t raw_rows, raw_cols;         /* of the image before it is cut; 0: DMA loads phases */
    int64_t folds, shifts;              /* rows of the window over partitions (0: none), and its columns beside them */
    int64_t part, parts;                /* folded: bands in a tile, and how many tiles one after the other */
    int64_t along, pitch;               /* phased: elements from result to result, results from row to row */
    int64_t stack_rows, stack_cols, stack_step; /* taps of the window over partitions, so far apart; step 0: none */
    int tile, raw_tile;
};

/* results: most elements of a band of results. False when it does not fit the machine. */
bool image_plan(const struct machine *machine, struct strict_image *m, int64_t results);
/* The same for images of few channels, rows and columns of the window over partitions (strict_fold.c), for products
 * with so many blocks of output channels. False when that does not fit, or is slower; the plan is untouched then. Sizes
 * are in range. `whole`: the image fits whole otherwise, and may be in SBUF already; if not, it would come in bands
 * that are padded in HBM. */
bool image_fold(const struct machine *machine, struct strict_image *m, int64_t results, int64_t blocks, bool whole);
bool image_sizes_in_range(const struct strict_image *m);
/* Pads in HBM where the plan asks for it. Before the kernel that uses the image is begun. */
void image_prepare(struct lowering *l, const struct node *n, struct strict_image *m, dim_t images);
/* Makes the tile. */
void image_tile(struct kernel_builder *k, struct strict_image *m);
/* Loads chunk var_chunk (-1: the only one) of image var_n; the band and columns that variables
 * select (-1: all). A chunk starts var_group * group_step channels further. */
void image_load(struct kernel_builder *k, const struct strict_image *m, int var_n, int var_chunk,
                int var_group, dim_t group_step, int var_band, int var_column);
/* Of `count` elements of a phase those that lie in an image of `size` that starts `before` elements late: the first, at
 * most count, and how many. */
void image_inside(int64_t size, int64_t before, int64_t phases, int64_t phase, int64_t count, int64_t *first,
                  int64_t *n);
/* Where that is faster, neighbouring taps of a planned image over partitions (strict_stack.c), for so many output
 * channels, in blocks. */
void image_stack(const struct machine *machine, struct strict_image *m, int64_t out_channels, int64_t blocks);
/* Rows and columns of the window that a product takes at once: those that lie over partitions. */
int64_t image_tap_rows(const struct strict_image *m);
int64_t image_tap_columns(const struct strict_image *m);
/* What a product contracts of the tile; how many products a window takes, and in a row of it. */
int64_t image_partitions(const struct strict_image *m);
int64_t image_products(const struct strict_image *m, int64_t *columns);
/* Of a folded image: the partitions that have weights for a product. */
int64_t image_fold_partitions(const struct strict_image *m, int64_t product);
/* Elements of a plane of the tile, from `start` on: rows of them begin m->cols apart. */
struct image_rect {
    int64_t start, rows, columns;
};
/* Above, below, left and right of rows [row, row + rows) and columns [column, column + columns) of the plane that
 * begins at `start`; how many of them have elements. */
int image_sides(const struct strict_image *m, int64_t start, int64_t row, int64_t rows, int64_t column, int64_t columns,
                struct image_rect sides[4]);
/* The fill there, in the partitions that are the pattern's only dim. */
void image_fill(struct kernel_builder *k, const struct strict_image *m, struct ap to, struct image_rect r);
/* Parts of image_load. Gaps: partitions between taps, which have to be cleared. */
bool image_stack_has_gaps(const struct strict_image *m);
void image_clear_stack(struct kernel_builder *k, const struct strict_image *m);
void image_fill_stack(struct kernel_builder *k, const struct strict_image *m, int64_t first_row, int64_t end_row);
/* A part of image var_n, where it is folded. */
void image_load_folded(struct kernel_builder *k, const struct strict_image *m, int var_n, int64_t part);
/* The start of tap (i, j) of chunk var_chunk, band var_band (resident tiles; -1 otherwise): a
 * pattern with the dim over partitions. */
struct ap image_tap(struct kernel_builder *k, const struct strict_image *m, int var_chunk,
                    int var_band, int i, int j);
/* What tap (i, j) reads for a space of results: (channel, row, column), or (channel, column). */
struct ap image_window(struct kernel_builder *k, const struct strict_image *m,
                       const struct space *s, int var_chunk, int var_band, int i, int j);

#endif
