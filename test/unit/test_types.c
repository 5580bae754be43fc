/*
 * Operators on every element type: what a row of op.def claims compiles and runs, at -O0 as at -O2,
 * and what it does not claim is refused with a message that names operand and types.
 */
#include "backend/backend.h"
#include "neff/core/signature.h"
#include "passes/pass.h"
#include "runtime/exec/exec.h"
#include "runtime/ops/common/elementwise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Beside the elementwise rows: operators that need no attributes and take operands of 2x2. */
static const enum op others[] = {OP_shape,
                                 OP_size,
                                 OP_flatten,
                                 OP_transpose,
                                 OP_reduce_sum,
                                 OP_reduce_mean,
                                 OP_reduce_max,
                                 OP_reduce_min,
                                 OP_argmax,
                                 OP_argmin,
                                 OP_softmax,
                                 OP_log_softmax,
                                 OP_hardmax,
                                 OP_matmul,
                                 OP_gemm,
                                 OP_det,
                                 OP_trilu,
                                 OP_reduce_prod,
                                 OP_popcount,
                                 OP_total_order,
                                 OP_nonzero,
                                 OP_complex_real,
                                 OP_reduce_l1,
                                 OP_reduce_l2,
                                 OP_reduce_log_sum,
                                 OP_reduce_log_sum_exp,
                                 OP_reduce_sum_square,
                                 OP_lp_norm,
                                 OP_unique,
                                 OP_complex_imag,
                                 OP_complex_abs,
                                 OP_count_leading_zeros,
                                 OP_mulhi,
                                 OP_complex_make,
                                 OP_eye_like,
                                 OP_gather,
                                 OP_gather_elements,
                                 OP_string_concat,
                                 OP_inverse,
                                 OP_concat,
                                 OP_sdpa,
                                 OP_matmul_integer,
                                 OP_scatter_elements};

static bool runs_here(enum op op)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] == op)
            return true;
    return (op_infos[op].flags & OPF_ELEMENTWISE) && op != OP_cast;
}

static struct signature signature_of(enum op op)
{
    char types[EW_TYPES], text[EW_TYPES + 8];
    struct signature s;
    if (ew_row(op))
        snprintf(text, sizeof text, op_infos[op].min_in == 2 ? "T=%s T" : "%s",
                 ew_types(op, types));
    assert_true(signature_parse(ew_row(op) ? text : op_types(op), &s));
    return s;
}

static int preferred(type_set set)
{
    static const int types[] = {DT_F32, DT_I64, DT_BOOL, DT_C64, DT_U8, DT_STR};
    for (int i = 0; i < 6; i++)
        if (type_set_has(set, types[i]))
            return types[i];
    for (int dt = 1; dt < DT_END; dt++)
        if (type_set_has(set, dt))
            return dt;
    return DT_NONE;
}

/* Types of the operands when operand k is of the type and the others are as the row wants. */
static void operand_types(const struct signature *s, int n, int k, int dtype, int *types)
{
    for (int i = 0; i < n; i++) {
        int at = i < s->n ? i : s->n - 1, with = k < s->n ? k : s->n - 1;
        int v = s->operand[at].variable;
        bool same = i == k || (v >= 0 && v == s->operand[with].variable);
        /* products of complex numbers are not mixed with others */
        same |= dtype_is_complex(dtype) && type_set_has(s->operand[at].admits, dtype);
        types[i] = same ? dtype : preferred(s->operand[at].admits);
    }
}

static struct graph *graph_of(enum op op, const int *types, int n, struct diag *d)
{
    char text[2048];
    size_t at = (size_t)snprintf(text, sizeof text, "graph \"t\" (");
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%%%d \"x%d\": %s[2,2]",
                               i ? ", " : "", i, i, dtype_name(types[i]));
    at += (size_t)snprintf(text + at, sizeof text - at, ") {\n  %%20");
    for (int i = 1; i < op_infos[op].min_out; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, ", %%%d", 20 + i);
    at += (size_t)snprintf(text + at, sizeof text - at, " = %s(", op_name(op));
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%%%d", i ? ", " : "", i);
    snprintf(text + at, sizeof text - at, ")%s\n  return(%%20)\n} outputs(\"y\")\n",
             op == OP_bit_shift ? " {direction=\"LEFT\"}" : "");
    return graph_parse(text, strlen(text), "t", d);
}

static bool run(enum op op, const int *types, int n, int level, struct tensor *out, struct diag *d)
{
    const struct machine *machine = machine_find("cpu");
    struct options o = {.opt_level = level, .verify_passes = true};
    struct graph *g = graph_of(op, types, n, d);
    struct program *p = g && passes_run(g, &o, d) ? backend_compile(g, &o, machine, d) : NULL;
    struct model *m = p ? model_new(p, d) : NULL;
    struct context *c = m ? context_new(m, 1, d) : NULL;
    struct tensor x[4] = {
        {.kind = VK_NONE}, {.kind = VK_NONE}, {.kind = VK_NONE}, {.kind = VK_NONE}};
    bool ok = c != NULL;
    for (int i = 0; ok && i < n; i++) {
        ok = tensor_alloc(&x[i], types[i], 2, (int64_t[]){2, 2}, d);
        for (int64_t k = 0; ok && types[i] != DT_STR && k < 4; k++)
            dtype_store_f64(types[i], x[i].data, (size_t)k, k == 1 ? 0 : 1);
        ok = ok && context_set_input(c, i, &x[i], d);
    }
    ok = ok && context_run(c, d) && tensor_copy(out, context_output(c, 0), d);
    for (int i = 0; i < n; i++)
        tensor_free(&x[i]);
    context_free(c);
    model_free(m);
    graph_free(g);
    return ok;
}

/* To what the narrowest floats and the approximations of engines leave. */
static bool same(const struct tensor *a, const struct tensor *b)
{
    if (a->dtype != b->dtype || tensor_count(a) != tensor_count(b))
        return false;
    if (a->dtype == DT_STR || dtype_is_complex(a->dtype))
        return tensor_equal(a, b);
    for (int64_t i = 0; i < tensor_count(a); i++) {
        double x = tensor_f64(a, i), y = tensor_f64(b, i);
        bool equal = x == y || (isnan(x) && isnan(y));
        if (!equal && !(dtype_is_float(a->dtype) && fabs(x - y) <= 1e-2 * fmax(1, fabs(y))))
            return false;
    }
    return true;
}

static void claimed_types_run(void **state)
{
    int runs = 0, bad = 0;
    for (int i = 0; i < OP_COUNT; i++) {
        enum op op = (enum op)i;
        if (!runs_here(op))
            continue;
        struct signature s = signature_of(op);
        int n = op_infos[op].min_in, types[4];
        for (int k = 0; k < n; k++)
            for (int dt = 1; dt < DT_END; dt++) {
                struct tensor y[2] = {{.kind = VK_NONE}, {.kind = VK_NONE}};
                struct diag d = {0};
                if (!dtype_valid(dt) || !type_set_has(s.operand[k].admits, dt))
                    continue;
                operand_types(&s, n, k, dt, types);
                runs++;
                if (!run(op, types, n, 0, &y[0], &d) || !run(op, types, n, 2, &y[1], &d))
                    bad++, print_error("%s, operand %d %s: %s\n", op_name(op), k, dtype_name(dt),
                                       d.text);
                else if (!same(&y[1], &y[0]))
                    bad++,
                        print_error("%s on %s: -O0 and -O2 differ\n", op_name(op), dtype_name(dt));
                tensor_free(&y[0]);
                tensor_free(&y[1]);
            }
    }
    print_message("%d pairs of operand and type\n", runs);
    assert_true(runs > 1000);
    assert_int_equal(bad, 0);
}

/* Every row and operand, whatever its attributes: types are checked first. */
static void other_types_are_refused(void **state)
{
    int refused = 0;
    for (int i = 0; i < OP_COUNT; i++) {
        enum op op = (enum op)i;
        struct signature s = signature_of(op);
        int n = op_infos[op].min_in, types[16];
        for (int k = 0; k < n && k < s.n; k++)
            for (int dt = 1; dt < DT_END; dt++) {
                struct diag d = {0};
                struct options o = {.only = "infer"};
                char word[32];
                if (!dtype_valid(dt) || type_set_has(s.operand[k].admits, dt) ||
                    !(preferred(s.operand[0].admits)))
                    continue;
                operand_types(&s, n, k, dt, types);
                struct graph *g = graph_of(op, types, n, &d);
                bool taken = g && passes_run(g, &o, &d);
                graph_free(g);
                snprintf(word, sizeof word, "is %s, expected", dtype_name(dt));
                if (taken || !strstr(d.text, word))
                    fail_msg("%s, operand %d %s: %s", op_name(op), k, dtype_name(dt),
                             taken ? "was taken" : d.text);
                refused++;
            }
    }
    print_message("%d refused\n", refused);
    assert_true(refused > 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claimed_types_run),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
