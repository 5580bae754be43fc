/*
 * Who touches what: find_relations says of random kernels what a look at every pair of their instructions says, and
 * long kernels are scheduled and synchronised. `test_accesses bench` prints how long that takes as they grow.
 */
#include "test/unit/neff_test.h"

#include "backend/schedule/accesses.h"
#include "backend/schedule/check_sync.h"

#include <time.h>

struct long_text {
    char *s;
    size_t n;
    FILE *f;
};

static void begin(struct long_text *t, const char *target)
{
    t->f = open_memstream(&t->s, &t->n);
    fprintf(t->f,
            "program \"t\" target %s\nnode 0 \"n\" \"n\"\noutputs \"y\"\nslot %%0 input \"x\" f32[128,4096]\n"
            "slot %%1 planned f32[128,4096] output\nslot %%2 planned f32[128,4096]\n"
            "slot %%3 view f32[64,4096] of %%2 + 4096\n"
            "kernel 0 \"k\" grid(2) vars 3 semaphores 0 flops 0 bytes 0 {\n",
            target);
}

static struct program *end(struct long_text *t, bool traced)
{
    fprintf(t->f, "}\nregion 0 (%%0) -> (%%1) { launch 0 }\n");
    fclose(t->f);
    struct program *p = parse_ok(t->s);
    p->kernels[0].traced = traced;
    free(t->s);
    return p;
}

/* ---- random kernels ---- */

/* A pattern of a tile or slot: rows, columns, both, or all; elsewhere in each iteration, now and then. */
static void random_pattern(struct long_text *t, struct test_random *r, int depth, bool hbm)
{
    int width = hbm ? 4096 : 64;
    int rows = below(r, 3) ? 128 : 1 + below(r, 64), columns = below(r, 3) ? 4 << below(r, 4) : 64;
    int row = rows < 128 ? below(r, 128 - rows) : 0, column = columns < 64 ? below(r, 64 - columns + 1) : 0;
    if (!below(r, 8))
        column = 60; /* the last columns go on in the next row */
    rows = row + rows == 128 && column + columns > 64 ? rows - 1 : rows;
    fprintf(t->f, "%s[", below(r, 6) ? "f32" : "i32");
    if (!below(r, 8))
        fprintf(t->f, "g0*4+");
    if (depth > 0 && !below(r, 3))
        fprintf(t->f, "i%d*%d+", 1 + below(r, depth), 1 << below(r, 4));
    fprintf(t->f, "%d](%d:%d, %d:1)", row * width + column, rows, width, columns);
}

static void random_insns(struct long_text *t, struct test_random *r, int depth, int *left)
{
    for (int n = 2 + below(r, 12); n > 0 && *left > 0; n--) {
        if (depth < 2 && !below(r, 5)) {
            fprintf(t->f, "loop i%d < 3 {\n", depth + 1);
            random_insns(t, r, depth + 1, left);
            fprintf(t->f, "}\n");
            continue;
        }
        --*left;
        static const char *const engines[] = {"act", "dve", "pool"};
        int slots[2] = {below(r, 3) ? -1 : 1 + below(r, 3), below(r, 3) ? -1 : below(r, 4)};
        fprintf(t->f, "%s.tensor_copy", engines[below(r, 3)]);
        for (int o = 0; o < 2; o++) {
            if (slots[o] < 0)
                fprintf(t->f, " %s=sbuf%d ", o ? "src" : "dst", below(r, 5));
            else
                fprintf(t->f, " %s=%%%d ", o ? "src" : "dst", slots[o]);
            random_pattern(t, r, depth, slots[o] >= 0);
            fprintf(t->f, "%s", o ? " node 0\n" : ",");
        }
    }
}

enum { SAME = 1, CARRIED = 2 };

/* What find_relations says of each instruction and this one. */
static void related(struct accesses *x, int insn, int *says, int n)
{
    struct relations found = {0};
    memset(says, 0, sizeof *says * (size_t)n);
    find_relations(x, insn, &found);
    for (int i = 0; i < found.n; i++)
        for (int r = 0; r < found.at[i].list->nruns[found.at[i].kind]; r++) {
            const struct access_run *run = &found.at[i].list->runs[found.at[i].kind][r];
            for (int a = 0; a < run->n; a++)
                if (run->tensors[a] != found.at[i].except)
                    says[run->insns[a]] |= found.at[i].same_iteration ? SAME | CARRIED : CARRIED;
        }
}

static void compare(const struct program *p)
{
    const struct kernel *k = &p->kernels[0];
    struct arena scratch = {0};
    struct accesses *x = find_accesses(p, k, &scratch);
    int *says = ARENA_ARRAY(&scratch, int, k->ninsns + 1);
    for (int i = 0; i < k->ninsns; i++) {
        related(x, i, says, k->ninsns);
        for (int j = 0; j < k->ninsns; j++) {
            int is = insns_conflict(p, k, &k->insns[i], &k->insns[j], false) * SAME |
                     insns_conflict(p, k, &k->insns[i], &k->insns[j], true) * CARRIED;
            if (is != says[j]) {
                char *text = text_of(p);
                fail_msg("instructions %d and %d: %d, expected %d\n%s", i, j, says[j], is, text);
            }
        }
    }
    arena_free(&scratch);
}

static void test_relations(void **state)
{
    (void)state;
    struct test_random r = {7};
    for (int round = 0; round < 300; round++) {
        struct long_text t = {0};
        int left = 60, places = below(&r, 3);
        begin(&t, "cpu");
        for (int i = 0; i < 5; i++) /* apart, in the same bytes, or in some of the same */
            if (places)
                fprintf(t.f, "tile sbuf%d f32 128 x 64 at %d\n", i, i / 2 * 256 * places / 2);
            else
                fprintf(t.f, "tile sbuf%d f32 128 x 64\n", i);
        while (left > 0)
            random_insns(&t, &r, 0, &left);
        struct program *p = end(&t, below(&r, 2));
        compare(p);
        program_free(p);
    }
}

/* Padding that cuts off more than there is puts offsets where bytes are no numbers any more. */
static void test_far_away(void **state)
{
    (void)state;
    struct long_text t = {0};
    begin(&t, "cpu");
    fprintf(t.f,
            "tile sbuf0 f32 128 x 64\n"
            "sp.dma_copy dst=sbuf0 f32[4611686018427387904](4:64, 4:1), src=%%0 f32[0](4:4096, 4:1) node 0\n"
            "sp.dma_copy dst=sbuf0 f32[-4611686018427387904](4:4611686018427387904, 4:1), src=%%0 f32[0](4:4096, 4:1) "
            "node 0\n"
            "sp.dma_copy dst=%%1 f32[0](4:4096, 4:1), src=sbuf0 f32[0](4:64, 4:1) node 0\n");
    struct program *p = end(&t, true);
    compare(p);
    assert_true(insns_conflict(p, &p->kernels[0], &p->kernels[0].insns[0], &p->kernels[0].insns[2], false));
    program_free(p);
}

/* ---- long kernels ---- */

enum form { FRESH, SAME_TILE, PARTS, PRODUCTS, FORMS };

static void pattern(struct long_text *t, const char *role, int tile, int at, int width)
{
    fprintf(t->f, "%s=sbuf%d f32[%d](128:%d, 4:1)", role, tile, at, width);
}

static void copy_tiles(struct long_text *t, const char *engine, int to, int from, int at, int width)
{
    fprintf(t->f, "%s.tensor_copy ", engine);
    pattern(t, "dst", to, at, width);
    pattern(t, ", src", from, at, width);
    fprintf(t->f, " node 0\n");
}

/* One trip of a traced loop that is written out: load, compute, store. */
static void trip(struct long_text *t, enum form form, int i, int trips, int tiles)
{
    int a = form == FRESH ? 2 * i : 0, b = a + 1, hbm = i * 4 % 4096;
    int width = form == PARTS ? 4 * trips : 4, at = form == PARTS ? 4 * i : 0;
    fprintf(t->f, "sp.dma_copy ");
    pattern(t, "dst", a, at, width);
    fprintf(t->f, ", src=%%0 f32[%d](128:4096, 4:1) node 0\n", hbm);
    if (form == PRODUCTS) {
        int psum = tiles + i / 8 % (trips / 8);
        fprintf(t->f,
                "pe.nc_matmul dst=psum%d f32[0](4:1, 4:4), moving=sbuf0 f32[0](4:1, 4:4), "
                "stationary=sbuf0 f32[0](4:4, 4:1), accumulate=%d node 0\n"
                "act.tensor_copy dst=sbuf%d f32[0](4:4, 4:1), src=psum%d f32[0](4:4, 4:1) node 0\n",
                psum, i % 8 > 0, b, psum);
    } else {
        copy_tiles(t, "act", b, a, at, width);
        copy_tiles(t, "dve", a, b, at, width);
    }
    int rows = form == PRODUCTS ? 4 : 128;
    fprintf(t->f, "sp.dma_copy dst=%%1 f32[%d](%d:4096, 4:1), src=sbuf%d f32[%d](%d:%d, 4:1) node 0\n", hbm, rows, b,
            at, rows, width);
}

/* About n instructions. */
static struct program *written_out(const char *target, enum form form, int n)
{
    struct long_text t = {0};
    begin(&t, target);
    int trips = n / 4, tiles = form == FRESH ? 2 * trips : 2;
    for (int i = 0; i < tiles; i++)
        fprintf(t.f, "tile sbuf%d f32 128 x %d\n", i, form == PARTS ? 4 * trips : 4);
    for (int i = 0; i < trips / 8 && form == PRODUCTS; i++)
        fprintf(t.f, "tile psum%d f32 128 x 4\n", tiles + i);
    for (int i = 0; i < trips; i++)
        trip(&t, form, i, trips, tiles);
    return end(&t, true);
}

static struct program *scheduled(const char *target, enum form form, int n, double *seconds)
{
    struct diag d = {0};
    struct program *p = written_out(target, form, n);
    clock_t start = clock();
    if (!schedule_traced(p, &p->kernels[0], machine_find(target), &d))
        fail_msg("%s, form %d: %s", target, form, d.text);
    *seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    return p;
}

static const char *const long_targets[] = {"cpu", "trn1"};

static void test_long_kernels(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int form = 0; form < FORMS; form++) {
            struct diag d = {0};
            double seconds;
            struct program *p = scheduled(long_targets[i], form, 2000, &seconds);
            if (!check_program_sync(p, 1, &d))
                fail_msg("%s, form %d: %s", long_targets[i], form, d.text);
            program_free(p);
        }
}

/* Seconds of processor time; what compares pairs takes four times as long for twice as many instructions. */
static void bench(void)
{
    static const char *const forms[] = {"new tiles", "the same tiles", "parts of one tile", "products"};
    printf("| target | form | 2000 | 4000 | 8000 | 16000 |\n| --- | --- | --: | --: | --: | --: |\n");
    for (int i = 0; i < 2; i++)
        for (int form = 0; form < FORMS; form++) {
            printf("| %s | %s |", long_targets[i], forms[form]);
            for (int n = 2000; n <= 16000; n *= 2) {
                double seconds;
                program_free(scheduled(long_targets[i], form, n, &seconds));
                printf(" %.3f |", seconds);
            }
            printf("\n");
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_relations), cmocka_unit_test(test_far_away),
                                       cmocka_unit_test(test_long_kernels)};
    if (argc > 1 && !strcmp(argv[1], "bench")) {
        bench();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
