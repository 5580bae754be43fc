/*
 * Writing elements at indices: scatter_elements, scatter_nd.
 */
#include "runtime/ops/common/axes.h"
#include "runtime/ops/common/elementwise.h"
#include "runtime/ops/common/indices.h"
#include "runtime/ops/common/join.h"
#include "runtime/ops/common/require.h"
#include "runtime/ops/common/walk.h"

#include <string.h>

static const struct {
    const char *name;
    enum op op; /* OP_COUNT: an update replaces what is there */
} reductions[] = {
    {"none", OP_COUNT}, {"add", OP_add}, {"mul", OP_mul}, {"max", OP_max}, {"min", OP_min}};

/* How an update meets what is there. */
struct scatter_rule {
    enum op op;    /* as in the table */
    join_fn *join; /* NULL: the operator's scalar function does */
};

static bool reduction_of(struct diag *d, const struct attrs *attrs, int dtype, struct scatter_rule *r)
{
    struct str name = attr_str(attrs, "reduction", "none");
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
        if (strlen(reductions[i].name) != name.n || memcmp(reductions[i].name, name.p, name.n))
            continue;
        enum op op = reductions[i].op;
        *r = (struct scatter_rule){op, join_of(op, dtype)};
        if (op == OP_COUNT)
            return true;
        int class = dtype_class(dtype);
        const struct ew_row *row = ew_row(op);
        if (class == DTC_FLOAT                       ? row->fn != NULL
            : class == DTC_SINT                      ? row->sn != NULL
            : class == DTC_UINT || class == DTC_BOOL ? row->un != NULL
                                                     : class == DTC_COMPLEX && row->cn)
            return true;
        return fail(d, "reduction %s of %s", reductions[i].name, dtype_name(dtype));
    }
    return fail(d, "unknown reduction '%.*s'", (int)name.n, name.p);
}

/* z[to] = z[to] op u[from] */
static void combine(enum op op, struct tensor *z, int64_t to, const struct tensor *u, int64_t from)
{
    const struct ew_row *row = ew_row(op);
    int dtype = z->dtype, class = dtype_class(dtype);
    if (class == DTC_FLOAT) {
        double x = tensor_f64(z, to), y = tensor_f64(u, from);
        dtype_store_f64(dtype, z->data, (size_t)to, row->f(x, y, 0, 0));
    } else if (class == DTC_COMPLEX) {
        double complex x, y, r;
        if (dtype == DT_C128) {
            x = ((double complex *)z->data)[to], y = ((const double complex *)u->data)[from];
            row->cn(&x, &y, &((double complex *)z->data)[to], 1);
            return;
        }
        x = ((float complex *)z->data)[to], y = ((const float complex *)u->data)[from];
        row->cn(&x, &y, &r, 1);
        ((float complex *)z->data)[to] = (float complex)r;
    } else {
        int64_t x = tensor_i64(z, to), y = tensor_i64(u, from), r;
        if (class == DTC_SINT)
            row->sn(&x, &y, &r, 1);
        else
            row->un((const uint64_t *)&x, (const uint64_t *)&y, (uint64_t *)&r, 1);
        dtype_store_i64(dtype, z->data, (size_t)to, r);
    }
}

static void write_run(const struct scatter_rule *r, struct tensor *z, int64_t to, const struct tensor *u,
                      int64_t from, int64_t n)
{
    size_t bytes = dtype_bytes(z->dtype);
    if (r->op == OP_COUNT && n == 1 && bytes == 4)
        ((uint32_t *)z->data)[to] = ((const uint32_t *)u->data)[from];
    else if (r->op == OP_COUNT && n > 0)
        memcpy((char *)z->data + (size_t)to * bytes, (const char *)u->data + (size_t)from * bytes,
               (size_t)n * bytes);
    if (r->op == OP_COUNT || n <= 0)
        return;
    if (r->join)
        r->join((char *)z->data + (size_t)to * bytes, 1, (const char *)u->data + (size_t)from * bytes, 1, n);
    for (int64_t i = 0; !r->join && i < n; i++)
        combine(r->op, z, to + i, u, from + i);
}

static bool start_from(struct op_call *c)
{
    size_t bytes = tensor_bytes(c->in[0]);
    if (bytes && c->out[0]->data != c->in[0]->data)
        memcpy(c->out[0]->data, c->in[0]->data, bytes);
    return true;
}

static bool infer_scatter(struct infer *f)
{
    struct scatter_rule r;
    if (!dtype_is_int(f->in[1].dtype))
        return fail(f->d, "indices are %s, expected integers", dtype_name(f->in[1].dtype));
    if (f->in[2].dtype != f->in[0].dtype)
        return fail(f->d, "updates are %s, expected %s", dtype_name(f->in[2].dtype),
                    dtype_name(f->in[0].dtype));
    f->out[0] = f->in[0];
    return reduction_of(f->d, f->attrs, f->in[0].dtype, &r);
}

/* ---- scatter_elements ---- */

bool infer_scatter_elements(struct infer *f)
{
    const struct type *x = &f->in[0], *at = &f->in[1], *u = &f->in[2];
    int axis;
    dim_t same;
    if (!infer_scatter(f))
        return false;
    if (x->rank < 0 || at->rank < 0 || u->rank < 0)
        return true;
    if (x->rank != at->rank || x->rank != u->rank)
        return fail(f->d, "ranks %d, %d and %d, expected the same", x->rank, at->rank, u->rank);
    if (!infer_axis(f, attr_int(f->attrs, "axis", 0), x->rank, &axis))
        return false;
    for (int i = 0; i < x->rank; i++) {
        if (!require_same(f, at->dims[i], u->dims[i], named("indices and updates", -1, i), &same) ||
            (i != axis && !require_at_most(f, same, x->dims[i], between(1, 0, i))))
            return false;
    }
    return true;
}

bool eval_scatter_elements(struct op_call *c)
{
    const struct tensor *indices = c->in[1];
    struct tensor *z = c->out[0];
    int axis = call_axis(c, "axis", 0, z->rank);
    struct scatter_rule r;
    struct walk w;
    if (!reduction_of(c->env->d, c->attrs, z->dtype, &r) || !start_from(c))
        return false;
    walk_dims(&w, z->rank, indices->dims, 2);
    dense_strides(z->rank, z->dims, w.stride[1]);
    int64_t step = z->rank ? w.stride[1][axis] : 1, n = z->rank ? z->dims[axis] : 1;
    if (z->rank)
        w.stride[1][axis] = 0;
    int64_t place[PLACES], m;
    for (walk_start(&w); !w.done; walk_next(&w))
        for (int64_t i = 0; i < w.count; i += m) {
            int64_t from = w.offset[0] + i, to = w.offset[1] + i * w.step[1];
            m = w.count - i < PLACES ? w.count - i : PLACES;
            if (!index_places(c, indices, from, m, n, place))
                return false;
            for (int64_t k = 0; k < m; k++)
                write_run(&r, z, to + k * w.step[1] + place[k] * step, c->in[2], from + k, 1);
        }
    return own_strings(c, 0);
}

/* ---- scatter_nd ---- */

bool infer_scatter_nd(struct infer *f)
{
    const struct type *x = &f->in[0], *at = &f->in[1], *u = &f->in[2];
    if (!infer_scatter(f))
        return false;
    if (x->rank < 0 || at->rank < 0 || u->rank < 0)
        return true;
    if (at->rank < 1)
        return fail(f->d, "indices have rank 0, expected 1 or more");
    dim_t depth = at->dims[at->rank - 1];
    if (!dim_is_const(depth))
        return true;
    if (depth > x->rank || u->rank != at->rank - 1 + x->rank - depth)
        return fail(f->d, "indices of length %lld and updates of rank %d for rank %d",
                    (long long)depth, u->rank, x->rank);
    int64_t axis = attr_int(f->attrs, "axis", 0);
    if (axis < 0 || (axis && (axis >= x->rank || depth != 1)))
        return fail(f->d, "axis %lld with indices of length %lld for rank %d", (long long)axis, (long long)depth,
                    x->rank);
    for (int i = 0; i < u->rank; i++) {
        int own = i - at->rank + 1; /* of the dims that no index is for */
        dim_t want = i < at->rank - 1 ? at->dims[i] : x->dims[axis ? own + (own >= axis) : own + depth];
        if (!require_equal(f, want, u->dims[i], named("the updates", 2, i)))
            return false;
    }
    return true;
}

/* Along an axis that is not the first: a run in each block before it. */
static bool scatter_along(struct op_call *c, int axis, const struct scatter_rule *r)
{
    const struct tensor *indices = c->in[1];
    struct tensor *z = c->out[0];
    int64_t rows = tensor_count(indices), blocks = dims_product(z->dims, 0, axis), n = z->dims[axis], k;
    int64_t run = dims_product(z->dims, axis + 1, z->rank);
    for (int64_t i = 0; i < rows; i++) {
        if (!index_place(c, indices, i, n, &k))
            return false;
        for (int64_t b = 0; b < blocks; b++)
            write_run(r, z, (b * n + k) * run, c->in[2], (i * blocks + b) * run, run);
    }
    return own_strings(c, 0);
}

bool eval_scatter_nd(struct op_call *c)
{
    const struct tensor *indices = c->in[1];
    struct tensor *z = c->out[0];
    int depth = (int)indices->dims[indices->rank - 1];
    int64_t rows = dims_product(indices->dims, 0, indices->rank - 1);
    int64_t row = dims_product(z->dims, depth, z->rank);
    struct scatter_rule r;
    if (!reduction_of(c->env->d, c->attrs, z->dtype, &r) || !start_from(c))
        return false;
    if (attr_int(c->attrs, "axis", 0))
        return scatter_along(c, (int)attr_int(c->attrs, "axis", 0), &r);
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = 0, k;
        for (int d = 0; d < depth; d++) {
            if (!index_place(c, indices, i * depth + d, z->dims[d], &k))
                return false;
            at = at * z->dims[d] + k;
        }
        write_run(&r, z, at * row, c->in[2], i * row, row);
    }
    return own_strings(c, 0);
}
