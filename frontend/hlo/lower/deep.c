/*
 * Arrays of more dims than a value of the graph has, between instructions to which the dims mean nothing: products of
 * tensors of many dims that are reshaped or summed at once. They become flat, so that these instructions find arrays
 * like any other.
 */
#include "frontend/hlo/lower/importer.h"

static bool is_deep(const struct hlo_shape *s)
{
    return hlo_is_array(s) && s->rank > MAX_RANK;
}

static bool has_deep(const struct hlo_shape *s)
{
    for (int k = 0; k < s->count; k++)
        if (has_deep(s->elements[k]))
            return true;
    return s->rank > MAX_RANK;
}

/* Element by element, of operands of one shape or scalars. */
static bool is_elementwise(enum hlo_opcode opcode)
{
    enum op same = hlo_same_op(opcode);
    if (same != OP_COUNT)
        return op_infos[same].flags & OPF_ELEMENTWISE;
    switch (opcode) {
    case HLO_OP_ABS:
    case HLO_OP_ADD:
    case HLO_OP_AND:
    case HLO_OP_CLAMP:
    case HLO_OP_COMPARE:
    case HLO_OP_CONVERT:
    case HLO_OP_COPY:
    case HLO_OP_IMAG:
    case HLO_OP_IS_FINITE:
    case HLO_OP_MAXIMUM:
    case HLO_OP_MINIMUM:
    case HLO_OP_MULTIPLY:
    case HLO_OP_NOT:
    case HLO_OP_OR:
    case HLO_OP_POWER:
    case HLO_OP_REAL:
    case HLO_OP_SELECT:
    case HLO_OP_SIGN:
    case HLO_OP_SUBTRACT:
    case HLO_OP_XOR:
        return true;
    default:
        return false;
    }
}

/* Whether an instruction that has to do with a deep array gives the same when the array is flat. */
static bool may_be_flat(const struct hlo_instruction *i)
{
    const struct hlo_shape *first = i->operand_count ? i->operands[0]->shape : NULL;
    int64_t count;
    if (!hlo_is_array(i->shape) || (is_deep(i->shape) && (i->shape->dynamic || !hlo_shape_count(i->shape, &count))))
        return false;
    if (i->opcode == HLO_OP_DOT)
        return !is_deep(first) && !is_deep(i->operands[1]->shape);
    if (i->opcode == HLO_OP_BROADCAST)
        return hlo_is_array(first) && first->rank == 0;
    if (i->opcode == HLO_OP_REDUCE)
        return i->operand_count == 2 && hlo_attr_ints(i, HLO_ATTR_dimensions).count == first->rank;
    return i->opcode == HLO_OP_RESHAPE || is_elementwise(i->opcode);
}

static bool concerns(const struct hlo_instruction *i)
{
    bool deep = has_deep(i->shape);
    for (int k = 0; k < i->operand_count && !deep; k++)
        deep = has_deep(i->operands[k]->shape);
    return deep;
}

static bool all_may_be_flat(const struct hlo_module *m)
{
    for (int c = 0; c < m->count; c++) {
        const struct hlo_computation *f = m->computations[c];
        if (has_deep(f->root->shape))
            return false;
        for (int k = 0; k < f->count; k++)
            if (concerns(f->instructions[k]) && !may_be_flat(f->instructions[k]))
                return false;
    }
    return true;
}

/* The axes of a sum over all dims of what is flat now. */
static void sum_flat(struct arena *a, struct hlo_instruction *i)
{
    struct hlo_ints *first = ARENA_NEW(a, struct hlo_ints);
    *first = (struct hlo_ints){.count = 1, .v = ARENA_ARRAY(a, int64_t, 1)};
    for (int k = 0; k < i->attr_count; k++)
        if (i->attrs[k].id == HLO_ATTR_dimensions)
            i->attrs[k].ints = first;
}

void hlo_flatten_deep(struct hlo_module *m)
{
    if (!all_may_be_flat(m))
        return;
    for (int c = 0; c < m->count; c++)
        for (int k = 0; k < m->computations[c]->count; k++) {
            struct hlo_instruction *i = m->computations[c]->instructions[k];
            if (i->opcode == HLO_OP_REDUCE && is_deep(i->operands[0]->shape))
                sum_flat(m->arena, i);
        }
    for (int c = 0; c < m->count; c++)
        for (int k = 0; k < m->computations[c]->count; k++) {
            struct hlo_instruction *i = m->computations[c]->instructions[k];
            int64_t count;
            if (is_deep(i->shape) && hlo_shape_count(i->shape, &count))
                i->shape = hlo_shape_new(m->arena, i->shape->type, 1, &count);
        }
}
