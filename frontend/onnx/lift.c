#include "frontend/onnx/lift.h"
#include "frontend/wire.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 160 }; /* messages; a subgraph inside a subgraph is three */

static const struct nesting {
    uint8_t parent;
    uint8_t field;
    uint8_t child;
} nestings[] = {
    {MSG_MODEL, 7, MSG_GRAPH},
    {MSG_MODEL, 20, MSG_TRAINING_INFO},
    {MSG_MODEL, 25, MSG_FUNCTION},
    {MSG_GRAPH, 1, MSG_NODE},
    {MSG_GRAPH, 5, MSG_TENSOR},
    {MSG_GRAPH, 15, MSG_SPARSE_TENSOR},
    {MSG_GRAPH, 11, MSG_VALUE_INFO},
    {MSG_GRAPH, 12, MSG_VALUE_INFO},
    {MSG_GRAPH, 13, MSG_VALUE_INFO},
    {MSG_NODE, 5, MSG_ATTRIBUTE},
    {MSG_ATTRIBUTE, 5, MSG_TENSOR},
    {MSG_ATTRIBUTE, 10, MSG_TENSOR},
    {MSG_ATTRIBUTE, 6, MSG_GRAPH},
    {MSG_ATTRIBUTE, 11, MSG_GRAPH},
    {MSG_ATTRIBUTE, 22, MSG_SPARSE_TENSOR},
    {MSG_ATTRIBUTE, 23, MSG_SPARSE_TENSOR},
    {MSG_ATTRIBUTE, 14, MSG_TYPE},
    {MSG_ATTRIBUTE, 15, MSG_TYPE},
    {MSG_SPARSE_TENSOR, 1, MSG_TENSOR},
    {MSG_SPARSE_TENSOR, 2, MSG_TENSOR},
    {MSG_FUNCTION, 7, MSG_NODE},
    {MSG_FUNCTION, 11, MSG_ATTRIBUTE},
    {MSG_FUNCTION, 12, MSG_VALUE_INFO},
    {MSG_TRAINING_INFO, 1, MSG_GRAPH},
    {MSG_TRAINING_INFO, 2, MSG_GRAPH},
    {MSG_VALUE_INFO, 2, MSG_TYPE},
    {MSG_TYPE, 4, MSG_TYPE_LIST},
    {MSG_TYPE, 9, MSG_TYPE_LIST},
    {MSG_TYPE, 5, MSG_TYPE_MAP},
    {MSG_TYPE_LIST, 1, MSG_TYPE},
    {MSG_TYPE_MAP, 2, MSG_TYPE},
};

/* Payload fields of TensorProto: float_data, int32_data, int64_data, raw_data, double_data,
 * uint64_data. */
enum { FIRST_PAYLOAD = 4, LAST_PAYLOAD = 11, FIELD_STRINGS = 6, FIELD_NAME = 8, FIELD_RAW = 9 };

struct lifter {
    uint8_t *base;
    size_t taken; /* end of the last payload that was slid */
    bool slide;
    uint8_t *out;
    size_t n, cap;
    struct diag *d;
};

static bool put(struct lifter *l, const void *p, size_t n)
{
    if (n > l->cap - l->n) {
        size_t cap = l->cap ? l->cap : 4096;
        while (cap - l->n < n)
            cap *= 2;
        uint8_t *grown = realloc(l->out, cap);
        if (!grown)
            return fail_memory(l->d, "out of memory while reading the model");
        l->out = grown;
        l->cap = cap;
    }
    if (n)
        memcpy(l->out + l->n, p, n);
    l->n += n;
    return true;
}

static bool put_tag(struct lifter *l, uint32_t number)
{
    uint8_t tag[5];
    uint32_t v = number << 3 | WIRE_BYTES;
    int n = 0;
    for (; v > 0x7f; v >>= 7)
        tag[n++] = (uint8_t)(v | 0x80);
    tag[n++] = (uint8_t)v;
    return put(l, tag, (size_t)n);
}

static void set_length(uint8_t at[5], size_t n) /* a varint of always five bytes */
{
    for (int i = 0; i < 4; i++, n >>= 7)
        at[i] = (uint8_t)(n | 0x80);
    at[4] = (uint8_t)(n & 0x7f);
}

static bool is_payload(const struct wire_field *f)
{
    return f->number >= FIRST_PAYLOAD && f->number <= LAST_PAYLOAD && f->number != FIELD_STRINGS &&
           f->number != FIELD_NAME;
}

/* Which payload fields of the tensor are lifted: bit i for field i. All chunks of a field, or none.
 */
static uint32_t choose(const uint8_t *p, size_t n)
{
    struct wire w = {.p = p, .end = p + n};
    struct wire_field f;
    size_t total[LAST_PAYLOAD + 1] = {0};
    uint32_t chosen = 0, unpacked = 0;
    while (wire_next(&w, &f)) {
        if (!is_payload(&f))
            continue;
        if (f.type == WIRE_BYTES)
            total[f.number] += f.size;
        else
            unpacked |= 1u << f.number;
    }
    for (int i = FIRST_PAYLOAD; i <= LAST_PAYLOAD; i++)
        if (total[i] >= LIFT_BYTES && !(unpacked >> i & 1))
            chosen |= 1u << i;
    return chosen;
}

static bool put_reference(struct lifter *l, const struct wire_field *f)
{
    struct lift_reference ref = {(uint64_t)(f->data - l->base), f->size};
    uint64_t aligned = ref.offset & ~(uint64_t)7;
    if (l->slide && aligned != ref.offset && aligned >= l->taken) {
        memmove(l->base + aligned, l->base + ref.offset, f->size);
        ref.offset = aligned;
    }
    l->taken = ref.offset + f->size;
    uint8_t size = sizeof ref;
    return put_tag(l, LIFT_REFERENCE + f->number) && put(l, &size, 1) && put(l, &ref, sizeof ref);
}

static enum message_kind child_of(enum message_kind parent, uint32_t field)
{
    for (size_t i = 0; i < sizeof nestings / sizeof *nestings; i++)
        if (nestings[i].parent == parent && nestings[i].field == field)
            return nestings[i].child;
    return MSG_LEAF;
}

static bool reduce(struct lifter *l, enum message_kind kind, const uint8_t *p, size_t n, int depth)
{
    struct wire w = {.p = p, .end = p + n};
    struct wire_field f;
    if (depth > MAX_NESTING)
        return fail(l->d, "messages are nested more than %d deep; flatten the subgraphs or types",
                    MAX_NESTING);
    uint32_t lifted = kind == MSG_TENSOR ? choose(p, n) : 0;
    while (wire_next(&w, &f)) {
        enum message_kind child = f.type == WIRE_BYTES ? child_of(kind, f.number) : MSG_LEAF;
        if (child != MSG_LEAF) {
            uint8_t length[5] = {0};
            if (!put_tag(l, f.number) || !put(l, length, 5))
                return false;
            size_t from = l->n;
            if (!reduce(l, child, f.data, f.size, depth + 1))
                return false;
            if (l->n - from > INT32_MAX)
                return fail(l->d, "a message of %zu bytes without its weights, at most 2 GiB",
                            l->n - from);
            set_length(l->out + from - 5, l->n - from);
        } else if (kind == MSG_TENSOR && is_payload(&f) && (lifted >> f.number & 1)) {
            if (!put_reference(l, &f))
                return false;
        } else if (kind == MSG_TENSOR && f.number >= LIFT_REFERENCE) {
            continue; /* nobody may forge a reference */
        } else if (!put(l, f.start, (size_t)(w.p - f.start))) {
            return false;
        }
    }
    return !w.bad ||
           fail(l->d,
                "the file is damaged or truncated near byte %zu, or is no model that is read: ONNX, StableHLO, HLO or "
                "a graph as text (.xir)",
                (size_t)(w.p - l->base));
}

uint8_t *lift_payloads(uint8_t *base, size_t size, enum message_kind kind, bool slide,
                       size_t *reduced_size, struct diag *d)
{
    struct lifter l = {.base = base, .slide = slide, .d = d};
    if (!put(&l, NULL, 0) || !reduce(&l, kind, base, size, 0)) {
        free(l.out);
        return NULL;
    }
    *reduced_size = l.n;
    return l.out ? l.out : calloc(1, 1);
}
