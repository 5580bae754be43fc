#include "runtime/io/feed_sizes.h"

#include <stdlib.h>
#include <string.h>

static bool parse(struct feed_sizes *z, const char *text, dim_t *out)
{
    struct diag d = {0};
    return dim_parse(&z->dims, &text, out, &d) && !*text;
}

/* Dim k of an input becomes size; the first that tells decides. */
static bool bind(struct feed_sizes *z, const struct xrt_info *info, int k, int64_t size)
{
    dim_t dim;
    int symbol = info->symbols[k] && parse(z, info->symbols[k], &dim) ? dim_as_symbol(&z->dims, dim) : -1;
    if (symbol >= 0 && z->symbols[symbol] == DIM_NOT_BOUND)
        z->symbols[symbol] = size;
    return info->symbols[k] || info->dims[k] == size;
}

static bool bind_input(struct feed_sizes *z, const struct feed *f, const char *name, const int64_t *sizes, int n,
                       struct diag *d)
{
    for (int i = 0; i < f->count; i++) {
        const struct xrt_info *info = xrt_input_info(f->m, i);
        if (strcmp(info->name, name) != 0)
            continue;
        bool ok = n == info->rank;
        for (int k = 0; ok && k < n; k++)
            ok = bind(z, info, k, sizes[k]);
        return ok || fail(d, "input '%s' is %s", name, info->text);
    }
    struct diag list = {0};
    size_t at = 0;
    for (int s = 0; s < z->dims.nsymbols && at < sizeof list.text; s++)
        at += (size_t)snprintf(list.text + at, sizeof list.text - at, "%s%s", s ? ", " : "", z->dims.symbols[s].name);
    return fail(d, "no symbolic dimension and no input of the name '%s'; symbolic: %s", name, at ? list.text : "none");
}

/* "NAME=1,3,224" or "symbol=4". */
static bool bind_shape(struct feed_sizes *z, const struct feed *f, const char *text, struct diag *d)
{
    const char *equals = strrchr(text, '=');
    int64_t sizes[XRT_MAX_RANK];
    int n = 0;
    for (const char *at = equals; equals && *at && n < XRT_MAX_RANK; n++) {
        char *end;
        sizes[n] = strtoll(at + 1, &end, 10);
        if (end == at + 1 || sizes[n] < 0 || sizes[n] > INT32_MAX || (*end && *end != ','))
            equals = NULL;
        at = end;
    }
    if (!equals || equals == text)
        return fail(d, "--shape '%s': expected SYMBOL=4 or INPUT=1,3,224", text);
    const char *name = arena_strndup(&z->arena, text, (size_t)(equals - text));
    int symbol = n == 1 ? dim_find_symbol(&z->dims, name) : -1;
    if (symbol < 0)
        return bind_input(z, f, name, sizes, n, d) || fail_in(d, "--shape '%s'", text);
    z->symbols[symbol] = sizes[0];
    return true;
}

/* All symbols that inputs name. */
static void find_symbols(struct feed_sizes *z, const struct feed *f)
{
    dim_t dim;
    for (int i = 0; i < f->count; i++) {
        const struct xrt_info *info = xrt_input_info(f->m, i);
        for (int k = 0; k < info->rank; k++)
            if (info->symbols[k])
                parse(z, info->symbols[k], &dim);
    }
    z->symbols = ARENA_ARRAY(&z->arena, int64_t, z->dims.nsymbols + 1);
    for (int s = 0; s < z->dims.nsymbols; s++)
        z->symbols[s] = DIM_NOT_BOUND;
}

bool sizes_find(struct feed_sizes *z, const struct feed *f, const char *const *shapes, int nshapes,
                struct diag *d)
{
    *z = (struct feed_sizes){0};
    dim_table_init(&z->dims, &z->arena);
    find_symbols(z, f);
    for (int i = 0; i < nshapes; i++)
        if (!bind_shape(z, f, shapes[i], d))
            return false;
    for (int made_up = 0; made_up < 2; made_up++)
        for (int i = 0; i < f->count; i++) {
            const struct xrt_info *info = xrt_input_info(f->m, i);
            const struct tensor *t = &f->inputs[i];
            for (int k = 0; k < info->rank; k++)
                if (made_up || (t->kind == VK_TENSOR && k < t->rank))
                    bind(z, info, k, made_up ? info->sizes[k] : t->dims[k]);
        }
    return true;
}

void sizes_free(struct feed_sizes *z)
{
    arena_free(&z->arena);
}

int64_t sizes_of(struct feed_sizes *z, const char *expression, int64_t otherwise)
{
    int known = z->dims.nsymbols;
    dim_t dim;
    if (!expression || !parse(z, expression, &dim) || z->dims.nsymbols > known)
        return otherwise; /* it has a symbol that no input has */
    int64_t size = dim_eval(&z->dims, z->symbols, dim);
    return size == DIM_NOT_BOUND ? otherwise : size;
}
