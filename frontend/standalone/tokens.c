#include "frontend/standalone/tokens.h"

#include "frontend/standalone/rename.h"

#include <ctype.h>
#include <string.h>

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static int space_length(const char *s)
{
    const char *end = NULL;
    if (s[0] == '/' && s[1] == '*')
        end = strstr(s + 2, "*/");
    if (end)
        return (int)(end + 2 - s);
    if (s[0] == '/' && s[1] == '/')
        return (int)strcspn(s, "\n");
    if (s[0] == '\\' && s[1] == '\n')
        return 2;
    return isspace((unsigned char)*s) ? 1 : 0;
}

static int string_length(const char *s)
{
    int n = 1;
    while (s[n] && s[n] != *s)
        n += s[n] == '\\' && s[n + 1] ? 2 : 1;
    return s[n] ? n + 1 : n;
}

static int sign_length(const char *s)
{
    return !strncmp(s, "##", 2) || !strncmp(s, "->", 2) ? 2 : !strncmp(s, "...", 3) ? 3 : 1;
}

static struct token scan(const char *s)
{
    struct token t = {.s = s, .n = space_length(s)};
    if (t.n)
        return t;
    if (*s == TABLE_BEGINS || *s == TABLE_ENDS)
        t.kind = TOKEN_MARK, t.n = 1;
    else if (*s == '"' || *s == '\'')
        t.kind = TOKEN_STRING, t.n = string_length(s);
    else if (isdigit((unsigned char)*s))
        for (t.kind = TOKEN_NUMBER, t.n = 1; in_name(s[t.n]) || s[t.n] == '.'; t.n++)
            ;
    else if (in_name(*s))
        for (t.kind = TOKEN_NAME, t.n = 1; in_name(s[t.n]); t.n++)
            ;
    else
        t.kind = TOKEN_SIGN, t.n = sign_length(s);
    return t;
}

/* Of a directive that begins: where its tokens stand. */
static enum token_place place_after(enum token_place now, const struct token *t)
{
    if (now == IN_DIRECTIVE && t->kind == TOKEN_NAME)
        return token_is(t, "define") ? IN_DEFINED : IN_DIRECTIVE;
    return now == IN_DEFINED && t->kind == TOKEN_NAME ? IN_DEFINE : now;
}

struct tokens *tokens_read(const char *text, struct arena *a)
{
    struct tokens *all = ARENA_NEW(a, struct tokens);
    enum token_place place = IN_CODE;
    bool first = true, table = false;
    for (const char *s = text; *s;) {
        struct token t = scan(s);
        if (place == IN_CODE && first && token_is(&t, "#"))
            place = IN_DIRECTIVE;
        bool ends = *s == '\n';
        t.place = ends ? IN_CODE : place;
        t.first = first && t.kind != TOKEN_SPACE;
        t.table = table;
        table = t.kind == TOKEN_MARK ? *s == TABLE_BEGINS : table;
        place = ends ? IN_CODE : place_after(place, &t);
        first = ends || (first && (t.kind == TOKEN_SPACE || t.kind == TOKEN_MARK));
        ARENA_GROW(a, all->list, all->count, all->cap);
        all->list[all->count++] = t;
        s += t.n;
    }
    return all;
}

bool token_is(const struct token *t, const char *text)
{
    return (int)strlen(text) == t->n && !strncmp(t->s, text, (size_t)t->n);
}

static bool is_code(enum token_place p)
{
    return p == IN_CODE;
}

int token_next(const struct tokens *t, int i)
{
    bool code = is_code(t->list[i].place);
    for (i++; i < t->count; i++) {
        const struct token *x = &t->list[i];
        if (!code && is_code(x->place))
            return t->count;
        if (x->kind != TOKEN_SPACE && x->kind != TOKEN_MARK && is_code(x->place) == code)
            return i;
    }
    return t->count;
}

int token_before(const struct tokens *t, int i)
{
    bool code = is_code(t->list[i].place);
    for (i--; i >= 0; i--) {
        const struct token *x = &t->list[i];
        if (!code && is_code(x->place))
            return -1;
        if (x->kind != TOKEN_SPACE && x->kind != TOKEN_MARK && is_code(x->place) == code)
            return i;
    }
    return -1;
}

int token_closing(const struct tokens *t, int i)
{
    int depth = 0;
    for (; i < t->count; i = token_next(t, i)) {
        const char c = t->list[i].kind == TOKEN_SIGN ? *t->list[i].s : 0;
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        if (depth == 0)
            return i;
    }
    return t->count;
}
