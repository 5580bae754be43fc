/*
 * The client, its device and its memory.
 */
#include "frontend/pjrt/plugin.h"

#include <stdlib.h>
#include <string.h>

/* Results that are a string and its size. */
#define GIVE_TEXT(args, field, text) ((args)->field = (text), (args)->field##_size = strlen(text))

static const char platform[] = "xcc", kind[] = "device", device_kind[] = "cpu";

/* ---- plug-in ---- */

struct pjrt_error *pjrt_Plugin_Initialize(struct args_Plugin_Initialize *a)
{
    return NULL;
}

/* Which StableHLO to send: the versions that frontend/stablehlo reads. */
struct pjrt_error *pjrt_Plugin_Attributes(struct args_Plugin_Attributes *a)
{
    static const int64_t current[] = {1, 20, 0}, minimum[] = {0, 9, 0}, xla = 2;
#define VERSION(text, three)                                                                       \
    {                                                                                              \
        sizeof(struct pjrt_named), NULL, text, sizeof text - 1, PJRT_INT64_LIST, {.list = three}, 3 \
    }
    static const struct pjrt_named named[] = {
        VERSION("stablehlo_current_version", current),
        VERSION("stablehlo_minimum_version", minimum),
        {sizeof named[0], NULL, "xla_version", 11, PJRT_INT64, {.number = xla}, 1},
    };
    a->attributes = named;
    a->num_attributes = sizeof named / sizeof named[0];
    return NULL;
}

/* ---- client ---- */

/* What a framework keeps with a memory. */
static void *memory_get(struct pjrt_memory *m, const void *key)
{
    void *data = NULL;
    pthread_mutex_lock(&m->lock);
    for (struct pjrt_note *n = m->notes; n && !data; n = n->next)
        data = n->key == key ? n->data : NULL;
    pthread_mutex_unlock(&m->lock);
    return data;
}

static void memory_set(struct pjrt_memory *m, const void *key, void *data, void (*destroy)(void *))
{
    struct pjrt_note *n = malloc(sizeof *n);
    if (!n) { /* there is no way to say so: the framework finds nothing */
        if (destroy)
            destroy(data);
        return;
    }
    pthread_mutex_lock(&m->lock);
    *n = (struct pjrt_note){m->notes, key, data, destroy};
    m->notes = n;
    pthread_mutex_unlock(&m->lock);
}

static const struct pjrt_memory_functions memory_functions = {
    sizeof memory_functions, NULL, sizeof(struct pjrt_memory), memory_get, memory_set,
};

struct pjrt_error *pjrt_Client_Create(struct args_Client_Create *a)
{
    struct pjrt_client *c = calloc(1, sizeof *c);
    if (!c)
        return pjrt_fail(PJRT_RESOURCE_EXHAUSTED, "out of memory");
    strcpy(c->description.text, "xcc:0");
    c->memory.functions = &memory_functions;
    c->memory.device = &c->device;
    pthread_mutex_init(&c->memory.lock, NULL);
    c->device = (struct pjrt_device){&c->description, &c->memory};
    c->topology.description = &c->description;
    c->descriptions[0] = &c->description;
    c->memories[0] = &c->memory;
    c->devices[0] = &c->device;
    a->client = c;
    return NULL;
}

struct pjrt_error *pjrt_Client_Destroy(struct args_Client_Destroy *a)
{
    struct pjrt_client *c = a->client;
    for (struct pjrt_note *n = c ? c->memory.notes : NULL, *next; n; n = next) {
        next = n->next;
        if (n->destroy)
            n->destroy(n->data);
        free(n);
    }
    if (c)
        pthread_mutex_destroy(&c->memory.lock);
    free(c);
    return NULL;
}

struct pjrt_error *pjrt_Client_PlatformName(struct args_Client_PlatformName *a)
{
    GIVE_TEXT(a, platform_name, platform);
    return NULL;
}

struct pjrt_error *pjrt_Client_PlatformVersion(struct args_Client_PlatformVersion *a)
{
    GIVE_TEXT(a, platform_version, xcc_version());
    return NULL;
}

struct pjrt_error *pjrt_Client_ProcessIndex(struct args_Client_ProcessIndex *a)
{
    a->process_index = 0;
    return NULL;
}

struct pjrt_error *pjrt_Client_Devices(struct args_Client_Devices *a)
{
    a->devices = a->client->devices;
    a->num_devices = 1;
    return NULL;
}

struct pjrt_error *pjrt_Client_AddressableDevices(struct args_Client_AddressableDevices *a)
{
    a->addressable_devices = a->client->devices;
    a->num_addressable_devices = 1;
    return NULL;
}

static struct pjrt_error *look_up(struct pjrt_client *c, int id, struct pjrt_device **out)
{
    *out = &c->device;
    return id ? pjrt_fail(PJRT_INVALID_ARGUMENT, "there is no device %d; xcc has one, 0", id)
              : NULL;
}

struct pjrt_error *pjrt_Client_LookupDevice(struct args_Client_LookupDevice *a)
{
    return look_up(a->client, a->id, &a->device);
}

struct pjrt_error *pjrt_Client_LookupAddressableDevice(struct args_Client_LookupAddressableDevice *a)
{
    return look_up(a->client, a->local_hardware_id, &a->addressable_device);
}

struct pjrt_error *pjrt_Client_AddressableMemories(struct args_Client_AddressableMemories *a)
{
    a->addressable_memories = a->client->memories;
    a->num_addressable_memories = 1;
    return NULL;
}

struct pjrt_error *
pjrt_Client_DefaultDeviceAssignment(struct args_Client_DefaultDeviceAssignment *a)
{
    int64_t n = (int64_t)a->num_replicas * a->num_partitions;
    if (n != 1 || a->default_assignment_size < 1)
        return pjrt_fail(PJRT_INVALID_ARGUMENT,
                         "the program is for %d replicas of %d partitions; xcc has one device",
                         a->num_replicas, a->num_partitions);
    a->default_assignment[0] = 0;
    return NULL;
}

struct pjrt_error *pjrt_Client_TopologyDescription(struct args_Client_TopologyDescription *a)
{
    a->topology = &a->client->topology;
    return NULL;
}

/* ---- device ---- */

struct pjrt_error *pjrt_DeviceDescription_Id(struct args_DeviceDescription_Id *a)
{
    a->id = 0;
    return NULL;
}

struct pjrt_error *pjrt_DeviceDescription_ProcessIndex(struct args_DeviceDescription_ProcessIndex *a)
{
    a->process_index = 0;
    return NULL;
}

struct pjrt_error *pjrt_DeviceDescription_Attributes(struct args_DeviceDescription_Attributes *a)
{
    a->attributes = NULL;
    a->num_attributes = 0;
    return NULL;
}

struct pjrt_error *pjrt_DeviceDescription_Kind(struct args_DeviceDescription_Kind *a)
{
    GIVE_TEXT(a, device_kind, device_kind);
    return NULL;
}

struct pjrt_error *pjrt_DeviceDescription_DebugString(struct args_DeviceDescription_DebugString *a)
{
    GIVE_TEXT(a, debug_string, a->device_description->text);
    return NULL;
}

struct pjrt_error *pjrt_DeviceDescription_ToString(struct args_DeviceDescription_ToString *a)
{
    GIVE_TEXT(a, to_string, a->device_description->text);
    return NULL;
}

struct pjrt_error *pjrt_Device_GetDescription(struct args_Device_GetDescription *a)
{
    a->device_description = a->device->description;
    return NULL;
}

struct pjrt_error *pjrt_Device_IsAddressable(struct args_Device_IsAddressable *a)
{
    a->is_addressable = true;
    return NULL;
}

struct pjrt_error *pjrt_Device_LocalHardwareId(struct args_Device_LocalHardwareId *a)
{
    a->local_hardware_id = 0;
    return NULL;
}

struct pjrt_error *pjrt_Device_AddressableMemories(struct args_Device_AddressableMemories *a)
{
    a->memories = &a->device->memory;
    a->num_memories = 1;
    return NULL;
}

struct pjrt_error *pjrt_Device_DefaultMemory(struct args_Device_DefaultMemory *a)
{
    a->memory = a->device->memory;
    return NULL;
}

static void nothing_to_free(void *what)
{
}

struct pjrt_error *pjrt_Device_GetAttributes(struct args_Device_GetAttributes *a)
{
    a->attributes = NULL;
    a->num_attributes = 0;
    a->device_attributes = NULL;
    a->attributes_deleter = nothing_to_free;
    return NULL;
}

/* ---- memory ---- */

struct pjrt_error *pjrt_Memory_Id(struct args_Memory_Id *a)
{
    a->id = 0;
    return NULL;
}

struct pjrt_error *pjrt_Memory_Kind(struct args_Memory_Kind *a)
{
    GIVE_TEXT(a, kind, kind);
    return NULL;
}

struct pjrt_error *pjrt_Memory_Kind_Id(struct args_Memory_Kind_Id *a)
{
    a->kind_id = 0;
    return NULL;
}

struct pjrt_error *pjrt_Memory_DebugString(struct args_Memory_DebugString *a)
{
    GIVE_TEXT(a, debug_string, kind);
    return NULL;
}

struct pjrt_error *pjrt_Memory_ToString(struct args_Memory_ToString *a)
{
    GIVE_TEXT(a, to_string, kind);
    return NULL;
}

struct pjrt_error *pjrt_Memory_AddressableByDevices(struct args_Memory_AddressableByDevices *a)
{
    a->devices = &a->memory->device;
    a->num_devices = 1;
    return NULL;
}

/* ---- topology: the same device, without a client ---- */

struct pjrt_error *pjrt_TopologyDescription_Destroy(struct args_TopologyDescription_Destroy *a)
{
    return NULL; /* the client's */
}

struct pjrt_error *
pjrt_TopologyDescription_PlatformName(struct args_TopologyDescription_PlatformName *a)
{
    GIVE_TEXT(a, platform_name, platform);
    return NULL;
}

struct pjrt_error *
pjrt_TopologyDescription_PlatformVersion(struct args_TopologyDescription_PlatformVersion *a)
{
    GIVE_TEXT(a, platform_version, xcc_version());
    return NULL;
}

struct pjrt_error *pjrt_TopologyDescription_GetDeviceDescriptions(
    struct args_TopologyDescription_GetDeviceDescriptions *a)
{
    a->descriptions = &a->topology->description;
    a->num_descriptions = 1;
    return NULL;
}

struct pjrt_error *pjrt_TopologyDescription_Serialize(struct args_TopologyDescription_Serialize *a)
{
    GIVE_TEXT(a, serialized_bytes, platform);
    a->serialized_topology = NULL;
    a->serialized_topology_deleter = nothing_to_free;
    return NULL;
}

struct pjrt_error *pjrt_TopologyDescription_Attributes(struct args_TopologyDescription_Attributes *a)
{
    a->attributes = NULL;
    a->num_attributes = 0;
    return NULL;
}

struct pjrt_error *
pjrt_TopologyDescription_Fingerprint(struct args_TopologyDescription_Fingerprint *a)
{
    a->fingerprint = 0x786363; /* there is one kind */
    return NULL;
}

struct pjrt_error *
pjrt_TopologyDescription_GetMemorySpaceKindIds(struct args_TopologyDescription_GetMemorySpaceKindIds *a)
{
    static const int kinds[] = {0};
    a->memory_space_kind_ids = kinds;
    a->num_memory_space_kind_ids = 1;
    return NULL;
}
