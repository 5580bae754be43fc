/*
 * Concrete values: what constants, inputs, outputs and plain routines hold.
 *
 * A tensor owns one block (`data`) or borrows it (`owned` false). Strings are an array of struct
 * str whose bytes lie in the same block. Containers own an array of tensors: sequence: its
 * elements; optional: none or one; map: two, keys and values. Data is aligned to 64 bytes when
 * owned.
 */
#ifndef NEFF_TENSOR_H
#define NEFF_TENSOR_H

#include "neff/core/type.h"

struct str {
    const char *p; /* UTF-8, not terminated */
    size_t n;
};

struct tensor {
    uint8_t kind;  /* enum value_kind; VK_NONE: absent (an optional operand left out) */
    uint8_t dtype; /* enum dtype; of containers: element type when known, else DT_NONE */
    bool owned;
    int32_t rank;
    int64_t dims[MAX_RANK];
    void *data;
    size_t capacity; /* bytes of an owned block */
    struct tensor *items;
    int64_t nitems;
};

/*
 * Large blocks that tensors of a thread have given back, for others of about their size: a run that makes tensors of
 * its own sizes would get, and return, their pages one by one each time.
 */
enum { SPARE_BLOCKS = 16 };
struct tensor_spares {
    struct {
        void *data;
        size_t capacity;
    } block[SPARE_BLOCKS];
    int n;
};
/* From now on, in this thread; NULL: blocks are freed. What there was before. */
struct tensor_spares *tensor_use_spares(struct tensor_spares *s);
void tensor_drop_spares(struct tensor_spares *s);

int64_t tensor_count(const struct tensor *t);
static inline size_t tensor_bytes(const struct tensor *t)
{
    return (size_t)tensor_count(t) * dtype_bytes(t->dtype);
}
/* Product of dims [from, to). */
int64_t dims_product(const int64_t *dims, int from, int to);
/* Whether each number is larger than the one before it. */
bool dims_ascend(const int64_t *dims, int n);

/*
 * Makes *t a tensor of that shape with zeroed memory of its own, freeing what it held; keeps its
 * block when it owns one that is large enough. Fails on negative dims, on overflow, and when memory
 * is short.
 */
bool tensor_alloc(struct tensor *t, int dtype, int rank, const int64_t *dims, struct diag *d);
/* As tensor_alloc, but memory is not cleared (except for strings). */
bool tensor_alloc_dirty(struct tensor *t, int dtype, int rank, const int64_t *dims, struct diag *d);
/* A view of memory that someone else owns. */
struct tensor tensor_view(int dtype, int rank, const int64_t *dims, void *data);
void tensor_free(struct tensor *t); /* deep; *t becomes VK_NONE */
bool tensor_copy(struct tensor *dst, const struct tensor *src, struct diag *d); /* deep */
void tensor_move(struct tensor *dst, struct tensor *src); /* frees dst; src becomes VK_NONE */
bool tensor_equal(const struct tensor *a, const struct tensor *b); /* same bits; strings by bytes */

/* A string tensor with copies of the given strings, in one block. */
bool tensor_set_strings(struct tensor *t, int rank, const int64_t *dims, const struct str *s,
                        struct diag *d);
/* Makes *t a container with n absent items. */
bool tensor_alloc_items(struct tensor *t, int kind, int64_t n, struct diag *d);

static inline double tensor_f64(const struct tensor *t, int64_t i)
{
    return t->dtype == DT_F32 ? (double)((const float *)t->data)[i]
                              : dtype_load_f64(t->dtype, t->data, (size_t)i);
}
static inline int64_t tensor_i64(const struct tensor *t, int64_t i)
{
    return t->dtype == DT_I64 ? ((const int64_t *)t->data)[i]
                              : dtype_load_i64(t->dtype, t->data, (size_t)i);
}
/* `f32[1,3,224,224]`, as text in a caller's buffer. */
const char *tensor_type_text(const struct tensor *t, char *buf, size_t size);

#endif
