/*
 * Semaphores: what sync_kernel makes holds for any interleaving of the engines, and check_sync
 * finds every one that does not.
 */
#include "test/unit/neff_test.h"

#include "backend/schedule/check_sync.h"
#include "backend/schedule/schedule.h"

static const char head[] =
    "program \"t\" target cpu\nsymbol \"n\"\ndim sym 0\noutputs \"y\"\n"
    "slot %0 input \"x\" f32[n,64]\nslot %1 planned f32[n,64] output\n"
    "kernel 0 \"k\" grid(4) vars 3 semaphores 0 flops 0 bytes 0 {\n"
    "  tile sbuf0 f32 64 x 64\n  tile sbuf1 f32 64 x 64\n  tile psum2 f32 64 x 64\n";
static const char tail[] = "}\nregion 0 (%0) -> (%1) {\n launch 0\n}\n";

#define X    "%0 f32[g0*4096](64:64, 64:1)"
#define Y    "%1 f32[g0*4096](64:64, 64:1)"
#define T(t) #t " f32[0](64:64, 64:1)"

static struct program *kernel(const char *body)
{
    char text[16384];
    snprintf(text, sizeof text, "%s%s%s", head, body, tail);
    return parse_ok(text);
}

static bool sound(const struct program *p)
{
    struct diag d = {0};
    return check_program_sync(p, 300, &d);
}

static void sync_ok(struct program *p)
{
    struct diag d = {0};
    if (!sync_kernel(p, &p->kernels[0], &d) || !program_check(p, &d) ||
        !check_program_sync(p, 300, &d))
        fail_msg("%s", d.text);
}

/* Every wait that is removed or weakened by one must be missed, as must every signal. */
static int mutations_found(struct program *p, int *all)
{
    struct kernel *k = &p->kernels[0];
    int found = 0;
    for (int i = 0; i < k->ninsns; i++) {
        struct insn old = k->insns[i], *n = &k->insns[i];
        for (int w = 0; w < old.nwaits; w++) {
            n->wait = arena_copy(&p->arena, old.wait, sizeof *old.wait * old.nwaits);
            n->wait[w].value.base = dim_sub(&p->dims, n->wait[w].value.base, 1);
            found += !sound(p), ++*all;
            n->wait[w] = n->wait[--n->nwaits]; /* their order does not matter */
            found += !sound(p), ++*all;
            *n = old;
        }
        if (old.signal[0] >= 0) {
            n->signal[0] = -1;
            found += !sound(p), ++*all;
            *n = old;
        }
    }
    return found;
}

/* `spare`: mutations that change nothing. In the last kernel the load's wait follows from the
 * previous iteration's store, by way of a loop that might not have run. */
static const struct {
    const char *body;
    int spare;
} kernels[] = {
    /* a chain over all engines */
    {"sp.dma_copy dst=" T(sbuf0) ", src=" X "\n"
                                 "act.activation dst=" T(sbuf1) ", src=" T(
                                     sbuf0) ", factor=1, a=0, b=0, f=exp\n"
                                            "pe.nc_transpose dst=" T(psum2) ", src=" T(
                                                sbuf1) "\n"
                                                       "dve.tensor_copy dst=" T(sbuf0) ", src=" T(
                                                           psum2) "\n"
                                                                  "sp.dma_copy dst=" Y
                                                                  ", src=" T(sbuf0) "\n",
     0},
    /* a loop with one buffer: loads wait for the previous iteration's use */
    {"dve.memset dst=" T(
         psum2) ", value=0\n"
                "loop i1 < 5 {\n"
                "sp.dma_copy dst=" T(
                    sbuf0) ", src=" X "\n"
                           "dve.tensor_tensor dst=" T(psum2) ", a=" T(psum2) ", b=" T(
                               sbuf0) ", op=add\n"
                                      "}\n"
                                      "act.activation dst=" T(sbuf1) ", src=" T(
                                          psum2) ", factor=1, a=0, b=0, f=exp\n"
                                                 "sp.dma_copy dst=" Y ", src=" T(sbuf1) "\n",
     0},
    /* nested loops, use in the inner one, load in the outer one */
    {"loop i1 < 3 {\n"
     "sp.dma_copy dst=" T(
         sbuf0) ", src=" X "\n"
                "dve.memset dst=" T(
                    sbuf1) ", value=1\n"
                           "loop i2 < 4 {\n"
                           "act.activation dst=" T(psum2) ", src=" T(
                               sbuf0) ", factor=1, a=0, b=0, f=exp\n"
                                      "dve.tensor_tensor dst=" T(sbuf1) ", a=" T(sbuf1) ", b=" T(
                                          psum2) ", op=add\n"
                                                 "}\n"
                                                 "sp.dma_copy dst=" Y ", src=" T(sbuf1) "\n"
                                                                                        "}\n",
     2},
};

static void test_hand_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct program *p = kernel(kernels[i].body);
        assert_false(sound(p)); /* without semaphores */
        sync_ok(p);
        int all = 0, found = mutations_found(p, &all);
        if (found != all - kernels[i].spare || all < 9) {
            char *text = text_of(p);
            fail_msg("kernel %zu: %d of %d mutations found\n%s", i, found, all, text);
        }
        program_free(p);
    }
}

static void test_reduction(void **state)
{
    (void)state;
    struct program *p = kernel(kernels[0].body);
    sync_ok(p);
    int waits = 0;
    for (int i = 0; i < p->kernels[0].ninsns; i++)
        waits += p->kernels[0].insns[i].nwaits;
    assert_int_equal(waits, 4); /* the last store follows the copy, and so everything */
    program_free(p);
}

/* What is filled before a loop and read in it: a wait for earlier iterations says nothing of it. */
static void test_filled_before_loop(void **state)
{
    (void)state;
    struct program *p = kernel(
        "act.memset dst=" T(sbuf1) ", value=1\n"
        "loop i1 < 4 {\n"
        "sp.dma_copy dst=" T(sbuf0) ", src=" X "\n"
        "dve.tensor_tensor dst=" Y ", a=" T(sbuf0) ", b=" T(sbuf1) ", op=add\n"
        "act.activation dst=" T(psum2) ", src=" T(sbuf0) ", factor=1, a=0, b=0, f=exp\n"
        "act.activation dst=" T(psum2) ", src=" T(psum2) ", factor=1, a=0, b=0, f=exp\n"
        "pool.tensor_copy dst=" Y ", src=" T(psum2) "\n"
        "}\n");
    sync_ok(p);
    program_free(p);
}

static void expect_fault(const char *body, const char *want)
{
    struct program *p = kernel(body);
    struct diag d = {0};
    assert_false(check_program_sync(p, 300, &d));
    if (!strstr(d.text, want))
        fail_msg("'%s' lacks '%s'", d.text, want);
    program_free(p);
}

static void test_faults_are_named(void **state)
{
    (void)state;
    expect_fault("dve.tensor_copy dst=" T(sbuf0) ", src=" T(sbuf1) "\n", "nothing has written");
    expect_fault("dve.memset dst=sbuf0 f32[1](64:64, 64:1), value=0\n", "leaves its tile");
    expect_fault("dve.memset dst=" T(sbuf0) ", value=0\nact.tensor_copy dst=" T(sbuf0) ", src=" X
                                                                                       "\n",
                 "write after write without a wait");
    expect_fault("dve.memset dst=" T(sbuf0) ", value=0\nact.tensor_copy dst=" Y
                                            ", src=" T(sbuf0) "\n",
                 "read after write without a wait");
}

/* ---- strict targets ---- */

#define STRICT_HEAD                                                                                \
    "program \"t\" target trn1\nnode 0 \"Conv_7\" \"Conv\"\noutputs \"y\"\n"                       \
    "slot %0 input \"x\" f32[128,64]\nslot %1 planned f32[128,64] output\n"                        \
    "kernel 0 \"k\" grid(2) vars 1 semaphores 0 flops 0 bytes 0 {\n"
#define STRICT_TAIL "}\nregion 0 (%0) -> (%1) { launch 0 }\n"
#define ROWS(t)     #t " f32[0](128:64, 64:1)"
#define LARGE(t)    #t " f32[0](128:11264, 64:1)" /* a quarter of SBUF: two instances have two each */

static void test_capacity(void **state)
{
    (void)state;
    static const struct {
        const char *body, *want;
    } cases[] = {
        {"tile sbuf0 f32 129 x 4\ndve.memset dst=sbuf0 f32[0](4:1), value=0 node 0\n",
         "kernel 0 'k': node 'Conv_7': tile 0 in sbuf: 129 partitions, trn1 has 128"},
        {"tile sbuf0 f32 1 x 45057\ndve.memset dst=sbuf0 f32[0](4:1), value=0 node 0\n",
         "180228 bytes in each partition (45057 elements of 4), trn1 has room for 180224 bytes (45056 elements)"},
        {"tile sbuf0 f32 1 x 30000\ntile sbuf1 f32 1 x 30000\n"
         "dve.memset dst=sbuf0 f32[0](4:1), value=0 node 0\n"
         "dve.memset dst=sbuf1 f32[0](4:1), value=0 node 0\n"
         "dve.tensor_tensor dst=sbuf0 f32[0](4:1), a=sbuf0 f32[0](4:1), b=sbuf1 f32[0](4:1), "
         "op=add node 0\n",
         "2 tiles live together need 240000 bytes of each partition, trn1 has 180224"},
        {"tile sbuf0 f32 4 x 8\ndve.memset dst=sbuf0 f32[0](2:16, 8:1), value=0 node 0\n",
         "memset: operand 'dst' skips partitions"},
        {"tile sbuf0 bf16 128 x 64\ntile sbuf1 bf16 128 x 64\ntile psum2 f32 64 x 513\n"
         "pe.nc_matmul dst=psum2 f32[449](64:513, 64:1), stationary=sbuf0 bf16[0](128:64, 64:1), "
         "moving=sbuf1 bf16[0](64:1, 128:64) node 0\n",
         "goes over banks of psum"},
        {"tile sbuf0 bf16 128 x 256\ntile sbuf1 bf16 128 x 64\ntile psum2 f32 64 x 256\n"
         "pe.nc_matmul dst=psum2 f32[0](64:256, 256:1), stationary=sbuf0 bf16[0](128:256, 256:1), "
         "moving=sbuf1 bf16[0](64:1, 128:64) node 0\n",
         "has more columns than the array"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096];
        struct diag d = {0};
        snprintf(text, sizeof text, "%s%s%s", STRICT_HEAD, cases[i].body, STRICT_TAIL);
        struct program *p = parse_ok(text);
        assert_false(schedule_program(p, machine_find("trn1"), &d));
        if (!strstr(d.text, cases[i].want))
            fail_msg("'%s' lacks '%s'", d.text, cases[i].want);
        program_free(p);
    }
}

/* An engine that runs ahead would fill more banks than there are: the kernel's own order holds. */
static void test_order_within_memory(void **state)
{
    (void)state;
    char text[16384], *at = text, *end = text + sizeof text;
    at += snprintf(at, (size_t)(end - at), "%s  tile sbuf0 f32 128 x 512\n", STRICT_HEAD);
    for (int i = 1; i <= 16; i++)
        at += snprintf(at, (size_t)(end - at), "  tile psum%d f32 128 x 512\n", i);
    for (int i = 1; i <= 16; i++)
        at += snprintf(at, (size_t)(end - at),
                       "  act.memset dst=psum%d f32[0](128:512, 512:1), value=1 node 0\n"
                       "  dve.tensor_tensor_scan dst=sbuf0 f32[0](128:512, 512:1), a=psum%d "
                       "f32[0](128:512, 512:1), b=psum%d f32[0](128:512, 512:1), initial=0, "
                       "op0=mul, op1=add node 0\n",
                       i, i, i);
    snprintf(at, (size_t)(end - at), "%s", STRICT_TAIL);
    struct program *p = parse_ok(text);
    struct diag d = {0};
    if (!schedule_program(p, machine_find("trn1"), &d) || !check_program_sync(p, 1, &d))
        fail_msg("%s", d.text);
    program_free(p);
}

/* Tiles that are not live together share memory where instances would have too little, and the
 * checker sees the sharing. */
static void test_tiles_share_memory(void **state)
{
    (void)state;
    struct diag d = {0};
    struct program *p = parse_ok(
        STRICT_HEAD "tile sbuf0 f32 128 x 11264\ntile sbuf1 f32 128 x 11264\ntile sbuf2 f32 128 x 11264\n"
                    "sp.dma_copy dst=" LARGE(sbuf0) ", src=" ROWS(
                        % 0) "\n"
                             "act.activation dst=" LARGE(sbuf1) ", src=" LARGE(
                                 sbuf0) ", factor=1, a=0, b=0, f=exp\n"
                                        "dve.tensor_scalar dst=" LARGE(sbuf2) ", src=" LARGE(
                                            sbuf1) ", scalar0=2, scalar1=0, op0=mul, op1=identity\n"
                                                   "sp.dma_copy dst=" ROWS(% 1) ", src=" LARGE(
                                                       sbuf2) "\n" STRICT_TAIL);
    struct kernel *k = &p->kernels[0];
    if (!schedule_program(p, machine_find("trn1"), &d) || !check_program_sync(p, 1, &d))
        fail_msg("%s", d.text);
    assert_int_equal(k->tiles[0].address, k->tiles[2].address);
    assert_int_not_equal(k->tiles[0].address, k->tiles[1].address);
    k->tiles[1].address = k->tiles[0].address; /* the exponential overwrites what it reads: fine */
    assert_true(check_program_sync(p, 1, &d));
    int all = 0;
    assert_true(mutations_found(p, &all) >= all - 1);
    program_free(p);
}

/* ---- random kernels against random interleavings ---- */

struct asm_text {
    struct test_text text;
    struct test_random r;
    int depth, insns;
};

static void random_body(struct asm_text *t)
{
    static const char *const copies[] = {"act.tensor_copy", "dve.tensor_copy", "pool.tensor_copy",
                                         "pe.nc_transpose", "sp.dma_copy"};
    static const char *const tiles[] = {"sbuf0", "sbuf1", "psum2"};
    int n = 1 + below(&t->r, 4);
    for (int i = 0; i < n && t->insns < 9; i++) {
        if (t->depth < 2 && below(&t->r, 4) == 0) {
            say(&t->text, "loop i%d < %d {\n", 1 + t->depth, below(&t->r, 4));
            t->depth++;
            random_body(t);
            t->depth--;
            say(&t->text, "}\n");
            continue;
        }
        t->insns++;
        const char *dst = tiles[below(&t->r, 3)], *src = tiles[below(&t->r, 3)];
        bool part = below(&t->r, 4) == 0;
        say(&t->text, "%s dst=%s f32[%d](32:64, 64:1), src=%s f32[0](%d:64, 64:1)\n",
            copies[below(&t->r, 5)], dst, below(&t->r, 2) * 2048, src, part ? 32 : 64);
    }
}

struct scheduled_instance {
    int insn;
    int64_t vars[MAX_VARS];
};

static int unroll(const struct kernel *k, int from, int to, int64_t *vars, struct scheduled_instance *out,
                  int n)
{
    struct arena a = {0};
    int *ends = loop_ends(k, &a);
    for (int i = from; i < to; i++) {
        if (k->insns[i].op == INSN_loop) {
            for (int64_t v = 0; v < k->insns[i].imm[IMM(loop, count)].base; v++) {
                vars[k->insns[i].imm[IMM(loop, var)].base] = v;
                n = unroll(k, i + 1, ends[i], vars, out, n);
            }
            i = ends[i];
        } else if (k->insns[i].op != INSN_end) {
            out[n].insn = i;
            memcpy(out[n++].vars, vars, sizeof out->vars);
        }
    }
    arena_free(&a);
    return n;
}

static bool ready(const struct insn *n, const struct scheduled_instance *x, const int64_t *semaphores)
{
    for (int w = 0; w < n->nwaits; w++) {
        const struct affine *a = &n->wait[w].value;
        int64_t v = a->base;
        for (int i = 0; i < a->nterms; i++)
            v += a->terms[i].coef * x->vars[a->terms[i].var];
        if (semaphores[n->wait[w].semaphore] < v)
            return false;
    }
    return true;
}

enum outcome { ORDERED, DISORDERED, STUCK };

/* One interleaving of the engines: instances in the order in which they are completed. */
static enum outcome interleave(const struct program *p, struct test_random *r,
                               const struct scheduled_instance *all, int n)
{
    const struct kernel *k = &p->kernels[0];
    int64_t semaphores[ENGINE_COUNT] = {0};
    bool done[1024] = {false};
    for (int t = 0; t < n; t++) {
        int candidates[ENGINE_COUNT], nc = 0, seen = 0;
        for (int i = 0; i < n && seen != (1 << ENGINE_COUNT) - 1; i++) {
            int e = k->insns[all[i].insn].engine;
            if (done[i] || (seen >> e & 1))
                continue;
            seen |= 1 << e;
            if (ready(&k->insns[all[i].insn], &all[i], semaphores))
                candidates[nc++] = i;
        }
        if (!nc)
            return STUCK;
        int next = candidates[below(r, nc)];
        for (int i = 0; i < next; i++)
            if (!done[i] &&
                insns_conflict(p, k, &k->insns[all[i].insn], &k->insns[all[next].insn], false))
                return DISORDERED;
        done[next] = true;
        if (k->insns[all[next].insn].signal[0] >= 0)
            semaphores[k->insns[all[next].insn].signal[0]]++;
    }
    return ORDERED;
}

/* A wait less must show in the checker whenever some interleaving goes wrong. */
static void check_mutant(struct program *p, struct test_random *r, const struct scheduled_instance *all, int n,
                         int *harmful)
{
    bool wrong = false;
    for (int t = 0; t < 40 && !wrong; t++)
        wrong = interleave(p, r, all, n) != ORDERED;
    *harmful += wrong;
    if (wrong && sound(p)) {
        char *text = text_of(p);
        fail_msg("an interleaving goes wrong, and the checker is content:\n%s", text);
    }
}

static void test_random_kernels(void **state)
{
    (void)state;
    struct test_random r = {42};
    struct scheduled_instance *all = calloc(1024, sizeof *all);
    int harmful = 0, mutants = 0;
    for (int round = 0; round < 150; round++) {
        struct asm_text t = {.r = {next_random(&r)}};
        say(&t.text, "act.memset dst=" T(sbuf0) ", value=0\ndve.memset dst=" T(
                    sbuf1) ", value=0\npool.memset dst=" T(psum2) ", value=0\n");
        for (int i = 0; i < 3; i++)
            random_body(&t);
        struct program *p = kernel(t.text.s);
        sync_ok(p);
        struct kernel *k = &p->kernels[0];
        int64_t vars[MAX_VARS] = {0};
        int n = unroll(k, 0, k->ninsns, vars, all, 0);
        for (int i = 0; i < 20; i++)
            if (interleave(p, &r, all, n) != ORDERED) {
                char *text = text_of(p);
                fail_msg("an interleaving goes wrong:\n%s", text);
            }
        for (int i = 0; i < k->ninsns; i++) {
            if (!k->insns[i].nwaits)
                continue;
            struct affine *value = &k->insns[i].wait[0].value, old = *value;
            mutants++;
            *value = (struct affine){0};
            check_mutant(p, &r, all, n, &harmful);
            *value = old;
        }
        program_free(p);
    }
    free(all);
    assert_true(mutants > 300);
    assert_true(harmful * 10 > mutants * 6); /* most waits are needed */
}

/* An address that the author gave stays, also when nothing fits around it; where it leaves room, all
 * do. Called by models such kernels are placed twice: their tiles may share memory. */
static void test_given_addresses(void **state)
{
    (void)state;
    enum { AT = 59968 };
    static const struct {
        int other; /* elements of the tile without an address */
        bool fits;
    } cases[] = {{30000, false}, {15066, false}, {14976, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096];
        snprintf(text, sizeof text,
                 "%stile sbuf0 f32 1 x 15000 at %d\ntile sbuf1 f32 1 x %d\n"
                 "dve.memset dst=sbuf0 f32[0](4:1), value=0\n"
                 "dve.memset dst=sbuf1 f32[0](4:1), value=0\n"
                 "dve.tensor_tensor dst=sbuf0 f32[0](4:1), a=sbuf0 f32[0](4:1), b=sbuf1 f32[0](4:1), "
                 "op=add\n%s",
                 STRICT_HEAD, AT, cases[i].other, STRICT_TAIL);
        struct program *p = parse_ok(text);
        struct diag d = {0};
        struct kernel *k = &p->kernels[0];
        k->tiles[0].fixed = true;
        bool placed = schedule_traced(p, k, machine_find("trn1"), &d);
        assert_int_equal(placed, cases[i].fits);
        assert_int_equal(k->tiles[0].address, AT);
        assert_true(k->tiles[0].fixed);
        if (!placed && !strstr(d.text, "no room in sbuf"))
            fail_msg("'%s' lacks 'no room in sbuf'", d.text);
        program_free(p);
    }
}

/* Loads, and stores, of what lies beside each other are one; not where the one would pass a store to the same place. */
static void test_joined_transfers(void **state)
{
    (void)state;
#define HALF(t, at)  #t " f32[" #at "](128:64, 32:1)"
#define WHOLE(t)     #t " f32[0](128:32, 32:1)"
#define MOVE(to, from) "sp.dma_copy dst=" to ", src=" from "\n"
#define FILL(t)      "dve.memset dst=" WHOLE(t) ", value=0\n"
    static const char first[] = "tile sbuf0 f32 128 x 32\ntile sbuf1 f32 128 x 32\ntile sbuf2 f32 128 x 32\n"
                                "tile sbuf3 f32 128 x 32\ntile sbuf4 f32 128 x 32\n"
                                MOVE(WHOLE(sbuf0), HALF(%0, 0)) MOVE(WHOLE(sbuf1), HALF(%0, 32))
                                FILL(sbuf2) FILL(sbuf3) FILL(sbuf4) MOVE(HALF(%1, 0), WHOLE(sbuf2));
    static const struct {
        const char *between;
        int insns; /* at the end */
    } cases[] = {{"", 5}, {FILL(sbuf0), 6}, {MOVE("%1 f32[0](128:64, 8:1)", "sbuf4 f32[0](128:32, 8:1)"), 7}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096];
        snprintf(text, sizeof text, "%s%s%s%s%s", STRICT_HEAD, first, cases[i].between,
                 MOVE(HALF(%1, 32), WHOLE(sbuf3)), STRICT_TAIL);
        struct program *p = parse_ok(text);
        struct kernel *k = &p->kernels[0];
        join_transfers(p, k, machine_find("trn1"));
        assert_int_equal(k->ninsns, cases[i].insns);
        assert_int_equal(k->insns[0].ap[0].dim[1].count, 64);
        program_free(p);
    }
}

/* A kernel that lowering has scheduled stays as it is. */
static void test_scheduled_once(void **state)
{
    (void)state;
    for (int scheduled = 0; scheduled < 2; scheduled++) {
        struct program *p = parse_ok(STRICT_HEAD "tile sbuf0 f32 128 x 64\n"
                                                 "sp.dma_copy dst=" ROWS(sbuf0) ", src=" ROWS(% 0) "\n"
                                                 "sp.dma_copy dst=" ROWS(% 1) ", src=" ROWS(sbuf0) "\n" STRICT_TAIL);
        struct diag d = {0};
        p->kernels[0].scheduled = scheduled;
        if (!schedule_program(p, machine_find("trn1"), &d))
            fail_msg("%s", d.text);
        assert_int_equal(p->kernels[0].tiles[0].address, scheduled ? -1 : 0);
        program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hand_written),     cmocka_unit_test(test_reduction),
        cmocka_unit_test(test_filled_before_loop),
        cmocka_unit_test(test_faults_are_named), cmocka_unit_test(test_random_kernels),
        cmocka_unit_test(test_capacity),         cmocka_unit_test(test_tiles_share_memory),
        cmocka_unit_test(test_order_within_memory), cmocka_unit_test(test_given_addresses),
        cmocka_unit_test(test_scheduled_once),   cmocka_unit_test(test_joined_transfers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
