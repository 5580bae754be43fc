#include "frontend/hlo/lower/dictionary.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NUMBERS = 4096, SHOWN = 40 };

struct dictionary_reader {
    const char *at, *end;
    struct arena *a;
    struct attrs *attrs;
};

static void skip(struct dictionary_reader *r)
{
    while (r->at < r->end && isspace((unsigned char)*r->at))
        r->at++;
}

static bool take(struct dictionary_reader *r, char c)
{
    skip(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* What a backslash begins: MLIR writes "\22", a byte in hexadecimal; both have \n, \t, \" and \\. */
static char read_escape(struct dictionary_reader *r)
{
    char c = *++r->at;
    if (isxdigit((unsigned char)c) && r->at + 1 < r->end && isxdigit((unsigned char)r->at[1]))
        return (char)(hex_digit(c) << 4 | hex_digit(*++r->at));
    return (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c);
}

static bool read_string(struct dictionary_reader *r, struct str *out)
{
    char *to = arena_alloc(r->a, (size_t)(r->end - r->at) + 1);
    size_t n = 0;
    if (!take(r, '"'))
        return false;
    for (; r->at < r->end && *r->at != '"'; r->at++)
        to[n++] = *r->at == '\\' && r->at + 1 < r->end ? read_escape(r) : *r->at;
    *out = (struct str){to, n};
    return take(r, '"');
}

static bool read_key(struct dictionary_reader *r, const char **key)
{
    struct str s;
    skip(r);
    if (r->at < r->end && *r->at == '"') {
        if (!read_string(r, &s))
            return false;
        *key = s.p;
        return true;
    }
    size_t n = 0;
    while (r->at + n < r->end && is_name(r->at[n]))
        n++;
    *key = arena_strndup(r->a, r->at, n);
    r->at += n;
    return n > 0;
}

/* ` : i64` behind a value, and `array<i64:` before a list, say what its numbers are. */
static bool read_type(struct dictionary_reader *r, bool *floats)
{
    skip(r);
    size_t n = 0;
    while (r->at + n < r->end && is_name(r->at[n]))
        n++;
    *floats |= n > 0 && (*r->at == 'f' || *r->at == 'b');
    r->at += n;
    return n > 0;
}

/* The number at r->at, whose text is ended by something that is no part of it. */
static bool read_number(struct dictionary_reader *r, int64_t *i, double *f, bool *floats)
{
    char text[64];
    size_t n = 0;
    skip(r);
    while (r->at + n < r->end && n + 1 < sizeof text &&
           (is_name(r->at[n]) || strchr("+-", r->at[n])))
        n++;
    memcpy(text, r->at, n);
    text[n] = 0;
    if (!strcmp(text, "true") || !strcmp(text, "false")) {
        *i = *text == 't';
        *f = (double)*i;
        r->at += n;
        return true;
    }
    char *end;
    *f = strtod(text, &end);
    if (end == text || *end)
        return false;
    *floats |= strcspn(text, ".eEn") < n;
    *i = *floats ? 0 : strtoll(text, NULL, 10);
    r->at += n;
    return true;
}

/* Numbers of one attribute, as both types of lists have them. */
struct numbers {
    int64_t *ints;
    double *reals;
    int n;
    bool floats;
};

static struct numbers no_numbers(struct dictionary_reader *r)
{
    return (struct numbers){ARENA_ARRAY(r->a, int64_t, MAX_NUMBERS), ARENA_ARRAY(r->a, double, MAX_NUMBERS), 0, false};
}

static bool set_list(struct dictionary_reader *r, const char *key, const struct numbers *v)
{
    if (v->floats)
        attr_set_floats(r->a, r->attrs, key, v->reals, v->n);
    else
        attr_set_ints(r->a, r->attrs, key, v->ints, v->n);
    return true;
}

static bool set_number(struct dictionary_reader *r, const char *key, int64_t i, double f, bool floats)
{
    if (floats)
        attr_set_float(r->a, r->attrs, key, f);
    else
        attr_set_int(r->a, r->attrs, key, i);
    return true;
}

/* Up to the bracket that closes it. */
static bool read_numbers(struct dictionary_reader *r, char close, struct numbers *v)
{
    for (v->n = 0; !take(r, close); v->n++) {
        if ((v->n && !take(r, ',')) || v->n == MAX_NUMBERS ||
            !read_number(r, &v->ints[v->n], &v->reals[v->n], &v->floats) ||
            (take(r, ':') && !read_type(r, &v->floats)))
            return false;
    }
    return true;
}

static bool take_word(struct dictionary_reader *r, const char *word)
{
    size_t n = strlen(word);
    skip(r);
    if ((size_t)(r->end - r->at) < n || strncmp(r->at, word, n))
        return false;
    r->at += n;
    return true;
}

/* The type behind `dense<...> :`, of a number or a list of them: `tensor<f32>`, `tensor<3xi64>`. */
struct dense_type {
    bool list, floats, unsigned_ints;
    int64_t count;
    int bits;
};

static bool read_dense_type(struct dictionary_reader *r, struct dense_type *t)
{
    *t = (struct dense_type){.count = 1};
    if (!take(r, ':') || !take_word(r, "tensor<"))
        return false;
    for (t->count = 0; r->at < r->end && isdigit((unsigned char)*r->at) && t->count <= MAX_NUMBERS; r->at++) {
        t->list = true;
        t->count = t->count * 10 + (*r->at - '0');
    }
    if (t->list ? t->count > MAX_NUMBERS || !take(r, 'x') : (t->count = 1, false))
        return false;
    t->floats = r->at < r->end && *r->at == 'f';
    t->unsigned_ints = r->at < r->end && *r->at == 'u';
    if (!t->floats && (t->unsigned_ints || (r->at < r->end && *r->at == 's')))
        r->at++; /* ui32, si32 */
    if (!t->floats && (r->at == r->end || *r->at != 'i'))
        return false;
    for (r->at++; r->at < r->end && isdigit((unsigned char)*r->at) && t->bits <= 64; r->at++)
        t->bits = t->bits * 10 + (*r->at - '0');
    return take(r, '>');
}

/* "0x" and the elements' bytes, the lowest first. */
static bool read_dense_bytes(const struct str *text, const struct dense_type *t, struct numbers *v)
{
    size_t bytes = (size_t)t->bits / 8;
    int64_t count = bytes && text->n == 2 + 2 * bytes ? 1 : t->count; /* one, which all elements are */
    bool whole = t->bits == 32 || t->bits == 64 || (!t->floats && (t->bits == 8 || t->bits == 16));
    if (!whole || text->n != 2 + 2 * bytes * (size_t)count || strncmp(text->p, "0x", 2))
        return false;
    for (v->n = 0; v->n < count; v->n++) {
        uint64_t bits = 0;
        for (size_t k = 0; k < bytes; k++) {
            const char *c = text->p + 2 + 2 * (bytes * (size_t)v->n + k);
            if (!isxdigit((unsigned char)c[0]) || !isxdigit((unsigned char)c[1]))
                return false;
            bits |= (uint64_t)(hex_digit(c[0]) << 4 | hex_digit(c[1])) << 8 * k;
        }
        uint32_t low = (uint32_t)bits;
        float single;
        memcpy(&single, &low, 4);
        memcpy(&v->reals[v->n], &bits, 8);
        if (t->bits == 32)
            v->reals[v->n] = single;
        v->ints[v->n] = t->unsigned_ints ? (int64_t)bits : (int64_t)(bits << (64 - t->bits)) >> (64 - t->bits);
    }
    return true;
}

/* Behind `dense<`: an array of NumPy's, of one dim or none. */
static bool read_dense(struct dictionary_reader *r, const char *key)
{
    struct numbers v = no_numbers(r);
    struct dense_type t;
    struct str bytes = {0};
    skip(r);
    if (r->at < r->end && *r->at == '"') {
        if (!read_string(r, &bytes) || !take(r, '>'))
            return false;
    } else if (take(r, '[')) {
        if (!read_numbers(r, ']', &v) || !take(r, '>'))
            return false;
    } else if (!read_numbers(r, '>', &v) || v.n > 1) { /* one number, which all elements are; none */
        return false;
    }
    if (!read_dense_type(r, &t) || (bytes.p && !read_dense_bytes(&bytes, &t, &v)))
        return false;
    for (; v.n == 1 && v.n < t.count; v.n = (int)t.count)
        for (int64_t k = 1; k < t.count; k++)
            v.ints[k] = v.ints[0], v.reals[k] = v.reals[0];
    v.floats = t.floats;
    if (v.n != t.count)
        return false;
    return t.list ? set_list(r, key, &v) : set_number(r, key, v.ints[0], v.reals[0], v.floats);
}

/* Behind `array<`. */
static bool read_array(struct dictionary_reader *r, const char *key)
{
    struct numbers v = no_numbers(r);
    if (!read_type(r, &v.floats))
        return false;
    if (take(r, '>')) /* `array<i64>` has none */
        return set_list(r, key, &v);
    return take(r, ':') && read_numbers(r, '>', &v) && set_list(r, key, &v);
}

static bool read_value(struct dictionary_reader *r, const char *key)
{
    struct str s;
    int64_t i;
    double f;
    bool floats = false;
    skip(r);
    if (r->at < r->end && *r->at == '"') {
        if (!read_string(r, &s))
            return false;
        attr_set_strn(r->a, r->attrs, key, s);
        return true;
    }
    if (take(r, '[')) {
        struct numbers v = no_numbers(r);
        return read_numbers(r, ']', &v) && set_list(r, key, &v);
    }
    if (take_word(r, "array<"))
        return read_array(r, key);
    if (take_word(r, "dense<"))
        return read_dense(r, key);
    return read_number(r, &i, &f, &floats) && (!take(r, ':') || read_type(r, &floats)) &&
           set_number(r, key, i, f, floats);
}

static bool read_entries(struct dictionary_reader *r)
{
    skip(r);
    if (r->at == r->end)
        return true;
    if (!take(r, '{'))
        return false;
    for (bool first = true; !take(r, '}'); first = false) {
        const char *key;
        if ((!first && !take(r, ',')) || !read_key(r, &key) || !(take(r, '=') || take(r, ':')) ||
            !read_value(r, key))
            return false;
    }
    skip(r);
    return r->at == r->end;
}

bool hlo_read_dictionary(struct arena *a, const struct hlo_text *text, struct attrs *out, const char **rest)
{
    struct dictionary_reader r = {.a = a, .attrs = out};
    if (text && text->data)
        r.at = text->data, r.end = r.at + text->size;
    bool ok = read_entries(&r);
    *rest = arena_strndup(a, r.at, (size_t)(r.end - r.at > SHOWN ? SHOWN : r.end - r.at));
    return ok;
}
