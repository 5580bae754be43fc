/*
 * The texts in which an operator says what it takes and gives (xop.h).
 */
#include "runtime/custom/custom.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct declaration_reader {
    const char *at;
    const char *what; /* "operands", "results", "attributes" */
    struct custom_operator *op;
    struct arena *a;
    struct diag *d;
    bool *named; /* per symbol: an operand's dimension has its value */
    type_set variables[26];
    bool results;
};

static bool bad(struct declaration_reader *r, const char *expected)
{
    return fail(r->d, "%s: expected %s at '%.40s'", r->what, expected, r->at);
}

static void skip(struct declaration_reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

static bool take(struct declaration_reader *r, const char *token)
{
    skip(r);
    size_t n = strlen(token);
    if (strncmp(r->at, token, n) != 0)
        return false;
    r->at += n;
    return true;
}

/* A name; NULL when there is none. */
static const char *take_name(struct declaration_reader *r)
{
    skip(r);
    size_t n = 0;
    while (isalnum((unsigned char)r->at[n]) || r->at[n] == '_')
        n++;
    if (n == 0 || isdigit((unsigned char)*r->at))
        return NULL;
    r->at += n;
    return arena_strndup(r->a, r->at - n, n);
}

/* Strings have another form in memory than xop_tensor says. */
static type_set without_strings(type_set s)
{
    return s & ~((type_set)1 << DT_STR);
}

static type_set set_of(struct declaration_reader *r, const char *text, size_t n)
{
    struct signature s;
    if (!signature_parse(arena_strndup(r->a, text, n), &s) || s.n != 1)
        return 0;
    return without_strings(s.operand[0].admits);
}

/* f32|f64, floats, T=floats, T */
static bool read_type(struct declaration_reader *r, struct custom_operand *o)
{
    skip(r);
    size_t n = strcspn(r->at, "[, \t\n");
    const char *text = r->at;
    int variable = isupper((unsigned char)*text) ? *text - 'A' : -1;
    bool defines = variable >= 0 && n > 2 && text[1] == '=';
    if (variable >= 0 && !defines && n != 1)
        return bad(r, "a type, T=types, or T");
    type_set set = variable < 0 ? set_of(r, text, n)
                   : defines    ? set_of(r, text + 2, n - 2)
                                : r->variables[variable];
    if (!set || (r->results && defines))
        return bad(r, "a type that xop.h names, not of strings, or a T that an operand defines");
    if (r->results && variable < 0 && (set & (set - 1)))
        return bad(r, "one type");
    if (variable >= 0)
        r->variables[variable] = set;
    o->admits = set;
    o->variable = (int8_t)variable;
    o->typed = true;
    r->at += n;
    return true;
}

static bool ends_dim(const struct declaration_reader *r, const char *after)
{
    while (isspace((unsigned char)*after))
        after++;
    return *after == ',' || *after == ']';
}

static bool read_dim(struct declaration_reader *r, dim_t *out)
{
    skip(r);
    if (*r->at == '_' && ends_dim(r, r->at + 1)) {
        *out = CUSTOM_ANY_DIM;
        r->at++;
        return !r->results || bad(r, "a size, not _,");
    }
    if (*r->at == '?' && ends_dim(r, r->at + 1)) {
        *out = CUSTOM_RUNTIME_DIM;
        r->at++;
        r->op->open = true;
        return r->results || bad(r, "a size, not ?,");
    }
    if (!dim_parse(&r->op->dims, &r->at, out, r->d))
        return fail_in(r->d, "%s", r->what);
    if (dim_is_const(*out) && *out < 0)
        return bad(r, "sizes of 0 or more");
    return true;
}

static bool read_dims(struct declaration_reader *r, struct custom_operand *o)
{
    o->rank = 0;
    if (take(r, "]"))
        return true;
    o->ellipsis = take(r, "...");
    if (o->ellipsis && take(r, "]"))
        return true;
    if (o->ellipsis && !take(r, ","))
        return bad(r, "',' or ']'");
    for (;;) {
        if (o->rank == MAX_RANK)
            return bad(r, "fewer dimensions");
        if (!read_dim(r, &o->dims[o->rank++]))
            return false;
        if (take(r, "]"))
            return true;
        if (!take(r, ","))
            return bad(r, "',' or ']'");
    }
}

static bool read_operand(struct declaration_reader *r, struct custom_operand *o)
{
    *o = (struct custom_operand){.variable = -1, .rank = CUSTOM_ANY_RANK};
    o->admits = set_of(r, "any", 3);
    o->name = take_name(r);
    if (!o->name)
        return bad(r, "a name");
    o->repeats = take(r, "...");
    o->optional = !o->repeats && take(r, "?");
    if (r->results && (o->optional || o->repeats))
        return bad(r, "results without ? and ...,");
    if (take(r, ":")) {
        skip(r);
        if (*r->at != '[' && !read_type(r, o))
            return false;
        if (take(r, "[") && !read_dims(r, o))
            return false;
        return true;
    }
    skip(r);
    return !*r->at || *r->at == ',' || bad(r, "':' and a type, or ','");
}

static bool read_operands(struct declaration_reader *r, const char *text, struct custom_operand **list, int *n)
{
    int cap = 0;
    r->at = text ? text : "";
    skip(r);
    while (*r->at) {
        ARENA_GROW(r->a, *list, *n, cap);
        if (*n && (*list)[*n - 1].repeats)
            return bad(r, "nothing after the operand that repeats,");
        if (!read_operand(r, &(*list)[*n]))
            return false;
        ++*n;
        skip(r);
        if (*r->at && !take(r, ","))
            return bad(r, "','");
        if (*n > 64)
            return bad(r, "at most 64,");
    }
    return true;
}

/* ---- attributes ---- */

static bool read_numbers(struct declaration_reader *r, struct custom_attribute *at)
{
    int64_t ints[64];
    double floats[64];
    int n = 0;
    for (;; n++) {
        char *end;
        skip(r);
        if (!*r->at || *r->at == ',')
            break;
        if (n == 64)
            return bad(r, "at most 64 numbers");
        if (at->kind == ATTR_INTS || at->kind == ATTR_INT)
            ints[n] = strtoll(r->at, &end, 10);
        else
            floats[n] = strtod(r->at, &end);
        if (end == r->at)
            return bad(r, "a number");
        r->at = end;
    }
    bool single = at->kind == ATTR_INT || at->kind == ATTR_FLOAT;
    if (single && n != 1)
        return bad(r, "one number");
    at->value.count = n;
    if (at->kind == ATTR_INT)
        at->value.i = ints[0];
    else if (at->kind == ATTR_FLOAT)
        at->value.f = floats[0];
    else if (at->kind == ATTR_INTS)
        at->value.ints = arena_copy(r->a, ints, sizeof *ints * (size_t)n);
    else
        at->value.floats = arena_copy(r->a, floats, sizeof *floats * (size_t)n);
    return true;
}

enum { ATTR_NUMBER = -1 }; /* int or float, as the model gives it */

static bool read_default(struct declaration_reader *r, struct custom_attribute *at)
{
    at->value = (struct attr){.name = at->name, .kind = at->kind};
    at->required = !take(r, "=");
    if (at->required)
        return true;
    skip(r);
    size_t n = strcspn(r->at, ",");
    if (at->kind == ATTR_NUMBER) {
        struct custom_attribute as = *at;
        as.kind = as.value.kind = strcspn(r->at, ".eEn") < n ? ATTR_FLOAT : ATTR_INT;
        bool ok = read_numbers(r, &as);
        at->value = as.value;
        return ok;
    }
    if (at->kind != ATTR_STR)
        return read_numbers(r, at);
    const char *text = r->at;
    r->at += n;
    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    at->value.s = (struct str){arena_strndup(r->a, text, n), n};
    return true;
}

static const struct {
    const char *name;
    int kind;
} kinds[] = {{"ints", ATTR_INTS},
             {"int", ATTR_INT},
             {"floats", ATTR_FLOATS},
             {"float", ATTR_FLOAT},
             {"number", ATTR_NUMBER},
             {"string", ATTR_STR}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *kind_name(int kind)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].kind == kind)
            return kinds[i].name;
    return "of a kind that xop.h lacks";
}

static bool read_attributes(struct declaration_reader *r, const char *text)
{
    struct custom_operator *op = r->op;
    int cap = 0;
    r->at = text ? text : "";
    skip(r);
    while (*r->at) {
        ARENA_GROW(r->a, op->attributes, op->nattributes, cap);
        struct custom_attribute *at = &op->attributes[op->nattributes++];
        at->name = take_name(r);
        if (!at->name || !strncmp(at->name, "custom_", 7) || !take(r, ":"))
            return bad(r, "NAME: KIND, no name that begins with custom_,");
        const char *kind = take_name(r);
        int k = 0;
        while (k < KINDS && (!kind || strcmp(kinds[k].name, kind) != 0))
            k++;
        if (k == KINDS)
            return bad(r, "int, float, number, string, ints or floats");
        at->kind = kinds[k].kind;
        if (!read_default(r, at))
            return false;
        if (*r->at && !take(r, ","))
            return bad(r, "','");
        skip(r);
    }
    return true;
}

/* ---- the whole ---- */

static bool is_int_attribute(const struct custom_operator *op, const char *name)
{
    for (int i = 0; i < op->nattributes; i++)
        if (op->attributes[i].kind == ATTR_INT && !strcmp(op->attributes[i].name, name))
            return true;
    return false;
}

/* Every name in results has a value. */
static bool check_names(struct declaration_reader *r)
{
    struct custom_operator *op = r->op;
    bool *known = ARENA_ARRAY(r->a, bool, op->dims.nsymbols + 1);
    for (int i = 0; i < op->nin; i++)
        for (int k = 0; k < op->in[i].rank; k++) {
            int s = dim_as_symbol(&op->dims, op->in[i].dims[k]);
            if (s >= 0)
                known[s] = true;
        }
    for (int s = 0; s < op->dims.nsymbols; s++)
        if (!known[s] && !is_int_attribute(op, op->dims.symbols[s].name))
            return fail(r->d,
                        "'%s' is no dimension of an operand and no attribute of kind int; write ? "
                        "for a size that only run knows",
                        op->dims.symbols[s].name);
    return true;
}

static bool check_results(const struct custom_operator *op, struct diag *d)
{
    for (int i = 0; i < op->nout; i++) {
        const struct custom_operand *o = &op->out[i];
        if (!op->code->shape && (!o->typed || o->rank < 0))
            return fail(d, "result '%s' has no type or no dims: write them, or give `shape`",
                        o->name);
    }
    if (op->open && op->code->flags & XOP_MULTICORE)
        return fail(d, "sizes that only run knows (?) do not go with XOP_MULTICORE");
    return true;
}

static bool declare(struct declaration_reader *r)
{
    const struct xop_operator *code = r->op->code;
    r->what = "operands";
    if (!read_operands(r, code->operands, &r->op->in, &r->op->nin))
        return false;
    r->what = "attributes";
    if (!read_attributes(r, code->attributes))
        return false;
    r->what = "results";
    r->results = true;
    if (!read_operands(r, code->results, &r->op->out, &r->op->nout))
        return false;
    if (r->op->nout == 0)
        return fail(r->d, "results: none are declared");
    return check_names(r) && check_results(r->op, r->d);
}

bool custom_declare(const struct xop_operator *code, struct arena *a, struct custom_operator *out,
                    struct diag *d)
{
    if (!code || !code->name || !*code->name || !code->domain || !code->run || code->version < 1)
        return fail(d, "an operator has no domain, no name, no run, or a version below 1");
    *out = (struct custom_operator){.code = code};
    out->full = arena_printf(a, "%s::%s", code->domain, code->name);
    dim_table_init(&out->dims, a);
    struct declaration_reader r = {.op = out, .a = a, .d = d};
    return declare(&r) || fail_in(d, "operator %s", out->full);
}

static const struct custom_attribute *attribute_of(const struct custom_operator *op,
                                                   const char *name)
{
    for (int i = 0; i < op->nattributes; i++)
        if (!strcmp(op->attributes[i].name, name))
            return &op->attributes[i];
    return NULL;
}

/* A whole number stands for a float, and no numbers for no floats. */
static bool convert(struct arena *a, struct attrs *attrs, const struct attr *given, int kind)
{
    if (given->kind == kind || (kind == ATTR_NUMBER && (given->kind == ATTR_INT || given->kind == ATTR_FLOAT)))
        return true;
    if (given->kind == ATTR_INT && kind == ATTR_FLOAT) {
        attr_set_float(a, attrs, given->name, (double)given->i);
        return true;
    }
    if (given->kind != ATTR_INTS || kind != ATTR_FLOATS)
        return false;
    double *v = ARENA_ARRAY(a, double, given->count + 1);
    for (int i = 0; i < given->count; i++)
        v[i] = (double)given->ints[i];
    attr_set_floats(a, attrs, given->name, v, given->count);
    return true;
}

static void set_default(struct arena *a, struct attrs *attrs, const struct attr *v)
{
    if (v->kind == ATTR_INT)
        attr_set_int(a, attrs, v->name, v->i);
    else if (v->kind == ATTR_FLOAT)
        attr_set_float(a, attrs, v->name, v->f);
    else if (v->kind == ATTR_STR)
        attr_set_strn(a, attrs, v->name, v->s);
    else if (v->kind == ATTR_INTS)
        attr_set_ints(a, attrs, v->name, v->ints, v->count);
    else
        attr_set_floats(a, attrs, v->name, v->floats, v->count);
}

bool custom_attributes(const struct custom_operator *op, struct arena *a, struct attrs *attrs,
                       struct diag *d)
{
    for (int i = 0; i < attrs->count; i++) {
        const struct attr given = attrs->list[i];
        if (!strncmp(given.name, "custom_", 7))
            continue;
        const struct custom_attribute *at = attribute_of(op, given.name);
        if (!at)
            return fail(d, "attribute '%s' is not one of %s: %s", given.name, op->full,
                        op->nattributes ? op->code->attributes : "it has none");
        if (!convert(a, attrs, &given, at->kind))
            return fail(d, "attribute '%s' is not of kind %s, as %s declares it", given.name,
                        kind_name(at->kind), op->full);
    }
    for (int i = 0; i < op->nattributes; i++) {
        const struct custom_attribute *at = &op->attributes[i];
        if (attr_find(attrs, at->name))
            continue;
        if (at->required)
            return fail(d, "attribute '%s' (%s) is missing, %s needs it", at->name,
                        kind_name(at->kind), op->full);
        set_default(a, attrs, &at->value);
    }
    return true;
}

/* ---- libraries ---- */

static bool check_table(const struct xop_library *t, struct diag *d)
{
    if (!t)
        return fail(d, "it has no symbol xop_library: end one of its files with XOP_LIBRARY(...)");
    if (t->abi != XOP_ABI)
        return fail(d, "it was compiled with version %u of xop.h, expected %d: compile it again",
                    t->abi, XOP_ABI);
    if (t->operator_size != sizeof(struct xop_operator) || t->count < 1 || t->count > 4096 ||
        !t->operators)
        return fail(d, "its xop_library is not one of XOP_LIBRARY");
    return true;
}

bool custom_declare_library(struct custom_library *l, const struct xop_library *t, struct diag *d)
{
    if (!check_table(t, d))
        return false;
    l->operators = ARENA_ARRAY(&l->arena, struct custom_operator, t->count);
    for (l->count = 0; l->count < t->count; l->count++)
        if (!custom_declare(t->operators[l->count], &l->arena, &l->operators[l->count], d))
            return false;
    return true;
}
