/* Reductions, windows, maps: the computation is recognised as a well-known operator, or becomes a
 * region. */
#include "frontend/hlo/lower/arg_reduce.h"
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"

#include <math.h>
#include <string.h>

/* ---- computations on pairs ---- */

static const struct {
    enum hlo_opcode opcode;
    const char *name, *truth; /* on booleans */
    enum op reduce;           /* OP_COUNT: none */
    enum op apply;
} pairs[] = {
    {HLO_OP_ADD, "add", "or", OP_reduce_sum, OP_add},
    {HLO_OP_MULTIPLY, "mul", "and", OP_reduce_prod, OP_mul},
    {HLO_OP_MAXIMUM, "max", "or", OP_reduce_max, OP_max},
    {HLO_OP_MINIMUM, "min", "and", OP_reduce_min, OP_min},
    {HLO_OP_AND, "and", "and", OP_COUNT, OP_and},
    {HLO_OP_OR, "or", "or", OP_COUNT, OP_or},
    {HLO_OP_XOR, "xor", "xor", OP_COUNT, OP_xor},
};
enum { NPAIRS = sizeof pairs / sizeof *pairs };

/* Row of the table, -1 when the computation is not one opcode on its two parameters, in any order.
 */
static int find_pair(const struct hlo_computation *c)
{
    const struct hlo_instruction *i = c->root;
    if (c->parameter_count != 2 || i->operand_count != 2 || c->captures.count)
        return -1;
    const struct hlo_instruction *a = i->operands[0], *b = i->operands[1];
    if (a->opcode != HLO_OP_PARAMETER || b->opcode != HLO_OP_PARAMETER || a == b ||
        a->shape->type != i->shape->type)
        return -1;
    bool ordered = !dtype_is_complex(hlo_type_dtype(i->shape->type));
    for (int k = 0; k < NPAIRS; k++)
        if (pairs[k].opcode == i->opcode &&
            (ordered || pairs[k].apply == OP_add || pairs[k].apply == OP_mul))
            return k;
    return -1;
}

const char *h_combine_name(const struct hlo_computation *c)
{
    int k = find_pair(c);
    if (c->parameter_count == 2 && c->root->opcode == HLO_OP_PARAMETER)
        return c->root->parameter ? "second" : "first";
    return k < 0 ? NULL : c->root->shape->type == HLO_PRED ? pairs[k].truth : pairs[k].name;
}

void h_combine_attrs(struct hlo_lower *l, struct attrs *a, const struct hlo_computation *c)
{
    const char *name = h_combine_name(c);
    if (name)
        h_set_str(l, a, "combine", name);
    else if (hlo_admits_vectors(c))
        h_set_int(l, a, "lanes", 1);
}

bool h_combine_region(struct hlo_lower *l, struct node *n, const struct hlo_computation *c)
{
    if (!n)
        return false;
    return h_combine_name(c) || hlo_region(l, c, node_add_region(l->b->g, n), hlo_admits_vectors(c));
}

/* ---- reduce ---- */

/* Whether the first value changes nothing. */
static bool neutral(int pair, const struct value *init)
{
    double v;
    int dtype = b_dtype(init);
    bool is_float = dtype_is_float(dtype);
    if (!h_known(init, &v))
        return false;
    switch (pairs[pair].opcode) {
    case HLO_OP_ADD:
        return v == 0;
    case HLO_OP_MULTIPLY:
        return v == 1;
    case HLO_OP_MAXIMUM:
        return dtype == DT_BOOL ? v == 0 : is_float && v == -INFINITY;
    case HLO_OP_MINIMUM:
        return dtype == DT_BOOL ? v == 1 : is_float && v == INFINITY;
    default:
        return false;
    }
}

/* Operand k of a reduction as the computation takes it: it may work in a wider type than operands
 * and result have. */
static struct value *widened(struct hlo_lower *l, const struct hlo_computation *c, struct value *v,
                             int k)
{
    return k < c->parameter_count ? h_cast(l, v, hlo_type_dtype(c->parameters[k]->shape->type)) : v;
}

/* The extreme of a single element is that element. */
static bool of_ones(const struct value *x, struct hlo_ints axes)
{
    for (int k = 0; k < axes.count; k++)
        if (x->type.dims[axes.v[k]] != 1)
            return false;
    return true;
}

static struct value *without_dims(struct hlo_lower *l, struct value *x, struct hlo_ints axes)
{
    int64_t dims[MAX_RANK];
    int rank = 0;
    for (int i = 0; i < x->type.rank; i++) {
        bool gone = false;
        for (int k = 0; k < axes.count; k++)
            gone |= axes.v[k] == i;
        if (!gone)
            dims[rank++] = x->type.dims[i];
    }
    return h_reshape(l, x, dims, rank);
}

/* By a core reduction, then the first value. NULL (without a failure) when there is none. */
static struct value *reduce_fast(struct hlo_lower *l, int pair)
{
    const struct hlo_computation *c = hlo_attr_computation(l->i, HLO_ATTR_to_apply);
    struct value *x = widened(l, c, h_in(l, 0), 1), *init = widened(l, c, h_in(l, 1), 0);
    struct hlo_ints axes = hlo_attr_ints(l->i, HLO_ATTR_dimensions);
    bool truth = b_dtype(x) == DT_BOOL;
    enum op op = pairs[pair].reduce, apply = pairs[pair].apply;
    if (truth) {
        bool any = !strcmp(pairs[pair].truth, "or"), all = !strcmp(pairs[pair].truth, "and");
        op = any ? OP_reduce_max : all ? OP_reduce_min : OP_COUNT;
        apply = any ? OP_or : OP_and;
    }
    if (op == OP_COUNT ||
        (dtype_is_complex(b_dtype(x)) && op != OP_reduce_sum && op != OP_reduce_prod))
        return NULL;
    bool extreme = op == OP_reduce_max || op == OP_reduce_min;
    for (int k = 0; k < axes.count && extreme; k++)
        if (x->type.dims[axes.v[k]] == 0)
            return NULL;
    struct value *y = axes.count == 0               ? x
                      : extreme && of_ones(x, axes) ? without_dims(l, x, axes)
                                                    : h_reduce(l, op, x, axes.v, axes.count, false);
    return neutral(pair, init) ? y : b_2(l->b, apply, y, init);
}

static bool give_results(struct hlo_lower *l, struct value *const *v, int n)
{
    for (int k = 0; k < n && k < l->out.count; k++)
        l->out.v[k] = h_cast(l, v[k], hlo_type_dtype(hlo_leaf(l->i->shape, k)->type));
    return !diag_failed(l->b->d);
}

bool hlo_lower_reduce(struct hlo_lower *l)
{
    const struct hlo_computation *c = hlo_attr_computation(l->i, HLO_ATTR_to_apply);
    int n = l->i->operand_count / 2, pair = find_pair(c);
    struct attrs a = {0};
    if (n == 1 && pair >= 0) {
        struct value *y = reduce_fast(l, pair);
        if (y || diag_failed(l->b->d))
            return give_results(l, &y, 1);
    }
    bool max;
    if (arg_reduce_matches(l, &max)) {
        struct value *found[2];
        arg_reduce(l, max, found);
        return give_results(l, found, 2);
    }
    struct value **in = ARENA_ARRAY(&l->b->g->arena, struct value *, 2 * n);
    for (int k = 0; k < 2 * n; k++)
        in[k] = widened(l, c, h_in(l, k), k);
    h_set_ints(l, &a, "axes", hlo_attr_ints(l->i, HLO_ATTR_dimensions));
    h_combine_attrs(l, &a, c);
    struct node *r = b_place(l->b, OP_reduce_with, in, 2 * n, n, &a);
    return h_combine_region(l, r, c) && b_infer(l->b, r) && give_results(l, r->out, n);
}

/* ---- reduce-window ---- */

static const struct hlo_window_dim plain_dim = {1, 1, 0, 0, 1, 1, false};

static struct hlo_window_dim window_dim(const struct hlo_window *w, int k)
{
    return w ? w->dims[k] : plain_dim;
}

static void window_attrs(struct hlo_lower *l, struct attrs *a, const struct hlo_window *w, int rank)
{
    int64_t size[HLO_MAX_RANK], stride[HLO_MAX_RANK], base[HLO_MAX_RANK], dilation[HLO_MAX_RANK];
    int64_t pads[2 * HLO_MAX_RANK];
    for (int k = 0; k < rank; k++) {
        struct hlo_window_dim d = window_dim(w, k);
        size[k] = d.size;
        stride[k] = d.stride;
        base[k] = d.lhs_dilate;
        dilation[k] = d.rhs_dilate;
        pads[k] = d.pad_low;
        pads[rank + k] = d.pad_high;
    }
    attr_set_ints(&l->b->g->arena, a, "size", size, rank);
    attr_set_ints(&l->b->g->arena, a, "strides", stride, rank);
    attr_set_ints(&l->b->g->arena, a, "pads", pads, 2 * rank);
    attr_set_ints(&l->b->g->arena, a, "base_dilations", base, rank);
    attr_set_ints(&l->b->g->arena, a, "window_dilations", dilation, rank);
}

static bool is_plain(struct hlo_window_dim d)
{
    return d.size == 1 && d.stride == 1 && !d.pad_low && !d.pad_high && d.lhs_dilate == 1 &&
           d.rhs_dilate == 1;
}

/* Long running sums: one dim's window reaches from the first element to this one, or from this one
 * to the last. Short ones are left to reduce_window, which rounds each sum to the element type as
 * XLA does; XLA, too, sums longer windows than these in another order. */
static struct value *running_sum(struct hlo_lower *l, const struct hlo_window *w)
{
    enum { SHORT = 16 };
    struct value *x = h_in(l, 0);
    int axis = -1;
    struct attrs a = {0};
    for (int k = 0; k < h_rank(x); k++)
        if (!is_plain(window_dim(w, k))) {
            if (axis >= 0)
                return NULL;
            axis = k;
        }
    if (axis < 0)
        return NULL;
    struct hlo_window_dim d = w->dims[axis];
    int64_t n = x->type.dims[axis];
    bool up = d.pad_low == n - 1 && d.pad_high == 0, down = d.pad_high == n - 1 && d.pad_low == 0;
    if (d.size != n || d.stride != 1 || d.lhs_dilate != 1 || d.rhs_dilate != 1 || n <= SHORT ||
        !(up || down))
        return NULL;
    if (down)
        h_set_int(l, &a, "reverse", 1);
    return b_op(l->b, OP_cumsum, (struct value *[]){x, b_scalar(l->b, DT_I64, axis)}, 2, &a);
}

/* Max over windows of images, batch first and channels second or last. */
static struct value *max_pool(struct hlo_lower *l, const struct hlo_window *w)
{
    struct value *x = h_in(l, 0);
    int rank = h_rank(x), n = rank - 2;
    int64_t size[HLO_MAX_RANK], stride[HLO_MAX_RANK], dilation[HLO_MAX_RANK],
        pads[2 * HLO_MAX_RANK];
    struct attrs a = {0};
    if (!w || n < 1 || n > 3 || !dtype_is_engine_float(b_dtype(x)) || !is_plain(w->dims[0]))
        return NULL;
    bool last = is_plain(w->dims[rank - 1]);
    if (!last && !is_plain(w->dims[1]))
        return NULL;
    for (int k = 0; k < n; k++) {
        struct hlo_window_dim d = w->dims[last ? k + 1 : k + 2];
        int64_t reach = (d.size - 1) * d.rhs_dilate;
        if (d.lhs_dilate != 1 || d.pad_low < 0 || d.pad_high < 0 || d.pad_low > reach ||
            d.pad_high > reach)
            return NULL;
        size[k] = d.size;
        stride[k] = d.stride;
        dilation[k] = d.rhs_dilate;
        pads[k] = d.pad_low;
        pads[n + k] = d.pad_high;
    }
    attr_set_ints(&l->b->g->arena, &a, "kernel_shape", size, n);
    attr_set_ints(&l->b->g->arena, &a, "strides", stride, n);
    attr_set_ints(&l->b->g->arena, &a, "dilations", dilation, n);
    attr_set_ints(&l->b->g->arena, &a, "pads", pads, 2 * n);
    h_set_int(l, &a, "channels_last", last);
    h_set_int(l, &a, "may_be_empty", 1);
    return b_op(l->b, OP_max_pool, &x, 1, &a);
}

static bool is_empty(const struct hlo_shape *s)
{
    int64_t n;
    return !hlo_shape_count(s, &n) || n == 0;
}

static struct value *window_fast(struct hlo_lower *l, const struct hlo_computation *c,
                                 const struct hlo_window *w)
{
    int pair = find_pair(c), dtype = b_dtype(h_in(l, 0));
    if (pair < 0 || !w || !neutral(pair, h_in(l, 1)) || is_empty(hlo_leaf(l->i->shape, 0)))
        return NULL;
    if (pairs[pair].opcode == HLO_OP_ADD && (dtype_is_float(dtype) || dtype_is_int(dtype)))
        return running_sum(l, w);
    return pairs[pair].opcode == HLO_OP_MAXIMUM ? max_pool(l, w) : NULL;
}

bool hlo_lower_reduce_window(struct hlo_lower *l)
{
    const struct hlo_computation *c = hlo_attr_computation(l->i, HLO_ATTR_to_apply);
    const struct hlo_attr *window = hlo_attr(l->i, HLO_ATTR_window);
    const struct hlo_window *w = window ? window->window : NULL;
    int n = l->i->operand_count / 2;
    struct attrs a = {0};
    if (n == 1) {
        struct value *y = window_fast(l, c, w);
        if (y || diag_failed(l->b->d))
            return give_results(l, &y, 1);
    }
    struct value **in = ARENA_ARRAY(&l->b->g->arena, struct value *, 2 * n);
    for (int k = 0; k < 2 * n; k++)
        in[k] = widened(l, c, h_in(l, k), k);
    window_attrs(l, &a, w, h_rank(in[0]));
    h_combine_attrs(l, &a, c);
    struct node *r = b_place(l->b, OP_reduce_window, in, 2 * n, n, &a);
    return h_combine_region(l, r, c) && b_infer(l->b, r) && give_results(l, r->out, n);
}

/* ---- select-and-scatter ---- */

/* A comparison of the two parameters, as the core operator's name. */
static const char *comparison_name(const struct hlo_computation *c)
{
    static const char *const names[] = {
        [HLO_DIRECTION_EQ] = "eq", [HLO_DIRECTION_NE] = "ne", [HLO_DIRECTION_GE] = "ge",
        [HLO_DIRECTION_GT] = "gt", [HLO_DIRECTION_LE] = "le", [HLO_DIRECTION_LT] = "lt"};
    const struct hlo_instruction *i = c->root;
    bool total = i->opcode == HLO_OP_COMPARE && hlo_attr(i, HLO_ATTR_type) &&
                 hlo_attr_int(i, HLO_ATTR_type) == HLO_COMPARISON_TOTALORDER;
    if (i->opcode != HLO_OP_COMPARE || c->captures.count || total || i->operands[0]->opcode != HLO_OP_PARAMETER ||
        i->operands[1]->opcode != HLO_OP_PARAMETER || i->operands[0]->parameter != 0 ||
        i->operands[1]->parameter != 1)
        return NULL;
    return names[hlo_attr_int(i, HLO_ATTR_direction)];
}

bool hlo_lower_select_and_scatter(struct hlo_lower *l)
{
    const struct hlo_computation *select = hlo_attr_computation(l->i, HLO_ATTR_select);
    const struct hlo_computation *scatter = hlo_attr_computation(l->i, HLO_ATTR_scatter);
    const struct hlo_attr *window = hlo_attr(l->i, HLO_ATTR_window);
    const char *name = comparison_name(select), *combine = h_combine_name(scatter);
    bool vectors = (name || hlo_admits_vectors(select)) && (combine || hlo_admits_vectors(scatter));
    struct value *in[] = {h_in(l, 0), h_in(l, 1), h_in(l, 2)};
    struct attrs a = {0};
    window_attrs(l, &a, window ? window->window : NULL, h_rank(in[0]));
    if (name)
        h_set_str(l, &a, "select", name);
    if (combine)
        h_set_str(l, &a, "combine", combine);
    h_set_int(l, &a, "lanes", vectors);
    struct node *n = b_place(l->b, OP_select_and_scatter, in, 3, 1, &a);
    if (!n || (!name && !hlo_region(l, select, node_add_region(l->b->g, n), vectors)) ||
        (!combine && !hlo_region(l, scatter, node_add_region(l->b->g, n), vectors)))
        return false;
    return b_infer(l->b, n) && h_done(l, n->out[0]);
}

/* ---- map ---- */

/* On vectors the computation is simply put in place, on whole arrays. */
bool hlo_lower_map(struct hlo_lower *l)
{
    const struct hlo_computation *c = hlo_attr_computation(l->i, HLO_ATTR_to_apply);
    const struct hlo_shape *s = l->i->shape;
    int n = l->i->operand_count;
    struct leaves result;
    if (l->out.count != 1)
        return HLO_ERROR(l, "the computation gives a tuple, expected one scalar");
    if (hlo_admits_vectors(c)) {
        struct hlo_lower inner = *l;
        inner.vectors = true;
        if (!hlo_inline(&inner, c, l->operands, n, &result))
            return false;
        struct value *y = result.v[0];
        return h_done(l, h_rank(y) == 0 ? h_fill(l, y, s->dims, s->rank) : y);
    }
    struct value **in = ARENA_ARRAY(&l->b->g->arena, struct value *, n + 1);
    struct attrs a = {0};
    for (int k = 0; k < n; k++)
        in[k] = h_in(l, k);
    h_set_int(l, &a, "dtype", hlo_type_dtype(s->type));
    struct node *m = b_place(l->b, OP_map_with, in, n, 1, &a);
    return m && hlo_region(l, c, node_add_region(l->b->g, m), false) && b_infer(l->b, m) &&
           h_done(l, m->out[0]);
}
