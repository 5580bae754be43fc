#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"

#include <math.h>

/* ---- sdpa: softmax(scale * q k^T + mask) v ---- */

static struct type leading(const struct type *t)
{
    return type_tensor(t->dtype, t->rank < 2 ? 0 : t->rank - 2, t->dims);
}

/* The mask stretches to the scores; it never stretches them. */
static bool mask_fits(struct infer *f, const struct type *scores)
{
    const struct type *mask = &f->in[3];
    for (int i = 1; i <= mask->rank; i++) {
        dim_t dim = mask->dims[mask->rank - i];
        dim_t to = i <= scores->rank ? scores->dims[scores->rank - i] : 1;
        if (!require_expand(f, dim, to, named("the mask", 3, mask->rank - i)))
            return false;
    }
    return true;
}

bool infer_sdpa(struct infer *f)
{
    struct type batch, parts[3];
    for (int i = 0; i < 3; i++) {
        if (!rank_known(f, i))
            return infer_any(f, 0, (int)attr_int(f->attrs, "out_dtype", f->in[0].dtype));
        if (f->in[i].rank < 2)
            return fail(f->d, "operand %d of sdpa has rank %d, expected 2 or more", i,
                        f->in[i].rank);
        parts[i] = leading(&f->in[i]);
    }
    const struct type *q = &f->in[0], *k = &f->in[1], *v = &f->in[2];
    if (!infer_broadcast(f, (const struct type *[]){&parts[0], &parts[1], &parts[2]}, 3, &batch))
        return false;
    if (!require_equal(f, q->dims[q->rank - 1], k->dims[k->rank - 1],
                       named("width of q and k", -1, -1)) ||
        !require_equal(f, k->dims[k->rank - 2], v->dims[v->rank - 2],
                       named("number of keys and values", -1, -1)))
        return false;
    struct type scores = batch;
    scores.dims[scores.rank++] = q->dims[q->rank - 2];
    scores.dims[scores.rank++] = k->dims[k->rank - 2];
    if (has_input(f, 3) && rank_known(f, 3) && !mask_fits(f, &scores))
        return false;
    batch.dims[batch.rank] = q->dims[q->rank - 2];
    batch.dims[batch.rank + 1] = v->dims[v->rank - 1];
    return infer_out(f, 0, (int)attr_int(f->attrs, "out_dtype", q->dtype), batch.rank + 2,
                     batch.dims);
}

/* In place: exp(v - the largest); their sum. A line that is wholly minus infinity gives NaN, as the
 * formula says, or (hidden_are_zero) weights of 0. Of no keys the sum of weighted values is 0. */
static double weigh_line(double *v, int64_t n, bool hidden_are_zero)
{
    double max = -INFINITY, sum = n ? 0 : 1;
    for (int64_t i = 0; i < n; i++)
        max = v[i] > max ? v[i] : max;
    if (hidden_are_zero && max == -INFINITY) {
        for (int64_t i = 0; i < n; i++)
            v[i] = isnan(v[i]) ? v[i] : 0;
        return 1;
    }
    for (int64_t i = 0; i < n; i++)
        sum += v[i] = exp(v[i] - max);
    return sum;
}

/* Weights as the product with v reads them: numbers of v's type when that is bf16. */
static void round_weights(double *v, int64_t n, int dtype)
{
    for (int64_t i = 0; dtype == DT_BF16 && i < n; i++)
        v[i] = bf16_to_f32(f32_to_bf16((float)v[i]));
}

static int64_t *matrix_of(struct work *w, const struct tensor *t, const int64_t *batch, int nbatch)
{
    struct tensor lead = tensor_view(DT_U8, t->rank - 2, t->dims, NULL);
    return broadcast_offsets(w, &lead, batch, nbatch);
}

static bool sdpa(struct op_call *c, struct work *w)
{
    const struct tensor *q = c->in[0], *k = c->in[1], *v = c->in[2], *out = c->out[0];
    int nbatch = out->rank - 2;
    int64_t sq = q->dims[q->rank - 2], d = q->dims[q->rank - 1], skv = k->dims[k->rank - 2];
    int64_t dv = v->dims[v->rank - 1], batches = dims_product(out->dims, 0, nbatch), full[MAX_RANK];
    if (k->dims[k->rank - 1] != d || v->dims[v->rank - 2] != skv)
        return fail(
            w->d,
            "q, k and v of sdpa do not fit: q has %lld features, k %lld; k has %lld rows, v %lld",
            (long long)d, (long long)k->dims[k->rank - 1], (long long)skv,
            (long long)v->dims[v->rank - 2]);
    double scale = attr_float(c->attrs, "scale", d ? 1 / sqrt((double)d) : 1), *mask;
    bool causal = attr_int(c->attrs, "causal", 0) != 0;
    bool hidden_are_zero = attr_int(c->attrs, "hidden_rows_zero", 0) != 0;
    int64_t offset = attr_int(c->attrs, "causal_offset", 0);
    int64_t *at_q = matrix_of(w, q, out->dims, nbatch), *at_k = matrix_of(w, k, out->dims, nbatch);
    int64_t *at_v = matrix_of(w, v, out->dims, nbatch), *at_mask = NULL;
    double *dq = work_doubles(w, q), *dk = work_doubles(w, k), *dv_ = work_doubles(w, v);
    double *kt = WORK(w, double, d *skv), *scores = WORK(w, double, sq *skv);
    double *y = WORK(w, double, tensor_count(out)), *sums = WORK(w, double, sq);
    for (int i = 0; i < nbatch; i++)
        full[i] = out->dims[i];
    full[nbatch] = sq;
    full[nbatch + 1] = skv;
    if (!at_q || !at_k || !at_v || !dq || !dk || !dv_ || !kt || !scores || !y || !sums ||
        !work_optional(c, w, 3, &mask) ||
        (mask && !(at_mask = broadcast_offsets(w, c->in[3], full, nbatch + 2))))
        return false;
    for (int64_t b = 0; b < batches; b++) {
        for (int64_t j = 0; j < skv; j++)
            for (int64_t i = 0; i < d; i++)
                kt[i * skv + j] = dk[at_k[b] * skv * d + j * d + i];
        multiply_f64(sq, skv, d, dq + at_q[b] * sq * d, kt, scores);
        for (int64_t i = 0; i < sq; i++) {
            for (int64_t j = 0; j < skv; j++) {
                double *s = &scores[i * skv + j];
                *s = causal && j > i + offset ? -INFINITY : *s * scale;
                if (mask)
                    *s += mask[at_mask[(b * sq + i) * skv + j]];
            }
            sums[i] = weigh_line(scores + i * skv, skv, hidden_are_zero);
            round_weights(scores + i * skv, skv, v->dtype);
        }
        multiply_f64(sq, dv, skv, scores, dv_ + at_v[b] * skv * dv, y + b * sq * dv);
        for (int64_t i = 0; i < sq * dv; i++)
            y[b * sq * dv + i] /= sums[i / dv];
    }
    call_store(c, 0, y);
    return true;
}

EVAL_WITH_WORK(sdpa)
