#include "backend/lower/tail.h"

/* Whether v is a constant f32 vector over the channels, the dim so many before the last. */
static bool channel_vector(struct lowering *l, struct value *v, int64_t channels, int behind)
{
    v = outer_value(l, v);
    if (!v || !v->constant || v->type.dtype != DT_F32 || tensor_count(v->constant) != channels)
        return false;
    return channels == 1 || (v->type.rank > behind && v->type.dims[v->type.rank - 1 - behind] == channels);
}

static bool single(const struct group *g, const struct value *v)
{
    return group_single_use(g, v) && v->type.dtype == DT_F32;
}

static struct tail tail_of(struct lowering *l, const struct group *g, int64_t channels, int behind)
{
    struct tail t = {.f = OP_identity, .taken = 1};
    struct value *v = g->nodes[0]->out[0];
    if (t.taken < g->n && single(g, v) && g->nodes[1]->op == OP_add) {
        struct node *n = g->nodes[1];
        int other = n->in[0] == v ? 1 : 0;
        if (n->in[1 - other] == v && channel_vector(l, n->in[other], channels, behind)) {
            t.bias = n->in[other];
            v = n->out[0];
            t.taken++;
        }
    }
    if (t.taken < g->n && single(g, v) && g->nodes[t.taken]->in[0] == v) {
        const struct node *n = g->nodes[t.taken];
        static const enum op functions[] = {OP_relu, OP_silu, OP_hard_swish, OP_sigmoid,
                                            OP_gelu, OP_tanh, OP_clip};
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
            if (n->op == functions[i] && node_possible(l, n)) {
                t.f = n->op;
                activation_parameters(l, n, &t.a, &t.b);
                t.taken++;
                break;
            }
    }
    return t;
}

/* Whether the group ends by rounding to bf16 what its first `taken` nodes compute. */
static bool rounds(const struct group *g, int taken)
{
    const struct value *v = g->nodes[taken - 1]->out[0];
    return taken + 1 == g->n && g->nodes[taken]->op == OP_cast && g->nodes[taken]->in[0] == v &&
           single(g, v) && g->nodes[taken]->out[0]->type.dtype == DT_BF16;
}

struct tail depthwise_tail(struct lowering *l, const struct group *g, int64_t channels)
{
    struct tail t = tail_of(l, g, channels, 0);
    t.taken += rounds(g, t.taken);
    return t;
}

struct tail winograd_tail(struct lowering *l, const struct group *g, int64_t channels)
{
    struct tail t = tail_of(l, g, channels, 0);
    if (t.f != OP_identity && t.f != OP_relu && t.f != OP_clip)
        t.f = OP_identity, t.taken--; /* dearer ones go by whole rows */
    return t;
}

struct tail planes_tail(struct lowering *l, const struct group *g, int64_t channels)
{
    return tail_of(l, g, channels, g->nodes[0]->out[0]->type.rank - 2);
}
