/*
 * Attributes, types and small tensors in the byte format of the streams.
 */
#include "neff/isa/codec.h"
#include "neff/isa/streams.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 8 };

static void code_str(struct codec *c, struct str *s)
{
    const void *p = s->p;
    size_t n = s->n;
    code_blob(c, &p, &n);
    if (!c->writing)
        *s = (struct str){arena_strndup(c->arena, p, n), n};
}

/* Expressions mean nothing outside their table: a type with symbolic dims is stored without its
 * shape. */
static void code_type(struct codec *c, struct type *t, int depth)
{
    int dtype = t->dtype, rank = t->rank, kind = t->kind;
    for (int i = 0; c->writing && i < t->rank; i++)
        if (!dim_is_const(t->dims[i]))
            rank = RANK_UNKNOWN;
    code_ranged(c, &kind, VK_TENSOR, VK_NONE, "kind of value");
    code_ranged(c, &dtype, 0, DT_END - 1, "element type");
    code_ranged(c, &rank, RANK_UNKNOWN, MAX_RANK, "rank");
    t->kind = (uint8_t)kind, t->dtype = (uint8_t)dtype, t->rank = (int8_t)rank;
    if (kind == VK_TENSOR && !dtype_valid(dtype))
        codec_fail(c, "unknown element type");
    for (int i = 0; i < rank; i++) {
        code_i64(c, &t->dims[i]);
        if (!dim_is_const(t->dims[i]))
            codec_fail(c, "bad dimension");
    }
    bool has_elem = t->elem != NULL;
    code_bool(c, &has_elem);
    if (!has_elem || c->failed)
        return;
    if (depth == MAX_DEPTH) {
        codec_fail(c, "type nested too deeply");
        return;
    }
    struct type *elem = c->writing ? (struct type *)t->elem : ARENA_NEW(c->arena, struct type);
    code_type(c, elem, depth + 1);
    t->elem = elem;
}

static void code_strings(struct codec *c, struct tensor *t, int64_t n)
{
    struct str *s = t->data;
    if (!c->writing) {
        if ((uint64_t)n > c->size - c->at) {
            codec_fail(c, "more strings than bytes");
            return;
        }
        t->data = s = ARENA_ARRAY(c->arena, struct str, n);
    }
    for (int64_t i = 0; i < n; i++)
        code_str(c, &s[i]);
}

void code_tensor(struct codec *c, struct tensor *t)
{
    int dtype = t->dtype, rank = t->rank;
    code_ranged(c, &dtype, 0, DT_END - 1, "element type");
    code_ranged(c, &rank, 0, MAX_RANK, "rank");
    if (!dtype_valid(dtype))
        codec_fail(c, "unknown element type");
    int64_t n = 1;
    for (int i = 0; i < rank; i++) {
        code_i64(c, &t->dims[i]);
        if (t->dims[i] < 0 || __builtin_mul_overflow(n, t->dims[i], &n))
            codec_fail(c, "bad dimension");
    }
    if (c->failed)
        return;
    t->dtype = (uint8_t)dtype, t->rank = rank, t->kind = VK_TENSOR;
    if (dtype == DT_STR) {
        code_strings(c, t, n);
        return;
    }
    const void *data = t->data;
    size_t size = c->writing ? tensor_bytes(t) : 0;
    code_blob(c, &data, &size);
    if (c->failed || c->writing)
        return;
    if ((uint64_t)n > size || (uint64_t)n * dtype_bytes(dtype) != size)
        codec_fail(c, "tensor data of the wrong size");
    else
        t->data = arena_copy(c->arena, data, size); /* aligned */
}

static void code_value(struct codec *c, struct attr *a)
{
    switch (a->kind) {
    case ATTR_INT:
        code_i64(c, &a->i);
        return;
    case ATTR_FLOAT:
        code_f64(c, &a->f);
        return;
    case ATTR_STR:
        code_str(c, &a->s);
        return;
    case ATTR_TENSOR: {
        struct tensor *t =
            c->writing ? (struct tensor *)a->tensor : ARENA_NEW(c->arena, struct tensor);
        code_tensor(c, t);
        a->tensor = t;
        return;
    }
    case ATTR_TYPE: {
        struct type *t = c->writing ? (struct type *)a->type : ARENA_NEW(c->arena, struct type);
        code_type(c, t, 0);
        a->type = t;
        return;
    }
    }
    static const size_t units[] = {[ATTR_INTS] = sizeof(int64_t),
                                   [ATTR_FLOATS] = sizeof(double),
                                   [ATTR_STRS] = sizeof(struct str)};
    code_count(c, &a->count, 1);
    void *list =
        c->writing ? (void *)a->ints : arena_alloc(c->arena, units[a->kind] * (size_t)a->count);
    a->ints = list;
    for (int i = 0; i < a->count && !c->failed; i++)
        if (a->kind == ATTR_INTS)
            code_i64(c, &((int64_t *)list)[i]);
        else if (a->kind == ATTR_FLOATS)
            code_f64(c, &((double *)list)[i]);
        else
            code_str(c, &((struct str *)list)[i]);
}

void code_attrs(struct codec *c, struct attrs *as)
{
    code_count(c, &as->count, 2);
    if (!c->writing)
        as->list = ARENA_ARRAY(c->arena, struct attr, as->count), as->cap = as->count;
    for (int i = 0; i < as->count && !c->failed; i++) {
        struct attr *a = &as->list[i];
        code_text(c, &a->name);
        code_ranged(c, &a->kind, ATTR_INT, ATTR_TYPE, "kind of attribute");
        if (!a->name)
            codec_fail(c, "attribute without a name");
        if (!c->failed)
            code_value(c, a);
    }
    if (c->failed && !c->writing)
        as->count = 0;
}
