/* Signatures of operators: every row of the tables is one, and what they say of wrong types. */
#include "frontend/onnx/lower.h"
#include "neff/core/signature.h"
#include "runtime/ops/common/elementwise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct type of(int dtype)
{
    return type_tensor(dtype, 0, NULL);
}

static void check(const char *signature, int n, const struct type *in, const char *expected)
{
    struct signature s;
    struct diag d = {0};
    assert_true(signature_parse(signature, &s));
    assert_int_equal(signature_check(&s, in, n, &d), !*expected);
    assert_string_equal(d.text, expected);
}

#define TYPES(...)                                                                                 \
    (sizeof((struct type[]){__VA_ARGS__}) / sizeof(struct type)), (struct type[])                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void messages(void **state)
{
    struct type none = {.kind = VK_NONE}, sequence = type_container(VK_SEQUENCE, NULL);
    check("floats i64", TYPES(of(DT_BF16), of(DT_I64), of(DT_STR)), "");
    check("floats i64", TYPES(of(DT_I8)), "operand 0 is i8, expected floats");
    check("f32|i8|seq", TYPES(of(DT_I16)), "operand 0 is i16, expected f32|i8|seq");
    check("f32|i8|seq", TYPES(sequence), "");
    check("any", TYPES(sequence), "operand 0 is seq, expected any");
    check("T=floats index T", TYPES(of(DT_F32), of(DT_I32), of(DT_F16)),
          "operand 2 is f16, expected f32 as operand 0");
    check("T=floats U=bool T U", TYPES(of(DT_F32), none, none, of(DT_BOOL)), "");
    check("i64 T=ints...", TYPES(of(DT_I64), of(DT_U8), of(DT_U8), of(DT_I8)),
          "operand 3 is i8, expected u8 as operand 1");
    check("ints...", TYPES(of(DT_I64), of(DT_U8), of(DT_F32)), "operand 2 is f32, expected ints");
    check("", TYPES(of(DT_I64)), "");
}

static void not_signatures(void **state)
{
    static const char *const texts[] = {"flots", "T",    "T=",         "TU",
                                        "f32|",  "|f32", "f32... f32", "f32  f32"};
    struct signature s;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (signature_parse(texts[i], &s))
            fail_msg("'%s' was taken", texts[i]);
}

/* A set's text is the set, in few words. */
static void texts(void **state)
{
    static const char *const sets[] = {"any", "basic|f8e5m2", "index|u8", "numbers", "f32|f64|seq"};
    char buf[256];
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct signature s;
        assert_true(signature_parse(sets[i], &s));
        if (i != 2)
            assert_string_equal(type_set_text(s.operand[0].admits, buf, sizeof buf), sets[i]);
    }
}

static void schemas_have_signatures(void **state)
{
    struct signature s;
    for (int i = 0; i < nschemas; i++)
        if (!signature_parse(schemas[i].types, &s))
            fail_msg("%s: '%s' is not a signature", schemas[i].op, schemas[i].types);
        else if (schemas[i].max_in > 0 && s.n < schemas[i].max_in && !s.repeats)
            fail_msg("%s has up to %d inputs, its signature %d", schemas[i].op, schemas[i].max_in,
                     s.n);
}

static void core_operators_have_signatures(void **state)
{
    struct signature s;
    for (int i = 0; i < OP_COUNT; i++) {
        const struct op_info *info = &op_infos[i];
        if (!signature_parse(op_types((enum op)i), &s))
            fail_msg("%s: '%s' is not a signature", info->name, op_types((enum op)i));
        if (s.n && !s.repeats && info->max_in != s.n)
            fail_msg("%s has up to %d operands, its signature %d", info->name, info->max_in, s.n);
    }
}

/* An ONNX operator that is a core operator: what the standard admits, the core operator does. */
static void core_operators_admit_the_standard(void **state)
{
    char types[EW_TYPES], missing[256];
    int compared = 0;
    for (int i = 0; i < nschemas; i++) {
        const struct schema *schema = &schemas[i];
        struct onnx_lowering how = lowering_find(schema->domain, schema->op, *schema->domain ? 1 : 28);
        struct signature s, core;
        if (how.lower != lower_same ||
            lowering_find(schema->domain, schema->op, schema->since).lower != lower_same)
            continue;
        bool elementwise = ew_row(how.op) != NULL;
        assert_true(signature_parse(schema->types, &s));
        assert_true(
            signature_parse(elementwise ? ew_types(how.op, types) : op_types(how.op), &core));
        for (int k = 0; k < s.n && core.n; k++, compared++) {
            int at = elementwise ? 0 : k < core.n ? k : core.n - 1;
            type_set left = s.operand[k].admits & ~core.operand[at].admits;
            if (left && how.op != OP_identity)
                fail_msg("%s admits %s as input %d, %s does not", schema->op,
                         type_set_text(left, missing, sizeof missing), k, op_name(how.op));
        }
    }
    assert_true(compared > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages),
        cmocka_unit_test(not_signatures),
        cmocka_unit_test(texts),
        cmocka_unit_test(schemas_have_signatures),
        cmocka_unit_test(core_operators_have_signatures),
        cmocka_unit_test(core_operators_admit_the_standard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
