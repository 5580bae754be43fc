/*
 * pass norm_scale, for chips: scale and bias of a normalisation go into the constant weights of the products that read
 * it, where nothing else does.
 *
 *     (norm(x) * s + b) * W + c     norm(x) * (diag(s) * W) + (b * W + c)
 *
 * Two instructions less over each tile of rows, between two products that wait for them. Arithmetic on constants is
 * done in double, rounded once. Requires inferred types and pass decompose.
 */
#include "passes/match.h"
#include "passes/rewrite.h"

#include <math.h>

enum { MAX_READERS = 8, MAX_VIEWS = 4 };

/* The products of a normalisation, and the views that they read it through. */
struct norm_readers {
    int64_t row; /* elements that are normalised together: the last dim */
    struct node *product[MAX_READERS], *view[MAX_VIEWS];
    int nproducts, nviews;
};

/* Of the product's weights: the axis of what the rows are multiplied by. */
static int axis_of_rows(const struct node *product)
{
    return attr_int(&product->attrs, "trans_b", 0) ? 1 : 0;
}

static bool is_product(const struct node *n, int64_t row)
{
    if (n->op != OP_matmul || attr_int(&n->attrs, "trans_a", 0) || !n->in[1]->constant || !is_f32(n->in[1]) ||
        !is_f32(n->out[0]) || n->out[0]->type.rank < 2)
        return false;
    return n->in[1]->type.rank == 2 && n->in[1]->type.dims[axis_of_rows(n)] == row;
}

/* Whether all that read v are products by constant matrices, or views of the same rows that only such products read. */
static bool find_readers(const struct value *v, const struct region *r, struct norm_readers *c)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        struct node *n = u->node;
        if (u->index != 0 || n->parent != r)
            return false;
        if (is_product(n, c->row) && c->nproducts < MAX_READERS) {
            c->product[c->nproducts++] = n;
            continue;
        }
        const struct type *t = &n->out[0]->type;
        if (n->op != OP_reshape || c->nviews == MAX_VIEWS || t->rank < 1 || t->dims[t->rank - 1] != c->row)
            return false;
        c->view[c->nviews++] = n;
        if (!find_readers(n->out[0], r, c))
            return false;
    }
    return true;
}

/* A constant of the row's length. */
static bool is_row(const struct value *v, int64_t row)
{
    return is_f32(v) && v->constant && v->type.rank >= 1 && v->type.dims[v->type.rank - 1] == row &&
           tensor_count(v->constant) == row;
}

static bool is_scaled_norm(const struct node *n, struct norm_readers *c)
{
    if ((n->op != OP_layer_norm && n->op != OP_rms_norm) || !is_f32(n->in[0]) || !is_f32(n->out[0]))
        return false;
    const struct type *t = &n->in[0]->type;
    int64_t axis = attr_int(&n->attrs, "axis", -1);
    if (t->rank < 1 || !dim_is_const(t->dims[t->rank - 1]) || (axis != -1 && axis != t->rank - 1))
        return false;
    c->row = t->dims[t->rank - 1];
    const struct value *bias = n->nin > 2 ? n->in[2] : NULL;
    return c->row > 0 && is_row(n->in[1], c->row) && (!bias || is_row(bias, c->row)) &&
           (bias || !constant_is(n->in[1], 1));
}

/* Weights that others share stay as they are: scaled ones would be a second copy. */
static bool is_shared(const struct value *w, const struct norm_readers *c)
{
    for (const struct use *u = w->uses; u; u = u->next) {
        bool ours = false;
        for (int i = 0; i < c->nproducts; i++)
            ours |= c->product[i] == u->node && u->index == 1;
        if (!ours)
            return true;
    }
    return false;
}

/* Whether all of diag(scale) * W are numbers of its type. */
static bool scales_in_range(const struct node *product, const double *scale)
{
    const struct tensor *w = product->in[1]->constant;
    const float *from = w->data;
    bool along_rows = axis_of_rows(product) == 1, finite = true;
    for (int64_t i = 0, at = 0; i < w->dims[0]; i++)
        for (int64_t j = 0; j < w->dims[1]; j++, at++)
            finite &= isfinite((float)(from[at] * scale[along_rows ? j : i])) != 0;
    return finite;
}

/* bias * W */
static double *bias_of_columns(struct graph *g, const struct node *product, const double *bias)
{
    const struct tensor *w = product->in[1]->constant;
    bool turned = axis_of_rows(product) == 1;
    int64_t rows = w->dims[turned ? 1 : 0], columns = w->dims[turned ? 0 : 1];
    const float *from = w->data;
    double *sums = ARENA_ARRAY(&g->arena, double, columns + 1);
    for (int64_t j = 0; j < columns; j++)
        sums[j] = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            sums[j] += bias[i] * from[turned ? j * rows + i : i * columns + j];
    double alpha = attr_float(&product->attrs, "alpha", 1);
    for (int64_t j = 0; j < columns; j++)
        sums[j] *= alpha;
    return sums;
}

/* The constant that the only reader of the product adds to its columns, and which operand it is; -1: there is none. */
static int added_bias(const struct value *y, struct node **add)
{
    if (!y->uses || !value_has_one_use(y))
        return -1;
    struct node *n = y->uses->node;
    int i = y->uses->index == 0 ? 1 : 0;
    if (n->op != OP_add || !is_row(n->in[i], y->type.dims[y->type.rank - 1]) ||
        n->in[i]->type.rank > y->type.rank)
        return -1;
    *add = n;
    return i;
}

/* v + columns, which all that reads v reads instead. */
static bool add_after(struct rewriter *p, struct value *v, const double *columns, int64_t n)
{
    struct builder b = builder_before(v->def->next, p->d);
    struct value *y = b_add(&b, v, constant_floats(p->g, DT_F32, 1, &n, columns, NULL));
    if (!y)
        return false;
    y->name = v->name;
    y->def->name = v->def->name, y->def->source = v->def->source;
    for (struct use *u = v->uses, *next; u; u = next) {
        next = u->next;
        if (u->node != y->def)
            node_set_input(u->node, u->index, y);
    }
    return true;
}

/* The product takes scaled weights; columns: what the bias comes to, or NULL. */
static bool scale_product(struct rewriter *p, struct node *n, const double *scale, const double *columns)
{
    struct value *old = n->in[1], *y = n->out[0], *weights = constant_scaled(p->g, old, axis_of_rows(n), scale);
    int64_t width = y->type.dims[y->type.rank - 1];
    struct node *add = NULL;
    int at = columns ? added_bias(y, &add) : -1;
    if (!weights)
        return fail_memory(p->d, "out of memory");
    node_set_input(n, 1, weights);
    if (!old->uses)
        constant_release(p->g, old);
    if (at >= 0) {
        double *sum = constant_doubles(p->g, add->in[at]);
        for (int64_t i = 0; i < width; i++)
            sum[i] += columns[i];
        node_set_input(add, at, constant_floats(p->g, DT_F32, 1, &width, sum, add->in[at]->name));
    } else if (columns && !add_after(p, y, columns, width)) {
        return false;
    }
    if (columns)
        y->name = NULL; /* no longer the model's value */
    return true;
}

static bool visit(struct node *n, void *user)
{
    struct rewriter *p = user;
    struct norm_readers c = {0};
    if (!is_scaled_norm(n, &c) || !find_readers(n->out[0], n->parent, &c) || !c.nproducts)
        return true;
    const double *scale = constant_doubles(p->g, n->in[1]);
    const struct value *bias = n->nin > 2 ? n->in[2] : NULL;
    const double *added = bias && !constant_is(bias, 0) ? constant_doubles(p->g, bias) : NULL;
    for (int i = 0; i < c.nproducts; i++)
        if (is_shared(c.product[i]->in[1], &c) || !scales_in_range(c.product[i], scale))
            return true;
    why(p->o, n, "norm-scale.weights", "its scale and bias are part of the weights of %d products", c.nproducts);
    for (int i = 0; i < c.nproducts; i++)
        if (!scale_product(p, c.product[i], scale, added ? bias_of_columns(p->g, c.product[i], added) : NULL))
            return false;
    node_set_input(n, 1, constant_ones(p->g, c.row));
    if (bias)
        node_set_input(n, 2, NULL);
    n->out[0]->name = NULL;
    for (int i = 0; i < c.nviews; i++)
        c.view[i]->out[0]->name = NULL;
    return true;
}

/* On a CPU scale and bias cost nothing beside reading and writing the row. */
bool pass_norm_scale(struct graph *g, const struct options *o, struct diag *d)
{
    return !o->strict_target || for_each_node(g->main, visit, &(struct rewriter){g, o, d});
}
