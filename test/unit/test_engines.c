/*
 * Every instruction against a reference that computes element by element in double, on odd sizes,
 * strides, broadcasts, clipped tiles and element types; and the refusal of patterns that leave
 * their tensors.
 */
#include "test/unit/engine_test.h"

/* ---- elementwise ---- */

struct elementwise_case {
    enum opcode op;
    int f, g;
    float a, b, c;
    int reverse;
    int operands; /* read ones */
};

static const struct elementwise_case elementwise_cases[] = {
    {INSN_memset, 0, 0, 1.5f, 0, 0, 0, 0},
    {INSN_tensor_copy, 0, 0, 0, 0, 0, 0, 1},
    {INSN_dma_copy, 0, 0, 0, 0, 0, 0, 1},
    {INSN_tensor_tensor, OP_add, 0, 0, 0, 0, 0, 2},
    {INSN_tensor_tensor, OP_sub, 0, 0, 0, 0, 0, 2},
    {INSN_tensor_tensor, OP_max, 0, 0, 0, 0, 0, 2},
    {INSN_tensor_tensor, OP_lt, 0, 0, 0, 0, 0, 2},
    {INSN_tensor_tensor, OP_prelu, 0, 0, 0, 0, 0, 2},
    {INSN_tensor_scalar, OP_mul, OP_add, 1.25f, -0.5f, 0, 0, 1},
    {INSN_tensor_scalar, OP_max, OP_min, -0.5f, 0.75f, 0, 0, 1},
    {INSN_tensor_scalar, OP_sub, OP_abs, 2, 0, 0, 1, 1},
    {INSN_tensor_scalar, OP_add, OP_identity, 2, 0, 0, 0, 1},
    {INSN_scalar_tensor_tensor, OP_mul, OP_add, 0.5f, 0, 0, 0, 2},
    {INSN_scalar_tensor_tensor, OP_sub, OP_max, 0.5f, 0, 0, 1, 2},
    {INSN_activation, OP_identity, 0, 2, 0, 0, 0, 1},
    {INSN_activation, OP_gelu, 0, 1, 0, 0, 0, 3},
    {INSN_activation, OP_leaky_relu, 0, 0.5f, 0.1f, 0, 0, 2},
    {INSN_activation, OP_clip, 0, 1, -0.5f, 0.5f, 0, 1},
    {INSN_activation, OP_atan, 0, 1, 0, 0, 0, 3},
};

/* One case on one layout: dims in tiles along the first, operands strided, padded or broadcast. */
static void elementwise_case(const struct elementwise_case *e, int dtype_in, int dtype_out,
                             int layout)
{
    static const int64_t shapes[][3] = {{7, 5, 9}, {1, 3, 70}, {4, 1, 1}, {3, 2, 1030}};
    const int64_t *s = shapes[layout % 4];
    struct bench b;
    int64_t inner = layout & 1 ? 1 + layout / 2 % 2 : 1, padding = layout / 4 % 3;
    begin(&b);
    int var = grid(&b, (s[0] + 2) / 3);
    struct ap ap[4] = {{0}};
    for (int n = 0; n <= e->operands; n++) {
        int slot =
            buffer(&b, n ? dtype_in : dtype_out, (s[0] * (s[1] * (s[2] * 2 + 3) + 3) + 8), n == 0);
        ap[n] = pattern(slot, n ? dtype_in : dtype_out, 3, s, inner, padding);
        tiled(&b, &ap[n], 0, var, 3);
        if (n >= 2 && layout % 5 == 1)
            ap[n].dim[2].step = 0;
        if (n >= 2 && layout % 5 == 2)
            ap[n].dim[1].step = 0, ap[n].dim[0].step = 0, ap[n].offset = (struct affine){0};
    }
    struct insn *i = add(&b, e->op);
    memcpy(i->ap, ap, sizeof *ap * (size_t)(e->operands + 1));
    i->func[0] = (uint16_t)e->f, i->func[1] = (uint16_t)e->g;
    i->flt[0] = e->a, i->flt[1] = e->b, i->flt[2] = e->c;
    if (e->op == INSN_tensor_scalar || e->op == INSN_scalar_tensor_tensor)
        i->imm[0].base = e->reverse;
    check(&b, 2e-6);
}

static void elementwise_instructions(void **state)
{
    static const int types[][2] = {
        {DT_F32, DT_F32}, {DT_BF16, DT_F32}, {DT_F32, DT_BF16}, {DT_F16, DT_F16}, {DT_F64, DT_F32}};
    for (size_t c = 0; c < sizeof elementwise_cases / sizeof *elementwise_cases; c++)
        for (int t = 0; t < 5; t++)
            for (int layout = 0; layout < 12; layout += 1 + (t > 0))
                elementwise_case(&elementwise_cases[c], types[t][0], types[t][1], layout);
}

/* ---- instructions that run together ---- */

/* A tile of the kernel whose number is also that of a buffer which only the reference has. */
static int reference_tile_at(struct bench *b, int tile, int64_t elements)
{
    struct diag d = {0};
    assert_true(tensor_alloc(&b->buffer[tile], DT_F32, 1, &elements, &d));
    while (b->k->ntiles <= tile) {
        ARENA_GROW(&b->p->arena, b->k->tiles, b->k->ntiles, b->k->tiles_cap);
        b->k->tiles[b->k->ntiles++] =
            (struct tile){.mem = MEM_SBUF, .dtype = DT_F32, .partitions = 1, .elements = elements};
    }
    return tile;
}

static int reference_tile(struct bench *b, int64_t elements)
{
    return reference_tile_at(b, b->n + 1, elements);
}

enum { TOGETHER = 190003, TOGETHER_TILE = 4096 };

static void insn_on(struct bench *b, enum opcode op, int f, float x, const struct ap *to, const struct ap *from, int n)
{
    struct insn *i = add(b, op);
    i->ap[0] = *to;
    for (int k = 0; k < n; k++)
        i->ap[1 + k] = from[k];
    i->func[0] = (uint16_t)f;
    i->flt[0] = x;
}

/* Long rows in tiles, one of them of the last few elements; a tile, a result in place, one value for all. */
static void together_in_tiles(void **state)
{
    struct bench b;
    const int64_t s[1] = {TOGETHER};
    begin(&b);
    struct ap x[4], t = {0};
    int var = grid(&b, (TOGETHER + TOGETHER_TILE - 1) / TOGETHER_TILE);
    for (int n = 0; n < 4; n++) {
        x[n] = pattern(buffer(&b, DT_F32, TOGETHER, n >= 2), DT_F32, 1, s, 1, 0);
        tiled(&b, &x[n], 0, var, TOGETHER_TILE);
    }
    struct ap one = pattern(buffer(&b, DT_F32, 1, false), DT_F32, 1, s, 0, 0);
    tiled(&b, &one, 0, var, TOGETHER_TILE);
    dtype_store_f64(DT_F32, b.buffer[b.n - 1].data, 0, 8); /* the sum with it, whose root is taken, is not near 0 */
    t = (struct ap){.mem = MEM_SBUF, .dtype = DT_F32, .rank = 1, .dim = {{.step = 1, .count = TOGETHER_TILE}}};
    t.tensor = reference_tile(&b, TOGETHER_TILE);
    clip(&b, &t, 0, (struct ap_clip){var, TOGETHER_TILE, TOGETHER});
    insn_on(&b, INSN_tensor_scalar, OP_mul, 1.5f, &t, &x[0], 1);
    b.k->insns[0].func[1] = OP_add, b.k->insns[0].flt[1] = 0.25f;
    insn_on(&b, INSN_tensor_tensor, OP_mul, 0, &x[2], (struct ap[]){t, x[1]}, 2);
    insn_on(&b, INSN_activation, OP_abs, 0.5f, &t, (struct ap[]){x[2], {0}, one}, 3);
    insn_on(&b, INSN_activation, OP_sqrt, 1, &x[3], &t, 1);
    insn_on(&b, INSN_tensor_tensor, OP_div, 0, &x[2], (struct ap[]){x[2], one}, 2);
    insn_on(&b, INSN_tensor_tensor, OP_max, 0, &x[3], (struct ap[]){x[3], x[2]}, 2);
    check(&b, 2e-6);
    tensor_free(&b.buffer[t.tensor]);
}

/* One of a few operations, drawn, whose results stay small. */
static void drawn_insn(struct bench *b, const struct ap *to, const struct ap *x, const struct ap *y, const struct ap *z)
{
    static const int two[] = {OP_add, OP_sub, OP_mul, OP_max, OP_min};
    static const int functions[] = {OP_identity, OP_leaky_relu, OP_hard_sigmoid};
    int kind = (int)(8 * uniform());
    if (kind < 5)
        insn_on(b, INSN_tensor_tensor, two[kind], 0, to, (struct ap[]){*x, *y}, 2);
    else if (kind == 5)
        insn_on(b, INSN_activation, functions[(int)(3 * uniform())], 1, to, (struct ap[]){*x, *y, *z}, 3);
    else
        insn_on(b, INSN_tensor_scalar, OP_sub, 0.75f, to, x, 1);
    if (kind == 5)
        b->k->insns[b->k->ninsns - 1].flt[1] = 0.25f, b->k->insns[b->k->ninsns - 1].flt[2] = 0.5f;
    if (kind > 5) {
        struct insn *i = &b->k->insns[b->k->ninsns - 1];
        i->func[1] = OP_mul, i->flt[1] = 0.5f;
        i->imm[0].base = kind == 7; /* 0.75 - x */
    }
    insn_on(b, INSN_tensor_scalar, OP_max, -2, to, to, 1);
    b->k->insns[b->k->ninsns - 1].func[1] = OP_min, b->k->insns[b->k->ninsns - 1].flt[1] = 2;
}

/* What an instruction makes is any operand of the next, of a later one, of both or of none. */
static void together_chained(void **state)
{
    const int64_t s[1] = {TOGETHER};
    for (int turn = 0; turn < 24; turn++) {
        struct bench b;
        struct ap x[7];
        begin(&b);
        int var = grid(&b, (TOGETHER + TOGETHER_TILE - 1) / TOGETHER_TILE);
        for (int n = 0; n < 4; n++) {
            x[n] = pattern(buffer(&b, DT_F32, TOGETHER, n < 2), DT_F32, 1, s, 1, 0);
            tiled(&b, &x[n], 0, var, TOGETHER_TILE);
        }
        for (int n = 4; n < 7; n++) {
            x[n] =
                (struct ap){.mem = MEM_SBUF, .dtype = DT_F32, .rank = 1, .dim = {{.step = 1, .count = TOGETHER_TILE}}};
            x[n].tensor = b.k->ntiles ? b.k->ntiles : b.n + 1;
            assert_int_equal(x[n].tensor, reference_tile_at(&b, x[n].tensor, TOGETHER_TILE));
            clip(&b, &x[n], 0, (struct ap_clip){var, TOGETHER_TILE, TOGETHER});
            drawn_insn(&b, &x[n], &x[n - 1], &x[2], &x[3]);
        }
        for (int n = 0; n < 9; n++) {
            int to = n < 7 ? 4 + (int)(3 * uniform()) : n - 7;
            const struct ap *from[3];
            for (int k = 0; k < 3; k++)
                from[k] = &x[2 + (int)(5 * uniform())];
            drawn_insn(&b, &x[to], from[0], from[1], from[2]);
        }
        struct tensor tiles[3];
        memcpy(tiles, &b.buffer[x[4].tensor], sizeof tiles);
        check(&b, 1e-5);
        for (int n = 0; n < 3; n++)
            tensor_free(&tiles[n]);
    }
}

/* Before and behind a long function, which runs alone. */
static void together_around_exponentials(void **state)
{
    struct bench b;
    const int64_t s[1] = {TOGETHER};
    begin(&b);
    struct ap x[6];
    for (int n = 0; n < 6; n++)
        x[n] = pattern(buffer(&b, DT_F32, TOGETHER, n >= 2), DT_F32, 1, s, 1, 0);
    insn_on(&b, INSN_tensor_tensor, OP_mul, 0, &x[2], (struct ap[]){x[0], x[1]}, 2);
    insn_on(&b, INSN_tensor_tensor, OP_sub, 0, &x[3], (struct ap[]){x[2], x[1]}, 2);
    insn_on(&b, INSN_activation, OP_exp, 1, &x[4], &x[3], 1);
    insn_on(&b, INSN_tensor_tensor, OP_add, 0, &x[4], (struct ap[]){x[4], x[0]}, 2);
    insn_on(&b, INSN_tensor_tensor, OP_min, 0, &x[5], (struct ap[]){x[4], x[2]}, 2);
    check(&b, 2e-6);
}

/* The second instruction reads what the first writes, one element further on. */
static void together_overlapping(void **state)
{
    struct bench b;
    const int64_t s[1] = {TOGETHER};
    begin(&b);
    struct ap x = pattern(buffer(&b, DT_F32, TOGETHER, false), DT_F32, 1, s, 1, 0);
    struct ap y = pattern(buffer(&b, DT_F32, TOGETHER + 1, true), DT_F32, 1, s, 1, 0), later = y;
    struct ap z = pattern(buffer(&b, DT_F32, TOGETHER, true), DT_F32, 1, s, 1, 0);
    later.offset.base = 1;
    insn_on(&b, INSN_tensor_tensor, OP_mul, 0, &y, (struct ap[]){x, x}, 2);
    insn_on(&b, INSN_tensor_tensor, OP_add, 0, &z, (struct ap[]){later, x}, 2);
    insn_on(&b, INSN_activation, OP_neg, 1, &later, &later, 1);
    check(&b, 0);
}

/* Numbers of the same value that are not alike: x * 0 - 0 keeps x's sign, x * 0 + 0 does not. */
static void together_by_zeros(void **state)
{
    struct bench b;
    const int64_t s[1] = {TOGETHER};
    begin(&b);
    struct ap x[4];
    for (int n = 0; n < 4; n++)
        x[n] = pattern(buffer(&b, DT_F32, TOGETHER, n > 0), DT_F32, 1, s, 1, 0);
    insn_on(&b, INSN_tensor_scalar, OP_mul, 0.0f, &x[1], &x[0], 1);
    insn_on(&b, INSN_tensor_scalar, OP_add, -0.0f, &x[2], &x[1], 1);
    insn_on(&b, INSN_tensor_tensor, OP_div, 0, &x[3], (struct ap[]){x[0], x[2]}, 2);
    b.k->insns[0].func[1] = b.k->insns[1].func[1] = OP_identity;
    check(&b, 0);
}

/* Rows that are neighbours, with operands of one row for all: long ones, and short ones that fill a block or do not.
 * One result lies where an operand does, one has room between its rows. */
static void together_in_rows(void **state)
{
    static const int64_t columns[] = {8, 16, 24, 64, 128, 200, 640};
    enum { ROWS = 2003, ROW_TILE = 100 };
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        struct bench b;
        const int64_t s[2] = {ROWS, columns[c]};
        begin(&b);
        int var = grid(&b, (ROWS + ROW_TILE - 1) / ROW_TILE);
        struct ap x[5];
        for (int n = 0; n < 5; n++) {
            x[n] = pattern(buffer(&b, DT_F32, ROWS * (columns[c] + 3), n >= 3), DT_F32, 2, s, 1, n == 4 ? 3 : 0);
            x[n].dim[0].step = n == 1 || n == 2 ? 0 : x[n].dim[0].step;
            tiled(&b, &x[n], 0, var, ROW_TILE);
        }
        insn_on(&b, INSN_tensor_tensor, OP_sub, 0, &x[3], (struct ap[]){x[0], x[1]}, 2);
        insn_on(&b, INSN_tensor_tensor, OP_mul, 0, &x[3], (struct ap[]){x[2], x[3]}, 2);
        insn_on(&b, INSN_activation, OP_abs, 1, &x[c % 2 ? 3 : 4], (struct ap[]){x[3], {0}, x[1]}, 3);
        check(&b, 0);
    }
}

/* Booleans of one element for all, and of one for each row, between operations of floats. */
static void together_by_one_boolean(void **state)
{
    enum { ROWS = 40, COLUMNS = 4099 };
    const int64_t s[2] = {ROWS, COLUMNS};
    for (int32_t yes = 0; yes < 2; yes++) {
        struct bench b;
        struct ap x[4], some[2];
        begin(&b);
        for (int n = 0; n < 4; n++)
            x[n] = pattern(buffer(&b, DT_F32, ROWS * COLUMNS, n >= 2), DT_F32, 2, s, 1, 0);
        for (int n = 0; n < 2; n++) {
            int slot = buffer(&b, DT_BOOL, n ? ROWS : 1, false);
            for (int k = 0; k < (n ? ROWS : 1); k++)
                ((uint8_t *)b.buffer[slot].data)[k] = n ? k % 3 == 1 : yes;
            some[n] = pattern(slot, DT_BOOL, 2, s, 1, 0);
            some[n].dim[0].step = n, some[n].dim[1].step = 0;
        }
        insn_on(&b, INSN_tensor_tensor, OP_sub, 0, &x[2], (struct ap[]){x[0], x[1]}, 2);
        insn_on(&b, INSN_select, 0, 0, &x[3], (struct ap[]){some[0], x[2], x[1]}, 3);
        insn_on(&b, INSN_select, 0, 0, &x[2], (struct ap[]){some[1], x[3], x[0]}, 3);
        insn_on(&b, INSN_activation, OP_abs, 1, &x[2], &x[2], 1);
        check(&b, 0);
    }
}

/* Functions of tiles of integers, with scale and bias of every broadcast. */
static void widened_case(enum op f, int from, int to, const int64_t *s, int layout)
{
    struct bench b;
    begin(&b);
    int var = grid(&b, 2), slot[4];
    for (int n = 0; n < 4; n++)
        slot[n] = buffer(&b,
                         n == 0   ? to
                         : n == 1 ? from
                                  : DT_F32,
                         s[0] * (s[1] + 1) * (s[2] + 3), n == 0);
    struct insn *i = add(&b, INSN_activation);
    i->func[0] = (uint16_t)f;
    i->flt[0] = layout & 1 ? 0.25f : 1, i->flt[1] = -0.5f, i->flt[2] = 3;
    for (int n = 0; n < (layout & 1 ? 2 : 4); n++) {
        i->ap[n] = pattern(slot[n], n == 0 ? to : n == 1 ? from : DT_F32, 3, s, 1, n < 2 ? 2 : 0);
        tiled(&b, &i->ap[n], 0, var, 2);
    }
    if (!(layout & 1)) {
        i->ap[2].dim[1].step = 0;
        i->ap[3].dim[2].step = 0;
    }
    check(&b, 2e-6);
}

static void widened_tiles(void **state)
{
    static const int64_t shapes[][3] = {{3, 37, 70}, {3, 1, 64}, {3, 2, 2500}, {3, 40, 5}};
    static const enum op functions[] = {OP_relu, OP_silu, OP_clip};
    static const int types[][2] = {{DT_I32, DT_F32}, {DT_U8, DT_F32}, {DT_I32, DT_BF16}};
    for (int f = 0; f < 3; f++)
        for (int t = 0; t < 3; t++)
            for (int k = 0; k < 8; k++)
                widened_case(functions[f], types[t][0], types[t][1], shapes[k / 2], k);
}

static void select_and_integers(void **state)
{
    for (int layout = 0; layout < 4; layout++) {
        struct bench b;
        const int64_t s[2] = {5, 37};
        begin(&b);
        int out = buffer(&b, layout & 1 ? DT_BF16 : DT_F32, 400, true),
            which = buffer(&b, DT_BOOL, 400, false);
        int x = buffer(&b, DT_F32, 400, false), y = buffer(&b, DT_F32, 400, false);
        for (int64_t k = 0; k < 400; k++)
            ((uint8_t *)b.buffer[1].data)[k] &= 1;
        struct insn *i = add(&b, INSN_select);
        i->ap[0] = pattern(out, layout & 1 ? DT_BF16 : DT_F32, 2, s, 1, 1);
        i->ap[1] = pattern(which, DT_BOOL, 2, s, 1 + (layout >> 1), 0);
        i->ap[2] = pattern(x, DT_F32, 2, s, 1, 0);
        i->ap[3] = pattern(y, DT_F32, 2, s, 2, 0);
        check(&b, 0);
    }
    for (int op = 0; op < 3; op++) {
        struct bench b;
        const int64_t s[2] = {3, 19};
        begin(&b);
        int out = buffer(&b, DT_I32, 64, true), x = buffer(&b, DT_I32, 64, false),
            y = buffer(&b, DT_I64, 64, false);
        struct insn *i = add(&b, INSN_tensor_tensor);
        i->func[0] = (uint16_t)(op == 0 ? OP_add : op == 1 ? OP_mul : OP_sub);
        i->ap[0] = pattern(out, DT_I32, 2, s, 1, 0);
        i->ap[1] = pattern(x, DT_I32, 2, s, 1, 0);
        i->ap[2] = pattern(y, DT_I64, 2, s, 1, 0);
        check(&b, 0);
    }
}

/* ---- rows ---- */

static void row_case(enum opcode op, int dtype, int64_t n, int option)
{
    struct bench b;
    const int64_t s[3] = {4, 3, n}, one[3] = {4, 3, 1};
    begin(&b);
    int var = grid(&b, 2);
    bool stats = op == INSN_bn_stats;
    int64_t size = 12 * (n * 2 + 4) + 8;
    int out = buffer(&b, dtype, size, true),
        second = buffer(&b, stats ? dtype : DT_F32, size, stats);
    int src = buffer(&b, dtype, size, false), gamma = buffer(&b, DT_F32, n, false);
    struct insn *i = add(&b, op);
    struct ap x = pattern(src, dtype, 3, s, 1 + (option & 1), 3),
              y = pattern(out, dtype, 3, s, 1, 0);
    if (stats) {
        i->ap[0] = pattern(out, dtype, 3, one, 1, 0);
        i->ap[1] = pattern(second, dtype, 2, one, 1, 0);
        i->ap[2] = x;
        i->ap[1].rank = 3, i->ap[1].dim[2] = (struct ap_dim){.step = 0, .count = 1};
        for (int k = 0; k < 3; k++)
            tiled(&b, &i->ap[k], 0, var, 3);
        check(&b, 4e-6);
        return;
    }
    i->ap[0] = y, i->ap[1] = x;
    tiled(&b, &i->ap[0], 0, var, 3), tiled(&b, &i->ap[1], 0, var, 3);
    i->flt[0] = op == INSN_layer_norm ? 1e-5f : 0.7f;
    if (op == INSN_tensor_tensor_scan) {
        i->func[0] = OP_mul, i->func[1] = OP_add;
        i->ap[2] = pattern(second, DT_F32, 3, s, 1, 0);
        tiled(&b, &i->ap[2], 0, var, 3);
    } else {
        i->imm[0].base = option >> 1 & 1;
    }
    if (op == INSN_layer_norm && option < 2) {
        i->ap[2] = pattern(gamma, DT_F32, 1, &n, 1, 0);
        i->ap[3] = pattern(second, DT_F32, 1, &n, 1, 0);
    }
    check(&b, op == INSN_tensor_tensor_scan ? 1e-3 : 1e-5);
}

static void row_instructions(void **state)
{
    static const enum opcode ops[] = {INSN_bn_stats, INSN_softmax, INSN_layer_norm,
                                      INSN_tensor_tensor_scan};
    for (int o = 0; o < 4; o++)
        for (int option = 0; option < 4; option++)
            for (int64_t n = 1; n < 700; n = n * 3 + 1) {
                row_case(ops[o], DT_F32, n, option);
                if (o != 3)
                    row_case(ops[o], DT_BF16, n, option);
            }
}

static void reductions(void **state)
{
    static const int ops[] = {OP_add, OP_max, OP_min, OP_mul};
    for (int o = 0; o < 4; o++)
        for (int axes = 1; axes <= 3; axes++)
            for (int layout = 0; layout < 6; layout++) {
                struct bench b;
                const int64_t s[3] = {5, 6, layout & 1 ? 7 : 33};
                begin(&b);
                int dtype = layout >= 4 ? DT_BF16 : DT_F32;
                int out = buffer(&b, DT_F32, 64, true), src = buffer(&b, dtype, 2000, false);
                struct insn *i = add(&b, INSN_tensor_reduce);
                i->func[0] = (uint16_t)ops[o];
                i->imm[0].base = axes, i->imm[1].base = layout & 1;
                i->flt[0] = 0.25f;
                i->ap[1] = pattern(src, dtype, 3, s, 1, layout == 2);
                if (layout == 3) { /* columns */
                    i->ap[1].dim[2] = (struct ap_dim){.step = 6, .count = s[2]};
                    i->ap[1].dim[1] = (struct ap_dim){.step = 1, .count = 6};
                    i->ap[1].dim[0].step = 6 * s[2];
                }
                int64_t counts[3] = {s[0], axes < 2 ? s[1] : 1, 1};
                if (axes == 3)
                    counts[0] = 1;
                i->ap[0] =
                    pattern(out, DT_F32, layout & 2 && axes < 3 ? 3 - axes : 3, counts, 1, 0);
                check(&b, 2e-5);
            }
}

static void activation_sums(void **state)
{
    for (int t = 0; t < 2; t++)
        for (int64_t n = 1; n < 1200; n = n * 4 + 1) {
            struct bench b;
            const int64_t s[2] = {6, n}, one[2] = {6, 1};
            begin(&b);
            int var = grid(&b, 2), dtype = t ? DT_BF16 : DT_F32;
            int out = buffer(&b, dtype, 6 * n, true), sum = buffer(&b, DT_F32, 6, true),
                x = buffer(&b, dtype, 6 * n, false);
            int bias = buffer(&b, DT_F32, 6, false);
            struct insn *i = add(&b, INSN_activation);
            i->func[0] = OP_exp;
            i->flt[0] = 0.5f;
            i->ap[0] = pattern(out, dtype, 2, s, 1, 0), i->ap[1] = pattern(x, dtype, 2, s, 1, 0);
            i->ap[3] = pattern(bias, DT_F32, 2, one, 1, 0),
            i->ap[4] = pattern(sum, DT_F32, 2, one, 1, 0);
            i->ap[3].dim[1].step = i->ap[4].dim[1].step = 0;
            for (int k = 0; k < 5; k++)
                if (i->ap[k].mem)
                    tiled(&b, &i->ap[k], 0, var, 4);
            check(&b, 1e-5);
        }
}

/* ---- planes ---- */

static void planes(void **state)
{
    static const int types[] = {DT_F32, DT_BF16, DT_U8, DT_I64};
    for (int t = 0; t < 4; t++)
        for (int layout = 0; layout < 4; layout++) {
            struct bench b;
            const int64_t s[3] = {3, 7, 21}, z[3] = {3, 21, 7};
            begin(&b);
            int out = buffer(&b, types[t], 1500, true), x = buffer(&b, types[t], 1500, false);
            struct insn *i = add(&b, layout & 1 ? INSN_dma_transpose : INSN_nc_transpose);
            i->ap[0] = pattern(out, types[t], 3, z, 1, layout >> 1);
            i->ap[1] = pattern(x, types[t], 3, s, 1 + (layout >> 1), 0);
            check(&b, 0);
        }
    for (int layout = 0; layout < 6; layout++) {
        struct bench b;
        const int64_t s[2] = {9, 14};
        begin(&b);
        int var = grid(&b, 3), dtype = layout & 1 ? DT_I32 : DT_F32;
        int out = buffer(&b, dtype, 200, true), x = buffer(&b, dtype, 200, false);
        struct insn *i = add(&b, layout < 2 ? INSN_iota : INSN_affine_select);
        i->ap[0] = pattern(out, dtype, 2, s, 1, 0);
        i->imm[0].base = layout - 3, i->imm[1].base = layout == 4 ? -2 : 1,
        i->imm[2].base = layout & 1 ? -1 : 2;
        affine_set(&i->imm[0], &b.p->arena, var, 3 * i->imm[1].base);
        tiled(&b, &i->ap[0], 0, var, 4);
        affine_set(&i->imm[0], &b.p->arena, var, 4 * i->imm[1].base);
        if (layout >= 2) {
            i->ap[1] = pattern(x, dtype, 2, s, 1, 0);
            tiled(&b, &i->ap[1], 0, var, 4);
            i->flt[0] = -7;
        }
        check(&b, 0);
    }
    for (int t = 0; t < 4; t++) {
        struct bench b;
        const int64_t s[2] = {9, 14}, table[2] = {10, 14}, nine = 9;
        begin(&b);
        int out = buffer(&b, types[t], 200, true), from = buffer(&b, types[t], 200, false),
            x = buffer(&b, t & 1 ? DT_I32 : DT_I64, 9, false);
        dtype_store_i64(b.buffer[2].dtype, b.buffer[2].data, 4, -3);
        struct insn *i = add(&b, INSN_dma_gather);
        i->ap[0] = pattern(out, types[t], 2, s, 1, 1),
        i->ap[1] = pattern(from, types[t], 2, table, 1, 2);
        i->ap[2] = pattern(x, t & 1 ? DT_I32 : DT_I64, 1, &nine, 1, 0);
        i->imm[0].base = 10;
        check(&b, 0);
    }
}
/* ---- bounds ---- */

static bool accepted(struct bench *b)
{
    struct diag d = {0};
    add_steps(b);
    struct model *m = model_new(b->p, &d);
    struct context *c = context_new(m, 1, &d);
    for (int i = 0; i < b->n; i++)
        assert_true(context_set_input(c, i, &b->buffer[i], &d));
    bool ok = context_run(c, &d);
    assert_true(ok || d.text[0]);
    context_free(c);
    model_free(m);
    for (int i = 0; i < b->n; i++)
        tensor_free(&b->buffer[i]);
    return ok;
}

/* A copy of 30 elements in tiles of 8, changed in one place. */
static bool copy_accepted(int change)
{
    struct bench b;
    const int64_t n = 30;
    begin(&b);
    int var = grid(&b, 4);
    int out = buffer(&b, DT_F32, 30, true), x = buffer(&b, DT_F32, 30, false);
    struct insn *i = add(&b, INSN_dma_copy);
    i->ap[0] = pattern(out, DT_F32, 1, &n, 1, 0), i->ap[1] = pattern(x, DT_F32, 1, &n, 1, 0);
    tiled(&b, &i->ap[0], 0, var, 8), tiled(&b, &i->ap[1], 0, var, 8);
    struct ap *a = &i->ap[change & 1];
    switch (change / 2) {
    case 1:
        a->offset.base = 1;
        break;
    case 2:
        a->offset.base = -1;
        break;
    case 3:
        affine_set(&a->offset, &b.p->arena, var, 9);
        break;
    case 4:
        clip(&b, a, 0, (struct ap_clip){var, 8, 31});
        i->ap[!(change & 1)].dim[0] = a->dim[0];
        break;
    case 5:
        a->dim[0].step = -1;
        break;
    case 6:
        a->offset.base = INT64_MAX / 2;
        break;
    case 7:
        a->dim[0].step = INT64_C(1) << 45;
        break;
    case 8:
        b.k->grid[0] = 5;
        clip(&b, a, 0, (struct ap_clip){var, 8, 40});
        i->ap[!(change & 1)].dim[0] = a->dim[0];
        break;
    case 9:
        clip(&b, a, 0, (struct ap_clip){var, 0, 8});
        i->ap[!(change & 1)].dim[0] = a->dim[0];
        break;
    case 10:
        clip(&b, a, 0, (struct ap_clip){3, 8, 30});
        break;
    case 11:
        a->dtype = DT_F64;
        break;
    }
    return accepted(&b);
}

static void patterns_outside_are_refused(void **state)
{
    assert_true(copy_accepted(0));
    for (int change = 2; change < 24; change++)
        if (copy_accepted(change))
            fail_msg("change %d was accepted", change);
}

static void indices_outside_are_refused(void **state)
{
    struct bench b;
    const int64_t s[2] = {3, 4}, three = 3;
    begin(&b);
    int out = buffer(&b, DT_F32, 12, true), from = buffer(&b, DT_F32, 12, false),
        x = buffer(&b, DT_I64, 3, false);
    memcpy(b.buffer[x].data, (int64_t[]){0, 3, 1}, 24);
    struct insn *i = add(&b, INSN_dma_gather);
    i->ap[0] = pattern(out, DT_F32, 2, s, 1, 0), i->ap[1] = pattern(from, DT_F32, 2, s, 1, 0);
    i->ap[2] = pattern(x, DT_I64, 1, &three, 1, 0);
    i->imm[0].base = 3;
    assert_false(accepted(&b));
}

/* A resize of 4 x 5 pixels to 6 x 7, changed in one place. */
static bool resize_accepted(int change)
{
    struct bench b;
    const int64_t to[3] = {6, 7, 2}, from[3] = {4, 5, 2};
    begin(&b);
    int out = buffer(&b, DT_F32, 84, true), x = buffer(&b, DT_F32, 40, false);
    struct insn *i = add(&b, INSN_resize_linear);
    i->ap[0] = pattern(out, DT_F32, 3, to, 1, 0), i->ap[1] = pattern(x, DT_F32, 3, from, 1, 0);
    i->imm[1].base = 6;
    switch (change) {
    case 1:
        i->ap[1].rank = 2;
        break;
    case 2:
        i->ap[0].dim[2].count = 1;
        break;
    case 3:
        i->imm[2].base = 5; /* with a region */
        break;
    case 4:
        i->imm[2].base = 99;
        break;
    case 5:
        i->imm[1].base = -1;
        break;
    case 6:
        i->flt[0] = -1;
        break;
    case 7:
        i->flt[1] = NAN;
        break;
    case 8:
        i->flt[1] = INFINITY;
        break;
    case 9: /* rows beyond the last are those of the edge */
        i->imm[0].base = 1 << 20;
        break;
    }
    return accepted(&b);
}

static void wrong_sizes_of_pictures_are_refused(void **state)
{
    assert_true(resize_accepted(0));
    for (int change = 1; change < 9; change++)
        if (resize_accepted(change))
            fail_msg("change %d was accepted", change);
    assert_true(resize_accepted(9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_instructions),
        cmocka_unit_test(widened_tiles),
        cmocka_unit_test(together_in_tiles),
        cmocka_unit_test(together_chained),
        cmocka_unit_test(together_around_exponentials),
        cmocka_unit_test(together_overlapping),
        cmocka_unit_test(together_by_zeros),
        cmocka_unit_test(together_in_rows),
        cmocka_unit_test(together_by_one_boolean),
        cmocka_unit_test(select_and_integers),
        cmocka_unit_test(row_instructions),
        cmocka_unit_test(reductions),
        cmocka_unit_test(activation_sums),
        cmocka_unit_test(planes),
        cmocka_unit_test(patterns_outside_are_refused),
        cmocka_unit_test(indices_outside_are_refused),
        cmocka_unit_test(wrong_sizes_of_pictures_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
