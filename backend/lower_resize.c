/*
 * Resizing to the nearest pixel by whole factors: every pixel is repeated, which is a copy with
 * steps of 0.
 */
#include "backend/group.h"
#include "backend/move.h"

enum { MOST = 64 };

/* The coordinate rule and rounding take result index q * factor + i to q. */
static bool repeats(const struct node *n)
{
    const struct attrs *as = &n->attrs;
    struct str rounding = attr_str(as, "nearest_mode", "round_prefer_floor");
    bool nearest = attr_is(as, "mode", "nearest") || attr_str(as, "mode", "nearest").n == 0 ||
                   !attr_find(as, "mode");
    bool stretch = !attr_find(as, "keep_aspect_ratio_policy") ||
                   attr_is(as, "keep_aspect_ratio_policy", "stretch");
    bool round = rounding.n > 5 && rounding.p[0] == 'r';
    bool half = !attr_find(as, "coordinate_transformation_mode") ||
                attr_is(as, "coordinate_transformation_mode", "half_pixel");
    bool low = attr_is(as, "coordinate_transformation_mode", "asymmetric") &&
               attr_is(as, "nearest_mode", "floor");
    return nearest && stretch && ((half && round) || low);
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

enum lowered lower_resize_nearest(struct lowering *l, struct node *n)
{
    struct dim_table *t = &l->p->dims;
    int64_t factor[MAX_RANK];
    dim_t steps[MAX_RANK];
    if (!movable(l, n, 0, 0))
        return DECLINED;
    struct value *x = outer_value(l, n->in[0]);
    struct move onto = move_onto(l, n->out[0], x), m = onto;
    bool whole = repeats(n);
    for (int i = 0; i < onto.rank && whole; i++) {
        factor[i] = 1;
        while (factor[i] <= MOST && onto.dims[i] != dim_mul(t, x->type.dims[i], factor[i]))
            factor[i]++;
        whole = factor[i] <= MOST;
    }
    if (!whole || !scales_agree(l, n, factor)) {
        why(l->o, n, "tile.resize",
            "only nearest pixels by whole factors have a tile program; it runs on GpSimd");
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
