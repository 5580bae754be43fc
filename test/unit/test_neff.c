/*
 * Streams, text and archives of programs: everything that is written is read back the same, and
 * everything else is refused.
 */
#include "test/unit/neff_test.h"

enum { GRID = 2, LOOPS = 2, VARS = GRID + LOOPS };

struct maker {
    struct program *p;
    struct kernel *k;
    struct test_random r;
    dim_t symbolic[4];
};

static dim_t any_dim(struct maker *m)
{
    int kind = below(&m->r, 4);
    if (kind == 0)
        return m->symbolic[below(&m->r, 4)];
    if (kind == 1)
        return -below(&m->r, 1000);
    return (dim_t)1 << below(&m->r, 40);
}

static struct affine any_affine(struct maker *m)
{
    struct affine a = {.base = any_dim(m)};
    for (int v = 0; v < VARS; v++)
        affine_set(&a, &m->p->arena, v, below(&m->r, 2) ? any_dim(m) : 0);
    return a;
}

static void test_affine(void **state)
{
    struct arena a = {0};
    struct affine x = {.base = 3}, y = x, none = x;
    affine_set(&x, &a, 4, 40), affine_set(&x, &a, 1, 10), affine_set(&x, &a, 6, 60);
    struct affine copy = x;
    affine_set(&x, &a, 4, 0);
    assert_true(x.nterms == 2 && affine_coef(&x, 1) == 10 && !affine_coef(&x, 4));
    assert_true(copy.nterms == 3 && affine_coef(&copy, 4) == 40 && affine_coef(&copy, 6) == 60);
    affine_set(&y, &a, 6, 60), affine_set(&y, &a, 1, 11);
    assert_false(affine_equal(&x, &y));
    affine_set(&y, &a, 1, 10);
    assert_true(affine_equal(&x, &y));
    affine_set(&y, &a, 1, 0), affine_set(&y, &a, 6, 0), affine_set(&y, &a, 2, 0);
    assert_true(affine_equal(&y, &none));
    arena_free(&a);
}

static struct ap any_ap(struct maker *m, char access, int reach)
{
    int max = reach == REACH_INDIRECT ? MAX_AP_RANK - 1 : MAX_AP_RANK;
    struct ap a = {.mem = (uint8_t)(MEM_HBM + below(&m->r, 3)),
                   .dtype = DT_BF16,
                   .rank = (uint8_t)(1 + below(&m->r, max))};
    a.tensor = a.mem == MEM_HBM ? (access == 'r' ? 0 : 2) : a.mem == MEM_SBUF ? 0 : 1;
    a.offset = any_affine(m);
    for (int i = 0; i < a.rank; i++) {
        a.dim[i] = (struct ap_dim){.step = any_dim(m), .count = any_dim(m)};
        if (below(&m->r, 2)) {
            struct ap_clip clip = {below(&m->r, VARS), any_dim(m), any_dim(m)};
            a.dim[i].clip = arena_copy(&m->p->arena, &clip, sizeof clip);
        }
    }
    return a;
}

static void any_insn(struct maker *m, enum opcode op)
{
    const struct insn_info *info = insn_info(op);
    struct insn *n = kernel_add(m->p, m->k, op);
    n->node = below(&m->r, 2) - 1;
    for (int i = 0; i < info->naps; i++)
        if (!info->ap[i].optional || below(&m->r, 2))
            n->ap[i] = any_ap(m, info->ap[i].access, info->ap[i].reach);
    for (int i = 0; i < info->nimms; i++)
        if (below(&m->r, 3))
            n->imm[i] = info->imm[i].varies ? any_affine(m) : (struct affine){.base = any_dim(m)};
    for (int i = 0; i < info->nfloats; i++) {
        uint32_t bits = (uint32_t)next_random(&m->r); /* NaNs too */
        memcpy(&n->flt[i], &bits, sizeof bits);
    }
    for (int i = 0; i < info->nfuncs; i++)
        n->func[i] = (uint16_t)below(&m->r, OP_COUNT);
    n->nwaits = (uint8_t)below(&m->r, MAX_SYNC + 1);
    n->wait = ARENA_ARRAY(&m->p->arena, struct sync, n->nwaits);
    for (int i = 0; i < n->nwaits; i++)
        n->wait[i] = (struct sync){(int16_t)below(&m->r, 3), any_affine(m)};
    n->signal[0] = (int16_t)(below(&m->r, 4) - 1);
    n->signal[1] = n->signal[0] < 0 ? -1 : (int16_t)(below(&m->r, 4) - 1);
}

static void loops(struct maker *m, int n)
{
    for (int i = 0; i < n; i++) {
        struct insn *l = kernel_add(m->p, m->k, INSN_loop);
        l->imm[0].base = GRID + i;
        l->imm[1] = any_affine(m);
        l->imm[1].base = m->symbolic[i];
    }
}

static void ends(struct maker *m, int n)
{
    for (int i = 0; i < n; i++)
        kernel_add(m->p, m->k, INSN_end);
}

static void add_kernel(struct maker *m, int seed)
{
    struct program *p = m->p;
    ARENA_GROW(&p->arena, p->kernels, p->nkernels, p->kernels_cap);
    m->k = &p->kernels[p->nkernels++];
    *m->k = (struct kernel){.name = seed ? "k \"quoted\"\n" : NULL,
                            .ngrid = GRID,
                            .nvars = VARS,
                            .nsemaphores = 3,
                            .grid = {4, m->symbolic[1]},
                            .flops = m->symbolic[2],
                            .bytes = 7};
    const struct tile tiles[] = {
        {.mem = MEM_SBUF,
         .dtype = DT_F32,
         .partitions = 64,
         .elements = m->symbolic[0],
         .address = -1},
        {.mem = MEM_PSUM, .dtype = DT_BF16, .partitions = 64, .elements = 64, .address = 4096}};
    for (int i = 0; i < 2; i++) {
        ARENA_GROW(&p->arena, m->k->tiles, m->k->ntiles, m->k->tiles_cap);
        m->k->tiles[m->k->ntiles++] = tiles[i];
    }
    loops(m, LOOPS);
    for (int op = 0; op < INSN_COUNT; op++)
        if (op != INSN_loop && op != INSN_end)
            any_insn(m, (enum opcode)op);
    ends(m, LOOPS);
}

static const int64_t weights_dims[] = {2, 3};
static const float weights[] = {1, -2.5f, 3e-30f, 4, 0.1f, 1e30f};
static const struct str words[] = {{"one", 3}, {"t\"wo\n", 5}, {"", 0}};

static void add_slots(struct maker *m)
{
    struct program *p = m->p;
    struct type seq = type_tensor(DT_F32, 0, NULL);
    seq.rank = RANK_UNKNOWN;
    const struct type *elem = arena_copy(&p->arena, &seq, sizeof seq);
    dim_t dims[] = {m->symbolic[0], 3}, flat[] = {m->symbolic[2]}, three[] = {3}, many[] = {1000};
    float *big = ARENA_ARRAY(&p->arena, float, 1000);
    for (int i = 0; i < 1000; i++)
        big[i] = (float)i;
    const struct slot slots[] = {
        {.name = "x", .type = type_tensor(DT_BF16, 2, dims), .kind = SLOT_INPUT},
        {.name = "w",
         .type = type_tensor(DT_F32, 2, weights_dims),
         .kind = SLOT_CONST,
         .data = tensor_view(DT_F32, 2, weights_dims, (void *)weights)},
        {.type = type_tensor(DT_BF16, 2, dims), .kind = SLOT_PLANNED, .is_output = true},
        {.name = "view",
         .type = type_tensor(DT_BF16, 1, flat),
         .kind = SLOT_VIEW,
         .base = 2,
         .offset = m->symbolic[0]},
        {.name = "words",
         .type = type_tensor(DT_STR, 1, three),
         .kind = SLOT_CONST,
         .data = tensor_view(DT_STR, 1, three, (void *)words)},
        {.type = type_container(VK_SEQUENCE, elem), .kind = SLOT_DYNAMIC},
        {.name = "big",
         .type = type_tensor(DT_F32, 1, many),
         .kind = SLOT_CONST,
         .data = tensor_view(DT_F32, 1, many, big)},
    };
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
        program_add_slot(p, slots[i]);
}

static void add_attrs(struct program *p, struct attrs *as)
{
    struct arena *a = &p->arena;
    attr_set_int(a, as, "axis", -1);
    attr_set_float(a, as, "alpha", 2);
    attr_set_float(a, as, "limit", -1.0 / 0.0);
    attr_set_str(a, as, "mode", "a \"b\"\\");
    attr_set_ints(a, as, "pads", (const int64_t[]){1, -2, INT64_MAX}, 3);
    attr_set_ints(a, as, "none", NULL, 0);
    attr_set_floats(a, as, "scales", (const double[]){0.1, 3}, 2);
    attr_set_strs(a, as, "names", words, 3);
    struct tensor *t = ARENA_NEW(a, struct tensor);
    *t = tensor_view(DT_F32, 2, weights_dims, (void *)weights);
    attr_set_tensor(a, as, "value", t);
    struct type *type = ARENA_NEW(a, struct type);
    *type = type_tensor(DT_I64, 2, weights_dims);
    attr_set_type(a, as, "type", type);
}

static int32_t *list(struct program *p, int a, int b)
{
    return arena_copy(&p->arena, (const int32_t[]){a, b}, 2 * sizeof(int32_t));
}

/* Every instruction twice, every kind of slot and attribute, a region. */
static struct program *sample(uint64_t seed)
{
    struct program *p = program_new();
    struct maker m = {.p = p, .r = {seed}};
    dim_t batch = dim_symbol(&p->dims, "batch"), odd = dim_symbol(&p->dims, "a b");
    m.symbolic[0] = batch;
    m.symbolic[1] = dim_ceildiv(&p->dims, dim_add(&p->dims, batch, 3), 64);
    m.symbolic[2] = dim_mul(&p->dims, batch, dim_max(&p->dims, odd, 2));
    m.symbolic[3] = dim_fresh(&p->dims, "n");
    p->name = "sample", p->target = "cpu", p->info = "{\"a\": [1,\n2]}";
    program_add_node(p, "Conv_1", "Conv");
    add_slots(&m);
    add_kernel(&m, 0);
    add_kernel(&m, 1);
    for (int i = 0; i < 2; i++) {
        ARENA_GROW(&p->arena, p->calls, p->ncalls, p->calls_cap);
        p->calls[p->ncalls++] = (struct call){.op = i ? OP_identity : OP_if,
                                              .nin = 1,
                                              .nout = 1,
                                              .in = list(p, 0, -1),
                                              .out = list(p, i ? 3 : 5, -1),
                                              .node = i - 1};
    }
    add_attrs(p, &p->calls[1].attrs);
    p->calls[0].nregions = 2;
    p->calls[0].regions = list(p, 1, 2);
    static const int result_of[] = {2, 3, 0}; /* what region 1 calls writes slot 3; region 2 has no steps */
    for (int i = 0; i < 3; i++) {
        ARENA_GROW(&p->arena, p->regions, p->nregions, p->regions_cap);
        struct program_region *g = &p->regions[p->nregions++];
        *g = (struct program_region){.nparams = i == 0,
                                     .nresults = 1,
                                     .params = list(p, 0, 0),
                                     .results = list(p, result_of[i], 0)};
    }
    struct step main_steps[] = {{.kind = STEP_LAUNCH, .index = 0},
                                {.kind = STEP_CALL, .index = 0},
                                {.kind = STEP_LAUNCH, .index = 1, .bf16_below = 141},
                                {.kind = STEP_LAUNCH, .index = 1, .bf16_from = 141, .bf16_below = MAX_BF16_RATE}},
                inner[] = {{.kind = STEP_CALL, .index = 1}};
    p->regions[0].nsteps = 4,
    p->regions[0].steps = arena_copy(&p->arena, main_steps, sizeof main_steps);
    p->regions[1].nsteps = 1, p->regions[1].steps = arena_copy(&p->arena, inner, sizeof inner);
    p->output_names = ARENA_ARRAY(&p->arena, const char *, 2);
    p->output_names[0] = "y/out:0";
    struct diag d = {0};
    if (!program_check(p, &d))
        fail_msg("%s", d.text);
    return p;
}

static void encode(const struct program *p, struct arena *a, struct bytes out[ENGINE_COUNT])
{
    struct diag d = {0};
    if (!streams_encode(p, a, out, &d))
        fail_msg("%s", d.text);
}

static void assert_same_streams(const struct bytes *a, const struct bytes *b)
{
    for (int e = 0; e < ENGINE_COUNT; e++) {
        assert_int_equal(a[e].size, b[e].size);
        assert_memory_equal(a[e].data, b[e].data, a[e].size);
    }
}

/* A program with p's dims, slots and nodes, for decoding p's streams into. */
static struct program *shell_of(const struct program *p)
{
    struct program *q = program_new();
    dim_table_copy(&q->dims, &p->dims);
    q->slots = p->slots, q->nslots = p->nslots;
    q->nodes = p->nodes, q->nnodes = p->nnodes;
    q->name = p->name, q->target = p->target, q->info = p->info, q->output_names = p->output_names;
    return q;
}

static void test_every_instruction_round_trips(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 30; seed++) {
        struct program *p = sample(seed);
        struct arena a = {0};
        struct bytes s[ENGINE_COUNT], again[ENGINE_COUNT];
        struct diag d = {0};
        encode(p, &a, s);
        struct program *q = shell_of(p);
        if (!streams_decode(q, s, &d))
            fail_msg("%s", d.text);
        encode(q, &a, again);
        assert_same_streams(s, again);
        char *text = text_of(p), *decoded = text_of(q);
        assert_string_equal(text, decoded);
        free(text), free(decoded);
        program_free(q);
        program_free(p);
        arena_free(&a);
    }
}

static void test_text_round_trips(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 30; seed++) {
        struct program *p = sample(seed);
        char *text = text_of(p);
        struct program *q = parse_ok(text);
        char *again = text_of(q);
        assert_string_equal(text, again);
        struct arena a = {0};
        struct bytes s[ENGINE_COUNT], t[ENGINE_COUNT];
        encode(p, &a, s);
        encode(q, &a, t);
        assert_same_streams(s, t);
        arena_free(&a);
        free(text), free(again);
        program_free(q);
        program_free(p);
    }
}

static void test_truncated_streams_are_refused(void **state)
{
    (void)state;
    struct program *p = sample(7);
    struct arena a = {0};
    struct bytes s[ENGINE_COUNT];
    encode(p, &a, s);
    for (int e = 0; e < ENGINE_COUNT; e++)
        for (size_t n = 0; n < s[e].size; n++) {
            struct bytes cut[ENGINE_COUNT];
            memcpy(cut, s, sizeof cut);
            cut[e].data = memcpy(malloc(n + 1), s[e].data,
                                 n); /* a block of its own, so that ASan sees overruns */
            cut[e].size = n;
            struct program *q = shell_of(p);
            struct diag d = {0};
            assert_false(streams_decode(q, cut, &d));
            assert_true(diag_failed(&d));
            program_free(q);
            free((void *)cut[e].data);
        }
    arena_free(&a);
    program_free(p);
}

static void test_cut_and_mutated_text(void **state)
{
    (void)state;
    struct program *p = sample(3);
    char *text = text_of(p);
    size_t n = strlen(text);
    struct test_random r = {5};
    for (size_t i = 0; i < n; i += 7) {
        struct diag d = {0};
        program_free(program_parse(text, i, "cut", &d));
    }
    for (int i = 0; i < 3000; i++) {
        struct diag d = {0};
        size_t at = next_random(&r) % n;
        char old = text[at];
        text[at] =
            (char)(below(&r, 4) ? "0123456789-(),[]{}%sgi\"# "[below(&r, 25)] : below(&r, 256));
        program_free(program_parse(text, n, "mutated", &d));
        text[at] = old;
    }
    free(text);
    program_free(p);
}

static char path[64], path2[64];

static uint8_t *read_file(const char *name, size_t *n)
{
    struct mapped_file f;
    struct diag d = {0};
    assert_true(file_map(&f, name, &d));
    uint8_t *copy = aligned_alloc(64, (f.size + 63) / 64 * 64);
    memcpy(copy, f.data, f.size);
    *n = f.size;
    file_unmap(&f);
    return copy;
}

static void test_archive(void **state)
{
    (void)state;
    struct program *p = sample(11);
    struct diag d = {0};
    assert_true(neff_write(p, path, &d) && neff_write(p, path2, &d));
    size_t n, n2;
    uint8_t *a = read_file(path, &n), *b = read_file(path2, &n2);
    assert_int_equal(n, n2);
    assert_memory_equal(a, b, n);
    struct neff_file f;
    assert_true(neff_open(&f, path, &d));
    assert_true(neff_check_hash(&f, &d));
    struct program *q = neff_program(&f, false, &d);
    if (!q)
        fail_msg("%s", d.text);
    char *text = text_of(p), *again = text_of(q);
    assert_string_equal(text, again);
    assert_memory_equal(q->slots[1].data.data, weights, sizeof weights);
    assert_true(tensor_equal(&q->slots[4].data, &p->slots[4].data));
    assert_true(tensor_equal(&q->slots[6].data, &p->slots[6].data));
    program_free(q);
    neff_close(&f);
    free(text), free(again), free(a), free(b);
    unlink(path), unlink(path2);
    program_free(p);
}

static bool loads(const void *data, size_t n)
{
    struct neff_file f;
    struct diag d = {0};
    if (!neff_open_memory(&f, data, n, "mutated", &d)) {
        assert_true(diag_failed(&d));
        return false;
    }
    struct program *q = neff_program(&f, false, &d);
    bool ok = q != NULL;
    assert_true(ok || diag_failed(&d));
    if (q) { /* what loads can be looked at */
        struct arena a = {0};
        struct memory_plan plan;
        free(text_of(q));
        plan_memory(q, NULL, ARENA_ARRAY(&a, int64_t, q->nslots), &a, &plan);
        arena_free(&a);
    }
    program_free(q);
    neff_close(&f);
    return ok;
}

static void test_damaged_archives(void **state)
{
    (void)state;
    struct program *p = sample(11);
    struct diag d = {0};
    assert_true(neff_write(p, path, &d));
    program_free(p);
    size_t n;
    uint8_t *a = read_file(path, &n);
    unlink(path);
    assert_true(loads(a, n));
    for (size_t cut = 0; cut < n; cut += 61)
        assert_false(loads(a, cut)); /* data_size tells */
    struct test_random r = {9};
    for (int i = 0; i < 4000; i++) {
        size_t at = next_random(&r) % n;
        uint8_t old = a[at];
        a[at] ^= (uint8_t)(1 + below(&r, 255));
        loads(a, n);
        a[at] = old;
    }
    for (size_t cut = NEFF_HEADER_SIZE; cut < n;
         cut += 509) { /* with a header that believes in it */
        uint64_t size = cut - NEFF_HEADER_SIZE, full = n - NEFF_HEADER_SIZE;
        memcpy(a + offsetof(struct neff_header, data_size), &size, 8);
        loads(a, cut);
        memcpy(a + offsetof(struct neff_header, data_size), &full, 8);
    }
    free(a);
}

static void test_errors_say_where(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"programme", "t:1:1: expected 'program'"},
        {"program \"x\" target cpu\nslut", "t:2:1: expected an item"},
        {"program \"x\" target cpu\nslot %1 input \"a\" f32[]", "t:2:7: slot 1, expected 0"},
        {"program \"x\" target cpu\nslot %0 input \"a\" f32[q]", "unknown symbol 'q'"},
        {"program \"x\" target cpu\nslot %0 inputs", "t:2:15: unknown kind of slot 'inputs'"},
        {"program \"x\" target mars\nregion 0 () -> () {}", "unknown target 'mars'"},
        {"program \"x\" target cpu\nkernel 0 grid() vars 1 semaphores 0 flops 0 bytes 0 {\n  "
         "dve.memzet dst=",
         "t:3:13: unknown instruction 'memzet'"},
        {"program \"x\" target cpu\nkernel 0 grid() vars 1 semaphores 0 flops 0 bytes 0 {\n  "
         "dve.memset dest=",
         "t:3:14: memset has no operand 'dest'"},
        {"program \"x\" target cpu\nkernel 0 grid() vars 1 semaphores 0 flops 0 bytes 0 {\n  loop "
         "g0 < 3 {",
         "t:3:8: variable 0 is a loop's"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag d = {0};
        struct program *p = program_parse(cases[i].text, strlen(cases[i].text), "t", &d);
        if (p)
            fail_msg("accepted: %s", cases[i].text);
        if (!strstr(d.text, cases[i].want))
            fail_msg("'%s' lacks '%s'", d.text, cases[i].want);
    }
}

/* A routine writes each of its results: a call that leaves one out would write to nowhere. */
static void test_calls_have_their_results(void **state)
{
    (void)state;
    struct program *p = sample(1);
    struct call *c = &p->calls[1];
    struct diag d = {0};
    c->out[0] = -1;
    assert_false(program_check(p, &d));
    assert_non_null(strstr(d.text, "call of identity without its result 0"));
    d = (struct diag){0};
    c->nout = 0;
    assert_false(program_check(p, &d));
    assert_non_null(strstr(d.text, "call of identity with 1 operands and 0 results"));
    program_free(p);
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/test_neff_%ld.neff", (long)getpid());
    snprintf(path2, sizeof path2, "/tmp/test_neff_%ld_again.neff", (long)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_instruction_round_trips),
        cmocka_unit_test(test_text_round_trips),
        cmocka_unit_test(test_affine),
        cmocka_unit_test(test_truncated_streams_are_refused),
        cmocka_unit_test(test_cut_and_mutated_text),
        cmocka_unit_test(test_archive),
        cmocka_unit_test(test_damaged_archives),
        cmocka_unit_test(test_errors_say_where),
        cmocka_unit_test(test_calls_have_their_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
