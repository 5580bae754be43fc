/*
 * StableHLO reader and printer from the command line, for tests and for looking into files.
 *
 *     stablehlo_tool print FILE...           MLIR's generic text
 *     stablehlo_tool check FILE...           read, print, read again, print: must be the same
 *     stablehlo_tool verify FILE...          must be read and make sense
 *     stablehlo_tool refuse FILE...          must be refused; prints the messages
 *     stablehlo_tool same FILE FILE          two files must hold the same module, locations aside
 *     stablehlo_tool mutate SEED N FILE...   N damaged variants of each; only a crash is a failure
 */
#include "frontend/hlo/syntax/hlo.h"
#include "frontend/stablehlo/stablehlo.h"
#include "neff/base/file.h"
#include "test/print/mlir_print.h"

#include <stdlib.h>
#include <string.h>

static void quiet(void *user, const char *text)
{
    (void)user;
    (void)text;
}

static char *text_of(const struct mlir_module *m, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    mlir_print(out, m);
    fclose(out);
    return text;
}

struct opened {
    struct mapped_file file;
    struct arena arena;
    struct mlir_module *module;
};

static bool open_module(struct opened *o, const char *path, struct diag *d)
{
    *o = (struct opened){0};
    if (!file_map(&o->file, path, d))
        return false;
    o->module = stablehlo_read(&o->arena, path, o->file.data, o->file.size, d);
    return o->module != NULL;
}

static void close_module(struct opened *o)
{
    arena_free(&o->arena);
    if (o->file.data)
        file_unmap(&o->file);
}

static bool print(const char *path)
{
    struct opened o;
    struct diag d = {.warn = quiet};
    bool ok = open_module(&o, path, &d);
    if (ok)
        mlir_print(stdout, o.module);
    else
        fprintf(stderr, "%s\n", d.text);
    close_module(&o);
    return ok;
}

static bool check(const char *path)
{
    struct opened o;
    struct diag d = {.warn = quiet};
    size_t n, m;
    if (!open_module(&o, path, &d)) {
        printf("FAIL %s: %s\n", path, d.text);
        close_module(&o);
        return false;
    }
    char *first = text_of(o.module, &n), *second = NULL;
    struct arena again = {0};
    struct mlir_module *r = mlir_parse(&again, "printed", first, n, &d);
    if (r)
        second = text_of(r, &m);
    bool ok = r && n == m && !memcmp(first, second, n);
    if (ok)
        printf("ok %s\n", path);
    else
        printf("FAIL %s: %s\n", path, r ? "printed, read and printed again, it differs" : d.text);
    free(first);
    free(second);
    arena_free(&again);
    close_module(&o);
    return ok;
}

static bool verify(const char *path, bool wanted)
{
    struct opened o;
    struct diag d = {.warn = quiet};
    bool ok = open_module(&o, path, &d) && stablehlo_verify(o.module, &d);
    close_module(&o);
    if (ok != wanted)
        printf("FAIL %s: %s\n", path, ok ? "expected a refusal" : d.text);
    else if (!wanted)
        printf("%s\n", d.text);
    else
        printf("ok %s\n", path);
    return ok == wanted;
}

/* Value numbers and everything else, without " loc(...)" at the ends of lines and arguments. */
static char *without_locations(char *text)
{
    char *to = text;
    for (const char *s = text; *s;) {
        if (strncmp(s, " loc(", 5)) {
            *to++ = *s++;
            continue;
        }
        int depth = 0;
        bool quoted = false;
        for (s += 4; *s; s++) {
            if (*s == '"' && s[-1] != '\\')
                quoted = !quoted;
            depth += quoted ? 0 : *s == '(' ? 1 : *s == ')' ? -1 : 0;
            if (!depth)
                break;
        }
        s += *s != 0;
    }
    *to = 0;
    return text;
}

static bool same(const char *a, const char *b)
{
    struct opened o[2];
    struct diag d = {.warn = quiet};
    size_t n;
    bool ok = open_module(&o[0], a, &d);
    ok = open_module(&o[1], b, &d) && ok;
    if (!ok) {
        printf("FAIL %s\n", d.text);
    } else {
        char *x = without_locations(text_of(o[0].module, &n)),
             *y = without_locations(text_of(o[1].module, &n));
        ok = !strcmp(x, y);
        size_t at = 0;
        while (x[at] && x[at] == y[at])
            at++;
        size_t from = at > 60 ? at - 60 : 0;
        if (!ok)
            printf("FAIL %s and %s differ:\n  %.160s\n  %.160s\n", a, b, x + from, y + from);
        free(x);
        free(y);
    }
    close_module(&o[0]);
    close_module(&o[1]);
    return ok;
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static void damage(uint8_t *p, size_t *n, uint64_t *seed)
{
    int changes = 1 + (int)(next_random(seed) % 4);
    for (int k = 0; k < changes && *n; k++) {
        size_t at = next_random(seed) % *n;
        switch (next_random(seed) % 4) {
        case 0:
            p[at] = (uint8_t)next_random(seed);
            break;
        case 1:
            *n = at;
            break;
        case 2:
            p[at] ^= (uint8_t)(1u << next_random(seed) % 8);
            break;
        default:
            memmove(p + at, p + at + 1, *n - at - 1);
            --*n;
        }
    }
}

static bool mutate(const char *path, uint64_t seed, int count)
{
    struct mapped_file f;
    struct diag d = {.warn = quiet};
    if (!file_map(&f, path, &d))
        return false;
    seed = seed * 2654435761u + 1;
    for (int k = 0; k < count; k++) {
        size_t n = f.size;
        uint8_t *copy = malloc(n + 1);
        struct arena a = {0};
        struct diag e = {.warn = quiet};
        memcpy(copy, f.data, n);
        damage(copy, &n, &seed);
        struct mlir_module *m = stablehlo_read(&a, "damaged", copy, n, &e);
        if (m)
            stablehlo_verify(m, &e);
        arena_free(&a);
        free(copy);
    }
    file_unmap(&f);
    return true;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    bool ok = true;
    int first = strcmp(mode, "mutate") ? 2 : 4;
    if (argc <= first || (!strcmp(mode, "same") && argc != 4)) {
        fprintf(stderr, "usage: stablehlo_tool print|check|verify|refuse FILE... | same FILE FILE "
                        "| mutate SEED N FILE...\n");
        return 2;
    }
    if (!strcmp(mode, "same"))
        return same(argv[2], argv[3]) ? 0 : 1;
    for (int k = first; k < argc; k++) {
        bool good = !strcmp(mode, "print")    ? print(argv[k])
                    : !strcmp(mode, "check")  ? check(argv[k])
                    : !strcmp(mode, "verify") ? verify(argv[k], true)
                    : !strcmp(mode, "refuse") ? verify(argv[k], false)
                    : !strcmp(mode, "mutate")
                        ? mutate(argv[k], strtoull(argv[2], NULL, 10) + (uint64_t)k, atoi(argv[3]))
                        : false;
        ok = good && ok;
    }
    return ok ? 0 : 1;
}
