/* HLO protos. Messages start with the file's name and say where in the message tree the fault is. */
#ifndef FRONTEND_HLO_PROTO_H
#define FRONTEND_HLO_PROTO_H

#include "frontend/hlo/hlo.h"

/* Whether a binary message looks like an HLO module, bare or wrapped. */
bool hlo_proto_detect(const uint8_t *data, size_t size);
bool hlo_proto_read(struct hlo_file *f, const char *name, const uint8_t *data, size_t size,
                    struct diag *d);
/* Text format, as in .pbtxt files. */
bool hlo_proto_read_text(struct hlo_file *f, const char *name, const char *text, size_t size,
                         struct diag *d);

#endif
