#define _GNU_SOURCE
/*
 * MLIR bytecode by its sections: one is taken apart, one thing in it is changed, and all are written again with counts
 * and lengths that fit. What of a file is not understood is mutated as bytes.
 */
#include "test/fuzz/mutate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum section_id {
    STRINGS,
    DIALECTS,
    ENTRIES,
    OFFSETS,
    IR,
    RESOURCES,
    RESOURCE_OFFSETS,
    VERSIONS,
    PROPERTIES,
    SECTIONS
};
enum { MAX_BYTES = 1 << 16, MAX_TOKENS = 1 << 15, MAX_PARTS = 4096, MAX_DEPTH = 64 };

struct mlir_bytes {
    const uint8_t *p;
    size_t n;
};

struct file {
    struct mlir_bytes header, section[SECTIONS];
    uint64_t version, alignment[SECTIONS]; /* 0: it says none */
    uint8_t order[SECTIONS];
    int count;
};

/* ---- numbers ---- */

struct source {
    const uint8_t *p, *end;
    bool bad;
};

static uint64_t number_of(struct source *s)
{
    uint64_t v = 0;
    int first = s->p < s->end ? *s->p++ : -1;
    if (first < 0)
        s->bad = true;
    if (first & 1)
        return (uint64_t)first >> 1;
    int more = first ? __builtin_ctz((unsigned)first) : 8;
    if (s->bad || s->end - s->p < more) {
        s->bad = true;
        return 0;
    }
    memcpy(&v, s->p, (size_t)more);
    s->p += more;
    return more == 8 ? v : (uint64_t)first >> (more + 1) | v << (7 - more);
}

struct sink {
    uint8_t *p;
    size_t n, room;
    bool full;
};

static void put(struct sink *o, const void *p, size_t n)
{
    if (n > o->room - o->n) {
        o->full = true;
        return;
    }
    memcpy(o->p + o->n, p, n);
    o->n += n;
}

static void put_number(struct sink *o, uint64_t v)
{
    int more = 0;
    while (more < 8 && v >> (7 * (more + 1)))
        more++;
    if (more < 8) {
        uint64_t word = (v << 1 | 1) << more;
        put(o, &word, (size_t)more + 1);
    } else {
        put(o, "", 1);
        put(o, &v, 8);
    }
}

static uint64_t other_number(uint64_t v, uint64_t *seed)
{
    switch (mutate_below(seed, 4)) {
    case 0: return v + mutate_below(seed, 5) - 2;
    case 1: return mutate_below(seed, 24);
    case 2: return v ^ (1ull << mutate_below(seed, 6));
    default: return (uint64_t)mutate_value(seed);
    }
}

/* ---- sections ---- */

static bool split(const uint8_t *data, size_t size, struct file *f)
{
    struct source s = {data + 4, data + size, false};
    memset(f, 0, sizeof *f);
    if (size < 8 || memcmp(data, "ML\xefR", 4))
        return false;
    f->version = number_of(&s);
    const uint8_t *nul = memchr(s.p, 0, (size_t)(s.end - s.p));
    if (!nul)
        return false;
    s.p = nul + 1;
    f->header = (struct mlir_bytes){data, (size_t)(s.p - data)};
    while (s.p < s.end && f->count < SECTIONS) {
        unsigned id = *s.p++;
        uint64_t n = number_of(&s), alignment = id & 0x80 ? number_of(&s) : 0;
        id &= 0x7f;
        if (s.bad || id >= SECTIONS || f->section[id].p || alignment > 4096)
            return false;
        while (alignment && s.p < s.end && (size_t)(s.p - data) % alignment)
            s.p++;
        if (n > (uint64_t)(s.end - s.p))
            return false;
        f->section[id] = (struct mlir_bytes){s.p, (size_t)n};
        f->alignment[id] = alignment;
        f->order[f->count++] = (uint8_t)id;
        s.p += n;
    }
    return f->count > 0;
}

static void join(const struct file *f, struct sink *o)
{
    put(o, f->header.p, f->header.n);
    for (int k = 0; k < f->count; k++) {
        unsigned id = f->order[k];
        uint64_t alignment = f->alignment[id];
        uint8_t head = (uint8_t)(id | (alignment ? 0x80 : 0));
        put(o, &head, 1);
        put_number(o, f->section[id].n);
        if (alignment)
            put_number(o, alignment);
        while (alignment && !o->full && o->n % alignment)
            put(o, "\xcb", 1);
        put(o, f->section[id].p, f->section[id].n);
    }
}

/* ---- lists of parts: strings, attributes and types, properties ---- */

/* One number of these bytes becomes another, or bytes do. */
static void put_changed(struct sink *o, struct mlir_bytes b, uint64_t *seed)
{
    struct source s = {b.p, b.p + b.n, false};
    size_t count = 0;
    while (s.p < s.end && !s.bad) {
        number_of(&s);
        count += !s.bad;
    }
    if (!count || !mutate_below(seed, 5)) {
        size_t room = b.n + 64;
        uint8_t *copy = malloc(room);
        if (copy) {
            memcpy(copy, b.p, b.n);
            put(o, copy, mutate_bytes(copy, b.n, room, seed));
        }
        free(copy);
        return;
    }
    size_t chosen = mutate_below(seed, count);
    s = (struct source){b.p, b.p + b.n, false};
    for (size_t k = 0; k < chosen; k++)
        number_of(&s);
    put(o, b.p, (size_t)(s.p - b.p));
    put_number(o, other_number(number_of(&s), seed));
    put(o, s.p, (size_t)(s.end - s.p));
}

/* Another part in place of one, or that one changed; `made` is where it may lie. */
static struct mlir_bytes other_part(const struct mlir_bytes *part, size_t n, size_t chosen, struct sink *made,
                                    uint64_t *seed)
{
    if (mutate_below(seed, 3) == 0)
        return part[mutate_below(seed, n)];
    put_changed(made, part[chosen], seed);
    return (struct mlir_bytes){made->p, made->n};
}

static bool change_strings(struct file *f, struct sink *o, struct sink *made, uint64_t *seed)
{
    static struct mlir_bytes part[MAX_PARTS];
    struct source s = {f->section[STRINGS].p, f->section[STRINGS].p + f->section[STRINGS].n, false};
    uint64_t n = number_of(&s);
    if (s.bad || !n || n > MAX_PARTS)
        return false;
    for (uint64_t k = n; k-- > 0;)
        part[k].n = (size_t)number_of(&s);
    for (uint64_t k = 0; k < n; k++) {
        if (s.bad || !part[k].n || part[k].n > (size_t)(s.end - s.p))
            return false;
        part[k].p = s.p;
        s.p += part[k].n--;
    }
    size_t chosen = mutate_below(seed, (size_t)n);
    part[chosen] = other_part(part, (size_t)n, chosen, made, seed);
    put_number(o, n);
    for (uint64_t k = n; k-- > 0;)
        put_number(o, part[k].n + 1);
    for (uint64_t k = 0; k < n; k++) {
        put(o, part[k].p, part[k].n);
        put(o, "", 1);
    }
    return true;
}

static bool change_properties(struct file *f, struct sink *o, struct sink *made, uint64_t *seed)
{
    static struct mlir_bytes part[MAX_PARTS];
    struct source s = {f->section[PROPERTIES].p, f->section[PROPERTIES].p + f->section[PROPERTIES].n, false};
    uint64_t n = number_of(&s);
    if (s.bad || !n || n > MAX_PARTS)
        return false;
    for (uint64_t k = 0; k < n; k++) {
        part[k].n = (size_t)number_of(&s);
        if (s.bad || part[k].n > (size_t)(s.end - s.p))
            return false;
        part[k].p = s.p;
        s.p += part[k].n;
    }
    size_t chosen = mutate_below(seed, (size_t)n);
    part[chosen] = other_part(part, (size_t)n, chosen, made, seed);
    put_number(o, n);
    for (uint64_t k = 0; k < n; k++) {
        put_number(o, part[k].n);
        put(o, part[k].p, part[k].n);
    }
    return true;
}

/* An attribute or a type: its bytes go to the one section, its size to the other, one group for each. */
static bool change_entries(struct file *f, struct sink *o, struct sink *offsets, struct sink *made, uint64_t *seed)
{
    static struct mlir_bytes part[MAX_PARTS];
    static struct { uint64_t dialect, custom; } of[MAX_PARTS];
    struct source s = {f->section[OFFSETS].p, f->section[OFFSETS].p + f->section[OFFSETS].n, false};
    const uint8_t *at = f->section[ENTRIES].p, *end = at + f->section[ENTRIES].n;
    uint64_t attributes = number_of(&s), types = number_of(&s), n = 0;
    if (s.bad || attributes > MAX_PARTS || types > MAX_PARTS || attributes + types > MAX_PARTS)
        return false;
    while (n < attributes + types) {
        uint64_t dialect = number_of(&s), group = number_of(&s);
        if (s.bad || !group || group > attributes + types - n)
            return false;
        for (; group > 0; group--, n++) {
            uint64_t size = number_of(&s);
            part[n] = (struct mlir_bytes){at, (size_t)(size >> 1)};
            of[n].dialect = dialect;
            of[n].custom = size & 1;
            if (s.bad || part[n].n > (size_t)(end - at))
                return false;
            at += part[n].n;
        }
    }
    size_t chosen = mutate_below(seed, (size_t)n), like = mutate_below(seed, (size_t)n);
    if (!n)
        return false;
    if (mutate_below(seed, 8) == 0) { /* another one whole, its dialect with it */
        part[chosen] = part[like];
        of[chosen] = of[like];
    } else {
        part[chosen] = other_part(part, (size_t)n, chosen, made, seed);
    }
    put_number(offsets, attributes);
    put_number(offsets, types);
    for (uint64_t k = 0; k < n; k++) {
        put_number(offsets, of[k].dialect);
        put_number(offsets, 1);
        put_number(offsets, part[k].n << 1 | of[k].custom);
        put(o, part[k].p, part[k].n);
    }
    return true;
}

/* ---- operations ---- */

enum token_kind {
    NAME,
    PLACE,
    ATTRIBUTE,
    PROPERTY,
    TYPE,
    OPERAND,
    COUNT,
    VALUES,
    OTHER,
    BYTE,
    OP,
    OP_END,
    NESTED,
    NESTED_END
};

struct mlir_token {
    enum token_kind kind;
    uint64_t v; /* OP: the token that counts the operations of its block */
};

struct mlir_tokens {
    struct mlir_token t[MAX_TOKENS];
    int count, depth;
    struct source s;
    uint64_t version;
};

static uint64_t push(struct mlir_tokens *t, enum token_kind kind, uint64_t v)
{
    if (t->count == MAX_TOKENS)
        t->s.bad = true;
    else
        t->t[t->count++] = (struct mlir_token){kind, v};
    return v;
}

static uint64_t take(struct mlir_tokens *t, enum token_kind kind)
{
    return push(t, kind, number_of(&t->s));
}

static uint8_t take_byte(struct mlir_tokens *t)
{
    if (t->s.p >= t->s.end)
        t->s.bad = true;
    return (uint8_t)push(t, BYTE, t->s.bad ? 0 : *t->s.p++);
}

static void take_list(struct mlir_tokens *t, enum token_kind kind)
{
    for (uint64_t n = take(t, OTHER); n > 0 && !t->s.bad; n--)
        take(t, kind);
}

static void take_orders(struct mlir_tokens *t, bool indexed)
{
    for (uint64_t n = indexed ? take(t, OTHER) : 1; n > 0 && !t->s.bad; n--) {
        if (indexed)
            take(t, OTHER);
        for (uint64_t m = take(t, OTHER) >> 1; m > 0 && !t->s.bad; m--)
            take(t, OTHER);
    }
}

static void take_block(struct mlir_tokens *t);

static void take_regions(struct mlir_tokens *t)
{
    uint64_t v = take(t, OTHER);
    bool nested = (v & 1) && t->version >= 2;
    if (nested) {
        t->s.bad |= t->s.p >= t->s.end || *t->s.p++ != IR; /* aligned ones do not occur */
        number_of(&t->s);
        push(t, NESTED, 0);
    }
    for (uint64_t n = v >> 1; n > 0 && !t->s.bad; n--) {
        uint64_t blocks = take(t, OTHER);
        if (blocks)
            take(t, VALUES);
        for (; blocks > 0 && !t->s.bad; blocks--)
            take_block(t);
    }
    if (nested)
        push(t, NESTED_END, 0);
}

static void take_op(struct mlir_tokens *t, int counted)
{
    push(t, OP, (uint64_t)counted);
    take(t, NAME);
    uint8_t mask = take_byte(t);
    uint64_t results = 0;
    take(t, PLACE);
    if (mask & 1)
        take(t, ATTRIBUTE);
    if (mask & 64)
        take(t, PROPERTY);
    if (mask & 2) {
        results = take(t, OTHER);
        for (uint64_t n = results; n > 0 && !t->s.bad; n--)
            take(t, TYPE);
    }
    if (mask & 4)
        take_list(t, OPERAND);
    if (mask & 8)
        take_list(t, OTHER);
    if (mask & 32)
        take_orders(t, results > 1);
    if (mask & 16)
        take_regions(t);
    push(t, OP_END, 0);
}

static void take_block(struct mlir_tokens *t)
{
    int counted = t->count;
    uint64_t v = take(t, COUNT);
    if (++t->depth > MAX_DEPTH)
        t->s.bad = true;
    if (v & 1) {
        uint64_t n = take(t, OTHER);
        for (uint64_t k = 0; k < n && !t->s.bad; k++) {
            uint64_t type = take(t, TYPE);
            if (t->version < 4 || (type & 1))
                take(t, PLACE);
        }
        if (t->version >= 3 && take_byte(t))
            take_orders(t, n > 1);
    }
    for (uint64_t n = v >> 1; n > 0 && !t->s.bad; n--)
        take_op(t, counted);
    t->depth--;
}

/* After the token that ends what begins here. */
static int after(const struct mlir_tokens *t, int k)
{
    for (int depth = 0; k < t->count; k++) {
        depth += t->t[k].kind == OP || t->t[k].kind == NESTED;
        depth -= t->t[k].kind == OP_END || t->t[k].kind == NESTED_END;
        if (!depth)
            return k + 1;
    }
    return k;
}

static void put_tokens(const struct mlir_tokens *t, int from, int end, struct sink *o)
{
    for (int k = from; k < end && !o->full; k++) {
        const struct mlir_token *a = &t->t[k];
        uint8_t byte = (uint8_t)a->v;
        if (a->kind == BYTE) {
            put(o, &byte, 1);
        } else if (a->kind == NESTED) {
            struct sink inner = {.room = o->room, .p = malloc(o->room)};
            int last = after(t, k) - 1;
            if (inner.p)
                put_tokens(t, k + 1, last, &inner);
            byte = IR;
            put(o, &byte, 1);
            put_number(o, inner.n);
            put(o, inner.p, inner.n);
            o->full |= inner.full;
            free(inner.p);
            k = last;
        } else if (a->kind < BYTE) {
            put_number(o, a->v);
        }
    }
}

/* An operation is left out or written twice; its block counts it. */
static void change_op(struct mlir_tokens *t, int k, uint64_t *seed)
{
    int end = after(t, k), n = end - k;
    struct mlir_token *counted = &t->t[t->t[k].v];
    if (mutate_below(seed, 2)) {
        memmove(t->t + k, t->t + end, sizeof *t->t * (size_t)(t->count - end));
        t->count -= n;
        counted->v -= 2;
    } else if (t->count + n <= MAX_TOKENS) {
        memmove(t->t + end + n, t->t + end, sizeof *t->t * (size_t)(t->count - end));
        memcpy(t->t + end, t->t + k, sizeof *t->t * (size_t)n);
        t->count += n;
        counted->v += 2;
        for (int j = k; j >= 0; j--) /* the values of its region are one more */
            if (t->t[j].kind == VALUES) {
                t->t[j].v++;
                break;
            }
    }
}

/* A token becomes another of its kind in the file, or any number. */
static void change_token(struct mlir_tokens *t, int k, uint64_t *seed)
{
    size_t seen = 0;
    uint64_t other = t->t[k].v;
    for (int j = 0; j < t->count; j++)
        if (t->t[j].kind == t->t[k].kind && t->t[j].v != t->t[k].v && !mutate_below(seed, ++seen))
            other = t->t[j].v;
    bool like = t->t[k].kind <= OPERAND && seen && mutate_below(seed, 8);
    t->t[k].v = like ? other : other_number(t->t[k].v, seed);
}

static bool change_ir(struct file *f, struct sink *o, uint64_t *seed)
{
    static struct mlir_tokens t;
    t.count = t.depth = 0;
    t.version = f->version;
    t.s = (struct source){f->section[IR].p, f->section[IR].p + f->section[IR].n, false};
    take_block(&t);
    if (t.s.bad || !t.count)
        return false;
    int k;
    do
        k = (int)mutate_below(seed, (size_t)t.count);
    while (t.t[k].kind == PLACE || t.t[k].kind == OP_END || t.t[k].kind == NESTED || t.t[k].kind == NESTED_END);
    if (t.t[k].kind == OP)
        change_op(&t, k, seed);
    else
        change_token(&t, k, seed);
    put_tokens(&t, 0, t.count, o);
    return true;
}

/* ---- one mutation ---- */

static bool change_section(struct file *f, struct sink *o, struct sink *second, struct sink *made, uint64_t *seed)
{
    static const uint8_t often[] = {IR, IR, IR, IR, ENTRIES, ENTRIES, ENTRIES, PROPERTIES, PROPERTIES, STRINGS,
                                    DIALECTS, RESOURCES, RESOURCE_OFFSETS, VERSIONS};
    unsigned id = often[mutate_below(seed, sizeof often)];
    bool ok = f->section[id].p != NULL;
    if (ok && id == IR)
        ok = change_ir(f, o, seed);
    else if (ok && id == STRINGS)
        ok = change_strings(f, o, made, seed);
    else if (ok && id == PROPERTIES)
        ok = change_properties(f, o, made, seed);
    else if (ok && id == ENTRIES)
        ok = f->section[OFFSETS].p && change_entries(f, o, second, made, seed);
    else if (ok)
        put_changed(o, f->section[id], seed);
    if (!ok || o->full || second->full || made->full)
        return false;
    f->section[id] = (struct mlir_bytes){o->p, o->n};
    if (id == ENTRIES)
        f->section[OFFSETS] = (struct mlir_bytes){second->p, second->n};
    return true;
}

static size_t mutate_module(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    static uint8_t first[MAX_BYTES], second[MAX_BYTES], made[MAX_BYTES], whole[MAX_BYTES];
    static struct file f;
    struct sink o = {.p = first, .room = sizeof first}, p = {.p = second, .room = sizeof second};
    struct sink m = {.p = made, .room = sizeof made};
    struct sink all = {.p = whole, .room = room < sizeof whole ? room : sizeof whole};
    if (!mutate_below(seed, 16) || !split(data, size, &f) || !change_section(&f, &o, &p, &m, seed))
        return mutate_bytes(data, size, room, seed);
    join(&f, &all);
    if (all.full)
        return size;
    memcpy(data, whole, all.n);
    return all.n;
}

/* The module of a file of jax.export is a vector of bytes that knows its length: it may become shorter in its place. */
size_t mutate_mlir(uint8_t *data, size_t size, size_t room, uint64_t *seed)
{
    const uint8_t *module = size > 8 ? memmem(data + 4, size - 4, "ML\xefR", 4) : NULL;
    uint32_t length = 0;
    if (module)
        memcpy(&length, module - 4, 4);
    if (!module || !length || length > size - (size_t)(module - data))
        return mutate_module(data, size, room, seed);
    if (!mutate_below(seed, 4))
        return mutate_bytes(data, size, room, seed);
    size_t at = (size_t)(module - data);
    length = (uint32_t)mutate_module(data + at, length, length, seed);
    memcpy(data + at - 4, &length, 4);
    return size;
}
