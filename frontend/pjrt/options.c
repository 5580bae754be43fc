/*
 * The part of a serialised CompileOptionsProto that matters here: how many devices the program is for, and options by
 * name.
 */
#include "frontend/pjrt/plugin.h"

#include <string.h>

/* Numbers of fields. */
enum { BUILD_OPTIONS = 3, NUM_REPLICAS = 4, NUM_PARTITIONS = 5, NAMED_OPTIONS = 7, OPTION_NAME = 1 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct option_reader {
    const unsigned char *p, *end;
};

static bool read_varint(struct option_reader *r, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && r->p < r->end; shift += 7) {
        unsigned char byte = *r->p++;
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

struct field {
    uint64_t number, value;
    struct option_reader bytes; /* of a field with BYTES */
};

static bool read_field(struct option_reader *r, struct field *f)
{
    uint64_t key, size = 0;
    if (!read_varint(r, &key))
        return false;
    f->number = key >> 3;
    f->bytes = (struct option_reader){0};
    f->value = 0;
    switch (key & 7) {
    case VARINT:
        return read_varint(r, &f->value);
    case FIXED64:
        size = 8;
        break;
    case FIXED32:
        size = 4;
        break;
    case BYTES:
        if (!read_varint(r, &size))
            return false;
        break;
    default:
        return false;
    }
    if (size > (uint64_t)(r->end - r->p))
        return false;
    f->bytes = (struct option_reader){r->p, r->p + size};
    r->p += size;
    return true;
}

/* Options of XLA's compiler ask for nothing here; any other name is a mistake. */
static bool is_known_option(const char *name, size_t size)
{
    static const char *const known[] = {"optimization_level", "memory_fitting_level", "exec_time_optimization_effort",
                                        "memory_fitting_effort"};
    if (size > 4 && !memcmp(name, "xla_", 4))
        return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (size == strlen(known[i]) && !memcmp(name, known[i], size))
            return true;
    return false;
}

/* An entry of the map from names to values. */
static bool read_named_option(struct compile_request *out, struct option_reader r)
{
    struct field f;
    while (r.p < r.end) {
        if (!read_field(&r, &f))
            return false;
        const char *name = (const char *)f.bytes.p;
        size_t size = f.bytes.p ? (size_t)(f.bytes.end - f.bytes.p) : 0;
        if (f.number == OPTION_NAME && size && !is_known_option(name, size)) {
            out->unknown = name;
            out->unknown_size = size;
        }
    }
    return true;
}

bool compile_request_read(struct compile_request *out, const void *data, size_t size)
{
    *out = (struct compile_request){.replicas = 1, .partitions = 1};
    struct option_reader r = {data, size ? (const unsigned char *)data + size : data};
    struct field f, g;
    while (r.p < r.end) {
        if (!read_field(&r, &f))
            return false;
        if (f.number == NAMED_OPTIONS && !read_named_option(out, f.bytes))
            return false;
        while (f.number == BUILD_OPTIONS && f.bytes.p < f.bytes.end) {
            if (!read_field(&f.bytes, &g))
                return false;
            if (g.number == NUM_REPLICAS)
                out->replicas = g.value;
            if (g.number == NUM_PARTITIONS)
                out->partitions = g.value;
        }
    }
    return true;
}
