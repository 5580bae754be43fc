#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"

#include <math.h>
#include <string.h>

/* ---- matmul: numpy's, with transposed operands ---- */

struct matrices {
    dim_t m, n, k, k_of_b;
    struct type batch_a, batch_b; /* leading dims */
    bool vector_a, vector_b;
};

static bool split_dims(struct matrices *s, const struct type *a, const struct type *b,
                       const struct attrs *as, struct diag *d)
{
    if (a->rank < 1 || b->rank < 1)
        return fail(d, "matmul has a scalar operand, expected rank 1 or more");
    bool trans_a = attr_int(as, "trans_a", 0), trans_b = attr_int(as, "trans_b", 0);
    const dim_t *da = a->dims + a->rank - 2, *db = b->dims + b->rank - 2;
    s->vector_a = a->rank == 1;
    s->vector_b = b->rank == 1;
    s->m = s->vector_a ? 1 : da[trans_a ? 1 : 0];
    s->k = s->vector_a ? a->dims[0] : da[trans_a ? 0 : 1];
    s->n = s->vector_b ? 1 : db[trans_b ? 0 : 1];
    s->k_of_b = s->vector_b ? b->dims[0] : db[trans_b ? 1 : 0];
    s->batch_a = type_tensor(a->dtype, s->vector_a ? 0 : a->rank - 2, a->dims);
    s->batch_b = type_tensor(b->dtype, s->vector_b ? 0 : b->rank - 2, b->dims);
    return true;
}

static bool infer_product(struct infer *f, int dtype)
{
    int first = f->in[0].dtype, second = f->in[1].dtype;
    if (first != second && (dtype_is_complex(first) || dtype_is_complex(second)))
        return fail(f->d, "operand 1 is %s, expected %s as operand 0", dtype_name(second),
                    dtype_name(first));
    struct matrices s;
    struct type batch;
    if (!rank_known(f, 0) || !rank_known(f, 1))
        return infer_any(f, 0, dtype);
    if (!split_dims(&s, &f->in[0], &f->in[1], f->attrs, f->d))
        return false;
    if (!require_equal(f, s.k, s.k_of_b,
                       named("columns of the first operand and rows of the second", -1, -1)))
        return false;
    if (!infer_broadcast(f, (const struct type *[]){&s.batch_a, &s.batch_b}, 2, &batch))
        return false;
    int rank = batch.rank;
    if (rank + 2 > MAX_RANK)
        return fail(f->d, "matmul has rank %d, expected at most %d", rank + 2, MAX_RANK);
    if (!s.vector_a)
        batch.dims[rank++] = s.m;
    if (!s.vector_b)
        batch.dims[rank++] = s.n;
    return infer_out(f, 0, dtype, rank, batch.dims);
}

/* out_dtype: operands rounded to a smaller type, result not. */
bool infer_matmul(struct infer *f)
{
    return infer_product(f, (int)attr_int(f->attrs, "out_dtype", f->in[0].dtype));
}

bool infer_matmul_integer(struct infer *f)
{
    return infer_product(f, DT_I32);
}

static struct type shape_of(const struct tensor *t)
{
    return type_tensor(t->dtype, t->rank, t->dims);
}

/* (rows, cols) from (cols, rows). */
#define TRANSPOSED(name, T)                                                                        \
    static void name(const T *from, int64_t rows, int64_t cols, T *to)                             \
    {                                                                                              \
        for (int64_t j = 0; j < cols; j++)                                                         \
            for (int64_t i = 0; i < rows; i++)                                                     \
                to[i * cols + j] = from[j * rows + i];                                             \
    }
TRANSPOSED(transposed_f64, double)
TRANSPOSED(transposed_i64, int64_t)

/* Operands: their elements as 8-byte numbers, only read, matrices in row-major order whether
 * transposed or not. */
struct matmul_operand {
    void *v;
    int64_t *batch; /* for each batch of the result: which matrix */
    int64_t rows, cols;
    bool later; /* v is left out: loaded a few rows at a time */
};

static bool untranspose(struct work *w, struct matmul_operand *o, int64_t count, bool integer)
{
    int64_t size = o->rows * o->cols;
    int64_t *to = WORK(w, int64_t, count * size);
    if (!to)
        return false;
    for (int64_t i = 0; i < count; i++)
        if (integer)
            transposed_i64((int64_t *)o->v + i * size, o->rows, o->cols, to + i * size);
        else
            transposed_f64((double *)o->v + i * size, o->rows, o->cols, (double *)to + i * size);
    o->v = to;
    return true;
}

static bool load_operand(struct work *w, struct matmul_operand *o, const struct tensor *t, bool trans,
                         bool integer, const int64_t *batch, int nbatch)
{
    struct tensor lead = tensor_view(DT_U8, t->rank < 2 ? 0 : t->rank - 2, t->dims, NULL);
    if (!o->v && t->dtype == (integer ? DT_I64 : DT_F64))
        o->v = t->data;
    else if (!o->v && !o->later)
        o->v = integer ? (void *)work_ints(w, t) : (void *)work_doubles(w, t);
    o->batch = o->v || o->later ? broadcast_offsets(w, &lead, batch, nbatch) : NULL;
    if (!o->batch)
        return false;
    return !trans || t->rank < 2 || untranspose(w, o, tensor_count(&lead), integer);
}

/* y (m,n) = rows of t from element `at` on by b, some of them at a time. */
static bool multiply_rows(struct work *w, const struct tensor *t, int64_t at, int64_t m, int64_t n, int64_t k,
                          const double *b, double *y)
{
    enum { ROWS = 512 };
    double *rows = WORK(w, double, (m < ROWS ? m : ROWS) * k);
    for (int64_t i = 0; rows && i < m; i += ROWS) {
        int64_t some = m - i < ROWS ? m - i : ROWS;
        dtype_load_f64n(t->dtype, element(t, at + i * k), (size_t)(some * k), rows);
        multiply_f64(some, n, k, rows, b, y + i * n);
    }
    return rows != NULL;
}

/* y: all batches of the result, as double or int64. a and b may come with values already loaded. */
static bool multiply(struct op_call *c, struct work *w, struct matmul_operand a, struct matmul_operand b,
                     bool integer, void *y)
{
    const struct tensor *ta = c->in[0], *tb = c->in[1], *out = c->out[0];
    struct type type_a = shape_of(ta), type_b = shape_of(tb);
    struct matrices s;
    if (!split_dims(&s, &type_a, &type_b, c->attrs, w->d))
        return false;
    if (s.k != s.k_of_b)
        return fail(
            w->d, "matmul sums over %lld columns of the first operand but %lld rows of the second",
            (long long)s.k, (long long)s.k_of_b);
    int nbatch = out->rank - !s.vector_a - !s.vector_b;
    int64_t batches = dims_product(out->dims, 0, nbatch), m = s.m;
    bool whole = integer && f64_is_faster(s.m, s.n, s.k) && f64_is_exact(ta->dtype, tb->dtype, s.k);
    integer &= !whole;
    a.rows = s.m, a.cols = s.k, b.rows = s.k, b.cols = s.n;
    a.later = !integer && !a.v && ta->dtype != DT_F64 && s.batch_b.rank == 0 && !attr_int(c->attrs, "trans_a", 0);
    if (!load_operand(w, &a, ta, attr_int(c->attrs, "trans_a", 0), integer, out->dims, nbatch) ||
        !load_operand(w, &b, tb, attr_int(c->attrs, "trans_b", 0), integer, out->dims, nbatch))
        return false;
    if (s.batch_b.rank == 0 && batches > 0) { /* one matrix b: the batches of a are rows */
        m *= batches;
        batches = 1;
    }
    for (int64_t i = 0; i < batches; i++) {
        int64_t at_a = a.batch[i] * s.m * s.k, at_b = b.batch[i] * s.k * s.n, at = i * m * s.n;
        if (a.later) {
            if (!multiply_rows(w, ta, at_a, m, s.n, s.k, (double *)b.v + at_b, (double *)y + at))
                return false;
        } else if (integer)
            multiply_i64(m, s.n, s.k, (int64_t *)a.v + at_a, (int64_t *)b.v + at_b,
                         (int64_t *)y + at);
        else
            multiply_f64(m, s.n, s.k, (double *)a.v + at_a, (double *)b.v + at_b, (double *)y + at);
    }
    if (whole)
        f64_to_i64(y, tensor_count(out));
    return true;
}

/* (ar + i ai)(br + i bi) as four real products. */
static bool complex_matmul(struct op_call *c, struct work *w)
{
    struct tensor *out = c->out[0];
    int64_t n = tensor_count(out);
    int real = out->dtype == DT_C64 ? DT_F32 : DT_F64;
    double alpha = attr_float(c->attrs, "alpha", 1), *part[2][2], *y[2][2];
    for (int i = 0; i < 2; i++) {
        int64_t count = tensor_count(c->in[i]);
        part[i][0] = WORK(w, double, count);
        part[i][1] = WORK(w, double, count);
        if (!part[i][0] || !part[i][1])
            return false;
        for (int64_t j = 0; j < count; j++)
            for (int p = 0; p < 2; p++)
                part[i][p][j] = dtype_load_f64(real, c->in[i]->data, (size_t)(2 * j + p));
    }
    for (int p = 0; p < 4; p++) {
        double **to = &y[p / 2][p % 2];
        *to = WORK(w, double, n);
        if (!*to || !multiply(c, w, (struct matmul_operand){.v = part[0][p / 2]},
                              (struct matmul_operand){.v = part[1][p % 2]}, false, *to))
            return false;
    }
    for (int64_t i = 0; i < n; i++) {
        dtype_store_f64(real, out->data, (size_t)(2 * i), alpha * (y[0][0][i] - y[1][1][i]));
        dtype_store_f64(real, out->data, (size_t)(2 * i + 1), alpha * (y[0][1][i] + y[1][0][i]));
    }
    return true;
}

static bool matmul(struct op_call *c, struct work *w)
{
    struct tensor *out = c->out[0];
    int64_t n = tensor_count(out);
    double alpha = attr_float(c->attrs, "alpha", 1);
    bool integer = !dtype_is_float(out->dtype) && alpha == 1;
    if (dtype_is_complex(out->dtype))
        return complex_matmul(c, w);
    bool direct = out->dtype == (integer ? DT_I64 : DT_F64);
    double *y = direct ? out->data : WORK(w, double, n);
    if ((n && !y) || !multiply(c, w, (struct matmul_operand){0}, (struct matmul_operand){0}, integer, y))
        return false;
    for (int64_t i = 0; !integer && alpha != 1 && i < n; i++)
        y[i] *= alpha;
    if (integer && !direct)
        dtype_store_i64n(out->dtype, out->data, (size_t)n, (const int64_t *)y);
    else if (!direct)
        call_store(c, 0, y);
    return true;
}

EVAL_WITH_WORK(matmul)

/* ---- gemm ---- */

bool infer_gemm(struct infer *f)
{
    int dtype = f->in[0].dtype;
    if (!rank_known(f, 0) || !rank_known(f, 1))
        return infer_out(f, 0, dtype, RANK_UNKNOWN, NULL);
    if (f->in[0].rank != 2 || f->in[1].rank != 2)
        return fail(f->d, "gemm has operands of rank %d and %d, expected 2", f->in[0].rank,
                    f->in[1].rank);
    int ta = attr_int(f->attrs, "transA", 0) != 0, tb = attr_int(f->attrs, "transB", 0) != 0;
    dim_t ka = f->in[0].dims[!ta], kb = f->in[1].dims[tb];
    if (!require_equal(f, ka, kb, named("columns of A and rows of B", -1, -1)))
        return false;
    infer_out(f, 0, dtype, 2, (dim_t[]){f->in[0].dims[ta], f->in[1].dims[!tb]});
    return !has_input(f, 2) || require_expands_to(f, 2, &f->out[0]);
}

static bool gemm(struct op_call *c, struct work *w)
{
    const struct tensor *a = c->in[0], *b = c->in[1];
    struct tensor *out = c->out[0];
    int ta = attr_int(c->attrs, "transA", 0) != 0, tb = attr_int(c->attrs, "transB", 0) != 0;
    double alpha = attr_float(c->attrs, "alpha", 1), beta = attr_float(c->attrs, "beta", 1);
    struct matmul_operand oa = {.v = work_doubles(w, a), .rows = a->dims[ta], .cols = a->dims[!ta]};
    struct matmul_operand ob = {.v = work_doubles(w, b), .rows = b->dims[tb], .cols = b->dims[!tb]};
    double *y = WORK(w, double, tensor_count(out)), *bias;
    if (!oa.v || !ob.v || !y || !work_optional(c, w, 2, &bias) ||
        (ta && !untranspose(w, &oa, 1, false)) || (tb && !untranspose(w, &ob, 1, false)))
        return false;
    if (oa.cols != ob.rows)
        return fail(w->d, "gemm sums over %lld columns of A but %lld rows of B", (long long)oa.cols,
                    (long long)ob.rows);
    int64_t *at = bias ? broadcast_offsets(w, c->in[2], out->dims, 2) : NULL;
    if (bias && !at)
        return false;
    multiply_f64(oa.rows, ob.cols, oa.cols, oa.v, ob.v, y);
    for (int64_t i = 0; i < tensor_count(out); i++)
        y[i] = alpha * y[i] + (bias && beta != 0 ? beta * bias[at[i]] : 0);
    call_store(c, 0, y);
    return true;
}

EVAL_WITH_WORK(gemm)

/* ---- matmul_integer: (a - zero point of its row) (b - zero point of its column) ---- */

/* Subtracts a zero point for all, or one for each row (column) of each matrix. */
static bool subtract_zero_point(struct op_call *c, struct work *w, double *v,
                                const struct tensor *t, int zero_point, bool by_row)
{
    double *z;
    if (!work_optional(c, w, zero_point, &z))
        return false;
    if (!z)
        return true;
    int64_t count = tensor_count(t), nz = tensor_count(c->in[zero_point]);
    int64_t cols = t->rank ? t->dims[t->rank - 1] : 1,
            rows = t->rank > 1 ? t->dims[t->rank - 2] : 1;
    int64_t each = by_row ? rows : cols;
    if (nz != 1 && (nz == 0 || each == 0 || nz % each))
        return fail(w->d, "zero point has %lld elements, expected 1 or %lld", (long long)nz,
                    (long long)each);
    for (int64_t i = 0; i < count; i++) {
        int64_t matrix = i / (rows * cols), place = by_row ? i / cols % rows : i % cols;
        v[i] -= z[nz == 1 ? 0 : (matrix * each + place) % nz];
    }
    return true;
}

static bool matmul_integer(struct op_call *c, struct work *w)
{
    struct matmul_operand a = {.v = work_doubles(w, c->in[0])}, b = {.v = work_doubles(w, c->in[1])};
    struct tensor *out = c->out[0];
    double *y = WORK(w, double, tensor_count(out)), *bias; /* exact: 8-bit factors */
    if (!a.v || !b.v || !y || !subtract_zero_point(c, w, a.v, c->in[0], 2, true) ||
        !subtract_zero_point(c, w, b.v, c->in[1], 3, false) || !multiply(c, w, a, b, false, y) ||
        !work_optional(c, w, 4, &bias))
        return false;
    int64_t cols = out->rank && c->in[1]->rank > 1 ? out->dims[out->rank - 1] : 1;
    if (bias && tensor_count(c->in[4]) != cols)
        return fail(w->d, "bias has %lld elements, expected %lld",
                    (long long)tensor_count(c->in[4]), (long long)cols);
    for (int64_t i = 0; i < tensor_count(out); i++)
        dtype_store_i64(out->dtype, out->data, (size_t)i,
                        (int64_t)(y[i] + (bias ? bias[i % cols] : 0)));
    return true;
}

EVAL_WITH_WORK(matmul_integer)

/* ---- qlinear_matmul: a and b, each with scale and zero point, then those of y ---- */

bool infer_qlinear_matmul(struct infer *f)
{
    struct infer g = *f;
    struct type in[] = {f->in[0], f->in[3]};
    g.in = in;
    g.nin = 2;
    return infer_product(&g, f->in[7].dtype);
}

/* The scale of one row or column of one matrix of the result. */
static float scale_of(const struct tensor *t, int64_t matrix, int64_t each, int64_t place)
{
    int64_t n = tensor_count(t);
    return (float)tensor_f64(t, n == 1 ? 0 : (matrix * each + place) % n);
}

/* y = a b for one matrix b of integers, whose sums are exact in any order: some rows of b at a time. */
static bool multiply_parts(struct op_call *c, struct work *w, const double *a, double *y)
{
    enum { ROWS = 128 };
    const struct tensor *t = c->in[1];
    int64_t k = t->dims[0], n = t->dims[1], m = k ? tensor_count(c->in[0]) / k : 0;
    double *rows = WORK(w, double, ROWS * n), *cols = WORK(w, double, ROWS *m), *part = WORK(w, double, m *n);
    if (!rows || !cols || !part)
        return false;
    for (int64_t at = 0; at < k; at += ROWS) {
        int64_t some = k - at < ROWS ? k - at : ROWS;
        struct tensor block = tensor_view(t->dtype, 2, (int64_t[]){some, n}, NULL);
        dtype_load_f64n(t->dtype, element(t, at * n), (size_t)(some * n), rows);
        if (!subtract_zero_point(c, w, rows, &block, 3, false))
            return false;
        for (int64_t i = 0; i < m; i++)
            memcpy(cols + i * some, a + i * k + at, (size_t)some * sizeof *a);
        multiply_f64(m, n, some, cols, rows, part);
        for (int64_t i = 0; i < m * n; i++)
            y[i] += part[i];
    }
    return true;
}

static bool qlinear_matmul(struct op_call *c, struct work *w)
{
    struct tensor *in[] = {c->in[0], c->in[3], c->in[2], c->in[5]}, *out = c->out[0];
    struct op_call sub = *c;
    sub.in = in;
    sub.nin = 4;
    bool one = in[1]->rank == 2;
    struct matmul_operand a = {.v = work_doubles(w, in[0])}, b = {.v = one ? NULL : work_doubles(w, in[1])};
    int64_t count = tensor_count(out);
    double *y = WORK(w, double, count);
    if (!a.v || (!one && !b.v) || !y || !subtract_zero_point(&sub, w, a.v, in[0], 2, true) ||
        (one ? !multiply_parts(&sub, w, a.v, y)
             : !subtract_zero_point(&sub, w, b.v, in[1], 3, false) || !multiply(&sub, w, a, b, false, y)))
        return false;
    for (int i = 1; count > 0 && i < 8; i++) /* scales and zero points; a matrix may be empty */
        if (i != 3 && tensor_count(c->in[i]) == 0)
            return fail(w->d, "operand %d of qlinear_matmul is empty", i);
    int64_t rows = in[0]->rank > 1 ? in[0]->dims[in[0]->rank - 2] : 1;
    int64_t cols = in[1]->rank > 1 ? in[1]->dims[in[1]->rank - 1] : 1;
    float y_scale = (float)tensor_f64(c->in[6], 0);
    double zero = tensor_f64(c->in[7], 0);
    for (int64_t i = 0; i < count; i++) {
        int64_t matrix = i / (rows * cols);
        double v = requantized(y[i], scale_of(c->in[1], matrix, rows, i / cols % rows),
                               scale_of(c->in[4], matrix, cols, i % cols), y_scale);
        dtype_store_f64(out->dtype, out->data, (size_t)i, clamp_to_type(out->dtype, v + zero));
    }
    return true;
}

EVAL_WITH_WORK(qlinear_matmul)
