/*
 * pass patches, for chips: convolutions that step over their own size, whose channels the model moves last, as vision
 * transformers begin: one product of rows, the patches, by the filters. As a convolution its results were turned to
 * channels first, stored, and turned back. A class token before them and positions that are added then are part of what
 * is added to the product, of which one row more, of zeros, is the token's:
 *
 *     concat(token, transpose(conv(x, w) + b)) + p      concat(0, rows(x)) * w + (p + concat(token, b))
 *
 * Requires inferred types; runs before layout, as channels come first here.
 */
#include "passes/match.h"
#include "passes/rewrite.h"

#include <string.h>

/* A convolution by constant filters, the bias that is added to it, and the channels-last view of the result. */
struct patch_conv {
    struct node *conv;
    const struct value *bias; /* of one number for each channel; NULL: there is none */
    struct node *last;        /* transpose: (number, places, channels), or (number, rows, columns, channels) */
};

/* Every pixel is in exactly one window. */
static bool steps_over(const struct node *n)
{
    if (n->op != OP_conv)
        return false;
    const struct type *x = &n->in[0]->type, *w = &n->in[1]->type, *y = &n->out[0]->type;
    if (!is_f32(n->in[0]) || !is_f32(n->in[1]) || !n->in[1]->constant || x->rank != 4 ||
        w->rank != 4 || y->rank != 4 || !dims_are_positive(x->dims, 4) || !dims_are_positive(w->dims, 4) ||
        !dims_are_positive(y->dims, 4) ||
        (n->nin > 2 && n->in[2]) || attr_int(&n->attrs, "group", 1) != 1 ||
        attr_int(&n->attrs, "channels_last", 0))
        return false;
    for (int i = 0; i < 2; i++)
        if (w->dims[i + 2] < 2 || attr_int_at(&n->attrs, "strides", i, 1) != w->dims[i + 2] ||
            attr_int_at(&n->attrs, "dilations", i, 1) != 1 || attr_int_at(&n->attrs, "lhs_dilation", i, 1) != 1 ||
            x->dims[i + 2] != y->dims[i + 2] * w->dims[i + 2])
            return false;
    for (int i = 0; i < 4; i++) /* one side may be padded as much as the other one is cropped */
        if (attr_int_at(&n->attrs, "pads", i, 0))
            return false;
    return true;
}

/* A constant of one number for each of the channels of an image that has them first. */
static bool is_channels(const struct value *v, int64_t channels)
{
    const struct type *t = &v->type;
    return v->constant && t->rank >= 3 && t->rank <= 4 && t->dims[t->rank - 3] == channels &&
           tensor_count(v->constant) == channels;
}

static bool find(struct node *n, struct patch_conv *c)
{
    static const int64_t rows[] = {0, 2, 1}, image[] = {0, 2, 3, 1};
    int count = 0;
    const int64_t *perm = n->op == OP_transpose ? attr_ints(&n->attrs, "perm", &count) : NULL;
    struct node *from = perm ? n->in[0]->def : NULL;
    bool moves_last = (count == 3 && !memcmp(perm, rows, sizeof rows)) ||
                      (count == 4 && !memcmp(perm, image, sizeof image));
    if (!from || !moves_last || !value_has_one_use(n->in[0]))
        return false;
    if (count == 3) {
        const struct type *x = &from->in[0]->type, *y = &from->out[0]->type;
        if (from->op != OP_reshape || x->rank != 4 || x->dims[0] != y->dims[0] || x->dims[1] != y->dims[1] ||
            !value_has_one_use(from->in[0]))
            return false;
        from = from->in[0]->def;
    }
    *c = (struct patch_conv){.last = n};
    if (from && from->op == OP_add) {
        int at = from->in[0]->constant ? 0 : 1;
        if (!is_tensor(from->in[at]) || from->out[0]->type.rank != 4 ||
            !is_channels(from->in[at], from->out[0]->type.dims[1]) || !value_has_one_use(from->in[1 - at]))
            return false;
        c->bias = from->in[at];
        from = from->in[1 - at]->def;
    }
    c->conv = from;
    return from && from->parent == n->parent && steps_over(from);
}

/* The filters as columns: (channels and taps, results). */
static struct value *columns_of(struct graph *g, const struct value *w, struct diag *d)
{
    const struct tensor *t = w->constant;
    const int64_t results = t->dims[0], terms = tensor_count(t) / results;
    struct value *to = constant_unwritten(g, DT_F32, 2, (int64_t[]){terms, results}, w->name, d);
    const float *from = t->data;
    for (int64_t r = 0; to && r < results; r++)
        for (int64_t k = 0; k < terms; k++)
            ((float *)to->constant->data)[k * results + r] = from[r * terms + k];
    return to;
}

/* (number, places, channels and taps) */
static struct value *rows_of(struct builder *b, const struct node *conv)
{
    const int64_t *x = conv->in[0]->type.dims, *w = conv->in[1]->type.dims, *y = conv->out[0]->type.dims;
    struct value *v = b_reshape_to(b, conv->in[0], (int64_t[]){x[0], x[1], y[2], w[2], y[3], w[3]}, 6);
    v = v ? b_transpose(b, v, (int64_t[]){0, 2, 4, 1, 3, 5}, 6) : NULL;
    return v ? b_reshape_to(b, v, (int64_t[]){x[0], y[2] * y[3], x[1] * w[2] * w[3]}, 3) : NULL;
}

/* ---- a token before the rows, and what is added to all ---- */

struct class_token {
    struct node *concat, *add;
    const struct value *token, *added;
};

/* Of one image: the token's rows and what is added are constants in FP32. */
static bool find_token(const struct patch_conv *c, struct class_token *t)
{
    struct node *concat = value_only_user(c->last->out[0]);
    const struct type *y = &c->last->out[0]->type;
    if (!concat || concat->op != OP_concat || concat->nin != 2 || concat->in[1] != c->last->out[0] || y->rank != 3 ||
        y->dims[0] != 1 || attr_int(&concat->attrs, "axis", 0) != 1 || concat->parent != c->last->parent ||
        !concat->in[0]->constant || !is_f32(concat->in[0]))
        return false;
    struct node *add = value_only_user(concat->out[0]);
    if (!add || add->op != OP_add || add->parent != concat->parent)
        return false;
    const struct value *p = add->in[add->in[0] == concat->out[0] ? 1 : 0];
    if (!p->constant || !same_type(p, concat->out[0]))
        return false;
    *t = (struct class_token){concat, add, concat->in[0], p};
    return true;
}

/* p + concat(token, b), rounded once */
static struct value *added_to_rows(struct graph *g, const struct patch_conv *c, const struct class_token *t,
                                   struct diag *d)
{
    const struct type *y = &t->concat->out[0]->type;
    const int64_t rows = y->dims[1], columns = y->dims[2], first = t->token->type.dims[1];
    struct value *v = constant_unwritten(g, DT_F32, 3, y->dims, NULL, d);
    const float *p = t->added->constant->data, *token = t->token->constant->data;
    const float *bias = c->bias ? c->bias->constant->data : NULL;
    for (int64_t r = 0; v && r < rows; r++)
        for (int64_t i = 0; i < columns; i++)
            ((float *)v->constant->data)[r * columns + i] =
                p[r * columns + i] + (r < first ? token[r * columns + i] : bias ? bias[i] : 0);
    return v;
}

static bool with_token(struct rewriter *p, const struct patch_conv *c, const struct class_token *t,
                       struct value *rows, struct value *w)
{
    struct builder b = builder_before(c->last, p->d), after = builder_before(t->add, p->d);
    int64_t dims[] = {1, t->token->type.dims[1], rows->type.dims[2]};
    struct value *zeros = constant_unwritten(p->g, DT_F32, 3, dims, NULL, p->d);
    struct value *added = added_to_rows(p->g, c, t, p->d);
    if (!zeros || !added)
        return false;
    memset(zeros->constant->data, 0, sizeof(float) * (size_t)(dims[1] * dims[2]));
    b.name = c->conv->name, b.source = c->conv->source;
    rows = b_concat(&b, (struct value *[]){zeros, rows}, 2, 1);
    struct value *y = rows ? b_2(&b, OP_matmul, rows, w) : NULL;
    return node_replace(t->add, y ? b_add(&after, y, added) : NULL);
}

static bool visit(struct node *n, void *user)
{
    struct rewriter *p = user;
    struct patch_conv c;
    struct class_token t;
    if (!find(n, &c))
        return true;
    struct builder b = builder_like(n, c.conv, p->d);
    struct value *w = columns_of(p->g, c.conv->in[1], p->d), *rows = rows_of(&b, c.conv);
    if (!w || !rows)
        return false;
    why(p->o, c.conv, "patches.rows", "a product of rows: every pixel is in one window");
    if (find_token(&c, &t))
        return with_token(p, &c, &t, rows, w);
    struct value *y = b_2(&b, OP_matmul, rows, w);
    if (y && c.bias) {
        struct value *bias = constant_floats(p->g, DT_F32, 1, &c.conv->in[1]->type.dims[0],
                                             constant_doubles(p->g, c.bias), c.bias->name);
        y = b_add(&b, y, bias);
    }
    return node_replace(n, y && n->out[0]->type.rank == 4 ? b_reshape_to(&b, y, n->out[0]->type.dims, 4) : y);
}

bool pass_patches(struct graph *g, const struct options *o, struct diag *d)
{
    struct rewriter p = {g, o, d};
    int before = g->next_node;
    if (!o->strict_target)
        return true;
    if (!for_each_node(g->main, visit, &p))
        return false;
    if (g->next_node != before)
        remove_dead(g);
    return true;
}
