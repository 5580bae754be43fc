/*
 * What a module must satisfy to mean something, beyond being readable: callees fit their operands,
 * shapes follow from operands and attributes.
 */
#include "frontend/hlo/syntax/check.h"

/* ---- operands ---- */

static bool check_operands(struct arena *a, const struct hlo_instruction *i, struct diag *d)
{
    for (int k = 0; k < i->operand_count && !hlo_op_info(i->opcode)->operands.any_type; k++)
        if (!hlo_is_array(i->operands[k]->shape))
            return fail(d, "operand %d is %s, expected an array", k, hlo_shape_text(a, i->operands[k]->shape));
    return true;
}

/* ---- computations that an instruction calls ---- */

static bool check_parameters(const struct hlo_computation *c, int count, struct diag *d)
{
    return c->parameter_count == count ||
           fail(d, "computation '%s' has %d parameters, expected %d",
                c->name ? c->name : "(inline)", c->parameter_count, count);
}

/* Parameters of C must fit the operands from FIRST on. */
static bool check_arguments(struct arena *a, const struct hlo_instruction *i,
                            const struct hlo_computation *c, int first, int count, struct diag *d)
{
    if (!check_parameters(c, count, d))
        return false;
    for (int k = 0; k < count; k++) {
        const struct hlo_shape *want = c->parameters[k]->shape,
                               *have = i->operands[first + k]->shape;
        if (!hlo_shape_compatible(want, have))
            return fail(d, "operand %d has shape %s, but parameter %d of '%s' has %s", first + k,
                        hlo_shape_text(a, have), k, c->name ? c->name : "(inline)",
                        hlo_shape_text(a, want));
    }
    return true;
}

static bool check_while(struct arena *a, const struct hlo_instruction *i, struct diag *d)
{
    const struct hlo_computation *body = hlo_attr_computation(i, HLO_ATTR_body);
    const struct hlo_computation *condition = hlo_attr_computation(i, HLO_ATTR_condition);
    const struct hlo_shape *p = condition->root->shape;
    if (!check_arguments(a, i, body, 0, 1, d) || !check_arguments(a, i, condition, 0, 1, d))
        return false;
    if (p->type != HLO_PRED || p->rank)
        return fail(d, "the condition returns %s, expected pred[]", hlo_shape_text(a, p));
    return hlo_shape_compatible(body->root->shape, i->operands[0]->shape) ||
           fail(d, "the body returns %s, expected the state's shape, %s",
                hlo_shape_text(a, body->root->shape), hlo_shape_text(a, i->operands[0]->shape));
}

static bool check_branches(struct arena *a, const struct hlo_instruction *i, struct diag *d)
{
    const struct hlo_attr *list = hlo_attr(i, HLO_ATTR_branch_computations);
    struct hlo_computation *two[2] = {hlo_attr_computation(i, HLO_ATTR_true_computation),
                                      hlo_attr_computation(i, HLO_ATTR_false_computation)};
    struct hlo_computations pair = {2, two};
    const struct hlo_computations *branches = list ? list->computations : &pair;
    for (int k = 0; k < branches->count; k++) {
        if (!check_arguments(a, i, branches->v[k], 1 + k, 1, d))
            return false;
        if (!hlo_shape_compatible(branches->v[k]->root->shape, branches->v[0]->root->shape))
            return fail(d, "branches 0 and %d return %s and %s", k,
                        hlo_shape_text(a, branches->v[0]->root->shape),
                        hlo_shape_text(a, branches->v[k]->root->shape));
    }
    return true;
}

static bool check_callees(struct arena *a, const struct hlo_instruction *i, struct diag *d)
{
    const struct hlo_computation *f = hlo_attr_computation(i, HLO_ATTR_to_apply);
    int n = i->operand_count;
    switch (i->opcode) {
    case HLO_OP_CALL:
        return check_arguments(a, i, f, 0, n, d);
    case HLO_OP_FUSION:
        return check_arguments(a, i, hlo_attr_computation(i, HLO_ATTR_calls), 0, n, d);
    case HLO_OP_WHILE:
        return check_while(a, i, d);
    case HLO_OP_CONDITIONAL:
        return check_branches(a, i, d);
    case HLO_OP_MAP:
        return check_parameters(f, n, d);
    case HLO_OP_REDUCE:
    case HLO_OP_REDUCE_WINDOW:
        return check_parameters(f, n, d);
    case HLO_OP_SORT:
        return check_parameters(f, 2 * n, d);
    case HLO_OP_SCATTER:
        return check_parameters(f, n - 1, d);
    case HLO_OP_SCAN:
        return check_parameters(f, n, d);
    case HLO_OP_SELECT_AND_SCATTER:
        return check_parameters(hlo_attr_computation(i, HLO_ATTR_select), 2, d) &&
               check_parameters(hlo_attr_computation(i, HLO_ATTR_scatter), 2, d);
    default:
        return true;
    }
}

/* ---- shapes ---- */

static bool same_structure(const struct hlo_shape *a, const struct hlo_shape *b)
{
    if (a->count != b->count || (a->type == HLO_TUPLE) != (b->type == HLO_TUPLE) ||
        hlo_is_array(a) != hlo_is_array(b) || !hlo_same_dims(a, b))
        return false;
    for (int k = 0; k < a->count; k++)
        if (!same_structure(a->elements[k], b->elements[k]))
            return false;
    return true;
}

static bool verify_iota(struct arena *a, const struct hlo_instruction *i, struct diag *d)
{
    int64_t k = hlo_attr_int(i, HLO_ATTR_iota_dimension);
    if (i->shape->type == HLO_PRED)
        return fail(d, "the result has shape %s; numbers are counted, not pred", hlo_shape_text(a, i->shape));
    return (hlo_is_array(i->shape) && k >= 0 && k < i->shape->rank) ||
           fail(d, "iota_dimension is %lld in a result of shape %s", (long long)k, hlo_shape_text(a, i->shape));
}

static bool verify_same_dims(struct arena *a, const struct hlo_instruction *i, struct diag *d)
{
    const struct hlo_shape *s = i->shape, *x = i->operands[0]->shape;
    return hlo_same_dims(s, x) || fail(d, "the result has shape %s, the operand %s, expected the same dimensions",
                                       hlo_shape_text(a, s), hlo_shape_text(a, x));
}

static bool verify_slice(struct arena *a, const struct hlo_instruction *i, struct diag *d)
{
    const struct hlo_shape *x = i->operands[0]->shape;
    const struct hlo_slices *s = hlo_attr(i, HLO_ATTR_slice)->slices;
    if (s->count != x->rank || i->shape->rank != x->rank)
        return fail(d, "slice has %d ranges for an operand of shape %s and a result of shape %s",
                    s->count, hlo_shape_text(a, x), hlo_shape_text(a, i->shape));
    for (int k = 0; k < s->count; k++) {
        const struct hlo_slice *r = &s->v[k];
        if (r->start < 0 || r->limit < r->start || r->stride < 1 ||
            (r->limit > x->dims[k] && x->dims[k] >= 0))
            return fail(d, "range [%lld:%lld:%lld] of dimension %d, which has size %lld",
                        (long long)r->start, (long long)r->limit, (long long)r->stride, k,
                        (long long)x->dims[k]);
        int64_t n = (r->limit - r->start) / r->stride + ((r->limit - r->start) % r->stride != 0);
        if (n != i->shape->dims[k] && !i->shape->dynamic && !x->dynamic)
            return fail(d, "range [%lld:%lld:%lld] takes %lld elements, but the result has %lld",
                        (long long)r->start, (long long)r->limit, (long long)r->stride,
                        (long long)n, (long long)i->shape->dims[k]);
    }
    return true;
}

static bool verify_dynamic_slice(struct arena *a, const struct hlo_instruction *i, struct diag *d)
{
    const struct hlo_shape *x = i->operands[0]->shape;
    bool slice = i->opcode == HLO_OP_DYNAMIC_SLICE;
    const struct hlo_shape *part = slice ? i->shape : i->operands[1]->shape;
    int first = slice ? 1 : 2, n = i->operand_count - first;
    bool vector = n == 1 && i->operands[first]->shape->rank == 1;
    if (part->rank != x->rank || (n != x->rank && !vector))
        return fail(d, "%s of %s from %s with %d start indices", hlo_op_name(i->opcode),
                    hlo_shape_text(a, part), hlo_shape_text(a, x), n);
    for (int k = first; k < i->operand_count; k++)
        if (!hlo_whole(i->operands[k]->shape, "start indices", d))
            return false;
    for (int k = 0; k < x->rank; k++)
        if (part->dims[k] > x->dims[k] && x->dims[k] >= 0)
            return fail(d, "size %lld of dimension %d, which has size %lld",
                        (long long)part->dims[k], k, (long long)x->dims[k]);
    if (!slice)
        return hlo_same_dims(i->shape, x) ||
               fail(d, "the result has shape %s, expected the operand's, %s",
                    hlo_shape_text(a, i->shape), hlo_shape_text(a, x));
    struct hlo_ints sizes = hlo_attr_ints(i, HLO_ATTR_dynamic_slice_sizes);
    for (int k = 0; k < sizes.count; k++)
        if (sizes.count != x->rank || (sizes.v[k] != part->dims[k] && !part->dynamic))
            return fail(d, "dynamic_slice_sizes do not match the result's shape, %s",
                        hlo_shape_text(a, part));
    return true;
}

static bool verify_fusion(struct arena *a, const struct hlo_instruction *i, struct diag *d)
{
    const struct hlo_shape *r = hlo_attr_computation(i, HLO_ATTR_calls)->root->shape;
    return same_structure(r, i->shape) || fail(d, "fusion has shape %s, its computation returns %s",
                                                   hlo_shape_text(a, i->shape), hlo_shape_text(a, r));
}

#define INFERRED(rule) NULL
#define STATED         NULL
#define CHECKED(rule)  NULL
#define VERIFIED(rule) verify_##rule
static bool (*const rules[HLO_OP_COUNT])(struct arena *a, const struct hlo_instruction *i, struct diag *d) = {
#define HLO_OP(id, spelling, operands, shape, required, optional) [HLO_OP_##id] = shape,
#include "frontend/hlo/syntax/hlo_opcodes.def"
#undef HLO_OP
};

static bool check_shape(struct arena *a, const struct hlo_instruction *i, struct diag *d)
{
    if (!hlo_op_info(i->opcode)->infers)
        return !rules[i->opcode] || rules[i->opcode](a, i, d);
    const struct hlo_shape *want = hlo_infer(a, i, d);
    return want && (same_structure(want, i->shape) ||
                    fail(d, "the result has shape %s, expected %s", hlo_shape_text(a, i->shape),
                         hlo_shape_text(a, want)));
}

static bool check_layout(struct arena *a, const struct hlo_module *m, struct diag *d)
{
    const struct hlo_computation *e = m->entry;
    if (!m->entry_result)
        return true;
    if (m->entry_parameters.count != e->parameter_count)
        return fail(d, "entry_computation_layout has %d parameters, '%s' has %d",
                    m->entry_parameters.count, e->name, e->parameter_count);
    for (int k = 0; k < e->parameter_count; k++)
        if (!hlo_shape_compatible(m->entry_parameters.v[k], e->parameters[k]->shape))
            return fail(d, "entry_computation_layout has %s for parameter %d, which has shape %s",
                        hlo_shape_text(a, m->entry_parameters.v[k]), k,
                        hlo_shape_text(a, e->parameters[k]->shape));
    return hlo_shape_compatible(m->entry_result, e->root->shape) ||
           fail(d, "entry_computation_layout returns %s, but the root has shape %s",
                hlo_shape_text(a, m->entry_result), hlo_shape_text(a, e->root->shape));
}

/* The part of shape S that INDEX names; NULL when there is none. */
static const struct hlo_shape *part(const struct hlo_shape *s, const struct hlo_ints *index)
{
    for (int k = 0; k < index->count; k++) {
        if (s->type != HLO_TUPLE || index->v[k] < 0 || index->v[k] >= s->count)
            return NULL;
        s = s->elements[index->v[k]];
    }
    return s;
}

static bool check_aliases(const struct hlo_module *m, struct diag *d)
{
    const struct hlo_computation *e = m->entry;
    for (int k = 0; k < m->aliases.count; k++) {
        const struct hlo_alias *v = &m->aliases.v[k];
        if (v->parameter < 0 || v->parameter >= e->parameter_count)
            return fail(d, "input_output_alias names parameter %lld of %d", (long long)v->parameter,
                        e->parameter_count);
        const struct hlo_shape *in = part(e->parameters[v->parameter]->shape, &v->index);
        const struct hlo_shape *out = part(e->root->shape, &v->output);
        if (!in || !out)
            return fail(d, "input_output_alias %d names a part that %s does not have", k,
                        in ? "the result" : "the parameter");
    }
    return true;
}

bool hlo_verify(const struct hlo_module *m, struct diag *d)
{
    struct arena a = {0};
    bool ok = check_layout(&a, m, d) && check_aliases(m, d);
    for (int k = 0; ok && k < m->count; k++)
        for (int j = 0; ok && j < m->computations[k]->count; j++) {
            struct hlo_instruction *i = m->computations[k]->instructions[j];
            /* what a short async form starts has all of its operands only now */
            ok = check_operands(&a, i, d) && (!i->parent->wrapper || hlo_check_instruction(&a, i, d)) &&
                 check_callees(&a, i, d) && check_shape(&a, i, d);
            if (ok)
                continue;
            fail_in(d, "instruction '%s' (%s) in '%s'", i->name, hlo_op_name(i->opcode),
                    i->parent->name);
            const char *source = hlo_source(m, i, &a);
            if (i->line)
                fail_in(d, "line %d", i->line);
            else if (source)
                fail_in(d, "%s", source);
        }
    arena_free(&a);
    return ok;
}
