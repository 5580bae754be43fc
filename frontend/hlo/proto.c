#include "frontend/hlo/proto.h"

bool hlo_proto_detect(const uint8_t *data, size_t size) { return false; }

bool hlo_proto_read(struct hlo_file *f, const char *name, const uint8_t *data, size_t size,
                    struct diag *d)
{
    return fail(d, "%s: binary protos are not read yet; use HLO text", name);
}

bool hlo_proto_read_text(struct hlo_file *f, const char *name, const char *text, size_t size,
                         struct diag *d)
{
    return fail(d, "%s: text-format protos are not read yet; use HLO text", name);
}
