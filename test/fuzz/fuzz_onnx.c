/* An ONNX model, through all passes and the backend: cpu or, for odd sizes, trn1. Then one run. */
#include "frontend/onnx/onnx.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag d = fuzz_diag();
    const char *path = fuzz_file(data, size);
    struct graph *g = path ? onnx_import(path, NULL, &d) : NULL;
    if (path) {
        fuzz_agree(g != NULL, &d);
        fuzz_graph(g, size, &d);
    }
    return 0;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    return mutate_onnx(data, size, room, seed);
}
