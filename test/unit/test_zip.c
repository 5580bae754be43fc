/* Zip files as libarchive writes them, stored and deflated, read back; damage is refused with a
 * message. */
#include "runtime/io/zip.h"

#include <archive.h>
#include <archive_entry.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 1 << 17, COUNT = 4 };
static const size_t sizes[COUNT] = {0, 1, 3000, 70000};

static uint8_t byte_of(int member, size_t i)
{
    return (uint8_t)(i % 7 * (size_t)member + i / 100);
}

static size_t make(uint8_t *to, const char *options)
{
    size_t used;
    uint8_t *bytes = malloc(70000);
    struct archive *a = archive_write_new();
    archive_write_set_format_zip(a);
    assert_int_equal(archive_write_set_options(a, options), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, to, ROOM, &used), ARCHIVE_OK);
    for (int m = 0; m < COUNT; m++) {
        char name[16];
        struct archive_entry *e = archive_entry_new();
        snprintf(name, sizeof name, "m%d.npy", m);
        archive_entry_set_pathname(e, name);
        archive_entry_set_size(e, (la_int64_t)sizes[m]);
        archive_entry_set_filetype(e, AE_IFREG);
        archive_entry_set_perm(e, 0644);
        assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
        for (size_t i = 0; i < sizes[m]; i++)
            bytes[i] = byte_of(m, i);
        assert_int_equal(archive_write_data(a, bytes, sizes[m]), sizes[m]);
        archive_entry_free(e);
    }
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    free(bytes);
    return used;
}

static void check(const uint8_t *data, size_t size)
{
    struct diag d = {0};
    struct zip_reader z;
    struct zip_member m;
    assert_true(zip_open(&z, data, size, &d));
    for (int k = 0; k < COUNT; k++) {
        assert_true(zip_next(&z, &m, &d));
        assert_int_equal(m.name_size, 6);
        assert_true(m.name[1] == '0' + k);
        assert_int_equal(m.size, sizes[k]);
        uint8_t *bytes = zip_extract(&m, &d);
        assert_non_null(bytes);
        for (size_t i = 0; i < sizes[k]; i++)
            assert_int_equal(bytes[i], byte_of(k, i));
        free(bytes);
    }
    assert_false(zip_next(&z, &m, &d));
    assert_false(diag_failed(&d));
}

static void reads_all(void **state)
{
    static const char *const options[] = {"compression=store", "compression=deflate",
                                          "compression=deflate,zip64"};
    uint8_t *data = malloc(ROOM);
    for (int i = 0; i < 3; i++) {
        size_t size = make(data, options[i]);
        check(data, size);
        memcpy(data + size, "comment", 7); /* behind the last record */
        data[size - 2] = 7;
        check(data, size + 7);
    }
    free(data);
}

/* All members; false with a message where something is wrong. */
static bool read_through(const uint8_t *data, size_t size, struct diag *d)
{
    struct zip_reader z;
    struct zip_member m;
    if (!zip_open(&z, data, size, d))
        return false;
    while (zip_next(&z, &m, d)) {
        assert_true(m.data >= data && m.stored <= size && m.data + m.stored <= data + size);
        free(zip_extract(&m, d));
    }
    return !diag_failed(d);
}

static void refuses(void **state)
{
    uint8_t *data = malloc(ROOM), *copy = malloc(ROOM);
    size_t size = make(data, "compression=deflate");
    struct diag d = {0};
    assert_false(read_through(data, size - 1, &d));
    assert_non_null(strstr(d.text, "not a zip, or cut off"));
    for (size_t at = 0; at < size; at++) {
        diag_clear(&d);
        memcpy(copy, data, size);
        copy[at] ^= 0x55;
        read_through(copy, size, &d); /* times, names and some flags may be anything */
    }
    /* a changed byte of what is stored never passes */
    diag_clear(&d);
    memcpy(copy, data, size);
    struct zip_reader z;
    struct zip_member m;
    assert_true(zip_open(&z, copy, size, &d) && zip_next(&z, &m, &d) && zip_next(&z, &m, &d));
    copy[m.data - copy] ^= 4;
    assert_false(read_through(copy, size, &d));
    free(data);
    free(copy);
}

/* Row k of the list of members. */
static uint8_t *row(uint8_t *data, size_t size, int k)
{
    for (size_t at = 0; at + 46 < size; at++)
        if (!memcmp(data + at, "PK\1\2", 4) && k-- == 0)
            return data + at;
    return NULL;
}

static void refuses_bombs(void **state)
{
    uint8_t *data = malloc(ROOM);
    size_t size = make(data, "compression=store");
    struct diag d = {0};
    for (int k = 1; k < 3; k++) { /* the last member's bytes three times */
        memcpy(row(data, size, k) + 16, row(data, size, 3) + 16, 12);
        memcpy(row(data, size, k) + 42, row(data, size, 3) + 42, 4);
    }
    assert_false(read_through(data, size, &d));
    assert_non_null(strstr(d.text, "members overlap"));
    diag_clear(&d);
    size = make(data, "compression=deflate");
    memcpy(row(data, size, 3) + 24, "\xff\xff\xff\x7f", 4);
    struct zip_reader z;
    struct zip_member m;
    bool ok = zip_open(&z, data, size, &d);
    while (ok && zip_next(&z, &m, &d))
        ;
    assert_non_null(strstr(d.text, "more than 1 GiB"));
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_all), cmocka_unit_test(refuses),
                                       cmocka_unit_test(refuses_bombs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
