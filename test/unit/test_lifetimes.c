/* From where to where tiles live: random nests of loops that write and read parts of a tile, beside a run of them that
 * notes in which iteration each element was written. */
#include "test/unit/neff_test.h"

#include "backend/schedule/schedule.h"

enum { ROWS = 128, COLUMNS = 16, DEPTH = 3, KERNELS = 4000 };

struct nest {
    struct test_text text;
    struct test_random r;
    int depth, insns, trips[DEPTH];
};

/* A pattern of the tile: rows of one half or of both, some columns side by side or every second one. */
static void say_part(struct nest *t)
{
    int half = below(&t->r, 6), rows = half < 2 ? ROWS / 2 : ROWS, step = 1 + (below(&t->r, 4) == 0);
    int n = (int[]){4, 4, 8, COLUMNS / step}[below(&t->r, 4)], last = step * (n - 1), base = 0, moves[DEPTH] = {0};
    for (int d = 0; d < t->depth; d++) {
        int move = 4 * below(&t->r, 3);
        if (last + move * (t->trips[d] - 1) < COLUMNS)
            moves[d] = move, last += move * (t->trips[d] - 1);
    }
    if (last + 4 < COLUMNS && below(&t->r, 2))
        base = 4 * (1 + below(&t->r, (COLUMNS - 1 - last) / 4));
    say(&t->text, "sbuf0 f32[");
    for (int d = 0; d < t->depth; d++)
        if (moves[d])
            say(&t->text, "i%d*%d+", d + 1, moves[d]);
    say(&t->text, "%d", base + (half == 1 ? ROWS / 2 * COLUMNS : 0));
    say(&t->text, "](%d:%d, %d:%d)", rows, COLUMNS, n, step);
}

static void say_body(struct nest *t)
{
    for (int i = 1 + below(&t->r, 4); i > 0 && t->insns < 14; i--) {
        int kind = below(&t->r, 8);
        if (kind < 3 && t->depth < DEPTH) {
            t->trips[t->depth] = 1 + below(&t->r, 3);
            say(&t->text, "loop i%d < %d {\n", t->depth + 1, t->trips[t->depth]);
            t->depth++;
            say_body(t);
            t->depth--;
            say(&t->text, "}\n");
            continue;
        }
        t->insns++;
        say(&t->text, kind < 6 ? "dve.memset dst=" : "dve.tensor_reduce dst=sbuf1 f32[0](128:1, 1:1), src=");
        say_part(t);
        say(&t->text, kind < 6 ? ", value=0 node 0\n" : ", axes=1, scale=1, op=max node 0\n");
    }
}

static struct program *random_nest(uint64_t seed)
{
    struct nest t = {.r = {seed}};
    say(&t.text, "program \"t\" target trn1\nnode 0 \"n\" \"n\"\noutputs \"y\"\nslot %%0 input \"x\" f32[128,256]\n"
            "slot %%1 planned f32[128,64] output\nkernel 0 \"k\" grid(1) vars 4 semaphores 0 flops 0 bytes 0 {\n"
            "tile sbuf0 f32 %d x %d\ntile sbuf1 f32 128 x 1\n", ROWS, COLUMNS);
    say(&t.text, "loop i1 < 2 {\n");
    t.depth = 1, t.trips[0] = 2;
    say_body(&t);
    say(&t.text, "}\n}\nregion 0 (%%0) -> (%%1) { launch 0 }\n");
    return parse_ok(t.text.s);
}

struct nest_run {
    const struct kernel *k;
    int loop; /* in question */
    int64_t values[DEPTH + 2];
    int iteration, inside;
    int written[ROWS * COLUMNS]; /* in which iteration of that loop */
    bool carried;
};

static void touch(struct nest_run *r, const struct ap *a, bool writes)
{
    int64_t at = a->offset.base;
    for (int i = 0; i < a->offset.nterms; i++)
        at += a->offset.terms[i].coef * r->values[a->offset.terms[i].var];
    for (int64_t p = 0; p < a->dim[0].count; p++)
        for (int64_t c = 0; c < a->dim[1].count; c++) {
            int *e = &r->written[at + p * a->dim[0].step + c * a->dim[1].step];
            if (writes)
                *e = r->iteration;
            else
                r->carried |= r->inside && *e != r->iteration;
        }
}

static void run_from(struct nest_run *r, const int *ends, int from, int to)
{
    for (int i = from; i < to; i++) {
        const struct insn *n = &r->k->insns[i];
        if (n->op == INSN_loop) {
            for (int64_t v = 0; v < n->imm[IMM(loop, count)].base; v++) {
                r->values[n->imm[IMM(loop, var)].base] = v;
                r->iteration += i == r->loop, r->inside += i == r->loop;
                run_from(r, ends, i + 1, ends[i]);
                r->inside -= i == r->loop;
            }
            i = ends[i];
        } else if (n->op == INSN_memset) {
            touch(r, &n->ap[0], true);
        } else if (n->op == INSN_tensor_reduce) {
            touch(r, &n->ap[AP(tensor_reduce, src)], false);
        }
    }
}

/* Whether the loop has all instructions that use the tile. */
static bool has_all(const struct kernel *k, int loop, int end)
{
    for (int i = 0; i < k->ninsns; i++)
        if ((i < loop || i > end) && (k->insns[i].op == INSN_memset || k->insns[i].op == INSN_tensor_reduce))
            return false;
    return true;
}

/* What lives from one iteration to the next lives through the loop; of the rest, most is found not to. */
static void test_parts(void **state)
{
    (void)state;
    static struct nest_run r;
    int through = 0, within = 0, known = 0;
    for (int seed = 0; seed < KERNELS; seed++) {
        struct arena a = {0};
        struct program *p = random_nest((uint64_t)seed);
        const struct kernel *k = &p->kernels[0];
        p->kernels[0].tight = true;
        const int *ends = loop_ends(k, &a);
        const struct tile_span span = tile_spans(p, k, &a)[0];
        for (int l = 0; l < k->ninsns; l++) {
            if (k->insns[l].op != INSN_loop)
                continue;
            r = (struct nest_run){.k = k, .loop = l};
            run_from(&r, ends, 0, k->ninsns);
            bool lives = span.first <= l && ends[l] <= span.last;
            if (r.carried && !lives)
                fail_msg("seed %d, loop at %d: lives from %d to %d", seed, l, span.first, span.last);
            bool all = has_all(k, l, ends[l]) && !r.carried;
            through += r.carried, within += all, known += all && !lives;
        }
        arena_free(&a);
        program_free(p);
    }
    print_message("%d loops through which the tile lives, %d others, %d of them known\n", through, within, known);
    assert_true(known * 2 > within);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
