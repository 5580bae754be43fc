/*
 * Extensions on images: the transforms of Winograd's convolution, on all tiles of a block.
 *
 * Tile t of a block of `columns` tiles a row lies t / columns rows of tiles below the block's first
 * and t % columns to its right. A tile is size x size pixels of the result.
 */
#include "runtime/exec/engine.h"

#include <string.h>

enum { MAX_SIDE = 6, MAX_CHANNELS = 1 << 20 };

struct winograd {
    int size, side; /* of a tile, of the patch under it */
    bool bf16;      /* planes of the input */
    int64_t columns;
    enum kernel_activation f;
    struct alu alu; /* functions without a kernel */
    bool extra;     /* alu runs after */
};

static bool contiguous(const struct operand *o, int dtype)
{
    return o->dtype == dtype && (o->step[o->rank - 1] == 1 || o->count[o->rank - 1] == 1);
}

static bool check_numbers(struct binding *b, const struct bound_insn *i, int64_t size,
                          int64_t columns)
{
    const struct insn_info *info = insn_info(i->op);
    for (int n = 0; n < info->nimms; n++) {
        int64_t v = i->imm[n].base;
        if ((i->imm[n].nterms && !info->imm[n].varies) || v < 0 || v > 1 << 24)
            return fail(b->d, "%s: '%s' is %lld", info->name, info->imm[n].name, (long long)v);
    }
    if (size != 2 && size != 4)
        return fail(b->d, "%s: tiles of %lld pixels a side, expected 2 or 4", info->name,
                    (long long)size);
    return columns > 0 || fail(b->d, "%s: no tiles in a row", info->name);
}

bool prepare_winograd(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct winograd *w = ARENA_NEW(b->arena, struct winograd);
    const struct insn_info *info = insn_info(i->op);
    bool input = i->op == INSN_winograd_input;
    int64_t size = input ? NUMBER(i, winograd_input, size) : NUMBER(i, winograd_output, size);
    w->columns = input ? NUMBER(i, winograd_input, columns) : NUMBER(i, winograd_output, columns);
    i->prepared = w;
    if (!check_numbers(b, i, size, w->columns))
        return false;
    w->size = (int)size, w->side = w->size + 2;
    const struct operand *image =
        &i->o[input ? AP(winograd_input, image) : AP(winograd_output, dst)];
    const struct operand *planes =
        &i->o[input ? AP(winograd_input, dst) : AP(winograd_output, planes)];
    w->bf16 = input && planes->dtype == DT_BF16;
    if (image->rank != 3 || planes->rank != 3 || !contiguous(image, DT_F32) ||
        !contiguous(planes, w->bf16 ? DT_BF16 : DT_F32))
        return fail(b->d, "%s: expected images and planes of contiguous channels in f32%s",
                    info->name, input ? ", or planes in bf16" : "");
    if (planes->count[0] != w->side * w->side || planes->count[2] != image->count[2] ||
        image->count[2] > MAX_CHANNELS)
        return fail(b->d, "%s: %lld planes of %lld channels, expected %d of %lld", info->name,
                    (long long)planes->count[0], (long long)planes->count[2], w->side * w->side,
                    (long long)image->count[2]);
    for (int n = 0; n < planes->nclips; n++)
        if (planes->clips[n].dim == 0)
            return fail(b->d, "%s: planes that are cut", info->name);
    if (input) {
        need_scratch(b, image->count[2] * (int64_t)sizeof(float) + 64);
        return true;
    }
    const struct operand *bias = &i->o[AP(winograd_output, bias)];
    if (bias->mem &&
        (!contiguous(bias, DT_F32) || bias->count[bias->rank - 1] != image->count[2] ||
         bias->rank > 2))
        return fail(b->d, "%s: a bias that is not %lld f32", info->name,
                    (long long)image->count[2]);
    if (!alu_find(&w->alu, i->func[FUNC(winograd_output, f)], false,
                  i->flt[FLT(winograd_output, a)], i->flt[FLT(winograd_output, b)], b->d))
        return false;
    w->f = w->alu.kind == ALU_ACTIVATION ? (enum kernel_activation)w->alu.index : ACTIVATION_copy;
    w->extra = w->alu.kind != ALU_ACTIVATION && w->alu.kind != ALU_COPY;
    return true;
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- input ---- */

/* Addresses of the patch that starts at pixel (row, column); places outside the image are zeros. */
static void list_patch(const struct operand *x, const float *image, const int64_t *extent,
                       int64_t row, int64_t column, int side, const float *zeros,
                       const float **pixels)
{
    bool inside = row >= 0 && column >= 0 && row + side <= extent[0] && column + side <= extent[1];
    const float *at = image + row * x->step[0] + column * x->step[1];
    for (int i = 0; i < side; i++, at += x->step[0])
        for (int j = 0; j < side; j++) {
            int64_t r = row + i, c = column + j;
            bool there = inside || (r >= 0 && r < extent[0] && c >= 0 && c < extent[1]);
            *pixels++ = there ? at + j * x->step[1] : zeros;
        }
}

void exec_winograd_input(struct worker *me, const struct bound_insn *i)
{
    const struct winograd *w = i->prepared;
    const struct operand *y = &i->o[AP(winograd_input, dst)], *x = &i->o[AP(winograd_input, image)];
    int64_t yc[MAX_AP_RANK], xc[MAX_AP_RANK];
    if (!counts_now(me, i, AP(winograd_input, dst), yc) ||
        !counts_now(me, i, AP(winograd_input, image), xc))
        return;
    char *planes = operand_address(me, y);
    float *zeros = (float *)me->scratch;
    const float *image = (const float *)operand_address(me, x), *pixels[MAX_SIDE * MAX_SIDE];
    int64_t channels = min(yc[2], xc[2]);
    int64_t first_row = number_at(me, &i->imm[IMM(winograd_input, row)]),
            first_column = number_at(me, &i->imm[IMM(winograd_input, column)]);
    memset(zeros, 0, (size_t)channels * sizeof *zeros);
    for (int64_t t = 0, row = 0, column = 0; t < yc[1]; t++, planes += y->step[1] * y->size) {
        list_patch(x, image, xc, (first_row + row) * w->size - NUMBER(i, winograd_input, pad_h),
                   (first_column + column) * w->size - NUMBER(i, winograd_input, pad_w), w->side,
                   zeros, pixels);
        me->k->winograd_input(planes, y->step[0], w->bf16, pixels, (size_t)channels, w->size);
        if (++column == w->columns)
            column = 0, row++;
    }
}

/* ---- output ---- */

void exec_winograd_output(struct worker *me, const struct bound_insn *i)
{
    const struct winograd *w = i->prepared;
    const struct operand *y = &i->o[AP(winograd_output, dst)],
                         *x = &i->o[AP(winograd_output, planes)],
                         *bias = &i->o[AP(winograd_output, bias)];
    int64_t yc[MAX_AP_RANK], xc[MAX_AP_RANK], bc[MAX_AP_RANK];
    if (!counts_now(me, i, AP(winograd_output, dst), yc) ||
        !counts_now(me, i, AP(winograd_output, planes), xc))
        return;
    int64_t channels = min(yc[2], xc[2]);
    struct channel_epilogue e = {.activation = w->f,
                                 .p = {i->flt[FLT(winograd_output, a)], i->flt[FLT(winograd_output, b)]}};
    if (bias->mem) {
        if (!counts_now(me, i, AP(winograd_output, bias), bc))
            return;
        e.bias = (const float *)operand_address(me, bias);
        channels = min(channels, bc[bias->rank - 1]);
    }
    float *image = (float *)operand_address(me, y);
    const float *planes = (const float *)operand_address(me, x);
    for (int64_t t = 0; t < xc[1]; t++, planes += x->step[1]) {
        int64_t row = t / w->columns * w->size, column = t % w->columns * w->size;
        int64_t rows = min(w->size, yc[0] - row), cols = min(w->size, yc[1] - column);
        if (rows <= 0 || cols <= 0)
            continue;
        float *to = image + row * y->step[0] + column * y->step[1];
        me->k->winograd_output(to, y->step[0], y->step[1], planes, x->step[0], (size_t)channels,
                               w->size, (int)rows, (int)cols, &e);
        for (int64_t p = 0; w->extra && p < rows * cols; p++) {
            float *pixel = to + p / cols * y->step[0] + p % cols * y->step[1];
            alu_run(me, &w->alu, (struct out_row){pixel, 1}, (struct in_row){pixel, 1},
                    (struct in_row){pixel, 1}, channels);
        }
    }
}
