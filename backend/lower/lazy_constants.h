/*
 * Lazy constants: computed from others when the archive is written (neff/isa/program.h), and the
 * memory of those others: it goes once all that is made of them has been.
 */
#ifndef BACKEND_LAZY_CONSTANTS_H
#define BACKEND_LAZY_CONSTANTS_H

#include "backend/lower/lower.h"

struct lazy_constant { /* first member of what a maker knows; in the graph's arena */
    struct constant_maker maker;
    struct graph *g;
    const struct value *from; /* the constant that `make` reads */
    int *left;                /* how many constants are still to be made of it */
    /* Whether two with the same `make` and source have the same bytes: they share a slot. NULL: not known. */
    bool (*same)(const struct lazy_constant *a, const struct lazy_constant *b);
    struct lazy_constant *next; /* of the same source, in this lowering */
    int slot;
};

/*
 * A slot of that shape for a constant that m->maker.make makes of `from` in so many pieces; that of an earlier one
 * with the same bytes where there is one (a head that runs on several images has its weights once). When
 * it is called, lowering is over: m knows all it needs, and has nothing of the lowering but what
 * lies in the graph's arena.
 */
int lazy_constant(struct lowering *l, struct lazy_constant *m, const struct value *from,
                  int64_t pieces, const struct tensor *shape, const char *name);

/* After lowering: what each constant is still needed for. */
void lazy_constants_count(struct lowering *l);

#endif
