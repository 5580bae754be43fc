/*
 * HLO reader and printer from the command line, for tests and for looking into files.
 *
 *     hlo_tool print FILE...          canonical text
 *     hlo_tool check FILE...          read, print, read again, print: must be the same; one line per file
 *     hlo_tool verify FILE...         must be read and verified
 *     hlo_tool refuse FILE...         must be refused; prints the messages
 *     hlo_tool same FILE FILE         two files must hold the same graphs (text and proto of one module)
 *     hlo_tool same-in FOLDER...      the same for module.hlo and module.pb of each folder
 *     hlo_tool fragments FILE.tsv     attribute and shape fragments: name, ok or fail, text
 *     hlo_tool mutate SEED N FILE...  N damaged variants of each file; only a crash is a failure
 */
#include "neff/base/file.h"
#include "neff/base/clock.h"
#include "test/print/hlo_print.h"

#include <stdlib.h>
#include <string.h>

static void quiet(void *user, const char *text)
{
    (void)user;
    (void)text;
}

static char *text_of(const struct hlo_file *f, int what, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    for (int k = 0; k < f->count; k++)
        hlo_print(out, f->modules[k], what);
    fclose(out);
    return text;
}

static bool print(const char *path)
{
    struct hlo_file f;
    struct diag d = {0};
    if (!hlo_load(&f, path, &d)) {
        fprintf(stderr, "%s\n", d.text);
        return false;
    }
    for (int k = 0; k < f.count; k++)
        hlo_print(stdout, f.modules[k], HLO_PRINT_ALL);
    hlo_free(&f);
    return true;
}

/* Says where two texts part. */
static void differ(const char *path, const char *a, const char *b)
{
    int line = 1;
    const char *start = a, *other = b;
    while (*a && *a == *b) {
        if (*a == '\n') {
            line++;
            start = a + 1;
            other = b + 1;
        }
        a++;
        b++;
    }
    printf("FAIL %s: line %d:\n  %.*s\n  %.*s\n", path, line, (int)strcspn(start, "\n"), start,
           (int)strcspn(other, "\n"), other);
}

static bool check(const char *path)
{
    struct hlo_file f, g;
    struct diag d = {.warn = quiet};
    double start = seconds_now();
    if (!hlo_load(&f, path, &d)) {
        printf("FAIL %s\n", d.text);
        return false;
    }
    double seconds = seconds_now() - start;
    size_t first_size, second_size;
    char *first = text_of(&f, HLO_PRINT_ALL, &first_size), *second = NULL;
    bool ok = hlo_read(&g, "printed text", first, first_size, &d);
    if (!ok) {
        printf("FAIL %s: %s\n", path, d.text);
    } else {
        second = text_of(&g, HLO_PRINT_ALL, &second_size);
        ok = first_size == second_size && !memcmp(first, second, first_size);
        if (!ok)
            differ(path, first, second);
        hlo_free(&g);
    }
    int instructions = 0;
    for (int k = 0; k < f.count; k++)
        for (int j = 0; j < f.modules[k]->count; j++)
            instructions += f.modules[k]->computations[j]->count;
    if (ok)
        printf("ok %s: %d instructions, %zu bytes, %.3f s\n", path, instructions, f.arena.used,
               seconds);
    free(first);
    free(second);
    hlo_free(&f);
    return ok;
}

/* Whether it can be read and makes sense. */
static bool accept(const char *path, struct diag *d)
{
    struct hlo_file f;
    bool ok = hlo_load(&f, path, d);
    for (int k = 0; ok && k < f.count; k++)
        ok = hlo_verify(f.modules[k], d);
    hlo_free(&f);
    return ok;
}

static bool refuse(const char *path)
{
    struct diag d = {.warn = quiet};
    bool accepted = accept(path, &d);
    if (accepted)
        printf("FAIL %s is accepted\n", path);
    else
        printf("%s\n", d.text);
    return !accepted;
}

static bool verify(const char *path)
{
    struct diag d = {.warn = quiet};
    bool ok = accept(path, &d);
    printf("%s %s%s%s\n", ok ? "ok" : "FAIL", path, ok ? "" : ": ", d.text);
    return ok;
}

/* XLA's text reader, and so what it writes as a proto, loses the sign of "-0". */
static size_t drop_zero_signs(char *s)
{
    char *o = s, *start = s;
    for (; *s; s++)
        if (!(*s == '-' && s > start && strchr(" ({,", s[-1]) && s[1] == '0' && s[2] &&
              strchr(",) }", s[2])))
            *o++ = *s;
    *o = 0;
    return (size_t)(o - start);
}

static bool same(const char *a, const char *b)
{
    struct hlo_file f, g;
    struct diag d = {.warn = quiet};
    if (!hlo_load(&f, a, &d)) {
        printf("FAIL %s\n", d.text);
        return false;
    }
    if (!hlo_load(&g, b, &d)) {
        printf("FAIL %s\n", d.text);
        hlo_free(&f);
        return false;
    }
    size_t n, m;
    char *first = text_of(&f, 0, &n), *second = text_of(&g, 0, &m);
    n = drop_zero_signs(first);
    m = drop_zero_signs(second);
    bool ok = n == m && !memcmp(first, second, n);
    if (!ok)
        differ(b, first, second);
    free(first);
    free(second);
    hlo_free(&f);
    hlo_free(&g);
    return ok;
}

/* module.hlo and module.pb of a folder. Nested operands of syn_nested_* have no names in the text.
 */
static bool same_in(const char *folder)
{
    char text[4096], proto[4096];
    snprintf(text, sizeof text, "%s/module.hlo", folder);
    snprintf(proto, sizeof proto, "%s/module.pb", folder);
    FILE *f = fopen(proto, "rb");
    if (!f) {
        printf("no %s\n", proto);
        return true;
    }
    fclose(f);
    if (strstr(folder, "syn_nested_ambiguous"))
        return check(text) && check(proto);
    bool ok = same(text, proto);
    if (ok)
        printf("ok %s\n", folder);
    return ok;
}

/* A module around a fragment; what it is follows from how it starts. */
static char *wrap_fragment(const char *name, const char *text)
{
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);
    if (strstr(name, "Shape") || strstr(name, "Dynamic") || strstr(name, "Buffer"))
        fprintf(f, "HloModule m\nENTRY e {\n  ROOT p = %s parameter(0)\n}\n", text);
    else if (strstr(name, "FrontendAttributes"))
        fprintf(
            f, "HloModule m\nENTRY e {\n  ROOT p = f32[] parameter(0), frontend_attributes=%s\n}\n",
            text);
    else if (strstr(name, "Sharding") || strstr(name, "ShardAs") || strstr(name, "ShardLike"))
        fprintf(f, "HloModule m\nENTRY e {\n  ROOT p = f32[] parameter(0), sharding=%s\n}\n", text);
    else if (strstr(name, "Group") || strstr(name, "DeviceList"))
        fprintf(f,
                "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n"
                "  ROOT g = f32[8] all-gather(p), dimensions={0}, replica_groups=%s\n}\n",
                text);
    else if (strstr(name, "Padding"))
        fprintf(f,
                "HloModule m\nENTRY e {\n  p = f32[4,4] parameter(0)\n  z = f32[] constant(0)\n"
                "  ROOT g = pad(p, z), padding=%s\n}\n",
                text);
    else
        fprintf(f,
                "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n"
                "  ROOT g = f32[8] custom-call(p), custom_call_target=\"t\", dim_labels=%s\n}\n",
                text);
    fclose(f);
    return out;
}

static bool fragments(const char *path)
{
    struct mapped_file file;
    struct diag d = {0};
    if (!file_map(&file, path, &d)) {
        fprintf(stderr, "%s\n", d.text);
        return false;
    }
    char *all = strndup((const char *)file.data, file.size);
    int count = 0, bad = 0;
    for (char *line = all, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        char *expect = strchr(line, '\t'), *text = expect ? strchr(expect + 1, '\t') : NULL;
        if (*line == '#' || !text)
            continue;
        *expect++ = *text++ = 0;
        char *module = wrap_fragment(line, text);
        struct hlo_file f;
        struct diag why = {.warn = quiet};
        bool ok = hlo_read(&f, line, module, strlen(module), &why);
        if (ok)
            hlo_free(&f);
        count++;
        if (ok == !strcmp(expect, "fail")) {
            printf("FAIL %s: %s: %s\n", line, text, ok ? "accepted" : why.text);
            bad++;
        }
        free(module);
    }
    free(all);
    file_unmap(&file);
    printf("%d fragments, %d wrong\n", count, bad);
    return !bad && count;
}

/* xorshift: the same damage for the same seed everywhere */
static uint64_t next(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static bool mutate(const char *path, uint64_t seed, int n)
{
    struct mapped_file file;
    struct diag d = {0};
    if (!file_map(&file, path, &d)) {
        fprintf(stderr, "%s\n", d.text);
        return false;
    }
    int accepted = 0;
    uint64_t s = seed * 0x9e3779b97f4a7c15u + file.size + 1;
    for (int k = 0; k < n; k++) {
        size_t size = file.size;
        char *copy = malloc(size + 1);
        memcpy(copy, file.data, size);
        if (size && next(&s) % 4 == 0)
            size = next(&s) % size;
        int edits = size ? (int)(next(&s) % 4) : 0;
        for (int e = 0; e < edits; e++) {
            size_t at = next(&s) % size, from = next(&s) % size, length = next(&s) % 24;
            if (next(&s) % 2 && at + length <= size && from + length <= size)
                memmove(copy + at, copy + from, length);
            else
                copy[at] = next(&s) % 2 ? (char)next(&s) : "{}()[],=%#\"-9?."[next(&s) % 15];
        }
        char *exact = malloc(size ? size : 1); /* so that reading past the end is noticed */
        memcpy(exact, copy, size);
        struct hlo_file f;
        struct diag why = {.warn = quiet};
        if (hlo_read(&f, "damaged", exact, size, &why)) {
            accepted++;
            size_t printed;
            free(text_of(&f, HLO_PRINT_ALL, &printed));
            for (int m = 0; m < f.count; m++)
                hlo_verify(f.modules[m], &why);
            hlo_free(&f);
        } else if (!why.text[0]) {
            printf("FAIL %s: refused without a message\n", path);
            return false;
        }
        free(exact);
        free(copy);
    }
    printf("ok %s: %d variants, %d still valid\n", path, n, accepted);
    file_unmap(&file);
    return true;
}

int main(int argc, char **argv)
{
    const char *command = argc > 2 ? argv[1] : "";
    bool ok = true;
    if (!strcmp(command, "same") && argc == 4)
        return same(argv[2], argv[3]) ? 0 : 1;
    if (!strcmp(command, "mutate") && argc > 4) {
        for (int k = 4; k < argc; k++)
            ok &= mutate(argv[k], strtoull(argv[2], NULL, 10), atoi(argv[3]));
        return ok ? 0 : 1;
    }
    bool (*f)(const char *) = !strcmp(command, "print")       ? print
                              : !strcmp(command, "check")     ? check
                              : !strcmp(command, "verify")    ? verify
                              : !strcmp(command, "refuse")    ? refuse
                              : !strcmp(command, "same-in")   ? same_in
                              : !strcmp(command, "fragments") ? fragments
                                                              : NULL;
    if (!f) {
        fprintf(stderr,
                "usage: hlo_tool print|check|verify|refuse|fragments FILE... | same FILE FILE | "
                "mutate SEED N FILE...\n");
        return 2;
    }
    for (int k = 2; k < argc; k++)
        ok &= f(argv[k]);
    return ok ? 0 : 1;
}
