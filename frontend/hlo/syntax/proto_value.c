/* Shapes, literals, metadata and lists of devices from protos; maps of ids. */
#include "frontend/hlo/syntax/check.h"
#include "frontend/hlo/syntax/lex.h"
#include "frontend/hlo/syntax/proto.h"

#include "hlo.pb-c.h"

#include <stddef.h>
#include <string.h>

struct hlo_ints proto_ints(struct arena *a, size_t n, const int64_t *v)
{
    struct hlo_ints r = {(int)n, NULL};
    if (n)
        r.v = arena_copy(a, v, n * sizeof *v);
    return r;
}

static struct hlo_ints ints32(struct arena *a, size_t n, const int32_t *v)
{
    struct hlo_ints r = {(int)n, ARENA_ARRAY(a, int64_t, n)};
    for (size_t k = 0; k < n; k++)
        r.v[k] = v[k];
    return r;
}

/* ---- shapes ---- */

static bool layout(struct arena *a, const Hlopb__LayoutProto *p, struct hlo_shape *s,
                   struct diag *d)
{
    struct hlo_layout l = {.tail_alignment = 1};
    bool plain = !p->n_tiles && !p->n_split_configs && !p->physical_shape;
    if (!p->n_minor_to_major && s->rank)
        return true; /* no order given: row-major */
    if (p->n_minor_to_major != (size_t)s->rank)
        return fail(d, "layout orders %zu dimensions, but the shape has %d", p->n_minor_to_major,
                    s->rank);
    l.minor_to_major = proto_ints(a, p->n_minor_to_major, p->minor_to_major).v;
    l.tiles.count = (int)p->n_tiles;
    l.tiles.v = ARENA_ARRAY(a, struct hlo_ints, p->n_tiles);
    for (size_t k = 0; k < p->n_tiles; k++)
        l.tiles.v[k] = proto_ints(a, p->tiles[k]->n_dimensions, p->tiles[k]->dimensions);
    bool sparse = false;
    for (size_t k = 0; k < p->n_dim_level_types; k++)
        sparse |= p->dim_level_types[k] != HLOPB__LAYOUT_PROTO__DIM_LEVEL_TYPE__DIM_DENSE;
    if (sparse) {
        l.level_count = (int)p->n_dim_level_types;
        l.levels = ARENA_ARRAY(a, struct hlo_level, p->n_dim_level_types);
        for (size_t k = 0; k < p->n_dim_level_types; k++) {
            l.levels[k].type = "DCSH"[p->dim_level_types[k] & 3];
            l.levels[k].not_unique = k < p->n_dim_unique && !p->dim_unique[k];
            l.levels[k].not_ordered = k < p->n_dim_ordered && !p->dim_ordered[k];
        }
    }
    if (p->has_tail_padding_alignment_in_elements && p->tail_padding_alignment_in_elements)
        l.tail_alignment = p->tail_padding_alignment_in_elements;
    l.index_type = hlo_type_from_number(p->index_primitive_type);
    l.pointer_type = hlo_type_from_number(p->pointer_primitive_type);
    l.element_bits = p->element_size_in_bits;
    l.memory_space = p->memory_space;
    l.metadata_bytes = p->dynamic_shape_metadata_prefix_bytes;
    l.split_count = (int)p->n_split_configs;
    l.splits = ARENA_ARRAY(a, struct hlo_split, p->n_split_configs);
    for (size_t k = 0; k < p->n_split_configs; k++) {
        const Hlopb__SplitConfigProto *c = p->split_configs[k];
        l.splits[k] =
            (struct hlo_split){c->dimension, proto_ints(a, c->n_split_indices, c->split_indices)};
    }
    if (p->physical_shape && !sparse)
        return fail(d, "layout has a physical shape, but the array is not sparse");
    if (p->physical_shape && !proto_shape(a, p->physical_shape, &l.physical, d))
        return false;
    plain &= !sparse && l.tail_alignment == 1 && !l.index_type && !l.pointer_type &&
             !l.element_bits && !l.memory_space && !l.metadata_bytes;
    for (int k = 0; k < s->rank; k++)
        plain &= l.minor_to_major[k] == s->rank - 1 - k;
    if (!plain)
        s->layout = arena_copy(a, &l, sizeof l);
    return true;
}

bool proto_shape(struct arena *a, const void *message, const struct hlo_shape **out, struct diag *d)
{
    const Hlopb__ShapeProto *p = message;
    struct hlo_shape *s = ARENA_NEW(a, struct hlo_shape);
    *out = s;
    if (!p)
        return fail(d, "a shape is missing");
    s->type = hlo_type_from_number(p->element_type);
    if (!s->type)
        return fail(d, "unknown element type %d", (int)p->element_type);
    if (s->type == HLO_TUPLE || s->type == HLO_BUFFER) {
        s->count = (int)p->n_tuple_shapes;
        s->elements = ARENA_ARRAY(a, const struct hlo_shape *, p->n_tuple_shapes);
        for (size_t k = 0; k < p->n_tuple_shapes; k++)
            if (!proto_shape(a, p->tuple_shapes[k], &s->elements[k], d))
                return false;
        return hlo_check_shape(s, d);
    }
    if (p->n_dimensions > HLO_MAX_RANK)
        return fail(d, "shape has %zu dimensions, more than %d", p->n_dimensions, HLO_MAX_RANK);
    s->rank = (int)p->n_dimensions;
    s->dims = proto_ints(a, p->n_dimensions, p->dimensions).v;
    bool dynamic[HLO_MAX_RANK] = {false}, any = false;
    for (int k = 0; k < s->rank; k++) {
        dynamic[k] = (size_t)k < p->n_is_dynamic_dimension && p->is_dynamic_dimension[k];
        any |= dynamic[k];
        if (dynamic[k] && (s->dims[k] == INT64_MIN || s->dims[k] == -1))
            s->dims[k] = HLO_UNBOUNDED;
        else if (s->dims[k] < 0)
            return fail(d, "negative dimension %lld", (long long)s->dims[k]);
    }
    if (any)
        s->dynamic = arena_copy(a, dynamic, sizeof dynamic[0] * (size_t)s->rank);
    if (p->layout && !layout(a, p->layout, s, d))
        return false;
    return hlo_check_shape(s, d);
}

/* ---- literals ---- */

#define M Hlopb__LiteralProto

/* Where the elements of each type are: in a bytes field, or in a repeated one of that width. */
static const struct {
    enum hlo_type type;
    bool bytes;
    size_t count, values; /* offsets */
    size_t width;         /* of a stored value */
} storage[] = {
#define BYTES(type, field)                                                                         \
    {                                                                                              \
        HLO_##type, true, 0, offsetof(M, field), 0                                                 \
    }
#define REPEATED(type, field)                                                                      \
    {                                                                                              \
        HLO_##type, false, offsetof(M, n_##field), offsetof(M, field), sizeof *((M *)0)->field     \
    }
    REPEATED(PRED, preds),
    REPEATED(S32, s32s),
    REPEATED(S64, s64s),
    REPEATED(U32, u32s),
    REPEATED(U64, u64s),
    REPEATED(F32, f32s),
    REPEATED(F64, f64s),
    REPEATED(C64, c64s),
    REPEATED(C128, c128s),
    BYTES(S1, s1s),
    BYTES(S2, s2s),
    BYTES(S4, s4s),
    BYTES(S8, s8s),
    BYTES(U1, u1s),
    BYTES(U2, u2s),
    BYTES(U4, u4s),
    BYTES(U8, u8s),
    BYTES(F16, f16s),
    BYTES(BF16, bf16s),
    BYTES(U16, u16s),
    BYTES(S16, s16s),
    BYTES(F4E2M1FN, f4e2m1fns),
    BYTES(F8E3M4, f8e3m4s),
    BYTES(F8E4M3B11FNUZ, f8e4m3b11fnuzs),
    BYTES(F8E4M3FN, f8e4m3fns),
    BYTES(F8E4M3FNUZ, f8e4m3fnuzs),
    BYTES(F8E4M3, f8e4m3s),
    BYTES(F8E5M2FNUZ, f8e5m2fnuzs),
    BYTES(F8E5M2, f8e5m2s),
    BYTES(F8E8M0FNU, f8e8m0fnus),
    BYTES(F6E3M2FN, f6e3m2fns),
    BYTES(F6E2M3FN, f6e2m3fns),
};

/* Elements in the order of the layout, put into row-major order. */
static void reorder(const struct hlo_shape *s, size_t bytes, const char *from, char *to)
{
    int64_t at[HLO_MAX_RANK] = {0}, stride[HLO_MAX_RANK], n;
    const int64_t *order = s->layout->minor_to_major;
    hlo_shape_count(s, &n);
    for (int k = s->rank - 1; k >= 0; k--)
        stride[k] = k == s->rank - 1 ? 1 : stride[k + 1] * s->dims[k + 1];
    int64_t target = 0;
    for (int64_t e = 0; e < n; e++) {
        memcpy(to + (size_t)target * bytes, from + (size_t)e * bytes, bytes);
        for (int k = 0; k < s->rank; k++) {
            int64_t dim = order[k];
            target += stride[dim];
            if (++at[dim] < s->dims[dim])
                break;
            target -= stride[dim] * s->dims[dim];
            at[dim] = 0;
        }
    }
}

static bool dense(struct arena *a, const M *p, struct hlo_literal *l, struct diag *d)
{
    const struct hlo_shape *s = l->shape;
    enum dtype dt = hlo_type_dtype(s->type);
    size_t bytes = dtype_bytes(dt), k = 0;
    int64_t n;
    while (k < sizeof storage / sizeof storage[0] && storage[k].type != s->type)
        k++;
    if (k == sizeof storage / sizeof storage[0] || !hlo_shape_count(s, &n))
        return fail(d, "a literal cannot have shape %s", hlo_shape_text(a, s));
    const char *base = (const char *)p, *from;
    size_t have;
    int parts = dtype_is_complex(dt) ? 2 : 1;
    if (storage[k].bytes) {
        const ProtobufCBinaryData *v = (const void *)(base + storage[k].values);
        from = (const char *)v->data;
        have = v->len / bytes;
    } else {
        from = *(char *const *)(base + storage[k].values);
        have = *(const size_t *)(base + storage[k].count) / (size_t)parts;
    }
    if (have != (size_t)n)
        return fail(d, "literal of shape %s has %zu elements, expected %lld", hlo_shape_text(a, s),
                    have, (long long)n);
    l->count = (size_t)n;
    char *to = l->data = arena_alloc(a, (size_t)n * bytes);
    if (s->type == HLO_PRED) { /* stored as int */
        char *flat = arena_alloc(a, (size_t)n);
        for (size_t e = 0; e < have; e++)
            flat[e] = ((const protobuf_c_boolean *)from)[e] != 0;
        from = flat;
    }
    if (s->layout && s->rank > 1)
        reorder(s, bytes, from, to);
    else if (n)
        memcpy(to, from, (size_t)n * bytes);
    if (dtype_info(dt)->bits < 8 && dtype_is_int(dt)) /* whatever the unused bits were */
        for (size_t e = 0; e < have; e++)
            dtype_store_i64(dt, to, e, ((const int8_t *)to)[e]);
    return true;
}

bool proto_literal(struct arena *a, const void *message, const struct hlo_literal **out,
                   struct diag *d)
{
    const M *p = message;
    struct hlo_literal *l = ARENA_NEW(a, struct hlo_literal);
    *out = l;
    if (!proto_shape(a, p->shape, &l->shape, d))
        return false;
    if (l->shape->type == HLO_TOKEN)
        return true;
    if (l->shape->type != HLO_TUPLE)
        return dense(a, p, l, d);
    if (p->n_tuple_literals != (size_t)l->shape->count)
        return fail(d, "tuple literal has %zu elements, its shape %d", p->n_tuple_literals,
                    l->shape->count);
    l->elements = ARENA_ARRAY(a, const struct hlo_literal *, p->n_tuple_literals);
    for (size_t k = 0; k < p->n_tuple_literals; k++) {
        if (!proto_literal(a, p->tuple_literals[k], &l->elements[k], d))
            return false;
        if (!hlo_shape_compatible(l->elements[k]->shape, l->shape->elements[k]))
            return fail(d, "tuple literal's element %zu has another shape than the tuple says", k);
    }
    return true;
}

/* ---- metadata and devices ---- */

static const char *text(struct proto_reader *r, const char *s)
{
    return s && *s ? hlo_intern(&r->names, s, strlen(s)) : NULL;
}

const struct hlo_metadata *proto_metadata(struct proto_reader *r, const void *message)
{
    const Hlopb__OpMetadata *p = message;
    struct hlo_metadata *m = ARENA_NEW(r->arena, struct hlo_metadata);
    m->op_type = text(r, p->op_type);
    m->op_name = text(r, p->op_name);
    m->source_file = text(r, p->source_file);
    m->deduplicated_name = text(r, p->deduplicated_name);
    m->scheduling_name = text(r, p->scheduling_name);
    m->source_line = p->source_line;
    m->source_end_line = p->source_end_line;
    m->source_column = p->source_column;
    m->source_end_column = p->source_end_column;
    m->stack_frame_id = p->stack_frame_id;
    m->code_bytes = p->size_of_generated_code_in_bytes;
    m->working_set_bytes = p->size_of_memory_working_set_in_bytes;
    return m;
}

static bool permutation(const struct hlo_ints *v, int n)
{
    uint64_t seen = 0;
    for (int k = 0; k < v->count; k++) {
        if (v->v[k] < 0 || v->v[k] >= n || n > 64 || seen >> v->v[k] & 1)
            return false;
        seen |= (uint64_t)1 << v->v[k];
    }
    return v->count == n;
}

bool proto_iota(struct proto_reader *r, size_t n, const int64_t *dims, size_t m,
                const int32_t *perm, struct hlo_iota *out)
{
    out->dims = proto_ints(r->arena, n, dims);
    out->perm = ints32(r->arena, m, perm);
    return permutation(&out->perm, out->dims.count) ||
           fail(r->d, "a device list's transposition is not a permutation");
}

struct hlo_pairs proto_pairs(struct proto_reader *r, const void *message)
{
    const Hlopb__FrontendAttributes *p = message;
    struct hlo_pairs f = {0};
    f.v = ARENA_ARRAY(r->arena, struct hlo_pair, p->n_map);
    for (size_t k = 0; k < p->n_map; k++) {
        const char *value = p->map[k]->value ? p->map[k]->value : "";
        struct hlo_pair pair = {hlo_name_clean(&r->names, p->map[k]->key ? p->map[k]->key : ""),
                                {arena_strdup(r->arena, value), strlen(value), false}};
        pair.value.raw = lex_is_raw(pair.value.data, pair.value.size);
        int at = f.count++; /* sorted: a map has no order of its own */
        for (; at > 0 && strcmp(f.v[at - 1].key, pair.key) > 0; at--)
            f.v[at] = f.v[at - 1];
        f.v[at] = pair;
    }
    return f;
}

/* ---- ids ---- */

void id_map_init(struct id_map *m, struct arena *a, size_t count)
{
    m->capacity = 16;
    while (m->capacity < 2 * count)
        m->capacity *= 2;
    m->slots = ARENA_ARRAY(a, struct id_slot, m->capacity);
}

static struct id_slot *slot_of(const struct id_map *m, uint32_t id)
{
    uint32_t k = id * 2654435769u & (m->capacity - 1);
    while (m->slots[k].value && m->slots[k].id != id)
        k = (k + 1) & (m->capacity - 1);
    return &m->slots[k];
}

bool id_map_add(struct id_map *m, int64_t id, void *value)
{
    struct id_slot *s = slot_of(m, (uint32_t)id);
    if (s->value)
        return false;
    s->id = (uint32_t)id;
    s->value = value;
    return true;
}

void *id_map_find(const struct id_map *m, int64_t id)
{
    return m->slots ? slot_of(m, (uint32_t)id)->value : NULL;
}
