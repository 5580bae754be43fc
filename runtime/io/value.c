#include "runtime/io/value.h"

#include "neff/base/file.h"
#include "neff/base/json.h"
#include "runtime/io/feed.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 6, MAX_MEMBERS = 65535 /* of a zip with 16-bit counts */ };

/* What stands for it: an optional's item, if it has one. */
static const struct xrt_value *inner(const struct xrt_value *v)
{
    while (v->kind == XRT_OPTIONAL && v->count)
        v = v->items;
    return v;
}

static bool is_tensor(const struct xrt_value *v, int rank)
{
    return v->kind == XRT_TENSOR && (rank < 0 || v->tensor.rank == rank);
}

static int64_t length(const struct xrt_value *v)
{
    return v->tensor.dims[0];
}

/* Value k of a map from labels to scalars, which are a list of either kind; VK_NONE: none. */
static struct tensor scalar(const struct xrt_value *map, int64_t k)
{
    const struct xrt_value *list = &map->items[1];
    struct tensor none = {.kind = VK_NONE};
    if (list->kind == XRT_SEQUENCE)
        return k < list->count && is_tensor(&list->items[k], 0) ? tensor_of(&list->items[k].tensor)
                                                                : none;
    if (!is_tensor(list, 1) || k >= length(list))
        return none;
    enum dtype dtype = dtype_from_name(list->tensor.dtype);
    return tensor_view(dtype, 0, NULL, (char *)list->tensor.data + (size_t)k * dtype_bytes(dtype));
}

/* A map from labels to scalars of one type. */
static bool is_row(const struct xrt_value *v)
{
    if (v->kind != XRT_MAP || v->count != 2 || !is_tensor(&v->items[0], 1) ||
        length(&v->items[0]) > MAX_MEMBERS)
        return false;
    for (int64_t k = 0; k < length(&v->items[0]); k++)
        if (scalar(v, k).kind == VK_NONE || scalar(v, k).dtype != scalar(v, 0).dtype)
            return false;
    enum dtype key = dtype_from_name(v->items[0].tensor.dtype);
    return key == DT_STR || dtype_is_int(key);
}

/* Both maps have the same labels in the same order, and numbers of one type. */
static bool same_labels(const struct xrt_value *a, const struct xrt_value *b)
{
    struct tensor x = tensor_of(&a->items[0].tensor), y = tensor_of(&b->items[0].tensor);
    return tensor_equal(&x, &y) && scalar(a, 0).dtype == scalar(b, 0).dtype;
}

static bool is_table(const struct xrt_value *v)
{
    if (v->kind == XRT_MAP)
        return is_row(v);
    if (v->kind != XRT_SEQUENCE || !v->count || !is_row(&v->items[0]))
        return false;
    for (int64_t i = 1; i < v->count; i++)
        if (!is_row(&v->items[i]) || !same_labels(&v->items[0], &v->items[i]))
            return false;
    return true;
}

static bool is_list(const struct xrt_value *v)
{
    if (v->kind != XRT_SEQUENCE || v->count > MAX_MEMBERS)
        return false;
    for (int64_t i = 0; i < v->count; i++)
        if (!is_tensor(&v->items[i], -1))
            return false;
    return true;
}

/* ---- members ---- */

/* Element k of a map's keys; free() it. */
static char *label(const struct xrt_value *map, int64_t k)
{
    struct tensor keys = tensor_of(&map->items[0].tensor);
    char digits[32];
    if (keys.dtype == DT_STR) {
        struct str s = ((const struct str *)keys.data)[k];
        return strndup(s.n ? s.p : "", s.n);
    }
    snprintf(digits, sizeof digits, "%lld", (long long)tensor_i64(&keys, k));
    return strdup(digits);
}

static bool add_column(const struct xrt_value *rows, int64_t n, int64_t k, bool alone,
                       struct npz_entry *e, struct diag *d)
{
    struct tensor first = scalar(rows, k);
    size_t width = first.dtype == DT_STR ? sizeof(struct str) : dtype_bytes(first.dtype);
    char *column = calloc((size_t)n, width);
    *e = (struct npz_entry){.name = label(rows, k), .t = {.kind = VK_NONE}};
    bool ok = (column && e->name) || fail_memory(d, "out of memory");
    for (int64_t r = 0; ok && r < n; r++)
        memcpy(column + (size_t)r * width, scalar(&rows[r], k).data, width);
    struct tensor view = tensor_view(first.dtype, alone ? 0 : 1, &n, column);
    ok = ok && tensor_copy(&e->t, &view, d);
    free(column);
    return ok;
}

static bool add_item(const struct xrt_value *v, int64_t k, struct npz_entry *e, struct diag *d)
{
    char name[32];
    struct tensor t = tensor_of(&v->items[k].tensor);
    snprintf(name, sizeof name, "arr_%lld", (long long)k);
    *e = (struct npz_entry){.name = strdup(name), .t = {.kind = VK_NONE}};
    return e->name ? tensor_copy(&e->t, &t, d) : fail_memory(d, "out of memory");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool names_differ(const struct npz *z, struct diag *d)
{
    char **names = calloc((size_t)z->count + 1, sizeof *names);
    bool differ = true;
    if (!names)
        return fail_memory(d, "out of memory");
    for (int i = 0; i < z->count; i++)
        names[i] = z->entries[i].name;
    qsort(names, (size_t)z->count, sizeof *names, by_name);
    for (int i = 1; differ && i < z->count; i++)
        differ = strcmp(names[i - 1], names[i]) != 0;
    free(names);
    return differ;
}

/* The value as named tensors, which npz_free frees. False without a diagnostic when it is of the
 * kinds that become .json. */
static bool value_members(const struct xrt_value *v, struct npz *out, struct diag *d)
{
    v = inner(v);
    *out = (struct npz){0};
    bool table = is_table(v), ok = table || is_list(v), alone = v->kind == XRT_MAP;
    if (!ok)
        return false;
    const struct xrt_value *rows = alone ? v : v->items;
    int64_t n = table ? length(&rows->items[0]) : v->count;
    out->entries = calloc((size_t)n + 1, sizeof *out->entries);
    if (!out->entries)
        return fail_memory(d, "out of memory");
    for (int64_t k = 0; ok && k < n; k++) {
        struct npz_entry *e = &out->entries[out->count++];
        ok = table ? add_column(rows, alone ? 1 : v->count, k, alone, e, d) : add_item(v, k, e, d);
    }
    ok = ok && (!table || names_differ(out, d));
    if (!ok)
        npz_free(out);
    return ok;
}

/* ---- JSON ---- */

static void write_text(FILE *f, struct str s)
{
    json_print_text(f, s.p, s.n, "");
}

static void json_number(FILE *f, const struct tensor *t, int64_t i)
{
    int class = dtype_class(t->dtype);
    double v = class == DTC_FLOAT ? tensor_f64(t, i) : 0;
    if (class == DTC_FLOAT && v - v != 0)
        fputs("null", f);
    else if (class == DTC_FLOAT)
        fprintf(f, t->dtype == DT_F64 ? "%.17g" : "%.9g", v);
    else if (class == DTC_BOOL)
        fputs(tensor_i64(t, i) ? "true" : "false", f);
    else if (t->dtype == DT_U64)
        fprintf(f, "%llu", (unsigned long long)tensor_i64(t, i));
    else
        fprintf(f, "%lld", (long long)tensor_i64(t, i));
}

static bool json_tensor(FILE *f, const struct tensor *t, int axis, int64_t at, struct diag *d)
{
    if (dtype_is_complex(t->dtype))
        return fail(d, "complex numbers inside a container cannot be written as .json");
    if (axis == t->rank && t->dtype == DT_STR)
        write_text(f, ((const struct str *)t->data)[at]);
    else if (axis == t->rank)
        json_number(f, t, at);
    if (axis == t->rank)
        return true;
    fputc('[', f);
    for (int64_t i = 0; i < t->dims[axis]; i++) {
        fputs(i ? ", " : "", f);
        if (!json_tensor(f, t, axis + 1, at * t->dims[axis] + i, d))
            return false;
    }
    fputc(']', f);
    return true;
}

static bool write_json(FILE *f, const struct xrt_value *v, struct diag *d);

/* The value of key k: an element of a tensor, or an item. */
static bool json_entry(FILE *f, const struct xrt_value *v, int64_t k, struct diag *d)
{
    if (v->kind != XRT_TENSOR)
        return k < v->count ? write_json(f, &v->items[k], d)
                            : fail(d, "a map has more keys than values");
    struct tensor t = tensor_of(&v->tensor);
    if (t.rank != 1 || k >= t.dims[0])
        return fail(d, "a map has more keys than values");
    return json_tensor(f, &t, 1, k, d);
}

static bool json_map(FILE *f, const struct xrt_value *v, struct diag *d)
{
    if (v->count != 2 || !is_tensor(&v->items[0], 1))
        return fail(d, "the keys of a map are no list");
    fputc('{', f);
    for (int64_t k = 0; k < length(&v->items[0]); k++) {
        char *name = label(v, k);
        if (!name)
            return fail_memory(d, "out of memory");
        fputs(k ? ", " : "", f);
        json_print_text(f, name, strlen(name), "");
        free(name);
        fputs(": ", f);
        if (!json_entry(f, &v->items[1], k, d))
            return false;
    }
    fputc('}', f);
    return true;
}

static bool write_json(FILE *f, const struct xrt_value *v, struct diag *d)
{
    v = inner(v);
    if (v->kind == XRT_TENSOR) {
        struct tensor t = tensor_of(&v->tensor);
        return json_tensor(f, &t, 0, 0, d);
    }
    if (v->kind == XRT_MAP)
        return json_map(f, v, d);
    if (v->kind == XRT_OPTIONAL)
        return fputs("null", f), true;
    fputc('[', f);
    for (int64_t i = 0; i < v->count; i++) {
        fputs(i ? ",\n " : "", f);
        if (!write_json(f, &v->items[i], d))
            return false;
    }
    fputc(']', f);
    return true;
}

static bool json_write(const char *path, const struct xrt_value *v, struct diag *d)
{
    struct out_file o;
    if (!out_open(&o, path, d))
        return false;
    if (write_json(o.f, v, d) && fputc('\n', o.f) >= 0)
        return out_commit(&o, d);
    out_abandon(&o);
    return fail_in(d, "%s", path);
}

bool write_value(const char *folder, const char *name, const struct xrt_value *v, struct diag *d)
{
    char path[OUTPUT_PATH];
    struct npz z;
    v = inner(v);
    if (v->kind == XRT_TENSOR) {
        struct tensor t = tensor_of(&v->tensor);
        return output_path(path, folder, name, ".npy", d) && npy_write(path, &t, d);
    }
    if (!value_members(v, &z, d))
        return !diag_failed(d) && output_path(path, folder, name, ".json", d) &&
               json_write(path, v, d);
    bool ok = output_path(path, folder, name, ".npz", d) && npz_write(path, &z, d);
    npz_free(&z);
    return ok;
}

/* ---- against what was expected ---- */

static void compare_npz(const struct npz *out, struct npz *ref, const struct tolerance *t,
                        struct diag *why)
{
    if (out->count != ref->count)
        fail(why, "%d arrays, expected %d", out->count, ref->count);
    for (int i = 0; !diag_failed(why) && i < out->count; i++) {
        const struct npz_entry *e = &out->entries[i];
        int k = i < ref->count && !strcmp(ref->entries[i].name, e->name) ? i : 0;
        while (k < ref->count && strcmp(ref->entries[k].name, e->name))
            k++;
        if (k == ref->count) {
            fail(why, "'%s' was not expected", e->name);
            return;
        }
        npy_as(&ref->entries[k].t, e->t.dtype, why);
        diag_clear(why);
        if (!compare_tensors(&e->t, &ref->entries[k].t, t, why))
            fail_in(why, "'%s'", e->name);
    }
}

bool compare_members(const struct xrt_value *v, const char *path, const struct tolerance *t,
                     struct diag *why, struct diag *d)
{
    struct npz out, ref;
    if (!npz_read(path, &ref, d))
        return false;
    bool ok = value_members(v, &out, d) ||
              fail(d, "%s: the output has no arrays to compare with it", path);
    if (ok) {
        compare_npz(&out, &ref, t, why);
        npz_free(&out);
    }
    npz_free(&ref);
    return ok;
}

/* ---- for a person ---- */

static void print_table(FILE *out, const char *name, const struct npz *z)
{
    int64_t rows = z->count ? tensor_count(&z->entries[0].t) : 0;
    fprintf(out, "%s  rows %lld  columns %d\n ", name, (long long)rows, z->count);
    for (int c = 0; c < z->count && c < SHOWN; c++)
        fprintf(out, " %12s", z->entries[c].name);
    fprintf(out, "%s\n", z->count > SHOWN ? " ..." : "");
    for (int64_t r = 0; r < rows && r < SHOWN; r++) {
        fputc(' ', out);
        for (int c = 0; c < z->count && c < SHOWN; c++) {
            const struct tensor *t = &z->entries[c].t;
            const struct str *s = t->data;
            if (t->dtype == DT_STR)
                fprintf(out, " %12.*s", (int)(s[r].n < 60 ? s[r].n : 60), s[r].p);
            else
                fprintf(out, " %12.6g", tensor_f64(t, r));
        }
        fprintf(out, "%s\n", z->count > SHOWN ? " ..." : "");
    }
    if (rows > SHOWN)
        fprintf(out, "  ...\n");
}

bool print_value(FILE *out, const char *name, const struct xrt_value *v, struct diag *d)
{
    struct npz z;
    bool ok = true;
    v = inner(v);
    if (v->kind == XRT_TENSOR) {
        struct tensor t = tensor_of(&v->tensor);
        print_output(out, name, &t);
    } else if (is_table(v) && value_members(v, &z, d)) {
        print_table(out, name, &z);
        npz_free(&z);
    } else if (!diag_failed(d)) {
        static const char *const kinds[] = {"tensor", "sequence", "optional", "map"};
        fprintf(out, "%s  %s of %lld\n", name, kinds[v->kind], (long long)v->count);
        for (int64_t i = 0; ok && i < v->count && i < SHOWN; i++) {
            char item[512];
            snprintf(item, sizeof item, "%s[%lld]", name, (long long)i);
            ok = print_value(out, item, &v->items[i], d);
        }
        if (v->count > SHOWN)
            fprintf(out, "...\n");
    }
    return ok && !diag_failed(d);
}
