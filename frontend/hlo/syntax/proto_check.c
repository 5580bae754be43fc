#include "frontend/hlo/syntax/proto.h"
#include "frontend/wire.h"

#include <string.h>

static int wire_type(ProtobufCType t)
{
    switch (t) {
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return WIRE_FIXED32;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return WIRE_FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return WIRE_BYTES;
    default:
        return WIRE_VARINT;
    }
}

/* Packed values of a repeated field. */
static bool check_packed(ProtobufCType t, const uint8_t *p, size_t n)
{
    const uint8_t *end = p + n;
    int type = wire_type(t);
    uint64_t v;
    if (type != WIRE_VARINT)
        return n % (type == WIRE_FIXED32 ? 4 : 8) == 0;
    while (p < end)
        if (!wire_varint(&p, end, &v))
            return false;
    return true;
}

struct message {
    const ProtobufCMessageDescriptor *type;
    const uint8_t *begin; /* of the outermost one */
    int depth;
};

static bool check_message(const struct message *m, const uint8_t *data, size_t size,
                          struct diag *d);

static bool check_field(const struct message *m, const struct wire_field *w, struct diag *d)
{
    const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(m->type, w->number);
    if (!f)
        return true;
    int type = wire_type(f->type);
    if (w->type == WIRE_BYTES && f->label == PROTOBUF_C_LABEL_REPEATED && type != WIRE_BYTES)
        return check_packed(f->type, w->data, w->size) ||
               fail(d, "%s: packed values are cut off", f->name);
    if (w->type != type)
        return fail(d, "%s has wire type %d, expected %d", f->name, w->type, type);
    if (f->type == PROTOBUF_C_TYPE_STRING && w->size && memchr(w->data, 0, w->size))
        return fail(d, "%s has a byte 0, at which a name ends", f->name);
    if (f->type != PROTOBUF_C_TYPE_MESSAGE)
        return true;
    struct message inner = {f->descriptor, m->begin, m->depth + 1};
    return check_message(&inner, w->data, w->size, d) || fail_in(d, "%s", f->name);
}

static bool check_message(const struct message *m, const uint8_t *data, size_t size, struct diag *d)
{
    struct wire w = {.p = data, .end = data + size};
    struct wire_field f;
    if (m->depth > HLO_PROTO_DEPTH)
        return fail(d, "messages nested deeper than %d", HLO_PROTO_DEPTH);
    while (wire_next(&w, &f))
        if (!check_field(m, &f, d))
            return false;
    return !w.bad || fail(d, "%s, at byte %zu", w.bad, (size_t)(f.start - m->begin));
}

bool hlo_proto_check(const ProtobufCMessageDescriptor *m, const uint8_t *data, size_t size,
                     struct diag *d)
{
    return check_message(&(struct message){m, data, 0}, data, size, d);
}
