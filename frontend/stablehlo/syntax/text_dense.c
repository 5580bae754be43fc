/*
 * Elements of constants: `dense<...> : type` and `dense_resource<name> : type`. The type comes
 * last, so the text of the elements is found first and read when the type is known.
 */
#include "frontend/stablehlo/syntax/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct dense {
    struct text *t;
    const char *p, *end;
    const struct mlir_type *type;
    int dtype;
    void *data;
    int64_t at, count; /* elements stored, and expected */
};

static bool wrong(struct dense *e, const char *what)
{
    return text_fail_at(e->t, e->p < e->t->end ? e->p : e->t->end, "%s", what);
}

static char next(struct dense *e)
{
    while (e->p < e->end && (isspace((unsigned char)*e->p)))
        e->p++;
    return e->p < e->end ? *e->p : 0;
}

static bool word(struct dense *e, const char *w)
{
    size_t n = strlen(w);
    if ((size_t)(e->end - e->p) < n || memcmp(e->p, w, n))
        return false;
    e->p += n;
    return true;
}

/* The bits that hexadecimal digits spell are those of a float. */
static void store_bits(int dtype, void *data, int64_t at, uint64_t bits)
{
    size_t n = dtype_bytes(dtype);
    memcpy((char *)data + (size_t)at * n, &bits, n);
}

static bool real(struct dense *e, int dtype, int64_t at)
{
    char digits[400];
    size_t n = 0;
    next(e);
    while (e->p + n < e->end && n < sizeof digits - 1 &&
           (isalnum((unsigned char)e->p[n]) || strchr("+-.", e->p[n])))
        n++;
    memcpy(digits, e->p, n);
    digits[n] = 0;
    char *stop;
    if (n > 2 && digits[0] == '0' && digits[1] == 'x') {
        uint64_t bits = strtoull(digits, &stop, 16);
        if (*stop || (n - 2) * 4 > 8 * dtype_bytes(dtype))
            return wrong(e, "expected the bits of a float");
        store_bits(dtype, e->data, at, bits);
    } else {
        double v = strtod(digits, &stop);
        if (!n || *stop || isalpha((unsigned char)digits[0]))
            return wrong(e, "expected a number");
        dtype_store_f64(dtype, e->data, (size_t)at, v);
    }
    e->p += n;
    return true;
}

static bool whole(struct dense *e)
{
    char digits[80];
    size_t n = 0;
    next(e);
    if (word(e, "true") || word(e, "false")) {
        if (e->dtype != DT_BOOL)
            return wrong(e, "a boolean in a tensor of another type");
        ((uint8_t *)e->data)[e->at] = e->p[-2] == 'u';
        return true;
    }
    while (e->p + n < e->end && n < sizeof digits - 1 &&
           (isalnum((unsigned char)e->p[n]) || e->p[n] == '-'))
        n++;
    memcpy(digits, e->p, n);
    digits[n] = 0;
    char *stop;
    bool hex = strstr(digits, "0x") != NULL;
    int64_t v = digits[0] == '-' ? strtoll(digits, &stop, hex ? 16 : 10)
                                 : (int64_t)strtoull(digits, &stop, hex ? 16 : 10);
    if (!n || *stop)
        return wrong(e, "expected an integer");
    int bits = dtype_info(e->dtype)->bits;
    bool negative = digits[0] == '-';
    bool fits = e->dtype == DT_BOOL ? v == 0 || v == 1 || v == -1
                : bits == 64        ? true
                : negative          ? v >= -((int64_t)1 << (bits - 1))
                                    : (uint64_t)v < (uint64_t)1 << bits;
    if (!fits || (negative && dtype_class(e->dtype) == DTC_UINT))
        return wrong(e, "an integer that does not fit in the element type");
    if (e->dtype == DT_BOOL)
        ((uint8_t *)e->data)[e->at] = v != 0;
    else
        dtype_store_i64(e->dtype, e->data, (size_t)e->at, v);
    e->p += n;
    return true;
}

static bool element(struct dense *e)
{
    if (e->at >= e->count)
        return wrong(e, "more elements than the type has");
    if (dtype_is_complex(e->dtype)) {
        int part = e->dtype == DT_C64 ? DT_F32 : DT_F64;
        bool ok = next(e) == '(' && (e->p++, real(e, part, 2 * e->at)) && next(e) == ',' &&
                  (e->p++, real(e, part, 2 * e->at + 1)) && next(e) == ')';
        if (!ok)
            return diag_failed(e->t->d) ? false : wrong(e, "expected (real, imaginary)");
        e->p++;
    } else if (dtype_is_float(e->dtype) ? !real(e, e->dtype, e->at) : !whole(e)) {
        return false;
    }
    e->at++;
    return true;
}

static bool nested(struct dense *e, int level)
{
    if (next(e) != '[')
        return level == e->type->rank ? element(e)
                                      : wrong(e, "fewer levels of brackets than dimensions");
    if (level >= e->type->rank)
        return wrong(e, "more levels of brackets than dimensions");
    int64_t n = 0;
    e->p++;
    if (next(e) != ']')
        do {
            if (!nested(e, level + 1))
                return false;
            n++;
        } while (next(e) == ',' && e->p++);
    if (next(e) != ']')
        return wrong(e, "expected ']'");
    e->p++;
    if (n != e->type->dims[level])
        return text_fail_at(e->t, e->p - 1, "%lld elements in dimension %d, expected %lld",
                            (long long)n, level, (long long)e->type->dims[level]);
    return true;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c - 'A' + 10;
}

static bool hex_digits(struct dense *e, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!isxdigit((unsigned char)e->p[k]))
            return wrong(e, "expected hexadecimal digits");
    return true;
}

static int byte_at(const struct dense *e, int64_t k)
{
    return digit(e->p[2 * k]) * 16 + digit(e->p[2 * k + 1]);
}

/*
 * Booleans have a byte each, or are packed into bits as MLIR did until 2025. One byte stands for all
 * elements where it cannot be packed: its bits are equal, or there are more than 8.
 */
static bool booleans(struct dense *e, size_t have, bool *splat)
{
    size_t packed = ((size_t)e->count + 7) / 8, all = (size_t)e->count;
    *splat = have == 1 && (byte_at(e, 0) % 255 == 0 || e->count > 8);
    if (have != packed && have != all && !*splat)
        return wrong(e, "the number of bytes does not fit the type");
    uint8_t *out = e->data;
    for (int64_t k = 0; k < (*splat ? 1 : e->count); k++)
        out[k] = have == all || *splat ? byte_at(e, k) != 0 : byte_at(e, k / 8) >> k % 8 & 1;
    return true;
}

/* Bytes as hexadecimal digits: one element for all, or all of them; a byte for 2 and 4 bits too. */
static bool bytes(struct dense *e, size_t n, bool *splat)
{
    size_t one = dtype_bytes(e->dtype), have = n / 2;
    if (n % 2 || !hex_digits(e, n))
        return n % 2 ? wrong(e, "an odd number of hexadecimal digits") : false;
    uint8_t *out = e->data;
    if (e->dtype == DT_BOOL)
        return booleans(e, have, splat);
    *splat = have == one && e->count != 1;
    if (have != one * (size_t)e->count && !*splat)
        return wrong(e, "the number of bytes does not fit the type");
    for (size_t k = 0; k < have; k++)
        out[k] = (uint8_t)byte_at(e, (int64_t)k);
    return true;
}

/* Memory for what so many digits can fill: the type may say much more than there is. */
static size_t room_for(const struct dense *e, size_t digits)
{
    size_t want = (size_t)e->count * dtype_bytes(e->dtype), max = 8 * (digits / 2);
    return (want < max ? want : max) + 16;
}

static bool strings(struct dense *e, struct mlir_attr *a)
{
    int capacity = 0;
    struct text *t = e->t;
    const char *back = t->p;
    a->strings = true;
    for (; e->p < e->end; e->p++)
        if (*e->p == '"') {
            struct mlir_attr *s = mlir_attr_new(t->arena, MA_STRING);
            t->p = e->p;
            if (!(s->text = text_string(t, &s->size)))
                return false;
            e->p = t->p - 1;
            ARENA_GROW(t->arena, a->items, a->count, capacity);
            a->items[a->count++] = s;
        }
    t->p = back;
    return true;
}

static bool fill(struct dense *e, struct mlir_attr *a)
{
    char c = next(e);
    size_t room = dtype_bytes(e->dtype);
    if (c == '"') {
        const char *quote = memchr(e->p + 1, '"', (size_t)(e->end - e->p - 1));
        if (!quote || quote - e->p < 3 || memcmp(e->p, "\"0x", 3))
            return wrong(e, "expected \"0x...\"");
        e->p += 3;
        size_t n = (size_t)(quote - e->p);
        if (n / 2 < (size_t)e->count * room && e->dtype != DT_BOOL && n / 2 != room)
            return wrong(e, "the number of bytes does not fit the type");
        e->data = arena_alloc(e->t->arena, room_for(e, n));
        a->data = e->data;
        return bytes(e, n, &a->splat);
    }
    if (c == 0) {
        a->data = arena_alloc(e->t->arena, 16);
        return e->count == 0 || wrong(e, "there are no elements, but the type has some");
    }
    a->splat = c != '[' && e->type->rank > 0;
    int64_t dims[1] = {1};
    struct mlir_type scalar = *e->type;
    if (a->splat) {
        scalar.rank = 0;
        scalar.dims = dims;
        e->type = &scalar;
        e->count = 1;
    } else if (e->count > (e->end - e->p) + 1) {
        return wrong(e, "fewer elements than the type has");
    }
    e->data = arena_alloc(e->t->arena, (size_t)e->count * room + 16);
    a->data = e->data;
    if (!nested(e, 0))
        return false;
    return (e->at == e->count && !next(e)) || wrong(e, "expected the end of the elements");
}

static bool resource(struct dense *e, struct mlir_attr *a)
{
    struct text *t = e->t;
    while (e->p < e->end && isspace((unsigned char)*e->p))
        e->p++;
    const char *name = e->p;
    while (e->p < e->end && (isalnum((unsigned char)*e->p) || strchr("_.$", *e->p)))
        e->p++;
    size_t n = (size_t)(e->p - name);
    for (int k = 0; k < t->resource_count; k++)
        if (t->resources[k].size == n && !memcmp(t->resources[k].name, name, n)) {
            e->p = t->resources[k].hex;
            e->data = arena_alloc(t->arena, room_for(e, t->resources[k].digits));
            a->data = e->data;
            return bytes(e, t->resources[k].digits, &a->splat);
        }
    return true; /* left out: whoever needs the values complains */
}

const struct mlir_attr *text_dense(struct text *t)
{
    const char *from, *to, *at = t->p;
    bool by_name = text_word(t, "dense_resource");
    if (!by_name)
        text_word(t, "dense");
    if (text_peek(t) != '<') {
        text_expected(t, "'<'");
        return NULL;
    }
    struct mlir_attr *a = mlir_attr_new(t->arena, MA_DENSE);
    if (!text_balanced(t, &from, &to) || !text_need(t, ":") || !(a->type = text_type(t)))
        return NULL;
    const struct mlir_type *type = a->type, *inner = type;
    if ((type->kind != MT_TENSOR && type->kind != MT_VECTOR) || type->rank < 0) {
        text_fail_at(t, at, "elements of a type that is not a tensor of known rank");
        return NULL;
    }
    while (inner->element)
        inner = inner->element;
    int dtype = inner->kind == MT_QUANT ? inner->quant->storage->dtype : mlir_dtype(type);
    struct dense e = {.t = t, .p = from, .end = to, .type = type, .dtype = dtype};
    if (!mlir_count(type, &e.count)) {
        text_fail_at(t, at, "elements of a tensor whose size is not known or too large");
        return NULL;
    }
    if (inner->kind == MT_OTHER && memchr(from, '"', (size_t)(to - from)))
        return strings(&e, a) ? a : NULL;
    if (!dtype_valid(dtype) || inner->kind == MT_OTHER) {
        text_fail_at(t, at, "elements of type %s", mlir_type_text(t->arena, inner));
        return NULL;
    }
    return (by_name ? resource(&e, a) : fill(&e, a)) ? a : NULL;
}
