/* Protocol-buffer fields read from bytes, and why bytes are not a message. */
#include "frontend/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void fields(void **state)
{
    static const uint8_t message[] = {0x08, 0x96, 0x01, 0x11, 1,   2,    3,    4,    5,    6, 7,
                                      8,    0x1a, 0x02, 'h',  'i', 0x25, 0xff, 0x00, 0x00, 0};
    struct wire w = {.p = message, .end = message + sizeof message};
    struct wire_field f;
    assert_true(wire_next(&w, &f) && f.number == 1 && f.type == WIRE_VARINT && f.value == 150);
    assert_true(wire_next(&w, &f) && f.number == 2 && f.type == WIRE_FIXED64);
    assert_true(f.value == UINT64_C(0x0807060504030201) && f.start == message + 3);
    assert_true(wire_next(&w, &f) && f.number == 3 && f.type == WIRE_BYTES && f.size == 2);
    assert_memory_equal(f.data, "hi", 2);
    assert_true(wire_next(&w, &f) && f.number == 4 && f.type == WIRE_FIXED32 && f.value == 255);
    assert_false(wire_next(&w, &f));
    assert_null(w.bad);
}

static void damage(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *why;
    } cases[] = {
        {"\x08", 1, "cut off"},
        {"\x88", 1, "cut off"},
        {"\x0a\xff", 2, "cut off"},
        {"\x0a\x05" "xy", 4, "cut off: a field reaches past the end of the data"},
        {"\x09\x01\x02", 3, "cut off: a field reaches past the end of the data"},
        {"\x0d\x01\x02\x03", 4, "cut off: a field reaches past the end of the data"},
        {"\x02\x00", 2, "a field without a number that fields have"},
        {"\xfa\xff\xff\xff\x7f\x00", 6, "a field without a number that fields have"},
        {"\x0b", 1, "a field of a wire type that is not used"},
        {"\x0e\x00", 2, "a field of a wire type that is not used"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12,
         "cut off"}, /* longer than numbers are */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t *p = (const uint8_t *)cases[i].bytes;
        struct wire w = {.p = p, .end = p + cases[i].n};
        struct wire_field f;
        assert_false(wire_next(&w, &f));
        assert_non_null(w.bad);
        assert_string_equal(w.bad, cases[i].why);
        assert_ptr_equal(f.start, p);
        assert_false(wire_next(&w, &f)); /* and stays so */
    }
}

/* Of a file that is cut off, what is there can be looked at. */
static void clipped(void **state)
{
    static const uint8_t message[] = {0x0a, 0x40, 'a', 'b'};
    struct wire w = {.p = message, .end = message + sizeof message, .clip = true};
    struct wire_field f;
    assert_true(wire_next(&w, &f) && f.size == 2 && f.data == message + 2);
    assert_false(wire_next(&w, &f));
    assert_null(w.bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields),
        cmocka_unit_test(damage),
        cmocka_unit_test(clipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
