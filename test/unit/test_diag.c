/*
 * Diagnostics: the first failure is kept with what it is, whatever is put in front of its text.
 */
#include "neff/base/diag.h"
#include "test/unit/neff_test.h"

#undef fail /* of cmocka; here it is the function */

static void first_failure(void **state)
{
    struct diag d = {0};
    assert_false(fail(&d, "node 'out of memory' has rank %d", 4));
    assert_false(d.memory || d.internal);
    assert_false(fail_memory(&d, "out of memory") || fail_internal(&d, "later"));
    assert_false(d.memory || d.internal);
    assert_string_equal(d.text, "node 'out of memory' has rank 4");
    diag_clear(&d);
    assert_false(diag_failed(&d));
    assert_false(fail_memory(&d, "out of memory: %d bytes", 8) || fail(&d, "later"));
    assert_true(d.memory);
    assert_string_equal(d.text, "out of memory: 8 bytes");
    diag_clear(&d);
    assert_false(d.memory);
}

static void long_names(void **state)
{
    struct diag d = {0};
    char name[2 * sizeof d.text];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    fail_memory(&d, "out of memory");
    assert_false(fail_in(&d, "node '%s'", name));
    assert_int_equal(strlen(d.text), sizeof d.text - 1);
    assert_true(d.memory); /* though the text is cut */
}

/* A list keeps its lines below whatever is put in front; what names have in them adds none. */
static void lines_of_a_list(void **state)
{
    struct diag d = {0};
    assert_false(fail_lines(&d, (const char *[]){"Saftmax: '/a'", "Oops: 'b\nxcc: all is well'"}, 2, "%d nodes:", 2));
    assert_false(fail_in(&d, "file '%s'", "a\nb"));
    assert_false(fail_lines(&d, (const char *[]){"later"}, 1, "later:"));
    assert_string_equal(d.text, "file 'a\\nb': 2 nodes:\n  Saftmax: '/a'\n  Oops: 'b\\nxcc: all is well'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_failure),
        cmocka_unit_test(long_names),
        cmocka_unit_test(lines_of_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
