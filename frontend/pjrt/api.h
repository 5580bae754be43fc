/*
 * The C interface of PJRT, by which JAX and others drive a device: our own declarations of the
 * documented layout. A plug-in is a shared object with one visible function, GetPjrtApi, that returns
 * a table of functions (api.def). Each takes one struct of arguments and results, and returns NULL or
 * an error, which the caller frees.
 *
 * Every struct begins with its size as its writer knew it, up to the end of the last field. An entry
 * refuses arguments that end before the fields it needs, and leaves alone later fields that the
 * caller does not have. So a caller of any version with the same major number can be served.
 */
#ifndef FRONTEND_PJRT_API_H
#define FRONTEND_PJRT_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PJRT_MAJOR = 0, PJRT_MINOR = 112 };

enum pjrt_code { /* of errors: those of Abseil's statuses */
    PJRT_INVALID_ARGUMENT = 3,
    PJRT_FAILED_PRECONDITION = 9,
    PJRT_RESOURCE_EXHAUSTED = 8,
    PJRT_UNIMPLEMENTED = 12,
    PJRT_INTERNAL = 13,
};

struct pjrt_error;
struct pjrt_event;
struct pjrt_client;
struct pjrt_device;
struct pjrt_description;
struct pjrt_memory;
struct pjrt_topology;
struct pjrt_buffer;
struct pjrt_executable;
struct pjrt_loaded;
struct pjrt_order;

typedef struct pjrt_error *(*pjrt_function)(void *args);
typedef void (*pjrt_deleter)(void *what);
typedef void (*pjrt_ready)(struct pjrt_error *error, void *user);
typedef void (*pjrt_released)(void *data, void *user);

/* A name and a value of one of five kinds. */
enum pjrt_kind { PJRT_STRING, PJRT_INT64, PJRT_INT64_LIST, PJRT_FLOAT, PJRT_BOOL };
struct pjrt_named {
    size_t struct_size;
    void *extensions;
    const char *name;
    size_t name_size;
    int kind;
    union {
        const char *string;
        int64_t number;
        const int64_t *list;
        float real;
        bool flag;
    } value;
    size_t value_size; /* of strings and lists; otherwise 1 */
};

struct pjrt_program {
    size_t struct_size;
    void *extensions;
    char *code;
    size_t code_size;
    const char *format; /* "mlir", "hlo" */
    size_t format_size;
};

enum { PJRT_LAYOUT_TILED, PJRT_LAYOUT_STRIDES };
struct pjrt_layout {
    size_t struct_size;
    void *extensions;
    union {
        struct {
            size_t struct_size;
            void *extensions;
            const int64_t *minor_to_major; /* dimensions, the fastest varying first */
            size_t minor_to_major_size;
            const int64_t *tile_dims;
            const size_t *tile_dim_sizes;
            size_t num_tiles;
        } tiled;
        struct {
            size_t struct_size;
            void *extensions;
            const int64_t *byte_strides;
            size_t num_byte_strides;
        } strides;
    };
    int kind;
};

struct pjrt_execute_options {
    size_t struct_size;
    void *extensions;
    void *send_callbacks, *recv_callbacks;
    size_t num_send_ops, num_recv_ops;
    int launch_id;
    const int64_t *non_donatable_input_indices;
    size_t num_non_donatable_input_indices;
};

struct pjrt_logical_id {
    int replica, partition;
};

/* What errors and memories begin with since 0.107 and 0.105. */
struct pjrt_error_functions {
    size_t struct_size, instance_size;
    void *extensions;
    void (*destroy)(struct pjrt_error *e);
    void (*message)(const struct pjrt_error *e, const char **text, size_t *size);
    int (*code)(const struct pjrt_error *e);
    void (*payloads)(const struct pjrt_error *e, pjrt_function visitor, void *user);
};
struct pjrt_memory_functions {
    size_t struct_size;
    void *extensions;
    size_t instance_size;
    void *(*get)(struct pjrt_memory *m, const void *key);
    void (*set)(struct pjrt_memory *m, const void *key, void *data, void (*destroy)(void *));
};

/* Arguments. */
#define IN(type, name) type name;
#define OUT(type, name) type name;
#define LATE(type, name) type name;
#define DECLARE(name, ...)                                                                         \
    struct args_##name {                                                                           \
        size_t struct_size;                                                                        \
        void *extensions;                                                                          \
        __VA_ARGS__                                                                                \
    };                                                                                             \
    struct pjrt_error *pjrt_##name(struct args_##name *a);
#define CALL DECLARE
#define NONE(name)
#include "frontend/pjrt/api.def"
#define CALL DECLARE
#define LAYOUTS(row) row
#define SHARDINGS(row) row
#include "frontend/pjrt/extensions.def"
#undef IN
#undef OUT
#undef LATE
#undef DECLARE

/* Does the caller have this field? */
#define GIVES(args, field)                                                                         \
    ((args)->struct_size >= (size_t)((const char *)(&(args)->field + 1) - (const char *)(args)))

enum {
#define CALL(name, ...) PJRT_ENTRY_##name,
#define NONE(name) PJRT_ENTRY_##name,
#include "frontend/pjrt/api.def"
    PJRT_ENTRIES
};

/* Extensions are a list. */
enum { PJRT_LAYOUTS = 4, PJRT_SHARDINGS = 19 };
struct pjrt_extension {
    size_t struct_size;
    int type;
    const struct pjrt_extension *next;
    pjrt_function entry[];
};

struct pjrt_api {
    size_t struct_size;
    const struct pjrt_extension *extensions;
    struct {
        size_t struct_size;
        void *extensions;
        int major, minor;
    } version;
    pjrt_function entry[PJRT_ENTRIES];
};

#pragma GCC visibility push(default)
const struct pjrt_api *GetPjrtApi(void);
#pragma GCC visibility pop

#endif
