/*
 * The client, its device and its memory.
 */
#include "frontend/pjrt/plugin.h"

#include <stdlib.h>
#include <string.h>

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

ANSWER(Client_PlatformName, GIVE_TEXT(platform_name, platform))
ANSWER(Client_PlatformVersion, GIVE_TEXT(platform_version, xcc_version()))
ANSWER(Client_ProcessIndex, a->process_index = 0)
ANSWER(Client_Devices, a->devices = a->client->devices, a->num_devices = 1)
ANSWER(Client_AddressableDevices, a->addressable_devices = a->client->devices, a->num_addressable_devices = 1)

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

ANSWER(Client_AddressableMemories, a->addressable_memories = a->client->memories,
       a->num_addressable_memories = 1)

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

ANSWER(Client_TopologyDescription, a->topology = &a->client->topology)

/* ---- device ---- */

ANSWER(DeviceDescription_Id, a->id = 0)
ANSWER(DeviceDescription_ProcessIndex, a->process_index = 0)
ANSWER(DeviceDescription_Attributes, a->attributes = NULL, a->num_attributes = 0)
ANSWER(DeviceDescription_Kind, GIVE_TEXT(device_kind, device_kind))
ANSWER(DeviceDescription_DebugString, GIVE_TEXT(debug_string, a->device_description->text))
ANSWER(DeviceDescription_ToString, GIVE_TEXT(to_string, a->device_description->text))
ANSWER(Device_GetDescription, a->device_description = a->device->description)
ANSWER(Device_IsAddressable, a->is_addressable = true)
ANSWER(Device_LocalHardwareId, a->local_hardware_id = 0)
ANSWER(Device_AddressableMemories, a->memories = &a->device->memory, a->num_memories = 1)
ANSWER(Device_DefaultMemory, a->memory = a->device->memory)
ANSWER(Device_GetAttributes, a->attributes = NULL, a->num_attributes = 0, a->device_attributes = NULL,
       a->attributes_deleter = nothing_to_free)

/* ---- memory ---- */

ANSWER(Memory_Id, a->id = 0)
ANSWER(Memory_Kind, GIVE_TEXT(kind, kind))
ANSWER(Memory_Kind_Id, a->kind_id = 0)
ANSWER(Memory_DebugString, GIVE_TEXT(debug_string, kind))
ANSWER(Memory_ToString, GIVE_TEXT(to_string, kind))
ANSWER(Memory_AddressableByDevices, a->devices = &a->memory->device, a->num_devices = 1)

/* ---- topology: the same device, without a client ---- */

struct pjrt_error *pjrt_TopologyDescription_Destroy(struct args_TopologyDescription_Destroy *a)
{
    return NULL; /* the client's */
}

ANSWER(TopologyDescription_PlatformName, GIVE_TEXT(platform_name, platform))
ANSWER(TopologyDescription_PlatformVersion, GIVE_TEXT(platform_version, xcc_version()))
ANSWER(TopologyDescription_GetDeviceDescriptions, a->descriptions = &a->topology->description,
       a->num_descriptions = 1)
ANSWER(TopologyDescription_Serialize, GIVE_TEXT(serialized_bytes, platform), a->serialized_topology = NULL,
       a->serialized_topology_deleter = nothing_to_free)
ANSWER(TopologyDescription_Attributes, a->attributes = NULL, a->num_attributes = 0)

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
