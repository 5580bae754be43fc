#include "passes/known_parts.h"

#include <string.h>

static int parts(const struct value *v, dim_t *out, int depth);

static int count_of(const struct value *v)
{
    int64_t n = 1;
    if (v->type.kind != VK_TENSOR || v->type.rank < 0 || !dtype_is_int(v->type.dtype))
        return -1;
    for (int i = 0; i < v->type.rank; i++) {
        if (!dim_is_const(v->type.dims[i]) || v->type.dims[i] > KNOWN_PARTS)
            return -1;
        n *= v->type.dims[i];
    }
    return n <= KNOWN_PARTS ? (int)n : -1;
}

static int nothing_of(const struct value *v, dim_t *out)
{
    int n = count_of(v);
    for (int i = 0; i < n; i++)
        out[i] = DIM_NOT_BOUND;
    return n;
}

/* Parts of a list behind each other. */
static int of_concat(const struct node *n, dim_t *out, int depth)
{
    int at = 0;
    for (int i = 0; i < n->nin; i++) {
        int own = count_of(n->in[i]);
        int k = own < 0 || own > KNOWN_PARTS - at ? -1 : parts(n->in[i], out + at, depth);
        if (k < 0)
            return -1;
        at += k;
    }
    return at;
}

static bool single_i64(const struct value *v, int64_t *x)
{
    if (!v || !v->constant || v->constant->kind != VK_TENSOR || tensor_count(v->constant) != 1)
        return false;
    *x = tensor_i64(v->constant, 0);
    return true;
}

struct axis_walk { /* of one axis: what it begins with, and steps by */
    int64_t first, step;
};

/* One axis of a slice by constants. */
static bool sliced(const struct node *n, struct axis_walk *w)
{
    int64_t start, axis = 0, step = 1;
    const struct type *x = &n->in[0]->type;
    if (!single_i64(n->in[1], &start) || (n->nin > 3 && n->in[3] && !single_i64(n->in[3], &axis)) ||
        (n->nin > 4 && n->in[4] && !single_i64(n->in[4], &step)))
        return false;
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis >= x->rank || step == 0)
        return false;
    int64_t length = x->dims[axis], last = step < 0 ? length - 1 : length;
    start += start < 0 ? length : 0;
    start = start < 0 ? 0 : start > last ? last : start;
    w[axis] = (struct axis_walk){start, step};
    return true;
}

/* The axes of the operand in the order of the result's. */
static bool permuted(const struct node *n, int *from)
{
    int count, rank = n->in[0]->type.rank;
    const int64_t *perm = attr_ints(&n->attrs, "perm", &count);
    for (int i = 0; i < rank; i++)
        from[i] = perm ? (int)(perm[i] + (perm[i] < 0 ? rank : 0)) : rank - 1 - i;
    return !perm || count == rank;
}

/* Elements taken in another order: the result's dims, each by an axis of the operand. */
static int of_walk(const struct node *n, dim_t *out, int depth)
{
    dim_t x[KNOWN_PARTS];
    const struct type *from = &n->in[0]->type, *to = &n->out[0]->type;
    struct axis_walk w[MAX_RANK];
    int64_t steps[MAX_RANK], at[MAX_RANK] = {0};
    int axes[MAX_RANK], count = count_of(n->out[0]);
    if (count < 0 || parts(n->in[0], x, depth) < 0 || from->rank != to->rank)
        return -1;
    for (int i = 0; i < from->rank; i++)
        w[i] = (struct axis_walk){0, 1}, axes[i] = i;
    if (n->op == OP_slice ? !sliced(n, w) : !permuted(n, axes))
        return -1;
    for (int64_t i = from->rank - 1, step = 1; i >= 0; step *= from->dims[i--])
        steps[i] = step;
    for (int k = 0; k < count; k++) {
        int64_t place = 0;
        for (int i = 0; i < to->rank; i++)
            place += (w[axes[i]].first + at[i] * w[axes[i]].step) * steps[axes[i]];
        if (place < 0 || place >= KNOWN_PARTS)
            return -1;
        out[k] = x[place];
        for (int i = to->rank - 1; i >= 0 && ++at[i] == to->dims[i]; i--)
            at[i] = 0;
    }
    return count;
}

static int parts(const struct value *v, dim_t *out, int depth)
{
    enum { DEEPEST = 16 };
    const struct node *n = v ? v->def : NULL;
    int count = v ? count_of(v) : -1;
    if (count <= 0) /* operands of concatenations without elements could be as many as a file likes */
        return count;
    if (depth > DEEPEST)
        return -1;
    if (v->content.n == count)
        return memcpy(out, v->content.v, sizeof *out * (size_t)count), count;
    if (v->constant && v->constant->kind == VK_TENSOR) {
        for (int i = 0; i < count; i++)
            out[i] = tensor_i64(v->constant, i);
        return count;
    }
    int got = -1;
    if (n && n->nout == 1 && (n->op == OP_reshape || n->op == OP_unsqueeze || n->op == OP_squeeze || n->op == OP_cast ||
                              n->op == OP_identity) &&
        n->in[0]->type.kind == VK_TENSOR && dtype_is_int(n->in[0]->type.dtype))
        got = parts(n->in[0], out, depth + 1);
    else if (n && n->op == OP_concat && v->type.rank == 1)
        got = of_concat(n, out, depth + 1);
    else if (n && (n->op == OP_slice || n->op == OP_transpose))
        got = of_walk(n, out, depth + 1);
    return got == count ? count : nothing_of(v, out);
}

int known_parts(const struct value *v, dim_t *out)
{
    int n = parts(v, out, 0), known = 0;
    for (int i = 0; i < n; i++)
        known += out[i] != DIM_NOT_BOUND;
    return known ? n : -1;
}
