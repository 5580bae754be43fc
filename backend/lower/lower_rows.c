/*
 * Softmax and the normalisations that have statistics per row, with an epilogue.
 */
#include "backend/lower/norm.h"
#include "backend/lower/plan.h"
#include "passes/match.h"

static bool plain_types(struct lowering *l, const struct node *n)
{
    for (int i = 0; i < n->nin; i++) {
        struct value *v = outer_value(l, n->in[i]);
        if (v && (!has_layout(l, v) || !dtype_is_engine_float(v->type.dtype))) {
            why(l->o, n, "tile.row-types",
                "operand %d is no f32, bf16 or f16 tensor of known shape; it runs on GpSimd", i);
            return false;
        }
    }
    for (int i = 1; i < n->nout; i++)
        if (n->out[i]->uses) {
            why(l->o, n, "tile.row-results",
                "result %d is used, which no tile program computes; it runs on GpSimd", i);
            return false;
        }
    return has_layout(l, n->out[0]) && dtype_is_engine_float(n->out[0]->type.dtype);
}

static bool axis_of(const struct node *n, int *axis)
{
    int64_t a = attr_int(&n->attrs, "axis", -1), rank = n->in[0]->type.rank;
    a += a < 0 ? rank : 0;
    *axis = (int)a;
    return rank > 0 && a >= 0 && a < rank;
}

static bool epilogue_covers(struct lowering *l, const struct group *g, const struct rows *r)
{
    struct epilogue e = {0};
    rows_covers(r, &e);
    return g->n == 1 || epilogue_fits(l, g, e.covers, e.ncovers);
}

static void account(struct kernel_builder *k, const struct group *g, int flops)
{
    struct dim_table *t = &k->p->dims;
    dim_t n = type_count(t, &g->nodes[0]->out[0]->type);
    kernel_of(k)->flops = dim_mul(t, n, flops + g->n);
    kernel_of(k)->bytes = dim_mul(t, n, 8);
}

/* A kernel over rows of a node's operand 0, with the group's epilogue. */
struct row_kernel {
    struct kernel_builder k;
    struct epilogue e;
    struct ap dst, src;
};

static void begin_rows(struct lowering *l, struct node *n, struct group *g, struct rows *r,
                       struct row_kernel *x)
{
    x->k = begin_kernel(l, n, n->name);
    rows_grid(r, &x->k);
    x->dst = rows_result(&x->k, g, r, &x->e);
    x->src = rows_dense(l, r, value_slot(l, n->in[0]));
}

const void *plan_softmax(struct lowering *l, const struct group *g)
{
    const struct node *n = g->nodes[0];
    int axis;
    if (!plain_types(l, n) || !axis_of(n, &axis))
        return NULL;
    struct rows r = rows_of(l, &n->out[0]->type, axis, axis);
    return rows_have_room(l, n, r.n) && epilogue_covers(l, g, &r) ? arena_copy(&l->g->arena, &r, sizeof r) : NULL;
}

enum lowered lower_softmax(struct lowering *l, struct node *whole)
{
    struct group g = group_of(l, whole);
    struct node *n = g.nodes[0];
    struct rows r = *(const struct rows *)decision_of(l, whole)->plan;
    struct row_kernel x;
    begin_rows(l, n, &g, &r, &x);
    emit_softmax(&x.k, (struct softmax){
                           .dst = x.dst, .src = x.src, .log = n->op == OP_log_softmax, .factor = 1});
    rows_finish(&x.e, x.dst);
    account(&x.k, &g, 20);
    return LOWERED;
}

static struct ap optional_pattern(struct lowering *l, const struct rows *r, struct value *v)
{
    dim_t steps[MAX_RANK];
    if (!v)
        return ap_absent();
    rows_steps(l, r, v, steps);
    return rows_pattern(l, r, value_slot(l, v), steps);
}

static bool all_ones(const struct value *v)
{
    double x;
    return constant_number(v, &x) && x == 1;
}

void norm_tile(struct kernel_builder *k, struct group *g, struct rows *r, struct ap src)
{
    struct lowering *l = g->l;
    const struct node *n = g->nodes[0];
    struct epilogue e;
    struct ap dst = rows_result(k, g, r, &e);
    bool scaled = !l->m->strict || !all_ones(n->in[1]);
    struct ap gamma = optional_pattern(l, r, scaled ? n->in[1] : NULL),
              beta = optional_pattern(l, r, n->nin > 2 ? n->in[2] : NULL);
    emit_layer_norm(
        k, (struct layer_norm){.dst = dst,
                               .src = src,
                               .gamma = gamma,
                               .beta = beta,
                               .rms = n->op == OP_rms_norm,
                               .epsilon = (float)attr_float(&n->attrs, "epsilon", 1e-5)});
    rows_finish(&e, dst);
}

bool norm_takes(struct lowering *l, const struct group *g, struct rows *r)
{
    const struct node *n = g->nodes[0];
    dim_t steps[MAX_RANK];
    int axis;
    if (!plain_types(l, n) || !axis_of(n, &axis))
        return false;
    *r = rows_of(l, &n->out[0]->type, axis, n->in[0]->type.rank - 1);
    for (int i = 1; i < n->nin; i++)
        if (n->in[i] && !rows_steps(l, r, n->in[i], steps)) {
            why(l->o, n, "tile.norm-scale",
                "scale or bias does not lie along the rows; it runs on GpSimd");
            return false;
        }
    return rows_have_room(l, n, r->n) && epilogue_covers(l, g, r);
}

const void *plan_norm(struct lowering *l, const struct group *g)
{
    struct rows r;
    return norm_takes(l, g, &r) ? arena_copy(&l->g->arena, &r, sizeof r) : NULL;
}

enum lowered lower_norm(struct lowering *l, struct node *whole)
{
    struct group g = group_of(l, whole);
    const struct node *n = g.nodes[0];
    struct rows r = *(const struct rows *)decision_of(l, whole)->plan;
    rows_together(&r, l->m);
    struct kernel_builder k = begin_kernel(l, n, n->name);
    rows_grid(&r, &k);
    for (int i = 0; i == 0 || i < r.tiles; i++) {
        r.at = i * r.tile;
        norm_tile(&k, &g, &r, rows_dense(l, &r, value_slot(l, n->in[0])));
    }
    account(&k, &g, 8);
    return LOWERED;
}
