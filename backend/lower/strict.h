/*
 * What lower_NAME does on strict targets, where engines work on tiles in SBUF and PSUM and only DMA
 * reaches HBM, for the operators whose loops differ there. Other functions write one form for every
 * machine; stage_kernel fits it to the machine (stage.h).
 */
#ifndef BACKEND_STRICT_H
#define BACKEND_STRICT_H

#include "backend/lower/stage.h"
#include "backend/lower/tile_size.h"

enum lowered strict_matmul(struct lowering *l, struct node *n);
/* NAME_takes: what plan_NAME says there; NULL, and why(): it has no tile program. */
const void *strict_conv_takes(struct lowering *l, const struct group *g);
enum lowered strict_conv(struct lowering *l, struct node *n);
const void *strict_pool_takes(struct lowering *l, const struct group *g);
enum lowered strict_pool(struct lowering *l, struct node *n);

#endif
