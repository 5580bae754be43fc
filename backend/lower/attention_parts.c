#include "backend/lower/attention.h"

#include "backend/lower/plan.h"
#include "backend/lower/states.h"

/* The attention that alone computes with what a concatenation along keys makes, or NULL. */
static const struct node *only_reader(struct lowering *l, const struct node *c)
{
    const struct node *reader = NULL;
    const struct value *v = c->out[0];
    int rank = v->type.rank;
    if (c->nin > MAX_PARTS || rank < 2 || !has_layout(l, v))
        return NULL;
    int64_t axis = attr_int(&c->attrs, "axis", 0);
    if (axis != rank - 2 && axis != -2)
        return NULL;
    for (const struct use *u = v->uses; u; u = u->next) {
        if (u->node == region_return(c->parent) || u->node->op == OP_shape)
            continue;
        if (reader || u->node->op != OP_sdpa || (u->index != 1 && u->index != 2) ||
            u->node->parent != c->parent)
            return NULL;
        reader = u->node;
    }
    for (int i = 0; i < c->nin; i++) {
        const struct value *x = outer_value(l, c->in[i]);
        if (!has_layout(l, x) || x->type.dtype != v->type.dtype || x->type.rank != rank)
            return NULL;
    }
    return reader;
}

/* Each instance has keys of its own: no dim of them is broadcast. */
bool read_in_parts(struct lowering *l, const struct node *n)
{
    const struct node *reader = only_reader(l, n);
    const struct type *x = &n->out[0]->type, *y = reader ? &reader->out[0]->type : NULL;
    if (!reader || x->rank != y->rank || !decision_of(l, reader)->plan ||
        !((const struct attention_plan *)decision_of(l, reader)->plan)->one_row)
        return false;
    for (int i = 0; i < y->rank - 2; i++)
        if (x->dims[i] != y->dims[i])
            return false;
    return true;
}

struct attended attended_operand(struct lowering *l, const struct node *n, int operand)
{
    const struct type *y = &n->out[0]->type;
    const struct node *c = outer_value(l, n->in[operand])->def;
    if (c && decision_of(l, c)->passage != READ_IN_PARTS)
        c = NULL;
    struct attended o = {.nparts = c ? c->nin : 1};
    dim_t at = 0;
    for (int i = 0; i < o.nparts; i++) {
        struct strided *s = &o.part[i];
        *s = strided_operand(l, c ? c->in[i] : n->in[operand]);
        strided_broadcast(l, s, 2, y->rank - 2, y->dims, o.steps[i]);
        o.at[i] = at;
        at = dim_add(&l->p->dims, at, s->dims[s->rank - 2]);
    }
    for (const struct use *u = c ? c->out[0]->uses : NULL; u; u = u->next)
        if (u->node != n)
            o.whole = c->out[0];
    return o;
}

void attended_append(struct lowering *l, struct kernel_builder *k, const struct attended *o, int nbatch,
                     const int *vars)
{
    dim_t steps[MAX_RANK];
    if (!o->whole)
        return;
    const struct type *t = &o->whole->type;
    value_steps(l, o->whole, steps);
    for (int i = 0; i < o->nparts; i++) {
        const struct strided *s = &o->part[i];
        dim_t rows = s->dims[s->rank - 2], width = s->dims[s->rank - 1];
        struct ap to = ap_slot(l->p, value_slot(l, o->whole)), from = ap_slot(l->p, s->slot);
        to.offset.base = dim_mul(&l->p->dims, o->at[i], steps[t->rank - 2]);
        for (int b = 0; b < nbatch; b++)
            if (vars[b] >= 0) {
                ap_move(l->p, &to, vars[b], steps[b]);
                ap_move(l->p, &from, vars[b], o->steps[i][b]);
            }
        if (s->steps[s->rank - 1] == 1 && s->steps[s->rank - 2] == width) { /* one run */
            ap_push(&to, 1, dim_mul(&l->p->dims, rows, width));
            ap_push(&from, 1, dim_mul(&l->p->dims, rows, width));
        } else {
            ap_push(&to, steps[t->rank - 2], rows);
            ap_push(&to, 1, width);
            ap_push(&from, s->steps[s->rank - 2], rows);
            ap_push(&from, s->steps[s->rank - 1], width);
        }
        emit_copy(k, to, from);
    }
}
