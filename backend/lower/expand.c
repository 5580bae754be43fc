/*
 * Composite instructions of target `cpu` as sequences for machines that lack them: softmax and
 * layer_norm, over rows.
 */
#include "backend/lower/stage.h"

struct expander {
    struct program *p;
    struct kernel *k;
    const struct insn *from;
};

static struct insn *add(struct expander *e, enum opcode op, struct ap dst, struct ap src)
{
    struct insn *n = kernel_add(e->p, e->k, op);
    n->node = e->from->node;
    n->ap[0] = dst, n->ap[1] = src;
    return n;
}

/* A tile in f32 for the dims of `like`; `per_row`: one element where `like` has its last dim. */
static struct ap tile(struct expander *e, const struct ap *like, bool per_row)
{
    struct ap a = {.mem = MEM_SBUF, .dtype = DT_F32, .rank = like->rank};
    dim_t elements = 1;
    for (int i = like->rank - 1; i >= 0; i--) {
        a.dim[i] = like->dim[i];
        if (per_row && i == like->rank - 1)
            a.dim[i] = (struct ap_dim){.count = 1};
        a.dim[i].step = elements;
        elements = dim_mul(&e->p->dims, elements, a.dim[i].count);
    }
    const struct tile *t = &e->k->tiles[like->tensor];
    bool spread = like->rank > 1 && t->partitions == like->dim[0].count;
    ARENA_GROW(&e->p->arena, e->k->tiles, e->k->ntiles, e->k->tiles_cap);
    t = NULL;
    e->k->tiles[e->k->ntiles] = (struct tile){MEM_SBUF, DT_F32, spread ? a.dim[0].count : 1,
                                              spread ? a.dim[0].step : elements, -1};
    a.tensor = e->k->ntiles++;
    return a;
}

/* A per-row tile read once for every element of the rows. */
static struct ap along(struct ap row, const struct ap *like)
{
    row.dim[row.rank - 1] = like->dim[like->rank - 1];
    row.dim[row.rank - 1].step = 0;
    return row;
}

static void activation(struct expander *e, enum op f, struct ap dst, struct ap src,
                       const struct ap *bias, float factor)
{
    struct insn *n = add(e, INSN_activation, dst, src);
    if (bias)
        n->ap[3] = *bias;
    n->flt[0] = factor;
    n->func[0] = (uint16_t)f;
}

static void scalar(struct expander *e, enum op f, struct ap dst, struct ap src, float x)
{
    struct insn *n = add(e, INSN_tensor_scalar, dst, src);
    n->flt[0] = x;
    n->func[0] = (uint16_t)f, n->func[1] = OP_identity;
}

static void both(struct expander *e, enum op f, struct ap dst, struct ap a, struct ap b)
{
    struct insn *n = add(e, INSN_tensor_tensor, dst, a);
    n->ap[2] = b;
    n->func[0] = (uint16_t)f;
}

static void reduce(struct expander *e, enum op f, struct ap row, struct ap src, float scale)
{
    row.rank -= row.rank > 1; /* of rows, without the reduced dim */
    struct insn *n = add(e, INSN_tensor_reduce, row, src);
    n->imm[0].base = 1;
    n->flt[0] = scale;
    n->func[0] = (uint16_t)f;
}

static void softmax(struct expander *e)
{
    const struct insn *s = e->from;
    struct ap dst = s->ap[0], src = s->ap[1], most = tile(e, &src, true), sum = tile(e, &src, true);
    struct ap exps = tile(e, &src, false), biased = along(most, &src), sums = along(sum, &src);
    float factor = s->flt[0];
    bool logarithm = s->imm[0].base != 0;
    reduce(e, factor < 0 ? OP_min : OP_max, most, src, 1);
    scalar(e, OP_mul, most, most, -factor);
    activation(e, OP_exp, exps, src, &biased, factor);
    reduce(e, OP_add, sum, exps, 1);
    if (logarithm) {
        activation(e, OP_log, sum, sum, NULL, 1);
        both(e, OP_sub, sum, most, sum);
        activation(e, OP_identity, dst, src, &sums, factor);
    } else {
        activation(e, OP_reciprocal, sum, sum, NULL, 1);
        both(e, OP_mul, dst, exps, sums);
    }
}

static void layer_norm(struct expander *e)
{
    const struct insn *s = e->from;
    struct ap dst = s->ap[0], src = s->ap[1], mean = tile(e, &src, true),
              scale = tile(e, &src, true);
    struct ap work = tile(e, &src, false), x = work, means = along(mean, &src),
              scales = along(scale, &src);
    dim_t n = src.dim[src.rank - 1].count;
    if (s->imm[0].base) {
        activation(e, OP_square, work, src, NULL, 1);
        reduce(e, OP_add, scale, work, 1.0f / (float)n);
        x = src;
    } else {
        struct ap m = mean, v = scale;
        m.rank -= m.rank > 1, v.rank -= v.rank > 1;
        struct insn *stats = kernel_add(e->p, e->k, INSN_bn_stats);
        stats->node = s->node;
        stats->ap[0] = m, stats->ap[1] = v, stats->ap[2] = src;
        both(e, OP_sub, work, src, means);
    }
    scalar(e, OP_add, scale, scale, s->flt[0]);
    activation(e, OP_rsqrt, scale, scale, NULL, 1);
    bool gamma = s->ap[2].mem != MEM_NONE, beta = s->ap[3].mem != MEM_NONE;
    both(e, OP_mul, gamma || beta ? work : dst, x, scales);
    if (gamma)
        both(e, OP_mul, beta ? work : dst, work, s->ap[2]);
    if (beta)
        both(e, OP_add, dst, work, s->ap[3]);
}

bool expand_insn(struct program *p, struct kernel *k, const struct insn *insn)
{
    struct expander e = {p, k, insn};
    if (insn->op == INSN_softmax)
        softmax(&e);
    else if (insn->op == INSN_layer_norm)
        layer_norm(&e);
    else
        return false;
    return true;
}
