/* Our ustar archives and those of others: libarchive reads what we write, we read what it writes,
 * and damage is refused. */
#include "neff/archive/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *name;
    size_t size;
} members[] = {
    {"neff.json", 0}, {"sg00/def.json", 1}, {"sg00/pe.bin", 511}, {"a", 512}, {"b", 1300}};
enum { COUNT = sizeof members / sizeof *members, ROOM = 16 * TAR_BLOCK };

static uint8_t byte_of(int member, size_t i)
{
    return (uint8_t)(member * 31 + (int)i);
}

static size_t ours(uint8_t *to)
{
    uint8_t *start = to;
    memset(to, 0, ROOM);
    for (int m = 0; m < COUNT; m++) {
        tar_header(to, members[m].name, members[m].size);
        to += TAR_BLOCK;
        for (size_t i = 0; i < members[m].size; i++)
            *to++ = byte_of(m, i);
        to += tar_padding(members[m].size);
    }
    return (size_t)(to - start) + TAR_END;
}

static void libarchive_reads_ours(void **state)
{
    uint8_t data[ROOM], bytes[2048];
    size_t size = ours(data);
    struct archive *a = archive_read_new();
    struct archive_entry *e;
    archive_read_support_format_tar(a);
    assert_int_equal(archive_read_open_memory(a, data, size), ARCHIVE_OK);
    for (int m = 0; m < COUNT; m++) {
        assert_int_equal(archive_read_next_header(a, &e), ARCHIVE_OK);
        assert_string_equal(archive_entry_pathname(e), members[m].name);
        assert_int_equal(archive_entry_size(e), members[m].size);
        assert_int_equal(archive_entry_perm(e), 0644);
        assert_int_equal(archive_entry_mtime(e), 0);
        assert_int_equal(archive_read_data(a, bytes, sizeof bytes), members[m].size);
        for (size_t i = 0; i < members[m].size; i++)
            assert_int_equal(bytes[i], byte_of(m, i));
    }
    assert_int_equal(archive_read_next_header(a, &e), ARCHIVE_EOF);
    archive_read_free(a);
}

static size_t libarchives(uint8_t *to, int (*format)(struct archive *), mode_t type)
{
    size_t used;
    struct archive *a = archive_write_new();
    format(a);
    archive_write_set_bytes_per_block(a, 0);
    assert_int_equal(archive_write_open_memory(a, to, ROOM, &used), ARCHIVE_OK);
    for (int m = 0; m < COUNT; m++) {
        uint8_t bytes[2048];
        struct archive_entry *e = archive_entry_new();
        archive_entry_set_pathname(e, members[m].name);
        archive_entry_set_size(e, type == AE_IFREG ? (la_int64_t)members[m].size : 0);
        archive_entry_set_filetype(e, type);
        archive_entry_set_perm(e, 0644);
        archive_entry_set_mtime(e, 0, 0);
        assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
        for (size_t i = 0; i < members[m].size; i++)
            bytes[i] = byte_of(m, i);
        if (type == AE_IFREG)
            archive_write_data(a, bytes, members[m].size);
        archive_entry_free(e);
    }
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    return used;
}

static void check_members(const uint8_t *data, size_t size)
{
    struct diag d = {0};
    struct tar_reader t = {data, size, 0};
    struct tar_member got;
    for (int m = 0; m < COUNT; m++) {
        assert_true(tar_next(&t, &got, &d));
        assert_string_equal(got.name, members[m].name);
        assert_int_equal(got.size, members[m].size);
        for (size_t i = 0; i < got.size; i++)
            assert_int_equal(got.data[i], byte_of(m, i));
    }
    assert_false(tar_next(&t, &got, &d));
    assert_false(diag_failed(&d));
}

static void reads_all(void **state)
{
    uint8_t data[ROOM], theirs[ROOM];
    size_t size = ours(data);
    check_members(data, size);
    check_members(data, size - TAR_END); /* the end of the data is an end */
    assert_int_equal(libarchives(theirs, archive_write_set_format_ustar, AE_IFREG), size);
    assert_memory_equal(theirs, data, size); /* and we write what it writes */
    check_members(theirs, libarchives(theirs, archive_write_set_format_gnutar, AE_IFREG));
}

static void fails(const uint8_t *data, size_t size, const char *text)
{
    struct diag d = {0};
    struct tar_reader t = {data, size, 0};
    struct tar_member m;
    while (tar_next(&t, &m, &d))
        ;
    if (!strstr(d.text, text))
        fail_msg("message '%s', expected '%s'", d.text, text);
}

static void refuses(void **state)
{
    uint8_t data[ROOM];
    size_t size = ours(data);
    fails(data, TAR_BLOCK + 7, "after the last block");
    fails(data, 2 * TAR_BLOCK, "member 'sg00/def.json' is truncated: 1 bytes, 0 are left");
    data[TAR_BLOCK + 3] ^= 1;
    fails(data, size, "wrong checksum");
    memset(data + TAR_BLOCK + 257, 0, 8);
    fails(data, size, "no member starts at byte 512");
    size = libarchives(data, archive_write_set_format_ustar, AE_IFDIR);
    fails(data, size, "bad member 'neff.json/'");
    tar_header(data, "", 0);
    fails(data, TAR_BLOCK, "bad member ''");
    tar_header(data, "large", UINT64_MAX >> 1);
    fails(data, TAR_BLOCK, "member 'large' is truncated: 9223372036854775807 bytes");
}

/* Whatever stands there: a message or members inside the data. */
static void survives(void **state)
{
    for (size_t at = 0; at < 5 * TAR_BLOCK; at++)
        for (int v = 0; v < 256; v += 51) {
            uint8_t data[ROOM];
            size_t size = ours(data);
            struct diag d = {0};
            struct tar_reader t = {data, size, 0};
            struct tar_member m;
            data[at] ^= (uint8_t)v;
            while (tar_next(&t, &m, &d))
                assert_true(m.data >= data && m.data + m.size <= data + size);
        }
}

static void large_sizes(void **state)
{
    static const uint64_t sizes[] = {UINT64_C(1) << 33, (UINT64_C(1) << 33) - 1, UINT64_C(3) << 40};
    for (int i = 0; i < 3; i++) {
        uint8_t data[TAR_BLOCK];
        struct archive *a = archive_read_new();
        struct archive_entry *e;
        tar_header(data, "weights.bin", sizes[i]);
        archive_read_support_format_tar(a);
        assert_int_equal(archive_read_open_memory(a, data, sizeof data), ARCHIVE_OK);
        assert_int_equal(archive_read_next_header(a, &e), ARCHIVE_OK);
        assert_int_equal(archive_entry_size(e), sizes[i]);
        archive_read_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libarchive_reads_ours),
        cmocka_unit_test(reads_all),
        cmocka_unit_test(refuses),
        cmocka_unit_test(survives),
        cmocka_unit_test(large_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
