/*
 * Custom calls of operators that the user brings (--custom-op). Their attributes are the
 * backend_config's: a dictionary of MLIR, `{blank = 0 : i64, mode = "best"}`, or a JSON object.
 */
#include "frontend/custom_call.h"
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/importer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *at, *end;
    struct arena *a;
    struct attrs *attrs;
};

static void skip(struct reader *r)
{
    while (r->at < r->end && isspace((unsigned char)*r->at))
        r->at++;
}

static bool take(struct reader *r, char c)
{
    skip(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* "text", with \" and \\ as both forms have them. */
static bool read_string(struct reader *r, struct str *out)
{
    char *to = arena_alloc(r->a, (size_t)(r->end - r->at) + 1);
    size_t n = 0;
    if (!take(r, '"'))
        return false;
    for (; r->at < r->end && *r->at != '"'; r->at++) {
        if (*r->at == '\\' && r->at + 1 < r->end)
            r->at++;
        to[n++] = *r->at;
    }
    *out = (struct str){to, n};
    return take(r, '"');
}

static bool read_key(struct reader *r, const char **key)
{
    struct str s;
    skip(r);
    if (r->at < r->end && *r->at == '"') {
        if (!read_string(r, &s))
            return false;
        *key = s.p;
        return true;
    }
    size_t n = 0;
    while (r->at + n < r->end && is_name(r->at[n]))
        n++;
    *key = arena_strndup(r->a, r->at, n);
    r->at += n;
    return n > 0;
}

/* ` : i64` behind a value, and `array<i64:` before a list, say what its numbers are. */
static bool read_type(struct reader *r, bool *floats)
{
    skip(r);
    size_t n = 0;
    while (r->at + n < r->end && is_name(r->at[n]))
        n++;
    *floats |= n > 0 && (*r->at == 'f' || *r->at == 'b');
    r->at += n;
    return n > 0;
}

/* The number at r->at, whose text is ended by something that is no part of it. */
static bool read_number(struct reader *r, int64_t *i, double *f, bool *floats)
{
    char text[64];
    size_t n = 0;
    skip(r);
    while (r->at + n < r->end && n + 1 < sizeof text &&
           (is_name(r->at[n]) || strchr("+-", r->at[n])))
        n++;
    memcpy(text, r->at, n);
    text[n] = 0;
    if (!strcmp(text, "true") || !strcmp(text, "false")) {
        *i = *text == 't';
        *f = (double)*i;
        r->at += n;
        return true;
    }
    char *end;
    *f = strtod(text, &end);
    if (end == text || *end)
        return false;
    *floats |= strcspn(text, ".eEn") < n;
    *i = *floats ? 0 : strtoll(text, NULL, 10);
    r->at += n;
    return true;
}

enum { MOST_NUMBERS = 4096 };

static bool set_list(struct reader *r, const char *key, const int64_t *ints, const double *reals,
                     int n, bool floats)
{
    if (floats)
        attr_set_floats(r->a, r->attrs, key, reals, n);
    else
        attr_set_ints(r->a, r->attrs, key, ints, n);
    return true;
}

/* Up to the bracket that closes it. */
static bool read_list(struct reader *r, const char *key, char close, bool floats)
{
    int64_t *ints = ARENA_ARRAY(r->a, int64_t, MOST_NUMBERS);
    double *reals = ARENA_ARRAY(r->a, double, MOST_NUMBERS);
    int n = 0;
    while (!take(r, close)) {
        if ((n && !take(r, ',')) || n == MOST_NUMBERS ||
            !read_number(r, &ints[n], &reals[n], &floats))
            return false;
        n++;
        if (take(r, ':') && !read_type(r, &floats))
            return false;
    }
    return set_list(r, key, ints, reals, n, floats);
}

static bool read_value(struct reader *r, const char *key)
{
    struct str s;
    int64_t i;
    double f;
    bool floats = false;
    skip(r);
    if (r->at < r->end && *r->at == '"') {
        if (!read_string(r, &s))
            return false;
        attr_set_strn(r->a, r->attrs, key, s);
        return true;
    }
    if (take(r, '['))
        return read_list(r, key, ']', false);
    if ((size_t)(r->end - r->at) > 6 && !strncmp(r->at, "array<", 6)) {
        r->at += 6;
        if (!read_type(r, &floats))
            return false;
        if (take(r, '>')) /* `array<i64>` has none */
            return set_list(r, key, NULL, NULL, 0, floats);
        return take(r, ':') && read_list(r, key, '>', floats);
    }
    if (!read_number(r, &i, &f, &floats) || (take(r, ':') && !read_type(r, &floats)))
        return false;
    if (floats)
        attr_set_float(r->a, r->attrs, key, f);
    else
        attr_set_int(r->a, r->attrs, key, i);
    return true;
}

static bool read_config(struct reader *r)
{
    skip(r);
    if (r->at == r->end)
        return true;
    if (!take(r, '{'))
        return false;
    for (bool first = true; !take(r, '}'); first = false) {
        const char *key;
        if ((!first && !take(r, ',')) || !read_key(r, &key) || !(take(r, '=') || take(r, ':')) ||
            !read_value(r, key))
            return false;
    }
    skip(r);
    return r->at == r->end;
}

static const struct custom_operator *operator_of(const struct hlo_importer *im,
                                                 const struct hlo_instruction *i)
{
    return custom_lookup_target(im->options, hlo_attr_text(i, HLO_ATTR_custom_call_target));
}

bool hlo_is_custom_op(const struct hlo_importer *im, const struct hlo_instruction *i)
{
    return operator_of(im, i) != NULL;
}

/* What the operator gives is what the program says. */
static bool check_results(struct hlo_lower *l, const struct node *call,
                          const struct custom_operator *op)
{
    for (int k = 0; k < call->nout; k++) {
        const struct hlo_shape *s = hlo_leaf(l->i->shape, k);
        const struct type *t = &call->out[k]->type;
        bool same = t->dtype == hlo_type_dtype(s->type) && (t->rank < 0 || t->rank == s->rank);
        for (int d = 0; same && d < t->rank; d++)
            same = !dim_is_const(t->dims[d]) || s->dims[d] < 0 || (s->dynamic && s->dynamic[d]) ||
                   t->dims[d] == s->dims[d];
        if (!same)
            return HLO_ERROR(l, "result %d of %s is %s, the program declares %s", k, op->full,
                             type_text(&l->g->dims, &l->g->arena, t),
                             hlo_shape_text(&l->g->arena, s));
    }
    return true;
}

bool hlo_lower_custom_op(struct hlo_lower *l)
{
    const struct custom_operator *op = operator_of(l->im, l->i);
    const struct hlo_attr *config = hlo_attr(l->i, HLO_ATTR_backend_config);
    struct arena *a = &l->g->arena;
    struct attrs attrs = {0};
    int n = 0;
    struct reader r = {.a = a, .attrs = &attrs};
    if (config && config->text->data)
        r.at = config->text->data, r.end = r.at + config->text->size;
    if (!read_config(&r))
        return HLO_ERROR(l,
                         "the backend_config of %s is no dictionary of numbers, strings and "
                         "lists, at '%.*s'",
                         op->full, (int)(r.end - r.at > 40 ? 40 : r.end - r.at), r.at);
    for (int k = 0; k < l->i->operand_count; k++)
        n += l->operands[k].count;
    struct value **in = ARENA_ARRAY(a, struct value *, n + 1);
    for (int k = 0, at = 0; k < l->i->operand_count; k++)
        for (int j = 0; j < l->operands[k].count; j++)
            in[at++] = l->operands[k].v[j];
    struct node *call = h_node(l, OP_custom, in, n, l->out.count, &attrs);
    return call && custom_become(l->g, call, l->im->options, op, l->d) && h_infer(l, call) &&
           check_results(l, call, op) && h_done_all(l, call->out, call->nout);
}
