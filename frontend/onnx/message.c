#include "frontend/onnx/message.h"
#include "neff/base/recover.h"

#include <stdlib.h>

/* The size of the first allocation that failed, kept in the allocator's data; 0: none has. */
static void *allocate(void *failed_size, size_t n)
{
    void *p = malloc(n);
    size_t *failed = failed_size;
    if (!p && n && !*failed)
        *failed = n;
    return p;
}

static void release(void *failed_size, void *p)
{
    (void)failed_size;
    free(p);
}

void *message_unpack(const ProtobufCMessageDescriptor *type, size_t n, const uint8_t *bytes)
{
    size_t failed = 0;
    ProtobufCAllocator memory = {.alloc = allocate, .free = release, .allocator_data = &failed};
    void *message = protobuf_c_message_unpack(type, &memory, n, bytes);
    if (failed)
        recovery_out_of_memory(failed);
    return message;
}
