/* JSON text read without a tree: every kind of value, and text that is cut or changed anywhere. And
 * text as it is written. */
#include "neff/base/json_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char sample[] =
    "{ \"text\": \"a\\\"\\\\\\n\\u00e9\\ud83d\\ude00\xc3\xa9\", \"skipped\" : {\"a\": [1, -2.5e3, "
    "{}, [], null], \"b\": \"]}\"},\n \"numbers\":[0,-1,9223372036854775807,-9223372036854775808], "
    "\"yes\": true, \"no\":false, \"a name that is longer than words are, and is taken to be "
    "empty, whatever it is\": 1, \"last\": [ ] }";

struct seen {
    char *text;
    int64_t number[8];
    int numbers, keys, empty_names;
    bool yes, no, last;
};

static bool read(const char *text, size_t size, struct seen *s, struct arena *a)
{
    struct json_reader r = json_reader(text, size);
    json_enter(&r, '{');
    for (const char *key; (key = json_read_key(&r)); s->keys++) {
        if (!strcmp(key, "text")) {
            s->text = json_read_text(&r, a);
        } else if (!strcmp(key, "numbers")) {
            json_enter(&r, '[');
            while (json_read_element(&r) && s->numbers < 8)
                s->number[s->numbers++] = json_read_integer(&r);
        } else if (!strcmp(key, "yes")) {
            s->yes = json_read_bool(&r);
        } else if (!strcmp(key, "no")) {
            s->no = !json_read_bool(&r);
        } else if (!strcmp(key, "last")) {
            json_enter(&r, '[');
            s->last = !json_read_element(&r);
        } else {
            s->empty_names += !*key;
            json_skip(&r);
        }
    }
    return json_done(&r);
}

static void test_values(void **state)
{
    struct arena a = {0};
    struct seen s = {0};
    assert_true(read(sample, sizeof sample - 1, &s, &a));
    assert_string_equal(s.text, "a\"\\\n\xc3\xa9\xf0\x9f\x98\x80\xc3\xa9");
    assert_int_equal(s.keys, 7);
    assert_int_equal(s.empty_names, 1);
    assert_int_equal(s.numbers, 4);
    assert_true(s.number[0] == 0 && s.number[1] == -1 && s.number[2] == INT64_MAX &&
                s.number[3] == INT64_MIN);
    assert_true(s.yes && s.no && s.last);
    arena_free(&a);
}

/* In memory of its own size, so that sanitizers see what is read past the end. */
static bool accepts(const char *text, size_t size)
{
    char *copy = malloc(size ? size : 1);
    struct arena a = {0};
    struct seen s = {0};
    memcpy(copy, text, size);
    bool ok = read(copy, size, &s, &a);
    struct json_reader r = json_reader(copy, size);
    json_skip(&r);
    assert_true(json_done(&r) || !ok);
    arena_free(&a);
    free(copy);
    return ok;
}

static void test_damage(void **state)
{
    for (size_t n = 0; n < sizeof sample - 1; n++)
        assert_false(accepts(sample, n));
    char text[sizeof sample];
    static const char others[] = "\"{}[]:,\\u0-.e\n\x01\xff\xc3";
    for (size_t at = 0; at < sizeof sample - 1; at++)
        for (size_t o = 0; o < sizeof others; o++) {
            memcpy(text, sample, sizeof text);
            text[at] = others[o];
            accepts(text, sizeof sample - 1);
        }
}

static void test_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "[]",
        "{} x",
        "{,}",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{\"a\":[1 2]}",
        "{\"a\":[1,]}",
        "{\"a\":[1}",
        "{\"a\":tru}",
        "{\"numbers\":[9223372036854775808]}",
        "{\"numbers\":[1.5]}",
        "{\"numbers\":[-]}",
        "{\"text\":1}",
        "{\"text\":\"\\ud800\"}",
        "{\"text\":\"\\ud800\\u0041\"}",
        "{\"text\":\"\\u0000\"}",
        "{\"text\":\"\\x\"}",
        "{\"text\":\"\n\"}",
        "{\"text\":\"\xc0\xaf\"}",
        "{\"text\":\"\xed\xa0\x80\"}",
        "{\"text\":\"\xf4\x90\x80\x80\"}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (accepts(wrong[i], strlen(wrong[i])))
            fail_msg("accepted: %s", wrong[i]);
    char deep[2 * JSON_DEPTH + 16] = "{\"a\":";
    size_t n = strlen(deep);
    memset(deep + n, '[', JSON_DEPTH), memset(deep + n + JSON_DEPTH, ']', JSON_DEPTH);
    deep[n + 2 * (size_t)JSON_DEPTH] = '}';
    assert_false(accepts(deep, n + 2 * (size_t)JSON_DEPTH + 1));
}

static const char written[] = "{\n \"text\": \"a\\\"\\\\\\n\\u0001/\xc3\xa9\",\n \"bad\": \"?(\",\n"
                              " \"numbers\": [\n  -9223372036854775808,\n  0.10000000000000001,\n"
                              "  2.0,\n  null,\n  true\n ],\n \"empty\": {},\n \"none\": []\n}";

static void test_written(void **state)
{
    struct arena a = {0};
    struct json_writer w = json_writer(&a);
    json_begin(&w, '{');
    json_put_text(&w, "text", "a\"\\\n\x01/\xc3\xa9");
    json_put_text(&w, "bad", "\xc3(");
    json_name(&w, "numbers");
    json_begin(&w, '[');
    json_integer(&w, INT64_MIN);
    json_real(&w, 0.1);
    json_real(&w, 2);
    json_real(&w, 1.0 / 0.0);
    json_bool(&w, true);
    json_end(&w, ']');
    json_name(&w, "empty");
    json_begin(&w, '{');
    json_end(&w, '}');
    json_name(&w, "none");
    json_begin(&w, '[');
    json_end(&w, ']');
    json_end(&w, '}');
    assert_int_equal(w.size, sizeof written - 1);
    assert_memory_equal(w.text, written, w.size);
    arena_free(&a);
}

/* What is copied is the text that would be written, whatever the blanks; what is no JSON is null.
 */
static void test_copied(void **state)
{
    struct arena a = {0};
    struct json_writer w = json_writer(&a);
    struct json_reader r = json_reader(written, sizeof written - 1);
    json_copy(&w, &r);
    assert_int_equal(w.size, sizeof written - 1);
    assert_memory_equal(w.text, written, w.size);
    w = json_writer(&a);
    json_begin(&w, '[');
    r = json_reader("{\"a\": [1, 2}", 12);
    json_copy(&w, &r);
    json_end(&w, ']');
    assert_int_equal(w.size, 9);
    assert_memory_equal(w.text, "[\n null\n]", 9);
    arena_free(&a);
}

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        double v;
        bool ok;
    } cases[] = {{"1e-3", 1e-3, true}, {" -2.5 ", -2.5, true}, {"7", 7, true},
                 {"1-2", 0, false},    {"x", 0, false},        {"", 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json_reader r = json_reader(cases[i].text, strlen(cases[i].text));
        assert_true(json_read_number(&r) == cases[i].v && !r.problem == cases[i].ok);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_damage),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_written),
        cmocka_unit_test(test_copied),  cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
