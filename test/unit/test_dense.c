/*
 * Dense linear algebra of our own against what defines it: factors multiply to the matrix, orthogonal ones to 1,
 * solutions solve. Real and complex matrices of sizes around those of blocks and panels, wide and tall, in batches.
 */
#include "test/unit/op_test.h"
#include "test/unit/selected_variants.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

enum { BATCH = 2 };
static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 32, 33, 48, 65, 70};
static const int types[] = {DT_F64, DT_C128, DT_F32, DT_C64};
static int type;
static bool few_sizes;
static struct op_test t;
static uint32_t seed = 7;

typedef double complex number;

static number draw(void)
{
    double part[2];
    for (int i = 0; i < 2; i++) {
        seed = seed * 1664525 + 1013904223;
        part[i] = (double)(seed >> 8) / (1 << 23) - 1;
    }
    return part[0] + (dtype_is_complex(type) ? part[1] * I : 0);
}

static bool is_wide(void)
{
    return type == DT_F64 || type == DT_C128;
}

static number get(const struct tensor *x, int64_t i)
{
    number v;
    dtype_convert(DT_C128, &v, x->dtype, (char *)x->data + (size_t)i * dtype_bytes(x->dtype), 1, false);
    return v;
}

static void set(struct tensor *x, int64_t i, number v)
{
    dtype_convert(x->dtype, (char *)x->data + (size_t)i * dtype_bytes(x->dtype), DT_C128, &v, 1, false);
}

/* Operand i: BATCH matrices of random numbers, with `diagonal` added to the diagonal. */
static struct tensor *matrices(int64_t rows, int64_t cols, double diagonal)
{
    struct tensor *x = &t.in[t.nin++];
    assert_true(tensor_alloc(x, type, 3, (int64_t[]){BATCH, rows, cols}, &t.d));
    for (int64_t i = 0; i < BATCH * rows * cols; i++)
        set(x, i, draw() + (i / cols % rows == i % cols ? diagonal : 0));
    return x;
}

static void start(void)
{
    op_test_clear(&t);
}

/* Result i becomes operand `to` of what is called next. */
static void pass(int i, int to)
{
    tensor_free(&t.in[to]);
    t.in[to] = t.out[i];
    t.out[i] = (struct tensor){.kind = VK_NONE};
    t.nin = to + 1 > t.nin ? to + 1 : t.nin;
}

static void run(const char *routine, int results)
{
    attr_set_str(&t.arena, &t.attrs, "routine", routine);
    if (!op_test_run(&t, OP_linalg, results))
        fail_msg("%s of %s: %s", routine, dtype_name(type), t.d.text);
}

static void set_attr(const char *name, int64_t v)
{
    attr_set_int(&t.arena, &t.attrs, name, v);
}

static void check_close(const char *what, int64_t m, int64_t n, number x, number y, double scale)
{
    double limit = (is_wide() ? 1e-12 : 1e-5) * scale;
    if (!(cabs(x - y) <= limit))
        fail_msg("%s of %s, %lld x %lld: %g%+gi, expected %g%+gi", what, dtype_name(type), (long long)m, (long long)n,
                 creal(x), cimag(x), creal(y), cimag(y));
}

/* Element (i, j) of matrix b of x. */
static number at(const struct tensor *x, int64_t b, int64_t i, int64_t j)
{
    return get(x, (b * x->dims[1] + i) * x->dims[2] + j);
}

/* ---- factors ---- */

static void check_cholesky(int64_t n, bool lower, int64_t bad)
{
    start();
    struct tensor *x = matrices(n, n, 4 * (double)n);
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t i = 0; i < n; i++)
            set(x, (b * n + i) * n + i, i == bad ? -1 : creal(at(x, b, i, i)));
    set_attr("uplo", lower ? 'L' : 'U');
    run("potrf", 2);
    for (int64_t b = 0; b < BATCH; b++) {
        assert_int_equal(tensor_i64(&t.out[1], b), bad + 1);
        for (int64_t i = 0; bad < 0 && i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                if (i != j && (j < i) != lower) {
                    assert_true(at(&t.out[0], b, i, j) == at(x, b, i, j));
                    continue;
                }
                number sum = 0;
                for (int64_t p = 0; p <= (i < j ? i : j); p++)
                    sum += lower ? at(&t.out[0], b, i, p) * conj(at(&t.out[0], b, j, p))
                                 : conj(at(&t.out[0], b, p, i)) * at(&t.out[0], b, p, j);
                check_close("potrf", n, n, sum, at(x, b, i, j), 8 * (double)n);
            }
    }
}

static void check_lu(int64_t m, int64_t n)
{
    int64_t k = m < n ? m : n, row[128];
    start();
    struct tensor *x = matrices(m, n, 0);
    run("getrf", 3);
    for (int64_t b = 0; b < BATCH; b++) {
        assert_int_equal(tensor_i64(&t.out[2], b), 0);
        for (int64_t i = 0; i < m; i++)
            row[i] = i;
        for (int64_t i = 0; i < k; i++) {
            int64_t p = tensor_i64(&t.out[1], b * k + i) - 1, swap = row[i];
            assert_true(p >= i && p < m);
            row[i] = row[p], row[p] = swap;
        }
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                number sum = i <= j ? at(&t.out[0], b, i, j) : 0;
                for (int64_t p = 0; p < i && p <= j && p < k; p++) {
                    sum += at(&t.out[0], b, i, p) * at(&t.out[0], b, p, j);
                    assert_true(cabs(at(&t.out[0], b, i, p)) < 1.4143);
                }
                check_close("getrf", m, n, sum, at(x, b, row[i], j), 16);
            }
    }
}

/* Q R is x, Q* Q is 1. */
static void check_orthogonal(const struct tensor *q, const struct tensor *r, const struct tensor *x, int64_t m,
                             int64_t n)
{
    int64_t k = q->dims[2];
    for (int64_t b = 0; b < BATCH; b++) {
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                number sum = 0;
                for (int64_t p = 0; p <= j && p < k; p++)
                    sum += at(q, b, i, p) * at(r, b, p, j);
                check_close("geqrf", m, n, sum, at(x, b, i, j), 16);
            }
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = 0; j < k; j++) {
                number sum = 0;
                for (int64_t p = 0; p < m; p++)
                    sum += conj(at(q, b, p, i)) * at(q, b, p, j);
                check_close("orgqr", m, n, sum, i == j, 8);
            }
    }
}

/* y is Q c, Q* c, c Q or c Q*, of a square Q. */
static void check_product(const struct tensor *q, const struct tensor *c, bool left, bool adjoint)
{
    int64_t rows = c->dims[1], cols = c->dims[2], n = q->dims[2];
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++) {
                number sum = 0;
                for (int64_t p = 0; p < n; p++) {
                    int64_t u = left ? i : p, v = left ? p : j;
                    number element = adjoint ? conj(at(q, b, v, u)) : at(q, b, u, v);
                    sum += left ? element * at(c, b, p, j) : at(c, b, i, p) * element;
                }
                check_close("ormqr", rows, cols, at(&t.out[0], b, i, j), sum, 16);
            }
}

static void check_qr(int64_t m, int64_t n)
{
    struct tensor x, r, q;
    start();
    matrices(m, n, 0);
    run("geqrf", 2);
    x = t.in[0], t.in[0] = (struct tensor){.kind = VK_NONE};
    pass(0, 0);
    pass(1, 1);
    r = t.in[0];
    if (m >= n) {
        run("orgqr", 1);
        q = t.out[0], t.out[0] = (struct tensor){.kind = VK_NONE};
        check_orthogonal(&q, &r, &x, m, n);
        for (int way = 0; m == n && way < 4; way++) {
            bool left = way & 1;
            tensor_free(&t.in[2]);
            t.nin = 2;
            struct tensor *c = matrices(left ? m : 3, left ? 5 : m, 0);
            set_attr("left", left);
            set_attr("transpose", way >> 1);
            run("ormqr", 1);
            check_product(&q, c, left, way >> 1);
        }
        tensor_free(&q);
    }
    tensor_free(&x);
}

/* A Q = Q H, with Q of the reflectors below the first subdiagonal. */
static void check_hessenberg(int64_t n)
{
    start();
    struct tensor *x = matrices(n, n, 0);
    number *q = calloc((size_t)(n * n), sizeof *q);
    run("gehrd", 3);
    for (int64_t b = 0; b < BATCH; b++) {
        for (int64_t i = 0; i < n * n; i++)
            q[i] = i / n == i % n;
        for (int64_t j = n - 2; j >= 0; j--)
            for (int64_t col = 0; col < n; col++) {
                number dot = q[(j + 1) * n + col];
                for (int64_t i = j + 2; i < n; i++)
                    dot += conj(at(&t.out[0], b, i, j)) * q[i * n + col];
                dot *= get(&t.out[1], b * (n - 1) + j);
                for (int64_t i = j + 1; i < n; i++)
                    q[i * n + col] -= dot * (i == j + 1 ? 1 : at(&t.out[0], b, i, j));
            }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                number a = 0, h = 0;
                for (int64_t p = 0; p < n; p++) {
                    a += at(x, b, i, p) * q[p * n + j];
                    h += p <= j + 1 ? q[i * n + p] * at(&t.out[0], b, p, j) : 0;
                }
                check_close("gehrd", n, n, h, a, 32);
            }
    }
    free(q);
}

/* ---- solutions ---- */

static number triangle(const struct tensor *a, int64_t b, int64_t i, int64_t j, int way)
{
    bool lower = way & 2, unit = way & 4, turned = way & 8;
    int64_t u = turned ? j : i, v = turned ? i : j;
    number x = u == v && unit ? 1 : u != v && (v < u) != lower ? 0 : at(a, b, u, v);
    return way & 16 ? conj(x) : x;
}

static void check_solution(int64_t n, int64_t sides, int way)
{
    static const char *const names[] = {"left_side", "lower", "unit_diagonal", "transpose", "conjugate"};
    bool left = way & 1;
    start();
    struct tensor *a = matrices(n, n, (double)n), *x = matrices(left ? n : sides, left ? sides : n, 0);
    for (int64_t i = 0; i < BATCH * n * n; i++) /* of condition near 1 */
        set(a, i, get(a, i) / (double)n);
    for (int i = 0; i < 5; i++)
        set_attr(names[i], way >> i & 1);
    if (!op_test_run(&t, OP_triangular_solve, 1))
        fail_msg("triangular_solve: %s", t.d.text);
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < sides; j++) {
                number sum = 0;
                for (int64_t p = 0; p < n; p++)
                    sum += left ? triangle(a, b, i, p, way) * at(&t.out[0], b, p, j)
                                : at(&t.out[0], b, j, p) * triangle(a, b, p, i, way);
                check_close("triangular_solve", n, sides, sum, left ? at(x, b, i, j) : at(x, b, j, i), 16);
            }
}

static void check_sizes(int64_t n)
{
    static const int64_t others[] = {1, 4, 20, 40, 67};
    for (int i = 0; i < 4; i++)
        check_cholesky(n, i & 1, i & 2 ? n - 1 : -1);
    check_lu(n, n);
    check_qr(n, n);
    check_hessenberg(n);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        check_lu(n, others[i]);
        check_qr(n, others[i]);
        for (int way = 0; way < 32; way++)
            if ((way + (int)n) % 4 == (int)i % 4)
                check_solution(n, others[i], way);
    }
}

static void check_all(void)
{
    for (size_t d = 0; d < sizeof types / sizeof *types; d++)
        for (size_t i = few_sizes ? 13 : 0; i < (few_sizes ? 14 : sizeof sizes / sizeof *sizes); i++) {
            type = types[d];
            check_sizes(sizes[i]);
        }
    op_test_clear(&t);
}

static void test_factors(void **state)
{
    (void)state;
    check_all();
    few_sizes = true;
    for_each_variant(check_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_factors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
