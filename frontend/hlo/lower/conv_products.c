/* Gradients of filters: few results, each of a sum over all places of all images. */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/convolution.h"

enum { MAX_PLACES = 64, MIN_TAPS = 16, FEW = 16 };

static int64_t spatial(const struct value *v, const struct hlo_labels *s, int k)
{
    return v->type.dims[s->spatial[k]];
}

bool conv_is_sum_of_products(const struct hlo_lower *l, const struct hlo_convolution *c)
{
    const struct hlo_shape *y = l->i->shape;
    const struct value *x = h_in(l, 0), *w = h_in(l, 1);
    int dtype = hlo_type_dtype(y->type);
    int64_t places = 1, taps = 1;
    if (c->spatial < 1 || c->spatial > 2 || c->groups != 1 || c->batch_groups != 1 ||
        !dtype_is_engine_float(dtype) || b_dtype(x) != dtype ||
        b_dtype(w) != dtype)
        return false;
    for (int i = 0; i < h_rank(x); i++)
        if (!dim_is_const(x->type.dims[i]) || !dim_is_const(w->type.dims[i]) ||
            x->type.dims[i] == 0 || w->type.dims[i] == 0)
            return false;
    for (int k = 0; k < c->spatial; k++) {
        const struct hlo_window_dim *d = &c->window->dims[k];
        if (d->stride != 1 || d->lhs_dilate != 1 || d->reversal)
            return false;
        places *= y->dims[c->labels->output.spatial[k]];
        taps *= d->size;
    }
    return places > 0 && places <= MAX_PLACES && taps >= MIN_TAPS && taps > 2 * places;
}

/* Contracted dim first, then the spatial ones, then the one that is kept. */
static struct value *contracted_first(struct hlo_lower *l, struct value *v,
                                      const struct hlo_labels *s, int contracted, int kept)
{
    int64_t perm[HLO_MAX_RANK];
    int n = 0;
    perm[n++] = contracted;
    for (int k = 0; k < s->spatial_count; k++)
        perm[n++] = s->spatial[k];
    perm[n++] = kept;
    return h_transpose(l, v, perm, n);
}

/* With the zeros around it that any place of the result sees; `start`: where the first one's window
 * begins then. */
static struct value *padded(struct hlo_lower *l, const struct hlo_convolution *c, struct value *x,
                            int64_t *start)
{
    int64_t pads[2 * HLO_MAX_RANK] = {0};
    int rank = c->spatial + 2;
    bool any = false;
    for (int k = 0; k < c->spatial; k++) {
        const struct hlo_window_dim *d = &c->window->dims[k];
        int64_t places = l->i->shape->dims[c->labels->output.spatial[k]],
                low = d->pad_low > 0 ? d->pad_low : 0,
                high = places - 1 + (d->size - 1) * d->rhs_dilate - d->pad_low -
                       (spatial(h_in(l, 0), &c->labels->input, k) - 1);
        pads[1 + k] = low;
        pads[rank + 1 + k] = high > 0 ? high : 0;
        start[k] = low - d->pad_low;
        any |= low > 0 || high > 0;
    }
    return any ? b_op(l->b, OP_pad,
                      (struct value *[]){x, b_i64s(l->b, pads, 2 * rank), b_scalar(l->b, b_dtype(x), 0)},
                      3, NULL)
               : x;
}

/* What place `at` of the result sees of x, as a matrix: (everything else, kept). */
static struct value *seen_from(struct hlo_lower *l, const struct hlo_convolution *c, struct value *x,
                               const int64_t *start, const int64_t *at)
{
    int64_t from[2], to[2], axis[2], step[2], rows = x->type.dims[0];
    for (int k = 0; k < c->spatial; k++) {
        const struct hlo_window_dim *d = &c->window->dims[k];
        from[k] = start[k] + at[k];
        to[k] = from[k] + (d->size - 1) * d->rhs_dilate + 1;
        axis[k] = 1 + k;
        step[k] = d->rhs_dilate;
        rows *= d->size;
    }
    int n = c->spatial;
    int64_t kept = x->type.dims[n + 1];
    x = b_op(l->b, OP_slice,
             (struct value *[]){x, b_i64s(l->b, from, n), b_i64s(l->b, to, n), b_i64s(l->b, axis, n),
                                b_i64s(l->b, step, n)},
             5, NULL);
    return h_reshape(l, x, (int64_t[]){rows, kept}, 2);
}

/* (columns of seen, out_channels) */
static struct value *product(struct hlo_lower *l, struct value *seen, struct value *w)
{
    return b_2(l->b, OP_matmul, h_transpose(l, seen, (int64_t[]){1, 0}, 2), w);
}

struct value *conv_by_products(struct hlo_lower *l, const struct hlo_convolution *c)
{
    const struct hlo_dim_labels *s = c->labels;
    int64_t start[2], at[2] = {0}, dims[HLO_MAX_RANK], perm[HLO_MAX_RANK], places[2] = {1, 1};
    struct value *part[MAX_PLACES];
    struct value *x = contracted_first(l, h_in(l, 0), &s->input, s->input.second, s->input.first),
                 *w = contracted_first(l, h_in(l, 1), &s->kernel, s->kernel.first,
                                       s->kernel.second);
    int n = 0, rank = c->spatial + 2;
    if (diag_failed(l->b->d))
        return NULL;
    int64_t batch = x->type.dims[rank - 1], out_channels = w->type.dims[rank - 1], k = 1;
    for (int i = 0; i < rank - 1; i++)
        k *= w->type.dims[i];
    bool few = batch < FEW; /* one product of all places, side by side */
    x = padded(l, c, x, start);
    w = h_reshape(l, w, (int64_t[]){k, out_channels}, 2);
    for (int i = 0; i < c->spatial; i++)
        places[i] = l->i->shape->dims[s->output.spatial[i]];
    for (at[0] = 0; at[0] < places[0]; at[0]++)
        for (at[1] = 0; at[1] < places[1]; at[1]++) {
            struct value *y = diag_failed(l->b->d) ? NULL : seen_from(l, c, x, start, at);
            part[n++] = few ? y : product(l, y, w);
        }
    if (diag_failed(l->b->d))
        return NULL;
    struct value *y =
        few ? product(l, h_concat(l, part, n, 1), w) : h_concat(l, part, n, 0);
    for (int i = 0; i < c->spatial; i++) { /* (places..., batch, out_channels) in the result's order */
        dims[i] = places[i];
        perm[s->output.spatial[i]] = i;
    }
    dims[rank - 2] = batch, perm[s->output.first] = rank - 2;
    dims[rank - 1] = out_channels, perm[s->output.second] = rank - 1;
    return h_transpose(l, h_reshape(l, y, dims, rank), perm, rank);
}
