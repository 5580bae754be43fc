/* Messages with their place in the text, and the pieces that every other part is made of. */
#include "frontend/hlo/syntax/parse.h"

#include <string.h>

/* ---- messages ---- */

int parse_line(struct parser *p, const char *at)
{
    if (at < p->line_start) /* only on failure: count again */
        return p->line;
    const char *e;
    while ((e = memchr(p->line_start, '\n', (size_t)(at - p->line_start)))) {
        p->line_start = e + 1;
        p->line++;
    }
    return p->line;
}

static bool fail_v(struct parser *p, const char *at, const char *fmt, va_list ap)
{
    if (diag_failed(p->d))
        return false;
    int line = p->line;
    const char *start = p->line_start;
    if (at < start) { /* an earlier place: count back */
        while (at < start) {
            start--;
            while (start > p->lex.begin && start[-1] != '\n')
                start--;
            line--;
        }
    } else {
        line = parse_line(p, at);
        start = p->line_start;
    }
    char text[1024];
    vsnprintf(text, sizeof text, fmt, ap);
    int column = (int)(at - start) + 1;
    if (p->instruction)
        return fail(p->d, "%s:%d:%d: instruction '%.*s': %s", p->file, line, column,
                    p->instruction_size > 200 ? 200 : (int)p->instruction_size, p->instruction,
                    text);
    return fail(p->d, "%s:%d:%d: %s", p->file, line, column, text);
}

bool parse_fail_at(struct parser *p, const char *at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail_v(p, at, fmt, ap);
    va_end(ap);
    return false;
}

bool parse_fail(struct parser *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail_v(p, p->lex.start, fmt, ap);
    va_end(ap);
    return false;
}

bool parse_expected(struct parser *p, const char *what)
{
    const struct lex *l = &p->lex;
    if (l->kind == TOK_ERROR)
        return parse_fail(p, "%s", l->error);
    if (l->kind == TOK_END)
        return parse_fail(p, "expected %s, found the end of the text", what);
    const char *end = l->at < l->end ? l->at : l->end;
    int size = end - l->start > 60 ? 60 : (int)(end - l->start);
    return parse_fail(p, "expected %s, found '%.*s'", what, size, l->start);
}

/* ---- small pieces ---- */

bool eat_if(struct parser *p, char punct)
{
    if (!lex_is(&p->lex, punct))
        return false;
    lex_next(&p->lex);
    return true;
}

bool parse_more(struct parser *p, char close, int k)
{
    return (k == 0 || eat_if(p, ',')) && !lex_is(&p->lex, close);
}

bool push_some_ints(struct parser *p)
{
    int64_t v = 0;
    do {
        if (!token_int(p, &v))
            return false;
        push_int(p, v);
    } while (eat_if(p, ','));
    return true;
}

bool eat(struct parser *p, char punct)
{
    char what[] = {'\'', punct, '\'', 0};
    return eat_if(p, punct) || parse_expected(p, what);
}

bool eat_kind(struct parser *p, enum token kind, const char *what)
{
    if (p->lex.kind != kind)
        return parse_expected(p, what);
    lex_next(&p->lex);
    return true;
}

bool enter(struct parser *p)
{
    if (++p->depth > HLO_MAX_NESTING)
        return parse_fail(p, "nested deeper than %d levels", HLO_MAX_NESTING);
    return true;
}

bool token_int(struct parser *p, int64_t *value)
{
    const struct lex *l = &p->lex;
    if (l->kind != TOK_INT)
        return parse_expected(p, "an integer");
    if (l->wide || l->integer > (uint64_t)INT64_MAX + (l->negative ? 1 : 0))
        return parse_fail(p, "integer %.*s does not fit in 64 bits",
                          (int)(l->size > 40 ? 40 : l->size), l->text);
    *value = l->negative ? (int64_t)(0 - l->integer) : (int64_t)l->integer;
    lex_next(&p->lex);
    return true;
}

bool token_is_name(const struct parser *p)
{
    return p->lex.kind == TOK_IDENT || p->lex.kind == TOK_NAME;
}

const char *token_intern(struct parser *p)
{
    return hlo_intern(&p->names, p->lex.text, p->lex.size);
}

void push_int(struct parser *p, int64_t v)
{
    ARENA_GROW(&p->scratch, p->ints, p->int_count, p->int_capacity);
    p->ints[p->int_count++] = v;
}

struct hlo_ints pop_ints(struct parser *p, int from)
{
    struct hlo_ints v = {p->int_count - from, NULL};
    if (v.count)
        v.v = arena_copy(p->arena, p->ints + from, sizeof *p->ints * (size_t)v.count);
    p->int_count = from;
    return v;
}

void push_pointer(struct parser *p, const void *v)
{
    ARENA_GROW(&p->scratch, p->pointers, p->pointer_count, p->pointer_capacity);
    p->pointers[p->pointer_count++] = (void *)v;
}

void *pop_pointers(struct parser *p, int from, int *count)
{
    *count = p->pointer_count - from;
    p->pointer_count = from;
    return *count ? arena_copy(p->arena, p->pointers + from, sizeof(void *) * (size_t)*count)
                  : NULL;
}
