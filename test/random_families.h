/*
 * Families of operators that random graphs are drawn from, and what they draw with. Functions that
 * make an item return its number or -1; those that draw return false when nothing was added.
 */
#ifndef TEST_RANDOM_FAMILIES_H
#define TEST_RANDOM_FAMILIES_H

#include "test/random_draw.h"

struct random_family {
    bool (*draw)(struct recipe *r, enum op op);
    int weight;
    enum op ops[20];
};

/* Of other element types, of shapes that depend on data, of control flow (random_typed.c). */
extern const struct random_family typed_families[];
extern const int typed_families_count;
/* Products of 8-bit operands (random_quantised.c). */
extern const struct random_family quantised_families[];
extern const int quantised_families_count;

/* Floats of 16 bits: products with what follows them, and what is rounded once (random_narrow.c). */
extern const struct random_family narrow_families[];
extern const int narrow_families_count;

struct wish {
    int dtype; /* DT_NONE: any */
    int min_rank, max_rank, flags;
};

/* An item that an operator may read. */
int choose(struct recipe *r, struct wish w);
/* Flags that both items have. */
int both(const struct recipe *r, int a, int b);
/* An operand that broadcasts with item a: another item, or a new input or constant. */
int partner(struct recipe *r, int a, int flags);
/* An input or constant with random contents. */
int leaf(struct recipe *r, int kind, int dtype, int rank, const int64_t *dims, bool positive);
int numbers(struct recipe *r, const int64_t *v, int n); /* constant i64 operand */
/* Adds the node if inference takes it and its result is of moderate size. */
bool node(struct recipe *r, enum op op, const int *in, int nin, const struct attrs *attrs,
          int flags);

/* Control flow: an item with OPF_REGIONS as a node with its regions, placed in the main region. */
struct node *make_regions(struct graph *g, const struct item *i, struct item *items);

#endif
