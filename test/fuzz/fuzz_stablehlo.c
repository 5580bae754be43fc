/* StableHLO as text, bytecode or a file of jax.export: read, compiled, run. */
#include "frontend/import.h"
#include "frontend/stablehlo/stablehlo.h"
#include "test/fuzz/fuzz.h"

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
