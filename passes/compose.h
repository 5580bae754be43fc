/*
 * What the files of the compose pass share. A rule looks at a node with one result and answers with
 * the value that replaces the result, or NULL. Rules see the graph after simplification, each node
 * after its operands' nodes, and grow: a normalisation is found without its scale first and takes
 * the scale when the multiplication by it is reached.
 */
#ifndef PASSES_COMPOSE_H
#define PASSES_COMPOSE_H

#include "passes/match.h"
#include "passes/rewrite.h"

struct compose {
    struct graph *g;
    const struct options *o;
    struct diag *d;
};

typedef struct value *compose_rule(struct compose *c, struct node *n);

/* compose_activation.c */
compose_rule compose_activation, compose_sigmoid, compose_clip, compose_hard_sigmoid;
/* compose_choice.c */
compose_rule compose_choice, compose_quotient;
/* compose_special.c */
compose_rule compose_erfc, compose_erf_inv;
/* compose_threefry.c: a rule that looks at a loop, and replaces its results itself; false: failed */
bool compose_threefry(struct compose *c, struct node *n);
/* compose_softmax.c */
compose_rule compose_softmax, compose_log_softmax;
/* compose_norm.c */
compose_rule compose_norm, compose_norm_folded, compose_norm_scale, compose_norm_bias;
compose_rule compose_group_norm, compose_group_scale, compose_group_bias;
/* compose_attention.c */
compose_rule compose_sdpa, compose_attention;
/* compose_heads.c: what v is with the last two dims exchanged, by views around a transposition that merge and split
 * the dims before them; NULL when that is not what makes v. */
struct value *swapped_in_views(struct compose *c, struct node *at, struct value *v);
/* Attention of q, k, v and a mask or NULL: where k and v repeat heads, queries in groups that share them. */
struct value *emit_sdpa(struct compose *c, struct node *at, struct value *in[4], const struct attrs *as);
/* compose_einsum.c */
compose_rule compose_einsum;
/* compose_interleave.c */
compose_rule compose_interleave;
/* compose_padded.c */
compose_rule compose_padded;
/* compose_repeat.c */
compose_rule compose_repeated_windows, compose_repeated_rows;
/* compose_scatter.c */
compose_rule compose_scatter_along;

/* ---- match_reduce.c: reductions and what they are of ---- */

struct composed_reduction { /* of x over axes; the reduced dims stay as 1 */
    struct value *x;
    int naxes, axes[MAX_RANK];
};

/* v is that reduction, directly or (keepdims = 0) with the dims put back by a view. */
bool is_reduction(const struct value *v, enum op op, struct composed_reduction *out);
/* v is the mean, as one operator or as the sum divided by the number of elements. */
bool is_mean(const struct value *v, struct composed_reduction *out);
bool same_axes(const struct composed_reduction *a, const struct composed_reduction *b);
/* Number of trailing dims when these are exactly the axes, else 0. */
int trailing_axes(const struct composed_reduction *r);

/* The value whose square v is, else NULL: pow(x, 2), mul(x, x), square(x). */
struct value *square_root_of(const struct value *v);
/* v is x multiplied or divided by one number: then x and the factor; false when it is neither. */
bool is_scaled(const struct value *v, struct value **x, double *factor);
/* v is 1 / a. */
bool is_reciprocal(const struct value *v, struct value **a);

#endif
