/*
 * The memory plan against an interpreter that remembers which slot each piece of the arena was last
 * written as.
 */
#include "test/unit/neff_test.h"

struct plan_maker {
    struct program *p;
    struct test_random r;
};

static int add_slot(struct plan_maker *m, int kind)
{
    dim_t dims[] = {1 + below(&m->r, 400)};
    return program_add_slot(
        m->p, (struct slot){.type = type_tensor(DT_F32, 1, dims), .kind = (uint8_t)kind});
}

static int32_t *copy(struct plan_maker *m, const int32_t *v, int n)
{
    return arena_copy(&m->p->arena, v, sizeof *v * (size_t)n);
}

static int make_region(struct plan_maker *m, const int32_t *visible, int nvisible, int depth);

/* A call on visible slots; its results become visible. */
static int add_call(struct plan_maker *m, int32_t *visible, int nvisible, int depth)
{
    int32_t in[3], out[2], regions[2];
    struct call c = {
        .op = OP_identity, .node = -1, .nin = 1 + below(&m->r, 3), .nout = 1 + below(&m->r, 2)};
    for (int i = 0; i < c.nin; i++)
        in[i] = below(&m->r, 3) ? visible[nvisible - 1 - below(&m->r, nvisible < 4 ? nvisible : 4)]
                                : visible[below(&m->r, nvisible)];
    if (depth < 3 && below(&m->r, 4) == 0)
        c.nregions = 1 + below(&m->r, 2);
    for (int i = 0; i < c.nregions; i++)
        regions[i] = make_region(m, visible, nvisible, depth + 1);
    for (int i = 0; i < c.nout; i++)
        visible[nvisible++] = out[i] = add_slot(m, SLOT_PLANNED);
    c.in = copy(m, in, c.nin), c.out = copy(m, out, c.nout),
    c.regions = copy(m, regions, c.nregions);
    ARENA_GROW(&m->p->arena, m->p->calls, m->p->ncalls, m->p->calls_cap);
    m->p->calls[m->p->ncalls] = c;
    return m->p->ncalls++;
}

static int make_region(struct plan_maker *m, const int32_t *outer, int nouter, int depth)
{
    int32_t visible[512], params[2], results[2];
    struct step steps[16];
    struct program *p = m->p;
    ARENA_GROW(&p->arena, p->regions, p->nregions, p->regions_cap);
    int index = p->nregions++, n = nouter;
    arena_move_(visible, outer, sizeof *outer * (size_t)nouter);
    struct program_region r = {
        .nparams = 2, .nresults = 2, .nsteps = 2 + below(&m->r, depth ? 4 : 12)};
    for (int i = 0; i < 2; i++)
        visible[n++] = params[i] = add_slot(m, depth ? SLOT_PLANNED : SLOT_INPUT);
    for (int i = 0; i < r.nsteps; i++) {
        int before = p->nslots;
        steps[i] = (struct step){.kind = STEP_CALL, .index = add_call(m, visible, n, depth)};
        const struct call *c = &p->calls[steps[i].index];
        n += c->nout;
        if (below(&m->r, 4) == 0) { /* a view of a result */
            int view = add_slot(m, SLOT_VIEW);
            p->slots[view].base = c->out[0];
            p->slots[view].type = p->slots[c->out[0]].type;
            visible[n++] = view;
        }
        assert_true(p->nslots > before && n < 500);
    }
    results[0] = visible[n - 1], results[1] = visible[below(&m->r, n)];
    r.params = copy(m, params, 2), r.results = copy(m, results, 2);
    r.steps = arena_copy(&p->arena, steps, sizeof *steps * (size_t)r.nsteps);
    p->regions[index] = r;
    return index;
}

struct machine_memory {
    const struct program *p;
    const struct memory_plan *plan;
    const int64_t *sizes;
    int *owner; /* slot that each 64 bytes were last written as */
    struct test_random r;
    bool ok;
};

static int root(const struct program *p, int slot)
{
    return p->slots[slot].kind == SLOT_VIEW ? p->slots[slot].base : slot;
}

static void access_slot(struct machine_memory *m, int slot, bool write)
{
    int s = root(m->p, slot);
    if (m->plan->offsets[s] < 0)
        return;
    for (int64_t i = 0; i < (m->sizes[s] + 63) / 64; i++) {
        int *owner = &m->owner[m->plan->offsets[s] / 64 + i];
        if (write)
            *owner = s;
        else
            m->ok &= *owner == s;
    }
}

/* Results are all complete before any is taken; regions of a call run in any order, several times.
 */
static void interpret(struct machine_memory *m, int region)
{
    const struct program_region *r = &m->p->regions[region];
    for (int i = 0; i < r->nparams; i++)
        access_slot(m, r->params[i], true);
    for (int s = 0; s < r->nsteps; s++) {
        const struct call *c = &m->p->calls[r->steps[s].index];
        for (int i = 0; i < c->nin; i++)
            access_slot(m, c->in[i], false);
        for (int t = 0; c->nregions && t < 5; t++)
            interpret(m, c->regions[below(&m->r, c->nregions)]);
        for (int i = 0; i < c->nout; i++)
            access_slot(m, c->out[i], true);
        for (int i = 0; i < c->nin; i++)
            access_slot(m, c->in[i], false);
    }
    for (int i = 0; i < r->nresults; i++)
        access_slot(m, r->results[i], false);
}

static bool plan_holds(const struct program *p, const struct memory_plan *plan,
                       const int64_t *sizes, uint64_t seed)
{
    struct machine_memory m = {
        p, plan, sizes, calloc((size_t)plan->size / 64 + 1, sizeof(int)), {seed}, true};
    for (int64_t i = 0; i <= plan->size / 64; i++)
        m.owner[i] = -1;
    interpret(&m, 0);
    free(m.owner);
    return m.ok;
}

static int64_t *sizes_of(const struct program *p, struct arena *a)
{
    int64_t *sizes = ARENA_ARRAY(a, int64_t, p->nslots);
    for (int i = 0; i < p->nslots; i++)
        sizes[i] = p->slots[i].type.dims[0] * 4;
    return sizes;
}

static void test_random_programs(void **state)
{
    (void)state;
    double ratios = 0;
    enum { ROUNDS = 400 };
    for (int round = 0; round < ROUNDS; round++) {
        struct plan_maker m = {.p = program_new(), .r = {(uint64_t)round + 1}};
        struct arena a = {0};
        struct memory_plan plan, again;
        make_region(&m, NULL, 0, 0);
        int64_t *sizes = sizes_of(m.p, &a);
        plan_memory(m.p, NULL, sizes, &a, &plan);
        plan_memory(m.p, NULL, sizes, &a, &again);
        assert_memory_equal(plan.offsets, again.offsets,
                            sizeof *plan.offsets * (size_t)m.p->nslots);
        for (int i = 0; i < m.p->nslots; i++)
            assert_true(plan.offsets[i] % 64 == 0 || plan.offsets[i] == -1);
        assert_true(plan.size >= plan.lower_bound);
        if (!plan_holds(m.p, &plan, sizes, (uint64_t)round))
            fail_msg("round %d: a slot is overwritten while it is needed", round);
        ratios += plan.lower_bound ? (double)plan.size / (double)plan.lower_bound : 1;
        arena_free(&a);
        program_free(m.p);
    }
    if (ratios > 1.02 * ROUNDS)
        fail_msg("arenas are %.3f times the lower bound", ratios / ROUNDS);
}

/* The oracle itself: a plan with everything at 0 must fail. */
static void test_oracle_sees_overlap(void **state)
{
    (void)state;
    struct plan_maker m = {.p = program_new(), .r = {5}};
    struct arena a = {0};
    struct memory_plan plan;
    make_region(&m, NULL, 0, 0);
    int64_t *sizes = sizes_of(m.p, &a);
    plan_memory(m.p, NULL, sizes, &a, &plan);
    for (int i = 0; i < m.p->nslots; i++)
        plan.offsets[i] = plan.offsets[i] < 0 ? -1 : 0;
    assert_false(plan_holds(m.p, &plan, sizes, 1));
    arena_free(&a);
    program_free(m.p);
}

static struct lifetime *lifetimes(const char *text, struct program **p, struct arena *a)
{
    *p = parse_ok(text);
    return program_lifetimes(*p, a);
}

static void test_chain_reaches_the_bound(void **state)
{
    (void)state;
    struct arena a = {0};
    struct program *p = parse_ok(
        "program \"chain\" target cpu outputs \"y\"\n"
        "slot %0 input \"x\" f32[64]\nslot %1 planned f32[64]\nslot %2 planned f32[32]\n"
        "slot %3 planned f32[64]\nslot %4 planned f32[64] output\n"
        "call 0 identity(%0) -> (%1)\ncall 1 identity(%1) -> (%2)\ncall 2 identity(%2) -> (%3)\n"
        "call 3 identity(%3) -> (%4)\nregion 0 (%0) -> (%4) { call 0 call 1 call 2 call 3 }\n");
    struct memory_plan plan;
    plan_memory(p, NULL, sizes_of(p, &a), &a, &plan);
    assert_int_equal(plan.size, 384);
    assert_int_equal(plan.lower_bound, 384);
    assert_int_equal(plan.offsets[1], plan.offsets[3]);
    assert_int_equal(plan.offsets[4], -1);
    program_free(p);
    arena_free(&a);
}

static void test_nested_regions(void **state)
{
    (void)state;
    struct arena a = {0};
    struct program *p;
    /* %1 is used only by the condition: the body must not take its memory */
    struct lifetime *l =
        lifetimes("program \"while\" target cpu outputs \"y\"\n"
                  "slot %0 input \"x\" f32[4]\nslot %1 planned f32[4]\nslot %2 planned "
                  "f32[4]\nslot %3 planned f32[4]\n"
                  "slot %4 planned bool[]\nslot %5 planned f32[4]\nslot %6 planned f32[4]\nslot %7 "
                  "planned f32[4] output\n"
                  "slot %8 view f32[4] of %5 + 0\n"
                  "call 0 identity(%0) -> (%1)\ncall 1 while(%0) -> (%7) regions 1, 2\ncall 2 "
                  "identity(%1) -> (%4)\n"
                  "call 3 identity(%3) -> (%5)\ncall 4 identity(%8) -> (%6)\n"
                  "region 0 (%0) -> (%7) { call 0 call 1 }\nregion 1 (%2) -> (%4) { call 2 }\n"
                  "region 2 (%3) -> (%6) { call 3 call 4 }\n",
                  &p, &a);
    assert_true(l[1].last >= l[6].last && l[1].first < l[2].first);
    assert_true(l[5].last >= l[6].first); /* through its view */
    assert_true(l[2].last < l[3].first);  /* parameters of different regions may share */
    assert_true(l[7].first >= l[6].last);
    assert_int_equal(l[1].last, l[7].first); /* until the call is done, not until a region ends */
    program_free(p);
    arena_free(&a);
}

/* Whether %2 takes the memory of %1, made by a call, when the kernel's body is `insns`. */
static bool in_place(const char *insns, const char *later)
{
    char text[2048];
    snprintf(text, sizeof text,
             "program \"p\" target cpu outputs \"y\"\n"
             "slot %%0 input \"x\" f32[100,8]\nslot %%1 planned f32[100,8]\n"
             "slot %%2 planned f32[100,8]\nslot %%3 planned f32[100,8] output\n"
             "slot %%4 planned f32[100,8]\nslot %%5 planned f32[8]\n"
             "kernel 0 \"k\" grid(13) vars 1 semaphores 0 flops 0 bytes 0 { %s }\n"
             "call 0 identity(%%0) -> (%%1)\ncall 1 identity(%%2) -> (%%3)\n"
             "call 2 identity(%s) -> (%%5)\n"
             "region 0 (%%0) -> (%%3) { call 0 launch 0 call 1 call 2 }\n",
             insns, later);
    struct arena a = {0};
    struct program *p = parse_ok(text);
    struct memory_plan plan;
    int64_t none = 0;
    plan_memory(p, &none, sizes_of(p, &a), &a, &plan);
    bool same = plan.offsets[1] == plan.offsets[2];
    program_free(p);
    arena_free(&a);
    return same;
}

#define TILE           "f32[g0*64](min(8,100-g0*8):8, 8:1)"
#define ADD(dst, a, b) "dve.tensor_tensor dst=" dst ", a=" a ", b=" b ", op=add\n"

static void test_results_take_the_memory_of_operands(void **state)
{
    (void)state;
    assert_true(in_place(ADD("%2 " TILE, "%1 " TILE, "%0 " TILE), "%0"));
    assert_true(in_place(ADD("%2 " TILE, "%0 " TILE, "%1 " TILE), "%0"));
    assert_true(in_place(
        ADD("%4 " TILE, "%1 " TILE, "%0 " TILE) ADD("%2 " TILE, "%4 " TILE, "%1 " TILE), "%0"));
    /* the operand is read later */
    assert_false(in_place(ADD("%2 " TILE, "%1 " TILE, "%0 " TILE), "%1"));
    assert_false(in_place(
        ADD("%2 " TILE, "%0 " TILE, "%0 " TILE) ADD("%4 " TILE, "%1 " TILE, "%0 " TILE), "%0"));
    /* other elements than those that are written */
    assert_false(
        in_place(ADD("%2 " TILE, "%1 f32[g0*64](min(8,100-g0*8):8, 8:0)", "%0 " TILE), "%0"));
    assert_false(
        in_place(ADD("%2 " TILE, "%1 f32[g0*-64+792](min(8,100-g0*8):-8, 8:1)", "%0 " TILE), "%0"));
    /* each instance writes all rows: the second one would read sums */
    assert_false(in_place(ADD("%2 f32[0](100:8, 8:1)", "%1 f32[0](100:8, 8:1)", "%0 " TILE), "%0"));
    /* tiles overlap */
    assert_false(
        in_place(ADD("%2 f32[g0*32](8:8, 8:1)", "%1 f32[g0*32](8:8, 8:1)", "%0 " TILE), "%0"));
    /* two results, one operand: only one of them may have it */
    bool first = in_place(
        ADD("%2 " TILE, "%1 " TILE, "%0 " TILE) ADD("%4 " TILE, "%0 " TILE, "%0 " TILE), "%4");
    bool second = in_place(
        ADD("%2 " TILE, "%1 " TILE, "%0 " TILE) ADD("%4 " TILE, "%1 " TILE, "%0 " TILE), "%4");
    assert_true(first && !second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_oracle_sees_overlap),
        cmocka_unit_test(test_chain_reaches_the_bound),
        cmocka_unit_test(test_nested_regions),
        cmocka_unit_test(test_results_take_the_memory_of_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
