/*
 * stablehlo.dynamic_reduce_window: a window whose sizes and paddings are operands, as
 * shape-polymorphic exports have it. Windows of constant size are ordinary ones on an array that is
 * padded first. A window as long as its dimension is a running reduction, also where its length
 * follows from sizes by arithmetic that only running does (a spec "2*t" divides, and multiplies again).
 * All others are left to lower_open_window.c.
 */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"
#include "frontend/hlo/lower/open_window.h"
#include "neff/core/guard.h"
#include "passes/ir/guards.h"

#include <string.h>

enum { SIZES = OPEN_SIZES, STRIDES, BASE, DILATIONS, PADS = OPEN_LISTS, LISTS };

struct dynamic_window {
    struct hlo_computation *c;
    const struct leaves *given;       /* the operands, whose dims the results have */
    int n, rank;                      /* arrays that are reduced together, their rank */
    dim_t v[LISTS][2 * HLO_MAX_RANK]; /* numbers or expressions over sizes; paddings are pairs */
    bool pads_known;
    bool unknown; /* sizes, strides or dilations that only running tells */
};

/* Elements of an operand, when they follow from sizes. */
static bool elements(struct hlo_lower *l, int k, dim_t *v, int want)
{
    const struct value *x = h_in(l, k);
    bool known = x && x->content.n == want;
    for (int j = 0; known && j < want; j++)
        v[j] = x->content.v[j];
    if (!known && x && x->constant && tensor_count(x->constant) == want) {
        for (int j = 0; j < want; j++)
            v[j] = tensor_i64(x->constant, j);
        known = true;
    }
    return known;
}

static bool read_window(struct hlo_lower *l, struct dynamic_window *w)
{
    const struct hlo_attr *a = hlo_attr(l->i, HLO_ATTR_called_computations);
    w->n = (l->i->operand_count - LISTS) / 2;
    if (w->n < 1 || l->i->operand_count != 2 * w->n + LISTS || !a || a->computations->count != 1)
        return HLO_ERROR(l, "%d operands, expected arrays, first values and %d lists",
                         l->i->operand_count, LISTS);
    w->c = a->computations->v[0];
    w->given = l->operands;
    w->rank = h_rank(h_in(l, 0));
    for (int k = 0; k < PADS; k++)
        if (!elements(l, 2 * w->n + k, w->v[k], w->rank)) {
            w->unknown = true;
            return true;
        }
    w->pads_known = elements(l, 2 * w->n + PADS, w->v[PADS], 2 * w->rank);
    return true;
}

static bool all_known(const dim_t *v, int n)
{
    for (int k = 0; k < n; k++)
        if (!dim_is_const(v[k]))
            return false;
    return true;
}

static bool all_ones(const dim_t *v, int n)
{
    for (int k = 0; k < n; k++)
        if (v[k] != 1)
            return false;
    return true;
}

/* Whether paddings are constant, too. */
static bool is_static(const struct dynamic_window *w)
{
    return w->pads_known && all_known(w->v[PADS], 2 * w->rank);
}

/* ---- windows of constant sizes ---- */

/* Paddings as a vector, those below all dimensions first. */
static struct value *pads(struct hlo_lower *l, const struct dynamic_window *w)
{
    dim_t v[2 * HLO_MAX_RANK];
    int64_t swap[2] = {1, 0}, length = 2 * w->rank;
    for (int k = 0; k < w->rank; k++) {
        v[k] = w->v[PADS][2 * k];
        v[w->rank + k] = w->v[PADS][2 * k + 1];
    }
    if (w->pads_known)
        return h_dims(l, v, 2 * w->rank);
    struct value *given = h_cast(l, h_in(l, 2 * w->n + PADS), DT_I64);
    return h_reshape(l, h_transpose(l, given, swap, 2), &length, 1);
}

/* Operand k with the paddings, in its first value. */
static struct value *padded(struct hlo_lower *l, const struct dynamic_window *w, int k)
{
    return b_op(l->b, OP_pad, (struct value *[]){h_in(l, k), pads(l, w), h_in(l, w->n + k)}, 3, NULL);
}

static bool fixed_windows(struct hlo_lower *l, const struct dynamic_window *w)
{
    struct arena *a = &l->b->g->arena;
    struct hlo_window_dim dims[HLO_MAX_RANK];
    const struct hlo_window window = {w->rank, dims};
    const struct hlo_attr attrs[] = {{.id = HLO_ATTR_to_apply, .computation = w->c},
                                     {.id = HLO_ATTR_window, .window = &window}};
    struct leaves *operands = ARENA_ARRAY(a, struct leaves, 2 * w->n);
    bool pad = !is_static(w);
    for (int k = 0; k < w->rank; k++)
        dims[k] = (struct hlo_window_dim){.size = w->v[SIZES][k],
                                          .stride = w->v[STRIDES][k],
                                          .lhs_dilate = w->v[BASE][k],
                                          .rhs_dilate = w->v[DILATIONS][k],
                                          .pad_low = pad ? 0 : w->v[PADS][2 * k],
                                          .pad_high = pad ? 0 : w->v[PADS][2 * k + 1]};
    for (int k = 0; k < 2 * w->n; k++) {
        operands[k] = l->operands[k];
        if (pad && k < w->n) {
            operands[k].v = ARENA_ARRAY(a, struct value *, 1);
            operands[k].v[0] = padded(l, w, k);
        }
    }
    return h_lower_as(l, HLO_OP_REDUCE_WINDOW, hlo_lower_reduce_window, attrs, 2, operands, 2 * w->n);
}

/* ---- windows as long as their dimension ---- */

/* Whether sizes that many numbers divide are equal: nothing for certain, that is what a guard is for. */
static bool seem_equal(const struct hlo_lower *l, dim_t a, dim_t b)
{
    const struct dim_table *t = &l->b->g->dims;
    enum { DIVISIBLE = 5040 };
    int64_t *sizes = ARENA_ARRAY(&l->b->g->arena, int64_t, t->nsymbols + 1);
    for (int k = 0; k < t->nsymbols; k++)
        sizes[k] = DIVISIBLE * (INT64_C(1) + k);
    return dim_eval(t, sizes, a) == dim_eval(t, sizes, b);
}

/* Whether a window is as long as its dimension: of two expressions, the archive is for sizes where they are equal. */
static bool as_long_as(struct hlo_lower *l, dim_t window, dim_t n)
{
    struct guard g = {.kind = GUARD_EQUAL, .dimension = -1, .a = window, .b = n,
                      .what = "a window that is to be as long as its dimension"};
    if (window == n || guard_is_certain(&l->b->g->dims, GUARD_EQUAL, window, n))
        return true;
    if (!seem_equal(l, window, n))
        return false;
    g.node = l->i->name;
    graph_add_guard(l->b->g, &g, l->b->r, NULL);
    return true;
}

/* The only dimension with a window of other than one element; -1 when windows are of another kind.
 */
static int running_axis(struct hlo_lower *l, const struct dynamic_window *w, bool *down)
{
    struct value *x = h_in(l, 0);
    int axis = -1;
    for (int k = 0; k < w->rank; k++) {
        dim_t low = w->v[PADS][2 * k], high = w->v[PADS][2 * k + 1];
        if (w->v[STRIDES][k] != 1 || w->v[BASE][k] != 1 || w->v[DILATIONS][k] != 1)
            return -1;
        if (w->v[SIZES][k] == 1 && !low && !high)
            continue;
        dim_t before = dim_sub(&l->b->g->dims, w->v[SIZES][k], 1);
        *down = low == 0;
        if (axis >= 0 || (*down ? high : low) != before || (*down ? low : high) != 0)
            return -1;
        axis = k;
    }
    return axis >= 0 && as_long_as(l, w->v[SIZES][axis], x->type.dims[axis]) ? axis : -1;
}

static struct value *as_given(struct hlo_lower *l, const struct dynamic_window *w, int k, struct value *made)
{
    return h_reshape(l, made, w->given[k].v[0]->type.dims, w->rank);
}

/* A scan: the state is the reduction so far, the computation works on whole slices. */
static bool scan(struct hlo_lower *l, const struct dynamic_window *w, int axis, bool down)
{
    struct arena *a = &l->b->g->arena;
    struct value **in = ARENA_ARRAY(a, struct value *, 2 * w->n);
    int64_t *where = ARENA_ARRAY(a, int64_t, w->n), *way = ARENA_ARRAY(a, int64_t, w->n);
    struct leaves *args = ARENA_ARRAY(a, struct leaves, 2 * w->n), result;
    struct type *slices = ARENA_ARRAY(a, struct type, w->n);
    struct attrs as = {0};
    struct hlo_lower inner = *l;
    for (int k = 0; k < w->n; k++) {
        struct type t = h_in(l, k)->type;
        memmove(t.dims + axis, t.dims + axis + 1, sizeof *t.dims * (size_t)(t.rank - 1 - axis));
        t.rank--;
        slices[k] = t;
        where[k] = axis;
        way[k] = down;
        in[k] = h_fill(l, h_in(l, w->n + k), t.dims, t.rank);
        in[w->n + k] = h_in(l, k);
    }
    h_set_int(l, &as, "num_scan_inputs", w->n);
    attr_set_ints(a, &as, "scan_input_axes", where, w->n);
    attr_set_ints(a, &as, "scan_output_axes", where, w->n);
    attr_set_ints(a, &as, "scan_input_directions", way, w->n);
    attr_set_ints(a, &as, "scan_output_directions", way, w->n);
    struct node *s = diag_failed(l->b->d) ? NULL : b_place(l->b, OP_scan, in, 2 * w->n, 2 * w->n, &as);
    struct region *r = s ? node_add_region(l->b->g, s) : NULL;
    for (int k = 0; r && k < 2 * w->n; k++) {
        args[k] = (struct leaves){.count = 1, .v = ARENA_ARRAY(a, struct value *, 1)};
        args[k].v[0] = region_add_param(r, &slices[k % w->n], NULL);
    }
    inner.b->r = r;
    inner.vectors = true;
    if (!r || !hlo_inline(&inner, w->c, args, 2 * w->n, &result))
        return false;
    struct value **results = ARENA_ARRAY(a, struct value *, 2 * w->n);
    for (int k = 0; k < 2 * w->n; k++)
        results[k] = result.v[k % w->n];
    if (!b_place(inner.b, OP_return, results, 2 * w->n, 0, NULL) || !b_infer(l->b, s))
        return false;
    for (int k = 0; k < w->n; k++)
        results[k] = as_given(l, w, k, s->out[w->n + k]);
    return h_done_all(l, results, w->n);
}

static bool running(struct hlo_lower *l, const struct dynamic_window *w, int axis, bool down)
{
    const char *name = h_combine_name(w->c);
    double first;
    bool sum = name && !strcmp(name, "add"), product = name && !strcmp(name, "mul");
    struct attrs a = {0};
    if (w->n == 1 && (sum || product) && h_known(h_in(l, 1), &first) && first == product) {
        if (down)
            h_set_int(l, &a, "reverse", 1);
        struct value *in[] = {h_in(l, 0), b_scalar(l->b, DT_I64, axis)};
        return h_done(l, as_given(l, w, 0, b_op(l->b, sum ? OP_cumsum : OP_cumprod, in, 2, &a)));
    }
    return scan(l, w, axis, down);
}

/* ---- running reductions whose length only running tells ---- */

/* An element of a list: a size, or the scalar that will hold it. */
struct part {
    dim_t size;
    struct value *open; /* NULL: `size` is known */
};

/* Elements of a list put together from known ones and scalars; how many, -1 when it is of another kind. Lists of lists
 * of pairs are what exporters write, files may nest any number. */
static int parts(struct hlo_lower *l, struct value *x, struct part *p, int room, int depth)
{
    enum { MAX_DEPTH = 8 };
    while (x && !x->constant && x->content.n < 0 && x->def &&
           (x->def->op == OP_reshape || x->def->op == OP_identity || x->def->op == OP_cast))
        x = x->def->in[0];
    if (!x || x->type.rank < 0 || depth > MAX_DEPTH)
        return -1;
    bool known = x->constant || x->content.n >= 0;
    if (!known && x->def && x->def->op == OP_concat && attr_int(&x->def->attrs, "axis", 0) == 0) {
        int n = 0;
        for (int k = 0, m; k < x->def->nin; k++, n += m)
            if ((m = parts(l, x->def->in[k], p + n, room - n, depth + 1)) < 0)
                return -1;
        return n;
    }
    int64_t n = known && x->constant ? tensor_count(x->constant) : known ? x->content.n : 1;
    for (int k = 0; !known && k < x->type.rank; k++)
        n = x->type.dims[k] == 1 ? n : -1;
    if (n < 0 || n > room)
        return -1;
    for (int k = 0; k < n; k++)
        p[k] = !known        ? (struct part){0, x}
               : x->constant ? (struct part){tensor_i64(x->constant, k), NULL}
                             : (struct part){x->content.v[k], NULL};
    return (int)n;
}

static bool all_parts(const struct part *p, int n, dim_t size)
{
    for (int k = 0; k < n; k++)
        if (p[k].open || p[k].size != size)
            return false;
    return true;
}

struct open_window {
    int axis;
    bool down;
    struct value *size, *lead; /* as long as dimension `axis`, and one less: checked while running */
};

static struct value *scalar_of(struct hlo_lower *l, const struct part *p)
{
    struct value *x = p->open ? p->open : h_dims(l, &p->size, 1);
    return h_reshape(l, h_cast(l, x, DT_I64), (int64_t[]){1}, 1);
}

static bool open_window(struct hlo_lower *l, const struct dynamic_window *w, struct open_window *o)
{
    struct part sizes[HLO_MAX_RANK], ones[HLO_MAX_RANK], pads[2 * HLO_MAX_RANK];
    int at = 2 * w->n;
    if (parts(l, h_in(l, at + SIZES), sizes, w->rank, 0) != w->rank ||
        parts(l, h_in(l, at + PADS), pads, 2 * w->rank, 0) != 2 * w->rank)
        return false;
    for (int k = STRIDES; k < PADS; k++)
        if (parts(l, h_in(l, at + k), ones, w->rank, 0) != w->rank || !all_parts(ones, w->rank, 1))
            return false;
    o->axis = -1;
    for (int k = 0; k < w->rank; k++) {
        if (all_parts(&sizes[k], 1, 1) && all_parts(&pads[2 * k], 2, 0))
            continue;
        if (o->axis >= 0)
            return false;
        o->axis = k;
    }
    if (o->axis < 0)
        return false;
    const struct part *low = &pads[2 * o->axis], *high = low + 1;
    o->down = all_parts(low, 1, 0);
    if (!o->down && !all_parts(high, 1, 0))
        return false;
    o->size = scalar_of(l, &sizes[o->axis]);
    o->lead = scalar_of(l, o->down ? high : low);
    return true;
}

/* Array k as it is; running fails unless the window is as long as its dimension and one less is padded. */
static struct value *as_long(struct hlo_lower *l, const struct dynamic_window *w, const struct open_window *o, int k)
{
    struct value *x = h_in(l, k), *shape[HLO_MAX_RANK];
    struct attrs a = {0};
    for (int j = 0; j < w->rank; j++)
        shape[j] = h_dims(l, &x->type.dims[j], 1);
    struct value *apart = b_1(l->b, OP_abs, b_sub(l->b, b_sub(l->b, o->size, o->lead), b_scalar(l->b, DT_I64, 1)));
    shape[o->axis] = b_add(l->b, o->size, b_2(l->b, OP_mul, apart, shape[o->axis]));
    h_set_int(l, &a, "allowzero", 1);
    return b_op(l->b, OP_reshape, (struct value *[]){x, h_concat(l, shape, w->rank, 0)}, 2, &a);
}

static bool open_running(struct hlo_lower *l, const struct dynamic_window *w)
{
    struct hlo_lower inner = *l;
    struct open_window o;
    if (!hlo_admits_vectors(w->c) || !open_window(l, w, &o))
        return !diag_failed(l->b->d) && hlo_open_windows(l, w->c);
    inner.operands = ARENA_ARRAY(&l->b->g->arena, struct leaves, l->i->operand_count);
    for (int k = 0; k < l->i->operand_count; k++) {
        inner.operands[k] = l->operands[k];
        if (k < w->n) {
            inner.operands[k].v = ARENA_ARRAY(&l->b->g->arena, struct value *, 1);
            inner.operands[k].v[0] = as_long(l, w, &o, k);
        }
    }
    return !diag_failed(l->b->d) && running(&inner, w, o.axis, o.down);
}

/* x..., first values..., sizes, strides, base dilations, dilations, paddings (rank,2) */
bool hlo_dynamic_reduce_window(struct hlo_lower *l)
{
    struct dynamic_window w = {0};
    bool down = false;
    if (!read_window(l, &w))
        return false;
    if (w.unknown)
        return open_running(l, &w);
    bool fixed = all_known(w.v[SIZES], w.rank) && all_known(w.v[STRIDES], w.rank) &&
                 all_known(w.v[BASE], w.rank) && all_known(w.v[DILATIONS], w.rank);
    if (fixed && (is_static(&w) || all_ones(w.v[BASE], w.rank)))
        return fixed_windows(l, &w);
    int axis = w.pads_known && hlo_admits_vectors(w.c) ? running_axis(l, &w, &down) : -1;
    return axis >= 0 ? running(l, &w, axis, down) : hlo_open_windows(l, w.c);
}
