/*
 * Attention on strict targets where the scores of all keys fit one bank of PSUM.
 *
 * No score leaves the chip, and none is rescaled. An instance takes several heads: they lie side by
 * side in memory where the transposes around attention are read and written through, so that a
 * partition's share of a transfer is that of all heads.
 */
#include "backend/lower/attention.h"
#include "backend/lower/product.h"
#include "backend/lower/stage.h"
#include "backend/lower/strict_product.h"

#include <float.h>

enum { MAX_HEADS = 12, MAX_BLOCKS = 4 };

/* The last dim lies side by side: rows are loaded as they are, the Tensor engine turns them. */
static bool lies_in_rows(const struct strided *s)
{
    return s->steps[s->rank - 1] == 1;
}

bool strict_attention_fits(const struct attention *a)
{
    const struct machine *m = a->l->m;
    return a->k.nparts == 1 && a->v.nparts == 1 && dim_is_const(a->keys) &&
           a->keys <= m->psum_bank / 4 && a->keys <= (dim_t)MAX_BLOCKS * m->partitions &&
           lies_in_rows(&a->q) && lies_in_rows(&a->k.part[0]) && lies_in_rows(&a->v.part[0]);
}

/* A third of SBUF for what is loaded, and for what is stored. */
int64_t strict_attention_heads(const struct attention *a, const struct type *y)
{
    const struct machine *m = a->l->m;
    dim_t count = a->nbatch ? y->dims[a->nbatch - 1] : 1;
    int64_t blocks = ceil_div(a->keys, m->partitions);
    int64_t bytes = 4 * ((1 + blocks) * a->width + (1 + blocks) * a->value_width);
    if (!dim_is_const(count))
        return 1;
    for (int64_t h = MAX_HEADS; h > 1; h--)
        if (count % h == 0 && h * bytes <= m->sbuf / 3)
            return h;
    return 1;
}

/* Rows by heads by columns. */
static void push_heads(const struct attention *a, struct ap *p, dim_t head_step, dim_t columns)
{
    if (a->heads > 1 && head_step != 0)
        ap_push(p, head_step, a->heads);
    ap_push(p, 1, columns);
}

static dim_t head_step(const struct attention *a, const dim_t *steps)
{
    return a->nbatch ? steps[a->nbatch - 1] : 0;
}

/* (rows, columns) of the head that is emitted. */
static struct ap of_head(const struct attention *a, struct ap rows)
{
    if (rows.rank < 3)
        return rows;
    rows.offset.base += a->head * rows.dim[1].step;
    rows.dim[1] = rows.dim[2];
    rows.rank = 2;
    return rows;
}

/* (rows, columns) of the head that is emitted and those after it, `count` in all, side by side in the tile. */
static struct ap of_heads(const struct attention *a, struct ap rows, int64_t count)
{
    struct ap all = of_head(a, rows);
    all.dim[1].count = count * all.dim[1].count;
    return all;
}

/* ---- operands ---- */

struct loaded_heads {
    struct ap queries, keys[MAX_BLOCKS], values[MAX_BLOCKS];
    int64_t block;
    int nblocks;
    int64_t group;         /* heads whose queries and keys are turned together */
    struct ap turned[2]; /* those of the group's queries and keys: (columns of each head, rows) */
};

/* As many heads as have their columns in the array's rows, each where an instruction may begin: at multiples of 32
 * partitions (rules.c). */
static int64_t turned_together(const struct attention *a, const struct loaded_heads *h)
{
    enum { START = 32 };
    int64_t array = a->l->m->matmul_k;
    bool apart = h->queries.rank < 3 || h->keys[0].rank < 3 || !dim_is_const(a->width) || a->width % START != 0 ||
                 a->width > array;
    return apart ? 1 : array / a->width;
}

static struct ap load_block(struct kernel_builder *k, const struct attention *a,
                            const struct attended *o, dim_t columns, int64_t first, int64_t count)
{
    const struct strided *s = &o->part[0];
    dim_t step = s->steps[s->rank - 2];
    struct ap rows = attention_operand(a->l, a, s, o->steps[0]);
    rows.offset.base = dim_add(&k->p->dims, rows.offset.base, dim_mul(&k->p->dims, step, first));
    ap_push(&rows, step, count);
    push_heads(a, &rows, head_step(a, o->steps[0]), columns);
    return stage_in(k, rows);
}

static void load_heads(struct kernel_builder *k, const struct attention *a, struct loaded_heads *h)
{
    struct ap q = attention_operand(a->l, a, &a->q, a->q_steps);
    ap_push_tile(k->p, &q, a->q.steps[a->q.rank - 2], a->tile, a->var_query, a->queries);
    push_heads(a, &q, head_step(a, a->q_steps), a->width);
    h->queries = stage_in(k, q);
    h->block = even_tile(a->keys, k->m->partitions);
    for (int64_t at = 0; at < a->keys; at += h->block) {
        int64_t count = a->keys - at < h->block ? a->keys - at : h->block;
        h->keys[h->nblocks] = load_block(k, a, &a->k, a->width, at, count);
        h->values[h->nblocks++] = load_block(k, a, &a->v, a->value_width, at, count);
    }
    h->group = turned_together(a, h);
}

/* (columns, rows) in SBUF from (rows, columns) there, side by side: through one bank of PSUM. */
static struct ap transposed(struct kernel_builder *k, const struct ap *rows, int n, int dtype)
{
    dim_t columns = rows[0].dim[1].count, total = 0;
    for (int i = 0; i < n; i++)
        total += rows[i].dim[0].count;
    int held = turned_type(rows[0].dtype);
    struct ap psum = ap_tile(k, kernel_tile(k, MEM_PSUM, held, columns, total));
    struct ap kept = ap_tile(k, kernel_tile(k, MEM_SBUF, dtype, columns, total));
    for (int i = 0, at = 0; i < n; at += (int)rows[i++].dim[0].count) {
        struct ap part = psum;
        part.offset.base += at;
        part.dim[1].count = rows[i].dim[0].count, part.dim[1].clip = rows[i].dim[0].clip;
        emit_nc_transpose(k, (struct nc_transpose){.dst = part, .src = rows[i]});
    }
    if (n == 1)
        psum.dim[1].clip = kept.dim[1].clip = rows[0].dim[0].clip;
    emit_tensor_copy(k, (struct tensor_copy){.dst = kept, .src = psum});
    return kept;
}

/* ---- one head ---- */

/* exp(score - largest of the row), rounded as the product takes them, and the sums of rows before that. */
static struct ap weights_of(struct kernel_builder *k, const struct attention *a,
                            struct ap products, struct ap total, int dtype)
{
    struct ap scores = attention_tile(k, a, MEM_SBUF, DT_F32, a->keys);
    struct ap top = attention_tile(k, a, MEM_SBUF, DT_F32, 1);
    attention_scores(k, a, scores, products);
    emit_tensor_reduce(
        k, (struct tensor_reduce){.dst = top, .src = scores, .axes = 1, .scale = -1, .op = OP_max});
    if (a->hidden_are_zero)
        emit_tensor_scalar(
            k, (struct tensor_scalar){.dst = top, .src = top, .scalar0 = FLT_MAX, .op0 = OP_min, .op1 = OP_identity});
    top.dim[1] = (struct ap_dim){.step = 0, .count = a->keys};
    struct ap weights = dtype == DT_F32 ? scores : attention_tile(k, a, MEM_SBUF, dtype, a->keys);
    attention_weights(k, weights, scores, top, total);
    return weights;
}

/* Queries and keys of the head that is emitted and of those that are turned with it. */
static void turn_group(struct kernel_builder *k, const struct attention *a, struct loaded_heads *h)
{
    struct ap rows[MAX_BLOCKS];
    int64_t left = a->heads - a->head, count = left < h->group ? left : h->group;
    rows[0] = of_heads(a, h->queries, count);
    h->turned[0] = transposed(k, rows, 1, h->queries.dtype);
    for (int i = 0; i < h->nblocks; i++)
        rows[i] = of_heads(a, h->keys[i], count);
    h->turned[1] = transposed(k, rows, h->nblocks, h->keys[0].dtype);
}

/* One head of what was turned. */
static struct ap turned_head(const struct attention *a, const struct loaded_heads *h, int which)
{
    struct ap one = h->turned[which];
    one.dim[0].count = a->width;
    one.offset.base += a->head % h->group * a->width * one.dim[0].step;
    return one;
}

static void emit_head(struct kernel_builder *k, const struct attention *a,
                      struct loaded_heads *h, struct ap result)
{
    struct ap products = attention_tile(k, a, MEM_PSUM, DT_F32, a->keys);
    struct ap total = attention_tile(k, a, MEM_SBUF, DT_F32, 1);
    struct ap sum = attention_tile(k, a, MEM_PSUM, DT_F32, a->value_width);
    if (a->head % h->group == 0)
        turn_group(k, a, h);
    emit_tile_product(k, products, turned_head(a, h, 0), turned_head(a, h, 1), affine_number(0));
    struct ap weights = weights_of(k, a, products, total, h->values[0].dtype);
    for (int i = 0; i < h->nblocks; i++) {
        struct ap part = weights;
        part.offset.base += i * h->block;
        part.dim[1].count = h->values[i].dim[0].count;
        part = transposed(k, &part, 1, h->values[0].dtype);
        emit_tile_product(k, sum, part, of_head(a, h->values[i]), affine_number(i > 0));
    }
    attention_divide(k, a, of_head(a, result), sum, total);
}

void emit_strict_attention(struct kernel_builder *k, struct attention *a)
{
    struct loaded_heads h = {0};
    struct ap y = attention_operand(a->l, a, &a->y, a->y.steps);
    ap_push_tile(k->p, &y, a->y.steps[a->y.rank - 2], a->tile, a->var_query, a->queries);
    if (a->heads > 1)
        ap_push(&y, head_step(a, a->y.steps), a->heads);
    ap_push(&y, a->y.steps[a->y.rank - 1], a->value_width);
    load_heads(k, a, &h);
    struct ap result = stage_tile(k, &y, MEM_SBUF, y.dtype);
    for (a->head = 0; a->head < a->heads; a->head++)
        emit_head(k, a, &h, result);
    stage_out(k, y, result);
}
