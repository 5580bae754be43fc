/*
 * slice, pad, tile.
 */
#include "runtime/ops/common/axes.h"
#include "runtime/ops/common/content.h"
#include "runtime/ops/common/maps.h"
#include "runtime/ops/common/walk.h"

#include <stdlib.h>
#include <string.h>

/* ---- slice ---- */

/* Models write "to the end" as the largest 32- or 64-bit number. */
enum { NO_LIMIT = INT32_MAX };

/*
 * A start or end as a place in [low, n + high]: negative ones count from the end. False when the
 * sign of an expression cannot be told.
 */
static bool place(struct infer *f, dim_t v, dim_t n, dim_t low, int64_t high, dim_t *out)
{
    int64_t min, max;
    dim_t top = dim_add(f->dims, n, high);
    if (!dim_is_const(n) && dim_is_const(v) && (v >= NO_LIMIT || v <= -(int64_t)NO_LIMIT)) {
        *out = v > 0 ? top : low;
        return true;
    }
    dim_bounds(f->dims, v, &min, &max);
    if (min < 0 && max >= 0)
        return false;
    if (max < 0)
        v = dim_add(f->dims, v, n);
    *out = dim_max(f->dims, low, dim_min(f->dims, v, top));
    return true;
}

/* The least start: backwards too the first element, as ONNX has it, where NumPy takes nothing; -1 if there is none. */
static dim_t min_start(struct infer *f, dim_t start, dim_t n, bool forward)
{
    if (forward)
        return 0;
    return dim_is_const(start) && start >= -1 ? -1 : dim_min(f->dims, 0, dim_sub(f->dims, n, 1));
}

static dim_t slice_length(struct infer *f, dim_t n, dim_t start, dim_t end, int64_t step)
{
    dim_t from, to, length;
    if (step == 0) {
        fail(f->d, "a step of 0");
        return 0;
    }
    bool forward = step > 0;
    if (!place(f, start, n, min_start(f, start, n, forward), forward ? 0 : -1, &from) ||
        !place(f, end, n, forward ? 0 : -1, forward ? 0 : -1, &to))
        return infer_unknown(f, "slice");
    if (forward)
        length = dim_ceildiv(f->dims, dim_sub(f->dims, to, from), step);
    else if (step <= -(INT64_C(1) << 61)) /* one element, if any */
        length = dim_min(f->dims, dim_max(f->dims, dim_sub(f->dims, from, to), 0), 1);
    else
        length = dim_ceildiv(f->dims, dim_sub(f->dims, from, to), -step);
    return dim_max(f->dims, length, 0);
}

/* A vector with known contents, cut at constant places. */
static void slice_content(struct infer *f, const struct content *start, const struct content *step)
{
    struct content x;
    dim_t n = f->out[0].rank == 1 ? f->out[0].dims[0] : -1;
    if (!f->result || f->in[0].rank != 1 || start->n != 1 || !dim_is_const(n) || n < 0 ||
        n > MAX_CONTENT || (x = infer_content(f, 0)).n < 0 || !dim_is_const(start->v[0]))
        return;
    int64_t by = step->n == 1 ? step->v[0] : 1, at = start->v[0];
    at += at < 0 ? x.n : 0;
    at = at < 0 ? 0 : at > x.n - (by < 0) ? x.n - (by < 0) : at;
    dim_t *z = ARENA_ARRAY(f->arena, dim_t, n ? n : 1);
    for (int64_t i = 0; i < n; i++) {
        if (at + i * by < 0 || at + i * by >= x.n)
            return;
        z[i] = x.v[at + i * by];
    }
    infer_set_content(f, 0, z, n);
}

bool infer_slice(struct infer *f)
{
    const struct type *x = &f->in[0];
    struct type out = *x;
    struct content start = infer_content(f, 1), end = infer_content(f, 2),
                   step = infer_content(f, 4);
    int axes[MAX_RANK];
    if (x->rank < 0)
        return infer_out(f, 0, x->dtype, RANK_UNKNOWN, NULL);
    int count = has_input(f, 3) ? infer_axes(f, 3, x->rank, axes) : AXES_ABSENT;
    if (count == AXES_BAD)
        return false;
    int64_t n = count >= 0     ? count
                : start.n >= 0 ? start.n
                : end.n >= 0   ? end.n
                : step.n >= 0  ? step.n
                               : x->rank;
    if (n > x->rank || (start.n >= 0 && start.n != n) || (end.n >= 0 && end.n != n) ||
        (step.n >= 0 && step.n != n))
        return fail(f->d, "starts, ends, axes and steps have different lengths");
    for (int i = 0; i < n || (count == AXES_UNKNOWN && i < x->rank); i++) {
        int axis = count >= 0 ? axes[i] : i;
        bool known = count != AXES_UNKNOWN && start.n >= 0 && end.n >= 0 &&
                     (!has_input(f, 4) || (step.n >= 0 && dim_is_const(step.v[i])));
        out.dims[axis] = known ? slice_length(f, x->dims[axis], start.v[i], end.v[i],
                                              step.n >= 0 ? step.v[i] : 1)
                               : infer_unknown(f, "slice");
    }
    f->out[0] = out;
    slice_content(f, &start, &step);
    return !diag_failed(f->d);
}

/* First index of a slice whose length is in the result already. */
static int64_t first_index(int64_t start, int64_t n, int64_t step)
{
    start += start < 0 ? n : 0;
    if (step > 0)
        return start < 0 ? 0 : start > n ? n : start;
    return start < 0 ? 0 : start > n - 1 ? n - 1 : start;
}

bool eval_slice(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    struct walk w;
    int axes[MAX_RANK], count = has_operand(c, 3) ? call_axes(c, 3, x->rank, axes) : AXES_ABSENT;
    int64_t n = tensor_count(c->in[1]);
    if (count == AXES_BAD)
        return false;
    if (n > x->rank || (count >= 0 && n != count) ||
        (has_operand(c, 4) && tensor_count(c->in[4]) != n))
        return fail(c->env->d, "starts, axes and steps have different lengths");
    walk_dims(&w, x->rank, c->out[0]->dims, 2);
    dense_strides(x->rank, x->dims, w.stride[1]);
    if (tensor_count(c->out[0]) == 0)
        return true;
    for (int i = 0; i < n; i++) {
        int axis = count >= 0 ? axes[i] : i;
        int64_t step = has_operand(c, 4) ? tensor_i64(c->in[4], i) : 1, size = x->dims[axis];
        int64_t first = first_index(tensor_i64(c->in[1], i), size, step), last;
        if (c->out[0]->dims[axis] == 1)
            step = 1; /* the step is not taken, and may be huge */
        if (__builtin_mul_overflow(step, c->out[0]->dims[axis] - 1, &last) || first < 0 ||
            first >= size || last < -first || last >= size - first)
            return fail(c->env->d, "axis %d: the slice leaves the operand", axis);
        w.offset[1] += first * w.stride[1][axis];
        w.stride[1][axis] *= step;
    }
    walk_copy(&w, c->out[0]->data, x->data, dtype_bytes(x->dtype));
    return own_strings(c, 0);
}

/* ---- pad ---- */

bool infer_pad(struct infer *f)
{
    const struct type *x = &f->in[0];
    struct type out = *x;
    struct content pads = infer_known(f, 1);
    int axes[MAX_RANK];
    if (has_input(f, 2) && f->in[2].dtype != x->dtype)
        return fail(f->d, "the value is %s, expected %s", dtype_name(f->in[2].dtype),
                    dtype_name(x->dtype));
    if (x->rank < 0)
        return infer_out(f, 0, x->dtype, RANK_UNKNOWN, NULL);
    int count = has_input(f, 3) ? infer_axes(f, 3, x->rank, axes) : AXES_ABSENT;
    if (count == AXES_BAD)
        return false;
    if (count == AXES_UNKNOWN || pads.n < 0) {
        for (int i = 0; i < x->rank; i++)
            out.dims[i] = infer_unknown(f, "pad");
        f->out[0] = out;
        return true;
    }
    int n = count >= 0 ? count : x->rank;
    if (pads.n != 2 * n)
        return fail(f->d, "%lld pads, expected %d", (long long)pads.n, 2 * n);
    for (int i = 0; i < n; i++) {
        dim_t *dim = &out.dims[count >= 0 ? axes[i] : i];
        if (pads.v[i] == DIM_NOT_BOUND || pads.v[i + n] == DIM_NOT_BOUND)
            *dim = infer_unknown(f, "pad");
        else
            *dim = dim_add(f->dims, *dim, dim_add(f->dims, pads.v[i], pads.v[i + n]));
        if (dim_is_const(*dim) && *dim < 0)
            return fail(f->d, "pads crop more than there is");
    }
    f->out[0] = out;
    return true;
}

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP, PAD_MODES };
static const char *const pad_modes[] = {"constant", "reflect", "edge", "wrap"};

static int64_t pad_index(enum pad_mode mode, int64_t i, int64_t n)
{
    int64_t period = mode == PAD_REFLECT ? 2 * (n - 1) : n;
    if (i >= 0 && i < n)
        return i;
    switch (mode) {
    case PAD_CONSTANT:
        return -1;
    case PAD_EDGE:
        return i < 0 ? 0 : n - 1;
    default:
        if (period == 0)
            return 0;
        i = (i % period + period) % period;
        return i < n ? i : period - i;
    }
}

static bool pad_maps(struct op_call *c, enum pad_mode mode, struct maps *m)
{
    const struct tensor *x = c->in[0], *z = c->out[0];
    int axes[MAX_RANK], count = has_operand(c, 3) ? call_axes(c, 3, x->rank, axes) : AXES_ABSENT;
    int64_t begin[MAX_RANK] = {0}, end[MAX_RANK] = {0}, n = tensor_count(c->in[1]) / 2;
    int64_t strides[MAX_RANK];
    if (count == AXES_BAD)
        return false;
    if (n != (count >= 0 ? count : x->rank))
        return fail(c->env->d, "%lld pads do not fit the operand", (long long)(2 * n));
    for (int i = 0; i < n; i++) {
        begin[count >= 0 ? axes[i] : i] = tensor_i64(c->in[1], i);
        end[count >= 0 ? axes[i] : i] = tensor_i64(c->in[1], i + n);
    }
    dense_strides(x->rank, x->dims, strides);
    for (int i = 0; i < x->rank; i++) {
        int64_t first = begin[i] < 0 ? -begin[i] : 0; /* negative pads crop before others repeat */
        int64_t kept = x->dims[i] - first + (end[i] < 0 ? end[i] : 0);
        if (mode != PAD_CONSTANT && kept <= 0 && z->dims[i] > 0)
            return fail(c->env->d, "axis %d has nothing left to pad with", i);
        for (int64_t k = 0; k < z->dims[i]; k++) {
            int64_t from = pad_index(mode, k - (begin[i] > 0 ? begin[i] : 0), kept);
            m->axis[i][k] = from < 0 ? -1 : (first + from) * strides[i];
        }
    }
    return true;
}

bool eval_pad(struct op_call *c)
{
    static const char zeros[16] __attribute__((aligned(16))) = {0};
    enum pad_mode mode = PAD_CONSTANT;
    struct str name = attr_str(c->attrs, "mode", "constant");
    while (mode < PAD_MODES &&
           (strlen(pad_modes[mode]) != name.n || memcmp(pad_modes[mode], name.p, name.n)))
        mode++;
    if (mode == PAD_MODES)
        return fail(c->env->d, "unknown mode '%.*s'", (int)name.n, name.p);
    if (has_operand(c, 2) && tensor_count(c->in[2]) != 1)
        return fail(c->env->d, "the value has %lld elements, expected one",
                    (long long)tensor_count(c->in[2]));
    struct maps m;
    if (!maps_init(&m, c->out[0], c->env->d))
        return false;
    bool ok = pad_maps(c, mode, &m);
    if (ok)
        maps_move(c->out[0], c->in[0], &m, has_operand(c, 2) ? c->in[2]->data : zeros);
    free(m.block);
    return ok && own_strings(c, 0);
}

/* ---- tile ---- */

bool infer_tile(struct infer *f)
{
    const struct type *x = &f->in[0];
    struct type out = *x;
    struct content repeats = infer_content(f, 1);
    if (x->rank < 0)
        return infer_out(f, 0, x->dtype, RANK_UNKNOWN, NULL);
    if (repeats.n >= 0 && repeats.n != x->rank)
        return fail(f->d, "%lld repeats for rank %d", (long long)repeats.n, x->rank);
    for (int i = 0; i < x->rank; i++) {
        if (repeats.n >= 0 && dim_is_const(repeats.v[i]) && repeats.v[i] < 0)
            return fail(f->d, "axis %d is repeated %lld times", i, (long long)repeats.v[i]);
        out.dims[i] =
            repeats.n < 0 ? infer_unknown(f, "tile") : dim_mul(f->dims, x->dims[i], repeats.v[i]);
    }
    f->out[0] = out;
    struct content values = {NULL, -1};
    int64_t n = content_size(&out);
    if (f->result && x->rank == 1 && n >= 0 && (values = infer_content(f, 0)).n > 0) {
        dim_t *z = ARENA_ARRAY(f->arena, dim_t, n ? n : 1);
        for (int64_t i = 0; i < n; i++)
            z[i] = values.v[i % values.n];
        infer_set_content(f, 0, z, n);
    }
    return true;
}

bool eval_tile(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    int64_t strides[MAX_RANK];
    struct maps m;
    if (!maps_init(&m, c->out[0], c->env->d))
        return false;
    dense_strides(x->rank, x->dims, strides);
    for (int i = 0; i < x->rank; i++)
        for (int64_t k = 0; k < c->out[0]->dims[i]; k++)
            m.axis[i][k] = k % x->dims[i] * strides[i];
    maps_move(c->out[0], x, &m, NULL);
    free(m.block);
    return own_strings(c, 0);
}
