/*
 * Constants. Elements go from the text straight into the array they belong to; the nesting of
 * braces is checked on the way.
 */
#include "frontend/hlo/syntax/parse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIGITS = 1000, MAX_SPLAT = 1 << 24 };

/* The token as a number; NaN is handled by the caller. */
static bool token_double(struct parser *p, double *out)
{
    const struct lex *l = &p->lex;
    char text[MAX_DIGITS + 1];
    if (l->kind == TOK_INF) {
        *out = l->negative ? -INFINITY : INFINITY;
        return true;
    }
    if (l->kind == TOK_INT && !l->wide) {
        *out = l->negative ? -(double)l->integer : (double)l->integer;
        return true;
    }
    if (l->kind != TOK_INT && l->kind != TOK_FLOAT)
        return parse_expected(p, "a number");
    if (l->size > MAX_DIGITS)
        return parse_fail(p, "number with more than %d characters", MAX_DIGITS);
    memcpy(text, l->text, l->size);
    text[l->size] = 0;
    *out = strtod(text, NULL);
    if (isinf(*out))
        return parse_fail(p, "%.60s is out of the range of f64", text);
    return true;
}

static bool store_nan(struct parser *p, enum dtype dt, void *data, size_t at)
{
    const struct lex *l = &p->lex;
    const struct float_format *f = float_format(dt);
    uint64_t mantissa = f->man_bits ? (uint64_t)1 << (f->man_bits - 1) : 0, code;
    bool payload = f->nan == 1;
    if (l->has_payload) {
        if (l->wide || !l->integer || !payload || l->integer >> f->man_bits)
            return parse_fail(p, "NaN payload 0x%llx does not fit in %s",
                              (unsigned long long)l->integer, dtype_info(dt)->hlo);
        mantissa = l->integer;
    }
    uint64_t sign = l->negative && f->sign ? (uint64_t)1 << (f->exp_bits + f->man_bits) : 0;
    uint64_t ones = ((uint64_t)1 << f->exp_bits) - 1;
    switch (f->nan) {
    case 1:
        code = sign | ones << f->man_bits | mantissa;
        break;
    case 2:
        code = sign | (((uint64_t)1 << (f->exp_bits + f->man_bits)) - 1);
        break;
    default:
        code = float_encode(f, NAN, false);
    }
    size_t bytes = dtype_bytes(dt);
    memcpy((char *)data + at * bytes, &code, bytes); /* little-endian */
    return true;
}

static bool store_float(struct parser *p, enum dtype dt, void *data, size_t at)
{
    double v;
    if (p->lex.kind == TOK_NAN)
        return store_nan(p, dt, data, at);
    if (!token_double(p, &v))
        return false;
    if (p->lex.kind == TOK_INT && p->lex.negative && v == 0)
        v = -0.0;
    dtype_store_f64(dt, data, at, v);
    const struct float_format *f = float_format(dt);
    if (isfinite(v) && f->sign && !isfinite(dtype_load_f64(dt, data, at)))
        return parse_fail(p, "%.*s is out of the range of %s",
                          (int)(p->lex.size > 40 ? 40 : p->lex.size), p->lex.text,
                          dtype_info(dt)->hlo);
    return true;
}

static bool store_integer(struct parser *p, enum dtype dt, void *data, size_t at)
{
    const struct lex *l = &p->lex;
    int bits = dtype_info(dt)->bits;
    bool is_signed = dtype_class(dt) == DTC_SINT;
    if (l->kind != TOK_INT)
        return parse_expected(p, "an integer");
    uint64_t positive = is_signed    ? ((uint64_t)1 << (bits - 1)) - 1
                        : bits == 64 ? UINT64_MAX
                                     : ((uint64_t)1 << bits) - 1;
    /* XLA itself writes and reads some u64 values with a sign. */
    uint64_t negative = is_signed ? (uint64_t)1 << (bits - 1) : bits == 64 ? (uint64_t)1 << 63 : 0;
    if (l->wide || l->integer > (l->negative ? negative : positive))
        return parse_fail(p, "%.*s is out of the range of %s: %s%llu to %llu",
                          (int)(l->size > 40 ? 40 : l->size), l->text, dtype_info(dt)->hlo,
                          is_signed ? "-" : "", (unsigned long long)(is_signed ? negative : 0),
                          (unsigned long long)positive);
    dtype_store_i64(dt, data, at, (int64_t)(l->negative ? 0 - l->integer : l->integer));
    return true;
}

static bool store_complex(struct parser *p, enum dtype dt, void *data, size_t at)
{
    enum dtype part = dt == DT_C64 ? DT_F32 : DT_F64;
    if (!eat(p, '('))
        return false;
    for (int k = 0; k < 2; k++) {
        if (!store_float(p, part, data, at * 2 + (size_t)k))
            return false;
        lex_next(&p->lex);
        if (k == 0 && !eat(p, ','))
            return false;
    }
    return lex_is(&p->lex, ')') || parse_expected(p, "')'");
}

/* Stores the element at the current token, or its last token for a complex one. */
static bool store(struct parser *p, enum dtype dt, void *data, size_t at)
{
    bool is_true = lex_word(&p->lex, "true");
    switch (dtype_class(dt)) {
    case DTC_BOOL:
        if (!is_true && !lex_word(&p->lex, "false") && p->lex.kind != TOK_INT)
            return parse_expected(p, "true or false");
        ((uint8_t *)data)[at] = is_true || (p->lex.kind == TOK_INT && p->lex.integer);
        return true;
    case DTC_COMPLEX:
        return store_complex(p, dt, data, at);
    case DTC_FLOAT:
        return store_float(p, dt, data, at);
    default:
        return store_integer(p, dt, data, at);
    }
}

struct dense_literal {
    const struct hlo_shape *shape;
    struct hlo_literal *literal;
    enum dtype dtype;
    int64_t total;
    int level;
    int64_t seen[HLO_MAX_RANK]; /* elements so far in the open braces of each level */
    bool nested;
};

static bool open_brace(struct parser *p, struct dense_literal *s)
{
    s->nested = true;
    if (++s->level > s->shape->rank)
        return parse_fail(p, "braces nested deeper than the rank, %d", s->shape->rank);
    if (s->level > 1 && ++s->seen[s->level - 2] > s->shape->dims[s->level - 2])
        return parse_fail(p, "more than %lld elements in dimension %d",
                          (long long)s->shape->dims[s->level - 2], s->level - 2);
    return true;
}

static bool close_brace(struct parser *p, struct dense_literal *s)
{
    if (!s->level)
        return parse_fail(p, "unexpected '}'");
    int k = --s->level;
    if (s->seen[k] != s->shape->dims[k])
        return parse_fail(p, "%lld elements in dimension %d, expected %lld", (long long)s->seen[k],
                          k, (long long)s->shape->dims[k]);
    s->seen[k] = 0;
    return true;
}

/* Room for all elements, once there is text enough to fill it. */
static bool allocate(struct parser *p, struct dense_literal *s)
{
    if (s->literal->data)
        return true;
    int64_t text = p->lex.end - p->lex.start;
    if (s->total > (s->nested || !s->shape->rank ? text : MAX_SPLAT))
        return parse_fail(p, "constant of %lld elements, but there is not text enough for them",
                          (long long)s->total);
    s->literal->data = arena_alloc(p->arena, (size_t)s->total * dtype_bytes(s->dtype));
    return true;
}

static bool element(struct parser *p, struct dense_literal *s)
{
    int rank = s->shape->rank;
    if (rank && s->level && s->level != rank)
        return parse_fail(p, "element inside %d braces, expected %d", s->level, rank);
    if (rank && s->level && ++s->seen[rank - 1] > s->shape->dims[rank - 1])
        return parse_fail(p, "more than %lld elements in dimension %d",
                          (long long)s->shape->dims[rank - 1], rank - 1);
    if ((int64_t)s->literal->count >= s->total)
        return parse_fail(p, "more elements than the shape has");
    return allocate(p, s) && store(p, s->dtype, s->literal->data, s->literal->count++);
}

static bool parse_dense(struct parser *p, struct dense_literal *s)
{
    do {
        struct lex *l = &p->lex;
        bool ok = true;
        if (lex_is(l, '{')) {
            ok = open_brace(p, s);
        } else if (lex_is(l, '}')) {
            ok = close_brace(p, s);
        } else if (l->kind == TOK_DOTS) {
            if (s->level != 1)
                return parse_fail(p, "'...' inside %d braces, expected 1", s->level);
            s->literal->elided = true;
            s->seen[0] = s->shape->dims[0];
        } else if (!lex_is(l, ',')) {
            ok = element(p, s);
        } else if (!s->level) {
            return parse_expected(p, "a value");
        }
        if (!ok)
            return false;
        lex_next(l);
    } while (s->level);
    return true;
}

static bool parse_tuple(struct parser *p, struct hlo_literal *l)
{
    l->elements = ARENA_ARRAY(p->arena, const struct hlo_literal *, l->shape->count);
    if (!enter(p) || !eat(p, '('))
        return false;
    for (int k = 0; k < l->shape->count; k++) {
        if (k && !eat(p, ','))
            return false;
        if (!parse_literal(p, l->shape->elements[k], &l->elements[k]))
            return false;
        l->elided |= l->elements[k]->elided;
    }
    p->depth--;
    return eat(p, ')');
}

bool parse_literal(struct parser *p, const struct hlo_shape *shape, const struct hlo_literal **out)
{
    struct hlo_literal *l = ARENA_NEW(p->arena, struct hlo_literal);
    struct dense_literal s = {.shape = shape, .literal = l, .dtype = hlo_type_dtype(shape->type)};
    l->shape = shape;
    *out = l;
    if (shape->type == HLO_TUPLE)
        return parse_tuple(p, l);
    if (s.dtype == DT_NONE || !hlo_shape_count(shape, &s.total))
        return parse_fail(p, "a constant cannot have shape %s", hlo_shape_text(&p->scratch, shape));
    const char *at = p->lex.start;
    if (!parse_dense(p, &s))
        return false;
    if (l->elided && !s.total) /* nothing is missing */
        l->elided = false;
    if (l->elided) {
        l->count = 0;
        l->data = NULL;
        return true;
    }
    if (!s.nested && shape->rank && s.total > 1) {
        warn(p->d, "%s:%d: one value for a constant of shape %s: it is element 0, the others are 0",
             p->file, parse_line(p, at), hlo_shape_text(&p->scratch, shape));
        l->count = (size_t)s.total;
    }
    if ((int64_t)l->count != s.total)
        return parse_fail_at(p, at, "constant has %zu elements, expected %lld", l->count,
                             (long long)s.total);
    return allocate(p, &s);
}

bool parse_typed_literal(struct parser *p, const struct hlo_literal **out)
{
    const struct hlo_shape *shape;
    if (!lex_is(&p->lex, '('))
        return parse_shape(p, &shape) && parse_literal(p, shape, out);
    /* (shape literal, ...) or (shapes) (literals): the second form has '(' after the first ')'. */
    int from = p->pointer_count;
    struct hlo_literal *l = ARENA_NEW(p->arena, struct hlo_literal);
    struct parser before = *p;
    struct diag ignored = {0};
    p->d = &ignored;
    bool typed = parse_shape(p, &shape) && lex_is(&p->lex, '(');
    p->d = before.d;
    if (typed)
        return parse_literal(p, shape, out);
    p->lex = before.lex;
    p->depth = before.depth;
    p->pointer_count = from;
    p->int_count = before.int_count;
    if (!enter(p))
        return false;
    lex_next(&p->lex);
    for (int k = 0; parse_more(p, ')', k); k++) {
        const struct hlo_literal *e;
        if (!parse_typed_literal(p, &e))
            return false;
        push_pointer(p, e);
    }
    int count;
    l->elements = pop_pointers(p, from, &count);
    const struct hlo_shape **shapes = ARENA_ARRAY(&p->scratch, const struct hlo_shape *, count);
    for (int k = 0; k < count; k++) {
        shapes[k] = l->elements[k]->shape;
        l->elided |= l->elements[k]->elided;
    }
    l->shape = hlo_shape_tuple(p->arena, count, shapes);
    p->depth--;
    *out = l;
    return eat(p, ')');
}
