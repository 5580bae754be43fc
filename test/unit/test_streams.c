/*
 * Elementwise instructions that run together (runtime/exec/stream.c) compute what each of them computes by itself, bit
 * by bit: random kernels on floats, integers and booleans, in memory and in tiles, of one value and in place. Engines
 * as threads run instructions as they stand.
 */
#include "test/unit/neff_test.h"
#include "test/unit/selected_variants.h"

#include "runtime/exec/exec.h"

#include <math.h>
#include <string.h>

enum { KINDS = 3, EACH = 3, LENGTH = 5003, TILE = 2048, PROGRAMS = 200, INSNS = 16, INSNS_IN_PLACE = 4 };
/* Slots: two of each kind, one number of two kinds, one result of each, and a view of it. */
enum { NUMBER = 2 * KINDS, RESULT = NUMBER + 2, VIEW = RESULT + KINDS };
static const int dtypes[KINDS] = {DT_F32, DT_I32, DT_BOOL};
static const char *const names[KINDS] = {"f32", "i32", "bool"};

struct stream_program {
    struct test_random r;
    struct test_text t;
    bool made[KINDS * EACH]; /* tiles that have been written */
    bool in_place;           /* results are read, too: they have been written by the kernel before */
};

#define COUNT "min(2048,5003-g0*2048)"

/* An operand that may be read. */
static const char *operand(struct stream_program *m, int kind)
{
    static char text[4][96];
    static int turn;
    char *to = text[turn++ % 4];
    int which = below(&m->r, 5), tile = kind * EACH + below(&m->r, EACH);
    if (m->in_place && below(&m->r, 3) == 0)
        snprintf(to, sizeof *text, "%%%d %s[g0*2048](" COUNT ":1)", (below(&m->r, 2) ? VIEW : RESULT) + kind,
                 names[kind]);
    else if (which < 2 && m->made[tile])
        snprintf(to, sizeof *text, "sbuf%d %s[0](" COUNT ":1)", tile, names[kind]);
    else if (which == 2 && kind < 2)
        snprintf(to, sizeof *text, "%%%d %s[0](" COUNT ":0)", NUMBER + kind, names[kind]);
    else
        snprintf(to, sizeof *text, "%%%d %s[g0*2048](" COUNT ":1)", 2 * kind + below(&m->r, 2), names[kind]);
    return to;
}

static const char *result(struct stream_program *m, int kind, bool last)
{
    static char text[96];
    int tile = kind * EACH + below(&m->r, EACH);
    if (last) {
        snprintf(text, sizeof text, "%%%d %s[g0*2048](" COUNT ":1)", RESULT + kind, names[kind]);
    } else {
        snprintf(text, sizeof text, "sbuf%d %s[0](" COUNT ":1)", tile, names[kind]);
        m->made[tile] = true;
    }
    return text;
}

/* An instruction whose result is of the kind. */
static void add_insn(struct stream_program *m, int kind, bool last)
{
    static const char *const functions[KINDS][9] = {
        {"add", "sub", "mul", "max", "min", "div", "add", "mul", "sub"},
        {"add", "sub", "mul", "max", "min", "and", "or", "xor", "wrap_index"},
        {"and", "or", "xor", "and", "or", "xor", "and", "or", "xor"}};
    static const char *const ends[7] = {"identity", "mul", "relu", "abs", "neg", "sign", "square"};
    static const char *const comparisons[6] = {"eq", "ne", "lt", "le", "gt", "ge"};
    const char *a, *b, *p;
    int form = below(&m->r, 6), from = kind;
    if (form == 0 && kind < 2) {
        p = operand(m, 2), a = operand(m, kind), b = operand(m, kind);
        say(&m->t, "dve.select dst=%s, predicate=%s, a=%s, b=%s node 0\n", result(m, kind, last), p, a, b);
    } else if (form == 1 && kind < 2) {
        a = operand(m, 2);
        say(&m->t, "dve.tensor_copy dst=%s, src=%s node 0\n", result(m, kind, last), a);
    } else if (form == 2 && kind == 0) {
        a = operand(m, kind);
        say(&m->t, "dve.tensor_scalar dst=%s, src=%s, scalar0=%d, scalar1=0.5, op0=%s, op1=%s node 0\n",
            result(m, kind, last), a, below(&m->r, 3), functions[0][below(&m->r, 6)],
            ends[below(&m->r, 7)]);
    } else {
        if (kind == 2 && form < 4)
            from = below(&m->r, 2);
        a = operand(m, from), b = operand(m, from);
        say(&m->t, "dve.tensor_tensor dst=%s, a=%s, b=%s, op=%s node 0\n", result(m, kind, last), a, b,
            from == kind ? functions[kind][below(&m->r, 9)] : comparisons[below(&m->r, 6)]);
    }
}

/* Instructions, and those that make the results. */
static void add_kernel(struct stream_program *m, int number, int insns)
{
    say(&m->t, "kernel %d \"k%d\" grid(3) vars 1 semaphores 0 flops 0 bytes 0 {\n", number, number);
    for (int tile = 0; tile < KINDS * EACH; tile++)
        say(&m->t, "tile sbuf%d %s 1 x %d\n", tile, names[tile / EACH], TILE);
    memset(m->made, 0, sizeof m->made);
    for (int i = 0; i < insns; i++)
        add_insn(m, below(&m->r, KINDS), false);
    for (int kind = 0; kind < KINDS; kind++)
        add_insn(m, kind, true);
    say(&m->t, "}\n");
}

static struct program *drawn_program(struct stream_program *m)
{
    say(&m->t, "program \"t\" target cpu\nnode 0 \"n\" \"n\"\noutputs \"f\", \"i\", \"b\"\n");
    for (int s = 0; s < 2 * KINDS; s++)
        say(&m->t, "slot %%%d input \"in%d\" %s[%d]\n", s, s, names[s / 2], LENGTH);
    for (int s = 0; s < 2; s++)
        say(&m->t, "slot %%%d input \"one%d\" %s[1]\n", NUMBER + s, s, names[s]);
    for (int s = 0; s < KINDS; s++)
        say(&m->t, "slot %%%d planned %s[%d] output\n", RESULT + s, names[s], LENGTH);
    for (int s = 0; s < KINDS; s++)
        say(&m->t, "slot %%%d view %s[%d] of %%%d + 0\n", VIEW + s, names[s], LENGTH, RESULT + s);
    add_kernel(m, 0, INSNS);
    m->in_place = true;
    add_kernel(m, 1, INSNS_IN_PLACE);
    say(&m->t, "region 0 (%%0, %%1, %%2, %%3, %%4, %%5, %%6, %%7) -> (%%8, %%9, %%10) {\nlaunch 0\nlaunch 1\n}\n");
    return parse_ok(m->t.s);
}

static void draw_input(struct tensor *t, int dtype, int64_t n, struct test_random *r)
{
    static const double floats[] = {-2, -1, -0.0, 0, 0.5, 1, 3e38, (double)INFINITY, (double)NAN};
    struct diag d = {0};
    t->kind = VK_NONE;
    assert_true(tensor_alloc(t, dtype, 1, &n, &d));
    for (int64_t i = 0; i < n; i++)
        if (dtype == DT_F32)
            dtype_store_f64(dtype, t->data, (size_t)i, floats[below(r, 9)]);
        else
            dtype_store_i64(dtype, t->data, (size_t)i,
                            dtype == DT_BOOL ? below(r, 2) : below(r, 9) ? below(r, 7) - 3 : INT32_MIN);
}

/* The results of the program, copied. */
static void run(struct model *m, const struct tensor *in, struct tensor *out)
{
    struct diag d = {0};
    struct context *c = context_new(m, 1, &d);
    for (int i = 0; i < NUMBER + 2; i++)
        assert_true(context_set_input(c, i, &in[i], &d));
    if (!context_run(c, &d))
        fail_msg("%s", d.text);
    for (int i = 0; i < KINDS; i++) {
        out[i].kind = VK_NONE;
        assert_true(tensor_copy(&out[i], context_output(c, i), &d));
    }
    context_free(c);
}

/* NaNs of one kind or another are alike. */
static bool alike(const struct tensor *a, const struct tensor *b, int64_t i)
{
    double x = tensor_f64(a, i), y = tensor_f64(b, i);
    return (x == y && signbit(x) == signbit(y)) || (isnan(x) && isnan(y));
}

static void drawn_case(int turn)
{
    struct stream_program m = {.r = {(uint64_t)turn}};
    struct diag d = {0};
    struct tensor in[NUMBER + 2], out[2][KINDS];
    struct program *p = drawn_program(&m);
    for (int i = 0; i < NUMBER + 2; i++)
        draw_input(&in[i], dtypes[i < NUMBER ? i / 2 : i - NUMBER], i < NUMBER ? LENGTH : 1, &m.r);
    for (int threads = 0; threads < 2; threads++) {
        engine_threads_select(threads > 0);
        struct model *model = model_new(p, &d);
        engine_threads_select(false);
        assert_non_null(model);
        run(model, in, out[threads]);
        p = model_take_program(model);
    }
    for (int k = 0; k < KINDS; k++)
        for (int64_t i = 0; i < LENGTH; i++)
            if (!alike(&out[0][k], &out[1][k], i))
                fail_msg("%s: program %d: element %lld of result %d is %.9g, by itself %.9g\n%s", kernels_get()->name,
                         turn, (long long)i, k, tensor_f64(&out[0][k], i), tensor_f64(&out[1][k], i), m.t.s);
    for (int k = 0; k < KINDS; k++)
        tensor_free(&out[0][k]), tensor_free(&out[1][k]);
    for (int i = 0; i < NUMBER + 2; i++)
        tensor_free(&in[i]);
    program_free(p);
}

static void drawn_cases(void)
{
    for (int turn = 1; turn <= PROGRAMS; turn++)
        drawn_case(turn);
}

static void test_streams(void **state)
{
    (void)state;
    for_each_variant(drawn_cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_streams)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
