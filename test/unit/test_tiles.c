/*
 * Tile programs against plain routines: every test/tiles/NAME.xir is compiled at -O0 and at -O2 and
 * run on the same random inputs, with several values of its symbols.
 *
 * First line of a file: `// calls N`, or `// calls N strict M`: how many operators may still run as
 * calls at -O2, on cpu and on strict targets.
 */
#include "backend/backend.h"
#include "passes/pass.h"
#include "runtime/exec/exec.h"

#include <assert.h>
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_TESTS = 1024, MAX_VALUES = 32, SIZES = 6 };

static char *read_text(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *text = malloc(*size + 1);
    assert_int_equal(fread(text, 1, *size, f), *size);
    text[*size] = 0;
    fclose(f);
    return text;
}

struct compiled {
    struct graph *g;
    struct model *m;
    struct context *c;
    int calls;
};

static void explain(const char *path, int level, const struct diag *d)
{
    if (diag_failed(d))
        fail_msg("%s at -O%d: %s", path, level, d->text);
}

static struct compiled compile(const char *path, const char *text, size_t size, int level,
                               const char *machine)
{
    struct diag d = {0};
    struct compiled c = {0};
    const struct machine *m = machine_find(machine);
    struct options o = {.opt_level = level, .verify_passes = true};
    o.strict_target = m->strict;
    c.g = graph_parse(text, size, path, &d);
    explain(path, level, &d);
    struct program *p = passes_run(c.g, &o, &d) ? backend_compile(c.g, &o, m, &d) : NULL;
    explain(path, level, &d);
    for (int i = 0; i < p->ncalls; i++)
        if (level && getenv("XCC_SHOW_CALLS"))
            fprintf(stderr, "%s: %s is a call\n", path, op_name(p->calls[i].op));
    c.calls = p->ncalls;
    c.m = model_new(p, &d);
    explain(path, level, &d);
    c.c = context_new(c.m, level ? 2 : 1, &d);
    explain(path, level, &d);
    return c;
}

static void discard(struct compiled *c)
{
    context_free(c->c);
    model_free(c->m);
    graph_free(c->g);
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Sizes around the edges of tiles; each symbol takes them in another order. */
static int64_t size_of_symbol(int symbol, int round)
{
    static const int64_t sizes[SIZES] = {1, 3, 17, 64, 66, 130};
    return sizes[(round + symbol * 5) % SIZES];
}

static void fill(struct tensor *t, uint32_t *random)
{
    for (int64_t i = 0; i < tensor_count(t); i++) {
        uint32_t r = next_random(random);
        if (dtype_is_float(t->dtype))
            dtype_store_f64(t->dtype, t->data, (size_t)i, (double)(r % 4001) / 1000 - 2);
        else if (t->dtype == DT_BOOL)
            dtype_store_i64(t->dtype, t->data, (size_t)i, r % 3 != 0);
        else
            dtype_store_i64(t->dtype, t->data, (size_t)i, (int64_t)(r % 4) - 2);
    }
}

static double tolerance_of(int dtype)
{
    return dtype == DT_BF16 ? 2e-2 : dtype == DT_F16 ? 4e-3 : 2e-5;
}

static void compare(const char *path, const char *name, int round, const struct tensor *got,
                    const struct tensor *want)
{
    assert_int_equal(got->rank, want->rank);
    assert_int_equal(got->dtype, want->dtype);
    for (int i = 0; i < got->rank; i++)
        assert_int_equal(got->dims[i], want->dims[i]);
    double scale = 1, allowed = tolerance_of(got->dtype);
    bool numbers = dtype_is_float(got->dtype);
    for (int64_t i = 0; numbers && i < tensor_count(want); i++)
        scale = fmax(scale, isfinite(tensor_f64(want, i)) ? fabs(tensor_f64(want, i)) : 0);
    for (int64_t i = 0; i < tensor_count(want); i++) {
        if (!numbers) {
            if (tensor_i64(got, i) != tensor_i64(want, i))
                fail_msg("%s, sizes %d: '%s' element %lld is %lld, expected %lld", path, round,
                         name, (long long)i, (long long)tensor_i64(got, i),
                         (long long)tensor_i64(want, i));
            continue;
        }
        double a = tensor_f64(got, i), b = tensor_f64(want, i);
        bool same = a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= allowed * scale;
        if (!same)
            fail_msg("%s, sizes %d: '%s' element %lld is %g, expected %g", path, round, name,
                     (long long)i, a, b);
    }
}

static void run_once(const char *path, struct compiled *plain, struct compiled *tiles, int round)
{
    struct diag d = {0};
    const struct graph *g = plain->g;
    struct tensor in[MAX_VALUES];
    int64_t symbols[64];
    uint32_t random = 1234567u + (uint32_t)round;
    assert_true(g->dims.nsymbols <= 64 && g->main->nparams <= MAX_VALUES);
    for (int s = 0; s < g->dims.nsymbols; s++)
        symbols[s] = size_of_symbol(s, round);
    for (int i = 0; i < g->main->nparams; i++) {
        const struct type *t = &g->main->params[i]->type;
        int64_t dims[MAX_RANK];
        for (int k = 0; k < t->rank; k++)
            dims[k] = dim_eval(&g->dims, symbols, t->dims[k]);
        in[i] = (struct tensor){.kind = VK_NONE};
        assert_true(tensor_alloc(&in[i], t->dtype, t->rank, dims, &d));
        fill(&in[i], &random);
        assert_true(context_set_input(plain->c, i, &in[i], &d));
        assert_true(context_set_input(tiles->c, i, &in[i], &d));
    }
    bool ok = context_run(plain->c, &d);
    explain(path, 0, &d);
    ok = ok && context_run(tiles->c, &d);
    explain(path, 2, &d);
    assert_true(ok);
    for (int i = 0; i < g->noutputs; i++)
        compare(path, g->output_names[i], round, context_output(tiles->c, i),
                context_output(plain->c, i));
    for (int i = 0; i < g->main->nparams; i++)
        tensor_free(&in[i]);
}

struct test {
    char path[512], name[540];
    const char *machine;
};

static void same_results(void **state)
{
    const struct test *t = *state;
    const char *path = t->path;
    size_t size;
    char *text = read_text(path, &size);
    int calls = 0, strict = 0;
    int given = sscanf(text, "// calls %d strict %d", &calls, &strict);
    assert_true(given >= 1);
    if (machine_find(t->machine)->strict)
        calls = given == 2 ? strict : calls;
    struct compiled plain = compile(path, text, size, 0, "cpu"),
                    tiles = compile(path, text, size, 2, t->machine);
    if (tiles.calls > calls)
        fail_msg("%s: %d operators run as calls on %s, expected %d", path, tiles.calls, t->machine,
                 calls);
    for (int round = 0; round < SIZES; round++)
        run_once(path, &plain, &tiles, round);
    discard(&plain);
    discard(&tiles);
    free(text);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct CMUnitTest *)a)->name, ((const struct CMUnitTest *)b)->name);
}

int main(int argc, char **argv)
{
    static const char *const machines_tried[] = {"cpu", "trn1", "trn2", "mini"};
    enum { MACHINES = 4 };
    static struct CMUnitTest tests[MAX_TESTS];
    static struct test all[MAX_TESTS];
    size_t n = 0;
    DIR *dir = opendir("test/tiles");
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (!strstr(e->d_name, ".xir") || (argc > 1 && !strstr(e->d_name, argv[1])))
            continue;
        for (int m = 0; m < MACHINES; m++, n++) {
            assert(n < MAX_TESTS);
            struct test *t = &all[n];
            snprintf(t->path, sizeof t->path, "test/tiles/%.400s", e->d_name);
            t->machine = machines_tried[m];
            snprintf(t->name, sizeof t->name, "%s on %s", t->path, t->machine);
            tests[n] =
                (struct CMUnitTest){.name = t->name, .test_func = same_results, .initial_state = t};
        }
    }
    if (dir)
        closedir(dir);
    if (n == 0) {
        fprintf(stderr, "test/tiles has no .xir files; run from the source root\n");
        return 1;
    }
    qsort(tests, n, sizeof *tests, by_name);
    return _cmocka_run_group_tests("tiles", tests, n, NULL, NULL);
}
