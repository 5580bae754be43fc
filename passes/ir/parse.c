/*
 * The text form, read back: the grammar is what text.c prints. Values are found by their numbers;
 * whether they are used where they may be is the verifier's business, which runs at the end.
 */
#include "passes/ir/guards.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 60, MAX_NUMBER = 1 << 24, MAX_LIST = 1 << 28 };

struct names { /* values by the number in the text */
    struct value **v;
    int cap;
};

struct ir_parser {
    struct graph *g;
    const char *text, *s, *end;
    const char *file;
    struct diag *d;
    struct names values, constants;
};

/* ---- words ---- */

static bool locate(struct ir_parser *p)
{
    int line = 1;
    const char *start = p->text;
    for (const char *s = p->text; s < p->s && s < p->end; s++)
        if (*s == '\n') {
            line++;
            start = s + 1;
        }
    return fail_in(p->d, "%s:%d:%d", p->file, line, (int)(p->s - start) + 1);
}

#define BAD(p, ...) (fail((p)->d, __VA_ARGS__), locate(p))

static void skip(struct ir_parser *p)
{
    for (;;) {
        while (p->s < p->end && isspace((unsigned char)*p->s))
            p->s++;
        if (p->s + 1 >= p->end || p->s[0] != '/' || p->s[1] != '/')
            return;
        while (p->s < p->end && *p->s != '\n')
            p->s++;
    }
}

/* Whether the text goes on with `t`; then it is consumed. */
static bool accept(struct ir_parser *p, const char *t)
{
    skip(p);
    size_t n = strlen(t);
    if ((size_t)(p->end - p->s) < n || memcmp(p->s, t, n))
        return false;
    if (isalpha((unsigned char)t[n - 1]) && p->s + n < p->end &&
        (isalnum((unsigned char)p->s[n]) || p->s[n] == '_' || p->s[n] == '.'))
        return false;
    p->s += n;
    return true;
}

static bool peek(struct ir_parser *p, char c)
{
    skip(p);
    return p->s < p->end && *p->s == c;
}

static bool expect(struct ir_parser *p, const char *t)
{
    return accept(p, t) || BAD(p, "expected '%s'", t);
}

static bool word(struct ir_parser *p, char *out, size_t room, const char *what)
{
    skip(p);
    size_t n = 0;
    while (p->s + n < p->end &&
           (isalnum((unsigned char)p->s[n]) || p->s[n] == '_' || p->s[n] == '.'))
        n++;
    if (n == 0 || n >= room || isdigit((unsigned char)*p->s))
        return BAD(p, "expected %s", what);
    memcpy(out, p->s, n);
    out[n] = 0;
    p->s += n;
    return true;
}

static int hex(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static bool string(struct ir_parser *p, struct str *out)
{
    skip(p);
    if (p->s >= p->end || *p->s != '"')
        return BAD(p, "expected a string");
    const char *close = p->s + 1;
    while (close < p->end && *close != '"' && *close != '\n')
        close += *close == '\\' ? 2 : 1;
    if (close >= p->end || *close != '"')
        return BAD(p, "a string that does not end");
    char *to = arena_alloc(&p->g->arena, (size_t)(close - p->s));
    out->p = to;
    for (p->s++; p->s < close; p->s++) {
        char c = *p->s;
        if (c == '\\') {
            c = *++p->s;
            if (c == 'n') {
                c = '\n';
            } else if (c == 'x') {
                int high = p->s + 2 < close ? hex(p->s[1]) : -1, low = high < 0 ? -1 : hex(p->s[2]);
                if (p->s + 2 >= close + 1 || high < 0 || low < 0)
                    return BAD(p, "expected two hexadecimal digits after \\x");
                c = (char)(high * 16 + low);
                p->s += 2;
            } else if (c != '"' && c != '\\') {
                return BAD(p, "unknown escape '\\%c'", c);
            }
        }
        *to++ = c;
    }
    p->s = close + 1;
    out->n = (size_t)(to - out->p);
    return true;
}

static bool name(struct ir_parser *p, const char **out)
{
    struct str s;
    if (!string(p, &s))
        return false;
    if (s.n && memchr(s.p, 0, s.n))
        return BAD(p, "a name with a zero byte");
    *out = arena_strndup(&p->g->arena, s.p, s.n);
    return true;
}

static bool integer(struct ir_parser *p, int64_t *out)
{
    char *end;
    skip(p);
    errno = 0;
    *out = strtoll(p->s, &end, 10);
    if (end == p->s || errno || isspace((unsigned char)*p->s))
        return BAD(p, "expected an integer");
    p->s = end;
    return true;
}

static bool type(struct ir_parser *p, struct type *out)
{
    skip(p);
    if (!type_parse(&p->g->dims, &p->s, out, p->d))
        return locate(p);
    for (const struct type *t = out; t; t = t->elem)
        for (int i = 0; t->kind == VK_TENSOR && i < t->rank; i++)
            if (dim_is_const(t->dims[i]) && t->dims[i] < 0)
                return BAD(p, "a negative dim in a type");
    return true;
}

/* ---- literals ---- */

static bool float_literal(struct ir_parser *p, int dt, void *to, size_t i)
{
    char *end;
    skip(p);
    errno = 0;
    if (p->s[0] == '0' && p->s[1] == 'x') {
        uint64_t bits = strtoull(p->s + 2, &end, 16);
        size_t bytes = dtype_bytes(dt);
        if (end == p->s + 2 || errno || !isxdigit((unsigned char)p->s[2]) ||
            (bytes < 8 && bits >> 8 * bytes))
            return BAD(p, "expected the bits of a %s", dtype_name(dt));
        for (size_t b = 0; b < bytes; b++)
            ((unsigned char *)to)[i * bytes + b] = (unsigned char)(bits >> 8 * b);
    } else {
        double x = strtod(p->s, &end);
        if (end == p->s)
            return BAD(p, "expected a number");
        if (isnan(x))
            x = NAN;
        dtype_store_f64(dt, to, i, x);
    }
    p->s = end;
    return true;
}

static bool int_literal(struct ir_parser *p, int dt, void *to, size_t i)
{
    char *end;
    skip(p);
    errno = 0;
    bool is_signed = dtype_class(dt) == DTC_SINT;
    uint64_t bits = is_signed ? (uint64_t)strtoll(p->s, &end, 10) : strtoull(p->s, &end, 10);
    if (end == p->s || errno || (!is_signed && *p->s == '-'))
        return BAD(p, "expected an integer");
    dtype_store_i64(dt, to, i, (int64_t)bits);
    if ((uint64_t)dtype_load_i64(dt, to, i) != bits)
        return BAD(p, "a number that does not fit %s", dtype_name(dt));
    p->s = end;
    return true;
}

static bool element(struct ir_parser *p, int dt, void *to, size_t i)
{
    switch (dtype_class(dt)) {
    case DTC_BOOL: {
        int64_t b = 0;
        if (accept(p, "true"))
            b = 1;
        else if (!accept(p, "false") && (!integer(p, &b) || b < 0 || b > 255))
            return BAD(p, "expected true or false");
        ((uint8_t *)to)[i] = (uint8_t)b;
        return true;
    }
    case DTC_FLOAT:
        return float_literal(p, dt, to, i);
    case DTC_COMPLEX: {
        int part = dt == DT_C64 ? DT_F32 : DT_F64;
        return expect(p, "(") && float_literal(p, part, to, 2 * i) &&
               float_literal(p, part, to, 2 * i + 1) && expect(p, ")");
    }
    case DTC_STRING:
        return string(p, (struct str *)to + i);
    default:
        return int_literal(p, dt, to, i);
    }
}

static bool literal(struct ir_parser *p, struct tensor *out, int depth);

/* seq<f32>[...], opt<none>[...], map<str>[keys, values] after the kind's name. */
static bool container(struct ir_parser *p, int kind, struct tensor *out, int depth)
{
    char dtype[32];
    struct tensor *items = NULL;
    int count = 0, cap = 0;
    if (!expect(p, "<") || !word(p, dtype, sizeof dtype, "an element type") || !expect(p, ">") ||
        !expect(p, "["))
        return false;
    out->dtype = (uint8_t)dtype_from_name(dtype);
    if (!out->dtype && strcmp(dtype, "none"))
        return BAD(p, "unknown element type '%s'", dtype);
    while (!accept(p, "]")) {
        if (count && !expect(p, ","))
            return false;
        ARENA_GROW(&p->g->arena, items, count, cap);
        if (!literal(p, &items[count++], depth + 1))
            return false;
    }
    if ((kind == VK_OPTIONAL && count > 1) || (kind == VK_MAP && count != 2))
        return BAD(p, "a container with %d items", count);
    out->kind = (uint8_t)kind;
    out->items = items;
    out->nitems = count;
    return true;
}

static bool elements(struct ir_parser *p, struct tensor *out, size_t count)
{
    size_t width = dtype_bytes(out->dtype), left = (size_t)(p->end - p->s);
    if (count > left) /* each takes a character at least; bounds what is allocated */
        return BAD(p, "fewer elements than the shape says");
    char *room = arena_alloc(&p->g->arena, count * width + 64);
    room += (64 - (uintptr_t)room % 64) % 64;
    out->data = room;
    for (size_t i = 0; i < count; i++)
        if ((i && !expect(p, ",")) || !element(p, out->dtype, room, i))
            return false;
    return expect(p, "}");
}

static bool literal(struct ir_parser *p, struct tensor *out, int depth)
{
    struct type t;
    *out = (struct tensor){.kind = VK_NONE};
    if (depth > MAX_NESTING)
        return BAD(p, "nested too deeply");
    if (accept(p, "none"))
        return true;
    if (accept(p, "seq"))
        return container(p, VK_SEQUENCE, out, depth);
    if (accept(p, "opt"))
        return container(p, VK_OPTIONAL, out, depth);
    if (accept(p, "map"))
        return container(p, VK_MAP, out, depth);
    if (!type(p, &t))
        return false;
    if (!type_is_static(&t))
        return BAD(p, "the type of a constant is not constant");
    size_t count = 1;
    for (int i = 0; i < t.rank; i++)
        if (__builtin_mul_overflow(count, (size_t)t.dims[i], &count) || count > MAX_LIST)
            return BAD(p, "a constant that is too large");
    *out = tensor_view(t.dtype, t.rank, t.dims, NULL);
    if (!expect(p, "{"))
        return false;
    if (accept(p, "..."))
        return BAD(p, "an elided constant; print the graph with all elements");
    return elements(p, out, count);
}

/* ---- attributes ---- */

/* Whether the number at the cursor is written as a float. */
static bool looks_float(const struct ir_parser *p)
{
    const char *s = p->s;
    if (s[0] == '0' && s[1] == 'x')
        return true;
    s += *s == '-';
    if (*s == 'i' || *s == 'n')
        return true;
    while (isdigit((unsigned char)*s))
        s++;
    return *s == '.' || *s == 'e';
}

static bool list_attr(struct ir_parser *p, const char *key, struct attrs *as, int kind)
{
    struct arena *a = &p->g->arena;
    int64_t *ints = NULL;
    double *floats = NULL;
    struct str *strs = NULL;
    int n = 0, cap = 0;
    while (!accept(p, "]")) {
        if (n && !expect(p, ","))
            return false;
        skip(p);
        if (n == 0 && kind < 0)
            kind = peek(p, '"') ? ATTR_STRS : looks_float(p) ? ATTR_FLOATS : ATTR_INTS;
        bool ok;
        if (kind == ATTR_INTS) {
            ARENA_GROW(a, ints, n, cap);
            ok = integer(p, &ints[n]);
        } else if (kind == ATTR_FLOATS) {
            ARENA_GROW(a, floats, n, cap);
            ok = float_literal(p, DT_F64, floats, (size_t)n);
        } else {
            ARENA_GROW(a, strs, n, cap);
            ok = string(p, &strs[n]);
        }
        if (!ok)
            return false;
        n++;
    }
    if (kind < 0)
        return BAD(p, "an empty list; write ints[], floats[] or strs[]");
    if (kind == ATTR_INTS)
        attr_set_ints(a, as, key, ints, n);
    else if (kind == ATTR_FLOATS)
        attr_set_floats(a, as, key, floats, n);
    else
        attr_set_strs(a, as, key, strs, n);
    return true;
}

static bool attr(struct ir_parser *p, const char *key, struct attrs *as)
{
    struct arena *a = &p->g->arena;
    struct str text;
    skip(p);
    if (peek(p, '"')) {
        if (!string(p, &text))
            return false;
        attr_set_strn(a, as, key, text);
        return true;
    }
    if (accept(p, "["))
        return list_attr(p, key, as, -1);
    if (accept(p, "ints"))
        return expect(p, "[") && list_attr(p, key, as, ATTR_INTS);
    if (accept(p, "floats"))
        return expect(p, "[") && list_attr(p, key, as, ATTR_FLOATS);
    if (accept(p, "strs"))
        return expect(p, "[") && list_attr(p, key, as, ATTR_STRS);
    if (accept(p, "tensor")) {
        struct tensor *t = ARENA_NEW(a, struct tensor);
        attr_set_tensor(a, as, key, t);
        return literal(p, t, 0);
    }
    if (accept(p, "type")) {
        struct type *t = ARENA_NEW(a, struct type);
        attr_set_type(a, as, key, t);
        return type(p, t);
    }
    if (looks_float(p)) {
        double x;
        if (!float_literal(p, DT_F64, &x, 0))
            return false;
        attr_set_float(a, as, key, x);
        return true;
    }
    int64_t i;
    if (!integer(p, &i))
        return false;
    attr_set_int(a, as, key, i);
    return true;
}

static bool attrs(struct ir_parser *p, struct attrs *as)
{
    bool first = true;
    while (!accept(p, "}")) {
        char plain[128];
        const char *key = plain;
        if (!first && !expect(p, ","))
            return false;
        first = false;
        if (peek(p, '"') ? !name(p, &key) : !word(p, plain, sizeof plain, "an attribute"))
            return false;
        if (attr_find(as, key))
            return BAD(p, "attribute %s is given twice", key);
        if (!expect(p, "=") || !attr(p, key, as))
            return false;
    }
    return true;
}

/* ---- values ---- */

struct definition { /* `%3 "name": type`, or a constant's `%c3 "name"` */
    bool constant;
    int number;
    const char *name;
    struct type type;
};

static bool number(struct ir_parser *p, bool *constant, int *out)
{
    int64_t n;
    if (!expect(p, "%"))
        return false;
    *constant = p->s < p->end && *p->s == 'c';
    p->s += *constant;
    if (p->s >= p->end || !isdigit((unsigned char)*p->s) || !integer(p, &n) || n > MAX_NUMBER)
        return BAD(p, "expected the number of a value");
    *out = (int)n;
    return true;
}

static bool definition(struct ir_parser *p, struct definition *def)
{
    *def = (struct definition){.type.kind = VK_NONE};
    if (!number(p, &def->constant, &def->number))
        return false;
    if (peek(p, '"') && !name(p, &def->name))
        return false;
    return !accept(p, ":") || type(p, &def->type);
}

static bool bind(struct ir_parser *p, bool constant, int n, struct value *v)
{
    struct names *names = constant ? &p->constants : &p->values;
    if (n >= names->cap) {
        int cap = names->cap ? names->cap : 64;
        while (cap <= n)
            cap *= 2;
        struct value **larger = ARENA_ARRAY(&p->g->arena, struct value *, cap);
        arena_move_(larger, names->v, sizeof *larger * (size_t)names->cap);
        names->v = larger;
        names->cap = cap;
    }
    if (names->v[n])
        return BAD(p, "%%%s%d is defined twice", constant ? "c" : "", n);
    names->v[n] = v;
    return true;
}

static bool operand(struct ir_parser *p, struct value **out)
{
    bool constant;
    int n;
    *out = NULL;
    if (accept(p, "_"))
        return true;
    if (!number(p, &constant, &n))
        return false;
    const struct names *names = constant ? &p->constants : &p->values;
    *out = n < names->cap ? names->v[n] : NULL;
    return *out || BAD(p, "%%%s%d is not defined", constant ? "c" : "", n);
}

static bool params(struct ir_parser *p, struct region *r)
{
    if (!expect(p, "("))
        return false;
    while (!accept(p, ")")) {
        struct definition def;
        if (r->nparams && !expect(p, ","))
            return false;
        if (!definition(p, &def))
            return false;
        if (def.constant)
            return BAD(p, "a parameter is not a constant");
        if (!bind(p, false, def.number, region_add_param(r, &def.type, def.name)))
            return false;
    }
    return true;
}

/* ---- nodes ---- */

static bool body(struct ir_parser *p, struct region *r, int depth);

static bool operands(struct ir_parser *p, struct value ***in, int *nin)
{
    int cap = 0;
    *in = NULL;
    *nin = 0;
    if (!expect(p, "("))
        return false;
    while (!accept(p, ")")) {
        if (*nin && !expect(p, ","))
            return false;
        ARENA_GROW(&p->g->arena, *in, *nin, cap);
        if (!operand(p, &(*in)[*nin]))
            return false;
        ++*nin;
    }
    return true;
}

static bool node(struct ir_parser *p, struct region *r, const struct definition *defs, int ndefs,
                 int depth)
{
    char op_text[64];
    struct value **in;
    int nin;
    if (!word(p, op_text, sizeof op_text, "an operator"))
        return false;
    enum op op = op_from_name(op_text);
    if (op == OP_COUNT)
        return BAD(p, "unknown operator '%s'", op_text);
    if (!operands(p, &in, &nin))
        return false;
    struct node *n = node_new(p->g, op, in, nin, ndefs, NULL);
    node_append(r, n);
    if (accept(p, "{") && !attrs(p, &n->attrs))
        return false;
    if (accept(p, "@") && !name(p, &n->name))
        return false;
    if (accept(p, ":") && !name(p, &n->source))
        return false;
    while (accept(p, "^")) {
        struct region *inner = node_add_region(p->g, n);
        if (!params(p, inner) || !expect(p, "{") || !body(p, inner, depth + 1))
            return false;
    }
    for (int i = 0; i < ndefs; i++) {
        if (defs[i].constant)
            return BAD(p, "%%c%d is not a constant", defs[i].number);
        n->out[i]->name = defs[i].name;
        n->out[i]->type = defs[i].type;
        if (!bind(p, false, defs[i].number, n->out[i]))
            return false;
    }
    return true;
}

static bool guard(struct ir_parser *p, struct region *r)
{
    struct guard g = {.dimension = -1, .node = "", .what = ""};
    char kind[32];
    int64_t dimension;
    if (!word(p, kind, sizeof kind, "a kind of guard"))
        return false;
    if ((g.kind = (uint8_t)guard_kind_from_name(kind)) == GUARD_KINDS)
        return BAD(p, "unknown kind of guard '%s'", kind);
    if (!expect(p, "(") || !dim_parse(&p->g->dims, &p->s, &g.a, p->d) || !expect(p, ",") ||
        !dim_parse(&p->g->dims, &p->s, &g.b, p->d) || !expect(p, ")"))
        return false;
    if (accept(p, "dimension")) {
        if (!integer(p, &dimension) || dimension < 0 || dimension >= MAX_RANK)
            return BAD(p, "a guard's dimension is out of range");
        g.dimension = (int8_t)dimension;
    }
    if ((accept(p, "@") && !name(p, &g.node)) || (accept(p, ":") && !name(p, &g.what)))
        return false;
    graph_add_guard(p->g, &g, r, NULL);
    return true;
}

static bool statement(struct ir_parser *p, struct region *r, int depth)
{
    if (accept(p, "guard "))
        return guard(p, r);
    struct definition *defs = NULL;
    int ndefs = 0, cap = 0;
    while (peek(p, '%')) {
        ARENA_GROW(&p->g->arena, defs, ndefs, cap);
        if (!definition(p, &defs[ndefs++]))
            return false;
        if (!accept(p, ","))
            break;
    }
    if (ndefs && !expect(p, "="))
        return false;
    if (ndefs == 1 && accept(p, "const")) {
        struct tensor t;
        if (!defs->constant)
            return BAD(p, "the number of a constant starts with %%c");
        return literal(p, &t, 0) && bind(p, true, defs->number, constant_new(p->g, &t, defs->name));
    }
    return node(p, r, defs, ndefs, depth);
}

static bool body(struct ir_parser *p, struct region *r, int depth)
{
    if (depth > MAX_NESTING)
        return BAD(p, "regions are nested too deeply");
    while (!accept(p, "}"))
        if (p->s >= p->end)
            return BAD(p, "expected '}'");
        else if (!statement(p, r, depth))
            return false;
    return true;
}

/* ---- the graph ---- */

static bool symbols(struct ir_parser *p)
{
    bool first = true;
    while (!accept(p, ")")) {
        char plain[256];
        const char *key = plain;
        if (!first && !expect(p, ","))
            return false;
        first = false;
        bool runtime = accept(p, "*");
        if (peek(p, '"') ? !name(p, &key) : !word(p, plain, sizeof plain, "a symbol"))
            return false;
        int count = p->g->dims.nsymbols;
        dim_t d = runtime ? dim_symbol_runtime(&p->g->dims, key) : dim_symbol(&p->g->dims, key);
        if (dim_as_symbol(&p->g->dims, d) != count)
            return BAD(p, "symbol '%s' is given twice", key);
        struct dim_symbol *s = &p->g->dims.symbols[count];
        if (accept(p, "<=") && (!integer(p, &s->max) || s->max < 1))
            return BAD(p, "symbol '%s' is limited to less than 1", key);
        if (accept(p, "=") && (!integer(p, &s->size) || s->size < 1))
            return BAD(p, "symbol '%s' has a size of less than 1", key);
    }
    return true;
}

static bool outputs(struct ir_parser *p)
{
    struct graph *g = p->g;
    int cap = 0;
    if (!expect(p, "outputs") || !expect(p, "("))
        return false;
    while (!accept(p, ")")) {
        if (g->noutputs && !expect(p, ","))
            return false;
        ARENA_GROW(&g->arena, g->output_names, g->noutputs, cap);
        if (!name(p, &g->output_names[g->noutputs]))
            return false;
        g->noutputs++;
    }
    skip(p);
    return p->s == p->end || BAD(p, "text after the graph");
}

static bool whole(struct ir_parser *p)
{
    struct graph *g = p->g;
    if (!expect(p, "graph") || !name(p, &g->name))
        return false;
    if (accept(p, "producer") && !name(p, &g->producer))
        return false;
    if (accept(p, "symbols") && (!expect(p, "(") || !symbols(p)))
        return false;
    return params(p, g->main) && expect(p, "{") && body(p, g->main, 0) && outputs(p);
}

struct graph *graph_parse(const char *text, size_t size, const char *file, struct diag *d)
{
    struct graph *g = graph_new();
    char *copy = arena_strndup(&g->arena, text, size);
    struct ir_parser p = {.g = g, .text = copy, .s = copy, .end = copy + size, .file = file, .d = d};
    if (!whole(&p)) {
        graph_free(g);
        return NULL;
    }
    if (!graph_verify(g, "parsing", d)) {
        d->internal = false; /* the text is at fault */
        fail_in(d, "%s", file);
        graph_free(g);
        return NULL;
    }
    return g;
}
