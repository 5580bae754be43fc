/*
 * Extensions on images [height, width, channels]: depthwise convolution and pooling of one output
 * row.
 */
#include "runtime/exec/engine.h"

#include "neff/base/use.h"

#include <math.h>
#include <string.h>

enum { MAX_TAPS = 1024 };

struct bound_image {
    enum kernel_activation f;
    struct alu alu; /* functions without a kernel */
    bool extra;     /* alu runs after */
    bool direct;    /* the kernel takes it as it is */
    bool bytes;     /* the pooling kernel of 8-bit numbers does */
    bool columns;   /* the one of rows of one channel does */
    float *counts;  /* columns of the image in the window of each pixel */
};

static bool constant_imms(struct binding *b, const struct bound_insn *i)
{
    const struct insn_info *info = insn_info(i->op);
    for (int n = 0; n < info->nimms; n++)
        if (!info->imm[n].varies &&
            (i->imm[n].nterms || i->imm[n].base < 0 || i->imm[n].base > 1 << 20))
            return fail(b->d, "%s: '%s' is %lld", info->name, info->imm[n].name,
                        (long long)i->imm[n].base);
    return true;
}

static bool prepare_depthwise(struct binding *b, struct bound_insn *i, struct bound_image *m)
{
    const struct operand *y = &i->o[AP(depthwise_conv, dst)], *x = &i->o[AP(depthwise_conv, image)],
                         *w = &i->o[AP(depthwise_conv, weights)],
                         *bias = &i->o[AP(depthwise_conv, bias)];
    if (y->rank != 2 || x->rank != 3 || w->rank != 3 || (bias->mem && bias->rank > 2))
        return fail(b->d, "depthwise_conv: operands of rank %d, %d and %d, expected 2, 3 and 3",
                    y->rank, x->rank, w->rank);
    if (y->count[1] > x->count[2] || y->count[1] > w->count[2] ||
        (bias->mem && bias->count[bias->rank - 1] < y->count[1]))
        return fail(b->d, "depthwise_conv: %lld, %lld and %lld channels", (long long)y->count[1],
                    (long long)x->count[2], (long long)w->count[2]);
    if (w->count[0] * w->count[1] > MAX_TAPS)
        return fail(b->d, "depthwise_conv: a window of more than %d places", MAX_TAPS);
    if (!NUMBER(i, depthwise_conv, stride_h) || !NUMBER(i, depthwise_conv, stride_w))
        return fail(b->d, "depthwise_conv: a stride of 0");
    if (!alu_find(&m->alu, i->func[FUNC(depthwise_conv, f)], false, i->flt[FLT(depthwise_conv, a)],
                  i->flt[FLT(depthwise_conv, b)], b->d))
        return false;
    m->f = m->alu.kind == ALU_ACTIVATION ? (enum kernel_activation)m->alu.index : ACTIVATION_copy;
    m->extra = m->alu.kind != ALU_ACTIVATION && m->alu.kind != ALU_COPY;
    bool dense_weights =
        w->dtype == DT_F32 && w->step[2] == 1 && w->step[0] == w->step[1] * w->count[1];
    m->direct = dense_weights && (x->dtype == DT_F32 || x->dtype == DT_BF16) && x->step[2] == 1 &&
                x->step[1] >= y->count[1] && (y->dtype == DT_F32 || y->dtype == DT_BF16) &&
                y->step[1] == 1 && NUMBER(i, depthwise_conv, dilation_w) > 0 && !m->extra &&
                (!bias->mem || (bias->dtype == DT_F32 && bias->step[bias->rank - 1] == 1));
    for (int k = 0; k < i->o[AP(depthwise_conv, weights)].nclips; k++)
        m->direct &= i->o[AP(depthwise_conv, weights)].clips[k].dim == 2;
    return true;
}

static int64_t columns_work(const struct bound_insn *i)
{
    const struct operand *y = &i->o[AP(window_pool, dst)];
    return pool_row_work(
        i->o[AP(window_pool, image)].count[1], (int)NUMBER(i, window_pool, kernel_w),
        (int)NUMBER(i, window_pool, stride_w), (int)NUMBER(i, window_pool, dilation_w),
        (int)NUMBER(i, window_pool, pad_w), y->count[y->rank - 2]);
}

static void count_columns(struct binding *b, const struct bound_insn *i, struct bound_image *m)
{
    const struct operand *y = &i->o[AP(window_pool, dst)];
    int64_t pixels = y->count[y->rank - 2], width = i->o[AP(window_pool, image)].count[1];
    need_scratch(b, columns_work(i) * (int64_t)sizeof(float));
    m->counts = ARENA_ARRAY(b->arena, float, pixels + 1);
    for (int64_t x = 0; x < pixels; x++) {
        int64_t found = 0;
        for (int64_t t = 0; t < NUMBER(i, window_pool, kernel_w); t++) {
            int64_t at = x * NUMBER(i, window_pool, stride_w) - NUMBER(i, window_pool, pad_w) +
                         t * NUMBER(i, window_pool, dilation_w);
            found += at >= 0 && at < width;
        }
        found = NUMBER(i, window_pool, count_pad) ? NUMBER(i, window_pool, kernel_w) : found;
        m->counts[x] = (float)(found > 0 ? found : 1);
    }
}

static bool prepare_pool(struct binding *b, struct bound_insn *i, struct bound_image *m)
{
    const struct operand *y = &i->o[AP(window_pool, dst)], *x = &i->o[AP(window_pool, image)];
    int last = y->rank - 1;
    if ((y->rank != 2 && y->rank != 3) || x->rank != 3 || y->count[last] > x->count[2])
        return fail(b->d,
                    "window_pool: operands of rank %d and %d, expected 2 or 3, and 3, with equal "
                    "channels",
                    y->rank, x->rank);
    if (i->func[FUNC(window_pool, op)] != OP_max && i->func[FUNC(window_pool, op)] != OP_add)
        return fail(b->d, "window_pool: operator '%s', expected max or add",
                    op_name((enum op)i->func[FUNC(window_pool, op)]));
    if (NUMBER(i, window_pool, kernel_h) * NUMBER(i, window_pool, kernel_w) > MAX_TAPS ||
        !NUMBER(i, window_pool, kernel_h) || !NUMBER(i, window_pool, kernel_w))
        return fail(b->d, "window_pool: a window of %lld x %lld",
                    (long long)NUMBER(i, window_pool, kernel_h),
                    (long long)NUMBER(i, window_pool, kernel_w));
    bool singles = x->dtype == DT_F32 && y->dtype == DT_F32;
    m->direct = singles && x->step[2] == 1 && y->step[last] == 1;
    m->bytes = (x->dtype == DT_U8 || x->dtype == DT_I8) && x->dtype == y->dtype &&
               i->func[FUNC(window_pool, op)] == OP_max && x->step[2] == 1 && y->step[last] == 1;
    m->columns = singles && !x->nclips && x->step[1] == 1 && y->step[last - 1] == 1 &&
                 NUMBER(i, window_pool, stride_w) > 0 && (!m->direct || y->count[last] == 1);
    if (m->columns)
        count_columns(b, i, m);
    return true;
}

bool prepare_image(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct bound_image *m = ARENA_NEW(b->arena, struct bound_image);
    i->prepared = m;
    if (!only_numbers(b, i, insn) || !constant_imms(b, i))
        return false;
    if (i->op == INSN_window_pool)
        return prepare_pool(b, i, m);
    need_scratch(b, i->o[AP(depthwise_conv, dst)].count[1] * (int64_t)sizeof(float) + 64);
    return prepare_depthwise(b, i, m);
}

/* ---- depthwise ---- */

struct image_places { /* counts in force */
    int64_t pixels, channels, height, width, taps_h, taps_w;
};

static bool depthwise_places(const struct worker *me, const struct bound_insn *i, struct image_places *e)
{
    int64_t y[MAX_AP_RANK], x[MAX_AP_RANK], w[MAX_AP_RANK], b[MAX_AP_RANK];
    if (!counts_now(me, i, AP(depthwise_conv, dst), y) ||
        !counts_now(me, i, AP(depthwise_conv, image), x) ||
        !counts_now(me, i, AP(depthwise_conv, weights), w))
        return false;
    *e = (struct image_places){y[0], y[1], x[0], x[1], w[0], w[1]};
    e->channels = e->channels < x[2] ? e->channels : x[2];
    e->channels = e->channels < w[2] ? e->channels : w[2];
    if (i->o[AP(depthwise_conv, bias)].mem) {
        if (!counts_now(me, i, AP(depthwise_conv, bias), b))
            return false;
        int64_t last = b[i->o[AP(depthwise_conv, bias)].rank - 1];
        e->channels = e->channels < last ? e->channels : last;
    }
    return true;
}

static void depthwise_direct(const struct worker *me, const struct bound_insn *i,
                             const struct bound_image *m, const struct image_places *e, int64_t first_row)
{
    const struct operand *y = &i->o[AP(depthwise_conv, dst)], *x = &i->o[AP(depthwise_conv, image)],
                         *w = &i->o[AP(depthwise_conv, weights)];
    const char *image = operand_address(me, x);
    const void *rows[MAX_TAPS];
    for (int64_t t = 0; t < e->taps_h; t++) {
        int64_t r = first_row + t * NUMBER(i, depthwise_conv, dilation_h);
        rows[t] = r >= 0 && r < e->height ? image + r * x->step[0] * x->size : NULL;
    }
    struct depthwise_row d = {
        .rows = rows,
        .pixel_step = x->step[1],
        .width = (int)e->width,
        .kernel_height = (int)e->taps_h,
        .kernel_width = (int)e->taps_w,
        .stride = (int)NUMBER(i, depthwise_conv, stride_w),
        .dilation = (int)NUMBER(i, depthwise_conv, dilation_w),
        .pad = (int)NUMBER(i, depthwise_conv, pad_w),
        .channels = (int)e->channels,
        .first = 0,
        .pixels = (int)e->pixels,
        .bf16 = x->dtype == DT_BF16,
        .weights = (const float *)operand_address(me, w),
        .weight_step = w->step[1],
        .out = operand_address(me, y),
        .out_step = y->step[0],
        .out_bf16 = y->dtype == DT_BF16,
        .epilogue = {.activation = m->f,
                     .p = {i->flt[FLT(depthwise_conv, a)], i->flt[FLT(depthwise_conv, b)]}}};
    if (i->o[AP(depthwise_conv, bias)].mem)
        d.epilogue.bias = (const float *)operand_address(me, &i->o[AP(depthwise_conv, bias)]);
    me->k->depthwise(&d);
}

static float depthwise_sum(const struct bound_insn *i, const struct image_places *e, const char *image,
                           const char *weights, int64_t first_row, int64_t first_column,
                           int64_t channel)
{
    const struct operand *x = &i->o[AP(depthwise_conv, image)],
                         *w = &i->o[AP(depthwise_conv, weights)];
    float sum = 0;
    for (int64_t t = 0; t < e->taps_h; t++)
        for (int64_t s = 0; s < e->taps_w; s++) {
            int64_t r = first_row + t * NUMBER(i, depthwise_conv, dilation_h),
                    c = first_column + s * NUMBER(i, depthwise_conv, dilation_w);
            if (r < 0 || r >= e->height || c < 0 || c >= e->width)
                continue;
            sum += load_one(x, image + (r * x->step[0] + c * x->step[1] + channel * x->step[2]) *
                                           x->size) *
                   load_one(w, weights + (t * w->step[0] + s * w->step[1] + channel * w->step[2]) *
                                             w->size);
        }
    return sum;
}

static void depthwise_general(const struct worker *me, const struct bound_insn *i,
                              const struct bound_image *m, const struct image_places *e, int64_t first_row)
{
    const struct operand *y = &i->o[AP(depthwise_conv, dst)], *b = &i->o[AP(depthwise_conv, bias)];
    const char *image = operand_address(me, &i->o[AP(depthwise_conv, image)]),
               *weights = operand_address(me, &i->o[AP(depthwise_conv, weights)]);
    const char *bias = b->mem ? operand_address(me, b) : NULL;
    char *out = operand_address(me, y);
    float *row = (float *)me->scratch;
    struct out_row to = {row, 1};
    for (int64_t p = 0; p < e->pixels; p++) {
        for (int64_t c = 0; c < e->channels; c++) {
            row[c] = depthwise_sum(
                i, e, image, weights, first_row,
                p * NUMBER(i, depthwise_conv, stride_w) - NUMBER(i, depthwise_conv, pad_w), c);
            if (bias)
                row[c] += load_one(b, bias + c * b->step[b->rank - 1] * b->size);
        }
        alu_run(me, &m->alu, to, (struct in_row){row, 1}, (struct in_row){row, 1}, e->channels);
        store_row(me, y, out + p * y->step[0] * y->size, y->step[1], row, e->channels);
    }
}

void exec_depthwise_conv(struct worker *me, const struct bound_insn *i)
{
    const struct bound_image *m = i->prepared;
    struct image_places e;
    if (!depthwise_places(me, i, &e))
        return;
    int64_t first_row =
        number_at(me, &i->imm[IMM(depthwise_conv, row)]) * NUMBER(i, depthwise_conv, stride_h) -
        NUMBER(i, depthwise_conv, pad_h);
    if (m->direct)
        depthwise_direct(me, i, m, &e, first_row);
    else
        depthwise_general(me, i, m, &e, first_row);
}

/* ---- pooling ---- */

struct image_window {
    int64_t row, column;   /* of the first place; may be outside */
    int64_t height, width; /* of the image */
    int64_t kernel_h, kernel_w, dilation_h, dilation_w;
};

static float pool_one(const struct operand *x, const char *image, const struct image_window *w, bool max,
                      int64_t channel, int64_t *places)
{
    float v = max ? -INFINITY : 0;
    *places = 0;
    for (int64_t t = 0; t < w->kernel_h; t++)
        for (int64_t s = 0; s < w->kernel_w; s++) {
            int64_t r = w->row + t * w->dilation_h, c = w->column + s * w->dilation_w;
            if (r < 0 || r >= w->height || c < 0 || c >= w->width)
                continue;
            float e = load_one(x, image + (r * x->step[0] + c * x->step[1] + channel * x->step[2]) *
                                              x->size);
            v = max ? (isnan(v) ? v : isnan(e) || e > v ? e : v) : v + e;
            ++*places;
        }
    return v;
}

/* The greatest of 8-bit numbers. */
static void pool_bytes(const struct worker *me, const struct bound_insn *i, const struct image_window *w,
                       const char *image, char *out, int64_t channels)
{
    const struct operand *x = &i->o[AP(window_pool, image)];
    const uint8_t *taps[MAX_TAPS];
    bool is_signed = x->dtype == DT_I8;
    size_t n = 0;
    for (int64_t t = 0; t < w->kernel_h; t++)
        for (int64_t s = 0; s < w->kernel_w; s++) {
            int64_t r = w->row + t * w->dilation_h, c = w->column + s * w->dilation_w;
            if (r >= 0 && r < w->height && c >= 0 && c < w->width)
                taps[n++] = (const uint8_t *)image + r * x->step[0] + c * x->step[1];
        }
    if (n)
        me->k->pool_max_bytes((uint8_t *)out, taps, n, (size_t)channels, is_signed);
    else
        memset(out, is_signed ? 0x80 : 0, (size_t)channels);
}

static int64_t list_taps(const struct operand *x, const char *image, const struct image_window *w,
                         const float **taps)
{
    int64_t n = 0;
    for (int64_t t = 0; t < w->kernel_h; t++)
        for (int64_t s = 0; s < w->kernel_w; s++) {
            int64_t r = w->row + t * w->dilation_h, c = w->column + s * w->dilation_w;
            if (r >= 0 && r < w->height && c >= 0 && c < w->width)
                taps[n++] = (const float *)image + r * x->step[0] + c * x->step[1];
        }
    return n;
}

/* One pixel; or neighbours that have all their columns inside, as one pixel of more channels. */
static void pool_pixels(const struct worker *me, const struct bound_insn *i, const struct image_window *w,
                        const char *image, char *out, int64_t channels)
{
    const struct bound_image *m = i->prepared;
    const struct operand *y = &i->o[AP(window_pool, dst)], *x = &i->o[AP(window_pool, image)];
    bool max = i->func[FUNC(window_pool, op)] == OP_max,
         count_pad = NUMBER(i, window_pool, count_pad) != 0;
    if (USED(KERNEL_pool_max_bytes) && m->bytes) {
        pool_bytes(me, i, w, image, out, channels);
        return;
    }
    const float *taps[MAX_TAPS];
    int64_t places = w->kernel_h * w->kernel_w;
    int64_t inside = m->direct ? list_taps(x, image, w, taps) : 0;
    if (inside && max) {
        me->k->pool_max((float *)out, taps, (size_t)inside, (size_t)channels);
    } else if (inside) {
        float scale = 1.0f / (float)(count_pad ? places : inside);
        me->k->pool_sum((float *)out, taps, (size_t)inside, (size_t)channels, scale);
    } else {
        for (int64_t c = 0; c < channels; c++) {
            int64_t found;
            float v = pool_one(x, image, w, max, c, &found);
            if (!max && (count_pad || found))
                v /= (float)(count_pad ? places : found);
            store_one(me, y, out + c * y->step[y->rank - 1] * y->size, v);
        }
    }
}

/* A row of every channel, whose pixels lie together. */
static void pool_columns(const struct worker *me, const struct bound_insn *i, const struct image_window *w,
                         const char *image, char *out, int64_t pixels, int64_t channels)
{
    const struct bound_image *m = i->prepared;
    const struct operand *y = &i->o[AP(window_pool, dst)], *x = &i->o[AP(window_pool, image)];
    const float *rows[MAX_TAPS];
    int64_t height = 0, first = w->row;
    for (int64_t t = 0; t < w->kernel_h; t++)
        if (first + t * w->dilation_h >= 0 && first + t * w->dilation_h < w->height)
            rows[height++] = (const float *)image + (first + t * w->dilation_h) * x->step[0];
    int64_t counted = NUMBER(i, window_pool, count_pad) ? w->kernel_h : height > 0 ? height : 1;
    struct pool_row r = {.rows = rows,
                         .height = (size_t)height,
                         .width = (size_t)w->width,
                         .taps = (int)w->kernel_w,
                         .stride = (int)NUMBER(i, window_pool, stride_w),
                         .dilation = (int)w->dilation_w,
                         .pad = (int)NUMBER(i, window_pool, pad_w),
                         .pixels = (size_t)pixels,
                         .y = (float *)out,
                         .work = (float *)me->scratch,
                         .max = i->func[FUNC(window_pool, op)] == OP_max,
                         .height_counted = (float)counted,
                         .counts = m->counts};
    for (int64_t c = 0; c < channels; c++) {
        me->k->pool_row(&r);
        for (int64_t t = 0; t < height; t++)
            rows[t] += x->step[2];
        r.y += y->step[y->rank - 1];
    }
}

/* One row of pixels, of which `column` is the first that windows see. */
static void pool_pixel_row(const struct worker *me, const struct bound_insn *i, struct image_window w,
                           const char *image, char *out, int64_t pixels, int64_t channels)
{
    const struct bound_image *m = i->prepared;
    const struct operand *y = &i->o[AP(window_pool, dst)], *x = &i->o[AP(window_pool, image)];
    int64_t stride = NUMBER(i, window_pool, stride_w), step = y->step[y->rank - 2];
    bool joint =
        (m->direct || m->bytes) && stride == 1 && x->step[1] == channels && step == channels;
    for (int64_t p = 0, run; p < pixels; p += run) {
        int64_t inside = w.width - (w.kernel_w - 1) * w.dilation_w - w.column, left = pixels - p;
        run = joint && w.column >= 0 && inside > 1 ? (inside < left ? inside : left) : 1;
        pool_pixels(me, i, &w, image, out, channels * run);
        w.column += run * stride;
        out += run * step * y->size;
    }
}

void exec_window_pool(struct worker *me, const struct bound_insn *i)
{
    const struct bound_image *m = i->prepared;
    const struct operand *y = &i->o[AP(window_pool, dst)], *x = &i->o[AP(window_pool, image)];
    int64_t yc[MAX_AP_RANK], xc[MAX_AP_RANK];
    bool pixels =
        counts_now(me, i, AP(window_pool, image), xc); /* without any, windows lie in the padding */
    if (!counts_now(me, i, AP(window_pool, dst), yc) || (!pixels && m->bytes))
        return;
    int last = y->rank - 1;
    int64_t channels = yc[last] < xc[2] ? yc[last] : xc[2],
            row = number_at(me, &i->imm[IMM(window_pool, row)]);
    if (channels < 1) /* the image may be clipped to none */
        return;
    int64_t rows = last == 2 ? yc[0] : 1;
    const char *image = operand_address(me, x);
    char *out = operand_address(me, y);
    for (int64_t r = 0; r < rows; r++, out += y->step[0] * y->size) {
        struct image_window w = {(row + r) * NUMBER(i, window_pool, stride_h) -
                               NUMBER(i, window_pool, pad_h),
                           -NUMBER(i, window_pool, pad_w),
                           xc[0],
                           xc[1],
                           NUMBER(i, window_pool, kernel_h),
                           NUMBER(i, window_pool, kernel_w),
                           NUMBER(i, window_pool, dilation_h),
                           NUMBER(i, window_pool, dilation_w)};
        if (USED(KERNEL_pool_row) && m->columns && pixels)
            pool_columns(me, i, &w, image, out, yc[last - 1], channels);
        else
            pool_pixel_row(me, i, w, image, out, yc[last - 1], channels);
    }
}
