/* Windows at places known only while running, and padding between elements. */
#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"
#include "runtime/ops/common/walk.h"

#include <string.h>

/* ---- dynamic_slice, dynamic_update_slice ---- */

static bool check_starts(struct infer *f, int i, int rank)
{
    const struct type *t = &f->in[i];
    if (t->dtype != DT_I64 || t->rank != 1 || (dim_is_const(t->dims[0]) && t->dims[0] != rank))
        return fail(f->d, "starts are not %d integers of type i64", rank);
    return true;
}

bool infer_dynamic_slice(struct infer *f)
{
    const struct type *x = &f->in[0];
    int count;
    const int64_t *sizes = attr_ints(f->attrs, "sizes", &count);
    if (x->rank == RANK_UNKNOWN)
        return infer_any(f, 0, x->dtype);
    if (count != x->rank)
        return fail(f->d, "%d sizes for an operand of rank %d", count, x->rank);
    for (int i = 0; i < count; i++)
        if (sizes[i] < 0)
            return fail(f->d, "a window of %lld in dimension %d", (long long)sizes[i], i);
        else if (!require_at_most(f, sizes[i], x->dims[i], named("the window", 0, i)))
            return false;
    return check_starts(f, 1, x->rank) && infer_out(f, 0, x->dtype, count, sizes);
}

bool infer_dynamic_update_slice(struct infer *f)
{
    const struct type *x = &f->in[0], *u = &f->in[1];
    if (u->dtype != x->dtype || u->rank != x->rank)
        return fail(f->d, "the update has another element type or rank than the operand");
    for (int i = 0; i < x->rank; i++)
        if (!require_at_most(f, u->dims[i], x->dims[i], between(1, 0, i)))
            return false;
    return (x->rank < 0 || check_starts(f, 2, x->rank)) && infer_same(f, 0, 0);
}

/* Where the window begins in x, moved so that it fits. */
static int64_t window_start(const struct tensor *x, const int64_t *sizes,
                            const struct tensor *starts, const int64_t *strides)
{
    int64_t at = 0;
    for (int i = 0; i < x->rank; i++) {
        int64_t s = tensor_i64(starts, i), max = x->dims[i] - sizes[i];
        at += (s < 0 ? 0 : s > max ? max : s) * strides[i];
    }
    return at;
}

static void copy_window(const struct tensor *x, const struct tensor *part,
                        const struct tensor *starts, bool into_x)
{
    struct walk w;
    int64_t strides[MAX_RANK];
    size_t bytes = dtype_bytes(x->dtype);
    dense_strides(x->rank, x->dims, strides);
    char *window = (char *)x->data + (size_t)window_start(x, part->dims, starts, strides) * bytes;
    walk_dims(&w, part->rank, part->dims, 2);
    memcpy(w.stride[into_x ? 0 : 1], strides, sizeof *strides * (size_t)x->rank);
    walk_copy(&w, into_x ? window : part->data, into_x ? part->data : window, bytes);
}

bool eval_dynamic_slice(struct op_call *c)
{
    copy_window(c->in[0], c->out[0], c->in[1], false);
    return own_strings(c, 0);
}

bool eval_dynamic_update_slice(struct op_call *c)
{
    struct tensor *y = c->out[0];
    if (y->data != c->in[0]->data && tensor_bytes(y))
        memcpy(y->data, c->in[0]->data, tensor_bytes(y));
    copy_window(y, c->in[1], c->in[2], true);
    return own_strings(c, 0);
}

/* ---- pad_interior ---- */

static bool pad_lists(const struct attrs *as, int rank, const int64_t **pads,
                      const int64_t **interior, struct diag *d)
{
    int n, m;
    *pads = attr_ints(as, "pads", &n);
    *interior = attr_ints(as, "interior", &m);
    if (n != 2 * rank || m != rank)
        return fail(d, "%d pads and %d interior ones for rank %d", n, m, rank);
    for (int i = 0; i < rank; i++)
        if ((*interior)[i] < 0)
            return fail(d, "interior padding %lld is negative", (long long)(*interior)[i]);
    return true;
}

bool infer_pad_interior(struct infer *f)
{
    const struct type *x = &f->in[0];
    const int64_t *pads, *interior;
    dim_t dims[MAX_RANK];
    if (f->in[1].dtype != x->dtype)
        return fail(f->d, "the value's element type is not the operand's");
    if (x->rank == RANK_UNKNOWN)
        return infer_any(f, 0, x->dtype);
    if (!pad_lists(f->attrs, x->rank, &pads, &interior, f->d))
        return false;
    for (int i = 0; i < x->rank; i++) {
        dim_t gaps = dim_max(f->dims, dim_sub(f->dims, x->dims[i], 1), 0);
        dims[i] = dim_add(f->dims, x->dims[i], dim_mul(f->dims, gaps, interior[i]));
        dims[i] = dim_add(f->dims, dims[i], pads[i] + pads[x->rank + i]);
        if (dim_is_const(dims[i]) && dims[i] < 0)
            return fail(f->d, "dimension %d has %lld elements after padding", i,
                        (long long)dims[i]);
    }
    return infer_out(f, 0, x->dtype, x->rank, dims);
}

bool eval_pad_interior(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    struct tensor *y = c->out[0];
    const int64_t *pads, *interior;
    int64_t xs[MAX_RANK], ys[MAX_RANK], first = 0, from = 0;
    size_t bytes = dtype_bytes(x->dtype);
    struct walk w;
    if (!pad_lists(c->attrs, x->rank, &pads, &interior, c->env->d))
        return false;
    fill_run(y->data, c->in[1]->data, tensor_count(y), bytes);
    dense_strides(x->rank, x->dims, xs);
    dense_strides(y->rank, y->dims, ys);
    int64_t dims[MAX_RANK];
    for (int i = 0; i < x->rank; i++) { /* elements low..high-1 land inside */
        int64_t step = interior[i] + 1, low = pads[i] < 0 ? (-pads[i] + step - 1) / step : 0;
        int64_t room = y->dims[i] - pads[i], high = room <= 0 ? 0 : (room + step - 1) / step;
        high = high > x->dims[i] ? x->dims[i] : high;
        dims[i] = high > low ? high - low : 0;
        from += low * xs[i];
        first += (low * step + pads[i]) * ys[i];
        ys[i] *= step;
    }
    if (dims_product(dims, 0, x->rank) == 0)
        return true;
    walk_dims(&w, x->rank, dims, 2);
    memcpy(w.stride[0], ys, sizeof *ys * (size_t)x->rank);
    memcpy(w.stride[1], xs, sizeof *xs * (size_t)x->rank);
    walk_copy(&w, (char *)y->data + first * (int64_t)bytes, (char *)x->data + from * (int64_t)bytes,
              bytes);
    return true;
}
