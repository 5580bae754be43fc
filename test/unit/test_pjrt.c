/*
 * The PJRT plug-in by its table of functions, as a framework uses it.
 */
#include "frontend/pjrt/plugin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct pjrt_api *api;
static struct pjrt_client *client;

/* Calls an entry; its arguments' size is that of the struct without padding at its end, or more. */
#define CALL_PJRT(name, args) ((args)->struct_size = sizeof *(args), api->entry[PJRT_ENTRY_##name](args))
#define OK(name, args) assert_null(CALL_PJRT(name, args))

/* An error's code; its text goes to `text`. */
static int refused(struct pjrt_error *e, char *text, size_t size)
{
    assert_non_null(e);
    struct args_Error_GetCode code = {.error = e};
    struct args_Error_Message message = {.error = e};
    struct args_Error_ForEachPayload payload = {.error = e};
    struct args_Error_Destroy destroy = {.error = e};
    OK(Error_GetCode, &code);
    OK(Error_Message, &message);
    OK(Error_ForEachPayload, &payload);
    assert_true(message.message_size < size);
    memcpy(text, message.message, message.message_size);
    text[message.message_size] = 0;
    OK(Error_Destroy, &destroy);
    return code.code;
}

static void expect_refusal(struct pjrt_error *e, int code, const char *part)
{
    char text[1024];
    assert_int_equal(refused(e, text, sizeof text), code);
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

static int start(void **state)
{
    api = GetPjrtApi();
    struct args_Client_Create a = {0};
    OK(Client_Create, &a);
    client = a.client;
    return 0;
}

static int end(void **state)
{
    struct args_Client_Destroy a = {.client = client};
    OK(Client_Destroy, &a);
    return 0;
}

enum { F32 = 11, I4 = 21 };

static struct pjrt_buffer *upload(const void *data, int type, size_t rank, const int64_t *dims,
                                  const int64_t *strides)
{
    struct args_Client_BufferFromHostBuffer a = {
        .client = client, .data = data, .type = type, .dims = dims, .num_dims = rank,
        .byte_strides = strides, .num_byte_strides = strides ? rank : 0};
    OK(Client_BufferFromHostBuffer, &a);
    struct args_Event_IsReady ready = {.event = a.done_with_host_buffer};
    OK(Event_IsReady, &ready);
    assert_true(ready.is_ready);
    struct args_Event_Destroy event = {.event = a.done_with_host_buffer};
    OK(Event_Destroy, &event);
    return a.buffer;
}

static void download(struct pjrt_buffer *b, void *to, size_t size)
{
    struct args_Buffer_ToHostBuffer a = {.src = b};
    OK(Buffer_ToHostBuffer, &a);
    assert_int_equal(a.dst_size, size);
    a.dst = to;
    OK(Buffer_ToHostBuffer, &a);
}

static void destroy_buffer(struct pjrt_buffer *b)
{
    struct args_Buffer_Destroy a = {.buffer = b};
    OK(Buffer_Destroy, &a);
}

static bool is_deleted(struct pjrt_buffer *b)
{
    struct args_Buffer_IsDeleted a = {.buffer = b};
    OK(Buffer_IsDeleted, &a);
    return a.is_deleted;
}

static struct pjrt_error *compile(const char *text, struct pjrt_loaded **out)
{
    struct pjrt_program p = {.struct_size = sizeof p, .code = (char *)(uintptr_t)text,
                             .code_size = strlen(text), .format = "mlir", .format_size = 4};
    struct args_Client_Compile a = {.client = client, .program = &p};
    struct pjrt_error *e = CALL_PJRT(Client_Compile, &a);
    *out = a.executable;
    return e;
}

static void destroy_loaded(struct pjrt_loaded *l)
{
    struct args_LoadedExecutable_Destroy a = {.executable = l};
    OK(LoadedExecutable_Destroy, &a);
}

static struct pjrt_executable *executable_of(struct pjrt_loaded *l)
{
    struct args_LoadedExecutable_GetExecutable a = {.loaded_executable = l};
    OK(LoadedExecutable_GetExecutable, &a);
    return a.executable;
}

static void destroy_executable(struct pjrt_executable *e)
{
    struct args_Executable_Destroy a = {.executable = e};
    OK(Executable_Destroy, &a);
}

static struct pjrt_error *execute(struct pjrt_loaded *l, size_t n, struct pjrt_buffer *const *args,
                                  struct pjrt_buffer **out)
{
    struct pjrt_execute_options o = {.struct_size = sizeof o};
    struct pjrt_event *done = NULL;
    struct args_LoadedExecutable_Execute a = {
        .executable = l, .options = &o, .argument_lists = &args, .num_devices = 1, .num_args = n,
        .output_lists = &out, .device_complete_events = &done};
    struct pjrt_error *e = CALL_PJRT(LoadedExecutable_Execute, &a);
    assert_true(e || done);
    return e;
}

static const char program[] =
    "module @jit_f { func.func public @main(%a: tensor<2x3xf32> {jax.buffer_donor = true}, "
    "%b: tensor<f32>) -> (tensor<2x3xf32>, tensor<2xf32>) {\n"
    "  %c = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<2x3xf32>\n"
    "  %d = stablehlo.multiply %a, %c : tensor<2x3xf32>\n"
    "  %e = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %r = stablehlo.reduce(%d init: %e) applies stablehlo.add across dimensions = [1] : "
    "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\n"
    "  return %d, %r : tensor<2x3xf32>, tensor<2xf32> } }\n";

static void check_run(struct pjrt_loaded *l)
{
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {10};
    float x[6], y[2];
    struct pjrt_buffer *in[] = {upload(a, F32, 2, (int64_t[]){2, 3}, NULL), upload(b, F32, 0, NULL, NULL)},
                       *out[2];
    assert_null(execute(l, 2, in, out));
    download(out[0], x, sizeof x);
    download(out[1], y, sizeof y);
    for (int i = 0; i < 6; i++)
        assert_true(x[i] == 10 * a[i]);
    assert_true(y[0] == 60 && y[1] == 150);
    assert_true(is_deleted(in[0]) && !is_deleted(in[1])); /* the first is donated */
    expect_refusal(execute(l, 2, in, out), PJRT_INVALID_ARGUMENT, "argument 0 has been deleted or donated");
    for (int i = 0; i < 2; i++) {
        destroy_buffer(in[i]);
        destroy_buffer(out[i]);
    }
}

static void runs_a_program(void **state)
{
    struct pjrt_loaded *l;
    assert_null(compile(program, &l));
    check_run(l);
    struct pjrt_executable *e = executable_of(l);
    struct args_Executable_OutputDimensions dims = {.executable = e};
    OK(Executable_OutputDimensions, &dims);
    assert_int_equal(dims.num_outputs, 2);
    assert_true(dims.dim_sizes[0] == 2 && dims.dim_sizes[1] == 1);
    assert_true(dims.dims[0] == 2 && dims.dims[1] == 3 && dims.dims[2] == 2);
    struct args_Executable_OutputElementTypes types = {.executable = e};
    OK(Executable_OutputElementTypes, &types);
    assert_true(types.output_types[0] == F32 && types.output_types[1] == F32);
    destroy_executable(e);
    check_run(l); /* again, in the same context */
    struct args_LoadedExecutable_Delete deleted = {.executable = l};
    OK(LoadedExecutable_Delete, &deleted);
    struct pjrt_buffer *none[2] = {0};
    expect_refusal(execute(l, 2, none, none), PJRT_INVALID_ARGUMENT, "the executable has been deleted");
    destroy_loaded(l);
}

static void saved_executables_are_archives(void **state)
{
    struct pjrt_loaded *l, *again;
    assert_null(compile(program, &l));
    struct pjrt_executable *e = executable_of(l);
    struct args_Executable_Serialize s = {.executable = e};
    OK(Executable_Serialize, &s);
    destroy_loaded(l);
    destroy_executable(e);
    struct args_Executable_DeserializeAndLoad d = {
        .client = client, .serialized_executable = s.serialized_bytes,
        .serialized_executable_size = s.serialized_bytes_size};
    OK(Executable_DeserializeAndLoad, &d);
    again = d.loaded_executable;
    d.serialized_executable_size /= 2;
    expect_refusal(CALL_PJRT(Executable_DeserializeAndLoad, &d), PJRT_INTERNAL, "truncated");
    s.serialized_executable_deleter(s.serialized_executable);
    check_run(again);
    destroy_loaded(again);
}

static const char token_program[] =
    "module @jit_f { func.func public @main(%t: !stablehlo.token, %a: tensor<2xf32> {jax.buffer_donor = true}, "
    "%u: !stablehlo.token) -> (!stablehlo.token, tensor<2xf32>, !stablehlo.token) {\n"
    "  %0 = stablehlo.add %a, %a : tensor<2xf32>\n"
    "  %1 = stablehlo.after_all %t, %u : !stablehlo.token\n"
    "  return %1, %0, %t : !stablehlo.token, tensor<2xf32>, !stablehlo.token } }\n";

/* Tokens are results in their places: of a type of their own, without dims, in the device's memory. */
static void check_token_results(struct pjrt_loaded *l)
{
    struct pjrt_executable *e = executable_of(l);
    struct args_Executable_NumOutputs n = {.executable = e};
    struct args_Executable_OutputElementTypes types = {.executable = e};
    struct args_Executable_OutputDimensions dims = {.executable = e};
    struct args_Executable_OutputMemoryKinds kinds = {.executable = e};
    OK(Executable_NumOutputs, &n);
    OK(Executable_OutputElementTypes, &types);
    OK(Executable_OutputDimensions, &dims);
    OK(Executable_OutputMemoryKinds, &kinds);
    assert_true(n.num_outputs == 3 && types.num_output_types == 3 && dims.num_outputs == 3 && kinds.num_outputs == 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(types.output_types[i], i == 1 ? F32 : PJRT_TOKEN);
        assert_int_equal(dims.dim_sizes[i], i == 1);
        assert_memory_equal(kinds.memory_kinds[i], "device", kinds.memory_kind_sizes[i]);
    }
    assert_int_equal(dims.dims[0], 2);
    destroy_executable(e);
}

/* The first tokens are arrays of nothing, as JAX has them; then the results of the run before. */
static void check_token_run(struct pjrt_loaded *l)
{
    enum { BOOL = 1 };
    const float a[] = {1, 2};
    float x[2];
    check_token_results(l);
    struct pjrt_buffer *nothing = upload(a, BOOL, 1, (int64_t[]){0}, NULL),
                       *array = upload(a, F32, 1, (int64_t[]){2}, NULL),
                       *scalar = upload(a, F32, 0, NULL, NULL),
                       *in[] = {nothing, array, nothing}, *out[3], *again[3];
    assert_null(execute(l, 3, in, out));
    assert_true(is_deleted(array) && !is_deleted(nothing)); /* the donated one */
    expect_refusal(execute(l, 3, (struct pjrt_buffer *[]){nothing, out[0], nothing}, again), PJRT_INVALID_ARGUMENT,
                   "argument 1 is a token, expected an array");
    expect_refusal(execute(l, 3, (struct pjrt_buffer *[]){out[0], out[1], scalar}, again), PJRT_INVALID_ARGUMENT,
                   "argument 2 is an array of 4 bytes, expected a token");
    assert_null(execute(l, 3, out, again));
    download(again[1], x, sizeof x);
    assert_true(x[0] == 4 && x[1] == 8);
    for (int i = 0; i < 3; i += 2) {
        struct args_Buffer_CopyToMemory copy = {.buffer = again[i]};
        struct args_Buffer_ElementType type = {.buffer = again[i]};
        struct args_Buffer_Dimensions dims = {.buffer = again[i]};
        OK(Buffer_ElementType, &type);
        OK(Buffer_Dimensions, &dims);
        assert_true(type.type == PJRT_TOKEN && dims.num_dims == 0);
        download(again[i], x, 0);
        OK(Buffer_CopyToMemory, &copy);
        destroy_buffer(copy.dst_buffer);
    }
    for (int i = 0; i < 3; i++) {
        destroy_buffer(out[i]);
        destroy_buffer(again[i]);
    }
    destroy_buffer(nothing);
    destroy_buffer(array);
    destroy_buffer(scalar);
}

static void tokens_are_arguments_and_results(void **state)
{
    struct pjrt_loaded *l;
    assert_null(compile(token_program, &l));
    check_token_run(l);
    struct pjrt_executable *e = executable_of(l);
    struct args_Executable_Serialize s = {.executable = e};
    OK(Executable_Serialize, &s);
    struct args_Executable_DeserializeAndLoad d = {
        .client = client, .serialized_executable = s.serialized_bytes,
        .serialized_executable_size = s.serialized_bytes_size};
    OK(Executable_DeserializeAndLoad, &d);
    s.serialized_executable_deleter(s.serialized_executable);
    destroy_executable(e);
    destroy_loaded(l);
    check_token_run(d.loaded_executable);
    destroy_loaded(d.loaded_executable);
}

static void buffers_are_copied(void **state)
{
    /* columns of a matrix, taken as rows: strides of a transposed array, and one backwards */
    const float a[] = {1, 2, 3, 4, 5, 6}, want[] = {5, 3, 1, 6, 4, 2};
    float got[6], back[6];
    struct pjrt_buffer *b = upload(a + 4, F32, 2, (int64_t[]){2, 3}, (int64_t[]){4, -8});
    download(b, got, sizeof got);
    assert_memory_equal(got, want, sizeof got);
    const int64_t columns[] = {0, 1};
    struct pjrt_layout layout = {.kind = PJRT_LAYOUT_TILED};
    layout.tiled.minor_to_major = columns;
    layout.tiled.minor_to_major_size = 2;
    struct args_Buffer_ToHostBuffer h = {
        .src = b, .host_layout = &layout, .dst = back, .dst_size = sizeof back};
    OK(Buffer_ToHostBuffer, &h);
    const float transposed[] = {5, 6, 3, 4, 1, 2};
    assert_memory_equal(back, transposed, sizeof back);
    h.dst_size = 23;
    expect_refusal(CALL_PJRT(Buffer_ToHostBuffer, &h), PJRT_INVALID_ARGUMENT, "24 bytes to be copied to 23");

    /* bytes outlive a deletion while somebody outside has them */
    struct args_Buffer_IncreaseExternalReferenceCount up = {.buffer = b};
    OK(Buffer_IncreaseExternalReferenceCount, &up);
    struct args_Buffer_OpaqueDeviceMemoryDataPointer p = {.buffer = b};
    OK(Buffer_OpaqueDeviceMemoryDataPointer, &p);
    struct args_Buffer_CopyToMemory c = {.buffer = b};
    OK(Buffer_CopyToMemory, &c);
    struct args_Buffer_Delete deleted = {.buffer = b};
    OK(Buffer_Delete, &deleted);
    assert_true(is_deleted(b));
    assert_memory_equal(p.device_memory_ptr, want, sizeof want);
    expect_refusal(CALL_PJRT(Buffer_CopyToMemory, &c), PJRT_INVALID_ARGUMENT, "deleted or donated");
    struct args_Buffer_DecreaseExternalReferenceCount down = {.buffer = b};
    OK(Buffer_DecreaseExternalReferenceCount, &down);
    expect_refusal(CALL_PJRT(Buffer_DecreaseExternalReferenceCount, &down), PJRT_FAILED_PRECONDITION,
                   "no external reference");
    download(c.dst_buffer, got, sizeof got);
    assert_memory_equal(got, want, sizeof got);
    destroy_buffer(c.dst_buffer);
    destroy_buffer(b);

    /* narrow integers: one in each byte; an array of nothing */
    const signed char n[] = {-8, 7, 1};
    signed char m[3];
    b = upload(n, I4, 1, (int64_t[]){3}, NULL);
    download(b, m, 3);
    assert_memory_equal(n, m, 3);
    destroy_buffer(b);
    b = upload(NULL, F32, 2, (int64_t[]){0, 7}, NULL);
    download(b, m, 0);
    destroy_buffer(b);
}

static int released;
static void count_release(void *data, void *user)
{
    released += *(int *)user;
}

static void lent_memory_is_given_back(void **state)
{
    _Alignas(16) static float data[] = {1, 2, 3, 4, 5};
    float got[4];
    int one = 1;
    for (int shift = 0; shift < 2; shift++) { /* the second is not aligned: a copy */
        struct args_Client_CreateViewOfDeviceBuffer a = {
            .client = client, .device_buffer_ptr = data + shift, .dims = (int64_t[]){4}, .num_dims = 1,
            .element_type = F32, .on_delete_callback = count_release, .on_delete_callback_arg = &one};
        released = 0;
        OK(Client_CreateViewOfDeviceBuffer, &a);
        assert_int_equal(released, shift);
        download(a.buffer, got, sizeof got);
        assert_memory_equal(got, data + shift, sizeof got);
        destroy_buffer(a.buffer);
        assert_int_equal(released, 1);
    }
}

static void refusals_say_why(void **state)
{
    struct pjrt_loaded *l;
    expect_refusal(compile("module { func.func @main() -> tensor<f32> {\n"
                           "%a = stablehlo.custom_call @nowhere() : () -> tensor<f32>\n"
                           "return %a : tensor<f32> } }",
                           &l),
                   PJRT_UNIMPLEMENTED, "nowhere");
    struct pjrt_program p = {.struct_size = sizeof p, .format = "hlo", .format_size = 3};
    struct args_Client_Compile a = {.client = client, .program = &p};
    expect_refusal(CALL_PJRT(Client_Compile, &a), PJRT_UNIMPLEMENTED, "format 'hlo'");
    p.format = "mlir", p.format_size = 4;
    const char two_replicas[] = {0x1a, 2, 0x20, 2}, damaged[] = {0x1a, 9, 0x20};
    a.compile_options = two_replicas, a.compile_options_size = sizeof two_replicas;
    expect_refusal(CALL_PJRT(Client_Compile, &a), PJRT_UNIMPLEMENTED, "2 replicas of 1 partitions");
    a.compile_options = damaged, a.compile_options_size = sizeof damaged;
    expect_refusal(CALL_PJRT(Client_Compile, &a), PJRT_INVALID_ARGUMENT, "damaged");

    assert_null(compile(program, &l));
    struct pjrt_buffer *b[3] = {0};
    expect_refusal(execute(l, 3, b, b), PJRT_INVALID_ARGUMENT, "3 arguments, expected 2");
    const float x[6] = {0};
    b[0] = upload(x, F32, 1, (int64_t[]){6}, NULL);
    b[1] = upload(x, F32, 0, NULL, NULL);
    expect_refusal(execute(l, 2, b, b), PJRT_INTERNAL, "expected f32[2,3]");
    destroy_buffer(b[0]);
    destroy_buffer(b[1]);
    destroy_loaded(l);

    struct args_Client_BufferFromHostBuffer h = {.client = client, .type = 99};
    expect_refusal(CALL_PJRT(Client_BufferFromHostBuffer, &h), PJRT_UNIMPLEMENTED, "element type 99");
    h.type = F32, h.dims = (int64_t[]){INT64_MAX / 2, 3}, h.num_dims = 2;
    expect_refusal(CALL_PJRT(Client_BufferFromHostBuffer, &h), PJRT_INVALID_ARGUMENT, "too large");
}

/* Reads compile options from memory of just that size. */
static bool read_options(struct compile_request *r, const void *bytes, size_t size)
{
    void *exact = malloc(size);
    assert_true(exact || !size);
    if (size)
        memcpy(exact, bytes, size);
    bool ok = compile_request_read(r, exact, size);
    if (ok && r->unknown) /* lies within what was given */
        assert_true(r->unknown >= (char *)exact && r->unknown_size <= size - (size_t)(r->unknown - (char *)exact));
    free(exact);
    return ok;
}

/* Options as a serialised message: with every byte changed and cut everywhere nothing else is read, and a cut within a
 * field is seen. */
static void damaged_options(void **state)
{
    static const unsigned char whole[] = {
        0x08, 1,                                                  /* a number */
        0x1a, 7, 0x20, 1, 0x28, 1, 0x3d, 0, 0,                    /* too short: of 4 bytes there are 2 */
        0x1a, 4, 0x20, 1, 0x28, 1,                                /* one replica, one partition */
        0x3a, 11, 0x0a, 5, 'x', 'l', 'a', '_', 'a', 0x12, 2, 8, 1, /* an option by name */
        0x25, 1, 2, 3, 4, 0x29, 1, 2, 3, 4, 5, 6, 7, 8,           /* 4 bytes, 8 bytes */
    };
    const unsigned char *good = whole + 11;
    const size_t size = sizeof whole - 11, ends[] = {0, 6, 19, 24, 33};
    struct compile_request r;
    assert_false(read_options(&r, whole, sizeof whole));
    for (size_t cut = 0, k = 0; cut <= size; cut++) {
        bool at_end = cut == ends[k];
        k += at_end;
        assert_int_equal(read_options(&r, good, cut), at_end);
    }
    assert_true(r.replicas == 1 && r.partitions == 1 && !r.unknown);
    for (size_t at = 0; at < size; at++)
        for (int byte = 0; byte < 256; byte++) {
            unsigned char changed[sizeof whole];
            memcpy(changed, good, size);
            changed[at] = (unsigned char)byte;
            read_options(&r, changed, size);
        }
}

/* What options ask for, read right or refused, by messages that are UTF-8. */
static void odd_options(void **state)
{
#define REPLICAS(...) {0x1a, sizeof((char[]){__VA_ARGS__}) + 1, 0x20, __VA_ARGS__}
    static const struct {
        unsigned char bytes[16];
        size_t size;
        int code;
        const char *part;
    } cases[] = {
        {REPLICAS(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), 13, PJRT_UNIMPLEMENTED,
         "18446744073709551615 replicas"}, /* -1 */
        {REPLICAS(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), 13, PJRT_INVALID_ARGUMENT, "damaged"},
        {{0x1b, 0}, 2, PJRT_INVALID_ARGUMENT, "damaged"}, /* a group */
        {{0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 11, PJRT_INVALID_ARGUMENT, "damaged"},
        {{0x3a, 7, 0x0a, 5, 'a', 0xc3, 0xa9, 0xc3, 'b'}, 9, PJRT_INVALID_ARGUMENT, "option: 'a\xc3\xa9?b';"},
        {{0x3a, 8, 0x0a, 6, 0xed, 0xa0, 0x80, 0xf8, 0xe2, 0x82}, 10, PJRT_INVALID_ARGUMENT, "option: '\?\?\?\?\?\?';"},
    };
    unsigned char cut[2 + 3 + 3 + 300] = {0x3a, 0xaf, 2, 0x0a, 0xac, 2, 'a'}; /* within a character */
    struct pjrt_program p = {.struct_size = sizeof p, .format = "mlir", .format_size = 4};
    struct args_Client_Compile a = {.client = client, .program = &p};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        a.compile_options = (const char *)cases[i].bytes, a.compile_options_size = cases[i].size;
        expect_refusal(CALL_PJRT(Client_Compile, &a), cases[i].code, cases[i].part);
    }
    for (int i = 7; i < 306; i++)
        cut[i] = i % 2 ? 0xc3 : 0xa9;
    cut[305] = 'z';
    a.compile_options = (const char *)cut, a.compile_options_size = 306;
    expect_refusal(CALL_PJRT(Client_Compile, &a), PJRT_INVALID_ARGUMENT, "\xc3\xa9?'; xcc");
    p.format = "a format", p.format_size = SIZE_MAX;
    expect_refusal(CALL_PJRT(Client_Compile, &a), PJRT_UNIMPLEMENTED, "format 'a format'");
}

/* Callers of other versions: less than is needed is refused, and nothing is written beyond the end. */
static void versions_are_checked(void **state)
{
    assert_int_equal(api->version.major, 0);
    assert_int_equal(api->struct_size, offsetof(struct pjrt_api, entry) + PJRT_ENTRIES * sizeof(void *));
    struct args_Client_PlatformName name = {.struct_size = offsetof(struct args_Client_PlatformName,
                                                                    platform_name_size),
                                            .client = client};
    expect_refusal(api->entry[PJRT_ENTRY_Client_PlatformName](&name), PJRT_INVALID_ARGUMENT,
                   "PJRT_Client_PlatformName: the caller's arguments have 32 bytes, expected at least 40");
    expect_refusal(api->entry[PJRT_ENTRY_Compile](&name), PJRT_UNIMPLEMENTED, "PJRT_Compile");

    struct pjrt_loaded *l;
    assert_null(compile(program, &l));
    struct pjrt_executable *e = executable_of(l);
    struct args_Executable_GetCompiledMemoryStats stats;
    memset(&stats, 0x5a, sizeof stats);
    stats.executable = e;
    stats.struct_size = offsetof(struct args_Executable_GetCompiledMemoryStats, total_size_in_bytes);
    assert_null(api->entry[PJRT_ENTRY_Executable_GetCompiledMemoryStats](&stats));
    assert_int_equal(stats.argument_size_in_bytes, 28);
    assert_int_equal(stats.output_size_in_bytes, 32);
    assert_true(stats.total_size_in_bytes == 0x5a5a5a5a5a5a5a5a);
    destroy_executable(e);
    destroy_loaded(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_a_program),
        cmocka_unit_test(saved_executables_are_archives),
        cmocka_unit_test(tokens_are_arguments_and_results),
        cmocka_unit_test(buffers_are_copied),
        cmocka_unit_test(lent_memory_is_given_back),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(damaged_options),
        cmocka_unit_test(odd_options),
        cmocka_unit_test(versions_are_checked),
    };
    return cmocka_run_group_tests(tests, start, end);
}
