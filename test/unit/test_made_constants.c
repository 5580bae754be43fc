/*
 * Constants with makers: the archive has the same bytes as that of a program that holds them,
 * whatever threads made which pieces; what fails leaves no file.
 */
#include "test/unit/neff_test.h"

#include <stdatomic.h>

enum { CONSTANTS = 40, HELD = 3 }; /* every third is held */

struct counting {
    struct constant_maker maker;
    int number, fails_at;
    size_t piece;
    atomic_int made, released;
};

static uint8_t byte_at(int number, size_t i)
{
    return (uint8_t)(number * 31 + i * 7 + (i >> 9));
}

static bool make(const struct constant_maker *m, int64_t piece, void *to)
{
    struct counting *c = (struct counting *)m;
    for (size_t i = 0; i < c->piece; i++)
        ((uint8_t *)to)[i] = byte_at(c->number, (size_t)piece * c->piece + i);
    assert_int_equal(c->released, 0);
    c->made++;
    return piece != c->fails_at;
}

static void release(const struct constant_maker *m)
{
    struct counting *c = (struct counting *)m;
    assert_int_equal(c->made, m->pieces);
    c->released++;
}

static const uint8_t held[1000] = {1, 2, 3};

/* Pieces of 1 byte and up to 300 KB, more than a megabyte in all. */
static struct program *sample(struct counting *c)
{
    struct program *p = parse_ok("program \"x\" target cpu\nregion 0 () -> () {\n}\n");
    for (int i = 0; i < CONSTANTS; i++) {
        c[i] = (struct counting){.maker = {1 + i % 7, make, release}, .number = i, .fails_at = -1};
        c[i].piece = i % 5 ? (size_t)(1 + i * 37) : 300000 + (size_t)i;
        int64_t n = i % HELD ? c[i].maker.pieces * (int64_t)c[i].piece : (int64_t)sizeof held;
        struct slot s = {.kind = SLOT_CONST, .base = -1, .type = type_tensor(DT_U8, 1, &n)};
        s.data = tensor_view(DT_U8, 1, &n, i % HELD ? NULL : (void *)held);
        s.maker = i % HELD ? &c[i].maker : NULL;
        program_add_slot(p, s);
    }
    return p;
}

static char path[64], path2[64];

static void same_bytes(void **state)
{
    struct diag d = {0};
    static struct counting c[CONSTANTS];
    struct mapped_file a, b;
    struct program *p = sample(c), *q = sample(c);
    free(text_of(p));
    assert_true(program_make_constants(q, &d) && neff_write(q, path2, &d));
    for (int i = 0; i < CONSTANTS; i++) {
        assert_int_equal(c[i].released, 0);
        c[i].made = 0;
    }
    assert_true(neff_write(p, path, &d));
    for (int i = 0; i < CONSTANTS; i++) {
        assert_int_equal(c[i].made, i % HELD ? c[i].maker.pieces : 0);
        assert_int_equal(c[i].released, i % HELD ? 1 : 0);
    }
    struct diag again = {0};
    assert_false(neff_write(p, path, &again) || program_make_constants(p, &again));
    assert_non_null(strstr(again.text, "the program has been written"));
    assert_true(neff_write(q, path2, &d)); /* which holds them */
    assert_true(file_map(&a, path, &d) && file_map(&b, path2, &d));
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    file_unmap(&a), file_unmap(&b);
    struct neff_file f;
    assert_true(neff_open(&f, path, &d) && neff_check_hash(&f, &d));
    struct program *r = neff_program(&f, false, &d);
    assert_non_null(r);
    for (int i = 0; i < CONSTANTS; i++)
        for (int64_t k = 0; k < tensor_count(&r->slots[i].data); k++)
            if (((const uint8_t *)r->slots[i].data.data)[k] !=
                (i % HELD ? byte_at(i, (size_t)k) : held[k]))
                fail_msg("constant %d, byte %d", i, (int)k);
    program_free(r);
    neff_close(&f);
    program_free(p), program_free(q);
    unlink(path), unlink(path2);
}

static void out_of_memory(void **state)
{
    static struct counting c[CONSTANTS];
    struct program *p = sample(c);
    struct diag d = {0}, e = {0};
    c[20].fails_at = 3;
    assert_false(neff_write(p, path, &d));
    assert_non_null(strstr(d.text, "out of memory"));
    assert_true(d.memory);
    assert_int_not_equal(access(path, F_OK), 0);
    program_free(p);
    p = sample(c);
    c[20].fails_at = 3;
    assert_false(program_make_constants(p, &e));
    assert_non_null(strstr(e.text, "out of memory"));
    assert_true(e.memory);
    program_free(p);
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/test_made_%ld.neff", (long)getpid());
    snprintf(path2, sizeof path2, "/tmp/test_made_%ld_again.neff", (long)getpid());
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bytes),
                                       cmocka_unit_test(out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
