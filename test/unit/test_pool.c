/* Worker threads: every worker of a job runs once, whatever runs beside them, and threads end up
 * allowed the CPUs they began with. Their stacks do not follow what the process gives its threads. */
#define _GNU_SOURCE
#include "runtime/exec/exec.h"
#include "runtime/exec/pool.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WORKERS = 5, JOBS = 3000 };

static atomic_int ran[WORKERS], narrowed;
static cpu_set_t allowed;

static void job(void *arg, int worker)
{
    cpu_set_t now;
    atomic_fetch_add(&ran[worker], 1);
    if (!pthread_getaffinity_np(pthread_self(), sizeof now, &now) && !CPU_EQUAL(&now, &allowed))
        atomic_fetch_add(&narrowed, 1);
}

static void test_workers(void **state)
{
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed), 0);
    struct pool *p = pool_new(WORKERS);
    assert_non_null(p);
    int want[WORKERS] = {0};
    for (int i = 0; i < JOBS; i++) {
        int workers = 1 + i % WORKERS;
        for (int l = 0; l < workers; l++)
            want[l]++;
        pool_run(p, workers, job, NULL);
        for (int l = 0; l < WORKERS; l++)
            assert_int_equal(atomic_load(&ran[l]), want[l]);
    }
    pool_free(p);
    assert_int_equal(atomic_load(&narrowed), 0);
}

/* On one CPU the workers cannot move away, and still finish. */
static void test_one_cpu(void **state)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &allowed))
            CPU_SET(i, &one);
    cpu_set_t before = allowed;
    assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof one, &one), 0);
    allowed = one;
    struct pool *p = pool_new(3);
    assert_non_null(p);
    int had = atomic_load(&ran[2]);
    for (int i = 0; i < 50; i++)
        pool_run(p, 3, job, NULL);
    pool_free(p);
    assert_int_equal(atomic_load(&ran[2]), had + 50);
    assert_int_equal(atomic_load(&narrowed), 0);
    pthread_setaffinity_np(pthread_self(), sizeof before, &before);
}

static void measure_stack(void *arg, int worker)
{
    size_t *bytes = arg;
    pthread_attr_t a;
    if (worker != 1 || pthread_getattr_np(pthread_self(), &a))
        return;
    pthread_attr_getstacksize(&a, bytes);
    pthread_attr_destroy(&a);
}

static void test_stack(void **state)
{
    (void)state;
    pthread_attr_t before, small;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_attr_init(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, 128 << 10), 0);
    assert_int_equal(pthread_setattr_default_np(&small), 0);
    size_t bytes = 0;
    struct pool *p = pool_new(2);
    assert_non_null(p);
    pool_run(p, 2, measure_stack, &bytes);
    pool_free(p);
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    assert_true(bytes >= 512 << 10);
    pthread_attr_destroy(&small);
    pthread_attr_destroy(&before);
}

static void test_quota(void **state)
{
    (void)state;
    assert_int_equal(quota_cores("max 100000\n"), 0);
    assert_int_equal(quota_cores("150000 100000\n"), 2);
    assert_int_equal(quota_cores("100000 100000\n"), 1);
    assert_int_equal(quota_cores("5000 100000\n"), 1);
    assert_int_equal(quota_cores("50000"), 1);
    assert_int_equal(quota_cores("100000 0\n"), 0);
    assert_int_equal(quota_cores("-1 100000\n"), 0);
    assert_int_equal(quota_cores(""), 0);
    assert_true(physical_cores() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_workers), cmocka_unit_test(test_quota),
                                       cmocka_unit_test(test_stack),
                                       cmocka_unit_test(test_one_cpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
