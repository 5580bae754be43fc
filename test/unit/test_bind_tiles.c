/*
 * Places of tiles in memory (runtime/exec/bind_tiles.c): random kernels, whose tiles are compared two by two, and one
 * that runs, compared with the same sums on tiles that share nothing.
 */
#include "test/unit/neff_test.h"

#include "runtime/exec/bind_kernel.h"

enum { LINE = 64, KERNELS = 300, MAX_SHARED = 1 << 14, MAX_TILES = MAX_SHARED + 1, WHOLE = MAX_TILE_BYTES / 4 };

struct tile_test {
    struct program *p;
    struct kernel *k;
    struct test_random r;
    dim_t n; /* known when the kernel is bound */
    struct model m;
    struct binder b;
    struct bound_kernel out;
    struct diag d;
    struct arena scratch;
};

static void setup(struct tile_test *t, uint64_t random)
{
    *t = (struct tile_test){.p = program_new(), .r = {random}};
    ARENA_GROW(&t->p->arena, t->p->kernels, t->p->nkernels, t->p->kernels_cap);
    t->p->nkernels = 1;
    t->k = &t->p->kernels[0];
    t->n = dim_symbol(&t->p->dims, "n");
}

static void teardown(struct tile_test *t)
{
    arena_free(&t->scratch);
    program_free(t->p);
}

static int add_tile(struct tile_test *t, int dtype, dim_t partitions, dim_t elements)
{
    ARENA_GROW(&t->p->arena, t->k->tiles, t->k->ntiles, t->k->tiles_cap);
    t->k->tiles[t->k->ntiles] = (struct tile){.mem = t->k->ntiles % 4 ? MEM_SBUF : MEM_PSUM,
                                              .dtype = (uint8_t)dtype,
                                              .partitions = partitions,
                                              .elements = elements,
                                              .address = -1};
    return t->k->ntiles++;
}

/* An instruction on these tiles; -1: an operand in HBM. */
static void add_insn(struct tile_test *t, enum opcode op, int to, int a, int b)
{
    struct insn *n = kernel_add(t->p, t->k, op);
    int tile[] = {to, a, b};
    for (int i = 0; i < 3 && i < insn_info(op)->naps; i++)
        n->ap[i] = tile[i] < 0 ? (struct ap){.mem = MEM_HBM}
                               : (struct ap){.mem = t->k->tiles[tile[i]].mem, .tensor = tile[i]};
}

static bool bind(struct tile_test *t, int64_t n)
{
    int64_t *values = ARENA_ARRAY(&t->p->arena, int64_t, t->p->dims.nnodes);
    dim_eval_all(&t->p->dims, &n, values);
    diag_clear(&t->d);
    arena_clear(&t->scratch);
    t->out = (struct bound_kernel){0};
    t->b = (struct binder){.m = &t->m, .k = t->k, .values = values, .d = &t->d, .out = &t->out};
    return bind_tiles(&t->b, &t->scratch);
}

/* ---- what must hold ---- */

static bool waits_for_all_before(enum opcode op)
{
    return op == INSN_dma_copy || op == INSN_dma_transpose || op == INSN_nc_matmul || op == INSN_nc_transpose;
}

/* Of a tile. */
struct tile_uses {
    int first, last; /* instructions; -1: none */
    int before;      /* how many instructions that wait come before the first use */
    int after;       /* the same up to the last use, that instruction included */
};

static struct tile_uses *find_uses(const struct kernel *k)
{
    struct tile_uses *uses = calloc((size_t)k->ntiles, sizeof *uses);
    for (int t = 0; t < k->ntiles; t++)
        uses[t] = (struct tile_uses){-1, -1, 0, 0};
    for (int i = 0, waits = 0; i < k->ninsns; i++) {
        int before = waits;
        waits += waits_for_all_before(k->insns[i].op);
        for (int o = 0; o < insn_info(k->insns[i].op)->naps; o++) {
            const struct ap *ap = &k->insns[i].ap[o];
            if (ap->mem == MEM_NONE || ap->mem == MEM_HBM)
                continue;
            struct tile_uses *u = &uses[ap->tensor];
            if (u->first < 0)
                u->first = i, u->before = before;
            u->last = i, u->after = waits;
        }
    }
    return uses;
}

/* An instruction that waits stands between the last use of one and the first of the other. */
static bool lives_meet(const struct tile_uses *x, const struct tile_uses *y)
{
    if (x->first < 0 || y->first < 0)
        return false;
    bool x_then_y = x->last < y->first && x->after < y->before, y_then_x = y->last < x->first && y->after < x->before;
    return !x_then_y && !y_then_x;
}

static int64_t room(const struct tile_test *t, int tile)
{
    return (t->b.tile_size[tile] + LINE - 1) / LINE * LINE;
}

static int64_t room_of_all(const struct tile_test *t)
{
    int64_t all = 0;
    for (int i = 0; i < t->k->ntiles; i++)
        all += room(t, i);
    return all;
}

/* Pairs that have bytes in common. all_meet: whatever the instructions are. */
static int check_places(const struct tile_test *t, bool all_meet)
{
    const int64_t *at = t->b.tile_at, *size = t->b.tile_size;
    struct tile_uses *uses = find_uses(t->k);
    int shared = 0;
    assert_true(t->out.tile_bytes <= room_of_all(t) && t->out.tile_bytes <= MAX_TILE_BYTES);
    for (int i = 0; i < t->k->ntiles; i++) {
        assert_true(at[i] >= 0 && at[i] % LINE == 0 && at[i] + size[i] <= t->out.tile_bytes);
        for (int j = 0; j < i && size[i]; j++) {
            if (!size[j] || at[i] >= at[j] + room(t, j) || at[j] >= at[i] + room(t, i))
                continue;
            if (all_meet || lives_meet(&uses[i], &uses[j]))
                fail_msg("tiles %d and %d, used from %d to %d and from %d to %d, have bytes in common", j, i,
                         uses[j].first, uses[j].last, uses[i].first, uses[i].last);
            shared++;
        }
    }
    free(uses);
    return shared;
}

/* ---- random kernels ---- */

static dim_t any_number(struct tile_test *t)
{
    switch (below(&t->r, 8)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return t->n;
    case 3:
        return dim_add(&t->p->dims, dim_mul(&t->p->dims, t->n, 1 + below(&t->r, 4)), below(&t->r, 3));
    case 4:
        return 16 * below(&t->r, 20);
    default:
        return below(&t->r, 300);
    }
}

static void any_tile(struct tile_test *t, bool huge)
{
    static const int types[] = {DT_F32, DT_BF16, DT_F64, DT_C128, DT_I4, DT_BOOL};
    if (huge && below(&t->r, 16) == 0)
        add_tile(t, DT_F32, 1, WHOLE / 8 + below(&t->r, WHOLE / 4));
    else
        add_tile(t, types[below(&t->r, 6)], any_number(t), any_number(t));
}

/* Mostly of the last few tiles in order, as compilers make them; some of any. */
static int any_use(struct tile_test *t, int newest, int window)
{
    int n = t->k->ntiles;
    if (below(&t->r, 40) == 0)
        return below(&t->r, n);
    int tile = newest - below(&t->r, window);
    return tile < 0 || below(&t->r, 20) == 0 ? -1 : tile;
}

static void any_kernel(struct tile_test *t, int ntiles, bool huge)
{
    static const enum opcode ops[] = {INSN_tensor_tensor, INSN_tensor_copy,  INSN_select,       INSN_activation,
                                      INSN_dma_copy,      INSN_dma_transpose, INSN_nc_transpose, INSN_nc_matmul};
    int window = 1 + below(&t->r, 12), together = 1 + below(&t->r, 8); /* one in so many waits */
    for (int i = 0; i < ntiles; i++)
        any_tile(t, huge);
    for (int i = 0; i < ntiles; i++) {
        if (below(&t->r, 10) == 0)
            continue; /* perhaps nobody uses it */
        int op = below(&t->r, together) ? below(&t->r, 4) : 4 + below(&t->r, 4);
        add_insn(t, ops[op], i, any_use(t, i, window), any_use(t, i, window));
    }
}

static void tiles_that_live_together_lie_apart(void **state)
{
    static const int64_t sizes[] = {0, 1, 77, 1000};
    int shared = 0, refused = 0, fit = 0; /* fit: shared memory does, where tiles apart would not */
    for (int round = 0; round < KERNELS; round++) {
        struct tile_test t;
        setup(&t, (uint64_t)round + 1);
        bool huge = round % 3 == 0;
        any_kernel(&t, 1 + below(&t.r, round % 5 ? 400 : 90), huge);
        for (int i = 0; i < 4; i++) {
            if (bind(&t, sizes[i])) {
                shared += check_places(&t, false);
                fit += room_of_all(&t) > MAX_TILE_BYTES;
                continue;
            }
            assert_string_equal(t.d.text, "tiles of more than 1073741824 bytes");
            assert_true(huge && room_of_all(&t) > MAX_TILE_BYTES);
            refused++;
        }
        teardown(&t);
    }
    assert_true(shared > 100000 && refused > 50 && fit > 50);
}

/* Loops come back to tiles, engines that are threads do not wait for each other: none shares. */
static void loops_and_threads_share_nothing(void **state)
{
    for (int round = 0; round < 20; round++) {
        struct tile_test t;
        setup(&t, (uint64_t)round + 1000);
        any_kernel(&t, 65 + below(&t.r, 100), false);
        assert_true(bind(&t, 77));
        assert_true(check_places(&t, false) > 0);
        t.m.engine_threads = true;
        assert_true(bind(&t, 77));
        check_places(&t, true);
        t.m.engine_threads = false;
        kernel_add(t.p, t.k, INSN_loop);
        kernel_add(t.p, t.k, INSN_end);
        assert_true(bind(&t, 77));
        check_places(&t, true);
        teardown(&t);
    }
}

/* Each is read by the instruction that writes the next one. */
static void chain(struct tile_test *t, enum opcode op, int ntiles, dim_t elements)
{
    for (int i = 0; i < ntiles; i++) {
        add_tile(t, DT_F32, 1, elements);
        add_insn(t, op, i, i - 1, -1);
    }
}

/* A tile lives until the next instruction that waits is done: three of a chain live at a time. */
static void a_chain_takes_three_places(void **state)
{
    static const int counts[] = {65, 66, 1000, MAX_SHARED};
    static const enum opcode ops[] = {INSN_nc_matmul, INSN_nc_transpose, INSN_dma_transpose, INSN_dma_copy};
    for (int i = 0; i < 4; i++) {
        struct tile_test t;
        setup(&t, 1);
        chain(&t, ops[i], counts[i], t.n);
        assert_true(bind(&t, 17)); /* 68 bytes */
        assert_int_equal(t.out.tile_bytes, 3 * 2 * LINE);
        check_places(&t, false);
        assert_true(bind(&t, 0));
        assert_int_equal(t.out.tile_bytes, 0);
        teardown(&t);
    }
}

static void few_and_very_many_share_nothing(void **state)
{
    static const int counts[] = {0, 1, 64, MAX_TILES};
    for (int i = 0; i < 4; i++) {
        struct tile_test t;
        setup(&t, 1);
        chain(&t, INSN_dma_copy, counts[i], 16);
        assert_true(bind(&t, 1));
        assert_int_equal(t.out.tile_bytes, (int64_t)counts[i] * LINE);
        for (int k = 0; k < counts[i]; k++)
            assert_int_equal(t.b.tile_at[k], (int64_t)k * LINE);
        teardown(&t);
    }
}

/* ---- places that the compiler gave ---- */

/* Tiles of `rows` partitions in a loop, each in the columns of the others: two in turn of each memory. */
static void in_turn(struct tile_test *t, int ntiles, int rows, int columns)
{
    for (int i = 0; i < ntiles; i++) {
        int tile = add_tile(t, DT_F32, rows, columns);
        t->k->tiles[tile].address = (i / 4 % 2) * 4 * columns;
    }
    kernel_add(t->p, t->k, INSN_loop);
    add_insn(t, INSN_tensor_tensor, ntiles - 1, 0, 1);
    kernel_add(t->p, t->k, INSN_end);
}

static void tiles_with_addresses_share_memory(void **state)
{
    enum { COLUMNS = 4096, TILES = 40, ROWS = 128, BYTES = 4 * COLUMNS * ROWS };
    struct tile_test t;
    setup(&t, 1);
    in_turn(&t, TILES, ROWS, COLUMNS);
    t.k->tiles[5].partitions = 1; /* lower ones lie in the same columns */
    assert_true(bind(&t, 1));
    assert_int_equal(t.out.tile_bytes, 4 * BYTES);
    for (int i = 0; i < TILES; i++) {
        const struct tile *x = &t.k->tiles[i];
        assert_int_equal(t.b.tile_at[i], (x->mem == MEM_PSUM ? 2 * BYTES : 0) + (int64_t)ROWS * x->address);
        for (int j = 0; j < TILES; j++) {
            const struct tile *y = &t.k->tiles[j];
            assert_int_equal(tiles_meet(&t.b, i, j), i != j && x->mem == y->mem && x->address == y->address);
        }
    }
    t.k->tiles[7].address = -1; /* one without */
    assert_true(bind(&t, 1));
    assert_int_equal(t.out.tile_bytes, room_of_all(&t));
    assert_false(tiles_meet(&t.b, 0, 8));
    teardown(&t);
}

/* As much as a chip holds has room apart; addresses beyond all memory are none. */
static void addresses_that_gain_nothing_are_passed_over(void **state)
{
    static const struct {
        int ntiles;
        int64_t far;
    } cases[] = {{8, 0}, {40, MAX_TILE_BYTES / 128}, {40, INT64_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tile_test t;
        setup(&t, 1);
        in_turn(&t, cases[i].ntiles, 128, 4096);
        if (cases[i].far)
            t.k->tiles[3].address = cases[i].far;
        assert_true(bind(&t, 1));
        assert_int_equal(t.out.tile_bytes, room_of_all(&t));
        check_places(&t, true);
        teardown(&t);
    }
}

/* ---- limits ---- */

static void the_limit_is_met_exactly(void **state)
{
    for (int many = 0; many < 2; many++) {
        struct tile_test t;
        setup(&t, 1);
        chain(&t, INSN_dma_copy, many ? 100 : 0, 0); /* what shares memory, and what does not */
        add_insn(&t, INSN_tensor_tensor, add_tile(&t, DT_F32, 1, WHOLE - 16), -1, -1);
        add_insn(&t, INSN_tensor_tensor, add_tile(&t, DT_BOOL, 1, t.n), t.k->ntiles - 2, -1);
        assert_true(bind(&t, LINE));
        assert_int_equal(t.out.tile_bytes, MAX_TILE_BYTES);
        check_places(&t, false);
        assert_false(bind(&t, LINE + 1));
        assert_string_equal(t.d.text, "tiles of more than 1073741824 bytes");
        teardown(&t);
    }
}

static void refuses_tiles_that_are_too_large(void **state)
{
    static const struct {
        int dtype;
        int64_t partitions, elements;
        const char *message; /* NULL: none */
    } cases[] = {
        {DT_BOOL, 1, 1 << 30, NULL},
        {DT_BOOL, 1, (1 << 30) + 1, "tile 70 of 1 x 1073741825 elements is too large"},
        {DT_F32, 1 << 14, 1 << 14, NULL},
        {DT_F32, (1 << 14) + 1, 1 << 14, "tile 70 of 16385 x 16384 elements is too large"},
        {DT_C128, 1 << 26, 1, NULL},
        {DT_C128, (1 << 26) + 1, 1, "tile 70 of 67108865 x 1 elements is too large"},
        {DT_F32, LIMIT, 0, NULL},
        {DT_F32, LIMIT, LIMIT, "tile 70 of 70368744177664 x 70368744177664 elements is too large"},
        {DT_F32, INT64_C(1) << 32, INT64_C(1) << 32, "tile 70 of 4294967296 x 4294967296 elements is too large"},
        {DT_F32, -1, 4, "tile 70 of -1 x 4 elements is too large"},
        {DT_F32, 4, -1, "tile 70 of 4 x -1 elements is too large"},
        {DT_F32, -4, -4, "tile 70 of -4 x -4 elements is too large"},
        {DT_F32, LIMIT + 1, 1, "a dimension or step of 70368744177665 is too large"},
        {DT_F32, 1, DIM_LOWEST, "a dimension or step of -9223372034707292159 is too large"},
        {DT_F32, 1, DIM_NOT_BOUND, "a dimension is not known when the kernel starts"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tile_test t;
        setup(&t, 1);
        chain(&t, INSN_dma_copy, 70, 0);
        add_tile(&t, cases[i].dtype, cases[i].partitions, t.n);
        bool ok = bind(&t, cases[i].elements);
        assert_int_equal(ok, !cases[i].message);
        assert_string_equal(t.d.text, ok ? "" : cases[i].message);
        if (ok)
            check_places(&t, false);
        else
            assert_int_equal(t.out.tile_bytes, 0);
        teardown(&t);
    }
}

/* A run that is refused for its tiles leaves the caller's memory as it is, and the context usable. */
static void refused_runs_write_nothing(void **state)
{
    enum { SMALL = 5, MAX = 70000, TWO = 40000, ONE = 65537 };
    struct program *p = parse_ok("program \"p\" target cpu outputs \"y\"\n"
                                 "symbol \"n\"\ndim sym 0\nslot %0 input \"x\" f32[n]\nslot %1 planned f32[n] output\n"
                                 "kernel 0 \"k\" grid() vars 0 semaphores 0 flops 0 bytes 0 {\n"
                                 "tile sbuf0 f32 (n) x 4096\ntile sbuf1 f32 (n) x 4096\n"
                                 "sp.dma_copy dst=sbuf0 f32[0]((n):1), src=%0 f32[0]((n):1)\n"
                                 "dve.tensor_copy dst=sbuf1 f32[0]((n):1), src=sbuf0 f32[0]((n):1)\n"
                                 "sp.dma_copy dst=%1 f32[0]((n):1), src=sbuf1 f32[0]((n):1)\n}\n"
                                 "region 0 (%0) -> (%1) { launch 0 }\n");
    static const struct {
        int64_t n;
        const char *message;
    } runs[] = {{SMALL, NULL},
                {TWO, "kernel 'k': tiles of more than 1073741824 bytes"},
                {SMALL, NULL},
                {ONE, "kernel 'k': tile 0 of 65537 x 4096 elements is too large"},
                {SMALL, NULL}};
    struct diag d = {0};
    struct model *m = model_new(p, &d);
    struct context *c = context_new(m, 1, &d);
    float *x = calloc(MAX, sizeof *x), *y = malloc(MAX * sizeof *y);
    assert_true(c && context_set_output(c, 0, y, MAX * sizeof *y, &d));
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        struct tensor in = tensor_view(DT_F32, 1, &runs[r].n, x);
        for (int i = 0; i < MAX; i++)
            x[i] = (float)i + 1, y[i] = -1;
        assert_true(context_set_input(c, 0, &in, &d));
        assert_int_equal(context_run(c, &d), !runs[r].message);
        if (runs[r].message)
            assert_non_null(strstr(d.text, runs[r].message));
        int64_t written = runs[r].message ? 0 : runs[r].n;
        for (int i = 0; i < MAX; i++)
            assert_true(y[i] == (i < written ? x[i] : -1));
        diag_clear(&d);
    }
    free(x);
    free(y);
    context_free(c);
    model_free(m);
}

/* ---- a kernel that runs ---- */

enum { TILES = 90, ROWS = 4, COLUMNS = 1 << 15, ELEMENTS = ROWS * COLUMNS, OUTPUTS = TILES / 5 };
#define TILE_PATTERN "f32[0](4:32768, 32768:1)"

/* Sums, differences and maxima of the last few tiles; each fifth goes to the output, by a transfer, or to what is
 * copied there in the end: that transfer may run together with what stands beside it. */
static char *any_sums(struct test_random *r, const float *x, float *y, bool directly)
{
    static const char *const names[] = {"add", "sub", "max"};
    float *tile[TILES];
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    fprintf(f, "program \"p\" target cpu outputs \"y\"\nslot %%0 input \"x\" f32[%d]\n"
               "slot %%1 planned f32[%d] output\nslot %%2 planned f32[%d]\n"
               "kernel 0 \"k\" grid() vars 0 semaphores 0 flops 0 bytes 0 {\n",
            ELEMENTS, ELEMENTS * OUTPUTS, ELEMENTS * OUTPUTS);
    const int to = directly ? 1 : 2;
    for (int t = 0; t < TILES; t++) {
        fprintf(f, "tile sbuf%d f32 %d x %d\n", t, ROWS, COLUMNS);
        tile[t] = malloc(ELEMENTS * sizeof(float));
    }
    fprintf(f, "sp.dma_copy dst=sbuf0 " TILE_PATTERN ", src=%%0 " TILE_PATTERN "\n");
    memcpy(tile[0], x, ELEMENTS * sizeof(float));
    for (int t = 1; t < TILES; t++) {
        int near = t < 4 ? t : 4, a = t - 1 - below(r, near), b = t - 1 - below(r, near), op = below(r, 3);
        fprintf(f, "dve.tensor_tensor dst=sbuf%d " TILE_PATTERN ", a=sbuf%d " TILE_PATTERN ", b=sbuf%d " TILE_PATTERN
                   ", op=%s\n", t, a, b, names[op]);
        for (int i = 0; i < ELEMENTS; i++) {
            float v = tile[a][i], w = tile[b][i];
            tile[t][i] = op == 0 ? v + w : op == 1 ? v - w : v > w ? v : w;
        }
        if (t % 5)
            continue;
        fprintf(f, "sp.dma_copy dst=%%%d f32[%d](4:32768, 32768:1), src=sbuf%d " TILE_PATTERN "\n", to,
                t / 5 * ELEMENTS, t);
        memcpy(y + t / 5 * ELEMENTS, tile[t], ELEMENTS * sizeof(float));
    }
    fprintf(f, "sp.dma_copy dst=%%%d " TILE_PATTERN ", src=%%0 " TILE_PATTERN "\n}\n", to);
    if (!directly)
        fprintf(f, "kernel 1 \"l\" grid() vars 0 semaphores 0 flops 0 bytes 0 {\n"
                   "sp.dma_copy dst=%%1 f32[0](%d:1), src=%%2 f32[0](%d:1)\n}\n",
                ELEMENTS * OUTPUTS, ELEMENTS * OUTPUTS);
    fprintf(f, "region 0 (%%0) -> (%%1) { launch 0 %s }\n", directly ? "" : "launch 1");
    memcpy(y, x, ELEMENTS * sizeof(float));
    for (int t = 0; t < TILES; t++)
        free(tile[t]);
    fclose(f);
    return text;
}

static void shared_memory_computes_the_same(void **state)
{
    float *x = malloc(ELEMENTS * sizeof *x), *y = malloc(OUTPUTS * ELEMENTS * sizeof *y);
    for (int round = 0; round < 6; round++) {
        struct test_random r = {(uint64_t)round + 1};
        for (int i = 0; i < ELEMENTS; i++)
            x[i] = (float)(below(&r, 2000) - 1000);
        char *text = any_sums(&r, x, y, round % 2);
        struct program *p = parse_ok(text);
        struct diag d = {0};
        struct model *m = model_new(p, &d);
        struct context *c = context_new(m, 1, &d);
        struct tensor in = tensor_view(DT_F32, 1, &(int64_t){ELEMENTS}, x);
        assert_true(context_set_input(c, 0, &in, &d) && context_run(c, &d));
        assert_true(c->tile_bytes < (size_t)TILES / 2 * ELEMENTS * sizeof(float)); /* they do share */
        const struct tensor *out = context_output(c, 0);
        for (int i = 0; i < OUTPUTS * ELEMENTS; i++)
            if (((const float *)out->data)[i] != y[i])
                fail_msg("round %d: element %d of output %d is %g, expected %g", round, i % ELEMENTS, i / ELEMENTS,
                         (double)((const float *)out->data)[i], (double)y[i]);
        context_free(c);
        model_free(m);
        free(text);
    }
    free(x);
    free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_that_live_together_lie_apart),
        cmocka_unit_test(loops_and_threads_share_nothing),
        cmocka_unit_test(a_chain_takes_three_places),
        cmocka_unit_test(few_and_very_many_share_nothing),
        cmocka_unit_test(tiles_with_addresses_share_memory),
        cmocka_unit_test(addresses_that_gain_nothing_are_passed_over),
        cmocka_unit_test(the_limit_is_met_exactly),
        cmocka_unit_test(refuses_tiles_that_are_too_large),
        cmocka_unit_test(refused_runs_write_nothing),
        cmocka_unit_test(shared_memory_computes_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
