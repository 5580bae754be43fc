/*
 * Shape rules with symbols: what models compute about shapes becomes expressions over the inputs'
 * dims.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/ops/common/ops.h"

#include <cmocka.h>

struct rules {
    struct arena arena;
    struct dim_table dims;
    struct attrs attrs;
    struct diag d;
    struct type in[6], out[2];
    struct content known[6], result[2];
};

static struct content known(struct infer *f, int i)
{
    return ((struct rules *)f->user)->known[i];
}

static void start(struct rules *r)
{
    memset(r, 0, sizeof *r);
    dim_table_init(&r->dims, &r->arena);
}

/* Operand i: a type in text, and its contents or n -1. */
static void operand(struct rules *r, int i, const char *type, const dim_t *v, int64_t n)
{
    assert_true(type_parse(&r->dims, &type, &r->in[i], &r->d));
    r->known[i] = (struct content){v, n};
}

static const char *infer(struct rules *r, enum op op, int nin)
{
    struct infer f = {.op = op,
                      .attrs = &r->attrs,
                      .dims = &r->dims,
                      .arena = &r->arena,
                      .d = &r->d,
                      .nin = nin,
                      .nout = 1,
                      .in = r->in,
                      .out = r->out,
                      .result = r->result,
                      .read = known,
                      .user = r};
    r->result[0].n = -1;
    if (!infer_run(&f))
        return r->d.text;
    return type_text(&r->dims, &r->arena, &r->out[0]);
}

static void test_shape_chain(void **state)
{
    struct rules r;
    start(&r);
    operand(&r, 0, "f32[n,seq,12,64]", NULL, -1);
    assert_string_equal(infer(&r, OP_shape, 1), "i64[4]");
    struct content shape = r.result[0];
    operand(&r, 0, "i64[4]", shape.v, shape.n);
    operand(&r, 1, "i64[2]", (dim_t[]){0, -3}, 2);
    assert_string_equal(infer(&r, OP_gather, 2), "i64[2]");
    struct content part = r.result[0];
    assert_int_equal(part.v[1], dim_symbol(&r.dims, "seq"));
    operand(&r, 0, "i64[2]", part.v, part.n);
    operand(&r, 1, "i64[1]", (dim_t[]){-1}, 1);
    assert_string_equal(infer(&r, OP_concat, 2), "i64[3]");
    shape = r.result[0];
    operand(&r, 0, "f32[n,seq,12,64]", NULL, -1);
    operand(&r, 1, "i64[3]", shape.v, shape.n);
    assert_string_equal(infer(&r, OP_reshape, 2), "f32[n,seq,768]");
    arena_free(&r.arena);
}

static void test_reshape(void **state)
{
    struct rules r;
    start(&r);
    operand(&r, 0, "f32[n,h,w]", NULL, -1);
    operand(&r, 1, "i64[2]", (dim_t[]){-1, dim_mul(&r.dims, dim_symbol(&r.dims, "w"), 2)}, 2);
    assert_string_equal(infer(&r, OP_reshape, 2), "f32[floordiv(n*h,2),w*2]");
    operand(&r, 0, "f32[0,6]", NULL, -1);
    operand(&r, 1, "i64[2]", (dim_t[]){0, -1}, 2);
    assert_string_equal(infer(&r, OP_reshape, 2), "f32[0,6]");
    operand(&r, 0, "f32[4,6]", NULL, -1);
    operand(&r, 1, "i64[2]", (dim_t[]){5, -1}, 2);
    assert_non_null(strstr(infer(&r, OP_reshape, 2), "multiple"));
    arena_free(&r.arena);
}

static void test_slice(void **state)
{
    struct rules r;
    start(&r);
    operand(&r, 0, "f32[n,8]", NULL, -1);
    operand(&r, 1, "i64[1]", (dim_t[]){0}, 1);
    operand(&r, 2, "i64[1]", (dim_t[]){INT64_MAX - 1}, 1);
    operand(&r, 3, "i64[1]", (dim_t[]){0}, 1);
    assert_string_equal(infer(&r, OP_slice, 4), "f32[n,8]");
    operand(&r, 1, "i64[1]", (dim_t[]){-3}, 1);
    operand(&r, 3, "i64[1]", (dim_t[]){1}, 1);
    assert_string_equal(infer(&r, OP_slice, 4), "f32[n,3]");
    operand(&r, 0, "f32[5,3]", NULL, -1); /* backwards from before the first element: that one */
    operand(&r, 1, "i64[1]", (dim_t[]){-4}, 1);
    operand(&r, 2, "i64[1]", (dim_t[]){-INT32_MAX}, 1);
    operand(&r, 4, "i64[1]", (dim_t[]){-2}, 1);
    assert_string_equal(infer(&r, OP_slice, 5), "f32[5,1]");
    operand(&r, 0, "f32[n,0]", NULL, -1);
    assert_string_equal(infer(&r, OP_slice, 5), "f32[n,0]");
    operand(&r, 3, "i64[1]", (dim_t[]){0}, 1);
    operand(&r, 1, "i64[1]", (dim_t[]){-1}, 1);
    operand(&r, 4, "i64[1]", (dim_t[]){-1}, 1);
    assert_string_equal(infer(&r, OP_slice, 5), "f32[n,0]");
    operand(&r, 0, "f32[n,8]", NULL, -1);
    for (int i = 1; i < 4; i++) /* how many are cut is told by the steps alone */
        operand(&r, i, "i64[many]", NULL, -1);
    operand(&r, 4, "i64[1]", (dim_t[]){-1}, 1);
    assert_string_equal(infer(&r, OP_slice, 5), "f32[slice.2,slice.3]");
    arena_free(&r.arena);
}

static void test_broadcast(void **state)
{
    struct rules r;
    start(&r);
    operand(&r, 0, "f32[n,1,seq]", NULL, -1);
    operand(&r, 1, "f32[12,seq]", NULL, -1);
    assert_string_equal(infer(&r, OP_add, 2), "f32[n,12,seq]");
    operand(&r, 1, "f32[12,7]", NULL, -1);
    assert_string_equal(infer(&r, OP_add, 2), "f32[n,12,7]");
    operand(&r, 1, "f16[1]", NULL, -1);
    assert_non_null(strstr(infer(&r, OP_add, 2), "as operand 0"));
    arena_free(&r.arena);
}

/* A mask has one entry or as many as the scores, nothing in between. */
static void test_sdpa_mask(void **state)
{
    struct rules r;
    start(&r);
    operand(&r, 0, "f32[2,4,3,8]", NULL, -1);
    operand(&r, 1, "f32[2,4,5,8]", NULL, -1);
    operand(&r, 2, "f32[2,4,5,6]", NULL, -1);
    operand(&r, 3, "f32[2,1,1,5]", NULL, -1);
    assert_string_equal(infer(&r, OP_sdpa, 4), "f32[2,4,3,6]");
    operand(&r, 3, "f32[n,1,3,5]", NULL, -1);
    assert_string_equal(infer(&r, OP_sdpa, 4), "f32[2,4,3,6]");
    operand(&r, 3, "f32[4,1,1,5]", NULL, -1);
    assert_non_null(strstr(infer(&r, OP_sdpa, 4), "sizes 4 and 2 differ in dimension 0 (the mask"));
    arena_free(&r.arena);
}

/* Rows of sequences, their state and what an update rule needs are judged before running. */
static void test_sequence_models(void **state)
{
#define QKV "f32[n,t,16]", "f32[n,t,8]", "f32[n,t,10]"
    static const struct {
        enum op op;
        const char *types[6], *word, *expected;
    } cases[] = {
        {OP_linear_attention, {QKV}, "linear", "f32[n,t,20]"},
        {OP_linear_attention, {QKV, "f32[n,2,4,5]", "f32[n,t,2]", "f32[n,t,1]"}, "gated_delta", "f32[n,t,20]"},
        {OP_linear_attention, {QKV, "f32[n,2,5,4]"}, "linear", "sizes 5 and 4 differ in dimension 2 (past_state"},
        {OP_linear_attention, {QKV}, "gated", "decay (operand 4) is left out, update_rule 'gated' needs it"},
        {OP_linear_attention, {QKV}, "delta", "beta (operand 5) is left out"},
        {OP_linear_attention, {QKV}, "gate", "'update_rule' is 'gate', expected linear, gated"},
        {OP_linear_attention, {QKV, NULL, "f32[n,t,3]"}, "gated", "decay has 3 columns, expected 2 or 8"},
        {OP_linear_attention, {"f32[n,t,12]", "f32[n,t,8]", "f32[n,t,8]"}, "linear", "sizes 12 and 16 differ"},
        {OP_linear_attention, {"f32[n,t,16]", "f32[n,t,8]", "f32[n,t,9]"}, "linear", "9 is not a multiple of 2"},
        {OP_causal_conv, {"f32[n,6,t]", "f32[6,1,4]", "f32[6]", "f32[n,6,3]"}, "swish", "f32[n,6,t]"},
        {OP_causal_conv, {"f32[n,6,t]", "f32[6,1,4]"}, "relu", "'activation' is 'relu', expected none, silu or"},
        {OP_causal_conv, {"f32[n,6,t]", "f32[6,1,0]"}, "none", "weight has 0 taps, expected 1 or more"},
        {OP_causal_conv, {"f32[n,6,t]", "f32[6,1,4]", NULL, "f32[n,3,6]"}, "none", "sizes 3 and 6 differ"},
    };
#undef QKV
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rules r;
        start(&r);
        attr_set_int(&r.arena, &r.attrs, "q_num_heads", 4);
        attr_set_int(&r.arena, &r.attrs, "kv_num_heads", 2);
        attr_set_str(&r.arena, &r.attrs, cases[i].op == OP_causal_conv ? "activation" : "update_rule", cases[i].word);
        int n = 0;
        for (int k = 0; k < 6; k++)
            if (!cases[i].types[k])
                r.in[k].kind = VK_NONE;
            else
                operand(&r, k, cases[i].types[k], NULL, -1), n = k + 1;
        const char *text = infer(&r, cases[i].op, n);
        if (!strstr(text, cases[i].expected))
            fail_msg("case %zu: '%s' lacks '%s'", i, text, cases[i].expected);
        arena_free(&r.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_chain), cmocka_unit_test(test_reshape),
        cmocka_unit_test(test_slice),       cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_sdpa_mask),   cmocka_unit_test(test_sequence_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
