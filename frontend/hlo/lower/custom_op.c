/*
 * Custom calls of operators that the user brings (--custom-op). Their attributes are the
 * backend_config's, a dictionary.
 */
#include "frontend/custom_call.h"
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/dictionary.h"
#include "frontend/hlo/lower/importer.h"

static const struct custom_operator *operator_of(const struct hlo_importer *im,
                                                 const struct hlo_instruction *i)
{
    return custom_lookup_target(im->options, hlo_attr_text(i, HLO_ATTR_custom_call_target));
}

bool hlo_is_custom_op(const struct hlo_importer *im, const struct hlo_instruction *i)
{
    return operator_of(im, i) != NULL;
}

/* What the operator gives is what the program says. */
static bool check_results(struct hlo_lower *l, const struct node *call,
                          const struct custom_operator *op)
{
    for (int k = 0; k < call->nout; k++) {
        const struct hlo_shape *s = hlo_leaf(l->i->shape, k);
        const struct type *t = &call->out[k]->type;
        bool same = t->dtype == hlo_type_dtype(s->type) && (t->rank < 0 || t->rank == s->rank);
        for (int d = 0; same && d < t->rank; d++)
            same = !dim_is_const(t->dims[d]) || s->dims[d] < 0 || (s->dynamic && s->dynamic[d]) ||
                   t->dims[d] == s->dims[d];
        if (!same)
            return HLO_ERROR(l, "result %d of %s is %s, the program declares %s", k, op->full,
                             type_text(&l->b->g->dims, &l->b->g->arena, t),
                             hlo_shape_text(&l->b->g->arena, s));
    }
    return true;
}

bool hlo_lower_custom_op(struct hlo_lower *l)
{
    const struct custom_operator *op = operator_of(l->im, l->i);
    const struct hlo_attr *config = hlo_attr(l->i, HLO_ATTR_backend_config);
    struct arena *a = &l->b->g->arena;
    struct attrs attrs = {0};
    int n = 0;
    const char *rest;
    if (!hlo_read_dictionary(a, config ? config->text : NULL, &attrs, &rest))
        return HLO_ERROR(l,
                         "the backend_config of %s is no dictionary of numbers, strings and "
                         "lists, at '%s'",
                         op->full, rest);
    for (int k = 0; k < l->i->operand_count; k++)
        n += l->operands[k].count;
    struct value **in = ARENA_ARRAY(a, struct value *, n + 1);
    for (int k = 0, at = 0; k < l->i->operand_count; k++)
        for (int j = 0; j < l->operands[k].count; j++)
            in[at++] = l->operands[k].v[j];
    struct node *call = b_place(l->b, OP_custom, in, n, l->out.count, &attrs);
    return call && custom_become(l->b->g, call, l->im->options, op, l->b->d) && b_infer(l->b, call) &&
           check_results(l, call, op) && h_done_all(l, call->out, call->nout);
}
