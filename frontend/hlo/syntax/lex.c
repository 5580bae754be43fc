#include "frontend/hlo/syntax/lex.h"

#include <string.h>

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}
static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_word(int c)
{
    return is_letter(c) || is_digit(c) || c == '.' || c == '-';
}
static int hex_digit(int c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static const char *const keywords[] = {
    "true",
    "false",
    "HloModule",
    "ENTRY",
    "ROOT",
    "FileNames",
    "FunctionNames",
    "FileLocations",
    "StackFrames",
    "maximal",
    "replicated",
    "manual",
    "last_tile_dim_replicate",
    "shard_as",
    "shard_like",
    "unknown",
    "unreduced",
};

void lex_start(struct lex *l, const char *text, size_t size)
{
    *l = (struct lex){.begin = text, .end = text + size, .at = text, .start = text};
    if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        l->at += 3;
    lex_next(l);
}

static int peek(const struct lex *l, const char *p)
{
    return p < l->end ? (unsigned char)*p : -1;
}

static void error(struct lex *l, const char *text)
{
    l->kind = TOK_ERROR;
    l->error = text;
    l->at = l->end;
}

static bool skip_space(struct lex *l)
{
    const char *p = l->at, *end = l->end;
    for (;;) {
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
            p++;
        if (end - p < 2 || *p != '/' || (p[1] != '*' && p[1] != '/'))
            break;
        if (p[1] == '/') {
            const char *e = memchr(p, '\n', (size_t)(end - p));
            p = e ? e : end;
        } else {
            l->start = p;
            for (p += 2; end - p >= 2 && !(*p == '*' && p[1] == '/'); p++)
                ;
            if (end - p < 2) {
                error(l, "comment without an end");
                return false;
            }
            p += 2;
        }
    }
    l->at = p;
    return true;
}

/* Length of A+_B+->C+ with letters of the given sets, at least two each; 0 when it is not there. */
static size_t match_dim_labels(const struct lex *l, const char *p)
{
    static const char *const sets[3] = {"bf?", "io?", "bf?"};
    const char *start = p;
    for (int part = 0; part < 3; part++) {
        const char *from = p;
        while (p < l->end && *p && (is_digit(*p) || strchr(sets[part], *p)))
            p++;
        if (p - from < 2)
            return 0;
        if (part == 0 && peek(l, p++) != '_')
            return 0;
        if (part == 1 && (peek(l, p) != '-' || peek(l, p + 1) != '>'))
            return 0;
        if (part == 1)
            p += 2;
    }
    return (size_t)(p - start);
}

static void nan_payload(struct lex *l)
{
    const char *p = l->at;
    if (l->end - p < 5 || p[0] != '(' || p[1] != '0' || p[2] != 'x' || hex_digit(p[3]) < 0)
        return;
    uint64_t v = 0;
    for (p += 3; p < l->end && hex_digit(*p) >= 0; p++) {
        if (v >> 60)
            l->wide = true;
        v = v << 4 | (uint64_t)hex_digit(*p);
    }
    if (peek(l, p) != ')')
        return;
    l->has_payload = true;
    l->integer = v;
    l->at = p + 1;
}

static void word(struct lex *l)
{
    const char *p = l->start;
    while (p < l->end && is_word(*p))
        p++;
    l->text = l->start;
    l->size = (size_t)(p - l->start);
    l->at = p;
    int next = peek(l, p);
    if (next == ':' || next == '=') {
        l->at = p + 1;
        l->kind = next == ':' ? TOK_NAME : TOK_ATTR;
        return;
    }
    l->type = HLO_TYPE_INVALID;
    if (l->size <= 13 && strchr("psufbcot", *l->text))
        l->type = hlo_type_find(l->text, l->size);
    if (l->type == HLO_TUPLE || l->type == HLO_BUFFER)
        l->type = HLO_TYPE_INVALID;
    while (p < l->end && (*p == ' ' || *p == '\t'))
        p++;
    l->kind = l->type && peek(l, p) == '[' ? TOK_TYPE : TOK_IDENT;
    if (l->kind == TOK_TYPE)
        return;
    if (lex_word(l, "nan")) {
        l->kind = TOK_NAN;
        nan_payload(l);
        return;
    }
    if (lex_word(l, "inf")) {
        l->kind = TOK_INF;
        return;
    }
    for (size_t k = 0; k < sizeof keywords / sizeof keywords[0]; k++)
        if (lex_word(l, keywords[k])) {
            l->kind = TOK_KEYWORD;
            return;
        }
    size_t n = *l->text == 'b' || *l->text == 'f' ? match_dim_labels(l, l->start) : 0;
    if (n) {
        l->kind = TOK_DIM_LABELS;
        l->size = n;
        l->at = l->start + n;
    }
}

/* Length of a decimal number with a point or an exponent; 0 when there is none. */
static size_t match_float(const struct lex *l, const char *p)
{
    const char *start = p;
    if (peek(l, p) == '-')
        p++;
    int digits = 0;
    bool point = false;
    for (; p < l->end && (is_digit(*p) || (*p == '.' && !point)); p++)
        if (*p == '.')
            point = true;
        else
            digits++;
    if (!digits)
        return 0;
    if (peek(l, p) == 'e' || peek(l, p) == 'E') {
        const char *e = p + 1;
        if (peek(l, e) == '+' || peek(l, e) == '-')
            e++;
        if (is_digit(peek(l, e))) {
            while (is_digit(peek(l, e)))
                e++;
            return (size_t)(e - start);
        }
    }
    return point ? (size_t)(p - start) : 0;
}

static const char *digits(const struct lex *l, const char *p)
{
    while (is_digit(peek(l, p)))
        p++;
    return p;
}

static size_t match_dxd(const struct lex *l, const char *p)
{
    const char *start = p;
    int parts = 0;
    for (;;) {
        const char *e = digits(l, p);
        if (e == p)
            return parts > 1 ? (size_t)(p - 1 - start) : 0;
        parts++;
        p = e;
        if (peek(l, p) != 'x')
            return parts > 1 ? (size_t)(p - start) : 0;
        p++;
    }
}

static const char *match_pad_dim(const struct lex *l, const char *p)
{
    for (int k = 0; k < 3; k++) {
        const char *q = p;
        if (k) {
            if (peek(l, q) != '_')
                return k == 2 ? p : NULL;
            q++;
        }
        if (k < 2 && peek(l, q) == '-')
            q++;
        const char *e = digits(l, q);
        if (e == q)
            return k == 2 ? p : NULL;
        p = e;
    }
    return p;
}

static size_t match_pad(const struct lex *l, const char *p)
{
    const char *start = p, *good = NULL;
    while ((p = match_pad_dim(l, p))) {
        good = p;
        if (peek(l, p) != 'x')
            break;
        p++;
    }
    return good ? (size_t)(good - start) : 0;
}

static void integer(struct lex *l)
{
    const char *p = l->start;
    l->negative = *p == '-';
    p += l->negative;
    for (; is_digit(peek(l, p)); p++)
        if (__builtin_mul_overflow(l->integer, 10, &l->integer) ||
            __builtin_add_overflow(l->integer, (uint64_t)(*p - '0'), &l->integer))
            l->wide = true;
    l->kind = TOK_INT;
    l->size = (size_t)(p - l->start);
    l->at = p;
}

static void number(struct lex *l)
{
    const char *p = l->start;
    size_t n;
    l->text = p;
    if (*p == '-' && peek(l, p + 1) == '>') {
        l->kind = TOK_ARROW;
        l->at = p + 2;
        return;
    }
    const struct {
        size_t (*match)(const struct lex *, const char *);
        enum token kind;
    } forms[] = {
        {match_float, TOK_FLOAT},
        {match_dim_labels, TOK_DIM_LABELS},
        {match_dxd, TOK_DXD},
        {match_pad, TOK_PAD},
    };
    for (int k = 0; k < 4; k++)
        if ((n = forms[k].match(l, p))) {
            l->kind = forms[k].kind;
            l->size = n;
            l->at = p + n;
            return;
        }
    int next = peek(l, p + 1);
    if (is_digit(*p) || (*p == '-' && is_digit(next))) {
        integer(l);
    } else if (l->end - p >= 4 && (!memcmp(p, "-inf", 4) || !memcmp(p, "-nan", 4))) {
        l->kind = p[1] == 'i' ? TOK_INF : TOK_NAN;
        l->negative = true;
        l->at = p + 4;
        if (l->kind == TOK_NAN)
            nan_payload(l);
    } else if (*p == '?') {
        l->kind = TOK_QUESTION;
        l->at = p + 1;
    } else {
        error(l, "this is not a number");
    }
}

static void string(struct lex *l)
{
    char quote = *l->start;
    const char *p = l->start + 1;
    while (p < l->end && *p != quote)
        p += *p == '\\' && l->end - p > 1 ? 2 : 1;
    if (p >= l->end) {
        error(l, "string without an end");
        return;
    }
    l->kind = TOK_STRING;
    l->text = l->start + 1;
    l->size = (size_t)(p - l->text);
    l->at = p + 1;
}

void lex_next(struct lex *l)
{
    l->size = 0;
    l->integer = 0;
    l->negative = l->wide = l->has_payload = false;
    if (l->kind == TOK_ERROR || !skip_space(l))
        return;
    l->start = l->text = l->at;
    if (l->at >= l->end) {
        l->kind = TOK_END;
        return;
    }
    int c = (unsigned char)*l->at;
    if (is_letter(c)) {
        word(l);
    } else if (is_digit(c) || c == '-' || c == '?') {
        number(l);
    } else if (c == '%') {
        const char *p = l->at + 1;
        if (!is_letter(peek(l, p))) {
            error(l, "expected a name after '%'");
            return;
        }
        while (p < l->end && is_word(*p))
            p++;
        l->kind = TOK_NAME;
        l->text = l->at + 1;
        l->size = (size_t)(p - l->text);
        l->at = p;
    } else if (c == '"' || c == '\'') {
        string(l);
    } else if (c == '<' && peek(l, l->at + 1) == '=') {
        l->kind = TOK_LE;
        l->at += 2;
    } else if (c == '.' && l->end - l->at >= 3 && !memcmp(l->at, "...", 3)) {
        l->kind = TOK_DOTS;
        l->at += 3;
    } else if (c && strchr(",=*#+~[]{}():", c)) {
        l->kind = TOK_PUNCT;
        l->punct = (char)c;
        l->size = 1;
        l->at++;
    } else {
        error(l, "unexpected character");
    }
}

bool lex_word(const struct lex *l, const char *w)
{
    return (l->kind == TOK_IDENT || l->kind == TOK_KEYWORD) && strncmp(w, l->text, l->size) == 0 &&
           w[l->size] == 0;
}

static const char *skip_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\')
            p++;
    return p < end ? p : NULL;
}

bool lex_raw(struct lex *l, const char **text, size_t *size)
{
    int64_t depth = 0;
    for (const char *p = l->start; p < l->end; p++) {
        if (*p == '"' && !(p = skip_string(p, l->end)))
            break;
        depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
        if (!depth) {
            *text = l->start;
            *size = (size_t)(p + 1 - l->start);
            l->at = p + 1;
            lex_next(l);
            return true;
        }
    }
    error(l, "'{' without its '}'");
    return false;
}

bool lex_is_raw(const char *text, size_t size)
{
    struct lex l = {.begin = text, .end = text + size, .at = text, .start = text};
    const char *raw;
    size_t raw_size;
    return size && *text == '{' && lex_raw(&l, &raw, &raw_size) && raw_size == size;
}

bool lex_skip_value(struct lex *l)
{
    int64_t depth = 0;
    const char *p = l->start;
    for (; p < l->end; p++) {
        if (*p == '"' && !(p = skip_string(p, l->end))) {
            error(l, "string without an end");
            return false;
        }
        if (depth == 0 && (*p == ',' || *p == '\n' || *p == '}'))
            break;
        if (*p && strchr("{[(", *p))
            depth++;
        else if (*p && strchr("}])", *p))
            depth--;
        if (depth < 0)
            break;
    }
    if (depth != 0) {
        error(l, "brackets do not match in an attribute's value");
        return false;
    }
    l->at = p;
    lex_next(l);
    return true;
}

static char *put_utf8(char *o, uint32_t c)
{
    if (c < 0x80) {
        *o++ = (char)c;
    } else if (c < 0x800) {
        *o++ = (char)(0xc0 | c >> 6);
        *o++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *o++ = (char)(0xe0 | c >> 12);
        *o++ = (char)(0x80 | (c >> 6 & 63));
        *o++ = (char)(0x80 | (c & 63));
    } else {
        *o++ = (char)(0xf0 | (c >> 18 & 7));
        *o++ = (char)(0x80 | (c >> 12 & 63));
        *o++ = (char)(0x80 | (c >> 6 & 63));
        *o++ = (char)(0x80 | (c & 63));
    }
    return o;
}

static bool unicode(const char **p, const char *end, int length, char **o)
{
    uint32_t v = 0;
    for (int k = 0; k < length; k++, (*p)++) {
        if (*p >= end || hex_digit(**p) < 0)
            return false;
        v = v << 4 | (uint32_t)hex_digit(**p);
    }
    if (v > 0x10ffff)
        return false;
    *o = put_utf8(*o, v);
    return true;
}

bool lex_unescape(const struct lex *l, char *out, size_t *size)
{
    static const char letters[] = "ntrabfv\\\"'?", bytes[] = "\n\t\r\a\b\f\v\\\"'?";
    const char *p = l->text, *end = p + l->size;
    char *o = out;
    while (p < end) {
        if (*p != '\\') {
            *o++ = *p++;
            continue;
        }
        if (++p >= end)
            return false;
        const char *letter = *p ? strchr(letters, *p) : NULL;
        if (letter) {
            *o++ = bytes[letter - letters];
            p++;
        } else if (*p >= '0' && *p <= '7') {
            int v = 0;
            for (int k = 0; k < 3 && p < end && *p >= '0' && *p <= '7'; k++)
                v = v * 8 + *p++ - '0';
            *o++ = (char)v;
        } else if (*p == 'x' || *p == 'X') {
            int v = 0;
            const char *from = ++p;
            for (; p < end && hex_digit(*p) >= 0; p++)
                v = (v << 4 | hex_digit(*p)) & 255;
            if (p == from)
                return false;
            *o++ = (char)v;
        } else if (*p == 'u' || *p == 'U') {
            int length = *p++ == 'u' ? 4 : 8;
            if (!unicode(&p, end, length, &o))
                return false;
        } else {
            return false;
        }
    }
    *size = (size_t)(o - out);
    return true;
}
