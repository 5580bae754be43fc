/* Compressed files: gzip with one member and with two, what libarchive reads, and damage. */
#include "frontend/hlo/syntax/decompress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <archive.h>
#include <archive_entry.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PLAIN = 300000 };

static uint8_t plain[PLAIN], packed[2 * PLAIN];

static void fill(void)
{
    for (int i = 0; i < PLAIN; i++)
        plain[i] = (uint8_t)(i * 7 + i / 1000);
}

static size_t gzip(uint8_t *to, size_t room, const uint8_t *from, size_t size)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)from,
                  .avail_in = (uInt)size,
                  .next_out = to,
                  .avail_out = (uInt)room};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

static void expect_plain(size_t size, size_t want)
{
    struct diag d = {0};
    uint8_t *out;
    size_t n;
    assert_true(is_compressed(packed, size));
    assert_true(decompress("f", packed, size, &out, &n, &d));
    assert_int_equal(n, want);
    assert_memory_equal(out, plain, n);
    free(out);
}

static void members(void **state)
{
    fill();
    size_t n = gzip(packed, sizeof packed, plain, PLAIN);
    expect_plain(n, PLAIN);
    n = gzip(packed, sizeof packed, plain, 1000);
    n += gzip(packed + n, sizeof packed - n, plain + 1000, PLAIN - 1000);
    expect_plain(n, PLAIN);
    memset(packed + n, 0, 512); /* padding */
    expect_plain(n + 512, PLAIN);
    expect_plain(gzip(packed, sizeof packed, plain, 0), 0);
}

static void other_formats(void **state)
{
    struct archive *a = archive_write_new();
    struct archive_entry *e = archive_entry_new();
    size_t used = 0;
    fill();
    assert_int_equal(archive_write_add_filter_bzip2(a), ARCHIVE_OK);
    assert_int_equal(archive_write_set_format_raw(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, packed, sizeof packed, &used), ARCHIVE_OK);
    archive_entry_set_filetype(e, AE_IFREG);
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, plain, PLAIN), PLAIN);
    archive_write_close(a);
    archive_write_free(a);
    archive_entry_free(e);
    expect_plain(used, PLAIN);
}

static void damage(void **state)
{
    struct diag d = {0};
    uint8_t *out;
    size_t n;
    fill();
    size_t size = gzip(packed, sizeof packed, plain, PLAIN);
    for (size_t k = 3; k < size; k += size / 50) {
        assert_false(decompress("f", packed, k, &out, &n, &d));
        assert_non_null(strstr(d.text, "f: cannot decompress: "));
    }
    packed[size / 2] ^= 0x55;
    assert_false(decompress("f", packed, size, &out, &n, &d));
    assert_false(is_compressed(plain, PLAIN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members),
        cmocka_unit_test(other_formats),
        cmocka_unit_test(damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
