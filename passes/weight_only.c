/*
 * pass weight_only: a product of computed rows by a constant matrix of 8 bits or fewer that is
 * dequantised first becomes weight_only_matmul, so that the archive holds the integers and running
 * reads them. Scales belong to the tensor, to an out, or to a block of k of an out.
 *
 * The other way round for strict targets, whose engines multiply floats.
 */
#include "passes/build.h"
#include "passes/match.h"
#include "passes/rewrite.h"

#include <string.h>

enum { FEWEST = 1024 }; /* smaller matrices are folded */

static bool few_bits(int dtype)
{
    return dtype == DT_U8 || dtype == DT_I8 || dtype == DT_U4 || dtype == DT_I4 || dtype == DT_U2 ||
           dtype == DT_I2;
}

static bool is_weights(const struct node *n)
{
    const struct value *w = n->in[0], *zero = n->nin > 2 ? n->in[2] : NULL;
    return n->op == OP_dequantize_linear && w->constant && n->in[1]->constant &&
           (!zero || zero->constant) && w->type.rank == 2 && few_bits(w->type.dtype) &&
           dtype_is_float(n->in[1]->type.dtype) && tensor_count(w->constant) >= FEWEST;
}

/* Rows are f32 and not dequantised themselves: such products are pass quantize's. */
static bool takes_rows(const struct value *x)
{
    return x->type.kind == VK_TENSOR && x->type.rank >= 2 && x->type.dtype == DT_F32 &&
           !x->constant && !made_by(x, OP_dequantize_linear);
}

static bool only_products(const struct value *v, bool transposes)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct node *n = u->node;
        if (transposes && n->op == OP_transpose) {
            if (!only_products(n->out[0], false))
                return false;
        } else if ((n->op != OP_matmul && n->op != OP_gemm) || u->index != 1 ||
                   !takes_rows(n->in[0])) {
            return false;
        }
    }
    return v->uses != NULL;
}

bool is_weight_only_weight(const struct options *o, const struct node *n)
{
    return o->opt_level > 0 && !o->strict_target && n->op == OP_dequantize_linear &&
           is_weights(n) && n->out[0]->type.dtype == DT_F32 && only_products(n->out[0], true);
}

/* The scale or zero point as f32 (blocks, output channels) or, transposed, (output channels, blocks). */
static struct value *per_block(struct rewriter *c, const struct value *v, bool transposed,
                               int64_t blocks, int64_t out_channels)
{
    const struct tensor *t = v->constant;
    int64_t n = blocks * out_channels, count = tensor_count(t);
    int64_t dims[] = {transposed ? out_channels : blocks, transposed ? blocks : out_channels};
    double *x = ARENA_ARRAY(&c->g->arena, double, n);
    if (count != 1 && count != n)
        return NULL;
    for (int64_t i = 0; i < n; i++)
        x[i] = tensor_f64(t, count == 1 ? 0 : i);
    return constant_floats(c->g, DT_F32, 2, dims, x, v->name);
}

static bool convert_product(struct rewriter *c, struct node *n)
{
    struct builder b = builder_before(n, c->d);
    struct value *w = n->in[1];
    bool transposed = attr_int(&n->attrs, "trans_b", 0) != 0;
    struct node *t = made_by(w, OP_transpose);
    if (t) { /* of two dims: whatever it says, it exchanges them, or does nothing */
        int count;
        const int64_t *perm = attr_ints(&t->attrs, "perm", &count);
        transposed ^= !perm || (count == 2 && perm[0] == 1);
        w = t->in[0];
    }
    struct node *real = made_by(w, OP_dequantize_linear);
    if (!real || !is_weights(real) || !takes_rows(n->in[0]) || n->out[0]->type.dtype != DT_F32 ||
        attr_int(&n->attrs, "trans_a", 0) || attr_float(&n->attrs, "alpha", 1) != 1)
        return true;
    const int64_t *dims = real->in[0]->constant->dims;
    int64_t k = dims[transposed], out_channels = dims[!transposed],
            axis = attr_int(&real->attrs, "axis", 1);
    int64_t block = attr_int(&real->attrs, "block_size", 0);
    axis += axis < 0 ? 2 : 0;
    bool single = tensor_count(real->in[1]->constant) == 1;
    bool along_k = axis == transposed;
    if (block ? !along_k : along_k && !single) {
        why(c->o, n, "weight_only.axis", "scales do not belong to output channels or to blocks of k");
        return true;
    }
    int64_t blocks = block && !single ? (k + block - 1) / block : 1;
    struct value *zero = real->nin > 2 ? real->in[2] : NULL;
    struct value *in[] = {n->in[0], real->in[0],
                          per_block(c, real->in[1], transposed, blocks, out_channels), NULL};
    if (zero)
        in[3] = per_block(c, zero, transposed, blocks, out_channels);
    if (!in[2] || (zero && !in[3]))
        return true;
    struct attrs a = {0};
    if (blocks > 1)
        attr_set_int(&c->g->arena, &a, "block_size", block);
    if (transposed)
        attr_set_int(&c->g->arena, &a, "trans_b", 1);
    struct value *y = b_op(&b, OP_weight_only_matmul, in, zero ? 4 : 3, &a);
    if (!y)
        return false;
    why(c->o, n, "weight_only.product", "its weights stay integers");
    return node_replace(n, y);
}

/* x, f32 (..., k), with each block of k as whole numbers of its largest magnitude / 127 (row_bits 8; weight_only_scale
 * of neff/isa/pack.h has the same for the CPU). */
static struct value *rounded_rows(struct builder *b, struct value *x, int64_t k, int64_t block)
{
    int rank = x->type.rank;
    int64_t blocks = (k + block - 1) / block, pads[2 * MAX_RANK] = {0};
    int64_t split[MAX_RANK + 1] = {0}, joined[MAX_RANK] = {0};
    pads[2 * rank - 1] = blocks * block - k;
    struct value *whole = x, *in[] = {x, b_i64s(b, pads, 2 * rank)};
    if (k % block)
        whole = b_op(b, OP_pad, in, 2, NULL);
    split[rank - 1] = blocks, split[rank] = block, joined[rank - 1] = blocks * block; /* 0: the dim of the operand */
    whole = b_reshape_to(b, whole, split, rank + 1);
    struct value *largest = b_reduce(b, OP_reduce_max, b_1(b, OP_abs, whole), (int64_t[]){-1}, 1, true);
    struct value *scale = b_div(b, largest, b_scalar(b, DT_F32, 127)), *none = b_scalar(b, DT_F32, 0);
    struct value *tiny = b_2(b, OP_lt, scale, b_scalar(b, DT_F32, 0x1p-126)), *one = b_scalar(b, DT_F32, 1);
    struct value *factor = b_select(b, tiny, none, b_div(b, one, b_select(b, tiny, one, scale)));
    struct value *q = b_1(b, OP_round, b_mul(b, whole, factor));
    struct value *y = b_reshape_to(b, b_mul(b, q, b_select(b, tiny, none, scale)), joined, rank);
    return k % block ? b_slice(b, y, 0, k, -1) : y;
}

/* weight_only_matmul as a product of floats. */
static bool expand(struct rewriter *c, struct node *n)
{
    struct value *zero = n->nin > 3 ? n->in[3] : NULL, *w = n->in[1];
    if (!n->in[2]->constant || !w->constant)
        return true;
    bool transposed = attr_int(&n->attrs, "trans_b", 0) != 0;
    int64_t k = w->constant->dims[transposed], out_channels = w->constant->dims[!transposed];
    int64_t block = attr_int(&n->attrs, "block_size", 0), blocks;
    if (block <= 0 || block > k)
        block = k ? k : 1;
    blocks = (k + block - 1) / block;
    double centre = attr_float(&n->attrs, "zero_point", 0);
    int64_t count = tensor_count(w->constant), scales = tensor_count(n->in[2]->constant);
    if (scales != blocks * out_channels || (zero && tensor_count(zero->constant) != scales))
        return true;
    double *v = constant_doubles(c->g, w);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = transposed ? i % k : i / out_channels, out = transposed ? i / k : i % out_channels;
        int64_t s = transposed ? out * blocks + at / block : at / block * out_channels + out;
        v[i] = (v[i] - (zero ? tensor_f64(zero->constant, s) : centre)) *
               tensor_f64(n->in[2]->constant, s);
    }
    struct attrs a = {0};
    struct builder b = builder_before(n, c->d);
    struct value *x = n->in[0];
    int dtype = n->out[0]->type.dtype;
    if (attr_int(&n->attrs, "row_bits", 0) == 8 && k > 0)
        x = rounded_rows(&b, b_cast(&b, x, DT_F32), k, block);
    x = b_cast(&b, x, dtype);
    if (!x)
        return false;
    if (transposed)
        attr_set_int(&c->g->arena, &a, "trans_b", 1);
    struct value *in[] = {x, constant_floats(c->g, dtype, 2, w->constant->dims, v, w->name)};
    struct value *y = b_op(&b, OP_matmul, in, 2, &a);
    if (!y)
        return false;
    return node_replace(n, y);
}

static bool visit(struct node *n, void *user)
{
    struct rewriter *c = user;
    if (n->op == OP_weight_only_matmul && c->o->strict_target)
        return expand(c, n);
    if (n->op == OP_matmul && !c->o->strict_target)
        return convert_product(c, n);
    return true;
}

bool pass_weight_only(struct graph *g, const struct options *o, struct diag *d)
{
    struct rewriter c = {g, o, d};
    if (!for_each_node(g->main, visit, &c))
        return false;
    remove_dead(g);
    return true;
}
