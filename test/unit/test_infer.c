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
    struct type in[4], out[2];
    struct content known[4], result[2];
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_chain), cmocka_unit_test(test_reshape),
        cmocka_unit_test(test_slice),       cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_sdpa_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
