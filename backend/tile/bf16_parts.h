/*
 * A number in float as the sum of three in bf16: products with ones give it back to the last bit.
 */
#ifndef BACKEND_BF16_PARTS_H
#define BACKEND_BF16_PARTS_H

#include "neff/core/dtype.h"

#include <math.h>

enum { BF16_PARTS = 3 };

static inline void bf16_split(float x, uint16_t part[BF16_PARTS])
{
    for (int i = 0; i < BF16_PARTS; i++) {
        part[i] = f32_to_bf16(x);
        x -= bf16_to_f32(part[i]);
    }
}

/* Infinities, and numbers so small that the last part would be none, are not exact. */
static inline bool bf16_parts_exact(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t part[BF16_PARTS];
        bf16_split(x[i], part);
        if (!isfinite(x[i]) || bf16_to_f32(part[0]) + (bf16_to_f32(part[1]) + bf16_to_f32(part[2])) != x[i])
            return false;
    }
    return true;
}

#endif
