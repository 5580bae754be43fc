#include "runtime/io/inputs.h"

#include "neff/base/file.h"
#include "runtime/io/npy.h"

#include <stdlib.h>
#include <string.h>

struct input_kind input_kind_of(const char *name, const struct type *t)
{
    if ((t->kind == VK_SEQUENCE || t->kind == VK_MAP) && t->elem && t->elem->kind == VK_TENSOR)
        return (struct input_kind){name, t->elem->dtype, t->kind, t->dtype};
    return (struct input_kind){name, t->kind == VK_TENSOR ? t->dtype : DT_NONE, VK_TENSOR, DT_NONE};
}

static int input_named(const struct inputs *in, const char *name, size_t length)
{
    for (int i = 0; i < in->count; i++) {
        const char *own = in->kinds[i].name;
        if (own && strlen(own) == length && !memcmp(own, name, length))
            return i;
    }
    return -1;
}

static int next_input(const struct inputs *in)
{
    for (int i = 0; i < in->count; i++)
        if (in->values[i].kind == VK_NONE)
            return i;
    return -1;
}

static bool take(const struct inputs *in, int i, struct tensor *t, struct diag *d)
{
    const struct input_kind *kind = &in->kinds[i];
    if (kind->dtype != DT_NONE && !npy_as(t, kind->dtype, d))
        return fail_in(d, "input '%s'", kind->name ? kind->name : "");
    tensor_move(&in->values[i], t);
    return true;
}

static bool read_npz(const struct inputs *in, const char *path, struct diag *d)
{
    struct npz z;
    if (!npz_read(path, &z, d))
        return false;
    int named = 0;
    for (int e = 0; e < z.count; e++)
        named += input_named(in, z.entries[e].name, strlen(z.entries[e].name)) >= 0;
    bool ok = true;
    for (int e = 0; ok && e < z.count; e++) {
        const char *name = z.entries[e].name;
        int i = named ? input_named(in, name, strlen(name)) : next_input(in);
        if (i >= 0)
            ok = take(in, i, &z.entries[e].t, d);
        else if (!named)
            ok = fail(d, "%d arrays, but the model has %d inputs", z.count, in->count);
    }
    npz_free(&z);
    return ok || fail_in(d, "%s", path);
}

static bool fill_items(const struct input_kind *kind, struct npz *z, struct tensor *out, struct diag *d)
{
    if (!tensor_alloc_items(out, VK_SEQUENCE, z->count, d))
        return false;
    out->dtype = (uint8_t)kind->dtype;
    for (int k = 0; k < z->count; k++) {
        struct tensor *t = &z->entries[k].t;
        if (!npy_as(t, kind->dtype, d))
            return fail_in(d, "'%s'", z->entries[k].name);
        if (kind->kind == VK_MAP && tensor_count(t) != 1)
            return fail(d, "'%s' has %lld elements, expected one for a map", z->entries[k].name,
                        (long long)tensor_count(t));
        tensor_move(&out->items[k], t);
    }
    return true;
}

/* The names of the arrays as a tensor. */
static bool fill_keys(int dtype, const struct npz *z, struct tensor *out, struct diag *d)
{
    int64_t n = z->count;
    bool strings = dtype == DT_STR, ok = true;
    struct str *names = calloc((size_t)n + 1, sizeof *names);
    int64_t *numbers = calloc((size_t)n + 1, sizeof *numbers);
    if (!names || !numbers)
        ok = fail_memory(d, "out of memory");
    for (int64_t k = 0; ok && k < n; k++) {
        const char *name = z->entries[k].name;
        char *end = NULL;
        names[k] = (struct str){name, strlen(name)};
        numbers[k] = strtoll(name, &end, 10);
        if (!strings && (end == name || *end))
            ok = fail(d, "'%s' is no number, as the map's keys are", name);
    }
    struct tensor view = tensor_view(DT_I64, 1, &n, numbers);
    ok = ok && (strings ? tensor_set_strings(out, 1, &n, names, d) : tensor_copy(out, &view, d));
    free(names);
    free(numbers);
    return ok;
}

static bool read_container(const struct inputs *in, int i, const char *path, struct diag *d)
{
    const struct input_kind *kind = &in->kinds[i];
    struct tensor t = {.kind = VK_NONE};
    struct npz z;
    if (!npz_read(path, &z, d))
        return false;
    bool ok = kind->kind == VK_SEQUENCE
                  ? fill_items(kind, &z, &t, d)
                  : tensor_alloc_items(&t, VK_MAP, 2, d) && fill_keys(kind->keys, &z, &t.items[0], d) &&
                        fill_items(kind, &z, &t.items[1], d);
    if (ok)
        tensor_move(&in->values[i], &t);
    tensor_free(&t);
    npz_free(&z);
    return ok || fail_in(d, "%s", path);
}

static bool is_container(const struct inputs *in, int i)
{
    return in->kinds[i].kind == VK_SEQUENCE || in->kinds[i].kind == VK_MAP;
}

bool inputs_read(const struct inputs *in, const char *argument, struct diag *d)
{
    const char *equals = strchr(argument, '='), *path = argument;
    int i = equals ? input_named(in, argument, (size_t)(equals - argument)) : -1;
    if (i >= 0)
        path = equals + 1;
    else if (name_ends_with(argument, ".npz") && in->count == 1 && is_container(in, 0))
        i = 0;
    else if (name_ends_with(argument, ".npz"))
        return read_npz(in, argument, d);
    else if (equals)
        return fail(d, "the model has no input '%.*s'", (int)(equals - argument), argument);
    else if ((i = next_input(in)) < 0)
        return fail(d, "%s: there are more files than the model's %d inputs", argument, in->count);
    if (is_container(in, i))
        return read_container(in, i, path, d);
    struct tensor t = {.kind = VK_NONE};
    bool ok = npy_read(path, &t, d) && (take(in, i, &t, d) || fail_in(d, "%s", path));
    tensor_free(&t);
    return ok;
}
