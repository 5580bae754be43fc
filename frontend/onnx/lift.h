/*
 * Lifting: a copy of a message without its large tensor payloads.
 *
 * protobuf-c copies every byte it unpacks. So that weights are never copied, the scanner walks the
 * wire bytes of a model first and makes a reduced message in which each large payload of a
 * TensorProto is replaced by a reference (an unknown field that protobuf-c keeps) to its place in
 * the mapped file. Payloads of fixed-width elements that lie unaligned are slid back to a multiple
 * of 8 inside the private mapping, over bytes that are no longer needed. On the way the nesting of
 * messages is checked, for protobuf-c recurses without a limit.
 */
#ifndef FRONTEND_ONNX_LIFT_H
#define FRONTEND_ONNX_LIFT_H

#include "neff/base/diag.h"

#include <stddef.h>
#include <stdint.h>

enum message_kind {
    MSG_MODEL,
    MSG_GRAPH,
    MSG_NODE,
    MSG_ATTRIBUTE,
    MSG_TENSOR,
    MSG_SPARSE_TENSOR,
    MSG_FUNCTION,
    MSG_TRAINING_INFO,
    MSG_VALUE_INFO,
    MSG_TYPE,
    MSG_TYPE_LIST, /* TypeProto.Sequence and .Optional */
    MSG_TYPE_MAP,
    MSG_LEAF, /* whose fields are copied as they are */
};

enum {
    LIFT_BYTES = 512,
    LIFT_REFERENCE = 1000 /* field number of a reference = this + the field's */
};

struct lift_reference {    /* bytes of a reference field */
    uint64_t offset, size; /* of the payload in the mapping */
};

/*
 * Reads the message of that kind at base[0, size) and returns its reduced copy (malloc) with its
 * size in *reduced_size; NULL after a failure. base is written to when `slide` is true.
 */
uint8_t *lift_payloads(uint8_t *base, size_t size, enum message_kind kind, bool slide,
                       size_t *reduced_size, struct diag *d);

#endif
