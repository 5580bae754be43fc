/*
 * Files of test cases and of users: one TensorProto, SequenceProto, OptionalProto or MapProto. The
 * last three are not in onnx.proto; they are read from the wire format.
 */
#include "frontend/onnx/message.h"
#include "frontend/onnx/tensor_proto.h"
#include "frontend/wire.h"

#include <string.h>

enum { MAX_DEPTH = 32 };

/* Field numbers of SequenceProto; those of OptionalProto are the same. */
enum { FIELD_TENSOR = 3, FIELD_SPARSE = 4, FIELD_SEQUENCE = 5, FIELD_MAP = 6, FIELD_OPTIONAL = 7 };
/* of MapProto */
enum { FIELD_KEYS = 3, FIELD_STRING_KEYS = 4, FIELD_VALUES = 5 };

static bool read_value(int kind, const uint8_t *p, size_t n, int depth, struct tensor *out,
                       struct diag *d);

static bool read_tensor(const uint8_t *p, size_t n, struct tensor *out, struct diag *d)
{
    Onnx__TensorProto *t = message_unpack(&onnx__tensor_proto__descriptor, n, p);
    if (!t)
        return fail(d, "not a TensorProto message");
    bool ok = onnx_tensor(NULL, t, out, d);
    onnx__tensor_proto__free_unpacked(t, NULL);
    return ok;
}

static bool read_sparse(const uint8_t *p, size_t n, struct tensor *out, struct diag *d)
{
    Onnx__SparseTensorProto *s = message_unpack(&onnx__sparse_tensor_proto__descriptor, n, p);
    if (!s)
        return fail(d, "not a SparseTensorProto message");
    bool ok = onnx_sparse_tensor(NULL, s, out, d);
    onnx__sparse_tensor_proto__free_unpacked(s, NULL);
    return ok;
}

static bool read_element(const struct wire_field *f, int depth, struct tensor *out, struct diag *d)
{
    switch (f->number) {
    case FIELD_TENSOR:
        return read_tensor(f->data, f->size, out, d);
    case FIELD_SPARSE:
        return read_sparse(f->data, f->size, out, d);
    case FIELD_SEQUENCE:
        return read_value(VK_SEQUENCE, f->data, f->size, depth + 1, out, d);
    case FIELD_MAP:
        return read_value(VK_MAP, f->data, f->size, depth + 1, out, d);
    default:
        return read_value(VK_OPTIONAL, f->data, f->size, depth + 1, out, d);
    }
}

static bool is_element(const struct wire_field *f)
{
    return f->type == WIRE_BYTES && f->number >= FIELD_TENSOR && f->number <= FIELD_OPTIONAL;
}

static bool read_items(int kind, const uint8_t *p, size_t n, int depth, struct tensor *out,
                       struct diag *d)
{
    struct wire w = {.p = p, .end = p + n};
    struct wire_field f;
    int64_t count = 0;
    while (wire_next(&w, &f))
        count += is_element(&f);
    if (w.bad)
        return fail(d, "the message is damaged or truncated");
    if (kind == VK_OPTIONAL && count > 1)
        return fail(d, "an optional holds %lld values, expected one or none", (long long)count);
    if (!tensor_alloc_items(out, kind, count, d))
        return false;
    w = (struct wire){.p = p, .end = p + n};
    for (int64_t i = 0; wire_next(&w, &f);)
        if (is_element(&f) && !read_element(&f, depth, &out->items[i++], d))
            return false;
    if (count && out->items[0].kind == VK_TENSOR)
        out->dtype = out->items[0].dtype;
    return true;
}

/* The keys of a MapProto, as a tensor of rank 1: strings when there are no integers. */
static bool read_keys(const uint8_t *p, size_t n, struct tensor *out, struct diag *d)
{
    struct wire w = {.p = p, .end = p + n};
    struct wire_field f;
    struct arena a = {0};
    struct str *strings = ARENA_ARRAY(&a, struct str, n + 1);
    int64_t *numbers = ARENA_ARRAY(&a, int64_t, n + 1);
    int64_t nstrings = 0, nnumbers = 0;
    while (wire_next(&w, &f)) {
        uint64_t v;
        if (f.number == FIELD_STRING_KEYS && f.type == WIRE_BYTES)
            strings[nstrings++] = (struct str){(const char *)f.data, f.size};
        else if (f.number == FIELD_KEYS && f.type == WIRE_BYTES) /* packed */
            for (const uint8_t *q = f.data; wire_varint(&q, f.data + f.size, &v);)
                numbers[nnumbers++] = (int64_t)v;
        else if (f.number == FIELD_KEYS)
            numbers[nnumbers++] = (int64_t)f.value;
    }
    bool ok = !w.bad || fail(d, "the message is damaged or truncated");
    if (ok && nnumbers) {
        ok = tensor_alloc_dirty(out, DT_I64, 1, &nnumbers, d);
        if (ok)
            memcpy(out->data, numbers, sizeof *numbers * (size_t)nnumbers);
    } else if (ok) {
        ok = tensor_set_strings(out, 1, &nstrings, strings, d);
    }
    arena_free(&a);
    return ok;
}

static bool read_map(const uint8_t *p, size_t n, int depth, struct tensor *out, struct diag *d)
{
    struct wire w = {.p = p, .end = p + n};
    struct wire_field f;
    if (!tensor_alloc_items(out, VK_MAP, 2, d) || !read_keys(p, n, &out->items[0], d))
        return false;
    while (wire_next(&w, &f))
        if (f.number == FIELD_VALUES && f.type == WIRE_BYTES &&
            !read_value(VK_SEQUENCE, f.data, f.size, depth + 1, &out->items[1], d))
            return false;
    if (out->items[1].kind != VK_SEQUENCE || out->items[1].nitems != tensor_count(&out->items[0]))
        return fail(d, "a map's keys and values differ in number");
    return true;
}

static bool read_value(int kind, const uint8_t *p, size_t n, int depth, struct tensor *out,
                       struct diag *d)
{
    if (depth > MAX_DEPTH)
        return fail(d, "values are nested more than %d deep", MAX_DEPTH);
    if (kind == VK_TENSOR)
        return read_tensor(p, n, out, d);
    return kind == VK_MAP ? read_map(p, n, depth, out, d) : read_items(kind, p, n, depth, out, d);
}

bool onnx_read_tensor_bytes(const void *data, size_t size, const char *name, struct tensor *out,
                            const struct type *declared, struct diag *d)
{
    int kind = declared && declared->kind != VK_NONE ? declared->kind : VK_TENSOR;
    *out = (struct tensor){.kind = VK_NONE};
    if (read_value(kind, data, size, 0, out, d))
        return true;
    tensor_free(out);
    return fail_in(d, "%s", name);
}
