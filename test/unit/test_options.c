/* Command lines by a table: every kind of option in every spelling, and one message for each
 * mistake. */
#include "neff/base/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#undef fail /* of cmocka */

struct settings {
    bool quiet;
    const char *name, *level, *files[4];
    int mode, count, nfiles;
    double limit;
};

static bool set_level(void *to, const char *value, struct diag *d)
{
    ((struct settings *)to)->level = value;
    return *value || fail(d, "-O takes a level, got ''");
}

static bool add_file(void *to, const char *word, struct diag *d)
{
    struct settings *s = to;
    s->files[s->nfiles++] = word;
    return true;
}

static bool goes(void *to, const struct option *o, struct diag *d)
{
    return !o->group || fail(d, "%s does not go", o->name);
}

static bool other(void *to, int argc, char **argv, int *i, bool *taken, struct diag *d)
{
    *taken = !strcmp(argv[*i], "--two-words");
    *i += *taken;
    return true;
}

#define AT(field) OPTION_AT(struct settings, field)
static const struct option rows[] = {
    {"-q", NULL, OPTION_SWITCH, AT(quiet), "quiet", NULL, 0},
    {"--name", "TEXT", OPTION_TEXT, AT(name), "a name\nof two lines", NULL, 0},
    {"--mode", "fast|slow|off", OPTION_CHOICE, AT(mode), NULL, NULL, 0},
    {"--count", "N", OPTION_COUNT, AT(count), NULL, NULL, 0},
    {"--limit", "R", OPTION_NUMBER, AT(limit), NULL, NULL, 0},
    {"-O", "0|1", OPTION_JOINED, 0, "level", set_level, 0},
    {"--why", "NODE", OPTION_MAYBE, 0, "reasons", set_level, 0},
    {"--never", NULL, OPTION_SWITCH, AT(quiet), NULL, NULL, 1},
};
static const struct option_table table = {.rows = rows,
                                          .count = sizeof rows / sizeof *rows,
                                          .file = add_file,
                                          .allowed = goes,
                                          .other = other};

/* The words of a line, separated by single blanks. */
static bool parse(const char *line, struct settings *s, struct diag *d)
{
    static char text[200];
    char *argv[20];
    int argc = 0;
    snprintf(text, sizeof text, "%s", line);
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
        argv[argc++] = w;
    *s = (struct settings){0};
    *d = (struct diag){0};
    return options_parse(&table, argc, argv, s, d);
}

static void reads(void **state)
{
    struct settings s;
    struct diag d;
    assert_true(parse("a -q --name x --mode=off --count 7 --limit=0.5 -O1 - -- -q", &s, &d));
    assert_true(s.quiet && s.mode == 2 && s.count == 7 && s.limit == 0.5 && s.nfiles == 3);
    assert_string_equal(s.name, "x");
    assert_string_equal(s.level, "1");
    assert_string_equal(s.files[0], "a");
    assert_string_equal(s.files[1], "-");
    assert_string_equal(s.files[2], "-q");
    assert_true(parse("--name=a=b --two-words second", &s, &d));
    assert_string_equal(s.name, "a=b");
    assert_int_equal(s.nfiles, 0);
}

static void refuses(void **state)
{
    static const char *const cases[][2] = {
        {"--nam x", "unknown option '--nam'; --help lists them"},
        {"--names x", "unknown option '--names'; --help lists them"},
        {"a --name", "--name needs a value: TEXT"},
        {"-q=1", "-q takes no value"},
        {"--mode fas", "--mode takes fast, slow or off, got 'fas'"},
        {"--mode fast|slow", "--mode takes fast, slow or off, got 'fast|slow'"},
        {"--count -1", "--count takes a whole number that is not negative, got '-1'"},
        {"--count 1.5", "--count takes a whole number that is not negative, got '1.5'"},
        {"--limit=nan", "--limit takes a number that is not negative, got 'nan'"},
        {"--limit=", "--limit takes a number that is not negative, got ''"},
        {"-O", "-O takes a level, got ''"},
        {"--never", "--never does not go"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct settings s;
        struct diag d;
        assert_false(parse(cases[i][0], &s, &d));
        assert_string_equal(d.text, cases[i][1]);
    }
}

/* Without a function for files: the row of the only one, or none. */
static void takes_one_file(void **state)
{
    static const struct option one[] = {OPTION_ONE_FILE(struct settings, name, "archive")};
    static const struct option_table with = {.rows = one, .count = 1};
    static const struct option_table without = {.rows = rows, .count = 1};
    char *words[] = {"a", "b"};
    struct settings s = {0};
    struct diag d = {0};
    assert_true(options_parse(&with, 1, words, &s, &d));
    assert_string_equal(s.name, "a");
    assert_false(options_parse(&with, 1, words + 1, &s, &d));
    assert_string_equal(d.text, "more than one archive: 'b'");
    d = (struct diag){0};
    assert_false(options_parse(&without, 1, words, &s, &d));
    assert_string_equal(d.text, "'a' is not expected");
}

static void helps(void **state)
{
    char text[1000] = "";
    FILE *f = tmpfile();
    options_help(f, &table);
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    assert_string_equal(text, "  -q                                        quiet\n"
                              "  --name TEXT                               a name\n"
                              "                                            of two lines\n"
                              "  -O0|1                                     level\n"
                              "  --why[=NODE]                              reasons\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads), cmocka_unit_test(refuses),
                                       cmocka_unit_test(takes_one_file), cmocka_unit_test(helps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
