#include "backend/lower/attention.h"

bool attention_is_row(struct lowering *l, const struct node *n)
{
    const struct type *y = &n->out[0]->type;
    if (n->op != OP_sdpa || l->m->strict || l->o->opt_level == 0 || !attention_takes(l, n) ||
        y->rank < 2 || y->dims[y->rank - 2] != 1)
        return false;
    for (int i = 0; i < 3; i++)
        if (outer_value(l, n->in[i])->type.dtype != DT_F32)
            return false;
    return true;
}

/* The concatenation along keys that v is, and the attention that alone computes with it. */
static struct node *concatenated(struct lowering *l, const struct value *v,
                                 const struct node **reader)
{
    struct node *c = v->def;
    int rank = v->type.rank;
    *reader = NULL;
    if (!c || c->op != OP_concat || c->nin > MOST_PARTS || rank < 2 || !has_layout(l, v))
        return NULL;
    int64_t axis = attr_int(&c->attrs, "axis", 0);
    if (axis != rank - 2 && axis != -2)
        return NULL;
    for (const struct use *u = v->uses; u; u = u->next) {
        if (u->node == region_return(c->parent) || u->node->op == OP_shape)
            continue;
        if (*reader || u->node->op != OP_sdpa || (u->index != 1 && u->index != 2) ||
            u->node->parent != c->parent)
            return NULL;
        *reader = u->node;
    }
    for (int i = 0; i < c->nin; i++) {
        const struct value *x = outer_value(l, c->in[i]);
        if (!has_layout(l, x) || x->type.dtype != v->type.dtype || x->type.rank != rank)
            return NULL;
    }
    return *reader ? c : NULL;
}

/* Each instance has keys of its own: no dim of them is broadcast. */
static struct node *read_in_parts(struct lowering *l, const struct node *n, int operand)
{
    const struct node *reader;
    const struct value *v = outer_value(l, n->in[operand]);
    const struct type *y = &n->out[0]->type;
    struct node *c = concatenated(l, v, &reader);
    if (!c || reader != n || v->type.rank != y->rank || !attention_is_row(l, n))
        return NULL;
    for (int i = 0; i < y->rank - 2; i++)
        if (v->type.dims[i] != y->dims[i])
            return NULL;
    return c;
}

bool attention_appends(struct lowering *l, const struct node *n)
{
    const struct node *reader;
    return n->op == OP_concat && concatenated(l, n->out[0], &reader) == n &&
           (read_in_parts(l, reader, 1) == n || read_in_parts(l, reader, 2) == n);
}

struct attended attended_operand(struct lowering *l, const struct node *n, int operand)
{
    const struct type *y = &n->out[0]->type;
    const struct node *c = read_in_parts(l, n, operand);
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
    dense_steps(&l->p->dims, t->rank, t->dims, steps);
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
