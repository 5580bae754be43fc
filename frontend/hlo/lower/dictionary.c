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

static bool set_list(struct dictionary_reader *r, const char *key, const int64_t *ints, const double *reals,
                     int n, bool floats)
{
    if (floats)
        attr_set_floats(r->a, r->attrs, key, reals, n);
    else
        attr_set_ints(r->a, r->attrs, key, ints, n);
    return true;
}

/* Up to the bracket that closes it. */
static bool read_list(struct dictionary_reader *r, const char *key, char close, bool floats)
{
    int64_t *ints = ARENA_ARRAY(r->a, int64_t, MAX_NUMBERS);
    double *reals = ARENA_ARRAY(r->a, double, MAX_NUMBERS);
    int n = 0;
    while (!take(r, close)) {
        if ((n && !take(r, ',')) || n == MAX_NUMBERS ||
            !read_number(r, &ints[n], &reals[n], &floats))
            return false;
        n++;
        if (take(r, ':') && !read_type(r, &floats))
            return false;
    }
    return set_list(r, key, ints, reals, n, floats);
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
    if (take(r, '['))
        return read_list(r, key, ']', false);
    if ((size_t)(r->end - r->at) > 6 && !strncmp(r->at, "array<", 6)) {
        r->at += 6;
        if (!read_type(r, &floats))
            return false;
        if (take(r, '>')) /* `array<i64>` has none */
            return set_list(r, key, NULL, NULL, 0, floats);
        return take(r, ':') && read_list(r, key, '>', floats);
    }
    if (!read_number(r, &i, &f, &floats) || (take(r, ':') && !read_type(r, &floats)))
        return false;
    if (floats)
        attr_set_float(r->a, r->attrs, key, f);
    else
        attr_set_int(r->a, r->attrs, key, i);
    return true;
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
