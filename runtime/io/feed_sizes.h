/*
 * Sizes of a model's symbolic dims, for inputs that are made up.
 */
#ifndef RUNTIME_IO_FEED_SIZES_H
#define RUNTIME_IO_FEED_SIZES_H

#include "neff/core/dim.h"
#include "runtime/io/feed.h"

struct feed_sizes {
    struct arena arena;
    struct dim_table dims;
    int64_t *symbols; /* DIM_NOT_BOUND: nothing tells */
};

/* From "SYMBOL=16" and "INPUT=1,3,224", then from the inputs that f has, then from what the model takes. */
bool sizes_find(struct feed_sizes *z, const struct feed *f, const char *const *shapes, int nshapes,
                struct diag *d);
void sizes_free(struct feed_sizes *z);
/* Of an expression over the symbols; `otherwise` where it is NULL or has a symbol of unknown size. */
int64_t sizes_of(struct feed_sizes *z, const char *expression, int64_t otherwise);

#endif
