/* Convolutions of any dim order: transposed to images first or channels last, which the core
 * operator takes. */
#include "frontend/hlo/lower/convolution.h"

#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"

#include <string.h>

static void order_of(const struct hlo_labels *s, int64_t *perm, bool last)
{
    int n = 0;
    perm[n++] = s->first;
    if (!last)
        perm[n++] = s->second;
    for (int k = 0; k < s->spatial_count; k++)
        perm[n++] = s->spatial[k];
    if (last)
        perm[n++] = s->second;
}

/* Batch groups become feature groups: (G*N, C) as (N, G*C). */
static struct value *merge_batch(struct hlo_lower *l, struct value *x, int64_t groups, bool last)
{
    struct dim_table *t = &l->b->g->dims;
    int64_t dims[MAX_RANK + 1], perm[MAX_RANK + 1];
    int rank = h_rank(x), channel = last ? rank - 1 : 1, n = 0;
    if (diag_failed(l->b->d) || groups == 1)
        return x;
    dim_t each = dim_floordiv(t, x->type.dims[0], groups);
    dims[0] = groups;
    dims[1] = each;
    for (int k = 1; k < rank; k++)
        dims[k + 1] = x->type.dims[k];
    for (int k = 1; k <= rank; k++) {
        if (k == channel + 1)
            perm[n++] = 0;
        perm[n++] = k;
    }
    struct value *y = h_transpose(l, h_reshape(l, x, dims, rank + 1), perm, rank + 1);
    for (int k = 0; k < rank; k++)
        dims[k] = k == 0 ? each : dim_mul(t, x->type.dims[k], k == channel ? groups : 1);
    return h_reshape(l, y, dims, rank);
}

/* Without spatial dims: (N,C) by (O,C/g), as matrices of each group. */
static struct value *without_window(struct hlo_lower *l, struct value *x, struct value *w,
                                    int64_t groups, int out)
{
    struct dim_table *t = &l->b->g->dims;
    dim_t n = x->type.dims[0], o = w->type.dims[0], c = dim_floordiv(t, x->type.dims[1], groups);
    struct attrs a = {0};
    h_set_int(l, &a, "dtype", out);
    x = h_transpose(l, h_reshape(l, x, (int64_t[]){n, groups, c}, 3), (int64_t[]){1, 0, 2}, 3);
    w = h_reshape(l, w, (int64_t[]){groups, dim_floordiv(t, o, groups), c}, 3);
    w = h_transpose(l, w, (int64_t[]){0, 2, 1}, 3);
    struct value *y = b_op(l->b, OP_dot, (struct value *[]){x, w}, 2, &a);
    return h_reshape(l, h_transpose(l, y, (int64_t[]){1, 0, 2}, 3), (int64_t[]){n, o}, 2);
}

/* One convolution in floating-point type `type`, operands in core order. */
static struct value *convolve_floats(struct hlo_lower *l, const struct hlo_convolution *c,
                                     struct value *x, struct value *w, int type)
{
    x = h_cast(l, x, type), w = h_cast(l, w, type);
    if (diag_failed(l->b->d))
        return NULL;
    return conv_has_phases(c, x) ? conv_by_phases(l, c, x, w) : conv_once(l, c, x, w);
}

/*
 * Integers: sums in double, which are exact below 2^53. Operands of more than 16 bits are taken
 * apart into limbs of 16: x = sum x[i] 2^(16 i), the last one signed. Products of limbs have 32
 * bits, so that 2^21 of them add up exactly; what lies beyond the result's bits is not computed.
 */
enum { LIMB_BITS = 16, MAX_LIMBS = 64 / LIMB_BITS };

/* A cast between integers that changes no value. */
static bool keeps_values(const struct value *from, const struct value *to)
{
    const struct dtype_info *f = dtype_info(from->type.dtype), *t = dtype_info(to->type.dtype);
    return dtype_is_int(from->type.dtype) && f->bits <= t->bits &&
           (f->cls == DTC_UINT || t->cls == DTC_SINT);
}

/* The number of bits that x's values need: those of what it was converted from, when narrower. */
static int bits_of(const struct value *x)
{
    for (const struct node *n; (n = x->def); x = n->in[0]) {
        bool moved = n->op == OP_transpose || n->op == OP_reverse || n->op == OP_reshape;
        if (!moved && !(n->op == OP_cast && keeps_values(n->in[0], x)))
            break;
    }
    return dtype_info(x->type.dtype)->bits;
}

static int limbs_of(struct hlo_lower *l, struct value *x, struct value **limb)
{
    int count = (bits_of(x) + LIMB_BITS - 1) / LIMB_BITS;
    if (count == 1) {
        limb[0] = x;
        return 1;
    }
    x = h_cast(l, x, DT_I64);
    for (int i = 0; i < count; i++) {
        limb[i] = i ? b_2(l->b, OP_shr, x, b_scalar(l->b, DT_I64, i * LIMB_BITS)) : x;
        if (i < count - 1)
            limb[i] = b_2(l->b, OP_and, limb[i], b_scalar(l->b, DT_I64, (1 << LIMB_BITS) - 1));
    }
    return count;
}

static struct value *convolve_integers(struct hlo_lower *l, const struct hlo_convolution *c,
                                       struct value *x, struct value *w, int out)
{
    struct value *limbs_x[MAX_LIMBS], *limbs_w[MAX_LIMBS], *sum = NULL;
    int nx = limbs_of(l, x, limbs_x), nw = limbs_of(l, w, limbs_w);
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < nw && (i + j) * LIMB_BITS < dtype_info(out)->bits; j++) {
            struct value *y = convolve_floats(l, c, limbs_x[i], limbs_w[j], DT_F64);
            y = h_cast(l, y, DT_I64); /* wraps, where a float would saturate */
            if (i + j)
                y = b_2(l->b, OP_shl, y, b_scalar(l->b, DT_I64, (i + j) * LIMB_BITS));
            sum = sum ? b_2(l->b, OP_add, sum, y) : y;
        }
    return h_cast(l, sum, out);
}

/* One convolution of real numbers, operands in core order. */
static struct value *convolve(struct hlo_lower *l, const struct hlo_convolution *c, struct value *x,
                              struct value *w, int out)
{
    if (diag_failed(l->b->d))
        return NULL;
    if (c->spatial == 0)
        return without_window(l, x, w, c->groups * c->batch_groups, out);
    if (dtype_is_int(out) && dtype_is_int(x->type.dtype) && dtype_is_int(w->type.dtype))
        return convolve_integers(l, c, x, w, out);
    int type = !dtype_is_float(out) ? DT_F64 : dtype_info(out)->bits < 16 ? DT_F32 : out;
    return h_cast(l, convolve_floats(l, c, x, w, type), out);
}

/* (a + bi)(c + di) by four real convolutions. */
static struct value *convolve_complex(struct hlo_lower *l, const struct hlo_convolution *c,
                                      struct value *x, struct value *w, int out)
{
    int part = out == DT_C128 ? DT_F64 : DT_F32;
    struct value *p[2] = {b_1(l->b, OP_complex_real, x), b_1(l->b, OP_complex_imag, x)};
    struct value *q[2] = {b_1(l->b, OP_complex_real, w), b_1(l->b, OP_complex_imag, w)};
    struct value *product[2][2];
    for (int i = 0; i < 4; i++)
        product[i / 2][i % 2] = convolve(l, c, p[i / 2], q[i % 2], part);
    struct value *real = b_2(l->b, OP_sub, product[0][0], product[1][1]);
    struct value *imag = b_2(l->b, OP_add, product[0][1], product[1][0]);
    return b_2(l->b, OP_complex_make, real, imag);
}

static struct value *reversed(struct hlo_lower *l, const struct hlo_convolution *c, struct value *w)
{
    int64_t axes[HLO_MAX_RANK];
    int n = 0;
    for (int k = 0; k < c->spatial; k++)
        if (c->window->dims[k].reversal)
            axes[n++] = 2 + k;
    return h_reverse(l, w, axes, n);
}

/* A window that is larger than the image gives no elements here; in a graph it is an error. */
static bool gives_nothing(const struct hlo_shape *y)
{
    int64_t n;
    return hlo_shape_count(y, &n) && n == 0;
}

bool hlo_lower_convolution(struct hlo_lower *l)
{
    const struct hlo_attr *window = hlo_attr(l->i, HLO_ATTR_window);
    struct hlo_convolution c = {.window = window ? window->window : NULL,
                            .labels = hlo_attr(l->i, HLO_ATTR_dim_labels)->dim_labels,
                            .groups = hlo_attr_int(l->i, HLO_ATTR_feature_group_count),
                            .batch_groups = hlo_attr_int(l->i, HLO_ATTR_batch_group_count)};
    int64_t perm[HLO_MAX_RANK], back[HLO_MAX_RANK];
    c.spatial = c.labels->input.spatial_count;
    if (c.spatial && (!c.window || c.window->rank != c.spatial))
        return HLO_ERROR(l, "a window of %d dimensions for %d spatial ones",
                         c.window ? c.window->rank : 0, c.spatial);
    const struct hlo_shape *result = l->i->shape;
    int rank = c.spatial + 2, out = hlo_type_dtype(result->type);
    if (gives_nothing(result))
        return h_done(l, h_fill(l, b_scalar(l->b, out, 0), result->dims, result->rank));
    c.channels_last = c.spatial && c.labels->input.second == rank - 1 && c.labels->input.first == 0;
    if (conv_is_sum_of_products(l, &c))
        return h_done(l, conv_by_products(l, &c));
    order_of(&c.labels->input, perm, c.channels_last);
    struct value *x = h_transpose(l, h_in(l, 0), perm, rank);
    /* the kernel's first label is the input feature, its second the output feature */
    struct hlo_labels k = c.labels->kernel;
    int swap = k.first;
    k.first = k.second;
    k.second = swap;
    order_of(&k, perm, false);
    struct value *w = reversed(l, &c, h_transpose(l, h_in(l, 1), perm, rank));
    x = merge_batch(l, x, c.batch_groups, c.channels_last);
    struct value *y =
        dtype_is_complex(out) ? convolve_complex(l, &c, x, w, out) : convolve(l, &c, x, w, out);
    order_of(&c.labels->output, perm, c.channels_last);
    for (int i = 0; i < rank; i++)
        back[perm[i]] = i;
    return h_done(l, h_transpose(l, y, back, rank));
}
