/*
 * The runtime on programs built by hand: steps, slots and regions.
 */
#include "neff/isa/asm.h"
#include "runtime/exec/exec.h"
#include "runtime/kernels/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct program *new_program(void)
{
    struct program *p = program_new();
    p->nregions = p->regions_cap = 0;
    ARENA_GROW(&p->arena, p->regions, p->nregions, p->regions_cap);
    p->nregions = 1;
    return p;
}

static int add_region(struct program *p)
{
    ARENA_GROW(&p->arena, p->regions, p->nregions, p->regions_cap);
    return p->nregions++;
}

static int add_slot(struct program *p, const char *name, int kind, struct type t)
{
    return program_add_slot(
        p,
        (struct slot){.name = name, .type = t, .kind = (uint8_t)kind, .data = {.kind = VK_NONE}});
}

static int add_const(struct program *p, struct type t, void *data)
{
    return program_add_slot(p, (struct slot){.type = t,
                                             .kind = SLOT_CONST,
                                             .data = tensor_view(t.dtype, t.rank, t.dims, data)});
}

static int32_t *ids(struct program *p, int n, const int *v)
{
    int32_t *out = ARENA_ARRAY(&p->arena, int32_t, n + 1);
    for (int i = 0; i < n; i++)
        out[i] = v[i];
    return out;
}
#define IDS(p, ...)                                                                                \
    ids(p, (int)(sizeof(int[]){__VA_ARGS__} / sizeof(int)), (const int[]){__VA_ARGS__})

static void set_io(struct program *p, int region, int nparams, int32_t *params, int nresults,
                   int32_t *results)
{
    struct program_region *r = &p->regions[region];
    r->nparams = nparams, r->params = params, r->nresults = nresults, r->results = results;
    if (region == 0) {
        p->output_names = ARENA_ARRAY(&p->arena, const char *, nresults);
        for (int i = 0; i < nresults; i++) {
            p->slots[results[i]].is_output = true;
            p->output_names[i] = p->slots[results[i]].name ? p->slots[results[i]].name : "out";
        }
    }
}

static void add_step(struct program *p, int region, int kind, int index)
{
    struct program_region *r = &p->regions[region];
    ARENA_GROW(&p->arena, r->steps, r->nsteps, r->steps_cap);
    r->steps[r->nsteps++] = (struct step){.kind = (uint8_t)kind, .index = index};
}

static struct call *add_call(struct program *p, int region, enum op op, int nin, int32_t *in,
                             int nout, int32_t *out)
{
    ARENA_GROW(&p->arena, p->calls, p->ncalls, p->calls_cap);
    struct call *c = &p->calls[p->ncalls];
    *c = (struct call){.op = op, .nin = nin, .in = in, .nout = nout, .out = out, .node = -1};
    c->node = program_add_node(p, "node", op_name(op));
    add_step(p, region, STEP_CALL, p->ncalls++);
    return c;
}

static struct type tensor_type(int dtype, int rank, ...)
{
    dim_t dims[MAX_RANK];
    va_list ap;
    va_start(ap, rank);
    for (int i = 0; i < rank; i++)
        dims[i] = va_arg(ap, dim_t);
    va_end(ap);
    return type_tensor(dtype, rank, dims);
}
#define F32(...)                                                                                   \
    type_tensor(DT_F32, (int)(sizeof(dim_t[]){__VA_ARGS__} / sizeof(dim_t)),                       \
                (const dim_t[]){__VA_ARGS__})
#define I64(...)                                                                                   \
    type_tensor(DT_I64, (int)(sizeof(dim_t[]){__VA_ARGS__} / sizeof(dim_t)),                       \
                (const dim_t[]){__VA_ARGS__})

static struct tensor floats(float *v, int64_t n)
{
    return tensor_view(DT_F32, 1, &n, v);
}

/* y = (x + x) * x, over a symbolic dim or one of `size`. */
static struct program *arithmetic_of(int64_t size)
{
    struct program *p = new_program();
    dim_t n = size ? size : dim_symbol(&p->dims, "n");
    int x = add_slot(p, "x", SLOT_INPUT, F32(n)), t = add_slot(p, NULL, SLOT_PLANNED, F32(n));
    int y = add_slot(p, "y", SLOT_PLANNED, F32(n));
    set_io(p, 0, 1, IDS(p, x), 1, IDS(p, y));
    add_call(p, 0, OP_add, 2, IDS(p, x, x), 1, IDS(p, t));
    add_call(p, 0, OP_mul, 2, IDS(p, t, x), 1, IDS(p, y));
    return p;
}

static struct program *arithmetic(void)
{
    return arithmetic_of(0);
}

static void runs_calls_for_any_shape(void **state)
{
    struct diag d = {0};
    struct model *m = model_new(arithmetic(), &d);
    struct context *c = context_new(m, 1, &d);
    float v[40];
    for (int i = 0; i < 40; i++)
        v[i] = (float)i;
    for (int run = 0; run < 60; run++) {
        struct tensor x = floats(v, 1 + run * 7 % 40);
        assert_true(context_set_input(c, 0, &x, &d));
        assert_true(context_run(c, &d));
        const struct tensor *y = context_output(c, 0);
        assert_int_equal(y->dims[0], x.dims[0]);
        for (int64_t i = 0; i < x.dims[0]; i++)
            assert_true(((float *)y->data)[i] == 2 * v[i] * v[i]);
    }
    context_free(c);
    model_free(m);
}

static void refuses_wrong_inputs(void **state)
{
    struct diag d = {0};
    struct model *m = model_new(arithmetic(), &d);
    struct context *c = context_new(m, 1, &d);
    assert_false(context_run(c, &d));
    assert_string_equal(d.text, "input 'x' is not set");
    diag_clear(&d);
    float v[4] = {0};
    struct tensor x = tensor_view(DT_F32, 2, (int64_t[]){2, 2}, v);
    assert_true(context_set_input(c, 0, &x, &d));
    assert_false(context_run(c, &d));
    assert_string_equal(d.text, "input 'x' is f32[2,2], expected f32[n]");
    assert_null(context_output(c, 0));
    context_free(c);
    model_free(m);
}

static void uses_given_output_memory(void **state)
{
    struct diag d = {0};
    struct model *m = model_new(arithmetic(), &d);
    struct context *c = context_new(m, 1, &d);
    float v[4] = {1, 2, 3, 4};
    _Alignas(16) float out[4];
    struct tensor x = floats(v, 4);
    assert_true(context_set_input(c, 0, &x, &d));
    assert_true(context_set_output(c, 0, out, sizeof out, &d));
    assert_true(context_run(c, &d));
    assert_true(out[3] == 32);
    assert_ptr_equal(context_output(c, 0)->data, out);
    assert_true(context_set_output(c, 0, out, 8, &d));
    assert_false(context_run(c, &d));
    assert_string_equal(d.text, "output 'y' has 16 bytes, the memory given for it 8");
    context_free(c);
    model_free(m);
}

/* z = the product of the non-zero elements' places and three: dims known only while running. */
static void binds_dims_while_running(void **state)
{
    struct program *p = new_program();
    struct diag d = {0};
    static int64_t three = 3;
    dim_t n = dim_symbol(&p->dims, "n"), k = dim_fresh(&p->dims, "nonzero");
    int x = add_slot(p, "x", SLOT_INPUT, F32(n)), at = add_slot(p, NULL, SLOT_DYNAMIC, I64(1, k));
    int z = add_slot(p, "z", SLOT_DYNAMIC, I64(1, k));
    int c3 = add_const(p, tensor_type(DT_I64, 0), &three);
    set_io(p, 0, 1, IDS(p, x), 1, IDS(p, z));
    add_call(p, 0, OP_nonzero, 1, IDS(p, x), 1, IDS(p, at));
    add_call(p, 0, OP_mul, 2, IDS(p, at, c3), 1, IDS(p, z));
    struct model *m = model_new(p, &d);
    struct context *c = context_new(m, 1, &d);
    float v[8] = {0, 1, 0, 1, 1, 0, 0, 1};
    for (int size = 8; size >= 2; size -= 3) {
        struct tensor in = floats(v, size);
        assert_true(context_set_input(c, 0, &in, &d));
        if (!context_run(c, &d) && d.internal)
            skip(); /* built without the routine of nonzero */
        assert_string_equal(d.text, "");
        int64_t count = 0;
        const struct tensor *t = context_output(c, 0);
        for (int i = 0; i < size; i++)
            if (v[i] != 0)
                assert_int_equal(((int64_t *)t->data)[count++], 3 * i);
        assert_int_equal(t->dims[1], count);
    }
    context_free(c);
    model_free(m);
}

/* Carried over n trips: x = x + x, with a scan output of every x. The body's memory is planned or
 * dynamic. */
static struct program *doubling(int kind)
{
    struct program *p = new_program();
    int n = add_slot(p, "n", SLOT_INPUT, tensor_type(DT_I64, 0)),
        x = add_slot(p, "x", SLOT_INPUT, F32(3));
    dim_t trips = dim_fresh(&p->dims, "trips");
    int last = add_slot(p, "last", SLOT_DYNAMIC, F32(3)),
        all = add_slot(p, "all", SLOT_DYNAMIC, F32(trips, 3));
    set_io(p, 0, 2, IDS(p, n, x), 2, IDS(p, last, all));
    int body = add_region(p);
    int i = add_slot(p, NULL, SLOT_DYNAMIC, tensor_type(DT_I64, 0)),
        on = add_slot(p, NULL, SLOT_DYNAMIC, tensor_type(DT_BOOL, 0));
    int carried = add_slot(p, NULL, kind, F32(3)), next = add_slot(p, NULL, kind, F32(3));
    set_io(p, body, 3, IDS(p, i, on, carried), 3, IDS(p, on, next, next));
    add_call(p, body, OP_add, 2, IDS(p, carried, carried), 1, IDS(p, next));
    struct call *c = add_call(p, 0, OP_loop, 3, IDS(p, n, -1, x), 2, IDS(p, last, all));
    c->nregions = 1;
    c->regions = IDS(p, body);
    return p;
}

static void runs_loops(void **state)
{
    static const int kinds[] = {SLOT_PLANNED, SLOT_DYNAMIC};
    for (int k = 0; k < 2; k++) {
        struct diag d = {0};
        struct program *p = doubling(kinds[k]);
        assert_true(program_check(p, &d));
        struct model *m = model_new(p, &d);
        struct context *c = context_new(m, 1, &d);
        float v[3] = {1, 2, 3};
        for (int64_t trips = 4; trips >= 0; trips -= 2) {
            struct tensor n = tensor_view(DT_I64, 0, NULL, &trips), x = floats(v, 3);
            assert_true(context_set_input(c, 0, &n, &d) && context_set_input(c, 1, &x, &d));
            if (!context_run(c, &d) && d.internal)
                skip(); /* built without the routine of loop */
            assert_string_equal(d.text, "");
            assert_true(((float *)context_output(c, 0)->data)[2] == (float)(3 << trips));
            assert_int_equal(context_output(c, 1)->dims[0], trips);
            if (trips)
                assert_true(((float *)context_output(c, 1)->data)[(trips - 1) * 3] ==
                            (float)(1 << trips));
        }
        context_free(c);
        model_free(m);
    }
}

/* Open dimensions are planned as 1 before the first run; when they are not, its plan is another. */
static void plans_ahead(void **state)
{
    struct diag d = {0};
    for (int64_t size = 0; size <= 24; size += 24) {
        struct model *m = model_new(arithmetic_of(size), &d);
        struct context *c = context_new(m, 1, &d);
        float v[24] = {[0] = 1, [23] = 3};
        struct tensor x = floats(v, 24), wrong = floats(v, 23);
        int64_t ahead = context_arena_bytes(c);
        assert_true(ahead > 0);
        assert_false(context_run(c, &d));
        assert_string_equal(d.text, "input 'x' is not set");
        diag_clear(&d);
        if (size) {
            assert_true(context_set_input(c, 0, &wrong, &d));
            assert_false(context_run(c, &d));
            diag_clear(&d);
        }
        assert_true(context_set_input(c, 0, &x, &d) && context_run(c, &d));
        assert_int_equal(context_arena_bytes(c) > ahead, size == 0);
        assert_true(((float *)context_output(c, 0)->data)[23] == 18);
        struct tensor one = floats(v, 1);
        for (int i = 0; i < 2 && !size; i++) { /* of a context that has run, and of a new one */
            assert_true(context_set_input(c, 0, &one, &d) && context_run(c, &d));
            assert_int_equal(context_arena_bytes(c), ahead);
            assert_int_equal(context_output(c, 0)->dims[0], 1);
            assert_true(((float *)context_output(c, 0)->data)[0] == 2);
            context_free(c);
            c = context_new(m, 1, &d);
        }
        context_free(c);
        model_free(m);
    }
}

/* Inputs and constants that are results are copied; one value may be two results. */
static void copies_inputs_to_outputs(void **state)
{
    static float one[2] = {5, 6};
    struct diag d = {0};
    struct program *p = new_program();
    int x = add_slot(p, "x", SLOT_INPUT, F32(2)), k = add_const(p, F32(2), one);
    set_io(p, 0, 1, IDS(p, x), 3, IDS(p, x, k, x));
    struct model *m = model_new(p, &d);
    struct context *c = context_new(m, 1, &d);
    float v[2] = {1, 2};
    struct tensor t = floats(v, 2);
    assert_true(context_set_input(c, 0, &t, &d) && context_run(c, &d));
    v[0] = 9;
    assert_true(((float *)context_output(c, 0)->data)[0] == 1);
    assert_true(((float *)context_output(c, 1)->data)[1] == 6);
    assert_true(((float *)context_output(c, 2)->data)[1] == 2);
    context_free(c);
    model_free(m);
}

/* A model that is run on zeros when its context is made shows nothing of it, and has no part in
 * what the first run gives, whatever its shapes. */
static void warms_up(void **state)
{
    for (int size = 0; size <= 3; size += 3) {
        struct diag d = {0};
        struct model *m = model_new(arithmetic_of(size), &d);
        struct context *c = context_new(m, 2, &d);
        assert_null(context_output(c, 0));
        assert_false(context_run(c, &d));
        assert_string_equal(d.text, "input 'x' is not set");
        diag_clear(&d);
        float v[3] = {1, 2, 3};
        for (int64_t n = size ? size : 1; n <= 3; n++) {
            struct tensor x = floats(v, n);
            assert_true(context_set_input(c, 0, &x, &d) && context_run(c, &d));
            const float *y = context_output(c, 0)->data;
            for (int64_t i = 0; i < n; i++)
                assert_true(y[i] == 2 * v[i] * v[i]);
        }
        context_free(c);
        model_free(m);
    }
}

#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
static _Atomic int allocations;
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t m);
void *__libc_memalign(size_t a, size_t n);
void *malloc(size_t n)
{
    allocations++;
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t m)
{
    allocations++;
    return __libc_calloc(n, m);
}
void *aligned_alloc(size_t a, size_t n)
{
    allocations++;
    return __libc_memalign(a, n);
}

static void repeated_runs_allocate_nothing(void **state)
{
    struct diag d = {0};
    struct model *m = model_new(arithmetic(), &d);
    struct context *c = context_new(m, 2, &d);
    float v[64] = {0};
    int before = 0;
    for (int run = 0; run < 100; run++) {
        struct tensor x = floats(v, run % 2 ? 17 : 64); /* two plans, both known after two runs */
        if (run == 4)
            before = allocations;
        assert_true(context_set_input(c, 0, &x, &d) && context_run(c, &d));
    }
    assert_int_equal(allocations, before);
    context_free(c);
    model_free(m);
}
#else
static void repeated_runs_allocate_nothing(void **state)
{
    skip();
}
#endif

static void an_empty_graph_costs_little(void **state)
{
    struct diag d = {0};
    struct program *p = new_program();
    int x = add_slot(p, "x", SLOT_INPUT, F32(1));
    set_io(p, 0, 1, IDS(p, x), 1, IDS(p, x));
    struct model *m = model_new(p, &d);
    struct context *c = context_new(m, 1, &d);
    float v = 1;
    struct tensor t = floats(&v, 1);
    double best = 1e9;
    assert_true(context_set_input(c, 0, &t, &d));
    for (int n = 0; n < 50; n++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (int i = 0; i < 100; i++)
            assert_true(context_run(c, &d));
        clock_gettime(CLOCK_MONOTONIC, &b);
        double us = (double)(b.tv_sec - a.tv_sec) * 1e4 + (double)(b.tv_nsec - a.tv_nsec) * 1e-5;
        best = us < best ? us : best;
    }
    print_message("an empty graph runs in %.3f us\n", best);
    assert_true(best < 20); /* 2 us undisturbed and optimised */
    context_free(c);
    model_free(m);
}

/* Three turns of a loop whose body doubles x on processors that multiply bf16 as fast as f32 or somewhat faster, and
 * triples it on others; before it 1 is added, or on these 2. */
static const char steps_for_rates[] =
    "program \"steps\" target cpu\nnode 0 \"n\" \"n\"\noutputs \"y\"\n"
    "slot %0 input \"x\" f32[4]\nslot %1 const i32[] = {0}\nslot %2 planned i32[]\nslot %3 planned f32[4] output\n"
    "slot %4 const i32[] = {3}\nslot %5 planned bool[]\nslot %6 const i32[] = {1}\nslot %7 planned i32[]\n"
    "slot %8 planned f32[4]\nslot %9 planned f32[4]\n"
    "kernel 0 \"lt\" grid() vars 0 semaphores 0 flops 1 bytes 12 {\n"
    "  dve.tensor_tensor dst=%5 bool[0](1:0), a=%2 i32[0](1:0), b=%4 i32[0](1:0), op=lt node 0\n}\n"
    "kernel 1 \"count\" grid() vars 0 semaphores 0 flops 1 bytes 12 {\n"
    "  dve.tensor_tensor dst=%7 i32[0](1:0), a=%2 i32[0](1:0), b=%6 i32[0](1:0), op=add node 0\n}\n"
    "kernel 2 \"double\" grid() vars 0 semaphores 0 flops 4 bytes 48 {\n"
    "  dve.tensor_scalar dst=%8 f32[0](4:1), src=%3 f32[0](4:1), scalar0=2, scalar1=0, op0=mul, op1=identity\n}\n"
    "kernel 3 \"triple\" grid() vars 0 semaphores 0 flops 4 bytes 48 {\n"
    "  dve.tensor_scalar dst=%8 f32[0](4:1), src=%3 f32[0](4:1), scalar0=3, scalar1=0, op0=mul, op1=identity\n}\n"
    "kernel 4 \"one\" grid() vars 0 semaphores 0 flops 4 bytes 48 {\n"
    "  dve.tensor_scalar dst=%9 f32[0](4:1), src=%0 f32[0](4:1), scalar0=1, scalar1=0, op0=add, op1=identity\n}\n"
    "kernel 5 \"two\" grid() vars 0 semaphores 0 flops 4 bytes 48 {\n"
    "  dve.tensor_scalar dst=%9 f32[0](4:1), src=%0 f32[0](4:1), scalar0=2, scalar1=0, op0=add, op1=identity\n}\n"
    "call 0 while(%1, %9) -> (_, %3) regions 1, 2 node 0\n"
    "region 0 (%0) -> (%3) {\n launch 4 bf16 0 to 200\n launch 5 bf16 200 to 0\n call 0\n}\n"
    "region 1 (%2, %3) -> (%5) {\n launch 0\n}\n"
    "region 2 (%2, %3) -> (%7, %8) {\n launch 1\n launch 2 bf16 0 to 200\n launch 3 bf16 200 to 0\n}\n";

static void leaves_out_steps_for_other_rates(void **state)
{
    static const int rates[] = {0, BF16_RATE, 199, 200, MAX_BF16_RATE};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        struct diag d = {0};
        struct program *p = program_parse(steps_for_rates, sizeof steps_for_rates - 1, "test", &d);
        if (!p)
            fail_msg("%s", d.text);
        struct model *m = model_new(p, &d);
        assert_non_null(m);
        model_set_bf16_rate(m, rates[r]); /* 0: that of the kernels */
        struct context *c = context_new(m, 1, &d);
        float v[4] = {1, -2, 3, 0.5f};
        struct tensor x = floats(v, 4);
        assert_non_null(c);
        if (!context_set_input(c, 0, &x, &d) || !context_run(c, &d))
            fail_msg("%s", d.text);
        bool fast = (rates[r] ? rates[r] : kernels_get()->bf16_rate) >= 200;
        for (int i = 0; i < 4; i++)
            assert_true(((float *)context_output(c, 0)->data)[i] == (fast ? 27 * (v[i] + 2) : 8 * (v[i] + 1)));
        context_free(c);
        model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_calls_for_any_shape),
        cmocka_unit_test(refuses_wrong_inputs),
        cmocka_unit_test(uses_given_output_memory),
        cmocka_unit_test(binds_dims_while_running),
        cmocka_unit_test(runs_loops),
        cmocka_unit_test(plans_ahead),
        cmocka_unit_test(warms_up),
        cmocka_unit_test(copies_inputs_to_outputs),
        cmocka_unit_test(repeated_runs_allocate_nothing),
        cmocka_unit_test(an_empty_graph_costs_little),
        cmocka_unit_test(leaves_out_steps_for_other_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
