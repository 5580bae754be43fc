/* A program as text: read, printed, read again, run. */
#include "neff/isa/asm.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/mutate.h"

#include <stdlib.h>
#include <string.h>

static char *print(const struct program *p, size_t *n)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, n);
    if (!f)
        abort();
    program_print(p, f);
    fclose(f);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag d = fuzz_diag();
    struct program *p = program_parse((const char *)data, size, "fuzz", &d);
    fuzz_agree(p != NULL, &d);
    if (!p)
        return 0;
    size_t n, m;
    char *first = print(p, &n);
    struct program *again = program_parse(first, n, "again", &d);
    if (!again) {
        fprintf(stderr, "what was printed is not read back: %s\n%s", d.text, first);
        abort();
    }
    char *second = print(again, &m);
    if (n != m || memcmp(first, second, n))
        abort();
    program_free(again);
    free(first);
    free(second);
    fuzz_run(p, &d);
    return 0;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    return mutate_text(data, size, room, seed);
}
