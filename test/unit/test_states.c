/*
 * xrt_bind_state: an output that is an input with more behind it, kept in one memory run after run, has the bits that
 * it has with copies; what cannot be kept is refused.
 */
#include "neff/archive/archive.h"
#include "neff/isa/asm.h"
#include "states_test.h"

#include <stdio.h>

enum { WIDTH = 8, LIMIT = 1 << 14, STEPS = 7, CAPACITY = 16 };

/* Decoders of one layer: q, the new keys and values, what there is of both; y, and both with the new behind them. */
struct decoder {
    const char *name, *graph;
    int heads, groups, axis; /* of q; of keys; the axis that grows: 2 of (b,heads,s,d), 1 of (b,s,heads,d) */
    int queries;             /* of a step */
};

static const struct decoder decoders[] = {
    {"heads first",
     "graph \"g\" symbols(b, s, p) (%0 \"q\": f32[b,3,s,8], %1 \"k\": f32[b,3,s,8], %2 \"v\": f32[b,3,s,8], %3 \"pk\": "
     "f32[b,3,p,8], %4 \"pv\": f32[b,3,p,8]) {\n"
     "  %5 = concat(%3, %1) {axis=2}\n  %6 = concat(%4, %2) {axis=-2}\n  %7 = sdpa(%0, %5, %6) {scale=0.5}\n"
     "  return(%7, %5, %6)\n} outputs(\"y\", \"nk\", \"nv\")\n",
     3, 3, 2, 2},
    {"one query",
     "graph \"g\" symbols(b, p) (%0 \"q\": f32[b,3,1,8], %1 \"k\": f32[b,3,1,8], %2 \"v\": f32[b,3,1,8], %3 \"pk\": "
     "f32[b,3,p,8], %4 \"pv\": f32[b,3,p,8]) {\n"
     "  %5 = concat(%3, %1) {axis=2}\n  %6 = concat(%4, %2) {axis=2}\n  %7 = sdpa(%0, %5, %6) {scale=0.5}\n"
     "  return(%7, %5, %6)\n} outputs(\"y\", \"nk\", \"nv\")\n",
     3, 3, 2, 1},
    {"shared heads",
     "graph \"g\" symbols(b, s, p) (%0 \"q\": f32[b,2,3,s,8], %1 \"k\": f32[b,2,s,8], %2 \"v\": f32[b,2,s,8], %3 "
     "\"pk\": "
     "f32[b,2,p,8], %4 \"pv\": f32[b,2,p,8]) {\n"
     "  %c0 = const i64[1] {2}\n  %5 = concat(%3, %1) {axis=2}\n  %6 = concat(%4, %2) {axis=2}\n"
     "  %7 = unsqueeze(%5, %c0)\n  %8 = unsqueeze(%6, %c0)\n  %9 = sdpa(%0, %7, %8) {scale=0.5}\n"
     "  return(%9, %5, %6)\n} outputs(\"y\", \"nk\", \"nv\")\n",
     6, 2, 2, 1},
    {"tokens first",
     "graph \"g\" symbols(b, s, p) (%0 \"q\": f32[b,3,s,8], %1 \"k\": f32[b,s,3,8], %2 \"v\": f32[b,s,3,8], %3 \"pk\": "
     "f32[b,p,3,8], %4 \"pv\": f32[b,p,3,8]) {\n"
     "  %5 = concat(%3, %1) {axis=1}\n  %6 = concat(%4, %2) {axis=1}\n"
     "  %7 = transpose(%5) {perm=[0, 2, 1, 3]}\n  %8 = transpose(%6) {perm=[0, 2, 1, 3]}\n"
     "  %9 = sdpa(%0, %7, %8) {scale=0.5}\n  return(%9, %5, %6)\n} outputs(\"y\", \"nk\", \"nv\")\n",
     3, 3, 1, 2},
};
enum { DECODERS = sizeof decoders / sizeof *decoders };

/* q, k and v of a step, and a past of that length. */
static void step_inputs(const struct decoder *d, int64_t batch, int64_t past, float data[5][LIMIT],
                        struct xrt_tensor t[5])
{
    bool five = strstr(d->graph, "b,2,3,s") != NULL;
    int64_t q4[] = {batch, d->heads, d->queries, WIDTH}, q5[] = {batch, 2, 3, d->queries, WIDTH};
    t[0] = five ? made_up(data[0], LIMIT, 5, q5) : made_up(data[0], LIMIT, 4, q4);
    for (int i = 1; i < 5; i++) {
        int64_t length = i < 3 ? d->queries : past;
        int64_t dims[] = {batch, d->axis == 2 ? d->groups : length, d->axis == 2 ? length : d->groups, WIDTH};
        t[i] = made_up(data[i], LIMIT, 4, dims);
    }
}

/* Steps from a past, `copied` with what came out of the one before, `bound` in place. */
static void decode(const struct decoder *d, struct xrt_context *copied, struct xrt_context *bound, int64_t batch,
                   int64_t past, int steps)
{
    static float data[5][LIMIT], caches[2][LIMIT];
    struct xrt_tensor t[5], y;
    for (int s = 0; s < steps; s++) {
        step_inputs(d, batch, past, data, t);
        for (int i = 0; i < (s ? 3 : 5); i++)
            must(xrt_set_input(bound, i, &t[i]));
        for (int i = 3; i < 5 && s; i++) {
            must(xrt_output(copied, i - 2, &y));
            memcpy(caches[i - 3], y.data, bytes_of(&y));
            t[i] = y, t[i].data = caches[i - 3];
        }
        for (int i = 0; i < 5; i++)
            must(xrt_set_input(copied, i, &t[i]));
        must(xrt_run(copied) && xrt_run(bound));
        same_output(copied, bound, 0);
        for (int i = 1; i < 3 && s % 2; i++)
            same_output(copied, bound, i);
    }
}

static void test_steps(void **state)
{
    for (int i = 0; i < DECODERS; i++)
        for (int threads = 1; threads < 3; threads++) {
            const struct decoder *d = &decoders[i];
            struct xcc_bytes archive;
            struct xrt_model *m = open_graph(d->graph, &archive);
            struct xrt_context *copied = xrt_context_new(m, threads), *bound = xrt_context_new(m, threads);
            for (int k = 1; k < 3; k++) {
                assert_int_equal(xrt_output_info(m, k)->grows_from, 3 + k);
                assert_int_equal(xrt_output_info(m, k)->axis, d->axis);
                must(xrt_bind_state(bound, 2 + k, k, CAPACITY));
            }
            assert_int_equal(xrt_output_info(m, 0)->grows_from, 0);
            decode(d, copied, bound, 2, 2, STEPS);
            decode(d, copied, bound, 2, 0, 3); /* anew, from nothing */
            decode(d, copied, bound, 1, 5, 3); /* another batch */
            xrt_context_free(copied);
            xrt_context_free(bound);
            xrt_close(m);
            xcc_bytes_free(&archive);
        }
}

/* A tensor without data keeps the first elements of what is held. */
static void test_a_step_taken_back(void **state)
{
    static float data[5][LIMIT];
    struct xcc_bytes archive;
    struct xrt_tensor t[5], first, again;
    struct xrt_model *m = open_graph(decoders[0].graph, &archive);
    struct xrt_context *c = xrt_context_new(m, 1);
    must(xrt_bind_state(c, 3, 1, 6) && xrt_bind_state(c, 4, 2, 6));
    step_inputs(&decoders[0], 1, 3, data, t);
    for (int i = 0; i < 5; i++)
        must(xrt_set_input(c, i, &t[i]));
    must(xrt_run(c) && xrt_output(c, 0, &first));
    float *copy = malloc(bytes_of(&first));
    memcpy(copy, first.data, bytes_of(&first));
    for (int i = 3; i < 5; i++) {
        t[i].data = NULL;
        must(xrt_set_input(c, i, &t[i]));
    }
    must(xrt_run(c) && xrt_output(c, 0, &again));
    assert_memory_equal(copy, again.data, bytes_of(&again));
    assert_false(xrt_run(c)); /* 5 and 2 more */
    assert_non_null(strstr(xrt_error(), "output 'nk' would have 7 along axis 2, its state has room for 6"));
    t[3].dims[2] = 6;
    must(xrt_set_input(c, 3, &t[3]));
    assert_false(xrt_run(c));
    for (int i = 3; i < 5; i++) { /* what failed has changed nothing */
        t[i].dims[2] = 3;
        must(xrt_set_input(c, i, &t[i]));
    }
    must(xrt_run(c) && xrt_output(c, 0, &again));
    assert_memory_equal(copy, again.data, bytes_of(&again));
    free(copy);
    xrt_context_free(c);
    xrt_close(m);
    xcc_bytes_free(&archive);
}

/* An output is there until the next run, whatever inputs were set meanwhile, and an input may lie in it. */
static void test_inputs_set_early(void **state)
{
    static float data[5][LIMIT], copy[LIMIT];
    struct xcc_bytes archive;
    struct xrt_tensor t[5], cache[2], y, fresh_y;
    struct xrt_model *m = open_graph(decoders[0].graph, &archive);
    struct xrt_context *c = xrt_context_new(m, 1), *fresh = xrt_context_new(m, 1);
    must(xrt_bind_state(c, 3, 1, 8) && xrt_bind_state(c, 4, 2, 8));
    step_inputs(&decoders[0], 2, 3, data, t);
    for (int i = 0; i < 5; i++)
        must(xrt_set_input(c, i, &t[i]));
    must(xrt_run(c));
    t[3].dims[0] = 1, t[3].dims[2] = 5000;
    must(xrt_set_input(c, 3, &t[3]) && xrt_output(c, 1, &cache[0]) && xrt_output(c, 2, &cache[1]));
    assert_int_equal(cache[0].dims[0], 2);
    assert_int_equal(cache[0].dims[2], 5);
    step_inputs(&decoders[0], 1, 3, data, t);
    for (int i = 3; i < 5; i++) { /* another batch: its memory is made anew, the input lies in the old one */
        t[i] = cache[i - 3];
        t[i].dims[0] = 1;
        memcpy(copy + (i - 3) * LIMIT / 2, t[i].data, bytes_of(&t[i]));
    }
    for (int i = 0; i < 5; i++)
        must(xrt_set_input(c, i, &t[i]));
    for (int i = 0; i < 5; i++) {
        t[i].data = i < 3 ? t[i].data : copy + (i - 3) * LIMIT / 2;
        must(xrt_set_input(fresh, i, &t[i]));
    }
    must(xrt_run(c) && xrt_run(fresh) && xrt_output(c, 0, &y) && xrt_output(fresh, 0, &fresh_y));
    assert_memory_equal(y.data, fresh_y.data, bytes_of(&y));
    xrt_context_free(c);
    xrt_context_free(fresh);
    xrt_close(m);
    xcc_bytes_free(&archive);
}

static void refused(bool done, const char *text)
{
    assert_false(done);
    if (!strstr(xrt_error(), text))
        fail_msg("'%s' has no '%s'", xrt_error(), text);
}

static void test_refusals(void **state)
{
    static float memory[LIMIT] __attribute__((aligned(64)));
    struct xcc_bytes archive;
    struct xrt_model *m = open_graph(decoders[0].graph, &archive);
    struct xrt_context *c = xrt_context_new(m, 1);
    refused(xrt_bind_state(c, 5, 1, 8), "input 5 of a model that has 5");
    refused(xrt_bind_state(c, 3, -1, 8), "output -1 of a model that has 3");
    refused(xrt_bind_state(c, 3, 2, 8), "output 'nv' is not what input 'pk' grows into: that is 'nk'");
    refused(xrt_bind_state(c, 0, 0, 8), "output 'y' is not known to be input 'q' with more behind it");
    refused(xrt_bind_state(c, 3, 1, 0), "a capacity of 0 for output 'nk'");
    refused(xrt_bind_state(c, 3, 1, INT64_MAX), "a capacity of");
    must(xrt_set_output(c, 1, memory, sizeof memory));
    refused(xrt_bind_state(c, 3, 1, 8), "output 'nk' is written to the caller's memory");
    must(xrt_set_output(c, 1, NULL, 0) && xrt_bind_state(c, 3, 1, 8));
    refused(xrt_set_output(c, 1, memory, sizeof memory), "output 'nk' stays in the memory of its state");
    refused(xrt_run(c), "input 'q' is not set");
    xrt_context_free(c);
    xrt_close(m);
    xcc_bytes_free(&archive);
}

/* Others than attention read the keys: they stay as they were. */
static void test_other_readers(void **state)
{
    struct xcc_bytes archive;
    struct xrt_model *m = open_graph("graph \"g\" symbols(p) (%0 \"x\": f32[1,3,p,8], %1 \"n\": f32[1,3,1,8]) {\n"
                                     "  %2 = concat(%0, %1) {axis=2}\n  %3 = exp(%2)\n  return(%2, %3)\n"
                                     "} outputs(\"y\", \"e\")\n",
                                     &archive);
    struct xrt_context *c = xrt_context_new(m, 1);
    assert_int_equal(xrt_output_info(m, 0)->grows_from, 0);
    refused(xrt_bind_state(c, 0, 0, 8), "is not known to be input 'x'");
    xrt_context_free(c);
    xrt_close(m);
    xcc_bytes_free(&archive);
}

/* An output of before is gone with the plan; memory that xrt_output shows may be given back, of another batch too. */
static void test_binding_after_a_run(void **state)
{
    static float data[5][LIMIT];
    struct xcc_bytes archive;
    struct xrt_tensor t[5], y;
    struct xrt_model *m = open_graph(decoders[0].graph, &archive);
    struct xrt_context *c = xrt_context_new(m, 1), *other = xrt_context_new(m, 1);
    step_inputs(&decoders[0], 2, 3, data, t);
    for (int i = 0; i < 5; i++)
        must(xrt_set_input(c, i, &t[i]) && xrt_set_input(other, i, &t[i]));
    must(xrt_run(other) && xrt_run(c) && xrt_bind_state(c, 3, 1, CAPACITY) && xrt_bind_state(c, 4, 2, CAPACITY));
    refused(xrt_output(c, 1, &y), "the last run did not succeed");
    must(xrt_run(c));
    for (int i = 0; i < 3; i++)
        same_output(other, c, i);
    t[3].data = NULL;
    must(xrt_set_input(other, 3, &t[3]));
    refused(xrt_run(other), "input 'pk' has no data");
    step_inputs(&decoders[0], 1, 5, data, t);
    for (int i = 0; i < 5; i++)
        must(xrt_set_input(c, i, &t[i]) && xrt_set_input(other, i, &t[i]));
    for (int i = 1; i < 3; i++) {
        must(xrt_output(c, i, &y));
        memcpy(data[2 + i], y.data, sizeof(float) * 3 * 5 * WIDTH);
        y.dims[0] = 1;
        must(xrt_set_input(c, 2 + i, &y));
    }
    must(xrt_run(c) && xrt_run(other));
    for (int i = 0; i < 3; i++)
        same_output(other, c, i);
    xrt_context_free(c);
    xrt_context_free(other);
    xrt_close(m);
    xcc_bytes_free(&archive);
}

static char *text_of_archive(const struct xcc_bytes *archive)
{
    struct neff_file file;
    struct diag d = {0};
    static char *text;
    static size_t n;
    FILE *f = open_memstream(&text, &n);
    assert_true(neff_open_memory(&file, archive->data, archive->size, "decoder", &d));
    struct program *p = neff_program(&file, false, &d);
    assert_true(p && program_print(p, f));
    program_free(p);
    neff_close(&file);
    fclose(f);
    return text;
}

/* Archives whose kernels would reach more than a runtime's memory for the state are refused. */
static void test_states_that_lie(void **state)
{
    static const char *const lies[][2] = {
        {"(pitch(p,0)) (pitch(p+1,0))", "(pitch(p,0)) (pitch(p+1,0))"}, /* none */
        {"(pitch(p,0)) (pitch(p+1,0))", "(pitch(p,0)) 99999"},
        {"(pitch(p,0)) (pitch(p+1,0))", "(pitch(p,0)) (9*p)"},
        {"(pitch(p,0)) (pitch(p+1,0))", "(pitch(p,0)) (pitch(p+1,1))"},
        {"(pitch(p,0)) (pitch(p+1,0))", "(pitch(p,0)) (pitch(p,0))"},
        {"(pitch(p,0)) (pitch(p+1,0))", "(pitch(p+1,0)) (pitch(p+1,0))"},
        {"-> (%5, %6, %7)", "-> (%6, %6, %7)"},
        {"(%0, %1, %2, %3, %4) ->", "(%0, %1, %3, %3, %4) ->"},
    };
    struct xcc_bytes archive;
    xrt_close(open_graph(decoders[1].graph, &archive));
    char *text = text_of_archive(&archive);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct diag d = {0};
        char *at = strstr(text, lies[i][0]), *lie = malloc(strlen(text) + 64);
        assert_non_null(at);
        sprintf(lie, "%.*s%s%s", (int)(at - text), text, lies[i][1], at + strlen(lies[i][0]));
        struct program *p = program_parse(lie, strlen(lie), "lie", &d);
        if (!p != (i > 0) || (i && !strstr(d.text, "state 0 is malformed")))
            fail_msg("%s: %s", lies[i][1], p ? "taken" : d.text);
        program_free(p);
        free(lie);
    }
    free(text);
    xcc_bytes_free(&archive);
}

/* What x meets has fixed sizes: dims of x and of the result are equal by a guard, and have other names. */
static void test_sizes_by_a_guard(void **state)
{
    struct xcc_bytes archive;
    struct xrt_model *m = open_graph("graph \"g\" symbols(b, s) (%0 \"x\": f32[b,s,4]) {\n"
                                     "  %c0 = const f32[1,2,1] {1, 2}\n  %1 = concat(%0, %c0) {axis=2}\n"
                                     "  return(%1)\n} outputs(\"y\")\n",
                                     &archive);
    struct xrt_context *c = xrt_context_new(m, 1);
    refused(xrt_bind_state(c, 0, 0, 8), "is not known to be input 'x'");
    xrt_context_free(c);
    xrt_close(m);
    xcc_bytes_free(&archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps),
                                       cmocka_unit_test(test_a_step_taken_back),
                                       cmocka_unit_test(test_inputs_set_early),
                                       cmocka_unit_test(test_sizes_by_a_guard),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_other_readers),
                                       cmocka_unit_test(test_binding_after_a_run),
                                       cmocka_unit_test(test_states_that_lie)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
