#include "neff/core/kernel_signature.h"

#include <string.h>

/* Of "f32[n,1000] x" the type, and the name behind it. */
static bool read_operand(struct kernel_signature *s, const struct str *text, struct arena *a,
                         struct type *type, const char **name, struct diag *d)
{
    const char *at = arena_strndup(a, text->p, text->n);
    if (!type_parse(&s->dims, &at, type, d))
        return false;
    if (type->kind != VK_TENSOR || type->rank < 0 || type->dtype == DT_NONE)
        return fail(d, "'%.200s' is not the type of a tensor", arena_strndup(a, text->p, text->n));
    *name = *at == ' ' ? at + 1 : "";
    return true;
}

static bool read_list(struct kernel_signature *s, const struct attrs *as, const char *attribute,
                      struct arena *a, struct type **types, const char ***names, int *n,
                      struct diag *d)
{
    const struct str *text = attr_strs(as, attribute, n);
    *types = ARENA_ARRAY(a, struct type, *n + 1);
    *names = ARENA_ARRAY(a, const char *, *n + 1);
    for (int i = 0; i < *n; i++)
        if (!read_operand(s, &text[i], a, &(*types)[i], &(*names)[i], d))
            return fail_in(d, "attribute '%s'", attribute);
    return true;
}

bool kernel_signature_read(const struct attrs *as, struct arena *a, struct kernel_signature *out,
                           struct diag *d)
{
    struct str name = attr_str(as, "kernel", "");
    *out = (struct kernel_signature){.kernel = arena_strndup(a, name.p, name.n)};
    dim_table_init(&out->dims, a);
    return read_list(out, as, "inputs", a, &out->in, &out->in_names, &out->nin, d) &&
           read_list(out, as, "outputs", a, &out->out, &out->out_names, &out->nout, d);
}

/* ", where n is 4": the symbols of a type that stand for something by now. */
static const char *where_text(const struct kernel_signature *s, const struct dim_table *t,
                              const struct type *want, const dim_t *with, struct arena *a)
{
    const char *text = "";
    for (int k = 0; k < want->rank; k++) {
        int symbol = dim_as_symbol(&s->dims, want->dims[k]);
        if (symbol >= 0 && with[symbol] != DIM_NOT_BOUND)
            text = arena_printf(a, "%s%s %s is %s", text, *text ? "," : ", where",
                                s->dims.symbols[symbol].name, dim_text(t, a, with[symbol]));
    }
    return text;
}

bool kernel_operand_fail(const struct kernel_signature *s, const struct dim_table *t, int i,
                         const struct type *have, const dim_t *with, struct arena *a,
                         struct diag *d)
{
    const char *name = s->in_names[i];
    return fail(d, "operand %d%s%.200s%s is %s, kernel '%.200s' takes %s%s", i, *name ? " '" : "",
                name, *name ? "'" : "", type_text(t, a, have), s->kernel,
                type_text(&s->dims, a, &s->in[i]), where_text(s, t, &s->in[i], with, a));
}

/* Symbols that no operand before has bound. */
static void bind_operand(const struct kernel_signature *s, int i, const struct type *have,
                         dim_t *with)
{
    const struct type *want = &s->in[i];
    for (int k = 0; k < want->rank && have->rank == want->rank; k++) {
        int symbol = dim_as_symbol(&s->dims, want->dims[k]);
        if (symbol >= 0 && with[symbol] == DIM_NOT_BOUND)
            with[symbol] = have->dims[k];
    }
}

bool kernel_signature_bind(const struct kernel_signature *s, const struct dim_table *t,
                           const struct type *in, int nin, dim_t *with, struct arena *a,
                           struct diag *d)
{
    for (int i = 0; i < s->dims.nsymbols; i++)
        with[i] = DIM_NOT_BOUND;
    if (nin != s->nin)
        return fail(d, "%d operands, kernel '%.200s' takes %d", nin, s->kernel, s->nin);
    for (int i = 0; i < nin; i++) {
        const struct type *have = &in[i], *want = &s->in[i];
        if (have->kind != VK_TENSOR || have->dtype != want->dtype ||
            (have->rank >= 0 && have->rank != want->rank))
            return kernel_operand_fail(s, t, i, have, with, a, d);
        bind_operand(s, i, have, with);
    }
    return true;
}
