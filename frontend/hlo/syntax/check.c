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
    const struct hlo_arity *want = &hlo_op_info(i->opcode)->operands;
    const char *name = hlo_op_name(i->opcode);
    int have = i->operand_count;
    if (want->expected)
        return (have >= want->count && (have - want->count) % 2 == 0) ||
               fail(d, "%s has %d operands, expected %s", name, have, want->expected);
    return (want->or_more ? have >= want->count : have == want->count) ||
           fail(d, "%s has %d operands, expected %s%d", name, have, want->or_more ? "at least " : "", want->count);
}

bool hlo_check_attrs(const struct hlo_instruction *i, struct diag *d)
{
    const char *name = hlo_op_name(i->opcode);
    for (const uint8_t *r = hlo_op_info(i->opcode)->required; *r; r++) {
        enum hlo_attr_id id = *r % HLO_ATTR_ONE;
        if (!hlo_attr(i, id))
            return fail(d, "%s needs the attribute '%s'", name, hlo_attr_info(id)->name);
        if (*r & HLO_ATTR_ONE && hlo_attr_ints(i, id).count != 1)
            return fail(d, "%s has %d %s, expected exactly one", name, hlo_attr_ints(i, id).count,
                        hlo_attr_info(id)->name);
    }
    const struct hlo_attr *pairs = hlo_attr(i, HLO_ATTR_source_target_pairs);
    for (int k = 0; pairs && k < pairs->lists->count; k++)
        if (pairs->lists->v[k].count != 2)
            return fail(d, "source_target_pairs has an entry of %d numbers, expected pairs", pairs->lists->v[k].count);
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

static bool check_reshape(struct arena *a, struct hlo_instruction *i, struct diag *d)
{
    int64_t n, m;
    const struct hlo_shape *s = i->shape, *x = i->operands[0]->shape;
    if (!hlo_shape_count(s, &n) || !hlo_shape_count(x, &m))
        return true;
    return (hlo_is_array(x) && hlo_is_array(s) && n == m) ||
           fail(d, "reshape from %s to %s, which has another number of elements", hlo_shape_text(a, x),
                hlo_shape_text(a, s));
}

static bool check_dynamic_reshape(struct arena *a, struct hlo_instruction *i, struct diag *d)
{
    (void)a;
    return i->operand_count - 1 == i->shape->rank ||
           fail(d, "dynamic-reshape has %d sizes for a result of %d dimensions", i->operand_count - 1, i->shape->rank);
}

static bool check_filled_tuple(struct arena *a, struct hlo_instruction *i, struct diag *d)
{
    return (i->shape->type == HLO_TUPLE && i->shape->count) ||
           fail(d, "%s has shape %s, expected a tuple with elements", hlo_op_name(i->opcode),
                hlo_shape_text(a, i->shape));
}

static bool check_custom_call(struct arena *a, struct hlo_instruction *i, struct diag *d)
{
    const struct hlo_attr *c = hlo_attr(i, HLO_ATTR_operand_layout_constraints);
    if (c && c->shapes->count != i->operand_count)
        return fail(d, "%d operand layout constraints for %d operands", c->shapes->count, i->operand_count);
    for (int k = 0; c && k < c->shapes->count; k++)
        if (!hlo_shape_compatible(c->shapes->v[k], i->operands[k]->shape))
            return fail(d, "layout constraint %s for operand %d, which has shape %s",
                        hlo_shape_text(a, c->shapes->v[k]), k, hlo_shape_text(a, i->operands[k]->shape));
    return !(hlo_attr(i, HLO_ATTR_to_apply) && hlo_attr(i, HLO_ATTR_called_computations)) ||
           fail(d, "custom-call has both to_apply and called_computations");
}

#define INFERRED(rule) NULL
#define STATED         NULL
#define CHECKED(rule)  check_##rule
#define VERIFIED(rule) NULL
static bool (*const rules[HLO_OP_COUNT])(struct arena *a, struct hlo_instruction *i, struct diag *d) = {
#define HLO_OP(id, spelling, operands, shape, required, optional) [HLO_OP_##id] = shape,
#include "frontend/hlo/syntax/hlo_opcodes.def"
#undef HLO_OP
};

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

static bool check(struct arena *scratch, struct arena *a, struct hlo_instruction *i, struct diag *d)
{
    if (!check_operand_count(i, d) || !hlo_check_attrs(i, d))
        return false;
    if (i->opcode == HLO_OP_CONDITIONAL && !check_conditional(scratch, i, d))
        return false;
    if (!i->shape && !(i->shape = hlo_infer(a, i, d)))
        return false;
    return !rules[i->opcode] || rules[i->opcode](scratch, i, d);
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
