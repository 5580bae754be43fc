#include "neff/isa/pack.h"

#include <string.h>

/* Saturating product and sum. */
static size_t times(size_t a, size_t b)
{
    size_t y;
    return __builtin_mul_overflow(a, b, &y) ? SIZE_MAX : y;
}

/* Columns as stored, all blocks together. */
static size_t stored_columns(int64_t columns)
{
    return (size_t)((columns + PACK_COLUMNS - 1) / PACK_COLUMNS * pack_width(columns));
}

size_t pack_size(const struct pack_shape *s)
{
    size_t rows = times((size_t)s->groups, (size_t)pack_k(s->type, s->k));
    return times(times(rows, stored_columns(s->columns)), pack_element_size(s->type));
}

/* One group of one block: `width` columns of which `columns` exist. UNIT consecutive k lie together. */
#define DEFINE_PACK(name, type, UNIT)                                                              \
    static void pack_##name(type *y, int width, const type *x, int64_t k_step, int64_t out_step,   \
                            int64_t k, int columns)                                                \
    {                                                                                              \
        for (int64_t i = 0; i < k; i += UNIT, y += UNIT * width) {                                 \
            int present = k - i < UNIT ? (int)(k - i) : UNIT;                                      \
            if (present < UNIT || columns < width)                                                 \
                memset(y, 0, sizeof(type) * UNIT * (size_t)width);                                 \
            for (int o = 0; o < columns; o++)                                                      \
                for (int u = 0; u < present; u++)                                                  \
                    y[o * UNIT + u] = x[(i + u) * k_step + o * out_step];                          \
        }                                                                                          \
    }                                                                                              \
    static void unpack_##name(type *x, int64_t k_step, int64_t out_step, const type *y, int width, \
                              int64_t k, int columns)                                              \
    {                                                                                              \
        for (int64_t i = 0; i < k; i++)                                                            \
            for (int o = 0; o < columns; o++)                                                      \
                x[i * k_step + o * out_step] = y[(i / UNIT * width + o) * UNIT + i % UNIT];        \
    }
DEFINE_PACK(f32, uint32_t, 1)
DEFINE_PACK(bf16, uint16_t, 2)
DEFINE_PACK(s8, uint8_t, 4)

void pack_block(void *block, const struct pack_shape *s, const struct pack_source *from, int columns)
{
    int width = pack_width(s->columns);
    int64_t step = pack_k(s->type, s->k) * width;
    for (int64_t g = 0; g < s->groups; g++) {
        int64_t at = g * from->group_step;
        if (s->type == PACK_F32)
            pack_f32((uint32_t *)block + g * step, width, (const uint32_t *)from->data + at,
                     from->k_step, from->out_step, s->k, columns);
        else if (s->type == PACK_BF16)
            pack_bf16((uint16_t *)block + g * step, width, (const uint16_t *)from->data + at,
                      from->k_step, from->out_step, s->k, columns);
        else
            pack_s8((uint8_t *)block + g * step, width, (const uint8_t *)from->data + at,
                    from->k_step, from->out_step, s->k, columns);
    }
}

void pack_weights(void *packed, const struct pack_shape *s, const struct pack_source *from)
{
    size_t size = pack_element_size(s->type);
    for (int64_t out = 0; out < s->columns; out += PACK_COLUMNS) {
        struct pack_source block = *from;
        block.data = (const char *)from->data + (int64_t)size * out * from->out_step;
        pack_block((char *)packed + (int64_t)size * pack_offset(s, out, 0), s, &block,
                   s->columns - out < PACK_COLUMNS ? (int)(s->columns - out) : PACK_COLUMNS);
    }
}

void unpack_weights(void *data, const struct pack_source *to, const struct pack_shape *s,
                    const void *packed)
{
    for (int64_t out = 0; out < s->columns; out += PACK_COLUMNS) {
        int width = pack_width(s->columns);
        int columns = s->columns - out < width ? (int)(s->columns - out) : width;
        for (int64_t g = 0; g < s->groups; g++) {
            int64_t at = pack_offset(s, out, g);
            int64_t into = g * to->group_step + out * to->out_step;
            if (s->type == PACK_F32)
                unpack_f32((uint32_t *)data + into, to->k_step, to->out_step,
                           (const uint32_t *)packed + at, width, s->k, columns);
            else if (s->type == PACK_BF16)
                unpack_bf16((uint16_t *)data + into, to->k_step, to->out_step,
                            (const uint16_t *)packed + at, width, s->k, columns);
            else
                unpack_s8((uint8_t *)data + into, to->k_step, to->out_step,
                          (const uint8_t *)packed + at, width, s->k, columns);
        }
    }
}

size_t pack_quantized_size(const struct pack_quantized *s)
{
    size_t blocks = (size_t)((s->k + s->block - 1) / s->block);
    return times(times(blocks, (size_t)pack_quantized_block(s, 1)), stored_columns(s->columns));
}

void pack_quantized(void *packed, const struct pack_quantized *s, const struct quantized_source *from)
{
    uint8_t *y = packed;
    memset(packed, 0, pack_quantized_size(s));
    for (int64_t out = 0; out < s->columns; out += PACK_COLUMNS) {
        int width = pack_width(s->columns);
        int columns = s->columns - out < width ? (int)(s->columns - out) : width;
        for (int64_t k0 = 0; k0 < s->k; k0 += s->block, y += pack_quantized_block(s, width)) {
            int64_t at = k0 / s->block * from->scale_k_step + out * from->scale_out_step;
            int64_t n = s->k - k0 < s->block ? s->k - k0 : s->block;
            uint8_t *values = y + pack_quantized_head(s, width);
            for (int o = 0; o < columns; o++) {
                int64_t of = at + o * from->scale_out_step;
                memcpy(y + sizeof(float) * (size_t)o, &from->scale[of], sizeof *from->scale);
                if (s->zeros)
                    memcpy(y + sizeof(float) * (size_t)(width + o), &from->zero[of], sizeof *from->zero);
                const uint8_t *x = from->q + k0 * from->q_k_step + (out + o) * from->q_out_step;
                for (int64_t k = 0; k < n; k++)
                    if (s->bits == 8)
                        values[(k / 4 * width + o) * 4 + k % 4] = x[k * from->q_k_step];
                    else
                        values[(k / 8 * width + o) * 4 + k % 8 / 2] |=
                            (uint8_t)(x[k * from->q_k_step] << (k & 1 ? 4 : 0));
            }
        }
    }
}
