/*
 * Dictionaries: maps from integers or strings to numbers or strings, as ai.onnx.ml has them. A
 * map's two items are its keys, a tensor of rank 1, and its values, a sequence of scalars.
 */
#include "runtime/ops/common/numeric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- zip_map ---- */

bool infer_zip_map(struct infer *f)
{
    if (f->in[0].kind != VK_TENSOR || f->in[1].kind != VK_TENSOR ||
        (f->in[1].dtype != DT_STR && f->in[1].dtype != DT_I64))
        return fail(f->d, "expected a tensor, and keys of i64 or strings");
    struct type scalar = type_tensor(f->in[0].dtype, 0, NULL);
    struct type map = type_container(VK_MAP, arena_copy(f->arena, &scalar, sizeof scalar));
    map.dtype = f->in[1].dtype;
    f->out[0] = type_container(VK_SEQUENCE, arena_copy(f->arena, &map, sizeof map));
    return true;
}

static bool make_map(struct tensor *map, const struct tensor *keys, const void *values, int dtype,
                     int64_t n, struct diag *d)
{
    struct tensor *k, *v;
    if (!tensor_alloc_items(map, VK_MAP, 2, d))
        return false;
    map->dtype = keys->dtype;
    k = &map->items[0], v = &map->items[1];
    if (keys->dtype == DT_STR ? !tensor_set_strings(k, 1, &n, keys->data, d)
                              : !tensor_copy(k, keys, d))
        return false;
    k->rank = 1;
    k->dims[0] = n;
    if (!tensor_alloc_items(v, VK_SEQUENCE, n, d))
        return false;
    for (int64_t i = 0; i < n; i++) {
        if (!tensor_alloc(&v->items[i], dtype, 0, NULL, d))
            return false;
        memcpy(v->items[i].data, (const char *)values + (size_t)i * dtype_bytes(dtype),
               dtype_bytes(dtype));
    }
    return true;
}

bool eval_zip_map(struct op_call *c)
{
    const struct tensor *x = c->in[0], *keys = c->in[1];
    int64_t columns = tensor_count(keys), rows = x->rank == 2 ? x->dims[0] : 1;
    if (x->kind != VK_TENSOR || x->rank < 1 || x->rank > 2 || x->dims[x->rank - 1] != columns ||
        x->dtype == DT_STR)
        return fail(c->env->d, "expected numbers with %lld columns, as there are keys",
                    (long long)columns);
    if (!tensor_alloc_items(c->out[0], VK_SEQUENCE, rows, c->env->d))
        return false;
    for (int64_t i = 0; i < rows; i++)
        if (!make_map(&c->out[0]->items[i], keys, element(x, i * columns), x->dtype, columns,
                      c->env->d))
            return false;
    return true;
}

/* ---- operands that are maps ---- */

static bool read_map(struct op_call *c, const struct tensor **keys, const struct tensor **values)
{
    const struct tensor *x = c->in[0];
    if (x->kind != VK_MAP || x->nitems != 2 || x->items[0].kind != VK_TENSOR ||
        x->items[1].kind != VK_SEQUENCE || tensor_count(&x->items[0]) != x->items[1].nitems)
        return fail(c->env->d, "the operand is not a map of scalars");
    *keys = &x->items[0];
    *values = x->items[1].items;
    for (int64_t i = 0; i < x->items[1].nitems; i++)
        if ((*values)[i].kind != VK_TENSOR || tensor_count(&(*values)[i]) != 1 ||
            (*values)[i].dtype != (*values)[0].dtype)
            return fail(c->env->d, "the operand is not a map of scalars");
    return true;
}

static const struct type *value_type(const struct infer *f)
{
    const struct type *e = f->in[0].elem;
    return f->in[0].kind == VK_MAP && e && e->kind == VK_TENSOR ? e : NULL;
}

/* ---- dict_vectorize ---- */

bool infer_dict_vectorize(struct infer *f)
{
    const struct type *v = value_type(f);
    int ints, strs;
    attr_ints(f->attrs, "int64_vocabulary", &ints);
    attr_strs(f->attrs, "string_vocabulary", &strs);
    if (!v)
        return fail(f->d, "the operand is not a map of scalars");
    if ((ints > 0) == (strs > 0))
        return fail(f->d, "expected either int64_vocabulary or string_vocabulary");
    if (f->in[0].dtype != (ints ? DT_I64 : DT_STR))
        return fail(f->d, "the vocabulary and the map's keys differ in type");
    return infer_out(f, 0, v->dtype, 2, (dim_t[]){1, ints ? ints : strs});
}

static bool same_string(struct str a, struct str b)
{
    return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

bool eval_dict_vectorize(struct op_call *c)
{
    const struct tensor *keys, *values;
    int nints, nstrs;
    const int64_t *ints = attr_ints(c->attrs, "int64_vocabulary", &nints);
    const struct str *strs = attr_strs(c->attrs, "string_vocabulary", &nstrs);
    int64_t n = nints ? nints : nstrs;
    if (!read_map(c, &keys, &values))
        return false;
    if (keys->dtype != (nints ? DT_I64 : DT_STR))
        return fail(c->env->d, "the vocabulary and the map's keys differ in type");
    int type = tensor_count(keys) ? values->dtype : c->in[0]->items[1].dtype;
    if (type == DT_NONE)
        return fail(c->env->d, "the map is empty, so that its values have no type");
    struct tensor *y = call_out(c, 0, type, 2, (int64_t[]){1, n});
    if (!y)
        return false;
    size_t bytes = dtype_bytes(y->dtype);
    memset(y->data, 0, tensor_bytes(y));
    for (int64_t k = 0; k < tensor_count(keys); k++)
        for (int64_t i = 0; i < n; i++)
            if (nints ? ints[i] == ((const int64_t *)keys->data)[k]
                      : same_string(strs[i], ((const struct str *)keys->data)[k]))
                memcpy((char *)y->data + (size_t)i * bytes, values[k].data, bytes);
    return own_strings(c, 0);
}

/* ---- cast_map ---- */

enum { NUMBER = 352 }; /* bytes of a number as text, -1.8e308 with six decimals among them */

static int cast_type(const struct attrs *as)
{
    return attr_is(as, "cast_to", "TO_INT64")    ? DT_I64
           : attr_is(as, "cast_to", "TO_STRING") ? DT_STR
                                                 : DT_F32;
}

bool infer_cast_map(struct infer *f)
{
    if (!value_type(f) || f->in[0].dtype != DT_I64)
        return fail(f->d, "the operand is not a map from i64 to scalars");
    bool sparse = attr_is(f->attrs, "map_form", "SPARSE");
    dim_t n = sparse ? attr_int(f->attrs, "max_map", 1) : infer_unknown(f, "entries");
    if (sparse && (n < 1 || n > INT32_MAX))
        return fail(f->d, "max_map is %lld, expected 1 or more", (long long)n);
    return infer_out(f, 0, cast_type(f->attrs), 2, (dim_t[]){1, n});
}

static bool parse_number(struct str s, double *v)
{
    char text[64], *end;
    if (s.n == 0 || s.n >= sizeof text)
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = 0;
    *v = strtod(text, &end);
    return !*end;
}

static bool cast_value(struct op_call *c, const struct tensor *value, struct tensor *y, int64_t to,
                       char **text)
{
    double v;
    if (value->dtype == DT_STR) {
        struct str s = *(const struct str *)value->data;
        if (y->dtype == DT_STR) {
            ((struct str *)y->data)[to] = s;
            return true;
        }
        if (!parse_number(s, &v))
            return fail(c->env->d, "'%.*s' is not a number", (int)s.n, s.p);
    } else {
        v = tensor_f64(value, 0);
    }
    if (y->dtype == DT_STR) {
        ((struct str *)y->data)[to] = (struct str){*text, (size_t)snprintf(*text, NUMBER, "%f", v)};
        *text += NUMBER;
        return true;
    }
    dtype_store_f64(y->dtype, y->data, (size_t)to, v);
    return true;
}

static bool cast_map(struct op_call *c, struct work *w)
{
    const struct tensor *keys, *values;
    bool sparse = attr_is(c->attrs, "map_form", "SPARSE");
    if (!read_map(c, &keys, &values) || keys->dtype != DT_I64)
        return diag_failed(w->d) ? false : fail(w->d, "the map's keys are not i64");
    int64_t n = tensor_count(keys), size = sparse ? attr_int(c->attrs, "max_map", 1) : n;
    if (size < 0 || size > INT32_MAX)
        return fail(w->d, "max_map is %lld", (long long)size);
    char *text = WORK(w, char, n * NUMBER);
    struct tensor *y = text ? call_out(c, 0, cast_type(c->attrs), 2, (int64_t[]){1, size}) : NULL;
    if (!y)
        return false;
    memset(y->data, 0, tensor_bytes(y));
    for (int64_t i = 0; i < size && y->dtype == DT_STR; i++) /* where the map has no key */
        ((struct str *)y->data)[i] = (struct str){"0.f", 3};
    int64_t last = -1;
    for (int64_t to = 0; to < n; to++) { /* in order of keys */
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++) {
            int64_t k = ((const int64_t *)keys->data)[i];
            if ((to == 0 || k > last) && (best < 0 || k < ((const int64_t *)keys->data)[best]))
                best = i;
        }
        if (best < 0)
            return fail(w->d, "the map has a key twice");
        last = ((const int64_t *)keys->data)[best];
        int64_t place = sparse ? last : to;
        if (sparse && (place < 0 || place >= size))
            continue;
        if (!cast_value(c, &values[best], y, place, &text))
            return false;
    }
    return own_strings(c, 0);
}

EVAL_WITH_WORK(cast_map)
