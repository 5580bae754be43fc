/*
 * The estimate by which orders of one kernel are compared: engines side by side unless they share a port, what depends
 * in turn and a little later, transfers of queues that share the DMA engines. And the order that it is for.
 */
#include "test/unit/neff_test.h"

#include "backend/schedule/chain.h"
#include "neff/isa/cost.h"

static const char head[] = "program \"t\" target trn1\nnode 0 \"a\" \"A\"\noutputs \"y\"\n"
                           "slot %0 input \"x\" f32[128,512]\nslot %1 planned f32[128,512] output\n"
                           "kernel 0 \"k\" grid() vars 0 semaphores 0 flops 0 bytes 0 {\n"
                           "  tile sbuf0 f32 128 x 512 at 0\n  tile sbuf1 f32 128 x 512 at 2048\n"
                           "  tile sbuf2 f32 128 x 512 at 4096\n  tile sbuf3 f32 128 x 512 at 4096\n"
                           "  tile psum4 f32 128 x 512 at 0\n  tile psum5 f32 128 x 512 at 2048\n"
                           "  tile sbuf6 f32 128 x 128 at 6144\n";
static const char tail[] = "}\nregion 0 (%0) -> (%1) {\n launch 0\n}\n";

#define T(t)            #t " f32[0](128:512, 512:1)"
#define COPY(e, to, by) "  " e ".tensor_copy dst=" T(to) ", src=" T(by) " node 0\n"
#define LOAD(e, to)     "  " e ".dma_copy dst=" T(to) ", src=" T(%0) " node 0\n"
#define RELOAD(e, to)   "  " e ".dma_copy dst=" T(to) ", src=" T(%1) " node 0\n"
#define TURN(to) \
    "  pe.nc_transpose dst=" #to " f32[0](128:512, 128:1), src=sbuf6 f32[0](128:128, 128:1) node 0\n"
#define STORE(e, by)    "  " e ".dma_copy dst=" T(%1) ", src=" T(by) " node 0\n"

static struct program *program_of(const char *body)
{
    char text[4096];
    snprintf(text, sizeof text, "%s%s%s", head, body, tail);
    return parse_ok(text);
}

/* costs: of engines' instructions; moves: of the DMA engines, for transfers. */
static double estimate_of(const char *body, const double *costs, const double *moves)
{
    struct program *p = program_of(body);
    double mean_end, ns = straight_estimate(p, &p->kernels[0], machine_find("trn1"), costs, moves, &mean_end);
    program_free(p);
    return ns;
}

/* Each engine's instruction costs 100 ns, each transfer 50 of the DMA engines. */
static double estimate(const char *body)
{
    static const double costs[] = {100, 100, 100, 100}, moves[] = {50, 50, 50, 50};
    return estimate_of(body, costs, moves);
}

static void assert_ns(double ns, double expected)
{
    if (ns < expected - 0.5 || ns > expected + 0.5)
        fail_msg("%.1f ns, expected %.1f", ns, expected);
}

/* Until an engine begins whose instruction has waited for another one. */
static double access_ns(int engine)
{
    const struct machine *m = machine_find("trn1");
    return machine_timing(m)->access_start_cycles / engine_ghz(m, engine);
}

static void engines(void **state)
{
    double access = access_ns(ENGINE_ACT);
    assert_ns(estimate(COPY("dve", sbuf1, sbuf0)), 100);
    assert_ns(estimate(COPY("dve", sbuf1, sbuf0) COPY("act", sbuf2, sbuf0)), 100);
    assert_ns(estimate(COPY("dve", sbuf1, sbuf0) COPY("dve", sbuf2, sbuf0)), 200);
    assert_ns(estimate(COPY("dve", sbuf1, sbuf0) COPY("act", sbuf2, sbuf1)), 200 + access); /* what was written */
    assert_ns(estimate(COPY("dve", sbuf1, sbuf2) COPY("act", sbuf3, sbuf0)), 200 + access); /* bytes that are read */
}

static void ports(void **state)
{
    assert_ns(estimate(COPY("dve", sbuf1, psum4) COPY("act", sbuf2, psum5)), 200); /* they take turns at PSUM */
    assert_ns(estimate(COPY("dve", sbuf1, psum4) COPY("act", sbuf2, sbuf0)), 100);
    assert_ns(estimate(COPY("dve", sbuf1, sbuf0) COPY("pool", sbuf2, sbuf0)), 200); /* and these two at SBUF */
    assert_ns(estimate(COPY("act", sbuf1, sbuf0) COPY("pool", sbuf2, sbuf0)), 100);
}

/* Sums leave the Tensor engine's array after the last row has gone in. */
static void sums(void **state)
{
    const struct machine *m = machine_find("trn1");
    double late = machine_timing(m)->pe_result_cycles / m->pe_ghz + access_ns(ENGINE_ACT);
    assert_ns(estimate(TURN(psum4) COPY("act", sbuf1, psum4)), 200 + late);
    assert_ns(estimate(TURN(psum4) COPY("act", sbuf1, psum5)), 100);
}

static void transfers(void **state)
{
    const struct timing *t = machine_timing(machine_find("trn1"));
    double issue = t->dma_issue_cycles / machine_find("trn1")->pool_ghz, start = t->dma_start_ns;
    assert_ns(estimate(LOAD("sp", sbuf0)), issue + 50 + start);
    assert_ns(estimate(LOAD("sp", sbuf0) LOAD("act", sbuf1)), issue + 100 + start); /* they share the DMA engines */
    assert_ns(estimate(LOAD("sp", sbuf0) COPY("dve", sbuf2, sbuf1)), issue + 50 + start);
    assert_ns(estimate(LOAD("sp", sbuf0) COPY("dve", sbuf1, sbuf0)),
              issue + 50 + start + access_ns(ENGINE_DVE) + 100);
    /* A load stands behind a store that waits, in one queue; in another it does not. */
    double behind = estimate(COPY("dve", sbuf1, sbuf2) STORE("sp", sbuf1) LOAD("sp", sbuf0)
                                 COPY("act", sbuf3, sbuf0));
    double beside = estimate(COPY("dve", sbuf1, sbuf2) STORE("act", sbuf1) LOAD("sp", sbuf0)
                                 COPY("pool", sbuf3, sbuf0));
    assert_ns(behind, 100 + 2 * issue + 2 * 50 - (issue < 50 ? issue : 50) + start + access_ns(ENGINE_ACT) + 100);
    assert_ns(beside, issue + 50 + start + access_ns(ENGINE_POOL) + 100);
}

/* Two orders that take the same time: the one whose instructions end earlier costs less, by less than a thousandth. */
static void early_ends(void **state)
{
    static const double costs[] = {100, 10, 100, 100}, last[] = {100, 100, 10, 100}, moves[4];
    struct program *p = program_of(COPY("dve", sbuf1, sbuf0) COPY("act", sbuf2, sbuf0) COPY("act", sbuf2, sbuf0));
    const struct machine *m = machine_find("trn1");
    double mean_end, first = straight_price(p, &p->kernels[0], m, costs, moves);
    double later = straight_price(p, &p->kernels[0], m, last, moves);
    assert_ns(straight_estimate(p, &p->kernels[0], m, costs, moves, &mean_end), 110);
    assert_ns(straight_estimate(p, &p->kernels[0], m, last, moves, &mean_end), 110);
    assert_true(110 < first && first < later && later <= 110 * 1.001);
    program_free(p);
}

/* What was stored can be loaded again when that is over, by the same queue too, whose engine goes on meanwhile. */
static void reloads(void **state)
{
    const struct timing *t = machine_timing(machine_find("trn1"));
    double issue = t->dma_issue_cycles / machine_find("trn1")->pool_ghz, stored = issue + 50 + t->dma_start_ns;
    assert_ns(estimate(STORE("sp", sbuf0) RELOAD("sp", sbuf1)), stored + 50 + t->dma_start_ns);
    assert_ns(estimate(STORE("sp", sbuf0) RELOAD("act", sbuf1)), stored + issue + 50 + t->dma_start_ns);
    assert_ns(estimate(STORE("act", sbuf0) RELOAD("act", sbuf1) COPY("act", sbuf3, sbuf2)),
              stored + 50 + t->dma_start_ns);
    assert_ns(estimate(LOAD("sp", sbuf2) LOAD("sp", sbuf3)), issue + (issue > 50 ? issue : 50) + 50 + t->dma_start_ns);
}

/* A short transfer of one queue does not stand behind a long one of another: each gets half of the time. */
static void queues(void **state)
{
    static const double costs[] = {0, 100, 0, 9000}, moves[] = {1000, 0, 50, 0};
    const struct timing *t = machine_timing(machine_find("trn1"));
    double issue = t->dma_issue_cycles / machine_find("trn1")->pool_ghz, begin = 100 + issue;
    assert_ns(estimate_of(LOAD("sp", sbuf0) COPY("dve", sbuf1, sbuf2) STORE("act", sbuf1) COPY("dve", sbuf1, sbuf2),
                          costs, moves),
              begin + 2 * 50 + t->dma_start_ns + access_ns(ENGINE_DVE) + 9000);
    static const double long_last[] = {0, 100, 0, 0}; /* the long one ends later by the short one */
    assert_ns(estimate_of(LOAD("sp", sbuf0) COPY("dve", sbuf1, sbuf2) STORE("act", sbuf1), long_last, moves),
              issue + 1050 + t->dma_start_ns);
}

/* Of two copies that could begin at once, the one that another engine waits for goes first. */
static void longest_chain_first(void **state)
{
    struct program *p = program_of(COPY("dve", sbuf1, sbuf0) COPY("dve", sbuf2, sbuf0) COPY("act", sbuf0, sbuf2));
    struct kernel *k = &p->kernels[0];
    struct arena arena = {0};
    struct diag d = {0};
    const int64_t *values = bind_symbols_for_report(p, NULL, 0, 1, &arena, &d);
    refine_order(p, k, machine_find("trn1"), values, 1e9);
    int first = k->insns[0].engine == ENGINE_DVE ? 0 : 1;
    assert_int_equal(k->insns[first].ap[AP(tensor_copy, dst)].tensor, 2);
    arena_free(&arena);
    program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines),
        cmocka_unit_test(ports),
        cmocka_unit_test(sums),
        cmocka_unit_test(transfers),
        cmocka_unit_test(reloads),
        cmocka_unit_test(queues),
        cmocka_unit_test(early_ends),
        cmocka_unit_test(longest_chain_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
