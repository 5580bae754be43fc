/* HLO protos. Messages start with the file's name and say where in the message tree the fault is.
 */
#ifndef FRONTEND_HLO_PROTO_H
#define FRONTEND_HLO_PROTO_H

#include "frontend/hlo/syntax/hlo.h"
#include "frontend/hlo/syntax/names.h"

#include <protobuf-c/protobuf-c.h>

/* Whether a binary message looks like an HLO module, bare or wrapped. */
bool hlo_proto_detect(const uint8_t *data, size_t size);
bool hlo_proto_read(struct hlo_file *f, const char *name, const uint8_t *data, size_t size,
                    struct diag *d);
/* Text format, as in .pbtxt files. */
bool hlo_proto_read_text(struct hlo_file *f, const char *name, const char *text, size_t size,
                         struct diag *d);

/* ---- the reader's own parts ---- */

enum { HLO_PROTO_DEPTH = 100 }; /* of messages in messages */

/*
 * Whether the bytes are a message of that type: lengths within the data, wire types right, not
 * nested too deeply. protobuf-c checks neither depth nor says what is wrong.
 */
bool hlo_proto_check(const ProtobufCMessageDescriptor *m, const uint8_t *data, size_t size,
                     struct diag *d);
/* Text format to binary, in the arena. */
bool hlo_proto_encode(const ProtobufCMessageDescriptor *m, const char *text, size_t size,
                      struct arena *a, const uint8_t **out, size_t *out_size, struct diag *d);

struct id_map {        /* ids are compared by their low 32 bits, as XLA does */
    uint32_t capacity; /* a power of two */
    struct id_slot {
        uint32_t id;
        void *value;
    } * slots;
};

struct proto_reader {
    struct arena *arena; /* of the module */
    struct arena scratch;
    struct diag *d;
    struct hlo_module *module;
    struct hlo_names names;
    struct id_map computations, instructions;
    struct hlo_computation *computation;
    const ProtobufCBinaryData *payloads;
    size_t payload_count;
};

/* proto_value.c */
void id_map_init(struct id_map *m, struct arena *a, size_t count);
bool id_map_add(struct id_map *m, int64_t id, void *value); /* false: already there */
void *id_map_find(const struct id_map *m, int64_t id);

/* Arguments are messages of hlo.proto. */
struct hlo_ints proto_ints(struct arena *a, size_t n, const int64_t *v);
bool proto_shape(struct arena *a, const void *message, const struct hlo_shape **out,
                 struct diag *d);
bool proto_literal(struct arena *a, const void *message, const struct hlo_literal **out,
                   struct diag *d);
bool proto_iota(struct proto_reader *r, size_t n, const int64_t *dims, size_t m,
                const int32_t *perm, struct hlo_iota *out);
const struct hlo_metadata *proto_metadata(struct proto_reader *r, const void *message);
struct hlo_pairs proto_pairs(struct proto_reader *r, const void *message);

/* proto_attr.c: all attributes of an instruction whose operands are set. */
bool proto_attrs(struct proto_reader *r, const void *message, struct hlo_instruction *i);

#endif
