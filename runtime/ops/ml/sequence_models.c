#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"

#include <math.h>
#include <string.h>

/* ---- rotary_embedding ---- */

bool infer_rotary_embedding(struct infer *f)
{
    return infer_same(f, 0, 0);
}

static bool rotary_embedding(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0], *table = c->in[1];
    bool packed = x->rank == 3, interleaved = attr_int(c->attrs, "interleaved", 0) != 0;
    if (x->rank != 3 && x->rank != 4)
        return fail(w->d, "x of rotary_embedding has rank %d, expected 3 or 4", x->rank);
    int64_t heads = packed ? attr_int(c->attrs, "num_heads", 0) : x->dims[1];
    int64_t steps = x->dims[packed ? 1 : 2], total = tensor_count(x);
    if (heads < 1 || x->dims[x->rank - 1] % (packed ? heads : 1))
        return fail(w->d, "num_heads is %lld, which does not divide %lld", (long long)heads,
                    (long long)x->dims[x->rank - 1]);
    int64_t size = packed ? x->dims[2] / heads : x->dims[3];
    int64_t rotated = attr_int(c->attrs, "rotary_embedding_dim", 0), half;
    if (rotated == -1) /* as much as the table says */
        rotated = table->rank ? 2 * table->dims[table->rank - 1] : 0;
    rotated = rotated ? rotated : size;
    half = rotated / 2;
    int64_t rows = table->rank && half ? tensor_count(table) / half : 0;
    double *v = work_doubles(w, x), *cosines = work_doubles(w, table),
           *sines = work_doubles(w, c->in[2]);
    if (!v || !cosines || !sines)
        return false;
    if (rotated < 0 || rotated > size || rotated % 2 ||
        tensor_count(table) != tensor_count(c->in[2]) || rows * half != tensor_count(table) ||
        (has_operand(c, 3) ? tensor_count(c->in[3]) : rows) != x->dims[0] * steps)
        return fail(w->d, "cos, sin and positions of rotary_embedding do not fit x");
    for (int64_t at = 0, line = 0; size > 0 && at < total; at += size, line++) {
        int64_t step = packed ? line / heads % steps : line % steps;
        int64_t batch = line / (heads * steps), row = batch * steps + step;
        if (has_operand(c, 3))
            row = tensor_i64(c->in[3], row);
        if (row < 0 || row >= rows)
            return fail(w->d, "position %lld is outside the table of %lld", (long long)row,
                        (long long)rows);
        for (int64_t i = 0; i < half; i++) {
            double *a = v + at + (interleaved ? 2 * i : i), *b = a + (interleaved ? 1 : half);
            double p = *a, q = *b, cosine = cosines[row * half + i], sine = sines[row * half + i];
            *a = cosine * p - sine * q;
            *b = sine * p + cosine * q;
        }
    }
    call_store(c, 0, v);
    return true;
}

EVAL_WITH_WORK(rotary_embedding)

/* ---- linear_attention: a state (keys, values) for each head, updated step by step ---- */

static const struct rule {
    const char *name;
    bool gated, delta;
} rules[] = {{"linear", false, false}, {"gated", true, false}, {"delta", false, true}, {"gated_delta", true, true}};

static const struct rule *rule_of(const struct attrs *attrs)
{
    struct str name = attr_str(attrs, "update_rule", "gated_delta");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strlen(rules[i].name) == name.n && !memcmp(rules[i].name, name.p, name.n))
            return &rules[i];
    return NULL;
}

/* The operands that the rule needs are there. */
static bool rule_is_served(struct infer *f)
{
    struct str name = attr_str(f->attrs, "update_rule", "gated_delta");
    const struct rule *rule = rule_of(f->attrs);
    if (!rule)
        return fail(f->d, "attribute 'update_rule' is '%.*s', expected linear, gated, delta or gated_delta",
                    (int)name.n, name.p);
    if (rule->gated && !has_input(f, 4))
        return fail(f->d, "decay (operand 4) is left out, update_rule '%s' needs it", rule->name);
    return !rule->delta || has_input(f, 5) ||
           fail(f->d, "beta (operand 5) is left out, update_rule '%s' needs it", rule->name);
}

/* decay or beta (B,T,n): n is one of two widths. One that is known while running only is judged then. */
static bool has_width(struct infer *f, int i, const char *what, dim_t narrow, dim_t wide)
{
    if (!has_input(f, i) || f->in[i].rank < 0)
        return true;
    dim_t width = f->in[i].rank == 3 ? f->in[i].dims[2] : narrow;
    if (!require_shape(f, i, what, 3, (dim_t[]){f->in[0].dims[0], f->in[0].dims[1], width}))
        return false;
    if (width == narrow || width == wide || !dim_is_const(width) || !dim_is_const(narrow) || !dim_is_const(wide))
        return true;
    return fail(f->d, "%s has %lld columns, expected %lld or %lld", what, (long long)width, (long long)narrow,
                (long long)wide);
}

bool infer_linear_attention(struct infer *f)
{
    const struct type *q = &f->in[0], *k = &f->in[1], *v = &f->in[2];
    int64_t qh = attr_int(f->attrs, "q_num_heads", 0), kvh = attr_int(f->attrs, "kv_num_heads", 0);
    int state = has_input(f, 3) ? f->in[3].dtype : q->dtype;
    if (kvh < 1 || qh < 1 || qh > INT32_MAX || kvh > INT32_MAX || qh % kvh)
        return fail(f->d, "q_num_heads is %lld, expected a multiple of kv_num_heads, which is %lld",
                    (long long)qh, (long long)kvh);
    if (!rule_is_served(f))
        return false;
    if (q->rank == RANK_UNKNOWN || k->rank == RANK_UNKNOWN || v->rank == RANK_UNKNOWN)
        return infer_any(f, 1, state) && infer_any(f, 0, q->dtype);
    if (q->rank != 3 || k->rank != 3 || v->rank != 3)
        return fail(f->d, "query, key and value have ranks %d, %d and %d, expected 3", q->rank, k->rank, v->rank);
    if (!require_multiple(f, k->dims[2], kvh, named("columns and kv_num_heads", 1, 2)) ||
        !require_multiple(f, v->dims[2], kvh, named("columns and kv_num_heads", 2, 2)))
        return false;
    dim_t dk = dim_floordiv(f->dims, k->dims[2], kvh), dv = dim_floordiv(f->dims, v->dims[2], kvh);
    dim_t past[] = {q->dims[0], kvh, dk, dv}, rows[] = {q->dims[0], q->dims[1], 0};
    dim_t columns[] = {dim_mul(f->dims, dk, qh), k->dims[2], v->dims[2]};
    static const char *const names[] = {"query", "key", "value"};
    for (int i = 0; i < 3; i++) {
        rows[2] = columns[i];
        if (!require_shape(f, i, names[i], 3, rows))
            return false;
    }
    if (!require_shape(f, 3, "past_state", 4, past) ||
        !has_width(f, 4, "decay", kvh, dim_mul(f->dims, dk, kvh)) || !has_width(f, 5, "beta", 1, kvh))
        return false;
    infer_out(f, 1, state, 4, past);
    return infer_out(f, 0, q->dtype, 3, (dim_t[]){q->dims[0], q->dims[1], dim_mul(f->dims, dv, qh)});
}

struct linear {
    int64_t batch, steps, qh, kvh, dk, dv, ndecay,
        nbeta; /* ndecay: for a head, nbeta: for a step */
    double *q, *k, *v, *state, *decay, *beta, scale;
};

/* S = exp(g) S + b k (v - delta * S^T k); one head, one step. */
static void update(const struct linear *l, int64_t row, int64_t head, double *s, bool gated,
                   bool delta)
{
    const double *k = l->k + (row * l->kvh + head) * l->dk,
                 *v = l->v + (row * l->kvh + head) * l->dv;
    double beta = delta ? l->beta[row * l->nbeta + (l->nbeta == 1 ? 0 : head)] : 1;
    for (int64_t i = 0; gated && i < l->dk; i++) {
        double decay = exp(l->decay[(row * l->kvh + head) * l->ndecay + (l->ndecay == 1 ? 0 : i)]);
        for (int64_t j = 0; j < l->dv; j++)
            s[i * l->dv + j] *= decay;
    }
    for (int64_t j = 0; j < l->dv; j++) {
        double recalled = 0;
        for (int64_t i = 0; delta && i < l->dk; i++)
            recalled += s[i * l->dv + j] * k[i];
        for (int64_t i = 0; i < l->dk; i++)
            s[i * l->dv + j] += beta * k[i] * (v[j] - recalled);
    }
}

static bool load_linear(struct op_call *c, struct work *w, struct linear *l, bool gated, bool delta)
{
    const struct tensor *q = c->in[0], *k = c->in[1], *v = c->in[2];
    l->batch = q->dims[0];
    l->steps = q->dims[1];
    l->qh = attr_int(c->attrs, "q_num_heads", 0);
    l->kvh = attr_int(c->attrs, "kv_num_heads", 0);
    l->dk = k->dims[2] / l->kvh;
    l->dv = v->dims[2] / l->kvh;
    int64_t states = l->batch * l->kvh * l->dk * l->dv;
    l->ndecay = gated ? c->in[4]->dims[2] / l->kvh : 1;
    l->nbeta = delta ? c->in[5]->dims[2] : 1;
    if (gated && c->in[4]->dims[2] != l->kvh && c->in[4]->dims[2] != l->kvh * l->dk)
        return fail(w->d, "decay has %lld columns, expected %lld or %lld", (long long)c->in[4]->dims[2],
                    (long long)l->kvh, (long long)(l->kvh * l->dk));
    if (l->nbeta != 1 && l->nbeta != l->kvh)
        return fail(w->d, "beta has %lld columns, expected 1 or %lld", (long long)l->nbeta, (long long)l->kvh);
    l->q = work_doubles(w, q);
    l->k = work_doubles(w, k);
    l->v = work_doubles(w, v);
    l->scale = attr_float(c->attrs, "scale", 0);
    if (l->scale == 0)
        l->scale = l->dk ? 1 / sqrt((double)l->dk) : 1;
    return l->q && l->k && l->v && work_optional(c, w, 3, &l->state) &&
           (l->state || (l->state = WORK(w, double, states))) &&
           (!gated || work_optional(c, w, 4, &l->decay)) &&
           (!delta || work_optional(c, w, 5, &l->beta));
}

static bool linear_attention(struct op_call *c, struct work *w)
{
    const struct rule *rule = rule_of(c->attrs);
    struct linear l = {0};
    if (!load_linear(c, w, &l, rule->gated, rule->delta))
        return false;
    double *y = WORK(w, double, l.batch *l.steps *l.qh *l.dv);
    if (!y)
        return false;
    int64_t shared = l.qh / l.kvh;
    for (int64_t row = 0; row < l.batch * l.steps; row++)
        for (int64_t head = 0; head < l.kvh; head++) {
            double *s = l.state + (row / l.steps * l.kvh + head) * l.dk * l.dv;
            update(&l, row, head, s, rule->gated, rule->delta);
            for (int64_t h = head * shared; h < (head + 1) * shared; h++) {
                const double *q = l.q + (row * l.qh + h) * l.dk;
                double *to = y + (row * l.qh + h) * l.dv;
                for (int64_t i = 0; i < l.dk; i++)
                    for (int64_t j = 0; j < l.dv; j++)
                        to[j] += l.scale * q[i] * s[i * l.dv + j];
            }
        }
    call_store(c, 0, y);
    if (wants_result(c, 1))
        call_store(c, 1, l.state);
    return true;
}

EVAL_WITH_WORK(linear_attention)

/* ---- causal_conv: depthwise over the past and x ---- */

bool infer_causal_conv(struct infer *f)
{
    const struct type *x = &f->in[0], *w = &f->in[1];
    struct str activation = attr_str(f->attrs, "activation", "none");
    if (attr_find(f->attrs, "activation") && !attr_is(f->attrs, "activation", "none") &&
        !attr_is(f->attrs, "activation", "silu") && !attr_is(f->attrs, "activation", "swish"))
        return fail(f->d, "attribute 'activation' is '%.*s', expected none, silu or swish", (int)activation.n,
                    activation.p);
    if (x->rank == RANK_UNKNOWN || w->rank == RANK_UNKNOWN)
        return infer_any(f, 1, x->dtype) && infer_same(f, 0, 0);
    if (x->rank != 3 || w->rank != 3)
        return fail(f->d, "input has rank %d and weight rank %d, expected 3 and 3", x->rank, w->rank);
    dim_t taps = w->dims[2], past[] = {x->dims[0], x->dims[1], dim_sub(f->dims, taps, 1)};
    if (taps == 0)
        return fail(f->d, "weight has 0 taps, expected 1 or more");
    if (!require_at_most(f, 1, taps, named("taps", 1, 2)) ||
        !require_shape(f, 1, "weight", 3, (dim_t[]){x->dims[1], 1, taps}) ||
        !require_shape(f, 2, "bias", 1, &x->dims[1]) || !require_shape(f, 3, "past_state", 3, past))
        return false;
    infer_out(f, 1, x->dtype, 3, past);
    return infer_same(f, 0, 0);
}

static bool causal_conv(struct op_call *c, struct work *w)
{
    const struct tensor *x = c->in[0], *weight = c->in[1];
    int64_t k = weight->dims[2], channels = x->dims[1], length = x->dims[2], past = k - 1;
    int64_t planes = x->dims[0] * channels, row = past + length;
    bool silu = attr_is(c->attrs, "activation", "silu") || attr_is(c->attrs, "activation", "swish");
    double *v = work_doubles(w, x), *kernel = work_doubles(w, weight), *bias, *before;
    if (!v || !kernel || !work_optional(c, w, 2, &bias) || !work_optional(c, w, 3, &before))
        return false;
    double *all = WORK(w, double, row);
    double *y = WORK(w, double, planes *length), *present = WORK(w, double, planes *past);
    if (!all || !y || !present)
        return false;
    for (int64_t p = 0; p < planes; p++) {
        int64_t ch = p % channels;
        for (int64_t i = 0; i < past; i++)
            all[i] = before ? before[p * past + i] : 0;
        memcpy(all + past, v + p * length, (size_t)length * sizeof *all);
        for (int64_t i = 0; i < length; i++) {
            double sum = bias ? bias[ch] : 0;
            for (int64_t t = 0; t < k; t++)
                sum += all[i + t] * kernel[ch * k + t];
            y[p * length + i] = silu ? sum / (1 + exp(-sum)) : sum;
        }
        memcpy(present + p * past, all + length, (size_t)past * sizeof *all);
    }
    call_store(c, 0, y);
    if (wants_result(c, 1))
        call_store(c, 1, present);
    return true;
}

EVAL_WITH_WORK(causal_conv)

/* ---- tensor_scatter ---- */

bool infer_tensor_scatter(struct infer *f)
{
    return infer_same(f, 0, 0);
}

bool eval_tensor_scatter(struct op_call *c)
{
    const struct tensor *cache = c->in[0], *u = c->in[1];
    struct tensor *y = c->out[0];
    int64_t axis = attr_int(c->attrs, "axis", -2);
    bool circular = attr_is(c->attrs, "mode", "circular");
    axis += axis < 0 ? cache->rank : 0;
    if (axis < 1 || axis >= cache->rank || u->rank != cache->rank)
        return fail(c->env->d, "axis of tensor_scatter is %lld, expected 1 to %d", (long long)axis,
                    cache->rank - 1);
    for (int i = 0; i < cache->rank; i++)
        if (i != axis ? u->dims[i] != cache->dims[i] : u->dims[i] > cache->dims[i])
            return fail(c->env->d, "the update of tensor_scatter does not fit dim %d of the cache",
                        i);
    if (has_operand(c, 2) && tensor_count(c->in[2]) != cache->dims[0])
        return fail(c->env->d, "write_indices has %lld elements, expected %lld",
                    (long long)tensor_count(c->in[2]), (long long)cache->dims[0]);
    int64_t length = cache->dims[axis], n = u->dims[axis],
            inner = dims_product(cache->dims, 1, (int)axis);
    int64_t width = dims_product(cache->dims, (int)axis + 1, cache->rank);
    size_t bytes = (size_t)width * dtype_bytes(y->dtype);
    if (y->data != cache->data && tensor_bytes(cache))
        memcpy(y->data, cache->data, tensor_bytes(cache));
    for (int64_t row = 0; row < cache->dims[0] * inner; row++) {
        int64_t first = has_operand(c, 2) ? tensor_i64(c->in[2], row / inner) : 0;
        if (length == 0 || (!circular && (first < -length || first > length)))
            return n == 0 || fail(c->env->d, "place %lld is outside a cache of %lld",
                                  (long long)first, (long long)length);
        for (int64_t i = 0; i < n; i++) {
            int64_t at = circular ? ((first % length + i) % length + length) % length : first + i;
            if (at < 0 || at >= length)
                return fail(c->env->d, "place %lld is outside a cache of %lld", (long long)at,
                            (long long)length);
            memcpy(element(y, (row * length + at) * width), element(u, (row * n + i) * width),
                   bytes);
        }
    }
    return own_strings(c, 0);
}
