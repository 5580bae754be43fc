/* Declarations of libraries' operators: what they mean, and what is wrong with them. */
#include "runtime/custom/custom.h"
#include "neff/base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static bool run(const struct xop_call *c)
{
    return c->nin >= 0;
}

static bool declare(const char *operands, const char *results, const char *attributes,
                    struct custom_operator *op, struct arena *a, struct diag *d)
{
    struct xop_operator *code = ARENA_NEW(a, struct xop_operator);
    *code = (struct xop_operator){.domain = "d",
                                  .name = "Op",
                                  .version = 1,
                                  .operands = operands,
                                  .results = results,
                                  .attributes = attributes,
                                  .run = run};
    return custom_declare(code, a, op, d);
}

static void test_meaning(void **state)
{
    struct arena a = {0};
    struct diag d = {0};
    struct custom_operator op;
    assert_true(declare("x: T=floats[..., n, 4], y? : T[_], rest...", "z: T[..., 2*n+k], w: i64[?]",
                        "k: int = 3, s: string = two words, v: floats = 1 2.5, m: ints =", &op, &a,
                        &d));
    assert_string_equal(op.full, "d::Op");
    assert_int_equal(op.nin, 3);
    assert_true(op.in[0].ellipsis && op.in[0].rank == 2 && op.in[0].dims[1] == 4);
    assert_true(op.in[1].optional && op.in[1].dims[0] == CUSTOM_ANY_DIM);
    assert_true(op.in[2].repeats && op.in[2].rank == CUSTOM_ANY_RANK);
    assert_int_equal(op.in[0].variable, op.in[1].variable);
    assert_int_equal(op.nout, 2);
    assert_true(op.open && op.out[1].dims[0] == CUSTOM_RUNTIME_DIM);
    assert_string_equal(dim_text(&op.dims, &a, op.out[0].dims[0]), "n*2+k");
    assert_int_equal(op.nattributes, 4);
    assert_int_equal(op.attributes[0].value.i, 3);
    assert_memory_equal(op.attributes[1].value.s.p, "two words", 9);
    assert_int_equal(op.attributes[1].value.s.n, 9);
    assert_int_equal(op.attributes[2].value.count, 2);
    assert_true(op.attributes[2].value.floats[1] == 2.5);
    assert_int_equal(op.attributes[3].value.count, 0);
    arena_free(&a);
}

static void test_wrong(void **state)
{
    static const struct {
        const char *operands, *results, *attributes, *message;
    } cases[] = {
        {"x: f32[n", "y: f32[n]", NULL, "operands: expected ',' or ']'"},
        {"x: f33[n]", "y: f32[n]", NULL, "operands: expected a type"},
        {"x: str[n]", "y: f32[n]", NULL, "not of strings"},
        {"x: T[n]", "y: f32[n]", NULL, "a T that an operand defines"},
        {"x: f32[?]", "y: f32[2]", NULL, "operands: expected a size, not ?,"},
        {"x: f32[-1]", "y: f32[2]", NULL, "expected sizes of 0 or more"},
        {"x: f32[n] y", "y: f32[n]", NULL, "operands: expected ','"},
        {"x f32[n]", "y: f32[n]", NULL, "operands: expected ':' and a type, or ',' at 'f32[n]'"},
        {"x..., y", "y: f32[n]", NULL, "nothing after the operand that repeats"},
        {"x: f32[n]", "", NULL, "results: none are declared"},
        {"x: f32[n]", "y: floats[n]", NULL, "results: expected one type"},
        {"x: f32[n]", "y: f32[_]", NULL, "results: expected a size, not _,"},
        {"x: f32[n]", "y: f32[m]", NULL, "'m' is no dimension of an operand"},
        {"x: f32[n]", "y: f32[k]", "k: float", "'k' is no dimension of an operand"},
        {"x: f32[n]", "y: f32", NULL, "result 'y' has no type or no dims"},
        {"x: f32[n]", "y", NULL, "result 'y' has no type or no dims"},
        {"x: f32[n]", "y?: f32[n]", NULL, "results without ? and ...,"},
        {"x: f32[foo(n)]", "y: f32[2]", NULL, "operands: dimension: unknown function 'foo'"},
        {"x: f32[n]", "y: f32[n]", "k int", "attributes: expected NAME: KIND"},
        {"x: f32[n]", "y: f32[n]", "k: tensor", "expected int, float, number, string, ints or floats"},
        {"x: f32[n]", "y: f32[n]", "k: int = ", "attributes: expected one number"},
        {"x: f32[n]", "y: f32[n]", "k: int = x", "attributes: expected a number"},
        {"x: f32[n]", "y: f32[n]", "custom_k: int", "no name that begins with custom_"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct diag d = {0};
        struct custom_operator op;
        bool ok = declare(cases[i].operands, cases[i].results, cases[i].attributes, &op, &a, &d);
        if (ok || !strstr(d.text, cases[i].message) || !strstr(d.text, "operator d::Op: "))
            fail_msg("case %zu: '%s', expected '%s'", i, d.text, cases[i].message);
        arena_free(&a);
    }
}

static void test_attributes(void **state)
{
    struct arena a = {0};
    struct diag d = {0};
    struct custom_operator op;
    struct attrs attrs = {0};
    assert_true(declare("x", "y: f32[k]", "k: int, f: float = 0.5", &op, &a, &d));
    assert_false(custom_attributes(&op, &a, &attrs, &d));
    assert_non_null(strstr(d.text, "attribute 'k' (int) is missing, d::Op needs it"));
    diag_clear(&d);
    attr_set_int(&a, &attrs, "k", 4);
    assert_true(custom_attributes(&op, &a, &attrs, &d));
    assert_true(attr_float(&attrs, "f", 0) == 0.5);
    attr_set_int(&a, &attrs, "f", 2); /* a whole number stands for a float */
    assert_true(custom_attributes(&op, &a, &attrs, &d));
    assert_true(attr_float(&attrs, "f", 0) == 2);
    arena_free(&a);
}

/* Of kind number: what the model gives stays an int or a float. */
static void test_numbers(void **state)
{
    struct arena a = {0};
    struct diag d = {0};
    struct custom_operator op;
    struct attrs attrs = {0};
    assert_true(declare("x", "y: f32[2]", "a: number, b: number = 3, c: number = 3.0, d: number = 1e3, s: string = e",
                        &op, &a, &d));
    attr_set_strn(&a, &attrs, "a", (struct str){"1", 1});
    assert_false(custom_attributes(&op, &a, &attrs, &d));
    assert_non_null(strstr(d.text, "attribute 'a' is not of kind number"));
    diag_clear(&d);
    attr_set_int(&a, &attrs, "a", 4);
    assert_true(custom_attributes(&op, &a, &attrs, &d));
    assert_int_equal(attr_find(&attrs, "a")->kind, ATTR_INT);
    assert_int_equal(attr_int(&attrs, "b", 0), 3);
    assert_true(attr_float(&attrs, "c", 0) == 3 && attr_float(&attrs, "d", 0) == 1000);
    attr_set_float(&a, &attrs, "a", 4);
    assert_true(custom_attributes(&op, &a, &attrs, &d));
    assert_int_equal(attr_find(&attrs, "a")->kind, ATTR_FLOAT);
    arena_free(&a);
}

/* FIPS 180-4's examples, and every length around a block's end. */
static void test_hash(void **state)
{
    char hash[CUSTOM_HASH + 1];
    custom_hash("", 0, hash);
    assert_string_equal(hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    custom_hash("abc", 3, hash);
    assert_string_equal(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    custom_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hash);
    assert_string_equal(hash, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    static char million[1000000];
    memset(million, 'a', sizeof million);
    custom_hash(million, sizeof million, hash);
    assert_string_equal(hash, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Objects that are cut off anywhere are refused without being loaded. */
static void test_objects(void **state)
{
    static const uint8_t text[] = "#!/bin/sh";
    struct diag d = {0};
    assert_null(object_architecture(text, sizeof text, &d));
    assert_non_null(strstr(d.text, "no shared object"));
    FILE *f = fopen("/proc/self/exe", "rb");
    static uint8_t whole[1 << 16];
    size_t n = f ? fread(whole, 1, sizeof whole, f) : 0;
    if (f)
        fclose(f);
    for (size_t cut = 0; cut < n; cut += 61) { /* of the whole program, which is longer */
        diag_clear(&d);
        assert_null(object_architecture(whole, cut, &d));
        assert_true(diag_failed(&d));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meaning),    cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_attributes), cmocka_unit_test(test_numbers), cmocka_unit_test(test_hash),
        cmocka_unit_test(test_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
