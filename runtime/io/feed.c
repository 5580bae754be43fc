#include "runtime/io/feed.h"

#include "neff/base/file.h"
#include "runtime/io/npy.h"
#include "runtime/io/random.h"

#include <stdlib.h>
#include <string.h>

bool feed_init(struct feed *f, const struct xrt_model *m, struct diag *d)
{
    *f = (struct feed){.m = m, .count = xrt_input_count(m)};
    f->inputs = calloc((size_t)f->count + 1, sizeof *f->inputs);
    if (!f->inputs)
        return fail(d, "out of memory");
    for (int i = 0; i < f->count; i++)
        f->inputs[i].kind = VK_NONE;
    return true;
}

void feed_free(struct feed *f)
{
    for (int i = 0; f->inputs && i < f->count; i++)
        tensor_free(&f->inputs[i]);
    free(f->inputs);
    *f = (struct feed){0};
}

static int input_named(const struct feed *f, const char *name, size_t length)
{
    for (int i = 0; i < f->count; i++) {
        const char *own = xrt_input_info(f->m, i)->name;
        if (strlen(own) == length && !memcmp(own, name, length))
            return i;
    }
    return -1;
}

static int next_input(const struct feed *f)
{
    int i = 0;
    while (i < f->count && f->inputs[i].kind != VK_NONE)
        i++;
    return i < f->count ? i : -1;
}

static bool take(struct feed *f, int i, struct tensor *t, struct diag *d)
{
    const struct xrt_info *info = xrt_input_info(f->m, i);
    if (!npy_as(t, dtype_from_name(info->dtype), d))
        return fail_in(d, "input '%s'", info->name);
    tensor_move(&f->inputs[i], t);
    return true;
}

static bool feed_npz(struct feed *f, const char *path, struct diag *d)
{
    struct npz z;
    if (!npz_read(path, &z, d))
        return false;
    int named = 0;
    for (int e = 0; e < z.count; e++)
        named += input_named(f, z.entries[e].name, strlen(z.entries[e].name)) >= 0;
    bool ok = true;
    for (int e = 0; ok && e < z.count; e++) {
        int i =
            named ? input_named(f, z.entries[e].name, strlen(z.entries[e].name)) : next_input(f);
        if (i >= 0)
            ok = take(f, i, &z.entries[e].t, d);
        else if (!named)
            ok = fail(d, "%d arrays, but the model has %d inputs", z.count, f->count);
    }
    npz_free(&z);
    return ok || fail_in(d, "%s", path);
}

bool feed_file(struct feed *f, const char *argument, struct diag *d)
{
    const char *equals = strchr(argument, '='), *path = argument;
    int i = equals ? input_named(f, argument, (size_t)(equals - argument)) : -1;
    if (i >= 0)
        path = equals + 1;
    else if (name_ends_with(argument, ".npz"))
        return feed_npz(f, argument, d);
    else if (equals)
        return fail(d, "the model has no input '%.*s'", (int)(equals - argument), argument);
    else if ((i = next_input(f)) < 0)
        return fail(d, "%s: there are more files than the model's %d inputs", argument, f->count);
    struct tensor t = {.kind = VK_NONE};
    bool ok = npy_read(path, &t, d) && take(f, i, &t, d);
    tensor_free(&t);
    return ok || fail_in(d, "%s", path);
}

/* A symbolic dim's size where another input with values has the same one. */
static int64_t dim_elsewhere(const struct feed *f, const char *symbol, int64_t otherwise)
{
    for (int i = 0; i < f->count; i++) {
        const struct xrt_info *info = xrt_input_info(f->m, i);
        for (int k = 0; f->inputs[i].kind == VK_TENSOR && k < info->rank && k < f->inputs[i].rank;
             k++)
            if (info->symbols[k] && !strcmp(info->symbols[k], symbol))
                return f->inputs[i].dims[k];
    }
    return otherwise;
}

bool feed_random(struct feed *f, struct diag *d)
{
    for (int i = 0; i < f->count; i++) {
        const struct xrt_info *info = xrt_input_info(f->m, i);
        int64_t dims[XRT_MAX_RANK];
        if (f->inputs[i].kind != VK_NONE)
            continue;
        if (info->rank < 0)
            return fail(d, "input '%s' is %s: its shape must be given", info->name, info->text);
        for (int k = 0; k < info->rank; k++)
            dims[k] = info->symbols[k] ? dim_elsewhere(f, info->symbols[k], info->sizes[k])
                                       : info->dims[k];
        if (!tensor_alloc(&f->inputs[i], dtype_from_name(info->dtype), info->rank, dims, d))
            return fail_in(d, "input '%s'", info->name);
        random_fill(&f->inputs[i],
                    &(struct value_range){info->has_range, info->low, info->high}, 1 + (uint64_t)i);
    }
    return true;
}

bool feed_complete(const struct feed *f, struct diag *d)
{
    struct diag list = {0};
    size_t n = 0;
    for (int i = 0; i < f->count; i++)
        if (f->inputs[i].kind == VK_NONE && n < sizeof list.text) {
            const struct xrt_info *info = xrt_input_info(f->m, i);
            n += (size_t)snprintf(list.text + n, sizeof list.text - n, "%s%s %s", n ? ", " : "",
                                  info->name, info->text);
        }
    return !n || fail(d, "missing inputs: %s; give NAME=FILE.npy for each, or --random", list.text);
}

bool feed_give(const struct feed *f, struct xrt_context *c, struct diag *d)
{
    for (int i = 0; i < f->count; i++) {
        const struct tensor *t = &f->inputs[i];
        struct xrt_tensor x = {.dtype = dtype_name(t->dtype), .rank = t->rank, .data = t->data};
        memcpy(x.dims, t->dims, sizeof *t->dims * (size_t)t->rank);
        if (!xrt_set_input(c, i, &x))
            return fail(d, "%s", xrt_error());
    }
    return true;
}

struct tensor tensor_of(const struct xrt_tensor *t)
{
    return tensor_view(dtype_from_name(t->dtype), t->rank, t->dims, t->data);
}

bool output_path(char path[OUTPUT_PATH], const char *folder, const char *name, const char *suffix,
                 struct diag *d)
{
    int start = snprintf(path, OUTPUT_PATH, "%s/", folder);
    if (start < 0 || start >= OUTPUT_PATH)
        return fail(d, "the path of output '%s' is too long", name);
    int n = snprintf(path + start, (size_t)(OUTPUT_PATH - start), "%s%s", name, suffix);
    if (n < 0 || start + n >= OUTPUT_PATH)
        return fail(d, "the path of output '%s' is too long", name);
    for (char *s = path + start; *s; s++)
        if (*s == '/' || *s == ':')
            *s = '_';
    return true;
}
