/* Values of attributes, by kind. */
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
    while (!lex_is(&p->lex, '}')) {
        int64_t v;
        if (!parse_bool(p, &v))
            return false;
        push_int(p, v);
        if (!eat_if(p, ','))
            break;
    }
    *out = pop_ints(p, from);
    return eat(p, '}');
}

bool parse_int_list(struct parser *p, char open, char close, struct hlo_ints *out)
{
    int from = p->int_count;
    if (!eat(p, open))
        return false;
    while (!lex_is(&p->lex, close)) {
        int64_t v;
        if (!token_int(p, &v))
            return false;
        push_int(p, v);
        if (!eat_if(p, ','))
            break;
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
    while (!lex_is(&p->lex, '}')) {
        ARENA_GROW(p->arena, out->v, out->count, capacity);
        if (!parse_ints(p, &out->v[out->count++]))
            return false;
        if (!eat_if(p, ','))
            break;
    }
    return eat(p, '}');
}

/* Quoted or in braces; quotes around braces make no difference. */
static bool parse_config(struct parser *p, struct hlo_text *out)
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
    while (!lex_is(&p->lex, '}')) {
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
        if (!eat_if(p, ','))
            break;
    }
    return eat(p, '}');
}

bool parse_aliases(struct parser *p, bool kinds, struct hlo_aliases *out)
{
    int capacity = 0;
    *out = (struct hlo_aliases){0};
    if (!eat(p, '{'))
        return false;
    while (!lex_is(&p->lex, '}')) {
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
        if (!eat_if(p, ','))
            break;
    }
    return eat(p, '}');
}

bool parse_donors(struct parser *p, struct hlo_aliases *out)
{
    int capacity = 0;
    if (!eat(p, '{'))
        return false;
    while (!lex_is(&p->lex, '}')) {
        ARENA_GROW(p->arena, out->v, out->count, capacity);
        struct hlo_alias *a = &out->v[out->count++];
        if (!eat(p, '(') || !token_int(p, &a->parameter) || !eat(p, ',') ||
            !parse_ints(p, &a->index) || !eat(p, ')'))
            return false;
        if (!eat_if(p, ','))
            break;
    }
    return eat(p, '}');
}

static bool parse_enum(struct parser *p, enum hlo_enum_set set, const char *what, int64_t *out)
{
    if (p->lex.kind != TOK_IDENT && p->lex.kind != TOK_KEYWORD)
        return parse_expected(p, "a word");
    if (!hlo_enum_find(set, p->lex.text, p->lex.size, out))
        return parse_fail(p, "unknown value '%.*s' of attribute '%s'",
                          (int)(p->lex.size > 100 ? 100 : p->lex.size), p->lex.text, what);
    lex_next(&p->lex);
    return true;
}

static bool parse_enums(struct parser *p, const struct hlo_attr_info *info, struct hlo_ints *out)
{
    int from = p->int_count;
    if (!eat(p, '{'))
        return false;
    while (!lex_is(&p->lex, '}')) {
        int64_t v;
        if (!parse_enum(p, info->set, info->name, &v))
            return false;
        push_int(p, v);
        if (!eat_if(p, ','))
            break;
    }
    *out = pop_ints(p, from);
    return eat(p, '}');
}

static bool parse_number(struct parser *p, double *out)
{
    const struct lex *l = &p->lex;
    char text[128];
    if (l->kind == TOK_INF) {
        *out = l->negative ? -__builtin_inf() : __builtin_inf();
    } else if ((l->kind == TOK_INT || l->kind == TOK_FLOAT) && l->size < sizeof text) {
        memcpy(text, l->text, l->size);
        text[l->size] = 0;
        *out = strtod(text, NULL);
    } else {
        return parse_expected(p, "a number");
    }
    lex_next(&p->lex);
    return true;
}

/* ---- references ---- */

static bool parse_computation_ref(struct parser *p, struct hlo_computation **out)
{
    if (lex_is(&p->lex, '{')) {
        const char *outer = p->instruction;
        size_t outer_size = p->instruction_size;
        bool ok = parse_body(p, NULL, out);
        if (ok) {
            p->instruction = outer;
            p->instruction_size = outer_size;
        }
        return ok;
    }
    if (!token_is_name(p))
        return parse_expected(p, "a computation");
    *out = hlo_name_find(&p->names, 0, p->lex.text, p->lex.size);
    if (!*out)
        return parse_fail(p, "computation '%.*s' is not defined before this instruction",
                          (int)(p->lex.size > 200 ? 200 : p->lex.size), p->lex.text);
    lex_next(&p->lex);
    return true;
}

static bool parse_computation_refs(struct parser *p, struct hlo_computations *out)
{
    int from = p->pointer_count;
    if (!eat(p, '{'))
        return false;
    while (!lex_is(&p->lex, '}')) {
        struct hlo_computation *c;
        if (!parse_computation_ref(p, &c))
            return false;
        push_pointer(p, c);
        if (!eat_if(p, ','))
            break;
    }
    out->v = pop_pointers(p, from, &out->count);
    return eat(p, '}');
}

static bool parse_instruction_refs(struct parser *p, struct hlo_instructions *out)
{
    int from = p->pointer_count;
    if (!eat(p, '{'))
        return false;
    while (!lex_is(&p->lex, '}')) {
        if (!token_is_name(p))
            return parse_expected(p, "an instruction's name");
        void *i = hlo_name_find(&p->names, p->scope, p->lex.text, p->lex.size);
        if (!i)
            return parse_fail(p, "instruction '%.*s' is not defined before this one",
                              (int)(p->lex.size > 200 ? 200 : p->lex.size), p->lex.text);
        push_pointer(p, i);
        lex_next(&p->lex);
        if (!eat_if(p, ','))
            break;
    }
    out->v = pop_pointers(p, from, &out->count);
    return eat(p, '}');
}

static bool parse_shapes(struct parser *p, struct hlo_shapes *out)
{
    int from = p->pointer_count;
    if (!eat(p, '{'))
        return false;
    while (!lex_is(&p->lex, '}')) {
        const struct hlo_shape *s;
        if (!parse_shape(p, &s))
            return false;
        push_pointer(p, s);
        if (!eat_if(p, ','))
            break;
    }
    out->v = pop_pointers(p, from, &out->count);
    return eat(p, '}');
}

/* ---- small languages ---- */

/* Next integer of a token such as 0_1x2_3; *at is moved past it. */
static bool small_int(struct parser *p, const char **at, const char *end, int64_t *out)
{
    char *rest;
    char text[32];
    size_t n = 0;
    while (*at + n < end && n < sizeof text - 1 && strchr("-0123456789", (*at)[n]))
        n++;
    memcpy(text, *at, n);
    text[n] = 0;
    *out = strtoll(text, &rest, 10);
    if (rest == text || n > 19)
        return parse_expected(p, "an integer of at most 19 digits");
    *at += n;
    return true;
}

static bool parse_padding(struct parser *p, struct hlo_paddings *out)
{
    int capacity = 0;
    if (p->lex.kind != TOK_PAD)
        return parse_expected(p, "padding (low_high[_interior] per dimension, as in 0_1x2_3_4)");
    const char *at = p->lex.text, *end = at + p->lex.size;
    for (;; at++) {
        ARENA_GROW(p->arena, out->v, out->count, capacity);
        struct hlo_padding *d = &out->v[out->count++];
        if (!small_int(p, &at, end, &d->low) || *at++ != '_' || !small_int(p, &at, end, &d->high))
            return parse_expected(p, "padding");
        if (at < end && *at == '_') {
            at++;
            if (!small_int(p, &at, end, &d->interior))
                return false;
        }
        if (at >= end || *at != 'x')
            break;
    }
    lex_next(&p->lex);
    return true;
}

static bool parse_slices(struct parser *p, struct hlo_slices *out)
{
    int capacity = 0;
    if (!eat(p, '{'))
        return false;
    while (!lex_is(&p->lex, '}')) {
        ARENA_GROW(p->arena, out->v, out->count, capacity);
        struct hlo_slice *s = &out->v[out->count++];
        s->stride = 1;
        if (!eat(p, '[') || !token_int(p, &s->start) || !eat(p, ':') || !token_int(p, &s->limit))
            return false;
        if (eat_if(p, ':') && !token_int(p, &s->stride))
            return false;
        if (!eat(p, ']'))
            return false;
        if (!eat_if(p, ','))
            break;
    }
    return eat(p, '}');
}

/* 3x3 or 3: pushes the numbers. */
static bool parse_dxd(struct parser *p)
{
    if (p->lex.kind != TOK_DXD && p->lex.kind != TOK_INT)
        return parse_expected(p, "sizes (as in 3x3)");
    const char *at = p->lex.text, *end = at + p->lex.size;
    for (;; at++) {
        int64_t v;
        if (!small_int(p, &at, end, &v))
            return false;
        push_int(p, v);
        if (at >= end || *at != 'x')
            break;
    }
    lex_next(&p->lex);
    return true;
}

static bool parse_window(struct parser *p, struct hlo_window *w)
{
    static const char *const fields[] = {"size",       "stride",     "pad",
                                         "lhs_dilate", "rhs_dilate", "rhs_reversal"};
    struct hlo_ints v[6] = {{0}};
    struct hlo_paddings pad = {0};
    const char *at = p->lex.start;
    if (!eat(p, '{'))
        return false;
    while (!lex_is(&p->lex, '}')) {
        const struct lex *l = &p->lex;
        int k = 0;
        while (k < 6 &&
               (l->kind != TOK_ATTR || strncmp(fields[k], l->text, l->size) || fields[k][l->size]))
            k++;
        if (k == 6)
            return parse_expected(
                p, "size=, stride=, pad=, lhs_dilate=, rhs_dilate= or rhs_reversal=");
        if (v[k].count || (k == 2 && pad.count))
            return parse_fail(p, "%s= is given twice in a window", fields[k]);
        lex_next(&p->lex);
        int from = p->int_count;
        if (k == 2 ? !parse_padding(p, &pad) : !parse_dxd(p))
            return false;
        v[k] = pop_ints(p, from);
    }
    lex_next(&p->lex);
    w->rank = v[0].count;
    w->dims = ARENA_ARRAY(p->arena, struct hlo_window_dim, w->rank);
    v[2].count = pad.count;
    for (int k = 1; k < 6; k++)
        if (v[k].count && v[k].count != w->rank)
            return parse_fail_at(p, at, "window has %d sizes, but %s= has %d entries", w->rank,
                                 fields[k], v[k].count);
    for (int k = 0; k < w->rank; k++) {
        w->dims[k] = (struct hlo_window_dim){
            .size = v[0].v[k],
            .stride = v[1].count ? v[1].v[k] : 1,
            .pad_low = pad.count ? pad.v[k].low : 0,
            .pad_high = pad.count ? pad.v[k].high : 0,
            .lhs_dilate = v[3].count ? v[3].v[k] : 1,
            .rhs_dilate = v[4].count ? v[4].v[k] : 1,
            .reversal = v[5].count && v[5].v[k],
        };
        if (pad.count && pad.v[k].interior)
            return parse_fail_at(p, at, "pad= of a window is low_high, without an interior part");
    }
    return true;
}

static bool parse_labels(struct parser *p, const char *text, int size, const char *letters,
                         struct hlo_labels *out)
{
    int at[10];
    *out = (struct hlo_labels){.rank = size, .first = -1, .second = -1};
    memset(at, -1, sizeof at);
    for (int k = 0; k < size; k++) {
        int *slot = text[k] == letters[0]   ? &out->first
                    : text[k] == letters[1] ? &out->second
                                            : NULL;
        if (text[k] == '?')
            continue;
        if (!slot) {
            slot = &at[text[k] - '0'];
            out->spatial_count++;
        }
        if (*slot >= 0)
            return parse_fail(p, "dimension '%c' appears twice in '%.*s' of dim_labels", text[k],
                              size, text);
        *slot = k;
    }
    out->spatial = ARENA_ARRAY(p->arena, int, out->spatial_count);
    for (int k = 0; k < out->spatial_count; k++) {
        if (at[k] < 0)
            return parse_fail(p, "'%.*s' of dim_labels has %d spatial dimensions but not number %d",
                              size, text, out->spatial_count, k);
        out->spatial[k] = at[k];
    }
    return true;
}

static bool parse_dim_labels(struct parser *p, struct hlo_dim_labels *out)
{
    if (p->lex.kind != TOK_DIM_LABELS)
        return parse_expected(p, "dimension labels (as in b01f_01io->b01f)");
    const char *a = p->lex.text, *end = a + p->lex.size;
    const char *b = memchr(a, '_', p->lex.size), *c = memchr(b, '-', (size_t)(end - b));
    if (p->lex.size > 3 * HLO_MAX_RANK)
        return parse_fail(p, "dim_labels is too long");
    if (!parse_labels(p, a, (int)(b - a), "bf", &out->input) ||
        !parse_labels(p, b + 1, (int)(c - b - 1), "io", &out->kernel) ||
        !parse_labels(p, c + 2, (int)(end - c - 2), "bf", &out->output))
        return false;
    if (out->input.spatial_count != out->kernel.spatial_count ||
        out->input.spatial_count != out->output.spatial_count)
        return parse_fail(
            p, "dim_labels has %d, %d and %d spatial dimensions, expected the same number",
            out->input.spatial_count, out->kernel.spatial_count, out->output.spatial_count);
    lex_next(&p->lex);
    return true;
}

static bool parse_accuracy(struct parser *p, struct hlo_accuracy *out)
{
    if (!eat(p, '{') || p->lex.kind != TOK_ATTR)
        return parse_expected(p, "{mode=...} or {tolerance={...}}");
    bool mode = !strncmp(p->lex.text, "mode=", 5);
    if (!mode && strncmp(p->lex.text, "tolerance=", 10))
        return parse_expected(p, "mode= or tolerance=");
    lex_next(&p->lex);
    if (mode) {
        int64_t v;
        if (!parse_enum(p, HLO_SET_ACCURACY, "mode", &v))
            return false;
        out->mode = (int)v;
        return eat(p, '}');
    }
    out->mode = HLO_ACCURACY_TOLERANCE;
    if (!eat(p, '{'))
        return false;
    while (!lex_is(&p->lex, '}')) {
        const char *name = p->lex.text;
        double v;
        if (p->lex.kind != TOK_ATTR)
            return parse_expected(p, "atol=, rtol= or ulps=");
        lex_next(&p->lex);
        if (!parse_number(p, &v))
            return false;
        if (!strncmp(name, "atol=", 5))
            out->atol = v;
        else if (!strncmp(name, "rtol=", 5))
            out->rtol = v;
        else if (!strncmp(name, "ulps=", 5) && v > -1e18 && v < 1e18)
            out->ulps = (int64_t)v;
        else
            return parse_fail_at(p, name, "expected atol=, rtol= or ulps=");
        if (!eat_if(p, ','))
            break;
    }
    return eat(p, '}') && eat(p, '}');
}

static bool parse_domain(struct parser *p, struct hlo_domain *out)
{
    struct hlo_text kind = {0};
    if (!eat(p, '{'))
        return false;
    while (!lex_is(&p->lex, '}')) {
        const char *name = p->lex.text;
        if (p->lex.kind != TOK_ATTR)
            return parse_expected(p, "kind=, entry= or exit=");
        lex_next(&p->lex);
        bool ok = !strncmp(name, "kind=", 5)    ? parse_string(p, &kind)
                  : !strncmp(name, "entry=", 6) ? parse_sharding(p, &out->entry)
                  : !strncmp(name, "exit=", 5)
                      ? parse_sharding(p, &out->exit)
                      : parse_fail_at(p, name, "expected kind=, entry= or exit=");
        if (!ok)
            return false;
        if (!eat_if(p, ','))
            break;
    }
    out->kind = kind.data ? kind.data : "";
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

#define NEW(field, T)                                                                              \
    T *v_ = ARENA_NEW(p->arena, T);                                                                \
    a->field = v_

bool parse_attr_value(struct parser *p, struct hlo_attr *a)
{
    const struct hlo_attr_info *info = hlo_attr_info(a->id);
    switch (info->kind) {
    case HLO_KIND_NONE:
        break;
    case HLO_KIND_INT:
        return token_int(p, &a->i);
    case HLO_KIND_BOOL:
        return parse_bool(p, &a->i);
    case HLO_KIND_ENUM:
        return parse_enum(p, info->set, info->name, &a->i);
    case HLO_KIND_FLOAT: {
        bool ok = parse_number(p, &a->f);
        a->f = (float)a->f; /* as protos have it */
        return ok;
    }
    case HLO_KIND_INTS: {
        NEW(ints, struct hlo_ints);
        return parse_ints(p, v_);
    }
    case HLO_KIND_BOOLS: {
        NEW(ints, struct hlo_ints);
        return parse_bools(p, v_);
    }
    case HLO_KIND_ENUMS: {
        NEW(ints, struct hlo_ints);
        return parse_enums(p, info, v_);
    }
    case HLO_KIND_LISTS: {
        NEW(lists, struct hlo_lists);
        return parse_lists(p, v_);
    }
    case HLO_KIND_TEXT: {
        NEW(text, struct hlo_text);
        return parse_string(p, v_);
    }
    case HLO_KIND_RAW: {
        NEW(text, struct hlo_text);
        return parse_raw(p, v_);
    }
    case HLO_KIND_CONFIG: {
        NEW(text, struct hlo_text);
        return parse_config(p, v_);
    }
    case HLO_KIND_PAIRS: {
        NEW(pairs, struct hlo_pairs);
        return parse_pairs(p, v_);
    }
    case HLO_KIND_COMPUTATION:
        return parse_computation_ref(p, &a->computation);
    case HLO_KIND_COMPUTATIONS: {
        NEW(computations, struct hlo_computations);
        return parse_computation_refs(p, v_);
    }
    case HLO_KIND_INSTRUCTIONS: {
        NEW(instructions, struct hlo_instructions);
        return parse_instruction_refs(p, v_);
    }
    case HLO_KIND_SHAPE:
        return parse_shape(p, &a->shape);
    case HLO_KIND_SHAPES: {
        NEW(shapes, struct hlo_shapes);
        return parse_shapes(p, v_);
    }
    case HLO_KIND_LITERAL:
        return parse_typed_literal(p, &a->literal);
    case HLO_KIND_WINDOW: {
        NEW(window, struct hlo_window);
        return parse_window(p, v_);
    }
    case HLO_KIND_DIM_LABELS: {
        NEW(dim_labels, struct hlo_dim_labels);
        return parse_dim_labels(p, v_);
    }
    case HLO_KIND_SLICE: {
        NEW(slices, struct hlo_slices);
        return parse_slices(p, v_);
    }
    case HLO_KIND_PADDING: {
        NEW(paddings, struct hlo_paddings);
        return parse_padding(p, v_);
    }
    case HLO_KIND_GROUPS:
        return parse_groups(p, &a->groups);
    case HLO_KIND_SHARDING:
        return parse_sharding(p, &a->sharding);
    case HLO_KIND_DOMAIN: {
        NEW(domain, struct hlo_domain);
        return parse_domain(p, v_);
    }
    case HLO_KIND_ACCURACY: {
        NEW(accuracy, struct hlo_accuracy);
        return parse_accuracy(p, v_);
    }
    case HLO_KIND_ALIASES: {
        NEW(aliases, struct hlo_aliases);
        return parse_aliases(p, false, v_);
    }
    case HLO_KIND_METADATA:
        return parse_metadata(p, &a->metadata);
    }
    return parse_expected(p, "a known kind of attribute");
}
