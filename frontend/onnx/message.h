/* Protobuf messages into memory, with running out of it told apart from damage. */
#ifndef FRONTEND_ONNX_MESSAGE_H
#define FRONTEND_ONNX_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

/* malloc, freed by the type's free_unpacked; NULL: damaged. Out of memory leaves by recovery_out_of_memory. */
void *message_unpack(const ProtobufCMessageDescriptor *type, size_t n, const uint8_t *bytes);

#endif
