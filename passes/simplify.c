/*
 * Rewrites that never make the graph larger: what does nothing goes, pairs that undo or repeat
 * each other merge, squares are called so, what operands repeat is read or
 * multiplied once. A rule answers with the value that replaces result 0, or
 * NULL. Then common subexpressions and dead nodes.
 */
#include "passes/assign.h"
#include "passes/cse.h"
#include "passes/match.h"
#include "passes/repeats.h"
#include "passes/rewrite.h"
#include "passes/views.h"

#include <math.h>
#include <string.h>

typedef struct value *rule(struct graph *g, struct node *n, struct diag *d);

static struct value *identity(struct graph *g, struct node *n, struct diag *d)
{
    return n->in[0];
}

/* Of the same type before and after, these operators do nothing. */
static struct value *same_shape(struct graph *g, struct node *n, struct diag *d)
{
    return same_type(n->in[0], n->out[0]) ? n->in[0] : NULL;
}

/* A slice as long as its operand and not backwards is the operand. */
static struct value *slice(struct graph *g, struct node *n, struct diag *d)
{
    const struct content_list *steps = n->nin > 4 && n->in[4] ? &n->in[4]->content : NULL;
    for (int64_t i = 0; steps && i < steps->n; i++)
        if (!dim_is_const(steps->v[i]) || steps->v[i] < 1)
            return NULL;
    return steps && steps->n < 0 ? NULL : same_shape(g, n, d);
}

static struct value *pad(struct graph *g, struct node *n, struct diag *d)
{
    double x;
    return n->in[1] && constant_number(n->in[1], &x) && x == 0 ? n->in[0] : NULL;
}

static struct value *concat(struct graph *g, struct node *n, struct diag *d)
{
    return n->nin == 1 ? n->in[0] : NULL;
}

static struct value *clip(struct graph *g, struct node *n, struct diag *d)
{
    for (int i = 1; i < n->nin; i++)
        if (n->in[i])
            return NULL;
    return n->in[0];
}

static struct value *twice(struct graph *g, struct node *n, struct diag *d)
{
    struct node *inner = made_by(n->in[0], n->op);
    return inner ? inner->in[0] : NULL;
}

static struct value *where(struct graph *g, struct node *n, struct diag *d)
{
    double c;
    if (!constant_number(n->in[0], &c))
        return NULL;
    struct value *v = n->in[c ? 1 : 2];
    return same_type(v, n->out[0]) ? v : NULL;
}

/* Every value of the first type is one of the second. */
static bool widens(int from, int to)
{
    const struct dtype_info *a = dtype_info(from), *b = dtype_info(to);
    const struct float_format *f = float_format(from), *h = float_format(to);
    if (f && h)
        return f->nan == 1 && h->nan == 1 && f->man_bits <= h->man_bits &&
               f->exp_bits <= h->exp_bits;
    if (a->cls == DTC_BOOL)
        return b->cls == DTC_SINT || b->cls == DTC_UINT;
    if (a->cls == b->cls)
        return (a->cls == DTC_SINT || a->cls == DTC_UINT) && a->bits <= b->bits;
    return a->cls == DTC_UINT && b->cls == DTC_SINT && a->bits < b->bits;
}

static struct value *cast(struct graph *g, struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    if (n->in[0]->type.kind != VK_TENSOR || n->out[0]->type.kind != VK_TENSOR)
        return NULL;
    if (n->in[0]->type.dtype == n->out[0]->type.dtype)
        return n->in[0];
    struct node *inner = made_by(n->in[0], OP_cast);
    if (!inner || inner->in[0]->type.kind != VK_TENSOR ||
        !widens(inner->in[0]->type.dtype, inner->out[0]->type.dtype))
        return NULL;
    if (inner->in[0]->type.dtype == n->out[0]->type.dtype)
        return inner->in[0];
    return b_op(&b, OP_cast, inner->in, 1, &n->attrs);
}

/* perm of a transpose of known rank. */
static bool permutation(const struct node *n, int64_t *perm)
{
    int count, rank = n->in[0]->type.rank;
    const int64_t *given = attr_ints(&n->attrs, "perm", &count);
    if (n->in[0]->type.kind != VK_TENSOR || rank < 0 || (given && count != rank))
        return false;
    for (int i = 0; i < rank; i++)
        perm[i] = given ? given[i] < 0 ? given[i] + rank : given[i] : rank - 1 - i;
    return true;
}

static struct value *transpose(struct graph *g, struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    int64_t outer[MAX_RANK], inner[MAX_RANK];
    if (!permutation(n, outer))
        return NULL;
    int rank = n->in[0]->type.rank;
    bool nothing = true;
    for (int i = 0; i < rank; i++)
        nothing &= outer[i] == i;
    if (nothing)
        return n->in[0];
    struct node *before = made_by(n->in[0], OP_transpose);
    if (!before || !permutation(before, inner))
        return NULL;
    for (int i = 0; i < rank; i++)
        outer[i] = inner[outer[i]];
    struct attrs as = {0};
    attr_set_ints(&g->arena, &as, "perm", outer, rank);
    return b_op(&b, OP_transpose, before->in, 1, &as);
}

static bool is_view(const struct value *v)
{
    return v && v->def && op_infos[v->def->op].flags & OPF_VIEW;
}

/* A view of a view is one reshape, when its shape can be written down: at most one dim is not
 * constant. */
static struct value *view(struct graph *g, struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    const struct type *t = &n->out[0]->type;
    if (same_type(n->in[0], n->out[0]))
        return n->in[0];
    if (!is_view(n->in[0]) || t->kind != VK_TENSOR || t->rank < 0)
        return NULL;
    struct value *root = n->in[0]->def->in[0];
    if (same_type(root, n->out[0]))
        return root;
    int64_t dims[MAX_RANK];
    int unknown = 0, zeros = 0;
    for (int i = 0; i < t->rank; i++) {
        bool known = dim_is_const(t->dims[i]);
        dims[i] = known ? t->dims[i] : -1;
        unknown += !known;
        zeros += known && t->dims[i] == 0;
    }
    if (unknown > 1 || zeros)
        return NULL;
    struct value *in[2] = {root, constant_i64s(g, dims, t->rank)};
    struct value *v = b_op(&b, OP_reshape, in, 2, NULL);
    if (v &&
        !type_equal(&v->type, t)) /* -1 may be inferred less exactly than what the chain says */
        v->type = *t;
    return v;
}

/* A broadcast that keeps the order of dims and adds dims of 1 alone is a view. */
static struct value *broadcast(struct graph *g, struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    const struct type *x = &n->in[0]->type, *y = &n->out[0]->type;
    int count;
    const int64_t *at = attr_ints(&n->attrs, "dims", &count);
    if (n->nin != 1 || !type_is_static(x) || !type_is_static(y) || count != x->rank || !dims_ascend(at, count))
        return NULL;
    int64_t elements = dims_product(x->dims, 0, x->rank);
    bool view = elements > 0 && elements == dims_product(y->dims, 0, y->rank);
    return view ? b_reshape_to(&b, n->in[0], y->dims, y->rank) : NULL;
}

/* x op c is x: for an exact neutral element only, so 0 is not one for a sum of floats (-0 + 0 is
 * +0). */
static bool neutral(enum op op, const struct value *c)
{
    double x;
    if (!constant_number(c, &x))
        return false;
    bool is_float = dtype_is_float(c->type.dtype);
    switch (op) {
    case OP_add:
        return x == 0 && (!is_float || signbit(x));
    case OP_sub:
        return x == 0 && !signbit(x);
    case OP_or:
    case OP_xor:
        return x == 0;
    case OP_and:
        return c->type.dtype == DT_BOOL && x == 1;
    case OP_max:
        return is_float && x == -INFINITY;
    case OP_min:
        return is_float && x == INFINITY;
    default:
        return x == 1; /* mul, div, pow */
    }
}

static struct value *neutral_element(struct graph *g, struct node *n, struct diag *d)
{
    bool either = n->op == OP_add || n->op == OP_mul || n->op == OP_or || n->op == OP_xor || n->op == OP_and ||
                  n->op == OP_max || n->op == OP_min;
    if (neutral(n->op, n->in[1]) && same_type(n->in[0], n->out[0]))
        return n->in[0];
    if (either && neutral(n->op, n->in[0]) && same_type(n->in[1], n->out[0]))
        return n->in[1];
    return NULL;
}

/* x ^ 1 is x; x ^ 2 is x * x, as precisely. */
static struct value *power(struct graph *g, struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    double exponent;
    if (constant_number(n->in[1], &exponent) && exponent == 2 && same_type(n->in[0], n->out[0]) &&
        dtype_is_float(n->out[0]->type.dtype))
        return b_op(&b, OP_square, n->in, 1, NULL);
    return neutral_element(g, n, d);
}

/* Unsigned integers by a power of two: a shift. */
static struct value *quotient(struct graph *g, struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    double by, bits = 0;
    if (dtype_class(n->out[0]->type.dtype) != DTC_UINT || !constant_number(n->in[1], &by) ||
        !same_type(n->in[0], n->out[0]))
        return neutral_element(g, n, d);
    while (bits < 31 && ldexp(1, (int)bits) < by)
        bits++;
    if (by < 2 || ldexp(1, (int)bits) != by)
        return neutral_element(g, n, d);
    struct value *shift = constant_floats(g, n->out[0]->type.dtype, 0, NULL, &bits, NULL);
    return b_2(&b, OP_shr, n->in[0], shift);
}

/* A reduction over dims of 1. */
static struct value *lone(struct graph *g, struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    int axes[MAX_RANK], count = is_tensor(n->in[0]) ? reduction_axes(n, axes) : 0;
    const struct type *y = &n->out[0]->type;
    if (count < 1 || y->kind != VK_TENSOR || y->rank < 0 || y->dtype != n->in[0]->type.dtype)
        return NULL;
    for (int i = 0; i < count; i++)
        if (n->in[0]->type.dims[axes[i]] != 1)
            return NULL;
    for (int i = 0; i < y->rank; i++)
        if (!dim_is_const(y->dims[i]) || y->dims[i] == 0)
            return NULL;
    return b_reshape_to(&b, n->in[0], y->dims, y->rank);
}

/* Sums along a dim of 1, of which none leaves out its own element. */
static struct value *lone_sums(struct graph *g, struct node *n, struct diag *d)
{
    const struct type *x = &n->in[0]->type;
    double axis;
    if (x->kind != VK_TENSOR || x->rank < 1 || attr_int(&n->attrs, "exclusive", 0) ||
        !constant_number(n->in[1], &axis) || !type_equal(x, &n->out[0]->type))
        return NULL;
    axis += axis < 0 ? x->rank : 0;
    return axis >= 0 && axis < x->rank && x->dims[(int)axis] == 1 ? n->in[0] : NULL;
}

/* The product of rows that a gather takes from a much shorter table, each again and again, is gathered from that of the
 * table: a graph's messages. What a row's product is does not depend on the others. Where the rows are read elsewhere
 * too, there is one gather more. */
static struct value *of_table(struct graph *g, struct node *n, struct diag *d)
{
    enum { MIN_ROWS = 16, WIDER = 4 };
    struct node *from = n->nin == 2 && n->in[1] ? n->in[0]->def : NULL;
    if (!from || from->op != OP_gather || attr_int(&from->attrs, "axis", 0) != 0 || attr_int(&n->attrs, "trans_a", 0))
        return NULL;
    const struct type *table = &from->in[0]->type, *rows = &n->in[0]->type, *y = &n->out[0]->type;
    if (table->rank != 2 || rows->rank != 2 || y->rank != 2 || from->in[1]->type.rank != 1 || n->in[1]->type.rank != 2)
        return NULL;
    for (int k = 0; k < 2; k++)
        if (!dim_is_const(table->dims[k]) || !dim_is_const(rows->dims[k]) || !dim_is_const(y->dims[k]))
            return NULL;
    if (table->dims[0] < MIN_ROWS || table->dims[0] > rows->dims[0] / 2 || y->dims[1] > WIDER * table->dims[1])
        return NULL;
    struct builder b = builder_before(n, d), gather = b;
    gather.name = from->name;
    struct value *whole = b_op(&b, OP_matmul, (struct value *[]){from->in[0], n->in[1]}, 2, &n->attrs);
    return b_op(&gather, OP_gather, (struct value *[]){whole, from->in[1]}, 2, &from->attrs);
}

static const struct {
    enum op op;
    rule *rule;
} rules[] = {
    {OP_matmul, of_table},
    {OP_identity, identity},
    {OP_cast, cast},
    {OP_transpose, transpose},
    {OP_reshape, view},
    {OP_flatten, view},
    {OP_squeeze, view},
    {OP_unsqueeze, view},
    {OP_expand, same_shape},
    {OP_broadcast_in_dim, broadcast},
    {OP_tile, same_shape},
    {OP_slice, slice},
    {OP_pad, pad},
    {OP_concat, concat},
    {OP_clip, clip},
    {OP_not, twice},
    {OP_bitnot, twice},
    {OP_where, where},
    {OP_scatter_nd, slice_assignment},
    {OP_dynamic_slice, known_slice},
    {OP_add, neutral_element},
    {OP_sub, neutral_element},
    {OP_mul, neutral_element},
    {OP_div, quotient},
    {OP_pow, power},
    {OP_or, neutral_element},
    {OP_and, neutral_element},
    {OP_xor, neutral_element},
    {OP_max, neutral_element},
    {OP_min, neutral_element},
    {OP_reduce_sum, lone},
    {OP_reduce_mean, lone},
    {OP_reduce_max, lone},
    {OP_reduce_min, lone},
    {OP_reduce_prod, lone},
    {OP_cumsum, lone_sums},
};

static rule *rule_of(enum op op)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].op == op)
            return rules[i].rule;
    return NULL;
}

/*
 * A result that has no element for any sizes is a constant: what is behind it sees no operator on nothing.
 */
static struct value *of_no_element(struct graph *g, struct node *n)
{
    const struct type *t = &n->out[0]->type;
    bool empty = false;
    if (n->nout != 1 || n->nregions || !n->nin ||
        op_infos[n->op].flags & (OPF_IMPURE | OPF_CONTAINERS | OPF_TERMINATOR) || t->kind != VK_TENSOR || t->rank < 1 ||
        dtype_class(t->dtype) == DTC_STRING)
        return NULL;
    for (int i = 0; i < t->rank; i++) {
        if (!dim_is_const(t->dims[i]))
            return NULL;
        empty |= t->dims[i] == 0;
    }
    struct tensor none = tensor_view(t->dtype, t->rank, t->dims, NULL);
    none.data = empty ? arena_alloc(&g->arena, 16) : NULL;
    return empty ? constant_new(g, &none, n->out[0]->name) : NULL;
}

static bool simplify_region(struct graph *g, struct region *r, const struct options *o,
                            struct diag *d, bool *changed)
{
    for (struct node *n = r->first, *next; n; n = next) {
        next = n->next;
        for (int i = 0; i < n->nregions; i++)
            if (!simplify_region(g, n->regions[i], o, d, changed))
                return false;
        rule *apply = rule_of(n->op);
        if (!n->nout || !n->out[0]->uses || (n->nin && !n->in[0]))
            continue;
        struct value *v = of_no_element(g, n);
        if (!v && apply)
            v = apply(g, n, d);
        if (!v && !diag_failed(d))
            v = of_unrepeated(g, n, d);
        if (!v && !diag_failed(d))
            v = of_unviewed(g, n, d);
        if (!v && !diag_failed(d))
            v = transpose_of_view(g, n, d);
        if (!v && !diag_failed(d))
            v = view_of_elementwise(g, n, d);
        if (!v && diag_failed(d))
            return false;
        if (!v)
            continue;
        why(o, n, "simplify.rule",
            "it does nothing, merges with what is before it, or is a simpler operator");
        if (v->content.n < 0)
            v->content = n->out[0]->content;
        if (!v->name && v->def) /* --verify finds the model's values by name */
            v->name = n->out[0]->name;
        value_replace(n->out[0], v);
        *changed = true;
    }
    return true;
}

bool pass_simplify(struct graph *g, const struct options *o, struct diag *d)
{
    enum { ROUNDS = 8 }; /* chains shrink from the front, so two are the rule */
    bool changed = true;
    for (int i = 0; i < ROUNDS && changed; i++) {
        changed = false;
        if (!simplify_region(g, g->main, o, d, &changed))
            return false;
        remove_dead(g);
        merge_common(g);
    }
    remove_dead(g);
    return infer_types(g, d);
}
