/*
 * The recurrence instruction takes a layer whose operands go together, with and without those that
 * may be absent, and refuses it changed in any one place before it runs.
 */
#include "test/unit/engine_test.h"

enum { STATE, Y, X, INPUT_WEIGHTS, WEIGHTS, BIAS, LENGTHS, OPERANDS };
enum { TIMES = 4, ROWS = 3, INPUTS = 5, HIDDEN = 20, UNITS = 16, BLOCK = 64 };

struct tested_layer {
    struct bench b;
    struct insn *insn;
    int grid;
};

/* Buffers are larger than the patterns, so that it is the shapes that are refused. */
static void operand(struct tested_layer *l, int n, int dtype, int rank, const int64_t *counts)
{
    int64_t elements = 8;
    for (int r = 0; r < rank; r++)
        elements *= counts[r];
    l->insn->ap[n] = pattern(buffer(&l->b, dtype, elements, n <= Y), dtype, rank, counts, 1, 0);
}

static void make_layer(struct tested_layer *l, int gates, bool bf16)
{
    int states = gates == 4 ? 2 : 1, units = gates == 1 ? 4 * UNITS : UNITS;
    int blocks = (gates * HIDDEN + BLOCK - 1) / BLOCK;
    begin(&l->b);
    l->grid = grid(&l->b, 2); /* both instances do the same */
    l->insn = add(&l->b, INSN_recurrence);
    l->insn->imm[IMM(recurrence, gates)].base = gates;
    operand(l, STATE, DT_F32, 2, (int64_t[]){ROWS, states * HIDDEN});
    operand(l, Y, DT_F32, 3, (int64_t[]){TIMES, ROWS, HIDDEN});
    operand(l, X, DT_F32, 3, (int64_t[]){TIMES, ROWS, INPUTS});
    operand(l, INPUT_WEIGHTS, DT_F32, 3, (int64_t[]){blocks, INPUTS, BLOCK});
    operand(l, WEIGHTS, bf16 ? DT_BF16 : DT_F32, 3,
            (int64_t[]){(HIDDEN + units - 1) / units, HIDDEN, gates * units});
    operand(l, BIAS, DT_F32, 2, (int64_t[]){4, HIDDEN});
    operand(l, LENGTHS, DT_I32, 1, (int64_t[]){ROWS});
}

/* The message of a run; "" when it succeeds. */
static const char *run(struct tested_layer *l)
{
    static struct diag d;
    diag_clear(&d);
    add_steps(&l->b);
    if (program_check(l->b.p, &d)) {
        struct model *m = model_new(l->b.p, &d);
        struct context *c = context_new(m, 1, &d);
        for (int i = 0; i < l->b.n; i++)
            assert_true(context_set_input(c, i, &l->b.buffer[i], &d));
        bool ok = context_run(c, &d);
        assert_true(ok == !d.text[0]);
        context_free(c);
        model_free(m);
    } else {
        program_free(l->b.p);
    }
    for (int i = 0; i < l->b.n; i++)
        tensor_free(&l->b.buffer[i]);
    return d.text;
}

static void layers_are_taken(void **state)
{
    struct tested_layer l;
    static const int gates[] = {1, 3, 4, 4};
    for (int way = 0; way < 32; way++) {
        make_layer(&l, gates[way % 4], way & 16);
        if (way % 4 == 3)
            operand(&l, BIAS, DT_F32, 2, (int64_t[]){7, HIDDEN}); /* with peepholes */
        if (way & 4)
            l.insn->ap[Y] = (struct ap){.mem = MEM_NONE};
        if (way & 8)
            l.insn->ap[LENGTHS] = (struct ap){.mem = MEM_NONE};
        assert_string_equal(run(&l), "");
    }
}

/* One place of an operand that is changed. */
struct operand_change {
    int operand;
    enum { COUNT, STEP, DTYPE, RANK, CLIP } what;
    int dim;
    int64_t to;
};
static const struct operand_change changes[] = {
    {STATE, COUNT, 0, ROWS - 1},
    {STATE, COUNT, 1, HIDDEN},
    {STATE, STEP, 1, 2},
    {STATE, DTYPE, 0, DT_I32},
    {STATE, RANK, 0, 3},
    {Y, COUNT, 0, TIMES - 1},
    {Y, COUNT, 1, ROWS - 1},
    {Y, COUNT, 2, HIDDEN - 1},
    {Y, STEP, 2, 2},
    {Y, DTYPE, 0, DT_I32},
    {Y, RANK, 0, 2},
    {X, COUNT, 0, TIMES + 1},
    {X, COUNT, 1, ROWS + 1},
    {X, COUNT, 2, INPUTS - 1},
    {X, COUNT, 2, 0},
    {X, STEP, 2, 2},
    {X, DTYPE, 0, DT_U32},
    {X, RANK, 0, 2},
    {X, CLIP, 0, TIMES},
    {X, CLIP, 2, INPUTS},
    {INPUT_WEIGHTS, COUNT, 0, 1},
    {INPUT_WEIGHTS, COUNT, 1, INPUTS + 1},
    {INPUT_WEIGHTS, COUNT, 2, BLOCK - 8},
    {INPUT_WEIGHTS, STEP, 1, BLOCK + 16},
    {INPUT_WEIGHTS, STEP, 2, 2},
    {INPUT_WEIGHTS, DTYPE, 0, DT_I32},
    {INPUT_WEIGHTS, RANK, 0, 2},
    {INPUT_WEIGHTS, CLIP, 1, INPUTS},
    {WEIGHTS, COUNT, 0, 1},
    {WEIGHTS, COUNT, 1, HIDDEN - 1},
    {WEIGHTS, COUNT, 2, 3 * UNITS},
    {WEIGHTS, STEP, 1, 4 * UNITS + 16},
    {WEIGHTS, STEP, 2, 2},
    {WEIGHTS, DTYPE, 0, DT_I32},
    {WEIGHTS, RANK, 0, 2},
    {WEIGHTS, CLIP, 1, HIDDEN},
    {BIAS, COUNT, 0, 3},
    {BIAS, COUNT, 0, 5},
    {BIAS, COUNT, 0, 6},
    {BIAS, COUNT, 1, HIDDEN - 4},
    {BIAS, STEP, 0, HIDDEN + 4},
    {BIAS, STEP, 1, 2},
    {BIAS, DTYPE, 0, DT_I32},
    {BIAS, RANK, 0, 1},
    {BIAS, CLIP, 1, HIDDEN},
    {LENGTHS, COUNT, 0, ROWS - 1},
    {LENGTHS, DTYPE, 0, DT_F32},
    {LENGTHS, RANK, 0, 2},
};

static void make_change(struct tested_layer *l, const struct operand_change *c)
{
    struct ap *a = &l->insn->ap[c->operand];
    switch (c->what) {
    case COUNT:
        a->dim[c->dim].count = c->to;
        break;
    case STEP:
        a->dim[c->dim].step = c->to;
        break;
    case DTYPE:
        a->dtype = (uint8_t)c->to;
        break;
    case RANK: /* dims of one element come and dims go at the end */
        a->rank = (uint8_t)c->to;
        for (int r = 0; r < a->rank; r++)
            a->dim[r] = a->dim[r].count ? a->dim[r] : (struct ap_dim){.step = 1, .count = 1};
        break;
    case CLIP: /* the second instance has one less */
        clip(&l->b, a, c->dim, (struct ap_clip){l->grid, 1, c->to});
        break;
    }
}

static void changed_layers_are_refused(void **state)
{
    const char *refusal = "recurrence: operands that do not go together";
    struct tested_layer l;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        make_layer(&l, 4, false);
        make_change(&l, &changes[i]);
        const char *text = run(&l);
        if (!strstr(text, refusal))
            fail_msg("operand %d, change %d of dim %d to %lld: '%s'", changes[i].operand,
                     changes[i].what, changes[i].dim, (long long)changes[i].to, text);
    }
    for (int64_t gates = -1; gates <= 6; gates++) { /* 3: of another state */
        make_layer(&l, 4, false);
        l.insn->imm[IMM(recurrence, gates)].base = gates;
        assert_true(gates == 4 ? !*run(&l) : !!strstr(run(&l), refusal));
    }
    make_layer(&l, 4, false);
    affine_set(&l.insn->imm[IMM(recurrence, gates)], &l.b.p->arena, l.grid, 1);
    assert_non_null(strstr(run(&l), "'gates' depends on a variable, expected a number"));
    make_layer(&l, 4, false);
    affine_set(&l.insn->imm[IMM(recurrence, round_state)], &l.b.p->arena, l.grid, 1);
    assert_non_null(strstr(run(&l), "'round_state' depends on a variable, expected a number"));
    for (int gates = 3; gates <= 4; gates++) { /* a GRU's state is read in more than products */
        make_layer(&l, gates, false);
        l.insn->imm[IMM(recurrence, round_state)].base = 1;
        assert_true(gates == 4 ? !*run(&l) : !!strstr(run(&l), refusal));
    }
    for (int rounds = 0; rounds < 2; rounds++) {
        make_layer(&l, rounds ? 4 : 3, false);
        operand(&l, BIAS, DT_F32, 2, (int64_t[]){7, HIDDEN});
        l.insn->imm[IMM(recurrence, round_state)].base = rounds;
        assert_non_null(strstr(run(&l), refusal));
    }
    make_layer(&l, 4, true); /* pairs of an odd count end with half of one */
    l.insn->ap[WEIGHTS].dim[1].count = HIDDEN - 1;
    assert_non_null(strstr(run(&l), refusal));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_taken),
        cmocka_unit_test(changed_layers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
