/*
 * Products of rows by a constant matrix with an epilogue: linear layers, and convolutions that are linear layers of pixels.
 */
#ifndef BACKEND_PRODUCT_H
#define BACKEND_PRODUCT_H

#include "backend/epilogue.h"
#include "backend/weights.h"

struct product {
    struct value *x;        /* dense rows: all dims but the last, k features each */
    const struct tensor *w; /* element (k, out) at the given steps */
    struct pack_source steps;
    int64_t k, outs;
    dim_t rows;
};

/* Whether x and w have types the Tensor engine multiplies: both f32, bf16 or f16. */
bool product_types(const struct value *x, const struct tensor *w);
/* The group's first node is the product; epilogue_possible has been asked. */
void emit_product(struct lowering *l, struct group *g, const struct product *p);
/* A tile size near `most` that cuts a known count into nearly equal tiles. */
dim_t even_tile(dim_t count, dim_t most);

enum { WEIGHTS_IN_CACHE = 512 << 10, ROW_TILE = 64 };

#endif
