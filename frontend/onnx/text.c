#include "frontend/onnx/text.h"

#include "frontend/wire.h"

#include <string.h>

static bool check_field(const ProtobufCFieldDescriptor *f, const struct wire_field *w, struct diag *d)
{
    if (f->type == PROTOBUF_C_TYPE_MESSAGE)
        return onnx_text_check(f->descriptor, w->data, w->size, d) || fail_in(d, "%s", f->name);
    if (f->type != PROTOBUF_C_TYPE_STRING || !w->size || !strcmp(f->name, "doc_string"))
        return true;
    const uint8_t *zero = memchr(w->data, 0, w->size);
    return !zero || fail(d, "%s '%.*s' has a byte 0 behind that, which no name has", f->name,
                         (int)(zero - w->data < 80 ? zero - w->data : 80), (const char *)w->data);
}

bool onnx_text_check(const ProtobufCMessageDescriptor *m, const uint8_t *data, size_t size, struct diag *d)
{
    struct wire w = {.p = data, .end = data + size};
    struct wire_field field;
    while (wire_next(&w, &field)) {
        if (field.type != WIRE_BYTES)
            continue;
        const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(m, field.number);
        if (f && !check_field(f, &field, d))
            return false;
    }
    return true;
}
