/* Opcodes that move elements about. */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"

#include <string.h>

bool hlo_lower_constant(struct hlo_lower *l)
{
    const struct hlo_literal *literal = l->i->literal;
    for (int k = 0; k < l->out.count; k++) {
        const struct hlo_literal *leaf = literal;
        int at = k;
        while (leaf->shape->type == HLO_TUPLE) {
            int e = 0;
            for (; at >= hlo_leaf_count(leaf->shape->elements[e]); e++)
                at -= hlo_leaf_count(leaf->shape->elements[e]);
            leaf = leaf->elements[e];
        }
        l->out.v[k] = hlo_constant(l, leaf);
    }
    return !diag_failed(l->b->d);
}

bool hlo_lower_iota(struct hlo_lower *l)
{
    const struct hlo_shape *s = l->i->shape;
    int to = hlo_type_dtype(s->type);
    bool plain = (dtype_is_int(to) || dtype_is_float(to)) && dtype_info(to)->bits >= 32;
    struct value *v = h_iota(l, plain ? to : DT_I64, s->dims, s->rank,
                             (int)hlo_attr_int(l->i, HLO_ATTR_iota_dimension));
    return h_done(l, h_cast(l, v, to));
}

bool hlo_lower_broadcast(struct hlo_lower *l)
{
    if (l->vectors)
        return h_done(l, h_in(l, 0));
    struct hlo_ints at = hlo_attr_ints(l->i, HLO_ATTR_dimensions);
    int64_t dims[HLO_MAX_RANK];
    if (l->i->shape->rank) /* those of a scalar are NULL */
        memcpy(dims, l->i->shape->dims, sizeof *dims * (size_t)l->i->shape->rank);
    for (int k = 0; k < at.count && k < h_rank(h_in(l, 0)); k++)
        if (dims[at.v[k]] == HLO_UNBOUNDED)
            dims[at.v[k]] = h_in(l, 0)->type.dims[k];
    for (int k = 0; k < l->i->shape->rank; k++)
        if (dims[k] == HLO_UNBOUNDED) {
            l->b->d->unsupported = true;
            return HLO_ERROR(
                l, "dimension %d is known only while running, expected one that the operand has",
                k);
        }
    return h_done(l, h_broadcast(l, h_in(l, 0), dims, l->i->shape->rank, at.v));
}

bool hlo_lower_reshape(struct hlo_lower *l)
{
    const struct hlo_shape *s = l->i->shape;
    int unknown = 0;
    for (int k = 0; k < s->rank; k++)
        unknown += s->dims[k] == HLO_UNBOUNDED;
    if (unknown && !l->vectors) { /* -1: what is left, which only one can be */
        if (unknown > 1)
            return HLO_ERROR(l, "%d dimensions of unknown size, expected at most one", unknown);
        return h_done(l,
                      b_op(l->b, OP_reshape,
                           (struct value *[]){h_in(l, 0), b_i64s(l->b, s->dims, s->rank)}, 2, NULL));
    }
    return h_done(l, l->vectors ? h_in(l, 0) : h_reshape(l, h_in(l, 0), s->dims, s->rank));
}

/* x, and a scalar for each dimension */
bool hlo_lower_dynamic_reshape(struct hlo_lower *l)
{
    struct value *sizes[HLO_MAX_RANK] = {NULL};
    struct attrs a = {0};
    int rank = l->i->operand_count - 1;
    for (int k = 0; k < rank && k < HLO_MAX_RANK; k++)
        sizes[k] = h_reshape(l, h_cast(l, h_in(l, k + 1), DT_I64), (int64_t[]){1}, 1);
    struct value *shape = rank ? h_concat(l, sizes, rank, 0) : b_i64s(l->b, NULL, 0);
    h_set_int(l, &a, "allowzero", 1);
    return h_done(l, b_op(l->b, OP_reshape, (struct value *[]){h_in(l, 0), shape}, 2, &a));
}

bool hlo_lower_transpose(struct hlo_lower *l)
{
    struct hlo_ints perm = hlo_attr_ints(l->i, HLO_ATTR_dimensions);
    return h_done(l, h_transpose(l, h_in(l, 0), perm.v, perm.count));
}

bool hlo_lower_reverse(struct hlo_lower *l)
{
    struct hlo_ints axes = hlo_attr_ints(l->i, HLO_ATTR_dimensions);
    return h_done(l, h_reverse(l, h_in(l, 0), axes.v, axes.count));
}

/* Dimension of each place in memory, slowest first. */
static void physical(const struct hlo_shape *s, int64_t *dim)
{
    for (int k = 0; k < s->rank; k++)
        dim[k] = s->layout ? s->layout->minor_to_major[s->rank - 1 - k] : k;
}

/* The bytes as they lie in memory, under another shape and layout. */
bool hlo_lower_bitcast(struct hlo_lower *l)
{
    if (l->vectors) /* of scalars, which have no layout */
        return hlo_lower_bitcast_convert(l);
    const struct hlo_shape *from = h_in_shape(l, 0), *to = l->i->shape;
    int64_t order[HLO_MAX_RANK], dims[HLO_MAX_RANK], back[HLO_MAX_RANK];
    struct value *x = h_in(l, 0);
    struct attrs a = {0};
    physical(from, order);
    x = h_transpose(l, x, order, from->rank);
    if (from->type != to->type) {
        h_set_int(l, &a, "to", hlo_type_dtype(to->type));
        x = b_op(l->b, OP_bitcast, &x, 1, &a);
    }
    physical(to, order);
    for (int k = 0; k < to->rank; k++) {
        dims[k] = to->dims[order[k]];
        back[order[k]] = k;
    }
    x = h_reshape(l, x, dims, to->rank);
    return h_done(l, h_transpose(l, x, back, to->rank));
}

bool hlo_lower_concatenate(struct hlo_lower *l)
{
    int n = l->i->operand_count;
    struct value **in = ARENA_ARRAY(&l->b->g->arena, struct value *, n);
    for (int k = 0; k < n; k++)
        in[k] = h_in(l, k);
    return h_done(l, h_concat(l, in, n, (int)hlo_attr_ints(l->i, HLO_ATTR_dimensions).v[0]));
}

bool hlo_lower_slice(struct hlo_lower *l)
{
    const struct hlo_slices *s = hlo_attr(l->i, HLO_ATTR_slice)->slices;
    int64_t start[HLO_MAX_RANK], limit[HLO_MAX_RANK], axes[HLO_MAX_RANK], step[HLO_MAX_RANK];
    struct value *x = h_in(l, 0);
    int n = 0;
    for (int k = 0; k < s->count; k++) {
        if (s->v[k].start == 0 && s->v[k].limit == x->type.dims[k] && s->v[k].stride == 1)
            continue;
        start[n] = s->v[k].start;
        limit[n] = s->v[k].limit;
        step[n] = s->v[k].stride;
        axes[n++] = k;
    }
    if (n == 0)
        return h_done(l, x);
    return h_done(l, b_op(l->b, OP_slice,
                          (struct value *[]){x, b_i64s(l->b, start, n), b_i64s(l->b, limit, n),
                                             b_i64s(l->b, axes, n), b_i64s(l->b, step, n)},
                          5, NULL));
}

/* Starts follow operand `first`: scalars one each, or in old modules one vector. */
static struct value *starts(struct hlo_lower *l, int first, int rank)
{
    struct value *v[MAX_RANK];
    int64_t one = 1;
    if (rank == 0)
        return b_i64s(l->b, NULL, 0);
    if (l->i->operand_count == first + 1 && h_rank(h_in(l, first)) == 1)
        return h_cast(l, h_in(l, first), DT_I64);
    for (int k = 0; k < rank; k++) {
        double known;
        struct value *at = h_in(l, first + k);
        int64_t place = h_known(at, &known) ? (int64_t)known : 0;
        v[k] = h_known(at, &known) ? b_i64s(l->b, &place, 1)
                                   : h_reshape(l, h_cast(l, at, DT_I64), &one, 1);
    }
    return h_concat(l, v, rank, 0);
}

bool hlo_lower_dynamic_slice(struct hlo_lower *l)
{
    struct attrs a = {0};
    struct value *x = h_in(l, 0);
    h_set_ints(l, &a, "sizes", hlo_attr_ints(l->i, HLO_ATTR_dynamic_slice_sizes));
    return h_done(l,
                  b_op(l->b, OP_dynamic_slice, (struct value *[]){x, starts(l, 1, h_rank(x))}, 2, &a));
}

bool hlo_lower_dynamic_update_slice(struct hlo_lower *l)
{
    struct value *x = h_in(l, 0);
    return h_done(l, b_op(l->b, OP_dynamic_update_slice,
                          (struct value *[]){x, h_in(l, 1), starts(l, 2, h_rank(x))}, 3, NULL));
}

bool hlo_lower_pad(struct hlo_lower *l)
{
    const struct hlo_paddings *p = hlo_attr(l->i, HLO_ATTR_padding)->paddings;
    int64_t pads[2 * HLO_MAX_RANK], interior[HLO_MAX_RANK];
    struct attrs a = {0};
    bool any = false;
    for (int k = 0; k < p->count; k++) {
        pads[k] = p->v[k].low;
        pads[p->count + k] = p->v[k].high;
        interior[k] = p->v[k].interior;
        any |= interior[k] != 0;
    }
    if (!any)
        return h_done(
            l, b_op(l->b, OP_pad,
                    (struct value *[]){h_in(l, 0), b_i64s(l->b, pads, 2 * p->count), h_in(l, 1)}, 3,
                    NULL));
    attr_set_ints(&l->b->g->arena, &a, "pads", pads, 2 * p->count);
    attr_set_ints(&l->b->g->arena, &a, "interior", interior, p->count);
    return h_done(l, b_op(l->b, OP_pad_interior, (struct value *[]){h_in(l, 0), h_in(l, 1)}, 2, &a));
}

bool hlo_lower_get_dimension_size(struct hlo_lower *l)
{
    int64_t d = hlo_attr_ints(l->i, HLO_ATTR_dimensions).v[0];
    struct value *x = h_in(l, 0);
    struct attrs a = {0};
    if (!x || dim_is_const(x->type.dims[d]))
        return h_done(l, b_scalar(l->b, DT_I32, x ? (double)x->type.dims[d] : 0));
    h_set_int(l, &a, "start", d);
    h_set_int(l, &a, "end", d + 1);
    return h_done(l, h_cast(l, h_reshape(l, b_op(l->b, OP_shape, &x, 1, &a), NULL, 0), DT_I32));
}

/* The first elements along a dimension. What is not known already cannot grow. */
bool hlo_lower_set_dimension_size(struct hlo_lower *l)
{
    int64_t d = hlo_attr_ints(l->i, HLO_ATTR_dimensions).v[0], zero = 0;
    struct value *x = h_in(l, 0), *size = h_in(l, 1);
    double n;
    bool known = h_known(size, &n), fixed = x && dim_is_const(x->type.dims[d]);
    if (known && fixed && n == (double)x->type.dims[d])
        return h_done(l, x);
    if (!fixed || (known && (n < 0 || n > (double)x->type.dims[d]))) {
        l->b->d->unsupported = true;
        return HLO_ERROR(l, "dimension %lld gets another size than its operand's, expected at most "
                            "one that is known", (long long)d);
    }
    size = h_reshape(l, h_cast(l, size, DT_I64), (int64_t[]){1}, 1);
    struct value *in[] = {x, b_i64s(l->b, &zero, 1), size, b_i64s(l->b, &d, 1)};
    return h_done(l, b_op(l->b, OP_slice, in, 4, NULL));
}
