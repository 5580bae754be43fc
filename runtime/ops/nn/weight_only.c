#include "neff/isa/pack.h"
#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"

/* Products by a matrix of few bits that is stored with scales of blocks along k. */

struct few_bits {
    int64_t k, columns, block, blocks;
    bool
        transposed; /* w (columns, k), scales (columns, blocks); otherwise (k, columns) and (blocks, columns) */
};

static bool read_few_bits(const struct attrs *attrs, const dim_t *w, struct few_bits *m,
                          struct diag *d)
{
    m->transposed = attr_int(attrs, "trans_b", 0) != 0;
    m->k = w[m->transposed], m->columns = w[!m->transposed];
    m->block = attr_int(attrs, "block_size", 0);
    if (m->block < 0)
        return fail(d, "block_size is %lld", (long long)m->block);
    if (m->block == 0 || m->block > m->k)
        m->block = m->k ? m->k : 1;
    m->blocks = (m->k + m->block - 1) / m->block;
    return true;
}

bool infer_weight_only_matmul(struct infer *f)
{
    const struct type *x = &f->in[0], *w = &f->in[1];
    struct few_bits m;
    int dtype = (int)attr_int(f->attrs, "out_dtype", f->in[0].dtype);
    if (!rank_known(f, 0) || !rank_known(f, 1) || w->rank != 2 || x->rank < 1 ||
        !dim_is_const(w->dims[0]) || !dim_is_const(w->dims[1]))
        return fail(f->d, "expected rows, and weights of rank 2 of known size");
    if (!read_few_bits(f->attrs, w->dims, &m, f->d))
        return false;
    dim_t k = x->dims[x->rank - 1], y[MAX_RANK];
    if (!require_equal(f, k, m.k, named("summed dimension", 0, x->rank - 1)))
        return false;
    for (int i = 0; i < x->rank - 1; i++)
        y[i] = x->dims[i];
    y[x->rank - 1] = m.columns;
    return infer_out(f, 0, dtype, x->rank, y);
}

/* The row's blocks as whole numbers of their largest magnitude / 127, in float as kernels have it. */
static void round_rows(double *x, int64_t rows, const struct few_bits *m)
{
    for (int64_t r = 0; r < rows; r++, x += m->k)
        for (int64_t k = 0; k < m->k; k += m->block) {
            int64_t end = k + m->block < m->k ? k + m->block : m->k;
            float largest = 0, scale;
            for (int64_t i = k; i < end; i++)
                if (isnan(x[i]) || fabs(x[i]) > largest)
                    largest = fabsf((float)x[i]);
            uint32_t bits;
            memcpy(&bits, &largest, sizeof bits);
            float factor = weight_only_scale(bits, &scale);
            for (int64_t i = k; i < end; i++)
                x[i] = factor != 0 ? (double)rintf((float)x[i] * factor) * scale : scale;
        }
}

static bool weight_only_matmul(struct op_call *c, struct work *w)
{
    struct few_bits m;
    const struct tensor *x = c->in[0], *q = c->in[1];
    if (!read_few_bits(c->attrs, q->dims, &m, w->d))
        return false;
    double *a = work_doubles(w, x), *b = work_doubles(w, q), *scale = work_doubles(w, c->in[2]);
    double *zero, centre = attr_float(c->attrs, "zero_point", 0);
    double *real = WORK(w, double, m.k *m.columns), *y = WORK(w, double, tensor_count(c->out[0]));
    if (!a || !b || !scale || !real || !y || !work_optional(c, w, 3, &zero))
        return false;
    if (tensor_count(c->in[2]) != m.blocks * m.columns ||
        (zero && tensor_count(c->in[3]) != m.blocks * m.columns))
        return fail(w->d, "%lld scales, expected %lld for blocks of %lld",
                    (long long)tensor_count(c->in[2]), (long long)(m.blocks * m.columns),
                    (long long)m.block);
    for (int64_t k = 0; k < m.k; k++)
        for (int64_t o = 0; o < m.columns; o++) {
            int64_t block = k / m.block;
            int64_t s = m.transposed ? o * m.blocks + block : block * m.columns + o;
            int64_t at = m.transposed ? o * m.k + k : k * m.columns + o;
            real[k * m.columns + o] = (float)((b[at] - (zero ? zero[s] : centre)) * scale[s]);
        }
    if (x->rank < 1 || x->dims[x->rank - 1] != m.k)
        return fail(w->d, "rows do not have the %lld elements of the weights", (long long)m.k);
    int64_t rows = m.k ? tensor_count(x) / m.k : tensor_count(c->out[0]) / (m.columns ? m.columns : 1);
    if (attr_int(c->attrs, "row_bits", 0) == 8)
        round_rows(a, rows, &m);
    multiply_f64(rows, m.columns, m.k, a, real, y);
    call_store(c, 0, y);
    return true;
}

EVAL_WITH_WORK(weight_only_matmul)
