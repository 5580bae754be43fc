/*
 * pass branches: what convolutions make of one image, added up, one makes whose filter is the sum of theirs,
 *
 *   conv(x, w) + conv(x, v) + x * s + x + t = conv(x, w') + t,
 *
 * where the smaller filter v, the scale s of each channel and x itself are taps of the larger one. Networks that are
 * trained with such branches (RepVGG, MobileOne, FastViT) are exported with them. Requires inferred types; runs behind
 * decompose, which takes biases and batch normalisations apart.
 */
#include "passes/match.h"
#include "passes/rewrite.h"
#include "passes/build.h"
#include "passes/pass.h"

#include <string.h>

enum { MAX_TERMS = 16 };

/* The terms of a sum, and what becomes of them. */
struct branch_sum {
    struct value *term[MAX_TERMS];
    int n;
    struct node *conv; /* of the largest filter */
    float *filter;     /* a copy of its taps, to which others are added; NULL: whether they can is asked */
    double *shift;     /* of each channel: constants */
    int shifts;
};

/* Terms of a type other than the sum's are broadcast, and are no sums of their own here. */
static bool collect(struct branch_sum *s, struct value *v, const struct node *root, int depth)
{
    struct node *add = made_by(v, OP_add);
    if (add && depth < MAX_TERMS && (add == root || value_has_one_use(v)) && same_type(v, root->out[0]))
        return collect(s, add->in[0], root, depth + 1) && collect(s, add->in[1], root, depth + 1);
    if (s->n < MAX_TERMS)
        s->term[s->n] = v;
    return s->n++ < MAX_TERMS;
}

/* ---- convolutions ---- */

static int64_t stride(const struct node *conv, int axis)
{
    return attr_int_at(&conv->attrs, "strides", axis, 1);
}

static int64_t padding(const struct node *conv, int axis)
{
    return attr_int_at(&conv->attrs, "pads", axis, 0);
}

static int64_t taps_of(const struct type *w)
{
    int64_t taps = 1;
    for (int i = 2; i < w->rank; i++)
        taps *= w->dims[i];
    return taps;
}

/* The convolution that makes a term, and nothing else, by a constant filter without gaps. */
static struct node *branch(const struct value *term, const struct node *root)
{
    struct node *n = made_by(term, OP_conv);
    if (!n || !value_has_one_use(term) || !same_type(term, root->out[0]) || !is_f32(n->in[0]) || !is_f32(n->in[1]) ||
        !n->in[1]->constant || (n->nin > 2 && n->in[2]) || n->in[1]->type.rank != term->type.rank ||
        attr_int(&n->attrs, "channels_last", 0) || attr_is(&n->attrs, "auto_pad", "SAME_UPPER") ||
        attr_is(&n->attrs, "auto_pad", "SAME_LOWER"))
        return NULL;
    for (int i = 0; i < term->type.rank - 2; i++)
        if (attr_int_at(&n->attrs, "dilations", i, 1) != 1)
            return NULL;
    return n;
}

/* Whether taps of n, `pads` before the image, are taps of the sum's filter; `at` of it in each dim. */
static bool lies_within(const struct branch_sum *s, const int64_t *taps, const int64_t *pads, int64_t *at)
{
    const struct type *w = &s->conv->in[1]->type;
    for (int i = 0; i < w->rank - 2; i++) {
        at[i] = padding(s->conv, i) - pads[i];
        if (at[i] < 0 || taps[i] > w->dims[i + 2] - at[i])
            return false;
    }
    return true;
}

/* Adds filters of `small` taps in each dim at the place `at` of those of the sum, from number `first` on. */
static void add_taps(struct branch_sum *s, int64_t first, int64_t filters, const float *v, const int64_t *small,
                     const int64_t *at)
{
    const struct type *w = &s->conv->in[1]->type;
    int64_t count = 1, whole = taps_of(w);
    for (int i = 0; i < w->rank - 2; i++)
        count *= small[i];
    for (int64_t k = 0; k < filters; k++)
        for (int64_t t = 0; t < count; t++) {
            int64_t to = 0, rest = t, step = 1;
            for (int i = w->rank - 3; i >= 0; i--) {
                to += (rest % small[i] + at[i]) * step;
                rest /= small[i], step *= w->dims[i + 2];
            }
            s->filter[(first + k) * whole + to] += v[k * count + t];
        }
}

static bool take_conv(struct branch_sum *s, const struct value *term, const struct node *root)
{
    struct node *n = branch(term, root), *to = s->conv;
    int64_t pads[MAX_RANK], at[MAX_RANK];
    if (!n || n == to || n->in[0] != to->in[0] || attr_int(&n->attrs, "group", 1) != attr_int(&to->attrs, "group", 1))
        return false;
    const struct type *v = &n->in[1]->type;
    for (int i = 0; i < v->rank - 2; i++) {
        pads[i] = padding(n, i);
        if (stride(n, i) != stride(to, i))
            return false;
    }
    if (v->dims[0] != to->in[1]->type.dims[0] || v->dims[1] != to->in[1]->type.dims[1] ||
        !lies_within(s, v->dims + 2, pads, at))
        return false;
    if (s->filter)
        add_taps(s, 0, v->dims[0] * v->dims[1], n->in[1]->constant->data, v->dims + 2, at);
    return true;
}

/* ---- channels ---- */

/* A constant that has one number for each channel of a sum of that rank, or one for all: added to `numbers`. */
static bool add_channels(struct graph *g, const struct value *v, int64_t channels, int rank, double *numbers)
{
    if (!is_f32(v) || !v->constant)
        return false;
    int axis = v->type.rank - (rank - 1);
    int64_t count = tensor_count(v->constant);
    if (v->type.rank > rank || (count != 1 && (axis < 0 || v->type.dims[axis] != channels || count != channels)))
        return false;
    const double *given = constant_doubles(g, v);
    for (int64_t c = 0; c < channels; c++)
        numbers[c] += given[count == 1 ? 0 : c];
    return true;
}

/* x, or x times a constant for each channel: one tap of each filter, its own channel's. */
static bool take_scaled(struct branch_sum *s, struct graph *g, const struct value *term, bool exact)
{
    const struct value *x = s->conv->in[0], *w = s->conv->in[1];
    const struct node *mul = made_by(term, OP_mul);
    int64_t channels = w->type.dims[0], each = w->type.dims[1], one[MAX_RANK] = {0}, none[MAX_RANK] = {0}, at[MAX_RANK];
    bool depthwise = each == 1 && channels > 1;
    if (!same_type(x, term) || channels != each * attr_int(&s->conv->attrs, "group", 1) || !(depthwise || exact) ||
        (term != x && (!mul || !value_has_one_use(term) || (mul->in[0] != x && mul->in[1] != x))))
        return false;
    for (int i = 0; i < w->type.rank - 2; i++) {
        one[i] = 1;
        if (stride(s->conv, i) != 1)
            return false;
    }
    double *scale = ARENA_ARRAY(&g->arena, double, channels);
    for (int64_t c = 0; term == x && c < channels; c++)
        scale[c] = 1;
    if (!lies_within(s, one, none, at) ||
        (term != x && !add_channels(g, mul->in[mul->in[0] == x], channels, x->type.rank, scale)))
        return false;
    for (int64_t c = 0; s->filter && c < channels; c++) {
        float tap = (float)scale[c];
        add_taps(s, c * each + c % each, 1, &tap, one, at);
    }
    return true;
}

/* ---- the sum ---- */

/* The filter of most taps. */
static bool choose(struct branch_sum *s, const struct node *root)
{
    for (int i = 0; i < s->n; i++) {
        struct node *n = branch(s->term[i], root);
        if (n && (!s->conv || taps_of(&n->in[1]->type) > taps_of(&s->conv->in[1]->type)))
            s->conv = n;
    }
    return s->conv != NULL;
}

static bool take(struct branch_sum *s, struct rewriter *p, const struct value *term, const struct node *root)
{
    bool exact = p->o->auto_cast == CAST_NONE; /* a filter that is rounded beside 1 loses more than one that is not */
    return take_conv(s, term, root) || take_scaled(s, p->g, term, exact);
}

/* Takes the terms that the filter can make, and constants; what is left are those it cannot. */
static void take_terms(struct branch_sum *s, struct rewriter *p, const struct node *root)
{
    int left = 0;
    for (int i = 0; i < s->n; i++) {
        struct value *term = s->term[i];
        if (term == s->conv->out[0] || take(s, p, term, root))
            continue;
        if (add_channels(p->g, term, s->conv->in[1]->type.dims[0], root->out[0]->type.rank, s->shift))
            s->shifts++;
        else
            s->term[left++] = term;
    }
    s->n = left;
}

static bool rewrite(struct branch_sum *s, struct rewriter *p, struct node *root, struct value *w)
{
    struct builder b = builder_like(root, s->conv, p->d);
    struct node *conv = b_node(&b, OP_conv, (struct value *[]){s->conv->in[0], w}, 2, 1, &s->conv->attrs);
    struct value *y = conv ? conv->out[0] : NULL;
    if (s->shifts)
        y = b_add(&b, y, constant_channels(p->g, s->shift, w->type.dims[0], root->out[0]->type.rank, false, NULL));
    for (int i = 0; i < s->n; i++)
        y = b_add(&b, y, s->term[i]);
    return node_replace(root, y);
}

static bool visit(struct node *n, void *user)
{
    struct rewriter *p = user;
    struct branch_sum s = {.n = 0};
    if (n->op != OP_add || !is_f32(n->out[0]) || n->out[0]->type.rank < 3)
        return true;
    const struct node *reader = value_only_user(n->out[0]);
    if (reader && reader->op == OP_add && same_type(reader->out[0], n->out[0]))
        return true; /* a part of that sum */
    if (!collect(&s, n->out[0], n, 0) || !choose(&s, n))
        return true;
    int taken = 0;
    for (int i = 0; i < s.n; i++)
        taken += take(&s, p, s.term[i], n);
    if (!taken)
        return true;
    const struct tensor *old = s.conv->in[1]->constant;
    struct value *w = constant_unwritten(p->g, DT_F32, old->rank, old->dims, s.conv->in[1]->name, p->d);
    if (!w)
        return false;
    s.filter = w->constant->data;
    s.shift = ARENA_ARRAY(&p->g->arena, double, old->dims[0]);
    memcpy(s.filter, old->data, tensor_bytes(old));
    take_terms(&s, p, n);
    why(p->o, n, "branches.sum", "%d more of its terms are taps of the filter of '%s'", taken, s.conv->name);
    return rewrite(&s, p, n, w);
}

bool pass_branches(struct graph *g, const struct options *o, struct diag *d)
{
    struct rewriter p = {g, o, d};
    if (!for_each_node(g->main, visit, &p))
        return false;
    remove_dead(g);
    return true;
}
