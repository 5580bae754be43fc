#include "runtime/ops/common/short_rows.h"

#include <string.h>

struct words16 {
    uint64_t v[2];
};

/* A row as `half` moves from its start and as many up to its end, which overlap. */
#define COPY(T, half)                                                                                                  \
    for (int64_t r = 0; r < rows; r++, y += y_step, x += x_step) {                                                     \
        T first[half], last[half];                                                                                     \
        memcpy(first, x, sizeof first);                                                                                \
        memcpy(last, x + bytes - sizeof last, sizeof last);                                                            \
        memcpy(y, first, sizeof first);                                                                                \
        memcpy(y + bytes - sizeof last, last, sizeof last);                                                            \
    }                                                                                                                  \
    return

void copy_short_rows(char *y, int64_t y_step, const char *x, int64_t x_step, int64_t rows, size_t bytes)
{
    if (bytes >= 64) {
        COPY(struct words16, 4);
    } else if (bytes >= 32) {
        COPY(struct words16, 2);
    } else if (bytes >= 16) {
        COPY(struct words16, 1);
    } else if (bytes >= 8) {
        COPY(uint64_t, 1);
    } else if (bytes >= 4) {
        COPY(uint32_t, 1);
    } else if (bytes >= 2) {
        COPY(uint16_t, 1);
    } else {
        COPY(uint8_t, 1);
    }
}

/* The element as often as a word has room for it. */
static inline uint64_t spread(const char *x, size_t size)
{
    uint64_t v;
    uint32_t word;
    uint16_t half;
    switch (size) {
    case 1:
        return (uint8_t)*x * UINT64_C(0x101010101010101);
    case 2:
        memcpy(&half, x, sizeof half);
        return half * UINT64_C(0x1000100010001);
    case 4:
        memcpy(&word, x, sizeof word);
        return word * UINT64_C(0x100000001);
    }
    memcpy(&v, x, sizeof v);
    return v;
}

void fill_short_rows(char *y, int64_t y_step, const char *x, int64_t x_step, int64_t rows, size_t bytes, size_t size)
{
    for (; size == 4 && bytes == 8 && rows > 0; rows--, y += y_step, x += x_step) { /* pairs of words: the commonest */
        uint32_t pair[2];
        memcpy(pair, x, sizeof *pair);
        pair[1] = pair[0];
        memcpy(y, pair, sizeof pair);
    }
    for (int64_t r = 0; r < rows; r++, y += y_step, x += x_step) {
        struct words16 v;
        v.v[0] = v.v[1] = spread(x, size);
        for (size_t at = 0; at + sizeof v <= bytes; at += sizeof v)
            memcpy(y + at, &v, sizeof v);
        if (bytes >= sizeof v)
            memcpy(y + bytes - sizeof v, &v, sizeof v); /* some of them again */
        else if (bytes >= 8)
            memcpy(y, &v, 8), memcpy(y + bytes - 8, &v, 8);
        else if (bytes >= 4)
            memcpy(y, &v, 4), memcpy(y + bytes - 4, &v, 4);
        else if (bytes >= 2)
            memcpy(y, &v, 2), memcpy(y + bytes - 2, &v, 2);
        else
            *y = *x;
    }
}

void repeat_block(char *y, size_t bytes, size_t all)
{
    enum { MAX = 8192 }; /* at a time, from the first cache */
    size_t max = bytes && bytes < MAX ? MAX / bytes * bytes : bytes;
    for (size_t have = bytes, n; have < all; have += n) {
        n = have < max ? have : max;
        n = n < all - have ? n : all - have;
        memcpy(y + have, y, n);
    }
}
