/*
 * Extension on u8 images [height, width, channels]: depthwise convolution of one output row.
 */
#include "runtime/exec/engine.h"

#include <string.h>

enum { MAX_ROWS = 16, MAX_PLACES = 256, QUAD = 4 };

static bool types_fit(struct binding *b, const struct bound_insn *i)
{
    const struct operand *y = &i->o[AP(depthwise_integer, dst)],
                         *x = &i->o[AP(depthwise_integer, image)],
                         *w = &i->o[AP(depthwise_integer, weights)],
                         *terms = &i->o[AP(depthwise_integer, terms)];
    bool quantized = y->dtype == DT_U8 || y->dtype == DT_I8;
    if ((y->dtype != DT_I32 && !quantized) || x->dtype != DT_U8 || w->dtype != DT_I8 ||
        (terms->mem && terms->dtype != DT_I32))
        return fail(b->d, "depthwise_integer: %s from %s and %s, expected i32 or 8-bit from u8, i8",
                    dtype_name(y->dtype), dtype_name(x->dtype), dtype_name(w->dtype));
    if (y->rank != 2 || x->rank != 3 || w->rank != 4 || (terms->mem && terms->rank != 2) ||
        (quantized && !terms->mem) || (terms->mem && terms->count[0] != (quantized ? 3 : 1)))
        return fail(b->d, "depthwise_integer: operands of rank %d, %d and %d, expected 2, 3 and 4",
                    y->rank, x->rank, w->rank);
    float zero = i->flt[FLT(depthwise_integer, zero)];
    if (!(zero >= -128 && zero <= 255) || zero != (float)(int)zero)
        return fail(b->d, "depthwise_integer: 'zero' is %g", (double)zero);
    return true;
}

bool prepare_depthwise_integer(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    const struct operand *y = &i->o[AP(depthwise_integer, dst)],
                         *x = &i->o[AP(depthwise_integer, image)],
                         *w = &i->o[AP(depthwise_integer, weights)],
                         *terms = &i->o[AP(depthwise_integer, terms)];
    if (!constant_numbers(b, i) || !types_fit(b, i))
        return false;
    int64_t channels = y->count[1], rows = NUMBER(i, depthwise_integer, kernel_h),
            columns = NUMBER(i, depthwise_integer, kernel_w);
    if (rows < 1 || rows > MAX_ROWS || columns < 1 || rows * columns > MAX_PLACES ||
        w->count[0] != columns || w->count[1] != (rows + QUAD - 1) / QUAD ||
        w->count[2] != channels || w->count[3] != QUAD || x->count[2] != channels ||
        (terms->mem && terms->count[1] != channels))
        return fail(b->d, "depthwise_integer: %lld channels, %lld x %lld places",
                    (long long)channels, (long long)rows, (long long)columns);
    if (y->step[1] != 1 || x->step[2] != 1 || w->step[3] != 1 || w->step[2] != QUAD ||
        w->step[1] != QUAD * channels || w->step[0] != w->count[1] * w->step[1] ||
        (terms->mem && terms->step[1] != 1))
        return fail(b->d, "depthwise_integer: operands with steps between channels");
    if (i->o[AP(depthwise_integer, image)].nclips || i->o[AP(depthwise_integer, weights)].nclips ||
        i->o[AP(depthwise_integer, terms)].nclips)
        return fail(b->d, "depthwise_integer: clipped operands");
    if (!NUMBER(i, depthwise_integer, stride_h) || !NUMBER(i, depthwise_integer, stride_w) ||
        NUMBER(i, depthwise_integer, outside) > 255)
        return fail(b->d, "depthwise_integer: a stride of 0, or more than a byte outside");
    for (int n = 0; n < x->rank; n++)
        if (x->count[n] > 1 << 24 || y->count[n % 2] > 1 << 24)
            return fail(b->d, "depthwise_integer: an image of more than %d places", 1 << 24);
    need_scratch(b, channels + 64);
    return true;
}

void exec_depthwise_integer(struct worker *me, const struct bound_insn *i)
{
    const struct operand *y = &i->o[AP(depthwise_integer, dst)],
                         *x = &i->o[AP(depthwise_integer, image)];
    int64_t count[MAX_AP_RANK], image_count[MAX_AP_RANK];
    if (!counts_now(me, i, AP(depthwise_integer, dst), count) || count[1] != y->count[1])
        return;
    bool some = counts_now(me, i, AP(depthwise_integer, image), image_count);
    const uint8_t *image = (const uint8_t *)operand_address(me, x), *rows[MAX_ROWS];
    int64_t first = number_at(me, &i->imm[IMM(depthwise_integer, row)]) *
                        NUMBER(i, depthwise_integer, stride_h) -
                    NUMBER(i, depthwise_integer, pad_h);
    for (int64_t t = 0; t < NUMBER(i, depthwise_integer, kernel_h); t++) {
        int64_t r = first + t * NUMBER(i, depthwise_integer, dilation_h);
        rows[t] = some && r >= 0 && r < x->count[0] ? image + r * x->step[0] : NULL;
    }
    uint8_t *outside = (uint8_t *)me->scratch;
    memset(outside, (int)NUMBER(i, depthwise_integer, outside), (size_t)count[1]);
    struct depthwise_integer_row d = {
        .rows = rows,
        .pixel_step = x->step[1],
        .width = (int)x->count[1],
        .kernel_height = (int)NUMBER(i, depthwise_integer, kernel_h),
        .kernel_width = (int)NUMBER(i, depthwise_integer, kernel_w),
        .stride = (int)NUMBER(i, depthwise_integer, stride_w),
        .dilation = (int)NUMBER(i, depthwise_integer, dilation_w),
        .pad = (int)NUMBER(i, depthwise_integer, pad_w),
        .channels = (int)count[1],
        .pixels = (int)count[0],
        .outside = outside,
        .weights = (const int8_t *)operand_address(me, &i->o[AP(depthwise_integer, weights)]),
        .out_step = y->step[0],
    };
    struct requantize as = {.is_signed = y->dtype == DT_I8,
                            .zero = (int)i->flt[FLT(depthwise_integer, zero)]};
    char *to = operand_address(me, y);
    if (i->o[AP(depthwise_integer, terms)].mem)
        d.bias =
            (const int32_t *)(const void *)operand_address(me, &i->o[AP(depthwise_integer, terms)]);
    if (y->dtype == DT_I32) {
        d.sums = (int32_t *)(void *)to;
    } else {
        as.scale =
            (const float *)(const void *)(d.bias + i->o[AP(depthwise_integer, terms)].step[0]);
        as.shift = as.scale + i->o[AP(depthwise_integer, terms)].step[0];
        d.as = &as;
        d.bytes = (uint8_t *)to;
    }
    me->k->depthwise_integer(&d);
}
