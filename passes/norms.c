/*
 * pass norms: instance and group normalisation of images whose channels come first, as
 * normalisation of rows: what is normalised together lies together. Pass layout leaves them so
 * where no operator before them has made the channels last; those have tile programs of their own.
 * Requires inferred types and pass layout.
 */
#include "passes/rewrite.h"

enum { LONGEST = 1 << 20 }; /* row */

/* Elements of a channel; 0 when they are not known. */
static int64_t pixels_of(const struct type *x)
{
    int64_t n = 1;
    for (int i = 1; i < x->rank; i++) {
        if (!dim_is_const(x->dims[i]) || x->dims[i] < 1)
            return 0;
        if (i > 1 && __builtin_mul_overflow(n, x->dims[i], &n))
            return 0;
    }
    return n;
}

/* What is normalised together; 0 when it is not a row of known length. */
static int64_t row_of(const struct node *n)
{
    const struct type *x = &n->in[0]->type;
    int64_t channels = x->dims[1], pixels = pixels_of(x);
    int64_t groups = n->op == OP_group_norm ? attr_int(&n->attrs, "num_groups", 1) : channels;
    if (pixels == 0 || groups < 1 || channels % groups || x->dims[0] == 0)
        return 0;
    int64_t row;
    return __builtin_mul_overflow(channels / groups, pixels, &row) ? 0 : row;
}

bool is_norm_of_rows(const struct node *n)
{
    if (n->op != OP_instance_norm && n->op != OP_group_norm)
        return false;
    for (int i = 0; i < 3; i++) {
        const struct type *t = &n->in[i]->type;
        if (t->kind != VK_TENSOR || t->dtype != DT_F32 || (i ? t->rank != 1 : t->rank < 3))
            return false;
    }
    int64_t row = row_of(n);
    return !attr_int(&n->attrs, "channels_last", 0) && row > 0 && row <= LONGEST;
}

static bool by_rows(struct rewriter *p, struct node *n)
{
    struct builder b = builder_before(n, p->d);
    const struct type *x = &n->in[0]->type;
    int64_t channels = x->dims[1], pixels = pixels_of(x), row = row_of(n), shape[MAX_RANK];
    int64_t groups = channels * pixels / row, number = dim_is_const(x->dims[0]) ? x->dims[0] : -1;
    why(p->o, n, "norms.rows", "rows of %lld elements", (long long)row);
    for (int i = 0; i < x->rank; i++)
        shape[i] = i ? x->dims[i] : number;
    struct attrs as = {0};
    attr_set_float(&p->g->arena, &as, "epsilon", attr_float(&n->attrs, "epsilon", 1e-5));
    struct value *in[] = {b_reshape_to(&b, n->in[0], (int64_t[]){number, groups, row}, 3),
                          constant_ones(p->g, row)};
    struct value *y = in[0] ? b_op(&b, OP_layer_norm, in, 2, &as) : NULL;
    y = groups == channels ? y : b_reshape_to(&b, y, (int64_t[]){number, channels, pixels}, 3);
    y = b_mul(&b, y, b_reshape_to(&b, n->in[1], (int64_t[]){channels, 1}, 2));
    y = b_add(&b, y, b_reshape_to(&b, n->in[2], (int64_t[]){channels, 1}, 2));
    return node_replace(n, b_reshape_to(&b, y, shape, x->rank));
}

static bool visit(struct node *n, void *user)
{
    return !is_norm_of_rows(n) || by_rows(user, n);
}

bool pass_norms(struct graph *g, const struct options *o, struct diag *d)
{
    return for_each_node(g->main, visit, &(struct rewriter){g, o, d});
}
