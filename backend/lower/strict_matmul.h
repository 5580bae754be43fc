/*
 * Products of matrices on strict targets, and what else their kernels compute (joined.h).
 */
#ifndef BACKEND_STRICT_MATMUL_H
#define BACKEND_STRICT_MATMUL_H

#include "backend/lower/strict_product.h"

struct strict_matmul {
    struct value *a, *b;
    bool trans_a, trans_b;
    float alpha;
    int nbatch; /* batch covers, each with a grid variable */
    struct cover batch[3];
    dim_t step_a[3], step_b[3];
    struct strict_product p; /* its covers: rows and output channels of the result */
};

/* The plan of a product, or a group that begins with one; NULL: it has none, or is something else. */
const struct strict_matmul *strict_matmul_of(const struct lowering *l, const struct node *n);
/* Asked once per node, by plan_matmul. NULL, and why(): it has no tile program. */
const struct strict_matmul *strict_matmul_takes(struct lowering *l, const struct group *g);

/* Rows by a constant matrix, all rows in one dim. */
static inline bool strict_matmul_is_plain(const struct strict_matmul *m)
{
    return m->nbatch == 0 && m->p.row.first == 0 && !m->trans_a && m->b->constant && m->b->type.rank == 2;
}

#endif
