/* Characters, names and values of MLIR text. */
#include "frontend/stablehlo/syntax/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages ---- */

int text_line(struct text *t, const char *at)
{
    if (at < t->line_at) {
        t->line_at = t->start;
        t->line = 1;
    }
    for (; t->line_at < at; t->line_at++)
        t->line += *t->line_at == '\n';
    return t->line;
}

bool text_fail_at(struct text *t, const char *at, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const char *line = at;
    while (line > t->start && line[-1] != '\n')
        line--;
    return fail(t->d, "%s:%d:%d: %s", t->file, text_line(t, at), (int)(at - line) + 1, text);
}

bool text_fail(struct text *t, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return text_fail_at(t, t->p, "%s", text);
}

static void skip_space(struct text *t)
{
    while (t->p < t->end) {
        if (*t->p == ' ' || *t->p == '\n' || *t->p == '\t' || *t->p == '\r') {
            t->p++;
        } else if (*t->p == '/' && t->p + 1 < t->end && t->p[1] == '/') {
            const char *e = memchr(t->p, '\n', (size_t)(t->end - t->p));
            t->p = e ? e : t->end;
        } else {
            break;
        }
    }
}

bool text_expected(struct text *t, const char *what)
{
    char found[40];
    size_t n = 0;
    skip_space(t);
    while (n < sizeof found - 1 && t->p + n < t->end && isprint((unsigned char)t->p[n]) &&
           (n == 0 || (!isspace((unsigned char)t->p[n]) && !strchr(",()<>{}", t->p[n])))) {
        found[n] = t->p[n];
        n++;
    }
    found[n] = 0;
    if (t->p >= t->end)
        return text_fail(t, "expected %s, found the end of the file", what);
    return text_fail(t, "expected %s, found '%s'", what, found);
}

bool text_enter(struct text *t)
{
    return ++t->depth <= MLIR_MAX_NESTING ||
           text_fail(t, "nested deeper than %d", MLIR_MAX_NESTING);
}

/* ---- characters ---- */

char text_peek(struct text *t)
{
    skip_space(t);
    return t->p < t->end ? *t->p : 0;
}

bool text_eat(struct text *t, const char *s)
{
    size_t n = strlen(s);
    skip_space(t);
    if ((size_t)(t->end - t->p) < n || memcmp(t->p, s, n))
        return false;
    t->p += n;
    return true;
}

bool text_need(struct text *t, const char *s)
{
    char what[16];
    snprintf(what, sizeof what, "'%s'", s);
    return text_eat(t, s) || text_expected(t, what);
}

bool text_is_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

bool text_is_part(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.';
}

bool text_word(struct text *t, const char *s)
{
    const char *before = t->p;
    if (!text_eat(t, s) || (t->p < t->end && text_is_part(*t->p))) {
        t->p = before;
        return false;
    }
    return true;
}

bool text_need_word(struct text *t, const char *s)
{
    char what[40];
    snprintf(what, sizeof what, "'%s'", s);
    return text_word(t, s) || text_expected(t, what);
}

const char *text_ident(struct text *t)
{
    skip_space(t);
    const char *s = t->p;
    if (s >= t->end || !text_is_start(*s))
        return NULL;
    while (t->p < t->end && text_is_part(*t->p))
        t->p++;
    return arena_strndup(t->arena, s, (size_t)(t->p - s));
}

const char *text_ident_needed(struct text *t, const char *what)
{
    const char *s = text_ident(t);
    if (!s)
        text_expected(t, what);
    return s;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

const char *text_string(struct text *t, size_t *size)
{
    if (text_peek(t) != '"') {
        text_expected(t, "a string");
        return NULL;
    }
    const char *s = ++t->p, *e = s;
    while (e < t->end && *e != '"' && *e != '\n')
        e += *e == '\\' && e + 1 < t->end ? 2 : 1;
    if (e >= t->end || *e != '"') {
        text_fail_at(t, s - 1, "a string without its end");
        return NULL;
    }
    char *out = arena_alloc(t->arena, (size_t)(e - s) + 1), *o = out;
    for (; s < e; s++) {
        if (*s != '\\') {
            *o++ = *s;
            continue;
        }
        s++;
        if (*s == 'n' || *s == 't')
            *o++ = *s == 'n' ? '\n' : '\t';
        else if (hex_digit(*s) >= 0 && s + 1 < e && hex_digit(s[1]) >= 0) {
            *o++ = (char)(hex_digit(*s) * 16 + hex_digit(s[1]));
            s++;
        } else
            *o++ = *s;
    }
    t->p = e + 1;
    if (size)
        *size = (size_t)(o - out);
    return out;
}

bool text_int(struct text *t, int64_t *v)
{
    skip_space(t);
    const char *s = t->p;
    bool negative = s < t->end && *s == '-';
    uint64_t n = 0;
    s += negative;
    if (s >= t->end || !isdigit((unsigned char)*s))
        return text_expected(t, "an integer");
    for (; s < t->end && isdigit((unsigned char)*s); s++)
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
            return text_fail(t, "an integer of more than 64 bits");
    if (n > (uint64_t)INT64_MAX + negative)
        return text_fail(t, "an integer of more than 63 bits");
    *v = negative ? (int64_t)(0 - n) : (int64_t)n;
    t->p = s;
    return true;
}

bool text_balanced(struct text *t, const char **from, const char **to)
{
    char open[MLIR_MAX_NESTING];
    int depth = 0;
    skip_space(t);
    const char *s = t->p;
    *from = s + 1;
    for (; s < t->end; s++) {
        char c = *s;
        if (c == '"') {
            for (s++; s < t->end && *s != '"'; s++)
                s += *s == '\\';
            continue;
        }
        if (c == '-' && s + 1 < t->end && s[1] == '>') {
            s++;
            continue;
        }
        if (c == '(' || c == '<' || c == '[' || c == '{') {
            if (depth == MLIR_MAX_NESTING)
                return text_fail_at(t, s, "nested deeper than %d", MLIR_MAX_NESTING);
            open[depth++] = c == '(' ? ')' : c == '<' ? '>' : c == '[' ? ']' : '}';
        } else if (c == ')' || c == '>' || c == ']' || c == '}') {
            if (!depth || open[depth - 1] != c)
                return text_fail_at(t, s, "'%c' closes nothing", c);
            if (--depth == 0) {
                *to = s;
                t->p = s + 1;
                return true;
            }
        }
        if (!depth)
            return text_expected(t, "a bracket");
    }
    return text_fail(t, "a bracket without its end");
}

/* ---- values ---- */

uint32_t text_hash(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t k = 0; k < n; k++)
        h = (h ^ (unsigned char)s[k]) * 16777619u;
    return h % TEXT_BUCKETS;
}

static struct text_def *find(struct text *t, const char *name, size_t size)
{
    for (int k = t->buckets[text_hash(name, size)]; k >= t->floor; k = t->defs[k].next)
        if (t->defs[k].size == size && !memcmp(t->defs[k].name, name, size))
            return &t->defs[k];
    return NULL;
}

bool text_define(struct text *t, const char *name, size_t size, struct mlir_value **v, int count)
{
    if (find(t, name, size))
        return text_fail_at(t, name, "value '%%%.*s' is defined twice", (int)size, name);
    ARENA_GROW(t->arena, t->defs, t->def_count, t->def_capacity);
    uint32_t h = text_hash(name, size);
    const char *copy = arena_strndup(t->arena, name, size);
    for (int k = 0; k < count; k++)
        v[k]->name = count == 1 ? copy : arena_printf(t->arena, "%s#%d", copy, k);
    t->defs[t->def_count] = (struct text_def){name, size, count, v, t->buckets[h]};
    t->buckets[h] = t->def_count++;
    return true;
}

void text_leave(struct text *t, int def_count)
{
    while (t->def_count > def_count) {
        const struct text_def *d = &t->defs[--t->def_count];
        t->buckets[text_hash(d->name, d->size)] = d->next;
    }
}

bool text_value_name(struct text *t, const char **name, size_t *size)
{
    if (!text_eat(t, "%"))
        return text_expected(t, "a value");
    const char *s = t->p;
    while (t->p < t->end && (text_is_part(*t->p) || *t->p == '-'))
        t->p++;
    *name = s;
    *size = (size_t)(t->p - s);
    return t->p > s || text_expected(t, "the name of a value");
}

struct mlir_value *text_use(struct text *t)
{
    const char *name;
    size_t size;
    int64_t k = 0;
    if (!text_value_name(t, &name, &size))
        return NULL;
    const struct text_def *d = find(t, name, size);
    bool numbered = t->p < t->end && *t->p == '#';
    if (numbered) {
        t->p++;
        if (!text_int(t, &k))
            return NULL;
    }
    if (!d)
        text_fail_at(t, name - 1, "value '%%%.*s' is used, but not defined before", (int)size,
                     name);
    else if (k < 0 || k >= d->count)
        text_fail_at(t, name - 1, "value '%%%.*s' has %d results, not number %lld", (int)size, name,
                     d->count, (long long)k);
    else
        return d->values[k];
    return NULL;
}

/* ---- aliases ---- */

struct text_alias *text_alias(struct text *t, char sigil, const char *name, size_t size)
{
    for (int k = t->alias_buckets[text_hash(name, size)]; k >= 0; k = t->aliases[k].next) {
        struct text_alias *a = &t->aliases[k];
        if (a->size == size && !memcmp(a->name, name, size) && a->name[-1] == sigil)
            return a;
    }
    return NULL;
}
