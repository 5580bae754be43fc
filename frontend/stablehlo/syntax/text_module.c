/* Whole modules of MLIR text: aliases and resources, which may come after their use. */
#include "frontend/stablehlo/syntax/text.h"

#include <string.h>

/* Lines `#name = ...` and `!name = ...`: what they mean is read when they are used, which may be
 * before. */
static bool find_aliases(struct text *t)
{
    for (const char *s = t->start; s < t->end;) {
        const char *e = memchr(s, '\n', (size_t)(t->end - s));
        if ((*s == '#' || *s == '!') && s + 1 < t->end && text_is_start(s[1])) {
            const char *n = s + 1, *q = n;
            while (q < t->end && text_is_part(*q))
                q++;
            size_t size = (size_t)(q - n);
            while (q < t->end && *q == ' ')
                q++;
            if (q < t->end && *q == '=') {
                if (text_alias(t, *s, n, size))
                    return text_fail_at(t, s, "'%c%.*s' is defined twice", *s, (int)size, n);
                ARENA_GROW(t->arena, t->aliases, t->alias_count, t->alias_capacity);
                uint32_t h = text_hash(n, size);
                t->aliases[t->alias_count] = (struct text_alias){
                    .name = n, .size = size, .at = q + 1, .next = t->alias_buckets[h]};
                t->alias_buckets[h] = t->alias_count++;
            }
        }
        s = e ? e + 1 : t->end;
    }
    return true;
}

/* `{-# dialect_resources: { builtin: { name: "0x04000000..." } } #-}`: names and digits. */
static bool find_resources(struct text *t)
{
    const char *s = t->end;
    while (s > t->start + 2 && memcmp(s - 3, "{-#", 3))
        s--;
    if (s <= t->start + 2)
        return true;
    const char *stop = t->end;
    t->end = s - 3; /* of the module's text */
    const char *name = NULL;
    size_t size = 0;
    for (; s < stop; s++) {
        if (text_is_start(*s)) {
            name = s;
            while (s < stop && text_is_part(*s))
                s++;
            size = (size_t)(s - name);
            s--;
        } else if (*s == '"') {
            const char *e = memchr(s + 1, '"', (size_t)(stop - s - 1));
            if (!e)
                return text_fail_at(t, s, "a string without its end");
            if (e - s > 11 && name && s[1] == '0' && s[2] == 'x') {
                ARENA_GROW(t->arena, t->resources, t->resource_count, t->resource_capacity);
                /* the first four bytes are the alignment */
                t->resources[t->resource_count++] =
                    (struct text_resource){name, s + 11, size, (size_t)(e - s) - 11};
            } else if (e - s > 1 && s[1] != '0') {
                name = s + 1;
                size = (size_t)(e - s) - 1;
            }
            s = e;
        }
    }
    return true;
}

/* ---- whole modules ---- */

static bool parse_top(struct text *t, struct mlir_module *m)
{
    struct mlir_op *wrapper = mlir_op_new(t->arena, "builtin.module");
    wrapper->region_count = 1;
    wrapper->regions = ARENA_ARRAY(t->arena, struct mlir_region, 1);
    wrapper->line = 1;
    struct mlir_block *b = mlir_add_block(t->arena, wrapper, 0, 0);
    while (text_peek(t)) {
        if (*t->p == '#' || *t->p == '!') { /* an alias: find_aliases saw it */
            const char *e = t->p, *from, *to;
            while (e < t->end && *e != '=' && *e != '\n')
                e++;
            if (e >= t->end || *e != '=')
                return text_expected(t, "an operation");
            t->p = e + 1;
            /* up to the end of the line, or of what is open there */
            while (t->p < t->end && *t->p != '\n') {
                if (strchr("(<[{", *t->p)) {
                    if (!text_balanced(t, &from, &to))
                        return false;
                } else {
                    t->p++;
                }
            }
            continue;
        }
        if (!text_op(t, b))
            return false;
    }
    bool single = b->op_count == 1 && mlir_is(b->ops[0], "builtin.module");
    m->top = single ? b->ops[0] : wrapper;
    if (single)
        m->top->parent = NULL;
    return b->op_count > 0 || text_fail(t, "there is no operation in this text");
}

static struct text *start(struct arena *own, struct arena *a, const char *file, const char *text,
                          size_t size, struct diag *d)
{
    struct text *t = arena_alloc(own, sizeof *t);
    *t = (struct text){.arena = a,
                       .d = d,
                       .file = file,
                       .start = text,
                       .end = text + size,
                       .p = text,
                       .line_at = text,
                       .line = 1};
    for (int k = 0; k < TEXT_BUCKETS; k++)
        t->buckets[k] = t->alias_buckets[k] = -1;
    return t;
}

struct mlir_module *mlir_parse(struct arena *a, const char *file, const char *text, size_t size,
                               struct diag *d)
{
    struct arena own = {0};
    struct text *t = start(&own, a, file, text, size, d);
    struct mlir_module *m = arena_alloc(a, sizeof *m);
    m->arena = a;
    m->file = arena_strdup(a, file);
    bool ok = find_resources(t) && find_aliases(t) && parse_top(t, m);
    arena_free(&own);
    return ok ? m : NULL;
}

const struct mlir_attr *mlir_parse_attr(struct arena *a, const char *file, const char *text,
                                        size_t size, struct diag *d)
{
    struct arena own = {0};
    const struct mlir_attr *v = text_attr(start(&own, a, file, text, size, d));
    arena_free(&own);
    return v;
}

const struct mlir_type *mlir_parse_type(struct arena *a, const char *file, const char *text,
                                        size_t size, struct diag *d)
{
    struct arena own = {0};
    const struct mlir_type *v = text_type(start(&own, a, file, text, size, d));
    arena_free(&own);
    return v;
}
