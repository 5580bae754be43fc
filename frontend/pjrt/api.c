/*
 * The table of functions.
 */
#include "frontend/pjrt/api.h"

#include "frontend/pjrt/plugin.h"

static struct pjrt_error *pjrt_missing(const char *name)
{
    return pjrt_fail(PJRT_UNIMPLEMENTED, "%s: xcc has no such function", name);
}

/* The size that a caller's struct must at least have: to the end of its last field that is not LATE. */
#define IN(type, name) *0 + (offsetof(self, name) + sizeof(type))
#define OUT IN
#define LATE(type, name)
#define ENTER(name, ...)                                                                           \
    static struct pjrt_error *enter_##name(void *args)                                             \
    {                                                                                              \
        typedef struct args_##name self;                                                           \
        const size_t needed = (offsetof(self, extensions) + sizeof(void *)) __VA_ARGS__;           \
        self *a = args;                                                                            \
        if (a->struct_size < needed)                                                               \
            return pjrt_fail(PJRT_INVALID_ARGUMENT,                                                \
                             "PJRT_" #name ": the caller's arguments have %zu bytes, expected at " \
                             "least %zu; use a newer jaxlib",                                      \
                             a->struct_size, needed);                                              \
        return pjrt_##name(a);                                                                     \
    }
#define CALL ENTER
#define NONE(name)                                                                                 \
    static struct pjrt_error *enter_##name(void *args)                                             \
    {                                                                                              \
        return pjrt_missing("PJRT_" #name);                                                        \
    }
#include "frontend/pjrt/api.def"
#define CALL ENTER
#define LAYOUTS(row) row
#define SHARDINGS(row) row
#include "frontend/pjrt/extensions.def"
#undef IN
#undef OUT
#undef LATE

#define CALL(name, ...) enter_##name,
#define LAYOUTS(row)
#define SHARDINGS(row) row
static const struct pjrt_extension shardings = {
    sizeof shardings + 2 * sizeof(pjrt_function), PJRT_SHARDINGS, NULL, {
#include "frontend/pjrt/extensions.def"
    }};

#define CALL(name, ...) enter_##name,
#define LAYOUTS(row) row
#define SHARDINGS(row)
static const struct pjrt_extension layouts = {
    sizeof layouts + 7 * sizeof(pjrt_function), PJRT_LAYOUTS, &shardings, {
#include "frontend/pjrt/extensions.def"
    }};

const struct pjrt_api *GetPjrtApi(void)
{
    static const struct pjrt_api api = {
        .struct_size = sizeof api,
        .extensions = &layouts,
        .version = {sizeof api.version, NULL, PJRT_MAJOR, PJRT_MINOR},
        .entry =
            {
#define CALL(name, ...) enter_##name,
#define NONE(name) enter_##name,
#include "frontend/pjrt/api.def"
            },
    };
    return &api;
}
