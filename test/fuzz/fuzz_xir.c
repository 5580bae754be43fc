/* A graph as text: read, printed, read again, compiled, run. */
#include "test/fuzz/fuzz.h"
#include "test/fuzz/mutate.h"

static void *parse(const char *text, size_t n, struct diag *d)
{
    return graph_parse(text, n, "fuzz", d);
}

static void print(void *object, FILE *f)
{
    graph_print(object, f, -1);
}

static void release(void *object)
{
    graph_free(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag d = fuzz_diag();
    struct graph *g = parse((const char *)data, size, &d);
    fuzz_agree(g != NULL, &d);
    if (!g)
        return 0;
    fuzz_reread(&(struct fuzz_text){parse, print, release}, g, &d);
    fuzz_graph(g, size, &d);
    return 0;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    return mutate_text(data, size, room, seed);
}
