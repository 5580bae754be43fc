/*
 * Buffers: tensors in the host's memory, dense and row-major.
 */
#include "frontend/pjrt/plugin.h"

#include <stdlib.h>
#include <string.h>

/* ---- element types ---- */

static const char *const names[] = {
#define TYPE(number, name) [number] = name,
#include "frontend/pjrt/types.def"
};
enum { TYPES = sizeof names / sizeof names[0] };

const char *type_name(int type)
{
    return type >= 0 && type < TYPES ? names[type] : NULL;
}

int type_number(const char *name)
{
    for (int i = 0; i < TYPES; i++)
        if (names[i] && !strcmp(names[i], name))
            return i;
    return 0;
}

size_t element_bytes(int type)
{
    const char *name = type_name(type);
    return name ? xrt_dtype_size(name) : 0;
}

bool tensor_bytes(int type, size_t rank, const int64_t *dims, size_t *bytes)
{
    *bytes = element_bytes(type);
    for (size_t i = 0; i < rank; i++)
        if (dims[i] < 0 || __builtin_mul_overflow(*bytes, (size_t)dims[i], bytes))
            return false;
    return *bytes < SIZE_MAX / 2;
}

/* ---- storage ---- */

struct pjrt_storage *storage_new(size_t size)
{
    struct pjrt_storage *s = malloc(sizeof *s);
    size_t room = (size + PJRT_ALIGN) / PJRT_ALIGN * PJRT_ALIGN; /* an address of its own, always */
    void *data = s ? aligned_alloc(PJRT_ALIGN, room) : NULL;
    if (!data) {
        free(s);
        return NULL;
    }
    *s = (struct pjrt_storage){.uses = 1, .size = size, .data = data};
    return s;
}

static struct pjrt_storage *storage_share(struct pjrt_storage *s)
{
    atomic_fetch_add(&s->uses, 1);
    return s;
}

static void free_data(void *data, void *user)
{
    free(data);
}

void storage_release(struct pjrt_storage *s)
{
    if (!s || atomic_fetch_sub(&s->uses, 1) > 1)
        return;
    (s->released ? s->released : free_data)(s->data, s->user);
    free(s);
}

/* ---- buffers ---- */

struct pjrt_buffer *buffer_new(struct pjrt_client *c, int type, int rank, const int64_t *dims,
                               struct pjrt_storage *s)
{
    struct pjrt_buffer *b = s ? calloc(1, sizeof *b) : NULL;
    if (!b) {
        storage_release(s);
        return NULL;
    }
    *b = (struct pjrt_buffer){
        .client = c, .storage = s, .type = type, .rank = rank, .size = s->size};
    pthread_mutex_init(&b->lock, NULL);
    for (int i = 0; i < rank; i++) {
        b->dims[i] = dims[i];
        b->minor_to_major[i] = rank - 1 - i;
    }
    return b;
}

struct pjrt_storage *buffer_storage(struct pjrt_buffer *b, bool last)
{
    pthread_mutex_lock(&b->lock);
    struct pjrt_storage *s = b->storage;
    if (last)
        b->storage = NULL;
    else if (s)
        storage_share(s);
    pthread_mutex_unlock(&b->lock);
    return s;
}

static struct pjrt_error *gone(void)
{
    return pjrt_fail(PJRT_INVALID_ARGUMENT, "the buffer has been deleted or donated");
}

/* A shape as the API gives it, checked. */
static struct pjrt_error *check_shape(int type, const int64_t *dims, size_t rank, size_t *bytes)
{
    if (!type_name(type))
        return pjrt_fail(PJRT_UNIMPLEMENTED, "element type %d of PJRT is not known to xcc", type);
    if (rank > XRT_MAX_RANK)
        return pjrt_fail(PJRT_UNIMPLEMENTED, "an array has %zu dimensions, xcc takes %d", rank,
                         XRT_MAX_RANK);
    if (!tensor_bytes(type, rank, dims, bytes))
        return pjrt_fail(PJRT_INVALID_ARGUMENT, "the sizes of an array are negative or too large");
    return NULL;
}

static struct pjrt_error *check_memory(const struct pjrt_client *c, const struct pjrt_memory *m)
{
    return !m || m == &c->memory
               ? NULL
               : pjrt_fail(PJRT_INVALID_ARGUMENT, "the memory belongs to another client");
}

/* Copies between a strided array and a dense one. */
struct strided_buffer {
    size_t rank, element;
    const int64_t *dims, *strides;
    bool to_dense;
};

static char *copy_strided(const struct strided_buffer *s, size_t dim, char *dense, char *other)
{
    if (dim == s->rank) {
        memcpy(s->to_dense ? dense : other, s->to_dense ? other : dense, s->element);
        return dense + s->element;
    }
    for (int64_t i = 0; i < s->dims[dim]; i++)
        dense = copy_strided(s, dim + 1, dense, other + i * s->strides[dim]);
    return dense;
}

static bool is_dense(const struct strided_buffer *s)
{
    int64_t step = (int64_t)s->element;
    for (size_t i = s->rank; i-- > 0; step *= s->dims[i])
        if (s->dims[i] != 1 && s->strides[i] != step)
            return false;
    return true;
}

struct pjrt_error *pjrt_Client_BufferFromHostBuffer(struct args_Client_BufferFromHostBuffer *a)
{
    size_t bytes;
    struct pjrt_error *e = check_memory(a->client, a->memory);
    if (e || (e = check_shape(a->type, a->dims, a->num_dims, &bytes)))
        return e;
    bool strides = a->byte_strides && a->num_byte_strides;
    if (strides && a->num_byte_strides != a->num_dims)
        return pjrt_fail(PJRT_INVALID_ARGUMENT, "%zu strides for %zu dimensions",
                         a->num_byte_strides, a->num_dims);
    struct pjrt_storage *s = storage_new(bytes);
    struct strided_buffer from = {a->num_dims, element_bytes(a->type), a->dims,
                           a->byte_strides, true};
    if (s && strides && !is_dense(&from))
        copy_strided(&from, 0, s->data, (char *)(uintptr_t)a->data);
    else if (s && bytes)
        memcpy(s->data, a->data, bytes);
    a->buffer = buffer_new(a->client, a->type, (int)a->num_dims, a->dims, s);
    a->done_with_host_buffer = pjrt_done();
    return a->buffer ? NULL : pjrt_fail(PJRT_RESOURCE_EXHAUSTED, "no memory for %zu bytes", bytes);
}

struct pjrt_error *
pjrt_Client_CreateUninitializedBuffer(struct args_Client_CreateUninitializedBuffer *a)
{
    size_t bytes;
    struct pjrt_error *e = check_memory(a->client, a->memory);
    if (e || (e = check_shape(a->shape_element_type, a->shape_dims, a->shape_num_dims, &bytes)))
        return e;
    struct pjrt_storage *s = storage_new(bytes);
    if (s)
        memset(s->data, 0, bytes);
    a->buffer = buffer_new(a->client, a->shape_element_type, (int)a->shape_num_dims, a->shape_dims,
                           s);
    return a->buffer ? NULL : pjrt_fail(PJRT_RESOURCE_EXHAUSTED, "no memory for %zu bytes", bytes);
}

static void keep(void *data, void *user)
{
}

/* Memory of somebody else, by DLPack for example. */
struct pjrt_error *
pjrt_Client_CreateViewOfDeviceBuffer(struct args_Client_CreateViewOfDeviceBuffer *a)
{
    size_t bytes;
    struct pjrt_error *e = check_shape(a->element_type, a->dims, a->num_dims, &bytes);
    if (e)
        return e;
    bool aligned = (uintptr_t)a->device_buffer_ptr % 16 == 0;
    struct pjrt_storage *s = aligned ? malloc(sizeof *s) : storage_new(bytes);
    if (s && aligned)
        *s = (struct pjrt_storage){.uses = 1, .size = bytes, .data = a->device_buffer_ptr};
    else if (s && bytes)
        memcpy(s->data, a->device_buffer_ptr, bytes);
    a->buffer = buffer_new(a->client, a->element_type, (int)a->num_dims, a->dims, s);
    if (!a->buffer)
        return pjrt_fail(PJRT_RESOURCE_EXHAUSTED, "no memory for %zu bytes", bytes);
    if (aligned) {
        s->released = a->on_delete_callback ? a->on_delete_callback : keep;
        s->user = a->on_delete_callback_arg;
    } else if (a->on_delete_callback) {
        a->on_delete_callback(a->device_buffer_ptr, a->on_delete_callback_arg);
    }
    return NULL;
}

struct pjrt_error *pjrt_Buffer_Destroy(struct args_Buffer_Destroy *a)
{
    struct pjrt_buffer *b = a->buffer;
    if (!b)
        return NULL;
    storage_release(b->storage);
    storage_release(b->held);
    pthread_mutex_destroy(&b->lock);
    free(b);
    return NULL;
}

struct pjrt_error *pjrt_Buffer_Delete(struct args_Buffer_Delete *a)
{
    storage_release(buffer_storage(a->buffer, true));
    return NULL;
}

struct pjrt_error *pjrt_Buffer_IsDeleted(struct args_Buffer_IsDeleted *a)
{
    pthread_mutex_lock(&a->buffer->lock);
    a->is_deleted = !a->buffer->storage;
    pthread_mutex_unlock(&a->buffer->lock);
    return NULL;
}

/* ---- what a buffer is ---- */

ANSWER(Buffer_ElementType, a->type = a->buffer->type)
ANSWER(Buffer_Dimensions, a->dims = a->buffer->dims, a->num_dims = (size_t)a->buffer->rank)
ANSWER(Buffer_UnpaddedDimensions, a->unpadded_dims = a->buffer->dims, a->num_dims = (size_t)a->buffer->rank)
ANSWER(Buffer_DynamicDimensionIndices, a->dynamic_dim_indices = NULL, a->num_dynamic_dims = 0)
ANSWER(Buffer_GetMemoryLayout, a->layout.kind = PJRT_LAYOUT_TILED,
       a->layout.tiled.minor_to_major = a->buffer->minor_to_major,
       a->layout.tiled.minor_to_major_size = (size_t)a->buffer->rank, a->layout.tiled.tile_dims = NULL,
       a->layout.tiled.tile_dim_sizes = NULL, a->layout.tiled.num_tiles = 0)
ANSWER(Buffer_OnDeviceSizeInBytes, a->on_device_size_in_bytes = a->buffer->size)
ANSWER(Buffer_Device, a->device = &a->buffer->client->device)
ANSWER(Buffer_Memory, a->memory = &a->buffer->client->memory)
ANSWER(Buffer_IsOnCpu, a->is_on_cpu = true)
ANSWER(Buffer_ReadyEvent, a->event = pjrt_done())

/* ---- its bytes ---- */

static struct pjrt_error *address(struct pjrt_buffer *b, void **out)
{
    struct pjrt_storage *s = buffer_storage(b, false);
    if (!s)
        return gone();
    *out = s->data;
    storage_release(s);
    return NULL;
}

struct pjrt_error *pjrt_Buffer_UnsafePointer(struct args_Buffer_UnsafePointer *a)
{
    void *p = NULL;
    struct pjrt_error *e = address(a->buffer, &p);
    a->buffer_pointer = (uintptr_t)p;
    return e;
}

struct pjrt_error *
pjrt_Buffer_OpaqueDeviceMemoryDataPointer(struct args_Buffer_OpaqueDeviceMemoryDataPointer *a)
{
    return address(a->buffer, &a->device_memory_ptr);
}

/* The bytes outlive a deletion while somebody outside uses them. */
struct pjrt_error *
pjrt_Buffer_IncreaseExternalReferenceCount(struct args_Buffer_IncreaseExternalReferenceCount *a)
{
    struct pjrt_buffer *b = a->buffer;
    pthread_mutex_lock(&b->lock);
    bool ok = b->storage || b->held;
    if (ok && !b->external++)
        b->held = storage_share(b->storage);
    pthread_mutex_unlock(&b->lock);
    return ok ? NULL : gone();
}

struct pjrt_error *
pjrt_Buffer_DecreaseExternalReferenceCount(struct args_Buffer_DecreaseExternalReferenceCount *a)
{
    struct pjrt_buffer *b = a->buffer;
    struct pjrt_storage *s = NULL;
    pthread_mutex_lock(&b->lock);
    bool ok = b->external > 0;
    if (ok && !--b->external) {
        s = b->held;
        b->held = NULL;
    }
    pthread_mutex_unlock(&b->lock);
    storage_release(s);
    return ok ? NULL : pjrt_fail(PJRT_FAILED_PRECONDITION, "there is no external reference");
}

/* The strides of a host's array; false: it is dense and row-major. */
static bool host_strides(const struct pjrt_buffer *b, const struct pjrt_layout *l, int64_t *strides)
{
    int64_t step = (int64_t)element_bytes(b->type);
    if (!l)
        return false;
    if (l->kind == PJRT_LAYOUT_STRIDES) {
        for (int i = 0; i < b->rank; i++)
            strides[i] = l->strides.byte_strides[i];
        return true;
    }
    for (int i = 0; i < b->rank; i++) {
        strides[l->tiled.minor_to_major[i]] = step;
        step *= b->dims[l->tiled.minor_to_major[i]];
    }
    return true;
}

static bool is_order(const int64_t *order, size_t n)
{
    unsigned seen = 0;
    for (size_t i = 0; i < n; i++) {
        if (order[i] < 0 || order[i] >= (int64_t)n || seen >> order[i] & 1)
            return false;
        seen |= 1u << order[i];
    }
    return true;
}

static bool is_layout(const struct pjrt_buffer *b, const struct pjrt_layout *l)
{
    size_t rank = (size_t)b->rank;
    if (l->kind == PJRT_LAYOUT_STRIDES)
        return l->strides.num_byte_strides == rank;
    return l->kind == PJRT_LAYOUT_TILED && !l->tiled.num_tiles &&
           l->tiled.minor_to_major_size == rank && is_order(l->tiled.minor_to_major, rank);
}

struct pjrt_error *pjrt_Buffer_ToHostBuffer(struct args_Buffer_ToHostBuffer *a)
{
    struct pjrt_buffer *b = a->src;
    int64_t strides[XRT_MAX_RANK];
    if (!a->dst) {
        a->dst_size = b->size;
        return NULL;
    }
    if (a->host_layout && !is_layout(b, a->host_layout))
        return pjrt_fail(PJRT_UNIMPLEMENTED, "the host's layout does not fit %d dimensions", b->rank);
    if (a->dst_size < b->size)
        return pjrt_fail(PJRT_INVALID_ARGUMENT, "%zu bytes to be copied to %zu", b->size,
                         a->dst_size);
    struct pjrt_storage *s = buffer_storage(b, false);
    if (!s)
        return gone();
    struct strided_buffer to = {(size_t)b->rank, element_bytes(b->type), b->dims, strides,
                         false};
    if (host_strides(b, a->host_layout, strides) && !is_dense(&to))
        copy_strided(&to, 0, s->data, a->dst);
    else if (b->size)
        memcpy(a->dst, s->data, b->size);
    storage_release(s);
    a->event = pjrt_done();
    return NULL;
}

struct pjrt_error *pjrt_Buffer_CopyRawToHost(struct args_Buffer_CopyRawToHost *a)
{
    if (a->offset < 0 || a->transfer_size < 0 || (size_t)a->offset > a->buffer->size ||
        (size_t)a->transfer_size > a->buffer->size - (size_t)a->offset)
        return pjrt_fail(PJRT_INVALID_ARGUMENT, "the part is outside of the buffer's %zu bytes",
                         a->buffer->size);
    struct pjrt_storage *s = buffer_storage(a->buffer, false);
    if (!s)
        return gone();
    if (a->transfer_size)
        memcpy(a->dst, (const char *)s->data + a->offset, (size_t)a->transfer_size);
    storage_release(s);
    a->event = pjrt_done();
    return NULL;
}

/* A copy of its own: donating one of the two leaves the other. */
static struct pjrt_error *copy(struct pjrt_buffer *b, struct pjrt_buffer **out)
{
    struct pjrt_storage *s = buffer_storage(b, false);
    if (!s)
        return gone();
    struct pjrt_storage *t = storage_new(b->size);
    if (t && b->size)
        memcpy(t->data, s->data, b->size);
    storage_release(s);
    *out = buffer_new(b->client, b->type, b->rank, b->dims, t);
    return *out ? NULL : pjrt_fail(PJRT_RESOURCE_EXHAUSTED, "no memory for %zu bytes", b->size);
}

struct pjrt_error *pjrt_Buffer_CopyToDevice(struct args_Buffer_CopyToDevice *a)
{
    return copy(a->buffer, &a->dst_buffer);
}

struct pjrt_error *pjrt_Buffer_CopyToMemory(struct args_Buffer_CopyToMemory *a)
{
    struct pjrt_error *e = check_memory(a->buffer->client, a->dst_memory);
    return e ? e : copy(a->buffer, &a->dst_buffer);
}
