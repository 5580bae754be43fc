/* An .npy and an .npz file. */
#include "runtime/io/npy.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tensor t = {.kind = VK_NONE};
    struct diag d = fuzz_diag(), e = fuzz_diag();
    fuzz_agree(npy_read_bytes(data, size, "fuzz", &t, &d), &d);
    tensor_free(&t);
    const char *path = fuzz_file(data, size);
    struct npz z = {0};
    if (path && npz_read(path, &z, &e))
        npz_free(&z);
    return 0;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    return mutate_bytes(data, size, room, seed);
}
