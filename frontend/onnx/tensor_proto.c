#include "frontend/onnx/tensor_proto.h"
#include "frontend/onnx/lift.h"
#include "frontend/wire.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "payloads are used in place");

enum {
    FIELD_FLOAT = 4,
    FIELD_INT32 = 5,
    FIELD_INT64 = 7,
    FIELD_RAW = 9,
    FIELD_DOUBLE = 10,
    FIELD_UINT64 = 11
};

/* A tensor that is read. */
struct tensor_reading {
    struct onnx_file *f; /* or NULL */
    const Onnx__TensorProto *t;
    int dtype, rank;
    int64_t count; /* of elements */
    struct tensor *out;
    struct diag *d;
};

static bool make_room(const struct tensor_reading *r)
{
    return tensor_alloc_dirty(r->out, r->dtype, r->rank, r->t->dims, r->d);
}

/* A piece of a payload field inside the mapping. */
struct chunk {
    const uint8_t *p;
    size_t n;
};

/* The i-th lifted piece of a field; false when there are no more. */
static bool lifted(const struct tensor_reading *r, int field, int i, struct chunk *c)
{
    for (size_t u = 0; r->f && u < r->t->base.n_unknown_fields; u++) {
        const ProtobufCMessageUnknownField *uf = &r->t->base.unknown_fields[u];
        struct lift_reference ref;
        if (uf->tag != (uint32_t)(LIFT_REFERENCE + field) || uf->len != sizeof ref + 1 || i-- > 0)
            continue;
        memcpy(&ref, uf->data + 1, sizeof ref);
        *c = (struct chunk){r->f->map.data + ref.offset, (size_t)ref.size};
        return true;
    }
    return false;
}

static int typed_field(int dtype)
{
    switch (dtype) {
    case DT_F32:
    case DT_C64:
        return FIELD_FLOAT;
    case DT_F64:
    case DT_C128:
        return FIELD_DOUBLE;
    case DT_I64:
        return FIELD_INT64;
    case DT_U32:
    case DT_U64:
        return FIELD_UINT64;
    default:
        return FIELD_INT32;
    }
}

/* ---- from bytes ---- */

/* Elements of less than 8 bits lie one after the other from the lowest bit of each byte up; those
 * of 6 bits cross bytes. */
static void spread_bits(int dtype, int bits, const uint8_t *p, int64_t n, uint8_t *out)
{
    int mask = (1 << bits) - 1;
    bool sign = dtype_class(dtype) == DTC_SINT;
    for (int64_t i = 0; i < n; i++) {
        int64_t byte = i / 8 * bits + i % 8 * bits / 8;
        int shift = (int)(i % 8 * bits % 8);
        int v = (p[byte] | (shift + bits > 8 ? p[byte + 1] << 8 : 0)) >> shift & mask;
        out[i] = (uint8_t)(sign && v >> (bits - 1) ? v - (1 << bits) : v);
    }
}

static bool bools_canonical(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] > 1)
            return false;
    return true;
}

/* From the raw form: borrowed when it can stay where it is, and `lasting` says that it will. */
static bool from_bytes(const struct tensor_reading *r, struct chunk c, bool lasting)
{
    int dtype = r->dtype, bits = dtype_info(dtype)->bits;
    int64_t count = r->count;
    struct tensor *out = r->out;
    size_t width = dtype_bytes(dtype);
    size_t want =
        bits < 8 ? (size_t)(count / 8 * bits + (count % 8 * bits + 7) / 8) : (size_t)count * width;
    if (dtype == DT_STR)
        return fail(r->d, "strings are stored as raw bytes, expected string_data");
    if (c.n != want)
        return fail(r->d, "the payload has %zu bytes, its type and shape need %zu", c.n, want);
    size_t align = width > 8 ? 8 : width;
    bool usable =
        bits >= 8 && (uintptr_t)c.p % align == 0 && (dtype != DT_BOOL || bools_canonical(c.p, c.n));
    if (lasting && usable) {
        *out = tensor_view(dtype, r->rank, r->t->dims, (void *)c.p);
        return true;
    }
    if (!make_room(r))
        return false;
    if (bits < 8)
        spread_bits(dtype, bits, c.p, count, out->data);
    else if (c.n)
        memcpy(out->data, c.p, c.n);
    if (dtype == DT_BOOL)
        for (int64_t i = 0; i < count; i++)
            ((uint8_t *)out->data)[i] = ((uint8_t *)out->data)[i] != 0;
    return true;
}

/* ---- from typed fields ---- */

/* Integers of a typed field as they come: from the unpacked array or from lifted varints. */
struct integers {
    const int32_t *i32;
    const int64_t *i64;
    const uint64_t *u64;
    size_t n, at;
    const struct tensor_reading *r;
    int field, next_chunk;
    struct chunk c;
};

static bool next_integer(struct integers *s, uint64_t *v)
{
    if (s->at < s->n) {
        size_t i = s->at++;
        *v = s->i32 ? (uint64_t)(int64_t)s->i32[i] : s->i64 ? (uint64_t)s->i64[i] : s->u64[i];
        return true;
    }
    while (s->c.n == 0)
        if (!lifted(s->r, s->field, s->next_chunk++, &s->c))
            return false;
    const uint8_t *p = s->c.p;
    if (!wire_varint(&p, s->c.p + s->c.n, v))
        return false;
    s->c.n -= (size_t)(p - s->c.p);
    s->c.p = p;
    return true;
}

static bool from_integers(struct integers *s)
{
    int dtype = s->r->dtype, bits = dtype_info(dtype)->bits;
    struct tensor *out = s->r->out;
    struct diag *d = s->r->d;
    int64_t count = s->r->count;
    int64_t per = bits < 8 ? 8 / bits : 1, words = count / per + (count % per != 0);
    uint64_t v;
    for (int64_t i = 0; i < words; i++) {
        if (!next_integer(s, &v))
            return fail(d, "the data field has %lld entries, its type and shape need %lld",
                        (long long)i, (long long)words);
        if (bits < 8) {
            uint8_t byte = (uint8_t)v;
            int64_t n = count - i * per < per ? count - i * per : per;
            spread_bits(dtype, bits, &byte, n, (uint8_t *)out->data + i * per);
        } else if (dtype == DT_BOOL) {
            ((uint8_t *)out->data)[i] = v != 0;
        } else {
            size_t width = dtype_bytes(dtype);
            memcpy((char *)out->data + (size_t)i * width, &v, width);
        }
    }
    return !next_integer(s, &v) ||
           fail(d, "the data field has more than the %lld entries that its type and shape need",
                (long long)words);
}

static bool has_elements(const struct tensor_reading *r, int field, size_t inlined)
{
    struct chunk c;
    return inlined || lifted(r, field, 0, &c);
}

/* float_data and double_data: inline, or one or more lifted chunks. */
static bool from_floats(const struct tensor_reading *r)
{
    const Onnx__TensorProto *t = r->t;
    bool single = typed_field(r->dtype) == FIELD_FLOAT;
    int field = single ? FIELD_FLOAT : FIELD_DOUBLE;
    struct chunk c = single ? (struct chunk){(uint8_t *)t->float_data, t->n_float_data * 4}
                            : (struct chunk){(uint8_t *)t->double_data, t->n_double_data * 8};
    if (!lifted(r, field, 0, &c))
        return from_bytes(r, c, false);
    struct chunk more;
    if (!lifted(r, field, 1, &more))
        return from_bytes(r, c, true);
    if (!make_room(r))
        return false;
    size_t at = 0, want = tensor_bytes(r->out);
    for (int i = 0; lifted(r, field, i, &more); i++) {
        if (more.n > want - at)
            return fail(r->d, "the data field is longer than the %zu bytes its type and shape need",
                        want);
        memcpy((char *)r->out->data + at, more.p, more.n);
        at += more.n;
    }
    return at == want ||
           fail(r->d, "the data field has %zu bytes, its type and shape need %zu", at, want);
}

static bool from_strings(const struct tensor_reading *r)
{
    const Onnx__TensorProto *t = r->t;
    int64_t count = r->count;
    if ((int64_t)t->n_string_data != count)
        return fail(r->d, "the tensor has %zu strings, its shape needs %lld", t->n_string_data,
                    (long long)count);
    struct str *s = calloc(t->n_string_data + 1, sizeof *s);
    if (!s)
        return fail_memory(r->d, "out of memory");
    for (int64_t i = 0; i < count; i++)
        s[i] = (struct str){(char *)t->string_data[i].data, t->string_data[i].len};
    bool ok = tensor_set_strings(r->out, r->rank, t->dims, s, r->d);
    free(s);
    return ok;
}

static bool from_typed(const struct tensor_reading *r)
{
    const Onnx__TensorProto *t = r->t;
    int64_t count = r->count;
    int field = typed_field(r->dtype);
    if (r->dtype == DT_STR)
        return from_strings(r);
    if (field == FIELD_FLOAT || field == FIELD_DOUBLE)
        return from_floats(r);
    struct integers s = {.r = r, .field = field};
    if (field == FIELD_INT32) {
        s.i32 = t->int32_data;
        s.n = t->n_int32_data;
    } else if (field == FIELD_INT64) {
        s.i64 = t->int64_data;
        s.n = t->n_int64_data;
    } else {
        s.u64 = t->uint64_data;
        s.n = t->n_uint64_data;
    }
    /* Before memory is taken: every entry needs a byte of the file, and holds four elements at
     * most. */
    if (count > 0 && !has_elements(r, field, s.n))
        return fail(r->d, "the tensor has no data; its type and shape need %lld elements",
                    (long long)count);
    int64_t available = (int64_t)s.n;
    struct chunk c;
    for (int i = 0; lifted(r, field, i, &c); i++)
        available += (int64_t)c.n;
    if (count / 4 > available)
        return fail(r->d, "the data field is too short for %lld elements", (long long)count);
    return make_room(r) && from_integers(&s);
}

/* ---- external ---- */

static bool to_i64(const char *text, int64_t *out)
{
    char *end;
    long long v = strtoll(text, &end, 10);
    *out = v;
    return *text && !*end && v >= 0 && v != LLONG_MAX;
}

static bool from_external(const struct tensor_reading *r)
{
    const Onnx__TensorProto *t = r->t;
    const char *location = NULL;
    struct diag *d = r->d;
    int bits = dtype_info(r->dtype)->bits;
    int64_t offset = 0,
            size = bits < 8 ? (r->count * bits + 7) / 8 : r->count * (int64_t)dtype_bytes(r->dtype);
    for (size_t i = 0; i < t->n_external_data; i++) {
        const Onnx__StringStringEntryProto *e = t->external_data[i];
        if (!e->key || !e->value)
            return fail(d, "external data entry %zu has no key or no value", i);
        int64_t *number = !strcmp(e->key, "offset")   ? &offset
                          : !strcmp(e->key, "length") ? &size
                                                      : NULL;
        if (number && !to_i64(e->value, number))
            return fail(d, "external data %s is '%.40s', expected a number of bytes", e->key,
                        e->value);
        if (!strcmp(e->key, "location"))
            location = e->value;
    }
    if (!r->f || !location)
        return fail(d, "external data without a location, expected a file name");
    const uint8_t *p = onnx_file_external(r->f, location, offset, &size, d);
    return p && from_bytes(r, (struct chunk){p, (size_t)size}, true);
}

/* ---- whole ---- */

static bool check_dims(const int64_t *dims, size_t n, int dtype, int64_t *count, struct diag *d)
{
    if (n > MAX_RANK)
        return fail(d, "tensor of rank %zu, expected at most %d", n, MAX_RANK);
    bool empty = false, overflow = false;
    int64_t product = (int64_t)dtype_bytes(dtype) * 8;
    for (size_t i = 0; i < n; i++) {
        if (dims[i] < 0)
            return fail(d, "dimension %zu is %lld, expected 0 or more", i, (long long)dims[i]);
        empty |= dims[i] == 0;
        overflow |= __builtin_mul_overflow(product, dims[i], &product);
    }
    if (!empty && overflow)
        return fail(d, "the tensor's size does not fit 64 bits");
    *count = empty ? 0 : dims_product(dims, 0, (int)n);
    return true;
}

bool onnx_tensor(struct onnx_file *f, const Onnx__TensorProto *t, struct tensor *out,
                 struct diag *d)
{
    *out = (struct tensor){.kind = VK_NONE};
    int dtype = t->data_type;
    if (dtype <= DT_NONE || dtype > DT_F6E3M2FN || !dtype_valid(dtype))
        return fail(d, "element type %d is unknown, expected a TensorProto.DataType of 1 to 28",
                    dtype);
    struct tensor_reading r = {.f = f, .t = t, .dtype = dtype, .rank = (int)t->n_dims, .out = out, .d = d};
    struct chunk c;
    if (!check_dims(t->dims, t->n_dims, dtype, &r.count, d))
        return false;
    bool ok;
    if (t->has_data_location && t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        ok = from_external(&r);
    else if (lifted(&r, FIELD_RAW, 0, &c))
        ok = from_bytes(&r, c, true);
    else if (t->has_raw_data)
        ok = from_bytes(&r, (struct chunk){t->raw_data.data, t->raw_data.len}, false);
    else
        ok = from_typed(&r);
    if (!ok)
        tensor_free(out);
    return ok;
}

/* Writes value k at the place its index row names. */
static bool place(const struct tensor *values, const struct tensor *indices, struct tensor *out,
                  int64_t k, struct diag *d)
{
    int64_t at = 0, count = tensor_count(out);
    if (indices->rank == 2)
        for (int j = 0; j < out->rank; j++) {
            int64_t i = tensor_i64(indices, k * out->rank + j);
            if (i < 0 || i >= out->dims[j])
                return fail(d, "sparse index %lld is outside dimension %d of size %lld",
                            (long long)i, j, (long long)out->dims[j]);
            at = at * out->dims[j] + i;
        }
    else
        at = tensor_i64(indices, k);
    if (at < 0 || at >= count)
        return fail(d, "sparse index %lld is outside the tensor of %lld elements", (long long)at,
                    (long long)count);
    size_t width = dtype_bytes(values->dtype);
    memcpy((char *)out->data + (size_t)at * width, (char *)values->data + (size_t)k * width, width);
    return true;
}

bool onnx_sparse_tensor(struct onnx_file *f, const Onnx__SparseTensorProto *s, struct tensor *out,
                        struct diag *d)
{
    struct tensor values = {.kind = VK_NONE}, indices = {.kind = VK_NONE};
    *out = (struct tensor){.kind = VK_NONE};
    int64_t count;
    if (!s->values || !s->indices)
        return fail(d, "sparse tensor without values or indices");
    bool ok = onnx_tensor(f, s->values, &values, d) && onnx_tensor(f, s->indices, &indices, d) &&
              check_dims(s->dims, s->n_dims, values.dtype, &count, d);
    int64_t n = ok ? tensor_count(&values) : 0;
    if (ok &&
        (values.rank != 1 || indices.dtype != DT_I64 || indices.rank < 1 || indices.rank > 2 ||
         indices.dims[0] != n || (indices.rank == 2 && indices.dims[1] != (int64_t)s->n_dims)))
        ok = fail(d, "sparse tensor of %lld values has indices of another shape or type",
                  (long long)n);
    if (ok && values.dtype == DT_STR)
        ok = fail(d, "sparse tensors of strings are not supported; store the tensor dense");
    if (ok && count > INT64_C(1) << 32)
        ok = fail(d, "sparse tensor of %lld elements, at most 2^32; use a smaller shape",
                  (long long)count);
    ok = ok && tensor_alloc(out, values.dtype, (int)s->n_dims, s->dims, d);
    for (int64_t k = 0; ok && k < n; k++)
        ok = place(&values, &indices, out, k, d);
    tensor_free(&values);
    tensor_free(&indices);
    if (!ok)
        tensor_free(out);
    return ok;
}
