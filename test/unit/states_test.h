/*
 * What tests of xrt_bind_state share: graphs as text, made-up numbers, and two contexts of which one keeps its states
 * in place.
 */
#ifndef TEST_UNIT_STATES_TEST_H
#define TEST_UNIT_STATES_TEST_H

#include "frontend/xcc.h"
#include "runtime/xrt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline void must(bool ok)
{
    if (!ok)
        fail_msg("%s", xrt_error());
}

static inline struct xrt_model *open_graph(const char *text, struct xcc_bytes *archive)
{
    if (!xcc_compile_memory(text, strlen(text), "states.xir", "-q --auto-cast none", archive, NULL, NULL))
        fail_msg("%s", xcc_error());
    struct xrt_model *m = xrt_open_memory(archive->data, archive->size);
    must(m != NULL);
    return m;
}

/* Of floats. */
static inline size_t bytes_of(const struct xrt_tensor *t)
{
    size_t n = sizeof(float);
    for (int i = 0; i < t->rank; i++)
        n *= (size_t)t->dims[i];
    return n;
}

/* Other floats at each call, in data, which has room for `room`. */
static inline struct xrt_tensor made_up(float *data, int64_t room, int rank, const int64_t *dims)
{
    static uint32_t seed;
    struct xrt_tensor t = {.dtype = "f32", .rank = rank, .data = data};
    memcpy(t.dims, dims, sizeof *dims * (size_t)rank);
    int64_t n = (int64_t)(bytes_of(&t) / sizeof *data);
    assert_true(n <= room);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (float)(seed >> 8) / (1 << 23) - 1;
    }
    return t;
}

static inline void same_output(struct xrt_context *a, struct xrt_context *b, int i)
{
    struct xrt_tensor x, y;
    must(xrt_output(a, i, &x) && xrt_output(b, i, &y));
    assert_int_equal(x.rank, y.rank);
    assert_memory_equal(x.dims, y.dims, sizeof *x.dims * (size_t)x.rank);
    assert_memory_equal(x.data, y.data, bytes_of(&x));
}

#endif
