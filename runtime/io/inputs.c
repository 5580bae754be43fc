#include "runtime/io/inputs.h"

#include "neff/base/file.h"
#include "runtime/io/npy.h"

#include <string.h>

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

bool inputs_read(const struct inputs *in, const char *argument, struct diag *d)
{
    const char *equals = strchr(argument, '='), *path = argument;
    int i = equals ? input_named(in, argument, (size_t)(equals - argument)) : -1;
    if (i >= 0)
        path = equals + 1;
    else if (name_ends_with(argument, ".npz"))
        return read_npz(in, argument, d);
    else if (equals)
        return fail(d, "the model has no input '%.*s'", (int)(equals - argument), argument);
    else if ((i = next_input(in)) < 0)
        return fail(d, "%s: there are more files than the model's %d inputs", argument, in->count);
    struct tensor t = {.kind = VK_NONE};
    bool ok = npy_read(path, &t, d) && (take(in, i, &t, d) || fail_in(d, "%s", path));
    tensor_free(&t);
    return ok;
}
