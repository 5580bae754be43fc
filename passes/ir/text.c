/*
 * The text form. Values are numbered in the order they are printed, so equal graphs print alike
 * however they were built; constants are printed before the first node that uses them.
 *
 *   graph "resnet" producer "pytorch" symbols(batch<=64, *nz.1) (%0 "x": f32[batch,3]) {
 *     %c0 "w" = const f32[2] {1, 2}
 *     %1 "y": f32[batch,2] = conv(%0, %c0, _) {pads=[3,3], alpha=0.5} @"Conv_0" : "Conv"
 *     %2: f32[1] = loop(_, %1) ^(%3: i64[], %4: bool[]) {
 *       return(%4)
 *     }
 *     guard equal(batch, 8) dimension 0 @"node 'c'" : "operands 'x' and 'y'"
 *     return(%1)
 *   } outputs("y")
 *
 * A guard is printed where no node of the text implies it. A symbol with a star is only known while
 * running. Floats print as the shortest decimal that gives the same bits; NaNs with a payload and
 * other odd codes print as their bits (`0x7f800001`).
 */

#include "passes/ir/guards.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct printer {
    struct graph *g;
    FILE *out;
    int64_t elide;
    int *number; /* by value id, -1 before it is printed */
    int next_value, next_constant;
    struct arena scratch;
};

static void print_string(FILE *out, const char *s, size_t n)
{
    fputc('"', out);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", out);
        else if (c < 0x20 || c == 0x7f)
            fprintf(out, "\\x%02x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

/* ---- literals ---- */

/* One real component of a float: `dt` is a float type. */
static void print_float(FILE *out, int dt, const void *p, size_t i, bool as_float)
{
    char text[40];
    size_t bytes = dtype_bytes(dt);
    const unsigned char *at = (const unsigned char *)p + i * bytes;
    double x = dtype_load_f64(dt, p, i);
    for (int digits = 1; digits <= 17; digits++) {
        unsigned char back[8] = {0};
        snprintf(text, sizeof text, "%.*g", digits, x);
        dtype_store_f64(dt, back, 0, isnan(x) ? NAN : strtod(text, NULL));
        if (!memcmp(back, at, bytes) && !(isnan(x) && signbit(x))) {
            fputs(text, out);
            if (as_float && !strpbrk(text, ".ein"))
                fputs(".0", out);
            return;
        }
    }
    uint64_t bits = 0;
    for (size_t b = 0; b < bytes; b++)
        bits |= (uint64_t)at[b] << 8 * b;
    fprintf(out, "0x%0*" PRIx64, (int)bytes * 2, bits);
}

static void print_element(FILE *out, int dt, const void *p, size_t i)
{
    switch (dtype_class(dt)) {
    case DTC_BOOL: {
        unsigned b = ((const uint8_t *)p)[i];
        if (b < 2)
            fputs(b ? "true" : "false", out);
        else
            fprintf(out, "%u", b);
        break;
    }
    case DTC_SINT:
        fprintf(out, "%" PRId64, dtype_load_i64(dt, p, i));
        break;
    case DTC_UINT:
        fprintf(out, "%" PRIu64, (uint64_t)dtype_load_i64(dt, p, i));
        break;
    case DTC_FLOAT:
        print_float(out, dt, p, i, false);
        break;
    case DTC_COMPLEX: {
        int part = dt == DT_C64 ? DT_F32 : DT_F64;
        fputc('(', out);
        print_float(out, part, p, 2 * i, false);
        fputc(' ', out);
        print_float(out, part, p, 2 * i + 1, false);
        fputc(')', out);
        break;
    }
    case DTC_STRING: {
        const struct str *s = (const struct str *)p + i;
        print_string(out, s->p, s->n);
        break;
    }
    }
}

static void print_tensor(struct printer *p, const struct tensor *t)
{
    static const char *const kinds[] = {
        [VK_SEQUENCE] = "seq", [VK_OPTIONAL] = "opt", [VK_MAP] = "map"};
    if (t->kind == VK_NONE) {
        fputs("none", p->out);
        return;
    }
    if (t->kind != VK_TENSOR) {
        fprintf(p->out, "%s<%s>[", kinds[t->kind], t->dtype ? dtype_name(t->dtype) : "none");
        for (int64_t i = 0; i < t->nitems; i++) {
            if (i)
                fputs(", ", p->out);
            print_tensor(p, &t->items[i]);
        }
        fputc(']', p->out);
        return;
    }
    fprintf(p->out, "%s[", dtype_name(t->dtype));
    for (int i = 0; i < t->rank; i++)
        fprintf(p->out, "%s%" PRId64, i ? "," : "", t->dims[i]);
    fputs("] {", p->out);
    int64_t n = tensor_count(t);
    if (p->elide >= 0 && n > p->elide) {
        fputs("...}", p->out);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (i)
            fputs(", ", p->out);
        print_element(p->out, t->dtype, t->data, (size_t)i);
    }
    fputc('}', p->out);
}

/* ---- attributes ---- */

static void print_attr_element(struct printer *p, const struct attr *a, int i)
{
    switch (a->kind) {
    case ATTR_INTS:
        fprintf(p->out, "%" PRId64, a->ints[i]);
        break;
    case ATTR_FLOATS:
        print_float(p->out, DT_F64, a->floats, (size_t)i, true);
        break;
    default:
        print_string(p->out, a->strs[i].p, a->strs[i].n);
    }
}

static void print_attr(struct printer *p, const struct attr *a)
{
    static const char *const empty[] = {
        [ATTR_INTS] = "ints", [ATTR_FLOATS] = "floats", [ATTR_STRS] = "strs"};
    switch (a->kind) {
    case ATTR_INT:
        fprintf(p->out, "%" PRId64, a->i);
        break;
    case ATTR_FLOAT:
        print_float(p->out, DT_F64, &a->f, 0, true);
        break;
    case ATTR_STR:
        print_string(p->out, a->s.p, a->s.n);
        break;
    case ATTR_TENSOR:
        fputs("tensor ", p->out);
        print_tensor(p, a->tensor);
        break;
    case ATTR_TYPE:
        fprintf(p->out, "type %s", type_text(&p->g->dims, &p->scratch, a->type));
        break;
    default:
        fprintf(p->out, "%s[", a->count ? "" : empty[a->kind]);
        for (int i = 0; i < a->count; i++) {
            if (i)
                fputs(", ", p->out);
            print_attr_element(p, a, i);
        }
        fputc(']', p->out);
    }
}

static void print_attrs(struct printer *p, const struct attrs *as)
{
    if (!as->count)
        return;
    fputs(" {", p->out);
    for (int i = 0; i < as->count; i++) {
        const char *name = as->list[i].name;
        if (i)
            fputs(", ", p->out);
        if (dim_plain_name(name))
            fputs(name, p->out);
        else
            print_string(p->out, name, strlen(name));
        fputc('=', p->out);
        print_attr(p, &as->list[i]);
    }
    fputc('}', p->out);
}

/* ---- nodes ---- */

static void indent(struct printer *p, int depth)
{
    fprintf(p->out, "%*s", 2 * depth, "");
}

static void print_name(struct printer *p, const char *before, const char *name)
{
    if (!name || !*name)
        return;
    fputs(before, p->out);
    print_string(p->out, name, strlen(name));
}

/* A value where it is defined. */
static void define(struct printer *p, const struct value *v)
{
    p->number[v->id] = p->next_value++;
    fprintf(p->out, "%%%d", p->number[v->id]);
    print_name(p, " ", v->name);
    if (v->type.kind != VK_NONE)
        fprintf(p->out, ": %s", type_text(&p->g->dims, &p->scratch, &v->type));
}

static void print_use(struct printer *p, const struct value *v)
{
    if (!v)
        fputc('_', p->out);
    else if (p->number[v->id] < 0)
        fprintf(p->out, "%%undefined"); /* the verifier says more */
    else
        fprintf(p->out, v->constant ? "%%c%d" : "%%%d", p->number[v->id]);
}

static void print_new_constants(struct printer *p, const struct node *n, int depth)
{
    for (int i = 0; i < n->nin; i++) {
        const struct value *v = n->in[i];
        if (!v || !v->constant || p->number[v->id] >= 0)
            continue;
        p->number[v->id] = p->next_constant++;
        indent(p, depth);
        fprintf(p->out, "%%c%d", p->number[v->id]);
        print_name(p, " ", v->name);
        fputs(" = const ", p->out);
        print_tensor(p, v->constant);
        fputc('\n', p->out);
    }
}

static void print_body(struct printer *p, const struct region *r, int depth);

static void print_params(struct printer *p, const struct region *r)
{
    fputc('(', p->out);
    for (int i = 0; i < r->nparams; i++) {
        if (i)
            fputs(", ", p->out);
        define(p, r->params[i]);
    }
    fputc(')', p->out);
}

static void print_node(struct printer *p, const struct node *n, int depth)
{
    print_new_constants(p, n, depth);
    indent(p, depth);
    for (int i = 0; i < n->nout; i++) {
        if (i)
            fputs(", ", p->out);
        define(p, n->out[i]);
    }
    fprintf(p->out, "%s%s(", n->nout ? " = " : "", op_name(n->op));
    for (int i = 0; i < n->nin; i++) {
        if (i)
            fputs(", ", p->out);
        print_use(p, n->in[i]);
    }
    fputc(')', p->out);
    print_attrs(p, &n->attrs);
    print_name(p, " @", n->name);
    print_name(p, " : ", n->source);
    for (int i = 0; i < n->nregions; i++) {
        fputs(" ^", p->out);
        print_params(p, n->regions[i]);
        fputs(" {\n", p->out);
        print_body(p, n->regions[i], depth + 1);
        indent(p, depth);
        fputc('}', p->out);
    }
    fputc('\n', p->out);
}

/* Whether inference finds it again: its node is still there. */
static bool is_implied(const struct graph_guard *g)
{
    return g->origin && g->origin->parent;
}

/* Guards of the region that no node of the text implies. */
static void print_guards(struct printer *p, const struct region *r, int depth)
{
    for (int i = 0; i < p->g->nguards; i++) {
        const struct graph_guard *g = &p->g->guards[i];
        if (g->region != r || is_implied(g) || !graph_guard_counts(g) ||
            guard_is_certain(&p->g->dims, g->g.kind, g->g.a, g->g.b))
            continue;
        indent(p, depth);
        fprintf(p->out, "guard %s(%s, ", guard_kind_names[g->g.kind],
                dim_text(&p->g->dims, &p->scratch, g->g.a));
        fprintf(p->out, "%s)", dim_text(&p->g->dims, &p->scratch, g->g.b));
        if (g->g.dimension >= 0)
            fprintf(p->out, " dimension %d", g->g.dimension);
        print_name(p, " @", g->g.node);
        print_name(p, " : ", g->g.what);
        fputc('\n', p->out);
    }
}

static void print_body(struct printer *p, const struct region *r, int depth)
{
    print_guards(p, r, depth);
    for (const struct node *n = r->first; n; n = n->next)
        print_node(p, n, depth);
}

static void print_symbols(struct printer *p)
{
    const struct dim_table *t = &p->g->dims;
    if (!t->nsymbols)
        return;
    fputs(" symbols(", p->out);
    for (int i = 0; i < t->nsymbols; i++) {
        const char *name = t->symbols[i].name;
        fprintf(p->out, "%s%s", i ? ", " : "", t->symbols[i].runtime ? "*" : "");
        if (dim_plain_name(name))
            fputs(name, p->out);
        else
            print_string(p->out, name, strlen(name));
        if (t->symbols[i].max)
            fprintf(p->out, "<=%" PRId64, t->symbols[i].max);
        if (t->symbols[i].size)
            fprintf(p->out, "=%" PRId64, t->symbols[i].size);
    }
    fputc(')', p->out);
}

void graph_print(struct graph *g, FILE *out, int64_t elide)
{
    struct printer p = {.g = g, .out = out, .elide = elide};
    p.number = ARENA_ARRAY(&p.scratch, int, g->next_value);
    for (int i = 0; i < g->next_value; i++)
        p.number[i] = -1;
    fputs("graph ", out);
    print_string(out, g->name ? g->name : "", g->name ? strlen(g->name) : 0);
    print_name(&p, " producer ", g->producer);
    print_symbols(&p);
    fputc(' ', out);
    print_params(&p, g->main);
    fputs(" {\n", out);
    print_body(&p, g->main, 1);
    fputs("} outputs(", out);
    for (int i = 0; i < g->noutputs; i++) {
        const char *name = g->output_names[i] ? g->output_names[i] : "";
        if (i)
            fputs(", ", out);
        print_string(out, name, strlen(name));
    }
    fputs(")\n", out);
    arena_free(&p.scratch);
}
