#include "runtime/ops/common/walk.h"

#include <string.h>

void dense_strides(int rank, const int64_t *dims, int64_t *strides)
{
    int64_t n = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = n;
        if (__builtin_mul_overflow(n, dims[i], &n)) /* no elements: beside a dim of 0 others may be any */
            n = 0;
    }
}

void walk_dims(struct walk *w, int rank, const int64_t *dims, int noperands)
{
    w->rank = rank;
    w->noperands = noperands;
    for (int i = 0; i < rank; i++)
        w->dims[i] = dims[i];
    for (int k = 0; k < noperands; k++) {
        dense_strides(rank, dims, w->stride[k]);
        w->offset[k] = 0;
    }
}

void walk_broadcast(struct walk *w, int k, int rank, const int64_t *dims)
{
    int64_t dense[MAX_RANK];
    dense_strides(rank, dims, dense);
    int extra = w->rank - rank;
    for (int i = 0; i < w->rank; i++)
        w->stride[k][i] = i < extra || dims[i - extra] == 1 ? 0 : dense[i - extra];
}

static bool can_merge(const struct walk *w, int outer, int inner)
{
    for (int k = 0; k < w->noperands; k++)
        if (w->stride[k][outer] != w->stride[k][inner] * w->dims[inner])
            return false;
    return true;
}

static void copy_dim(struct walk *w, int to, int from)
{
    w->dims[to] = w->dims[from];
    for (int k = 0; k < w->noperands; k++)
        w->stride[k][to] = w->stride[k][from];
}

void walk_start(struct walk *w)
{
    int rank = 0;
    w->done = false;
    for (int i = 0; i < w->rank; i++)
        w->done |= w->dims[i] == 0;
    for (int i = 0; i < w->rank; i++) {
        if (w->dims[i] == 1)
            continue;
        int64_t both;
        if (rank > 0 && !w->done && !__builtin_mul_overflow(w->dims[rank - 1], w->dims[i], &both) &&
            can_merge(w, rank - 1, i)) {
            copy_dim(w, rank - 1, i);
            w->dims[rank - 1] = both;
        } else {
            copy_dim(w, rank++, i);
        }
    }
    w->rank = rank > 0 ? rank - 1 : 0; /* the innermost dim is the run */
    w->count = rank > 0 ? w->dims[rank - 1] : 1;
    for (int k = 0; k < w->noperands; k++)
        w->step[k] = rank > 0 ? w->stride[k][rank - 1] : 0;
    memset(w->at, 0, sizeof w->at);
}

void walk_next(struct walk *w)
{
    for (int i = w->rank - 1; i >= 0; i--) {
        for (int k = 0; k < w->noperands; k++)
            w->offset[k] += w->stride[k][i];
        if (++w->at[i] < w->dims[i])
            return;
        for (int k = 0; k < w->noperands; k++)
            w->offset[k] -= w->stride[k][i] * w->dims[i];
        w->at[i] = 0;
    }
    w->done = true;
}

#define COPY_LOOP(T)                                                                               \
    for (int64_t i = 0; i < count; i++)                                                            \
    ((T *)dst)[i * dst_step] = ((const T *)src)[i * src_step]

struct bytes16 {
    uint64_t v[2];
};

void copy_run(void *dst, int64_t dst_step, const void *src, int64_t src_step, int64_t count,
              size_t bytes)
{
    if (dst_step == 1 && src_step == 1) {
        memcpy(dst, src, (size_t)count * bytes);
        return;
    }
    switch (bytes) {
    case 1:
        COPY_LOOP(uint8_t);
        break;
    case 2:
        COPY_LOOP(uint16_t);
        break;
    case 4:
        COPY_LOOP(uint32_t);
        break;
    case 8:
        COPY_LOOP(uint64_t);
        break;
    default:
        COPY_LOOP(struct bytes16);
    }
}

#define FILL_LOOP(T)                                                                               \
    do {                                                                                           \
        T v_;                                                                                      \
        memcpy(&v_, value, sizeof v_);                                                             \
        for (int64_t i = 0; i < count; i++)                                                        \
            ((T *)dst)[i] = v_;                                                                    \
    } while (0)

void fill_run(void *dst, const void *value, int64_t count, size_t bytes)
{
    switch (bytes) {
    case 1:
        memset(dst, *(const unsigned char *)value, (size_t)count);
        break;
    case 2:
        FILL_LOOP(uint16_t);
        break;
    case 4:
        FILL_LOOP(uint32_t);
        break;
    case 8:
        FILL_LOOP(uint64_t);
        break;
    default:
        FILL_LOOP(struct bytes16);
    }
}

void walk_copy(struct walk *w, void *dst, const void *src, size_t bytes)
{
    for (walk_start(w); !w->done; walk_next(w))
        copy_run((char *)dst + w->offset[0] * (int64_t)bytes, w->step[0],
                 (const char *)src + w->offset[1] * (int64_t)bytes, w->step[1], w->count, bytes);
}
