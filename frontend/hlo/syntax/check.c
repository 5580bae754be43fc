/* What must hold of an instruction or a computation for it to be read at all; verify.c has the
 * rest. */
#include "frontend/hlo/syntax/check.h"

#include <string.h>

void hlo_append(struct arena *a, struct hlo_computation *c, struct hlo_instruction *i)
{
    ARENA_GROW(a, c->instructions, c->count, c->capacity);
    i->index = c->count;
    i->parent = c;
    c->instructions[c->count++] = i;
}

void hlo_append_computation(struct arena *a, struct hlo_module *m, struct hlo_computation *c)
{
    ARENA_GROW(a, m->computations, m->count, m->capacity);
    c->index = m->count;
    m->computations[m->count++] = c;
}

bool hlo_check_shape(const struct hlo_shape *s, struct diag *d)
{
    if (s->type == HLO_BUFFER) {
        if (s->count != 1 || !hlo_is_array(s->elements[0]))
            return fail(d, "a buffer shape has %d elements, expected one array", s->count);
        return true;
    }
    if (!hlo_is_array(s))
        return s->rank == 0 || fail(d, "%s shape with dimensions", hlo_type_name(s->type));
    if (s->layout) {
        uint64_t seen = 0;
        for (int k = 0; k < s->rank; k++) {
            int64_t v = s->layout->minor_to_major[k];
            if (v < 0 || v >= s->rank || seen >> v & 1)
                return fail(d, "layout is not a permutation of the %d dimensions", s->rank);
            seen |= (uint64_t)1 << v;
        }
    }
    int64_t n, bytes;
    bool bounded = true;
    for (int k = 0; k < s->rank; k++)
        bounded &= s->dims[k] >= 0;
    if (bounded && (!hlo_shape_count(s, &n) || __builtin_mul_overflow(n, 16, &bytes)))
        return fail(d, "shape is too large");
    return true;
}

const struct hlo_instruction *hlo_async_start(const struct hlo_instruction *i)
{
    while (i && (i->opcode == HLO_OP_ASYNC_UPDATE || i->opcode == HLO_OP_ASYNC_DONE))
        i = i->operand_count ? i->operands[0] : NULL;
    return i && i->opcode == HLO_OP_ASYNC_START ? i : NULL;
}

/* ---- operands ---- */

static bool check_operand_count(const struct hlo_instruction *i, struct diag *d)
{
    int want = hlo_op_info(i->opcode)->operands, have = i->operand_count;
    if (want >= 0 && have != want)
        return fail(d, "%s has %d operands, expected %d", hlo_op_name(i->opcode), have, want);
    switch (i->opcode) {
    case HLO_OP_REDUCE:
    case HLO_OP_REDUCE_WINDOW:
        return (have && have % 2 == 0) ||
               fail(d, "%s has %d operands, expected inputs and as many initial values",
                    hlo_op_name(i->opcode), have);
    case HLO_OP_SCATTER:
        return (have >= 3 && have % 2) ||
               fail(d, "scatter has %d operands, expected inputs, indices, and as many updates",
                    have);
    case HLO_OP_CONCATENATE:
    case HLO_OP_SORT:
    case HLO_OP_MAP:
    case HLO_OP_DYNAMIC_SLICE:
    case HLO_OP_DYNAMIC_RESHAPE:
    case HLO_OP_CONDITIONAL:
    case HLO_OP_ALL_GATHER:
        return have >= 1 ||
               fail(d, "%s has no operands, expected at least one", hlo_op_name(i->opcode));
    case HLO_OP_ASYNC_UPDATE:
    case HLO_OP_ASYNC_DONE:
        return have >= 1 ||
               fail(d, "%s has no operands, expected at least one", hlo_op_name(i->opcode));
    case HLO_OP_DYNAMIC_UPDATE_SLICE:
        return have >= 2 ||
               fail(d, "dynamic-update-slice has %d operands, expected at least 2", have);
    case HLO_OP_RNG:
        return have >= 1 || fail(d, "rng has no operands");
    default:
        return true;
    }
}

static bool check_attrs(const struct hlo_instruction *i, struct diag *d)
{
    for (const uint8_t *r = hlo_op_info(i->opcode)->required; *r; r++)
        if (!hlo_attr(i, *r))
            return fail(d, "%s needs the attribute '%s'", hlo_op_name(i->opcode),
                        hlo_attr_info(*r)->name);
    switch (i->opcode) {
    case HLO_OP_ALL_GATHER:
    case HLO_OP_ALL_GATHER_START:
    case HLO_OP_REDUCE_SCATTER:
    case HLO_OP_CONCATENATE:
    case HLO_OP_SORT:
    case HLO_OP_GET_DIMENSION_SIZE:
    case HLO_OP_SET_DIMENSION_SIZE:
    case HLO_OP_SCAN: {
        int n = hlo_attr_ints(i, HLO_ATTR_dimensions).count;
        if (n != 1)
            return fail(d, "%s has %d dimensions, expected exactly one", hlo_op_name(i->opcode), n);
        break;
    }
    case HLO_OP_COLLECTIVE_PERMUTE:
    case HLO_OP_COLLECTIVE_PERMUTE_START: {
        const struct hlo_lists *l = hlo_attr(i, HLO_ATTR_source_target_pairs)->lists;
        for (int k = 0; k < l->count; k++)
            if (l->v[k].count != 2)
                return fail(d, "source_target_pairs has an entry of %d numbers, expected pairs",
                            l->v[k].count);
        break;
    }
    default:
        break;
    }
    return true;
}

/* ---- asynchronous pairs ---- */

static bool check_async_shape(struct arena *a, const struct hlo_instruction *i, struct diag *d)
{
    const struct hlo_shape *s = i->shape;
    bool form = s->type == HLO_TUPLE && s->count >= 2 && s->elements[0]->type == HLO_TUPLE;
    if (!form)
        return fail(d, "%s has shape %s, expected ((operands), result, ...)",
                    hlo_op_name(i->opcode), hlo_shape_text(a, s));
    return true;
}

static void drop(struct hlo_instruction *i, enum hlo_attr_id id)
{
    int kept = 0;
    for (int k = 0; k < i->attr_count; k++)
        if (i->attrs[k].id != id)
            i->attrs[kept++] = i->attrs[k];
    i->attr_count = kept;
}

static bool check_async(struct arena *a, struct hlo_instruction *i, struct diag *d)
{
    if (i->opcode != HLO_OP_ASYNC_DONE && !check_async_shape(a, i, d))
        return false;
    if (i->opcode == HLO_OP_ASYNC_START)
        return true;
    if (i->operands[0]->opcode == HLO_OP_ASYNC_DONE)
        return fail(d, "%s takes the result of an async-done, expected async-start or async-update",
                    hlo_op_name(i->opcode));
    const struct hlo_instruction *start = hlo_async_start(i);
    if (!start)
        return true;
    const struct hlo_computation *mine = hlo_attr_computation(i, HLO_ATTR_calls);
    const struct hlo_computation *its = hlo_attr_computation(start, HLO_ATTR_calls);
    if (mine && mine != its)
        return fail(d, "calls '%s', but '%s' started '%s'", mine->name, start->name,
                    its->name ? its->name : "(inline)");
    const char *thread = hlo_attr_text(i, HLO_ATTR_async_execution_thread);
    if (*thread && strcmp(thread, hlo_attr_text(start, HLO_ATTR_async_execution_thread)))
        return fail(d, "async_execution_thread is \"%s\", but '%s' started on \"%s\"", thread,
                    start->name, hlo_attr_text(start, HLO_ATTR_async_execution_thread));
    drop(i, HLO_ATTR_calls); /* both follow from the start */
    drop(i, HLO_ATTR_async_execution_thread);
    return true;
}

/* ---- shapes ---- */

static bool check_stated(struct arena *a, const struct hlo_instruction *i, struct diag *d)
{
    const struct hlo_shape *s = i->shape;
    const struct hlo_shape *x = i->operand_count ? i->operands[0]->shape : NULL;
    switch (i->opcode) {
    case HLO_OP_RESHAPE: {
        int64_t n, m;
        if (!hlo_shape_count(s, &n) || !hlo_shape_count(x, &m))
            return true;
        return (hlo_is_array(x) && hlo_is_array(s) && n == m) ||
               fail(d, "reshape from %s to %s, which has another number of elements",
                    hlo_shape_text(a, x), hlo_shape_text(a, s));
    }
    case HLO_OP_DYNAMIC_RESHAPE:
        return i->operand_count - 1 == s->rank ||
               fail(d, "dynamic-reshape has %d sizes for a result of %d dimensions",
                    i->operand_count - 1, s->rank);
    case HLO_OP_RECV:
    case HLO_OP_INFEED:
        return (s->type == HLO_TUPLE && s->count) ||
               fail(d, "%s has shape %s, expected a tuple with elements", hlo_op_name(i->opcode),
                    hlo_shape_text(a, s));
    case HLO_OP_CUSTOM_CALL: {
        const struct hlo_attr *c = hlo_attr(i, HLO_ATTR_operand_layout_constraints);
        if (c && c->shapes->count != i->operand_count)
            return fail(d, "%d operand layout constraints for %d operands", c->shapes->count,
                        i->operand_count);
        for (int k = 0; c && k < c->shapes->count; k++)
            if (!hlo_shape_compatible(c->shapes->v[k], i->operands[k]->shape))
                return fail(d, "layout constraint %s for operand %d, which has shape %s",
                            hlo_shape_text(a, c->shapes->v[k]), k,
                            hlo_shape_text(a, i->operands[k]->shape));
        return !(hlo_attr(i, HLO_ATTR_to_apply) && hlo_attr(i, HLO_ATTR_called_computations)) ||
               fail(d, "custom-call has both to_apply and called_computations");
    }
    default:
        return true;
    }
}

static bool check_conditional(struct arena *a, const struct hlo_instruction *i, struct diag *d)
{
    const struct hlo_shape *s = i->operands[0]->shape;
    const struct hlo_attr *list = hlo_attr(i, HLO_ATTR_branch_computations);
    bool two = hlo_attr(i, HLO_ATTR_true_computation) && hlo_attr(i, HLO_ATTR_false_computation);
    bool any = hlo_attr(i, HLO_ATTR_true_computation) || hlo_attr(i, HLO_ATTR_false_computation);
    int branches = list ? list->computations->count : 2;
    if (s->rank || (s->type != HLO_PRED && s->type != HLO_S32))
        return fail(d, "the first operand has shape %s, expected a scalar, pred[] or s32[]",
                    hlo_shape_text(a, s));
    if (s->type == HLO_PRED ? list || !two : !list || any)
        return fail(d, s->type == HLO_PRED
                           ? "a pred[] operand needs true_computation and false_computation"
                           : "an s32[] operand needs branch_computations");
    if (!branches || i->operand_count != 1 + branches)
        return fail(d,
                    "conditional has %d branches and %d operands, expected one more than branches",
                    branches, i->operand_count);
    return true;
}

bool hlo_check_attrs(const struct hlo_instruction *i, struct diag *d)
{
    return check_attrs(i, d);
}

static bool check(struct arena *scratch, struct arena *a, struct hlo_instruction *i, struct diag *d)
{
    if (!check_operand_count(i, d) || !check_attrs(i, d))
        return false;
    if (i->opcode == HLO_OP_CONDITIONAL && !check_conditional(scratch, i, d))
        return false;
    if (!i->shape && !(i->shape = hlo_infer(a, i, d)))
        return false;
    if (i->opcode == HLO_OP_ASYNC_START || i->opcode == HLO_OP_ASYNC_UPDATE ||
        i->opcode == HLO_OP_ASYNC_DONE)
        return check_async(scratch, i, d);
    return check_stated(scratch, i, d);
}

bool hlo_check_instruction(struct arena *a, struct hlo_instruction *i, struct diag *d)
{
    struct arena scratch = {0};
    bool ok = check(&scratch, a, i, d);
    arena_free(&scratch);
    return ok;
}

bool hlo_check_computation(struct arena *a, struct hlo_computation *c, struct diag *d)
{
    int count = 0;
    for (int k = 0; k < c->count; k++)
        count += c->instructions[k]->opcode == HLO_OP_PARAMETER;
    c->parameter_count = count;
    c->parameters = ARENA_ARRAY(a, struct hlo_instruction *, count);
    for (int k = 0; k < c->count; k++) {
        struct hlo_instruction *i = c->instructions[k];
        if (i->opcode != HLO_OP_PARAMETER)
            continue;
        if (i->parameter < 0 || i->parameter >= count)
            return fail(d, "parameter number %lld of '%s', but the computation has %d parameters",
                        (long long)i->parameter, i->name, count);
        if (c->parameters[i->parameter])
            return fail(d, "'%s' and '%s' are both parameter number %lld",
                        c->parameters[i->parameter]->name, i->name, (long long)i->parameter);
        c->parameters[i->parameter] = i;
    }
    return true;
}
