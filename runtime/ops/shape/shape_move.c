/*
 * Operators that move elements by strides: broadcast, transpose, reverse, concat, split, depth and
 * space.
 */
#include "runtime/ops/common/axes.h"
#include "runtime/ops/common/content.h"
#include "runtime/ops/common/require.h"
#include "runtime/ops/common/short_rows.h"
#include "runtime/ops/common/walk.h"

#include <string.h>

/* ---- expand, broadcast_in_dim ---- */

/* Result contents that repeat operand 0's by broadcasting. */
static void repeat_content(struct infer *f)
{
    struct content x;
    int64_t n = content_size(&f->out[0]);
    if (!f->result || n < 0 || (x = infer_content(f, 0)).n < 0)
        return;
    dim_t *z = ARENA_ARRAY(f->arena, dim_t, n ? n : 1);
    for (int64_t i = 0; i < n; i++)
        z[i] = content_at(f, 0, x, i);
    infer_set_content(f, 0, z, n);
}

bool infer_expand(struct infer *f)
{
    const struct type *x = &f->in[0];
    struct type shape = *x, out = *x;
    if (!content_shape(f, 1, &shape)) {
        if (diag_failed(f->d))
            return false;
        int rank = shape.rank < 0 || x->rank < 0 ? RANK_UNKNOWN
                   : shape.rank > x->rank        ? shape.rank
                                                 : x->rank;
        for (int i = 0; i < rank; i++)
            out.dims[i] = infer_unknown(f, "expand");
        return infer_out(f, 0, x->dtype, rank, out.dims);
    }
    const struct type *in[] = {x, &shape};
    if (!infer_broadcast(f, in, 2, &out))
        return false;
    f->out[0] = out;
    repeat_content(f);
    return true;
}

bool eval_expand(struct op_call *c)
{
    struct walk w;
    walk_dims(&w, c->out[0]->rank, c->out[0]->dims, 2);
    walk_broadcast(&w, 1, c->in[0]->rank, c->in[0]->dims);
    walk_copy(&w, c->out[0]->data, c->in[0]->data, dtype_bytes(c->in[0]->dtype));
    return own_strings(c, 0);
}

/* The shape of a result, from attribute `shape` or operand i. */
static bool shape_attribute(struct infer *f, int operand, struct type *out)
{
    int count;
    const int64_t *shape = attr_ints(f->attrs, "shape", &count);
    if (has_input(f, operand)) {
        content_shape(f, operand, out);
        return !diag_failed(f->d);
    }
    if (count > MAX_RANK)
        return fail(f->d, "a shape of rank %d, expected %d at most", count, MAX_RANK);
    out->rank = (int8_t)count;
    for (int i = 0; i < count; i++)
        out->dims[i] = shape[i];
    return true;
}

bool infer_broadcast_in_dim(struct infer *f)
{
    const struct type *x = &f->in[0];
    struct type out = *x;
    int count;
    const int64_t *place = attr_ints(f->attrs, "dims", &count);
    if (!shape_attribute(f, 1, &out))
        return false;
    if (x->rank >= 0 && count != x->rank)
        return fail(f->d, "%d places for an operand of rank %d", count, x->rank);
    for (int i = 0; i < count && out.rank >= 0; i++) {
        if (place[i] < 0 || place[i] >= out.rank)
            return fail(f->d, "place %lld is out of range for rank %d", (long long)place[i],
                        out.rank);
        dim_t from = x->rank < 0 ? 1 : x->dims[i], to = out.dims[place[i]];
        if (!require_expand(f, from, to, between(0, -1, i)))
            return false;
    }
    f->out[0] = out;
    if (x->rank == 0)
        repeat_content(f);
    return true;
}

bool eval_broadcast_in_dim(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    struct walk w;
    int count;
    const int64_t *place = attr_ints(c->attrs, "dims", &count);
    int64_t dense[MAX_RANK];
    walk_dims(&w, c->out[0]->rank, c->out[0]->dims, 2);
    dense_strides(x->rank, x->dims, dense);
    memset(w.stride[1], 0, sizeof w.stride[1]);
    for (int i = 0; i < x->rank; i++)
        w.stride[1][place[i]] = x->dims[i] == 1 ? 0 : dense[i];
    walk_copy(&w, c->out[0]->data, x->data, dtype_bytes(x->dtype));
    return own_strings(c, 0);
}

/* ---- transpose, reverse ---- */

static bool permutation(struct diag *d, const struct attrs *attrs, int rank, int *perm)
{
    int count;
    const int64_t *list = attr_ints(attrs, "perm", &count);
    bool seen[MAX_RANK] = {false};
    bool given = attr_find(attrs, "perm") != NULL;
    if (given && count != rank)
        return fail(d, "perm has %d entries for rank %d", count, rank);
    for (int i = 0; i < rank; i++) {
        int64_t axis = given ? list[i] : rank - 1 - i;
        if (axis < 0 || axis >= rank || seen[axis])
            return fail(d, "perm is not a permutation of 0 to %d", rank - 1);
        seen[axis] = true;
        perm[i] = (int)axis;
    }
    return true;
}

bool infer_transpose(struct infer *f)
{
    const struct type *x = &f->in[0];
    int perm[MAX_RANK];
    struct type out = *x;
    if (x->rank >= 0 && !permutation(f->d, f->attrs, x->rank, perm))
        return false;
    for (int i = 0; i < x->rank; i++)
        out.dims[i] = x->dims[perm[i]];
    f->out[0] = out;
    if (x->rank == 0 || x->rank == 1)
        content_pass(f);
    return true;
}

bool eval_transpose(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    struct walk w;
    int perm[MAX_RANK];
    int64_t dense[MAX_RANK];
    if (!permutation(c->env->d, c->attrs, x->rank, perm))
        return false;
    walk_dims(&w, x->rank, c->out[0]->dims, 2);
    dense_strides(x->rank, x->dims, dense);
    for (int i = 0; i < x->rank; i++)
        w.stride[1][i] = dense[perm[i]];
    walk_copy(&w, c->out[0]->data, x->data, dtype_bytes(x->dtype));
    return own_strings(c, 0);
}

bool infer_reverse(struct infer *f)
{
    int axes[MAX_RANK];
    f->out[0] = f->in[0];
    return f->in[0].rank < 0 || infer_axes(f, -1, f->in[0].rank, axes) != AXES_BAD;
}

bool eval_reverse(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    struct walk w;
    int axes[MAX_RANK], count = call_axes(c, c->nin, x->rank, axes);
    walk_dims(&w, x->rank, x->dims, 2);
    for (int i = 0; i < count; i++) {
        int64_t *stride = &w.stride[1][axes[i]];
        if (x->dims[axes[i]] > 0)
            w.offset[1] += *stride * (x->dims[axes[i]] - 1);
        *stride = -*stride;
    }
    walk_copy(&w, c->out[0]->data, x->data, dtype_bytes(x->dtype));
    return own_strings(c, 0);
}

/* ---- concat, split ---- */

/* Contents follow one another along the first axis. */
static void concat_content(struct infer *f, int axis)
{
    int64_t n = 0, total = content_size(&f->out[0]);
    if (!f->result || total < 0 || axis != 0)
        return;
    dim_t *z = ARENA_ARRAY(f->arena, dim_t, total ? total : 1);
    for (int i = 0; i < f->nin; i++) {
        struct content x = infer_content(f, i);
        if (x.n < 0 || n + x.n > total)
            return;
        for (int64_t k = 0; k < x.n; k++)
            z[n++] = x.v[k];
    }
    infer_set_content(f, 0, z, n);
}

bool infer_concat(struct infer *f)
{
    struct type out = f->in[0];
    int axis;
    for (int i = 0; i < f->nin; i++) {
        if (f->in[i].dtype != out.dtype)
            return fail(f->d, "element types %s and %s, expected the same", dtype_name(out.dtype),
                        dtype_name(f->in[i].dtype));
        if (f->in[i].rank < 0)
            return infer_out(f, 0, out.dtype, RANK_UNKNOWN, NULL);
        if (f->in[i].rank != out.rank)
            return fail(f->d, "ranks %d and %d, expected the same", out.rank, f->in[i].rank);
    }
    if (!infer_axis(f, attr_int(f->attrs, "axis", 0), out.rank, &axis))
        return false;
    for (int i = 1; i < f->nin; i++)
        for (int k = 0; k < out.rank; k++)
            if (k == axis)
                out.dims[k] = dim_add(f->dims, out.dims[k], f->in[i].dims[k]);
            else if (!require_same(f, out.dims[k], f->in[i].dims[k], between(0, i, k),
                                   &out.dims[k]))
                return false;
    f->out[0] = out;
    concat_content(f, axis);
    return true;
}

/* Copies blocks of x's `rows` rows of row_x bytes from or to rows of row_z bytes. */
static void copy_rows(char *dst, size_t dst_row, const char *src, size_t src_row, int64_t rows,
                      size_t bytes)
{
    if (bytes - 1 < SHORT_ROW_BYTES) {
        copy_short_rows(dst, (int64_t)dst_row, src, (int64_t)src_row, rows, bytes);
        return;
    }
    for (int64_t i = 0; i < rows && bytes; i++)
        memcpy(dst + (size_t)i * dst_row, src + (size_t)i * src_row, bytes);
}

/* Bytes of dims from `axis` on. */
static size_t row_bytes(const struct tensor *t, int axis)
{
    return (size_t)dims_product(t->dims, axis, t->rank) * dtype_bytes(t->dtype);
}

bool eval_concat(struct op_call *c)
{
    struct tensor *z = c->out[0];
    int axis = call_axis(c, "axis", 0, z->rank);
    int64_t rows = dims_product(z->dims, 0, axis);
    char *at = z->data;
    for (int i = 0; i < c->nin; i++) {
        size_t bytes = row_bytes(c->in[i], axis);
        copy_rows(at, row_bytes(z, axis), c->in[i]->data, bytes, rows, bytes);
        at += bytes;
    }
    return own_strings(c, 0);
}

static void split_content(struct infer *f)
{
    struct content x;
    int64_t at = 0;
    if (!f->result || f->in[0].rank != 1 || (x = infer_content(f, 0)).n < 0)
        return;
    for (int i = 0; i < f->nout; i++) {
        dim_t n = f->out[i].dims[0];
        if (!dim_is_const(n) || n > x.n - at)
            return;
        infer_set_content(f, i, x.v + at, n);
        at += n;
    }
}

/* Sizes along the axis: given, or equal parts of which the last may be smaller. */
static bool split_sizes(struct infer *f, dim_t n, dim_t *sizes)
{
    struct content given = infer_content(f, 1);
    int parts = f->nout;
    if (has_input(f, 1)) {
        if (given.n >= 0 && given.n != parts)
            return fail(f->d, "%lld sizes for %d results", (long long)given.n, parts);
        dim_t total = 0;
        for (int i = 0; i < parts; i++) {
            sizes[i] = given.n < 0 ? infer_unknown(f, "split") : given.v[i];
            total = dim_add(f->dims, total, sizes[i]);
        }
        return require_equal(f, n, total, named("the dimension and the sum of its parts", 0, -1));
    }
    int64_t wanted = attr_int(f->attrs, "num_outputs", parts);
    if (wanted != parts)
        return fail(f->d, "num_outputs is %lld, but there are %d results", (long long)wanted,
                    parts);
    if (attr_int(f->attrs, "equal", 0) &&
        !require_multiple(f, n, parts, named("the dimension and the number of its parts", 0, -1)))
        return false;
    dim_t part = dim_ceildiv(f->dims, n, parts), rest = n;
    for (int i = 0; i < parts; i++) {
        sizes[i] = i + 1 == parts || (dim_is_const(rest) && rest < part) ? rest
                   : i > 0 ? dim_min(f->dims, part, rest)
                           : part;
        rest = dim_sub(f->dims, rest, sizes[i]);
    }
    return true;
}

bool infer_split(struct infer *f)
{
    const struct type *x = &f->in[0];
    int axis;
    if (x->rank < 0) {
        for (int i = 0; i < f->nout; i++)
            infer_out(f, i, x->dtype, RANK_UNKNOWN, NULL);
        return true;
    }
    dim_t *sizes = ARENA_ARRAY(f->arena, dim_t, f->nout);
    if (!infer_axis(f, attr_int(f->attrs, "axis", 0), x->rank, &axis) ||
        !split_sizes(f, x->dims[axis], sizes))
        return false;
    for (int i = 0; i < f->nout; i++) {
        f->out[i] = *x;
        f->out[i].dims[axis] = sizes[i];
    }
    split_content(f);
    return true;
}

bool eval_split(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    int axis = call_axis(c, "axis", 0, x->rank);
    int64_t n = x->dims[axis], rows = dims_product(x->dims, 0, axis), at = 0;
    size_t step = row_bytes(x, axis + 1);
    for (int i = 0; i < c->nout; i++) {
        int64_t part = has_operand(c, 1) ? tensor_i64(c->in[1], i) : (n + c->nout - 1) / c->nout;
        if (part > n - at && !has_operand(c, 1))
            part = n - at;
        if (part < 0 || part > n - at)
            return fail(c->env->d, "part %d has size %lld, but %lld are left", i, (long long)part,
                        (long long)(n - at));
        if (wants_result(c, i)) {
            if (c->out[i]->dims[axis] != part)
                return fail(c->env->d, "part %d has size %lld, expected %lld", i, (long long)part,
                            (long long)c->out[i]->dims[axis]);
            copy_rows(c->out[i]->data, (size_t)part * step,
                      (const char *)x->data + (size_t)at * step, (size_t)n * step, rows,
                      (size_t)part * step);
            if (!own_strings(c, i))
                return false;
        }
        at += part;
    }
    return true;
}

/* ---- depth_to_space, space_to_depth ---- */

static bool infer_depth_space(struct infer *f, bool to_space)
{
    struct type out = f->in[0];
    int64_t b = attr_int(f->attrs, "blocksize", 0);
    if (b < 1 || b > 1 << 20)
        return fail(f->d, "blocksize is %lld", (long long)b);
    if (out.rank < 0)
        return infer_out(f, 0, out.dtype, RANK_UNKNOWN, NULL);
    if (out.rank != 4)
        return fail(f->d, "operand has rank %d, expected 4", out.rank);
    bool last = attr_int(f->attrs, "channels_last", 0);
    for (int i = 1; i < 4; i++) {
        bool channel = i == (last ? 3 : 1);
        int64_t by = channel ? b * b : b;
        if (channel != to_space) { /* the image grows, or the depth does */
            out.dims[i] = dim_mul(f->dims, out.dims[i], by);
            continue;
        }
        if (!require_multiple(f, out.dims[i], by, between(0, -1, i)))
            return false;
        out.dims[i] = dim_floordiv(f->dims, out.dims[i], by);
    }
    f->out[0] = out;
    return true;
}

bool infer_depth_to_space(struct infer *f)
{
    return infer_depth_space(f, true);
}

bool infer_space_to_depth(struct infer *f)
{
    return infer_depth_space(f, false);
}

/*
 * Both walk (n, c, h, i, w, j): pixel (h*b+i, w*b+j) of channel c in the image against channel
 * (i*b+j)*C+c, or c*b*b+i*b+j in mode CRD, of (h, w) in the deep one.
 */
static bool move_depth_space(struct op_call *c, const struct tensor *image,
                             const struct tensor *deep, int image_operand)
{
    int64_t b = attr_int(c->attrs, "blocksize", 1), strides[4];
    bool last = attr_int(c->attrs, "channels_last", 0);
    bool crd = attr_is(c->attrs, "mode", "CRD");
    int ch = last ? 3 : 1, hi = last ? 1 : 2, wi = last ? 2 : 3, other = 1 - image_operand;
    int64_t channels = image->dims[ch];
    int64_t dims[6] = {image->dims[0], channels, deep->dims[hi], b, deep->dims[wi], b};
    struct walk w;
    walk_dims(&w, 6, dims, 2);
    dense_strides(4, image->dims, strides);
    int64_t of_image[6] = {strides[0],  strides[ch],     strides[hi] * b,
                           strides[hi], strides[wi] * b, strides[wi]};
    dense_strides(4, deep->dims, strides);
    int64_t per = strides[ch];
    int64_t of_deep[6] = {strides[0],  crd ? per * b * b : per,
                          strides[hi], crd ? per * b : per * b * channels,
                          strides[wi], crd ? per : per * channels};
    memcpy(w.stride[image_operand], of_image, sizeof of_image);
    memcpy(w.stride[other], of_deep, sizeof of_deep);
    walk_copy(&w, c->out[0]->data, c->in[0]->data, dtype_bytes(c->in[0]->dtype));
    return own_strings(c, 0);
}

bool eval_depth_to_space(struct op_call *c)
{
    return move_depth_space(c, c->out[0], c->in[0], 0);
}

bool eval_space_to_depth(struct op_call *c)
{
    return move_depth_space(c, c->in[0], c->out[0], 1);
}
