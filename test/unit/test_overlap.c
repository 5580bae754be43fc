/*
 * Whose queue loads again what a kernel has stored: that of another engine where what waits for it ends sooner by that,
 * of the Vector engine too, but not for less than the estimate tells apart.
 */
#include "test/unit/neff_test.h"

#include "backend/schedule/chain.h"

static const char head[] = "program \"t\" target trn1\nnode 0 \"a\" \"A\"\noutputs \"y\"\n"
                           "slot %0 input \"x\" f32[128,8192]\nslot %1 planned f32[128,512]\n"
                           "slot %2 planned \"y\" f32[128,512] output\n"
                           "kernel 0 \"k\" grid() vars 0 semaphores 0 flops 0 bytes 0 {\n"
                           "  tile sbuf0 f32 128 x 512\n  tile sbuf1 f32 128 x 8192\n  tile sbuf2 f32 128 x 8192\n";
static const char tail[] = "}\nregion 0 (%0) -> (%2) {\n launch 0\n}\n";

enum { SBUF0, SBUF1, SBUF2, LOADED };
#define SHORT "f32[0](128:512, 512:1)"
#define LONG  "f32[0](128:8192, 8192:1)"
#define HALF  "f32[0](128:8192, 4096:1)"

/* A long load is under way in the queue of each engine of the list when what was stored could be loaded again, in the
 * last one's queue; so many copies, one after the other, wait for that. */
static char *text_with(const char *const *engines, int n, int copies)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    fputs(head, f);
    for (int i = 0; i < n; i++)
        fprintf(f, "  tile sbuf%d f32 128 x 8192\n", LOADED + i);
    for (int i = 0; i < n; i++)
        fprintf(f, "  %s.dma_copy dst=sbuf%d " HALF ", src=%%0 " HALF " node 0\n", engines[i], LOADED + i);
    fprintf(f, "  dve.memset dst=sbuf0 " SHORT ", value=1 node 0\n");
    fprintf(f, "  pe.dma_copy dst=%%1 " SHORT ", src=sbuf0 " SHORT " node 0\n");
    fprintf(f, "  %s.dma_copy dst=sbuf1 " SHORT ", src=%%1 " SHORT " node 0\n", engines[n - 1]);
    for (int i = 0; i < copies; i++)
        fprintf(f, "  pool.tensor_copy dst=sbuf%d " LONG ", src=sbuf%d " LONG " node 0\n", i % 2 ? SBUF1 : SBUF2,
                i % 2 ? SBUF2 : SBUF1);
    fprintf(f, "  pe.dma_copy dst=%%2 " SHORT ", src=sbuf%d " SHORT " node 0\n%s", copies % 2 ? SBUF2 : SBUF1, tail);
    fclose(f);
    return text;
}

/* The engine that loads it again. */
static int reloaded_by(const char *const *engines, int n, int copies)
{
    char *text = text_with(engines, n, copies);
    struct program *p = parse_ok(text);
    struct kernel *k = &p->kernels[0];
    const int parts[] = {0, n + 2};
    int engine = -1;
    assert_true(overlap_kernels(p, k, machine_find("trn1"), parts, 2));
    for (int i = 0; i < k->ninsns; i++) {
        const struct ap *src = &k->insns[i].ap[AP(dma_copy, src)];
        if (insn_is_transfer(&k->insns[i]) && src->mem == MEM_HBM && src->tensor == 1)
            engine = k->insns[i].engine;
    }
    program_free(p);
    free(text);
    return engine;
}

static void the_free_one(void **state)
{
    (void)state;
    static const char *const engines[] = {"pool", "act", "sp"};
    assert_int_equal(reloaded_by(&engines[2], 1, 4), ENGINE_POOL);
    assert_int_equal(reloaded_by(&engines[0], 3, 4), ENGINE_DVE);
}

/* 4 us of 130, and of 2,400. */
static void not_for_little(void **state)
{
    (void)state;
    static const char *const engines[] = {"sp"};
    assert_int_equal(reloaded_by(engines, 1, 20), ENGINE_POOL);
    assert_int_equal(reloaded_by(engines, 1, 400), ENGINE_SP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_free_one),
        cmocka_unit_test(not_for_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
