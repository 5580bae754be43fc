/* ONNX models by field: the protobuf messages are walked with their rules, one field becomes another. */
#include "test/fuzz/mutate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the messages ---- */

enum message {
    MODEL,
    GRAPH,
    NODE,
    ATTRIBUTE,
    TENSOR,
    SPARSE,
    VALUE,
    TYPE,
    TENSOR_TYPE,
    SHAPE,
    DIM,
    NEST, /* a sequence, a map or an optional */
    OPSET,
    FUNCTION,
    ENTRY
};

/* What a field holds. Fields of one kind from NAME to ELEMENT are taken for one another. */
enum kind { TEXT, NAME, OPERATOR, KEY, ELEMENT, NUMBER, NUMBERS, FLOAT, DATA, CHILD };

static const struct rule {
    uint8_t message, number, kind, child;
} rules[] = {
    {MODEL, 1, NUMBER, 0},           {MODEL, 7, CHILD, GRAPH},         {MODEL, 8, CHILD, OPSET},
    {MODEL, 14, CHILD, ENTRY},       {MODEL, 25, CHILD, FUNCTION},     {GRAPH, 1, CHILD, NODE},
    {GRAPH, 2, TEXT, 0},             {GRAPH, 5, CHILD, TENSOR},        {GRAPH, 15, CHILD, SPARSE},
    {GRAPH, 11, CHILD, VALUE},       {GRAPH, 12, CHILD, VALUE},        {GRAPH, 13, CHILD, VALUE},
    {NODE, 1, NAME, 0},              {NODE, 2, NAME, 0},               {NODE, 3, TEXT, 0},
    {NODE, 4, OPERATOR, 0},          {NODE, 5, CHILD, ATTRIBUTE},      {NODE, 7, TEXT, 0},
    {NODE, 8, TEXT, 0},              {ATTRIBUTE, 1, KEY, 0},           {ATTRIBUTE, 20, NUMBER, 0},
    {ATTRIBUTE, 2, FLOAT, 0},        {ATTRIBUTE, 3, NUMBER, 0},        {ATTRIBUTE, 4, TEXT, 0},
    {ATTRIBUTE, 5, CHILD, TENSOR},   {ATTRIBUTE, 6, CHILD, GRAPH},     {ATTRIBUTE, 22, CHILD, SPARSE},
    {ATTRIBUTE, 14, CHILD, TYPE},    {ATTRIBUTE, 7, FLOAT, 0},         {ATTRIBUTE, 8, NUMBERS, 0},
    {ATTRIBUTE, 9, TEXT, 0},         {ATTRIBUTE, 10, CHILD, TENSOR},   {ATTRIBUTE, 11, CHILD, GRAPH},
    {ATTRIBUTE, 21, TEXT, 0},        {TENSOR, 1, NUMBERS, 0},          {TENSOR, 2, ELEMENT, 0},
    {TENSOR, 4, DATA, 0},            {TENSOR, 5, NUMBERS, 0},          {TENSOR, 6, TEXT, 0},
    {TENSOR, 7, NUMBERS, 0},         {TENSOR, 8, NAME, 0},             {TENSOR, 9, DATA, 0},
    {TENSOR, 10, DATA, 0},           {TENSOR, 11, NUMBERS, 0},         {TENSOR, 13, CHILD, ENTRY},
    {TENSOR, 14, NUMBER, 0},         {SPARSE, 1, CHILD, TENSOR},       {SPARSE, 2, CHILD, TENSOR},
    {SPARSE, 3, NUMBERS, 0},         {VALUE, 1, NAME, 0},              {VALUE, 2, CHILD, TYPE},
    {TYPE, 1, CHILD, TENSOR_TYPE},   {TYPE, 4, CHILD, NEST},           {TYPE, 5, CHILD, NEST},
    {TYPE, 8, CHILD, TENSOR_TYPE},   {TYPE, 9, CHILD, NEST},           {TENSOR_TYPE, 1, ELEMENT, 0},
    {TENSOR_TYPE, 2, CHILD, SHAPE},  {SHAPE, 1, CHILD, DIM},           {DIM, 1, NUMBER, 0},
    {DIM, 2, TEXT, 0},               {NEST, 1, CHILD, TYPE},           {NEST, 2, CHILD, TYPE},
    {OPSET, 1, TEXT, 0},             {OPSET, 2, NUMBER, 0},            {FUNCTION, 1, OPERATOR, 0},
    {FUNCTION, 4, NAME, 0},          {FUNCTION, 5, NAME, 0},           {FUNCTION, 6, KEY, 0},
    {FUNCTION, 7, CHILD, NODE},      {FUNCTION, 9, CHILD, OPSET},      {FUNCTION, 10, TEXT, 0},
    {FUNCTION, 11, CHILD, ATTRIBUTE}, {ENTRY, 1, TEXT, 0},             {ENTRY, 2, TEXT, 0},
};

static const struct fuzz_schema {
    const char *domain, *name, *attributes;
} schemas[] = {
#define SCHEMA(domain, name, first, min_in, max_in, min_out, max_out, types, attributes) {domain, name, attributes},
#include "frontend/onnx/schema.def"
#undef SCHEMA
};
enum { SCHEMAS = sizeof schemas / sizeof *schemas, VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static const struct rule *rule_of(unsigned message, uint64_t number)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].message == message && rules[i].number == number)
            return &rules[i];
    return NULL;
}

/* ---- walking ---- */

struct fuzz_field {
    size_t at, body, end; /* tag, contents, after it */
    const struct rule *rule;
    int wire, parent; /* the field around it; -1: none */
};
enum { MAX_FIELDS = 1 << 13, MAX_DEPTH = 32, MAX_NEW = 1 << 12 };

struct proto_walk {
    uint8_t *data;
    size_t size, room;
    uint64_t *seed;
    struct fuzz_field *f;
    int count;
};

static bool varint_at(const uint8_t *data, size_t end, size_t *at, uint64_t *v)
{
    *v = 0;
    for (int shift = 0; *at < end && shift < 70; shift += 7) {
        uint8_t byte = data[(*at)++];
        *v |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static size_t varint_put(uint8_t *to, uint64_t v)
{
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        to[n++] = (uint8_t)(v | 0x80);
    to[n++] = (uint8_t)v;
    return n;
}

static bool field_end(const uint8_t *data, size_t end, struct fuzz_field *f, size_t *at)
{
    uint64_t v;
    f->body = *at;
    if (f->wire == VARINT)
        return varint_at(data, end, at, &v);
    if (f->wire == BYTES) {
        if (!varint_at(data, end, at, &v) || v > end - *at)
            return false;
        f->body = *at;
        *at += (size_t)v;
        return true;
    }
    size_t n = f->wire == FIXED64 ? 8 : f->wire == FIXED32 ? 4 : end + 1;
    *at += n;
    return n <= end && *at <= end;
}

static void walk(struct proto_walk *w, unsigned message, size_t at, size_t end, int parent, int depth)
{
    uint64_t tag;
    while (at < end && w->count < MAX_FIELDS) {
        struct fuzz_field f = {.at = at, .parent = parent};
        if (!varint_at(w->data, end, &at, &tag))
            return;
        f.wire = tag & 7;
        f.rule = rule_of(message, tag >> 3);
        if (!field_end(w->data, end, &f, &at))
            return;
        f.end = at;
        if (!f.rule)
            continue;
        int own = w->count++;
        w->f[own] = f;
        if (f.rule->kind == CHILD && f.wire == BYTES && depth < MAX_DEPTH)
            walk(w, f.rule->child, f.body, f.end, own, depth + 1);
    }
}

/* Another field that may stand for this one. */
static const struct fuzz_field *kin(const struct proto_walk *w, const struct fuzz_field *f)
{
    const struct fuzz_field *found = f;
    size_t seen = 0;
    bool by_kind = f->rule->kind >= NAME && f->rule->kind <= ELEMENT;
    for (int i = 0; i < w->count; i++) {
        const struct rule *r = w->f[i].rule;
        if (&w->f[i] != f && (r == f->rule || (by_kind && r->kind == f->rule->kind)) &&
            !mutate_below(w->seed, ++seen))
            found = &w->f[i];
    }
    return found;
}

/* ---- changing ---- */

/* [at, end) becomes these bytes; the lengths of the fields around it are mended. The fields are those of before. */
static void replace(struct proto_walk *w, size_t at, size_t end, int parent, const uint8_t *with, size_t n)
{
    size_t before = w->size;
    w->size = mutate_splice(w->data, w->size, w->room, at, end - at, with, n);
    if (w->size == before && n != end - at)
        return; /* no room */
    for (int i = parent; i >= 0; i = w->f[i].parent) {
        const struct fuzz_field *f = &w->f[i];
        uint8_t length[10];
        size_t from = f->at;
        uint64_t tag;
        varint_at(w->data, w->size, &from, &tag);
        size_t m = varint_put(length, f->end - f->body + (w->size - before));
        w->size = mutate_splice(w->data, w->size, w->room, from, f->body - from, length, m);
    }
}

/* The contents of a field; its tag and its length are written around them. */
static void replace_body(struct proto_walk *w, const struct fuzz_field *f, int wire, const uint8_t *body, size_t n)
{
    uint8_t *whole = malloc(n + 20);
    if (!whole)
        return;
    size_t m = varint_put(whole, (uint64_t)f->rule->number << 3 | (unsigned)wire);
    if (wire == BYTES)
        m += varint_put(whole + m, n);
    memcpy(whole + m, body, n);
    replace(w, f->at, f->end, f->parent, whole, m + n);
    free(whole);
}

static uint64_t other_number(struct proto_walk *w, uint64_t v)
{
    switch (mutate_below(w->seed, 4)) {
    case 0: return v + mutate_below(w->seed, 5) - 2;
    case 1: return mutate_below(w->seed, 9);
    case 2: return -mutate_below(w->seed, 5);
    default: return (uint64_t)mutate_value(w->seed);
    }
}

static void change_number(struct proto_walk *w, const struct fuzz_field *f)
{
    uint8_t body[10];
    size_t at = f->body;
    uint64_t v = 0;
    varint_at(w->data, f->end, &at, &v);
    v = f->rule->kind == ELEMENT ? mutate_below(w->seed, 28) : other_number(w, v);
    replace_body(w, f, VARINT, body, varint_put(body, v));
}

/* One of packed numbers: another, none, or two; of numbers that are fields each, this one. */
static void change_numbers(struct proto_walk *w, const struct fuzz_field *f)
{
    uint8_t body[MAX_NEW];
    size_t n = 0, at = f->body, count = 0;
    uint64_t v;
    if (f->wire != BYTES) {
        change_number(w, f);
        return;
    }
    while (at < f->end && varint_at(w->data, f->end, &at, &v))
        count++;
    size_t chosen = mutate_below(w->seed, count + 1), k = 0, what = mutate_below(w->seed, 6);
    for (at = f->body; at < f->end && n + 30 < sizeof body && varint_at(w->data, f->end, &at, &v); k++) {
        if (k == chosen && what == 0)
            continue;
        if (k == chosen && what == 1)
            n += varint_put(body + n, v);
        n += varint_put(body + n, k == chosen && what > 1 ? other_number(w, v) : v);
    }
    if (chosen == count)
        n += varint_put(body + n, other_number(w, 1));
    replace_body(w, f, BYTES, body, n);
}

static void change_bytes(struct proto_walk *w, const struct fuzz_field *f)
{
    uint8_t body[MAX_NEW];
    size_t n = f->end - f->body;
    if (n > sizeof body / 2)
        return;
    memcpy(body, w->data + f->body, n);
    n = n ? mutate_bytes(body, n, sizeof body, w->seed) : (body[0] = 'x', 1);
    replace_body(w, f, f->wire, body, f->wire == FIXED32 ? 4 : f->wire == FIXED64 ? 8 : n);
}

static void change_float(struct proto_walk *w, const struct fuzz_field *f)
{
    static const float values[] = {0, -0.0f, 1, -1, 0.5f, 3e38f, -3e38f, 1e-45f, 2147483648.0f, 9.3e18f};
    float v = values[mutate_below(w->seed, sizeof values / sizeof *values)];
    if (!mutate_below(w->seed, 4))
        v = mutate_below(w->seed, 2) ? __builtin_nanf("") : __builtin_inff();
    uint8_t body[4];
    memcpy(body, &v, 4);
    if (f->wire == BYTES && f->end - f->body >= 4) /* one of packed ones */
        memcpy(w->data + f->body + 4 * mutate_below(w->seed, (f->end - f->body) / 4), body, 4);
    else
        replace_body(w, f, FIXED32, body, 4);
}

static void change_operator(struct proto_walk *w, const struct fuzz_field *f)
{
    const char *name = schemas[mutate_below(w->seed, SCHEMAS)].name;
    replace_body(w, f, BYTES, (const uint8_t *)name, strlen(name));
}

/* ---- attributes ---- */

/* The schema of the node's operator; any when it has none. */
static const struct fuzz_schema *schema_of(const struct proto_walk *w, int node)
{
    for (int i = 0; i < w->count; i++) {
        const struct fuzz_field *f = &w->f[i];
        if (f->parent != node || f->rule->kind != OPERATOR)
            continue;
        for (size_t k = 0; k < SCHEMAS; k++)
            if (strlen(schemas[k].name) == f->end - f->body &&
                !memcmp(schemas[k].name, w->data + f->body, f->end - f->body))
                return &schemas[k];
    }
    return &schemas[mutate_below(w->seed, SCHEMAS)];
}

/* A value of the kind that the schema's letter names, as fields of an AttributeProto. */
static size_t attribute_value(struct proto_walk *w, char letter, uint8_t *to)
{
    static const char *const words[] = {
        "",         "NOTSET", "SAME_UPPER", "VALID", "linear",        "cubic",     "border", "reflect",
        "constant", "wrap",   "add",        "mul",   "bidirectional", "ij,jk->ik", "...",    "LINEAR"};
    size_t n = 0;
    if (letter == 'i') {
        to[n++] = 3 << 3 | VARINT;
        n += varint_put(to + n, other_number(w, 1));
        memcpy(to + n, "\xa0\x01\x02", 3);
    } else if (letter == 'f') {
        float v = (float)mutate_below(w->seed, 5) - 1;
        to[n++] = 2 << 3 | FIXED32;
        memcpy(to + n, &v, 4);
        memcpy(to + (n += 4), "\xa0\x01\x01", 3);
    } else if (letter == 's') {
        const char *word = words[mutate_below(w->seed, sizeof words / sizeof *words)];
        to[n++] = 4 << 3 | BYTES;
        to[n++] = (uint8_t)strlen(word);
        memcpy(to + n, word, strlen(word));
        memcpy(to + (n += strlen(word)), "\xa0\x01\x03", 3);
    } else if (letter == 'I') {
        for (size_t k = mutate_below(w->seed, 6); k > 0; k--) {
            to[n++] = 8 << 3 | VARINT;
            n += varint_put(to + n, other_number(w, 1));
        }
        memcpy(to + n, "\xa0\x01\x07", 3);
    } else {
        return 0;
    }
    return n + 3;
}

/* One attribute of the schema is put before the node's other fields. */
static void add_attribute(struct proto_walk *w, int node)
{
    uint8_t body[256], whole[300];
    const char *s = schema_of(w, node)->attributes;
    size_t count = 0;
    for (const char *c = s; *c; c++)
        count += *c == ':';
    for (size_t k = mutate_below(w->seed, count); k > 0; k--)
        s = strchr(s, ' ') + 1;
    size_t name = strcspn(s, ":");
    if (!count || name > 64)
        return;
    size_t n = 0;
    body[n++] = 1 << 3 | BYTES;
    body[n++] = (uint8_t)name;
    memcpy(body + n, s, name);
    size_t value = attribute_value(w, s[name + 1], body + n + name);
    n += name + value;
    size_t m = 0;
    whole[m++] = 5 << 3 | BYTES;
    m += varint_put(whole + m, n);
    memcpy(whole + m, body, n);
    if (value)
        replace(w, w->f[node].body, w->f[node].body, node, whole, m + n);
}

/* ---- tensors ---- */

static size_t element_bits(uint64_t type)
{
    static const uint8_t bits[] = {0,  32, 8,  8,   16, 16, 32, 64, 0, 8, 16, 64, 32, 64,
                                   64, 128, 16, 8, 8, 8,  8,  4,  4, 4, 8,  2,  2};
    return type < sizeof bits ? bits[type] : 0;
}

/* The first tensor whose raw data have another length than its shape says gets as many as it says. */
static void mend_data(struct proto_walk *w)
{
    for (int i = 0; i < w->count; i++) {
        const struct fuzz_field *raw = &w->f[i];
        if (raw->rule->message != TENSOR || raw->rule->number != 9 || raw->wire != BYTES)
            continue;
        uint64_t count = 1, bits = 0, v;
        for (int k = 0; k < w->count; k++) {
            const struct fuzz_field *f = &w->f[k];
            size_t at = f->body;
            if (f->parent != raw->parent || f->rule->message != TENSOR || f->rule->number > 2)
                continue;
            while (at < f->end && varint_at(w->data, f->end, &at, &v))
                if (f->rule->number == 2)
                    bits = element_bits(v);
                else
                    count = v > MAX_NEW || count > MAX_NEW ? MAX_NEW + 1 : count * v;
        }
        uint64_t n = (count * bits + 7) / 8;
        if (!bits || n == raw->end - raw->body || n > MAX_NEW)
            continue;
        uint8_t body[MAX_NEW];
        for (size_t k = 0; k < n; k++)
            body[k] = raw->end > raw->body ? w->data[raw->body + k % (raw->end - raw->body)] : 0;
        replace_body(w, raw, BYTES, body, (size_t)n);
        return;
    }
}

/* ---- one mutation ---- */

/* A field is left out, repeated, or becomes one that may stand for it. */
static void change_field(struct proto_walk *w, int chosen)
{
    const struct fuzz_field *f = &w->f[chosen], *other = kin(w, f);
    size_t n = other->end - other->body;
    uint8_t *copy = malloc(f->end - f->at + n + 1);
    if (!copy)
        return;
    switch (mutate_below(w->seed, f->rule->kind == CHILD ? 3 : 6)) {
    case 0:
        replace(w, f->at, f->end, f->parent, copy, 0);
        break;
    case 1:
        memcpy(copy, w->data + f->at, f->end - f->at);
        replace(w, f->at, f->at, f->parent, copy, f->end - f->at);
        break;
    default:
        memcpy(copy, w->data + other->body, n);
        replace_body(w, f, other->wire, copy, n);
    }
    free(copy);
}

static void change(struct proto_walk *w, int chosen)
{
    const struct fuzz_field *f = &w->f[chosen];
    bool own = mutate_below(w->seed, 3) != 0; /* a value of its kind, rather than what any field can become */
    if (own && f->rule->kind == CHILD && f->rule->child == NODE)
        add_attribute(w, chosen);
    else if (own && f->rule->kind == OPERATOR)
        change_operator(w, f);
    else if (own && (f->rule->kind == NUMBER || f->rule->kind == ELEMENT))
        change_number(w, f);
    else if (own && f->rule->kind == NUMBERS)
        change_numbers(w, f);
    else if (own && f->rule->kind == FLOAT)
        change_float(w, f);
    else if (own && (f->rule->kind == TEXT || f->rule->kind == DATA) && f->wire != VARINT)
        change_bytes(w, f);
    else
        change_field(w, chosen);
}

size_t mutate_onnx(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    static struct fuzz_field fields[MAX_FIELDS];
    struct proto_walk w = {data, size, room, seed, fields, 0};
    walk(&w, MODEL, 0, size, -1, 0);
    if (!w.count || !mutate_below(seed, 32))
        return mutate_bytes(data, size, room, seed);
    int chosen = (int)mutate_below(seed, (size_t)w.count);
    for (int tries = 0; tries < 3 && fields[chosen].rule->kind == TEXT; tries++) /* names of nodes say little */
        chosen = (int)mutate_below(seed, (size_t)w.count);
    change(&w, chosen);
    if (mutate_below(seed, 4)) {
        w.count = 0;
        walk(&w, MODEL, 0, w.size, -1, 0);
        mend_data(&w);
    }
    return w.size;
}
