#include "passes/size_sources.h"

/* Which operands say how large a result is: bits, of the first operand on. */
static const struct {
    enum op op;
    unsigned operands;
} sizes[] = {
    {OP_reshape, 1 << 1},
    {OP_expand, 1 << 1},
    {OP_broadcast_in_dim, 1 << 1},
    {OP_split, 1 << 1},
    {OP_slice, 1 << 1 | 1 << 2 | 1 << 4},
    {OP_pad, 1 << 1},
    {OP_tile, 1 << 1},
    {OP_constant_of_shape, 1 << 0},
    {OP_iota, 1 << 0},
    {OP_range, 1 << 0 | 1 << 1 | 1 << 2},
    {OP_resize, 1 << 2 | 1 << 3},
    {OP_one_hot, 1 << 1},
    {OP_topk, 1 << 1},
    {OP_random_normal, 1 << 0},
    {OP_random_uniform, 1 << 0},
    {OP_rng_bits, 1 << 1},
    {OP_hann_window, 1 << 0},
    {OP_hamming_window, 1 << 0},
    {OP_blackman_window, 1 << 0},
    {OP_mel_weight_matrix, 1 << 0 | 1 << 1},
    {OP_dft, 1 << 1},
    {OP_stft, 1 << 1 | 1 << 3},
    {OP_max_unpool, 1 << 2},
    {OP_affine_grid, 1 << 1},
    {OP_col2im, 1 << 1 | 1 << 2},
    {OP_center_crop_pad, 1 << 1},
    {OP_split_to_sequence, 1 << 1},
    {OP_loop, 1 << 0},
};

struct size_walk {
    bool *found; /* by value id */
    struct value **stack;
    int depth;
};

static void add(struct size_walk *w, struct value *v)
{
    if (!v || w->found[v->id])
        return;
    w->found[v->id] = true;
    w->stack[w->depth++] = v;
}

static bool add_sizes(struct node *n, void *user)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int k = 0; sizes[i].op == n->op && k < n->nin; k++)
            if (sizes[i].operands >> k & 1)
                add(user, n->in[k]);
    return true;
}

/* ---- through control flow ---- */

enum { LOOP_OWN = 2 }; /* the iteration and the condition come before what a loop carries */

static void add_operand(struct size_walk *w, const struct node *n, int k)
{
    if (k >= 0 && k < n->nin)
        add(w, n->in[k]);
}

static void add_result(struct size_walk *w, const struct region *r, int k)
{
    const struct node *ret = region_return(r);
    if (k >= 0 && ret)
        add_operand(w, ret, k);
}

/* A body's parameter: what it is at first and what an iteration leaves. Of a loop the operands are a trip count, a
 * condition and what is carried; its body returns a condition before that. */
static void add_parameter(struct size_walk *w, const struct value *v)
{
    const struct region *r = v->param_of;
    const struct node *owner = r->owner;
    if (!owner)
        return;
    if (owner->op == OP_loop && v->index == 0)
        return; /* the iteration's number */
    add_operand(w, owner, v->index);
    if (owner->op == OP_loop)
        add_result(w, r, v->index - 1);
    else
        add_result(w, owner->regions[owner->nregions - 1], v->index);
}

static void add_computed(struct size_walk *w, const struct value *v)
{
    const struct node *n = v->def;
    if (op_infos[n->op].flags & OPF_SHAPE_ONLY)
        return;
    if (!n->nregions)
        for (int k = 0; k < n->nin; k++)
            add(w, n->in[k]);
    for (int r = n->op == OP_while; r < n->nregions; r++)
        add_result(w, n->regions[r], v->index + (n->op == OP_loop));
    if (n->nregions && n->op != OP_if) /* no iteration: the result is what was carried in */
        add_operand(w, n, v->index + (n->op == OP_loop ? LOOP_OWN : 0));
}

const bool *size_sources(struct graph *g, struct arena *arena)
{
    struct size_walk w = {.found = ARENA_ARRAY(arena, bool, g->next_value + 1),
                          .stack = ARENA_ARRAY(arena, struct value *, g->next_value + 1)};
    region_walk(g->main, add_sizes, &w);
    while (w.depth > 0) {
        const struct value *v = w.stack[--w.depth];
        if (v->def)
            add_computed(&w, v);
        else if (v->param_of)
            add_parameter(&w, v);
    }
    return w.found;
}
