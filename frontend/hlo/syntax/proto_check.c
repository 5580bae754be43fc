#include "frontend/hlo/syntax/proto.h"

struct wire {
    const uint8_t *begin, *at, *end;
};

static bool varint(struct wire *w, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 70 && w->at < w->end; shift += 7) {
        uint8_t byte = *w->at++;
        if (shift < 64)
            *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static int wire_type(ProtobufCType t)
{
    switch (t) {
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return 5;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 1;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return 2;
    default:
        return 0;
    }
}

/* Packed values of a repeated field. */
static bool check_packed(ProtobufCType t, const uint8_t *p, uint64_t n)
{
    int type = wire_type(t);
    if (type == 5 || type == 1)
        return n % (type == 5 ? 4 : 8) == 0;
    struct wire w = {p, p, p + n};
    uint64_t v;
    while (w.at < w.end)
        if (!varint(&w, &v))
            return false;
    return true;
}

static bool check_message(const ProtobufCMessageDescriptor *m, struct wire w, int depth,
                          struct diag *d);

static bool check_field(const ProtobufCFieldDescriptor *f, int type, struct wire *w, int depth,
                        struct diag *d)
{
    uint64_t n = type == 1 ? 8 : type == 5 ? 4 : 0;
    bool ok = type == 0 ? varint(w, &n) : type == 2 ? varint(w, &n) : type == 1 || type == 5;
    if (type == 0)
        n = 0;
    if (type > 5 || type == 3 || type == 4)
        return fail(d, "wire type %d, which is not used", type);
    if (!ok || n > (uint64_t)(w->end - w->at))
        return fail(d, "cut off: a field reaches past the end of the data");
    const uint8_t *p = w->at;
    w->at += n;
    if (!f)
        return true;
    bool packed = type == 2 && f->label == PROTOBUF_C_LABEL_REPEATED && wire_type(f->type) != 2;
    if (packed)
        return check_packed(f->type, p, n) || fail(d, "%s: packed values are cut off", f->name);
    if (type != wire_type(f->type))
        return fail(d, "%s has wire type %d, expected %d", f->name, type, wire_type(f->type));
    if (f->type != PROTOBUF_C_TYPE_MESSAGE)
        return true;
    struct wire inner = {w->begin, p, p + n};
    return check_message(f->descriptor, inner, depth + 1, d) || fail_in(d, "%s", f->name);
}

static bool check_message(const ProtobufCMessageDescriptor *m, struct wire w, int depth,
                          struct diag *d)
{
    if (depth > HLO_PROTO_DEPTH)
        return fail(d, "messages nested deeper than %d", HLO_PROTO_DEPTH);
    while (w.at < w.end) {
        size_t at = (size_t)(w.at - w.begin);
        uint64_t tag;
        if (!varint(&w, &tag))
            return fail(d, "cut off at byte %zu", at);
        if (!(tag >> 3) || tag >> 3 > 536870911)
            return fail(d, "field number %llu at byte %zu", (unsigned long long)(tag >> 3), at);
        const ProtobufCFieldDescriptor *f =
            protobuf_c_message_descriptor_get_field(m, (unsigned)(tag >> 3));
        if (!check_field(f, (int)(tag & 7), &w, depth, d))
            return false;
    }
    return true;
}

bool hlo_proto_check(const ProtobufCMessageDescriptor *m, const uint8_t *data, size_t size,
                     struct diag *d)
{
    return check_message(m, (struct wire){data, data, data + size}, 0, d);
}
