/* The tables of opcodes, attributes, enumerations and types, and look-ups in them. */
#include "frontend/hlo/syntax/hlo.h"

#include <string.h>

#define A(id)              HLO_ATTR_##id,
#define ONE(id)            (int)HLO_ATTR_##id + HLO_ATTR_ONE,
#define LIST(...)          ((const uint8_t[]){__VA_ARGS__ HLO_ATTR_INVALID})
#define TAKES(n)           n, .any_type = true
#define SOME_ARRAYS(min) min, .or_more = true
#define SOME(min)        min, .or_more = true, .any_type = true
#define PAIRS              2, .or_more = true, .expected = "inputs and as many initial values"
#define UPDATES            3, .or_more = true, .expected = "inputs, indices, and as many updates"
#define INFERRED(rule)     true
#define STATED             false
#define CHECKED(rule)      false
#define VERIFIED(rule)     false
_Static_assert((int)HLO_ATTR_COUNT < HLO_ATTR_ONE, "HLO_ATTR_ONE is no part of an attribute's number");

static const struct hlo_op_info ops[HLO_OP_COUNT] = {
#define HLO_OP(id, spelling, operands, shape, required, optional)                                  \
    [HLO_OP_##id] = {spelling, {.count = operands}, shape, required, optional},
#include "frontend/hlo/syntax/hlo_opcodes.def"
#undef HLO_OP
};

static const uint8_t *const common = HLO_COMMON_ATTRS;

#define ABSENT HLO_ABSENT
static const struct hlo_attr_info attrs[HLO_ATTR_COUNT] = {
#define HLO_ATTR(id, spelling, kind, standard, set)                                                \
    [HLO_ATTR_##id] = {spelling, HLO_KIND_##kind, HLO_SET_##set, standard},
#include "frontend/hlo/syntax/hlo_attrs.def"
#undef HLO_ATTR
};

static const struct {
    enum hlo_enum_set set;
    int64_t value;
    const char *name;
} enums[] = {
#define HLO_ENUM(set, id, value, spelling) {HLO_SET_##set, value, spelling},
#include "frontend/hlo/syntax/hlo_enums.def"
#undef HLO_ENUM
};

static const struct {
    const char *name;
    int number;
    enum dtype dtype;
} types[HLO_TYPE_COUNT] = {
#define HLO_TYPE(id, spelling, number, dtype) [HLO_##id] = {spelling, number, dtype},
#include "frontend/hlo/syntax/hlo_types.def"
#undef HLO_TYPE
};

static bool same(const char *name, const char *s, size_t size)
{
    return strncmp(name, s, size) == 0 && name[size] == 0;
}

const struct hlo_op_info *hlo_op_info(enum hlo_opcode op)
{
    return &ops[op];
}
const struct hlo_attr_info *hlo_attr_info(enum hlo_attr_id id)
{
    return &attrs[id];
}

enum hlo_opcode hlo_op_find(const char *name, size_t size)
{
    int low = 1, high = HLO_OP_COUNT - 1;
    while (low <= high) {
        int mid = (low + high) / 2;
        int order = strncmp(name, ops[mid].name, size);
        if (!order && ops[mid].name[size])
            order = -1;
        if (!order)
            return (enum hlo_opcode)mid;
        if (order < 0)
            high = mid - 1;
        else
            low = mid + 1;
    }
    return HLO_OP_INVALID;
}

static enum hlo_attr_id find_in(const uint8_t *list, const char *name, size_t size)
{
    for (; *list; list++)
        if (same(attrs[*list % HLO_ATTR_ONE].name, name, size))
            return (enum hlo_attr_id)(*list % HLO_ATTR_ONE);
    return HLO_ATTR_INVALID;
}

enum hlo_attr_id hlo_attr_find(enum hlo_opcode op, const char *name, size_t size, bool *known)
{
    *known = true;
    const uint8_t *const lists[] = {ops[op].required, ops[op].optional, common};
    for (int k = 0; k < 3; k++) {
        enum hlo_attr_id id = find_in(lists[k], name, size);
        if (id)
            return id;
    }
    for (int k = 1; k < HLO_ATTR_COUNT; k++)
        if (same(attrs[k].name, name, size))
            return HLO_ATTR_INVALID;
    *known = false;
    return HLO_ATTR_INVALID;
}

static bool contains(const uint8_t *list, enum hlo_attr_id id)
{
    for (; *list; list++)
        if (*list % HLO_ATTR_ONE == id)
            return true;
    return false;
}

bool hlo_op_requires(enum hlo_opcode op, enum hlo_attr_id id)
{
    return contains(ops[op].required, id);
}

bool hlo_op_admits(enum hlo_opcode op, enum hlo_attr_id id)
{
    return contains(ops[op].required, id) || contains(ops[op].optional, id) || contains(common, id);
}

bool hlo_enum_find(enum hlo_enum_set set, const char *name, size_t size, int64_t *value)
{
    for (size_t k = 0; k < sizeof enums / sizeof enums[0]; k++)
        if (enums[k].set == set && same(enums[k].name, name, size)) {
            *value = enums[k].value;
            return true;
        }
    return false;
}

const char *hlo_enum_name(enum hlo_enum_set set, int64_t value)
{
    for (size_t k = 0; k < sizeof enums / sizeof enums[0]; k++)
        if (enums[k].set == set && enums[k].value == value)
            return enums[k].name;
    return NULL;
}

enum hlo_type hlo_type_find(const char *name, size_t size)
{
    for (int k = 1; k < HLO_TYPE_COUNT; k++)
        if (same(types[k].name, name, size))
            return (enum hlo_type)k;
    return HLO_TYPE_INVALID;
}

enum hlo_type hlo_type_from_number(int64_t number)
{
    for (int k = 1; k < HLO_TYPE_COUNT; k++)
        if (types[k].number == number)
            return (enum hlo_type)k;
    return HLO_TYPE_INVALID;
}

const char *hlo_type_name(enum hlo_type t)
{
    return types[t].name;
}
enum dtype hlo_type_dtype(enum hlo_type t)
{
    return types[t].dtype;
}

const struct hlo_attr *hlo_attr(const struct hlo_instruction *i, enum hlo_attr_id id)
{
    for (int k = 0; k < i->attr_count; k++)
        if (i->attrs[k].id == id)
            return &i->attrs[k];
    return NULL;
}

int64_t hlo_attr_int(const struct hlo_instruction *i, enum hlo_attr_id id)
{
    const struct hlo_attr *a = hlo_attr(i, id);
    return a ? a->i : attrs[id].standard == HLO_ABSENT ? 0 : attrs[id].standard;
}

struct hlo_ints hlo_attr_ints(const struct hlo_instruction *i, enum hlo_attr_id id)
{
    const struct hlo_attr *a = hlo_attr(i, id);
    return a ? *a->ints : (struct hlo_ints){0};
}

struct hlo_computation *hlo_attr_computation(const struct hlo_instruction *i, enum hlo_attr_id id)
{
    const struct hlo_attr *a = hlo_attr(i, id);
    return a ? a->computation : NULL;
}

const char *hlo_attr_text(const struct hlo_instruction *i, enum hlo_attr_id id)
{
    const struct hlo_attr *a = hlo_attr(i, id);
    return a ? a->text->data : "";
}

const char *hlo_source(const struct hlo_module *m, const struct hlo_instruction *i, struct arena *a)
{
    const struct hlo_attr *attr = hlo_attr(i, HLO_ATTR_metadata);
    if (!attr)
        return NULL;
    const struct hlo_metadata *md = attr->metadata;
    if (md->source_file && md->source_line)
        return arena_printf(a, "%s:%lld", md->source_file, (long long)md->source_line);
    if (md->source_file)
        return md->source_file;
    const struct hlo_stack_frames *s = &m->stack;
    if (md->stack_frame_id > 0 && md->stack_frame_id <= s->frame_count) {
        int64_t at = s->frames[md->stack_frame_id - 1].location;
        if (at > 0 && at <= s->location_count) {
            const struct hlo_location *l = &s->locations[at - 1];
            if (l->file > 0 && l->file <= s->file_count)
                return arena_printf(a, "%s:%lld", s->files[l->file - 1], (long long)l->line);
        }
    }
    return md->op_name;
}
