/* A program as text: read, printed, read again, run. */
#include "neff/isa/asm.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/mutate.h"

static void *parse(const char *text, size_t n, struct diag *d)
{
    return program_parse(text, n, "fuzz", d);
}

static void print(void *object, FILE *f)
{
    program_print(object, f);
}

static void release(void *object)
{
    program_free(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag d = fuzz_diag();
    struct program *p = parse((const char *)data, size, &d);
    fuzz_agree(p != NULL, &d);
    if (!p)
        return 0;
    fuzz_reread(&(struct fuzz_text){parse, print, release}, p, &d);
    fuzz_run(p, fuzz_seed(data, size), &d);
    return 0;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    return mutate_text(data, size, room, seed);
}
