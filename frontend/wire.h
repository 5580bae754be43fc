/*
 * The protocol-buffer wire format, as far as we read it ourselves: large models before protobuf-c
 * sees them, messages that the packaged onnx.proto lacks, and what a file is.
 */
#ifndef FRONTEND_WIRE_H
#define FRONTEND_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* A message's bytes, read from the front. */
struct wire {
    const uint8_t *p, *end;
    const char *bad; /* why the bytes are not a message; NULL: they are, so far */
    bool clip;       /* a field that reaches past the end is as long as there are bytes */
};

struct wire_field {
    uint32_t number;
    int type;            /* enum wire_type */
    uint64_t value;      /* of the three scalar types, bits as stored */
    const uint8_t *data; /* of WIRE_BYTES; into the message */
    size_t size;
    const uint8_t *start; /* of the field, tag included */
};

/* The next field; false at the end, and with w->bad set on damage; f->start is then where it is. */
bool wire_next(struct wire *w, struct wire_field *f);
/* One varint at *p; false when it does not end before `end` or within ten bytes. */
bool wire_varint(const uint8_t **p, const uint8_t *end, uint64_t *out);

#endif
