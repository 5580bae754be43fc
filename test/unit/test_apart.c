/* Work in a process of its own: its value, what it wrote, and a crash. */
#include "runtime/io/apart.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int write_words(void *user, int fd)
{
    return write(fd, user, strlen(user)) < 0 ? 1 : 7;
}

static int write_much(void *user, int fd)
{
    static const char much[1 << 20];
    return write(fd, much, sizeof much) == sizeof much ? 3 : 1;
}

static int crash(void *user, int fd)
{
    return write(fd, "lost", 4) < 0 ? 1 : raise(SIGKILL);
}

static void gives_value_and_output(void **state)
{
    char out[8];
    size_t n;
    assert_int_equal(run_apart(write_words, "four", out, sizeof out, &n), 7);
    assert_int_equal(n, 4);
    assert_memory_equal(out, "four", 4);
    assert_int_equal(run_apart(write_words, "more than there is room", out, sizeof out, &n), 7);
    assert_int_equal(n, 8);
    assert_memory_equal(out, "more tha", 8);
    assert_int_equal(run_apart(write_much, NULL, out, sizeof out, &n), 3);
    assert_int_equal(n, 8);
}

static void tells_of_a_crash(void **state)
{
    char out[100];
    size_t n;
    assert_int_equal(run_apart(crash, NULL, out, sizeof out - 1, &n), -1);
    out[n] = 0;
    assert_string_equal(out, "crashed: Killed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gives_value_and_output),
                                       cmocka_unit_test(tells_of_a_crash)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
