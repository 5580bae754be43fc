/*
 * What the plug-in's objects are. One client, with one device: this machine's processor. It has one
 * memory, "device", which is the host's. Everything is done when a call returns, so every event is
 * ready at once.
 *
 * Errors and objects handed out belong to the caller, who frees them by the API's functions. Calls
 * may come from any thread.
 */
#ifndef FRONTEND_PJRT_PLUGIN_H
#define FRONTEND_PJRT_PLUGIN_H

#include "frontend/pjrt/api.h"
#include "frontend/xcc.h"
#include "runtime/xrt.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PJRT_ALIGN = 64 };
/* The element type of tokens: buffers without dims and bytes. Archives have arrays of no elements in their places. */
enum { PJRT_TOKEN = 23 };

/* An entry that only fills in its results: the assignments to `a`, its arguments, with commas between. */
#define ANSWER(name, ...)                                                                          \
    struct pjrt_error *pjrt_##name(struct args_##name *a)                                          \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
        return NULL;                                                                               \
    }
/* Results that are a string and its size. */
#define GIVE_TEXT(field, text) a->field = (text), a->field##_size = strlen(text)

static inline void nothing_to_free(void *what) /* the deleter of results that stay the plug-in's */
{
}

/* ---- errors and events (error.c) ---- */

struct pjrt_error *pjrt_fail(enum pjrt_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct pjrt_event *pjrt_done(void); /* one that is ready, without an error */

/* ---- client (client.c) ---- */

struct pjrt_description {
    char text[64]; /* "xcc:0" */
};

struct pjrt_note { /* what a framework attached to a memory */
    struct pjrt_note *next;
    const void *key;
    void *data;
    void (*destroy)(void *);
};

struct pjrt_memory {
    const struct pjrt_memory_functions *functions; /* first: the API's */
    struct pjrt_device *device;
    struct pjrt_note *notes;
    pthread_mutex_t lock; /* of the notes */
};

struct pjrt_device {
    struct pjrt_description *description;
    struct pjrt_memory *memory;
};

struct pjrt_topology {
    struct pjrt_description *description;
};

struct pjrt_client {
    struct pjrt_description description, *descriptions[1];
    struct pjrt_memory memory, *memories[1];
    struct pjrt_device device, *devices[1];
    struct pjrt_topology topology;
};

/* ---- buffers (buffer.c) ---- */

/* Bytes that buffers share; they live until no buffer and no external reference has them. */
struct pjrt_storage {
    atomic_int uses;
    size_t size;
    void *data;             /* aligned to PJRT_ALIGN, or lent */
    pjrt_released released; /* lent memory: to be called at the end */
    void *user;
};
struct pjrt_storage *storage_new(size_t size);
void storage_release(struct pjrt_storage *s);

struct pjrt_buffer {
    struct pjrt_client *client;
    pthread_mutex_t lock;         /* of the next three */
    struct pjrt_storage *storage; /* NULL: deleted or donated */
    struct pjrt_storage *held;    /* while there are external references */
    int external;
    int type, rank;
    size_t size;
    int64_t dims[XRT_MAX_RANK], minor_to_major[XRT_MAX_RANK];
};
/* Takes the storage, also when it fails (NULL: out of memory, or the storage is NULL). */
struct pjrt_buffer *buffer_new(struct pjrt_client *c, int type, int rank, const int64_t *dims,
                               struct pjrt_storage *s);
/* Another user of the buffer's storage, to be released; NULL: it was deleted. With `last` the buffer
 * loses it. */
struct pjrt_storage *buffer_storage(struct pjrt_buffer *b, bool last);
const char *type_name(int type); /* NULL: not an element type */
int type_number(const char *name);
size_t element_bytes(int type); /* 0: not an element type */
/* Bytes of a tensor; false when there are too many. */
bool tensor_bytes(int type, size_t rank, const int64_t *dims, size_t *bytes);

/* How arrays of a rank lie in memory, at most XRT_MAX_RANK (extensions.c). */
const struct pjrt_order *order_of(size_t rank);

/* ---- executables (executable.c, execute.c) ---- */

struct idle_context {
    struct idle_context *next;
    struct xrt_context *context;
};

/* A compiled program. The loaded executable and what the framework asks of it are one object with
 * two users. */
struct pjrt_executable {
    atomic_int uses;
    struct pjrt_client *client;
    struct xcc_bytes archive;
    char *code; /* the program as it came; NULL: it was read from an archive */
    size_t code_size;
    struct xrt_model *model;
    int threads, ninputs, noutputs;
    int *input_types, *output_types;
    bool *donated; /* of each input */
    int64_t *output_dims;
    size_t *output_ranks, *output_bytes, *input_bytes;
    const struct pjrt_order **orders; /* of each input and output */
    const char **kinds; /* "device", for each input or output */
    size_t *kind_sizes;
    char fingerprint[20];
    pthread_mutex_t lock; /* of what follows */
    struct idle_context *idle;
};

struct pjrt_loaded {
    struct pjrt_executable *executable;
    atomic_bool deleted;
};

/* Compile options: a serialised CompileOptionsProto; how many devices it asks for, and an option that no compiler has
 * (NULL: none). */
struct compile_request {
    uint64_t replicas, partitions;
    const char *unknown;
    size_t unknown_size;
};
bool compile_request_read(struct compile_request *r, const void *data, size_t size);

struct xrt_context *context_take(struct pjrt_executable *e);
void context_give(struct pjrt_executable *e, struct xrt_context *c);

#endif
