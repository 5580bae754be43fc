/*
 * What is done to kernels that people write, on strict targets: tiles in turn for one that is written again and again,
 * row sums made by the Scalar engine, parts of tiles that do not wait for each other, what is computed twice.
 */
#include "test/unit/neff_test.h"

#include "backend/schedule/schedule.h"

#define HEAD                                                                                                        \
    "program \"t\" target trn1\nnode 0 \"n\" \"n\"\noutputs \"y\"\nslot %0 input \"x\" f32[128,256]\n"              \
    "slot %1 planned f32[128,64] output\nkernel 0 \"k\" grid(1) vars 2 semaphores 0 flops 0 bytes 0 {\n"
#define TAIL "}\nregion 0 (%0) -> (%1) { launch 0 }\n"
#define TILES  "tile sbuf0 f32 128 x 64\ntile sbuf1 f32 128 x 8\n"
#define IN(at) "%0 f32[" #at "](128:256, 64:1)"
#define ROWS(t) #t " f32[0](128:64, 64:1)"
#define LOAD(at) "sp.dma_copy dst=" ROWS(sbuf0) ", src=" IN(at) " node 0\n"
#define SUM(at)                                                                                                     \
    "dve.tensor_reduce dst=sbuf1 f32[" #at "](128:8, 1:1), src=" ROWS(sbuf0) ", axes=1, scale=1, op=max node 0\n"
#define HALF(to, at)                                                                                                \
    "sp.dma_copy dst=sbuf0 f32[" #to "](128:64, 32:1), src=%0 f32[" #at "](128:256, 32:1) node 0\n"
#define SUM_HALF(of)                                                                                                \
    "dve.tensor_reduce dst=sbuf1 f32[0](128:8, 1:1), src=sbuf0 f32[" #of "](128:64, 32:1), axes=1, scale=1, op=max "  \
    "node 0\n"
#define GATHER(skip)                                                                                                \
    "sp.gather dst=" ROWS(sbuf0) ", src=%0 f32[0](128:0, 64:1), index=sbuf1 f32[0](128:8, 64:0), stride=256, "       \
    "limit=128, skip=" #skip " node 0\n"
#define SHUFFLE                                                                                                     \
    "dve.nc_stream_shuffle dst=" ROWS(sbuf0) ", src=sbuf1 f32[0](128:8, 64:0), mask0=255, mask1=0, mask2=0, "    \
    "mask3=0, mask4=0, mask5=0, mask6=0 node 0\n"
#define LOAD_SOME(at)                                                                                               \
    "sp.dma_copy dst=" ROWS(sbuf0) ", src=%0 f32[" #at "](min(128,100-i1*50):256, 64:1) node 0\n"
#define FILL "dve.memset dst=" ROWS(sbuf0) ", value=0 node 0\n"

static struct kernel *kernel_of(struct program **p, const char *body)
{
    char text[4096];
    snprintf(text, sizeof text, "%s%s%s%s", HEAD, TILES, body, TAIL);
    *p = parse_ok(text);
    (*p)->kernels[0].traced = true;
    return &(*p)->kernels[0];
}

static void schedule(struct program *p)
{
    struct diag d = {0};
    if (!schedule_traced(p, &p->kernels[0], machine_find("trn1"), &d))
        fail_msg("%s", d.text);
}

/* Each load has a tile of its own, up to four, where what is read is what it wrote, and else not. */
static void test_tiles_in_turn(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int tiles;
    } cases[] = {
        {FILL LOAD(0) SUM(0) LOAD(64) SUM(1), 3},
        {LOAD(0) SUM(0) LOAD(64) SUM(1) LOAD(128) SUM(2) LOAD(192) SUM(3) LOAD(0) SUM(4) LOAD(64) SUM(5), 5},
        {LOAD(0) SUM(0), 2},
        /* half of the first load is read after the second, which did not write it */
        {LOAD(0) SUM(0) "sp.dma_copy dst=sbuf0 f32[0](128:64, 32:1), src=%0 f32[0](128:256, 32:1) node 0\n" SUM(1), 2},
        /* halves that are loaded again and again, each read by itself, are two each in turn; not so what reads both */
        {HALF(0, 0) HALF(32, 64) SUM_HALF(0) SUM_HALF(32) HALF(0, 128) HALF(32, 192) SUM_HALF(0) SUM_HALF(32), 3},
        {HALF(0, 0) HALF(32, 64) SUM(0) HALF(0, 128) HALF(32, 192) SUM(1), 2},
        /* part of what one load wrote is read */
        {LOAD(0) SUM_HALF(0) LOAD(64) SUM_HALF(32), 3},
        /* what works in place writes the tile once more */
        {LOAD(0) "dve.tensor_scalar dst=" ROWS(sbuf0) ", src=" ROWS(sbuf0) ", scalar0=2, scalar1=0, op0=mul, "
                 "op1=identity node 0\n" SUM(0) LOAD(64) SUM(1), 4},
        /* one that leaves elements as they are writes not all: what was there before stays its */
        {FILL GATHER(1) SUM(0) FILL GATHER(1) SUM(1), 2},
        {FILL GATHER(0) SUM(0) FILL GATHER(0) SUM(1), 3},
        {FILL SHUFFLE SUM(0) FILL SHUFFLE SUM(1), 2},
        /* nor one whose source ends sooner */
        {"loop i1 < 2 {\n" LOAD_SOME(0) SUM(0) LOAD_SOME(64) SUM(1) "}\n", 2},
        /* a loop leaves what it loads last to what follows it */
        {"loop i1 < 3 {\n" LOAD(0) SUM(0) "}\n" SUM(1) LOAD(64) SUM(2) LOAD(128) SUM(3), 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program *p;
        struct kernel *k = kernel_of(&p, cases[i].body);
        rotate_tiles(p, k, machine_find("trn1"));
        if (k->ntiles != cases[i].tiles)
            fail_msg("case %zu: %d tiles, expected %d", i, k->ntiles, cases[i].tiles);
        program_free(p);
    }
}

/* The second load does not wait for those who read the first. */
static void test_loads_do_not_wait(void **state)
{
    (void)state;
    struct program *p;
    struct kernel *k = kernel_of(&p, LOAD(0) SUM(0) LOAD(64) SUM(1));
    schedule(p);
    for (int i = 0; i < k->ninsns; i++)
        if (k->insns[i].op == INSN_dma_copy)
            assert_int_equal(k->insns[i].nwaits, 0);
    program_free(p);
}

#define EXP(type)                                                                                                   \
    "act.activation dst=sbuf0 " type "[0](128:64, 64:1), src=" ROWS(sbuf0) ", factor=1, a=0, b=0, f=exp node 0\n"
#define ADD(type)                                                                                                   \
    "dve.tensor_reduce dst=sbuf1 f32[0](128:8, 1:1), src=sbuf0 " type "[0](128:64, 64:1), axes=1, scale=1, op=add "  \
    "node 0\n"

static void test_row_sums(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool joined;
    } cases[] = {
        {LOAD(0) EXP("f32") ADD("f32"), true},
        {LOAD(0) EXP("f32") "dve.memset dst=sbuf1 f32[4](128:8, 1:1), value=0 node 0\n" ADD("f32"), true},
        {LOAD(0) EXP("f32") FILL ADD("f32"), false},
        {LOAD(0) EXP("f32") "dve.memset dst=sbuf1 f32[0](128:8, 1:1), value=0 node 0\n" ADD("f32"), false},
        {LOAD(0) EXP("bf16") ADD("bf16"), false}, /* the sum is one of rounded elements */
        {LOAD(0) EXP("f32") SUM(0), false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program *p;
        struct kernel *k = kernel_of(&p, cases[i].body);
        int before = k->ninsns;
        join_row_sums(p, k);
        bool sums = k->insns[1].ap[AP(activation, sum)].mem == MEM_SBUF;
        if ((k->ninsns < before) != cases[i].joined || sums != cases[i].joined)
            fail_msg("case %zu", i);
        program_free(p);
    }
}

#define MORE "tile sbuf2 f32 128 x 64\ntile sbuf3 f32 128 x 64\ntile sbuf4 f32 128 x 64\ntile sbuf5 f32 128 x 64\n"
#define OF(op, to, a, b)                                                                                            \
    "dve.tensor_tensor dst=" ROWS(sbuf##to) ", a=" ROWS(sbuf##a) ", b=" ROWS(sbuf##b) ", op=" #op " node 0\n"
#define MUL(to, a, b) OF(mul, to, a, b)
#define STORE(from) "sp.dma_copy dst=%1 f32[0](128:64, 64:1), src=" ROWS(sbuf##from) " node 0\n"

/* What is computed once more of the same is computed once, and where it went the first time it is read. */
static void test_same_results(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int gone, stored; /* instructions, and the tile that is stored at last */
    } cases[] = {
        {MORE LOAD(0) MUL(2, 0, 0) MUL(3, 0, 0) STORE(3), 1, 2},
        {MORE LOAD(0) MUL(2, 0, 0) MUL(3, 2, 0) MUL(4, 0, 0) MUL(5, 4, 0) STORE(5), 2, 3},
        {MORE LOAD(0) MUL(2, 0, 0) OF(add, 3, 0, 0) STORE(3), 0, 3},
        {MORE LOAD(0) MUL(2, 0, 0) LOAD(64) MUL(3, 0, 0) STORE(3), 0, 3},               /* of something else */
        {MORE LOAD(0) MUL(2, 0, 0) MUL(3, 0, 0) OF(add, 3, 2, 2) STORE(3), 0, 3},       /* a tile that changes */
        {MORE LOAD(0) MUL(2, 0, 0) OF(add, 2, 0, 0) MUL(3, 0, 0) STORE(3), 0, 3},       /* and so does this one */
        {MORE LOAD(0) MUL(2, 0, 0) "loop i1 < 2 {\n" MUL(3, 0, 0) "}\n" STORE(3), 0, 3}, /* the loop may not run */
        /* the earlier turn's is read */
        {MORE LOAD(0) "loop i1 < 2 {\n" MUL(4, 3, 3) MUL(2, 0, 0) MUL(3, 0, 0) "}\n" STORE(3), 0, 3},
        {MORE LOAD(0) "loop i1 < 2 {\n" MUL(2, 0, 0) MUL(3, 0, 0) MUL(4, 3, 3) "}\n" STORE(3), 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program *p;
        struct kernel *k = kernel_of(&p, cases[i].body);
        int before = k->ninsns;
        join_same_results(k);
        if (before - k->ninsns != cases[i].gone ||
            k->insns[k->ninsns - 1].ap[AP(dma_copy, src)].tensor != cases[i].stored)
            fail_msg("case %zu", i);
        program_free(p);
    }
}

#define PART(t, at) #t " f32[" #at "](128:64, 32:1)"
#define LOAD_PART(at) "sp.dma_copy dst=" PART(sbuf0, at) ", src=%0 f32[" #at "](128:256, 32:1) node 0\n"
#define SUM_PART(to, at)                                                                                            \
    "dve.tensor_reduce dst=sbuf1 f32[" #to "](128:8, 1:1), src=" PART(sbuf0, at) ", axes=1, scale=1, op=max node 0\n"

/* A reader of some columns waits for the transfer that brings these, not for those of other columns of its tile. */
static void test_columns(void **state)
{
    (void)state;
    struct program *p;
    struct kernel *k = kernel_of(&p, LOAD_PART(0) LOAD_PART(32) SUM_PART(0, 0) SUM_PART(1, 32));
    schedule(p);
    int64_t waits[2] = {0};
    for (int i = 0, n = 0; i < k->ninsns; i++)
        if (k->insns[i].op == INSN_tensor_reduce && n < 2)
            waits[n++] = k->insns[i].nwaits ? k->insns[i].wait[0].value.base : 0;
    assert_int_equal(waits[0], 1);
    assert_int_equal(waits[1], 2);
    struct ap *a = &k->insns[0].ap[AP(dma_copy, dst)], wide = *a, next = *a;
    wide.dim[1].count = 40, next.offset.base = 96; /* the second row's columns from 32 on */
    assert_true(patterns_disjoint(k, a, &next, true));
    assert_false(patterns_disjoint(k, &wide, &next, true));
    program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiles_in_turn), cmocka_unit_test(test_loads_do_not_wait),
                                       cmocka_unit_test(test_row_sums), cmocka_unit_test(test_columns),
                                       cmocka_unit_test(test_same_results)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
