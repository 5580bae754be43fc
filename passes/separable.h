/*
 * How items of a batch pass from operands to results: what pass separable (separable.c) knows of values, and its rules
 * for operators (separable_rules.c).
 */
#ifndef PASSES_SEPARABLE_H
#define PASSES_SEPARABLE_H

#include "passes/pass.h"

struct item_place {
    enum {
        PLACE_COMMON, /* the same whatever the batch */
        PLACE_SIZES,  /* not made of items, but of sizes that depend on how many there are */
        PLACE_ITEMS,  /* item i has the elements i k to i k + k - 1 along the axis, of batch times k */
    } kind;
    int axis;
};

struct separable {
    struct graph *g;
    const struct options *o;
    struct arena *arena;
    int symbol;
    dim_t batch;          /* the symbol as a dim */
    struct item_place *places; /* by the values' numbers */
    int nplaces;
    bool *depends;        /* by the number of a dim's expression, of nseen: it has the symbol in it */
    int nseen, seen_cap;
};

/* ---- separable_items.c ---- */
bool depends_on_batch(struct separable *s, dim_t d);
struct item_place *place_of(const struct separable *s, const struct value *v);
/* Along which axis v, which may be NULL, has items; -1: it has none. */
int items_axis(const struct separable *s, const struct value *v);
/* v has its items along the axis; false where its type says otherwise. */
bool put_items(struct separable *s, const struct value *v, int axis);
/* The first axis of v whose dim depends on the batch; -1. */
int following_axis(struct separable *s, const struct value *v);

/* ---- separable.c: from inputs to results ---- */
bool place_inputs(struct separable *s);
/* False for operators that have no rule whatever their operands. */
bool may_keep_apart(const struct node *n);
/* Places the results of a node whose operands are placed; false where items may meet. */
bool follow_items(struct separable *s, const struct node *n);
/* Every result has its items first. */
bool results_are_items(const struct separable *s);

/* separable_rules.c: places the results of a node that has operands with items; false where these may meet. */
bool apply_separable_rule(struct separable *s, const struct node *n);

#endif
