/* Text-format protos to binary ones, by the message's descriptor. */
#include "frontend/hlo/syntax/lex.h"
#include "frontend/hlo/syntax/proto.h"

#include <stdlib.h>
#include <string.h>

struct proto_bytes {
    uint8_t *v;
    size_t count, cap;
};

struct proto_text_reader {
    struct arena *arena;
    struct diag *d;
    const char *begin, *at, *end;
};

static bool bad(struct proto_text_reader *r, const char *what)
{
    int line = 1;
    for (const char *p = r->begin; p < r->at && p < r->end; p++)
        line += *p == '\n';
    return fail(r->d, "line %d: expected %s", line, what);
}

static void put(struct proto_text_reader *r, struct proto_bytes *b, const void *v, size_t n)
{
    if (!n)
        return;
    if (b->cap - b->count < n) {
        size_t cap = (b->cap + n) * 2;
        uint8_t *more = arena_alloc(r->arena, cap);
        arena_move_(more, b->v, b->count);
        b->v = more;
        b->cap = cap;
    }
    arena_move_(b->v + b->count, v, n);
    b->count += n;
}

static void put_varint(struct proto_text_reader *r, struct proto_bytes *b, uint64_t v)
{
    uint8_t out[10];
    size_t n = 0;
    do {
        out[n++] = (uint8_t)(v & 0x7f) | (v > 0x7f ? 0x80 : 0);
        v >>= 7;
    } while (v);
    put(r, b, out, n);
}

static void space(struct proto_text_reader *r)
{
    while (r->at < r->end) {
        if (*r->at == '#')
            while (r->at < r->end && *r->at != '\n')
                r->at++;
        else if (strchr(" \t\r\n", *r->at) && *r->at)
            r->at++;
        else
            break;
    }
}

static bool take(struct proto_text_reader *r, char c)
{
    space(r);
    if (r->at >= r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* A word, number or name: letters, digits, '.', '_', '+', '-'. Copied with its NUL. */
static bool word(struct proto_text_reader *r, char *out, size_t size)
{
    space(r);
    size_t n = 0;
    for (; r->at < r->end && n < size - 1; r->at++) {
        char c = *r->at;
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '.' || c == '+' || c == '-'))
            break;
        out[n++] = c;
    }
    out[n] = 0;
    return n > 0 || bad(r, "a word or a number");
}

/* Adjacent quoted strings are one. */
static bool text(struct proto_text_reader *r, struct proto_bytes *out)
{
    int count = 0;
    for (space(r); r->at < r->end && (*r->at == '"' || *r->at == '\''); space(r), count++) {
        char quote = *r->at;
        struct lex l = {.text = r->at + 1};
        const char *p = r->at + 1;
        while (p < r->end && *p != quote)
            p += *p == '\\' && r->end - p > 1 ? 2 : 1;
        if (p >= r->end)
            return bad(r, "the end of a string");
        l.size = (size_t)(p - l.text);
        char *bytes = arena_alloc(r->arena, l.size + 1);
        size_t n;
        if (!lex_unescape(&l, bytes, &n))
            return bad(r, "a string with valid escapes");
        put(r, out, bytes, n);
        r->at = p + 1;
    }
    return count || bad(r, "a quoted string");
}

static bool number(struct proto_text_reader *r, const ProtobufCFieldDescriptor *f, struct proto_bytes *out)
{
    char w[128], *rest = w;
    if (!word(r, w, sizeof w))
        return false;
    if (f->type == PROTOBUF_C_TYPE_FLOAT || f->type == PROTOBUF_C_TYPE_DOUBLE) {
        double v = strtod(w, &rest);
        float narrow = (float)v;
        if (*rest == 'f')
            rest++;
        put(r, out, f->type == PROTOBUF_C_TYPE_FLOAT ? (void *)&narrow : (void *)&v,
            f->type == PROTOBUF_C_TYPE_FLOAT ? 4 : 8);
        return !*rest || bad(r, "a number");
    }
    if (f->type == PROTOBUF_C_TYPE_BOOL) {
        bool is_true =
            !strcmp(w, "true") || !strcmp(w, "1") || !strcmp(w, "t") || !strcmp(w, "True");
        put_varint(r, out, is_true);
        return is_true || !strcmp(w, "false") || !strcmp(w, "0") || !strcmp(w, "f") ||
               !strcmp(w, "False") || bad(r, "true or false");
    }
    if (f->type == PROTOBUF_C_TYPE_ENUM) {
        const ProtobufCEnumValue *v =
            protobuf_c_enum_descriptor_get_value_by_name(f->descriptor, w);
        if (v) {
            put_varint(r, out, (uint64_t)(int64_t)v->value);
            return true;
        }
    }
    uint64_t v = *w == '-' ? (uint64_t)strtoll(w, &rest, 0) : strtoull(w, &rest, 0);
    put_varint(r, out, v);
    if (*rest)
        return fail(r->d, "%s: '%.60s' is not a value of this field", f->name, w);
    return true;
}

static bool message(struct proto_text_reader *r, const ProtobufCMessageDescriptor *m, char close, int depth,
                    struct proto_bytes *out);

/* { ... } or < ... >; sets what closes it. */
static bool opens(struct proto_text_reader *r, char *close)
{
    *close = take(r, '{') ? '}' : take(r, '<') ? '>' : 0;
    return *close;
}

/* Any value of an unknown field. */
static bool skip_value(struct proto_text_reader *r, int depth)
{
    struct proto_bytes ignored = {0};
    char close, w[128];
    space(r);
    if (depth > HLO_PROTO_DEPTH)
        return bad(r, "less nesting");
    if (take(r, '[')) {
        while (!take(r, ']')) {
            if (!skip_value(r, depth + 1))
                return false;
            take(r, ',');
        }
        return true;
    }
    if (opens(r, &close))
        return message(r, NULL, close, depth + 1, &ignored);
    if (r->at < r->end && (*r->at == '"' || *r->at == '\''))
        return text(r, &ignored);
    return word(r, w, sizeof w);
}

static bool one_value(struct proto_text_reader *r, const ProtobufCFieldDescriptor *f, int depth,
                      struct proto_bytes *out)
{
    struct proto_bytes value = {0};
    char close;
    bool fixed = f->type == PROTOBUF_C_TYPE_FLOAT || f->type == PROTOBUF_C_TYPE_DOUBLE;
    bool block = f->type == PROTOBUF_C_TYPE_MESSAGE || f->type == PROTOBUF_C_TYPE_STRING ||
                 f->type == PROTOBUF_C_TYPE_BYTES;
    if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
        if (!opens(r, &close))
            return bad(r, "'{'");
        if (!message(r, f->descriptor, close, depth + 1, &value))
            return false;
    } else if (block ? !text(r, &value) : !number(r, f, &value)) {
        return false;
    }
    unsigned type = block ? 2 : !fixed ? 0 : f->type == PROTOBUF_C_TYPE_FLOAT ? 5 : 1;
    put_varint(r, out, (uint64_t)f->id << 3 | type);
    if (block)
        put_varint(r, out, value.count);
    put(r, out, value.v, value.count);
    return true;
}

static bool field(struct proto_text_reader *r, const ProtobufCMessageDescriptor *m, int depth,
                  struct proto_bytes *out)
{
    char name[128];
    if (!word(r, name, sizeof name))
        return false;
    const ProtobufCFieldDescriptor *f =
        m ? protobuf_c_message_descriptor_get_field_by_name(m, name) : NULL;
    bool colon = take(r, ':');
    space(r);
    if (!colon && (r->at >= r->end || (*r->at != '{' && *r->at != '<')))
        return bad(r, "':' after a field's name");
    if (!f)
        return skip_value(r, depth);
    if (!take(r, '['))
        return one_value(r, f, depth, out);
    while (!take(r, ']')) {
        if (!one_value(r, f, depth, out))
            return false;
        take(r, ',');
    }
    return true;
}

static bool message(struct proto_text_reader *r, const ProtobufCMessageDescriptor *m, char close, int depth,
                    struct proto_bytes *out)
{
    if (depth > HLO_PROTO_DEPTH)
        return bad(r, "less nesting");
    for (;;) {
        space(r);
        if (close ? take(r, close) : r->at >= r->end)
            return true;
        if (r->at >= r->end)
            return bad(r, close == '}' ? "'}'" : "'>'");
        if (!field(r, m, depth, out))
            return false;
        if (!take(r, ','))
            take(r, ';');
    }
}

bool hlo_proto_encode(const ProtobufCMessageDescriptor *m, const char *input, size_t size,
                      struct arena *a, const uint8_t **out, size_t *out_size, struct diag *d)
{
    struct proto_text_reader r = {a, d, input, input, input + size};
    struct proto_bytes b = {0};
    if (!message(&r, m, 0, 0, &b))
        return false;
    *out = b.v ? b.v : (const uint8_t *)"";
    *out_size = b.count;
    return true;
}
