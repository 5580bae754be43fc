#include "runtime/io/feed.h"

#include "runtime/io/feed_sizes.h"
#include "runtime/io/random.h"

#include <stdlib.h>
#include <string.h>

/* What a file must hold for it: the text tells of a container's elements. */
static struct input_kind kind_of(const struct xrt_info *info)
{
    struct arena a = {0};
    struct dim_table dims;
    struct diag ignored = {0};
    struct type t = {.kind = VK_TENSOR};
    const char *text = info->text;
    dim_table_init(&dims, &a);
    bool read = info->rank < 0 && type_parse(&dims, &text, &t, &ignored);
    if (!read || t.kind == VK_TENSOR)
        t = type_tensor(dtype_from_name(info->dtype), 0, NULL);
    struct input_kind kind = input_kind_of(info->name, &t);
    arena_free(&a);
    return kind;
}

bool feed_init(struct feed *f, const struct xrt_model *m, struct diag *d)
{
    *f = (struct feed){.m = m, .count = xrt_input_count(m)};
    f->inputs = calloc((size_t)f->count + 1, sizeof *f->inputs);
    f->kinds = calloc((size_t)f->count + 1, sizeof *f->kinds);
    if (!f->inputs || !f->kinds)
        return fail_memory(d, "out of memory");
    for (int i = 0; i < f->count; i++) {
        const struct xrt_info *info = xrt_input_info(m, i);
        f->inputs[i].kind = VK_NONE;
        f->kinds[i] = kind_of(info);
    }
    return true;
}

void feed_free(struct feed *f)
{
    for (int i = 0; f->inputs && i < f->count; i++)
        tensor_free(&f->inputs[i]);
    free(f->inputs);
    free(f->kinds);
    *f = (struct feed){0};
}

bool feed_file(struct feed *f, const char *argument, struct diag *d)
{
    return inputs_read(&(struct inputs){f->count, f->kinds, f->inputs}, argument, d);
}

bool feed_random(struct feed *f, const char *const *shapes, int nshapes, struct diag *d)
{
    struct feed_sizes z;
    bool ok = sizes_find(&z, f, shapes, nshapes, d);
    for (int i = 0; ok && i < f->count; i++) {
        const struct xrt_info *info = xrt_input_info(f->m, i);
        int64_t dims[XRT_MAX_RANK], high = sizes_of(&z, info->high_symbol, info->high);
        if (f->inputs[i].kind != VK_NONE)
            continue;
        if (info->rank < 0) {
            ok = f->kinds[i].kind != VK_TENSOR
                     ? fail(d, "input '%s' is %s: give %s=FILE.npz", info->name, info->text, info->name)
                     : fail(d, "input '%s' is %s: its shape must be given", info->name, info->text);
            break;
        }
        for (int k = 0; k < info->rank; k++)
            dims[k] = sizes_of(&z, info->symbols[k], info->sizes[k]);
        ok = tensor_alloc(&f->inputs[i], dtype_from_name(info->dtype), info->rank, dims, d) ||
             fail_in(d, "input '%s'", info->name);
        if (ok)
            random_fill(&f->inputs[i], &(struct value_range){info->has_range, info->low, high}, 1 + (uint64_t)i);
    }
    sizes_free(&z);
    return ok;
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
    bool arrays = false; /* in files of several */
    for (int i = 0; i < f->count; i++)
        arrays |= f->inputs[i].kind == VK_NONE && f->kinds[i].kind != VK_TENSOR;
    return !n || fail(d, "missing inputs: %s; give NAME=FILE.npy for each%s, or --random", list.text,
                      arrays ? " (sequences and maps: NAME=FILE.npz)" : "");
}

static struct xrt_value value_of(struct arena *a, const struct tensor *t)
{
    if (t->kind == VK_TENSOR) {
        struct xrt_value v = {.tensor = {.dtype = dtype_name(t->dtype), .rank = t->rank, .data = t->data}};
        memcpy(v.tensor.dims, t->dims, sizeof *t->dims * (size_t)t->rank);
        return v;
    }
    struct xrt_value *items = ARENA_ARRAY(a, struct xrt_value, t->nitems + 1);
    for (int64_t k = 0; k < t->nitems; k++)
        items[k] = value_of(a, &t->items[k]);
    return (struct xrt_value){.kind = t->kind == VK_MAP ? XRT_MAP : XRT_SEQUENCE, .count = t->nitems, .items = items};
}

bool feed_give(const struct feed *f, struct xrt_context *c, struct diag *d)
{
    for (int i = 0; i < f->count; i++) {
        struct arena a = {0};
        struct xrt_value v = value_of(&a, &f->inputs[i]);
        bool ok = v.kind == XRT_TENSOR ? xrt_set_input(c, i, &v.tensor) : xrt_set_value(c, i, &v);
        arena_free(&a);
        if (!ok)
            return fail(d, "%s", xrt_error());
    }
    return true;
}

struct tensor tensor_of(const struct xrt_tensor *t)
{
    return tensor_view(dtype_from_name(t->dtype), t->rank, t->dims, t->data);
}

static char file_letter(char c)
{
    return c == '/' || c == ':' ? '_' : c;
}

bool output_same_file(const char *a, const char *b)
{
    while (*a && file_letter(*a) == file_letter(*b))
        a++, b++;
    return file_letter(*a) == file_letter(*b);
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
        *s = file_letter(*s);
    return true;
}
