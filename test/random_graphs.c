/*
 * Random graphs, compiled and run at every -O level, with constant and with symbolic dims, against
 * the plain routines.
 *
 *   random_graphs [--count N] [--seed S] [--nodes N] [--target MACHINE] [--auto-cast none|matmult|all]
 *                 [--cast-type bf16|fp16] [--narrow 0|1] [--keep DIR]
 *
 * --narrow 1: mostly products of floats of 16 bits with what follows them (random_narrow.c).
 *
 * A graph that fails is cut down while it still fails, and written as DIR/random_SEED.xir. Every
 * check runs in a process of its own: a crash is a failure like others. Exit status 1 when any
 * graph failed.
 */
#include "backend/backend.h"
#include "runtime/exec/exec.h"
#include "runtime/io/apart.h"
#include "test/random_draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct way { /* of compiling */
    int level;
    enum symbols symbols;
};

static const char *target = "cpu";
static int auto_cast = CAST_NONE, cast_type = DT_BF16;
static bool narrow;

/* ---- the reference ---- */

/* Every node's value by the plain routines, on constant dims. */
static bool compute(struct recipe *r, struct diag *d)
{
    bool result[MAX_ITEMS] = {false};
    struct tensor args[MAX_ITEMS], out[MAX_ITEMS];
    int nargs = 0, nout = 0;
    for (int i = 0; i < r->n; i++) {
        result[i] = r->items[i].kind == ITEM_NODE;
        nout += result[i];
        if (r->items[i].kind == ITEM_INPUT) {
            args[nargs] = r->items[i].value;
            args[nargs++].owned = false;
        }
    }
    for (int i = 0; i < nout; i++)
        out[i] = (struct tensor){.kind = VK_NONE};
    struct graph *g = recipe_build(r, CONSTANT_DIMS, result, d);
    struct options o = {.only = "infer"};
    bool ok = g && passes_run(g, &o, d) && interpret(g, g->main, args, nargs, out, nout, NULL, d);
    for (int i = 0, k = 0; ok && i < r->n; i++)
        if (result[i]) {
            struct item *it = &r->items[i];
            tensor_move(&it->value, &out[k++]);
            it->type = type_tensor(it->value.dtype, it->value.rank, it->value.dims);
        }
    graph_free(g);
    return ok;
}

/* The largest magnitude in the graph; negative when something is not finite. */
static double magnitude(const struct recipe *r)
{
    double max = 1;
    for (int i = 0; i < r->n; i++) {
        const struct tensor *t = &r->items[i].value;
        for (int64_t k = 0; r->items[i].alive && dtype_is_float(t->dtype) && k < tensor_count(t);
             k++) {
            double v = fabs(tensor_f64(t, k));
            if (!isfinite(v))
                return -1;
            max = v > max ? v : max;
        }
    }
    return max;
}

/* ---- one check ---- */

/* What a few roundings to the narrowest type of the graph amount to: fused operators skip some. */
static double roundings(const struct recipe *r)
{
    double max = auto_cast == CAST_NONE ? 1e-3 : 8.0 / (1 << 8);
    for (int i = 0; i < r->n; i++) {
        double one = !r->items[i].alive                  ? 0
                     : r->items[i].type.dtype == DT_BF16 ? 8.0 / (1 << 8)
                     : r->items[i].type.dtype == DT_F16  ? 8.0 / (1 << 11)
                                                         : 0;
        max = one > max ? one : max;
    }
    return max;
}

/* Sums in another order differ by as much as the largest number in the graph rounds. */
static bool same(const struct item *it, int number, const struct tensor *got, double scale,
                 struct diag *d)
{
    const struct tensor *want = &it->value;
    char a[256], b[256];
    bool alike = got->kind == VK_TENSOR && got->dtype == want->dtype && got->rank == want->rank;
    for (int i = 0; alike && i < want->rank; i++)
        alike = got->dims[i] == want->dims[i];
    if (!alike)
        return fail(d, "y%d is %s, expected %s", number, tensor_type_text(got, a, sizeof a),
                    tensor_type_text(want, b, sizeof b));
    bool exact = !dtype_is_float(want->dtype);
    double max = auto_cast == CAST_ALL && exact && dtype_info(want->dtype)->bits == 8; /* what is quantised */
    for (int64_t k = 0; k < tensor_count(want); k++) {
        double x = tensor_f64(got, k), y = tensor_f64(want, k);
        if (!(fabs(x - y) <= (exact ? max : scale)))
            return fail(d, "y%d (%s) element %lld: %.9g, expected %.9g", number, op_name(it->op),
                        (long long)k, x, y);
    }
    return true;
}

static bool run(struct recipe *r, struct graph *g, struct model *m, const bool *result,
                struct diag *d)
{
    struct context *c = context_new(m, 2, d);
    double scale = magnitude(r) * roundings(r);
    bool ok = c != NULL;
    for (int i = 0, k = 0; ok && i < r->n; i++)
        if (r->items[i].alive && r->items[i].kind == ITEM_INPUT)
            ok = context_set_input(c, k++, &r->items[i].value, d);
    ok = ok && context_run(c, d);
    for (int i = 0, k = 0; ok && i < r->n; i++)
        if (result[i])
            ok = same(&r->items[i], i, context_output(c, k++), scale, d);
    return ok && g;
}

static bool check_here(struct recipe *r, struct way w, const bool *result, struct diag *d)
{
    const struct machine *machine = machine_find(target);
    struct options o = {
        .opt_level = w.level, .verify_passes = true, .strict_target = machine->strict, .auto_cast = auto_cast,
        .cast_type = cast_type};
    struct graph *g = recipe_build(r, w.symbols, result, d);
    if (!g)
        return true; /* symbols where inference wants to know */
    struct program *p = passes_run(g, &o, d) ? backend_compile(g, &o, machine, d) : NULL;
    struct model *m = p ? model_new(p, d) : NULL;
    return m && run(r, g, m, result, d);
}

struct check_task {
    struct recipe *r;
    struct way w;
    const bool *result;
};

static int check_task(void *user, int fd)
{
    const struct check_task *t = user;
    struct diag d = {0};
    bool ok = check_here(t->r, t->w, t->result, &d);
    return !ok && write(fd, d.text, strlen(d.text)) < 0 ? 2 : !ok;
}

static bool check(struct recipe *r, struct way w, const bool *result, char *why, size_t room)
{
    size_t n;
    int code = run_apart(check_task, &(struct check_task){r, w, result}, why, room - 1, &n);
    why[n] = 0;
    return code == 0;
}

/* ---- cutting down ---- */

/* Alive are the results and what they are made of. */
static void prune(struct recipe *r, const bool *result)
{
    for (int i = 0; i < r->n; i++)
        r->items[i].alive = result[i];
    for (int i = r->n - 1; i >= 0; i--)
        for (int k = 0; r->items[i].alive && r->items[i].kind == ITEM_NODE && k < r->items[i].nin;
             k++)
            if (r->items[i].in[k] >= 0)
                r->items[r->items[i].in[k]].alive = true;
}

static void shrink(struct recipe *r, struct way w, bool *result)
{
    char why[2048];
    for (int i = 0; i < r->n; i++) { /* fewer results */
        bool was = result[i];
        result[i] = false;
        int left = 0;
        for (int k = 0; k < r->n; k++)
            left += result[k];
        prune(r, result);
        if (was && (!left || check(r, w, result, why, sizeof why)))
            result[i] = true;
    }
    prune(r, result);
    for (int i = 0; i < r->n; i++) { /* values computed so far as inputs */
        if (!r->items[i].alive || r->items[i].kind != ITEM_NODE || result[i])
            continue;
        r->items[i].kind = ITEM_INPUT;
        prune(r, result);
        if (check(r, w, result, why, sizeof why)) {
            r->items[i].kind = ITEM_NODE;
            prune(r, result);
        }
    }
}

static void keep(struct recipe *r, struct way w, const bool *result, const char *folder,
                 uint64_t seed)
{
    char path[1024];
    struct diag d = {0};
    struct graph *g = recipe_build(r, w.symbols, result, &d);
    snprintf(path, sizeof path, "%s/random_%llu.xir", folder, (unsigned long long)seed);
    FILE *f = g ? fopen(path, "w") : NULL;
    if (f) {
        graph_print(g, f, -1);
        fclose(f);
        printf("  cut down to %s\n", path);
    }
    graph_free(g);
}

/* ---- seeds ---- */

enum outcome { SAME, DIFFERENT, NOT_USED };

static enum outcome try_seed(uint64_t seed, int nodes, const char *folder)
{
    static struct recipe r;
    struct diag d = {0};
    char why[2048];
    bool result[MAX_ITEMS] = {false}, used[MAX_ITEMS] = {false};
    enum outcome outcome = NOT_USED;
    if (recipe_draw(&r, seed, 1 + (int)(seed * 7 % (uint64_t)nodes), narrow, &d) && compute(&r, &d)) {
        for (int i = 0; i < r.n; i++)
            for (int k = 0; k < r.items[i].nin; k++)
                if (r.items[i].in[k] >= 0)
                    used[r.items[i].in[k]] = true;
        for (int i = 0; i < r.n; i++)
            result[i] = r.items[i].kind == ITEM_NODE && (!used[i] || random_below(&r, 6) == 0);
        prune(&r, result);
        double max = magnitude(&r);
        double limit = auto_cast != CAST_NONE && cast_type == DT_F16 ? 3e4 : 1e6; /* of what must stay finite */
        outcome = max < 0 || max > limit ? NOT_USED : SAME;
    } else if (diag_failed(&d)) {
        printf("seed %llu: the plain routines: %s\n", (unsigned long long)seed, d.text);
        outcome = DIFFERENT;
    }
    enum symbols symbols = (enum symbols)(seed % 3);
    const struct way ways[] = {{2, symbols}, {1, symbols}, {0, symbols}, {2, CONSTANT_DIMS}};
    for (size_t i = 0; outcome == SAME && i < 3 + (symbols != CONSTANT_DIMS); i++) {
        if (check(&r, ways[i], result, why, sizeof why))
            continue;
        outcome = DIFFERENT;
        printf("seed %llu at -O%d with %s: %s\n", (unsigned long long)seed, ways[i].level,
               ways[i].symbols == CONSTANT_DIMS ? "constant dims"
               : ways[i].symbols == DISTINCT    ? "a symbol for each dim"
                                                : "a symbol for each size",
               why);
        shrink(&r, ways[i], result);
        keep(&r, ways[i], result, folder, seed);
    }
    recipe_free(&r);
    return outcome;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1;
    int count = 100, nodes = 12, outcomes[3] = {0};
    const char *folder = ".";
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--count"))
            count = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--seed"))
            seed = strtoull(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--nodes"))
            nodes = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--target"))
            target = argv[i + 1];
        else if (!strcmp(argv[i], "--narrow"))
            narrow = atoi(argv[i + 1]) != 0;
        else if (!strcmp(argv[i], "--auto-cast"))
            auto_cast = !strcmp(argv[i + 1], "all")       ? CAST_ALL
                        : !strcmp(argv[i + 1], "matmult") ? CAST_MATMULT
                                                          : CAST_NONE;
        else if (!strcmp(argv[i], "--cast-type"))
            cast_type = !strcmp(argv[i + 1], "fp16") ? DT_F16 : DT_BF16;
        else if (!strcmp(argv[i], "--keep"))
            folder = argv[i + 1];
    }
    if (!machine_find(target) || count < 1 || nodes < 1) {
        fprintf(stderr, "usage: random_graphs [--count N] [--seed S] [--nodes N] [--target MACHINE] "
                        "[--auto-cast none|matmult|all] [--cast-type bf16|fp16] "
                        "[--narrow 0|1] [--keep DIR]\n");
        return 2;
    }
    for (int i = 0; i < count; i++)
        outcomes[try_seed(seed + (uint64_t)i, nodes, folder)]++;
    printf("%d graphs the same, %d different, %d not used (not finite or too large)\n",
           outcomes[SAME], outcomes[DIFFERENT], outcomes[NOT_USED]);
    return outcomes[DIFFERENT] > 0 || outcomes[SAME] == 0;
}
