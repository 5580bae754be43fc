/*
 * The part of a serialised CompileOptionsProto that matters here: how many devices the program is for, and options by
 * name.
 */
#include "frontend/pjrt/plugin.h"
#include "frontend/wire.h"

#include <string.h>

/* Numbers of fields. */
enum { BUILD_OPTIONS = 3, NUM_REPLICAS = 4, NUM_PARTITIONS = 5, NAMED_OPTIONS = 7, OPTION_NAME = 1 };

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

static struct wire content(const struct wire_field *f)
{
    return (struct wire){.p = f->data, .end = f->data ? f->data + f->size : NULL};
}

/* An entry of the map from names to values. */
static bool read_named_option(struct compile_request *out, struct wire w)
{
    struct wire_field f;
    while (wire_next(&w, &f))
        if (f.number == OPTION_NAME && f.size && !is_known_option((const char *)f.data, f.size)) {
            out->unknown = (const char *)f.data;
            out->unknown_size = f.size;
        }
    return !w.bad;
}

static bool read_build_options(struct compile_request *out, struct wire w)
{
    struct wire_field f;
    while (wire_next(&w, &f))
        if (f.number == NUM_REPLICAS)
            out->replicas = f.value;
        else if (f.number == NUM_PARTITIONS)
            out->partitions = f.value;
    return !w.bad;
}

bool compile_request_read(struct compile_request *out, const void *data, size_t size)
{
    *out = (struct compile_request){.replicas = 1, .partitions = 1};
    struct wire w = {.p = data, .end = size ? (const uint8_t *)data + size : data};
    struct wire_field f;
    while (wire_next(&w, &f))
        if ((f.number == NAMED_OPTIONS && !read_named_option(out, content(&f))) ||
            (f.number == BUILD_OPTIONS && !read_build_options(out, content(&f))))
            return false;
    return !w.bad;
}
