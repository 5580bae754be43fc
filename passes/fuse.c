/*
 * pass fuse: groups of nodes that one tile program computes, as `fused` nodes.
 *
 * A group starts at a node that can carry an elementwise epilogue, or at an elementwise node, and
 * takes the elementwise nodes of the same shape that follow it and read its values. It ends where
 * another node reads one of them, since it is placed at its last node. Values read outside are its
 * results. Requires inferred types.
 */
#include "passes/ir/integer.h"
#include "passes/match.h"
#include "passes/rewrite.h"

#include <string.h>

enum { MAX_GROUP = 128, LOOK_AHEAD = 200 };

struct fuser {
    struct graph *g;
    const struct options *o;
    struct diag *d;
    int n;
    struct node *nodes[MAX_GROUP];
};

/* Types of quantised data and of their sums. */
static bool quantised_type(int dtype)
{
    return dtype == DT_U8 || dtype == DT_I8 || dtype == DT_I32;
}

static bool single(const struct value *v)
{
    return v && v->constant && tensor_count(v->constant) == 1;
}

static bool is_quantization(const struct options *o, const struct node *n)
{
    int data = n->op == OP_quantize_linear ? n->out[0]->type.dtype : n->in[0]->type.dtype;
    int real = n->op == OP_quantize_linear ? n->in[0]->type.dtype : n->out[0]->type.dtype;
    if (!o->strict_target && is_quantized_by_one(n))
        return true;
    return real == DT_F32 && quantised_type(data) && single(n->in[1]) &&
           n->in[1]->type.dtype == DT_F32 && (n->nin < 3 || !n->in[2] || single(n->in[2])) &&
           (data != DT_I32 || n->op == OP_dequantize_linear) && !attr_find(&n->attrs, "precision");
}

/* Elementwise nodes that engines compute: in f32, or exactly on integers. */
static bool is_elementwise(const struct options *o, const struct node *n)
{
    if (n->op == OP_quantize_linear || n->op == OP_dequantize_linear)
        return is_quantization(o, n);
    if (!o->strict_target && is_word_bitcast(n))
        return true;
    if (!(op_infos[n->op].flags & OPF_ELEMENTWISE) || n->nout != 1)
        return false;
    if (!o->strict_target && is_integer_elementwise(n))
        return true;
    if (n->op == OP_cast && quantised_type(n->in[0]->type.dtype) && n->out[0]->type.dtype == DT_F32)
        return true;
    if (!(op_infos[n->op].flags & OPF_ENGINE_FLOAT))
        return false;
    for (int i = 0; i < n->nin; i++) {
        if (!n->in[i])
            continue;
        bool predicate = n->op == OP_where && i == 0;
        if (!dtype_is_engine_float(n->in[i]->type.dtype) && !predicate)
            return false;
        if (n->op == OP_clip && i > 0 && !n->in[i]->constant)
            return false;
    }
    int out = n->out[0]->type.dtype;
    return dtype_is_engine_float(out) || out == DT_BOOL;
}

static bool first_result_only(const struct node *n)
{
    for (int i = 1; i < n->nout; i++)
        if (n->out[i]->uses)
            return false;
    return true;
}

/* Nodes whose tile program takes an epilogue. */
static bool is_anchor(const struct options *o, const struct node *n)
{
    const struct type *t = n->nout ? &n->out[0]->type : NULL;
    if (!t || t->kind != VK_TENSOR || (t->dtype != DT_F32 && t->dtype != DT_I32))
        return false;
    switch (n->op) {
    case OP_conv_integer:
        return n->in[1]->constant && attr_int(&n->attrs, "channels_last", 0);
    case OP_matmul_integer:
        return n->in[1]->constant && n->in[1]->type.rank == 2;
    case OP_weight_only_matmul:
        return !o->strict_target && t->dtype == DT_F32;
    case OP_conv:
        return t->dtype == DT_F32 && n->in[1]->constant &&
               (o->strict_target || attr_int(&n->attrs, "channels_last", 0) || n->in[0]->type.dtype == DT_F32);
    case OP_conv_transpose:
        return t->dtype == DT_F32 && n->in[1]->constant && !o->strict_target &&
               attr_int(&n->attrs, "channels_last", 0);
    case OP_matmul:
        return t->dtype == DT_F32 &&
               (o->strict_target || (n->in[1]->constant && n->in[1]->type.rank == 2));
    case OP_max_pool:
    case OP_average_pool:
        return t->dtype == DT_F32 && !o->strict_target && first_result_only(n);
    case OP_layer_norm:
    case OP_rms_norm:
        return t->dtype == DT_F32 && first_result_only(n);
    default:
        return false;
    }
}

static bool same_shape(const struct type *a, const struct type *b)
{
    return a->kind == VK_TENSOR && b->kind == VK_TENSOR && a->rank == b->rank && a->rank >= 0 &&
           (a->rank == 0 || !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank));
}

static bool in_group(const struct fuser *f, const struct node *n)
{
    for (int i = 0; i < f->n; i++)
        if (f->nodes[i] == n)
            return true;
    return false;
}

static bool reads_group(const struct fuser *f, const struct node *n)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i] && n->in[i]->def && in_group(f, n->in[i]->def))
            return true;
    return false;
}

static bool visit_read(struct node *n, void *user)
{
    return !reads_group(user, n);
}

/* Whether n or a node in its regions reads a value of the group. */
static bool touches_group(struct fuser *f, struct node *n)
{
    if (reads_group(f, n))
        return true;
    for (int i = 0; i < n->nregions; i++)
        if (!region_walk(n->regions[i], visit_read, f))
            return true;
    return false;
}

/* A stored number made f32, perhaps scaled and shifted: what a reader takes along. */
static bool is_widening(const struct fuser *f, const struct value *v, const struct type *shape,
                        int longest)
{
    const struct node *n = v->def;
    if (!n || !longest || n->parent != f->nodes[0]->parent || in_group(f, n) ||
        !value_has_one_use(v) || !is_elementwise(f->o, n) || !same_shape(&v->type, shape))
        return false;
    if (n->op == OP_dequantize_linear || n->op == OP_cast)
        return n->in[0]->type.dtype == DT_U8 || n->in[0]->type.dtype == DT_I8;
    if (n->op != OP_mul && n->op != OP_add)
        return false;
    return (n->in[1]->constant && is_widening(f, n->in[0], shape, longest - 1)) ||
           (n->in[0]->constant && is_widening(f, n->in[1], shape, longest - 1));
}

/* Nodes that are about to join the group, each a reader of the next one. */
enum { LONGEST_CHAIN = 12 };
struct fuse_chain {
    int n;
    const struct node *nodes[LONGEST_CHAIN + 1];
};

static bool in_chain(const struct fuse_chain *c, const struct node *n)
{
    for (int i = 0; i < c->n; i++)
        if (c->nodes[i] == n)
            return true;
    return false;
}

/*
 * Whether the group, of elementwise nodes, can compute v for the chain: the node that does moves
 * to where the group is placed, so nobody on the way there reads it, nor does a node that is in the
 * group already, which comes before it there.
 */
static bool can_take(struct fuser *f, const struct value *v, const struct type *shape,
                     const struct fuse_chain *c)
{
    struct node *def = v->def;
    const struct node *last = c->nodes[0];
    if (!def || def->parent != last->parent || def->nregions || in_group(f, def) ||
        !is_elementwise(f->o, def) || !same_shape(&v->type, shape))
        return false;
    for (const struct use *u = v->uses; u; u = u->next)
        if (u->node->parent != def->parent || in_group(f, u->node))
            return false;
    int looked = 0;
    for (const struct node *m = def->next; m != last; m = m->next) {
        if (!m || ++looked > LOOK_AHEAD)
            return false;
        for (int i = 0; i < m->nin && !in_chain(c, m); i++)
            if (m->in[i] == v)
                return false;
    }
    return true;
}

/* Adds what the chain's last node reads and the group can compute, in order. */
static void take_operands(struct fuser *f, const struct type *shape, struct fuse_chain *c)
{
    const struct node *reader = c->nodes[c->n - 1];
    for (int i = 0; i < reader->nin && c->n <= LONGEST_CHAIN; i++) {
        struct value *v = reader->in[i];
        if (!v || f->n + c->n + 1 >= MAX_GROUP || !can_take(f, v, shape, c))
            continue;
        c->nodes[c->n++] = v->def;
        take_operands(f, shape, c);
        f->nodes[f->n++] = v->def;
        c->n--;
    }
}

/* Adds what widens v, in order. */
static void take_widening(struct fuser *f, struct value *v)
{
    struct node *n = v->def;
    if (n->op == OP_mul || n->op == OP_add)
        take_widening(f, n->in[n->in[0]->constant ? 1 : 0]);
    f->nodes[f->n++] = n;
}

/* A reduction of floats by an engine, over known dims that lie together. */
static bool reduces_together(const struct node *n)
{
    const struct type *x = n->nin ? &n->in[0]->type : NULL;
    int axes[MAX_RANK], count, changes = 0;
    int64_t elements = 1;
    bool gone[MAX_RANK] = {0};
    if ((n->op != OP_reduce_sum && n->op != OP_reduce_mean && n->op != OP_reduce_max &&
         n->op != OP_reduce_min && n->op != OP_reduce_sum_square) ||
        x->dtype != DT_F32 || n->out[0]->type.dtype != DT_F32 || x->rank < 1)
        return false;
    if ((count = reduction_axes(n, axes)) < 1)
        return false;
    for (int i = 0; i < count; i++)
        gone[axes[i]] = true;
    for (int i = 0; i < x->rank; i++) {
        if (!dim_is_const(x->dims[i]) || x->dims[i] < 1)
            return false;
        changes += gone[i] && (i == 0 || !gone[i - 1]);
        elements *= gone[i] ? x->dims[i] : 1;
    }
    return changes == 1 && elements > 1;
}

static bool same_reduction(const struct node *a, const struct node *b)
{
    int of_a[MAX_RANK], of_b[MAX_RANK], n = reduction_axes(a, of_a);
    return n == reduction_axes(b, of_b) && !memcmp(of_a, of_b, sizeof *of_a * (size_t)n);
}

/*
 * The elementwise group's values reduced by n, and by those that follow over the same dims: while
 * they are in the tile. All nodes move to the last one.
 */
static void collect_reductions(struct fuser *f, struct node *n)
{
    enum { LIMIT = 4 };
    struct node *first = n;
    int looked = 0, made = 0;
    for (; n && looked < LOOK_AHEAD && made < LIMIT && f->n < MAX_GROUP; n = n->next, looked++) {
        if (!touches_group(f, n))
            continue;
        if (!n->nin || !n->in[0] || !n->in[0]->def || !in_group(f, n->in[0]->def) ||
            !same_shape(&n->in[0]->type, &first->in[0]->type) || !reduces_together(n) ||
            !same_reduction(first, n))
            return; /* what reduces a reduction comes after it */
        f->nodes[f->n++] = n;
        made++;
    }
}

static void collect(struct fuser *f, struct node *first)
{
    enum { LONGEST_WIDENING = 4 };
    bool elementwise = !f->o->strict_target && is_elementwise(f->o, first) && !is_anchor(f->o, first);
    f->n = 0;
    f->nodes[f->n++] = first;
    int looked = 0;
    for (struct node *n = first->next; n && f->n < MAX_GROUP && looked < LOOK_AHEAD;
         n = n->next, looked++) {
        if (!touches_group(f, n))
            continue;
        if (!is_elementwise(f->o, n) || !same_shape(&n->out[0]->type, &first->out[0]->type)) {
            why(f->o, n, "fuse.end",
                "not in the group of '%s': not an elementwise operation of the same shape",
                first->name ? first->name : "");
            if (elementwise && reduces_together(n))
                collect_reductions(f, n);
            return;
        }
        if (elementwise)
            take_operands(f, &first->out[0]->type, &(struct fuse_chain){1, {n}});
        for (int i = 0; i < n->nin; i++)
            if (n->in[i] && f->n + LONGEST_WIDENING < MAX_GROUP &&
                is_widening(f, n->in[i], &first->out[0]->type, LONGEST_WIDENING))
                take_widening(f, n->in[i]);
        f->nodes[f->n++] = n;
    }
}

/* What strict targets reduce is rounded as it is stored, where that is all that is done with it. */
static bool is_rounded(const struct fuser *f, struct node *n)
{
    const struct node *cast = f->o->strict_target && reduces_together(n) ? value_only_user(n->out[0]) : NULL;
    return cast && cast->op == OP_cast && cast->parent == n->parent && is_elementwise(f->o, cast);
}

static void collect_rounded(struct fuser *f, struct node *n)
{
    f->nodes[0] = n, f->nodes[1] = value_only_user(n->out[0]);
    f->n = 2;
}

/* The greatest or least of all elements. */
static bool is_extreme(const struct fuser *f, const struct node *n)
{
    int count;
    attr_ints(&n->attrs, "axes", &count);
    return (n->op == OP_reduce_max || n->op == OP_reduce_min) && !f->o->strict_target &&
           count == 0 && (n->nin < 2 || !n->in[1]) && n->in[0]->type.dtype == DT_F32 &&
           !attr_int(&n->attrs, "noop_with_empty_axes", 0);
}

/* The greatest and the least of the same elements, which are then read once. */
static void collect_extremes(struct fuser *f, struct node *first)
{
    f->n = 1;
    f->nodes[0] = first;
    int looked = 0;
    for (struct node *n = first->next; n && looked < LOOK_AHEAD; n = n->next, looked++) {
        if (is_extreme(f, n) && n->op != first->op && n->in[0] == first->in[0]) {
            f->nodes[f->n++] = n;
            return;
        }
        if (touches_group(f, n))
            return;
    }
}

/* ---- making the fused node ---- */

static bool read_outside(const struct fuser *f, const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next)
        if (!in_group(f, u->node))
            return true;
    return false;
}

struct operands {
    int n;
    struct value *outside[MAX_GROUP * 4];
};

static int operand_of(struct operands *o, struct value *v)
{
    for (int i = 0; i < o->n; i++)
        if (o->outside[i] == v)
            return i;
    if (o->n == MAX_GROUP * 4)
        return -1;
    o->outside[o->n] = v;
    return o->n++;
}

static bool gather_operands(const struct fuser *f, struct operands *o)
{
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < f->nodes[i]->nin; k++) {
            struct value *v = f->nodes[i]->in[k];
            if (v && !v->constant && !(v->def && in_group(f, v->def)) && operand_of(o, v) < 0)
                return false;
        }
    return true;
}

static void move_into(struct fuser *f, struct node *fused, struct operands *o)
{
    struct graph *g = f->g;
    struct region *r = node_add_region(g, fused);
    for (int i = 0; i < o->n; i++)
        region_add_param(r, &o->outside[i]->type, o->outside[i]->name);
    for (int i = 0; i < f->n; i++) {
        struct node *n = f->nodes[i];
        node_unlink(n);
        node_append(r, n);
        for (int k = 0; k < n->nin; k++)
            if (n->in[k] && !n->in[k]->constant && !(n->in[k]->def && in_group(f, n->in[k]->def)))
                node_set_input(n, k, r->params[operand_of(o, n->in[k])]);
    }
}

static bool make_fused(struct fuser *f)
{
    struct graph *g = f->g;
    struct operands o = {0};
    struct value *results[MAX_GROUP];
    int nresults = 0;
    struct node *last = f->nodes[f->n - 1];
    for (int i = 0; i < f->n; i++)
        if (read_outside(f, f->nodes[i]->out[0]))
            results[nresults++] = f->nodes[i]->out[0];
    if (!gather_operands(f, &o) || nresults == 0)
        return true;
    struct node *fused = node_new(g, OP_fused, o.outside, o.n, nresults, f->nodes[0]->name);
    fused->source = f->nodes[0]->source;
    node_insert_after(last, fused);
    for (int i = 0; i < nresults; i++) {
        fused->out[i]->type = results[i]->type;
        fused->out[i]->name = results[i]->name;
        value_replace(results[i], fused->out[i]);
    }
    /* uses inside the group were redirected too: put them back */
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < f->nodes[i]->nin; k++)
            for (int j = 0; j < nresults; j++)
                if (f->nodes[i]->in[k] == fused->out[j])
                    node_set_input(f->nodes[i], k, results[j]);
    move_into(f, fused, &o);
    struct node *ret = node_new(g, OP_return, results, nresults, 0, "");
    node_append(fused->regions[0], ret);
    why(f->o, fused, "fuse.group", "%d nodes in one tile program, %d results", f->n, nresults);
    return true;
}

/*
 * An elementwise node that waits: its only reader comes so much later that a group begun here would
 * have to take back all that lies between. The group of the reader's other operand takes it.
 */
static bool waits(const struct fuser *f, const struct node *n)
{
    const struct value *v = n->nout == 1 ? n->out[0] : NULL;
    if (!v || !value_has_one_use(v) || f->o->strict_target || is_anchor(f->o, n))
        return false;
    const struct node *reader = v->uses->node;
    if (reader->parent != n->parent || !is_elementwise(f->o, reader) ||
        !same_shape(&reader->out[0]->type, &v->type))
        return false;
    int between = 0;
    bool other = false;
    for (const struct node *m = n->next; m && m != reader && between < LOOK_AHEAD; m = m->next) {
        between++;
        for (int i = 0; i < reader->nin; i++)
            other |= reader->in[i] && reader->in[i]->def == m && is_elementwise(f->o, m) &&
                     same_shape(&m->out[0]->type, &v->type);
    }
    return other && between > LONGEST_CHAIN && between < LOOK_AHEAD;
}

/*
 * On strict targets, of a convolution with a constant and then a sum of another tensor: what is added is added up
 * before, while the Tensor engine multiplies. One instruction then waits for the products, not two in turn.
 */
static void sum_addends_first(struct fuser *f)
{
    struct node *conv = f->nodes[0], *bias = f->nodes[1], *sum = f->nodes[2];
    if (!f->o->strict_target || f->n < 3 || conv->op != OP_conv || bias->op != OP_add || sum->op != OP_add ||
        bias->in[0] != conv->out[0] || !bias->in[1]->constant || !value_has_one_use(conv->out[0]) ||
        value_only_user(bias->out[0]) != sum)
        return;
    struct value *other = sum->in[sum->in[0] == bias->out[0]];
    if (other->constant || (other->def && in_group(f, other->def)) || other->type.dtype != DT_F32 ||
        !same_shape(&other->type, &sum->out[0]->type))
        return;
    node_set_input(bias, 0, other);
    node_set_input(sum, 0, conv->out[0]);
    node_set_input(sum, 1, bias->out[0]);
}

static bool fuse_region(struct fuser *f, struct region *r)
{
    for (struct node *n = r->first, *next; n; n = next) {
        next = n->next;
        if (n->op == OP_fused || is_word_bitcast(n)) /* at a group's begin it is a view */
            continue;
        for (int i = 0; i < n->nregions; i++)
            if (!fuse_region(f, n->regions[i]))
                return false;
        if (is_extreme(f, n))
            collect_extremes(f, n);
        else if (is_rounded(f, n))
            collect_rounded(f, n);
        else if (is_anchor(f->o, n) || (is_elementwise(f->o, n) && !waits(f, n)))
            collect(f, n);
        else
            continue;
        if (f->n < 2)
            continue;
        sum_addends_first(f);
        struct node *last = f->nodes[f->n - 1];
        while (next && next != last->next && in_group(f, next))
            next = next->next;
        if (!make_fused(f))
            return false;
    }
    return true;
}

bool pass_fuse(struct graph *g, const struct options *o, struct diag *d)
{
    struct fuser f = {.g = g, .o = o, .d = d};
    remove_dead(g);
    return fuse_region(&f, g->main);
}
