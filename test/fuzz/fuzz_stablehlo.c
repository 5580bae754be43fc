/* StableHLO as text, bytecode or a file of jax.export: read, compiled, run. */
#include "frontend/import.h"
#include "frontend/stablehlo/stablehlo.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag d = fuzz_diag();
    const char *path = stablehlo_detect(data, size) ? fuzz_file(data, size) : NULL;
    struct graph *g = path ? stablehlo_import(path, NULL, &d) : NULL;
    if (path) {
        fuzz_agree(g != NULL, &d);
        fuzz_graph(g, size, &d);
    }
    return 0;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    bool text = true;
    for (size_t i = 0; i < size && i < 64; i++)
        text &= data[i] >= 9 && data[i] < 127;
    return (text ? mutate_text : mutate_mlir)(data, size, room, seed);
}
