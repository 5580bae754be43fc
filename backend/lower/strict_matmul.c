/*
 * Matrix products on strict targets: any operands, computed or constant, with batch dims and an
 * epilogue, in which rows may be normalised; several products of the same rows as one kernel.
 */
#include "backend/lower/strict_matmul.h"

#include "backend/lower/norm.h"
#include "backend/lower/plan.h"
#include "backend/lower/product.h"
#include "backend/lower/reduce.h"
#include "backend/lower/strict_bias.h"

#include <string.h>

/* ---- what is taken ---- */

/* Steps along the result's batch dims, 0 where the operand broadcasts. */
static bool batch_steps(struct lowering *l, const struct value *v, const struct type *y,
                        dim_t *steps)
{
    dim_t dense[MAX_RANK];
    int missing = y->rank - v->type.rank;
    dense_steps(&l->p->dims, v->type.rank, v->type.dims, dense);
    for (int i = 0; i < y->rank - 2; i++) {
        dim_t have = i < missing ? 1 : v->type.dims[i - missing];
        if (have != 1 && have != y->dims[i])
            return false;
        steps[i] = have == 1 ? 0 : dense[i - missing];
    }
    return true;
}

static bool batch_covers(struct lowering *l, const struct group *g, const struct type *y,
                         struct strict_matmul *m)
{
    dim_t a[MAX_RANK], b[MAX_RANK];
    int n = y->rank - 2;
    if (!batch_steps(l, m->a, y, a) || !batch_steps(l, m->b, y, b))
        return false;
    m->p.row = (struct cover){.first = n, .last = n, .var = -1, .tile = 1};
    m->p.part[0].out = (struct cover){.first = n + 1, .last = n + 1, .var = -1, .tile = 1};
    if (m->b->type.rank == 2 && !m->trans_a &&
        epilogue_fits(l, g, &(struct cover){.first = 0, .last = n, .var = -1, .tile = 1}, 1)) {
        m->p.row.first = 0; /* all dims but the last are rows */
        return true;
    }
    struct cover all = cover_of(0, n - 1, -1, 0);
    if (n > 0 && joint_step(l, a, y->dims, 0, n - 1, &m->step_a[0]) &&
        joint_step(l, b, y->dims, 0, n - 1, &m->step_b[0]) && epilogue_fits(l, g, &all, 1)) {
        m->batch[m->nbatch++] = all;
        return true;
    }
    for (int i = 0; i < n && n <= 2; i++) {
        m->batch[m->nbatch] = cover_of(i, i, -1, 0);
        m->step_a[m->nbatch] = a[i], m->step_b[m->nbatch++] = b[i];
    }
    return n <= 2;
}

static bool examine(struct lowering *l, const struct group *g, struct strict_matmul *m)
{
    const struct node *n = g->nodes[0];
    const struct type *y = &n->out[0]->type;
    m->a = outer_value(l, n->in[0]), m->b = outer_value(l, n->in[1]);
    const struct type *a = &m->a->type, *b = &m->b->type;
    if (!has_layout(l, m->a) || !has_layout(l, m->b) || !has_layout(l, n->out[0]) ||
        !dtype_is_engine_float(a->dtype) || !dtype_is_engine_float(b->dtype) || !dtype_is_engine_float(y->dtype)) {
        why(l->o, n, "tile.matmul-operands",
            "not a product of f32, bf16 or f16 of known shape; it runs on GpSimd");
        return false;
    }
    if (a->rank < 2 || b->rank < 2 || (g->n > 1 && y->dtype != DT_F32)) {
        why(l->o, n, "tile.matmul-form", "a vector operand has no tile program; it runs on GpSimd");
        return false;
    }
    m->trans_a = attr_int(&n->attrs, "trans_a", 0) != 0;
    m->trans_b = attr_int(&n->attrs, "trans_b", 0) != 0;
    m->alpha = (float)attr_float(&n->attrs, "alpha", 1);
    m->p.k = a->dims[a->rank - (m->trans_a ? 2 : 1)];
    m->p.nparts = 1;
    m->p.part[0].out_channels = y->dims[y->rank - 1];
    m->p.part[0].follow = g->n;
    if (m->p.k != b->dims[b->rank - (m->trans_b ? 1 : 2)] || m->p.k == 0 ||
        !expression_possible(l, g, 1) || !batch_covers(l, g, y, m)) {
        why(l->o, n, "tile.matmul-shape",
            "its shape, or that of what follows it, has no tile program; it runs on GpSimd");
        return false;
    }
    m->p.rows = 1;
    for (int i = m->p.row.first; i <= m->p.row.last; i++)
        m->p.rows = dim_mul(&l->p->dims, m->p.rows, y->dims[i]);
    struct cover covers[] = {m->p.row, m->p.part[0].out, m->batch[0], m->batch[1]};
    return epilogue_fits(l, g, covers, 2 + m->nbatch);
}

static void steps_of_operands(struct strict_matmul *m)
{
    const struct type *a = &m->a->type, *b = &m->b->type;
    dim_t row_a = a->dims[a->rank - 1], row_b = b->dims[b->rank - 1];
    struct product_part *x = &m->p.part[0];
    m->p.a_k = m->trans_a ? row_a : 1;
    m->p.a_row = m->trans_a ? 1 : row_a;
    x->b_k = m->trans_b ? 1 : row_b;
    x->b_out = m->trans_b ? row_b : 1;
    x->b.dtype = b->dtype;
}

const struct strict_matmul *strict_matmul_takes(struct lowering *l, const struct group *g)
{
    struct strict_matmul m = {0};
    if (!examine(l, g, &m))
        return NULL;
    steps_of_operands(&m);
    return arena_copy(&l->g->arena, &m, sizeof m);
}

const struct strict_matmul *strict_matmul_of(const struct lowering *l, const struct node *n)
{
    const struct node *first = n->op == OP_fused ? n->regions[0]->first : n;
    return first->op == OP_matmul ? decision_of(l, n)->plan : NULL;
}

/* ---- one kernel ---- */

enum { MAX_GROUPS = MAX_MATRICES };

/* The groups that it computes: products of the same rows, and a normalisation of the last one's. */
struct job {
    struct lowering *l;
    struct node *whole;
    struct kernel_builder k;
    struct group groups[MAX_GROUPS];
    const struct strict_matmul *from[MAX_GROUPS];
    struct group norm; /* n 0: none */
    struct rows rows;  /* of it */
    struct value *sum; /* what it normalises */
    int kept;          /* tile of whole rows of that, -1 */
    struct strict_matmul m; /* of the first, with the parts of all */
};

/* What has channels over partitions, whatever the layout of its result in HBM. */
static bool has_channels_over_partitions(const struct lowering *l, const struct node *n)
{
    enum op op = n->op == OP_fused ? n->regions[0]->first->op : n->op;
    return decision_of(l, n)->plan &&
           (op == OP_conv || op == OP_average_pool || op == OP_max_pool || reduction_kind(op));
}

/* Whether the value, seen through views, is made as one column: k over partitions. */
static bool is_column(struct lowering *l, const struct value *v, dim_t k)
{
    while (v->def && op_infos[v->def->op].flags & OPF_VIEW)
        v = outer_value(l, v->def->in[0]);
    bool column = v->def && has_layout(l, v) && has_channels_over_partitions(l, v->def);
    for (int i = 0; column && i < v->type.rank; i++)
        column = v->type.dims[i] == 1 || v->type.dims[i] == k;
    return column;
}

static void find_groups(struct job *j, struct node *n)
{
    struct strict_product *p = &j->m.p;
    for (int parts = 0; n; n = decision_of(j->l, n)->next) {
        const struct strict_matmul *m = strict_matmul_of(j->l, n);
        struct group g = group_of(j->l, n);
        if (!m) {
            j->norm = g;
            j->sum = outer_value(j->l, g.nodes[0]->in[0]);
            break;
        }
        if (parts == 0)
            j->m = *m;
        p->part[parts] = m->p.part[0];
        j->groups[parts] = g, j->from[parts++] = m;
        p->nparts = parts;
    }
    p->whole = p->nparts > 1 || j->norm.n;
    p->turned = decision_of(j->l, j->whole)->turned;
    if (is_turned(j->l, j->m.a))
        p->a_k = p->rows, p->a_row = 1;
    p->columns = p->rows == 1 && j->m.nbatch == 0 && p->a_k == 1 && is_column(j->l, j->m.a, p->k);
}

/* After the tiles have sizes: weights are packed for them. */
static void operand_patterns(struct job *j)
{
    struct strict_product *p = &j->m.p;
    p->a = ap_slot(j->l->p, value_slot(j->l, j->m.a));
    for (int i = 0; i < p->nparts; i++) {
        struct product_part *x = &p->part[i];
        struct value *b = j->from[i]->b;
        x->packed = b->constant && b->type.rank == 2 && p->unrolled && dim_is_const(x->out_channels);
        x->b = ap_slot(j->l->p, x->packed ? packed_weights(j->l, p, x, b) : value_slot(j->l, b));
    }
}

/* Rows of the part's output channels at hand, in the tile that keeps whole rows. */
static struct ap kept_part(struct job *j, const struct strict_product *p, const struct product_part *x)
{
    struct ap a = {.mem = MEM_SBUF, .dtype = DT_F32, .tensor = j->kept};
    ap_push(&a, x->out_channels, p->row.tile), cover_clip(j->k.p, &a, 0, &p->row, p->rows);
    ap_push(&a, 1, x->out.tile), cover_clip(j->k.p, &a, 1, &x->out, x->out_channels);
    a.offset.base += x->out.at;
    return a;
}

/* All output channels of these rows are there. */
static void finish_rows(struct job *j, const struct strict_product *p, const struct epilogue *e)
{
    struct kernel_builder *k = &j->k;
    struct rows *r = &j->rows;
    r->var_outer = p->row.var, r->tile = p->row.tile, r->tiles = p->row_tiles, r->at = p->row.at;
    struct ap rows = rows_on_tile(k, r, j->kept);
    k->node = program_node_of(j->l, j->norm.nodes[0]);
    norm_tile(k, &j->norm, r, rows);
    if (j->l->is_output[j->sum->id] || !value_has_one_use(j->sum))
        emit_copy(k, rows_dense(j->l, r, value_slot(j->l, j->sum)), rows);
    k->node = program_node_of(j->l, e->g->nodes[0]);
}

/* What is done with a tile of the result. */
static void finish(void *user, const struct strict_product *p, int part, struct ap result)
{
    struct job *j = user;
    struct kernel_builder *k = &j->k;
    const struct product_part *x = &p->part[part];
    struct group *g = &j->groups[part];
    const struct type *y = &g->nodes[0]->out[0]->type;
    struct epilogue e = {.k = k, .g = g, .rank = y->rank, .ncovers = 2 + j->m.nbatch};
    memcpy(e.dims, y->dims, sizeof e.dims);
    e.covers[p->turned] = p->row, e.covers[!p->turned] = x->out;
    memcpy(&e.covers[2], j->m.batch, sizeof j->m.batch);
    if (j->norm.n) {
        if (x->out.at == 0)
            j->kept = kernel_tile(k, MEM_SBUF, DT_F32, p->row.tile, x->out_channels);
        e.kept = j->sum, e.kept_at = kept_part(j, p, x);
    }
    const struct value *bias = j->from[part]->alpha == 1 ? product_bias(j->l, g, p, x) : NULL;
    if (bias)
        emit_product_bias(k, j->l, bias, p, x, result);
    if (j->from[part]->alpha != 1) {
        struct space s = epilogue_space(&e);
        struct ap to = space_tile(&s, k, space_new_tile(k, &s, MEM_SBUF, DT_F32));
        emit_activation(k, (struct activation){.dst = to, .src = result, .factor = j->from[part]->alpha});
        result = to;
    }
    epilogue_rest(&e, bias ? 2 : 1, result);
    if (j->norm.n && x->out.at + x->out.tile >= x->out_channels)
        finish_rows(j, p, &e);
}

/* A grid variable for each batch cover; how many products there are. */
static dim_t batch_grid(struct kernel_builder *k, const struct type *y, struct strict_matmul *m)
{
    struct dim_table *t = &k->p->dims;
    dim_t batches = 1;
    for (int i = 0; i < m->nbatch; i++) {
        struct cover *c = &m->batch[i];
        dim_t count = 1;
        for (int d = c->first; d <= c->last; d++)
            count = dim_mul(t, count, y->dims[d]);
        c->var = kernel_grid(k, count);
        batches = dim_mul(t, batches, count);
        ap_move(k->p, &m->p.a, c->var, m->step_a[i]);
        ap_move(k->p, &m->p.part[0].b, c->var, m->step_b[i]);
    }
    return batches;
}

static void account(struct job *j, dim_t batches)
{
    struct dim_table *t = &j->l->p->dims;
    const struct strict_product *p = &j->m.p;
    dim_t out_channels = 0;
    for (int i = 0; i < p->nparts; i++)
        out_channels = dim_add(t, out_channels, p->part[i].out_channels);
    dim_t products = dim_mul(t, batches, dim_mul(t, p->rows, out_channels));
    kernel_of(&j->k)->flops = dim_mul(t, 2, dim_mul(t, products, p->k));
    dim_t weights = dim_mul(t, p->k, out_channels);
    dim_t moved = dim_mul(t, p->rows, dim_add(t, p->k, out_channels));
    dim_t operands = dim_add(t, moved, weights);
    kernel_of(&j->k)->bytes = dim_mul(t, 4, dim_mul(t, batches, operands));
}

enum lowered strict_matmul(struct lowering *l, struct node *whole)
{
    struct dim_table *t = &l->p->dims;
    struct job *j = ARENA_NEW(&l->p->arena, struct job);
    struct strict_product *p = &j->m.p;
    j->l = l, j->whole = whole;
    find_groups(j, whole);
    if (j->norm.n && !norm_takes(l, &j->norm, &j->rows))
        return DECLINED;
    if (!strict_product_tiles(l, p))
        return DECLINED;
    operand_patterns(j);
    const struct node *n = j->groups[0].nodes[0];
    j->k = begin_kernel(l, n, n->name);
    dim_t batches = batch_grid(&j->k, &n->out[0]->type, &j->m);
    int var = kernel_grid(&j->k, dim_ceildiv(t, p->part[0].out_channels, p->part[0].out.every));
    for (int i = 0; i < p->nparts; i++)
        p->part[i].out.var = var;
    p->row.var = kernel_grid(&j->k, dim_ceildiv(t, p->rows, p->row.every));
    strict_product_emit(&j->k, p, finish, j);
    account(j, batches);
    return LOWERED;
}
