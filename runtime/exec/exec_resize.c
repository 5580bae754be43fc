/*
 * Linear resizing of images [height, width, channels], some rows of the result at a time.
 */
#include "neff/core/resize.h"
#include "runtime/exec/engine.h"

#include <math.h>
#include <string.h>

/* Neighbours of a coordinate and what each weighs. */
struct between {
    int64_t at[2];
    float weight[2];
};

struct bound_resize {
    struct resized_axis rows;
    struct between *row;             /* of each of them; NULL: there are many */
    int64_t width, pixels, channels; /* of the image, of the result */
    int32_t *at[2];                  /* per column, in elements of a row; NULL: as it is */
    float *weight[2];
    bool direct; /* rows of both are f32, their elements where the kernel expects them */
    int64_t own; /* scratch memory: elements of a row in f32 */
};

static int64_t clamp_index(double x, int64_t n)
{
    return !(x > 0) ? 0 : x > (double)(n - 1) ? n - 1 : (int64_t)x;
}

/* One without weight must not be seen, for it may be no number: halves of the same are the whole.
 */
static struct between neighbours(const struct resized_axis *axis, int64_t k)
{
    double x = resized_source(axis, (double)k), below = floor(x), part = x - below;
    struct between b = {{clamp_index(below, axis->in), clamp_index(below + 1, axis->in)},
                        {(float)(1 - part), (float)part}};
    if (b.at[0] == b.at[1] || b.weight[0] == 0 || b.weight[1] == 0) {
        b.at[0] = b.at[1] = b.at[b.weight[0] == 0];
        b.weight[0] = b.weight[1] = 0.5f;
    }
    return b;
}

static bool same_size(const struct resized_axis *axis)
{
    return axis->scale == 1 && axis->in == axis->out;
}

static bool make_axis(struct binding *b, const struct bound_insn *i, int dim, int64_t out,
                      struct resized_axis *axis)
{
    int64_t in = i->o[AP(resize_linear, image)].count[dim],
            rule = NUMBER(i, resize_linear, coordinates);
    double scale = i->flt[dim ? FLT(resize_linear, scale_w) : FLT(resize_linear, scale_h)];
    if (i->imm[IMM(resize_linear, coordinates)].nterms || rule < 0 || rule >= COORDINATES ||
        rule == CROP_AND_RESIZE)
        return fail(b->d, "resize_linear: rule %lld of coordinates", (long long)rule);
    if (!(scale >= 0) || scale > 1e9 || in < 0 || out < 0)
        return fail(b->d, "resize_linear: from %lld to %lld by %g", (long long)in, (long long)out,
                    scale);
    if (scale == 0)
        scale = in > 0 ? (double)out / (double)in : 1;
    *axis = (struct resized_axis){(int)rule, false, scale, 0, 1, in, out};
    return true;
}

enum { MANY_ROWS = 1 << 16 };

static bool make_rows(struct binding *b, const struct bound_insn *i, struct bound_resize *r)
{
    int64_t n = NUMBER(i, resize_linear, rows);
    if (!make_axis(b, i, 0, n, &r->rows))
        return false;
    if (r->rows.in < 1 || n > MANY_ROWS)
        return true;
    r->row = ARENA_ARRAY(b->arena, struct between, n + 1);
    for (int64_t y = 0; y < n; y++)
        r->row[y] = neighbours(&r->rows, y);
    return true;
}

static bool make_columns(struct binding *b, const struct bound_insn *i, struct bound_resize *r)
{
    struct resized_axis axis;
    int64_t step = r->direct ? i->o[AP(resize_linear, image)].step[1] : r->channels, n = r->pixels;
    if (!make_axis(b, i, 1, n, &axis))
        return false;
    bool dense =
        step == r->channels && (!r->direct || i->o[AP(resize_linear, dst)].step[1] == r->channels);
    if (r->width < 1 || n < 1 || (same_size(&axis) && dense))
        return true;
    if (n > INT32_MAX / 8 || step > INT32_MAX / r->width)
        return fail(b->d, "resize_linear: rows are too long");
    for (int t = 0; t < 2; t++) {
        r->at[t] = ARENA_ARRAY(b->arena, int32_t, n);
        r->weight[t] = ARENA_ARRAY(b->arena, float, n);
    }
    for (int64_t x = 0; x < n; x++) {
        struct between c = neighbours(&axis, x);
        for (int t = 0; t < 2; t++) {
            r->at[t][x] = (int32_t)(c.at[t] * step);
            r->weight[t][x] = c.weight[t];
        }
    }
    return true;
}

bool prepare_resize(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct bound_resize *r = ARENA_NEW(b->arena, struct bound_resize);
    const struct operand *y = &i->o[AP(resize_linear, dst)], *x = &i->o[AP(resize_linear, image)];
    i->prepared = r;
    if (!only_numbers(b, i, insn))
        return false;
    if (y->rank != 3 || x->rank != 3 || y->count[2] != x->count[2])
        return fail(b->d,
                    "resize_linear: operands of rank %d and %d, expected 3, with equal "
                    "channels",
                    y->rank, x->rank);
    bool clipped = x->nclips || i->imm[IMM(resize_linear, rows)].nterms;
    for (int c = 0; c < y->nclips; c++)
        clipped |= y->clips[c].dim != 0;
    if (clipped)
        return fail(b->d, "resize_linear: only rows of the result may be clipped");
    r->width = x->count[1], r->pixels = y->count[1], r->channels = y->count[2];
    bool single = r->channels == 1;
    r->direct = x->dtype == DT_F32 && y->dtype == DT_F32 &&
                (single ? x->step[1] == 1 && y->step[1] == 1
                        : x->step[2] == 1 && y->step[2] == 1 && x->step[1] >= r->channels);
    int64_t row = r->width > r->pixels ? r->width : r->pixels;
    if (r->channels > 0 && row > INT32_MAX / 8 / r->channels)
        return fail(b->d, "resize_linear: rows are too long");
    r->own = row * r->channels + 16;
    need_scratch(b, (r->direct ? 1 : 4) * r->own * (int64_t)sizeof(float));
    return make_rows(b, i, r) && make_columns(b, i, r);
}

/* A row of the image, dense. */
static void fetch_row(const struct worker *me, const struct operand *x, const char *from,
                      const struct bound_resize *r, float *to)
{
    for (int64_t p = 0; p < r->width; p++, from += x->step[1] * x->size)
        for (int64_t c = 0, m; c < r->channels; c += m) {
            m = r->channels - c < CHUNK ? r->channels - c : CHUNK;
            struct in_row part = fetch(me, x, from + c * x->step[2] * x->size, x->step[2], m, to);
            if (part.at != to || part.step != 1)
                me->k->copy(to, 4, part.at, part.step * 4, (size_t)m, 4);
            to += m;
        }
}

static void resize_one(const struct worker *me, const struct bound_insn *i, const char *image,
                       char *to, int64_t row)
{
    const struct bound_resize *r = i->prepared;
    const struct operand *y = &i->o[AP(resize_linear, dst)], *x = &i->o[AP(resize_linear, image)];
    bool listed = r->row && row >= 0 && row < r->rows.out;
    struct between b = listed ? r->row[row] : neighbours(&r->rows, row);
    float *work = (float *)me->scratch;
    struct resize_row k = {.at = {r->at[0], r->at[1]},
                           .column_weight = {r->weight[0], r->weight[1]},
                           .width = (size_t)r->width,
                           .pixels = (size_t)r->pixels,
                           .channels = (size_t)r->channels,
                           .y = r->direct ? (float *)to : work + 3 * r->own,
                           .y_step = r->direct ? y->step[1] : r->channels,
                           .work = work};
    int n = b.at[0] == b.at[1] ? 1 : 2;
    for (int t = 0; t < n; t++) {
        const char *from = image + b.at[t] * x->step[0] * x->size;
        k.rows[t] = (const float *)from;
        if (!r->direct) {
            k.rows[t] = work + (1 + t) * r->own;
            fetch_row(me, x, from, r, work + (1 + t) * r->own);
        }
        k.weight[t] = n == 1 ? 1 : b.weight[t];
    }
    me->k->resize_linear(&k);
    for (int64_t p = 0; p < r->pixels && !r->direct; p++)
        store_row(me, y, to + p * y->step[1] * y->size, y->step[2], k.y + p * r->channels,
                  r->channels);
}

void exec_resize_linear(struct worker *me, const struct bound_insn *i)
{
    int64_t count[MAX_AP_RANK], image[MAX_AP_RANK],
        row = number_at(me, &i->imm[IMM(resize_linear, row)]);
    if (!counts_now(me, i, AP(resize_linear, dst), count) ||
        !counts_now(me, i, AP(resize_linear, image), image))
        return;
    const char *x = operand_address(me, &i->o[AP(resize_linear, image)]);
    char *y = operand_address(me, &i->o[AP(resize_linear, dst)]);
    for (int64_t n = 0; n < count[0]; n++)
        resize_one(me, i, x,
                   y + n * i->o[AP(resize_linear, dst)].step[0] * i->o[AP(resize_linear, dst)].size,
                   row + n);
}
