/* HLO modules as protos: unpacked, one field changed by what its descriptor says, packed again, so that lengths are
 * right. */
#include "test/fuzz/mutate.h"

#include "hlo.pb-c.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLACES = 1 << 14, MAX_DEPTH = 24, MAX_ITEMS = 1 << 12 };

struct hlo_place { /* a field of a message */
    ProtobufCMessage *m;
    const ProtobufCFieldDescriptor *f;
};

struct hlo_walk {
    uint64_t *seed;
    struct hlo_place *place;
    size_t count;
};

static const char *const opcodes[] = {
#define HLO_OP(id, spelling, operands, shape, required, optional) spelling,
#include "frontend/hlo/syntax/hlo_opcodes.def"
#undef HLO_OP
};

/* ---- fields ---- */

static void *slot_of(const struct hlo_place *p)
{
    return (char *)p->m + p->f->offset;
}

static void *quantifier(const struct hlo_place *p)
{
    return (char *)p->m + p->f->quantifier_offset;
}

static bool repeated(const struct hlo_place *p)
{
    return p->f->label == PROTOBUF_C_LABEL_REPEATED;
}

static bool is_message(const struct hlo_place *p)
{
    return p->f->type == PROTOBUF_C_TYPE_MESSAGE;
}

/* Bytes of one item in memory. */
static size_t width(const ProtobufCFieldDescriptor *f)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return 8;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE: return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_BOOL: return sizeof(protobuf_c_boolean);
    default: return 4;
    }
}

static bool is_number(const ProtobufCFieldDescriptor *f)
{
    return f->type != PROTOBUF_C_TYPE_STRING && f->type != PROTOBUF_C_TYPE_BYTES && f->type != PROTOBUF_C_TYPE_MESSAGE;
}

static size_t count_of(const struct hlo_place *p)
{
    if (repeated(p))
        return *(size_t *)quantifier(p);
    if (p->f->type == PROTOBUF_C_TYPE_STRING || is_message(p))
        return *(void **)slot_of(p) != NULL && *(const void **)slot_of(p) != p->f->default_value;
    return *(protobuf_c_boolean *)quantifier(p) != 0;
}

static void *item(const struct hlo_place *p, size_t i)
{
    return repeated(p) ? *(char **)slot_of(p) + i * width(p->f) : slot_of(p);
}

static void walk(struct hlo_walk *w, ProtobufCMessage *m, int depth)
{
    for (unsigned i = 0; i < m->descriptor->n_fields && depth < MAX_DEPTH; i++) {
        struct hlo_place p = {m, &m->descriptor->fields[i]};
        if (w->count == MAX_PLACES)
            return;
        w->place[w->count++] = p;
        for (size_t k = 0; is_message(&p) && k < count_of(&p); k++)
            walk(w, *(ProtobufCMessage **)item(&p, k), depth + 1);
    }
}

/* A field of the same kind that has a value, in another place. */
static const struct hlo_place *kin(const struct hlo_walk *w, const struct hlo_place *p)
{
    const struct hlo_place *found = NULL;
    size_t seen = 0;
    for (size_t i = 0; i < w->count; i++)
        if (w->place[i].f == p->f && w->place[i].m != p->m && count_of(&w->place[i]) && !mutate_below(w->seed, ++seen))
            found = &w->place[i];
    return found;
}

/* ---- values ---- */

static ProtobufCMessage *copy_message(const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    uint8_t *bytes = malloc(n + 1);
    if (!bytes)
        return NULL;
    protobuf_c_message_pack(m, bytes);
    ProtobufCMessage *copy = protobuf_c_message_unpack(m->descriptor, NULL, n, bytes);
    free(bytes);
    return copy;
}

static char *copy_text(const char *s)
{
    char *copy = malloc(strlen(s) + 1);
    return copy ? strcpy(copy, s) : NULL;
}

static void free_item(const ProtobufCFieldDescriptor *f, void *at)
{
    if (f->type == PROTOBUF_C_TYPE_MESSAGE)
        protobuf_c_message_free_unpacked(*(ProtobufCMessage **)at, NULL);
    else if (f->type == PROTOBUF_C_TYPE_STRING && *(const void **)at != f->default_value)
        free(*(char **)at);
    else if (f->type == PROTOBUF_C_TYPE_BYTES)
        free(((ProtobufCBinaryData *)at)->data);
    memset(at, 0, width(f));
}

static bool copy_item(const ProtobufCFieldDescriptor *f, const void *from, void *to)
{
    memcpy(to, from, width(f));
    if (f->type == PROTOBUF_C_TYPE_MESSAGE)
        return (*(ProtobufCMessage **)to = copy_message(*(ProtobufCMessage *const *)from)) != NULL;
    if (f->type == PROTOBUF_C_TYPE_STRING)
        return (*(char **)to = copy_text(*(char *const *)from)) != NULL;
    if (f->type == PROTOBUF_C_TYPE_BYTES) {
        ProtobufCBinaryData *b = to;
        uint8_t *data = malloc(b->len + 1);
        if (data && b->len)
            memcpy(data, b->data, b->len);
        b->data = data;
        return data != NULL;
    }
    return true;
}

/* An item that is not there yet: zero, or the message without fields. */
static bool new_item(const ProtobufCFieldDescriptor *f, void *to)
{
    memset(to, 0, width(f));
    if (f->type == PROTOBUF_C_TYPE_MESSAGE)
        return (*(ProtobufCMessage **)to = protobuf_c_message_unpack(f->descriptor, NULL, 0, NULL)) != NULL;
    if (f->type == PROTOBUF_C_TYPE_STRING)
        return (*(char **)to = copy_text("")) != NULL;
    return true;
}

static int64_t other_value(struct hlo_walk *w, int64_t v)
{
    switch (mutate_below(w->seed, 4)) {
    case 0: return (int64_t)((uint64_t)v + mutate_below(w->seed, 5) - 2);
    case 1: return (int64_t)mutate_below(w->seed, 9);
    case 2: return -(int64_t)mutate_below(w->seed, 5);
    default: return mutate_value(w->seed);
    }
}

static double other_real(struct hlo_walk *w)
{
    static const double values[] = {0, -0.0, 1, -1, 0.5, 3e38, -3e38, 1e-45, 2147483648.0, 9.3e18};
    size_t n = sizeof values / sizeof *values, k = mutate_below(w->seed, n + 2);
    return k < n ? values[k] : k == n ? (double)__builtin_nanf("") : (double)__builtin_inff();
}

static void change_number(struct hlo_walk *w, const ProtobufCFieldDescriptor *f, void *at)
{
    if (f->type == PROTOBUF_C_TYPE_DOUBLE) {
        *(double *)at = other_real(w);
    } else if (f->type == PROTOBUF_C_TYPE_FLOAT) {
        *(float *)at = (float)other_real(w);
    } else if (f->type == PROTOBUF_C_TYPE_BOOL) {
        *(protobuf_c_boolean *)at = !*(protobuf_c_boolean *)at;
    } else if (f->type == PROTOBUF_C_TYPE_ENUM && mutate_below(w->seed, 8)) {
        const ProtobufCEnumDescriptor *e = f->descriptor;
        *(int *)at = e->values[mutate_below(w->seed, e->n_values)].value;
    } else if (width(f) == 8) {
        *(int64_t *)at = other_value(w, *(int64_t *)at);
    } else {
        *(int32_t *)at = (int32_t)other_value(w, *(int32_t *)at);
    }
}

static void change_text(struct hlo_walk *w, const ProtobufCFieldDescriptor *f, char **at)
{
    uint8_t text[300];
    size_t n = strlen(*at);
    const char *with = (char *)text;
    if (!strcmp(f->name, "opcode")) {
        with = opcodes[mutate_below(w->seed, sizeof opcodes / sizeof *opcodes)];
    } else {
        if (n > 200)
            return;
        memcpy(text, *at, n);
        n = n ? mutate_bytes(text, n, sizeof text - 1, w->seed) : (text[0] = 'x', 1);
        text[n] = 0;
    }
    char *copy = copy_text(with);
    if (!copy)
        return;
    if ((const void *)*at != f->default_value)
        free(*at);
    *at = copy;
}

static void change_bytes(struct hlo_walk *w, ProtobufCBinaryData *b)
{
    size_t room = b->len + 64;
    uint8_t *data = calloc(1, room);
    if (!data || b->len > MAX_ITEMS) {
        free(data);
        return;
    }
    if (b->len)
        memcpy(data, b->data, b->len);
    size_t n = b->len ? mutate_bytes(data, b->len, room, w->seed) : 1;
    free(b->data);
    *b = (ProtobufCBinaryData){n, data};
}

static void change_item(struct hlo_walk *w, const struct hlo_place *p, size_t i)
{
    if (is_number(p->f))
        change_number(w, p->f, item(p, i));
    else if (p->f->type == PROTOBUF_C_TYPE_STRING)
        change_text(w, p->f, item(p, i));
    else if (p->f->type == PROTOBUF_C_TYPE_BYTES)
        change_bytes(w, item(p, i));
}

/* ---- whole fields ---- */

static bool resize(const struct hlo_place *p, size_t n)
{
    size_t *count = quantifier(p);
    char **items = slot_of(p);
    for (; *count > n; --*count)
        free_item(p->f, item(p, *count - 1));
    char *grown = realloc(*items, (n + 1) * width(p->f));
    if (!grown)
        return false;
    *items = grown;
    for (; *count < n && new_item(p->f, item(p, *count)); ++*count)
        continue;
    return *count == n;
}

static void remove_item(const struct hlo_place *p, size_t i)
{
    if (!repeated(p)) {
        free_item(p->f, slot_of(p));
        if (is_message(p) || p->f->type == PROTOBUF_C_TYPE_STRING)
            *(const void **)slot_of(p) = p->f->default_value;
        else
            *(protobuf_c_boolean *)quantifier(p) = 0;
        return;
    }
    size_t n = count_of(p), size = width(p->f);
    free_item(p->f, item(p, i));
    memmove(item(p, i), (char *)item(p, i) + size, (n - i - 1) * size);
    memset(item(p, n - 1), 0, size);
    *(size_t *)quantifier(p) = n - 1;
}

union hlo_item { /* room for one of any type */
    void *pointer;
    ProtobufCBinaryData bytes;
    uint64_t bits;
};

/* One of the items there, in memory of its own: what it becomes a part of may be inside it. */
static bool copy_any(struct hlo_walk *w, const struct hlo_place *from, union hlo_item *made)
{
    return from && copy_item(from->f, item(from, mutate_below(w->seed, count_of(from))), made);
}

static void put_item(const struct hlo_place *p, size_t i, const union hlo_item *made)
{
    free_item(p->f, item(p, i));
    memcpy(item(p, i), made, width(p->f));
}

/* An item that was not there: one that stands elsewhere, or an empty one. */
static void add_item(struct hlo_walk *w, const struct hlo_place *p)
{
    const struct hlo_place *from = mutate_below(w->seed, 4) ? kin(w, p) : NULL;
    union hlo_item made;
    size_t n = count_of(p);
    if (!repeated(p) && n)
        return;
    if (!from && n && mutate_below(w->seed, 2))
        from = p;
    bool copied = copy_any(w, from, &made);
    if (!(repeated(p) ? resize(p, n + 1) : new_item(p->f, slot_of(p))))
        abort();
    if (!repeated(p) && !is_message(p) && p->f->type != PROTOBUF_C_TYPE_STRING)
        *(protobuf_c_boolean *)quantifier(p) = 1;
    if (copied)
        put_item(p, n, &made);
    else
        change_item(w, p, n);
}

static void replace_item(struct hlo_walk *w, const struct hlo_place *p, size_t i)
{
    union hlo_item made;
    if (copy_any(w, kin(w, p), &made))
        put_item(p, i, &made);
}

static void change_place(struct hlo_walk *w, const struct hlo_place *p)
{
    size_t n = count_of(p), what = mutate_below(w->seed, 8);
    if (!n || what == 0)
        add_item(w, p);
    else if (what == 1)
        remove_item(p, mutate_below(w->seed, n));
    else if (what < 4 || is_message(p))
        replace_item(w, p, mutate_below(w->seed, n));
    else
        change_item(w, p, mutate_below(w->seed, n));
}

/* ---- changes of several places ---- */

/* One size becomes another in all shapes, so that they still go together. */
static void change_size(struct hlo_walk *w)
{
    int64_t from = 0, to = (int64_t)mutate_below(w->seed, 12);
    size_t seen = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < w->count; i++) {
            const struct hlo_place *p = &w->place[i];
            bool dims = p->m->descriptor == &hlopb__shape_proto__descriptor && !strcmp(p->f->name, "dimensions");
            bool sizes = strstr(p->f->name, "_sizes") != NULL;
            for (size_t k = 0; (dims || (sizes && pass)) && k < count_of(p); k++) {
                int64_t *size = item(p, k);
                if (pass && *size == from)
                    *size = to;
                else if (!pass && !mutate_below(w->seed, ++seen))
                    from = *size;
            }
        }
}

/* All shapes of one type get another. */
static void change_type(struct hlo_walk *w)
{
    static const int common[] = {1, 2, 4, 5, 6, 8, 9, 10, 11, 11, 12, 13, 15, 16, 17, 18, 20, 21, 33};
    int from = -1, to = common[mutate_below(w->seed, sizeof common / sizeof *common)];
    size_t seen = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < w->count; i++) {
            const struct hlo_place *p = &w->place[i];
            if (p->m->descriptor != &hlopb__shape_proto__descriptor || strcmp(p->f->name, "element_type") ||
                !count_of(p))
                continue;
            int *type = item(p, 0);
            if (pass && *type == from)
                *type = to;
            else if (!pass && !mutate_below(w->seed, ++seen))
                from = *type;
        }
}

/* Every literal that is no tuple gets as many numbers as its shape says. */
static void mend_literals(struct hlo_walk *w)
{
    for (size_t i = 0; i < w->count; i++) {
        if (w->place[i].m->descriptor != &hlopb__literal_proto__descriptor || strcmp(w->place[i].f->name, "shape"))
            continue;
        const Hlopb__LiteralProto *l = (Hlopb__LiteralProto *)w->place[i].m;
        uint64_t n = l->shape ? 1 : MAX_ITEMS + 1;
        for (size_t k = 0; l->shape && k < l->shape->n_dimensions; k++)
            n = l->shape->dimensions[k] < 0 || n > MAX_ITEMS || l->shape->dimensions[k] > MAX_ITEMS
                    ? MAX_ITEMS + 1
                    : n * (uint64_t)l->shape->dimensions[k];
        for (unsigned k = 0; n <= MAX_ITEMS && k < l->base.descriptor->n_fields; k++) {
            struct hlo_place p = {w->place[i].m, &l->base.descriptor->fields[k]};
            bool pairs = p.f->name[0] == 'c';
            if (repeated(&p) && is_number(p.f) && count_of(&p))
                resize(&p, (size_t)n * (pairs ? 2 : 1));
        }
    }
}

/* ---- one mutation ---- */

static void change(struct hlo_walk *w)
{
    size_t what = mutate_below(w->seed, 16);
    if (what < 4)
        change_size(w);
    else if (what < 6)
        change_type(w);
    else
        for (int tries = 0; tries < 100; tries++) { /* absent fields less often, names hardly ever */
            const struct hlo_place *p = &w->place[mutate_below(w->seed, w->count)];
            bool dull = p->m->descriptor == &hlopb__op_metadata__descriptor || !strcmp(p->f->name, "name");
            if ((count_of(p) || !mutate_below(w->seed, 40)) && (!dull || !mutate_below(w->seed, 20))) {
                change_place(w, p);
                return;
            }
        }
}

size_t mutate_hlo(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    static struct hlo_place places[MAX_PLACES];
    const ProtobufCMessageDescriptor *kinds[] = {&hlopb__hlo_module_proto__descriptor, &hlopb__hlo_proto__descriptor};
    ProtobufCMessage *m = NULL;
    struct hlo_walk w = {seed, places, 0};
    for (int i = 0; !m && i < 2; i++) {
        m = protobuf_c_message_unpack(kinds[i], NULL, size, data);
        w.count = 0;
        if (m)
            walk(&w, m, 0);
        bool any =
            m && (i ? ((Hlopb__HloProto *)m)->hlo_module != NULL : ((Hlopb__HloModuleProto *)m)->n_computations > 0);
        if (m && !any) {
            protobuf_c_message_free_unpacked(m, NULL);
            m = NULL;
        }
    }
    if (!m || !mutate_below(seed, 32)) {
        if (m)
            protobuf_c_message_free_unpacked(m, NULL);
        return mutate_bytes(data, size, room, seed);
    }
    change(&w);
    w.count = 0;
    walk(&w, m, 0);
    if (mutate_below(seed, 4))
        mend_literals(&w);
    size_t n = protobuf_c_message_get_packed_size(m);
    if (n <= room)
        size = protobuf_c_message_pack(m, data);
    protobuf_c_message_free_unpacked(m, NULL);
    return size;
}
