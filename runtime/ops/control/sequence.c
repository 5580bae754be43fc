#include "runtime/ops/common/ops.h"

#include <string.h>

/* ---- types ---- */

static bool sequence_type(struct infer *f, const struct type *elem)
{
    f->out[0] = type_container(VK_SEQUENCE, arena_copy(f->arena, elem, sizeof *elem));
    return true;
}

/* One type for elements of two types: shapes that differ are not known. */
static struct type join(const struct type *a, const struct type *b)
{
    struct type t = *a;
    if (!type_equal(a, b))
        t.rank = RANK_UNKNOWN;
    return t;
}

static struct type element_type(const struct type *t)
{
    return t->elem ? *t->elem : type_tensor(DT_F32, RANK_UNKNOWN, NULL);
}

bool infer_sequence_empty(struct infer *f)
{
    struct type elem = type_tensor((int)attr_int(f->attrs, "dtype", DT_F32), RANK_UNKNOWN, NULL);
    return sequence_type(f, &elem);
}

bool infer_sequence_construct(struct infer *f)
{
    struct type elem = f->in[0];
    for (int i = 1; i < f->nin; i++)
        elem = join(&elem, &f->in[i]);
    return sequence_type(f, &elem);
}

bool infer_sequence_insert(struct infer *f)
{
    struct type elem = element_type(&f->in[0]);
    elem = join(&elem, &f->in[1]);
    return sequence_type(f, &elem);
}

bool infer_sequence_erase(struct infer *f)
{
    f->out[0] = f->in[0];
    return true;
}

bool infer_sequence_at(struct infer *f)
{
    f->out[0] = element_type(&f->in[0]);
    return true;
}

bool infer_sequence_length(struct infer *f)
{
    return infer_out(f, 0, DT_I64, 0, NULL);
}

bool infer_split_to_sequence(struct infer *f)
{
    struct type elem = f->in[0];
    int axis;
    if (elem.rank != RANK_UNKNOWN) {
        if (!infer_axis(f, attr_int(f->attrs, "axis", 0), elem.rank, &axis))
            return false;
        if (has_input(f, 1)) {
            elem.rank = RANK_UNKNOWN; /* parts may differ */
        } else if (attr_int(f->attrs, "keepdims", 1)) {
            elem.dims[axis] = 1;
        } else {
            elem.rank--;
            memmove(elem.dims + axis, elem.dims + axis + 1,
                    (size_t)(elem.rank - axis) * sizeof *elem.dims);
        }
    }
    return sequence_type(f, &elem);
}

bool infer_concat_from_sequence(struct infer *f)
{
    struct type elem = element_type(&f->in[0]);
    if (elem.kind != VK_TENSOR)
        return fail(f->d, "the elements of the sequence are not tensors");
    return infer_out(f, 0, elem.dtype, RANK_UNKNOWN, NULL);
}

bool infer_optional(struct infer *f)
{
    const struct type *given = attr_type(f->attrs, "type");
    struct type elem = type_tensor(DT_F32, RANK_UNKNOWN, NULL);
    if (has_input(f, 0))
        elem = f->in[0];
    else if (given)
        elem = given->kind == VK_OPTIONAL && given->elem ? *given->elem : *given;
    f->out[0] = type_container(VK_OPTIONAL, arena_copy(f->arena, &elem, sizeof elem));
    return true;
}

bool infer_optional_get(struct infer *f)
{
    f->out[0] = f->in[0].kind == VK_OPTIONAL ? element_type(&f->in[0]) : f->in[0];
    return true;
}

bool infer_optional_has(struct infer *f)
{
    return infer_out(f, 0, DT_BOOL, 0, NULL);
}

/* ---- sequences ---- */

static bool takes_sequence(struct op_call *c)
{
    return c->in[0]->kind == VK_SEQUENCE || fail(c->env->d, "operand 0 is not a sequence");
}

/* A new sequence of n items in place of result 0, with the operand's element type. */
static bool new_sequence(struct op_call *c, int64_t n, int dtype, struct tensor *made)
{
    *made = (struct tensor){.kind = VK_NONE};
    if (!tensor_alloc_items(made, VK_SEQUENCE, n, c->env->d))
        return false;
    made->dtype = (uint8_t)dtype;
    return true;
}

bool eval_sequence_empty(struct op_call *c)
{
    struct tensor made;
    if (!new_sequence(c, 0, (int)attr_int(c->attrs, "dtype", DT_F32), &made))
        return false;
    tensor_move(c->out[0], &made);
    return true;
}

bool eval_sequence_construct(struct op_call *c)
{
    struct tensor made;
    bool ok = new_sequence(c, c->nin, c->in[0]->dtype, &made);
    for (int i = 0; ok && i < c->nin; i++)
        ok = tensor_copy(&made.items[i], c->in[i], c->env->d);
    if (ok)
        tensor_move(c->out[0], &made);
    else
        tensor_free(&made);
    return ok;
}

/* Operand `which` as a position in a sequence of n items; `missing` when left out. */
static bool read_position(struct op_call *c, int which, int64_t n, int64_t missing, bool end_too,
                          int64_t *at)
{
    *at = missing;
    if (!has_operand(c, which))
        return true;
    if (tensor_count(c->in[which]) != 1)
        return fail(c->env->d, "position has %lld elements, expected 1",
                    (long long)tensor_count(c->in[which]));
    int64_t given = tensor_i64(c->in[which], 0);
    *at = given < 0 ? given + n : given;
    if (*at < 0 || *at >= n + end_too)
        return fail(c->env->d, "position %lld is outside a sequence of %lld", (long long)given,
                    (long long)n);
    return true;
}

/* The sequence with `skip` left out (-1: none) and `extra` (NULL: none) before position `at`. */
static bool edited(struct op_call *c, int64_t at, int64_t skip, const struct tensor *extra)
{
    const struct tensor *s = c->in[0];
    struct tensor made;
    bool ok = new_sequence(c, s->nitems + (extra != NULL) - (skip >= 0),
                           extra && !s->nitems ? extra->dtype : s->dtype, &made);
    int64_t to = 0;
    for (int64_t i = 0; ok && i <= s->nitems; i++) {
        if (extra && i == at)
            ok = tensor_copy(&made.items[to++], extra, c->env->d);
        if (ok && i < s->nitems && i != skip)
            ok = tensor_copy(&made.items[to++], &s->items[i], c->env->d);
    }
    if (ok)
        tensor_move(c->out[0], &made);
    else
        tensor_free(&made);
    return ok;
}

bool eval_sequence_insert(struct op_call *c)
{
    int64_t at;
    return takes_sequence(c) &&
           read_position(c, 2, c->in[0]->nitems, c->in[0]->nitems, true, &at) &&
           edited(c, at, -1, c->in[1]);
}

bool eval_sequence_erase(struct op_call *c)
{
    int64_t at;
    if (!takes_sequence(c))
        return false;
    if (c->in[0]->nitems == 0)
        return fail(c->env->d, "the sequence is empty, there is nothing to erase");
    return read_position(c, 1, c->in[0]->nitems, c->in[0]->nitems - 1, false, &at) &&
           edited(c, -1, at, NULL);
}

bool eval_sequence_at(struct op_call *c)
{
    int64_t at;
    return takes_sequence(c) && read_position(c, 1, c->in[0]->nitems, 0, false, &at) &&
           tensor_copy(c->out[0], &c->in[0]->items[at], c->env->d);
}

bool eval_sequence_length(struct op_call *c)
{
    if (!takes_sequence(c))
        return false;
    dtype_store_i64(c->out[0]->dtype, c->out[0]->data, 0, c->in[0]->nitems);
    return true;
}

/* ---- between sequences and tensors ---- */

/*
 * Copies places [from, from + n) of `whole` along the axis out of (or, with `into`, to) the dense
 * tensor `part`, whose axis is n long.
 */
static bool copy_part(struct tensor *whole, struct tensor *part, int axis, int64_t from, int64_t n,
                      int64_t length, bool into, struct diag *d)
{
    int64_t outer = dims_product(whole->dims, 0, axis);
    int64_t inner = dims_product(whole->dims, axis + 1, whole->rank);
    if (whole->dtype == DT_STR) {
        struct str *a = whole->data, *b = part->data;
        for (int64_t o = 0; o < outer; o++)
            for (int64_t i = 0; i < n * inner; i++) {
                int64_t at = (o * length + from) * inner + i;
                if (into)
                    a[at] = b[o * n * inner + i];
                else
                    b[o * n * inner + i] = a[at];
            }
        return into || tensor_set_strings(part, part->rank, part->dims, b, d);
    }
    size_t size = dtype_bytes(whole->dtype) * (size_t)inner;
    for (int64_t o = 0; o < outer; o++) {
        char *a = (char *)whole->data + (size_t)(o * length + from) * size;
        char *b = (char *)part->data + (size_t)(o * n) * size;
        memcpy(into ? a : b, into ? b : a, size * (size_t)n);
    }
    return true;
}

/* Length of part i, from the split operand: one size for all (the last smaller), or one each. */
static int64_t part_length(const struct op_call *c, int64_t i, int64_t length)
{
    if (!has_operand(c, 1))
        return 1;
    if (c->in[1]->rank > 0)
        return tensor_i64(c->in[1], i);
    int64_t size = tensor_i64(c->in[1], 0);
    return length - i * size < size ? length - i * size : size;
}

static bool count_parts(struct op_call *c, int64_t length, int64_t *parts)
{
    const struct tensor *split = has_operand(c, 1) ? c->in[1] : NULL;
    *parts = length;
    if (split && split->rank == 0) {
        int64_t size = tensor_i64(split, 0);
        if (size < 1)
            return fail(c->env->d, "split is %lld, expected 1 or more", (long long)size);
        *parts = (length + size - 1) / size;
    } else if (split) {
        int64_t sum = 0;
        *parts = tensor_count(split);
        for (int64_t i = 0; i < *parts; i++) {
            int64_t size = tensor_i64(split, i);
            if (size < 0 || size > length - sum)
                return fail(c->env->d, "split sizes do not sum to %lld", (long long)length);
            sum += size;
        }
        if (sum != length)
            return fail(c->env->d, "split sizes sum to %lld, expected %lld", (long long)sum,
                        (long long)length);
    }
    return true;
}

bool eval_split_to_sequence(struct op_call *c)
{
    struct tensor *x = c->in[0], made;
    int64_t axis = attr_int(c->attrs, "axis", 0), parts, from = 0;
    bool drop = !has_operand(c, 1) && !attr_int(c->attrs, "keepdims", 1);
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis >= x->rank)
        return fail(c->env->d, "axis %lld is out of range for rank %d", (long long)axis, x->rank);
    if (!count_parts(c, x->dims[axis], &parts))
        return false;
    bool ok = new_sequence(c, parts, x->dtype, &made);
    for (int64_t i = 0; ok && i < parts; i++) {
        int64_t dims[MAX_RANK], n = part_length(c, i, x->dims[axis]);
        struct tensor *part = &made.items[i];
        memcpy(dims, x->dims, sizeof dims);
        dims[axis] = n;
        ok = tensor_alloc(part, x->dtype, x->rank, dims, c->env->d) &&
             copy_part(x, part, (int)axis, from, n, x->dims[axis], false, c->env->d);
        if (ok && drop) {
            part->rank--;
            memmove(part->dims + axis, part->dims + axis + 1,
                    (size_t)(part->rank - axis) * sizeof *part->dims);
        }
        from += n;
    }
    if (ok)
        tensor_move(c->out[0], &made);
    else
        tensor_free(&made);
    return ok;
}

/* The item as concatenated: with a dim of 1 at the axis when that is new. */
static struct tensor as_part(const struct tensor *item, int axis, bool new_axis)
{
    int64_t dims[MAX_RANK];
    memcpy(dims, item->dims, sizeof dims);
    if (new_axis) {
        memmove(dims + axis + 1, dims + axis, (size_t)(item->rank - axis) * sizeof *dims);
        dims[axis] = 1;
    }
    return tensor_view(item->dtype, item->rank + new_axis, dims, item->data);
}

bool eval_concat_from_sequence(struct op_call *c)
{
    const struct tensor *s = c->in[0];
    bool new_axis = attr_int(c->attrs, "new_axis", 0) != 0;
    int64_t axis = attr_int(c->attrs, "axis", 0), total = 0, from = 0, dims[MAX_RANK];
    if (!takes_sequence(c))
        return false;
    if (s->nitems == 0)
        return fail(c->env->d, "the sequence is empty, its elements have no shape");
    int rank = s->items[0].rank + new_axis;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank || rank > MAX_RANK)
        return fail(c->env->d, "axis %lld is out of range for rank %d", (long long)axis, rank);
    for (int64_t i = 0; i < s->nitems; i++) {
        const struct tensor *item = &s->items[i];
        if (item->kind != VK_TENSOR || item->dtype != s->items[0].dtype ||
            item->rank + new_axis != rank)
            return fail(c->env->d, "item %lld has another type than item 0", (long long)i);
        struct tensor part = as_part(item, (int)axis, new_axis);
        if (i == 0)
            memcpy(dims, part.dims, sizeof dims);
        for (int k = 0; k < rank; k++)
            if (k != axis && part.dims[k] != dims[k])
                return fail(c->env->d, "item %lld has another shape than item 0", (long long)i);
        total += part.dims[axis];
    }
    dims[axis] = total;
    struct tensor *y = call_out(c, 0, s->items[0].dtype, rank, dims);
    for (int64_t i = 0; y && i < s->nitems; i++) {
        struct tensor part = as_part(&s->items[i], (int)axis, new_axis);
        copy_part(y, &part, (int)axis, from, part.dims[axis], total, true, c->env->d);
        from += part.dims[axis];
    }
    return y && own_strings(c, 0);
}

/* ---- optionals ---- */

bool eval_optional(struct op_call *c)
{
    struct tensor made = {.kind = VK_NONE};
    bool some = has_operand(c, 0);
    if (!tensor_alloc_items(&made, VK_OPTIONAL, some, c->env->d) ||
        (some && !tensor_copy(&made.items[0], c->in[0], c->env->d))) {
        tensor_free(&made);
        return false;
    }
    tensor_move(c->out[0], &made);
    return true;
}

bool eval_optional_get(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    if (x->kind == VK_OPTIONAL && x->nitems == 0)
        return fail(c->env->d, "the optional is empty");
    return tensor_copy(c->out[0], x->kind == VK_OPTIONAL ? &x->items[0] : x, c->env->d);
}

bool eval_optional_has(struct op_call *c)
{
    bool has = has_operand(c, 0) && (c->in[0]->kind != VK_OPTIONAL || c->in[0]->nitems > 0);
    dtype_store_i64(c->out[0]->dtype, c->out[0]->data, 0, has);
    return true;
}
