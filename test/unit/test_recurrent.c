/*
 * A step of recurrent cells against plain sums in double.
 */
#include "test/unit/kernel_test.h"

enum { LSTM = 4, GRU = 3, RNN = 1, BIASES = 4, PEEPHOLES = 3 };
static const int cells[] = {RNN, GRU, LSTM};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

struct case_of {
    int gates, rows, hidden, pitch;
    float *weights, *x, *bias, *h, *c; /* weights: (gate, hidden, k) */
    const float *peepholes;            /* NULL: none */
};

static double sum_of(const struct case_of *t, int row, int gate, int unit)
{
    double sum = 0;
    for (int k = 0; k < t->hidden; k++)
        sum += (double)t->h[row * t->pitch + k] *
               t->weights[(gate * t->hidden + unit) * t->hidden + k];
    return sum;
}

static double input_of(const struct case_of *t, int row, int gate, int unit)
{
    return (double)t->x[(row * t->gates + gate) * t->hidden + unit] +
           t->bias[gate * t->hidden + unit];
}

static double gate_of(const struct case_of *t, int row, int gate, int unit)
{
    return sum_of(t, row, gate, unit) + input_of(t, row, gate, unit);
}

static double peephole(const struct case_of *t, int gate, int unit)
{
    return t->peepholes ? t->peepholes[gate * t->hidden + unit] : 0;
}

/* The new state; *c is replaced. */
static double expected(const struct case_of *t, int row, int unit, double *c)
{
    if (t->gates == RNN)
        return tanh(gate_of(t, row, 0, unit));
    if (t->gates == LSTM) {
        double in = sigmoid(gate_of(t, row, 0, unit) + peephole(t, 0, unit) * *c);
        double forget = sigmoid(gate_of(t, row, 2, unit) + peephole(t, 2, unit) * *c);
        *c = *c * forget + in * tanh(gate_of(t, row, 3, unit));
        return sigmoid(gate_of(t, row, 1, unit) + peephole(t, 1, unit) * *c) * tanh(*c);
    }
    double first = sigmoid(gate_of(t, row, 0, unit)), second = sigmoid(gate_of(t, row, 1, unit));
    double part = sum_of(t, row, 2, unit) + t->bias[3 * t->hidden + unit];
    double next = tanh(input_of(t, row, 2, unit) + second * part);
    return (t->h[row * t->pitch + unit] - next) * first + next;
}

/* Of all gates in a part of the weights. */
static int units_of(const struct case_of *t)
{
    return t->gates == RNN ? RNN_UNITS : RECURRENT_UNITS;
}

static float *packed_parts(const struct case_of *t, ptrdiff_t *part_bytes)
{
    int units = units_of(t), width = t->gates * units, parts = (t->hidden + units - 1) / units;
    ptrdiff_t step = (ptrdiff_t)t->hidden * width;
    float *y = calloc((size_t)(parts * step), sizeof *y);
    for (int g = 0; g < t->gates; g++)
        for (int u = 0; u < t->hidden; u++)
            for (int k = 0; k < t->hidden; k++)
                y[u / units * step + k * width + g * units + u % units] =
                    t->weights[(g * t->hidden + u) * t->hidden + k];
    *part_bytes = step * 4;
    return y;
}

/* The same parts in pairs of bf16. */
static uint16_t *paired_parts(const struct case_of *t, const float *parts, ptrdiff_t *part_bytes)
{
    int units = units_of(t), width = t->gates * units, count = (t->hidden + units - 1) / units;
    ptrdiff_t step = (ptrdiff_t)(t->hidden + 1) / 2 * 2 * width;
    uint16_t *y = calloc((size_t)(count * step), sizeof *y);
    for (int p = 0; p < count; p++)
        for (int k = 0; k < t->hidden; k++)
            for (int o = 0; o < width; o++)
                y[p * step + (k / 2 * width + o) * 2 + k % 2] =
                    (uint16_t)(bits_of(parts[(p * t->hidden + k) * width + o]) >> 16);
    *part_bytes = step * 2;
    return y;
}

static void check_step(int gates, int rows, int hidden, bool back, bool copies, bool peeps)
{
    int pitch = hidden + 3 * copies, all = (rows - 1) * pitch + hidden;
    struct case_of t = {gates, rows, hidden, pitch, NULL, NULL, NULL, NULL, NULL, NULL};
    t.weights = random_row((size_t)(gates * hidden * hidden));
    t.x = random_row((size_t)(rows * gates * hidden)), t.bias = random_row((size_t)((BIASES + PEEPHOLES) * hidden));
    t.peepholes = peeps ? t.bias + BIASES * hidden : NULL;
    t.h = random_row((size_t)all), t.c = random_row((size_t)all);
    float *c = random_row((size_t)all), *next = random_row((size_t)(rows * hidden));
    float *y = random_row((size_t)all), *before = malloc(sizeof *y * (size_t)all);
    memcpy(c, t.c, sizeof *c * (size_t)all), memcpy(before, y, sizeof *y * (size_t)all);
    struct recurrent_step s = {.gates = gates,
                               .rows = rows,
                               .hidden = hidden,
                               .x = t.x,
                               .bias = t.bias,
                               .h = t.h,
                               .c = gates == LSTM ? c : NULL,
                               .next = next,
                               .y = copies ? y : NULL,
                               .h_pitch = pitch,
                               .c_pitch = pitch,
                               .next_pitch = hidden,
                               .y_pitch = pitch,
                               .back = back,
                               .peepholes = t.peepholes};
    float *parts = packed_parts(&t, &s.part_bytes);
    s.weights = parts;
    table->recurrent(&s);
    for (int r = 0; r < rows; r++)
        for (int u = 0; u < pitch; u++) {
            int at = r * pitch + u;
            if (at >= all)
                continue;
            if (u >= hidden) { /* between rows: untouched */
                assert_true(c[at] == t.c[at] && y[at] == before[at]);
                continue;
            }
            double state = t.c[at], e = expected(&t, r, u, &state);
            assert_true(fabs(next[r * hidden + u] - e) <= 2e-5);
            assert_true(gates != LSTM || fabs(c[at] - state) <= 2e-5);
            assert_true(y[at] == (copies ? next[r * hidden + u] : before[at]));
        }
    free(t.weights), free(t.x), free(t.bias), free(t.h), free(t.c);
    free(c), free(next), free(y), free(before), free(parts);
}

static void test_steps(void **state)
{
    static const int hidden[] = {1, 3, 4, 5, 8, 15, 16, 17, 24, 31, 32, 33, 48, 56, 65, 128, 130};
    for (size_t n = 0; n < sizeof hidden / sizeof *hidden; n++)
        for (int rows = 1; rows <= 7; rows++) {
            for (int c = 0; c < 3; c++) {
                check_step(cells[c], rows, hidden[n], false, rows % 2, false);
                check_step(cells[c], rows, hidden[n], true, !(rows % 2), false);
            }
            check_step(LSTM, rows, hidden[n], rows % 3 == 0, rows % 2, true);
        }
}

/* A row's bits do not depend on its company, nor on the order of the parts. */
static void test_same_bits(void **state)
{
    enum { ROWS = 7, HIDDEN = 40 };
    for (int n = 0; n < 3; n++) {
        int gates = cells[n];
        struct case_of t = {gates, ROWS, HIDDEN, HIDDEN, NULL, NULL, NULL, NULL, NULL, NULL};
        t.weights = random_row((size_t)gates * HIDDEN * HIDDEN);
        t.x = random_row((size_t)(ROWS * gates * HIDDEN)), t.bias = random_row(BIASES * HIDDEN);
        t.h = random_row(ROWS * HIDDEN), t.c = random_row(ROWS * HIDDEN);
        const size_t bytes = ROWS * HIDDEN * sizeof(float);
        TENSOR(float, together, ROWS * HIDDEN);
        TENSOR(float, alone, ROWS * HIDDEN);
        TENSOR(float, c, ROWS * HIDDEN);
        memcpy(c, t.c, bytes);
        struct recurrent_step s = {gates,    ROWS, HIDDEN, NULL,   0,      t.x, t.bias, t.h,  c,
                                   together, NULL, HIDDEN, HIDDEN, HIDDEN, 0,   false,  false, NULL, NULL};
        float *parts = packed_parts(&t, &s.part_bytes);
        s.weights = parts;
        table->recurrent(&s);
        for (int r = 0; r < ROWS; r++) {
            struct recurrent_step one = s;
            one.rows = 1, one.back = r % 2;
            one.x += r * gates * HIDDEN, one.h += r * HIDDEN, one.next = alone + r * HIDDEN;
            one.c = t.c + r * HIDDEN;
            table->recurrent(&one);
        }
        assert_memory_equal(together, alone, bytes);
        assert_memory_equal(c, t.c, gates == LSTM ? bytes : 0);
        free(t.weights), free(t.x), free(t.bias), free(t.h), free(t.c), free(parts);
    }
}

/* bf16 weights give the bits of the same numbers in f32. */
static void test_bf16(void **state)
{
    for (int cell = 0; cell < 3; cell++)
        for (int hidden = 1; hidden < 70; hidden += 3)
            for (int rows = 1; rows <= 7; rows += 2) {
                const int gates = cells[cell];
                struct case_of t = {gates, rows, hidden, hidden, NULL, NULL, NULL, NULL, NULL, NULL};
                size_t all = (size_t)(rows * hidden), n = (size_t)(gates * hidden * hidden);
                t.weights = random_row(n), t.x = random_row(all * (size_t)gates);
                t.bias = random_row((size_t)(BIASES * hidden));
                t.h = random_row(all), t.c = random_row(all);
                float *c = random_row(all), *y = random_row(2 * all);
                memcpy(c, t.c, all * sizeof *c);
                for (size_t i = 0; i < n; i++)
                    t.weights[i] = float_of(bits_of(t.weights[i]) & 0xffff0000u);
                struct recurrent_step s = {gates,  rows,   hidden, NULL,  0,    t.x,
                                           t.bias, t.h,    c,      y,     NULL, hidden,
                                           hidden, hidden, 0,      false, false, NULL, NULL};
                float *parts = packed_parts(&t, &s.part_bytes);
                s.weights = parts;
                table->recurrent(&s);
                uint16_t *pairs = paired_parts(&t, parts, &s.part_bytes);
                s.weights = pairs, s.bf16 = true, s.c = t.c, s.next = y + all;
                table->recurrent(&s);
                assert_memory_equal(y, y + all, all * sizeof *y);
                assert_memory_equal(c, t.c, gates == LSTM ? all * sizeof *c : 0);
                free(t.weights), free(t.x), free(t.bias), free(t.h), free(t.c);
                free(c), free(y), free(parts), free(pairs);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_bf16),
    };
    return run_variants(tests, sizeof tests / sizeof tests[0]);
}
