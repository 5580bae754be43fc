/* Operands of a batch's size become those of any batch's, for pass open_batch. */
#include "passes/build.h"
#include "passes/match.h"
#include "passes/open_batch.h"

#include <string.h>

typedef bool opener(struct opening *o, struct node *n);

/* Gives the node another operand. */
static void open_operand(struct opening *o, struct node *n, int operand, struct value *with)
{
    ARENA_GROW(o->s.arena, o->changes, o->nchanges, o->changes_cap);
    o->changes[o->nchanges++] = (struct opened_operand){n, operand, n->in[operand]};
    node_set_input(n, operand, with);
}

/* ---- lists ---- */

/* The elements of a constant list of i64 or i32; how many, -1 where it is none. */
static int constant_list(const struct value *v, int64_t *out)
{
    bool list = v && v->constant && v->type.rank == 1 && (v->type.dtype == DT_I64 || v->type.dtype == DT_I32);
    int64_t n = list ? tensor_count(v->constant) : -1;
    for (int64_t i = 0; n <= MAX_RANK && i < n; i++)
        out[i] = tensor_i64(v->constant, i);
    return n <= MAX_RANK ? (int)n : -1;
}

static struct value *list_like(struct opening *o, const struct value *v, const int64_t *list, int n)
{
    int32_t narrow[MAX_RANK];
    for (int i = 0; i < n; i++)
        narrow[i] = (int32_t)list[i];
    bool wide = v->type.dtype == DT_I64;
    return constant_copy(o->s.g, v->type.dtype, 1, &(int64_t){n}, wide ? (const void *)list : narrow, "");
}

/* The axis of y before which as many elements lie as before x's axis, and which has items of the batch; -1. */
static int axis_of_view(const struct opening *o, const struct type *x, int axis, const struct type *y)
{
    int64_t before = 1, passed = 1;
    for (int i = 0; i < axis; i++)
        if (!dim_is_const(x->dims[i]) || __builtin_mul_overflow(before, x->dims[i], &before))
            return -1;
    for (int i = 0; i < y->rank; i++) {
        if (!dim_is_const(y->dims[i]) || passed > before)
            return -1;
        if (passed == before && y->dims[i] != 1)
            return y->dims[i] % o->batch ? -1 : i;
        if (__builtin_mul_overflow(passed, y->dims[i], &passed))
            return -1;
    }
    return -1;
}

/* What remains is items: all other dims are known. */
static bool open_reshape(struct opening *o, struct node *n)
{
    int64_t list[MAX_RANK];
    const struct type *y = &n->out[0]->type;
    int count = constant_list(n->in[1], list), axis = items_axis(&o->s, n->in[0]);
    if (axis < 0 || count < 0)
        return true;
    int at = axis_of_view(o, &n->in[0]->type, axis, y);
    if (count != y->rank || at < 0)
        return false;
    for (int i = 0; i < count; i++)
        if (dim_is_const(y->dims[i]))
            list[i] = i == at ? -1 : y->dims[i];
        else if (list[i] < 0)
            return false;
    open_operand(o, n, 1, list_like(o, n->in[1], list, count));
    return true;
}

/* A dim that is there already need not be said. */
static bool open_expand(struct opening *o, struct node *n)
{
    int64_t list[MAX_RANK];
    int count = constant_list(n->in[1], list), axis = items_axis(&o->s, n->in[0]);
    int at = axis + count - n->in[0]->type.rank;
    if (axis < 0 || count < 0 || at < 0 || at >= count)
        return true;
    list[at] = 1;
    open_operand(o, n, 1, list_like(o, n->in[1], list, count));
    return true;
}

/* Up to the end, whatever it is. */
static bool open_slice(struct opening *o, struct node *n)
{
    int64_t ends[MAX_RANK], axes[MAX_RANK];
    const struct type *x = &n->in[0]->type, *y = &n->out[0]->type;
    int axis = items_axis(&o->s, n->in[0]), count = constant_list(n->in[2], ends);
    bool has_axes = n->nin > 3 && n->in[3];
    if (axis < 0 || count < 0 || (has_axes && constant_list(n->in[3], axes) != count))
        return axis < 0 || count < 0;
    if (y->rank != x->rank || dim_substitute(&o->s.g->dims, x->dims[axis], o->number) != y->dims[axis])
        return false;
    for (int i = 0; i < count; i++)
        if ((has_axes ? axes[i] + (axes[i] < 0 ? x->rank : 0) : i) == axis)
            ends[i] = n->in[2]->type.dtype == DT_I64 ? INT64_MAX : INT32_MAX;
    open_operand(o, n, 2, list_like(o, n->in[2], ends, count));
    return true;
}

/* ---- dims that are computed ---- */

/* Notes the nodes after `before`, up to n. */
static bool follow_made(struct opening *o, struct node *before, struct node *n)
{
    bool ok = true;
    for (struct node *made = before ? before->next : n->parent->first; made != n; made = made->next) {
        ARENA_GROW(o->s.arena, o->made, o->nmade, o->made_cap);
        o->made[o->nmade++] = made;
        ok = ok && follow_items(&o->s, made);
    }
    return ok;
}

/* The list with the dim of x's items instead of its element `at`. */
static struct value *list_with_items(struct opening *o, struct node *n, const struct value *x, const int64_t *list,
                                     int count, int at)
{
    struct diag ignored = {0};
    struct builder b = builder_before(n, &ignored);
    struct node *before = n->prev;
    struct value *part[3] = {b_i64s(&b, list, at), b_dim(&b, (struct value *)x, items_axis(&o->s, x)),
                             b_i64s(&b, list + at + 1, count - at - 1)};
    struct value *all = b_concat(&b, part + (at == 0), 3 - (at == 0) - (at == count - 1), 0);
    return follow_made(o, before, n) && !diag_failed(&ignored) ? all : NULL;
}

static bool open_resize(struct opening *o, struct node *n)
{
    int64_t list[MAX_RANK];
    int count = n->nin > 3 ? constant_list(n->in[3], list) : -1, axis = items_axis(&o->s, n->in[0]);
    const struct type *x = &n->in[0]->type;
    if (axis < 0 || count < 0)
        return true;
    if (attr_find(&n->attrs, "axes") || count != x->rank ||
        dim_substitute(&o->s.g->dims, x->dims[axis], o->number) != list[axis])
        return count != x->rank;
    struct value *sizes = list_with_items(o, n, n->in[0], list, count, axis);
    if (sizes)
        open_operand(o, n, 3, sizes);
    return sizes;
}

/* ---- constants with something for each item ---- */

/* v with one of the parts along the axis, where all are alike: it then counts for any of them; NULL. */
static struct value *one_of_all(struct opening *o, const struct value *v, int axis)
{
    const struct tensor *t = v->constant;
    int64_t dims[MAX_RANK], outer = 1;
    size_t part = dtype_bytes(t->dtype);
    if (t->dtype == DT_STR || !part)
        return NULL;
    for (int i = 0; i < t->rank; i++) {
        dims[i] = i == axis ? 1 : t->dims[i];
        outer *= i < axis ? dims[i] : 1;
        part *= i > axis ? (size_t)dims[i] : 1;
    }
    char *data = arena_alloc(&o->s.g->arena, part * (size_t)outer + 1);
    for (int64_t i = 0; i < outer; i++) {
        const char *from = (const char *)t->data + (size_t)(i * t->dims[axis]) * part;
        for (int64_t k = 1; k < t->dims[axis]; k++)
            if (memcmp(from, from + (size_t)k * part, part) != 0)
                return NULL;
        memcpy(data + (size_t)i * part, from, part);
    }
    struct tensor one = tensor_view(t->dtype, t->rank, dims, data);
    return constant_new(o->s.g, &one, v->name);
}

/* Operand i, if it is a constant, has one part along the axis, counted from the last one. */
static bool open_constant(struct opening *o, struct node *n, int i, int from_last)
{
    const struct value *v = i < n->nin ? n->in[i] : NULL;
    int axis = v ? v->type.rank - from_last : -1;
    if (!v || !v->constant || axis < 0 || v->type.dims[axis] == 1)
        return true;
    struct value *one = one_of_all(o, v, axis);
    if (one)
        open_operand(o, n, i, one);
    return one;
}

static bool open_elementwise(struct opening *o, struct node *n)
{
    int from_last = 0;
    for (int i = 0; i < n->nin; i++)
        if (items_axis(&o->s, n->in[i]) >= 0)
            from_last = n->in[i]->type.rank - items_axis(&o->s, n->in[i]);
    for (int i = 0; from_last && i < n->nin; i++)
        if (!open_constant(o, n, i, from_last))
            return false;
    return true;
}

static bool open_mask(struct opening *o, struct node *n)
{
    int axis = items_axis(&o->s, n->in[0]);
    return axis < 0 || open_constant(o, n, 3, n->in[0]->type.rank - axis);
}

/* Constants beside items: repeated for as many as there are. */
static bool open_concat(struct opening *o, struct node *n)
{
    int axis = -1, rank = n->out[0]->type.rank;
    const struct value *items = NULL;
    for (int i = 0; i < n->nin; i++)
        if (items_axis(&o->s, n->in[i]) >= 0)
            items = n->in[i], axis = items_axis(&o->s, items);
    for (int i = 0; items && i < n->nin; i++) {
        if (!n->in[i]->constant)
            continue;
        int64_t list[MAX_RANK];
        struct value *one = n->in[i]->type.rank == rank ? one_of_all(o, n->in[i], axis) : NULL;
        for (int k = 0; k < rank; k++)
            list[k] = 1;
        struct value *shape = one ? list_with_items(o, n, items, list, rank, axis) : NULL;
        if (!shape)
            return false;
        struct diag ignored = {0};
        struct builder b = builder_before(n, &ignored);
        struct node *before = n->prev;
        struct value *all = b_2(&b, OP_expand, one, shape);
        if (!follow_made(o, before, n) || !all)
            return false;
        open_operand(o, n, i, all);
    }
    return true;
}

static opener *const openers[OP_COUNT] = {
    [OP_concat] = open_concat, [OP_expand] = open_expand, [OP_reshape] = open_reshape,
    [OP_resize] = open_resize, [OP_sdpa] = open_mask,     [OP_slice] = open_slice,
};

bool open_operands(struct opening *o, struct node *n)
{
    opener *of = openers[n->op] ? openers[n->op] : op_infos[n->op].flags & OPF_ELEMENTWISE ? open_elementwise : NULL;
    return !of || of(o, n);
}
