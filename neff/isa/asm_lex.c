#include "neff/isa/asm_lex.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool asm_bad_here(struct asm_lexer *x)
{
    int line = 1, column = 1;
    for (const char *c = x->text; c < x->s; c++) {
        column++;
        if (*c == '\n')
            line++, column = 1;
    }
    return fail_in(x->d, "%s:%d:%d", x->file, line, column);
}

bool asm_bad(struct asm_lexer *x, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (diag_failed(x->d))
        return false;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fail(x->d, "%s", text);
    return asm_bad_here(x);
}

void asm_skip(struct asm_lexer *x)
{
    for (;;) {
        while (*x->s == ' ' || *x->s == '\n' || *x->s == '\t' || *x->s == '\r')
            x->s++;
        if (*x->s != '#')
            return;
        while (*x->s && *x->s != '\n')
            x->s++;
    }
}

bool asm_at_end(struct asm_lexer *x)
{
    asm_skip(x);
    return !*x->s;
}

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool asm_try(struct asm_lexer *x, const char *token)
{
    asm_skip(x);
    size_t n = strlen(token);
    if (strncmp(x->s, token, n) || (word_char(token[n - 1]) && word_char(x->s[n])))
        return false;
    x->s += n;
    return true;
}

bool asm_want(struct asm_lexer *x, const char *token)
{
    if (diag_failed(x->d))
        return false;
    if (asm_try(x, token))
        return true;
    int n = (int)strcspn(x->s, "\n");
    return asm_bad(x, "expected '%s', found '%.*s'", token, n < 20 ? n : 20, x->s);
}

bool asm_peek(struct asm_lexer *x, char c)
{
    asm_skip(x);
    return *x->s == c;
}

bool asm_word(struct asm_lexer *x, char *out, size_t cap)
{
    asm_skip(x);
    size_t n = 0;
    while (word_char(x->s[n]))
        n++;
    if (n == 0)
        return asm_bad(x, "expected a word, found '%.1s'", x->s);
    if (n >= cap)
        return asm_bad(x, "word too long: '%.20s...'", x->s);
    memcpy(out, x->s, n);
    out[n] = 0;
    x->s += n;
    return true;
}

bool asm_i64(struct asm_lexer *x, int64_t *out)
{
    char *end;
    asm_skip(x);
    errno = 0;
    *out = strtoll(x->s, &end, 10);
    if (end == x->s || isspace((unsigned char)*x->s))
        return asm_bad(x, "expected a number, found '%.10s'", x->s);
    if (errno)
        return asm_bad(x, "number does not fit 64 bits");
    x->s = end;
    return true;
}

bool asm_u64(struct asm_lexer *x, uint64_t *out)
{
    char *end;
    asm_skip(x);
    errno = 0;
    if (!isdigit((unsigned char)*x->s))
        return asm_bad(x, "expected a number of 0 or more, found '%.10s'", x->s);
    *out = strtoull(x->s, &end, 10);
    if (errno)
        return asm_bad(x, "number does not fit 64 bits");
    x->s = end;
    return true;
}

bool asm_int(struct asm_lexer *x, int low, int high, const char *what, int *out)
{
    int64_t v;
    asm_skip(x);
    struct asm_lexer start = *x;
    if (!asm_i64(x, &v))
        return false;
    if (v < low || v > high)
        return asm_bad(&start, "%s is %lld, expected %d to %d", what, (long long)v, low, high);
    *out = (int)v;
    return true;
}

bool asm_float(struct asm_lexer *x, double *out, uint64_t *bits, bool *is_bits)
{
    char *end;
    asm_skip(x);
    *is_bits = !strncmp(x->s, "0x", 2);
    errno = 0;
    if (*is_bits)
        *bits = strtoull(x->s, &end, 16);
    else
        *out = strtod(x->s, &end);
    if (end == x->s || (*is_bits && errno))
        return asm_bad(x, "expected a number, found '%.10s'", x->s);
    x->s = end;
    return true;
}

bool asm_f32(struct asm_lexer *x, float *out)
{
    double v = 0;
    uint64_t bits = 0;
    bool is_bits;
    if (!asm_float(x, &v, &bits, &is_bits))
        return false;
    uint32_t narrow = (uint32_t)bits;
    if (is_bits)
        memcpy(out, &narrow, sizeof *out);
    else
        *out = (float)v;
    return true;
}

bool asm_f64(struct asm_lexer *x, double *out)
{
    uint64_t bits = 0;
    bool is_bits;
    if (!asm_float(x, out, &bits, &is_bits))
        return false;
    if (is_bits)
        memcpy(out, &bits, sizeof *out);
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character after a backslash; -1 when it is none. */
static int escape(struct asm_lexer *x)
{
    char c = *x->s++;
    if (c == 'n')
        return '\n';
    if (c == '"' || c == '\\')
        return c;
    if (c != 'x')
        return -1;
    int high = hex_digit(x->s[0]), low = high < 0 ? -1 : hex_digit(x->s[1]);
    if (low < 0)
        return -1;
    x->s += 2;
    return high * 16 + low;
}

bool asm_string(struct asm_lexer *x, struct str *out)
{
    if (!asm_want(x, "\""))
        return false;
    size_t n = 0;
    const char *close = x->s;
    while (*close && *close != '"')
        close += *close == '\\' && close[1] ? 2 : 1;
    if (!*close)
        return asm_bad(x, "missing closing quote");
    char *text = arena_alloc(x->arena, (size_t)(close - x->s) + 1);
    while (x->s < close) {
        int c = (unsigned char)*x->s++;
        if (c == '\\' && (c = escape(x)) < 0)
            return asm_bad(x, "unknown escape, expected \\n, \\\", \\\\ or \\x and two digits");
        text[n++] = (char)c;
    }
    x->s = close + 1;
    *out = (struct str){text, n};
    return true;
}

bool asm_text(struct asm_lexer *x, const char **out)
{
    struct str s;
    if (!asm_string(x, &s))
        return false;
    if (memchr(s.p, 0, s.n))
        return asm_bad(x, "a name contains a zero byte");
    *out = s.p;
    return true;
}
