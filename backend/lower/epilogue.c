#include "backend/lower/epilogue.h"

#include <string.h>

bool joint_step(struct lowering *l, const dim_t *steps, const dim_t *dims, int first, int last,
                dim_t *out)
{
    dim_t step = 0, below = 1; /* `below`: elements of the dims after this one */
    bool any = false;
    for (int i = last; i >= first; i--) {
        if (dims[i] == 1)
            continue;
        if (!any) {
            step = steps[i];
            any = true;
        } else if (steps[i] != dim_mul(&l->p->dims, step, below)) {
            return false;
        }
        below = dim_mul(&l->p->dims, below, dims[i]);
    }
    *out = step;
    return true;
}

/* Whether the value, an operand from outside or a result, has one step along each cover. */
static bool operand_fits(struct lowering *l, const struct group *g, struct value *v,
                         const struct cover *c, int n)
{
    const struct type *t = &g->nodes[0]->out[0]->type;
    dim_t steps[MAX_RANK], unused;
    v = outer_value(l, v);
    if (!has_layout(l, v) || !broadcast_steps(l, v, t->rank, t->dims, steps))
        return false;
    for (int i = 0; i < n; i++)
        if (!joint_step(l, steps, t->dims, c[i].first, c[i].last, &unused))
            return false;
    return true;
}

bool epilogue_possible(struct lowering *l, const struct group *g, int joint_last)
{
    return epilogue_fits(l, g, &(struct cover){.first = 0, .last = joint_last}, 1);
}

bool epilogue_fits(struct lowering *l, const struct group *g, const struct cover *c, int ncovers)
{
    const struct type *t = &g->nodes[0]->out[0]->type;
    if (!expression_possible(l, g, 1))
        return false;
    for (int i = 0; i < g->nresults; i++)
        if (!operand_fits(l, g, g->results[i], c, ncovers))
            return false;
    for (int i = 1; i < g->n; i++) {
        const struct type *o = &g->nodes[i]->out[0]->type;
        if (o->rank != t->rank || memcmp(o->dims, t->dims, sizeof *t->dims * (size_t)t->rank))
            return false;
        for (int k = 0; k < g->nodes[i]->nin; k++) {
            struct value *v = g->nodes[i]->in[k];
            if (v && !group_def(g, v) && !operand_fits(l, g, v, c, ncovers))
                return false;
        }
    }
    return true;
}

bool epilogue_empty(const struct group *g)
{
    int t = g->nodes[0]->out[0]->type.dtype;
    return g->n == 1 && (t == DT_F32 || t == DT_I32);
}

/* Indices that a cover walks. */
static dim_t cover_count(struct epilogue *e, int i)
{
    struct dim_table *t = &e->k->p->dims;
    const struct cover *c = &e->covers[i];
    const struct pick *p = &e->picks[i];
    dim_t count = 1;
    for (int d = c->first; d <= c->last; d++)
        count = dim_mul(t, count, e->dims[d]);
    return p->stride ? dim_ceildiv(t, dim_sub(t, count, p->start), p->stride) : count;
}

static dim_t cover_every(const struct cover *c)
{
    return c->every ? c->every : c->tile;
}

void cover_clip(struct program *p, struct ap *a, int i, const struct cover *c, dim_t count)
{
    ap_clip(p, a, i, c->var, cover_every(c), dim_sub(&p->dims, count, c->at));
}

void cover_push(struct program *p, struct ap *a, const struct cover *c, dim_t step, dim_t count)
{
    struct dim_table *t = &p->dims;
    ap_push(a, step, c->tile);
    a->offset.base = dim_add(t, a->offset.base, dim_mul(t, step, c->at));
    if (c->var < 0)
        return;
    cover_clip(p, a, a->rank - 1, c, count);
    ap_move(p, a, c->var, dim_mul(t, cover_every(c), step));
}

struct space epilogue_space(struct epilogue *e)
{
    struct dim_table *t = &e->k->p->dims;
    struct space s = {0};
    for (int i = 0; i < e->ncovers; i++) {
        const struct cover *c = &e->covers[i];
        if (!c->tile)
            continue;
        s.dim[s.rank++] = (struct space_dim){c->tile, c->var, cover_every(c),
                                             dim_sub(t, cover_count(e, i), c->at)};
    }
    return s;
}

struct ap epilogue_pattern(void *user, struct value *v)
{
    struct epilogue *e = user;
    struct lowering *l = e->g->l;
    dim_t steps[MAX_RANK];
    v = outer_value(l, v);
    if (v == e->kept)
        return e->kept_at;
    broadcast_steps(l, v, e->rank, e->dims, steps);
    struct ap a = ap_slot(l->p, value_slot(l, v));
    for (int i = 0; i < e->ncovers; i++) {
        const struct cover *c = &e->covers[i];
        dim_t step = 0;
        joint_step(l, steps, e->dims, c->first, c->last, &step);
        if (e->picks[i].stride) {
            a.offset.base =
                dim_add(&l->p->dims, a.offset.base, dim_mul(&l->p->dims, step, e->picks[i].start));
            step = dim_mul(&l->p->dims, step, e->picks[i].stride);
        }
        if (c->tile)
            cover_push(l->p, &a, c, step, cover_count(e, i));
        else
            ap_move(l->p, &a, c->var, step);
    }
    return a;
}

struct ap epilogue_tile(struct epilogue *e, int dtype)
{
    struct space s = epilogue_space(e);
    return space_tile(&s, e->k, kernel_tile(e->k, MEM_SBUF, dtype, 1, space_count(e->k->p, &s)));
}

void epilogue_rest(struct epilogue *e, int taken, struct ap at)
{
    struct value *last = e->g->nodes[taken - 1]->out[0];
    bool store = group_is_result(e->g, last) && at.mem != MEM_HBM;
    if (taken == e->g->n && !store)
        return;
    struct expression x = {
        .k = e->k, .g = e->g, .space = epilogue_space(e), .pattern = epilogue_pattern, .user = e};
    x.given[0] = last;
    x.given_pattern[0] = at;
    x.ngiven = 1;
    if (store) /* seen outside too, perhaps in another type */
        emit_copy(e->k, epilogue_pattern(e, last), at);
    if (taken < e->g->n)
        expression_emit(&x, taken);
}

void epilogue_emit(struct epilogue *e, struct ap accumulator)
{
    epilogue_rest(e, 1, accumulator);
}
