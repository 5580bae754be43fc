/*
 * Large batches, group by group (runtime/exec/groups.c): the bits of a run for each item by itself, with one thread and
 * with several; which programs are computed so, and what is said of inputs and outputs that do not fit.
 */
#include "frontend/xcc.h"
#include "neff/archive/archive.h"
#include "runtime/exec/exec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 11, MAX_ELEMENTS = 1 << 12 };

static struct diag d;

static void must(bool ok)
{
    if (!ok)
        fail_msg("%s", d.text);
}

static struct xcc_bytes archive; /* of the only model that is open */

static struct model *compile(const char *text)
{
    if (!xcc_compile_memory(text, strlen(text), "groups.xir", "-q --auto-cast none", &archive, NULL, NULL))
        fail_msg("%s", xcc_error());
    struct neff_file *file = calloc(1, sizeof *file);
    must(file && neff_open_memory(file, archive.data, archive.size, "groups", &d));
    struct program *p = neff_program(file, true, &d);
    must(p != NULL);
    struct model *m = model_new(p, &d);
    must(m != NULL);
    return m;
}

static void close_model(struct model *m)
{
    model_free(m);
    xcc_bytes_free(&archive);
}

static bool is_separable(const struct model *m)
{
    const struct dim_table *t = &model_program(m)->dims;
    for (int i = 0; i < t->nsymbols; i++)
        if (t->symbols[i].separable)
            return true;
    return false;
}

struct batch_inputs { /* of a model */
    struct tensor in[4];
    float data[4][MAX_ELEMENTS];
};

/* Made-up numbers; open dims are the batch. */
static void fill(const struct model *m, struct batch_inputs *b, int64_t items)
{
    const struct program *p = model_program(m);
    uint32_t seed = 1;
    for (int i = 0; i < p->regions[0].nparams; i++) {
        const struct type *t = &p->slots[p->regions[0].params[i]].type;
        int64_t dims[MAX_RANK];
        for (int k = 0; k < t->rank; k++)
            dims[k] = dim_is_const(t->dims[k]) ? t->dims[k] : items;
        b->in[i] = tensor_view(t->dtype, t->rank, dims, b->data[i]);
        assert_true(tensor_count(&b->in[i]) <= MAX_ELEMENTS);
        for (int64_t e = 0; e < tensor_count(&b->in[i]); e++) {
            seed = seed * 1664525u + 1013904223u;
            b->data[i][e] = (float)(seed >> 8) / (1 << 23) - 1;
        }
    }
}

static void set_inputs(struct context *c, const struct model *m, const struct batch_inputs *b, int64_t item)
{
    for (int i = 0; i < model_program(m)->regions[0].nparams; i++) {
        struct tensor t = b->in[i];
        const struct slot *s = &model_program(m)->slots[model_program(m)->regions[0].params[i]];
        if (item >= 0 && !dim_is_const(s->type.dims[0])) {
            t.data = (char *)t.data + (int64_t)tensor_bytes(&t) / BATCH * item;
            t.dims[0] = 1;
        }
        must(context_set_input(c, i, &t, &d));
    }
}

/* Groups of `items` have the bits of items by themselves; twice, since plans and memory are kept. */
static void same_as_alone(const char *graph, int64_t items, int threads)
{
    static struct batch_inputs b;
    struct model *m = compile(graph);
    assert_true(is_separable(m));
    struct context *all = context_new(m, threads, &d), *one = context_new(m, 1, &d);
    must(all && one);
    context_set_group(all, items);
    fill(m, &b, BATCH);
    set_inputs(all, m, &b, -1);
    must(context_run(all, &d) && context_run(all, &d));
    for (int64_t item = 0; item < BATCH; item++) {
        set_inputs(one, m, &b, item);
        must(context_run(one, &d));
        for (int i = 0; i < model_program(m)->regions[0].nresults; i++) {
            const struct tensor *y = context_output(all, i), *x = context_output(one, i);
            size_t each = tensor_bytes(y) / BATCH;
            assert_int_equal(y->dims[0], x->dims[0] * BATCH);
            assert_int_equal(each, tensor_bytes(x));
            assert_memory_equal((char *)y->data + each * (size_t)item, x->data, each);
        }
    }
    context_free(all);
    context_free(one);
    close_model(m);
}

#define GRAPH(inputs, body) "graph \"g\" (" inputs ") {\n" body "} outputs(\"y\")\n"
#define IMAGES "%0 \"x\": f32[n,2,6,5]"
#define ROWS   "%0 \"x\": f32[n,3,8]"

static const char *const separable[] = {
    GRAPH(IMAGES ", %1 \"w\": f32[4,2,3,3]",
          "  %2 = conv(%0, %1) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]}\n  %3 = relu(%2)\n"
          "  %4 = max_pool(%3) {kernel_shape=[2, 2], strides=[2, 2]}\n"
          "  %5 = reduce_mean(%4) {axes=[2, 3], keepdims=0}\n  %6 = softmax(%5) {axis=1}\n  return(%6)\n"),
    GRAPH(ROWS, "  %c0 = const i64[3] {-1, 4, 2}\n  %2 = reshape(%0, %c0)\n  %3 = transpose(%2) {perm=[1, 0, 2]}\n"
                "  %4 = exp(%3)\n  %5 = transpose(%4) {perm=[1, 0, 2]}\n  %6 = reduce_sum(%5) {axes=[2]}\n"
                "  return(%6)\n"),
    GRAPH(ROWS ", %1 \"w\": f32[8,8]",
          "  %2 = matmul(%0, %1)\n  %3 = transpose(%2) {perm=[0, 2, 1]}\n  %4 = matmul(%0, %3)\n"
          "  %c0 = const f32[3] {1, 2, 3}\n  %5 = layer_norm(%4, %c0) {axis=-1}\n  return(%5)\n"),
};

static void groups_of_one(void **state)
{
    for (size_t i = 0; i < 3; i++)
        same_as_alone(separable[i], 1, 1);
}

static void groups_of_two_sizes(void **state)
{
    for (size_t i = 0; i < 2; i++)
        same_as_alone(separable[i], 4, 1);
}

static void side_by_side(void **state)
{
    for (size_t i = 0; i < 3; i++)
        for (int threads = 2; threads <= 4; threads++)
            same_as_alone(separable[i], 1, threads);
}

static void items_that_meet(void **state)
{
    static const char *const graphs[] = {
        GRAPH(ROWS, "  %2 = softmax(%0) {axis=0}\n  return(%2)\n"),
        GRAPH(ROWS, "  %2 = reduce_mean(%0) {axes=[0]}\n  %3 = sub(%0, %2)\n  return(%3)\n"),
        GRAPH(ROWS, "  %2 = reverse(%0) {axes=[0]}\n  return(%2)\n"),
        GRAPH(ROWS, "  %c0 = const i64[] {0}\n  %2 = cumsum(%0, %c0)\n  return(%2)\n"),
        GRAPH(ROWS, "  %2 = transpose(%0) {perm=[1, 0, 2]}\n  return(%2)\n"),
        GRAPH(ROWS, "  %2 = shape(%0) {start=0, end=1}\n  %3 = cast(%2) {to=1}\n  %4 = mul(%0, %3)\n  return(%4)\n"),
        GRAPH(ROWS ", %1 \"w\": f32[n,4]", "  %2 = transpose(%0) {perm=[1, 2, 0]}\n  %3 = matmul(%2, %1)\n"
                                         "  %4 = reduce_sum(%3) {axes=[0, 1]}\n  %5 = reduce_sum(%4)\n"
                                         "  %6 = add(%0, %5)\n  return(%6)\n"),
        GRAPH(IMAGES, "  %2, %3 = max_pool(%0) {kernel_shape=[2, 2], strides=[2, 2]}\n  return(%3)\n"),
        GRAPH("%0 \"x\": f32[n,n]", "  %2 = relu(%0)\n  return(%2)\n"),
    };
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        struct model *m = compile(graphs[i]);
        if (is_separable(m))
            fail_msg("%s: separable", graphs[i]);
        close_model(m);
    }
}

#define LARGE(n) \
    GRAPH("%0 \"x\": f32[" n ",64,256,32]", "  %2 = softmax(%0) {axis=3}\n  %c0 = const i64[] {1}\n" \
                                            "  %3 = cumsum(%2, %c0)\n  %4 = softmax(%3) {axis=3}\n  return(%4)\n")

/* By sizes alone: small tensors are computed at once, large ones in groups, which is seen in what the context holds. */
static void sizes_tell(void **state)
{
    static float data[24 * 64 * 256 * 32];
    struct model *m = compile(LARGE("n"));
    struct context *c = context_new(m, 1, &d);
    int64_t arena[3];
    for (int i = 0; i < 3; i++) {
        int64_t items = (int64_t[]){1, 2, 24}[i];
        struct tensor x = tensor_view(DT_F32, 4, (int64_t[]){items, 64, 256, 32}, data);
        must(context_set_input(c, 0, &x, &d) && context_run(c, &d));
        assert_int_equal(context_output(c, 0)->dims[0], items);
        arena[i] = context_arena_bytes(c);
    }
    assert_true(arena[1] == 2 * arena[0] && arena[2] < 8 * arena[0]);
    context_free(c);
    close_model(m);
}

/* A batch that the model states: in groups too, while inputs of another size are refused, of a group's among them. */
static void stated_batch(void **state)
{
    static float data[24 * 64 * 256 * 32];
    struct model *m = compile(LARGE("n"));
    struct xcc_bytes open = archive;
    struct model *stated = compile(LARGE("24"));
    struct context *c = context_new(m, 1, &d);
    struct tensor x = tensor_view(DT_F32, 4, (int64_t[]){24, 64, 256, 32}, data);
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        data[i] = (float)(i % 97) / 8;
    must(context_set_input(c, 0, &x, &d) && context_run(c, &d));
    for (int threads = 1; threads <= 3; threads += 2) {
        struct context *s = context_new(stated, threads, &d);
        int64_t ahead = context_arena_bytes(s);
        for (int again = 0; again < 2; again++) {
            must(context_set_input(s, 0, &x, &d) && context_run(s, &d));
            const struct tensor *y = context_output(s, 0);
            assert_int_equal(y->dims[0], 24);
            assert_memory_equal(y->data, context_output(c, 0)->data, tensor_bytes(y));
            assert_int_equal(context_arena_bytes(s), ahead); /* what a context prepares is what runs need */
            for (int items = 1; items < 24; items++) {
                struct tensor part = tensor_view(DT_F32, 4, (int64_t[]){items, 64, 256, 32}, data);
                must(context_set_input(s, 0, &part, &d));
                assert_false(context_run(s, &d));
                assert_non_null(strstr(d.text, ",64,256,32], expected f32[24,64,256,32]"));
                diag_clear(&d);
            }
        }
        assert_true(ahead > 0 && ahead < 8 * 64 * 256 * 32 * 4);
        context_free(s);
    }
    context_free(c);
    close_model(stated);
    model_free(m);
    xcc_bytes_free(&open);
}

static void memory_of_the_caller(void **state)
{
    static struct batch_inputs b;
    static _Alignas(64) float room[MAX_ELEMENTS];
    struct model *m = compile(separable[1]);
    struct context *c = context_new(m, 1, &d), *own = context_new(m, 1, &d);
    context_set_group(c, 2);
    fill(m, &b, BATCH);
    set_inputs(c, m, &b, -1);
    set_inputs(own, m, &b, -1);
    must(context_run(own, &d) && context_set_output(c, 0, room, sizeof room, &d) && context_run(c, &d));
    const struct tensor *x = context_output(own, 0), *y = context_output(c, 0);
    assert_ptr_equal(y->data, room);
    assert_memory_equal(x->data, room, tensor_bytes(x));
    must(context_set_output(c, 0, room, tensor_bytes(x) - 4, &d));
    assert_false(context_run(c, &d));
    assert_non_null(strstr(d.text, "the memory given for it"));
    diag_clear(&d);
    must(context_set_output(c, 0, NULL, 0, &d) && context_run(c, &d));
    assert_memory_equal(x->data, context_output(c, 0)->data, tensor_bytes(x));
    context_free(c);
    context_free(own);
    close_model(m);
}

static void inputs_that_do_not_fit(void **state)
{
    static struct batch_inputs b;
    struct model *m = compile(GRAPH(ROWS ", %1 \"z\": f32[n,3,8]", "  %2 = add(%0, %1)\n  return(%2)\n"));
    struct context *c = context_new(m, 1, &d);
    context_set_group(c, 1);
    fill(m, &b, BATCH);
    b.in[1].dims[0] = BATCH - 1;
    set_inputs(c, m, &b, -1);
    assert_false(context_run(c, &d));
    assert_non_null(strstr(d.text, "input 'z' is f32[10,3,8], expected f32[n,3,8]"));
    diag_clear(&d);
    b.in[1].dims[0] = BATCH, b.in[1].dims[1] = 2;
    set_inputs(c, m, &b, -1);
    assert_false(context_run(c, &d));
    assert_non_null(strstr(d.text, "input 'z' is f32[11,2,8], expected f32[n,3,8]"));
    diag_clear(&d);
    b.in[1].dims[1] = 3;
    set_inputs(c, m, &b, -1);
    must(context_run(c, &d));
    context_free(c);
    close_model(m);
}

/* Of items without elements there may be any number, and of their results not. */
static void items_without_elements(void **state)
{
    static _Alignas(64) float room[16];
    struct model *m = compile(GRAPH("%0 \"x\": f32[n,0]", "  %2 = reduce_sum(%0) {axes=[1]}\n  return(%2)\n"));
    struct context *c = context_new(m, 1, &d);
    struct tensor x = tensor_view(DT_F32, 2, (int64_t[]){INT64_C(1) << 62, 0}, room);
    context_set_group(c, 1);
    must(context_set_output(c, 0, room, sizeof room, &d) && context_set_input(c, 0, &x, &d));
    assert_false(context_run(c, &d));
    assert_non_null(strstr(d.text, "output 'y' is too large"));
    diag_clear(&d);
    must(context_set_output(c, 0, NULL, 0, &d));
    assert_false(context_run(c, &d));
    diag_clear(&d);
    x.dims[0] = 3;
    must(context_set_input(c, 0, &x, &d) && context_run(c, &d));
    assert_int_equal(context_output(c, 0)->dims[0], 3);
    context_free(c);
    close_model(m);
}

static void limits(void **state)
{
    static struct batch_inputs b;
    struct model *m = compile(separable[0]);
    for (int threads = 1; threads <= 3; threads += 2) {
        struct context *c = context_new(m, threads, &d);
        context_set_group(c, 1);
        fill(m, &b, BATCH);
        set_inputs(c, m, &b, -1);
        context_cancel(c);
        assert_false(context_run(c, &d));
        assert_non_null(strstr(d.text, "cancelled"));
        diag_clear(&d);
        must(context_run(c, &d));
        context_set_limits(c, &(struct run_limits){.steps = 12});
        assert_false(context_run(c, &d)); /* enough for an item, too few for all */
        assert_non_null(strstr(d.text, "steps, its limit"));
        diag_clear(&d);
        context_free(c);
    }
    close_model(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_one),        cmocka_unit_test(groups_of_two_sizes),
        cmocka_unit_test(side_by_side),         cmocka_unit_test(items_that_meet),
        cmocka_unit_test(sizes_tell),           cmocka_unit_test(memory_of_the_caller),
        cmocka_unit_test(inputs_that_do_not_fit), cmocka_unit_test(items_without_elements),
        cmocka_unit_test(limits),               cmocka_unit_test(stated_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
