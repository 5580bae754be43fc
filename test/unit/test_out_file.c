/* Output files: several processes that write one. */
#include "neff/base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PROCESSES = 4, TIMES = 1500 };

static int write_often(const char *path)
{
    for (int i = 0; i < TIMES; i++) {
        struct diag d = {0};
        if (!file_write_all(path, "whole", 5, &d))
            return fprintf(stderr, "turn %d: %s\n", i, d.text), 1;
    }
    return 0;
}

/* None fails, takes another's temporary file for one that was left, or leaves one. */
static void several_writers(void **state)
{
    char folder[64], path[80], read[8] = "";
    const char *memory = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm"; /* no disk to wait for */
    snprintf(folder, sizeof folder, "%s/test_out_XXXXXX", memory);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out", folder);
    for (int i = 0; i < PROCESSES; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child)
            _exit(write_often(path));
    }
    int status, failures = 0;
    while (wait(&status) > 0)
        failures += status != 0;
    assert_int_equal(failures, 0);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(read, 1, sizeof read, f), 5);
    assert_memory_equal(read, "whole", 5);
    fclose(f);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(several_writers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
