/* Windows: reductions over them, and the gradient of those that keep one element. */
#include "runtime/ops/xla/xla_window.h"

#include "runtime/ops/common/combine.h"
#include "runtime/ops/common/numeric.h"

#include <string.h>

bool infer_pairs(struct infer *f, int *n, int *dtypes)
{
    *n = f->nin / 2;
    if (f->nin % 2 || f->nout != *n || *n > MAX_PAIRS)
        return fail(
            f->d,
            "%d operands and %d results, expected inputs and as many first values and results",
            f->nin, f->nout);
    for (int i = 0; i < *n; i++) {
        if (f->in[*n + i].dtype != f->in[i].dtype || f->in[i].rank != f->in[0].rank)
            return fail(
                f->d,
                "input %d has another rank than the first, or another type than its first value",
                i);
        dtypes[i] = dtypes[*n + i] = f->in[i].dtype;
    }
    return true;
}

/* ---- reduce_window ---- */

static bool frame_of(struct window_frame *w, const struct attrs *as, int rank, struct diag *d)
{
    static const int64_t ones[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, zeros[2 * MAX_RANK];
    int n[5];
    w->rank = rank;
    w->size = attr_ints(as, "size", &n[0]);
    w->stride = attr_ints(as, "strides", &n[1]);
    w->pads = attr_ints(as, "pads", &n[2]);
    w->base = attr_ints(as, "base_dilations", &n[3]);
    w->dilation = attr_ints(as, "window_dilations", &n[4]);
    w->stride = w->stride ? w->stride : ones;
    w->pads = w->pads ? w->pads : zeros;
    w->base = w->base ? w->base : ones;
    w->dilation = w->dilation ? w->dilation : ones;
    if (n[0] != rank || (n[1] && n[1] != rank) || (n[2] && n[2] != 2 * rank) ||
        (n[3] && n[3] != rank) || (n[4] && n[4] != rank))
        return fail(d, "the window's lists do not fit an operand of rank %d", rank);
    for (int i = 0; i < rank; i++)
        if (w->size[i] < 1 || w->stride[i] < 1 || w->base[i] < 1 || w->dilation[i] < 1)
            return fail(d, "sizes, strides and dilations of the window are not all positive");
    return true;
}

static dim_t window_count(struct dim_table *t, const struct window_frame *w, int i, dim_t n)
{
    if (dim_is_const(n) && n == 0)
        n = 0;
    else
        n = dim_add(t, dim_mul(t, dim_sub(t, n, 1), w->base[i]), 1);
    n = dim_add(t, n, w->pads[i] + w->pads[w->rank + i] - ((w->size[i] - 1) * w->dilation[i] + 1));
    if (dim_is_const(n) && n < 0)
        return 0;
    return dim_max(t, dim_add(t, dim_floordiv(t, n, w->stride[i]), 1), 0);
}

bool infer_reduce_window(struct infer *f)
{
    int n, dtypes[2 * MAX_PAIRS];
    struct window_frame w;
    dim_t dims[MAX_RANK];
    if (!infer_pairs(f, &n, dtypes) || !frame_of(&w, f->attrs, f->in[0].rank, f->d))
        return false;
    for (int i = 0; i < w.rank; i++)
        dims[i] = window_count(f->dims, &w, i, f->in[0].dims[i]);
    for (int i = 0; i < n; i++)
        infer_out(f, i, dtypes[i], w.rank, dims);
    return combine_infer(f, "combine", 0, dtypes, 2 * n, dtypes, n);
}

/*
 * Places of x that tap (an index into the window) sees from all places of y, in order: for those
 * inside x, where in y and where in x. Returns how many.
 */
static int64_t tap_places(const struct window_frame *w, const int64_t *tap, const struct tensor *y,
                          const int64_t *x_dims, int64_t *at_y, int64_t *at_x)
{
    int64_t index[MAX_RANK] = {0}, strides[MAX_RANK], n = 0, place = 0;
    dense_strides(w->rank, x_dims, strides);
    if (tensor_count(y) == 0)
        return 0;
    do {
        int64_t from = 0;
        bool inside = true;
        for (int i = 0; inside && i < w->rank; i++) {
            int64_t p = index[i] * w->stride[i] + tap[i] * w->dilation[i] - w->pads[i];
            inside = p >= 0 && p % w->base[i] == 0 && p / w->base[i] < x_dims[i];
            from += p / w->base[i] * strides[i];
        }
        if (inside) {
            at_y[n] = place;
            at_x[n++] = from;
        }
        place++;
    } while (next_index(index, y->dims, w->rank));
    return n;
}

static void pick(const struct vector *to, const void *from, const int64_t *at, int64_t n)
{
    size_t bytes = dtype_bytes(to->dtype);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)to->data + (size_t)i * bytes, (const char *)from + (size_t)at[i] * bytes,
               bytes);
}

static void put(void *to, const struct vector *from, const int64_t *at, int64_t n)
{
    size_t bytes = dtype_bytes(from->dtype);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)to + (size_t)at[i] * bytes, (const char *)from->data + (size_t)i * bytes,
               bytes);
}

/* out[write] = out[read] combined with the inputs' elements `from`, of every pair. */
static __attribute__((noinline)) bool combine_places(struct op_call *c, struct combine *m, struct vector *args,
                                                     const int64_t *read, const int64_t *from, const int64_t *write,
                                                     int64_t count)
{
    const int n = c->nout;
    for (int i = 0; i < n; i++) {
        pick(&args[i], c->out[i]->data, read, count);
        pick(&args[n + i], c->in[i]->data, from, count);
    }
    if (!combine_run(m, count, args, 2 * n, args, n))
        return false;
    for (int i = 0; i < n; i++)
        put(c->out[i]->data, &args[i], write, count);
    return true;
}

/* Windows that begin with the first element: each is the one before it and one element more. */
static bool reduce_running(struct op_call *c, struct combine *m, int axis, struct vector *args, int64_t *before,
                           int64_t *at)
{
    const struct tensor *x = c->in[0];
    const int64_t steps = x->dims[axis], inner = dims_product(x->dims, axis + 1, x->rank),
                  lanes = steps ? tensor_count(x) / steps : 0;
    for (int64_t k = 0; k < steps; k++) {
        for (int64_t i = 0; i < lanes; i++) {
            at[i] = (i / inner * steps + k) * inner + i % inner;
            before[i] = at[i] - (k ? inner : 0); /* the first of them has the first value */
        }
        if (!combine_places(c, m, args, before, at, at, lanes))
            return false;
    }
    return true;
}

static bool reduce_window(struct op_call *c, struct work *w)
{
    bool down = false;
    int n = c->nout;
    struct tensor *y = c->out[0];
    struct combine m;
    struct window_frame f;
    struct vector args[2 * MAX_PAIRS];
    int64_t count = tensor_count(y), tap[MAX_RANK] = {0};
    if (n > MAX_PAIRS || !combine_init(&m, c, "combine", 0) ||
        !frame_of(&f, c->attrs, c->in[0]->rank, w->d))
        return false;
    for (int i = 0; i < n; i++)
        fill_first(c->out[i], c->in[n + i]);
    if (n == 1 && m.form == COMBINE_OP && window_combine(&f, m.op, c->in[0], y, w))
        return true;
    int64_t *at_y = WORK(w, int64_t, count), *at_x = WORK(w, int64_t, count);
    if (!at_y || !at_x)
        return false;
    for (int i = 0; i < 2 * n; i++) {
        int dtype = c->in[i % n]->dtype;
        args[i] = (struct vector){dtype, work_take(w, count, dtype_bytes(dtype))};
        if (!args[i].data)
            return false;
    }
    const int axis = running_dim(&f, c->in[0], &down);
    if (axis >= 0 && !down && f.base[axis] == 1 && !memcmp(y->dims, c->in[0]->dims, sizeof *y->dims * (size_t)y->rank))
        return reduce_running(c, &m, axis, args, at_y, at_x);
    do {
        int64_t inside = tap_places(&f, tap, y, c->in[0]->dims, at_y, at_x);
        if (!combine_places(c, &m, args, at_y, at_x, at_y, inside))
            return false;
    } while (next_index(tap, f.size, f.rank));
    return true;
}

EVAL_WITH_WORK(reduce_window)

/* ---- select_and_scatter ---- */

bool infer_select_and_scatter(struct infer *f)
{
    struct window_frame w;
    int dtypes[2] = {f->in[0].dtype, f->in[0].dtype}, truth = DT_BOOL;
    if (f->in[1].dtype != dtypes[0] || f->in[2].dtype != dtypes[0] ||
        f->in[1].rank != f->in[0].rank)
        return fail(f->d,
                    "the source or first value has another element type or rank than the operand");
    if (!frame_of(&w, f->attrs, f->in[0].rank, f->d) || !infer_same(f, 0, 0))
        return false;
    bool named = attr_find(f->attrs, "select") != NULL;
    return combine_infer(f, "select", 0, dtypes, 2, &truth, 1) &&
           combine_infer(f, "combine", named ? 0 : 1, dtypes, 2, dtypes, 1);
}

struct selection {  /* of every window: the element kept so far */
    int64_t *where; /* place in x; -1: none yet */
    struct vector kept;
};

/* Takes the elements that one tap sees: kept where select(kept, element) holds. */
static bool select_tap(struct op_call *c, struct combine *select, struct selection *s,
                       const int64_t *at_y, const int64_t *at_x, int64_t n, struct vector *args,
                       uint8_t *truth)
{
    struct vector result = {DT_BOOL, truth};
    size_t bytes = dtype_bytes(s->kept.dtype);
    pick(&args[0], s->kept.data, at_y, n);
    pick(&args[1], c->in[0]->data, at_x, n);
    if (!combine_run(select, n, args, 2, &result, 1))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (s->where[at_y[i]] < 0 || !truth[i]) {
            s->where[at_y[i]] = at_x[i];
            memcpy((char *)s->kept.data + (size_t)at_y[i] * bytes,
                   (char *)args[1].data + (size_t)i * bytes, bytes);
        }
    return true;
}

static bool select_and_scatter(struct op_call *c, struct work *w)
{
    const struct tensor *source = c->in[1];
    struct tensor *y = c->out[0];
    int dtype = y->dtype;
    size_t bytes = dtype_bytes(dtype);
    int64_t count = tensor_count(source), tap[MAX_RANK] = {0};
    struct combine select, scatter;
    struct window_frame f;
    if (!combine_init(&select, c, "select", 0) ||
        !combine_init(&scatter, c, "combine", select.form == COMBINE_REGION) ||
        !frame_of(&f, c->attrs, c->in[0]->rank, w->d))
        return false;
    fill_first(y, c->in[2]);
    if (select.form == COMBINE_OP && scatter.form == COMBINE_OP) {
        if (window_scatter(&f, select.op, scatter.op, c->in[0], source, y, w))
            return true;
    }
    struct vector args[2] = {{dtype, work_take(w, count, bytes)},
                             {dtype, work_take(w, count, bytes)}};
    struct selection s = {WORK(w, int64_t, count), {dtype, work_take(w, count, bytes)}};
    int64_t *at_y = WORK(w, int64_t, count), *at_x = WORK(w, int64_t, count);
    uint8_t *truth = WORK(w, uint8_t, count);
    if (!args[0].data || !args[1].data || !s.where || !s.kept.data || !at_y || !at_x || !truth)
        return false;
    for (int64_t i = 0; i < count; i++)
        s.where[i] = -1;
    do {
        int64_t n = tap_places(&f, tap, source, c->in[0]->dims, at_y, at_x);
        if (!select_tap(c, &select, &s, at_y, at_x, n, args, truth))
            return false;
    } while (next_index(tap, f.size, f.rank));
    for (int64_t i = 0; i < count; i++) { /* windows may share an element: one after the other */
        struct vector pair[2] = {{dtype, (char *)y->data + (size_t)s.where[i] * bytes},
                                 {dtype, (char *)source->data + (size_t)i * bytes}};
        if (s.where[i] >= 0 && !combine_run(&scatter, 1, pair, 2, &pair[0], 1))
            return false;
    }
    return true;
}

EVAL_WITH_WORK(select_and_scatter)
