/* Values of attributes, by kind. */
#include "frontend/hlo/syntax/parse.h"

#include <stdlib.h>
#include <string.h>

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
    for (int k = 0; parse_more(p, '}', k); k++) {
        int64_t v;
        if (!parse_enum(p, info->set, info->name, &v))
            return false;
        push_int(p, v);
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
    for (int k = 0; parse_more(p, '}', k); k++) {
        struct hlo_computation *c;
        if (!parse_computation_ref(p, &c))
            return false;
        push_pointer(p, c);
    }
    out->v = pop_pointers(p, from, &out->count);
    return eat(p, '}');
}

static bool parse_instruction_refs(struct parser *p, struct hlo_instructions *out)
{
    int from = p->pointer_count;
    if (!eat(p, '{'))
        return false;
    for (int k = 0; parse_more(p, '}', k); k++) {
        if (!token_is_name(p))
            return parse_expected(p, "an instruction's name");
        void *i = hlo_name_find(&p->names, p->scope, p->lex.text, p->lex.size);
        if (!i)
            return parse_fail(p, "instruction '%.*s' is not defined before this one",
                              (int)(p->lex.size > 200 ? 200 : p->lex.size), p->lex.text);
        push_pointer(p, i);
        lex_next(&p->lex);
    }
    out->v = pop_pointers(p, from, &out->count);
    return eat(p, '}');
}

bool parse_shape_list(struct parser *p, char open, char close, struct hlo_shapes *out)
{
    int from = p->pointer_count;
    if (!eat(p, open))
        return false;
    for (int k = 0; parse_more(p, close, k); k++) {
        const struct hlo_shape *s;
        if (!parse_shape(p, &s))
            return false;
        push_pointer(p, s);
    }
    out->v = pop_pointers(p, from, &out->count);
    return eat(p, close);
}

static bool parse_shapes(struct parser *p, struct hlo_shapes *out)
{
    return parse_shape_list(p, '{', '}', out);
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
    for (int k = 0; parse_more(p, '}', k); k++) {
        ARENA_GROW(p->arena, out->v, out->count, capacity);
        struct hlo_slice *s = &out->v[out->count++];
        s->stride = 1;
        if (!eat(p, '[') || !token_int(p, &s->start) || !eat(p, ':') || !token_int(p, &s->limit))
            return false;
        if (eat_if(p, ':') && !token_int(p, &s->stride))
            return false;
        if (!eat(p, ']'))
            return false;
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
    for (int k = 0; parse_more(p, '}', k); k++) {
        const char *name = p->lex.text;
        double v = 0;
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
    }
    return eat(p, '}') && eat(p, '}');
}

/* ---- kinds ---- */

static bool parse_float(struct parser *p, double *out)
{
    bool ok = parse_number(p, out);
    *out = (float)*out; /* as protos have it */
    return ok;
}

#define IN(member, type)  type *v = &a->member
#define OWN(member, type) type *v = ARENA_NEW(p->arena, type)
#define REF(member, type) __typeof__(a->member) *v = &a->member
#define KEEP_IN(member)
#define KEEP_OWN(member) a->member = v;
#define KEEP_REF(member)
#define KIND(id, member, stored, type, parse, print, standard)                                     \
    static bool parse_##id(struct parser *p, const struct hlo_attr_info *info, struct hlo_attr *a) \
    {                                                                                              \
        stored(member, type);                                                                      \
        KEEP_##stored(member) return parse;                                                        \
    }
#include "frontend/hlo/syntax/hlo_kinds.def"

static bool (*const parsers[HLO_KIND_COUNT])(struct parser *p, const struct hlo_attr_info *info,
                                             struct hlo_attr *a) = {
#define KIND(id, ...) [HLO_KIND_##id] = parse_##id,
#include "frontend/hlo/syntax/hlo_kinds.def"
};

bool parse_attr_value(struct parser *p, struct hlo_attr *a)
{
    const struct hlo_attr_info *info = hlo_attr_info(a->id);
    return parsers[info->kind] ? parsers[info->kind](p, info, a)
                               : parse_expected(p, "a known kind of attribute");
}
