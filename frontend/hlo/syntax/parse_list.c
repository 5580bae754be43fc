/* Strings, lists and records: what attributes of instructions, of modules and of shardings are made
 * of. */
#include "frontend/hlo/syntax/parse.h"

#include <stdlib.h>
#include <string.h>

bool parse_string(struct parser *p, struct hlo_text *out)
{
    if (p->lex.kind != TOK_STRING)
        return parse_expected(p, "a quoted string");
    char *data = arena_alloc(p->arena, p->lex.size + 1);
    if (!lex_unescape(&p->lex, data, &out->size))
        return parse_fail(p, "string with a bad escape");
    data[out->size] = 0;
    out->data = data;
    out->raw = false;
    lex_next(&p->lex);
    return true;
}

bool parse_raw(struct parser *p, struct hlo_text *out)
{
    const char *text;
    if (!lex_is(&p->lex, '{'))
        return parse_expected(p, "'{'");
    if (!lex_raw(&p->lex, &text, &out->size))
        return parse_expected(p, "a value in braces");
    out->data = arena_strndup(p->arena, text, out->size);
    out->raw = true;
    return true;
}

bool parse_bool(struct parser *p, int64_t *out)
{
    *out = lex_word(&p->lex, "true");
    if (!*out && !lex_word(&p->lex, "false"))
        return parse_expected(p, "true or false");
    lex_next(&p->lex);
    return true;
}

bool parse_bools(struct parser *p, struct hlo_ints *out)
{
    int from = p->int_count;
    if (!eat(p, '{'))
        return false;
    for (int k = 0; parse_more(p, '}', k); k++) {
        int64_t v;
        if (!parse_bool(p, &v))
            return false;
        push_int(p, v);
    }
    *out = pop_ints(p, from);
    return eat(p, '}');
}

bool parse_int_list(struct parser *p, char open, char close, struct hlo_ints *out)
{
    int from = p->int_count;
    if (!eat(p, open))
        return false;
    for (int k = 0; parse_more(p, close, k); k++) {
        int64_t v;
        if (!token_int(p, &v))
            return false;
        push_int(p, v);
    }
    *out = pop_ints(p, from);
    return eat(p, close);
}

bool parse_ints(struct parser *p, struct hlo_ints *out)
{
    return parse_int_list(p, '{', '}', out);
}

bool parse_lists(struct parser *p, struct hlo_lists *out)
{
    int capacity = 0;
    *out = (struct hlo_lists){0};
    if (!eat(p, '{'))
        return false;
    for (int k = 0; parse_more(p, '}', k); k++) {
        ARENA_GROW(p->arena, out->v, out->count, capacity);
        if (!parse_ints(p, &out->v[out->count++]))
            return false;
    }
    return eat(p, '}');
}

bool parse_config(struct parser *p, struct hlo_text *out)
{
    if (lex_is(&p->lex, '{'))
        return parse_raw(p, out);
    if (!parse_string(p, out))
        return false;
    out->raw = lex_is_raw(out->data, out->size);
    return true;
}

bool parse_pairs(struct parser *p, struct hlo_pairs *out)
{
    int capacity = 0;
    *out = (struct hlo_pairs){0};
    if (!eat(p, '{'))
        return false;
    for (int k = 0; parse_more(p, '}', k); k++) {
        if (p->lex.kind != TOK_ATTR)
            return parse_expected(p, "key=value");
        ARENA_GROW(p->arena, out->v, out->count, capacity);
        struct hlo_pair *pair = &out->v[out->count++];
        pair->key = token_intern(p);
        lex_next(&p->lex);
        if (!parse_config(p, &pair->value))
            return false;
        struct hlo_pair last = *pair; /* sorted: a map has no order of its own */
        int at = out->count - 1;
        for (; at > 0 && strcmp(out->v[at - 1].key, last.key) > 0; at--)
            out->v[at] = out->v[at - 1];
        out->v[at] = last;
    }
    return eat(p, '}');
}

bool parse_aliases(struct parser *p, bool kinds, struct hlo_aliases *out)
{
    int capacity = 0;
    *out = (struct hlo_aliases){0};
    if (!eat(p, '{'))
        return false;
    for (int k = 0; parse_more(p, '}', k); k++) {
        ARENA_GROW(p->arena, out->v, out->count, capacity);
        struct hlo_alias *a = &out->v[out->count++];
        if (!parse_ints(p, &a->output) || !eat(p, ':') || !eat(p, '(') ||
            !token_int(p, &a->parameter) || !eat(p, ',') || !parse_ints(p, &a->index))
            return false;
        if (kinds && eat_if(p, ',')) {
            a->must = lex_word(&p->lex, "must-alias");
            if (!a->must && !lex_word(&p->lex, "may-alias"))
                return parse_expected(p, "may-alias or must-alias");
            lex_next(&p->lex);
        }
        if (!eat(p, ')'))
            return false;
    }
    return eat(p, '}');
}

bool parse_donors(struct parser *p, struct hlo_aliases *out)
{
    int capacity = 0;
    if (!eat(p, '{'))
        return false;
    for (int k = 0; parse_more(p, '}', k); k++) {
        ARENA_GROW(p->arena, out->v, out->count, capacity);
        struct hlo_alias *a = &out->v[out->count++];
        if (!eat(p, '(') || !token_int(p, &a->parameter) || !eat(p, ',') ||
            !parse_ints(p, &a->index) || !eat(p, ')'))
            return false;
    }
    return eat(p, '}');
}

bool parse_metadata(struct parser *p, const struct hlo_metadata **out)
{
    struct hlo_metadata *m = ARENA_NEW(p->arena, struct hlo_metadata);
    const struct {
        const char *name;
        const char **text;
        int64_t *number;
    } fields[] = {
        {"op_type", &m->op_type, NULL},
        {"op_name", &m->op_name, NULL},
        {"source_file", &m->source_file, NULL},
        {"deduplicated_name", &m->deduplicated_name, NULL},
        {"scheduling_name", &m->scheduling_name, NULL},
        {"source_line", NULL, &m->source_line},
        {"source_end_line", NULL, &m->source_end_line},
        {"source_column", NULL, &m->source_column},
        {"source_end_column", NULL, &m->source_end_column},
        {"stack_frame_id", NULL, &m->stack_frame_id},
        {"size_of_generated_code_in_bytes", NULL, &m->code_bytes},
        {"size_of_memory_working_set_in_bytes", NULL, &m->working_set_bytes},
    };
    enum { COUNT = sizeof fields / sizeof fields[0] };
    *out = m;
    if (!eat(p, '{'))
        return false;
    while (!lex_is(&p->lex, '}')) {
        eat_if(p, ',');
        const struct lex l = p->lex;
        struct hlo_text text;
        if (l.kind != TOK_ATTR)
            return parse_expected(p, "a metadata field (name=value)");
        int k = 0;
        while (k < COUNT && (strncmp(fields[k].name, l.text, l.size) || fields[k].name[l.size]))
            k++;
        lex_next(&p->lex);
        bool ok = true;
        if (k < COUNT && fields[k].text) {
            ok = parse_string(p, &text);
            if (ok)
                *fields[k].text = hlo_intern(&p->names, text.data, text.size);
        } else if (k < COUNT) {
            ok = token_int(p, fields[k].number);
        } else if (l.size == 12 && !memcmp(l.text, "profile_type", 12)) {
            ok = parse_ints(p, &m->profile_types);
        } else if (l.size == 16 && !memcmp(l.text, "metadata_payload", 16)) {
            ok = parse_string(p, &m->payload);
        } else { /* a field of another release */
            if (p->lex.kind == TOK_PUNCT && p->lex.punct == '{')
                ok = parse_raw(p, &text);
            else
                lex_next(&p->lex);
        }
        if (!ok)
            return false;
    }
    return eat(p, '}');
}
