/* One form for what can be said in several ways: attributes that equal their defaults are left out.
 */
#include "frontend/hlo/syntax/check.h"

#include <stdlib.h>
#include <string.h>

static int by_id(const void *a, const void *b)
{
    return (int)((const struct hlo_attr *)a)->id - (int)((const struct hlo_attr *)b)->id;
}

/* What `type` of compare means when it is left out. */
static int64_t comparison_of(const struct hlo_instruction *i)
{
    enum dtype dt = i->operand_count ? hlo_type_dtype(i->operands[0]->shape->type) : DT_NONE;
    switch (dtype_class(dt)) {
    case DTC_SINT:
        return HLO_COMPARISON_SIGNED;
    case DTC_UINT:
    case DTC_BOOL:
        return HLO_COMPARISON_UNSIGNED;
    default:
        return HLO_COMPARISON_FLOAT;
    }
}

static bool all(const struct hlo_ints *v, int64_t value)
{
    for (int k = 0; k < v->count; k++)
        if (v->v[k] != value)
            return false;
    return true;
}

static bool counts_up(const struct hlo_ints *v)
{
    for (int k = 0; k < v->count; k++)
        if (v->v[k] != k)
            return false;
    return true;
}

static bool required(const struct hlo_instruction *i, const struct hlo_attr *a)
{
    return hlo_op_requires(i->opcode, a->id);
}

static bool is_standard(const struct hlo_instruction *i, const struct hlo_attr *a)
{
    const struct hlo_attr_info *info = hlo_attr_info(a->id);
    if (a->id == HLO_ATTR_type)
        return a->i == comparison_of(i);
    return info->standard != HLO_ABSENT && a->i == info->standard;
}

static bool ints_are_standard(const struct hlo_instruction *i, const struct hlo_attr *a)
{
    if (i->opcode == HLO_OP_MAP && a->id == HLO_ATTR_dimensions)
        return counts_up(a->ints);
    if (i->opcode == HLO_OP_BROADCAST && i->operand_count && i->operands[0]->shape->rank)
        return false;
    return !required(i, a) && !a->ints->count;
}

static bool text_is_standard(const struct hlo_instruction *i, const struct hlo_attr *a)
{
    if (a->id == HLO_ATTR_async_execution_thread && !strcmp(a->text->data, "main"))
        return true;
    return !required(i, a) && !a->text->size;
}

static bool metadata_is_empty(const struct hlo_metadata *m)
{
    return !m->op_type && !m->op_name && !m->source_file && !m->deduplicated_name &&
           !m->scheduling_name && !m->payload.data && !m->source_line && !m->source_end_line &&
           !m->source_column && !m->source_end_column && !m->stack_frame_id && !m->code_bytes &&
           !m->working_set_bytes && !m->profile_types.count;
}

#define IN(member)  &a->member
#define OWN(member) a->member
#define REF(member) a->member
#define KIND(id, member, stored, type, parse, print, standard)                                     \
    static bool standard_##id(const struct hlo_instruction *i, const struct hlo_attr *a)           \
    {                                                                                              \
        const type *v = stored(member);                                                            \
        (void)v;                                                                                   \
        return standard;                                                                           \
    }
#include "frontend/hlo/syntax/hlo_kinds.def"

static bool (*const standards[HLO_KIND_COUNT])(const struct hlo_instruction *i,
                                               const struct hlo_attr *a) = {
#define KIND(id, ...) [HLO_KIND_##id] = standard_##id,
#include "frontend/hlo/syntax/hlo_kinds.def"
};

/* Whether the attribute says what its absence would. */
static bool is_default(const struct hlo_instruction *i, const struct hlo_attr *a)
{
    enum hlo_attr_kind kind = hlo_attr_info(a->id)->kind;
    return standards[kind] && standards[kind](i, a);
}

/* A custom call's to_apply=C is called_computations={C}. */
static void rename_callee(struct arena *a, struct hlo_attr *attr)
{
    struct hlo_computations *list = ARENA_NEW(a, struct hlo_computations);
    list->count = 1;
    list->v = arena_copy(a, &attr->computation, sizeof attr->computation);
    attr->id = HLO_ATTR_called_computations;
    attr->computations = list;
}

void hlo_normalise(struct arena *a, struct hlo_instruction *i)
{
    int kept = 0;
    for (int k = 0; k < i->attr_count; k++) {
        if (is_default(i, &i->attrs[k]))
            continue;
        i->attrs[kept++] = i->attrs[k];
    }
    i->attr_count = kept;
    struct hlo_attr *callee = (struct hlo_attr *)hlo_attr(i, HLO_ATTR_to_apply);
    if (i->opcode == HLO_OP_CUSTOM_CALL && callee && !hlo_attr(i, HLO_ATTR_called_computations))
        rename_callee(a, callee);
    if (kept > 1)
        qsort(i->attrs, (size_t)kept, sizeof *i->attrs, by_id);
}
