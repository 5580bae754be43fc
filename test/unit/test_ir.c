/* The graph IR: construction, what the verifier catches, the text form, and damaged texts. */
#include "passes/ir/guards.h"
#include "passes/ir/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- construction ---- */

struct sample { /* y = add(x, c); return y */
    struct graph *g;
    struct value *x, *c;
    struct node *add, *last;
};

static struct sample make(void)
{
    static const char *names[] = {"y"};
    struct sample s = {.g = graph_new()};
    dim_t dims[] = {dim_symbol(&s.g->dims, "n"), 2};
    struct type t = type_tensor(DT_F32, 2, dims);
    s.x = region_add_param(s.g->main, &t, "x");
    s.c = constant_scalar(s.g, DT_F32, 1);
    s.add = node_new(s.g, OP_add, (struct value *[]){s.x, s.c}, 2, 1, "sum");
    node_append(s.g->main, s.add);
    s.last = node_new(s.g, OP_return, s.add->out, 1, 0, "");
    node_append(s.g->main, s.last);
    s.g->output_names = names;
    s.g->noutputs = 1;
    return s;
}

static void expect(struct sample *s, const char *text)
{
    struct diag d = {0};
    bool ok = graph_verify(s->g, "a test", &d);
    if (!text && !ok)
        fail_msg("%s", d.text);
    if (text && (ok || !strstr(d.text, text)))
        fail_msg("expected '%s', got '%s'", text, d.text);
    graph_free(s->g);
}

static void uses(void **state)
{
    struct sample s = make();
    assert_int_equal(value_count_uses(s.x), 1);
    assert_ptr_equal(value_only_user(s.x), s.add);
    node_set_input(s.add, 1, s.x);
    assert_int_equal(value_count_uses(s.x), 2);
    assert_false(value_has_one_use(s.x));
    assert_null(s.c->uses);
    node_add_input(s.g, s.last, s.x);
    assert_int_equal(value_count_uses(s.x), 3);
    value_replace(s.x, s.c);
    assert_null(s.x->uses);
    assert_int_equal(value_count_uses(s.c), 3);
    value_replace(s.c, s.c);
    assert_int_equal(value_count_uses(s.c), 3);
    s.g->noutputs = 2;
    s.g->output_names = (const char *[]){"y", "c"};
    expect(&s, NULL);
}

static void placing(void **state)
{
    struct sample s = make();
    struct node *before = node_new(s.g, OP_neg, &s.x, 1, 1, ""),
                *after = node_new(s.g, OP_abs, &s.x, 1, 1, "");
    node_insert_before(s.add, before);
    node_insert_after(s.add, after);
    assert_ptr_equal(s.g->main->first, before);
    assert_ptr_equal(s.add->next, after);
    assert_ptr_equal(after->next, s.last);
    node_remove(before);
    assert_ptr_equal(s.g->main->first, s.add);
    assert_int_equal(value_count_uses(s.x), 2);
    assert_string_equal(node_text(s.g, s.add), "node 'sum' (add)");
    expect(&s, NULL);
}

/* ---- what the verifier catches ---- */

static void change_link(struct sample *s)
{
    s->add->next = NULL;
}
static void change_parent(struct sample *s)
{
    s->add->parent = NULL;
}
static void change_use(struct sample *s)
{
    s->add->in_uses[0].index = 1;
}
static void change_operand(struct sample *s)
{
    s->add->in[0] = s->c;
}
static void change_result(struct sample *s)
{
    s->add->out[0]->def = s->last;
}
static void change_dtype(struct sample *s)
{
    s->x->type.dtype = 99;
}
static void change_rank(struct sample *s)
{
    s->x->type.rank = MAX_RANK + 1;
}
static void change_dim(struct sample *s)
{
    s->x->type.dims[1] = -3;
}
static void change_expression(struct sample *s)
{
    s->x->type.dims[1] = INT64_MIN + 1000;
}
static void change_kind(struct sample *s)
{
    s->x->type.kind = 77;
}
static void change_names(struct sample *s)
{
    s->g->noutputs = 0;
}
static void change_typed(struct sample *s)
{
    s->g->typed = true;
}
static void change_param(struct sample *s)
{
    s->x->index = 1;
}
static void add_operand(struct sample *s)
{
    node_add_input(s->g, s->add, s->x);
}
static void add_region(struct sample *s)
{
    node_add_region(s->g, s->add);
}
static void remove_last(struct sample *s)
{
    node_remove(s->last);
}
static void remove_all(struct sample *s)
{
    node_remove(s->last);
    node_remove(s->add);
}
static void use_early(struct sample *s)
{
    struct node *n = node_new(s->g, OP_neg, s->add->out, 1, 1, "");
    node_insert_before(s->add, n);
}
static void return_early(struct sample *s)
{
    node_insert_before(s->add, node_new(s->g, OP_return, &s->x, 1, 0, ""));
}
static void use_inner(struct sample *s) /* a value of a branch, used outside of it */
{
    struct value *yes = constant_scalar(s->g, DT_BOOL, 1);
    struct node *branch = node_new(s->g, OP_if, &yes, 1, 1, "");
    node_insert_before(s->last, branch);
    struct node *inner = NULL;
    for (int i = 0; i < 2; i++) {
        struct region *r = node_add_region(s->g, branch);
        inner = node_new(s->g, OP_neg, &s->x, 1, 1, "");
        node_append(r, inner);
        node_append(r, node_new(s->g, OP_return, inner->out, 1, 0, ""));
    }
    node_set_input(s->last, 0, inner->out[0]);
}

static void rules(void **state)
{
    static const struct {
        void (*change)(struct sample *s);
        const char *text;
    } broken[] = {
        {change_link, "not linked"},
        {change_parent, "uses of value 0"},
        {change_use, "damaged"},
        {change_operand, "damaged"},
        {change_result, "does not belong"},
        {change_dtype, "element type number 99"},
        {change_rank, "rank"},
        {change_dim, "dim 1"},
        {change_expression, "dim 1"},
        {change_kind, "damaged type"},
        {change_names, "output names"},
        {change_typed, "has no type"},
        {change_param, "parameter 0"},
        {add_operand, "3 operands, expected 2 to 2"},
        {add_region, "1 regions, expected 0"},
        {remove_last, "not a return"},
        {remove_all, "empty region"},
        {use_early, "before it is computed"},
        {return_early, "middle of a region"},
        {use_inner, "before it is computed"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct sample s = make();
        broken[i].change(&s);
        expect(&s, broken[i].text);
    }
}

/* ---- text ---- */

static char *print(struct graph *g)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    graph_print(g, f, -1);
    fclose(f);
    return text;
}

/* The text parses, and prints as itself after one print. */
static void round_trip(const char *text)
{
    struct diag d = {0};
    struct graph *g = graph_parse(text, strlen(text), "text", &d);
    if (!g)
        fail_msg("%s\n%s", d.text, text);
    char *once = print(g);
    graph_free(g);
    g = graph_parse(once, strlen(once), "printed", &d);
    if (!g)
        fail_msg("%s\n%s", d.text, once);
    char *twice = print(g);
    graph_free(g);
    assert_string_equal(once, twice);
    free(once);
    free(twice);
}

static void every_dtype(void **state)
{
    for (int dt = 1; dt < 64; dt++) {
        char text[512];
        if (!dtype_valid(dt))
            continue;
        const char *elements = dtype_class(dt) == DTC_BOOL      ? "true, false"
                               : dtype_class(dt) == DTC_STRING  ? "\"a\\n\", \"\""
                               : dtype_class(dt) == DTC_COMPLEX ? "(1 -2), (nan 0)"
                                                                : "1, 0";
        if (dt == DT_F8E8M0)
            elements = "1, 2"; /* powers of two only */
        else if (dt == DT_I1)
            elements = "-1, 0";
        snprintf(text, sizeof text,
                 "graph \"g\" (%%0 \"x\": %s[2]) {\n%%c0 = const %s[2] {%s}\n%%1 = identity(%%c0)\n"
                 "%%2 = identity(%%0) {t=tensor %s[2] {%s}, y=type %s[3]}\nreturn(%%1, %%2)\n} "
                 "outputs(\"a\", \"b\")",
                 dtype_name(dt), dtype_name(dt), elements, dtype_name(dt), elements,
                 dtype_name(dt));
        round_trip(text);
    }
}

static const char rich[] =
    "graph \"rich\" producer \"me\" symbols(batch, *nz.1) (%0 \"x\": f32[batch,3], %1: "
    "seq(f32[*]), %2: opt(i64[]), "
    "%3: map(i64,f32[])) {\n"
    "  %c0 \"w\" = const f32[3] {1, 0x7f800001, -inf}\n"
    "  %4 \"y\": f32[batch,3] = clip(%0, _, %c0) {a=1, b=2.0, c=\"q\\\"\\x01\", d=[1, 2], e=[1.0, "
    "nan], f=strs[], "
    "g=tensor i64[2] {1, 2}, h=type seq(f32[batch*2+1]), i=[\"a\", \"b\"], j=ints[], k=floats[], "
    "l=-9223372036854775807, "
    "\"odd name\"=1e-300} @\"n\" : \"Clip\"\n"
    "  %c1 = const bool[] {true}\n"
    "  %5 = if(%c1) ^() {\n    return(%4)\n  } ^() {\n    %6 = identity(%0)\n    return(%6)\n  }\n"
    "  %c2 = const seq<u8>[u8[1] {255}, u8[0] {}]\n"
    "  %c3 = const opt<none>[none]\n"
    "  %7 = sequence_length(%c2)\n"
    "  %8 = optional_has(%c3)\n"
    "  %9 = optional_has(_)\n"
    "  %10: f32[nz.1] = identity(%5)\n"
    "  return(%5, %7, %8, %9, %10)\n"
    "} outputs(\"a\", \"b\", \"c\", \"d\", \"e\")\n";

static void every_construct(void **state)
{
    round_trip(rich);
}

static void absent_operands(void **state)
{
    struct diag d = {0};
    struct graph *g = graph_parse(rich, sizeof rich - 1, "text", &d);
    if (!g)
        fail_msg("%s", d.text);
    struct node *clip = g->main->first;
    assert_int_equal(clip->op, OP_clip);
    assert_int_equal(clip->nin, 3);
    assert_null(clip->in[1]);
    assert_non_null(clip->in[2]->constant);
    graph_free(g);
}

static void try_text(const char *text, size_t size)
{
    struct diag d = {0};
    struct graph *g = graph_parse(text, size, "text", &d);
    assert_true((g != NULL) != diag_failed(&d));
    assert_false(d.internal);
    graph_free(g);
}

/* Every beginning of the text, in memory of just that size, is refused or parsed, never more. */
static void cut_short(void **state)
{
    for (size_t n = 0; n < sizeof rich - 1; n++) {
        char *copy = malloc(n + 1);
        assert_non_null(copy);
        memcpy(copy, rich, n);
        char *exact = realloc(copy, n ? n : 1);
        try_text(exact, n);
        free(exact);
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void damaged(void **state)
{
    static const char *const pieces[] = {
        "%",  "(",   ")",   "{",  "}",    "[",     "]",       "99999999999999999999",
        "-1", "\"",  "f32", "^",  "_",    "=",     ":",       ",",
        "*",  "nan", "0x",  "\\", "seq<", "type ", "tensor ", "\n"};
    uint64_t seed = 7;
    size_t size = sizeof rich - 1;
    char *text = malloc(size + 64);
    assert_non_null(text);
    for (int round = 0; round < 4000; round++) {
        memcpy(text, rich, size);
        size_t n = size;
        for (uint64_t changes = 1 + next_random(&seed) % 4; changes; changes--) {
            size_t at = next_random(&seed) % n, kind = next_random(&seed) % 3;
            const char *piece = pieces[next_random(&seed) % (sizeof pieces / sizeof *pieces)];
            size_t length = strlen(piece);
            if (kind == 0) {
                text[at] = (char)next_random(&seed);
            } else if (kind == 1 && at + 9 < n) {
                memmove(text + at, text + at + 8, n - at - 8);
                n -= 8;
            } else if (n + length <= size + 64) {
                memmove(text + at + length, text + at, n - at);
                memcpy(text + at, piece, length);
                n += length;
            }
        }
        try_text(text, n);
    }
    free(text);
}

static void deep(void **state)
{
    char *text = malloc(1 << 16), *at = text;
    assert_non_null(text);
    at += sprintf(at, "graph \"g\" (%%0: ");
    for (int i = 0; i < 5000; i++)
        at += sprintf(at, "seq(");
    try_text(text, (size_t)(at - text));
    at = text + sprintf(text, "graph \"g\" (%%0: bool[]) {");
    for (int i = 0; i < 2000; i++)
        at += sprintf(at, "%%%d = if(%%0) ^() {", i + 1);
    try_text(text, (size_t)(at - text));
    free(text);
}

/* More than the index of guards has room for at first: found again after it was made anew. */
static void many_guards(void **state)
{
    enum { COUNT = 100, KEPT = 90 };
    struct sample s = make();
    dim_t n = dim_symbol(&s.g->dims, "n");
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < COUNT; i++)
            graph_add_guard(s.g, &(struct guard){.kind = GUARD_EQUAL, .a = n, .b = i}, s.g->main, s.add);
    assert_int_equal(s.g->nguards, COUNT);
    graph_drop_guards(s.g, COUNT);
    assert_int_equal(s.g->nguards, COUNT);
    graph_drop_guards(s.g, KEPT);
    for (int i = KEPT - 5; i < KEPT + 5; i++)
        graph_add_guard(s.g, &(struct guard){.kind = GUARD_EQUAL, .a = n, .b = i}, s.g->main, s.add);
    assert_int_equal(s.g->nguards, KEPT + 5);
    graph_move_guards(s.g, s.g->main, s.g->main);
    for (int i = 0; i < COUNT; i++)
        graph_add_guard(s.g, &(struct guard){.kind = GUARD_EQUAL, .a = n, .b = i}, s.g->main, s.add);
    assert_int_equal(s.g->nguards, COUNT);
    graph_free(s.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uses),
        cmocka_unit_test(placing),
        cmocka_unit_test(rules),
        cmocka_unit_test(every_dtype),
        cmocka_unit_test(every_construct),
        cmocka_unit_test(absent_operands),
        cmocka_unit_test(cut_short),
        cmocka_unit_test(damaged),
        cmocka_unit_test(many_guards),
        cmocka_unit_test(deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
