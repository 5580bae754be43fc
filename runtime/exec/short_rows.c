#include "runtime/exec/short_rows.h"

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
