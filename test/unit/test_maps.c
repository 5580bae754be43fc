/*
 * maps_move against a copy element by element: maps with holes, repeats, runs and axes that stay, of every size of
 * element.
 */
#include "test/unit/op_test.h"

#include "runtime/ops/common/maps.h"

#include <stdlib.h>

enum { STAYS, REPEATS, RUN, MIXED, HOLES, KINDS };

static uint32_t next(uint32_t *seed)
{
    return (*seed = *seed * 1664525 + 1013904223) >> 9;
}

/* An operand index, -1: none. */
static int64_t index_of(int kind, int64_t k, int64_t n, uint32_t *seed)
{
    switch (kind) {
    case STAYS:
        return k;
    case REPEATS:
        return k / 3 % n;
    case RUN: /* with borders */
        return k < 2 ? n - 1 : (k - 2) % n;
    case MIXED:
        return next(seed) % n;
    default:
        return next(seed) % 3 ? k % n : -1;
    }
}

static void check_element(const struct tensor *x, const struct tensor *z, const struct maps *m,
                          const unsigned char *value, int64_t element)
{
    size_t bytes = dtype_bytes(x->dtype);
    int64_t rest = element, from = 0;
    bool none = false;
    for (int i = z->rank - 1; i >= 0; rest /= z->dims[i--]) {
        int64_t offset = m->axis[i][rest % z->dims[i]];
        none |= offset < 0;
        from += offset;
    }
    const char *wanted = none ? (const char *)value : (const char *)x->data + (size_t)from * bytes;
    assert_memory_equal((const char *)z->data + (size_t)element * bytes, wanted, bytes);
}

static void check_maps(int dtype, int rank, uint32_t *seed)
{
    struct tensor x = {0}, z = {0};
    struct diag d = {0};
    struct maps m;
    unsigned char value[16] __attribute__((aligned(16)));
    int64_t from[MAX_RANK], to[MAX_RANK], stride = 1;
    int kind[MAX_RANK];
    memset(value, 0xa5, sizeof value);
    for (int i = 0; i < rank; i++) {
        kind[i] = (int)(next(seed) % KINDS);
        from[i] = 1 + next(seed) % 6;
        to[i] = kind[i] == STAYS ? from[i] : 1 + next(seed) % 9;
    }
    assert_true(tensor_alloc(&x, dtype, rank, from, &d) && tensor_alloc(&z, dtype, rank, to, &d));
    for (size_t i = 0; i < (size_t)tensor_count(&x) * dtype_bytes(dtype); i++)
        ((unsigned char *)x.data)[i] = (unsigned char)next(seed);
    assert_true(maps_init(&m, &z, &d));
    for (int i = rank - 1; i >= 0; stride *= from[i--])
        for (int64_t k = 0; k < to[i]; k++) {
            int64_t at = index_of(kind[i], k, from[i], seed);
            m.axis[i][k] = at < 0 ? -1 : at * stride;
        }
    maps_move(&z, &x, &m, value);
    for (int64_t i = 0; i < tensor_count(&z); i++)
        check_element(&x, &z, &m, value, i);
    free(m.block);
    tensor_free(&x), tensor_free(&z);
}

static void test_maps(void **state)
{
    static const int dtypes[] = {DT_U8, DT_F16, DT_F32, DT_I64, DT_C128};
    uint32_t seed = 1;
    for (int round = 0; round < 400; round++)
        for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
            check_maps(dtypes[t], round % 5, &seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_maps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
