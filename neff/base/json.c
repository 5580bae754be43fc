#include "neff/base/json.h"

#include <stdlib.h>
#include <string.h>

struct json_reader json_reader(const void *text, size_t size)
{
    return (struct json_reader){.start = text, .at = text, .end = (const char *)text + size};
}

int json_line(const struct json_reader *r)
{
    int line = 1;
    for (const char *s = r->start; s < r->at; s++)
        line += *s == '\n';
    return line;
}

static bool bad(struct json_reader *r, const char *problem)
{
    if (!r->problem)
        r->problem = problem;
    return false;
}

static void blanks(struct json_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

static bool take(struct json_reader *r, char c)
{
    blanks(r);
    if (r->problem || r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

bool json_begins(const struct json_reader *r, char first)
{
    struct json_reader here = *r;
    return take(&here, first);
}

/* ---- objects and arrays ---- */

void json_enter(struct json_reader *r, char bracket)
{
    if (!take(r, bracket))
        bad(r, bracket == '{' ? "expected an object" : "expected an array");
    else if (++r->depth > JSON_DEPTH)
        bad(r, "nested too deeply");
    r->first = true;
}

/* Whether something follows in the innermost object or array, whose end is passed otherwise. */
static bool more(struct json_reader *r, char bracket)
{
    if (take(r, bracket)) {
        r->depth--;
        r->first = false;
        return false;
    }
    if (!r->first && !take(r, ','))
        bad(r, "expected a comma or the end of an object or array");
    r->first = false;
    return !r->problem;
}

bool json_read_element(struct json_reader *r)
{
    return more(r, ']');
}

const char *json_read_key(struct json_reader *r)
{
    if (!more(r, '}'))
        return NULL;
    json_read_word(r);
    if (!take(r, ':'))
        bad(r, "expected a colon");
    return r->problem ? NULL : r->word;
}

/* ---- strings ---- */

static int hex4(struct json_reader *r)
{
    int v = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = r->at < r->end && *r->at ? strchr(digits, *r->at) : NULL;
        if (!digit)
            return bad(r, "bad escape") - 1;
        v = v << 4 | (int)((digit - digits) & 15);
    }
    return v;
}

static int put_utf8(char *to, int c)
{
    int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int i = n - 1; i > 0; i--, c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(lead[n] | c);
    return n;
}

/* What follows a backslash, as UTF-8; its length, 0 after a problem. */
static int unescape(struct json_reader *r, char *to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = r->at < r->end ? *r->at++ : 0;
    const char *name = c ? strchr(names, c) : NULL;
    if (name) {
        *to = values[name - names];
        return 1;
    }
    int code = c == 'u' ? hex4(r) : -1;
    if (code >= 0xd800 && code < 0xdc00) {
        bool pair = r->end - r->at >= 2 && r->at[0] == '\\' && r->at[1] == 'u';
        r->at += pair ? 2 : 0;
        int low = pair ? hex4(r) : -1;
        code =
            low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + low - 0xdc00 : -1;
    }
    if (code <= 0 || (code >= 0xd800 && code < 0xe000))
        return bad(r, "bad escape");
    return put_utf8(to, code);
}

/* Bytes of the UTF-8 character at s; 0 when it is none. */
static int utf8_length(const char *s, const char *end)
{
    uint8_t c = (uint8_t)*s;
    int n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (end - s < n)
        return 0;
    for (int i = 1; i < n; i++)
        if (((uint8_t)s[i] & 0xc0) != 0x80)
            return 0;
    uint8_t next = n > 2 ? (uint8_t)s[1] : 0; /* too long a form, surrogates, past the last one */
    bool odd = (c == 0xe0 && next < 0xa0) || (c == 0xed && next > 0x9f) ||
               (c == 0xf0 && next < 0x90) || (c == 0xf4 && next > 0x8f);
    return odd ? 0 : n;
}

bool json_is_utf8(const char *s, size_t n)
{
    for (const char *end = s + n; s < end;) {
        int length = *s ? utf8_length(s, end) : 0;
        if (!length)
            return false;
        s += length;
    }
    return true;
}

/* Bytes from here on that stand for themselves. */
static size_t plain(const struct json_reader *r)
{
    const char *p = r->at;
    while (p < r->end && *p >= 0x20 && (uint8_t)*p < 0x80 && *p != '"' && *p != '\\')
        p++;
    return (size_t)(p - r->at);
}

/* The string at hand into `to`, which has room for `room` bytes; NULL: nowhere. Its length, also
 * when it does not fit. */
static size_t string(struct json_reader *r, char *to, size_t room)
{
    size_t length = 0;
    if (!take(r, '"')) {
        bad(r, "expected a string");
        return 0;
    }
    while (!r->problem) {
        char escaped[4];
        const char *from = r->at;
        size_t n = plain(r);
        if (n)
            r->at += n;
        else if (r->at == r->end || (uint8_t)*r->at < 0x20)
            bad(r, "a string without an end");
        else if (*r->at == '"')
            break;
        else if (*r->at == '\\')
            r->at++, n = (size_t)unescape(r, escaped), from = escaped;
        else if (!(n = (size_t)utf8_length(r->at, r->end)))
            bad(r, "not UTF-8");
        else
            r->at += n;
        if (to && length + n <= room)
            memcpy(to + length, from, n);
        length += n;
    }
    r->at += r->problem == NULL;
    return r->problem ? 0 : length;
}

const char *json_read_word(struct json_reader *r)
{
    size_t n = string(r, r->word, JSON_WORD - 1);
    r->word[n < JSON_WORD ? n : 0] = 0;
    return r->word;
}

char *json_read_text(struct json_reader *r, struct arena *a)
{
    struct json_reader start = *r;
    size_t n = string(r, NULL, 0);
    char *text = arena_alloc(a, n + 1);
    if (n)
        string(&start, text, n);
    return text;
}

/* ---- other values ---- */

static bool digit(const struct json_reader *r)
{
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static bool one_of(const struct json_reader *r, const char *set)
{
    return r->at < r->end && *r->at && strchr(set, *r->at);
}

int64_t json_read_integer(struct json_reader *r)
{
    blanks(r);
    bool negative = take(r, '-'), overflow = false;
    int64_t v = 0;
    if (r->problem || !digit(r))
        return bad(r, "expected an integer");
    for (; digit(r); r->at++)
        overflow |= __builtin_mul_overflow(v, 10, &v) ||
                    __builtin_sub_overflow(v, *r->at - '0', &v); /* below 0 there is one more */
    overflow |= !negative && v == INT64_MIN;
    if (overflow || one_of(r, ".eE"))
        return bad(r, "expected an integer of 64 bits");
    return negative ? v : -v;
}

static void skip_number(struct json_reader *r)
{
    blanks(r);
    const char *start = r->at;
    while (digit(r) || one_of(r, "+-.eE"))
        r->at++;
    if (r->at == start)
        bad(r, "expected a value");
}

double json_read_number(struct json_reader *r)
{
    blanks(r);
    char text[JSON_WORD], *end = text;
    const char *start = r->at;
    skip_number(r);
    size_t n = (size_t)(r->at - start);
    double v = 0;
    if (n < sizeof text) {
        memcpy(text, start, n);
        text[n] = 0;
        v = strtod(text, &end);
    }
    if (n == 0 || end != text + n)
        bad(r, "expected a number");
    return r->problem ? 0 : v;
}

static bool literal(struct json_reader *r, const char *name)
{
    size_t n = strlen(name);
    blanks(r);
    if (r->problem || (size_t)(r->end - r->at) < n || memcmp(r->at, name, n) != 0)
        return false;
    r->at += n;
    return true;
}

bool json_read_bool(struct json_reader *r)
{
    bool yes = literal(r, "true");
    return yes || literal(r, "false") ? yes : bad(r, "expected true or false");
}

void json_skip(struct json_reader *r)
{
    int depth = r->depth;
    bool object[JSON_DEPTH + 1]; /* that the skipped value opened */
    do {
        if (r->depth > depth &&
            !(object[r->depth - 1] ? json_read_key(r) != NULL : json_read_element(r)))
            continue;
        if (json_begins(r, '{') || json_begins(r, '[')) {
            object[r->depth] = json_begins(r, '{');
            json_enter(r, object[r->depth] ? '{' : '[');
        } else if (json_begins(r, '"')) {
            string(r, NULL, 0);
        } else if (!literal(r, "true") && !literal(r, "false") && !literal(r, "null")) {
            skip_number(r);
        }
    } while (r->depth > depth && !r->problem);
}

const char *json_value(struct json_reader *r)
{
    blanks(r);
    const char *start = r->at;
    json_skip(r);
    return start;
}

bool json_done(struct json_reader *r)
{
    blanks(r);
    return !r->problem && r->depth == 0 && r->at == r->end;
}

void json_print_text(FILE *f, const char *s, size_t size, const char *also)
{
    fputc('"', f);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 32 || strchr(also, c))
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}
