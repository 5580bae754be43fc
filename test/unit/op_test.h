/*
 * Calling one operator from a test: operands and results as tensors made from literals.
 */
#ifndef TEST_UNIT_OP_TEST_H
#define TEST_UNIT_OP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/ops/common/ops.h"

/* After our headers: cmocka has a macro of the name fail. */
#include <cmocka.h>

#define DIMS(...)                                                                                  \
    (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[])                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define SCALAR 0, NULL

struct op_test {
    struct arena arena;
    struct attrs attrs;
    struct diag d;
    struct op_env env;
    struct tensor in[8], out[4];
    int nin;
};

static inline void op_test_clear(struct op_test *t)
{
    for (int i = 0; i < 8; i++)
        tensor_free(&t->in[i]);
    for (int i = 0; i < 4; i++)
        tensor_free(&t->out[i]);
    arena_free(&t->arena);
    memset(t, 0, sizeof *t);
    for (int i = 0; i < 8; i++)
        t->in[i].kind = VK_NONE;
    for (int i = 0; i < 4; i++)
        t->out[i].kind = VK_NONE;
}

/* The next operand; values as doubles are converted as dtype_store_f64 does. */
static inline struct tensor *op_test_in(struct op_test *t, int dtype, size_t rank,
                                        const int64_t *dims, const double *v)
{
    struct tensor *x = &t->in[t->nin++];
    assert_true(tensor_alloc(x, dtype, (int)rank, dims, &t->d));
    for (int64_t i = 0, n = tensor_count(x); i < n; i++)
        dtype_store_f64(dtype, x->data, (size_t)i, v[i]);
    return x;
}

static inline bool op_test_run(struct op_test *t, enum op op, int nout)
{
    struct tensor *in[8], *out[4];
    for (int i = 0; i < 8; i++)
        in[i] = &t->in[i];
    for (int i = 0; i < 4; i++)
        out[i] = &t->out[i];
    diag_clear(&t->d);
    t->env = (struct op_env){.d = &t->d};
    struct op_call c = {.op = op,
                        .attrs = &t->attrs,
                        .nin = t->nin,
                        .nout = nout,
                        .in = in,
                        .out = out,
                        .env = &t->env};
    return op_run(&c);
}

#endif
