/*
 * Extension on u8 images [height, width, channels]: depthwise convolution of one output row.
 */
#include "runtime/exec/engine.h"

#include <string.h>

enum { DST, IMAGE, WEIGHTS, TERMS };
enum { ROW, KERNEL_H, KERNEL_W, STRIDE_H, STRIDE_W, DILATION_H, DILATION_W, PAD_H, PAD_W, OUTSIDE };
enum { MAX_ROWS = 16, MAX_PLACES = 256, QUAD = 4 };

static bool types_fit(struct binding *b, const struct bound_insn *i)
{
    const struct operand *y = &i->o[DST], *x = &i->o[IMAGE], *w = &i->o[WEIGHTS],
                         *terms = &i->o[TERMS];
    bool quantized = y->dtype == DT_U8 || y->dtype == DT_I8;
    if ((y->dtype != DT_I32 && !quantized) || x->dtype != DT_U8 || w->dtype != DT_I8 ||
        (terms->mem && terms->dtype != DT_I32))
        return fail(b->d, "depthwise_integer: %s from %s and %s, expected i32 or 8-bit from u8, i8",
                    dtype_name(y->dtype), dtype_name(x->dtype), dtype_name(w->dtype));
    if (y->rank != 2 || x->rank != 3 || w->rank != 4 || (terms->mem && terms->rank != 2) ||
        (quantized && !terms->mem) || (terms->mem && terms->count[0] != (quantized ? 3 : 1)))
        return fail(b->d, "depthwise_integer: operands of rank %d, %d and %d, expected 2, 3 and 4",
                    y->rank, x->rank, w->rank);
    float zero = i->flt[0];
    if (!(zero >= -128 && zero <= 255) || zero != (float)(int)zero)
        return fail(b->d, "depthwise_integer: 'zero' is %g", (double)zero);
    return true;
}

bool prepare_depthwise_integer(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    const struct operand *y = &i->o[DST], *x = &i->o[IMAGE], *w = &i->o[WEIGHTS],
                         *terms = &i->o[TERMS];
    for (int n = KERNEL_H; n <= OUTSIDE; n++)
        if (i->imm[n].nterms || i->imm[n].base < 0 || i->imm[n].base > 1 << 20)
            return fail(b->d, "depthwise_integer: '%s' is %lld", insn_info(insn->op)->imm[n].name,
                        (long long)i->imm[n].base);
    if (!types_fit(b, i))
        return false;
    int64_t channels = y->count[1], rows = i->imm[KERNEL_H].base, columns = i->imm[KERNEL_W].base;
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
    if (i->o[IMAGE].nclips || i->o[WEIGHTS].nclips || i->o[TERMS].nclips)
        return fail(b->d, "depthwise_integer: clipped operands");
    if (!i->imm[STRIDE_H].base || !i->imm[STRIDE_W].base || i->imm[OUTSIDE].base > 255)
        return fail(b->d, "depthwise_integer: a stride of 0, or more than a byte outside");
    for (int n = 0; n < x->rank; n++)
        if (x->count[n] > 1 << 24 || y->count[n % 2] > 1 << 24)
            return fail(b->d, "depthwise_integer: an image of more than %d places", 1 << 24);
    need_scratch(b, channels + 64);
    return true;
}

void exec_depthwise_integer(struct lane *l, const struct bound_insn *i)
{
    const struct operand *y = &i->o[DST], *x = &i->o[IMAGE];
    int64_t count[MAX_AP_RANK], image_count[MAX_AP_RANK];
    if (!counts_now(l, i, DST, count) || count[1] != y->count[1])
        return;
    bool some = counts_now(l, i, IMAGE, image_count);
    const uint8_t *image = (const uint8_t *)operand_address(l, x), *rows[MAX_ROWS];
    int64_t first = number_at(l, &i->imm[ROW]) * i->imm[STRIDE_H].base - i->imm[PAD_H].base;
    for (int64_t t = 0; t < i->imm[KERNEL_H].base; t++) {
        int64_t r = first + t * i->imm[DILATION_H].base;
        rows[t] = some && r >= 0 && r < x->count[0] ? image + r * x->step[0] : NULL;
    }
    uint8_t *outside = (uint8_t *)l->scratch;
    memset(outside, (int)i->imm[OUTSIDE].base, (size_t)count[1]);
    struct depthwise_integer_row d = {
        .rows = rows,
        .pixel_step = x->step[1],
        .width = (int)x->count[1],
        .kernel_height = (int)i->imm[KERNEL_H].base,
        .kernel_width = (int)i->imm[KERNEL_W].base,
        .stride = (int)i->imm[STRIDE_W].base,
        .dilation = (int)i->imm[DILATION_W].base,
        .pad = (int)i->imm[PAD_W].base,
        .channels = (int)count[1],
        .pixels = (int)count[0],
        .outside = outside,
        .weights = (const int8_t *)operand_address(l, &i->o[WEIGHTS]),
        .out_step = y->step[0],
    };
    struct requantize as = {.is_signed = y->dtype == DT_I8, .zero = (int)i->flt[0]};
    char *to = operand_address(l, y);
    if (i->o[TERMS].mem)
        d.bias = (const int32_t *)(const void *)operand_address(l, &i->o[TERMS]);
    if (y->dtype == DT_I32) {
        d.sums = (int32_t *)(void *)to;
    } else {
        as.scale = (const float *)(const void *)(d.bias + i->o[TERMS].step[0]);
        as.shift = as.scale + i->o[TERMS].step[0];
        d.as = &as;
        d.bytes = (uint8_t *)to;
    }
    l->k->depthwise_integer(&d);
}
