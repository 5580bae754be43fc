/*
 * Strings: what RE2 has not is refused, case mapping does not depend on the locale, white space is
 * Unicode's.
 */
#include "test/unit/op_test.h"

static void strings_in(struct op_test *t, const char *const *v, int64_t n)
{
    struct str s[16];
    for (int64_t i = 0; i < n; i++)
        s[i] = (struct str){v[i], strlen(v[i])};
    assert_true(tensor_set_strings(&t->in[t->nin++], 1, &n, s, &t->d));
}

static bool matches(const char *pattern, const char *text, bool *result)
{
    struct op_test t = {0};
    op_test_clear(&t);
    attr_set_str(&t.arena, &t.attrs, "pattern", pattern);
    strings_in(&t, &text, 1);
    bool ok = op_test_run(&t, OP_regex_full_match, 1);
    *result = ok && *(uint8_t *)t.out[0].data;
    op_test_clear(&t);
    return ok;
}

static void patterns(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool result;
    } cases[] = {
        {"a|ab", "ab", true},
        {"[a-z]+", "abc1", false},
        {"(?i)straße", "STRAßE", true},
        {"\\d{2,3}", "1234", false},
        {"[]a]+", "a]a", true},
        {"(?P<n>x)*", "xxx", true},
        {"a.c", "a\nc", false},
        {"(?s)a.c", "a\nc", true},
        {"[[:alpha:]]\\pL", "éé", false},
        {"\\Qa+b\\E", "a+b", true},
        {"x*?", "xxxx", true},
        {"[^]]*", "abc", true},
        {"", "", true},
        {"a$", "a\n", false},
    };
    bool result;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!matches(cases[i].pattern, cases[i].text, &result) || result != cases[i].result)
            fail_msg("%s on %s", cases[i].pattern, cases[i].text);
}

static void refused_patterns(void **state)
{
    static const char *const refused[] = {"(a)\\1", "(?=a)a", "(?!a)b", "(?<=a)b", "(?>a)",
                                          "a*+",    "a{2}+",  "(?R)",   "(*FAIL)", "\\Ka",
                                          "\\h",    "(",      "[a",     "a\\"};
    bool result;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (matches(refused[i], "a", &result))
            fail_msg("%s is accepted", refused[i]);
}

static void check_strings(const struct tensor *t, const char *const *expected, int64_t n)
{
    assert_int_equal(tensor_count(t), n);
    for (int64_t i = 0; i < n; i++) {
        struct str s = ((const struct str *)t->data)[i];
        assert_int_equal(s.n, strlen(expected[i]));
        assert_memory_equal(s.p, expected[i], s.n);
    }
}

static void case_mapping(void **state)
{
    struct op_test t = {0};
    op_test_clear(&t);
    struct str stop = {"ÉTÉ", strlen("ÉTÉ")};
    attr_set_str(&t.arena, &t.attrs, "case_change_action", "UPPER");
    attr_set_strs(&t.arena, &t.attrs, "stopwords", &stop, 1);
    strings_in(&t, (const char *const[]){"été", "žluťoučký", "i", "ñ"}, 4);
    assert_true(op_test_run(&t, OP_string_normalize, 1));
    check_strings(&t.out[0], (const char *const[]){"ŽLUŤOUČKÝ", "I", "Ñ"}, 3);
    op_test_clear(&t);
}

static void split(void **state)
{
    struct op_test t = {0};
    op_test_clear(&t);
    strings_in(&t, (const char *const[]){" a\u3000b ", ""}, 2);
    assert_true(op_test_run(&t, OP_string_split, 2));
    check_strings(&t.out[0], (const char *const[]){"a", "b", "", ""}, 4);
    assert_int_equal(tensor_i64(&t.out[1], 0), 2);
    assert_int_equal(tensor_i64(&t.out[1], 1), 0);
    op_test_clear(&t);
    attr_set_str(&t.arena, &t.attrs, "delimiter", ",");
    attr_set_int(&t.arena, &t.attrs, "maxsplit", 1);
    strings_in(&t, (const char *const[]){",a,b", ""}, 2);
    assert_true(op_test_run(&t, OP_string_split, 2));
    check_strings(&t.out[0], (const char *const[]){"", "a,b", "", ""}, 4);
    assert_int_equal(tensor_i64(&t.out[1], 1), 1);
    op_test_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),
        cmocka_unit_test(refused_patterns),
        cmocka_unit_test(case_mapping),
        cmocka_unit_test(split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
