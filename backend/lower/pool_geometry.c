#include "backend/lower/pool.h"
#include "passes/pads.h"

/* Spatial attribute with a value per dim; `at` counts from the last two dims. */
static void each(const struct node *n, const char *name, int spatial, int64_t *out)
{
    int count;
    const int64_t *v = attr_ints(&n->attrs, name, &count);
    for (int i = 0; i < 2; i++) {
        int at = i - (2 - spatial);
        out[i] = at >= 0 && v && at < count ? v[at] : 1;
    }
}

/* false when it crops. */
static bool pool_pads(struct dim_table *t, const struct node *n, struct pooling *p)
{
    dim_t size[2] = {p->h, p->w}, windows[2] = {p->oh, p->ow};
    bool crops = false;
    for (int i = 2 - p->spatial; i < 2; i++) {
        dim_t excess =
            window_excess(t, size[i], windows[i], p->kernel[i], p->stride[i], p->dilation[i]);
        struct pads along = pads_of(t, n, i - (2 - p->spatial), excess);
        p->pad[i] = along.begin;
        crops |= pads_crop(along);
    }
    return !crops;
}

/* What engines pool: floats, and the greatest of 8-bit numbers. */
static bool pooled_types(const struct lowering *l, const struct node *n, int x, int y)
{
    bool bytes = n->op == OP_max_pool && x == y && (x == DT_U8 || x == DT_I8) && !l->m->strict;
    return bytes || (dtype_is_engine_float(x) && dtype_is_engine_float(y));
}

bool pool_geometry(struct lowering *l, const struct node *n, struct pooling *p)
{
    struct value *x = outer_value(l, n->in[0]);
    const struct type *t = &x->type, *y = &n->out[0]->type;
    p->max = n->op == OP_max_pool;
    p->last = attr_int(&n->attrs, "channels_last", 0) != 0;
    p->count_pad = attr_int(&n->attrs, "count_include_pad", 0) != 0;
    p->spatial = t->rank - 2;
    if (!has_layout(l, x) || !has_layout(l, n->out[0]) || !pooled_types(l, n, t->dtype, y->dtype) ||
        p->spatial < 1 || p->spatial > 2 || (n->nout > 1 && n->out[1]->uses) ||
        (p->count_pad && attr_int(&n->attrs, "ceil_mode", 0)))
        return false;
    int first = p->last ? 1 : 2;
    bool two = p->spatial == 2;
    p->n = t->dims[0];
    p->channels = t->dims[p->last ? t->rank - 1 : 1];
    p->h = two ? t->dims[first] : 1, p->w = t->dims[first + two];
    p->oh = two ? y->dims[first] : 1, p->ow = y->dims[first + two];
    each(n, "kernel_shape", p->spatial, p->kernel);
    each(n, "strides", p->spatial, p->stride);
    each(n, "dilations", p->spatial, p->dilation);
    dim_t steps[MAX_RANK];
    dense_steps(&l->p->dims, t->rank, t->dims, steps);
    p->image = steps[0];
    p->channel = steps[p->last ? t->rank - 1 : 1];
    p->column = steps[first + two];
    p->row = two ? steps[first] : 0;
    return pool_pads(&l->p->dims, n, p) && p->kernel[0] * p->kernel[1] <= 1024;
}
