/*
 * Matrix products of the Tensor engine against the reference, as patterns say and packed.
 */
#include "neff/isa/pack.h"
#include "test/unit/engine_test.h"

struct matmul_case {
    int64_t n, m, k, batch;
    int a, w, c; /* element types */
    bool transposed, accumulate, strided;
};

static void matmul_case(const struct matmul_case *x)
{
    struct bench b;
    begin(&b);
    int rows = grid(&b, (x->n + 15) / 16), columns = grid(&b, (x->m + 31) / 32);
    int64_t inner = x->strided ? 2 : 1;
    int c = buffer(&b, x->c, x->n * x->m * inner, true),
        w = buffer(&b, x->w, x->batch * x->k * x->m, false);
    int a = buffer(&b, x->a, x->batch * x->n * x->k * inner, false);
    struct insn *i = add(&b, INSN_nc_matmul);
    i->imm[0].base = x->accumulate;
    i->ap[0] = pattern(c, x->c, 2, (int64_t[]){x->n, x->m}, inner, 0);
    i->ap[1] = pattern(w, x->w, 3, (int64_t[]){x->batch, x->k, x->m}, 1, 0);
    i->ap[2] = pattern(a, x->a, 3, (int64_t[]){x->batch, x->n, x->k}, inner, 0);
    if (x->transposed)
        i->ap[1].dim[1].step = 1, i->ap[1].dim[2].step = x->k;
    tiled(&b, &i->ap[0], 0, rows, 16), tiled(&b, &i->ap[0], 1, columns, 32);
    tiled(&b, &i->ap[1], 2, columns, 32), tiled(&b, &i->ap[2], 1, rows, 16);
    check(&b, x->a == DT_BF16 && x->w == DT_BF16 ? 1e-2 : 1e-4);
}

static void matrix_products(void **state)
{
    static const int types[][3] = {{DT_F32, DT_F32, DT_F32},  {DT_BF16, DT_BF16, DT_F32},
                                   {DT_U8, DT_I8, DT_I32},    {DT_BF16, DT_F32, DT_F32},
                                   {DT_F32, DT_F32, DT_BF16}, {DT_I8, DT_I8, DT_I32},
                                   {DT_F16, DT_F16, DT_F32}};
    static const int64_t sizes[][4] = {
        {1, 1, 1, 1}, {16, 32, 8, 1}, {33, 40, 17, 2}, {5, 100, 3, 3}, {20, 64, 64, 1}};
    for (int t = 0; t < 7; t++)
        for (int s = 0; s < 5; s++)
            for (int option = 0; option < 8; option++) {
                struct matmul_case x = {sizes[s][0], sizes[s][1], sizes[s][2], sizes[s][3],
                                        types[t][0], types[t][1], types[t][2], option & 1,
                                        option & 2,  option & 4};
                matmul_case(&x);
            }
}

/* (N, k) times plain weights (k, m), in double. */
static struct tensor plain_product(const struct tensor *moving, const struct tensor *weights, const struct tensor *like,
                                   int64_t rows, int64_t depth, int64_t m)
{
    struct tensor y = {.kind = VK_NONE};
    struct diag d = {0};
    assert_true(tensor_copy(&y, like, &d));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t o = 0; o < m; o++) {
            double sum = 0;
            for (int64_t k = 0; k < depth; k++)
                sum += tensor_f64(moving, r * depth + k) * tensor_f64(weights, k * m + o);
            dtype_store_f64(y.dtype, y.data, (size_t)(r * m + o), sum);
        }
    return y;
}

/* Packed weights, K in blocks: moving [block, n, k], stationary in the blocks of pack.h. */
static void packed_products(void **state)
{
    static const int types[][3] = {
        {DT_F32, DT_F32, DT_F32}, {DT_BF16, DT_BF16, DT_F32}, {DT_U8, DT_I8, DT_I32}};
    for (int t = 0; t < 3; t++)
        for (int64_t m = 10; m < 200; m += 63) {
            enum { N = 21, K = 24 };
            struct bench b, plain;
            struct diag d = {0};
            struct pack_shape shape = {(enum pack_type)t, 1, K, m};
            begin(&b);
            int rows = grid(&b, 2), columns = grid(&b, (m + 63) / 64);
            int width = pack_width(m), block = width < 64 ? width : 64;
            int c = buffer(&b, types[t][2], N * m, true), a = buffer(&b, types[t][0], N * K, false);
            begin(&plain);
            int w = buffer(&plain, types[t][1], K * m, false);
            int64_t elements = (int64_t)(pack_size(&shape) / dtype_bytes(types[t][1]));
            int packed = buffer(&b, types[t][1], elements, false);
            struct pack_source from = {plain.buffer[w].data, 0, m, 1};
            pack_weights(b.buffer[packed].data, &shape, &from);
            struct insn *i = add(&b, INSN_nc_matmul);
            i->imm[1].base = 1;
            i->ap[0] = pattern(c, types[t][2], 2, (int64_t[]){N, m}, 1, 0);
            i->ap[2] = pattern(a, types[t][0], 2, (int64_t[]){N, K}, 1, 0);
            i->ap[1] = pattern(packed, types[t][1], 2, (int64_t[]){K, m}, 1, 0);
            i->ap[1].dim[0].step = width;
            tiled(&b, &i->ap[0], 0, rows, 16), tiled(&b, &i->ap[0], 1, columns, block),
                tiled(&b, &i->ap[2], 0, rows, 16);
            tiled(&b, &i->ap[1], 1, columns, block);
            affine_set(&i->ap[1].offset, &b.p->arena, columns, width * K);
            struct tensor expect = plain_product(&b.buffer[a], &plain.buffer[w], &b.buffer[c], N, K, m);
            add_steps(&b);
            struct model *model = model_new(b.p, &d);
            struct context *x = context_new(model, 2, &d);
            for (int n = 0; n < b.n; n++)
                assert_true(context_set_input(x, n, &b.buffer[n], &d));
            if (!context_run(x, &d))
                fail_msg("%s", d.text);
            for (int64_t k = 0; k < N * m; k++) {
                double got = tensor_f64(context_output(x, 0), k), want = tensor_f64(&expect, k);
                if (!(fabs(got - want) <= (t == 1 ? 1e-2 : 1e-4) * (fabs(want) + 1)))
                    fail_msg("columns %lld, element %lld: %g, expected %g", (long long)m, (long long)k,
                             got, want);
            }
            context_free(x);
            model_free(model);
            program_free(plain.p);
            tensor_free(&plain.buffer[w]);
            tensor_free(&expect);
            for (int n = 0; n < b.n; n++)
                tensor_free(&b.buffer[n]);
        }
}
/*
 * A product and what follows it: a bias, a residual and an activation, a copy rounded to bf16, and
 * one that takes two results of the others.
 */
static void steps_case(int type, int64_t n, int64_t m, int64_t k, int activation, bool tile_bias)
{
    struct bench b;
    begin(&b);
    int rows = grid(&b, (n + 15) / 16), columns = grid(&b, (m + 31) / 32);
    int a = buffer(&b, type, n * k, false), w = buffer(&b, type, k * m, false);
    int residual = buffer(&b, DT_F32, n * m, false), bias = buffer(&b, DT_F32, m, false);
    int sums = buffer(&b, DT_F32, n * m, true), biased = buffer(&b, DT_F32, n * m, true);
    int active = buffer(&b, DT_F32, n * m, true), rounded = buffer(&b, DT_BF16, n * m, true);
    int both = buffer(&b, DT_F32, n * m, true);
    struct ap at[9];
    for (int i = 0; i < 9; i++) {
        at[i] = pattern(i, i == rounded ? DT_BF16 : DT_F32, 2, (int64_t[]){n, m}, 1, 0);
        if (i == bias)
            at[i].dim[0].step = 0;
        if (i > w)
            tiled(&b, &at[i], 0, rows, 16), tiled(&b, &at[i], 1, columns, 32);
    }
    struct insn *i = add(&b, INSN_nc_matmul);
    i->ap[0] = at[sums];
    i->ap[1] = pattern(w, type, 2, (int64_t[]){k, m}, 1, 0);
    i->ap[2] = pattern(a, type, 2, (int64_t[]){n, k}, 1, 0);
    tiled(&b, &i->ap[1], 1, columns, 32), tiled(&b, &i->ap[2], 0, rows, 16);
    i = add(&b, INSN_tensor_tensor);
    i->ap[0] = at[biased], i->ap[1] = at[tile_bias ? residual : bias], i->ap[2] = at[sums];
    i->func[0] = tile_bias ? OP_mul : OP_add;
    i = add(&b, INSN_activation);
    i->ap[0] = at[active], i->ap[1] = at[biased], i->ap[3] = at[tile_bias ? bias : residual];
    i->func[0] = (uint16_t)activation, i->flt[0] = 1, i->flt[1] = -0.5, i->flt[2] = 3;
    i = add(&b, INSN_tensor_copy);
    i->ap[0] = at[rounded], i->ap[1] = at[active];
    i = add(&b, INSN_tensor_tensor);
    i->ap[0] = at[both], i->ap[1] = at[active], i->ap[2] = at[biased];
    i->func[0] = OP_mul;
    check(&b, 1e-2);
}

static void products_with_steps(void **state)
{
    static const int activations[] = {OP_relu, OP_clip, OP_sigmoid, OP_identity};
    for (int f = 0; f < 4; f++)
        for (int bf16 = 0; bf16 < 2; bf16++)
            for (int64_t m = 20; m < 140; m += 44)
                steps_case(bf16 ? DT_BF16 : DT_F32, 37, m, 24, activations[f], m % 8);
}

/* ---- many small products ---- */

struct small_case {
    int64_t count, n, m, k, padding; /* padding: between rows, and between matrices */
    bool shared;                     /* one stationary for all */
};

static void small_bench(struct bench *b, const struct small_case *x)
{
    const int64_t c_size = x->n * (x->m + x->padding) + x->padding, w_size = x->k * (x->m + x->padding),
                  a_size = x->n * (x->k + x->padding) + x->padding;
    begin(b);
    int var = grid(b, x->count);
    grid(b, 1);
    int c = buffer(b, DT_F32, x->count * c_size, true), w = buffer(b, DT_F32, x->count * w_size, false),
        a = buffer(b, DT_F32, x->count * a_size, false);
    struct insn *i = add(b, INSN_nc_matmul);
    i->ap[0] = pattern(c, DT_F32, 2, (int64_t[]){x->n, x->m}, 1, 0);
    i->ap[1] = pattern(w, DT_F32, 2, (int64_t[]){x->k, x->m}, 1, 0);
    i->ap[2] = pattern(a, DT_F32, 2, (int64_t[]){x->n, x->k}, 1, 0);
    i->ap[0].dim[0].step += x->padding, i->ap[1].dim[0].step += x->padding, i->ap[2].dim[0].step += x->padding;
    affine_set(&i->ap[0].offset, &b->p->arena, var, c_size);
    affine_set(&i->ap[2].offset, &b->p->arena, var, a_size);
    if (!x->shared)
        affine_set(&i->ap[1].offset, &b->p->arena, var, w_size);
}

/* The result, by instructions that run one by one or not. */
static struct tensor small_result(struct bench *b, bool one_by_one)
{
    struct diag d = {0};
    struct tensor y = {.kind = VK_NONE};
    engine_threads_select(one_by_one);
    struct model *m = model_new(b->p, &d);
    engine_threads_select(false);
    struct context *c = context_new(m, 1, &d);
    for (int i = 0; i < b->n; i++)
        assert_true(context_set_input(c, i, &b->buffer[i], &d));
    if (!context_run(c, &d))
        fail_msg("%s", d.text);
    assert_true(tensor_copy(&y, context_output(c, 0), &d));
    context_free(c);
    b->p = model_take_program(m);
    return y;
}

static void small_case(const struct small_case *x)
{
    struct bench b, again;
    uint64_t before = seed;
    small_bench(&b, x);
    add_steps(&b);
    struct tensor many = small_result(&b, false), each = small_result(&b, true);
    assert_memory_equal(many.data, each.data, tensor_bytes(&many));
    tensor_free(&many), tensor_free(&each);
    for (int i = 0; i < b.n; i++)
        tensor_free(&b.buffer[i]);
    program_free(b.p);
    seed = before;
    small_bench(&again, x);
    check(&again, 1e-5);
}

static void small_products(void **state)
{
    static const struct small_case cases[] = {
        {70, 4, 4, 4, 0, false}, {70, 3, 3, 3, 0, false}, {70, 4, 1, 4, 0, false}, {2500, 1, 7, 2, 0, false},
        {33, 5, 13, 7, 3, false}, {33, 8, 8, 8, 0, true},  {20, 12, 12, 64, 1, false}, {20, 16, 16, 16, 0, false},
        {9, 6, 16, 5, 0, true},   {9, 9, 9, 1, 2, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        small_case(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(matrix_products),
                                       cmocka_unit_test(packed_products),
                                       cmocka_unit_test(products_with_steps),
                                       cmocka_unit_test(small_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
