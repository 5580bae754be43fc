#include "backend/lower/strict_bias.h"

#include "backend/lower/lazy_constants.h"
#include "backend/tile/bf16_parts.h"

static const char ones_name[] = "ones";

static bool is_row(const struct value *v, int64_t n)
{
    bool row = v->type.rank > 0 && v->type.dims[v->type.rank - 1] == n;
    for (int i = 0; i < v->type.rank - 1; i++)
        row &= v->type.dims[i] == 1;
    return row && v->type.dtype == DT_F32 && v->constant && v->constant->data;
}

static bool reads(const struct node *n, const struct value *v)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i] == v)
            return true;
    return false;
}

/* Whether weights, of which an instance has each once, take longer to come than it works with them, and the load that
 * is saved longer than the product that is added. All of an output channel, in ns. */
static bool is_worth_it(const struct machine *m, const struct strict_product *p, const struct product_part *x)
{
    const struct timing *t = machine_timing(m);
    double size = (double)dtype_bytes(x->b.dtype), passes = size > 2 ? 4 : 1;
    double rate = t->dma_engines * t->dma_engine_gbps;
    double pass = p->row_tiles / m->pe_ghz, product = pass * passes * (double)ceil_div(p->k, p->block);
    double weights = (double)p->k * size / rate, load = (double)p->row.tile * (double)sizeof(float) / rate;
    return x->packed && product < weights && pass < load;
}

const struct value *product_bias(struct lowering *l, const struct group *g, const struct strict_product *p,
                                 const struct product_part *x)
{
    if (g->n < 2 || g->nodes[1]->op != OP_add || p->turned || !p->unrolled || !is_worth_it(l->m, p, x))
        return NULL;
    const struct node *add = g->nodes[1];
    const struct value *sum = g->nodes[0]->out[0];
    int other = add->in[0] == sum;
    struct value *bias = outer_value(l, add->in[other]);
    if (add->in[!other] != sum || group_is_result(g, sum) || !is_row(bias, x->out_channels) ||
        !bf16_parts_exact(bias->constant->data, x->out_channels))
        return NULL;
    for (int i = 2; i < g->n; i++)
        if (reads(g->nodes[i], sum))
            return NULL;
    return bias;
}

/* ---- constants ---- */

static bool make_parts(const struct constant_maker *maker, int64_t piece, void *to)
{
    const struct tensor *from = ((const struct lazy_constant *)maker)->from->constant;
    int64_t n = tensor_count(from);
    for (int64_t i = 0; i < n; i++) {
        uint16_t part[BF16_PARTS];
        bf16_split(((const float *)from->data)[i], part);
        ((uint16_t *)to)[i] = part[piece];
    }
    return true;
}

static bool always(const struct lazy_constant *a, const struct lazy_constant *b)
{
    (void)a, (void)b;
    return true;
}

static int parts_slot(struct lowering *l, const struct value *bias, int64_t n)
{
    struct lazy_constant *c = ARENA_NEW(&l->g->arena, struct lazy_constant);
    *c = (struct lazy_constant){.maker.make = make_parts, .same = always};
    int64_t dims[] = {BF16_PARTS, n};
    struct tensor shape = tensor_view(DT_BF16, 2, dims, NULL);
    return lazy_constant(l, c, bias, BF16_PARTS, &shape, bias->name);
}

/* As many rows as parts, of ones; one for all products of as many rows. */
static int ones_slot(struct lowering *l, int64_t rows)
{
    for (int i = 0; i < l->p->nslots; i++)
        if (l->p->slots[i].name == ones_name && l->p->slots[i].data.dims[1] == rows)
            return i;
    int64_t dims[] = {BF16_PARTS, rows};
    uint16_t *data = ARENA_ARRAY(&l->p->arena, uint16_t, BF16_PARTS * rows);
    for (int64_t i = 0; i < BF16_PARTS * rows; i++)
        data[i] = f32_to_bf16(1);
    struct tensor t = tensor_view(DT_BF16, 2, dims, data);
    return constant_slot(l, &t, ones_name);
}

/* ---- the product ---- */

void emit_product_bias(struct kernel_builder *k, struct lowering *l, const struct value *bias,
                       const struct strict_product *p, const struct product_part *x, struct ap result)
{
    struct ap row = ap_slot(l->p, parts_slot(l, bias, x->out_channels));
    struct ap ones = ap_slot(l->p, ones_slot(l, p->row.tile));
    ap_push(&row, x->out_channels, BF16_PARTS);
    cover_push(l->p, &row, &x->out, 1, x->out_channels);
    ap_push(&ones, p->row.tile, BF16_PARTS), ap_push(&ones, 1, p->row.tile);
    row = stage_in(k, row), ones = stage_in(k, ones);
    cover_clip(l->p, &ones, 1, &p->row, p->rows);
    emit_tile_product(k, result, ones, row, affine_number(1));
}
