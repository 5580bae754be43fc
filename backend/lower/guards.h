/*
 * The graph's guards become the program's: those of regions that are lowered, about symbols that
 * something defines.
 */
#ifndef BACKEND_LOWER_GUARDS_H
#define BACKEND_LOWER_GUARDS_H

#include "backend/lower/lower.h"

/* The guards of region r, which is region `index` of the program. */
void lower_guards(struct lowering *l, const struct region *r, int index);
/* When all is lowered: drops guards that say nothing, or nothing that can be checked. */
void settle_guards(struct lowering *l);

#endif
