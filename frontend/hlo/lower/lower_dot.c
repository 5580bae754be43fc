/* Contractions: dims are brought into the order batch, free, summed and merged into matrices. */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"

#include <string.h>

/* One operand's dims, sorted by what they do. */
struct side {
    struct value *v;
    struct hlo_ints batch, contracting;
    int64_t free[HLO_MAX_RANK];
    int nfree;
    int64_t b, m, k; /* products */
};

static void sort_dims(struct hlo_lower *l, struct side *s, struct value *v, struct hlo_ints batch,
                      struct hlo_ints contracting)
{
    *s = (struct side){.v = v, .batch = batch, .contracting = contracting, .b = 1, .m = 1, .k = 1};
    for (int d = 0; v && d < v->type.rank; d++) {
        int64_t n = v->type.dims[d];
        if (h_has(batch, d))
            s->b = dim_mul(&l->b->g->dims, s->b, n);
        else if (h_has(contracting, d))
            s->k = dim_mul(&l->b->g->dims, s->k, n);
        else
            s->free[s->nfree++] = d, s->m = dim_mul(&l->b->g->dims, s->m, n);
    }
}

/* The operand as (B,M,K), or with k_first (B,K,M). */
static struct value *matrices(struct hlo_lower *l, const struct side *s, bool k_first)
{
    int64_t perm[HLO_MAX_RANK], dims[3] = {s->b, k_first ? s->k : s->m, k_first ? s->m : s->k};
    int n = 0;
    for (int i = 0; i < s->batch.count; i++)
        perm[n++] = s->batch.v[i];
    for (int i = 0; i < s->contracting.count && k_first; i++)
        perm[n++] = s->contracting.v[i];
    for (int i = 0; i < s->nfree; i++)
        perm[n++] = s->free[i];
    for (int i = 0; i < s->contracting.count && !k_first; i++)
        perm[n++] = s->contracting.v[i];
    return h_reshape(l, h_transpose(l, s->v, perm, n), dims, 3);
}

/* Dims already lie as K then M: no transpose is needed to read them so. */
static bool lies_k_first(const struct side *s)
{
    int at = s->batch.count;
    for (int i = 0; i < s->contracting.count; i++)
        if (s->contracting.v[i] != at++)
            return false;
    return true;
}

static bool fits_matmul(int x, int y, int out)
{
    bool type = out == DT_F64 || dtype_is_engine_float(out);
    return type && x == y && x == out;
}

/* Exact in the result's type: the operands may as well be widened first. */
static bool widens(int from, int to)
{
    return (to == DT_F32 && dtype_is_short_float(from)) || (to == DT_F64 && dtype_is_engine_float(from));
}

static struct value *multiply(struct hlo_lower *l, struct side *x, struct side *y, int out)
{
    struct attrs a = {0};
    if (b_dtype(x->v) != out && widens(b_dtype(x->v), out))
        x->v = h_cast(l, x->v, out);
    if (b_dtype(y->v) != out && widens(b_dtype(y->v), out))
        y->v = h_cast(l, y->v, out);
    if (diag_failed(l->b->d))
        return NULL;
    if (!fits_matmul(b_dtype(x->v), b_dtype(y->v), out)) {
        h_set_int(l, &a, "dtype", out);
        return b_op(l->b, OP_dot, (struct value *[]){matrices(l, x, false), matrices(l, y, true)}, 2,
                    &a);
    }
    bool k_first = lies_k_first(y);
    struct value *p = matrices(l, x, false), *q = matrices(l, y, k_first);
    if (!k_first)
        h_set_int(l, &a, "trans_b", 1);
    if (x->b == 1) {
        p = h_reshape(l, p, (int64_t[]){x->m, x->k}, 2);
        q = h_reshape(l, q, (int64_t[]){k_first ? y->k : y->m, k_first ? y->m : y->k}, 2);
    }
    return b_op(l->b, OP_matmul, (struct value *[]){p, q}, 2, &a);
}

/* x . y with the instruction's dimension lists; the result's dims are batch, x's free ones, y's
 * free ones. */
static struct value *contract(struct hlo_lower *l, struct value *vx, struct value *vy, int out)
{
    struct side x, y;
    int64_t dims[2 * HLO_MAX_RANK], n = 0;
    sort_dims(l, &x, vx, hlo_attr_ints(l->i, HLO_ATTR_lhs_batch_dims),
              hlo_attr_ints(l->i, HLO_ATTR_lhs_contracting_dims));
    sort_dims(l, &y, vy, hlo_attr_ints(l->i, HLO_ATTR_rhs_batch_dims),
              hlo_attr_ints(l->i, HLO_ATTR_rhs_contracting_dims));
    if (diag_failed(l->b->d))
        return NULL;
    for (int i = 0; i < x.batch.count; i++)
        dims[n++] = vx->type.dims[x.batch.v[i]];
    for (int i = 0; i < x.nfree; i++)
        dims[n++] = vx->type.dims[x.free[i]];
    for (int i = 0; i < y.nfree; i++)
        dims[n++] = vy->type.dims[y.free[i]];
    if (n > MAX_RANK) { /* deep.c has made it flat */
        dims[0] = l->i->shape->dims[0];
        n = 1;
    }
    if (x.k == 0) /* sums of nothing */
        return h_fill(l, b_scalar(l->b, out, 0), dims, (int)n);
    return h_reshape(l, multiply(l, &x, &y, out), dims, (int)n);
}

bool hlo_lower_dot(struct hlo_lower *l)
{
    return h_done(l, contract(l, h_in(l, 0), h_in(l, 1), hlo_type_dtype(l->i->shape->type)));
}

/* ---- scaled-dot: each operand times the scale of its block, in f32 ---- */

/* Every scale repeated over its block. */
static struct value *spread(struct hlo_lower *l, struct value *scale, const struct value *x)
{
    int rank = h_rank(scale);
    int64_t dims[2 * HLO_MAX_RANK], at[HLO_MAX_RANK], whole[HLO_MAX_RANK], n = 0;
    bool any = false;
    if (diag_failed(l->b->d))
        return NULL;
    if (rank != h_rank(x) || 2 * rank > MAX_RANK) {
        HLO_ERROR(l, "a scale of rank %d for an operand of rank %d", rank, h_rank(x));
        return NULL;
    }
    for (int k = 0; k < rank; k++) {
        int64_t have = scale->type.dims[k];
        whole[k] = x->type.dims[k];
        if (have == 0 || whole[k] % have) {
            HLO_ERROR(l, "%lld scales for %lld elements, expected blocks of equal size",
                      (long long)have, (long long)whole[k]);
            return NULL;
        }
        at[k] = n;
        dims[n++] = have;
        if (whole[k] != have) {
            dims[n++] = whole[k] / have;
            any = true;
        }
    }
    return any ? h_reshape(l, h_broadcast(l, scale, dims, (int)n, at), whole, rank) : scale;
}

bool hlo_lower_scaled_dot(struct hlo_lower *l)
{
    struct value *v[2];
    int out = hlo_type_dtype(l->i->shape->type), type = out == DT_F64 ? DT_F64 : DT_F32;
    for (int k = 0; k < 2; k++) {
        struct value *x = h_cast(l, h_in(l, k), type), *scale = h_cast(l, h_in(l, 2 + k), type);
        v[k] =
            h_rank(scale) == 0 ? b_2(l->b, OP_mul, x, scale) : b_2(l->b, OP_mul, x, spread(l, scale, x));
    }
    return h_done(l, h_cast(l, contract(l, v[0], v[1], type), out));
}

/* ---- ragged-dot: rows of the ragged dimension belong to groups of given sizes ---- */

/* x where the ragged dim's place lies in group g, zero elsewhere. `ends`: (G+1) running sums of
 * sizes, from 0. */
static struct value *of_group(struct hlo_lower *l, struct value *x, int ragged, struct value *ends,
                              int g)
{
    int64_t none[1] = {0}, at = ragged;
    struct value *low = h_reshape(l, h_slice(l, ends, 0, g, g + 1), none, 0);
    struct value *high = h_reshape(l, h_slice(l, ends, 0, g + 1, g + 2), none, 0);
    struct value *place = h_iota(l, DT_I64, &x->type.dims[ragged], 1, 0);
    struct value *in = b_2(l->b, OP_lt, place, high);
    in = b_2(l->b, OP_and, b_2(l->b, OP_ge, place, low), in);
    in = h_broadcast(l, in, x->type.dims, h_rank(x), &at);
    return b_select(l->b, in, x, b_like(l->b, x, 0));
}

static struct value *group_ends(struct hlo_lower *l, struct value *sizes)
{
    int64_t one = 1;
    struct attrs a = {0};
    struct value *zero = h_fill(l, b_scalar(l->b, DT_I64, 0), &one, 1);
    struct value *sums = b_op(
        l->b, OP_cumsum, (struct value *[]){h_cast(l, sizes, DT_I64), b_scalar(l->b, DT_I64, 0)}, 2, &a);
    return h_concat(l, (struct value *[]){zero, sums}, 2, 0);
}

/* Where dim `group` of y, one that is not summed, lies in the contraction of x and y. */
static int dropped_dim(struct hlo_lower *l, const struct value *x, int group)
{
    struct hlo_ints batch = hlo_attr_ints(l->i, HLO_ATTR_rhs_batch_dims);
    struct hlo_ints summed = hlo_attr_ints(l->i, HLO_ATTR_rhs_contracting_dims);
    int at = h_rank(x) - summed.count;
    for (int k = 0; k < group; k++)
        at += !h_has(batch, k) && !h_has(summed, k);
    return at;
}

bool hlo_lower_ragged_dot(struct hlo_lower *l)
{
    struct value *x = h_in(l, 0), *y = h_in(l, 1), *sizes = h_in(l, 2), *sum = NULL;
    struct hlo_ints ragged = hlo_attr_ints(l->i, HLO_ATTR_lhs_ragged_dims);
    struct hlo_ints group = hlo_attr_ints(l->i, HLO_ATTR_rhs_group_dims);
    int out = hlo_type_dtype(l->i->shape->type);
    if (ragged.count != 1)
        return HLO_ERROR(l, "%d ragged dimensions, expected one", ragged.count);
    if (h_has(hlo_attr_ints(l->i, HLO_ATTR_lhs_batch_dims), ragged.v[0]))
        return h_done(l, contract(l, x, y, out));
    if (h_rank(sizes) != 1)
        return HLO_ERROR(l, "group sizes of rank %d, expected 1", h_rank(sizes));
    bool summed = h_has(hlo_attr_ints(l->i, HLO_ATTR_lhs_contracting_dims), ragged.v[0]);
    int64_t groups = sizes->type.dims[0];
    if (groups > 4096 || groups < 1 || (!summed && group.count != 1))
        return HLO_ERROR(
            l, "%lld groups and %d group dimensions, expected 1 to 4096 groups and one dimension",
            (long long)groups, group.count);
    struct value *ends = group_ends(l, sizes);
    struct value **parts = ARENA_ARRAY(&l->b->g->arena, struct value *, groups);
    for (int g = 0; g < groups && !diag_failed(l->b->d); g++) {
        struct value *xg = of_group(l, x, (int)ragged.v[0], ends, g), *yg = y;
        if (!summed)
            yg = h_slice(l, y, (int)group.v[0], g, g + 1);
        parts[g] = contract(l, xg, yg, out);
        sum = sum ? b_2(l->b, OP_add, sum, parts[g]) : parts[g];
    }
    if (!summed) { /* the group dim of size 1 is a free dim of y: drop it */
        dim_t dims[HLO_MAX_RANK];
        int rank = 0, at = dropped_dim(l, x, (int)group.v[0]);
        for (int k = 0; sum && k < h_rank(sum); k++)
            if (k != at)
                dims[rank++] = sum->type.dims[k];
        return sum && h_done(l, h_reshape(l, sum, dims, rank));
    }
    for (int g = 0; g < groups; g++) {
        int64_t dims[HLO_MAX_RANK];
        memcpy(dims, l->i->shape->dims, sizeof *dims * (size_t)l->i->shape->rank);
        dims[0] = 1;
        parts[g] = h_reshape(l, parts[g], dims, l->i->shape->rank);
    }
    return h_done(l, h_concat(l, parts, (int)groups, 0));
}
