/*
 * Extensions on images [height, width, channels]: depthwise convolution of one output row, and pooling of some.
 */
#include "runtime/exec/engine.h"
#include "runtime/exec/forms.h"

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
    bool planes;    /* the one of pictures of one channel does */
    float *counts;  /* columns of the image in the window of each pixel */
    int64_t work_pitch, work_rows;
    struct bound_insn *turned; /* small pictures, as if their channels were last; or NULL */
};

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

static void count_columns(struct binding *b, const struct bound_insn *i, struct bound_image *m)
{
    enum { WORK = 8192 }; /* elements: half of the first cache, or a row */
    const struct operand *y = &i->o[AP(window_pool, dst)];
    int64_t pixels = y->count[y->rank - 2], width = i->o[AP(window_pool, image)].count[1];
    int64_t rows = y->rank == 3 && y->count[0] < POOL_ROWS ? y->count[0] : y->rank == 3 ? POOL_ROWS : 1;
    m->work_pitch =
        pool_work_pitch(width, (int)NUMBER(i, window_pool, kernel_w), (int)NUMBER(i, window_pool, stride_w),
                        (int)NUMBER(i, window_pool, dilation_w), (int)NUMBER(i, window_pool, pad_w), pixels);
    m->work_rows = m->work_pitch * rows <= WORK ? rows : m->work_pitch < WORK ? WORK / m->work_pitch : 1;
    need_scratch(b, m->work_pitch * (m->work_rows + 1) * (int64_t)sizeof(float));
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

/* Small pictures, a vector of whose rows would be lanes of nothing for the most part, are transposed: then a vector is
 * one pixel of several of them. Not where windows have many places, which rows and columns see in turn otherwise. */
static bool turn_pictures(struct binding *b, const struct bound_insn *i, struct bound_image *m)
{
    enum { WIDEST = 16, MIN = 8, PLACES = 100 /* of a row's windows */ };
    const struct operand *y = &i->o[AP(window_pool, dst)], *x = &i->o[AP(window_pool, image)];
    int64_t pixels = x->count[0] * x->count[1], channels = y->count[2];
    int64_t places = NUMBER(i, window_pool, kernel_h) * NUMBER(i, window_pool, kernel_w) * y->count[1];
    bool dense = x->step[0] == x->count[1] && x->step[2] == pixels && y->step[0] == y->count[1];
    for (int k = 0; k < y->nclips; k++)
        dense &= y->clips[k].dim != 1;
    if (!dense || channels < MIN || places > PLACES || x->count[1] > WIDEST)
        return false;
    struct bound_insn *turned = m->turned = arena_copy(b->arena, i, sizeof *i);
    struct bound_image *as = arena_copy(b->arena, m, sizeof *m);
    int64_t *steps = ARENA_ARRAY(b->arena, int64_t, 2 * 3);
    steps[0] = y->count[1] * channels, steps[3] = x->count[1] * channels;
    steps[1] = steps[4] = channels, steps[2] = steps[5] = 1;
    as->direct = true;
    turned->prepared = as;
    turned->o = arena_copy(b->arena, i->o, sizeof *i->o * (size_t)i->nops);
    turned->o[AP(window_pool, dst)].step = steps;
    turned->o[AP(window_pool, image)].step = steps + 3;
    need_scratch(b, (pixels + y->count[0] * y->count[1]) * channels * (int64_t)sizeof(float));
    return true;
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
    m->planes = singles && x->step[1] == 1 && y->step[last - 1] == 1 && NUMBER(i, window_pool, stride_w) > 0 &&
                (!m->direct || y->count[last] == 1);
    for (int k = 0; k < x->nclips; k++)
        m->planes &= x->clips[k].dim == 2;
    if (m->planes && !(USED(KERNEL_transpose) && y->rank == 3 && turn_pictures(b, i, m)))
        count_columns(b, i, m);
    return true;
}

bool prepare_image(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct bound_image *m = ARENA_NEW(b->arena, struct bound_image);
    i->prepared = m;
    if (!only_numbers(b, i, insn) || !constant_numbers(b, i))
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

/* Rows of every channel, whose pixels lie together. */
static void pool_planes(const struct worker *me, const struct bound_insn *i, const struct image_window *w,
                        const char *image, char *out, const int64_t *count, int64_t channels)
{
    const struct bound_image *m = i->prepared;
    const struct operand *y = &i->o[AP(window_pool, dst)], *x = &i->o[AP(window_pool, image)];
    int last = y->rank - 1;
    struct pool_plane p = {.x = (const float *)image,
                           .x_pitch = x->step[0],
                           .height = (size_t)w->height,
                           .width = (size_t)w->width,
                           .first = w->row,
                           .kernel_h = (int)w->kernel_h,
                           .kernel_w = (int)w->kernel_w,
                           .stride_h = NUMBER(i, window_pool, stride_h),
                           .stride_w = (int)NUMBER(i, window_pool, stride_w),
                           .dilation_h = w->dilation_h,
                           .dilation_w = (int)w->dilation_w,
                           .pad = (int)NUMBER(i, window_pool, pad_w),
                           .rows = last == 2 ? (size_t)count[0] : 1,
                           .pixels = (size_t)count[last - 1],
                           .y = (float *)out,
                           .y_pitch = last == 2 ? y->step[0] : 0,
                           .work = (float *)me->scratch,
                           .work_rows = (size_t)m->work_rows,
                           .work_pitch = (size_t)m->work_pitch,
                           .max = i->func[FUNC(window_pool, op)] == OP_max,
                           .count_pad = NUMBER(i, window_pool, count_pad) != 0,
                           .counts = m->counts};
    for (int64_t c = 0; c < channels; c++, p.x += x->step[2], p.y += y->step[last])
        me->k->pool_plane(&p);
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

static void pool_turned(struct worker *me, const struct bound_insn *i, struct image_window w, const char *image,
                        char *out, const int64_t *count, int64_t channels)
{
    enum { DST = AP(window_pool, dst), IMAGE = AP(window_pool, image) };
    const struct bound_insn *turned = ((const struct bound_image *)i->prepared)->turned;
    const struct operand *y = &turned->o[DST], *x = &turned->o[IMAGE];
    int64_t pixels = w.height * w.width, results = count[0] * count[1];
    char *from = me->scratch, *to = from + w.height * x->step[0] * x->size;
    me->k->transpose(from, x->step[1], image, i->o[IMAGE].step[2], (size_t)channels, (size_t)pixels, (size_t)x->size);
    for (int64_t r = 0; r < count[0]; r++, w.row += NUMBER(i, window_pool, stride_h))
        pool_pixel_row(me, turned, w, from, to + r * y->step[0] * y->size, count[1], channels);
    me->k->transpose(out, i->o[DST].step[2], to, y->step[1], (size_t)results, (size_t)channels, (size_t)y->size);
}

unsigned pool_forms(const struct bound_insn *i)
{
    return ((const struct bound_image *)i->prepared)->turned ? FORM_TRANSPOSED : 0;
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
    struct image_window w = {row * NUMBER(i, window_pool, stride_h) - NUMBER(i, window_pool, pad_h),
                             -NUMBER(i, window_pool, pad_w),
                             xc[0],
                             xc[1],
                             NUMBER(i, window_pool, kernel_h),
                             NUMBER(i, window_pool, kernel_w),
                             NUMBER(i, window_pool, dilation_h),
                             NUMBER(i, window_pool, dilation_w)};
    if (USED(KERNEL_transpose) && m->turned && pixels) {
        pool_turned(me, i, w, image, out, yc, channels);
        return;
    }
    if (USED(KERNEL_pool_plane) && m->planes && pixels) {
        pool_planes(me, i, &w, image, out, yc, channels);
        return;
    }
    for (int64_t r = 0; r < rows; r++, out += y->step[0] * y->size, w.row += NUMBER(i, window_pool, stride_h))
        pool_pixel_row(me, i, w, image, out, yc[last - 1], channels);
}
