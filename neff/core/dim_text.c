/*
 * Dimensions as text, and back.
 */
#include "neff/core/dim.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool dim_plain_name(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_' && *name != '.')
            return false;
    return true;
}

static bool is_sum(const struct dim_table *t, dim_t d)
{
    return !dim_is_const(d) && t->nodes[dim_index(d)].op == DIM_ADD;
}

const char *dim_text(const struct dim_table *t, struct arena *arena, dim_t d)
{
    if (dim_is_const(d))
        return arena_printf(arena, "%lld", (long long)d);
    const struct dim_node *n = &t->nodes[dim_index(d)];
    if (n->op == DIM_SYM) {
        const char *name = t->symbols[n->a].name;
        return dim_plain_name(name) ? name : arena_printf(arena, "'%s'", name);
    }
    const char *a = dim_text(t, arena, n->a), *b = dim_text(t, arena, n->b);
    if (n->op == DIM_ADD)
        return arena_printf(arena, "%s+%s", a, b);
    if (n->op == DIM_MUL)
        return arena_printf(arena, is_sum(t, n->a) ? "(%s)*%s" : "%s*%s", a,
                            is_sum(t, n->b) ? arena_printf(arena, "(%s)", b) : b);
    return arena_printf(arena, "%s(%s,%s)", dim_op_names[n->op], a, b);
}

struct dim_parser {
    struct dim_table *t;
    const char *s;
    struct diag *d;
    int depth;
};

static bool parse_sum(struct dim_parser *p, dim_t *out);

static void skip(struct dim_parser *p)
{
    while (*p->s == ' ')
        p->s++;
}

static bool expect(struct dim_parser *p, char c)
{
    skip(p);
    if (*p->s != c)
        return fail(p->d, "dimension: expected '%c' at '%.20s'", c, p->s);
    p->s++;
    return true;
}

static bool parse_function(struct dim_parser *p, const char *name, size_t n, dim_t *out)
{
    for (int op = DIM_FLOORDIV; op < DIM_OPS; op++) {
        dim_t a, b;
        if (strlen(dim_op_names[op]) != n || memcmp(dim_op_names[op], name, n))
            continue;
        if (!expect(p, '(') || !parse_sum(p, &a) || !expect(p, ',') || !parse_sum(p, &b) ||
            !expect(p, ')'))
            return false;
        *out = dim_make(p->t, op, a, b);
        return true;
    }
    return fail(p->d, "dimension: unknown function '%.*s'", (int)n, name);
}

static bool parse_atom(struct dim_parser *p, dim_t *out)
{
    skip(p);
    const char *s = p->s;
    if (*s == '(') {
        p->s++;
        return parse_sum(p, out) && expect(p, ')');
    }
    if (isdigit((unsigned char)*s) || *s == '-') {
        char *end;
        *out = strtoll(s, &end, 10);
        if (end == s || !dim_is_const(*out) || *out == DIM_NOT_BOUND)
            return fail(p->d, "dimension: expected a number at '%.20s'", s);
        p->s = end;
        return true;
    }
    const char *name = s, *end;
    if (*s == '\'') {
        name = s + 1;
        end = strchr(name, '\'');
        if (!end)
            return fail(p->d, "dimension: missing closing quote at '%.20s'", s);
        p->s = end + 1;
    } else {
        end = s;
        while (isalnum((unsigned char)*end) || *end == '_' || *end == '.')
            end++;
        if (end == s)
            return fail(p->d, "dimension: expected a name or a number at '%.20s'", s);
        p->s = end;
        if (*end == '(')
            return parse_function(p, name, (size_t)(end - name), out);
    }
    *out = dim_symbol(p->t, arena_strndup(p->t->arena, name, (size_t)(end - name)));
    return true;
}

static bool parse_product(struct dim_parser *p, dim_t *out)
{
    if (!parse_atom(p, out))
        return false;
    for (skip(p); *p->s == '*'; skip(p)) {
        dim_t b;
        p->s++;
        if (!parse_atom(p, &b))
            return false;
        *out = dim_mul(p->t, *out, b);
    }
    return true;
}

static bool parse_sum(struct dim_parser *p, dim_t *out)
{
    if (++p->depth > 64)
        return fail(p->d, "dimension: nested too deeply");
    if (!parse_product(p, out))
        return false;
    for (skip(p); *p->s == '+' || *p->s == '-'; skip(p)) {
        bool minus = *p->s++ == '-';
        dim_t b;
        if (!parse_product(p, &b))
            return false;
        *out = minus ? dim_sub(p->t, *out, b) : dim_add(p->t, *out, b);
    }
    p->depth--;
    return true;
}

bool dim_parse(struct dim_table *t, const char **s, dim_t *out, struct diag *d)
{
    struct dim_parser p = {t, *s, d, 0};
    if (!parse_sum(&p, out))
        return false;
    *s = p.s;
    return true;
}
