/* xcc --verify: what it explains, and that it sees what it cannot explain. */
#include "frontend/compile.h"
#include "frontend/verify.h"
#include "runtime/exec/exec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "graph \"g\" symbols(n) (%0 \"x\": f32[n,4]) {\n"
#define WEIGHTS(w)                                                                                 \
    "%c0 = const f32[4,3] {0.3, -0.7, " w                                                          \
    ", 0.9, 0.11, -0.33, 0.21, 0.5, -0.61, 0.77, 0.13, -0.45}\n"
#define TAIL "%1 \"product\" = matmul(%0, %c0)\n%2 \"y\" = tanh(%1)\nreturn(%2)\n} outputs(\"y\")\n"

static struct graph *parse(const char *text)
{
    struct diag d = {0};
    struct graph *g = graph_parse(text, strlen(text), "text", &d);
    if (!g)
        fail_msg("%s", d.text);
    return g;
}

/* Compiles `compiled`, compares with `reference`; roundings of `cast` count as explained. */
static struct verify_counts verify(const char *compiled, const char *reference, int compile_cast,
                                   int cast)
{
    static const char *files[] = {"text"};
    struct diag d = {0};
    struct verify_counts counts = {0};
    struct command c = {
        .files = files,
        .nfiles = 1,
        .target = "cpu",
        .quiet = true,
        .options = {.opt_level = 2, .auto_cast = compile_cast, .cast_type = DT_BF16}};
    struct graph *g = parse(compiled), *r = parse(reference);
    struct program *p = compile_graph(g, &c, &d);
    struct model *m = p ? model_new(p, &d) : NULL;
    if (!m)
        fail_msg("%s", d.text);
    c.options.auto_cast = cast;
    struct verify_run run = {0};
    bool ok = verify_begin(&run, r, &c, &d) && verify_record(&run, m, &d);
    model_free(m);
    graph_free(g);
    if (!ok || !verify_compare(&run, r, &c, &counts, &d))
        fail_msg("%s", d.text);
    verify_run_free(&run);
    graph_free(r);
    return counts;
}

static const char model[] = HEAD WEIGHTS("0.5") TAIL, other[] = HEAD WEIGHTS("0.51") TAIL;

static void equal(void **state)
{
    struct verify_counts n = verify(model, model, CAST_NONE, CAST_NONE);
    assert_int_equal(n.nodes, 2);
    assert_true(n.compared >= 1);
    assert_int_equal(n.by_more + n.by_cast, 0);
}

static void cast_is_explained(void **state)
{
    struct verify_counts n = verify(model, model, CAST_MATMULT, CAST_MATMULT);
    assert_true(n.by_cast >= 1);
    assert_int_equal(n.by_more, 0);
    assert_int_equal(n.unbounded, 0);
}

static void cast_without_leave(void **state)
{
    assert_true(verify(model, model, CAST_MATMULT, CAST_NONE).by_more >= 1);
}

static void other_weights(void **state)
{
    assert_true(verify(other, model, CAST_NONE, CAST_NONE).by_more >= 1);
    assert_true(verify(other, model, CAST_MATMULT, CAST_MATMULT).by_more >= 1);
}

/* The defect is counted where it arose: what follows is computed from the program's own values. */
static void local(void **state)
{
    static const char tail[] =
        "%1 \"a\" = softmax(%0)\n%2 \"b\" = reduce_sum(%1) {axes=[1], keepdims=1}\n"
        "%3 \"c\" = cumsum(%2, %c0)\n return(%3, %1, %2)\n} outputs(\"c\", \"a\", \"b\")\n";
    char right[512], wrong[512];
    snprintf(right, sizeof right, "%s%%c0 = const i64[] {1}\n%s", HEAD, tail);
    snprintf(wrong, sizeof wrong, "%s%%c0 = const i64[] {1}\n%s", HEAD, tail);
    memcpy(strstr(wrong, "reduce_sum"), "reduce_max", 10);
    struct verify_counts n = verify(wrong, right, CAST_NONE, CAST_NONE);
    assert_int_equal(n.compared, 3);
    assert_int_equal(n.by_more, 1);
}

static void born_nan(void **state)
{
    static const char right[] = HEAD "%1 \"y\" = relu(%0)\nreturn(%1)\n} outputs(\"y\")\n";
    static const char wrong[] = HEAD "%1 \"y\" = acosh(%0)\nreturn(%1)\n} outputs(\"y\")\n";
    assert_int_equal(verify(wrong, right, CAST_NONE, CAST_NONE).by_more, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal),
        cmocka_unit_test(cast_is_explained),
        cmocka_unit_test(cast_without_leave),
        cmocka_unit_test(other_weights),
        cmocka_unit_test(local),
        cmocka_unit_test(born_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
