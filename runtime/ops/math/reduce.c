/*
 * Reductions over axes. One accumulator per result element; the operand is read once in order.
 */
#include "runtime/ops/common/axes.h"
#include "runtime/ops/common/complex_number.h"
#include "runtime/ops/common/content.h"
#include "runtime/ops/math/reduce_integers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes ---- */

/* Which axes are reduced; false when only running tells. */
static bool reduced_axes(int count, const int *axes, const struct attrs *attrs, int rank,
                         bool *mask)
{
    memset(mask, 0, MAX_RANK);
    if (count == AXES_UNKNOWN)
        return false;
    if (count <= 0 && !attr_int(attrs, "noop_with_empty_axes", 0))
        memset(mask, 1, (size_t)rank);
    for (int i = 0; i < count; i++)
        mask[axes[i]] = true;
    return true;
}

/* A vector reduced to one element. */
static void reduce_content(struct infer *f)
{
    struct content x;
    if (!f->result || f->in[0].rank != 1 || content_size(&f->out[0]) != 1)
        return;
    if ((x = infer_content(f, 0)).n < 0)
        return;
    if (x.n == 0 && f->op != OP_reduce_prod && f->op != OP_reduce_sum)
        return;
    dim_t z = f->op == OP_reduce_prod ? 1 : f->op == OP_reduce_sum ? 0 : x.v[0];
    for (int64_t i = 0; i < x.n; i++)
        if (!content_moderate(x.v[i]))
            return;
    for (int64_t i = 0; i < x.n; i++)
        switch (f->op) {
        case OP_reduce_prod:
            z = dim_mul(f->dims, z, x.v[i]);
            break;
        case OP_reduce_sum:
            z = dim_add(f->dims, z, x.v[i]);
            break;
        case OP_reduce_max:
            z = dim_max(f->dims, z, x.v[i]);
            break;
        case OP_reduce_min:
            z = dim_min(f->dims, z, x.v[i]);
            break;
        default:
            return;
        }
    if (content_moderate(z) && content_fits(f->out[0].dtype, z))
        infer_set_content(f, 0, &z, 1);
}

static bool infer_reduction(struct infer *f)
{
    const struct type *x = &f->in[0];
    bool keep = attr_int(f->attrs, "keepdims", 1), mask[MAX_RANK];
    int axes[MAX_RANK];
    dim_t dims[MAX_RANK];
    bool extreme = f->op == OP_reduce_max || f->op == OP_reduce_min;
    if (x->dtype == DT_STR || (x->dtype == DT_BOOL && !extreme) ||
        (dtype_is_complex(x->dtype) && f->op != OP_reduce_sum && f->op != OP_reduce_prod &&
         f->op != OP_reduce_mean))
        return fail(f->d, "element type %s is not admitted", dtype_name(x->dtype));
    if (x->rank < 0)
        return infer_out(f, 0, x->dtype, RANK_UNKNOWN, NULL);
    int count = infer_axes(f, 1, x->rank, axes);
    if (count == AXES_BAD)
        return false;
    if (!reduced_axes(count, axes, f->attrs, x->rank, mask)) {
        for (int i = 0; keep && i < x->rank; i++)
            dims[i] = x->dims[i] == 1 ? 1 : infer_unknown(f, "reduced");
        return infer_out(f, 0, x->dtype, keep ? x->rank : RANK_UNKNOWN, dims);
    }
    int rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (!mask[i] || keep)
            dims[rank++] = mask[i] ? 1 : x->dims[i];
    infer_out(f, 0, x->dtype, rank, dims);
    reduce_content(f);
    return true;
}

/* ---- accumulating ---- */

/* n elements into accumulators a[0], a[step], ...; aux: the greatest element, for log_sum_exp. */
static void accumulate_float(enum op op, const double *x, int64_t n, double *a, const double *aux,
                             int64_t step)
{
    switch (op) {
    case OP_reduce_prod:
        for (int64_t i = 0; i < n; i++)
            a[i * step] *= x[i];
        break;
    case OP_reduce_max:
        for (int64_t i = 0; i < n; i++)
            if (x[i] > a[i * step] || x[i] != x[i])
                a[i * step] = x[i];
        break;
    case OP_reduce_min:
        for (int64_t i = 0; i < n; i++)
            if (x[i] < a[i * step] || x[i] != x[i])
                a[i * step] = x[i];
        break;
    case OP_reduce_l1:
        for (int64_t i = 0; i < n; i++)
            a[i * step] += fabs(x[i]);
        break;
    case OP_reduce_l2:
    case OP_reduce_sum_square:
        for (int64_t i = 0; i < n; i++)
            a[i * step] += x[i] * x[i];
        break;
    case OP_reduce_log_sum_exp:
        for (int64_t i = 0; i < n; i++)
            a[i * step] += exp(x[i] - (isinf(aux[i * step]) ? 0 : aux[i * step]));
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            a[i * step] += x[i];
    }
}

static double finish_float(enum op op, double a, double aux, int64_t n)
{
    switch (op) {
    case OP_reduce_mean:
        return a / (double)n;
    case OP_reduce_l2:
        return sqrt(a);
    case OP_reduce_log_sum:
        return log(a);
    case OP_reduce_log_sum_exp:
        return log(a) + (isinf(aux) ? 0 : aux);
    default:
        return a;
    }
}

static uint64_t accumulate_int(enum op op, uint64_t a, int64_t x, bool is_signed)
{
    switch (op) {
    case OP_reduce_prod:
        return a * (uint64_t)x;
    case OP_reduce_max:
        return (is_signed ? x > (int64_t)a : (uint64_t)x > a) ? (uint64_t)x : a;
    case OP_reduce_min:
        return (is_signed ? x < (int64_t)a : (uint64_t)x < a) ? (uint64_t)x : a;
    case OP_reduce_l1:
        return is_signed && x < 0 ? a - (uint64_t)x : a + (uint64_t)x;
    case OP_reduce_sum_square:
        return a + (uint64_t)x * (uint64_t)x;
    default:
        return a + (uint64_t)x;
    }
}

static double first_float(enum op op)
{
    return op == OP_reduce_prod  ? 1
           : op == OP_reduce_max ? -INFINITY
           : op == OP_reduce_min ? INFINITY
                                 : 0;
}

static uint64_t first_int(enum op op, int dtype)
{
    const struct dtype_info *t = dtype_info(dtype);
    bool is_signed = t->cls == DTC_SINT;
    int bits = t->cls == DTC_BOOL ? 1 : t->bits;
    if (op == OP_reduce_max)
        return is_signed ? (uint64_t)(-(INT64_MAX >> (64 - bits)) - 1) : 0;
    if (op == OP_reduce_min)
        return is_signed ? (uint64_t)(INT64_MAX >> (64 - bits)) : UINT64_MAX >> (64 - bits);
    return op == OP_reduce_prod;
}

/* Operand 0 is x, operand 1 the accumulators. */
static void walk_reduction(struct walk *w, const struct tensor *x, const bool *mask)
{
    walk_dims(w, x->rank, x->dims, 2);
    int64_t n = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        w->stride[1][i] = mask[i] ? 0 : n;
        n *= mask[i] ? 1 : x->dims[i];
    }
}

enum { CHUNK = 512 };

static void sweep_floats(enum op op, const struct tensor *x, const bool *mask, double *a,
                         const double *aux)
{
    struct walk w;
    double chunk[CHUNK];
    size_t bytes = dtype_bytes(x->dtype);
    walk_reduction(&w, x, mask);
    for (walk_start(&w); !w.done; walk_next(&w))
        for (int64_t i = 0; i < w.count; i += CHUNK) {
            int64_t n = w.count - i < CHUNK ? w.count - i : CHUNK, at = w.offset[1] + i * w.step[1];
            dtype_load_f64n(x->dtype, (const char *)x->data + (size_t)(w.offset[0] + i) * bytes,
                            (size_t)n, chunk);
            accumulate_float(op, chunk, n, a + at, aux ? aux + at : NULL, w.step[1]);
        }
}

static bool reduce_floats(struct op_call *c, const bool *mask, int64_t reduced)
{
    struct tensor *z = c->out[0];
    int64_t n = tensor_count(z);
    double *a = malloc(sizeof *a * (size_t)(2 * n + 1)), *aux = a + n;
    if (!a)
        return fail_memory(c->env->d, "out of memory");
    for (int64_t i = 0; i < n; i++) {
        a[i] = first_float(c->op);
        aux[i] = -INFINITY;
    }
    if (c->op == OP_reduce_log_sum_exp)
        sweep_floats(OP_reduce_max, c->in[0], mask, aux, NULL);
    sweep_floats(c->op, c->in[0], mask, a, aux);
    for (int64_t i = 0; i < n; i++)
        a[i] = finish_float(c->op, a[i], aux[i], reduced);
    dtype_store_f64n(z->dtype, z->data, (size_t)n, a);
    free(a);
    return true;
}

static bool reduce_ints(struct op_call *c, const bool *mask, int64_t reduced)
{
    const struct tensor *x = c->in[0];
    struct tensor *z = c->out[0];
    struct walk w;
    bool is_signed = dtype_class(x->dtype) == DTC_SINT;
    int64_t n = tensor_count(z);
    walk_reduction(&w, x, mask);
    for (int64_t i = 0; i < n; i++)
        dtype_store_i64(z->dtype, z->data, (size_t)i, (int64_t)first_int(c->op, x->dtype));
    if (reduce_integers_by_rows(c->op, &w, x, z))
        return true;
    uint64_t *a = malloc(sizeof *a * (size_t)(n + 1));
    if (!a)
        return fail_memory(c->env->d, "out of memory");
    for (int64_t i = 0; i < n; i++)
        a[i] = first_int(c->op, x->dtype);
    for (walk_start(&w); !w.done; walk_next(&w))
        for (int64_t i = 0; i < w.count; i++) {
            uint64_t *at = &a[w.offset[1] + i * w.step[1]];
            *at = accumulate_int(c->op, *at, tensor_i64(x, w.offset[0] + i), is_signed);
        }
    for (int64_t i = 0; i < n; i++) {
        if (c->op == OP_reduce_mean && reduced)
            a[i] = is_signed ? (uint64_t)((int64_t)a[i] / reduced) : a[i] / (uint64_t)reduced;
        dtype_store_i64(z->dtype, z->data, (size_t)i, (int64_t)a[i]);
    }
    free(a);
    return true;
}

static bool reduce_complex(struct op_call *c, const bool *mask, int64_t reduced)
{
    const struct tensor *x = c->in[0];
    struct tensor *z = c->out[0];
    struct walk w;
    int part = x->dtype == DT_C64 ? DT_F32 : DT_F64;
    int64_t n = tensor_count(z);
    double complex *a = malloc(sizeof *a * (size_t)(n + 1));
    if (!a)
        return fail_memory(c->env->d, "out of memory");
    for (int64_t i = 0; i < n; i++)
        a[i] = c->op == OP_reduce_prod;
    walk_reduction(&w, x, mask);
    for (walk_start(&w); !w.done; walk_next(&w))
        for (int64_t i = 0; i < w.count; i++) {
            size_t from = (size_t)(w.offset[0] + i) * 2;
            double complex v =
                CMPLX(dtype_load_f64(part, x->data, from), dtype_load_f64(part, x->data, from + 1));
            double complex *at = &a[w.offset[1] + i * w.step[1]];
            *at = c->op == OP_reduce_prod ? *at * v : *at + v;
        }
    for (int64_t i = 0; i < n; i++) {
        double by = c->op == OP_reduce_mean ? (double)reduced : 1;
        dtype_store_f64(part, z->data, (size_t)(2 * i), creal(a[i]) / by);
        dtype_store_f64(part, z->data, (size_t)(2 * i + 1), cimag(a[i]) / by);
    }
    free(a);
    return true;
}

/* Integers whose reduction leaves the integers on the way. */
static bool through_floats(enum op op)
{
    return op == OP_reduce_l2 || op == OP_reduce_log_sum || op == OP_reduce_log_sum_exp;
}

static bool eval_reduction(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    bool mask[MAX_RANK];
    int axes[MAX_RANK], count = call_axes(c, 1, x->rank, axes);
    if (count == AXES_BAD)
        return false;
    reduced_axes(count, axes, c->attrs, x->rank, mask);
    int64_t reduced = 1;
    for (int i = 0; i < x->rank; i++)
        reduced *= mask[i] ? x->dims[i] : 1;
    if (dtype_is_complex(x->dtype))
        return reduce_complex(c, mask, reduced);
    if (dtype_is_float(x->dtype) || through_floats(c->op))
        return reduce_floats(c, mask, reduced);
    return reduce_ints(c, mask, reduced);
}

#define REDUCTION(id)                                                                              \
    bool infer_reduce_##id(struct infer *f)                                                        \
    {                                                                                              \
        return infer_reduction(f);                                                                 \
    }                                                                                              \
    bool eval_reduce_##id(struct op_call *c)                                                       \
    {                                                                                              \
        return eval_reduction(c);                                                                  \
    }
REDUCTION(sum)
REDUCTION(mean)
REDUCTION(prod)
REDUCTION(max)
REDUCTION(min)
REDUCTION(l1)
REDUCTION(l2)
REDUCTION(log_sum)
REDUCTION(log_sum_exp)
REDUCTION(sum_square)
