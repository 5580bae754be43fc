#include "passes/assign.h"

#include "passes/rewrite.h"

#include <string.h>

struct assigned_box { /* of the first `depth` axes of what is written to */
    int depth;
    int64_t start[MAX_RANK], count[MAX_RANK];
};

static int64_t at_index(const struct tensor *indices, int64_t i, int64_t size)
{
    int64_t v = tensor_i64(indices, i);
    return v < 0 ? v + size : v;
}

/* Indices (count of axis 0, count of axis 1, ..., depth): element (i, j, ...) is start + (i, j,
 * ...). */
static bool is_box(const struct tensor *indices, const struct type *x, struct assigned_box *b)
{
    int depth = b->depth = indices->rank - 1;
    if (depth < 1 || depth > x->rank || indices->dims[depth] != depth || tensor_count(indices) == 0)
        return false;
    for (int a = 0; a < depth; a++) {
        if (!dim_is_const(x->dims[a]))
            return false;
        b->start[a] = at_index(indices, a, x->dims[a]), b->count[a] = indices->dims[a];
        if (b->start[a] < 0 || b->start[a] + b->count[a] > x->dims[a])
            return false;
    }
    int64_t at[MAX_RANK] = {0}, n = tensor_count(indices) / depth;
    for (int64_t i = 0; i < n; i++) {
        for (int a = 0; a < depth; a++)
            if (at_index(indices, i * depth + a, x->dims[a]) != b->start[a] + at[a])
                return false;
        for (int a = depth - 1; a >= 0 && ++at[a] == b->count[a]; a--)
            at[a] = 0;
    }
    return true;
}

/* The axis that the box does not span; -1: it spans all, -2: it leaves several. */
static int open_axis(const struct assigned_box *b, const struct type *x)
{
    int open = -1;
    for (int a = 0; a < b->depth; a++)
        if (b->count[a] != x->dims[a])
            open = open == -1 ? a : -2;
    return open;
}

static struct value *piece(struct node *n, int axis, int64_t from, int64_t to, struct diag *d)
{
    struct builder b = builder_before(n, d);
    b.name = NULL;
    return b_slice(&b, n->in[0], from, to, axis);
}

struct value *slice_assignment(struct graph *g, struct node *n, struct diag *d)
{
    const struct value *indices = n->in[1], *u = n->in[2];
    const struct type *x = &n->in[0]->type;
    struct builder b = builder_before(n, d);
    struct assigned_box box;
    if (!attr_is(&n->attrs, "reduction", "none") && attr_find(&n->attrs, "reduction"))
        return NULL;
    if (!indices->constant || indices->constant->kind != VK_TENSOR || x->rank < 1 ||
        u->type.rank != x->rank || !is_box(indices->constant, x, &box))
        return NULL;
    int axis = open_axis(&box, x);
    if (axis < 0)
        return axis == -1 && type_equal(&u->type, &n->out[0]->type) ? n->in[2] : NULL;
    struct value *parts[3];
    int nparts = 0;
    int64_t end = box.start[axis] + box.count[axis];
    if (box.start[axis] > 0)
        parts[nparts++] = piece(n, axis, 0, box.start[axis], d);
    parts[nparts++] = n->in[2];
    if (end < x->dims[axis])
        parts[nparts++] = piece(n, axis, end, x->dims[axis], d);
    return b_concat(&b, parts, nparts, axis);
}

/* The starts of a window in x, each moved so that it fits, as running does it. */
static bool window_box(const struct value *starts, const struct type *x, const int64_t *sizes, struct assigned_box *b)
{
    if (!starts->constant || starts->constant->kind != VK_TENSOR || x->rank < 1 || !type_is_static(x) ||
        tensor_count(starts->constant) != x->rank)
        return false;
    b->depth = x->rank;
    for (int a = 0; a < x->rank; a++) {
        int64_t start = tensor_i64(starts->constant, a), max = x->dims[a] - sizes[a];
        b->start[a] = start < 0 ? 0 : start > max ? max : start;
        b->count[a] = sizes[a];
    }
    return true;
}

struct value *known_slice(struct graph *g, struct node *n, struct diag *d)
{
    struct builder b = builder_before(n, d);
    struct assigned_box box;
    int count, axes = 0;
    const int64_t *sizes = attr_ints(&n->attrs, "sizes", &count);
    const struct type *x = &n->in[0]->type;
    int64_t from[MAX_RANK], to[MAX_RANK], along[MAX_RANK];
    if (count != x->rank || !window_box(n->in[1], x, sizes, &box))
        return NULL;
    for (int a = 0; a < box.depth; a++)
        if (box.count[a] != x->dims[a])
            from[axes] = box.start[a], to[axes] = box.start[a] + box.count[a], along[axes++] = a;
    if (!axes)
        return n->in[0];
    struct value *in[] = {n->in[0], constant_i64s(g, from, axes), constant_i64s(g, to, axes),
                          constant_i64s(g, along, axes)};
    return b_op(&b, OP_slice, in, 4, NULL);
}
