/*
 * xrt_bind_state where an output is an input with parts written over (a window, rows along an axis, single elements, in
 * a loop), or a cache with rows behind those that each batch has: the bits of runs with copies, step after step.
 */
#include "states_test.h"

enum { LIMIT = 1 << 12, INPUTS = 8, STEPS = 6 };

struct given_inputs {
    struct xrt_tensor t[INPUTS];
    union {
        float f[LIMIT];
        int64_t i[LIMIT / 2];
    } data[INPUTS];
    int n;
};

static void floats(struct given_inputs *in, int rank, const int64_t *dims)
{
    in->t[in->n] = made_up(in->data[in->n].f, LIMIT, rank, dims);
    in->n++;
}

static void integers(struct given_inputs *in, int rank, const int64_t *dims, const int64_t *values, int n)
{
    struct xrt_tensor *t = &in->t[in->n];
    *t = (struct xrt_tensor){.dtype = "i64", .rank = rank, .data = &in->data[in->n]};
    memcpy(t->dims, dims, sizeof *dims * (size_t)rank);
    memcpy(in->data[in->n++].i, values, sizeof *values * (size_t)n);
}

/* One model; its states are its last inputs and outputs, in order. */
struct states_case {
    const char *name, *graph;
    int nstates, capacity, outputs;
    void (*fill)(struct given_inputs *in, int step); /* all of them; states as before the first step */
};

/* Runs the steps with copies and in place; `in` are the inputs of the step, states with what the copies have. */
static void steps(const struct states_case *c, struct xrt_context *copied, struct xrt_context *bound, int from)
{
    static struct given_inputs in, kept;
    for (int s = 0; s < STEPS; s++) {
        struct xrt_tensor y;
        in.n = 0;
        c->fill(&in, from + s);
        int first = in.n - c->nstates;
        for (int i = 0; i < in.n; i++) {
            if (i < first || s == 0)
                must(xrt_set_input(bound, i, &in.t[i]));
            if (i >= first && s) {
                must(xrt_output(copied, c->outputs - in.n + i, &y));
                memcpy(&kept.data[i], y.data, bytes_of(&y));
                in.t[i] = y, in.t[i].data = &kept.data[i];
            }
            must(xrt_set_input(copied, i, &in.t[i]));
        }
        must(xrt_run(copied) && xrt_run(bound));
        for (int i = 0; i < c->outputs; i++)
            same_output(copied, bound, i);
    }
}

/* ---- parts written over ---- */

static const int64_t cache_dims[] = {2, 12, 8};

static void fill_window(struct given_inputs *in, int step)
{
    floats(in, 3, (int64_t[]){2, 1, 8});
    integers(in, 1, (int64_t[]){3}, (int64_t[]){0, step, 0}, 3);
    floats(in, 3, cache_dims);
}

static void fill_elements(struct given_inputs *in, int step)
{
    int64_t at[16];
    for (int i = 0; i < 16; i++)
        at[i] = step;
    floats(in, 3, (int64_t[]){2, 1, 8});
    integers(in, 3, (int64_t[]){2, 1, 8}, at, 16);
    floats(in, 3, cache_dims);
}

static void fill_points(struct given_inputs *in, int step)
{
    floats(in, 2, (int64_t[]){2, 8});
    integers(in, 2, (int64_t[]){2, 2}, (int64_t[]){0, step, 1, step + 1}, 4);
    floats(in, 3, cache_dims);
}

static void fill_rows(struct given_inputs *in, int step)
{
    floats(in, 3, (int64_t[]){2, 2, 8});
    integers(in, 2, (int64_t[]){2, 1}, (int64_t[]){step, -1 - step}, 2);
    floats(in, 3, cache_dims);
}

static void fill_places(struct given_inputs *in, int step)
{
    floats(in, 3, (int64_t[]){2, 1, 8});
    integers(in, 1, (int64_t[]){2}, (int64_t[]){step, step + 2}, 2);
    floats(in, 3, cache_dims);
}

#define GRAPH(update, at, body)                                                                                        \
    "graph \"g\" (%0 \"u\": f32[" update "], %1 \"at\": i64[" at "], %2 \"x\": f32[2,12,8]) {\n" body                  \
    "  %9 = mul(%3, %3)\n  return(%9, %3)\n} outputs(\"y\", \"z\")\n"

static const struct states_case updates[] = {
    {"a window", GRAPH("2,1,8", "3", "  %3 = dynamic_update_slice(%2, %0, %1)\n"), 1, 12, 2, fill_window},
    {"two windows",
     GRAPH("2,1,8", "3",
           "  %4 = dynamic_update_slice(%2, %0, %1)\n  %5 = neg(%0)\n  %6 = add(%1, %1)\n"
           "  %3 = dynamic_update_slice(%4, %5, %6)\n"),
     1, 12, 2, fill_window},
    {"elements", GRAPH("2,1,8", "2,1,8", "  %3 = scatter_elements(%2, %1, %0) {axis=1}\n"), 1, 12, 2, fill_elements},
    {"points", GRAPH("2,8", "2,2", "  %3 = scatter_nd(%2, %1, %0)\n"), 1, 12, 2, fill_points},
    {"sums at points",
     GRAPH("2,8", "2,2", "  %3 = scatter_nd(%2, %1, %0) {reduction=\"add\"}\n"), 1, 12, 2, fill_points},
    {"rows turned to the front and back",
     GRAPH("2,2,8", "2,1",
           "  %4 = transpose(%2) {perm=[1, 0, 2]}\n  %5 = scatter_nd(%4, %1, %0)\n"
           "  %3 = transpose(%5) {perm=[1, 0, 2]}\n"),
     1, 12, 2, fill_rows},
    {"a place for each batch", GRAPH("2,1,8", "2", "  %3 = tensor_scatter(%2, %0, %1)\n"), 1, 12, 2, fill_places},
    {"in a loop",
     "graph \"g\" (%0 \"u\": f32[2,1,8], %1 \"at\": i64[3], %2 \"x\": f32[2,12,8]) {\n"
     "  %c0 = const i64[] {0}\n"
     "  %3, %4 = while(%c0, %2) ^(%5: i64[], %6: f32[2,12,8]) {\n    %c1 = const i64[] {3}\n    %7 = lt(%5, %c1)\n"
     "    return(%7)\n"
     "  } ^(%8: i64[], %10: f32[2,12,8]) {\n    %c2 = const i64[] {1}\n    %11 = add(%8, %c2)\n"
     "    %c3 = const i64[3] {0, 1, 0}\n"
     "    %12 = mul(%c3, %8)\n    %13 = add(%12, %1)\n    %14 = dynamic_update_slice(%10, %0, %13)\n"
     "    return(%11, %14)\n  }\n"
     "  %9 = mul(%4, %4)\n  return(%9, %4)\n} outputs(\"y\", \"z\")\n",
     1, 12, 2, fill_window},
};

/* ---- rows behind those of each batch ---- */

enum { PAST = 3, ROOM = 14 };

static void fill_cache(struct given_inputs *in, int step, int64_t room)
{
    int64_t before[] = {PAST + step, PAST - 1 + step}, past = PAST + step;
    floats(in, 5, (int64_t[]){2, 2, 3, 1, 8});
    floats(in, 4, (int64_t[]){2, 2, 1, 8});
    floats(in, 4, (int64_t[]){2, 2, 1, 8});
    integers(in, 1, (int64_t[]){2}, before, 2);
    floats(in, 1, (int64_t[]){past + 1});
    for (int i = 0; i < 2; i++)
        floats(in, 4, (int64_t[]){2, 2, room ? room : past, 8});
}

static void fill_growing(struct given_inputs *in, int step)
{
    fill_cache(in, step, 0);
}

static void fill_whole(struct given_inputs *in, int step)
{
    fill_cache(in, step, ROOM);
}

#define CACHE(past)                                                                                                    \
    "graph \"g\" symbols(s, p, t) (%0 \"q\": f32[2,2,3,s,8], %1 \"k\": f32[2,2,s,8], %2 \"v\": f32[2,2,s,8], "         \
    "%3 \"before\": i64[2], %4 \"all\": f32[t], %5 \"pk\": f32[2,2," past ",8], %6 \"pv\": f32[2,2," past ",8]) {\n"   \
    "  %c0 = const i64[1] {0}\n  %c2 = const i64[1] {2}\n  %c3 = const i64[1] {3}\n  %7 = shape(%4)\n"                 \
    "  %8 = cache_append(%5, %1, %3, %7)\n  %9 = cache_append(%6, %2, %3, %7)\n  %10 = unsqueeze(%8, %c2)\n"           \
    "  %11 = unsqueeze(%9, %c2)\n  %12 = slice(%10, %c0, %7, %c3)\n  %13 = slice(%11, %c0, %7, %c3)\n"                 \
    "  %14 = sdpa(%0, %12, %13) {scale=0.5}\n  return(%14, %8, %9)\n} outputs(\"y\", \"nk\", \"nv\")\n"

static const struct states_case caches[] = {
    {"growing", CACHE("p"), 2, 16, 3, fill_growing},
    {"with room", CACHE("p"), 2, 16, 3, fill_whole},
    {"of known room", CACHE("14"), 2, ROOM, 3, fill_whole},
};

static void check(const struct states_case *c)
{
    struct xcc_bytes archive;
    struct xrt_model *m = open_graph(c->graph, &archive);
    for (int threads = 1; threads < 3; threads++) {
        struct xrt_context *copied = xrt_context_new(m, threads), *bound = xrt_context_new(m, threads);
        int inputs = xrt_input_count(m);
        for (int i = 0; i < c->nstates; i++) {
            int input = inputs - c->nstates + i, output = c->outputs - c->nstates + i;
            if (xrt_output_info(m, output)->grows_from != 1 + input)
                fail_msg("%s: output %d grows from %d, expected input %d", c->name, output,
                         xrt_output_info(m, output)->grows_from, input);
            must(xrt_bind_state(bound, input, output, c->capacity));
        }
        steps(c, copied, bound, 0);
        steps(c, copied, bound, 2); /* anew, from another past */
        steps(c, copied, bound, 0); /* shorter than what lies there */
        xrt_context_free(copied);
        xrt_context_free(bound);
    }
    xrt_close(m);
    xcc_bytes_free(&archive);
}

static void test_updates(void **state)
{
    for (size_t i = 0; i < sizeof updates / sizeof *updates; i++)
        check(&updates[i]);
}

static void test_caches(void **state)
{
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++)
        check(&caches[i]);
}

/* A loop that computes all of what it carries anew, and an input that is read after the update: no states. */
static void test_no_states(void **state)
{
    static const char *const graphs[] = {
        "graph \"g\" (%0 \"x\": f32[4]) {\n  %c0 = const i64[] {0}\n"
        "  %1, %2 = while(%c0, %0) ^(%3: i64[], %4: f32[4]) {\n    %c1 = const i64[] {3}\n    %5 = lt(%3, %c1)\n"
        "    return(%5)\n"
        "  } ^(%6: i64[], %7: f32[4]) {\n    %c2 = const i64[] {1}\n    %8 = add(%6, %c2)\n    %9 = tanh(%7)\n"
        "    return(%8, %9)\n  }\n"
        "  return(%2)\n} outputs(\"y\")\n",
        "graph \"g\" (%0 \"x\": f32[4], %1 \"u\": f32[1], %2 \"at\": i64[1]) {\n"
        "  %3 = dynamic_update_slice(%0, %1, %2)\n"
        "  %4 = tanh(%0)\n  return(%3, %4)\n} outputs(\"y\", \"z\")\n"};
    for (int i = 0; i < 2; i++) {
        struct xcc_bytes archive;
        struct xrt_model *m = open_graph(graphs[i], &archive);
        assert_int_equal(xrt_output_info(m, 0)->grows_from, 0);
        xrt_close(m);
        xcc_bytes_free(&archive);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_updates),
        cmocka_unit_test(test_caches),
        cmocka_unit_test(test_no_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
