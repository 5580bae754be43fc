/*
 * Extension on images [channels, height, width]: convolution of groups of a few planes, a tile of results at a time.
 */
#include "neff/isa/planes.h"
#include "runtime/exec/engine.h"

#include <string.h>

enum { DST = AP(plane_conv, dst), IMAGE = AP(plane_conv, image), WEIGHTS = AP(plane_conv, weights),
       BIAS = AP(plane_conv, bias) };

struct bound_planes {
    struct alu alu; /* functions without a kernel */
    enum kernel_activation f;
    bool extra; /* alu runs after */
};

/* Whether indices of a dim lie so far apart, if there are several. */
static bool steps_by(const struct operand *o, int dim, int64_t step)
{
    return o->count[dim] <= 1 || o->step[dim] == step;
}

static bool plane_types(struct binding *b, const struct bound_insn *i)
{
    const struct operand *y = &i->o[DST], *x = &i->o[IMAGE], *w = &i->o[WEIGHTS], *bias = &i->o[BIAS];
    if (y->rank != 3 || x->rank != 3 || w->rank != 4 || (bias->mem && bias->rank != 1))
        return fail(b->d, "plane_conv: operands of rank %d, %d and %d, expected 3, 3 and 4", y->rank, x->rank, w->rank);
    for (int n = 0; n <= BIAS; n++)
        if (i->o[n].mem && i->o[n].dtype != DT_F32)
            return fail(b->d, "plane_conv: an operand of %s, expected f32", dtype_name(i->o[n].dtype));
    int64_t window = w->count[2] * w->count[3];
    if (!steps_by(y, 2, 1) || !steps_by(x, 2, 1) || (bias->mem && !steps_by(bias, 0, 1)) || !steps_by(w, 3, 1) ||
        !steps_by(w, 2, w->count[3]) || !steps_by(w, 1, window) || !steps_by(w, 0, w->count[1] * window))
        return fail(b->d, "plane_conv: operands with steps between pixels or weights");
    return true;
}

/* Tiles are clipped by whole groups and rows. */
static bool plane_counts(struct binding *b, const struct bound_insn *i)
{
    const struct operand *y = &i->o[DST], *x = &i->o[IMAGE], *w = &i->o[WEIGHTS], *bias = &i->o[BIAS];
    int64_t results = NUMBER(i, plane_conv, results), planes = w->count[1];
    if (w->count[1] * w->count[2] * w->count[3] > PLANE_PLACES || planes < 1)
        return fail(b->d, "plane_conv: a window of more than %d places", PLANE_PLACES);
    if (results < 1 || y->count[0] % results || y->count[0] > w->count[0] ||
        (bias->mem && y->count[0] > bias->count[0]) || y->count[0] / results * planes > x->count[0])
        return fail(b->d, "plane_conv: %lld results by %lld of %lld planes, %lld a group", (long long)y->count[0],
                    (long long)planes, (long long)x->count[0], (long long)results);
    for (int n = 1; n < 3; n++)
        if (y->count[n] > PLANE_STRIDE || y->count[n] < 1)
            return fail(b->d, "plane_conv: %lld results in a row or column, expected at most %d",
                        (long long)y->count[n], PLANE_STRIDE);
    for (int k = 0; k < w->nclips; k++)
        if (w->clips[k].dim)
            return fail(b->d, "plane_conv: clipped windows");
    return true;
}

static struct plane_conv plane_call(const struct bound_insn *i, size_t rows, size_t pixels)
{
    const struct operand *w = &i->o[WEIGHTS];
    return (struct plane_conv){.planes = (int)w->count[1],
                               .kernel_h = (int)w->count[2],
                               .kernel_w = (int)w->count[3],
                               .stride_h = (int)NUMBER(i, plane_conv, stride_h),
                               .stride_w = (int)NUMBER(i, plane_conv, stride_w),
                               .dilation_h = (int)NUMBER(i, plane_conv, dilation_h),
                               .dilation_w = (int)NUMBER(i, plane_conv, dilation_w),
                               .results = (size_t)NUMBER(i, plane_conv, results),
                               .rows = rows,
                               .pixels = pixels};
}

static int64_t work_of(const struct plane_conv *c)
{
    return plane_conv_work(c->planes, plane_conv_rows(c->kernel_h, c->stride_h, c->dilation_h, (int64_t)c->rows),
                           plane_conv_pitch(c->kernel_w, c->stride_w, c->dilation_w, (int64_t)c->pixels));
}

bool prepare_planes(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct bound_planes *m = ARENA_NEW(b->arena, struct bound_planes);
    i->prepared = m;
    if (!only_numbers(b, i, insn) || !constant_numbers(b, i))
        return false;
    int64_t stride_h = NUMBER(i, plane_conv, stride_h), stride_w = NUMBER(i, plane_conv, stride_w);
    if (stride_h < 1 || stride_h > PLANE_STRIDE || stride_w < 1 || stride_w > PLANE_STRIDE ||
        NUMBER(i, plane_conv, dilation_h) > PLANE_STRIDE || NUMBER(i, plane_conv, dilation_w) > PLANE_STRIDE)
        return fail(b->d, "plane_conv: a stride of 0, or a window of more than %d pixels", PLANE_STRIDE);
    if (!plane_types(b, i) || !plane_counts(b, i) ||
        !alu_find(&m->alu, i->func[FUNC(plane_conv, f)], false, i->flt[FLT(plane_conv, a)], i->flt[FLT(plane_conv, b)],
                  b->d))
        return false;
    m->f = m->alu.kind == ALU_ACTIVATION ? (enum kernel_activation)m->alu.index : ACTIVATION_copy;
    m->extra = m->alu.kind != ALU_ACTIVATION && m->alu.kind != ALU_COPY;
    struct plane_conv c = plane_call(i, (size_t)i->o[DST].count[1], (size_t)i->o[DST].count[2]);
    int64_t work = work_of(&c);
    if (work > PLANE_WORK)
        return fail(b->d, "plane_conv: a tile that sees %lld elements of the image, expected at most %d",
                    (long long)work, PLANE_WORK);
    need_scratch(b, work * (int64_t)sizeof(float));
    return true;
}

/* The first index of the image's rows, or columns, that a tile sees. */
#define FIRST_SEEN(me, i, which, along)                                                                                \
    (number_at(me, &(i)->imm[IMM(plane_conv, which)]) * NUMBER(i, plane_conv, stride_##along) -                       \
     NUMBER(i, plane_conv, pad_##along))

static void apply_alu(struct worker *me, const struct bound_insn *i, const struct plane_conv *c)
{
    const struct bound_planes *m = i->prepared;
    for (size_t o = 0; o < c->groups * c->results; o++)
        for (size_t r = 0; r < c->rows; r++) {
            float *row = c->y + (ptrdiff_t)o * c->y_plane + (ptrdiff_t)r * c->y_pitch;
            alu_run(me, &m->alu, (struct out_row){row, 1}, (struct in_row){row, 1}, (struct in_row){row, 1},
                    (int64_t)c->pixels);
        }
}

void exec_plane_conv(struct worker *me, const struct bound_insn *i)
{
    const struct bound_planes *m = i->prepared;
    int64_t count[BIAS + 1][MAX_AP_RANK];
    bool biased = i->o[BIAS].mem != MEM_NONE;
    for (int n = 0; n <= (biased ? BIAS : WEIGHTS); n++)
        if (!counts_now(me, i, n, count[n]))
            return;
    const int64_t *y = count[DST], *x = count[IMAGE];
    struct plane_conv c = plane_call(i, (size_t)y[1], (size_t)y[2]);
    int64_t results = y[0] < count[WEIGHTS][0] ? y[0] : count[WEIGHTS][0], groups = x[0] / c.planes;
    results = biased && count[BIAS][0] < results ? count[BIAS][0] : results;
    c.groups = (size_t)(results / (int64_t)c.results < groups ? results / (int64_t)c.results : groups);
    c.x = (const float *)operand_address(me, &i->o[IMAGE]), c.y = (float *)operand_address(me, &i->o[DST]);
    c.x_plane = i->o[IMAGE].step[0], c.x_pitch = i->o[IMAGE].step[1];
    c.y_plane = i->o[DST].step[0], c.y_pitch = i->o[DST].step[1];
    c.height = x[1], c.width = x[2];
    c.row = FIRST_SEEN(me, i, row, h), c.column = FIRST_SEEN(me, i, column, w);
    c.weights = (const float *)operand_address(me, &i->o[WEIGHTS]);
    c.work = (float *)me->scratch;
    c.epilogue = (struct channel_epilogue){biased ? (const float *)operand_address(me, &i->o[BIAS]) : NULL, m->f,
                                           {i->flt[FLT(plane_conv, a)], i->flt[FLT(plane_conv, b)]}};
    me->k->plane_conv(&c);
    if (m->extra)
        apply_alu(me, i, &c);
}
