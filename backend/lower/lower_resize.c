/*
 * Resizing: to the nearest pixel by whole factors, where every pixel is repeated, a copy with steps
 * of 0; and linear along one dim, two neighbours, or three, by rows of images.
 */
#include "backend/lower/expression.h"
#include "backend/lower/move.h"
#include "backend/lower/product.h"
#include "neff/core/resize.h"

#include <string.h>

enum { MAX_FACTOR = 64 };

static bool stretches(const struct attrs *as)
{
    return !attr_find(as, "keep_aspect_ratio_policy") ||
           attr_is(as, "keep_aspect_ratio_policy", "stretch");
}

/* The coordinate rule and rounding take result index q * factor + i to q. */
static bool repeats(const struct node *n)
{
    const struct attrs *as = &n->attrs;
    struct str rounding = attr_str(as, "nearest_mode", "round_prefer_floor");
    bool round = rounding.n > 5 && rounding.p[0] == 'r';
    bool half = !attr_find(as, "coordinate_transformation_mode") ||
                attr_is(as, "coordinate_transformation_mode", "half_pixel");
    bool low = attr_is(as, "coordinate_transformation_mode", "asymmetric") &&
               attr_is(as, "nearest_mode", "floor");
    return stretches(as) && ((half && round) || low);
}

/* Scales that are given are the whole factors that the sizes say. */
static bool scales_agree(struct lowering *l, const struct node *n, const int64_t *factor)
{
    struct value *scales = n->nin > 2 ? outer_value(l, n->in[2]) : NULL;
    bool sizes = n->nin > 3 && n->in[3];
    int count, rank = n->out[0]->type.rank;
    const int64_t *axes = attr_ints(&n->attrs, "axes", &count);
    if (sizes)
        return true;
    if (!scales || !scales->constant || tensor_count(scales->constant) != (axes ? count : rank))
        return false;
    for (int i = 0; i < (axes ? count : rank); i++) {
        int64_t a = axes ? axes[i] + (axes[i] < 0 ? rank : 0) : i;
        if (a < 0 || a >= rank || tensor_f64(scales->constant, i) != (double)factor[a])
            return false;
    }
    return true;
}

static enum lowered resize_nearest(struct lowering *l, struct node *n)
{
    struct dim_table *t = &l->p->dims;
    int64_t factor[MAX_RANK];
    dim_t steps[MAX_RANK];
    struct value *x = outer_value(l, n->in[0]);
    struct move onto = move_onto(l, n->out[0], x), m = onto;
    bool whole = repeats(n);
    for (int i = 0; i < onto.rank && whole; i++) {
        factor[i] = 1;
        while (factor[i] <= MAX_FACTOR && onto.dims[i] != dim_mul(t, x->type.dims[i], factor[i]))
            factor[i]++;
        whole = factor[i] <= MAX_FACTOR;
    }
    if (!whole || !scales_agree(l, n, factor)) {
        why(l->o, n, "tile.resize",
            "of nearest pixels only whole factors have a tile program; it runs on GpSimd");
        return DECLINED;
    }
    dense_steps(t, x->type.rank, x->type.dims, steps);
    m.rank = 0;
    for (int i = 0; i < onto.rank; i++) {
        move_dim(&m, x->type.dims[i], dim_mul(t, onto.to[i], factor[i]), steps[i]);
        move_dim(&m, factor[i], onto.to[i], 0);
    }
    if (!move_possible(l, &m))
        return DECLINED;
    emit_move(l, n, n->name && *n->name ? n->name : "resize", &m);
    return LOWERED;
}

/* ---- linear ---- */

/* What is resized: dims first.. to last, each by a scale; 0: by the quotient of its sizes. */
struct linear_resize {
    int rule, first, last;
    float scale[MAX_RANK];
};

static bool linear_rule(const struct node *n, struct linear_resize *r)
{
    const struct attrs *as = &n->attrs;
    const char *rule = "coordinate_transformation_mode";
    r->rule = HALF_PIXEL;
    while (attr_find(as, rule) && r->rule < COORDINATES &&
           !attr_is(as, rule, coordinate_names[r->rule]))
        r->rule++;
    return stretches(as) && r->rule < COORDINATES && r->rule != CROP_AND_RESIZE &&
           !attr_int(as, "antialias", 0) && !attr_int(as, "exclude_outside", 0);
}

/* The scale of each dim: 1 for those that are not resized. False when running tells. */
static bool linear_scales(struct lowering *l, const struct node *n, struct linear_resize *r)
{
    struct value *scales = n->nin > 2 && n->in[2] ? outer_value(l, n->in[2]) : NULL;
    bool sizes = n->nin > 3 && n->in[3];
    int count, rank = n->out[0]->type.rank;
    const int64_t *axes = attr_ints(&n->attrs, "axes", &count);
    count = attr_find(&n->attrs, "axes") ? count : rank;
    for (int i = 0; i < rank; i++)
        r->scale[i] = 1;
    if (!sizes && (!scales || !scales->constant || scales->constant->dtype != DT_F32 ||
                   tensor_count(scales->constant) != count))
        return false;
    for (int i = 0; i < count; i++) {
        int64_t a = axes ? axes[i] + (axes[i] < 0 ? rank : 0) : i;
        if (a < 0 || a >= rank)
            return false;
        r->scale[a] = sizes ? 0 : ((const float *)scales->constant->data)[i];
    }
    return true;
}

/* The dims whose size or scale changes are neighbours. */
static bool linear_dims(const struct type *x, const struct type *y, struct linear_resize *r)
{
    int changed = 0;
    r->first = r->last = -1;
    for (int i = 0; i < x->rank; i++) {
        bool same = x->dims[i] == y->dims[i] && (r->scale[i] == 1 || r->scale[i] == 0);
        if (same)
            continue;
        r->first = changed++ ? r->first : i;
        r->last = i;
    }
    return changed == r->last - r->first + 1 && changed <= 3;
}

/* An operand as (outer, h, w, inner). */
struct plane {
    int slot;
    dim_t outer, h, w, inner;
};

static void emit_planes(struct lowering *l, const struct node *n, const struct linear_resize *r,
                        const struct plane *y, const struct plane *x, float scale_h, float scale_w)
{
    struct dim_table *t = &l->p->dims;
    struct kernel_builder k = begin_kernel(l, n, n->name && *n->name ? n->name : "resize");
    dim_t row = dim_mul(t, y->w, y->inner), x_row = dim_mul(t, x->w, x->inner);
    dim_t tile = image_rows_tile(y->h, row);
    int var_n = kernel_grid(&k, y->outer), var_row = kernel_grid(&k, dim_ceildiv(t, y->h, tile));
    struct ap to = ap_slot(l->p, y->slot), from = ap_slot(l->p, x->slot);
    ap_move(l->p, &to, var_n, dim_mul(t, row, y->h));
    ap_move(l->p, &from, var_n, dim_mul(t, x_row, x->h));
    ap_push_tile(l->p, &to, row, tile, var_row, y->h);
    ap_push(&from, x_row, x->h);
    ap_push(&to, y->inner, y->w), ap_push(&from, x->inner, x->w);
    ap_push(&to, 1, y->inner), ap_push(&from, 1, x->inner);
    emit_resize_linear(&k, (struct resize_linear){.dst = to,
                                                  .image = from,
                                                  .row = affine_variable(l->p, 0, var_row, tile),
                                                  .rows = y->h,
                                                  .coordinates = r->rule,
                                                  .scale_h = scale_h,
                                                  .scale_w = scale_w});
    dim_t results = dim_mul(t, y->outer, dim_mul(t, row, y->h));
    kernel_of(&k)->flops = dim_mul(t, results, 6);
    kernel_of(&k)->bytes =
        dim_mul(t, 4, dim_add(t, results, dim_mul(t, x->outer, dim_mul(t, x_row, x->h))));
}

static dim_t product(struct lowering *l, const dim_t *dims, int from, int to)
{
    dim_t n = 1;
    for (int i = from; i < to; i++)
        n = dim_mul(&l->p->dims, n, dims[i]);
    return n;
}

struct whole_tensor {
    int slot;
    const dim_t *dims;
};

/* The dims from `at` on, resized, of a tensor whose dims are all known: one dim as rows, or as
 * columns where it is the last; two as both. */
static void emit_dims(struct lowering *l, const struct node *n, const struct linear_resize *r, int at, int count,
                      struct whole_tensor to, struct whole_tensor from)
{
    const dim_t *x = from.dims, *y = to.dims;
    int rank = n->out[0]->type.rank;
    dim_t outer = product(l, x, 0, at), inner = product(l, x, at + count, rank);
    if (count == 2) {
        emit_planes(l, n, r, &(struct plane){to.slot, outer, y[at], y[at + 1], inner},
                    &(struct plane){from.slot, outer, x[at], x[at + 1], inner}, r->scale[at],
                    r->scale[at + 1]);
    } else if (inner == 1) {
        emit_planes(l, n, r, &(struct plane){to.slot, 1, outer, y[at], 1},
                    &(struct plane){from.slot, 1, outer, x[at], 1}, 1, r->scale[at]);
    } else {
        emit_planes(l, n, r, &(struct plane){to.slot, outer, y[at], 1, inner},
                    &(struct plane){from.slot, outer, x[at], 1, inner}, r->scale[at], 1);
    }
}

static enum lowered resize_linear(struct lowering *l, struct node *n)
{
    struct value *x = outer_value(l, n->in[0]), *y = n->out[0];
    struct linear_resize r;
    bool floats = dtype_is_engine_float(x->type.dtype) && x->type.dtype == y->type.dtype;
    if (l->m->strict || !floats || x->type.rank < 1 || !linear_rule(n, &r) ||
        !linear_scales(l, n, &r) || !linear_dims(&x->type, &y->type, &r)) {
        why(l->o, n, "tile.resize",
            "only floats resized along one to three neighbouring dims, without filtering or "
            "regions, have a tile program; it runs on GpSimd");
        return DECLINED;
    }
    int count = r.last - r.first + 1;
    struct whole_tensor from = {value_slot(l, x), x->type.dims};
    dim_t half[MAX_RANK];
    if (count == 3) { /* the last two, then the first */
        struct type type = x->type;
        type.dtype = DT_F32;
        for (int i = r.last - 1; i <= r.last; i++)
            type.dims[i] = y->type.dims[i];
        memcpy(half, type.dims, sizeof half);
        struct whole_tensor between = {temporary_slot(l, &type, NULL), half};
        emit_dims(l, n, &r, r.first + 1, 2, between, from);
        from = between, count = 1;
    }
    if (r.first < 0) /* a copy */
        r.first = 0, count = 1;
    emit_dims(l, n, &r, r.first, count, (struct whole_tensor){value_slot(l, y), y->type.dims}, from);
    return LOWERED;
}

enum lowered lower_resize_tiles(struct lowering *l, struct node *n)
{
    if (!movable(l, n, 0, 0))
        return DECLINED;
    if (attr_is(&n->attrs, "mode", "linear"))
        return resize_linear(l, n);
    if (!attr_find(&n->attrs, "mode") || attr_is(&n->attrs, "mode", "nearest"))
        return resize_nearest(l, n);
    why(l->o, n, "tile.resize", "cubic filters have no tile program; it runs on GpSimd");
    return DECLINED;
}
