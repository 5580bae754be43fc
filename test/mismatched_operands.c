/*
 * Every plain routine against operands that do not go together: mismatched_operands [--count N]
 * FOLDER...
 *
 * Each folder is a test case (xcc test). Its graph is run node by node; each call is then repeated,
 * with the operands and attributes it had but for one or two changes: another rank, length, element
 * type or content, an operand left out or added, another number in an attribute. What the routine
 * makes of it does not matter: it computes something, or fails with a message. Sanitizers see the
 * rest. The same folders and count give the same calls.
 */
#include "frontend/driver.h"
#include "frontend/test_case.h"
#include "neff/base/memory.h"
#include "passes/pass.h"
#include "runtime/ops/common/ops.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_OPERANDS = 24, MAX_ELEMENTS = 1 << 12, MAX_MEMORY = 64 << 20 };

static uint64_t seed = 1;
static long calls, refused;

/* What runs, for whoever looks at a crash. */
static char now[512];

static void tell(int signal)
{
    if (write(STDERR_FILENO, now, strlen(now)) < 0)
        _exit(1);
    raise(signal); /* its default action */
}

static int64_t below(int64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return n > 0 ? (int64_t)((seed >> 33) % (uint64_t)n) : 0;
}

static int64_t odd_number(int64_t was)
{
    static const int64_t some[] = {
        0, 1, -1, 2, 3, -2, 7, 64, INT8_MIN, UINT8_MAX, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    int64_t n = sizeof some / sizeof *some, i = below(n + 3);
    return i < n ? some[i] : i == n ? was ^ 1 : i == n + 1 ? INT64_MIN + below(64) : -(was >> 1);
}

/* ---- changes ---- */

static bool refill(struct tensor *t, int dtype, int rank, const int64_t *dims)
{
    struct tensor made = {.kind = VK_NONE};
    struct diag d = {0};
    int64_t n = 1, have = t->kind == VK_TENSOR ? tensor_count(t) : 0;
    for (int i = 0; i < rank; i++)
        if ((n *= dims[i]) > MAX_ELEMENTS)
            return false;
    if (!tensor_alloc(&made, dtype, rank, dims, &d))
        return false;
    for (int64_t i = 0; i < n && have; i++)
        if (t->dtype == dtype)
            memcpy((char *)made.data + (size_t)i * dtype_bytes(dtype),
                   (char *)t->data + (size_t)(i % have) * dtype_bytes(dtype), dtype_bytes(dtype));
        else if (dtype != DT_STR && t->dtype != DT_STR)
            dtype_store_f64(dtype, made.data, (size_t)i,
                            dtype_load_f64(t->dtype, t->data, (size_t)(i % have)));
    if (dtype == DT_STR && have && t->dtype == DT_STR) { /* bytes of their own */
        if (!tensor_set_strings(&made, rank, dims, made.data, &d)) {
            tensor_free(&made);
            return false;
        }
    }
    tensor_move(t, &made);
    return true;
}

static void change_shape(struct tensor *t)
{
    int64_t dims[MAX_RANK + 1];
    int rank = t->rank, at = (int)below(rank);
    if (t->kind != VK_TENSOR)
        return;
    memcpy(dims, t->dims, sizeof *dims * (size_t)rank);
    switch (below(5)) {
    case 0: /* one dim less */
        if (rank == 0)
            return;
        memmove(dims + at, dims + at + 1, sizeof *dims * (size_t)(--rank - at));
        break;
    case 1: /* one more */
        if (rank == MAX_RANK)
            return;
        memmove(dims + at + 1, dims + at, sizeof *dims * (size_t)(rank++ - at));
        dims[at] = 1 + below(2);
        break;
    default:
        if (rank == 0)
            return;
        dims[at] = below(2) ? below(dims[at] + 2) : dims[at] + 1 + below(3);
    }
    refill(t, t->dtype, rank, dims);
}

static void change_content(struct tensor *t)
{
    if (t->kind != VK_TENSOR || t->dtype == DT_STR || tensor_count(t) == 0)
        return;
    size_t i = (size_t)below(tensor_count(t));
    if (dtype_is_int(t->dtype))
        dtype_store_i64(t->dtype, t->data, i, odd_number(dtype_load_i64(t->dtype, t->data, i)));
    else
        dtype_store_f64(t->dtype, t->data, i, below(3) ? (double)odd_number(1) : 0.0 / 0.0);
}

static void change_operand(struct tensor *in, int nin)
{
    struct tensor *t = &in[below(nin)];
    switch (below(8)) {
    case 0:
        tensor_free(t);
        break;
    case 1:
        if (t->kind == VK_TENSOR)
            for (int dtype = 0; !dtype_valid(dtype) || !refill(t, dtype, t->rank, t->dims);)
                dtype = 1 + (int)below(DT_END - 1);
        break;
    case 2:
    case 3:
        change_content(t);
        break;
    default:
        change_shape(t);
    }
}

static void change_attribute(struct arena *a, struct attrs *as)
{
    if (!as->count)
        return;
    struct attr *at = &as->list[below(as->count)];
    if (at->kind == ATTR_INT) {
        at->i = odd_number(at->i);
    } else if (at->kind == ATTR_INTS) {
        int n = at->count + (int)below(3) - 1;
        int64_t *v = ARENA_ARRAY(a, int64_t, n + 2);
        for (int i = 0; i < n; i++)
            v[i] = i < at->count ? at->ints[i] : 1;
        if (n > 0 && below(2))
            v[below(n)] = odd_number(v[0]);
        at->ints = v;
        at->count = n < 0 ? 0 : n;
    } else if (at->kind == ATTR_FLOAT) {
        at->f = (double)odd_number(at->f > -1e9 && at->f < 1e9 ? (int64_t)at->f : 1);
    } else if (below(4) == 0) {
        attr_remove(as, at->name);
    }
}

/* ---- calls ---- */

static bool no_region(struct op_env *env, struct op_call *c, int r, struct tensor *args, int nargs,
                      struct tensor *results, int nresults)
{
    return fail(env->d, "no region");
}

/* Results that would take long to make say nothing more. */
static bool is_small(struct op_call *c)
{
    for (int i = 0; i < c->nin; i++)
        if (c->in[i]->kind == VK_TENSOR && tensor_count(c->in[i]) > MAX_ELEMENTS)
            return false;
    return true;
}

static void run_changed(const struct op_call *original, struct diag *d)
{
    struct arena scratch = {0};
    struct diag ignored = {0};
    struct op_env env = {.d = d, .run_region = no_region, .random = {1, 2, 3, 4}};
    struct tensor in[MAX_OPERANDS], out[MAX_OPERANDS], *inp[MAX_OPERANDS], *outp[MAX_OPERANDS];
    struct attrs attrs = attrs_copy(&scratch, original->attrs);
    struct op_call c = *original;
    bool ok = true;
    for (int i = 0; i < MAX_OPERANDS; i++) {
        in[i].kind = out[i].kind = VK_NONE;
        in[i] = out[i] = (struct tensor){.kind = VK_NONE};
        inp[i] = &in[i], outp[i] = &out[i];
    }
    for (int i = 0; i < c.nin && ok; i++)
        ok = tensor_copy(&in[i], original->in[i], &ignored);
    for (int i = (int)below(3); i >= 0; i--)
        if (below(4) || !attrs.count)
            change_operand(in, c.nin);
        else
            change_attribute(&scratch, &attrs);
    c.in = inp, c.out = outp, c.attrs = &attrs, c.env = &env;
    if (below(16) == 0 && c.nin > 0)
        c.nin--;
    for (int i = 0; i < c.nout; i++)
        if (!original->out[i])
            outp[i] = NULL;
    ok = ok && is_small(&c);
    if (ok) {
        calls++;
        refused += !op_run(&c);
    }
    for (int i = 0; i < MAX_OPERANDS; i++)
        tensor_free(&in[i]), tensor_free(&out[i]);
    arena_free(&scratch);
}

struct look {
    int count;
    const char *folder;
};

static bool on_node(void *user, struct node *n, struct op_call *call)
{
    const struct look *l = user;
    if (n->nregions || call->nin > MAX_OPERANDS || call->nout > MAX_OPERANDS || call->nin == 0 ||
        !is_small(call))
        return true;
    for (int i = 0; i < l->count; i++) {
        struct diag d = {0};
        snprintf(now, sizeof now, "%s: %s, --seed %llu\n", l->folder, op_name(call->op),
                 (unsigned long long)seed);
        run_changed(call, &d);
        if (d.internal) {
            fprintf(stderr, "%s%s\n", now, d.text);
            exit(1);
        }
    }
    return true;
}

static void look_at(const char *folder, int count)
{
    struct diag d = {0};
    struct test_case t;
    const char *missing;
    struct tensor args[MAX_OPERANDS], results[MAX_OPERANDS];
    struct look l = {count, folder};
    struct interp_hooks hooks = {.on_node = on_node, .user = &l};
    if (!test_case_find(&t, folder, NULL, &missing, &d))
        return;
    struct graph *g = load_model(t.model, NULL, &d);
    if (!g || !infer_types(g, &d) || g->main->nparams > MAX_OPERANDS ||
        g->noutputs > MAX_OPERANDS) {
        graph_free(g);
        return;
    }
    bool ok = true, found;
    for (int i = 0; i < MAX_OPERANDS; i++)
        args[i] = results[i] = (struct tensor){.kind = VK_NONE};
    for (int i = 0; i < g->main->nparams; i++)
        ok = ok && t.nsets &&
             test_value_read(t.sets[0], "input", i, &g->main->params[i]->type, &args[i], &found,
                             &d) &&
             found;
    if (ok)
        interpret(g, g->main, args, g->main->nparams, results, g->noutputs, &hooks, &d);
    for (int i = 0; i < MAX_OPERANDS; i++)
        tensor_free(&args[i]), tensor_free(&results[i]);
    graph_free(g);
}

int main(int argc, char **argv)
{
    static const int signals[] = {SIGSEGV, SIGFPE, SIGBUS, SIGABRT};
    int first = 1, count = 20;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &(struct sigaction){.sa_handler = tell, .sa_flags = SA_RESETHAND},
                  NULL);
    if (argc > 4 && !strcmp(argv[1], "--seed"))
        seed = strtoull(argv[2], NULL, 10), first += 2;
    if (argc > first + 2 && !strcmp(argv[first], "--count"))
        count = atoi(argv[first + 1]), first += 2;
    memory_limit(MAX_MEMORY);
    for (int i = first; i < argc; i++)
        look_at(argv[i], count);
    printf("%ld calls, %ld of them refused\n", calls, refused);
    return calls == 0;
}
