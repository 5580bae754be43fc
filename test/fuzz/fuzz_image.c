/* An image file, through the routine of ImageDecoder. */
#include "runtime/ops/common/ops.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag d = fuzz_diag();
    struct op_env env = {.d = &d};
    struct attrs attrs = {0};
    int64_t n = (int64_t)size;
    struct tensor bytes = tensor_view(DT_U8, 1, &n, (void *)data), out = {.kind = VK_NONE};
    struct tensor *in[] = {&bytes}, *result[] = {&out};
    struct op_call c = {.op = OP_image_decode,
                        .attrs = &attrs,
                        .nin = 1,
                        .nout = 1,
                        .in = in,
                        .out = result,
                        .env = &env};
    fuzz_agree(op_run(&c), &d);
    tensor_free(&out);
    return 0;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    return mutate_bytes(data, size, room, seed);
}
