/* A graph as text: read, printed, read again, compiled, run. */
#include "test/fuzz/fuzz.h"
#include "test/fuzz/mutate.h"

#include <stdlib.h>
#include <string.h>

static char *print(struct graph *g, size_t *n)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, n);
    if (!f)
        abort();
    graph_print(g, f, -1);
    fclose(f);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag d = fuzz_diag();
    struct graph *g = graph_parse((const char *)data, size, "fuzz", &d);
    fuzz_agree(g != NULL, &d);
    if (!g)
        return 0;
    size_t n, m;
    char *first = print(g, &n);
    struct graph *again = graph_parse(first, n, "again", &d);
    fuzz_agree(again != NULL, &d);
    if (!again) {
        fprintf(stderr, "what was printed is not read back: %s\n%s", d.text, first);
        abort();
    }
    char *second = print(again, &m);
    if (n != m || memcmp(first, second, n))
        abort();
    graph_free(again);
    free(first);
    free(second);
    fuzz_graph(g, size, &d);
    return 0;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    return mutate_text(data, size, room, seed);
}
