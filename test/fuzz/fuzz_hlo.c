/* An HLO module, text or proto: read, compiled, run. */
#include "frontend/hlo/syntax/proto.h"
#include "frontend/import.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag d = fuzz_diag();
    const char *path = fuzz_file(data, size);
    struct graph *g = path ? hlo_import(path, NULL, &d) : NULL;
    if (path) {
        fuzz_agree(g != NULL, &d);
        fuzz_graph(g, size, &d);
    }
    return 0;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    bool proto = hlo_proto_detect(data, size);
    return proto ? mutate_hlo(data, size, room, seed) : mutate_text(data, size, room, seed);
}
