/* Text of protocol buffers, before it is unpacked. */
#ifndef FRONTEND_ONNX_TEXT_H
#define FRONTEND_ONNX_TEXT_H

#include "neff/base/diag.h"

#include <protobuf-c/protobuf-c.h>

/*
 * Fails where text has a byte 0: protobuf-c gives strings that end there, so that two names would become one, and a
 * file's name another's. Descriptions may have them. The nesting of messages must have been checked (lift.h).
 */
bool onnx_text_check(const ProtobufCMessageDescriptor *m, const uint8_t *data, size_t size, struct diag *d);

#endif
