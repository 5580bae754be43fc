#include "frontend/safetensors.h"

#include "neff/base/file.h"
#include "neff/base/json.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int dtype;
} types[] = {{"F64", DT_F64},   {"F32", DT_F32},          {"F16", DT_F16},       {"BF16", DT_BF16},
             {"I64", DT_I64},   {"I32", DT_I32},          {"I16", DT_I16},       {"I8", DT_I8},
             {"U64", DT_U64},   {"U32", DT_U32},          {"U16", DT_U16},       {"U8", DT_U8},
             {"BOOL", DT_BOOL}, {"F8_E4M3", DT_F8E4M3FN}, {"F8_E5M2", DT_F8E5M2}};

struct tensor_row {
    int dtype, rank;
    int64_t dims[MAX_RANK], from, to;
};

static void read_shape(struct json_reader *r, struct tensor_row *row)
{
    row->rank = 0;
    for (json_enter(r, '['); json_read_element(r);) {
        int64_t n = json_read_integer(r);
        if (row->rank < MAX_RANK && n >= 0)
            row->dims[row->rank++] = n;
        else
            r->problem = "a shape of too many or negative sizes";
    }
}

static void read_row(struct json_reader *r, struct tensor_row *row)
{
    *row = (struct tensor_row){.dtype = DT_NONE, .rank = -1, .from = -1};
    json_enter(r, '{');
    for (const char *key; (key = json_read_key(r));) {
        if (!strcmp(key, "dtype")) {
            const char *name = json_read_word(r);
            for (size_t k = 0; k < sizeof types / sizeof *types; k++)
                if (!strcmp(types[k].name, name))
                    row->dtype = types[k].dtype;
        } else if (!strcmp(key, "shape")) {
            read_shape(r, row);
        } else if (!strcmp(key, "data_offsets")) {
            int64_t at[2] = {-1, -1};
            int n = 0;
            for (json_enter(r, '['); json_read_element(r); n++) {
                int64_t v = json_read_integer(r);
                if (n < 2)
                    at[n] = v;
            }
            row->from = at[0];
            row->to = n == 2 ? at[1] : -1;
        } else {
            json_skip(r);
        }
    }
}

/* Names may be longer than the reader's words: as written, between the quotes. */
static char *key_text(const char *from, const char *end)
{
    while (from < end && *from != '"')
        from++;
    const char *to = from < end ? from + 1 : end;
    while (to < end && *to != '"')
        to += *to == '\\' ? 2 : 1;
    size_t n = to < end ? (size_t)(to - from - 1) : 0;
    char *s = malloc(n + 1);
    if (s) {
        memcpy(s, from + 1, n);
        s[n] = 0;
    }
    return s;
}

static bool add(struct npz *z, char *name, const struct tensor_row *row, const uint8_t *data, size_t size,
                struct diag *d)
{
    struct npz_entry *all = realloc(z->entries, (size_t)(z->count + 1) * sizeof *all);
    if (!all || !name) {
        free(name);
        z->entries = all ? all : z->entries;
        return fail_memory(d, "out of memory");
    }
    z->entries = all;
    struct npz_entry *e = &z->entries[z->count++];
    *e = (struct npz_entry){.name = name, .t = {.kind = VK_NONE}};
    if (row->dtype == DT_NONE || row->rank < 0)
        return fail(d, "array '%s' has no shape, or a type that is not known", name);
    if (row->from < 0 || row->to < row->from || (uint64_t)row->to > size)
        return fail(d, "array '%s' lies outside the file", name);
    if (!tensor_alloc(&e->t, row->dtype, row->rank, row->dims, d))
        return false;
    if ((int64_t)tensor_bytes(&e->t) != row->to - row->from)
        return fail(d, "array '%s' has %lld bytes, its type and shape %lld", name,
                    (long long)(row->to - row->from), (long long)tensor_bytes(&e->t));
    if (row->to > row->from)
        memcpy(e->t.data, data + row->from, (size_t)(row->to - row->from));
    return true;
}

static bool read_table(const uint8_t *p, size_t size, struct npz *out, struct diag *d)
{
    uint64_t length = 0;
    for (int k = 0; k < 8 && size >= 8; k++)
        length |= (uint64_t)p[k] << 8 * k;
    if (size < 8 || length > size - 8 || length < 2 || p[8] != '{')
        return fail(d, "no .safetensors file: its first 8 bytes are not the length of a table");
    struct json_reader r = json_reader(p + 8, (size_t)length);
    const uint8_t *data = p + 8 + length;
    json_enter(&r, '{');
    for (;;) {
        const char *at = r.at;
        struct tensor_row row;
        if (!json_read_key(&r))
            break;
        char *name = key_text(at, r.end);
        if (name && !strcmp(name, "__metadata__")) {
            json_skip(&r);
            free(name);
            continue;
        }
        read_row(&r, &row);
        if (r.problem)
            free(name);
        else if (!add(out, name, &row, data, size - 8 - (size_t)length, d))
            return false;
    }
    return !r.problem || fail(d, "its table: %s", r.problem);
}

bool safetensors_read(const char *path, struct npz *out, struct diag *d)
{
    struct mapped_file f;
    *out = (struct npz){0};
    if (!file_map(&f, path, d))
        return fail_in(d, "%s", path);
    bool ok = read_table(f.data, f.size, out, d) || fail_in(d, "%s", path);
    file_unmap(&f);
    return ok;
}
