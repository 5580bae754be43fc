#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/syntax/check.h"
#include "passes/pass.h"

#include <math.h>
#include <string.h>

bool h_done(struct hlo_lower *l, struct value *result)
{
    return h_done_all(l, &result, 1);
}

bool h_done_all(struct hlo_lower *l, struct value *const *results, int n)
{
    if (diag_failed(l->b->d))
        return false;
    if (n != l->out.count)
        return HLO_ERROR(l, "%d arrays are computed, but its shape has %d", n, l->out.count);
    memcpy(l->out.v, results, sizeof *results * (size_t)n);
    return true;
}

bool h_lower_as(struct hlo_lower *l, enum hlo_opcode opcode, hlo_lower_fn lower, const struct hlo_attr *attrs,
                int nattrs, struct leaves *operands, int noperands)
{
    struct arena *a = &l->b->g->arena;
    struct hlo_instruction *i = arena_copy(a, l->i, sizeof *i);
    struct hlo_lower inner = *l;
    i->opcode = opcode;
    i->attrs = arena_copy(a, attrs, sizeof *attrs * (size_t)nattrs);
    i->attr_count = nattrs;
    i->operand_count = noperands;
    hlo_normalise(a, i);
    inner.i = i;
    inner.operands = operands;
    return !diag_failed(l->b->d) && lower(&inner);
}

/* ---- sizes ---- */

/* The dimension of v of that size, as a shape of one entry; NULL when it has none. */
static struct value *dim_of(struct hlo_lower *l, struct value *v, dim_t d)
{
    struct attrs a = {0};
    for (int k = 0; v && v->type.kind == VK_TENSOR && k < v->type.rank; k++)
        if (v->type.dims[k] == d) {
            h_set_int(l, &a, "start", k);
            h_set_int(l, &a, "end", k + 1);
            return b_op(l->b, OP_shape, &v, 1, &a);
        }
    return NULL;
}

static struct value *h_dim(struct hlo_lower *l, dim_t d, int depth);

static struct value *expression(struct hlo_lower *l, const struct dim_node *n, int depth)
{
    static const enum op ops[DIM_OPS] = {
        [DIM_ADD] = OP_add,          [DIM_MUL] = OP_mul,        [DIM_FLOORDIV] = OP_floordiv,
        [DIM_CEILDIV] = OP_floordiv, [DIM_MOD] = OP_mod,        [DIM_MIN] = OP_min,
        [DIM_MAX] = OP_max,          [DIM_BROADCAST] = OP_where};
    struct value *x = h_dim(l, n->a, depth + 1), *y = h_dim(l, n->b, depth + 1);
    if (!x || !y)
        return NULL;
    int64_t one = 1;
    if (n->op == DIM_BROADCAST)
        return b_select(l->b, b_2(l->b, OP_eq, x, b_i64s(l->b, &one, 1)), y, x);
    if (n->op == DIM_CEILDIV)
        x = b_2(l->b, OP_sub, b_2(l->b, OP_add, x, y), b_i64s(l->b, &one, 1));
    return b_2(l->b, ops[n->op], x, y);
}

static struct value *h_dim(struct hlo_lower *l, dim_t d, int depth)
{
    struct value *v = NULL;
    if (dim_is_const(d))
        return b_i64s(l->b, &d, 1);
    for (int k = 0; k < l->i->operand_count && !v; k++)
        for (int j = 0; j < l->operands[k].count && !v; j++)
            v = dim_of(l, l->operands[k].v[j], d);
    for (int k = 0; k < l->b->g->main->nparams && !v; k++)
        v = dim_of(l, l->b->g->main->params[k], d);
    struct dim_node n = l->b->g->dims.nodes[dim_index(d)];
    if (!v && n.op != DIM_SYM && depth < 32)
        v = expression(l, &n, depth);
    if (!v && !diag_failed(l->b->d)) {
        l->b->d->unsupported = true;
        HLO_ERROR(l, "a dimension of size %s, which none of its operands has",
                  dim_text(&l->b->g->dims, &l->b->g->arena, d));
    }
    return v;
}

struct value *h_dims(struct hlo_lower *l, const int64_t *dims, int rank)
{
    struct value *v[MAX_RANK];
    bool known = true;
    for (int k = 0; k < rank; k++)
        known &= dim_is_const(dims[k]);
    if (known || rank > MAX_RANK || diag_failed(l->b->d))
        return b_i64s(l->b, dims, rank);
    for (int k = 0; k < rank; k++)
        if (!(v[k] = h_dim(l, dims[k], 0)))
            return NULL;
    return h_concat(l, v, rank, 0);
}

static bool all_known(const int64_t *dims, int rank)
{
    for (int k = 0; k < rank; k++)
        if (!dim_is_const(dims[k]))
            return false;
    return true;
}

bool h_known(const struct value *v, double *x)
{
    if (!v || !v->constant || tensor_count(v->constant) != 1 ||
        dtype_is_complex(v->constant->dtype))
        return false;
    *x = tensor_f64(v->constant, 0);
    return true;
}

/* ---- movement ---- */

/* XLA's conversion to e8m0: what is not positive, or would round to a power that e8m0 has not, is NaN. Compared in a
 * type that has those numbers and NaN: short floats are wanting in one or the other. */
static struct value *into_scales(struct hlo_lower *l, struct value *x)
{
    if (b_dtype(x) != DT_F64)
        x = h_cast(l, x, DT_F32);
    struct value *positive = b_2(l->b, OP_gt, x, b_like(l->b, x, 0));
    struct value *rounds = b_2(l->b, OP_lt, x, b_like(l->b, x, ldexp(1.5, 127)));
    return b_select(l->b, b_2(l->b, OP_and, positive, rounds), x, b_like(l->b, x, NAN));
}

/* Floats that an integer of fewer than 8 bits cannot hold become its nearest. */
static struct value *into_range(struct hlo_lower *l, struct value *x, int dtype)
{
    bool narrow = dtype_is_int(dtype) && dtype_info(dtype)->bits < 8;
    bool is_float = dtype_is_float(b_dtype(x));
    if (dtype == DT_F8E8M0 && !dtype_is_complex(b_dtype(x)))
        return into_scales(l, x);
    if (!narrow || !is_float)
        return x;
    int bits = dtype_info(dtype)->bits;
    bool is_signed = dtype_class(dtype) == DTC_SINT;
    x = h_cast(l, x, is_signed ? DT_I8 : DT_U8);
    double top = (1 << (bits - is_signed)) - 1;
    x = b_2(l->b, OP_min, x, b_like(l->b, x, top));
    return is_signed ? b_2(l->b, OP_max, x, b_like(l->b, x, -top - 1)) : x;
}

struct value *h_cast(struct hlo_lower *l, struct value *x, int dtype)
{
    struct attrs a = {0};
    if (diag_failed(l->b->d) || b_dtype(x) == dtype)
        return x;
    x = into_range(l, x, dtype);
    h_set_int(l, &a, "to", dtype);
    h_set_int(l, &a, "saturate", dtype == DT_F8E8M0);
    if (dtype == DT_F8E8M0) /* XLA's rounding; ONNX rounds up unless told otherwise */
        attr_set_str(&l->b->g->arena, &a, "round_mode", "nearest");
    return h_elementwise(l, OP_cast, &x, 1, &a);
}

static bool has_dims(const struct value *x, const int64_t *dims, int rank)
{
    if (!x || x->type.rank != rank)
        return false;
    for (int k = 0; k < rank; k++)
        if (x->type.dims[k] != dims[k])
            return false;
    return true;
}

struct value *h_reshape(struct hlo_lower *l, struct value *x, const int64_t *dims, int rank)
{
    struct attrs a = {0};
    if (diag_failed(l->b->d) || has_dims(x, dims, rank))
        return x;
    h_set_int(l, &a, "allowzero", 1);
    return b_op(l->b, OP_reshape, (struct value *[]){x, h_dims(l, dims, rank)}, 2, &a);
}

struct value *h_transpose(struct hlo_lower *l, struct value *x, const int64_t *perm, int rank)
{
    bool moved = false;
    for (int k = 0; k < rank; k++)
        moved |= perm[k] != k;
    return moved ? b_transpose(l->b, x, perm, rank) : x;
}

struct value *h_reverse(struct hlo_lower *l, struct value *x, const int64_t *axes, int n)
{
    struct attrs a = {0};
    if (diag_failed(l->b->d) || n == 0)
        return x;
    attr_set_ints(&l->b->g->arena, &a, "axes", axes, n);
    return b_op(l->b, OP_reverse, &x, 1, &a);
}

struct value *h_broadcast(struct hlo_lower *l, struct value *x, const int64_t *dims, int rank,
                          const int64_t *at)
{
    struct attrs a = {0};
    if (diag_failed(l->b->d))
        return x;
    bool same = has_dims(x, dims, rank); /* then x has as many, and `at` */
    for (int k = 0; k < rank && same; k++)
        same = at[k] == k;
    if (same)
        return x;
    attr_set_ints(&l->b->g->arena, &a, "dims", at, h_rank(x));
    if (!all_known(dims, rank))
        return b_op(l->b, OP_broadcast_in_dim, (struct value *[]){x, h_dims(l, dims, rank)}, 2, &a);
    attr_set_ints(&l->b->g->arena, &a, "shape", dims, rank);
    return b_op(l->b, OP_broadcast_in_dim, &x, 1, &a);
}

struct value *h_fill(struct hlo_lower *l, struct value *scalar, const int64_t *dims, int rank)
{
    return h_broadcast(l, scalar, dims, rank, NULL);
}

struct value *h_slice(struct hlo_lower *l, struct value *x, int axis, int64_t from, int64_t to)
{
    return x && from == 0 && x->type.dims[axis] == to ? x : b_slice(l->b, x, from, to, axis);
}

struct value *h_concat(struct hlo_lower *l, struct value *const *v, int n, int axis)
{
    return n == 1 ? v[0] : b_concat(l->b, v, n, axis);
}

struct value *h_reduce(struct hlo_lower *l, enum op op, struct value *x, const int64_t *axes, int n,
                       bool keepdims)
{
    struct attrs a = {0};
    attr_set_ints(&l->b->g->arena, &a, "axes", axes, n);
    h_set_int(l, &a, "keepdims", keepdims);
    h_set_int(l, &a, "noop_with_empty_axes", 1);
    return b_op(l->b, op, &x, 1, &a);
}

struct value *h_iota(struct hlo_lower *l, int dtype, const int64_t *dims, int rank, int axis)
{
    struct attrs a = {0};
    h_set_int(l, &a, "axis", axis);
    h_set_int(l, &a, "dtype", dtype);
    if (!all_known(dims, rank)) {
        struct value *shape = h_dims(l, dims, rank);
        return b_op(l->b, OP_iota, &shape, 1, &a);
    }
    attr_set_ints(&l->b->g->arena, &a, "shape", dims, rank);
    return b_op(l->b, OP_iota, NULL, 0, &a);
}

/* ---- elementwise on what is repeated ---- */

/* The array that v repeats, with dims of size 1 where it is repeated; NULL when v is no such value.
 */
static struct value *repeated(struct hlo_lower *l, struct value *v)
{
    int64_t dims[MAX_RANK];
    int count;
    if (!v || !v->def || v->def->op != OP_broadcast_in_dim || v->def->nin != 1)
        return NULL;
    struct value *from = v->def->in[0];
    const int64_t *at = attr_ints(&v->def->attrs, "dims", &count);
    if (count == 0)
        return from;
    if (!dims_ascend(at, count))
        return NULL;
    for (int k = 0; k < h_rank(v); k++)
        dims[k] = 1;
    for (int k = 0; k < count; k++)
        dims[at[k]] = from->type.dims[k];
    return h_reshape(l, from, dims + at[0], h_rank(v) - (int)at[0]);
}

static bool is_scalar_repeated(const struct value *v)
{
    return v->def && v->def->op == OP_broadcast_in_dim && v->def->nin == 1 &&
           h_rank(v->def->in[0]) == 0;
}

/* An operand as long along an axis as another one. */
static struct value *as_long_as(struct hlo_lower *l, struct value *x, struct value *other, int axis)
{
    int64_t zero = 0, d = axis;
    struct value *in[] = {x, b_i64s(l->b, &zero, 1), b_dim(l->b, other, axis), b_i64s(l->b, &d, 1)};
    return b_op(l->b, OP_slice, in, 4, NULL);
}

/* Beside an operand of f32[<=8] that has 5 elements, one of f32[8] is its first 5, as results have the smaller size. */
static void cut_to_sizes(struct hlo_lower *l, struct value **in, int nin)
{
    const struct hlo_shape *s = l->i->shape;
    for (int d = 0; s->bounds && d < s->rank; d++) {
        struct value *open = NULL;
        for (int k = 0; k < nin && s->bounds[d] >= 0; k++)
            if (h_rank(in[k]) == s->rank && !dim_is_const(in[k]->type.dims[d]))
                open = in[k];
        for (int k = 0; open && k < nin; k++)
            if (h_rank(in[k]) == s->rank && in[k]->type.dims[d] == s->bounds[d] && !is_scalar_repeated(in[k]))
                in[k] = as_long_as(l, in[k], open, d);
    }
}

struct value *h_elementwise(struct hlo_lower *l, enum op op, struct value *const *operands, int nin,
                            const struct attrs *attrs)
{
    struct value *in[4], *thin[4];
    int whole = 0, scalars = 0, full = -1;
    if (diag_failed(l->b->d) || nin > 4)
        return diag_failed(l->b->d) ? NULL : b_op(l->b, op, operands, nin, attrs);
    for (int k = 0; k < nin; k++)
        in[k] = operands[k];
    cut_to_sizes(l, in, nin);
    for (int k = 0; k < nin; k++) {
        bool repeats = in[k]->def && in[k]->def->op == OP_broadcast_in_dim;
        scalars += is_scalar_repeated(in[k]) || h_rank(in[k]) == 0;
        whole += !repeats && h_rank(in[k]) > 0;
        if (is_scalar_repeated(in[k]))
            full = k;
    }
    if (scalars == nin && full >= 0) {
        for (int k = 0; k < nin; k++)
            thin[k] = h_rank(in[k]) ? in[k]->def->in[0] : in[k];
        struct value *y = b_op(l->b, op, thin, nin, attrs);
        return h_fill(l, y, in[full]->type.dims, h_rank(in[full]));
    }
    for (int k = 0; k < nin; k++) {
        struct value *r = whole || is_scalar_repeated(in[k]) ? repeated(l, in[k]) : NULL;
        thin[k] = r ? r : in[k];
    }
    return b_op(l->b, op, thin, nin, attrs);
}
