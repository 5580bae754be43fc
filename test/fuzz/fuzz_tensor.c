/* A TensorProto file, which may also be a sequence, an optional or a map. */
#include "frontend/onnx/tensor_proto.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int kinds[] = {VK_TENSOR, VK_SEQUENCE, VK_OPTIONAL, VK_MAP};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct diag d = fuzz_diag();
        struct type declared = {.kind = (uint8_t)kinds[i]};
        struct tensor t;
        fuzz_agree(onnx_read_tensor_bytes(data, size, "fuzz", &t, &declared, &d), &d);
        tensor_free(&t);
    }
    return 0;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    return mutate_bytes(data, size, room, seed);
}
