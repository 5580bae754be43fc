#include "backend/lower/strided.h"

static bool reads_strided(struct lowering *l, const struct node *n, int operand)
{
    if (n->op == OP_matmul)
        return operand < 2 && product_takes(l, n);
    if (n->op == OP_conv)
        return conv_reads_strided(l, n, operand);
    return n->op == OP_sdpa && operand < 3 && attention_takes(l, n);
}

static bool use_reads_strided(struct lowering *l, const struct use *u)
{
    const struct node *n = u->node;
    if (n->op != OP_fused)
        return reads_strided(l, n, u->index);
    const struct value *p = n->regions[0]->params[u->index];
    const struct use *first = p->uses;
    if (first && !first->next && first->node == n->regions[0]->first && first->node->op == OP_conv)
        return conv_reads_strided(l, n, first->index);
    for (const struct use *inner = p->uses; inner; inner = inner->next)
        if (inner->node != n->regions[0]->first || !reads_strided(l, inner->node, inner->index))
            return false;
    return p->uses != NULL;
}

static bool read_through(struct lowering *l, const struct node *n)
{
    if (n->op != OP_transpose || l->m->strict || l->o->opt_level == 0 || !n->out[0]->uses ||
        !has_layout(l, n->out[0]) || !has_layout(l, outer_value(l, n->in[0])))
        return false;
    for (const struct use *u = n->out[0]->uses; u; u = u->next)
        if (!use_reads_strided(l, u))
            return false;
    return true;
}

/* The transpose that alone uses the result of a product or of attention. */
static struct node *written_through(struct lowering *l, const struct value *v)
{
    struct node *user = value_only_user(v);
    if (l->m->strict || l->o->opt_level == 0 || !user || user->op != OP_transpose ||
        l->is_output[v->id] || read_through(l, user) || !has_layout(l, user->out[0]))
        return NULL;
    const struct node *def = v->def;
    if (def && def->op == OP_fused) {
        const struct node *first = def->regions[0]->first;
        if (first->next != region_return(def->regions[0]))
            return NULL;
        def = first;
    }
    if (!def || user->parent != v->def->parent)
        return NULL;
    bool takes = def->op == OP_sdpa ? attention_takes(l, def)
                                    : def->op == OP_matmul && product_takes(l, def);
    return takes ? user : NULL;
}

bool strided_skips(struct lowering *l, const struct node *n)
{
    return n->op == OP_transpose &&
           (read_through(l, n) || written_through(l, outer_value(l, n->in[0])) == n);
}

static struct strided dense(struct lowering *l, struct value *v)
{
    struct strided s = {.slot = value_slot(l, v), .rank = v->type.rank};
    for (int i = 0; i < s.rank; i++)
        s.dims[i] = v->type.dims[i];
    dense_steps(&l->p->dims, s.rank, s.dims, s.steps);
    return s;
}

static int permuted(const struct node *n, int i)
{
    int count, rank = n->out[0]->type.rank;
    const int64_t *perm = attr_ints(&n->attrs, "perm", &count);
    int64_t from = count ? perm[i] : rank - 1 - i;
    return (int)(from + (from < 0 ? rank : 0));
}

struct strided strided_operand(struct lowering *l, struct value *v)
{
    v = outer_value(l, v);
    if (!v->def || !read_through(l, v->def))
        return dense(l, v);
    struct strided x = strided_operand(l, v->def->in[0]), y = x;
    for (int i = 0; i < x.rank; i++) {
        y.dims[i] = x.dims[permuted(v->def, i)];
        y.steps[i] = x.steps[permuted(v->def, i)];
    }
    return y;
}

struct strided strided_result(struct lowering *l, struct value *v)
{
    v = outer_value(l, v);
    struct node *user = written_through(l, v);
    if (!user)
        return dense(l, v);
    struct strided y = dense(l, user->out[0]), x = y;
    for (int i = 0; i < y.rank; i++) {
        x.dims[permuted(user, i)] = y.dims[i];
        x.steps[permuted(user, i)] = y.steps[i];
    }
    return x;
}
