/*
 * Packed weights: the layouts in which the compiler stores a matrix and the runtime's matrix
 * kernels read it in place.
 *
 * A weight W[group][k][out] (groups: filter taps of a convolution, otherwise 1) is cut into blocks
 * of 64 columns. A block holds, group after group,
 *
 *     f32   [k][width]          width = 64; when the weight has fewer than 64 columns,
 *     bf16  [k/2][width][2]             their number rounded up to a multiple of 16
 *     s8    [k/4][width][4]
 *
 * where k is rounded up to the unit (1, 2 or 4) in every group, and what is added is zero. bf16
 * pairs and s8 quads are what the dot product instructions of AVX-512 (VNNI) take.
 *
 * Weight-only quantised weights (8 or 4 bits, scales over blocks of `block` k) are cut into the
 * same blocks of columns; each holds, for every block of k, the last one padded:
 *
 *     scale f32 [width], zero point f32 [width] unless all of the weight's are one number,
 *     words of 32 bits [k / 8][width], the four bits of k at bit 4 (k % 8), or
 *     words of 32 bits [k / 4][width], the eight bits of k at bit 8 (k % 4)
 *
 * with k rounded up to whole words in every block.
 *
 * Nothing here fails; the caller has checked sizes (pack_size saturates to SIZE_MAX on overflow).
 */
#ifndef NEFF_PACK_H
#define NEFF_PACK_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { PACK_COLUMNS = 64, PACK_ALIGN_COLUMNS = 16 };
enum pack_type { PACK_F32, PACK_BF16, PACK_S8 };

struct pack_shape {
    enum pack_type type;
    int64_t groups, k, columns;
};

static inline bool pack_shape_equal(const struct pack_shape *a, const struct pack_shape *b)
{
    return a->type == b->type && a->groups == b->groups && a->k == b->k && a->columns == b->columns;
}

/* Width of every block of a weight with `columns` columns. */
static inline int pack_width(int64_t columns)
{
    if (columns >= PACK_COLUMNS)
        return PACK_COLUMNS;
    return (int)((columns + PACK_ALIGN_COLUMNS - 1) / PACK_ALIGN_COLUMNS * PACK_ALIGN_COLUMNS);
}
/* k as stored. */
static inline int64_t pack_k(enum pack_type type, int64_t k)
{
    int64_t unit = type == PACK_F32 ? 1 : type == PACK_BF16 ? 2 : 4;
    return (k + unit - 1) / unit * unit;
}
static inline size_t pack_element_size(enum pack_type type)
{
    return type == PACK_F32 ? 4 : type == PACK_BF16 ? 2 : 1;
}
/* Elements from the start of the packed weight to block `out / 64`, and in it to a group. */
static inline int64_t pack_offset(const struct pack_shape *s, int64_t out, int64_t group)
{
    int64_t block = out / PACK_COLUMNS, k = pack_k(s->type, s->k);
    return block * PACK_COLUMNS * s->groups * k + group * k * pack_width(s->columns);
}

size_t pack_size(const struct pack_shape *s); /* bytes */

/* Element (group, k, out) of the source is at data[group * group_step + k * k_step + out *
   out_step]; f32, bf16 bit patterns or s8, as the shape's type says. */
struct pack_source {
    const void *data;
    int64_t group_step, k_step, out_step;
};
/* One block of at most 64 columns, of which `columns` exist; the source is that of its first column. */
void pack_block(void *block, const struct pack_shape *s, const struct pack_source *from, int columns);
void pack_weights(void *packed, const struct pack_shape *s, const struct pack_source *from);
/* The inverse, for checks and printing. */
void unpack_weights(void *data, const struct pack_source *to, const struct pack_shape *s,
                    const void *packed);

struct pack_quantized {
    int64_t k, columns;
    int block, bits; /* 8: q is s8; 4: q is one value of 0..15 in a byte */
    bool zeros;      /* zero points are stored */
};
/* Bytes of scales and zero points before the values of a block, and of the block, of `width` columns.
 */
static inline int64_t pack_quantized_head(const struct pack_quantized *s, int width)
{
    return (s->zeros ? 8 : 4) * (int64_t)width;
}
static inline int64_t pack_quantized_block(const struct pack_quantized *s, int width)
{
    int terms = 32 / s->bits;
    return pack_quantized_head(s, width) + (s->block + terms - 1) / terms * 4 * (int64_t)width;
}
size_t pack_quantized_size(const struct pack_quantized *s); /* bytes */
/* q[k][out]; scale[block of k][out] and zero[block of k][out], which is read when zero points are stored; by steps. */
struct quantized_source {
    const uint8_t *q;
    int64_t q_k_step, q_out_step;
    const float *scale, *zero;
    int64_t scale_k_step, scale_out_step;
};
void pack_quantized(void *packed, const struct pack_quantized *s, const struct quantized_source *from);

/* ---- rows of weight-only products that are rounded to 8 bits ---- */

enum { WEIGHT_ONLY_ROUNDED_BLOCK = 1 << 16 }; /* terms of a block whose sums of integers fit in 32 bits */
/* A block of a row as integers of -127..127: the factor that gives them, before they are rounded to nearest even, and
 * the scale that takes them back. `bits`: of the block's largest magnitude. */
static inline float weight_only_scale(uint32_t bits, float *scale)
{
    float largest;
    memcpy(&largest, &bits, sizeof largest);
    *scale = largest / 127;
    if (bits >= 0x7f800000)
        *scale = NAN;
    else if (*scale >= 0x1p-126f)
        return 1 / *scale;
    else
        *scale = 0; /* too small to be divided by */
    return 0;
}

#endif
