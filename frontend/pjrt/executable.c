/*
 * Executables: StableHLO compiled to an archive, the archive opened, and what both say about
 * themselves.
 */
#include "frontend/pjrt/plugin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char kind[] = "device", name[] = "main";

/* Programs that move fewer bytes than this are done before other threads would be awake. */
enum { PARALLEL_BYTES = 1 << 18 };

static void executable_release(struct pjrt_executable *e)
{
    if (!e || atomic_fetch_sub(&e->uses, 1) > 1)
        return;
    for (struct idle_context *i = e->idle, *next; i; i = next) {
        next = i->next;
        xrt_context_free(i->context);
        free(i);
    }
    xrt_close(e->model);
    xcc_bytes_free(&e->archive);
    free(e->code);
    free(e->input_types);
    free(e->donated);
    free(e->input_bytes);
    free(e->output_dims);
    free(e->output_ranks);
    free(e->orders);
    free(e->kinds);
    free(e->kind_sizes);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* The compiler, told to keep tokens, gives such names to nothing else. */
static bool is_token(const struct xrt_info *i)
{
    return i->rank == 1 && !i->dims[0] && !strcmp(i->dtype, "bool") && !strncmp(i->name, "!token", 6);
}

static size_t rank_of(const struct xrt_info *i)
{
    return is_token(i) || i->rank < 0 ? 0 : (size_t)i->rank;
}

/* The type and shape of an input or output: static, as PJRT has them. */
static struct pjrt_error *read_info(const struct xrt_info *i, int *type, size_t *bytes)
{
    if (is_token(i)) {
        *type = PJRT_TOKEN;
        *bytes = 0;
        return NULL;
    }
    *type = type_number(i->dtype);
    if (!*type || i->rank < 0 || !tensor_bytes(*type, (size_t)i->rank, i->dims, bytes))
        return pjrt_fail(PJRT_UNIMPLEMENTED, "'%s' is %s: PJRT needs arrays of fixed sizes", i->name,
                         i->text);
    return NULL;
}

static struct pjrt_error *describe(struct pjrt_executable *e)
{
    size_t n = (size_t)e->ninputs + (size_t)e->noutputs, ranks = 0;
    for (int i = 0; i < e->noutputs; i++)
        ranks += rank_of(xrt_output_info(e->model, i));
    e->input_types = calloc(n + 1, sizeof *e->input_types);
    e->donated = calloc(n + 1, sizeof *e->donated);
    e->input_bytes = calloc(n + 1, sizeof *e->input_bytes);
    e->output_dims = calloc(ranks + 1, sizeof *e->output_dims);
    e->output_ranks = calloc(n + 1, sizeof *e->output_ranks);
    e->orders = calloc(n + 1, sizeof(struct pjrt_order *));
    e->kinds = calloc(n + 1, sizeof *e->kinds);
    e->kind_sizes = calloc(n + 1, sizeof *e->kind_sizes);
    if (!e->donated || !e->input_types || !e->input_bytes || !e->output_dims || !e->output_ranks ||
        !e->orders || !e->kinds || !e->kind_sizes)
        return pjrt_fail(PJRT_RESOURCE_EXHAUSTED, "out of memory");
    e->output_types = e->input_types + e->ninputs;
    e->output_bytes = e->input_bytes + e->ninputs;
    struct pjrt_error *failed = NULL;
    for (int i = 0; i < e->ninputs && !failed; i++) {
        failed = read_info(xrt_input_info(e->model, i), &e->input_types[i], &e->input_bytes[i]);
        e->donated[i] = xrt_input_info(e->model, i)->donated;
    }
    int64_t *dims = e->output_dims;
    for (int i = 0; i < e->noutputs && !failed; i++) {
        const struct xrt_info *info = xrt_output_info(e->model, i);
        failed = read_info(info, &e->output_types[i], &e->output_bytes[i]);
        e->output_ranks[i] = rank_of(info);
        for (size_t d = 0; d < e->output_ranks[i] && !failed; d++)
            *dims++ = info->dims[d];
    }
    for (size_t i = 0; i < n; i++) {
        const struct xrt_info *info = i < (size_t)e->ninputs
                                          ? xrt_input_info(e->model, (int)i)
                                          : xrt_output_info(e->model, (int)i - e->ninputs);
        e->orders[i] = failed ? NULL : order_of(rank_of(info));
        e->kinds[i] = kind;
        e->kind_sizes[i] = sizeof kind - 1;
    }
    return failed;
}

static void choose_threads(struct pjrt_executable *e)
{
    size_t n = (size_t)e->ninputs + (size_t)e->noutputs, bytes = e->archive.size;
    for (size_t i = 0; i < n && bytes < PARALLEL_BYTES; i++)
        bytes += e->input_bytes[i];
    e->threads = bytes < PARALLEL_BYTES ? 1 : 0;
}

/* FNV-1a of the archive. */
static void take_fingerprint(struct pjrt_executable *e)
{
    uint64_t h = 0xcbf29ce484222325;
    const unsigned char *p = e->archive.data;
    for (size_t i = 0; i < e->archive.size; i++)
        h = (h ^ p[i]) * 0x100000001b3;
    snprintf(e->fingerprint, sizeof e->fingerprint, "%016" PRIx64, h);
}

/* Opens e's archive and gives it to a loaded executable; e is released when it fails. */
static struct pjrt_error *load(struct pjrt_executable *e, struct pjrt_loaded **out)
{
    struct pjrt_error *failed = NULL;
    *out = calloc(1, sizeof **out);
    e->model = xrt_open_memory(e->archive.data, e->archive.size);
    if (!*out || !e->model)
        failed = pjrt_fail(PJRT_INTERNAL, "%s", e->model ? "out of memory" : xrt_error());
    if (!failed) {
        e->ninputs = xrt_input_count(e->model);
        e->noutputs = xrt_output_count(e->model);
        failed = describe(e);
    }
    if (failed) {
        free(*out);
        *out = NULL;
        executable_release(e);
        return failed;
    }
    choose_threads(e);
    take_fingerprint(e);
    (*out)->executable = e;
    return NULL;
}

static struct pjrt_executable *executable_new(struct pjrt_client *c)
{
    struct pjrt_executable *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->client = c;
    atomic_store(&e->uses, 1);
    pthread_mutex_init(&e->lock, NULL);
    return e;
}

/* How much of a text a message quotes. */
static int shown(size_t size)
{
    return size < 200 ? (int)size : 200;
}

struct pjrt_error *pjrt_Client_Compile(struct args_Client_Compile *a)
{
    const struct pjrt_program *p = a->program;
    struct compile_request r;
    if (p->format_size != 4 || memcmp(p->format, "mlir", 4))
        return pjrt_fail(PJRT_UNIMPLEMENTED, "a program of format '%.*s'; xcc takes 'mlir'",
                         shown(p->format_size), p->format);
    if (!compile_request_read(&r, a->compile_options, a->compile_options_size))
        return pjrt_fail(PJRT_INVALID_ARGUMENT, "the compile options are damaged");
    if (r.unknown)
        return pjrt_fail(PJRT_INVALID_ARGUMENT,
                         "No such compile option: '%.*s'; xcc passes over those of XLA (xla_...) and has none",
                         shown(r.unknown_size), r.unknown);
    if (r.replicas > 1 || r.partitions > 1)
        return pjrt_fail(PJRT_UNIMPLEMENTED,
                         "the program is for %" PRIu64 " replicas of %" PRIu64
                         " partitions; xcc has one device",
                         r.replicas, r.partitions);
    struct pjrt_executable *e = executable_new(a->client);
    if (!e)
        return pjrt_fail(PJRT_RESOURCE_EXHAUSTED, "out of memory");
    e->code = malloc(p->code_size + 1);
    e->code_size = p->code_size;
    bool ok = e->code != NULL;
    if (ok) {
        memcpy(e->code, p->code, p->code_size);
        ok = xcc_compile_memory(e->code, e->code_size, "program.mlirbc", "--auto-cast none --keep-tokens",
                                &e->archive, NULL, NULL);
    }
    if (ok)
        return load(e, &a->executable);
    struct pjrt_error *failed = e->code ? pjrt_fail(PJRT_UNIMPLEMENTED, "%s", xcc_error())
                                        : pjrt_fail(PJRT_RESOURCE_EXHAUSTED, "out of memory");
    executable_release(e);
    return failed;
}

/* ---- saved executables are archives ---- */

struct pjrt_error *pjrt_Executable_DeserializeAndLoad(struct args_Executable_DeserializeAndLoad *a)
{
    struct pjrt_executable *e = executable_new(a->client);
    size_t size = a->serialized_executable_size,
           room = (size + PJRT_ALIGN) / PJRT_ALIGN * PJRT_ALIGN;
    if (e)
        e->archive.data = aligned_alloc(PJRT_ALIGN, room);
    if (!e || !e->archive.data) {
        executable_release(e);
        return pjrt_fail(PJRT_RESOURCE_EXHAUSTED, "no memory for %zu bytes", size);
    }
    memcpy(e->archive.data, a->serialized_executable, size);
    e->archive.size = size;
    return load(e, &a->loaded_executable);
}

static void release_serialised(void *what)
{
    executable_release(what);
}

struct pjrt_error *pjrt_Executable_Serialize(struct args_Executable_Serialize *a)
{
    struct pjrt_executable *e = (struct pjrt_executable *)(uintptr_t)a->executable;
    atomic_fetch_add(&e->uses, 1);
    a->serialized_bytes = e->archive.data;
    a->serialized_bytes_size = e->archive.size;
    a->serialized_executable = e;
    a->serialized_executable_deleter = release_serialised;
    return NULL;
}

/* ---- loaded executables ---- */

struct pjrt_error *pjrt_LoadedExecutable_Destroy(struct args_LoadedExecutable_Destroy *a)
{
    if (a->executable)
        executable_release(a->executable->executable);
    free(a->executable);
    return NULL;
}

struct pjrt_error *pjrt_LoadedExecutable_GetExecutable(struct args_LoadedExecutable_GetExecutable *a)
{
    a->executable = a->loaded_executable->executable;
    atomic_fetch_add(&a->executable->uses, 1);
    return NULL;
}

ANSWER(LoadedExecutable_AddressableDevices,
       a->addressable_devices = a->executable->executable->client->devices, a->num_addressable_devices = 1)

struct pjrt_error *pjrt_LoadedExecutable_AddressableDeviceLogicalIds(
    struct args_LoadedExecutable_AddressableDeviceLogicalIds *a)
{
    static const struct pjrt_logical_id ids[] = {{0, 0}};
    a->addressable_device_logical_ids = ids;
    a->num_addressable_device_logical_ids = 1;
    return NULL;
}

struct pjrt_error *pjrt_LoadedExecutable_Delete(struct args_LoadedExecutable_Delete *a)
{
    atomic_store(&a->executable->deleted, true);
    return NULL;
}

ANSWER(LoadedExecutable_IsDeleted, a->is_deleted = atomic_load(&a->executable->deleted))

/* A DeviceAssignmentProto: one replica (field 1) of one computation (2), which is on device 0 (3.1). */
struct pjrt_error *
pjrt_LoadedExecutable_GetDeviceAssignment(struct args_LoadedExecutable_GetDeviceAssignment *a)
{
    static const char proto[] = {0x08, 1, 0x10, 1, 0x1a, 3, 0x0a, 1, 0};
    a->serialized_bytes = proto;
    a->serialized_bytes_size = sizeof proto;
    a->serialized_device_assignment = NULL;
    a->serialized_device_assignment_deleter = nothing_to_free;
    return NULL;
}

/* ---- what an executable is ---- */

struct pjrt_error *pjrt_Executable_Destroy(struct args_Executable_Destroy *a)
{
    executable_release(a->executable);
    return NULL;
}

ANSWER(Executable_Name, GIVE_TEXT(executable_name, name))
ANSWER(Executable_NumReplicas, a->num_replicas = 1)
ANSWER(Executable_NumPartitions, a->num_partitions = 1)
ANSWER(Executable_NumOutputs, a->num_outputs = (size_t)a->executable->noutputs)
ANSWER(Executable_SizeOfGeneratedCodeInBytes, a->size_in_bytes = (int64_t)a->executable->archive.size)
ANSWER(Executable_GetCostAnalysis, a->properties = NULL, a->num_properties = 0)
ANSWER(Executable_Fingerprint, GIVE_TEXT(executable_fingerprint, a->executable->fingerprint))

/* The program as it came. Asked twice: for its size, then for its text. */
struct pjrt_error *pjrt_Executable_OptimizedProgram(struct args_Executable_OptimizedProgram *a)
{
    const struct pjrt_executable *e = a->executable;
    if (!e->code)
        return pjrt_fail(PJRT_UNIMPLEMENTED, "an archive does not contain the program it was made of");
    a->program->format = "mlir";
    a->program->format_size = 4;
    if (!a->program->code)
        a->program->code_size = e->code_size;
    else if (a->program->code_size >= e->code_size)
        memcpy(a->program->code, e->code, e->code_size);
    else
        return pjrt_fail(PJRT_INVALID_ARGUMENT, "the program has %zu bytes, there is room for %zu",
                         e->code_size, a->program->code_size);
    return NULL;
}

ANSWER(Executable_OutputElementTypes, a->output_types = a->executable->output_types,
       a->num_output_types = (size_t)a->executable->noutputs)
ANSWER(Executable_OutputDimensions, a->num_outputs = (size_t)a->executable->noutputs,
       a->dims = a->executable->output_dims, a->dim_sizes = a->executable->output_ranks)
ANSWER(Executable_OutputMemoryKinds, a->num_outputs = (size_t)a->executable->noutputs,
       a->memory_kinds = a->executable->kinds, a->memory_kind_sizes = a->executable->kind_sizes)
ANSWER(Executable_ParameterMemoryKinds, a->num_parameters = (size_t)a->executable->ninputs,
       a->memory_kinds = a->executable->kinds, a->memory_kind_sizes = a->executable->kind_sizes)

struct pjrt_error *
pjrt_Executable_GetCompiledMemoryStats(struct args_Executable_GetCompiledMemoryStats *a)
{
    const struct pjrt_executable *e = a->executable;
    int64_t in = 0, out = 0;
    for (int i = 0; i < e->ninputs; i++)
        in += (int64_t)e->input_bytes[i];
    for (int i = 0; i < e->noutputs; i++)
        out += (int64_t)e->output_bytes[i];
    a->generated_code_size_in_bytes = (int64_t)e->archive.size;
    a->argument_size_in_bytes = in;
    a->output_size_in_bytes = out;
    a->alias_size_in_bytes = a->temp_size_in_bytes = 0;
    a->host_generated_code_size_in_bytes = a->host_argument_size_in_bytes = 0;
    a->host_output_size_in_bytes = a->host_alias_size_in_bytes = a->host_temp_size_in_bytes = 0;
    a->peak_memory_in_bytes = in + out;
    if (GIVES(a, total_size_in_bytes))
        a->total_size_in_bytes = in + out;
    if (GIVES(a, total_allocation_bytes))
        a->total_allocation_bytes = in + out;
    if (GIVES(a, indefinite_allocations))
        a->indefinite_allocations = 0;
    if (GIVES(a, peak_unpadded_heap_bytes))
        a->peak_unpadded_heap_bytes = 0;
    return NULL;
}
