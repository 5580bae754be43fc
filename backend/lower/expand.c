/*
 * Composite instructions of target `cpu` as sequences for machines that lack them: softmax and
 * layer_norm, over rows.
 */
#include "backend/lower/stage.h"

/* A tile in f32 for the dims of `like`; `per_row`: one element where `like` has its last dim. */
static struct ap tile(struct kernel_builder *k, const struct ap *like, bool per_row)
{
    struct ap a = {.mem = MEM_SBUF, .dtype = DT_F32, .rank = like->rank};
    dim_t elements = 1;
    for (int i = like->rank - 1; i >= 0; i--) {
        a.dim[i] = like->dim[i];
        if (per_row && i == like->rank - 1)
            a.dim[i] = (struct ap_dim){.count = 1};
        a.dim[i].step = elements;
        elements = dim_mul(&k->p->dims, elements, a.dim[i].count);
    }
    const struct tile *t = &kernel_of(k)->tiles[like->tensor];
    bool spread = like->rank > 1 && t->partitions == like->dim[0].count;
    a.tensor = kernel_tile(k, MEM_SBUF, DT_F32, spread ? a.dim[0].count : 1,
                           spread ? a.dim[0].step : elements);
    return a;
}

/* A per-row tile read once for every element of the rows. */
static struct ap along(struct ap row, const struct ap *like)
{
    row.dim[row.rank - 1] = like->dim[like->rank - 1];
    row.dim[row.rank - 1].step = 0;
    return row;
}

static void apply(struct kernel_builder *k, enum op f, struct ap dst, struct ap src)
{
    emit_activation(k, (struct activation){.dst = dst, .src = src, .factor = 1, .f = f});
}

static void scalar(struct kernel_builder *k, enum op op, struct ap dst, struct ap src, float x)
{
    emit_tensor_scalar(k, (struct tensor_scalar){.dst = dst, .src = src, .scalar0 = x, .op0 = op});
}

static void both(struct kernel_builder *k, enum op op, struct ap dst, struct ap a, struct ap b)
{
    emit_tensor_tensor(k, (struct tensor_tensor){.dst = dst, .a = a, .b = b, .op = op});
}

/* A pattern of rows without the reduced dim. */
static struct ap of_rows(struct ap row)
{
    row.rank -= row.rank > 1;
    return row;
}

static void reduce(struct kernel_builder *k, enum op op, struct ap row, struct ap src)
{
    emit_tensor_reduce(k, (struct tensor_reduce){.dst = of_rows(row), .src = src, .axes = 1, .scale = 1, .op = op});
}

static void softmax(struct kernel_builder *k, const struct insn *n)
{
    struct ap dst = n->ap[AP(softmax, dst)], src = n->ap[AP(softmax, src)];
    struct ap max = tile(k, &src, true), sum = tile(k, &src, true), exps = tile(k, &src, false);
    struct ap biased = along(max, &src), sums = along(sum, &src);
    float factor = n->flt[FLT(softmax, factor)];
    reduce(k, factor < 0 ? OP_min : OP_max, max, src);
    scalar(k, OP_mul, max, max, -factor);
    emit_activation(k, (struct activation){
                           .dst = exps, .src = src, .bias = biased, .factor = factor, .f = OP_exp});
    reduce(k, OP_add, sum, exps);
    if (n->imm[IMM(softmax, log)].base) {
        apply(k, OP_log, sum, sum);
        both(k, OP_sub, sum, max, sum);
        emit_activation(
            k, (struct activation){.dst = dst, .src = src, .bias = sums, .factor = factor});
    } else {
        apply(k, OP_reciprocal, sum, sum);
        both(k, OP_mul, dst, exps, sums);
    }
}

/* dst = x * scale: the Scalar engine takes numbers of rows as they are, and has less to do than the Vector engine. */
static void by_rows(struct kernel_builder *k, struct ap dst, struct ap x, struct ap scale)
{
    emit_activation(
        k, (struct activation){.dst = dst, .src = x, .scale = scale, .factor = 1, .f = OP_identity});
}

/* dst = (x - mean) * scale. Not x * scale - mean * scale, which the Scalar engine has: where rows deviate little from
 * their mean, that is the difference of two large numbers, each rounded. */
static void centred_by_rows(struct kernel_builder *k, struct ap dst, struct ap x, struct ap mean, struct ap scale)
{
    emit_tensor_alu(
        k, (struct tensor_alu){.dst = dst, .src = x, .a = mean, .b = scale, .op0 = OP_sub, .op1 = OP_mul});
}

/* (x - mean) * scale, scale = 1 / sqrt(variance + epsilon): one instruction reads the row again. */
static void layer_norm(struct kernel_builder *k, const struct insn *n)
{
    struct ap dst = n->ap[AP(layer_norm, dst)], src = n->ap[AP(layer_norm, src)];
    struct ap gamma = n->ap[AP(layer_norm, gamma)], beta = n->ap[AP(layer_norm, beta)];
    bool rms = n->imm[IMM(layer_norm, rms)].base != 0, last = !gamma.mem && !beta.mem;
    struct ap scale = tile(k, &src, true), scales = along(scale, &src), mean = ap_absent();
    struct ap work = rms || !last ? tile(k, &src, false) : dst, normalised = last ? dst : work;
    float of_sum = 1;
    if (rms) {
        emit_activation(k, (struct activation){
                               .dst = work, .src = src, .sum = of_rows(scale), .factor = 1, .f = OP_square});
        of_sum = 1.0f / (float)src.dim[src.rank - 1].count;
    } else {
        mean = tile(k, &src, true);
        emit_bn_stats(
            k, (struct bn_stats){.mean = of_rows(mean), .variance = of_rows(scale), .src = src});
    }
    emit_tensor_scalar(k, (struct tensor_scalar){.dst = scale,
                                                 .src = scale,
                                                 .scalar0 = of_sum,
                                                 .scalar1 = n->flt[FLT(layer_norm, epsilon)],
                                                 .op0 = OP_mul,
                                                 .op1 = OP_add});
    apply(k, OP_rsqrt, scale, scale);
    if (rms)
        by_rows(k, normalised, src, scales);
    else
        centred_by_rows(k, normalised, src, along(mean, &src), scales);
    if (gamma.mem)
        both(k, OP_mul, beta.mem ? work : dst, work, gamma);
    if (beta.mem)
        both(k, OP_add, dst, work, beta);
}

bool expand_insn(struct kernel_builder *k, const struct insn *insn)
{
    if (insn->op == INSN_softmax)
        softmax(k, insn);
    else if (insn->op == INSN_layer_norm)
        layer_norm(k, insn);
    else
        return false;
    return true;
}
