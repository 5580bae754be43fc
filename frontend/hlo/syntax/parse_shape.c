/* Shapes and layouts. */
#include "frontend/hlo/syntax/check.h"
#include "frontend/hlo/syntax/parse.h"

#include <string.h>

bool can_shape(const struct parser *p)
{
    if (p->lex.kind == TOK_TYPE || lex_is(&p->lex, '('))
        return true;
    return lex_word(&p->lex, "b") && p->lex.at < p->lex.end && *p->lex.at == '(';
}

static bool parse_dims(struct parser *p, struct hlo_shape *s)
{
    int from = p->int_count;
    bool dynamic[HLO_MAX_RANK] = {false}, any = false;
    if (!eat(p, '['))
        return false;
    for (int n = 0; parse_more(p, ']', n); n++) {
        int k = p->int_count - from;
        if (k >= HLO_MAX_RANK)
            return parse_fail(p, "shape has more than %d dimensions", HLO_MAX_RANK);
        int64_t dim = HLO_UNBOUNDED;
        if (p->lex.kind == TOK_QUESTION) {
            dynamic[k] = true;
            lex_next(&p->lex);
        } else {
            dynamic[k] = p->lex.kind == TOK_LE;
            if (dynamic[k])
                lex_next(&p->lex);
            const char *at = p->lex.start;
            if (!token_int(p, &dim))
                return false;
            if (dim < 0)
                return parse_fail_at(p, at, "negative dimension %lld", (long long)dim);
        }
        any |= dynamic[k];
        push_int(p, dim);
    }
    struct hlo_ints v = pop_ints(p, from);
    s->rank = v.count;
    s->dims = v.v;
    if (any)
        s->dynamic = arena_copy(p->arena, dynamic, sizeof dynamic[0] * (size_t)v.count);
    return eat(p, ']');
}

static bool letter(struct parser *p, const char *word)
{
    if (!lex_word(&p->lex, word) || p->lex.at >= p->lex.end || *p->lex.at != '(')
        return false;
    lex_next(&p->lex);
    return true;
}

static bool int_in_parens(struct parser *p, int64_t *out)
{
    return eat(p, '(') && token_int(p, out) && eat(p, ')');
}

static bool type_in_parens(struct parser *p, enum hlo_type *out)
{
    if (!eat(p, '('))
        return false;
    if (p->lex.kind != TOK_IDENT || !p->lex.type)
        return parse_expected(p, "an element type");
    *out = p->lex.type;
    lex_next(&p->lex);
    return eat(p, ')');
}

static bool parse_levels(struct parser *p, struct hlo_layout *l)
{
    int capacity = 0;
    if (!eat(p, '('))
        return false;
    for (int k = 0; parse_more(p, ')', k); k++) {
        if (p->lex.kind != TOK_IDENT || p->lex.size != 1 || !strchr("DCSH", *p->lex.text))
            return parse_expected(p, "a dimension level type (D, C, S or H)");
        ARENA_GROW(p->arena, l->levels, l->level_count, capacity);
        struct hlo_level *level = &l->levels[l->level_count++];
        level->type = *p->lex.text;
        lex_next(&p->lex);
        level->not_unique = eat_if(p, '+');
        level->not_ordered = eat_if(p, '~');
    }
    return eat(p, ')');
}

static bool parse_tiles(struct parser *p, struct hlo_layout *l)
{
    int capacity = 0;
    while (eat_if(p, '(')) {
        int from = p->int_count;
        for (int k = 0; parse_more(p, ')', k); k++) {
            int64_t v = HLO_TILE_COMBINE;
            if (!eat_if(p, '*') && !token_int(p, &v))
                return false;
            push_int(p, v);
        }
        if (!eat(p, ')'))
            return false;
        ARENA_GROW(p->arena, l->tiles.v, l->tiles.count, capacity);
        l->tiles.v[l->tiles.count++] = pop_ints(p, from);
    }
    return true;
}

static bool parse_splits(struct parser *p, struct hlo_layout *l)
{
    int capacity = 0;
    while (eat_if(p, '(')) {
        struct hlo_split split = {0};
        int from = p->int_count;
        if (!token_int(p, &split.dimension) || !eat(p, ':'))
            return false;
        if (!push_some_ints(p))
            return false;
        split.at = pop_ints(p, from);
        ARENA_GROW(p->arena, l->splits, l->split_count, capacity);
        l->splits[l->split_count++] = split;
        if (!eat(p, ')'))
            return false;
    }
    return true;
}

static bool parse_layout_parts(struct parser *p, struct hlo_layout *l)
{
    if (letter(p, "D") && !parse_levels(p, l))
        return false;
    if (letter(p, "T") && !parse_tiles(p, l))
        return false;
    if (letter(p, "L") && !int_in_parens(p, &l->tail_alignment))
        return false;
    if (eat_if(p, '#') && !type_in_parens(p, &l->index_type))
        return false;
    if (eat_if(p, '*') && !type_in_parens(p, &l->pointer_type))
        return false;
    if (letter(p, "E") && !int_in_parens(p, &l->element_bits))
        return false;
    if (letter(p, "S") && !int_in_parens(p, &l->memory_space))
        return false;
    if (letter(p, "SC") && !parse_splits(p, l))
        return false;
    const char *at = p->lex.start;
    if (letter(p, "P")) {
        bool sparse = false;
        for (int k = 0; k < l->level_count; k++)
            sparse |= l->levels[k].type != 'D';
        if (!sparse)
            return parse_fail_at(p, at, "layout has a physical shape, but the array is not sparse");
        if (!eat(p, '(') || !parse_shape(p, &l->physical) || !eat(p, ')'))
            return false;
    }
    return !letter(p, "M") || int_in_parens(p, &l->metadata_bytes);
}

static bool plain(const struct hlo_layout *l, int rank)
{
    for (int k = 0; k < rank; k++)
        if (l->minor_to_major[k] != rank - 1 - k)
            return false;
    return !l->tiles.count && !l->level_count && l->tail_alignment == 1 && !l->index_type &&
           !l->pointer_type && !l->element_bits && !l->memory_space && !l->metadata_bytes &&
           !l->split_count && !l->physical;
}

static bool parse_layout(struct parser *p, struct hlo_shape *s)
{
    const char *at = p->lex.start;
    struct hlo_layout l = {.tail_alignment = 1};
    int from = p->int_count;
    lex_next(&p->lex);
    while (p->lex.kind == TOK_INT) {
        int64_t v;
        if (!token_int(p, &v))
            return false;
        push_int(p, v);
        if (!eat_if(p, ','))
            break;
    }
    struct hlo_ints order = pop_ints(p, from);
    l.minor_to_major = order.v;
    if (eat_if(p, ':') && !parse_layout_parts(p, &l))
        return false;
    if (!eat(p, '}'))
        return false;
    if (order.count != s->rank)
        return parse_fail_at(p, at, "layout orders %d dimensions, but the shape has %d",
                             order.count, s->rank);
    if (!plain(&l, s->rank))
        s->layout = arena_copy(p->arena, &l, sizeof l);
    return true;
}

static bool parse_elements(struct parser *p, struct hlo_shape *s)
{
    int from = p->pointer_count;
    lex_next(&p->lex);
    if (!lex_is(&p->lex, ')'))
        do {
            const struct hlo_shape *e;
            if (!parse_shape(p, &e))
                return false;
            push_pointer(p, e);
        } while (eat_if(p, ','));
    s->elements = pop_pointers(p, from, &s->count);
    return eat(p, ')');
}

static bool parse_array(struct parser *p, struct hlo_shape *s)
{
    s->type = p->lex.type;
    lex_next(&p->lex);
    if (!parse_dims(p, s))
        return false;
    if (lex_is(&p->lex, '{')) {
        struct lex after = p->lex;
        lex_next(&after);
        if (after.kind == TOK_INT || lex_is(&after, ':'))
            return parse_layout(p, s);
        if (lex_is(&after, '}') && !s->rank) {
            lex_next(&p->lex);
            lex_next(&p->lex);
        }
    }
    return true;
}

bool parse_shape(struct parser *p, const struct hlo_shape **out)
{
    const char *at = p->lex.start;
    struct hlo_shape *s = ARENA_NEW(p->arena, struct hlo_shape);
    bool ok;
    if (!enter(p))
        return false;
    if (p->lex.kind == TOK_TYPE) {
        ok = parse_array(p, s);
    } else if (lex_is(&p->lex, '(')) {
        s->type = HLO_TUPLE;
        ok = parse_elements(p, s);
    } else if (can_shape(p)) {
        s->type = HLO_BUFFER;
        lex_next(&p->lex);
        ok = parse_elements(p, s);
    } else {
        ok = parse_expected(p, "a shape");
    }
    p->depth--;
    struct diag why = {0};
    *out = s;
    return ok && (hlo_check_shape(s, &why) || parse_fail_at(p, at, "%s", why.text));
}
