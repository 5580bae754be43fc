#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"

#include <math.h>
#include <string.h>

/* ---- attention: operands (B,heads,S,D), or (B,S,heads*D) and attributes for the heads ---- */

enum { Q, K, V, MASK, PAST_K, PAST_V, LENGTHS };

struct heads {
    dim_t batch, heads, length, size;
};

static bool read_heads(struct heads *h, struct dim_table *t, const struct type *x, int64_t heads,
                       struct diag *d)
{
    if (x->rank == 4) {
        *h = (struct heads){x->dims[0], x->dims[1], x->dims[2], x->dims[3]};
        return true;
    }
    if (x->rank != 3)
        return fail(d, "an operand of attention has rank %d, expected 3 or 4", x->rank);
    if (heads < 1)
        return fail(d, "attention on rank 3 needs q_num_heads and kv_num_heads");
    *h = (struct heads){x->dims[0], heads, x->dims[1], dim_floordiv(t, x->dims[2], heads)};
    return true;
}

/* Columns of operand i are those of whole heads. */
static bool are_whole_heads(struct infer *f, int i, int64_t heads, const char *what)
{
    return f->in[i].rank != 3 || require_multiple(f, f->in[i].dims[2], heads, named(what, i, 2));
}

bool infer_attention(struct infer *f)
{
    struct heads q, k, v;
    int dtype = f->in[Q].dtype;
    int64_t qh = attr_int(f->attrs, "q_num_heads", 0), kvh = attr_int(f->attrs, "kv_num_heads", 0);
    bool past = has_input(f, PAST_K) && has_input(f, PAST_V);
    if (!rank_known(f, Q) || !rank_known(f, K) || !rank_known(f, V) ||
        (past && (f->in[PAST_K].rank != 4 || f->in[PAST_V].rank != 4))) {
        for (int i = 0; i < f->nout; i++)
            infer_any(f, i, i == 2 ? f->in[V].dtype : dtype);
        return true;
    }
    if (!read_heads(&q, f->dims, &f->in[Q], qh, f->d) ||
        !read_heads(&k, f->dims, &f->in[K], kvh, f->d) ||
        !read_heads(&v, f->dims, &f->in[V], kvh, f->d) || !are_whole_heads(f, Q, qh, "columns and q_num_heads") ||
        !are_whole_heads(f, K, kvh, "columns and kv_num_heads") ||
        !are_whole_heads(f, V, kvh, "columns and kv_num_heads"))
        return false;
    dim_t total = past ? dim_add(f->dims, k.length, f->in[PAST_K].dims[2]) : k.length;
    if (f->in[Q].rank == 4)
        infer_out(f, 0, dtype, 4, (dim_t[]){q.batch, q.heads, q.length, v.size});
    else
        infer_out(f, 0, dtype, 3, (dim_t[]){q.batch, q.length, dim_mul(f->dims, q.heads, v.size)});
    infer_out(f, 1, dtype, 4, (dim_t[]){q.batch, k.heads, total, k.size});
    infer_out(f, 2, f->in[V].dtype, 4, (dim_t[]){q.batch, v.heads, total, v.size});
    return infer_out(f, 3, dtype, 4, (dim_t[]){q.batch, q.heads, q.length, total});
}

/* The operand as (B,heads,S,D), after the past when there is one. */
static double *load_heads(struct op_call *c, struct work *w, int i, const struct heads *h, int past,
                          int64_t *total)
{
    bool has_past = past >= 0 && has_operand(c, past);
    int64_t before = has_past ? c->in[past]->dims[2] : 0;
    double *x = work_doubles(w, c->in[i]), *old = has_past ? work_doubles(w, c->in[past]) : NULL;
    *total = before + h->length;
    double *y = WORK(w, double, h->batch * h->heads * *total * h->size);
    if (!x || !y || (has_past && !old))
        return NULL;
    if (has_past && tensor_count(c->in[past]) != h->batch * h->heads * before * h->size) {
        fail(w->d, "the past of attention does not have %lld batches of %lld heads of size %lld",
             (long long)h->batch, (long long)h->heads, (long long)h->size);
        return NULL;
    }
    bool packed = c->in[i]->rank == 3;
    size_t row = (size_t)h->size * sizeof *y;
    for (int64_t b = 0; b < h->batch; b++)
        for (int64_t head = 0; head < h->heads; head++) {
            int64_t at = b * h->heads + head;
            double *to = y + at * *total * h->size;
            if (has_past)
                memcpy(to, old + at * before * h->size, row * (size_t)before);
            for (int64_t s = 0; s < h->length; s++)
                memcpy(to + (before + s) * h->size,
                       x + (packed ? (b * h->length + s) * h->heads + head : at * h->length + s) *
                               h->size,
                       row);
        }
    return y;
}

struct cached_attention {
    struct heads q, k, v;
    int64_t total, before; /* keys in all, in the past */
    double *dq, *dk, *dv, scale, softcap;
    int64_t left, right;
    int mode;
    bool causal, lengths;
    double *mask;
    bool mask_is_bool;
    int64_t mask_length, *mask_at; /* (B,heads,S,mask_length) -> place in mask */
};

/* What is added to the score of query i and key j; minus infinity hides the key. */
static double bias_at(const struct op_call *c, const struct cached_attention *a, int64_t b, int64_t head,
                      int64_t i, int64_t j)
{
    int64_t length = a->lengths ? tensor_i64(c->in[LENGTHS], b) : a->total;
    int64_t valid = length < 0 ? 0 : length; /* whatever a file says, nothing below overflows */
    int64_t place = i + (a->lengths ? valid - a->q.length : a->before);
    double bias = 0;
    if (j >= valid || (a->causal && j > place) || (a->left >= 0 && place - j > a->left) ||
        (a->right >= 0 && j - place > a->right))
        return -INFINITY;
    if (a->mask) {
        if (j >= a->mask_length)
            return -INFINITY;
        bias =
            a->mask[a->mask_at[((b * a->q.heads + head) * a->q.length + i) * a->mask_length + j]];
        if (a->mask_is_bool)
            bias = bias != 0 ? 0 : -INFINITY;
    }
    return bias;
}

/* Softmax of scores + bias; zeros when every key is hidden. */
static void weigh(double *scores, const double *bias, int64_t n)
{
    double max = -INFINITY, sum = 0, widest = -INFINITY;
    for (int64_t j = 0; j < n; j++) {
        scores[j] += bias[j];
        max = scores[j] > max ? scores[j] : max;
        widest = bias[j] > widest ? bias[j] : widest;
    }
    if (widest == -INFINITY) {
        memset(scores, 0, (size_t)n * sizeof *scores);
        return;
    }
    for (int64_t j = 0; j < n; j++)
        sum += scores[j] = exp(scores[j] - max);
    for (int64_t j = 0; j < n; j++)
        scores[j] /= sum;
}

static void put_scores(struct op_call *c, int64_t first, int64_t n, const double *scores)
{
    if (wants_result(c, 3))
        dtype_store_f64n(c->out[3]->dtype, element(c->out[3], first), (size_t)n, scores);
}

static void attend_head(struct op_call *c, const struct cached_attention *a, int64_t b, int64_t head,
                        double *kt, double *scores, double *bias, double *y)
{
    int64_t kv = b * a->k.heads + head / (a->q.heads / a->k.heads), at = b * a->q.heads + head;
    int64_t n = a->total, d = a->q.size, rows = a->q.length;
    const double *k = a->dk + kv * n * d;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < d; i++)
            kt[i * n + j] = k[j * d + i];
    multiply_f64(rows, n, d, a->dq + at * rows * d, kt, scores);
    for (int64_t i = 0; i < rows; i++) {
        double *line = scores + i * n;
        int64_t first = (at * rows + i) * n;
        for (int64_t j = 0; j < n; j++)
            line[j] *= a->scale;
        if (a->mode == 0)
            put_scores(c, first, n, line);
        for (int64_t j = 0; j < n; j++) {
            if (a->softcap != 0)
                line[j] = a->softcap * tanh(line[j] / a->softcap);
            bias[j] = bias_at(c, a, b, head, i, j);
        }
        if (a->mode == 1)
            put_scores(c, first, n, line);
        if (a->mode == 2) {
            for (int64_t j = 0; j < n; j++)
                kt[j] = line[j] + bias[j];
            put_scores(c, first, n, kt);
        }
        weigh(line, bias, n);
        if (a->mode == 3)
            put_scores(c, first, n, line);
    }
    multiply_f64(rows, a->v.size, n, scores, a->dv + kv * n * a->v.size, y);
}

static bool load_attention(struct op_call *c, struct work *w, struct cached_attention *a)
{
    struct type type[3];
    int64_t total_v, qh = attr_int(c->attrs, "q_num_heads", 0),
                     kvh = attr_int(c->attrs, "kv_num_heads", 0);
    for (int i = 0; i < 3; i++)
        type[i] = type_tensor(c->in[i]->dtype, c->in[i]->rank, c->in[i]->dims);
    if (!read_heads(&a->q, NULL, &type[Q], qh, w->d) ||
        !read_heads(&a->k, NULL, &type[K], kvh, w->d) ||
        !read_heads(&a->v, NULL, &type[V], kvh, w->d))
        return false;
    if (has_operand(c, PAST_K) != has_operand(c, PAST_V))
        return fail(w->d, "attention has one of past key and past value, expected both or none");
    if (a->q.size != a->k.size || a->k.heads != a->v.heads || a->k.heads < 1 ||
        a->q.heads % a->k.heads || a->k.length != a->v.length || a->q.batch != a->k.batch ||
        a->q.batch != a->v.batch)
        return fail(w->d, "q, k and v of attention do not fit together");
    if (!(a->dq = load_heads(c, w, Q, &a->q, -1, &total_v)) ||
        !(a->dk = load_heads(c, w, K, &a->k, PAST_K, &a->total)) ||
        !(a->dv = load_heads(c, w, V, &a->v, PAST_V, &total_v)))
        return false;
    if (total_v != a->total)
        return fail(w->d, "attention has %lld keys and %lld values", (long long)a->total,
                    (long long)total_v);
    a->before = a->total - a->k.length;
    a->scale = attr_float(c->attrs, "scale", a->q.size ? 1 / sqrt((double)a->q.size) : 1);
    a->softcap = attr_float(c->attrs, "softcap", 0);
    a->left = attr_int(c->attrs, "left_window_size", -1);
    a->right = attr_int(c->attrs, "right_window_size", -1);
    a->mode = (int)attr_int(c->attrs, "qk_matmul_output_mode", 0);
    a->causal = attr_int(c->attrs, "is_causal", 0) != 0;
    a->lengths = has_operand(c, LENGTHS);
    if (a->lengths && tensor_count(c->in[LENGTHS]) != a->q.batch)
        return fail(w->d, "nonpad_kv_seqlen has %lld elements, expected %lld",
                    (long long)tensor_count(c->in[LENGTHS]), (long long)a->q.batch);
    if (has_operand(c, MASK) && c->in[MASK]->rank > 0) {
        const struct tensor *m = c->in[MASK];
        int64_t last = m->dims[m->rank - 1];
        a->mask_length = last;
        a->mask_is_bool = m->dtype == DT_BOOL;
        a->mask_at = broadcast_offsets(
            w, m, (int64_t[]){a->q.batch, a->q.heads, a->q.length, a->mask_length}, 4);
        a->mask = work_doubles(w, m);
        if (!a->mask || !a->mask_at)
            return false;
    }
    return true;
}

static bool attention(struct op_call *c, struct work *w)
{
    struct cached_attention a = {0};
    if (!load_attention(c, w, &a))
        return false;
    int64_t rows = a.q.length, larger = a.q.size > 0 ? a.q.size : 1;
    double *kt = WORK(w, double, a.total *larger), *scores = WORK(w, double, rows *a.total);
    double *bias = WORK(w, double, a.total), *y = WORK(w, double, tensor_count(c->out[0]));
    double *head_y = WORK(w, double, rows *a.v.size);
    bool packed = c->in[Q]->rank == 3;
    if (!kt || !scores || !bias || !y || !head_y)
        return false;
    for (int64_t b = 0; b < a.q.batch; b++)
        for (int64_t h = 0; h < a.q.heads; h++) {
            attend_head(c, &a, b, h, kt, scores, bias, head_y);
            for (int64_t i = 0; i < rows; i++)
                memcpy(
                    y + (packed ? (b * rows + i) * a.q.heads + h : (b * a.q.heads + h) * rows + i) *
                            a.v.size,
                    head_y + i * a.v.size, (size_t)a.v.size * sizeof *y);
        }
    call_store(c, 0, y);
    if (wants_result(c, 1))
        call_store(c, 1, a.dk);
    if (wants_result(c, 2))
        call_store(c, 2, a.dv);
    return true;
}

EVAL_WITH_WORK(attention)
