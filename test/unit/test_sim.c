/*
 * The simulator: times that can be computed by hand, order, limits, and messages.
 */
#include "neff_test.h"

#include "runtime/sim/sim.h"

/* ns of the constants in machine.def, for trn1 */
#define ISSUE       (32 / 1.4)
#define START       1300.0
#define ROW_2K      (2048 / 17.0) /* a piece of 2 KiB */
#define DVE(cycles) ((cycles) / 1.12)
#define ACT(cycles) ((cycles) / 1.4)
#define PE(cycles)  ((cycles) / 2.8)
#define ACCESS      60

static struct sim *simulate(const char *text, const char *machine, int cores, int overlap)
{
    struct program *p = parse_ok(text);
    struct diag d = {0};
    struct sim_options o = {.machine = machine ? machine_find(machine) : NULL,
                            .cores = cores,
                            .overlap = overlap,
                            .max_records = 1 << 20};
    o.values = sim_bind(p, NULL, 0, NULL, &p->arena, &d);
    struct sim *s = sim_run(p, &o, &d);
    if (!s)
        fail_msg("%s", d.text);
    return s;
}

static void done(struct sim *s)
{
    program_free((struct program *)s->p);
    sim_free(s);
}

static void assert_ns(int64_t ps, double ns)
{
    if (ps < (int64_t)(ns * 1000) - 20 || ps > (int64_t)(ns * 1000) + 20)
        fail_msg("%.3f ns, expected %.3f", (double)ps / 1000, ns);
}

#define HEAD                                                                                       \
    "program \"t\" target trn1\nnode 0 \"a\" \"A\"\nnode 1 \"b\" \"B\"\noutputs \"y\"\n\n"         \
    "slot %0 input \"x\" f32[1024,512]\nslot %1 planned \"y\" f32[1024,512] output\n\n"
#define TAIL "\nregion 0 (%0) -> (%1) {\n  launch 0\n}\n"
#define LOAD(tile)                                                                                 \
    "  sp.dma_copy dst=" tile                                                                      \
    " f32[0](128:512, 512:1), src=%0 f32[g0*65536](128:512, 512:1) signal s0 node 0\n"
#define STORE(tile, wait) STORE_BY("sp", tile, wait)
#define STORE_BY(engine, tile, wait)                                                               \
    "  " engine ".dma_copy dst=%1 f32[g0*65536](128:512, 512:1), src=" tile                        \
    " f32[0](128:512, 512:1) wait " wait " node 1\n"

static const char one[] = HEAD
    "kernel 0 \"k\" grid(1) vars 1 semaphores 2 flops 0 bytes 0 {\n"
    "  tile sbuf0 f32 128 x 512 at 0\n"
    "  tile sbuf1 f32 128 x 512 at 2048\n" LOAD(
        "sbuf0") "  dve.tensor_copy dst=sbuf1 f32[0](128:512, 512:1), src=sbuf0 f32[0](128:512, "
                 "512:1) wait s0>=1 signal s1 node 1\n" STORE("sbuf1", "s1>=1") "}\n" TAIL;

static void test_chain(void **state)
{
    struct sim *s = simulate(one, NULL, 1, 0);
    double transfer = START + 8 * ROW_2K;
    assert_ns(s->latency, ISSUE + transfer + DVE(ACCESS + 512) + ISSUE + transfer);
    assert_int_equal(s->nlaunches, 1);
    assert_int_equal(s->insns, 3);
    assert_int_equal(s->transfers, 2);
    assert_int_equal(s->dma_bytes, 2 * 128 * 2048);
    assert_int_equal(s->sbuf_peak, 4096);
    assert_ns(s->tracks[0][ENGINE_DVE].busy, DVE(ACCESS + 512));
    assert_ns(s->tracks[0][ENGINE_DVE].waiting, ISSUE + transfer);
    assert_int_equal(s->nwaits, 2);
    assert_int_equal(s->waits[0].track == ENGINE_DVE ? s->waits[0].cause_track
                                                    : s->waits[1].cause_track,
                     TRACK_QUEUE + ENGINE_SP);
    struct sim_summary y;
    sim_summarise(s, &y);
    assert_string_equal(y.bound_by, "chain");
    assert_true(y.bound_us <= y.latency_us && y.bound_us > 0.9 * y.latency_us);
    int64_t path = 0;
    for (int i = 0; i < y.npath; i++)
        path += y.path[i].ps;
    assert_int_equal(path, s->latency);
    done(s);
}

static int64_t part_sum(const struct sim_launch *l, int track)
{
    int64_t ps = 0;
    for (int i = 0; i < l->nparts; i++)
        ps += l->parts[i].work.busy[track];
    return ps;
}

/* The load is of node a, the copy and the store are of node b. */
static void test_parts(void **state)
{
    struct sim *s = simulate(one, NULL, 1, 0);
    const struct sim_launch *l = &s->launches[0];
    double transfer = START + 8 * ROW_2K, copy = DVE(ACCESS + 512);
    assert_int_equal(l->nparts, 2);
    const struct sim_work *a = &l->parts[0].work, *b = &l->parts[1].work;
    assert_int_equal(l->parts[0].node, 0);
    assert_int_equal(l->parts[1].node, 1);
    assert_int_equal(a->start, 0);
    assert_ns(a->end, ISSUE + transfer);
    assert_ns(a->chain, ISSUE + transfer);
    assert_int_equal(b->start, a->end);
    assert_int_equal(b->end, s->latency);
    assert_ns(b->chain, DVE(512) + ISSUE + transfer);
    assert_int_equal(a->adds + b->adds, l->work.adds);
    assert_ns(a->busy[ENGINE_DVE], 0);
    assert_ns(b->busy[ENGINE_DVE], copy);
    assert_int_equal(a->insns, 1);
    assert_int_equal(b->insns, 2);
    assert_int_equal(a->dma_bytes, 128 * 2048);
    assert_int_equal(b->dma_bytes, 128 * 2048);
    for (int track = 0; track < TRACK_COUNT; track++)
        assert_int_equal(part_sum(l, track), l->work.busy[track]);
    const char *by;
    assert_true(sim_work_bound(s, b, &by) <= (double)(b->end - b->start));
    assert_string_equal(by, "chain");
    done(s);
}

#define GRID(queue)                                                                                \
    HEAD "kernel 0 \"k\" grid(8) vars 1 semaphores 2 flops 0 bytes 0 {\n"                          \
         "  tile sbuf0 f32 128 x 512 at 0\n  tile sbuf1 f32 128 x 512 at 2048\n" LOAD(             \
             "sbuf0") "  dve.tensor_copy dst=sbuf1 f32[0](128:512, 512:1), src=sbuf0 "             \
                      "f32[0](128:512, 512:1) "                                                    \
                      "wait s0>=1 signal s1 node 1\n" STORE_BY(queue, "sbuf1", "s1>=1") "}\n" TAIL
static const char grid[] = GRID("act");

/* Instances run beside each other as far as there is memory, and on two cores. */
static void test_instances(void **state)
{
    struct sim *alone = simulate(one, NULL, 1, 0), *serial = simulate(grid, NULL, 1, 1);
    struct sim *two = simulate(grid, NULL, 1, 2), *all = simulate(grid, NULL, 1, 0);
    struct sim *cores = simulate(grid, NULL, 2, 1);
    assert_int_equal(serial->latency, 8 * alone->latency);
    assert_true(two->latency < serial->latency);
    assert_true(all->latency < two->latency);
    assert_int_equal(cores->latency, 4 * alone->latency);
    assert_int_equal(all->launches[0].overlap, 8);
    assert_int_equal(serial->insns, all->insns);
    assert_int_equal(serial->sbuf_peak, 4096);
    assert_true(two->sbuf_peak > 4096 && two->sbuf_peak <= 8192);
    done(alone), done(serial), done(two), done(all), done(cores);
    serial = simulate(GRID("sp"), NULL, 1, 1), all = simulate(GRID("sp"), NULL, 1, 0);
    struct sim *own = simulate(grid, NULL, 1, 0);
    assert_true(all->latency < serial->latency && all->latency > own->latency * 3 / 2);
    done(serial), done(all), done(own); /* loads stand behind stores when one queue has both */
}

/* A second core that has nothing to do, and whose DMA engines have not, lowers no bound. */
static void test_idle_core(void **state)
{
    struct sim_summary y, both;
    struct sim *alone = simulate(one, NULL, 1, 0), *idle = simulate(one, NULL, 2, 0);
    sim_summarise(alone, &y), sim_summarise(idle, &both);
    assert_int_equal(idle->latency, alone->latency);
    assert_true(alone->dma_of_core[0] > 0 && idle->dma_of_core[0] == alone->dma_of_core[0]);
    assert_true(idle->dma_of_core[1] == 0 && both.bound_us == y.bound_us);
    done(alone), done(idle);
}

/* Parts of all instances, on both cores; nodes of one name are one part. */
static void test_parts_of_grids(void **state)
{
    char *alike = strdup(grid);
    strstr(alike, "\"b\" \"B\"")[1] = 'a';
    for (int cores = 1; cores <= 2; cores++) {
        struct sim *s = simulate(grid, NULL, cores, 0), *whole = simulate(alike, NULL, cores, 0);
        const struct sim_launch *l = &s->launches[0];
        assert_int_equal(l->nparts, 2);
        assert_int_equal(l->parts[0].work.insns, 8);
        assert_int_equal(l->parts[1].work.insns, 16);
        assert_int_equal(l->parts[0].work.adds + l->parts[1].work.adds, s->latency);
        for (int track = 0; track < TRACK_COUNT; track++)
            assert_int_equal(part_sum(l, track), l->work.busy[track]);
        assert_int_equal(whole->latency, s->latency);
        assert_int_equal(whole->launches[0].nparts, 0);
        done(s), done(whole);
    }
    free(alike);
}

/* The same program twice: the same picoseconds and records. */
static void test_same(void **state)
{
    struct sim *a = simulate(grid, NULL, 2, 0), *b = simulate(grid, NULL, 2, 0);
    assert_int_equal(a->latency, b->latency);
    assert_int_equal(a->nrecords, b->nrecords);
    for (int i = 0; i < a->nrecords; i++) /* but for the padding at the end */
        assert_memory_equal(&a->records[i], &b->records[i],
                            offsetof(struct sim_record, core) + sizeof a->records->core);
    done(a), done(b);
}

#define ENGINES(first, second)                                                                     \
    HEAD "kernel 0 \"k\" grid(1) vars 1 semaphores 0 flops 0 bytes 0 {\n"                          \
         "  tile sbuf0 f32 128 x 512 at 0\n  tile sbuf1 f32 128 x 512 at 2048\n"                   \
         "  tile psum2 f32 128 x 512 at 0\n" first second "}\n" TAIL
#define FILL(engine, tile)                                                                         \
    "  " engine ".memset dst=" tile " f32[0](128:512, 512:1), value=1 node 0\n"

/* Engines that share a port take turns on v2, not on v3. */
static void test_ports(void **state)
{
    static const char shared[] = ENGINES(FILL("dve", "sbuf0"), FILL("pool", "sbuf1"));
    struct sim *v2 = simulate(shared, "trn1", 1, 0), *v3 = simulate(shared, "trn2", 1, 0);
    assert_ns(v2->latency, DVE(512) + (150 + 512) / 1.4);
    assert_ns(v3->latency, (150 + 512) / 1.2);
    done(v2), done(v3);
    static const char psum[] = ENGINES(FILL("dve", "psum2"), FILL("act", "psum2"));
    v2 = simulate(psum, "trn1", 1, 0), v3 = simulate(psum, "trn2", 1, 0);
    assert_ns(v2->latency, DVE(512) + ACT(512));
    assert_ns(v3->latency, 512 / 0.96);
    done(v2), done(v3);
}

/* Where operands lie and their types set the price. */
static void test_operands(void **state)
{
#define ADD(a, b, type)                                                                            \
    HEAD "kernel 0 \"k\" grid(1) vars 1 semaphores 0 flops 0 bytes 0 {\n"                          \
         "  tile sbuf0 " type " 128 x 512 at 0\n  tile psum1 " type " 128 x 512 at 0\n"            \
         "  tile sbuf2 " type " 128 x 512 at 2048\n"                                               \
         "  dve.tensor_tensor dst=sbuf2 " type "[0](128:512, 512:1), a=" a " " type                \
         "[0](128:512, 512:1), b=" b " " type "[0](128:512, 512:1), op=mul node 0\n}\n" TAIL
    static const struct {
        const char *text, *machine;
        double ns;
    } cases[] = {
        {ADD("sbuf0", "sbuf0", "f32"), "trn1", 1024 / 1.12},
        {ADD("sbuf0", "psum1", "f32"), "trn1", 512 / 1.12},
        {ADD("sbuf0", "sbuf0", "bf16"), "trn1", 512 / 1.12},
        {ADD("sbuf0", "sbuf0", "bf16"), "trn2", 256 / 0.96},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sim *s = simulate(cases[i].text, cases[i].machine, 1, 0);
        assert_ns(s->latency, cases[i].ns);
        done(s);
    }
}

/* A short instruction whose result the next one needs begins a pipeline's length before it. */
static void test_dependent(void **state)
{
#define TINY(dst, src)                                                                             \
    "  act.activation dst=" dst " f32[0](128:512, 1:1), src=" src                                  \
    " f32[0](128:512, 1:1), factor=1, f=exp node 0\n"
    static const char chained[] = ENGINES(TINY("sbuf1", "sbuf0"), TINY("sbuf0", "sbuf1"));
    static const char apart[] = ENGINES(TINY("sbuf1", "sbuf0"), TINY("psum2", "sbuf0"));
    struct sim *s = simulate(chained, NULL, 1, 0);
    assert_ns(s->latency, 189 + ACT(64));
    done(s);
    s = simulate(apart, NULL, 1, 0);
    assert_ns(s->latency, ACT(64) * 2);
    done(s);
}

/* Loops of products: as many as trips, LoadStationary hidden; fp32 four times as long. */
static void test_products(void **state)
{
#define PRODUCTS(type)                                                                             \
    HEAD "kernel 0 \"k\" grid(1) vars 2 semaphores 0 flops 0 bytes 0 {\n"                          \
         "  tile sbuf0 " type " 128 x 512 at 0\n  tile psum1 f32 128 x 512 at 0\n"                 \
         "  loop i1 < 1000 node 0 {\n"                                                             \
         "    pe.nc_matmul dst=psum1 f32[0](512:1, 128:512), stationary=sbuf0 " type               \
         "[0](128:512, 128:1), moving=sbuf0 " type "[0](512:1, 128:512), accumulate=i1*1 node 0\n" \
         "  } node 0\n}\n" TAIL
    struct sim *s = simulate(PRODUCTS("bf16"), NULL, 1, 0);
    assert_ns(s->latency, 182.857 * 1000 + PE(64 + 16)); /* whole picoseconds each */
    struct sim_summary y;
    sim_summarise(s, &y);
    assert_true(y.mfu > 0.999 && y.mfu <= 1.0001);
    assert_string_equal(y.bound_by, "pe");
    done(s);
    s = simulate(PRODUCTS("f32"), NULL, 1, 0);
    assert_ns(s->latency, 731.429 * 1000 + PE(64 + 16));
    done(s);
}

/* Tiles of a loop that lie in the same bytes, in turn, take them once. */
static void test_shared_bytes(void **state)
{
    static const char text[] =
        HEAD "kernel 0 \"k\" grid(1) vars 2 semaphores 0 flops 0 bytes 0 {\n"
             "  tile sbuf0 f32 128 x 512 at 0\n  tile sbuf1 f32 128 x 256 at 1024\n  tile sbuf2 f32 128 x 64 at 2048\n"
             "  loop i1 < 4 node 0 {\n"
             "    sp.dma_copy dst=sbuf0 f32[0](128:512, 512:1), src=%0 f32[i1*65536](128:512, 512:1) node 0\n"
             "    sp.dma_copy dst=%1 f32[i1*65536](128:512, 512:1), src=sbuf0 f32[0](128:512, 512:1) node 1\n"
             "    sp.dma_copy dst=sbuf1 f32[0](128:256, 256:1), src=%0 f32[0](128:512, 256:1) node 0\n"
             "    sp.dma_copy dst=%1 f32[262144](128:512, 256:1), src=sbuf1 f32[0](128:256, 256:1) node 1\n"
             "    sp.dma_copy dst=sbuf2 f32[0](128:64, 64:1), src=%0 f32[0](128:512, 64:1) node 0\n"
             "  } node 0\n}\n" TAIL;
    struct sim *s = simulate(text, NULL, 1, 0);
    assert_int_equal(s->sbuf_peak, 2048 + 256);
    assert_int_equal(s->psum_peak, 0);
    done(s);
}

/* An engine's order holds for the transfers of its own queue. */
static void test_own_queue(void **state)
{
    static const char text[] = ENGINES(
        "  act.dma_copy dst=sbuf0 f32[0](128:512, 512:1), src=%0 f32[0](128:512, 512:1) node 0\n",
        "  act.activation dst=sbuf1 f32[0](128:512, 512:1), src=sbuf0 f32[0](128:512, 512:1), "
        "factor=1, f=exp node 0\n");
    struct sim *s = simulate(text, NULL, 1, 0);
    assert_ns(s->latency, ISSUE + START + 8 * ROW_2K + ACT(512));
    done(s);
}

/* An index selects a row: its elements move as one piece. */
static const char rows[] = HEAD
    "kernel 0 \"k\" grid(1) vars 1 semaphores 2 flops 0 bytes 0 {\n"
    "  tile sbuf0 f32 128 x 512 at 0\n"
    "  tile sbuf1 i32 128 x 1 at 2048\n"
    "  pool.iota dst=sbuf1 i32[0](128:1, 1:1), base=0, row_step=1 signal s1 node 0\n"
    "  sp.gather dst=sbuf0 f32[0](128:512, 512:1), src=%0 f32[0](128:0, 512:1), index=sbuf1 "
    "i32[0](128:1, 512:0), stride=512, limit=1024 wait s1>=1 signal s0 node 0\n" STORE(
        "sbuf0", "s0>=1") "}\n" TAIL;

static void test_gathered_rows(void **state)
{
    struct sim *s = simulate(rows, NULL, 1, 0);
    const struct sim_record *r = NULL;
    for (int i = 0; i < s->nrecords && !r; i++)
        if (s->records[i].track == TRACK_QUEUE + ENGINE_SP)
            r = &s->records[i];
    assert_non_null(r);
    assert_ns(r->end - r->start, 128 / 16 * ROW_2K);
    done(s);
}

/* 128 of the table's 1024 rows. */
static const char table[] =
    "program \"t\" target trn1\nnode 0 \"a\" \"A\"\noutputs \"y\"\n\n"
    "slot %0 input \"x\" f32[1024,512]\nslot %1 input \"i\" i32[128]\n"
    "slot %2 planned \"y\" f32[128,512] output\n\n"
    "kernel 0 \"k\" grid(1) vars 1 semaphores 2 flops 0 bytes 0 {\n"
    "  sp.dma_gather dst=%2 f32[0](128:512, 512:1), table=%0 f32[0](1024:512, 512:1), index=%1 i32[0](128:1), "
    "limit=1024 node 0\n}\n\nregion 0 (%0, %1) -> (%2) {\n  launch 0\n}\n";

static void test_bytes_of_table(void **state)
{
    struct sim *s = simulate(table, NULL, 1, 0);
    assert_int_equal(s->hbm_read, 128 * 2048 + 128 * 4);
    assert_int_equal(s->hbm_written, 128 * 2048);
    assert_int_equal(s->spilled, 0);
    done(s);
}

/* Four kernels, each of which copies what the one before wrote, by rows: x to t, u, z and y. */
#define COPY(to, from, tile)                                                                       \
    "  sp.dma_copy dst=" tile " f32[0](128:512, 512:1), src=" from                                 \
    " f32[g0*65536](128:512, 512:1) signal s0 node 0\n"                                            \
    "  pool.dma_copy dst=" to " f32[g0*65536](128:512, 512:1), src=" tile                          \
    " f32[0](128:512, 512:1) wait s0>=1 node 1\n"
#define KERNEL(number, insns)                                                                      \
    "kernel " number " \"k\" grid(8) vars 1 semaphores 2 flops 0 bytes 0 {\n"                      \
    "  tile sbuf0 f32 128 x 512 at 0\n  tile sbuf1 f32 128 x 512 at 2048\n" insns "}\n"

static const char steps[] =
    "program \"t\" target trn1\nnode 0 \"a\" \"A\"\nnode 1 \"b\" \"B\"\noutputs \"y\"\n\n"
    "slot %0 input \"x\" f32[1024,512]\nslot %1 planned \"y\" f32[1024,512] output\n"
    "slot %2 planned \"t\" f32[1024,512]\nslot %3 planned \"u\" f32[1024,512]\n"
    "slot %4 planned \"z\" f32[1024,512]\n\n" KERNEL("0", COPY("%2", "%0", "sbuf0"))
        KERNEL("1", COPY("%3", "%2", "sbuf0")) KERNEL("2", COPY("%4", "%3", "sbuf0"))
            KERNEL("3", COPY("%1", "%4", "sbuf0"))
    "\nregion 0 (%0) -> (%1) {\n  launch 0\n  launch 1\n  launch 2\n  launch 3\n}\n";

static struct sim *simulate_steps(bool in_turn)
{
    struct program *p = parse_ok(steps);
    struct diag d = {0};
    struct sim_options o = {.cores = 1, .max_records = 1 << 20, .in_turn = in_turn};
    o.values = sim_bind(p, NULL, 0, NULL, &p->arena, &d);
    struct sim *s = sim_run(p, &o, &d);
    if (!s)
        fail_msg("%s", d.text);
    return s;
}

/* What an instance of a launch did at instruction `insn`: its transfer, or what started that. */
static const struct sim_record *record(const struct sim *s, int launch, int instance, int insn,
                                       bool transfer)
{
    for (int i = 0; i < s->nrecords; i++)
        if (s->records[i].launch == launch && s->records[i].instance == instance &&
            s->records[i].insn == insn && (s->records[i].track >= TRACK_QUEUE) == transfer)
            return &s->records[i];
    fail_msg("no instruction %d of instance %d in launch %d", insn, instance, launch);
    return NULL;
}

static const struct sim_record *transfer(const struct sim *s, int launch, int instance, int insn)
{
    return record(s, launch, instance, insn, true);
}

#define LARGE_AND_LITTLE(queue)                                                                              \
    HEAD "kernel 0 \"k\" grid(1) vars 1 semaphores 0 flops 0 bytes 0 {\n"                                    \
         "  tile sbuf0 f32 128 x 4096 at 0\n  tile sbuf1 f32 128 x 512 at 16384\n"                           \
         "  sp.dma_copy dst=sbuf0 f32[0](128:4096, 8:512, 512:1), src=%0 f32[0](128:512, 8:65536, 512:1) "   \
         "node 0\n"                                                                                          \
         "  " queue ".dma_copy dst=sbuf1 f32[0](128:512, 512:1), src=%0 f32[0](128:512, 512:1) node 0\n}\n" TAIL

/* A transfer of another queue that begins while a long one is under way has half of the DMA engines' time; in the long
 * one's queue it comes after that. Neither is slower than the pieces of both together. */
static void test_queues_share(void **state)
{
    static const char *const texts[] = {LARGE_AND_LITTLE("act"), LARGE_AND_LITTLE("sp")};
    double large = 64 * ROW_2K, little = 8 * ROW_2K;
    for (int same = 0; same < 2; same++) {
        struct sim *s = simulate(texts[same], NULL, 1, 0);
        const struct sim_record *a = transfer(s, 0, 0, 0), *b = transfer(s, 0, 0, 1);
        assert_ns((b->end - a->start) / 10, (same ? large + little : 2 * little) / 10);
        assert_ns((a->end - a->start) / 10, (same ? large : large + little) / 10);
        assert_ns((int64_t)(s->dma_busy / 10), (large + little) / 10);
        struct sim_summary y;
        sim_summarise(s, &y);
        assert_true(y.bound_us <= y.latency_us);
        done(s);
    }
}

/* Measured, in the introduction to DMA with NKI: an engine of trn2 moves its eight rows of 256 bytes in 97 ns. */
static void test_short_pieces(void **state)
{
    static const char text[] =
        HEAD "kernel 0 \"k\" grid(1) vars 1 semaphores 0 flops 0 bytes 0 {\n  tile sbuf0 f32 128 x 64 at 0\n"
             "  sp.dma_copy dst=sbuf0 f32[0](128:64, 64:1), src=%0 f32[0](128:512, 64:1) node 0\n}\n" TAIL;
    struct sim *s = simulate(text, "trn2", 1, 0);
    const struct sim_record *a = transfer(s, 0, 0, 0);
    assert_int_equal((a->end - a->start + 500) / 1000, 97);
    done(s);
}

/* Columns of the same rows in HBM, and parts of one tile, are apart: the second does not wait for the first. */
static void test_columns_of_one_queue(void **state)
{
    static const char text[] = HEAD
        "kernel 0 \"k\" grid(1) vars 1 semaphores 0 flops 0 bytes 0 {\n  tile sbuf0 f32 128 x 1024 at 0\n"
        "  sp.dma_copy dst=sbuf0 f32[0](128:1024, 512:1), src=%0 f32[0](128:512, 512:1) node 0\n"
        "  sp.dma_copy dst=sbuf0 f32[512](128:1024, 512:1), src=%0 f32[65536](128:512, 512:1) node 0\n"
        "  sp.dma_copy dst=sbuf0 f32[511](128:1024, 2:1), src=%0 f32[0](128:512, 2:1) node 0\n}\n" TAIL;
    struct sim *s = simulate(text, NULL, 1, 0);
    assert_int_equal(transfer(s, 0, 0, 1)->why, WHY_DMA);
    assert_int_equal(transfer(s, 0, 0, 1)->start, transfer(s, 0, 0, 0)->end);
    assert_int_equal(transfer(s, 0, 0, 2)->ready, transfer(s, 0, 0, 1)->end);
    assert_int_equal(transfer(s, 0, 0, 2)->why, WHY_QUEUE);
    done(s);
}

/* An instance waits for the one that wrote what it reads, not for the whole step before it. */
static void test_steps_in_flight(void **state)
{
    struct sim *s = simulate_steps(false), *apart = simulate_steps(true);
    for (int l = 1; l < 4; l++)
        for (int i = 0; i < 8; i++)
            assert_true(transfer(s, l, i, 0)->ready >= transfer(s, l - 1, i, 1)->end);
    assert_true(record(s, 1, 0, 0, false)->start < transfer(s, 0, 7, 1)->end);
    assert_true(transfer(apart, 1, 0, 0)->start > transfer(apart, 0, 7, 1)->end);
    assert_true(s->latency < apart->latency);
    int64_t added = 0;
    for (int l = 0; l < 4; l++)
        added += s->launches[l].work.adds;
    assert_int_equal(added, s->latency);
    assert_int_equal(s->spilled, 3 * 1024 * 2048);
    assert_int_equal(s->reloaded, s->spilled);
    struct sim_summary y;
    sim_summarise(s, &y);
    assert_true(y.bound_us <= y.latency_us);
    done(s), done(apart);
}

/* z takes the memory of t: it is not written before t has been read, though no value is passed on. */
static void test_memory_in_flight(void **state)
{
    struct sim *s = simulate_steps(false);
    for (int i = 0; i < 8; i++)
        assert_true(transfer(s, 2, i, 1)->start >= transfer(s, 1, i, 0)->end);
    done(s);
}

/* ---- the check of order ---- */

static void assert_checked(const char *text, enum sim_plant plant, int cores, const char *kind,
                           const char *what)
{
    struct program *p = parse_ok(text);
    struct diag d = {0};
    struct sim_options o = {.cores = cores, .check = true, .plant = plant};
    o.values = sim_bind(p, NULL, 0, NULL, &p->arena, &d);
    struct sim *s = sim_run(p, &o, &d);
    if (!s)
        fail_msg("%s", d.text);
    if (!kind && s->nfaults)
        fail_msg("%s", s->faults);
    if (kind && (!s->nfaults || !strstr(s->faults, kind) || !strstr(s->faults, what)))
        fail_msg("'%s' and '%s' expected: %s", kind, what, s->faults ? s->faults : "no fault");
    done(s);
}

static const char *edited(const char *text, const char *from, const char *to)
{
    static char buffer[8192];
    const char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(buffer, sizeof buffer, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return buffer;
}

static void test_order(void **state)
{
    for (int cores = 1; cores <= 2; cores++) {
        assert_checked(steps, PLANT_NONE, cores, NULL, NULL);
        assert_checked(steps, PLANT_EARLY_STEPS, cores, "unordered steps: step ", "which step ");
        assert_checked(grid, PLANT_NONE, cores, NULL, NULL);
    }
    assert_checked(edited(steps, "at 2048", "at 88000"), PLANT_EARLY_ROOMS, 1, "overlapping rooms: step ",
                   "in memory on the chip that step ");
    assert_checked(edited(steps, "launch 1\n  launch 2\n", "launch 2\n  launch 1\n"), PLANT_NONE, 1,
                   "uninitialised read: step 1 'k', node 'a', instruction 0 (sp.dma_copy) of instance 0: ",
                   "reads bytes of 'u' that nothing has written");
    assert_checked(edited(steps, "dst=%2 f32[g0*65536]", "dst=%2 f32[g0*65024]"), PLANT_NONE, 1,
                   "dependent instances: step 0 ", "writes 't', which step 0 ");
    assert_checked(edited(steps, "dst=%2 f32[g0*65536](128:512", "dst=%2 f32[g0*65536](127:512"),
                   PLANT_NONE, 1, "uninitialised read: step 1 ", "bytes of 't'");
    assert_checked(edited(steps, "dst=%2 f32[g0*65536]", "dst=%2 f32[g0*65536+1]"), PLANT_NONE, 1,
                   "capacity: step 0 ", "instance 7: bytes 1835012 to 2097155 of 't'");
}

/* A long store has its memory until it is over, however many instances of another step have had theirs since. */
static void test_order_of_many_instances(void **state)
{
    static const char text[] =
        "program \"t\" target trn1\nnode 0 \"a\" \"A\"\noutputs \"y\"\n\n"
        "slot %0 input \"x\" f32[128,20000]\nslot %1 planned \"y\" f32[128,20000] output\n\n"
        "kernel 0 \"k\" grid() vars 0 semaphores 1 flops 0 bytes 0 {\n"
        "  tile sbuf0 f32 128 x 20000 at 0\n"
        "  sp.dma_copy dst=sbuf0 f32[0](128:20000, 20000:1), src=%0 f32[0](128:20000, 20000:1) signal s0 node 0\n"
        "  pool.dma_copy dst=%1 f32[0](128:20000, 20000:1), src=sbuf0 f32[0](128:20000, 20000:1) wait s0>=1 node 0\n}\n"
        "kernel 1 \"many\" grid(200) vars 1 semaphores 0 flops 0 bytes 0 {\n"
        "  tile sbuf0 f32 128 x 4 at 0\n  act.memset dst=sbuf0 f32[0](128:4, 4:1), value=0 node 0\n}\n"
        "kernel 2 \"large\" grid() vars 0 semaphores 0 flops 0 bytes 0 {\n"
        "  tile sbuf0 f32 128 x 40000 at 0\n  dve.memset dst=sbuf0 f32[0](128:40000, 40000:1), value=0 node 0\n}\n"
        "\nregion 0 (%0) -> (%1) {\n  launch 0\n  launch 1\n  launch 2\n}\n";
    assert_checked(text, PLANT_NONE, 1, NULL, NULL);
    struct sim *s = simulate(text, NULL, 1, 0);
    assert_true(record(s, 2, 0, 0, false)->start >= transfer(s, 0, 0, 1)->end);
    done(s);
}

/* What a kernel reads of its own results needs a wait, and a wait for the right transfer. */
static void test_order_in_instance(void **state)
{
    static const char own[] =
        HEAD "kernel 0 \"k\" grid(8) vars 1 semaphores 2 flops 0 bytes 0 {\n"
             "  tile sbuf0 f32 128 x 512 at 0\n  tile sbuf1 f32 128 x 512 at 2048\n" LOAD("sbuf0")
        "  pool.dma_copy dst=%1 f32[g0*65536](128:512, 512:1), src=sbuf0 f32[0](128:512, 512:1) "
        "wait s0>=1 signal s1 node 1\n"
        "  sp.dma_copy dst=sbuf1 f32[0](128:512, 512:1), src=%1 f32[g0*65536](128:512, 512:1) wait "
        "s1>=1 node 1\n}\n" TAIL;
    assert_checked(own, PLANT_NONE, 1, NULL, NULL);
    assert_checked(edited(own, " wait s1>=1", ""), PLANT_NONE, 1, "missing wait: step 0 ",
                   "(pool.dma_copy) of instance 0: writes 'y', which step 0 ");
}

static void test_deadlock(void **state)
{
    static const char text[] =
        ENGINES("  dve.memset dst=sbuf0 f32[0](128:512, 512:1), value=1 wait s0>=1 node 1\n", "");
    char *copy = strdup(text), *at = strstr(copy, "semaphores 0");
    at[11] = '1';
    struct program *p = parse_ok(copy);
    struct diag d = {0};
    struct sim_options o = {.cores = 1};
    o.values = sim_bind(p, NULL, 0, NULL, &p->arena, &d);
    assert_null(sim_run(p, &o, &d));
    assert_non_null(strstr(d.text, "deadlock"));
    assert_non_null(strstr(
        d.text,
        "dve waits at instruction 0 (memset, node b) for semaphore 0 to reach 1; it is at 0"));
    program_free(p);
    free(copy);
}

static void test_limits(void **state)
{
    char *text = strdup(PRODUCTS("bf16")), *at = strstr(text, "1000");
    memcpy(at, "9999", 4);
    struct program *p = parse_ok(text);
    struct diag d = {0};
    struct sim_options o = {.cores = 1, .max_insns = 5000};
    o.values = sim_bind(p, NULL, 0, NULL, &p->arena, &d);
    assert_null(sim_run(p, &o, &d));
    assert_non_null(strstr(d.text, "more than 5000 instructions"));
    program_free(p);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),     cmocka_unit_test(test_parts),
        cmocka_unit_test(test_parts_of_grids), cmocka_unit_test(test_instances), cmocka_unit_test(test_idle_core),
        cmocka_unit_test(test_same),      cmocka_unit_test(test_ports),
        cmocka_unit_test(test_operands),  cmocka_unit_test(test_dependent),
        cmocka_unit_test(test_products),  cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_own_queue), cmocka_unit_test(test_queues_share), cmocka_unit_test(test_short_pieces),
        cmocka_unit_test(test_columns_of_one_queue), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_gathered_rows),
        cmocka_unit_test(test_bytes_of_table), cmocka_unit_test(test_steps_in_flight),
        cmocka_unit_test(test_memory_in_flight), cmocka_unit_test(test_order),
        cmocka_unit_test(test_order_in_instance), cmocka_unit_test(test_shared_bytes),
        cmocka_unit_test(test_order_of_many_instances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
