/*
 * Random valid graphs, as recipes: lists of items that a graph is built from, whole or in part.
 *
 * Everything follows from the seed. Shapes are concrete in the recipe; a graph built from it may
 * give symbols to the dims of its inputs.
 */
#ifndef TEST_RANDOM_DRAW_H
#define TEST_RANDOM_DRAW_H

#include "passes/pass.h"

enum { MAX_ITEMS = 96, MAX_OPERANDS = 9 };

enum item_kind { ITEM_INPUT, ITEM_CONST, ITEM_NODE };

/* What is known about the values, so that operators with jumps or poles are drawn where rounding
 * cannot matter. */
enum item_flags {
    EXACT = 1 /* no rounding on the way */,
    POSITIVE = 2 /* at least 0.1 */,
    FINAL = 4 /* its shape depends on data: nothing is drawn from it */
};

struct item {
    uint8_t kind, flags;
    bool alive; /* part of the graph; shrinking takes items away */
    enum op op;
    int nin, in[MAX_OPERANDS]; /* items; -1: absent */
    enum op body[2];           /* of control flow: what its regions compute */
    struct attrs attrs;
    struct type type;    /* with constant dims */
    struct tensor value; /* data of an input or constant; of a node, what plain routines computed */
    struct value *built; /* in the graph made last */
};

struct recipe {
    struct arena arena;
    uint64_t state; /* of the generator */
    int n;
    struct item items[MAX_ITEMS];
    struct graph *scratch; /* in which types are inferred while drawing */
};

enum symbols { CONSTANT_DIMS, EQUAL_SIZES, DISTINCT };

/* narrow: mostly products of floats of 16 bits with what follows them. */
bool recipe_draw(struct recipe *r, uint64_t seed, int nodes, bool narrow, struct diag *d);
void recipe_free(struct recipe *r);
int random_below(struct recipe *r, int n);
/*
 * Dims of inputs above 1 become symbols: none, one for each size, or one for each dim. Results are
 * the items for which result[i] holds. NULL when inference refuses.
 */
struct graph *recipe_build(struct recipe *r, enum symbols symbols, const bool *result,
                           struct diag *d);

#endif
